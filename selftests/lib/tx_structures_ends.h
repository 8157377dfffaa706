/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Limits of structures in transactions, and what is refused. Part of test_tx_structures.c */
#ifndef TX_STRUCTURES_ENDS_H
#define TX_STRUCTURES_ENDS_H

struct fill {
	int kind;
	uint64_t key;
	enum what what;
};

static int fill_one(struct rmc_tx *t, void *arg)
{
	const struct fill *f = (const struct fill *)arg;
	struct step s = { .kind = f->kind, .a = { f->what, f->key, f->key + 1 } };

	use(0, t);
	return act(0, &s);
}

static int put_key(int kind, uint64_t key)
{
	struct fill f = { kind, key, PUT };

	return rmc_tx_run(db(0), fill_one, &f);
}

/* Keys are put until no block is free; all are there, and so is room after a deletion. */
static void no_room(void)
{
	struct fill f;
	uint64_t key, n, room = 0;
	int err, k;

	open_nodes(0, RECORDS);
	for (k = 0; k < KINDS; k++) {
		for (key = 0; key < 3 * BLOCKS && !(err = put_key(k, key)); key++)
			;
		CHECK_EQ(err, -ENOSPC);
		n = key;
		room = k == TABLE ? n : room;
		CHECK(n > BLOCKS / 2);
		CHECK(present((uint32_t)k, 1) >= BLOCKS - 4);
		CHECK_EQ(put_key(k, n), -ENOSPC);
		f = (struct fill){ .kind = k, .what = GET };
		for (key = 0; key < n; key++) {
			f.key = key;
			CHECK_EQ(rmc_tx_run(db(0), fill_one, &f), 0);
		}
	}
	/* a table gives buckets back that are empty */
	for (f = (struct fill){ .kind = TABLE, .what = DELETE }; f.key < room; f.key++)
		CHECK_EQ(rmc_tx_run(db(0), fill_one, &f), 0);
	for (key = 0; key < room; key++)
		CHECK_EQ(put_key(TABLE, key), 0);
	close_nodes();
}

/* A block that a transaction has allocated and not stored is the last free one for another one. */
static void same_block(void)
{
	struct rmc_block_hold h = { 0 }, g = { 0 };
	struct rmc_blocks *a, *b;
	struct rmc_tx *t, *u;
	int i, err;

	open_nodes(0, RECORDS);
	a = blocks[0][MAP];
	b = blocks[1][MAP];
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	CHECK_EQ(a->ops->alloc(a, 0, &h), 0);
	for (i = 0; i < 4 * BLOCKS && g.at != h.at; i++) {
		CHECK_EQ(rmc_tx_begin(db(1), &u), 0);
		use(1, u);
		err = b->ops->alloc(b, 0, &g);
		/* clients begin at different places */
		CHECK(i || (!err && g.at != h.at));
		if (!err && g.at == h.at)
			break;
		if (!err)
			err = b->ops->leave(b, &g);
		CHECK_EQ(rmc_tx_commit(u), err);
		CHECK_EQ(rmc_tx_quiet(db(1)), 0);
	}
	CHECK_EQ(g.at, h.at);
	CHECK_EQ(a->ops->leave(a, &h), 0);
	CHECK_EQ(b->ops->leave(b, &g), 0);
	CHECK_EQ(rmc_tx_commit(u), 0);
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	quiet();
	close_nodes();
}

/* A block that is held is not free, though nothing is stored there yet. */
static void all_but_held(void)
{
	struct rmc_block_hold h = { 0 }, g = { 0 };
	struct rmc_blocks *b;
	struct rmc_tx *t;
	int i, err = 0;

	open_nodes(0, 4 * BLOCKS);
	b = blocks[0][MAP];
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	CHECK_EQ(b->ops->alloc(b, 0, &h), 0);
	for (i = 0; i < BLOCKS && !err; i++) {
		err = b->ops->alloc(b, 0, &g);
		CHECK(err || g.at != h.at);
		if (!err)
			err = b->ops->leave(b, &g);
	}
	CHECK_EQ(err, RMC_TX_SQUASHED);
	b->ops->cancel(b, &h);
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	close_nodes();
}

/* --- free blocks --- */

/*
 * One allocation by a client, with so many attempts that a search ends: the block's address, or 0
 * if none is free
 */
static int squashes;

