// SPDX-License-Identifier: GPL-2.0
/* Accounts of tenants: create, charge, free. */
#include "itt.h"
#include "tenant.h"

/**
 * rmc_tenant_create() - create a tenant with empty accounts
 * @units: units of the worker whose queue pairs get it, rmc_ni_worker.nodes[RMC_LANE_REP];
 *	0 for a frontend
 * @group: account of its user on the same worker, or NULL; outlives it
 *
 * Return: tenant, or NULL when out of memory. Context: may sleep.
 */
struct rmc_tenant *rmc_tenant_create(u32 units, struct rmc_tenant *group)
{
	struct rmc_tenant *t;
	u32 i;

	/* queue pairs of a frontend point to an account, too */
	units = max(units, 1U);
	t = rmc_os_zalloc(sizeof(*t) + units * sizeof(t->unit[0]));
	if (!t)
		return NULL;
	t->group = group;
	t->units = units;
	t->quantum = RMC_TENANT_QUANTUM;
	t->place = -1;
	for (i = 0; i < units; i++)
		t->unit[i].group = group ? &group->unit[i] : NULL;
	return t;
}

/**
 * rmc_tenant_destroy() - free a tenant
 * @t: tenant whose queue pairs were all deleted (rmc_ni_del_qp()), and which is the group
 *	of no other; or NULL
 *
 * Context: may sleep.
 */
void rmc_tenant_destroy(struct rmc_tenant *t)
{
	rmc_os_free(t);
}

/**
 * rmc_itt_grant() - grant a tenant one more entry, if it may have it
 * @itt: table that several tenants share
 * @a: its account, which is charged
 *
 * The rule is in tenant.h.
 *
 * Return: true if granted.
 * Context: worker, does not sleep.
 */
bool rmc_itt_grant(const struct rmc_itt *itt, struct rmc_account *a)
{
	u32 free = itt->size - itt->used;
	struct rmc_account *g = a->group;

	if (a->tids >= free)
		return false;
	if (g) {
		/* a user that is alone has the limit of a lone tenant */
		if (g->tids >= (itt->users > 1 ? free : itt->lone))
			return false;
		g->tids++;
	}
	a->tids++;
	return true;
}
