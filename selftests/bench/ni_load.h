/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A part of ni_bench.c and compaction.c, which include it: two nodes, each with its own workers, that read from (or
 * write to) each other, and what that takes.
 *
 *	load_computed()		each visit of a worker or an application is run and timed, one after the
 *				other; their clocks advance by that (../harness/ni_time.h)
 *	load_native()		a pinned thread for each, on as many CPUs
 *
 * Of the visits that are timed, those of actors that hand lines to each other run on different CPUs
 * if there are two: applications of one node, and every second stage behind them, on the first; the
 * others on the second. So a visit takes the misses that it would take on a CPU of its own.
 */
#ifndef BENCH_NI_LOAD_H
#define BENCH_NI_LOAD_H

#include <sched.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"
#include "ni_time.h"

#define LOAD_APPS	8		/* of each node, at most */
#define LOAD_THREADS	(NI_TIME_NODES * LOAD_APPS)
#define LOAD_SIZE	16384		/* largest operation */
#define LOAD_POSTS	16		/* of an application in a visit */
#define LOAD_WINDOW_NS	250000		/* 500,000 cycles of 2 GHz, as the thesis; at least so many ... */
#define LOAD_WINDOW_OPS	1000		/* ... and so many operations; quick: a third */
#define LOAD_WINDOWS	20		/* at most, until one is within 1 % of the one before */
#define LOAD_NATIVE_MS	100		/* a window of threads, quick: a fifth; the median of */
#define LOAD_NATIVE	5
#define LOAD_PREEMPTED	200000		/* ns: no visit takes so long by itself */

/**
 * struct load - two nodes and what they do
 * @ni: organisation, with
 * @units: units, of which
 * @rrpps: serve, and
 * @frontends: for each unit, if it has any
 * @kernels: each node has its own workers; else all nodes are theirs
 * @one_way: node 0 issues; else both nodes do
 * @apps: applications of each node that issues
 * @threads: of all applications; 0: one for each
 * @op: RMC_OP_READ or RMC_OP_WRITE, of
 * @size: bytes, with
 * @outstanding: of each application in flight
 */
struct load {
	const char *ni;
	u32 units, rrpps, frontends;
	bool kernels, one_way;
	u32 apps, threads;
	u32 op, size, outstanding;
};

/**
 * struct load_result - what was found
 * @rate: operations of all applications, per us
 * @ns: of an operation of one application; its latency if one is in flight
 * @share_low: operations that an RRPP served, of an equal share: the least
 * @share_high: the most
 * @served: operations that a node served, if both nodes' numbers differ the smaller one
 * @busiest: kind of what had the most work; computed only
 * @used: share of the time that it worked
 * @preempted: visits that somebody else interrupted; they count as the mean of their actor's
 */
struct load_result {
	double rate, ns;
	double share_low, share_high, served;
	const char *busiest;
	double used;
	u32 preempted;
};

struct load_app {
	struct bench_app b;
	u64 completed;			/* written by its thread */
	u64 random;
};

struct load_thread {
	struct load_app *app;
	u32 apps, nodes;		/* bit per node of these */
	pthread_t thread;
	int cpu;
};

static struct {
	struct bench b;
	struct load l;
	struct rmc_mem *seg[NI_TIME_NODES];
	struct load_app app[LOAD_THREADS];
	struct load_thread thread[LOAD_THREADS];
	u32 apps, threads;
	u8 *lbuf[LOAD_THREADS];		/* mapped once */
	u64 served[NI_TIME_NODES * RMC_MAX_UNITS];
	u32 stop;
} load;

static cpu_set_t load_allowed;
static int load_cpu[CPU_SETSIZE], load_cpus;	/* those that this process may use */

/* ---- applications ---- */

static void load_landed(int slot, void *arg)
{
	struct bench_app *app = arg;

	*(volatile u64 *)(app->lbuf + slot * (u64)app->stride);
}

static void load_post(struct load_app *a)
{
	struct bench_app *app = &a->b;
	int slot = rmc_wait_for_slot(&app->qp, load_landed);	/* it is free */
	u8 *lbuf = app->lbuf + slot * (u64)app->stride;
	u64 off;

	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	off = a->random % (bench_bytes / NI_TIME_NODES / load.l.size) * load.l.size;

	if (load.l.op == RMC_OP_READ)
		rmc_read_async(&app->qp, slot, app->target, off, lbuf, load.l.size);
	else
		rmc_write_async(&app->qp, slot, app->target, off, lbuf, load.l.size);
}

