// SPDX-License-Identifier: GPL-2.0
/*
 * Ordered queue pairs on links that disorder packets, in virtual time. Each litmus test must fail
 * without RMC_QP_ORDERED, and never with it. After each visit the test looks at the server's memory:
 * what has taken effect in an earlier visit came first.
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
		CHECK(ring_qp(&a)->group);
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
			failed |= status && ring_qp(a)->group;
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

static const struct matrix_test tests[] = {
	{ "ordered queue pairs: litmus tests", test_litmus },
	{ "ordered queue pairs: nothing overtakes what was lost", test_loss },
};

int main(void)
{
	matrix_run(tests, ARRAY_SIZE(tests), ordered_opts, ARRAY_SIZE(ordered_opts));
	return matrix_done();
}
