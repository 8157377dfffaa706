/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions to be called on a worker's thread, between two of its visits:
 *
 *   rmc_worker_call()  -- waits --+
 *                                 +--> struct rmc_calls --> rmc_calls_run(), a few a visit
 *   rmc_worker_post()  -----------+    first in, first out
 *
 * Any thread adds calls; only the worker takes them. The functions may add more.
 */
#ifndef RMC_CALLS_H
#define RMC_CALLS_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include "../base/os.h"

/*
 * Most calls executed between two visits, in the order in which they were posted; the rest
 * follow after the next visit. Each takes less than a microsecond, so this bounds the delay of
 * the pipelines, however many calls applications post. Calls with a waiter take longer: at most
 * one is executed.
 */
#define RMC_CALLS_PER_VISIT	16

/**
 * struct rmc_call - a function to be called on a worker
 * @node: in rmc_calls.list
 * @fn: function; must not sleep
 * @arg: its argument
 * @ret: what it returned
 * @done: completed after the call; NULL: no waiter, and @fn may free the call
 */
struct rmc_call {
	struct list_head node;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	struct completion *done;
};

/**
 * struct rmc_calls - the calls that a worker has to make
 * @lock: guards @list
 * @list: struct rmc_call, in the order in which they were added
 */
struct rmc_calls {
	raw_spinlock_t lock;	/* see above */
	struct list_head list;
};

static inline void rmc_calls_init(struct rmc_calls *calls)
{
	raw_spin_lock_init(&calls->lock);
	INIT_LIST_HEAD(&calls->list);
}

static inline bool rmc_calls_left(struct rmc_calls *calls)
{
	/* without the lock: a thread that adds a call wakes the worker afterwards */
	return !list_empty(&calls->list);
}

/* Context: any but NMI. */
static inline void rmc_calls_add(struct rmc_calls *calls, struct rmc_call *call)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&calls->lock, flags);
	list_add_tail(&call->node, &calls->list);
	raw_spin_unlock_irqrestore(&calls->lock, flags);
}

static inline struct rmc_call *rmc_calls_next(struct rmc_calls *calls)
{
	struct rmc_call *call;

	raw_spin_lock_irq(&calls->lock);
	call = list_first_entry_or_null(&calls->list, struct rmc_call, node);
	if (call)
		list_del(&call->node);
	raw_spin_unlock_irq(&calls->lock);
	return call;
}

/**
 * rmc_calls_run() - execute some posted calls, up to the next one with a waiter
 * @calls: calls; the caller is the worker
 * @prepare: called before a call with a waiter
 * @arg: for @prepare
 */
static inline void rmc_calls_run(struct rmc_calls *calls, void (*prepare)(void *arg), void *arg)
{
	struct completion *done;
	struct rmc_call *call;
	u32 i;
	int ret;

	if (likely(!rmc_calls_left(calls)))
		return;
	for (i = 0; i < RMC_CALLS_PER_VISIT; i++) {
		call = rmc_calls_next(calls);
		if (!call)
			return;
		done = call->done;
		if (!done) {
			call->fn(call->arg);
			continue;
		}
		prepare(arg);
		ret = call->fn(call->arg);
		call->ret = ret;
		/* the caller's stack frame is gone after this */
		complete(done);
		return;
	}
}

#endif