/* Keep the queue full, and poll now and then. Returns what it did. */
static u32 load_visit_app(struct load_app *a)
{
	struct rmc_qp *qp = &a->b.qp;
	int n = rmc_poll_cq(qp, load_landed);
	u32 posts;

	if (n > 0)
		__atomic_store_n(&a->completed, a->completed + n, __ATOMIC_RELAXED);
	/* completions come in any order: the next slot may still be in flight */
	for (posts = 0; posts < LOAD_POSTS && rmc_qp_in_flight(qp) < load.l.outstanding &&
	     qp->slot[qp->head & qp->mask] != RMC_SLOT_BUSY; posts++)
		load_post(a);
	return max(n, 0) + posts;
}

static u32 load_visit_thread(void *of)
{
	struct load_thread *t = of;
	u32 i, done = 0;

	for (i = 0; i < t->apps; i++)
		done += load_visit_app(&t->app[i]);
	return done;
}

static u64 load_completed(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < load.apps; i++)
		sum += __atomic_load_n(&load.app[i].completed, __ATOMIC_RELAXED);
	return sum;
}

/* ---- the nodes ---- */

/* Applications to threads, those of a node one after another */
static void load_divide(void)
{
	u32 n = load.l.threads ? min(load.l.threads, load.apps) : load.apps, i, k;

	load.threads = n;
	for (i = 0; i < n; i++) {
		struct load_thread *t = &load.thread[i];
		u32 first = i * load.apps / n;

		t->app = &load.app[first];
		t->apps = (i + 1) * load.apps / n - first;
		t->nodes = 0;
		for (k = 0; k < t->apps; k++)
			t->nodes |= 1U << !t->app[k].b.target;
	}
}

/* An application's queue pair is its unit's, so those of a node are made one after another. */
static void load_open(const struct load *l)
{
	struct testbed_opts o = { .nodes = NI_TIME_NODES, .ni = l->ni, .units = l->units,
				  .rrpps = l->rrpps, .frontends = l->frontends,
				  .kernels = l->kernels, .packets = true,
				  .mtu = RMC_MTU_DEFAULT, .itt = 1024 };
	u32 stride = max(l->size, 64U), nid, i;

	load.l = *l;
	testbed_now_ns = 0;
	testbed_init(&load.b.w, &o);
	load.apps = 0;
	for (nid = 0; nid < NI_TIME_NODES; nid++) {
		load.seg[nid] = mem_make(bench_segment + nid * (bench_bytes / NI_TIME_NODES),
					 bench_bytes / NI_TIME_NODES, bench_chunk_shift, 0);
		seg_set(&load.b.w, nid, 0, load.seg[nid]);
		for (i = 0; i < l->apps && !(l->one_way && nid); i++) {
			u8 **lbuf = &load.lbuf[load.apps];

			if (!*lbuf)
				*lbuf = bench_map(bench_app_bytes(LOAD_SIZE));
			load.app[load.apps].completed = 0;
			load.app[load.apps].random = bench_random();
			bench_app_init_at(&load.b, &load.app[load.apps++].b, nid, !nid, *lbuf, stride);
		}
	}
	load_divide();
	if (strcmp(bench_path(&load.b.w, l->size), "packets")) {
		fprintf(stderr, "ni_bench: %s does without packets\n", l->ni);
		exit(1);
	}
}

static void load_close(void)
{
	u32 i;

	for (i = 0; i < load.apps; i++) {
		bench_check(load.app[i].b.qp.error);
		bench_app_fini(&load.app[i].b);
		mem_free(load.app[i].b.buf);
	}
	testbed_fini(&load.b.w);
	for (i = 0; i < NI_TIME_NODES; i++)
		mem_free(load.seg[i]);
}

/* Shares of the RRPPs since the last call, of each node that served */
static void load_shares(struct load_result *r)
{
	u32 rrpps = load.b.w.opts.rrpps, units = load.b.w.opts.units, nid, i;
	u64 now[RMC_MAX_UNITS], all;

	r->share_low = 1e9;
	r->share_high = 0;
	r->served = 1e18;
	for (nid = 0; nid < NI_TIME_NODES; nid++) {
		for (i = 0, all = 0; i < units; i++) {
			u64 *before = &load.served[nid * RMC_MAX_UNITS + i];
			u64 count = READ_ONCE(load.b.w.node[nid]->unit[i]->stats.served);

			now[i] = count - *before;
			*before = count;
			all += now[i];
		}
		if (all)
			r->served = fmin(r->served, all);
		for (i = 0; i < rrpps && all; i++) {
			r->share_low = fmin(r->share_low, (double)now[i] * rrpps / all);
			r->share_high = fmax(r->share_high, (double)now[i] * rrpps / all);
		}
	}
}

/* ---- visits that are timed, on two CPUs ---- */

