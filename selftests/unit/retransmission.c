// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that are retransmitted, that end before their replies arrive, or whose replies are
 * duplicated, with a stub server. Each reply counts once, for its packet and its try; an
 * operation that ends does not affect others; and all credits and entries are freed.
 */
#include "server.h"

#define MS	1000000ULL

/* Duplicates almost never, so that operations are tracked, see struct rmc_track */
static const struct rmc_fault rare = { .dup = 1 };

/* Filters are active, time-outs are short, with this many retries. */
static void setup_retries(struct setup *s, const struct testbed_opts *o, u32 retries)
{
	setup(s, o);
	rmc_filters = 1;
	fabric(s)->timeout_ms = 100;
	fabric(s)->retries = retries;
}

/* The same with four requests in flight at most */
static void setup_small(struct setup *s, const struct testbed_opts *o, u32 retries)
{
	struct testbed_opts small = *o;

	small.ring_order = 2;
	small.pay_order = o->mtu > 512 ? 9 : 6;
	setup_retries(s, &small, retries);
}

/* Reply to a request that was lost on its way */
static void lose(struct server *v, const struct rmc_desc *d)
{
	put(v, rmc_rep_echo(d->word0, RMC_S_TIMEOUT) | RMC_REP_LOST, d->word1);
}

/* Nothing is in flight, held, quarantined or restarted, on any unit of node 0. */
static void check_home(struct setup *s)
{
	u32 slot, status, quarantined, i;

	visit_workers(s);
	CHECK(!app_poll(&s->a, &slot, &status));
	CHECK_EQ(testbed_in_flight(&s->w, 0), 0);
	CHECK(testbed_credits_home(&s->w, 0, 1));
	CHECK_EQ(itt_free(s, &quarantined), s->w.node[0]->itt.size);
	CHECK_EQ(quarantined, 0);
	for (i = 0; i < s->w.opts.units; i++)
		CHECK_EQ(s->w.node[0]->unit[i]->itt.restarts, 0);
	CHECK(setup_guards_intact());
}

static void teardown(struct setup *s)
{
	rmc_filters = 0;
	setup_free(s);
}

static bool arrived(const u8 *p, u32 n)
{
	while (n && *p == DATA) {
		p++;
		n--;
	}
	return !n;
}

/* With tracking, either packet was lost: all packets of the next try count. */
static void test_next_try(const struct testbed_opts *o)
{
	struct rmc_desc d[2];
	struct server v;
	struct setup s;
	u32 lost;

	for (lost = 0; lost < 2; lost++) {
		setup_retries(&s, o, 1);
		fault_set(&s.w, 1, 0, RMC_LANE_REP, &rare, 1);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
		visit_workers(&s);
		serve_as(&v, &s, 1);
		d[0] = take(&v);
		d[1] = take(&v);
		lose(&v, &d[lost]);
		answer_well(&v, &d[!lost]);
		visit_workers(&s);
		time_out(&s);
		CHECK_EQ(testbed_stat(&s.w, 0, restarts), 1);
		d[0] = take(&v);
		d[1] = take(&v);
		answer_well(&v, &d[0]);
		CHECK_EQ(status_of(&s), -1);
		answer_well(&v, &d[1]);
		CHECK_EQ(status_of(&s), RMC_S_OK);
		CHECK(arrived(lbuf, 2 * o->mtu));
		CHECK_EQ(testbed_stat(&s.w, 0, doubled_replies), 0);
		check_home(&s);
		teardown(&s);
	}
}

/*
 * A reply to the first try arrives when the second try's requests were sent. If it counted for
 * the second try, the write could complete with a packet still in flight.
 */
static void test_reply_to_first_try(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS, .gap_ns = 1000 * MS };
	struct rmc_desc d[2];
	struct server v;
	struct setup s;

	setup_retries(&s, o, 1);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &dup, 1);
	app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d[0] = take(&v);
	d[1] = take(&v);
	answer_well(&v, &d[0]);
	lose(&v, &d[1]);
	visit_workers(&s);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &rare, 0);
	time_out(&s);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 1);
	d[0] = take(&v);
	d[1] = take(&v);
	/* the first reply's copy */
	testbed_now_ns += 1000 * MS;
	CHECK_EQ(status_of(&s), -1);
	CHECK_EQ(testbed_stat(&s.w, 0, stale_replies), 1);
	answer_well(&v, &d[1]);
	CHECK_EQ(status_of(&s), -1);
	answer_well(&v, &d[0]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	check_home(&s);
	teardown(&s);
}

