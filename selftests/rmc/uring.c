// SPDX-License-Identifier: GPL-2.0
/* Waiting by io_uring commands, with bare system calls and without liburing. */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include "common.h"
#include "ring.h"

#define SEG	(4 * PAGE)
/* Submit @n wait commands that kernel threads start. */
static void submit_async(struct ring *r, struct end *e, unsigned int sources, unsigned int n)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < n; i++) {
		sqe = get(r);
		rmc_uring_prep_wait(sqe, e->ctx, sources, e->qp, 0);
		sqe->flags = IOSQE_ASYNC;
		sqe->user_data = i;
	}
	REQUIRE_EQ(enter(r, 0), (int)n);
}

#define CHECK_CQE(r, want_data, want_source) do {				\
	int res_ = 0;								\
	CHECK_EQ(reap(r, &res_, 5000), want_data);				\
	CHECK_EQ(res_ < 0 ? res_ : res_ & (int)RMC_URING_SOURCE_MASK, want_source);	\
} while (0)

#define CHECK_QUIET(r, ms) do {							\
	int res_ = 0;								\
	CHECK_EQ(reap(r, &res_, ms), -1);					\
} while (0)

static int open_count(void)
{
	return (int)file_number("/sys/class/rmc_context/rmcctx0/open_count", "");
}

/* Wait until the context has @want open files; true if that takes no longer than @ms */
static int closed_within(int want, unsigned int ms)
{
	unsigned long long end = ktap_ms() + ms;

	while (open_count() != want && ktap_ms() < end)
		usleep(5000);
	return open_count() == want;
}

static void pair(struct end *a, struct end *b)
{
	/* io_uring releases a dead process's files a little later */
	REQUIRE(closed_within(0, 5000));
	end_open(a, CTX, 0, 0, SEG, 16);
	end_open(b, CTX, 1, SEG, PAGE, 16);
	if (!rmc_uring_works(a->ctx))
		SKIP("this kernel has no io_uring");
}

static void post(struct end *a, struct rmc_qp *qp)
{
	int slot = rmc_wait_for_slot(qp, NULL);

	rmc_read_async(qp, slot, 1, 0, a->buf, 64);
}

TEST(a_completion_completes_the_command)
{
	struct end a, b;
	struct ring r;
	int res = 0;

	pair(&a, &b);
	ring_open(&r);
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 7);
	CHECK_QUIET(&r, 100);
	post(&a, a.qp);
	CHECK_EQ(reap(&r, &res, 5000), 7);
	CHECK_EQ(res, RMC_URING_CQ | 1 << RMC_URING_COUNT_SHIFT);
	CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
	/* one completion per command */
	post(&a, a.qp);
	CHECK_QUIET(&r, 100);
	CHECK_EQ(rmc_drain_cq(a.qp, NULL), 0);
}

TEST(what_came_before_completes_it_at_once)
{
	struct end a, b;
	struct ring r;

	pair(&a, &b);
	ring_open(&r);
	post(&a, a.qp);
	REQUIRE_EQ(rmc_cq_sleep(a.qp, 0, 5000), 1);
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 1);
	CHECK_CQE(&r, 1, RMC_URING_CQ);
}

/* One command per completion and no other wakeup: a lost one ends the test. */
TEST(no_wakeup_is_lost)
{
	struct end a, b;
	struct ring r;
	int i, res;

	pair(&a, &b);
	ring_open(&r);
	for (i = 0; i < 1000; i++) {
		if (i & 1)
			post(&a, a.qp);
		submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, (uint64_t)i);
		if (!(i & 1))
			post(&a, a.qp);
		REQUIRE_EQ(reap(&r, &res, 5000), i);
		REQUIRE_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_CQ);
		REQUIRE_EQ(rmc_poll_cq(a.qp, NULL), 1);
	}
	CHECK_QUIET(&r, 20);
}

