# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The protocol, and programs of the library over one daemon. Sourced by run.sh.

# --- the protocol, on each daemon and each NI organisation ---

protocol() {			# protocol PROGRAM OPTIONS...
	stream "$*" timeout -k 5 120 "$D/protocol" "$D/$1" "${@:2}"
}
for program in rmcd rmcd.asan rmcd.tsan; do
	protocol $program --ni fused
done
protocol rmcd --ni pair
protocol rmcd.asan --ni edge --units 2
protocol rmcd.tsan --ni split --workers 2
no_reports() {
	! cat "$W"/tsan.* 2> /dev/null
}
check "protocol: no report of ThreadSanitizer" no_reports
rm -f "$W"/tsan.*

# --- a program with a daemon of its own ---

own() {				# own PROGRAM RMCD
	stream "$1 over $2" env RMCD="$D/$2" RMC_NODES=1 RMC_NODE=0 timeout -k 5 100 "$D/$1"
}
own test_wait.asan rmcd.asan
own test_wait rmcd.tsan
# not under a sanitizer: a fork may leave its allocator locked in the child
own test_fork rmcd
own test_calls.asan rmcd.asan
check "programs with their own daemon: no report of ThreadSanitizer" no_reports
rm -f "$W"/tsan.*

# --- library and programs under ASan, over a daemon under ASan; one of each in turn ---

# as many nodes as the driver of selftests/lib has: one of its tests knows
start rmcd.asan -n 16 --ni fused
A=$D
for n in 1 2 4; do
	expect "messages, receive buffers, collectives on $n nodes" 0 "member $((n - 1)): ok" \
		nodes $n "$A/prog_msg.asan" all
done
expect "a member's death reaches all that wait for it" 0 "member 1: reported" \
	nodes 3 "$A/prog_msg.asan" orphan
for n in 2 3; do
	expect "a restarted member is let in again, $n nodes" 0 "member $((n - 1)): ok" \
		reborn $n "$A/prog_msg.asan" rejoin
done
# lost, idle and slow need a driver with faults
for mode in small cancel orphan orphan_cancelled kept pieces; do
	expect "receive buffers: $mode" 0 "member 1: ok" nodes 2 "$A/prog_herd.asan" $mode
done
for s in crc64 strip plain sabre farm lock lease rpc; do
	expect "object store, $s, 3 nodes" 0 "member 2: ok" nodes 3 "$A/prog_kv.asan" $s
done
expect "object store, farm, alone" 0 "member 0: ok" nodes 1 "$A/prog_kv.asan" farm
for s in farm rpc; do
	expect "an owner's death reaches its readers and writers, $s" 0 "member 1: reported" \
		nodes 3 "$A/prog_kv.asan" $s orphan
done
expect "whoever asks for a locked object has an error" 0 "member 1: ok" \
	nodes 2 "$A/prog_kv.asan" lock locked
for t in "2 barrier 0" "3 revoke 0" "3 spread 1" "1 numbers 0" "3 collective 1" "2 calls 0" \
	 "2 budget 0" "2 calls_revoked 0" "2 store 0"; do
	read -r n mode member <<< "$t"
	expect "time limits: $mode" 0 "member $member: ok" nodes "$n" "$A/prog_limits.asan" "$mode"
done
for t in "2 client" "3 server" "3 era" "2 other_server" "2 newcomer"; do
	read -r n mode <<< "$t"
	expect "restarted: $mode, $n nodes" 0 "member [12]: ok" \
		reborn "$n" "$A/prog_limits.asan" "$mode"
done
expect "calls end with a member's life, and work in the next one" 0 "member 1: ok" \
	reborn 2 "$A/prog_calls.asan"

both_ways() {			# node 0 uses node 1 and vice versa
	local status pid
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 100 "$1" 0 &
	pid=$!
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 100 "$1" 1
	status=$?
	wait $pid && return $status
}
for suffix in "" _cxx; do
	expect "sonuma-vm, blocking${suffix/_/, }" 0 "all pages are right" \
		both_ways "$A/compat_sync$suffix.asan"
	expect "sonuma-vm, asynchronous${suffix/_/, }" 0 "everything completed" \
		both_ways "$A/compat_async$suffix.asan"
done
expect "hello on 4 nodes" 0 "node 3 says 103: success" nodes 4 "$A/hello.asan"
expect "the README's program on 4 nodes" 0 "node 0 says 100: success" nodes 4 "$A/readme.asan"
expect "R-MAT on 4 nodes verifies" 0 "verify *ok" nodes 4 "$A/pagerank.asan" -r 10 -n 3 -V
expect "bulk on 4 nodes verifies" 0 "verify *ok" nodes 4 "$A/pagerank.asan" -v bulk -r 10 -n 5 -V
expect "rmc-kv: put and get" 0 "^2 3$" \
	nodes 3 "$A/rmc-kv.asan" -k 100 put a 1 put b "2 3" get a get b delete a
