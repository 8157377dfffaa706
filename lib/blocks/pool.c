/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Free blocks. A client takes a chunk of an area's blocks that were never used by a fetch-and-add
 * of the area's word "next", and single blocks that were freed by clearing their bits. What it
 * frees itself, it uses again; what it cannot use, it gives back by setting bits:
 *
 *	next --> chunk of this client --.			 .--> bit of the area, when there
 *	bits --> spare[] --------------- > block --> spare[] ---<     are too many, or at the end
 *						 \		 '--> a block of this client again
 *						  '- in doubt (settle.c): when its latch is released
 *
 * Allocation takes what the client has. If that is nothing, the structure restarts, and the search
 * in the areas is done while it holds no block (rmc_remote_refill()).
 *
 * A block that is not in use says so itself (RMC_BLOCK_FREE): it is not freed twice, nor taken
 * twice. One that cannot be entered is tried again later, a few times, and not given back: the next
 * client could not enter it either.
 *
 * If it is not known whether a word was changed, the blocks in question stay unused. A late
 * operation on a word of bits may change a bit once more: such a block is unused as well, or its
 * kind shows that it is in use.
 */
#include <string.h>
#include "state.h"

#define WORD_BITS	64
#define LINE_WORDS	(RMC_CACHE_LINE / sizeof(uint64_t))
#define ALLOC_TRIES	4	/* blocks that cannot be entered, or are in use */
#define VISITS		3	/* times that a block could not be entered, until it is given up */
#define EMPTY_NS	10000000	/* an area that had no free block is not searched again */
#define SPARES_KEPT	(BLOCK_SPARES / 2)

static uint64_t word_offset(const struct remote *r, uint64_t word)
{
	return r->o.offset + r->shape.free_at + word * sizeof(uint64_t);
}

/* Set or clear a block's bit: 0; -EALREADY: it is so already; -EAGAIN; or a status: not known */
static int change_bit(struct remote *r, unsigned int area, uint64_t number, bool set)
{
	uint64_t offset = word_offset(r, number / WORD_BITS), was, old;
	uint64_t bit = 1ULL << number % WORD_BITS;
	unsigned int i, none = BLOCK_TRIES;
	int err;

	rmc_remote_alone(r);
	r->stats.allocations++;
	err = rmc_read(r->qp, area_nid(r, area), offset, r->scratch, sizeof(*r->scratch));
	was = *r->scratch;
	for (i = 0; !err && i < BLOCK_ENTERS; i++) {
		if (!!(was & bit) == set)
			return -EALREADY;
		r->stats.allocations++;
		err = rmc_cas(r->qp, area_nid(r, area), offset, was, was ^ bit, &old);
		if (!err && old == was)
			return 0;
		was = old;
	}
	rmc_remote_again(r, area, err, &none);
	return err ? err : -EAGAIN;
}

/* --- what this client has --- */

/* Into the area's bits */
static int give_back(struct remote *r, uint64_t at)
{
	unsigned int area;
	uint64_t number;
	int err = rmc_remote_locate(r, at, &area, &number);

	if (!err)
		err = rmc_remote_check_area(r, area);
	return err ? err : change_bit(r, area, number, true);
}

/* The oldest one, or the oldest one of this node (0: any): false: there is none */
static bool take_spare(struct remote *r, uint64_t beside, struct spare *s)
{
	unsigned int i, k;

	for (i = 0; i < r->spare_count; i++) {
		*s = r->spare[(r->spare_head + i) % BLOCK_SPARES];
		if (!beside || at_nid(s->at) == at_nid(beside))
			break;
	}
	if (i == r->spare_count)
		return false;
	for (k = i; k; k--)
		r->spare[(r->spare_head + k) % BLOCK_SPARES] =
			r->spare[(r->spare_head + k - 1) % BLOCK_SPARES];
	r->spare_head = (r->spare_head + 1) % BLOCK_SPARES;
	r->spare_count--;
	return true;
}

static void keep_spare(struct remote *r, struct spare s)
{
	if (r->spare_count == BLOCK_SPARES || s.visits == VISITS) {
		r->stats.leaked++;
		return;
	}
	r->spare[(r->spare_head + r->spare_count++) % BLOCK_SPARES] = s;
}

void rmc_remote_unused(struct remote *r, uint64_t at)
{
	keep_spare(r, (struct spare){ .at = at });
}

