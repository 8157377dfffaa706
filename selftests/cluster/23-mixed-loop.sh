#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One io_uring loop serves sockets, completions and notifications, and sleeps in between: with
# one command for completions and notifications, and with eventfd and poll.
. "$(dirname "$0")/lib.sh"
LOOP=$TOP/build/mixed_loop
[ -x "$LOOP" ] || skip "no $LOOP: it takes liburing"
need_cluster
out=$(on_all "$LOOP" --self-test 2>&1) || fail "$out"
out=$(on_all "$LOOP" --self-test --eventfd 2>&1) || fail "with --eventfd: $out"
