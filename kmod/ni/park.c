// SPDX-License-Identifier: GPL-2.0
/* When a worker may sleep, and inline polls by other threads meanwhile. */
#include "../core/pipeline.h"
#include "tenants.h"

/* True if there is work that was not taken yet. */
static bool work_left(struct rmc_ni_worker *w)
{
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < w->alls; i++)
		if (rmc_qp_pending(w->all[i]))
			return true;
	for (lane = 0; lane < RMC_LANES; lane++) {
		for (i = 0; i < (w->nodes[lane] + 63) / 64; i++)
			if (READ_ONCE(w->pend[lane][i]))
				return true;
		for (i = 0; w->remote && i < w->nodes[lane]; i++)
			if (likely(!READ_ONCE(w->node[lane][i]->fenced)) &&
			    !rmc_doorbells_quiet(w->node[lane][i], lane))
				return true;
	}
	for (i = 0; i < w->nodes[RMC_LANE_REQ]; i++)
		if (likely(!READ_ONCE(w->node[RMC_LANE_REQ][i]->fenced)) &&
		    rmc_domains_pending(w->node[RMC_LANE_REQ][i]))
			return true;
	return false;
}

/* True if a node is joining, which needs its worker's ticks. */
static bool joining(const struct rmc_node *node)
{
	const struct rmc_node *head = node->head;

	return !READ_ONCE(head->up) && !READ_ONCE(head->fenced) && !READ_ONCE(head->left);
}

/*
 * The worker of RGP and RCP has to tick: for time-outs, and for groups that are broken. Not for a
 * node that is stopped: it has no ticks, and who lets it go on calls the worker.
 */
static bool in_flight(const struct rmc_node *node)
{
	if (rmc_os_filters() && node->req_stopped)
		return false;
	return node->itt.used || node->renewals;
}

/* An engine has to send, or to repeat what was not answered; the same of a node that is stopped */
static bool engines_busy(const struct rmc_ni_worker *w)
{
	const struct rmc_tx_slots *s;

	for (s = w->tx; s; s = s->next)
		if (rmc_tx_slots_busy(s) && !(rmc_os_filters() && s->unit->req_stopped))
			return true;
	return false;
}

/**
 * rmc_ni_may_park() - check that there is no work and nothing in flight
 * @w: worker; the caller owns it
 *
 * Context: worker, does not sleep. The cost grows with the worker's units and
 * QPs: call it only after many idle visits.
 */
bool rmc_ni_may_park(struct rmc_ni_worker *w)
{
	enum rmc_lane lane;
	u32 i;

	if (w->hots || work_left(w) || engines_busy(w))
		return false;
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < w->nodes[lane]; i++)
			if (joining(w->node[lane][i]) ||
			    (lane == RMC_LANE_REP ? in_flight(w->node[lane][i]) :
						    rmc_state_busy(w->node[lane][i])))
				return false;
	return true;
}

static void publish_parked(struct rmc_ni_worker *w, u32 parked)
{
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < w->alls; i++)
		WRITE_ONCE(w->all[i]->flags->need_wakeup, parked);
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < w->nodes[lane]; i++) {
			struct rmc_node *node = w->node[lane][i];
			u32 unit = node->ep - node->head->ep;

			if (likely(!READ_ONCE(node->fenced)))
				WRITE_ONCE(node->fabric->node[node->nid].parked[lane][unit],
					   parked);
		}
	WRITE_ONCE(w->parked, parked);
}

/**
 * rmc_ni_park() - announce that the worker is about to sleep
 * @w: worker; the caller is its thread
 *
 * Return: true: sleep now, rmc_os_wake() will be called for new work. False:
 * new work has arrived; the announcement is withdrawn.
 * Context: worker; may sleep in rmc_os_membarrier().
 */
bool rmc_ni_park(struct rmc_ni_worker *w)
{
	publish_parked(w, 1);
	/*
	 * Announce, then check for work. Pairs with "publish, then check need_wakeup"
	 * in the library, which has no fence: this call makes every CPU that
	 * runs an owner of one of our queue pairs execute one. Also a full barrier
	 * for us, which pairs with those in rmc_ni_notify(), in the transports' notify()
	 * and in rmc_client_submit().
	 */
	rmc_os_membarrier(w);
	if (work_left(w)) {
		publish_parked(w, 0);
		return false;
	}
	WRITE_ONCE(w->parks, w->parks + 1);
	return true;
}

