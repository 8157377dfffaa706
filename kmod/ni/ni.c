// SPDX-License-Identifier: GPL-2.0
/* What a worker polls, and what it does in one visit. When it may sleep: park.c. */
#include "../core/order.h"
#include "../core/timeout.h"
#include "../member/member.h"
#include "tenants.h"

/**
 * rmc_ni_worker_init() - set up a worker without units
 * @w: worker, zeroed
 * @max_units: most units per lane
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_ni_worker_init(struct rmc_ni_worker *w, u32 max_units)
{
	w->node[RMC_LANE_REQ] = rmc_os_zalloc(max_units * sizeof(struct rmc_node *));
	w->node[RMC_LANE_REP] = rmc_os_zalloc(max_units * sizeof(struct rmc_node *));
	w->hot = rmc_os_zalloc(RMC_WORKER_QPS * sizeof(*w->hot));
	w->all = rmc_os_zalloc(RMC_WORKER_QPS * sizeof(*w->all));
	w->tenant = rmc_os_zalloc(RMC_WORKER_QPS * sizeof(*w->tenant));
	w->own = rmc_tenant_create(max_units, NULL);
	w->owned = 1;
	if (!w->node[RMC_LANE_REQ] || !w->node[RMC_LANE_REP] || !w->hot || !w->all ||
	    !w->tenant || !w->own) {
		rmc_ni_worker_destroy(w);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rmc_ni_worker_destroy() - free what rmc_ni_worker_init() took
 * @w: worker whose thread does not run
 *
 * Context: may sleep.
 */
void rmc_ni_worker_destroy(struct rmc_ni_worker *w)
{
	rmc_tenant_destroy(w->own);
	rmc_os_free(w->tenant);
	rmc_os_free(w->all);
	rmc_os_free(w->hot);
	rmc_os_free(w->node[RMC_LANE_REP]);
	rmc_os_free(w->node[RMC_LANE_REQ]);
	w->own = NULL;
	w->tenant = NULL;
	w->all = NULL;
	w->hot = NULL;
	w->node[RMC_LANE_REP] = NULL;
	w->node[RMC_LANE_REQ] = NULL;
}

/**
 * rmc_ni_add_unit() - add one half of a unit to a worker
 * @w: worker whose thread does not run yet
 * @node: unit
 * @lane: which half: the stages that read this lane
 */
void rmc_ni_add_unit(struct rmc_ni_worker *w, struct rmc_node *node, enum rmc_lane lane)
{
	node->index[lane] = w->nodes[lane];
	w->node[lane][w->nodes[lane]++] = node;
	if (lane == RMC_LANE_REP) {
		node->req_worker = w;
		w->stages |= RMC_STAGE_REQ;
	} else {
		node->srv_worker = w;
		w->stages |= RMC_STAGE_SRV;
	}
	w->remote |= !!node->fabric->sync;
}

/**
 * rmc_ni_add_front() - make a worker a frontend of a unit
 * @w: worker whose thread does not run yet
 * @node: unit, which has less than RMC_MAX_FRONTENDS
 */
void rmc_ni_add_front(struct rmc_ni_worker *w, struct rmc_node *node)
{
	w->stages |= RMC_STAGE_FRONT;
	node->front[node->fronts++] = w;
}

/* A number that no other queue pair of the unit has. There is one, because there are fewer. */
static u32 take_number(struct rmc_node *node)
{
	u32 n;

	do
		n = node->next_number++ % RMC_MAX_QPS;
	while (node->numbers[n / 64] & 1ULL << n % 64);
	node->numbers[n / 64] |= 1ULL << n % 64;
	return n;
}

/**
 * rmc_ni_add_qp() - start polling a QP
 * @w: the unit's RGP worker, or a frontend; the caller runs on it
 * @qp: queue pair, set up by the caller
 *
 * Return: 0 or -ENOSPC. Context: worker, does not sleep.
 */