/* The second CPU runs a visit when asked. */
static struct {
	struct ni_actor *a __attribute__((aligned(128)));
	u32 done;
	u64 ticks;
	u32 line[64] __attribute__((aligned(128)));
	pthread_t thread;
	u32 stop;
} second;

/* The end of a visit: after its last load */
static inline u64 load_ticks(void)
{
#ifdef __x86_64__
	u32 cpu;

	return __builtin_ia32_rdtscp(&cpu);
#else
	return bench_now();
#endif
}

static void *load_second(void *arg)
{
	struct ni_actor *a;
	u64 t0;

	bench_pin(load_cpu[1]);
	while (!__atomic_load_n(&second.stop, __ATOMIC_RELAXED)) {
		a = __atomic_load_n(&second.a, __ATOMIC_ACQUIRE);
		if (!a)
			continue;
		t0 = bench_ticks();
		second.done = a->step(a->of);
		second.ticks = load_ticks() - t0;
		__atomic_store_n(&second.a, NULL, __ATOMIC_RELEASE);
	}
	return arg;
}

static u64 load_there(struct ni_actor *a, u32 *done)
{
	__atomic_store_n(&second.a, a, __ATOMIC_RELEASE);
	while (__atomic_load_n(&second.a, __ATOMIC_ACQUIRE))
		rmc_pause();
	*done = second.done;
	return second.ticks;
}

static u64 load_here(struct ni_actor *a, u32 *done)
{
	u64 t0 = bench_ticks();

	*done = a->step(a->of);
	return load_ticks() - t0;
}

/* What hands lines to each other is on different CPUs: stages between the nodes take turns. */
static bool load_is_there(const struct ni_actor *a)
{
	u32 depth = !a->stages ? 0 : a->stages & RMC_STAGE_FRONT ? 1 :
		    strcmp(load.l.ni, "split") ? 1 : 2;

	if (!load.l.kernels)	/* of both nodes: an RRPP of its own has packets from the other one */
		return a->stages && a->stages != RMC_STAGE_SRV;
	return a->nodes != 3 && (depth + (a->nodes >> 1)) & 1;
}

static double load_ns_per_tick;
static bool load_one_cpu;
static u32 load_preempted;

static u64 load_visit(struct ni_time *t, struct ni_actor *a, u32 *done)
{
	u64 ticks = !load_one_cpu && load_is_there(a) ? load_there(a, done) : load_here(a, done);

	if (ticks * load_ns_per_tick > LOAD_PREEMPTED) {
		load_preempted++;
		ticks = a->visits ? a->busy / a->visits : 1;
	}
	return max(ticks, 1ULL);
}

static u32 load_read_line(void *of)
{
	return *(volatile u32 *)of + 1;
}

/* Median ticks of a visit that reads a line, which the other CPU has written, or this one has */
static double load_line(bool other)
{
	static double v[2001];
	struct ni_actor a = { .step = load_read_line, .of = second.line };
	u32 done;
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(v); i++) {
		if (other)
			__atomic_store_n(second.line, i, __ATOMIC_RELEASE);
		else
			load_there(&a, &done);
		v[i] = load_there(&a, &done);
	}
	return bench_median(v, ARRAY_SIZE(v));
}

/*
 * What passes between the end of a visit and the beginning of the one that sees its stores, ticks:
 * half of a line's round trip, less what the reader's miss takes in its own visit.
 */
static double load_handoff(double half_ns, double *miss_ns)
{
	*miss_ns = 0;
	if (!load_one_cpu)
		*miss_ns = fmax(0, load_line(true) - load_line(false)) * load_ns_per_tick;
	return fmax(0, half_ns - *miss_ns) / load_ns_per_tick;
}

static void load_begin_second(void)
{
	if (!load_one_cpu && pthread_create(&second.thread, NULL, load_second, NULL))
		abort();
}

static void load_end_second(void)
{
	if (load_one_cpu)
		return;
	__atomic_store_n(&second.stop, 1, __ATOMIC_RELAXED);
	pthread_join(second.thread, NULL);
}

/* ---- computed ---- */

static const char *load_kind(const struct ni_actor *a)
{
	if (!a->stages)
		return "application";
	if (a->stages & RMC_STAGE_FRONT)
		return "frontend";
	if (a->stages == RMC_STAGE_SRV)
		return "RRPP";
	return a->stages & RMC_STAGE_SRV ? "all stages" : "RGP, RCP";
}

/* Operations per tick, of a window */
static double load_window(struct ni_time *t, u64 ops)
{
	u64 from = t->now, least = LOAD_WINDOW_NS / load_ns_per_tick, done = load_completed(), n = 0;

	while (!n || t->now - from < least || load_completed() - done < ops)
		for (n = 0; n < 256; n++)
			ni_time_step(t);
	return (double)(load_completed() - done) / (t->now - from);
}

