/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks of the structures of <rmc/ds.h> (../ds/block.h) in records of a table, entered and left
 * by a transaction:
 *
 *	record 0	which structure this is
 *	1 .. fixed	fixed blocks; absent: never written
 *	others		blocks; absent: not in use
 *
 * A block's address is the number of its record. Reads and writes are those of the transaction, so
 * nothing is stored before it commits, and all blocks that it has entered are validated then:
 * several operations, also of several structures, are one transaction. An operation writes to a copy,
 * which leave() hands to the transaction; cancel() forgets it.
 *
 * A squash, or another status that ends the transaction, ends the operation, and is its result.
 * What restarts an operation is a mixture of states, which its transaction cannot get rid of: begin()
 * validates the transaction, which squashes it. If it is valid, the operation is executed again, a
 * few times: links are damaged then.
 *
 * Free blocks are those whose records are absent. So an allocation is an insertion, and takes
 * effect when the transaction commits; two transactions that choose the same block are in conflict. A
 * client begins at a place of its own, and goes on to the next block, or to any other one if that
 * is in use; it remembers blocks that it has retired. A record that it finds present stays in the read
 * set: after a few of them the transaction is squashed, and its next attempt looks elsewhere. After
 * many, all blocks are looked at in turn.
 */
#include <stdlib.h>
#include <string.h>
#include "state.h"
#include "../ds/block.h"

#define TX_BLOCKS_MAGIC		0x31736b636f6c6274ULL	/* "tblocks1" */
#define TX_BLOCKS_RESTARTS	4	/* of an operation whose transaction is valid */
#define TX_BLOCKS_LOOKS		8	/* records that an allocation finds present, at most */
#define TX_BLOCKS_JUMPS		64	/* blocks in use that are left for any other one */
#define TX_BLOCKS_SPARES	64

/* Record 0 */
struct tx_blocks_head {
	uint64_t magic, fixed, structure;
};

/* Addresses, the last one first */
struct tx_spares {
	uint64_t at[TX_BLOCKS_SPARES];
	unsigned int n;
};

struct tx_blocks {
	struct rmc_blocks base;
	struct rmc_tx_db *db;
	struct rmc_tx *t;		/* of which operations are a part; NULL: of none */
	uint64_t number;		/* of t */
	uint64_t records;
	uint32_t table;
	unsigned int depth;		/* of operations: 1 at most */
	uint64_t held[RMC_BLOCK_HOLDS];	/* address, 0: none */
	uint8_t *memory;		/* a copy for each hold; then a fixed and a free block */
	uint64_t cursor;		/* the next one to look at */
	uint64_t looked;		/* blocks since one was found there */
	uint64_t seed;
	/* probably free; allocated and retired by t */
	struct tx_spares spare, taken, retired;
	struct rmc_blocks_stats stats;
};

static const struct rmc_block_ops tx_block_ops;

static struct tx_blocks *tx_blocks_of(const struct rmc_blocks *blocks)
{
	return (struct tx_blocks *)((char *)(uintptr_t)blocks - offsetof(struct tx_blocks, base));
}

static uint8_t *copy_of(const struct tx_blocks *b, unsigned int i)
{
	return b->memory + (size_t)i * b->base.bytes;
}

static struct rmc_tx_addr record_of(const struct tx_blocks *b, uint64_t at)
{
	return rmc_tx_record(b->table, at);
}

/* -ENOSPC is a structure's that has no more free blocks. */
static int status_of(int err)
{
	return err == -ENOSPC ? -E2BIG : err;
}

/* --- free blocks --- */

static void push(struct tx_spares *s, uint64_t at)
{
	if (s->n < TX_BLOCKS_SPARES)
		s->at[s->n++] = at;
}

/* It was allocated, and is not stored: mostly the last one */
static void give_back(struct tx_blocks *b, uint64_t at)
{
	unsigned int i = b->taken.n;

	while (i && b->taken.at[i - 1] != at)
		i--;
	if (i)
		b->taken.at[i - 1] = b->taken.at[--b->taken.n];
	push(&b->spare, at);
}

/* The transaction has ended: what it has retired, or if it had no effect, allocated, is free. */
static void settle_spares(struct tx_blocks *b)
{
	struct tx_spares *free = b->t && b->t->committed == b->number ? &b->retired : &b->taken;

	while (free->n)
		push(&b->spare, free->at[--free->n]);
	b->retired.n = 0;
	b->taken.n = 0;
}

/* Blocks that are not fixed */
static uint64_t unfixed(const struct tx_blocks *b)
{
	return b->records - 1 - b->base.fixed;
}

static uint64_t next_candidate(struct tx_blocks *b)
{
	uint64_t at = b->cursor;

	if (b->spare.n)
		return b->spare.at[--b->spare.n];
	b->looked++;
	b->cursor = at + 1 < b->records ? at + 1 : b->base.fixed + 1;
	return at;
}

