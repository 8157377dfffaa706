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
 * scheduled does its work instead, see rmc_worker_poll_inline(). Where producers in other
 * kernels cannot wake it, it looks by itself after sleeps that double from
 * RMC_POLL_US_MIN up to the port's poll_us_max: that is the bound of the latency an idle
 * node adds.
 */
#ifndef RMC_WORKER_H
#define RMC_WORKER_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include "../ni/calls.h"
#include "../ni/ni.h"
#include "../ni/park.h"

struct rmc_worker;

/**
 * struct rmc_owner - a process that may publish to queue pairs of a worker
 * @node: in rmc_worker.owners
 * @worker: worker
 * @mm: its memory; the struct stays, what it describes may be gone
 * @maps: mappings of WQs; guarded by the worker's owners_lock
 */
struct rmc_owner {
	struct list_head node;
	struct rmc_worker *worker;
	struct mm_struct *mm;
	u32 maps;
};

/**
 * struct rmc_worker - a thread and what it polls
 * @ni: what it polls
 * @task: the thread; NULL before it was started
 * @calls: functions to call between two visits
 * @kicked: somebody wants it awake. Set by wakers before they wake the thread;
 *	cleared by the thread before it looks for the reason.
 * @owners: who has WQs of it mapped; struct rmc_owner
 * @owners_lock: guards it
 * @fence: CPUs that run these; the worker's, while it parks
 * @interrupts: how many CPUs its parks interrupted; written by the worker
 * @park: when it may park; the worker's
 * @home: where it runs while that CPU is online
 * @cpu: where it runs; changed by the hotplug callbacks of device.c alone
 * @share: it shares the CPU with applications: yield when there is no work
 * @park_ns: idle time before it parks
 * @poll_ns_max: longest sleep; 0: until woken
 */
struct rmc_worker {
	struct rmc_ni_worker ni;
	struct task_struct *task;
	struct rmc_calls calls;
	u32 kicked;
	struct list_head owners;
	spinlock_t owners_lock;	/* see above */
	struct cpumask fence;
	u64 interrupts;
	struct rmc_park park;
	unsigned int home;
	unsigned int cpu;
	bool share;
	u64 park_ns;
	u64 poll_ns_max;
};

static inline struct rmc_worker *rmc_worker_of(struct rmc_ni_worker *ni)
{
	return container_of(ni, struct rmc_worker, ni);
}

void rmc_worker_init(struct rmc_worker *w, unsigned int cpu, bool share);
struct rmc_owner *rmc_worker_owner_get(struct rmc_worker *w, struct mm_struct *mm);
void rmc_worker_owner_again(struct rmc_owner *o);
void rmc_worker_owner_put(struct rmc_owner *o);
void rmc_worker_move(struct rmc_worker *w, unsigned int cpu, bool share);
int rmc_worker_start(struct rmc_worker *w, u32 number);
void rmc_worker_stop(struct rmc_worker *w);
void rmc_worker_put(struct rmc_worker *w);
void rmc_worker_post(struct rmc_ni_worker *ni, struct rmc_call *call);
bool rmc_worker_poll_inline(struct rmc_worker *w, bool waits);
int rmc_worker_call(struct rmc_ni_worker *ni, int (*fn)(void *arg), void *arg);

#endif
