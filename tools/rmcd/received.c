// SPDX-License-Identifier: GPL-2.0
/* See received.h. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "received.h"
#include "rmcd.h"

#define MOST_THREADS	1024
#define STACK_BYTES	32768

/* Largest huge pages, as the logarithm that memfd_create() takes: 16 GiB */
#define MOST_HUGE_SHIFT	34

/* Devices of files in memory that are mounted nowhere: memfd_create(). 0: there is none */
static dev_t memory_dev[MOST_HUGE_SHIFT + 1];
static u32 threads;

static dev_t device_of(int fd)
{
	struct stat st;
	dev_t dev = fd >= 0 && !fstat(fd, &st) ? st.st_dev : 0;

	if (fd >= 0)
		close(fd);
	return dev;
}

/**
 * rmcd_received_init() - learn how files in memory look
 */
void rmcd_received_init(void)
{
	u32 i;

	memory_dev[0] = device_of(memfd_create("rmcd", MFD_CLOEXEC));
	/* each size of huge pages has its own; ENODEV for what is no size */
	for (i = 1; i <= MOST_HUGE_SHIFT; i++)
		memory_dev[i] = device_of(memfd_create("rmcd", MFD_CLOEXEC | MFD_HUGETLB |
							       i << MAP_HUGE_SHIFT));
}

static bool is_memory_dev(dev_t dev)
{
	u32 i;

	for (i = 0; i <= MOST_HUGE_SHIFT; i++)
		if (dev == memory_dev[i])
			return true;
	return false;
}

/* Is it a mount of tmpfs or hugetlbfs? */
static bool is_memory_mount(dev_t dev)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], *type;
	u32 major, minor;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 ||
		    makedev(major, minor) != dev)
			continue;
		type = strstr(line, " - ");
		found = type && (!strncmp(type + 3, "tmpfs ", 6) ||
				 !strncmp(type + 3, "hugetlbfs ", 10));
	}
	if (f)
		fclose(f);
	return found;
}

/**
 * rmcd_is_memory() - is it a file in memory? Does not wait for its file system.
 * @fd: descriptor, any
 *
 * Return: true for tmpfs and hugetlbfs.
 */
bool rmcd_is_memory(int fd)
{
	struct statx st;
	dev_t dev;

	/* what is known: no request to a server */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) ||
	    !S_ISREG(st.stx_mode))
		return false;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return dev && (is_memory_dev(dev) || is_memory_mount(dev));
}

/**
 * rmcd_is_eventfd() - is it an eventfd?
 * @fd: descriptor, any
 *
 * Return: true if so. No path looks like that, since it would begin with a slash.
 */
bool rmcd_is_eventfd(int fd)
{
	char path[64], name[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	name[max(n, (ssize_t)0)] = '\0';
	return !strcmp(name, "anon_inode:[eventfd]");
}

static void *close_main(void *data)
{
	close((int)(intptr_t)data);
	__atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The number is free at once, even if the close takes hours. */
static void close_elsewhere(int fd)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err = 1;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (__atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) < MOST_THREADS) {
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = pthread_create(&thread, &attr, close_main, (void *)(intptr_t)fd);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	if (!err)
		return;
	/* it stays open: better than a main thread that stands still */
	__atomic_fetch_sub(&threads, 1, __ATOMIC_RELAXED);
	rmcd_log("a descriptor of a client is not closed: too many are being closed already");
}

/**
 * rmcd_close_received() - close what a client has sent, without waiting
 * @fd: descriptor, any
 */
void rmcd_close_received(int fd)
{
	if (rmcd_is_eventfd(fd) || rmcd_is_memory(fd))
		close(fd);
	else
		close_elsewhere(fd);
}

/**
 * rmcd_close_connection() - close a connection, without waiting
 * @fd: socket; its unread messages may have descriptors, which close with it
 */
void rmcd_close_connection(int fd)
{
	char byte;

	/* nothing arrives after this */
	shutdown(fd, SHUT_RDWR);
	if (recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0)
		close_elsewhere(fd);
	else
		close(fd);
}
