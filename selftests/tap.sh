# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# TAP for shell scripts that test programs by output and exit status. To be sourced; the caller
# reports count and failed at the end.

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

prepare() {			# prepare NAME COMMAND...: counts only if it fails
	local name=$1 out
	shift
	out=$("$@" 2>&1) && return
	[ -z "$out" ] || printf '%s\n' "$out" | sed 's/^/# /'
	report 1 "$name"
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

# stream NAME COMMAND...: forwards the TAP of a program as part of this stream, "NAME: test",
# line by line. Adds a failure if the stream is incomplete (tap-sum), or if the status reports a
# failure that no test reported.
stream() {
	local name=$1 line log status before=$failed title
	shift
	log=$(mktemp)
	while IFS= read -r line; do
		title=${line#*ok }
		title=${title#* }
		title=${title#- }
		case $line in
		"end of stream, status "*)
			status=${line##* }
			continue ;;
		"ok "[0-9]*"# SKIP"*)
			report 0 "$name: ${title%% # SKIP*}" "${line#*# SKIP }" ;;
		"ok "[0-9]*)	report 0 "$name: $title" ;;
		"not ok "[0-9]*) report 1 "$name: $title" ;;
		TAP* | KTAP* | 1..*) ;;
		"#"*)		echo "$line" ;;
		*)		echo "# $line" ;;
		esac
		printf '%s\n' "$line" >> "$log"
	done < <("$@" 2>&1 < /dev/null; echo "end of stream, status $?")
	whole "$name" "${status:-1}" "$log" $((failed - before))
	rm -f "$log"
}

# whole NAME STATUS LOG FAILED: the checks of stream at its end
whole() {
	local name=$1 status=$2 log=$3 problem

	problem=$("$(dirname "${BASH_SOURCE[0]}")/tap-sum" "$log" | sed 1d | paste -sd ';')
	if ! grep -qE '^(not )?ok [0-9]' "$log"; then
		if [ "$status" -eq 4 ]; then
			report 0 "$name" "$(tail -n 1 "$log" | sed 's/^1\.\.0 # SKIP //')"
		else
			report 1 "$name: no test (exit status $status)"
		fi
	elif [ -n "$problem" ]; then
		report 1 "$name: $problem (exit status $status)"
	elif [ "$status" -ne 0 ] && [ "$4" -eq 0 ]; then
		report 1 "$name: exit status $status"
	fi
}

report_unittest() {		# report_unittest PROGRAM: tests of Python's unittest, one by one
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
