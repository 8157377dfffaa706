#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Soft-RoCE in guests, as JSON on node 0: perftest's read latency over rdma_rxe, between
# two guests with a cable, or within the one guest that hosts node 0. rmc-run starts it
# on every node; guests need the drivers rdma_rxe and crc32_generic.
#
#	roce.sh between|within ITERATIONS SIZE...
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

die() {
	echo "roce.sh: $*" >&2
	exit 1
}

[ $# -ge 3 ] || { echo "usage: roce.sh between|within ITERATIONS SIZE..." >&2; exit 2; }
how=$1 iterations=$2
shift 2
node=${RMC_NODE:-0}
[ "$how" = between ] || [ "$node" = 0 ] || exit 0
server=192.168.77.1
for program in ip rdma ib_read_lat; do
	command -v $program >/dev/null || die "there is no $program"
done

# once per guest
if [ ! -e /sys/class/infiniband/rxe0 ]; then
	if [ "$how" = within ]; then
		card=dummy0
		[ -e /sys/class/net/$card ] || ip link add $card type dummy || die "no driver dummy"
	else
		card=$(basename "$(dirname "$(ls -d /sys/class/net/*/device | head -n 1)")")
	fi
	ip addr add 192.168.77.$((node + 1))/24 dev "$card" && ip link set "$card" up ||
		die "$card does not come up"
	rdma link add rxe0 type rxe netdev "$card" || die "rdma_rxe does not take $card"
fi
for ((i = 0; i < 100; i++)); do
	# the entry of the IPv4 address, which appears shortly after it
	gid=$(grep -l 'ffff:c0a8' /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | head -n 1)
	[ -n "$gid" ] && break
	sleep 0.1
done
[ -n "$gid" ] || die "rxe0 has no address"
index=${gid##*/}

serve() {		# serve SIZE
	ib_read_lat -F -d rxe0 -x "$index" -s "$1" -n "$iterations" >/dev/null 2>/tmp/roce.err
}

# the last line of figures: bytes, iterations, min, max, typical, average, deviation, 99%, 99.9%
ask() {			# ask SIZE
	local try
	for ((try = 0; try < 100; try++)); do		# until the server listens
		ib_read_lat -F -d rxe0 -x "$index" -s "$1" -n "$iterations" $server 2>/tmp/roce.err |
			awk '$1 ~ /^[0-9]+$/ && NF >= 9 { line = $0 } END { if (line == "") exit 1; print line }' &&
			return
		sleep 0.1
	done
	cat /tmp/roce.err >&2
	die "ib_read_lat got no answer"
}

if [ "$how" = between ] && [ "$node" = 0 ]; then
	for size; do serve "$size" || die "$(tail -n 1 /tmp/roce.err)"; done
	exit 0
fi
comma=
echo '{ "test": "soft-roce", "where": "'"$how"'", "results": ['
for size; do
	if [ "$how" = within ]; then
		serve "$size" &
	fi
	read -r bytes n min max typical avg _ p99 p99_9 < <(ask "$size") || exit 1
	wait
	echo "$comma"'{ "bytes": '"$bytes"', "iterations": '"$n"', "t_min_usec": '"$min"', "t_max_usec": '"$max"','
	echo '  "t_typical_usec": '"$typical"', "t_avg_usec": '"$avg"', "p99_usec": '"$p99"', "p99_9_usec": '"$p99_9"' }'
	comma=,
done
echo ']}'
