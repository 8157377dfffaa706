// SPDX-License-Identifier: GPL-2.0
/*
 * Request Completion Pipeline (A14 section 4.2, T18 section 3.3).
 *
 * A reply names a tid; all its other fields are checked against the ITT. A reply that
 * does not match (late, duplicate, forged) is counted and dropped. It still returns its
 * credit, because it used the slot.
 */
#include "complete.h"
#include "order.h"
#include "pipeline.h"

/* The operation a reply belongs to, or NULL. */
static struct rmc_itt_entry *match(struct rmc_node *node, u32 nid, const struct rmc_rep *p)
{
	struct rmc_itt_entry *e;

	if (unlikely(p->tid >= node->itt.size))
		return NULL;
	e = &node->itt.entry[array_index_nospec(p->tid, node->itt.size)];
	if (unlikely(!e->qp || e->gen != p->gen || e->nid != nid || e->op != p->op ||
		     !e->replies))
		return NULL;
	return e;
}

/*
 * True if the RGP may have cut the echoed packet from this operation. The MTU check also keeps
 * the payload within the ring.
 */
static bool within(const struct rmc_node *node, const struct rmc_itt_entry *e, u64 word1)
{
	u64 offset = rmc_word1_offset(word1);
	u32 len = rmc_word1_length(word1);

	return (offset & (RMC_LINE - 1)) + len <= node->fabric->mtu &&
	       offset - e->offset <= e->sent &&	/* not before it either */
	       len <= e->sent - (offset - e->offset);
}

/*
 * True for the first reply to a packet. Only for tracked operations, whose replies a filter may
 * duplicate.
 */
static bool first_reply(struct rmc_node *node, struct rmc_itt_entry *e, const struct rmc_rep *p)
{
	struct rmc_track *t = &node->itt.track[e - node->itt.entry];
	u32 i;

	if (rmc_op_returns_word(rmc_op_flags(e->op)) || !e->length)
		return true;	/* one packet, and its reply is no echo */
	if (rmc_op_announces(rmc_op_flags(e->op), p->word1)) {
		if (t->validated)
			return false;
		t->validated = true;
		return true;
	}
	i = rmc_cut_index(node->fabric, e, rmc_word1_offset(p->word1)) - t->base;
	if (i >= RMC_TRACK || t->seen & 1ULL << i)
		return false;
	t->seen |= 1ULL << i;
	for (; t->seen & 1; t->seen >>= 1)
		t->base++;
	return true;
}

/* With filters: true if a packet is a reply, and the first one to its request. */
static bool is_first(struct rmc_node *node, struct rmc_itt_entry *e, const struct rmc_rep *p)
{
	rmc_outstanding_came(&node->itt.track[e - node->itt.entry].outstanding, p->marks);
	e->copied = true;
	if (p->marks & RMC_MARK_LOST) {
		/* the operation waits until its deadline, as if the loss were unknown */
		e->lost++;
		rmc_stat_inc(node, lost_replies);
		return false;
	}
	/* an operation that began before the filter is not tracked; then the mark
	 * decides
	 */
	if (e->tracked ? !first_reply(node, e, p) : p->marks & RMC_MARK_COPY) {
		rmc_stat_inc(node, doubled_replies);
		return false;
	}
	return true;
}

/* The same for any reply, of an ordered queue pair too, which counts it */
static bool counts(struct rmc_node *node, struct rmc_itt_entry *e, const struct rmc_rep *p)
{
	const struct rmc_itt_entry *waits;

	/* a switch's answer is no duplicate: nothing to count, or its ITT entry would be retired */
	if ((p->marks & ~RMC_MARK_HALF || e->tracked) && !is_first(node, e, p))
		return false;
	if (e->ordered) {
		waits = rmc_order_answered(e->qp, e, 1);
		/* not behind a failure; it is aborted, at the next tick */
		if (unlikely(waits && !p->status && !e->status))
			rmc_rgp_notify_again(node, waits);
	}
	return true;
}

/* Release what an announced operation held until its replies arrived. */
static void unhold(struct rmc_out *out, u32 packets, u32 lines)
{
	out->held -= min(out->held, packets);
	out->held_lines -= min(out->held_lines, lines);
}

/*
 * Length of the run that begins with the reply @first to @e, which passed within(). *more: the
 * number of further replies in the run.
 */
static u32 run_length(struct rmc_node *node, struct rmc_out *out, const struct rmc_itt_entry *e,
		      const struct rmc_desc *first, u32 *more)
{
	u64 offset = rmc_word1_offset(first->word1);
	u32 len = rmc_word1_length(first->word1);
	u32 most = min_t(u64, rmc_fabric_run(node->fabric, out->self),
			 e->offset + e->sent - offset);
	struct rmc_desc d;
	u32 n, next;

	for (n = 0; n + 1 < e->replies && n + 1 < RMC_POLL_BUDGET; n++) {
		if (!rmc_ring_peek(&out->rep, n, &d))
			break;
		next = rmc_run_on(first->word0, offset, len, most, &d);
		if (!next || next > node->fabric->mtu)
			break;
		len += next;
	}
	*more = n;
	return len;
}

