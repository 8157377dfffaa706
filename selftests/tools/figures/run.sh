#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Host tests of tools/rmc-figures: its parts, pages of made-up results, and one real run of the
# host's own benchmark. TAP on stdout, exit status 1 if any failed, 4 with the reason if they
# cannot run at all. usage: run.sh

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
W=$top/build/selftests/figures
F=$top/tools/rmc-figures
rm -rf "$W"
mkdir -p "$W"

for need in gnuplot python3; do
	if ! command -v $need > /dev/null; then
		echo "no $need: run vm-setup/rmc-deps figures"
		exit 4
	fi
done

. "$here/../../tap.sh"

shows() {			# shows NAME FILE PATTERN
	grep -q -- "$3" "$2"
	report $? "$1"
}

# --- parts, and pages of made-up results ---

report_unittest "$here/unit.py"
report_unittest "$here/runs.py"
report_unittest "$here/plots.py"

# --- command line ---

expect "help" 0 "^Exit status: 0 done" "$F" --help
expect "list" 0 "^  table2 *A14 Table 2" "$F" --list
expect "list has the machines" 0 "^  host *host: " "$F" --list
expect "unknown figure" 2 "no figure fig99" "$F" --only fig99
expect "unknown machine" 2 "no machine abacus" "$F" --machine abacus
expect "nothing to make a page of" 125 "run.json" "$F" --render --out "$W/none"
no_gnuplot() {
	python3 -c 'import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
from figures import base
base.gnuplot = lambda: None
runpy.run_path(sys.argv[0], run_name="__main__")' "$F" --render --out "$W/none"
}
expect "without gnuplot the cure is named" 125 "rmc-deps figures" no_gnuplot

# --- computed ones ---

for program in rmc_qsim rmc_chip; do
	make -s -C "$top/tools" O="$top/build" "$top/build/$program" || report 1 "$program builds"
done
expect "queueing systems" 0 "index.html$" \
	timeout 100 "$F" --quick --only queues --machine computed --out "$W/queues"
shows "their page has the thesis' values" "$W/queues/index.html" '<td class="paper">73</td>'
shows "and computed ones" "$W/queues/index.html" \
	'>gev</td><td class="paper">6</td><td class="native">[0-9.][0-9.]*</td><td class="paper">20</td>'

expect "NIs of a chip" 0 "index.html$" \
	timeout 200 "$F" --quick --only chip --machine computed --out "$W/chip"
shows "their page has the thesis' totals, and the model's" "$W/chip/index.html" \
	'>mesh: total, cycles</td><td class="paper">710</td><td class="native">7[0-9][0-9]</td>'
shows "and says that it is a model" "$W/chip/index.html" "A model: computed by rmc_chip"

page_alone() {			# FILE: nothing from elsewhere; for a phone; thumbnails; a line for each plot
	python3 - "$1" <<-'EOT'
		import re, sys
		page = open(sys.argv[1], encoding="utf-8").read()
		used = re.findall(r"""\b(?:src|href|action|data|poster)=["']([^"']*)|url\(["']?([^"')]*)|@import (.*)""", page)
		away = [u for one in used for u in one if u and not re.match(r"#|raw/|data:image/svg", u)]
		plots = re.findall(r'<div id="(plot-[^"]*)" class="plot', page)
		wrong = [p for p in plots if f'<a href="#{p}"' not in page.split('class="thumbs"')[1]]
		lines = page.count("What differs: ") + page.count("What differs from the paper: ")
		print(away, len(plots), wrong, lines, "<script" in page)
		sys.exit(bool(away or wrong or "<script" in page or not plots or lines < 1 or
		              'name="viewport"' not in page or not re.search(r"@media \(max-width", page)))
	EOT
}
check "the page needs no other file, and has an overview of its plots" page_alone "$W/chip/index.html"

for program in lib tools/sim; do
	make -s -C "$top/$program" O="$top/build" || report 1 "$program builds"
