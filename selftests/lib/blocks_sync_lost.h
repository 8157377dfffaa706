/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks with the latches of <rmc/sync.h>, when more is lost than a few operations. Part of
 * test_blocks.c
 */
#ifndef BLOCKS_SYNC_LOST_H
#define BLOCKS_SYNC_LOST_H

/* An end of a hold repeats so much */
#define END_TRIES	8

/* So many operations of this kind end with this status, from the nth one on */
static void fail_from(struct client *c, int op, unsigned int n, unsigned int times, int status)
{
	c->rmc.only = op;
	c->rmc.operations = 0;
	c->rmc.fail_at = n;
	c->rmc.fails = times;
	c->rmc.fail_status = status;
}

static void fail_no_more(struct client *c)
{
	c->rmc.fails = 0;
	c->rmc.only = -1;
}

/*
 * The nth write of an operation is lost for good, and stored later. Who has read the fixed block of
 * the structure before learns that others may change what it leads to.
 */
static void lost_link(const struct setting *s, unsigned int n)
{
	struct worker *a = &workers[0], *b = &workers[1];
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct done d = { .kind = CHECK_INSERT };
	bool table = s->coupling == TABLE;
	int err;

	area_latch = s->latch;
	area_sync = s->sync;
	areas_of(table ? RMC_BLOCKS_TABLE : RMC_BLOCKS_MAP, s->scheme, 200, 1, 40, 1);
	area_latch = NULL;
	area_sync = 0;
	tap_where = s->scheme;
	worker_open(a, s, 0);
	worker_open(b, s, 1);
	for (d.key = 1; d.key <= 5; d.key++) {
		d.value = d.key;
		CHECK_EQ(work_one(a, &d), 0);
	}
	ops = b->c.blocks->ops;
	CHECK_EQ(ops->begin(b->c.blocks, 0), 0);
	CHECK_EQ(ops->enter(b->c.blocks, ops->fixed_at(b->c.blocks, 0), RMC_BLOCK_READ, &h), 0);
	fail_from(&a->c, RMC_OP_WRITE, n, END_TRIES, RMC_S_TIMEOUT);
	d = (struct done){ .kind = table ? CHECK_DELETE : CHECK_INSERT, .key = table ? 5 : 6 };
	err = work_one(a, &d);
	CHECK(err == RMC_S_TIMEOUT || (table && !err));
	fail_no_more(&a->c);
	CHECK_EQ(stats_of(&a->c).stuck, 0);
	CHECK_EQ(ops->valid(b->c.blocks, &h), RMC_BLOCK_RESTART);
	ops->cancel(b->c.blocks, &h);
	for (d.kind = CHECK_READ, d.key = 1; d.key <= 4; d.key++) {
		CHECK_EQ(work_one(b, &d), 0);
		CHECK_EQ(d.got, d.key);
	}
	worker_close(a);
	worker_close(b);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

static void sync_lost_links(void)
{
	static const struct setting rows[] = {
		{ "farm", TABLE, 0, "excl", 0, 0 }, { "farm", TABLE, 0, "excl", RMC_SYNC_ASYNC, 0 },
		{ "versioning", MAP, 0, NULL, 0, 0 }, { "farm", MAP, 0, "excl", RMC_SYNC_ASYNC, 0 },
	};
	size_t i;

	/* the entry, the block before it; of a map: the entry, its parent, the head */
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		lost_link(&rows[i], 2);
}

/* A client of node 3, and one of node 4 that recovers its latches */
static uint64_t two_nodes(const struct setting *s, struct client *c)
{
	uint64_t at;

	sync_areas(s, 1000, 2, 10);
	client_open(&c[0], 1);
	options.nid = 4;
	client_open(&c[1], 2);
	at = c[0].blocks->ops->fixed_at(c[0].blocks, 0);
	CHECK_EQ(write_block(&c[0], at, 1), 0);
	CHECK_EQ(write_block(&c[1], at, 2), 0);
	return at;
}

static void two_close(struct client *c)
{
	client_close(&c[0]);
	client_close(&c[1]);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

/* Half of the block is stored */
static void die_in_write(struct client *c, struct rmc_block_hold *h)
{
	fail_from(c, RMC_OP_WRITE, 0, 0, 0);
	die_at(c, 1, INLINE_PART);
	c->blocks->ops->leave(c->blocks, h);
	rmc_remote_quiet(remote(c));
}

/* A recovery ends with a status at each of its operations: the next one finds what it has left */
static bool failed_recovery(const struct setting *s, bool torn, bool meets, unsigned int n)
{
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client c[2], other;
	uint64_t at = two_nodes(s, c);
	int err, first;
	bool more;

	client_open(&other, 3);
	ops = c[0].blocks->ops;
	CHECK_EQ(ops->begin(c[0].blocks, 0), 0);
	CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&c[0], &h, 9);
	if (torn)
		die_in_write(&c[0], &h);
	fail_from(&c[1], -1, n, 1, RMC_S_NODE_DOWN);
	first = rmc_blocks_recover(c[1].blocks, 3, 0);
	more = c[1].rmc.operations >= n;
	fail_no_more(&c[1]);
	if (first != RMC_S_NODE_DOWN)
		CHECK_EQ(first, torn ? -EUCLEAN : 0);
	/* it meets the block, or not */
	if (meets) {
		CHECK_EQ(ops->begin(c[1].blocks, 0), 0);
		err = ops->enter(c[1].blocks, at, RMC_BLOCK_READ, &h);
		CHECK(err == RMC_BLOCK_RESTART || (!torn && !err));
		ops->cancel(c[1].blocks, &h);
	}
	CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 0), torn ? -EUCLEAN : 0);
	CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 0), torn ? -EUCLEAN : 0);
	if (!torn)
		CHECK_EQ(filled(&other, at), 2);
	CHECK_EQ(stats_of(&c[1]).stuck, 0);
	client_close(&other);
	two_close(c);
	return more;
}

