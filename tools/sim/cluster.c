// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes, each with its own kernel, and their connection: the shared region of ivshmem in
 * plain memory.
 */
#include "driver.h"
#include "node.h"

/* The region that all kernels share */
static struct {
	struct rmc_region_node *table;
	struct rmc_doorbell *doorbell;
	u32 *sync;
	void **channel;
	struct rmc_model_shared *shared;	/* of one_way */
} region;

static struct sim_node *of_fabric(struct rmc_fabric *f)
{
	return (struct sim_node *)((char *)f - offsetof(struct sim_node, fabric));
}

static void *channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	void **p = &region.channel[requester * f->endpoints + server];
	struct sim_node *n = of_fabric(f);

	if (!*p) {
		*p = rmc_os_zalloc(rmc_channel_bytes(f));
		if (!*p)
			abort();
	}
	if (requester == n->nid)
		sim_link_filter(n, RMC_LANE_REP, server);
	if (server == n->nid)
		sim_link_filter(n, RMC_LANE_REQ, requester);
	return *p;
}

static void notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	struct rmc_node *node = sim.node[dst]->rmc;

	/* a node that is down gets no notification */
	if (!node || sim.node[dst]->down)
		return;
	sim_prefetch_channel(node, lane, of_fabric(f)->nid);
	sim_notify_worker((struct sim_worker *)(lane == RMC_LANE_REQ ? node->srv_worker :
								       node->req_worker));
}

static void reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	u32 i;

	for (i = 0; i < f->endpoints; i++) {
		void *from = region.channel[nid * f->endpoints + i];
		void *to = region.channel[i * f->endpoints + nid];

		if (from)
			memset(from, 0, rmc_channel_bytes(f));
		if (to)
			memset(to, 0, rmc_channel_bytes(f));
	}
}

static const struct rmc_fabric_ops ops = {
	.name = "simulated",
	.channel = channel,
	.notify = notify,
	.reset = reset,
};

static int init_fabric(struct rmc_fabric *f)
{
	const struct rmc_sim_options *o = &sim.o;
	u32 i;

	f->ops = &ops;
	f->nodes = o->nodes;
	f->interleave = RMC_INTERLEAVE;
	f->mtu = o->mtu ?: RMC_MTU_DEFAULT;
	f->ring_order = o->ring_order ?: RMC_RING_ORDER;
	f->pay_order = o->pay_order ?: RMC_PAY_ORDER;
	f->timeout_ms = o->timeout_ms ?: RMC_TIMEOUT_MS;
	f->dead_ms = o->dead_ms ?: RMC_DEAD_MS;
	f->retries = o->retries;
	f->model.topology = o->topology;
	for (i = 0; i < RMC_DIMENSIONS; i++)
		f->model.dim[i] = o->dim[i];
	f->model.hop_ns = o->hop_ns;
	f->model.base_ns = o->base_ns;
	f->model.mbps = o->mbps;
	f->model.rack_ns = o->rack_ns;
	f->model.rack_mbps = o->rack_mbps;
	f->model.one_way = o->one_way;
	f->shared = region.shared;
	f->node = region.table;
	f->doorbell = region.doorbell;
	f->sync = region.sync;
	return rmc_model_check(&f->model, o->nodes) ?: rmc_fabric_check(f);
}

/* The adapter of all nodes */
static struct rmc_rnic adapter(void)
{
	const struct rmc_sim_adapter *a = &sim.o.adapter;

	return (struct rmc_rnic){
		.any_lines = a->any_lines, .gap_ns = a->gap_ns, .msg_ps = a->msg_ps,
		.mbps = a->mbps, .cas_ns = a->cas_ns, .faa_ns = a->faa_ns,
		.buffer_ns = a->buffer_ns, .qp_cache = a->qp_cache, .qp_miss_ns = a->qp_miss_ns,
	};
}

static int set_adapter(struct sim_node *n)
{
	u64 seed = sim_random_seed(sim.o.seed, (3ULL << 32) + n->nid);
	const struct rmc_rnic r = adapter();

	return rmc_rnic_check(&r, n->fabric.mtu) ?:
	       rmc_rnic_set_server(&n->rmc->links, &r, seed) ?:
	       rmc_rnic_set_client(&n->rmc->links, &r, seed);
}

