/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings between nodes: one producer, one consumer, no shared index.
 *
 * A ring is an array of 16-byte descriptors (four per line) and an array of payload
 * lines, both in memory that the peer can write. The top byte of a descriptor is the lap
 * number; the consumer computes the expected lap from its private position. Positions and
 * masks are private, so accesses stay inside the ring whatever a hostile producer writes.
 *
 * There are no credits to return: a channel holds as many reply slots as
 * request slots, the requester keeps at most that many requests without reply
 * in flight, and every request gets one reply. So a requester with a credit knows that the
 * slot of its request, the slot of the reply and the lines of both are free:
 *
 *   request slot j is free   when the consumer copied request j - R,
 *                            which it did before sending reply j - R;
 *   reply slot i is free     when the requester consumed reply i - R,
 *                            which it did before sending request i.
 *
 * Replies need not come in the order of requests (att.c delays some). The i-th reply, of
 * whichever request, is not sent before i requests were received, and request slots are
 * copied in order.
 *
 * Ordering: the producer writes payload and word1, then word0 with release in
 * rmc_ring_put(); the consumer loads word0 with acquire in rmc_ring_peek().
 * The same pairs carry "slot is free" backwards.
 *
 * Each pair of epochs begins at its own lap, rmc_ring_begin(). A paused kernel whose node id
 * was reassigned still uses its old lap numbers: consumers ignore its descriptors, and it
 * ignores those for its successor, except that 1 pair of 255 has the same laps.
 */
#ifndef RMC_RING_H
#define RMC_RING_H

#include "line.h"

struct rmc_desc {
	u64 word0;	/* lap << 56 | ... */
	u64 word1;
};

/**
 * struct rmc_ring - one end of a ring; private to the worker that uses it
 * @desc: shared descriptors
 * @pay: shared payload lines
 * @pos: descriptors produced or consumed so far
 * @pay_pos: payload lines produced or consumed so far
 * @order: log2 of the number of descriptors
 * @mask: number of descriptors - 1
 * @pay_mask: number of payload lines - 1
 */
struct rmc_ring {
	struct rmc_desc *desc;
	u8 *pay;
	u32 pos;
	u32 pay_pos;
	u32 order;
	u32 mask;
	u32 pay_mask;
};

static inline size_t rmc_ring_bytes(u32 order, u32 pay_order)
{
	return ((sizeof(struct rmc_desc) << order) + RMC_LINE - 1) / RMC_LINE * RMC_LINE +
	       ((size_t)RMC_LINE << pay_order);
}

static inline void rmc_ring_init(struct rmc_ring *r, void *mem, u32 order, u32 pay_order)
{
	r->desc = mem;
	r->pay = (u8 *)mem + rmc_ring_bytes(order, pay_order) -
		 ((size_t)RMC_LINE << pay_order);
	r->pos = 0;
	r->pay_pos = 0;
	r->order = order;
	r->mask = (1U << order) - 1;
	r->pay_mask = (1U << pay_order) - 1;
}

/*
 * Set the start position for these two epochs; both ends know both epochs. Ends of
 * different epochs have the same lap number only by chance.
 */
static inline void rmc_ring_begin(struct rmc_ring *r, u32 requester, u32 server)
{
	r->pos = (((requester - 1) * 37 + (server - 1) * 101) % 255) << r->order;
}

/* Lap of a position; never 0 on the first lap, so zeroed memory is empty. */
static inline u64 rmc_ring_lap(const struct rmc_ring *r, u32 pos)
{
	return (u64)(u8)((pos >> r->order) + 1) << 56;
}

/* Publish the next descriptor. word0 has its top byte clear. */
static inline void rmc_ring_put(struct rmc_ring *r, u64 word0, u64 word1)
{
	struct rmc_desc *d = &r->desc[r->pos & r->mask];

	WRITE_ONCE(d->word1, word1);
	/* pairs with the acquire in rmc_ring_peek() on the other side */
	smp_store_release(&d->word0, word0 | rmc_ring_lap(r, r->pos));
	r->pos++;
}

/**
 * rmc_ring_peek() - snapshot the descriptor @ahead of the position
 * @r: consumer's end
 * @ahead: 0 for the next one
 * @d: out, private copy
 *
 * Return: false when it has not been published yet.
 */
static inline bool rmc_ring_peek(const struct rmc_ring *r, u32 ahead, struct rmc_desc *d)
{
	u32 pos = r->pos + ahead;
	struct rmc_desc *s = &r->desc[pos & r->mask];

	/* pairs with the release in rmc_ring_put() on the other side */
	d->word0 = smp_load_acquire(&s->word0);
	if ((d->word0 ^ rmc_ring_lap(r, pos)) >> 56)
		return false;
	d->word1 = READ_ONCE(s->word1);
	return true;
}

/* True if a descriptor is published. Orders nothing: rmc_ring_peek() does. */
static inline bool rmc_ring_ready(const struct rmc_ring *r)
{
	return !((READ_ONCE(r->desc[r->pos & r->mask].word0) ^ rmc_ring_lap(r, r->pos)) >> 56);
}

static inline u8 *rmc_ring_line(const struct rmc_ring *r, u32 pay_pos)
{
	return r->pay + (size_t)(pay_pos & r->pay_mask) * RMC_LINE;
}

/*
 * A payload starts at the line offset its memory has at the destination and
 * may wrap at the end of the payload array. Bytes before the wrap:
 */
static inline u32 rmc_ring_run(const struct rmc_ring *r, u32 pay_pos, u32 skip, u32 len)
{
	u32 left;

	if (likely(skip + len <= RMC_LINE))
		return len;
	left = (r->pay_mask + 1 - (pay_pos & r->pay_mask)) * RMC_LINE - skip;
	return min(left, len);
}

#endif
