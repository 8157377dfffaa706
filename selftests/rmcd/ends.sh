# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sockets, clients and daemons that are killed, an idle daemon, daemons that share a region.
# Sourced by run.sh.

# --- sockets ---

start rmcd
expect "a second daemon on the same socket is refused" 1 "a daemon runs at $RMC_DEVICE already" \
	timeout -k 5 20 "$D/rmcd" --socket "$RMC_DEVICE"
expect "and takes nothing from the first" 0 "success" nodes 2 "$O/hello"
kill_daemon() {			# returns when its guard has ended, too
	local guard
	guard=$(pgrep -P "$daemon" -x rmc-guard)
	kill -KILL "$daemon"
	wait "$daemon" 2> /dev/null
	until_true 20 ended "${guard:-0}"
}
again() {			# again PROGRAM OPTIONS...: at the socket of the one that was killed
	"$D/$1" --socket "$RMC_DEVICE" "${@:2}" --stop-fd 0 \
		> "$RMC_DEVICE.log" 2>&1 < "$S/stop" 9>&- &
	daemon=$!
	until_true 20 listening "$RMC_DEVICE"
}
kill_daemon
check "a killed daemon leaves its socket" test -S "$RMC_DEVICE"
expect "nobody answers there" 1 "no rmcd answers at $RMC_DEVICE" nodes 1 "$O/hello"
again rmcd
report $? "the next daemon takes the socket over"
expect "and serves" 0 "success" nodes 2 "$O/hello"
# the guard has the socket open, and its lock, until it has told all clients
guard=$(pgrep -P "$daemon" -x rmc-guard)
kill -STOP "$guard"
kill -KILL "$daemon"
wait "$daemon" 2> /dev/null
(sleep 0.3; kill -CONT "$guard") &
again rmcd
until_true 20 ended "$guard" && until_true 20 listening "$RMC_DEVICE"
report $? "also while the guard of the one before is still at work"
expect "and serves, too" 0 "success" nodes 2 "$O/hello"
stop "after a killed one"

# --- a daemon whose files may have 8 KiB ---

start_small() {
	RMC_DEVICE=$S/small
	export RMC_DEVICE
	(ulimit -S -f 8; exec "$D/rmcd" --socket "$RMC_DEVICE" --stop-fd 0) \
		> "$RMC_DEVICE.log" 2>&1 < "$S/stop" 9>&- &
	daemon=$!
	until_true 20 listening "$RMC_DEVICE"
}
start_small
report $? "a daemon whose files may have 8 KiB starts"
expect "a queue that is larger is refused" 1 "File too large" nodes 1 "$O/rmc_read_bw" -t 1024 -n 100
expect "and the daemon serves others" 0 " local" nodes 1 "$O/rmc_read_lat" -n 100
stop "with small files"

in_runtime_dir() {		# the daemon's and the library's idea of the default socket
	local user=() pid status dir=$S/runtime
	mkdir -p "$dir"
	if [ "$(id -u)" -eq 0 ]; then
		# root's default is elsewhere
		chown 65534:65534 "$dir"
		user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	fi
	cp "$D/rmcd" "$O/hello" "$S/" || return
	XDG_RUNTIME_DIR=$dir "${user[@]}" "$S/rmcd" --stop-fd 0 < "$S/stop" 9>&- &
	pid=$!
	until_true 20 listening "$dir/rmc/socket" &&
		XDG_RUNTIME_DIR=$dir RMC_DEVICE=daemon RMC_NODES=1 RMC_NODE=0 \
			timeout -k 5 20 "${user[@]}" "$S/hello"
	status=$?
	kill $pid
	wait $pid && [ ! -e "$dir/rmc/socket" ] && return $status
}
if [ "$(id -u)" -eq 0 ] && ! have setpriv; then
	report 0 "the default socket of a user" "no setpriv"
else
	expect "the default socket of a user" 0 "success" in_runtime_dir
fi
if [ -S /run/rmc/socket ] || [ -S "/tmp/rmc-$(id -u)/socket" ]; then
	report 0 "no daemon at the default sockets" "one runs on this machine"
else
	expect "no daemon at the default sockets" 1 "no rmcd answers at the usual places" \
		env RMC_DEVICE=daemon RMC_NODES=1 RMC_NODE=0 timeout -k 5 20 "$O/hello"
