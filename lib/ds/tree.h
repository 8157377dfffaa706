/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The B+tree of <rmc/ds.h>, over an accessor of blocks (block.h): a B-link tree, whose blocks name
 * the range of their keys and their right neighbour.
 *
 *	tree.c		the way down, lookups, scans
 *	tree_write.c	changes of leaves, splits
 *
 *	level 1			 | 0: A | 40: B | 70: C |	root, a fixed block
 *				  /	    |	     \
 *	level 0		| 3 17 35 | --> | 40 52 | --> | 70 71 |
 *			  A: 0 .. 40	  B: 40 .. 70	C: 70 ..
 *
 *	| kind | level | count | low | high | right | key, value or child | ...
 *
 * The root stays where it is: if it is full, its entries move to two new blocks. A split moves the
 * upper half of a block to a new one, which becomes its right neighbour. What is stored, in order:
 * the new block; the old one; their parent. A reader finds the moved keys at any time: in the old
 * block, or, as they are above its range, behind the link. Who goes down to insert splits full
 * blocks on the way, so a split changes one block and its parent, and latches no others. If a
 * status ended a split before the parent was stored, the next insertion that has to move to the
 * right there completes it.
 *
 * Coupling. RMC_TREE_LINK holds nothing by which it could be sure of the way: it moves to the right
 * after a split that it has not seen. The other two see none, as a split holds the parent until the
 * parent names both blocks; they move to the right only where a status has ended one half-way.
 *
 *	VERSION		read the parent, read the child, is the parent as it was?
 *	LATCH		latch the parent, latch the child, unlatch the parent's parent
 *
 * With LATCH readers, and writers down to the parent of a leaf, share latches where the accessor
 * has such; the leaf is entered to write. If a block is full, the writer begins again, and latches
 * all of its way to write. Latches are taken downwards, and then to the right: of two operations
 * the one further up waits, so none waits in a circle. Two latches are held on the way, three by a
 * split.
 *
 * Blocks never leave the tree, also empty ones, so low and level of a block never change.
 * Operations take effect when they read or store a leaf; scans, when they have read the last one:
 * if the others have not changed meanwhile.
 */
#ifndef RMC_LIB_DS_TREE_H
#define RMC_LIB_DS_TREE_H

#include <rmc/ds.h>
#include "block.h"

#define TREE_LEVELS		12
#define TREE_RIGHT_MAX	64		/* moves to the right on one level */
#define TREE_SCAN_LEAVES	8	/* of one scan */

struct tree_head {
	uint16_t kind;
	uint8_t level;			/* 0: a leaf */
	uint8_t zero;
	uint32_t count;
	uint64_t low, high;		/* keys k with low <= k < high */
	uint64_t right;			/* the block that begins with high; 0: none */
};

_Static_assert(sizeof(struct tree_head) == 32, "entries are aligned");
_Static_assert(RMC_TREE_BYTES_MIN == sizeof(struct tree_head) + 5 * sizeof(struct rmc_pair),
	       "halves of a full block have room");
_Static_assert(TREE_SCAN_LEAVES + 3 <= RMC_BLOCK_HOLDS, "with a parent and what comes next");

/* A block that is held, and a copy of its head */
struct spot {
	struct rmc_block_hold h;
	struct tree_head d;
};

struct rmc_tree {
	struct rmc_blocks *blocks;
	enum rmc_tree_coupling coupling;
	uint32_t capacity;		/* entries of a block */
	uint64_t moves;			/* to the right, on the way down */
};

/* The block at the end of the way so far, and the one above it; the latter may hold nothing */
struct path {
	struct spot parent, at;
};

enum tree_use { TREE_READ, TREE_CHANGE, TREE_INSERT };

static inline size_t tree_offset(uint32_t i)
{
	return sizeof(struct tree_head) + i * sizeof(struct rmc_pair);
}

static inline void tree_drop(struct rmc_tree *t, struct path *p)
{
	t->blocks->ops->cancel(t->blocks, &p->at.h);
	t->blocks->ops->cancel(t->blocks, &p->parent.h);
}

/*
 * tree.c: the leaf of a key is p->at, and has room if use is TREE_INSERT; otherwise nothing is
 * held.
 */
int rmc_tree_down(struct rmc_tree *t, uint64_t key, enum tree_use use, struct path *p);
/* First entry of the block whose key is not below this one */
int rmc_tree_bound(struct rmc_tree *t, struct spot *s, uint64_t key, uint32_t *i);
int rmc_tree_entry(struct rmc_tree *t, struct spot *s, uint32_t i, struct rmc_pair *e);

/* tree_write.c: p->at is full. 0: it was split, and nothing is held; or a status, likewise */
int rmc_tree_split(struct rmc_tree *t, struct path *p);
/* p->at is not yet in its parent, which has room: now it is; results as those of a split */
int rmc_tree_post(struct rmc_tree *t, struct path *p);

#endif /* RMC_LIB_DS_TREE_H */
