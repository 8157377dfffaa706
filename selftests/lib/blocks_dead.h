/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Clients that die, and the recovery of their latches. From its last operation on nothing of a
 * client arrives; this one is not executed, executed, in part, or later. Part of test_blocks.c
 */
#ifndef BLOCKS_DEAD_H
#define BLOCKS_DEAD_H

static struct inline_rmc *late_of;

/* What a dead client has sent last arrives while another one waits */
static void deliver_late(void)
{
	inline_late_operations(late_of, inline_now());
}

static void die_at(struct client *c, unsigned int n, int how)
{
	c->rmc.operations = 0;
	c->rmc.dies_at = n;
	c->rmc.dies_how = how;
	c->rmc.late_us = GRACE_US;
	c->rmc.seed += n * 77 + (unsigned int)how;
	late_of = &c->rmc;
}

static int recover(struct client *c, unsigned int dead)
{
	int err;

	c->rmc.pause = deliver_late;
	c->rmc.flags->shared_cpu = 1;
	c->rmc.qp.shared = 1;
	err = rmc_blocks_recover(c->blocks, options.nid, dead + 1);
	inline_late_operations(late_of, ~0ULL);
	return err;
}

static unsigned int latched_blocks(const struct client *c)
{
	unsigned int area, n = 0;
	uint64_t i;

	for (area = 0; area < options.nodes; area++)
		for (i = 0; i < options.capacity; i++)
			n += *word_of(c, block_at(remote(c), area, i)) & 1;
	return n;
}

/* --- a block --- */

struct dead_case {
	const char *scheme;
	uint32_t flags;
	size_t bytes;
};

static const struct dead_case dead_cases[] = {
	{ "farm", 0, RMC_TABLE_BYTES }, { "sabre", 0, RMC_TABLE_BYTES },
	{ "farm", 0, 600 }, { "crc64", 0, 600 }, { "sabre", 0, 600 },
	{ "farm", RMC_BLOCKS_REDO, 600 }, { "crc64", RMC_BLOCKS_REDO, 600 },
	{ "sabre", RMC_BLOCKS_REDO, 600 }, { "sabre", RMC_BLOCKS_REDO, RMC_TABLE_BYTES },
};

static bool one_line(const struct dead_case *d)
{
	return rmc_scheme_bytes(rmc_scheme_find(d->scheme), d->bytes) == RMC_CACHE_LINE;
}

/* A block, written once, and three clients */
static uint64_t three_clients(const struct dead_case *d, struct client *c)
{
	unsigned int i;
	uint64_t at;

	area_flags = d->flags;
	tap_where = d->scheme;
	areas(d->scheme, d->bytes, 1, 4, 1);
	area_flags = 0;
	for (i = 0; i < 3; i++)
		client_open(&c[i], i);
	at = c[0].blocks->ops->fixed_at(c[0].blocks, 0);
	CHECK_EQ(write_block(&c[0], at, 1), 0);
	return at;
}

static void three_close(struct client *c)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		client_close(&c[i]);
	inline_fabric_free(&fabric);
	tap_where = NULL;
}

/* false: the write has fewer operations */
static bool dead_writer(const struct dead_case *d, unsigned int n, int how)
{
	struct client c[3];
	uint64_t at = three_clients(d, c), was;
	bool more;
	int err, v;

	die_at(&c[0], n, how);
	write_block(&c[0], at, 2);
	more = c[0].rmc.operations >= n;
	was = *word_of(c, at) & ~BLOCK_WORD_LATCHED;
	err = recover(&c[1], 0);
	/* half of a block is no state, and "sabre" does not show what it is */
	if (!d->flags && !one_line(d) && how != INLINE_DONE && how != INLINE_NOT)
		CHECK(err == 0 || err == -EUCLEAN);
	else
		CHECK(err == 0 || (err == -EUCLEAN && !d->flags && !one_line(d) &&
				   !strcmp(d->scheme, "sabre")));
	CHECK_EQ(stats_of(&c[1]).damaged, err == -EUCLEAN);
	CHECK_EQ(latched_blocks(c), err == -EUCLEAN);
	if (!err) {
		v = filled(&c[2], at);
		CHECK(v == 1 || v == 2);
		CHECK(v == 2 || how != INLINE_DONE || n < 4);
		/* who had read the block before notices */
		CHECK(!stats_of(&c[1]).recovered ||
		      ((*word_of(c, at) & BLOCK_WORD_VERSION) > (was & BLOCK_WORD_VERSION)));
		CHECK_EQ(write_block(&c[2], at, 3), 0);
		CHECK_EQ(filled(&c[1], at), 3);
	}
	three_close(c);
	return more;
}

