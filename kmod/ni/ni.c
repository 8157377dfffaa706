// SPDX-License-Identifier: GPL-2.0
/* What a worker does in one visit, and when it may sleep. */
#include "../core/complete.h"
#include "../member/member.h"
#include "tenants.h"

static const struct rmc_ni_org orgs[] = {
	{ .name = "fused",    .id = RMC_NI_FUSED },
	{ .name = "pair",     .id = RMC_NI_PAIR,     .separate_rrpp = true },
	{ .name = "edge",     .id = RMC_NI_EDGE,     .per_unit = true },
	{ .name = "per_tile", .id = RMC_NI_PER_TILE, .per_unit = true, .separate_rrpp = true },
	{ .name = "split",    .id = RMC_NI_SPLIT,    .per_unit = true, .frontends = true },
};

/**
 * rmc_ni_find() - organisation by name
 * @name: as the user spelled it
 *
 * Return: organisation or NULL.
 */
const struct rmc_ni_org *rmc_ni_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(orgs); i++)
		if (!strcmp(orgs[i].name, name))
			return &orgs[i];
	return NULL;
}

/* Workers that run RGPs and RCPs; those for RRPPs alone come after them. */
static u32 req_workers(const struct rmc_ni_org *org, const struct rmc_fabric *f)
{
	return org->per_unit ? rmc_fabric_units(f) : 1;
}

/**
 * rmc_ni_workers() - workers that an organisation takes
 * @org: organisation
 * @f: fabric; rmc_fabric_check() found it possible
 * @frontends: per unit, if there are any
 *
 * Return: workers per set of nodes.
 */
u32 rmc_ni_workers(const struct rmc_ni_org *org, const struct rmc_fabric *f, u32 frontends)
{
	if (org->frontends)
		return req_workers(org, f) + rmc_fabric_units(f) * frontends;
	if (!org->separate_rrpp)
		return req_workers(org, f);
	return req_workers(org, f) + (org->per_unit ? rmc_fabric_rrpps(f) : 1);
}

/**
 * rmc_ni_place() - worker that polls a lane of a unit
 * @org: organisation
 * @f: fabric
 * @unit: unit, less than those of a node
 * @lane: lane
 *
 * Return: number of the worker in its set.
 */
u32 rmc_ni_place(const struct rmc_ni_org *org, const struct rmc_fabric *f, u32 unit,
		 enum rmc_lane lane)
{
	if (lane == RMC_LANE_REQ && org->separate_rrpp)
		return req_workers(org, f) + (org->per_unit ? unit % rmc_fabric_rrpps(f) : 0);
	return org->per_unit ? unit : 0;
}

/**
 * rmc_ni_place_front() - worker that is a frontend of a unit
 * @f: fabric
 * @frontends: per unit
 * @unit: unit, less than those of a node
 * @number: which frontend of it
 *
 * Frontends of one row of the chip have one backend (T18 section 6.3.2).
 *
 * Return: number of the worker in its set.
 */
u32 rmc_ni_place_front(const struct rmc_fabric *f, u32 frontends, u32 unit, u32 number)
{
	return rmc_fabric_units(f) + unit * frontends + number;
}

/**
 * rmc_ni_worker_init() - set up a worker without units
 * @w: worker, zeroed
 * @max_units: units per lane it will get at most
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
	w->turn = 1;
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
 * rmc_ni_add_unit() - give a worker a half of a unit
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

/**
 * rmc_ni_add_qp() - start polling a QP
 * @w: the unit's RGP worker, or a frontend; the caller runs on it
 * @qp: queue pair, set up by the caller
 *
 * Return: 0 or -ENOSPC. Context: worker, does not sleep.
 */
