/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The hash table of <rmc/ds.h>, over an accessor of blocks (block.h). A chain begins with a fixed
 * block:
 *
 *	home bucket --next--> bucket --next--> bucket
 *
 *	| kind | used | home | next | key, value | key, value |	48 bytes: with a header, a line
 *
 * A lookup reads buckets until it finds the key: mostly one. Entries never move. Who inserts a key
 * holds the home bucket's latch, and writes the home bucket, even if it stays as it is; who unlinks
 * a bucket holds that one, the one before it and, to store them, the home bucket. So:
 *
 *  - Who has upgraded the home bucket since it was read knows that no key was inserted meanwhile,
 *    and no bucket linked. Who has upgraded another bucket knows that it is still in the chain.
 *  - A reader of several buckets that misses its key is right. If the key was in the chain when the
 *    reader began, it was removed before the reader came to it; if not, it was absent then.
 *  - A bucket that is empty and the last one leaves the chain. A reader that is still on its way
 *    there finds it free, or in another chain, and begins again; or in the same chain again, where
 *    it is as good as any bucket of it: what was behind it, or beside it, was empty in between. An
 *    empty bucket with others behind it stays, for keys to come. If it left and came back at the
 *    end, a reader on its way there would miss the ones in between.
 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <rmc/ds.h>
#include "block.h"

#define ENTRIES		2
#define ALL_USED	((1U << ENTRIES) - 1)

struct bucket {
	uint16_t kind;
	uint8_t used;		/* a bit for each entry */
	uint8_t home_high;	/* number of the chain, below 2^40: blocks of all areas */
	uint32_t home;
	uint64_t next;		/* address, 0: none */
	struct pair {
		uint64_t key, value;
	} entry[ENTRIES];
};

_Static_assert(sizeof(struct bucket) == RMC_TABLE_BYTES, "as the header file says");

struct rmc_table {
	struct rmc_blocks *blocks;
	unsigned int flags;
};

enum what { GET, PUT, INSERT, UPDATE, DELETE };

struct request {
	enum what what;
	uint64_t key, value;
};

/* A bucket that is held, and a copy of it */
struct place {
	struct rmc_block_hold h;
	struct bucket b;
};

/* What a walk along a chain has found; the first three may be the same bucket: it is held once */
struct walk {
	uint64_t home;		/* number of the chain */
	unsigned int buckets;	/* so far */
	struct place first, last, vacant;	/* the latter is not the first one */
	int index;		/* of the key in last */
};

static uint64_t home_of(const struct rmc_table *t, uint64_t key)
{
	uint64_t hash = t->flags & RMC_TABLE_DIRECT ? key : XXH3_64bits(&key, sizeof(key));

	return hash % t->blocks->fixed;
}

static struct bucket bucket_of(uint64_t home)
{
	return (struct bucket){ .kind = RMC_BLOCK_BUCKET, .home_high = (uint8_t)(home >> 32),
				.home = (uint32_t)home };
}

static bool of_home(const struct bucket *b, uint64_t home)
{
	return b->home == (uint32_t)home && b->home_high == (uint8_t)(home >> 32);
}

static int load(struct rmc_table *t, struct walk *w, uint64_t at, enum rmc_block_mode mode,
		struct place *p)
{
	bool first = at == t->blocks->ops->fixed_at(t->blocks, w->home);
	int err = rmc_block_load(t->blocks, at, mode, &p->h, &p->b, sizeof(p->b));

	if (err)
		return err;
	if (first && !p->b.kind) {
		p->b = bucket_of(w->home);
		return 0;
	}
	/* it has left the chain; a fixed block never does */
	if (!first && (p->b.kind == RMC_BLOCK_FREE ||
		       (p->b.kind == RMC_BLOCK_BUCKET && !of_home(&p->b, w->home))))
		return rmc_block_fail(t->blocks, &p->h, RMC_BLOCK_RESTART);
	if (p->b.kind != RMC_BLOCK_BUCKET || p->b.used > ALL_USED || !of_home(&p->b, w->home))
		return rmc_block_fail(t->blocks, &p->h, -EPROTO);
	return 0;
}

static int save(struct rmc_table *t, struct place *p)
{
	return rmc_block_write(t->blocks, &p->h, 0, &p->b, sizeof(p->b));
}

static void drop(struct rmc_table *t, struct walk *w)
{
	const struct rmc_block_ops *ops = t->blocks->ops;

	ops->cancel(t->blocks, &w->last.h);
	ops->cancel(t->blocks, &w->vacant.h);
	ops->cancel(t->blocks, &w->first.h);
}

static int fail(struct rmc_table *t, struct walk *w, int err)
{
	drop(t, w);
	return err;
}

static int index_of(const struct bucket *b, uint64_t key)
{
	int i;

	for (i = 0; i < ENTRIES; i++)
		if (b->used >> i & 1 && b->entry[i].key == key)
			return i;
	return -1;
}

static struct place *last_of(struct walk *w)
{
	return w->last.h.at ? &w->last : &w->first;
}

