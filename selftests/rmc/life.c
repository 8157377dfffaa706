// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetimes: processes that are killed, files closed in any order, memory withdrawn under
 * traffic, forks, and workers that park when they have no work.
 */
#include <pthread.h>
#include <sched.h>
#include "common.h"

#define SEG	(64 * PAGE)
#define KILLS	200
#define TOGGLES	200

/* ---- SIGKILL ---- */

/* All kinds of operations on node 0, back to back, until killed */
static void __attribute__((noreturn)) busy(uint32_t r)
{
	struct end e;
	int slot;

	end_open(&e, CTX, 1 + (int)(r % 2), SEG, SEG, 64);
	for (;;) {
		size_t len = 1 + rnd(&r) % (4 * PAGE);

		slot = rmc_wait_for_slot(e.qp, NULL);
		if (slot < 0)
			_exit(1);
		switch (rnd(&r) % 4) {
		case 0:
			rmc_faa_async(e.qp, slot, 0, 8, 1);
			break;
		case 1:
			rmc_write_async(e.qp, slot, 0, SEG / 2, e.buf + rnd(&r) % PAGE, len);
			break;
		default:
			rmc_read_async(e.qp, slot, 0, 64, e.buf + rnd(&r) % PAGE, len);
		}
	}
}

TEST_WITHIN(killed_with_operations_in_flight, 120)
{
	long long pinned = pages_pinned(), before, after;
	struct end owner, other;
	uint32_t r = 1;
	int i, status;
	pid_t pid;

	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&other, CTX, 3 % rmc_nodes(owner.ctx), 0, PAGE, 8);
	fill(owner.seg + SEG / 2 + 8 * PAGE, PAGE, 1);
	before = memory_there();
	for (i = 0; i < ktap_rounds(KILLS); i++) {
		pid = helper();
		if (!pid)
			busy(rnd(&r) + (unsigned int)i);
		usleep(rnd(&r) % 12000);
		kill(pid, SIGKILL);
		/* other processes are not affected */
		if (!CHECK_EQ(rmc_read(other.qp, 0, SEG / 2 + 8 * PAGE, other.buf, PAGE), RMC_S_OK) ||
		    !CHECK_EQ(differs(other.buf, PAGE, 1), -1))
			break;
		REQUIRE(waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	after = memory_there();
	if (!CHECK(before - after < 16 << 10))
		ktap_say("%lld KiB are gone", before - after);
	end_close(&owner);
	end_close(&other);
	CHECK(!pages_settle(pinned));
}

/* Other processes reuse its memory at once: no late reply may write there. */
TEST_WITHIN(killed_reader_leaves_no_stale_writes, 120)
{
	const size_t len = 4 << 20;
	struct end owner;
	uint32_t r = 2;
	int i, status;
	pid_t pid;

	end_open(&owner, CTX, 0, SEG, 0, 0);
	memset(owner.seg, 0xee, SEG);
	for (i = 0; i < 30; i++) {
		uint8_t *p;
		size_t k;

		pid = helper();
		if (!pid)
			busy(rnd(&r));
		usleep(3000 + rnd(&r) % 8000);
		kill(pid, SIGKILL);
		REQUIRE(waitpid(pid, &status, 0) == pid);
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE(p != MAP_FAILED);
		memset(p, 0x11, len);
		usleep(2000);
		for (k = 0; k < len; k++)
			if (p[k] != 0x11)
				break;
		REQUIRE_EQ(k, len);
		munmap(p, len);
	}
}

/* The owner of a segment dies while others use it: BAD_CONTEXT until the next owner. */
TEST(killed_owner_is_bad_context)
{
	struct end user;
	int i, status, s;
	pid_t pid;

	end_open(&user, CTX, 1, 0, PAGE, 8);
	for (i = 0; i < 20; i++) {
		unsigned long long end = ktap_ms() + 5000;

		pid = helper();
		if (!pid) {
			struct end e;

			end_open(&e, CTX, 0, PAGE, 0, 0);
			for (;;)
				pause();
		}
		do {
			s = rmc_read(user.qp, 0, 0, user.buf, 64);
		} while (s == RMC_S_BAD_CONTEXT && ktap_ms() < end);
		CHECK_EQ(s, RMC_S_OK);
		kill(pid, SIGKILL);
		do {
			s = rmc_read(user.qp, 0, 0, user.buf, 64);
		} while (s == RMC_S_OK && ktap_ms() < end);
		CHECK_EQ(s, RMC_S_BAD_CONTEXT);
		REQUIRE(waitpid(pid, &status, 0) == pid);
	}
}

/* ---- order of closing ---- */

TEST(closed_in_any_order)
{
	long long pinned = pages_pinned();
	struct rmc_qp_create qp;
	struct rmc_buf_reg buf;
	void *wq, *cq, *flags, *mem, *app = memory(4 * PAGE);
	int order, step, fd;

	for (order = 0; order < 120; order++) {
		int left[5] = { 0, 1, 2, 3, 4 }, n = 5, code = order;
		struct rmc_wq_entry *e;

		fd = open_ctx(CTX);
		REQUIRE(!qp_create(fd, 16, &qp));
		memset(&buf, 0, sizeof(buf));
		buf.size = sizeof(buf);
		buf.flags = RMC_MEM_ALLOC;
		buf.length = PAGE;
		REQUIRE(!ioctl(fd, RMC_IOC_BUF_REG, &buf));
		REQUIRE(!seg_reg(fd, app, 4 * PAGE, 0));
		wq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)qp.wq_offset);
		cq = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)qp.cq_offset);
		flags = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)qp.flags_offset);
		mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)buf.mmap_offset);
		REQUIRE(wq != MAP_FAILED && cq != MAP_FAILED && flags != MAP_FAILED &&
			mem != MAP_FAILED);
		/* keep operations in flight meanwhile */
		for (e = wq; e < (struct rmc_wq_entry *)wq + 16; e++) {
			e->word1 = rmc_wqe_word1(0, PAGE);
			__atomic_store_n(&e->word0, rmc_wqe_word0(RMC_OP_READ, 0, (uintptr_t)mem, 1),
					 __ATOMIC_RELEASE);
		}
		for (step = 0; n; step++) {
			int i = code % n, what = left[i];

			code /= n;
			left[i] = left[--n];
			switch (what) {
			case 0:
				CHECK(!close(fd));
				break;
			case 1:
				CHECK(!munmap(wq, PAGE));
				break;
			case 2:
				CHECK(!munmap(cq, PAGE));
				break;
			case 3:
				CHECK(!munmap(flags, PAGE));
				break;
			case 4:
				CHECK(!munmap(mem, PAGE));
				break;
			}
		}
	}
	CHECK(!pages_settle(pinned));
}

