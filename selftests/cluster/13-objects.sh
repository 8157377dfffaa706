#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# SABRes of other nodes return each object whole, or fail, while its owner writes it.
. "$(dirname "$0")/lib.sh"
need_cluster
out=$(on_all "$TOP/build/selftests/cluster/xobjects" "$NODES" 2>&1) || fail "$out"
[ "$(grep -c 'objects ok' <<< "$out")" = "$NODES" ] || fail "$out"
