/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#include "bench.h"

int main(int argc, char **argv)
{
	static const struct bench_test test = {
		"rmc_sabre_lat", "SABRe latency", RMC_OP_SABRE, LATENCY,
	};

	return bench_main(&test, argc, argv);
}
