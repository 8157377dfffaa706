/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sleeping for completions and notifications: who is told when an event of the
 * core fires. What is told stays told, for poll(), until the next arming.
 */
#ifndef RMC_WAITER_H
#define RMC_WAITER_H

#include <linux/list.h>
#include "core/event.h"

struct eventfd_ctx;
struct rmc_file;
struct rmc_ni_worker;

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
 * @waits: io_uring commands that wait for it, kmod/uring.c
 */
struct rmc_waiter {
	struct rmc_file *file;
	enum rmc_waiter_kind kind;
	bool polling;
	struct eventfd_ctx *eventfd;
	bool told;
	struct list_head waits;
};

void rmc_waiter_init(struct rmc_waiter *w, struct rmc_event *e, struct rmc_file *f,
		     enum rmc_waiter_kind kind);
void rmc_waiter_forget(struct rmc_waiter *w);
void rmc_waiter_release(struct rmc_waiter *w);
int rmc_waiter_arm(struct rmc_event *e, struct rmc_ni_worker *ni, u32 seen, int eventfd,
		   u32 *count);

#endif