/* When an operation has ended: not more than is likely to be needed */
void rmc_remote_trim(struct remote *r)
{
	unsigned int n = r->spare_count;
	struct spare s;
	int err;

	for (; n > SPARES_KEPT && take_spare(r, 0, &s); n--) {
		err = s.visits || rmc_now_ns() >= r->deadline ? -EAGAIN : give_back(r, s.at);
		if (err == -EAGAIN)
			keep_spare(r, s);
		else
			r->stats.leaked += !!err;
	}
}

/* At the end, with all that was taken; nothing more of an area after the first failure */
void rmc_remote_give_back(struct remote *r)
{
	unsigned int area;
	struct spare s;

	for (area = 0; area < r->o.nodes; area++) {
		struct chunk *c = &r->chunk[area];

		for (; c->next < c->end && !c->gone; c->next++) {
			if (give_back(r, block_at(r, area, c->next))) {
				r->stats.leaked += c->end - c->next;
				c->gone = true;
			}
		}
	}
	while (take_spare(r, 0, &s)) {
		struct chunk *c = &r->chunk[at_area(r, s.at)];

		if (s.visits || c->gone || give_back(r, s.at)) {
			r->stats.leaked++;
			c->gone |= !s.visits;
		}
	}
}

/* --- what areas have: nothing is held --- */

