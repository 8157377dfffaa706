// SPDX-License-Identifier: GPL-2.0
/* Worker threads: spinning, parking, being woken, and calls made on them. */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include "compat.h"
#include "fabric/transport.h"
#include "worker.h"

/* Visits between two looks at the clock: some microseconds when idle */
#define VISITS_PER_CLOCK	32
/* Looks for an answer of another kernel before others get the CPU */
#define LOOKS_PER_TURN		8
/*
 * A sleep that was cut short before this many park times was not worth its two
 * wake-ups and the interrupt of all CPUs: the next one is put off.
 */
#define SHORT_SLEEP		4
#define MAX_PATIENCE		64

/**
 * rmc_os_wake() - make a worker look for work
 * @ni: worker
 *
 * What it shall find was published before. Context: any but NMI.
 */
void rmc_os_wake(struct rmc_ni_worker *ni)
{
	struct rmc_worker *w = rmc_worker_of(ni);

	/* full barrier: work first, then the flag; pairs with unkick() */
	if (!xchg(&w->kicked, 1) && w->task)
		wake_up_process(w->task);
}

/* Forget the kick, then look for the reason; pairs with rmc_os_wake(). */
static void unkick(struct rmc_worker *w)
{
	if (READ_ONCE(w->kicked))
		xchg(&w->kicked, 0);
}

/**
 * rmc_os_membarrier() - make every online CPU execute a full barrier
 *
 * Context: may sleep.
 */
void rmc_os_membarrier(void)
{
	rmc_fence_cpus();
}

static void run_calls(struct rmc_worker *w)
{
	struct llist_node *first;
	struct rmc_call *call, *next;

	if (likely(llist_empty(&w->calls)))
		return;
	/* they rely on node time, which stands still while the worker sleeps */
	rmc_ni_tick(&w->ni, rmc_os_now_ns());
	first = llist_reverse_order(llist_del_all(&w->calls));
	llist_for_each_entry_safe(call, next, first, node) {
		struct completion *done = call->done;
		int ret = call->fn(call->arg);

		if (!done)
			continue;
		call->ret = ret;
		/* the caller's stack frame is gone after this */
		complete(done);
	}
}

/**
 * rmc_worker_post() - have a function called on a worker, and do not wait for it
 * @ni: worker, started
 * @call: function and argument; belongs to the worker until it was called
 *
 * In order with the calls that one caller, or several under a lock, make and post.
 *
 * Context: any but NMI.
 */
void rmc_worker_post(struct rmc_ni_worker *ni, struct rmc_call *call)
{
	llist_add(&call->node, &rmc_worker_of(ni)->calls);
	rmc_os_wake(ni);
}

/**
 * rmc_worker_call() - call a function on a worker, between two visits
 * @ni: worker, started
 * @fn: function; must not sleep
 * @arg: its argument
 *
 * Calls of one caller are made in their order. The wait cannot be interrupted:
 * @arg mostly lives on the caller's stack, and the worker always answers.
 *
 * Return: what @fn returned.
 * Context: may sleep; not on a worker.
 */
int rmc_worker_call(struct rmc_ni_worker *ni, int (*fn)(void *arg), void *arg)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct rmc_call call = { .fn = fn, .arg = arg, .done = &done };

	might_sleep();
	rmc_worker_post(ni, &call);
	wait_for_completion(&done);
	return call.ret;
}

/*
 * Wait for the turn: who has it does not sleep and is not preempted, hence is on
 * another CPU and soon done.
 */
static void take_turn(struct rmc_worker *w)
{
	while (!rmc_ni_take_turn(&w->ni))
		cpu_relax();
}

/* What spin() would do, while its thread lets us on. Returns whether there was work. */
static bool help_awake(struct rmc_worker *w)
{
	bool worked = false;
	int looks = 0;

	while (!need_resched() && w->ni.hots <= RMC_HELP_QPS) {
		if (rmc_ni_visit(&w->ni)) {
			worked = true;
			looks = 0;
		} else if (!rmc_ni_awaits(&w->ni) || looks++ == LOOKS_PER_TURN) {
			break;
		}
	}
	return worked;
}

/**
 * rmc_worker_help() - have what a queue pair was given taken
 * @w: its worker
 * @waits: the caller waits for the answers: without work, let others on this CPU
 *
 * Where the worker's thread sleeps, or waits for this very CPU, its work is done here.
 * That takes microseconds, and waking a thread some tens of them. A thread is woken all
 * the same where more is to be expected: help needed twice in the time after which a
 * worker parks, or something left in flight.
 *
 * Return: the worker is awake, on another CPU.
 * Context: may sleep; not on a worker.
 */
bool rmc_worker_help(struct rmc_worker *w, bool waits)
{
	bool worked = false, wake = READ_ONCE(w->ni.parked), apart = !wake;
	int cpu;

	might_sleep();
	/* where spinlocks sleep, as those of waiters, nobody may visit without preemption */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT)) {
		cpu = get_cpu();
		apart &= cpu != w->cpu;
		if (rmc_ni_take_turn(&w->ni)) {
			if (READ_ONCE(w->ni.parked)) {
				wake = !rmc_ni_help(&w->ni, rmc_os_now_ns(), w->park_ns);
				worked = !wake;
			} else if (cpu == w->cpu) {
				worked = help_awake(w);
			}
			rmc_ni_give_turn(&w->ni);
		}
		put_cpu();
	}
	/* what the caller posted came before; one that is about to park looks once more */
	if (wake)
		rmc_os_wake(&w->ni);
	if (waits && !worked)
		yield();
	return apart;
}

