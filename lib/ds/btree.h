/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The B-tree of <rmc/ds.h>, over an accessor of blocks (block.h) whose operations are atomic: each
 * block has keys with their values, also those that lead to others.
 *
 *	btree.c		lookups, changes of values, scans
 *	btree_write.c	insertions and deletions
 *
 *	level 1			| 40: v | 70: v |		root, a fixed block
 *			       /	|	 \
 *	level 0	  | 3: v | 17: v |   | 52: v |   | 71: v |
 *
 *	| kind | level | count | key, value | ... | child | ...
 *
 * So a key that moves up or down is in two blocks or in none until all are stored. Others that read
 * one block after another would miss it, whatever they check of a block; and a client that dies, or
 * a write that fails, would leave it like that. Hence ops->atomic: other accessors
 * have the B+tree.
 *
 * The root stays where it is: it grows into two new blocks, and takes the entries of its last two
 * children. Blocks but the root are at least half full. Who inserts splits full blocks on the way
 * if the leaf is full; who deletes fills blocks on the way that have no entry to spare, from a
 * neighbour or by a merge with it. After each split, move or merge the tree is whole, and the way
 * begins again. An entry of an inner block that is deleted is replaced by the last one on its left,
 * or the first one on its right, which is in a leaf.
 */
#ifndef RMC_LIB_DS_BTREE_H
#define RMC_LIB_DS_BTREE_H

#include <rmc/ds.h>
#include "block.h"

#define BTREE_LEVELS		20
#define BTREE_SCAN_LEAVES	8		/* of one scan */
#define BTREE_STEPS		(4 * BTREE_LEVELS)	/* of an operation: splits, moves, merges */

struct btree_head {
	uint16_t kind;
	uint8_t level;			/* 0: a leaf */
	uint8_t zero;
	uint32_t count;			/* entries; an inner block has a child more */
};

_Static_assert(sizeof(struct btree_head) == 8, "entries are aligned");
_Static_assert(RMC_BTREE_BYTES_MIN == sizeof(struct btree_head) + 3 * sizeof(struct rmc_pair) +
	       4 * sizeof(uint64_t), "halves of a full block have an entry");

struct rmc_btree {
	struct rmc_blocks *blocks;
	uint32_t leaf, inner;		/* entries of a block */
};

/* A block that is held, and its head; where a search has come to in it */
struct node {
	struct rmc_block_hold h;
	struct btree_head d;
	uint32_t i;			/* first entry whose key is not below the key */
	struct rmc_pair e;		/* this entry, if there is one */
	bool found;			/* it has the key */
};

static inline uint32_t btree_capacity(const struct rmc_btree *t, const struct node *n)
{
	return n->d.level ? t->inner : t->leaf;
}

static inline bool btree_is_full(const struct rmc_btree *t, const struct node *n)
{
	return n->d.count == btree_capacity(t, n);
}

/* Can it do without an entry, and still be half full? */
static inline bool btree_can_spare(const struct rmc_btree *t, const struct node *n)
{
	return n->d.count > (btree_capacity(t, n) - 1) / 2;
}

static inline uint64_t btree_root_at(const struct rmc_btree *t)
{
	return t->blocks->ops->fixed_at(t->blocks, 0);
}

static inline int btree_leave(struct rmc_btree *t, struct node *n)
{
	return t->blocks->ops->leave(t->blocks, &n->h);
}

static inline void btree_cancel(struct rmc_btree *t, struct node *n)
{
	t->blocks->ops->cancel(t->blocks, &n->h);
}

static inline int btree_upgrade(struct rmc_btree *t, struct node *n)
{
	return t->blocks->ops->upgrade(t->blocks, &n->h);
}

/* level < 0: the root */
static inline int btree_load(struct rmc_btree *t, uint64_t at, int level, struct node *n)
{
	int err;

	memset(n, 0, sizeof(*n));
	err = rmc_block_load(t->blocks, at, RMC_BLOCK_READ, &n->h, &n->d, sizeof(n->d));
	if (err)
		return err;
	if (level < 0 && !n->d.kind)
		n->d = (struct btree_head){ .kind = RMC_BLOCK_BTREE };
	if (n->d.kind != RMC_BLOCK_BTREE || n->d.level >= BTREE_LEVELS ||
	    n->d.count > btree_capacity(t, n) || (n->d.level && !n->d.count) ||
	    (level >= 0 && n->d.level != level))
		return rmc_block_fail(t->blocks, &n->h, -EPROTO);
	return 0;
}

static inline size_t btree_entry_offset(uint32_t i)
{
	return sizeof(struct btree_head) + i * sizeof(struct rmc_pair);
}

static inline size_t btree_child_offset(const struct rmc_btree *t, uint32_t i)
{
	return btree_entry_offset(t->inner) + i * sizeof(uint64_t);
}

static inline int btree_get_entry(struct rmc_btree *t, struct node *n, uint32_t i,
				  struct rmc_pair *e)
{
	return rmc_block_copy(t->blocks, &n->h, btree_entry_offset(i), e, sizeof(*e));
}

static inline int btree_set_entry(struct rmc_btree *t, struct node *n, uint32_t i,
				  struct rmc_pair e)
{
	return rmc_block_write(t->blocks, &n->h, btree_entry_offset(i), &e, sizeof(e));
}

static inline int btree_set_child(struct rmc_btree *t, struct node *n, uint32_t i, uint64_t at)
{
	return rmc_block_write(t->blocks, &n->h, btree_child_offset(t, i), &at, sizeof(at));
}

static inline int btree_get_child(struct rmc_btree *t, struct node *n, uint32_t i, uint64_t *at)
{
	return rmc_block_copy(t->blocks, &n->h, btree_child_offset(t, i), at, sizeof(*at));
}

static inline int btree_load_child(struct rmc_btree *t, struct node *n, uint32_t i,
				   struct node *child)
{
	uint64_t at;
	int err = btree_get_child(t, n, i, &at);

	return err ? err : btree_load(t, at, n->d.level - 1, child);
}

static inline int btree_save(struct rmc_btree *t, struct node *n)
{
	return rmc_block_write(t->blocks, &n->h, 0, &n->d, sizeof(n->d));
}

static inline int btree_move(struct rmc_btree *t, struct node *from, size_t offset, size_t len,
			     struct node *to, size_t to_offset)
{
	const void *data;
	int err;

	if (!len)
		return 0;
	err = rmc_block_read(t->blocks, &from->h, offset, len, &data);
	return err ? err : rmc_block_write(t->blocks, &to->h, to_offset, data, len);
}

/* Entries from i on, with the children on both sides of them, to entry k on, or another block's */
static inline int btree_move_rest(struct rmc_btree *t, struct node *from, uint32_t i,
				  struct node *to, uint32_t k)
{
	size_t n = from->d.count - i;
	int err = btree_move(t, from, btree_entry_offset(i), n * sizeof(struct rmc_pair), to,
			     btree_entry_offset(k));

	if (err || !from->d.level)
		return err;
	return btree_move(t, from, btree_child_offset(t, i), (n + 1) * sizeof(uint64_t), to,
			  btree_child_offset(t, k));
}

/* btree.c: n->i, n->e, n->found */
int rmc_btree_seek(struct rmc_btree *t, struct node *n, uint64_t key);

/*
 * btree_write.c: the key is not in the tree, and belongs in this leaf; or is in it, and leaves it.
 * Nothing is held then, whatever the result.
 */
int rmc_btree_add(struct rmc_btree *t, struct node *leaf, struct rmc_pair e);
int rmc_btree_take(struct rmc_btree *t, uint64_t key);

#endif /* RMC_LIB_DS_BTREE_H */
