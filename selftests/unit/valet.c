// SPDX-License-Identifier: GPL-2.0
/*
 * A whole node that dispatches messages, in virtual time, beside the queueing simulator: with all
 * costs zero each message takes equally long, to the picosecond; costs have the effect that they
 * must have.
 */
#include "../tap.h"
#include "valet.h"

#define N	4000
#define FEW	200	/* fit the slots of one core's peers */
#define NODES	200

static struct valet v;
static struct trace t;
static u64 got[N];

static const struct valet_system systems[] = {
	{ "1x16", RMC_DISPATCH_GREEDY, 1, 1 },
	{ "1x16, depth 2", RMC_DISPATCH_GREEDY, 1, 2 },
	{ "4x4", RMC_DISPATCH_GROUPS, 4, 1 },
	{ "2x8", RMC_DISPATCH_GROUPS, 2, 1 },
	{ "16x1", RMC_DISPATCH_STATIC, 1, 1 },
	{ "round robin", RMC_DISPATCH_RR, 1, 1 },
	{ "random", RMC_DISPATCH_RANDOM, 1, 2 },
	{ "jsq", RMC_DISPATCH_JSQ, 1, 2 },
	{ "sq2", RMC_DISPATCH_SQ2, 1, 1 },
	{ "jiq", RMC_DISPATCH_JIQ, 1, 1 },
	{ "steal", RMC_DISPATCH_STEAL, 1, 1 },
	{ "hier", RMC_DISPATCH_HIER, 4, 2 },
};

static void trace_of(enum service_kind kind)
{
	const struct service s = { kind, 300 * PS_PER_NS, 300 * PS_PER_NS, GEV_SHAPE };

	CHECK_EQ(trace_init(&t, &s, N, 5), 0);
}

/* The same messages in the simulator; their arrivals are set by it. */
static void simulate(const struct valet_system *s, double load)
{
	const char *name = s->software ? "greedy" : rmc_dispatch_name(s->policy);
	struct queueing x = { .host = { policy_find(name), VALET_CORES, s->groups, s->depth, 0,
					stream_seed(1, 100) } };

	CHECK_EQ(run_at(&t, &x, load), 0);
}

static bool play_some(const struct valet_system *s, const struct valet_costs *cost, u32 n)
{
	bool ran;

	CHECK(valet_open(&v, s));
	ran = valet_run(&v, cost, t.m, n, got);
	if (v.wrong)
		TAP_FAIL("%s: %s", s->name, v.wrong);
	valet_close(&v);
	return ran;
}

static bool play(const struct valet_system *s, const struct valet_costs *cost)
{
	return play_some(s, cost, N);
}

static void compare(const struct valet_system *s, double load)
{
	static const struct valet_costs none;
	u32 i, differ = 0, first = 0;

	simulate(s, load);
	CHECK(play(s, &none));
	for (i = 0; i < N; i++)
		if (got[i] != t.latency[i] && !differ++)
			first = i;
	if (differ)
		TAP_FAIL("%s, load %.2f: %u differ, the first is %u: %llu instead of %llu ps",
			 s->name, load, differ, first, (unsigned long long)got[first],
			 (unsigned long long)t.latency[first]);
}

static void all_equal(enum service_kind kind)
{
	u32 i;

	trace_of(kind);
	for (i = 0; i < ARRAY_SIZE(systems) && !tap_failures; i++) {
		compare(&systems[i], 0.3);
		compare(&systems[i], 0.85);
	}
	trace_destroy(&t);
}

static void test_fixed(void)
{
	all_equal(SERVICE_fixed);
}

static void test_exponential(void)
{
	all_equal(SERVICE_exponential);
}

static void test_gev(void)
{
	all_equal(SERVICE_gev);
}

