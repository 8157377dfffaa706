/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Latencies by magnitude: 32 buckets per power of two. */
#include <stdio.h>
#include "hist.h"
#include "json.h"

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

static const double percentile[] = { 0.5, 0.9, 0.95, 0.99, 0.999 };
static const char * const percentile_name[] = { "50", "90", "95", "99", "99.9" };
#define PERCENTILES	(sizeof(percentile) / sizeof(percentile[0]))

void hist_json(struct json *j, const char *name, const struct hist *h)
{
	char key[32];
	size_t i;

	json_object(j, name);
	json_uint(j, "count", hist_total(h));
	for (i = 0; i < PERCENTILES; i++) {
		snprintf(key, sizeof(key), "p%s_usec", percentile_name[i]);
		json_double(j, key, (double)hist_percentile(h, percentile[i]) / 1e3);
	}
	json_end_object(j);
}

void hist_text_head(void)
{
	size_t i;

	printf("%-6s %10s", "usec", "count");
	for (i = 0; i < PERCENTILES; i++)
		printf(" %8s%%", percentile_name[i]);
	printf("\n");
}

void hist_text(const char *name, const struct hist *h)
{
	size_t i;

	if (!hist_total(h))
		return;
	printf("%-6s %10llu", name, (unsigned long long)hist_total(h));
	for (i = 0; i < PERCENTILES; i++)
		printf(" %9.2f", (double)hist_percentile(h, percentile[i]) / 1e3);
	printf("\n");
}
