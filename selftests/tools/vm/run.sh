#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# rmc-vm, rmc-run and the guest agent, on guests without and with the module.
# Prints TAP. Takes about two minutes; needs no root. Uses clusters of its own.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
vm=$top/vm-setup/rmc-vm
run=$top/tools/rmc-run

command -v qemu-system-x86_64 >/dev/null || { echo "1..0 # SKIP no qemu: vm-setup/rmc-deps vm"; exit 4; }
"$top/vm-setup/rmc-deps" kernel >/dev/null || { echo "1..0 # SKIP no guest kernel"; exit 4; }

work=$(mktemp -d /tmp/rmc-test.XXXXXX)
export XDG_RUNTIME_DIR=$work/state RMC_CLUSTER=selftest
chmod 755 "$work"
mkdir -m 700 "$work/state"
state=$work/state/rmc-$(id -u)
cleanup() { "$vm" down --all; rm -rf "$work"; }
trap cleanup EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1

n=0 failed=0
ok() {          # ok NAME: the verdict is the status of the command before
	local verdict=$?
	n=$((n + 1))
	if [ $verdict -eq 0 ]; then echo "ok $n - $1"; return; fi
	echo "# status $rc; output:"
	sed 's/^/#   /' out err 2>/dev/null | head -n 30
	echo "not ok $n - $1"
	failed=$((failed + 1))
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
try() { "$@" >out 2>err </dev/null; rc=$?; }        # status in rc, texts in out and err
lines() { [ "$(wc -l <"$1")" -eq "$2" ]; }
guests() { pgrep -f "$state/"; }     # QEMU and ivshmem-server of our clusters
nothing_left() { [ -z "$(guests)" ] && ! ls "$state" | grep -qv kvm-probe && ! ls /dev/shm/rmc-*-"${1:-selftest}" >/dev/null 2>&1; }
within() {      # within SECONDS COMMAND...: until it succeeds
	local end=$((SECONDS + $1)); shift
	until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.2; done
}

# ---- without a cluster ----

rc=0
python3 "$top/selftests/tools/vm/unit.py" >out 2>err || rc=$?
[ $rc -eq 0 ]; ok "kernel image, initrd, CPU plan and argument handling (unit.py)"
rc=0
{ "${CC:-cc}" -O2 -Wall -Wextra -Werror -o agent "$top/selftests/tools/vm/agent.c" && ./agent; } >out 2>err || rc=$?
[ $rc -eq 0 ]; ok "the agent's check of a port (agent.c)"
try "$run" -n 2 ./nothing
[ $rc -eq 127 ] && grep -q './nothing: No such file' err && lines err 1; ok "missing program: one line, status 127, nothing boots"
try "$run" -n 2 nothing-at-all
[ $rc -eq 127 ] && lines err 1; ok "missing command: status 127"
echo data >file
try "$run" -n 2 ./file
[ $rc -eq 126 ] && lines err 1; ok "not executable: status 126"
try "$vm" exec 0 -- true
[ $rc -eq 125 ] && grep -q 'not up: run rmc-vm up' err && lines err 1; ok "exec without a cluster names the cure"
try "$vm" up -n 3 --machine tcg --cable
[ $rc -eq 1 ] && grep -q 'a cable has two ends: use two guests' err; ok "a cable for three guests is refused"
try "$vm" up -n 2 --machine tcg --drivers no_such_driver
[ $rc -eq 1 ] && grep -q 'lacks the driver no_such_driver' err; ok "an unknown driver is refused before anything boots"
try "$vm" --name ../x up
[ $rc -eq 1 ] && grep -q 'bad cluster name' err; ok "a bad cluster name is refused"
try "$vm" status
[ $rc -eq 3 ]; ok "status without a cluster is 3"
try "$run" -n 0 true
[ $rc -eq 2 ]; ok "-n 0 is refused"
if [ ! -e /sys/class/misc/rmc ]; then
	try "$run" -n 2 --loopback true
	[ $rc -eq 125 ] && grep -q insmod err && lines err 1; ok "--loopback without the module names the cure"
fi
try "$vm" up --no-module --kernel 1.2.3
[ $rc -eq 1 ] && grep -q 'no guest kernel 1.2.3' err && nothing_left; ok "an unknown kernel is refused"
try "$vm" up --no-module --append init=/nothing --append rdinit=/nothing --boot-timeout 30
[ $rc -eq 1 ] && grep -q 'node . did not come up' err && [ "$(grep -c '^    ' err)" -ge 3 ] && nothing_left
ok "a guest that dies at boot is reported with its last console lines"
try "$vm" up -n 2 --no-module --boot-timeout 0.5
[ $rc -eq 1 ] && grep -qE 'does not answer \([0-9.]+ s of CPU time, .*; of the others [01] answered\)' err && nothing_left
ok "a guest that does not answer is reported with what its machine does"

# ---- two guests without the module ----

try "$vm" up -n 2 --no-module --numa bind
took=$(sed -n 's/.*ready after //p' err)
[ $rc -eq 0 ]; ok "two guests boot ($took)"
grep -q 'CPU plan: ' err; ok "the CPU plan is printed"
bound() {       # the memory of both
	local pid pids
	pids=$(pgrep -f "qemu-system.*$state/") && [ "$(wc -l <<<"$pids")" -eq 2 ] || return
	for pid in $pids; do
		grep -q '^[0-9a-f]* bind[^ ]*:[0-9]* .*' "/proc/$pid/numa_maps" || return
	done
}
if [ -e /proc/self/numa_maps ]; then
	bound; ok "guest memory is bound to a NUMA node"
else
	skip "guest memory is bound to a NUMA node" "this kernel knows no NUMA nodes"
fi
grep -q 'memory of each guest is bound to the NUMA node of its cores: \[' err; ok "and that is printed"
try "$vm" up -n 2 --no-module
[ $rc -eq 1 ] && grep -q 'already up' err && lines err 1; ok "a second up is refused"
try "$vm" status
[ $rc -eq 0 ] && [ "$(grep -c running out)" -eq 2 ]; ok "status shows two running guests"

# shellcheck disable=SC2016
try "$run" -n 2 sh -c 'echo "node $RMC_NODE of $RMC_NODES ctx $RMC_CTX"; echo oops >&2'
[ $rc -eq 0 ] && grep -qx '\[0\] node 0 of 2 ctx 0' out && grep -qx '\[1\] node 1 of 2 ctx 0' out
ok "each process knows its node, lines have a prefix"
grep -qx '\[0\] oops' err && grep -qx '\[1\] oops' err && ! grep -q oops out; ok "standard error stays apart"
try "$run" -n 2 --no-prefix printf 'abc'
[ "$(cat out)" = abcabc ]; ok "--no-prefix leaves output alone"
try "$run" -n 1 printf 'no newline'
[ "$(cat out)" = "[0] no newline" ]; ok "-n 1 works, a last line without newline is shown"
# shellcheck disable=SC2016
try "$run" -n 2 sh -c 'exit $((RMC_NODE * 4 + 3))'
[ $rc -eq 7 ] && grep -q 'node 1: sh: exit status 7' err; ok "the worst exit status is returned"
# shellcheck disable=SC2016
try "$run" -n 2 --grace 1 sh -c 'test $RMC_NODE = 0 || kill -SEGV $$; sleep 60'
[ $rc -eq 139 ] && grep -q 'node 1: sh: killed by signal 11 (Segmentation fault)' err
ok "a crash is reported, the other process is stopped after the grace time"
start=$SECONDS
try "$run" -n 2 --timeout 1 sleep 60
[ $rc -eq 124 ] && [ $((SECONDS - start)) -lt 10 ]; ok "--timeout: status 124"
try "$run" -n 2 --timeout 1 sh -c 'trap "" TERM; while :; do sleep 60; done'
[ $rc -eq 124 ]; ok "a process that ignores SIGTERM is killed"
seq 200000 | "$run" -n 2 --no-prefix sh -c 'test $RMC_NODE = 1 || md5sum' >out 2>err
[ "$(cut -c 1-32 out)" = "$(seq 200000 | md5sum | cut -c 1-32)" ]; ok "standard input goes to node 0, 1.3 MB unharmed"
try "$run" -n 2 --no-prefix head -c 8000000 /dev/zero
[ "$(wc -c <out)" -eq 16000000 ]; ok "16 MB of output arrive"
rc=0
"$run" -n 2 yes 2>err | head -n 1 >out
[ "${PIPESTATUS[0]}" -eq 141 ]; ok "a closed pipe ends everything"
try "$run" -n 3 true
[ $rc -eq 125 ] && grep -q '3 are needed' err && lines err 1; ok "more nodes than the cluster has: reported in one line"

try "$run" -n 2 --user nobody sh -c 'id -un; cat /etc/shadow'
[ $rc -ne 0 ] && grep -qx '\[1\] nobody' out && grep -q 'Permission denied' err; ok "--user runs without privileges"
try "$vm" exec 1 -- sh -c 'touch /usr/x || touch /etc/x || touch /x'
[ $rc -ne 0 ] && grep -q 'Read-only' err; ok "the host's files are read-only"
echo 'int main(void) { return 5; }' >app.c && gcc -o app app.c && try "$run" -n 2 ./app
[ $rc -eq 5 ]; ok "a program below /tmp runs"
echo 'int main(void) { return 6; }' >app.c && gcc -o app app.c && try "$run" -n 2 ./app
[ $rc -eq 6 ]; ok "its new version is seen at once"
try "$vm" exec 0 -- sh -c 'kill -TERM $$'
[ $rc -eq 143 ]; ok "exec returns 128 + signal"
try "$vm" exec 5 -- true
[ $rc -eq 125 ] && grep -q 'no node 5' err; ok "exec on a node that does not exist"
try "$vm" exec --cwd /nothing 0 -- true
[ $rc -eq 125 ] && grep -q 'cannot enter /nothing' err; ok "exec in a folder that does not exist"

pids=()
for i in $(seq 12); do
	"$vm" exec 0 -- sh -c "sleep 1; echo $i" >"many.$i" 2>&1 &
	pids+=($!)
done
wait "${pids[@]}"
[ "$(cat many.* | sort -n | xargs)" = "$(seq 12 | xargs)" ]; ok "12 commands at once in one guest"
"$vm" exec 1 -- sleep 4242 >out 2>err &
pid=$!
sleep 2
kill -KILL $pid
wait $pid 2>/dev/null
gone() { ! "$vm" exec 1 -- pgrep -f 'sleep 4242' >out; }
within 5 gone; ok "a killed client leaves nothing running in the guest"
for i in 1 2 3 4 5 6 7 8; do try "$vm" exec 1 -- true; [ $rc -eq 0 ] || break; done
[ $rc -eq 0 ]; ok "sessions follow each other quickly"

kernel=$("$top/vm-setup/rmc-deps" kernel)
if grep -qa "vermagic=$kernel" "$top/rmc.ko" 2>/dev/null; then
	# at the same time, without node=
	# shellcheck disable=SC2016
	try "$run" -n 2 --no-prefix --share "$top/rmc.ko" sh -c \
		'"$0" insmod "$1" fabric=ivshmem nodes=2 && cat /sys/class/misc/rmc/nid' \
		/run/rmc/busybox "$top/rmc.ko"
	[ $rc -eq 0 ] && [ "$(sort out | xargs)" = "0 1" ]; ok "two kernels find a node id each by themselves"
	try "$run" -n 2 /run/rmc/busybox rmmod rmc
	[ $rc -eq 0 ]; ok "and leave the fabric again"
else
	skip "two kernels find a node id each by themselves" "rmc.ko is not built for $kernel"
fi

# ---- failures ----

try "$vm" pause 1
try "$vm" status
grep -q 'guest 1: paused' out; ok "a paused guest is shown"
try "$run" -n 2 --timeout 3 true
[ $rc -eq 125 ] && grep -q 'is paused: run rmc-vm resume 1' err && lines err 1; ok "a paused guest is reported, with the cure"
try "$vm" resume 1
try "$vm" exec 1 -- true
[ $rc -eq 0 ]; ok "and goes on after resume"
"$run" -n 2 --grace 1 sleep 60 >out 2>err &
pid=$!
sleep 2
"$vm" kill 1
wait $pid; rc=$?
[ $rc -eq 125 ] && grep -q 'node 1: sleep: ' err; ok "a guest killed under a program is reported"
try "$vm" status
grep -q 'guest 1: dead' out; ok "a dead guest is shown"
try "$vm" exec 1 -- true
[ $rc -eq 125 ] && grep -q 'rmc-vm restart 1' err; ok "exec on a dead guest names the cure"
try "$vm" restart 1
try "$vm" exec 1 -- hostname
[ "$(cat out)" = rmc1 ]; ok "it runs again after restart"
try "$vm" down
[ $rc -eq 0 ] && nothing_left; ok "down leaves no process and no file"
try "$vm" up -q --no-module
[ $rc -eq 0 ] && kill -KILL $(guests)
try "$vm" up -q --no-module
[ $rc -eq 0 ]; ok "state of a dead cluster does not hinder the next"
try "$vm" down

# ---- clusters of rmc-run's own ----

"$run" -n 2 --no-module sh -c 'echo started; sleep 60' >out 2>err &
pid=$!
within 60 grep -q '\[1\] started' out
kill -INT $pid
wait $pid; rc=$?
[ $rc -eq 130 ] && nothing_left "run-$pid"; ok "Ctrl-C: status 130, no guest and no file left"
"$run" -n 2 --no-module true >out 2>err &
pid=$!
sleep 2
kill -TERM $pid
wait $pid; rc=$?
[ $rc -eq 143 ] && nothing_left "run-$pid"; ok "SIGTERM while guests boot: nothing left"
"$run" -n 2 --no-module sh -c 'echo started; sleep 60' >out 2>err &
pid=$!
within 60 grep -q '\[1\] started' out
kill -KILL $pid
wait $pid 2>/dev/null
no_guests() { [ -z "$(guests)" ]; }
within 5 no_guests && try "$vm" status && nothing_left "run-$pid"; ok "SIGKILL: guests die too, the next command cleans up"
try "$run" -n 4 --no-module hostname
[ $rc -eq 0 ] && [ "$(sort out | xargs)" = "[0] rmc0 [1] rmc1 [2] rmc2 [3] rmc3" ]; ok "four nodes, on whatever cores there are"
try "$run" -n 3 --no-module --fabric loopback sh -c 'echo $RMC_NODE $(hostname)'
[ "$(sort out | xargs)" = "[0] 0 rmc0 [1] 1 rmc0 [2] 2 rmc0" ]; ok "loopback: three processes in one guest"

# ---- with the module ----

try "$vm" up --module "$work/nothing.ko"
[ $rc -eq 1 ] && grep -q 'not built: run make modules' err; ok "a module that is not built is reported"
printf '\0vermagic=9.9.9-other SMP \0' >other.ko
try "$vm" up --module "$work/other.ko"
[ $rc -eq 1 ] && grep -q 'built for kernel 9.9.9-other' err && lines err 1; ok "a module for another kernel is reported"
if grep -qa "vermagic=$kernel" "$top/rmc.ko" 2>/dev/null; then
	try "$vm" up -n 2 --module-args 'mtu=65'
	[ $rc -eq 1 ] && grep -q 'module was refused' err && grep -q 'mtu=65 is no' err && nothing_left
	ok "a refused module is reported with the kernel's reason"
	try "$vm" up -n 2
	took=$(sed -n 's/.*ready after //p' err)
	[ $rc -eq 0 ]; ok "two nodes with the module come up ($took)"
	# shellcheck disable=SC2016
	try "$run" -n 2 --no-prefix sh -c 'cd /sys/class/misc/rmc; echo $RMC_NODE $(cat nid nodes fabric peers_up)'
	[ "$(sort out | xargs)" = "0 0 2 ivshmem 1 1 1 2 ivshmem 1" ]; ok "each kernel is its node and sees its peer"
	if [ -x "$top/build/rmcctl" ]; then
		try "$run" -n 2 --user nobody sh -c ': <>/dev/rmc_contexts/0'
		[ $rc -eq 0 ]; ok "context 0 is there and open to all"
	fi
	try "$vm" kill 1
	try "$vm" restart 1
	peers() { [ "$("$vm" exec 0 -- cat /sys/class/misc/rmc/peers_up)" = 1 ]; }
	[ $rc -eq 0 ] && within 20 peers; ok "a killed node comes back as a peer"
	try "$vm" down
	try "$run" -n 4 --fabric loopback sh -c 'cat /sys/class/misc/rmc/nodes'
	[ $rc -eq 0 ] && [ "$(sort out | xargs)" = "[0] 4 [1] 4 [2] 4 [3] 4" ]; ok "four loopback nodes in one guest"
else
	skip "nodes with the module" "rmc.ko is not built for $kernel"
fi
[ -z "$(guests)" ]; ok "no guest is left"
echo "1..$n"
[ $failed -eq 0 ]
