/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Worker threads, which run the pipelines.
 *
 * A worker polls its nodes and queue pairs (rmc_ni_visit) in an endless loop. Each change of
 * its nodes and queue pairs is a function that it calls itself between two visits, see
 * rmc_worker_call(). So the data path has no locks.
 *
 * After some time without work it parks: it publishes that it sleeps (rmc_ni_park) and
 * sleeps until rmc_os_wake(). An application that would have to wait until the thread is
 * scheduled polls inline instead, see rmc_worker_poll_inline(). Where producers in other
 * kernels cannot wake it, it polls after sleeps that double from RMC_POLL_US_MIN up to the
 * port's poll_us_max, which bounds the latency that an idle node adds.
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
 * @mm: its address space, grabbed: the struct stays after the process exits
 * @maps: number of mapped WQs; guarded by the worker's owners_lock
 */
struct rmc_owner {
	struct list_head node;
	struct rmc_worker *worker;
	struct mm_struct *mm;
	u32 maps;
};

/**
 * struct rmc_worker - a thread and its state
 * @ni: nodes and queue pairs that it polls
 * @task: the thread; NULL before it is started
 * @calls: functions to call between two visits
 * @kicked: wakeup request. Wakers set it before they wake the thread; the thread clears it
 *	before it checks for the reason.
 * @owners: struct rmc_owner of the processes that have mapped one of its WQs
 * @owners_lock: guards @owners
 * @fence: CPUs that run the owners; used by the thread while it parks
 * @interrupts: CPUs interrupted by its parks; written by the thread
 * @park: decides when it may park; used by the thread
 * @home: CPU where it runs while that CPU is online
 * @cpu: CPU where it runs; only the hotplug callbacks of device.c change it
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
