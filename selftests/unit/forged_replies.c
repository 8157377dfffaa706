// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile server: it knows tid and generation of operations in flight, and sends replies
 * to requests that were not sent. The test is node 1 (and 2) on the shared rings:
 *
 *	application --> RGP, RCP of node 0 <== rings ==> the test
 *
 * Only the operation that it answers may be affected, and only bytes that were requested.
 */
#include "server.h"

/*
 * A read of eight packets of which four could be sent. One reply is for something that was not
 * requested; the others are correct.
 */
static void one_is_wrong(const struct testbed_opts *o, long long at, u32 len)
{
	struct testbed_opts small = *o;
	struct rmc_desc d[4], more;
	u32 mtu, base = 8192, i;
	struct server v;
	struct setup s;

	small.ring_order = 2;
	small.pay_order = o->mtu > 512 ? 9 : 6;
	setup(&s, &small);
	mtu = fabric(&s)->mtu;
	app_post(&s.a, RMC_OP_READ, 1, base, lbuf + 4096, 8 * mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	for (i = 0; i < 4; i++)
		d[i] = take(&v);
	CHECK_EQ(take_all(&v), 0);
	answer(&v, &d[3], base + at, len, RMC_S_OK);
	/* where the next reply's payload is expected */
	v.rep.pay_pos = out_to(&s, 1)->rep.pay_pos + rmc_lines(base + at, len);
	testbed_visit(&s.w);
	check_bounds(&s);
	CHECK(untouched(lbuf, SEG));
	CHECK_EQ(s.w.node[0]->stats.bad_replies, 1);
	visit_workers(&s);
	for (i = 0; i < 3; i++)
		answer_well(&v, &d[i]);
	for (i = 0; i < 8; i++) {
		visit_workers(&s);
		while (take_any(&v, &more))
			answer_well(&v, &more);
		check_bounds(&s);
	}
	CHECK_EQ(status_of(&s), RMC_S_PROTOCOL);
	CHECK(untouched(lbuf, 4096));
	CHECK(untouched(lbuf + 4096 + 8 * mtu, SEG - 4096 - 8 * mtu));
	CHECK(setup_guards_intact());
	setup_free(&s);
}

static void test_not_asked_for(const struct testbed_opts *o)
{
	u32 mtu = o->mtu;

	/* within the operation, but not requested yet: whole packet, in part, a byte */
	one_is_wrong(o, 4 * mtu, mtu);
	one_is_wrong(o, 6 * mtu, mtu);
	one_is_wrong(o, 7 * mtu, 8);
	one_is_wrong(o, 4 * mtu - 8, 16);
	one_is_wrong(o, 4 * mtu - 8, 9);
	one_is_wrong(o, 4 * mtu + 1, 1);
	/* outside of the operation: before it, after it */
	one_is_wrong(o, -64, 64);
	one_is_wrong(o, -8, 16);
	one_is_wrong(o, -8192, 64);
	one_is_wrong(o, 8 * mtu, 64);
	one_is_wrong(o, RMC_OFFSET_MAX - 8192 - 63, 64);
}

static void test_longer_than_mtu(const struct testbed_opts *o)
{
	u32 mtu = o->mtu;

	one_is_wrong(o, 0, mtu + 1);
	one_is_wrong(o, 0, 2 * mtu);
	one_is_wrong(o, 64, mtu + 64);
	/* a line more, with the skipped bytes of the first line */
	one_is_wrong(o, 1, mtu);
	one_is_wrong(o, 63, mtu - 62);
}

/* Replies that end within a line: each has lines of its own, as has the next one. */
static void test_within_a_line(const struct testbed_opts *o)
{
	struct rmc_desc d[2];
	struct server v;
	struct setup s;
	u32 i;

	setup(&s, o);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d[0] = take(&v);
	d[1] = take(&v);
	answer(&v, &d[0], 0, 10, RMC_S_OK);
	v.data = 0xdd;
	answer(&v, &d[1], 10, 54, RMC_S_OK);
	v.data = DATA;
	CHECK_EQ(status_of(&s), RMC_S_OK);
	for (i = 0; i < 64; i++)
		CHECK_EQ(lbuf[i], i < 10 ? DATA : 0xdd);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d[0] = take(&v);
	answer_well(&v, &d[0]);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	for (i = 0; i < 64; i++)
		CHECK_EQ(lbuf[i], DATA);
	CHECK(untouched(lbuf + 64, SEG - 64));
	setup_free(&s);
}

/* Behind a valid reply, as part of its run, and with a length of its own */
static void test_in_a_run(const struct testbed_opts *o)
{
	struct testbed_opts small = *o;
	struct rmc_desc d[4], more;
	u32 mtu, i, kind;
	struct server v;
	struct setup s;

	small.ring_order = 2;
	small.pay_order = o->mtu > 512 ? 9 : 6;
	for (kind = 0; kind < 3; kind++) {
		setup(&s, &small);
		mtu = fabric(&s)->mtu;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8 * mtu);
		visit_workers(&s);
		serve_as(&v, &s, 1);
		for (i = 0; i < 4; i++)
			d[i] = take(&v);
		switch (kind) {
		case 0:		/* the third is longer than the MTU */
			answer_well(&v, &d[0]);
			answer(&v, &d[1], mtu, mtu + 64, RMC_S_OK);
			break;
		case 1:		/* ... was not requested yet */
			answer_well(&v, &d[2]);
			answer_well(&v, &d[3]);
			answer(&v, &d[1], 4 * mtu, mtu, RMC_S_OK);
			break;
		default:	/* ... is for another operation */
			answer_well(&v, &d[0]);
			put(&v, rmc_rep_echo(d[1].word0 ^ 0x10000, RMC_S_OK), d[1].word1);
		}
		testbed_visit(&s.w);
		check_bounds(&s);
		CHECK(untouched(lbuf + 4 * mtu, 4 * mtu));
		if (kind == 0)
			CHECK(untouched(lbuf + mtu, mtu));
		if (kind == 2) {
			CHECK(untouched(lbuf + mtu, mtu));
			CHECK_EQ(s.w.node[0]->stats.stale_replies, 1);
		} else {
			CHECK_EQ(s.w.node[0]->stats.bad_replies, 1);
		}
		for (i = 0; i < 8; i++) {
			visit_workers(&s);
			while (take_any(&v, &more))
				answer_well(&v, &more);
		}
		check_bounds(&s);
		setup_free(&s);
	}
}

