// SPDX-License-Identifier: GPL-2.0
/*
 * What the workloads of tools/tx call (hades.h), for the system of the run. While no coroutine
 * runs, records are loaded and looked at without time.
 *
 * The index of keys is not a part of the transactions: each coordinator has a copy of its blocks,
 * as the paper's text leaves open, and nobody inserts keys. All copies are one here, but each node
 * has its own caches of it. A lookup visits the blocks of the real structure.
 */
#include "hades_names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/tx.h>
#include "lib/ds/block.h"
#include "workload.h"
#include "hades.h"
#include "hades_shape.h"

#define BUFFERS		64

/* t and db of the workloads are both the coroutine */
static struct hd_client *client_of(const void *t)
{
	return (struct hd_client *)(uintptr_t)t;
}

static void account(struct hd_client *c, int err)
{
	struct hd_stats *s = c->stats;
	uint64_t now = hd_time(), end = now, phase[HD_PHASES] = { 0 };
	bool rule = err == RMC_TX_ABORT || err == -ENOENT || err == -EEXIST;
	unsigned int i;

	if (now < hdr.from || now > hdr.until || (err && !rule))
		return;
	if (c->committing) {
		phase[HD_COMMIT] = end - c->committing;
		end = c->committing;
	}
	if (c->validating) {
		phase[HD_VALIDATION] = end - c->validating;
		end = c->validating;
	}
	phase[HD_EXECUTION] = end - c->begun;
	s->committed += !err;
	s->ended += rule;
	s->fallback += !err && c->has_locks;
	s->squashed += c->squashes;
	s->by_squashes[c->squashes < HD_SQUASHES ? c->squashes : HD_SQUASHES]++;
	for (i = 0; i < HD_PHASES && !err; i++)
		s->phase[i] += phase[i];
	if (!err && s->latencies < s->room)
		s->latency[s->latencies++] = (uint32_t)((now - c->begun) / 1000);
}

int hd_run(struct rmc_tx_db *db, int (*fn)(struct rmc_tx *t, void *arg), void *arg)
{
	struct hd_client *c = client_of(db);
	int (*body)(void *t, void *arg) = (int (*)(void *, void *))fn;
	int err;

	if (!hdr.self)
		return body(c, arg);
	c->begun = hd_time();
	c->squashes = 0;
	err = hdr.system == HD_SW ? hd_sw_run(c, body, arg) : hd_tx_run(c, body, arg);
	account(c, err);
	return err;
}

static const void *index_block(const struct hd_client *c, uint64_t rid, int *err);

/* Without time: a copy of the record, one of several */
static int peek(struct hd_client *c, struct rmc_tx_addr from, const void **data)
{
	static uint8_t buffer[BUFFERS][RMC_TX_RECORD_MAX + 64];
	static unsigned int next;
	uint8_t *to = buffer[next++ % BUFFERS];
	int err;

	/* blocks of the index are the program's first table, and not in it here */
	if (c->tc->workload->indexed && !from.table) {
		*data = index_block(c, from.rid, &err);
		return err;
	}
	err = hdr.system == HD_SW ? hd_sw_peek(c, from.table, from.rid, to) :
		  hd_tx_peek(c->table + from.table, from.rid, to);

	*data = to + from.field;
	return err;
}

int hd_get(struct rmc_tx *t, struct rmc_tx_addr from, size_t len, const void **data)
{
	struct hd_client *c = client_of(t);

	if (!hdr.self)
		return peek(c, from, data);
	c->stats->requests++;
	hd_charge((len + HD_LINE - 1) / HD_LINE * hd.use_line);
	return hdr.system == HD_SW ?
		hd_sw_get(c, from.table, from.rid, from.field, len, data) :
		hd_tx_get(c, c->table + from.table, from.rid, from.field, len, data);
}

int hd_fetch(struct rmc_tx *t, struct rmc_tx_addr record)
{
	(void)t;
	(void)record;
	return 0;		/* requests one after another */
}

