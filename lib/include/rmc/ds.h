/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Data structures in the segments of one or several nodes, which all nodes read and write by
 * one-sided operations. No owner takes part. See Documentation/structures.rst.
 *
 *	rmc_blocks_format(&o, segment + offset)		each owner, once, before all others
 *
 *	blocks = rmc_blocks_open(qp, &o)		each thread that uses the structure
 *	t = rmc_table_open(blocks, 0)			the same structure everywhere
 *	rmc_table_put(t, key, value)
 *
 * An area of each segment holds blocks of one length. A structure uses all blocks of its areas.
 * Unless the options name a latch or a scheme of <rmc/sync.h>, a read of a block is one remote
 * read, or SABRe; a write is one read, a compare-and-swap that takes the block's latch, a write, and
 * a compare-and-swap that releases it.
 *
 * Each operation that returns 0, -ENOENT or -EEXIST takes effect at one instant between its call
 * and its return: histories of operations are linearizable. One that returns a status has taken
 * effect then, takes effect later, or never; other keys are as before. Keys and values are 64-bit
 * words; a longer value is an object whose address is the value.
 *
 * Functions return 0 or
 *
 *	-ENOENT, -EEXIST	there is no such key, there is one
 *	-ENOSPC			no block is free (clients keep some, see rmc_blocks_close()), or a
 *				table's chain is at its limit: nothing has changed
 *	-EAGAIN			the operation did not get the blocks that it needs in wait_us:
 *				others write them, or have lost an operation on one; or a client
 *				died with a latch (see rmc_blocks_recover()), or links are
 *				damaged, which lasts. Nothing has changed.
 *	-EPROTO, -ELOOP		the blocks are not those of this structure, or were damaged; or,
 *				with <rmc/sync.h>, this client was taken for dead meanwhile
 *	-ESTALE			an owner has formatted its area again: open the blocks again
 *	-EINVAL			key RMC_TREE_KEY_NONE, an empty range
 *	enum rmc_status		an operation failed: a change may have taken effect, or does later
 *	-errno			of the queue pair
 *
 * One thread at a time uses a queue pair with all that was opened over it. Calls wait for
 * operations, latches and back-offs by rmc_relax(); none sleeps. A call ends after wait_us, and one
 * time limit of the RMC for each block that it holds then.
 */
#ifndef RMC_DS_H
#define RMC_DS_H

#include <rmc/abi.h>
#include <rmc/qp.h>
#include <rmc/scheme.h>
#include <rmc/sync.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_blocks;

#define RMC_BLOCKS_CLIENTS	512	/* numbers of clients of one node id are below it */
#define RMC_BLOCKS_MAX		(1U << 30)	/* blocks in an area */
#define RMC_BLOCKS_GRACE_US	1000000	/* default */
#define RMC_BLOCKS_WAIT_US	2000000	/* default, beyond the time of grace */

/*
 * A copy of each block of several lines is written before the block: twice the memory, and one write
 * more. So rmc_blocks_recover() finds a whole state wherever a client died.
 */
#define RMC_BLOCKS_REDO		(1U << 0)

/* What an area is for. Who opens another structure over it is refused. */
enum rmc_blocks_structure {
	RMC_BLOCKS_NONE,		/* of <rmc/ds.h> */
	RMC_BLOCKS_TABLE,
	RMC_BLOCKS_TABLE_DIRECT,	/* with RMC_TABLE_DIRECT */
	RMC_BLOCKS_TREE,
	RMC_BLOCKS_MAP,
	RMC_BLOCKS_BTREE,		/* transactions only, see rmc_btree_open() */
};

/* The first ten: the same for all who use the areas */
struct rmc_blocks_options {
	/*
	 * NULL: "farm"; or "crc64"; or "sabre", in segments whose mode is not RMC_SABRE_LOCKED. Or
	 * one of rmc_sync_find(): see sync below
	 */
	const struct rmc_scheme *scheme;
	const char *latch;		/* of rmc_sync_latch_name(); NULL: the scheme's own */
	uint64_t offset;		/* of the area in each segment, in bytes; whole lines */
	uint64_t capacity;		/* blocks in each area, RMC_BLOCKS_MAX at most */
	uint64_t fixed;			/* of these: buckets of a table; others, 0: 1 */
	size_t bytes;			/* of a block's data: RMC_TABLE_BYTES, for example */
	uint32_t structure;		/* enum rmc_blocks_structure */
	uint32_t flags;			/* RMC_BLOCKS_REDO */
	int first_nid;			/* areas are in the segments of this node */
	unsigned int nodes;		/* and the next ones; 0: 1 */

