/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The B-tree: insertions and deletions. btree.h shows it. */
#include "btree.h"

/* --- entries of a block that is held for WRITE --- */

/* Entry i, with the child on its right */
static int insert_entry(struct rmc_btree *t, struct node *n, uint32_t i, struct rmc_pair e,
			uint64_t right)
{
	int err = btree_move_rest(t, n, i, n, i + 1);

	if (!err)
		err = btree_set_entry(t, n, i, e);
	/* the one on its left is still there */
	if (!err && n->d.level)
		err = btree_set_child(t, n, i + 1, right);
	n->d.count++;
	return err ? err : btree_save(t, n);
}

/* Entry i, with the child on its right */
static int remove_entry(struct rmc_btree *t, struct node *n, uint32_t i)
{
	uint64_t left = 0;
	int err = 0;

	if (n->d.level)
		err = btree_get_child(t, n, i, &left);
	if (!err)
		err = btree_move_rest(t, n, i + 1, n, i);
	if (!err && n->d.level)
		err = btree_set_child(t, n, i, left);
	n->d.count--;
	return err ? err : btree_save(t, n);
}

/* --- insertions --- */

/* A new block for the entries of another one from i on, which stay there */
static int new_block(struct rmc_btree *t, struct node *from, uint32_t i, struct node *fresh)
{
	int err;

	memset(fresh, 0, sizeof(*fresh));
	err = t->blocks->ops->alloc(t->blocks, from->h.at, &fresh->h);
	if (err)
		return err;
	fresh->d = from->d;
	fresh->d.count = from->d.count - i;
	err = btree_move_rest(t, from, i, fresh, 0);
	return err ? err : btree_save(t, fresh);
}

/* The root's entries move to two new blocks, but for the one in the middle. */
static int grow(struct rmc_btree *t, struct node *root)
{
	uint32_t half = root->d.count / 2;
	struct node left = { .h = { 0 } }, right = { .h = { 0 } };
	struct rmc_pair middle = { 0, 0 };
	int err;

	if (root->d.level == BTREE_LEVELS - 1)
		return -ENOSPC;
	err = btree_get_entry(t, root, half, &middle);
	if (!err)
		err = new_block(t, root, half + 1, &right);
	root->d.count = half;
	if (!err)
		err = new_block(t, root, 0, &left);
	if (!err)
		err = btree_upgrade(t, root);
	root->d.level++;
	root->d.count = 1;
	if (!err)
		err = btree_set_entry(t, root, 0, middle);
	if (!err)
		err = btree_set_child(t, root, 0, left.h.at);
	if (!err)
		err = btree_set_child(t, root, 1, right.h.at);
	if (!err)
		err = btree_save(t, root);
	if (!err)
		err = btree_leave(t, &right);
	if (!err)
		err = btree_leave(t, &left);
	if (!err)
		err = btree_leave(t, root);
	btree_cancel(t, &left);
	btree_cancel(t, &right);
	return err;
}

/* Child i, which is full; its parent is not */
static int split(struct rmc_btree *t, struct node *parent, struct node *child)
{
	uint32_t half = child->d.count / 2;
	struct node right = { .h = { 0 } };
	struct rmc_pair middle = { 0, 0 };
	int err = btree_get_entry(t, child, half, &middle);

	if (!err)
		err = new_block(t, child, half + 1, &right);
	if (!err)
		err = btree_upgrade(t, parent);
	if (!err)
		err = btree_upgrade(t, child);
	child->d.count = half;
	if (!err)
		err = btree_save(t, child);
	if (!err)
		err = insert_entry(t, parent, parent->i, middle, right.h.at);
	if (!err)
		err = btree_leave(t, &right);
	if (!err)
		err = btree_leave(t, child);
	if (!err)
		err = btree_leave(t, parent);
	btree_cancel(t, &right);
	return err;
}

/* 1: a block was split; 0: inserted; or a status. Nothing is held. */
static int insert_once(struct rmc_btree *t, struct rmc_pair e)
{
	struct node at, child = { .h = { 0 } };
	int err = btree_load(t, btree_root_at(t), -1, &at);
	bool more = false;

	if (err)
		return err;
	if (btree_is_full(t, &at)) {
		err = grow(t, &at);
		more = true;
	}
	while (!err && !more) {
		err = rmc_btree_seek(t, &at, e.key);
		if (err || !at.d.level)
			break;
		err = btree_load_child(t, &at, at.i, &child);
		if (!err && btree_is_full(t, &child)) {
			err = split(t, &at, &child);
			more = true;
		} else if (!err) {
			btree_cancel(t, &at);
			at = child;
			memset(&child, 0, sizeof(child));
		}
	}
	if (!err && !more)
		err = btree_upgrade(t, &at);
	if (!err && !more)
		err = insert_entry(t, &at, at.i, e, 0);
	if (!err && !more)
		err = btree_leave(t, &at);
	btree_cancel(t, &child);
	btree_cancel(t, &at);
	return err ? err : more;
}

