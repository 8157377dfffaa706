#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Build the tests, boot one guest without the module, and run run_kselftest.sh
# there. The tests come out as one flat TAP stream, "theme: test", for those who
# count lines; --nested leaves KTAP as it is. Other arguments go to run_kselftest.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
vm=$top/vm-setup/rmc-vm
seconds=600
nested=false
[ "${1:-}" != --nested ] || { nested=true; shift; }
export RMC_CLUSTER=kselftest-$$

make -s -C "$here" || exit 1
trap 'timeout 60 "$vm" down > /dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
timeout 120 "$vm" up -q -n 4 --fabric loopback --no-module --append numa=fake=2 || exit 1

flat()
{
	awk '
	/^    # Subtest: /	{ theme = $3; bad = 0; next }
	/^    (not )?ok /	{ bad += /^    not/; n++; name = $0
				  sub(/^ *(not )?ok [0-9]+ /, "", name)
				  printf "%sok %d - %s: %s\n", /^    not/ ? "not " : "", n, theme, name
				  fflush(); next }
	/^ok /			{ next }
	/^not ok /		{ if (!bad) { sub(/^not ok [0-9]+ /, ""); printf "not ok %d - %s\n", ++n, $0 }
				  next }
	/^# Totals/		{ done = 1; print; next }
	/^    # |^#|^Bail/	{ sub(/^    /, ""); print }
	END			{ if (!done) printf "not ok %d - the guest ended early\n", ++n
				  printf "1..%d\n", n }'
}

run()
{
	timeout -k 10 $seconds "$vm" exec 0 -- "$here/run_kselftest.sh" "$@" < /dev/null
	status=$?
	[ $status -lt 124 ] || timeout 20 "$vm" console --log 0 2>/dev/null | tail -n 40 | sed 's/^/# /'
	return $status
}

if $nested; then
	run "$@"
	exit
fi
echo "TAP version 13"
run "$@" 2>&1 | flat
exit "${PIPESTATUS[0]}"
