// SPDX-License-Identifier: GPL-2.0
/*
 * Request Generation Pipeline (A14 section 4.2, T18 section 3.3).
 *
 * Takes WQ entries: snapshot, validation, tid. unroll.c unrolls them into packets. An
 * entry that waits for a credit blocks only its own QP.
 */
#include "complete.h"
#include "entry.h"
#include "local.h"
#include "local_message.h"
#include "order.h"
#include "tx_slots.h"
#include "unroll.h"

/* Track an operation whose replies a filter may duplicate. */
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

/*
 * A worker that has both ends prefetches the target of a lone operation while it builds the
 * packet. Of several operations the RRPP prefetches all before it serves the first.
 */
static __always_inline void prefetch_target(const struct rmc_qpair *qp, const struct rmc_wqe *w)
{
	const struct rmc_node *server = qp->node->fabric->local[w->nid];
	u16 flags = rmc_op_flags(w->op);
	struct rmc_mem *seg;

	/* neither an empty operation nor one of a slot or a table has a target in memory */
	if (likely(w->length && !(flags & RMC_OPF_NO_MEMORY) &&
		   !rmc_admit(server, qp->ctx_id, w->offset, w->length, flags, &seg)))
		rmc_fetch_first(seg, w->offset, w->length, flags);
}

/*
 * Second pass of the local path, once per batch. Out of line, because its variables would take
 * registers from the loop over entries. Returns false if an entry needs packets: it and those
 * behind it are put back into the WQ.
 */
static noinline bool execute_locals(struct rmc_qpair *qp, struct rmc_local *batch, u32 *count,
				    u32 *taken)
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

/*
 * Allocate a tid; RMC_TID_NONE: the operation must wait. Announced operations leave a quarter
 * of the ITT to others, as they do of a channel's credits.
 */
static __always_inline u16 take_tid(struct rmc_node *node, struct rmc_qpair *qp,
				    const struct rmc_out *out, u16 flags, const u32 budget,
				    const bool ordered)
{
	struct rmc_itt *itt = &node->itt;
	u16 tid = RMC_TID_NONE;

	if (ordered && rmc_rank(flags) && !rmc_order_may_begin(node, qp, out->nid))
		return RMC_TID_NONE;
	if (budget != RMC_POLL_ALL && rmc_out_crowded(out)) {
		rmc_stat_inc(node, credit_stalls);
		return RMC_TID_NONE;
	}
	if (likely(!(flags & RMC_OPF_ANNOUNCED) || itt->announced < itt->size - itt->size / 4))
		tid = rmc_itt_alloc(itt, qp->account);
	if (unlikely(tid == RMC_TID_NONE))
		rmc_stat_inc(node, itt_stalls);
	return tid;
}

