// SPDX-License-Identifier: GPL-2.0
/*
 * Filters that have lost packets of ordered queue pairs: until when they stay, what heals them, and
 * what is due when they are flushed.
 */
#include "ordered_ends.h"

/* Remove filters from node 0 to node 1. Returns how many wait for their sender. */
static u32 filters_left(struct setup *s)
{
	u32 units = s->w.opts.units, i, n = 0;
	int err;

	for (i = 0; i < units * units; i++) {
		struct rmc_node *node = s->w.node[1]->unit[i / units];
		u32 ep = rmc_endpoint(node->fabric, 0) + i % units;

		struct rmc_filter *flt = node->links.filter[RMC_LANE_REQ][ep];

		if (!flt)
			continue;
		err = rmc_channel_del_filter(node, ep, RMC_LANE_REQ);
		CHECK(!err || err == -EBUSY);
		n += !!err;
		if (!err)
			rmc_filter_destroy(flt);
	}
	return n;
}

/* A filter without faults stays until what is behind a lost packet is lost, too. */
static void test_filter_removed(const struct testbed_opts *o)
{
	struct setup s;
	struct app a;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	link_down(&s, RMC_LANE_REQ, true);
	post_write(&a, 64);
	CHECK_EQ(wait_app(&s, &a, 5), -1);
	CHECK(!fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	CHECK(wait_app(&s, &a, 40) > 0);
	CHECK_EQ(*word_at(FLAG), 0);
	/* the unit knows, and has renewed the group; the queue pair still is stopped */
	testbed_tick(&s.w, 1);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	check_resume(&s, &a);
	post_write(&a, 64);
	post_flag(&a);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_OK);
	CHECK_EQ(*word_at(FLAG), 1);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	/* nobody else waits: an ordinary queue pair's loss is no reason */
	link_down(&s, RMC_LANE_REQ, true);
	app_post(&s.a, RMC_OP_WRITE, 1, FLAG, lbuf, 8);
	CHECK_EQ(wait_ms(&s, 40), RMC_S_TIMEOUT);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

static bool may_park(struct setup *s)
{
	u32 i;

	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s->w);
	return rmc_ni_may_park(s->w.node[0]->unit[0]->req_worker);
}

static void pass_ms(struct setup *s, u32 ms)
{
	while (ms--) {
		testbed_tick(&s->w, 1);
		testbed_settle(&s->w);
	}
}

/* The end of the channel that was used */
static struct rmc_out *first_out(struct setup *s)
{
	struct rmc_out *out = NULL;
	u32 i;

	for (i = 0; i < s->w.opts.units; i++)
		if (s->w.node[0]->unit[i]->renewals)
			out = s->w.node[0]->unit[i]->out[rmc_endpoint(s->w.fabric, 1)];
	return out;
}

/* Nothing is sent to a silent peer, until it is heard, by a tick or because somebody posts. */
static void check_silent(struct setup *s, u32 served, bool posts)
{
	struct rmc_out *out = first_out(s);

	testbed_settle(&s->w);
	out->down = true;
	if (!posts)
		s->w.fabric->changes++;
	testbed_tick(&s->w, 1);
	CHECK_EQ(testbed_stat(&s->w, 1, served), served);
	CHECK(testbed_credits_home(&s->w, 0, 1));
	/* each tick looks at all peers where they are other kernels */
	CHECK_EQ(out->down, posts && !testbed_fabric(&s->w, 0)->sync);
	if (posts)
		CHECK_EQ(app_run(&s->a, RMC_OP_NOTIFY, 1, 0, NULL, 0), RMC_S_OK);
	CHECK_EQ(renewals(s), 1);
}

/*
 * The packet that renews a group is lost, again and again, and so is its reply: one in a time-out, for
 * which no worker stays awake.
 */
static void lose_renewals(struct setup *s)
{
	u32 k, lost = testbed_stat(&s->w, 0, replies);

	for (k = 0; k < 3; k++) {
		pass_ms(s, 1);
		CHECK_EQ(testbed_stat(&s->w, 0, replies), ++lost);
		CHECK_EQ(renewals(s), 0);
		CHECK_EQ(renew_later(s), 1);
		CHECK(may_park(s));
		pass_ms(s, 19);
		CHECK_EQ(testbed_stat(&s->w, 0, replies), lost);
	}
	link_down(s, RMC_LANE_REP, true);
	link_down(s, RMC_LANE_REQ, false);
	pass_ms(s, 1);
	CHECK(fault_clear(&s->w, 0, 1, RMC_LANE_REQ));
	CHECK_EQ(renew_later(s), 1);
	CHECK(fault_clear(&s->w, 1, 0, RMC_LANE_REP));
	pass_ms(s, 20);
}

