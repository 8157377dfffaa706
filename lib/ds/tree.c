/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The B+tree: the way down, lookups and scans. tree.h shows it. */
#include <stdlib.h>
#include "tree.h"

/* --- blocks --- */

static bool sound(const struct rmc_tree *t, const struct tree_head *d)
{
	return d->kind == RMC_BLOCK_TREE && d->level < TREE_LEVELS && d->count <= t->capacity &&
	       d->low < d->high && (d->high == RMC_TREE_KEY_NONE) == !d->right;
}

/* level < 0: the root */
static int load(struct rmc_tree *t, uint64_t at, int level, enum rmc_block_mode mode,
		struct spot *s)
{
	int err = rmc_block_load(t->blocks, at, mode, &s->h, &s->d, sizeof(s->d));

	if (err)
		return err;
	if (level < 0 && !s->d.kind)
		s->d = (struct tree_head){ .kind = RMC_BLOCK_TREE, .high = RMC_TREE_KEY_NONE };
	if (!sound(t, &s->d) || (level >= 0 && s->d.level != level))
		return rmc_block_fail(t->blocks, &s->h, -EPROTO);
	return 0;
}

int rmc_tree_entry(struct rmc_tree *t, struct spot *s, uint32_t i, struct rmc_pair *e)
{
	return rmc_block_copy(t->blocks, &s->h, tree_offset(i), e, sizeof(*e));
}

int rmc_tree_bound(struct rmc_tree *t, struct spot *s, uint64_t key, uint32_t *i)
{
	uint32_t first = 0, end = s->d.count, mid;
	struct rmc_pair e;
	int err;

	while (first < end) {
		mid = first + (end - first) / 2;
		err = rmc_tree_entry(t, s, mid, &e);
		if (err)
			return err;
		if (e.key < key)
			first = mid + 1;
		else
			end = mid;
	}
	*i = first;
	return 0;
}

/* The child whose range has the key */
static int child_of(struct rmc_tree *t, struct spot *s, uint64_t key, uint64_t *child)
{
	struct rmc_pair e;
	uint32_t i;
	int err = rmc_tree_bound(t, s, key + 1, &i);

	if (!err && !i)
		err = -EPROTO;
	if (!err)
		err = rmc_tree_entry(t, s, i - 1, &e);
	if (!err)
		*child = e.value;
	return err;
}

/* --- the way down --- */

/* To the block on the same level whose range has the key. *moves: so many blocks to the right */
static int move_right(struct rmc_tree *t, uint64_t key, enum rmc_block_mode mode, struct spot *s,
		      unsigned int *moves)
{
	struct tree_head left;
	int err;

	if (key < s->d.low)
		return -EPROTO;
	for (*moves = 0; key >= s->d.high; ++*moves) {
		/* so many splits since the parent was read: the root knows a shorter way */
		if (*moves == TREE_RIGHT_MAX)
			return RMC_BLOCK_RESTART;
		left = s->d;
		t->moves++;
		t->blocks->ops->cancel(t->blocks, &s->h);
		err = load(t, left.right, left.level, mode, s);
		if (err)
			return err;
		if (s->d.low != left.high)
			return -EPROTO;
	}
	return 0;
}

static int step_down(struct rmc_tree *t, uint64_t key, enum rmc_block_mode mode, struct path *p)
{
	uint64_t child;
	int err = child_of(t, &p->at, key, &child);

	if (err)
		return err;
	t->blocks->ops->cancel(t->blocks, &p->parent.h);
	p->parent = p->at;
	memset(&p->at, 0, sizeof(p->at));
	err = load(t, child, p->parent.d.level - 1, mode, &p->at);
	/* was the parent still the child's when the child was read? */
	if (!err && t->coupling == RMC_TREE_VERSION)
		err = t->blocks->ops->valid(t->blocks, &p->parent.h);
	return err;
}