static uint64_t allocate(int node, int kind)
{
	struct rmc_blocks *b = blocks[node][kind];
	struct rmc_block_hold h = { 0 };
	struct rmc_tx *t;
	uint64_t at;
	int i, err;

	for (i = 0; i < BLOCKS; i++) {
		squashes = i;
		CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
		use(node, t);
		err = b->ops->alloc(b, 0, &h);
		if (err == -ENOSPC) {
			CHECK_EQ(rmc_tx_commit(t), 0);
			return 0;
		}
		if (err) {
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			continue;
		}
		at = h.at;
		CHECK_EQ(b->ops->leave(b, &h), 0);
		CHECK_EQ(rmc_tx_commit(t), 0);
		quiet();
		return at;
	}
	CHECK(!"a search ends");
	return 0;
}

/* The other client knows of the block then, and this one does not. */
static void retire_at(int node, int kind, uint64_t at)
{
	struct rmc_blocks *b = blocks[node][kind];
	struct rmc_block_hold h = { 0 };
	struct rmc_tx *t;

	CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
	use(node, t);
	CHECK_EQ(b->ops->enter(b, at, RMC_BLOCK_WRITE, &h), 0);
	CHECK_EQ(b->ops->retire(b, &h), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	quiet();
}

/*
 * Blocks of a client that another one retires: each search finds one, however many there were
 * before. The fixed blocks, none of which was ever written, are not among those that it finds.
 */
static void searches(void)
{
	const uint64_t fixed = structures[TABLE].fixed, most = BLOCKS - 1 - fixed;
	uint64_t at, n;

	open_nodes(0, RECORDS);
	for (n = 0; n < BLOCKS + 80; n++) {
		at = allocate(0, TABLE);
		CHECK(at > fixed && at < BLOCKS);
		if (at)
			retire_at(1, TABLE, at);
	}
	for (n = 0; (at = allocate(0, TABLE)); n++)
		CHECK(at > fixed && at < BLOCKS);
	CHECK_EQ(n, most);
	CHECK_EQ(present(TABLE, fixed + 1), most);
	CHECK_EQ(present(TABLE, 1), most);
	/* the only one that is free, wherever it is */
	for (n = 0; n < 8; n++) {
		at = fixed + 1 + rnd((unsigned int)most);
		retire_at(1, TABLE, at);
		CHECK_EQ(allocate(0, TABLE), at);
	}
	CHECK_EQ(allocate(0, TABLE), 0);
	close_nodes();
}

/* Two of three blocks are in use, in a row: a client that begins there goes elsewhere. */
static void crowded_begin(void)
{
	int n;

	open_nodes(0, RECORDS);
	for (n = 0; n < BLOCKS * 2 / 3; n++)
		CHECK(allocate(0, MAP));
	close_blocks();
	open_blocks();
	CHECK(allocate(0, MAP));
	CHECK(squashes < 5);
	close_nodes();
}

/*
 * Insertions that are far from each other, while the root stays: they do not conflict, nor do
 * searches for keys that are not there.
 */
static void far_apart(void)
{
	struct step low = { .kind = MAP }, high = { .kind = MAP };
	int n, both = 0, err, late;
	struct rmc_tx *t, *u;

	open_nodes(0, RECORDS);
	for (n = 0; n < 64; n++)
		CHECK_EQ(put_key(MAP, (uint64_t)(100 + n)), 0);
	for (n = 0; n < 16; n++) {
		low.a = (struct action){ n % 4 ? INSERT : GET, (uint64_t)(99 - n), 1 };
		high.a = (struct action){ INSERT, (uint64_t)(200 + n), 1 };
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		use(0, t);
		CHECK_EQ(rmc_tx_begin(db(1), &u), 0);
		use(1, u);
		CHECK_EQ(act(0, &low), n % 4 ? 0 : -ENOENT);
		CHECK_EQ(act(1, &high), 0);
		err = rmc_tx_commit(u);
		CHECK(!err || err == RMC_TX_SQUASHED);
		CHECK_EQ(rmc_tx_quiet(db(1)), 0);
		/* now and then an entry that both have passed changes its colours */
		late = rmc_tx_commit(t);
		CHECK(!late || late == RMC_TX_SQUASHED);
		both += !err && !late;
		quiet();
	}
	CHECK(both > 8);
	close_nodes();
}

/* What a transaction has retired, it may allocate; what it has allocated is free if it aborts. */
static void blocks_again(void)
{
	struct rmc_block_hold h = { 0 };
	struct rmc_blocks *b;
	uint64_t at, again;
	struct rmc_tx *t;
	int aborts;

	open_nodes(0, RECORDS);
	b = blocks[0][MAP];
	for (aborts = 1; aborts >= 0; aborts--) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		use(0, t);
		CHECK_EQ(b->ops->alloc(b, 0, &h), 0);
		at = h.at;
		CHECK_EQ(b->ops->leave(b, &h), 0);
		if (aborts)
			rmc_tx_abort(t);
		else
			CHECK_EQ(rmc_tx_commit(t), 0);
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		use(0, t);
		CHECK_EQ(b->ops->alloc(b, 0, &h), 0);
		again = h.at;
		CHECK_EQ(again == at, aborts);
		b->ops->cancel(b, &h);
		rmc_tx_abort(t);
		quiet();
		CHECK_EQ(present(MAP, 2), !aborts);
	}
	for (aborts = 1; aborts >= 0; aborts--) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		use(0, t);
		CHECK_EQ(b->ops->enter(b, at, RMC_BLOCK_WRITE, &h), 0);
		CHECK_EQ(b->ops->retire(b, &h), 0);
		CHECK_EQ(h.at, 0);
		if (aborts)
			rmc_tx_abort(t);
		else
			CHECK_EQ(rmc_tx_commit(t), 0);
		CHECK_EQ(rmc_tx_quiet(db(0)), 0);
		CHECK_EQ(present(MAP, 2), aborts);
	}
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	CHECK_EQ(b->ops->alloc(b, 0, &h), 0);
	CHECK_EQ(h.at, at);
	CHECK_EQ(b->ops->leave(b, &h), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	close_nodes();
}

