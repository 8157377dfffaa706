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

#include "../base/mem.h"

/**
 * struct rmc_ranges - further ranges of a segment; immutable, all units use the same
 * @count: how many
 * @range: where each begins in the segment, and its memory as rmc_range_init() makes it
 */
struct rmc_ranges {
	u32 count;
	struct {
		u64 start;
		struct rmc_mem *mem;
	} range[RMC_MAX_RANGES];
};

/**
 * struct rmc_ct - context table
 * @seg: segment by ctx_id
 * @more: its further ranges; NULL: none
 */
struct rmc_ct {
	struct rmc_mem *seg[RMC_MAX_CONTEXTS];
	const struct rmc_ranges *more[RMC_MAX_CONTEXTS];
};

void rmc_range_init(struct rmc_mem *range, const struct rmc_mem *mem, u64 start,
		    struct rmc_mem *primary);
struct rmc_mem *rmc_ct_range(const struct rmc_ct *ct, u16 ctx_id, u64 off, u64 len);

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

/* Notifications are the segment's, wherever in it the write behind them is. */
static inline struct rmc_event *rmc_seg_notified(struct rmc_mem *seg)
{
	return unlikely(seg->primary) ? &seg->primary->notified : &seg->notified;
}

#endif
