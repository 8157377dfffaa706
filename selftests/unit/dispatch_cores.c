// SPDX-License-Identifier: GPL-2.0
/*
 * The dispatcher of messages: cores that come, go, sleep or are ready early; and random calls of
 * all kinds beside a plain model of each policy.
 */
#include "dispatch_bed.h"

static void test_hints(void)
{
	u32 i;

	begin_with(RMC_DISPATCH_GREEDY, 4, 2, 0, 50 * US, 0);
	CHECK_EQ(rmc_dispatch_due(b.d), U64_MAX);
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_OFF));
	CHECK(rmc_dispatch_hint(b.d, 1, RMC_CORE_SLEEPS));
	CHECK(!rmc_dispatch_hint(b.d, 4, RMC_CORE_OFF));
	CHECK(!rmc_dispatch_hint(b.d, 1, RMC_CORE_HINTS));
	for (i = 0; i < 10; i++, b.now += US)
		arrive(i, 0);
	b.now = 20 * US;
	/* those that poll, while these have room */
	GIVES(2, 0);
	GIVES(3, 1);
	GIVES(2, 2);
	GIVES(3, 3);
	NOTHING();
	CHECK_EQ(rmc_dispatch_due(b.d), 54 * US);
	b.now = 54 * US - 1;
	NOTHING();
	b.now++;
	/* it has waited 50 us, the next one not yet */
	GIVES(1, 4);
	CHECK_EQ(rmc_dispatch_due(b.d), U64_MAX);
	NOTHING();
	CHECK_EQ(rmc_dispatch_due(b.d), 55 * US);
	b.now = 59 * US;
	/* one that sleeps before one that is not on a CPU, whatever they have */
	GIVES(1, 5);
	GIVES(0, 6);
	GIVES(0, 7);
	NOTHING();
	/* none has room: there is no time at which one would */
	CHECK_EQ(rmc_dispatch_due(b.d), U64_MAX);
	/* awake again: at once */
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_POLLS));
	CHECK(done(0, 6));
	GIVES(0, 8);
	CHECK(rmc_dispatch_hint(b.d, 3, RMC_CORE_SLEEPS));
	CHECK(done(3, 1));
	/* a stamp of another clock, later than now */
	b.now = 8 * US;
	NOTHING();
	b.now = 59 * US;
	GIVES(3, 9);

	/* a hint only: with no time, or another policy, cores that sleep are last */
	begin_with(RMC_DISPATCH_GREEDY, 2, 1, 0, 0, 0);
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_SLEEPS));
	arrive(0, 0);
	arrive(1, 0);
	GIVES(1, 0);
	GIVES(0, 1);
	begin_with(RMC_DISPATCH_STATIC, 2, 1, 0, 50 * US, 0);
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_OFF));
	arrive(0, 0);
	arrive(1, 1);
	GIVES(1, 1);
	GIVES(0, 0);
	CHECK(done(0, 0));
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, NULL), 0);
	CHECK(!rmc_dispatch_hint(b.d, 0, RMC_CORE_POLLS));
	/* who comes polls */
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	arrive(2, 0);
	GIVES(0, 2);
	/* and has no room left from before */
	arrive(3, 0);
	NOTHING();

	/* of two groups, the one whose message has waited */
	begin_with(RMC_DISPATCH_GROUPS, 2, 1, 2, 50 * US, 0);
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_SLEEPS));
	CHECK(rmc_dispatch_hint(b.d, 1, RMC_CORE_SLEEPS));
	arrive(0, 1);
	b.now = 30 * US;
	arrive(1, 0);
	b.now = 50 * US;
	GIVES(1, 0);
	NOTHING();
	CHECK_EQ(rmc_dispatch_due(b.d), 80 * US);
}

/*
 * Cores whose threads are not on a CPU are last, from when that is seen until they are back. One that
 * sleeps and has nothing is better than one that polls and has something.
 */