static int always_restarts(struct rmc_blocks *b, uint64_t at, enum rmc_block_mode mode,
			   struct rmc_block_hold *h)
{
	(void)b;
	(void)at;
	(void)mode;
	(void)h;
	return RMC_BLOCK_RESTART;
}

static void restarts_for_ever(void)
{
	struct step s = { .kind = TREE, .a = { GET, 1, 0 } };
	struct rmc_blocks_stats stats;
	struct rmc_block_ops ops;
	struct rmc_tx *t;

	open_nodes(0, RECORDS);
	real = blocks[0][TREE]->ops;
	ops = *real;
	ops.enter = always_restarts;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	blocks[0][TREE]->ops = &ops;
	CHECK_EQ(act(0, &s), -EAGAIN);
	blocks[0][TREE]->ops = real;
	rmc_blocks_stats(blocks[0][TREE], &stats);
	CHECK(stats.restarts > 1 && stats.restarts < 10);
	CHECK_EQ(rmc_tx_commit(t), 0);
	close_nodes();
}

static void too_many_records(void)
{
	struct fill f = { MAP, 0, GET };
	struct rmc_tx *t;
	struct step s = { .kind = MAP, .a = { GET, 60, 0 } };
	uint64_t key;
	int err = 0;

	open_nodes(0, 14);
	for (key = 0; key < 2 * FEW && !err; key++)
		err = put_key(MAP, key);
	/* an insertion reads more blocks than a search */
	CHECK_EQ(err, -E2BIG);
	CHECK_EQ(rmc_tx_run(db(0), fill_one, &f), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	for (s.a.key = 0; s.a.key < FEW && is_answer(act(0, &s)); s.a.key++)
		;
	CHECK_EQ(s.err, -E2BIG);
	rmc_tx_abort(t);
	close_nodes();
}

/* Blocks that lead to each other: each operation ends, and so does its transaction. */
static int damage(struct rmc_tx *t, void *arg)
{
	uint8_t block[RMC_TREE_BYTES_MIN];
	const void *data;
	uint64_t rid;
	size_t at;
	int k, err;

	(void)arg;
	for (k = 0; k < KINDS; k++)
		for (rid = 1; rid < BLOCKS; rid++) {
			err = rmc_tx_get(t, rmc_tx_record((uint32_t)k, rid), tables[k].bytes,
					 &data);
			if (err == -ENOENT)
				continue;
			if (err)
				return err;
			memcpy(block, data, tables[k].bytes);
			for (at = rnd(8); at < tables[k].bytes; at += 1 + rnd(24))
				block[at] = (uint8_t)(rnd(2) ? rnd(256) : 1 + rnd(20));
			if (rnd(3))
				err = rmc_tx_put(t, rmc_tx_record((uint32_t)k, rid), block,
						 tables[k].bytes);
			if (err)
				return err;
		}
	return 0;
}

static void damaged_links(void)
{
	struct fill f;
	unsigned int i, odd = 0;
	int err;

	open_nodes(0, 4 * BLOCKS);
	keep(FEW, 150);
	for (i = 0; i < 600; i++) {
		if (i % 20 == 0) {
			restore();
			CHECK_EQ(rmc_tx_run(db(0), damage, NULL), 0);
		}
		f = (struct fill){ (int)(i % KINDS), rnd(FEW), (enum what)rnd(SCAN) };
		err = rmc_tx_run(db(0), fill_one, &f);
		odd += !is_answer(err);
		CHECK(is_answer(err) || err == -EPROTO || err == -ELOOP || err == -EAGAIN ||
		      err == -E2BIG);
	}
	CHECK(odd > 20);
	forget();
	close_nodes();
}

static struct step nested = { .kind = TREE, .a = { GET, 1, 0 } };
static int nested_err, nested_use;

static int enter_and_nest(struct rmc_blocks *b, uint64_t at, enum rmc_block_mode mode,
			  struct rmc_block_hold *h)
{
	b->ops = real;
	nested_use = rmc_tx_blocks_use(blocks[0][TREE], NULL);
	nested_err = structures[TREE].act(of[0][TREE], &nested.a, &nested.value);
	return real->enter(b, at, mode, h);
}

static void uses(void)
{
	struct step s = { .kind = TREE, .a = { GET, 1, 0 } };
	struct rmc_blocks *b;
	struct rmc_block_ops ops;
	struct rmc_tx *t, *u;
	struct local_memory m;
	struct local l;

	open_nodes(0, RECORDS);
	b = blocks[0][TREE];
	CHECK_EQ(rmc_tx_blocks_use(b, NULL), 0);
	CHECK_EQ(act(0, &s), -EINVAL);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_begin(db(1), &u), 0);
	CHECK_EQ(rmc_tx_blocks_use(b, u), -EINVAL);
	CHECK_EQ(rmc_tx_blocks_use(b, t), 0);
	CHECK_EQ(rmc_tx_blocks_use(b, t), 0);
	CHECK_EQ(act(0, &s), -ENOENT);
	/* an operation within another one */
	real = b->ops;
	ops = *real;
	ops.enter = enter_and_nest;
	b->ops = &ops;
	CHECK_EQ(act(0, &s), -ENOENT);
	CHECK_EQ(nested_use, -EBUSY);
	CHECK_EQ(nested_err, -EBUSY);
	CHECK_EQ(b->ops == real, 1);
	CHECK_EQ(act(0, &s), -ENOENT);
	/* the transaction ends, and another one has its slot: it is not that one */
	rmc_tx_abort(t);
	CHECK_EQ(act(0, &s), -EINVAL);
	CHECK_EQ(rmc_tx_blocks_use(b, t), -EINVAL);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(act(0, &s), -EINVAL);
	CHECK_EQ(rmc_tx_blocks_use(b, t), 0);
	CHECK_EQ(act(0, &s), -ENOENT);
	rmc_tx_squash(t, RMC_TX_BY_PROGRAM);
	CHECK_EQ(act(0, &s), RMC_TX_SQUASHED);
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	/* blocks of another accessor */
	local_memory_init(&m, RMC_TREE_BYTES_MIN, 1, 4);
	local_init(&l, &m, RMC_BLOCKS_TREE);
	CHECK_EQ(rmc_tx_blocks_use(&l.base, u), -EINVAL);
	CHECK_EQ(rmc_tx_blocks_use(&l.base, NULL), -EINVAL);
	local_free(&l);
	local_memory_free(&m);
	rmc_tx_abort(u);
	close_nodes();
}