/* Of a block of this level; level < 0: of the root, whose level is not known */
static enum rmc_block_mode mode_of(const struct rmc_tree *t, enum tree_use use, int level,
				   bool alone)
{
	if (t->coupling != RMC_TREE_LATCH)
		return RMC_BLOCK_READ;
	return use != TREE_READ && (alone || !level) ? RMC_BLOCK_WRITE : RMC_BLOCK_LATCH;
}

/* How the way down goes on, when it has not come to its end */
struct way {
	bool alone;		/* RMC_TREE_LATCH: nobody shares a latch with this writer */
	bool again;
};

/* From a shared latch there is no way to a write: once more, alone. Nothing is held then. */
static int write_alone(struct rmc_tree *t, struct way *w, struct path *p)
{
	tree_drop(t, p);
	w->alone = true;
	return 0;
}

/* Before a change of p->at or of its parent: the way is another one if it is shared */
static bool shared(const struct rmc_tree *t, const struct way *w)
{
	return t->coupling == RMC_TREE_LATCH && !w->alone;
}

static int once_down(struct rmc_tree *t, uint64_t key, enum tree_use use, struct path *p,
		     struct way *w)
{
	enum rmc_block_mode mode = mode_of(t, use, -1, w->alone);
	unsigned int moves;
	int err;

	memset(p, 0, sizeof(*p));
	err = load(t, t->blocks->ops->fixed_at(t->blocks, 0), -1, mode, &p->at);
	while (!err) {
		err = move_right(t, key, mode, &p->at, &moves);
		if (err)
			break;
		/* a split is not complete; or it is by now, and the parent has changed */
		w->again = use == TREE_INSERT &&
			   ((moves && p->parent.h.at) || p->at.d.count == t->capacity);
		/* the root is a leaf */
		w->again |= use != TREE_READ && !p->at.d.level && mode == RMC_BLOCK_LATCH;
		if (w->again && shared(t, w))
			return write_alone(t, w, p);
		if (w->again)
			return moves && p->parent.h.at ? rmc_tree_post(t, p) : rmc_tree_split(t, p);
		if (!p->at.d.level) {
			t->blocks->ops->cancel(t->blocks, &p->parent.h);
			return 0;
		}
		mode = mode_of(t, use, p->at.d.level - 1, w->alone);
		err = step_down(t, key, mode, p);
	}
	tree_drop(t, p);
	return err;
}

int rmc_tree_down(struct rmc_tree *t, uint64_t key, enum tree_use use, struct path *p)
{
	struct way w = { .alone = false };
	unsigned int splits;
	int err;

	/* each level has to be split once, and completed once, unless others fill it meanwhile */
	for (splits = 0; splits < 3 * TREE_LEVELS; splits++) {
		w.again = false;
		err = once_down(t, key, use, p, &w);
		if (err || !w.again)
			return err;
	}
	return RMC_BLOCK_RESTART;
}

/* --- lookups --- */

struct lookup {
	uint64_t key, value;
};

static int get(void *tree, void *arg)
{
	struct rmc_tree *t = (struct rmc_tree *)tree;
	struct lookup *l = (struct lookup *)arg;
	struct rmc_pair e = { 0, 0 };
	struct path p;
	uint32_t i;
	int err = rmc_tree_down(t, l->key, TREE_READ, &p);

	if (err)
		return err;
	err = rmc_tree_bound(t, &p.at, l->key, &i);
	if (!err && i < p.at.d.count)
		err = rmc_tree_entry(t, &p.at, i, &e);
	if (err)
		return rmc_block_fail(t->blocks, &p.at.h, err);
	err = t->blocks->ops->leave(t->blocks, &p.at.h);
	if (err)
		return err;
	l->value = e.value;
	return i < p.at.d.count && e.key == l->key ? 0 : -ENOENT;
}

int rmc_tree_get(struct rmc_tree *t, uint64_t key, uint64_t *value)
{
	struct lookup l = { key, 0 };
	int err;

	*value = 0;
	if (key == RMC_TREE_KEY_NONE)
		return -EINVAL;
	err = rmc_block_operation(t->blocks, get, t, &l);
	if (!err)
		*value = l.value;
	return err;
}

