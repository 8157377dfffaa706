# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The sonuma-vm interface. Sourced by run.sh, when programs of several nodes run here.

compat="-I$top/lib/compat/include"
program="-g -O1 -Wall -Wextra -Werror $compat"

prepare "sonuma-vm library builds for the driver in user space" \
	env CPATH="$top/lib/compat/include" bash -c "$(declare -f sanitized_archive)
		CC='$CC' ASAN='$ASAN' FLAGS='$FLAGS' TOOL_INC='$TOOL_INC' W='$W'
		sanitized_archive sonuma '$top/lib/compat/open.c' '$top/lib/compat/queue.c'"

build_compat_c() {		# build_compat_c PROGRAM
	$CC -std=c11 $ASAN $program -pthread -o "$W/c_$1" "$here/test_$1.c" "$W/sonuma.a" \
		"$W/fake.a" $WRAP
}
build_compat_cxx() {
	$CXX -std=c++17 $ASAN $program -c -o "$W/$1.o" -x c++ "$here/test_$1.c" &&
		$CXX $ASAN -pthread -o "$W/cxx_$1" "$W/$1.o" "$W/sonuma.a" "$W/fake.a" $WRAP
}
both_ways() {			# node 0 uses node 1 and vice versa
	local status
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	export FAKE_FABRIC=$W/fabric RMC_NODES=2
	RMC_NODE=1 timeout 120 "$1" 0 &
	sleep "${2:-0}"
	RMC_NODE=0 timeout 120 "$1" 1
	status=$?
	wait $! && return $status
}
for language in c cxx; do
	check "sonuma-vm programs compile ($language)" \
		eval "build_compat_$language compat_sync && build_compat_$language compat_async"
	expect "sonuma-vm, blocking ($language)" 0 "all pages are right" \
		both_ways "$W/${language}_compat_sync"
	expect "sonuma-vm, asynchronous ($language)" 0 "everything completed" \
		both_ways "$W/${language}_compat_async"
done
expect "sonuma-vm: a peer that starts late" 0 "all pages are right" \
	both_ways "$W/c_compat_sync" 1
expect "sonuma-vm: a failure that nobody checks is reported" 0 "beyond the end of the destination" \
	both_ways "$W/c_compat_sync"
# A server returns from main() at once; its pages must stay until the client ends. No kal_open().
cat > "$W/server.cc" << 'END'
#include <vector>
#include "sonuma.h"
using namespace std;
int main()
{
	uint8_t *ctx = NULL;
	uint64_t ctx_size = PAGE_SIZE * 64;

	if (kal_reg_ctx(0, &ctx, ctx_size / PAGE_SIZE) < 0)
		return 1;
	for (size_t i = 0; i < ctx_size / PAGE_SIZE; i++)
		((uint32_t *)ctx)[i * PAGE_SIZE / 4] = i + 1;
	return 0;
}
END
cat > "$W/client.cc" << 'END'
#include <unistd.h>
#include "sonuma.h"
int main()
{
	uint8_t *ctx = NULL, *lbuff = NULL;
	rmc_wq_t *wq;
	rmc_cq_t *cq;

	if (kal_reg_lbuff(0, &lbuff, 1) < 0 || kal_reg_ctx(0, &ctx, 64) < 0 ||
	    kal_reg_wq(0, &wq) < 0 || kal_reg_cq(0, &cq) < 0)
		return 1;
	rmc_rread_sync(wq, cq, lbuff, 0, 1, 0, 0, 64);
	usleep(700000);
	for (int i = 0; i < 64; i++) {
		rmc_rread_sync(wq, cq, lbuff, 0, 1, 0, i * PAGE_SIZE, 64);
		if (*(uint32_t *)lbuff != (uint32_t)i + 1)
			return 2;
	}
	printf("the server stayed\n");
	return 0;
}
END
server_stays() {
	local p
	for p in server client; do
		$CXX -std=c++17 $ASAN $program -c -o "$W/$p.o" "$W/$p.cc" &&
			$CXX $ASAN -pthread -o "$W/$p" "$W/$p.o" "$W/sonuma.a" "$W/fake.a" $WRAP ||
			return 1
	done
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	export FAKE_FABRIC=$W/fabric RMC_NODES=2
	RMC_NODE=1 timeout 60 "$W/server" &
	RMC_NODE=0 timeout 60 "$W/client" && wait $!
}
expect "sonuma-vm: a server that returns stays while it is read" 0 "the server stayed" \
	server_stays
absent_peer() {
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	FAKE_FABRIC=$W/fabric RMC_NODE=0 RMC_NODES=2 SONUMA_WAIT=1 SONUMA_LINGER=1 \
		timeout 60 bash -c "ulimit -t 20; exec '$W/c_compat_async' 1" 2>&1 |
		grep -m 1 "node 1"
}
expect "sonuma-vm: a peer that never comes" 0 "is not up" absent_peer

# --- as installed: pkg-config, both libraries in one program ---

compat_links() {
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$W/root
	export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
	local flags
	flags=$(pkg-config --cflags --libs sonuma librmc) || return 1
	$CC -std=c11 -Wall -Wextra -Werror -o "$W/sonuma-shared" "$here/test_compat_sync.c" \
		-Wl,-rpath-link,"$prefix/lib" $flags || return 1
	$CXX -std=c++17 -Wall -Wextra -Werror -o "$W/sonuma-static" -x c++ \
		"$here/test_compat_async.c" -x none -I"$prefix/include/sonuma" \
		"$prefix/lib/libsonuma.a" "$prefix/lib/librmc.a" -lpthread || return 1
	readelf -d "$W/sonuma-shared" | grep -q 'NEEDED.*libsonuma.so.0' || return 1
	# the program does not call librmc's functions of the same names
	! nm -u "$W/sonuma-shared" | grep -q 'rmc_'
}
if have pkg-config; then
	check "sonuma-vm programs link with what is installed" compat_links
else
	report 0 "sonuma-vm programs link" "no pkg-config"
fi
only_sonuma_symbols() {
	! nm -D --defined-only "$O/libsonuma.so.0" | awk '$2 ~ /[TDB]/ { print $3 }' |
		grep -v '^sonuma_'
}
check "libsonuma exports only sonuma_*" only_sonuma_symbols
mixed_headers() {
	! printf '#include <rmc/rmc.h>\n#include "sonuma.h"\n' |
		$CC -std=c11 -I"$prefix/include" $compat -x c -c -o "$W/h.o" - 2> "$W/log" &&
		grep -q "include one of them" "$W/log"
}
check "mixing the headers is refused in words" mixed_headers
