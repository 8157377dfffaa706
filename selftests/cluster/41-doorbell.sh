#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2 2p
# An idle peer is woken by an interrupt for each of nine requests half a second apart, and
# soon: it would poll by itself only after 50 ms on average. Emulated guests stand still
# where the host is busy, so the median of nine may be missed twice.
. "$(dirname "$0")/lib.sh"
need_cluster
interrupts()
{
	at 1 cat /proc/interrupts | awk '$NF == "rmc" { for (i = 2; i < NF; i++) if ($i ~ /^[0-9]+$/) n += $i }
					END { print n + 0 }'
}
behind 1 expose "$XPAIR" expose
begun exposed expose
for try in 1 2 3; do
	before=$(interrupts)
	out=$(at 0 "$XPAIR" wake 1 2>&1) || fail "$out"
	rung=$(($(interrupts) - before))
	echo "try $try: $out, $rung interrupts"
	[ "$rung" -ge 9 ] || fail "$rung interrupts for nine requests"
	ms=$(sed -n 's/^woken after \([0-9]*\) ms.*/\1/p' <<< "$out")
	[ -n "$ms" ] && [ "$ms" -lt 20 ] && exit 0
done
fail "without a doorbell it would be 50 ms: $out"
