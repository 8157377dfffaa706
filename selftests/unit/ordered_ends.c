// SPDX-License-Identifier: GPL-2.0
/*
 * Ordered queue pairs whose operations do not end well: what is behind one of these in the WQ must
 * not take effect, whatever else happens.
 */
#include "ordered_ends.h"

/* One loss at a time: what is behind it, by then and afterwards, of its queue pair and of others */
static void test_one_loss(const struct testbed_opts *o)
{
	struct app a, more[31 * 4], *b;
	struct setup s;
	u32 i, n;
	int status;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	n = share_group(&s, &a, more, ARRAY_SIZE(more));
	b = &more[n - 1];

	/* a lost request, a lost reply: each costs one operation, and stops the queue pair */
	for (i = 0; i < 4; i++) {
		link_down(&s, i % 2 ? RMC_LANE_REP : RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		link_down(&s, i % 2 ? RMC_LANE_REP : RMC_LANE_REQ, false);
		post_faa(&a);
		post_stamp(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_ABORTED);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_ABORTED);
		check_resume(&s, &a);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
		CHECK_EQ(*word_at(LATCH), 3 * (i / 2) + (i % 2 ? 3 : 1));
	}

	/* posted a little later, before anything is known */
	link_down(&s, RMC_LANE_REQ, true);
	post_write(&a, 64);
	CHECK_EQ(wait_app(&s, &a, 5), -1);
	link_down(&s, RMC_LANE_REQ, false);
	post_flag(&a);
	/* ... or known, but not seen */
	for (i = 0; i < 40; i++) {
		testbed_tick(&s.w, 1);
		testbed_settle(&s.w);
	}
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	for (i = 0; i < 2; i++) {
		status = wait_app(&s, &a, 40);
		CHECK(status == RMC_S_ABORTED || (!i && status == RMC_S_TIMEOUT));
	}
	CHECK_EQ(*word_at(FLAG), 0);
	check_resume(&s, &a);

	/* another one of the group has lost something, and posts when this one has noticed */
	link_down(&s, RMC_LANE_REQ, true);
	post_write(&a, 64);
	CHECK_EQ(wait_app(&s, &a, 10), -1);
	post_write(b, 64);
	CHECK_EQ(wait_app(&s, b, 1), -1);
	link_down(&s, RMC_LANE_REQ, false);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	post_flag(b);
	CHECK_EQ(wait_app(&s, b, 40), RMC_S_TIMEOUT);
	CHECK_EQ(wait_app(&s, b, 40), RMC_S_ABORTED);
	CHECK_EQ(*word_at(FLAG), 0);
	check_resume(&s, b);
	post_flag(b);
	CHECK_EQ(wait_app(&s, b, 40), RMC_S_OK);
	CHECK_EQ(*word_at(FLAG), 1);

	/* not ordered: there is nothing to resume */
	CHECK_EQ(app_run(&s.a, RMC_OP_RESUME, 0, 0, NULL, 0), RMC_S_BAD_OP);
	check_quiet(&s);
	check_no_order(&s);
	check_all_answered(&a);
	app_fini(&a);
	for (i = 0; i < n; i++)
		app_fini(&more[i]);
	teardown(&s);
}

