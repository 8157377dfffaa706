// SPDX-License-Identifier: GPL-2.0
/*
 * Hot queue pairs, and each tenant's share of a worker (core/tenant.h). While only one tenant
 * has hot queue pairs, a visit polls the worker's hot list. With several, it polls the ring of
 * each tenant, within the tenant's budget.
 */
#include "tenants.h"

/* Tenants share a unit from now on: count the ITT entries of each, not counted before. */
static void count_tids(struct rmc_ni_worker *w, struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < w->alls; i++) {
		struct rmc_account *a = w->all[i]->account;

		if (w->all[i]->front || w->all[i]->node != node)
			continue;
		a->tids = 0;
		if (a->group)
			a->group->tids = 0;
	}
	for (i = 0; i < node->itt.size; i++) {
		struct rmc_account *a;

		if (!node->itt.entry[i].qp)
			continue;
		a = node->itt.entry[i].qp->account;
		a->tids++;
		if (a->group)
			a->group->tids++;
	}
}

/**
 * rmc_tenant_join() - account for a queue pair that a unit starts to poll
 * @w: its RGP worker
 * @qp: queue pair, in @w->all
 *
 * Context: worker, does not sleep.
 */
void rmc_tenant_join(struct rmc_ni_worker *w, struct rmc_qpair *qp)
{
	struct rmc_itt *itt = &qp->node->itt;
	struct rmc_account *a = qp->account;

	if (a->qps++)
		return;
	if (!a->group || !a->group->qps++)
		itt->users++;
	if (++itt->tenants == 2)
		count_tids(w, qp->node);
}

/**
 * rmc_tenant_leave() - account for a queue pair that a unit stops polling
 * @qp: queue pair, none of whose operations is in flight
 *
 * Context: worker, does not sleep.
 */
void rmc_tenant_leave(struct rmc_qpair *qp)
{
	struct rmc_itt *itt = &qp->node->itt;
	struct rmc_account *a = qp->account;

	if (--a->qps)
		return;
	itt->tenants--;
	a->tids = 0;
	if (a->group) {
		if (--a->group->qps)
			return;
		a->group->tids = 0;
	}
	itt->users--;
}

/* Charge the entries that visits only count while one tenant has all hot queue pairs. */
static void charge_alone(struct rmc_ni_worker *w)
{
	if (w->uncharged && w->tenants)
		w->tenant[0]->work += (u64)w->uncharged * RMC_TENANT_ENTRY;
	w->uncharged = 0;
}

/**
 * rmc_ni_cool() - stop polling a queue pair at each visit
 * @w: worker
 * @qp: queue pair, hot
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_cool(struct rmc_ni_worker *w, struct rmc_qpair *qp)
{
	struct rmc_qpair *moved = w->hot[--w->hots];
	struct rmc_tenant *t = qp->tenant;

	charge_alone(w);
	w->hot[qp->hot] = moved;
	moved->hot = qp->hot;
	qp->hot = -1;

	qp->next->prev = qp->prev;
	qp->prev->next = qp->next;
	if (t->next == qp)
		t->next = qp->next;
	if (--t->hots)
		return;
	t->next = NULL;
	w->tenant[t->place] = w->tenant[--w->tenants];
	w->tenant[t->place]->place = t->place;
	t->place = -1;
}

/**
 * rmc_ni_heat() - start polling a queue pair at each visit
 * @w: worker
 * @qp: queue pair, not hot
 *
 * Context: worker, does not sleep.
 */
void rmc_ni_heat(struct rmc_ni_worker *w, struct rmc_qpair *qp)
{
	struct rmc_tenant *t = qp->tenant;

	charge_alone(w);
	qp->idle = 0;
	qp->hot = w->hots;
	w->hot[w->hots++] = qp;

	if (t->hots++) {
		/* at the end of the ring: polled after the others */
		qp->next = t->next;
		qp->prev = t->next->prev;
		qp->prev->next = qp;
		t->next->prev = qp;
		return;
	}
	qp->next = qp;
	qp->prev = qp;
	t->next = qp;
	t->place = w->tenants;
	w->tenant[w->tenants++] = t;
}

/* Add the quantum, once per visit; debts remain. */
static void refill(struct rmc_tenant *t, u64 round)
{
	if (t->round == round)
		return;
	t->round = round;
	t->deficit = min_t(s32, t->deficit + (s32)READ_ONCE(t->quantum), READ_ONCE(t->quantum));
}

/* Work units that a tenant may still do in this visit. */
static u32 left_to(const struct rmc_tenant *t)
{
	s32 left = t->group ? min(t->deficit, t->group->deficit) : t->deficit;

	return left > 0 ? left : 0;
}

