/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Ends of <rmc/sync.h> in the middle of a hold: its holder dies in each operation of each write
 * program, or closes; and SABRes that hold an object. Operations are executed as they are issued.
 */
#include <errno.h>
#include "sync_test.h"

/* --- a node dies --- */

#define DEAD		5
#define OPERATIONS	16	/* of a survivor, to go on */

struct crash {
	const char *row;
	unsigned int flags;
	int upgrades;
	unsigned int at, lines;
};

/* What the dead node has done in its life: 1 is stored before, 2 is its last write. */
static int holder_dies(struct fixture *w, const struct rmc_sync_options *o, const struct crash *c)
{
	struct rmc_sync *s = rmc_sync_open(&w->qp, o);
	struct rmc_hold h = { .len = LEN };
	int err;

	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	fill((uint8_t *)h.data, LEN, 1);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	w->dies_at = c->at;
	w->dies_lines = c->lines;
	err = c->upgrades ? rmc_sync_read(s, 0, &h) : rmc_sync_write(s, 0, &h);
	if (!err && c->upgrades)
		err = rmc_sync_upgrade(s, &h);
	if (!err) {
		fill((uint8_t *)h.data, LEN, 2);
		rmc_sync_commit(s, &h);
		rmc_sync_drain(s);
	}
	rmc_sync_close(s);
	return w->dead;
}

/* Takes over what is latched, and writes it if it may be torn. Readers of rw: all are dead. */
static void recover(struct rmc_sync *s)
{
	struct rmc_hold h = { .len = LEN };
	int nid, err;

	for (nid = DEAD; nid >= -1; nid -= DEAD + 1) {
		err = rmc_sync_take_over(s, 0, nid, &h);
		CHECK(!err || err == -ENOENT || err == -EOPNOTSUPP);
		if (err)
			continue;
		if (h.torn)
			fill((uint8_t *)h.data, LEN, 9);
		else
			CHECK(is_whole(&h, ((uint8_t *)h.data)[0]));
		CHECK_EQ(h.torn ? rmc_sync_commit(s, &h) : rmc_sync_cancel(s, &h), 0);
	}
}

static void survivor(struct fixture *w, struct rmc_sync *s, int may_be_torn)
{
	struct rmc_hold h = { .len = LEN };
	int state;

	w->messages = 0;
	recover(s);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	state = h.data ? ((uint8_t *)h.data)[0] : 0;
	CHECK(is_whole(&h, (uint8_t)state));
	CHECK(state == 1 || state == 2 || (may_be_torn && state == 9));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK(is_whole(&h, (uint8_t)state));
	if (!h.data)
		return;
	fill((uint8_t *)h.data, LEN, 3);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(w->messages <= OPERATIONS);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(is_whole(&h, 3));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
}

/* True: the node has died. */
static int try_crash(const struct crash *c)
{
	struct rmc_sync_options o;
	struct fixture dead, w;
	struct rmc_sync *s;
	char where[96];
	int died;

	snprintf(where, sizeof(where), "%s %x%s, dead in operation %u, %u lines", c->row, c->flags,
		 c->upgrades ? " upgrade" : "", c->at, c->lines);
	tap_where = where;
	fixture_init_with(&dead, NULL, 1);
	fixture_init_with(&w, dead.segment, 1);
	o = options_of(&dead, c->row, c->flags);
	o.max = LEN;
	o.nid = DEAD;
	rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)dead.segment, LEN);
	died = holder_dies(&dead, &o, c);
	o.memory = w.memory;
	o.nid = 6;
	o.attempts = 1;
	o.pool += SLOTS * rmc_sync_copy_bytes(LEN);
	s = rmc_sync_open(&w.qp, &o);
	survivor(&w, s, !(o.scheme->needs & RMC_NEEDS_POOL));
	rmc_sync_close(s);
	fixture_fini(&w);
	fixture_fini(&dead);
	tap_where = NULL;
	return died;
}