/* An operation that failed is not retransmitted: no more requests, and it ends in time. */
static void test_not_after_an_error(const struct testbed_opts *o)
{
	struct rmc_desc d[2];
	struct server v;
	struct setup s;

	setup_retries(&s, o, 10);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d[0] = take(&v);
	d[1] = take(&v);
	answer(&v, &d[0], 0, o->mtu, RMC_S_OUT_OF_RANGE);
	lose(&v, &d[1]);
	visit_workers(&s);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	CHECK_EQ(take_all(&v), 0);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 0);
	check_home(&s);
	teardown(&s);
}

/* This many requests are in the ring; all are lost. */
static void lose_all(struct server *v, u32 n)
{
	struct rmc_desc d;

	while (n--) {
		d = take(v);
		lose(v, &d);
	}
	CHECK_EQ(take_all(v), 0);
}

/* A retransmission is restarted before all of it was sent. */
static void test_before_all_was_sent(const struct testbed_opts *o)
{
	struct rmc_desc d[4], other[4];
	u32 slot, status, i, k;
	struct server v;
	struct setup s;
	struct app b;

	setup_small(&s, o, 3);
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	lose_all(&v, 4);
	visit_workers(&s);
	lose_all(&v, 4);
	visit_workers(&s);
	time_out(&s);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 1);
	lose_all(&v, 4);
	/* then another operation has all credits until its own time-out */
	rmc_rcp_poll(s.w.node[0]);
	app_post(&b, RMC_OP_READ, 1, 0, lbuf + 32768, 4 * o->mtu);
	visit_workers(&s);
	for (i = 0; i < 4; i++)
		other[i] = take(&v);
	time_out(&s);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 2);
	visit_workers(&s);
	CHECK(app_poll(&b, &slot, &status));
	CHECK_EQ(status, RMC_S_TIMEOUT);
	for (i = 0; i < 4; i++)
		answer_well(&v, &other[i]);
	for (k = 0; k < 2; k++) {
		visit_workers(&s);
		testbed_tick(&s.w, 1);
		for (i = 0; i < 4; i++)
			d[i] = take(&v);
		CHECK_EQ(take_all(&v), 0);
		CHECK_EQ(status_of(&s), -1);
		for (i = 0; i < 4; i++)
			answer_well(&v, &d[i]);
	}
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 8 * o->mtu));
	CHECK(untouched(lbuf + 32768, 4 * o->mtu));
	check_home(&s);
	app_fini(&b);
	teardown(&s);
}

/*
 * A write with a notification, to a node with two RRPPs, is retransmitted while it is being
 * unrolled; its notification must wait for a credit.
 */
static void test_while_unrolled(const struct testbed_opts *o)
{
	struct testbed_opts many = { .ni = "edge", .units = 2, .interleave = 512, .mtu = 64,
				   .ring_order = 2, .links = o->links };
	u32 slot, status, i;
	struct rmc_desc d[4];
	struct server v;
	struct setup s;
	struct app b;

	setup_retries(&s, &many, 1);
	/* both on unit 0 */
	s.w.apps = 0;
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(rmc_home(fabric(&s), 1, 0), rmc_endpoint(fabric(&s), 1));
	app_post(&s.a, RMC_OP_WRITE_NOTIFY, 1, 0, lbuf, 5 * 64);
	visit_workers(&s);
	serve_at(&v, &s, rmc_endpoint(fabric(&s), 1));
	lose_all(&v, 4);
	/* its RGP is not polled until the time-out */
	rmc_rcp_poll(s.w.node[0]);
	time_out(&s);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 1);
	visit_workers(&s);
	for (i = 0; i < 4; i++)
		d[i] = take(&v);
	CHECK_EQ(take_all(&v), 0);
	for (i = 0; i < 4; i++)
		answer_well(&v, &d[i]);
	visit_workers(&s);
	d[0] = take(&v);
	app_post(&b, RMC_OP_READ, 1, 0, lbuf + 4096, 3 * 64);
	visit_workers(&s);
	answer_well(&v, &d[0]);
	CHECK_EQ(status_of(&s), -1);
	for (i = 0; i < 3; i++) {
		d[i] = take(&v);
		CHECK_EQ((u8)(d[i].word0 >> 48), RMC_OP_READ);
	}
	CHECK_EQ(take_all(&v), 0);
	testbed_tick(&s.w, 1);
	d[3] = take(&v);
	CHECK_EQ((u8)(d[3].word0 >> 48), RMC_OP_NOTIFY);
	CHECK_EQ(take_all(&v), 0);
	for (i = 0; i < 4; i++)
		answer_well(&v, &d[i]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(app_poll(&b, &slot, &status));
	CHECK_EQ(status, RMC_S_OK);
	testbed_tick(&s.w, 1);
	check_home(&s);
	app_fini(&b);
	teardown(&s);
}

