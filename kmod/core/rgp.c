// SPDX-License-Identifier: GPL-2.0
/*
 * Request Generation Pipeline (A14 section 4.2, T18 section 3.3).
 *
 * Takes WQ entries (snapshot, validate, tid), unrolls them into packets at line
 * boundaries, and injects them while credits last. An entry that waits for a
 * credit blocks its own QP only.
 */
#include "complete.h"
#include "local.h"

/*
 * Announced operations keep credits for long while the destination's table is
 * full. A quarter of a channel stays for the others, if a packet fits the rest.
 */
static u32 packets_to_hold(const struct rmc_node *node, const struct rmc_out *out)
{
	u32 slots = 1U << node->fabric->ring_order;

	return slots - slots / 4 - out->held;
}

static u32 lines_to_hold(const struct rmc_node *node, const struct rmc_out *out)
{
	u32 pay = 1U << node->fabric->pay_order;

	return max(pay - pay / 4, node->fabric->mtu / RMC_LINE) - out->held_lines;
}

static bool may_hold(const struct rmc_node *node, const struct rmc_out *out, u32 lines)
{
	return packets_to_hold(node, out) && lines_to_hold(node, out) >= lines;
}

/*
 * A short transfer all of which can be sent is served at once by a worker that has both
 * ends: worth some patience. Not where ends work side by side, nor if it never fits.
 */
static bool better_later(struct rmc_node *node, struct rmc_out *out, const struct rmc_itt_entry *e)
{
	u32 mtu = node->fabric->mtu, packets = rmc_packets(mtu, e->offset, e->length);
	u32 lines = packets * (mtu / RMC_LINE);

	if (!out->self || !rmc_xfer_short(node->fabric, true, e->offset, e->length))
		return false;
	if (packets < out->credits && packets < packets_to_hold(node, out) &&
	    lines <= out->rep_lines && lines <= lines_to_hold(node, out))
		return false;
	return out->held && e->qp->waited++ < RMC_ATT_PATIENCE;
}

/*
 * May data requests of an announced operation be sent? Sends the announcement
 * first, unless everything fits one packet. One operation at a time per channel,
 * so that what is announced can also be asked for (Documentation/sabre.rst).
 */
static bool announce(struct rmc_node *node, struct rmc_out *out, struct rmc_itt_entry *e, u16 tid)
{
	if (out->announcing == tid)
		return true;
	if (rmc_packet_length(node->fabric->mtu, e->offset, e->length) == e->length)
		return true;
	if (out->announcing != RMC_TID_NONE || out->xfers >= RMC_XFERS || !out->credits ||
	    !may_hold(node, out, 0) || better_later(node, out, e))
		return false;
	if (rmc_os_filters() && out->filter)
		rmc_model_send(&node->links, out->filter, &out->req, 0);
	rmc_ring_put(&out->req, rmc_req_word0(e->op, e->qp->ctx_id, e->gen, tid),
		     rmc_announce_word1(e->offset, e->length));
	rmc_account_requests(node, e->nid, tid, 1, 0);
	e->qp->waited = 0;
	out->announcing = tid;
	out->credits--;
	out->held++;
	out->xfers++;
	e->replies++;
	if (unlikely(e->tracked))
		node->itt.track[tid].outstanding.replies++;
	return true;
}

/* An announced operation failed before all of it was sent: spare the rest. */
static void give_up(struct rmc_node *node, struct rmc_out *out, struct rmc_itt_entry *e)
{
	out->announcing = RMC_TID_NONE;
	e->length = e->sent;
	if (!e->replies)
		rmc_qp_finish(node, e, e->status);
}

/* Would a tracked operation have more packets on their way than are kept track of? */
static bool window_full(struct rmc_node *node, u16 tid, u64 offset)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];

	return rmc_cut_index(node->fabric, e, offset) >=
	       node->itt.track[tid].base + RMC_TRACK;
}

