# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The library's binary interface: Documentation/library-abi.rst. Sourced by run.sh.

# --- every inline is a symbol as well ---

all_inlines() {			# all_inlines MACRO...: names of those with that macro
	local m flags=()
	for m; do flags+=("-D$m=extern"); done
	printf '#include <rmc/rmc.h>\n#include <rmc/uring.h>\n' |
		$CC -std=gnu11 -fgnu89-inline -O0 "${flags[@]}" -I"$top/lib/include" -I"$top/uapi" \
			-x c -c -o "$W/inlines.o" - &&
		nm --defined-only "$W/inlines.o" | awk '$2 == "T" { print $3 }' | sort
}
inlines_are_symbols() {
	local s missing=0
	all_inlines RMC_INLINE RMC_SIZED > "$W/inlines"
	[ "$(wc -l < "$W/inlines")" -ge 60 ] || { echo "too few inlines"; return 1; }
	for s in $(comm -23 "$W/inlines" "$W/exported"); do
		echo "$s is inline in a header and no symbol: librmc.map"
		missing=1
	done
	# a plain static inline would be missed here and in ffi.c
	grep -n 'static inline\|static __inline' "$top"/lib/include/rmc/*.h | grep -v '#define RMC_' &&
		missing=1
	return $missing
}
check "every inline of the headers is a symbol" inlines_are_symbols
no_inline_is_missed() {		# the check itself
	grep -vx 'rmc_quiet_node' "$W/exported" > "$W/fewer"
	[ "$(comm -23 "$W/inlines" "$W/fewer")" = rmc_quiet_node ]
}
check "and the check would notice one that is not" no_inline_is_missed

# --- programs of these headers need a library with the symbols that the inlines use ---

needs_version() {
	LD_LIBRARY_PATH=$O $CC -shared -fPIC -o "$W/needs.so" "$W/inline.o" -L"$O" -lrmc &&
		readelf -V "$W/needs.so" | grep "Name: RMC_1.1"
}
check "programs of these headers need node RMC_1.1" \
	eval '$CC -O2 -fPIC $strict -c -o "$W/inline.o" "$W/inline.c" && needs_version'

# --- a later version of the library with programs of this one, and the reverse ---

grown=$W/grown
build_grown() {
	mkdir -p "$grown" && cp -r "$top/VERSION" "$top/lib" "$top/uapi" "$grown/" &&
		"$here/grow.py" "$grown/lib/include/rmc" &&
		make -s -j"$(nproc)" -C "$grown/lib" O="$grown/build" CFLAGS="-O0 -g" "$grown/build/librmc.so"
}
abi_program() {			# abi_program NAME LIBRARY_DIRECTORY FLAGS...: build it and run it
	local name=$1 dir=$2
	shift 2
	$CC -O1 -g -D_GNU_SOURCE -Wall -Wextra -Werror "$@" -o "$W/abi-$name" "$here/test_abi.c" \
		-L"$dir" -lrmc && LD_LIBRARY_PATH=$dir timeout 60 "$W/abi-$name"
}
today=(-I"$top/lib/include" -I"$top/uapi")
tomorrow=(-DGROWN -I"$grown/lib/include" -I"$grown/uapi")
include "ABI, as it is" abi_program as-is "$O" "${today[@]}"
if have python3; then
	prepare "a library whose structs have grown builds" build_grown
	include "ABI, library of tomorrow" abi_program old "$grown/build" "${today[@]}"
	include "ABI, program of tomorrow" abi_program new "$O" "${tomorrow[@]}"
else
	report 0 "a library whose structs have grown" "no python3"
fi

# --- comparison with the stored ABI ---

if have abidiff; then
	check "nothing of the stored ABI has changed" \
		make -s -C "$top/lib" O="$O" abi-check-librmc
	check "nor of libsonuma's" make -s -C "$top/lib" O="$O" abi-check-sonuma
	abi_notices() {		# abi_notices LIBRARY REGEXP: it is reported
		! make -s -C "$grown/lib" O="$grown/build" "abi-check-$1" > "$W/log" &&
			grep -q "$2" "$W/log" || { cat "$W/log"; return 1; }
	}
	sonuma_change_noticed() {	# sonuma_change_noticed FILE EXPRESSION REGEXP
		local status file=$grown/lib/compat/$1
		cp "$file" "$W/as-it-was" && sed -i "$2" "$file" &&
			! cmp -s "$file" "$W/as-it-was" && abi_notices sonuma "$3"
		status=$?
		cp "$W/as-it-was" "$file"
		return $status
	}
	if have python3; then
		check "and the check would notice a struct that grew" \
			abi_notices librmc "rmc_team_options"
		check "and a struct of libsonuma" sonuma_change_noticed include/RMCdefines.h \
			's/^\tuint64_t length;/&\n\tuint64_t grown;/' "'struct wq_entry'.*changed"
		check "and a symbol of libsonuma that is missing" sonuma_change_noticed libsonuma.map \
			/sonuma_check_cq/d "[[]D[]] .*sonuma_check_cq"
		check "and symbols of libsonuma in another node" sonuma_change_noticed libsonuma.map \
			s/^SONUMA_0/SONUMA_1/ "sonuma_open.*SONUMA_0"
	fi
else
	report 0 "nothing of the stored ABI has changed" "no abidiff: vm-setup/rmc-deps check"
fi
