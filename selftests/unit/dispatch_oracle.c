// SPDX-License-Identifier: GPL-2.0
/*
 * The dispatcher beside the queueing simulator (tools/qsim): modelled cores, one trace of arrivals,
 * service times and keys, and all costs zero. Each message ends at the same time, to the
 * picosecond. And what a message costs here, in CPU time.
 */
#include <stdio.h>
#include <time.h>
#include "../tap.h"
#include "kmod/core/dispatch.h"
#include "../../tools/qsim/load.h"

#ifdef __SANITIZE_ADDRESS__
#define N		1200
#define SEEDS		2
#define LOOPS		20000
#define LIMIT_NS	3000
#else
#define N		4000
#define SEEDS		2
#define LOOPS		500000
#define LIMIT_NS	200
#endif

/* ---- cores that work on one message after the other ---- */

struct modelled {
	u32 has, mine[RMC_DISPATCH_DEPTH];
	u64 ends, order;	/* of equal ends, the one that began first is first */
};

static struct {
	struct rmc_dispatch *d;
	struct rmc_dispatch_msg *msg;
	const struct message *m;
	u64 *latency, now, order;
	u32 cores;
	bool pulls;
	struct modelled core[RMC_DISPATCH_CORES];
} w;

static void begin_first(struct modelled *c)
{
	c->ends = w.now + w.m[c->mine[0]].service;
	c->order = w.order++;
}

static void given(u32 core, const struct rmc_dispatch_msg *m)
{
	struct modelled *c = &w.core[core];

	CHECK(c->has < RMC_DISPATCH_DEPTH);
	c->mine[c->has++] = m - w.msg;
	if (c->has == 1)
		begin_first(c);
}

static void dispatch(void)
{
	struct rmc_dispatch_msg *m;
	u32 i;
	int core;

	while ((core = rmc_dispatch_next(w.d, w.now, &m)) >= 0)
		given(core, m);
	for (i = 0; w.pulls && i < w.cores; i++)
		while ((m = rmc_dispatch_pull(w.d, i, w.now)))
			given(i, m);
}

static struct modelled *first_to_end(void)
{
	struct modelled *best = NULL;
	u32 i;

	for (i = 0; i < w.cores; i++) {
		struct modelled *c = &w.core[i];

		if (c->has && (!best || c->ends < best->ends ||
			       (c->ends == best->ends && c->order < best->order)))
			best = c;
	}
	return best;
}

/* All cores that end a message now; then the dispatcher learns of them, one after the other. */
static void end_all(void)
{
	u32 core[RMC_DISPATCH_CORES], what[RMC_DISPATCH_CORES], n = 0, i;
	struct modelled *c;

	while ((c = first_to_end()) && c->ends == w.now) {
		core[n] = c - w.core;
		what[n] = c->mine[0];
		w.latency[what[n]] = w.now - w.m[what[n]].arrives;
		memmove(c->mine, c->mine + 1, --c->has * sizeof(c->mine[0]));
		if (c->has)
			begin_first(c);
		n++;
	}
	for (i = 0; i < n; i++) {
		CHECK(rmc_dispatch_done(w.d, core[i], &w.msg[what[i]]));
		dispatch();
	}
}

static void play(const struct message *m, u32 n, u64 *latency)
{
	struct modelled *c;
	u32 arrived = 0;

	w.m = m;
	w.latency = latency;
	memset(w.core, 0, sizeof(w.core));
	while ((c = first_to_end()) || arrived < n) {
		if (c && (arrived == n || c->ends <= m[arrived].arrives)) {
			w.now = c->ends;
			end_all();
			continue;
		}
		w.now = m[arrived].arrives;
		w.msg[arrived].key = m[arrived].key;
		CHECK(rmc_dispatch_arrive(w.d, &w.msg[arrived], w.now));
		arrived++;
		dispatch();
	}
	CHECK_EQ(rmc_dispatch_waiting(w.d), 0);
}

/* ---- a dispatcher ---- */

static struct rmc_dispatch *create(const struct rmc_dispatch_params *p, u32 attach)
{
	void *mem;
	u32 i;

	CHECK_EQ(rmc_dispatch_check(p), 0);
	mem = aligned_alloc(64, ALIGN(rmc_dispatch_bytes(p), 64));
	w.d = rmc_dispatch_init(mem, p);
	CHECK(w.d == mem);
	for (i = 0; i < attach; i++)
		CHECK_EQ(rmc_dispatch_attach(w.d, i * p->groups / p->cores,
					     (1U << p->classes) - 1), i);
	return w.d;
}

