// SPDX-License-Identifier: GPL-2.0
/*
 * Remote write: any length and alignment, line by line atomic (A14 section 4.1). RMC_OP_WRITE_ONCE
 * is the same, but not idempotent: others may write between two of it, so the RGP never repeats it.
 */
#include "../op.h"

/**
 * rmc_write_load() - copy a packet's data from the local buffer into the request
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: of the packet in the segment, bytes
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_write_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	u32 skip = offset & (RMC_LINE - 1);
	u64 from = e->lbuf_off + (offset - e->offset);
	u32 run = rmc_ring_run(tx, tx->pay_pos, skip, length);

	rmc_mem_get(e->lbuf, from, rmc_ring_line(tx, tx->pay_pos) + skip, run);
	if (unlikely(run < length))
		rmc_mem_get(e->lbuf, from + run, tx->pay, length - run);
}

/**
 * rmc_write_serve() - store the request's payload into the segment
 * @s: request and rings
 *
 * Return: RMC_S_OK.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_write_serve(struct rmc_serve *s)
{
	u32 skip = s->req.offset & (RMC_LINE - 1);
	u32 len = s->req.length;
	u32 run = rmc_ring_run(s->rx, s->rx_pay, skip, len);

	rmc_mem_store_lines(s->seg, s->req.offset, rmc_ring_line(s->rx, s->rx_pay) + skip, run);
	if (unlikely(run < len))
		rmc_mem_store_lines(s->seg, s->req.offset + run, s->rx->pay, len - run);
	return RMC_S_OK;
}

/**
 * rmc_write_complete() - a write's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_write_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/**
 * rmc_write_once_load() - as rmc_write_load()
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: of the packet in the segment, bytes
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_write_once_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_write_load(e, tx, offset, length);
}

/**
 * rmc_write_once_serve() - as rmc_write_serve()
 * @s: request and rings
 *
 * Return: RMC_S_OK.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_write_once_serve(struct rmc_serve *s)
{
	return rmc_write_serve(s);
}

/**
 * rmc_write_once_complete() - a write's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_write_once_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}
