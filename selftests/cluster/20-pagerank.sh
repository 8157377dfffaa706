#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# PageRank over remote memory gives the result of a single node, in every variant.
. "$(dirname "$0")/lib.sh"
PAGERANK=$TOP/build/pagerank
[ -x "$PAGERANK" ] || skip "no $PAGERANK: make -C tools"
need_cluster
for variant in fine bulk shm; do
	out=$(on_all "$PAGERANK" --variant $variant --rmat 9,4 --supersteps 5 --verify 2>&1) ||
		fail "$variant: $out"
	grep -qi 'verif' <<< "$out" || fail "$variant: it does not say so: $out"
done
