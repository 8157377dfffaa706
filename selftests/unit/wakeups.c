// SPDX-License-Identifier: GPL-2.0
/*
 * Wake-ups that must not be lost: each place where a worker announces something, executes a full
 * barrier and polls again, and each place that rings a doorbell. At the barrier (rmc_at_barrier
 * of the shim) the test acts as another CPU could.
 */
#include "setup.h"
#include "kmod/core/pipeline.h"

void (*rmc_at_barrier)(void);

static struct setup *sim;		/* for functions that are called at a barrier */
static u32 barriers;

static void setup(struct setup *s, const struct testbed_opts *o)
{
	setup_make(s, o, 128);
	sim = s;
	barriers = 0;
	rmc_at_barrier = NULL;
}

static u64 *req_doorbell(struct setup *s, u32 at, u32 from)
{
	return rmc_doorbell_word(s->w.fabric, at, RMC_LANE_REQ, from);
}

static struct testbed_worker *worker_of(struct rmc_ni_worker *w)
{
	return (struct testbed_worker *)w;
}

/* Publish a descriptor before the bit is cleared: no doorbell is rung */
static void publish_unrung(void)
{
	struct rmc_out *out = sim->w.node[0]->out[1];

	if (barriers++)
		return;
	CHECK(!(*req_doorbell(sim, 1, 0) & 1));
	rmc_ring_put(&out->req, rmc_req_word0(RMC_OP_READ, CTX, 77, 7), rmc_req_word1(0, 64, true));
}

/* A silent source: its bit is cleared, and its ring polled once more. */
static void test_settle(const struct testbed_opts *o)
{
	struct rmc_node *server;
	struct setup s;

	setup(&s, o);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	testbed_settle(&s.w);
	server = s.w.node[1];
	CHECK(*req_doorbell(&s, 1, 0) & 1);
	CHECK(!rmc_doorbell_clear(server, RMC_LANE_REQ, 0, &server->in[0]->req));
	CHECK(!(*req_doorbell(&s, 1, 0) & 1));
	*req_doorbell(&s, 1, 0) |= 1;
	rmc_at_barrier = publish_unrung;
	CHECK(rmc_doorbell_clear(server, RMC_LANE_REQ, 0, &server->in[0]->req));
	rmc_at_barrier = NULL;
	CHECK_EQ(barriers, 1);
	CHECK(*req_doorbell(&s, 1, 0) & 1);
	/* without a ring the bit is just cleared */
	CHECK(!rmc_doorbell_clear(server, RMC_LANE_REQ, 0, NULL));
	CHECK(!(*req_doorbell(&s, 1, 0) & 1));
	setup_free(&s);
}

static void consumer_clears(void)
{
	barriers++;
	*req_doorbell(sim, 1, 0) &= ~1ULL;
}

static void consumer_parks(void)
{
	barriers++;
	WRITE_ONCE(sim->w.node[1]->srv_worker->parked, 1);
}

/* Publish, then check the bit; set pend, then check whether the worker sleeps. */
static void test_ring(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u32 i;

	setup(&s, o);
	w = s.w.node[1]->srv_worker;
	*req_doorbell(&s, 1, 0) |= 1;
	w->pend[RMC_LANE_REQ][0] = 0;
	rmc_doorbell_ring(s.w.fabric, 1, RMC_LANE_REQ, 0, false);
	CHECK_EQ(w->pend[RMC_LANE_REQ][0], 0);
	rmc_at_barrier = consumer_clears;
	rmc_doorbell_ring(s.w.fabric, 1, RMC_LANE_REQ, 0, false);
	rmc_at_barrier = NULL;
	CHECK(barriers > 0);
	if (!w->remote)
		CHECK(w->pend[RMC_LANE_REQ][0] >> s.w.node[1]->index[RMC_LANE_REQ] & 1);
	/* of the bit alone, too: the worker parks at the barrier */
	worker_of(w)->kick = 0;
	rmc_at_barrier = consumer_parks;
	rmc_ni_notify(s.w.node[1], RMC_LANE_REQ);
	rmc_at_barrier = NULL;
	CHECK_EQ(worker_of(w)->kick, 1);
	worker_of(w)->kick = 0;
	w->parked = 0;
	rmc_ni_notify(s.w.node[1], RMC_LANE_REQ);
	CHECK_EQ(worker_of(w)->kick, 0);
	/* each lane has its own worker */
	for (i = 0; i < s.w.workers; i++)
		s.w.worker[i].kick = 0;
	w = s.w.node[1]->req_worker;
	w->parked = 1;
	rmc_ni_notify(s.w.node[1], RMC_LANE_REP);
	CHECK_EQ(worker_of(w)->kick, 1);
	w->parked = 0;
	setup_free(&s);
}

