#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Host tests of librmc and the tools without an RMC: TAP on stdout, exit status 1 if any failed.
# No module, no root. Whole programs: selftests/rmcd. usage: run.sh [BUILD_DIRECTORY]

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
O=$(mkdir -p "${1:-$top/build}" && cd "${1:-$top/build}" && pwd)
W=$O/selftests/lib
mkdir -p "$W"
rm -rf "${W:?}"/*

CC=${CC:-gcc}
CXX=${CXX:-g++}
FLAGS="-g -O1 -D_GNU_SOURCE -Wall -Wextra -Werror -I$top/lib/include -I$top/uapi"
# programs of the table ../programs are $W/NAME.asan and $W/NAME.tsan
declare -A build=([address,undefined]=asan [thread]=tsan)

# stubs are in the place of the module, whatever this host has
export RMC_DEVICE=module

. "$here/../tap.sh"

tap() {				# tap TITLE STATUS FILE: TAP of a program, renumbered
	local title=$1 line before=$failed
	while IFS= read -r line; do
		case $line in
		"ok "*)		report 0 "$title: ${line#*- }" ;;
		"not ok "*)	report 1 "$title: ${line#*- }" ;;
		1..*)		;;
		*)		echo "# $line" ;;
		esac
	done < "$3"
	# an early end, a sanitizer's exit or a crash is a failure even if all tests passed
	whole "$title" "$2" "$3" $((failed - before))
}

include() {			# include TITLE COMMAND...: TAP of its own
	local title=$1 status
	shift
	"$@" > "$W/tap" 2>&1 < /dev/null
	status=$?
	tap "$title" $status "$W/tap"
}

# Tests that do not depend on the rest run beside it, in a second lane, one after another.
in_lane() {			# in_lane NAME COMMAND...: output and status are kept
	local name=$1
	shift
	"$@" > "$W/$name.out" 2>&1 < /dev/null
	echo $? > "$W/$name.tmp"
	mv "$W/$name.tmp" "$W/$name.rc"
}

include_lane() {		# include_lane TITLE NAME: wait for it
	while [ ! -e "$W/$2.rc" ] && kill -0 "$lane" 2> /dev/null; do
		sleep 0.1
	done
	tap "$1" "$(cat "$W/$2.rc" 2> /dev/null || echo 1)" "$W/$2.out"
}

have() {
	command -v "$1" > /dev/null
}

# --- programs under sanitizers ---

sanitized() {			# sanitized TARGET...: rmcd's tests have the same objects
	flock "$O/selftests/lock" make -s -C "$here" O="$O" "$@"
}
# those that cannot be built fail below
sanitized -k -j"$(nproc)" all > /dev/null 2>&1
run_program() {			# run_program SECONDS NAME.asan ARGUMENTS...; or what the compiler says
	local limit=$1 program=$W/$2
	shift 2
	[ -x "$program" ] || sanitized "$program" || return
	timeout "$limit" "$program" "$@"
}

# Transactions: each program, and the system that it runs on instead of its own. HADES has no doubts
# and no locks of its own to lose.
tx_runs="tx.asan tx.asan:rmc tx.asan:hades tx_hades.asan tx_faults.asan tx_doubt.asan
	tx_history.asan tx_history.asan:rmc tx_history.asan:hades tx_history.tsan tx_history.tsan:rmc
	tx_history.tsan:hades tx_structures.asan tx_structures.asan:rmc tx_keys.asan tx_keys.asan:rmc tx_keys.tsan
	tx_workloads.asan tx_workloads.asan:rmc"

(for san in address,undefined thread; do
	for t in qp daemon_client daemon_memory daemon_domain msg domain; do
		in_lane "$t-$san" run_program 300 "$t.${build[$san]}"
	done
 done
 for run in $tx_runs; do
	case $run in
	*:*)	RMC_TEST_SYSTEM=${run#*:} in_lane "$run" run_program 300 "${run%:*}" ;;
	*)	in_lane "$run" run_program 300 "$run" ;;
	esac
 done) &
lane=$!
trap 'kill $lane 2> /dev/null' EXIT

# --- headers, library and installed tree ---

prefix=$W/root/usr
check "lib and tools build" make -C "$top" -s -f - O="$O" << 'EOF'
all:
	$(MAKE) -C lib O=$(O)
	$(MAKE) -C tools O=$(O)
EOF
check "lib installs" make -s -C "$top/lib" O="$O" DESTDIR="$W/root" PREFIX=/usr install
check "tools install" make -s -C "$top/tools" O="$O" DESTDIR="$W/root" PREFIX=/usr install

strict="-Wall -Wextra -Wpedantic -Werror -I$prefix/include"
for compiler in gcc clang; do
	have $compiler || { report 0 "headers as C11, $compiler" "no $compiler"; continue; }
	check "headers as C11, $compiler" \
		$compiler -std=c11 $strict -c -o "$W/h.o" "$here/test_headers.c"
done
for compiler in g++ clang++; do
	have $compiler || { report 0 "headers as C++17, $compiler" "no $compiler"; continue; }
	check "headers as C++17, $compiler" \
		$compiler -std=c++17 -x c++ $strict -c -o "$W/h.o" "$here/test_headers.c"
done
each_header_alone() {
	local h
	for h in "$prefix"/include/rmc/*.h; do
		echo "#include <rmc/${h##*/}>" |
			$CC -std=c11 $strict -Wno-unused -x c -c -o "$W/h.o" - || return 1
		echo "#include <rmc/${h##*/}>" |
			$CXX -std=c++17 $strict -Wno-unused -x c++ -c -o "$W/h.o" - || return 1
	done
}
check "each header compiles alone" each_header_alone