static void test_threads(void)
{
	bool on[4] = { true, false, true, true };
	u32 i;

	begin(RMC_DISPATCH_GREEDY, 4, 2, 0);
	for (i = 0; i < 4; i++)
		rmc_dispatch_thread(b.d, i, &on[i]);
	for (i = 0; i < 10; i++)
		arrive(i, 0);
	GIVES(0, 0);
	GIVES(2, 1);
	on[3] = false;
	GIVES(0, 2);
	GIVES(2, 3);
	/* all others have two: those that are not there, the one with less, the lower one first */
	GIVES(1, 4);
	on[3] = true;
	GIVES(3, 5);
	CHECK(done(0, 0));
	GIVES(0, 6);
	GIVES(3, 7);
	GIVES(1, 8);
	NOTHING();
	/* without a thread nothing is known */
	rmc_dispatch_thread(b.d, 1, NULL);
	on[1] = true;
	CHECK(done(1, 4));
	GIVES(1, 9);

	begin(RMC_DISPATCH_GREEDY, 3, 2, 0);
	for (i = 0; i < 6; i++)
		arrive(i, 0);
	CHECK(rmc_dispatch_hint(b.d, 0, RMC_CORE_SLEEPS));
	CHECK(rmc_dispatch_hint(b.d, 1, RMC_CORE_OFF));
	GIVES(2, 0);
	GIVES(0, 1);
	GIVES(2, 2);
	GIVES(0, 3);
	GIVES(1, 4);
	GIVES(1, 5);
	NOTHING();
}

/* The core goes with three messages: back to the front, in order; or to the caller. */
static void test_held(void)
{
	struct rmc_dispatch_msg *m;
	u32 i;

	begin(RMC_DISPATCH_GREEDY, 2, 3, 0);
	for (i = 0; i < 8; i++)
		arrive(i, 0);
	for (i = 0; i < 6; i++)
		GIVES((int)i % 2, i);
	b.now = 5;
	CHECK_EQ(rmc_dispatch_detach(b.d, 2, NULL), -EINVAL);
	CHECK_EQ(rmc_dispatch_detach(b.d, ~0U, &m), -EINVAL);
	CHECK(!m);
	CHECK(done(1, 3));
	CHECK_EQ(rmc_dispatch_detach(b.d, 1, NULL), 0);
	CHECK_EQ(rmc_dispatch_detach(b.d, 1, NULL), -EINVAL);
	CHECK(!done(1, 1));
	CHECK_EQ(rmc_dispatch_waiting(b.d), 4);
	CHECK_EQ(rmc_dispatch_outstanding(b.d, 1), 0);
	NOTHING();
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 1);
	GIVES(1, 1);
	GIVES(1, 5);
	GIVES(1, 6);
	CHECK(b.m[1].again && b.m[5].again && !b.m[6].again);
	CHECK_EQ(b.m[1].stamp, 0);
	CHECK(done(1, 1));
	GIVES(1, 7);
	/* to the caller, the oldest first; they may arrive again */
	CHECK_EQ(rmc_dispatch_detach(b.d, 1, &m), 0);
	CHECK(m == &b.m[5] && m->next == &b.m[6] && m->next->next == &b.m[7]);
	CHECK(!m->next->next->next);
	CHECK_EQ(rmc_dispatch_waiting(b.d), 0);
	arrive(5, 0);
	CHECK(!b.m[5].again);
	CHECK(done(0, 4));
	GIVES(0, 5);
	/* in the middle, first and last of those that a core has */
	CHECK(done(0, 2));
	CHECK(done(0, 0));
	CHECK(done(0, 5));
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, &m), 0);
	CHECK(!m);
}

