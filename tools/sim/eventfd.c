// SPDX-License-Identifier: GPL-2.0
/* Eventfds in virtual time. One thread at a time waits for each, as in librmc. */
#include <errno.h>
#include <string.h>
#include "sim.h"

#define EVENTFDS	8192

static struct {
	bool used;
	uint64_t count;
	struct sim_thread *waiter;
} table[EVENTFDS];
static int most;	/* used so far */

static int place(int fd)
{
	fd -= SIM_EVENTFD_FIRST;
	return fd >= 0 && fd < most && table[fd].used ? fd : -1;
}

/**
 * sim_eventfd_make() - eventfd()
 * @count: initial value
 *
 * Return: descriptor or -EMFILE.
 */
int sim_eventfd_make(uint64_t count)
{
	int i;

	for (i = 0; i < EVENTFDS && table[i].used; i++)
		;
	if (i == EVENTFDS)
		return -EMFILE;
	table[i].used = true;
	table[i].count = count;
	table[i].waiter = NULL;
	if (i >= most)
		most = i + 1;
	return SIM_EVENTFD_FIRST + i;
}

/**
 * sim_eventfd_is() - check for an eventfd of the simulation
 * @fd: any descriptor
 *
 * Return: true if it is one.
 */
bool sim_eventfd_is(int fd)
{
	return place(fd) >= 0;
}

/**
 * sim_eventfd_signal() - increment an eventfd, and wake the thread that waits
 * @fd: any descriptor
 * @at: when
 */
void sim_eventfd_signal(int fd, uint64_t at)
{
	int i = place(fd);

	if (i < 0)
		return;
	table[i].count++;
	if (table[i].waiter)
		sim_wake(table[i].waiter, at + sim.cost.sleep);
}

/**
 * sim_eventfd_read() - nonblocking read()
 * @fd: descriptor
 * @to: eight bytes
 * @len: bytes
 *
 * Return: 8, -EAGAIN, or -EINVAL.
 */
long sim_eventfd_read(int fd, void *to, size_t len)
{
	int i = place(fd);

	if (len < sizeof(uint64_t))
		return -EINVAL;
	if (!table[i].count)
		return -EAGAIN;
	memcpy(to, &table[i].count, sizeof(uint64_t));
	table[i].count = 0;
	return sizeof(uint64_t);
}

/**
 * sim_eventfd_write() - write()
 * @fd: descriptor
 * @from: eight bytes
 * @len: bytes
 *
 * Return: 8 or -EINVAL.
 */
long sim_eventfd_write(int fd, const void *from, size_t len)
{
	uint64_t n;

	if (len < sizeof(n))
		return -EINVAL;
	memcpy(&n, from, sizeof(n));
	table[place(fd)].count += n - 1;
	sim_eventfd_signal(fd, sim_local_now());
	return sizeof(n);
}

/**
 * sim_eventfd_close() - close()
 * @fd: descriptor
 */
void sim_eventfd_close(int fd)
{
	table[place(fd)].used = false;
}

/**
 * sim_eventfd_ready() - check whether an eventfd is readable
 * @fd: any descriptor
 *
 * Return: true if it is.
 */
bool sim_eventfd_ready(int fd)
{
	int i = place(fd);

	return i >= 0 && table[i].count;
}

/**
 * sim_eventfd_watch() - set the thread that waits for an eventfd
 * @fd: any descriptor
 * @t: thread or NULL
 */
void sim_eventfd_watch(int fd, struct sim_thread *t)
{
	int i = place(fd);

	if (i >= 0)
		table[i].waiter = t;
}

/**
 * sim_eventfd_reset() - close all
 */
void sim_eventfd_reset(void)
{
	memset(table, 0, (size_t)most * sizeof(table[0]));
	most = 0;
}