/* --- deletions --- */

/* The entry between two children moves down to one of them; one of the other's takes its place. */
static int borrow(struct rmc_btree *t, struct node *parent, uint32_t i, struct node *left,
		  struct node *right, bool from_left)
{
	struct node *from = from_left ? left : right, *to = from_left ? right : left;
	uint32_t last = from->d.count - 1;
	struct rmc_pair middle = { 0, 0 }, e = { 0, 0 };
	uint64_t moved = 0, next = 0;
	int err = btree_get_entry(t, parent, i, &middle);

	if (!err)
		err = btree_get_entry(t, from, from_left ? last : 0, &e);
	if (!err && from->d.level)
		err = btree_get_child(t, from, from_left ? last + 1 : 0, &moved);
	if (!err && from->d.level)
		err = btree_get_child(t, from, 1, &next);
	if (!err)
		err = btree_upgrade(t, parent);
	if (!err)
		err = btree_upgrade(t, left);
	if (!err)
		err = btree_upgrade(t, right);
	if (!err)
		err = remove_entry(t, from, from_left ? last : 0);
	/* its first child has gone, not the one behind the entry */
	if (!err && from->d.level && !from_left)
		err = btree_set_child(t, from, 0, next);
	if (!err)
		err = btree_set_entry(t, parent, i, e);
	if (!err && !from_left)
		return insert_entry(t, to, to->d.count, middle, moved);
	if (!err && to->d.level)
		err = btree_get_child(t, to, 0, &next);
	if (!err)
		err = insert_entry(t, to, 0, middle, next);
	if (!err && to->d.level)
		err = btree_set_child(t, to, 0, moved);
	return err;
}

/*
 * Two children that cannot spare an entry, and the one between them, become the left one; or the
 * root, if that has no other entry. What is no longer used is retired.
 */
static int merge(struct rmc_btree *t, struct node *parent, uint32_t i, struct node *left,
		 struct node *right)
{
	bool to_root = parent->h.at == btree_root_at(t) && parent->d.count == 1;
	struct node *to = to_root ? parent : left;
	uint32_t n = left->d.count;
	struct rmc_pair middle = { 0, 0 };
	int err = btree_get_entry(t, parent, i, &middle);

	if (!err)
		err = btree_upgrade(t, parent);
	if (!err)
		err = btree_upgrade(t, left);
	if (!err)
		err = btree_upgrade(t, right);
	if (!err)
		err = to_root ? btree_move_rest(t, left, 0, to, 0) : remove_entry(t, parent, i);
	to->d.level = left->d.level;
	if (!err)
		err = btree_set_entry(t, to, n, middle);
	if (!err)
		err = btree_move_rest(t, right, 0, to, n + 1);
	to->d.count = n + 1 + right->d.count;
	if (!err)
		err = btree_save(t, to);
	if (!err)
		err = t->blocks->ops->retire(t->blocks, &right->h);
	if (!err && to_root)
		err = t->blocks->ops->retire(t->blocks, &left->h);
	return err;
}

static int leave_all(struct rmc_btree *t, struct node *a, struct node *b, struct node *c)
{
	int err = a->h.at ? btree_leave(t, a) : 0;

	if (!err && b->h.at)
		err = btree_leave(t, b);
	if (!err && c->h.at)
		err = btree_leave(t, c);
	return err;
}

/* Child i of a block has no entry to spare: it gets one of a neighbour, or is merged with one. */
static int fill(struct rmc_btree *t, struct node *parent, uint32_t i, struct node *child)
{
	struct node left = { .h = { 0 } }, right = { .h = { 0 } };
	int err = i ? btree_load_child(t, parent, i - 1, &left) : 0;

	if (!err && left.h.at && btree_can_spare(t, &left)) {
		err = borrow(t, parent, i - 1, &left, child, true);
		goto out;
	}
	if (!err && i < parent->d.count)
		err = btree_load_child(t, parent, i + 1, &right);
	if (err)
		goto out;
	if (right.h.at && btree_can_spare(t, &right)) {
		btree_cancel(t, &left);
		err = borrow(t, parent, i, child, &right, false);
	} else if (right.h.at) {
		btree_cancel(t, &left);
		err = merge(t, parent, i, child, &right);
	} else {
		err = merge(t, parent, i - 1, &left, child);
	}
out:
	if (!err)
		err = leave_all(t, &left, child, &right);
	if (!err)
		err = btree_leave(t, parent);
	btree_cancel(t, &left);
	btree_cancel(t, &right);
	return err;
}

