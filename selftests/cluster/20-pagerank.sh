#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2 2p
# PageRank over remote memory gives what one node alone computes.
. "$(dirname "$0")/lib.sh"
PAGERANK=$TOP/build/pagerank
[ -x "$PAGERANK" ] || skip "no $PAGERANK: make -C tools"
need_cluster
out=$(on_all "$PAGERANK" --rmat 9,4 --supersteps 5 --verify 2>&1) || fail "$out"
grep -qi 'verif' <<< "$out" || fail "it does not say so: $out"