/*
 * Where tenants share the worker they share the ring, too, in which packets are served in
 * their order: no more wait there than the RRPP takes at one look, or than fill a half of
 * the payload. Whoever could not send is polled first at the next visit.
 */
static bool crowded(const struct rmc_out *out)
{
	u32 half = (out->req.pay_mask + 1) / 2;

	return out->req.mask + 1 - out->credits >= RMC_POLL_BUDGET || out->rep_lines < half ||
	       out->req_lines < half;
}

/*
 * Inject the next packets of an operation of which more than one is left: their
 * payload is one copy. Return: how many; 0: the next has to wait for credits.
 */
static __always_inline u32 inject_run(struct rmc_node *node, struct rmc_out *out,
				      struct rmc_itt_entry *e, u16 tid, u16 flags,
				      const bool multi_unit, const u32 budget)
{
	const struct rmc_fabric *f = node->fabric;
	u64 word0 = rmc_req_word0(e->op, e->qp->ctx_id, e->gen, tid);
	u64 offset = e->offset + e->sent;
	bool dealt = multi_unit && !(flags & RMC_OPF_ONE_HOME);
	u32 mtu = dealt ? f->cut : f->mtu;
	u32 skip = offset & (dealt ? f->cut_mask : RMC_LINE - 1);
	u32 *lines = flags & RMC_OPF_REQ_LINES ? &out->req_lines : &out->rep_lines;
	u32 room = min(rmc_fabric_run(f, out->self), *lines * RMC_LINE);
	u32 packets = out->credits;
	u32 bytes, taken, at, len;

	if (budget != RMC_POLL_ALL) {
		room = min(room, max(mtu, budget));
		packets = min_t(u32, packets, RMC_POLL_BUDGET);
	}
	if (unlikely(flags & RMC_OPF_ANNOUNCED)) {
		room = min(room, lines_to_hold(node, out) * RMC_LINE);
		packets = min(packets, packets_to_hold(node, out));
	}
	packets = min(packets, room / mtu);
	if (!packets)
		return 0;
	bytes = min(packets * mtu - skip, e->length - e->sent);
	/* what is behind the block is another RRPP's */
	if (dealt && f->rrpp_order)
		bytes = min(bytes, f->interleave - (u32)(offset & (f->interleave - 1)));
	taken = rmc_lines(offset, bytes);
	if (flags & RMC_OPF_REQ_LINES) {
		rmc_op_load(e, &out->req, offset, bytes);
		out->req.pay_pos += taken;
	}
	for (at = 0, packets = 0; at < bytes; at += len, packets++) {
		len = dealt ? rmc_cut_length(f, offset + at, bytes - at, false) :
			      rmc_packet_length(mtu, offset + at, bytes - at);
		rmc_ring_put(&out->req, word0,
			     rmc_req_word1(offset + at, len, e->sent + at + len == e->length));
	}
	if (unlikely(flags & RMC_OPF_ANNOUNCED)) {
		taken = packets * (mtu / RMC_LINE);
		out->held += packets;
		out->held_lines += taken;
	}
	*lines -= taken;
	out->credits -= packets;
	e->replies += packets;
	e->sent += bytes;
	return packets;
}

/* Inject one packet, for which there are credits. */
static __always_inline void inject_packet(struct rmc_node *node, struct rmc_out *out,
					  struct rmc_itt_entry *e, u16 tid, u64 word1,
					  u32 req_lines, u32 rep_lines)
{
	u32 len = rmc_word1_length(word1);

	rmc_op_load(e, &out->req, e->offset + e->sent, len);
	out->req.pay_pos += req_lines;
	if (rmc_os_filters() && unlikely(out->filter))
		rmc_model_send(&node->links, out->filter, &out->req, req_lines);
	rmc_ring_put(&out->req, rmc_req_word0(e->op, e->qp->ctx_id, e->gen, tid), word1);
	out->credits--;
	out->req_lines -= req_lines;
	out->rep_lines -= rep_lines;
	if (unlikely(e->tracked))
		node->itt.track[tid].outstanding.replies++;
	e->replies++;
	e->sent += len;
}

