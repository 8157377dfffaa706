/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sleeping for completions and notifications: the waiters that an event of the core wakes.
 * For poll(), an event stays reported until the next arming.
 *
 * Destroying a queue pair or segment wakes all its sleepers:
 *
 *   eventfd	signalled if it was armed and had not been signalled since
 *   poll()	EPOLLHUP on the open context if it was armed or reported, until the next
 *		RMC_IOC_*_ARM of any queue pair or segment, also one that fails with ENOENT. So
 *		EPOLLHUP is a hint to check all of them; threads that sleep for different queue
 *		pairs use one eventfd each.
 *   io_uring	-ESHUTDOWN
 *
 * By then the flags page marks the queue pair as dead, and arming it returns ENOENT.
 */
#ifndef RMC_WAITER_H
#define RMC_WAITER_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include "../base/event.h"
#include "../run/worker.h"

struct eventfd_ctx;
struct rmc_file;

enum rmc_waiter_kind {
	RMC_WAIT_CQ,		/* POLLIN */
	RMC_WAIT_SEG,		/* POLLPRI */
	RMC_WAIT_ROOM,		/* POLLOUT */
	RMC_WAIT_KINDS,
};

/**
 * struct rmc_waiter - sleepers of one event; belongs to the event's worker
 * @file: open context whose poll() reports the event
 * @kind: which poll() flag reports it
 * @polling: armed for poll() and @eventfd
 * @eventfd: eventfd to signal, or NULL; not released while @wake is queued
 * @owed: eventfd that the next wake-up signals, or NULL; whoever takes it signals it
 * @gone: detached while it had sleepers
 * @wake: wakes the sleepers
 * @signalled: counted in rmc_file.signalled
 * @ni: worker of the event
 * @waits: io_uring commands that wait, kmod/dev/uring_wait.c; guarded by rmc_file.waits_lock
 * @fired: commands whose event has happened, for @more to finish; guarded likewise
 * @firing: @more is posted
 * @more: call on @ni
 */
struct rmc_waiter {
	struct rmc_file *file;
	enum rmc_waiter_kind kind;
	bool polling;
	struct eventfd_ctx *eventfd;
	struct eventfd_ctx *owed;
	bool gone;
	struct work_struct wake;
	bool signalled;
	struct rmc_ni_worker *ni;
	struct list_head waits;
	struct list_head fired;
	bool firing;
	struct rmc_call more;
};

void rmc_waiter_init(struct rmc_waiter *w, struct rmc_event *e, struct rmc_file *f,
		     enum rmc_waiter_kind kind, struct rmc_ni_worker *ni);
void rmc_waiter_detach(struct rmc_waiter *w);
void rmc_waiter_release(struct rmc_waiter *w);
int rmc_waiter_arm(struct rmc_event *e, struct rmc_ni_worker *ni, u32 seen, int eventfd,
		   u32 *count);

#endif