fi

# --- clients and daemons that are killed ---

start rmcd.asan
killed_peer() {
	local victim status
	RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 "$O/rmc_read_bw" -n 2000000000 -b -S 1M > /dev/null &
	victim=$!
	RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$O/rmc_read_bw" -n 2000000000 -b -S 1M &
	until_true 20 busy $! && until_true 20 busy "$(pgrep -P $victim)" &&
		kill -KILL "$(pgrep -P $victim)"
	wait $!
	status=$?
	wait $victim
	return $status
}
# busy PID: it, or the child of a timeout(1), has used CPU time, so it measures
busy() {
	local pid ticks
	pid=$(pgrep -P "$1" || echo "$1")
	ticks=$(awk '{ print $14 + $15 }' "/proc/$pid/stat" 2> /dev/null) &&
		[ "${ticks:-0}" -gt 20 ]
}
expect "a peer that is killed ends the run" 1 "node 1\|not up\|context" killed_peer
expect "the daemon serves others" 0 "success" nodes 2 "$O/hello"
stop "after a killed client"

killed_daemon() {		# killed_daemon N PROGRAM...: the worst status, and how many ended
	local n=$1 i pids="" status worst=0 best=255
	shift
	for ((i = 0; i < n; i++)); do
		RMC_NODES=$n RMC_NODE=$i timeout -k 5 60 "$@" &
		pids="$pids $!"
	done
	for i in $pids; do
		until_true 20 busy "$i"
		break
	done
	kill -KILL "$daemon"
	begin=$SECONDS
	for i in $pids; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
		[ $status -lt $best ] && best=$status
	done
	echo "statuses $best to $worst after $((SECONDS - begin)) s"
	[ $((SECONDS - begin)) -le 10 ] && return $worst
}
for t in "2 rmc_read_bw -n 2000000000 -S 1M" "2 rmc_netpipe -n 100000000 -s 64" \
	 "2 rmc-kv bench -s rpc -n 100000000 -q"; do
	read -r n program <<< "$t"
	start rmcd -n 2
	# shellcheck disable=SC2086 # options
	expect "a daemon that is killed ends ${program%% *}" 1 "statuses 1 to 1 after" \
		killed_daemon "$n" "$O/"$program
	wait "$daemon" 2> /dev/null
done

# --- an idle daemon ---

# An open context, and nothing to do. 0.1 % of 3 s are 3 ms of CPU time; beside that, 2 ms for
# what ends after the last operation: polling until it parks (0.2 ms per worker), and the start of
# the wait. A daemon that polls uses 3 s, one that wakes every millisecond some 30 ms.
idle() {
	local before after
	before=$(cpu_ns)
	sleep 3			# the time that is measured
	after=$(cpu_ns)
	echo "$(((after - before) / 1000)) us of CPU time in 3 s"
	[ $((after - before)) -lt 5000000 ]
}
cpu_ns() {			# of all threads
	cat /proc/"$daemon"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d\n", sum }'
}
asleep() {			# has used no CPU time for a moment
	local before
	before=$(cpu_ns)
	sleep 0.1
	[ "$(cpu_ns)" -eq "$before" ]
}
start rmcd -n 2
cat > "$W/hold.py" << 'EOF'
import sys
import rmc
team = rmc.Team(8192)
team.words = team.memory.cast("Q")
print("ready", flush=True)
sys.stdin.read()
EOF
if ! have python3; then
	report 0 "an idle daemon sleeps" "no python3"
elif [ ! -r "/proc/$daemon/schedstat" ]; then
	report 0 "an idle daemon sleeps" "no schedstat in this kernel"
else
	mkfifo "$W/go"
	exec 8<> "$W/go"
	RMC_LIBRARY=$O/librmc.so.1 PYTHONPATH=$top/lib/python RMC_NODES=1 RMC_NODE=0 \
		PYTHONDONTWRITEBYTECODE=1 timeout -k 5 60 \
		python3 "$W/hold.py" > "$W/ready" 2>&1 < <(cat 9>&- 8>&- "$W/go") 8>&- 9>&- &
	holder=$!
	until_true 20 grep -qs ready "$W/ready"
	until_true 10 asleep
	check "an idle daemon with an open context takes less than 0.1 % of a CPU" idle
	kill $holder
	wait $holder 2> /dev/null
	exec 8>&-