/* Who waits for a filter does not wait for a time-out. */
static void test_hurry(const struct testbed_opts *o)
{
	struct rmc_node *unit;
	struct setup s;
	struct app a;
	u32 served;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	unit = (struct rmc_node *)app_unit_qp(&a)->node;
	link_down(&s, RMC_LANE_REQ, true);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	app_fini(&a);
	pass_ms(&s, 2);
	CHECK_EQ(renew_later(&s), 1);
	link_down(&s, RMC_LANE_REQ, false);
	/* of another node, with which there is no channel */
	CHECK(!rmc_order_hurry(unit, 0));
	CHECK_EQ(renewals(&s), 0);
	CHECK(!fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	CHECK(rmc_order_hurry(unit, 1));
	CHECK_EQ(renewals(&s), 1);
	CHECK(!may_park(&s) || unit != s.w.node[0]);
	pass_ms(&s, 1);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	CHECK_EQ(renewals(&s) + renew_later(&s), 0);
	/* there is nothing to hurry */
	served = testbed_stat(&s.w, 1, served);
	CHECK(!rmc_order_hurry(unit, 1));
	pass_ms(&s, 1);
	CHECK_EQ(renewals(&s), 0);
	CHECK_EQ(testbed_stat(&s.w, 1, served), served);
	check_quiet(&s);
	teardown(&s);
}

static void end_all(struct rmc_node *unit)
{
	struct rmc_abort all = { .nid = 1, .status = RMC_S_NODE_DOWN };

	rmc_itt_abort(unit, &all);
}

/*
 * A packet that renews a group is lost while an operation is in flight, or after it has ended: that
 * one breaks the group, which is renewed at once.
 */
static void test_lost_beside(const struct testbed_opts *o)
{
	struct rmc_node *unit;
	struct setup s;
	struct app a;
	u32 how;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	unit = app_unit_qp(&s.a)->node;
	for (how = 0; how < 2; how++) {
		s.w.apps = 0;
		ordered_init(&a, &s);
		link_down(&s, RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 1), -1);
		end_all(unit);
		CHECK_EQ(wait_app(&s, &a, 0), RMC_S_NODE_DOWN);
		CHECK_EQ(resume(&s, &a), RMC_S_OK);
		/* the one that renews is on its way, and so is an operation */
		stop_node(&s, 1, true);
		testbed_tick(&s.w, 1);
		CHECK_EQ(renewals(&s), 0);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 0), -1);
		if (how) {
			end_all(unit);
			CHECK_EQ(wait_app(&s, &a, 0), RMC_S_NODE_DOWN);
		}
		stop_node(&s, 1, false);
		testbed_settle(&s.w);
		link_down(&s, RMC_LANE_REQ, false);
		if (!how)
			CHECK_EQ(wait_app(&s, &a, 22), RMC_S_TIMEOUT);
		pass_ms(&s, 1);
		CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
		app_fini(&a);
	}
	check_quiet(&s);
	teardown(&s);
}

/* Several groups of a channel are told one after the other, whenever they broke. */
static void test_told_in_turn(const struct testbed_opts *o)
{
	struct app a, b;
	struct setup s;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	s.w.apps = 0;
	ordered_init(&a, &s);
	s.w.apps = 0;
	ordered_init(&b, &s);
	CHECK(group_of(&a) != group_of(&b));
	link_down(&s, RMC_LANE_REQ, true);
	post_faa(&a);
	post_faa(&b);
	pass_ms(&s, 24);
	CHECK_EQ(wait_app(&s, &a, 0), RMC_S_TIMEOUT);
	CHECK_EQ(wait_app(&s, &b, 0), RMC_S_TIMEOUT);
	CHECK_EQ(renewals(&s), 0);
	CHECK_EQ(renew_later(&s), 1);
	link_down(&s, RMC_LANE_REQ, false);
	/* a time-out later both are renewed, with the same tick */
	pass_ms(&s, 15);
	testbed_tick(&s.w, 6);
	testbed_settle(&s.w);
	CHECK_EQ(renewals(&s), 1);
	pass_ms(&s, 1);
	CHECK_EQ(renewals(&s) + renew_later(&s), 0);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	check_quiet(&s);
	app_fini(&a);
	app_fini(&b);
	teardown(&s);
}