static int take_chunk(struct remote *r, unsigned int area)
{
	unsigned int none = BLOCK_TRIES;
	struct chunk *c = &r->chunk[area];
	uint64_t first;
	int err;

	if (c->exhausted)
		return -ENOSPC;
	rmc_remote_alone(r);
	r->stats.allocations++;
	err = rmc_faa(r->qp, area_nid(r, area), r->o.offset + r->shape.next_at, r->o.chunk, &first);
	if (err) {
		/* perhaps it was taken */
		r->stats.leaked += err == RMC_S_TIMEOUT ? r->o.chunk : 0;
		rmc_remote_again(r, area, err, &none);
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

/* The first bit of a line that is set: 0, -ENOSPC: none, RMC_BLOCK_RESTART: another one has it */
static int take_of_line(struct remote *r, unsigned int area, uint64_t word)
{
	unsigned int i, none = BLOCK_TRIES;
	uint64_t number;
	int err;

	rmc_remote_alone(r);
	r->stats.allocations++;
	err = rmc_read(r->qp, area_nid(r, area), word_offset(r, word), r->scratch, RMC_CACHE_LINE);
	rmc_remote_again(r, area, err, &none);
	if (err)
		return err;
	for (i = 0; i < LINE_WORDS && !r->scratch[i]; i++)
		;
	if (i == LINE_WORDS)
		return -ENOSPC;
	number = (word + i) * WORD_BITS + (uint64_t)__builtin_ctzll(r->scratch[i]);
	if (number < r->o.fixed || number >= r->o.capacity)
		return -EPROTO;
	err = change_bit(r, area, number, false);
	if (!err)
		rmc_remote_unused(r, block_at(r, area, number));
	else if (err == -EALREADY || err == -EAGAIN)
		err = RMC_BLOCK_RESTART;
	r->stats.leaked += err == RMC_S_TIMEOUT;
	return err;
}

/* A block of which a bit is set, from where the last one was found: all words once at most */
static int take_freed(struct remote *r, unsigned int area)
{
	uint64_t words = (r->o.capacity + WORD_BITS - 1) / WORD_BITS, lines;
	struct chunk *c = &r->chunk[area];
	int err;

	if (c->empty_at && rmc_now_ns() - c->empty_at < EMPTY_NS)
		return -ENOSPC;
	c->empty_at = 0;
	for (lines = (words + LINE_WORDS - 1) / LINE_WORDS; lines; lines--) {
		err = take_of_line(r, area, c->word);
		if (err != -ENOSPC)
			return err;
		c->word = c->word + LINE_WORDS < words ? c->word + LINE_WORDS : 0;
		if (rmc_now_ns() >= r->deadline)
			return -EAGAIN;
	}
	c->empty_at = rmc_now_ns();
	return -ENOSPC;
}

/* Blocks for this client: 0; or alloc()'s result, if it still has none: -ENOSPC, a status */
int rmc_remote_refill(struct remote *r)
{
	unsigned int i, area;
	int err, result = -ENOSPC;

	for (i = 0; i < r->o.nodes; i++) {
		area = (r->refill_area + i) % r->o.nodes;
		err = rmc_remote_check_area(r, area);
		if (!err)
			err = take_chunk(r, area);
		if (err == -ENOSPC)
			err = take_freed(r, area);
		if (!err || err == RMC_BLOCK_RESTART)
			return 0;
		if (err != -ENOSPC)
			result = err;
	}
	return result;
}

/* --- the accessor --- */

static uint16_t kind_of(const struct rmc_block_hold *h)
{
	uint16_t kind;

	memcpy(&kind, h->data, sizeof(kind));
	return kind;
}

static bool of_chunk(struct remote *r, unsigned int area, struct spare *s)
{
	struct chunk *c = &r->chunk[area];

	if (c->next >= c->end)
		return false;
	*s = (struct spare){ .at = block_at(r, area, c->next++) };
	return true;
}

/* A block that nobody else has: 0, RMC_BLOCK_RESTART: after a search, or what that has found */
static int take(struct remote *r, uint64_t beside, struct spare *s)
{
	unsigned int first = beside ? at_area(r, beside) : r->turn++ % r->o.nodes, i;

	if (take_spare(r, beside, s) || of_chunk(r, first, s))
		return 0;
	/* the area may have others */
	if (r->chunk[first].exhausted || r->refilled) {
		if (take_spare(r, 0, s))
			return 0;
		for (i = 0; i < r->o.nodes; i++)
			if (of_chunk(r, i, s))
				return 0;
	}
	if (r->refill_status)
		return r->refill_status;
	r->refill = true;
	r->refill_area = first;
	return RMC_BLOCK_RESTART;
}

/* Enter a block that is this client's: 0; RMC_BLOCK_RESTART: it cannot be; or a status */
static int enter_spare(struct remote *r, struct spare s, struct rmc_block_hold *h)
{
	int err = rmc_remote_enter(r, s.at, RMC_BLOCK_WRITE, 1, h);
	struct doubt *d;

	if (err && err != RMC_BLOCK_RESTART) {
		/* if it is in doubt, it comes back when that ends */
		d = rmc_remote_doubt_of(r, s.at);
		if (d)
			d->unused = true;
		else
			keep_spare(r, s);
	}
	return err;
}

/* As rmc_remote_alloc(); blocks that cannot be entered are left in passed */
static int alloc_of(struct remote *r, uint64_t beside, struct rmc_block_hold *h,
		    struct spare *passed, unsigned int *n)
{
	struct spare s = { .at = 0 };
	unsigned int i;
	int err;

	for (i = 0; i < ALLOC_TRIES; i++) {
		err = take(r, beside, &s);
		if (err)
			return err;
		err = enter_spare(r, s, h);
		if (err == RMC_BLOCK_RESTART) {
			s.visits++;
			passed[(*n)++] = s;
			continue;
		}
		if (err || !kind_of(h) || kind_of(h) == RMC_BLOCK_FREE)
			return err;
		/* two have it, or its area is damaged: it stays as it is */
		rmc_remote_cancel(r, h);
		r->stats.leaked++;
	}
	return RMC_BLOCK_RESTART;
}

int rmc_remote_alloc(struct rmc_blocks *blocks, uint64_t beside, struct rmc_block_hold *h)
{
	struct remote *r = remote_of(blocks);
	struct spare passed[ALLOC_TRIES];
	unsigned int n = 0;
	int err = alloc_of(r, beside, h, passed, &n);

	/* for later */
	while (n)
		keep_spare(r, passed[--n]);
	if (err)
		return err;
	memset(h->data, 0, blocks->bytes);
	h->dirty = true;
	h->fresh = true;
	return 0;
}

int rmc_remote_retire(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	static const uint16_t kind = RMC_BLOCK_FREE;
	struct remote *r = remote_of(blocks);
	unsigned int area;
	uint64_t number;

	if (rmc_remote_locate(r, h->at, &area, &number) || number < r->o.fixed ||
	    h->mode != RMC_BLOCK_WRITE || h->fresh || !kind_of(h) || kind_of(h) == RMC_BLOCK_FREE)
		return -EINVAL;
	memset(h->data, 0, blocks->bytes);
	memcpy(h->data, &kind, sizeof(kind));
	h->dirty = true;
	return rmc_remote_leave(r, h, true);
}
