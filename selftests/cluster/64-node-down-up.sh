#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The administrator takes a node down and lets it join again, three times. Peers are notified at
# once; programs that run meanwhile continue afterwards.
. "$(dirname "$0")/lib.sh"
need_cluster
behind 0 watch0 "$XPAIR" watch 75
behind 1 watch1 "$XPAIR" watch 75
until_true 15 all_seen 0 1 || fail "watchers do not see each other: $(cat "$LOGS"/watch*)"
for round in 1 2 3; do
	behind 0 "events$round" "$CTL" watch --count 4 --timeout 20
	sleep 0.5
	epoch=$(at 0 "$CTL" status | awk '$1 == 1 && $2 == "up" { print $3 }')
	at 1 "$CTL" node down 1 || fail "node 1 does not go down"
	until_true 10 seen watch0 1 node_down || fail "node 0: $(cat "$LOGS/watch0")"
	at 1 "$CTL" node up 1 || fail "node 1 does not come up"
	until_true 10 seen watch0 1 ok || fail "node 0: $(cat "$LOGS/watch0")"
	until_true 10 seen watch1 0 ok || fail "node 1: $(cat "$LOGS/watch1")"
	until_true 10 grep -q link_up "$LOGS/events$round" || fail "events: $(cat "$LOGS/events$round")"
	grep -q "node_up *node 1 epoch $((epoch + 1))" "$LOGS/events$round" ||
		fail "epoch was $epoch: $(cat "$LOGS/events$round")"
done
[ "$(watched watch0 1 other)" = "" ] || fail "watchers ended early"
