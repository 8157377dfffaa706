#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Messages, receive buffers and collectives: each member receives all of its data.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all "$TOP/build/selftests/cluster/prog_msg" all 2>&1) || fail "$out"
for node in $(seq 0 $((NODES - 1))); do
	grep -q "member $node: ok" <<< "$out" || fail "nothing of member $node: $out"
done