/* The notification of a write for several RRPPs leaves, although others follow without end. */
static void test_notified_in_time(const struct testbed_opts *o)
{
	struct rmc_fault late = { .delay_ns = 10000 }, none = { };
	u32 slot, status, i, flying = 0, notified, far;
	struct setup s;
	struct app a;

	setup(&s, o);
	ordered_init(&a, &s);
	far = s.w.opts.rrpps > 1 ? s.w.fabric->interleave : 0;
	notified = s.seg_mem->notified.count;
	app_post(&a, RMC_OP_WRITE_NOTIFY, 1, far, lbuf, 256);
	for (i = 0; i < 2000 && s.seg_mem->notified.count == notified; i++) {
		if (flying < 16) {
			app_post(&a, RMC_OP_WRITE, 1, far, lbuf, 256);
			flying++;
		}
		one_visit(&s);
		if (i % 100 == 99)
			testbed_tick(&s.w, 1);
		while (app_poll(&a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			flying -= !!slot;
		}
	}
	CHECK_EQ(s.seg_mem->notified.count, notified + 1);
	while (app_wait(&a) >= 0)
		;
	/* the answer of a write before it is late: it leaves with that, not with the next tick */
	if (far) {
		fault_set(&s.w, 1, 0, RMC_LANE_REP, &late, 1);
		app_post(&a, RMC_OP_WRITE, 1, far, lbuf, 8);
		for (i = 0; i < 20; i++)
			one_visit(&s);
		fault_set(&s.w, 1, 0, RMC_LANE_REP, &none, 1);
		app_post(&a, RMC_OP_WRITE_NOTIFY, 1, far, lbuf, 8);
		for (i = 0; i < 20; i++)
			one_visit(&s);
		CHECK_EQ(s.seg_mem->notified.count, notified + 1);
		testbed_now_ns += late.delay_ns;
		for (i = 0; i < 20; i++)
			one_visit(&s);
		CHECK_EQ(s.seg_mem->notified.count, notified + 2);
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		/* not if it says that this write has failed */
		fault_set(&s.w, 1, 0, RMC_LANE_REP, &late, 1);
		app_post(&a, RMC_OP_WRITE, 1, SEG + far, lbuf, 8);
		for (i = 0; i < 20; i++)
			one_visit(&s);
		fault_set(&s.w, 1, 0, RMC_LANE_REP, &none, 1);
		app_post(&a, RMC_OP_WRITE_NOTIFY, 1, far, lbuf, 8);
		for (i = 0; i < 20; i++)
			one_visit(&s);
		testbed_now_ns += late.delay_ns;
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
		CHECK_EQ(s.seg_mem->notified.count, notified + 2);
		check_resume(&s, &a);
		fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	}
	check_all_answered(&a);
	check_quiet(&s);
	check_no_order(&s);
	app_fini(&a);
	teardown(&s);
}

/* A queue pair that has stopped sends no notification of what is stored, now or later. */
static void test_not_notified(const struct testbed_opts *o)
{
	u32 notified, credits, far, k;
	struct rmc_out *out;
	struct setup s;
	struct app a;

	setup(&s, o);
	ordered_init(&a, &s);
	if (s.w.opts.rrpps > 1) {
		far = s.w.fabric->interleave;
		notified = s.seg_mem->notified.count;
		app_post(&a, RMC_OP_READ, 1, SEG, lbuf, 8);
		app_post(&a, RMC_OP_WRITE_NOTIFY, 1, FLAG, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
		check_resume(&s, &a);
		/* no credit for it */
		out = app_unit_qp(&a)->node->out[rmc_endpoint(s.w.fabric, 1)];
		credits = out->credits;
		out->credits = 0;
		app_post(&a, RMC_OP_WRITE_NOTIFY, 1, far, lbuf, 8);
		for (k = 0; k < 50; k++)
			testbed_visit(&s.w);
		app_post(&a, RMC_OP_READ, 1, SEG + far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OUT_OF_RANGE);
		out->credits = credits;
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
		check_resume(&s, &a);
		CHECK_EQ(s.seg_mem->notified.count, notified);
		CHECK_EQ(app_run(&a, RMC_OP_WRITE_NOTIFY, 1, far, lbuf, 8), RMC_S_OK);
		CHECK_EQ(s.seg_mem->notified.count, notified + 1);
	}
	check_quiet(&s);
	check_no_order(&s);
	app_fini(&a);
	teardown(&s);
}

/* A read stops its queue pair, but for RMC_S_BUSY: others can cause that, and nothing follows it. */
static void change_line(void)
{
	++*word_at(DATA);
}

static void test_what_stops(const struct testbed_opts *o)
{
	struct setup s;
	struct app a;
	u32 k;

	setup(&s, o);
	ordered_init(&a, &s);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	rmc_between_passes = change_line;
	app_post(&a, RMC_OP_READ, 1, DATA, lbuf, 64);
	CHECK_EQ(wait_app(&s, &a, 30), RMC_S_BUSY);
	rmc_between_passes = NULL;
	/* nor do entries that are no operations */
	CHECK_EQ(app_run(&a, 30, 1, 0, lbuf, 8), RMC_S_BAD_OP);
	CHECK_EQ(app_run(&a, RMC_OP_RESUME, 1, 0, lbuf, 8), RMC_S_BAD_LENGTH);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	app_post(&a, RMC_OP_READ, 1, SEG, lbuf, 8);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OUT_OF_RANGE);
	for (k = 0; k < 2; k++) {
		CHECK_EQ(app_run(&a, 30, 1, 0, lbuf, 8), RMC_S_BAD_OP);
		CHECK_EQ(app_run(&a, RMC_OP_RESUME, 1, 0, lbuf, 8), RMC_S_BAD_LENGTH);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
	}
	check_resume(&s, &a);
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

static void abort_all(const struct app *a, const struct rmc_mem *lbuf_mem, s32 nid, u8 status)
{
	struct rmc_abort which = { .lbuf = lbuf_mem, .nid = nid, .status = status };

	rmc_itt_abort(app_unit_qp(a)->node, &which);
}

/* Any end without a reply stops the queue pair; then nothing that it has posted takes effect. */
static void test_abnormal_ends(const struct testbed_opts *o)
{
	u32 bytes = 8 * max(512u, o->mtu), i, k;
	struct app a, more[31 * 4];
	struct setup s;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	for (i = 0; i < 2; i++) {
		*word_at(FLAG) = 0;
		/* the server does nothing, so not all of the data can be sent */
		stop_node(&s, 1, true);
		for (k = 0; k < 40; k++)
			post_write(&a, bytes);
		post_flag(&a);
		for (k = 0; k < 100; k++)
			testbed_visit(&s.w);
		if (i)
			abort_all(&a, NULL, 1, RMC_S_NODE_DOWN);
		else
			abort_all(&a, s.buf_mem, -1, RMC_S_ABORTED);
		stop_node(&s, 1, false);
		CHECK_EQ(wait_app(&s, &a, 5), i ? RMC_S_NODE_DOWN : RMC_S_ABORTED);
		for (k = 0; k < 40; k++)
			CHECK(wait_app(&s, &a, 5) > 0);
		CHECK_EQ(*word_at(FLAG), 0);
		check_resume(&s, &a);
	}

	/* an entry that is refused: nothing behind it begins */
	app_post(&a, RMC_OP_WRITE, 1, 0, lbuf + SEG, 8);
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_BAD_LBUF);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
	CHECK_EQ(*word_at(FLAG), 0);
	check_resume(&s, &a);
	/* one that the server refuses: nothing that is posted then */
	app_post(&a, RMC_OP_WRITE, 1, SEG, lbuf, 8);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OUT_OF_RANGE);
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
	CHECK_EQ(*word_at(FLAG), 0);
	check_resume(&s, &a);

	/* a queue pair is gone with its loss; the next one of the group has nothing to do with it */
	link_down(&s, RMC_LANE_REQ, true);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), -1);
	link_down(&s, RMC_LANE_REQ, false);
	i = share_group(&s, &a, more, ARRAY_SIZE(more));
	app_fini(&a);
	post_flag(&more[i - 1]);
	CHECK_EQ(wait_app(&s, &more[i - 1], 40), RMC_S_OK);
	CHECK_EQ(*word_at(FLAG), 1);
	while (i--)
		app_fini(&more[i]);
	check_quiet(&s);
	check_no_order(&s);
	teardown(&s);
}

