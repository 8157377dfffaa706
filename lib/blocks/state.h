/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The accessor of blocks by one-sided operations (<rmc/ds.h>, ../ds/block.h): what its files share.
 *
 *	open.c		options, areas, memory
 *	access.c	enters, validates, latches, leaves a block
 *	settle.c	the end of a latch: stores, releases, what is in doubt
 *	pool.c		allocates blocks and frees them
 *	recover.c	latches of a client that is dead
 *	sync.c		blocks with other latches and schemes: of <rmc/sync.h>
 *
 * An area, in each of several segments:
 *
 *	| header  | next | free: a bit for each | latches | block 0 .. fixed - 1 | .. capacity - 1 |
 *	  2 lines   line   whole lines            detached
 *
 * A block is an object of a scheme of <rmc/scheme.h>. Those with another latch than the version are
 * entered, left and settled by sync.c; the others as follows. The first word of a block's header,
 * the version, is the block's latch as well:
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
 *	WRITE	the copy, with RMC_BLOCKS_REDO
 *	WRITE	all lines, of v + 2; the word stays as it is
 *	CAS	{ owner, tag, v + 1 }	to { 0, v + 2 }; to { tag + 1, v } if nothing was written
 *
 * No block's word comes twice within 2^35 writes, so a compare-and-swap whose reply was lost is
 * repeated: if it has taken effect already, or does so later, the words differ. A lost WRITE may
 * still be stored when a repeated one has been completed, if a filter, or a fabric that retries,
 * keeps packets back. So its latch is released after the time of grace.
 *
 * With RMC_BLOCKS_REDO a block of several lines has a copy behind it, which is written first, with a
 * sum (struct block_copy). Nobody reads it but who recovers the latch of a dead client.
 *
 * What cannot end in time, because its operations are lost or fail, is in doubt (settle.c). It
 * keeps its buffer, and goes on when the operation of the structure has ended.
 */
#ifndef RMC_LIB_BLOCKS_STATE_H
#define RMC_LIB_BLOCKS_STATE_H

#include "../internal.h"
#include "../ds/block.h"
#include <rmc/ds.h>
#include <rmc/sync.h>

#define BLOCK_AREA_MAGIC	0x31736b6c62636d72ULL	/* "rmcblks1" */
/* Repetitions of an operation that was lost: so many of 100 lost ones are 10^-12 */
#define BLOCK_TRIES		6
/* Attempts to enter a block that another client writes, before the structure begins again */
#define BLOCK_ENTERS		64
#define BLOCK_SPARES		256	/* blocks that this client has freed */
#define BLOCK_DOUBTS		16	/* one operation's holds, and some of earlier ones */
#define BLOCK_LETS	16	/* blocks let go that are remembered: sync.c */
#define BLOCK_BUFFERS		(RMC_BLOCK_HOLDS + BLOCK_DOUBTS)

#define BLOCK_WORD_LATCHED	1ULL
#define BLOCK_WORD_VERSION	((1ULL << 36) - 2)
#define BLOCK_WORD_TAG_SHIFT	36
#define BLOCK_WORD_TAG		(0xffULL << BLOCK_WORD_TAG_SHIFT)
#define BLOCK_WORD_OWNER_SHIFT	44
#define BLOCK_OWNER_NID_BITS	11

_Static_assert(RMC_BLOCKS_CLIENTS << BLOCK_OWNER_NID_BITS == 1 << (64 - BLOCK_WORD_OWNER_SHIFT),
	       "owners fit");
_Static_assert(RMC_NID_MAX + 1 < 1 << BLOCK_OWNER_NID_BITS, "node ids fit");

/* First lines of an area: what all have in common, but for the epoch */
struct area {
	uint64_t magic;		/* written last */
	uint64_t capacity, fixed, bytes;
	char scheme[16];
	uint32_t first_nid, nodes;
	uint32_t structure, flags;
	/* second line: of accessors with other latches */
	char latch[16];
	uint64_t epoch;		/* another one each time it is formatted */
	uint64_t pad;
	uint64_t zero[4];
};

_Static_assert(sizeof(struct area) == 2 * RMC_CACHE_LINE, "two lines");

/* In the line behind a block's copy */
struct block_copy {
	uint64_t word, sum;	/* when it is stored; CRC64 of the image */
};