/* Busy peers cause one wakeup per command, not one per notification. */
TEST(no_storm)
{
	uint32_t seen = 0;
	struct end a, b;
	struct ring r;
	int i, res;

	pair(&a, &b);
	ring_open(&r);
	submit_wait(&r, &b, RMC_URING_SEG, NULL, seen, 1);
	for (i = 0; i < 500; i++)
		CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	CHECK_EQ(reap(&r, &res, 5000), 1);
	rmc_uring_seen(res, &seen);
	CHECK(seen >= 1);
	submit_wait(&r, &b, RMC_URING_SEG, NULL, seen, 2);
	if (seen < 500) {
		CHECK_EQ(reap(&r, &res, 5000), 2);
		rmc_uring_seen(res, &seen);
		submit_wait(&r, &b, RMC_URING_SEG, NULL, seen, 3);
	}
	CHECK_EQ(seen, 500);
	/* a source newer than this program: its value may include the segment's bit */
	rmc_uring_seen((int)(RMC_URING_SEG | RMC_URING_CQ | 501 << RMC_URING_COUNT_SHIFT), &seen);
	CHECK_EQ(seen, 500);
	CHECK_QUIET(&r, 50);
}

TEST(one_command_for_all_three)
{
	const unsigned int all = RMC_URING_CQ | RMC_URING_SEG | RMC_URING_EVENT;
	struct rmc_node_event e[4];
	uint32_t seen = 0;
	struct end a, b;
	struct ring r;
	int i, fd, res, down;

	pair(&a, &b);
	ring_open(&r);
	fd = rmc_watch_open(b.ctx, 1U << RMC_EVENT_NODE_DOWN, 0);
	REQUIRE(fd >= 0);
	down = open(SYSFS "/node3/state", O_WRONLY);
	REQUIRE(down >= 0);
	for (i = 0; i < 200; i++) {
		submit_wait(&r, &b, all, b.qp, seen, (uint64_t)i);
		if (i % 10)
			CHECK_QUIET(&r, 0);
		if (i % 3 == 0) {
			post(&b, b.qp);
			REQUIRE_EQ(reap(&r, &res, 5000), i);
			CHECK_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_CQ);
			CHECK_EQ(rmc_poll_cq(b.qp, NULL), 1);
		} else if (i % 3 == 1) {
			CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
			REQUIRE_EQ(reap(&r, &res, 5000), i);
			CHECK_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_SEG);
			rmc_uring_seen(res, &seen);
			CHECK_EQ(seen, i / 3 + 1);
		} else {
			REQUIRE_EQ(write(down, "down", 4), 4);
			REQUIRE_EQ(write(down, "up", 2), 2);
			REQUIRE_EQ(reap(&r, &res, 5000), i);
			CHECK_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_EVENT);
			CHECK_EQ(rmc_watch_read(fd, e, 4, 0), 1);
		}
	}
	/* unread events complete the next command at once */
	REQUIRE_EQ(write(down, "down", 4), 4);
	REQUIRE_EQ(write(down, "up", 2), 2);
	submit_wait(&r, &b, all, b.qp, seen, 1000);
	CHECK_CQE(&r, 1000, RMC_URING_EVENT);
}

TEST(event_files_are_read_through_the_ring)
{
	struct rmc_node_event e = { 0 };
	struct io_uring_sqe *sqe;
	struct end a, b;
	struct ring r;
	int fd, down, res;

	pair(&a, &b);
	ring_open(&r);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_NODE_UP, 0);
	down = open(SYSFS "/node3/state", O_WRONLY);
	REQUIRE(fd >= 0 && down >= 0);
	sqe = get(&r);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_READ;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)&e;
	sqe->len = sizeof(e);
	sqe->off = (uint64_t)-1;
	sqe->user_data = 5;
	REQUIRE_EQ(enter(&r, 0), 1);
	CHECK_QUIET(&r, 50);
	REQUIRE_EQ(write(down, "down", 4), 4);
	REQUIRE_EQ(write(down, "up", 2), 2);
	CHECK_EQ(reap(&r, &res, 5000), 5);
	CHECK_EQ(res, sizeof(e));
	CHECK_EQ(e.type, RMC_EVENT_NODE_UP);
	CHECK_EQ(e.nid, 3);
}

/* poll(), an eventfd and two commands for one completion: each is signalled, once. */
TEST(beside_poll_and_eventfd)
{
	struct pollfd p = { .events = POLLIN };
	long long one, two;
	struct end a, b;
	struct ring r;
	uint64_t n;
	int efd, res;

	pair(&a, &b);
	ring_open(&r);
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 1);
	efd = rmc_cq_eventfd(a.qp);
	REQUIRE_EQ(rmc_cq_arm(a.qp), 0);
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 2);
	p.fd = rmc_fd(a.ctx);
	CHECK_EQ(poll(&p, 1, 20), 0);
	post(&a, a.qp);
	CHECK_EQ(poll(&p, 1, 5000), 1);
	/* the commands complete in any order */
	one = reap(&r, &res, 5000);
	two = reap(&r, &res, 5000);
	CHECK(one + two == 3 && (one == 1 || one == 2));
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_EQ(n, 1);
	CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
	/* arming with an old count signals the eventfd, not the command with the current count */
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 3);
	a.qp->tail--;
	REQUIRE_EQ(rmc_cq_arm(a.qp), 0);
	a.qp->tail++;
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_QUIET(&r, 50);
	post(&a, a.qp);
	CHECK_CQE(&r, 3, RMC_URING_CQ);
}

