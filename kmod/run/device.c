// SPDX-License-Identifier: GPL-2.0
/* Starts and stops the port, its nodes and workers. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include "../member/member.h"
#include "device.h"
#include "retire.h"

/* Called when a peer in another kernel rings the doorbell. */
static void kick_all(void *data)
{
	struct rmc_device *rmc = data;
	u32 i;

	for (i = 0; i < rmc->workers; i++)
		if (READ_ONCE(rmc->worker[i].ni.parked))
			rmc_os_wake(&rmc->worker[i].ni);
}

static int create_nodes(struct rmc_device *rmc)
{
	struct rmc_port *port = rmc->port;
	u32 i, u;

	rmc->node = kvcalloc(port->locals, sizeof(*rmc->node), GFP_KERNEL);
	port->fabric.local = kvcalloc(port->fabric.endpoints, sizeof(*port->fabric.local),
				      GFP_KERNEL);
	if (!rmc->node || !port->fabric.local)
		return -ENOMEM;
	for (i = 0; i < port->locals; i++) {
		rmc->node[i] = rmc_node_create(&port->fabric, port->first + i, rmc->cfg.itt);
		if (!rmc->node[i])
			return -ENOMEM;
		for (u = 0; u < rmc_fabric_units(&port->fabric); u++) {
			struct rmc_node *unit = rmc->node[i]->unit[u];

			unit->att.entries = rmc->cfg.att_entries;
			unit->att.depth = rmc->cfg.att_depth;
			unit->att.stall_ms = rmc->cfg.att_stall_ms;
			unit->local = rmc->cfg.local;
			port->fabric.local[unit->ep] = unit;
		}
	}
	return 0;
}

static void destroy_nodes(struct rmc_device *rmc)
{
	u32 i;

	for (i = 0; rmc->node && i < rmc->port->locals; i++)
		if (rmc->node[i])
			rmc_node_destroy(rmc->node[i]);
	rmc_model_unshare(rmc->port->fabric.shared);
	rmc->port->fabric.shared = NULL;
	kvfree(rmc->port->fabric.local);
	rmc->port->fabric.local = NULL;
	kvfree(rmc->node);
	rmc->node = NULL;
}

/* Assigns both halves of each unit to workers of a set. */
static void deal_units(struct rmc_device *rmc, struct rmc_node *node, struct rmc_worker *set)
{
	const struct rmc_fabric *f = &rmc->port->fabric;
	u32 fronts = rmc->cfg.ni->frontends ? rmc->cfg.frontends : 0;
	enum rmc_lane lane;
	u32 u, i;

	for (u = 0; u < rmc_fabric_units(f); u++) {
		for (lane = 0; lane < RMC_LANES; lane++)
			rmc_ni_add_unit(&set[rmc_ni_place(rmc->cfg.ni, f, u, lane)].ni,
					node->unit[u], lane);
		for (i = 0; i < fronts; i++)
			rmc_ni_add_front(&set[rmc_ni_place_front(f, fronts, u, i)].ni,
					 node->unit[u]);
	}
}

/* Creates the sets of workers; nodes are assigned to the sets round-robin. */
static int create_workers(struct rmc_device *rmc)
{
	struct rmc_config *cfg = &rmc->cfg;
	const struct rmc_fabric *f = &rmc->port->fabric;
	u32 per_set = rmc_ni_workers(cfg->ni, f, cfg->frontends);
	u32 total = cfg->sets * per_set;
	u32 i;

	rmc_config_workers(cfg, total);
	rmc->worker = kvcalloc(total, sizeof(*rmc->worker), GFP_KERNEL);
	if (!rmc->worker)
		return -ENOMEM;
	for (i = 0; i < total; i++) {
		struct rmc_worker *w = &rmc->worker[i];

		if (rmc_ni_worker_init(&w->ni, DIV_ROUND_UP(rmc->port->locals, cfg->sets) *
				       rmc_fabric_units(f)))
			return -ENOMEM;
		rmc->workers++;
		rmc_worker_init(w, rmc_config_cpu(cfg, i), cfg->share);
		w->park_ns = (u64)cfg->park_us * NSEC_PER_USEC;
		w->poll_ns_max = (u64)rmc->port->poll_us_max * NSEC_PER_USEC;
	}
	for (i = 0; i < rmc->port->locals; i++)
		deal_units(rmc, rmc->node[i], &rmc->worker[i % cfg->sets * per_set]);
	return 0;
}

