#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Workers of an idle cluster are parked: under 3% of a core, by the guests' accounting.
. "$(dirname "$0")/lib.sh"
need_cluster
on_all "$XPAIR" pairs > /dev/null 2>&1 || fail "pairs"
# CPU time of the workers in microseconds: in five times two seconds, and in total. The middle one
# counts: a guest that the host stops charges that to whatever ran.
# shellcheck disable=SC2016 # for the guest's shell
probe='ran() { for p in /proc/[0-9]*; do read -r c < $p/comm && case $c in rmc/*) cut -d" " -f1 $p/schedstat;; esac; done 2>/dev/null | { n=0; while read -r x; do n=$((n + x)); done; echo $n; }; }
sleep 1; a=$(ran); for i in 1 2 3 4 5; do sleep 2; b=$(ran); echo $(((b - a) / 1000)); a=$b; done
echo $((b / 1000))'
for node in $(seq 0 $((NODES - 1))); do
	behind "$node" "idle$node" sh -c "$probe"
done
wait "${children[@]}"
for node in $(seq 0 $((NODES - 1))); do
	[ "$(grep -cE '^[0-9]+$' "$LOGS/idle$node")" = 6 ] ||
		fail "node $node: $(tr '\n' ' ' < "$LOGS/idle$node")"
	# the workers ran during "pairs", so a total of 0 means no accounting
	[ "$(tail -n 1 "$LOGS/idle$node")" -gt 0 ] ||
		skip "node $node's kernel does not account for what runs"
	mapfile -t us < <(head -n 5 "$LOGS/idle$node" | sort -n)
	echo "node $node: ${us[*]} us in 2 s each"
	[ "${us[2]}" -lt 60000 ] || fail "that is more than 3%"
done
