// SPDX-License-Identifier: GPL-2.0
/*
 * Resume: an ordered queue pair that has stopped takes operations again (core/order.c). The
 * application posts it when it has seen what failed. No packet is sent.
 */
#include "../op.h"

/**
 * rmc_resume_prepare() - validate a resume's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_NO_PACKET; RMC_S_BAD_OP: the queue pair is not ordered.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_resume_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return qp->group ? RMC_NO_PACKET : RMC_S_BAD_OP;
}

/**
 * rmc_resume_load() - never called: no packet is sent
 * @e: operation
 * @tx: request ring
 * @offset: of the packet
 * @length: 0
 */
void rmc_resume_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_resume_serve() - refuse a packet: no RMC sends one
 * @s: request and rings
 *
 * Return: RMC_S_BAD_OP. Context: RRPP worker, does not sleep.
 */
u8 rmc_resume_serve(struct rmc_serve *s)
{
	return RMC_S_BAD_OP;
}

/**
 * rmc_resume_complete() - never called: no packet is sent
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_resume_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}
