/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Context Table (A14 section 4.2): which memory a node exposes under a ctx_id.
 * One per unit, private to the worker that runs the RRPP; changed only by
 * calls that run on it, so a segment that was withdrawn is not touched again.
 */
#ifndef RMC_CT_H
#define RMC_CT_H

#include "mem.h"

struct rmc_ct {
	struct rmc_mem *seg[RMC_MAX_CONTEXTS];
};

/* Segment of a ctx_id from the wire; NULL when there is none. */
static inline struct rmc_mem *rmc_ct_find(const struct rmc_ct *ct, u16 ctx_id)
{
	if (unlikely(ctx_id >= RMC_MAX_CONTEXTS))
		return NULL;
	return ct->seg[array_index_nospec(ctx_id, RMC_MAX_CONTEXTS)];
}

#endif