TEST(what_is_waited_for_is_destroyed)
{
	struct rmc_qp *q;
	struct end a, b;
	struct ring r;
	int fd;

	pair(&a, &b);
	ring_open(&r);
	q = rmc_qp_create(b.ctx, 16);
	REQUIRE(q);
	submit_wait(&r, &b, RMC_URING_CQ, q, 0, 1);
	submit_wait(&r, &b, RMC_URING_CQ | RMC_URING_SEG, b.qp, 0, 2);
	CHECK_QUIET(&r, 20);
	REQUIRE_EQ(qp_destroy(rmc_fd(b.ctx), q->id), 0);
	CHECK_CQE(&r, 1, -ESHUTDOWN);
	CHECK_QUIET(&r, 20);
	REQUIRE_EQ(seg_unreg(rmc_fd(b.ctx)), 0);
	CHECK_CQE(&r, 2, -ESHUTDOWN);
	fd = rmc_watch_open(b.ctx, 0, 0);
	submit_wait(&r, &b, RMC_URING_EVENT, NULL, 0, 3);
	CHECK_QUIET(&r, 20);
	close(fd);
	CHECK_CQE(&r, 3, -ESHUTDOWN);
	submit_wait(&r, &b, RMC_URING_EVENT, NULL, 0, 4);
	CHECK_CQE(&r, 4, -ENOENT);
}

TEST(closing_the_ring_lets_go_of_the_context)
{
	int before, i;
	struct end a, b;
	struct ring r;

	REQUIRE(closed_within(0, 5000));
	end_open(&a, CTX, 0, 0, SEG, 16);
	end_open(&b, CTX, 1, SEG, 0, 0);
	before = open_count();
	for (i = 0; i < 20; i++) {
		ring_open(&r);
		submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 1);
		submit_wait(&r, &b, RMC_URING_SEG, NULL, 0, 2);
		ring_close(&r);
	}
	/* b has no mappings: only a command that still waits could keep it open */
	close(rmc_fd(b.ctx));
	CHECK(closed_within(before - 1, 5000));
	end_close(&a);
	CHECK(closed_within(before - 2, 5000));
}

/* Closing the descriptor does not end the wait: rings with fixed files rely on that. */
TEST(closing_the_descriptor_does_not_end_the_wait)
{
	struct end a, b;
	struct ring r;
	int before;

	/* without queues: their mappings keep a file open as well */
	REQUIRE(closed_within(0, 5000));
	end_open(&a, CTX, 0, 0, SEG, 16);
	end_open(&b, CTX, 1, SEG, 0, 0);
	before = open_count();
	ring_open(&r);
	submit_wait(&r, &b, RMC_URING_SEG, NULL, 0, 1);
	close(rmc_fd(b.ctx));
	CHECK_QUIET(&r, 50);
	CHECK_EQ(open_count(), before);
	CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	CHECK_CQE(&r, 1, RMC_URING_SEG);
	CHECK(closed_within(before - 1, 5000));
	CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_BAD_CONTEXT);
}

TEST(killed_while_waiting)
{
	struct end a;
	int i, status;
	struct ring r;
	pid_t pid;

	REQUIRE(closed_within(0, 5000));
	for (i = 0; i < 20; i++) {
		pid = helper();
		if (!pid) {
			ring_open(&r);
			end_open(&a, CTX, 1, SEG, PAGE, 16);
			submit_wait(&r, &a, RMC_URING_CQ | RMC_URING_SEG, a.qp, 0, 1);
			submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 2);
			kill(getpid(), SIGKILL);
			pause();
		}
		status = ktap_wait(pid, 10000);
		CHECK(status >= 0 && WIFSIGNALED(status));
		CHECK(closed_within(0, 5000));
	}
}

