#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 400
# Every node is killed and booted again, one after the other, while all nodes write to a
# replicated log. Acknowledged records are there afterwards, and no operation hangs.
. "$(dirname "$0")/lib.sh"
LOG=$TOP/build/selftests/cluster/xlog
need_cluster
BEHIND=230
for node in 0 1 2 3; do
	behind "$node" "log$node.0" "$LOG"
done
until_true 30 says "acked" log0.0 log1.0 log2.0 log3.0 || fail "nobody writes: $(cat "$LOGS"/log*)"
for node in 0 1 2 3; do
	timeout 200 "$VM" restart "$node" || fail "node $node does not come back"
	behind "$node" "log$node.1" "$LOG"
	until_true 30 says "acked" "log$node.1" || fail "node $node: $(cat "$LOGS/log$node.1")"
	[ "$(sed -n 's/^recovered //p' "$LOGS/log$node.1")" -gt 0 ] ||
		fail "node $node had nothing to recover: $(cat "$LOGS/log$node.1")"
done
sleep 1
at_each "0 1 2 3" /run/rmc/busybox killall -USR1 xlog || fail "some ended: $(tail -n 3 "$LOGS"/log*)"
until_true 30 says stopped log0.1 log1.1 log2.1 log3.1 || fail "they do not stop: $(tail -n 3 "$LOGS"/log*)"
acked=()
for node in 0 1 2 3; do
	acked+=("$node:$(cat "$LOGS/log$node.0" "$LOGS/log$node.1" | sed -n 's/^acked //p' | sort -n | tail -n 1)")
	for peer in 0 1 2 3; do
		[ "$(watched "log$node.1" $peer other)" = 0 ] || fail "node $node: $(cat "$LOGS/log$node.1")"
		# three times dead_ms, and a margin for emulation on a busy host
		[ "$(watched "log$node.1" $peer worst)" -le 12000 ] || fail "node $node: $(cat "$LOGS/log$node.1")"
	done
done
out=$(at 0 "$LOG" check "${acked[@]}" 2>&1) || fail "$out"
echo "$out"
