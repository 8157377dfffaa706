/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Latencies by magnitude: 32 buckets per power of two. */
#include "hist.h"

#define SUB	(1U << HIST_BITS)

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < 2 * SUB)
		return (unsigned int)ns;
	shift = 63 - HIST_BITS - (unsigned int)__builtin_clzll(ns);
	return (shift << HIST_BITS) + (unsigned int)(ns >> shift);
}

/* Smallest value that falls into the bucket after */
static uint64_t end_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * SUB)
		return bucket;
	shift = (bucket >> HIST_BITS) - 1;
	return ((uint64_t)(bucket - (shift << HIST_BITS)) + 1) << shift;
}

void hist_add(struct hist *h, uint64_t ns)
{
	h->count[bucket_of(ns)]++;
}

uint64_t hist_total(const struct hist *h)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++)
		sum += h->count[i];
	return sum;
}

uint64_t hist_percentile(const struct hist *h, double p)
{
	uint64_t total = hist_total(h), seen = 0, want;
	unsigned int i;

	want = (uint64_t)((double)total * p);
	if (want >= total)
		want = total - 1;
	for (i = 0; i < HIST_BUCKETS && total; i++) {
		seen += h->count[i];
		if (seen > want)
			return end_of(i);
	}
	return 0;
}