int rmc_ni_add_qp(struct rmc_ni_worker *w, struct rmc_qp *qp)
{
	if (w->alls == RMC_WORKER_QPS)
		return -ENOSPC;
	/* each unit has its share of the node's; the inner one of a front counts */
	if (!qp->front && qp->node->qps == RMC_MAX_QPS / rmc_fabric_units(qp->node->fabric))
		return -ENOSPC;
	if (!qp->tenant)
		qp->tenant = w->own;
	/* whoever polls for a frontend has no ITT to take from */
	qp->account = &qp->tenant->unit[qp->front ? 0 : qp->node->index[RMC_LANE_REP]];
	qp->budget = RMC_POLL_ALL;
	qp->cur_tid = RMC_TID_NONE;
	qp->hot = -1;
	qp->cold = w->alls;
	w->all[w->alls++] = qp;
	if (!qp->front) {
		WRITE_ONCE(qp->node->qps, qp->node->qps + 1);
		rmc_tenant_join(w, qp);
	}
	return 0;
}

/**
 * rmc_ni_del_qp() - stop polling a QP and drop what it has in flight
 * @w: the unit's RGP worker, or a frontend; the caller runs on it
 * @qp: queue pair; not touched any more afterwards, but for the inner one of a front,
 *	which is to be taken from its own worker next
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_del_qp(struct rmc_ni_worker *w, struct rmc_qp *qp)
{
	struct rmc_abort all = { .qp = qp, .nid = -1, .silent = true };
	struct rmc_qp *moved;

	if (!qp->front)
		rmc_itt_abort(qp->node, &all);
	if (qp->hot >= 0)
		rmc_ni_cool(w, qp);
	moved = w->all[--w->alls];
	w->all[qp->cold] = moved;
	moved->cold = qp->cold;
	if (w->cursor >= w->alls)
		w->cursor = 0;
	if (!qp->front) {
		WRITE_ONCE(qp->node->qps, qp->node->qps - 1);
		rmc_tenant_leave(qp);
	}
}

/**
 * rmc_ni_notify() - a doorbell of a unit in this kernel was rung
 * @node: unit
 * @lane: lane
 *
 * Context: any that may wake a task; does not sleep.
 */
void rmc_ni_notify(struct rmc_node *node, enum rmc_lane lane)
{
	struct rmc_ni_worker *w = lane == RMC_LANE_REQ ? node->srv_worker : node->req_worker;

	/* with peers in other kernels all doorbells are looked at anyway */
	if (!w->remote)
		rmc_os_or64(&w->pend[lane][node->index[lane] / 64],
			    1ULL << (node->index[lane] % 64));
	/* set pend, then look at parked; pairs with the barrier in rmc_ni_park() */
	smp_mb();
	/* who helps it looks for what it published before it leaves */
	if (READ_ONCE(w->parked) && READ_ONCE(w->helper) != rmc_os_self())
		rmc_os_wake(w);
}

