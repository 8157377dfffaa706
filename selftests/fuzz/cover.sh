#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cover.sh FOLDER LEAST "TARGET..." "PROGRAM...": report line coverage as TAP. The corpus alone
# must reach LEAST percent of the files that handle packets, WQ entries and the region's header;
# corpus and host programs together, of each file of the core, the fabric and the NI. Lines that
# were missed are in FOLDER/missed and FOLDER/missed.all. The target socket counts apart, for the
# files of rmcd that handle requests: what it missed is in FOLDER/missed.socket.
set -u
cd "$(dirname "$0")" || exit 1
O=$1 least=$2 bad=0
read -ra targets <<< "$3"
read -ra programs <<< "$4"
# files that handle packets, WQ entries and headers; not: set-up, peers, workers
files="core/rgp.c core/unroll.c core/rcp.c core/rrpp.c core/att.c core/itt.c core/itt.h core/op.h base/wire.h base/ring.h
	base/line.h base/mem.h core/cq.h core/ct.h base/event.h core/version.h core/ops/read.c core/ops/write.c
	core/ops/atomic.c core/ops/notify.c core/ops/sabre.c core/ops/message.c core/domain.c
	core/domain.h core/deliver.c core/relay.h fabric/filter.c fabric/layout.c"
# Files with code that only the kernel calls, or with copies by vector instructions, which the
# native stress tests (../stress) run; each with the percentage that it must reach
exceptions="fabric/transport.h 0 ni/ni.h 60 base/vec.h 0 base/line.c 75"
# those of rmcd; not: command line, region, faults, signals
daemon="rmcd/request.c rmcd/server.c rmcd/file.c rmcd/memory.c rmcd/qp.c rmcd/waiter.c rmcd/watch.c
	rmcd/report.c rmcd/closing.c rmcd/holes.c rmcd/received.c rmcd/context.c rmcd/domain.c
	rmcd/attr.c rmcd/worker.c rmcd/watchdog.c"
n=${#targets[@]}		# from run.sh

# run NAME LOG COMMAND...: run it with a profile of its own
run()
{
	local name=$1

	shift
	LLVM_PROFILE_FILE=$O/$name.raw "$@" > "$O/$name.log" 2>&1 && return
	tail -n 20 "$O/$name.log" | sed 's/^/# /'
	n=$((n + 1))
	echo "not ok $n - $name"
	bad=1
}

# reached TITLE MISSED FILES PROFILE OBJECT...: coverage of FILES, or of all if none is named. A
# line counts when it has code of its own, as in llvm-cov's listing.
reached()
{
	local title=$1 missed=$2 want=$3 profile=$4 object objects=()

	shift 4
	for object; do objects+=(-object="$object"); done
	n=$((n + 1))
	llvm-cov show -instr-profile="$profile" "$1" "${objects[@]:1}" -show-instantiations=false 2>/dev/null |
		awk -F'|' -v least="$least" -v want="$want" -v missed="$missed" -v number="$n" \
			-v title="$title" -v exceptions="$exceptions" '
	BEGIN {
		n = split(want, w, " ")
		for (i = 1; i <= n; i++)
			known[w[i]] = 1
		for (i = split(exceptions, e, " "); i > 0; i -= 2)
			own[e[i - 1]] = e[i]
		printf "" > missed
	}
	/^[^ ].*:$/ {
		f = $0
		ours = sub(/.*kmod\//, "", f) || sub(/.*tools\/rmcd\//, "rmcd/", f)
		sub(/:$/, "", f)
		if (want == "" && ours && !(f in known)) {
			known[f] = 1
			w[++n] = f
		}
		next
	}
	!(f in known) || NF < 3 || $2 !~ /[0-9]/ { next }
	{ lines[f]++ }
	$2 ~ /^ *0 *$/ { miss[f]++; print f ":" $0 > missed }
	END {
		for (i = 1; i <= n; i++) {
			f = w[i]
			all += lines[f]; out += miss[f]
			must = f in own && want == "" ? own[f] : least
			printf "# %-22s %4d of %4d lines, %5.1f %%\n", f, lines[f] - miss[f], lines[f],
			       lines[f] ? 100 - 100 * miss[f] / lines[f] : 0
			if (lines[f] * must > 100 * (lines[f] - miss[f]) || (!lines[f] && want != ""))
				bad = bad " " f
		}
		if (!all)
			bad = " anything"
		printf "%sok %d - %s %.1f %% of %d lines%s\n", bad ? "not " : "", number, title,
		       all ? 100 - 100 * out / all : 0, all, bad ? ", too few of" bad : ""
		exit bad != ""
	}' || bad=1
}

raws=() objects=()
for t in "${targets[@]}"; do
	run "$t" "$O/cov_$t" -runs=0 "corpus/$t"
	[ "$t" != socket ] || continue
	raws+=("$O/$t.raw")
	objects+=("$O/cov_$t")
done
if [[ " ${targets[*]} " = *" socket "* ]]; then
	llvm-profdata merge -o "$O/socket.prof" "$O/socket.raw" || exit 1
	# a lack of memory or descriptors is no input
	wanted=$least least=$((least - 20))
	reached "the corpus reaches, of rmcd," "$O/missed.socket" "$daemon" "$O/socket.prof" \
		"$O/cov_socket"
	least=$wanted
fi
llvm-profdata merge -o "$O/fuzz.prof" "${raws[@]}" || exit 1
reached "the corpus reaches" "$O/missed" "$files" "$O/fuzz.prof" "${objects[@]}"
for t in "${programs[@]}"; do
	run "host_$t" "$O/host_$t"
	raws+=("$O/host_$t.raw")
	objects+=("$O/host_$t")
done
llvm-profdata merge -o "$O/all.prof" "${raws[@]}" || exit 1
reached "corpus and unit tests reach" "$O/missed.all" "" "$O/all.prof" "${objects[@]}"
echo "1..$n"
exit $bad