/* A duplicate reply to a packet, with others in flight whose slots it uses */
static void test_duplicate_reply(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_desc d[8];
	struct server v;
	struct setup s;
	u32 i, slot, status;

	k.ring_order = 3;
	setup(&s, &k);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 4 * k.mtu);
	for (i = 0; i < 4; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + 40960 + i * 64, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	for (i = 0; i < 4; i++)
		d[i] = take(&v);
	answer_well(&v, &d[0]);
	visit_workers(&s);
	/* three are missing, four consecutive ones arrive */
	for (i = 0; i < 4; i++)
		answer_well(&v, &d[i]);
	visit_workers(&s);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(slot, 0);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 4);
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 1);
	check_bounds(&s);
	/* the last reply of an operation that has more to send */
	CHECK(!app_poll(&s.a, &slot, &status));
	for (i = 0; i < 4; i++) {
		d[i] = take(&v);
		answer_well(&v, &d[i]);
	}
	for (i = 0; i < 4; i++)
		CHECK_EQ(status_of(&s), RMC_S_OK);
	check_bounds(&s);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	setup_free(&s);
}

/* All sent requests are answered, but not all were sent: one more reply is too many. */
static void test_one_too_many(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_desc first, d[3], more;
	struct server v;
	struct setup s;
	u32 i;

	k.ring_order = 2;
	k.pay_order = o->mtu > 512 ? 9 : 6;
	setup(&s, &k);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf + 49152, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 5 * k.mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	first = take(&v);
	for (i = 0; i < 3; i++)
		d[i] = take(&v);
	for (i = 0; i < 3; i++)
		answer_well(&v, &d[i]);
	answer_well(&v, &d[2]);
	rmc_rcp_poll(s.w.node[0]);
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 1);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 2);
	check_bounds(&s);
	visit_workers(&s);
	for (i = 0; i < 2; i++) {
		more = take(&v);
		answer_well(&v, &more);
	}
	CHECK_EQ(status_of(&s), RMC_S_OK);
	answer_well(&v, &first);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	setup_free(&s);
}

