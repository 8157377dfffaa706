#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# rmc_qsim against queueing theory, and its command line: TAP on stdout, exit status 1 if any test
# failed. usage: run.sh [BUILD_DIRECTORY]
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
O=$(mkdir -p "${1:-$top/build}" && cd "${1:-$top/build}" && pwd)
. "$here/../../tap.sh"
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
Q=$O/rmc_qsim

check "rmc_qsim builds" make -s -C "$top/tools" O="$O" "$Q"
prepare "its test builds" "${CC:-cc}" -std=gnu11 -O2 -g -Wall -Wextra -Werror \
	-fsanitize=address,undefined -fno-sanitize-recover=all -I"$top/tools/qsim" \
	-I"$top/tools/common" -o "$W/test" "$here/test_qsim.c" \
	"$top"/tools/qsim/{service,queues,dispatch,load}.c "$top/tools/common/zipf.c" -lm
stream theory timeout 300 "$W/test"

expect "help" 0 "peak (highest load" "$Q" --help
expect "version" 0 "^rmc_qsim (rmc) $(cat "$top/VERSION")$" "$Q" --version
expect "policies" 0 "^greedy  *one queue; any core" "$Q" policies
expect "service times" 0 "^gev  *[0-9.]*  *inf" "$Q" -n 10000 service
expect "peak: a system against the first one" 0 "^fixed  *16x1  *0\.[78][0-9]* .* 2[0-9]\.[0-9]%$" \
	"$Q" -q -n 50000 -s fixed -x 1x16,16x1 peak
expect "peak: a policy" 0 "^exponential  *sq2  *0\.9" "$Q" -q -n 20000 -s exponential -p greedy,sq2 peak
# a loop of 100 ns at depth 1 costs what 600 of 700 ns say, a depth of 2 hides it
expect "a loop between core and dispatcher" 0 "^fixed  *greedy  *0\.8[0-5]" \
	"$Q" -q -n 20000 -s fixed -p greedy -l 100 peak
expect "and a depth that hides it" 0 "^fixed  *greedy  *0\.9[5-9]" \
	"$Q" -q -n 20000 -s fixed -p greedy -l 100 -d 2 peak
for seed in 3 3 4; do
	"$Q" -q -n 5000 --seed $seed -s gev -p sq2,hier -j curve > "$W/seed" ||
		report 1 "curve of policies, seed $seed"
	mv "$W/seed" "$W/seed$seed$([ ! -e "$W/seed$seed" ] || echo .again)"
done
check "the same seed, the same bytes" cmp "$W/seed3" "$W/seed3.again"
check "another seed, others" eval 'sed s/\"seed\":.*// "$W/seed4" > "$W/4"
	sed s/\"seed\":.*// "$W/seed3" > "$W/3" && ! cmp -s "$W/3" "$W/4"'
# M/M/1 at half load: mean 1 / (1 - 0.5), 99th percentile ln 100 times that
expect "curve" 0 "^exponential  *1x1  *0\.50  *416667  *2[34][0-9][0-9]\.[0-9]  *1[01][0-9][0-9][0-9]\.[0-9]  *9\.[0-4]" \
	"$Q" -q -n 1000000 -b 0 -e 1200 -s exponential -x 1x1 curve
expect "no load exceeds the limit" 0 "^fixed  *1x16  *0\.999+" "$Q" -q -n 2000 -s fixed -x 1x16 peak
expect "no load is within it" 0 "^fixed  *1x16  *0\.411  *[0-9]*  *-$" \
	"$Q" -q -n 50000 -t 999 --limit 1 -s fixed -x 16x1,1x16 peak
expect "a policy without groups on any number of cores" 0 "^fixed  *jsq " \
	"$Q" -q -n 2000 -s fixed -c 6 -p jsq peak
expect "full" 1 "standard output" eval '"$Q" -q -n 2000 peak > /dev/full'
if command -v python3 > /dev/null; then
	for c in peak curve service; do
		"$Q" -q -n 2000 -j $c > "$W/$c"
		check "$c: JSON" python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(j["test"] != "rmc_qsim" or j["command"] != sys.argv[2] or len(j["rows"]) < 4)' "$W/$c" $c
	done
else
	report 0 "JSON" "no python3"
fi
while read -r status text options; do
	# shellcheck disable=SC2086 # several options
	expect "refused: $options" "$status" "${text//_/ }" "$Q" $options
done << 'END'
2 give_one_command
2 give_one_command peak curve
2 there_is_no_command_'peek' peek
2 fixed,_uniform,_exponential_or_gev -s normal peak
2 a_name_is_missing -s fixed,,gev peak
2 give_queues_x_servers -x 4 peak
2 give_queues_x_servers -x 0x4 peak
2 give_queues_x_servers -x 4x4x4 peak
2 at_most_1024_servers -x 64x64 peak
2 there_is_none_of_this_name -p best peak
2 --groups_3_does_not_divide_16 -g 3 -p groups peak
2 of_a_--policy -d 2 peak
2 not_both -x 1x16 -p greedy peak
2 give_queues_x_servers -x 4294967297x16 peak
2 a_name_is_missing -s fixed, peak
2 do_not_fit -n 100000000 -b 1000000 peak
2 --groups -g 32 -p groups peak
2 --depth -d 0 -p greedy peak
2 --messages -n 10 peak
END

echo "1..$count"
[ $failed -eq 0 ]
