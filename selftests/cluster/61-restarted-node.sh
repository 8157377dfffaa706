#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 300
# A guest that died is usable again once it is booted. Survivors are not restarted, and receive
# events of its death and of its return.
. "$(dirname "$0")/lib.sh"
need_cluster
sees_up()
{
	at 0 "$CTL" status | grep -q '^3 *up'
}
# the previous test may have caused another boot of node 3
until_true 15 sees_up || fail "node 3 is not up: $(at 0 "$CTL" status)"
behind 0 events "$CTL" watch --count 4 --timeout 75
timeout 20 "$VM" kill 3
behind 0 watch0 "$XPAIR" watch 75
behind 1 watch1 "$XPAIR" watch 75
for node in 0 1; do
	until_true 15 seen "watch$node" 3 node_down || fail "node $node: $(cat "$LOGS/watch$node")"
done
timeout 200 "$VM" restart 3 || fail "node 3 does not come back"
behind 3 expose "$XPAIR" expose
for node in 0 1; do
	until_true 15 seen "watch$node" 3 ok || fail "node $node: $(cat "$LOGS/watch$node")"
done
until_true 15 grep -q link_up "$LOGS/events" || fail "events: $(cat "$LOGS/events")"
events=$(sed 's/^[^ ]* *//; s/  */ /g' "$LOGS/events")
was=$(sed -n 's/^node_down node 3 epoch //p' <<< "$events")
want="link_down node 3 epoch $was
node_down node 3 epoch $was
node_up node 3 epoch $((was + 1))
link_up node 3 epoch $((was + 1))"
[ "$events" = "$want" ] || fail "events: $events"
finish
LOGS=$(mktemp -d)
children=()
out=$(on_all "$XPAIR" pairs 2>&1) || fail "afterwards: $out"
