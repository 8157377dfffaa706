#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# rmcd, and the library and its programs over it: TAP on stdout, exit status 1 if any test
# failed. No module, no root; as root it also tries other users.
# usage: run.sh [BUILD_DIRECTORY]
# RMC_TEST_DAEMON=rmcd.tsan: all over this build of the daemon instead of each test's own

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
O=$(mkdir -p "${1:-$top/build}" && cd "${1:-$top/build}" && pwd)
D=$O/selftests/rmcd
mkdir -p "$D"
unset RMC_DEVICE RMC_NODE RMC_NODES RMC_CTX XDG_RUNTIME_DIR
. "$here/../tap.sh"

# sockets have short names; others may enter
S=$(mktemp -d /tmp/rmc-selftest.XXXXXX)
chmod 755 "$S"
W=$S/out
mkdir "$W"
leave() {
	local pid
	for pid in $(jobs -pr); do
		kill -KILL "$pid" 2> /dev/null
	done
	rm -rf "$S"
}
trap leave EXIT
trap 'exit 1' INT TERM

have() {
	command -v "$1" > /dev/null
}

until_true() {			# until_true SECONDS COMMAND...: false if it did not become true
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -le $end ] || return 1
		sleep 0.02
	done
}

ended() {			# ended PID: a process, reaped or not
	! kill -0 "$1" 2> /dev/null || grep -qs '^State:.*Z' "/proc/$1/status"
}

# --- build ---

check "lib and tools build" make -C "$top" -s -f - O="$O" << 'EOF'
all:
	$(MAKE) -C lib O=$(O)
	$(MAKE) -C tools O=$(O)
EOF
# the library's tests have the same objects
check "rmcd builds three ways, its tests build" \
	flock "$O/selftests/lock" make -s -j"$(nproc)" -C "$here" O="$O"

# --- daemons and nodes ---

# Daemons end when nobody holds this open for writing any more, also when this script is killed.
mkfifo "$S/stop"
exec 9<> "$S/stop"
# a report of ThreadSanitizer is a file
export TSAN_OPTIONS=log_path=$W/tsan
export ASAN_OPTIONS=detect_leaks=1
# for programs that set faults
export RMCCTL=$O/rmcctl

listening() {			# listening SOCKET
	grep -q " 00010000 .* $1\$" /proc/net/unix
}

starts=0
start() {			# start PROGRAM OPTIONS...: sets daemon; RMC_DEVICE is its socket
	local program=${RMC_TEST_DAEMON:-$1}
	shift
	RMC_DEVICE=$S/socket$((++starts))
	export RMC_DEVICE
	"$D/$program" --socket "$RMC_DEVICE" --stop-fd 0 "$@" \
		> "$RMC_DEVICE.log" 2>&1 < "$S/stop" 9>&- &
	daemon=$!
	until_true 20 listening "$RMC_DEVICE" && return
	sed 's/^/# /' "$RMC_DEVICE.log"
	report 1 "rmcd $* starts"
}

stopped() {			# stopped PID SOCKET: on SIGTERM, with status 0 and without a word
	local status

	kill "$1"
	until_true 20 ended "$1" || return
	wait "$1"
	status=$?
	[ $status -eq 0 ] || echo "status $status"
	cat "$2.log"
	[ $status -eq 0 ] && [ ! -s "$2.log" ] && [ ! -e "$2" ] || return
	if compgen -G "$W/tsan.*" > /dev/null; then
		cat "$W"/tsan.*
		rm -f "$W"/tsan.*
		return 1
	fi
}

stop() {			# stop TITLE: the daemon of the last start
	stopped "$daemon" "$RMC_DEVICE" > "$W/stop" 2>&1
	local status=$?
	[ $status -eq 0 ] || sed 's/^/# /' "$W/stop"
	report $status "$1: the daemon ends as it should, without a report"
}

nodes() {			# nodes N PROGRAM...: the worst exit status
	local n=$1 i pids="" worst=0 status
	shift
	for ((i = 0; i < n; i++)); do
		RMC_NODES=$n RMC_NODE=$i timeout -k 5 100 "$@" &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
	done
	return $worst
}

ctl() {
	timeout -k 5 20 "$O/rmcctl" "$@"
}

reborn() {			# reborn N PROGRAM...: the last of N members is restarted
	local n=$1 i pids="" worst=0 status
	shift
	for ((i = 0; i < n - 1; i++)); do
		RMC_NODES=$n RMC_NODE=$i timeout -k 5 100 "$@" 1 &
		pids="$pids $!"
	done
	(export RMC_NODES=$n RMC_NODE=$((n - 1))
	 timeout -k 5 100 "$@" 1; exec timeout -k 5 100 "$@" 2) &
	pids="$pids $!"
	for i in $pids; do
		wait "$i"
		status=$?
		[ $status -gt $worst ] && worst=$status
	done
	return $worst
}

. "$here/programs.sh"
. "$here/library.sh"
. "$here/tools.sh"
. "$here/installed.sh"
. "$here/older.sh"
. "$here/ends.sh"
. "$here/with_faults.sh"
. "$here/behaviour.sh"
. "$here/run_daemon.sh"
unset RMC_DEVICE
stream rmcctl "$here/rmcctl.sh" "$O/rmcd"

echo "1..$count"
[ $failed -eq 0 ]
