/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sleepers for completions and notifications: eventfds that are signalled at an event of the
 * core.
 *
 *	worker: rmc_os_event() ---> eventfd of the client, report socket of the file
 *	           |
 *	           +- while wake-ups of this context are slow: rmcd.owed ---> main thread
 */
#ifndef RMCD_WAITER_H
#define RMCD_WAITER_H

#include "kmod/base/event.h"
#include "rmcd.h"

/**
 * struct rmcd_waiter - sleepers of one event; belongs to the event's worker
 * @event: event
 * @file: open context
 * @worker: worker of the event
 * @eventfd: signalled with the event; -1: none
 * @guard: slot of rmcd_guard_eventfd() for @eventfd
 * @armed: the next event is reported
 * @reported: it was reported since the last arming
 * @owed: reported, and the main thread has to signal; in rmcd.owed
 * @next_owed: in rmcd.owed
 */
struct rmcd_waiter {
	struct rmc_event *event;
	struct rmcd_file *file;
	struct rmc_ni_worker *worker;
	int eventfd;
	int guard;
	bool armed;
	bool reported;
	u32 owed;
	struct rmcd_waiter *next_owed;
};

void rmcd_waiter_init(struct rmcd_waiter *w, struct rmc_event *e, struct rmcd_file *f,
		      struct rmc_ni_worker *worker);
void rmcd_waiter_detach(struct rmcd_waiter *w);
void rmcd_waiter_release(struct rmcd_waiter *w);
int rmcd_waiter_arm(struct rmcd_waiter *w, u32 seen, int eventfd, u32 *count);
void rmcd_waiters_owed(struct rmcd *d);

#endif