/* A break is no reason to wait for what an earlier one waited for. */
static void test_breaks_again(const struct testbed_opts *o)
{
	struct setup s;
	struct app a;
	u32 k;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	for (k = 0; k < 2; k++) {
		link_down(&s, RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		pass_ms(&s, 2);
		CHECK_EQ(renew_later(&s), 1);
		/* ... nor is an operation */
		link_down(&s, RMC_LANE_REQ, k);
		check_resume(&s, &a);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), k ? RMC_S_TIMEOUT : RMC_S_OK);
	}
	link_down(&s, RMC_LANE_REQ, false);
	/* behind a frontend the first packet is lost, too */
	pass_ms(&s, 22);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	check_resume(&s, &a);
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

/* A node that is fenced sends nothing with its next tick: neither what renews a group nor a retry. */
static void test_fenced(const struct testbed_opts *o)
{
	struct rmc_node *unit;
	struct app a, b;
	struct setup s;
	u64 requests;
	u32 i;

	setup(&s, o);
	unit = app_unit_qp(&s.a)->node;
	set_timeout(&s, 20, 1);
	link_down(&s, RMC_LANE_REQ, true);
	/* of the same unit */
	for (i = 0; i < 2; i++) {
		s.w.apps = 0;
		ordered_init(i ? &b : &a, &s);
		post_faa(i ? &b : &a);
	}
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8);
	CHECK_EQ(wait_app(&s, &s.a, 2), -1);
	app_fini(&b);
	CHECK_EQ(renewals(&s), 1);
	for (i = 0; i < unit->itt.size; i++)
		unit->itt.entry[i].deadline = unit->req_ms + 1;
	for (i = 0; i < s.w.opts.units; i++)
		unit->unit[i]->fenced = true;
	requests = testbed_stat(&s.w, 0, requests);
	pass_ms(&s, 1);
	CHECK_EQ(testbed_stat(&s.w, 0, requests), requests);
	CHECK_EQ(renewals(&s) + renew_later(&s), 0);
	CHECK_EQ(wait_app(&s, &s.a, 1), RMC_S_NODE_DOWN);
	CHECK(wait_app(&s, &a, 1) > 0);
	for (i = 0; i < s.w.opts.units; i++)
		unit->unit[i]->fenced = false;
	app_fini(&a);
	teardown(&s);
}

/* What has no credit to be sent keeps no worker awake for longer than a time-out, nor a stopped node. */
static void test_parks(const struct testbed_opts *o)
{
	struct rmc_node *unit;
	struct rmc_out *out;
	struct setup s;
	struct app a;
	u32 credits;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	unit = app_unit_qp(&a)->node;
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	out = unit->out[rmc_endpoint(unit->fabric, 1)];
	link_down(&s, RMC_LANE_REQ, true);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 1), -1);
	credits = out->credits;
	out->credits = 0;
	CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
	link_down(&s, RMC_LANE_REQ, false);
	pass_ms(&s, 19);
	CHECK_EQ(renewals(&s), 1);
	stop_node(&s, 0, true);
	CHECK(may_park(&s));
	stop_node(&s, 0, false);
	CHECK(!may_park(&s) || unit != s.w.node[0]);
	pass_ms(&s, 1);
	CHECK_EQ(renewals(&s), 0);
	CHECK_EQ(renew_later(&s), 1);
	CHECK(may_park(&s));
	out->credits = credits;
	/* nothing is broken, but the filter was not told */
	CHECK(rmc_order_hurry(unit, 1));
	pass_ms(&s, 1);
	CHECK_EQ(renew_later(&s), 0);
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	check_resume(&s, &a);
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

/*
 * The same beside another channel, whose packets that renew are lost, one in a time-out: these are no
 * new reason to wait for the credit of the first.
 */
