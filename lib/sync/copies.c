/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Copies out of place (R25 6): an index word names the newest copy of an object.
 *
 *	index word	63     59 58  57                  24 23          0
 *			+--------+---+----------------------+-------------+
 *			| 0      | 0 | offset / 64          | sequence    |	0: home copy
 *			+--------+---+----------------------+-------------+
 *			| number | 1 | offset / 64          | name        |	marked
 *			+--------+---+----------------------+-------------+
 *	copy		| offset of the index word | index word | data |
 *	object		| index word | 56 B | home copy |
 *
 * A writer takes a slot of its pool, writes the copy there and swaps the index word. The
 * copy that it has replaced is its own from then on; readers may still read that, so it is
 * used again only after a time. A copy that is read names its index word: one that was used
 * again meanwhile names another one. A writer of mark-out-of-place puts its name in the place
 * of the sequence: node + 1, client, and together with the upper bits a number, so that the
 * word of each hold is another one. The copy still has the sequence.
 *
 * All copies of a pool have the same size, since replaced copies change their owner.
 */
#include "state.h"

#define SEQUENCE_MASK	((1ULL << 24) - 1)
#define LINE_SHIFT	24
#define LINE_MASK	((1ULL << 34) - 1)
#define MARK		(1ULL << 58)
#define MARK_NID_SHIFT	13
#define MARK_CLIENT_SHIFT	5
#define MARK_NUMBER_LOW	5
#define MARK_NUMBER_MASK	((1ULL << MARK_NUMBER_LOW) - 1)
#define MARK_NUMBER_SHIFT	59

#define LOOKS			8	/* at a slot that cannot be read */

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

static uint64_t line_of(uint64_t index)
{
	return index >> LINE_SHIFT & LINE_MASK;
}

/* Where the copy is that an index word of this entry's object names */
uint64_t rmc_copy_offset(const struct entry *e, uint64_t index)
{
	return line_of(index) ? line_of(index) * RMC_CACHE_LINE : e->offset + RMC_CACHE_LINE;
}

/* The index word of this entry's new copy */
uint64_t rmc_index_next(const struct entry *e)
{
	return e->copy / RMC_CACHE_LINE << LINE_SHIFT | ((e->version + 1) & SEQUENCE_MASK);
}

/*
 * The reply of a swap was lost, and the index word is @now: was it this entry's swap? Nobody
 * but this entry knows its copy, and nobody but the one that replaces it owns it afterwards.
 */
enum outcome rmc_index_outcome(const struct entry *e, uint64_t now)
{
	if (line_of(now) == e->copy / RMC_CACHE_LINE)
		return TOOK_EFFECT;
	/* the same copy as before, or the first one after it is another one's */
	if (line_of(now) == line_of(e->version))
		return DID_NOT;
	if (!(now & MARK) && (now & SEQUENCE_MASK) == ((e->version + 1) & SEQUENCE_MASK))
		return DID_NOT;
	return UNKNOWN;
}

int rmc_copy_check(const struct rmc_sync *s, struct entry *e)
{
	struct copy_header h;

	memcpy(&h, e->image, sizeof(h));
	/* the mark of a dead node has no sequence, but its copy has */
	if (e->evicts && h.key == e->offset && line_of(h.index) == line_of(e->version))
		e->version = h.index;
	else if (e->evicts && !line_of(e->version))
		e->version = 0;
	/* without a validation at the end, a copy must be read before it may be used again */
	if (s->plan.row->row & ROW_TIMED &&
	    monotonic_ns() - e->since >= s->o.grace_us * 1000ULL)
		return RMC_SCHEME_TORN;
	/* an object that was never written has its home copy, of zeros */
	if (!e->version && !h.key)
		return h.index ? RMC_SCHEME_TORN : 0;
	return h.key == e->offset && h.index == e->version ? 0 : RMC_SCHEME_TORN;
}

/* Is there a slot that has been unused for long enough? */
int rmc_copy_ready(const struct rmc_sync *s)
{
	const struct free_copy *c = &s->copy[s->copy_head];

	return s->copies && (!c->not_before || monotonic_ns() >= c->not_before);
}