static void destroy_workers(struct rmc_device *rmc)
{
	while (rmc->workers)
		rmc_ni_worker_destroy(&rmc->worker[--rmc->workers].ni);
	kvfree(rmc->worker);
	rmc->worker = NULL;
}

/* Live peers acknowledge within some of their ticks; the join does not wait for dead ones. */
static int wait_up(struct rmc_device *rmc, struct rmc_node *node)
{
	unsigned long end = jiffies + msecs_to_jiffies(5 * rmc->cfg.fabric.dead_ms);

	while (!READ_ONCE(node->up)) {
		if (signal_pending(current))
			return -EINTR;
		if (READ_ONCE(node->fenced))
			return -ESTALE;
		if (time_after(jiffies, end)) {
			pr_err("node %u cannot join the fabric: its worker does not run, or peers answer too slowly\n",
			       node->nid);
			return -ETIMEDOUT;
		}
		usleep_range(200, 1000);
	}
	return 0;
}

static int wait_all_up(struct rmc_device *rmc)
{
	u32 i;
	int err = 0;

	for (i = 0; i < rmc->port->locals && !err; i++)
		err = wait_up(rmc, rmc->node[i]);
	return err;
}

static void leave(struct rmc_device *rmc)
{
	u32 i;

	for (i = 0; i < rmc->port->locals; i++)
		rmc_node_leave(rmc->node[i]);
}

static void stop_workers(struct rmc_device *rmc)
{
	u32 i;

	for (i = 0; i < rmc->workers; i++)
		rmc_worker_stop(&rmc->worker[i]);
	/* until here a running worker could still wake a stopped one */
	for (i = 0; i < rmc->workers; i++)
		rmc_worker_put(&rmc->worker[i]);
}

/* True if another worker has this CPU, or all CPUs have workers. */
static bool must_share(const struct rmc_device *rmc, const unsigned int *cpu, u32 worker)
{
	u32 i;

	if (cpumask_subset(&rmc->cpus_there, &rmc->cpus_taken))
		return true;
	for (i = 0; i < rmc->workers; i++)
		if (i != worker && cpu[i] == cpu[worker])
			return true;
	return false;
}

/*
 * Moves workers whose CPU is offline to another one, and the others back to their home
 * CPU. With rmc_config.share all workers keep sharing. Callers exclude each other.
 */
static int place_workers(struct rmc_device *rmc)
{
	unsigned int *cpu = kcalloc(rmc->workers, sizeof(*cpu), GFP_KERNEL);
	bool all_home = true;
	u32 i;

	if (!cpu)
		return -ENOMEM;
	cpumask_clear(&rmc->cpus_taken);
	for (i = 0; i < rmc->workers; i++)
		if (cpumask_test_cpu(rmc->worker[i].home, &rmc->cpus_there))
			cpumask_set_cpu(rmc->worker[i].home, &rmc->cpus_taken);
	for (i = 0; i < rmc->workers; i++) {
		cpu[i] = rmc->worker[i].home;
		if (cpumask_test_cpu(cpu[i], &rmc->cpus_there))
			continue;
		all_home = false;
		cpu[i] = rmc_config_spare_cpu(&rmc->cfg, &rmc->cpus_there, &rmc->cpus_taken);
		cpumask_set_cpu(cpu[i], &rmc->cpus_taken);
	}
	for (i = 0; i < rmc->workers; i++) {
		struct rmc_worker *w = &rmc->worker[i];
		bool share = rmc->cfg.share || (!all_home && must_share(rmc, cpu, i));

		if (w->cpu != cpu[i] || w->share != share)
			rmc_worker_move(w, cpu[i], share);
	}
	kfree(cpu);
	return 0;
}

