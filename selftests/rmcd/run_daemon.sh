# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# rmc-run --daemon. Sourced by run.sh.

# A checkout that other users can enter, and a folder for what rmc-run leaves
C=$S/checkout
T=$S/tmp
run=$C/tools/rmc-run
mkdir -p "$C/tools" "$C/vm-setup" "$C/build" "$T"
chmod 1777 "$T"
cp "$top/VERSION" "$C/"
cp "$top/tools/rmc-run" "$C/tools/"
cp -r "$top/vm-setup/rmcvm" "$C/vm-setup/"
cp "$D/rmcd" "$O/hello" "$O/pagerank" "$O/rmc_read_bw" "$D/contained" "$C/build/"
chmod -R a+rX "$C"
export TMPDIR=$T RMC_CLUSTER=selftest-$$ PYTHONDONTWRITEBYTECODE=1

of_run() {			# pids of rmcd and its guard: their command line names the socket
	pgrep -f "rmcd.*--socket $T/" | grep -vx $$
}
nothing_left() {
	until_true 20 eval '! of_run > /dev/null' || { ps -fp "$(of_run | paste -sd ,)"; return 1; }
	until_true 5 eval '[ -z "$(ls -A "$T")" ]' || { ls -A "$T"; return 1; }
}
if ! have python3; then
	report 0 "rmc-run --daemon" "no python3"
	return
fi

expect "rmc-run --daemon: hello" 0 "^\[[0-3]\] node 3 says 103: success" \
	timeout -k 5 60 "$run" --daemon -n 4 "$C/build/hello"
check "and nothing is left" nothing_left
expect "16 nodes on one host" 0 "^\[14\] node 15 says 115: success" \
	timeout -k 5 60 "$run" --daemon -n 16 "$C/build/hello"
expect "it passes the number of workers and options on" 0 "success" \
	timeout -k 5 60 "$run" --daemon -n 2 --workers 2 --rmcd=--mtu=64 "$C/build/hello"
expect "a daemon for each node" 0 "^\[1\] node 0 says 100: success" \
	timeout -k 5 60 "$run" --daemon-each -n 2 "$C/build/hello"
region_left() {			# the file that daemons share
	[ -n "$(ls -d /dev/shm/rmcd-region-* "$T"/rmcd-region-* 2> /dev/null)" ]
}
check "and no file that they shared is left" eval '! region_left'
expect "they have a worker each, and packets between them" 0 "^\[0\] *64 .* packets$" \
	timeout -k 5 60 "$run" --daemon-each --rmcd=--mtu=64 -n 2 "$C/build/rmc_read_bw" -n 50 -S 1M
expect "it takes no number of workers" 2 "one for each node" \
	timeout -k 5 60 "$run" --daemon-each -n 2 --workers 1 "$C/build/hello"
expect "one of several daemons that does not start is reported" 125 "unrecognized option" \
	timeout -k 5 60 "$run" --daemon-each -n 2 --rmcd=--frob "$C/build/hello"
expect "a daemon that does not start is reported" 125 "--mtu 65 is no multiple" \
	timeout -k 5 60 "$run" --daemon -n 2 --rmcd=--mtu=65 "$C/build/hello"
# shellcheck disable=SC2016 # the program's
expect "the worst status of the programs" 7 "node 1: sh: exit status 7" \
	timeout -k 5 60 "$run" --daemon -n 2 sh -c 'exit $((RMC_NODE * 4 + 3))'
# shellcheck disable=SC2016 # the program's
expect "the status of a program that is killed" 139 "killed by signal 11" \
	timeout -k 5 60 "$run" --daemon -n 2 --grace 1 sh -c 'test $RMC_NODE = 0 || kill -SEGV $$'
expect "and after a time limit" 124 "not done after 1 s" \
	timeout -k 5 60 "$run" --daemon -n 2 --timeout 1 sleep 60
expect "no such program" 127 "command not found" \
	timeout -k 5 60 "$run" --daemon -n 2 no-such-program
L=$T/$(printf '%090d' 0)
mkdir -m 1777 "$L"
expect "a TMPDIR too long for a socket" 0 "success" \
	env TMPDIR="$L" timeout -k 5 60 "$run" --daemon -n 2 "$C/build/hello"
