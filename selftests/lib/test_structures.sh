# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Structures of blocks: over memory of the test, and over one-sided operations. Sourced by run.sh.

# alone: that they build without the rest shows that they do not need it
prepare "tests of structures build" $CC $ASAN $FLAGS -o "$W/structures.asan" \
	"$here/test_structures.c" "$top"/lib/ds/*.c
include "structures" timeout 300 "$W/structures.asan"

for san in "address,undefined" "thread -Wno-tsan"; do
	name=${san%% *}
	prepare "tests of blocks build, $name" $CC -fsanitize=$san $FLAGS -pthread \
		-o "$W/blocks.${build[$name]}" "$here/test_blocks.c" "$top"/lib/{blocks,ds,check}/*.c \
		$scheme_src "$top/tools/sim/fiber.c" $lib_src \
		-Wl,--wrap=clock_gettime,--wrap=sched_yield
	include "blocks, $name" timeout 300 "$W/blocks.${build[$name]}"
done
