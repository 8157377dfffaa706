/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Native messages of the RMC (T18 chapter 5), between two nodes: one process has one end, a core of
 * its node's domain. A received message is copied, as the other engines do, though it can be read
 * in place. It is released once the end waits for the next one, so that in a ping-pong the answer
 * goes first, as a server's does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/domain.h>
#include <rmc/rmc.h>
#include "memlock.h"
#include "netpipe.h"
#include "opt.h"
#include "path.h"

#define DEPTH		16
#define SLOT_BYTES	(4U << 20)	/* receive slots of a node, at most, if these are not too few */
#define SLOTS_MIN	4
#define SLOTS_MAX	256

struct state {
	struct rmc_team *team;
	struct rmc_domain *domain;
	struct rmc_core *core;
	struct rmc_arrival last;	/* received, not yet released if held */
	bool held;
	int nid;			/* of the other end */
	unsigned int slots;
};

static struct state *of(const struct netpipe_end *end)
{
	return (struct state *)end->state;
}

static void check(const char *what, int err)
{
	if (rmc_unlikely(err))
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

static void native_send(struct netpipe_end *end, size_t len)
{
	check("send", rmc_send(of(end)->core, of(end)->nid, end->out, len, 0));
}

static void release(struct state *s)
{
	if (s->held)
		check("receive", rmc_receive(s->core, &s->last));
	s->held = false;
}

static void native_recv(struct netpipe_end *end, size_t len)
{
	struct state *s = of(end);
	struct rmc_arrival *m = &s->last;
	unsigned int spins = 0;
	int err;

	release(s);
	while (!(err = rmc_arrival_next(s->core, m)))
		check("wait", rmc_relax(s->core->qp, &spins));
	if (rmc_unlikely(err < 0))
		check("receive", err);
	s->held = true;
	if (rmc_unlikely(m->len != len))
		die(EXIT_FAILED, "%u bytes came, not %zu: same options everywhere?", m->len, len);
	memcpy(end->in, rmc_arrival_bytes(s->core, m), len);
}

static void native_flush(struct netpipe_end *end)
{
	release(of(end));
	check("flush", rmc_core_flush(of(end)->core));
}

static const char *native_path(const struct netpipe_end *end, size_t len, int pull)
{
	const struct state *s = of(end);

	(void)pull;
	return path_name(s->team->ctx, s->nid, len);
}

/* As many slots as SLOT_BYTES hold, for all nodes of the run */
static unsigned int slots_for(const struct state *s, uint64_t size)
{
	uint64_t n = SLOT_BYTES / (uint64_t)s->team->nodes / (size + 64);

	return n < SLOTS_MIN ? SLOTS_MIN : n > SLOTS_MAX ? SLOTS_MAX : (unsigned int)n;
}

static void open_domain(struct state *s, const struct netpipe_options *o)
{
	struct rmc_domain_options d;

	rmc_domain_defaults(&d);
	d.first_nid = (unsigned int)rmc_team_nid(s->team, 0);
	d.nodes = (unsigned int)s->team->nodes;
	d.slots = s->slots = slots_for(s, o->size);
	d.max_message = (unsigned int)o->size;
	d.depth = DEPTH;
	d.cores = 1;
	s->domain = rmc_domain_open_with(s->team->ctx, &d);
	if (s->domain)
		s->core = rmc_core_open(s->domain, 0, 0);
	if (!s->core)
		die(EXIT_FAILED, "%s", rmc_errmsg());
}

static void native_open(struct netpipe_ends *ends, const struct netpipe_options *o)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)o->ctx_id, .numa_node = -1, .flags = RMC_TEAM_SLEEP,
	};
	struct state *s = (struct state *)calloc(1, sizeof(*s));
	struct netpipe_end *end;

	if (!s)
		die(EXIT_FAILED, "out of memory");
	if (o->size > RMC_MAX_MESSAGE)
		die(EXIT_USAGE, "--size: native messages have at most %d bytes", RMC_MAX_MESSAGE);
	memlock_raise();
	s->team = rmc_team_open_with(&t, 4096);
	if (!s->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	s->nid = netpipe_peer(s->team, o->peer);
	open_domain(s, o);
	ends->state = s;
	if (s->team->self && rmc_team_nid(s->team, s->team->self) != s->nid)
		return;
	end = &ends->end[!!s->team->self];
	if (s->team->self)
		s->nid = rmc_team_nid(s->team, 0);
	end->engine = &netpipe_native;
	end->state = s;
	end->in = (uint8_t *)calloc(1, o->size);
	end->out = (uint8_t *)calloc(1, o->size);
	if (!end->in || !end->out)
		die(EXIT_FAILED, "no memory for two buffers of %llu bytes",
		    (unsigned long long)o->size);
}

/* Nodes without an end sleep here. */
static void native_close(struct netpipe_ends *ends)
{
	struct state *s = (struct state *)ends->state;
	int i;

	check("last barrier", rmc_team_barrier(s->team));
	rmc_core_close(s->core);
	rmc_domain_close(s->domain);
	rmc_team_close(s->team);
	for (i = 0; i < 2; i++) {
		free(ends->end[i].in);
		free(ends->end[i].out);
	}
	free(s);
}

static void native_json(const struct netpipe_end *end, struct json *j)
{
	const struct rmc_query *q = rmc_query(of(end)->team->ctx);

	json_string(j, "fabric", rmc_fabric_name(q->fabric));
	json_string(j, "ni", rmc_ni_name(q->ni));
	json_bool(j, "shared_cpu", q->shared_cpu != 0);
	json_uint(j, "slots", of(end)->slots);
}

static void native_print(const struct netpipe_end *end)
{
	const struct rmc_query *q = rmc_query(of(end)->team->ctx);

	printf(" Fabric          : %s, %u nodes, ni %s%s\n", rmc_fabric_name(q->fabric), q->nodes,
	       rmc_ni_name(q->ni), q->shared_cpu ? ", CPUs shared with workers" : "");
	printf(" Slots           : %u per pair of nodes\n", of(end)->slots);
}

const struct netpipe_engine netpipe_native = {
	.name = "native", .transport = "rmc-native", .title = "RMC native messages",
	.way = "push", .open = native_open, .send = native_send, .recv = native_recv,
	.flush = native_flush, .close = native_close, .path = native_path,
	.json = native_json, .print = native_print,
};
