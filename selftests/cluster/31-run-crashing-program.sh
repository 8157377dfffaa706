#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes: 2
# The worst exit status wins, and says by which signal a program died where.
. "$(dirname "$0")/lib.sh"
need_cluster
# shellcheck disable=SC2016 # for the guest's shell
out=$(on_all sh -c '[ $RMC_NODE = 0 ] || kill -SEGV $$' 2>&1)
[ $? = 139 ] || fail "status is not 139: $out"
[[ $out == *"node 1"* && $out == *egmentation* ]] || fail "it does not say so: $out"
# shellcheck disable=SC2016
out=$(on_all sh -c 'exit $((RMC_NODE + 3))' 2>&1)
[ $? = 4 ] || fail "status is not 4: $out"
# one dies at once, the other would stay for ever
start=$SECONDS
# shellcheck disable=SC2016
on_all sh -c '[ $RMC_NODE = 0 ] && sleep 1000; exit 5' > /dev/null 2>&1
[ $((SECONDS - start)) -lt 30 ] || fail "the other was not stopped"