/* --- scans --- */

struct scan {
	uint64_t from, to;
	struct rmc_pair *pairs;
	size_t max, found;
	uint64_t next;
	/* of this attempt */
	struct spot leaf[TREE_SCAN_LEAVES];
	unsigned int leaves;
};

/* What the last leaf has of the range: 0, or a status; next: KEY_NONE if the scan may go on */
static int collect(struct rmc_tree *t, struct scan *s)
{
	struct spot *leaf = &s->leaf[s->leaves - 1];
	uint64_t least = leaf->d.low;
	struct rmc_pair e;
	uint32_t i;
	int err = rmc_tree_bound(t, leaf, s->from, &i);

	for (; !err && i < leaf->d.count; i++) {
		err = rmc_tree_entry(t, leaf, i, &e);
		/* a scan that is continued gets nearer to its end: keys rise */
		if (!err && (e.key < least || e.key < s->from || e.key >= leaf->d.high))
			err = -EPROTO;
		if (err || e.key > s->to)
			break;
		if (s->found == s->max) {
			s->next = e.key;
			break;
		}
		least = e.key + 1;
		s->pairs[s->found++] = e;
	}
	return err;
}

/* Ends the attempt: all leaves were as they are when the last one was read, or it restarts. */
static int end_scan(struct rmc_tree *t, struct scan *s, int err)
{
	unsigned int i;
	int late;

	for (i = 0; !err && i + 1 < s->leaves; i++)
		err = t->blocks->ops->valid(t->blocks, &s->leaf[i].h);
	for (i = 0; i < s->leaves; i++) {
		if (err) {
			t->blocks->ops->cancel(t->blocks, &s->leaf[i].h);
			continue;
		}
		late = t->blocks->ops->leave(t->blocks, &s->leaf[i].h);
		err = late;
	}
	return err;
}

static int scan(void *tree, void *arg)
{
	struct rmc_tree *t = (struct rmc_tree *)tree;
	struct scan *s = (struct scan *)arg;
	struct spot *last;
	struct path p;
	int err;

	s->found = 0;
	s->next = RMC_TREE_KEY_NONE;
	s->leaves = 0;
	err = rmc_tree_down(t, s->from, TREE_READ, &p);
	if (err)
		return err;
	s->leaf[s->leaves++] = p.at;
	for (;;) {
		last = &s->leaf[s->leaves - 1];
		err = collect(t, s);
		if (err || s->next != RMC_TREE_KEY_NONE || last->d.high > s->to)
			break;
		if (s->leaves == TREE_SCAN_LEAVES) {
			s->next = last->d.high;
			break;
		}
		memset(last + 1, 0, sizeof(*last));
		err = load(t, last->d.right, 0, mode_of(t, TREE_READ, 0, false), last + 1);
		if (err)
			break;
		s->leaves++;
		if (last[1].d.low != last->d.high) {
			err = -EPROTO;
			break;
		}
	}
	return end_scan(t, s, err);
}

int rmc_tree_scan(struct rmc_tree *t, uint64_t from, uint64_t to, struct rmc_pair *pairs,
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

struct rmc_tree *rmc_tree_open(struct rmc_blocks *blocks, enum rmc_tree_coupling coupling)
{
	struct rmc_tree *t;

	if (coupling > RMC_TREE_LATCH || blocks->bytes < RMC_TREE_BYTES_MIN) {
		errno = EINVAL;
		return NULL;
	}
	if (blocks->structure != RMC_BLOCKS_TREE) {
		errno = EPROTO;
		return NULL;
	}
	t = (struct rmc_tree *)calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->blocks = blocks;
	t->coupling = coupling;
	t->capacity = (uint32_t)((blocks->bytes - sizeof(struct tree_head)) /
				 sizeof(struct rmc_pair));
	return t;
}

void rmc_tree_close(struct rmc_tree *t)
{
	free(t);
}
