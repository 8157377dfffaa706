/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures of blocks that many write, and their accessors: see <rmc/ds.h> and
 * Documentation/structures.rst.
 *
 *	table.c	hash table	\		 / lib/blocks/		one-sided operations
 *	tree.c	B+tree		|		|  lib/tx/blocks.c	transactions
 *	map.c	red-black tree	 > this file <	   local_blocks.h	memory of a test
 *	btree.c	B-tree		/		 \ others	latches
 *
 * access.h is simpler: words and objects of which one writer at a time changes several.
 *
 * Units. A block is blocks->bytes of data at an address: node id << 48 | offset. 0 is no address.
 * All blocks of an accessor have the same length. Its first 16 bits are its kind: 0 in a fixed
 * block that was never written, RMC_BLOCK_FREE in one that is not in use, otherwise the
 * structure's. An accessor whose addresses are others, or whose blocks are absent at first,
 * translates.
 *
 * Holds. A structure enters a block, and has left it before its operation ends. The data is one
 * state of the block, though perhaps no longer the newest: an accessor that finds out at the end
 * whether data was torn checks it in enter(). An accessor has at least RMC_BLOCK_HOLDS holds, which
 * it has room for before it opens. Nobody holds a block twice: enter() of an address that is held
 * is -EPROTO. Structures check first what others' changes can cause.
 *
 *	       enter(READ)	  upgrade()
 *	  at ------------> READ ------------> WRITE ---- leave(): what was written is the new state
 *	   \		    |  '- leave(),	|  `---- retire(): the block is free
 *	    \		    |	  cancel()	'------- cancel(): nothing has changed
 *	     '- enter(LATCH), enter(WRITE), alloc() enter at once what they name
 *
 * A READ is left if its data counts for the result, and cancelled if the operation ends otherwise,
 * or has found its way by it. leave() may check that the data was one state; an accessor whose data
 * always is does nothing. cancel() of a READ does not make the block one that was not read: a
 * transaction keeps it among those that have to be unchanged when it commits.
 *
 * What shows. valid() and upgrade() notice that a block was written since it was entered, also with
 * the bytes that it had, and that somebody else holds it as LATCH or WRITE. That somebody held it
 * meanwhile, and wrote nothing, they need not notice: what a structure latches to make others begin
 * again, it writes.
 *
 * Stored. When leave() of a WRITE returns 0, whoever enters the block later has the new state, or
 * waits. An accessor may learn afterwards that it is not stored yet: then the next leave() of a
 * WRITE stores nothing and returns the status, or end() does. A structure that stores a block
 * because another one was not asks before, with stored(). After a failed leave() the hold has
 * ended, and the block has its old state or its new one, now or later.
 *
 * Restart. Each function that returns int may return RMC_BLOCK_RESTART, except leave() of a WRITE,
 * and end(). The structure cancels what it holds, calls begin() again with a count one higher, and
 * executes its operation again if that returns 0. Nothing else has to be undone: a structure is
 * whole after each leave() of a WRITE, or has all other changes ready by then and does nothing but
 * leave. An accessor that bounds restarts returns a status from begin(); a transaction, which has
 * to be restarted as a whole, returns its status from the first begin() with a count other than 0.
 * Any other status ends the operation and is its result; -ENOENT, -EEXIST, -EPROTO and -ELOOP are
 * the structures' own, -ENOSPC is alloc()'s: an accessor that has such errors of its own translates
 * them. A failed enter() holds nothing; a failed upgrade() leaves the READ, or nothing (at is 0
 * then); both may be cancelled.
 *
 * Several blocks. A structure checks data of a block by itself. Two blocks need not be of one time:
 * what does not fit together is -EPROTO only where no change of others causes it, else a restart.
 * A transaction that sees blocks of two times, and finds out when it commits, may have any of these
 * results before: it checks itself before it believes them. It also has blocks in its sets that an
 * operation writes for the structure's sake: splits, links, a home bucket or head.
 *
 * Atomic operations. With ops->atomic an operation that returns 0, -ENOENT or -EEXIST takes effect
 * at an instant at which all blocks that it has entered are as they were then, and all that it has
 * left are stored at that instant, or it has no effect. So a structure need not store its blocks in
 * an order in which others may meet them, nor write one only to make others begin again: a block
 * that an operation has entered is enough for that. Several operations may be one such step: each
 * sees what the earlier ones have left. Without it each block is by itself.
 *
 * Waiting. enter(), upgrade() and leave() may wait for their own operations, and enter() for a
 * latch, and run other work of their thread meanwhile. enter() gives up with RMC_BLOCK_RESTART
 * after a few attempts, so a cycle of waiting structures ends. To need this seldom, structures
 * enter LATCH and WRITE downwards and then to the right. Nothing else waits while the structure
 * holds a block: alloc() restarts if it has to search for a block. begin() and end(), when nothing
 * is held, may wait longer: for a back-off, for free blocks, for what a lost operation may still
 * do.
 *
 * Bounded walks. Blocks are what another node's writer has stored: a structure checks kind, level,
 * counts and order of keys in the data it holds before it uses them, and follows a bounded number
 * of links. A block that was retired may be allocated again at once, also for the same structure:
 * so who comes by an old address finds kind RMC_BLOCK_FREE, or another place in the structure, and
 * restarts, and who upgrades it finds that it was written. What no late visitor can see is -EPROTO.
 */