/* Fill in the ITT entry of an operation. */
static __always_inline struct rmc_itt_entry *begin(struct rmc_qpair *qp, struct rmc_out *out,
						   u16 tid, u16 slot, const struct rmc_wqe *w,
						   struct rmc_mem *mem, const bool multi_unit,
						   const bool ordered)
{
	struct rmc_node *node = qp->node;
	struct rmc_itt_entry *e = &node->itt.entry[tid];
	u16 flags = rmc_op_flags(w->op);

	e->qp = qp;
	e->lbuf = mem;
	e->lbuf_off = 0;
	if (likely(mem)) {
		e->lbuf_off = w->lbuf - mem->base;
		/* the RCP will write here; fetch the line while the packet travels */
		prefetchw(rmc_mem_ptr(mem, e->lbuf_off));
	}
	e->offset = w->offset;
	e->length = w->length;
	e->sent = 0;
	e->replies = 0;
	e->deadline = node->req_ms + READ_ONCE(node->fabric->timeout_ms);
	e->slot = slot;
	e->nid = w->nid;
	e->op = w->op;
	e->status = RMC_S_OK;
	e->lost = 0;
	e->tries = 0;
	e->tracked = false;
	e->ordered = ordered && rmc_rank(flags);
	if (ordered && e->ordered)
		rmc_order_begin(node, e);
	if (multi_unit) {
		/* several RRPPs keep no order among them: see rmc_rgp_notify() */
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
	if (unlikely(flags & (RMC_OPF_ENDS | RMC_OPF_TX))) {
		u64 now = 0;

		/* an engine's own operations have no prepare() */
		if (flags & RMC_OPF_PREPARE)
			e->lbuf_off |= (u64)w->tag << RMC_TAG_SHIFT;
		if (flags & RMC_OPF_ENDS)
			rmc_domain_take(qp, w, &now);
	}
	return e;
}

/*
 * Inject the first packets of an operation; with several units not all of them go to @out.
 * Returns false if not all of it could be sent: entries behind it must wait.
 */
static __always_inline bool inject(struct rmc_qpair *qp, struct rmc_out *out,
				   struct rmc_itt_entry *e, const struct rmc_wqe *w,
				   const bool multi_unit, const bool shared, const bool ordered)
{
	struct rmc_node *node = qp->node;
	u16 tid = e - node->itt.entry;
	bool all;

	if (likely(!multi_unit && !(rmc_os_filters() && (out->filter || e->tracked)) &&
		   !ordered && rmc_one_packet(node->fabric->mtu, w->offset, w->length)))
		all = rmc_inject_one(node, out, e, tid, qp->ctx_id, w, rmc_op_flags(w->op));
	else
		all = rmc_unroll(node, tid, multi_unit, shared);
	if (unlikely(!all))
		qp->cur_tid = tid;
	return all;
}

/*
 * Continue the operation that had to wait, before any other. *done: incremented if anything was
 * sent; *moved: bytes sent. Returns false if it must wait again, or if it has used up the
 * budget.
 */
static __always_inline bool resume(struct rmc_qpair *qp, u32 *done, u32 *moved,
				   const bool multi_unit, const bool shared)
{
	struct rmc_node *node = qp->node;
	struct rmc_itt_entry *e = &node->itt.entry[qp->cur_tid];
	u32 replies = e->replies, sent = e->sent;
	u16 nid = e->nid;
	bool all;

	/* what is before it has failed */
	if ((multi_unit || shared) && unlikely(qp->stopped) && e->ordered) {
		rmc_op_finish(node, e, RMC_S_ABORTED);
		++*done;
		return true;
	}
	all = rmc_unroll(node, qp->cur_tid, multi_unit, shared);
	if (e->replies != replies) {
		rmc_requests_ring(node, nid, multi_unit);
		++*done;
	}
	if (!all)
		return false;
	qp->cur_tid = RMC_TID_NONE;
	*moved = e->sent - sent;
	return !shared || qp->budget == RMC_POLL_ALL || *moved < qp->budget;
}

/* One doorbell per run of entries for the same node: ring that of the run before. */
static __always_inline void change_destination(struct rmc_node *node, u32 *to, u32 nid,
					       const bool multi_unit)
{
	if (*to != ~0U)
		rmc_requests_ring(node, *to, multi_unit);
	*to = nid;
}

/*
 * Begin an operation with packets. *to: where those before went to. Returns false if not all of it
 * could be sent.
 */
static __always_inline bool send(struct rmc_qpair *qp, struct rmc_out *out, u16 tid, u16 slot,
				 const struct rmc_wqe *w, struct rmc_mem *mem, u32 *to,
				 const bool multi_unit, const bool shared, const bool ordered)
{
	struct rmc_itt_entry *e = begin(qp, out, tid, slot, w, mem, multi_unit, ordered);

	if (unlikely(*to != w->nid))
		change_destination(qp->node, to, w->nid, multi_unit);
	return inject(qp, out, e, w, multi_unit, shared, ordered);
}

/*
 * Complete an entry that is not valid, or whose destination is down, or that needs no packet. One
 * of a transaction is completed later; what it moves counts. Returns true if the poll ends.
 */
static noinline bool end_entry(struct rmc_qpair *qp, const struct rmc_wqe *w, u16 slot, u8 status,
			       u32 budget, u32 *moved)
{
	u64 now = 0;

	qp->wq_head++;
	if (status == RMC_NO_PACKET) {
		if (rmc_op_flags(w->op) & RMC_OPF_TX) {
			*moved += rmc_tx_slots_take(qp, w, slot);
			return *moved >= min_t(u32, budget, RMC_LOCAL_BUDGET);
		}
		if (w->op == RMC_OP_RESUME)
			qp->stopped = false;
		else
			rmc_domain_ready(qp, w);
		rmc_cq_post(qp, slot, RMC_S_OK);
		return false;
	}
	/* it is valid, but its sender is gone: nobody else would free the slot */
	if (status == RMC_S_NODE_DOWN && rmc_op_flags(w->op) & RMC_OPF_ENDS)
		rmc_domain_take(qp, w, &now);
	rmc_order_refused(qp, w->op, status);
	rmc_stat_inc(qp->node, errors);
	trace_rmc_rgp_refuse(qp->node->nid, slot, status);
	rmc_cq_post(qp, slot, status);
	return false;
}

/* True for a message: an entry that names a slot */
static __always_inline bool is_message(const struct rmc_wqe *w)
{
	return rmc_op_flags(w->op) & RMC_OPF_SLOT;
}

/* True if an entry may take the local path. An ordered one may not if it can fail there. */
static __always_inline bool goes_local(const struct rmc_wqe *w, u32 most, const bool ordered)
{
	return w->length <= most && !(ordered && w->op == RMC_OP_RMW);
}

/*
 * Messages that need no packets, behind the entries taken before. Out of line, as they are many
 * or none. Returns 0 if there are none: the next entry needs packets; less if the poll ends.
 */
static noinline int take_messages(struct rmc_qpair *qp, struct rmc_local *batch, u32 *count,
				  u32 longest, u32 budget, u32 *taken, u32 *moved)
{
	u32 n;

	if (*count && !execute_locals(qp, batch, count, taken))
		return -EAGAIN;
	budget = min_t(u32, budget, RMC_LOCAL_BUDGET);
	n = rmc_local_messages(qp, RMC_BATCH - *taken, longest, budget, moved);
	*taken += n;
	return n && *moved >= budget ? -EAGAIN : (int)n;
}

/* What was taken, and where requests went to last: counted, and reported. */
static __always_inline void end_poll(struct rmc_node *node, u32 to, u32 taken,
				     const bool multi_unit)
{
	if (to != ~0U)
		rmc_requests_ring(node, to, multi_unit);
	if (taken)
		rmc_stat_add(node, wq_entries, taken);
}

/*
 * See rmc_rgp_poll(). @multi_unit: nodes have several units; @shared: tenants share the worker, or
 * the queue pair is ordered. Neither: nothing remains of both.
 */
static __always_inline u32 poll_wq(struct rmc_qpair *qp, const bool multi_unit, const bool shared)
{
	struct rmc_local locals[RMC_BATCH] rmc_os_unset;
	struct rmc_node *node = qp->node;
	u32 to = ~0U, taken = 0, done = 0, local_count = 0, moved = 0;
	const u32 budget = shared ? qp->budget : RMC_POLL_ALL;
	/* with a budget, only single packets take the local path: it cannot pause in between */
	const u32 local_most = budget == RMC_POLL_ALL ? budget : node->fabric->mtu;
	const bool local = !multi_unit && rmc_local_on(node);
	const bool ordered = (multi_unit || shared) && qp->group;

	if (rmc_os_filters() && node->req_stopped)
		return 0;
	if (unlikely(qp->cur_tid != RMC_TID_NONE) &&
	    !resume(qp, &done, &moved, multi_unit, shared))
		return done;
	while (taken < RMC_BATCH) {
		u16 slot = qp->wq_head & qp->mask, tid;
		struct rmc_mem *mem = NULL;
		struct rmc_out *out = NULL;
		struct rmc_wqe w;
		u8 status;
		int n;

		if (!rmc_entry_take(qp, qp->wq_head, &w))
			break;
		if (local && unlikely(is_message(&w))) {
			n = take_messages(qp, locals, &local_count, local_most, budget, &taken,
					  &moved);
			if (n < 0)
				break;
			if (n)
				continue;
		}
		status = rmc_entry_validate(qp, &w, &mem, ordered);
		if (likely(!status)) {
			w.nid = array_index_nospec(w.nid, node->fabric->nodes);
			out = node->out[multi_unit ? rmc_endpoint(node->fabric, w.nid) : w.nid];
			if (unlikely(!out || out->down)) {
				out = rmc_out_open(node, w.nid, &status);
				if (!out && !status)
					break;	/* the channel is being set up */
			} else if (local && goes_local(&w, local_most, ordered) &&
				   rmc_local_admit(qp, out, &w, mem, slot, &locals[local_count])) {
				qp->wq_head++;
				taken++;
				local_count++;
				moved += w.length + RMC_TENANT_ENTRY;
				if (unlikely(moved >= min_t(u32, budget, RMC_LOCAL_BUDGET)))
					break;
				continue;
			} else if (!multi_unit && !taken && out->self) {
				prefetch_target(qp, &w);
			}
		}
		/* entries taken before come first */
		if (!multi_unit && local_count && !execute_locals(qp, locals, &local_count, &taken))
			break;
		qp->force_ring = false;
		if (unlikely(status)) {
			taken++;
			if (end_entry(qp, &w, slot, status, budget, &moved))
				break;
			continue;
		}
		tid = take_tid(node, qp, out, rmc_op_flags(w.op), budget, ordered);
		if (unlikely(tid == RMC_TID_NONE))
			break;
		qp->wq_head++;
		taken++;
		if (unlikely(!send(qp, out, tid, slot, &w, mem, &to, multi_unit, shared, ordered)))
			break;
		if (budget != RMC_POLL_ALL) {
			moved += w.length + RMC_TENANT_ENTRY;
			if (moved >= budget)
				break;
		}
	}
	if (!multi_unit && local_count)
		execute_locals(qp, locals, &local_count, &taken);
	end_poll(node, to, taken, multi_unit);
	return done + taken;
}

static noinline u32 poll_wq_multi_unit(struct rmc_qpair *qp)
{
	return poll_wq(qp, true, true);
}

static noinline u32 poll_wq_shared(struct rmc_qpair *qp)
{
	return poll_wq(qp, false, true);
}

/**
 * rmc_rgp_poll() - poll one WQ
 * @qp: queue pair; the caller is its node's RGP worker
 *
 * Return: entries taken or packets injected; 0 if there was nothing, or nothing
 * could be sent.
 * Context: worker, does not sleep.
 */
u32 rmc_rgp_poll(struct rmc_qpair *qp)
{
	if (unlikely(rmc_fabric_multi_unit(qp->node->fabric)))
		return poll_wq_multi_unit(qp);
	if (unlikely(qp->budget != RMC_POLL_ALL || qp->group))
		return poll_wq_shared(qp);
	return poll_wq(qp, false, false);
}
