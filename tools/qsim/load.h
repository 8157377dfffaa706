/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Poisson arrivals of a given load, and the highest load under a limit of a percentile. The same
 * random numbers are used at every load and in every system, so that differences are theirs.
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
 * struct setup - a system to measure
 * @queues: of an X x Y system, computed exactly; 0: @server instead, by events
 * @servers: of each of its queues
 * @server: cores and their dispatcher
 */
struct setup {
	unsigned int queues, servers;
	struct server server;
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
int run_at(struct trace *t, const struct setup *x, double load);

/* Percentile of the latencies of the last run, without the first tenth; changes their order */
uint64_t tail(struct trace *t, double p);

/**
 * highest_load() - the highest load at which a percentile stays below a limit
 * @t: trace
 * @x: system
 * @p: percentile, 0 .. 1
 * @limit: picoseconds
 * @load: it, to 0.001; 0 if there is none
 *
 * Returns 0, or -ENOMEM.
 */
int highest_load(struct trace *t, const struct setup *x, double p, uint64_t limit, double *load);

#endif /* QSIM_LOAD_H */
