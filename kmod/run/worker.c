// SPDX-License-Identifier: GPL-2.0
/* Worker threads: spin, park, wake, and execute calls. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "../base/compat.h"
#include "../fabric/transport.h"
#include "worker.h"

/* Visits between two reads of the clock: some microseconds when idle */
#define VISITS_PER_CLOCK	32
/* Idle polls for a reply of another kernel before the worker yields the CPU */
#define POLLS_BEFORE_YIELD		8

/**
 * rmc_os_wake() - wake a worker
 * @ni: worker
 *
 * The caller has published the work before. Context: any but NMI.
 */
void rmc_os_wake(struct rmc_ni_worker *ni)
{
	struct rmc_worker *w = rmc_worker_of(ni);

	/* full barrier: work first, then the flag; pairs with unkick() */
	if (!xchg(&w->kicked, 1) && w->task)
		wake_up_process(w->task);
}

/* Clear the request, then check for the reason; pairs with rmc_os_wake(). */
static void unkick(struct rmc_worker *w)
{
	if (READ_ONCE(w->kicked))
		xchg(&w->kicked, 0);
}

/**
 * rmc_worker_init() - initialize all but @w->ni, which rmc_ni_worker_init() does
 * @w: worker, zeroed
 * @cpu: its home CPU
 * @share: it shares the CPU with applications
 */
void rmc_worker_init(struct rmc_worker *w, unsigned int cpu, bool share)
{
	rmc_calls_init(&w->calls);
	INIT_LIST_HEAD(&w->owners);
	spin_lock_init(&w->owners_lock);
	rmc_park_init(&w->park);
	w->home = cpu;
	w->cpu = cpu;
	w->share = share;
}

static struct rmc_owner *find_owner(struct rmc_worker *w, struct mm_struct *mm)
{
	struct rmc_owner *o;

	lockdep_assert_held(&w->owners_lock);
	list_for_each_entry(o, &w->owners, node)
		if (o->mm == mm)
			return o;
	return NULL;
}

/**
 * rmc_worker_owner_get() - register a process that maps a WQ of a worker
 * @w: worker
 * @mm: address space of the process
 *
 * Return: owner, for rmc_worker_owner_put() at munmap; NULL: out of memory.
 * Context: may sleep.
 */
struct rmc_owner *rmc_worker_owner_get(struct rmc_worker *w, struct mm_struct *mm)
{
	struct rmc_owner *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT), *o;

	if (!fresh)
		return NULL;
	/*
	 * Registered before the process can publish: a park that does not find it here has
	 * already published need_wakeup, and the process sees that. Pairs with fence_mask().
	 */
	spin_lock(&w->owners_lock);
	o = find_owner(w, mm);
	if (!o) {
		o = fresh;
		fresh = NULL;
		mmgrab(mm);
		o->mm = mm;
		o->worker = w;
		list_add(&o->node, &w->owners);
	}
	o->maps++;
	spin_unlock(&w->owners_lock);
	kfree(fresh);
	return o;
}

/**
 * rmc_worker_owner_again() - count one more mapping of the same process
 * @o: owner
 *
 * Context: may sleep.
 */
void rmc_worker_owner_again(struct rmc_owner *o)
{
	spin_lock(&o->worker->owners_lock);
	o->maps++;
	spin_unlock(&o->worker->owners_lock);
}

/**
 * rmc_worker_owner_put() - mirror of rmc_worker_owner_get()
 * @o: owner
 *
 * Context: may sleep.
 */
void rmc_worker_owner_put(struct rmc_owner *o)
{
	struct rmc_worker *w = o->worker;
	bool last;

	spin_lock(&w->owners_lock);
	last = !--o->maps;
	if (last)
		list_del(&o->node);
	spin_unlock(&w->owners_lock);
	if (last) {
		mmdrop(o->mm);
		kfree(o);
	}
}

/* Collects the other CPUs that may run an owner now. Returns their number. */
static unsigned int fence_mask(void *arg)
{
	struct rmc_worker *w = arg;
	struct rmc_owner *o;

	cpumask_clear(&w->fence);
	/* pairs with rmc_worker_owner_get() */
	spin_lock(&w->owners_lock);
	list_for_each_entry(o, &w->owners, node)
		cpumask_or(&w->fence, &w->fence, rmc_mm_cpus(o->mm));
	spin_unlock(&w->owners_lock);
	cpumask_and(&w->fence, &w->fence, cpu_online_mask);
	/* this CPU runs the worker */
	cpumask_clear_cpu(raw_smp_processor_id(), &w->fence);
	return cpumask_weight(&w->fence);
}

