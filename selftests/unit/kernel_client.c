// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of the RMC inside the kernel: their entries are executed and rejected like an
 * application's, and wake a parked worker. They alone send wire-only operations. Stepped one visit at a time with a virtual clock.
 */
#include "probe.h"
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

/* Wire-only operations: a client sends them, with packets or without. */
static void test_wire_only(const struct testbed_opts *o)
{
	u32 served = probes_served;
	struct kernel k;

	make(&k, o);
	rmc_client_wire_only(&k.c);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_PROBE, 0, NULL, 0)), RMC_S_OK);
	CHECK_EQ(probes_served, served + 1);
	CHECK_EQ(probe_from, unit_of(&k)->ep);
	/* of one home, over the blocks of all RRPPs */
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_PROBE_HOME, 0, lbuf, LONG)), RMC_S_OK);
	/* an application's opcode and one that there is not */
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_MAX - 1, 0, lbuf, 64)), RMC_S_BAD_OP);
	CHECK_EQ(wait_for(&k, post(&k, RMC_OP_PROBE, 0, lbuf, 64)), RMC_S_BAD_LENGTH);
	CHECK_EQ(probes_served, served + 1);
	fini(&k);
}

/* Whatever an application writes into its entries, they are no wire-only operations. */
static void test_applications(const struct testbed_opts *o)
{
	u32 served = probes_served, homes = homes_served, op, i;
	struct setup s;

	setup_make(&s, o, 16);
	for (op = 0; op < 2 * RMC_OP_WIRE; op++)
		for (i = 0; i < 2; i++) {
			u64 word0 = rmc_wqe_word0(0, 1, (uintptr_t)lbuf, 0) |
				    (u64)op << RMC_WQE_OP_SHIFT;

			app_post_raw(&s.a, word0, rmc_wqe_word1(0, 64 * i));
			CHECK(app_wait(&s.a) >= 0);
		}
	CHECK_EQ(probes_served, served);
	CHECK_EQ(homes_served, homes);
	setup_free(&s);
}

/* The mailbox of node 1: from the RRPP of its first unit to the RGP of its last one */
static struct mailbox {
	struct rmc_client c;
	struct rmc_ni_worker *w;
	u32 refused;
	bool parked;
} mailbox;

/* A probe of node 0 is sent on to node 2, if there is a place. */
static u8 forward(struct rmc_serve *s)
{
	struct testbed_worker *t = (struct testbed_worker *)mailbox.w;

	if (s->node->nid != 1)
		return RMC_S_OK;
	if (rmc_client_full(&mailbox.c)) {
		mailbox.refused++;
		return RMC_S_BUSY;
	}
	CHECK_EQ(t->kick, 0);
	rmc_client_post(&mailbox.c, rmc_wqe_word0(RMC_OP_PROBE, 2, 0, 0), rmc_wqe_word1(0, 0));
	CHECK_EQ(t->kick, 0);
	rmc_client_submit(&mailbox.c);
	CHECK_EQ(t->kick, mailbox.parked);
	if (mailbox.parked)
		rmc_ni_unpark(mailbox.w);
	mailbox.parked = false;
	t->kick = 0;
	return RMC_S_OK;
}

/* Node 0 sends this many probes at once. Returns how many are answered with this status. */
static u32 probe(struct kernel *k, u32 count, u8 wanted)
{
	u32 i, n = 0;
	u8 status;
	u16 slot;

	for (i = 0; i < count; i++)
		post(k, RMC_OP_PROBE, 0, NULL, 0);
	rmc_client_submit(&k->c);
	testbed_settle(&k->s.w);
	for (i = 0; i < count; i++) {
		CHECK(rmc_client_reap(&k->c, &slot, &status));
		n += status == wanted;
	}
	return n;
}

static void test_mailbox(const struct testbed_opts *o)
{
	struct testbed_opts three = *o;
	struct rmc_node *last;
	struct kernel k;
	u32 served, i;
	u8 status;
	u16 slot;

	three.nodes = 3;
	three.kernels = true;
	make(&k, &three);
	rmc_client_wire_only(&k.c);
	seg_set(&k.s.w, 2, CTX, k.s.seg_mem);
	last = k.s.w.node[1]->unit[k.s.w.opts.units - 1];
	memset(&mailbox, 0, sizeof(mailbox));
	mailbox.w = last->req_worker;
	/* fewer places than node 0 sends at once */
	CHECK_EQ(rmc_client_init(&mailbox.c, last, &k.s.a.bufs, CTX, ORDER - 1), 0);
	rmc_client_wire_only(&mailbox.c);
	CHECK_EQ(rmc_ni_add_qp(mailbox.w, &mailbox.c.qp), 0);
	at_probe = forward;
	/* each is sent on by the unit of the mailbox */
	served = probes_served;
	CHECK_EQ(probe(&k, 1, RMC_S_OK), 1);
	CHECK_EQ(probes_served, served + 2);
	CHECK_EQ(probe_from, last->ep);
	CHECK(rmc_client_reap(&mailbox.c, &slot, &status));
	CHECK_EQ(status, RMC_S_OK);
	/* to an RGP that is parked, unless the RRPP is on its worker, and thus awake */
	if (mailbox.w != k.s.w.node[1]->unit[0]->srv_worker) {
		for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
			testbed_visit(&k.s.w);
		CHECK(rmc_ni_may_park(mailbox.w));
		mailbox.parked = rmc_ni_park(mailbox.w);
		CHECK(mailbox.parked);
		CHECK_EQ(probe(&k, 1, RMC_S_OK), 1);
		CHECK(!mailbox.parked);
		CHECK(rmc_client_reap(&mailbox.c, &slot, &status));
	}
	/* a place is free again when its completion was reaped */
	served = probes_served;
	CHECK_EQ(probe(&k, ENTRIES, RMC_S_BUSY), ENTRIES / 2);
	CHECK_EQ(mailbox.refused, ENTRIES / 2);
	CHECK_EQ(probes_served, served + ENTRIES + ENTRIES / 2);
	CHECK_EQ(probe(&k, 1, RMC_S_BUSY), 1);
	CHECK(rmc_client_reap(&mailbox.c, &slot, &status));
	CHECK_EQ(probe(&k, 2, RMC_S_BUSY), 1);
	at_probe = NULL;
	rmc_ni_del_qp(mailbox.w, &mailbox.c.qp);
	rmc_client_destroy(&mailbox.c);
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
		{ "operations that only packets have", test_wire_only },
		{ "these are not an application's", test_applications },
		{ "from an RRPP to an RGP: woken, in order, refused when full", test_mailbox },
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