/**
 * rmc_ni_unpark() - withdraw the announcement after a sleep
 * @w: worker; the caller is its thread
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_unpark(struct rmc_ni_worker *w)
{
	publish_parked(w, 0);
	WRITE_ONCE(w->wakeups, w->wakeups + 1);
}

/* Clear the doorbells of empty rings, as many idle polls would. */
static void settle_doorbells(struct rmc_node *node, enum rmc_lane lane)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	for (i = 0; i < (f->endpoints + 63) / 64; i++) {
		u64 bits = READ_ONCE(*rmc_doorbell_word(f, node->ep, lane, i * 64));

		for (; bits; bits &= bits - 1) {
			u32 from = i * 64 + __ffs64(bits);
			const struct rmc_filter *filter;
			const struct rmc_ring *rx;

			if (from >= f->endpoints)
				break;
			/* without a channel the doorbell waits for it */
			if (lane == RMC_LANE_REQ) {
				if (!node->in[from])
					continue;
				rx = &node->in[from]->req;
				filter = node->in[from]->filter;
			} else {
				if (!node->out[from])
					continue;
				rx = &node->out[from]->rep;
				filter = node->out[from]->filter;
			}
			if (!rmc_filter_holds(filter))
				rmc_doorbell_clear(node, lane, from, rmc_filter_wire(filter, rx));
		}
	}
}

/* Return the worker to a state in which it may park. Returns false if it has work. */
static bool settle(struct rmc_ni_worker *w)
{
	enum rmc_lane lane;
	u32 i;

	for (lane = 0; lane < RMC_LANES; lane++) {
		for (i = 0; i < w->nodes[lane]; i++)
			if (likely(!READ_ONCE(w->node[lane][i]->fenced)))
				settle_doorbells(w->node[lane][i], lane);
		rmc_ni_clear_pend(w, lane);
	}
	for (i = w->hots; i-- > 0;)
		if (rmc_qp_quiet(w->hot[i]))
			rmc_ni_cool(w, w->hot[i]);
	return rmc_ni_may_park(w);
}

/**
 * rmc_ni_poll_inline() - do the work of a parked worker on the caller's CPU
 * @w: worker, parked; the caller owns it (rmc_ni_try_own()) and keeps it
 * @now_ns: clock of the fabric's time-outs, nanoseconds
 * @often_ns: wake the worker if its last inline poll was more recent than this
 *
 * The announcement stays meanwhile: other producers wake the worker's thread. What the caller
 * itself publishes is handled here.
 *
 * Return: true: no work is left, the worker may stay parked. False: wake it, after
 * rmc_ni_disown().
 * Context: process, not preempted; does not sleep.
 */
bool rmc_ni_poll_inline(struct rmc_ni_worker *w, u64 now_ns, u64 often_ns)
{
	bool often = now_ns - w->inline_ns < often_ns, settled;
	u32 i;

	if (w->alls > RMC_INLINE_POLLS)
		return false;
	for (i = 0; i < w->alls; i++)
		if (w->all[i]->hot < 0 && rmc_qp_pending(w->all[i]))
			rmc_ni_heat(w, w->all[i]);
	if (w->hots > RMC_INLINE_QPS)
		return false;
	WRITE_ONCE(w->inline_by, rmc_os_self());
	w->inline_ns = now_ns;
	/* node time stops while the worker sleeps, and deadlines rely on it */
	rmc_ni_tick(w, now_ns);
	for (i = 0; i < RMC_INLINE_VISITS && rmc_ni_visit(w) && !rmc_os_must_leave();)
		i++;
	settled = settle(w);
	/* these visits were not the worker's time */
	w->tick_visits = w->visits;
	w->tick_worked = w->worked;
	WRITE_ONCE(w->inline_polls, w->inline_polls + 1);
	WRITE_ONCE(w->inline_by, NULL);
	return settled && !often;
}