/*
 * Poll queue pairs of one tenant until its quantum is used up, each at most once. Sets *waits
 * if one of them has work and could not make progress.
 */
static __always_inline u32 visit_tenant(struct rmc_ni_worker *w, struct rmc_tenant *t, bool *waits,
					u32 (*poll)(struct rmc_qpair *))
{
	u32 polls = t->hots, done = 0, n;

	while (polls-- && left_to(t)) {
		struct rmc_qpair *qp = t->next;
		const u64 *bytes = &qp->node->stats.request_bytes;
		u64 before = *bytes;

		t->next = qp->next;
		qp->budget = left_to(t);
		n = poll(qp);
		qp->budget = RMC_POLL_ALL;
		if (n) {
			done += n;
			qp->idle = 0;
			rmc_tenant_charge(t, n * RMC_TENANT_ENTRY + (u32)(*bytes - before));
			continue;
		}
		rmc_tenant_charge(t, RMC_TENANT_IDLE);
		if (!rmc_qp_quiet(qp))
			*waits = true;
		else if (unlikely(++qp->idle > RMC_IDLE_POLLS))
			rmc_ni_cool(w, qp);
	}
	return done;
}

/* Several tenants: each has its quantum, however many queue pairs it has. */
static __always_inline u32 visit_tenants(struct rmc_ni_worker *w, u32 (*poll)(struct rmc_qpair *))
{
	u32 first = w->first < w->tenants ? w->first : 0, next = first + 1;
	u32 i, n, done = 0, count = w->tenants;
	bool found = false;

	for (i = 0; i < w->tenants; i++) {
		refill(w->tenant[i], w->visits + 1);
		if (w->tenant[i]->group)
			refill(w->tenant[i]->group, w->visits + 1);
	}
	for (i = 0; i < count && w->tenants; i++) {
		/* if a tenant leaves the list, another one is not polled before the next visit */
		u32 at = (first + i) % w->tenants;
		bool waits = false;

		/* its user's quantum is used up: poll it first at the next visit */
		if (w->tenant[at]->deficit > 0 && !left_to(w->tenant[at]))
			waits = true;
		n = visit_tenant(w, w->tenant[at], &waits, poll);
		done += n;
		if (waits && !n && !found) {
			found = true;
			next = at;
		}
	}
	w->first = next;
	return done;
}

/**
 * rmc_tenants_visit() - poll the queue pairs of several tenants in one visit
 * @w: worker that runs their RGP
 *
 * Return: entries taken or packets injected. Context: worker, does not sleep.
 */
u32 rmc_tenants_visit(struct rmc_ni_worker *w)
{
	return visit_tenants(w, rmc_wq_poll);
}

/**
 * rmc_tenants_visit_front() - the same on a frontend
 * @w: frontend
 *
 * Return: entries and completions relayed. Context: worker, does not sleep.
 */
u32 rmc_tenants_visit_front(struct rmc_ni_worker *w)
{
	return visit_tenants(w, rmc_front_poll);
}

/**
 * rmc_tenants_tick() - charge worker time
 * @w: worker
 * @now_ns: clock, as in rmc_ni_tick()
 *
 * The time since the last tick is scaled by the fraction of visits that found work, and divided
 * among tenants in proportion to their work units: no clock is read in between. The part for
 * peers in other kernels is charged to no tenant. A tenant that has no hot queue pair any more
 * is charged later.
 *
 * Context: worker, does not sleep.
 */
void rmc_tenants_tick(struct rmc_ni_worker *w, u64 now_ns)
{
	u64 visits = w->visits - w->tick_visits, worked = w->worked - w->tick_worked;
	u64 all = w->served, busy;
	u32 i, scale = 0;

	charge_alone(w);
	w->tick_visits = w->visits;
	w->tick_worked = w->worked;
	w->served = 0;
	if (!worked || !w->tenants)
		return;
	/* a sleep is not work, and the product must not overflow */
	busy = min_t(u64, now_ns - w->tick_ns, 2 * RMC_TICK_NS);
	busy = rmc_os_div(busy * min_t(u64, worked, U32_MAX), (u32)min_t(u64, visits, U32_MAX));
	for (i = 0; i < w->tenants; i++)
		all += w->tenant[i]->work - w->tenant[i]->settled;
	while (all >> scale > U32_MAX)
		scale++;
	if (!(all >> scale))
		return;
	for (i = 0; i < w->tenants; i++) {
		struct rmc_tenant *t = w->tenant[i];
		u64 ns = rmc_os_div(busy * ((t->work - t->settled) >> scale), (u32)(all >> scale));

		t->settled = t->work;
		for (; t; t = t->group)
			WRITE_ONCE(t->time_ns, t->time_ns + ns);
	}
}
