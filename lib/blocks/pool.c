/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Free blocks. A client takes a chunk of an area's blocks that were never used by a fetch-and-add
 * of the area's word "next", and single blocks that were freed by clearing their bits. What it
 * frees itself, it uses again, after the time of grace; what it cannot use, it gives back by
 * setting bits:
 *
 *	next --> chunk of this client --.			 .--> bit of the area, when there
 *	bits --------------------------- > block --> retired[] --<     are too many, or at the end
 *		 after grace, retired[] /	     grace	 '--> a block of this client again
 *
 * A block that is not in use says so itself (RMC_BLOCK_FREE): it is not freed twice, nor taken
 * twice.
 *
 * If it is not known whether a word was changed, the blocks in question stay unused.
 */
#include <string.h>
#include "state.h"

#define BITS		64
#define LINE_WORDS	(RMC_CACHE_LINE / sizeof(uint64_t))

static uint64_t word_offset(const struct remote *r, uint64_t word)
{
	return r->o.offset + r->shape.free_at + word * sizeof(uint64_t);
}

static int area_nid(const struct remote *r, unsigned int area)
{
	return r->o.first_nid + (int)area;
}

/* Set or clear a block's bit: 0; -EALREADY: it is so already; or a status: not known */
static int change_bit(struct remote *r, unsigned int area, uint64_t number, bool set)
{
	uint64_t offset = word_offset(r, number / BITS), bit = 1ULL << number % BITS, was, old;
	unsigned int i;
	int err;

	r->stats.allocations++;
	err = rmc_read(r->qp, area_nid(r, area), offset, r->scratch, sizeof(*r->scratch));
	was = *r->scratch;
	for (i = 0; !err && i < r->o.attempts; i++) {
		if (!!(was & bit) == set)
			return -EALREADY;
		r->stats.allocations++;
		err = rmc_cas(r->qp, area_nid(r, area), offset, was, was ^ bit, &old);
		if (!err && old == was)
			return 0;
		was = old;
	}
	r->stats.lost += err == RMC_S_TIMEOUT;
	return err ? err : -EAGAIN;
}

/* --- what this client has --- */

/* Into the area's bits */
static void give_back(struct remote *r, uint64_t at)
{
	unsigned int area;
	uint64_t number;

	if (rmc_remote_locate(r, at, &area, &number) || change_bit(r, area, number, true))
		r->stats.leaked++;
}

static uint64_t take_retired(struct remote *r)
{
	uint64_t at = r->retired[r->retired_head % RETIRED].at;

	rmc_remote_until(r, r->retired[r->retired_head % RETIRED].not_before);
	r->retired_head++;
	r->retired_count--;
	return at;
}

/* not_before: its time of grace; 0: nobody has its address, so it is the next one */
void rmc_remote_unused(struct remote *r, uint64_t at, uint64_t not_before)
{
	struct retired *to;

	if (r->retired_count == RETIRED)
		give_back(r, take_retired(r));
	if (not_before)
		to = &r->retired[(r->retired_head + r->retired_count) % RETIRED];
	else
		to = &r->retired[--r->retired_head % RETIRED];
	to->at = at;
	to->not_before = not_before;
	r->retired_count++;
}

/* At the end, with all that was taken */
void rmc_remote_give_back(struct remote *r)
{
	unsigned int area;

	for (area = 0; area < r->o.nodes; area++) {
		struct chunk *c = &r->chunk[area];

		for (; c->next < c->end; c->next++)
			give_back(r, block_at(r, area, c->next));
	}
	while (r->retired_count)
		give_back(r, take_retired(r));
}

/* --- what areas have --- */

static int take_chunk(struct remote *r, unsigned int area)
{
	struct chunk *c = &r->chunk[area];
	uint64_t first;
	int err;

	if (c->exhausted)
		return -ENOSPC;
	r->stats.allocations++;
	err = rmc_faa(r->qp, area_nid(r, area), r->o.offset + r->shape.next_at, r->o.chunk, &first);
	if (err) {
		/* perhaps it was taken */
		r->stats.leaked += err == RMC_S_TIMEOUT ? r->o.chunk : 0;
		r->stats.lost += err == RMC_S_TIMEOUT;
		return err;
	}
	c->exhausted = first >= r->o.capacity || r->o.chunk >= r->o.capacity - first;
	if (first >= r->o.capacity)
		return -ENOSPC;
	if (first < r->o.fixed)
		return -EPROTO;
	c->next = first;
	c->end = c->exhausted ? r->o.capacity : first + r->o.chunk;
	return 0;
}