/* ---- withdrawn under traffic ---- */

struct traffic {
	struct end e;
	unsigned int op;
	volatile int stop, started, poison_seen;
	unsigned long long ok, bad_context, other;
};

#define POISON	0xdd

static void *make_traffic(void *arg)
{
	struct traffic *t = arg;
	int s;

	while (!t->stop) {
		s = rmc_execute(t->e.qp, t->op, 0, 0, t->e.buf, 2 * PAGE);
		if (s == RMC_S_OK)
			t->ok++;
		else if (s == RMC_S_BAD_CONTEXT)
			t->bad_context++;
		else
			t->other++;
		if (s == RMC_S_OK && t->op == RMC_OP_READ && t->e.buf[0] == POISON)
			t->poison_seen = 1;
		t->started = 1;
	}
	return NULL;
}

TEST(segment_withdrawn_while_others_read)
{
	struct traffic t = { .op = RMC_OP_READ };
	pthread_t thread;
	struct end owner;
	int i;

	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&t.e, CTX, 1, 0, SEG, 8);
	REQUIRE(!pthread_create(&thread, NULL, make_traffic, &t));
	while (!t.started)
		usleep(100);
	for (i = 0; i < 50; i++) {
		usleep(2000);
		REQUIRE_EQ(rmc_seg_unregister(owner.ctx), 0);
		/* from now on no reader may see what is written here */
		memset(owner.seg, POISON, SEG);
		usleep(2000);
		memset(owner.seg, 1, SEG);
		REQUIRE_EQ(rmc_seg_register(owner.ctx, owner.seg, SEG, 0), 0);
	}
	t.stop = 1;
	pthread_join(thread, NULL);
	CHECK(!t.poison_seen);
	CHECK_EQ(t.other, 0);
	CHECK(t.ok && t.bad_context);
}

