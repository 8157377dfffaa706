/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The map of <rmc/ds.h>, over an accessor of blocks (block.h): a red-black tree of which each entry
 * is a block, so with a header a line. A parent has the colours of its children:
 *
 *	head --> | kind | red | key, value | left, right |
 *				  /		\
 *		     | kind ... |	   | kind ... |
 *
 * Searches read blocks from the head on. Who changes links or colours holds the head's latch, and
 * writes the head last, even if it stays as it is. Searches that do not find their key, or find
 * what cannot be, validate the head: nobody has changed a link, so the key is absent. A deleted key
 * keeps its entry, marked absent, for the next insertion. Where operations are atomic (block.h) the
 * entries on its way make a search begin again if one of their links has changed, so the head is
 * written only with another root: insertions that are far from each other are in nobody's way.
 *
 * An insertion is top-down (Guibas and Sedgewick): who goes down to insert splits entries with two
 * red children on the way, so there is room for a red one at the end. A split changes the
 * entry and at most three above it. After each, the tree is a red-black tree, and the way begins
 * again.
 *
 *	two red children	  one red after another: of three, the middle one rises
 *
 *	   p	       p	    up		   up		       p, n, g are in this order, or
 *	   |	       :	    |		   |		       n, p, g, or mirrored:
 *	   n    -->    n	    g		 middle		       rise()
 *	  : :	      | |	   :  \		 :    :
 *	  a b	      a b	   p   d   --> low    high
 *				  : |
 *				  n c		    : red, | black
 *
 * No key is lost if the insertion ends anywhere, with a status or its client: entries whose links
 * change rise as copies in new blocks, which are stored first. Then one block is stored, up: its
 * link leads to all of them. At last the old blocks are retired. What else is stored on the way are
 * colours: then the tree is less balanced, and as before otherwise.
 *
 *  - Who changes a value holds the latch of its block, and has validated the head since. So the
 *    block is in the tree; nobody copies it meanwhile, as that needs its latch.
 *  - A block that has the key a search looks for is believed. It may have left the tree since the
 *    search began: then its value was that of the key until then. Only a block that is newer than
 *    the head that the search has read (entry.change) may have a key that is not yet linked: then
 *    the head is validated first.
 */
#include <stdlib.h>
#include <rmc/ds.h>
#include "block.h"

#define DEPTH_MAX	96	/* more than a red-black tree of all blocks of 1024 areas */
#define SPLITS_MAX	DEPTH_MAX

struct entry {
	uint16_t kind;
	uint8_t red;		/* bits: the child on this side */
	uint8_t absent;
	uint32_t change;		/* of links: the one it came with. head: the last one */
	uint64_t key, value;
	uint64_t child[2];	/* addresses, 0: none. head: [0] is the root */
};

_Static_assert(sizeof(struct entry) == RMC_MAP_BYTES, "as the header file says");

struct rmc_map {
	struct rmc_blocks *blocks;
};

struct spot {
	struct rmc_block_hold h;
	struct entry e;
};

/* The last ones on a way down; at: where the key is, or a red entry is to be */
struct way {
	struct spot head;	/* held from the beginning to the end */
	struct spot up[3];	/* parent of at, its parent ...; without a hold: see above() */
	struct spot at;
	struct spot old[3];	/* that copies have replaced */
	unsigned int olds;
	int side[3];		/* at is this child of up[0], which is this child of up[1] ... */
	unsigned int depth;	/* entries above at */
};

static int load(struct rmc_map *m, uint64_t at, uint16_t kind, enum rmc_block_mode mode,
		struct spot *s)
{
	int err = rmc_block_load(m->blocks, at, mode, &s->h, &s->e, sizeof(s->e));

	if (err)
		return err;
	if (kind == RMC_BLOCK_MAP_HEAD && !s->e.kind)
		s->e = (struct entry){ .kind = RMC_BLOCK_MAP_HEAD };
	if (s->e.kind != kind || s->e.red > 3 || s->e.absent > 1 ||
	    (s->e.red & 1 && !s->e.child[0]) || (s->e.red & 2 && !s->e.child[1]))
		return rmc_block_fail(m->blocks, &s->h, -EPROTO);
	return 0;
}

