/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Length of a cycle of bench_cycles(), measured against the system's clock. */
#include <time.h>
#include "bench.h"

#define CALIBRATION_US	20000.0

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

double bench_calibrate(void)
{
	double start_us = now_us(), us;
	uint64_t start = bench_cycles(), cycles;

	do {
		us = now_us();
		cycles = bench_cycles();
	} while (us - start_us < CALIBRATION_US);
	return (double)(cycles - start) / (us - start_us);
}