int hd_put(struct rmc_tx *t, struct rmc_tx_addr to, const void *data, size_t len)
{
	struct hd_client *c = client_of(t);

	c->stats->requests++;
	hd_charge((len + HD_LINE - 1) / HD_LINE * hd.use_line);
	return hdr.system == HD_SW ?
		hd_sw_put(c, to.table, to.rid, to.field, data, len) :
		hd_tx_put(c, c->table + to.table, to.rid, to.field, data, len);
}

int hd_insert(struct rmc_tx *t, struct rmc_tx_addr record, const void *data, size_t len)
{
	struct hd_client *c = client_of(t);

	c->stats->requests++;
	hd_charge((len + HD_LINE - 1) / HD_LINE * hd.use_line);
	return hdr.system == HD_SW ? hd_sw_insert(c, record.table, record.rid, data, len) :
		hd_tx_insert(c, c->table + record.table, record.rid, data, len);
}

int hd_delete(struct rmc_tx *t, struct rmc_tx_addr record)
{
	struct hd_client *c = client_of(t);

	c->stats->requests++;
	return hdr.system == HD_SW ? hd_sw_delete(c, record.table, record.rid) :
		hd_tx_delete(c, c->table + record.table, record.rid);
}

int hd_check(struct rmc_tx *t)
{
	(void)t;
	return 0;
}

int hd_home(const struct rmc_tx_db *db, struct rmc_tx_addr record)
{
	const struct hd_client *c = client_of(db);
	uint64_t offset;

	return (int)hd_locate(c->table + record.table, record.rid, &offset);
}

int hd_load(struct rmc_tx_db *db, struct rmc_tx_addr record, const void *data, size_t len)
{
	struct hd_client *c = client_of(db);

	return hdr.system == HD_SW ? hd_sw_load(c, record.table, record.rid, data, len) :
		hd_tx_load(c->table + record.table, record.rid, data, len);
}

/* ---- blocks of the index ---- */

struct index_blocks {
	struct rmc_blocks base;
	uint8_t *memory;
	uint64_t next, count, users, line, spares;
	uint64_t *spare;		/* blocks that are free again */
	uint32_t lines;			/* that a visit touches */
};

/* One of each program: all of its coroutines use it */
#define INDEXES		8
static struct index_blocks *indexes[INDEXES];
static uint64_t index_line;

static struct index_blocks *index_of(const struct rmc_blocks *blocks)
{
	return (struct index_blocks *)((char *)(uintptr_t)blocks -
				       offsetof(struct index_blocks, base));
}

static uint8_t *block_at(const struct index_blocks *b, uint64_t at)
{
	return b->memory + at * ((b->base.bytes + HD_LINE - 1) / HD_LINE * HD_LINE);
}

static int index_begin(struct rmc_blocks *blocks, unsigned int restarts)
{
	(void)blocks;
	return restarts ? -EPROTO : 0;
}

static int index_end(struct rmc_blocks *blocks, int result)
{
	(void)blocks;
	return result;
}

static uint64_t index_fixed(const struct rmc_blocks *blocks, uint64_t number)
{
	(void)blocks;
	return number + 1;
}

static int index_enter(struct rmc_blocks *blocks, uint64_t at, enum rmc_block_mode mode,
		       struct rmc_block_hold *h)
{
	struct index_blocks *b = index_of(blocks);
	uint64_t each = (b->base.bytes + HD_LINE - 1) / HD_LINE, i;

	if (!at || at >= b->count)
		return -EPROTO;
	*h = (struct rmc_block_hold) { .at = at, .data = block_at(b, at), .mode = mode };
	/* lines that a binary search reads, one after the other, from the middle to the front */
	for (i = 0; hdr.self && i < b->lines; i++)
		hd_charge(hd_touch(hdr.self, HD_INDEX, b->line + at * each +
				   (at * 7 % each >> i), 1, false));
	return 0;
}

static int index_ok(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	(void)blocks;
	(void)h;
	return 0;
}

static int index_upgrade(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	(void)blocks;
	h->mode = RMC_BLOCK_WRITE;
	return 0;
}

