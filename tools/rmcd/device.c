// SPDX-License-Identifier: GPL-2.0
/* Starts and stops the port, its nodes and workers: kmod/run/device.c for a process. */
#include <errno.h>
#include <time.h>
#include "faults.h"

/* Between checks whether a node is up */
#define UP_INTERVAL_NS	(200 * 1000)
/* Clients wait while an administrator lets a node join */
#define UP_WAIT_MS	200

static u32 now_ms(void)
{
	return rmc_os_ns_to_ms(rmc_os_now_ns());
}

static int create_nodes(struct rmcd *d)
{
	struct rmc_fabric *f = &d->port->fabric;
	u32 i, u;

	d->node = calloc(d->port->locals, sizeof(*d->node));
	f->local = calloc(f->endpoints, sizeof(*f->local));
	if (!d->node || !f->local)
		return -ENOMEM;
	for (i = 0; i < d->port->locals; i++) {
		d->node[i] = rmc_node_create(f, d->port->first + i, d->cfg.itt);
		if (!d->node[i])
			return -ENOMEM;
		for (u = 0; u < rmc_fabric_units(f); u++) {
			struct rmc_node *unit = d->node[i]->unit[u];

			unit->att.entries = d->cfg.att_entries;
			unit->att.depth = d->cfg.att_depth;
			unit->att.stall_ms = d->cfg.att_stall_ms;
			unit->local = d->cfg.local;
			f->local[unit->ep] = unit;
		}
	}
	return 0;
}

static void destroy_nodes(struct rmcd *d)
{
	struct rmc_fabric *f = &d->port->fabric;
	u32 i;

	for (i = 0; d->node && i < d->port->locals; i++)
		if (d->node[i])
			rmc_node_destroy(d->node[i]);
	rmc_model_unshare(f->shared);
	f->shared = NULL;
	free(f->local);
	f->local = NULL;
	free(d->node);
	d->node = NULL;
}

/* Assigns both halves of each unit to workers of a set. */
static void deal_units(struct rmcd *d, struct rmc_node *node, struct rmcd_worker *set)
{
	const struct rmc_fabric *f = &d->port->fabric;
	u32 fronts = d->cfg.ni->frontends ? d->cfg.frontends : 0;
	enum rmc_lane lane;
	u32 u, i;

	for (u = 0; u < rmc_fabric_units(f); u++) {
		for (lane = 0; lane < RMC_LANES; lane++)
			rmc_ni_add_unit(&set[rmc_ni_place(d->cfg.ni, f, u, lane)].ni,
					node->unit[u], lane);
		for (i = 0; i < fronts; i++)
			rmc_ni_add_front(&set[rmc_ni_place_front(f, fronts, u, i)].ni,
					 node->unit[u]);
	}
}

/* The workers of a set wake when peers ring a node of theirs. */
static int watch_doorbell(struct rmcd *d, u32 i, struct rmcd_worker *set, u32 per_set)
{
	int fd = d->port->doorbell ? d->port->doorbell[i] : -1, err = 0;

	while (fd >= 0 && per_set > 0 && !err)
		err = rmcd_worker_watch(&set[--per_set], fd);
	return err;
}

static int create_workers(struct rmcd *d)
{
	const struct rmc_fabric *f = &d->port->fabric;
	u32 per_set = rmc_ni_workers(d->cfg.ni, f, d->cfg.frontends);
	u32 total = d->cfg.sets * per_set, i;

	if (total > RMCD_MAX_WORKERS)
		return -EINVAL;
	rmcd_config_workers(&d->cfg, total);
	d->worker = aligned_alloc(64, total * sizeof(*d->worker));
	if (!d->worker)
		return -ENOMEM;
	memset(d->worker, 0, total * sizeof(*d->worker));
	for (i = 0; i < total; i++) {
		struct rmcd_worker *w = &d->worker[i];
		int err;

		if (rmc_ni_worker_init(&w->ni, (d->port->locals + d->cfg.sets - 1) / d->cfg.sets *
				       rmc_fabric_units(f)))
			return -ENOMEM;
		d->workers++;
		err = rmcd_worker_init(w, d, i);
		if (err)
			return err;
	}
	for (i = 0; i < d->port->locals; i++) {
		struct rmcd_worker *set = &d->worker[i % d->cfg.sets * per_set];
		int err = watch_doorbell(d, i, set, per_set);

		if (err)
			return err;
		deal_units(d, d->node[i], set);
	}
	return 0;
}

