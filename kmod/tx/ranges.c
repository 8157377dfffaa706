// SPDX-License-Identifier: GPL-2.0
/* Lists of ranges: what is refused, and their lines. */
#include "ranges.h"

/**
 * rmc_tx_walk_on() - to the next line of a list of ranges
 * @w: place
 *
 * Return: false: there is none.
 */
bool rmc_tx_walk_on(struct rmc_tx_walk *w)
{
	const struct rmc_tx_range *r = w->range;
	u64 first, last;

	w->want = 0;
	for (; w->i < w->count; w->i++) {
		first = max(rmc_tx_line_of(r[w->i].offset), w->next);
		last = rmc_tx_line_of(r[w->i].offset + r[w->i].length - 1);
		if (w->want && first > w->line)
			break;
		if (!w->want)
			w->line = first;
		w->want |= rmc_tx_range_bytes(&r[w->i], w->line);
		if (last > w->line)
			break;
	}
	w->next = w->line + 1;
	return w->want != 0;
}

/**
 * rmc_tx_ranges_check() - look at ranges from the wire: inside, not empty, ascending, disjoint
 * @p: participant
 * @range: ranges; a private copy
 * @count: of them
 * @lines: out, how many lines they touch
 *
 * Return: RMC_S_OK, RMC_S_BAD_LENGTH, RMC_S_OUT_OF_RANGE, RMC_S_PROTOCOL.
 */
u8 rmc_tx_ranges_check(const struct rmc_tx_part *p, const struct rmc_tx_range *range, u32 count,
		       u32 *lines)
{
	u64 end = 0, next = 0, first, last, sum = 0;
	u32 i;

	if (count > RMC_TX_RANGES)
		return RMC_S_BAD_LENGTH;
	for (i = 0; i < count; i++) {
		if (!range[i].length)
			return RMC_S_BAD_LENGTH;
		if (!rmc_tx_part_covers(p, range[i].offset, range[i].length))
			return RMC_S_OUT_OF_RANGE;
		if (range[i].offset < end)
			return RMC_S_PROTOCOL;
		end = range[i].offset + range[i].length;
		first = max(rmc_tx_line_of(range[i].offset), next);
		last = rmc_tx_line_of(end - 1);
		sum += last + 1 - first;
		next = last + 1;
		if (sum > RMC_TX_LINES)
			return RMC_S_BAD_LENGTH;
	}
	*lines = sum;
	return RMC_S_OK;
}
