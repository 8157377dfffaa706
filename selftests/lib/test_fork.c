/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fork() with operations in flight: the parent's go on, the child has none of its
 * queues and opens the context anew. Over the driver in user space, as two nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "tap.h"

#define PAGE		4096
#define SEGMENT		(16 * PAGE)
#define FROM_CHILD	0xc0ffeeULL

static struct rmc_ctx *ctx;
static struct rmc_qp *qp;
static uint64_t *segment, *lbuf;
static int completions;

static void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static void count(int slot, void *arg)
{
	(void)slot;
	(void)arg;
	completions++;
}

static int is_mapped(const volatile void *p)
{
	unsigned char resident;

	return !mincore((void *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1)), 1, &resident) ||
	       errno != ENOMEM;
}

/* In the child: 0, or what failed */
static int child(void)
{
	struct rmc_ctx *mine;
	struct rmc_qp *own;
	uint64_t *buf;

	if (is_mapped(qp->wq) || is_mapped(qp->cq) || is_mapped(qp->flags) ||
	    is_mapped(qp->operands))
		return 1;
	buf = (uint64_t *)pages(PAGE);
	/* the way to let go of what was inherited */
	if (close(rmc_fd(ctx)))
		return 2;
	mine = rmc_open(0, 1);
	own = mine ? rmc_qp_create(mine, 8) : NULL;
	if (!own || rmc_buf_register(mine, buf, PAGE) < 0)
		return 3;
	if (rmc_read(own, 0, 5 * PAGE, buf, 8) || buf[0] != 5)
		return 4;
	buf[1] = FROM_CHILD;
	if (rmc_write(own, 0, 64, &buf[1], 8))
		return 5;
	/* the segment is a copy here: written remotely, it is the parent's that changed */
	if (segment[8] == FROM_CHILD)
		return 6;
	rmc_close(mine);
	return 0;
}

static int run_child(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void post(int n)
{
	int i, slot;

	for (i = 0; i < n; i++) {
		slot = rmc_wait_for_slot(qp, count);
		if (slot < 0)
			return;
		rmc_read_async(qp, slot, 0, (uint64_t)(i % 16) * PAGE, &lbuf[slot], 8);
	}
}

static void in_flight(void)
{
	completions = 0;
	post(64);
	CHECK_EQ(run_child(), 0);
	CHECK_EQ(rmc_drain_cq(qp, count), 0);
	CHECK_EQ(completions, 64);
	CHECK_EQ(lbuf[5], 5);
	CHECK_EQ(segment[8], FROM_CHILD);
}

static void afterwards(void)
{
	completions = 0;
	post(300);
	CHECK_EQ(rmc_drain_cq(qp, count), 0);
	CHECK_EQ(completions, 300);
	segment[8] = 0;
	CHECK_EQ(run_child(), 0);
	CHECK_EQ(segment[8], FROM_CHILD);
	CHECK_EQ(rmc_read(qp, 0, 64, lbuf, 8), 0);
	CHECK_EQ(lbuf[0], FROM_CHILD);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a fork with operations in flight", in_flight },
		{ "the queue pair goes on after the child is gone", afterwards },
	};
	int i, status;

	ctx = rmc_open(0, 0);
	qp = ctx ? rmc_qp_create(ctx, 64) : NULL;
	segment = (uint64_t *)pages(SEGMENT);
	lbuf = (uint64_t *)pages(PAGE);
	if (!qp || rmc_seg_register(ctx, segment, SEGMENT, 0) ||
	    rmc_buf_register(ctx, lbuf, PAGE) < 0) {
		printf("Bail out! %s\n", rmc_errmsg());
		return 1;
	}
	for (i = 0; i < 16; i++)
		segment[i * PAGE / 8] = (uint64_t)i;
	status = tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	rmc_close(ctx);
	return status;
}
