#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs are killed with operations in flight, five times. Other programs are not affected.
. "$(dirname "$0")/lib.sh"
need_cluster
behind 0 watch0 "$XPAIR" watch 12
watcher=$behind
# all in the guest: a command from the host takes seconds while eight emulated CPUs are busy
behind 1 killer "$XPAIR" killed 5
killer=$behind
wait "$watcher" || fail "exit status $? of watch: $(cat "$LOGS/watch0")"
watched=$(grep -c '^killed' "$LOGS/killer")
[ "$watched" -ge 2 ] || fail "the watch was over when $watched programs had been killed"
wait "$killer" || fail "exit status $? of killed: $(cat "$LOGS/killer")"
[ "$(watched watch0 1 other)" = 0 ] || fail "other statuses: $(cat "$LOGS/watch0")"
[ "$(watched watch0 1 down)" = 0 ] || fail "taken for dead: $(cat "$LOGS/watch0")"
[ "$(watched watch0 1 ok)" -gt 0 ] || fail "nothing succeeded: $(cat "$LOGS/watch0")"
# no page remains pinned
# shellcheck disable=SC2016
out=$(at 1 sh -c 'echo 1 > /proc/sys/vm/stat_refresh; grep nr_foll_pin /proc/vmstat')
[ "$(awk '{ n[NR] = $2 } END { print n[1] - n[2] }' <<< "$out")" = 0 ] || fail "pinned pages: $out"
out=$(on_all "$XPAIR" pairs 2>&1) || fail "afterwards: $out"
