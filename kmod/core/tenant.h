/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tenants: the accounts by which a worker divides what its users share.
 *
 *   struct rmc_tenant     one context on one worker: its place in the order of
 *     |    |              polling, its budget, the worker time that it consumed
 *     |    +-- unit[i]    struct rmc_account: what it has of the worker's i-th unit
 *     +-- group           the same for a user, of several contexts; or NULL
 *
 * The kernel side makes them (rmc_tenant_create()), points qp->tenant at one before
 * rmc_ni_add_qp(), and frees them when no queue pair of theirs is left. A queue pair
 * without one belongs to the worker's own tenant. Frontend and backend of a queue pair
 * (ni/front.h) are two queue pairs on two workers and have a tenant each.
 *
 * All of it belongs to the worker that polls the queue pairs; others may read the
 * counters, and may set @quantum with WRITE_ONCE().
 *
 * Entries of the ITT. Alone on a unit, a tenant may have all but 1/RMC_TID_RESERVE of
 * them. If queue pairs of more than one tenant are polled, a tenant gets one more only
 * while it has fewer than are free: one of them has at most a half, each of n that take
 * all they can get size / (n + 1), and a newcomer finds as many free. The same holds for
 * groups. So an entry is always free for whoever has none. Who is alone is not counted.
 *
 * Polling. While all hot queue pairs are one tenant's they are polled round robin, with
 * no account of it. Otherwise each tenant is polled once per visit until it has used up
 * its quantum (deficit round robin): see ni/tenants.c.
 */
#ifndef RMC_TENANT_H
#define RMC_TENANT_H

#include "../base/param.h"

struct rmc_qp;

/**
 * struct rmc_account - what a tenant has of one unit
 * @group: the same of its group, or NULL
 * @tids: ITT entries in use; counted while tenants share the unit, whose rmc_itt.used they
 *	are otherwise
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
 * @deficit: what is left of them; negative: it did more, and waits
 * @place: in the worker's list of tenants with hot queue pairs, or -1
 * @hots: hot queue pairs; of a group: its tenants that have some
 * @next: hot queue pair that is polled next
 * @round: visit in which @deficit was filled up last
 * @work: work units done
 * @settled: of @work, those that are in @time_ns
 * @time_ns: worker time consumed; see rmc_tenants_tick()
 * @unit: by rmc_node.index of the lane of replies
 */
struct rmc_tenant {
	struct rmc_tenant *group;
	u32 units;
	u32 quantum;
	s32 deficit;
	s32 place;
	u32 hots;
	struct rmc_qp *next;
	u64 round;
	u64 work;
	u64 settled;
	u64 time_ns;
	struct rmc_account unit[];
};

struct rmc_tenant *rmc_tenant_create(u32 units, struct rmc_tenant *group);
void rmc_tenant_destroy(struct rmc_tenant *t);

/* An ITT entry is given back. */
static inline void rmc_account_tid_free(struct rmc_account *a)
{
	a->tids--;
	if (a->group)
		a->group->tids--;
}

/* It did so much. Debts are bounded, so that no tenant waits for ever. */
static inline void rmc_tenant_charge(struct rmc_tenant *t, u32 units)
{
	for (; t; t = t->group) {
		t->work += units;
		if (likely(t->deficit > -RMC_TENANT_DEBT))
			t->deficit -= units;
	}
}

#endif