static void refused_with(int error, uint32_t table, uint32_t structure, uint64_t fixed)
{
	struct rmc_blocks *b = rmc_tx_blocks_open(db(0), table, structure, fixed);

	CHECK(!b);
	CHECK_EQ(errno, error);
	if (b)
		rmc_blocks_close(b);
}

static void refused(void)
{
	struct rmc_tx *t, *u;
	struct rmc_blocks *b;

	open_nodes(0, RECORDS);
	refused_with(EINVAL, KINDS + 1, RMC_BLOCKS_TREE, 1);
	refused_with(EINVAL, ~0U, RMC_BLOCKS_TREE, 1);
	refused_with(EINVAL, KINDS, RMC_BLOCKS_TREE, 1);		/* 8 bytes */
	refused_with(EINVAL, TABLE, RMC_BLOCKS_TABLE, BLOCKS);
	refused_with(EPROTO, TABLE, RMC_BLOCKS_TABLE_DIRECT, 8);
	refused_with(EPROTO, TABLE, RMC_BLOCKS_TABLE, 9);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &u), 0);
	refused_with(EBUSY, MAP, RMC_BLOCKS_MAP, 1);
	/* no transaction is needed to see that records are too short */
	refused_with(EINVAL, KINDS, RMC_BLOCKS_TREE, 1);
	rmc_tx_abort(u);
	b = rmc_tx_blocks_open(db(0), MAP, RMC_BLOCKS_MAP, 0);	/* 1 */
	CHECK(b);
	CHECK(!rmc_tree_open(b, RMC_TREE_LINK));
	CHECK_EQ(rmc_blocks_settle(b), 0);
	CHECK_EQ(rmc_blocks_recover(b, 1, 0), -EOPNOTSUPP);
	rmc_blocks_close(b);
	rmc_tx_abort(t);
	close_nodes();
}

