/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Holds of <rmc/sync.h>, and operations that are lost, aborted or refused: each one of a
 * call, in each way; and what others do before it is known. Operations are executed as they
 * are issued.
 */
#include <errno.h>
#include "sync_test.h"

/* --- every operation of a call, and every fault --- */

/* The latch is free at once when the write has arrived. */
#define COMMITS_AT_ONCE	(RMC_SYNC_COMBINE | RMC_SYNC_WRITE_UNLATCH)

struct trial {
	const char *row;
	unsigned int flags;
	int upgrades;			/* read, upgrade, commit */
	int cancels;			/* no commit */
	int ordered;			/* the queue pair stops */
	enum fault fault;
	unsigned int at, faults;
};

/* One hold with a fault: the status of its last call */
static int faulty_hold(struct rmc_sync *s, const struct trial *t, struct rmc_hold *h)
{
	int err = t->upgrades ? rmc_sync_read(s, 0, h) : rmc_sync_write(s, 0, h);

	if (!err && t->upgrades)
		err = rmc_sync_upgrade(s, h);
	if (err)
		return err;
	CHECK(is_whole(h, 1));
	fill((uint8_t *)h->data, LEN, 2);
	return t->cancels ? rmc_sync_cancel(s, h) : rmc_sync_commit(s, h);
}

/*
 * Another node: it finds the object in one state, whatever has happened, or latched if the
 * first one says so. It can write it.
 */
static void other_node(struct fixture *w, const struct trial *t, int err,
		       const struct rmc_sync_stats *first)
{
	struct rmc_sync_options o = options_of(w, t->row, 0);
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	int state;

	o.latch = options_of(w, t->row, t->flags).latch;
	o.flags = t->flags | RMC_SYNC_TRUST_ORDER;
	o.nid = 6;
	o.max = LEN;
	o.pool += SLOTS * rmc_sync_copy_bytes(LEN);
	s = rmc_sync_open(&w->qp, &o);
	CHECK(s != NULL);
	state = rmc_sync_write(s, 0, &h);
	if (state) {
		/* torn and not latched: no writer may leave that, unless it has said so */
		CHECK(state == RMC_SCHEME_LOCKED ? first->unlocks_lost || first->quarantined :
		      state == RMC_SCHEME_TORN && first->damaged);
		rmc_sync_close(s);
		return;
	}
	state = h.data ? ((const uint8_t *)h.data)[0] : 0;
	CHECK(is_whole(&h, (uint8_t)state));
	CHECK(t->cancels ? state == 1 : err ? state == 1 || state == 2 : state == 2);
	fill((uint8_t *)h.data, LEN, 3);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(is_whole(&h, 3));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	rmc_sync_close(s);
}

/* The program tries once more, without a link: that must not free what the first hold has left. */
static void second_hold(struct fixture *w, struct rmc_sync *s)
{
	struct rmc_hold h = { .len = LEN };

	w->fault = LINK_DOWN;
	w->faults = 100;
	w->fault_at = 1;
	CHECK(rmc_sync_write(s, 0, &h) != 0);
	w->fault_at = 0;
	rmc_sync_drain(s);
}

