/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Threads that sleep on an object that another thread destroys: see internal.h. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "internal.h"

#define LEAVE_INTERVAL_US	50	/* between checks whether the sleepers have left */

void rmc_sleepers_init(struct rmc_sleepers *s)
{
	memset(s, 0, sizeof(*s));
	s->eventfd = -1;
}

uint32_t rmc_sleepers_enter(struct rmc_sleepers *s)
{
	uint32_t since = __atomic_load_n(&s->ended, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
	return since;
}

void rmc_sleepers_leave(struct rmc_sleepers *s)
{
	/* pairs with the load in rmc_sleepers_wait(): the object may be freed after it */
	__atomic_sub_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
}

int rmc_sleepers_ended(const struct rmc_sleepers *s, uint32_t since)
{
	return __atomic_load_n(&s->ended, __ATOMIC_SEQ_CST) != since;
}

int rmc_sleepers_eventfd(struct rmc_sleepers *s)
{
	int fd = __atomic_load_n(&s->eventfd, __ATOMIC_ACQUIRE);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0)
		return rmc_fail(errno, "cannot make an eventfd: %s", strerror(errno));
	__atomic_store_n(&s->eventfd, fd, __ATOMIC_RELEASE);
	return fd;
}

void rmc_sleepers_end(struct rmc_sleepers *s)
{
	__atomic_add_fetch(&s->ended, 1, __ATOMIC_SEQ_CST);
}

/*
 * The driver has woken the sleepers already. Waking them here as well covers a thread that
 * goes to sleep just now, and may have emptied the eventfd before.
 */
void rmc_sleepers_wait(struct rmc_sleepers *s)
{
	uint64_t one = 1;
	int fd;

	while (__atomic_load_n(&s->inside, __ATOMIC_SEQ_CST)) {
		fd = __atomic_load_n(&s->eventfd, __ATOMIC_ACQUIRE);
		/* EAGAIN: full, so it is readable already */
		if (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
			continue;
		usleep(LEAVE_INTERVAL_US);
	}
}
