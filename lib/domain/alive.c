/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Whether peers live, for a core that waits for their messages: operations of its own would tell.
 * JOINs ask them, one after the other; those of the life that is known change nothing.
 */
#include <errno.h>
#include "state.h"

int rmc_core_probe(struct rmc_core *core)
{
	struct core *c = to_core(core);
	uint32_t nodes = core->domain->o.nodes;
	int err = rmc_core_poll(core);

	if (err || c->probing || !has_entry(c))
		return err;
	if (c->probed == nodes) {
		if (rmc_now_ms() - c->probed_ms < ASK_MS)
			return 0;
		c->probed = 0;
	}
	if (!c->probed)
		c->probed_ms = rmc_now_ms();
	while (c->probed < nodes && c->link[c->probed].status)
		c->probed++;
	if (c->probed < nodes)
		rmc_message_probe(c, c->probed++, NO_SLOT);
	return 0;
}

int rmc_core_lost(const struct rmc_core *core, int nid)
{
	if (!has_peer(core->domain, nid))
		return -EINVAL;
	return ((const struct core *)(const void *)core)->link[(uint32_t)nid - core->first_nid].status;
}