/* Keyed: the simulator does not know to which core a key is bound. */
static void bind_keys(struct message *m, u32 n)
{
	struct rmc_dispatch_msg one = { 0 };
	u32 i;

	for (i = 0; i < n; i++) {
		one.key = m[i].key;
		CHECK(rmc_dispatch_arrive(w.d, &one, 0));
		m[i].key = one.fifo;
		CHECK(rmc_dispatch_pull(w.d, one.fifo, 0) == &one);
		CHECK(rmc_dispatch_done(w.d, one.fifo, &one));
	}
}

/* The simulator's policy; one that it does not have is another one there */
static enum policy simulated(u32 policy)
{
	const char *name = rmc_dispatch_name(policy);
	int found = policy_find(policy == RMC_DISPATCH_KEYED ? "static" :
				policy == RMC_DISPATCH_SHARED ? "greedy" : name);

	if (found < 0) {
		TAP_FAIL("rmc_qsim has no policy %s", name);
		found = 0;
	}
	return (enum policy)found;
}

static void compare(struct trace *t, const struct rmc_dispatch_params *p, double load, u64 *got)
{
	struct queueing x = { .host = { simulated(p->policy), p->cores, p->groups, p->depth, 0,
					p->seed } };
	struct message *m = malloc(t->n * sizeof(*m));
	u32 differ = 0, first = 0, i;

	create(p, p->cores);
	memset(w.msg, 0, t->n * sizeof(*w.msg));
	w.cores = p->cores;
	w.pulls = p->policy == RMC_DISPATCH_SHARED;
	/* for the arrivals of this load */
	CHECK(!run_at(t, &x, load));
	memcpy(m, t->m, t->n * sizeof(*m));
	for (i = 0; p->policy == RMC_DISPATCH_CLASS && i < t->n; i++)
		m[i].key %= p->classes;
	play(m, t->n, got);
	if (p->policy == RMC_DISPATCH_KEYED) {
		bind_keys(m, t->n);
		CHECK(!dispatch_run(&x.host, m, t->n, t->latency));
	}
	for (i = 0; i < t->n; i++)
		if (got[i] != t->latency[i]) {
			first = differ++ ? first : i;
			CHECK(differ < 2);
		}
	if (differ)
		TAP_FAIL("%s, %u cores, depth %u, groups %u, load %.2f: %u messages differ, the "
			 "first is %u: %llu ps, not %llu", rmc_dispatch_name(p->policy), p->cores,
			 p->depth, p->groups, load, differ, first, (unsigned long long)got[first],
			 (unsigned long long)t->latency[first]);
	free(m);
	free(w.d);
}

static bool has_groups(u32 policy)
{
	return policy == RMC_DISPATCH_GROUPS || policy == RMC_DISPATCH_HIER ||
	       policy == RMC_DISPATCH_CLASS;
}

static u64 compared;

/* All policies, with each depth and number of groups that they have */
static void compare_all(struct trace *t, u32 cores, const u32 *depths, u32 ndepths, double load,
			u64 seed, u64 *got)
{
	static const u32 groups[] = { 4, 2, 1 };
	u32 policy, k, g;

	for (policy = 0; policy < RMC_DISPATCH_COUNT && !tap_failures; policy++)
		for (k = 0; k < ndepths; k++)
			for (g = 0; g < (has_groups(policy) ? 3 : 1); g++) {
				struct rmc_dispatch_params p = { .policy = policy, .cores = cores,
					.depth = depths[k], .seed = stream_seed(seed, 100),
					.groups = has_groups(policy) ? groups[g] : 1,
					.classes = has_groups(policy) ? groups[g] : 1 };

				/* of threads that pull, which one comes first is the simulator's */
				if (policy == RMC_DISPATCH_SHARED && p.depth > 1)
					continue;
				compare(t, &p, load, got);
				compared += t->n;
			}
}

