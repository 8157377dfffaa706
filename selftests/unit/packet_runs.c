// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that move as one run, if a ring holds less than a run may have, or a packet has
 * more. A requester that sends without credits only harms itself: replies overwrite each
 * other, but nothing beyond the ring.
 */
#include "setup.h"
#include "kmod/core/pipeline.h"

/* A stub requester, as node 2 of a kernel of its own */
struct requester {
	struct setup s;
	struct rmc_ring req, rep;
};

static void setup(struct requester *r, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_fabric *f;
	struct rmc_node *server;
	u8 *mem;

	k.nodes = 3;
	k.kernels = true;
	setup_make(&r->s, &k, 16);
	r->s.w.frozen[2] = true;
	f = &r->s.w.fabric[2];
	server = r->s.w.node[1];
	mem = f->ops->channel(f, rmc_endpoint(f, 2), server->ep);
	rmc_ring_init(&r->req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&r->rep, mem + rmc_ring_bytes(f->ring_order, f->pay_order), f->ring_order,
		      f->pay_order);
	rmc_ring_begin(&r->req, r->s.w.node[2]->epoch, server->epoch);
	rmc_ring_begin(&r->rep, r->s.w.node[2]->epoch, server->epoch);
}

static void ask(struct requester *r, u8 op, u64 word1)
{
	struct rmc_fabric *f = &r->s.w.fabric[2];

	rmc_ring_put(&r->req, rmc_req_word0(op, CTX, 1, 1), word1);
	rmc_doorbell_ring(f, r->s.w.node[1]->ep, RMC_LANE_REQ, rmc_endpoint(f, 2), false);
	testbed_receive(&r->s.w, 1);
}

/* This many replies, each with the payload that was read last into its lines */
static u32 answered(struct requester *r)
{
	struct rmc_desc d;
	u32 n = 0, before;

	/* a link has room for some at a time */
	do {
		before = n;
		testbed_settle(&r->s.w);
		testbed_receive(&r->s.w, 2);
		for (; rmc_ring_peek(&r->rep, 0, &d); n++)
			r->rep.pos++;
	} while (n != before);
	return n;
}

/* More adjacent reads than the ring has lines for */
static void test_reads(const struct testbed_opts *o)
{
	struct requester r;
	u32 i, lines;

	setup(&r, o);
	fill(seg, SEG, 1);
	lines = r.rep.pay_mask + 1;
	CHECK(lines < RMC_POLL_BUDGET * (o->mtu / RMC_LINE) && lines * RMC_LINE < RMC_RUN);
	for (i = 0; i < RMC_POLL_BUDGET; i++)
		ask(&r, RMC_OP_READ, rmc_req_word1(i * o->mtu, o->mtu, false));
	CHECK_EQ(answered(&r), RMC_POLL_BUDGET);
	/* the last payload is there: positions advanced with all of them */
	i = RMC_POLL_BUDGET * (o->mtu / RMC_LINE) - 1;
	CHECK(!memcmp(rmc_ring_line(&r.rep, i), seg + i * RMC_LINE, RMC_LINE));
	CHECK_EQ(app_run(&r.s.a, RMC_OP_READ, 1, 0, lbuf, SEG), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	setup_free(&r.s);
}

/* An object that is a line longer than the ring, announced with all its packets */
static void test_object(const struct testbed_opts *o)
{
	struct requester r;
	u32 at, length;

	setup(&r, o);
	mem_objects(r.s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	memset(seg, 0, SEG);
	length = (r.rep.pay_mask + 2) * RMC_LINE;
	ask(&r, RMC_OP_SABRE, rmc_announce_word1(0, length));
	for (at = 0; at < length; at += o->mtu)
		ask(&r, RMC_OP_SABRE, rmc_req_word1(at, min(o->mtu, length - at),
						    at + o->mtu >= length));
	CHECK_EQ(answered(&r), 1 + (length + o->mtu - 1) / o->mtu);
	CHECK_EQ(testbed_transfers(&r.s.w, 1), 0);
	CHECK_EQ(app_run(&r.s.a, RMC_OP_READ, 1, 0, lbuf, SEG), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, SEG));
	setup_free(&r.s);
}

/* Packets larger than the usual run, between kernels and within a worker */
static void test_large_packets(const struct testbed_opts *o)
{
	struct testbed_opts large = *o;
	struct setup s;

	large.mtu = SEG / 4;
	large.pay_order = 9;
	for (large.kernels = large.links; ; large.kernels = true) {
		setup_make(&s, &large, 16);
		fill(seg, SEG, 2);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg, SEG));
		fill(lbuf, SEG, 3);
		CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, 64, lbuf, SEG - 64), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 64, SEG - 64));
		CHECK(testbed_credits_home(&s.w, 0, 1));
		setup_free(&s);
		if (large.kernels)
			break;
	}
}

/* An object that never fits the ring is announced at once: waiting for others would not help. */
static void test_never_fits(const struct testbed_opts *o)
{
	struct testbed_opts one = { .nodes = 2, .ni = "fused", .mtu = o->mtu, .pay_order = 7 };
	struct rmc_out *out;
	struct setup s;
	struct app b;
	u32 i;

	setup_make(&s, &one, 16);
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	out = s.w.node[0]->out[1];
	CHECK(out->self);
	/* one is in flight */
	rmc_filters = 1;
	s.w.node[1]->srv_stopped = true;
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 2 * o->mtu);
	for (i = 0; i < 4; i++)
		testbed_visit(&s.w);
	CHECK_EQ(out->xfers, 1);
	app_post(&b, RMC_OP_SABRE, 1, 0, lbuf + PAGE, RMC_RUN_SELF + RMC_LINE);
	for (i = 0; i < 4; i++)
		testbed_visit(&s.w);
	CHECK_EQ(out->xfers, 2);
	s.w.node[1]->srv_stopped = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK_EQ(app_wait(&b), RMC_S_OK);
	CHECK(!memcmp(lbuf + PAGE, seg, RMC_RUN_SELF + RMC_LINE));
	rmc_filters = 0;
	CHECK(testbed_credits_home(&s.w, 0, 1));
	app_fini(&b);
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "more reads than the ring has lines", test_reads },
		{ "an object longer than the ring", test_object },
		{ "packets larger than a run", test_large_packets },
		{ "who never fits does not wait until it does", test_never_fits, .one_kernel = true },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 64, .pay_order = 2 },
		{ .nodes = 2, .ni = "pair", .mtu = 512, .pay_order = 4 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