/* With FIFOs of cores: what was given and what waits goes elsewhere. */
static void test_gone(void)
{
	u32 i;

	begin(RMC_DISPATCH_STATIC, 2, 2, 0);
	for (i = 0; i < 6; i++)
		arrive(i, 1);
	GIVES(1, 0);
	GIVES(1, 1);
	arrive(6, 0);
	CHECK_EQ(rmc_dispatch_detach(b.d, 1, NULL), 0);
	CHECK_EQ(rmc_dispatch_waiting(b.d), 7);
	GIVES(0, 0);
	GIVES(0, 1);
	NOTHING();
	CHECK(done(0, 0));
	GIVES(0, 6);
	CHECK(done(0, 1));
	GIVES(0, 2);
	/* nobody is left: they wait for the next one, and so do those that arrive */
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, NULL), 0);
	arrive(7, 0);
	NOTHING();
	CHECK_EQ(rmc_dispatch_waiting(b.d), 6);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	GIVES(0, 6);
	GIVES(0, 2);
	for (i = 3; i < 6; i++) {
		NOTHING();
		CHECK(done(0, i == 3 ? 6 : i - 2 == 2 ? 2 : i - 2));
		GIVES(0, i);
	}
	CHECK(done(0, 4));
	GIVES(0, 7);
	NOTHING();
}

/* The FIFO for messages without a core is none that cores see, whatever its number is. */
static void test_behind_all(void)
{
	u32 i;

	begin(RMC_DISPATCH_STATIC, 256, 16, 0);
	for (i = 0; i < 256; i++)
		CHECK_EQ(rmc_dispatch_detach(b.d, i, NULL), 0);
	for (i = 0; i < 3; i++)
		arrive(i, 0);
	NOTHING();
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	for (i = 0; i < 3; i++)
		GIVES(0, i);
	NOTHING();
	begin_with(RMC_DISPATCH_STEAL, 3, 1, 0, 0, 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rmc_dispatch_detach(b.d, i, NULL), 0);
	arrive(0, 0);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	for (i = 0; i < 8; i++, b.now++) {
		GIVES(0, 0);
		CHECK(done(0, 0));
		arrive(0, 0);
	}
}

/* A core that is ready has room, although it still has the message. */
static void test_ready(void)
{
	struct rmc_dispatch_msg *m;

	begin(RMC_DISPATCH_JSQ, 1, 1, 0);
	arrive(0, 0);
	arrive(1, 0);
	arrive(2, 0);
	CHECK(!rmc_dispatch_ready(b.d, 0, &b.m[0]));
	GIVES(0, 0);
	NOTHING();
	CHECK(!rmc_dispatch_ready(b.d, 1, &b.m[0]));
	CHECK(rmc_dispatch_ready(b.d, 0, &b.m[0]));
	CHECK(!rmc_dispatch_ready(b.d, 0, &b.m[0]));
	CHECK_EQ(rmc_dispatch_outstanding(b.d, 0), 0);
	GIVES(0, 1);
	NOTHING();
	CHECK(done(0, 0));
	CHECK_EQ(rmc_dispatch_outstanding(b.d, 0), 1);
	NOTHING();
	CHECK(rmc_dispatch_ready(b.d, 0, &b.m[1]));
	GIVES(0, 2);
	/* both are its own until it is done */
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, &m), 0);
	CHECK(m == &b.m[1] && m->next == &b.m[2] && !m->next->next);
	/* the work of a core is what it was: none */
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), -ENOSPC);
	begin(RMC_DISPATCH_JSQ, 2, 1, 0);
	arrive(0, 0);
	GIVES(0, 0);
	CHECK(rmc_dispatch_ready(b.d, 0, &b.m[0]));
	arrive(1, 0);
	CHECK_EQ(b.m[1].fifo, 0);
	GIVES(0, 1);
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, NULL), 0);
	CHECK(!b.m[0].early);
	GIVES(1, 0);
	CHECK_EQ(rmc_dispatch_outstanding(b.d, 1), 1);
	CHECK(done(1, 0));
	GIVES(1, 1);
	/* who comes has no work: what was ready is not subtracted again */
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 0);
	arrive(2, 0);
	CHECK_EQ(b.m[2].fifo, 0);
	arrive(3, 0);
	CHECK_EQ(b.m[3].fifo, 0);
	arrive(4, 0);
	CHECK_EQ(b.m[4].fifo, 1);
}

