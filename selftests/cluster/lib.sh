# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that the tests in this folder share. run.sh sets RMC_CLUSTER, NODES and UP; a test
# started by hand uses the cluster of that name, or boots one.
#
# A test checks one behaviour. On failure it prints the reason. It exits with 0 (passed), 4
# (skipped) or any other status (failed). No wait in it is without a limit.

set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VM=$TOP/vm-setup/rmc-vm
RUN=$TOP/tools/rmc-run
CTL=$TOP/build/rmcctl
XPAIR=$TOP/build/selftests/cluster/xpair
SYSFS=/sys/class/misc/rmc
NODES=${NODES:-2}
UP=${UP:-}
export RMC_CLUSTER=${RMC_CLUSTER:-cluster-test}
LOGS=$(mktemp -d)
children=()

# End only processes that this test started, by process id.
finish()
{
	local pid

	for pid in "${children[@]}"; do
		kill "$pid" 2>/dev/null
	done
	wait
	rm -rf "$LOGS"
}
trap finish EXIT
trap 'exit 130' INT TERM

# fail MESSAGE ...: print the last output of background programs and their kernel stacks as
# well, since the failure may not occur again
fail()
{
	local log node

	echo "${*:-said nothing}"
	for log in "$LOGS"/*; do
		[ ! -f "$log" ] || echo "  ${log##*/}, $(wc -l < "$log") lines: $(tail -n 1 "$log")"
	done
	for node in $(seq 0 $((NODES - 1))); do
		echo "  node $node: programs, and the kernel's last words"
		# shellcheck disable=SC2016 # for the guest's shell
		timeout 10 "$VM" exec "$node" -- sh -c '
			for p in /proc/[0-9]*; do
				read -r name < $p/comm && case $name in
				x*|rmc*) echo "$name ${p#/proc/}" && head -n 5 $p/stack;; esac
			done 2>/dev/null
			/run/rmc/busybox dmesg | tail -n 4' < /dev/null 2>&1 | sed 's/^/    /'
	done
	exit 1
}

skip()
{
	echo "$*"
	exit 4
}

# Boot the cluster; if it is up, resume or restart nodes that the previous test left paused or
# dead.
need_cluster()
{
	local status node

	if ! status=$(timeout 30 "$VM" status); then
		# shellcheck disable=SC2086 # several options
		timeout 150 "$VM" up -q -n "$NODES" $UP || fail "the cluster does not boot"
		return
	fi
	for node in $(sed -n 's/^guest \([0-9]*\): paused.*/\1/p' <<< "$status"); do
		timeout 20 "$VM" resume "$node"
	done
	for node in $(sed -n 's/^guest \([0-9]*\): dead.*/\1/p' <<< "$status"); do
		timeout 120 "$VM" restart "$node" || fail "node $node does not come back"
	done
}

# on_all [OPTION ...] PROGRAM ...: one process per node
on_all()
{
	timeout -k 5 70 "$RUN" -n "$NODES" --timeout 60 --grace 3 "$@" < /dev/null
}

# at NODE PROGRAM ...: run it in that node's guest
at()
{
	local node=$1

	shift
	timeout -k 5 60 "$VM" exec --app "$node" -- "$@" < /dev/null
}

# at_each "NODE ..." PROGRAM ...: run it in all of these guests at once; all must succeed
at_each()
{
	local nodes=$1 node pids=() bad=0

	shift
	for node in $nodes; do
		at "$node" "$@" &
		pids+=($!)
	done
	for node in "${pids[@]}"; do
		wait "$node" || bad=1
	done
	return $bad
}

# behind NODE LOG PROGRAM ...: as at, in the background; its process id is in $behind
behind()
{
	local node=$1 log=$LOGS/$2

	shift 2
	timeout -k 5 "${BEHIND:-80}" "$VM" exec --app "$node" -- "$@" < /dev/null > "$log" 2>&1 &
	behind=$!
	children+=("$behind")
}

