// SPDX-License-Identifier: GPL-2.0
/* The modelled network adapter, in virtual time: what its parts take, and its buffer of atomics. */
#include "adapted.h"

/* Visits until @ns after @from; then @served requests were served, and not one nanosecond before */
static void check_served(struct setup *s, u64 from, u64 ns, u32 served)
{
	testbed_now_ns = from + ns - 1;
	testbed_settle(&s->w);
	CHECK_EQ(testbed_stat(&s->w, 1, served), served - 1);
	testbed_now_ns++;
	testbed_settle(&s->w);
	CHECK_EQ(testbed_stat(&s->w, 1, served), served);
}

static u64 times_setup(struct setup *s, const struct testbed_opts *o, const struct rmc_rnic *r)
{
	setup(s, o);
	CHECK_EQ(app_run(&s->a, RMC_OP_NOTIFY, 1, 0, NULL, 0), RMC_S_OK);
	rnic_set(&s->w, 1, r);
	return testbed_now_ns;
}

static void times_teardown(struct setup *s)
{
	testbed_now_ns += 10000000;
	testbed_settle(&s->w);
	while (app_wait(&s->a) >= 0)
		;
	check_quiet(s);
	teardown(s);
}

static void test_messages(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .msg_ps = 19500 };
	struct setup s;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	for (i = 0; i < 4; i++)
		app_post(&s.a, RMC_OP_READ, 1, i * 64, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	/* half nanoseconds add up */
	check_served(&s, t0, 19, 2);
	check_served(&s, t0, 39, 3);
	check_served(&s, t0, 58, 4);
	check_served(&s, t0, 78, 5);
	/* a pause is no credit */
	t0 = testbed_now_ns += 1000;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	check_served(&s, t0, 19, 6);
	times_teardown(&s);

	/* 1 Mb/s: a header takes 128 us, a line 512. The last bit of the first one has come in. */
	r = (struct rmc_rnic){ .mbps = 1 };
	t0 = times_setup(&s, o, &r);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 2);
	/* replies of 640 us leave one after the other; the write's lines come in meanwhile */
	check_served(&s, t0, 640000, 3);
	check_served(&s, t0, 2 * 640000, 4);
	times_teardown(&s);
}

/* The reply to an announcement has no lines, that to any request no more than a packet. */
static void test_announced(const struct testbed_opts *o)
{
	struct rmc_packet p = { .word0 = rmc_req_word0(RMC_OP_SABRE, 0, 0, 0) };
	struct rmc_rnic r = { .mbps = 1000 };
	struct rmc_fabric f = { .mtu = o->mtu };
	struct rmc_links l = { .fabric = &f };
	struct rmc_filter flt = { .lane = RMC_LANE_REQ };
	u64 out_ns, in_ns;

	CHECK_EQ(rmc_rnic_set_server(&l, &r, 1), 0);
	p.word1 = rmc_announce_word1(0, 64 * 64);
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns, 2 * 8 * RMC_PACKET_HEADER);
	p.word1 = rmc_req_word1(0, 64, true);
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns, 8 * (3 * RMC_PACKET_HEADER + RMC_LINE));
	/* a hostile one, which is refused, takes no longer than the longest reply */
	out_ns = l.rnic_server->out_ns;
	p.word0 = rmc_req_word0(RMC_OP_READ, 0, 0, 0);
	p.word1 = rmc_req_word1(0, 0xffff, true);
	p.due_ns = 0;
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns - out_ns, 8 * (RMC_PACKET_HEADER + o->mtu));
	out_ns = l.rnic_server->out_ns;
	p.word1 = rmc_req_word1(0, o->mtu, true);
	p.due_ns = 0;
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->out_ns - out_ns, 8 * (RMC_PACKET_HEADER + o->mtu));
	/* a write with as many lines as a ring has comes in no longer than one of a packet */
	flt.wire.pay_mask = 1023;
	p.word0 = rmc_req_word0(RMC_OP_WRITE, 0, 0, 0);
	p.lines = 1024;
	p.due_ns = 0;
	in_ns = l.rnic_server->in_ns;
	rmc_arrival_rnic(&l, &flt, &p);
	CHECK_EQ(l.rnic_server->in_ns - in_ns, 8 * (RMC_PACKET_HEADER + o->mtu));
	CHECK_EQ(rmc_rnic_set_server(&l, &(struct rmc_rnic){ }, 1), 0);
}

