#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Other nodes never read a mix of two states of a line that one node writes.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all "$XPAIR" lines 2>&1) || fail "$out"
[ "$(grep -c 'lines ok' <<< "$out")" = "$NODES" ] || fail "$out"
