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
		{ .row = "relaxed-crc64" },
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
		{ "dead readers of rw", dead_readers },
		{ "a write waits for SABRes that hold the object", sabres },
		{ "closed in the middle", closed },
		{ "closed in the middle of an upgrade", closed_upgrades },
		{ "closed in the middle of a commit", closed_commit },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
