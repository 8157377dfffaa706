// SPDX-License-Identifier: GPL-2.0
/*
 * Remote Request Processing Pipeline (A14 section 4.2, T18 section 3.3).
 *
 * Stateless: a request is served from the request and the context table alone. The
 * exception is announced operations, whose state is in the Active Transfers Table.
 * A batch is handled in two passes: copy, validate, look up and prefetch all requests,
 * then serve them, so that misses on segment memory overlap. Consecutive packets of one
 * operation are validated and served as one run.
 */
#include "account.h"
#include "adapter.h"
#include "admit.h"
#include "pipeline.h"
#include "../base/slot.h"
#include "../base/tx_wire.h"

/* Status of a request that a filter lost: nothing is served, its credit returns. */
#define RMC_LOST	0xfd
/* ... of one that was for a filter only, which has seen it */
#define RMC_RENEWED	0xfb
/* ... of one that a switch has answered and that is valid */
#define RMC_ANSWERED	0xfa

/*
 * A request, or a run of requests, between the two passes. An announcement and the data
 * requests behind it are also a run. @run: bytes of the run so far.
 */
struct pending {
	struct rmc_req req;
	u32 run;
	struct rmc_mem *seg;
	u64 word0;
	const u64 *word1;
	u32 count;
	u32 pay_pos;
	u32 pay_lines;
	u16 flags;
	u8 status;
	bool runs;
};

/*
 * True if this is the RRPP that must serve the request. Two RRPPs on one line could tear it,
 * and only the first RRPP counts notifications. All packets of an operation of one home go to
 * the RRPP of its first byte, which only a packet with FIRST names. The other packets may lie
 * anywhere: serve() decides whether they belong to what this RRPP has.
 */
static bool at_home(const struct rmc_node *node, const struct pending *p, u16 flags)
{
	const struct rmc_fabric *f = node->fabric;

	/* one RRPP, also if there are several units: the others' workers would be further ones */
	if (!f->rrpp_order)
		return node == node->head;
	if (flags & RMC_OPF_SLOT)
		return (rmc_endpoint(f, node->nid) |
			rmc_slot_home(p->req.offset, f->rrpp_order)) == node->ep;
	if (flags & RMC_OPF_TX)
		return (rmc_endpoint(f, node->nid) |
			rmc_tx_home(p->req.ctx_id, f->rrpp_order)) == node->ep;
	if (flags & RMC_OPF_NOTIFIES)
		return false;
	if (flags & RMC_OPF_EMPTY)
		return node == node->head;
	if (flags & RMC_OPF_ONE_HOME)
		return !(*p->word1 & RMC_REQ_FIRST) ||
		       rmc_home(f, node->nid, p->req.offset) == node->ep;
	return rmc_home(f, node->nid, p->req.offset) == node->ep &&
	       (p->req.offset & (f->interleave - 1)) + p->req.length <= f->interleave;
}

static __always_inline u8 validate(struct rmc_node *node, struct pending *p, u16 flags,
				   const bool multi_unit, const bool answered)
{
	u32 mtu = node->fabric->mtu;

	/* a peer that exceeds the MTU, or sends unknown opcodes, breaks the protocol */
	if (unlikely(!flags && p->req.op == RMC_OP_RENEW))
		return RMC_RENEWED;
	if (unlikely(!flags))
		return p->req.op & RMC_OP_LOST ? RMC_LOST : RMC_S_BAD_OP;
	if (rmc_op_announces(flags, *p->word1)) {
		p->req.length = rmc_announce_length(*p->word1);
		mtu = ~0U;
	}
	if (unlikely(!p->req.length != !!(flags & RMC_OPF_EMPTY)))
		return RMC_S_PROTOCOL;
	if (unlikely((p->req.offset & (RMC_LINE - 1)) + p->req.length > mtu))
		return RMC_S_PROTOCOL;
	if (multi_unit && unlikely(!at_home(node, p, flags)))
		return RMC_S_PROTOCOL;
	/* the switch has admitted what it has answered */
	if (answered)
		return RMC_ANSWERED;
	/* serve() looks up the slot, or the table */
	if (flags & RMC_OPF_NO_MEMORY)
		return RMC_S_OK;
	return rmc_admit(node, p->req.ctx_id, p->req.offset, p->req.length, flags, &p->seg);
}

/* Takes the mark of a switch off; true if a request has it. Only filters set it. */
static noinline bool unmark_answer(struct pending *p)
{
	if (!(p->req.op & RMC_OP_ANSWERED))
		return false;
	p->req.op &= ~RMC_OP_ANSWERED;
	p->word0 &= ~RMC_REQ_ANSWERED;
	return true;
}