TEST(segment_withdrawn_while_others_write)
{
	struct traffic t = { .op = RMC_OP_WRITE };
	pthread_t thread;
	struct end owner;
	int i;
	size_t k;

	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&t.e, CTX, 1, 0, SEG, 8);
	memset(t.e.buf, POISON, SEG);
	REQUIRE(!pthread_create(&thread, NULL, make_traffic, &t));
	while (!t.started)
		usleep(100);
	for (i = 0; i < 50; i++) {
		usleep(2000);
		REQUIRE_EQ(rmc_seg_unregister(owner.ctx), 0);
		memset(owner.seg, 1, 2 * PAGE);
		usleep(2000);
		for (k = 0; k < 2 * PAGE; k++)
			if (owner.seg[k] != 1)
				break;
		REQUIRE_EQ(k, 2 * PAGE);
		REQUIRE_EQ(rmc_seg_register(owner.ctx, owner.seg, SEG, 0), 0);
	}
	t.stop = 1;
	pthread_join(thread, NULL);
	CHECK_EQ(t.other, 0);
	CHECK(t.ok && t.bad_context);
}

struct toggle {
	struct end e;
	int wanted;		/* number of changes that the thread may make */
};

static void *toggle(void *arg)
{
	struct toggle *t = arg;
	int i, err = 0;

	for (i = 0; i < 2 * TOGGLES && !err; i++) {
		while (__atomic_load_n(&t->wanted, __ATOMIC_ACQUIRE) <= i)
			usleep(100);
		err = i % 2 ? rmc_seg_unregister(t->e.ctx) :
			      rmc_seg_register(t->e.ctx, t->e.seg, SEG, 0);
	}
	return err ? t : NULL;
}

/*
 * A segment is installed on a node's units one after another. Requesters cannot see that: once
 * one unit has served a request, all do, and once one has refused a request, all do.
 */
