#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# An unprivileged user can open a context whose mode permits it, and no other.
. "$(dirname "$0")/lib.sh"
[ -x "$CTL" ] || skip "no $CTL: make -C tools"
need_cluster
out=$(on_all --user nobody "$XPAIR" pairs 2>&1) || fail "context 0, mode 0666: $out"
at 0 "$CTL" context create 1 --mode 0600 || fail "cannot create a context"
out=$(timeout 60 "$VM" exec --user nobody 0 -- env RMC_CTX=1 "$XPAIR" status 0 2>&1) &&
	fail "context 1, mode 0600: $out"
[[ $out == *permission* ]] || fail "context 1: $out"
out=$(at 0 env RMC_CTX=1 "$XPAIR" status 0 2>&1)
[ "$out" = ok ] || fail "context 1 as root: $out"
out=$(timeout 60 "$VM" exec --user nobody 0 -- "$CTL" context create 2 2>&1) &&
	fail "nobody created a context"
at 0 "$CTL" context remove 1 || fail "cannot remove the context"
