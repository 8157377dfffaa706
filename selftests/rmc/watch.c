// SPDX-License-Identifier: GPL-2.0
/* Nodes that go down and come back, and the event files that report it. */
#include <poll.h>
#include <stddef.h>
#include <sys/resource.h>
#include "common.h"

#define SEG	(16 * PAGE)
#define READS	32
#define ROUNDS	20
#define RING	128	/* records an event file holds, kmod/dev/watch.c */

static int set_state(int nid, const char *state)
{
	char path[64];
	int fd, n;

	snprintf(path, sizeof(path), SYSFS "/node%d/state", nid);
	fd = open(path, O_WRONLY);
	REQUIRE(fd >= 0);
	n = (int)write(fd, state, strlen(state));
	close(fd);
	return n == (int)strlen(state) ? 0 : -1;
}

/* Start with all nodes up, whatever the previous test did. */
static void all_up(void)
{
	int n = (int)file_number(SYSFS "/nodes", "");

	while (n-- > 0)
		set_state(n, "up");
}

static int watch_raw(int fd, uint32_t flags, uint32_t types, int nid)
{
	struct rmc_watch w = { .size = sizeof(w), .flags = flags, .types = types, .nid = nid };

	return ioctl(fd, RMC_IOC_WATCH, &w) ? -1 : w.fd;
}

/* Check that the next event is this one; return its epoch. */
static uint32_t next_is(int fd, unsigned int type, int nid)
{
	struct rmc_node_event e;

	REQUIRE_EQ(rmc_watch_read(fd, &e, 1, 5000), 1);
	CHECK_EQ(e.type, type);
	CHECK_EQ(e.nid, nid);
	CHECK_EQ(e.lost, 0);
	CHECK_EQ(e.reserved, 0);
	return e.epoch;
}

TEST(down_and_up_are_reported_in_order)
{
	struct rmc_node_event e;
	struct timespec ts;
	struct end a;
	uint32_t epoch;
	uint64_t now;
	int fd;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 0, 0);
	REQUIRE(fd >= 0);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 50), 0);
	CHECK_EQ(rmc_node_state(a.ctx, 1), RMC_NODE_UP);
	REQUIRE_EQ(set_state(1, "down"), 0);
	CHECK_EQ(rmc_node_state(a.ctx, 1), RMC_NODE_DOWN);
	epoch = next_is(fd, RMC_EVENT_LINK_DOWN, 1);
	CHECK_EQ(next_is(fd, RMC_EVENT_NODE_DOWN, 1), epoch);
	/* taking it down again reports nothing */
	REQUIRE_EQ(set_state(1, "down"), 0);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 50), 0);

	REQUIRE_EQ(set_state(1, "up"), 0);
	CHECK_EQ(next_is(fd, RMC_EVENT_NODE_UP, 1), epoch + 1);
	REQUIRE_EQ(rmc_watch_read(fd, &e, 1, 5000), 1);
	CHECK_EQ(e.type, RMC_EVENT_LINK_UP);
	CHECK_EQ(e.epoch, epoch + 1);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	CHECK(e.time_ns <= now && now - e.time_ns < 10000000000ULL);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 50), 0);
	CHECK_EQ(rmc_node_state(a.ctx, 1), RMC_NODE_UP);
}

/*
 * Take the node down while reads are in flight; return how many ended with NODE_DOWN. With
 * @one_first one of them has ended before.
 */
static unsigned int down_under_reads(struct end *a, int one_first)
{
	struct rmc_completion c;
	unsigned int n, down = 0;

	for (n = 0; n < READS; n++)
		rmc_read_async(a->qp, rmc_wait_for_slot(a->qp, NULL), 1, 0, a->buf, SEG);
	if (one_first) {
		REQUIRE_EQ(rmc_cq_wait(a->qp, &c), 0);
		CHECK_EQ(c.status, RMC_S_OK);
		n--;
	}
	REQUIRE_EQ(set_state(1, "down"), 0);
	while (n--) {
		REQUIRE_EQ(rmc_cq_wait(a->qp, &c), 0);
		CHECK(c.status == RMC_S_OK || c.status == RMC_S_NODE_DOWN);
		down += c.status == RMC_S_NODE_DOWN;
	}
	return down;
}

