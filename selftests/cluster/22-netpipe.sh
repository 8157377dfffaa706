#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Send and receive from one byte to 128 KiB, pushed and pulled, compared with TCP.
. "$(dirname "$0")/lib.sh"
NETPIPE=$TOP/build/rmc_netpipe
[ -x "$NETPIPE" ] || skip "no $NETPIPE: make -C tools"
need_cluster
for threshold in 0 inf 1024; do
	out=$(on_all "$NETPIPE" -n 20 -T $threshold 2>&1) || fail "$threshold: $out"
	grep -q ' 131072 ' <<< "$out" || fail "$threshold: it ends early: $out"
done