/* True: the fault has happened. */
static int try_fault(const struct trial *t)
{
	struct rmc_hold h = { .len = LEN };
	const struct rmc_scheme *layout;
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	uint8_t first[LEN];
	struct rmc_sync *s;
	struct fixture w;
	char where[96];
	int err, late;

	snprintf(where, sizeof(where), "%s %x%s%s, fault %d%s of operation %u, %u times", t->row,
		 t->flags, t->upgrades ? " upgrade" : "", t->cancels ? " cancel" : "",
		 (int)t->fault, t->ordered ? ", stops" : "", t->at, t->faults);
	tap_where = where;
	fixture_init_with(&w, NULL, 1);
	o = options_of(&w, t->row, t->flags);
	o.max = LEN;
	o.attempts = 6;
	s = rmc_sync_open(&w.qp, &o);
	layout = rmc_sync_layout(&o);
	rmc_scheme_init(layout, (struct rmc_object *)w.segment, LEN);
	fill(first, LEN, 1);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	fill((uint8_t *)h.data, LEN, 1);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	h.hint = 0;
	w.stops = t->ordered;
	w.fault = t->fault;
	w.faults = t->faults;
	w.fault_at = t->at;
	err = faulty_hold(s, t, &h);
	late = rmc_sync_drain(s);
	err = err ? err : late;
	late = w.faults < t->faults;
	if (err && err != -ENOSPC)
		second_hold(&w, s);
	rmc_sync_stats(s, &stats);
	rmc_sync_close(s);
	/* it goes on, and as often as it has stopped */
	CHECK(!w.stopped);
	CHECK_EQ(w.resumes, w.failures);
	w.fault_at = 0;
	/* one fault is overcome, unless nobody can know, or the link is down */
	CHECK(!err || t->faults > 1 || t->fault >= LINK_DOWN || stats.unlocks_lost ||
	      stats.quarantined);
	/* only if a link comes back between a write and the release behind it */
	CHECK(!stats.damaged || (t->fault >= LINK_DOWN && t->flags & COMMITS_AT_ONCE));
	if (err != RMC_SCHEME_TORN)
		other_node(&w, t, err, &stats);
	fixture_fini(&w);
	tap_where = NULL;
	return late;
}

static void each_operation(struct trial t)
{
	static const unsigned int times[] = { 1, 100 };
	unsigned int i, k;

	for (k = 0; k < 2; k++) {
		t.faults = times[k];
		for (i = LOSE_REQUEST; i < FAULTS; i++) {
			t.fault = (enum fault)i;
			/* what needs order has it */
			for (t.ordered = !!(t.flags & COMMITS_AT_ONCE); t.ordered < 2; t.ordered++) {
				t.at = 1;
				while (try_fault(&t) && t.at < 20)
					t.at++;
				CHECK(t.at > 1 && t.at < 20);
			}
		}
	}
}

