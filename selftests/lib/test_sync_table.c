/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Table 1 of R25 by counts: messages, round trips that the caller waits for, and atomics of
 * uncontended operations; and what rmc_sync_open() refuses.
 */
#include <errno.h>
#include <linux/rmc_switch.h>
#include "../../lib/internal.h"
#include "sync_test.h"

#define OPERATIONS	1000

struct count {
	const char *row;
	unsigned int latch, flags;
	int writes;
	unsigned int messages, round_trips, atomics;
};

static const struct count table[] = {
	{ "rw", 0, 0, 1, 4, 4, 2 },
	{ "rw", 0, RMC_SYNC_SPEC, 1, 4, 3, 2 },
	{ "rw", 0, RMC_SYNC_SPEC | RMC_SYNC_COMBINE, 1, 4, 2, 2 },
	{ "rw", 0, ALL, 1, 4, 1, 2 },
	{ "excl", 0, 0, 1, 4, 4, 2 },
	{ "excl", 0, ALL, 1, 4, 1, 2 },
	{ "excl", 0, UNLATCH, 1, 3, 2, 1 },
	{ "excl", 0, UNLATCH | RMC_SYNC_ASYNC, 1, 3, 1, 1 },
	{ "rw", RMC_LATCH_DETACHED, 0, 1, 4, 4, 2 },
	{ "rw", RMC_LATCH_DETACHED, ALL, 1, 4, 1, 2 },
	{ "rw", 0, 0, 0, 3, 3, 2 },
	{ "rw", 0, RMC_SYNC_SPEC, 0, 3, 2, 2 },
	{ "rw", 0, RMC_SYNC_SPEC | RMC_SYNC_ASYNC, 0, 3, 1, 2 },
	{ "unsync", 0, 0, 0, 1, 1, 0 },
	{ "unsync", 0, 0, 1, 2, 2, 0 },
	{ "naive", 0, 0, 0, 2, 2, 0 },
	{ "bookend", 0, 0, 0, 2, 2, 0 },
	{ "crc64", 0, 0, 0, 2, 2, 0 },
	{ "crc64", RMC_LATCH_EXCL, 0, 0, 2, 2, 0 },
	{ "crc64-tables", 0, 0, 0, 2, 2, 0 },
	{ "farm", 0, 0, 0, 2, 2, 0 },
	{ "farm", RMC_LATCH_EXCL, UNLATCH, 0, 2, 2, 0 },
	{ "out-of-place", 0, 0, 0, 2, 2, 0 },
	{ "mark-out-of-place", 0, 0, 0, 2, 2, 0 },
	{ "overlapped", 0, 0, 0, 3, 2, 0 },
	{ "versioning", 0, 0, 0, 3, 3, 0 },
	{ "versioning", 0, UNLATCH, 0, 3, 3, 0 },
	{ "relaxed-versioning", 0, 0, 0, 2, 2, 0 },
	{ "relaxed-crc64", 0, 0, 0, 1, 1, 0 },
	{ "relaxed-farm", 0, 0, 0, 1, 1, 0 },
	{ "relaxed-out-of-place", 0, 0, 0, 2, 2, 0 },
	{ "mark-in-place", 0, 0, 0, 1, 1, 0 },
	{ "versioning", 0, UNLATCH, 1, 3, 2, 1 },
	{ "versioning", 0, UNLATCH | RMC_SYNC_ASYNC, 1, 3, 1, 1 },
	{ "farm", RMC_LATCH_EXCL, UNLATCH, 1, 3, 2, 1 },
	{ "crc64", RMC_LATCH_EXCL, UNLATCH | RMC_SYNC_ASYNC, 1, 3, 1, 1 },
	/* with the version of the last hold as a guess */
	{ "farm", 0, 0, 1, 4, 4, 2 },
	{ "sabre", 0, ALL, 1, 4, 1, 2 },
	{ "out-of-place", 0, 0, 1, 3, 3, 1 },
	{ "out-of-place", 0, RMC_SYNC_ASYNC, 1, 4, 2, 1 },
	{ "mark-out-of-place", 0, 0, 1, 4, 4, 2 },
	{ "switch", 0, 0, 0, 2, 2, 0 },
	{ "switch", 0, 0, 1, 3, 3, 1 },
	{ "switch", 0, RMC_SYNC_SPEC, 1, 3, 2, 1 },
	{ "switch", 0, RMC_SYNC_SPEC | RMC_SYNC_ASYNC, 1, 3, 1, 1 },
	{ "sabre", 0, 0, 0, 1, 1, 0 },
	{ "lock", 0, 0, 0, 3, 2, 2 },
};

