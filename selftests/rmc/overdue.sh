#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A test program that exceeds its time limit is ended, whatever it has open, and does not
# disturb the next one. Prints KTAP; run by run_kselftest.sh.
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp)
trap 'rm -f "$out"' EXIT
n=0 bad=0

result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n $2"; else echo "not ok $n $2"; bad=1; fi
}

themes()
{
	"$here/run_kselftest.sh" --ko "$RMC_KO" --bin "$RMC_BIN" "$@" > "$out" 2>&1
}

echo "KTAP version 1"
# 128 nodes: what they have open takes a while to close
RMC_SECONDS=3 themes nodes128
if grep -q '^ok 1 nodes128' "$out"; then
	echo "1..0 # SKIP this kernel is too fast: nodes128 takes less than 3 s"
	exit 4
fi
echo "1..3"
grep -q '^not ok 1 nodes128 # more than 3 s' "$out" && grep -q '^    # .*: told to stop' "$out"
result $? it_is_ended
[ ! -e /sys/module/rmc ]
result $? the_module_is_unloaded
themes access
result $? the_next_one_passes
[ $bad = 0 ] || sed 's/^/# /' "$out"
exit $bad
