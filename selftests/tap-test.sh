#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Tests of the tools that count and check test results: tap-sum and stream (tap.sh),
# rmc/kernel-reports, rmc/run_kselftest.sh, the table of programs, coverage, bench-history, rooms.
set -u
cd "$(dirname "$0")" || exit 1
. ./tap.sh

sums() {			# sums NAME "P F S" PROBLEMS: sum of the stream on stdin
	local got
	got=$(./tap-sum)
	if [ "$(head -n 1 <<< "$got")" = "$2" ] && [ "$(sed 1d <<< "$got" | grep -c .)" -eq "$3" ]; then
		report 0 "tap-sum: $1"
	else
		echo "# want $2 and $3 problems, got:"
		sed 's/^/#   /' <<< "$got"
		report 1 "tap-sum: $1"
	fi
}

# in subshells: their results do not count here
got=$(count=0; prepare a true; prepare b false; prepare c true; echo "$count")
[ "$got" = $'not ok 1 - b\n1' ]
report $? "prepare: what was prepared is no result, what was not is a failure"

sums "plan at the end" "1 0 1" 0 <<< $'ok 1 - a\nok 2 - b # SKIP none\n1..2'
sums "plan first" "1 1 0" 0 <<< $'1..2\nok 1 - a\nnot ok 2 - b'
sums "two streams, plans first" "4 0 0" 0 <<< $'1..2\nok 1\nok 2\n1..2\nok 1\nok 2'
sums "two streams, plans last" "3 0 0" 0 <<< $'ok 1\nok 2\n1..2\nok 1\n1..1'
sums "nested streams are not counted" "1 0 0" 0 <<< $'1..1\n    ok 1 a\n    not ok 2 b\nok 1 c'
sums "less than planned" "1 0 0" 1 <<< $'1..3\nok 1 - a'
sums "more than planned" "2 0 0" 1 <<< $'1..1\nok 1 - a\nok 2 - b'
sums "ended before its plan" "1 0 0" 1 <<< $'ok 1 - a'
sums "ended before its plan, another follows" "3 0 0" 1 <<< $'ok 1 - a\nok 2 - b\nok 1 - c\n1..1'
sums "a number is left out" "2 0 0" 2 <<< $'1..3\nok 1 - a\nok 3 - b'
sums "bail-out" "0 0 0" 1 <<< 'Bail out! no memory'

# streams NAME "COUNT FAILED" TEXT COMMAND...: result of a stream, in a subshell
streams() {
	local got name=$1 want=$2 text=$3
	shift 3
	got=$(count=0 failed=0; stream x "$@"; echo "$count $failed")
	if [ "$(tail -n 1 <<< "$got")" = "$want" ] && grep -qF -- "$text" <<< "$got"; then
		report 0 "stream: $name"
	else
		sed 's/^/#   /' <<< "$got"
		report 1 "stream: $name"
	fi
}

streams "passes" "2 0" "ok 2 - x: b" printf 'ok 1 - a\nok 2 - b\n1..2\n'
streams "keeps a skip" "1 0" "ok 1 - x: a # SKIP why" printf 'ok 1 - a # SKIP why\n1..1\n'
streams "a failure" "1 1" "not ok 1 - x: a" sh -c 'printf "not ok 1 - a\n1..1\n"; exit 1'
streams "a status nobody explains" "2 1" "exit status 3" sh -c 'printf "ok 1 - a\n1..1\n"; exit 3'
streams "an early end with status 0" "2 1" "no plan" printf 'ok 1 - a\n'
streams "nothing at all" "1 1" "no test" true
streams "skipped as a whole" "1 0" "# SKIP none here" sh -c 'echo "1..0 # SKIP none here"; exit 4'
streams "no such program" "1 1" "exit status 127" ./no-such-program

# reports NAME COUNT [ARGUMENT...]: number of reports that rmc/kernel-reports finds in the log on
# stdin
reports() {
	local got
	got=$(rmc/kernel-reports "${@:3}")
	if [ "$(grep -c . <<< "$got")" -eq "$2" ]; then
		report 0 "kernel-reports: $1"
	else
		sed 's/^/#   /' <<< "$got"
		report 1 "kernel-reports: $1"
	fi
}

