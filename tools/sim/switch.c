// SPDX-License-Identifier: GPL-2.0
/*
 * A switch before a simulated node: kmod/fabric/switch.h. What it answers takes half of the link
 * model's round trip, and nothing else.
 */
#include <errno.h>
#include "kmod/core/switched.h"
#include "node.h"

static int install(struct rmc_node *node)
{
	struct rmc_switch *sw;

	if (node->links.sw)
		return 0;
	sw = rmc_switch_create(node->fabric, node->ep, RMC_SWITCH_REGISTERS, 1, 0);
	if (!sw)
		return -ENOMEM;
	return rmc_switched_install(node, sw);
}

int rmc_sim_switch(uint32_t nid, const struct rmc_sim_range *range)
{
	struct rmc_node *node = nid < sim.o.nodes ? sim.node[nid]->rmc : NULL;
	struct rmc_switch_range r = {
		.begin = range->begin, .stride = range->stride, .bytes = range->bytes,
		.count = range->count, .words = range->words,
	};
	u32 i, n;
	int err;

	if (!node)
		return -EINVAL;
	err = rmc_switch_check(node->fabric, &r) ?: install(node);
	if (err)
		return err;
	r.slot = rmc_os_zalloc(r.count * sizeof(*r.slot));
	if (!r.slot)
		return -ENOMEM;
	err = rmc_switched_add(node, &r);
	/* on success that of a range that was there before */
	rmc_os_free(r.slot);
	for (i = 0; i < range->count && !err; i += n) {
		n = min(range->count - i, (u32)RMC_SWITCH_BATCH);
		err = rmc_switched_promote(node, 0, range->begin + (u64)i * range->stride, n);
	}
	return err;
}