static void crashes(void)
{
	static const struct crash crash[] = {
		{ .row = "rw" }, { .row = "rw", .flags = ALL }, { .row = "rw", .upgrades = 1 },
		{ .row = "excl" }, { .row = "excl", .flags = UNLATCH }, { .row = "versioning" },
		{ .row = "versioning", .flags = UNLATCH | RMC_SYNC_ASYNC },
		{ .row = "versioning", .upgrades = 1 }, { .row = "sabre" },
		{ .row = "sabre", .flags = ALL }, { .row = "sabre", .upgrades = 1 },
		{ .row = "farm" }, { .row = "farm", .flags = UNLATCH },
		{ .row = "farm", .flags = ALL }, { .row = "crc64" },
		{ .row = "crc64", .flags = UNLATCH }, { .row = "crc64-tables" },
		{ .row = "out-of-place" }, { .row = "mark-out-of-place" },
		{ .row = "mark-out-of-place", .upgrades = 1 }, { .row = "relaxed-farm" },
		{ .row = "relaxed-crc64" }, { .row = "switch" },
		{ .row = "switch", .flags = RMC_SYNC_SPEC | RMC_SYNC_ASYNC },
		{ .row = "switch", .upgrades = 1 },
	};
	struct crash c;
	unsigned int i, n;

	for (i = 0; i < sizeof(crash) / sizeof(crash[0]); i++) {
		c = crash[i];
		/* 256 bytes and words are at most six lines */
		for (c.lines = 0; c.lines <= 6; c.lines++) {
			for (c.at = n = 1; n && c.at < 20; c.at++)
				n = (unsigned int)try_crash(&c);
			CHECK(c.at > 3 && c.at < 20);
		}
	}
}

/* --- the one that takes over has faults --- */

struct taker {
	const char *row;
	unsigned int flags;
	int trusts, ordered;		/* the queue pair: is said to keep order; stops */
	int ends;			/* how: 0: commit, 1: cancel, 2: close */
	enum fault fault;
	unsigned int at, faults;
};

#define TAKER		6

static struct rmc_sync_options options_for(struct fixture *w, const struct taker *t, int nid)
{
	struct rmc_sync_options o = options_of(w, t->row, t->flags);

	if (!t->trusts)
		o.flags &= ~RMC_SYNC_TRUST_ORDER;
	o.max = LEN;
	o.nid = nid;
	o.pool += (uint64_t)(nid - DEAD) * SLOTS * rmc_sync_copy_bytes(LEN);
	return o;
}

/* State 1, and two lines of state 2, if it is written in place */
static void leave_half(struct fixture *w, const struct taker *t)
{
	const struct crash c = { .row = t->row, .flags = t->flags, .lines = 2 };
	struct rmc_sync_options o = options_for(w, t, DEAD);
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;

	o.flags |= RMC_SYNC_TRUST_ORDER;
	rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)w->segment, LEN);
	s = rmc_sync_open(&w->qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	fill((uint8_t *)h.data, LEN, 1);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	fill((uint8_t *)h.data, LEN, 2);
	w->dies_at = 1;
	w->dies_lines = c.lines;
	CHECK_EQ(rmc_sync_commit(s, &h), RMC_S_ABORTED);
	rmc_sync_close(s);
}

static int take(struct rmc_sync *s, int nid, int ends)
{
	struct rmc_hold h = { .len = LEN };
	int err = rmc_sync_take_over(s, 0, nid, &h);

	if (err)
		return err;
	CHECK(h.torn || is_whole(&h, 1) || is_whole(&h, 9));
	fill((uint8_t *)h.data, LEN, 9);
	if (ends == 2)
		return 0;
	return ends ? rmc_sync_cancel(s, &h) : rmc_sync_commit(s, &h);
}

/* A third node reads one state, or finds a latch, which is one of the two others'. */
static void third_node(struct fixture *w, const struct taker *t, int done, int lost)
{
	struct rmc_sync_options o = options_for(w, t, TAKER + 1);
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	int err;

	o.flags |= RMC_SYNC_TRUST_ORDER;
	s = rmc_sync_open(&w->qp, &o);
	err = rmc_sync_write(s, 0, &h);
	if (err) {
		CHECK(err == RMC_SCHEME_LOCKED && (!done || lost));
		err = take(s, TAKER, 0);
		if (err == -ENOENT)
			err = take(s, DEAD, 0);
		CHECK_EQ(err, 0);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	}
	CHECK(is_whole(&h, 9) || (!done && is_whole(&h, 1)));
	CHECK_EQ(rmc_sync_cancel(s, &h), 0);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(is_whole(&h, 9) || (!done && is_whole(&h, 1)));
	rmc_sync_close(s);
}