/* Repeat until some end with NODE_DOWN; faults.c tests those that are certainly in flight. */
TEST(operations_end_well_or_with_node_down)
{
	unsigned int down = 0, round;
	struct end a, b;

	all_up();
	end_open(&a, CTX, 0, 0, SEG, 64);
	end_open(&b, CTX, 1, SEG, SEG, 64);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, SEG), RMC_S_OK);
	for (round = 0; round < ROUNDS || (!down && round < 20 * ROUNDS); round++) {
		down += down_under_reads(&a, round & 1);
		/* in both directions */
		CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_NODE_DOWN);
		CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, 64), RMC_S_NODE_DOWN);
		CHECK_EQ(rmc_read(b.qp, 1, 0, b.buf, 64), RMC_S_NODE_DOWN);
		REQUIRE_EQ(set_state(1, "up"), 0);
		/* segments and queue pairs stay valid: nothing was opened again */
		b.seg[7] = (uint8_t)round;
		CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, SEG), RMC_S_OK);
		CHECK_EQ(a.buf[7], (uint8_t)round);
		CHECK_EQ(rmc_read(b.qp, 1, 0, b.buf, 64), RMC_S_OK);
	}
	ktap_say("%u of %u operations ended with NODE_DOWN", down, READS * round);
	CHECK(down > 0);
}

TEST(others_go_on_while_a_node_flaps)
{
	struct end a, b;
	pid_t pid;
	int i;

	all_up();
	end_open(&a, CTX, 2, 0, PAGE, 16);
	end_open(&b, CTX, 3, SEG, PAGE, 16);
	fill(b.seg, SEG, 3);
	pid = helper();
	if (!pid) {
		for (i = 0; i < 30; i++)
			REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
		_exit(0);
	}
	while (!waitpid(pid, &i, WNOHANG)) {
		CHECK_EQ(rmc_read(a.qp, 3, 100, a.buf, 1000), RMC_S_OK);
		CHECK(!memcmp(a.buf, b.seg + 100, 1000));
	}
	CHECK(WIFEXITED(i) && !WEXITSTATUS(i));
}

TEST(a_sleeper_is_woken_when_the_node_goes)
{
	struct end a, b;
	pid_t pid;
	int slot;

	all_up();
	end_open(&a, CTX, 0, 0, SEG, 16);
	end_open(&b, CTX, 1, SEG, PAGE, 16);
	REQUIRE_EQ(set_state(1, "down"), 0);
	pid = helper();
	if (!pid) {
		usleep(100000);
		_exit(set_state(1, "up"));
	}
	slot = rmc_wait_for_slot(a.qp, NULL);
	rmc_read_async(a.qp, slot, 1, 0, a.buf, 64);
	CHECK_EQ(rmc_cq_sleep(a.qp, 0, 5000), 1);
	CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
	CHECK_EQ(rmc_slot_status(a.qp, slot), RMC_S_NODE_DOWN);
	CHECK(helper_ok(pid));
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
}

TEST(only_what_was_asked_for)
{
	struct rmc_node_event e;
	struct end a;
	int fd, ctl;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_NODE_UP, 0);
	REQUIRE(fd >= 0);
	/* the control device watches from a local node */
	ctl = watch_raw(open_ctl(), 0, 1U << RMC_EVENT_NODE_DOWN, 2);
	REQUIRE(ctl >= 0);
	REQUIRE_EQ(set_state(1, "down"), 0);
	REQUIRE_EQ(set_state(1, "up"), 0);
	next_is(fd, RMC_EVENT_NODE_UP, 1);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 0), 0);
	next_is(ctl, RMC_EVENT_NODE_DOWN, 1);
	CHECK_EQ(rmc_watch_read(ctl, &e, 1, 0), 0);
}

TEST(a_node_reports_itself)
{
	struct end a;
	int fd, nodes = (int)file_number(SYSFS "/nodes", ""), n;

	all_up();
	end_open(&a, CTX, 1, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_LINK_DOWN, 0);
	REQUIRE(fd >= 0);
	REQUIRE_EQ(set_state(1, "down"), 0);
	/* a node that is down has no link to any node */
	for (n = 0; n < nodes; n++)
		next_is(fd, RMC_EVENT_LINK_DOWN, n);
	REQUIRE_EQ(set_state(1, "up"), 0);
}

