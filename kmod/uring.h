/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_uring commands that wait: IORING_OP_URING_CMD on an open context.
 *
 *   task: rmc_uring_cmd()                       completions' worker
 *     look up, take references  -- posted call -->  happened already, or link
 *     -EIOCBQUEUED                                  in the event's list
 *                               -- posted call -->  notifications' worker, likewise
 *   task work: done()  <-- whoever claims the wait first: event, cancellation,
 *     CQE, references      destruction of what it waits for
 *
 * One wait may be linked to three events of different owners. The first to claim
 * it finishes it; the other links are dead, and go when their owner next looks at
 * its list: so no owner ever reaches into another's list.
 */
#ifndef RMC_URING_H
#define RMC_URING_H

#include <linux/list.h>
#include <linux/types.h>
#include "worker.h"

struct io_uring_cmd;
struct rmc_event;
struct rmc_wait;

/**
 * struct rmc_wait_link - one of the events that a command waits for
 * @entry: in the list of the event's owner, who alone touches it
 * @wait: whose it is; the link holds a reference
 * @source: RMC_URING_*
 * @seen: how often it happened for all the application knows
 * @event: counter and alarm; NULL for RMC_URING_EVENT
 * @call: brings it to the event's worker
 */
struct rmc_wait_link {
	struct list_head entry;
	struct rmc_wait *wait;
	u32 source;
	u32 seen;
	struct rmc_event *event;
	struct rmc_call call;
};

int rmc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
void rmc_uring_exit(void);
void rmc_waits_add(struct list_head *waits, struct rmc_wait_link *l);
void rmc_waits_finish(struct list_head *waits, int error);

#endif
