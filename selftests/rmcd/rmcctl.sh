#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# rmcctl over rmcd: each command, and what it says when it fails. TAP on stdout. As root it also
# tries other users. No module.
#
#	rmcctl.sh [RMCD]	RMCD: build/rmcd; rmcctl and rmc_read_lat are beside it

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
RMCD=${1:-$top/build/rmcd}
O=$(cd "$(dirname "$RMCD")" && pwd)
NOBODY=65534

. "$here/../tap.sh"

for program in "$RMCD" "$O/rmcctl" "$O/rmc_read_lat"; do
	[ -x "$program" ] || { echo "Bail out! there is no $program: make all"; exit 1; }
done

W=$(mktemp -d)
pids=()
finish() {
	[ ${#pids[@]} -eq 0 ] || { kill "${pids[@]}"; wait "${pids[@]}"; } 2> /dev/null
	rm -rf "$W"
}
trap finish EXIT
# others execute it, and reach the sockets
chmod 755 "$W"
cp "$O/rmcctl" "$W/"
rmcctl=$W/rmcctl

until_true() {			# until_true COMMAND...: at most 20 s
	local i
	for ((i = 0; i < 400; i++)); do
		"$@" > /dev/null 2>&1 && return 0
		sleep 0.05
	done
	return 1
}

start() {			# start SOCKET COMMAND...: pid is the daemon's
	local socket=$1
	shift
	"$@" > "$W/log" 2>&1 < /dev/null &
	pid=$!
	pids+=("$pid")
	until_true test -S "$socket" || { sed 's/^/# /' "$W/log"; echo "Bail out! no daemon"; exit 1; }
}

json() {			# json NAME CONDITION COMMAND...: of its output, j
	local name=$1 condition=$2
	shift 2
	"$@" > "$W/json" 2>&1 < /dev/null
	check "$name" python3 -c "import json, sys
text = open(sys.argv[1]).read()
try:
    j = json.loads(text)
    ok = eval(sys.argv[2])
except (ValueError, LookupError, TypeError) as e:
    sys.exit(f'{e!r} of {text}')
ok or sys.exit(f'not {sys.argv[2]}: {text}')" "$W/json" "$condition"
}

start "$W/socket" "$RMCD" --nodes 3 --workers 1 --socket "$W/socket" \
	--contexts "0:0666,5:0600:12:34"
daemon=$pid
export RMC_DEVICE=$W/socket

# --- state ---

expect "status: fabric" 0 "^fabric  *loopback" "$rmcctl" status
expect "status: nodes" 0 "^2  *up  *1  *yes  *local" "$rmcctl" status
expect "status: workers" 0 "^worker0  *[0-9]" "$rmcctl" status
json "status --json" \
	"j['nodes'] == 3 and [n['state'] for n in j['node']] == ['up'] * 3 and j['worker'][0]['visits'] > 0" \
	"$rmcctl" status --json
expect "counters of one node" 0 "^node1  *wq_entries" "$rmcctl" counters --all --node 1
json "counters --json: all nodes, all counters" \
	"sorted(j) == ['node0', 'node1', 'node2'] and len(j['node2']) > 20 and 'wq_entries' in j['node2']" \
	"$rmcctl" --json counters
expect "counters of a node elsewhere" 1 "node 3 is not on this machine" \
	"$rmcctl" counters --node 3
# of a node to itself
expect "a benchmark names its path" 0 '"path": "local"' \
	env RMC_NODES=1 RMC_NODE=0 "$O/rmc_read_lat" -n 100 --json

# --- nodes ---

json "node down" "j == {'node': 1, 'result': 'down'}" "$rmcctl" node down 1 --json
expect "which is down then" 0 "^1  *down" "$rmcctl" status
expect "and doctor names the cure" 1 "^FAIL node  *node1 is down; rmcctl node up" "$rmcctl" doctor
expect "node up" 0 "" "$rmcctl" node up 1
check "which comes up" until_true sh -c "'$rmcctl' status | grep -q '^1  *up'"
expect "node elsewhere" 1 "node 7 is not on this machine" "$rmcctl" node down 7

# beside its connection a socket that it has not inherited
sockets() { find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' | sort -u; }
watching() { [ "$(comm -23 <(sockets "$1") <(sockets $$) | wc -l)" -ge 2 ]; }
"$rmcctl" watch --json --count 2 --timeout 20 > "$W/events" 2>&1 < /dev/null &
watcher=$!
check "watch starts" until_true watching $watcher
"$rmcctl" node down 2
wait $watcher && watched=0 || watched=$?
[ $watched -eq 0 ] || sed "s/^/# /" "$W/events"
report $watched "watch ends after its events"
json "and has printed them" \
	"sorted((e['event'], e['nid']) for e in j) == [('link_down', 2), ('node_down', 2)]" \
	sed '1s/^/[/; $!s/$/,/; $s/$/]/' "$W/events"
"$rmcctl" node up 2
expect "watch of a node elsewhere" 1 "node 9 is not on this machine" "$rmcctl" watch --node 9
expect "watch ends when there are no events" 1 "" "$rmcctl" watch --count 5 --timeout 1

# --- contexts ---

me="$(id -u)  *$(id -g)  *0$"
expect "context list" 0 "^5  *0600  *12  *34  *0$" "$rmcctl" context list
json "context create" "j == {'context': 9, 'result': 'created'}" \
	"$rmcctl" context create --json 9
expect "a context is its creator's" 0 "^9  *0660  *$me" "$rmcctl" context list
expect "context create for others" 0 "" "$rmcctl" context create -m 0640 -u 77 -g 78 10
json "context list --json" \
	"[(c['id'], c['mode'], c['uid'], c['gid']) for c in j['contexts']][-1] == (10, 0o640, 77, 78)" \
	"$rmcctl" context list --json
expect "context exists" 1 "context 9 exists already" "$rmcctl" context create 9
expect "no such number" 1 "this rmcd has contexts 0 .. [0-9]" "$rmcctl" context create 70000
mkfifo "$W/hold"
"$here/peer.py" hold "$W/socket" 0 < "$W/hold" > "$W/held" &
holder=$!
exec 3> "$W/hold"
check "a context is open" until_true grep -qx 0 "$W/held"
expect "open contexts are counted" 0 "^0  *0666 .* 1$" "$rmcctl" context list
expect "and cannot be removed" 1 "context 0 is in use: .*rmcctl context list" \
	"$rmcctl" context remove 0
exec 3>&-
wait $holder
expect "context remove" 0 "" "$rmcctl" context remove 10
expect "context is gone" 1 "no context 10: rmcctl context list" "$rmcctl" context remove 10

# --- many names: a list in parts ---

many() {
	local i
	for i in $(seq 100 199); do "$rmcctl" context create "$i" || return 1; done
	[ "$("$rmcctl" context list | grep -c '^1[0-9][0-9] ')" -eq 100 ]
}
check "a list that needs many answers" many

# --- doctor ---

cp "$here/preload.c" "$W/"
poor() { LD_PRELOAD=$W/preload.so env "$@"; }
prepare "library of a poorer machine builds" ${CC:-cc} -D_GNU_SOURCE -shared -fPIC -Wall -Wextra \
	-Werror -o "$W/preload.so" "$W/preload.c" -ldl
expect "doctor: whose daemon" 0 "^ok  *daemon  *rmcd at $W/socket, process $daemon of $(id -un)" \
	"$rmcctl" doctor
expect "doctor: fabric" 0 "^ok  *fabric  *loopback, 3 nodes, 3 of them" "$rmcctl" doctor
expect "doctor: nodes" 0 "^ok  *node  *3 local nodes up" "$rmcctl" doctor
expect "doctor: workers" 0 "cpus  *1 worker" "$rmcctl" doctor
expect "doctor: contexts" 0 "^ok  *contexts  *[0-9]*, you may open [0-9]*: 0,.*9" "$rmcctl" doctor
expect "doctor: no membarrier" 0 \
	"^WARN membarrier .*none either, .*by a millisecond; else .*for ever; allow membarrier(2)" \
	poor NO_MEMBARRIER=1 "$rmcctl" doctor
echo 1 > "$W/scope"
expect "doctor: ptrace_scope 1 is fine" 0 "^ok  *private .*slower" \
	poor PTRACE_SCOPE="$W/scope" "$rmcctl" doctor
echo 3 > "$W/scope"
expect "doctor: ptrace_scope 3 is not" 0 "^WARN private  *ptrace_scope is 3.*kernel.yama" \
	poor PTRACE_SCOPE="$W/scope" "$rmcctl" doctor
expect "doctor --context" 0 "^ok  *self-test  *write, fetch-and-add and read" \
	"$rmcctl" doctor --context 0
expect "doctor --context reaches peers" 0 "^ok  *peer  *node 2 answers" \
	"$rmcctl" doctor --context 0
json "doctor --json" \
	"j['ok'] and {c['check'] for c in j['checks']} >= {'daemon', 'membarrier', 'private'}" \
	"$rmcctl" doctor --json
expect "doctor --context of none" 1 "FAIL context .*cannot use context 77" \
	"$rmcctl" doctor --context 77

# --- other users ---

drop=(setpriv --reuid $NOBODY --regid $NOBODY --clear-groups)
as_nobody() { "${drop[@]}" "$@"; }
if [ "$(id -u)" -ne 0 ] || ! as_nobody true 2> /dev/null; then
	report 0 "what other users may do" "needs root"
else
	expect "others see the state" 0 "^0  *up" as_nobody "$rmcctl" status
	expect "others do not take nodes down" 1 "node 1: run rmcctl as root or as the user who" \
		as_nobody "$rmcctl" node down 1
	expect "and it is up" 0 "^1  *up" "$rmcctl" status
	expect "others do not create contexts" 1 "only the administrator creates" \
		as_nobody "$rmcctl" context create 20
	expect "nor remove them" 1 "only the administrator removes" \
		as_nobody "$rmcctl" context remove 9
	expect "doctor tells others so" 0 "^WARN control .*may not administer" \
		as_nobody "$rmcctl" doctor
	expect "doctor: what others may open" 0 "^ok  *contexts  *[0-9]*, you may open 1: 0$" \
		as_nobody "$rmcctl" doctor
	expect "doctor: private memory of others" 0 "^WARN private .*another user's" \
		as_nobody "$rmcctl" doctor

	mkdir "$W/theirs"
	chown $NOBODY "$W/theirs"
	cp "$RMCD" "$W/rmcd"
	# no function: pid would be that of a shell
	start "$W/theirs/socket" "${drop[@]}" "$W/rmcd" -n 2 --workers 1 --socket "$W/theirs/socket"
	export RMC_DEVICE=$W/theirs/socket
	expect "a user's own daemon" 0 "" as_nobody "$rmcctl" context create 3
	expect "a user's own context" 0 "^3  *0660  *$NOBODY  *$NOBODY" as_nobody "$rmcctl" context list
	echo 2 > "$W/scope"
	expect "doctor: ptrace_scope 2 stops a user's daemon" 0 "^WARN private  *ptrace_scope is 2" \
		as_nobody env LD_PRELOAD="$W/preload.so" PTRACE_SCOPE="$W/scope" "$rmcctl" doctor
	expect "root does not trust it" 1 "belongs to user $NOBODY" "$rmcctl" status
	expect "and doctor says so" 1 "^FAIL daemon .*belongs to user $NOBODY" "$rmcctl" doctor
fi
export RMC_DEVICE=$W/socket

# --- which one ---

mkdir -p "$W/run" "$W/sys/class/misc/rmc/node5/counters"
ln -s "$W" "$W/run/rmc"
echo 4 > "$W/sys/class/misc/rmc/node5/counters/made_up"
by_default() { env -u RMC_DEVICE XDG_RUNTIME_DIR="$W/run" "$@"; }
if [ -e /dev/rmc ] || [ -e /sys/class/misc/rmc ]; then
	report 0 "a daemon where there is no module" "the module is loaded"
else
	expect "a daemon where there is no module" 0 "rmcd at $W/run/rmc/socket" \
		by_default "$rmcctl" doctor
fi
expect "RMC_SYSFS comes first" 0 "made_up  *4" \
	by_default RMC_SYSFS="$W/sys" "$rmcctl" counters
expect "but RMC_DEVICE decides" 0 "^node2 " \
	env RMC_SYSFS="$W/sys" "$rmcctl" counters --all
expect "no such driver" 1 "RMC_DEVICE is 'cluster', not module" \
	env RMC_DEVICE=cluster "$rmcctl" status
expect "nobody at this socket" 1 "no rmcd answers at $W/none: start rmcd" \
	env RMC_DEVICE="$W/none" "$rmcctl" status
expect "nor for watch" 1 "no rmcd answers at $W/none" env RMC_DEVICE="$W/none" "$rmcctl" watch
expect "nor for faults" 1 "no rmcd answers" env RMC_DEVICE="$W/none" "$rmcctl" fault list
expect "nor for doctor" 1 "^FAIL daemon .*no rmcd answers.*RMC_DEVICE in rmcctl(8)" \
	env RMC_DEVICE="$W/none" "$rmcctl" doctor
expect "the module, if it is asked for" 1 "rmc module is not loaded\|no permission\|^fabric" \
	env RMC_DEVICE=module RMC_SYSFS="$W" "$rmcctl" status

# --- faults: of a daemon with many links and refusals, then of rmcd ---

start "$W/peer" "$here/peer.py" serve "$W/peer" "$W/written"
export RMC_DEVICE=$W/peer
expect "fault set" 0 "" "$rmcctl" fault set --from 1 --to 0 --loss 1%
check "what it wrote" grep -q "^kernel/debug/rmc/links from=1 to=0 lane=both loss=10000 " "$W/written"
json "fault list: all links, in order" \
	"[l['from'] for l in j['links']] == list(range(40)) and j['nodes'][0]['stop'] == 1" \
	"$rmcctl" fault list --json
expect "model: a plain value" 0 "^topology=none dims=1$" "$rmcctl" model
expect "fault of a node elsewhere" 1 "not on this machine: faults are set where packets arrive" \
	"$rmcctl" fault set --to 9 --loss 1%
expect "fault: not permitted" 1 "run rmcctl as root or as the user who runs rmcd" \
	"$rmcctl" fault timeout 100
sweeps() {			# sweeps COMMAND...: how often it has asked for filters that can go
	: > "$W/written"
	"$rmcctl" "$@" >&2 && grep -c '/links sweep$' "$W/written"
}
for off in "fault clear" "fault set --loss 0" "fault node --slow 0 0" "model off" "rnic off"; do
	# shellcheck disable=SC2086
	expect "$off: waits until its filters are gone" 0 "^3$" sweeps $off
done
for on in "fault set --to 8 --loss 1%" "rnic set --to 8 --lines any" "fault node --slow 1us 8"; do
	# shellcheck disable=SC2086
	expect "$on: waits for no filter, though one is there" 1 "^0$" sweeps $on
done
expect "a daemon that ends meanwhile" 1 "rmcd is gone" "$rmcctl" status
RMC_DEVICE=$W/socket
expect "rmcd's own faults" 0 "^node=0 slow_ns=0 stop=0$" "$rmcctl" fault list
expect "rmcd's own model" 0 "^topology=none " "$rmcctl" model
expect "rnic set" 0 "" "$rmcctl" rnic set --to 0 --lines any --gap 50ns
expect "rnic show" 0 "^node=0 lines=any gap_ns=50 msg_ps=0 " "$rmcctl" rnic show
expect "rnic: unknown order" 1 "refuses" "$rmcctl" rnic set --lines some
expect "rnic set: a profile" 0 "" "$rmcctl" rnic set --profile cx5 --faa 800ns --msg 19.5ns
expect "rnic show: a profile" 0 "msg_ps=19500 mbps=100000 cas_ns=431 faa_ns=800 buffer_ns=0 qp_cache=112" \
	"$rmcctl" rnic show
expect "rnic: unknown profile" 2 "no profile 'cx9'; there are cx5 cx7 bf2 tofino sonuma" \
	"$rmcctl" rnic set --profile cx9
expect "rnic: too long" 2 "too long" "$rmcctl" rnic set --cas 2s
expect "rnic: a time below 0" 2 "give a time like" "$rmcctl" rnic set --cas=-1ns
expect "rnic profiles" 0 "^cx5 .*fitted .*figure 4" "$rmcctl" rnic profiles
expect "rnic off" 0 "" "$rmcctl" rnic off
expect "rnic is off" 0 "^node=0 lines=ordered gap_ns=0 msg_ps=0 " "$rmcctl" rnic
expect "switch: of which node?" 2 "needs --to" "$rmcctl" switch off
expect "switch: which tuples?" 2 "needs --bytes and --count, or --words" \
	"$rmcctl" switch set --to 0 --context 1
expect "switch: there is none" 1 "no switch before this node" "$rmcctl" switch off --to 0
expect "switch: tuples longer than a packet" 1 "fit into one packet" \
	"$rmcctl" switch set --to 0 --context 1 --bytes 32768 --count 1
expect "switch: no memory to promote from" 1 "not in a segment" \
	"$rmcctl" switch set --to 0 --context 1 --bytes 128 --count 10
expect "switch: nothing is left of it" 0 "" "$rmcctl" switch show
# its segment is what the switch serves tuples of
RMC_NODES=1 RMC_NODE=0 "$O/rmc_read_lat" -n 10000 -p 20000 -q > /dev/null 2>&1 &
pids+=($!)
owner=$!
check "switch set: tuples" until_true "$rmcctl" switch set --to 0 --context 0 --bytes 128 --count 10 \
	--begin 33554432 --hot 8 --registers 100
expect "switch set: words, beside them" 0 "" \
	"$rmcctl" switch set --to 0 --context 0 --begin 41943040 --words 8 --hot 0
expect "switch set: not twice" 1 "overlaps" \
	"$rmcctl" switch set --to 0 --context 0 --begin 33554560 --bytes 64 --count 1
expect "switch set: beyond the segment" 1 "not in a segment" \
	"$rmcctl" switch set --to 0 --context 0 --begin 268435456 --bytes 128 --count 1
json "switch show" \
	"[s.get('registers', s.get('count')) for s in j['switch']] == [100, 10, 8] and j['switch'][0]['free'] == 92" \
	"$rmcctl" switch show --json
expect "switch demote" 0 "" "$rmcctl" switch demote --to 0 --context 0 --begin 33554432 --count 4
expect "switch crash" 0 "" "$rmcctl" switch crash --to 0
expect "switch: crashed" 1 "the switch has crashed" \
	"$rmcctl" switch promote --to 0 --context 0 --begin 33554432 --count 1
expect "switch recover" 0 "" "$rmcctl" switch recover --to 0
expect "switch promote" 0 "" "$rmcctl" switch promote --to 0 --context 0 --begin 33554432 --count 10
expect "switch unlatch" 0 "" "$rmcctl" switch unlatch --to 0 --of 0
expect "switch unlatch: with force" 0 "" "$rmcctl" switch unlatch --to 0 --of 0 --force
kill $owner
no_range() { [ "$("$rmcctl" switch show | grep -c context=)" = 0 ]; }
check "switch: a segment takes its tuples with it" until_true no_range
expect "switch off" 0 "" "$rmcctl" switch off --to 0

# two RRPPs: what fails at the second one is undone at the first, which owns less of these tuples
start "$W/two" "$RMCD" --nodes 1 --ni per_tile --units 2 --rrpps 2 --interleave 4096 \
	--socket "$W/two" --contexts "0:0666"
two=$pid
export RMC_DEVICE=$W/two
RMC_NODES=1 RMC_NODE=0 "$O/rmc_read_lat" -n 10000 -p 20000 -q > /dev/null 2>&1 &
pids+=($!)
check "switch set: two units" until_true "$rmcctl" switch set --to 0 --context 0 --bytes 128 \
	--begin 33554432 --stride 4096 --count 2 --registers 1
json "switch show: two units" "[s.get('hot') for s in j['switch']] == [None, 1, None, 1]" \
	"$rmcctl" switch show --json
expect "switch off: two units" 0 "" "$rmcctl" switch off --to 0
expect "switch set: the second unit has too few registers" 1 "no register" "$rmcctl" switch set --to 0 \
	--context 0 --bytes 128 --begin 33558528 --stride 4096 --count 3 --registers 1
expect "switch set: nothing is left at the first" 0 "" "$rmcctl" switch show
nothing_set() { [ -z "$("$rmcctl" switch show)" ]; }
check "switch set: nothing at all" nothing_set
kill $two
export RMC_DEVICE=$W/socket

# --- its end ---

export RMC_DEVICE=$W/socket
"$rmcctl" watch --timeout 30 > "$W/events" 2>&1 < /dev/null &
watcher=$!
until_true watching $watcher
kill $daemon
wait $daemon
wait $watcher
check "watch notices the end of rmcd" grep -q "rmcd is gone" "$W/events"

nothing_left() {
	! pgrep -fa -- "--socket $W/"
}
kill "${pids[@]}" 2> /dev/null
wait
pids=()
check "no daemon stays" until_true nothing_left

echo "1..$count"
[ $failed -eq 0 ]