/* What a way down to an entry that leaves the tree holds */
struct removal {
	struct node found;		/* an inner block that has the key, if one has */
	struct node at, child;
	bool last;			/* found: the last entry of its left child replaces it */
};

/* w->found has the key: which child has an entry in its place; 1: neither could spare one */
static int choose(struct rmc_btree *t, struct removal *w)
{
	struct node right = { .h = { 0 } };
	int err = btree_load_child(t, &w->found, w->found.i, &w->child);

	w->last = true;
	if (err || btree_can_spare(t, &w->child))
		return err;
	err = btree_load_child(t, &w->found, w->found.i + 1, &right);
	if (!err && btree_can_spare(t, &right)) {
		btree_cancel(t, &w->child);
		w->child = right;
		w->last = false;
		return 0;
	}
	if (!err)
		err = merge(t, &w->found, w->found.i, &w->child, &right);
	if (!err)
		err = leave_all(t, &w->child, &right, &w->found);
	btree_cancel(t, &right);
	return err ? err : 1;
}

/*
 * The leaf is w->at, not empty if it is no root: the entry leaves it, and replaces the one of the
 * key, if that is above
 */
static int take_out(struct rmc_btree *t, struct removal *w)
{
	struct rmc_pair e;
	int err;

	if (w->found.h.at)
		w->at.i = w->last ? w->at.d.count - 1 : 0;
	else if (!w->at.found)
		return -ENOENT;
	err = btree_get_entry(t, &w->at, w->at.i, &e);
	if (!err)
		err = btree_upgrade(t, &w->at);
	if (!err)
		err = remove_entry(t, &w->at, w->at.i);
	if (!err && w->found.h.at)
		err = btree_upgrade(t, &w->found);
	if (!err && w->found.h.at)
		err = btree_set_entry(t, &w->found, w->found.i, e);
	if (!err && w->found.h.at)
		err = btree_leave(t, &w->found);
	return err ? err : btree_leave(t, &w->at);
}

/* To the child; 1: blocks have changed, so the way begins again */
static int remove_step(struct rmc_btree *t, uint64_t key, struct removal *w)
{
	int err = w->found.h.at ? 0 : rmc_btree_seek(t, &w->at, key);

	if (err)
		return err;
	if (w->found.h.at)
		w->at.i = w->last ? w->at.d.count : 0;
	else if (w->at.found) {
		w->found = w->at;
		memset(&w->at, 0, sizeof(w->at));
		err = choose(t, w);
		goto out;
	}
	err = btree_load_child(t, &w->at, w->at.i, &w->child);
	if (!err && !btree_can_spare(t, &w->child)) {
		err = fill(t, &w->at, w->at.i, &w->child);
		return err ? err : 1;
	}
	btree_cancel(t, &w->at);
out:
	if (!err) {
		w->at = w->child;
		memset(&w->child, 0, sizeof(w->child));
	}
	return err;
}

static int remove_once(struct rmc_btree *t, uint64_t key)
{
	struct removal w;
	int err;

	memset(&w, 0, sizeof(w));
	err = btree_load(t, btree_root_at(t), -1, &w.at);
	while (!err && w.at.d.level)
		err = remove_step(t, key, &w);
	if (!err && !w.found.h.at)
		err = rmc_btree_seek(t, &w.at, key);
	if (!err)
		err = take_out(t, &w);
	btree_cancel(t, &w.child);
	btree_cancel(t, &w.at);
	btree_cancel(t, &w.found);
	return err;
}

/* Full blocks are in nobody's way if the leaf has room. */
int rmc_btree_add(struct rmc_btree *t, struct node *leaf, struct rmc_pair e)
{
	unsigned int i;
	int err;

	if (!btree_is_full(t, leaf)) {
		err = btree_upgrade(t, leaf);
		if (!err)
			err = insert_entry(t, leaf, leaf->i, e, 0);
		if (!err)
			err = btree_leave(t, leaf);
		return rmc_block_fail(t->blocks, &leaf->h, err);
	}
	btree_cancel(t, leaf);
	for (i = 0, err = 1; i < BTREE_STEPS && err == 1; i++)
		err = insert_once(t, e);
	return err == 1 ? RMC_BLOCK_RESTART : err;
}

int rmc_btree_take(struct rmc_btree *t, uint64_t key)
{
	unsigned int i;
	int err;

	for (i = 0, err = 1; i < BTREE_STEPS && err == 1; i++)
		err = remove_once(t, key);
	return err == 1 ? RMC_BLOCK_RESTART : err;
}
