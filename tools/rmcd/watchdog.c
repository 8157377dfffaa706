// SPDX-License-Identifier: GPL-2.0
/* See watchdog.h. It sleeps while no eventfd of a client is armed. */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "watchdog.h"

/* A thread that is blocked for so long is interrupted */
#define BLOCKED_NS	(20 * 1000 * 1000ULL)
/* One record per worker, and one for the main thread */
#define THREADS		(RMCD_MAX_WORKERS + 1)

/**
 * struct blocking - a thread that may block
 * @thread: thread
 * @since_ns: begin of the system call; 0: it is in none
 */
struct blocking {
	pthread_t thread;
	u64 since_ns;
};

static struct blocking threads[THREADS];
static u32 count;
static __thread struct blocking *self;
static pthread_t watchdog;
static u32 stop;

static void futex(u32 *word, int op, u32 value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/**
 * rmcd_block_init() - the calling thread will use rmcd_block_begin()
 */
void rmcd_block_init(void)
{
	u32 i = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);

	threads[i].thread = pthread_self();
	/* pairs with the acquire in watch() */
	__atomic_store_n(&threads[i].since_ns, 0, __ATOMIC_RELEASE);
	self = &threads[i];
}

/**
 * rmcd_block_begin() - a system call begins that a client can block
 *
 * It ends with EINTR then, some 20 to 40 ms later.
 */
void rmcd_block_begin(void)
{
	/* this and the end: pair with the acquire in watch() */
	__atomic_store_n(&self->since_ns, rmc_os_now_ns(), __ATOMIC_RELEASE);
}

/**
 * rmcd_block_end() - mirror of rmcd_block_begin()
 */
void rmcd_block_end(void)
{
	__atomic_store_n(&self->since_ns, 0, __ATOMIC_RELEASE);
}

/* SIGUSR1 interrupts a system call, and does nothing else. */
static void nothing(int number)
{
	(void)number;
}

static void watch(void)
{
	u64 now = rmc_os_now_ns();
	u32 n = __atomic_load_n(&count, __ATOMIC_RELAXED), i;

	for (i = 0; i < n && i < THREADS; i++) {
		u64 since = __atomic_load_n(&threads[i].since_ns, __ATOMIC_ACQUIRE);

		if (since && now > since && now - since > BLOCKED_NS)
			pthread_kill(threads[i].thread, SIGUSR1);
	}
}

static void *watchdog_main(void *data)
{
	struct timespec pause = { .tv_nsec = BLOCKED_NS };
	struct rmcd *d = data;

	pthread_setname_np(pthread_self(), "rmcd/watchdog");
	/* pairs with the release in rmcd_watchdog_stop() */
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		if (!READ_ONCE(d->armed)) {
			futex(&d->armed, FUTEX_WAIT_PRIVATE, 0);
			continue;
		}
		nanosleep(&pause, NULL);
		watch();
	}
	return NULL;
}

/**
 * rmcd_watchdog_start() - start the watchdog
 * @d: daemon
 *
 * Context: main thread, before any worker.
 *
 * Return: 0 or -errno.
 */
int rmcd_watchdog_start(struct rmcd *d)
{
	struct sigaction usr1 = { .sa_handler = nothing };
	sigset_t all, old;
	int err;

	sigaction(SIGUSR1, &usr1, NULL);
	rmcd_block_init();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&watchdog, NULL, watchdog_main, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/**
 * rmcd_watchdog_stop() - mirror of rmcd_watchdog_start()
 * @d: daemon; no other thread of it runs
 */
void rmcd_watchdog_stop(struct rmcd *d)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	rmcd_watchdog_arm(d);
	pthread_join(watchdog, NULL);
}

/**
 * rmcd_watchdog_arm() - one more eventfd of a client may be signalled
 * @d: daemon
 *
 * Context: main thread.
 */
void rmcd_watchdog_arm(struct rmcd *d)
{
	if (!__atomic_fetch_add(&d->armed, 1, __ATOMIC_SEQ_CST))
		futex(&d->armed, FUTEX_WAKE_PRIVATE, 1);
}

/**
 * rmcd_watchdog_disarm() - mirror of rmcd_watchdog_arm()
 * @d: daemon
 */
void rmcd_watchdog_disarm(struct rmcd *d)
{
	__atomic_fetch_sub(&d->armed, 1, __ATOMIC_SEQ_CST);
}
