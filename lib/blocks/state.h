/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The accessor of blocks by one-sided operations (<rmc/ds.h>, ../ds/block.h): what its files share.
 *
 *	open.c		options, areas, memory
 *	access.c	enters, validates, latches, stores, releases a block
 *	pool.c		allocates blocks and frees them
 *
 * An area, in each of several segments:
 *
 *	| header | next | free: a bit for each block | block 0 .. fixed - 1 | .. capacity - 1 |
 *	  line     line   whole lines
 *
 * A block is an object of a scheme of <rmc/scheme.h>. The first word of its header, the version, is
 * the block's latch as well:
 *
 *	63           44 43   36 35                 1  0
 *	+--------------+-------+--------------------+---+
 *	| owner        | tag   | version            | X |	X: latched; owner is 0 otherwise
 *	+--------------+-------+--------------------+---+
 *	  client, nid + 1	counts writes, by two
 *
 * Readers: a SABRe, or a read whose lines have the same version, see lib/scheme. Readers refuse an
 * odd version, so all of a write happens unseen between two compare-and-swaps:
 *
 *	CAS	{ tag, v }		to { owner, tag, v + 1 }
 *	WRITE	all lines, of v + 2; the word stays as it is
 *	CAS	{ owner, tag, v + 1 }	to { 0, v + 2 }; to { tag + 1, v } if nothing was written
 *
 * No word comes twice within 2^35 writes, so an operation whose reply was lost is repeated: if it
 * has taken effect already, or does so later, the words differ. Only a lost WRITE may still be
 * stored when a repeated one has been completed. So its latch is released after the time of grace.
 */
#ifndef RMC_LIB_BLOCKS_STATE_H
#define RMC_LIB_BLOCKS_STATE_H

#include "../internal.h"
#include "../ds/block.h"
#include <rmc/ds.h>

#define AREA_MAGIC	0x31736b6c62636d72ULL	/* "rmcblks1" */
#define TRIES		16			/* of an operation that times out */
#define RETIRED		256			/* blocks that wait for their time of grace */
#define BUFFERS		(RMC_BLOCK_HOLDS + 2)	/* two for the pool */

#define BLOCK_WORD_LATCHED	1ULL
#define BLOCK_WORD_VERSION	((1ULL << 36) - 2)
#define BLOCK_WORD_TAG_SHIFT	36
#define BLOCK_WORD_TAG	(0xffULL << BLOCK_WORD_TAG_SHIFT)
#define BLOCK_WORD_OWNER_SHIFT 44
#define BLOCK_OWNER_NID_BITS	11

_Static_assert(RMC_BLOCKS_CLIENTS << BLOCK_OWNER_NID_BITS == 1 << (64 - BLOCK_WORD_OWNER_SHIFT), "owners fit");
_Static_assert(RMC_NID_MAX + 1 < 1 << BLOCK_OWNER_NID_BITS, "node ids fit");

/* First line of an area: what all have in common */
struct area {
	uint64_t magic;		/* written last */
	uint64_t capacity, fixed, bytes;
	char scheme[16];
	uint32_t first_nid, nodes;
	uint64_t pad;
};

_Static_assert(sizeof(struct area) == RMC_CACHE_LINE, "a line");

/* Where everything is, in bytes from the beginning of the area */
struct shape {
	size_t stride, image;	/* of a block, and what a read of it fetches */
	uint64_t next_at, free_at, blocks_at, end;
};

struct retired {
	uint64_t at, not_before;	/* ns of rmc_now_ns() */
};

/* What this client has taken from an area */
struct chunk {
	uint64_t next, end;	/* numbers of blocks */
	uint64_t word;		/* of the bits to look at next */
	bool exhausted;
};

struct remote {
	struct rmc_blocks base;
	struct rmc_qp *qp;
	struct rmc_blocks_options o;
	struct shape shape;
	struct rmc_blocks_stats stats;
	uint64_t owner;			/* in its place of the word */
	uint64_t seed;
	uint8_t *memory;		/* registered: BUFFERS images, then a line */
	int buf_id;			/* -1: the caller's */
	uint64_t *scratch;		/* the line, for words */
	uint8_t *data;			/* BUFFERS times a block's data */
	uint32_t used;			/* buffers: a bit for each */
	unsigned int turn;		/* area of the next block */
	struct chunk *chunk;		/* of each area */
	struct retired retired[RETIRED];	/* a ring: oldest first */
	unsigned int retired_head, retired_count;
};

static inline struct remote *remote_of(struct rmc_blocks *a)
{
	return (struct remote *)((char *)a - offsetof(struct remote, base));
}

static inline int at_nid(uint64_t at)
{
	return (int)(at >> RMC_BLOCK_NID_SHIFT);
}

static inline uint64_t at_offset(uint64_t at)
{
	return at & ((1ULL << RMC_BLOCK_NID_SHIFT) - 1);
}

static inline uint64_t block_at(const struct remote *r, unsigned int area, uint64_t number)
{
	return (uint64_t)((unsigned int)r->o.first_nid + area) << RMC_BLOCK_NID_SHIFT |
	       (r->o.offset + r->shape.blocks_at + number * r->shape.stride);
}

/* access.c */
extern const struct rmc_block_ops rmc_remote_ops;
int rmc_remote_locate(const struct remote *r, uint64_t at, unsigned int *area, uint64_t *number);
int rmc_remote_enter(struct remote *r, uint64_t at, enum rmc_block_mode mode, struct rmc_block_hold *h);
int rmc_remote_leave(struct remote *r, struct rmc_block_hold *h);
void rmc_remote_cancel(struct remote *r, struct rmc_block_hold *h);
void rmc_remote_until(struct remote *r, uint64_t ns);
bool rmc_remote_again(struct remote *r, int status, unsigned int *tries);

/* pool.c */
int rmc_remote_alloc(struct rmc_blocks *a, uint64_t near, struct rmc_block_hold *h);
int rmc_remote_retire(struct rmc_blocks *a, struct rmc_block_hold *h);
void rmc_remote_unused(struct remote *r, uint64_t at, uint64_t not_before);
void rmc_remote_give_back(struct remote *r);

#endif /* RMC_LIB_BLOCKS_STATE_H */
