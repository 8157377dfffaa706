#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2 2p
# An idle peer is woken by an interrupt: it would look by itself after 100 ms only.
. "$(dirname "$0")/lib.sh"
need_cluster
behind 1 expose "$XPAIR" expose
until_true 10 grep -q exposed "$LOGS/expose" || fail "$(cat "$LOGS/expose")"
out=$(at 0 "$XPAIR" wake 1 2>&1) || fail "$out"
echo "$out"
ms=$(sed -n 's/^woken after \([0-9]*\) ms.*/\1/p' <<< "$out")
[ -n "$ms" ] && [ "$ms" -lt 20 ] || fail "without a doorbell it would be 50 ms: $out"
