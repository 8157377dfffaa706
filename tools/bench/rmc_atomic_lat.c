/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#include "bench.h"

int main(int argc, char **argv)
{
	static const struct bench_test test = {
		"rmc_atomic_lat", "RMC atomic latency", RMC_OP_FAA, LATENCY,
	};

	return bench_main(&test, argc, argv);
}
