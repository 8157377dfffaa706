/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Poisson arrivals: see load.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "zipf.h"
#include "load.h"

/* Streams of random numbers */
enum { GAPS, SERVICE_TIMES, KEYS };

int trace_init(struct trace *t, const struct service *s, size_t n, uint64_t seed)
{
	uint64_t gaps = stream_seed(seed, GAPS), times = stream_seed(seed, SERVICE_TIMES);
	uint64_t keys = stream_seed(seed, KEYS);
	size_t i;

	memset(t, 0, sizeof(*t));
	t->n = n;
	t->mean = service_mean(s);
	t->gap = (double *)calloc(n, sizeof(*t->gap));
	t->m = (struct message *)calloc(n, sizeof(*t->m));
	t->latency = (uint64_t *)calloc(n, sizeof(*t->latency));
	if (!t->gap || !t->m || !t->latency) {
		trace_destroy(t);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		t->gap[i] = draw_exponential(&gaps);
		t->m[i].service = service_draw(s, &times);
		t->m[i].key = (uint32_t)(random_next(&keys) >> 32);
	}
	return 0;
}

void trace_destroy(struct trace *t)
{
	free(t->gap);
	free(t->m);
	free(t->latency);
	memset(t, 0, sizeof(*t));
}

int run_at(struct trace *t, const struct queueing *x, double load)
{
	unsigned int servers = x->queues ? x->queues * x->servers : x->host.cores;
	double at = 0, between = t->mean / servers / load;
	size_t i;

	for (i = 0; i < t->n; i++) {
		at += t->gap[i] * between;
		t->m[i].arrives = (uint64_t)at;
	}
	if (!x->queues)
		return dispatch_run(&x->host, t->m, t->n, t->latency);
	queues_run(x->queues, x->servers, t->m, t->n, t->latency);
	return 0;
}

uint64_t tail(struct trace *t, unsigned int permille)
{
	size_t warm = t->n / 10;

	return percentile(t->latency + warm, t->n - warm, permille);
}

int highest_load(struct trace *t, const struct queueing *x, unsigned int permille, uint64_t limit,
		 double *load)
{
	unsigned int low = 0, high = 1000;	/* thousandths; high is too much */

	while (high - low > 1) {
		unsigned int middle = (low + high) / 2;
		int err = run_at(t, x, middle * LOAD_STEP);

		if (err)
			return err;
		if (tail(t, permille) <= limit)
			low = middle;
		else
			high = middle;
	}
	*load = low * LOAD_STEP;
	return 0;
}
