# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# What is built on the library, under ASan, over a daemon under ASan: messages, receive buffers,
# collectives, the object store, time limits, calls, sonuma-vm. Sourced by run.sh.

A=$D
# more nodes than any of these programs has members: one of them knows
start rmcd.asan -n 16 --ni fused --share 1

# --- messages, receive buffers, collectives ---

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
while read -r mode title; do
	expect "$title" 0 "member 1: ok" nodes 2 "$A/prog_herd.asan" "$mode"
done << 'END'
small responses larger than the buffer take no slot with them
cancel neither do requests that are cancelled
lost nor requests whose write failed
orphan a server's death uses tickets up
orphan_cancelled also when all were cancelled
kept requests that a server keeps
pieces a request of which one cell is missing
late_requests a request that is being written stays as it is
late_responses and so does a response
END

# --- the object store ---

for s in crc64 strip plain; do
	expect "object store, $s, 2 nodes" 0 "member 1: ok" nodes 2 "$A/prog_kv.asan" $s
done
for s in sabre farm lock lease rpc; do
	expect "object store, $s, alone" 0 "member 0: ok" nodes 1 "$A/prog_kv.asan" $s
	expect "object store, $s, 3 nodes" 0 "member 2: ok" nodes 3 "$A/prog_kv.asan" $s
done
for s in farm rpc; do
	expect "an owner's death reaches its readers and writers, $s" 0 "member 1: reported" \
		nodes 3 "$A/prog_kv.asan" $s orphan
done
native() { NATIVE=1 "$@"; }
for s in sabre rpc; do
	expect "object store over native messages, $s, alone" 0 "member 0: ok" \
		native nodes 1 "$A/prog_kv.asan" $s
	expect "object store over native messages, $s, 3 nodes" 0 "member 2: ok" \
		native nodes 3 "$A/prog_kv.asan" $s
done
expect "over native messages an owner's death reaches its writers" 0 "member 1: reported" \
	native nodes 3 "$A/prog_kv.asan" rpc orphan
expect "over native messages members with other options are refused" 1 "has opened another store" \
	native nodes 2 "$A/prog_kv.asan" sabre other
expect "whoever asks for a locked object has an error" 0 "member 1: ok" \
	nodes 2 "$A/prog_kv.asan" lock locked
expect "members with other options are refused" 1 "has opened another store" \
	nodes 2 "$A/prog_kv.asan" sabre other
kv_resized() {			# the owner writes often between a reader's two reads
	ctl fault set --delay 1ms && nodes 3 "$A/prog_kv.asan" sabre resized
	local status=$?
	ctl fault clear && return $status
}
expect "whoever asks for an object that changes its length all the time has an error" 0 \
	"member 1: ok, 10 of" kv_resized

# --- structures that all members write ---

while read -r row; do
	# shellcheck disable=SC2086 # options
	expect "structures, $row, 3 nodes" 0 "member 2: ok" nodes 3 "$A/prog_structures.asan" $row
done << 'END'
farm table
sabre tree
crc64 map
rw tree latch
rw table detached async
excl tree latch
farm tree excl version
nam-db++ tree latch
opt-db-farm tree version
opt-db-versioning table
END

# --- objects that all members read and write; what needs order has ordered queue pairs ---

while read -r row; do
	# shellcheck disable=SC2086 # options
	expect "objects that all write, $row" 0 "member 2: ok" nodes 3 "$A/prog_sync.asan" $row
done << 'END'
rw
rw detached spec combine async
excl spec write-unlatch async
versioning spec write-unlatch
farm
farm excl spec write-unlatch
crc64 excl
sabre
out-of-place
mark-out-of-place async
switch
nam-db++
opt-db-crc64
rw nic-rpc
relaxed-farm nic-rpc async
END
sync_disordered() {		# sync_disordered FAULTS OPTION...: of rows that need order
	local faults=$1 status
	shift
	# shellcheck disable=SC2086 # options
	ctl fault set $faults --seed 7 && nodes 3 "$A/prog_sync.asan" "$@"
	status=$?
	ctl fault clear && return $status
}
expect "objects that all write, on links that reorder packets" 0 "member 2: ok" \
	sync_disordered "--reorder 5% --shuffle 5% --jitter 20us" versioning spec write-unlatch
