/* SPDX-License-Identifier: GPL-2.0 */
/* A participant over a segment whose pages are no neighbours, and names for its calls. */
#ifndef TX_BED_H
#define TX_BED_H

#include <string.h>
#include "../tap.h"
#include "kmod/tx/part.h"
#include "hooks.h"

#define BED_PAGE	4096
#define BED_PAGES	32
#define BED_BYTES	(BED_PAGES * BED_PAGE)
/* the range begins with the second line */
#define BED_START	64
#define BED_SELF	7
#define FILL		0x5a

/* Locking Buffers, where there are local filters */
static struct rmc_tx_locks bed_shared;

struct bed {
	struct rmc_tx_part *p;
	struct rmc_tx_limits limits;
	struct rmc_mem mem;
	void *chunk[BED_PAGES];
	u8 *memory;
};

static inline u8 *bed_at(struct bed *b, u64 offset)
{
	u64 run;

	return rmc_mem_at(&b->mem, offset, &run);
}

static inline void bed_begin_with(struct bed *b, const struct rmc_tx_limits *limits,
				  struct rmc_tx_local *local)
{
	u32 i;

	memset(b, 0, sizeof(*b));
	memset(&bed_shared, 0, sizeof(bed_shared));
	b->memory = aligned_alloc(BED_PAGE, BED_BYTES);
	memset(b->memory, FILL, BED_BYTES);
	for (i = 0; i < BED_PAGES; i++)
		b->chunk[i] = b->memory + (BED_PAGES - 1 - i) * BED_PAGE;
	b->mem.length = BED_BYTES;
	b->mem.chunk = b->chunk;
	rmc_mem_chunks(&b->mem, 12);
	b->limits = *limits;
	b->p = rmc_tx_part_new(limits, &b->mem, local, local ? &bed_shared : NULL);
	CHECK(!IS_ERR(b->p));
}

static inline struct rmc_tx_limits bed_limits(void)
{
	return (struct rmc_tx_limits) {
		.start = BED_START, .length = BED_BYTES - 2 * BED_START, .self = BED_SELF, .groups = 4,
	};
}

static inline void bed_begin(struct bed *b)
{
	struct rmc_tx_limits limits = bed_limits();

	bed_begin_with(b, &limits, NULL);
}

/* After all sources' epochs have changed, nothing is left of any transaction. */
static inline void bed_end(struct bed *b)
{
	struct rmc_tx_part *p = b->p;
	const u8 *rest = (const u8 *)p->group;
	size_t i, n = rmc_tx_part_bytes(&b->limits) - sizeof(*p), used = 0;
	u32 source;

	for (source = 0; source < RMC_TX_SOURCES; source++)
		rmc_tx_part_epoch(p, source);
	for (i = 0; i < n; i++)
		used += rest[i] != 0;
	CHECK_EQ(used, 0);
	CHECK_EQ(p->locks, 0);
	CHECK_EQ(p->groups, 0);
	/* the own one: nobody knows who was squashed */
	CHECK(p->local_squashed == (p->local ? U64_MAX : 0));
	for (i = 0; i < sizeof(bed_shared); i++)
		used += ((u8 *)&bed_shared)[i] != 0;
	CHECK_EQ(used, 0);
	CHECK(!p->buffers);
	rmc_tx_part_free(p);
	free(b->memory);
}

static inline struct rmc_txid tx(u32 source, u32 slot, u32 gen)
{
	return (struct rmc_txid) { .source = source, .slot = slot, .gen = gen };
}

static inline u8 tx_read(struct bed *b, struct rmc_txid id, u64 offset, u64 length)
{
	return rmc_tx_part_access(b->p, &id, RMC_TX_READ, offset, length);
}

static inline u8 tx_own(struct bed *b, struct rmc_txid id, u64 offset, u64 length)
{
	return rmc_tx_part_access(b->p, &id, RMC_TX_OWN, offset, length);
}

/* INTEND of one range; length 0: none */
static inline u8 tx_intend(struct bed *b, struct rmc_txid id, u32 flags, u64 offset, u64 length)
{
	struct rmc_tx_range r = { .offset = offset, .length = length };

	return rmc_tx_part_intend(b->p, &id, flags, &r, length ? 1 : 0);
}

static inline u8 tx_data(struct bed *b, struct rmc_txid id, u64 offset, u32 length, u8 byte)
{
	u8 *data = malloc(length + !length);
	u8 status;

	memset(data, byte, length);
	status = rmc_tx_part_data(b->p, &id, offset, data, length);
	free(data);
	return status;
}

static inline u8 tx_commit(struct bed *b, struct rmc_txid id)
{
	return rmc_tx_part_close(b->p, &id, RMC_TX_LOCAL, true);
}

static inline u8 tx_abort(struct bed *b, struct rmc_txid id)
{
	return rmc_tx_part_close(b->p, &id, RMC_TX_LOCAL, false);
}

static inline u8 tx_state(struct bed *b, struct rmc_txid id)
{
	const struct rmc_tx_record *r = rmc_tx_part_record(b->p, id.source, id.slot);

	return r ? r->state : RMC_TX_NONE;
}

/* Bytes of [offset, offset + length) that are not @byte */
static inline u32 bed_others(struct bed *b, u64 offset, u64 length, u8 byte)
{
	u32 others = 0;

	for (; length--; offset++)
		others += *bed_at(b, offset) != byte;
	return others;
}

#endif
