# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The kernel's selftests of behaviour over rmcd: as_module.c is in the place of the devices.
# kernel-only lists what is not run, and why. Sourced by run.sh.

tests_of() {			# tests_of SUITE: names, in order
	sed -n 's/^TEST\(_WITHIN\)\?(\([a-z_0-9]*\).*/\2/p' "$here/../rmc/$1.c"
}

listed_tests_exist() {
	local suite name reason missing=0 whole
	while read -r suite name reason; do
		[ "$name" = "*" ] || tests_of "$suite" | grep -qx "$name" ||
			{ echo "$suite: there is no test $name"; missing=1; }
		[ -f "$here/../rmc/$suite.c" ] && [ -n "$reason" ] ||
			{ echo "$suite: no such suite, or no reason"; missing=1; }
	done < <(grep -v '^#\|^$' "$here/kernel-only")
	# each suite is built for rmcd (../programs) or listed whole in kernel-only, not both
	whole=$(sed -n 's/^\([a-z_]*\) \* .*/\1/p' "$here/kernel-only")
	for suite in $({ echo "$whole"; echo "$over_rmcd"; } | sort | uniq -d); do
		echo "$suite is built and listed whole"
		missing=1
	done
	for suite in $({ echo "$whole"; echo "$over_rmcd"; } | sort | comm -13 - \
			<("$here/../list-programs" rmc test | sort)); do
		echo "$suite is neither built nor listed"
		missing=1
	done
	return $missing
}
over_rmcd=$("$here/../list-programs" rmc rmcd)
check "tests that only a kernel has: all exist" listed_tests_exist

only_kernel() {			# only_kernel SUITE TEST: reason, if the test is not run
	awk -v suite="$1" -v name="$2" '$1 == suite && $2 == name {
		sub(/^[^ ]+ [^ ]+ /, ""); print }' "$here/kernel-only"
}

ran=
behaviour() {			# behaviour SUITE...: over the daemon that runs
	local suite name reason names
	for suite in "$@"; do
		ran+=$suite$'\n'
		names=()
		for name in $(tests_of "$suite"); do
			reason=$(only_kernel "$suite" "$name")
			if [ -n "$reason" ]; then
				report 0 "$suite: $name" "$reason"
			else
				names+=("$name")
			fi
		done
		stream "$suite" timeout -k 5 300 "$D/kself/$suite" "${names[@]}"
	done
}

if [ "$(id -u)" -ne 0 ]; then
	report 0 "the kernel's selftests over rmcd" "not root: they try other users"
	return
fi
# memory of a file, as users are asked for: its edges need not be whole pages
export RMC_TEST_SHARED=1
start rmcd.asan -n 4 --ni fused --contexts 0:0666
behaviour memory exposed ops atomics sabre status limits hostile isolation domains \
	domain_cores domain_members tx
stop "behaviour, fused"
start rmcd -n 4 --ni edge --units 2 --contexts 0:0666
behaviour ops sabre exposed isolation domains domain_members tx
stop "behaviour, edge"
start rmcd.tsan -n 4 --ni pair --mtu 64 --itt 64 --contexts 0:0666
behaviour ops sabre status
stop "behaviour, pair, TSan"
start rmcd -n 128 --ni fused --contexts 0:0666
behaviour nodes
stop "behaviour, 128 nodes"
# private memory
unset RMC_TEST_SHARED
start rmcd.asan -n 4 --ni fused --contexts 0:0666
behaviour mapping life team events watch access
stop "behaviour, private memory"
start rmcd -n 4 --ni pair --workers 2 --contexts 0:0666
behaviour life events watch
stop "behaviour, private memory, pair"
check "each of the kernel's selftests that is built for rmcd ran" \
	test "$(sort -u <<< "${ran%?}")" = "$(sort <<< "$over_rmcd")"