/* exec() waits until io_uring has ended all requests: it must not wait for ever. */
TEST(exec_while_waiting)
{
	struct end a;
	struct ring r;
	int status;
	pid_t pid;

	REQUIRE(closed_within(0, 5000));
	pid = helper();
	if (!pid) {
		ring_open(&r);
		end_open(&a, CTX, 1, SEG, PAGE, 16);
		submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 1);
		execl("/proc/self/exe", "uring", "--nothing", NULL);
		_exit(3);
	}
	status = ktap_wait(pid, 10000);
	CHECK(status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) != 3);
	CHECK(closed_within(0, 5000));
}

static void *submit_and_leave(void *arg)
{
	void **a = arg;

	submit_wait(a[0], a[1], RMC_URING_SEG, NULL, 0, 9);
	return NULL;
}

TEST(the_submitting_thread_may_exit)
{
	struct end a, b;
	struct ring r;
	void *arg[2] = { &r, &b };
	pthread_t t;
	int res;

	pair(&a, &b);
	ring_open(&r);
	REQUIRE(!pthread_create(&t, NULL, submit_and_leave, arg));
	pthread_join(t, NULL);
	if (reap(&r, &res, 200) == 9) {
		/* kernels that cannot cancel commands: the thread's exit ends the command */
		CHECK_EQ(res, -ECANCELED);
		return;
	}
	CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	CHECK_CQE(&r, 9, RMC_URING_SEG);
}

TEST(destroy_races_with_completions)
{
	struct rmc_qp *q;
	struct end a, b;
	struct ring r;
	int i, res, n;

	pair(&a, &b);
	ring_open(&r);
	for (i = 0; i < ktap_rounds(300); i++) {
		q = rmc_qp_create(a.ctx, 4);
		REQUIRE(q);
		submit_wait(&r, &a, RMC_URING_CQ, q, 0, (uint64_t)i);
		for (n = 0; n < i % 4; n++)
			post(&a, q);
		rmc_qp_destroy(q);
		REQUIRE_EQ(reap(&r, &res, 5000), i);
		CHECK(res == -ESHUTDOWN || (i % 4 && (res & (int)RMC_URING_SOURCE_MASK) == RMC_URING_CQ));
	}
	CHECK_QUIET(&r, 20);
}

TEST(hundreds_of_queue_pairs_wait)
{
	enum { QPS = 240 };	/* each queue pair takes one of a context's local buffers */
	static struct rmc_qp *q[QPS];
	uint8_t signalled[QPS] = { 0 };
	struct end a, b;
	struct ring r;
	int i, res;
	long long n;

	pair(&a, &b);
	ring_open(&r);
	for (i = 0; i < QPS; i++) {
		q[i] = rmc_qp_create(a.ctx, 2);
		if (!q[i])
			ktap_say("queue pair %d: %s", i, rmc_errmsg());
		REQUIRE(q[i]);
		submit_wait(&r, &a, RMC_URING_CQ, q[i], 0, (uint64_t)i);
	}
	CHECK_QUIET(&r, 50);
	/* first one in the middle, then the others backwards, faster than they are reaped */
	post(&a, q[77]);
	CHECK_CQE(&r, 77, RMC_URING_CQ);
	for (i = QPS - 1; i >= 0; i--)
		if (i != 77)
			post(&a, q[i]);
	for (i = 1; i < QPS; i++) {
		n = reap(&r, &res, 5000);
		REQUIRE(n >= 0 && n < QPS);
		CHECK(!signalled[n]++);
	}
	CHECK_QUIET(&r, 20);
}

/* io_uring cancels a command where it can; elsewhere it refuses and the command stays. */
TEST(async_cancel)
{
	struct io_uring_sqe *sqe;
	struct end a, b;
	struct ring r;
	int res, first, i;
	long long data;

	pair(&a, &b);
	ring_open(&r);
	submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 1);
	sqe = get(&r);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_ASYNC_CANCEL;
	sqe->addr = 1;
	sqe->user_data = 2;
	REQUIRE_EQ(enter(&r, 0), 1);
	data = reap(&r, &first, 5000);
	if (data == 2 && first < 0) {
		/* refused: the command still waits and completes as usual */
		CHECK_QUIET(&r, 20);
		post(&a, a.qp);
		CHECK_CQE(&r, 1, RMC_URING_CQ);
		return;
	}
	for (i = 0; i < 2; i++) {
		CHECK(data == 1 || data == 2);
		if (data == 1)
			CHECK_EQ(first, -ECANCELED);
		if (!i)
			data = reap(&r, &res, 5000), first = res;
	}
}

