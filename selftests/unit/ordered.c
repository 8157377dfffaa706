// SPDX-License-Identifier: GPL-2.0
/*
 * Ordered queue pairs on links that disorder packets, in virtual time. Each litmus test must fail
 * without RMC_QP_ORDERED, and never with it. After each visit the test looks at the server's memory:
 * what has taken effect in an earlier visit came first. And who gets which group.
 */
#include "ordered.h"

#define ROUNDS	150

/* What one round of a litmus test has seen: numbers of visits; 0: not yet */
struct seen {
	u32 latch;	/* the latch changed */
	u32 first;	/* the first line of the data changed */
	u32 last;	/* all of it has */
	u32 notified;	/* a notification has come */
	bool hole;	/* a line changed before one at a lower address */
};

struct litmus {
	const char *name;
	void (*post)(struct app *a, u32 bytes);
	bool (*wrong)(const struct seen *seen);
};

static void faa_read(struct app *a, u32 bytes)
{
	post_faa(a);
	post_stamp(a);
}

static void faa_write(struct app *a, u32 bytes)
{
	post_faa(a);
	post_write(a, bytes);
}

static void write_faa(struct app *a, u32 bytes)
{
	post_write(a, bytes);
	post_faa(a);
}

static void write_write(struct app *a, u32 bytes)
{
	*(u64 *)data_at(LATCH) = version;
	post_write(a, bytes);
	app_post(a, RMC_OP_WRITE, 1, LATCH, data_at(LATCH), 8);
}

static void notify_write(struct app *a, u32 bytes)
{
	u32 i;

	*(u64 *)data_at(LATCH) = version;
	for (i = 0; i < bytes / 8; i++)
		((u64 *)data_at(DATA))[i] = version;
	app_post(a, RMC_OP_WRITE_NOTIFY, 1, DATA, data_at(DATA), bytes);
	app_post(a, RMC_OP_WRITE, 1, LATCH, data_at(LATCH), 8);
}

static bool read_first(const struct seen *s)
{
	return *(u64 *)data_at(STAMP) < s->latch;
}

static bool data_first(const struct seen *s)
{
	return s->first < s->latch;
}

static bool latch_first(const struct seen *s)
{
	return s->latch < s->last;
}

static bool not_notified(const struct seen *s)
{
	return s->latch < s->notified;
}

static bool hole(const struct seen *s)
{
	return s->hole;
}

static const struct litmus litmus[] = {
	{ "A: atomic, read", faa_read, read_first },
	{ "A: atomic, write", faa_write, data_first },
	{ "W: write, atomic", write_faa, latch_first },
	{ "O: write, write", write_write, latch_first },
	{ "O: one write", write_faa, hole },
	{ "O: notify, write", notify_write, not_notified },
};

static void look(struct setup *t, struct seen *s, u64 latch, u32 notified, u32 bytes)
{
	u32 lines = 0, at;

	if (!s->notified && t->seg_mem->notified.count != notified)
		s->notified = visits;

	if (!s->latch && *word_at(LATCH) != latch)
		s->latch = visits;
	for (at = 0; at < bytes; at += RMC_LINE)
		lines += *word_at(DATA + at) == version;
	if (lines && !s->first)
		s->first = visits;
	if (lines * RMC_LINE == bytes && !s->last)
		s->last = visits;
	for (at = 0; at < lines * RMC_LINE; at += RMC_LINE)
		s->hole |= *word_at(DATA + at) != version;
}

/* Rounds of a litmus test that saw the wrong order */
static u32 rounds(struct setup *s, struct app *a, const struct litmus *l, u32 bytes)
{
	u32 i, slot, status, done, wrong = 0;

	for (i = 0; i < ROUNDS; i++) {
		u32 notified = s->seg_mem->notified.count;
		u64 latch = *word_at(LATCH);
		struct seen seen = { };

		version++;
		l->post(a, bytes);
		for (done = 0; done < 2;) {
			one_visit(s);
			look(s, &seen, latch, notified, bytes);
			while (app_poll(a, &slot, &status)) {
				CHECK_EQ(status, RMC_S_OK);
				done++;
			}
		}
		wrong += l->wrong(&seen);
	}
	return wrong;
}

