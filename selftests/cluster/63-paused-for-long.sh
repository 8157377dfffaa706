#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest is paused for longer than dead_ms: other nodes report it down, then up again. Its own
# operations neither time out nor get lost.
. "$(dirname "$0")/lib.sh"
need_cluster
for node in 0 1 3; do
	behind "$node" "watch$node" "$XPAIR" watch 75
done
until_true 15 all_seen 0 1 3 || fail "watchers do not see each other: $(cat "$LOGS"/watch*)"
timeout 20 "$VM" pause 3 || fail "cannot pause"
for node in 0 1; do
	until_true 15 seen "watch$node" 3 node_down || fail "node $node: $(cat "$LOGS/watch$node")"
done
sleep 2
timeout 20 "$VM" resume 3 || fail "cannot resume"
for node in 0 1; do
	until_true 15 seen "watch$node" 3 ok || fail "node $node: $(cat "$LOGS/watch$node")"
done
until_true 15 all_seen 0 1 3 || fail "node 3: $(cat "$LOGS/watch3")"
stop_watchers "0 1 3"
wait "${children[@]}"
for watch in "watch0 1" "watch1 0" "watch0 3" "watch1 3" "watch3 0" "watch3 1"; do
	# shellcheck disable=SC2086 # two words
	set -- $watch
	[ "$(watched "$1" "$2" other)" = 0 ] || fail "$1: $(cat "$LOGS/$1")"
done
[ "$(watched watch0 1 down)" = 0 ] || fail "node 1 was down for node 0: $(cat "$LOGS/watch0")"
[ "$(watched watch1 0 down)" = 0 ] || fail "node 0 was down for node 1: $(cat "$LOGS/watch1")"
