#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2 2p 4
# Workers of an idle cluster are parked: under 3% of a core, by the guests' accounting.
. "$(dirname "$0")/lib.sh"
need_cluster
on_all "$XPAIR" pairs > /dev/null 2>&1 || fail "pairs"
# CPU time of the workers in microseconds: in four seconds, and in total
# shellcheck disable=SC2016 # for the guest's shell
probe='ran() { for p in /proc/[0-9]*; do read -r c < $p/comm && case $c in rmc/*) cut -d" " -f1 $p/schedstat;; esac; done 2>/dev/null | { n=0; while read -r x; do n=$((n + x)); done; echo $n; }; }
sleep 1; a=$(ran); sleep 4; b=$(ran); echo $(((b - a) / 1000)) $((b / 1000))'
for node in $(seq 0 $((NODES - 1))); do
	behind "$node" "idle$node" sh -c "$probe"
done
wait "${children[@]}"
for node in $(seq 0 $((NODES - 1))); do
	read -r us all < "$LOGS/idle$node" || fail "node $node says nothing"
	[[ $us =~ ^[0-9]+$ && $all =~ ^[0-9]+$ ]] || fail "node $node: $us $all"
	# the workers ran during "pairs", so a total of 0 means no accounting
	[ "$all" -gt 0 ] || skip "node $node's kernel does not account for what runs"
	echo "node $node: $us us in 4 s"
	[ "$us" -lt 120000 ] || fail "that is more than 3%"
done
