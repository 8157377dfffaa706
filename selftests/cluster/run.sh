#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests over several nodes: boots clusters of 2 and 4 guests, with several NI
# organisations, and one guest with 4 loopback nodes, and runs on each the
# scripts of this folder that have it in the table ../programs. One TAP stream.
# Exit status: 0 all passed or skipped, 1 otherwise.
set -u
here=$(cd "$(dirname "$0")" && pwd)
seconds=120	# for one script without booting; its line "# seconds:" overrides it

usage()
{
	echo "usage: $0 [--machine M] [--module KO] [--up 'OPTION ...'] [--on 'KIND ...'] [SCRIPT ...]"
	echo "2, 4: as many guests; 2p: NI organisation pair, MTU 64; 2e: edge with two"
	echo "units; l4: one guest, loopback"
	echo "4s, not by default: four that are slow to take each other for dead"
	echo "--up: more options for rmc-vm up, such as --ni edge"
	exit "$1"
}

module=() on="l4 2 2p 2e 4" only=()
while [ $# -gt 0 ]; do
	case $1 in
	--machine) module+=(--machine "$2"); shift ;;
	--module) module+=(--module "$(realpath "$2")"); shift ;;
	--up) read -ra up <<< "$2"; module+=("${up[@]}"); shift ;;
	--on) on=$2; shift ;;
	-h|--help) usage 0 ;;
	-*) usage 2 >&2 ;;
	*) only+=("$1") ;;
	esac
	shift
done

# "KIND SCRIPT" in the order of the run
plan()
{
	local kind script

	for kind in $on; do
		for script in $("$here/../list-programs" cluster "$kind"); do
			[ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $script "* ]] || continue
			echo "$kind $here/$script"
		done
	done
}

make -s -C "$here" || exit 1
export RMC_CLUSTER=test-$$ NODES UP
vm=$here/../../vm-setup/rmc-vm
out=$(mktemp)
down()
{
	timeout 60 "$vm" down > /dev/null 2>&1
}
trap 'down; rm -f "$out"' EXIT
trap 'exit 130' INT TERM

# Complaints in the kernel logs of living nodes
complaints()
{
	local node emulated

	for node in $(seq 0 $((NODES - 1))); do
		timeout 20 "$vm" exec "$node" -- /run/rmc/busybox sh -c \
			'grep -c "QEMU TCG" /proc/cpuinfo; dmesg' 2>/dev/null < /dev/null | {
			read -r emulated
			"$here/../rmc/kernel-reports" -v emulated=$((${emulated:-0} > 0))
		} | sed "s/^/kernel of node $node: /"
	done
}

mapfile -t todo < <(plan)
echo "TAP version 13"
echo "1..${#todo[@]}"
number=0 failed=0 was='' known=''
for line in "${todo[@]}"; do
	kind=${line%% *} script=${line#* }
	number=$((number + 1))
	NODES=${kind//[a-z]/}
	# some tests wait for a node's death: use no longer time-out than on real machines
	UP="${module[*]} --module-args dead_ms=3000"
	case $kind in
	*p) UP="$UP --ni pair --mtu 64" ;;
	*e) UP="$UP --ni edge --units 2" ;;
	# emulated guests may stall for seconds where the host is busy
	*s) UP="${UP/dead_ms=3000/dead_ms=20000}" ;;
	l*) UP="$UP --fabric loopback" ;;
	esac
	start=$(date +%s)
	if [ "$kind" != "$was" ]; then
		[ -z "$was" ] || down
		# shellcheck disable=SC2086 # several options
		timeout 180 "$vm" up -q -n "$NODES" $UP 2>&1 | sed 's/^/# /'
		echo "# cluster of $kind up after $(($(date +%s) - start)) s"
		start=$(date +%s)
	fi
	was=$kind
	limit=$(sed -n 's/^# seconds: //p' "$script")
	limit=${limit:-$seconds}
	timeout -k 10 "$limit" "$script" > "$out" 2>&1
	status=$?
	# a complaint of a kernel fails the script, whatever it tests
	now=$(complaints)
	if [ -n "$now" ] && [ "$now" != "$known" ]; then
		echo "$now" >> "$out"
		known=$now status=1
	fi
	what="$kind nodes: $(basename "$script" .sh) ($(($(date +%s) - start)) s)"
	case $status in
	0) echo "ok $number - $what" ;;
	4) echo "ok $number - $what # SKIP $(tail -n 1 "$out")" ;;
	*)	sed 's/^/# /' "$out"
		[ $status != 124 ] || echo "# more than $limit s"
		echo "not ok $number - $what"
		failed=$((failed + 1)) ;;
	esac
done
echo "# $((number - failed)) passed, $failed failed, $SECONDS s"
[ $failed = 0 ]