/* Where everything is, in bytes from the beginning of the area */
struct shape {
	size_t stride, image;	/* of a block, and what a read of it fetches */
	size_t copy_at;		/* in a block: whole lines of an image, then its copy */
	bool copy;
	const struct rmc_scheme *layout;
	size_t object;		/* bytes of a block's data, and of its sum, if it has one: sync.c */
	bool apart;		/* latches are in an array */
	const char *latch;
	uint64_t latches_at;
	uint64_t next_at, free_at, blocks_at, end;
};

/* A block that is not in use, and that only this client knows of */
struct spare {
	uint64_t at;
	unsigned int visits;	/* times that it could not be entered */
};

/* What this client knows of an area, and has taken from it */
struct chunk {
	uint64_t next, end;	/* numbers of blocks */
	uint64_t word;		/* of the bits to look at next */
	uint64_t empty_at;	/* ns: no bit was set then; 0: not known */
	uint64_t epoch;
	bool exhausted;		/* all blocks were in use once */
	bool suspect;		/* an operation says that the node is not there: read the epoch */
	bool gone;		/* it was formatted again */
};

enum doubt_step {
	DOUBT_TAKE,		/* is the latch ours? */
	DOUBT_STORE,		/* is the block stored? */
	DOUBT_RELEASE,		/* is the latch released? */
};

struct doubt {
	struct rmc_block_hold h;
	enum doubt_step step;
	uint64_t to;		/* the word of its release */
	uint64_t not_before;	/* ns: of its release, a lost WRITE may come until then */
	uint64_t again_at;	/* ns: of the next attempt */
	int status;		/* of the last one; 0: it waits for not_before */
	bool lost;		/* the step may have taken effect */
	bool unused;		/* nobody uses the block afterwards */
};

struct remote {
	struct rmc_blocks base;
	struct rmc_qp *qp;
	struct rmc_blocks_options o;
	struct shape shape;
	struct rmc_blocks_stats stats;
	uint64_t owner;			/* in its place of the word */
	uint64_t seed;
	uint64_t deadline;		/* ns: of this operation of a structure */
	uint8_t *memory;		/* registered: BLOCK_BUFFERS images, then two lines */
	int buf_id;			/* -1: the caller's */
	uint64_t *scratch;		/* the lines, for words */
	uint8_t *data;			/* BLOCK_BUFFERS times a block's data */
	uint32_t used;			/* buffers: a bit for each */
	uint64_t held[BLOCK_BUFFERS];	/* address; 0: none, or it is in doubt */
	struct doubt doubt[BLOCK_DOUBTS];
	unsigned int doubts;
	/* sync.c: */
	struct rmc_sync *sync;		/* NULL: the latch is the version */
	bool latched_reads;		/* readers hold a latch */
	bool left_torn;			/* it may have a latch of a block half written */
	bool told;			/* the structure knows commit_status */
	bool late;			/* a read may be a mixture until it is validated */
	struct rmc_hold hold[BLOCK_BUFFERS];
	uint64_t pending;		/* block whose commit is not known to have ended; 0: none */
	uint8_t *pending_image;		/* what it stores */
	uint64_t let[BLOCK_LETS];	/* blocks let go whose release may be in flight */
	unsigned int lets;
	uint64_t unlocks_lost;		/* of r->sync, as it was when nothing was */
	int commit_status;		/* of this operation's commits, the first that failed */

	struct chunk *chunk;		/* of each area */
	unsigned int turn;		/* area of the next block */
	bool refill;			/* alloc() has found no block: begin() searches for one, */
	bool refilled;			/* and has, since the operation began */
	unsigned int refill_area;	/* first here */
	int refill_status;		/* it has found none: the result of alloc() */
	struct spare spare[BLOCK_SPARES];	/* a ring: oldest first */
	unsigned int spare_head, spare_count;
};

static inline struct remote *remote_of(const struct rmc_blocks *blocks)
{
	return (struct remote *)((char *)(uintptr_t)blocks - offsetof(struct remote, base));
}

static inline int at_nid(uint64_t at)
{
	return (int)(at >> RMC_BLOCK_NID_SHIFT);
}

static inline uint64_t at_offset(uint64_t at)
{
	return at & ((1ULL << RMC_BLOCK_NID_SHIFT) - 1);
}

static inline int area_nid(const struct remote *r, unsigned int area)
{
	return r->o.first_nid + (int)area;
}

static inline unsigned int at_area(const struct remote *r, uint64_t at)
{
	return (unsigned int)(at_nid(at) - r->o.first_nid);
}

