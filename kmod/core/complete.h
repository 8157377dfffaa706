/* SPDX-License-Identifier: GPL-2.0 */
/* The end of an operation: post its CQ entry and free its ITT entry. */
#ifndef RMC_COMPLETE_H
#define RMC_COMPLETE_H

#include "account.h"

/* Stop unrolling an operation that ends. */
static __always_inline void rmc_op_stop(struct rmc_node *node, struct rmc_itt_entry *e)
{
	u16 tid = e - node->itt.entry;
	struct rmc_out *out;

	if (likely(e->qp->cur_tid != tid))
		return;
	e->qp->cur_tid = RMC_TID_NONE;
	/* only announced operations set it, each at its one RRPP */
	out = node->out[rmc_home(node->fabric, e->nid, e->offset)];
	if (out && out->announcing == tid)
		out->announcing = RMC_TID_NONE;
}

/* Complete an operation and free its ITT entry. */
static __always_inline void rmc_op_end(struct rmc_node *node, struct rmc_itt_entry *e, u8 status)
{
	struct rmc_qpair *qp = e->qp;

	rmc_account_completion(node, e->nid, e - node->itt.entry, e->slot, status);
	rmc_op_stop(node, e);
	rmc_cq_post(qp, e->slot, status);
	rmc_itt_free(&node->itt, e);
}

void rmc_op_finish(struct rmc_node *node, struct rmc_itt_entry *e, u8 status);

#endif
