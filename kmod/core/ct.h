/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Context Table (A14 section 4.2): which memory a node exposes under a ctx_id.
 * One per unit, private to the worker that runs the RRPP; changed only by
 * calls that run on it, so a segment that was withdrawn is not touched again.
 *
 * The units of a node learn of a segment one after another, but peers do not see that:
 * it counts while it is exposed, which is after the last one was told and until before
 * the first one is told to forget. So whoever was answered by one unit is by the others.
 */
#ifndef RMC_CT_H
#define RMC_CT_H

#include "mem.h"

struct rmc_ct {
	struct rmc_mem *seg[RMC_MAX_CONTEXTS];
};

/* All units know it, from now on and until it is hidden again. */
static inline void rmc_ct_expose(struct rmc_mem *seg)
{
	/*
	 * Coherence is enough for who asks one unit after another: the first answer
	 * happens before the second question. Each unit wrote its table itself.
	 */
	WRITE_ONCE(seg->exposed, true);
}

/* Mirror of rmc_ct_expose(). What is being served goes on: ask the units to forget it. */
static inline void rmc_ct_hide(struct rmc_mem *seg)
{
	WRITE_ONCE(seg->exposed, false);
}

/* Segment of a ctx_id from the wire; NULL when there is none. */
static inline struct rmc_mem *rmc_ct_find(const struct rmc_ct *ct, u16 ctx_id)
{
	struct rmc_mem *seg;

	if (unlikely(ctx_id >= RMC_MAX_CONTEXTS))
		return NULL;
	seg = ct->seg[array_index_nospec(ctx_id, RMC_MAX_CONTEXTS)];
	return likely(seg && READ_ONCE(seg->exposed)) ? seg : NULL;
}

#endif