static inline uint64_t block_at(const struct remote *r, unsigned int area, uint64_t number)
{
	return (uint64_t)((unsigned int)r->o.first_nid + area) << RMC_BLOCK_NID_SHIFT |
	       (r->o.offset + r->shape.blocks_at + number * r->shape.stride);
}

static inline uint8_t *image_of(const struct remote *r, const struct rmc_block_hold *h)
{
	return r->memory + (size_t)h->buffer * r->shape.stride;
}

static inline uint64_t wait_ns(const struct remote *r)
{
	return r->o.wait_us * 1000ULL;
}

/* open.c */
int rmc_remote_check_area(struct remote *r, unsigned int area);
void rmc_remote_close(struct rmc_blocks *blocks);

/* access.c */
extern const struct rmc_block_ops rmc_remote_ops;
int rmc_remote_locate(const struct remote *r, uint64_t at, unsigned int *area, uint64_t *number);
int rmc_remote_enter(struct remote *r, uint64_t at, enum rmc_block_mode mode,
		     unsigned int attempts, struct rmc_block_hold *h);
int rmc_remote_leave(struct remote *r, struct rmc_block_hold *h, bool unused);
void rmc_remote_cancel(struct remote *r, struct rmc_block_hold *h);
void rmc_remote_back_off(struct remote *r, unsigned int failures);
void rmc_remote_note(struct remote *r, unsigned int area, int status);
bool rmc_remote_again(struct remote *r, unsigned int area, int status, unsigned int *tries);
int rmc_remote_take_buffer(struct remote *r, uint64_t at, struct rmc_block_hold *h);
void rmc_remote_end_hold(struct remote *r, struct rmc_block_hold *h);

/* settle.c */
int rmc_remote_swap(struct remote *r, struct doubt *d, uint64_t from, uint64_t to);
int rmc_remote_take_latch(struct remote *r, struct rmc_block_hold *h);
int rmc_remote_finish(struct remote *r, struct rmc_block_hold *h, bool unused);
void rmc_remote_doubt(struct remote *r, const struct doubt *d);
struct doubt *rmc_remote_doubt_of(struct remote *r, uint64_t at);
bool rmc_remote_ends_soon(const struct doubt *d);
bool rmc_remote_settle(struct remote *r, bool wait);
bool rmc_remote_settle_now(struct remote *r);
bool rmc_remote_settle_block(struct remote *r, uint64_t at);

/* recover.c */
int rmc_remote_recover(struct rmc_blocks *blocks, int nid, unsigned int client);

/* sync.c */
bool rmc_remote_is_sync(const struct rmc_blocks_options *o);
int rmc_remote_sync_shape(const struct rmc_blocks_options *o, struct shape *s);
size_t rmc_remote_sync_memory(const struct rmc_blocks_options *o, const struct shape *s);
int rmc_remote_sync_open(struct remote *r);
void rmc_remote_quiet(struct remote *r);
int rmc_remote_sync_known(struct remote *r);
int rmc_remote_sync_stored(struct remote *r);
int rmc_remote_sync_enter(struct remote *r, struct rmc_block_hold *h, enum rmc_block_mode mode);
int rmc_remote_sync_valid(struct remote *r, struct rmc_block_hold *h);
int rmc_remote_sync_upgrade(struct remote *r, struct rmc_block_hold *h);
int rmc_remote_sync_leave(struct remote *r, struct rmc_block_hold *h, bool unused);
void rmc_remote_sync_let(struct remote *r, bool wait);
bool rmc_remote_sync_settle(struct remote *r, bool wait);
bool rmc_remote_sync_reclaim(struct remote *r, uint64_t at);
int rmc_remote_sync_recover(struct remote *r, int nid, uint64_t at);
void rmc_remote_sync_stats(const struct remote *r, struct rmc_blocks_stats *stats);

/* Before an operation of the queue pair itself, which r->sync has otherwise for itself */
static inline void rmc_remote_alone(struct remote *r)
{
	if (r->sync)
		rmc_remote_quiet(r);
}

/* pool.c */
int rmc_remote_alloc(struct rmc_blocks *blocks, uint64_t beside, struct rmc_block_hold *h);
int rmc_remote_retire(struct rmc_blocks *blocks, struct rmc_block_hold *h);
int rmc_remote_refill(struct remote *r);
void rmc_remote_unused(struct remote *r, uint64_t at);
void rmc_remote_trim(struct remote *r);
void rmc_remote_give_back(struct remote *r);

#endif /* RMC_LIB_BLOCKS_STATE_H */
