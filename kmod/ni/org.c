// SPDX-License-Identifier: GPL-2.0
/* The NI organisations, and which worker runs which stage. */
#include "../core/node.h"
#include "ni.h"

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

/* Workers that run RGPs and RCPs; those that only run RRPPs have the numbers after them. */
static u32 req_workers(const struct rmc_ni_org *org, const struct rmc_fabric *f)
{
	return org->per_unit ? rmc_fabric_units(f) : 1;
}

/**
 * rmc_ni_workers() - number of workers of an organisation
 * @org: organisation
 * @f: fabric that passed rmc_fabric_check()
 * @frontends: per unit, if the organisation has any
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