done
virtual() { timeout 200 "$F" --quick --only table2 --machine virtual --out "$W/virtual" "$@"; }
expect "table 2 in virtual time" 0 "index.html$" virtual
shows "their page has quotients" "$W/virtual/index.html" \
	'>IOPS, Mops/s</td><td class="paper">1.97</td><td class="paper">10.9</td>.*</td><td class="">[0-9.]*</td></tr>'
shows "and says what proves nothing" "$W/virtual/index.html" "agreement with a paper proves nothing"
rm "$W/virtual/raw/virtual.sim-sonuma-rmc.json"
python3 - "$W/virtual/raw/virtual.sim-sonuma-sonuma-a14.json" <<-'EOT'
	import json, sys
	found = json.load(open(sys.argv[1], encoding="utf-8"))
	assert len(found["built"]["build/sim-sonuma"]) == 64
EOT
report $? "a raw file says which program made it"
expect "what is missing is run again, and no more" 0 "^\[ 1/1\] .*sim-sonuma .*--costs rmc" virtual --resume

expect "HADES in a model" 0 "index.html$" \
	timeout 250 "$F" --quick --only hd_model --machine virtual --out "$W/hades"
shows "its page has a mean beside the paper's" "$W/hades/index.html" \
	'>fig. 9: HADES / Baseline, mean, times</td><td class="paper">2.7</td><td class="native">[0-9.]*</td>'
shows "and figures by round trip, by local requests, and mixes of four" "$W/hades/index.html" \
	'Figure 15: the same, mixes of four'

make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/footprint" ||
	report 1 "footprint builds"
expect "memory of messages" 0 "index.html$" \
	timeout 100 "$F" --quick --only footprint --machine computed --out "$W/footprint"
for want in 78 25 11 6; do
	shows "its slots are the thesis': $want" "$W/footprint/index.html" \
		"<td class=\"paper\">$want</td><td class=\"native\">$want</td>"
done
shows "and its memory" "$W/footprint/index.html" \
	'>4096 B, 78 slots</td><td class="paper">319</td><td class="native">319</td>'
shows "of two domains, too" "$W/footprint/index.html" \
	'>two domains: 64 B, 78 slots; 4096 B, 6</td><td class="paper">37</td><td class="native">36.8</td>'

make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/valet_curves" ||
	report 1 "valet_curves builds"
expect "figures 8.3 to 8.5, of few messages" 0 '"peak"' \
	eval '"$top/build/host/valet_curves" --messages 3000 | tee "$W/curves.json"'
peaks() {			# peaks CONDITION: of p(costs, series), for each distribution
	python3 - "$W/curves.json" "$1" <<-'EOT'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1], encoding="utf-8"))["rows"] if "peak" in r]
		services = {r["service"] for r in rows}
		def holds(service):
		    def p(costs, series):
		        return next(r["peak"] for r in rows
		                    if (r["costs"], r["service"], r["series"]) == (costs, service, series))
		    print(service, {s: p("chip", s) for s in ("1x16", "4x4", "16x1", "threads, lock 200 ns")})
		    return eval(sys.argv[2], {"p": p})
		sys.exit(len(services) != 4 or not all([holds(s) for s in services]))
	EOT
}
check "one queue serves more than four, four more than sixteen" \
	peaks 'p("chip", "1x16") > 1.05 * p("chip", "4x4") > 1.1 * p("chip", "16x1")'
check "a model without costs serves more, and the one queue no less" \
	peaks 'all(p("none", s) > p("chip", s) - (s == "1x16") / 100 for s in ("1x16", "4x4", "16x1"))'
check "threads with the slowest lock serve half of that at most" \
	peaks '2 * p("chip", "threads, lock 200 ns") < p("chip", "1x16")'

# --- real runs ---

if [ "$(nproc)" -lt 2 ]; then
	report 0 "table 2 by the host's own benchmark" "needs two CPUs"
