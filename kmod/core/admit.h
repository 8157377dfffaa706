/* SPDX-License-Identifier: GPL-2.0 */
/* Admission of requests to the memory that they name, for the RRPP and the local path. */
#ifndef RMC_ADMIT_H
#define RMC_ADMIT_H

#include "node.h"

/*
 * rmc_admit() - look up and validate the target of a request
 *
 * The request is for [@offset, @offset + @length) of the segment that @node exposes under
 * @ctx_id, and its operation has @flags; it may have any values. RMC_S_OK: *@seg is the memory
 * that holds all of it; the caller's worker may use it until the segment is removed from its
 * unit. Otherwise the status of the reply; *@seg is not set.
 */
static __always_inline u8 rmc_admit(const struct rmc_node *node, u16 ctx_id, u64 offset, u32 length,
				    u16 flags, struct rmc_mem **seg)
{
	struct rmc_mem *mem = rmc_ct_find(&node->ct, ctx_id);

	if (unlikely(!mem))
		return RMC_S_BAD_CONTEXT;
	if (unlikely(!rmc_mem_covers(mem, offset, length))) {
		mem = rmc_ct_range(&node->ct, ctx_id, offset, length);
		if (!mem)
			return RMC_S_OUT_OF_RANGE;
	}
	if (unlikely(flags & RMC_OPF_MODIFIES && mem->flags & RMC_MEM_READONLY))
		return RMC_S_READ_ONLY;
	*seg = mem;
	return RMC_S_OK;
}

/* Prefetch the line at @offset, which was admitted. */
static __always_inline void rmc_fetch(const struct rmc_mem *seg, u64 offset, u16 flags)
{
	if (flags & RMC_OPF_MODIFIES)
		prefetchw(rmc_mem_ptr(seg, offset));
	else
		prefetch(rmc_mem_ptr(seg, offset));
}

#endif