/* Replies are duplicated after an operation was sent: a copy counts for no other packet. */
static void test_duplicated_from_now_on(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	struct rmc_desc d[2];
	struct server v;
	struct setup s;

	setup_retries(&s, o, 0);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &dup, 1);
	d[0] = take(&v);
	d[1] = take(&v);
	answer_well(&v, &d[0]);
	CHECK_EQ(status_of(&s), -1);
	CHECK_EQ(testbed_stat(&s.w, 0, doubled_replies), 1);
	CHECK(untouched(lbuf + o->mtu, o->mtu));
	answer_well(&v, &d[1]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 2 * o->mtu));
	check_home(&s);
	teardown(&s);
}

/* Two replies that form a run are duplicated: the tid is quarantined until both copies arrive. */
static void test_copies_of_a_run(const struct testbed_opts *o)
{
	struct rmc_fault first = { .dup = RMC_ALWAYS, .delay_ns = 3 * MS, .gap_ns = 10 * MS };
	struct rmc_fault second = { .dup = RMC_ALWAYS, .delay_ns = 2 * MS, .gap_ns = 20 * MS };
	struct rmc_desc d[2];
	struct server v;
	struct setup s;
	u32 quarantined;

	setup_retries(&s, o, 0);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d[0] = take(&v);
	d[1] = take(&v);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &first, 1);
	answer_well(&v, &d[0]);
	visit_workers(&s);
	testbed_now_ns += MS;
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &second, 1);
	answer_well(&v, &d[1]);
	CHECK_EQ(status_of(&s), -1);
	testbed_now_ns += 2 * MS;
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 2 * o->mtu));
	testbed_now_ns += 10 * MS;
	visit_workers(&s);
	itt_free(&s, &quarantined);
	CHECK_EQ(quarantined, 1);
	testbed_now_ns += 10 * MS;
	check_home(&s);
	teardown(&s);
}

/* An announcement's reply overtakes those with data, and is duplicated. */
static void test_duplicate_announcement(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	struct rmc_desc d[4];
	struct server v;
	struct setup s;
	u32 i;

	setup_retries(&s, o, 0);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &rare, 1);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 3 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	for (i = 0; i < 4; i++)
		d[i] = take(&v);
	CHECK(rmc_word1_announces(d[0].word1));
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &dup, 1);
	answer_well(&v, &d[0]);
	visit_workers(&s);
	CHECK_EQ(testbed_stat(&s.w, 0, doubled_replies), 1);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &rare, 1);
	for (i = 1; i < 4; i++) {
		CHECK_EQ(status_of(&s), -1);
		answer_well(&v, &d[i]);
	}
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 3 * o->mtu));
	check_home(&s);
	teardown(&s);
}

/* A run of more bytes than a packet's length field can hold: all of them arrive. */
static void test_long_run(const struct testbed_opts *o)
{
	struct testbed_opts long_rings = *o;
	struct rmc_desc d[16];
	struct server v;
	struct setup s;
	u32 i;

	long_rings.mtu = SEG / 16;
	long_rings.pay_order = 11;
	setup(&s, &long_rings);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	for (i = 0; i < 16; i++)
		d[i] = take(&v);
	for (i = 0; i < 16; i++)
		answer_well(&v, &d[i]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, SEG));
	check_home(&s);
	teardown(&s);
}