static void channel_down(struct setup *s, u32 rrpp, bool down)
{
	struct rmc_fault fault = { .down = down };
	struct rmc_node *unit = s->w.node[1]->unit[rrpp];
	u32 i;

	for (i = 0; i < s->w.opts.units; i++)
		rmc_filter_set(unit->links.filter[RMC_LANE_REQ][i], &fault, 1);
}

/* Packets say that their group is renewed until one that does so was sent, to each RRPP. */
static void test_renewed(const struct testbed_opts *o)
{
	struct rmc_fault none = { };
	struct rmc_node *unit;
	struct rmc_out *out;
	struct setup s;
	struct app a;
	struct rmc_out *second;
	u32 credits, i, k, far;
	struct rmc_filter *flt;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
	unit = app_unit_qp(&a)->node;
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	/* begun, but without a credit no packet leaves, not even one that tells the filter */
	out = unit->out[rmc_endpoint(unit->fabric, 1)];
	for (i = 1; i <= 2; i++) {
		link_down(&s, RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		credits = out->credits;
		out->credits = 0;
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		link_down(&s, RMC_LANE_REQ, false);
		check_resume(&s, &a);
		for (k = 0; k < i; k++) {
			post_faa(&a);
			CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
			check_resume(&s, &a);
		}
		CHECK_EQ(out->credits, 0);
		CHECK_EQ(renewals(&s) + renew_later(&s), 1);
		out->credits = credits;
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
		CHECK_EQ(*word_at(LATCH), 1 + i);
	}

	/* lost on the way to one RRPP, so that both channels' packets have the bit that was lost */
	far = s.w.fabric->interleave;
	if (s.w.opts.rrpps > 1) {
		channel_down(&s, 1, true);
		app_post(&a, RMC_OP_FAA, 1, far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		flt = s.w.node[1]->unit[1]->links.filter[RMC_LANE_REQ][unit->ep];
		for (i = 0; i < 4 && (out->renewed ^ flt->order.renewed) & 1U << group_of(&a); i++) {
			testbed_tick(&s.w, 1);
			testbed_settle(&s.w);
		}
		CHECK(!((out->renewed ^ flt->order.renewed) & 1U << group_of(&a)));
		CHECK(flt->order.broken & 1U << group_of(&a));
		channel_down(&s, 1, false);
		post_resume(&a);
		/* a read leaves for both at once */
		app_post(&a, RMC_OP_READ, 1, 0, lbuf, 2 * far);
		CHECK_EQ(wait_app(&s, &a, 1), RMC_S_OK);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);

		second = unit->out[rmc_endpoint(unit->fabric, 1) + 1];
		/* renewed because of another channel, before its filter was told */
		channel_down(&s, 1, true);
		app_post(&a, RMC_OP_FAA, 1, far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		credits = second->credits;
		second->credits = 0;
		CHECK_EQ(wait_app(&s, &a, 60), RMC_S_TIMEOUT);
		channel_down(&s, 1, false);
		check_resume(&s, &a);
		channel_down(&s, 0, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 60), RMC_S_TIMEOUT);
		channel_down(&s, 0, false);
		check_resume(&s, &a);
		second->credits = credits;
		app_post(&a, RMC_OP_FAA, 1, far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 60), RMC_S_OK);
	}
	/* ... then to another one */
	for (i = 0; i < 4 && s.w.opts.rrpps > 1; i++) {
		channel_down(&s, !(i % 2), true);
		app_post(&a, RMC_OP_FAA, 1, i % 2 ? 0 : far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		channel_down(&s, !(i % 2), false);
		check_resume(&s, &a);
		/* one operation to both, or to the other one: this one still is to be told */
		if (!(i % 2)) {
			app_post(&a, RMC_OP_WRITE, 1, 0, lbuf, i ? 8 : 2 * far);
			CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
		}
	}
	for (i = 0; i < 2 && s.w.opts.rrpps > 1; i++) {
		app_post(&a, RMC_OP_FAA, 1, i ? 0 : far, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
	}
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

/* A group that was renewed at one RRPP alone: packets of one operation have another bit there. */
static void test_renewed_at_one(const struct testbed_opts *o)
{
	struct rmc_fault none = { };
	u32 op, far, bit;
	struct setup s;
	struct app a;

	for (op = 0; op < 2; op++) {
		setup(&s, o);
		set_timeout(&s, 20, 0);
		ordered_init(&a, &s);
		bit = 1U << group_of(&a);
		far = s.w.fabric->interleave;
		fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
		if (s.w.opts.rrpps > 1) {
			struct rmc_out **out = &app_unit_qp(&a)->node->out[s.w.opts.units];

			channel_down(&s, 1, true);
			app_post(&a, RMC_OP_FAA, 1, far, lbuf, 8);
			CHECK_EQ(wait_app(&s, &a, 0), -1);
			abort_all(&a, s.buf_mem, -1, RMC_S_ABORTED);
			CHECK_EQ(wait_app(&s, &a, 0), RMC_S_ABORTED);
			channel_down(&s, 1, false);
			CHECK_EQ(resume(&s, &a), RMC_S_OK);
			app_post(&a, op ? RMC_OP_WRITE : RMC_OP_READ, 1, 0, lbuf, 2 * far);
			CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
			CHECK((out[0]->renewed ^ out[1]->renewed) & bit);
		}
		check_quiet(&s);
		app_fini(&a);
		teardown(&s);
	}
}

/* A write that has timed out is late. A read does not wait for it at one RRPP; an atomic does. */
static void test_late_write(const struct testbed_opts *o)
{
	struct rmc_fault slow = { .delay_ns = 30000000 }, none = { };
	struct setup s;
	struct app a;
	bool several;

	setup(&s, o);
	several = s.w.opts.rrpps > 1;
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &slow, 1);
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 25), RMC_S_TIMEOUT);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
	check_resume(&s, &a);
	app_post(&a, RMC_OP_READ, 1, FLAG, lbuf, 8);
	CHECK_EQ(wait_app(&s, &a, several ? 15 : 1), RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, several);
	*(u64 *)lbuf = 0;
	app_post(&a, RMC_OP_FAA, 1, FLAG, lbuf, 8);
	CHECK_EQ(wait_app(&s, &a, 15), RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, 1);
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

static void pass_ms(struct setup *s, u32 ms)
{
	while (ms--) {
		testbed_tick(&s->w, 1);
		testbed_settle(&s->w);
	}
}

static void stop_rrpp(struct setup *s, bool stop)
{
	s->w.node[1]->unit[1]->srv_stopped = stop;
}

enum { REFUSED, TIMED_OUT, WITHDRAWN, DOWN, ENDS };

/* One of several RRPPs stands still. A write to it ends; its packet is still there. */
static void leave_late(struct setup *s, struct app *a, u32 how)
{
	u32 far = s->w.fabric->interleave;

	version++;
	*(u64 *)data_at(DATA) = version;
	stop_rrpp(s, true);
	/* half of this write waits for the other half; what is before it fails at the other RRPP */
	if (how == REFUSED)
		app_post(a, RMC_OP_READ, 1, SEG, lbuf, 8);
	app_post(a, RMC_OP_WRITE, 1, far, data_at(DATA), how == REFUSED ? 2 * far : 8);
	if (how == REFUSED) {
		CHECK_EQ(wait_app(s, a, 1), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(wait_app(s, a, 1), RMC_S_ABORTED);
	} else if (how == TIMED_OUT) {
		CHECK_EQ(wait_app(s, a, 25), RMC_S_TIMEOUT);
	} else {
		CHECK_EQ(wait_app(s, a, 1), -1);
		abort_all(a, how == WITHDRAWN ? s->buf_mem : NULL, how == WITHDRAWN ? -1 : 1,
			  how == WITHDRAWN ? RMC_S_ABORTED : RMC_S_NODE_DOWN);
		CHECK(wait_app(s, a, 1) > 0);
	}
	check_resume(s, a);
}

/* Several RRPPs: what an operation that has ended has sent takes effect before what is issued then. */
static void test_late_packets(const struct testbed_opts *o)
{
	struct setup s;
	struct app a;
	u32 how, far;
	u64 latch;

	setup(&s, o);
	far = s.w.fabric->interleave;
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	for (how = 0; how < ENDS && s.w.opts.rrpps > 1; how++) {
		latch = *word_at(LATCH);
		leave_late(&s, &a, how);
		post_faa(&a);
		pass_ms(&s, 15);
		CHECK_EQ(*word_at(LATCH), latch);
		CHECK(*word_at(far) != version);
		stop_rrpp(&s, false);
		CHECK_EQ(wait_app(&s, &a, 3), RMC_S_OK);
		CHECK_EQ(*word_at(LATCH), latch + 1);
		CHECK_EQ(*word_at(far), version);
		/* not for ever */
		leave_late(&s, &a, how);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 25), RMC_S_OK);
		CHECK(*word_at(far) != version);
		stop_rrpp(&s, false);
		pass_ms(&s, 1);
		CHECK_EQ(*word_at(far), version);
	}
	check_quiet(&s);
	check_no_order(&s);
	app_fini(&a);
	teardown(&s);
}

