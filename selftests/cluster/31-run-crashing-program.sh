#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rmc-run exits with the worst status, and reports the node and the signal that killed its
# program.
. "$(dirname "$0")/lib.sh"
need_cluster
# shellcheck disable=SC2016 # for the guest's shell
out=$(on_all sh -c '[ $RMC_NODE = 0 ] || kill -SEGV $$' 2>&1)
[ $? = 139 ] || fail "status is not 139: $out"
[[ $out == *"node 1"* && $out == *egmentation* ]] || fail "it does not say so: $out"
# shellcheck disable=SC2016
out=$(on_all sh -c 'exit $((RMC_NODE + 3))' 2>&1)
[ $? = 4 ] || fail "status is not 4: $out"
# one process exits at once, the other would run forever
start=$SECONDS
# shellcheck disable=SC2016
on_all sh -c '[ $RMC_NODE = 0 ] && sleep 1000; exit 5' > /dev/null 2>&1
[ $((SECONDS - start)) -lt 30 ] || fail "the other was not stopped"
