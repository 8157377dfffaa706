/* SPDX-License-Identifier: GPL-2.0 */
/* Injection of packets: see inject.c. What is inline here is on the path of one packet. */
#ifndef RMC_INJECT_H
#define RMC_INJECT_H

#include "account.h"
#include "pipeline.h"

bool rmc_unroll_one(struct rmc_node *node, u16 tid);
bool rmc_unroll_shared(struct rmc_node *node, u16 tid);
bool rmc_unroll_multi_unit(struct rmc_node *node, u16 tid);

/*
 * Inject requests of one operation while credits last, or if @shared within the look of
 * its queue pair.
 * Return: true when all of it is on its way.
 */
static __always_inline bool rmc_unroll(struct rmc_node *node, u16 tid, const bool multi_unit,
				   const bool shared)
{
	if (multi_unit)
		return rmc_unroll_multi_unit(node, tid);
	return shared ? rmc_unroll_shared(node, tid) : rmc_unroll_one(node, tid);
}

/*
 * Where tenants share the worker they share the ring, too, in which packets are served in
 * their order: no more wait there than the RRPP takes at one look, or than fill a half of
 * the payload. Whoever could not send is polled first at the next visit.
 */
static inline bool rmc_out_crowded(const struct rmc_out *out)
{
	u32 half = (out->req.pay_mask + 1) / 2;

	return out->req.mask + 1 - out->credits >= RMC_POLL_BUDGET || out->rep_lines < half ||
	       out->req_lines < half;
}

/*
 * Inject an operation that is one packet, with nothing to be kept track of: what
 * rmc_unroll() does, in short. Return: false when it has to wait for credits.
 */
static __always_inline bool rmc_inject_one(struct rmc_node *node, struct rmc_out *out,
				       struct rmc_itt_entry *e, u16 tid,
				       const struct rmc_wqe *w, u16 flags)
{
	u32 req_lines = rmc_op_req_lines(flags, w->offset, w->length);
	u32 rep_lines = rmc_op_rep_lines(flags, w->offset, w->length);

	if (unlikely(!out->credits || out->req_lines < req_lines || out->rep_lines < rep_lines)) {
		rmc_stat_inc(node, credit_stalls);
		return false;
	}
	if (req_lines) {
		rmc_op_load(e, &out->req, w->offset, w->length);
		out->req.pay_pos += req_lines;
		out->req_lines -= req_lines;
	}
	rmc_ring_put(&out->req, rmc_req_word0(w->op, e->qp->ctx_id, e->gen, tid),
		     rmc_req_word1(w->offset, w->length, true) |
		     (flags & RMC_OPF_ANNOUNCED ? RMC_REQ_FIRST : 0));
	out->credits--;
	out->rep_lines -= rep_lines;
	e->replies = 1;
	e->sent = w->length;
	rmc_account_requests(node, w->nid, tid, 1, w->length);
	return true;
}

/* Tell a destination, all of its units concerned, that requests are waiting for it. */
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
