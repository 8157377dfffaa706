#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2 2p
# An idle peer is woken by an interrupt for each of nine requests half a second
# apart. The time is told, not judged: that of emulated guests on a busy host.
. "$(dirname "$0")/lib.sh"
need_cluster
interrupts()
{
	at 1 cat /proc/interrupts | awk '$NF == "rmc" { for (i = 2; i < NF; i++) if ($i ~ /^[0-9]+$/) n += $i }
					END { print n + 0 }'
}
behind 1 expose "$XPAIR" expose
until_true 10 grep -q exposed "$LOGS/expose" || fail "$(cat "$LOGS/expose")"
before=$(interrupts)
out=$(at 0 "$XPAIR" wake 1 2>&1) || fail "$out"
rung=$(($(interrupts) - before))
echo "$out, $rung interrupts"
[ "$rung" -ge 9 ] || fail "$rung interrupts for nine requests"
