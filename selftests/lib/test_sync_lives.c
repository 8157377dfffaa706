/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Holds of <rmc/sync.h> behind what an earlier hold, an earlier life or another client has left.
 * Operations are executed as they are issued.
 */
#include <errno.h>
#include "../../lib/rpc_link.h"
#include "sync_test.h"

#define SELF	5			/* node of options_of() */

static struct rmc_sync_options options_for(struct fixture *w, const char *row)
{
	struct rmc_sync_options o = options_of(w, row, 0);

	o.max = LEN;
	return o;
}

/* A write with this data: the status of its last call */
static int store(struct rmc_sync *s, uint64_t addr, struct rmc_hold *h, uint8_t state)
{
	int err = rmc_sync_write(s, addr, h);

	if (err)
		return err;
	fill((uint8_t *)h->data, LEN, state);
	err = rmc_sync_commit(s, h);
	return err ? err : rmc_sync_drain(s);
}

static void check_state(struct rmc_sync *s, uint64_t addr, uint8_t state)
{
	struct rmc_hold h = { .len = LEN };

	CHECK_EQ(rmc_sync_read(s, addr, &h), 0);
	CHECK(is_whole(&h, state));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
}

/* --- an object that this client has given up, and tries once more --- */

static void tries_again(struct rmc_sync *s, struct fixture *w, int closes)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;

	w->fault = closes ? LOSE_REQUEST : LINK_DOWN;
	w->faults = closes ? 1 : 100;
	w->fault_at = 1;
	if (closes) {
		CHECK_EQ(rmc_sync_start(s, RMC_SYNC_WRITE, 0, &h), 0);
		rmc_sync_close(s);
		CHECK_EQ(w->faults, 0);
	} else {
		CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_S_NODE_DOWN);
		w->fault_at = 0;
		CHECK_EQ(rmc_sync_drain(s), 0);
		rmc_sync_stats(s, &stats);
		CHECK_EQ(stats.unlocks_lost, 1);
		CHECK_EQ(rmc_sync_write(s, 0, &h), RMC_SCHEME_LOCKED);
		CHECK_EQ(rmc_sync_drain(s), 0);
	}
	w->fault_at = 0;
}

/* Its word is that of the next hold: an operation without an outcome must not release it. */
static void given_up(void)
{
	static const char * const rows[] = { "sabre", "plain", "crc64", "farm" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	uint64_t word;
	unsigned int i;

	for (i = 0; i < 2 * 4; i++) {
		tap_where = rows[i % 4];
		fixture_init_with(&w, NULL, 1);
		o = options_for(&w, rows[i % 4]);
		rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN);
		s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		fill((uint8_t *)h.data, LEN, 1);
		w.lose_op = RMC_OP_WRITE;
		w.fault = LOSE_HALF;
		w.lose_swaps = 100;
		CHECK_EQ(rmc_sync_commit(s, &h), RMC_S_TIMEOUT);
		w.lose_swaps = 0;
		word = word_at(&w, 0);
		CHECK(word & 1);
		tries_again(s, &w, i / 4);
		CHECK(word_at(&w, 0) == word);
		if (i / 4)
			s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(rmc_sync_take_over(s, 0, SELF, &h), 0);
		CHECK(h.data && h.torn);
		if (h.data) {
			fill((uint8_t *)h.data, LEN, 2);
			CHECK_EQ(rmc_sync_commit(s, &h), 0);
			check_state(s, 0, 2);
		}
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* --- a sweep of a client that holds and stores objects --- */

static void own_sweep(void)
{
	static const struct {
		const char *row;
		unsigned int flags;
	} rows[] = {
		{ "rw", RMC_SYNC_ASYNC }, { "rw", ALL }, { "excl", RMC_SYNC_ASYNC },
		{ "sabre", RMC_SYNC_ASYNC }, { "farm", RMC_SYNC_ASYNC }, { "rw", 0 },
	};
	struct rmc_hold h = { .len = LEN }, other = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;
	uint64_t word;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_where = rows[i].row;
		fixture_init_with(&w, NULL, 1);
		o = options_for(&w, rows[i].row);
		o.flags |= rows[i].flags;
		rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN);
		s = rmc_sync_open(&w.qp, &o);
		h.hint = 0;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		word = word_at(&w, 0);
		CHECK_EQ(rmc_sync_take_over(s, 0, SELF, &other), -EBUSY);
		CHECK_EQ(rmc_sync_take_over(s, 1024, SELF, &other), -ENOENT);
		CHECK(word_at(&w, 0) == word);
		fill((uint8_t *)h.data, LEN, 1);
		CHECK_EQ(rmc_sync_commit(s, &h), 0);
		/* its write has begun, at most */
		CHECK_EQ(rmc_sync_take_over(s, 0, SELF, &other), -ENOENT);
		CHECK_EQ(rmc_sync_drain(s), 0);
		check_state(s, 0, 1);
		CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 0, &h), 0);
		CHECK_EQ(rmc_sync_take_over(s, 0, SELF, &other), -EBUSY);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* --- a holder that was taken for dead, and lives --- */