#ifndef RMC_LIB_DS_BLOCK_H
#define RMC_LIB_DS_BLOCK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RMC_BLOCK_RESTART	(1 << 16)	/* above all statuses */
#define RMC_BLOCK_HOLDS		12		/* at a time, of one operation */
#define RMC_BLOCK_NID_SHIFT	48

enum rmc_block_mode {
	RMC_BLOCK_READ,		/* one state; others may write meanwhile */
	RMC_BLOCK_LATCH,		/* nobody writes until leave(); not upgraded */
	RMC_BLOCK_WRITE,		/* only this hold sees what is written, until leave() */
};

enum rmc_block_kind {
	RMC_BLOCK_FREE = 1,
	RMC_BLOCK_BUCKET = 0x6b62,
	RMC_BLOCK_TREE = 0x7274,
	RMC_BLOCK_MAP = 0x706d,
	RMC_BLOCK_MAP_HEAD = 0x686d,
	RMC_BLOCK_BTREE = 0x7462,
};

/* Zeroed: not in use */
struct rmc_block_hold {
	uint64_t at;		/* 0: holds nothing */
	uint8_t *data;		/* all of the block, or NULL: read() and write() only */
	uint64_t word, latch;	/* the accessor's, these and the following */
	void *priv;
	int buffer;
	bool dirty, fresh;
	enum rmc_block_mode mode;
};

struct rmc_blocks {
	const struct rmc_block_ops *ops;
	size_t bytes;		/* of a block's data */
	uint64_t fixed;		/* blocks that are in use from the beginning; zero then */
	uint32_t structure;	/* enum rmc_blocks_structure: what the areas are for */
};

struct rmc_blocks_stats;

struct rmc_block_ops {
	bool atomic;		/* operations as a whole, see above */
	/*
	 * An operation begins, or is restarted for the so-manyth time: 0, or the operation's result
	 */
	int (*begin)(struct rmc_blocks *blocks, unsigned int restarts);
	/* It has ended with this result, or what begin() has returned; the result */
	int (*end)(struct rmc_blocks *blocks, int result);
	/* Address of a fixed block: 0 .. blocks->fixed - 1 */
	uint64_t (*fixed_at)(const struct rmc_blocks *blocks, uint64_t number);

	int (*enter)(struct rmc_blocks *blocks, uint64_t at, enum rmc_block_mode mode,
		     struct rmc_block_hold *h);
	/* Nobody has written the block since it was entered, and no other holds it to write */
	int (*valid)(struct rmc_blocks *blocks, struct rmc_block_hold *h);
	/* From READ to WRITE, if it is valid */
	int (*upgrade)(struct rmc_blocks *blocks, struct rmc_block_hold *h);
	int (*leave)(struct rmc_blocks *blocks, struct rmc_block_hold *h);
	/* Is all that was left stored? 0 or a status, and the next leave() stores; NULL: always */
	int (*stored)(struct rmc_blocks *blocks);
	/* h may hold nothing */
	void (*cancel)(struct rmc_blocks *blocks, struct rmc_block_hold *h);

