#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cover.sh FOLDER LEAST TARGET...: how many lines the corpus alone reaches, as TAP. Of
# the files that handle packets and WQ entries they must be LEAST percent. What is
# missing stays in FOLDER/missed.
set -u
cd "$(dirname "$0")" || exit 1
O=$1 least=$2
shift 2
# how packets and WQ entries are handled; not: set-up, peers, workers
files=(core/{rgp,rcp,rrpp,att,itt}.c core/{itt,op,wire,ring,line,mem,cq,ct,event,version}.h
	core/ops/{read,write,atomic,notify,sabre}.c fabric/filter.c)
n=$(($# + 1))		# after run.sh's
raws=() objects=()
for t in "$@"; do
	if ! LLVM_PROFILE_FILE=$O/$t.raw "$O/cov_$t" -runs=0 "corpus/$t" > "$O/$t.log" 2>&1; then
		tail -n 20 "$O/$t.log" | sed 's/^/# /'
		echo "not ok $n - $t: the corpus"
		exit 1
	fi
	raws+=("$O/$t.raw")
	objects+=("-object=$O/cov_$t")
done
llvm-profdata merge -o "$O/all.prof" "${raws[@]}" || exit 1
cov=(-instr-profile="$O/all.prof" "$O/cov_$1" "${objects[@]}")

# A line counts when it has code of its own: as llvm-cov's listing tells it.
llvm-cov show "${cov[@]}" -show-instantiations=false 2>/dev/null | awk -F'|' -v least="$least" \
	-v want="${files[*]}" -v missed="$O/missed" -v number="$n" '
	BEGIN { n = split(want, w, " "); for (i = 1; i <= n; i++) known[w[i]] = 1; printf "" > missed }
	/^[^ ].*:$/ { f = $0; sub(/.*kmod\//, "", f); sub(/:$/, "", f); next }
	!(f in known) || NF < 3 || $2 !~ /[0-9]/ { next }
	{ lines[f]++ }
	$2 ~ /^ *0 *$/ { miss[f]++; print f ":" $0 > missed }
	END {
		for (i = 1; i <= n; i++) {
			all += lines[w[i]]; out += miss[w[i]]
			printf "# %-22s %4d of %4d lines, %5.1f %%\n", w[i],
			       lines[w[i]] - miss[w[i]], lines[w[i]],
			       lines[w[i]] ? 100 - 100 * miss[w[i]] / lines[w[i]] : 0
			if (lines[w[i]] * least > 100 * (lines[w[i]] - miss[w[i]]) || !lines[w[i]])
				bad = bad " " w[i]
		}
		printf "%sok %d - the corpus reaches %.1f %% of %d lines%s\n1..%d\n", bad ? "not " : "",
		       number, 100 - 100 * out / all, all, bad ? ", too few of" bad : "", number
		exit bad != ""
	}'