	int nid;			/* of the caller's node, which its latches name */
	unsigned int client;		/* from 1 on: no other client of this node has it */
	/*
	 * How long an operation waits for blocks that others write, before -EAGAIN, and repeats
	 * what is lost; not below grace_us. 0: grace_us + RMC_BLOCKS_WAIT_US
	 */
	uint32_t wait_us;
	uint32_t backoff_ns;		/* after the first failure; doubles after each, random */
	uint32_t backoff_max_ns;	/* 0 with backoff_ns 0: 1 us and 64 us */
	/*
	 * How long a packet may be on its way whose operation has timed out: no earlier after that
	 * is the latch released of a block whose write was lost. 0: RMC_BLOCKS_GRACE_US
	 */
	uint32_t grace_us;
	uint32_t chunk;			/* blocks that are taken from an area at a time; 0: 64 */
	void *memory;			/* registered, aligned to words; NULL: allocate */
	/*
	 * RMC_SYNC_*. A scheme or a latch other than those above, or one of these, means that
	 * blocks are objects of <rmc/sync.h>: Documentation/structures.rst. Numbers of clients are
	 * below 240 then; the queue pair has RMC_BLOCKS_ENTRIES, in order where that asks for it.
	 */
	uint32_t sync;
	uint32_t pad;			/* lines between two blocks; the same for all */
};

#define RMC_BLOCKS_OPTIONS_SIZE_VER1	104
RMC_ABI_SIZE_VER0(rmc_blocks_options, memory, RMC_BLOCKS_OPTIONS_SIZE_VER1);

/* Of a queue pair, for schemes and latches of <rmc/sync.h> */
#define RMC_BLOCKS_ENTRIES	64

/* One of the systems of R25: scheme, latch, pad, and sync, where RMC_SYNC_TRUST_ORDER stays */
RMC_INLINE void rmc_blocks_use(struct rmc_blocks_options *options,
			       const struct rmc_sync_system *system)
{
	options->scheme = rmc_sync_find(system->scheme);
	options->latch = rmc_sync_latch_name(system->latch);
	options->sync = system->flags | (options->sync & RMC_SYNC_TRUST_ORDER);
	options->pad = system->pad;
}

/* Counts since it was opened. The first five are remote operations that were waited for. */
struct rmc_blocks_stats {
	uint64_t reads;			/* of blocks */
	uint64_t validations;		/* reads of their first word, or an area's header */
	uint64_t atomics;		/* latches */
	uint64_t writes;		/* of blocks */
	uint64_t allocations;		/* operations that find free blocks, or free them */
	uint64_t torn, locked;		/* reads that were repeated */
	uint64_t restarts;		/* of operations of structures */
	uint64_t lost;			/* operations that timed out */
	uint64_t leaked;		/* blocks that stay unused: lost, latched or damaged ones */
	uint64_t stuck;			/* latches now that are not released, see below */
	uint64_t recovered;		/* blocks, by rmc_blocks_recover() */
	uint64_t damaged;		/* blocks that it has found half written */
};

#define RMC_BLOCKS_STATS_SIZE_VER1	104
RMC_ABI_SIZE_VER0(rmc_blocks_stats, damaged, RMC_BLOCKS_STATS_SIZE_VER1);

/* Bytes of the area in each segment, and of registered memory for a client; 0: wrong options */
size_t rmc_blocks_bytes_sized(const struct rmc_blocks_options *options, size_t size);
RMC_SIZED size_t rmc_blocks_bytes(const struct rmc_blocks_options *options)
{
	return rmc_blocks_bytes_sized(options, sizeof(*options));
}

size_t rmc_blocks_memory_sized(const struct rmc_blocks_options *options, size_t size);
RMC_SIZED size_t rmc_blocks_memory(const struct rmc_blocks_options *options)
{
	return rmc_blocks_memory_sized(options, sizeof(*options));
}

