/* SPDX-License-Identifier: GPL-2.0 */
/* Entries of a WQ as the RGP takes them: snapshot, validation. */
#ifndef RMC_ENTRY_H
#define RMC_ENTRY_H

#include "node.h"
#include "op.h"
#include "order.h"

/* Snapshot of the @head-th entry, if the application has published it. */
static __always_inline bool rmc_entry_take(const struct rmc_qpair *qp, u32 head, struct rmc_wqe *w)
{
	const u16 slot = head & qp->mask;
	struct rmc_wq_entry *s = &qp->wq[slot];
	/* pairs with the application's release of word0 */
	u64 word0 = rmc_phase_load(&s->word0), word1;

	if (!rmc_phase_is(word0, head, qp->order))
		return false;
	word1 = READ_ONCE(s->word1);
	/* an application that posts many entries has also written those of the next line */
	if (!(slot % (RMC_LINE / sizeof(*s))))
		prefetch(&qp->wq[(slot + RMC_LINE / sizeof(*s)) & qp->mask]);
	w->op = ((word0 >> RMC_WQE_OP_SHIFT) & RMC_WQE_OP_MASK) + qp->op_base;
	w->nid = (word0 >> RMC_WQE_NID_SHIFT) & RMC_WQE_NID_MASK;
	w->lbuf = word0 >> RMC_WQE_LBUF_SHIFT;
	w->offset = word1 & RMC_WQE_OFFSET_MASK;
	w->length = word1 >> RMC_WQE_LEN_SHIFT;
	w->operand = w->length;
	return true;
}

/* Validate a snapshot. On success *mem is the local buffer. */
static __always_inline u8 rmc_entry_validate(struct rmc_qpair *qp, struct rmc_wqe *w,
					     struct rmc_mem **mem, const bool ordered)
{
	u16 flags = rmc_op_flags(w->op);
	u8 status;

	if (ordered && rmc_order_aborts(qp, flags))
		return RMC_S_ABORTED;
	if (unlikely(!flags))
		return RMC_S_BAD_OP;
	if (unlikely(!w->length != !!(flags & RMC_OPF_EMPTY)))
		return RMC_S_BAD_LENGTH;
	if (flags & RMC_OPF_PREPARE) {
		status = rmc_op_prepare(qp, w);
		if (unlikely(status))
			return status;
	}
	if (unlikely(w->nid >= qp->node->fabric->nodes))
		return RMC_S_BAD_NODE;
	/* packets have 40 bits of the offset, which must not wrap */
	if (unlikely(w->offset + w->length > RMC_OFFSET_MAX + 1))
		return RMC_S_OUT_OF_RANGE;
	*mem = NULL;
	if (flags & RMC_OPF_EMPTY)
		return RMC_S_OK;
	*mem = rmc_bufs_find(qp->bufs, w->lbuf, w->operand);
	return likely(*mem) ? RMC_S_OK : RMC_S_BAD_LBUF;
}

#endif
