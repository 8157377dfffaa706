// SPDX-License-Identifier: GPL-2.0
/* Remote read: any length and alignment, line by line atomic (A14 section 4.1). */
#include "../op.h"

/**
 * rmc_read_load() - a read request has no payload
 * @e: operation
 * @tx: request ring
 * @offset: of the packet in the segment, bytes
 * @length: of the packet, bytes
 */
void rmc_read_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_read_serve() - copy segment lines into the reply
 * @s: request and rings
 *
 * Return: RMC_S_OK; RMC_AGAIN: a line keeps changing.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_read_serve(struct rmc_serve *s)
{
	u32 skip = s->req.offset & (RMC_LINE - 1);
	u32 len = s->req.length;
	u32 run;

	/* a line is in one chunk, and does not wrap */
	if (likely(len == RMC_LINE && !skip))
		return likely(rmc_line_load((u64 *)rmc_ring_line(s->tx, s->tx->pay_pos),
					    rmc_mem_ptr(s->seg, s->req.offset))) ?
		       RMC_S_OK : RMC_AGAIN;
	run = rmc_ring_run(s->tx, s->tx->pay_pos, skip, len);
	if (unlikely(!rmc_mem_load_lines(s->seg, s->req.offset,
					 rmc_ring_line(s->tx, s->tx->pay_pos) + skip, run)))
		return RMC_AGAIN;
	if (unlikely(run < len &&
		     !rmc_mem_load_lines(s->seg, s->req.offset + run, s->tx->pay, len - run)))
		return RMC_AGAIN;
	return RMC_S_OK;
}

/**
 * rmc_read_complete() - copy a reply's payload into the local buffer
 * @e: operation; the packet lies within it, the RCP checked
 * @rx: reply ring, at the payload
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_read_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	u64 offset = rmc_word1_offset(word1);
	u32 len = rmc_word1_length(word1);
	u32 skip = offset & (RMC_LINE - 1);
	u64 to = e->lbuf_off + (offset - e->offset);
	u32 run;

	if (likely(len == RMC_LINE && !skip)) {
		rmc_mem_put(e->lbuf, to, rmc_ring_line(rx, rx->pay_pos), RMC_LINE);
		return;
	}
	run = rmc_ring_run(rx, rx->pay_pos, skip, len);
	rmc_mem_put(e->lbuf, to, rmc_ring_line(rx, rx->pay_pos) + skip, run);
	if (unlikely(run < len))
		rmc_mem_put(e->lbuf, to + run, rx->pay, len - run);
}
