/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the tests of the library's side of rmcd's socket share; stub_daemon.c is the daemon. */
#ifndef DAEMON_CLIENT_H
#define DAEMON_CLIENT_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "../../lib/driver/maps.h"
#include "stub_daemon.h"
#include "../tap.h"

#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))
#define PAGE		4096UL
#define PATIENCE_S	60

static char dir[64], at[96];
static struct rmc_ctx *ctx;
static int fds_before;

static inline int says(const char *part)
{
	int found = strstr(rmc_errmsg(), part) != NULL;

	if (!found)
		printf("# message: %s\n", rmc_errmsg());
	return found;
}

static inline int count_own_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline int count_fds(void)
{
	/* the server closes descriptors of a message after its answer, under its lock */
	stubd_seen();
	return count_own_fds();
}

static inline void start(void)
{
	alarm(PATIENCE_S);
	fds_before = count_fds();
	stubd_start(at);
}

static inline void open_ctx(void)
{
	start();
	ctx = rmc_open(7, 2);
	if (!ctx) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
}

static inline void stop(void)
{
	stubd_stop();
	CHECK_EQ(count_fds(), fds_before);
	alarm(0);
}

static inline void close_ctx(void)
{
	rmc_close(ctx);
	stop();
}

static inline char *pages(size_t n)
{
	void *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : (char *)p;
}

/* This process may have descriptors below n: the limit that was */
static inline rlim_t limit_fds(rlim_t n)
{
	struct rlimit rl;
	rlim_t before;

	getrlimit(RLIMIT_NOFILE, &rl);
	before = rl.rlim_cur;
	rl.rlim_cur = n;
	setrlimit(RLIMIT_NOFILE, &rl);
	return before;
}

/* 'p': private, 's': shared, '-': not mapped */
static inline char kind(const void *p)
{
	FILE *maps = rmc_maps_open();
	struct rmc_vma v;
	char found = '-';

	while (rmc_maps_next(maps, &v))
		if (v.start <= (uintptr_t)p && (uintptr_t)p < v.end)
			found = v.shared ? 's' : 'p';
	fclose(maps);
	return found;
}

static inline void fill(char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (char)(i * 7 + i / PAGE);
}

static inline int filled(const char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != (char)(i * 7 + i / PAGE))
			return 0;
	return 1;
}

/* A directory of its own, with the daemon's socket in it, for the tests */
static inline int run_with_daemon(const struct tap_test *tests, int n)
{
	int failed;

	snprintf(dir, sizeof(dir), "/tmp/rmc-test-XXXXXX");
	if (!mkdtemp(dir)) {
		printf("Bail out! no directory in /tmp\n");
		return 1;
	}
	snprintf(at, sizeof(at), "%s/rmc", dir);
	mkdir(at, 0700);
	snprintf(at, sizeof(at), "%s/rmc/socket", dir);
	setenv("RMC_DEVICE", at, 1);
	failed = tap_run(tests, n);
	unlink(at);
	snprintf(at, sizeof(at), "%s/rmc", dir);
	rmdir(at);
	rmdir(dir);
	return failed;
}

#endif
