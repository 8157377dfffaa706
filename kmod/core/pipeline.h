/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages, in the order data flows (A14 figure 4, T18 section 3.3):
 *
 *   WQ --> rmc_rgp_poll --> request ring --> rmc_rrpp_poll --> rmc_att_poll
 *                                                 |                 |
 *   CQ <-- rmc_rcp_poll <--- reply ring  <--------+-----------------+
 *
 * Each call looks once, handles at most a batch per source, never blocks and
 * never sleeps, and returns how many packets or entries it handled. RGP and
 * RCP of a unit run on one worker, its RRPP on the same or another; no stage
 * knows which.
 */
#ifndef RMC_PIPELINE_H
#define RMC_PIPELINE_H

#include "node.h"

u32 rmc_rgp_poll(struct rmc_qp *qp);
void rmc_rgp_resume(struct rmc_node *node);
void rmc_rgp_notify(struct rmc_node *node, u16 tid);
u32 rmc_rrpp_poll(struct rmc_node *node);
u32 rmc_rcp_poll(struct rmc_node *node);

/*
 * True if a transfer whose requests have all arrived may be served at once: it fits one run
 * plus the line of an object's header, and the ring's payload.
 */
static inline bool rmc_xfer_short(const struct rmc_fabric *f, bool self, u64 offset, u32 length)
{
	u32 most = min(rmc_fabric_run(f, self) + RMC_LINE, (u32)RMC_LINE << f->pay_order);

	return (u32)(offset & (RMC_LINE - 1)) + length <= most;
}

/*
 * Clear the doorbell bit of a source that stayed silent; the ring is looked at
 * once more afterwards. Returns true when it must stay polled.
 */
static inline bool rmc_doorbell_clear(struct rmc_node *node, enum rmc_lane lane, u32 from,
				      const struct rmc_ring *r)
{
	u64 *word = rmc_doorbell_word(node->fabric, node->ep, lane, from);
	struct rmc_desc d;

	rmc_os_andnot64(word, 1ULL << (from % 64));
	/* clear the bit, then look at the ring; pairs with rmc_doorbell_ring() */
	smp_mb();
	if (!r || !rmc_ring_peek(r, 0, &d))
		return false;
	rmc_os_or64(word, 1ULL << (from % 64));
	return true;
}

/*
 * RGP and RRPP are compiled twice, by a constant argument @many: with one unit per node
 * an endpoint is a node id, all lines have one home, and the packets go as if there were
 * no units. Which of the two runs is decided once per look.
 *
 * Length of the packet of an operation at @offset. With several RRPPs each line
 * has one, so that packets end where its block may end, whoever asks for what;
 * those of an operation of one home all go to one RRPP.
 */
static inline u32 rmc_cut_length(const struct rmc_fabric *f, u64 offset, u32 left, bool one_home)
{
	if (one_home)
		return rmc_packet_length(f->mtu, offset, left);
	return min(f->cut - (u32)(offset & f->cut_mask), left);
}

/* Which packet of an operation the one at @offset is. */
static inline u32 rmc_cut_index(const struct rmc_fabric *f, const struct rmc_itt_entry *e,
				u64 offset)
{
	if (rmc_op_flags(e->op) & RMC_OPF_ONE_HOME)
		return rmc_packet_index(f->mtu, e->offset, offset);
	return rmc_os_div(offset - (e->offset & ~(u64)f->cut_mask), f->cut);
}

#endif
