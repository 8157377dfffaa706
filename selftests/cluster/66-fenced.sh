#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 240
# A guest is paused for so long that another guest claims its node id. When it resumes, it is
# fenced, and its programs are notified. Once the id is free, the guest joins again by command,
# and the same programs continue.
. "$(dirname "$0")/lib.sh"
need_cluster
BEHIND=230

# after a failure, restart the guests that may have another node's id
restore()
{
	local status=$?

	finish
	[ $status = 0 ] || timeout 60 "$VM" restart 2 3
	exit $status
}
trap restore EXIT

for node in 0 1 3; do
	behind "$node" "watch$node" "$XPAIR" watch 200
done
behind 3 events "$CTL" watch --timeout 200
until_true 25 all_seen 0 1 3 || fail "watchers do not see each other: $(cat "$LOGS"/watch*)"
timeout 20 "$VM" pause 3 || fail "cannot pause"
for node in 0 1; do
	until_true 25 seen "watch$node" 3 node_down || fail "node $node: $(cat "$LOGS/watch$node")"
done

# guest 2 becomes node 3
unload 2 && load 2 node=3 || fail "guest 2 does not become node 3"
behind 2 successor env RMC_NODE=3 "$XPAIR" watch 200
for node in 0 1; do
	until_true 25 seen "watch$node" 3 ok || fail "node $node: $(cat "$LOGS/watch$node")"
done
timeout 20 "$VM" resume 3 || fail "cannot resume"
until_true 20 grep -q "fenced *node 3" "$LOGS/events" || fail "not reported: $(cat "$LOGS/events")"
for peer in 0 1; do
	until_true 20 seen watch3 $peer node_down || fail "guest 3: $(cat "$LOGS/watch3")"
done
out=$(at 3 "$CTL" node up 3 2>&1) && fail "guest 3 is node 3 while guest 2 is"
[[ $out == *"another kernel's"* ]] || fail "guest 3 has no reason: $out"
sleep 1
for node in 0 1; do
	seen "watch$node" 3 ok || fail "node $node: $(cat "$LOGS/watch$node")"
done
for peer in 0 1; do
	until_true 20 seen successor $peer ok || fail "the successor: $(cat "$LOGS/successor")"
done
! grep -qE "timeout|protocol" "$LOGS/successor" || fail "the successor was disturbed: $(cat "$LOGS/successor")"

# the id is free again
at 2 /run/rmc/busybox killall -9 xpair
unload 2 || fail "guest 2 does not let go"
at 3 "$CTL" node up 3 || fail "guest 3 does not join again"
for node in 0 1; do
	until_true 20 seen "watch$node" 3 ok || fail "node $node: $(cat "$LOGS/watch$node")"
	until_true 20 seen watch3 $node ok || fail "guest 3: $(cat "$LOGS/watch3")"
done
load 2 node=2 || fail "guest 2 does not come back"
at_each "0 1 3" /run/rmc/busybox killall -9 xpair
out=$(on_all "$XPAIR" pairs 2>&1) || fail "afterwards: $out"
