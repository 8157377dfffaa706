/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Copies out of place (R25 6): an index word names the newest copy of an object.
 *
 *	index word	63     59 58  57                  24 23          0
 *			+--------+---+----------------------+-------------+
 *			| 0      | M | offset / 64          | sequence    |	0: home copy
 *			+--------+---+----------------------+-------------+
 *	copy		| offset of the index word | index word | data |
 *	object		| index word | 56 B | home copy |
 *
 * A writer takes a slot of its pool, writes the copy there and swaps the index word. The
 * copy that it has replaced is its own from then on; readers may still read that, so it is
 * used again only after a time. A copy that is read names its index word: one that was used
 * again meanwhile names another one. M: a writer of mark-out-of-place is at work.
 */
#include "state.h"

#define SEQUENCE_MASK	((1ULL << 24) - 1)
#define LINE_SHIFT	24
#define LINE_MASK	((1ULL << 34) - 1)
#define MARK		(1ULL << 58)

_Static_assert(RMC_OFFSET_MAX / RMC_CACHE_LINE <= LINE_MASK, "every offset has room");

struct copy_header {
	uint64_t key, index;
};

_Static_assert(sizeof(struct copy_header) == WORDS_BYTES, "the data is where other layouts have it");

size_t rmc_sync_copy_bytes(size_t len)
{
	return (sizeof(struct copy_header) + len + RMC_CACHE_LINE - 1) &
	       ~(size_t)(RMC_CACHE_LINE - 1);
}

int rmc_index_marked(uint64_t index)
{
	return !!(index & MARK);
}

/* Where the copy is that an index word of this entry's object names */
uint64_t rmc_copy_offset(const struct entry *e, uint64_t index)
{
	if (!(index & ~MARK))
		return e->offset + RMC_CACHE_LINE;
	return (index >> LINE_SHIFT & LINE_MASK) * RMC_CACHE_LINE;
}

/* The index word of this entry's new copy */
uint64_t rmc_index_next(const struct entry *e)
{
	return e->copy / RMC_CACHE_LINE << LINE_SHIFT | ((e->version + 1) & SEQUENCE_MASK);
}

int rmc_copy_check(const struct rmc_sync *s, const struct entry *e)
{
	struct copy_header h;

	(void)s;
	memcpy(&h, e->image, sizeof(h));
	/* an object that was never written has its home copy, of zeros */
	if (!(e->version & ~MARK) && !h.key)
		return h.index ? RMC_SCHEME_TORN : 0;
	return h.key == e->offset && h.index == (e->version & ~MARK) ? 0 : RMC_SCHEME_TORN;
}

/* A slot for the new copy: 0, or -ENOSPC: none has been unused for long enough. */
int rmc_copy_take(struct rmc_sync *s, struct entry *e)
{
	struct free_copy *c = &s->copy[s->copy_head];

	if (!s->copies || (c->not_before && monotonic_ns() < c->not_before))
		return -ENOSPC;
	e->copy = c->offset;
	s->copies--;
	s->copy_head = (s->copy_head + 1) % s->o.pool_slots;
	return 0;
}

void rmc_copy_encode(struct entry *e)
{
	struct copy_header h = { e->offset, rmc_index_next(e) };

	memcpy(e->image, &h, sizeof(h));
}

/*
 * A slot of the pool, or a copy that was replaced. used: 1: readers may still read it; 0: no
 * reader knows it; -1: a writer may still write to it: it is lost.
 */
void rmc_copy_give(struct rmc_sync *s, uint64_t offset, int used)
{
	struct free_copy *c;

	if (used < 0 || s->copies == s->o.pool_slots)
		return;
	if (used) {
		c = &s->copy[(s->copy_head + s->copies) % s->o.pool_slots];
		c->not_before = monotonic_ns() + s->o.grace_us * 1000ULL;
	} else {
		s->copy_head = (s->copy_head + s->o.pool_slots - 1) % s->o.pool_slots;
		c = &s->copy[s->copy_head];
		c->not_before = 0;
	}
	c->offset = offset;
	s->copies++;
}

/* --- the mark --- */

static uint64_t marked(const struct latch_owner *owner, uint64_t token, uint64_t expected,
		       const struct rmc_scheme_params *p)
{
	(void)owner;
	(void)token;
	(void)p;
	return expected | MARK;
}

static enum latch_found found_index(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	return word & MARK ? LATCH_HELD : LATCH_STALE;
}

const struct latch rmc_latch_mark = {
	.name	= "mark",
	.flags	= LATCH_RELEASED | LATCH_INDEX,
	.word	= marked,
	.found	= found_index,
	.held	= rmc_index_marked,
};
