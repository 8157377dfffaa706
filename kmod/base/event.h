/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Something a process may sleep for: completions of a QP, notifications of a
 * segment. Counted by the worker that causes it; armed by a call on that very
 * worker, so that nothing can come between the last look and going to sleep.
 * Fires once per arming: nobody is woken more often than it asked for.
 */
#ifndef RMC_EVENT_H
#define RMC_EVENT_H

#include "os.h"

/**
 * struct rmc_event - counter and alarm
 * @count: how often it happened
 * @armed: tell the next time
 * @owner: whoever is told; only rmc_os_event() knows what it is
 */
struct rmc_event {
	u32 count;
	bool armed;
	void *owner;
};

/* Tells the owner of an armed event; the kernel side knows who that is */
void rmc_os_event(struct rmc_event *e);

/* It happened; the caller is the worker it belongs to. */
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
 * share one alarm; all are notified.
 */
static inline bool rmc_event_arm(struct rmc_event *e, u32 seen)
{
	if (e->count != seen)
		return false;
	e->armed = true;
	return true;
}

#endif
