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
 * Messages have passes of their own, local_message.h. All other operations take the packet path:
 *
 * - node.local is off: all operations need packets;
 * - packets are in flight to the same node, which must not be overtaken;
 * - the operation has more than RMC_LOCAL_PACKETS packets, or nodes have several units;
 * - filters exist, which act on packets;
 * - it is of a transaction;
 * - the RRPP would reject the operation, or cannot read a line that keeps changing: a reply
 *   then has the status, or the operation times out.
 */
#ifndef RMC_LOCAL_H
#define RMC_LOCAL_H

#include "account.h"
#include "admit.h"
#include "pipeline.h"

/* Lines of each operation that are prefetched in the first pass */
#define RMC_LOCAL_AHEAD	8
/* Payload between serve() and complete(): a packet, or a whole announced operation */
#define RMC_LOCAL_BYTES	(RMC_LOCAL_LINES * RMC_LINE)

/**
 * struct rmc_local - an operation between the two passes
 * @seg: segment; the operation lies inside
 * @lbuf: local buffer, the operand lies inside; or NULL
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
 * Largest operation, in bytes from the start of its first line. One that only moves lines may
 * have a few packets.
 */
static inline u32 rmc_local_bytes_max(const struct rmc_fabric *f, u16 flags)
{
	if (unlikely(f->mtu > RMC_LOCAL_BYTES / RMC_LOCAL_PACKETS))
		return min(f->mtu, RMC_LOCAL_BYTES);
	return flags & RMC_OPF_RUNS ? RMC_LOCAL_PACKETS * f->mtu : f->mtu;
}

/* More than the first line: with several operations a hardware prefetcher sees no pattern. */
static inline void rmc_local_fetch(const struct rmc_mem *seg, u64 offset, u32 length, u16 flags)
{
	u32 at;

	for (at = 0; at < length && at < RMC_LOCAL_AHEAD * RMC_LINE; at += RMC_LINE)
		rmc_fetch(seg, offset + at, flags);
}

/* The same before an object's version was read: no more lines than a stream buffer has. */
static inline void rmc_local_fetch_object(const struct rmc_node *server, const struct rmc_mem *seg,
					  u64 offset, u32 length, u16 flags)
{
	if (rmc_version_first(seg, flags))
		rmc_fetch_version(seg, offset, length);
	else
		rmc_local_fetch(seg, offset, min(length, server->att.depth * RMC_LINE), flags);
}

/* True if operations of a unit may take the local path at all. */
static inline bool rmc_local_on(const struct rmc_node *node)
{
	return !rmc_os_filters() && READ_ONCE(node->local);
}

/*
 * Largest read, write or SABRe of a unit on node nid that may take the local path, in bytes from
 * the start of its first line; 0: all operations need packets. Not regarded is what passes:
 * packets in flight, a worker that tenants share, an operation that would be rejected.
 */
static inline u32 rmc_local_reach(const struct rmc_node *node, u32 nid)
{
	const struct rmc_fabric *f = node->fabric;
	const struct rmc_node *server;

	if (rmc_fabric_multi_unit(f) || !rmc_local_on(node))
		return 0;
	server = f->local[rmc_endpoint(f, nid)];
	return server && server->srv_worker == node->req_worker ?
	       rmc_local_bytes_max(f, RMC_OPF_RUNS) : 0;
}

/*
 * First pass, for an operation that the RGP validated. Returns false if it must take the packet
 * path.
 */
static __always_inline bool rmc_local_admit(const struct rmc_qpair *qp, const struct rmc_out *out,
					    const struct rmc_wqe *w, struct rmc_mem *lbuf, u16 slot,
					    struct rmc_local *d)
{
	const struct rmc_fabric *f = qp->node->fabric;
	u16 flags = rmc_op_flags(w->op);
	struct rmc_node *server;
	struct rmc_mem *seg;