/* True: the fault has happened. */
static int try_taker(const struct taker *t)
{
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	struct fixture dead, w;
	struct rmc_sync *s;
	char where[96];
	int err, happened;

	snprintf(where, sizeof(where), "%s %x%s%s, end %d, fault %d of operation %u, %u times", t->row,
		 t->flags, t->trusts ? " trusted" : "", t->ordered ? " stops" : "", t->ends,
		 (int)t->fault, t->at, t->faults);
	tap_where = where;
	fixture_init_with(&dead, NULL, 1);
	fixture_init_with(&w, dead.segment, 1);
	leave_half(&dead, t);
	o = options_for(&w, t, TAKER);
	s = rmc_sync_open(&w.qp, &o);
	w.stops = t->ordered;
	w.fault = t->fault;
	w.faults = t->faults;
	w.fault_at = t->at;
	err = take(s, DEAD, t->ends);
	rmc_sync_drain(s);
	rmc_sync_stats(s, &stats);
	rmc_sync_close(s);
	happened = w.faults < t->faults;
	/* one fault is overcome; what two cannot say, also with a latch that it left */
	CHECK(!err || t->faults > 1 || t->fault >= LINK_DOWN ||
	      /* the write is the release, and nobody knows whether it came in one piece */
	      (stats.damaged && t->flags & RMC_SYNC_WRITE_UNLATCH && !t->ordered));
	w.fault_at = 0;
	w.stops = w.stopped = 0;
	third_node(&w, t, !err && !t->ends, stats.unlocks_lost > 0);
	fixture_fini(&w);
	fixture_fini(&dead);
	tap_where = NULL;
	return happened;
}

static void takers(void)
{
	static const struct taker taker[] = {
		{ .row = "rw" }, { .row = "excl" }, { .row = "excl", .flags = UNLATCH },
		{ .row = "versioning" }, { .row = "sabre" }, { .row = "farm" }, { .row = "crc64" },
		{ .row = "relaxed-farm" }, { .row = "farm", .flags = UNLATCH },
		{ .row = "mark-out-of-place" },
	};
	struct taker t;
	unsigned int i, fault, k;

	for (i = 0; i < sizeof(taker) / sizeof(taker[0]); i++) {
		for (k = 0; k < 18; k++) {
			t = taker[i];
			/* without order, with it, and stopping */
			t.trusts = k % 3 > 0;
			t.ordered = k % 3 > 1;
			t.ends = (int)(k / 3 % 3);
			t.faults = k < 9 ? 1 : 100;
			if (t.flags && !t.trusts)
				continue;
			for (fault = LOSE_REQUEST; fault < FAULTS; fault++) {
				t.fault = (enum fault)fault;
				for (t.at = 1; try_taker(&t) && t.at < 20; t.at++)
					;
				CHECK(t.at > 2 && t.at < 20);
			}
		}
	}
}

/* The request that takes over is lost, and arrives before the second look, or the second try. */
static struct {
	unsigned int swaps, at;
	int readers;
	uint64_t word, instead;
} late;

static void arrives_late(struct fixture *w, const struct fake_op *op)
{
	if (op->op != RMC_OP_CAS)
		return;
	if (++late.swaps == 2)
		late.word = ((const uint64_t *)(uintptr_t)op->lbuf)[1];
	if (late.swaps == late.at)
		set_word(w, 0, late.instead ? late.instead : late.word);
	/* beside another count of readers, which is then the first one again */
	if (late.readers && late.swaps == 3)
		set_word(w, 0, word_at(w, 0) + 1);
}

/* A dead node's word of the version, or its mark */
#define ODD(NID, V)	((uint64_t)((NID) + 1) << 53 | (V))
#define MARKED(NID)	(1ULL << 58 | (uint64_t)((NID) + 1) << 13)