fi
stop "idle"

# --- two daemons, one region ---

region() {			# region PROGRAM NODE: sets daemon and RMC_DEVICE
	start "$1" --region "$S/region" --region-size 16M --node "$2" --dead-ms 500
}
two() {				# two PROGRAM...: node 0 and node 1, each with its daemon
	local status pid
	RMC_DEVICE=${device[1]} RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 "$@" &
	pid=$!
	RMC_DEVICE=${device[0]} RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 "$@"
	status=$?
	wait $pid || [ $status -gt 0 ] || status=1
	return $status
}
device=() pids=()
for i in 0 1; do
	region rmcd.asan $i
	device[i]=$RMC_DEVICE pids[i]=$daemon
done
expect "two daemons: hello" 0 "node 1 says 101: success" two "$O/hello"
expect "two daemons: PageRank" 0 "verify *ok" two "$O/pagerank" -r 9 -n 3 -V
expect "two daemons: messages" 0 "member 1: ok" two "$D/prog_msg" all
expect "two daemons: packets between them" 0 "^ 64 .* packets$" two "$O/rmc_read_lat" -n 50 -S 1M
other_dies() {			# node 1's daemon
	local pid
	RMC_DEVICE=${device[1]} RMC_NODES=2 RMC_NODE=1 timeout -k 5 60 \
		"$O/rmc_read_bw" -n 2000000000 -b -S 1M > "$W/other" 2>&1 &
	pid=$!
	RMC_DEVICE=${device[0]} RMC_NODES=2 RMC_NODE=0 timeout -k 5 60 \
		"$O/rmc_read_bw" -n 2000000000 -b -S 1M &
	until_true 20 busy $! && kill -KILL "${pids[1]}"
	wait $!
	status=$?
	wait $pid
	echo "its own program: $?"
	return $status
}
expect "one of two daemons is killed: both programs end" 1 "its own program: 1" other_dies
wait "${pids[1]}" 2> /dev/null
RMC_DEVICE=${device[1]}
again rmcd.asan --region "$S/region" --node 1 --dead-ms 500
pids[1]=$daemon
two_again() {			# the other daemon notices the new one within a heartbeat
	until_true 20 eval 'two "$O/hello" > "$W/two" 2>&1'
	local status=$?
	cat "$W/two"
	return $status
}
expect "it is restarted: hello" 0 "node 1 says 101: success" two_again
expect "it is restarted: PageRank" 0 "verify *ok" two "$O/pagerank" -r 9 -n 3 -V
expect "it is restarted: messages" 0 "member 1: ok" two "$D/prog_msg" all
for i in 1 0; do
	RMC_DEVICE=${device[i]} daemon=${pids[i]}
	stop "daemon $i of two"
done

# --- two daemons of one process ---

# yama: a process permits one other to read its memory, but for root and its parents
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)" -ne 1 ]; then
	report 0 "two daemons read private memory of one process" "yama restricts nobody here"
elif [ "$(id -u)" -eq 0 ]; then
	report 0 "two daemons read private memory of one process" "yama does not restrict root"
else
	start rmcd -n 1
	first=$RMC_DEVICE first_daemon=$daemon
	start rmcd -n 1
	check "two daemons read private memory of one process" \
		timeout -k 5 20 "$D/two_daemons" "$first" "$RMC_DEVICE"
	stop "second of two daemons"
	RMC_DEVICE=$first daemon=$first_daemon
	stop "first of two daemons"
fi

# --- two daemons, one region, two nodes each ---

