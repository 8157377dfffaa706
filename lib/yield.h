/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * When a thread that polls on a CPU it may share yields: librmc for its worker, rmcd's worker for
 * applications. A yield costs several polls even if nobody waits for the CPU, so one that nobody
 * took is not repeated at once.
 */
#ifndef RMC_LIB_YIELD_H
#define RMC_LIB_YIELD_H

#include <stdint.h>

/* A yield that took less than this, nanoseconds, let nobody run. */
#define RMC_YIELD_NS	1500
/* The next one is this much later, nanoseconds. */
#define RMC_ALONE_NS	2000

/**
 * struct rmc_yield - the yields of one thread; all 0 at first
 * @not_before_ns: no yield before this time
 */
struct rmc_yield {
	uint64_t not_before_ns;
};

/** rmc_yield_due() - Is it time for a yield? @now_ns: monotonic clock. */
static inline int rmc_yield_due(const struct rmc_yield *y, uint64_t now_ns)
{
	return now_ns >= y->not_before_ns;
}

/** rmc_yielded() - A yield began and ended at these times, nanoseconds. */
static inline void rmc_yielded(struct rmc_yield *y, uint64_t began_ns, uint64_t ended_ns)
{
	y->not_before_ns = ended_ns - began_ns < RMC_YIELD_NS ? ended_ns + RMC_ALONE_NS : 0;
}

#endif