static void test_parks_beside(const struct testbed_opts *o)
{
	struct rmc_out *out, *other = NULL;
	struct rmc_node *unit;
	struct setup s;
	struct app a;
	u32 credits, bit, i;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	ordered_init(&a, &s);
	unit = app_unit_qp(&a)->node;
	bit = 1U << group_of(&a);
	post_faa(&a);
	CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
	for (i = 0; i < rmc_fabric_rrpps(unit->fabric); i++) {
		out = unit->out[rmc_endpoint(unit->fabric, 1) + i];
		if (!(out->used & bit))
			other = out;
	}
	if (other) {
		other->used |= bit;
		credits = other->credits;
		other->credits = 0;
		link_down(&s, RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		pass_ms(&s, 45);
		for (i = 0; i < 40; i++) {
			pass_ms(&s, 1);
			CHECK_EQ(renewals(&s), 0);
		}
		CHECK(may_park(&s));
		link_down(&s, RMC_LANE_REQ, false);
		other->credits = credits;
		pass_ms(&s, 45);
		CHECK_EQ(renew_later(&s) + renewals(&s), 0);
		CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
		check_resume(&s, &a);
	}
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

/* A queue pair is gone with its loss: its filter heals, whatever becomes of the packet that says so. */
static void test_filter_heals(const struct testbed_opts *o)
{
	u32 i, served, errors;
	struct setup s;
	struct app a;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	for (i = 0; i < 4; i++) {
		if (i == 3)
			s.w.apps = 0;
		ordered_init(&a, &s);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 5), RMC_S_OK);
		errors = testbed_stat(&s.w, 1, serve_errors);
		link_down(&s, RMC_LANE_REQ, true);
		post_faa(&a);
		CHECK_EQ(wait_app(&s, &a, 5), -1);
		if (i == 2)
			CHECK_EQ(wait_app(&s, &a, 40), RMC_S_TIMEOUT);
		app_fini(&a);
		if (i == 1) {
			lose_renewals(&s);
		} else {
			link_down(&s, RMC_LANE_REQ, false);
			CHECK(i || filters_left(&s) > 0);
			CHECK(i || !may_park(&s) || !s.w.node[0]->renewals);
		}
		served = testbed_stat(&s.w, 1, served);
		if (!i)
			check_silent(&s, served, false);
		/* an ordinary queue pair of the same unit posts */
		if (i == 3)
			check_silent(&s, served++, true);
		/* behind a frontend the first one is lost before the time-out is seen */
		pass_ms(&s, i == 2 ? 22 : 3);
		/* one packet, to each channel that carried some, is enough */
		CHECK(testbed_stat(&s.w, 1, served) - served <= s.w.opts.rrpps);
		CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
		CHECK_EQ(renewals(&s) + renew_later(&s), 0);
		CHECK(may_park(&s));
		CHECK_EQ(testbed_stat(&s.w, 1, serve_errors), errors);
	}
	CHECK_EQ(testbed_stat(&s.w, 0, stale_replies), 0);
	check_quiet(&s);
	check_no_order(&s);
	teardown(&s);
}

/* A packet that has arrived waits for a slow server; the one behind it has not arrived. */
static void test_flush(const struct testbed_opts *o)
{
	struct rmc_fault way = { .delay_ns = 500 };
	struct setup s;
	struct app a;
	u64 *old;
	u32 i;

	setup(&s, o);
	old = (u64 *)data_at(DATA);
	ordered_init(&a, &s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &way, 1);
	post_stamp(&a);
	for (i = 0; i < 100; i++)
		one_visit(&s);
	CHECK_EQ(app_wait(&a), RMC_S_OK);
	for (i = 0; i < s.w.opts.units; i++)
		s.w.node[1]->unit[i]->links.slow_ns = 100000;
	post_faa(&a);
	for (i = 0; i < 8; i++)
		one_visit(&s);
	for (i = 1; i <= 6; i++) {
		old[i * 8] = 1;
		app_post(&a, RMC_OP_FAA, 1, LATCH, &old[i * 8], 8);
	}
	for (i = 0; i < 2; i++)
		one_visit(&s);
	CHECK_EQ(*word_at(LATCH), 0);
	for (i = 0; i < s.w.opts.units; i++)
		s.w.node[1]->unit[i]->links.slow_ns = 0;
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	for (i = 0; i <= 6; i++) {
		CHECK_EQ(app_wait(&a), RMC_S_OK);
		CHECK(!i || old[i * 8] == i);
	}
	check_quiet(&s);
	app_fini(&a);
	teardown(&s);
}

static const struct matrix_test tests[] = {
	{ "ordered queue pairs: a filter that has lost something stays", test_filter_removed },
	{ "ordered queue pairs: a filter heals", test_filter_heals },
	{ "ordered queue pairs: a filter that somebody waits for", test_hurry },
	{ "ordered queue pairs: a lost renewal beside an operation", test_lost_beside },
	{ "ordered queue pairs: groups that are told in turn", test_told_in_turn },
	{ "ordered queue pairs: groups that break again", test_breaks_again },
	{ "ordered queue pairs: broken groups and parking", test_parks },
	{ "ordered queue pairs: two channels of a broken group, and parking", test_parks_beside },
	{ "ordered queue pairs: a node that is fenced", test_fenced },
	{ "ordered queue pairs: filters that are flushed", test_flush },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), ordered_opts, ARRAY_SIZE(ordered_opts));
	return matrix_done();
}