/* The last candidate is in use: so may its neighbours be. */
static void jump(struct tx_blocks *b)
{
	if (b->looked > TX_BLOCKS_JUMPS)
		return;
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	b->cursor = b->base.fixed + 1 + (b->seed >> 16) % unfixed(b);
}

/* --- holds --- */

static bool is_held(const struct tx_blocks *b, uint64_t at)
{
	unsigned int i;

	for (i = 0; i < RMC_BLOCK_HOLDS; i++)
		if (b->held[i] == at)
			return true;
	return false;
}

static int take(struct tx_blocks *b, uint64_t at, struct rmc_block_hold *h)
{
	unsigned int i;

	for (i = 0; i < RMC_BLOCK_HOLDS && b->held[i]; i++)
		;
	if (i == RMC_BLOCK_HOLDS)
		return -ENOBUFS;
	b->held[i] = at;
	memset(h, 0, sizeof(*h));
	h->at = at;
	h->buffer = (int)i;
	return 0;
}

static void release(struct tx_blocks *b, struct rmc_block_hold *h)
{
	b->held[h->buffer] = 0;
	h->at = 0;
	h->data = NULL;
}

/* The hold has a copy of its own, which it may write. */
static void own_copy(struct tx_blocks *b, struct rmc_block_hold *h)
{
	uint8_t *copy = copy_of(b, (unsigned int)h->buffer);

	memcpy(copy, h->data, b->base.bytes);
	h->data = copy;
	h->mode = RMC_BLOCK_WRITE;
}

/* --- struct rmc_block_ops --- */

static int tx_begin(struct rmc_blocks *blocks, unsigned int restarts)
{
	struct tx_blocks *b = tx_blocks_of(blocks);
	int err;

	if (!restarts && b->depth++)
		return -EBUSY;
	if (!b->t || b->t->state == TX_FREE || b->t->number != b->number)
		return -EINVAL;
	if (!restarts)
		return b->t->status;
	b->stats.restarts++;
	err = rmc_tx_check(b->t);
	return err ? err : restarts < TX_BLOCKS_RESTARTS ? 0 : -EAGAIN;
}

static int tx_end(struct rmc_blocks *blocks, int result)
{
	tx_blocks_of(blocks)->depth--;
	return result;
}

static uint64_t tx_fixed_at(const struct rmc_blocks *blocks, uint64_t number)
{
	(void)blocks;
	return number + 1;
}

static int tx_enter(struct rmc_blocks *blocks, uint64_t at, enum rmc_block_mode mode,
		    struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);
	const void *data = NULL;
	bool absent;
	int err;

	if (!at || at >= b->records || is_held(b, at))
		return -EPROTO;
	err = rmc_tx_get(b->t, record_of(b, at), blocks->bytes, &data);
	absent = err == -ENOENT;
	if (absent)
		data = copy_of(b, RMC_BLOCK_HOLDS + (at > blocks->fixed));
	else if (err)
		return status_of(err);
	err = take(b, at, h);
	if (err)
		return err;
	b->stats.reads++;
	h->fresh = false;
	h->word = absent;
	h->mode = mode;
	h->data = (uint8_t *)(uintptr_t)data;
	if (mode == RMC_BLOCK_WRITE)
		own_copy(b, h);
	return 0;
}

/* Whether others have written the block is found out at commit. */
static int tx_valid(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	(void)h;
	return tx_blocks_of(blocks)->t->status;
}

static int tx_upgrade(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);

	if (h->mode == RMC_BLOCK_READ)
		own_copy(b, h);
	return b->t->status;
}

static int tx_leave(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);
	struct rmc_tx_addr record = record_of(b, h->at);
	int err = b->t->status;

	if (!err && h->mode == RMC_BLOCK_WRITE && h->dirty) {
		err = h->word ? rmc_tx_insert(b->t, record, h->data, blocks->bytes) :
				rmc_tx_put(b->t, record, h->data, blocks->bytes);
		b->stats.writes++;
	}
	release(b, h);
	return err;
}

static void tx_cancel(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);

	if (!h->at)
		return;
	if (h->fresh)
		give_back(b, h->at);
	release(b, h);
}

static int tx_alloc(struct rmc_blocks *blocks, uint64_t beside, struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);
	uint64_t most = unfixed(b) + TX_BLOCKS_JUMPS, at;
	const void *data;
	unsigned int looks;
	bool spare;
	int err;

	(void)beside;		/* neighbours in the table are spread over the members */
	for (looks = 0; looks < TX_BLOCKS_LOOKS && b->looked < most; looks++) {
		spare = b->spare.n;
		at = next_candidate(b);
		if (is_held(b, at))
			continue;
		err = rmc_tx_get(b->t, record_of(b, at), 0, &data);
		if (!err && !spare)
			jump(b);
		if (!err)
			continue;
		if (err == -ENOENT)
			err = take(b, at, h);
		if (err)
			return status_of(err);
		/* one that was known beside a search that goes on says nothing of others */
		if (!spare)
			b->looked = 0;
		b->stats.allocations++;
		push(&b->taken, at);
		h->data = copy_of(b, (unsigned int)h->buffer);
		memset(h->data, 0, blocks->bytes);
		h->mode = RMC_BLOCK_WRITE;
		h->fresh = h->dirty = true;
		h->word = 1;
		return 0;
	}
	if (b->looked < most)
		return rmc_tx_squash(b->t, RMC_TX_BY_PROGRAM);
	b->looked = 0;
	return -ENOSPC;
}