TEST(overflow_is_reported)
{
	struct rmc_node_event e[RING + 1];
	struct end a;
	int fd, i, n;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_NODE_UP, 0);
	REQUIRE(fd >= 0);
	for (i = 0; i < RING + 9; i++)
		REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
	n = rmc_watch_read(fd, e, RING + 1, 0);
	REQUIRE_EQ(n, RING);
	for (i = 1; i < RING - 1; i++)
		CHECK_EQ(e[i].epoch, e[i - 1].epoch + 1);
	CHECK_EQ(e[RING - 2].type, RMC_EVENT_NODE_UP);
	CHECK_EQ(e[RING - 1].type, RMC_EVENT_OVERFLOW);
	CHECK_EQ(e[RING - 1].lost, 10);
	/* from here on no event is lost */
	REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
	REQUIRE_EQ(rmc_watch_read(fd, e, 2, 1000), 1);
	CHECK_EQ(e[0].type, RMC_EVENT_NODE_UP);
	CHECK_EQ(e[0].lost, 0);
}

TEST(reading)
{
	struct rmc_node_event e[4];
	struct pollfd p = { .events = POLLIN };
	struct end a;
	pid_t pid;
	int fd;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_NODE_UP, 0);
	REQUIRE(fd >= 0);
	CHECK_ERRNO(rmc_watch_open(a.ctx, 0, 0) == -EBUSY ? (errno = EBUSY, -1) : 0, EBUSY);
	CHECK_ERRNO(read(fd, e, sizeof(e[0]) - 1), EINVAL);
	CHECK_ERRNO(write(fd, e, sizeof(e)), EBADF);
	/* read() waits for an event */
	pid = helper();
	if (!pid) {
		usleep(100000);
		_exit(set_state(1, "down") || set_state(1, "up"));
	}
	CHECK_EQ(read(fd, e, sizeof(e)), sizeof(e[0]));
	CHECK(helper_ok(pid));
	/* a read to a bad address loses no event */
	REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
	CHECK_ERRNO(read(fd, (uint8_t *)memory(PAGE) + PAGE, sizeof(e)), EFAULT);
	p.fd = fd;
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK_EQ(read(fd, e, sizeof(e)), sizeof(e[0]));
	CHECK_EQ(poll(&p, 1, 0), 0);
	close(fd);
	/* the next file is non-blocking */
	fd = rmc_watch_open(a.ctx, 0, RMC_WATCH_NONBLOCK);
	REQUIRE(fd >= 0);
	CHECK_ERRNO(read(fd, e, sizeof(e)), EAGAIN);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

TEST(each_outlives_the_other)
{
	struct rmc_node_event e;
	struct end a;
	int fd;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 0, 0);
	REQUIRE(fd >= 0);
	end_close(&a);
	REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 1000), 1);
	close(fd);
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 0, 0);
	REQUIRE(fd >= 0);
	close(fd);
	fd = rmc_watch_open(a.ctx, 0, 0);
	CHECK(fd >= 0);
}

TEST(a_reader_can_be_killed)
{
	struct rmc_node_event e;
	int status, fd;
	pid_t pid;

	fd = watch_raw(open_ctl(), 0, 0, -1);
	REQUIRE(fd >= 0);
	pid = helper();
	if (!pid)
		_exit(read(fd, &e, sizeof(e)) == sizeof(e));
	usleep(100000);
	kill(pid, SIGKILL);
	status = ktap_wait(pid, 5000);
	CHECK(status >= 0 && WIFSIGNALED(status));
}