pair() {			# pair FIRST-LAST WORKERS: sets daemon and RMC_DEVICE
	start rmcd.asan --region "$S/pairs" --region-size 64M --nodes 4 --ni fused --node "$1" \
		--workers "$2" --dead-ms 1000
}
four() {			# four PROGRAM...: on nodes 0 to 3
	local i each=() status worst=0
	for i in 0 1 2 3; do
		RMC_DEVICE=${device[i / 2]} RMC_NODES=4 RMC_NODE=$i timeout -k 5 100 "$@" &
		each+=($!)
	done
	for i in "${each[@]}"; do
		wait "$i"
		status=$?
		[ $status -le $worst ] || worst=$status
	done
	return $worst
}
four_again() {			# the other daemon notices the new one within a heartbeat
	until_true 30 eval 'four "$O/hello" > "$W/four" 2>&1'
	local status=$?
	cat "$W/four"
	return $status
}
state_is() {			# state_is DAEMON NODE STATE: as this daemon's rmcctl shows it
	RMC_DEVICE=${device[$1]} ctl status 2>&1 | grep -q "^ *$2 .*$3"
}
i=0
for nodes in 0-1 2-3; do
	pair $nodes $((i + 1))
	device[i]=$RMC_DEVICE pids[i]=$daemon
	i=$((i + 1))
done
expect "two daemons of two nodes: hello" 0 "node 3 says 103: success" four "$O/hello"
expect "two daemons of two nodes: PageRank" 0 "verify *ok" four "$O/pagerank" -r 9 -n 3 -V
expect "two daemons of two nodes: messages" 0 "member 3: ok" four "$D/prog_msg" all
doorbells() {
	[ -p "$S/pairs.0" ] && [ -p "$S/pairs.1" ] && [ -p "$S/pairs.2" ] && [ -p "$S/pairs.3" ]
}
check "each node has a doorbell" doorbells
inside() {
	RMC_DEVICE=${device[0]} nodes 2 "$O/rmc_read_lat" -n 50 -S 1M
}
expect "two nodes of one worker in a region: no packets" 0 "^ 64 .* local$" inside
expect "a node whose daemon has another" 1 "node=1 is taken" \
	timeout -k 5 20 "$D/rmcd" --socket "$S/never" --region "$S/pairs" --node 1
for range in 3-4 2-1 x 1- -1 ' 3' +3 4294967299 2-4294967299; do
	expect "--node $range is refused" "$([ "$range" = 3-4 ] && echo 1 || echo 2)" "rmcd: --node" \
		timeout -k 5 20 "$D/rmcd" --socket "$S/never" --region "$S/pairs" "--node=$range"
done

# one node of the second daemon gets another owner while that daemon stands still
kill -STOP "${pids[1]}"
until_true 20 state_is 0 3 down
start rmcd.asan --region "$S/pairs" --node 3 --dead-ms 1000
report $? "node 3 of a daemon that stands still is claimed"
kill -CONT "${pids[1]}"
until_true 20 state_is 1 3 down
report $? "it is fenced there"
until_true 20 state_is 0 2 up && until_true 20 state_is 1 2 up
report $? "but node 2 of that daemon comes back by itself"
second() {			# second COMMAND...: over the second daemon
	RMC_DEVICE=${device[1]} "$@"
}
expect "it does not come back while the other lives" 1 "which is alive" second ctl node up 3
stop "the other owner of node 3"
expect "then it does" 0 "" second ctl node up 3
expect "and all four work: hello" 0 "node 3 says 103: success" four_again

kill -KILL "${pids[1]}"
wait "${pids[1]}" 2> /dev/null
RMC_DEVICE=${device[1]}
again rmcd.asan --region "$S/pairs" --node 2-3 --workers 2 --ni fused --dead-ms 1000
pids[1]=$daemon
expect "a daemon of two nodes is killed and restarted: hello" 0 "node 3 says 103: success" \
	four_again
expect "it is restarted: messages between four" 0 "member 3: ok" four "$D/prog_msg" all
for i in 1 0; do
	RMC_DEVICE=${device[i]} daemon=${pids[i]}
	stop "daemon $i of two with two nodes"
done

# --- places for a socket that are somebody else's ---

not_a_socket() {		# not_a_socket PATH: refused, and nothing has changed
	local before after status
	before=$(stat -c '%F %s %i' "$1")
	timeout -k 5 20 "$D/rmcd" --socket "$1"
	status=$?
	after=$(stat -c '%F %s %i' "$1")
	[ "$before" = "$after" ] || echo "it was: $before, and is: $after"
	[ ! -e "$1.lock" ] || echo "left $1.lock"
	[ "$before" = "$after" ] && [ ! -e "$1.lock" ] && return $status
}
echo precious > "$S/file"
mkfifo "$S/fifo"
mkdir "$S/folder"
ln -s "$S/nowhere" "$S/link"
for i in file fifo folder link; do
	expect "--socket that is a $i" 1 "$S/$i is there and no socket: remove it, or give another" \
		not_a_socket "$S/$i"
