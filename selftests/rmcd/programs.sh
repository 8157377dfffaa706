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
for program in rmcd rmcd.asan rmcd.tsan; do
	stream "$program without descriptors, unread events" \
		timeout -k 5 120 "$D/starved" "$D/$program"
	stream "$program short of memory" timeout -k 5 120 "$D/shortage" "$D/$program"
	stream "$program, and holes, locks and ends of files" \
		timeout -k 5 120 "$D/holes" "$D/$program"
	stream "$program, its reports" timeout -k 5 120 "$D/reports" "$D/$program"
	stream "$program and descriptors that take long to close" \
		timeout -k 5 120 "$D/descriptors" "$D/$program"
done
stream "memory of each size of huge pages" timeout -k 5 60 "$D/client_limits" "$D/rmcd.asan"
stream "table of mappings" timeout -k 5 20 "$D/lost_slots"
stream "jobs of a user" timeout -k 5 60 "$D/jobs"
stream "connecting" timeout -k 5 20 "$D/interrupted"
protocol rmcd --ni pair
protocol rmcd.asan --ni edge --units 2
protocol rmcd.tsan --ni split --workers 2

domains() {			# domains PROGRAM OPTIONS...: of messages
	stream "$*: messages" timeout -k 5 120 "$D/domains" "$D/$1" "${@:2}"
}
domains rmcd --ni fused
domains rmcd.asan --ni pair --mtu 64 --local 0
domains rmcd.tsan --ni edge --units 2
domains rmcd.tsan --ni per_tile --units 4 --rrpps 2
domains rmcd.asan --ni split --workers 2
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
own test_wait.tsan rmcd
# not under a sanitizer: a fork may leave its allocator locked in the child
own test_fork rmcd
own test_calls.asan rmcd.asan
check "programs with their own daemon: no report of ThreadSanitizer" no_reports
rm -f "$W"/tsan.*

# --- other NI organisations, several workers, packets between them ---

for options in "--ni pair" "--ni edge --units 2" "--ni split" "--ni fused --workers 2 --mtu 64"; do
	# shellcheck disable=SC2086 # options
	start rmcd -n 4 $options
	expect "messages, $options" 0 "member 3: ok" nodes 4 "$D/prog_msg" all
	expect "native messages, $options" 0 "member 3: ok" nodes 4 "$D/prog_domain" messages=40
	expect "transactions, $options" 0 "strictly serializable: yes; 180 " \
		nodes 3 "$O/rmc-tx" check -q -n 60 --all-remote
	expect "PageRank, $options" 0 "verify *ok" nodes 4 "$O/pagerank" -r 9 -n 3 -V
	stop "rmcd $options"
done

# --- native messages: policies, a server, a member that begins anew, losses ---

start rmcd.asan -n 3
for policy in rr static random greedy jsq sq2 jiq steal keyed shared; do
	expect "native messages, $policy" 0 "member 2: ok" \
		nodes 3 "$D/prog_domain" policy=$policy messages=30 depth=1
done
expect "threads that contend for one queue" 0 "member 2: ok" \
	nodes 3 "$D/prog_domain" policy=shared cores=4 messages=500
for policy in groups hier; do
	expect "native messages, $policy" 0 "member 2: ok" \
		nodes 3 "$D/prog_domain.asan" policy=$policy groups=2 cores=4 messages=30
done
expect "one slot" 0 "member 1: ok" nodes 2 "$D/prog_domain.asan" slots=1 max=600 messages=30
expect "long messages" 0 "member 1: ok" nodes 2 "$D/prog_domain.asan" max=100000 slots=4 messages=30
expect "a server" 0 "member 2: ok" nodes 3 "$D/prog_domain.asan" mode=serve
expect "what is longer than a message" 0 "member 2: ok" \
	nodes 3 "$D/prog_domain.asan" mode=offer max=100
expect "a member that begins anew" 0 "member 2: ok" \
	reborn 3 "$D/prog_domain" mode=rejoin messages=40
expect "processes that share a domain" 0 "members: ok" "$D/prog_members.asan"
stop "native messages"
start rmcd -n 2 --timeout-ms 100 --retries 3
expect "a fabric that loses packets" 0 "" ctl fault set --loss 1% --dup 5% --reorder 5% --seed 7
expect "native messages over that" 0 "member 1: ok" nodes 2 "$D/prog_domain.asan" messages=40
expect "transactions over that" 0 "strictly serializable: yes; 80 " nodes 2 "$O/rmc-tx" check -q -n 40
stop "losses"

# --- a daemon under ThreadSanitizer, two workers ---

start rmcd.tsan -n 3 --ni fused --workers 2
expect "messages over a daemon under TSan" 0 "member 2: ok" nodes 3 "$D/prog_msg" all
expect "native messages likewise" 0 "member 2: ok" nodes 3 "$D/prog_domain" messages=30
expect "and processes that share a domain" 0 "members: ok" "$D/prog_members"
for w in "smallbank --accounts 500" "tatp --subscribers 100" "ycsb-a --structure tree --keys 400" \
	 "ycsb-b --structure map --keys 100"; do
	# shellcheck disable=SC2086 # options
	expect "transactions of ${w%% *} likewise" 0 "consistent  *yes" \
		nodes 3 "$O/rmc-tx" bench -q -n 40 -w $w
done
expect "transactions of tpcc likewise, conditions during the run" 0 "conditions_checked  *[1-9]" nodes 3 \
	"$O/rmc-tx" bench -q -n 12 -w tpcc --items 100 --customers 8 --orders 8 --room 20
# shellcheck disable=SC2016 # of each node
expect "databases of other options" 1 "has opened another database" nodes 3 \
	bash -c '"$0" bench -q -n 1 --accounts $((1000 + RMC_NODE))' "$O/rmc-tx"
expect "a history of lists that are full" 1 "lists are full" nodes 3 \
	"$O/rmc-tx" check -q -n 60 --elements 1
expect "PageRank likewise" 0 "verify *ok" nodes 3 "$O/pagerank" -r 9 -n 3 -V
expect "an object store likewise" 0 "member 2: ok" nodes 3 "$D/prog_kv" sabre
expect "restarted members likewise" 0 "member 2: ok" reborn 3 "$D/prog_msg" rejoin
expect "rmc_netpipe likewise" 0 "^ 131072 .* pull" nodes 2 "$O/rmc_netpipe" -n 20
stop "TSan"
