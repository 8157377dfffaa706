// SPDX-License-Identifier: GPL-2.0
/*
 * A requester that cannot send all of an operation: credits, payload lines and shares are
 * used up, peers have stopped polling, operations fail halfway. One kernel per node, so that
 * each side can run ahead of the other.
 */
#include "setup.h"

#define ENTRIES	128

/* All credits are back, and nothing else arrives. */
static void teardown(struct setup *s)
{
	u32 slot, status, i;

	testbed_settle(&s->w);
	CHECK(!app_poll(&s->a, &slot, &status));
	for (i = 0; i < s->w.opts.nodes; i++) {
		CHECK_EQ(testbed_in_flight(&s->w, i), 0);
		CHECK_EQ(testbed_transfers(&s->w, i), 0);
		CHECK(testbed_credits_home(&s->w, i, 1));
	}
	CHECK(setup_guards_intact());
	setup_free(s);
}

/* Another application of node @nid, on the same unit as the first one of node 0 */
static void another(struct app *b, struct setup *s, u32 nid)
{
	s->w.apps = 0;
	app_init(b, &s->w, nid, CTX, ENTRIES);
	rmc_bufs_add(&b->bufs, s->buf_mem);
}

static void visit(struct setup *s, u32 times)
{
	while (times--)
		testbed_visit(&s->w);
}

/* Node 0 sends all it may while the others are frozen; then they do all they can. */
static void by_turns(struct setup *s, u32 times)
{
	s->w.frozen[1] = true;
	visit(s, 40);
	s->w.frozen[1] = false;
	s->w.frozen[0] = true;
	visit(s, times);
	s->w.frozen[0] = false;
}

/* Operations of @each bytes, in total more data than the rings have lines */
static void move_all(struct setup *s, u32 op, u32 each)
{
	u8 *from = op == RMC_OP_READ ? seg : lbuf, *to = op == RMC_OP_READ ? lbuf : seg;
	u32 at, i, n = 0;

	fill(from, SEG, 17 + op);
	memset(to, 0, SEG);
	for (at = 0; at < SEG && n < ENTRIES; at += each, n++)
		app_post(&s->a, op, 1, at, lbuf + at, each);
	for (i = 0; i < 4; i++)
		by_turns(s, 40);
	while (n--)
		CHECK_EQ(app_wait(&s->a), RMC_S_OK);
	CHECK(!memcmp(to, from, at));
}

static void test_lines(const struct testbed_opts *o)
{
	struct setup s;

	setup_kernels(&s, o, ENTRIES);
	move_all(&s, RMC_OP_WRITE, s.w.fabric->cut);
	move_all(&s, RMC_OP_READ, s.w.fabric->cut);
	move_all(&s, RMC_OP_WRITE, SEG);
	move_all(&s, RMC_OP_READ, SEG);
	move_all(&s, RMC_OP_WRITE_NOTIFY, SEG);
	CHECK_EQ(s.seg_mem->notified.count, 1);
	teardown(&s);
}

/*
 * SABRes that wait for an entry of the table leave a quarter of the credits to others,
 * however many packets they have.
 */
static void test_quarter(const struct testbed_opts *o)
{
	static const u32 packets[] = { 10, 11, 12, 13, 40 };
	struct testbed_opts few = *o;
	struct app b, c[2];
	struct setup s;
	u32 i, k;

	/* with larger packets the limit is lines, see sabre.c */
	if (o->mtu > 512 || o->units > 1)
		return;
	few.nodes = 4;
	few.ring_order = 4;
	few.att_entries = 1;
	for (i = 0; i < ARRAY_SIZE(packets); i++) {
		setup_kernels(&s, &few, ENTRIES);
		mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
		memset(seg, 0, SEG);
		another(&b, &s, 0);
		/* one has the entry, one waits for it; both are partly sent */
		for (k = 0; k < 2; k++) {
			another(&c[k], &s, 2 + k);
			CHECK_EQ(app_run(&c[k], RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
			app_post(&c[k], RMC_OP_SABRE, 1, 0, lbuf, SEG);
			app_take(&c[k]);
			s.w.frozen[2 + k] = true;
			visit(&s, 10);
		}
		CHECK_EQ(testbed_transfers(&s.w, 1), 2);
		for (k = 0; k < 4; k++)
			app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, packets[i] * o->mtu);
		visit(&s, 50);
		CHECK(testbed_transfers(&s.w, 1) > 2);
		for (k = 0; k < 8; k++)
			CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 64, lbuf, 64), RMC_S_OK);
		s.w.frozen[2] = false;
		s.w.frozen[3] = false;
		for (k = 0; k < 4; k++)
			CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		for (k = 0; k < 2; k++)
			CHECK_EQ(app_wait(&c[k]), RMC_S_OK);
		testbed_settle(&s.w);
		for (k = 0; k < 2; k++)
			app_fini(&c[k]);
		app_fini(&b);
		teardown(&s);
	}
}