static void doorbell_at_clearing(void)
{
	struct rmc_ni_worker *w = sim->w.node[1]->srv_worker;

	if (w->pend[RMC_LANE_REQ][0] >> sim->w.node[1]->index[RMC_LANE_REQ] & 1)
		return;
	barriers++;
	*req_doorbell(sim, 1, 0) |= 1;
}

/* Silent units leave pend; their doorbells are polled once more. */
static void test_pend(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u64 bit;

	setup(&s, o);
	w = s.w.node[1]->srv_worker;
	if (w->remote) {
		setup_free(&s);
		return;
	}
	bit = 1ULL << s.w.node[1]->index[RMC_LANE_REQ];
	*req_doorbell(&s, 1, 0) = 0;
	w->pend[RMC_LANE_REQ][0] |= bit;
	w->visits = 1023;
	rmc_ni_visit(w);
	CHECK(!(w->pend[RMC_LANE_REQ][0] & bit));
	w->pend[RMC_LANE_REQ][0] |= bit;
	w->visits = 1023;
	rmc_at_barrier = doorbell_at_clearing;
	rmc_ni_visit(w);
	rmc_at_barrier = NULL;
	CHECK(barriers > 0);
	CHECK(w->pend[RMC_LANE_REQ][0] & bit);
	/* one with a doorbell stays */
	w->visits = 1023;
	rmc_ni_visit(w);
	CHECK(w->pend[RMC_LANE_REQ][0] & bit);
	setup_free(&s);
}

enum news { ENTRY, PEND, DOORBELL };

static enum news news;

/* Between the announcement and the last poll */
static void news_at_parking(void)
{
	struct rmc_ni_worker *w = rmc_qp_worker(&sim->a.qp);

	if (barriers++)
		return;
	CHECK(w->parked);
	CHECK_EQ(sim->a.flags->need_wakeup, 1);
	if (w->nodes[RMC_LANE_REP] && news != ENTRY)
		CHECK(sim->w.table[0].parked[RMC_LANE_REP][0]);
	switch (news) {
	case ENTRY:
		app_post(&sim->a, RMC_OP_READ, 1, 0, lbuf, 64);
		break;
	case PEND:
		w->pend[RMC_LANE_REP][0] |= 1;
		break;
	case DOORBELL:
		*rmc_doorbell_word(sim->w.fabric, 0, RMC_LANE_REP, 1) |= 2;
	}
}

static void test_park(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u32 i;

	setup(&s, o);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	w = rmc_qp_worker(&s.a.qp);
	for (news = ENTRY; news <= DOORBELL; news++) {
		for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
			testbed_visit(&s.w);
		CHECK(rmc_ni_may_park(w));
		if (news == (w->remote ? PEND : DOORBELL))
			continue;
		barriers = 0;
		rmc_at_barrier = news_at_parking;
		CHECK(!rmc_ni_park(w));
		rmc_at_barrier = NULL;
		CHECK(barriers > 0);
		CHECK(!w->parked);
		CHECK_EQ(s.a.flags->need_wakeup, 0);
		CHECK_EQ(s.w.table[0].parked[RMC_LANE_REP][0], 0);
		if (news == ENTRY)
			CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		w->pend[RMC_LANE_REP][0] &= ~1ULL;
		*rmc_doorbell_word(s.w.fabric, 0, RMC_LANE_REP, 1) &= ~2ULL;
	}
	CHECK_EQ(w->parks, 0);
	CHECK(rmc_ni_park(w));
	CHECK_EQ(w->parks, 1);
	rmc_ni_unpark(w);
	CHECK_EQ(w->wakeups, 1);
	CHECK(!w->parked);
	setup_free(&s);
}

