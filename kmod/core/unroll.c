// SPDX-License-Identifier: GPL-2.0
/*
 * The half of the RGP that unrolls operations into packets (A14 section 4.2, T18 section 3.3).
 * rgp.c takes the WQ entries.
 *
 * Packets are cut at line boundaries and injected while credits last. An operation that waits
 * for credits blocks its own queue pair only.
 */
#include "complete.h"
#include "order.h"
#include "unroll.h"

/*
 * Announced operations hold credits for long while the destination's table is full. A
 * quarter of a channel is reserved for other operations, if a packet fits the rest.
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
 * A worker that has both ends serves a short transfer at once if all its packets arrive
 * together. So the transfer waits some polls until all of them can be sent. Not if the ends have
 * different workers, nor if it never fits.
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
 * True if data requests of an announced operation may be sent. Sends the announcement first,
 * unless the operation fits one packet. One operation per channel at a time, so that each
 * announced operation can also send its data requests (Documentation/sabre.rst).
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
		rmc_model_send(&node->links, out->filter, &out->req, 0, e->qp->number);
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

/* An announced operation failed before all of it was sent: do not send the rest. */
static void give_up(struct rmc_node *node, struct rmc_out *out, struct rmc_itt_entry *e)
{
	out->announcing = RMC_TID_NONE;
	e->length = e->sent;
	if (!e->replies)
		rmc_op_finish(node, e, e->status);
}

/* True if the packet at @offset is beyond the window of a tracked operation. */
static bool window_full(struct rmc_node *node, u16 tid, u64 offset)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];

	return rmc_cut_index(node->fabric, e, offset) >=
	       node->itt.track[tid].base + RMC_TRACK;
}

/*
 * Inject the next packets of an operation as a run, whose payload is one copy.
 * Return: number of packets; 0: the next one must wait for credits.
 */
static __always_inline u32 inject_run(struct rmc_node *node, struct rmc_out *out,
				      struct rmc_itt_entry *e, u16 tid, u16 flags, u64 order,
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
	/* another RRPP serves the bytes after the block */
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
			     rmc_req_word1(offset + at, len, e->sent + at + len == e->length) |
			     order);
	}
	if (unlikely(flags & RMC_OPF_ANNOUNCED)) {
		taken = packets * (mtu / RMC_LINE);
		out->held += packets;
		out->held_lines += taken;
	}
	if (unlikely(order))
		rmc_order_sent(out, e, packets);
	*lines -= taken;
	out->credits -= packets;
	e->replies += packets;
	e->sent += bytes;
	return packets;
}

/* Inject one packet, for which there are credits. */
static __always_inline void inject_packet(struct rmc_node *node, struct rmc_out *out,
					  struct rmc_itt_entry *e, u16 tid, u16 flags, u64 word1,
					  u64 order, u32 req_lines, u32 rep_lines)
{
	u32 len = rmc_word1_length(word1), packets = 0;

	if (flags & RMC_OPF_SLOT)
		packets = rmc_slot_packets(node->fabric, e, flags);
	rmc_op_load(e, &out->req, e->offset + e->sent, len);
	out->req.pay_pos += req_lines;
	if (rmc_os_filters() && unlikely(out->filter))
		rmc_model_send(&node->links, out->filter, &out->req, req_lines,
			       e->qp->number);
	rmc_ring_put(&out->req, rmc_req_word0(e->op, e->qp->ctx_id, e->gen, tid) |
		     rmc_packets_word0(packets), word1 | rmc_packets_word1(packets));
	if (unlikely(order))
		rmc_order_sent(out, e, 1);
	out->credits--;
	out->req_lines -= req_lines;
	out->rep_lines -= rep_lines;
	if (unlikely(e->tracked))
		node->itt.track[tid].outstanding.replies++;
	e->replies++;
	e->sent += len;
}

/*
 * Destination endpoint of the operation's packet at @offset. An operation of one home sends all
 * packets to the RRPP of its first byte, or of its slot or context. Notifications go to the first
 * RRPP, the only one that counts them.
 */
static __always_inline u32 route(const struct rmc_fabric *f, const struct rmc_itt_entry *e,
				 u16 flags, u64 offset, const bool multi_unit)
{
	if (!multi_unit)
		return e->nid;
	if (flags & RMC_OPF_SLOT)
		return rmc_endpoint(f, e->nid) | rmc_slot_home(e->offset, f->rrpp_order);
	if (flags & RMC_OPF_TX)
		return rmc_endpoint(f, e->nid) | rmc_tx_home(e->qp->ctx_id, f->rrpp_order);
	if (flags & RMC_OPF_EMPTY)
		return rmc_endpoint(f, e->nid);
	return rmc_home(f, e->nid, flags & RMC_OPF_ONE_HOME ? e->offset : offset);
}

