// SPDX-License-Identifier: GPL-2.0
/*
 * Faults, and the link model, on the links that end in this kernel. Each end belongs to a
 * worker, which makes the change.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include "../core/order.h"
#include "link.h"

/* Time for a filter to drain; a worker passes on held packets within a few visits */
#define DRAIN_MS	1000
/* Times to look again, a millisecond apart, when senders of this kernel were hurried */
#define HURRIED		10

/**
 * rmc_link_count() - ends of links in this kernel
 * @rmc: device
 *
 * Return: number of ends: for each unit, one per endpoint of the fabric.
 */
u32 rmc_link_count(const struct rmc_device *rmc)
{
	const struct rmc_fabric *f = &rmc->port->fabric;

	return rmc->port->locals * rmc_fabric_units(f) * f->endpoints;
}

/**
 * rmc_link_unit() - unit at an end of a link
 * @rmc: device
 * @i: index, less than rmc_link_count(); modulo endpoints it is the other end
 *
 * Return: unit.
 */
struct rmc_node *rmc_link_unit(const struct rmc_device *rmc, u32 i)
{
	u32 unit = i / rmc->port->fabric.endpoints;
	u32 units = rmc_fabric_units(&rmc->port->fabric);

	return rmc->node[unit / units]->unit[unit % units];
}

static struct rmc_ni_worker *worker_of(struct rmc_node *node, enum rmc_lane lane)
{
	return lane == RMC_LANE_REQ ? node->srv_worker : node->req_worker;
}

/* Arguments of a call on a worker; each call uses some of them. */
struct change {
	struct rmc_node *node;
	enum rmc_lane lane;
	u32 peer;
	const struct rmc_fault *fault;
	u64 seed;
	struct rmc_filter *filter;	/* in: new filter to install; out: filter to free */
	u32 slow_ns;			/* SLOW_KEPT: unchanged */
	const struct rmc_rnic *rnic;	/* NULL: unchanged */
	bool stop;
	bool hurried;			/* out: the sender had something to do earlier */
};

#define SLOW_KEPT	(~0U)

static int set_filter(void *arg)
{
	struct change *c = arg;
	struct rmc_filter *flt = c->node->links.filter[c->lane][c->peer];
	int err = 0;

	if (!flt) {
		flt = c->filter;
		c->filter = NULL;
	}
	/* no memory the last time: the channel does without so far */
	if (!flt->rx)
		err = rmc_channel_add_filter(c->node, c->peer, flt);
	rmc_filter_set(flt, c->fault, c->seed);
	/* a cut link is an event: have peers polled */
	rmc_os_inc_release(&c->node->fabric->changes);
	return err;
}

static int refresh(void *arg)
{
	struct change *c = arg;
	int err = 0;

	if (c->slow_ns != SLOW_KEPT)
		c->node->links.slow_ns = c->slow_ns;
	if (c->rnic && c->lane == RMC_LANE_REQ)
		return rmc_channel_set_adapter(c->node, c->rnic, c->seed);
	if (c->rnic)
		err = rmc_rnic_set_client(&c->node->links, c->rnic, c->seed);
	return err ?: rmc_channel_refresh(c->node, c->lane);
}

static int remove_idle(void *arg)
{
	struct change *c = arg;
	struct rmc_filter *flt = c->node->links.filter[c->lane][c->peer];
	int err;

	c->filter = NULL;
	if (!flt || !rmc_filter_idle(&c->node->links, flt))
		return 0;
	err = rmc_channel_del_filter(c->node, c->peer, c->lane);
	if (!err)
		c->filter = flt;
	return err;
}

static int hurry(void *arg)
{
	struct change *c = arg;

	c->hurried = rmc_order_hurry(c->node->fabric->local[c->peer], c->node->nid);
	return 0;
}

static int stop_lane(void *arg)
{
	struct change *c = arg;

	if (c->lane == RMC_LANE_REQ)
		WRITE_ONCE(c->node->srv_stopped, c->stop);
	else
		WRITE_ONCE(c->node->req_stopped, c->stop);
	/* peers may have left and rejoined: notice before the next packet */
	if (!c->stop)
		rmc_ni_tick(worker_of(c->node, c->lane), rmc_os_now_ns());
	return 0;
}

