/* SPDX-License-Identifier: GPL-2.0 */
/* From an operation to its packets: see unroll.c. The functions inline here are for one packet. */
#ifndef RMC_UNROLL_H
#define RMC_UNROLL_H

#include "account.h"
#include "pipeline.h"
#include "../base/slot.h"
#include "../base/tx_wire.h"

bool rmc_unroll_one(struct rmc_node *node, u16 tid);
bool rmc_unroll_shared(struct rmc_node *node, u16 tid);
bool rmc_unroll_multi_unit(struct rmc_node *node, u16 tid);

/*
 * Inject requests of one operation while credits last and, if @shared, within the budget of its
 * queue pair.
 * Return: true if all of it was sent.
 */
static __always_inline bool rmc_unroll(struct rmc_node *node, u16 tid, const bool multi_unit,
				       const bool shared)
{
	if (multi_unit)
		return rmc_unroll_multi_unit(node, tid);
	return shared ? rmc_unroll_shared(node, tid) : rmc_unroll_one(node, tid);
}

/*
 * What packets of an operation on a slot have besides: the number of a message's packets, or more
 * of a RECEIVE's turn, which has no local buffer.
 */
static inline u32 rmc_slot_packets(const struct rmc_fabric *f, const struct rmc_itt_entry *e,
				   u16 flags)
{
	return flags & RMC_OPF_ENDS ? (u32)(e->lbuf_off >> RMC_TAG_SHIFT) :
				      rmc_packets(f->mtu, e->offset, e->length);
}

/*
 * Tenants that share the worker also share the ring, which is served in order. So no more
 * packets wait there than the RRPP takes in one poll, or than fill half of the payload. A
 * tenant that could not send is polled first at the next visit.
 */
static inline bool rmc_out_crowded(const struct rmc_out *out)
{
	u32 half = (out->req.pay_mask + 1) / 2;

	return out->req.mask + 1 - out->credits >= RMC_POLL_BUDGET || out->rep_lines < half ||
	       out->req_lines < half;
}

/*
 * Inject an operation of one packet that is not tracked: the fast path of rmc_unroll().
 * Return: false if it must wait for credits.
 */
static __always_inline bool rmc_inject_one(struct rmc_node *node, struct rmc_out *out,
					   struct rmc_itt_entry *e, u16 tid, u16 ctx_id,
					   const struct rmc_wqe *w, u16 flags)
{
	u32 req_lines = rmc_op_req_lines(flags, w->offset, w->length);
	u32 rep_lines = rmc_op_rep_lines(flags, w->offset, w->length);
	u32 packets = flags & RMC_OPF_SLOT ? rmc_slot_packets(node->fabric, e, flags) : 0;

	if (unlikely(!out->credits || out->req_lines < req_lines || out->rep_lines < rep_lines)) {
		rmc_stat_inc(node, credit_stalls);
		return false;
	}
	if (req_lines) {
		rmc_op_load(e, &out->req, w->offset, w->length);
		out->req.pay_pos += req_lines;
		out->req_lines -= req_lines;
	}
	rmc_ring_put(&out->req, rmc_req_word0(w->op, ctx_id, e->gen, tid) |
		     rmc_packets_word0(packets),
		     rmc_req_word1(w->offset, w->length, true) |
		     (flags & RMC_OPF_ANNOUNCED ? RMC_REQ_FIRST : 0) |
		     rmc_packets_word1(packets));
	out->credits--;
	out->rep_lines -= rep_lines;
	e->replies = 1;
	e->sent = w->length;
	rmc_account_requests(node, w->nid, tid, 1, w->length);
	return true;
}

/* Ring the doorbells of all units of a destination that have new requests. */
static __always_inline void rmc_requests_ring(struct rmc_node *node, u32 nid, const bool multi_unit)
{
	struct rmc_fabric *f = node->fabric;
	u32 ep;

	if (!multi_unit) {
		rmc_doorbell_ring(f, nid, RMC_LANE_REQ, node->ep, node->out[nid]->self);
		return;
	}
	ep = rmc_endpoint(f, nid);
	for (; node->touched; node->touched &= node->touched - 1) {
		u32 to = ep | __ffs64(node->touched);

		rmc_doorbell_ring(f, to, RMC_LANE_REQ, node->ep, node->out[to]->self);
	}
}

#endif