static void test_locks(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 400, .faa_ns = 700 };
	struct setup s;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	app_post(&s.a, RMC_OP_CAS, 1, 0, lbuf, 8);
	app_post(&s.a, RMC_OP_CAS, 1, 4096, lbuf, 8);		/* the same slot */
	app_post(&s.a, RMC_OP_FAA, 1, 4096 + 8, lbuf, 8);
	app_post(&s.a, RMC_OP_FAA, 1, 8192, lbuf, 8);		/* the first one's */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8);		/* no atomic */
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 2);
	check_served(&s, t0, 400, 3);
	check_served(&s, t0, 700, 4);
	check_served(&s, t0, 800, 5);
	check_served(&s, t0, 1500, 6);
	times_teardown(&s);
}

/* An ordered queue pair's read waits for the atomic that waits for its lock. */
static void test_locks_in_order(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 400, .faa_ns = 400 };
	struct setup s;
	struct app a;
	u64 t0;
	u32 i;

	if (o->rrpps > 1)
		return;
	t0 = times_setup(&s, o, &r);
	app_init_ordered(&a, &s.w, 0, CTX, 16);
	rmc_bufs_add(&a.bufs, s.buf_mem);
	app_post(&a, RMC_OP_FAA, 1, 0, lbuf, 8);
	app_post(&a, RMC_OP_READ, 1, 64, lbuf + 64, 64);
	for (i = 0; i < 300; i++)
		testbed_visit(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 1);
	testbed_now_ns = t0 + 399;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 1);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 1, served), 3);
	app_fini(&a);
	times_teardown(&s);
}

/*
 * An adapter that is changed lets go what it holds, in order: an atomic that waits for its lock, and
 * the read behind it that has not arrived.
 */
static void test_locks_flushed(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .cas_ns = 100000, .faa_ns = 100000 };
	struct rmc_fault way = { .delay_ns = 500 };
	struct setup s;
	struct app a;
	u32 i, how;

	for (how = 0; how < 2; how++) {
		times_setup(&s, o, &r);
		fault_set(&s.w, 0, 1, RMC_LANE_REQ, &way, 1);
		app_init_ordered(&a, &s.w, 0, CTX, 16);
		rmc_bufs_add(&a.bufs, s.buf_mem);
		*(u64 *)lbuf = 1;
		app_post(&a, RMC_OP_FAA, 1, 0, lbuf, 8);
		for (i = 0; i < 10; i++) {
			testbed_visit(&s.w);
			testbed_now_ns += 100;
		}
		app_post(&a, RMC_OP_READ, 1, 0, lbuf + 64, 8);
		for (i = 0; i < 6; i++)
			testbed_visit(&s.w);
		CHECK_EQ(*(u64 *)seg, 0);
		if (how) {
			/* they stay with a filter, which has nothing more to do */
			rnic_set(&s.w, 1, &(struct rmc_rnic){ .cas_ns = 1 });
		} else {
			rnic_set(&s.w, 1, &(struct rmc_rnic){ });
			CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
		}
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK_EQ(*(u64 *)(lbuf + 64), 1);
		app_fini(&a);
		times_teardown(&s);
	}
}

/* ---- the buffer of atomics ---- */

static u64 faa(struct setup *s, u64 add)
{
	*(u64 *)lbuf = add;
	CHECK_EQ(app_run(&s->a, RMC_OP_FAA, 1, 64, lbuf, 8), RMC_S_OK);
	return *(u64 *)lbuf;
}