/* The owner makes memory an area of an empty structure. 0 or -EINVAL, see rmc_errmsg() */
int rmc_blocks_format_sized(const struct rmc_blocks_options *options, void *area, size_t size);
RMC_SIZED int rmc_blocks_format(const struct rmc_blocks_options *options, void *area)
{
	return rmc_blocks_format_sized(options, area, sizeof(*options));
}

/* Reads all areas' headers. NULL with errno set on failure, see rmc_errmsg() */
struct rmc_blocks *rmc_blocks_open_sized(struct rmc_qp *qp,
					 const struct rmc_blocks_options *options, size_t size);
RMC_SIZED struct rmc_blocks *rmc_blocks_open(struct rmc_qp *qp,
					   const struct rmc_blocks_options *options)
{
	return rmc_blocks_open_sized(qp, options, sizeof(*options));
}

/*
 * Latches whose release was lost, or whose node is down for a while, are released when this
 * client's next operation begins or ends. A client that executes none meanwhile calls this: 0;
 * -EAGAIN: some are still not, after wait_us (stats: stuck)
 */
int rmc_blocks_settle(struct rmc_blocks *blocks);

/*
 * This client of this node (0: all of its clients) is dead: its latches are released, after the time
 * of grace. Each block then is as before the client's last write of it, or as written; so structures
 * are whole. Its operations have taken effect, or never do. Reads the word of each block that was
 * ever in use. Any client may call it, several at once, and again after a status. 0: none is left;
 * -EUCLEAN: some are, of blocks of several lines that are half written, or with "sabre" may be: only
 * without RMC_BLOCKS_REDO; -EINVAL: no such number. With the latches of <rmc/sync.h> all clients of
 * a node die together (client 0), and on the caller's node it is its own number's earlier life
 * (others: -EOPNOTSUPP); nid -1: readers of "rw", none of which is left. Nobody may have the number
 * meanwhile. A client that is alive after all may write over what others have written since: see
 * that it is not.
 */
int rmc_blocks_recover(struct rmc_blocks *blocks, int nid, unsigned int client);

/*
 * Settles, and gives blocks that are not used back to their areas. Until then a client keeps up to
 * one chunk of each area, and some of what it has freed.
 */
void rmc_blocks_close(struct rmc_blocks *blocks);

void rmc_blocks_stats_sized(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats,
			    size_t size);
RMC_SIZED void rmc_blocks_stats(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats)
{
	rmc_blocks_stats_sized(blocks, stats, sizeof(*stats));
}

/* The most data of a block whose image has at most so many bytes; scheme NULL: "farm" */
size_t rmc_blocks_fit(const struct rmc_scheme *scheme, size_t image);

/* ---- hash table: chains of buckets of a line ---- */

#define RMC_TABLE_BYTES		48	/* of a bucket's data: two keys with their values */
#define RMC_TABLE_CHAIN		64	/* buckets: a table with longer ones is far too small */
#define RMC_TABLE_DIRECT	(1U << 0)	/* key modulo the number of buckets, no hash */

struct rmc_table;

/*
 * A table whose heads of chains are the fixed blocks of all areas; other blocks extend chains, to
 * RMC_TABLE_CHAIN. NULL with errno set on failure, EPROTO: the areas are not for it. Close it
 * before its blocks.
 */
struct rmc_table *rmc_table_open(struct rmc_blocks *blocks, unsigned int flags);
void rmc_table_close(struct rmc_table *t);

int rmc_table_get(struct rmc_table *t, uint64_t key, uint64_t *value);
int rmc_table_put(struct rmc_table *t, uint64_t key, uint64_t value);		/* either of: */
int rmc_table_insert(struct rmc_table *t, uint64_t key, uint64_t value);	/* -EEXIST */
int rmc_table_update(struct rmc_table *t, uint64_t key, uint64_t value);	/* -ENOENT */
int rmc_table_delete(struct rmc_table *t, uint64_t key);

/* ---- B+tree ---- */

#define RMC_TREE_IMAGE		4096	/* bytes of a block, for rmc_blocks_fit() */
#define RMC_TREE_BYTES_MIN	112	/* of a block's data */
#define RMC_TREE_KEY_NONE	(~0ULL)	/* above all keys: is none */

