// SPDX-License-Identifier: GPL-2.0
/* Locking Buffers, as the owner of the segment sees them (HADES section V-B). */
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
