// SPDX-License-Identifier: GPL-2.0
/*
 * Worker threads: poll, park, wake, and execute calls. What kmod/run/worker.c does with a kernel
 * thread, this does with a pinned thread of a process.
 *
 * A worker that has nothing to do sets need_wakeup in the queue pairs, makes all CPUs that run
 * a client execute a barrier (clients have registered for it), checks once more and sleeps in
 * epoll. Clients wake it by writing to an eventfd: each file has one per worker, so no client
 * can take another's wake-up. Edge-triggered: nobody has to empty them.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "rmcd.h"
#include "watchdog.h"

/* Visits between two reads of the clock: some microseconds when idle */
#define VISITS_PER_CLOCK	32
/* Idle polls for a reply of another process before the worker yields the CPU */
#define POLLS_BEFORE_YIELD	8
/*
 * On a CPU of its own: a pause is longer than a visit. A client that sends one operation after
 * the other is back before this many idle visits, and would wait half a pause on average.
 */
#define VISITS_BEFORE_PAUSE	64
/* On a CPU of its own: idle visits between yields, in case an application runs there, too */
#define VISITS_PER_YIELD	1024
/* Calls of epoll_wait() for the wake-ups of clients, which may write faster than we take them */
#define FORGET_ROUNDS		16
/* Longest sleep where parking cannot be announced to clients */
#define NO_BARRIER_NS		(1000 * 1000ULL)

/**
 * struct rmcd_call - a function to be called on a worker
 * @fn: function; must not block
 * @arg: its argument
 * @ret: what it returned
 * @done: 1: @ret is valid; a futex
 */
struct rmcd_call {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	u32 done;
};

static __thread struct rmcd_worker *self;

