#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 240
# The host corrupts the memory that nodes 0 and 1 share. No other pair loses, duplicates,
# damages or misses an operation. Nothing outside segments and buffers is written. The two nodes
# recover when one of them is taken down and up.
. "$(dirname "$0")/lib.sh"
need_cluster
BEHIND=230
SEED=${SEED:-$RANDOM}
at_each "0 1" "$CTL" context create 1 --mode 0666 > /dev/null 2>&1
guarded 0 clean0 0 clean 2 3
guarded 1 clean1 0 clean 2 3
guarded 2 clean2 0 clean 0 1 3
guarded 3 clean3 0 clean 0 1 2
guarded 0 rough0 1 rough 1
guarded 1 rough1 1 rough 0
logs="clean0 clean1 clean2 clean3 rough0 rough1"
# shellcheck disable=SC2086 # several logs
until_true 30 says ready $logs || fail "not all see each other: $(cd "$LOGS" && tail -n 2 $logs)"
struck=$("$TOP/build/selftests/cluster/scribble" "$(region)" "${SCRIBBLE:-4}" "$SEED" pair 0 1) ||
	fail "cannot scribble: $struck"
at_each "0 1 2 3" /run/rmc/busybox killall -USR1 xguard || fail "some ended: $(cd "$LOGS" && tail -n 5 $logs)"
until_true 40 says stopped clean0 clean1 clean2 clean3 || fail "seed $SEED: $(tail -n 5 "$LOGS"/clean?)"
# an inconsistent channel has no credits: operations queued for it time out one by one
at_each "0 1" "$CTL" fault timeout 500 || fail "there is no way to set a time-out"
# shellcheck disable=SC2086
stop_guarded "0 1 2 3" $logs || fail "seed $SEED, $struck: $(cd "$LOGS" && tail -n 5 $logs)"
for pair in "0 2" "0 3" "1 2" "1 3" "2 0" "2 1" "2 3" "3 0" "3 1" "3 2"; do
	# shellcheck disable=SC2086 # two words
	set -- $pair
	# a lost operation would have timed out
	check_peer "clean$1" "$2" ok 10000
	[ "$(watched "clean$1" "$2" ok)" -ge 10 ] || fail "seed $SEED: $(cat "$LOGS/clean$1")"
done
refused=$(at 0 cat "$SYSFS/node0/counters/serve_errors" "$SYSFS/node0/counters/stale_replies" |
	awk '{ n += $1 } END { print n + 0 }')
[ "$refused" -ge 10 ] || fail "seed $SEED, $struck: node 0 refused only $refused packets"
at_each "0 1" "$CTL" fault timeout 10000
at 1 "$CTL" node down 1 && at 1 "$CTL" node up 1 || fail "node 1 does not join again"
out=$(on_all "$XPAIR" pairs 2>&1) || fail "seed $SEED, afterwards: $out"
echo "seed $SEED, $struck, $refused packets refused by node 0"