/* Two SABRes at once, both longer than the rings: one is sent before the other begins. */
static void test_two_announce(const struct testbed_opts *o)
{
	struct testbed_opts few = *o;
	struct setup s;
	struct app b;
	u32 i;

	few.ring_order = 4;
	setup_kernels(&s, &few, ENTRIES);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	another(&b, &s, 0);
	for (i = 0; i < 4; i++) {
		struct app *first = i & 1 ? &b : &s.a, *then = i & 1 ? &s.a : &b;

		fill(seg, SEG, i);
		*(u64 *)seg = 2;
		memset(lbuf, 0, SEG);
		app_post(first, RMC_OP_SABRE, 1, 0, lbuf, SEG);
		app_take(first);
		app_post(then, RMC_OP_SABRE, 1, 0, lbuf, SEG);
		CHECK_EQ(app_wait(then), RMC_S_OK);
		CHECK_EQ(app_wait(first), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg, SEG));
	}
	app_fini(&b);
	teardown(&s);
}

/* A SABRe that fails is not sent to its end. */
static void test_refused(const struct testbed_opts *o)
{
	struct testbed_opts few = *o;
	struct setup s;
	u64 sent;

	few.ring_order = 2;
	setup_kernels(&s, &few, ENTRIES);
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG), RMC_S_NO_VERSION);
	sent = testbed_stat(&s.w, 0, requests);
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG), RMC_S_NO_VERSION);
	CHECK(testbed_stat(&s.w, 0, requests) - sent <= 8);
	/* and does not block the next one */
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	*(u64 *)seg = 2;
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, SEG), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	memset(lbuf, BUF_FILL, SEG);
	teardown(&s);
}

/* True if a request doorbell of any unit of node 1 is set. */
static bool rung(struct setup *s)
{
	struct rmc_fabric *f = &s->w.fabric[1];
	u32 u;

	for (u = 0; u < s->w.opts.units; u++)
		if (*rmc_doorbell_word(f, s->w.node[1]->ep + u, RMC_LANE_REQ, 0))
			return true;
	return false;
}

/* The rest of an operation is sent although the peer has stopped polling for it. */
static void test_silence(const struct testbed_opts *o)
{
	struct setup s;

	setup_kernels(&s, o, ENTRIES);
	fill(seg, SEG, 5);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	by_turns(&s, 2 * RMC_IDLE_POLLS);
	CHECK(!rung(&s));
	CHECK(testbed_in_flight(&s.w, 0));
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	teardown(&s);
}

/* The peer is frozen for so long that no worker polls any more; the rest is still sent. */
static void test_patience(const struct testbed_opts *o)
{
	struct testbed_opts few = *o;
	struct setup s;

	few.ring_order = 2;
	setup_kernels(&s, &few, ENTRIES);
	fill(seg, SEG, 6);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	s.w.frozen[1] = true;
	visit(&s, 3 * RMC_IDLE_POLLS);
	/* for a frontend it is the inner one's */
	CHECK(s.a.qp.front || s.a.qp.cur_tid != RMC_TID_NONE);
	s.w.frozen[1] = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	teardown(&s);
}

/* Notifications go to the first RRPP only, wherever the write goes. */
static void test_notifications(const struct testbed_opts *o)
{
	struct testbed_opts few = *o;
	u32 slot, status, i, n = 0;
	struct setup s;
	struct app b;
	u64 at;

	few.ring_order = 2;
	setup_kernels(&s, &few, ENTRIES);
	another(&b, &s, 0);
	for (at = 0; at < 4 * s.w.fabric->interleave; at += s.w.fabric->interleave) {
		CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, at, lbuf, 64), RMC_S_OK);
		CHECK_EQ(app_run(&s.a, RMC_OP_NOTIFY, 1, at, NULL, 0), RMC_S_OK);
		n += 2;
		CHECK_EQ(s.seg_mem->notified.count, n);
	}
	if (s.w.opts.rrpps > 1) {
		/* the first one is frozen, and its ring is full */
		rmc_filters = 1;
		s.w.node[1]->srv_stopped = true;
		for (i = 0; i < 5; i++)
			app_post(&b, RMC_OP_READ, 1, 0, lbuf, 64);
		visit(&s, 20);
		memset(lbuf, 0x33, 64);
		app_post(&s.a, RMC_OP_WRITE_NOTIFY, 1, s.w.fabric->interleave, lbuf, 64);
		visit(&s, 20);
		CHECK_EQ(seg[s.w.fabric->interleave], 0x33);
		CHECK(!app_poll(&s.a, &slot, &status));
		CHECK_EQ(s.seg_mem->notified.count, n);
		s.w.node[1]->srv_stopped = false;
		for (i = 0; i < 5; i++)
			CHECK_EQ(app_wait(&b), RMC_S_OK);
		testbed_tick(&s.w, 1);
		testbed_tick(&s.w, 1);
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		CHECK_EQ(s.seg_mem->notified.count, n + 1);
		rmc_filters = 0;
	}
	testbed_settle(&s.w);
	app_fini(&b);
	teardown(&s);
}

