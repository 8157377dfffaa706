# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Transactions (lib/tx), over nodes of one process. Sourced by run.sh.

tx_src=$(echo "$here"/tx_cluster.c "$here"/fake_rmc.c "$top"/lib/tx/*.c)
# gcc's ThreadSanitizer does not support fences: all data that they order is atomic here
for t in "tx address,undefined" "tx_faults address,undefined" "tx_doubt address,undefined" "tx_history address,undefined" \
	 "tx_history thread -Wno-tsan"; do
	read -r t san <<< "$t"
	name="transactions: $t, ${san%% *}"
	if $CC -fsanitize=$san $FLAGS -I"$top/lib/check" -pthread -o "$W/$t.${build[${san%% *}]}" \
	   "$here/test_$t.c" "$top"/lib/check/*.c $tx_src $lib_src > "$W/log" 2>&1; then
		include "$name" timeout 300 "$W/$t.${build[${san%% *}]}"
	else
		sed 's/^/# /' "$W/log"
		report 1 "$name: builds"
	fi
done
