# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The checker of histories (lib/check), and rmc-check. Sourced by run.sh.

for t in check check_limits check_random; do
	include "$t" run_program 120 $t.asan
done
# as it is used, with a million operations
prepare "the fast test of histories builds" $CC $FLAGS -O2 -I"$top/lib/check" -o "$W/check_random" \
	"$here/test_check_random.c" "$O/librmccheck.a"
include "check_random, fast" timeout 120 "$W/check_random" long

C=$O/rmc-check
H=$W/history
printf 'rmc-history 1\n0 0 1 write x 1\n0 2 3 write x 2\n1 4 5 read x = 1\n' > "$H"
sed 's/= 1/= 2/' "$H" > "$H.good"
expect "rmc-check: linearizable" 0 "^linear: ok; 3 operations, 1 keys, 0 of 1 groups searched" "$C" linear "$H.good"
expect "rmc-check: searched as well" 0 "1 of 1 groups searched, [1-9]" "$C" --search linear "$H.good"
expect "rmc-check: not linearizable" 1 "^linear: violated" "$C" linear "$H"
expect "rmc-check: why" 1 "^  line 3 ended before line 4 began$" "$C" linear "$H"
expect "rmc-check: standard input" 1 "^out-of-order of x: " eval '"$C" linear - < "$H"'
expect "rmc-check: print" 0 "^1 4 5 read x = 1$" "$C" print "$H"
{
	echo "rmc-history 1"
	for i in 0 1 2 3 4 5 6 7 8 9; do echo "$i 0 10 add c $((1 << i))"; done
	printf '0 20 21 read c = 5000\n'
} | sed '1a init c 0' > "$H.hard"
expect "rmc-check: undecided" 3 "^linear: undecided; .* 100 states" "$C" -m 100 linear "$H.hard"
expect "rmc-check: decided" 1 "^linear: violated" "$C" linear "$H.hard"
printf 'rmc-history 1\n0 0 1 txn commit append x 1\n1 2 3 txn commit read x =\n' > "$H.late"
expect "rmc-check: serializable" 0 "^serial: ok; 2 transactions, 2 committed, [0-9]* edges$" "$C" serial "$H.late"
expect "rmc-check: not in real time" 1 "^  line 3 --rw x--> line 2 --rt--> line 3$" "$C" -s serial "$H.late"
expect "rmc-check: how many findings" 1 "^and 1 more$" "$C" -n 0 linear "$H"
printf 'rmc-history 1\n' > "$H.empty"
expect "rmc-check: no operations" 3 "^linear: undecided: no operations; 0 operations" "$C" linear "$H.empty"
expect "rmc-check: no transactions" 3 "^serial: undecided: no operations; 0 tr" "$C" serial "$H.empty"
"$C" print "$H.good" > "$H.whole"
expect "rmc-check: an end" 0 "^linear: ok" "$C" --end linear "$H.whole"
expect "rmc-check: cut" 2 "no end line" eval 'head -c -6 "$H.whole" | "$C" --end linear -'
expect "rmc-check: lost a line" 2 "2 operations before the end, of 3" eval 'sed 2d "$H.whole" | "$C" linear -'
printf 'rmc-history 1\n0 0 5 write x 1\n1 0 1 write x 3\n0 4 9 write x 2\n' > "$H.client"
expect "rmc-check: a client overlaps itself" 2 "client:4: it overlaps line 2 of" "$C" linear "$H.client"
expect "rmc-check: init of a list" 2 ":3: .*after init" eval \
	'printf "rmc-history 1\ninit x 1\n0 0 1 txn commit\n" | "$C" serial -'
expect "rmc-check: no such file" 2 "none: No such file" "$C" linear "$H.none"
expect "rmc-check: a directory" 2 "Is a directory" "$C" linear "$W"
printf 'rmc-history 1\n0 0 1 frob x\n' > "$H.bad"
expect "rmc-check: a line that is wrong" 2 "bad:2: there is no operation 'frob'" "$C" linear "$H.bad"
expect "rmc-check: the other sort" 2 "it has transactions: serial checks these" "$C" linear "$H.late"
expect "rmc-check: one append twice" 2 ":3: an append that line 2 has" eval \
	'printf "rmc-history 1\n0 0 1 txn commit append x 1\n0 2 3 txn abort append x 1\n" | "$C" -j serial -'
expect "rmc-check: no command" 2 "give a command and a file" "$C" "$H"
expect "rmc-check: unknown command" 2 "no command 'frob'" "$C" frob "$H"
expect "rmc-check: --strict linear" 2 "is for serial" "$C" -s linear "$H"
expect "rmc-check: full" 2 "standard output" eval '"$C" print "$H" > /dev/full'
check_json() {
	local c
	for c in "linear $H" "linear $H.good" "-m 100 linear $H.hard" "-s serial $H.late"; do
		"$C" -j $c > "$W/json"
		python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(j["test"] != "rmc-check" or (j["verdict"] == "violated") != bool(j["findings"]) or
	 (j["verdict"] == "undecided") != bool(j["undecided"]))' "$W/json" ||
			{ echo "$c"; cat "$W/json"; return 1; }
	done
}
if have python3; then
	check "rmc-check: JSON" check_json
else
	report 0 "rmc-check: JSON" "no python3"
fi
