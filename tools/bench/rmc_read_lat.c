/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#include "bench.h"

int main(int argc, char **argv)
{
	static const struct bench_test test = {
		"rmc_read_lat", "RMC read latency", RMC_OP_READ, LATENCY,
	};

	return bench_main(&test, argc, argv);
}