expect "objects that all write: the server of latches learns of a dead holder, and others go on" 0 \
	"member 0: ok, 2 taken over" nodes 2 "$A/prog_sync.asan" rw nic-rpc holder-dies
# a daemon that waits for a tenth of a second only
sync_daemon=$daemon sync_device=$RMC_DEVICE
start rmcd.asan -n 4 --ni fused --share 1 --timeout-ms 100
expect "objects that all write, on links that lose packets: queue pairs stop and go on" 0 \
	"member 2: ok, .*, [1-9][0-9]* lost by all" \
	sync_disordered "--loss 0.2%" excl spec combine async lossy
expect "objects that all write, on such links: latches by messages" 0 "member 2: ok" \
	sync_disordered "--loss 0.2%" rw nic-rpc lossy
stop "objects that all write, lost packets"
daemon=$sync_daemon RMC_DEVICE=$sync_device

# --- time limits, revocation, members that are restarted ---

while read -r n member mode title; do
	expect "$title" 0 "member $member: ok" nodes "$n" "$A/prog_limits.asan" "$mode"
done << 'END'
2 0 barrier a barrier with a time limit goes on
3 0 revoke a member that gives up hangs nobody
3 1 spread whoever learns of it passes it on
1 0 numbers numbers of nodes that cannot be
3 1 collective a collective with a time limit ends for all
2 0 calls calls with a time limit, late responses
2 0 budget requests are served within a budget
2 0 calls_revoked who waits for a call learns of a revocation
2 0 store an object store with a time limit
END
for n in 2 3; do
	for what in client server; do
		expect "store and receive buffers let a restarted $what in, $n nodes" 0 \
			"member $((n - 1)): ok" reborn $n "$A/prog_limits.asan" $what
	done
	expect "calls end with a member's life, and work in the next one, $n nodes" 0 \
		"member $((n - 1)): ok" reborn $n "$A/prog_calls.asan"
	expect "so do calls over native messages, $n nodes" 0 \
		"member $((n - 1)): ok" native reborn $n "$A/prog_calls.asan"
done
expect "a restarted member joins behind a revocation" 0 "member 2: ok" \
	reborn 3 "$A/prog_limits.asan" era
expect "a server that came back unnoticed is another one" 0 "member 1: ok" \
	reborn 2 "$A/prog_limits.asan" other_server
expect "who does not tell its survivor is no member yet" 0 "member 1: ok" \
	reborn 2 "$A/prog_limits.asan" newcomer

# --- the sonuma-vm interface ---

both_ways() {			# node 0 uses node 1 and vice versa; a second later
	local status pid
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 100 "$1" 0 &
	pid=$!
	sleep "${2:-0}"
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
expect "sonuma-vm: a peer that starts late" 0 "all pages are right" \
	both_ways "$A/compat_sync.asan" 1
expect "sonuma-vm: a failure that nobody checks is reported" 0 \
	"beyond the end of the destination" both_ways "$A/compat_sync.asan"
# A server returns from main() at once; its pages must stay until the client ends. No kal_open().
server_stays() {
	local pid
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 "$A/compat_server.asan" &
	pid=$!
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$A/compat_client.asan" && wait $pid
}
expect "sonuma-vm: a server that returns stays while it is read" 0 "the server stayed" \
	server_stays
absent_peer() {
	RMC_NODE=0 RMC_NODES=2 SONUMA_WAIT=1 SONUMA_LINGER=1 \
		timeout -k 5 60 bash -c "ulimit -t 20; exec '$A/compat_async.asan' 1" 2>&1 |
		grep -m 1 "node 1"
}
expect "sonuma-vm: a peer that never comes" 0 "no segment\|is not up" absent_peer
stop "ASan"

# --- a server that is idle, and whose daemon is killed ---

for share in 0 1; do
	start rmcd.asan -n 2 --ni fused --share $share
	idle() {
		RMCD_PID=$daemon nodes 2 "$A/prog_herd.asan" idle
	}
	expect "an idle server yields, and notices a dead queue pair, --share $share" 0 \
		"member 0: ok" idle
	wait "$daemon" 2> /dev/null
done