/* From a node that was not asked: no effect. */
static void test_other_node(const struct testbed_opts *o)
{
	struct rmc_desc d, e;
	struct server v, x;
	struct setup s;
	u32 i, quarantined;

	setup(&s, o);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf + 64, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	serve_as(&x, &s, 2);
	d = take(&v);
	e = take(&x);
	answer_well(&x, &d);
	CHECK_EQ(status_of(&s), -1);
	CHECK(untouched(lbuf, SEG));
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 1);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 2);
	/* as an error, with another opcode, of another generation */
	put(&x, rmc_rep_echo(d.word0, RMC_S_BAD_CONTEXT), d.word1);
	put(&v, rmc_rep_echo((d.word0 & ~(0xffULL << 48)) | (u64)RMC_OP_WRITE << 48, RMC_S_OK), d.word1);
	put(&v, rmc_rep_echo((d.word0 & ~(0xffULL << 48)) | (u64)RMC_OP_FAA << 48, RMC_S_OK), d.word1);
	put(&v, rmc_rep_echo(d.word0 + 0x10000, RMC_S_OK), d.word1);
	put(&v, rmc_rep_echo(d.word0 - 0x10000, RMC_S_OK), d.word1);
	CHECK_EQ(status_of(&s), -1);
	CHECK(untouched(lbuf, SEG));
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 6);
	/* no such tid: the first, the last */
	for (i = s.w.node[0]->itt.size; i <= RMC_TID_NONE; i += RMC_TID_NONE - s.w.node[0]->itt.size)
		put(&v, rmc_rep_echo((d.word0 & ~0xffffULL) | i, RMC_S_OK), d.word1);
	visit_workers(&s);
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 8);
	check_bounds(&s);
	answer_well(&v, &d);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	answer_well(&x, &e);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK_EQ(lbuf[0], DATA);
	/* the other node's replies had no effect */
	CHECK_EQ(itt_free(&s, &quarantined), s.w.node[0]->itt.size);
	CHECK_EQ(quarantined, 0);
	setup_free(&s);
}

/* A status is a valid one, and the first error of several. */
static void test_statuses(const struct testbed_opts *o)
{
	static const u8 made_up[] = { RMC_S_DOMAIN_MAX, RMC_S_DOMAIN_MAX + 1, 0x7f, 0xfd, 0xfe, 0xff };
	struct rmc_desc d, e;
	struct server v;
	struct setup s;
	u32 i;

	setup(&s, o);
	for (i = 0; i < ARRAY_SIZE(made_up); i++) {
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		visit_workers(&s);
		if (!i)
			serve_as(&v, &s, 1);
		d = take(&v);
		answer(&v, &d, 0, 64, made_up[i]);
		CHECK_EQ(status_of(&s), RMC_S_PROTOCOL);
	}
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * o->mtu);
	visit_workers(&s);
	d = take(&v);
	e = take(&v);
	answer(&v, &d, 0, 64, RMC_S_OUT_OF_RANGE);
	CHECK_EQ(status_of(&s), -1);
	answer(&v, &e, 0, 64, RMC_S_READ_ONLY);
	CHECK_EQ(status_of(&s), RMC_S_OUT_OF_RANGE);
	/* an error reply has no payload: the next payload is found at the same place */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d = take(&v);
	answer_well(&v, &d);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK_EQ(lbuf[63], DATA);
	setup_free(&s);
}