static void late_takers(void)
{
	static const struct {
		const char *row;
		uint64_t word, next;		/* of the dead node, which was not dead yet */
	} rows[] = {
		{ "rw", RW(DEAD, 1), RW(DEAD, 1) | 1ULL << 40 },
		{ "rw", RW(DEAD, 1) | 2, RW(DEAD, 1) | 1ULL << 40 | 2 },
		{ "excl", 77ULL << 20 | (DEAD + 1), 78ULL << 20 | (DEAD + 1) },
		{ "sabre", ODD(DEAD, 3), ODD(DEAD, 9) }, { "farm", ODD(DEAD, 3), ODD(DEAD, 9) },
		{ "mark-out-of-place", MARKED(DEAD), MARKED(DEAD) | 1 },
	};
	struct rmc_sync_stats stats;
	struct rmc_hold h = { .len = LEN };
	struct taker t = { 0 };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	for (i = 0; i < 4 * 6; i++) {
		fixture_init_with(&w, NULL, 1);
		t.row = tap_where = rows[i % 6].row;
		o = options_for(&w, &t, TAKER);
		o.attempts = 6;
		s = rmc_sync_open(&w.qp, &o);
		set_word(&w, 0, rows[i % 6].word);
		memset(&late, 0, sizeof(late));
		late.at = 3 + i / 6;
		late.readers = i == 7;
		/* or it never arrives, since the word is another one, or another node's */
		if (late.at > 4) {
			late.instead = late.at == 5 ? rows[i % 6].next : rows[0].word + (3ULL << 20);
			late.at = 3;
		}
		w.before = arrives_late;
		w.fault = LOSE_REQUEST;
		w.faults = 1;
		w.fault_at = 2;
		if (i >= 18 && i < 21) {
			CHECK_EQ(rmc_sync_take_over(s, 0, DEAD, &h), -ENOENT);
			rmc_sync_stats(s, &stats);
			CHECK_EQ(stats.unlocks_lost, 0);
		}
		if (i >= 18) {
			rmc_sync_close(s);
			fixture_fini(&w);
			continue;
		}
		CHECK_EQ(rmc_sync_take_over(s, 0, DEAD, &h), 0);
		CHECK(late.swaps >= late.at);
		CHECK(late.instead || word_at(&w, 0) == (late.word | (i % 6 == 1) * 2));
		if (i >= 12 && (i % 6 == 3 || i % 6 == 4))
			CHECK(word_at(&w, 0) == ODD(TAKER, 11));
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK(rmc_sync_take_over(s, 0, TAKER, &h) == -ENOENT);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
	/* the last versions that a word has room for */
	fixture_init_with(&w, NULL, 1);
	t.row = "sabre";
	o = options_for(&w, &t, TAKER);
	s = rmc_sync_open(&w.qp, &o);
	set_word(&w, 0, ODD(DEAD, (1ULL << 45) - 3));
	CHECK_EQ(rmc_sync_take_over(s, 0, DEAD, &h), -EOVERFLOW);
	set_word(&w, 0, ODD(DEAD, (1ULL << 45) - 5));
	CHECK_EQ(rmc_sync_take_over(s, 0, DEAD, &h), 0);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(word_at(&w, 0) == (1ULL << 45) - 2);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* No line of what two dead nodes have left has the version of what is committed behind them. */
static void line_versions(void)
{
	static const struct taker rows[] = {
		{ .row = "farm", .trusts = 1 }, { .row = "relaxed-farm", .trusts = 1 },
		{ .row = "farm", .flags = UNLATCH, .trusts = 1 },
	};
	struct fixture dead, second, w;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	uint16_t left[2][16], now;
	unsigned int i, k, lines, words;

	for (i = 0; i < 3 * 5; i++) {
		const struct taker *t = &rows[i / 5];

		lines = i % 5;
		tap_where = t->row;
		fixture_init_with(&dead, NULL, 1);
		fixture_init_with(&second, dead.segment, 1);
		fixture_init_with(&w, dead.segment, 1);
		leave_half(&dead, t);
		for (k = 0; k < 6; k++)
			memcpy(&left[0][k], dead.segment + k * LINE, 2);
		o = options_for(&second, t, TAKER);
		s = rmc_sync_open(&second.qp, &o);
		second.dies_lines = lines;
		second.before = NULL;
		/* a look, the latch, the image, and the write */
		second.dies_at = 4;
		CHECK_EQ(take(s, DEAD, 0), RMC_S_ABORTED);
		rmc_sync_close(s);
		for (k = 0; k < 6; k++)
			memcpy(&left[1][k], dead.segment + k * LINE, 2);
		o = options_for(&w, t, TAKER + 1);
		s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(take(s, TAKER, 0), 0);
		rmc_sync_close(s);
		words = t->flags ? 4 : 0;
		for (k = 0; k < 5; k++) {
			if (k == words)
				continue;
			memcpy(&now, w.segment + k * LINE, 2);
			CHECK(now != left[0][k] && now != left[1][k]);
		}
		fixture_fini(&w);
		fixture_fini(&second);
		fixture_fini(&dead);
	}
	tap_where = NULL;
}

/* Torn data is committed, or stays latched: also when the hold is cancelled, or a large one's is read. */
static void kept(void)
{
	static uint8_t data[2048];
	struct rmc_hold h = { .len = sizeof(data) };
	struct rmc_sync_options o;
	struct rmc_sync_stats stats;
	struct fixture dead, w;
	struct rmc_sync *s;
	unsigned int i, n;

	fixture_init_with(&dead, NULL, 1);
	fixture_init_with(&w, dead.segment, 1);
	o = options_of(&dead, "farm", 0);
	o.latch = RMC_LATCH_EXCL;
	s = rmc_sync_open(&dead.qp, &o);
	for (i = 1; i <= 2; i++) {
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		memset(h.data, (int)i, sizeof(data));
		dead.dies_at = i - 1;
		dead.dies_lines = 3;
		CHECK_EQ(rmc_sync_commit(s, &h), i == 1 ? 0 : RMC_S_ABORTED);
	}
	rmc_sync_close(s);
	o.memory = w.memory;
	o.nid = TAKER;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_take_over(s, 0, DEAD, &h), 0);
	CHECK(h.torn);
	/* both states, and nothing else */
	for (i = n = 0; i < sizeof(data); i++) {
		CHECK(((uint8_t *)h.data)[i] == 1 || ((uint8_t *)h.data)[i] == 2);
		n += ((uint8_t *)h.data)[i] == 2;
	}
	CHECK_EQ(n, 48 + 62 * 2);
	CHECK_EQ(rmc_sync_cancel(s, &h), 0);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.quarantined, 1);
	CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_take_over(s, 0, TAKER, &h), 0);
	memset(h.data, 3, sizeof(data));
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(((uint8_t *)h.data)[2047] == 3);
	rmc_sync_close(s);
	fixture_fini(&w);
	fixture_fini(&dead);
}