static int boot(struct sim_node *n)
{
	const struct rmc_ni_org *org = rmc_ni_find(sim.o.ni);
	struct rmc_fabric *f = &n->fabric;
	enum rmc_lane lane;
	u32 i, ms = rmc_os_ns_to_ms(sim.now);

	n->workers = rmc_ni_workers(org, f, 0);
	memset(n->worker, 0, sizeof(n->worker));
	for (i = 0; i < n->workers; i++)
		if (rmc_ni_worker_init(&n->worker[i].ni, 1))
			return -ENOMEM;
	n->rmc = rmc_node_create(f, n->nid, sim.o.itt ?: 256);
	if (!n->rmc)
		return -ENOMEM;
	if (set_adapter(n))
		return -EINVAL;
	/* else the first tick would count all the time since clock 0 */
	if (sim.o.att_entries)
		n->rmc->att.entries = sim.o.att_entries;
	if (sim.o.att_depth)
		n->rmc->att.depth = sim.o.att_depth;
	n->rmc->req_ms = ms;
	n->rmc->scan_ms = ms;
	n->rmc->srv_ms = ms;
	f->local[n->nid] = n->rmc;
	f->notify = rmc_ni_notify;
	/* filters are always active, so all operations use packets */
	rmc_filters = 1;
	for (lane = 0; lane < RMC_LANES; lane++)
		rmc_ni_add_unit(&n->worker[rmc_ni_place(org, f, 0, lane)].ni, n->rmc, lane);
	rmc_node_join(n->rmc, ms);
	sim_node_init_events(n);
	return 0;
}

static void unboot(struct sim_node *n)
{
	u32 i;

	sim_node_stop(n);
	if (n->rmc)
		sim_tx_end(n);
	sim_driver_forget(n);
	if (n->rmc)
		rmc_node_destroy(n->rmc);
	n->rmc = NULL;
	for (i = 0; i < n->workers; i++) {
		rmc_ni_worker_destroy(&n->worker[i].ni);
		free(n->worker[i].ahead);
		n->worker[i].ahead = NULL;
	}
}

static void end_threads(struct sim_node *n)
{
	while (n->threads) {
		struct sim_thread *t = n->threads;

		n->threads = t->next;
		sim_thread_destroy(t);
	}
}

static struct sim_node *make_node(u32 nid)
{
	struct sim_node *n = rmc_os_zalloc(sizeof(*n));

	if (!n)
		return NULL;
	n->nid = nid;
	sim.node[nid] = n;
	n->fabric.local = rmc_os_zalloc(sim.o.nodes * sizeof(struct rmc_node *));
	n->due[RMC_LANE_REQ] = rmc_os_zalloc(sim.o.nodes * sizeof(struct sim_due));
	n->due[RMC_LANE_REP] = rmc_os_zalloc(sim.o.nodes * sizeof(struct sim_due));
	if (sim.o.cores)
		n->core = rmc_os_zalloc(sim.o.cores * sizeof(u64));
	return n->fabric.local && n->due[RMC_LANE_REQ] && n->due[RMC_LANE_REP] ? n : NULL;
}

/**
 * sim_cluster_boot() - boot all nodes, until they are up
 *
 * Return: 0, -EINVAL: invalid options, -ENOMEM.
 */
int sim_cluster_boot(void)
{
	u32 nodes = sim.o.nodes, i, j;
	const struct rmc_ni_org *org = rmc_ni_find(sim.o.ni);
	int err;

	if (sim.o.att_entries > RMC_ATT_ENTRIES_MAX || sim.o.att_depth > RMC_ATT_DEPTH_MAX)
		return -EINVAL;
	sim_lines_on = sim.o.memory;
	if (sim_publish_init())
		return -ENOMEM;
	if (!org || org->per_unit || nodes > RMC_MAX_NODES)
		return -EINVAL;
	sim.node = rmc_os_zalloc(nodes * sizeof(struct sim_node *));
	region.table = rmc_os_zalloc(nodes * sizeof(*region.table));
	region.doorbell = rmc_os_zalloc((size_t)nodes * RMC_LANES * sizeof(*region.doorbell));
	region.sync = rmc_os_zalloc((size_t)nodes * nodes * sizeof(u32));
	region.channel = rmc_os_zalloc((size_t)nodes * nodes * sizeof(void *));
	if (sim.o.one_way)
		region.shared = rmc_model_share(nodes, nodes, sim.o.ring_order ?: RMC_RING_ORDER);
	if (!sim.node || !region.table || !region.doorbell || !region.sync || !region.channel ||
	    (sim.o.one_way && !region.shared) || sim_links_init())
		return -ENOMEM;
	for (i = 0; i < nodes; i++) {
		struct sim_node *n = make_node(i);

		if (!n)
			return -ENOMEM;
		region.table[i].epoch = sim.o.epoch - 1;
		err = init_fabric(&n->fabric);
		if (err)
			return err;
	}
	for (i = 0; i < nodes; i++) {
		err = boot(sim.node[i]);
		if (err)
			return err;
	}
	/* three rounds: see the others, be acknowledged, be up */
	for (j = 0; j < 3; j++) {
		for (i = 0; i < nodes; i++) {
			u32 k;

			for (k = 0; k < sim.node[i]->workers; k++)
				rmc_ni_tick(&sim.node[i]->worker[k].ni, sim.now);
		}
	}
	return 0;
}

