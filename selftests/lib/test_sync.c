/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Holds of <rmc/sync.h>: every row, latch and option; what others do meanwhile. The RMC is a
 * thread. test_sync_lost.c is about what is lost.
 */
#include <errno.h>
#include "sync_test.h"

/* --- every row: remote writes, remote reads, and those of the owner --- */

static void one_length(struct fixture *w, struct rmc_sync *s, const struct rmc_scheme *layout,
		       size_t len)
{
	size_t bytes = rmc_scheme_bytes(layout, len);
	struct rmc_object *o = (struct rmc_object *)(w->segment + LINE);
	/* so short that the owner takes a lease for one that a wrong clock has set */
	const struct rmc_scheme_params p = { .lease_us = 1, .skew_us = 1 };
	struct rmc_hold h = { .len = len };
	uint8_t back[MAX];
	int err, i;

	memset(w->segment, 0xee, bytes + 2 * LINE);
	rmc_scheme_init(layout, o, len);
	CHECK_EQ(rmc_sync_read(s, LINE, &h), 0);
	CHECK(is_whole(&h, 0));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	for (i = 1; i <= 3; i++) {
		err = rmc_sync_write(s, LINE, &h);
		if (err == -EOPNOTSUPP)
			break;
		CHECK_EQ(err, 0);
		CHECK(is_whole(&h, (uint8_t)(i - 1)));
		fill((uint8_t *)h.data, len, (uint8_t)i);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK_EQ(rmc_sync_read(s, LINE, &h), 0);
		CHECK(is_whole(&h, (uint8_t)i));
		CHECK_EQ(rmc_sync_end(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		err = rmc_scheme_read(layout, o, back, len);
		CHECK(err == -EOPNOTSUPP || (!err && back[0] == i && whole(back, len)));
	}
	CHECK_EQ(rmc_sync_drain(s), 0);
	/* and the owner's: remote readers see them */
	fill(back, len, 9);
	err = rmc_scheme_write(layout, o, back, len, &p);
	CHECK(!err || err == -EOPNOTSUPP);
	if (!err) {
		CHECK_EQ(rmc_sync_read(s, LINE, &h), 0);
		CHECK(is_whole(&h, 9));
		CHECK_EQ(rmc_sync_end(s, &h), 0);
	}
	CHECK_EQ(rmc_sync_drain(s), 0);
	/* no byte beside it */
	for (i = 0; i < LINE; i++)
		CHECK(w->segment[i] == 0xee && w->segment[LINE + bytes + (size_t)i] == 0xee);
}

static void rows(void)
{
	const struct rmc_scheme *row;
	struct rmc_sync_options o;
	unsigned int i, k, n = 0;
	struct rmc_sync *s;
	struct fixture w;
	size_t j;

	for (i = 0; (row = one_sided_row(i)); i++) {
		for (k = 0; k < FLAG_SETS; k++) {
			fixture_init(&w);
			o = options_of(&w, row->name, flag_sets[k]);
			o.grace_us = 60000000;		/* slots are enough */
			tap_where = row->name;
			for (j = 0; j < SIZES; j += k ? 5 : 1) {
				/* all copies of a pool have one size */
				if (row->needs & RMC_NEEDS_POOL) {
					o.max = sizes[j];
					memset(w.segment + POOL, 0, SEGMENT - POOL);
				}
				s = rmc_sync_open(&w.qp, &o);
				if (s)
					one_length(&w, s, rmc_sync_layout(&o), sizes[j]);
				n += !!s && !j;
				rmc_sync_close(s);
			}
			fixture_fini(&w);
		}
	}
	tap_where = NULL;
	CHECK(n > 80);		/* of the pairs, most are allowed */
}

/* --- words of latches --- */

static void words(void)
{
	const struct rmc_scheme_params p = { .wait_us = 1000 };
	uint8_t back[LEN] = { 0 };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;

	fixture_init(&w);
	o = options_of(&w, "rw", 0);
	o.client = 255;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK((word_at(&w, 0) & RW_NAME) == RW(5, 255));
	CHECK_EQ(rmc_sync_holder(o.scheme, (struct rmc_object *)w.segment, LEN), 5);
	/* a reader that will be refused has added one: the release leaves just that */
	set_word(&w, 0, word_at(&w, 0) + 1);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(word_at(&w, 0) == 1);
	CHECK_EQ(word_at(&w, 8), 2);
	/* a writer waits for readers, readers do not wait for each other */
	CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(h.tries, 3);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(word_at(&w, 0) == 2);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK(word_at(&w, 0) == 1);
	/* a reader that is refused leaves nothing */
	set_word(&w, 0, RW(7, 0) | 1);
	CHECK_EQ(rmc_sync_read(s, 0, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(word_at(&w, 0) == (RW(7, 0) | 1));
	CHECK_EQ(rmc_sync_break(o.scheme, (struct rmc_object *)w.segment, LEN, 6), -ENOENT);
	CHECK_EQ(rmc_sync_break(o.scheme, (struct rmc_object *)w.segment, LEN, 7), 0);
	CHECK(word_at(&w, 0) == 1);
	/* the owner's CPU waits for a remote writer, and reads nothing beside it */
	CHECK_EQ(rmc_sync_cancel(s, &h), -EINVAL);
	set_word(&w, 0, 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(rmc_scheme_write(o.scheme, (struct rmc_object *)w.segment, back, LEN, &p),
		 RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_scheme_read(o.scheme, (struct rmc_object *)w.segment, back, LEN),
		 RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(word_at(&w, 0) == 0);
	rmc_sync_close(s);

	o = options_of(&w, "excl", UNLATCH);
	memset(w.segment, 0, 1024);
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	/* 256 bytes, of which 48 are in the last line: it is the fifth */
	CHECK((word_at(&w, 4 * LINE) & 0x7ffff) == 6 && word_at(&w, 4 * LINE) >> 19);
	CHECK_EQ(rmc_sync_holder(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN), 5);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(!word_at(&w, 4 * LINE) && word_at(&w, 4 * LINE + 8) == 2);
	rmc_sync_close(s);
	/* no line more than the data and 16 bytes need */
	CHECK_EQ(rmc_sync_layout(&o)->image(48), LINE);
	CHECK_EQ(rmc_sync_layout(&o)->image(49), 2 * LINE);
	CHECK_EQ(rmc_sync_layout(&o)->image(48 + LINE), 2 * LINE);

	/* an optimistic reader does not begin beside a writer */
	memset(w.segment, 0, 1024);
	s = sync_of(&w, "versioning", 0);
	set_word(&w, 0, 77ULL << 19 | 9);
	CHECK_EQ(rmc_sync_read(s, 0, &h), RMC_SCHEME_LOCKED);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* Where the version is the latch, a remote writer that stays is reported as well. */
static void remote_writers(void)
{
	static const char * const name[] = { "sabre", "farm", "crc64", "plain" };
	const struct rmc_scheme_params p = { .wait_us = 1000 };
	uint8_t data[LEN] = { 0 };
	struct rmc_hold h = { .len = LEN };
	const struct rmc_scheme *row;
	struct rmc_sync_options o;
	struct rmc_object *object;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		fixture_init(&w);
		tap_where = name[i];
		row = rmc_sync_find(name[i]);
		object = (struct rmc_object *)w.segment;
		rmc_scheme_init(row, object, LEN);
		s = sync_of(&w, name[i], 0);
		h.hint = 0;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		CHECK_EQ(rmc_scheme_write(row, object, data, LEN, &p), RMC_SCHEME_LOCKED);
		CHECK_EQ(rmc_scheme_holder(row, object), 5);
		CHECK_EQ(rmc_sync_cancel(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK_EQ(rmc_scheme_write(row, object, data, LEN, &p), 0);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		/* lines have the version as well */
		CHECK_EQ(rmc_scheme_break(row, object, 5), i == 1 ? -EOPNOTSUPP : 0);
		CHECK_EQ(rmc_scheme_write(row, object, data, LEN, &p), i == 1 ? RMC_SCHEME_LOCKED : 0);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
	/* the word of a detached latch is not in the object */
	fixture_init(&w);
	o = options_of(&w, "rw", 0);
	o.latch = RMC_LATCH_DETACHED;
	CHECK_EQ(rmc_sync_holder(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN),
		 -EOPNOTSUPP);
	CHECK_EQ(rmc_sync_break(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN, 5),
		 -EOPNOTSUPP);
	o = options_of(&w, "farm", 0);
	o.latch = RMC_LATCH_EXCL;
	set_word(&w, 0, 6);
	CHECK_EQ(rmc_sync_break(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN, 5),
		 -EOPNOTSUPP);
	fixture_fini(&w);
}

/* Readers' counts never reach the owner's bits, versions never wrap. */
static void limits(void)
{
	static const char * const versioned[] = { "rw", "farm", "versioning" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;
	uint64_t at;

	fixture_init(&w);
	s = sync_of(&w, "rw", 0);
	set_word(&w, 0, (1ULL << 19) - 1);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	set_word(&w, 0, 1ULL << 19);
	CHECK_EQ(rmc_sync_read(s, 0, &h), -EOVERFLOW);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(word_at(&w, 0) == 1ULL << 19);
	rmc_sync_close(s);
	fixture_fini(&w);

	for (i = 0; i < 3; i++) {
		at = i == 1 ? 0 : 8;
		fixture_init(&w);
		s = sync_of(&w, versioned[i], 0);
		set_word(&w, at, ~0ULL - 1);
		CHECK_EQ(rmc_sync_write(s, 0, &h), -EOVERFLOW);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK(word_at(&w, at) == ~0ULL - 1);
		CHECK(i == 1 || !word_at(&w, 0));
		set_word(&w, at, ~0ULL);
		/* of a version that is the latch, what is odd is held */
		CHECK_EQ(rmc_sync_write(s, 0, &h), i == 1 ? RMC_SCHEME_LOCKED : -EOVERFLOW);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK(word_at(&w, at) == ~0ULL);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	fixture_init(&w);
	set_word(&w, 8, ~0ULL - 1);
	CHECK_EQ(rmc_scheme_write(rmc_sync_find("rw"), (struct rmc_object *)w.segment, w.memory, LEN,
				  NULL), -EOVERFLOW);
	CHECK(!word_at(&w, 0));
	fixture_fini(&w);
}

/* --- others, between two calls --- */

/* The owner, between a read and its end, or between a read and its upgrade */
static void between(void)
{
	static const char * const name[] = {
		"versioning", "farm", "crc64", "crc64-tables", "naive", "bookend", "overlapped",
	};
	const struct rmc_scheme *layout;
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	uint8_t data[LEN] = { 0 };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		for (k = 0; k < 2; k++) {
			fixture_init(&w);
			o = options_of(&w, name[i], k && i != 5 ? UNLATCH : 0);
			layout = rmc_sync_layout(&o);
			rmc_scheme_init(layout, (struct rmc_object *)w.segment, LEN);
			s = rmc_sync_open(&w.qp, &o);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK_EQ(rmc_sync_end(s, &h), 0);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			/* asked before the end: as often as one likes, and the end is one as before */
			CHECK_EQ(rmc_sync_valid(s, &h), 0);
			CHECK_EQ(rmc_sync_valid(s, &h), 0);
			CHECK(h.data && !h.status);
			rmc_scheme_write(layout, (struct rmc_object *)w.segment, data, LEN, NULL);
			CHECK_EQ(rmc_sync_end(s, &h), RMC_SCHEME_TORN);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK_EQ(rmc_sync_valid(s, &h), 0);
			rmc_scheme_write(layout, (struct rmc_object *)w.segment, data, LEN, NULL);
			CHECK_EQ(rmc_sync_valid(s, &h), RMC_SCHEME_TORN);
			CHECK_EQ(rmc_sync_valid(s, &h), -EINVAL);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK_EQ(rmc_sync_upgrade(s, &h), 0);
			fill((uint8_t *)h.data, LEN, 3);
			CHECK_EQ(rmc_sync_commit(s, &h), 0);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK(is_whole(&h, 3));
			rmc_scheme_write(layout, (struct rmc_object *)w.segment, data, LEN, NULL);
			CHECK_EQ(rmc_sync_upgrade(s, &h), RMC_SCHEME_TORN);
			CHECK_EQ(rmc_sync_drain(s), 0);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK_EQ(rmc_sync_end(s, &h), 0);
			rmc_sync_close(s);
			fixture_fini(&w);
		}
	}
}

static void upgrades(void)
{
	static const char * const name[] = { "rw", "excl", "out-of-place", "mark-out-of-place",
					     "unsync" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < 5; i++) {
		for (k = 0; k < 2; k++) {
			fixture_init(&w);
			o = options_of(&w, name[i], k ? RMC_SYNC_ASYNC : 0);
			o.max = LEN;
			s = rmc_sync_open(&w.qp, &o);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			/* the latch is the answer */
			if (i < 2) {
				CHECK_EQ(rmc_sync_valid(s, &h), 0);
				CHECK(i || word_at(&w, 0) == 1);
			}
			CHECK_EQ(rmc_sync_valid(s, &h), i < 4 ? 0 : -EOPNOTSUPP);
			CHECK_EQ(rmc_sync_upgrade(s, &h), 0);
			CHECK_EQ(rmc_sync_valid(s, &h), 0);
			CHECK_EQ(rmc_sync_upgrade(s, &h), -EINVAL);
			fill((uint8_t *)h.data, LEN, 4);
			CHECK_EQ(rmc_sync_commit(s, &h), 0);
			CHECK_EQ(rmc_sync_drain(s), 0);
			CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
			CHECK(is_whole(&h, 4));
			CHECK_EQ(rmc_sync_end(s, &h), 0);
			CHECK_EQ(rmc_sync_drain(s), 0);
			CHECK(i > 1 || !word_at(&w, 0));
			rmc_sync_close(s);
			fixture_fini(&w);
		}
	}
	/* not beside another reader; then this one is none any more, either */
	fixture_init(&w);
	s = sync_of(&w, "rw", 0);
	set_word(&w, 0, 1);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_upgrade(s, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(word_at(&w, 0) == 1);
	rmc_sync_close(s);
	fixture_fini(&w);
	/* nor an object that its owner is writing */
	fixture_init(&w);
	s = sync_of(&w, "plain", 0);
	set_word(&w, 0, 7);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_upgrade(s, &h), RMC_SCHEME_LOCKED);
	CHECK_EQ(word_at(&w, 0), 7);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* Lines of a read in any order, and the owner's write between two of them */
static struct {
	const struct rmc_scheme *layout;
	uint8_t data[LEN];
} owner;

static void owner_writes(struct fixture *w)
{
	CHECK_EQ(rmc_scheme_write(owner.layout, (struct rmc_object *)w->segment, owner.data, LEN,
				  NULL), 0);
}

/* What a read delivers: 1: a mixture, 0: it is whole, or the read fails at the end */
static int delivers_mixture(const char *name, unsigned int flags, int late)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	int err, is_mixed;

	fixture_init(&w);
	o = options_of(&w, name, flags);
	owner.layout = rmc_sync_layout(&o);
	rmc_scheme_init(owner.layout, (struct rmc_object *)w.segment, LEN);
	fill(owner.data, LEN, 1);
	s = rmc_sync_open(&w.qp, &o);
	w.between = owner_writes;
	w.late = late;
	tap_where = name;
	err = rmc_sync_read(s, 0, &h);
	CHECK_EQ(err, 0);
	CHECK(!w.between && !w.late);
	is_mixed = !err && !whole((const uint8_t *)h.data, LEN);
	if (!err)
		err = rmc_sync_end(s, &h);
	CHECK(!err || err == RMC_SCHEME_TORN);
	rmc_sync_close(s);
	fixture_fini(&w);
	tap_where = NULL;
	return !err && is_mixed;
}

static void mixtures(void)
{
	static const char * const broken[] = {
		"plain", "unsync", "naive", "bookend", "mark-in-place", "relaxed-versioning",
	};
	static const char * const good[] = {
		"versioning", "farm", "crc64", "crc64-tables", "relaxed-farm", "relaxed-crc64",
	};
	unsigned int i;

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		CHECK_EQ(delivers_mixture(broken[i], 0, 0), 1);
	CHECK_EQ(delivers_mixture("overlapped", 0, 1), 1);
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_EQ(delivers_mixture(good[i], 0, 0), 0);
		CHECK_EQ(delivers_mixture(good[i], UNLATCH, 0), 0);
	}
}

/* --- holds --- */

static void holds(void)
{
	struct rmc_hold h[5] = { { .len = LEN }, { .len = LEN }, { .len = LEN }, { .len = LEN },
				 { .len = LEN } };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init(&w);
	s = sync_of(&w, "rw", ALL);
	for (i = 0; i < 4; i++)
		CHECK_EQ(rmc_sync_write(s, i * 1024, &h[i]), 0);
	CHECK_EQ(rmc_sync_write(s, 4 * 1024, &h[4]), -EAGAIN);	/* the quota */
	for (i = 0; i < 4; i++)
		fill((uint8_t *)h[i].data, LEN, (uint8_t)(i + 1));
	CHECK_EQ(rmc_sync_cancel(s, &h[2]), 0);
	CHECK_EQ(rmc_sync_end(s, &h[1]), 0);		/* of a write: as cancel */
	CHECK_EQ(rmc_sync_commit(s, &h[3]), 0);
	CHECK_EQ(rmc_sync_read(s, 3 * 1024, &h[4]), 0);
	CHECK(is_whole(&h[4], 4));
	CHECK_EQ(rmc_sync_read(s, 2 * 1024, &h[2]), 0);
	CHECK(is_whole(&h[2], 0) && h[2].version == 0);
	CHECK_EQ(rmc_sync_end(s, &h[2]), 0);
	CHECK_EQ(rmc_sync_end(s, &h[4]), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK(word_at(&w, 0) != 0 && !word_at(&w, 1024) && !word_at(&w, 2048));
	rmc_sync_close(s);				/* releases the one that is left */
	for (i = 0; i < 4; i++)
		CHECK(!word_at(&w, i * 1024));
	CHECK_EQ(word_at(&w, 8), 0);
	CHECK_EQ(word_at(&w, 3 * 1024 + 8), 2);
	fixture_fini(&w);
}

static void without_waiting(void)
{
	struct rmc_hold h[4] = { { .len = LEN }, { .len = LEN }, { .len = LEN }, { .len = LEN } };
	struct rmc_hold *done, other = { .len = LEN };
	unsigned int i, n, came = 0;
	struct rmc_sync *s;
	struct fixture w;
	int err;

	fixture_init(&w);
	s = sync_of(&w, "versioning", 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(rmc_sync_start(s, RMC_SYNC_WRITE, i * 1024, &h[i]), 0);
	CHECK_EQ(rmc_sync_end(s, &h[0]), -EINVAL);	/* it is none yet */
	/* a call that waits in between takes no other one's result */
	CHECK_EQ(rmc_sync_read(s, 5 * 1024, &other), 0);
	CHECK_EQ(rmc_sync_end(s, &other), 0);
	for (n = 0; n < 6; ) {
		err = rmc_sync_poll(s, &done);
		CHECK(err >= 0);
		if (err < 0)
			break;
		if (!err) {
			usleep(10);
			continue;
		}
		CHECK_EQ(done->status, 0);
		n++;
		if (!done->data)
			continue;
		i = (unsigned int)(done - h);
		came |= 1U << i;
		fill((uint8_t *)done->data, LEN, (uint8_t)(i + 1));
		CHECK_EQ(rmc_sync_start(s, RMC_SYNC_COMMIT, 0, done), 0);
	}
	CHECK_EQ(came, 7);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rmc_sync_read(s, i * 1024, &other), 0);
		CHECK(is_whole(&other, (uint8_t)(i + 1)));
		CHECK_EQ(rmc_sync_end(s, &other), 0);
	}
	rmc_sync_close(s);
	fixture_fini(&w);
}

static unsigned int woken;

static void count_wakes(struct rmc_qp *qp)
{
	woken++;
	visit_at_once(qp);
}

/* Each step of waiting wakes the RMC here, as each operation does. */
static void waits_no_longer(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	w.qp.wake = count_wakes;
	w.qp.shared = 1;
	w.rmc.flags->shared_cpu = 1;
	s = sync_of(&w, "unsync", 0);
	woken = 0;
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(woken, 1);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(woken, 2);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(woken, 3);
	rmc_sync_close(s);
	fixture_fini(&w);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "every row, latch and option: what was written is read, and no byte more", rows },
		{ "words of latches, and who holds them", words },
		{ "a remote writer that stays is no hang of the owner", remote_writers },
		{ "counts and versions have limits", limits },
		{ "a change between read and end, or upgrade, is noticed", between },
		{ "lines of a read in any order: rows called broken are, the others are not", mixtures },
		{ "reads become writes", upgrades },
		{ "several holds, a quota, cancelled ones", holds },
		{ "without waiting", without_waiting },
		{ "a call that waits ends when its operation does", waits_no_longer },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