TEST(segment_comes_and_goes_in_all_units_at_once)
{
	unsigned long long end = ktap_ms() + 60000;
	struct rmc_query q = { .size = sizeof(q) };
	struct toggle t = { .wanted = 0 };
	pthread_t thread;
	struct end user;
	void *failed;
	uint32_t k;
	int i, s;

	end_open(&t.e, CTX, 0, SEG, 0, 0);
	REQUIRE_EQ(rmc_seg_unregister(t.e.ctx), 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	REQUIRE_EQ(ioctl(rmc_fd(user.ctx), RMC_IOC_QUERY, &q), 0);
	REQUIRE((uint64_t)q.units * q.interleave <= SEG);
	REQUIRE(!pthread_create(&thread, NULL, toggle, &t));
	for (i = 0; i < 2 * TOGGLES; i++) {
		int want = i % 2 ? RMC_S_BAD_CONTEXT : RMC_S_OK;

		__atomic_store_n(&t.wanted, i + 1, __ATOMIC_RELEASE);
		/* begin with the unit that changes first: on removal that is the last one */
		for (k = 0; k < q.units; k++) {
			uint64_t off = (i % 2 ? q.units - 1 - k : k) * (uint64_t)q.interleave;

			do {
				s = rmc_read(user.qp, 0, off, user.buf, 8);
			} while (!k && s != want && ktap_ms() < end);
			REQUIRE_EQ(s, want);
		}
	}
	pthread_join(thread, &failed);
	CHECK(!failed);
}

/* Completions are OK, ABORTED, or BAD_LBUF if the RMC had not read the entry yet. */
TEST(buffer_withdrawn_with_operations_in_flight)
{
	enum { OPS = 64, LEN = 16 * PAGE };
	struct rmc_completion c;
	struct end owner, user;
	int round, i, aborted = 0;
	size_t k;

	end_open(&owner, CTX, 0, LEN, 0, 0);
	end_open(&user, CTX, 1, 0, LEN, OPS);
	memset(owner.seg, POISON, LEN);
	for (round = 0; round < 100 && !aborted; round++) {
		/* Withdraw while some are half done: between the first start and the last end. */
		for (i = 0; i < OPS; i++)
			rmc_read_async(user.qp, (int)(user.qp->head & user.qp->mask), 0, 0, user.buf,
				       LEN);
		for (i = 0; i < round % 8; i++) {
			REQUIRE_EQ(rmc_cq_wait(user.qp, &c), 0);
			CHECK_EQ(c.status, RMC_S_OK);
		}
		REQUIRE_EQ(rmc_buf_unregister(user.ctx, user.buf_id), 0);
		memset(user.buf, 1, LEN);
		for (; i < OPS; i++) {
			REQUIRE_EQ(rmc_cq_wait(user.qp, &c), 0);
			CHECK(c.status == RMC_S_OK || c.status == RMC_S_ABORTED ||
			      c.status == RMC_S_BAD_LBUF);
			aborted += c.status == RMC_S_ABORTED;
		}
		usleep(2000);
		for (k = 0; k < LEN; k++)
			if (user.buf[k] != 1)
				break;
		REQUIRE_EQ(k, LEN);
		user.buf_id = rmc_buf_register(user.ctx, user.buf, LEN);
		REQUIRE(user.buf_id >= 0);
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, LEN), RMC_S_OK);
		CHECK_EQ(user.buf[LEN - 1], POISON);
	}
	CHECK(aborted);
}

TEST(qp_destroyed_with_operations_in_flight)
{
	enum { OPS = 64, LEN = 16 * PAGE };
	struct end owner, user;
	int round, i;
	size_t k;

	end_open(&owner, CTX, 0, LEN, 0, 0);
	end_open(&user, CTX, 1, 0, LEN, 0);
	memset(owner.seg, POISON, LEN);
	for (round = 0; round < 30; round++) {
		user.qp = rmc_qp_create(user.ctx, OPS);
		REQUIRE(user.qp);
		for (i = 0; i < OPS; i++)
			rmc_read_async(user.qp, i, 0, 0, user.buf, LEN);
		rmc_qp_destroy(user.qp);
		memset(user.buf, 1, LEN);
		usleep(1000);
		for (k = 0; k < LEN; k++)
			if (user.buf[k] != 1)
				break;
		REQUIRE_EQ(k, LEN);
	}
	user.qp = rmc_qp_create(user.ctx, OPS);
	REQUIRE(user.qp);
	CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, LEN), RMC_S_OK);
}

/* ---- fork ---- */

TEST(fork_leaves_the_parent_working)
{
	struct end owner, user;
	int i;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	for (i = 0; i < 20; i++) {
		pid_t pid = helper();

		if (!pid) {
			/* the child's own copy: these stores do not reach the parent's memory */
			memset(owner.seg, POISON, PAGE);
			memset(user.buf, POISON, PAGE);
			close(rmc_fd(owner.ctx));
			_exit(0);
		}
		/* peers read what the parent stores now: its pages are still the pinned ones */
		memset(owner.seg, i, PAGE);
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, PAGE), RMC_S_OK);
		CHECK_EQ(user.buf[100], i);
		CHECK(helper_ok(pid));
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, PAGE), RMC_S_OK);
		CHECK_EQ(user.buf[100], i);
	}
}

