#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run all tests of rmc.ko in this kernel, as root, loading the module with the
# parameters each of them needs. One KTAP stream, tests of each program nested.
# Exit status: 0 all passed or skipped, 1 some failed, 4 nothing could be tested.
#
# An emulator may stop a guest for half a minute, which its kernel reports as a stall or a lockup
# of whatever ran. If such reports are all that a program's run in QEMU's TCG has against it, it is
# run again, once, and the first run is listed as skipped. What stalls again fails.

usage()
{
	cat <<-END
	usage: $0 [--ko PATH] [--bin FOLDER] [--list] [NAME ...]
	NAME: run only these, see --list
	RMC_SLOW=N: this kernel is N times slower than others; time limits are N times longer
	RMC_SECONDS=S: time limit of each NAME
	RMC_BRD=FILE: brd.ko of this kernel, for a test that needs a block device
	END
	exit "${1:-0}"
}

here=$(cd "$(dirname "$0")" && pwd)
ko=$here/../../rmc.ko
bin=$here
[ -x "$bin/abi" ] || bin=$here/../../build/selftests/rmc

# name, program, module parameters, time limit in seconds. RMC_NI replaces the parameters for NI
# organisation and MTU, as in RMC_NI=edge,units=2,mtu=64; runs that become equal run once.
runs="
module		module	-				120
abi		abi	nodes=4,ni=fused		60
args		args	nodes=4,ni=fused		60
memory		memory	nodes=4,ni=fused		90
memory_edge	memory	nodes=4,ni=edge,units=2		90
exposed_fused	exposed	nodes=4,ni=fused		90
exposed_edge	exposed	nodes=4,ni=edge,units=2		90
exposed_pair	exposed	nodes=4,ni=pair,workers=2	90
numa		numa	nodes=4,ni=fused		60
mapping		mapping	nodes=4,ni=fused		60
limits		limits	nodes=4,ni=fused		90
tenants		tenants	nodes=4,ni=fused		300
tenants_split	tenants	nodes=4,ni=split,units=2	300
channels_fused	channels	nodes=16,channel_mib=1,ni=fused	120
channels_pair	channels	nodes=16,channel_mib=1,ni=pair	120
channels_edge	channels	nodes=16,channel_mib=1,ni=edge,units=2,ring_order=8,pay_order=8	120
access		access	nodes=4,ni=fused		60
status_fused	status	nodes=4,ni=fused		60
status_mtu64	status	nodes=4,ni=pair,mtu=64		60
ops_fused	ops	nodes=4,ni=fused		120
ops_pair	ops	nodes=4,ni=pair,itt=64		120
ops_mtu64	ops	nodes=4,ni=fused,mtu=64,itt=64	120
ops_edge	ops	nodes=4,ni=edge,units=2,interleave=256	120
ops_tile	ops	nodes=4,ni=per_tile,units=4,rrpps=2,mtu=64	120
ops_split	ops	nodes=4,ni=split,units=2		120
atomics_fused	atomics	nodes=4,ni=fused		60
atomics_tile	atomics	nodes=4,ni=per_tile,units=4,rrpps=2,mtu=64	60
sabre_edge	sabre	nodes=4,ni=edge,units=2		150
sabre_fused	sabre	nodes=4,ni=fused		150
sabre_mtu64	sabre	nodes=4,ni=pair,mtu=64,att_entries=2	150
tx_fused	tx	nodes=4,ni=fused		90
tx_edge		tx	nodes=4,ni=edge,units=2		90
tx_split	tx	nodes=4,ni=split,units=2	90
life_fused	life	nodes=4,ni=fused		180
life_pair	life	nodes=4,ni=pair			180
life_tile	life	nodes=4,ni=per_tile,units=4	180
domains_fused	domains	nodes=4,ni=fused		120
domains_tile	domains	nodes=4,ni=per_tile,units=4,rrpps=2,mtu=64	120
domains_split	domains	nodes=4,ni=split,units=2	120
domains_pair	domains	nodes=4,ni=pair,local=0	120
cores_fused	domain_cores	nodes=4,ni=fused	120
cores_tile	domain_cores	nodes=4,ni=per_tile,units=4,rrpps=2,mtu=64	120
members_fused	domain_members	nodes=4,ni=fused	120
members_tile	domain_members	nodes=4,ni=per_tile,units=4,rrpps=2,mtu=64	120
team_fused	team	nodes=4,ni=fused		90
events_split	events	nodes=4,ni=split,units=2	90
hostile_fused	hostile	nodes=4,ni=fused		150
hostile_pair	hostile	nodes=4,ni=pair,mtu=64		150
isolation_fused	isolation	nodes=4,ni=fused		120
isolation_pair	isolation	nodes=4,ni=pair,mtu=64		120
events_fused	events	nodes=4,ni=fused		90
events_pair	events	nodes=4,ni=pair			90
watch_fused	watch	nodes=4,ni=fused		90
uring_fused	uring	nodes=4,ni=fused		120
uring_pair	uring	nodes=4,ni=pair,workers=2	120
uring_dom_fused	uring_domain	nodes=4,ni=fused	120
uring_dom_tile	uring_domain	nodes=4,ni=per_tile,units=4,rrpps=2	120
watch_pair	watch	nodes=4,ni=pair,workers=2	90
faults_fused	faults	nodes=4,ni=fused		90
faults_mtu64	faults	nodes=4,ni=pair,mtu=64		90
nodes128	nodes	nodes=128,ni=fused		300
nodes128_pair	nodes	nodes=128,ni=pair		300
worker_fused	worker	nodes=4,ni=fused		120
worker_pair	worker	nodes=4,ni=pair,park_us=0	120
soak_fused	soak	nodes=4,ni=fused		${RMC_SOAK_LIMIT:-120}
soak_pair	soak	nodes=4,ni=pair			${RMC_SOAK_LIMIT:-120}
fail_nth	fail_nth	-				900
overdue		overdue.sh	-				120
"