/* A notification that could not be sent in time is dropped, and no restart remains. */
static void test_notified_too_late(const struct testbed_opts *o)
{
	u32 slot, status, at, i, n = 0;
	struct testbed_opts few = *o;
	struct setup s;
	struct app b;

	few.ring_order = 2;
	setup_kernels(&s, &few, ENTRIES);
	if (s.w.opts.rrpps == 1) {
		/* with one RRPP it is part of the write's last packet */
		teardown(&s);
		return;
	}
	another(&b, &s, 0);
	at = s.w.fabric->interleave;
	for (i = 0; i < s.w.opts.nodes; i++)
		s.w.fabric[i].timeout_ms = 40;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, at, lbuf, 64), RMC_S_OK);
	rmc_filters = 1;
	s.w.node[1]->srv_stopped = true;
	for (i = 0; i < 5; i++)
		app_post(&b, RMC_OP_READ, 1, 0, lbuf, 64);
	visit(&s, 20);
	memset(lbuf, 0x33, 64);
	app_post(&s.a, RMC_OP_WRITE_NOTIFY, 1, at, lbuf, 64);
	visit(&s, 20);
	CHECK_EQ(seg[at], 0x33);
	for (i = 0; i < 60; i++) {
		testbed_tick(&s.w, 1);
		visit(&s, 2);
	}
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_TIMEOUT);
	for (i = 0; i < s.w.opts.units; i++)
		CHECK_EQ(s.w.node[0]->unit[i]->itt.restarts, 0);
	s.w.node[1]->srv_stopped = false;
	testbed_pass(&s.w, 60);
	for (i = 0; i < 200 && n < 5; i++) {
		n += app_poll(&b, &slot, &status);
		visit(&s, 1);
	}
	CHECK_EQ(n, 5);
	CHECK_EQ(s.seg_mem->notified.count, 0);
	rmc_filters = 0;
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE_NOTIFY, 1, at, lbuf, 64), RMC_S_OK);
	CHECK_EQ(s.seg_mem->notified.count, 1);
	testbed_settle(&s.w);
	app_fini(&b);
	teardown(&s);
}

/* Blocks are distributed evenly over the RRPPs. */
static void test_homes(const struct testbed_opts *o)
{
	u32 rrpps, i, k, blocks, served = 0;
	struct setup s;

	setup_kernels(&s, o, ENTRIES);
	rrpps = s.w.opts.rrpps;
	blocks = SEG / s.w.fabric->interleave / rrpps * rrpps;
	CHECK(blocks > rrpps);
	for (i = 0; i < rrpps; i++)
		served += s.w.node[1]->unit[i]->stats.served;
	CHECK_EQ(served, 1);
	for (k = 0; k < blocks; k++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, k * s.w.fabric->interleave, lbuf, 64), RMC_S_OK);
	/* one more of the first block, see setup() */
	for (i = 0; i < rrpps; i++)
		CHECK_EQ(s.w.node[1]->unit[i]->stats.served, blocks / rrpps + !i);
	teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "one side runs ahead of the other: no line is used twice", test_lines },
		{ "SABREs that wait leave a quarter of the credits", test_quarter },
		{ "SABREs of two queue pairs, longer than the rings", test_two_announce },
		{ "a refused SABRE is not sent to its end", test_refused },
		{ "the rest is sent to a peer that stopped polling", test_silence },
		{ "who waits for credits is not forgotten", test_patience },
		{ "notifications: the first RRPP's, also when its ring is full", test_notifications },
		{ "notifications: too late is never", test_notified_too_late },
		{ "RRPPs share the work", test_homes },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
