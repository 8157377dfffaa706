#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The key-value store over the module: a get returns what was put, and no scheme that promises
# whole objects returns a torn one while other nodes write.
. "$(dirname "$0")/lib.sh"
KV=$TOP/build/rmc-kv
[ -x "$KV" ] || skip "no $KV: make -C tools"
need_cluster
out=$(on_all "$KV" put city Lausanne put lake Geneva get city get lake 2>&1) || fail "$out"
grep -q 'Lausanne' <<< "$out" && grep -q 'Geneva' <<< "$out" || fail "not got: $out"
for scheme in sabre farm lock rpc; do
	out=$(on_all "$KV" bench -q -s $scheme -k 8 -v 2K -n 150 -m A 2>&1) || fail "$scheme: $out"
	grep -q 'torn_values *0$' <<< "$out" || fail "$scheme: $out"
done
