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
