#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# At the end of all tests, in a kernel with kmemleak: what is nobody's any more.
# Another one may be printed as KTAP by whoever ran them.
leaks=/sys/kernel/debug/kmemleak
busybox=/run/rmc/busybox

echo "    # Subtest: leaks"
if [ ! -e $leaks ] || ! echo scan > $leaks; then
	echo "    ok 1 kmemleak # SKIP this kernel has no kmemleak"
	exit 0
fi
# Whose an object is stands in its trace. A kernel whose traces are all empty finds nothing.
if [ -z "$($busybox cat /proc/self/stack)" ]; then
	echo "    # this kernel has no stack traces: see CONFIG_FRAME_POINTER"
	echo "    not ok 1 kmemleak"
	exit 1
fi
# what was found once may have been in a register; what is younger than 5 s is left alone
$busybox sleep 6
echo scan > $leaks
echo scan > $leaks
# The kernel's own are not the point: they have nothing of the module in their trace.
found=$($busybox cat $leaks)
if echo "$found" | $busybox grep -q '\[rmc\]'; then
	echo "$found" | $busybox head -n 60 | $busybox sed 's/^/    # /'
	echo "    not ok 1 kmemleak"
	exit 1
fi
[ -z "$found" ] || echo "$found" | $busybox grep -c 'unreferenced object' |
	$busybox sed 's/^/    # objects that have nothing to do with the module: /'
echo "    ok 1 kmemleak"