static void disorder(struct setup *s, const struct rmc_fault *requests)
{
	const struct rmc_fault replies = { .jitter_ns = 3000, .dup = 200000, .gap_ns = 500 };

	fault_set(&s->w, 0, 1, RMC_LANE_REQ, requests, 11);
	fault_set(&s->w, 1, 0, RMC_LANE_REP, &replies, 12);
}

static void test_litmus(const struct testbed_opts *o)
{
	static const struct rmc_fault faults[] = {
		{ .delay_ns = 500, .jitter_ns = 5000 },
		{ .reorder = 300000, .gap_ns = 3000, .shuffle = RMC_ALWAYS },
	};
	u32 bytes = max(2048u, 3 * o->mtu), i, j, with, without;
	bool several;
	struct setup s;
	struct app a;

	for (j = 0; j < ARRAY_SIZE(faults); j++) {
		setup(&s, o);
		several = s.w.opts.rrpps > 1;
		ordered_init(&a, &s);
		CHECK(app_unit_qp(&a)->group);
		CHECK_EQ(!!app_unit_qp(&a)->to, several);
		CHECK(!a.qp.front || !a.qp.to);
		disorder(&s, &faults[j]);
		for (i = 0; i < ARRAY_SIZE(litmus); i++) {
			without = rounds(&s, &s.a, &litmus[i], bytes);
			with = rounds(&s, &a, &litmus[i], bytes);
			printf("# %-17s %s: wrong in %u of %u rounds, ordered %u\n", litmus[i].name,
			       j ? "reorder" : "jitter", without, ROUNDS, with);
			CHECK(without > 0);
			CHECK_EQ(with, 0);
		}
		CHECK_EQ(!!testbed_stat(&s.w, 0, order_stalls), several);
		check_all_answered(&a);
		check_quiet(&s);
		check_no_order(&s);
		app_fini(&a);
		teardown(&s);
	}
}

/*
 * The data, then a flag, again and again: the flag never names what is not there. Goes on at once
 * when something has failed, every other time when nothing is in flight.
 */
static u32 aborted;

static u32 publish(struct setup *s, struct app *a, u32 bytes)
{
	u32 i, at, slot, status, quiet = 0, flying = 0, early = 0, ok = 0, late = 0;
	bool failed = false;
	u64 flag, *w;

	for (i = 0; i < 150 || flying || failed;) {
		if (failed && (i % 4 || !flying)) {
			post_resume(a);
			flying++;
			failed = false;
		}
		if (i < 150 && flying <= 12 && !failed) {
			w = (u64 *)data_at(DATA + i % 4 * bytes);
			version++;
			for (at = 0; at < bytes / 8; at++)
				w[at] = version;
			app_post(a, RMC_OP_WRITE, 1, DATA, w, bytes);
			w = (u64 *)data_at(FLAG + i % 16 * 8);
			*w = version;
			app_post(a, RMC_OP_WRITE, 1, FLAG, w, 8);
			flying += 2;
			i++;
		}
		one_visit(s);
		flag = *word_at(FLAG);
		for (at = 0; at < bytes; at += RMC_LINE)
			if (*word_at(DATA + at) < flag)
				break;
		early += at < bytes;
		quiet++;
		while (app_poll(a, &slot, &status)) {
			CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT ||
			      status == RMC_S_ABORTED);
			aborted += status == RMC_S_ABORTED;
			ok += status == RMC_S_OK;
			late += status == RMC_S_TIMEOUT;
			failed |= status && app_unit_qp(a)->group;
			flying--;
			quiet = 0;
		}
		if (quiet > 100)
			testbed_tick(&s->w, 1);
	}
	CHECK(ok > 0 && late > 0);
	return early;
}

