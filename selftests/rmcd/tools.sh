# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The tools and examples under ASan, over a daemon under ASan. Sourced by run.sh.

A=$D
start rmcd.asan -n 16 --ni fused

# --- hello, and what the library logs ---

expect "hello on 1 node" 0 "node 0 says 100: success" nodes 1 "$A/hello.asan"
expect "hello on 4 nodes" 0 "node 3 says 103: success" nodes 4 "$A/hello.asan"
expect "the README's program on 4 nodes" 0 "node 0 says 100: success" nodes 4 "$A/readme.asan"
expect "more nodes than the fabric has" 1 "17 nodes asked for, but the fabric has 16" \
	env RMC_NODES=17 RMC_NODE=0 "$A/hello.asan"
logged() {			# logged LEVEL: what one node's program writes at that level
	RMC_LOG=$1 nodes 1 "$A/hello.asan" 2>&1 > /dev/null
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
	eval 'RMC_NODE=x RMC_LOG=error "$A/hello.asan" || :'

# --- PageRank ---

# in a cycle all ranks are equal; in a star all edges end at the centre
printf '1 2\n2 3\n3 1\n' > "$W/cycle"
printf '10 5\n20 5\n30 5\n40 5\n' > "$W/star"
P=$A/pagerank.asan
expect "PageRank of a cycle, alone" 0 "1  0.333333" nodes 1 "$P" -g "$W/cycle" -V
expect "PageRank of a cycle, 3 nodes" 0 "1  0.333333" nodes 3 "$P" -g "$W/cycle" -V
# 0.15/5 + 0.85 * 4 * (0.15/5) = 0.132
expect "PageRank of a star, 2 nodes" 0 "1  0.132 *5$" nodes 2 "$P" -g "$W/star" -V
expect "more nodes than vertices" 0 "verify *ok" nodes 4 "$P" -g "$W/cycle" -V
expect "R-MAT on 4 nodes verifies" 0 "verify *ok" nodes 4 "$P" -r 10 -n 3 -V
expect "a queue of 2 entries will do" 0 "verify *ok" nodes 2 "$P" -r 8 -n 2 -V -o 2
ranks_of() {			# ranks_of NODES OPTIONS...
	nodes "$@" -r 9 -n 7 -t 12 | sed -n '/rank  /,/^$/p'
}
variants_agree() {
	local expected v
	expected=$(ranks_of 1 "$P" -v shm) && [ -n "$expected" ] || return 1
	for v in "1 fine" "4 fine" "1 bulk" "3 bulk" "4 bulk" "1 shm -T 4"; do
		# shellcheck disable=SC2086 # options
		[ "$(ranks_of ${v%% *} "$P" -v ${v#* })" = "$expected" ] ||
			{ echo "differs: $v"; return 1; }
	done
}
check "all variants give the same ranks" variants_agree
expect "bulk on 4 nodes verifies" 0 "verify *ok" nodes 4 "$P" -v bulk -r 10 -n 5 -V
expect "bulk, more nodes than vertices" 0 "verify *ok" nodes 4 "$P" -v bulk -g "$W/cycle" -V
# 32 MiB of vertices of each node where an operation takes 16
expect "bulk beyond the largest operation" 0 "remote *12 reads" \
	nodes 2 "$P" -v bulk -r 21,1 -n 2 -t 1
expect "threads verify" 0 "verify *ok" nodes 1 "$P" -v shm -T 3 -r 10 -V
expect "more threads than vertices" 0 "verify *ok" nodes 1 "$P" -v shm -T 9 -g "$W/cycle" -V
expect "threads on one node of several" 0 "^threads *2," nodes 2 "$P" -v shm -T 2 -r 6
expect "speed-up over one thread" 0 '"speedup": [0-9]' \
	nodes 2 "$P" -v bulk -r 10 --speedup --json
expect "PageRank as JSON" 0 '"ok": true' nodes 2 "$P" -r 6 -V --json
different_graphs() {
	local pid
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 "$P" -r 6 --seed 2 &
	pid=$!
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$P" -r 6
	wait $pid
}
expect "nodes with different graphs are refused" 1 "has another graph" different_graphs

# --- benchmarks ---

for b in read_lat write_lat atomic_lat read_bw write_bw; do
	expect "rmc_$b between 2 nodes" 0 "#bytes" nodes 2 "$A/rmc_$b.asan" -n 200 -S 1M
done
expect "all sizes" 0 "^ 131072 " nodes 2 "$A/rmc_read_bw.asan" -a -n 20 -S 256K
sizes_of() {			# sizes_of PROGRAM OPTIONS...
	nodes 2 "$@" --json | sed -n 's/.*"bytes": \([0-9]*\).*/\1/p' | xargs
}
expect "all sizes up to one" 0 "^8 16 32 64 128 256$" \
	sizes_of "$A/rmc_read_lat.asan" -a -s 256 -n 20 -S 1M
expect "double-sided, 3 nodes" 0 "node 1 -> node 0.*both" \
	nodes 3 "$A/rmc_read_lat.asan" -b -n 100 -S 1M
expect "compare-and-swap" 0 "compare-and-swap" nodes 2 "$A/rmc_atomic_lat.asan" -A cas -n 50 -S 1M
expect "against itself" 0 "itself" nodes 1 "$A/rmc_read_lat.asan" -n 50 -S 1M
expect "benchmark as JSON" 0 '"t_typical_usec": [0-9]' \
	nodes 2 "$A/rmc_read_lat.asan" --json -n 50 -S 1M
expect "peer outside the run" 2 "has node 0 .. 1" nodes 2 "$A/rmc_read_lat.asan" -d 5 -S 1M
killed() {			# killed VICTIM OPTIONS...: one of two members of rmc_read_bw
	local other=$((1 - $1)) victim=$1 pid status
	shift
	RMC_NODES=2 RMC_NODE=$victim timeout -s KILL 3 \
		"$A/rmc_read_bw.asan" -n 2000000000 -S 1M "$@" > /dev/null &
	pid=$!
	RMC_NODES=2 RMC_NODE=$other timeout -k 5 60 "$A/rmc_read_bw.asan" -n 2000000000 -S 1M "$@"
	status=$?
	wait $pid
	return $status
}
expect "a killed peer ends the run" 1 "no segment\|not up" killed 1 -b
expect "who sleeps in a barrier learns it, too" 1 "barrier: .*\(no segment\|not up\)" killed 0
with_delay() {			# with_delay TIME COMMAND...: round trips take twice as long
	local status
	ctl fault set --delay "$1" || return
	"${@:2}"
	status=$?
	ctl fault clear && return $status
}
# at most 32 operations of 128 KiB complete within 2 ms: 2 GiB/s
peak_is_possible() {
	with_delay 1ms nodes 2 "$A/rmc_read_bw.asan" -s 128K -n 300 --json > "$W/peak" || return 1
	awk -F'[:,]' '/bw_(peak|typical)/ { print; found = 1; high += $2 > 2.2e9 }
		END { exit !found || high }' "$W/peak"
}
check "peak bandwidth counts completed operations, not issued ones" peak_is_possible
# fourteen seconds of operations; output that is no terminal gets a line every ten
expect "a long run shows its progress in a log, too" 0 "^64 bytes: .*%$" \
	with_delay 20ms nodes 2 "$A/rmc_read_lat.asan" -n 350 -S 64K

# --- rmc_netpipe ---

N=$A/rmc_netpipe.asan
expect "netpipe, usual threshold" 0 "^ 131072 .* pull" nodes 2 "$N" -n 20
expect "netpipe, all pulled" 0 "^ 1  .* pull" nodes 2 "$N" -n 20 -s 1 -T 0
expect "netpipe, all pushed, 3 nodes" 0 "^ 4096 .* push" nodes 3 "$N" -n 20 -s 4K -T inf -d 2
expect "netpipe, all sizes up to one" 0 "^1 2 4 8 16 32 64$" sizes_of "$N" -a -s 64 -n 10
expect "netpipe, best" 0 "best of push and pull" nodes 2 "$N" -n 10 --best
expect "netpipe, native messages" 0 "^ 131072 .* push packets" nodes 2 "$N" -n 20 --native
expect "netpipe, native messages, 3 nodes" 0 "^ 4096 .* push local" \
	nodes 3 "$N" -n 20 -s 4K --engine native -d 2
expect "netpipe, native messages that are too long" 2 "at most 1048512 bytes" \
	nodes 2 "$N" -n 20 -s 1M --native
expect "netpipe over TCP has no path" 0 '"path": "none"' \
	nodes 1 "$N" -n 20 -s 64 --engine tcp --json
expect "netpipe over TCP" 0 "^ 65536 .* tcp" nodes 1 "$N" -n 20 --tcp
netpipe_json() {
	nodes 2 "$N" -n 10 -s 100 --json > "$W/json" && python3 -m json.tool "$W/json"
}
if have python3; then
	expect "netpipe as JSON" 0 '"t_typical_usec": [0-9]' netpipe_json
else
	report 0 "netpipe as JSON" "no python3"
fi
expect "netpipe alone" 2 "two nodes are needed" nodes 1 "$N"

# --- rmc_valet ---

V=$A/rmc_valet.asan
expect "valet" 0 "^server  *[1-9][0-9]* " nodes 2 "$V" -r 2000 -D 1
expect "valet, three clients, two threads" 0 "^client  *[1-9][0-9]* " \
	nodes 4 "$V" -r 2000 -D 1 -t 2 --policy jsq -s gev --request 200 --reply 3K
for policy in rr static groups steal shared; do
	expect "valet, $policy" 0 "^server       3 threads, $policy, depth 1" \
		nodes 2 "$V" -r 1000 -D 1 -t 3 --groups 1 --depth 1 --policy $policy
done
expect "valet, more than there are slots" 0 "^server  *[1-9][0-9]* " \
	nodes 2 "$V" -r 5000 -D 1 --slots 2 --base 400000
expect "valet: the server has no domain: it says why" 1 "policy class has 1" \
	nodes 2 "$V" --policy class
expect "and its clients end, too" 1 "the server could not open its domain" nodes 3 "$V" --policy class
expect "valet alone" 2 "a server and a client are needed" nodes 1 "$V"
expect "valet: no such policy" 2 "there is no 'best'" nodes 2 "$V" --policy best
expect "valet: no such distribution" 2 "fixed, uniform, exponential or gev" nodes 2 "$V" -s normal
expect "valet: too short" 2 "at least 24 bytes" nodes 2 "$V" --request 8
expect "valet: more groups than threads" 2 "at most as many as threads" nodes 2 "$V" --groups 2
valet_json() {
	nodes 2 "$V" -r 1000 -D 1 --json > "$W/json" && python3 -m json.tool "$W/json"
}
! have python3 || expect "valet as JSON" 0 '"p99_usec": [0-9]' valet_json

netpipe_killed() {
	RMC_NODES=2 RMC_NODE=1 timeout -s KILL 3 "$N" -n 100000000 -s 64 &
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$N" -n 100000000 -s 64
}
expect "netpipe with a killed peer" 1 "no segment\|not up" netpipe_killed

# --- rmc-sync ---

Y=$A/rmc-sync.asan
sync_system_json() {
	nodes 1 "$Y" bench --system nam-db++ -b 350 -n 100 -k 4 --writes 100 --json | python3 -c "
import json, sys
r = json.load(sys.stdin)
print(*map(repr, (r['system'], r['options'], r['stride'], r['ordered'],
		   round(r['messages_per_operation'], 1))))"
}
for s in "rw" "farm --latch excl --opt spec,write-unlatch,async --trust-order" "out-of-place" \
	"rw --latch detached --pad 1 --theta 200"; do
	# shellcheck disable=SC2086 # options
	expect "rmc-sync: bench, $s" 0 "^mixed_reads  *0$" \
		nodes 2 "$Y" bench -s $s -k 20 -n 300 --writes 50
done
for s in nam-db nam-db++ opt-db-farm opt-db-crc64 opt-db-versioning; do
	expect "rmc-sync: bench, $s" 0 "^mixed_reads  *0$" \
		nodes 2 "$Y" bench --system $s -k 20 -n 200 --writes 50
done
for s in "rw" "excl --opt async"; do
	# shellcheck disable=SC2086 # options
	expect "rmc-sync: bench, latches by messages, $s" 0 "^mixed_reads  *0$" \
		nodes 2 "$Y" bench -s $s --latch nic-rpc -k 20 -n 100 --writes 50
done
expect "rmc-sync: bench, a node that serves only" 0 "each  *4.00 messages, 4.00 round.* 0.00 at" \
	nodes 2 "$Y" bench --latch nic-rpc --storage 1 --serve -k 20 -n 100 --writes 100
expect "rmc-sync: bench, latches by messages, one node" 0 "^writes  *50$" \
	nodes 1 "$Y" bench --latch nic-rpc -k 4 -n 50 --writes 100
expect "rmc-sync: all nodes serve only" 2 "all nodes store" nodes 1 "$Y" bench --serve -n 1
expect "rmc-sync: recover, latches that are in no memory" 2 "latches of nic-rpc" \
	"$Y" recover --latch nic-rpc --dead 1 --torn keep
expect "rmc-sync: bench, the tree of figure 11" 0 "each  *9.00 messages, 9.00 round.* 6.00 at" \
	nodes 1 "$Y" bench --structure btree --fanout 5 --system nam-db -k 25 -n 100
expect "rmc-sync: bench, the tree of figure 11, writes" 0 "^structure  *btree of 4 levels, 5 ch" \
	nodes 2 "$Y" bench --structure btree --fanout 5 --system opt-db-farm -k 26 -n 100 --writes 50
expect "rmc-sync: no tuples" 2 "tuples: '0' is not a size, 1 .." "$Y" bench -k 0
expect "rmc-sync: an exponent below 0" 2 "theta: '-1' is not a number, 0 .." "$Y" bench --theta -1
expect "rmc-sync: a wait below 0" 2 "backoff: '-1' is not a number, 0 .." "$Y" bench --backoff -1
expect "rmc-sync: tuples longer than an operation" 2 "bytes: .* is not a size" "$Y" bench -b 1G
expect "rmc-sync: one buffer with async" 1 "two or more with async" \
	nodes 1 "$Y" bench --opt async --buffers 1 -n 1
expect "rmc-sync: unknown structure" 2 "'heap' is not hash" "$Y" bench --structure heap
! have python3 || expect "rmc-sync: bench, a system's options, padding and costs" 0 \
	"'nam-db++' 'spec,combine,async' 448 True 4" sync_system_json
expect "rmc-sync: bench counts messages, round trips and atomics" 0 "3.00 messages, 3.00 round.* 2.00 at" \
	nodes 1 "$Y" bench -n 100 -k 4
expect "rmc-sync: what needs order has it" 0 '"ordered": *true' \
	nodes 1 "$Y" bench --opt spec -n 1 --json
# a switch gets the tuples, or the latches, of a run
switch_set() {
	ctl switch set --to 0 --context 0 "${range[@]}" 2> /dev/null
}
at_switch() {			# at_switch SCHEME OPTIONS...: of rmcctl switch set
	local run
	range=("${@:2}")
	# shellcheck disable=SC2086 # options
	nodes 2 "$Y" bench -s $1 -b 248 -k 20 --storage 1 -t 2 --writes 50 &
	run=$!
	until_true 20 switch_set
	wait $run && ctl switch show | grep "answered=[1-9][0-9].* psn_errors=0" &&
		ctl switch off --to 0
}
expect "rmc-sync: tuples of a switch" 0 "^mixed_reads  *0$" \
	at_switch switch --begin 4096 --bytes 256 --count 20
expect "rmc-sync: latches that are words of a switch" 0 "^mixed_reads  *0$" \
	at_switch "rw --latch detached" --begin 10496 --words 20
# packets of a line each, those of the reader in any order; a writer that has no CPU is no test
tools_daemon=$daemon tools_device=$RMC_DEVICE
start rmcd.asan -n 4 --ni fused --mtu 64
check "jitter of the reader's packets" \
	ctl fault set --from 2 --to 0 --lane requests --jitter 500us --seed 7
sync_torn_found() {
	local i status=0
	for ((i = 0; i < 10 && status == 0; i++)); do
		nodes 3 "$Y" torn -s plain -b 512 -k 1 -t 1
		status=$?
	done
	return $status
}
expect "rmc-sync: torn, a scheme that is" 1 "reads delivered a mixture of two states$" sync_torn_found
expect "rmc-sync: torn, a scheme that is not" 0 "^no read of [1-9]" \
	nodes 3 "$Y" torn -s versioning -b 512 -k 1 -t 1
stop "rmc-sync torn"
daemon=$tools_daemon RMC_DEVICE=$tools_device
expect "rmc-sync: torn, alone" 2 "two nodes at least" nodes 1 "$Y" torn
for s in rw farm mark-out-of-place; do
	expect "rmc-sync: recover, $s" 0 "member 0: ok, recovered" nodes 2 "$A/prog_sync.asan" $s dies "$Y"
done
expect "rmc-sync: recover says what it has found" 0 "^not_latched  *1$" \
	nodes 2 "$A/prog_sync.asan" rw dies "$Y"
expect "rmc-sync: recover names what it keeps" 0 "^offset .*may have been half written" \
	nodes 2 "$A/prog_sync.asan" crc64 keep dies "$Y"
expect "rmc-sync: recover keeps a mixture" 0 "member 0: ok, recovered" \
	nodes 2 "$A/prog_sync.asan" rw keep dies "$Y"
expect "rmc-sync: recover has order, which footers need" 0 '"ordered": *true' \
	nodes 2 "$A/prog_sync.asan" excl spec write-unlatch json dies "$Y"
expect "rmc-sync: recover writes no copy of what is no object" 0 "^failed  *1$" \
	nodes 2 "$A/prog_sync.asan" mark-out-of-place spoilt dies "$Y"
sync_recover_json() {		# one that fails: no line beside the object
	nodes 2 "$A/prog_sync.asan" mark-out-of-place spoilt json dies "$Y" | grep -v "^member" |
		python3 -c "
import json, sys
found = json.load(sys.stdin)
sys.exit(len(found['failed_at']) != found['failed'] or found['failed'] != 1 or found['torn_at'] != [])"
}
if have python3; then
	check "rmc-sync: recover as JSON" sync_recover_json
else
	report 0 "rmc-sync: recover as JSON" "no python3"
fi
expect "rmc-sync: recover, of the node that lives" 2 "node 0 is this one" \
	"$Y" recover --dead 0 --torn keep -k 1
expect "rmc-sync: recover, another node's client" 2 "is one of this node, 0, and --dead is node 1" \
	"$Y" recover --dead 1 --client 3 --torn keep -k 1
expect "rmc-sync: recover, whose" 2 "latches are released" "$Y" recover --torn keep
expect "rmc-sync: recover, and then" 2 "keep or zero" "$Y" recover --dead 1
sync_bench_json() {
	nodes 1 "$Y" bench -s lock -k 20 -n 50 --json > "$W/json" &&
		python3 -m json.tool "$W/json" | grep '"atomics":'
}
if have python3; then
	expect "rmc-sync: JSON" 0 '"atomics": 100,' sync_bench_json
else
	report 0 "rmc-sync: JSON" "no python3"
fi

# --- rmc-kv ---

K=$A/rmc-kv.asan
expect "rmc-kv: put and get" 0 "^2 3$" nodes 3 "$K" -k 100 put a 1 put b "2 3" get a get b delete a
expect "rmc-kv: no such key" 1 "get a: no such key" nodes 2 "$K" put a 1 delete a get a
kv_lines() {
	printf 'put x hello  world\n\nget x\n%s\n' "$1" |
		RMC_NODES=1 RMC_NODE=0 timeout -k 5 60 "$K" -
}
expect "rmc-kv: commands from standard input" 0 "^hello  world$" kv_lines "delete x"
expect "rmc-kv: and one that is none" 2 "not a command: 'frob'" kv_lines frob
for s in sabre farm lock strip; do
	expect "rmc-kv: bench, $s" 0 "^torn_values *0$" \
		nodes 2 "$K" bench -s $s -k 50 -v 2000 -n 600 -m A -q
done
expect "rmc-kv: bench, theta = 1" 0 "zipfian 1.00," \
	nodes 2 "$K" bench -s sabre -k 50 -n 600 --theta 100 -q
# Half of the operations on one key are writes of 16 KiB. Without a check some reads are torn,
# if reader and writer run at the same time, which is rare on busy CPUs.
kv_tears() {
	local i
	for i in {1..60}; do
		nodes 2 "$K" bench -s plain -k 2 -v 16K -n 3000 -m A -q --json > "$W/json"
		grep -q '"torn_values": [1-9]' "$W/json" && return 0
	done
	return 1
}
check "rmc-kv: plain reads are torn, and counted" kv_tears
kv_json() {
	nodes 3 "$K" bench --clients 1 -d uniform -m C -k 99 -n 300 -q --json > "$W/json" &&
		python3 -m json.tool "$W/json"
}
if have python3; then
	expect "rmc-kv: JSON" 0 '"gets": 300' kv_json
else
	report 0 "rmc-kv: JSON" "no python3"
fi
stop "tools under ASan"

# --- the path that benchmarks report ---

paths_of() {			# paths_of NODES PROGRAM OPTIONS...: of each size, then of all
	nodes "$@" --json | sed -n 's/.*"path": "\([a-z]*\)".*/\1/p' | xargs
}
# four packets, so up to 256 B
start rmcd.asan -n 3 --ni fused --mtu 64
expect "each size has its path" 0 "^local local local local local local packets packets mixed$" \
	paths_of 3 "$A/rmc_read_lat.asan" -a -s 1K -n 20 -S 1M
expect "each size has its path: bandwidth" 0 "^local local$" \
	paths_of 3 "$A/rmc_write_bw.asan" -s 256 -n 20 -S 1M
expect "PageRank: path of reads of all vertices" 0 "^packets$" paths_of 3 "$P" -r 10 -v bulk
expect "PageRank: threads have no path" 0 "^none$" paths_of 3 "$P" -r 6 -v shm
expect "netpipe: path of messages that are pushed" 0 "^local$" paths_of 2 "$N" -n 10 -s 64 -T inf
expect "netpipe: path of cells, which are longer than their message" 0 "^packets$" \
	paths_of 2 "$N" -n 10 -s 256 -T inf
expect "netpipe: path of messages that are pulled" 0 "^local$" paths_of 2 "$N" -n 10 -s 256 -T 0
expect "rmc-kv: path of objects" 0 "^path  *local$" \
	nodes 2 "$K" bench -s farm -v 64 -k 50 -n 100 -q
expect "rmc-kv: objects beyond the local path" 0 '"path": "packets"' \
	nodes 2 "$K" bench -s farm -v 256 -k 50 -n 100 -q --json
stop "--mtu 64"
start rmcd.asan -n 3 --ni fused --workers 2
expect "packets between nodes of different workers" 0 "^packets packets$" \
	paths_of 2 "$A/rmc_atomic_lat.asan" -n 20 -S 1M
expect "PageRank: path of reads of one vertex" 0 "^path *mixed$" nodes 3 "$P" -r 6
stop "two workers"
start rmcd.asan -n 2 --ni fused --local=0
expect "the path is the last column" 0 "^ 64 .* packets$" \
	nodes 2 "$A/rmc_read_lat.asan" -n 20 -S 1M
stop "--local=0"