static u64 cas(struct setup *s, u64 expected, u64 desired)
{
	((u64 *)lbuf)[0] = expected;
	((u64 *)lbuf)[1] = desired;
	CHECK_EQ(app_run(&s->a, RMC_OP_CAS, 1, 64, lbuf, 8), RMC_S_OK);
	return *(u64 *)lbuf;
}

static u64 rmw_of(struct setup *s, u32 kind, u64 value, u32 offset, u32 len)
{
	struct rmc_rmw *r = (struct rmc_rmw *)lbuf;

	*r = (struct rmc_rmw){ .kind = kind, .value = value };
	CHECK_EQ(app_run(&s->a, RMC_OP_RMW, 1, offset, r, len), RMC_S_OK);
	return r->old;
}

static void test_buffer(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .buffer_ns = 1000 };
	struct setup s;
	u64 *word;

	setup(&s, o);
	rnic_set(&s.w, 1, &r);
	word = (u64 *)(seg + 64);
	*word = 0;
	CHECK_EQ(cas(&s, 0, 7), 0);
	CHECK_EQ(*word, 7);
	/* a plain write: atomics do not see it, and a compare-and-swap that fails stores nothing */
	*word = 0;
	CHECK_EQ(cas(&s, 0, 9), 7);
	CHECK_EQ(*word, 0);
	testbed_now_ns += 999;
	CHECK_EQ(cas(&s, 0, 9), 7);
	testbed_now_ns++;
	CHECK_EQ(cas(&s, 0, 9), 0);
	CHECK_EQ(*word, 9);
	/* a fetch-and-add stores what it saw, over the write */
	*word = 0;
	CHECK_EQ(faa(&s, 1), 9);
	CHECK_EQ(*word, 10);
	/* another word in its place, and back: it has left the buffer */
	*word = 3;
	*(u64 *)lbuf = 1;
	CHECK_EQ(app_run(&s.a, RMC_OP_FAA, 1, 64 + 8 * RMC_RNIC_WORDS, lbuf, 8), RMC_S_OK);
	CHECK_EQ(faa(&s, 1), 3);
	/* read-modify-writes act on it, too, and on half of it */
	*word = 77;
	CHECK_EQ(rmw_of(&s, RMC_RMW_ADD, 1, 64, 8), 4);
	CHECK_EQ(*word, 5);
	*word = 77;
	CHECK_EQ(rmw_of(&s, RMC_RMW_MAX, 3, 64, 8), 5);
	CHECK_EQ(*word, 77);
	CHECK_EQ(rmw_of(&s, RMC_RMW_OR, 0x10, 64, 4), 5);
	CHECK_EQ(rmw_of(&s, RMC_RMW_SWAP, 2, 68, 4), 0);
	CHECK_EQ(*word, 2ULL << 32 | 0x15);
	CHECK_EQ(faa(&s, 1), 2ULL << 32 | 0x15);
	/* half of a word that is not there, at the end of the segment */
	CHECK_EQ(rmw_of(&s, RMC_RMW_SWAP, 9, SEG - 4, 4), 0);
	CHECK_EQ(*(u32 *)(seg + SEG - 4), 9);
	/* a segment of somebody else: they stay */
	*word = 77;
	withdraw(&s, &(struct rmc_mem){ });
	CHECK_EQ(faa(&s, 1), (2ULL << 32 | 0x15) + 1);
	/* another segment: nothing of the old one's words is left */
	seg_set(&s.w, 1, CTX, NULL);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	*word = 4;
	CHECK_EQ(faa(&s, 1), 4);
	/* off: at once */
	rnic_set(&s.w, 1, &(struct rmc_rnic){ });
	*word = 5;
	CHECK_EQ(faa(&s, 1), 5);
	check_quiet(&s);
	teardown(&s);
}

/* What another CPU sees of the word at each full barrier, and stores there at the first one */
static u64 seen[4];
static u32 barriers;

static void at_barrier(void)
{
	u64 *word = (u64 *)(seg + 64);

	if (barriers < ARRAY_SIZE(seen))
		seen[barriers] = *word;
	if (!barriers++)
		*word = 70;
}

