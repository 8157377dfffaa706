#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the tests, boot one guest without the module, and run run_kselftest.sh
# there. The output is one flat TAP stream, "theme: test", for programs that count
# lines.
#
#	run_in_vm.sh [--nested] [--machine uml] [--kernel NAME] [--mem MIB] [--seconds S]
#		     [--ko FILE] [--after CMD] [--fetch CMD FILE] [ARG...]
#
# --nested prints the KTAP unchanged; --machine uml runs the same tests at native speed on
# User-Mode Linux (exit status 4 where that kernel is not built), on that of
# RMC_UML_CONFIG=FILE if it is set (rmc-deps); --kernel: one of rmc-kernels; --ko: this
# module instead of the one built for the kernel; --after: a command to run in the same
# guest at the end; --fetch: one whose output goes to a file of the host. Other arguments
# go to run_kselftest.sh, as do RMC_NI and variables that begin with RMC_SOAK,
# RMC_STRIDE or RMC_SLOW.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
vm=$top/vm-setup/rmc-vm
seconds=
nested=false machine=auto ko=$top/rmc.ko own_ko= after= fetch=
boot=() env=() append="numa=fake=2"
while :; do
	case ${1:-} in
	--nested) nested=true ;;
	--machine) machine=$2; shift ;;
	--seconds) seconds=$2; shift ;;
	--mem) boot+=(--mem "$2"); shift ;;
	--after) after=$2; shift ;;
	--ko) own_ko=$2; shift ;;
	--fetch) fetch=$2 fetched=$3; shift 2 ;;
	--kernel)
		ko=$("$top/vm-setup/rmc-kernels" module "$2") || exit 1
		boot+=(--kernel "$("$top/vm-setup/rmc-kernels" version "$2")")
		# the debugging options take memory and time
		if [ "$2" = debug ]; then
			boot+=(--mem 768 --boot-timeout 180)
			export RMC_SLOW=${RMC_SLOW:-5}
		fi
		shift ;;
	*) break ;;
	esac
	shift
done
if [ "$machine" = uml ]; then
	if ! "$top/vm-setup/rmc-deps" uml-kdir > /dev/null 2>&1; then
		echo "1..0 # SKIP no User-Mode-Linux kernel: vm-setup/rmc-deps uml"
		exit 4
	fi
	if [ -n "${RMC_UML_CONFIG:-}" ]; then
		boot+=(--mem 1024 --boot-timeout 240)
		# otherwise KASAN is silent after its first report, even one that is not ours
		append+=" kasan_multi_shot"
		export RMC_SLOW=${RMC_SLOW:-3}
	fi
	config=${RMC_UML_CONFIG:-uml.config}
	ko=$top/build/$(basename "$config" .config)/rmc.ko
	# only one of several concurrent runs builds the module
	mkdir -p "$top/build"
	[ -n "$own_ko" ] || flock "$top/build/.uml" make -s -C "$top" uml > /dev/null || exit 1
fi
ko=${own_ko:-$ko}
# a block device, whose mappings count as a file's: brd.ko of the distribution's kernel
if [ "$machine" = auto ] && [ ${#boot[@]} = 0 ]; then
	RMC_BRD=$(find "${RMC_CACHE:-$top/.cache}/kernel/lib/modules" -name 'brd.ko*' 2>/dev/null | head -n 1)
	export RMC_BRD
fi
for name in ${!RMC_NI*} ${!RMC_BRD*} ${!RMC_SOAK*} ${!RMC_STRIDE*} ${!RMC_SLOW*}; do
	env+=(-x "$name")
done
# enough memory for all rings between 128 nodes, unless the host has little
case " ${boot[*]} " in
*" --mem "*) ;;
*) [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -lt $((3 << 20)) ] || boot+=(--mem 768) ;;
esac
export RMC_CLUSTER=kselftest-$$

seconds=${seconds:-$((1000 * ${RMC_SLOW:-1}))}
make -s -C "$here" || exit 1
trap 'timeout 60 "$vm" down > /dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
up()
{
	timeout 300 "$vm" up -q -n 4 --machine "$machine" --fabric loopback --no-module \
		--append "$append" "${boot[@]}"
}

# boot once more on failure: QEMU 7.2 without KVM may still run an int3 that the kernel (7.2)
# has patched away
up || { timeout 60 "$vm" down > /dev/null 2>&1; up; } || exit 1

# Line by line: awk may buffer its output until the pipe is full, which hides it for minutes.
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
	[ -z "$after" ] || timeout -k 10 300 "$vm" exec 0 -- sh -c "$after" < /dev/null || status=1
	if [ -n "$fetch" ]; then
		timeout -k 10 120 "$vm" exec 0 -- sh -c "$fetch" < /dev/null > "$fetched" || status=1
	fi
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
