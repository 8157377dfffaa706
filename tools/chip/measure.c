/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Windows of a simulated chip: see measure.h */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "measure.h"

#define STABLE		0.01

static void window(const struct chip_stats *a, const struct chip_stats *b, uint64_t cycles,
		   struct bandwidth *w)
{
	double ns = (double)cycles / GHZ;

	w->in = (double)(b->bytes_in - a->bytes_in) / ns;
	w->out = (double)(b->bytes_out - a->bytes_out) / ns;
	w->traffic = (double)(b->noc.flits_in - a->noc.flits_in) * P_link / ns;
	w->east = (double)(b->noc.east - a->noc.east) * P_link / ns;
	w->west = (double)(b->noc.west - a->noc.west) * P_link / ns;
	w->latency = b->requests == a->requests ? NAN :
		(double)(b->cycles_of_requests - a->cycles_of_requests) /
		(double)(b->requests - a->requests);
}

int measure_bandwidth(const struct config *config, uint64_t cycles, unsigned int windows,
		      struct bandwidth *b)
{
	struct chip *c = (struct chip *)malloc(sizeof(*c));
	double before = 0;
	unsigned int i;
	int err;

	if (!c)
		return -ENOMEM;
	err = chip_init(c, config);
	for (i = 0; !err && i < windows; i++) {
		struct chip_stats start = c->stats;

		err = chip_run(c, (i + 1) * cycles, UINT64_MAX);
		if (err)
			break;
		window(&start, &c->stats, cycles, b);
		b->windows = i + 1;
		/* the first one also fills the chip */
		if (i > 1 && fabs(b->in + b->out - before) < STABLE * before)
			break;
		before = b->in + b->out;
		b->windows = 0;
	}
	chip_destroy(c);
	free(c);
	return err;
}

int measure_latency(const struct config *config, unsigned int cores, unsigned int reads,
		    double *latency)
{
	struct chip *c = (struct chip *)malloc(sizeof(*c));
	struct config one = *config;
	double sum = 0;
	unsigned int i;
	int err = c ? 0 : -ENOMEM;

	one.window = one.cores = 1;
	for (i = 0; !err && i < cores; i++) {
		one.first_core = i * (CORES / cores);
		one.seed = config->seed + i;
		err = chip_init(c, &one);
		if (err)
			break;
		err = chip_run(c, UINT64_MAX, reads);
		sum += (double)c->stats.cycles_of_requests / reads;
		chip_destroy(c);
	}
	*latency = sum / cores;
	free(c);
	return err;
}
