// SPDX-License-Identifier: GPL-2.0
/* The dispatcher of messages: what each policy does, and limits. */
#include "dispatch_bed.h"

static void test_limits(void)
{
	static const struct rmc_dispatch_params good = { .policy = RMC_DISPATCH_GROUPS, .depth = 2,
		.cores = 16, .groups = 4, .classes = 0 };
	struct rmc_dispatch_params p = good;
	u32 i;

	CHECK_EQ(rmc_dispatch_check(&p), 0);
#define WRONG(field, value)	do {						\
	p = good;								\
	p.field = value;							\
	CHECK_EQ(rmc_dispatch_check(&p), -EINVAL);				\
} while (0)
#define RIGHT(field, value)	do {						\
	p = good;								\
	p.field = value;							\
	CHECK_EQ(rmc_dispatch_check(&p), 0);					\
} while (0)
	WRONG(policy, RMC_DISPATCH_COUNT);
	WRONG(policy, ~0U);
	WRONG(depth, 0);
	WRONG(depth, RMC_DISPATCH_DEPTH + 1);
	RIGHT(depth, RMC_DISPATCH_DEPTH);
	WRONG(cores, 0);
	WRONG(cores, RMC_DISPATCH_CORES + 1);
	RIGHT(cores, RMC_DISPATCH_CORES);
	WRONG(groups, 0);
	WRONG(groups, 17);
	RIGHT(groups, 16);
	WRONG(wake_ns, RMC_DISPATCH_NS + 1);
	RIGHT(wake_ns, RMC_DISPATCH_NS);
	WRONG(age_ns, RMC_DISPATCH_NS + 1);
	RIGHT(age_ns, RMC_DISPATCH_NS);
	WRONG(policy, RMC_DISPATCH_CLASS);	/* without classes */
	p = good;
	p.policy = RMC_DISPATCH_CLASS;
	p.classes = RMC_DISPATCH_CLASSES;
	CHECK_EQ(rmc_dispatch_check(&p), 0);
	p.classes++;
	CHECK_EQ(rmc_dispatch_check(&p), -EINVAL);
	/* of other policies, groups do not matter */
	p.policy = RMC_DISPATCH_JSQ;
	p.groups = 0;
	CHECK_EQ(rmc_dispatch_check(&p), 0);
	for (i = 0; i < RMC_DISPATCH_COUNT; i++) {
		CHECK_EQ(rmc_dispatch_find(rmc_dispatch_name(i)), i);
		CHECK_EQ(rmc_dispatch_has_groups(i),
			 i == RMC_DISPATCH_GROUPS || i == RMC_DISPATCH_HIER);
	}
	CHECK(!rmc_dispatch_has_groups(RMC_DISPATCH_COUNT) && !rmc_dispatch_has_groups(~0U));
	for (i = 0; i < RMC_DISPATCH_COUNT; i++)
		CHECK_EQ(rmc_dispatch_holds(i), i == RMC_DISPATCH_GREEDY || i == RMC_DISPATCH_GROUPS ||
			 i == RMC_DISPATCH_HIER);
	CHECK(!rmc_dispatch_holds(RMC_DISPATCH_COUNT) && !rmc_dispatch_holds(~0U));
	CHECK(!rmc_dispatch_name(RMC_DISPATCH_COUNT));
	CHECK_EQ(rmc_dispatch_find("best"), -ENOENT);
	CHECK_EQ(sizeof(struct rmc_dispatch_msg), 32);
}

/* Every policy with one core and with all, at the largest depth; every core gets some. */
static void test_sizes(void)
{
	static const u32 sizes[] = { 1, 2, 3, 63, 64, 65, 128, 255, 256 };
	u32 policy, s, i, n, got;
	int core;

	for (policy = 0; policy < RMC_DISPATCH_COUNT; policy++)
		for (s = 0; s < ARRAY_SIZE(sizes); s++) {
			n = sizes[s];
			tap_where = rmc_dispatch_name(policy);
			begin(policy, n, 1, 1);
			CHECK_EQ(rmc_dispatch_attach(b.d, 0, 1), -ENOSPC);
			for (i = 0; i < MESSAGES; i++)
				arrive(i, i);
			CHECK_EQ(rmc_dispatch_waiting(b.d), MESSAGES);
			for (i = 0; i < MESSAGES; i++) {
				struct rmc_dispatch_msg *m = NULL;

				core = policy == RMC_DISPATCH_SHARED ? (int)(i % n) : give(&got);
				if (policy == RMC_DISPATCH_SHARED) {
					m = rmc_dispatch_pull(b.d, core, 0);
					CHECK_EQ(m - b.m, i);
					got = i;
				}
				CHECK(core >= 0 && core < (int)n);
				CHECK(done(core, got));
			}
			NOTHING();
			CHECK_EQ(rmc_dispatch_waiting(b.d), 0);
		}
	tap_where = NULL;
}

