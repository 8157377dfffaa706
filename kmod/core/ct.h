/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Context Table (A14 section 4.2): which memory a node exposes under a ctx_id.
 * One per unit, private to the worker that runs the RRPP; changed only by
 * calls that run on it, so a segment is not accessed after it was withdrawn.
 *
 * A node's units have the same entries, see exposure.h.
 */
#ifndef RMC_CT_H
#define RMC_CT_H

#include "../base/mem.h"

/**
 * struct rmc_ranges - further ranges of a segment; immutable, all units use the same
 * @count: number of ranges
 * @range: where each begins in the segment, and its memory from rmc_range_init()
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

/* Segment of a ctx_id from the wire; NULL when there is none. */
static inline struct rmc_mem *rmc_ct_find(const struct rmc_ct *ct, u16 ctx_id)
{
	struct rmc_mem *seg;

	if (unlikely(ctx_id >= RMC_MAX_CONTEXTS))
		return NULL;
	seg = ct->seg[array_index_nospec(ctx_id, RMC_MAX_CONTEXTS)];
	return likely(seg && rmc_is_exposed(&seg->exposure)) ? seg : NULL;
}

/* All ranges of a segment share one event for notifications. */
static inline struct rmc_event *rmc_seg_notified(struct rmc_mem *seg)
{
	return unlikely(seg->primary) ? &seg->primary->notified : &seg->notified;
}

#endif
