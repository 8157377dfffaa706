// SPDX-License-Identifier: GPL-2.0
/*
 * Further ranges of a segment. The first range begins at offset 0 and needs no search. A
 * request beyond its end is looked up here. An operation in none of the ranges, or across two
 * of them, is out of range.
 */
#include "ct.h"

/**
 * rmc_range_init() - describe a further range of a segment to the pipelines
 * @range: out; expose it after all units have it
 * @mem: registered memory; @range uses its chunks, so it must outlive @range
 * @start: offset in the segment, bytes; @start + @mem->length does not overflow
 * @primary: the segment; objects are laid out as in it
 *
 * Offsets into @range are those into the segment: @start is subtracted from its head, and its
 * length is its end in the segment.
 */
void rmc_range_init(struct rmc_mem *range, const struct rmc_mem *mem, u64 start,
		    struct rmc_mem *primary)
{
	*range = *mem;
	range->head = mem->head - start;
	range->length = start + mem->length;
	range->sabre = primary->sabre;
	range->version_off = primary->version_off;
	range->readers_off = primary->readers_off;
	rmc_hide(&range->exposure);
	range->primary = primary;
}

/**
 * rmc_ct_range() - find the further range of a segment that a request is for
 * @ct: context table; the caller is its worker
 * @ctx_id: from the wire, any value
 * @off: offset in the segment, bytes; any value
 * @len: bytes; any value
 *
 * Return: memory that [@off, @off + @len) lies inside, or NULL.
 * Context: worker, does not sleep.
 */
struct rmc_mem *rmc_ct_range(const struct rmc_ct *ct, u16 ctx_id, u64 off, u64 len)
{
	const struct rmc_ranges *more;
	u32 i;

	if (ctx_id >= RMC_MAX_CONTEXTS)
		return NULL;
	more = ct->more[array_index_nospec(ctx_id, RMC_MAX_CONTEXTS)];
	for (i = 0; more && i < more->count; i++) {
		struct rmc_mem *mem = more->range[i].mem;

		if (off >= more->range[i].start && rmc_mem_covers(mem, off, len))
			return rmc_is_exposed(&mem->exposure) ? mem : NULL;
	}
	return NULL;
}
