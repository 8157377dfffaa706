/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes with a modelled network adapter */
#ifndef ADAPTED_H
#define ADAPTED_H

#include "filtered.h"
#include "kmod/core/adapter.h"
#include "kmod/core/pipeline.h"
#include "kmod/fabric/stages.h"

static inline void rnic_set(struct testbed *w, u32 nid, const struct rmc_rnic *r)
{
	u32 i;

	for (i = 0; i < w->opts.units; i++) {
		struct rmc_links *l = &w->node[nid]->unit[i]->links;

		CHECK_EQ(rmc_rnic_check(r, w->opts.mtu), 0);
		CHECK_EQ(rmc_channel_set_adapter(w->node[nid]->unit[i], r, 7 + i), 0);
		CHECK_EQ(rmc_rnic_set_client(l, r, 7 + i), 0);
	}
}

/* The server withdraws a segment from its pipelines. */
static inline void withdraw(struct setup *s, const struct rmc_mem *mem)
{
	u32 i;

	for (i = 0; i < s->w.opts.units; i++)
		rmc_state_withdraw(s->w.node[1]->unit[i], mem);
}

#endif
