#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs are killed with operations in flight, five times. Other programs are not affected.
. "$(dirname "$0")/lib.sh"
need_cluster
behind 0 watch0 "$XPAIR" watch 12
watcher=$behind watched=0
for round in 1 2 3 4 5; do
	behind 1 busy$round "$XPAIR" busy
	begun busy busy$round
	sleep 0.3
	# shellcheck disable=SC2016 # for the guest's shell
	at 1 sh -c 'for p in /proc/[0-9]*; do
			read -r c < $p/comm && [ "$c" = xpair ] && kill -KILL ${p#/proc/}; done 2>/dev/null; true'
	wait "$behind"
	kill -0 "$watcher" 2>/dev/null && watched=$round
done
[ "$watched" -ge 2 ] || fail "the watch was over when $watched programs had been killed"
wait "$watcher" || fail "exit status $? of watch: $(cat "$LOGS/watch0")"
[ "$(watched watch0 1 other)" = 0 ] || fail "other statuses: $(cat "$LOGS/watch0")"
[ "$(watched watch0 1 down)" = 0 ] || fail "taken for dead: $(cat "$LOGS/watch0")"
[ "$(watched watch0 1 ok)" -gt 0 ] || fail "nothing succeeded: $(cat "$LOGS/watch0")"
# no page remains pinned
# shellcheck disable=SC2016
out=$(at 1 sh -c 'echo 1 > /proc/sys/vm/stat_refresh; grep nr_foll_pin /proc/vmstat')
[ "$(awk '{ n[NR] = $2 } END { print n[1] - n[2] }' <<< "$out")" = 0 ] || fail "pinned pages: $out"
out=$(on_all "$XPAIR" pairs 2>&1) || fail "afterwards: $out"