int rmc_ni_add_qp(struct rmc_ni_worker *w, struct rmc_qpair *qp)
{
	if (w->alls == RMC_WORKER_QPS)
		return -ENOSPC;
	/* each unit has a share of the node's limit; of a front only the inner QP counts */
	if (!qp->front && qp->node->qps == RMC_MAX_QPS / rmc_fabric_units(qp->node->fabric))
		return -ENOSPC;
	if (!qp->tenant)
		qp->tenant = w->own;
	/* a frontend allocates no ITT entries: any account will do */
	qp->account = &qp->tenant->unit[qp->front ? 0 : qp->node->index[RMC_LANE_REP]];
	qp->budget = RMC_POLL_ALL;
	if (qp->group && !qp->front)
		rmc_order_join(qp);
	qp->cur_tid = RMC_TID_NONE;
	qp->hot = -1;
	qp->cold = w->alls;
	w->all[w->alls++] = qp;
	if (!qp->front) {
		qp->number = take_number(qp->node);
		WRITE_ONCE(qp->node->qps, qp->node->qps + 1);
		rmc_tenant_join(w, qp);
	}
	return 0;
}

/**
 * rmc_ni_del_qp() - stop polling a QP and drop what it has in flight
 * @w: the unit's RGP worker, or a frontend; the caller runs on it
 * @qp: queue pair; not accessed after the call. The inner QP of a front must be deleted from
 *	its own worker next
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_del_qp(struct rmc_ni_worker *w, struct rmc_qpair *qp)
{
	struct rmc_abort all = { .qp = qp, .nid = -1, .silent = true };
	struct rmc_qpair *moved;

	if (!qp->front) {
		rmc_itt_abort(qp->node, &all);
		if (qp->tx)
			rmc_tx_detach(qp);
		if (qp->group)
			rmc_order_leave(qp);
	}
	if (qp->hot >= 0)
		rmc_ni_cool(w, qp);
	moved = w->all[--w->alls];
	w->all[qp->cold] = moved;
	moved->cold = qp->cold;
	if (w->cursor >= w->alls)
		w->cursor = 0;
	if (!qp->front) {
		qp->node->numbers[qp->number / 64] &= ~(1ULL << qp->number % 64);
		WRITE_ONCE(qp->node->qps, qp->node->qps - 1);
		rmc_tenant_leave(qp);
	}
}

/**
 * rmc_ni_add_slots() - start polling an engine of transactions
 * @w: the unit's RGP worker; the caller runs on it
 * @s: slots of a unit and a context
 *
 * Return: 0; -EEXIST: the context has slots there; -ENOSPC: too many contexts have, or the worker
 * has too many queue pairs. Context: worker, does not sleep.
 */
int rmc_ni_add_slots(struct rmc_ni_worker *w, struct rmc_tx_slots *s)
{
	int err = rmc_ni_add_qp(w, &s->engine->client.qp);

	if (err)
		return err;
	err = rmc_tx_slots_add(s);
	if (err) {
		rmc_ni_del_qp(w, &s->engine->client.qp);
		return err;
	}
	s->next = w->tx;
	w->tx = s;
	return 0;
}

/**
 * rmc_ni_del_slots() - stop polling an engine of transactions
 * @w: the unit's RGP worker; the caller runs on it
 * @s: slots that no queue pair has
 *
 * What is decided and was not sent is never sent: see rmc_tx_slots_idle(). Context: worker, does
 * not sleep.
 */
void rmc_ni_del_slots(struct rmc_ni_worker *w, struct rmc_tx_slots *s)
{
	struct rmc_tx_slots **at = &w->tx;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	rmc_tx_slots_del(s);
	rmc_ni_del_qp(w, &s->engine->client.qp);
}

/**
 * rmc_ni_notify() - handle a doorbell of a unit in this kernel
 * @node: unit
 * @lane: lane
 *
 * Context: any that may wake a task; does not sleep.
 */
