/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains of nodes 0 and 1 of a testbed, through the library: both ends of each, of which one thread
 * is the application. Messages are read in place, a word of each line.
 */
#ifndef BENCH_NATIVE_ENDS_H
#define BENCH_NATIVE_ENDS_H

#include "message_ends.h"
#include "context.h"

#define SLOTS		64
#define DEPTH		RMC_DISPATCH_DEPTH
#define SENDERS		2		/* cores of node 0, if node 1 has as many */
#define MANY		64		/* most cores of a node */

/* A domain of nodes 0 and 1, both ends of it */
struct domain {
	struct rmc_lib_core *core[2][MANY];
	u32 cores[2];
	u32 polled;			/* by the application, of node 1 */
	u32 busy;			/* core that had the last arrival */
};

static u8 source[END_LARGEST] __attribute__((aligned(64)));

static void check(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "native_bench: %s: %s\n", what, rmc_strerror(err));
	exit(1);
}

/* The worker of @w runs. */
static void open_domain(struct domain *d, struct testbed *w, u32 ctx_id, u32 policy, u32 receivers,
			u32 max_answer)
{
	struct rmc_domain_options o;
	struct rmc_lib_domain *node[2];
	u32 nid, i;

	rmc_domain_defaults(&o);
	o.slots = SLOTS;
	o.max_message = END_LARGEST;
	o.max_answer = max_answer;
	o.policy = policy;
	o.depth = DEPTH;
	o.cores = MANY;
	o.entries = BENCH_ENTRIES;
	for (nid = 0; nid < 2; nid++) {
		node[nid] = rmc_domain_open_with(bench_context(w, nid, ctx_id), &o);
		if (!node[nid])
			check(rmc_errmsg(), -errno);
	}
	d->cores[0] = receivers < SENDERS ? receivers : SENDERS;
	d->cores[1] = receivers;
	d->polled = receivers;
	for (nid = 0; nid < 2; nid++) {
		for (i = 0; i < d->cores[nid]; i++) {
			d->core[nid][i] = rmc_core_open(node[nid], 0, 0);
			if (!d->core[nid][i])
				check(rmc_errmsg(), -errno);
		}
	}
}

static void flush(struct domain *d)
{
	u32 nid, i;

	for (nid = 0; nid < 2; nid++)
		for (i = 0; i < d->cores[nid]; i++)
			check("flush", rmc_core_flush(d->core[nid][i]));
}

/* Read a message in place: a word of each line. */
static void look(const u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += RMC_LINE)
		(void)*(const volatile u8 *)(p + i);
	if (p[len - 1] != (u8)len) {
		fprintf(stderr, "native_bench: not what was sent\n");
		exit(1);
	}
}

static void set_source(u32 size)
{
	memset(source, 0, sizeof(source));
	source[size - 1] = (u8)size;
}

/* The next arrival at a core of a node, and which one has it; it has been read. */
static bool take(struct domain *d, u32 nid, struct rmc_arrival *m, u32 *core)
{
	u32 cores = nid ? d->polled : d->cores[0], i, k = d->busy;
	int n;

	for (i = 0; i < cores; i++, k++) {
		k = k < cores ? k : 0;
		n = rmc_arrival_next(d->core[nid][k], m);
		if (!n)
			continue;
		check("arrival", n < 0 ? n : 0);
		look(rmc_arrival_bytes(d->core[nid][k], m), m->len);
		d->busy = k;
		*core = k;
		return true;
	}
	return false;
}

/* From node @from to the other one: ticks until it was read; it is received, too */
static u64 transfer(struct domain *d, u32 from, u32 size)
{
	u64 t0 = bench_ticks(), t;
	struct rmc_arrival m;
	u32 core;

	check("send", rmc_send(d->core[from][0], !from, source, size, 0));
	while (!take(d, !from, &m, &core))
		rmc_pause();
	t = bench_ticks() - t0;
	check("receive", rmc_receive(d->core[!from][core], &m));
	return t;
}

#endif
