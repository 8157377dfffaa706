/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worker threads: what runs the pipelines.
 *
 * A worker looks at its nodes and queue pairs (rmc_ni_visit) in an endless
 * loop. Everything that changes what it looks at is a function that it calls
 * itself between two visits, see rmc_worker_call(): the data path has no locks.
 *
 * Without work for a while it parks: it announces so (rmc_ni_park) and sleeps
 * until rmc_os_wake(). An application that would have to wait until the thread is
 * scheduled does its work instead, see rmc_worker_help(). Where producers in other
 * kernels cannot wake it, it looks by itself after sleeps that double from
 * RMC_POLL_US_MIN up to the port's poll_us_max: that is the bound of the latency an idle
 * node adds.
 */
#ifndef RMC_WORKER_H
#define RMC_WORKER_H

#include <linux/completion.h>
#include <linux/llist.h>
#include <linux/sched.h>
#include "ni/ni.h"

/**
 * struct rmc_call - a function to be called on a worker
 * @node: in rmc_worker.calls
 * @fn: function; must not sleep
 * @arg: its argument
 * @ret: what it returned
 * @done: told when it was called; NULL: nobody waits, and @fn may free the call
 */
struct rmc_call {
	struct llist_node node;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	struct completion *done;
};

/**
 * struct rmc_worker - a thread and what it polls
 * @ni: what it polls
 * @task: the thread; NULL before it was started
 * @calls: functions to call between two visits; struct rmc_call
 * @kicked: somebody wants it awake. Set by wakers before they wake the thread;
 *	cleared by the thread before it looks for the reason.
 * @cpu: where it runs
 * @share: it shares the CPU with applications: yield when there is no work
 * @park_ns: idle time before it parks
 * @poll_ns_max: longest sleep; 0: until woken
 */
struct rmc_worker {
	struct rmc_ni_worker ni;
	struct task_struct *task;
	struct llist_head calls;
	u32 kicked;
	unsigned int cpu;
	bool share;
	u64 park_ns;
	u64 poll_ns_max;
};

static inline struct rmc_worker *rmc_worker_of(struct rmc_ni_worker *ni)
{
	return container_of(ni, struct rmc_worker, ni);
}

int rmc_worker_start(struct rmc_worker *w, u32 number);
void rmc_worker_stop(struct rmc_worker *w);
void rmc_worker_put(struct rmc_worker *w);
void rmc_worker_post(struct rmc_ni_worker *ni, struct rmc_call *call);
bool rmc_worker_help(struct rmc_worker *w, bool waits);
int rmc_worker_call(struct rmc_ni_worker *ni, int (*fn)(void *arg), void *arg);

#endif