static void sync_failed_recoveries(void)
{
	static const struct setting rows[] = {
		{ "rw", 0, 0, NULL, 0, 0 }, { "rw", 0, 0, "detached", RMC_SYNC_ASYNC, 0 },
		{ "farm", 0, 0, "excl", 0, 0 }, { "crc64", 0, 0, "excl", RMC_SYNC_ASYNC, 0 },
	};
	unsigned int n, how;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (how = 0; how < 4; how++)
			for (n = 1; failed_recovery(&rows[i], how & 1, how & 2, n); n++)
				;
}

/* What an earlier life of a client has left half written is not taken back as it is */
static void sync_earlier_life(void)
{
	static const struct setting row = { "rw", 0, 0, NULL, 0, 0 };
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client c[2];
	uint64_t at = two_nodes(&row, c), other;

	ops = c[0].blocks->ops;
	other = ops->fixed_at(c[0].blocks, 2);
	CHECK_EQ(ops->begin(c[0].blocks, 0), 0);
	CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&c[0], &h, 9);
	die_in_write(&c[0], &h);
	/* the next life loses a release */
	client_close(&c[1]);
	options.nid = 3;
	client_open(&c[1], 1);
	CHECK_EQ(ops->begin(c[1].blocks, 0), 0);
	CHECK_EQ(ops->enter(c[1].blocks, other, RMC_BLOCK_WRITE, &h), 0);
	fail_from(&c[1], -1, 1, ~0U, RMC_S_TIMEOUT);
	ops->cancel(c[1].blocks, &h);
	rmc_remote_quiet(remote(&c[1]));
	fail_no_more(&c[1]);
	CHECK_EQ(ops->enter(c[1].blocks, at, RMC_BLOCK_READ, &h), RMC_BLOCK_RESTART);
	CHECK_EQ(ops->end(c[1].blocks, 0), 0);
	CHECK_EQ(filled(&c[1], other), 0);
	CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 2), -EUCLEAN);
	two_close(c);
}