# Replace the NI organisations above by that of RMC_NI.
organise()
{
	awk -v ni="$RMC_NI" '$3 ~ /,ni=/ {
			gsub(/,(ni|units|rrpps|interleave|frontends|mtu)=[^,]*/, "", $3)
			$3 = $3 ",ni=" ni
		}
		NF && !seen[$2 $3]++'
}

[ -z "${RMC_NI:-}" ] || runs=$(echo "$runs" | organise)

only=
while [ $# -gt 0 ]; do
	case $1 in
	--ko) ko=$2; shift ;;
	--bin) bin=$2; shift ;;
	--list) echo "$runs" | while read -r name _; do [ -z "$name" ] || echo "$name"; done
		exit ;;
	-h|--help) usage ;;
	-*) usage 2 >&2 ;;
	*) only="$only $1" ;;
	esac
	shift
done

wanted()
{
	case " $only " in "  "|*" $1 "*) return 0 ;; esac
	return 1
}

nothing()
{
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	exit 4
}

[ "$(id -u)" = 0 ] || nothing "must be root"
[ -f "$ko" ] || nothing "no module at $ko"
[ -x "$bin/abi" ] || nothing "no tests in $bin: make -C selftests/rmc"
for tool in insmod rmmod; do
	command -v $tool >/dev/null || PATH=$PATH:/sbin:/usr/sbin
	command -v $tool >/dev/null || eval "$tool() { /run/rmc/busybox $tool \"\$@\"; }"
done
export RMC_KO="$ko" RMC_BIN="$bin"

loaded()
{
	[ -d /sys/module/rmc ]
}

log()
{
	dmesg 2>/dev/null || /run/rmc/busybox dmesg 2>/dev/null
}

# Reports in the kernel log that no test may cause; the arguments are for awk.
emulated=0
grep -q 'QEMU TCG' "${RMC_CPUINFO:-/proc/cpuinfo}" && emulated=1
complaints()
{
	log | awk -v emulated=$emulated "$@" -f "$here/kernel-reports"
}

# only_stalls KNOWN: the reports after the first KNOWN are of stalls, and this guest is emulated
only_stalls()
{
	[ $emulated = 1 ] || return
	! complaints | tail -n +$(($1 + 1)) | grep -Evq 'rcu.*stall|stalls? on|soft lockup'
}