	/* Of a part of the block; only while data is NULL: use the functions below */
	int (*read)(struct rmc_blocks *blocks, struct rmc_block_hold *h, size_t offset, size_t len,
		    const void **data);
	int (*write)(struct rmc_blocks *blocks, struct rmc_block_hold *h, size_t offset,
		     const void *data, size_t len);

	/*
	 * A block that was not in use, of zeros, held in mode WRITE; if possible at the node id of
	 * this address, or anywhere if that is 0. cancel() frees it again, also if its operation
	 * is not executed again, as with a transaction that aborts. -ENOSPC
	 */
	int (*alloc)(struct rmc_blocks *blocks, uint64_t beside, struct rmc_block_hold *h);
	/*
	 * The block, held in mode WRITE, is no longer in use. -EINVAL: it is not in use, or fixed;
	 * the hold stays.
	 */
	int (*retire)(struct rmc_blocks *blocks, struct rmc_block_hold *h);

	/* Of <rmc/ds.h>: any accessor's blocks are closed and counted alike. May be NULL. */
	int (*settle)(struct rmc_blocks *blocks);
	int (*recover)(struct rmc_blocks *blocks, int nid, unsigned int client);
	void (*stats)(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats);
	void (*close)(struct rmc_blocks *blocks);
};

/* Part of a block: in the hold's data, until the hold ends or the part is written */
static inline int rmc_block_read(struct rmc_blocks *blocks, struct rmc_block_hold *h, size_t offset,
				 size_t len, const void **data)
{
	if (!h->data)
		return blocks->ops->read(blocks, h, offset, len, data);
	*data = h->data + offset;
	return 0;
}

/* A private copy of a part of a block */
static inline int rmc_block_copy(struct rmc_blocks *blocks, struct rmc_block_hold *h, size_t offset,
				 void *to, size_t len)
{
	const void *data;
	int err = rmc_block_read(blocks, h, offset, len, &data);

	if (!err)
		memcpy(to, data, len);
	return err;
}

/* data may be a part of the block, and overlap */
static inline int rmc_block_write(struct rmc_blocks *blocks, struct rmc_block_hold *h,
				  size_t offset, const void *data, size_t len)
{
	if (!h->data)
		return blocks->ops->write(blocks, h, offset, data, len);
	memmove(h->data + offset, data, len);
	h->dirty = true;
	return 0;
}

static inline int rmc_block_stored(struct rmc_blocks *blocks)
{
	return blocks->ops->stored ? blocks->ops->stored(blocks) : 0;
}

/* Cancels the hold, for errors; the status */
static inline int rmc_block_fail(struct rmc_blocks *blocks, struct rmc_block_hold *h, int status)
{
	blocks->ops->cancel(blocks, h);
	return status;
}

/* Enters a block, and copies its first bytes; holds nothing if that fails */
static inline int rmc_block_load(struct rmc_blocks *blocks, uint64_t at, enum rmc_block_mode mode,
				 struct rmc_block_hold *h, void *to, size_t len)
{
	int err = blocks->ops->enter(blocks, at, mode, h);

	if (err)
		return err;
	err = rmc_block_copy(blocks, h, 0, to, len);
	return err ? rmc_block_fail(blocks, h, err) : 0;
}

/*
 * Executes op(s, arg) until it ends otherwise than by a restart: of all operations of structures.
 * op has left or cancelled all blocks when it returns.
 */
static inline int rmc_block_operation(struct rmc_blocks *blocks, int (*op)(void *s, void *arg),
				      void *s, void *arg)
{
	unsigned int restarts = 0;
	int err;

	do {
		err = blocks->ops->begin(blocks, restarts++);
		if (!err)
			err = op(s, arg);
		else if (err == RMC_BLOCK_RESTART)
			err = -EAGAIN;
	} while (err == RMC_BLOCK_RESTART);
	return blocks->ops->end(blocks, err);
}

#endif /* RMC_LIB_DS_BLOCK_H */