static int load_head(struct rmc_map *m, enum rmc_block_mode mode, struct way *w)
{
	memset(w, 0, sizeof(*w));
	return load(m, m->blocks->ops->fixed_at(m->blocks, 0), RMC_BLOCK_MAP_HEAD, mode, &w->head);
}

static void drop(struct rmc_map *m, struct way *w)
{
	unsigned int i;

	m->blocks->ops->cancel(m->blocks, &w->at.h);
	for (i = 0; i < 3; i++)
		m->blocks->ops->cancel(m->blocks, &w->up[i].h);
	for (i = 0; i < w->olds; i++)
		m->blocks->ops->cancel(m->blocks, &w->old[i].h);
	m->blocks->ops->cancel(m->blocks, &w->head.h);
}

static int fail(struct rmc_map *m, struct way *w, int err)
{
	drop(m, w);
	return err;
}

static int save(struct rmc_map *m, struct spot *s)
{
	return rmc_block_write(m->blocks, &s->h, 0, &s->e, sizeof(s->e));
}

/* --- searches --- */

/* What is wrong may be a link that was changed meanwhile. */
static int validate_result(struct rmc_map *m, struct way *w, int err)
{
	int late;

	if (err != -EPROTO && err != -ELOOP && err != -ENOENT)
		return err;
	late = m->blocks->ops->valid(m->blocks, &w->head.h);
	return late ? late : err;
}

/* Has the block come into the tree with a later change than the head that was read? */
static bool is_newer(const struct entry *e, const struct entry *head)
{
	return (int32_t)(e->change - head->change) > 0;
}

/* 0: w->at has the key, and is held as the head is; or a status: nothing is */
static int search(struct rmc_map *m, uint64_t key, struct way *w)
{
	uint64_t next;
	int err = load_head(m, RMC_BLOCK_READ, w);

	if (err)
		return err;
	next = w->head.e.child[0];
	for (;;) {
		if (!next)
			return fail(m, w, validate_result(m, w, -ENOENT));
		if (w->depth++ == DEPTH_MAX)
			return fail(m, w, validate_result(m, w, -ELOOP));
		err = load(m, next, RMC_BLOCK_MAP, RMC_BLOCK_READ, &w->at);
		if (err)
			return fail(m, w, validate_result(m, w, err));
		if (w->at.e.key == key)
			break;
		next = w->at.e.child[w->at.e.key < key];
		m->blocks->ops->cancel(m->blocks, &w->at.h);
	}
	if (is_newer(&w->at.e, &w->head.e))
		err = m->blocks->ops->valid(m->blocks, &w->head.h);
	return err ? fail(m, w, err) : 0;
}

/* --- insertions: the head is latched --- */

/* The entry that is i + 1 above at; the head is the uppermost */
static struct spot *above(struct way *w, unsigned int i)
{
	return i < w->depth ? &w->up[i] : &w->head;
}

static void set_link(struct entry *e, int side, uint64_t child, bool red)
{
	e->child[side] = child;
	e->red = (uint8_t)((e->red & ~(1 << side)) | red << side);
}

static bool red_link(const struct entry *e, int side)
{
	return e->red >> side & 1;
}

/* The entry moves to a new block, and is stored there; the old one is still latched */
static int copy(struct rmc_map *m, struct way *w, struct spot *s)
{
	struct spot fresh = { .h = { 0 }, .e = s->e };
	int err = m->blocks->ops->alloc(m->blocks, s->h.at, &fresh.h);

	if (err)
		return err;
	fresh.e.change = w->head.e.change + 1;
	w->old[w->olds++] = *s;
	*s = fresh;
	return 0;
}

/*
 * at, whose children are black, becomes a red child of up[0], which is red as well: the middle
 * one of at, up[0] and up[1] rises. All whose links change are new blocks.
 */
static int rise(struct rmc_map *m, struct way *w, bool fresh)
{
	struct spot *p = above(w, 0), *g = above(w, 1), *up = above(w, 2), *n = &w->at;
	int outer = w->side[1], inner = !outer, err;
	bool middle = w->side[0] != outer;

	err = copy(m, w, g);
	if (!err)
		err = copy(m, w, p);
	if (!err && middle && !fresh)
		err = copy(m, w, n);
	if (err)
		return err;
	if (!middle) {
		set_link(&g->e, outer, p->e.child[inner], false);
		set_link(&p->e, inner, g->h.at, true);
		set_link(&p->e, outer, n->h.at, true);
		set_link(&up->e, w->side[2], p->h.at, false);
	} else {
		set_link(&p->e, inner, n->e.child[outer], false);
		set_link(&g->e, outer, n->e.child[inner], false);
		set_link(&n->e, outer, p->h.at, true);
		set_link(&n->e, inner, g->h.at, true);
		set_link(&up->e, w->side[2], n->h.at, false);
	}
	return 0;
}

