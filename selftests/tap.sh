# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# TAP from shell scripts that test programs by what they print and how they end.
# Sourced; count and failed are the caller's to report at the end.

count=0
failed=0

report() {			# report STATUS NAME [REASON TO SKIP]
	count=$((count + 1))
	if [ -n "${3:-}" ]; then
		echo "ok $count - $2 # SKIP $3"
	elif [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=$((failed + 1))
	fi
}

check() {			# check NAME COMMAND...: output shown on failure
	local name=$1 out status
	shift
	out=$("$@" 2>&1)
	status=$?
	[ $status -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'
	report $status "$name"
}

expect() {			# expect NAME STATUS PATTERN COMMAND...
	local name=$1 want=$2 pattern=$3 out status
	shift 3
	out=$("$@" 2>&1 < /dev/null)
	status=$?
	if [ $status -eq "$want" ] && printf '%s\n' "$out" | grep -q -- "$pattern"; then
		report 0 "$name"
	else
		printf '# status %s, not %s, or no "%s" in:\n' "$status" "$want" "$pattern"
		printf '%s\n' "$out" | sed 's/^/#   /'
		report 1 "$name"
	fi
}

report_unittest() {		# report_unittest PROGRAM: of Python's unittest, one by one
	local out status line

	out=$("$1" -v 2>&1)
	status=$?
	while IFS= read -r line; do
		case $line in
		*" ... ok")		report 0 "unit: ${line%% *}" ;;
		*" ... FAIL"|*" ... ERROR") report 1 "unit: ${line%% *}" ;;
		esac
	done <<< "$out"
	if [ $status -ne 0 ]; then
		printf '%s\n' "$out" | sed 's/^/# /'
		report 1 "unit: exit status $status"
	fi
}