TEST(child_opens_its_own)
{
	struct end owner;
	pid_t pid;

	end_open(&owner, CTX, 0, PAGE, PAGE, 8);
	fill(owner.seg, PAGE, 3);
	pid = helper();
	if (!pid) {
		struct end e;

		end_open(&e, CTX, 1, PAGE, PAGE, 8);
		REQUIRE_EQ(rmc_read(e.qp, 0, 0, e.buf, PAGE), RMC_S_OK);
		REQUIRE_EQ(differs(e.buf, PAGE, 3), -1);
		_exit(0);
	}
	CHECK(helper_ok(pid));
}

/* exec() closes the context: the segment is withdrawn although the process lives on. */
TEST(exec_releases)
{
	unsigned long long end = ktap_ms() + 20000;
	struct end user;
	int status, s;
	pid_t pid;

	end_open(&user, CTX, 1, 0, PAGE, 8);
	pid = helper();
	if (!pid) {
		struct end e;

		end_open(&e, CTX, 0, PAGE, PAGE, 8);
		execl("/bin/sleep", "sleep", "30", NULL);
		_exit(1);
	}
	do {
		s = rmc_read(user.qp, 0, 0, user.buf, 8);
	} while (s == RMC_S_BAD_CONTEXT && ktap_ms() < end);
	do {
		s = rmc_read(user.qp, 0, 0, user.buf, 8);
	} while (s == RMC_S_OK && ktap_ms() < end);
	CHECK_EQ(s, RMC_S_BAD_CONTEXT);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
}

/* Read node 0's segment until a read ends with @want, or too long; return the last status. */
static int read_until(struct end *user, int want)
{
	unsigned long long end = ktap_ms() + 20000;
	int s;

	do {
		s = rmc_read(user->qp, 0, 0, user->buf, 8);
	} while (s != want && ktap_ms() < end);
	return s;
}

/*
 * Fork a helper that creates a segment and a queue pair, and then forks a child. The child only
 * holds the file open, until the other side of the pipe is closed. Returns the helper.
 */
static pid_t owner_with_child(int hold[2], int executes)
{
	pid_t pid = helper(), child;
	struct end e;
	char c;

	if (pid)
		return pid;
	end_open(&e, CTX, 0, PAGE, PAGE, 8);
	child = fork();
	if (!child) {
		close(hold[1]);
		/* read() returns 0 when the test closes its side */
		while (read(hold[0], &c, 1) > 0)
			;
		_exit(0);
	}
	if (child < 0)
		_exit(1);
	close(hold[0]);
	close(hold[1]);
	/* closing one of several descriptors releases nothing */
	close(dup(rmc_fd(e.ctx)));
	if (executes) {
		usleep(300000);
		execl("/bin/sleep", "sleep", "30", NULL);
		_exit(1);
	}
	for (;;)
		pause();
}

static void owner_ends(int executes)
{
	struct end user, next;
	int hold[2], status;
	pid_t pid;

	REQUIRE(!pipe(hold));
	end_open(&user, CTX, 1, 0, PAGE, 8);
	pid = owner_with_child(hold, executes);
	CHECK_EQ(read_until(&user, RMC_S_OK), RMC_S_OK);
	if (!executes) {
		usleep(100000);
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
		kill(pid, SIGKILL);
	}
	CHECK_EQ(read_until(&user, RMC_S_BAD_CONTEXT), RMC_S_BAD_CONTEXT);
	/* another process can register the node's segment now */
	seg_place_settle(0);
	end_open(&next, CTX, 0, PAGE, 0, 0);
	CHECK_EQ(read_until(&user, RMC_S_OK), RMC_S_OK);
	if (executes)
		kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	close(hold[0]);
	close(hold[1]);
	end_close(&next);
	end_close(&user);
}

