/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Poisson arrivals of a given load, and the highest load under a limit of a percentile. Every load
 * and every system gets the same random numbers, which lowers the noise of their differences.
 */
#ifndef QSIM_LOAD_H
#define QSIM_LOAD_H

#include "dispatch.h"
#include "service.h"

/**
 * struct trace - messages before their load is known
 * @n: number of messages
 * @gap: between arrivals, in units of the mean
 * @m: their services and keys; arrivals are those of the last load
 * @latency: of the last run
 * @mean: of the services, picoseconds
 */
struct trace {
	size_t n;
	double *gap;
	struct message *m;
	uint64_t *latency;
	double mean;
};

/**
 * struct queueing - a queueing system
 * @queues: of an X x Y system, computed exactly; 0: @host instead, by events
 * @hosts: of each of its queues
 * @host: cores and their dispatcher
 */
struct queueing {
	unsigned int queues, servers;
	struct host host;
};

/* Returns 0, or -ENOMEM. */
int trace_init(struct trace *t, const struct service *s, size_t n, uint64_t seed);
void trace_destroy(struct trace *t);

/**
 * run_at() - run a trace
 * @t: trace; its latencies are those of this run
 * @x: system
 * @load: of all servers, 0 .. 1: mean service time / time between arrivals / servers
 *
 * Returns 0, or -ENOMEM.
 */
int run_at(struct trace *t, const struct queueing *x, double load);

/*
 * Percentile, in thousandths, of the latencies of the last run, without the first tenth; changes
 * their order
 */
uint64_t tail(struct trace *t, unsigned int permille);

/**
 * highest_load() - the highest load at which a percentile is within a limit
 * @t: trace
 * @x: system
 * @permille: percentile, in thousandths
 * @limit: picoseconds
 * @load: it, to 0.001; 0 if there is none, HIGHEST if all are. By bisection: the percentile is
 *	taken to grow with the load
 *
 * Returns 0, or -ENOMEM.
 */
int highest_load(struct trace *t, const struct queueing *x, unsigned int permille, uint64_t limit,
		 double *load);

/* Steps of load, and the highest one that is tried */
#define LOAD_STEP	0.001
#define HIGHEST		0.999

#endif /* QSIM_LOAD_H */