/* *n: entries above at that a change of its colour changes; the last one links the others */
static int link_red(struct rmc_map *m, struct way *w, bool fresh, unsigned int *n)
{
	if (w->depth >= 2 && red_link(&above(w, 1)->e, w->side[1])) {
		*n = 3;
		return rise(m, w, fresh);
	}
	*n = 1;
	/* the root is black */
	set_link(&above(w, 0)->e, w->side[0], w->at.h.at, w->depth > 0);
	return 0;
}

static int save_all(struct rmc_map *m, struct way *w, unsigned int n)
{
	unsigned int i;
	int err = save(m, &w->at);

	for (i = 0; !err && i < n && i < w->depth; i++)
		err = save(m, &w->up[i]);
	/* the root stays */
	if (err || (m->blocks->ops->atomic && n <= w->depth))
		return err;
	w->head.e.change++;
	return save(m, &w->head);
}

/*
 * Stores at and so many above it, of which the last one links the others, then the head, which is
 * latched meanwhile: searches that miss their key begin again. So they do if the link may be there.
 */
static int store(struct rmc_map *m, struct way *w, unsigned int n)
{
	const struct rmc_block_ops *ops = m->blocks->ops;
	unsigned int i;
	int err = save_all(m, w, n), late;

	if (!err)
		err = ops->leave(m->blocks, &w->at.h);
	for (i = 0; !err && i + 1 < n; i++)
		err = ops->leave(m->blocks, &w->up[i].h);
	if (err)
		return fail(m, w, err);
	if (i < w->depth) {
		err = ops->leave(m->blocks, &w->up[i].h);
		if (!err)
			err = rmc_block_stored(m->blocks);
	}
	late = ops->leave(m->blocks, &w->head.h);
	if (!err)
		err = late;
	/* whose retirement fails stays unused */
	for (i = 0; !err && i < w->olds; i++)
		ops->retire(m->blocks, &w->old[i].h);
	return fail(m, w, err);
}

static int latch_all(struct rmc_map *m, struct way *w)
{
	unsigned int i;
	int err = 0;

	for (i = 3; !err && i-- > 0; )
		if (w->up[i].h.at)
			err = m->blocks->ops->upgrade(m->blocks, &w->up[i].h);
	if (!err && w->at.h.at)
		err = m->blocks->ops->upgrade(m->blocks, &w->at.h);
	return err;
}

/* at has two red children: they become black, and it becomes red */
static int split(struct rmc_map *m, struct way *w)
{
	unsigned int n;
	int err = latch_all(m, w);

	w->at.e.red = 0;
	if (!err)
		err = link_red(m, w, false, &n);
	return err ? fail(m, w, err) : store(m, w, n);
}

/* A new entry, where the way has ended */
static int add(struct rmc_map *m, struct way *w, uint64_t key, uint64_t value)
{
	unsigned int n;
	int err = latch_all(m, w);

	if (!err)
		err = m->blocks->ops->alloc(m->blocks, 0, &w->at.h);
	w->at.e = (struct entry){ .kind = RMC_BLOCK_MAP, .change = w->head.e.change + 1,
				  .key = key, .value = value };
	if (!err)
		err = link_red(m, w, true, &n);
	return err ? fail(m, w, err) : store(m, w, n);
}

static void move_down(struct rmc_map *m, struct way *w, int side)
{
	if (w->at.h.at) {
		m->blocks->ops->cancel(m->blocks, &w->up[2].h);
		w->up[2] = w->up[1];
		w->up[1] = w->up[0];
		w->up[0] = w->at;
		memset(&w->at, 0, sizeof(w->at));
		w->depth++;
	}
	w->side[2] = w->side[1];
	w->side[1] = w->side[0];
	w->side[0] = side;
}