/* How an operation is sure of its way from a block to the next one */
enum rmc_tree_coupling {
	RMC_TREE_LINK,		/* blocks name their range and their right neighbour (B-link) */
	RMC_TREE_VERSION,	/* a block is read again when the next one has been read */
	/*
	 * its latch is held until then, by readers as well: they, and writers above a leaf, share
	 * it where blocks have latches that are shared ("rw")
	 */
	RMC_TREE_LATCH,
};

struct rmc_pair {
	uint64_t key, value;
};

RMC_ABI_SIZE(rmc_pair, 16);

struct rmc_tree;

/*
 * The root is the first fixed block of the first area, the only one that a tree needs. Users may
 * couple differently. A split that failed half-way, with a status, is completed by the next
 * insertion that meets it.
 */
struct rmc_tree *rmc_tree_open(struct rmc_blocks *blocks, enum rmc_tree_coupling coupling);
void rmc_tree_close(struct rmc_tree *t);

int rmc_tree_get(struct rmc_tree *t, uint64_t key, uint64_t *value);
int rmc_tree_put(struct rmc_tree *t, uint64_t key, uint64_t value);	/* either of: */
int rmc_tree_insert(struct rmc_tree *t, uint64_t key, uint64_t value);	/* -EEXIST */
int rmc_tree_update(struct rmc_tree *t, uint64_t key, uint64_t value);	/* -ENOENT */
int rmc_tree_delete(struct rmc_tree *t, uint64_t key);

/*
 * The first pairs with keys of a range, both ends included, in order, as they are at one instant:
 * so many as max, or fewer if they are in too many blocks. *next: where to continue, or
 * RMC_TREE_KEY_NONE. What is continued is of another instant.
 */
int rmc_tree_scan(struct rmc_tree *t, uint64_t from, uint64_t to, struct rmc_pair *pairs,
		  size_t max, size_t *found, uint64_t *next);

/* ---- map: red-black tree of blocks of a line ---- */

#define RMC_MAP_BYTES		40	/* of a block's data */

struct rmc_map;

/*
 * The head is the first fixed block of the first area, the only one that a map needs. A deleted key
 * keeps its block, for the next insertion of this key. An insertion needs three free blocks at most,
 * of which the key keeps one.
 */
struct rmc_map *rmc_map_open(struct rmc_blocks *blocks);
void rmc_map_close(struct rmc_map *m);

int rmc_map_get(struct rmc_map *m, uint64_t key, uint64_t *value);
int rmc_map_put(struct rmc_map *m, uint64_t key, uint64_t value);	/* either of: */
int rmc_map_insert(struct rmc_map *m, uint64_t key, uint64_t value);	/* -EEXIST */
int rmc_map_update(struct rmc_map *m, uint64_t key, uint64_t value);	/* -ENOENT */
int rmc_map_delete(struct rmc_map *m, uint64_t key);

/* ---- B-tree: inner blocks have keys with their values, too ---- */

#define RMC_BTREE_BYTES_MIN	88	/* of a block's data */

struct rmc_btree;

/*
 * The root is the first fixed block, the only one that a tree needs. A key that is inserted or
 * deleted may move others from block to block, so the blocks are those of transactions: see
 * rmc_tx_blocks_open(). NULL with errno set on failure, EOPNOTSUPP: other ones, where clients read
 * blocks one by one, and may die between two writes: take a B+tree. Keys are below
 * RMC_TREE_KEY_NONE. Blocks whose keys are deleted become free.
 */
struct rmc_btree *rmc_btree_open(struct rmc_blocks *blocks);
void rmc_btree_close(struct rmc_btree *t);

int rmc_btree_get(struct rmc_btree *t, uint64_t key, uint64_t *value);
int rmc_btree_put(struct rmc_btree *t, uint64_t key, uint64_t value);	/* either of: */
int rmc_btree_insert(struct rmc_btree *t, uint64_t key, uint64_t value);	/* -EEXIST */
int rmc_btree_update(struct rmc_btree *t, uint64_t key, uint64_t value);	/* -ENOENT */
int rmc_btree_delete(struct rmc_btree *t, uint64_t key);

/* As rmc_tree_scan() */
int rmc_btree_scan(struct rmc_btree *t, uint64_t from, uint64_t to, struct rmc_pair *pairs,
		   size_t max, size_t *found, uint64_t *next);

#ifdef __cplusplus
}
#endif

#endif /* RMC_DS_H */