static void futex_wait(u32 *word, u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/**
 * rmc_os_now_ns() - monotonic time
 *
 * Return: nanoseconds.
 */
u64 rmc_os_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/**
 * rmc_os_wake() - wake a worker
 * @ni: worker
 *
 * The caller has published the work before. Context: any thread.
 */
void rmc_os_wake(struct rmc_ni_worker *ni)
{
	struct rmcd_worker *w = rmcd_worker_of(ni);

	/* full barrier: work first, then the flag; pairs with unkick() */
	if (!__atomic_exchange_n(&w->kicked, 1, __ATOMIC_SEQ_CST))
		eventfd_write(w->event, 1);
}

/* Clear the request, then check for the reason; pairs with rmc_os_wake(). */
static void unkick(struct rmcd_worker *w)
{
	if (READ_ONCE(w->kicked))
		__atomic_exchange_n(&w->kicked, 0, __ATOMIC_SEQ_CST);
}

/* Number of CPUs that a park interrupts: at most one per client, not counted exactly. */
static unsigned int interrupted(void *arg)
{
	struct rmcd_worker *w = arg;

	return !!w->ni.alls;
}

/**
 * rmc_os_membarrier() - make all CPUs that run a client execute a full barrier
 * @ni: worker; the caller is its thread
 *
 * Clients register for it when they open a context. Also a full barrier of the caller.
 */
void rmc_os_membarrier(struct rmc_ni_worker *ni)
{
	struct rmcd_worker *w = rmcd_worker_of(ni);

	/* need_wakeup, then the poll; pairs with the barriers that producers in this process execute */
	smp_mb();
	if (!w->ni.alls)
		return;
	rmc_park_interrupts(&w->park, 1);
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

static bool has_membarrier(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED;
}

/**
 * rmcd_call() - call a function on a worker, between two visits
 * @ni: worker
 * @fn: function; must not block
 * @arg: its argument
 *
 * Where the worker's thread does not run, before rmcd_worker_start() and after
 * rmcd_worker_stop(), the caller is its owner and calls the function itself.
 *
 * Return: what @fn returned. Context: main thread.
 */
int rmcd_call(struct rmc_ni_worker *ni, int (*fn)(void *arg), void *arg)
{
	struct rmcd_worker *w = rmcd_worker_of(ni);
	struct rmcd_call call = { .fn = fn, .arg = arg };

	if (!w->started) {
		rmc_ni_tick(ni, rmc_os_now_ns());
		return fn(arg);
	}
	/* pairs with the acquire in run_call() */
	__atomic_store_n(&w->call, &call, __ATOMIC_RELEASE);
	rmc_os_wake(ni);
	/* pairs with the release in run_call() */
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
		futex_wait(&call.done, 0);
	return call.ret;
}

/* Callers rely on node time, and on a poll of peers: both stop while the worker sleeps. */
static void run_call(struct rmcd_worker *w)
{
	/* pairs with the release in rmcd_call() */
	struct rmcd_call *call = __atomic_load_n(&w->call, __ATOMIC_ACQUIRE);
	u32 *done;

	if (likely(!call))
		return;
	w->call = NULL;
	rmc_ni_tick(&w->ni, rmc_os_now_ns());
	call->ret = call->fn(call->arg);
	done = &call->done;
	/* the caller's stack frame may be gone after this; waking a futex there does no harm */
	/* pairs with the acquire in rmcd_call() */
	__atomic_store_n(done, 1, __ATOMIC_RELEASE);
	futex_wake(done);
}

static void own_worker(struct rmcd_worker *w)
{
	while (!rmc_ni_try_own(&w->ni))
		sched_yield();
}

static bool must_wake(struct rmcd_worker *w)
{
	return READ_ONCE(w->kicked) || READ_ONCE(w->call) || READ_ONCE(w->stop);
}

/*
 * Makes room in the doorbell: a full pipe rings no more. Once: a peer may write as fast as we
 * read, and each write is another event.
 */
static void empty_doorbell(int fd)
{
	char rings[65536];	/* of a pipe, unless a peer has made it larger */

	if (read(fd, rings, sizeof(rings)) < 0)
		return;
}

static void empty_doorbells(struct rmcd_worker *w, const struct epoll_event *ev, int n)
{
	const struct rmcd_port *port = w->d->port;
	u32 i;

	for (; port->doorbell && n > 0; n--, ev++)
		for (i = 0; i < port->locals; i++)
			if (ev->data.fd == port->doorbell[i])
				empty_doorbell(ev->data.fd);
}

/* Takes what is in the epoll set. Returns true if there was something. */
static bool take_events(struct rmcd_worker *w, u64 ns)
{
	struct epoll_event ev[16];
	int n, ms = ns ? (int)((ns + 999999) / 1000000) : -1;

	n = epoll_wait(w->epoll, ev, ARRAY_SIZE(ev), ms);
	empty_doorbells(w, ev, n);
	return n > 0;
}

/* What clients wrote while the worker was awake does not wake it. What is left wakes it. */
static void forget_events(struct rmcd_worker *w)
{
	struct epoll_event ev[16];
	int rounds = 0, n;

	do {
		n = epoll_wait(w->epoll, ev, ARRAY_SIZE(ev), 0);
		empty_doorbells(w, ev, n);
	} while (n == ARRAY_SIZE(ev) && ++rounds < FORGET_ROUNDS);
}

/* Sleeps until woken. Returns false when the time ran out. */
static bool doze(struct rmcd_worker *w, u64 ns)
{
	if (must_wake(w))
		return true;
	return take_events(w, ns) || must_wake(w);
}

static void sleep_parked(struct rmcd_worker *w)
{
	u64 ns = w->poll_ns_max ? RMC_TICK_NS : 0;
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

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Yields to who waits for this CPU, or polls on. */
static void give_way(struct rmcd_worker *w)
{
	u64 now = rmc_os_now_ns();

	if (!rmc_yield_due(&w->yields, now))
		return;
	sched_yield();
	rmc_yielded(&w->yields, now, rmc_os_now_ns());
}

/* Polls for VISITS_PER_CLOCK visits. */
static void spin(struct rmcd_worker *w, u32 *quiet)
{
	int i, idle = 0;

	for (i = 0; i < VISITS_PER_CLOCK; i++) {
		if (rmc_ni_visit(&w->ni)) {
			*quiet = 0;
		} else {
			if (w->share || ++*quiet > VISITS_BEFORE_PAUSE)
				pause_cpu();
			if (w->share || *quiet % VISITS_PER_YIELD == 0) {
				if (w->share && idle++ < POLLS_BEFORE_YIELD &&
				    rmc_ni_awaits(&w->ni))
					continue;
				if (w->share)
					give_way(w);
				else
					sched_yield();
				return;
			}
		}
		if (unlikely(READ_ONCE(w->call)))
			return;
	}
}

static void *worker_main(void *data)
{
	struct rmcd_worker *w = data;
	u64 now = rmc_os_now_ns(), busy_ns = now, slept_ns;
	u32 quiet = 0;

	self = w;
	rmcd_block_init();
	while (!READ_ONCE(w->stop)) {
		u64 worked = w->ni.worked;

		spin(w, &quiet);
		run_call(w);

		now = rmc_os_now_ns();
		if (now - w->ni.tick_ns >= RMC_TICK_NS)
			rmc_ni_tick(&w->ni, now);
		if (worked != w->ni.worked || READ_ONCE(w->call)) {
			busy_ns = now;
			continue;
		}
		if (!rmc_park_is_due(&w->park, now - busy_ns, w->park_ns))
			continue;
		/* rmc_ni_may_park() has a cost: after false, ask later */
		busy_ns = now;
		unkick(w);
		if (!rmc_ni_may_park(&w->ni) || !rmc_park_may(&w->park, now, interrupted, w))
			continue;
		forget_events(w);
		if (!rmc_ni_park(&w->ni))
			continue;
		slept_ns = now;
		sleep_parked(w);
		now = rmc_os_now_ns();
		busy_ns = now;
		quiet = 0;
		rmc_park_slept(&w->park, now - slept_ns, w->park_ns);
	}
	run_call(w);
	return NULL;
}

/**
 * rmcd_worker_watch() - a descriptor wakes a worker when it becomes readable again
 * @w: worker
 * @fd: descriptor
 *
 * Return: 0 or -errno. Context: main thread.
 */
int rmcd_worker_watch(struct rmcd_worker *w, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.fd = fd };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/**
 * rmcd_worker_unwatch() - mirror of rmcd_worker_watch()
 * @w: worker
 * @fd: descriptor; clients may have duplicates, so closing it would not remove it
 */
void rmcd_worker_unwatch(struct rmcd_worker *w, int fd)
{
	epoll_ctl(w->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/**
 * rmcd_worker_init() - initialize all but @w->ni, which rmc_ni_worker_init() does
 * @w: worker, zeroed
 * @d: daemon; its configuration is settled, its port open
 * @number: index
 *
 * Return: 0 or -errno; then call rmcd_worker_destroy() nevertheless.
 */
int rmcd_worker_init(struct rmcd_worker *w, struct rmcd *d, u32 number)
{
	w->d = d;
	w->number = number;
	w->cpu = rmcd_config_cpu(&d->cfg, number);
	w->share = d->cfg.share;
	w->park_ns = (u64)d->cfg.park_us * 1000;
	w->poll_ns_max = (u64)d->port->poll_us_max * 1000;
	if (!has_membarrier())
		w->poll_ns_max = w->poll_ns_max ? min_t(u64, w->poll_ns_max, NO_BARRIER_NS) :
						  NO_BARRIER_NS;
	rmc_park_init(&w->park);
	w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->event < 0 || w->epoll < 0)
		return -errno;
	return rmcd_worker_watch(w, w->event);
}

/**
 * rmcd_worker_destroy() - mirror of rmcd_worker_init()
 * @w: worker, stopped
 */
void rmcd_worker_destroy(struct rmcd_worker *w)
{
	if (w->event > 0)
		close(w->event);
	if (w->epoll > 0)
		close(w->epoll);
}

/**
 * rmcd_worker_start() - start the thread
 * @w: worker, set up, with its nodes
 *
 * Return: 0 or -errno.
 */
int rmcd_worker_start(struct rmcd_worker *w)
{
	sigset_t all, old;
	cpu_set_t set;
	char name[16];
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&w->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	w->started = true;
	snprintf(name, sizeof(name), "rmcd/%u", w->number);
	pthread_setname_np(w->thread, name);
	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	/* not allowed: the scheduler chooses the CPU */
	if (pthread_setaffinity_np(w->thread, sizeof(set), &set))
		w->cpu = -1;
	return 0;
}

/**
 * rmcd_worker_stop() - stop the thread
 * @w: worker
 */
void rmcd_worker_stop(struct rmcd_worker *w)
{
	if (!w->started)
		return;
	__atomic_store_n(&w->stop, 1, __ATOMIC_SEQ_CST);
	rmc_os_wake(&w->ni);
	pthread_join(w->thread, NULL);
	w->started = false;
}
