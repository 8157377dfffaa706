// SPDX-License-Identifier: GPL-2.0
/* Percentiles of a distribution of times. */
#include "times.h"

/**
 * rmc_times_below() - a percentile
 * @t: distribution; others may add to it
 * @per_mille: how many of a thousand times, 1 .. 1000
 *
 * Return: nanoseconds that so many of them are below, rounded up to a bucket; 0: there is none.
 * Context: any.
 */
u64 rmc_times_below(const struct rmc_times *t, u32 per_mille)
{
	u64 sum = 0, part = 0;
	u32 i;

	for (i = 0; i < RMC_TIMES_BUCKETS; i++)
		sum += READ_ONCE(t->bucket[i]);
	if (!sum)
		return 0;
	/* at least one, so that there is an answer while others add */
	sum = rmc_os_div(sum * per_mille + 999, 1000);
	for (i = 0; i < RMC_TIMES_BUCKETS - 1; i++) {
		part += READ_ONCE(t->bucket[i]);
		if (part >= sum)
			return rmc_times_from(i + 1);
	}
	return rmc_times_from(RMC_TIMES_BUCKETS - 1);
}