rm -r "$L"
check "nothing is left of these" nothing_left

measuring() {			# both programs run
	[ "$(pgrep -fc "^$C/build/rmc_read_bw")" -ge 2 ]
}
signalled() {			# signalled SIGNAL: what rmc-run returns
	local pid status
	timeout -k 5 60 "$run" --daemon -n 2 "$C/build/rmc_read_bw" -n 2000000000 -S 1M &
	pid=$!
	until_true 20 measuring && kill -"$1" "$(pgrep -P $pid)"
	wait $pid
	status=$?
	until_true 20 eval '! pgrep -f "^$C/build/rmc_read_bw" > /dev/null' ||
		{ echo "programs run on"; return 1; }
	return $status
}
expect "Ctrl-C" 130 "" signalled INT
check "nothing is left after it" nothing_left
expect "SIGTERM" 143 "" signalled TERM
check "nothing is left after that" nothing_left
expect "rmc-run itself is killed: its programs end" 137 "" signalled KILL
no_process() {
	until_true 20 eval '! of_run > /dev/null' || { ps -fp "$(of_run | paste -sd ,)"; return 1; }
}
check "and rmcd, too" no_process
rm -rf "${T:?}"/*		# its folder stays then

# --- where guests cannot be had ---

mkdir "$S/bin"
for program in env python3 sh; do
	ln -s "$(command -v $program)" "$S/bin/$program"
done
[ "$(python3 -c 'import sys; print(sys.executable)')" = "$(command -v python3)" ] ||
	ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "$S/bin/python3"
by_itself() {			# by_itself OPTION...: RMC_CACHE has a guest kernel
	env PATH="$S/bin" RMC_CACHE="$S/cache" "$(command -v timeout)" -k 5 60 \
		"$run" -n 2 "$@" "$C/build/hello" 2> "$W/err"
	local status=$?
	cat "$W/err"
	[ "$(wc -l < "$W/err")" -eq 1 ] && return $status
}
mkdir -p "$S/cache/kernel/boot" "$S/cache/kernel/lib/modules/9999.0/kernel"
: > "$S/cache/kernel/boot/vmlinuz-9999.0"
if [ -e /sys/class/misc/rmc/nodes ]; then
	report 0 "without QEMU rmc-run takes rmcd" "the module is loaded"
else
	expect "without QEMU rmc-run takes rmcd, and says so in one line" 0 \
		"qemu-system-x86_64 is not installed: the nodes are processes of this host, over rmcd" \
		by_itself
	expect "but not if guests are asked for" 125 "qemu-system-x86_64 is not installed: run vm-setup" \
		by_itself --vm
	expect "nor with an option of theirs" 125 "qemu-system-x86_64 is not installed: run vm-setup" \
		by_itself --mem 512
	ln -s "$(type -P true)" "$S/bin/qemu-system-x86_64"
	expect "also with QEMU, where rmc.ko is not built" 0 \
		"rmc.ko is not built: the nodes are processes of this host, over rmcd" by_itself
	expect "and a kernel that is asked for has to be there" 125 \
		"there is no guest kernel 1.2.3: run vm-setup" by_itself --kernel 1.2.3
fi

# --- another user ---

as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups env -i -C "$C" PATH=/usr/local/bin:/usr/bin:/bin \
		HOME=/ TMPDIR="$T" PYTHONDONTWRITEBYTECODE=1 RMC_CLUSTER="$RMC_CLUSTER" "$@"
}
if [ "$(id -u)" -ne 0 ]; then
	report 0 "rmc-run --daemon as another user" "not root: all tests ran unprivileged"
elif ! have setpriv || ! as_nobody python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' \
		2> /dev/null; then
	report 0 "rmc-run --daemon as another user" "no setpriv, or no Python for others than root"
else
	expect "an unprivileged user, without any set-up" 0 "^\[[0-3]\] node 3 says 103: success" \
		as_nobody timeout -k 5 60 "$run" --daemon -n 4 "$C/build/hello"
	# 10 times: end of input and failure come in any order
	mkdir -m 700 "$S/mine"
	closed() {
		local i
		cd "$S/mine" || return
		for i in 1 2 3 4 5 6 7 8 9 10; do
			setpriv --reuid 65534 --regid 65534 --clear-groups \
				timeout -k 5 60 "$run" --daemon -n 4 "$C/build/hello"
			[ $? -eq 126 ] || return
		done
		return 126
	}
	expect "a folder that the user cannot enter" 126 "Permission denied" closed
	expect "root runs programs as another user" 0 "^\[[01]\] node 1 says 101: success" \
		env -C "$C" timeout -k 5 60 "$run" --daemon --user nobody -n 2 "$C/build/hello"
fi

# --- in a container ---

contained() {			# namespaces of its own, no capability, what engines refuse
	unshare --mount --pid --net --ipc --uts --mount-proc --fork setpriv --reuid 65534 \
		--regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all env -i -C "$C" \
		PATH=/usr/local/bin:/usr/bin:/bin HOME=/ TMPDIR="$T" PYTHONDONTWRITEBYTECODE=1 \
		RMC_CLUSTER="$RMC_CLUSTER" "$C/build/contained" "$@"
}
if ! contained python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' > "$W/log" 2>&1; then
	report 0 "rmc-run --daemon in a container" "no namespaces: $(tail -n 1 "$W/log")"
else
	check "a container refuses what it should" eval \
		'! contained unshare --user true 2> /dev/null && contained true'
	expect "in a container, without any set-up" 0 "^\[[0-3]\] node 3 says 103: success" \
		contained timeout -k 5 60 "$run" --daemon -n 4 "$C/build/hello"
	expect "an application in a container" 0 "^\[0\]  *10  *0.012718 " \
		contained timeout -k 5 60 "$run" --daemon -n 4 "$C/build/pagerank" -r 10
	# as a user has it who unpacks the sources there; nothing but what make builds
	F=$S/fresh
	mkdir "$F"
	tar -C "$top" --exclude=./build --exclude=./.cache --exclude=./.git --exclude='*.o' \
		--exclude='*.ko' -c . | tar -C "$F" -x
	chown -R 65534:65534 "$F"
	expect "make all there, without kernel headers" 0 "no kernel headers here, so no rmc.ko" \
		contained timeout -k 5 400 env KDIR=/nonexistent make -s -j2 -C "$F" all
	expect "make modules there fails" 2 "/nonexistent" \
		contained timeout -k 5 60 make -C "$F" modules KDIR=/nonexistent
	expect "and make all modules" 2 "/nonexistent" \
		contained timeout -k 5 60 env KDIR=/nonexistent make -C "$F" all modules
	expect "and make all with headers that are not there" 2 "/nonexistent" \
		contained timeout -k 5 60 make -C "$F" all KDIR=/nonexistent
	expect "and tests in guests" 2 "/nonexistent" \
		contained timeout -k 5 60 env KDIR=/nonexistent make -C "$F" kselftest
	expect "hello from that tree" 0 "^\[[01]\] node 1 says 101: success" \
		contained timeout -k 5 60 env -C "$F" tools/rmc-run --daemon -n 2 build/hello
	rm -rf "$F"
fi
# engines older than pidfd_open(2): EPERM, then ENOSYS
without_pidfd() {		# without_pidfd ERRNO: says so once, for four connections and more
	local status
	"$C/build/contained" --no-pidfd "$1" timeout -k 5 60 "$run" --daemon -n 4 "$C/build/hello" \
		> "$W/log" 2>&1
	status=$?
	cat "$W/log"
	[ "$(grep -c "pidfd_open(2) is refused" "$W/log")" -eq 1 ] && return $status
}
for i in 1 38; do
	expect "a sandbox that refuses pidfd_open(2) with error $i" 0 \
		"^\[[0-3]\] node 3 says 103: success" without_pidfd $i
done
expect "and the status of a program there" 139 "killed by signal 11" \
	"$C/build/contained" --no-pidfd 1 timeout -k 5 60 "$run" --daemon -n 2 --grace 1 \
	sh -c "test \$RMC_NODE = 0 || kill -SEGV \$\$; sleep 30"
check "nothing is left at last" nothing_left
unset TMPDIR