TEST(bad_commands)
{
	struct io_uring_sqe *sqe;
	struct end a, b;
	struct ring r;

	pair(&a, &b);
	ring_open(&r);
	submit_wait(&r, &a, 0, NULL, 0, 1);
	CHECK_CQE(&r, 1, -EINVAL);
	submit_wait(&r, &a, 8, NULL, 0, 2);
	CHECK_CQE(&r, 2, -EOPNOTSUPP);
	/* no segment; no such QP; no such command */
	submit_wait(&r, &a, RMC_URING_SEG, NULL, 0, 3);
	CHECK_CQE(&r, 3, -ENOENT);
	sqe = get(&r);
	rmc_uring_prep_wait(sqe, a.ctx, RMC_URING_CQ, a.qp, 0);
	((struct rmc_uring_wait *)((uint8_t *)sqe + RMC_URING_SQE_CMD))->qp_id = 4711;
	sqe->user_data = 4;
	REQUIRE_EQ(enter(&r, 0), 1);
	CHECK_CQE(&r, 4, -ENOENT);
	sqe = get(&r);
	rmc_uring_prep_wait(sqe, a.ctx, RMC_URING_CQ, a.qp, 0);
	sqe->cmd_op = RMC_URING_WAIT_MSG + 1;
	sqe->user_data = 5;
	REQUIRE_EQ(enter(&r, 0), 1);
	CHECK_CQE(&r, 5, -ENOTTY);
	/* a valid command, forced through a kernel thread */
	sqe = get(&r);
	rmc_uring_prep_wait(sqe, a.ctx, RMC_URING_CQ, a.qp, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = 6;
	REQUIRE_EQ(enter(&r, 0), 1);
	CHECK_QUIET(&r, 50);
	post(&a, a.qp);
	CHECK_CQE(&r, 6, RMC_URING_CQ);
}

/*
 * Kernel threads start the waits while their ring closes: at every step of starting one,
 * another CPU may cancel it and free its memory.
 */
TEST(rings_close_while_waits_are_being_started)
{
	struct end a, b;
	struct ring r;
	unsigned int i;
	volatile unsigned int spin;

	pair(&a, &b);
	for (i = 0; i < 200 / ktap_slow() + 50; i++) {
		ring_open_for(&r, 16);
		submit_async(&r, &b, RMC_URING_CQ | RMC_URING_SEG, 1 + i % 16);
		for (spin = i % 40 * 500; spin; spin--)
			;
		ring_close(&r);
		if (i % 8 == 0)
			CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	}
	/* none of these waits remains, and new ones work */
	ring_open(&r);
	submit_async(&r, &a, RMC_URING_CQ, 1);
	CHECK_QUIET(&r, 100);
	post(&a, a.qp);
	CHECK_CQE(&r, 0, RMC_URING_CQ);
	ring_close(&r);
	end_close(&a);
	end_close(&b);
	CHECK(closed_within(0, 10000 * ktap_slow()));
}

/* The same when the process is killed: its ring, its task and its files end at once */
TEST(killed_while_waits_are_being_started)
{
	unsigned int i;
	struct end a;
	struct ring r;
	pid_t pid;

	REQUIRE(closed_within(0, 5000));
	for (i = 0; (int)i < ktap_rounds(30); i++) {
		pid = helper();
		if (!pid) {
			ring_open(&r);
			end_open(&a, CTX, 1, SEG, PAGE, 16);
			submit_async(&r, &a, RMC_URING_CQ | RMC_URING_SEG, 1 + i % 16);
			kill(getpid(), SIGKILL);
			pause();
		}
		REQUIRE(ktap_wait(pid, 10000) >= 0);
		CHECK(closed_within(0, 10000 * ktap_slow()));
	}
}

/* exec() ends waits of either kind, however many kernel threads start some. */
TEST(exec_while_waits_are_being_started)
{
	struct end a;
	struct ring r;
	int i, status;
	pid_t pid;

	REQUIRE(closed_within(0, 5000));
	for (i = 0; i < 10; i++) {
		pid = helper();
		if (!pid) {
			ring_open(&r);
			end_open(&a, CTX, 1, SEG, PAGE, 16);
			submit_wait(&r, &a, RMC_URING_SEG, NULL, 0, 1);
			submit_async(&r, &a, RMC_URING_CQ | RMC_URING_SEG, 1 + (unsigned int)i * 5);
			execl("/proc/self/exe", "uring", "--nothing", NULL);
			_exit(3);
		}
		status = ktap_wait(pid, 10000);
		CHECK(status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) != 3);
		CHECK(closed_within(0, 10000 * ktap_slow()));
	}
}