static void dead_writers(void)
{
	unsigned int n, round;
	bool more;
	size_t i;
	int how;

	for (i = 0; i < ARRAY_SIZE(dead_cases); i++) {
		for (n = 1, more = true; more; n++)
			for (how = INLINE_NOT; how < INLINE_ENDS; how++)
				more = dead_writer(&dead_cases[i], n, how);
		CHECK_EQ(n, 4 + 2 + (dead_cases[i].flags && !one_line(&dead_cases[i])));
		/* other halves */
		for (round = 0; round < 20; round++)
			dead_writer(&dead_cases[i], 3 + round % 2, INLINE_PART);
	}
}

/* Who recovers dies as well: the next one recovers both, in any order */
static void dead_recoverers(void)
{
	unsigned int n, first;
	struct client c[3];
	uint64_t at;
	bool more;
	int how, v;

	for (first = 0; first < 2; first++) {
		for (n = 1, more = true; more; n++) {
			for (how = INLINE_NOT; how < INLINE_ENDS; how++) {
				at = three_clients(&dead_cases[5], c);
				/* the write of the block, after that of its copy */
				die_at(&c[0], 4, INLINE_PART);
				write_block(&c[0], at, 2);
				die_at(&c[1], n, how);
				recover(&c[1], 0);
				more = c[1].rmc.operations >= n;
				late_of = &c[1].rmc;
				CHECK_EQ(recover(&c[2], first), 0);
				CHECK_EQ(recover(&c[2], !first), 0);
				CHECK_EQ(latched_blocks(c), 0);
				v = filled(&c[2], at);
				CHECK_EQ(v, 2);
				CHECK_EQ(write_block(&c[2], at, 3), 0);
				three_close(c);
			}
		}
		CHECK(n >= 9);
	}
}

/* --- an operation of a structure --- */

#define DEAD_KEYS	32

static const struct setting dead_settings[] = {
	{ "farm", TABLE, 40, NULL, 0, 0 }, { "crc64", TABLE, 40, NULL, 0, 0 },
	{ "farm", RMC_TREE_LINK, 40, NULL, 0, 0 },
	{ "sabre", RMC_TREE_LATCH, 40, NULL, 0, 0 },
	{ "crc64", RMC_TREE_VERSION, 40, NULL, 0, 0 }, { "farm", MAP, 40, NULL, 0, 0 },
};

/* Value of a key, 0: it is absent */
static uint64_t dead_value(struct worker *w, uint64_t key)
{
	struct done d = { .kind = CHECK_READ, .key = key };
	int err = work_one(w, &d);

	CHECK(err == 0 || err == -ENOENT);
	return err ? 0 : d.got;
}

/* The keys 0 .. keys - 1, and then the operation: false: it has fewer steps */
static bool dead_operation(const struct setting *s, uint64_t keys, enum check_kind kind,
			   unsigned int n, int how)
{
	struct worker *a = &workers[0], *b = &workers[1];
	struct done d = { .kind = CHECK_WRITE };
	uint64_t k, v, was;
	bool more;

	area_flags = RMC_BLOCKS_REDO;
	areas_for(s);
	area_flags = 0;
	worker_open(a, s, 0);
	worker_open(b, s, 1);
	for (d.key = 0; d.key < keys; d.key++) {
		d.value = d.key + 1;
		CHECK_EQ(work_one(a, &d), 0);
	}
	d = (struct done){ .kind = kind, .key = kind == CHECK_INSERT ? keys : keys - 1,
			   .value = 99 };
	die_at(&a->c, n, how);
	work_one(a, &d);
	more = a->c.rmc.operations >= n;
	CHECK_EQ(recover(&b->c, 0), 0);
	CHECK_EQ(latched_blocks(&b->c), 0);
	for (k = 0; k < DEAD_KEYS; k++) {
		v = dead_value(b, k);
		was = k < keys ? k + 1 : 0;
		if (k != d.key)
			CHECK_EQ(v, was);
		else
			CHECK(v == was || v == (kind == CHECK_DELETE ? 0 : 99));
	}
	/* what is half done is completed */
	for (k = 0; k < DEAD_KEYS; k++) {
		d = (struct done){ .kind = CHECK_WRITE, .key = k, .value = k + 7 };
		CHECK_EQ(work_one(b, &d), 0);
	}
	for (k = 0; k < DEAD_KEYS; k++)
		CHECK_EQ(dead_value(b, k), k + 7);
	worker_close(a);
	worker_close(b);
	inline_fabric_free(&fabric);
	return more;
}

/* All its steps; that arrive, do not, or do in part */
static unsigned int die_everywhere(const struct setting *s, uint64_t keys, enum check_kind kind)
{
	unsigned int n;
	bool more;
	int how;

	for (n = 1, more = true; more; n++)
		for (how = INLINE_NOT; how < INLINE_ENDS; how++)
			more = dead_operation(s, keys, kind, n, how);
	return n - 2;
}