static int index_leave(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	(void)blocks;
	h->at = 0;
	return 0;
}

static void set_free(struct index_blocks *b, struct rmc_block_hold *h)
{
	const uint16_t kind = RMC_BLOCK_FREE;

	memcpy(h->data, &kind, sizeof(kind));
	b->spare[b->spares++] = h->at;
}

static void index_cancel(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	if (h->at && h->fresh)
		set_free(index_of(blocks), h);
	h->at = 0;
}

static int index_alloc(struct rmc_blocks *blocks, uint64_t beside, struct rmc_block_hold *h)
{
	struct index_blocks *b = index_of(blocks);
	uint64_t at = b->spares ? b->spare[--b->spares] : b->next++;

	(void)beside;
	if (at >= b->count)
		return -ENOSPC;
	*h = (struct rmc_block_hold) { .at = at, .data = block_at(b, at), .mode = RMC_BLOCK_WRITE,
				       .fresh = true };
	memset(h->data, 0, b->base.bytes);
	return 0;
}

static int index_retire(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	set_free(index_of(blocks), h);
	h->at = 0;
	return 0;
}

static void index_close(struct rmc_blocks *blocks)
{
	struct index_blocks *b = index_of(blocks);
	unsigned int i;

	if (--b->users)
		return;
	for (i = 0; i < INDEXES; i++)
		if (indexes[i] == b)
			indexes[i] = NULL;
	free(b->spare);
	free(b->memory);
	free(b);
}

static const struct rmc_block_ops index_ops = {
	.begin = index_begin, .end = index_end, .fixed_at = index_fixed, .enter = index_enter,
	.valid = index_ok, .upgrade = index_upgrade, .leave = index_leave, .cancel = index_cancel,
	.alloc = index_alloc, .retire = index_retire, .close = index_close,
	/* loaded by one, without failures; later only read */
	.atomic = true,
};

/* Of a program: by its first table, and by its part of the memory */
static unsigned int index_number(const struct hd_client *c)
{
	return (unsigned int)(c->table % INDEXES);
}

static const void *index_block(const struct hd_client *c, uint64_t rid, int *err)
{
	static const uint8_t none[RMC_TX_RECORD_MAX];
	const struct index_blocks *b = indexes[index_number(c)];
	uint16_t kind = 0;

	if (b && rid < b->count)
		memcpy(&kind, block_at(b, rid), sizeof(kind));
	*err = kind && kind != RMC_BLOCK_FREE ? 0 : -ENOENT;
	return *err ? none : block_at(b, rid);
}

struct rmc_blocks *hd_blocks_open(struct rmc_tx_db *db, uint32_t table, uint32_t structure,
				  uint64_t fixed)
{
	struct hd_client *c = client_of(db);
	const struct hd_table *t = &hd_shape.table[c->table + table];
	struct index_blocks *b = indexes[index_number(c)];

	if (b) {
		b->users++;
		return &b->base;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->base = (struct rmc_blocks) { .ops = &index_ops, .bytes = t->bytes, .fixed = fixed,
					.structure = structure };
	b->count = t->records + 1;
	b->next = fixed + 1;
	b->users = 1;
	b->line = index_line;
	/* in 64 lines: the pairs of a search; else the block is one line or two */
	for (b->lines = 1; (t->bytes + HD_LINE - 1) / HD_LINE >> b->lines; b->lines++)
		;
	index_line += b->count * ((t->bytes + HD_LINE - 1) / HD_LINE);
	b->memory = calloc(b->count, (t->bytes + HD_LINE - 1) / HD_LINE * HD_LINE);
	b->spare = calloc(b->count, sizeof(*b->spare));
	if (!b->memory || !b->spare) {
		free(b->memory);
		free(b->spare);
		free(b);
		return NULL;
	}
	indexes[index_number(c)] = b;
	return &b->base;
}

int hd_blocks_use(struct rmc_blocks *blocks, struct rmc_tx *t)
{
	(void)blocks;
	(void)t;
	return 0;
}