/* First pass, for a request that does not continue a run. */
static __always_inline void gather(struct rmc_node *node, const struct rmc_desc *d,
				   const u64 *word1, u32 pay_pos, struct pending *p,
				   const bool multi_unit, const bool filtered)
{
	bool answered = false;
	u16 flags;

	rmc_req_parse(&p->req, d);
	p->word0 = d->word0;
	p->word1 = word1;
	p->count = 1;
	flags = rmc_op_flags(p->req.op);
	if (filtered && !flags) {
		answered = unmark_answer(p);
		flags = rmc_op_flags(p->req.op);
	}
	p->status = validate(node, p, flags, multi_unit, filtered && answered);
	if (unlikely(p->status == RMC_LOST)) {
		p->req.op &= ~RMC_OP_LOST;
		flags = rmc_op_flags(p->req.op);
	}
	p->flags = flags;
	p->runs = !p->status && flags & RMC_OPF_RUNS;
	p->run = p->req.length;
	if (unlikely(flags & RMC_OPF_ANNOUNCED && *word1 & RMC_REQ_FIRST)) {
		p->runs &= !(*word1 & RMC_REQ_LAST);
		p->run = 0;
	}
	p->pay_pos = pay_pos;
	p->pay_lines = rmc_op_req_lines(flags, p->req.offset, p->req.length);
	/* not for data requests of announced operations: their order is not decided yet */
	if (likely(!p->status && p->req.length && !(flags & RMC_OPF_NO_MEMORY) &&
		   (!(flags & RMC_OPF_ANNOUNCED) || *word1 & RMC_REQ_FIRST)))
		rmc_fetch_first(p->seg, p->req.offset, p->req.length, flags);
	if (filtered && answered)
		p->pay_lines = 1;
}

/* First pass, for a request that may continue a run. Returns false if it does not. */
static __always_inline bool join(const struct rmc_fabric *f, const struct rmc_desc *d, u32 most,
				 struct pending *p, const bool multi_unit)
{
	bool announced = p->flags & RMC_OPF_ANNOUNCED;
	u32 more;

	if (!p->runs)
		return false;
	if (unlikely(announced))
		most = RMC_POLL_BUDGET * RMC_MTU_MAX;
	more = rmc_run_on(p->word0, p->req.offset, p->run, most, d);
	if (!more || more > f->mtu)
		return false;
	/* bytes after the block have another home and are validated separately */
	if (multi_unit && f->rrpp_order && !(p->flags & RMC_OPF_ONE_HOME) &&
	    (p->req.offset & (f->interleave - 1)) + p->run + more > f->interleave)
		return false;
	/* data requests are only counted; the ATT cuts the transfer into packets anew */
	if (likely(!announced)) {
		if (!rmc_mem_covers(p->seg, p->req.offset, p->run + more))
			return false;
		/* it may reach a range of transactions, which is admitted packet by packet */
		if (unlikely(READ_ONCE(p->seg->flags) & RMC_MEM_TX) && p->flags & RMC_OPF_MODIFIES)
			return false;
		if (p->pay_lines)
			p->pay_lines += rmc_lines(0, more);
		p->req.length += more;
	}
	p->run += more;
	p->count++;
	return true;
}

/*
 * True if the request at the head of the ring, whose serve() returned RMC_AGAIN, may stay
 * there. All requests of all contexts of the source wait behind it. So it is tried
 * RMC_AGAIN_TRIES times, but only once if another request of the source failed within
 * RMC_AGAIN_MS. Then a ring full of such requests takes about as many tries as it has slots.
 */
static noinline bool may_stay(const struct rmc_node *node, struct rmc_in *in)
{
	u32 now = node->srv_ms, most = RMC_AGAIN_TRIES;

	if (in->again_pos != in->req.pos)
		in->tries = 0;
	in->again_pos = in->req.pos;
	if (now - in->busy_ms < RMC_AGAIN_MS)
		most = 1;
	if (++in->tries < most)
		return true;
	in->busy_ms = now;
	return false;
}

/* The reply to a request that a switch has answered. Returns its status. */
static noinline u8 reply_answer(struct rmc_in *in, const struct pending *p, u64 *word1)
{
	struct rmc_switch_answer a;

	/* from the private ring */
	memcpy(&a, rmc_ring_line(&in->req, p->pay_pos), sizeof(a));
	if (a.status)
		return a.status;
	if (p->flags & RMC_OPF_OPERANDS)
		*word1 = a.word;
	else if (p->flags & RMC_OPF_REP_LINES)
		memcpy(rmc_ring_line(&in->rep, in->rep.pay_pos) +
		       (p->req.offset & (RMC_LINE - 1)), &a.word, sizeof(a.word));
	in->rep.pay_pos += rmc_op_rep_lines(p->flags, p->req.offset, p->req.length);
	return RMC_S_OK;
}