static void test_depth(void)
{
	u32 depth, i;

	for (depth = 1; depth <= RMC_DISPATCH_DEPTH; depth++) {
		begin(RMC_DISPATCH_GREEDY, 2, depth, 0);
		for (i = 0; i < 2 * depth + 3; i++)
			arrive(i, 0);
		CHECK(!rmc_dispatch_arrive(b.d, &b.m[0], 0));
		CHECK_EQ(rmc_dispatch_waiting(b.d), 2 * depth + 3);
		/* the one with fewer, then the lower one */
		for (i = 0; i < 2 * depth; i++)
			GIVES((int)i % 2, i);
		NOTHING();
		CHECK(!rmc_dispatch_arrive(b.d, &b.m[0], 0));
		CHECK_EQ(rmc_dispatch_outstanding(b.d, 0), depth);
		CHECK_EQ(rmc_dispatch_outstanding(b.d, 1), depth);
		CHECK_EQ(rmc_dispatch_outstanding(b.d, 2), 0);
		/* in any order; not another core's, nor one that waits, nor twice */
		CHECK(!done(0, 1));
		CHECK(!done(0, 2 * depth));
		CHECK(done(1, 2 * depth - 1));
		CHECK(!done(1, 2 * depth - 1));
		CHECK_EQ(rmc_dispatch_outstanding(b.d, 1), depth - 1);
		GIVES(1, 2 * depth);
		NOTHING();
		CHECK(done(0, 0));
		GIVES(0, 2 * depth + 1);
		NOTHING();
		CHECK(done(0, 2 * depth + 1));
		CHECK(done(1, 2 * depth));
		/* equal again: the lower one */
		GIVES(0, 2 * depth + 2);
		arrive(0, 0);
		GIVES(1, 0);
	}
}

static void test_greedy(void)
{
	u32 i;

	begin(RMC_DISPATCH_GREEDY, 256, 2, 0);
	for (i = 0; i < 256; i++)
		arrive(i, i);
	for (i = 0; i < 256; i++)
		GIVES((int)i, i);
	NOTHING();
	CHECK(done(200, 200));
	CHECK(done(70, 70));
	CHECK(done(130, 130));
	arrive(200, 0);
	arrive(70, 0);
	arrive(130, 0);
	arrive(300, 0);
	GIVES(70, 200);
	GIVES(130, 70);
	GIVES(200, 130);
	GIVES(0, 300);
	NOTHING();
}

static void test_rr(void)
{
	struct rmc_dispatch_msg *held;
	u32 i;

	begin(RMC_DISPATCH_RR, 3, 1, 0);
	for (i = 0; i < 7; i++) {
		arrive(i, 100 - i);
		CHECK_EQ(b.m[i].fifo, i % 3);
	}
	GIVES(0, 0);
	GIVES(1, 1);
	GIVES(2, 2);
	NOTHING();
	CHECK(done(2, 2));
	GIVES(2, 5);
	NOTHING();
	/* a core that is not there any more has no turn */
	CHECK_EQ(rmc_dispatch_detach(b.d, 2, &held), 0);
	arrive(8, 0);
	arrive(9, 0);
	arrive(10, 0);
	CHECK_EQ(b.m[8].fifo, 1);
	CHECK_EQ(b.m[9].fifo, 0);
	CHECK_EQ(b.m[10].fifo, 1);
}