/*
 * A client that was taken for dead has an image to store. By then it has written the block once
 * more, and kept the latch: the older image is not stored over that.
 */
static void sync_old_image(void)
{
	static const struct setting row = { "farm", 0, 0, "excl", 0, 0 };
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client c[2];
	uint64_t at = two_nodes(&row, c);

	ops = c[0].blocks->ops;
	CHECK_EQ(ops->begin(c[0].blocks, 0), 0);
	CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&c[0], &h, 9);
	fail_from(&c[0], RMC_OP_WRITE, 1, END_TRIES, RMC_S_TIMEOUT);
	CHECK_EQ(ops->leave(c[0].blocks, &h), RMC_S_TIMEOUT);
	fail_no_more(&c[0]);
	CHECK_EQ(stats_of(&c[0]).stuck, 1);
	CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 0), 0);
	CHECK_EQ(filled(&c[1], at), 2);
	CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&c[0], &h, 5);
	/* the release of what is stored */
	fail_from(&c[0], RMC_OP_CAS, 1, ~0U, RMC_S_TIMEOUT);
	ops->leave(c[0].blocks, &h);
	fail_no_more(&c[0]);
	ops->end(c[0].blocks, 0);
	CHECK_EQ(filled(&c[1], at), 5);
	CHECK_EQ(stats_of(&c[0]).stuck, 0);
	two_close(c);
}

static void sleeps(struct rmc_qp *qp)
{
	(void)qp;
}

/* The queue pair is dead, and the program goes on to call */
static void sync_dead_queue_pair(void)
{
	static const struct setting row = { "farm", 0, 0, "excl", RMC_SYNC_ASYNC, 0 };
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client c[2];
	uint64_t at = two_nodes(&row, c);
	unsigned int i;

	ops = c[0].blocks->ops;
	CHECK_EQ(ops->begin(c[0].blocks, 0), 0);
	CHECK_EQ(ops->enter(c[0].blocks, at, RMC_BLOCK_WRITE, &h), 0);
	fill_hold(&c[0], &h, 9);
	c[0].rmc.qp.wake = sleeps;
	c[0].rmc.flags->dead = 1;
	CHECK_EQ(ops->leave(c[0].blocks, &h), 0);
	CHECK(ops->end(c[0].blocks, 0));
	for (i = 0; i < 3 * BLOCK_LETS; i++)
		CHECK(write_block(&c[0], at, 3));
	CHECK(remote(&c[0])->lets <= BLOCK_LETS);
	/* unknown to others: the latch stays */
	CHECK_EQ(rmc_blocks_recover(c[1].blocks, 3, 0), 0);
	CHECK_EQ(filled(&c[1], at), 2);
	two_close(c);
}

/* A version at its limit: the block cannot be written, and its holds end */
static void sync_last_version(void)
{
	static const struct setting row = { "farm", 0, 0, "excl", 0, 0 };
	static const uint64_t limit = ~0ULL - 3;
	struct rmc_block_hold h = { 0 };
	const struct rmc_block_ops *ops;
	struct client a;
	unsigned int i;
	uint64_t at;

	sync_areas(&row, 40, 1, 10);
	client_open(&a, 1);
	ops = a.blocks->ops;
	at = ops->fixed_at(a.blocks, 0);
	memcpy(word_of(&a, at) + 1, &limit, sizeof(limit));
	for (i = 0; i < 2 * RMC_BLOCK_HOLDS; i++) {
		CHECK_EQ(ops->begin(a.blocks, 0), 0);
		CHECK_EQ(ops->enter(a.blocks, at, RMC_BLOCK_READ, &h), 0);
		CHECK_EQ(ops->upgrade(a.blocks, &h), -EOVERFLOW);
		ops->cancel(a.blocks, &h);
		CHECK_EQ(ops->end(a.blocks, 0), 0);
	}
	client_close(&a);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

#endif /* BLOCKS_SYNC_LOST_H */
