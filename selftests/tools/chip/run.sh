#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# rmc_chip: its parts, and its command line: TAP on stdout, exit status 1 if any test failed.
# usage: run.sh [BUILD_DIRECTORY]
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
O=$(mkdir -p "${1:-$top/build}" && cd "${1:-$top/build}" && pwd)
. "$here/../../tap.sh"
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
C=$O/rmc_chip

check "rmc_chip builds" make -s -C "$top/tools" O="$O" "$C"
prepare "its test builds" "${CC:-cc}" -std=gnu11 -O2 -g -Wall -Wextra -Werror \
	-fsanitize=address,undefined -fno-sanitize-recover=all -I"$top/tools/chip" \
	-I"$top/tools/common" -o "$W/test" "$here/test_chip.c" \
	"$top"/tools/chip/{measure,chip,core,line,memory,ni,noc,path,rrpp,topology}.c -lm
stream model timeout 300 "$W/test"

expect "help" 0 "table (a read without load" "$C" --help
expect "version" 0 "^rmc_chip (rmc) $(cat "$top/VERSION")$" "$C" --version
expect "the fitted row" 0 "^mesh  *NUMA  *to the network  *22\.5$" "$C" table
expect "a row that no column of the mesh has" 0 "^noc-out  *edge  *to the network  *9\.5$" "$C" table
expect "messages" 0 "core  *home of the line  *request  *1 flits  *5\.25 hops  *23\.6" "$C" path
expect "only one constant is fitted" 0 "^1$" eval '"$C" parameters | grep -c " fitted "'
check "each constant says what it is" eval '! "$C" parameters | tail -n +2 |
	grep -vE " (published|derived|assumed|fitted) "'
expect "hops: each takes twice 70 cycles" 0 "^mesh  *edge  *2  *885\.8 " "$C" hops
expect "latency" 0 "^mesh  *NUMA  *64  *" "$C" -q -n mesh -d split -s 64 --cores 4 latency
expect "bandwidth" 0 "^mesh  *xy  *edge  *128 .* unstable$" \
	"$C" -q -n mesh -r xy -d edge -s 128 -c 1000 -w 3 bandwidth
expect "a deadlock is reported" 1 "deadlock: packets wait for each other" \
	"$C" -q -n mesh -d per-tile -s 8K -c 100000 --shared-buffers bandwidth
expect "full" 1 "standard output" eval '"$C" table > /dev/full'
for seed in 3 3 4; do
	"$C" -q -n mesh -d edge -s 64 -c 1000 -w 3 --seed $seed -j bandwidth > "$W/seed" ||
		report 1 "bandwidth, seed $seed"
	mv "$W/seed" "$W/seed$seed$([ ! -e "$W/seed$seed" ] || echo .again)"
done
check "the same seed, the same bytes" cmp "$W/seed3" "$W/seed3.again"
check "another seed, others" eval '! cmp -s <(grep -v seed "$W/seed3") <(grep -v seed "$W/seed4")'
if command -v python3 > /dev/null; then
	for c in table path hops latency bandwidth parameters; do
		"$C" -q -n noc-out -s 64 --cores 1 -c 1000 -w 3 -j $c > "$W/$c"
		check "$c: JSON" python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(j["test"] != "rmc_chip" or j["command"] != sys.argv[2] or len(j["rows"]) < 3)' "$W/$c" $c
	done
else
	report 0 "JSON" "no python3"
fi
while read -r text options; do
	# shellcheck disable=SC2086 # several options
	expect "refused: $options" 2 "${text//_/ }" "$C" $options
done << 'END'
give_one_command
give_one_command table hops
there_is_no_command_'tables' tables
--network:_there_is_no_'torus' -n torus table
--design:_there_is_no_'fused' -d fused bandwidth
--size:_there_is_no_'96' -s 64,96 bandwidth
--size:_there_is_no_'0' -s 0 bandwidth
--size:_there_is_no_'128K' -s 128K bandwidth
--size:_there_is_no_'' -s 64, bandwidth
--routing:_there_is_no_'yx' -r yx bandwidth
--cores_3_does_not_divide_64 --cores 3 latency
--buffer -b 17 bandwidth
--cycles -c 10 bandwidth
END

echo "1..$count"
[ $failed -eq 0 ]
