/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The B-tree: lookups, changes of values, scans. btree.h shows it. */
#include <stdlib.h>
#include "btree.h"

/* --- searches --- */

int rmc_btree_seek(struct rmc_btree *t, struct node *n, uint64_t key)
{
	uint32_t end = n->d.count, mid;
	struct rmc_pair e;
	int err;

	n->found = false;
	for (n->i = 0; n->i < end; ) {
		mid = n->i + (end - n->i) / 2;
		err = btree_get_entry(t, n, mid, &e);
		if (err)
			return err;
		if (e.key < key) {
			n->i = mid + 1;
			continue;
		}
		end = mid;
		n->e = e;
		n->found = e.key == key;
	}
	return 0;
}

/*
 * The block that has the key, or the leaf where it would be; nothing is held after a status.
 * *above: the least entry that is above the key in blocks over that one, if there is one
 */
static int find(struct rmc_btree *t, uint64_t key, struct node *n, struct rmc_pair *above)
{
	struct node child;
	int err = btree_load(t, btree_root_at(t), -1, n);

	if (err)
		return err;
	for (;;) {
		err = rmc_btree_seek(t, n, key);
		if (err || n->found || !n->d.level)
			break;
		if (n->i < n->d.count)
			*above = n->e;
		err = btree_load_child(t, n, n->i, &child);
		if (err)
			break;
		btree_cancel(t, n);
		*n = child;
	}
	return err ? rmc_block_fail(t->blocks, &n->h, err) : 0;
}

/* --- operations --- */

enum what { GET, PUT, INSERT, UPDATE, DELETE };

struct request {
	enum what what;
	uint64_t key, value;
};

static int execute(void *btree, void *arg)
{
	struct rmc_btree *t = (struct rmc_btree *)btree;
	struct request *q = (struct request *)arg;
	struct rmc_pair above;
	struct node n;
	int err = find(t, q->key, &n, &above);

	if (err)
		return err;
	if (!n.found && (q->what == PUT || q->what == INSERT))
		return rmc_btree_add(t, &n, (struct rmc_pair){ q->key, q->value });
	if (n.found && q->what == DELETE) {
		btree_cancel(t, &n);
		return rmc_btree_take(t, q->key);
	}
	if (n.found && (q->what == PUT || q->what == UPDATE)) {
		err = btree_upgrade(t, &n);
		if (!err)
			err = btree_set_entry(t, &n, n.i, (struct rmc_pair){ q->key, q->value });
	} else if (n.found) {
		err = q->what == INSERT ? -EEXIST : 0;
		q->value = n.e.value;
	} else {
		err = -ENOENT;
	}
	if (!err || err == -EEXIST || err == -ENOENT) {
		int late = btree_leave(t, &n);

		err = late ? late : err;
	}
	return rmc_block_fail(t->blocks, &n.h, err);
}

static int request(struct rmc_btree *t, enum what what, uint64_t key, uint64_t *value)
{
	struct request q = { what, key, *value };
	int err = key == RMC_TREE_KEY_NONE ? -EINVAL :
		  rmc_block_operation(t->blocks, execute, t, &q);

	if (what == GET)
		*value = err ? 0 : q.value;
	return err;
}

int rmc_btree_get(struct rmc_btree *t, uint64_t key, uint64_t *value)
{
	*value = 0;
	return request(t, GET, key, value);
}

int rmc_btree_put(struct rmc_btree *t, uint64_t key, uint64_t value)
{
	return request(t, PUT, key, &value);
}

int rmc_btree_insert(struct rmc_btree *t, uint64_t key, uint64_t value)
{
	return request(t, INSERT, key, &value);
}

int rmc_btree_update(struct rmc_btree *t, uint64_t key, uint64_t value)
{
	return request(t, UPDATE, key, &value);
}

int rmc_btree_delete(struct rmc_btree *t, uint64_t key)
{
	uint64_t none = 0;

	return request(t, DELETE, key, &none);
}

