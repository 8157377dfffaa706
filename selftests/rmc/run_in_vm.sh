#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the tests, boot one guest without the module, and run run_kselftest.sh
# there. The tests come out as one flat TAP stream, "theme: test", for those who
# count lines.
#
#	run_in_vm.sh [--nested] [--machine uml] [--kernel NAME] [--mem MIB] [--seconds S]
#		     [--after CMD] [ARG...]
#
# --nested leaves KTAP as it is; --machine uml runs the same tests at native speed on
# User-Mode Linux (exit status 4 where that kernel is not built); --kernel: one of
# rmc-kernels; --after: a program to run in the same guest at the end. Other arguments
# go to run_kselftest.sh, as do RMC_NI and variables that begin with RMC_SOAK,
# RMC_STRIDE or RMC_SLOW.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
vm=$top/vm-setup/rmc-vm
seconds=$((1000 * ${RMC_SLOW:-1}))
nested=false machine=auto ko=$top/rmc.ko after=
boot=() env=()
while :; do
	case ${1:-} in
	--nested) nested=true ;;
	--machine) machine=$2; shift ;;
	--seconds) seconds=$2; shift ;;
	--mem) boot+=(--mem "$2"); shift ;;
	--after) after=$2; shift ;;
	--kernel)
		ko=$("$top/vm-setup/rmc-kernels" module "$2") || exit 1
		boot+=(--kernel "$("$top/vm-setup/rmc-kernels" version "$2")")
		# what watches takes memory and time
		if [ "$2" = debug ]; then
			boot+=(--mem 768 --boot-timeout 180)
			export RMC_SLOW=${RMC_SLOW:-5}
		fi
		shift ;;
	*) break ;;
	esac
	shift
done
# enough for the rings of 128 nodes that all talk to each other, unless the host has little
case " ${boot[*]} " in
*" --mem "*) ;;
*) [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -lt $((3 << 20)) ] || boot+=(--mem 768) ;;
esac
for name in ${!RMC_NI*} ${!RMC_SOAK*} ${!RMC_STRIDE*} ${!RMC_SLOW*}; do
	env+=(-x "$name")
done
if [ "$machine" = uml ]; then
	if ! "$top/vm-setup/rmc-deps" uml-kdir > /dev/null 2>&1; then
		echo "1..0 # SKIP no User-Mode-Linux kernel: vm-setup/rmc-deps uml"
		exit 4
	fi
	make -s -C "$top" uml > /dev/null || exit 1
	ko=$top/build/uml/rmc.ko
fi
export RMC_CLUSTER=kselftest-$$

make -s -C "$here" || exit 1
trap 'timeout 60 "$vm" down > /dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
up()
{
	timeout 240 "$vm" up -q -n 4 --machine "$machine" --fabric loopback --no-module \
		--append numa=fake=2 "${boot[@]}"
}

# once more: QEMU 7.2 without KVM may still run an int3 that the kernel (7.2) has patched away
up || { timeout 60 "$vm" down > /dev/null 2>&1; up; } || exit 1

# Line by line: awk may wait for a full pipe, and whoever looks on sees nothing for minutes.
flat()
{
	local line theme= bad=0 n=0 done=false name verdict
	while IFS= read -r line; do
		case $line in
		"    # Subtest: "*) theme=${line#*: } bad=0 ;;
		"    ok "* | "    not ok "*)
			verdict=ok
			[ "${line#    not}" = "$line" ] || verdict="not ok" bad=1
			name=${line#*ok } n=$((n + 1))
			echo "$verdict $n - $theme: ${name#* }" ;;
		"ok "*) name=${line#ok * }; echo "# ${name/ # /: }" ;;
		"not ok "*)
			[ $bad = 0 ] || continue
			name=${line#not ok } n=$((n + 1))
			echo "not ok $n - ${name#* }" ;;
		"# Totals"*) done=true; echo "$line" ;;
		"    # "* | "#"* | Bail*) echo "${line#    }" ;;
		esac
	done
	$done || { n=$((n + 1)); echo "not ok $n - the guest ended early"; }
	echo "1..$n"
}

run()
{
	timeout -k 10 "$seconds" "$vm" exec "${env[@]}" 0 -- "$here/run_kselftest.sh" --ko "$ko" \
		"$@" < /dev/null
	status=$?
	[ -z "$after" ] || timeout -k 10 300 "$vm" exec 0 -- "$after" < /dev/null || status=1
	[ $status -lt 124 ] || timeout 20 "$vm" console --log 0 2>/dev/null | tail -n 40 | sed 's/^/# /'
	return $status
}

if $nested; then
	run "$@"
	exit
fi
echo "TAP version 13"
run "$@" 2>&1 | flat
exit "${PIPESTATUS[0]}"