/* A buffer is unregistered; the packet of this operation comes back at once. */
static void break_shortly(struct setup *s, struct app *a)
{
	post_flag(a);
	CHECK_EQ(wait_app(s, a, 0), RMC_S_OK);
	app_post(a, RMC_OP_FAA, 1, 0, lbuf, 8);
	app_take(a);
	abort_all(a, s->buf_mem, -1, RMC_S_ABORTED);
	CHECK_EQ(wait_app(s, a, 0), RMC_S_ABORTED);
	CHECK_EQ(resume(s, a), RMC_S_OK);
}

/* A group that has gone on without a packet does not wait for that one again, nor when it comes. */
static void test_late_given_up(const struct testbed_opts *o)
{
	struct testbed_opts three = *o;
	struct setup s;
	struct app a;
	u32 k;

	three.nodes = 3;
	three.itt = 8;
	setup(&s, &three);
	s.w.apps = 0;
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	if (s.w.opts.rrpps > 1) {
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 2, 0, lbuf, 8), RMC_S_OK);
		/* the next operation takes the ITT entry behind that of the one after it */
		post_faa(&a);
		post_faa(&a);
		for (k = 0; k < 2; k++)
			CHECK_EQ(wait_app(&s, &a, 1), RMC_S_OK);
		leave_late(&s, &a, WITHDRAWN);
		pass_ms(&s, 10);
		stop_node(&s, 2, true);
		app_post(&a, RMC_OP_WRITE, 2, 0, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 0), -1);
		abort_all(&a, s.buf_mem, -1, RMC_S_ABORTED);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_ABORTED);
		CHECK_EQ(resume(&s, &a), RMC_S_OK);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 12), RMC_S_OK);
		/* one that is late at another node is not given up yet */
		app_post(&a, RMC_OP_NOTIFY, 2, 0, NULL, 0);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		stop_node(&s, 2, false);
		CHECK_EQ(wait_app(&s, &a, 2), RMC_S_OK);
		stop_node(&s, 2, true);
		break_shortly(&s, &a);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
		/* its entry is used for another peer, so nobody knows when it comes */
		for (k = 0; k < 8; k++)
			app_post(&s.a, RMC_OP_WRITE, 2, 0, lbuf, 8);
		for (k = 0; k < 50; k++)
			testbed_visit(&s.w);
		abort_all(&a, NULL, 2, RMC_S_NODE_DOWN);
		for (k = 0; k < 8; k++)
			CHECK_EQ(wait_ms(&s, 1), RMC_S_NODE_DOWN);
		break_shortly(&s, &a);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
		/* it comes */
		stop_node(&s, 2, false);
		stop_rrpp(&s, false);
		pass_ms(&s, 1);
		break_shortly(&s, &a);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
	}
	check_quiet(&s);
	check_no_order(&s);
	app_fini(&a);
	teardown(&s);
}