/* Return credits and lines of a reply and @more replies behind it, whatever their contents. */
static __always_inline void give_back(struct rmc_node *node, struct rmc_out *out,
				      const struct rmc_rep *p, u16 flags, u32 more)
{
	u32 lines = rmc_op_echo_lines(flags, p->word1), reserved = lines, taken, len;
	u64 offset;

	out->rep.pos += more;
	/* each reply returns a credit; forged ones never more than there are */
	if (likely(!p->status))
		out->rep.pay_pos += lines;
	if (unlikely(p->marks & RMC_MARK_COPY))
		return;
	out->credits = min(out->credits + 1 + more, out->req.mask + 1);
	if (unlikely(rmc_op_announces(flags, p->word1))) {
		unhold(out, 1, 0);
		out->xfers -= min(out->xfers, 1U);
		return;
	}
	if (unlikely(flags & RMC_OPF_ANNOUNCED) && !(p->word1 & RMC_REQ_FIRST)) {
		reserved = rmc_op_reserved_lines(flags, p->word1, node->fabric->mtu) * (1 + more);
		unhold(out, 1 + more, reserved);
	}
	offset = rmc_word1_offset(p->word1);
	len = rmc_word1_length(p->word1);
	/* limited by the shared ring's size: @rep may be a filter's ring, which is larger */
	if (reserved) {
		out->rep_lines = min(out->rep_lines + reserved, out->req.pay_mask + 1);
		rmc_account_reply_bytes(node, len);
	}
	taken = rmc_op_req_lines(flags, offset, len);
	if (taken)
		out->req_lines = min(out->req_lines + taken, out->req.pay_mask + 1);
}

/* Handle a reply that was taken from the ring. Returns how many further replies it consumed. */
static u32 retire(struct rmc_node *node, struct rmc_out *out, const struct rmc_desc *d)
{
	struct rmc_itt_entry *e;
	u32 len, more = 0;
	struct rmc_rep p;
	bool announces;
	u16 flags;

	rmc_rep_parse(&p, d);
	e = match(node, out->nid, &p);
	flags = rmc_op_flags(p.op);
	announces = rmc_op_announces(flags, p.word1);

	if (unlikely(!e)) {
		if (!rmc_order_told(node, out, &p)) {
			rmc_stat_inc(node, stale_replies);
			rmc_itt_late(&node->itt, out->nid, &p);
		}
	} else if (unlikely(p.marks || e->tracked || e->ordered) && !counts(node, e, &p)) {
		/* lost or a duplicate: ignore it */
	} else {
		u8 status = p.status;

		if (unlikely(status)) {
			/* those of transactions are for their engine alone */
			if (status >= (flags & RMC_OPF_TX ? RMC_S_TX_MAX : RMC_S_DOMAIN_MAX))
				status = RMC_S_PROTOCOL;
			if (status == RMC_S_BUSY)
				rmc_tenant_charge(e->qp->tenant, RMC_TENANT_BUSY);
		} else if (unlikely(announces)) {
			/* has only a status */
		} else if (rmc_op_returns_word(flags)) {
			/* its second word is the old value, not an echo */
			rmc_op_complete(e, &out->rep, p.word1);
		} else if (likely(within(node, e, p.word1))) {
			if (e->replies > 1 && rmc_op_runs(flags, p.word1) && !p.marks &&
			    !e->tracked && !e->ordered) {
				len = run_length(node, out, e, d, &more);
				p.word1 = rmc_req_word1(rmc_word1_offset(p.word1), len, false);
			}
			rmc_op_complete(e, &out->rep, p.word1);
		} else {
			status = RMC_S_PROTOCOL;
		}
		if (unlikely(status == RMC_S_PROTOCOL))
			rmc_stat_inc(node, bad_replies);
		if (unlikely(status && !e->status))
			e->status = status;
		e->replies -= 1 + more;
		if (!e->replies && e->sent == e->length) {
			if (unlikely(e->notify && !e->status))
				rmc_rgp_notify(node, p.tid);
			else
				rmc_op_end(node, e, e->status);
		}
	}

	give_back(node, out, &p, flags, more);
	return more;
}

static u32 poll_source(struct rmc_node *node, struct rmc_out *out)
{
	struct rmc_desc d;
	u32 n, taken = 0;

	if (rmc_os_filters() && out->filter)
		rmc_filter_pump(&node->links, out->filter);
	for (n = 0; n < RMC_BATCH && taken < RMC_POLL_BUDGET; n++) {
		if (!rmc_ring_peek(&out->rep, 0, &d))
			break;
		out->rep.pos++;
		taken += 1 + retire(node, out, &d);
	}
	if (taken)
		rmc_account_replies(node, taken);
	return taken;
}

/**
 * rmc_rcp_poll() - handle replies of the sources whose doorbell bit is set
 * @node: node; the caller is its RCP worker
 *
 * Return: replies handled.
 * Context: worker, does not sleep.
 */
u32 rmc_rcp_poll(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 words = (f->endpoints + 63) / 64;
	u32 idle = rmc_idle_polls(node->req_sources);
	u32 w, sources = 0, done = 0;

	if (rmc_os_filters() && node->req_stopped)
		return 0;
	for (w = 0; w < words; w++) {
		u64 bits = READ_ONCE(*rmc_doorbell_word(f, node->ep, RMC_LANE_REP, w * 64));

		while (bits) {
			u32 from = w * 64 + __ffs64(bits);
			struct rmc_out *out;
			u32 n;

			bits &= bits - 1;
			sources++;
			if (unlikely(from >= f->endpoints))
				break;
			out = node->out[from];
			if (unlikely(!out)) {
				/* no channel: no request was sent to it */
				rmc_doorbell_clear(node, RMC_LANE_REP, from, NULL);
				continue;
			}
			n = 0;
			if (rmc_ring_ready(&out->rep) || unlikely(rmc_os_filters() && out->filter))
				n = poll_source(node, out);
			done += n;
			if (n || rmc_filter_holds(out->filter)) {
				out->idle = 0;
			} else if (unlikely(++out->idle > idle)) {
				out->idle = 0;
				rmc_doorbell_clear(node, RMC_LANE_REP, from,
						   rmc_filter_wire(out->filter, &out->rep));
			}
		}
	}
	node->req_sources = sources;
	return done;
}