static int tx_retire(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct tx_blocks *b = tx_blocks_of(blocks);
	int err;

	if (h->mode != RMC_BLOCK_WRITE || h->word || h->at <= blocks->fixed)
		return -EINVAL;
	err = rmc_tx_delete(b->t, record_of(b, h->at));
	if (err)
		return err;
	push(&b->retired, h->at);
	release(b, h);
	return 0;
}

static void tx_stats(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats)
{
	*stats = tx_blocks_of(blocks)->stats;
}

static void tx_close(struct rmc_blocks *blocks)
{
	struct tx_blocks *b = tx_blocks_of(blocks);

	free(b->memory);
	free(b);
}

static const struct rmc_block_ops tx_block_ops = {
	.atomic = true,
	.begin = tx_begin,
	.end = tx_end,
	.fixed_at = tx_fixed_at,
	.enter = tx_enter,
	.valid = tx_valid,
	.upgrade = tx_upgrade,
	.leave = tx_leave,
	.cancel = tx_cancel,
	.alloc = tx_alloc,
	.retire = tx_retire,
	.stats = tx_stats,
	.close = tx_close,
};

/* --- opening --- */

/* Who comes first says which structure it is. */
static int meet_head(struct rmc_tx *t, void *arg)
{
	const struct tx_blocks *b = (const struct tx_blocks *)arg;
	const struct tx_blocks_head head = { TX_BLOCKS_MAGIC, b->base.fixed, b->base.structure };
	const void *data;
	int err = rmc_tx_get(t, record_of(b, 0), sizeof(head), &data);

	if (err == -ENOENT)
		return rmc_tx_insert(t, record_of(b, 0), &head, sizeof(head));
	return err ? err : memcmp(data, &head, sizeof(head)) ? -EPROTO : 0;
}

static int prepare(struct tx_blocks *b)
{
	static const uint16_t kind = RMC_BLOCK_FREE;
	int err;

	b->memory = (uint8_t *)calloc(RMC_BLOCK_HOLDS + 2, b->base.bytes);
	if (!b->memory)
		return rmc_fail(ENOMEM, "out of memory");
	memcpy(copy_of(b, RMC_BLOCK_HOLDS + 1), &kind, sizeof(kind));
	b->cursor = b->base.fixed + 1 +
		    unfixed(b) / (uint64_t)b->db->team->nodes * (uint64_t)b->db->team->self;
	b->seed = b->db->seed;
	err = rmc_tx_run(b->db, meet_head, b);
	if (err == -EPROTO)
		return rmc_fail(EPROTO, "table %u has blocks of another structure", b->table);
	return !err ? 0 : rmc_fail(err < 0 ? -err : EIO, "blocks of table %u: %s", b->table,
				   rmc_strerror(err));
}

struct rmc_blocks *rmc_tx_blocks_open(struct rmc_tx_db *db, uint32_t table, uint32_t structure,
				      uint64_t fixed)
{
	const struct tx_table *shape = table < db->shape.tables ? &db->shape.table[table] : NULL;
	struct tx_blocks *b;
	int err;

	fixed = fixed ? fixed : 1;
	if (!shape || shape->bytes < sizeof(struct tx_blocks_head) ||
	    fixed + 1 >= shape->records) {
		rmc_fail(EINVAL, "no table of blocks, or without room for %llu fixed ones",
			 (unsigned long long)fixed);
		errno = EINVAL;
		return NULL;
	}
	b = (struct tx_blocks *)calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->base = (struct rmc_blocks){ &tx_block_ops, shape->bytes, fixed, structure };
	b->db = db;
	b->table = table;
	b->records = shape->records;
	err = prepare(b);
	if (!err)
		return &b->base;
	tx_close(&b->base);
	errno = -err;
	return NULL;
}

int rmc_tx_blocks_use(struct rmc_blocks *blocks, struct rmc_tx *t)
{
	struct tx_blocks *b = tx_blocks_of(blocks);

	if (blocks->ops != &tx_block_ops || (t && (t->db != b->db || t->state == TX_FREE)))
		return -EINVAL;
	if (b->depth)
		return -EBUSY;
	if (b->t == t && t && b->number == t->number)
		return 0;
	settle_spares(b);
	b->t = t;
	b->number = t ? t->number : 0;
	return 0;
}
