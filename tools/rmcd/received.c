// SPDX-License-Identifier: GPL-2.0
/* See received.h. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "closing.h"
#include "driver/protocol.h"
#include "received.h"
#include "rmcd.h"

/* Unread messages that the main thread looks through when it closes a connection */
#define MOST_UNREAD	64

/* Largest huge pages, as the logarithm that memfd_create() takes: 16 GiB */
#define MOST_HUGE_SHIFT	34

/* Devices of files in memory that are mounted nowhere: memfd_create(). 0: there is none */
static dev_t memory_dev[MOST_HUGE_SHIFT + 1];
/* Those of mounts, as the list was read last */
static dev_t *mount_dev;
static u32 mounts;
static FILE *mountinfo;		/* poll() says when the list has changed */
static bool stale;		/* it was not read whole */

static dev_t device_of(int fd)
{
	struct stat st;
	dev_t dev = fd >= 0 && !fstat(fd, &st) ? st.st_dev : 0;

	if (fd >= 0)
		close(fd);
	return dev;
}

static void add_mount(dev_t dev)
{
	dev_t *more = realloc(mount_dev, (mounts + 1) * sizeof(*more));

	if (!more) {
		stale = true;
		return;
	}
	mount_dev = more;
	mount_dev[mounts++] = dev;
}

/* Mounts of tmpfs and hugetlbfs */
static void read_mounts(void)
{
	char line[4096], *type;
	u32 major, minor;

	mounts = 0;
	stale = false;
	/* kept open: later there may be no descriptor for it */
	rewind(mountinfo);
	while (fgets(line, sizeof(line), mountinfo)) {
		if (sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2)
			continue;
		type = strstr(line, " - ");
		if (type && (!strncmp(type + 3, "tmpfs ", 6) ||
			     !strncmp(type + 3, "hugetlbfs ", 10)))
			add_mount(makedev(major, minor));
	}
	stale |= ferror(mountinfo);
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
	mountinfo = fopen("/proc/self/mountinfo", "re");
	if (mountinfo)
		read_mounts();
}

static bool is_memory_dev(dev_t dev)
{
	u32 i;

	for (i = 0; i <= MOST_HUGE_SHIFT; i++)
		if (dev == memory_dev[i])
			return true;
	return false;
}

static bool is_memory_mount(dev_t dev)
{
	struct pollfd p = { .events = POLLPRI };
	u32 i;

	if (!mountinfo)
		return false;
	p.fd = fileno(mountinfo);
	/* each change is reported once: before the list is read, so that none is missed */
	if (poll(&p, 1, 0) > 0 || stale)
		read_mounts();
	for (i = 0; i < mounts; i++)
		if (mount_dev[i] == dev)
			return true;
	return false;
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

/**
 * rmcd_close_received() - close what a client has sent, without waiting
 * @uid: its user
 * @fds: descriptors of one message, any; those that are negative are skipped
 * @n: number of them, at most RMCD_MOST_FDS
 *
 * Files in memory have no poll() and no server: closing one waits for nobody, and so a client that
 * registers memory does not wait for its other closes. But it may free the file, which takes its
 * time. If there are more than a request has, no question is asked.
 */
void rmcd_close_received(uid_t uid, const int *fds, u32 n)
{
	int memory[RMCD_MESSAGE_FDS], other[RMCD_MOST_FDS];
	u32 memories = 0, others = 0, i;

	for (i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if (n <= RMCD_MESSAGE_FDS && rmcd_is_memory(fds[i]))
			memory[memories++] = fds[i];
		else
			other[others++] = fds[i];
	}
	rmcd_close_elsewhere(uid, RMCD_JOB_FREE, memory, memories);
	rmcd_close_elsewhere(uid, RMCD_JOB_CLOSE, other, others);
}

/*
 * Takes the messages without descriptors off the queue. With SO_PASSCRED each message has control
 * data, also an empty one, and descriptors do not fit behind them. Peeking frees nothing.
 */
static bool has_descriptors(int fd)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	int on = 1, i;

	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return true;
	for (i = 0; i < MOST_UNREAD; i++) {
		struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };

		/* an error is that of a peer that left answers unread: it comes once, before messages */
		if (recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT) < 0)
			continue;
		if (!msg.msg_controllen)
			return false;
		if (msg.msg_flags & MSG_CTRUNC)
			return true;
		recv(fd, NULL, 0, MSG_DONTWAIT);
	}
	return true;
}

/**
 * rmcd_close_connection() - close a connection, without waiting
 * @uid: user at the other end
 * @fd: socket; its unread messages may have descriptors, which close with it
 */
void rmcd_close_connection(uid_t uid, int fd)
{
	/* nothing arrives after this */
	shutdown(fd, SHUT_RDWR);
	if (has_descriptors(fd))
		rmcd_close_elsewhere(uid, RMCD_JOB_CLOSE, &fd, 1);
	else
		close(fd);
}
