/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tenants: the accounts by which a worker divides polling and ITT entries among its users.
 *
 *   struct rmc_tenant     one context on one worker: its place in the order of
 *     |    |              polling, its budget, the worker time that it consumed
 *     |    +-- unit[i]    struct rmc_account: its share of the worker's i-th unit
 *     +-- group           the same for a user with several contexts; or NULL
 *
 * The kernel side creates a tenant (rmc_tenant_create()), sets qp->tenant before
 * rmc_ni_add_qp(), and frees the tenant when it has no queue pair left. A queue pair
 * without one belongs to the worker's own tenant. Frontend and backend of a queue pair
 * (ni/front.h) are two queue pairs on two workers and have a tenant each.
 *
 * The worker that polls the queue pairs owns all of it. Other threads may read the
 * counters, and may set @quantum with WRITE_ONCE().
 *
 * ITT entries. A tenant that is alone on a unit may use all but 1/RMC_TID_RESERVE of them,
 * and is not counted. If a unit has queue pairs of several tenants, a tenant gets one more
 * entry only while it has fewer than are free. So one tenant has at most half of the table,
 * each of n greedy tenants gets size / (n + 1), and a new tenant finds as many free. The same
 * holds for groups. A tenant without entries always finds one.
 *
 * Polling. While all hot queue pairs belong to one tenant, they are polled round robin
 * without accounting. Otherwise each tenant is polled once per visit until it has used up
 * its quantum (deficit round robin): see ni/tenants.c.
 */
#ifndef RMC_TENANT_H
#define RMC_TENANT_H

#include "../base/param.h"

struct rmc_qpair;

/**
 * struct rmc_account - a tenant's share of one unit
 * @group: account of its group, or NULL
 * @tids: ITT entries in use; counted only while tenants share the unit, otherwise rmc_itt.used
 *	has the number
 * @qps: queue pairs that the unit polls
 */
struct rmc_account {
	struct rmc_account *group;
	u32 tids;
	u32 qps;
};

/**
 * struct rmc_tenant - one context, or one user, on one worker
 * @group: user; NULL: none, or it is one itself
 * @units: accounts in @unit
 * @quantum: work units that it may do per visit, see RMC_TENANT_QUANTUM
 * @deficit: work units left of the quantum; negative: it did more, and waits
 * @place: index in the worker's list of tenants with hot queue pairs, or -1
 * @hots: hot queue pairs; unused in a group
 * @next: hot queue pair that is polled next
 * @round: last visit that refilled @deficit
 * @work: work units done
 * @settled: part of @work that is in @time_ns
 * @time_ns: worker time consumed; see rmc_tenants_tick()
 * @unit: accounts, by rmc_node.index of the reply lane
 */
struct rmc_tenant {
	struct rmc_tenant *group;
	u32 units;
	u32 quantum;
	s32 deficit;
	s32 place;
	u32 hots;
	struct rmc_qpair *next;
	u64 round;
	u64 work;
	u64 settled;
	u64 time_ns;
	struct rmc_account unit[];
};

struct rmc_tenant *rmc_tenant_create(u32 units, struct rmc_tenant *group);
void rmc_tenant_destroy(struct rmc_tenant *t);

/* Uncount an ITT entry that is freed. */
static inline void rmc_account_tid_free(struct rmc_account *a)
{
	a->tids--;
	if (a->group)
		a->group->tids--;
}

/* Charge work units. Debts are bounded, so that no tenant waits forever. */
static inline void rmc_tenant_charge(struct rmc_tenant *t, u32 units)
{
	for (; t; t = t->group) {
		t->work += units;
		if (likely(t->deficit > -RMC_TENANT_DEBT))
			t->deficit -= units;
	}
}

#endif
