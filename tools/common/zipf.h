/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Item numbers as YCSB draws them, and their random numbers. */
#ifndef RMC_TOOLS_ZIPF_H
#define RMC_TOOLS_ZIPF_H

#include <stdint.h>

/* near: no x that is at most so far below its rank is rejected, see zipf.c */
struct zipf {
	uint64_t items;
	double theta, low, high, near;
};

/* Of at least one item; theta >= 0. The time does not depend on the number of items. */
void zipf_init(struct zipf *z, uint64_t items, double theta);
uint64_t zipf_next(const struct zipf *z, uint64_t *seed);		/* 0: the most popular */
uint64_t zipf_scrambled(const struct zipf *z, uint64_t *seed);	/* popular items spread */

/* xorshift64; the seed is not 0 */
static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static inline double random_unit(uint64_t *seed)
{
	return (double)(random_next(seed) >> 11) / (double)(1ULL << 53);
}

#endif /* RMC_TOOLS_ZIPF_H */