/* The ITT entry of a late packet is used for another peer, so nobody knows when the packet comes. */
static void test_late_forgotten(const struct testbed_opts *o)
{
	struct testbed_opts three = *o;
	struct rmc_node *unit;
	struct setup s;
	struct app a;
	u32 i, k;

	three.nodes = 3;
	three.itt = 4;
	setup(&s, &three);
	s.w.apps = 0;
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	unit = app_unit_qp(&a)->node;
	if (s.w.opts.rrpps > 1) {
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 2, 0, lbuf, 8), RMC_S_OK);
		/* all ITT entries */
		stop_rrpp(&s, true);
		for (i = 0; i < 4; i++)
			app_post(&a, RMC_OP_WRITE, 1, s.w.fabric->interleave, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		CHECK_EQ(unit->itt.used, 4);
		abort_all(&a, s.buf_mem, -1, RMC_S_ABORTED);
		for (i = 0; i < 4; i++)
			CHECK_EQ(wait_app(&s, &a, 1), RMC_S_ABORTED);
		check_resume(&s, &a);
		stop_node(&s, 2, true);
		app_post(&s.a, RMC_OP_WRITE, 2, 0, lbuf, 8);
		CHECK_EQ(wait_ms(&s, 0), -1);
		CHECK_EQ(unit->itt.used, 1);
		abort_all(&a, NULL, 2, RMC_S_NODE_DOWN);
		CHECK_EQ(wait_ms(&s, 0), RMC_S_NODE_DOWN);
		stop_node(&s, 2, false);
		stop_rrpp(&s, false);
		testbed_settle(&s.w);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 10), -1);
		CHECK_EQ(wait_app(&s, &a, 15), RMC_S_OK);
		/* forgotten once only, and an entry that is used again waits once */
		for (i = 0; i < 2; i++) {
			leave_late(&s, &a, WITHDRAWN);
			if (i) {
				pass_ms(&s, 20);
				for (k = 0; k < 4; k++)
					app_post(&a, RMC_OP_WRITE, 1, s.w.fabric->interleave, lbuf, 8);
				CHECK_EQ(wait_app(&s, &a, 1), -1);
				abort_all(&a, NULL, 1, RMC_S_NODE_DOWN);
				for (k = 0; k < 4; k++)
					CHECK_EQ(wait_app(&s, &a, 1), RMC_S_NODE_DOWN);
				check_resume(&s, &a);
			}
			stop_rrpp(&s, false);
			testbed_settle(&s.w);
			post_faa(&a);
			CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
		}
	}
	check_quiet(&s);
	check_no_order(&s);
	app_fini(&a);
	teardown(&s);
}

