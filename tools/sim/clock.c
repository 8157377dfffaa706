// SPDX-License-Identifier: GPL-2.0
/* The clock: takes the next event, and jumps to its time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim.h"

#define DEFAULT_LIMIT_NS	1000000000000ULL
/* milliseconds have 32 bits in the core: they wrap 8 ms after the start */
#define DEFAULT_START_NS	((uint64_t)(uint32_t)-8 * 1000000)
#define DIGEST_START		0xcbf29ce484222325ULL
#define DIGEST_FACTOR		0x100000001b3ULL

struct sim sim;

static void mix(uint64_t v)
{
	sim.stats.digest = (sim.stats.digest ^ v) * DIGEST_FACTOR;
	sim.stats.digest ^= sim.stats.digest >> 29;
}

/**
 * sim_note() - add an event to the digest, and to the trace
 * @what: name
 * @nid: node
 * @a: detail; independent of addresses
 * @b: detail
 */
void sim_note(const char *what, uint32_t nid, uint64_t a, uint64_t b)
{
	const char *c;

	mix(sim.now - sim.o.start_ns);
	for (c = what; *c; c++)
		mix((uint64_t)*c << 32 | nid);
	mix(a);
	mix(b);
	if (sim.trace)
		fprintf(sim.trace, "%llu %s %u %llx %llx\n",
			(unsigned long long)(sim.now - sim.o.start_ns), what, nid,
			(unsigned long long)a, (unsigned long long)b);
}

static void defaults(struct rmc_sim_options *o)
{
	if (!o->nodes)
		o->nodes = 2;
	if (!o->ni)
		o->ni = "fused";
	if (!o->tick_us)
		o->tick_us = 1000;
	if (!o->start_ns)
		o->start_ns = DEFAULT_START_NS;
	if (!o->epoch)
		o->epoch = 1;
	if (!o->limit_ns)
		o->limit_ns = DEFAULT_LIMIT_NS;
}

/**
 * rmc_sim_init() - boot the nodes
 * @o: options
 *
 * Return: 0, -EBUSY a simulation exists, -EINVAL invalid options, -ENOMEM; -errno
 * where the trace cannot be written.
 */
int rmc_sim_init(const struct rmc_sim_options *o)
{
	int err;

	if (sim.node)
		return -EBUSY;
	memset(&sim, 0, sizeof(sim));
	sim.o = *o;
	defaults(&sim.o);
	if (o->costs)
		sim.cost = *o->costs;
	sim.now = sim.o.start_ns;
	sim.random = sim_random_seed(o->seed, 0);
	sim.stats.digest = DIGEST_START;
	sim_heap_init(&sim.heap, o->shuffle ? sim_random_seed(o->seed, 1) : 0);
	if (o->trace) {
		sim.trace = fopen(o->trace, "w");
		if (!sim.trace)
			return -errno;
	}
	err = sim_cluster_boot();
	if (err)
		rmc_sim_fini();
	return err;
}

/**
 * rmc_sim_fini() - mirror of rmc_sim_init(); the digest and counters stay
 */
void rmc_sim_fini(void)
{
	if (sim.node) {
		sim_cluster_count(&sim.stats);
		sim_cluster_free();
	}
	sim.node = NULL;
	sim_eventfd_reset();
	sim_heap_free(&sim.heap);
	if (sim.trace)
		fclose(sim.trace);
	sim.trace = NULL;
}

/**
 * rmc_sim_run() - run until all threads have returned
 *
 * Return: 0, or the number of threads that have not at the limit.
 */
int rmc_sim_run(void)
{
	uint64_t end = sim.o.start_ns + sim.o.limit_ns;
	struct sim_event *e;

	sim.running = true;
	while (sim.threads) {
		e = sim_heap_take(&sim.heap);
		if (!e || e->at > end)
			break;
		if (e->at > sim.now)
			sim.now = e->at;
		sim.stats.events++;
		sim_heap_prefetch(&sim.heap);
		e->fire(e);
	}
	sim.running = false;
	return sim.threads;
}

/**
 * rmc_sim_stats() - counters of the simulation
 * @s: out
 */
void rmc_sim_stats(struct rmc_sim_stats *s)
{
	if (sim.node)
		sim_cluster_count(&sim.stats);
	*s = sim.stats;
}

/* A call at a given time */
struct call {
	struct sim_event event;
	void (*fn)(void *arg);
	void *arg;
};

static void call_fire(struct sim_event *e)
{
	struct call *c = (struct call *)e;

	c->fn(c->arg);
	free(c);
}

/**
 * rmc_sim_at() - call a function at a given time, outside of all threads
 * @ns: when, since the start
 * @fn: function
 * @arg: of @fn
 *
 * Return: 0 or -ENOMEM.
 */
int rmc_sim_at(uint64_t ns, void (*fn)(void *arg), void *arg)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->event.fire = call_fire;
	c->fn = fn;
	c->arg = arg;
	sim_heap_set(&sim.heap, &c->event, sim.o.start_ns + ns);
	return 0;
}

/**
 * rmc_sim_random() - the next random number
 *
 * Return: 64 random bits.
 */
uint64_t rmc_sim_random(void)
{
	return sim_random(&sim.random);
}
