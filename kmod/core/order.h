/* SPDX-License-Identifier: GPL-2.0 */
/* Ordered queue pairs, at the requester: see order.c. */
#ifndef RMC_CORE_ORDER_H
#define RMC_CORE_ORDER_H

#include "node.h"

/**
 * struct rmc_order_to - what an ordered queue pair has in flight to one node, of several RRPPs
 * @ep: endpoint of the writes and atomics, or of the next ones
 * @writes: packets of writes without reply
 * @atomics: the same of atomics
 * @notifier: write with a notification, until it ends; NULL: none
 */
struct rmc_order_to {
	u32 ep;
	u32 writes;
	u32 atomics;
	const struct rmc_itt_entry *notifier;
};

/* Memory that an ordered queue pair has besides its rings, in bytes */
static inline u32 rmc_order_bytes(const struct rmc_fabric *f)
{
	return f->rrpp_order ? f->nodes * sizeof(struct rmc_order_to) : 0;
}

int rmc_order_init(struct rmc_qpair *qp, bool relayed);
void rmc_order_destroy(struct rmc_qpair *qp);
void rmc_order_join(struct rmc_qpair *qp);
void rmc_order_leave(struct rmc_qpair *qp);
bool rmc_order_may_begin(struct rmc_node *node, const struct rmc_qpair *qp, u32 nid);
void rmc_order_begin(struct rmc_node *node, const struct rmc_itt_entry *e);
bool rmc_order_home(const struct rmc_itt_entry *e, u32 ep);
void rmc_order_sent(struct rmc_out *out, const struct rmc_itt_entry *e, u32 packets);
const struct rmc_itt_entry *rmc_order_answered(const struct rmc_qpair *qp,
					       const struct rmc_itt_entry *e, u32 packets);
void rmc_order_end(struct rmc_qpair *qp, const struct rmc_itt_entry *e);
void rmc_order_late(const struct rmc_qpair *qp, const struct rmc_itt_entry *e, struct rmc_track *t);
void rmc_order_came(struct rmc_node *node, struct rmc_track *t, bool all);
void rmc_order_refused(struct rmc_qpair *qp, u8 op, u8 status);
void rmc_order_tick(struct rmc_node *node);
bool rmc_order_hurry(struct rmc_node *node, u32 nid);
bool rmc_order_told(struct rmc_node *node, struct rmc_out *out, const struct rmc_rep *p);

/* True if an entry of an ordered queue pair's WQ is aborted: see RMC_OP_RESUME. */
static inline bool rmc_order_aborts(const struct rmc_qpair *qp, u16 flags)
{
	return unlikely(qp->stopped) && rmc_rank(flags);
}

/* Bits of the second word of a group's requests on a channel */
static inline u64 rmc_order_bits(const struct rmc_out *out, u32 group)
{
	return (u64)group << RMC_REQ_GROUP_SHIFT |
	       (out->renewed & 1U << group ? RMC_REQ_RENEWED : 0);
}

/* The same of an ordered operation */
static inline u64 rmc_order_word1(const struct rmc_out *out, const struct rmc_itt_entry *e)
{
	return rmc_order_bits(out, e->qp->group);
}

#endif
