# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Transactions (lib/tx), over nodes of one process. Sourced by run.sh.

for run in $tx_runs; do
	name=${run%%.*}
	case $run in
	tx_workloads.*)	name=workloads ;;
	*.tsan*)	name+=", thread" ;;
	*)		name+=", address,undefined" ;;
	esac
	case $run in
	*:rmc)		name+=", committed by the RMC" ;;
	*:hades)	name+=", own records by loads and stores" ;;
	esac
	include_lane "transactions: $name" "$run"
done

T=$O/rmc-tx
expect "rmc-tx: systems" 0 "^hades$" "$T" systems
expect "rmc-tx: a system that is not there" 2 "no system 'pluto'" "$T" --system pluto bench
expect "rmc-tx: no command" 2 "no command" "$T"
expect "rmc-tx: unknown command" 2 "no command 'frob'" "$T" frob
expect "rmc-tx: two commands" 2 "one command" "$T" bench check
expect "rmc-tx: unknown workload" 2 "no workload 'ycsb'" "$T" -w ycsb bench
expect "rmc-tx: unknown structure" 2 "no structure 'heap'" "$T" -w ycsb-a --structure heap bench
expect "rmc-tx: records that are too long" 2 "record-bytes" "$T" -w ycsb-b --record-bytes 4097 bench
expect "rmc-tx: no room" 2 "room" "$T" -w tpcc --room 0 bench
expect "rmc-tx: help" 0 "by-warehouse" "$T" --help
