/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring commands that wait, see uring.h. */
#ifndef RMC_URING_WAIT_H
#define RMC_URING_WAIT_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include "../run/worker.h"

/*
 * Most commands of an open context that wait at the same time: one for each queue pair that
 * a node may have. A wait takes some 300 bytes, charged to the owner's memory cgroup.
 */
#define RMC_MAX_WAITS	1024

struct io_uring_cmd;
struct rmc_event;
struct rmc_file;
struct rmc_room;
struct rmc_wait;

/**
 * struct rmc_wait_link - one of the events that a command waits for
 * @entry: in the event's list of waits; guarded by rmc_file.waits_lock
 * @wait: the wait; its command is not completed while the link is in a list
 * @source: RMC_URING_* or RMC_URING_MSG_*
 * @seen: count of the event that the application has seen
 * @event: counter and alarm; NULL for RMC_URING_EVENT
 * @told: whose thread the event tells of free send slots, or NULL
 * @call: posted call that links it on the event's worker
 */
struct rmc_wait_link {
	struct list_head entry;
	struct rmc_wait *wait;
	u32 source;
	u32 seen;
	struct rmc_event *event;
	struct rmc_room *told;
	struct rmc_call call;
};

/* Those of RMC_URING_WAIT, and of RMC_URING_WAIT_MSG */
enum { RMC_LINK_CQ, RMC_LINK_SEG, RMC_LINK_EVENT, RMC_LINKS, RMC_LINK_AQ = 1, RMC_LINK_ROOM };

/**
 * struct rmc_wait - a command that waits
 * @refs: one of the command, one of the function that starts it, one per posted call
 * @state: PUBLISHED, FINISHED
 * @claimed: an event or cancellation finishes it; no list holds a link of it any more
 * @result: result for the application
 * @file: open context; the command keeps it open
 * @cmd: command; not touched any more after its completion
 * @pending: in the list of the watchdog, if RMC_URING_WATCHDOG
 * @link: events that it waits for
 *
 * @claimed, @result and membership in lists are guarded by rmc_file.waits_lock.
 */
struct rmc_wait {
	refcount_t refs;
	atomic_t state;
	bool claimed;
	int result;
	struct rmc_file *file;
	struct io_uring_cmd *cmd;
	struct list_head pending;
	struct rmc_wait_link link[RMC_LINKS];
};

struct rmc_wait *rmc_wait_alloc(struct rmc_file *f, struct io_uring_cmd *cmd);
void rmc_wait_put(struct rmc_wait *wait);
void rmc_wait_guard(struct rmc_wait *wait);
void rmc_wait_publish(struct rmc_wait *wait);
void rmc_wait_finish(struct rmc_wait *wait, int result);
int rmc_wait_cancel(struct io_uring_cmd *cmd, unsigned int issue_flags);

void rmc_waits_exit(void);
void rmc_waits_add(struct list_head *waits, struct rmc_wait_link *l);
void rmc_waits_move(struct rmc_file *f, struct list_head *from, struct list_head *to);
bool rmc_waits_finish_one(struct rmc_file *f, struct list_head *waits, int error);
void rmc_waits_finish(struct rmc_wait_link *l);

#endif