/*
 * Endpoint that the operation's packet at @offset goes to. All packets of an operation of
 * one home go where its first byte is; notifications go to the first RRPP, which
 * alone counts them.
 */
static __always_inline u32 route(const struct rmc_fabric *f, const struct rmc_itt_entry *e,
				 u16 flags, u64 offset, const bool multi_unit)
{
	if (!multi_unit)
		return e->nid;
	if (flags & RMC_OPF_EMPTY)
		return rmc_endpoint(f, e->nid);
	return rmc_home(f, e->nid, flags & RMC_OPF_ONE_HOME ? e->offset : offset);
}

/* See unroll(). */
static __always_inline bool unroll_body(struct rmc_node *node, u16 tid, const bool multi_unit,
					const bool shared)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];
	const u32 budget = shared ? e->qp->budget : RMC_POLL_ALL;
	const struct rmc_fabric *f = node->fabric;
	u16 flags = rmc_op_flags(e->op);
	u32 ep = route(f, e, flags, e->offset + e->sent, multi_unit);
	struct rmc_out *out = node->out[ep];
	bool filtered = rmc_os_filters() && out->filter;
	bool announced = flags & RMC_OPF_ANNOUNCED;
	u32 packets = 0, sent = e->sent;

	if (unlikely(announced)) {
		if (e->status && out->announcing == tid) {
			give_up(node, out, e);
			return true;
		}
		if (!announce(node, out, e, tid)) {
			rmc_stat_inc(node, credit_stalls);
			return false;
		}
	}
	/* an empty operation is one packet */
	while (e->sent < e->length || (!e->length && !e->replies)) {
		u64 offset = e->offset + e->sent;
		u32 len = multi_unit ? rmc_cut_length(f, offset, e->length - e->sent,
						      flags & RMC_OPF_ONE_HOME) :
				 rmc_packet_length(f->mtu, offset, e->length - e->sent);
		u32 req_lines = rmc_op_req_lines(flags, offset, len);
		u64 word1 = rmc_req_word1(offset, len, e->sent + len == e->length);
		u32 rep_lines, n;
		bool holds;

		/* others have their turn now, as if it had to wait for credits */
		if (budget != RMC_POLL_ALL && e->sent - sent >= budget)
			break;
		if (multi_unit) {
			ep = route(f, e, flags, offset, multi_unit);
			out = node->out[ep];
			filtered = rmc_os_filters() && out->filter;
			node->touched |= 1U << ep % rmc_fabric_rrpps(f);
		}
		if (budget != RMC_POLL_ALL && crowded(out)) {
			rmc_stat_inc(node, credit_stalls);
			break;
		}
		if (e->length - e->sent > len && rmc_op_runs(flags, word1) && !filtered &&
		    !e->tracked) {
			n = inject_run(node, out, e, tid, flags, multi_unit, budget);
			packets += n;
			if (n)
				continue;
			rmc_stat_inc(node, credit_stalls);
			break;
		}
		/* all of an announced operation in one packet, which waits for no table */
		if (unlikely(announced) && out->announcing != tid)
			word1 |= RMC_REQ_FIRST;
		rep_lines = rmc_op_reserved_lines(flags, word1, f->mtu);
		holds = unlikely(announced) && !(word1 & RMC_REQ_FIRST);
		if (!out->credits || out->req_lines < req_lines || out->rep_lines < rep_lines ||
		    (holds && !may_hold(node, out, rep_lines))) {
			rmc_stat_inc(node, credit_stalls);
			break;
		}
		if (unlikely(e->tracked) && window_full(node, tid, offset))
			break;
		if (holds) {
			out->held++;
			out->held_lines += rep_lines;
		}
		inject_packet(node, out, e, tid, word1, req_lines, rep_lines);
		packets++;
	}
	if (packets)
		rmc_account_requests(node, e->nid, tid, packets, e->sent - sent);
	if (e->sent < e->length || !e->replies)
		return false;
	if (unlikely(out->announcing == tid))
		out->announcing = RMC_TID_NONE;
	return true;
}