/* What a client has given up is its own to take over, and not what another one of its node has since. */
static void two_clients(void)
{
	static const char * const rows[] = { "rw", "excl", "sabre", "mark-out-of-place" };
	struct rmc_hold h = { .len = LEN }, other = { .len = LEN };
	struct rmc_sync *s[2];
	struct rmc_sync_options o;
	struct fixture w[2];
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		tap_where = rows[i];
		fixture_init_with(&w[0], NULL, 1);
		fixture_init_with(&w[1], w[0].segment, 1);
		for (k = 0; k < 2; k++) {
			o = options_of(&w[k], rows[i], 0);
			o.max = LEN;
			o.client = k;
			s[k] = rmc_sync_open(&w[k].qp, &o);
		}
		CHECK_EQ(rmc_sync_write(s[1], 0, &other), 0);
		CHECK_EQ(rmc_sync_take_over(s[0], 0, 5, &h), -ENOENT);
		CHECK_EQ(rmc_sync_cancel(s[1], &other), 0);
		rmc_sync_close(s[1]);
		/* client 1 once more, in its next life */
		s[1] = rmc_sync_open(&w[1].qp, &o);
		set_word(&w[0], 0, i == 0 ? RW(5, 1) : i == 1 ? 6 | 1 << 11 :
			 i == 2 ? ODD(5, 7) | 1ULL << 45 : MARKED(5) | 1 << 5);
		CHECK_EQ(rmc_sync_take_over(s[0], 0, 5, &h), -ENOENT);
		CHECK_EQ(rmc_sync_take_over(s[1], 0, 5, &h), 0);
		CHECK_EQ(rmc_sync_commit(s[1], &h), 0);
		for (k = 0; k < 2; k++)
			rmc_sync_close(s[k]);
		fixture_fini(&w[1]);
		fixture_fini(&w[0]);
	}
	tap_where = NULL;
}

/* A reader of rw dies: its count has no name, so all readers have to be gone. */
static void dead_readers(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	s = sync_of(&w, "rw", 0);
	set_word(&w, 0, 3);
	CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_take_over(s, 0, 6, &h), -ENOENT);
	CHECK_EQ(rmc_sync_take_over(s, 0, -1, &h), 0);
	CHECK(!h.torn);
	CHECK_EQ(rmc_sync_cancel(s, &h), 0);
	CHECK(!word_at(&w, 0));
	/* beside the word of a dead writer they stay */
	set_word(&w, 0, RW(6, 0) | 2);
	CHECK_EQ(rmc_sync_take_over(s, 0, -1, &h), -ENOENT);
	CHECK_EQ(rmc_sync_take_over(s, 0, 6, &h), 0);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(word_at(&w, 0) == 2);
	CHECK_EQ(rmc_sync_take_over(s, 0, -2, &h), -EINVAL);
	rmc_sync_close(s);
	/* rows without a latch of writers */
	s = sync_of(&w, "lock", 0);
	CHECK_EQ(rmc_sync_take_over(s, 0, 6, &h), -EOPNOTSUPP);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- SABRes that hold the object --- */

