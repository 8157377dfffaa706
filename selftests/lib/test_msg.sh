# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Messages, receive buffers, collectives and rmc_netpipe. Sourced by run.sh.

msg_src=$(echo "$top"/lib/{msg/{open,rejoin,op,send,recv},herd,coll}.c)
check "messages and collectives build for the driver in user space" \
	build_fake prog_msg "$here/prog_msg.c" $msg_src
for n in 1 2 4; do
	expect "messages, receive buffers, collectives on $n nodes" 0 "member $((n - 1)): ok" \
		nodes $n "$W/prog_msg" all
done
expect "a member's death reaches all that wait for it" 0 "member 1: reported" \
	nodes 3 "$W/prog_msg" orphan

check "receive buffers build for the driver in user space" \
	build_fake prog_herd "$here/prog_herd.c" "$top/lib/herd.c"
expect "responses larger than the buffer take no slot with them" 0 "member 1: ok" \
	nodes 2 "$W/prog_herd" small
expect "neither do requests that are cancelled" 0 "member 1: ok" nodes 2 "$W/prog_herd" cancel
expect "nor requests whose write failed" 0 "member 1: ok" nodes 2 "$W/prog_herd" lost
expect "a server's death uses tickets up" 0 "member 1: ok" nodes 2 "$W/prog_herd" orphan
expect "also when all were cancelled" 0 "member 1: ok" nodes 2 "$W/prog_herd" orphan_cancelled
expect "requests that a server keeps" 0 "member 1: ok" nodes 2 "$W/prog_herd" kept
expect "a request of which one cell is missing" 0 "member 1: ok" nodes 2 "$W/prog_herd" pieces
expect "what is being written stays as it is" 0 "member 1: ok" nodes 2 "$W/prog_herd" slow
expect "an idle server yields, and notices a dead queue pair" 0 "member 0: ok" \
	nodes 2 "$W/prog_herd" idle
expect "also on a CPU of its own" 0 "member 0: ok" nodes 2 "$W/prog_herd" idle dedicated

restarted() {			# restarted N: the last of N members is restarted
	local n=$1 i pids=() worst=0 status
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	export FAKE_FABRIC=$W/fabric RMC_NODES=$n
	for ((i = 0; i < n - 1; i++)); do
		RMC_NODE=$i timeout 100 "$W/prog_msg" rejoin 1 &
		pids+=($!)
	done
	(export RMC_NODE=$((n - 1))
	 timeout 100 "$W/prog_msg" rejoin 1; exec timeout 100 "$W/prog_msg" rejoin 2) &
	pids+=($!)
	for i in "${pids[@]}"; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
	done
	return $worst
}
expect "a restarted member is let in again by its survivor" 0 "member 1: ok" restarted 2
expect "a restarted member is let in again by two" 0 "member 2: ok" restarted 3

prepare "rmc_netpipe builds likewise" build_fake rmc_netpipe \
	"$top"/tools/bench/{rmc_netpipe,netpipe_msg,netpipe_tcp,stats,clock}.c $msg_src
expect "netpipe, usual threshold" 0 "^ 131072 .* pull" nodes 2 "$W/rmc_netpipe" -n 20
expect "netpipe, all pulled" 0 "^ 1  .* pull" nodes 2 "$W/rmc_netpipe" -n 20 -s 1 -T 0
expect "netpipe, all pushed, 3 nodes" 0 "^ 4096 .* push" \
	nodes 3 "$W/rmc_netpipe" -n 20 -s 4K -T inf -d 2
expect "netpipe, all sizes up to one" 0 "^1 2 4 8 16 32 64$" \
	sizes_of "$W/rmc_netpipe" -a -s 64 -n 10
expect "netpipe, best" 0 "best of push and pull" nodes 2 "$W/rmc_netpipe" -n 10 --best
expect "netpipe: no such engine" 2 "--engine: msg or tcp" "$W/rmc_netpipe" -e pigeon
expect "netpipe: an engine that only pushes has no best threshold" 2 "--best goes with" \
	"$W/rmc_netpipe" --engine tcp --best
netpipe_path() {		# netpipe_path BYTES THRESHOLD: of 1 KiB, whose cells are longer
	FAKE_LOCAL_BYTES=$1 paths_of "$W/rmc_netpipe" -n 10 -s 1K -T "$2"
}
expect "netpipe: path of messages that are pushed" 0 "^local$" netpipe_path 4096 inf
expect "netpipe: path of their cells" 0 "^packets$" netpipe_path 1024 inf
expect "netpipe: path of messages that are pulled" 0 "^local$" netpipe_path 1024 0
expect "netpipe over TCP has no path" 0 '"path": "none"' \
	nodes 1 "$W/rmc_netpipe" -n 20 -s 64 --engine tcp --json
expect "netpipe over TCP" 0 "^ 65536 .* tcp" nodes 1 "$W/rmc_netpipe" -n 20 --tcp
netpipe_json() {
	nodes 2 "$W/rmc_netpipe" -n 10 -s 100 --json > "$W/json" &&
		python3 -m json.tool "$W/json"
}
if have python3; then
	expect "netpipe as JSON" 0 '"t_typical_usec": [0-9]' netpipe_json
else
	report 0 "netpipe as JSON" "no python3"
fi
expect "netpipe alone" 2 "two nodes are needed" nodes 1 "$W/rmc_netpipe"
expect "netpipe: bad threshold" 2 "0, inf or a size" "$W/rmc_netpipe" -T x
netpipe_killed() {
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	export FAKE_FABRIC=$W/fabric RMC_NODES=2
	RMC_NODE=1 timeout -s KILL 3 "$W/rmc_netpipe" -n 100000000 -s 64 &
	RMC_NODE=0 timeout 60 "$W/rmc_netpipe" -n 100000000 -s 64
}
expect "netpipe with a killed peer" 1 "not up" netpipe_killed

for san in address,undefined thread; do
	include_lane "messages, $san" "msg-$san"
done