static void test_random(void)
{
	u32 count[8] = { 0 }, i, fifo[64], differ = 0;

	begin(RMC_DISPATCH_STATIC, 5, 1, 0);
	for (i = 0; i < 64; i++) {
		arrive(i, i * 77);
		CHECK_EQ(b.m[i].fifo, i * 77 % 5);
	}
	begin(RMC_DISPATCH_RANDOM, 8, 16, 0);
	for (i = 0; i < MESSAGES; i++) {
		arrive(i, 0);
		count[b.m[i].fifo]++;
		if (i < 64)
			fifo[i] = b.m[i].fifo;
	}
	for (i = 0; i < 8; i++)
		CHECK(count[i] > 30 && count[i] < 100);
	/* the same seed, the same choices; another, others; 0 is one */
	begin(RMC_DISPATCH_RANDOM, 8, 16, 0);
	for (i = 0; i < 64; i++) {
		arrive(i, 0);
		CHECK_EQ(b.m[i].fifo, fifo[i]);
	}
	b.p.seed = 0;
	b.d = rmc_dispatch_init(b.mem, &b.p);
	for (i = 0; i < 8; i++)
		rmc_dispatch_attach(b.d, 0, 0);
	memset(count, 0, sizeof(count));
	for (i = 64; i < 128; i++) {
		arrive(i, 0);
		count[b.m[i].fifo]++;
		differ += b.m[i].fifo != fifo[i - 64];
	}
	CHECK(differ > 30);
	for (i = 0; i < 8; i++)
		CHECK(count[i] > 0 && count[i] < 25);
}

static void test_jsq(void)
{
	u32 i;

	begin(RMC_DISPATCH_JSQ, 3, 1, 0);
	/* ties: the lowest */
	for (i = 0; i < 6; i++) {
		arrive(i, 9);
		CHECK_EQ(b.m[i].fifo, i % 3);
	}
	GIVES(0, 0);
	GIVES(1, 1);
	GIVES(2, 2);
	/* a message counts until it is done */
	arrive(6, 9);
	CHECK_EQ(b.m[6].fifo, 0);
	CHECK(done(2, 2));
	arrive(7, 9);
	CHECK_EQ(b.m[7].fifo, 2);
	arrive(8, 9);
	CHECK_EQ(b.m[8].fifo, 1);
	/* 3, 3 and 2; load counts as messages: 5, 3 and 2 */
	CHECK(rmc_dispatch_load(b.d, 0, 2));
	for (i = 9; i < 15; i++)
		arrive(i, 9);
	CHECK_EQ(b.m[9].fifo, 2);
	CHECK_EQ(b.m[10].fifo, 1);
	CHECK_EQ(b.m[11].fifo, 2);
	CHECK_EQ(b.m[12].fifo, 1);
	CHECK_EQ(b.m[13].fifo, 2);
	CHECK_EQ(b.m[14].fifo, 0);
	CHECK(rmc_dispatch_load(b.d, 0, 0));
	arrive(15, 9);
	CHECK_EQ(b.m[15].fifo, 0);
	CHECK(!rmc_dispatch_load(b.d, 3, 1));
	/* a core that is gone has no queue, not even the shortest */
	CHECK_EQ(rmc_dispatch_detach(b.d, 2, NULL), 0);
	for (i = 20; i < 30; i++) {
		arrive(i, 9);
		CHECK(b.m[i].fifo < 2);
	}
	CHECK(!rmc_dispatch_load(b.d, 2, 1));
}

/* Of two queues, the heavier one gets what draws it two times: a quarter. */
static void two_random(u32 policy, u32 cores, u32 groups)
{
	u32 i, heavy = 0, total = 0, trial;

	for (trial = 0; trial < 40; trial++) {
		begin(policy, cores, 1, groups);
		b.p.seed = 1000 + trial * 77777ULL;
		b.d = rmc_dispatch_init(b.mem, &b.p);
		for (i = 0; i < cores; i++)
			rmc_dispatch_attach(b.d, groups ? i / (cores / groups) : 0, 0);
		for (i = 0; i < 10; i++) {
			u32 length[2] = { 0 }, k;

			for (k = 0; k < i; k++)
				length[b.m[k].fifo]++;
			arrive(i, 0);
			/* also what cores have counts */
			give(&k);
			if (length[0] == length[1])
				continue;
			total++;
			heavy += length[b.m[i].fifo] > length[!b.m[i].fifo];
		}
	}
	CHECK(total > 150);
	CHECK(heavy > total / 8 && heavy < total * 3 / 8);
}

static void test_two_random(void)
{
	u32 i;

	two_random(RMC_DISPATCH_SQ2, 2, 0);
	two_random(RMC_DISPATCH_HIER, 4, 2);
	/* all work is done: groups are equal again, and the first draw decides */
	begin(RMC_DISPATCH_HIER, 2, 16, 2);
	for (i = 0; i < 32; i++) {
		u32 k;
		int core;

		arrive(i, 0);
		core = give(&k);
		CHECK_EQ(core, b.m[i].fifo);
		CHECK(done(core, k));
	}
	for (i = 0; i < 32 && b.m[i].fifo == b.m[0].fifo; i++)
		;
	CHECK(i < 32);
}

