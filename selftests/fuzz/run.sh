#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh FOLDER SECONDS TARGET...: run each fuzz target for SECONDS, from its corpus, as TAP.
# With KEEP=1 new inputs are kept. A failing input stays in FOLDER and is named.
set -u
cd "$(dirname "$0")" || exit 1
O=$1 seconds=$2
shift 2
n=0 bad=0
[ -z "${KEEP:-}" ] || echo "1..$#"
for t in "$@"; do
	n=$((n + 1))
	found=$O/found/$t
	mkdir -p "$found"
	[ -n "${KEEP:-}" ] || rm -rf "${found:?}"/*
	options=()
	# several threads: how often a line ran says nothing about the input
	[ "$t" != socket ] || options=(-use_counters=0 -len_control=0)
	if timeout $((seconds + 60)) "$O/fuzz_$t" "${options[@]}" -max_total_time="$seconds" -max_len=512 \
		-print_final_stats=1 -artifact_prefix="$O/$t-" "$found" "corpus/$t" > "$O/$t.log" 2>&1; then
		echo "ok $n - $t: $(sed -n 's/^stat::number_of_executed_units: *//p' "$O/$t.log") inputs"
	else
		tail -n 30 "$O/$t.log" | sed 's/^/# /'
		echo "not ok $n - $t"
		bad=1
	fi
done
exit $bad
