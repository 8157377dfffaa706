/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fork() with operations in flight: the parent's continue. The child has none of the
 * parent's queues and opens the context anew. Uses two nodes of rmcd.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../tap.h"

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

static struct rmc_team *team;
static struct rmc_msg *msg;
static struct rmc_coll *coll;
static struct rmc_kv *kv;

/* In the child: map its own memory at the parent's address p. Closing must not unmap it. */
static char *squat(const volatile void *p)
{
	return (char *)mmap((void *)(uintptr_t)p, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static int closing_child(void)
{
	/* a child has a private mapping in place of the registered operands */
	char *own[] = { squat(qp->wq), squat(qp->cq), squat(qp->flags) };
	unsigned int i, n = sizeof(own) / sizeof(own[0]);
	struct rmc_ctx *mine;
	int fd = rmc_fd(ctx);

	for (i = 0; i < n; i++)
		if (own[i] == MAP_FAILED)
			return 1;
	errno = 0;
	if (rmc_qp_create(ctx, 8) || errno != EPERM || rmc_seg_register(ctx, own[0], PAGE, 0) != -EPERM ||
	    rmc_buf_register(ctx, own[0], PAGE) != -EPERM)
		return 2;
	if (rmc_buf_unregister(ctx, 0) || rmc_seg_unregister(ctx))
		return 3;
	/* this destroys the remaining objects as well, as at exit */
	rmc_close(ctx);
	for (i = 0; i < n; i++)
		if (!is_mapped(own[i]))
			return 4;
	if (fcntl(fd, F_GETFD) >= 0)
		return 5;
	mine = rmc_open(0, 1);
	if (!mine || !rmc_qp_create(mine, 8))
		return 7;
	rmc_close(mine);
	return 0;
}

/* In the child: close all that an application may close at exit. */
static int closing_team_child(void)
{
	rmc_kv_close(kv);
	rmc_coll_close(coll);
	rmc_msg_close(msg);
	rmc_team_close(team);
	return 0;
}

/* In the child: 0, or what failed */
static int child(void)
{
	struct rmc_ctx *mine;
	struct rmc_qp *own;
	uint64_t *buf;

	if (is_mapped(qp->wq) || is_mapped(qp->cq) || is_mapped(qp->flags) ||
	    !is_mapped(qp->operands))
		return 1;
	buf = (uint64_t *)pages(PAGE);
	/* this releases the inherited context */
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
	rmc_close(mine);
	return 0;
}

static int run_child(int (*run)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run());
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
	CHECK_EQ(run_child(child), 0);
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
	CHECK_EQ(run_child(child), 0);
	CHECK_EQ(segment[8], FROM_CHILD);
	CHECK_EQ(rmc_read(qp, 0, 64, lbuf, 8), 0);
	CHECK_EQ(lbuf[0], FROM_CHILD);
}

static void closes(void)
{
	completions = 0;
	post(64);
	CHECK_EQ(run_child(closing_child), 0);
	CHECK_EQ(rmc_drain_cq(qp, count), 0);
	CHECK_EQ(completions, 64);
	CHECK_EQ(rmc_read(qp, 0, 64, lbuf, 8), 0);
}

static void closes_team(void)
{
	struct rmc_team_options t = { .numa_node = -1, .flags = RMC_TEAM_OBJECTS };
	struct rmc_kv_options ko = { .objects = 8, .at = 64 << 10 };
	const void *got;
	size_t len;
	char c;

	rmc_close(ctx);
	team = rmc_team_open_with(&t, ko.at + rmc_kv_bytes(1, &ko));
	msg = team ? rmc_msg_open(team, 0) : NULL;
	coll = msg ? rmc_coll_open(team, 32 << 10, 64) : NULL;
	kv = coll ? rmc_kv_open(team, &ko) : NULL;
	CHECK(kv);
	if (!kv)
		return;
	/* with a message in flight, for which closing waits */
	CHECK_EQ(rmc_msg_send(msg, 0, "x", 1, 0), 0);
	CHECK_EQ(rmc_kv_put(kv, "key", 3, "value", 5), 0);
	CHECK_EQ(run_child(closing_team_child), 0);
	CHECK_EQ(rmc_msg_recv(msg, 0, &c, 1, &len, NULL, 0), 0);
	CHECK_EQ(rmc_kv_get(kv, "key", 3, &got, &len), 0);
	CHECK_EQ(len, 5);
	CHECK_EQ(rmc_coll_bcast(coll, 0, &c, 1), 0);
	rmc_kv_close(kv);
	rmc_coll_close(coll);
	rmc_msg_close(msg);
	rmc_team_close(team);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a fork with operations in flight", in_flight },
		{ "a child that closes everything takes nothing from its parent", closes },
		{ "the queue pair goes on after the child is gone", afterwards },
		{ "a child closes a team, its messages, collectives and store", closes_team },
	};
	int i;

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
	/* the last test closes the context */
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