static void each_fault(void)
{
	static const struct trial trials[] = {
		{ .row = "rw" }, { .row = "rw", .flags = RMC_SYNC_SPEC },
		{ .row = "rw", .flags = RMC_SYNC_SPEC | RMC_SYNC_COMBINE },
		{ .row = "rw", .flags = ALL }, { .row = "rw", .cancels = 1 },
		{ .row = "rw", .upgrades = 1 },
		{ .row = "excl", .flags = RMC_SYNC_COMBINE },
		{ .row = "excl", .flags = UNLATCH },
		{ .row = "versioning", .flags = UNLATCH | RMC_SYNC_ASYNC },
		{ .row = "versioning", .upgrades = 1, .flags = RMC_SYNC_SPEC },
		{ .row = "sabre" }, { .row = "sabre", .flags = ALL },
		{ .row = "sabre", .cancels = 1 }, { .row = "sabre", .upgrades = 1 },
		{ .row = "farm", .flags = RMC_SYNC_SPEC | RMC_SYNC_COMBINE },
		{ .row = "farm", .cancels = 1 }, { .row = "farm", .upgrades = 1 },
		{ .row = "crc64", .flags = UNLATCH }, { .row = "out-of-place" },
		{ .row = "mark-out-of-place" }, { .row = "mark-out-of-place", .cancels = 1 },
		{ .row = "mark-out-of-place", .upgrades = 1 }, { .row = "switch" },
		{ .row = "switch", .flags = RMC_SYNC_SPEC }, { .row = "switch", .cancels = 1 },
		{ .row = "switch", .upgrades = 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		each_operation(trials[i]);
}

/* A lost reply is decided for upgrades as well; of a late request, the count is in doubt. */
static void lost_upgrades(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync_stats stats;
	struct rmc_sync *s;
	struct fixture w;
	int i;

	for (i = 0; i < 5; i++) {
		fixture_init_with(&w, NULL, 1);
		o = options_of(&w, "rw", 0);
		if (i & 1)
			o.flags &= ~RMC_SYNC_TRUST_ORDER;
		s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
		/* one reply, one request, all of them */
		w.lose_swaps = i < 1 ? 0 : i < 3 ? 1 : 100;
		w.lose_replies = !i;
		CHECK_EQ(rmc_sync_upgrade(s, &h), i < 3 ? 0 : RMC_S_TIMEOUT);
		if (i < 3)
			CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK(i < 3 || w.lose_swaps > 80);
		w.lose_swaps = 0;
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK_EQ(word_at(&w, 0), i == 3);
		rmc_sync_stats(s, &stats);
		CHECK_EQ(stats.unlocks_lost, i == 3);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
}

/* --- lost packets: whatever was lost, the data is right and no latch stays --- */

static void lose(const char *name, unsigned int flags, unsigned int op, int replies)
{
	struct rmc_hold h = { .len = LEN };
	const struct rmc_scheme *layout;
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	char where[64];
	struct fixture w;
	int i, err;

	fixture_init_with(&w, NULL, 1);
	o = options_of(&w, name, flags);
	o.attempts = 10;
	snprintf(where, sizeof(where), "%s %x, operation %u, %s", name, flags, op,
		 replies ? "reply" : "request");
	layout = rmc_sync_layout(&o);
	rmc_scheme_init(layout, (struct rmc_object *)w.segment, LEN);
	s = rmc_sync_open(&w.qp, &o);
	w.lose_op = op;
	w.stops = !!(flags & COMMITS_AT_ONCE);
	tap_where = where;
	for (i = 1; i <= 6; i++) {
		w.lose_swaps = replies ? 0 : i % 3;
		w.lose_replies = replies ? i % 3 : 0;
		err = rmc_sync_write(s, 0, &h);
		CHECK_EQ(err, 0);
		if (err)
			break;
		CHECK(is_whole(&h, (uint8_t)(i - 1)));
		fill((uint8_t *)h.data, LEN, (uint8_t)i);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
	}
	w.lose_swaps = w.lose_replies = 0;
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(is_whole(&h, 6));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.unlocks_lost, 0);
	rmc_sync_close(s);
	CHECK(!rmc_scheme_read(layout, (struct rmc_object *)w.segment, w.memory, LEN));
	CHECK(w.memory[0] == 6 && whole(w.memory, LEN));
	fixture_fini(&w);
	tap_where = NULL;
}

static void lost(void)
{
	static const struct {
		const char *row;
		unsigned int flags, op;
	} cases[] = {
		{ "rw", 0, RMC_OP_CAS }, { "rw", 0, RMC_OP_FAA }, { "rw", 0, RMC_OP_WRITE },
		{ "rw", 0, RMC_OP_READ }, { "rw", RMC_SYNC_SPEC, RMC_OP_CAS },
		{ "rw", RMC_SYNC_SPEC, RMC_OP_READ }, { "rw", ALL, RMC_OP_CAS },
		{ "rw", ALL, RMC_OP_FAA }, { "excl", 0, RMC_OP_CAS }, { "excl", ALL, RMC_OP_CAS },
		{ "excl", UNLATCH, RMC_OP_CAS }, { "excl", UNLATCH, RMC_OP_WRITE },
		{ "versioning", UNLATCH | RMC_SYNC_ASYNC, RMC_OP_WRITE },
		{ "versioning", 0, RMC_OP_READ }, { "farm", UNLATCH, RMC_OP_WRITE },
		{ "crc64", UNLATCH, RMC_OP_CAS },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lose(cases[i].row, cases[i].flags, cases[i].op, 0);
		lose(cases[i].row, cases[i].flags, cases[i].op, 1);
	}
}

/* What nobody can know is reported, and not repeated. */
static void lost_counts(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	s = sync_of(&w, "rw", 0);
	w.lose_op = RMC_OP_FAA;
	w.lose_replies = 1;
	CHECK_EQ(rmc_sync_read(s, 0, &h), RMC_S_TIMEOUT);
	CHECK(word_at(&w, 0) == 1);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.unlocks_lost, 1);
	rmc_sync_close(s);
	CHECK(word_at(&w, 0) == 1);
	fixture_fini(&w);
}

static unsigned int late_cas;
static uint64_t late_word;

/* The request that was lost arrives after the word was read. */
static void arrives_late(struct fixture *w, const struct fake_op *op)
{
	if (op->op == RMC_OP_CAS && ++late_cas == 1)
		late_word = ((const uint64_t *)(uintptr_t)op->lbuf)[1];
	if (op->op == RMC_OP_CAS && late_cas == 2)
		set_word(w, 0, late_word);
}

static void late(void)
{
	static const char * const name[] = { "rw", "excl", "sabre" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	int i;

	for (i = 0; i < 3; i++) {
		fixture_init_with(&w, NULL, 1);
		late_cas = 0;
		h.hint = 0;
		w.before = arrives_late;
		w.lose_swaps = 1;
		o = options_of(&w, name[i], 0);
		o.flags &= ~RMC_SYNC_TRUST_ORDER;
		s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		CHECK_EQ(late_cas, 2);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK(word_at(&w, 0) == (i == 2 ? 2 : 0));
		rmc_sync_close(s);
		fixture_fini(&w);
	}
}

/* A release that is lost is not repeated over somebody else's latch. */
static void taken_meanwhile(struct fixture *w, const struct fake_op *op)
{
	if (op->op == RMC_OP_FAA && !*(const uint64_t *)(uintptr_t)op->lbuf)
		set_word(w, 0, RW(9, 0));
}

static void repeated_release(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	w.before = taken_meanwhile;
	s = sync_of(&w, "rw", 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	w.lose_op = RMC_OP_FAA;
	w.lose_replies = 1;
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(word_at(&w, 0) == (RW(9, 0)));
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- others, before the outcome is known --- */

static struct {
	uint64_t at, from, to;		/* the word becomes to if it is from */
	int done;
} meanwhile;

/* Before a lost operation is decided: it is a read of a word, or the operation once more */
static void word_changes(struct fixture *w, const struct fake_op *op)
{
	if (!w->fault_at || w->faults || op->offset != meanwhile.at || meanwhile.done)
		return;
	meanwhile.done = 1;
	if (word_at(w, meanwhile.at) == meanwhile.from)
		set_word(w, meanwhile.at, meanwhile.to);
}

static void next_fault(struct fixture *w, enum fault fault, unsigned int at)
{
	w->before = word_changes;
	w->fault = fault;
	w->faults = 1;
	w->fault_at = at;
	meanwhile.done = 0;
}

/* Words of other holders: of another node, and of this one's next holds */
#define ODD(NID, V)	((uint64_t)((NID) + 1) << 53 | (V))
#define MARKED(NID)	(1ULL << 58 | (uint64_t)((NID) + 1) << 13)

/* An atomic that was lost is not taken for that of another holder. */
static void not_ours(void)
{
	static const struct {
		const char *row;
		uint64_t other;
	} rows[] = {
		{ "sabre", ODD(6, 1) }, { "farm", ODD(6, 1) }, { "mark-out-of-place", MARKED(6) },
		{ "rw", RW(5, 1) }, { "rw", RW(5, 0) | 77ULL << 39 }, { "excl", 77ULL << 19 | 6 },
	};
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (k = 0; k < 2; k++) {
			fixture_init_with(&w, NULL, 1);
			o = options_of(&w, rows[i].row, 0);
			o.max = LEN;
			if (k)
				o.flags &= ~RMC_SYNC_TRUST_ORDER;
			s = rmc_sync_open(&w.qp, &o);
			meanwhile.at = meanwhile.from = 0;
			meanwhile.to = rows[i].other;
			next_fault(&w, LOSE_REQUEST, i == 2 ? 3 : 1);
			tap_where = rows[i].row;
			CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
			CHECK(meanwhile.done);
			CHECK_EQ(rmc_sync_drain(s), 0);
			CHECK(word_at(&w, 0) == rows[i].other);
			rmc_sync_close(s);
			CHECK(word_at(&w, 0) == rows[i].other);
			fixture_fini(&w);
		}
	}
	tap_where = NULL;
}

/* A release that was executed is not repeated over the next hold, whoever's it is. */
static void next_hold(void)
{
	static const struct {
		const char *row;
		int cancels;
		uint64_t from, to;
	} rows[] = {
		{ "sabre", 1, 2, ODD(6, 3) }, { "farm", 1, 0, ODD(6, 1) }, { "sabre", 0, 2, ODD(6, 3) },
		{ "mark-out-of-place", 1, 0, MARKED(6) }, { "rw", 1, 0, RW(5, 0) | 77ULL << 39 },
		{ "rw", 0, 0, RW(5, 0) | 77ULL << 39 }, { "excl", 0, 0, 77ULL << 19 | 6 },
	};
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_init_with(&w, NULL, 1);
		o = options_of(&w, rows[i].row, 0);
		o.max = LEN;
		s = rmc_sync_open(&w.qp, &o);
		tap_where = rows[i].row;
		h.hint = 0;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		meanwhile.at = 0;
		meanwhile.from = rows[i].from;
		meanwhile.to = rows[i].to;
		next_fault(&w, LOSE_REPLY, rows[i].cancels ? 1 : 2);
		CHECK_EQ(rows[i].cancels ? rmc_sync_cancel(s, &h) : rmc_sync_commit(s, &h), 0);
		CHECK(meanwhile.done);
		CHECK(word_at(&w, 0) == rows[i].to);
		rmc_sync_close(s);
		CHECK(word_at(&w, 0) == rows[i].to);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* While a release is repeated, its client does not take the object. */
static void own_next_hold(void)
{
	struct rmc_hold h[2] = { { .len = LEN }, { .len = LEN } }, *done;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	s = sync_of(&w, "farm", RMC_SYNC_ASYNC);
	CHECK_EQ(rmc_sync_write(s, 0, &h[0]), 0);
	w.lose_op = RMC_OP_CAS;
	w.lose_replies = 3;
	CHECK_EQ(rmc_sync_cancel(s, &h[0]), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rmc_sync_write(s, 0, &h[1]), 0);
		CHECK(word_at(&w, 0) == ODD(5, 1));
		CHECK_EQ(rmc_sync_poll(s, &done), 0);
		CHECK(word_at(&w, 0) == ODD(5, 1));
		CHECK_EQ(rmc_sync_cancel(s, &h[1]), 0);
	}
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(!word_at(&w, 0));
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- a queue pair that stops --- */

static void other_read_ends(struct rmc_sync *s, struct rmc_hold *h)
{
	struct rmc_hold *done;
	int i;

	for (i = 0; i < 100 && !rmc_sync_poll(s, &done); i++)
		;
	CHECK(i < 100 && is_whole(h, 0));
	CHECK_EQ(rmc_sync_end(s, h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
}

/* What was aborted since another operation has failed is no failed attempt. */
static void aborted_beside(void)
{
	struct rmc_hold h[3] = { { .len = LEN }, { .len = LEN }, { .len = LEN } }, *done;
	struct rmc_sync_options o;
	struct rmc_sync_stats stats;
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	w.stops = 1;
	w.lose_op = RMC_OP_READ;
	o = options_of(&w, "rw", ALL);
	o.attempts = 20;
	s = rmc_sync_open(&w.qp, &o);
	/* a read, whose buffer is visited first, is lost more often than a write is repeated */
	CHECK_EQ(rmc_sync_read(s, 1024, &h[0]), 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h[1]), 0);
	CHECK_EQ(rmc_sync_end(s, &h[0]), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	fill((uint8_t *)h[1].data, LEN, 1);
	w.lose_swaps = 12;
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 1024, &h[0]), 0);
	CHECK_EQ(rmc_sync_commit(s, &h[1]), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	other_read_ends(s, &h[0]);
	CHECK_EQ(rmc_sync_read(s, 0, &h[2]), 0);
	CHECK(is_whole(&h[2], 1));
	CHECK_EQ(rmc_sync_end(s, &h[2]), 0);
	/* an upgrade is no exception */
	CHECK_EQ(rmc_sync_read(s, 0, &h[1]), 0);
	w.lose_swaps = 12;
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 1024, &h[0]), 0);
	CHECK_EQ(rmc_sync_upgrade(s, &h[1]), 0);
	CHECK_EQ(rmc_sync_cancel(s, &h[1]), 0);
	other_read_ends(s, &h[0]);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.quarantined + stats.failed + stats.unlocks_lost, 0);
	CHECK_EQ(w.resumes, 24);
	CHECK_EQ(w.qp.error, 0);
	rmc_sync_close(s);
	CHECK(!w.stopped && !word_at(&w, 0) && !word_at(&w, 1024));
	/* one attempt is one, though others fail */
	o = options_of(&w, "versioning", 0);
	o.attempts = 1;
	s = rmc_sync_open(&w.qp, &o);
	w.lose_swaps = 1;
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 1024, &h[0]), 0);
	CHECK_EQ(rmc_sync_read(s, 2048, &h[1]), 0);
	CHECK_EQ(rmc_sync_end(s, &h[1]), 0);
	CHECK_EQ(rmc_sync_poll(s, &done), 1);
	CHECK_EQ(h[0].status, RMC_S_TIMEOUT);
	/* and what is aborted for another reason is not begun for ever */
	w.dies_at = 1;
	CHECK_EQ(rmc_sync_read(s, 0, &h[0]), RMC_S_ABORTED);
	w.dead = 0;
	/* one that was only taken for ordered is resumed once */
	w.stops = 0;
	w.lose_swaps = 2;
	CHECK_EQ(rmc_sync_read(s, 0, &h[0]), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_sync_read(s, 0, &h[0]), RMC_S_TIMEOUT);
	CHECK_EQ(w.refused, 1);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* It goes on when nothing is in flight. */
static void resumed_alone(void)
{
	struct rmc_hold h[2] = { { .len = LEN }, { .len = LEN } }, *done;
	struct rmc_sync_stats stats;
	struct rmc_sync *s;
	struct fixture w;
	int i, n = 0;

	fixture_init(&w);
	s = sync_of(&w, "versioning", 0);
	w.stops = 1;
	w.hold = 1;			/* the write's latch */
	w.fault = LOSE_REQUEST;
	w.faults = 1;
	w.fault_at = 2;			/* the read */
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_WRITE, 0, &h[0]), 0);
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 1024, &h[1]), 0);
	for (i = 0, stats.lost = 0; i < 100000 && !stats.lost; i++) {
		CHECK_EQ(rmc_sync_poll(s, &done), 0);
		rmc_sync_stats(s, &stats);
		usleep(10);
	}
	for (i = 0; i < 100; i++) {
		CHECK_EQ(rmc_sync_poll(s, &done), 0);
		usleep(10);
	}
	CHECK_EQ(__atomic_load_n(&w.resumes, __ATOMIC_ACQUIRE), 0);
	__atomic_store_n(&w.rmc.release, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 100000 && n < 2; i++) {
		n += rmc_sync_poll(s, &done);
		usleep(10);
	}
	CHECK_EQ(n, 2);
	CHECK_EQ(__atomic_load_n(&w.resumes, __ATOMIC_ACQUIRE), 1);
	CHECK_EQ(h[0].status + h[1].status, 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- writes that fail for good --- */

static void quarantine(void)
{
	static const struct {
		const char *row;
		unsigned int flags;
	} rows[] = {
		{ "rw", 0 }, { "rw", RMC_SYNC_SPEC | RMC_SYNC_COMBINE }, { "sabre", 0 },
		{ "excl", UNLATCH }, { "excl", UNLATCH | RMC_SYNC_ASYNC },
	};
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_init_with(&w, NULL, 1);
		w.stops = 1;
		tap_where = rows[i].row;
		s = sync_of(&w, rows[i].row, rows[i].flags);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		fill((uint8_t *)h.data, LEN, 1);
		w.lose_op = RMC_OP_WRITE;
		w.fault = LOSE_HALF;
		w.lose_swaps = 100;
		rmc_sync_commit(s, &h);
		CHECK_EQ(rmc_sync_drain(s), rows[i].flags & RMC_SYNC_ASYNC ? RMC_S_TIMEOUT : 0);
		CHECK_EQ(h.status, rows[i].flags & RMC_SYNC_ASYNC ? 0 : RMC_S_TIMEOUT);
		CHECK(w.lose_swaps > 80);		/* not for ever */
		w.lose_swaps = 0;
		rmc_sync_stats(s, &stats);
		CHECK_EQ(stats.quarantined, 1);
		/* nobody sees it, until it is taken over and written */
		CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
		CHECK_EQ(rmc_sync_take_over(s, 0, 4, &h), -ENOENT);
		CHECK_EQ(rmc_sync_take_over(s, 0, 5, &h), 0);
		CHECK(h.torn);
		fill((uint8_t *)h.data, LEN, 2);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
		CHECK(is_whole(&h, 2));
		CHECK_EQ(rmc_sync_end(s, &h), 0);
		CHECK_EQ(rmc_sync_take_over(s, 0, 5, &h), -ENOENT);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* --- copies --- */

static uint64_t forbidden;

static void never_again(struct fixture *w, const struct fake_op *op)
{
	word_changes(w, op);
	if (forbidden)
		CHECK(op->op != RMC_OP_WRITE || op->offset != forbidden);
}

/* A swap that nobody can decide: the new copy may be another client's by now. */
static void two_owners(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	o = options_of(&w, "out-of-place", 0);
	o.max = LEN;
	o.grace_us = 1;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	/* it was swapped twice since: two more in the sequence, at another client's copy */
	forbidden = POOL + (SLOTS - 1) * rmc_sync_copy_bytes(LEN);
	meanwhile.at = 0;
	meanwhile.from = forbidden / 64 << 24 | 1;
	meanwhile.to = (POOL + 8192ULL) / 64 << 24 | 2;
	next_fault(&w, LOSE_REPLY, 2);
	CHECK_EQ(rmc_sync_commit(s, &h), RMC_S_TIMEOUT);
	CHECK(meanwhile.done);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.quarantined, 1);
	w.before = never_again;
	set_word(&w, 0, 0);
	for (i = 0; i < 2 * SLOTS; i++) {
		h.hint = 0;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
	}
	rmc_sync_close(s);
	fixture_fini(&w);
	forbidden = 0;
	/* but one more in the sequence is another client's first: the slot is this one's still */
	fixture_init_with(&w, NULL, 1);
	s = rmc_sync_open(&w.qp, (o = options_of(&w, "out-of-place", 0), o.max = LEN, &o));
	h.hint = 0;
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	meanwhile.from = 0;
	meanwhile.to = (POOL + 8192ULL) / 64 << 24 | 1;
	next_fault(&w, LOSE_REQUEST, 2);
	CHECK_EQ(rmc_sync_commit(s, &h), RMC_SCHEME_TORN);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.quarantined, 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "each operation of a hold, lost, half lost, aborted or without a link", each_fault },
		{ "lost packets: the data is right and no latch stays", lost },
		{ "lost packets of upgrades", lost_upgrades },
		{ "what nobody can know is reported", lost_counts },
		{ "a request that was only late is recognized", late },
		{ "a lost release is not repeated over another one's latch", repeated_release },
		{ "an atomic that was lost is not taken for another holder's", not_ours },
		{ "a release is not repeated over the next hold", next_hold },
		{ "nor over the next one of the same client", own_next_hold },
		{ "what a stopped queue pair aborts is issued again", aborted_beside },
		{ "and resumed when nothing is in flight", resumed_alone },
		{ "a write that failed leaves the latch, until the object is taken over", quarantine },
		{ "a copy whose swap is in doubt is nobody's", two_owners },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