pkg_config_program() {
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$W/root
	export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
	local flags
	flags=$(pkg-config --cflags --libs librmc) || return 1
	$CC -std=c11 -o "$W/pc" "$here/test_headers.c" $flags || return 1
	LD_LIBRARY_PATH=$prefix/lib "$W/pc" || return 1
	readelf -d "$W/pc" | grep -q 'NEEDED.*librmc.so.1'
}
if have pkg-config; then
	check "program from pkg-config flags runs with librmc.so.1" pkg_config_program
else
	report 0 "program from pkg-config flags" "no pkg-config"
fi

symbols() {
	local s missing=0
	nm -D --defined-only "$O/librmc.so.1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' |
		sort > "$W/exported"
	# every function that a header declares or inlines is a symbol, and no other is
	cat "$top"/lib/include/rmc/*.h | tr '\n' ' ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
		grep -oE '\brmc_[a-z_0-9]+\(' | tr -d '(' | sort -u > "$W/named"
	while read -r s; do
		grep -qx "$s" "$W/named" || { echo "$s is exported but in no header"; missing=1; }
	done < "$W/exported"
	for s in rmc_open rmc_read_async rmc_wait_for_slot rmc_drain_cq rmc_team_barrier; do
		grep -qx "$s" "$W/exported" || { echo "$s is not exported"; missing=1; }
	done
	return $missing
}
check "exported symbols are those of the headers" symbols

documented() {			# except functions that only the inlines call
	local s missing=0
	while read -r s; do
		case $s in *_sized|rmc_qp_init_raw|rmc_relax|rmc_relax_slow) continue ;;
		rmc_cq_failed|rmc_qp_make_cookies|rmc_arrival_set|rmc_arrival_pull) continue ;; esac
		[ -e "$prefix/share/man/man3/$s.3" ] || { echo "$s has no man page"; missing=1; }
	done < "$W/exported"
	return $missing
}
check "every function has a man page" documented

inlined() {
	cat > "$W/inline.c" << 'EOF'
#include <rmc/rmc.h>
static unsigned long sum;
static inline void cb(int slot, void *arg) { sum += ((unsigned long *)arg)[slot]; }
unsigned long f(struct rmc_qp *qp, int n, void *buf);
unsigned long f(struct rmc_qp *qp, int n, void *buf)
{
	while (n--) {
		int slot = rmc_wait_for_slot(qp, cb);
		rmc_read_async(qp, slot, 1, 0, buf, 8);
	}
	rmc_drain_cq(qp, cb);
	return sum;
}
EOF
	$CC -O2 $strict -c -o "$W/inline.o" "$W/inline.c" || return 1
	nm "$W/inline.o"
	! nm "$W/inline.o" | grep -vE 'rmc_(relax_slow|cq_failed)' | grep -qE ' U |\bcb$'
}
check "callbacks and the fast path inline" inlined

. "$here/test_abi.sh"

for compiler in gcc clang; do
	name="PageRank's inner loop calls nothing, $compiler"
	out=$("$here/inline_check.sh" $compiler 2>&1)
	status=$?
	[ $status -eq 0 ] || [ $status -eq 77 ] || printf '%s\n' "$out" | sed 's/^/# /'
	[ $status -eq 77 ] && report 0 "$name" "$out" || report $status "$name"
done
expect "and the check would notice calls" 1 "pagerank_async exists" \
	"$here/inline_check.sh" $CC -fno-inline

man_pages() {
	local page status=0
	for page in "$top"/{lib,tools,vm-setup}/man/*.[0-9]; do
		if have mandoc; then
			mandoc -T lint -W warning "$page" || status=1
		else
			groff -man -Tutf8 -ww -z "$page" 2>&1 | grep . && status=1
		fi
	done
	return $status
}
if have mandoc || have groff; then
	check "man pages are clean" man_pages
else
	report 0 "man pages are clean" "neither mandoc nor groff"
fi

# --- fast path ---

for san in address,undefined thread; do
	include_lane "queue pair, $san" "qp-$san"
done

# --- the other driver: a daemon behind a socket ---

for san in address,undefined thread; do
	for t in client memory domain; do
		include_lane "rmcd, $t, $san" "daemon_$t-$san"
	done
done

# --- causes; each call of a driver, resources left when it fails; sleeping, step by step; yields ---

include "failures name their cause" run_program 120 causes.asan
for t in setup pair retry words yield; do
	include "$t" run_program 120 $t.asan
done

# --- graphs ---

mkdir -p "$W/lists"
cat > "$W/lists/a_Packages" << 'EOF'
Package: alpha
Version: 1
Depends: libc6 (>= 2.36), beta:any | gamma+x [amd64], virtual-mta
Recommends: delta
Suggests: not-this

Package: beta
Pre-Depends: libc6
Depends: libc6 (= 2),
 continued
Description: Depends: nothing
 Depends: nothing either
EOF
printf 'Package: zeta\nDepends: alpha\n' | gzip > "$W/lists/b_Packages.gz"
echo junk > "$W/lists/c_InRelease"
include "graph" run_program 60 graph.asan "$W/lists"

# --- rmc-sync recover ---

include "rmc-sync recover" run_program 20 recover.asan

. "$here/test_kv.sh"
. "$here/test_check.sh"
. "$here/test_structures.sh"
. "$here/test_compat.sh"

# --- messages ---

for san in address,undefined thread; do
	include_lane "messages, $san" "msg-$san"
done
for san in address,undefined thread; do
	include_lane "native messages, $san" "domain-$san"
done

# --- command lines and files that are wrong ---

P=$O/pagerank
printf '1 2\n# c\n2 x\n' > "$W/bad"
expect "malformed edge: file and line" 2 "bad:3: not an edge: '2 x'" "$P" -g "$W/bad"
printf '1 2\n1\n' > "$W/bad"
expect "half an edge" 2 "bad:2: not an edge" "$P" -g "$W/bad"
printf '1 2 3\n' > "$W/bad"
expect "one number too many" 2 "bad:1: not an edge" "$P" -g "$W/bad"
printf -- '-1 2\n' > "$W/bad"
expect "negative id" 2 "bad:1: not an edge" "$P" -g "$W/bad"
printf '1 2\n\0\0\0\n' > "$W/bad"
expect "binary file" 2 "bad:2: not an edge" "$P" -g "$W/bad"
: > "$W/bad"
expect "empty file" 2 "the graph is empty" "$P" -g "$W/bad"
printf '# nothing\n\n' > "$W/bad"
expect "only comments" 2 "the graph is empty" "$P" -g "$W/bad"
expect "no edges" 2 "no edges: nothing to rank" "$P" -r 4,0
expect "no such file" 2 "No such file" "$P" -g "$W/none"
expect "a directory" 2 "Is a directory" "$P" -g "$W"
expect "no graph named" 2 "is needed" "$P"
expect "no such variant" 2 "is not fine, bulk or shm" "$P" -r 4 -v x
expect "threads without shm" 2 "is for --variant shm" "$P" -r 4 -T 2
expect "bad scale" 2 "is not SCALE" "$P" -r 99
mkdir -p "$W/broken"
echo "no gzip" > "$W/broken/x_Packages.gz"
expect "broken package list" 2 "cannot decompress" "$P" --debian --lists "$W/broken"

expect "rmcctl without command" 2 "usage: rmcctl" "$O/rmcctl"
expect "rmcctl: unknown command" 2 "no command 'frob'" "$O/rmcctl" frob
expect "rmcctl: bad mode" 2 "not an octal number" "$O/rmcctl" context create --mode 9 1
expect "rmcctl: neither up nor down" 2 "node up|down NID" "$O/rmcctl" node sideways 1
expect "rmcctl: no node id" 2 "'1x' is not a node id" "$O/rmcctl" node down 1x
expect "rmcctl: bad id" 2 "is not a context id" "$O/rmcctl" context create x
# the C library looks up users and groups, so any source of them works
expect "rmcctl: no such user" 2 "no user 'nobody-here'" "$O/rmcctl" context create --uid nobody-here 1
expect "rmcctl: no such group" 2 "no group '12x'" "$O/rmcctl" context create --gid 12x 1
directory_user() {
	$CC $FLAGS -shared -fPIC -o "$W/one_user.so" "$here/one_user.c" || return 1
	for option in --uid --gid; do
		# the name is known, so the next missing thing is reported
		LD_PRELOAD=$W/one_user.so "$O/rmcctl" context create $option only-in-the-directory 1 2>&1 |
			grep -v "^rmcctl: no \(user\|group\)" || return 1
	done
}
check "rmcctl: users and groups of a directory service" directory_user
expect "RMC_CTX is no number" 2 "RMC_CTX='1x' in the environment" env RMC_CTX=1x "$O/rmc_read_lat"
expect "RMC_CTX is too large" 2 "RMC_CTX='99999999999' in" env RMC_CTX=99999999999 "$O/rmc-kv"
expect "RMC_NODES is no number" 2 "RMC_NODES='two' in" env RMC_NODES=two "$O/rmc_netpipe"
versions() {
	local p version
	version=$(cat "$top/VERSION")
	for p in "$O"/rmcctl "$O"/rmc[_-]* "$O"/{pagerank,mixed_loop} "$top"/tools/rmc-* \
		"$top"/vm-setup/rmc-{vm,deps,kernels}; do
		[ -e "$p" ] || [ "${p##*/}" = mixed_loop ] || { echo "$p is missing"; return 1; }
		[ ! -f "$p" ] || [ "$("$p" --version)" = "${p##*/} (rmc) $version" ] || { echo "$p"; return 1; }
	done
	for p in "$O"/{librmc,sonuma}.pc; do
		grep -qxF "Version: $version" "$p" || { echo "$p"; return 1; }
	done
}
if have python3; then
	check "each program has a version" versions