/*
 * An atomic on the buffer has a full barrier on each side, as one on memory has: it sees what was
 * stored before, and what is stored behind it is not seen before it.
 */
static void test_buffer_barriers(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .buffer_ns = 1000 };
	struct rmc_serve serve = { };
	struct rmc_rmw *rmw;
	struct rmc_in *in;
	struct setup s;
	u32 how;

	setup(&s, o);
	rnic_set(&s.w, 1, &r);
	CHECK_EQ(rmw_of(&s, RMC_RMW_ADD, 1, 0, 8), *(u64 *)seg - 1);
	in = s.w.node[1]->in[s.a.qp.node->ep];
	serve.node = s.w.node[1];
	serve.in = in;
	serve.rx = &in->req;
	serve.tx = &in->rep;
	serve.rx_pay = in->req.pay_pos;
	serve.seg = s.seg_mem;
	rmw = (struct rmc_rmw *)rmc_ring_line(&in->req, serve.rx_pay);
	/* a word, half of one that is in the buffer, and a comparison that fails */
	for (how = 0; how < 3; how++) {
		*rmw = (struct rmc_rmw){ .kind = how < 2 ? RMC_RMW_ADD : RMC_RMW_MAX, .value = 2 };
		serve.req = (struct rmc_req){ .op = RMC_OP_RMW, .offset = 64,
					      .length = how == 1 ? 4 : 8 };
		*(u64 *)(seg + 64) = 7;
		barriers = 0;
		if (how == 2)
			testbed_now_ns += 1000;
		rmc_at_barrier = at_barrier;
		CHECK_EQ(rmc_adapter_serve(&serve, 0), RMC_S_OK);
		rmc_at_barrier = NULL;
		CHECK_EQ(barriers, 2);
		CHECK_EQ(seen[0], 7);
		CHECK_EQ(serve.word1, how == 1 ? 72 : 70);
		CHECK_EQ(seen[1], how == 2 ? 70 : 72 + 2 * how);
	}
	check_quiet(&s);
	teardown(&s);
}

/* ---- queue pairs of the requester ---- */

static void test_qp_cache(const struct testbed_opts *o)
{
	struct rmc_rnic r = { .qp_cache = 2, .qp_miss_ns = 100 };
	struct rmc_links l = { };
	struct rmc_rnic_client *c;
	u32 i, j, n;

	CHECK_EQ(rmc_rnic_set_client(&l, &r, 3), 0);
	c = l.rnic_client;
	CHECK_EQ(rmc_rnic_send(c, 5, 1000), 1100);
	CHECK_EQ(rmc_rnic_send(c, 5, 1000), 1100);
	CHECK_EQ(rmc_rnic_send(c, 5, 2000), 2000);
	/* one after the other */
	CHECK_EQ(rmc_rnic_send(c, 6, 2000), 2100);
	CHECK_EQ(rmc_rnic_send(c, 7 + RMC_MAX_QPS, 2000), 2200);
	CHECK_EQ(c->misses, 3);
	/* what is of no queue pair only waits */
	CHECK_EQ(rmc_rnic_send(c, RMC_RNIC_NO_QP, 2000), 2200);
	CHECK_EQ(rmc_rnic_send(c, RMC_RNIC_NO_QP, 3000), 3000);
	CHECK_EQ(c->misses, 3);
	/* two of three fit: about a third misses, and never more are in it than fit */
	for (i = 0, n = c->misses; i < 3000; i++) {
		u32 in = 0;

		rmc_rnic_send(c, 5 + rmc_random_below(&c->rng, 3), 3000 + i * 1000);
		for (j = 0; j < RMC_MAX_QPS; j++)
			in += !!c->place[j];
		CHECK(in <= 2);
	}
	n = c->misses - n;
	CHECK(n > 800 && n < 1200);
	r.qp_cache = 0;
	CHECK_EQ(rmc_rnic_set_client(&l, &r, 3), 0);
	CHECK(!l.rnic_client);
}