static void holds(void)
{
	struct rmc_block_hold h = { 0 }, g = { 0 }, f = { 0 };
	static const uint16_t kind = RMC_BLOCK_MAP_HEAD;
	const struct rmc_block_ops *ops;
	struct rmc_blocks *b;
	struct rmc_tx *t;
	uint16_t k = 0;

	open_nodes(0, RECORDS);
	b = blocks[0][MAP];
	ops = b->ops;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	CHECK_EQ(ops->enter(b, 0, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(b, BLOCKS, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(b, ~0ULL, RMC_BLOCK_READ, &h), -EPROTO);
	CHECK_EQ(ops->enter(b, 1, RMC_BLOCK_READ, &h), 0);
	CHECK_EQ(ops->enter(b, 1, RMC_BLOCK_READ, &g), -EPROTO);
	/* never written, and not in use */
	CHECK_EQ(rmc_block_copy(b, &h, 0, &k, sizeof(k)), 0);
	CHECK_EQ(k, 0);
	CHECK_EQ(ops->enter(b, 9, RMC_BLOCK_READ, &g), 0);
	CHECK_EQ(rmc_block_copy(b, &g, 0, &k, sizeof(k)), 0);
	CHECK_EQ(k, RMC_BLOCK_FREE);
	ops->cancel(b, &g);
	ops->cancel(b, &g);
	/* what is cancelled is not written; what is left is, and is seen at once */
	CHECK_EQ(ops->upgrade(b, &h), 0);
	CHECK_EQ(ops->upgrade(b, &h), 0);
	CHECK_EQ(rmc_block_write(b, &h, 0, &kind, sizeof(kind)), 0);
	CHECK_EQ(ops->retire(b, &h), -EINVAL);
	ops->cancel(b, &h);
	CHECK_EQ(ops->enter(b, 1, RMC_BLOCK_WRITE, &h), 0);
	CHECK_EQ(rmc_block_copy(b, &h, 0, &k, sizeof(k)), 0);
	CHECK_EQ(k, 0);
	CHECK_EQ(rmc_block_write(b, &h, 0, &kind, sizeof(kind)), 0);
	CHECK_EQ(ops->leave(b, &h), 0);
	CHECK_EQ(ops->enter(b, 1, RMC_BLOCK_LATCH, &h), 0);
	CHECK_EQ(rmc_block_copy(b, &h, 0, &k, sizeof(k)), 0);
	CHECK_EQ(k, kind);
	CHECK_EQ(ops->leave(b, &h), 0);
	/* a fixed block stays, also one that was written */
	CHECK_EQ(ops->enter(b, 1, RMC_BLOCK_WRITE, &h), 0);
	CHECK_EQ(ops->retire(b, &h), -EINVAL);
	CHECK_EQ(h.at, 1);
	ops->cancel(b, &h);
	/* one that is allocated, retired, and allocated again */
	CHECK_EQ(ops->alloc(b, 0, &g), 0);
	CHECK_EQ(rmc_block_copy(b, &g, 0, &k, sizeof(k)), 0);
	CHECK_EQ(k, 0);
	CHECK_EQ(ops->retire(b, &g), -EINVAL);
	CHECK_EQ(ops->alloc(b, 0, &f), 0);
	CHECK(f.at != g.at);
	ops->cancel(b, &f);
	CHECK_EQ(ops->leave(b, &g), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	quiet();
	CHECK_EQ(present(MAP, 1), 2);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	CHECK_EQ(ops->alloc(b, 0, &f), 0);
	g.at = 0;
	ops->cancel(b, &f);
	rmc_tx_abort(t);
	CHECK_EQ(present(MAP, 1), 2);
	close_nodes();
}

#endif /* TX_STRUCTURES_ENDS_H */