/* What one look at all filters has found */
struct sweep {
	bool any;	/* something is on, or a filter is left */
	bool hurried;	/* the sender of one, in this kernel, was told that somebody waits */
	u32 lossy;	/* filters that wait for senders */
	u32 full;	/* filters that hold packets still */
};

/* Is anything on at a unit, but its filters? */
static bool unit_uses_filters(const struct rmc_node *node)
{
	const struct rmc_links *l = &node->links;

	return l->slow_ns || node->req_stopped || node->srv_stopped || rmc_rnic_on(&l->rnic) ||
	       l->rnic_client || READ_ONCE(l->sw);
}

/* Remove an idle filter. A packet in it may need until @end. Returns what remove_idle() does. */
static int remove_filter(struct change *c, unsigned long end)
{
	int err;

	do {
		err = rmc_worker_call(worker_of(c->node, c->lane), remove_idle, c);
		if (err != -EAGAIN || c->node->req_stopped || c->node->srv_stopped)
			break;
		usleep_range(100, 500);
	} while (time_before(jiffies, end));
	rmc_filter_destroy(c->filter);
	return err;
}

static struct sweep sweep_once(struct rmc_device *rmc, unsigned long end, bool hurries)
{
	struct rmc_fabric *f = &rmc->port->fabric;
	struct sweep s = { .any = f->model.topology != RMC_TOPOLOGY_NONE };
	struct change c = { };
	int err;
	u32 i;

	for (i = 0; i < rmc_link_count(rmc) * RMC_LANES; i++) {
		c.node = rmc_link_unit(rmc, i / RMC_LANES);
		c.peer = i / RMC_LANES % f->endpoints;
		c.lane = i % RMC_LANES;
		s.any |= unit_uses_filters(c.node);
		if (!READ_ONCE(c.node->links.filter[c.lane][c.peer]))
			continue;
		c.hurried = false;
		err = remove_filter(&c, end);
		if (err == -EBUSY && hurries && f->local[c.peer])
			rmc_worker_call(worker_of(f->local[c.peer], RMC_LANE_REP), hurry, &c);
		s.hurried |= c.hurried;
		s.lossy += err == -EBUSY;
		s.full += err == -EAGAIN;
		s.any |= !!READ_ONCE(c.node->links.filter[c.lane][c.peer]);
	}
	return s;
}

/**
 * rmc_link_sweep() - remove idle filters
 * @rmc: device; its fault_lock is held
 *
 * Filters of a stopped node stay while they hold packets. Those that have lost some of an ordered
 * queue pair stay until its node has noticed, see rmc_filter_drain(); one of this kernel that could
 * notice now is told that somebody waits, and has some ticks to do so. debugfs shows the others,
 * and the next sweep removes them. Context: may sleep, DRAIN_MS and HURRIED ms at most for all.
 */
void rmc_link_sweep(struct rmc_device *rmc)
{
	unsigned long end = jiffies + msecs_to_jiffies(DRAIN_MS);
	struct rmc_fabric *f = &rmc->port->fabric;
	struct sweep s;
	int i;

	lockdep_assert_held(&rmc->fault_lock);
	s = sweep_once(rmc, end, true);
	for (i = s.hurried ? HURRIED : 0; i && s.lossy + s.full; i--) {
		usleep_range(1000, 1500);
		s = sweep_once(rmc, end, false);
	}
	if (s.full)
		pr_notice("%u filters without faults stay, since they hold packets: clear them again later\n",
			  s.full);
	WRITE_ONCE(rmc_filters, s.any);
	/* without a filter no worker uses what they share */
	if (f->shared && !s.any) {
		rmc_model_unshare(f->shared);
		f->shared = NULL;
	}
}