static unsigned int sabre_reads;

static void sabre_ends(struct fixture *w, const struct fake_op *op)
{
	CHECK(op->op != RMC_OP_WRITE || !word_at(w, 8));
	if (op->op == RMC_OP_READ && word_at(w, 0) & 1 && ++sabre_reads == 3)
		set_word(w, 8, 0);
}

static void sabres(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	int i;

	for (i = 0; i < 3; i++) {
		fixture_init_with(&w, NULL, 1);
		s = sync_of(&w, "sabre", i ? RMC_SYNC_SPEC : 0);
		if (i == 2)
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
		set_word(&w, 8, 1);
		if (i != 2) {
			CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
			CHECK_EQ(rmc_sync_drain(s), 0);
			CHECK(!(word_at(&w, 0) & 1));
		}
		sabre_reads = 0;
		w.before = sabre_ends;
		h.hint = 0;
		CHECK_EQ(i == 2 ? rmc_sync_upgrade(s, &h) : rmc_sync_write(s, 0, &h), 0);
		CHECK(sabre_reads >= 3);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
}

/* --- close --- */

/* Closed in the middle: nothing stays latched. */
static void closed(void)
{
	static const char * const name[] = { "rw", "excl", "versioning", "sabre" };
	struct rmc_hold h[2] = { { .len = LEN }, { .len = LEN } };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		for (k = 0; k < FLAG_SETS; k++) {
			fixture_init_with(&w, NULL, 1);
			s = sync_of(&w, name[i], flag_sets[k]);
			/* in each second round with a reply that is lost */
			w.lose_replies = s && i < 3 && k & 1;
			if (s) {
				rmc_sync_start(s, RMC_SYNC_WRITE, 0, &h[0]);
				rmc_sync_start(s, RMC_SYNC_READ, 1024, &h[1]);
				rmc_sync_close(s);
			}
			/* of sabre the word is the version */
			CHECK(!(word_at(&w, 0) & ~6ULL) && !word_at(&w, 1024));
			CHECK(!word_at(&w, 4 * LINE) && !word_at(&w, 1024 + 4 * LINE));
			fixture_fini(&w);
		}
	}
}

static void closed_upgrades(void)
{
	static const char * const name[] = { "rw", "versioning", "sabre", "mark-out-of-place" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		for (k = 0; k < 4; k++) {
			fixture_init_with(&w, NULL, 1);
			o = options_of(&w, name[i], k & 1 ? RMC_SYNC_SPEC : 0);
			o.max = LEN;
			s = rmc_sync_open(&w.qp, &o);
			if (s) {
				h.hint = 0;
				CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
				w.lose_replies = k > 1;
				CHECK_EQ(rmc_sync_start(s, RMC_SYNC_UPGRADE, 0, &h), 0);
				rmc_sync_close(s);
			}
			CHECK(!(word_at(&w, 0) & ~6ULL));
			fixture_fini(&w);
		}
	}
}

/* A commit that has begun is ended. */
static void closed_commit(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	int i;

	for (i = 0; i < 3; i++) {
		fixture_init_with(&w, NULL, 1);
		s = sync_of(&w, "rw", 0);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		fill((uint8_t *)h.data, LEN, 1);
		w.lose_op = RMC_OP_WRITE;
		w.lose_swaps = i;
		CHECK_EQ(rmc_sync_start(s, RMC_SYNC_COMMIT, 0, &h), 0);
		rmc_sync_close(s);
		CHECK(!word_at(&w, 0) && word_at(&w, 8) == 2);
		CHECK(w.segment[16] == 1 && whole(w.segment + 16, LEN));
		fixture_fini(&w);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a node dies in each operation of a write: others go on, nothing is torn", crashes },
		{ "the one that takes over has a fault: nothing torn is read", takers },
		{ "a request that was only late has taken over", late_takers },
		{ "versions of lines do not return behind dead nodes", line_versions },
		{ "torn data stays latched unless it is replaced", kept },
		{ "another client of the node keeps what it holds", two_clients },
		{ "dead readers of rw", dead_readers },
		{ "a write waits for SABRes that hold the object", sabres },
		{ "closed in the middle", closed },
		{ "closed in the middle of an upgrade", closed_upgrades },
		{ "closed in the middle of a commit", closed_commit },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