/**
 * rmc_os_membarrier() - make all CPUs that run owners of a worker's queue pairs execute
 *	a full barrier
 * @ni: worker; the caller is its thread
 *
 * A process that is switched in or out meanwhile executes one in the context switch. Also a
 * full barrier of the caller.
 *
 * Context: may sleep.
 */
void rmc_os_membarrier(struct rmc_ni_worker *ni)
{
	struct rmc_worker *w = rmc_worker_of(ni);
	atomic_t reached = ATOMIC_INIT(0);

	/* published, then read who runs; pairs with the barriers of context switches */
	smp_mb();
	rmc_park_interrupts(&w->park, fence_mask(w));
	rmc_fence_cpus(&w->fence, &reached);
	/* counted by the interrupted CPUs themselves */
	if (atomic_read(&reached))
		WRITE_ONCE(w->interrupts, w->interrupts + atomic_read(&reached));
}

/*
 * Callers rely on node time, and on a poll of peers after their call: both stop while the
 * worker sleeps.
 */
static void tick_now(void *arg)
{
	struct rmc_worker *w = arg;

	rmc_ni_tick(&w->ni, rmc_os_now_ns());
}

static void run_calls(struct rmc_worker *w)
{
	rmc_calls_run(&w->calls, tick_now, w);
}

/**
 * rmc_worker_post() - make a worker call a function, without waiting for it
 * @ni: worker, started
 * @call: function and argument; belongs to the worker until the function is called
 *
 * Calls of one caller, or of several callers under a lock, are executed in their order.
 *
 * Context: any but NMI.
 */
void rmc_worker_post(struct rmc_ni_worker *ni, struct rmc_call *call)
{
	rmc_calls_add(&rmc_worker_of(ni)->calls, call);
	rmc_os_wake(ni);
}

/**
 * rmc_worker_call() - call a function on a worker, between two visits
 * @ni: worker, started
 * @fn: function; must not sleep
 * @arg: its argument
 *
 * Calls of one caller are executed in their order. The wait cannot be interrupted:
 * @arg usually lives on the caller's stack, and the worker always answers.
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
 * Wait for poll ownership: its holder does not sleep and is not preempted, hence runs on
 * another CPU and finishes within microseconds.
 */
static void own_worker(struct rmc_worker *w)
{
	while (!rmc_ni_try_own(&w->ni))
		cpu_relax();
}

/* Does the work of spin() while the thread waits for this CPU. Returns true if there was work. */
static bool poll_inline_awake(struct rmc_worker *w)
{
	bool worked = false;
	int idle = 0;

	while (!need_resched() && w->ni.hots <= RMC_INLINE_QPS) {
		if (rmc_ni_visit(&w->ni)) {
			worked = true;
			idle = 0;
		} else if (!rmc_ni_awaits(&w->ni) || idle++ == POLLS_BEFORE_YIELD) {
			break;
		}
	}
	return worked;
}

/**
 * rmc_worker_poll_inline() - poll a worker's queue pairs in the calling thread
 * @w: worker
 * @waits: the caller waits for replies: yield the CPU if there is no work
 *
 * Polls if the worker's thread sleeps or waits for this CPU. That takes microseconds, while
 * waking a thread takes some tens of them. The thread is woken as well if more work is
 * likely: two inline polls within park_us, or operations left in flight.
 *
 * Return: true if the worker is awake, on another CPU.
 * Context: may sleep; not on a worker.
 */
bool rmc_worker_poll_inline(struct rmc_worker *w, bool waits)
{
	bool worked = false, wake = READ_ONCE(w->ni.parked), apart = !wake;
	int cpu;

	might_sleep();
	/* where spinlocks sleep, as those of waiters, a visit must not disable preemption */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT)) {
		cpu = get_cpu();
		apart &= cpu != READ_ONCE(w->cpu);
		if (rmc_ni_try_own(&w->ni)) {
			if (READ_ONCE(w->ni.parked)) {
				wake = !rmc_ni_poll_inline(&w->ni, rmc_os_now_ns(), w->park_ns);
				worked = !wake;
			} else if (cpu == w->cpu) {
				worked = poll_inline_awake(w);
			}
			rmc_ni_disown(&w->ni);
		}
		put_cpu();
	}
	/* the caller posted before this; a worker that is about to park polls once more */
	if (wake)
		rmc_os_wake(&w->ni);
	if (waits && !worked)
		yield();
	return apart;
}

static bool must_wake(struct rmc_worker *w)
{
	return READ_ONCE(w->kicked) || rmc_calls_left(&w->calls) || kthread_should_stop();
}

/* Sleeps until kicked. Returns false when the time ran out. */
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
 * Sleeps until there is work. need_wakeup stays set all the time, so a poll that finds
 * nothing neither clears it nor interrupts other CPUs again.
 */