/* Unrequested replies, for each operation: credits and lines do not grow. */
static void test_credits(const struct testbed_opts *o)
{
	u32 i, op, round;
	struct rmc_desc d;
	struct server v;
	struct setup s;

	setup(&s, o);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d = take(&v);
	answer_well(&v, &d);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	for (round = 0; round < 40; round++) {
		for (op = 1; op < RMC_OP_MAX + 2; op++) {
			u64 word0 = rmc_rep_echo(rmc_req_word0(op, CTX, 77, 7), round & 1 ? RMC_S_TIMEOUT : 0);
			u32 len = op == RMC_OP_FAA || op == RMC_OP_CAS ? 8 : o->mtu;

			put(&v, word0, rmc_req_word1(0, len, round & 2));
			put(&v, word0, rmc_announce_word1(0, 4 * o->mtu));
			put(&v, word0, rmc_req_word1(0, 0xffff, false));
			for (i = 0; i < 3; i++)
				testbed_visit(&s.w);
			check_bounds(&s);
			CHECK_EQ(out_to(&s, 1)->held, 0);
			CHECK_EQ(out_to(&s, 1)->held_lines, 0);
			CHECK_EQ(out_to(&s, 1)->xfers, 0);
		}
	}
	/* only the peer loses: the positions of its own channel, of payload as well */
	v.rep.pay_pos = out_to(&s, 1)->rep.pay_pos;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d = take(&v);
	answer_well(&v, &d);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* Only the peer that has packets outstanding can end a quarantine, and only with those. */
static void test_quarantine(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_desc d, e, f;
	struct server v, x;
	struct setup s;
	u32 quarantined;

	k.itt = 2;
	setup(&s, &k);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	serve_as(&x, &s, 2);
	d = take(&v);
	e = take(&x);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	CHECK_EQ(itt_free(&s, &quarantined), 0);
	CHECK_EQ(quarantined, 2);
	/* of the next generation of a free entry, and one for another peer's quarantine */
	put(&v, rmc_rep_echo(d.word0 + 0x10000, RMC_S_OK), d.word1);
	visit_workers(&s);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK(untouched(lbuf, SEG));
	itt_free(&s, &quarantined);
	CHECK_EQ(quarantined, 1);
	answer_well(&v, &e);
	visit_workers(&s);
	CHECK_EQ(itt_free(&s, &quarantined), 1);
	CHECK_EQ(quarantined, 1);
	answer_well(&x, &e);
	visit_workers(&s);
	CHECK_EQ(itt_free(&s, &quarantined), 2);
	CHECK_EQ(quarantined, 0);

	/* both again, then the quarantined tid is in use: a late reply counts for its own use */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d = take(&v);
	e = take(&v);
	/* they end in the order of their tids */
	if ((u16)d.word0 > (u16)e.word0)
		swap(d, e);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	f = take(&v);
	CHECK_EQ((u16)f.word0, (u16)d.word0);
	answer_well(&v, &d);
	visit_workers(&s);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	CHECK(untouched(lbuf, SEG));
	answer_well(&v, &f);
	CHECK_EQ(status_of(&s), RMC_S_OK);
	CHECK_EQ(itt_free(&s, &quarantined), 1);
	CHECK_EQ(quarantined, 1);
	answer_well(&v, &e);
	visit_workers(&s);
	CHECK_EQ(itt_free(&s, &quarantined), 2);
	CHECK_EQ(quarantined, 0);
	check_bounds(&s);

	/* recalled for another node, which then counts */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d = take(&v);
	e = take(&v);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf, 64);
	visit_workers(&s);
	f = take(&x);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	answer_well(&x, &f);
	visit_workers(&s);
	CHECK_EQ(itt_free(&s, &quarantined), 1);
	CHECK_EQ(quarantined, 1);
	/* closing channels ends the quarantine for their peer only */
	rmc_itt_release_peer(&s.w.node[0]->itt, 2);
	itt_free(&s, &quarantined);
	CHECK_EQ(quarantined, 1);
	rmc_itt_release_peer(&s.w.node[0]->itt, 1);
	CHECK_EQ(itt_free(&s, &quarantined), 2);
	CHECK_EQ(quarantined, 0);
	setup_free(&s);
}

