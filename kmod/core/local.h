/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The local path. Where one worker runs RGP, RRPP and RCP of both ends, a request would be
 * written to a ring only to be read back by the same thread, and so would its reply. An
 * operation of one packet, and a read, write or SABRe of a few, is executed without packets,
 * in two passes over a batch, as in the RRPP:
 *
 *   WQ entry --> RGP's validation --> RRPP's validation, lines fetched	first pass
 *		  load() --> serve() --> complete() --> CQ entry	second pass
 *		    +---- for each packet ----+
 *
 * Validation, the functions of op.h and the counters are those of the packet path. There
 * is no tid, since no reply has to be matched, and no credit, since nothing is in flight.
 * The packet path is for all that is not that simple:
 *
 * - packets are in flight to the same node: none is overtaken;
 * - more than RMC_LOCAL_PACKETS, several units per node;
 * - filters are at work: there have to be packets that can be lost;
 * - the RRPP would refuse it, or cannot read a line that does not stand still: then a
 *   status, or a time-out, comes by way of a reply.
 */
#ifndef RMC_LOCAL_H
#define RMC_LOCAL_H

#include "pipeline.h"

/* Lines of each operation that are fetched in the first pass */
#define RMC_LOCAL_AHEAD	8
/* What is kept between serve() and complete(): a packet, or all that was announced */
#define RMC_LOCAL_BYTES	(RMC_LOCAL_LINES * RMC_LINE)

/**
 * struct rmc_local - an operation between the two passes
 * @seg: segment; the operation lies inside
 * @lbuf: local buffer; so does its operand, or NULL
 * @lbuf_off: offset of the operand in @lbuf, bytes
 * @offset: in @seg, bytes
 * @length: bytes
 * @slot: WQ index
 * @nid: destination
 * @op: opcode
 */
struct rmc_local {
	struct rmc_mem *seg;
	struct rmc_mem *lbuf;
	u64 lbuf_off;
	u64 offset;
	u32 length;
	u16 slot;
	u16 nid;
	u8 op;
};

/*
 * Bytes of an operation at most, with those before it in its first line. What only moves
 * lines, or is announced, may be a few packets.
 */
static inline u32 rmc_local_bytes_max(const struct rmc_fabric *f, u8 flags)
{
	if (unlikely(f->mtu > RMC_LOCAL_BYTES / RMC_LOCAL_PACKETS))
		return min(f->mtu, RMC_LOCAL_BYTES);
	return flags & RMC_OPF_RUNS ? RMC_LOCAL_PACKETS * f->mtu : f->mtu;
}

/* More than the first line: with several operations no prefetcher sees a pattern. */
static inline void rmc_local_fetch(const struct rmc_mem *seg, u64 offset, u32 length, u8 flags)
{
	u32 at;

	for (at = 0; at < length && at < RMC_LOCAL_AHEAD * RMC_LINE; at += RMC_LINE) {
		if (flags & RMC_OPF_MODIFIES)
			prefetchw(rmc_mem_ptr(seg, offset + at));
		else
			prefetch(rmc_mem_ptr(seg, offset + at));
	}
}

/*
 * How much of an operation may be fetched before it is served: of an announced one the
 * first line only, if nothing is to be read ahead of its version (uapi, enum rmc_sabre_mode).
 */
static inline u32 rmc_local_fetched(const struct rmc_mem *seg, u32 length, u8 flags)
{
	if (unlikely(flags & RMC_OPF_ANNOUNCED && seg->sabre != RMC_SABRE_OVERLAPPED))
		return min(length, 1U);
	return length;
}

/* First pass, of an operation that the RGP validated. Returns false if it needs packets. */
static __always_inline bool rmc_local_admit(const struct rmc_qp *qp, const struct rmc_out *out,
					    const struct rmc_wqe *w, struct rmc_mem *lbuf, u16 slot,
					    struct rmc_local *d)
{
	const struct rmc_fabric *f = qp->node->fabric;
	u8 flags = rmc_op_flags(w->op);
	struct rmc_node *server;
	struct rmc_mem *seg;