reports "nothing to say" 0 <<< '[ 1.0] rmc: 4 nodes, loopback'
reports "each kind" 8 << 'EOF'
[ 1.0] BUG: KASAN: slab-use-after-free in rmc_wait_end+0x12/0x40 [rmc]
[ 1.1] WARNING: possible circular locking dependency detected
[ 1.2] WARNING: kernel/rcu/tree.c:3142 at rcu_do_batch+0x1/0x2, CPU#0: swapper/0
[ 1.3] UBSAN: shift-out-of-bounds in kmod/dev/debugfs.c:120:3
[ 1.4] rcu: INFO: rcu_sched self-detected stall on CPU
[ 1.5] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!
[ 1.6] INFO: task insmod:120 blocked for more than 120 seconds.
[ 1.7] ODEBUG: free active (active state 0) object type: timer_list
EOF
reports "what is not the module's" 0 << 'EOF'
[ 0.8] =============================
[ 0.8] WARNING: suspicious RCU usage
[ 0.8] 7.2.13-rmc #1 Not tainted
[ 0.8] -----------------------------
[ 0.8] kernel/rcu/tree.c:3163 Callback enqueued on offline CPU!!
[ 3.0] BUG: KASAN: global-out-of-bounds in load_module+0x1a2/0x3456
[ 4.0] WARNING: CPU: 0 PID: 9 at kernel/trace/trace_events.c:2900 event_define_fields+0x1
EOF
# of a log: CPU 0 was in a program's loop
undelivered="\
[  279.837914] watchdog: BUG: soft lockup - CPU#1 stuck for 24s! [rmc/0:2409]
[  279.838248] Modules linked in: rmc(OE)
[  279.838608] CPU: 1 PID: 2409 Comm: rmc/0 Tainted: G           OE      6.1.0-56-amd64 #1
[  279.838813] RIP: 0010:smp_call_function_many_cond+0xf1/0x330
[  279.840354]  rmc_os_membarrier+0x59/0x80 [rmc]
[  280.337760] watchdog: BUG: soft lockup - CPU#0 stuck for 30s! [worker:2419]
[  280.344643] CPU: 0 PID: 2419 Comm: worker Tainted: G           OEL     6.1.0-56-amd64 #1
[  280.344832] RIP: 0033:0x402b71"
reports "interrupts that the emulator did not deliver" 0 -v emulated=1 <<< "$undelivered"
reports "the same without an emulator" 2 <<< "$undelivered"
reports "a CPU that does not answer, and one that waits for it" 2 -v emulated=1 \
	<<< "${undelivered/0033:0x402b71/0010:rmc_ni_visit+0x71/0x100 [rmc]}"
# the kernel of User-Mode Linux is a process, too
reports "a kernel in user mode" 2 -v emulated=1 \
	<<< "${undelivered/0033:0x402b71/0033:rmc_ni_visit+0x71/0x100 [rmc]}"
reports "a CPU that was halted" 1 -v emulated=1 << 'EOF'
[  301.336141] watchdog: BUG: soft lockup - CPU#1 stuck for 21s! [swapper/1:0]
[  301.344846] CPU: 1 PID: 0 Comm: swapper/1 Tainted: G           O       6.1.192-rmc-debug #1
[  301.345342] RIP: 0010:amd_e400_idle+0x6b/0xf0
[  401.336141] watchdog: BUG: soft lockup - CPU#1 stuck for 21s! [swapper/1:0]
[  401.345342] RIP: 0010:rmc_fence_here+0x6b/0xf0 [rmc]
EOF
reports "one that waited before, or after" 2 -v emulated=1 << 'EOF'
[  240.837914] watchdog: BUG: soft lockup - CPU#1 stuck for 24s! [rmc/0:2409]
[  240.838813] RIP: 0010:smp_call_function_many_cond+0xf1/0x330
[  280.337760] watchdog: BUG: soft lockup - CPU#0 stuck for 30s! [worker:2419]
[  280.344832] RIP: 0033:0x402b71
[  284.837914] watchdog: BUG: soft lockup - CPU#1 stuck for 24s! [rmc/0:2409]
[  284.838813] RIP: 0010:smp_call_function_many_cond+0xf1/0x330
EOF
reports "one of more CPUs, that may wait for a third" 1 -v emulated=1 \
	<<< "${undelivered/CPU#1/CPU#2}"