/* ---- random calls beside a model ---- */

#define CORES	70

static struct {
	bool attached[CORES];
	u32 has[CORES], group[CORES], mask[CORES], load[CORES], turn;
	u32 depth, groups;
	bool in[MESSAGES], given[MESSAGES];
	u32 core[MESSAGES];
	u32 waits[CORES + 1], work[CORES + 1];
} w;

static u64 random_state = 1;

static u32 below(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(random_state >> 33) % n;
}

static bool kind(u32 policy, const char *names)
{
	const char *name = rmc_dispatch_name(policy), *at = strstr(names, name);

	return at && (at[strlen(name)] == ' ' || !at[strlen(name)]);
}

/* What is in each FIFO, and with cores of each */
static void count(void)
{
	u32 i;

	memset(w.waits, 0, sizeof(w.waits));
	memset(w.work, 0, sizeof(w.work));
	for (i = 0; i < MESSAGES; i++)
		if (w.in[i]) {
			w.waits[b.m[i].fifo] += !w.given[i];
			w.work[b.m[i].fifo]++;
		}
}

static u32 attached(u32 *list)
{
	u32 i, n = 0;

	for (i = 0; i < CORES; i++)
		if (w.attached[i])
			list[n++] = i;
	return n;
}

static u32 live_groups(u32 *list)
{
	u32 g, i, n = 0;

	for (g = 0; g < w.groups; g++) {
		for (i = 0; i < CORES && !(w.attached[i] && w.group[i] == g); i++)
			;
		if (i < CORES)
			list[n++] = g;
	}
	return n;
}

/* The FIFO of a message that arrives, as the policy is described; -1: not known here */
static int wanted_fifo(u32 policy, u32 key)
{
	u32 list[CORES], n = attached(list), i, best;

	if (kind(policy, "greedy shared"))
		return 0;
	if (kind(policy, "class"))
		return min(key, w.groups - 1);
	if (!n)
		return kind(policy, "groups hier") ? w.groups : CORES;
	if (kind(policy, "groups")) {
		n = live_groups(list);
		return list[key % n];
	}
	if (kind(policy, "rr")) {
		w.turn = w.turn < n ? w.turn : 0;
		return list[w.turn++];
	}
	if (kind(policy, "jiq"))
		for (i = 0; i < n; i++)
			if (!w.work[list[i]])
				return list[i];
	if (kind(policy, "static steal jiq"))
		return list[key % n];
	if (kind(policy, "jsq")) {
		for (i = 1, best = 0; i < n; i++)
			if (w.work[list[i]] + w.load[list[i]] <
			    w.work[list[best]] + w.load[list[best]])
				best = i;
		return list[best];
	}
	return -1;
}

/* The FIFO that a core takes from; -1: all that it may take from are empty */
static int wanted_fetch(u32 policy, u32 core)
{
	u32 i, best = core;

	if (kind(policy, "class")) {
		for (i = 0; i < w.groups; i++)
			if (w.mask[core] & 1U << i && w.waits[i])
				return i;
		return -1;
	}
	if (kind(policy, "steal") && !w.waits[core]) {
		for (i = 0; i < CORES; i++)
			if (w.waits[i] > w.waits[best])
				best = i;
		return w.waits[best] ? (int)best : -1;
	}
	i = kind(policy, "greedy shared") ? 0 : kind(policy, "groups hier") ? w.group[core] : core;
	return w.waits[i] ? (int)i : -1;
}