static int cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct rmc_device *rmc = hlist_entry(node, struct rmc_device, hotplug);

	cpumask_copy(&rmc->cpus_there, cpu_online_mask);
	cpumask_set_cpu(cpu, &rmc->cpus_there);
	return place_workers(rmc);
}

/* The scheduler may have moved the worker already; this overrides it. */
static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct rmc_device *rmc = hlist_entry(node, struct rmc_device, hotplug);

	cpumask_copy(&rmc->cpus_there, cpu_online_mask);
	cpumask_clear_cpu(cpu, &rmc->cpus_there);
	return place_workers(rmc);
}

static int watch_cpus(struct rmc_device *rmc)
{
	int err;

	err = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "rmc:online", cpu_comes, cpu_goes);
	if (err < 0)
		return err;
	rmc->hotplug_state = err;
	/* calls cpu_comes() for each online CPU, so changes since the choice take effect */
	err = cpuhp_state_add_instance(rmc->hotplug_state, &rmc->hotplug);
	if (err)
		cpuhp_remove_multi_state(rmc->hotplug_state);
	return err;
}

/* Does not move the workers. */
static void unwatch_cpus(struct rmc_device *rmc)
{
	cpuhp_state_remove_instance_nocalls(rmc->hotplug_state, &rmc->hotplug);
	cpuhp_remove_multi_state(rmc->hotplug_state);
}

/**
 * rmc_device_start() - set up the port, its nodes and workers
 * @rmc: device; its configuration is settled
 *
 * On success the local nodes are up.
 *
 * Return: 0 or a negative errno. Context: may sleep, for some seconds.
 */
int rmc_device_start(struct rmc_device *rmc)
{
	u32 now_ms = rmc_os_ns_to_ms(rmc_os_now_ns());
	u32 i;
	int err;

	mutex_init(&rmc->node_lock);
	rmc->port = rmc->cfg.fabric.transport->open(&rmc->cfg.fabric);
	if (IS_ERR(rmc->port))
		return PTR_ERR(rmc->port);
	rmc->port->fabric.notify = rmc_ni_notify;
	rmc_retire_init(rmc->port);
	rmc->cfg.sets = min(rmc->cfg.sets, rmc->port->locals);

	err = create_nodes(rmc);
	if (err)
		goto err_nodes;
	err = create_workers(rmc);
	if (err)
		goto err_workers;
	rmc->node[0]->claimed = rmc->port->epoch;
	for (i = 0; i < rmc->port->locals; i++)
		rmc_node_join(rmc->node[i], now_ms);
	for (i = 0; i < rmc->workers; i++) {
		err = rmc_worker_start(&rmc->worker[i], i);
		if (err)
			goto err_start;
	}
	err = watch_cpus(rmc);
	if (err)
		goto err_start;
	if (rmc->cfg.fabric.transport->start)
		rmc->cfg.fabric.transport->start(rmc->port, kick_all, rmc);
	err = wait_all_up(rmc);
	if (err)
		goto err_up;
	return 0;

err_up:
	if (rmc->cfg.fabric.transport->stop)
		rmc->cfg.fabric.transport->stop(rmc->port);
	unwatch_cpus(rmc);
err_start:
	stop_workers(rmc);
	leave(rmc);
err_workers:
	destroy_workers(rmc);
err_nodes:
	destroy_nodes(rmc);
	rmc->cfg.fabric.transport->close(rmc->port);
	return err;
}

/**
 * rmc_device_stop() - mirror of rmc_device_start()
 * @rmc: device; no file uses it
 *
 * Context: may sleep.
 */
void rmc_device_stop(struct rmc_device *rmc)
{
	if (rmc->cfg.fabric.transport->stop)
		rmc->cfg.fabric.transport->stop(rmc->port);
	unwatch_cpus(rmc);
	stop_workers(rmc);
	leave(rmc);
	destroy_workers(rmc);
	destroy_nodes(rmc);
	rmc->cfg.fabric.transport->close(rmc->port);
}

