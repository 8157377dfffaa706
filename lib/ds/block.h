/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures of blocks that many write, and their accessors: see <rmc/ds.h> and
 * Documentation/structures.rst.
 *
 *	table.c	hash table	\		 / lib/blocks/		one-sided operations
 *	tree.c	B+tree		 > this file <	   local_blocks.h	memory of a test
 *	map.c	red-black tree	/		 \ others	latches, transactions
 *
 * access.h is simpler: words and objects of which one writer at a time changes several.
 *
 * Units. A block is a->bytes of data at an address: node id << 48 | offset. 0 is no address. All
 * blocks of an accessor have the same length. Its first 16 bits are its kind: 0 in a fixed block
 * that was never written, RMC_BLOCK_FREE in one that is not in use, otherwise the structure's.
 *
 * Holds. A structure enters a block, and has left it before its operation ends. The data is one
 * state of the block, though perhaps no longer the newest. An accessor has at least RMC_BLOCK_HOLDS
 * holds.
 *
 *	       enter(READ)	  upgrade()
 *	  at ------------> READ ------------> WRITE ---- leave(): what was written is the new state
 *	   \		    |  '- leave(),	|  `---- retire(): the block is free, after grace
 *	    \		    |	  cancel()	'------- cancel(): nothing has changed
 *	     '- enter(LATCH), enter(WRITE), alloc() enter at once what they name
 *
 * Restart. Each function that returns int may return RMC_BLOCK_RESTART, except leave() of a WRITE.
 * The structure cancels what it holds, calls begin() again with a count one higher, and executes
 * its operation again if that returns 0. Nothing else has to be undone: a structure is whole after
 * each leave() of a WRITE, or has all other changes ready by then and does nothing but leave. An
 * accessor that bounds restarts returns a status from begin(); a transaction, which has to be
 * restarted as a whole, returns its status from the first begin() with a count other than 0. Any
 * other status ends the operation and is its result; -ENOENT, -EEXIST, -EPROTO and -ELOOP are the
 * structures' own. After a failed leave() the hold has ended, and the block may or may not have its
 * new state.
 *
 * Waiting. enter(), upgrade() and leave() may wait, and run other work of their thread meanwhile;
 * none of them sleeps while it has a latch longer than its operations take. An accessor that waits
 * for a latch gives up with RMC_BLOCK_RESTART after a bounded time, so a cycle of waiting
 * structures ends. To need this seldom, structures enter LATCH and WRITE downwards and then to the
 * right.
 *
 * Bounded walks. Blocks are what another node's writer has stored: a structure checks kind, level
 * and counts in the data it holds before it uses them, and follows a bounded number of links. A
 * block of kind RMC_BLOCK_FREE, or of another place in the structure, may be a late visitor's: it
 * is reused after grace. So these restart; what no visitor can see is -EPROTO.
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
	RMC_BLOCK_LATCH,		/* nobody writes until leave(); may be a WRITE */
	RMC_BLOCK_WRITE,		/* only this hold sees what is written, until leave() */
};

enum rmc_block_kind {
	RMC_BLOCK_FREE = 1,
	RMC_BLOCK_BUCKET = 0x6b62,
	RMC_BLOCK_TREE = 0x7274,
	RMC_BLOCK_MAP = 0x706d,
	RMC_BLOCK_MAP_HEAD = 0x686d,
};

/* Zeroed: not in use */
struct rmc_block_hold {
	uint64_t at;		/* 0: holds nothing */
	uint8_t *data;		/* all of the block, or NULL: read() and write() only */
	uint64_t word, latch;	/* the accessor's, these and the following */
	int buffer;
	bool dirty, fresh;
	enum rmc_block_mode mode;
};

struct rmc_blocks {
	const struct rmc_block_ops *ops;
	size_t bytes;		/* of a block's data */
	uint64_t fixed;		/* blocks that are in use from the beginning; zero then */
};

struct rmc_block_ops {
	/*
	 * An operation begins, or is restarted for the so-manyth time: 0, or the operation's result
	 */
	int (*begin)(struct rmc_blocks *a, unsigned int restarts);
	/* Address of a fixed block: 0 .. a->fixed - 1 */
	uint64_t (*fixed_at)(const struct rmc_blocks *a, uint64_t n);

	int (*enter)(struct rmc_blocks *a, uint64_t at, enum rmc_block_mode mode,
		     struct rmc_block_hold *h);
	/* Nobody has written the block since it was entered */
	int (*valid)(struct rmc_blocks *a, struct rmc_block_hold *h);
	/* From READ to WRITE, if nobody has written the block since it was entered */
	int (*upgrade)(struct rmc_blocks *a, struct rmc_block_hold *h);
	int (*leave)(struct rmc_blocks *a, struct rmc_block_hold *h);
	/* h may hold nothing */
	void (*cancel)(struct rmc_blocks *a, struct rmc_block_hold *h);

	/* Of a part of the block; only while data is NULL: use the functions below */
	int (*read)(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset, size_t len,
		    const void **data);
	int (*write)(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset, const void *data,
		     size_t len);

	/*
	 * A block that was not in use, of zeros, held in mode WRITE; if possible at the node id of
	 * address near, or anywhere if that is 0. cancel() frees it again. -ENOSPC
	 */
	int (*alloc)(struct rmc_blocks *a, uint64_t near, struct rmc_block_hold *h);
	/*
	 * The block, held in mode WRITE, is no longer in use, and is allocated again after the time
	 * of grace, in which operations that have its address end. -EINVAL: it is not in use, or
	 * fixed; the hold stays.
	 */
	int (*retire)(struct rmc_blocks *a, struct rmc_block_hold *h);
};

/* Part of a block: in the hold's data, until the hold ends or the part is written */
static inline int rmc_block_read(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset,
				 size_t len, const void **data)
{
	if (!h->data)
		return a->ops->read(a, h, offset, len, data);
	*data = h->data + offset;
	return 0;
}

/* data may be a part of the block, and overlap */
static inline int rmc_block_write(struct rmc_blocks *a, struct rmc_block_hold *h, size_t offset,
				  const void *data, size_t len)
{
	if (!h->data)
		return a->ops->write(a, h, offset, data, len);
	memmove(h->data + offset, data, len);
	h->dirty = true;
	return 0;
}

/* Cancels the hold, for errors; the status */
static inline int rmc_block_fail(struct rmc_blocks *a, struct rmc_block_hold *h, int status)
{
	a->ops->cancel(a, h);
	return status;
}

/*
 * Executes op(s, arg) until it ends otherwise than by a restart: of all operations of structures.
 * op has left or cancelled all blocks when it returns.
 */
static inline int rmc_block_operation(struct rmc_blocks *a, int (*op)(void *s, void *arg), void *s,
				      void *arg)
{
	unsigned int restarts = 0;
	int err;

	do {
		err = a->ops->begin(a, restarts++);
		if (!err)
			err = op(s, arg);
		else if (err == RMC_BLOCK_RESTART)
			return -EAGAIN;
	} while (err == RMC_BLOCK_RESTART);
	return err;
}

#endif /* RMC_LIB_DS_BLOCK_H */
