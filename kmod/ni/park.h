/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When an idle worker may park.
 *
 * A park costs the worker two context switches, and the CPUs that run owners of its queue
 * pairs an interrupt each (rmc_os_membarrier()). Any process that can wake a worker can make
 * it park again, so there are two limits:
 *
 *   patience   a short sleep doubles the idle time before the next one
 *   credit     a token bucket: parks that interrupt other CPUs
 *
 * Only the worker's thread reads and writes this.
 */
#ifndef RMC_PARK_H
#define RMC_PARK_H

#include "../base/os.h"

enum rmc_park_limit {
	/*
	 * A sleep of fewer park times than this was not worth its two context switches and
	 * its interrupts: the next one is delayed. A park time is at least the time of two
	 * context switches.
	 */
	RMC_PARK_SHORT_SLEEP	= 4,
	RMC_PARK_MAX_PATIENCE	= 64,
	RMC_PARK_NS_MIN		= 20 * 1000,
	/*
	 * Parks that interrupt other CPUs: this many in a row, and one more each
	 * RMC_PARK_EVERY_NS. Processes on these CPUs did not cause the interrupts; 250 per
	 * second, of one or two microseconds each, do not slow them down noticeably.
	 */
	RMC_PARK_BURST		= 16,
	RMC_PARK_EVERY_NS	= 4 * 1000 * 1000,
};

/**
 * struct rmc_park - parking state of a worker
 * @credit: parks that may interrupt other CPUs
 * @credit_ns: when @credit last grew
 * @patience: park times that it must be idle before it parks
 */
struct rmc_park {
	u32 credit;
	u64 credit_ns;
	u32 patience;
};

static inline void rmc_park_init(struct rmc_park *p)
{
	p->credit = RMC_PARK_BURST;
	p->credit_ns = 0;
	p->patience = 1;
}

/* Length of a park time, the unit of sleeps and patience. */
static inline u64 rmc_park_unit(u64 park_ns)
{
	return max_t(u64, park_ns, RMC_PARK_NS_MIN);
}

/**
 * rmc_park_is_due() - check whether the worker has been idle long enough
 * @p: state
 * @idle_ns: since it last had work; negative if the clock went back
 * @park_ns: idle time before it parks, as configured
 */
static inline bool rmc_park_is_due(const struct rmc_park *p, s64 idle_ns, u64 park_ns)
{
	return idle_ns >= (s64)(p->patience > 1 ? rmc_park_unit(park_ns) * p->patience : park_ns);
}

/**
 * rmc_park_may() - check whether a park may interrupt other CPUs, or interrupts none
 * @p: state; if false, the worker must be idle for longer before the next call
 * @now_ns: time
 * @others: number of CPUs that a park would interrupt now; called only without credit
 * @arg: for @others
 *
 * Takes no credit: see rmc_park_interrupts().
 */
static inline bool rmc_park_may(struct rmc_park *p, u64 now_ns,
				unsigned int (*others)(void *arg), void *arg)
{
	u64 grown = now_ns > p->credit_ns ?
		    rmc_os_div(now_ns - p->credit_ns, RMC_PARK_EVERY_NS) : 0;

	if (grown) {
		p->credit = min_t(u64, p->credit + grown, RMC_PARK_BURST);
		p->credit_ns = now_ns;
	}
	if (p->credit || !others(arg))
		return true;
	p->patience = max_t(u32, p->patience, 2);
	return false;
}

/**
 * rmc_park_interrupts() - a park was announced and interrupts other CPUs
 * @p: state
 * @cpus: number of them; may be larger than it was in rmc_park_may()
 */
static inline void rmc_park_interrupts(struct rmc_park *p, unsigned int cpus)
{
	if (cpus && p->credit)
		p->credit--;
}

/**
 * rmc_park_slept() - a park is over
 * @p: state
 * @slept_ns: how long it took
 * @park_ns: idle time before it parks, as configured
 */
static inline void rmc_park_slept(struct rmc_park *p, u64 slept_ns, u64 park_ns)
{
	if (slept_ns >= RMC_PARK_SHORT_SLEEP * rmc_park_unit(park_ns))
		p->patience = 1;
	else if (p->patience < RMC_PARK_MAX_PATIENCE)
		p->patience *= 2;
}

#endif
