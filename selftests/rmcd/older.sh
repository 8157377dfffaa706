# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Programs as they were built before rmcd existed, with the inline fast path of that time, over
# today's shared library and rmcd. Sourced by run.sh.

older_programs=(hello rmc_read_lat rmc_atomic_lat pagerank rmc-kv rmc_netpipe)

build_older() {			# build_older COMMIT: into $W/older
	local o=$W/older/build
	rm -rf "$W/older"
	mkdir "$W/older"
	git -C "$top" archive "$1" lib uapi tools | tar -x -C "$W/older" || return
	# later ones read it
	git -C "$top" show "$1:VERSION" > "$W/older/VERSION" 2> /dev/null
	make -s -C "$W/older/lib" O="$o" || return
	make -s -C "$W/older/tools" O="$o" LINK="${CC:-cc}" LIBRMC="$o/librmc.so" \
		"${older_programs[@]/#/$o/}"
}

older() {			# older PROGRAM OPTION...
	LD_LIBRARY_PATH=$O nodes 2 "$W/older/build/$1" "${@:2}"
}

older_needs() {			# older_needs NODE: of the library's map, the newest of hello's
	[ "$(readelf -V "$W/older/build/hello" | grep -o 'RMC_[0-9.]*' | sort -uV | tail -n 1)" = "$1" ]
}

start rmcd -n 2 --ni fused --share 1
while read -r commit node title; do
	if ! git -C "$top" cat-file -e "$commit^{commit}" 2> /dev/null; then
		report 0 "programs of $title" "no history"
		continue
	fi
	if ! build_older "$commit" > "$W/log" 2>&1; then
		sed 's/^/# /' "$W/log"
		report 1 "programs of $title build"
		continue
	fi
	check "programs of $title need $node" older_needs "$node"
	expect "... hello" 0 "node [01] says 10[01]: success" older hello
	expect "... 64 B reads" 0 "^ 64  *1000 " older rmc_read_lat -n 1000
	expect "... atomics" 0 "^ 8  *1000 " older rmc_atomic_lat -n 1000
	expect "... PageRank" 0 "^ *10  *0.012718 " older pagerank -r 10
	expect "... the object store" 0 "^served  *[1-9]" older rmc-kv bench
	expect "... messages" 0 "^ 131072  *100 .*pull" older rmc_netpipe -n 100
done << 'END'
f5d883e RMC_1.0 version 1.0
0ef9ca0 RMC_1.1 version 1.1
END
stop "older programs"