	if (!out->self || qp->force_ring || out->credits != out->req.mask + 1 ||
	    flags & (RMC_OPF_SLOT | RMC_OPF_TX) ||
	    (w->offset & (RMC_LINE - 1)) + w->length > rmc_local_bytes_max(f, flags))
		return false;
	server = f->local[w->nid];
	if (unlikely(READ_ONCE(server->fenced) ||
		     rmc_admit(server, qp->ctx_id, w->offset, w->length, flags, &seg)))
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
	if (unlikely(flags & RMC_OPF_ANNOUNCED))
		rmc_local_fetch_object(server, seg, d->offset, w->length, flags);
	else
		rmc_local_fetch(seg, d->offset, w->length, flags);
	/* a buffer that is only written needs no prefetch: stores wait in the store buffer */
	if (flags & RMC_OPF_REQ_LINES)
		prefetch(rmc_mem_ptr(lbuf, d->lbuf_off));
	else if (flags & RMC_OPF_OPERANDS)
		prefetchw(rmc_mem_ptr(lbuf, d->lbuf_off));
	return true;
}

/*
 * Load, serve and complete all packets that the RGP would have cut. Returns the status;
 * *packets: how many, including the announcement.
 */
static __always_inline u8 rmc_local_serve(struct rmc_ring *ring, struct rmc_serve *s,
					  const struct rmc_local *d, struct rmc_node *server,
					  u16 flags, u32 *packets)
{
	struct rmc_itt_entry e rmc_os_unset;
	u32 mtu = server->fabric->mtu, sent = 0;
	u8 status;

	e.lbuf = d->lbuf;
	e.lbuf_off = d->lbuf_off;
	e.offset = d->offset;
	e.op = d->op;
	s->req.op = d->op;
	s->seg = d->seg;
	s->node = server;
	*packets = 0;
	do {
		u64 offset = d->offset + sent;
		u32 length = rmc_packet_length(mtu, offset, d->length - sent);

		/* an announced operation is served as a whole */
		if (unlikely(flags & RMC_OPF_ANNOUNCED && length < d->length)) {
			length = d->length;
			*packets = rmc_packets(mtu, offset, length);
		}
		if (flags & (RMC_OPF_REQ_LINES | RMC_OPF_OPERANDS))
			rmc_op_load(&e, ring, offset, length);
		sent += length;
		++*packets;
		/* a hardware prefetcher stops at the end of a page */
		if (unlikely(sent < d->length))
			rmc_local_fetch(d->seg, d->offset + sent, d->length - sent, flags);
		s->req.offset = offset;
		s->req.length = length;
		s->word1 = rmc_req_word1(offset, length, sent == d->length) |
			   (flags & RMC_OPF_ANNOUNCED ? RMC_REQ_FIRST : 0);
		status = rmc_op_serve(s);
		if (likely(!status) && flags & (RMC_OPF_REP_LINES | RMC_OPF_OPERANDS))
			rmc_op_complete(&e, ring, s->word1);
	} while (unlikely(sent < d->length) && likely(!status));
	return status;
}

/* Second pass. Returns how many were executed: less than @n if serve() returned RMC_AGAIN. */
static __always_inline u32 rmc_local_execute(struct rmc_qpair *qp, const struct rmc_local *batch,
					     u32 n)
{
	struct rmc_node *node = qp->node;
	/* payload of one serve() at a time, instead of that of both rings */
	struct rmc_ring ring = { .pay = node->local_pay, .pay_mask = RMC_LOCAL_LINES - 1 };
	struct rmc_serve s rmc_os_unset;
	u32 i, packets;

	s.rx = &ring;
	s.rx_pay = 0;
	s.tx = &ring;
	s.count = 1;
	s.in = NULL;
	s.from = node->ep;
	s.req.ctx_id = qp->ctx_id;
	s.req.gen = 0;
	s.req.tid = RMC_TID_NONE;
	for (i = 0; i < n; i++) {
		const struct rmc_local *d = &batch[i];
		struct rmc_node *server = node->fabric->local[d->nid];
		u16 flags = rmc_op_flags(d->op);
		u8 status = rmc_local_serve(&ring, &s, d, server, flags, &packets);

		/* it has changed nothing in the segment, so it can be repeated from its start */
		if (unlikely(status == RMC_AGAIN)) {
			rmc_tenant_charge(qp->tenant, RMC_TENANT_BUSY);
			break;
		}
		rmc_account_requests(node, d->nid, RMC_TID_NONE, packets, d->length);
		rmc_account_result(server, packets, d->length, status);
		rmc_account_served(server, node->nid, packets);
		rmc_account_replies(node, packets);
		if (flags & RMC_OPF_REP_LINES)
			rmc_account_reply_bytes(node, d->length);
		rmc_account_completion(node, d->nid, RMC_TID_NONE, d->slot, status);
		rmc_cq_post(qp, d->slot, status);
	}
	return i;
}

#endif