static void loss_with(const struct testbed_opts *o)
{
	struct rmc_fault loss = { .loss = 20000, .jitter_ns = 2000 };
	u32 bytes = max(512u, min(4096u, 2 * o->mtu)), without, with;
	struct setup s;
	struct app a;

	/* a packet of many is lost at least so often */
	if (bytes / o->mtu < 4)
		loss.loss = 60000;
	setup(&s, o);
	ordered_init(&a, &s);
	set_timeout(&s, 20, 0);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &loss, 21);
	without = publish(&s, &s.a, bytes);
	CHECK_EQ(aborted, 0);
	memset(seg, 0, SEG);
	with = publish(&s, &a, bytes);
	printf("# flag before the data: in %u visits, ordered in %u\n", without, with);
	CHECK(without > 0);
	CHECK_EQ(with, 0);
	check_all_answered(&a);
	check_no_order(&s);

	/* they are not retried */
	set_timeout(&s, 20, 200);
	publish(&s, &a, bytes);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 0);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	check_quiet(&s);
	CHECK_EQ(app_run(&a, RMC_OP_WRITE, 1, 0, lbuf, SEG), RMC_S_OK);
	/* each RRPP has had a packet since */
	CHECK(fault_clear(&s.w, 0, 1, RMC_LANE_REQ));
	app_fini(&a);
	teardown(&s);
}

static void test_loss(const struct testbed_opts *o)
{
	struct testbed_opts few = *o;

	aborted = 0;
	loss_with(o);
	/* most operations wait in the WQ */
	aborted = 0;
	few.itt = 8;
	loss_with(&few);
	CHECK(aborted > 0);
}

/* A user, or a tenant without one, has a group more while it has fewer than are free. */
static void test_tenants(const struct testbed_opts *o)
{
	struct rmc_tenant *user = rmc_tenant_create(1, NULL), *tenant[40];
	u32 i, own = 0, others = 0, shared = 0;
	struct rmc_qpair qp[128];
	struct setup s;

	setup(&s, o);
	/* eight contexts of a user, and others */
	for (i = 0; i < ARRAY_SIZE(tenant); i++)
		tenant[i] = rmc_tenant_create(1, i < 8 ? user : NULL);
	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = (struct rmc_qpair){ .node = s.w.node[0], .group = 1 };
		qp[i].tenant = tenant[i < 48 ? i % 8 : min(i - 40, 39u)];
	}
	for (i = 0; i < 48; i++) {
		rmc_order_join(&qp[i]);
		CHECK(qp[i].group > 0 && qp[i].group < RMC_REQ_GROUPS);
		own |= 1U << qp[i].group;
	}
	CHECK_EQ(hweight64(own), 16);
	/* shared evenly */
	for (i = 1; i < RMC_REQ_GROUPS; i++)
		CHECK_EQ(s.w.node[0]->group[i].qps / 3, own >> i & 1);
	for (i = 1; qp[i].group != qp[0].group; i++)
		;
	rmc_order_leave(&qp[0]);
	rmc_order_leave(&qp[i]);
	rmc_order_join(&qp[0]);
	rmc_order_join(&qp[i]);
	CHECK_EQ(s.w.node[0]->group[qp[0].group].qps, 3);
	CHECK_EQ(qp[0].group, qp[i].group);
	/* newcomers find one, while there are any */
	for (i = 48; i < 63; i++) {
		rmc_order_join(&qp[i]);
		CHECK(!(own & 1U << qp[i].group) && !(others & 1U << qp[i].group));
		others |= 1U << qp[i].group;
	}
	/* then that with the fewest queue pairs */
	for (i = 63; i < 78; i++) {
		rmc_order_join(&qp[i]);
		CHECK(others & 1U << qp[i].group && !(shared & 1U << qp[i].group));
		shared |= 1U << qp[i].group;
	}
	/* who has one shares that */
	qp[120].tenant = tenant[10];
	rmc_order_join(&qp[120]);
	CHECK_EQ(qp[120].group, qp[50].group);
	rmc_order_leave(&qp[120]);
	/* it is free when its last queue pair has gone */
	for (i = 48; i < 78; i++) {
		rmc_order_leave(&qp[i]);
		CHECK_EQ(s.w.node[0]->group[qp[i].group].qps, i < 63);
	}
	for (i = 0; i < 48; i++)
		rmc_order_leave(&qp[i]);
	for (i = 0; i < RMC_REQ_GROUPS; i++)
		CHECK_EQ(s.w.node[0]->group[i].qps, 0);
	for (i = 0; i < ARRAY_SIZE(tenant); i++)
		rmc_tenant_destroy(tenant[i]);
	rmc_tenant_destroy(user);
	teardown(&s);
}