static void check_next(u32 policy)
{
	u32 i, best = CORES, got = MESSAGES;
	int core, fifo;

	count();
	core = give(&got);
	if (kind(policy, "shared")) {
		CHECK_EQ(core, -1);
		return;
	}
	for (i = 0; i < CORES; i++)
		if (w.attached[i] && w.has[i] < w.depth && wanted_fetch(policy, i) >= 0 &&
		    (best == CORES || w.has[i] < w.has[best]))
			best = i;
	if (best == CORES) {
		CHECK_EQ(core, -1);
		return;
	}
	CHECK_EQ(core, best);
	if (core < 0)
		return;
	fifo = wanted_fetch(policy, core);
	CHECK_EQ(b.m[got].fifo, fifo);
	CHECK(w.in[got] && !w.given[got]);
	w.given[got] = true;
	w.core[got] = core;
	w.has[core]++;
}

static void random_arrival(u32 policy)
{
	u32 i = below(MESSAGES), key = below(1000);
	int fifo;

	b.m[i].key = w.in[i] ? b.m[i].key : key;
	if (w.in[i]) {
		CHECK(!rmc_dispatch_arrive(b.d, &b.m[i], b.now));
		return;
	}
	count();
	fifo = wanted_fifo(policy, key);
	arrive(i, key);
	w.in[i] = true;
	w.given[i] = false;
	if (fifo >= 0)
		CHECK_EQ(b.m[i].fifo, fifo);
}

static void random_done(void)
{
	u32 i = below(MESSAGES), n;

	for (n = 0; n < MESSAGES && !(w.in[i] && w.given[i]); n++)
		i = (i + 1) % MESSAGES;
	if (n == MESSAGES)
		return;
	CHECK(!done(w.core[i] + 1, i));
	CHECK(done(w.core[i], i));
	w.has[w.core[i]]--;
	w.in[i] = false;
}

static void random_core(u32 policy)
{
	u32 core = below(CORES), group = w.groups ? below(w.groups) : 0, i;
	u32 mask = w.groups ? 1 + below((1U << w.groups) - 1) : 0;
	struct rmc_dispatch_msg *held, *m;
	bool free = below(2);
	int got;

	if (!w.attached[core]) {
		for (i = 0; w.attached[i]; i++)
			;
		got = rmc_dispatch_attach(b.d, group, mask);
		CHECK_EQ(got, i);
		w.attached[i] = true;
		w.group[i] = group;
		w.mask[i] = mask;
		w.load[i] = 0;
		w.has[i] = 0;
		return;
	}
	CHECK_EQ(rmc_dispatch_detach(b.d, core, free ? &held : NULL), 0);
	w.attached[core] = false;
	for (m = free ? held : NULL; m; m = m->next) {
		i = m - b.m;
		CHECK(w.in[i] && w.given[i] && w.core[i] == core);
		w.in[i] = false;
		w.has[core]--;
	}
	for (i = 0; i < MESSAGES; i++)
		if (w.in[i] && w.given[i] && w.core[i] == core) {
			CHECK(!free);
			CHECK(b.m[i].again);
			w.given[i] = false;
			w.has[core]--;
		}
	CHECK_EQ(w.has[core], 0);
}

static void check_all(u32 policy)
{
	u32 i, waits = 0, list[CORES];
	bool any = attached(list);

	for (i = 0; i < MESSAGES; i++) {
		waits += w.in[i] && !w.given[i];
		if (w.in[i] && !w.given[i] && any && !kind(policy, "greedy shared class")) {
			if (kind(policy, "groups hier"))
				CHECK(b.m[i].fifo < w.groups);
			else
				CHECK(b.m[i].fifo < CORES && w.attached[b.m[i].fifo]);
		}
	}
	CHECK_EQ(rmc_dispatch_waiting(b.d), waits);
	for (i = 0; i < CORES; i++)
		CHECK_EQ(rmc_dispatch_outstanding(b.d, i), w.attached[i] ? w.has[i] : 0);
}

