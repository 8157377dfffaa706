# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Transactions (lib/tx), over nodes of one process. Sourced by run.sh.

tx_src=$(echo "$here"/tx_cluster.c "$here"/fake_rmc.c "$here"/fake_tx.c "$top"/lib/tx/*.c)
tx_ds_src=$(echo "$top"/lib/{ds,blocks}/*.c)
# gcc's ThreadSanitizer does not support fences: all data that they order is atomic here
for t in "tx address,undefined" "tx_hades address,undefined" "tx_faults address,undefined" "tx_doubt address,undefined" "tx_history address,undefined" \
	 "tx_history thread -Wno-tsan" "tx_structures address,undefined" "tx_keys address,undefined" \
	 "tx_keys thread -Wno-tsan"; do
	read -r t san <<< "$t"
	name="transactions: $t, ${san%% *}"
	case $t in tx_structures|tx_keys) more="$tx_ds_src $scheme_src" ;; *) more= ;; esac
	if $CC -fsanitize=$san $FLAGS -I"$top/lib/check" -pthread -o "$W/$t.${build[${san%% *}]}" \
	   "$here/test_$t.c" "$top"/lib/check/*.c $tx_src $more $lib_src > "$W/log" 2>&1; then
		include "$name" timeout 300 "$W/$t.${build[${san%% *}]}"
		# HADES has no doubts and no locks of its own to lose
		case $t.${san%% *} in
		tx.*|tx_history.*|tx_structures.*|tx_keys.address*)
			RMC_TEST_SYSTEM=rmc include "$name, committed by the RMC" timeout 300 "$W/$t.${build[${san%% *}]}" ;;
		esac
		case $t in
		tx|tx_history)
			RMC_TEST_SYSTEM=hades include "$name, own records by loads and stores" \
				timeout 300 "$W/$t.${build[${san%% *}]}" ;;
		esac
	else
		sed 's/^/# /' "$W/log"
		report 1 "$name: builds"
	fi
done

prepare "tests of workloads build" $CC $ASAN $FLAGS -I"$top/tools/common" -I"$top/tools/tx" -pthread \
	-o "$W/tx_workloads.asan" "$here/test_tx_workloads.c" \
	"$top"/tools/tx/{workload,smallbank,tatp,tpcc,tpcc_load,tpcc_tx,tpcc_check,ycsb}.c "$top/tools/common/zipf.c" \
	$tx_src $tx_ds_src $scheme_src $lib_src -lm
include "transactions: workloads" timeout 300 "$W/tx_workloads.asan"
RMC_TEST_SYSTEM=rmc include "transactions: workloads, committed by the RMC" timeout 300 "$W/tx_workloads.asan"

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