/*
 * Second pass. Returns false if the request must be tried again, or continued. @sw: switch that
 * replies pass; there are no runs then. NULL: none.
 */
static __always_inline bool serve(struct rmc_node *node, struct rmc_in *in, struct rmc_serve *s,
				  struct pending *p, struct rmc_switch *sw, const bool filtered,
				  const bool modelled)
{
	const u64 *word1 = p->word1;
	u32 i, count = p->count;
	u8 status = p->status;
	u64 word0, marks = 0;

	s->word1 = *word1;
	if (likely(!status)) {
		s->count = count;
		s->req = p->req;
		s->seg = p->seg;
		s->rx_pay = p->pay_pos;
		status = modelled ? rmc_adapter_serve(s, p->word0) : rmc_op_serve(s);
		if (modelled && status == RMC_LATER)
			return false;
		if (unlikely(status == RMC_AGAIN)) {
			if (may_stay(node, in))
				return false;
			status = RMC_S_BUSY;
		}
	}
	if (filtered && sw && status < RMC_S_TX_MAX)
		rmc_switch_replies(sw, in->ep, p->word0, *word1, status, &in->rep);
	in->req.pos += count;
	in->req.pay_pos += p->pay_lines;
	if (modelled)
		rmc_adapter_answered(in);
	if (likely(!status)) {
		in->rep.pay_pos += rmc_op_rep_lines(p->flags, p->req.offset, p->req.length);
	} else if (status == RMC_HELD) {
		if (likely(s->count == count))
			return true;
		/* more data requests than were announced */
		status = RMC_S_SABRE_LOST;
		word1 += s->count;
		count -= s->count;
		s->word1 = *word1;
	} else if (status == RMC_LOST) {
		status = RMC_S_TIMEOUT;
		marks = RMC_REP_LOST;
	} else if (status == RMC_RENEWED) {
		status = RMC_S_OK;
	} else if (filtered && status == RMC_ANSWERED) {
		status = reply_answer(in, p, &s->word1);
		marks = RMC_REP_HALF;
	}
	if (likely(!marks) || (filtered && marks == RMC_REP_HALF))
		rmc_account_result(node, count, p->req.length, status);
	word0 = rmc_rep_echo(p->word0, status);
	rmc_ring_put(&in->rep, word0 | marks, s->word1);
	for (i = 1; i < count; i++)
		rmc_ring_put(&in->rep, word0, word1[i]);
	return true;
}

/* Longest run of a request; @steps: all its lines have a bit, also before an unaligned start */
static __always_inline u32 most_of(const struct pending *p, u32 most, const bool steps)
{
	return steps ? most - (u32)(p->req.offset & (RMC_LINE - 1)) : most;
}

/*
 * @filtered: the requests come from a filter. @modelled: the node's adapter is modelled, see
 * adapter.c.
 */
static __always_inline u32 poll_body(struct rmc_node *node, struct rmc_in *in, u32 from,
				     const bool multi_unit, const bool filtered,
				     const bool modelled)
{
	const bool steps = modelled && node->links.rnic.any_lines;
	u32 most = rmc_fabric_run(node->fabric, in->self);
	u32 pay_pos = in->req.pay_pos;
	struct pending batch[RMC_BATCH] rmc_os_unset;
	u32 n, i, taken, done = 0;
	u64 word1[RMC_POLL_BUDGET] rmc_os_unset;
	struct rmc_serve s rmc_os_unset;
	struct rmc_switch *sw = NULL;
	struct rmc_desc d;

	if (steps)
		most = min_t(u32, most, RMC_RNIC_MTU_MAX);
	if (filtered) {
		rmc_filter_pump(&node->links, in->filter);
		sw = node->links.sw;
	}
	for (n = 0, taken = 0; taken < RMC_POLL_BUDGET; taken++) {
		if (!rmc_ring_peek(&in->req, taken, &d))
			break;
		word1[taken] = d.word1;
		if (n && join(node->fabric, &d, most_of(&batch[n - 1], most, steps), &batch[n - 1],
			      multi_unit))
			continue;
		if (n == RMC_BATCH)
			break;
		if (n)
			pay_pos += batch[n - 1].pay_lines;
		gather(node, &d, &word1[taken], pay_pos, &batch[n++], multi_unit, filtered);
		/* replies pass the switch one by one */
		if (filtered && sw && !(batch[n - 1].flags & RMC_OPF_ANNOUNCED))
			batch[n - 1].runs = false;
	}
	if (!n)
		return 0;
	/* the one that has begun, and no other: the node may be stopped */
	if (steps && in->steps && in->steps->last)
		n = 1;
	s.rx = &in->req;
	s.tx = &in->rep;
	s.node = node;
	s.in = in;
	s.from = from;
	s.now = 0;
	for (i = 0; i < n; i++) {
		if (unlikely(!serve(node, in, &s, &batch[i], sw, filtered, modelled)))
			break;
		done += batch[i].count;
	}
	if (done) {
		rmc_doorbell_ring(node->fabric, from, RMC_LANE_REP, node->ep, in->self);
		rmc_account_served(node, rmc_endpoint_nid(node->fabric, from), done);
	}
	return done;
}