/* Several packets late: the last one ends the quarantine, whatever else arrives meanwhile. */
static void test_quarantine_of_many(const struct testbed_opts *o)
{
	struct rmc_desc d[3];
	struct server v;
	struct setup s;
	u32 i, quarantined;

	setup(&s, o);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 3 * o->mtu);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	for (i = 0; i < 3; i++)
		d[i] = take(&v);
	answer_well(&v, &d[0]);
	visit_workers(&s);
	memset(lbuf, 0x11, SEG);
	time_out(&s);
	CHECK_EQ(status_of(&s), RMC_S_TIMEOUT);
	for (i = 1; i < 3; i++) {
		CHECK_EQ(itt_free(&s, &quarantined), s.w.node[0]->itt.size - 1);
		CHECK_EQ(quarantined, 1);
		answer_well(&v, &d[i]);
		visit_workers(&s);
	}
	CHECK_EQ(itt_free(&s, &quarantined), s.w.node[0]->itt.size);
	CHECK_EQ(quarantined, 0);
	CHECK(untouched(lbuf, SEG));
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* No tid after the last one is valid; a failed operation is counted as such. */
static void test_tid_range(const struct testbed_opts *o)
{
	struct rmc_desc d;
	struct server v;
	struct setup s;
	u32 size;
	u64 work;

	setup(&s, o);
	size = s.w.node[0]->itt.size;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	serve_as(&v, &s, 1);
	d = take(&v);
	s.w.node[0]->itt.size = (u16)d.word0;
	answer_well(&v, &d);
	visit_workers(&s);
	s.w.node[0]->itt.size = size;
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	CHECK(untouched(lbuf, SEG));
	CHECK_EQ(s.w.node[0]->stats.stale_replies, 1);
	answer(&v, &d, 0, 64, RMC_S_OUT_OF_RANGE);
	CHECK_EQ(status_of(&s), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(s.w.node[0]->stats.errors, 1);
	/* a tenant whose request ended with RMC_S_BUSY is charged for its cost */
	work = s.a.qp.tenant->work;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visit_workers(&s);
	d = take(&v);
	answer(&v, &d, 0, 64, RMC_S_BUSY);
	CHECK_EQ(status_of(&s), RMC_S_BUSY);
	CHECK(s.a.qp.tenant->work - work >= RMC_TENANT_BUSY);
	setup_free(&s);
}

/* A doorbell without a channel is cleared: otherwise a hostile peer keeps the worker awake. */
static void test_doorbell_of_a_stranger(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u64 *doorbell;
	u32 i;

	setup(&s, o);
	w = rmc_qp_worker(&s.a.qp);
	doorbell = rmc_doorbell_word(fabric(&s), 0, RMC_LANE_REP, 2);
	rmc_os_or64(doorbell, 1ULL << 2);
	CHECK(!rmc_ni_may_park(w));
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	CHECK_EQ(*doorbell, 0);
	CHECK(rmc_ni_may_park(w));
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "reply to what was not asked for", test_not_asked_for },
		{ "reply longer than the MTU", test_longer_than_mtu },
		{ "replies that end within a line", test_within_a_line },
		{ "in a run with good ones", test_in_a_run },
		{ "duplicate reply", test_duplicate_reply },
		{ "all answered, not all sent", test_one_too_many },
		{ "reply from a node that was not asked", test_other_node },
		{ "statuses that do not exist", test_statuses },
		{ "credits and lines do not grow", test_credits },
		{ "a quarantine ends by packets of its peer", test_quarantine },
		{ "a quarantine with several packets outstanding", test_quarantine_of_many },
		{ "a tid behind the last one", test_tid_range },
		{ "a doorbell of a peer that was asked for nothing", test_doorbell_of_a_stranger },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 3, .ni = "fused", .mtu = 64 },
		{ .nodes = 3, .ni = "pair", .mtu = 4096 },
		{ .nodes = 3, .ni = "fused", .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
