# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Schemes of objects, calls, owners of the object store; command lines of rmc-kv, rmc-sync and
# rmc_netpipe. Sourced by run.sh.

for t in "scheme address,undefined" "reader address,undefined" "reader thread" \
	 "reader_wrap address,undefined" "sync address,undefined" "sync thread" \
	 "sync_table address,undefined" "sync_lost address,undefined" \
	 "sync_crash address,undefined" "sync_lives address,undefined" "sync_race address,undefined" \
	 "sync_nic address,undefined" "sync_servers address,undefined" "sync_race thread"; do
	read -r t san <<< "$t"
	include "object $t, $san" run_program 300 "$t.${build[$san]}"
done
for t in rpc latch_server owner; do
	include "$t" run_program 120 $t.asan
done
include "data structures" run_program 120 ds.asan
no_transport() {
	! grep -hE '^#include' "$top"/lib/ds/*.[ch] | grep -vE '<[a-z]+\.h>|"[a-z]+\.h"|<rmc/ds\.h>'
}
check "data structures include no header of librmc but their own" no_transport

expect "rmc-kv: schemes" 0 "^farm .*1088 B" "$O/rmc-kv" schemes
expect "rmc-kv: no command" 2 "no command" "$O/rmc-kv"
expect "rmc-kv: unknown command" 2 "no command 'frob'" "$O/rmc-kv" get a frob
expect "rmc-kv: half a command" 2 "put needs a key and a value" "$O/rmc-kv" put a
expect "rmc-kv: unknown scheme" 2 "no scheme 'x'" "$O/rmc-kv" -s x get a
expect "rmc-kv: bad mix" 2 "is not A, B or C" "$O/rmc-kv" bench -m D
expect "rmc-kv: bad theta" 2 "'-1' is not a number, 0 .. 1000" "$O/rmc-kv" bench --theta -1
expect "rmc-kv: help" 0 "fall-back" "$O/rmc-kv" --help

expect "rmc-sync: schemes" 0 "^farm  *atomic  *version .*R25 4.3; FaRM" "$O/rmc-sync" schemes
expect "rmc-sync: what they cost" 0 "^rw  *atomic  *rw  *320  3/1/2  *4/1/2 " \
	"$O/rmc-sync" schemes --opt spec,combine,async
expect "rmc-sync: what a scheme refuses costs nothing" 0 "^rpc .*  -  *-  *the owner reads" \
	"$O/rmc-sync" schemes --opt spec,combine,async
expect "rmc-sync: systems" 0 "^nam-db++  *rw  *rw  *spec,combine,async  *384  3/1/2  *4/1/2 " \
	"$O/rmc-sync" systems
expect "rmc-sync: one system" 0 "^opt-db-farm  *farm  *excl  *spec,async,write-unlatch  *576 " \
	"$O/rmc-sync" schemes --system opt-db-farm --bytes 512
one_system() {
	[ "$("$O/rmc-sync" schemes --system nam-db | grep -c "R25 ")" = 1 ]
}
check "rmc-sync: and no other one" one_system
expect "rmc-sync: unknown system" 2 "no system 'nam'" "$O/rmc-sync" bench --system nam
expect "rmc-sync: a system with another latch" 2 "options of its own" \
	"$O/rmc-sync" bench --system nam-db --latch excl
expect "rmc-sync: no command" 2 "no command" "$O/rmc-sync"
expect "rmc-sync: unknown command" 2 "no command 'frob'" "$O/rmc-sync" frob
expect "rmc-sync: unknown scheme" 2 "no scheme 'x'" "$O/rmc-sync" -s x bench
expect "rmc-sync: a scheme of messages" 2 "rpc: its reads are messages" "$O/rmc-sync" -s rpc torn
expect "rmc-sync: a scheme that only the owner writes" 2 "only the owner's CPU" \
	"$O/rmc-sync" -s lock bench --writes 1
expect "rmc-sync: unknown latch" 2 "'odd' is not rw" "$O/rmc-sync" bench --latch odd
expect "rmc-sync: unknown option" 2 "'fast' is not spec" "$O/rmc-sync" bench --opt spec,fast
expect "rmc-sync: a pair that cannot be" 2 "write-unlatch with latch rw" \
	"$O/rmc-sync" bench --opt write-unlatch
expect "rmc-sync: messages and operations are in no order" 2 "messages and operations are in no" \
	"$O/rmc-sync" bench --latch nic-rpc --opt spec
expect "rmc-sync: what latches by messages cost" 0 "^rw  *atomic  *rw  *320  3/2/0  *4/2/0 " \
	"$O/rmc-sync" schemes --latch nic-rpc --opt async
expect "rmc-sync: readers that validate see no latch of a server" 0 "^farm .*  -  *-  *FaRM" \
	"$O/rmc-sync" schemes --latch nic-rpc
expect "rmc-sync: torn, and its writer only serves" 2 "torn: member 1 writes" \
	"$O/rmc-sync" torn --latch nic-rpc --storage 2 --serve
expect "rmc-sync: a negative theta" 2 "'-1' is not a number" "$O/rmc-sync" bench --theta -1
expect "rmc-sync: no tuples" 2 "'0' is not" "$O/rmc-sync" bench --tuples 0
expect "rmc-sync: help" 0 "write-unlatch" "$O/rmc-sync" --help
sync_json() {
	"$O/rmc-sync" schemes --json | python3 -c "
import json, sys
rows = {s['name']: s for s in json.load(sys.stdin)}
assert rows['naive']['guarantee'] == 'broken' and rows['crc64']['guarantee'] == 'probable'
assert rows['out-of-place']['needs'] == 'pool' and rows['rw']['latch'] == 'rw'"
}
systems_json() {
	"$O/rmc-sync" systems --json | python3 -c "
import json, sys
rows = {s['name']: s for s in json.load(sys.stdin)}
assert rows['nam-db++']['pad_lines'] == 1 and rows['nam-db']['options'] == ''
assert rows['opt-db-versioning']['latch'] == 'excl' and rows['opt-db-crc64']['guarantee'] == 'probable'"
}
if have python3; then
	check "rmc-sync: schemes --json" sync_json
	check "rmc-sync: systems --json" systems_json
else
	report 0 "rmc-sync: schemes --json" "no python3"
fi

expect "netpipe: no such engine" 2 "--engine: msg, native or tcp" "$O/rmc_netpipe" -e pigeon
expect "netpipe: an engine that only pushes has no best threshold" 2 "--best goes with" \
	"$O/rmc_netpipe" --engine tcp --best
expect "netpipe: bad threshold" 2 "0, inf or a size" "$O/rmc_netpipe" -T x

for t in zipf_hist path; do
	include "$t" run_program 120 $t.asan
done
