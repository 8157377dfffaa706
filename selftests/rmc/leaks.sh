#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run after all tests, in a kernel with kmemleak: report the module's unreferenced objects,
# as one more subtest of the KTAP that the caller prints.
leaks=/sys/kernel/debug/kmemleak
busybox=/run/rmc/busybox

echo "    # Subtest: leaks"
if [ ! -e $leaks ] || ! echo scan > $leaks; then
	echo "    ok 1 kmemleak # SKIP this kernel has no kmemleak"
	exit 0
fi
# An object's stack trace shows its owner. With empty traces this script would find nothing.
if [ -z "$($busybox cat /proc/self/stack)" ]; then
	echo "    # this kernel has no stack traces: see CONFIG_FRAME_POINTER"
	echo "    not ok 1 kmemleak"
	exit 1
fi
# Scan again: a pointer may have been in a register. kmemleak skips objects younger than 5 s.
$busybox sleep 6
echo scan > $leaks
echo scan > $leaks
# Leaks of the kernel itself do not count: the module is not in their traces.
found=$($busybox cat $leaks)
if echo "$found" | $busybox grep -q '\[rmc\]'; then
	echo "$found" | $busybox head -n 60 | $busybox sed 's/^/    # /'
	echo "    not ok 1 kmemleak"
	exit 1
fi
[ -z "$found" ] || echo "$found" | $busybox grep -c 'unreferenced object' |
	$busybox sed 's/^/    # unreferenced objects without the module in their trace: /'
echo "    ok 1 kmemleak"
