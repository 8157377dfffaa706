#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# seconds: 400
# The host corrupts all of the shared region. No kernel complains, nothing outside segments and
# buffers is written, every operation ends, and so do programs. Nodes recover by command; where
# the header is corrupted as well, all guests are booted again.
. "$(dirname "$0")/lib.sh"
need_cluster
BEHIND=230
SEED=${SEED:-$RANDOM}

no_insmod()
{
	! at 0 /run/rmc/busybox pidof insmod > /dev/null
}

# scribbled MODE SECONDS: corrupt the region while programs run on both nodes
scribbled()
{
	local node struck

	at_each "0 1" "$CTL" fault timeout 1000 || fail "there is no way to set a time-out"
	for node in 0 1; do
		guarded "$node" "$1$node" 0 rough $((1 - node))
	done
	until_true 30 says ready "${1}0" "${1}1" || fail "not ready: $(cat "$LOGS/$1"?)"
	struck=$("$TOP/build/selftests/cluster/scribble" "$(region)" "$2" "$SEED" "$1") ||
		fail "cannot scribble: $struck"
	stop_guarded "0 1" "${1}0" "${1}1" || fail "seed $SEED, $1, $struck: $(cat "$LOGS/$1"?)"
	echo "seed $SEED, $1, $struck"
}

scribbled tables "${SCRIBBLE:-2}"
for node in 0 1; do
	# a fenced node is down already
	at "$node" "$CTL" node down $node 2> /dev/null
done
for node in 0 1; do
	at "$node" "$CTL" node up $node || fail "seed $SEED: node $node does not join again"
done
at_each "0 1" "$CTL" fault timeout 10000
out=$(on_all "$XPAIR" pairs 2>&1) || fail "seed $SEED, afterwards: $out"

scribbled all "${SCRIBBLE:-2}"
# programs can be killed, and the module can be removed
for node in 0 1; do
	behind "$node" "victim$node" "$XPAIR" busy
done
begun busy victim0 victim1
for node in 0 1; do
	at "$node" /run/rmc/busybox killall -9 xpair
	unload "$node" || fail "seed $SEED: node $node keeps its module"
done
# insmod may succeed or fail, but it must end
load 0 node=0 > /dev/null 2>&1
[ $? != 124 ] || fail "seed $SEED: insmod hangs"
if at 0 /run/rmc/busybox test -d /sys/module/rmc; then
	unload 0 || fail "seed $SEED: node 0 keeps its module after that"
fi
# insmod does not spin while the word with the region's state changes all the time
"$TOP/build/selftests/cluster/scribble" "$(region)" 30 "$SEED" state > /dev/null &
scribbler=$!
children+=("$scribbler")
load 0 node=0 > /dev/null 2>&1 &
sleep 3
at 0 /run/rmc/busybox killall -INT insmod 2> /dev/null
until_true 10 no_insmod || fail "seed $SEED: insmod cannot be interrupted"
kill "$scribbler"
timeout 200 "$VM" restart 0 1 || fail "seed $SEED: the cluster does not come back"
out=$(on_all "$XPAIR" pairs 2>&1) || fail "seed $SEED, booted again: $out"
