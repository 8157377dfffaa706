#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Host tests of librmc and the tools: TAP on stdout, exit status 1 if any failed.
# No module, no root. usage: run.sh [BUILD_DIRECTORY]

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
O=$(mkdir -p "${1:-$top/build}" && cd "${1:-$top/build}" && pwd)
W=$O/selftests/lib
mkdir -p "$W"
rm -rf "${W:?}"/*

CC=${CC:-gcc}
CXX=${CXX:-g++}
FLAGS="-g -O1 -D_GNU_SOURCE -Wall -Wextra -Werror -I$top/lib/include -I$top/uapi"
TOOL_INC="-I$top/tools/common -I$top/tools/apps"
ASAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
WRAP="-Wl,--wrap=open,--wrap=ioctl,--wrap=mmap"

# programs over a driver in user space, whatever this host has
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

# --- the second lane: the library against a stub of the RMC, under sanitizers ---

lib_src=$(echo "$top"/lib/{ctx,error,log,mem,qp,sabre,size,sleepers,team,version,driver/*}.c)
sanitized() {			# sanitized SANITIZER NAME SOURCES...: build it and run it
	local san=$1 name=$2
	shift 2
	# gcc's thread sanitizer does not support fences, and warns
	[ "$san" != thread ] || set -- "$@" -Wno-tsan
	$CC -fsanitize="$san" $FLAGS -pthread -o "$W/$name" "$@" "$here/fake_rmc.c" $lib_src &&
		timeout 300 "$W/$name"
}
(for san in address,undefined thread; do
	in_lane "qp-$san" sanitized $san "qp-$san.run" "$here/test_qp.c"
 done
 for san in address,undefined thread; do
	for t in client memory; do
		in_lane "daemon-$t-$san" sanitized $san "daemon-$t-$san.run" \
			"$here/test_daemon_$t.c" "$here/stub_daemon.c" "$top"/lib/{wait,watch}.c
	done
 done
 for san in address,undefined thread; do
	in_lane "msg-$san" sanitized $san "msg-$san.run" "$here/test_msg.c" "$top"/lib/msg/*.c
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
		rmc_cq_failed|rmc_qp_make_cookies) continue ;; esac
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
	for t in client memory; do
		include_lane "rmcd, $t, $san" "daemon-$t-$san"
	done
done

# --- causes ---

if $CC $ASAN $FLAGS -pthread -Wl,--wrap=ioctl -o "$W/causes" "$here/test_causes.c" \
	"$top"/lib/{,driver/,kv/,scheme/,msg/}*.c > "$W/log" 2>&1; then
	include "failures name their cause" "$W/causes"
else
	sed 's/^/# /' "$W/log"
	report 1 "tests of causes build"
fi

# --- each call of a driver, resources left when it fails; sleeping, step by step ---

build_stub() {			# build_stub NAME: over a stub of the driver that the test controls
	$CC $ASAN $FLAGS -pthread -o "$W/$1" "$here/test_$1.c" "$here"/{stub_driver,fake_rmc}.c \
		"$top"/lib/{,driver/,kv/,scheme/,msg/}*.c -lm \
		-Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap,--wrap=madvise,--wrap=access
}
for t in setup pair; do
	prepare "tests of $t build" build_stub $t
	include "$t" timeout 120 "$W/$t"
done
build_plain() {
	$CC $ASAN $FLAGS -pthread -o "$W/$1" "$here/test_$1.c" "$here/fake_rmc.c" $lib_src
}
for t in retry words; do
	prepare "tests of $t build" build_plain $t
	include "$t" timeout 120 "$W/$t"
done

# --- graphs ---

graph_src=$(echo "$top"/tools/apps/{graph,graph_text,graph_debian,graph_rmat,strtab}.c)
common_src=$(echo "$top"/tools/common/{json,memlock,opt,progress}.c)
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
if $CC $ASAN $FLAGS $TOOL_INC -o "$W/graph" "$here/test_graph.c" $graph_src $common_src \
   -lm > "$W/log" 2>&1; then
	include "graph" "$W/graph" "$W/lists"
else
	sed 's/^/# /' "$W/log"
	report 1 "graph tests build"
fi

# --- whole programs over a driver in user space ---

# Compiled once, linked into each
sanitized_archive() {		# sanitized_archive NAME SOURCES...
	local name=$1 dir=$W/$1.d
	shift
	mkdir -p "$dir"
	(cd "$dir" && $CC $ASAN $FLAGS $TOOL_INC -c "$@") && ar rcs "$W/$name.a" "$dir"/*.o
}
build_fake() {			# build_fake NAME SOURCE ARCHIVE...
	local name=$1
	shift
	$CC $ASAN $FLAGS $TOOL_INC -pthread -o "$W/$name" "$@" "$W/fake.a" $WRAP -lm
}
bench_src=$(echo "$top"/tools/bench/{bench,options,stats,report,clock}.c)
prepare "driver in user space builds" sanitized_archive fake \
	"$here/fake_driver.c" "$here/fake_rmc.c" $lib_src $common_src "$top/tools/common/path.c"
prepare "benchmarks' common part builds" sanitized_archive bench $bench_src
prepare "pagerank builds for the driver in user space" \
	build_fake pagerank "$top"/tools/apps/pagerank{,_fine,_bulk,_shm,_result}.c $graph_src
prepare "hello builds likewise" build_fake hello "$top/tools/apps/hello.c"
awk '/^```/ { inside = /^```c$/ && !n++; next } inside' "$top/README.md" > "$W/readme.c"
prepare "the README's program builds likewise" build_fake readme "$W/readme.c"
for b in read_lat write_lat atomic_lat read_bw write_bw; do
	prepare "rmc_$b builds likewise" build_fake rmc_$b "$top/tools/bench/rmc_$b.c" "$W/bench.a"
done

nodes() {			# nodes N PROGRAM...: the worst exit status
	local n=$1 i pids="" worst=0 status
	shift
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	for ((i = 0; i < n; i++)); do
		FAKE_FABRIC=$W/fabric RMC_NODES=$n RMC_NODE=$i timeout 120 "$@" &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
	done
	return $worst
}

if ! nodes 2 "$W/hello" > "$W/log" 2>&1 && grep -q "not up\|Operation not permitted" "$W/log"; then
	report 0 "programs of several nodes" "process_vm_readv is not permitted here"
else
	expect "hello on 1 node" 0 "node 0 says 100: success" nodes 1 "$W/hello"
	logged() {		# logged LEVEL: what one node's program writes at that level
		RMC_LOG=$1 nodes 1 "$W/hello" 2>&1 > /dev/null
	}
	expect "RMC_LOG=debug prints what the library does" 0 \
		"debug: .*open as file .*info: .*acts for node 0 .*info: queue pair 0: 128 entries.*closed" \
		eval 'logged debug | tr "\n" " "'
	silent() {
		test -z "$(logged "")" && test -z "$(logged warn)" && ! logged info | grep debug:
	}
	check "without it, and below its level, the library is silent" silent
	expect "an unknown level is reported" 0 "RMC_LOG is 'loud', not error, warn" logged loud
	expect "RMC_LOG=error has rmc_errmsg()" 0 "librmc.* error: RMC_NODE is 'x'" \
		eval 'RMC_NODE=x RMC_LOG=error FAKE_FABRIC=$W/fabric "$W/hello" || :'
	expect "the README's program on 4 nodes" 0 "node 0 says 100: success" nodes 4 "$W/readme"
	expect "hello on 4 nodes" 0 "node 3 says 103: success" nodes 4 "$W/hello"
	# in a cycle all ranks are equal; in a star all edges end at the centre
	printf '1 2\n2 3\n3 1\n' > "$W/cycle"
	printf '10 5\n20 5\n30 5\n40 5\n' > "$W/star"
	expect "PageRank of a cycle, alone" 0 "1  0.333333" nodes 1 "$W/pagerank" -g "$W/cycle" -V
	expect "PageRank of a cycle, 3 nodes" 0 "1  0.333333" nodes 3 "$W/pagerank" -g "$W/cycle" -V
	# 0.15/5 + 0.85 * 4 * (0.15/5) = 0.132
	expect "PageRank of a star, 2 nodes" 0 "1  0.132 *5$" nodes 2 "$W/pagerank" -g "$W/star" -V
	expect "more nodes than vertices" 0 "verify *ok" nodes 4 "$W/pagerank" -g "$W/cycle" -V
	expect "R-MAT on 4 nodes verifies" 0 "verify *ok" nodes 4 "$W/pagerank" -r 10 -n 3 -V
	expect "a queue of 2 entries will do" 0 "verify *ok" \
		nodes 2 "$W/pagerank" -r 8 -n 2 -V -o 2
	ranks_of() {		# ranks_of NODES OPTIONS...
		nodes "$@" -r 9 -n 7 -t 12 | sed -n '/rank  /,/^$/p'
	}
	variants_agree() {
		local expected v
		expected=$(ranks_of 1 "$W/pagerank" -v shm) && [ -n "$expected" ] || return 1
		for v in "1 fine" "4 fine" "1 bulk" "3 bulk" "4 bulk" "1 shm -T 4"; do
			[ "$(ranks_of ${v%% *} "$W/pagerank" -v ${v#* })" = "$expected" ] ||
				{ echo "differs: $v"; return 1; }
		done
	}
	check "all variants give the same ranks" variants_agree
	expect "bulk on 4 nodes verifies" 0 "verify *ok" nodes 4 "$W/pagerank" -v bulk -r 10 -n 5 -V
	expect "bulk, more nodes than vertices" 0 "verify *ok" \
		nodes 4 "$W/pagerank" -v bulk -g "$W/cycle" -V
	# 4 MiB of vertices where an operation takes 1 MiB
	expect "bulk beyond the largest operation" 0 "remote *8 reads" \
		nodes 2 "$W/pagerank" -v bulk -r 17,1 -n 2 -t 1
	expect "threads verify" 0 "verify *ok" nodes 1 "$W/pagerank" -v shm -T 3 -r 10 -V
	expect "more threads than vertices" 0 "verify *ok" \
		nodes 1 "$W/pagerank" -v shm -T 9 -g "$W/cycle" -V
	expect "threads on one node of several" 0 "^threads *2," \
		nodes 2 "$W/pagerank" -v shm -T 2 -r 6
	expect "speed-up over one thread" 0 '"speedup": [0-9]' \
		nodes 2 "$W/pagerank" -v bulk -r 10 --speedup --json
	expect "PageRank as JSON" 0 '"ok": true' nodes 2 "$W/pagerank" -r 6 -V --json
	different_graphs() {
		rm -f "$W/fabric"
		truncate -s 64K "$W/fabric"
		export FAKE_FABRIC=$W/fabric RMC_NODES=2
		RMC_NODE=1 timeout 60 "$W/pagerank" -r 6 --seed 2 &
		RMC_NODE=0 timeout 60 "$W/pagerank" -r 6
		wait $!
	}
	expect "nodes with different graphs are refused" 1 "has another graph" different_graphs
	for b in read_lat write_lat atomic_lat read_bw write_bw; do
		expect "rmc_$b between 2 nodes" 0 "#bytes" \
			nodes 2 "$W/rmc_$b" -n 200 -S 1M
	done
	# at most 32 operations of 128 KiB complete within 2 ms: 2 GiB/s
	peak_is_possible() {
		FAKE_DELAY_US=2000 nodes 2 "$W/rmc_read_bw" -s 128K -n 300 --json > "$W/peak" ||
			return 1
		awk -F'[:,]' '/bw_(peak|typical)/ { print; found = 1; high += $2 > 2.2e9 }
			END { exit !found || high }' "$W/peak"
	}
	# fourteen seconds of operations; output that is no terminal gets a line every ten
	long_run() {
		FAKE_DELAY_US=40000 nodes 2 "$W/rmc_read_lat" -n 350 -S 64K
	}
	expect "a long run shows its progress in a log, too" 0 "^64 bytes: .*%$" long_run
	check "peak bandwidth counts completed operations, not issued ones" peak_is_possible
	expect "all sizes" 0 "^ 131072 " nodes 2 "$W/rmc_read_bw" -a -n 20 -S 256K
	sizes_of() {		# sizes_of PROGRAM OPTIONS...
		nodes 2 "$@" --json | sed -n 's/.*"bytes": \([0-9]*\).*/\1/p' | xargs
	}
	expect "all sizes up to one" 0 "^8 16 32 64 128 256$" \
		sizes_of "$W/rmc_read_lat" -a -s 256 -n 20 -S 1M
	expect "double-sided, 3 nodes" 0 "node 1 -> node 0.*both" \
		nodes 3 "$W/rmc_read_lat" -b -n 100 -S 1M
	expect "compare-and-swap" 0 "compare-and-swap" nodes 2 "$W/rmc_atomic_lat" -A cas -n 50 -S 1M
	expect "against itself" 0 "itself" nodes 1 "$W/rmc_read_lat" -n 50 -S 1M
	expect "benchmark as JSON" 0 '"t_typical_usec": [0-9]' \
		nodes 2 "$W/rmc_read_lat" --json -n 50 -S 1M
	# what that driver reports: without packets up to FAKE_LOCAL_BYTES, on nodes below FAKE_LOCAL_NODES
	paths_of() {		# paths_of PROGRAM OPTIONS...: of each size, then of all
		nodes 3 "$@" --json | sed -n 's/.*"path": "\([a-z]*\)".*/\1/p' | xargs
	}
	expect "each size has its path" 0 "^local local local local packets packets mixed$" \
		eval 'FAKE_LOCAL_BYTES=64 paths_of "$W/rmc_read_lat" -a -s 256 -n 20 -S 1M'
	expect "each size has its path: bandwidth" 0 "^local local$" \
		eval 'FAKE_LOCAL_BYTES=256 paths_of "$W/rmc_write_bw" -s 256 -n 20 -S 1M'
	expect "packets between nodes of different workers" 0 "^packets packets$" \
		eval 'FAKE_LOCAL_BYTES=256 FAKE_LOCAL_NODES=1 paths_of "$W/rmc_atomic_lat" -n 20 -S 1M'
	expect "an older driver does not tell the path" 0 "^unknown unknown$" \
		paths_of "$W/rmc_read_lat" -n 20 -S 1M
	expect "the path is the last column" 0 "^ 64 .* packets$" \
		eval 'FAKE_LOCAL_BYTES=0 nodes 2 "$W/rmc_read_lat" -n 20 -S 1M'
	expect "PageRank: path of reads of one vertex" 0 "^path *mixed$" \
		eval 'FAKE_LOCAL_BYTES=64 FAKE_LOCAL_NODES=2 nodes 3 "$W/pagerank" -r 6'
	expect "PageRank: path of reads of all vertices" 0 "^packets$" \
		eval 'FAKE_LOCAL_BYTES=1024 paths_of "$W/pagerank" -r 10 -v bulk'
	expect "PageRank: threads have no path" 0 "^none$" paths_of "$W/pagerank" -r 6 -v shm
	expect "peer outside the run" 2 "has node 0 .. 1" nodes 2 "$W/rmc_read_lat" -d 5 -S 1M
	expect "more nodes than the fabric has" 1 "17 nodes asked for, but the fabric has 16" \
		env FAKE_FABRIC="$W/fabric" RMC_NODES=17 RMC_NODE=0 "$W/hello"
	killed_peer() {
		local victim status
		rm -f "$W/fabric"
		truncate -s 64K "$W/fabric"
		export FAKE_FABRIC=$W/fabric RMC_NODES=2
		RMC_NODE=1 timeout -s KILL 3 "$W/rmc_read_bw" -n 2000000000 -b -S 1M > /dev/null &
		victim=$!
		RMC_NODE=0 timeout 60 "$W/rmc_read_bw" -n 2000000000 -b -S 1M
		status=$?
		wait $victim
		return $status
	}
	expect "a killed peer ends the run" 1 "not up" killed_peer
	killed_leader() {
		local victim status
		rm -f "$W/fabric"
		truncate -s 64K "$W/fabric"
		export FAKE_FABRIC=$W/fabric RMC_NODES=2
		RMC_NODE=0 timeout -s KILL 3 "$W/rmc_read_bw" -n 2000000000 -S 1M > /dev/null &
		victim=$!
		RMC_NODE=1 timeout 60 "$W/rmc_read_bw" -n 2000000000 -S 1M
		status=$?
		wait $victim
		return $status
	}
	expect "who sleeps in a barrier learns it, too" 1 "barrier: .*not up" killed_leader
	build_fork() {		# no sanitizer: a fork may leave its allocator locked in the child
		$CC $FLAGS -pthread -o "$W/fork" "$here"/{test_fork,fake_driver,fake_rmc}.c \
			$lib_src "$top"/lib/{msg/*,scheme/*,kv/*,coll,rpc,rpc_msg}.c $WRAP
	}
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	prepare "fork test builds" build_fork
	include "fork" env FAKE_FABRIC="$W/fabric" timeout 60 "$W/fork"
	for san in address,undefined thread; do
		build_wait() {
			$CC -fsanitize=$san -Wno-tsan $FLAGS -pthread -o "$W/wait-$san" \
				"$here"/{test_wait,fake_driver,fake_rmc}.c $lib_src \
				"$top/lib/wait.c" $WRAP
		}
		prepare "test of sleeping builds, $san" build_wait
		rm -f "$W/fabric"
		truncate -s 64K "$W/fabric"
		include "sleeping, $san" env FAKE_FABRIC="$W/fabric" timeout 120 "$W/wait-$san"
	done
	build_calls() {
		build_fake calls "$here/test_calls.c"
	}
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	prepare "test of small calls builds" build_calls
	include "calls" env FAKE_FABRIC="$W/fabric" timeout 60 "$W/calls"
	. "$here/test_python.sh"
	. "$here/test_compat.sh"
	. "$here/test_msg.sh"
	. "$here/test_kv.sh"
	. "$here/test_limits.sh"
fi

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
put "$R/worker0/cpu" 1; put "$R/worker0/stages" rgp+rcp; put "$R/worker0/visits" 99
put "$S/class/rmc_context/rmcctx7/ctx_id" 7; put "$S/class/rmc_context/rmcctx7/open_count" 2
mkdir -p "$W/debug/rmc"
for f in links nodes model timeout_ms retries; do : > "$W/debug/rmc/$f"; done
export RMC_SYSFS=$S RMC_DEBUGFS=$W/debug
expect "status" 0 "node1\|^1  *up" "$O/rmcctl" status
expect "status shows workers" 0 "worker0 *1 *rgp+rcp *99 *- " "$O/rmcctl" status
expect "counters" 0 "node0 *rgp_ops *12345" "$O/rmcctl" counters
expect "counters of one node" 0 "^node1 *rgp_ops *6" "$O/rmcctl" counters --node 1
expect "counters of a node elsewhere" 1 "not on this machine" "$O/rmcctl" counters --node 5
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
		"fault node --go 1 --json" "model off --json"; do
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

echo "1..$count"
[ $failed -eq 0 ]