# until_true SECONDS COMMAND ...: repeat the command until it succeeds within that time
until_true()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.2
	done
}

# seen LOG PEER STATUS: xpair watch reported this status last for the peer
seen()
{
	[ "$(sed -n "s/^[0-9.]* peer $2 \([a-z_]*\) after.*/\1/p" "$LOGS/$1" | tail -n 1)" = "$3" ]
}

# all_seen NODE ...: watchers on these nodes find each other's segments
all_seen()
{
	local a b

	for a in "$@"; do
		for b in "$@"; do
			[ "$a" = "$b" ] || seen "watch$a" "$b" ok || return 1
		done
	done
}

# The file behind the shared region, on the host
region()
{
	"$VM" status --json | sed -n 's/^ "region": "\(.*\)",\?$/\1/p'
}

# load NODE PARAMETER ...: load the module in the guest that was booted for NODE
load()
{
	local node=$1 args module

	shift
	module=$("$VM" status --json | sed -n 's/^ "module": "\(.*\)",\?$/\1/p')
	args=$("$VM" status --json | sed -n '/^ "module_args"/,/\]/s/^  "\(.*\)",\?$/\1/p')
	# shellcheck disable=SC2086 # several arguments
	timeout 60 "$VM" exec --share "$module" "$node" -- /run/rmc/busybox insmod "$module" $args "$@" &&
		timeout 20 "$VM" exec "$node" -- "$CTL" context create 0 --mode 0666
}

# unload NODE
unload()
{
	until_true 10 at "$1" /run/rmc/busybox rmmod rmc
}

# guarded NODE LOG CTX clean|rough PEER ...: xguard in the background
guarded()
{
	local node=$1 log=$2

	shift 2
	behind "$node" "$log" "$TOP/build/selftests/cluster/xguard" "$@"
}

# stop_guarded NODES LOG ...: stop xguard; all that write these logs succeeded
stop_guarded()
{
	local nodes=$1

	shift
	at_each "$nodes" /run/rmc/busybox killall -USR1 xguard || return 1
	until_true 40 says stopped "$@" || return 1
	at_each "$nodes" /run/rmc/busybox killall -USR2 xguard || return 1
	until_true 10 says "guards ok" "$@"
}

# says TEXT LOG ...: each of these logs has a line that begins with TEXT
says()
{
	local what=$1 log

	shift
	for log in "$@"; do
		grep -q "^$what" "$LOGS/$log" || return 1
	done
}

# begun TEXT LOG ...: wait until programs in the background print TEXT, or fail
begun()
{
	until_true 10 says "$@" || fail "${*:2} did not begin in 10 s"
}

# stop_watchers NODES: xpair watch ends there; until then it has outlasted all that a test waits for
stop_watchers()
{
	at_each "$1" /run/rmc/busybox killall -USR2 xpair || fail "cannot stop the watchers"
}

# watched LOG PEER FIELD: a number from xpair watch's summary of a peer
watched()
{
	sed -n "s/^peer $2 .*\b$3 \([0-9]\+\).*/\1/p" "$LOGS/$1"
}

# check_peer LOG PEER LAST WORST_MS: the summary of a peer has no unexpected status, LAST as its
# last status, and no operation that took longer. LAST is a regular expression.
check_peer()
{
	local line

	line=$(grep "^peer $2 " "$LOGS/$1") || fail "$1 has no last words on peer $2: $(tail -n 3 "$LOGS/$1")"
	[[ $line =~ last\ ($3)\ worst ]] || fail "$1: $line: last is not $3"
	[ "$(watched "$1" "$2" other)" = 0 ] || fail "$1: $line: there are other statuses: $(grep -v " ok " "$LOGS/$1")"
	[ "$(watched "$1" "$2" worst)" -le "$4" ] || fail "$1: $line: took more than $4 ms"
}

[ -x "$XPAIR" ] || skip "no $XPAIR: make -C selftests/cluster"