static void test_oracle(enum service_kind kind)
{
	static const struct { u32 cores, n; u32 depths[4], ndepths; } sizes[] = {
		{ 16, N, { 1, 2, 4, 16 }, 4 },
		{ 12, N / 4, { 1, 3 }, 2 },
		{ 64, N / 2, { 2 }, 1 },
		{ 200, N / 4, { 1, 2 }, 2 },
	};
	static const double loads[] = { 0.5, 0.9, 1.1 };
	struct service s = { kind, 300 * PS_PER_NS, 300 * PS_PER_NS, GEV_SHAPE };
	u64 *got = malloc(N * sizeof(*got)), seed;
	u32 i, l;

	w.msg = malloc(N * sizeof(*w.msg));
	compared = 0;
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (seed = 1; seed <= (i ? 1 : SEEDS); seed++) {
			struct trace t;

			CHECK(!trace_init(&t, &s, sizes[i].n, seed));
			for (l = 0; l < ARRAY_SIZE(loads); l++)
				compare_all(&t, sizes[i].cores, sizes[i].depths, sizes[i].ndepths,
					    loads[l], seed, got);
			trace_destroy(&t);
		}
	free(w.msg);
	free(got);
	printf("# %llu messages\n", (unsigned long long)compared);
}

/* ---- what a message costs ---- */

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/*
 * Nanoseconds of a message: it arrives, a core gets it, no other finds one, it is done. @busy
 * messages are outstanding.
 */
static double cost(u32 policy, u32 cores, u32 attach, u32 busy)
{
	struct rmc_dispatch_params p = { .policy = policy, .cores = cores, .depth = 2, .seed = 1,
		.groups = cores >= 4 ? 4 : 1, .classes = 4 };
	static struct rmc_dispatch_msg msg[1024];
	u32 held[1024], n = ARRAY_SIZE(msg), i, repeat, key = 1;
	u64 best = U64_MAX;

	for (repeat = 0; repeat < 5; repeat++) {
		struct rmc_dispatch_msg *m;
		u32 first = 0, last = 0;
		u64 start;
		int core;

		create(&p, attach);
		memset(msg, 0, sizeof(msg));
		start = cpu_ns();
		for (i = 0; i < LOOPS; i++) {
			u32 slot = i % n;

			if (i - first >= n)
				break;
			key = key * 1664525 + 1013904223;
			msg[slot].key = key >> 16;
			if (!rmc_dispatch_arrive(w.d, &msg[slot], i))
				continue;
			while ((core = rmc_dispatch_next(w.d, i, &m)) >= 0) {
				held[last % n] = (m - msg) << 16 | core;
				last++;
			}
			if (last - first > busy) {
				u32 h = held[first++ % n];

				rmc_dispatch_done(w.d, h & 0xffff, &msg[h >> 16]);
			}
		}
		start = cpu_ns() - start;
		best = start < best ? start : best;
		CHECK_EQ(i, LOOPS);
		free(w.d);
	}
	return (double)best / LOOPS;
}

static void test_cost(void)
{
	static const u32 cores[] = { 16, 64, 256 };
	double ns, two, many;
	u32 i, policy;

	for (i = 0; i < 3; i++) {
		ns = cost(RMC_DISPATCH_GREEDY, cores[i], cores[i], cores[i]);
		printf("# greedy, %u cores: %.1f ns of CPU for a message\n", cores[i], ns);
		CHECK(ns < LIMIT_NS);
	}
	for (policy = 0; policy < RMC_DISPATCH_COUNT; policy++) {
		if (policy == RMC_DISPATCH_SHARED)
			continue;
		/* cores have room for twice as many: their own FIFOs do not grow without end */
		ns = cost(policy, 256, 256, 128);
		printf("# %s, 256 cores: %.1f ns\n", rmc_dispatch_name(policy), ns);
		CHECK(ns < LIMIT_NS);
	}
	two = cost(RMC_DISPATCH_GREEDY, 64, 2, 1);
	many = cost(RMC_DISPATCH_GREEDY, 64, 64, 1);
	printf("# greedy, one busy core: %.1f ns of 2 cores, %.1f of 64\n", two, many);
	CHECK(many < 2 * two + 5);
}

int main(void)
{
	char name[64];
	u32 kind;

	for (kind = 0; kind < SERVICE_KINDS; kind++) {
		test_oracle((enum service_kind)kind);
		snprintf(name, sizeof(name), "dispatch: as the simulator, service times %s",
			 service_name((enum service_kind)kind));
		tap_result(name);
	}
	test_cost();
	tap_result("dispatch: what a message costs");
	return tap_done();
}
