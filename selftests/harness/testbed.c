// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "testbed.h"
#include "packets.h"
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

u64 testbed_now_ns;
bool testbed_links_asked;
u32 testbeds_without_links;
#ifdef RMC_TEST_HOOKS
/* A program that uses a hook may define it itself. */
void (*rmc_between_passes)(void) __attribute__((weak));
void (*rmc_at_prefetch)(const void *p);
void (*rmc_at_barrier)(void) __attribute__((weak));
u32 rmc_no_memory __attribute__((weak));
u32 rmc_no_user_memory __attribute__((weak));
#endif

u64 rmc_os_now_ns(void)
{
	struct timespec ts;

	if (testbed_now_ns)
		return testbed_now_ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void rmc_os_wake(struct rmc_ni_worker *ni)
{
	struct testbed_worker *ww = (struct testbed_worker *)ni;

	__atomic_store_n(&ww->kick, 1, __ATOMIC_RELEASE);
	syscall(__NR_futex, &ww->kick, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* What RMC_IOC_WAKE does: the caller may be preempted here, which the thread waits for. */
void testbed_poll_inline(struct rmc_ni_worker *ni, u64 often_ns)
{
	bool wake = true;

	if (rmc_ni_try_own(ni)) {
		wake = !READ_ONCE(ni->parked) || !rmc_ni_poll_inline(ni, rmc_os_now_ns(), often_ns);
		rmc_ni_disown(ni);
	}
	if (wake)
		rmc_os_wake(ni);
}

/* Sleep until kicked, or for 100 ms so that a stop is seen. */
static void sleep_until_kicked(struct testbed_worker *ww)
{
	struct timespec ts = { .tv_nsec = 100000000 };

	while (!__atomic_exchange_n(&ww->kick, 0, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&ww->testbed->stop, __ATOMIC_ACQUIRE))
		syscall(__NR_futex, &ww->kick, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

void rmc_os_membarrier(struct rmc_ni_worker *w)
{
	static int registered;

	if (!__atomic_exchange_n(&registered, 1, __ATOMIC_RELAXED))
		syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	smp_mb();
}

u32 testbed_events;
void (*testbed_at_event)(void);

void rmc_os_event(struct rmc_event *e)
{
	(void)e;
	testbed_events++;
	if (testbed_at_event)
		testbed_at_event();
}

struct testbed_node_event testbed_node_events[TESTBED_NODE_EVENTS];
u32 testbed_node_event_count;

void rmc_os_node_event(struct rmc_node *node, u32 type, u32 nid, u32 epoch)
{
	u32 i = __atomic_fetch_add(&testbed_node_event_count, 1, __ATOMIC_RELAXED);

	if (i < TESTBED_NODE_EVENTS)
		testbed_node_events[i] = (struct testbed_node_event){ node->nid, type, nid, epoch };
}

static struct testbed *current_testbed;

/* Queues and channels start on pages, as the module's do. */
static void *xzalloc_pages(size_t n)
{
	void *p = aligned_alloc(4096, (n + 4095) & ~4095UL);

	if (!p)
		abort();
	memset(p, 0, n);
	return p;
}

static void *channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	void **p = &current_testbed->channel[requester * f->endpoints + server];
	void *mem = __atomic_load_n(p, __ATOMIC_ACQUIRE), *old = NULL;

	if (mem)
		return mem;
	mem = xzalloc_pages(rmc_channel_bytes(f));
	if (!__atomic_compare_exchange_n(p, &old, mem, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		free(mem);
		mem = old;
	}
	return mem;
}

static void notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane)
{
	(void)f;
	(void)dst;
	(void)lane;
}

static void reset(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	struct testbed *w = current_testbed;
	u32 ep, i;

	for (ep = rmc_endpoint(f, nid); ep < rmc_endpoint(f, nid + 1); ep++)
		for (i = 0; i < f->endpoints; i++) {
			void *from = w->channel[ep * f->endpoints + i];
			void *to = w->channel[i * f->endpoints + ep];

			if (from)
				memset(from, 0, rmc_channel_bytes(f));
			if (to)
				memset(to, 0, rmc_channel_bytes(f));
		}
}

static const struct rmc_fabric_ops ops = {
	.name = "harness",
	.channel = channel,
	.notify = notify,
	.reset = reset,
};

static void *xzalloc(size_t n)
{
	void *p = rmc_os_zalloc(n);

	if (!p)
		abort();
	return p;
}

static void node_boot(struct testbed *w, u32 nid)
{
	const struct rmc_ni_org *org = rmc_ni_find(w->opts.ni);
	u32 set = w->opts.kernels ? nid : 0, i;
	struct rmc_fabric *f = &w->fabric[set];
	u32 fronts = org->frontends ? w->opts.frontends : 0, j;
	struct testbed_worker *worker;
	enum rmc_lane lane;

	worker = &w->worker[set * rmc_ni_workers(org, f, fronts)];
	w->node[nid] = rmc_node_create(f, nid, w->opts.itt);
	for (i = 0; i < rmc_fabric_units(f); i++) {
		struct rmc_node *unit = w->node[nid]->unit[i];

		if (w->opts.att_entries)
			unit->att.entries = w->opts.att_entries;
		unit->local = !w->opts.packets;
		unit->req_ms = TESTBED_START_MS;
		unit->scan_ms = TESTBED_START_MS;
		unit->srv_ms = TESTBED_START_MS;
		f->local[unit->ep] = unit;
		for (lane = 0; lane < RMC_LANES; lane++)
			rmc_ni_add_unit(&worker[rmc_ni_place(org, f, i, lane)].ni, unit, lane);
		for (j = 0; j < fronts; j++)
			rmc_ni_add_front(&worker[rmc_ni_place_front(f, fronts, i, j)].ni, unit);
	}
	/* a test that stands in for the transport has written so */
	if (f->node[nid].state == RMC_NODE_JOINING)
		w->node[nid]->claimed = f->node[nid].epoch;
	rmc_node_join(w->node[nid], rmc_os_ns_to_ms(rmc_os_now_ns()));
}

static void worker_boot(struct testbed *w, u32 i)
{
	memset(&w->worker[i].ni, 0, sizeof(w->worker[i].ni));
	rmc_ni_worker_init(&w->worker[i].ni,
			   (w->opts.kernels ? 1 : w->opts.nodes) * w->opts.units);
	w->worker[i].testbed = w;
	w->worker[i].cpu = -1;
}

void testbed_init(struct testbed *w, const struct testbed_opts *o)
{
	const struct rmc_ni_org *org;
	u32 sets, eps, i;

	memset(w, 0, sizeof(*w));
	w->opts = *o;
	if (!w->opts.ni)
		w->opts.ni = "fused";
	if (!w->opts.mtu)
		w->opts.mtu = RMC_MTU_DEFAULT;
	if (!w->opts.ring_order)
		w->opts.ring_order = RMC_RING_ORDER;
	if (!w->opts.pay_order)
		w->opts.pay_order = RMC_PAY_ORDER;
	if (!w->opts.itt)
		w->opts.itt = 64;
	if (!w->opts.units)
		w->opts.units = 1;
	if (!w->opts.rrpps)
		w->opts.rrpps = w->opts.units;
	if (!w->opts.frontends)
		w->opts.frontends = 1;
	if (!w->opts.interleave)
		w->opts.interleave = RMC_INTERLEAVE;
	w->opts.kernels |= w->opts.links;
	testbeds_without_links += testbed_links_asked && !w->opts.links;
	o = &w->opts;
	eps = o->nodes * o->units;
	org = rmc_ni_find(o->ni);
	sets = o->kernels ? o->nodes : 1;
	current_testbed = w;

	if (!o->links) {
		w->table = xzalloc(o->nodes * sizeof(*w->table));
		w->doorbell = xzalloc(eps * RMC_LANES * sizeof(*w->doorbell));
		w->sync = o->kernels ? xzalloc(eps * o->nodes * sizeof(u32)) : NULL;
	}
	w->channel = xzalloc(eps * eps * sizeof(void *));
	w->frozen = xzalloc(o->nodes);
	w->node = xzalloc(o->nodes * sizeof(*w->node));
	w->fabric = xzalloc(sets * sizeof(*w->fabric));
	for (i = 0; i < sets; i++) {
		struct rmc_fabric *f = &w->fabric[i];

		f->ops = &ops;
		f->nodes = o->nodes;
		f->unit_order = __builtin_ctz(o->units);
		f->rrpp_order = __builtin_ctz(o->rrpps);
		f->interleave = o->interleave;
		f->mtu = o->mtu;
		f->ring_order = o->ring_order;
		f->pay_order = o->pay_order;
		f->timeout_ms = RMC_TIMEOUT_MS;
		f->dead_ms = RMC_DEAD_MS;
		f->node = w->table;
		f->doorbell = w->doorbell;
		f->sync = w->sync;
		f->local = xzalloc(eps * sizeof(*f->local));
		f->notify = rmc_ni_notify;
		if (rmc_fabric_check(f))
			abort();
	}
	if (o->links) {
		w->packets = packets_create(w);
		for (i = 0; i < sets; i++)
			packets_attach(w->packets, i);
	}
	w->workers = sets * rmc_ni_workers(org, &w->fabric[0], o->frontends);
	w->worker = xzalloc(w->workers * sizeof(*w->worker));
	for (i = 0; i < w->workers; i++)
		worker_boot(w, i);
	for (i = 0; i < o->nodes; i++)
		node_boot(w, i);
	testbed_tick(w, 2);
	testbed_tick(w, 2);
	/* each kernel hears what the others did in these ticks, until they are linked */
	for (i = 0; o->links && i < 4; i++)
		testbed_tick(w, 0);
	for (i = 0; i < o->nodes; i++)
		testbed_receive(w, i);
}

void testbed_fini(struct testbed *w)
{
	u32 sets = w->opts.kernels ? w->opts.nodes : 1, i;

	for (i = 0; i < w->opts.nodes; i++) {
		rmc_node_leave(w->node[i]);
		rmc_node_destroy(w->node[i]);
	}
	for (i = 0; i < w->workers; i++)
		rmc_ni_worker_destroy(&w->worker[i].ni);
	for (i = 0; i < w->fabric->endpoints * w->fabric->endpoints; i++)
		free(w->channel[i]);
	for (i = 0; i < sets; i++)
		free(w->fabric[i].local);
	free(w->fabric);
	free(w->worker);
	free(w->node);
	free(w->frozen);
	free(w->channel);
	if (w->packets)
		packets_destroy(w->packets);
	free(w->sync);
	free(w->doorbell);
	free(w->table);
}

static bool frozen(struct testbed *w, u32 worker)
{
	return w->opts.kernels && w->frozen[worker / (w->workers / w->opts.nodes)];
}

u32 testbed_visit(struct testbed *w)
{
	u32 i, done = 0;

	for (i = 0; w->packets && i < w->opts.nodes; i++)
		if (!w->frozen[i])
			done += packets_pump(w->packets, i);
	for (i = 0; i < w->workers; i++)
		if (!frozen(w, i))
			done += rmc_ni_visit(&w->worker[i].ni);
	return done;
}

void testbed_receive(struct testbed *w, u32 nid)
{
	if (w->packets)
		packets_pump(w->packets, nid);
}

void testbed_settle(struct testbed *w)
{
	u32 quiet = 0;

	/* a cold QP is polled once in as many visits as there are QPs */
	while (quiet < 300)
		quiet = testbed_visit(w) ? 0 : quiet + 1;
}

void testbed_tick(struct testbed *w, u64 ms)
{
	u32 i;

	if (!testbed_now_ns)
		testbed_now_ns = TESTBED_START_NS;
	testbed_now_ns += ms * 1000000;
	for (i = 0; w->packets && i < w->opts.nodes; i++)
		if (!w->frozen[i])
			packets_pump(w->packets, i);
	for (i = 0; i < w->workers; i++)
		if (!frozen(w, i))
			rmc_ni_tick(&w->worker[i].ni, testbed_now_ns);
}

void testbed_pass(struct testbed *w, u64 ms)
{
	for (; ms > 8; ms -= 8)
		testbed_tick(w, 8);
	testbed_tick(w, ms);
}

void testbed_restart(struct testbed *w, u32 nid)
{
	u32 per = w->workers / w->opts.nodes, i;

	rmc_node_destroy(w->node[nid]);
	for (i = 0; i < per; i++) {
		rmc_ni_worker_destroy(&w->worker[nid * per + i].ni);
		worker_boot(w, nid * per + i);
	}
	if (w->packets)
		packets_attach(w->packets, nid);
	node_boot(w, nid);
}

/* The other player of the benchmark's raw ping-pong: answer each new value. */
static void pong(struct testbed *w)
{
	u32 *ping = w->pong, seen = 0, v;

	while (__atomic_load_n(&w->pong, __ATOMIC_RELAXED)) {
		v = __atomic_load_n(ping, __ATOMIC_ACQUIRE);
		if (v != seen) {
			seen = v;
			__atomic_store_n(ping + 64, v, __ATOMIC_RELEASE);
		}
	}
}

static void *run(void *arg)
{
	struct testbed_worker *ww = arg;
	struct rmc_ni_worker *ni = &ww->ni;
	/* over a link each visit is a system call as well */
	u64 n = 0, idle = 0, idle_visits = ww->testbed->packets ? 1000 : 10000;

	if (ww->cpu >= 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(ww->cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	rmc_ni_tick(ni, rmc_os_now_ns());
	while (!__atomic_load_n(&ww->testbed->stop, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&ww->testbed->pong, __ATOMIC_ACQUIRE) &&
		    ww == ww->testbed->worker)
			pong(ww->testbed);
		if (unlikely(__atomic_load_n(&ww->call, __ATOMIC_ACQUIRE))) {
			ww->call(ww->arg);
			__atomic_store_n(&ww->call, NULL, __ATOMIC_RELEASE);
		}
		if (ww->testbed->packets)
			packets_pump(ww->testbed->packets, (ww - ww->testbed->worker) /
				     (ww->testbed->workers / ww->testbed->opts.nodes));
		idle = rmc_ni_visit(ni) ? 0 : idle + 1;
		if (!(++n & 1023)) {
			u64 now = rmc_os_now_ns();

			if (now - ni->tick_ns > RMC_TICK_NS)
				rmc_ni_tick(ni, now);
			if (ww->cpu < 0 && idle > 1024)
				sched_yield();
		}
		if (!ww->park || idle < idle_visits || (n & 63) || !rmc_ni_may_park(ni))
			continue;
		if (rmc_ni_park(ni)) {
			rmc_ni_disown(ni);
			sleep_until_kicked(ww);
			while (!rmc_ni_try_own(ni))
				sched_yield();
			rmc_ni_unpark(ni);
		}
		idle = 0;
	}
	return NULL;
}

void testbed_start(struct testbed *w, const int *cpus, bool park)
{
	u32 i;

	testbed_now_ns = 0;
	w->stop = 0;
	for (i = 0; i < w->workers; i++) {
		w->worker[i].cpu = cpus ? cpus[i] : -1;
		w->worker[i].park = park;
		if (pthread_create(&w->worker[i].thread, NULL, run, &w->worker[i]))
			abort();
	}
}

void testbed_stop(struct testbed *w)
{
	u32 i;

	__atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < w->workers; i++)
		pthread_join(w->worker[i].thread, NULL);
}

/* What rmc_worker_call() does */
void testbed_call(struct rmc_ni_worker *ni, void (*fn)(void *arg), void *arg)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct testbed_worker *ww = (struct testbed_worker *)ni;

	pthread_mutex_lock(&one);
	ww->arg = arg;
	__atomic_store_n(&ww->call, fn, __ATOMIC_RELEASE);
	rmc_os_wake(ni);
	while (__atomic_load_n(&ww->call, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_mutex_unlock(&one);
}

struct rmc_mem *mem_make(void *base, u64 length, u32 chunk_shift, u32 flags)
{
	struct rmc_mem *m = xzalloc(sizeof(*m));
	u64 chunk, first, n, i;

	m->base = (uintptr_t)base;
	m->length = length;
	rmc_mem_chunks(m, chunk_shift);
	m->flags = flags;
	if (chunk_shift == 63) {
		m->chunk = xzalloc(sizeof(void *));
		m->chunk[0] = base;
		return m;
	}
	chunk = 1ULL << chunk_shift;
	first = (uintptr_t)base & ~(chunk - 1);
	m->head = (uintptr_t)base - first;
	n = (m->head + length + chunk - 1) >> chunk_shift;
	m->chunk = xzalloc(n * sizeof(void *));
	for (i = 0; i < n; i++)
		m->chunk[i] = (void *)(first + i * chunk);
	return m;
}

void mem_free(struct rmc_mem *m)
{
	free(m->chunk);
	free(m);
}

/* It holds objects with a struct rmc_object at @header. */
void mem_objects(struct rmc_mem *m, u32 mode, u32 header)
{
	m->sabre = mode;
	m->version_off = header;
	m->readers_off = header + 8;
}

void seg_set(struct testbed *w, u32 nid, u32 ctx_id, struct rmc_mem *m)
{
	struct rmc_mem *old = w->node[nid]->ct.seg[ctx_id];
	u32 i;

	/* as rmc_file_seg_del() and rmc_file_seg_add() */
	if (old)
		rmc_hide(&old->exposure);
	for (i = 0; i < w->opts.units; i++) {
		struct rmc_node *unit = w->node[nid]->unit[i];

		unit->ct.seg[ctx_id] = m;
		if (old)
			rmc_state_withdraw(unit, old);
	}
	/* in tests it may be another node's as well, which keeps it */
	if (old)
		rmc_expose(&old->exposure);
	if (m)
		rmc_expose(&m->exposure);
}

void model_set(struct testbed *w, const struct rmc_model *m)
{
	enum rmc_lane lane;
	u32 ep;

	for (ep = 0; ep < w->opts.nodes * w->opts.units; ep++) {
		struct rmc_node *unit = testbed_unit(w, ep);

		unit->fabric->model = *m;
		for (lane = 0; lane < RMC_LANES; lane++)
			rmc_channel_refresh(unit, lane);
	}
}

void fault_set(struct testbed *w, u32 from, u32 to, enum rmc_lane lane,
	       const struct rmc_fault *fault, u64 seed)
{
	u32 units = w->opts.units, i;

	for (i = 0; i < units * units; i++) {
		struct rmc_node *node = w->node[to]->unit[i / units];
		u32 ep = rmc_endpoint(node->fabric, from) + i % units;
		struct rmc_filter *flt = node->links.filter[lane][ep];

		if (!flt) {
			flt = rmc_filter_create(node->fabric, lane, true);
			if (!flt)
				abort();
			rmc_channel_add_filter(node, ep, flt);
		}
		rmc_filter_set(flt, fault, seed ? seed + i : 0);
	}
}

bool fault_clear(struct testbed *w, u32 from, u32 to, enum rmc_lane lane)
{
	u32 units = w->opts.units, i, k;
	bool all = true;

	for (i = 0; i < units * units; i++) {
		struct rmc_node *node = w->node[to]->unit[i / units];
		u32 ep = rmc_endpoint(node->fabric, from) + i % units;
		struct rmc_filter *flt = node->links.filter[lane][ep];
		bool removed = false;

		if (!flt)
			continue;
		for (k = 0; k < 2000 && !removed; k++) {
			removed = !rmc_channel_del_filter(node, ep, lane);
			if (!removed)
				testbed_visit(w);
		}
		/* one that lost packets of an ordered queue pair stays until that has noticed */
		all &= removed;
		if (removed)
			rmc_filter_destroy(flt);
	}
	return all;
}

u32 testbed_in_flight(struct testbed *w, u32 nid)
{
	u32 i, n = 0;

	for (i = 0; i < w->opts.units; i++)
		n += w->node[nid]->unit[i]->itt.used;
	return n;
}

u32 testbed_transfers(struct testbed *w, u32 nid)
{
	u32 i, n = 0;

	for (i = 0; i < w->opts.units; i++)
		n += w->node[nid]->unit[i]->att.live;
	return n;
}

bool testbed_credits_home(struct testbed *w, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < w->opts.units * w->opts.rrpps; i++) {
		struct rmc_node *unit = w->node[from]->unit[i / w->opts.rrpps];
		u32 ep = rmc_endpoint(unit->fabric, to) + i % w->opts.rrpps;
		struct rmc_out *out = unit->out[ep];

		if (out && (out->credits != out->req.mask + 1 || out->held || out->held_lines ||
			    out->xfers || out->announcing != RMC_TID_NONE ||
			    out->req_lines != out->req.pay_mask + 1 ||
			    out->rep_lines != out->req.pay_mask + 1))
			return false;
	}
	return true;
}

static void app_make(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries,
		     struct rmc_tenant *tenant, bool ordered)
{
	u32 order = __builtin_ctz(entries);

	memset(a, 0, sizeof(*a));
	a->w = w;
	a->entries = entries;
	a->wq = xzalloc_pages(entries * sizeof(*a->wq));
	a->cq = xzalloc_pages(entries * sizeof(*a->cq));
	a->flags = xzalloc_pages(sizeof(*a->flags));
	a->qp.wq = a->wq;
	a->qp.cq = a->cq;
	a->qp.flags = a->flags;
	a->qp.bufs = &a->bufs;
	a->qp.node = w->node[nid]->unit[w->apps++ % w->opts.units];
	a->qp.mask = entries - 1;
	a->qp.order = order;
	a->qp.ctx_id = ctx_id;
	if (ordered && rmc_order_init(&a->qp, a->qp.node->fronts))
		abort();
	if (a->qp.node->fronts) {
		struct rmc_ni_worker *front =
			a->qp.node->front[a->qp.node->qps % a->qp.node->fronts];

		a->qp.front = rmc_front_create(&a->qp, front);
		if (a->qp.front)
			a->qp.front->inner.qp.tenant = tenant;
		if (!a->qp.front ||
		    rmc_ni_add_qp(a->qp.node->req_worker, &a->qp.front->inner.qp))
			abort();
	} else {
		a->qp.tenant = tenant;
	}
	if (rmc_ni_add_qp(rmc_qp_worker(&a->qp), &a->qp))
		abort();
}

void app_init_of(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries,
		 struct rmc_tenant *tenant)
{
	app_make(a, w, nid, ctx_id, entries, tenant, false);
}

void app_init(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries)
{
	app_make(a, w, nid, ctx_id, entries, NULL, false);
}

void app_init_ordered(struct app *a, struct testbed *w, u32 nid, u32 ctx_id, u32 entries)
{
	app_make(a, w, nid, ctx_id, entries, NULL, true);
}

void app_fini(struct app *a)
{
	rmc_ni_del_qp(rmc_qp_worker(&a->qp), &a->qp);
	if (a->qp.front)
		rmc_ni_del_qp(a->qp.node->req_worker, &a->qp.front->inner.qp);
	app_lost(a);
}

void app_lost(struct app *a)
{
	if (a->qp.front)
		rmc_front_destroy(a->qp.front);
	rmc_order_destroy(&a->qp);
	free(a->wq);
	free(a->cq);
	free(a->flags);
}

void app_post_raw(struct app *a, u64 word0, u64 word1)
{
	struct rmc_wq_entry *e = &a->wq[a->head & (a->entries - 1)];
	u64 phase = ~(a->head / a->entries) & 1;

	WRITE_ONCE(e->word1, word1);
	smp_store_release(&e->word0, (word0 & ~RMC_WQE_PHASE) | phase);
	a->head++;
}

u32 app_post(struct app *a, u32 op, u32 nid, u64 offset, const void *lbuf, u32 len)
{
	u32 slot = a->head & (a->entries - 1);

	app_post_raw(a, rmc_wqe_word0(op, nid, (uintptr_t)lbuf, 0), rmc_wqe_word1(offset, len));
	return slot;
}

bool app_poll(struct app *a, u32 *slot, u32 *status)
{
	u32 word = smp_load_acquire(&a->cq[a->cq_head & (a->entries - 1)].word);

	if ((word & RMC_CQE_PHASE) != (~(a->cq_head / a->entries) & 1))
		return false;
	a->cq_head++;
	*slot = rmc_cqe_slot(word);
	*status = rmc_cqe_status(word);
	return true;
}

/* Step the testbed until a completion is there; -1 when none comes. */
int app_wait(struct app *a)
{
	u32 slot, status, i;

	for (i = 0; i < 100000; i++) {
		if (app_poll(a, &slot, &status))
			return status;
		testbed_visit(a->w);
	}
	return -1;
}

void app_take(struct app *a)
{
	if (a->qp.front) {
		rmc_front_poll(&a->qp);
		rmc_rgp_poll(&a->qp.front->inner.qp);
	} else {
		rmc_rgp_poll(&a->qp);
	}
}

int app_run(struct app *a, u32 op, u32 nid, u64 offset, const void *lbuf, u32 len)
{
	u32 slot = app_post(a, op, nid, offset, lbuf, len), got, status, i;

	for (i = 0; i < 100000; i++) {
		if (app_poll(a, &got, &status))
			return got == slot ? (int)status : -2;
		testbed_visit(a->w);
	}
	return -1;
}