# Processes that used the module and were killed release it a little later.
unload()
{
	tries=$((20 * ${RMC_SLOW:-1}))
	while loaded && ! rmmod rmc 2>/dev/null; do
		tries=$((tries - 1))
		if [ $tries = 0 ]; then
			echo "# rmc is loaded and cannot be unloaded: $(rmmod rmc 2>&1)"
			return 1
		fi
		sleep 1
	done
}

# Load with these parameters; prints what went wrong.
load()
{
	unload || return
	[ "$1" != - ] || return 0
	# shellcheck disable=SC2046 # one word per parameter
	insmod "$ko" fabric=loopback $(echo "$1" | tr , ' ') && return
	log | tail -n 3 | sed 's/^/# /'
	return 1
}

if [ -n "${RMC_BRD:-}" ] && [ ! -b /dev/ram0 ]; then
	insmod "$RMC_BRD" rd_nr=1 rd_size=64
fi

out=$(mktemp)
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT TERM
count=$(echo "$runs" | while read -r name _; do
		[ -z "$name" ] || ! wanted "$name" || echo; done | wc -l)
echo "KTAP version 1"
echo "1..$count"

number=0 failed=0
# positional parameters, not a pipe: the loop must keep its counters
set -f
# Run the program, with its results in $totals and on stdout; sets $status and $now, the number of
# reports in the kernel log
run_program()
{
	{ timeout -k 15 "$seconds" "$program" 2>&1; echo "status $?" > "$out"; } |
		tee -a "$totals" | sed -u 's/^/    /'
	status=$(sed 's/status //' "$out")
	now=$(complaints | wc -l)
}

# Run it again if only stalls of an emulated guest are against it.
run_again_if_stalled()
{
	case $status in 0|4) ;; *) return ;; esac
	[ "$now" -gt "$complaints" ] || return 0
	only_stalls "$complaints" || return 0
	complaints -v context=25 | tail -n 60 | sed 's/^/    # kernel: /'
	echo "ok 0 stalled # SKIP" >> "$totals"
	echo "    ok 0 stalled # SKIP the emulated kernel stood still while $name ran: it runs again"
	echo "    # Subtest: $name"
	complaints=$now
	load "$args" 2>&1 | sed 's/^/    /'
	run_program
}

# shellcheck disable=SC2086
set -- $runs
complaints=$(complaints | wc -l)
totals=$(mktemp)
trap 'rm -f "$out" "$totals"' EXIT
while [ $# -ge 4 ]; do
	name=$1 program=$bin/$2 args=$3 seconds=${RMC_SECONDS:-$(($4 * ${RMC_SLOW:-1}))}
	[ -x "$program" ] || program=$here/$2
	shift 4
	wanted "$name" || continue
	number=$((number + 1))
	echo "    # Subtest: $name"
	if ! load "$args" > "$out" 2>&1; then
		sed 's/^/    /' "$out"
		echo "not ok $number $name # the module does not load"
		echo "not ok 0 $name" >> "$totals"
		failed=$((failed + 1))
		continue
	fi
	start=$(date +%s)
	run_program
	run_again_if_stalled
	took=$(($(date +%s) - start))
	if [ "$now" -gt "$complaints" ]; then
		complaints -v context=25 | tail -n 60 | sed 's/^/    # kernel: /'
		status=1
		echo "not ok 0 kernel complained during $name" >> "$totals"
	fi
	# a later report can explain an earlier one
	complaints=$now
	case $status in
	0) echo "ok $number $name # $took s" ;;
	4) echo "ok $number $name # SKIP" ;;
	124|137) echo "not ok $number $name # more than $seconds s"
		echo "not ok 0 $name took too long" >> "$totals"
		failed=$((failed + 1)) ;;
	*) echo "not ok $number $name # $took s"; failed=$((failed + 1)) ;;
	esac
done
unload || failed=$((failed + 1))

fail=$(grep -c '^not ok ' "$totals")
skip=$(grep -c '^ok .*# SKIP' "$totals")
pass=$(($(grep -c '^ok ' "$totals") - skip))
echo "# Totals: pass:$pass fail:$fail xfail:0 xpass:0 skip:$skip error:0"
[ "$failed" = 0 ] && [ "$fail" = 0 ]
