/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages, in the order data flows (A14 figure 4, T18 section 3.3):
 *
 *   WQ --> rmc_rgp_poll --> request ring --> rmc_rrpp_poll --> rmc_att_poll
 *                                                 |                 |
 *   CQ <-- rmc_rcp_poll <--- reply ring  <--------+-----------------+
 *
 * Each call polls once, handles at most a batch per source, and returns the number of packets
 * or entries that it handled. It never blocks or sleeps. RGP and RCP of a unit run on one
 * worker, its RRPP on the same or another one; no stage depends on which.
 */
#ifndef RMC_PIPELINE_H
#define RMC_PIPELINE_H

#include "node.h"

u32 rmc_rgp_poll(struct rmc_qpair *qp);
void rmc_rgp_resume(struct rmc_node *node);
void rmc_rgp_notify(struct rmc_node *node, u16 tid);
void rmc_rgp_notify_again(struct rmc_node *node, const struct rmc_itt_entry *e);
u32 rmc_rrpp_poll(struct rmc_node *node);
void rmc_rrpp_finish(struct rmc_node *node, struct rmc_in *in);
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
 * Empty polls before a source is silent, when a visit polls this many. A poll of a source that has
 * nothing delays all others by little, and saves its peer a doorbell; those of a hundred delay them
 * by more than a doorbell takes.
 */
static inline u32 rmc_idle_polls(u32 sources)
{
	if (likely(sources < 8))
		return RMC_IDLE_POLLS;
	return max_t(u32, RMC_IDLE_POLLS >> 2 * (ilog2(sources) - 2), RMC_IDLE_POLLS_MIN);
}

/*
 * Clear the doorbell bit of a silent source, then check its ring once more. Returns true if the
 * source must stay polled.
 */
static inline bool rmc_doorbell_clear(struct rmc_node *node, enum rmc_lane lane, u32 from,
				      const struct rmc_ring *r)
{
	u64 *word = rmc_doorbell_word(node->fabric, node->ep, lane, from);
	struct rmc_desc d;

	rmc_os_andnot64(word, 1ULL << (from % 64));
	/* clear the bit, then check the ring; pairs with rmc_doorbell_ring() */
	smp_mb();
	if (!r || !rmc_ring_peek(r, 0, &d))
		return false;
	rmc_os_or64(word, 1ULL << (from % 64));
	return true;
}

/*
 * RGP and RRPP are compiled twice, with the constant argument @multi_unit. With one unit per
 * node an endpoint is a node id, all lines have one home, and no code for units remains. Each
 * poll selects one of the two.
 *
 * Length of an operation's packet at @offset. With several RRPPs packets end at multiples of
 * f->cut, the same for all requesters, so that none crosses into a block of another RRPP. An
 * operation of one home sends all packets to one RRPP.
 */
static inline u32 rmc_cut_length(const struct rmc_fabric *f, u64 offset, u32 left, bool one_home)
{
	if (one_home)
		return rmc_packet_length(f->mtu, offset, left);
	return min(f->cut - (u32)(offset & f->cut_mask), left);
}

/* Index of an operation's packet at @offset. */
static inline u32 rmc_cut_index(const struct rmc_fabric *f, const struct rmc_itt_entry *e,
				u64 offset)
{
	if (rmc_op_flags(e->op) & RMC_OPF_ONE_HOME)
		return rmc_packet_index(f->mtu, e->offset, offset);
	return rmc_os_div(offset - (e->offset & ~(u64)f->cut_mask), f->cut);
}

#endif