/* 0: inserted, or split: see *done. -EEXIST; or another status. Nothing is held. */
static int way_down(struct rmc_map *m, uint64_t key, uint64_t value, bool *done)
{
	struct way w;
	uint64_t next;
	int err = load_head(m, RMC_BLOCK_WRITE, &w);

	*done = false;
	if (err)
		return err;
	move_down(m, &w, 0);
	while ((next = above(&w, 0)->e.child[w.side[0]])) {
		if (w.depth == DEPTH_MAX)
			return fail(m, &w, -ELOOP);
		err = load(m, next, RMC_BLOCK_MAP, RMC_BLOCK_READ, &w.at);
		if (err)
			return fail(m, &w, err);
		if (w.at.e.key == key)
			return fail(m, &w, -EEXIST);
		if (w.at.e.red == 3)
			return split(m, &w);
		move_down(m, &w, w.at.e.key < key);
	}
	*done = true;
	return add(m, &w, key, value);
}

static int insert(struct rmc_map *m, uint64_t key, uint64_t value)
{
	unsigned int i;
	bool done;
	int err;

	for (i = 0; i < SPLITS_MAX; i++) {
		err = way_down(m, key, value, &done);
		/* somebody was faster: see what there is now */
		if (err == -EEXIST)
			return RMC_BLOCK_RESTART;
		if (err || done)
			return err;
	}
	return RMC_BLOCK_RESTART;
}

/* --- operations --- */

enum what { GET, PUT, INSERT, UPDATE, DELETE };

struct request {
	enum what what;
	uint64_t key, value;
};

static int change(struct rmc_map *m, struct way *w, const struct request *q)
{
	int err = m->blocks->ops->upgrade(m->blocks, &w->at.h);

	/* the block is still in the tree */
	if (!err)
		err = m->blocks->ops->valid(m->blocks, &w->head.h);
	w->at.e.absent = q->what == DELETE;
	w->at.e.value = q->what == DELETE ? 0 : q->value;
	if (!err)
		err = save(m, &w->at);
	if (!err)
		err = m->blocks->ops->leave(m->blocks, &w->at.h);
	return fail(m, w, err);
}

static int execute(void *map, void *arg)
{
	struct rmc_map *m = (struct rmc_map *)map;
	struct request *q = (struct request *)arg;
	bool inserts = q->what == PUT || q->what == INSERT;
	struct way w;
	int err = search(m, q->key, &w);

	if (err == -ENOENT && inserts)
		return insert(m, q->key, q->value);
	if (err)
		return err;
	if (q->what == PUT || (q->what == INSERT && w.at.e.absent) ||
	    ((q->what == UPDATE || q->what == DELETE) && !w.at.e.absent))
		return change(m, &w, q);
	err = m->blocks->ops->leave(m->blocks, &w.at.h);
	q->value = w.at.e.value;
	if (!err)
		err = w.at.e.absent ? -ENOENT : q->what == INSERT ? -EEXIST : 0;
	return fail(m, &w, err);
}

static int request(struct rmc_map *m, enum what what, uint64_t key, uint64_t *value)
{
	struct request q = { what, key, *value };
	int err = rmc_block_operation(m->blocks, execute, m, &q);

	if (what == GET)
		*value = err ? 0 : q.value;
	return err;
}

int rmc_map_get(struct rmc_map *m, uint64_t key, uint64_t *value)
{
	*value = 0;
	return request(m, GET, key, value);
}

int rmc_map_put(struct rmc_map *m, uint64_t key, uint64_t value)
{
	return request(m, PUT, key, &value);
}

int rmc_map_insert(struct rmc_map *m, uint64_t key, uint64_t value)
{
	return request(m, INSERT, key, &value);
}

int rmc_map_update(struct rmc_map *m, uint64_t key, uint64_t value)
{
	return request(m, UPDATE, key, &value);
}

int rmc_map_delete(struct rmc_map *m, uint64_t key)
{
	uint64_t none = 0;

	return request(m, DELETE, key, &none);
}

struct rmc_map *rmc_map_open(struct rmc_blocks *blocks)
{
	struct rmc_map *m;

	if (blocks->bytes < sizeof(struct entry)) {
		errno = EINVAL;
		return NULL;
	}
	if (blocks->structure != RMC_BLOCKS_MAP) {
		errno = EPROTO;
		return NULL;
	}
	m = (struct rmc_map *)calloc(1, sizeof(*m));
	if (m)
		m->blocks = blocks;
	return m;
}

void rmc_map_close(struct rmc_map *m)
{
	free(m);
}
