/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Measurements of a simulated chip (T18 section 6.4) */
#ifndef CHIP_MEASURE_H
#define CHIP_MEASURE_H

#include "chip.h"

/**
 * struct bandwidth - of all cores
 * @in, @out: written by RCPs, sent by RRPPs; bytes per nanosecond
 * @traffic: that enters the NOC
 * @east, @west: over the middle of the chip
 * @latency: mean of a read, cycles; NAN if none ended
 * @windows: until it was stable; 0: it was not
 */
struct bandwidth {
	double in, out, traffic, east, west, latency;
	unsigned int windows;
};

/*
 * measure_bandwidth() - windows of some cycles, until two differ by less than 1 %
 *
 * Returns 0, -ENOMEM, or -EDEADLK.
 */
int measure_bandwidth(const struct config *config, uint64_t cycles, unsigned int windows,
		      struct bandwidth *b);

/*
 * measure_latency() - mean of blocking reads of lone cores, in cycles
 * @cores: that read, one after the other, spread over the chip; divides CORES
 *
 * Returns 0, -ENOMEM, or -EDEADLK.
 */
int measure_latency(const struct config *config, unsigned int cores, unsigned int reads,
		    double *latency);

#endif /* CHIP_MEASURE_H */
