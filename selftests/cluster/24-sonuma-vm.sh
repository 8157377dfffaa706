#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs for the public sonuma-vm interface, unchanged.
. "$(dirname "$0")/lib.sh"
need_cluster
for program in compat_sync compat_async; do
	behind 1 $program "$TOP/build/selftests/cluster/$program" 0
	out=$(at 0 "$TOP/build/selftests/cluster/$program" 1 2>&1) || fail "$program: $out"
	wait "$behind" || fail "$program on node 1: $(cat "$LOGS/$program")"
done
