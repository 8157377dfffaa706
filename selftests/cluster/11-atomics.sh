#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All nodes add to one counter while its owner does so with CPU instructions.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all "$XPAIR" atomics 10000 2>&1) || fail "$out"
[ "$(grep -c 'atomics ok' <<< "$out")" = "$NODES" ] || fail "$out"
