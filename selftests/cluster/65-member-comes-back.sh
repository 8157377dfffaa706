#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 300
# A member of a team dies during messages and barriers and is started again, with its guest
# where there are four nodes. The survivors admit it and continue.
. "$(dirname "$0")/lib.sh"
PROG=$TOP/build/selftests/cluster/prog_msg
need_cluster
last=$((NODES - 1))
for node in $(seq 0 $((last - 1))); do
	behind "$node" "member$node" "$PROG" rejoin 1
done
behind "$last" life1 "$PROG" rejoin 1
wait "$behind" || fail "the first life: $(cat "$LOGS/life1")"
if [ "$NODES" = 4 ]; then
	timeout 20 "$VM" kill "$last" || fail "cannot kill node $last"
	timeout 200 "$VM" restart "$last" || fail "node $last does not come back"
fi
behind "$last" "member$last" "$PROG" rejoin 2
for node in $(seq 0 "$last"); do
	until_true 60 grep -q "member $node: ok" "$LOGS/member$node" ||
		fail "member $node: $(cat "$LOGS"/member*)"
done