static void load_computed(const struct load *l, double handoff, struct load_result *r)
{
	u64 ops = bench_quick ? LOAD_WINDOW_OPS / 3 : LOAD_WINDOW_OPS, from;
	u32 windows = bench_quick ? LOAD_WINDOWS / 5 : LOAD_WINDOWS, i;
	struct ni_time t = { .handoff = handoff, .visit = load_visit };
	double rate, before = 0;
	const struct ni_actor *a;

	load_open(l);
	bench_pin(load_cpu[0]);
	ni_time_add_workers(&t, &load.b.w);
	for (i = 0; i < load.threads; i++)
		ni_time_add(&t, load_visit_thread, &load.thread[i], 0, load.thread[i].nodes);
	ni_time_begin(&t);
	/* queues are full, and lines of the segments have been used */
	load_window(&t, max(2 * ops, 2ULL * load.apps * l->outstanding));
	load_shares(r);
	load_preempted = 0;
	ni_time_reset(&t);
	from = t.now;
	for (i = 0; i < windows; i++) {
		rate = load_window(&t, ops);
		if (i && fabs(rate / before - 1) < 0.01)
			break;
		before = rate;
	}
	a = ni_time_busiest(&t);
	r->busiest = load_kind(a);
	/* a visit may end after the window */
	r->used = fmin(1, (double)a->busy / (t.now - from));
	r->rate = rate * 1000 / load_ns_per_tick;
	r->ns = load.apps * load_ns_per_tick / rate;
	r->preempted = load_preempted;
	load_shares(r);
	memset(load.served, 0, sizeof(load.served));
	load_close();
}

/* ---- threads ---- */

/* CPUs that threads of this load need, each one of its own */
static u32 load_needs(const struct load *l, u32 *workers)
{
	const struct rmc_fabric f = { .unit_order = __builtin_ctz(l->units),
				      .rrpp_order = __builtin_ctz(l->rrpps) };
	const struct rmc_ni_org *org = rmc_ni_find(l->ni);

	*workers = rmc_ni_workers(org, &f, l->frontends) * (l->kernels ? NI_TIME_NODES : 1);
	return *workers + (l->threads ?: l->apps * (l->one_way ? 1 : NI_TIME_NODES));
}

static void *load_run_thread(void *arg)
{
	struct load_thread *t = arg;

	bench_pin(t->cpu);
	while (!__atomic_load_n(&load.stop, __ATOMIC_RELAXED))
		load_visit_thread(t);
	return NULL;
}

/* Operations per ns. Longer, should no thread get its CPU at all */
static double load_native_window(void)
{
	u64 t0 = bench_now(), done = load_completed();
	u32 tries;

	for (tries = 0; tries < 100 && (!tries || load_completed() == done); tries++)
		usleep(LOAD_NATIVE_MS * 1000 / (bench_quick ? 5 : 1));
	if (load_completed() == done) {
		fprintf(stderr, "ni_bench: %s: no operation completes\n", load.l.ni);
		exit(1);
	}
	return (double)(load_completed() - done) / (bench_now() - t0);
}

/* The caller has checked that there are as many CPUs. */
static void load_begin_threads(const struct load *l)
{
	u32 i;

	load_open(l);
	sched_setaffinity(0, sizeof(load_allowed), &load_allowed);
	testbed_start(&load.b.w, load_cpu, false);
	load.stop = 0;
	for (i = 0; i < load.threads; i++) {
		load.thread[i].cpu = load_cpu[load.b.w.workers + i];
		if (pthread_create(&load.thread[i].thread, NULL, load_run_thread, &load.thread[i]))
			abort();
	}
}

static void load_end_threads(void)
{
	u32 i;

	__atomic_store_n(&load.stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < load.threads; i++)
		pthread_join(load.thread[i].thread, NULL);
	testbed_stop(&load.b.w);
	memset(load.served, 0, sizeof(load.served));
	load_close();
}

static inline void load_native(const struct load *l, struct load_result *r)
{
	double v[LOAD_NATIVE], rate;
	u32 i;

	memset(r, 0, sizeof(*r));
	load_begin_threads(l);
	load_native_window();
	load_shares(r);
	for (i = 0; i < LOAD_NATIVE; i++)
		v[i] = load_native_window();
	load_shares(r);
	rate = bench_median(v, LOAD_NATIVE);
	r->rate = rate * 1000;
	r->ns = load.apps / rate;
	load_end_threads();
}

#endif
