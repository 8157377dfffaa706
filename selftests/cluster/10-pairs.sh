#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every node writes to and reads from every other, itself included, and checks.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all "$XPAIR" pairs 2>&1) || fail "$out"
[ "$(grep -c 'pairs ok' <<< "$out")" = "$NODES" ] || fail "$out"
