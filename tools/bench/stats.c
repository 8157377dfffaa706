/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Samples to figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank: the smallest sample that at least share of all do not exceed */
static uint64_t percentile(const uint64_t *sorted, uint64_t n, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)n);

	return sorted[rank ? rank - 1 : 0];
}

void latency_stats(struct latency_stats *s, uint64_t *samples, uint64_t n, double cycles_per_us)
{
	double sum = 0, squares = 0;
	uint64_t i;

	memset(s, 0, sizeof(*s));
	s->n = n;
	if (!n)
		return;
	qsort(samples, n, sizeof(*samples), ascending);
	for (i = 0; i < n; i++)
		sum += (double)samples[i];
	s->avg = sum / (double)n;
	for (i = 0; i < n; i++)
		squares += ((double)samples[i] - s->avg) * ((double)samples[i] - s->avg);
	s->stdev = sqrt(squares / (double)n) / cycles_per_us;
	s->avg /= cycles_per_us;
	s->min = (double)samples[0] / cycles_per_us;
	s->max = (double)samples[n - 1] / cycles_per_us;
	s->typical = (double)percentile(samples, n, 0.5) / cycles_per_us;
	s->p99 = (double)percentile(samples, n, 0.99) / cycles_per_us;
	s->p999 = (double)percentile(samples, n, 0.999) / cycles_per_us;
}

static int ascending_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median(double *v, uint64_t n)
{
	qsort(v, n, sizeof(*v), ascending_double);
	return v[n / 2];
}
