/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sleeping for completions and notifications: who is told when an event of the
 * core fires. What is told stays told, for poll(), until the next arming.
 *
 * The end of a queue pair or segment ends all sleep for it:
 *
 *   eventfd	signalled if it was armed and had not been signalled since
 *   poll()	EPOLLHUP on the open context if it was armed or told, until the next
 *		RMC_IOC_CQ_ARM or RMC_IOC_SEG_ARM on it, of whatever, also one that fails with
 *		ENOENT. So it is a hint to look at all, and who sleeps for different queue
 *		pairs in several threads uses an eventfd for each.
 *   io_uring	-ESHUTDOWN
 *
 * By then the flags page says that the queue pair is dead, and arming it gives ENOENT.
 */
#ifndef RMC_WAITER_H
#define RMC_WAITER_H

#include <linux/list.h>
#include "../base/event.h"
#include "../run/worker.h"

struct eventfd_ctx;
struct rmc_file;

enum rmc_waiter_kind {
	RMC_WAIT_CQ,		/* POLLIN */
	RMC_WAIT_SEG,		/* POLLPRI */
	RMC_WAIT_KINDS,
};

/**
 * struct rmc_waiter - who waits for one event; belongs to the event's worker
 * @file: whose poll() tells
 * @kind: how it tells
 * @polling: armed for poll() and @eventfd
 * @eventfd: told as well, or NULL
 * @told: counted in rmc_file.told
 * @ni: the event's worker
 * @waits: io_uring commands that wait for it, kmod/dev/waits.c; guarded by rmc_file.waits_lock
 * @fired: likewise; it happened, and @more will finish them
 * @firing: @more is posted
 * @more: call on @ni
 */
struct rmc_waiter {
	struct rmc_file *file;
	enum rmc_waiter_kind kind;
	bool polling;
	struct eventfd_ctx *eventfd;
	bool told;
	struct rmc_ni_worker *ni;
	struct list_head waits;
	struct list_head fired;
	bool firing;
	struct rmc_call more;
};

void rmc_waiter_init(struct rmc_waiter *w, struct rmc_event *e, struct rmc_file *f,
		     enum rmc_waiter_kind kind, struct rmc_ni_worker *ni);
void rmc_waiter_forget(struct rmc_waiter *w);
void rmc_waiter_release(struct rmc_waiter *w);
int rmc_waiter_arm(struct rmc_event *e, struct rmc_ni_worker *ni, u32 seen, int eventfd,
		   u32 *count);

#endif