/* --- scans --- */

struct scan {
	uint64_t from, to;
	struct rmc_pair *pairs;
	size_t max, found;
	uint64_t next;			/* where this attempt is */
	bool ended;
};

/* The next pair, if it is in the range, and there is room */
static int add_pair(struct scan *s, struct rmc_pair e)
{
	if (e.key < s->next || e.key == RMC_TREE_KEY_NONE)
		return -EPROTO;
	s->ended = e.key > s->to || s->found == s->max;
	s->next = e.key > s->to ? RMC_TREE_KEY_NONE : e.key;
	if (s->ended)
		return 0;
	s->pairs[s->found++] = e;
	s->next = e.key + 1;
	return 0;
}

/* From a key on: an entry of an inner block; or the rest of a leaf, and the one above that */
static int scan_leaf(struct rmc_btree *t, struct scan *s)
{
	struct rmc_pair above = { RMC_TREE_KEY_NONE, 0 }, e;
	struct node n;
	int err = find(t, s->next, &n, &above);
	bool has_above;
	uint32_t i;

	if (err)
		return err;
	has_above = above.key != RMC_TREE_KEY_NONE;
	if (n.found && n.d.level) {
		err = add_pair(s, n.e);
	} else {
		for (i = n.i; !err && !s->ended && i < n.d.count; i++) {
			err = btree_get_entry(t, &n, i, &e);
			if (!err)
				err = add_pair(s, e);
		}
		if (!err && !s->ended && has_above)
			err = add_pair(s, above);
		if (!err && !s->ended && !has_above) {
			s->ended = true;
			s->next = RMC_TREE_KEY_NONE;
		}
	}
	if (!err)
		err = btree_leave(t, &n);
	return rmc_block_fail(t->blocks, &n.h, err);
}

static int scan(void *btree, void *arg)
{
	struct rmc_btree *t = (struct rmc_btree *)btree;
	struct scan *s = (struct scan *)arg;
	unsigned int i;
	int err = 0;

	s->found = 0;
	s->next = s->from;
	s->ended = false;
	for (i = 0; i < BTREE_SCAN_LEAVES && !err && !s->ended; i++) {
		err = scan_leaf(t, s);
		if (!s->ended && s->next > s->to) {
			s->ended = true;
			s->next = RMC_TREE_KEY_NONE;
		}
	}
	return err;
}

int rmc_btree_scan(struct rmc_btree *t, uint64_t from, uint64_t to, struct rmc_pair *pairs,
		   size_t max, size_t *found, uint64_t *next)
{
	struct scan s = { .from = from, .to = to, .pairs = pairs, .max = max };
	int err;

	*found = 0;
	*next = RMC_TREE_KEY_NONE;
	if (!max || from > to || to == RMC_TREE_KEY_NONE)
		return -EINVAL;
	err = rmc_block_operation(t->blocks, scan, t, &s);
	if (!err) {
		*found = s.found;
		*next = s.next;
	}
	return err;
}

struct rmc_btree *rmc_btree_open(struct rmc_blocks *blocks)
{
	struct rmc_btree *t;

	if (blocks->structure != RMC_BLOCKS_BTREE || !blocks->ops->atomic) {
		errno = blocks->structure != RMC_BLOCKS_BTREE ? EPROTO : EOPNOTSUPP;
		return NULL;
	}
	if (blocks->bytes < RMC_BTREE_BYTES_MIN) {
		errno = EINVAL;
		return NULL;
	}
	t = (struct rmc_btree *)calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->blocks = blocks;
	t->leaf = (uint32_t)((blocks->bytes - sizeof(struct btree_head)) / sizeof(struct rmc_pair));
	t->inner = (uint32_t)((blocks->bytes - sizeof(struct btree_head) - sizeof(uint64_t)) /
			      (sizeof(struct rmc_pair) + sizeof(uint64_t)));
	return t;
}

void rmc_btree_close(struct rmc_btree *t)
{
	free(t);
}
