/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The B+tree: changes of leaves, and splits. tree.h shows their order. */
#include "tree.h"

/* --- parts of a block that is held for WRITE --- */

static int write_head(struct rmc_tree *t, struct spot *s)
{
	return rmc_block_write(t->blocks, &s->h, 0, &s->d, sizeof(s->d));
}

static int write_entry(struct rmc_tree *t, struct spot *s, uint32_t i, struct rmc_pair e)
{
	return rmc_block_write(t->blocks, &s->h, tree_offset(i), &e, sizeof(e));
}

/* Entries from .. count - 1 of a block to its entries from to on, or another block's */
static int move(struct rmc_tree *t, struct spot *s, uint32_t from, struct spot *other, uint32_t to)
{
	size_t len = (s->d.count - from) * sizeof(struct rmc_pair);
	const void *data;
	int err;

	if (!len)
		return 0;
	err = rmc_block_read(t->blocks, &s->h, tree_offset(from), len, &data);
	if (!err)
		err = rmc_block_write(t->blocks, &other->h, tree_offset(to), data, len);
	return err;
}

static int insert_entry(struct rmc_tree *t, struct spot *s, uint32_t i, struct rmc_pair e)
{
	int err = move(t, s, i, s, i + 1);

	if (!err)
		err = write_entry(t, s, i, e);
	s->d.count++;
	return err ? err : write_head(t, s);
}

static int remove_entry(struct rmc_tree *t, struct spot *s, uint32_t i)
{
	int err = move(t, s, i + 1, s, i);

	s->d.count--;
	return err ? err : write_head(t, s);
}

/* --- splits --- */

/* A new block for the entries from i on, in the range from low on */
static int new_block(struct rmc_tree *t, struct spot *from, uint32_t i, uint64_t low,
		     struct spot *fresh)
{
	int err = t->blocks->ops->alloc(t->blocks, 0, &fresh->h);

	if (err)
		return err;
	fresh->d = from->d;
	fresh->d.low = low;
	err = move(t, from, i, fresh, 0);
	fresh->d.count = from->d.count - i;
	return err ? err : write_head(t, fresh);
}

static int leave(struct rmc_tree *t, struct spot *s)
{
	return t->blocks->ops->leave(t->blocks, &s->h);
}

/* The root's entries move to two new blocks. */
static int grow(struct rmc_tree *t, struct spot *root, struct rmc_pair middle)
{
	struct spot left = { .h = { 0 } }, right = { .h = { 0 } };
	uint32_t half = root->d.count / 2;
	int err;

	if (root->d.level == TREE_LEVELS - 1)
		return -ENOSPC;
	err = new_block(t, root, half, middle.key, &right);
	root->d.count = half;
	root->d.high = middle.key;
	root->d.right = right.h.at;
	if (!err)
		err = new_block(t, root, 0, root->d.low, &left);
	root->d.level++;
	root->d.count = 2;
	root->d.high = RMC_TREE_KEY_NONE;
	root->d.right = 0;
	if (!err)
		err = write_entry(t, root, 0, (struct rmc_pair){ root->d.low, left.h.at });
	if (!err)
		err = write_entry(t, root, 1, (struct rmc_pair){ middle.key, right.h.at });
	if (!err)
		err = write_head(t, root);
	/* the new blocks before the links to them */
	if (!err)
		err = leave(t, &right);
	if (!err)
		err = leave(t, &left);
	if (!err)
		err = leave(t, root);
	t->blocks->ops->cancel(t->blocks, &left.h);
	t->blocks->ops->cancel(t->blocks, &right.h);
	return err;
}

static int split(struct rmc_tree *t, struct path *p, struct rmc_pair middle)
{
	struct spot right = { .h = { 0 } }, *at = &p->at;
	uint32_t half = at->d.count / 2, i;
	uint64_t right_at = 0;
	int err;

	err = rmc_tree_bound(t, &p->parent, middle.key, &i);
	if (!err)
		err = new_block(t, at, half, middle.key, &right);
	at->d.count = half;
	at->d.high = middle.key;
	at->d.right = right_at = right.h.at;
	if (!err)
		err = write_head(t, at);
	if (!err)
		err = insert_entry(t, &p->parent, i, (struct rmc_pair){ middle.key, right_at });
	/* the new block before the link to it, which is enough to find it; then the short way */
	if (!err)
		err = leave(t, &right);
	if (!err)
		err = leave(t, at);
	if (!err)
		err = leave(t, &p->parent);
	t->blocks->ops->cancel(t->blocks, &right.h);
	return err;
}