static void test_jiq(void)
{
	u32 i;

	begin(RMC_DISPATCH_JIQ, 70, 2, 0);
	for (i = 0; i < 70; i++) {
		arrive(i, 5);
		CHECK_EQ(b.m[i].fifo, i);
	}
	arrive(70, 5);
	CHECK_EQ(b.m[70].fifo, 5);
	arrive(71, 75);
	CHECK_EQ(b.m[71].fifo, 5);
	for (i = 0; i < 70; i++)
		GIVES((int)i, i);
	GIVES(5, 70);
	NOTHING();
	arrive(72, 7);
	CHECK_EQ(b.m[72].fifo, 7);
	GIVES(7, 72);
	/* one of its two is not enough */
	CHECK(done(7, 7));
	arrive(73, 8);
	CHECK_EQ(b.m[73].fifo, 8);
	CHECK(done(66, 66));
	arrive(74, 9);
	CHECK_EQ(b.m[74].fifo, 66);
	CHECK(done(7, 72));
	CHECK_EQ(rmc_dispatch_detach(b.d, 7, NULL), 0);
	arrive(75, 9);
	CHECK_EQ(b.m[75].fifo, 9 + 1);
	/* a core that comes is idle */
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 7);
	arrive(76, 9);
	CHECK_EQ(b.m[76].fifo, 7);
}

static void test_steal(void)
{
	begin(RMC_DISPATCH_STEAL, 3, 1, 0);
	arrive(0, 0);
	arrive(1, 0);
	arrive(2, 0);
	/* the lowest core first, whose own it is; the others steal the rest */
	GIVES(0, 0);
	GIVES(1, 1);
	GIVES(2, 2);
	arrive(3, 0);
	arrive(4, 1);
	arrive(5, 1);
	arrive(6, 2);
	arrive(7, 2);
	NOTHING();
	/* its own first, although others are longer */
	CHECK(done(0, 0));
	GIVES(0, 3);
	CHECK(done(0, 3));
	/* then the longest, the lowest of these */
	GIVES(0, 4);
	CHECK(done(0, 4));
	GIVES(0, 6);
	CHECK(done(1, 1));
	GIVES(1, 5);
	CHECK(done(1, 5));
	GIVES(1, 7);
	NOTHING();
	CHECK_EQ(rmc_dispatch_waiting(b.d), 0);
	/* a message that was stolen goes back to the FIFO it came from */
	arrive(8, 2);
	CHECK_EQ(rmc_dispatch_detach(b.d, 1, NULL), 0);
	CHECK_EQ(b.m[7].fifo, 2);
	CHECK(done(2, 2));
	GIVES(2, 7);
	CHECK(done(2, 7));
	GIVES(2, 8);
}

/* Two cores always have messages of their own; the third one hangs with one behind it. */
static void test_steal_ages(void)
{
	u32 aged, i, key, got;

	for (aged = 0; aged < 2; aged++) {
		u32 rounds;
		bool came = false;

		begin_with(RMC_DISPATCH_STEAL, 3, 1, 0, 0, aged ? 10 * US : 0);
		for (i = 0; i < 3; i++)
			arrive(i, i);
		for (i = 0; i < 3; i++)
			GIVES((int)i, i);
		arrive(3, 2);
		for (i = 4; i < 12; i++)
			arrive(i, i % 2);
		for (rounds = 0; rounds < 40 && !came; rounds++) {
			int core;

			key = rounds % 2;
			for (i = 0; i < 12 && !(b.m[i].core == key && b.m[i].state == 2); i++)
				;
			CHECK(done(key, i));
			core = give(&got);
			CHECK_EQ(core, key);
			came = got == 3;
			if (came) {
				CHECK(b.now >= 10 * US);
				CHECK(b.now <= 16 * US);
			}
			arrive(i, key);
			b.now += US;
		}
		CHECK_EQ(came, aged);
	}
}

