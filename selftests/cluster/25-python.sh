#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Remote reads from another language, through the symbols of the shared library.
. "$(dirname "$0")/lib.sh"
command -v python3 > /dev/null || skip "no python3"
need_cluster
out=$(on_all "$TOP/tools/apps/remote_read.py" 2>&1) || fail "$out"