static __always_inline u32 visit_qps(struct rmc_ni_worker *w, u32 (*poll)(struct rmc_qp *),
				     u32 (*tenants)(struct rmc_ni_worker *))
{
	u32 i, n, done = 0;

	if (unlikely(w->tenants > 1)) {
		done = tenants(w);
	} else {
		for (i = 0; i < w->hots; i++) {
			struct rmc_qp *qp = w->hot[i];

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
		struct rmc_qp *qp = w->all[w->cursor];

		if (++w->cursor >= w->alls)
			w->cursor = 0;
		if (qp->hot < 0 && rmc_qp_pending(qp)) {
			rmc_ni_heat(w, qp);
			/* where others are hot, too, it is polled in its turn */
			if (w->tenants == 1)
				done += poll(qp);
			else
				done++;
		}
	}
	return done;
}

static bool doorbells_quiet(struct rmc_node *node, enum rmc_lane lane)
{
	u32 i;

	for (i = 0; i < (node->fabric->endpoints + 63) / 64; i++)
		if (READ_ONCE(*rmc_doorbell_word(node->fabric, node->ep, lane, i * 64)))
			return false;
	return true;
}

/* Units whose doorbells fell silent leave pend; looked at once more afterwards. */
static void settle_pend(struct rmc_ni_worker *w, enum rmc_lane lane)
{
	u32 i;

	for (i = 0; i < w->nodes[lane]; i++) {
		u64 *word = &w->pend[lane][i / 64];
		u64 bit = 1ULL << (i % 64);

		if (!(READ_ONCE(*word) & bit) || !doorbells_quiet(w->node[lane][i], lane))
			continue;
		rmc_os_andnot64(word, bit);
		/* clear pend, then look at the doorbells; pairs with rmc_ni_notify(),
		 * whose caller sets the doorbell before it sets pend
		 */
		smp_mb();
		if (!doorbells_quiet(w->node[lane][i], lane))
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

/* Looks after which silent units are taken out of pend. */
#define SETTLE_LOOKS	1024

/**
 * rmc_ni_visit() - look once at everything that may have work
 * @w: worker; the caller has its turn
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
	if (w->stages & RMC_STAGE_SRV) {
		n = visit_lane(w, RMC_LANE_REQ, rmc_rrpp_poll);
		if (n && w->remote)
			w->served += (u64)n * RMC_TENANT_ENTRY;
		done += n;
	}
	if (w->stages & RMC_STAGE_REQ)
		done += visit_lane(w, RMC_LANE_REP, rmc_rcp_poll);

	WRITE_ONCE(w->visits, w->visits + 1);
	if (done) {
		WRITE_ONCE(w->worked, w->worked + 1);
		w->idle = 0;
	} else {
		w->idle++;
	}
	if (unlikely(!(w->visits % SETTLE_LOOKS)) && !w->remote) {
		settle_pend(w, RMC_LANE_REQ);
		settle_pend(w, RMC_LANE_REP);
	}
	return done;
}

/**
 * rmc_ni_tick() - periodic look at peers and time-outs
 * @w: worker; the caller has its turn
 * @now_ns: clock of the fabric's time-outs, nanoseconds
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_tick(struct rmc_ni_worker *w, u64 now_ns)
{
	u32 now_ms = rmc_os_ns_to_ms(now_ns);
	struct rmc_node *node;
	u32 i;

	rmc_tenants_tick(w, now_ns);
	w->tick_ns = now_ns;
	/* stopped ones have no heartbeat either */
	for (i = 0; i < w->nodes[RMC_LANE_REP]; i++) {
		node = w->node[RMC_LANE_REP][i];
		if (!(rmc_os_filters() && node->req_stopped))
			rmc_node_tick_req(node, now_ms);
	}
	for (i = 0; i < w->nodes[RMC_LANE_REQ]; i++) {
		node = w->node[RMC_LANE_REQ][i];
		if (rmc_os_filters() && node->srv_stopped)
			continue;
		rmc_node_tick_srv(node, now_ms);
		if (unlikely(node == node->head && !node->up))
			rmc_node_join_poll(node, now_ms);
	}
}

/* Is there work nobody has taken yet? */
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
			    !doorbells_quiet(w->node[lane][i], lane))
				return true;
	}
	return false;
}

/* Its worker's ticks are needed soon. */
static bool joining(const struct rmc_node *node)
{
	const struct rmc_node *head = node->head;

	return !READ_ONCE(head->up) && !READ_ONCE(head->fenced) && !READ_ONCE(head->left);
}

/**
 * rmc_ni_may_park() - nothing to do now and nothing in flight
 * @w: worker; the caller has its turn
 *
 * Context: worker, does not sleep. Costs as much as the worker has units and
 * QPs: ask only after many idle visits.
 */
bool rmc_ni_may_park(struct rmc_ni_worker *w)
{
	enum rmc_lane lane;
	u32 i;

	if (w->hots || work_left(w))
		return false;
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < w->nodes[lane]; i++)
			if (joining(w->node[lane][i]) ||
			    (lane == RMC_LANE_REP ? w->node[lane][i]->itt.used :
						    w->node[lane][i]->att.live))
				return false;
	return true;
}