int rmc_tree_split(struct rmc_tree *t, struct path *p)
{
	struct rmc_pair middle = { 0, 0 };
	int err = 0;

	/* downwards; both are as they were read, so the parent has room */
	if (p->parent.h.at)
		err = t->blocks->ops->upgrade(t->blocks, &p->parent.h);
	if (!err)
		err = t->blocks->ops->upgrade(t->blocks, &p->at.h);
	if (!err)
		err = rmc_tree_entry(t, &p->at, p->at.d.count / 2, &middle);
	if (!err && (middle.key <= p->at.d.low || middle.key >= p->at.d.high))
		err = -EPROTO;
	if (!err)
		err = p->parent.h.at ? split(t, p, middle) : grow(t, &p->at, middle);
	tree_drop(t, p);
	return err;
}

int rmc_tree_post(struct rmc_tree *t, struct path *p)
{
	int err = t->blocks->ops->upgrade(t->blocks, &p->parent.h);
	uint32_t i;

	if (!err && (p->at.d.low <= p->parent.d.low || p->at.d.low >= p->parent.d.high))
		err = -EPROTO;
	/* whoever splits holds the parent until it has the entry: nobody does it now */
	if (!err)
		err = rmc_tree_bound(t, &p->parent, p->at.d.low, &i);
	if (!err)
		err = insert_entry(t, &p->parent, i, (struct rmc_pair){ p->at.d.low, p->at.h.at });
	if (!err)
		err = leave(t, &p->parent);
	tree_drop(t, p);
	return err;
}

/* --- leaves --- */

enum what { PUT, INSERT, UPDATE, DELETE };

struct request {
	enum what what;
	uint64_t key, value;
};

static int change(struct rmc_tree *t, struct spot *leaf, const struct request *q, uint32_t i,
		  bool found)
{
	struct rmc_pair e = { q->key, q->value };
	int err = t->blocks->ops->upgrade(t->blocks, &leaf->h);

	if (err)
		return err;
	if (q->what == DELETE)
		err = remove_entry(t, leaf, i);
	else if (found)
		err = write_entry(t, leaf, i, e);
	else
		err = insert_entry(t, leaf, i, e);
	return err ? err : leave(t, leaf);
}

static int execute(void *tree, void *arg)
{
	struct rmc_tree *t = (struct rmc_tree *)tree;
	struct request *q = (struct request *)arg;
	bool inserts = q->what == PUT || q->what == INSERT, found;
	struct rmc_pair e = { 0, 0 };
	struct path p;
	uint32_t i;
	int err = rmc_tree_down(t, q->key, inserts ? TREE_INSERT : TREE_CHANGE, &p);

	/* nothing can be split: enough, if the key is there, or its leaf has room */
	if (err == -ENOSPC)
		err = rmc_tree_down(t, q->key, TREE_CHANGE, &p);
	if (err)
		return err;
	err = rmc_tree_bound(t, &p.at, q->key, &i);
	if (!err && i < p.at.d.count)
		err = rmc_tree_entry(t, &p.at, i, &e);
	if (err)
		return rmc_block_fail(t->blocks, &p.at.h, err);
	found = i < p.at.d.count && e.key == q->key;
	if (found ? q->what == INSERT : !inserts) {
		err = leave(t, &p.at);
		return err ? err : found ? -EEXIST : -ENOENT;
	}
	if (!found && p.at.d.count == t->capacity)
		return rmc_block_fail(t->blocks, &p.at.h, -ENOSPC);
	return rmc_block_fail(t->blocks, &p.at.h, change(t, &p.at, q, i, found));
}

static int request(struct rmc_tree *t, enum what what, uint64_t key, uint64_t value)
{
	struct request q = { what, key, value };

	return key == RMC_TREE_KEY_NONE ? -EINVAL : rmc_block_operation(t->blocks, execute, t, &q);
}

int rmc_tree_put(struct rmc_tree *t, uint64_t key, uint64_t value)
{
	return request(t, PUT, key, value);
}

int rmc_tree_insert(struct rmc_tree *t, uint64_t key, uint64_t value)
{
	return request(t, INSERT, key, value);
}

int rmc_tree_update(struct rmc_tree *t, uint64_t key, uint64_t value)
{
	return request(t, UPDATE, key, value);
}

int rmc_tree_delete(struct rmc_tree *t, uint64_t key)
{
	return request(t, DELETE, key, 0);
}
