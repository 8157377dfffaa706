# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Transactions (lib/tx), over nodes of one process. Sourced by run.sh.

for t in "tx address,undefined" "tx_hades address,undefined" "tx_faults address,undefined" \
	 "tx_doubt address,undefined" "tx_history address,undefined" "tx_history thread" \
	 "tx_structures address,undefined" "tx_keys address,undefined" "tx_keys thread"; do
	read -r t san <<< "$t"
	name="transactions: $t, $san"
	program=$t.${build[$san]}
	include "$name" run_program 300 "$program"
	# HADES has no doubts and no locks of its own to lose
	case $program in
	tx.*|tx_history.*|tx_structures.*|tx_keys.asan)
		RMC_TEST_SYSTEM=rmc include "$name, committed by the RMC" run_program 300 "$program" ;;
	esac
	case $t in
	tx|tx_history)
		RMC_TEST_SYSTEM=hades include "$name, own records by loads and stores" run_program 300 "$program" ;;
	esac
done
include "transactions: workloads" run_program 300 tx_workloads.asan
RMC_TEST_SYSTEM=rmc include "transactions: workloads, committed by the RMC" run_program 300 tx_workloads.asan

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
