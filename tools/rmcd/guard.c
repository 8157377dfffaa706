// SPDX-License-Identifier: GPL-2.0
/*
 * The guard: marks queue pairs dead and wakes sleepers when the daemon is killed.
 *
 * It runs while the daemon may have died in the middle of anything, with the daemon's memory.
 * So it reads nothing but two tables whose entries are single words, takes no lock, allocates
 * nothing and makes system calls only.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "guard.h"

/* Queue pairs, and eventfds: as many as the quotas of some hundred users allow */
#define SLOTS		(1 << 17)
#define STACK_BYTES	65536

/**
 * struct guard - what the guard reads
 * @done: the daemon ends on its own
 * @daemon: its process
 * @flags: flags pages of queue pairs; NULL: free
 * @eventfd: descriptors to signal, plus 1; 0: free
 * @flags_hint: where to look for a free slot
 * @eventfd_hint: likewise
 */
struct guard {
	u32 done;
	int daemon;
	struct rmc_qp_flags *flags[SLOTS];
	int eventfd[SLOTS];
	u32 flags_hint;
	u32 eventfd_hint;
};

/*
 * The guard has the TLS of the daemon's main thread, with what ThreadSanitizer knows of that
 * thread: no sanitizer may run in it. ThreadSanitizer also takes clone() for fork().
 */
#ifndef __has_feature
#define __has_feature(x)	0
#endif
#if __has_feature(thread_sanitizer)
#define BY_GUARD	__attribute__((disable_sanitizer_instrumentation))
#elif defined(__SANITIZE_THREAD__)
#define BY_GUARD	__attribute__((no_sanitize_thread))
#endif
#ifdef BY_GUARD
int __clone(int (*fn)(void *arg), void *child_stack, int flags, void *arg, ...);
#define clone		__clone
#else
#define BY_GUARD
#endif

static struct guard *guard;
static void *stack;
static pid_t pid;

BY_GUARD static void mark_dead(void)
{
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		struct rmc_qp_flags *flags = READ_ONCE(guard->flags[i]);

		if (flags)
			WRITE_ONCE(flags->dead, 1);
	}
}

/* Only where there is room: a full one is readable. */
BY_GUARD static void wake_sleepers(void)
{
	static const u64 one = 1;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		struct pollfd p = { .fd = READ_ONCE(guard->eventfd[i]) - 1, .events = POLLOUT };

		if (p.fd >= 0 && syscall(SYS_ppoll, &p, 1, &(struct timespec){ 0 }, NULL, 0) > 0)
			syscall(SYS_write, p.fd, &one, sizeof(one));
	}
}

/* The other process. Its signal mask is that of the daemon's main thread. */
BY_GUARD static int guard_main(void *arg)
{
	struct pollfd p = { .fd = guard->daemon, .events = POLLIN };

	/* system calls alone: a sanitizer has its own code around other functions */
	syscall(SYS_prctl, PR_SET_NAME, "rmc-guard");
	while (syscall(SYS_ppoll, &p, 1, NULL, NULL, 0) < 0)
		;
	if (!READ_ONCE(guard->done)) {
		mark_dead();
		wake_sleepers();
	}
	/* not exit(): the streams and handlers are the daemon's */
	syscall(SYS_exit_group, 0);
	return 0;
}

/**
 * rmcd_guard_start() - start the guard
 *
 * Context: main thread, signals that end the daemon are blocked.
 *
 * Return: 0 or -errno; the daemon can do without.
 */
int rmcd_guard_start(void)
{
	int err;

	guard = mmap(NULL, sizeof(*guard), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guard == MAP_FAILED || stack == MAP_FAILED) {
		guard = NULL;
		return -ENOMEM;
	}
	guard->daemon = syscall(SYS_pidfd_open, getpid(), 0);
	if (guard->daemon < 0)
		return -errno;
	/* no signal at its end, and a wait of its own kind: it is no child of a fork() */
	pid = clone(guard_main, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_FILES, NULL);
	if (pid > 0)
		return 0;
	err = -errno;
	close(guard->daemon);
	return err;
}

/**
 * rmcd_guard_stop() - the daemon ends on its own: clients are told by other means
 */
void rmcd_guard_stop(void)
{
	if (!guard || pid <= 0)
		return;
	WRITE_ONCE(guard->done, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WCLONE);
}

/* Slots are taken and given back by the main thread only. */
static u32 free_slot(u32 *hint, bool (*is_free)(u32 slot))
{
	u32 n;

	for (n = 0; n < SLOTS; n++) {
		u32 slot = (*hint + n) % SLOTS;

		if (is_free(slot)) {
			*hint = slot + 1;
			return slot;
		}
	}
	return SLOTS;
}

static bool flags_free(u32 slot)
{
	return !guard->flags[slot];
}

static bool eventfd_free(u32 slot)
{
	return !guard->eventfd[slot];
}

/**
 * rmcd_guard_qp() - guard a queue pair
 * @flags: its flags page, which stays mapped until rmcd_guard_qp_gone()
 *
 * Return: slot; -1: none is free, or there is no guard.
 */
int rmcd_guard_qp(struct rmc_qp_flags *flags)
{
	u32 slot = guard ? free_slot(&guard->flags_hint, flags_free) : SLOTS;

	if (slot == SLOTS)
		return -1;
	WRITE_ONCE(guard->flags[slot], flags);
	return slot;
}

/**
 * rmcd_guard_qp_gone() - mirror of rmcd_guard_qp()
 * @slot: slot, or -1
 */
void rmcd_guard_qp_gone(int slot)
{
	if (slot >= 0)
		WRITE_ONCE(guard->flags[slot], NULL);
}

/**
 * rmcd_guard_eventfd() - guard those who sleep on an eventfd
 * @fd: eventfd, which stays open until rmcd_guard_eventfd_gone()
 *
 * Return: slot; -1: none is free, or there is no guard.
 */
int rmcd_guard_eventfd(int fd)
{
	u32 slot = guard ? free_slot(&guard->eventfd_hint, eventfd_free) : SLOTS;

	if (slot == SLOTS)
		return -1;
	WRITE_ONCE(guard->eventfd[slot], fd + 1);
	return slot;
}

/**
 * rmcd_guard_eventfd_gone() - mirror of rmcd_guard_eventfd()
 * @slot: slot, or -1
 */
void rmcd_guard_eventfd_gone(int slot)
{
	if (slot >= 0)
		WRITE_ONCE(guard->eventfd[slot], 0);
}
