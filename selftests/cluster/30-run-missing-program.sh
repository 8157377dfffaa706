#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rmc-run reports a missing file, or one that is no program, in one line.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all /no/such/program 2>&1)
[ $? = 127 ] || fail "status is not 127: $out"
[ "$(wc -l <<< "$out")" = 1 ] && [[ $out == *"No such file"* ]] || fail "$out"
out=$(on_all /etc/passwd 2>&1)
[ $? = 126 ] || fail "status is not 126: $out"
[ "$(wc -l <<< "$out")" = 1 ] || fail "$out"
