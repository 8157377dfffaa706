#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# More nodes than the fabric has: rmc-run and librmc report it, and operations have a status.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(timeout 60 "$RUN" -n 3 "$XPAIR" pairs 2>&1)
[ $? = 125 ] || fail "status is not 125: $out"
[[ $out == *"2 nodes"* ]] || fail "$out"
out=$(at 0 env RMC_NODES=3 RMC_NODE=0 "$XPAIR" pairs 2>&1) && fail "$out"
[[ $out == *"the fabric has 2"* ]] || fail "$out"
for nid in 2 1023; do
	out=$(at 0 "$XPAIR" status $nid 2>&1)
	[ "$out" = bad_node ] || fail "node $nid: $out"
done