static void sleep_parked(struct rmc_worker *w)
{
	u64 ns = w->poll_ns_max ? RMC_POLL_US_MIN * NSEC_PER_USEC : 0;
	bool woken, worked = false;

	do {
		rmc_ni_disown(&w->ni);
		woken = doze(w, ns);
		own_worker(w);
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
 * Spins for VISITS_PER_CLOCK visits. An application on this CPU probably waits for the same
 * replies as the worker, and these will arrive sooner than two context switches.
 */
static void spin(struct rmc_worker *w)
{
	int i, idle = 0;

	for (i = 0; i < VISITS_PER_CLOCK; i++) {
		if (!rmc_ni_visit(&w->ni)) {
			cpu_relax();
			if (w->share || !single_task_running()) {
				if (idle++ < POLLS_BEFORE_YIELD && rmc_ni_awaits(&w->ni))
					continue;
				/*
				 * Applications wait for this CPU, by shared_cpu
				 * or by the scheduler's choice, and we wait for
				 * them. cond_resched() would let them run only
				 * at the end of our time slice.
				 */
				rmc_ni_disown(&w->ni);
				yield();
				own_worker(w);
				return;
			}
		}
		if (unlikely(rmc_calls_left(&w->calls)))
			return;
	}
}

static int worker_main(void *data)
{
	struct rmc_worker *w = data;
	u64 now = rmc_os_now_ns(), busy_ns = now, slept_ns;

	while (!kthread_should_stop()) {
		u64 worked = w->ni.worked;

		spin(w);
		run_calls(w);

		now = rmc_os_now_ns();
		if (now - w->ni.tick_ns >= RMC_TICK_NS)
			rmc_ni_tick(&w->ni, now);
		/* every few microseconds: neither RCU nor the watchdogs complain */
		cond_resched_tasks_rcu_qs();

		if (worked != w->ni.worked || rmc_calls_left(&w->calls)) {
			busy_ns = now;
		} else if (rmc_park_is_due(&w->park, now - busy_ns, w->park_ns)) {
			/* rmc_ni_may_park() has a cost: after false, ask later */
			busy_ns = now;
			unkick(w);
			if (!rmc_ni_may_park(&w->ni))
				continue;
			if (!rmc_park_may(&w->park, now, fence_mask, w))
				continue;
			if (!rmc_ni_park(&w->ni))
				continue;
			slept_ns = now;
			sleep_parked(w);
			now = rmc_os_now_ns();
			busy_ns = now;
			rmc_park_slept(&w->park, now - slept_ns, w->park_ns);
		}
	}
	/* calls posted before the last file was closed */
	while (rmc_calls_left(&w->calls))
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

struct move {
	struct rmc_worker *worker;
	unsigned int cpu;
	bool share;
};

/* Runs on the worker, which owns the list of its queue pairs */
static int publish_place(void *arg)
{
	struct move *m = arg;
	struct rmc_worker *w = m->worker;
	u32 i;

	WRITE_ONCE(w->cpu, m->cpu);
	WRITE_ONCE(w->share, m->share);
	for (i = 0; i < w->ni.alls; i++) {
		struct rmc_qp_flags *flags = w->ni.all[i]->flags;

		WRITE_ONCE(flags->worker_cpu, m->cpu);
		WRITE_ONCE(flags->shared_cpu, m->share);
	}
	return 0;
}

/**
 * rmc_worker_move() - move a worker to another CPU, and publish that to applications
 * @w: worker, started
 * @cpu: online CPU
 * @share: it shares that CPU with applications or other workers
 *
 * Context: may sleep; callers exclude each other.
 */
void rmc_worker_move(struct rmc_worker *w, unsigned int cpu, bool share)
{
	struct move m = { .worker = w, .cpu = cpu, .share = share };

	if (set_cpus_allowed_ptr(w->task, cpumask_of(cpu)))
		pr_warn_once("a worker cannot run on CPU %u\n", cpu);
	rmc_worker_call(&w->ni, publish_place, &m);
}

/**
 * rmc_worker_stop() - stop the thread
 * @w: worker; no calls are made on it any more, but other workers may still wake it
 *
 * Context: may sleep.
 */
void rmc_worker_stop(struct rmc_worker *w)
{
	if (w->task)
		kthread_stop(w->task);
}

/**
 * rmc_worker_put() - release the stopped thread
 * @w: worker; no other worker wakes it any more
 *
 * Context: may sleep.
 */
void rmc_worker_put(struct rmc_worker *w)
{
	if (w->task)
		put_task_struct(w->task);
	w->task = NULL;
}
