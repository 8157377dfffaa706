/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A modest client beside hostile ones, and its control connection. After tap.h. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "raw.h"

static struct raw modest, control;
static struct raw_qp modest_qp;
static uint8_t *modest_mem;

static void open_modest(void)
{
	void *p;
	int fd = shared(2 * PAGE, &p);

	modest_mem = p;
	CHECK_EQ(raw_open(&modest, 0), 0);
	CHECK_EQ(raw_open(&control, -1), 0);
	CHECK_EQ(raw_seg(&modest, modest_mem, PAGE, fd, 0), 0);
	CHECK_EQ(raw_buf(&modest, modest_mem + PAGE, PAGE, fd, PAGE, NULL), 0);
	CHECK_EQ(raw_qp(&modest, &modest_qp, 64), 0);
	close(fd);
}

/* CPU time of the daemon's main thread; 0: unknown here */
static inline uint64_t main_thread_ns(void)
{
	char path[64];
	unsigned long long ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)daemon_pid,
		 (int)daemon_pid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &ns) != 1)
			ns = 0;
		fclose(f);
	}
	return ns;
}

/* Its reads complete, and its requests are answered. */
static void check_modest(void)
{
	struct rmc_query q = { .size = sizeof(q) };
	static uint8_t round;

	memset(modest_mem, ++round, PAGE);
	raw_post(&modest_qp, RMC_OP_READ, 0, 0, modest_mem + PAGE, PAGE);
	CHECK_EQ(raw_wait(&modest_qp, 10000), RMC_S_OK);
	CHECK_EQ(modest_mem[2 * PAGE - 1], round);
	CHECK_EQ(raw_call(&modest, RMC_IOC_QUERY, &q, sizeof(q)), 0);
}

#endif