static struct {
	struct rmc_sync *s;
	int at_release;			/* or before the write */
} other;

/* Another node takes the object over, stores 7, and is its next holder. */
static void is_taken(struct fixture *w, const struct fake_op *op)
{
	struct rmc_hold h = { .len = LEN };

	if (op->op != RMC_OP_WRITE && !(other.at_release && op->op == RMC_OP_CAS))
		return;
	w->before = NULL;
	CHECK_EQ(rmc_sync_take_over(other.s, 0, SELF, &h), 0);
	fill((uint8_t *)h.data, LEN, 7);
	CHECK_EQ(rmc_sync_commit(other.s, &h), 0);
	CHECK_EQ(rmc_sync_write(other.s, 0, &h), 0);
}

/* Its calls say so, and it leaves the latch of the other one as it is. */
static void taken_for_dead(void)
{
	static const struct {
		const char *row;
		unsigned int flags;
		int cancels;
	} rows[] = {
		{ "rw", 0, 0 }, { "rw", RMC_SYNC_ASYNC, 0 }, { "rw", RMC_SYNC_COMBINE, 0 },
		{ "rw", ALL, 0 }, { "excl", 0, 0 }, { "excl", RMC_SYNC_ASYNC, 0 }, { "excl", ALL, 0 },
		{ "sabre", 0, 0 }, { "sabre", ALL, 0 }, { "excl", 0, 1 },
	};
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync_stats stats;
	struct fixture w, second;
	struct rmc_sync *s;
	unsigned int i;
	uint64_t word;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int async = !!(rows[i].flags & RMC_SYNC_ASYNC), cancels = rows[i].cancels, err;

		tap_where = rows[i].row;
		fixture_init_with(&w, NULL, 1);
		fixture_init_with(&second, w.segment, 1);
		o = options_for(&w, rows[i].row);
		o.flags |= rows[i].flags;
		rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN);
		s = rmc_sync_open(&w.qp, &o);
		o = options_for(&second, rows[i].row);
		o.nid = 6;
		other.s = rmc_sync_open(&second.qp, &o);
		other.at_release = cancels;
		h.hint = 0;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		fill((uint8_t *)h.data, LEN, 1);
		w.before = is_taken;
		err = cancels ? rmc_sync_cancel(s, &h) : rmc_sync_commit(s, &h);
		CHECK_EQ(err, async ? 0 : RMC_SCHEME_TORN);
		CHECK_EQ(rmc_sync_drain(s), async ? RMC_SCHEME_TORN : 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		rmc_sync_stats(s, &stats);
		CHECK_EQ(stats.damaged, !cancels);
		CHECK_EQ(stats.background_failed, async);
		CHECK_EQ(stats.unlocks_lost, 0);
		word = word_at(&w, 0);
		CHECK((i < 4 ? word >> 20 : i < 7 || cancels ? word : word >> 53) % 2048 == 7);
		rmc_sync_close(other.s);
		rmc_sync_close(s);
		CHECK(!(word_at(&w, 0) & ~14ULL));
		fixture_fini(&second);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* The one that has taken over releases at the same time: no latch stays. */
static void release_together(void)
{
	struct rmc_hold h[2] = { { .len = LEN }, { .len = LEN } }, *done;
	struct rmc_sync_options o;
	struct rmc_sync *s[2];
	struct fixture w[2];
	unsigned int i, k;

	fixture_init_with(&w[0], NULL, 1);
	fixture_init_with(&w[1], w[0].segment, 1);
	for (k = 0; k < 2; k++) {
		o = options_for(&w[k], "rw");
		o.nid = SELF + (int)k;
		s[k] = rmc_sync_open(&w[k].qp, &o);
	}
	CHECK_EQ(rmc_sync_write(s[0], 0, &h[0]), 0);
	CHECK_EQ(rmc_sync_take_over(s[1], 0, SELF, &h[1]), 0);
	/* both write; subtract; add again; read the word; and one of them subtracts */
	for (k = 0; k < 2; k++) {
		w[k].rmc.flags->need_wakeup = 0;
		CHECK_EQ(rmc_sync_start(s[k], RMC_SYNC_COMMIT, 0, &h[k]), 0);
	}
	for (i = 0; i < 8; i++) {
		for (k = 0; k < 2; k++)
			visit_at_once(&w[k].qp);
		for (k = 0; k < 2; k++)
			rmc_sync_poll(s[k], &done);
	}
	for (k = 0; k < 2; k++)
		w[k].rmc.flags->need_wakeup = 1;
	CHECK_EQ(h[0].status, RMC_SCHEME_TORN);
	CHECK_EQ(h[1].status, RMC_SCHEME_TORN);
	CHECK(!word_at(&w[0], 0));
	for (k = 2; k-- > 0; ) {
		rmc_sync_close(s[k]);
		fixture_fini(&w[k]);
	}
}

/* A release that is repeated, and was executed before, finds another word: nothing was taken. */
static void released_before(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	o = options_for(&w, "excl");
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	fill((uint8_t *)h.data, LEN, 1);
	w.fault = LOSE_REPLY;
	w.faults = 1;
	w.fault_at = 2;
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(w.faults, 0);
	rmc_sync_stats(s, &stats);
	CHECK_EQ(stats.damaged, 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- a queue pair that is taken for ordered, and notices nothing --- */

/* A half of the write is lost, but the release behind it is not: that is no success. */
static void trusted(void)
{
	static const struct {
		const char *row;
		unsigned int flags;
	} rows[] = {
		{ "rw", RMC_SYNC_COMBINE }, { "excl", RMC_SYNC_COMBINE }, { "sabre", RMC_SYNC_COMBINE },
		{ "rw", ALL },
	};
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_stats stats;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;
	int err;

	/* once more behind a failure that has shown that it does not stop */
	for (i = 0; i < 2 * 4; i++) {
		tap_where = rows[i % 4].row;
		fixture_init_with(&w, NULL, 1);
		o = options_for(&w, rows[i % 4].row);
		o.flags |= rows[i % 4].flags;
		s = rmc_sync_open(&w.qp, &o);
		h.hint = 0;
		w.lose_op = RMC_OP_READ;
		w.lose_swaps = i / 4;
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		fill((uint8_t *)h.data, LEN, 1);
		w.lose_op = RMC_OP_WRITE;
		w.fault = LOSE_HALF;
		w.lose_swaps = 1;
		err = rmc_sync_commit(s, &h);
		CHECK_EQ(rmc_sync_drain(s) + err, RMC_S_TIMEOUT);
		rmc_sync_stats(s, &stats);
		CHECK_EQ(stats.damaged, 1);
		rmc_sync_close(s);
		CHECK_EQ(w.refused, 1);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* --- a pool in its second life --- */

static struct rmc_sync *open_pool(struct fixture *w, const char *row, unsigned int slots)
{
	struct rmc_sync_options o = options_for(w, row);

	o.pool_slots = slots;
	o.grace_us = 1;
	return rmc_sync_open(&w->qp, &o);
}

/* What was written in the first life is read in the second one, whatever that writes. */
static void second_life(void)
{
	static const char * const rows[] = { "out-of-place", "mark-out-of-place" };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		tap_where = rows[i];
		fixture_init_with(&w, NULL, 1);
		s = open_pool(&w, rows[i], SLOTS);
		CHECK_EQ(store(s, 0, &h, 1), 0);
		rmc_sync_close(s);
		s = open_pool(&w, rows[i], SLOTS);
		for (k = 2; k < 5 * SLOTS; k++) {
			h.hint = 0;
			CHECK_EQ(store(s, 1024, &h, (uint8_t)k), 0);
			check_state(s, 0, 1);
			check_state(s, 1024, (uint8_t)k);
		}
		h.hint = 0;
		CHECK_EQ(store(s, 0, &h, 2), 0);
		check_state(s, 0, 2);
		rmc_sync_close(s);
		fixture_fini(&w);
	}
	tap_where = NULL;
}

/* No slot is left: that is said, and the hold stays. Nor may one be taken that nobody has seen. */
static void no_slot(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	s = open_pool(&w, "mark-out-of-place", 2);
	for (i = 1; i <= 2; i++)
		CHECK_EQ(store(s, 0, &h, (uint8_t)i), 0);
	rmc_sync_close(s);
	s = open_pool(&w, "mark-out-of-place", 2);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_commit(s, &h), -ENOSPC);
	CHECK(strstr(rmc_errmsg(), "2 of 2 had copies from before"));
	CHECK_EQ(rmc_sync_cancel(s, &h), 0);
	check_state(s, 0, 2);
	rmc_sync_close(s);
	/* a link that is down for a time: not for ever, and no slot is lost */
	s = open_pool(&w, "mark-out-of-place", SLOTS);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	w.lose_op = RMC_OP_READ;
	w.fault = LINK_DOWN;
	w.lose_swaps = 100;
	CHECK_EQ(rmc_sync_upgrade(s, &h), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(rmc_sync_commit(s, &h), -ENOSPC);
		CHECK(strstr(rmc_errmsg(), "cannot be read"));
	}
	CHECK(w.lose_swaps > 60);
	w.lose_swaps = 0;
	fill((uint8_t *)h.data, LEN, 3);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	for (i = 4; i < 4 + SLOTS - 3; i++)
		CHECK_EQ(store(s, i * 1024, &h, (uint8_t)i), 0);
	check_state(s, 0, 3);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* Readers may still read what was replaced. */
static void too_young(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	o = options_for(&w, "out-of-place");
	o.pool_slots = 2;
	o.grace_us = 3600000000U;
	s = rmc_sync_open(&w.qp, &o);
	for (i = 1; i <= 2; i++)
		CHECK_EQ(store(s, 0, &h, (uint8_t)i), 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_COMMIT, 0, &h), -ENOSPC);
	CHECK_EQ(rmc_sync_cancel(s, &h), 0);
	check_state(s, 0, 2);
	rmc_sync_close(s);
	fixture_fini(&w);
}

static uint64_t forbidden;

static void never_written(struct fixture *w, const struct fake_op *op)
{
	(void)w;
	CHECK(op->op != RMC_OP_WRITE || op->offset != forbidden);
}

/* A marked index word that names another object's copy: that is not this client's to use. */
static void foreign_copy(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	s = open_pool(&w, "mark-out-of-place", SLOTS);
	forbidden = POOL + (SLOTS + 1) * rmc_sync_copy_bytes(LEN);
	set_word(&w, forbidden, 1024);
	set_word(&w, forbidden + 8, forbidden / LINE << 24 | 1);
	set_word(&w, 1024, forbidden / LINE << 24 | 1);
	set_word(&w, 0, 1ULL << 58 | forbidden / LINE << 24 | 7ULL << 13);
	CHECK_EQ(rmc_sync_take_over(s, 0, 6, &h), 0);
	CHECK(h.torn);
	fill((uint8_t *)h.data, LEN, 1);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	w.before = never_written;
	for (i = 2; i < 4 * SLOTS; i++)
		CHECK_EQ(store(s, 0, &h, (uint8_t)i), 0);
	check_state(s, 1024, 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- a message whose response comes late --- */

static struct {
	uint8_t data[LEN + 16];
	size_t len;			/* 0: none yet */
	uint32_t ticket;
} response;

static int asks(void *to, int nid, const void *buf, size_t len)
{
	(void)to;
	(void)nid;
	CHECK(len >= 16);
	memcpy(&response.ticket, (const uint8_t *)buf + 4, sizeof(response.ticket));
	return 0;
}

static int answered(void *to, void *buf, size_t size, size_t *len, int *from)
{
	(void)to;
	if (!response.len)
		return -EAGAIN;
	CHECK(size >= response.len);
	memcpy(buf, response.data, response.len);
	*len = response.len;
	*from = 0;
	response.len = 0;
	return 0;
}

/* It is not copied to a buffer that was freed at the close. */
static void late_response(void)
{
	static const struct rmc_rpc_link link = { .request = asks, .recv = answered };
	const struct rmc_rpc_options options = { .first_nid = 0, .nodes = 1, .max = 1024 };
	/* of a response: its kind, ticket and result */
	uint32_t head[4] = { 2, 0, LEN, 0 };
	struct rmc_hold h = { .len = LEN }, *done;
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct rmc_rpc *r;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	r = rmc_rpc_open_over(&link, NULL, &options);
	o = options_for(&w, "rpc");
	o.rpc = r;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_start(s, RMC_SYNC_READ, 0, &h), 0);
	CHECK_EQ(rmc_sync_poll(s, &done), 0);
	rmc_sync_close(s);
	head[1] = response.ticket;
	memcpy(response.data, head, sizeof(head));
	fill(response.data + sizeof(head), LEN, 1);
	response.len = sizeof(response.data);
	/* the landing buffer, too, is the caller's again */
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK_EQ(response.len, 0);
	CHECK(w.memory[0] == 0 && whole(w.memory, LEN));
	rmc_rpc_close(r);
	fixture_fini(&w);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "what a client has given up stays latched when it tries again", given_up },
		{ "a client does not take over what it holds or stores", own_sweep },
		{ "a holder that was taken for dead is told", taken_for_dead },
		{ "two that release one latch of rw leave none", release_together },
		{ "one that has released it before is not", released_before },
		{ "a lost write behind which the latch was released is damage", trusted },
		{ "a pool that was used before: no copy is overwritten", second_life },
		{ "a pool without a slot that may be used", no_slot },
		{ "a copy that was replaced is not used again at once", too_young },
		{ "another object's copy is not taken into the pool", foreign_copy },
		{ "a response that comes behind the close has no place", late_response },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