/* One block of which a bit is set, from where the last one was found: all words once at most */
static int take_freed(struct remote *r, unsigned int area, uint64_t *at)
{
	uint64_t words = (r->o.capacity + BITS - 1) / BITS, word, number, lines, i;
	struct chunk *c = &r->chunk[area];
	int err;

	lines = (words + LINE_WORDS - 1) / LINE_WORDS;
	for (; lines; lines--) {
		word = c->word - c->word % LINE_WORDS;
		r->stats.allocations++;
		err = rmc_read(r->qp, area_nid(r, area), word_offset(r, word), r->scratch,
			       RMC_CACHE_LINE);
		if (err)
			return err;
		for (i = 0; i < LINE_WORDS && !r->scratch[i]; i++)
			;
		if (i == LINE_WORDS) {
			c->word = word + LINE_WORDS < words ? word + LINE_WORDS : 0;
			continue;
		}
		c->word = word;
		number = (word + i) * BITS + (uint64_t)__builtin_ctzll(r->scratch[i]);
		if (number < r->o.fixed || number >= r->o.capacity)
			return -EPROTO;
		*at = block_at(r, area, number);
		err = change_bit(r, area, number, false);
		/* another client was faster */
		if (err == -EALREADY || err == -EAGAIN)
			return RMC_BLOCK_RESTART;
		r->stats.leaked += err == RMC_S_TIMEOUT;
		return err;
	}
	return -ENOSPC;
}

static int take(struct remote *r, unsigned int area, uint64_t *at)
{
	struct chunk *c = &r->chunk[area];
	int err = 0;

	if (c->next >= c->end)
		err = take_chunk(r, area);
	if (!err)
		*at = block_at(r, area, c->next++);
	else if (err == -ENOSPC)
		err = take_freed(r, area, at);
	return err;
}

/* A block that nobody else has: 0 or a status */
static int find_block(struct remote *r, uint64_t near, uint64_t *at)
{
	unsigned int first = near ? (unsigned int)(at_nid(near) - r->o.first_nid) : r->turn++, i;
	const struct retired *oldest = &r->retired[r->retired_head % RETIRED];
	int err = -ENOSPC;

	if (r->retired_count && oldest->not_before <= rmc_now_ns() &&
	    (!near || at_nid(near) == at_nid(oldest->at))) {
		*at = take_retired(r);
		return 0;
	}
	for (i = 0; i < r->o.nodes && err == -ENOSPC; i++)
		err = take(r, (first + i) % r->o.nodes, at);
	if (err == -ENOSPC && r->retired_count) {
		*at = take_retired(r);
		err = 0;
	}
	return err;
}

/* --- the accessor --- */

static uint16_t kind_of(const struct rmc_block_hold *h)
{
	uint16_t kind;

	memcpy(&kind, h->data, sizeof(kind));
	return kind;
}

int rmc_remote_alloc(struct rmc_blocks *a, uint64_t near, struct rmc_block_hold *h)
{
	struct remote *r = remote_of(a);
	uint64_t at = 0;
	int err = find_block(r, near, &at);

	if (err)
		return err;
	err = rmc_remote_enter(r, at, RMC_BLOCK_WRITE, h);
	if (err) {
		rmc_remote_unused(r, at, 0);
		return err;
	}
	if (kind_of(h) && kind_of(h) != RMC_BLOCK_FREE) {
		/* two have it, or its area is damaged: it stays as it is */
		rmc_remote_cancel(r, h);
		r->stats.leaked++;
		return -EPROTO;
	}
	memset(h->data, 0, a->bytes);
	h->dirty = true;
	h->fresh = true;
	return 0;
}

int rmc_remote_retire(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	static const uint16_t kind = RMC_BLOCK_FREE;
	struct remote *r = remote_of(a);
	uint64_t at = h->at, number;
	unsigned int area;
	int err;

	if (rmc_remote_locate(r, at, &area, &number) || number < r->o.fixed ||
	    h->mode != RMC_BLOCK_WRITE || h->fresh || !kind_of(h) || kind_of(h) == RMC_BLOCK_FREE)
		return -EINVAL;
	memset(h->data, 0, a->bytes);
	memcpy(h->data, &kind, sizeof(kind));
	h->dirty = true;
	err = rmc_remote_leave(r, h);
	if (err) {
		r->stats.leaked++;
		return err;
	}
	rmc_remote_unused(r, at, rmc_now_ns() + r->o.grace_us * 1000ULL);
	return 0;
}