static void test_keyed(void)
{
	u32 before[4096], key, count[16] = { 0 }, moved = 0, i;

	begin(RMC_DISPATCH_KEYED, 16, 1, 0);
#define HOME(k) ({								\
	struct rmc_dispatch_msg *held_, one_ = { .key = (k) };			\
	u32 home_;								\
										\
	rmc_dispatch_arrive(b.d, &one_, 0);					\
	home_ = one_.fifo;							\
	CHECK_EQ(rmc_dispatch_next(b.d, 0, &held_), home_);			\
	rmc_dispatch_done(b.d, home_, &one_);					\
	home_; })
	for (key = 0; key < 4096; key++) {
		before[key] = HOME(rmc_dispatch_hash(key));
		count[before[key]]++;
	}
	for (i = 0; i < 16; i++)
		CHECK(count[i] > 190 && count[i] < 330);
	/* also without a hash */
	memset(count, 0, sizeof(count));
	for (key = 0; key < 4096; key++)
		count[HOME(key)]++;
	for (i = 0; i < 16; i++)
		CHECK(count[i] > 200 && count[i] < 312);
	/* only the keys of a core that goes move, to all others */
	CHECK_EQ(rmc_dispatch_detach(b.d, 3, NULL), 0);
	memset(count, 0, sizeof(count));
	for (key = 0; key < 4096; key++) {
		u32 now = HOME(rmc_dispatch_hash(key));

		CHECK(before[key] == 3 ? now != 3 : now == before[key]);
		if (before[key] == 3)
			count[now]++;
	}
	for (i = 0; i < 16; i++)
		CHECK(i == 3 ? !count[i] : count[i] > 0);
	/* and the one that comes takes its share, from them */
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), 3);
	for (key = 0; key < 4096; key++) {
		u32 now = HOME(rmc_dispatch_hash(key));

		CHECK(before[key] == 3 || now == 3 || now == before[key]);
		moved += now == 3;
	}
	CHECK(moved > 190 && moved < 330);
	/* messages of a key keep their order */
	for (i = 0; i < 4; i++)
		arrive(i, 42);
	CHECK_EQ(rmc_dispatch_detach(b.d, b.m[0].fifo, NULL), 0);
	for (i = 0; i < 4; i++) {
		GIVES(b.m[i].fifo, i);
		CHECK(done(b.m[i].fifo, i));
	}
}

static void test_class(void)
{
	begin(RMC_DISPATCH_CLASS, 1, 1, 3);
	/* all of them; now others */
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, NULL), 0);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 0), -EINVAL);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 8), -EINVAL);
	begin(RMC_DISPATCH_CLASS, 3, 1, 3);
	rmc_dispatch_detach(b.d, 0, NULL);
	rmc_dispatch_detach(b.d, 1, NULL);
	rmc_dispatch_detach(b.d, 2, NULL);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 4), 0);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 6), 1);
	CHECK(!rmc_dispatch_pull(b.d, 0, 0));
	arrive(0, 2);
	arrive(1, 1);
	arrive(2, 0);
	arrive(3, 1);
	arrive(4, 99);		/* the last class */
	/* the lowest core first, which takes one class only; class 0 waits for a core */
	GIVES(0, 0);
	GIVES(1, 1);
	NOTHING();
	CHECK(done(1, 1));
	/* the most urgent one that it takes */
	GIVES(1, 3);
	CHECK(done(1, 3));
	GIVES(1, 4);
	CHECK(done(1, 4));
	NOTHING();
	/* nor may it pull what is of another class */
	CHECK(!rmc_dispatch_pull(b.d, 1, 0));
	CHECK_EQ(rmc_dispatch_waiting(b.d), 1);
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 1), 2);
	GIVES(2, 2);
	/* those that only it took wait */
	CHECK_EQ(rmc_dispatch_detach(b.d, 2, NULL), 0);
	CHECK_EQ(rmc_dispatch_waiting(b.d), 1);
	NOTHING();
	CHECK_EQ(rmc_dispatch_attach(b.d, 0, 7), 2);
	CHECK(done(0, 0));
	arrive(0, 2);
	arrive(4, 2);
	GIVES(0, 0);
	GIVES(1, 4);
	GIVES(2, 2);
	CHECK(done(1, 4));
	NOTHING();
}

/* Class 0 always has messages; the others have one each. */
static void test_class_ages(void)
{
	u32 aged, i, got, n;
	int core;

	for (aged = 0; aged < 2; aged++) {
		u32 came = 0;

		begin_with(RMC_DISPATCH_CLASS, 1, 1, 3, 0, aged ? 5 * US : 0);
		arrive(100, 2);
		arrive(101, 1);
		for (i = 0; i < 8; i++)
			arrive(i, 0);
		for (n = 0; n < 20; n++, b.now += US) {
			core = give(&got);
			CHECK_EQ(core, 0);
			CHECK(done(0, got));
			if (got >= 100) {
				came++;
				CHECK(b.now >= 5 * US && b.now <= 8 * US);
			} else {
				arrive(got, 0);
			}
		}
		CHECK_EQ(came, aged ? 2 : 0);
	}
}

