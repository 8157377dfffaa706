# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Members that do not answer in time, that revoke the team and stay alive, and that restart.
# Sourced by run.sh, after test_kv.sh.

check "deadlines and revocation build for the driver in user space" \
	build_fake prog_limits "$here/prog_limits.c" "$top"/lib/{coll,herd}.c "$top"/lib/kv/*.c \
	$scheme_src
expect "a barrier with a time limit goes on" 0 "member 0: ok" nodes 2 "$W/prog_limits" barrier
expect "a member that gives up hangs nobody" 0 "member 0: ok" nodes 3 "$W/prog_limits" revoke
expect "whoever learns of it passes it on" 0 "member 1: ok" nodes 3 "$W/prog_limits" spread
expect "numbers of nodes that cannot be" 0 "member 0: ok" nodes 1 "$W/prog_limits" numbers
expect "a collective with a time limit ends for all" 0 "member 1: ok" \
	nodes 3 "$W/prog_limits" collective
expect "calls with a time limit, late responses" 0 "member 0: ok" nodes 2 "$W/prog_limits" calls
expect "requests are served within a budget" 0 "member 0: ok" nodes 2 "$W/prog_limits" budget
expect "who waits for a call learns of a revocation" 0 "member 0: ok" \
	nodes 2 "$W/prog_limits" calls_revoked
expect "an object store with a time limit" 0 "member 0: ok" nodes 2 "$W/prog_limits" store

reborn() {			# reborn N PROGRAM...: the last of N members is restarted
	local n=$1 i pids=() worst=0 status
	shift
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	export FAKE_FABRIC=$W/fabric RMC_NODES=$n
	for ((i = 0; i < n - 1; i++)); do
		RMC_NODE=$i timeout 100 "$@" 1 &
		pids+=($!)
	done
	(export RMC_NODE=$((n - 1))
	 timeout 100 "$@" 1; exec timeout 100 "$@" 2) &
	pids+=($!)
	for i in "${pids[@]}"; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
	done
	return $worst
}
for n in 2 3; do
	for what in client server; do
		expect "store and receive buffers let a restarted $what in, $n nodes" 0 \
			"member $((n - 1)): ok" reborn $n "$W/prog_limits" $what
	done
done
expect "a restarted member joins behind a revocation" 0 "member 2: ok" \
	reborn 3 "$W/prog_limits" era
expect "a server that came back unnoticed is another one" 0 "member 1: ok" \
	reborn 2 "$W/prog_limits" other_server
expect "who does not tell its survivor is no member yet" 0 "member 1: ok" \
	reborn 2 "$W/prog_limits" newcomer

prepare "calls to a restarted member build likewise" \
	build_fake prog_calls "$here/prog_calls.c" "$top"/lib/rpc*.c "$top"/lib/msg/*.c
for n in 2 3; do
	expect "calls end with a member's life, and work in the next one, $n nodes" 0 \
		"member $((n - 1)): ok" reborn $n "$W/prog_calls"
done