/* What renews a group is of no queue pair: it takes no place from one. */
static void test_qp_cache_renewed(const struct testbed_opts *o)
{
	struct rmc_model m = { .topology = RMC_TOPOLOGY_CROSSBAR, .hop_ns = 1000 };
	struct rmc_rnic r = { .qp_cache = 1, .qp_miss_ns = 100 };
	struct rmc_fault down = { .down = true }, none = { };
	struct rmc_rnic_client *c;
	struct setup s;
	struct app a;
	u64 misses;

	setup(&s, o);
	s.w.fabric->timeout_ms = 20;
	s.w.apps = 0;
	app_init_ordered(&a, &s.w, 0, CTX, 16);
	rmc_bufs_add(&a.bufs, s.buf_mem);
	model_set(&s.w, &m);
	rnic_set(&s.w, 0, &r);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 1);
	app_post(&a, RMC_OP_FAA, 1, 0, lbuf, 8);
	CHECK_EQ(app_wait(&a), -1);
	app_fini(&a);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
	CHECK(s.w.node[0]->renewals);
	CHECK_EQ(wait_ms(&s, 1), -1);
	c = s.w.node[0]->links.rnic_client;
	misses = c->misses;
	CHECK_EQ(misses, 1);
	/* the place is that of the queue pair that is gone, and no other's */
	CHECK_EQ(c->used, 1);
	CHECK(c->place[c->number[0]]);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	CHECK(!s.w.node[0]->renewals);
	m.topology = RMC_TOPOLOGY_NONE;
	model_set(&s.w, &m);
	testbed_settle(&s.w);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	check_quiet(&s);
	teardown(&s);
}

static void test_limits(const struct testbed_opts *o)
{
	struct rmc_rnic most = {
		.any_lines = 1, .gap_ns = RMC_RNIC_NS_MAX, .msg_ps = RMC_RNIC_NS_MAX, .mbps = ~0U,
		.cas_ns = RMC_RNIC_NS_MAX, .faa_ns = RMC_RNIC_NS_MAX, .buffer_ns = RMC_RNIC_NS_MAX,
		.qp_cache = RMC_MAX_QPS, .qp_miss_ns = RMC_RNIC_NS_MAX,
	}, r;

	CHECK_EQ(rmc_rnic_check(&most, RMC_RNIC_MTU_MAX), 0);
	CHECK_EQ(rmc_rnic_check(&most, RMC_RNIC_MTU_MAX + 64), -EMSGSIZE);
	r = most;
	r.any_lines = 0;
	CHECK_EQ(rmc_rnic_check(&r, RMC_MTU_MAX), 0);
#define OVER(name) r = most; r.name++; CHECK_EQ(rmc_rnic_check(&r, 64), -ERANGE)
	OVER(any_lines);
	OVER(gap_ns);
	OVER(msg_ps);
	OVER(cas_ns);
	OVER(faa_ns);
	OVER(buffer_ns);
	OVER(qp_cache);
	OVER(qp_miss_ns);
#undef OVER
}

static const struct testbed_opts opts[] = {
	{ .nodes = 2, .ni = "fused", .mtu = 64 },
	{ .nodes = 2, .ni = "pair", .mtu = 512 },
	{ .nodes = 2, .ni = "split", .units = 2, .rrpps = 1, .mtu = 64 },
};

static const struct matrix_test tests[] = {
	{ "adapter: messages and the port take time", test_messages },
	{ "adapter: the port and announcements", test_announced },
	{ "adapter: the lock table", test_locks },
	{ "adapter: the lock table and ordered queue pairs", test_locks_in_order },
	{ "adapter: what it holds when it is changed", test_locks_flushed },
	{ "adapter: atomics that do not see writes", test_buffer },
	{ "adapter: barriers of these atomics", test_buffer_barriers },
	{ "adapter: queue pairs that fit it", test_qp_cache },
	{ "adapter: a group that is renewed is no queue pair", test_qp_cache_renewed },
	{ "adapter: numbers that are refused", test_limits },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
