// SPDX-License-Identifier: GPL-2.0
/*
 * Remote Request Processing Pipeline (A14 section 4.2, T18 section 3.3).
 *
 * Stateless: what a request needs is in the request and in the context table. The
 * exception are announced operations, whose state is in the Active Transfers Table.
 * A batch is handled in two passes: copy, judge, look up and prefetch all of
 * them, then serve them, so that misses on segment memory overlap.
 */
#include "pipeline.h"

/* Status of a request that a filter lost: nothing is served, its credit goes back. */
#define RMC_LOST	0xfd

/* One request between the passes. */
struct pending {
	struct rmc_req req;
	struct rmc_mem *seg;
	u64 word1;
	u32 pay_pos;
	u32 pay_lines;
	u8 status;
};

static u8 judge(struct rmc_node *node, struct pending *p, u8 flags)
{
	u32 mtu = node->fabric->mtu;

	/* a peer that exceeds the MTU, or invents operations, broke the protocol */
	if (unlikely(!flags))
		return p->req.op & RMC_OP_LOST ? RMC_LOST : RMC_S_BAD_OP;
	if (rmc_op_announces(flags, p->word1)) {
		p->req.length = rmc_announce_length(p->word1);
		mtu = ~0U;
	}
	if (unlikely(!p->req.length != !!(flags & RMC_OPF_EMPTY) ||
		     (p->req.offset & (RMC_LINE - 1)) + p->req.length > mtu))
		return RMC_S_PROTOCOL;
	p->seg = rmc_ct_find(&node->ct, p->req.ctx_id);
	if (unlikely(!p->seg))
		return RMC_S_BAD_CONTEXT;
	if (unlikely(!rmc_mem_covers(p->seg, p->req.offset, p->req.length)))
		return RMC_S_OUT_OF_RANGE;
	if (unlikely((flags & RMC_OPF_MODIFIES) && (p->seg->flags & RMC_MEM_READONLY)))
		return RMC_S_READ_ONLY;
	return RMC_S_OK;
}

/* First pass. Returns false when nothing is published @ahead. */
static bool gather(struct rmc_node *node, struct rmc_in *in, u32 ahead, u32 *pay_pos,
		   struct pending *p)
{
	struct rmc_desc d;
	u8 flags;

	if (!rmc_ring_peek(&in->req, ahead, &d))
		return false;
	rmc_req_parse(&p->req, &d);
	p->word1 = d.word1;
	flags = rmc_op_flags(p->req.op);
	p->status = judge(node, p, flags);
	if (unlikely(p->status == RMC_LOST)) {
		p->req.op &= ~RMC_OP_LOST;
		flags = rmc_op_flags(p->req.op);
	}
	p->pay_pos = *pay_pos;
	p->pay_lines = rmc_op_req_lines(flags, p->req.offset, p->req.length);
	*pay_pos += p->pay_lines;
	/* data requests of announced operations: their order is not decided yet */
	if (likely(!p->status && p->req.length &&
		   (!(flags & RMC_OPF_ANNOUNCED) || p->word1 & RMC_REQ_FIRST))) {
		void *target = rmc_mem_peek(p->seg, p->req.offset);

		if (flags & RMC_OPF_MODIFIES)
			prefetchw(target);
		else
			prefetch(target);
	}
	return true;
}

/* Second pass. Returns false when the operation asked to come again. */
static bool serve(struct rmc_node *node, struct rmc_in *in, struct pending *p)
{
	u8 status = p->status;
	struct rmc_serve s;
	u64 marks = 0;

	s.word1 = p->word1;
	if (likely(!status)) {
		s.req = p->req;
		s.seg = p->seg;
		s.rx = &in->req;
		s.rx_pay = p->pay_pos;
		s.tx = &in->rep;
		s.step = RMC_STEP_PACKET;
		s.node = node;
		s.in = in;
		status = rmc_op_serve(&s);
		if (unlikely(status == RMC_AGAIN))
			return false;
	}
	in->req.pos++;
	in->req.pay_pos += p->pay_lines;
	if (unlikely(status == RMC_HELD))
		return true;
	if (likely(!status)) {
		u8 flags = rmc_op_flags(p->req.op);

		in->rep.pay_pos += rmc_op_rep_lines(flags, p->req.offset, p->req.length);
		rmc_stat_add(node, served_bytes, p->req.length);
	} else if (unlikely(status == RMC_LOST)) {
		status = RMC_S_TIMEOUT;
		marks = RMC_REP_LOST;
	} else {
		rmc_stat_inc(node, serve_errors);
	}
	rmc_ring_put(&in->rep, rmc_rep_word0(&p->req, status) | marks, s.word1);
	return true;
}

static u32 poll_source(struct rmc_node *node, struct rmc_in *in, u32 from)
{
	struct pending batch[RMC_BATCH];
	u32 pay_pos = in->req.pay_pos;
	u32 n, i;

	if (rmc_os_filters() && in->filter)
		rmc_filter_pump(node, in->filter);
	for (n = 0; n < RMC_BATCH; n++)
		if (!gather(node, in, n, &pay_pos, &batch[n]))
			break;
	for (i = 0; i < n; i++)
		if (unlikely(!serve(node, in, &batch[i])))
			break;
	if (i) {
		rmc_bell_ring(node->fabric, from, RMC_LANE_REP, node->nid, in->self);
		rmc_stat_add(node, served, i);
		trace_rmc_rrpp_serve(node->nid, from, i);
	}
	return i;
}

/**
 * rmc_rrpp_poll() - serve the sources whose bell bit is set
 * @node: node; the caller is its RRPP worker
 *
 * Return: requests served.
 * Context: worker, does not sleep.
 */
u32 rmc_rrpp_poll(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 words = (f->nodes + 63) / 64;
	u32 w, done = 0;

	if (rmc_os_filters() && node->srv_stopped)
		return 0;
	for (w = 0; w < words; w++) {
		/* a stray bit only costs a look: the ring decides */
		u64 bits = READ_ONCE(*rmc_bell_word(f, node->nid, RMC_LANE_REQ, w * 64));

		while (bits) {
			u32 from = w * 64 + __ffs64(bits);
			struct rmc_in *in;
			u32 n;

			bits &= bits - 1;
			if (unlikely(from >= f->nodes))
				break;
			in = node->in[from];
			if (unlikely(!in)) {
				in = rmc_in_open(node, from);
				if (!in)
					continue;
			}
			n = poll_source(node, in, from);
			done += n;
			if (n || rmc_filter_holds(in->filter)) {
				in->idle = 0;
			} else if (unlikely(++in->idle > RMC_IDLE_LOOKS)) {
				in->idle = 0;
				rmc_bell_settle(node, RMC_LANE_REQ, from,
						rmc_filter_wire(in->filter, &in->req));
			}
		}
	}
	if (unlikely(node->att.used))
		done += rmc_att_poll(node);
	return done;
}