/* No chain leads to itself at once, or to its home bucket, whatever others change */
static bool is_loop(const struct walk *w, const struct place *at)
{
	return at->b.next == at->h.at || at->b.next == w->first.h.at;
}

/*
 * 0: the key is in last_of(); -ENOENT: the chain ends there; both are held, and the first bucket
 * with room, too. Otherwise nothing is.
 */
static int find(struct rmc_table *t, struct walk *w, uint64_t key)
{
	struct place *at;
	int err;

	memset(w, 0, sizeof(*w));
	w->home = home_of(t, key);
	err = load(t, w, t->blocks->ops->fixed_at(t->blocks, w->home), RMC_BLOCK_READ, &w->first);
	if (err)
		return err;
	for (w->buckets = 1; ; w->buckets++) {
		struct place next = { .h = { 0 } };

		at = last_of(w);
		w->index = index_of(&at->b, key);
		if (w->index >= 0)
			return 0;
		if (!at->b.next)
			return -ENOENT;
		if (w->buckets == RMC_TABLE_CHAIN || is_loop(w, at))
			return fail(t, w, -ELOOP);
		/* it has left the chain, and is at its end again */
		if (at->b.next == w->vacant.h.at)
			t->blocks->ops->cancel(t->blocks, &w->vacant.h);
		err = load(t, w, at->b.next, RMC_BLOCK_READ, &next);
		if (err)
			return fail(t, w, err);
		if (at == &w->last && !w->vacant.h.at && at->b.used != ALL_USED)
			w->vacant = *at;
		else if (at == &w->last)
			t->blocks->ops->cancel(t->blocks, &at->h);
		w->last = next;
	}
}

/* --- changes: each ends with all holds --- */

/* Stores a bucket that was changed, and lets the others go */
static int change(struct rmc_table *t, struct walk *w, struct place *p)
{
	int err = t->blocks->ops->upgrade(t->blocks, &p->h);

	if (!err)
		err = save(t, p);
	if (!err)
		err = t->blocks->ops->leave(t->blocks, &p->h);
	return fail(t, w, err);
}

static void set_entry(struct bucket *b, int i, const struct request *q)
{
	b->entry[i] = (struct pair){ q->key, q->value };
	b->used |= (uint8_t)(1U << i);
}

/*
 * Stores the home bucket, so others begin again, and then the bucket that has changed. Who reads
 * the new home bucket waits for this one.
 */
static int leave_both(struct rmc_table *t, struct walk *w, struct place *p)
{
	int err = 0;

	if (p != &w->first)
		err = t->blocks->ops->leave(t->blocks, &w->first.h);
	return err ? err : t->blocks->ops->leave(t->blocks, &p->h);
}

/* A further bucket with the entry, behind the last one; the home bucket is upgraded */
static int extend(struct rmc_table *t, struct walk *w, const struct request *q)
{
	struct place *last = last_of(w), fresh = { .h = { 0 } };
	int err = t->blocks->ops->upgrade(t->blocks, &last->h);

	if (!err)
		err = t->blocks->ops->alloc(t->blocks, last->h.at, &fresh.h);
	if (err)
		return fail(t, w, err);
	last->b.next = fresh.h.at;
	fresh.b = bucket_of(w->home);
	set_entry(&fresh.b, 0, q);
	err = save(t, &fresh);
	if (!err)
		err = save(t, last);
	/* the bucket before the link to it */
	if (!err)
		err = t->blocks->ops->leave(t->blocks, &fresh.h);
	if (!err)
		err = leave_both(t, w, last);
	t->blocks->ops->cancel(t->blocks, &fresh.h);
	return fail(t, w, err);
}

/* The key is not in the chain, unless it has changed since */
static int add(struct rmc_table *t, struct walk *w, const struct request *q)
{
	struct place *to = NULL;
	int err;

	if (w->first.b.used != ALL_USED)
		to = &w->first;
	else if (w->vacant.h.at)
		to = &w->vacant;
	else if (w->last.h.at && w->last.b.used != ALL_USED)
		to = &w->last;
	if (!to && w->buckets == RMC_TABLE_CHAIN)
		return fail(t, w, -ENOSPC);
	err = t->blocks->ops->upgrade(t->blocks, &w->first.h);
	if (!err && to != &w->first)
		err = save(t, &w->first);
	if (err)
		return fail(t, w, err);
	if (!to)
		return extend(t, w, q);
	set_entry(&to->b, __builtin_ctz(~(unsigned int)to->b.used), q);
	err = t->blocks->ops->upgrade(t->blocks, &to->h);
	if (!err)
		err = save(t, to);
	if (!err)
		err = leave_both(t, w, to);
	return fail(t, w, err);
}

/*
 * Unlinks the last bucket, which is empty: it and the one before it are as they were read. If it is
 * not known whether, or when, the link is stored, nobody may insert behind it: the home bucket is
 * written, so who has read it begins again, and waits at the link.
 */