/* A child shares the ring and the context; its exit does not end its parent's waits. */
TEST(fork_while_waiting)
{
	struct end a, b;
	struct ring r;
	int i, res;
	pid_t pid;

	pair(&a, &b);
	ring_open(&r);
	for (i = 0; i < 10; i++) {
		submit_async(&r, &b, RMC_URING_SEG, 1);
		submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 100);
		pid = helper();
		if (!pid)
			_exit(0);
		CHECK(helper_ok(pid));
		/* a kernel thread starts the wait, and it completes at once but for the first */
		CHECK_EQ(reap(&r, &res, i ? 5000 : 20), i ? 0 : -1);
		post(&a, a.qp);
		CHECK_CQE(&r, 100, RMC_URING_CQ);
		CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
		if (!i) {
			CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
			CHECK_CQE(&r, 0, RMC_URING_SEG);
		}
	}
}

/* The limit is on unfinished waits; one that any source has finished does not count. */
TEST(as_many_as_there_may_be)
{
	unsigned int i, n, max;
	struct end a, b;
	struct ring r;
	int res;

	pair(&a, &b);
	max = rmc_query(a.ctx)->max_waits;
	ring_open_for(&r, 2048);
	REQUIRE(max > 0 && max < 2048);
	/* the completion finishes these waits, which are linked to the segment as well */
	for (n = 0; n < 3; n++) {
		for (i = 0; i < max; i++) {
			rmc_uring_prep_wait(get(&r), b.ctx, RMC_URING_CQ | RMC_URING_SEG, b.qp, 0);
			if (i % 512 == 511)
				REQUIRE_EQ(enter(&r, 0), 512);
		}
		enter(&r, 0);
		CHECK_QUIET(&r, 50);
		submit_wait(&r, &b, RMC_URING_CQ, b.qp, 0, 5000);
		CHECK_CQE(&r, 5000, -ENOSPC);
		/* another open file has its own limit */
		submit_wait(&r, &a, RMC_URING_CQ, a.qp, 0, 5001);
		post(&a, a.qp);
		CHECK_CQE(&r, 5001, RMC_URING_CQ);
		CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
		post(&b, b.qp);
		for (i = 0; i < max; i++) {
			REQUIRE_EQ(reap(&r, &res, 5000), 0);
			REQUIRE_EQ(res & (int)RMC_URING_SOURCE_MASK, RMC_URING_CQ);
		}
		CHECK_EQ(rmc_poll_cq(b.qp, NULL), 1);
		CHECK_QUIET(&r, 20);
	}
	/* all waits are signalled when their queue pair is destroyed */
	for (i = 0; i < 1000; i++)
		rmc_uring_prep_wait(get(&r), b.ctx, RMC_URING_CQ, b.qp, 0);
	REQUIRE_EQ(enter(&r, 0), 1000);
	REQUIRE_EQ(qp_destroy(rmc_fd(b.ctx), b.qp->id), 0);
	for (i = 0; i < 1000; i++) {
		REQUIRE_EQ(reap(&r, &res, 5000), 0);
		REQUIRE_EQ(res, -ESHUTDOWN);
	}
}

/* All are signalled, although the queue pair is destroyed while some are being signalled. */
TEST(all_waiters_are_signalled)
{
	unsigned int i, round;
	struct rmc_qp *q;
	struct end a, b;
	struct ring r;
	int res;

	pair(&a, &b);
	ring_open_for(&r, 1024);
	for (round = 0; (int)round < ktap_rounds(20); round++) {
		q = rmc_qp_create(a.ctx, 4);
		REQUIRE(q);
		for (i = 0; i < 500; i++)
			rmc_uring_prep_wait(get(&r), a.ctx, RMC_URING_CQ, q, 0);
		REQUIRE_EQ(enter(&r, 0), 500);
		post(&a, q);
		rmc_qp_destroy(q);
		for (i = 0; i < 500; i++) {
			REQUIRE_EQ(reap(&r, &res, 5000), 0);
			REQUIRE(res == -ESHUTDOWN || (res & (int)RMC_URING_SOURCE_MASK) == RMC_URING_CQ);
		}
	}
	CHECK_QUIET(&r, 20);
}

KTAP_MAIN(suite_missing)
