/* SPDX-License-Identifier: GPL-2.0 */
/* Nodes of several kernels; the test itself writes their entries in the shared tables. */
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

static inline u32 *sync_of(struct setup *s, u32 by, u32 nid)
{
	return &s->w.sync[rmc_endpoint(s->w.fabric, by) * s->w.opts.nodes + nid];
}

static inline bool bell_rung(struct setup *s, u32 at, u32 from)
{
	return *rmc_doorbell_word(s->w.fabric, at, RMC_LANE_REQ, from) >> from & 1;
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
