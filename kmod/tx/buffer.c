// SPDX-License-Identifier: GPL-2.0
/*
 * Locking Buffers, as the owner of the segment sees them (HADES section V-B), and how a transaction
 * gives up its locks, or its turn to get them.
 */
#include "record.h"

/* One buffer's bits of a filter */
static void show(__u64 *filter, const struct rmc_tx_row *row, u64 bit, bool set)
{
	u64 words;
	u32 i, at;

	for (i = 0; i < RMC_TX_ROW; i++)
		for (words = row->bit[i]; words; words &= words - 1) {
			at = i * 64 + __ffs64(words);
			WRITE_ONCE(filter[at], set ? filter[at] | bit : filter[at] & ~bit);
		}
}

/**
 * rmc_tx_buffer_show() - the owner sees all lines that a transaction has locked
 * @p: participant
 * @t: transaction with a buffer
 */
void rmc_tx_buffer_show(struct rmc_tx_part *p, const struct rmc_tx_ref *t)
{
	u64 bit = 1ULL << (t->r->buffer - 1);

	if (!p->shared)
		return;
	show(p->shared->rd, &t->r->rd, bit, true);
	show(p->shared->wr, &t->r->wr, bit, true);
}

/**
 * rmc_tx_buffer_take() - a transaction gets a Locking Buffer, and its owner sees the locks
 * @p: participant with a free buffer
 * @t: transaction; what its filters get until rmc_tx_buffer_drop() has to be shown
 *
 * An owner that sees the buffer's bit of @mask sees its filters. One that does not, has not yet
 * passed its barrier, or has set its own bits in struct rmc_tx_local before the caller's barrier.
 */
void rmc_tx_buffer_take(struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	struct rmc_tx_locks *s = p->shared;
	u32 i = __ffs64(~p->buffers);
	u64 bit = 1ULL << i;

	p->buffers |= bit;
	p->locks++;
	t->r->buffer = 1 + i;
	rmc_tx_buffer_show(p, t);
	if (!s)
		return;
	if (t->g->source == 1 + p->limits.self)
		WRITE_ONCE(s->own, s->own | bit);
	/* pairs with the owner's load of the mask before it tests the filters */
	smp_store_release(&s->mask, s->mask | bit);
}

/**
 * rmc_tx_buffer_drop() - a transaction has no locks any more
 * @p: participant
 * @t: transaction with a buffer, whose lines are stored
 *
 * An owner that has loaded the mask before, and finds the bits cleared, finds the lines stored. If
 * it finds bits of the buffer's next transaction, that is a lock, too.
 */
void rmc_tx_buffer_drop(struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	struct rmc_tx_locks *s = p->shared;
	u64 bit = 1ULL << (t->r->buffer - 1);

	p->buffers &= ~bit;
	p->locks--;
	t->r->buffer = 0;
	if (!s)
		return;
	/* lines, then the mask */
	smp_store_release(&s->mask, s->mask & ~bit);
	/* the mask, then the bits */
	smp_mb();
	WRITE_ONCE(s->own, s->own & ~bit);
	show(s->rd, &t->r->rd, bit, false);
	show(s->wr, &t->r->wr, bit, false);
}

/**
 * rmc_tx_place_of() - place in the queue of those that wait for locks (HADES section VI)
 * @p: participant
 * @t: transaction
 *
 * Return: place; @p's waiters: it is not there.
 */
u32 rmc_tx_place_of(const struct rmc_tx_part *p, const struct rmc_tx_ref *t)
{
	u32 i;

	for (i = 0; i < p->waiters; i++)
		if (1U + p->waiter[i].source == t->g->source && p->waiter[i].slot == t->slot)
			break;
	return i;
}

/**
 * rmc_tx_leave_queue() - a transaction does not wait for locks any more
 * @p: participant
 * @t: transaction; nothing happens if it is not in the queue
 */
void rmc_tx_leave_queue(struct rmc_tx_part *p, const struct rmc_tx_ref *t)
{
	u32 i = rmc_tx_place_of(p, t);

	if (i == p->waiters)
		return;
	p->waiters--;
	memmove(&p->waiter[i], &p->waiter[i + 1], (p->waiters - i) * sizeof(p->waiter[0]));
	memset(&p->waiter[p->waiters], 0, sizeof(p->waiter[0]));
}

/**
 * rmc_tx_unlock() - a transaction gives up its locks, or stops to wait for them
 * @p: participant
 * @t: transaction, whose filters are as they were
 */
void rmc_tx_unlock(struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	if (t->g->reserved & t->bit)
		rmc_tx_leave_queue(p, t);
	if (t->r->buffer)
		rmc_tx_buffer_drop(p, t);
	t->g->locked &= ~t->bit;
	t->g->reserved &= ~t->bit;
	if (t->r->state == RMC_TX_LOCKED)
		t->r->state = RMC_TX_OPEN;
}
