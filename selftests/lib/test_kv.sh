# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Schemes of object reads, the object store and rmc-kv. Sourced by run.sh.

scheme_src=$(echo "$top"/lib/scheme/*.c "$top"/lib/rpc*.c "$top"/lib/msg/*.c)
# gcc's ThreadSanitizer does not support fences: all data that they order is atomic here
for t in "scheme address,undefined" "reader address,undefined" "reader thread -Wno-tsan" \
	 "reader_wrap address,undefined"; do
	read -r t san <<< "$t"
	src=$scheme_src
	# that test includes reader.c, because it sets the positions of its rings
	[ "$t" != reader_wrap ] || src=${scheme_src/"$top/lib/scheme/reader.c"}
	name="object $t, ${san%% *}"
	if $CC -fsanitize=$san $FLAGS -pthread -o "$W/$t-${san%% *}" "$here/test_$t.c" \
	   "$here/fake_rmc.c" $lib_src $src > "$W/log" 2>&1; then
		include "$name" timeout 300 "$W/$t-${san%% *}"
	else
		sed 's/^/# /' "$W/log"
		report 1 "$name: builds"
	fi
done

for t in "rpc lib/rpc*.c" "owner lib/rpc*.c lib/kv/*.c lib/scheme/*.c lib/msg/*.c"; do
	read -r t src <<< "$t"
	if (cd "$top" && $CC $ASAN $FLAGS -pthread -o "$W/$t" "$here/test_$t.c" $src $lib_src) > "$W/log" 2>&1
	then
		include "$t" timeout 120 "$W/$t"
	else
		sed 's/^/# /' "$W/log"
		report 1 "tests of $t build"
	fi
done

prepare "the object store builds for the driver in user space" \
	build_fake prog_kv "$here/prog_kv.c" "$top"/lib/kv/*.c $scheme_src
for s in crc64 strip plain; do
	expect "object store, $s, 2 nodes" 0 "member 1: ok" nodes 2 "$W/prog_kv" $s
done
for s in sabre farm lock lease rpc; do
	expect "object store, $s, alone" 0 "member 0: ok" nodes 1 "$W/prog_kv" $s
	expect "object store, $s, 3 nodes" 0 "member 2: ok" nodes 3 "$W/prog_kv" $s
done
expect "an owner's death reaches its readers and writers" 0 "member 1: reported" \
	nodes 3 "$W/prog_kv" farm orphan
expect "and those who ask by message" 0 "member 1: reported" nodes 3 "$W/prog_kv" rpc orphan
expect "whoever asks for a locked object has an error" 0 "member 1: ok" nodes 2 "$W/prog_kv" lock locked
kv_resized() {			# the owner writes often between a reader's two reads
	FAKE_DELAY_US=2000 nodes 3 "$W/prog_kv" sabre resized
}
expect "whoever asks for an object that changes its length all the time has an error" 0 \
	"member 1: ok, 10 of" kv_resized
expect "members with other options are refused" 1 "has opened another store" \
	nodes 2 "$W/prog_kv" sabre other

prepare "rmc-kv builds likewise" build_fake rmc-kv "$top"/tools/kv/*.c \
	"$top"/tools/common/{zipf,hist}.c "$top"/lib/kv/*.c \
	"$top/lib/coll.c" $scheme_src
expect "rmc-kv: put and get" 0 "^2 3$" \
	nodes 3 "$W/rmc-kv" -k 100 put a 1 put b "2 3" get a get b delete a
expect "rmc-kv: no such key" 1 "get a: no such key" nodes 2 "$W/rmc-kv" put a 1 delete a get a
kv_lines() {
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	printf 'put x hello  world\n\nget x\n%s\n' "$1" |
		FAKE_FABRIC=$W/fabric RMC_NODES=1 RMC_NODE=0 timeout 60 "$W/rmc-kv" -
}
expect "rmc-kv: commands from standard input" 0 "^hello  world$" kv_lines "delete x"
expect "rmc-kv: and one that is none" 2 "not a command: 'frob'" kv_lines frob
for s in sabre farm lock strip; do
	expect "rmc-kv: bench, $s" 0 "^torn_values *0$" \
		nodes 2 "$W/rmc-kv" bench -s $s -k 50 -v 2000 -n 600 -m A -q
done
# Half of the operations on one key are writes of 16 KiB. Without a check some reads are torn,
# if reader and writer run at the same time, which is rare on busy CPUs.
kv_tears() {
	local i
	for i in {1..60}; do
		nodes 2 "$W/rmc-kv" bench -s plain -k 2 -v 16K -n 3000 -m A -q --json > "$W/json"
		grep -q '"torn_values": [1-9]' "$W/json" && return 0
	done
	return 1
}
check "rmc-kv: plain reads are torn, and counted" kv_tears
kv_json() {
	nodes 3 "$W/rmc-kv" bench --clients 1 -d uniform -m C -k 99 -n 300 -q --json > "$W/json" &&
		python3 -m json.tool "$W/json"
}
if have python3; then
	expect "rmc-kv: JSON" 0 '"gets": 300' kv_json
else
	report 0 "rmc-kv: JSON" "no python3"
fi
expect "rmc-kv: path of objects" 0 "^path  *local$" eval \
	'FAKE_LOCAL_BYTES=1088 nodes 2 "$W/rmc-kv" bench -s farm -v 1K -k 50 -n 100 -q'
expect "rmc-kv: objects beyond the local path" 0 '"path": "packets"' eval \
	'FAKE_LOCAL_BYTES=1024 nodes 2 "$W/rmc-kv" bench -s farm -v 1K -k 50 -n 100 -q --json'
expect "rmc-kv: schemes" 0 "^farm .*1088 B" "$W/rmc-kv" schemes
expect "rmc-kv: no command" 2 "no command" "$W/rmc-kv"
expect "rmc-kv: unknown command" 2 "no command 'frob'" "$W/rmc-kv" get a frob
expect "rmc-kv: half a command" 2 "put needs a key and a value" "$W/rmc-kv" put a
expect "rmc-kv: unknown scheme" 2 "no scheme 'x'" "$W/rmc-kv" -s x get a
expect "rmc-kv: bad mix" 2 "is not A, B or C" "$W/rmc-kv" bench -m D
expect "rmc-kv: help" 0 "fall-back" "$W/rmc-kv" --help

if $CC $ASAN $FLAGS $TOOL_INC -o "$W/zipf_hist" "$here/test_zipf_hist.c" \
   "$top"/tools/common/{zipf,hist}.c -lm > "$W/log" 2>&1; then
	include "zipf and histogram" "$W/zipf_hist"
else
	sed 's/^/# /' "$W/log"
	report 1 "tests of zipf and histogram build"
fi