static void random_calls(u32 policy, u32 depth, u32 groups, u32 churn)
{
	u32 step, i, busy = 50;

	begin(policy, CORES, depth, kind(policy, "groups hier class") ? groups : 0);
	memset(&w, 0, sizeof(w));
	w.depth = depth;
	w.groups = groups;
	for (i = 0; i < CORES; i++) {
		w.attached[i] = true;
		w.group[i] = i / (CORES / groups);
		w.mask[i] = (1U << groups) - 1;
	}
	for (step = 0; step < 1500; step++) {
		u32 what = below(100);

		if (step % 100 == 0)
			busy = 20 + below(60);
		if (what < churn) {
			random_core(policy);
			/* moved messages used turns; begin again with a known one */
			if (kind(policy, "rr"))
				return;
		} else if (what < churn + 2 && kind(policy, "jsq")) {
			i = below(CORES);
			CHECK_EQ(rmc_dispatch_load(b.d, i, step % 5), w.attached[i]);
			w.load[i] = w.attached[i] ? step % 5 : 0;
		} else if (what < busy) {
			random_arrival(policy);
		} else if (what < 85) {
			check_next(policy);
		} else {
			random_done();
		}
		if (step % 16 == 0)
			check_all(policy);
		if (tap_failures) {
			printf("# step %u, depth %u, groups %u, churn %u\n", step, depth, groups, churn);
			return;
		}
	}
}

static void test_model(void)
{
	static const u32 depths[] = { 1, 2, 5 };
	u32 policy, i, churn;

	for (policy = 0; policy < RMC_DISPATCH_COUNT; policy++)
		for (i = 0; i < ARRAY_SIZE(depths); i++)
			for (churn = 0; churn <= 40; churn += 10) {
				tap_where = rmc_dispatch_name(policy);
				random_calls(policy, depths[i], i ? 5 : 2, churn);
			}
	tap_where = NULL;
}

/* ---- rmc_dispatch_pass() ---- */

/* Two dispatchers that get the same calls: one takes messages by rmc_dispatch_pass() */
static struct twin {
	void *mem;
	struct rmc_dispatch *d;
	struct rmc_dispatch_msg m[MESSAGES];
	int core[MESSAGES];		/* that has it; -1: none, -2: it is not here */
} twin[2];

static void twins_begin(const struct rmc_dispatch_params *p)
{
	u32 k, i;

	for (k = 0; k < 2; k++) {
		struct twin *t = &twin[k];

		t->mem = malloc(rmc_dispatch_bytes(p));
		t->d = rmc_dispatch_init(t->mem, p);
		memset(t->m, 0, sizeof(t->m));
		for (i = 0; i < MESSAGES; i++)
			t->core[i] = -2;
	}
}

static void twins_end(void)
{
	free(twin[0].mem);
	free(twin[1].mem);
}

static void twin_gives(struct twin *t, u64 now)
{
	struct rmc_dispatch_msg *m;
	int core;

	while ((core = rmc_dispatch_next(t->d, now, &m)) >= 0)
		t->core[m - t->m] = core;
}

static void twin_arrival(u32 k, u32 i, u32 key, u64 now)
{
	struct twin *t = &twin[k];
	int core = -EAGAIN;

	t->m[i].key = key;
	t->core[i] = -1;
	if (k)
		core = rmc_dispatch_pass(t->d, &t->m[i], now);
	else
		CHECK(rmc_dispatch_arrive(t->d, &t->m[i], now));
	if (core >= 0)
		t->core[i] = core;
	else
		twin_gives(t, now);
}

/* A core goes, and what it had is given to others; or one comes. */
static void twin_comes_or_goes(struct twin *t, const struct rmc_dispatch_params *p, u32 core)
{
	u32 i;

	if (rmc_dispatch_detach(t->d, core, NULL)) {
		rmc_dispatch_attach(t->d, core * p->groups / p->cores, 1 + core % 7);
		return;
	}
	for (i = 0; i < MESSAGES; i++)
		if (t->core[i] == (int)core)
			t->core[i] = -1;
}