static void tell_parked(struct rmc_ni_worker *w, u32 parked)
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
 * something came in between; the announcement is taken back.
 * Context: worker; may sleep in rmc_os_membarrier().
 */
bool rmc_ni_park(struct rmc_ni_worker *w)
{
	tell_parked(w, 1);
	/*
	 * Announce, then look. Pairs with "publish, then look at need_wakeup"
	 * in the library, which has no fence: this call makes every CPU that
	 * runs an owner of one of our queue pairs execute one. Also a full barrier
	 * for us, which pairs with those in rmc_ni_notify(), rmc_doorbell_ring() and
	 * relay_entries().
	 */
	rmc_os_membarrier(w);
	if (work_left(w)) {
		tell_parked(w, 0);
		return false;
	}
	WRITE_ONCE(w->parks, w->parks + 1);
	return true;
}

/**
 * rmc_ni_unpark() - the worker woke up
 * @w: worker; the caller is its thread
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_unpark(struct rmc_ni_worker *w)
{
	tell_parked(w, 0);
	WRITE_ONCE(w->wakeups, w->wakeups + 1);
}

/* Doorbells of rings in which nothing is waiting are cleared, as long idle looks would do it. */
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
			/* one without channel waits for it */
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

/* Bring the worker back to where it may park. Returns false when it has work. */
static bool settle(struct rmc_ni_worker *w)
{
	enum rmc_lane lane;
	u32 i;

	for (lane = 0; lane < RMC_LANES; lane++) {
		for (i = 0; i < w->nodes[lane]; i++)
			if (likely(!READ_ONCE(w->node[lane][i]->fenced)))
				settle_doorbells(w->node[lane][i], lane);
		settle_pend(w, lane);
	}
	for (i = w->hots; i-- > 0;)
		if (rmc_qp_quiet(w->hot[i]))
			rmc_ni_cool(w, w->hot[i]);
	return rmc_ni_may_park(w);
}

/**
 * rmc_ni_poll_inline() - do the work of a parked worker on the caller's CPU
 * @w: worker, parked; the caller has its turn (rmc_ni_try_own()) and keeps it
 * @now_ns: clock of the fabric's time-outs, nanoseconds
 * @often_ns: who needs help again sooner than this had better be awake
 *
 * The announcement stands meanwhile: others who publish wake the worker's thread, and
 * what the caller publishes itself is looked for here.
 *
 * Return: true: all is done, the worker can sleep on. False: wake it, after the turn
 * was given back.
 * Context: process, not preempted; does not sleep.
 */
bool rmc_ni_poll_inline(struct rmc_ni_worker *w, u64 now_ns, u64 often_ns)
{
	bool often = now_ns - w->help_ns < often_ns, settled;
	u32 i;

	if (w->alls > RMC_INLINE_POLLS)
		return false;
	for (i = 0; i < w->alls; i++)
		if (w->all[i]->hot < 0 && rmc_qp_pending(w->all[i]))
			rmc_ni_heat(w, w->all[i]);
	if (w->hots > RMC_INLINE_QPS)
		return false;
	WRITE_ONCE(w->helper, rmc_os_self());
	w->help_ns = now_ns;
	/* node time stands still while the worker sleeps, and deadlines rely on it */
	rmc_ni_tick(w, now_ns);
	for (i = 0; i < RMC_INLINE_VISITS && rmc_ni_visit(w) && !rmc_os_must_leave();)
		i++;
	settled = settle(w);
	/* that was the helper's time */
	w->tick_visits = w->visits;
	w->tick_worked = w->worked;
	WRITE_ONCE(w->helps, w->helps + 1);
	WRITE_ONCE(w->helper, NULL);
	return settled && !often;
}
