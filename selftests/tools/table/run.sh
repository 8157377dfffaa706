#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Host tests of tools/rmc-bench and tools/rmc-results: tables of made-up results, command lines,
# the programs of peers, and one real run of the core alone. TAP on stdout, exit status 1 if any failed, 4 with the
# reason if they cannot run at all. usage: run.sh

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
W=$top/build/selftests/table
B=$top/tools/rmc-bench
rm -rf "$W"
mkdir -p "$W"

if ! command -v python3 > /dev/null; then
	echo "no python3: run vm-setup/rmc-deps vm"
	exit 4
fi

. "$here/../../tap.sh"

# --- tables of made-up results ---

report_unittest "$here/unit.py"
report_unittest "$here/results_unit.py"

# --- command lines ---

expect "help" 0 "^Exit status: 0 done" "$B" --help
expect "unknown machine" 2 "abacus" "$B" --machine abacus
expect "unknown peer" 2 "no peer pigeon" "$B" --peers pigeon
expect "too much" 2 "unrecognized" "$B" frob
expect "nothing to make a table of" 125 "run.json" "$B" --render --out "$W/none"
S=$top/tools/rmc-results
expect "rmc-results: help" 0 "^Exit status: 0 done" "$S" --help
expect "rmc-results: no verb" 2 "VERB" "$S"
expect "rmc-results: unknown kind" 2 "abacus" "$S" import abacus file --name n --what w
expect "rmc-results: no such file" 1 "none" "$S" import host "$W/none" --name n --what w --command c
expect "rmc-results: all results and who shows them" 0 "^host: .*performance.rst" "$S" list
expect "a machine that is not there, with the reason" 125 "nothing can be measured: UML: .*rmc-deps uml" \
	env RMC_UML="$W/none" "$B" --machine uml --peers none --out "$W/no-uml"

# --- peers: their programs really print what the table takes ---

peer() {			# peer NAME
	local out status
	out=$("$here/unit.py" --program "$1" 2>&1)
	status=$?
	if [ $status -eq 77 ]; then
		report 0 "$1 prints its values" "$out"
		return
	fi
	[ $status -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
	report $status "$1 prints its values"
}
if [ "$(nproc)" -lt 2 ]; then
	report 0 "peers print their values" "two processes that spin need two CPUs"
else
	prepare "programs of peers build" make -s -C "$top/tools" O="$top/build" peers
	for system in ucx mpi pipe io_uring tcp; do
		peer $system
	done
	if [ -x "$top/build/peer_mpi" ]; then
		expect "MPI: one rank" 2 "two ranks" "$top/build/peer_mpi"
		expect "mpi.py: wrong command line" 1 "mpi.py \[-n" "$top/tools/benchtable/mpi.py" --frob
	fi
	expect "peer_pipe: wrong command line" 2 "pipe, socketpair or tcp" "$top/build/peer_pipe" --over air
	expect "messages by io_uring over sockets" 0 '"transport": "socketpair"\|"missing"' \
		"$top/build/peer_pipe" --io-uring --over socketpair -n 50
fi

# --- a real run of the shortest ---

if [ "$(nproc)" -lt 2 ]; then
	report 0 "the core alone" "needs two CPUs"
else
	make -s -C "$top/selftests" O="$top/build/host" \
		"$top"/build/host/{sweep,stages,lines,messages,native_bench,ni_bench} > /dev/null 2>&1 ||
		report 1 "the host's programs build"
	for program in sweep stages lines messages native_bench ni_bench; do
		expect "$program: wrong command line" 2 "usage: " "$top/build/host/$program" --frob
	done
	expect "the host alone" 0 "^read  *64 B  *core" \
		timeout 200 "$B" --machine host --quick --rounds 1 --peers none --out "$W/host" \
		--json "$W/copy.json"
	expect "and two nodes with a worker each, computed" 0 "^write  *8 KiB  a worker each, computed .*packets" \
		"$B" --render --out "$W/host"
	check "its JSON is one" "$here/unit.py" --check "$W/host/bench.json"
	check "the copy is the same" cmp "$W/host/bench.json" "$W/copy.json"
	expect "the table can be made again" 0 "^read  *64 B  *core .* dev 1.5, sim 0.3, RDMA 1.19" \
		"$B" --render --out "$W/host"
	expect "and with the options given to make" 0 "^read  *64 B  *core" \
		make -s -C "$top" bench BENCH="--render --out $W/host"
	expect "and as JSON" 0 '"schema": "rmc-bench 2"' "$B" --render --out "$W/host" --json -
	# ... and becomes stored results, which a page shows
	mkdir -p "$W/results"
	for part in latency rows; do
		check "its $part are stored" "$S" --folder "$W/results" import bench "$W/host/bench.json" \
			--part $part --name $part --what "one real run"
	done
	printf '.. results: latency\n\n.. end results\n\n.. results: rows\n\n.. end results\n' > "$W/page.rst"
	check "a page shows them" "$S" --folder "$W/results" pages "$W/page.rst"
	expect "with this machine" 0 "^At .*, $(nproc --all) CPUs: " cat "$W/page.rst"
	expect "and with what was asked" 0 "64 B reads, 32 in flight.*M/s" cat "$W/page.rst"
	check "and it is what they say" "$S" --folder "$W/results" pages --check "$W/page.rst"
	sed -i 's/^\(read, 64 B .*\)[0-9]\([^0-9]*\)$/\1x\2/' "$W/page.rst"
	expect "a digit that is none is noticed" 1 "page.rst:.*not what the results say" \
		"$S" --folder "$W/results" pages --check "$W/page.rst"
	rm -f "$W/host/raw/host.messages.0.json"
	expect "what is missing is reported, and is a failure" 1 "messages, core: it was not run" \
		"$B" --render --out "$W/host"
fi

echo "1..$count"
[ $failed -eq 0 ]