	if (!out->self || out->credits != out->req.mask + 1 ||
	    (w->offset & (RMC_LINE - 1)) + w->length > rmc_local_bytes_max(f, flags))
		return false;
	server = f->local[w->nid];
	seg = rmc_ct_find(&server->ct, qp->ctx_id);
	if (unlikely(seg && !rmc_mem_covers(seg, w->offset, w->length)))
		seg = rmc_ct_range(&server->ct, qp->ctx_id, w->offset, w->length);
	if (unlikely(!seg || READ_ONCE(server->fenced) ||
		     (flags & RMC_OPF_MODIFIES && seg->flags & RMC_MEM_READONLY)))
		return false;
	d->seg = seg;
	d->lbuf = lbuf;
	d->lbuf_off = 0;
	d->offset = w->offset;
	d->length = w->length;
	d->slot = slot;
	d->nid = w->nid;
	d->op = w->op;
	if (unlikely(flags & RMC_OPF_EMPTY))
		return true;
	d->lbuf_off = w->lbuf - lbuf->base;
	rmc_local_fetch(seg, d->offset, rmc_local_fetched(seg, w->length, flags), flags);
	/* what is only written there can wait in the store buffer */
	if (flags & RMC_OPF_REQ_LINES)
		prefetch(rmc_mem_ptr(lbuf, d->lbuf_off));
	else if (flags & RMC_OPF_OPERANDS)
		prefetchw(rmc_mem_ptr(lbuf, d->lbuf_off));
	return true;
}

/* Second pass. Returns how many were done: less than @n if one asked to come again. */
static __always_inline u32 rmc_local_execute(struct rmc_qp *qp, const struct rmc_local *batch,
					     u32 n)
{
	struct rmc_node *node = qp->node, *server;
	/* payload of one serve() at a time, in place of both rings' */
	struct rmc_ring ring = { .pay = node->direct, .pay_mask = RMC_LOCAL_LINES - 1 };
	struct rmc_serve s rmc_os_unset;
	u32 mtu = node->fabric->mtu, packets = 0, errors = 0, i;
	u64 asked = 0, answered = 0;
	struct rmc_itt_entry e rmc_os_unset;

	s.rx = &ring;
	s.rx_pay = 0;
	s.tx = &ring;
	s.count = 1;
	s.in = NULL;
	s.req.ctx_id = qp->ctx_id;
	s.req.gen = 0;
	s.req.tid = RMC_TID_NONE;
	for (i = 0; i < n; i++) {
		const struct rmc_local *d = &batch[i];
		u8 flags = rmc_op_flags(d->op), status;
		u32 sent = 0, count = 0;

		server = node->fabric->local[d->nid];
		e.lbuf = d->lbuf;
		e.lbuf_off = d->lbuf_off;
		e.offset = d->offset;
		e.op = d->op;
		s.req.op = d->op;
		s.seg = d->seg;
		s.node = server;
		do {
			u64 offset = d->offset + sent;
			u32 length = rmc_packet_length(mtu, offset, d->length - sent);

			/* announced, and all of it is there already: one serve() */
			if (unlikely(flags & RMC_OPF_ANNOUNCED && length < d->length)) {
				length = d->length;
				count = rmc_packets(mtu, offset, length);
			}
			if (flags & (RMC_OPF_REQ_LINES | RMC_OPF_OPERANDS))
				rmc_op_load(&e, &ring, offset, length);
			sent += length;
			count++;
			/* a prefetcher stops where the page does */
			if (unlikely(sent < d->length))
				rmc_local_fetch(d->seg, d->offset + sent, d->length - sent, flags);
			s.req.offset = offset;
			s.req.length = length;
			s.word1 = rmc_req_word1(offset, length, sent == d->length) |
				  (flags & RMC_OPF_ANNOUNCED ? RMC_REQ_FIRST : 0);
			status = rmc_op_serve(&s);
			if (likely(!status) && flags & (RMC_OPF_REP_LINES | RMC_OPF_OPERANDS))
				rmc_op_complete(&e, &ring, s.word1);
		} while (unlikely(sent < d->length) && likely(!status));
		/* what was done of it is done once more: a plain read */
		if (unlikely(status == RMC_AGAIN)) {
			rmc_tenant_charge(qp->tenant, RMC_TENANT_BUSY);
			break;
		}
		rmc_stat_add(server, served, count);
		if (likely(!status)) {
			if (flags & RMC_OPF_REP_LINES)
				answered += d->length;
			rmc_stat_add(server, served_bytes, d->length);
		} else {
			rmc_stat_inc(server, serve_errors);
			errors++;
		}
		asked += d->length;
		packets += count;
		trace_rmc_rgp_inject(node->nid, d->nid, RMC_TID_NONE, count);
		trace_rmc_rrpp_serve(server->nid, node->nid, count);
		trace_rmc_rcp_complete(node->nid, d->nid, RMC_TID_NONE, d->slot, status);
		rmc_cq_post(qp, d->slot, status);
	}
	rmc_stat_add(node, requests, packets);
	rmc_stat_add(node, request_bytes, asked);
	rmc_stat_add(node, replies, packets);
	rmc_stat_add(node, reply_bytes, answered);
	rmc_stat_add(node, completions, i);
	if (unlikely(errors))
		rmc_stat_add(node, errors, errors);
	return i;
}

#endif