static void twins_call(const struct rmc_dispatch_params *p, u32 i, u64 now)
{
	u32 what = below(20), core = below(p->cores), key = below(p->classes * 300), k;
	/* whoever knows of room may be late: what waits comes first all the same */
	bool late = !below(5);

	for (k = 0; k < 2; k++) {
		struct twin *t = &twin[k];

		if (what == 4 && key < 100 + 300 * (now / US / 300 % 2)) {
			twin_comes_or_goes(t, p, core);
		} else if (what < 2) {
			rmc_dispatch_hint(t->d, core, what ? RMC_CORE_POLLS : RMC_CORE_SLEEPS);
		} else if (what == 2) {
			rmc_dispatch_load(t->d, core, key % 8);
		} else if (what == 3 && t->core[i] >= 0) {
			rmc_dispatch_ready(t->d, t->core[i], &t->m[i]);
		} else if (t->core[i] == -2) {
			twin_arrival(k, i, p->policy == RMC_DISPATCH_CLASS ? key / 300 : key, now);
			continue;
		} else if (t->core[i] >= 0) {
			CHECK(rmc_dispatch_done(t->d, t->core[i], &t->m[i]));
			t->core[i] = -2;
			if (late)
				continue;
		}
		twin_gives(t, now);
	}
}

/* It is what arriving and the next message are, for each policy, whatever waits or sleeps. */
static void test_pass(void)
{
	struct rmc_dispatch_params p = { .cores = 4, .groups = 2, .classes = 3, .seed = 5 };
	u32 step, i, waited = 0;

	for (p.policy = 0; p.policy < RMC_DISPATCH_COUNT; p.policy++) {
		tap_where = rmc_dispatch_name(p.policy);
		p.depth = 1 + p.policy % 3;
		p.wake_ns = p.policy % 2 ? 0 : 3 * US;
		p.age_ns = 1;
		twins_begin(&p);
		for (i = 0; i < 2; i++) {
			/* one that comes before the first core, and does not wait for ever */
			if (p.policy != RMC_DISPATCH_SHARED)
				twin_arrival(i, 0, 1, 0);
			for (step = 1; rmc_dispatch_attach(twin[i].d, 0, step % 8) >= 0; step++)
				;
			twin_gives(&twin[i], 0);
		}
		for (step = 0; step < 20000 && !tap_failures; step++) {
			twins_call(&p, below(step / 2000 % 2 ? 60 : 20), step * US / 4);
			waited += rmc_dispatch_waiting(twin[0].d) > 0;
			CHECK_EQ(rmc_dispatch_waiting(twin[1].d), rmc_dispatch_waiting(twin[0].d));
			for (i = 0; i < 60; i++)
				CHECK_EQ(twin[1].core[i], twin[0].core[i]);
		}
		twins_end();
	}
	tap_where = NULL;
	CHECK(waited > 20000);
}

/* A message that is here already is not taken again. */
static void test_pass_twice(void)
{
	begin(RMC_DISPATCH_GREEDY, 2, 1, 0);
	CHECK_EQ(rmc_dispatch_pass(b.d, &b.m[0], b.now), 0);
	CHECK_EQ(rmc_dispatch_pass(b.d, &b.m[0], b.now), -EAGAIN);
	CHECK_EQ(rmc_dispatch_pass(b.d, &b.m[1], b.now), 1);
	CHECK_EQ(rmc_dispatch_pass(b.d, &b.m[2], b.now), -EAGAIN);
	CHECK_EQ(rmc_dispatch_waiting(b.d), 1);
	CHECK(done(0, 0));
	GIVES(0, 2);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "dispatch: hints, and how long a message waits for a core that polls", test_hints },
		{ "dispatch: threads that are not on a CPU, and that sleep", test_threads },
		{ "dispatch: what a core has when it goes", test_held },
		{ "dispatch: what waits for a core that goes", test_gone },
		{ "dispatch: what waits while there is no core", test_behind_all },
		{ "dispatch: a core that is ready early", test_ready },
		{ "dispatch: random calls beside a model", test_model },
		{ "dispatch: a message that need not wait in a FIFO", test_pass },
		{ "dispatch: and that is here already", test_pass_twice },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
