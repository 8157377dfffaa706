/* SPDX-License-Identifier: GPL-2.0 */
/* May a request touch the memory that it names? One answer for the RRPP and the local path. */
#ifndef RMC_ADMIT_H
#define RMC_ADMIT_H

#include "node.h"

/*
 * rmc_admit() - look up the target of a request, and judge it
 *
 * Whose operation has @flags asks @node for [@offset, @offset + @length) of the segment that it
 * exposes under @ctx_id; all of these may be any value. RMC_S_OK: *@seg is the memory that holds
 * all of it, which the caller's worker may use until it is asked to forget it. Else the status
 * of the reply, and *@seg is not set.
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

/* Fetch the line at @offset, which was admitted. */
static __always_inline void rmc_fetch(const struct rmc_mem *seg, u64 offset, u16 flags)
{
	if (flags & RMC_OPF_MODIFIES)
		prefetchw(rmc_mem_ptr(seg, offset));
	else
		prefetch(rmc_mem_ptr(seg, offset));
}

#endif
