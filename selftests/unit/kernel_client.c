// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the RMC inside the kernel: their entries are executed and rejected like an
 * application's, and wake a parked worker. Stepped one visit at a time with a virtual clock.
 */
#include "setup.h"
#include "kmod/ni/front.h"

void (*rmc_at_barrier)(void);

#define ORDER	2
#define ENTRIES	(1U << ORDER)

struct kernel {
	struct setup s;
	struct rmc_client c;
};

static struct rmc_node *unit_of(struct kernel *k)
{
	return k->s.w.node[0]->unit[0];
}

static void make_of(struct kernel *k, const struct testbed_opts *o, u32 ctx_id)
{
	memset(k, 0, sizeof(*k));
	setup_make(&k->s, o, 16);
	CHECK_EQ(rmc_client_init(&k->c, unit_of(k), &k->s.a.bufs, ctx_id, ORDER), 0);
	CHECK_EQ(rmc_ni_add_qp(unit_of(k)->req_worker, &k->c.qp), 0);
}

static void make(struct kernel *k, const struct testbed_opts *o)
{
	make_of(k, o, CTX);
}

static void fini(struct kernel *k)
{
	rmc_ni_del_qp(unit_of(k)->req_worker, &k->c.qp);
	rmc_client_destroy(&k->c);
	setup_free(&k->s);
}

/* The opposite phase: rmc_client_post() replaces the caller's. */
static u16 post(struct kernel *k, u32 op, u64 offset, const void *buf, u32 len)
{
	u64 wrong = !rmc_phase(k->c.head, ORDER);

	return rmc_client_post(&k->c, rmc_wqe_word0(op, 1, (uintptr_t)buf, wrong),
			       rmc_wqe_word1(offset, len));
}

/* -1: none came; -2: of another entry */
static int wait_for(struct kernel *k, u16 slot)
{
	u8 status;
	u16 got;
	u32 i;

	rmc_client_submit(&k->c);
	for (i = 0; i < 100000; i++) {
		if (rmc_client_reap(&k->c, &got, &status))
			return got == slot ? status : -2;
		testbed_visit(&k->s.w);
	}
	return -1;
}

static void test_laps(const struct testbed_opts *o)
{
	static const u32 lens[] = { 1, 64, 100, 4096, LONG };
	struct kernel k;
	u32 i;

	make(&k, o);
	for (i = 0; i < 5 * ENTRIES; i++) {
		u32 len = lens[i % ARRAY_SIZE(lens)];

		fill(lbuf, len, i);
		CHECK_EQ(wait_for(&k, post(&k, RMC_OP_WRITE, 7 * i, lbuf, len)), RMC_S_OK);
		CHECK(!memcmp(seg + 7 * i, lbuf, len));
		CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, 7 * i, lbuf + LONG, len)), RMC_S_OK);
		CHECK(!memcmp(seg + 7 * i, lbuf + LONG, len));
		CHECK_EQ(rmc_client_in_flight(&k.c), 0);
	}
	CHECK(setup_guards_intact());
	fini(&k);
}

static void test_full(const struct testbed_opts *o)
{
	u32 seen, lap, i;
	struct kernel k;
	u8 status;
	u16 slot;

	make(&k, o);
	for (lap = 0; lap < 3; lap++) {
		for (i = 0; i < ENTRIES; i++) {
			CHECK(!rmc_client_full(&k.c));
			post(&k, RMC_OP_READ, 64 * i, lbuf + 64 * i, 64);
			CHECK_EQ(rmc_client_in_flight(&k.c), i + 1);
		}
		CHECK(rmc_client_full(&k.c));
		CHECK(!rmc_client_reap(&k.c, &slot, &status));
		rmc_client_submit(&k.c);
		testbed_settle(&k.s.w);
		for (seen = 0, i = 0; i < ENTRIES; i++) {
			CHECK(rmc_client_full(&k.c) == !i);
			CHECK(rmc_client_reap(&k.c, &slot, &status));
			CHECK_EQ(status, RMC_S_OK);
			seen |= 1U << slot;
		}
		CHECK_EQ(seen, (1U << ENTRIES) - 1);
		CHECK(!rmc_client_reap(&k.c, &slot, &status));
	}
	fini(&k);
}

static void test_refused(const struct testbed_opts *o)
{
	struct kernel k;

	make(&k, o);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_MAX - 1, 0, lbuf, 64)), RMC_S_BAD_OP);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, 0, lbuf - PAGE, 64)), RMC_S_BAD_LBUF);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, SEG, lbuf, 64)), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, 0, lbuf, 64)), RMC_S_OK);
	fini(&k);
	make_of(&k, o, CTX + 1);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, 0, lbuf, 64)), RMC_S_BAD_CONTEXT);
	fini(&k);
}

/* Its worker is parked, or not; the test has no thread. */
static u32 kicked(struct kernel *k)
{
	return ((struct testbed_worker *)unit_of(k)->req_worker)->kick;
}

static void test_wakes(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct kernel k;
	u16 slot;
	u32 i;

	make(&k, o);
	w = unit_of(&k)->req_worker;
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_READ, 0, lbuf, 64)), RMC_S_OK);
	CHECK_EQ(kicked(&k), 0);
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&k.s.w);
	CHECK(rmc_ni_may_park(w));
	CHECK(rmc_ni_park(w));
	slot = post(&k, RMC_OP_READ, 0, lbuf, 64);
	CHECK_EQ(kicked(&k), 0);
	rmc_client_submit(&k.c);
	CHECK_EQ(kicked(&k), 1);
	rmc_ni_unpark(w);
	CHECK_EQ(wait_for(&k, slot), RMC_S_OK);
	fini(&k);
}

/* Each allocation fails once: nothing is left, which AddressSanitizer would report. */
static void test_no_memory(const struct testbed_opts *o)
{
	struct rmc_client c;
	struct kernel k;
	u32 i;

	make(&k, o);
	for (i = 1; i <= 3; i++) {
		memset(&c, 0, sizeof(c));
		rmc_no_user_memory = i;
		CHECK_EQ(rmc_client_init(&c, unit_of(&k), &k.s.a.bufs, CTX, ORDER), -ENOMEM);
		CHECK_EQ(rmc_no_user_memory, 0);
		CHECK(!c.qp.wq && !c.qp.cq && !c.qp.flags);
	}
	for (i = 1; i <= 4; i++) {
		rmc_no_user_memory = i;
		CHECK(!rmc_front_create(&k.s.a.qp, NULL));
		CHECK_EQ(rmc_no_user_memory, 0);
	}
	fini(&k);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "reads and writes, several laps of the queues", test_laps },
		{ "as many as there are entries, each completed once", test_full },
		{ "refused as an application's would be", test_refused },
		{ "a worker that sleeps is woken", test_wakes },
		{ "no memory for one of the queues", test_no_memory },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
		{ .nodes = 2, .ni = "split", .mtu = 4096 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