static noinline u32 poll_source(struct rmc_node *node, struct rmc_in *in, u32 from)
{
	return poll_body(node, in, from, false, false, false);
}

static noinline u32 poll_source_multi_unit(struct rmc_node *node, struct rmc_in *in, u32 from)
{
	return poll_body(node, in, from, true, false, false);
}

/* What is not usual: filters, an adapter. Returns 1 as well if it has only moved some lines. */
static noinline u32 poll_special(struct rmc_node *node, struct rmc_in *in, u32 from, bool modelled)
{
	bool filtered = rmc_os_filters() && in->filter;
	u32 done;

	if (modelled)
		rmc_adapter_poll(in);
	done = poll_body(node, in, from, rmc_fabric_multi_unit(node->fabric), filtered, modelled);
	return done ?: modelled && rmc_adapter_moved(in);
}

/**
 * rmc_rrpp_finish() - finish the request of a channel of which some lines were moved, if any
 * @node: unit; the caller is its RRPP worker
 * @in: channel, whose adapter or ring will change
 *
 * What is behind it in the ring is not served. Context: worker, does not sleep.
 */
void rmc_rrpp_finish(struct rmc_node *node, struct rmc_in *in)
{
	struct rmc_steps *st = in->steps;

	if (!st || !st->begun)
		return;
	st->last = true;
	poll_special(node, in, in->ep, true);
	st->last = false;
	/* a READ of a line that keeps changing begins anew */
	st->begun = false;
}

static noinline u32 poll_source_special(struct rmc_node *node, struct rmc_in *in, u32 from,
					bool filtered, bool modelled)
{
	return filtered || modelled ? poll_special(node, in, from, modelled) :
			  poll_source_multi_unit(node, in, from);
}

/**
 * rmc_rrpp_poll() - serve the sources whose doorbell bit is set
 * @node: node; the caller is its RRPP worker
 *
 * Return: requests served.
 * Context: worker, does not sleep.
 */
u32 rmc_rrpp_poll(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	bool multi_unit = rmc_fabric_multi_unit(f), modelled = false;
	u32 words = (f->endpoints + 63) / 64;
	u32 idle = rmc_idle_polls(node->srv_sources);
	u32 w, sources = 0, done = 0;

	if (rmc_os_filters()) {
		if (node->srv_stopped)
			return 0;
		modelled = rmc_rnic_serves(&node->links.rnic);
	}
	for (w = 0; w < words; w++) {
		/* a stray bit only costs a check: the ring decides */
		u64 bits = READ_ONCE(*rmc_doorbell_word(f, node->ep, RMC_LANE_REQ, w * 64));

		while (bits) {
			u32 from = w * 64 + __ffs64(bits);
			struct rmc_in *in;
			bool filtered;
			u32 n;

			bits &= bits - 1;
			sources++;
			if (unlikely(from >= f->endpoints))
				break;
			in = node->in[from];
			if (unlikely(!in)) {
				in = rmc_in_open(node, from);
				if (!in)
					continue;
			}
			n = 0;
			filtered = rmc_os_filters() && in->filter;
			if (rmc_ring_ready(&in->req) || unlikely(filtered))
				n = likely(!multi_unit && !filtered && !modelled) ?
				    poll_source(node, in, from) :
				    poll_source_special(node, in, from, filtered, modelled);
			done += n;
			if (n || rmc_filter_holds(in->filter)) {
				in->idle = 0;
			} else if (unlikely(++in->idle > idle)) {
				in->idle = 0;
				rmc_doorbell_clear(node, RMC_LANE_REQ, from,
						   rmc_filter_wire(in->filter, &in->req));
			}
		}
	}
	node->srv_sources = sources;
	if (unlikely(rmc_state_due(node)))
		done += rmc_state_poll(node);
	return done;
}