/* Who has left a group to those that share it owns it no more, nor does another one at its address. */
static void test_owner_gone(const struct testbed_opts *o)
{
	struct rmc_tenant *tenant[RMC_REQ_GROUPS];
	struct rmc_qpair qp[RMC_REQ_GROUPS];
	struct rmc_order_group *group;
	u32 last = RMC_REQ_GROUPS - 1, i, owner, other;
	struct setup s;

	setup(&s, o);
	group = s.w.node[0]->group;
	for (i = 0; i <= last; i++) {
		tenant[i] = rmc_tenant_create(1, NULL);
		qp[i] = (struct rmc_qpair){ .node = s.w.node[0], .group = 1, .tenant = tenant[i] };
		rmc_order_join(&qp[i]);
	}
	for (owner = 0; qp[owner].group != qp[last].group; owner++)
		;
	CHECK(owner < last);
	CHECK_EQ(group[qp[last].group].owners, 1);
	rmc_order_leave(&qp[owner]);
	CHECK(!group[qp[last].group].owner);
	other = !owner;
	rmc_order_leave(&qp[other]);
	/* the one that is free, as for any newcomer */
	rmc_order_join(&qp[owner]);
	CHECK_EQ(qp[owner].group, qp[other].group);
	/* who shares it, and then has it alone, is not counted as its owner; the next one is */
	rmc_order_leave(&qp[last]);
	CHECK_EQ(group[qp[last].group].qps, 0);
	rmc_order_join(&qp[other]);
	CHECK_EQ(qp[other].group, qp[last].group);
	CHECK(group[qp[other].group].owner == tenant[other]);
	for (i = 0; i < last; i++)
		rmc_order_leave(&qp[i]);
	for (i = 0; i <= last; i++) {
		CHECK(!group[i].owner);
		CHECK_EQ(group[i].qps + group[i].owners, 0);
		rmc_tenant_destroy(tenant[i]);
	}
	teardown(&s);
}

/* What ends with its queue pair in flight is not counted any more; groups are shared. */
static void test_ends(const struct testbed_opts *o)
{
	struct rmc_fault slow = { .delay_ns = 1000000 };
	struct app a, more[70];
	struct setup s;
	u32 i, k, used = 0;

	setup(&s, o);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &slow, 1);
	for (i = 0; i < 4; i++) {
		ordered_init(&a, &s);
		for (k = 0; k < 20; k++) {
			post_faa(&a);
			post_write(&a, 512);
		}
		for (k = 0; k < 100; k++)
			testbed_visit(&s.w);
		app_fini(&a);
	}
	check_no_order(&s);
	/* what was in flight, and what says that it is lost */
	for (i = 0; i < 4; i++) {
		testbed_tick(&s.w, 2);
		testbed_settle(&s.w);
	}
	check_quiet(&s);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		u32 group;

		ordered_init(&more[i], &s);
		group = app_unit_qp(&more[i])->group;
		CHECK(group > 0 && group < RMC_REQ_GROUPS);
		used |= 1U << group;
		post_faa(&more[i]);
		post_stamp(&more[i]);
	}
	CHECK(hweight64(used) >= 15);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		CHECK_EQ(app_wait(&more[i]), RMC_S_OK);
		CHECK_EQ(app_wait(&more[i]), RMC_S_OK);
		check_all_answered(&more[i]);
		app_fini(&more[i]);
	}
	check_no_order(&s);
	for (i = 0; i < s.w.opts.units * RMC_REQ_GROUPS; i++)
		CHECK_EQ(s.w.node[0]->unit[i / RMC_REQ_GROUPS]->group[i % RMC_REQ_GROUPS].qps, 0);
	teardown(&s);
}

static const struct matrix_test tests[] = {
	{ "ordered queue pairs: litmus tests", test_litmus },
	{ "ordered queue pairs: nothing overtakes what was lost", test_loss },
	{ "ordered queue pairs: many, and their ends", test_ends },
	{ "ordered queue pairs: groups of tenants", test_tenants },
	{ "ordered queue pairs: groups whose owner has gone", test_owner_gone },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), ordered_opts, ARRAY_SIZE(ordered_opts));
	return matrix_done();
}