# of a log
stall="\
[  282.013361] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[  282.013835] rcu: 	1-...!: (0 ticks this GP) idle=5c8c/1/0x4000000000000000 softirq=23361/23361 fqs=0
[  282.014155] 	(detected by 0, t=7939 jiffies, g=43089, q=6 ncpus=2)
[  282.014347] Sending NMI from CPU 0 to CPUs 1:
[  282.282954] NMI backtrace for cpu 1
[  282.283449] RIP: 0010:rmc_ni_visit+0x12e/0x580 [rmc]
[  282.284317] RSP: 0018:ffffc90001073e70 EFLAGS: 00000282
[  282.285381]  worker_main+0x6b/0x750 [rmc]"
reports "no ticks for any CPU" 0 -v emulated=1 <<< "$stall"
reports "no ticks, without an emulator" 1 <<< "$stall"
reports "a CPU with ticks" 1 -v emulated=1 <<< "${stall/(0 ticks/(7 ticks}"
reports "grace period with a thread that ran" 1 -v emulated=1 <<< "${stall/fqs=0/fqs=12}"
reports "a CPU with interrupts disabled" 1 -v emulated=1 <<< "${stall/00000282/00000082}"
reports "a stalled CPU that shows no place" 1 -v emulated=1 <<< "${stall/EFLAGS/RFLAGS}"
reports "a task that stalls" 1 -v emulated=1 \
	<<< "${stall/$'\t'(detected/$'\t'Tasks blocked on level-0 rcu_node: P2376$'\n'$'\t'(detected}"
reports "like those, but not they" 4 << 'EOF'
[ 2.0] WARNING: suspicious RCU usage
[ 2.0] 7.2.13-rmc #1 Not tainted
[ 2.0] -----------------------------
[ 2.0] kmod/dev/watch.c:120 suspicious rcu_dereference_check() usage!
[ 2.1] WARNING: suspicious RCU usage
[ 3.0] BUG: KASAN: global-out-of-bounds in rmc_load_module_args+0x1a2/0x3456 [rmc]
[ 3.1] BUG: KASAN: slab-out-of-bounds in load_module+0x1a2/0x3456
EOF

# --- rmc/run_kselftest.sh: stalls of an emulated guest ---

guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
mkdir "$guest/path"
: > "$guest/rmc.ko"
for tool in insmod rmmod; do ln -s /bin/true "$guest/path/$tool"; done
printf '#!/bin/sh\necho 0\n' > "$guest/path/id"
printf '#!/bin/sh\ncat %s\n' "$guest/log" > "$guest/path/dmesg"
# a program that passes; each run takes one line of "reports" into the kernel's log
cat > "$guest/abi" << EOF
#!/bin/sh
head -n 1 $guest/reports >> $guest/log
sed -i 1d $guest/reports
printf '1..1\nok 1 a\n'
EOF
chmod +x "$guest"/path/* "$guest/abi"
# in_guest NAME MODEL TOTALS REPORTS: of a CPU of that model, with that line at the end
in_guest() {
	local got
	echo "model name : $2" > "$guest/cpuinfo"
	printf '%s' "$4" > "$guest/reports"
	echo '[ 0.1] rmc: loaded' > "$guest/log"
	got=$(PATH=$guest/path:$PATH RMC_CPUINFO=$guest/cpuinfo \
		rmc/run_kselftest.sh --ko "$guest/rmc.ko" --bin "$guest" abi 2>&1)
	if [ "$(tail -n 1 <<< "$got" | grep -o 'pass:[0-9]* fail:[0-9]*\|skip:[0-9]*' | xargs)" = "$3" ]
	then
		report 0 "run_kselftest: $1"
	else
		sed 's/^/#   /' <<< "$got"
		report 1 "run_kselftest: $1"
	fi
}

stood='[ 9.0] rcu: INFO: rcu_sched self-detected stall on CPU
'
lockup='[ 9.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [abi:12]
'
kasan='[ 9.2] BUG: KASAN: slab-use-after-free in rmc_wait_end+0x12/0x40 [rmc]
'
tcg="QEMU TCG CPU version 2.5+"
in_guest "no report" "$tcg" "pass:1 fail:0 skip:0" $'\n'
in_guest "one stall of an emulated guest: once more" "$tcg" "pass:2 fail:0 skip:1" "$stood"
in_guest "two in turn" "$tcg" "pass:2 fail:1 skip:1" "$stood$lockup"
in_guest "a stall, then another report" "$tcg" "pass:2 fail:1 skip:1" "$stood$kasan"
in_guest "another report" "$tcg" "pass:1 fail:1 skip:0" "$kasan"
in_guest "a stall of a guest that is not emulated" "AMD EPYC" "pass:1 fail:1 skip:0" "$stood"

# --- the table of programs ---

runs=$(sed -n '/^runs="/,/^"$/p' rmc/run_kselftest.sh | awk 'NF > 2 { print $2 }' | sort -u)
check "run_kselftest: runs each program of the table, and no other" \
	test "$runs" = "$({ ./list-programs rmc test; ./list-programs rmc theme; } | sort)"
expect "list-programs: no row is an error" 1 "no row for \"rmc tests\"" ./list-programs rmc tests
expect "list-programs: an argument of a use" 0 "^runs:[0-9]*$" ./list-programs sim asan

# --- selftests/coverage: what it says of counts, without a guest ---

counted=$(mktemp -d)
trap 'rm -rf "$guest" "$counted"' EXIT
# counts FILE LINES REACHED: as gcov has them; twice, in two parts that reach one half each
counts() {
	mkdir -p "$counted/build/${1%/*}" "$counted"/json/{1,2}
	seq "$2" > "$counted/build/$1"
	python3 - "$@" "$counted" << 'EOT'
import json, sys
name, lines, reached, top = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
for part in (1, 2):
    with open(f"{top}/json/{part}/all", "a", encoding="utf-8") as f:
        json.dump({"current_working_directory": f"{top}/build", "files": [{"file": name, "lines": [
            {"line_number": n, "count": int(n <= reached and n % 2 == part - 1)}
            for n in range(1, lines + 1)]}]}, f)
        print(file=f)
EOT
}
coverage() { ./coverage "$@" --report "$counted" "$counted/build"; }
if python3 -c '' 2>/dev/null; then
	expect "coverage: nothing was counted" 1 "no counts" coverage
	counts kmod/dev/a.c 40 32
	counts kmod/run/short.c 19 0
	counts kmod/core/rgp.c 100 10
	expect "coverage: adds the parts" 0 "kmod/dev/a.c *32 of *40 lines,  80.0 %" coverage
	expect "coverage: short files and other rooms have no gate" 0 "^all *42 of *159 lines" coverage
	check "coverage: lists what is missed" grep -q "^kmod/dev/a.c:33: 33$" "$counted/missed"
	expect "coverage: more can be asked for" 1 "less than 81 %: kmod/dev/a.c$" coverage --least 81
	counts kmod/run/b.c 20 15
	expect "coverage: a file below the gate" 1 "less than 80 %: kmod/run/b.c$" coverage
else
	report 0 "coverage" "no python3"
fi
themes=$(rmc/run_kselftest.sh --list | sort)
check "coverage: the parts of check-debug have all themes, each once" \
	test "$(./check-debug --list | tr ' ' '\n' | sort)" = "$themes"

said() {
	printf '%s\n' '# a.c:3: x is 4' 'not ok 3 - one: two' '# of the next' 'ok 4 - b' 'not ok 5 - c' \
		'# why' 'not ok 6 - d # SKIP e' | ./tap-failed
}
check "tap-failed: names, with what was said right before" \
	test "$(said)" = "one: two (a.c:3: x is 4)"$'\n'c

report_unittest bench/history_unit.py
report_unittest tools/rooms_unit.py
report_unittest tools/rows_unit.py

echo "1..$count"
[ $failed -eq 0 ]
