/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#include "bench.h"

int main(int argc, char **argv)
{
	static const struct bench_test test = {
		"rmc_read_bw", "RMC read bandwidth", RMC_OP_READ, BANDWIDTH,
	};

	return bench_main(&test, argc, argv);
}
