/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of ranges that come with a message. */
#ifndef RMC_TX_RANGES_H
#define RMC_TX_RANGES_H

#include "part.h"

/**
 * struct rmc_tx_walk - a place in a list of ranges: its lines in ascending order, each once
 * @range: ranges
 * @count: of them
 * @i: range of the next line
 * @next: 1 + the last line
 * @line: number of the line
 * @want: bytes of it that are in ranges, as a mask
 *
 * Begin with { range, count }.
 */
struct rmc_tx_walk {
	const struct rmc_tx_range *range;
	u32 count;
	u32 i;
	u64 next;
	u64 line;
	u64 want;
};

bool rmc_tx_walk_on(struct rmc_tx_walk *w);
u8 rmc_tx_ranges_check(const struct rmc_tx_part *p, const struct rmc_tx_range *range, u32 count,
		       u32 *lines);

/* Are these bytes inside the range? */
static inline bool rmc_tx_part_covers(const struct rmc_tx_part *p, u64 offset,
				      u64 length)
{
	/* one before the range is far behind it */
	return length <= p->limits.length &&
	       offset - p->limits.start <= p->limits.length - length;
}

/* Bytes of @line that a range has, as a mask */
static inline u64 rmc_tx_range_bytes(const struct rmc_tx_range *r, u64 line)
{
	u64 first = line * RMC_LINE, mask = U64_MAX;
	u64 end = r->offset + r->length;

	if (r->offset > first)
		mask &= U64_MAX << (r->offset - first);
	if (end < first + RMC_LINE)
		mask &= ~(U64_MAX << (end - first));
	return mask;
}

#endif