static bool unroll_one(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, false, false);
}

static noinline bool unroll_shared(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, false, true);
}

static noinline bool unroll_multi_unit(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, true, true);
}

/*
 * Inject requests of one operation while credits last, or if @shared within the look of
 * its queue pair.
 * Return: true when all of it is on its way.
 */
static __always_inline bool unroll(struct rmc_node *node, u16 tid, const bool multi_unit,
				   const bool shared)
{
	if (multi_unit)
		return unroll_multi_unit(node, tid);
	return shared ? unroll_shared(node, tid) : unroll_one(node, tid);
}

/*
 * Inject an operation that is one packet, with nothing to be kept track of: what
 * unroll() does, in short. Return: false when it has to wait for credits.
 */
static __always_inline bool inject_one(struct rmc_node *node, struct rmc_out *out,
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

/* Where replies may be doubled, a multi-packet operation has to tell them apart. */
static void track(struct rmc_node *node, struct rmc_out *out, u16 tid)
{
	struct rmc_track *t = &node->itt.track[tid];

	if (!out->filter || !out->filter->fault.dup)
		return;
	node->itt.entry[tid].tracked = true;
	t->seen = 0;
	t->base = 0;
	t->validated = false;
}

/* Tell a destination, all of its units concerned, that requests are waiting for it. */
static __always_inline void ring(struct rmc_node *node, u32 nid, const bool multi_unit)
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

/* Validate a snapshot. On success *mem is the local buffer. */
static __always_inline u8 validate(struct rmc_qp *qp, struct rmc_wqe *w, struct rmc_mem **mem)
{
	u16 flags = rmc_op_flags(w->op);
	u8 status;

	if (unlikely(!flags))
		return RMC_S_BAD_OP;
	if (unlikely(!w->length != !!(flags & RMC_OPF_EMPTY)))
		return RMC_S_BAD_LENGTH;
	status = rmc_op_prepare(qp, w);
	if (unlikely(status))
		return status;
	if (unlikely(w->nid >= qp->node->fabric->nodes))
		return RMC_S_BAD_NODE;
	/* packets name 40 bits of the offset: what goes beyond must not begin anew */
	if (unlikely(w->offset + w->length > RMC_OFFSET_MAX + 1))
		return RMC_S_OUT_OF_RANGE;
	*mem = NULL;
	if (flags & RMC_OPF_EMPTY)
		return RMC_S_OK;
	*mem = rmc_bufs_find(qp->bufs, w->lbuf, w->operand);
	return likely(*mem) ? RMC_S_OK : RMC_S_BAD_LBUF;
}

/*
 * A worker that has both ends fetches what a lone operation is about while its packet is
 * made; of more than one the RRPP fetches all before it serves the first.
 */
static __always_inline void prefetch_target(const struct rmc_qp *qp, const struct rmc_wqe *w)
{
	const struct rmc_node *server = qp->node->fabric->local[w->nid];
	u16 flags = rmc_op_flags(w->op);
	struct rmc_mem *seg;

	/* an empty operation is about nothing */
	if (likely(w->length && !rmc_admit(server, qp->ctx_id, w->offset, w->length, flags, &seg)))
		rmc_fetch(seg, w->offset, flags);
}

/*
 * Second pass over entries that need no packets. Returns false when one of them does: it
 * and those behind it are as if they had not been taken.
 */
static __always_inline bool execute_locals(struct rmc_qp *qp, const struct rmc_local *batch,
					   u32 *count, u32 *taken)
{
	u32 left = *count - rmc_local_execute(qp, batch, *count);

	*count = 0;
	if (likely(!left))
		return true;
	qp->wq_head -= left;
	*taken -= left;
	qp->force_ring = true;
	return false;
}

/* Snapshot of the entry in @slot, if the application has published it. */
static __always_inline bool take_entry(const struct rmc_qp *qp, u16 slot, struct rmc_wqe *w)
{
	struct rmc_wq_entry *s = &qp->wq[slot];
	/* pairs with the application's release of word0 */
	u64 word0 = rmc_phase_load(&s->word0), word1;

	if (!rmc_phase_is(word0, qp->wq_head, qp->order))
		return false;
	word1 = READ_ONCE(s->word1);
	/* whoever has much to ask has also written the next line's entries */
	if (!(slot % (RMC_LINE / sizeof(*s))))
		prefetch(&qp->wq[(slot + RMC_LINE / sizeof(*s)) & qp->mask]);
	w->op = (word0 >> RMC_WQE_OP_SHIFT) & RMC_WQE_OP_MASK;
	w->nid = (word0 >> RMC_WQE_NID_SHIFT) & RMC_WQE_NID_MASK;
	w->lbuf = word0 >> RMC_WQE_LBUF_SHIFT;
	w->offset = word1 & RMC_WQE_OFFSET_MASK;
	w->length = word1 >> RMC_WQE_LEN_SHIFT;
	w->operand = w->length;
	return true;
}

/*
 * RMC_TID_NONE: the operation has to wait. Announced ones leave a quarter of the ITT to
 * others, as of a channel's credits.
 */
static __always_inline u16 take_tid(struct rmc_node *node, struct rmc_qp *qp,
				    const struct rmc_out *out, u16 flags, const u32 budget)
{
	struct rmc_itt *itt = &node->itt;
	u16 tid = RMC_TID_NONE;

	if (budget != RMC_POLL_ALL && crowded(out)) {
		rmc_stat_inc(node, credit_stalls);
		return RMC_TID_NONE;
	}
	if (likely(!(flags & RMC_OPF_ANNOUNCED) || itt->announced < itt->size - itt->size / 4))
		tid = rmc_itt_alloc(itt, qp->account);
	if (unlikely(tid == RMC_TID_NONE))
		rmc_stat_inc(node, itt_stalls);
	return tid;
}

/* What a tid stands for, from here to its completion. */
static __always_inline struct rmc_itt_entry *begin(struct rmc_qp *qp, struct rmc_out *out, u16 tid,
						   u16 slot, const struct rmc_wqe *w,
						   struct rmc_mem *mem, const bool multi_unit)
{
	struct rmc_node *node = qp->node;
	struct rmc_itt_entry *e = &node->itt.entry[tid];
	u16 flags = rmc_op_flags(w->op);

	e->qp = qp;
	e->lbuf = mem;
	e->lbuf_off = mem ? w->lbuf - mem->base : 0;
	e->offset = w->offset;
	e->length = w->length;
	e->sent = 0;
	e->replies = 0;
	e->deadline = node->req_ms + node->fabric->timeout_ms;
	e->slot = slot;
	e->nid = w->nid;
	e->op = w->op;
	e->status = RMC_S_OK;
	e->lost = 0;
	e->tries = 0;
	e->tracked = false;
	if (multi_unit) {
		/* order is one RRPP's: see rmc_rgp_notify() */
		e->notify = flags & RMC_OPF_NOTIFIES && node->fabric->rrpp_order;
		if (e->notify)
			e->op = RMC_OP_WRITE;
	}
	if (rmc_os_filters())
		track(node, out, tid);
	if (unlikely(flags & RMC_OPF_ANNOUNCED)) {
		e->announced = true;
		node->itt.announced++;
	}
	/* the RCP will write here; fetch the line while the packet travels */
	if (likely(mem))
		prefetchw(rmc_mem_ptr(mem, e->lbuf_off));
	return e;
}

/*
 * First packets of an operation; with several units not all of them go to @out. Returns
 * false when those behind it have to wait: all of it could not be sent.
 */
static __always_inline bool inject(struct rmc_qp *qp, struct rmc_out *out,
				   struct rmc_itt_entry *e, const struct rmc_wqe *w,
				   const bool multi_unit, const bool shared)
{
	struct rmc_node *node = qp->node;
	u16 tid = e - node->itt.entry;
	bool all;

	if (likely(!multi_unit && !(rmc_os_filters() && (out->filter || e->tracked)) &&
		   rmc_packet_length(node->fabric->mtu, w->offset, w->length) == w->length))
		all = inject_one(node, out, e, tid, w, rmc_op_flags(w->op));
	else
		all = unroll(node, tid, multi_unit, shared);
	if (unlikely(!all))
		qp->cur_tid = tid;
	return all;
}

/*
 * Go on with the operation that had to wait, before any other. @done: was anything sent;
 * @moved: bytes of it. Returns false when it waits again, or had all that is its queue
 * pair's for now.
 */
static __always_inline bool resume(struct rmc_qp *qp, u32 *done, u32 *moved,
				   const bool multi_unit, const bool shared)
{
	struct rmc_node *node = qp->node;
	struct rmc_itt_entry *e = &node->itt.entry[qp->cur_tid];
	u32 replies = e->replies, sent = e->sent;
	u16 nid = e->nid;
	bool all = unroll(node, qp->cur_tid, multi_unit, shared);

	if (e->replies != replies) {
		ring(node, nid, multi_unit);
		++*done;
	}
	if (!all)
		return false;
	qp->cur_tid = RMC_TID_NONE;
	*moved = e->sent - sent;
	return !shared || qp->budget == RMC_POLL_ALL || *moved < qp->budget;
}

/* An entry that names no operation. */
static __always_inline void refuse(struct rmc_qp *qp, u16 slot, u8 status)
{
	rmc_stat_inc(qp->node, errors);
	trace_rmc_rgp_refuse(qp->node->nid, slot, status);
	rmc_cq_post(qp, slot, status);
}

/* See rmc_rgp_poll(). @multi_unit: nodes have several units; @shared: so has the worker tenants. */
static __always_inline u32 poll_wq(struct rmc_qp *qp, const bool multi_unit, const bool shared)
{
	struct rmc_local direct[RMC_BATCH] rmc_os_unset;
	struct rmc_node *node = qp->node;
	u32 to = ~0U, taken = 0, done = 0, directs = 0, moved = 0;
	const u32 budget = shared ? qp->budget : RMC_POLL_ALL;
	/* where others wait, a few packets go by way of the ring, one in each turn */
	const u32 direct_most = budget == RMC_POLL_ALL ? budget : node->fabric->mtu;

	if (rmc_os_filters() && node->req_stopped)
		return 0;
	if (unlikely(qp->cur_tid != RMC_TID_NONE) &&
	    !resume(qp, &done, &moved, multi_unit, shared))
		return done;

	while (taken < RMC_BATCH) {
		u16 slot = qp->wq_head & qp->mask, tid;
		struct rmc_mem *mem = NULL;
		struct rmc_out *out = NULL;
		struct rmc_itt_entry *e;
		struct rmc_wqe w;
		u8 status;

		if (!take_entry(qp, slot, &w))
			break;
		status = validate(qp, &w, &mem);
		if (likely(!status)) {
			w.nid = array_index_nospec(w.nid, node->fabric->nodes);
			out = node->out[multi_unit ? rmc_endpoint(node->fabric, w.nid) : w.nid];
			if (unlikely(!out || out->down)) {
				out = rmc_out_open(node, w.nid, &status);
				if (!out && !status)
					break;	/* channel is being made */
			} else if (!multi_unit && w.length <= direct_most &&
				   rmc_local_admit(qp, out, &w, mem, slot, &direct[directs])) {
				qp->wq_head++;
				taken++;
				directs++;
				moved += w.length + RMC_TENANT_ENTRY;
				if (unlikely(moved >= min_t(u32, budget, RMC_LOCAL_BUDGET)))
					break;
				continue;
			} else if (!multi_unit && !taken && out->self) {
				prefetch_target(qp, &w);
			}
		}
		/* all else comes after those that were taken */
		if (!multi_unit && directs && !execute_locals(qp, direct, &directs, &taken))
			break;
		qp->force_ring = false;
		if (unlikely(status)) {
			qp->wq_head++;
			taken++;
			refuse(qp, slot, status);
			continue;
		}

		tid = take_tid(node, qp, out, rmc_op_flags(w.op), budget);
		if (unlikely(tid == RMC_TID_NONE))
			break;
		qp->wq_head++;
		taken++;
		e = begin(qp, out, tid, slot, &w, mem, multi_unit);
		/* one doorbell per run of entries for the same node */
		if (to != w.nid && to != ~0U)
			ring(node, to, multi_unit);
		to = w.nid;
		if (unlikely(!inject(qp, out, e, &w, multi_unit, shared)))
			break;
		if (budget != RMC_POLL_ALL) {
			moved += w.length + RMC_TENANT_ENTRY;
			if (moved >= budget)
				break;
		}
	}
	if (!multi_unit && directs)
		execute_locals(qp, direct, &directs, &taken);
	if (to != ~0U)
		ring(node, to, multi_unit);
	if (taken)
		rmc_stat_add(node, wq_entries, taken);
	return done + taken;
}

static noinline u32 poll_wq_multi_unit(struct rmc_qp *qp)
{
	return poll_wq(qp, true, true);
}

static noinline u32 poll_wq_shared(struct rmc_qp *qp)
{
	return poll_wq(qp, false, true);
}

/**
 * rmc_rgp_poll() - look at one WQ
 * @qp: queue pair; the caller is its node's RGP worker
 *
 * Return: entries taken or packets injected; 0 when there was nothing, or
 * nothing that could go on.
 * Context: worker, does not sleep.
 */
u32 rmc_rgp_poll(struct rmc_qp *qp)
{
	if (unlikely(rmc_fabric_multi_unit(qp->node->fabric)))
		return poll_wq_multi_unit(qp);
	if (unlikely(qp->budget != RMC_POLL_ALL))
		return poll_wq_shared(qp);
	return poll_wq(qp, false, false);
}

/**
 * rmc_rgp_notify() - all of a notifying write has been answered, by several RRPPs
 * @node: node; the caller is its RCP and RGP worker
 * @tid: operation; becomes a notification, which is sent behind it
 *
 * Context: worker, does not sleep.
 */
void rmc_rgp_notify(struct rmc_node *node, u16 tid)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];

	e->notify = false;
	e->op = RMC_OP_NOTIFY;
	e->length = 0;
	e->sent = 0;
	if (!unroll(node, tid, true, false)) {
		/* no credit now: the next tick tries again */
		e->restarted = true;
		node->itt.restarts++;
		return;
	}
	ring(node, e->nid, true);
}

/**
 * rmc_rgp_resume() - go on with operations that began again
 * @node: node; the caller is its RGP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_rgp_resume(struct rmc_node *node)
{
	bool multi_unit = rmc_fabric_multi_unit(node->fabric);
	u32 i;

	for (i = 0; i < node->itt.size && node->itt.restarts; i++) {
		struct rmc_itt_entry *e = &node->itt.entry[i];

		/* a channel that went away took its operations along */
		if (!e->qp || !e->restarted || !node->out[rmc_endpoint(node->fabric, e->nid)])
			continue;
		if (unroll(node, i, multi_unit, false)) {
			e->restarted = false;
			node->itt.restarts--;
		}
		ring(node, e->nid, multi_unit);
	}
}