static void test_groups(void)
{
	u32 i;

	begin(RMC_DISPATCH_GROUPS, 4, 1, 2);
	CHECK_EQ(rmc_dispatch_attach(b.d, 2, 0), -EINVAL);
	for (i = 0; i < 6; i++) {
		arrive(i, 1);
		CHECK_EQ(b.m[i].fifo, 1);
	}
	/* only its cores */
	GIVES(2, 0);
	GIVES(3, 1);
	NOTHING();
	arrive(6, 0);
	GIVES(0, 6);
	CHECK(done(3, 1));
	GIVES(3, 2);
	/* one core goes: the group goes on, with its message first */
	CHECK_EQ(rmc_dispatch_detach(b.d, 2, NULL), 0);
	CHECK(b.m[0].again);
	CHECK_EQ(b.m[0].fifo, 1);
	CHECK_EQ(rmc_dispatch_waiting(b.d), 4);
	CHECK(done(3, 2));
	GIVES(3, 0);
	/* both are gone: the other group has all, in order */
	CHECK_EQ(rmc_dispatch_detach(b.d, 3, NULL), 0);
	CHECK_EQ(b.m[0].fifo, 0);
	arrive(7, 1);
	CHECK_EQ(b.m[7].fifo, 0);
	GIVES(1, 0);
	CHECK(done(1, 0));
	for (i = 3; i < 6; i++) {
		GIVES(1, i);
		CHECK(done(1, i));
	}
	GIVES(1, 7);
	/* and one comes back */
	CHECK_EQ(rmc_dispatch_attach(b.d, 1, 0), 2);
	arrive(8, 1);
	GIVES(2, 8);
}

static void test_shared(void)
{
	struct rmc_dispatch_msg *m;

	begin(RMC_DISPATCH_SHARED, 2, 2, 0);
	CHECK(!rmc_dispatch_pull(b.d, 0, 0));
	arrive(0, 0);
	arrive(1, 0);
	arrive(2, 0);
	NOTHING();
	CHECK(rmc_dispatch_pull(b.d, 1, 0) == &b.m[0]);
	CHECK(rmc_dispatch_pull(b.d, 1, 0) == &b.m[1]);
	CHECK(!rmc_dispatch_pull(b.d, 1, 0));
	CHECK(!rmc_dispatch_pull(b.d, 2, 0));
	CHECK(!rmc_dispatch_pull(b.d, ~0U, 0));
	CHECK(done(1, 0));
	CHECK(rmc_dispatch_pull(b.d, 1, 0) == &b.m[2]);
	CHECK(!rmc_dispatch_pull(b.d, 0, 0));
	CHECK_EQ(rmc_dispatch_detach(b.d, 0, &m), 0);
	CHECK(!m);
	arrive(3, 0);
	CHECK(!rmc_dispatch_pull(b.d, 0, 0));
	/* also with another policy, the core's own */
	begin(RMC_DISPATCH_STATIC, 2, 1, 0);
	arrive(0, 1);
	CHECK(!rmc_dispatch_pull(b.d, 0, 0));
	CHECK(rmc_dispatch_pull(b.d, 1, 0) == &b.m[0]);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "dispatch: parameters and names", test_limits },
		{ "dispatch: every policy with 1 to 256 cores", test_sizes },
		{ "dispatch: depth", test_depth },
		{ "dispatch: greedy", test_greedy },
		{ "dispatch: rr", test_rr },
		{ "dispatch: static and random", test_random },
		{ "dispatch: jsq and its load hint", test_jsq },
		{ "dispatch: sq2 and hier", test_two_random },
		{ "dispatch: jiq", test_jiq },
		{ "dispatch: steal", test_steal },
		{ "dispatch: steal, and a core that hangs", test_steal_ages },
		{ "dispatch: keyed", test_keyed },
		{ "dispatch: class", test_class },
		{ "dispatch: class, and messages that are never urgent", test_class_ages },
		{ "dispatch: groups", test_groups },
		{ "dispatch: shared, and pulling", test_shared },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