/**
 * rmc_link_set() - set the faults of one lane of a link
 * @node: unit that receives them
 * @peer: endpoint that they come from
 * @lane: lane
 * @fault: faults
 * @seed: seed of the random numbers; 0: keep the current sequence
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_link_set(struct rmc_node *node, u32 peer, enum rmc_lane lane,
		 const struct rmc_fault *fault, u64 seed)
{
	struct change c = {
		.node = node, .peer = peer, .lane = lane, .fault = fault, .seed = seed,
	};
	int err;

	c.filter = rmc_filter_create(node->fabric, lane, true);
	if (!c.filter)
		return -ENOMEM;
	err = rmc_worker_call(worker_of(node, lane), set_filter, &c);
	rmc_filter_destroy(c.filter);
	return err;
}

static int refresh_node(struct rmc_node *node, enum rmc_lane lane, u32 slow_ns)
{
	struct change c = { .node = node, .lane = lane, .slow_ns = slow_ns };

	return rmc_worker_call(worker_of(node, lane), refresh, &c);
}

/**
 * rmc_link_slow() - set a server's additional service time per request
 * @node: unit
 * @slow_ns: nanoseconds; 0: none
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_link_slow(struct rmc_node *node, u32 slow_ns)
{
	return refresh_node(node, RMC_LANE_REQ, slow_ns);
}

/**
 * rmc_link_rnic() - model the adapter of a unit
 * @node: unit
 * @rnic: adapter, checked
 * @seed: seed of its random numbers; 0: keep the current sequence
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_link_rnic(struct rmc_node *node, const struct rmc_rnic *rnic, u64 seed)
{
	struct change c = { .node = node, .slow_ns = SLOW_KEPT, .rnic = rnic, .seed = seed };
	int err;

	c.lane = RMC_LANE_REQ;
	err = rmc_worker_call(worker_of(node, c.lane), refresh, &c);
	c.lane = RMC_LANE_REP;
	return rmc_worker_call(worker_of(node, c.lane), refresh, &c) ?: err;
}

/**
 * rmc_link_stop() - stop one half of a unit, or let it continue
 * @node: unit
 * @lane: lane that the half reads
 * @stop: true: stop
 *
 * Context: may sleep.
 */
void rmc_link_stop(struct rmc_node *node, enum rmc_lane lane, bool stop)
{
	struct change c = { .node = node, .lane = lane, .stop = stop };

	rmc_worker_call(worker_of(node, lane), stop_lane, &c);
}

/* All units take a model over: workers have copies, which they change themselves. */
static int use_model(struct rmc_device *rmc, const struct rmc_model *m)
{
	u32 i, u, units = rmc_fabric_units(&rmc->port->fabric);
	int err = 0;

	rmc->port->fabric.model = *m;
	for (i = 0; i < rmc->port->locals; i++)
		for (u = 0; u < units; u++) {
			struct rmc_node *unit = rmc->node[i]->unit[u];

			err = refresh_node(unit, RMC_LANE_REQ, SLOW_KEPT) ?: err;
			err = refresh_node(unit, RMC_LANE_REP, SLOW_KEPT) ?: err;
		}
	return err;
}

/**
 * rmc_link_model() - set the link model of all links
 * @rmc: device; its fault_lock is held
 * @m: model, any values; without a topology its one_way says nothing
 *
 * Return: 0, -EINVAL, -ERANGE, -ENOSPC as rmc_model_check(), -EXDEV: one_way needs all
 * nodes in one kernel, -ENOMEM: there is no model now. Context: may sleep.
 */
int rmc_link_model(struct rmc_device *rmc, const struct rmc_model *m)
{
	bool one_way = m->one_way && m->topology != RMC_TOPOLOGY_NONE;
	struct rmc_model model = *m, none = { };
	struct rmc_fabric *f = &rmc->port->fabric;
	int err = rmc_model_check(m, f->nodes);

	lockdep_assert_held(&rmc->fault_lock);
	if (err == -ENOSPC)
		pr_err("%ux%ux%u places are too few for %u nodes\n", m->dim[0], m->dim[1],
		       m->dim[2], f->nodes);
	if (err)
		return err;
	if (one_way && f->sync) {
		pr_err("one_way needs all nodes in one kernel: fabric=loopback\n");
		return -EXDEV;
	}
	if (one_way && !f->shared)
		f->shared = rmc_model_share(f->nodes, f->endpoints, f->ring_order);
	if (one_way && !f->shared)
		return -ENOMEM;
	WRITE_ONCE(rmc_filters, true);
	if (f->shared) {
		/* the old model ends everywhere before its ports and times are forgotten */
		use_model(rmc, &none);
		rmc_model_reset(f->shared);
	}
	model.one_way = one_way;
	err = use_model(rmc, &model);
	if (err)
		use_model(rmc, &none);
	rmc_link_sweep(rmc);
	return err;
}