static bool unlink_last(struct rmc_table *t, struct walk *w, struct place *link)
{
	const struct rmc_block_ops *ops = t->blocks->ops;
	int err = ops->upgrade(t->blocks, &w->first.h);

	if (!err)
		err = ops->upgrade(t->blocks, &link->h);
	if (!err)
		err = ops->upgrade(t->blocks, &w->last.h);
	link->b.next = 0;
	if (err || save(t, link))
		return false;
	/* the link before the bucket */
	err = ops->leave(t->blocks, &link->h);
	if (!err)
		err = rmc_block_stored(t->blocks);
	if (!err)
		return !ops->retire(t->blocks, &w->last.h);
	if (w->first.h.at && !save(t, &w->first))
		ops->leave(t->blocks, &w->first.h);
	return false;
}

/* The last bucket of a chain leaves it, if it is empty: true. One that stays does no harm. */
static bool shorten(struct rmc_table *t, uint64_t key)
{
	const struct rmc_block_ops *ops = t->blocks->ops;
	struct place before = { .h = { 0 } };
	struct walk w = { .home = home_of(t, key) };
	bool left = false;

	if (load(t, &w, ops->fixed_at(t->blocks, w.home), RMC_BLOCK_READ, &w.first))
		return false;
	for (w.buckets = 1; last_of(&w)->b.next && w.buckets < RMC_TABLE_CHAIN; w.buckets++) {
		struct place next = { .h = { 0 } };

		if (is_loop(&w, last_of(&w)) || last_of(&w)->b.next == before.h.at ||
		    load(t, &w, last_of(&w)->b.next, RMC_BLOCK_READ, &next))
			break;
		ops->cancel(t->blocks, &before.h);
		before = w.last;
		w.last = next;
	}
	if (w.last.h.at && !w.last.b.used && !w.last.b.next)
		left = unlink_last(t, &w, before.h.at ? &before : &w.first);
	ops->cancel(t->blocks, &before.h);
	drop(t, &w);
	return left;
}

/* --- operations --- */

static int remove_entry(struct rmc_table *t, struct walk *w, uint64_t key)
{
	struct place *p = last_of(w);
	unsigned int i;
	bool empty;
	int err;

	p->b.used &= (uint8_t)~(1U << w->index);
	p->b.entry[w->index] = (struct pair){ 0, 0 };
	empty = p == &w->last && !p->b.used;
	err = change(t, w, p);
	/* the one before it may have been empty for a while */
	for (i = 0; !err && empty && i < RMC_TABLE_CHAIN && shorten(t, key); i++)
		;
	return err;
}

static int execute(void *table, void *request)
{
	struct rmc_table *t = (struct rmc_table *)table;
	struct request *q = (struct request *)request;
	struct walk w;
	int err = find(t, &w, q->key);

	if (err && err != -ENOENT)
		return err;
	if (err && (q->what == PUT || q->what == INSERT))
		return add(t, &w, q);
	if (!err && q->what == DELETE)
		return remove_entry(t, &w, q->key);
	if (!err && (q->what == PUT || q->what == UPDATE)) {
		last_of(&w)->b.entry[w.index].value = q->value;
		return change(t, &w, last_of(&w));
	}
	if (!err)
		q->value = last_of(&w)->b.entry[w.index].value;
	if (!err && q->what == INSERT)
		err = -EEXIST;
	/* nothing changes: whether what was read was one state is the result, if not */
	if (w.last.h.at) {
		int late = t->blocks->ops->leave(t->blocks, &w.last.h);

		err = late ? late : err;
	}
	if (w.first.h.at) {
		int late = t->blocks->ops->leave(t->blocks, &w.first.h);

		err = late ? late : err;
	}
	return fail(t, &w, err);
}

static int request(struct rmc_table *t, enum what what, uint64_t key, uint64_t *value)
{
	struct request q = { what, key, value ? *value : 0 };
	int err = rmc_block_operation(t->blocks, execute, t, &q);

	if (!err && what == GET)
		*value = q.value;
	return err;
}

int rmc_table_get(struct rmc_table *t, uint64_t key, uint64_t *value)
{
	*value = 0;
	return request(t, GET, key, value);
}

int rmc_table_put(struct rmc_table *t, uint64_t key, uint64_t value)
{
	return request(t, PUT, key, &value);
}

int rmc_table_insert(struct rmc_table *t, uint64_t key, uint64_t value)
{
	return request(t, INSERT, key, &value);
}

int rmc_table_update(struct rmc_table *t, uint64_t key, uint64_t value)
{
	return request(t, UPDATE, key, &value);
}

int rmc_table_delete(struct rmc_table *t, uint64_t key)
{
	return request(t, DELETE, key, NULL);
}

struct rmc_table *rmc_table_open(struct rmc_blocks *blocks, unsigned int flags)
{
	struct rmc_table *t;

	if (flags & ~RMC_TABLE_DIRECT || blocks->bytes < sizeof(struct bucket)) {
		errno = EINVAL;
		return NULL;
	}
	if (blocks->structure != (flags ? RMC_BLOCKS_TABLE_DIRECT : RMC_BLOCKS_TABLE)) {
		errno = EPROTO;
		return NULL;
	}
	t = (struct rmc_table *)calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->blocks = blocks;
	t->flags = flags;
	return t;
}

void rmc_table_close(struct rmc_table *t)
{
	free(t);
}
