/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Messages of librmc, between two nodes: one process has one end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rmc/rmc.h>
#include "memlock.h"
#include "netpipe.h"
#include "opt.h"
#include "path.h"

struct state {
	struct rmc_team *team;
	struct rmc_msg *msg;
	int nid;			/* of the other end */
	int cells;
	uint8_t *in;
	size_t len;			/* of in[] */
};

static void check(const char *what, int err)
{
	if (rmc_unlikely(err))
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

static struct state *of(const struct netpipe_end *end)
{
	return (struct state *)end->state;
}

static void msg_send(struct netpipe_end *end, size_t len)
{
	struct state *s = of(end);

	check("send", rmc_msg_send(s->msg, s->nid, end->out, len, RMC_MSG_ASYNC));
}

static void msg_recv(struct netpipe_end *end, size_t len)
{
	struct state *s = of(end);
	size_t got;

	check("receive", rmc_msg_recv(s->msg, s->nid, end->in, len, &got, NULL,
				      RMC_MSG_REGISTERED));
	if (rmc_unlikely(got != len))
		die(EXIT_FAILED, "%zu bytes came, not %zu: same options everywhere?", got, len);
}

static void msg_flush(struct netpipe_end *end)
{
	check("flush", rmc_msg_flush(of(end)->msg, of(end)->nid));
}

static void msg_set_pull(struct netpipe_end *end, int pull)
{
	rmc_msg_set_threshold(of(end)->msg, pull ? 0 : SIZE_MAX);
}

/* A pull is one read of the message; a push is writes of cells, a quarter of them at most. */
static const char *msg_path(const struct netpipe_end *end, size_t len, int pull)
{
	const struct state *s = of(end);
	uint64_t bytes = len, most = (uint64_t)s->cells * RMC_MSG_CELL / 4;

	if (!pull) {
		bytes = (len + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD * RMC_MSG_CELL;
		if (bytes > 2 * most)		/* less than half of all cells are one write */
			bytes = most;
	}
	return path_name(s->team->ctx, s->nid, bytes);
}

static void msg_open(struct netpipe_ends *ends, const struct netpipe_options *o)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)o->ctx_id, .numa_node = -1, .flags = RMC_TEAM_SLEEP,
	};
	size_t len = (o->size + 4095) & ~(size_t)4095, rings;
	struct state *s = (struct state *)calloc(1, sizeof(*s));
	struct netpipe_end *end;
	struct rmc_msg_options m;
	void *p;

	if (!s)
		die(EXIT_FAILED, "out of memory");
	memlock_raise();
	rings = rmc_msg_bytes(opt_env_int("RMC_NODES", 1, 1), (unsigned int)o->cells);
	rings = (rings + 4095) & ~(size_t)4095;
	s->team = rmc_team_open_with(&t, rings + len);
	if (!s->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	s->nid = netpipe_peer(s->team, o->peer);
	rmc_msg_defaults(&m);
	m.cells = (unsigned int)o->cells;
	m.threshold = o->threshold;
	s->msg = rmc_msg_open_with(s->team, &m);
	if (!s->msg)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || rmc_buf_register(s->team->ctx, p, len) < 0)
		die(EXIT_FAILED, "no memory for a buffer of %zu bytes: %s", len, rmc_errmsg());
	memset(p, 0, len);
	s->in = (uint8_t *)p;
	s->len = len;
	s->cells = o->cells;
	ends->state = s;
	if (s->team->self && rmc_team_nid(s->team, s->team->self) != s->nid)
		return;
	end = &ends->end[!!s->team->self];
	if (s->team->self)
		s->nid = rmc_team_nid(s->team, 0);
	end->engine = &netpipe_msg;
	end->state = s;
	end->in = s->in;
	end->out = (uint8_t *)s->team->seg + rings;
}

/* Nodes without an end sleep here. */
static void msg_close(struct netpipe_ends *ends)
{
	struct state *s = (struct state *)ends->state;

	check("last barrier", rmc_team_barrier(s->team));
	rmc_msg_close(s->msg);
	rmc_team_close(s->team);
	munmap(s->in, s->len);
	free(s);
}

static void msg_json(const struct netpipe_end *end, struct json *j)
{
	const struct rmc_query *q = rmc_query(of(end)->team->ctx);

	json_string(j, "fabric", rmc_fabric_name(q->fabric));
	json_string(j, "ni", rmc_ni_name(q->ni));
	json_bool(j, "shared_cpu", q->shared_cpu != 0);
	json_int(j, "cells", of(end)->cells);
}

static void msg_print(const struct netpipe_end *end)
{
	const struct rmc_query *q = rmc_query(of(end)->team->ctx);

	printf(" Fabric          : %s, %u nodes, ni %s%s\n", rmc_fabric_name(q->fabric), q->nodes,
	       rmc_ni_name(q->ni), q->shared_cpu ? ", CPUs shared with workers" : "");
	printf(" Cells           : %d of 64 B per direction\n", of(end)->cells);
}

const struct netpipe_engine netpipe_msg = {
	.name = "msg", .transport = "rmc", .title = "RMC send/receive",
	.open = msg_open, .send = msg_send, .recv = msg_recv, .flush = msg_flush,
	.close = msg_close, .path = msg_path, .set_pull = msg_set_pull,
	.json = msg_json, .print = msg_print,
};