/* A child without exec() holds the file open, but what the dead process created is released. */
TEST(child_does_not_keep_a_dead_owner_alive)
{
	owner_ends(0);
}

TEST(nor_an_owner_that_executed_another_program)
{
	owner_ends(1);
}

/* The process that registered the memory is the owner, not the one that opened the file. */
TEST(end_of_who_opened_takes_nothing_from_others)
{
	int hold[2], ready[2], status;
	struct end user;
	pid_t pid;
	char c = 0;

	REQUIRE(!pipe(hold) && !pipe(ready));
	end_open(&user, CTX, 1, 0, PAGE, 8);
	pid = helper();
	if (!pid) {
		struct rmc_attach at = { .size = sizeof(at) };
		int fd = open_ctx(CTX);

		if (ioctl(fd, RMC_IOC_ATTACH, &at))
			_exit(1);
		if (!fork()) {
			close(hold[1]);
			if (seg_reg(fd, memory(PAGE), PAGE, 0))
				_exit(1);
			c = write(ready[1], &c, 1) != 1;
			while (read(hold[0], &c, 1) > 0)
				;
			_exit(0);
		}
		_exit(read(ready[0], &c, 1) != 1);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	usleep(50000);
	CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
	close(hold[0]);
	close(hold[1]);
	CHECK_EQ(read_until(&user, RMC_S_BAD_CONTEXT), RMC_S_BAD_CONTEXT);
	close(ready[0]);
	close(ready[1]);
	end_close(&user);
}

/* ---- parking ---- */

TEST(idle_workers_park_and_cost_nothing)
{
	unsigned long long end = ktap_ms() + 5000;
	long long parks, visits, ns, took;
	struct end owner, user;
	int i;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	parks = workers_sum("parks");
	REQUIRE(parks >= 0);
	/* this wakes the thread: only the first request is polled inline without that */
	for (i = 0; i < 1000; i++)
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
	CHECK(!wait_parked(user.qp, 5000));
	/* need_wakeup is set before the park is counted */
	while (workers_sum("parks") == parks && ktap_ms() < end)
		usleep(1000);
	CHECK(workers_sum("parks") > parks);
	/* the other worker parks, too, however late a busy host lets it */
	do {
		visits = workers_sum("visits");
		usleep(200000);
	} while (workers_sum("visits") - visits >= 500 && ktap_ms() < end + 5000);
	/*
	 * A host that keeps a CPU of ours from running makes a worker come late to what it was
	 * woken for. What wakes idle workers again and again is in each of three windows.
	 */
	for (i = 0; i < 3; i++) {
		visits = workers_sum("visits");
		ns = workers_ns();
		usleep(2000000);
		took = ns < 0 ? -1 : workers_ns() - ns;
		visits = workers_sum("visits") - visits;
		if (took < 60000000 && visits < 5000)	/* 3% of a core for 2 s */
			break;
		ktap_say("window %d: %lld visits, %lld us", i, visits, took / 1000);
	}
	if (ns < 0)
		ktap_say("kernel without schedstat: only visits are checked");
	CHECK(i < 3);
}

/* Sleep until the user's worker has been parked for a while. */
static void let_park(struct rmc_qp *qp)
{
	/* need_wakeup is set before the thread sleeps: a post in between causes no wake-up */
	do {
		REQUIRE(!wait_parked(qp, 5000));
		usleep(3000);
	} while (!rmc_load_relaxed(&qp->flags->need_wakeup));
}

TEST(parked_worker_wakes_on_a_post)
{
	unsigned long long start, worst = 0, ms, end = ktap_ms() + 20000;
	long long wakeups = workers_sum("wakeups");
	struct end owner, user;
	int i;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	while (workers_sum("wakeups") < wakeups + 20 && ktap_ms() < end) {
		let_park(user.qp);
		start = ktap_ms();
		/* the first read may be polled inline; the thread then wakes for the next ones */
		for (i = 0; i < 3; i++)
			CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
		ms = ktap_ms() - start;
		worst = ms > worst ? ms : worst;
	}
	CHECK(workers_sum("wakeups") >= wakeups + 20);
	/* much shorter than any timer that would wake the thread anyway */
	if (!CHECK(worst < 1000))
		ktap_say("took %llu ms", worst);
}

/* With rare operations the caller polls inline, and the thread sleeps on. */
TEST(caller_helps_a_parked_worker)
{
	long long polls = workers_sum("inline_polls"), wakeups, woken = 0, before, alone = 0;
	unsigned long long end = ktap_ms() + 20000;
	struct end owner, user;

	REQUIRE(polls >= 0);
	end_open(&owner, CTX, 0, PAGE, PAGE, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	while (alone < 20 && ktap_ms() < end) {
		let_park(user.qp);
		before = workers_sum("inline_polls");
		wakeups = workers_sum("wakeups");
		fill(owner.seg, 8, (unsigned int)before);
		CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
		CHECK(!memcmp(user.buf, owner.seg, 8));
		usleep(1000);
		woken += workers_sum("wakeups") - wakeups;
		alone += workers_sum("inline_polls") > before && workers_sum("wakeups") == wakeups;
	}
	CHECK(workers_sum("inline_polls") > polls);
	ktap_say("of %lld inline polls, %lld needed no wake-up; %lld wake-ups",
		 workers_sum("inline_polls") - polls, alone, woken);
	/* if another thread runs the RRPP, that thread has to wake */
	if (rmc_query(user.ctx)->ni == RMC_NI_FUSED)
		CHECK(alone >= 20);
}

static int wake_yield(const struct end *e)
{
	struct rmc_qp_id id = { .size = sizeof(id), .flags = RMC_WAKE_YIELD, .qp_id = e->qp->id };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_WAKE, &id);
}

/* Whether, just after a read, WAKE reports the worker on another CPU */
static int reported_apart(const struct end *e)
{
	int r;

	REQUIRE_EQ(rmc_read(e->qp, 0, 0, e->buf, 8), RMC_S_OK);
	r = wake_yield(e);
	REQUIRE(r == 0 || r == 1);
	return r;
}

TEST(caller_learns_where_the_worker_is)
{
	unsigned long long end = ktap_ms() + 20000;
	int i, cpu, there, apart = 0;
	struct end owner, user;
	cpu_set_t all;

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	if (CPU_COUNT(&all) < 2)
		SKIP("one CPU");
	end_open(&owner, CTX, 0, PAGE, PAGE, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	there = (int)user.qp->flags->worker_cpu;
	for (cpu = 0; cpu == there || !CPU_ISSET(cpu, &all);)
		cpu++;
	/* a parked worker is not reported, nor one whose CPU the host does not run */
	run_on(cpu);
	while (!apart && ktap_ms() < end)
		apart = reported_apart(&user);
	CHECK(apart);
	run_on(there);
	for (i = 0; i < 200; i++)
		CHECK_EQ(reported_apart(&user), 0);
	REQUIRE(!sched_setaffinity(0, sizeof(all), &all));
}

/* Posts race with a worker that goes to sleep: none is lost. */
TEST_WITHIN(no_wakeup_is_lost, 120)
{
	struct end owner, user;
	uint32_t r = 9;
	int i;

	end_open(&owner, CTX, 0, PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 8);
	for (i = 0; i < 1500; i++) {
		volatile int spin = (int)(rnd(&r) % 20000);

		/* post just when need_wakeup is set, some time around that, or at any time */
		if (!(i % 3))
			while (!rmc_load_relaxed(&user.qp->flags->need_wakeup) && spin > 0)
				spin--;
		if (i % 3 == 1)
			usleep(rnd(&r) % 400);
		while (spin > 0)
			spin--;
		REQUIRE_EQ(rmc_read(user.qp, 0, 0, user.buf, 8), RMC_S_OK);
	}
}

KTAP_MAIN(suite_missing)