static int nothing(void *arg)
{
	return 0;
}

/* Every worker ticks: on return all nodes of this kernel have noticed the change. */
static void tick_all(struct rmc_device *rmc)
{
	u32 i;

	for (i = 0; i < rmc->workers; i++)
		rmc_worker_call(&rmc->worker[i].ni, nothing, NULL);
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
	rmc_node_join(arg, rmc_os_ns_to_ms(rmc_os_now_ns()));
	return 0;
}

static int let_go(void *arg)
{
	rmc_node_fence(arg);
	return 0;
}

static int rejoin(void *arg)
{
	rmc_node_rejoin(arg, rmc_os_ns_to_ms(rmc_os_now_ns()));
	return 0;
}

/* A fenced node rejoins if no other kernel has its id any more. */
static int come_back(struct rmc_device *rmc, struct rmc_node *node)
{
	u32 u, units = rmc_fabric_units(&rmc->port->fabric);
	int err;

	lockdep_assert_held(&rmc->node_lock);
	if (!rmc->cfg.fabric.transport->reclaim)
		return -ESTALE;
	err = rmc->cfg.fabric.transport->reclaim(rmc->port);
	if (err)
		return err;
	node->claimed = rmc->port->epoch;
	/* the join zeroes the channels */
	for (u = 0; u < units; u++)
		rmc_worker_call(node->unit[u]->req_worker, down_req, node->unit[u]);
	for (u = units; u-- > 1;)
		rmc_worker_call(node->unit[u]->srv_worker, let_go, node->unit[u]);
	for (u = 0; u < units; u++)
		rmc_worker_call(node->unit[u]->srv_worker, rejoin, node->unit[u]);
	return 0;
}

/**
 * rmc_device_node_down() - take a local node out of the fabric
 * @rmc: device
 * @node: local node
 *
 * Operations in flight from and to it complete with RMC_S_NODE_DOWN, as after the crash of
 * a machine. Its contexts, segments and queue pairs stay.
 *
 * Return: 0, also when it was down; -ESTALE: the node was fenced.
 * Context: may sleep.
 */
int rmc_device_node_down(struct rmc_device *rmc, struct rmc_node *node)
{
	u32 u, units = rmc_fabric_units(&rmc->port->fabric);

	mutex_lock(&rmc->node_lock);
	for (u = 0; u < units; u++)
		rmc_worker_call(node->unit[u]->srv_worker, down_srv, node->unit[u]);
	for (u = 0; u < units; u++)
		rmc_worker_call(node->unit[u]->req_worker, down_req, node->unit[u]);
	tick_all(rmc);
	mutex_unlock(&rmc->node_lock);
	return READ_ONCE(node->fenced) ? -ESTALE : 0;
}

/**
 * rmc_device_node_up() - let a node that is down join again, under a new epoch
 * @rmc: device
 * @node: local node; claims its id again if it was fenced
 *
 * Return: 0, also when it was up; -EBUSY: the node was fenced, and the kernel that
 * took its id is alive; -ESTALE: it was fenced meanwhile; -ERESTARTSYS, -ETIMEDOUT: it
 * is still joining. Context: may sleep, for some seconds.
 */
int rmc_device_node_up(struct rmc_device *rmc, struct rmc_node *node)
{
	int err = 0;

	mutex_lock(&rmc->node_lock);
	/* all ends of its channels are closed, so the join may zero them */
	if (READ_ONCE(node->fenced))
		err = come_back(rmc, node);
	else if (READ_ONCE(node->left))
		rmc_worker_call(node->srv_worker, join, node);
	if (!err)
		err = wait_up(rmc, node);
	tick_all(rmc);
	mutex_unlock(&rmc->node_lock);
	/* io_uring interrupts its tasks when commands complete: restart the system call */
	return err == -EINTR ? -ERESTARTSYS : err;
}