/* The end of a buffer, a node or a queue pair does not affect others' operations. */
static void test_others_go_on(const struct testbed_opts *o)
{
	struct rmc_abort gone = { .nid = -1, .status = RMC_S_ABORTED };
	u8 *buf = aligned_alloc(PAGE, PAGE);
	struct rmc_mem *mem;
	struct rmc_desc d[4];
	u32 slot, status, i;
	struct server v, x;
	struct setup s;
	struct app b;

	setup(&s, o);
	memset(buf, 0x11, PAGE);
	mem = mem_make(buf, PAGE, 12, 0);
	rmc_bufs_add(&s.a.bufs, mem);
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	app_post(&s.a, RMC_OP_READ, 1, 0, buf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf + 64, 64);
	visit_workers(&s);
	app_post(&b, RMC_OP_READ, 1, 0, lbuf + 128, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	serve_as(&x, &s, 2);
	for (i = 0; i < 3; i++)
		d[i] = take(&v);
	d[3] = take(&x);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 4);

	gone.lbuf = mem;
	CHECK_EQ(rmc_bufs_del(&s.a.bufs, mem), 0);
	CHECK_EQ(rmc_itt_abort(s.w.node[0], &gone), 1);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(slot, 0);
	CHECK_EQ(status, RMC_S_ABORTED);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 3);

	rmc_node_leave(s.w.node[2]);
	testbed_tick(&s.w, 2);
	visit_workers(&s);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(slot, 2);
	CHECK_EQ(status, RMC_S_NODE_DOWN);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 2);

	/* no completion is posted for an operation that did not complete */
	rmc_ni_del_qp(rmc_qp_worker(&b.qp), &b.qp);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	CHECK(!app_poll(&b, &slot, &status));
	app_lost(&b);

	for (i = 0; i < 3; i++)
		answer_well(&v, &d[i]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 64));
	CHECK(untouched(lbuf + 64, SEG - 64));
	CHECK(untouched(buf, PAGE));
	check_home(&s);
	teardown(&s);
	mem_free(mem);
	free(buf);
}

/* One operation ends while it is being unrolled; another stays the announced one. */
static void test_announced_once(const struct testbed_opts *o)
{
	u32 announced = 0, i;
	struct rmc_desc d, announcement = { 0 };
	struct server v;
	struct setup s;
	struct app b;

	setup_small(&s, o, 0);
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	app_post(&s.a, RMC_OP_SABRE, 1, 0, lbuf, 8 * o->mtu);
	visit_workers(&s);
	/* this one may use the last quarter of the channel, and wants more */
	app_post(&b, RMC_OP_READ, 1, 0, lbuf + 32768, 4 * o->mtu);
	visit_workers(&s);
	CHECK(b.qp.cur_tid != RMC_TID_NONE);
	app_fini(&b);
	serve_as(&v, &s, 1);
	for (i = 0; i < 20; i++) {
		while (take_any(&v, &d)) {
			if (rmc_op_announces(rmc_op_flags(d.word0 >> 48), d.word1)) {
				announcement = d;
				announced++;
			} else {
				answer_well(&v, &d);
			}
		}
		CHECK_EQ(status_of(&s), -1);
	}
	CHECK_EQ(announced, 1);
	answer_well(&v, &announcement);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(arrived(lbuf, 8 * o->mtu));
	check_home(&s);
	teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "all of the next try counts", test_next_try },
		{ "a reply to the first try", test_reply_to_first_try },
		{ "what has failed is not retransmitted", test_not_after_an_error },
		{ "retransmitted before all was sent", test_before_all_was_sent },
		{ "retransmitted while it is unrolled", test_while_unrolled },
		{ "replies duplicated while it is in flight", test_duplicated_from_now_on },
		{ "copies of two replies that are one run", test_copies_of_a_run },
		{ "an announcement's reply comes early and is duplicated", test_duplicate_announcement },
		{ "more replies in a row than a length can say", test_long_run },
		{ "who is withdrawn leaves others alone", test_others_go_on },
		{ "announced once, whoever else ends", test_announced_once },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 3, .ni = "fused", .mtu = 64 },
		{ .nodes = 3, .ni = "pair", .mtu = 4096 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