static bool must_wake(struct rmc_worker *w)
{
	return READ_ONCE(w->kicked) || !llist_empty(&w->calls) || kthread_should_stop();
}

/* Sleep until kicked. Returns false when the time ran out. */
static bool doze(struct rmc_worker *w, u64 ns)
{
	set_current_state(TASK_IDLE);
	if (!must_wake(w)) {
		if (ns) {
			ktime_t timeout = ns_to_ktime(ns);

			schedule_hrtimeout_range(&timeout, ns / 4, HRTIMER_MODE_REL);
		} else {
			schedule();
		}
	}
	__set_current_state(TASK_RUNNING);
	return must_wake(w);
}

/*
 * Sleep until there is work. The announcement stands all the time: a look that
 * finds nothing costs neither its withdrawal nor another interrupt of all CPUs.
 */
static void sleep_parked(struct rmc_worker *w)
{
	u64 ns = w->poll_ns_max ? RMC_POLL_US_MIN * NSEC_PER_USEC : 0;
	bool woken, worked = false;

	do {
		rmc_ni_give_turn(&w->ni);
		woken = doze(w, ns);
		take_turn(w);
		if (woken || !ns)
			continue;
		rmc_ni_tick(&w->ni, rmc_os_now_ns());
		worked = rmc_ni_visit(&w->ni);
		ns = min(2 * ns, w->poll_ns_max);
	} while (!woken && !worked);
	unkick(w);
	rmc_ni_unpark(&w->ni);
	rmc_ni_tick(&w->ni, rmc_os_now_ns());
}

/*
 * One turn of spinning. Whoever else is on this CPU waits for the answers that we wait
 * for, most probably, and they are nearer than the end of two changes of tasks.
 */
static void spin(struct rmc_worker *w)
{
	int i, looks = 0;

	for (i = 0; i < VISITS_PER_CLOCK; i++) {
		if (!rmc_ni_visit(&w->ni)) {
			cpu_relax();
			if (w->share || !single_task_running()) {
				if (looks++ < LOOKS_PER_TURN && rmc_ni_awaits(&w->ni))
					continue;
				/*
				 * Applications wait on this very CPU, as they
				 * were told or by the scheduler's choice, and
				 * we for them. cond_resched() would let them
				 * on only when our time slice ends.
				 */
				rmc_ni_give_turn(&w->ni);
				yield();
				take_turn(w);
				return;
			}
		}
		if (unlikely(!llist_empty(&w->calls)))
			return;
	}
}

static int worker_main(void *data)
{
	struct rmc_worker *w = data;
	u64 now = rmc_os_now_ns(), busy_ns = now, slept_ns;
	u32 patience = 1;

	while (!kthread_should_stop()) {
		u64 worked = w->ni.worked;

		spin(w);
		run_calls(w);

		now = rmc_os_now_ns();
		if (now - w->ni.tick_ns >= RMC_TICK_NS)
			rmc_ni_tick(&w->ni, now);
		/* every few microseconds: neither RCU nor the watchdogs complain */
		cond_resched_tasks_rcu_qs();

		if (worked != w->ni.worked) {
			busy_ns = now;
		} else if (now - busy_ns >= w->park_ns * patience) {
			/* may_park is not for free: when it says no, ask later */
			busy_ns = now;
			unkick(w);
			if (!rmc_ni_may_park(&w->ni) || !rmc_ni_park(&w->ni))
				continue;
			slept_ns = now;
			sleep_parked(w);
			now = rmc_os_now_ns();
			busy_ns = now;
			if (now - slept_ns >= SHORT_SLEEP * w->park_ns)
				patience = 1;
			else if (patience < MAX_PATIENCE)
				patience *= 2;
		}
	}
	/* what was posted before the last file was closed */
	run_calls(w);
	return 0;
}

/**
 * rmc_worker_start() - start the thread
 * @w: worker, set up, with its nodes
 * @number: for the thread's name
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int rmc_worker_start(struct rmc_worker *w, u32 number)
{
	struct task_struct *task;

	task = kthread_create_on_node(worker_main, w, cpu_to_node(w->cpu), "rmc/%u", number);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, w->cpu);
	rmc_sched_short_slice(task);
	w->task = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

/**
 * rmc_worker_stop() - stop the thread
 * @w: worker; nobody calls it any more, but other workers may still wake it
 *
 * Context: may sleep.
 */
void rmc_worker_stop(struct rmc_worker *w)
{
	if (w->task)
		kthread_stop(w->task);
}

/**
 * rmc_worker_put() - forget the stopped thread
 * @w: worker that nobody wakes any more
 *
 * Context: may sleep.
 */
void rmc_worker_put(struct rmc_worker *w)
{
	if (w->task)
		put_task_struct(w->task);
	w->task = NULL;
}