/*
 * A switch in front of object 0, whose word memory has between two operations: a read of the whole
 * tuple finds the verdict there, and a write leaves the latch's word.
 */
static struct {
	uint64_t word;
	unsigned int op;
	uint32_t length;
} tuple;

static void at_switch(struct fixture *w, const struct fake_op *op)
{
	uint64_t now = word_at(w, 0);

	if (tuple.op == RMC_OP_READ && tuple.length > sizeof(now))
		now = tuple.word;
	now += tuple.op == RMC_OP_WRITE_ONCE;
	tuple.word = now;
	tuple.op = op->op;
	tuple.length = op->length;
	if (op->op == RMC_OP_READ && op->length > sizeof(now))
		now = now & RMC_SWITCH_LATCHED ? RMC_SWITCH_FAILED : now | RMC_SWITCH_VERIFIED;
	set_word(w, 0, now);
}

static int operation(struct rmc_sync *s, int writes, struct rmc_hold *h)
{
	int err = writes ? rmc_sync_write(s, 0, h) : rmc_sync_read(s, 0, h);

	if (err)
		return err;
	if (!writes)
		return rmc_sync_end(s, h);
	memset(h->data, (int)h->version, h->len);
	return rmc_sync_commit(s, h);
}

/* system: NULL, or its scheme, latch and flags are those of c */
static void count(const struct count *c, const struct rmc_sync_system *system)
{
	struct rmc_sync_stats before, after;
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync_cost cost;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;
	uint32_t issued;
	int err = 0;

	fixture_init_with(&w, NULL, 1);
	o = options_of(&w, c->row, c->flags);
	o.latch = c->latch;
	if (system) {
		o = options_of(&w, "naive", RMC_SYNC_COMBINE);
		CHECK_EQ(rmc_sync_system_use(system, &o), 0);
		CHECK(o.scheme == rmc_sync_find(c->row) && o.latch == c->latch);
		CHECK_EQ(o.flags, c->flags | RMC_SYNC_TRUST_ORDER);
	}
	o.grace_us = strncmp(c->row, "relaxed", 7) ? 1 : 20000000;
	if (o.scheme->needs & RMC_NEEDS_POOL)
		o.max = LEN;
	o.latches = POOL;
	o.stride = rmc_scheme_bytes(o.scheme, MAX) + LINE;
	o.objects = 8;
	rmc_scheme_init(rmc_sync_layout(&o), (struct rmc_object *)w.segment, LEN);
	if (!strcmp(c->row, "switch")) {
		memset(&tuple, 0, sizeof(tuple));
		set_word(&w, 0, RMC_SWITCH_SWITCHED);
		w.before = at_switch;
	}
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	/* with a hint, where there may be one: a first write, so that there is an index word */
	if (o.scheme->needs & RMC_NEEDS_POOL)
		CHECK_EQ(operation(s, 1, &h), 0);
	/* and the pool's slots have all been looked at */
	for (i = 0; o.scheme->needs & RMC_NEEDS_POOL && c->writes && i < SLOTS; i++)
		CHECK_EQ(operation(s, 1, &h), 0);
	CHECK_EQ(operation(s, c->writes, &h), 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	rmc_sync_stats(s, &before);
	issued = w.qp.head;
	w.messages = w.atomics = 0;
	for (i = 0; i < OPERATIONS && !err; i++)
		err = operation(s, c->writes, &h);
	CHECK_EQ(err, 0);
	CHECK_EQ(rmc_sync_drain(s), 0);
	while (rmc_qp_in_flight(&w.qp))
		usleep(100);
	rmc_sync_stats(s, &after);
	if (w.qp.head - issued != c->messages * OPERATIONS ||
	    after.round_trips - before.round_trips != c->round_trips * OPERATIONS)
		printf("# %s %u %x: %u messages, %lu round trips\n", c->row, c->latch, c->flags,
		       w.qp.head - issued, (unsigned long)(after.round_trips - before.round_trips));
	CHECK_EQ(w.qp.head - issued, c->messages * OPERATIONS);
	CHECK_EQ(after.messages - before.messages, c->messages * OPERATIONS);
	CHECK_EQ(after.round_trips - before.round_trips, c->round_trips * OPERATIONS);
	CHECK_EQ(after.atomics - before.atomics, c->atomics * OPERATIONS);
	/* as the library says without an operation */
	tap_where = c->row;
	CHECK_EQ(rmc_sync_cost(&o, c->writes, &cost), 0);
	CHECK_EQ(cost.messages, c->messages);
	CHECK_EQ(cost.round_trips, c->round_trips);
	CHECK_EQ(cost.atomics, c->atomics);
	tap_where = NULL;
	CHECK_EQ(w.messages, c->messages * OPERATIONS);
	CHECK_EQ(w.atomics, c->atomics * OPERATIONS);
	CHECK_EQ(after.failed + after.torn + after.locked + after.unlocks_lost, 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

static void counts(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		count(&table[i], NULL);
}

/* Shared by readers of a lease: the atomic looks, the read follows. */
static void lease_counts(void)
{
	static const struct count lease = { "lease", 0, 0, 0, 2, 2, 1 };

	count(&lease, NULL);
}

static void systems(void)
{
	static const char * const name[] = {
		"nam-db", "nam-db++", "opt-db-farm", "opt-db-crc64", "opt-db-versioning",
	};
	static const struct count of[][2] = {
		{ { "rw", RMC_LATCH_RW, 0, 0, 3, 3, 2 }, { "rw", RMC_LATCH_RW, 0, 1, 4, 4, 2 } },
		{ { "rw", RMC_LATCH_RW, ALL, 0, 3, 1, 2 }, { "rw", RMC_LATCH_RW, ALL, 1, 4, 1, 2 } },
#define OPTIMISTIC(ROW, READ)								\
		{ { ROW, RMC_LATCH_EXCL, UNLATCH | RMC_SYNC_ASYNC, 0, READ, READ, 0 },	\
		  { ROW, RMC_LATCH_EXCL, UNLATCH | RMC_SYNC_ASYNC, 1, 3, 1, 1 } }
		OPTIMISTIC("farm", 2), OPTIMISTIC("crc64", 2), OPTIMISTIC("versioning", 3),
	};
	const struct rmc_sync_system *s;
	struct rmc_sync_options o = { .max = 512 };
	unsigned int i;

	for (i = 0; (s = rmc_sync_system_number(i)); i++) {
		CHECK(i < 5 && !strcmp(s->name, name[i]) && rmc_sync_system_find(name[i]) == s);
		count(&of[i][0], s);
		count(&of[i][1], s);
		/* objects of a length, with what is between them; the rest is the caller's */
		o.flags = RMC_SYNC_ASYNC;
		o.buffers = 7;
		CHECK_EQ(rmc_sync_system_use(s, &o), 0);
		CHECK(!(o.flags & RMC_SYNC_TRUST_ORDER) && o.buffers == 7 && o.max == 512);
		CHECK_EQ(o.stride, rmc_scheme_bytes(rmc_sync_layout(&o), 512) + (i == 1 ? LINE : 0));
	}
	CHECK_EQ(i, 5);
	CHECK(!rmc_sync_system_find("nam-db+"));
	s = rmc_sync_system_find("nam-db");
	for (i = 0; i < 2; i++) {
		o.max = i ? RMC_LENGTH_MAX + 1 : 0;
		o.scheme = NULL;
		CHECK_EQ(rmc_sync_system_use(s, &o), -EINVAL);
		CHECK(!o.scheme);
	}
}

/* --- what is refused --- */

static void refuse(struct fixture *w, const struct rmc_sync_options *o, int err)
{
	struct rmc_sync *s;

	errno = 0;
	s = rmc_sync_open(&w->qp, o);
	if (s || errno != err)
		printf("# %s %u %x: %s\n", o->scheme ? o->scheme->name : "-", o->latch, o->flags,
		       s ? "opened" : strerror(errno));
	CHECK(!s);
	CHECK_EQ(errno, err);
	rmc_sync_close(s);
}

static void pairs(void)
{
	static const struct {
		const char *row;
		unsigned int latch, flags;
	} pair[] = {
		{ "rw", 0, RMC_SYNC_WRITE_UNLATCH },
		{ "rw", RMC_LATCH_DETACHED, RMC_SYNC_WRITE_UNLATCH },
		{ "sabre", 0, RMC_SYNC_WRITE_UNLATCH },
		{ "farm", RMC_LATCH_VERSION, RMC_SYNC_WRITE_UNLATCH },
		{ "unsync", 0, RMC_SYNC_WRITE_UNLATCH },
		{ "bookend", 0, RMC_SYNC_WRITE_UNLATCH },
		{ "unsync", 0, RMC_SYNC_SPEC },
		{ "unsync", 0, RMC_SYNC_COMBINE },
		{ "out-of-place", 0, RMC_SYNC_SPEC },
		{ "out-of-place", 0, RMC_SYNC_COMBINE },
		{ "lock", 0, RMC_SYNC_COMBINE },
		{ "farm", RMC_LATCH_RW, 0 },
		{ "farm", RMC_LATCH_DETACHED, 0 },
		{ "farm", RMC_LATCH_NONE, 0 },
		{ "versioning", RMC_LATCH_DETACHED, 0 },
		{ "versioning", RMC_LATCH_VERSION, 0 },
		{ "versioning", RMC_LATCH_RW, 0 },
		{ "excl", RMC_LATCH_RW, 0 },
		{ "rw", RMC_LATCH_VERSION, 0 },
		{ "rw", RMC_LATCH_NONE, 0 },
		{ "unsync", RMC_LATCH_EXCL, 0 },
		{ "out-of-place", RMC_LATCH_NONE, 0 },
		{ "switch", RMC_LATCH_EXCL, 0 },
		{ "switch", RMC_LATCH_DETACHED, 0 },
		{ "switch", 0, RMC_SYNC_COMBINE },
		{ "switch", 0, RMC_SYNC_WRITE_UNLATCH },
		/* readers that validate see no latch; nor do messages wait for operations */
		{ "farm", RMC_LATCH_NIC_RPC, 0 },
		{ "versioning", RMC_LATCH_NIC_RPC, 0 },
		{ "crc64", RMC_LATCH_NIC_RPC, 0 },
		{ "sabre", RMC_LATCH_NIC_RPC, 0 },
		{ "unsync", RMC_LATCH_NIC_RPC, 0 },
		{ "lock", RMC_LATCH_NIC_RPC, 0 },
		{ "out-of-place", RMC_LATCH_NIC_RPC, 0 },
		{ "mark-out-of-place", RMC_LATCH_NIC_RPC, 0 },
		{ "rw", RMC_LATCH_NIC_RPC, RMC_SYNC_SPEC },
		{ "rw", RMC_LATCH_NIC_RPC, RMC_SYNC_COMBINE },
		{ "rw", RMC_LATCH_NIC_RPC, RMC_SYNC_WRITE_UNLATCH },
		{ "excl", RMC_LATCH_NIC_RPC, RMC_SYNC_WRITE_UNLATCH },
		{ "relaxed-farm", RMC_LATCH_NIC_RPC, RMC_SYNC_WRITE_UNLATCH },
		{ "relaxed-crc64", RMC_LATCH_NIC_RPC, RMC_SYNC_COMBINE },
		{ "rw", RMC_LATCHES, 0 },
		{ "rw", 0, 1U << 31 },
	};
	struct rmc_sync_options o;
	struct rmc_sync_cost cost;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	for (i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		o = options_of(&w, pair[i].row, 0);
		o.latch = pair[i].latch;
		o.flags |= pair[i].flags;
		refuse(&w, &o, EINVAL);
		CHECK(!rmc_sync_layout(&o) && errno == EINVAL);
		CHECK_EQ(rmc_sync_bytes(&o), 0);
		CHECK_EQ(rmc_sync_cost(&o, 0, &cost), -EINVAL);
	}
	o = options_of(&w, "lock", 0);
	CHECK_EQ(rmc_sync_cost(&o, 1, &cost), -EOPNOTSUPP);
	o = options_of(&w, "rw", 0);
	o.scheme = NULL;
	refuse(&w, &o, EINVAL);
	/* a layout is no row */
	o = options_of(&w, "farm", UNLATCH);
	o.scheme = rmc_sync_layout(&o);
	CHECK(o.scheme && o.scheme != rmc_sync_find("farm"));
	refuse(&w, &o, EINVAL);
	fixture_fini(&w);
}

/* Without an ordered queue pair; the same as rows that are named as broken are allowed. */
static void order(void)
{
	static const struct {
		const char *row, *broken;
		unsigned int flags;
	} pair[] = {
		{ "rw", "broken-spec", RMC_SYNC_SPEC },
		{ "rw", "broken-combine", RMC_SYNC_COMBINE },
		{ "excl", "broken-write-unlatch", RMC_SYNC_WRITE_UNLATCH },
		{ "rw", "broken-rw-write-unlatch", 0 },
	};
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	fixture_init_with(&w, NULL, 1);
	CHECK(!rmc_sync_is_ordered(&w.qp));
	for (i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		o = options_of(&w, pair[i].row, 0);
		o.flags = pair[i].flags;
		if (o.flags)
			refuse(&w, &o, EOPNOTSUPP);
		o.scheme = rmc_sync_find(pair[i].broken);
		CHECK_EQ(o.scheme->guarantee, RMC_GUARANTEE_BROKEN);
		o.flags = 0;
		s = rmc_sync_open(&w.qp, &o);
		CHECK(s != NULL);
		rmc_sync_close(s);
	}
	/* nobody waits for less order than this */
	o = options_of(&w, "rw", 0);
	o.flags = RMC_SYNC_ASYNC;
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	rmc_sync_close(s);
	fixture_fini(&w);
}

static void numbers(void)
{
	struct rmc_sync_options good, o;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	good = options_of(&w, "rw", 0);
	o = good;
	o.buffers = ENTRIES;
	refuse(&w, &o, EINVAL);
	o = good;
	o.flags |= RMC_SYNC_ASYNC;
	o.buffers = 1;
	refuse(&w, &o, EINVAL);
	o = good;
	o.nid = -1;
	refuse(&w, &o, EINVAL);
	o.nid = RMC_NID_MAX + 1;
	refuse(&w, &o, EINVAL);
	o = good;
	o.client = 256;
	refuse(&w, &o, EINVAL);
	o = good;
	o.max = (size_t)RMC_LENGTH_MAX;
	refuse(&w, &o, EMSGSIZE);		/* with its words it is longer */
	o.max = SIZE_MAX / 2;
	refuse(&w, &o, EMSGSIZE);
	o = good;
	o.stride = rmc_scheme_bytes(o.scheme, o.max) - LINE;
	refuse(&w, &o, EINVAL);
	o.stride = rmc_scheme_bytes(o.scheme, o.max) + 8;
	refuse(&w, &o, EINVAL);
	o = good;
	o.scheme = rmc_sync_find("strip");
	refuse(&w, &o, EINVAL);			/* no RPC */
	fixture_fini(&w);
}

/* A latch names the node that the queue pair is of: rmc_sync_open() does not believe another one. */
static void names(void)
{
	struct rmc_sync_options o;
	struct rmc_ctx ctx = { 0 };
	struct rmc_sync *s;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	ctx.query.nid = 3;
	ctx.query.max_length = RMC_LENGTH_MAX;
	ctx.query.rrpps = 1;
	w.qp.ctx = &ctx;
	o = options_of(&w, "rw", 0);
	o.nid = 0;
	refuse(&w, &o, EINVAL);
	CHECK(strstr(rmc_errmsg(), "options.nid is 0, this node is 3"));
	o.nid = 3;
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	rmc_sync_close(s);
	w.qp.ctx = NULL;
	fixture_fini(&w);
}

/* What the queue pair's node says of itself: the longest operation, and how many RRPPs serve */
static void adapters(void)
{
	struct rmc_sync_options good, o;
	struct rmc_ctx ctx = { 0 };
	struct rmc_sync *s;
	struct fixture w;
	size_t image;

	fixture_init_with(&w, NULL, 1);
	good = options_of(&w, "excl", UNLATCH);
	image = rmc_sync_layout(&good)->image(MAX);
	ctx.query.nid = good.nid;
	ctx.query.max_length = (uint32_t)image;
	ctx.query.rrpps = 2;
	ctx.query.interleave = (uint32_t)rmc_scheme_bytes(rmc_sync_layout(&good), MAX);
	w.qp.ctx = &ctx;
	s = rmc_sync_open(&w.qp, &good);
	CHECK(s != NULL);
	rmc_sync_close(s);
	/* one byte more than fits into an operation */
	ctx.query.max_length--;
	refuse(&w, &good, EMSGSIZE);
	ctx.query.max_length++;
	/* the footer would be stored by another RRPP than the data, so before it */
	ctx.query.interleave -= LINE;
	refuse(&w, &good, EINVAL);
	CHECK(strstr(rmc_errmsg(), "several RRPPs serve"));
	ctx.query.rrpps = 1;
	s = rmc_sync_open(&w.qp, &good);
	CHECK(s != NULL);
	rmc_sync_close(s);
	ctx.query.rrpps = 2;
	o = options_of(&w, "excl", 0);
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	rmc_sync_close(s);
	w.qp.ctx = NULL;
	fixture_fini(&w);
}

/* Objects and latches that the segment ends in: their node refuses them, and no latch is left */
static void ends_of_segments(void)
{
	static const unsigned int flags[] = { 0, RMC_SYNC_SPEC, ALL };
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		fixture_init_with(&w, NULL, 1);
		s = sync_of(&w, "rw", flags[i]);
		CHECK_EQ(rmc_sync_read(s, SEGMENT - LINE, &h), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(rmc_sync_write(s, SEGMENT - LINE, &h), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(rmc_sync_write(s, SEGMENT, &h), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK(!word_at(&w, SEGMENT - LINE));
		rmc_sync_close(s);
		o = options_of(&w, "rw", flags[i]);
		o.latch = RMC_LATCH_DETACHED;
		o.latches = SEGMENT - 8;
		o.objects = 2;
		o.stride = rmc_scheme_bytes(o.scheme, MAX);
		s = rmc_sync_open(&w.qp, &o);
		CHECK_EQ(rmc_sync_write(s, o.stride, &h), RMC_S_OUT_OF_RANGE);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
		CHECK(word_at(&w, SEGMENT - 8));
		CHECK_EQ(rmc_sync_cancel(s, &h), 0);
		CHECK_EQ(rmc_sync_drain(s), 0);
		CHECK(!word_at(&w, SEGMENT - 8));
		rmc_sync_close(s);
		fixture_fini(&w);
	}
}

static void places(void)
{
	struct rmc_sync_options good, o;
	struct fixture w;

	fixture_init_with(&w, NULL, 1);
	good = options_of(&w, "rw", 0);
	good.latch = RMC_LATCH_DETACHED;
	good.latches = POOL;
	good.objects = 8;
	good.stride = rmc_scheme_bytes(good.scheme, MAX);
	o = good;
	o.latches = POOL + 4;			/* no atomic reaches it there */
	refuse(&w, &o, EINVAL);
	o.latches = RMC_OFFSET_MAX - 63;	/* and behind the end */
	o.objects = 9;
	refuse(&w, &o, EINVAL);
	o.latches = ~7ULL;
	refuse(&w, &o, EINVAL);
	o = good;
	o.stride = 0;
	refuse(&w, &o, EINVAL);
	o = good;
	o.objects = 0;
	refuse(&w, &o, EINVAL);
	o.objects = ~0ULL;
	refuse(&w, &o, EINVAL);
	o = good;
	o.base = 32;
	refuse(&w, &o, EINVAL);
	o = options_of(&w, "out-of-place", 0);
	o.pool = 0;				/* looks like no index word */
	refuse(&w, &o, EINVAL);
	o.pool = POOL + 8;
	refuse(&w, &o, EINVAL);
	o.pool = RMC_OFFSET_MAX & ~63ULL;
	refuse(&w, &o, EINVAL);
	fixture_fini(&w);
}

/* Addresses that no object can have, and holds that are none */
static void addresses(void)
{
	struct rmc_hold h = { .len = LEN }, other = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	size_t stride;

	fixture_init_with(&w, NULL, 1);
	o = options_of(&w, "rw", 0);
	o.latch = RMC_LATCH_DETACHED;
	o.latches = POOL;
	o.objects = 4;
	o.base = stride = o.stride = rmc_scheme_bytes(o.scheme, MAX);
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	CHECK_EQ(rmc_sync_read(s, 0, &h), -EINVAL);			/* before the first */
	CHECK_EQ(rmc_sync_read(s, stride + LINE, &h), -EINVAL);	/* between two */
	CHECK_EQ(rmc_sync_read(s, 5 * stride, &h), -EINVAL);		/* no latch for it */
	CHECK_EQ(rmc_sync_read(s, stride + 8, &h), -EINVAL);
	CHECK_EQ(rmc_sync_read(s, rmc_sync_addr(RMC_NID_MAX + 1, stride), &h), -EINVAL);
	CHECK_EQ(rmc_sync_read(s, rmc_sync_addr(1, stride), &h), RMC_S_BAD_NODE);
	h.len = MAX + 1;
	CHECK_EQ(rmc_sync_read(s, stride, &h), -EMSGSIZE);
	h.len = 0;
	CHECK_EQ(rmc_sync_read(s, stride, &h), -EMSGSIZE);
	h.len = LEN;
	CHECK_EQ(rmc_sync_end(s, &h), -EINVAL);
	CHECK_EQ(rmc_sync_read(s, 4 * stride, &h), 0);
	CHECK(word_at(&w, POOL + 24) == 1);
	CHECK_EQ(rmc_sync_commit(s, &h), -EINVAL);		/* it is no write */
	other = h;						/* and no copy of a hold */
	CHECK_EQ(rmc_sync_end(s, &other), -EINVAL);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK_EQ(rmc_sync_end(s, &h), -EINVAL);
	CHECK_EQ(rmc_sync_start(s, (enum rmc_sync_call)99, 0, &h), -EINVAL);
	rmc_sync_close(s);
	/* only the owner writes */
	o = options_of(&w, "lock", 0);
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), -EOPNOTSUPP);
	CHECK(strstr(rmc_errmsg(), "only the owner writes objects of lock"));
	rmc_sync_close(s);
	o = options_of(&w, "out-of-place", 0);
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_read(s, rmc_sync_addr(1, 0), &h), -EINVAL);
	CHECK(strstr(rmc_errmsg(), "at node 1, but the pool is at node 0"));
	rmc_sync_close(s);
	o.pool_slots = 0;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), -EOPNOTSUPP);
	CHECK(strstr(rmc_errmsg(), "options.pool_slots is 0"));
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	rmc_sync_close(s);
	fixture_fini(&w);
}

