#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest dies: operations on its node end with node_down in bounded time, others continue.
. "$(dirname "$0")/lib.sh"
need_cluster
for node in 0 1 2 3; do
	behind "$node" "watch$node" "$XPAIR" watch 70
done
until_true 15 all_seen 0 1 2 3 || fail "watchers do not see each other: $(cat "$LOGS"/watch*)"
sleep 1
timeout 20 "$VM" kill 3 || fail "cannot kill node 3"
start=$SECONDS
for node in 0 1 2; do
	until_true 15 seen "watch$node" 3 node_down || fail "node $node: $(cat "$LOGS/watch$node")"
done
echo "known to all after $((SECONDS - start)) s"
sleep 1
stop_watchers "0 1 2"
wait "${children[@]:0:3}"
for node in 0 1 2; do
	for peer in 0 1 2; do
		# the peer's watcher may have ended a little earlier
		[ $node = $peer ] || check_peer "watch$node" $peer "ok|bad_context" 8000
		[ $node = $peer ] || [ "$(watched "watch$node" $peer down)" = 0 ] ||
			fail "node $peer was down for node $node: $(cat "$LOGS/watch$node")"
	done
	check_peer "watch$node" 3 node_down 12000
done