static void destroy_workers(struct rmcd *d)
{
	while (d->workers) {
		struct rmcd_worker *w = &d->worker[--d->workers];

		rmcd_worker_destroy(w);
		rmc_ni_worker_destroy(&w->ni);
	}
	free(d->worker);
	d->worker = NULL;
}

/* Live peers acknowledge within some of their ticks; the join does not wait for dead ones. */
static int wait_up(struct rmc_node *node, u32 ms)
{
	struct timespec pause = { .tv_nsec = UP_INTERVAL_NS };
	u64 end = rmc_os_now_ns() + ms * 1000000ULL;

	while (!READ_ONCE(node->up)) {
		if (READ_ONCE(node->fenced))
			return -ESTALE;
		if (rmc_os_now_ns() > end)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void stop_workers(struct rmcd *d)
{
	u32 i;

	for (i = 0; i < d->workers; i++)
		rmcd_worker_stop(&d->worker[i]);
}

static void leave(struct rmcd *d)
{
	u32 i;

	for (i = 0; i < d->port->locals; i++)
		rmc_node_leave(d->node[i]);
}

/**
 * rmcd_start() - set up the port, its nodes and workers
 * @d: daemon; its configuration is settled
 *
 * On success the local nodes are up.
 *
 * Return: 0 or -errno after logging the reason.
 */
int rmcd_start(struct rmcd *d)
{
	u32 i;
	int err;

	d->port = d->cfg.fabric.region ? rmcd_shared_open(&d->cfg.fabric, d->cfg.locals) :
					 rmcd_loopback_open(&d->cfg.fabric);
	if (IS_ERR(d->port))
		return (int)(intptr_t)d->port;
	d->port->fabric.notify = rmc_ni_notify;
	d->cfg.sets = min(d->cfg.sets, d->port->locals);
	err = create_nodes(d);
	if (err)
		goto err_nodes;
	err = create_workers(d);
	if (err)
		goto err_workers;
	for (i = 0; i < d->port->locals; i++) {
		d->node[i]->claimed = d->port->epoch ? d->port->epoch[i] : 0;
		rmc_node_join(d->node[i], now_ms());
	}
	for (i = 0; i < d->workers; i++) {
		err = rmcd_worker_start(&d->worker[i]);
		if (err)
			goto err_start;
	}
	for (i = 0; i < d->port->locals && !err; i++)
		err = wait_up(d->node[i], 5 * d->cfg.fabric.dead_ms);
	if (!err)
		err = rmc_fault_init(d);
	if (!err)
		return 0;

err_start:
	stop_workers(d);
	leave(d);
err_workers:
	destroy_workers(d);
err_nodes:
	destroy_nodes(d);
	rmc_model_unshare(d->port->fabric.shared);
	d->port->close(d->port);
	rmcd_log("cannot start: %s", strerror(-err));
	return err;
}

/**
 * rmcd_stop() - mirror of rmcd_start()
 * @d: daemon; no file uses it
 */
void rmcd_stop(struct rmcd *d)
{
	rmc_fault_exit(d);
	stop_workers(d);
	leave(d);
	destroy_workers(d);
	destroy_nodes(d);
	rmc_model_unshare(d->port->fabric.shared);
	d->port->close(d->port);
}

/**
 * rmcd_node() - local node by id
 * @d: daemon
 * @nid: any value
 *
 * Return: node or NULL.
 */
struct rmc_node *rmcd_node(struct rmcd *d, u32 nid)
{
	return nid >= d->port->first && nid - d->port->first < d->port->locals ?
	       d->node[nid - d->port->first] : NULL;
}

/* The lowest local node that takes part in the fabric, or else the lowest */
static struct rmc_node *observer(struct rmcd *d)
{
	u32 i;

	for (i = 0; i < d->port->locals; i++)
		if (!READ_ONCE(d->node[i]->fenced) && !READ_ONCE(d->node[i]->left))
			return d->node[i];
	return d->node[0];
}

/**
 * rmcd_node_state() - state of a node, as the lowest local node that is up sees it
 * @d: daemon
 * @nid: node id, less than the fabric's nodes
 *
 * Return: enum rmc_node_state.
 */
u32 rmcd_node_state(struct rmcd *d, u32 nid)
{
	struct rmc_fabric *f = &d->port->fabric;
	struct rmc_node *local = f->local[rmc_endpoint(f, nid)];
	u32 state;

	if (local && READ_ONCE(local->fenced))
		return RMC_NODE_DOWN;
	if (f->sync && !local)
		return READ_ONCE(observer(d)->peer[nid].state);
	state = READ_ONCE(f->node[nid].state);
	return state <= RMC_NODE_DOWN ? state : RMC_NODE_DOWN;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Every worker ticks: on return all nodes of this daemon have noticed the change. */
static void tick_all(struct rmcd *d)
{
	u32 i;

	for (i = 0; i < d->workers; i++)
		rmcd_call(&d->worker[i].ni, nothing, NULL);
}

static int down_srv(void *arg)
{
	rmc_node_down_srv(arg);
	return 0;
}

static int down_req(void *arg)
{
	rmc_node_down_req(arg);
	return 0;
}

static int join(void *arg)
{
	rmc_node_join(arg, now_ms());
	return 0;
}

static int let_go(void *arg)
{
	rmc_node_fence(arg);
	return 0;
}

static int rejoin(void *arg)
{
	rmc_node_rejoin(arg, now_ms());
	return 0;
}

/* A fenced node rejoins if no other daemon has its id any more. */
static int come_back(struct rmcd *d, struct rmc_node *node)
{
	u32 u, units = rmc_fabric_units(&d->port->fabric);
	int err;

	if (!d->port->reclaim)
		return -ESTALE;
	err = d->port->reclaim(d->port, node->nid);
	if (err)
		return err;
	node->claimed = d->port->epoch[node->nid - d->port->first];
	/* the join zeroes the channels */
	for (u = 0; u < units; u++)
		rmcd_call(node->unit[u]->req_worker, down_req, node->unit[u]);
	for (u = units; u-- > 1;)
		rmcd_call(node->unit[u]->srv_worker, let_go, node->unit[u]);
	for (u = 0; u < units; u++)
		rmcd_call(node->unit[u]->srv_worker, rejoin, node->unit[u]);
	return 0;
}

/**
 * rmcd_node_down() - take a local node out of the fabric
 * @d: daemon
 * @node: local node
 *
 * See rmc_device_node_down().
 *
 * Return: 0, also when it was down; -ESTALE: the node was fenced.
 */
int rmcd_node_down(struct rmcd *d, struct rmc_node *node)
{
	u32 u, units = rmc_fabric_units(&d->port->fabric);

	for (u = 0; u < units; u++)
		rmcd_call(node->unit[u]->srv_worker, down_srv, node->unit[u]);
	for (u = 0; u < units; u++)
		rmcd_call(node->unit[u]->req_worker, down_req, node->unit[u]);
	tick_all(d);
	return READ_ONCE(node->fenced) ? -ESTALE : 0;
}

/**
 * rmcd_node_up() - let a node that is down join again, under a new epoch
 * @d: daemon
 * @node: local node; claims its id again if it was fenced
 *
 * See rmc_device_node_up().
 *
 * Return: 0, also when it was up; -EBUSY, -ESTALE: it was fenced; -ETIMEDOUT: it is still joining.
 */
int rmcd_node_up(struct rmcd *d, struct rmc_node *node)
{
	int err = 0;

	if (READ_ONCE(node->fenced))
		err = come_back(d, node);
	else if (READ_ONCE(node->left))
		rmcd_call(node->srv_worker, join, node);
	if (!err)
		err = wait_up(node, UP_WAIT_MS);
	tick_all(d);
	return err;
}