else
	report 0 "each program has a version" "no python3"
fi
installed_pages() {
	local d=$W/dest page name

	make -s -C "$top" install DESTDIR="$d" PREFIX=/usr > /dev/null || return 1
	for page in "$d"/usr/share/man/man[18]/*; do
		name=$(basename "${page%.[18]}")
		[ -x "$d/usr/bin/$name" ] || [ -x "$d/usr/sbin/$name" ] || { echo "$name"; return 1; }
	done
}
check "make install installs pages of installed programs only" installed_pages
expect "benchmark: bad size" 2 "is not a size" "$O/rmc_read_lat" -s 0
if [ -e /dev/rmc ]; then
	report 0 "messages without the module" "the module is loaded"
else
	expect "rmcctl without the module names the cure" 1 "modprobe rmc" \
		"$O/rmcctl" context create 3
	expect "rmcctl status without the module" 1 "modprobe rmc" \
		env RMC_SYSFS="$W" "$O/rmcctl" status
	# a JSON object is printed whole or not at all
	# a refusal with exit status 1, and nothing on its standard output
	prints_nothing() { local out rc=0; out=$("$@" 2>/dev/null) || rc=$?; [ -z "$out" ] && [ $rc -eq 1 ]; }
	no_half_object() { prints_nothing "$O/rmcctl" fault list --json; }
	check "rmcctl fault list --json without the module prints nothing" no_half_object
	no_half_model() { prints_nothing "$O/rmcctl" --json model; }
	check "rmcctl model --json without the module prints nothing" no_half_model
	expect "rmcctl doctor without the module" 1 "FAIL module .*modprobe rmc" \
		env RMC_SYSFS="$W" "$O/rmcctl" doctor
	expect "hello without the module names the cure" 1 "modprobe rmc" "$O/hello"
	expect "benchmark without the module" 1 "modprobe rmc" "$O/rmc_read_lat"
fi

# --- rmcctl over a sysfs tree ---

S=$W/sys
R=$S/class/misc/rmc
mkdir -p "$R"/{node0,node1}/counters "$R/worker0" "$S/class/rmc_context/rmcctx7"
put() { printf '%s\n' "$2" > "$1"; }
put "$R/fabric" loopback; put "$R/ni" pair; put "$R/nodes" 2; put "$R/local_nodes" 2
put "$R/nid" 0; put "$R/mtu" 64; put "$R/share" 0; put "$R/peers_up" 2
put "$R/memtype" write-back
put "$R/node0/state" up; put "$R/node0/epoch" 1; put "$R/node1/state" up
put "$R/node0/counters/rgp_ops" 12345; put "$R/node0/counters/rcp_errors" 0
put "$R/node1/counters/rgp_ops" 6
mkdir -p "$R/node0/domains/7"
put "$R/node0/domains/7/policy" greedy; put "$R/node0/domains/7/cores" 2
put "$R/node0/domains/7/depth" 3; put "$R/node0/domains/7/waiting" 4
put "$R/node0/domains/7/messages" 12345; put "$R/node0/domains/7/waited_p50_ns" 8
put "$R/node0/domains/7/waited_p99_ns" 1234; put "$R/node0/domains/7/waited_p999_ns" 98765432
put "$R/node0/domains/7/served_p50_ns" 0
printf '%s\n' "4 10" "1024 5" > "$R/node0/domains/7/waited_histogram"
put "$R/worker0/cpu" 1; put "$R/worker0/stages" rgp+rcp; put "$R/worker0/visits" 99
put "$S/class/rmc_context/rmcctx7/ctx_id" 7; put "$S/class/rmc_context/rmcctx7/open_count" 2
mkdir -p "$W/debug/rmc"
for f in links nodes rnic model timeout_ms retries; do : > "$W/debug/rmc/$f"; done
export RMC_SYSFS=$S RMC_DEBUGFS=$W/debug
expect "status" 0 "node1\|^1  *up" "$O/rmcctl" status
expect "status shows workers" 0 "worker0 *1 *rgp+rcp *99 *- " "$O/rmcctl" status
expect "counters" 0 "node0 *rgp_ops *12345" "$O/rmcctl" counters
expect "counters of one node" 0 "^node1 *rgp_ops *6" "$O/rmcctl" counters --node 1
expect "counters of a node elsewhere" 1 "not on this machine" "$O/rmcctl" counters --node 5
expect "domain" 0 "^0  *7  *greedy  *2  *3  *4  *12345  *8ns  *1.2us  *99ms  *-  *-  *-$" "$O/rmcctl" domain
expect "domain of another context" 0 "no domains" "$O/rmcctl" domain --context 6
expect "domain of another node" 0 "no domains" "$O/rmcctl" domain --node 1
expect "domain --histogram" 0 "^ *1024  *5 ####################$" "$O/rmcctl" domain --histogram
expect "node down" 0 "" "$O/rmcctl" node down 1
check "what node down wrote" test "$(tr -d '\n' < "$R/node1/state")" = down
put "$R/node1/state" up
expect "node elsewhere" 1 "not on this machine" "$O/rmcctl" node down 5
expect "context list" 0 "^7 .*2$" "$O/rmcctl" context list
valid_json() {
	local c
	for c in "status --json" "counters --json" "context list --json" "--json doctor" \
		"node down 1 --json" "--json node up 1" "fault list --json" "model --json" \
		"--json fault clear" "fault set --loss 1% --json" "fault timeout 100 --json" \
		"fault node --go 1 --json" "model off --json" "rnic off --json" "rnic profiles --json" "domain --json" "domain --histogram --json"; do
		"$O/rmcctl" $c > "$W/json" 2>&1
		python3 -m json.tool "$W/json" > /dev/null || { echo "$c"; cat "$W/json"; return 1; }
	done
}
if have python3; then
	check "JSON is JSON" valid_json
else
	report 0 "JSON is JSON" "no python3"
fi
put "$R/memtype" write-back
rm -r "$S/class/rmc_context/rmcctx7"
expect "doctor misses contexts" 1 "WARN contexts .*rmcctl context create" "$O/rmcctl" doctor
put "$R/fabric" ivshmem
D=$S/bus/pci/devices/0000:00:04.0
mkdir -p "$D"
put "$D/vendor" 0x1af4; put "$D/device" 0x1110
mkdir "$D/msi_irqs"
expect "doctor misses doorbells" 1 "WARN doorbell .*ivshmem-doorbell" "$O/rmcctl" doctor
put "$D/msi_irqs/24" msix
expect "doctor sees doorbells" 1 "^ok *doorbell" "$O/rmcctl" doctor
put "$R/memtype" uncached-minus
expect "doctor warns of uncached fabric memory" 1 "WARN memtype.*not write-back" "$O/rmcctl" doctor
unset RMC_SYSFS RMC_DEBUGFS

. "$here/test_tx.sh"

# --- the table of programs ---

as_listed() {			# the programs of the table, and no other, were built with sanitizers
	local b listed
	listed=$(for b in asan tsan; do
		"$here/../list-programs" lib $b | sed "s/^test_//; s/\$/.$b/"
	done | sort)
	diff <(echo "$listed") <(cd "$W" && printf '%s\n' *.[at]san | sort)
}
check "the table of programs has those that were built" as_listed

echo "1..$count"
[ $failed -eq 0 ]