/* What keeps a worker awake: a hot QP, an entry, operations in flight, held packets, a join */
static void test_awake(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w, *srv;
	struct setup s;
	u32 i;

	setup(&s, o);
	w = rmc_qp_worker(&s.a.qp);
	srv = s.w.node[1]->srv_worker;
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	CHECK(rmc_ni_may_park(w));
	w->hots++;
	CHECK(!rmc_ni_may_park(w));
	w->hots--;
	s.a.qp.node->itt.used++;
	CHECK(!rmc_ni_may_park(w));
	s.a.qp.node->itt.used--;
	s.w.node[1]->att.live++;
	CHECK(!rmc_ni_may_park(srv));
	s.w.node[1]->att.live--;
	s.w.node[1]->up = false;
	CHECK(!rmc_ni_may_park(srv));
	s.w.node[1]->left = true;
	CHECK(rmc_ni_may_park(srv));
	s.w.node[1]->left = false;
	s.w.node[1]->fenced = true;
	CHECK(rmc_ni_may_park(srv));
	*rmc_doorbell_word(s.w.fabric, 1, RMC_LANE_REQ, 0) |= 1;
	if (srv->remote)
		CHECK(rmc_ni_may_park(srv));
	s.w.node[1]->fenced = false;
	s.w.node[1]->up = true;
	if (srv->remote)
		CHECK(!rmc_ni_may_park(srv));
	*rmc_doorbell_word(s.w.fabric, 1, RMC_LANE_REQ, 0) = 0;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK(!rmc_ni_may_park(w));
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* ---- transfers ---- */

static struct rmc_ring peer_req, peer_rep;

/* Node 2 requests; the test writes its requests. */
static void peer_init(struct setup *s)
{
	struct rmc_fabric *f = &s->w.fabric[0];
	u8 *mem = f->ops->channel(f, 2, 1);

	rmc_ring_init(&peer_req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&peer_rep, mem + rmc_ring_bytes(f->ring_order, f->pay_order), f->ring_order,
		      f->pay_order);
	rmc_ring_begin(&peer_req, s->w.node[2]->epoch, s->w.node[1]->epoch);
	rmc_ring_begin(&peer_rep, s->w.node[2]->epoch, s->w.node[1]->epoch);
}

static void peer_send(struct setup *s, u16 tid, u64 word1)
{
	rmc_ring_put(&peer_req, rmc_req_word0(RMC_OP_SABRE, CTX, 9, tid), word1);
	rmc_doorbell_ring(&s->w.fabric[0], 1, RMC_LANE_REQ, 2, false);
}

static int peer_reply(u16 tid)
{
	struct rmc_desc d;
	struct rmc_rep r;

	if (!rmc_ring_peek(&peer_rep, 0, &d))
		return -1;
	peer_rep.pos++;
	rmc_rep_parse(&r, &d);
	CHECK_EQ(r.tid, tid);
	return r.status;
}

/* A waiting transfer gets its entry at a tick, when no doorbell is set. */
static void test_granted_at_a_tick(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	u32 i, slot, status;

	k.nodes = 3;
	k.att_entries = 1;
	k.mtu = 64;
	setup(&s, &k);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	testbed_tick(&s.w, 1);
	peer_init(&s);
	peer_send(&s, 1, rmc_announce_word1(0, 200 * 64));
	testbed_settle(&s.w);
	CHECK_EQ(testbed_transfers(&s.w, 1), 1);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 150 * 64);
	/* until its source falls silent, too */
	for (i = 0; i < 3 * RMC_IDLE_POLLS + 2048; i++)
		testbed_visit(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	CHECK_EQ(s.w.node[1]->srv_worker->pend[RMC_LANE_REQ][0], 0);
	CHECK_EQ(*req_doorbell(&s, 1, 0), 0);
	for (i = 0; i < RMC_ATT_STALL_MS + 4; i++)
		testbed_tick(&s.w, 1);
	CHECK_EQ(peer_reply(1), RMC_S_SABRE_LOST);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/*
 * The same where the other transfer ends with its segment, or with its channel, and nothing
 * is polled by itself.
 */
static void test_granted_when_others_go(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 i, slot, status, channel;
	struct rmc_mem *other;
	struct rmc_node *unit;
	struct setup s;
	struct app b;

	k.nodes = 3;
	k.att_entries = 1;
	k.mtu = 64;
	for (channel = 0; channel < 2; channel++) {
		setup(&s, &k);
		unit = s.w.node[1]->unit[0];
		memset(seg, 0, SEG);
		mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
		other = mem_make(seg + SEG / 2, SEG / 2, 12, 0);
		mem_objects(other, RMC_SABRE_OVERLAPPED, 0);
		seg_set(&s.w, 1, CTX + 1, other);
		app_init(&b, &s.w, 0, CTX + 1, 16);
		rmc_bufs_add(&b.bufs, s.buf_mem);
		testbed_tick(&s.w, 1);
		peer_init(&s);
		peer_send(&s, 1, rmc_announce_word1(0, 200 * 64));
		testbed_settle(&s.w);
		CHECK_EQ(testbed_transfers(&s.w, 1), 1);
		app_post(&b, RMC_OP_SABRE, 1, 0, lbuf, 150 * 64);
		for (i = 0; i < 3 * RMC_IDLE_POLLS + 2048; i++)
			testbed_visit(&s.w);
		CHECK(!app_poll(&b, &slot, &status));
		if (channel)
			rmc_in_close(unit, s.w.node[2]->ep);
		else
			seg_set(&s.w, 1, CTX, NULL);
		CHECK_EQ(app_wait(&b), RMC_S_OK);
		seg_set(&s.w, 1, CTX + 1, NULL);
		app_fini(&b);
		mem_free(other);
		setup_free(&s);
	}
}

/* A pause of the server ends no transfer; a stall does, and not too early. */
static void test_pause(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	u32 i;

	k.nodes = 3;
	k.mtu = 64;
	setup(&s, &k);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	peer_init(&s);
	peer_send(&s, 1, rmc_announce_word1(0, 20 * 64));
	testbed_settle(&s.w);
	for (i = 0; i < 5; i++)
		testbed_tick(&s.w, 10000);
	CHECK_EQ(testbed_transfers(&s.w, 1), 1);
	peer_send(&s, 1, rmc_req_word1(0, 64, false));
	testbed_settle(&s.w);
	CHECK_EQ(peer_reply(1), RMC_S_OK);
	for (i = 0; i < RMC_ATT_STALL_MS; i++)
		testbed_tick(&s.w, 1);
	CHECK_EQ(testbed_transfers(&s.w, 1), 1);
	for (i = 0; i < 3; i++)
		testbed_tick(&s.w, 1);
	CHECK_EQ(testbed_transfers(&s.w, 1), 0);
	CHECK_EQ(peer_reply(1), RMC_S_SABRE_LOST);
	setup_free(&s);
}

/* Announcements and data of two transfers alternate: each reply belongs to the right one. */
static void test_interleaved(const struct testbed_opts *o)
{
	u32 i, n[2] = { 0 };
	struct testbed_opts k = *o;
	struct rmc_desc d;
	struct setup s;

	k.nodes = 3;
	k.mtu = 64;
	setup(&s, &k);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	peer_init(&s);
	peer_send(&s, 1, rmc_announce_word1(0, 3 * 64));
	peer_send(&s, 2, rmc_announce_word1(4096, 4 * 64));
	for (i = 0; i < 4; i++) {
		peer_send(&s, 2, rmc_req_word1(4096 + i * 64, 64, i == 3));
		if (i < 3)
			peer_send(&s, 1, rmc_req_word1(i * 64, 64, i == 2));
	}
	testbed_settle(&s.w);
	for (; rmc_ring_peek(&peer_rep, 0, &d); peer_rep.pos++) {
		u32 tid = (u16)d.word0, which = tid - 1;

		CHECK(tid == 1 || tid == 2);
		CHECK_EQ(d.word0 >> 40 & 0xff, RMC_S_OK);
		if (n[which] < 3 + which)
			CHECK_EQ(rmc_word1_offset(d.word1), which * 4096 + n[which] * 64);
		else
			CHECK(rmc_word1_announces(d.word1));
		n[which]++;
	}
	CHECK_EQ(n[0], 4);
	CHECK_EQ(n[1], 5);
	CHECK_EQ(testbed_transfers(&s.w, 1), 0);
	setup_free(&s);
}

/* More transfers than a channel may have, if the channel has credits for more. */
static void test_many_transfers(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_out *out;
	struct setup s;
	u32 i;

	k.nodes = 3;
	k.att_entries = 1;
	k.mtu = 64;
	k.itt = 256;
	k.ring_order = 10;
	k.pay_order = 10;
	setup(&s, &k);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	peer_init(&s);
	peer_send(&s, 1, rmc_announce_word1(0, 20 * 64));
	testbed_settle(&s.w);
	for (i = 0; i < 100; i++)
		app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 5 * 64);
	for (i = 0; i < 400; i++)
		testbed_visit(&s.w);
	out = s.w.node[0]->out[1];
	if (out && !out->self) {
		CHECK_EQ(out->xfers, RMC_XFERS);
		CHECK_EQ(testbed_transfers(&s.w, 1), RMC_XFERS + 1);
	}
	for (i = 0; i < RMC_ATT_STALL_MS + 4; i++)
		testbed_tick(&s.w, 1);
	for (i = 0; i < 100; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a bit is cleared, and the ring polled again", test_settle, .one_kernel = true },
		{ "who rings checks behind a barrier", test_ring, .one_kernel = true },
		{ "pend is cleared, and the doorbells polled again", test_pend, .one_kernel = true },
		{ "who parks checks behind a barrier", test_park, .one_kernel = true },
		{ "what keeps a worker awake", test_awake, .one_kernel = true },
		{ "a transfer that is granted at a tick", test_granted_at_a_tick, .one_kernel = true },
		{ "a transfer that is granted as others go", test_granted_when_others_go, .one_kernel = true },
		{ "a pause ends nobody's transfer", test_pause, .one_kernel = true },
		{ "interleaved transfers", test_interleaved, .one_kernel = true },
		{ "more transfers than a channel has", test_many_transfers, .one_kernel = true },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 3, .ni = "pair", .mtu = 512 },
		{ .nodes = 3, .ni = "fused", .mtu = 64 },
		{ .nodes = 3, .ni = "pair", .mtu = 64, .kernels = true },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
