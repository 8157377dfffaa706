// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of librmc and of programs that use it: linked with --wrap, see the Makefile.
 * For a thread of the simulation, calls for the driver and the clock are simulated; all
 * others are the real ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include "sim.h"

/* CLOCK_REALTIME of the start: any time that is not 0 */
#define REALTIME_NS	1700000000000000000ULL

#define WRAP(ret, name, ...)		\
	ret __real_##name(__VA_ARGS__);	\
	ret __wrap_##name(__VA_ARGS__)

static long result(long ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

/* ---- files ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (!sim.self || strncmp(path, "/dev/rmc_contexts/", 18))
		return __real_open(path, flags, mode);
	return (int)result(sim_driver_open(sim.self->node, path));
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd < SIM_FD_FIRST)
		return __real_ioctl(fd, request, arg);
	return (int)result(sim_driver_ioctl(fd, request, arg));
}

WRAP(void *, mmap, void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p;

	if (fd < SIM_FD_FIRST)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	p = sim_driver_map(fd, len, (uint64_t)offset);
	if (p)
		return p;
	errno = EINVAL;
	return MAP_FAILED;
}

WRAP(int, close, int fd)
{
	if (fd < SIM_FD_FIRST)
		return __real_close(fd);
	if (sim_eventfd_is(fd))
		sim_eventfd_close(fd);
	else
		sim_driver_close(fd);
	return 0;
}

WRAP(int, eventfd, unsigned int count, int flags)
{
	if (!sim.self)
		return __real_eventfd(count, flags);
	return (int)result(sim_eventfd_make(count));
}

WRAP(ssize_t, read, int fd, void *to, size_t len)
{
	if (!sim_eventfd_is(fd))
		return __real_read(fd, to, len);
	sim_charge(sim.cost.syscall);
	return result(sim_eventfd_read(fd, to, len));
}

WRAP(ssize_t, write, int fd, const void *from, size_t len)
{
	if (!sim_eventfd_is(fd))
		return __real_write(fd, from, len);
	sim_charge(sim.cost.syscall);
	return result(sim_eventfd_write(fd, from, len));
}

static int ready(struct pollfd *p, nfds_t n)
{
	int count = 0;
	nfds_t i;

	for (i = 0; i < n; i++) {
		p[i].revents = sim_eventfd_ready(p[i].fd) ? POLLIN : 0;
		count += !!p[i].revents;
	}
	return count;
}

static void watch(struct pollfd *p, nfds_t n, struct sim_thread *t)
{
	nfds_t i;

	for (i = 0; i < n; i++)
		sim_eventfd_watch(p[i].fd, t);
}

/* Of eventfds */
WRAP(int, poll, struct pollfd *p, nfds_t n, int timeout_ms)
{
	uint64_t end;
	int count;

	if (!sim.self)
		return __real_poll(p, n, timeout_ms);
	sim_charge(sim.cost.syscall);
	end = timeout_ms < 0 ? UINT64_MAX : sim_local_now() + (uint64_t)timeout_ms * 1000000;
	watch(p, n, sim.self);
	while (!(count = ready(p, n)) && sim_local_now() < end)
		sim_wait_until(end);
	watch(p, n, NULL);
	return count;
}

/* ---- time ---- */

WRAP(int, clock_gettime, clockid_t clock, struct timespec *ts)
{
	uint64_t now;

	if (!sim.self)
		return __real_clock_gettime(clock, ts);
	sim_charge(sim.cost.clock);
	now = sim_local_now() + (clock == CLOCK_REALTIME ? REALTIME_NS : 0);
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

static void sleep_ns(uint64_t ns)
{
	sim_sleep_until(sim_local_now() + ns + sim.cost.sleep);
}

WRAP(int, usleep, useconds_t us)
{
	if (!sim.self)
		return __real_usleep(us);
	sleep_ns((uint64_t)us * 1000);
	return 0;
}

WRAP(int, nanosleep, const struct timespec *ts, struct timespec *left)
{
	if (!sim.self)
		return __real_nanosleep(ts, left);
	sleep_ns((uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec);
	return 0;
}

WRAP(int, sched_yield, void)
{
	if (!sim.self)
		return __real_sched_yield();
	sim_charge(sim.cost.syscall);
	sim_relax();
	return 0;
}

/* ---- values that differ between nodes, or between runs ---- */

WRAP(int, sched_getcpu, void)
{
	return sim.self ? (int)sim.self->core : __real_sched_getcpu();
}

WRAP(ssize_t, getrandom, void *to, size_t len, unsigned int flags)
{
	uint64_t word;
	size_t i;

	if (!sim.self)
		return __real_getrandom(to, len, flags);
	for (i = 0; i < len; i += sizeof(word)) {
		word = rmc_sim_random();
		memcpy((char *)to + i, &word, len - i < sizeof(word) ? len - i : sizeof(word));
	}
	return (ssize_t)len;
}

WRAP(char *, getenv, const char *name)
{
	static char node[16], nodes[16];

	if (!sim.self)
		return __real_getenv(name);
	if (!strcmp(name, "RMC_NODE")) {
		snprintf(node, sizeof(node), "%u", rmc_sim_nid());
		return node;
	}
	if (!strcmp(name, "RMC_NODES")) {
		snprintf(nodes, sizeof(nodes), "%u", sim.o.nodes);
		return nodes;
	}
	return __real_getenv(name);
}

/* A simulated thread has no rmcd, whatever the user's environment says. */
WRAP(char *, secure_getenv, const char *name)
{
	static char module[] = "module";

	if (sim.self && !strcmp(name, "RMC_DEVICE"))
		return module;
	return __real_secure_getenv(name);
}