else
	make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/sweep" ||
		report 1 "sweep builds"
	expect "sweep: sizes that are none" 2 "usage: sweep" "$top/build/host/sweep" --sizes 8,4
	expect "sweep: no such series" 2 "usage: sweep" "$top/build/host/sweep" frob
	expect "table 2 by the host's own benchmark" 0 "index.html$" \
		timeout 250 "$F" --quick --only table2 --machine host --out "$W/table2"
	page=$W/table2/index.html
	shows "its page has the paper's values" "$page" '<td class="paper">1.97</td>'
	shows "and one of here" "$page" '<td class="native">[0-9.]*</td>'
	shows "and the command" "$page" '<code>build/host/sweep --path packets --quick read-latency '
	shows "beside it the local path, which no paper has" "$page" 'host, local path (not the paper'
	shows "and a value of it" "$page" '<td class="native local">[0-9.]*</td>'
	shows "and its command" "$page" '<code>build/host/sweep --path local --quick read-latency '
	shows "whose operations took that path" "$W/table2/raw/host.sweep-local.json" '"path": "local"'
	shows "raw JSON lies beside it" "$W/table2/raw/host.sweep.json" '"t_typical_usec"'
	make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/objects" ||
		report 1 "objects builds"
	expect "objects: no such figure" 2 "usage: objects" "$top/build/host/objects" 11
	expect "objects: schemes as JSON" 0 '"series": "farm: check"' \
		timeout 120 "$top/build/host/objects" --quick --json schemes
	make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/ni_bench" ||
		report 1 "ni_bench builds"
	for wrong in "speed" "--sizes 64,96" "--only frob" "--rrpps 3"; do
		# shellcheck disable=SC2086 # an option and its argument
		expect "ni_bench: no such $wrong" 2 "usage: ni_bench" "$top/build/host/ni_bench" $wrong
	done
	ni=(timeout 120 "$top/build/host/ni_bench" --quick --one-cpu --sizes "64,64")
	expect "NI organisations, computed, each RRPP with its share" 0 "^edge  *8  *8 .* to .* %" \
		"${ni[@]}" --only edge,8 computed
	expect "fewer RRPPs" 0 '"rrpps": 2,' "${ni[@]}" --json --only per_tile,4 --rrpps 2 computed
	expect "threads: pinned, or the reason why not" 0 "^split  *8 .*\(needs* [0-9]* CPUs\|each\|both\)" \
		"${ni[@]}" --only split,8 threads
	expect "between two nodes with a worker each" 0 "^write  *8192  *32 " \
		"${ni[@]}" between
	make -s -C "$top/selftests" O="$top/build/host" "$top/build/host/native_bench" ||
		report 1 "native_bench builds"
	expect "native_bench: no such part" 2 "usage: native_bench" "$top/build/host/native_bench" speed
	expect "native_bench: a rate beside reads" 0 "32 in flight .* per 64 B reads .* asked >= 0.40" \
		timeout 120 "$top/build/host/native_bench" --quick rate
	expect "native_bench: the dispatcher alone" 0 "16 at once  *[0-9.]* ns .* asked <= 31.00" \
		timeout 120 "$top/build/host/native_bench" --quick dispatch
	expect "native messages by the host alone" 0 "index.html$" \
		timeout 250 "$F" --quick --only native --machine host --out "$W/native"
	shows "their page has the thesis' gain, and one of here" "$W/native/index.html" \
		'>64 B</td><td class="paper">20</td><td class="native">-*[0-9.][0-9.]*</td>'
	make -s -C "$top/tools" O="$top/build" "$top/build/rmcd" "$top/build/rmc_valet" ||
		report 1 "rmcd and rmc_valet build"
	expect "a server on real threads" 0 "index.html$" \
		timeout 250 "$F" --quick --only dispatch --machine threads --out "$W/threads"
	marked() {		# as many rows as runs; with less than four CPUs all are the scheduler's
		grep -o '>gev: [^<]*, [0-9]* threads[^<]*<' "$W/threads/index.html" > "$W/rows"
		[ "$(wc -l < "$W/rows")" -eq 6 ] || { cat "$W/rows"; return 1; }
		[ "$(nproc)" -ge 4 ] || [ "$(grep -c "(scheduler" "$W/rows")" -eq 6 ]
	}
	check "its page says when latencies are the scheduler's" marked
	expect "the page can be made again" 0 "index.html$" "$F" --render --out "$W/table2"
fi

echo "1..$count"
[ $failed -eq 0 ]