/* Of several units: the channel of the packet at @offset; NULL: it waits for other RRPPs */
static __always_inline struct rmc_out *choose_out(struct rmc_node *node,
						  const struct rmc_itt_entry *e, u16 flags,
						  u64 offset, u64 *order)
{
	u32 ep = route(node->fabric, e, flags, offset, true);

	if (unlikely(e->ordered)) {
		if (!rmc_order_home(e, ep)) {
			rmc_stat_inc(node, order_stalls);
			return NULL;
		}
		*order = rmc_order_word1(node->out[ep], e);
	}
	node->touched |= 1U << ep % rmc_fabric_rrpps(node->fabric);
	return node->out[ep];
}

/* See rmc_unroll(). */
static __always_inline bool unroll_body(struct rmc_node *node, u16 tid, const bool multi_unit,
					const bool shared)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];
	const u32 budget = shared ? e->qp->budget : RMC_POLL_ALL;
	const struct rmc_fabric *f = node->fabric;
	u16 flags = rmc_op_flags(e->op);
	struct rmc_out *out = node->out[route(f, e, flags, e->offset + e->sent, multi_unit)];
	bool filtered = rmc_os_filters() && out->filter;
	bool announced = flags & RMC_OPF_ANNOUNCED;
	u64 order = (multi_unit || shared) && e->ordered ? rmc_order_word1(out, e) : 0;
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

		/* the budget is used up: stop, as if it had to wait for credits */
		if (budget != RMC_POLL_ALL && e->sent - sent >= budget)
			break;
		if (multi_unit) {
			out = choose_out(node, e, flags, offset, &order);
			if (!out)
				break;
			filtered = rmc_os_filters() && out->filter;
		}
		word1 |= order;
		if (budget != RMC_POLL_ALL && rmc_out_crowded(out)) {
			rmc_stat_inc(node, credit_stalls);
			break;
		}
		if (e->length - e->sent > len && rmc_op_runs(flags, word1) && !filtered &&
		    !e->tracked) {
			n = inject_run(node, out, e, tid, flags, order, multi_unit, budget);
			packets += n;
			if (n)
				continue;
			rmc_stat_inc(node, credit_stalls);
			break;
		}
		/* the packet is a whole announced operation, which needs no table entry */
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
		inject_packet(node, out, e, tid, flags, word1, order, req_lines, rep_lines);
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

/**
 * rmc_unroll_one() - see rmc_unroll(): one unit per node, a worker of one tenant
 * @node: unit; the caller is its RGP worker
 * @tid: operation
 *
 * Return: true if all of it was sent. Context: worker, does not sleep.
 */
bool rmc_unroll_one(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, false, false);
}

/**
 * rmc_unroll_shared() - the same on a worker that tenants share
 * @node: unit; the caller is its RGP worker
 * @tid: operation
 *
 * Return: true if all of it was sent. Context: worker, does not sleep.
 */
bool rmc_unroll_shared(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, false, true);
}

/**
 * rmc_unroll_multi_unit() - the same if nodes have several units
 * @node: unit; the caller is its RGP worker
 * @tid: operation
 *
 * Return: true if all of it was sent. Context: worker, does not sleep.
 */
bool rmc_unroll_multi_unit(struct rmc_node *node, u16 tid)
{
	return unroll_body(node, tid, true, true);
}

/*
 * Send the notification of a write that several RRPPs have answered. It is a new packet, which must
 * not leave when its queue pair has stopped. Returns false if it has to wait.
 */
static bool send_notification(struct rmc_node *node, u16 tid)
{
	struct rmc_itt_entry *e = &node->itt.entry[tid];

	if (e->ordered && e->qp->stopped) {
		rmc_op_finish(node, e, RMC_S_ABORTED);
		return true;
	}
	if (!rmc_unroll(node, tid, true, false))
		return false;
	if (e->restarted)
		node->itt.restarts--;
	e->restarted = false;
	rmc_requests_ring(node, e->nid, true);
	return true;
}

/**
 * rmc_rgp_notify() - begin to send the notification of a write that several RRPPs have answered
 * @node: node; the caller is its RCP and RGP worker
 * @tid: operation; becomes the notification, or ends because its queue pair has stopped
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
	if (!send_notification(node, tid)) {
		/* no credit now, or other writes are to be answered: the next tick tries again */
		e->restarted = true;
		node->itt.restarts++;
	}
}

/**
 * rmc_rgp_notify_again() - try again at once, because what the notification waited for is answered
 * @node: node; the caller is its RCP and RGP worker
 * @e: operation in flight
 *
 * Context: worker, does not sleep.
 */
void rmc_rgp_notify_again(struct rmc_node *node, const struct rmc_itt_entry *e)
{
	/* else it still is a write; when it is sent, others wait for its own answer */
	if (e->op == RMC_OP_NOTIFY)
		send_notification(node, e - node->itt.entry);
}

/**
 * rmc_rgp_resume() - continue to send restarted operations
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

		/* a channel that closed has ended its operations */
		if (!e->qp || !e->restarted || !node->out[rmc_endpoint(node->fabric, e->nid)])
			continue;
		if (e->op == RMC_OP_NOTIFY) {
			send_notification(node, i);
			continue;
		}
		if (rmc_unroll(node, i, multi_unit, false)) {
			e->restarted = false;
			node->itt.restarts--;
		}
		rmc_requests_ring(node, e->nid, multi_unit);
	}
}
