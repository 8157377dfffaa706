// SPDX-License-Identifier: GPL-2.0
/*
 * Closes both ends of channels that a transport wants to free (rmc_port.retire): first the
 * requester's, on its worker, then the servers', on theirs.
 */
#include "retire.h"
#include "worker.h"

struct retiring {
	struct rmc_port *port;
	struct rmc_retire *retire;
	struct rmc_ni_worker *worker;
};

static bool is_unused(struct rmc_port *port, u32 ep)
{
	return !READ_ONCE(port->fabric.local[ep]->qps);
}

static int close_out(void *arg)
{
	struct retiring *c = arg;
	struct rmc_retire *r = c->retire;
	const struct rmc_fabric *f = &c->port->fabric;
	struct rmc_node *unit = f->local[r->from];
	u32 nid;

	BUILD_BUG_ON(RMC_MAX_UNITS > RMC_RETIRE_BATCH);
	for (nid = 0; nid < f->nodes && r->n + rmc_fabric_rrpps(f) <= RMC_RETIRE_BATCH; nid++)
		if (r->may(c->port, r, nid, is_unused(c->port, r->from)) &&
		    rmc_out_retire(unit, nid))
			r->closed(c->port, r, nid);
	return 0;
}

static int close_in(void *arg)
{
	struct retiring *c = arg;
	struct rmc_retire *r = c->retire;
	struct rmc_node **local = c->port->fabric.local;
	u32 i;

	for (i = 0; i < r->n; i++)
		if (local[r->to[i]]->srv_worker == c->worker)
			rmc_in_retire(local[r->to[i]], r->from);
	return 0;
}

/* Context: may sleep. */
static void retire(struct rmc_port *port, struct rmc_retire *r)
{
	struct retiring c = { .port = port, .retire = r };
	struct rmc_node **local = port->fabric.local;
	u32 i, k;

	rmc_worker_call(local[r->from]->req_worker, close_out, &c);
	for (i = 0; i < r->n; i++) {
		c.worker = local[r->to[i]]->srv_worker;
		for (k = 0; k < i; k++)
			if (local[r->to[k]]->srv_worker == c.worker)
				break;
		if (k == i)
			rmc_worker_call(c.worker, close_in, &c);
	}
}

/**
 * rmc_retire_init() - set the functions of a port that close channels
 * @port: port; its nodes and workers exist while the transport is started
 */
void rmc_retire_init(struct rmc_port *port)
{
	port->unused = is_unused;
	port->retire = retire;
}
