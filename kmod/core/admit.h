/* SPDX-License-Identifier: GPL-2.0 */
/* Admission of requests to the memory that they name, for the RRPP and the local path. */
#ifndef RMC_ADMIT_H
#define RMC_ADMIT_H

#include "node.h"
#include "tx_homes.h"

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
	if (unlikely(flags & RMC_OPF_MODIFIES && READ_ONCE(mem->flags) & RMC_MEM_REFUSES) &&
	    rmc_tx_homes_refuse(node, mem, offset, length))
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

/*
 * True if no line of an operation may be fetched before its object's version was read, except
 * the version's own (uapi, enum rmc_sabre_mode).
 */
static inline bool rmc_version_first(const struct rmc_mem *seg, u16 flags)
{
	return unlikely(flags & RMC_OPF_ANNOUNCED) && seg->sabre != RMC_SABRE_OVERLAPPED;
}

/* Prefetch the version's line, if the object at @offset has one within @length. */
static inline void rmc_fetch_version(const struct rmc_mem *seg, u64 offset, u32 length)
{
	if (seg->version_off < length)
		prefetch(rmc_mem_ptr(seg, offset + seg->version_off));
}

/* Prefetch the line that an admitted operation accesses first. */
static __always_inline void rmc_fetch_first(const struct rmc_mem *seg, u64 offset, u32 length,
					    u16 flags)
{
	if (rmc_version_first(seg, flags))
		rmc_fetch_version(seg, offset, length);
	else
		rmc_fetch(seg, offset, flags);
}

#endif