/* --- copies out of place --- */

static void slow_copy(struct fixture *w, const struct fake_op *op)
{
	(void)w;
	if (op->op == RMC_OP_READ && op->length > 8)
		usleep(3000);
}

static void copies(void)
{
	struct rmc_hold h = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	struct fixture w;
	unsigned int n;

	/* one size, since the copy that is replaced is used again */
	fixture_init_with(&w, NULL, 1);
	s = sync_of(&w, "out-of-place", 0);
	CHECK_EQ(rmc_sync_write(s, 0, &h), -EMSGSIZE);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_upgrade(s, &h), -EMSGSIZE);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	rmc_sync_close(s);
	/* no hint at a copy that is not written yet */
	o = options_of(&w, "out-of-place", RMC_SYNC_ASYNC);
	o.max = LEN;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK(!h.hint);
	CHECK_EQ(rmc_sync_drain(s), 0);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK(h.hint);
	rmc_sync_close(s);
	/* a relaxed read needs the index word, and a copy that nobody may write yet */
	o = options_of(&w, "relaxed-out-of-place", 0);
	o.grace_us = 60000000;
	s = rmc_sync_open(&w.qp, &o);
	n = w.messages;
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(w.messages - n, 2);
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	rmc_sync_close(s);
	o.grace_us = 2000;
	w.before = slow_copy;
	s = rmc_sync_open(&w.qp, &o);
	CHECK_EQ(rmc_sync_read(s, 0, &h), RMC_SCHEME_TORN);
	rmc_sync_close(s);
	fixture_fini(&w);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "messages, round trips and atomics of each row", counts },
		{ "and of a shared lease", lease_counts },
		{ "and of each system, by name", systems },
		{ "pairs that exclude each other are refused", pairs },
		{ "what needs order is refused without", order },
		{ "numbers of options", numbers },
		{ "the node of a queue pair", names },
		{ "what the node of a queue pair can", adapters },
		{ "places of latches and copies", places },
		{ "objects and latches that the segment ends in", ends_of_segments },
		{ "addresses and holds that cannot be", addresses },
		{ "sizes, hints and times of copies", copies },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
