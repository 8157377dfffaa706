/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes of several kernels; the test itself writes entries into their tables. */
#ifndef KERNELS_H
#define KERNELS_H

#include "setup.h"
#include "kmod/core/pipeline.h"

static inline void setup(struct setup *s, const struct testbed_opts *o, u32 nodes)
{
	struct testbed_opts k = *o;

	k.nodes = nodes;
	k.kernels = true;
	setup_make(s, &k, 16);
}

static inline void ticks(struct testbed *w, u32 n, u64 ms)
{
	u32 i;

	while (n--) {
		testbed_tick(w, ms);
		for (i = 0; i < 4; i++)
			testbed_visit(w);
	}
}

/* The entry of a node, as the kernel of node @at knows it */
static inline struct rmc_region_node *entry_at(struct setup *s, u32 at, u32 nid)
{
	return &testbed_fabric(&s->w, at)->node[nid];
}

/* The epoch of node @nid that unit 0 of @by works with, as the kernel of node @at knows it */
static inline u32 *sync_at(struct setup *s, u32 at, u32 by, u32 nid)
{
	struct rmc_fabric *f = testbed_fabric(&s->w, at);

	return rmc_sync_word(f, rmc_endpoint(f, by), nid);
}

/* A request of @from has reached @at. */
static inline bool doorbell_rung(struct setup *s, u32 at, u32 from)
{
	testbed_receive(&s->w, at);
	return *rmc_doorbell_word(testbed_fabric(&s->w, at), at, RMC_LANE_REQ, from) >> from & 1;
}

/* The same, without one */
static inline void ring_doorbell(struct setup *s, u32 at, u32 from)
{
	rmc_doorbell_notify(testbed_fabric(&s->w, at), at, RMC_LANE_REQ, from);
}

static inline bool quiet(struct setup *s)
{
	u32 slot, status, i;

	for (i = 0; i < 20; i++) {
		testbed_visit(&s->w);
		if (app_poll(&s->a, &slot, &status))
			return false;
	}
	return true;
}

#endif