done
check "and the file is what it was" grep -qx precious "$S/file"
expect "--socket with a name that is too long" 1 "File name too long" \
	timeout -k 5 20 "$D/rmcd" --socket "$S/$(printf '%0108d' 0)"

# A user whose default directory is prepared by somebody else. As root, as one whom nobody has.
U=$(id -u) user=()
if [ "$U" -eq 0 ]; then
	U=65431
	user=(setpriv --reuid $U --regid $U --clear-groups)
fi
as_user() {
	env -u XDG_RUNTIME_DIR RMC_NODES=1 RMC_NODE=0 timeout -k 5 20 "${user[@]}" "$@"
}
squatted() {			# squatted WHY: daemon and library say why, and use nothing of it
	local status=0
	as_user "$S/rmcd" > "$W/squatted" 2>&1
	[ $? -eq 1 ] && grep "^rmcd: /tmp/rmc-$U $1, .*: remove it, or give --socket" "$W/squatted" ||
		{ cat "$W/squatted"; status=1; }
	RMC_DEVICE=daemon as_user "$S/hello" > "$W/squatted" 2>&1
	[ $? -eq 1 ] && grep "/tmp/rmc-$U $1, .*: remove it" "$W/squatted" ||
		{ cat "$W/squatted"; status=1; }
	return $status
}
if [ "$(id -u)" -eq 0 ] && ! have setpriv; then
	report 0 "the default directory is somebody else's" "no setpriv"
elif [ -e "/tmp/rmc-$U" ] || [ -L "/tmp/rmc-$U" ] || [ -S /run/rmc/socket ]; then
	report 0 "the default directory is somebody else's" "/tmp/rmc-$U is there, or /run/rmc/socket"
else
	cp "$D/rmcd" "$O/hello" "$S/"
	mkdir -m 777 "/tmp/rmc-$U"
	[ "$(id -u)" -ne 0 ] || chown "$U" "/tmp/rmc-$U"
	# somebody who could answer
	"$D/rmcd" --socket "/tmp/rmc-$U/socket" --contexts 0:0666 --stop-fd 0 < "$S/stop" 9>&- \
		> "$W/squatter" 2>&1 &
	squatter=$!
	until_true 20 listening "/tmp/rmc-$U/socket"
	check "the default directory can be written by others" squatted "can be written by others"
	mv "/tmp/rmc-$U" "$S/theirs"
	chmod 700 "$S/theirs"
	ln -s "$S/theirs" "/tmp/rmc-$U"
	check "the default directory is a link" squatted "is no directory"
	rm -f "/tmp/rmc-$U"
	if [ "$(id -u)" -eq 0 ]; then
		chown 0 "$S/theirs"
		chmod 755 "$S/theirs"
		mv "$S/theirs" "/tmp/rmc-$U"
		check "the default directory belongs to another user" \
			squatted "belongs to another user"
		mv "/tmp/rmc-$U" "$S/theirs"
	fi
	kill $squatter
	wait $squatter
fi

# --- quotas ---

# A daemon of this user, who is not root: quotas hold for him.
Q=$S/quotas
mkdir -m 777 "$Q"
cp "$D/rmcd" "$O/librmc.so.1" "$here/quotas.py" "$Q/"
cp -r "$top/lib/python/rmc" "$Q/"
quotas() {			# quotas OPTION...: how many of each resource he gets
	local pid status
	"${user[@]}" "$Q/rmcd" --socket "$Q/socket" --stop-fd 0 "$@" < "$S/stop" 9>&- &
	pid=$!
	until_true 20 listening "$Q/socket"
	RMC_DEVICE=$Q/socket RMC_LIBRARY=$Q/librmc.so.1 PYTHONDONTWRITEBYTECODE=1 \
		PATH=/usr/local/bin:/usr/bin:/bin as_user python3 "$Q/quotas.py"
	status=$?
	kill $pid
	wait $pid && return $status
}
if [ "$(id -u)" -eq 0 ] && ! have setpriv; then
	report 0 "quotas of rmcd" "no setpriv"