void rmc_ni_notify(struct rmc_node *node, enum rmc_lane lane)
{
	struct rmc_ni_worker *w = lane == RMC_LANE_REQ ? node->srv_worker : node->req_worker;

	/* with peers in other kernels all doorbells are checked anyway */
	if (!w->remote)
		rmc_os_or64(&w->pend[lane][node->index[lane] / 64],
			    1ULL << (node->index[lane] % 64));
	/* set pend, then read parked; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	/* an inline poll also handles what its own thread published */
	if (READ_ONCE(w->parked) && READ_ONCE(w->inline_by) != rmc_os_self())
		rmc_os_wake(w);
}

static __always_inline u32 visit_qps(struct rmc_ni_worker *w, u32 (*poll)(struct rmc_qpair *),
				     u32 (*tenants)(struct rmc_ni_worker *))
{
	u32 i, n, done = 0;

	if (unlikely(w->tenants > 1)) {
		done = tenants(w);
	} else {
		for (i = 0; i < w->hots; i++) {
			struct rmc_qpair *qp = w->hot[i];

			n = poll(qp);
			done += n;
			if (n) {
				qp->idle = 0;
			} else if (unlikely(++qp->idle > RMC_IDLE_POLLS) && rmc_qp_quiet(qp)) {
				rmc_ni_cool(w, qp);
				i--;
			}
		}
		w->uncharged += done;
	}
	if (w->hots < w->alls) {
		struct rmc_qpair *qp = w->all[w->cursor];

		if (++w->cursor >= w->alls)
			w->cursor = 0;
		if (qp->hot < 0 && rmc_qp_pending(qp)) {
			rmc_ni_heat(w, qp);
			/* with several tenants it is polled at the next visit */
			if (w->tenants == 1)
				done += poll(qp);
			else
				done++;
		}
	}
	return done;
}

/* Poll the engines of transactions, and at once what they have posted. */
static noinline u32 visit_tx(struct rmc_ni_worker *w)
{
	struct rmc_tx_slots *s;
	u32 done = 0;

	for (s = w->tx; s; s = s->next) {
		struct rmc_qpair *qp = &s->engine->client.qp;

		if (likely(!rmc_tx_slots_busy(s)))
			continue;
		done += rmc_tx_slots_poll(s, false);
		if (!rmc_qp_pending(qp))
			continue;
		if (qp->hot < 0)
			rmc_ni_heat(w, qp);
		/* with several tenants it is polled at the next visit */
		if (w->tenants == 1)
			done += rmc_wq_poll(qp);
	}
	return done;
}

/**
 * rmc_doorbells_quiet() - check that no doorbell is set
 * @node: unit
 * @lane: lane
 *
 * Return: true if all its doorbells are clear. Context: any.
 */
bool rmc_doorbells_quiet(struct rmc_node *node, enum rmc_lane lane)
{
	u32 i;

	for (i = 0; i < (node->fabric->endpoints + 63) / 64; i++)
		if (READ_ONCE(*rmc_doorbell_word(node->fabric, node->ep, lane, i * 64)))
			return false;
	return true;
}

/* True if a unit has nothing that its worker has to poll for. */
static bool quiet(struct rmc_node *node, enum rmc_lane lane)
{
	if (lane == RMC_LANE_REQ && rmc_domains_pending(node))
		return false;
	return rmc_doorbells_quiet(node, lane);
}

/**
 * rmc_ni_clear_pend() - remove units with clear doorbells from pend
 * @w: worker; the caller owns it
 * @lane: lane
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_clear_pend(struct rmc_ni_worker *w, enum rmc_lane lane)
{
	u32 i;

	for (i = 0; i < w->nodes[lane]; i++) {
		u64 *word = &w->pend[lane][i / 64];
		u64 bit = 1ULL << (i % 64);

		if (!(READ_ONCE(*word) & bit) || !quiet(w->node[lane][i], lane))
			continue;
		rmc_os_andnot64(word, bit);
		/* clear pend, then read the doorbells, and relays; pairs with
		 * rmc_ni_notify(), whose caller sets them before it sets pend
		 */
		smp_mb();
		if (!quiet(w->node[lane][i], lane))
			rmc_os_or64(word, bit);
	}
}

