# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Structures of blocks: over memory of the test, and over one-sided operations. Sourced by run.sh.

include "structures" run_program 300 structures.asan
for san in address,undefined thread; do
	include "blocks, $san" run_program 300 "blocks.${build[$san]}"
done