for s in sabre farm lock strip; do
	expect "rmc-kv: bench, $s" 0 "^torn_values *0$" \
		nodes 2 "$A/rmc-kv.asan" bench -s $s -k 50 -v 2000 -n 300 -m A -q
done
expect "netpipe" 0 "^ 131072 .* pull" nodes 2 "$A/rmc_netpipe.asan" -n 20
expect "rmc_read_bw, all sizes" 0 "^ 131072 " nodes 2 "$A/rmc_read_bw.asan" -a -n 20 -S 256K
expect "compare-and-swap" 0 "compare-and-swap" nodes 2 "$A/rmc_atomic_lat.asan" -A cas -n 50 -S 1M
stop "ASan"

# --- as installed ---

start rmcd -n 4
expect "hello on 1 node" 0 "node 0 says 100: success" nodes 1 "$O/hello"
printf '1 2\n2 3\n3 1\n' > "$W/cycle"
expect "PageRank of a cycle, 3 nodes" 0 "1  0.333333" nodes 3 "$O/pagerank" -g "$W/cycle" -V
expect "PageRank, threads" 0 "verify *ok" nodes 1 "$O/pagerank" -v shm -T 3 -r 10 -V
for b in read_lat write_lat sabre_lat atomic_lat read_bw write_bw; do
	expect "rmc_$b between 2 nodes" 0 "#bytes" nodes 2 "$O/rmc_$b" -n 200 -S 1M
done
expect "double-sided, 3 nodes" 0 "node 1 -> node 0.*both" \
	nodes 3 "$O/rmc_read_lat" -b -n 100 -S 1M
expect "the path of operations inside a daemon" 0 "^ 64 .* local$" \
	nodes 2 "$O/rmc_read_lat" -n 20 -S 1M
expect "netpipe, all pulled" 0 "^ 1  .* pull" nodes 2 "$O/rmc_netpipe" -n 20 -s 1 -T 0
expect "netpipe, all pushed, 3 nodes" 0 "^ 4096 .* push" \
	nodes 3 "$O/rmc_netpipe" -n 20 -s 4K -T inf -d 2
expect "rmc-kv: no such key" 1 "get a: no such key" nodes 2 "$O/rmc-kv" put a 1 delete a get a
if [ ! -x "$O/mixed_loop" ]; then
	report 0 "an event loop with io_uring" "no liburing"
elif [ "$(cat /proc/sys/kernel/io_uring_disabled 2> /dev/null || echo 0)" != 0 ]; then
	report 0 "an event loop with io_uring" "io_uring is disabled here"
else
	expect "an event loop with io_uring" 0 "" nodes 2 "$O/mixed_loop" --self-test
fi
if have python3; then
	python_package() {
		(cd "$W" && RMC_NODES=1 RMC_NODE=0 RMC_LIBRARY=$O/librmc.so.1 \
			RMC_HEADERS=$top/lib/include PYTHONDONTWRITEBYTECODE=1 \
			PYTHONPATH=$top/lib/python timeout -k 5 60 python3 "$here/../lib/test_python.py")
	}
	expect "Python package" 0 "^OK" python_package
	python_nodes() {
		RMC_LIBRARY=$O/librmc.so.1 nodes 3 "$top/tools/apps/remote_read.py"
	}
	expect "Python reads its neighbour's words" 0 "64 words of node 2 arrived" python_nodes
else
	report 0 "Python package" "no python3"
fi
different_graphs() {
	local pid
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 "$O/pagerank" -r 6 --seed 2 &
	pid=$!
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$O/pagerank" -r 6
	wait $pid
}
expect "nodes with different graphs are refused" 1 "has another graph" different_graphs
expect "more nodes than the fabric has" 1 "5 nodes asked for, but the fabric has 4" \
	nodes 5 "$O/hello"
stop "as installed"

# --- other NI organisations, several workers, packets between them ---

for options in "--ni pair" "--ni edge --units 2" "--ni split" "--ni fused --workers 2 --mtu 64"; do
	# shellcheck disable=SC2086 # options
	start rmcd -n 4 $options
	expect "messages, $options" 0 "member 3: ok" nodes 4 "$D/prog_msg" all
	expect "PageRank, $options" 0 "verify *ok" nodes 4 "$O/pagerank" -r 9 -n 3 -V
	stop "rmcd $options"
done

# --- a daemon under ThreadSanitizer, two workers ---

start rmcd.tsan -n 3 --ni fused --workers 2
expect "messages over a daemon under TSan" 0 "member 2: ok" nodes 3 "$D/prog_msg" all
expect "PageRank likewise" 0 "verify *ok" nodes 3 "$O/pagerank" -r 9 -n 3 -V
expect "an object store likewise" 0 "member 2: ok" nodes 3 "$D/prog_kv" sabre
expect "restarted members likewise" 0 "member 2: ok" reborn 3 "$D/prog_msg" rejoin
expect "rmc_netpipe likewise" 0 "^ 131072 .* pull" nodes 2 "$O/rmc_netpipe" -n 20
stop "TSan"