/* Inlined, so that the calls are direct ones: no retpoline, as in op.h. */
static __always_inline u32 visit_lane(struct rmc_ni_worker *w, enum rmc_lane lane,
				      u32 (*poll)(struct rmc_node *))
{
	struct rmc_node **node = w->node[lane];
	u32 words = (w->nodes[lane] + 63) / 64;
	u32 i, done = 0;

	if (w->remote) {
		for (i = 0; i < w->nodes[lane]; i++)
			if (likely(!READ_ONCE(node[i]->fenced)))
				done += poll(node[i]);
		return done;
	}
	for (i = 0; i < words; i++) {
		u64 bits = READ_ONCE(w->pend[lane][i]);

		while (bits) {
			done += poll(node[i * 64 + __ffs64(bits)]);
			bits &= bits - 1;
		}
	}
	return done;
}

/* Visits between two removals of silent units from pend. */
#define SETTLE_VISITS	1024

/**
 * rmc_ni_visit() - poll everything that may have work once
 * @w: worker; the caller owns it
 *
 * Return: entries, requests and replies handled.
 * Context: worker, does not sleep.
 */
u32 rmc_ni_visit(struct rmc_ni_worker *w)
{
	u32 n, done = 0;

	if (w->stages & RMC_STAGE_REQ)
		done += visit_qps(w, rmc_wq_poll, rmc_tenants_visit);
	else if (w->stages & RMC_STAGE_FRONT)
		done += visit_qps(w, rmc_front_poll, rmc_tenants_visit_front);
	if (unlikely(w->tx))
		done += visit_tx(w);
	if (w->stages & RMC_STAGE_SRV) {
		n = visit_lane(w, RMC_LANE_REQ, rmc_rrpp_poll);
		if (n && w->remote)
			w->served += (u64)n * RMC_TENANT_ENTRY;
		done += n;
	}
	if (w->stages & RMC_STAGE_REQ)
		done += visit_lane(w, RMC_LANE_REP, rmc_rcp_poll);
	/* what was decided: an application waits for it */
	if (unlikely(w->tx) && done)
		done += visit_tx(w);

	WRITE_ONCE(w->visits, w->visits + 1);
	if (done) {
		WRITE_ONCE(w->worked, w->worked + 1);
		w->idle = 0;
	} else {
		w->idle++;
	}
	if (unlikely(!(w->visits % SETTLE_VISITS)) && !w->remote) {
		rmc_ni_clear_pend(w, RMC_LANE_REQ);
		rmc_ni_clear_pend(w, RMC_LANE_REP);
	}
	return done;
}

/**
 * rmc_ni_tick() - periodic check of peers and time-outs
 * @w: worker; the caller owns it
 * @now_ns: clock of the fabric's time-outs, nanoseconds
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_tick(struct rmc_ni_worker *w, u64 now_ns)
{
	u32 now_ms = rmc_os_ns_to_ms(now_ns);
	struct rmc_tx_slots *s;
	struct rmc_node *node;
	u32 i;

	rmc_tenants_tick(w, now_ns);
	w->tick_ns = now_ns;
	/* a stopped node has no heartbeat either */
	for (i = 0; i < w->nodes[RMC_LANE_REP]; i++) {
		node = w->node[RMC_LANE_REP][i];
		if (!(rmc_os_filters() && node->req_stopped))
			rmc_node_tick_req(node, now_ms);
	}
	for (s = w->tx; s; s = s->next)
		if (!(rmc_os_filters() && s->unit->req_stopped))
			rmc_tx_slots_poll(s, true);
	for (i = 0; i < w->nodes[RMC_LANE_REQ]; i++) {
		node = w->node[RMC_LANE_REQ][i];
		if (rmc_os_filters() && node->srv_stopped)
			continue;
		rmc_node_tick_srv(node, now_ms);
		/* also written by the workers of other units */
		if (unlikely(node == node->head && !READ_ONCE(node->up)))
			rmc_node_join_poll(node, now_ms);
	}
}