/* A queue of threads under a lock that costs nothing is the same system. */
static void test_software(void)
{
	static const struct valet_system free_lock = { "software", RMC_DISPATCH_GREEDY, 1, 1, true };
	struct valet_system slow = free_lock;
	u64 least = U64_MAX, most = 0;
	u32 i;

	trace_of(SERVICE_uniform);
	compare(&free_lock, 0.3);
	compare(&free_lock, 0.85);
	/* with one that takes 100 ns, nobody is served earlier, and 10 M/s is the limit */
	slow.lock = 100 * PS_PER_NS;
	simulate(&slow, 0.85);
	CHECK(play(&slow, &(struct valet_costs){ 0 }));
	for (i = 0; i < N; i++)
		CHECK(got[i] >= t.m[i].service + slow.lock);
	for (i = 0; i < N; i++) {
		u64 end = t.m[i].arrives + got[i] - t.m[i].service;

		least = min(least, end);
		most = max(most, end);
	}
	CHECK((most - least) / (N - 1) >= slow.lock);
	trace_destroy(&t);
}

/* Each cost alone, where nothing waits: a latency is longer by it, or not. */
static void test_costs(void)
{
	static const struct {
		const char *name;
		struct valet_costs cost;
		u64 longer;
	} rows[] = {
		{ "serve", { .serve = 1000 }, 1000 },
		{ "give", { .give = 2000 }, 2000 },
		{ "known", { .known = 3000 }, 0 },
		{ "core", { .core = 4000 }, 4000 },
		{ "packet", { .packet = 5000 }, 5000 },
		{ "take", { .take = 6000 }, 0 },
		{ "rest", { .rest = 7000 }, 0 },
	};
	u32 r, i;

	trace_of(SERVICE_fixed);
	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		simulate(&systems[0], 0.01);
		/* far apart */
		for (i = 0; i < N; i++)
			t.m[i].arrives = i * 5000 * PS_PER_NS;
		CHECK(play(&systems[0], &rows[r].cost));
		for (i = 0; i < N && !tap_failures; i++)
			if (got[i] != t.m[i].service + rows[r].longer)
				TAP_FAIL("%s: message %u took %llu ps", rows[r].name, i,
					 (unsigned long long)got[i]);
	}
	/* one core at a time, depth 1: a message that waits also waits for the loop; with 2 not */
	for (r = 1; r <= 2; r++) {
		struct valet_system one = { "16x1", RMC_DISPATCH_STATIC, 1, r };
		struct valet_costs loop = { .give = 40000, .known = 60000 };

		for (i = 0; i < FEW; i++) {
			t.m[i].arrives = i;
			t.m[i].key = 3;
		}
		CHECK(play_some(&one, &loop, FEW));
		CHECK_EQ(got[FEW - 1] + FEW - 1, r == 1 ?
			 FEW * (t.m[0].service + 100000) - 60000 : FEW * t.m[0].service + 40000);
	}
	trace_destroy(&t);
}

/* More waiting messages than slots: it says so, and the next domain works. */
static void test_overrun(void)
{
	static const struct valet_costs slow = { .packet = 10000, .take = 1000000 };
	u32 i;

	trace_of(SERVICE_fixed);
	simulate(&systems[0], 0.3);
	for (i = 0; i < N; i++)
		t.m[i].key = 3;
	CHECK(!play(&systems[4], &slow));
	CHECK(v.overrun);
	trace_destroy(&t);
	trace_of(SERVICE_fixed);
	compare(&systems[4], 0.3);
	trace_destroy(&t);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "valet: fixed service times, each policy", test_fixed },
		{ "valet: exponential", test_exponential },
		{ "valet: generalized extreme value", test_gev },
		{ "valet: threads that take under a lock", test_software },
		{ "valet: what each cost does", test_costs },
		{ "valet: more messages than slots", test_overrun },
	};

	int failed;

	valet_init(&v, NODES);
	failed = tap_run(tests, ARRAY_SIZE(tests));
	valet_fini(&v);
	return failed;
}