TEST(bad_watching)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1 };
	struct end a;
	long page;
	char *p;
	int fd;

	end_open(&a, CTX, 1, 0, PAGE, 16);
	fd = rmc_fd(a.ctx);
	CHECK_ERRNO(watch_raw(fd, 2, 0, -1), EOPNOTSUPP);
	CHECK_ERRNO(watch_raw(fd, 0, 1U << RMC_EVENT_TYPES, -1), EOPNOTSUPP);
	/* not the attached node; not a local node */
	CHECK_ERRNO(watch_raw(fd, 0, 0, 0), ENXIO);
	CHECK_ERRNO(watch_raw(open_ctl(), 0, 0, 4), ENXIO);
	w.reserved = 1;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_WATCH, &w), EOPNOTSUPP);
	/* an answer that cannot be delivered leaves no descriptor behind */
	page = sysconf(_SC_PAGESIZE);
	p = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w.reserved = 0;
	memcpy(p, &w, sizeof(w));
	REQUIRE(!mprotect(p, (size_t)page, PROT_READ));
	CHECK_ERRNO(ioctl(fd, RMC_IOC_WATCH, p), EFAULT);
	fd = watch_raw(fd, 0, 0, 1);
	CHECK(fd >= 0);
	CHECK(fcntl(fd + 1, F_GETFD) < 0);
}

TEST(only_the_administrator_takes_nodes_down)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), SYSFS "/node%d/state", 1);
	fd = open(path, O_WRONLY);
	REQUIRE(fd >= 0);
	CHECK_ERRNO(write(fd, "sideways", 8), EINVAL);
	close(fd);
	drop_privileges(NOBODY);
	CHECK_ERRNO(open(path, O_WRONLY), EACCES);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
}

/* Workers are parked and the fabric is idle: a change is still reported at once. */
TEST(reported_while_everybody_sleeps)
{
	struct rmc_node_event e;
	unsigned long long start;
	struct end a;
	int fd;

	all_up();
	end_open(&a, CTX, 0, 0, PAGE, 16);
	fd = rmc_watch_open(a.ctx, 1U << RMC_EVENT_NODE_DOWN, 0);
	REQUIRE(fd >= 0);
	REQUIRE_EQ(wait_parked(a.qp, 5000), 0);
	start = ktap_ms();
	REQUIRE_EQ(set_state(1, "down"), 0);
	CHECK_EQ(rmc_watch_read(fd, &e, 1, 5000), 1);
	CHECK(ktap_ms() - start < 2000);
	/* workers also park while a node is down */
	CHECK_EQ(wait_parked(a.qp, 5000), 0);
	REQUIRE_EQ(set_state(1, "up"), 0);
}

/* As an unprivileged user: @share event files, one per open context, then ENOSPC */
static void watch_as_nobody(unsigned int share)
{
	struct rmc_ctx *ctx;
	unsigned int n;
	int fd;

	drop_privileges(NOBODY);
	for (n = 0; n <= share; n++) {
		ctx = rmc_open(CTX, 0);
		REQUIRE(ctx);
		fd = rmc_watch_open(ctx, 0, 0);
		if (fd < 0)
			break;
	}
	CHECK_EQ(n, share);
	CHECK_EQ(fd, -ENOSPC);
	_exit(ktap_failures() ? 1 : 0);
}

/* Workers walk all event files: their number is limited, and one user cannot have them all. */
TEST(so_many_event_files_and_no_more)
{
	struct rlimit files = { 4096, 4096 };
	struct rmc_node_event e;
	unsigned int n, max;
	int ctl, fd, *fds;
	struct end a;
	pid_t pid;

	all_up();
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &files));
	end_open(&a, CTX, 0, 0, PAGE, 16);
	max = rmc_query(a.ctx)->max_watches;
	pid = helper();
	if (!pid)
		watch_as_nobody(max / 4);
	CHECK(helper_ok(pid));
	ctl = open_ctl();
	fds = calloc(max + 1, sizeof(*fds));
	REQUIRE(ctl >= 0 && fds);
	for (n = 0; n <= max; n++) {
		fds[n] = watch_raw(ctl, RMC_WATCH_NONBLOCK, 1U << RMC_EVENT_NODE_UP, 0);
		if (fds[n] < 0)
			break;
	}
	CHECK_EQ(errno, ENOSPC);
	REQUIRE_EQ(n, max);
	CHECK_EQ(rmc_watch_open(a.ctx, 0, 0), -ENOSPC);
	/* every event file gets the event */
	REQUIRE(!set_state(1, "down") && !set_state(1, "up"));
	for (n = 0; n < max; n++) {
		CHECK_EQ(read(fds[n], &e, sizeof(e)), sizeof(e));
		close(fds[n]);
	}
	fd = rmc_watch_open(a.ctx, 0, 0);
	CHECK(fd >= 0);
}

KTAP_MAIN(suite_missing)