/**
 * sim_cluster_free() - mirror of sim_cluster_boot()
 */
void sim_cluster_free(void)
{
	u32 nodes = sim.o.nodes, i;

	for (i = 0; i < nodes && sim.node[i]; i++) {
		struct sim_node *n = sim.node[i];

		end_threads(n);
		unboot(n);
		sim_heap_cancel(&sim.heap, &n->resume);
		rmc_os_free(n->fabric.local);
		rmc_os_free(n->due[RMC_LANE_REQ]);
		rmc_os_free(n->due[RMC_LANE_REP]);
		rmc_os_free(n->core);
		rmc_os_free(n);
	}
	for (i = 0; region.channel && i < nodes * nodes; i++)
		rmc_os_free(region.channel[i]);
	sim_links_free();
	rmc_model_unshare(region.shared);
	rmc_os_free(region.channel);
	rmc_os_free(region.sync);
	rmc_os_free(region.doorbell);
	rmc_os_free(region.table);
	memset(&region, 0, sizeof(region));
	rmc_os_free(sim.node);
	sim_lines_reset();
	sim_publish_free();
	sim_memory_reset();
}

/**
 * sim_node_threads() - threads of a node
 * @n: node
 *
 * Return: head of their list.
 */
struct sim_thread **sim_node_threads(struct sim_node *n)
{
	return &n->threads;
}

/**
 * sim_node_core() - end of a core's work
 * @n: node
 * @core: its number
 *
 * Return: pointer to the time; NULL: each thread has its own core.
 */
u64 *sim_node_core(struct sim_node *n, u32 core)
{
	return n->core ? &n->core[core] : NULL;
}

/**
 * sim_node_nid() - number of a node
 * @n: node
 *
 * Return: node id.
 */
u32 sim_node_nid(const struct sim_node *n)
{
	return n->nid;
}

/**
 * sim_node_stopped() - check whether a node is paused or has crashed
 * @n: node
 *
 * Return: true if it does not run now.
 */
bool sim_node_stopped(const struct sim_node *n)
{
	return n->paused || n->down;
}

/**
 * sim_node_is_down() - check whether a node has crashed, and not booted again
 * @nid: node id, less than the number of nodes
 */
bool sim_node_is_down(u32 nid)
{
	return sim.node[nid]->down;
}

/* ---- faults of nodes ---- */

static void resume(struct sim_event *e)
{
	struct sim_node *n = (struct sim_node *)((char *)e - offsetof(struct sim_node, resume));

	n->paused = false;
	sim_note("resume", n->nid, 0, 0);
	sim_node_go_on(n);
}

/**
 * rmc_sim_pause() - pause a kernel, with its threads and workers
 * @nid: node; no effect if it is down or paused
 * @ns: how long
 */
void rmc_sim_pause(uint32_t nid, uint64_t ns)
{
	struct sim_node *n = nid < sim.o.nodes ? sim.node[nid] : NULL;

	if (!n || n->paused || n->down)
		return;
	n->paused = true;
	sim_note("pause", nid, ns, 0);
	n->resume.fire = resume;
	sim_heap_set(&sim.heap, &n->resume, sim.now + ns);
}

/**
 * rmc_sim_crash() - crash a kernel
 * @nid: node
 *
 * The others notice by its heartbeat. Context: outside of threads.
 */
void rmc_sim_crash(uint32_t nid)
{
	struct sim_node *n = nid < sim.o.nodes ? sim.node[nid] : NULL;

	if (!n || n->down)
		return;
	sim_note("crash", nid, 0, 0);
	sim_heap_cancel(&sim.heap, &n->resume);
	n->paused = false;
	n->down = true;
	end_threads(n);
	sim_node_stop(n);
}

/**
 * rmc_sim_restart() - boot a crashed kernel again
 * @nid: node
 *
 * Return: 0, -EINVAL it is not down, -ENOMEM. Context: outside of threads.
 */
int rmc_sim_restart(uint32_t nid)
{
	struct sim_node *n = nid < sim.o.nodes ? sim.node[nid] : NULL;

	if (!n || !n->down)
		return -EINVAL;
	sim_note("restart", nid, 0, 0);
	unboot(n);
	n->down = false;
	return boot(n);
}

/**
 * rmc_sim_served() - requests that a node has served
 * @nid: node
 *
 * Return: number since it was booted; 0: there is no such node.
 */
uint64_t rmc_sim_served(uint32_t nid)
{
	return sim.node && nid < sim.o.nodes ? sim.node[nid]->rmc->stats.served : 0;
}
