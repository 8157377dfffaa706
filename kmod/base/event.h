/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event that a process may sleep for: completions of a queue pair, notifications of a
 * segment. The worker that causes it counts it. A call on the same worker arms it, so no
 * occurrence is missed between the last check and going to sleep. It fires once per arming,
 * so a process is woken no more often than it armed.
 */
#ifndef RMC_EVENT_H
#define RMC_EVENT_H

#include "os.h"

/**
 * struct rmc_event - counter and alarm
 * @count: number of occurrences
 * @armed: notify at the next occurrence
 * @owner: waiter to notify; only rmc_os_event() knows its type
 */
struct rmc_event {
	u32 count;
	bool armed;
	void *owner;
};

/* Notifies the owner of an armed event; implemented by the kernel side */
void rmc_os_event(struct rmc_event *e);

/* Counts an occurrence; the caller is the event's worker. */
static inline void rmc_event_happened(struct rmc_event *e)
{
	e->count++;
	if (unlikely(e->armed)) {
		e->armed = false;
		rmc_os_event(e);
	}
}

/*
 * Notify at the next occurrence; false: there were more than @seen already. Waiters
 * share one alarm, and all of them are notified.
 */
static inline bool rmc_event_arm(struct rmc_event *e, u32 seen)
{
	if (e->count != seen)
		return false;
	e->armed = true;
	return true;
}

#endif