/* A slot for the new copy: 0 or -ENOSPC */
int rmc_copy_take(struct rmc_sync *s, struct entry *e)
{
	if (!rmc_copy_ready(s)) {
		rmc_copy_want(s, !s->wanted);
		return -ENOSPC;
	}
	e->copy = s->copy[s->copy_head].offset;
	s->copies--;
	s->copy_head = (s->copy_head + 1) % s->o.pool_slots;
	s->wanted -= !!s->wanted;
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

/*
 * A pool that was used before has copies that index words name, of this client's earlier life or
 * of others to whom a slot has gone since. So a slot is given when a look at its header, before
 * its first use, has shown that no copy was ever there: the index word of a copy is not 0.
 */
void rmc_copy_want(struct rmc_sync *s, int more)
{
	if (!s->unseen)
		return;
	s->wanted += more && s->wanted < sync_buffers(&s->o);
	s->looks_failed = 0;
	rmc_copy_look(s);
}

/* Slots that need no time, up to n; they are the first ones */
static unsigned int unused(const struct rmc_sync *s, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && i < s->copies; i++)
		if (s->copy[(s->copy_head + i) % s->o.pool_slots].not_before)
			break;
	return i;
}

void rmc_copy_look(struct rmc_sync *s)
{
	uint64_t bytes = rmc_sync_copy_bytes(s->o.max);
	int slot = sync_head(s);

	if (s->looking || s->stop || s->closing || !s->unseen || s->looks_failed >= LOOKS ||
	    unused(s, s->wanted) >= s->wanted || !sync_free_slots(s, 1))
		return;
	s->looking = 1;
	s->messages++;
	s->slot[slot].use = USE_LOOK;
	rmc_read_async(s->qp, slot, s->o.pool_nid, s->o.pool + (s->unseen - 1) * bytes,
		       &s->qp->operands[slot], sizeof(struct copy_header));
}

void rmc_copy_looked(struct rmc_sync *s, int slot, int status)
{
	struct copy_header h;

	s->looking = 0;
	if (status) {
		s->looks_failed += !rmc_sync_innocent(s, status);
		return;
	}
	s->looks_failed = 0;
	s->unseen--;
	memcpy(&h, &s->qp->operands[slot], sizeof(h));
	if (h.key || h.index)
		s->used_before++;
	else
		rmc_copy_give(s, s->o.pool + s->unseen * rmc_sync_copy_bytes(s->o.max), 0);
}

/* Will there be a slot, so that a commit can wait? If not, the message says why. */
int rmc_copy_comes(const struct rmc_sync *s)
{
	if (s->copies || s->looking || (s->unseen && s->looks_failed < LOOKS))
		return 1;
	if (s->unseen)
		rmc_fail(ENOSPC, "sync: the pool's next slot cannot be read");
	else
		rmc_fail(ENOSPC, "sync: no slot of the pool is free; %u of %u had copies from "
			 "before: each rmc_sync_open() needs a pool of zeros", s->used_before,
			 s->o.pool_slots);
	return 0;
}

/* --- the mark --- */

static uint64_t marked(const struct latch_owner *owner, uint64_t token, uint64_t expected,
		       const struct rmc_scheme_params *p)
{
	(void)p;
	return (expected & LINE_MASK << LINE_SHIFT) | MARK |
	       name_of(owner, MARK_NID_SHIFT, MARK_CLIENT_SHIFT) | (token & MARK_NUMBER_MASK) |
	       token >> MARK_NUMBER_LOW << MARK_NUMBER_SHIFT;
}

static enum latch_found found_index(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	return word & MARK ? LATCH_HELD : LATCH_STALE;
}

static int holder_mark(uint64_t word)
{
	return word & MARK ? nid_of_name(word >> MARK_NID_SHIFT & NAME_NID_MASK) : -1;
}

static unsigned int client_mark(uint64_t word)
{
	return client_of_name(word, MARK_CLIENT_SHIFT);
}

const struct latch rmc_latch_mark = {
	.name	= "mark",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_INDEX,
	.word	= marked,
	.found	= found_index,
	.held	= rmc_index_marked,
	.holder	= holder_mark,
	.client	= client_mark,
};
