# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The sonuma-vm library as installed: symbols, headers, linking. Sourced by run.sh.

compat="-I$top/lib/compat/include"

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
