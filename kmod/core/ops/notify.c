// SPDX-License-Identifier: GPL-2.0
/*
 * Remote interrupts (A14 section 8, first open issue): a notification wakes the
 * process that armed the segment. It is an operation of its own, or follows a
 * write: packets of one operation are served in order, and the last one has a flag.
 */
#include "../ct.h"
#include "../op.h"

/**
 * rmc_notify_load() - a notification has no payload
 * @e: operation
 * @tx: request ring
 * @offset: unused
 * @length: 0
 */
void rmc_notify_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_notify_serve() - count the notification and wake its waiters
 * @s: request and rings
 *
 * Return: RMC_S_OK.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_notify_serve(struct rmc_serve *s)
{
	rmc_event_happened(rmc_seg_notified(s->seg));
	return RMC_S_OK;
}

/**
 * rmc_notify_complete() - a notification's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_notify_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/**
 * rmc_write_notify_load() - copy a packet's data into the request
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: of the packet in the segment, bytes
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_write_notify_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset,
			   u32 length)
{
	rmc_write_load(e, tx, offset, length);
}

/**
 * rmc_write_notify_serve() - store the payload; notify after the last packet
 * @s: request and rings
 *
 * Return: RMC_S_OK.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_write_notify_serve(struct rmc_serve *s)
{
	rmc_write_serve(s);
	if (s->word1 & RMC_REQ_LAST)
		rmc_event_happened(rmc_seg_notified(s->seg));
	return RMC_S_OK;
}

/**
 * rmc_write_notify_complete() - a write's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_write_notify_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}
