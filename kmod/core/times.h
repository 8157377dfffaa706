/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Distribution of times: a count for each quarter of a power of two, so a percentile is known to a
 * fifth of itself. One thread adds; others may read at any time.
 */
#ifndef RMC_TIMES_H
#define RMC_TIMES_H

#include "../base/os.h"

#define RMC_TIMES_BUCKETS	128		/* the last one: from 30 s on */

/**
 * struct rmc_times - a distribution
 * @bucket: how many times are from rmc_times_from() of it on, and below that of the next one
 */
struct rmc_times {
	u64 bucket[RMC_TIMES_BUCKETS];
};

/* Bucket of a time in nanoseconds */
static inline u32 rmc_times_bucket(u64 ns)
{
	u32 log;

	if (ns < 16)
		return ns / 4;
	log = 63 - __builtin_clzll(ns);
	return min_t(u32, (log - 3) * 4 + (ns >> (log - 2) & 3), RMC_TIMES_BUCKETS - 1);
}

/* Shortest time of a bucket, nanoseconds */
static inline u64 rmc_times_from(u32 bucket)
{
	return bucket < 4 ? bucket * 4 : (u64)(4 + bucket % 4) << (bucket / 4 + 1);
}

static inline void rmc_times_add(struct rmc_times *t, u64 ns)
{
	u64 *n = &t->bucket[rmc_times_bucket(ns)];

	WRITE_ONCE(*n, *n + 1);
}

u64 rmc_times_below(const struct rmc_times *t, u32 per_mille);

#endif