/* Nothing is ordered with a read before it: a lost one says nothing of what is behind it. */
static void test_lost_read(const struct testbed_opts *o)
{
	struct rmc_fault none = { };
	struct setup s;
	struct app a;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 1);
	if (s.w.opts.rrpps > 1) {
		channel_down(&s, 1, true);
		app_post(&a, RMC_OP_READ, 1, s.w.fabric->interleave, lbuf, 8);
		post_flag(&a);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
		CHECK_EQ(*word_at(FLAG), 1);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		post_flag(&a);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_ABORTED);
		channel_down(&s, 1, false);
		check_resume(&s, &a);
		/* a packet that was lost has come back: its group does not wait for it */
		post_flag(&a);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
		/* nor for a read that is late */
		stop_rrpp(&s, true);
		app_post(&a, RMC_OP_READ, 1, s.w.fabric->interleave, lbuf, 8);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		abort_all(&a, NULL, 1, RMC_S_NODE_DOWN);
		CHECK_EQ(wait_app(&s, &a, 1), RMC_S_NODE_DOWN);
		check_resume(&s, &a);
		post_flag(&a);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_OK);
		stop_rrpp(&s, false);
	}
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

static const struct matrix_test tests[] = {
	{ "ordered queue pairs: one loss at a time", test_one_loss },
	{ "ordered queue pairs: notifications of several RRPPs", test_notified_in_time },
	{ "ordered queue pairs: no notification behind a failure", test_not_notified },
	{ "ordered queue pairs: whatever ends without a reply", test_abnormal_ends },
	{ "ordered queue pairs: groups that are renewed", test_renewed },
	{ "ordered queue pairs: a group that is renewed at one RRPP", test_renewed_at_one },
	{ "ordered queue pairs: a write that is late", test_late_write },
	{ "ordered queue pairs: packets that are late at one of several RRPPs", test_late_packets },
	{ "ordered queue pairs: late packets that are given up", test_late_given_up },
	{ "ordered queue pairs: late packets that nobody knows", test_late_forgotten },
	{ "ordered queue pairs: a lost read", test_lost_read },
	{ "ordered queue pairs: what stops them", test_what_stops },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), ordered_opts, ARRAY_SIZE(ordered_opts));
	return matrix_done();
}