elif ! PATH=/usr/local/bin:/usr/bin:/bin as_user python3 -c '' 2> /dev/null; then
	report 0 "quotas of rmcd" "no Python for others than root"
else
	expect "rmcd without options: its quotas are larger" 0 \
		"^files 64 qps 64 long 64 buffers 64 large 64$" quotas
	for who in user context; do
		while read -r option n want; do
			expect "rmcd --$option-$who" 0 "$want" quotas "--$option-$who" "$n"
		done << 'END'
max-files 3 ^files 3 qps 64 long 64 buffers 64 large 64$
max-qps 5 ^files 64 qps 5 long 5 buffers 64 large 64$
queue-mib 1 ^files 64 qps 64 long 1[0-9] buffers 64 large 64$
max-buffers 10 buffers 10 large 10$
mapped-mib 12 large 4$
END
	done
	expect "a quota of nothing is refused" 2 "'0' is not a number" "$D/rmcd" --max-qps-user 0
fi

# --- a region or a doorbell that is somebody else's ---

refused_region() {		# refused_region PATH WHY
	expect "a region that $2 is refused" 1 "--region $1 $2, .*: remove it, or make it" \
		timeout -k 5 20 "$D/rmcd" --socket "$S/never" --region "$1" --region-size 16M
}
truncate -s 16M "$S/open"
chmod 622 "$S/open"
refused_region "$S/open" "can be written by others"
(umask 077; truncate -s 16M "$S/target")
ln -s "$S/target" "$S/symlink"
refused_region "$S/symlink" "is a symbolic link"
refused_region "$S/fifo" "is no file"
if [ "$(id -u)" -ne 0 ]; then
	report 0 "a region that belongs to another user is refused" "root only"
else
	chown 65431 "$S/target"
	refused_region "$S/target" "belongs to another user"
fi
check "and nothing is written to it" cmp -n $((16 << 20)) "$S/target" /dev/zero

squatted_bell() {		# the daemon works, and leaves alone what is in the place of the pipe
	local before status
	before=$(stat -c '%F %s %i %a' "$S/squat.0" "$S/precious")
	start rmcd --region "$S/squat" --region-size 16M
	RMC_NODES=1 RMC_NODE=0 timeout -k 5 20 "$O/hello"
	status=$?
	kill "$daemon"
	wait "$daemon"
	cat "$RMC_DEVICE.log"
	rm "$S/squat"
	[ "$before" = "$(stat -c '%F %s %i %a' "$S/squat.0" "$S/precious")" ] && return $status
}
mkfifo -m 600 "$S/precious"
ln -s "$S/precious" "$S/squat.0"
expect "a doorbell that is a link is not used" 0 "squat.0 is no named pipe that only" squatted_bell
rm "$S/squat.0"
mkfifo -m 622 "$S/squat.0"
expect "nor one that others can write" 0 "squat.0 is no named pipe that only" squatted_bell
if [ "$(id -u)" -ne 0 ]; then
	report 0 "nor one of another user" "root only"
else
	chmod 600 "$S/squat.0"
	chown 65431 "$S/squat.0"
	expect "nor one of another user" 0 "squat.0 is no named pipe that only" squatted_bell
fi

# --- a region that is truncated ---

alone() {			# both daemons live, and neither has a peer
	local i
	truncate -s 0 "$S/cut"
	for i in 0 1; do
		RMC_DEVICE=${device[i]}
		until_true 20 lonely $((1 - i)) && ! ended "${pids[i]}" &&
			grep "the file of --region has lost pages" "$RMC_DEVICE.log" || return
	done
}
lonely() {			# lonely PEER
	ctl status > "$W/status" 2>&1 && ! grep -q "^ *$1 .* up" "$W/status"
}
for i in 0 1; do
	start rmcd.asan --region "$S/cut" --region-size 16M --node $i --dead-ms 500
	device[i]=$RMC_DEVICE pids[i]=$daemon
done
check "two daemons, one region: hello" two "$O/hello"
check "the region is truncated: both live on, alone" alone
for i in 0 1; do
	kill "${pids[i]}"
	wait "${pids[i]}"
	report $? "daemon $i of them ends with status 0"
done