/* Insertions that split blocks, rotate entries, extend chains; deletions that shorten chains */
static void dead_operations(void)
{
	static const uint64_t keys[] = { 0, 1, 3, 4, 5, 7, 9, 14, 19 };
	unsigned int steps = 0, most = 0;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(dead_settings); i++) {
		tap_where = dead_settings[i].scheme;
		for (k = 0; k < ARRAY_SIZE(keys); k++) {
			steps = die_everywhere(&dead_settings[i], keys[k], CHECK_INSERT);
			most = steps > most ? steps : most;
			if (keys[k] % 5 == 4)
				die_everywhere(&dead_settings[i], keys[k], CHECK_DELETE);
		}
	}
	printf("# %u steps at most\n", most);
	CHECK(most >= 20);
	tap_where = NULL;
}

/* --- whose latches --- */

static void recovered_latches(void)
{
	struct rmc_block_hold h[3] = { { 0 } };
	const struct rmc_block_ops *ops;
	struct client c[3];
	uint64_t at[3], own;
	unsigned int i;

	areas("farm", 300, 3, 8, 1);
	for (i = 0; i < 3; i++)
		client_open(&c[i], i);
	late_of = &c[0].rmc;
	ops = c[0].blocks->ops;
	for (i = 0; i < 3; i++) {
		at[i] = ops->fixed_at(c[0].blocks, i);
		CHECK_EQ(ops->enter(c[i].blocks, at[i], RMC_BLOCK_WRITE, &h[i]), 0);
		if (i != 1)
			fill_hold(&c[i], &h[i], (uint8_t)(20 + i));
	}
	own = *word_of(c, at[2]);
	/* nobody, and those of other nodes */
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, -1, 1), -EINVAL);
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, RMC_BLOCKS_CLIENTS), -EINVAL);
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 4, 1), 0);
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 9), 0);
	CHECK_EQ(latched_blocks(c), 3);
	/* one client: what others hold stays, also its own */
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), 0);
	CHECK_EQ(latched_blocks(c), 2);
	CHECK_EQ(stats_of(&c[2]).recovered, 1);
	CHECK_EQ(filled(&c[2], at[0]), 0);
	CHECK_EQ(*word_of(c, at[2]), own);
	/* all of the node */
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 0), 0);
	CHECK_EQ(stats_of(&c[2]).recovered, 2);
	CHECK_EQ(*word_of(c, at[2]), own);
	CHECK_EQ(ops->leave(c[2].blocks, &h[2]), 0);
	CHECK_EQ(filled(&c[2], at[2]), 22);
	/* who was alive after all learns that its latch is not there any more */
	CHECK_EQ(ops->leave(c[1].blocks, &h[1]), -EPROTO);
	CHECK_EQ(latched_blocks(c), 0);
	ops->cancel(c[0].blocks, &h[0]);
	/* in doubt: it has its own end */
	CHECK_EQ(ops->enter(c[2].blocks, at[2], RMC_BLOCK_WRITE, &h[2]), 0);
	fill_hold(&c[2], &h[2], 31);
	own = stats_of(&c[2]).recovered;
	fabric.status[0] = RMC_S_NODE_DOWN;
	CHECK_EQ(ops->leave(c[2].blocks, &h[2]), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), RMC_S_NODE_DOWN);
	fabric.status[0] = 0;
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), 0);
	CHECK_EQ(stats_of(&c[2]).stuck, 0);
	CHECK_EQ(stats_of(&c[2]).recovered, own);
	CHECK_EQ(filled(&c[1], at[2]), 31);
	/* taken over, but nobody knows: the next call does */
	CHECK_EQ(ops->enter(c[0].blocks, at[0], RMC_BLOCK_WRITE, &h[0]), 0);
	c[2].rmc.only = RMC_OP_CAS;
	c[2].rmc.operations = 0;
	c[2].rmc.fail_at = 1;
	c[2].rmc.fails = ~0U;
	c[2].rmc.fail_status = RMC_S_TIMEOUT;
	c[2].rmc.fail_done = 1;
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), RMC_S_TIMEOUT);
	CHECK_EQ(latched_blocks(c), 1);
	c[2].rmc.fails = 0;
	CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), 0);
	CHECK_EQ(latched_blocks(c), 0);
	ops->cancel(c[0].blocks, &h[0]);
	/* an area that says that few blocks, or very many, were ever in use */
	for (i = 0; i < 2; i++) {
		*(uint64_t *)(void *)(fabric.segment[0] + AT + remote(c)->shape.next_at) = -i;
		CHECK_EQ(ops->enter(c[0].blocks, at[2], RMC_BLOCK_WRITE, &h[0]), 0);
		CHECK_EQ(rmc_blocks_recover(c[2].blocks, 3, 1), 0);
		CHECK_EQ(latched_blocks(c), 0);
		ops->cancel(c[0].blocks, &h[0]);
	}
	three_close(c);
}

#endif /* BLOCKS_DEAD_H */
