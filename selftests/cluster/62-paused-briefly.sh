#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest is paused briefly: operations on it wait, and none fails.
. "$(dirname "$0")/lib.sh"
need_cluster
last=$((NODES - 1))
behind 0 watch0 "$XPAIR" watch 70
behind "$last" "watch$last" "$XPAIR" watch 70
until_true 9 all_seen 0 "$last" || fail "watchers do not see each other: $(cat "$LOGS"/watch*)"
timeout 20 "$VM" pause "$last" || fail "cannot pause"
sleep 1
timeout 20 "$VM" resume "$last" || fail "cannot resume"
sleep 1
stop_watchers "0 $last"
wait "${children[@]}"
for watch in "watch0 $last" "watch$last 0"; do
	# shellcheck disable=SC2086 # two words
	set -- $watch
	[ "$(watched "$1" "$2" other)" = 0 ] || fail "$(cat "$LOGS/$1")"
	[ "$(watched "$1" "$2" down)" = 0 ] || fail "$(cat "$LOGS/$1")"
done
