// SPDX-License-Identifier: GPL-2.0
/* Sleeping until completions and notifications: poll(), eventfds, no lost wakeup. */
#include <poll.h>
#include <sys/eventfd.h>
#include "common.h"

#define SEG	(4 * PAGE)

static short polled(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) > 0 ? p.revents : 0;
}

static int arm(struct end *e, uint32_t seen, int efd)
{
	struct rmc_cq_arm a = { .size = sizeof(a), .qp_id = e->qp->id, .seen = seen, .eventfd = efd };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_CQ_ARM, &a);
}

static void pair(struct end *a, struct end *b)
{
	end_open(a, CTX, 0, 0, SEG, 16);
	end_open(b, CTX, 1, SEG, PAGE, 16);
}

TEST(completion_is_signalled_once)
{
	struct end a, b;
	uint64_t n;
	int fd, efd;

	pair(&a, &b);
	fd = rmc_fd(a.ctx);
	efd = eventfd(0, EFD_NONBLOCK);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
	CHECK_EQ(polled(fd, POLLIN, 0), 0);
	REQUIRE_EQ(arm(&a, 1, efd), 0);
	CHECK_EQ(polled(fd, POLLIN, 50), 0);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
	CHECK_EQ(polled(fd, POLLIN, 1000), POLLIN);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_EQ(n, 1);
	REQUIRE_EQ(arm(&a, 3, -1), 0);
	CHECK_EQ(polled(fd, POLLIN, 50), 0);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
	CHECK_EQ(polled(fd, POLLIN, 1000), POLLIN);
	CHECK_ERRNO(read(efd, &n, 8), EAGAIN);
}

TEST(late_arming_signals_at_once)
{
	struct end a, b;

	pair(&a, &b);
	CHECK_EQ(rmc_read(a.qp, 1, 0, a.buf, 64), RMC_S_OK);
	REQUIRE_EQ(arm(&a, 0, -1), 0);
	CHECK_EQ(polled(rmc_fd(a.ctx), POLLIN, 0), POLLIN);
}

/* Sleep for every single completion: a lost wakeup ends the test. */
TEST(no_wakeup_is_lost)
{
	struct end a, b;
	int i, slot;

	pair(&a, &b);
	for (i = 0; i < 500; i++) {
		slot = rmc_wait_for_slot(a.qp, NULL);
		rmc_read_async(a.qp, slot, 1, 0, a.buf, 64);
		REQUIRE_EQ(rmc_cq_sleep(a.qp, i % 3 * 20, 5000), 1);
		CHECK_EQ(rmc_poll_cq(a.qp, NULL), 1);
	}
	CHECK_EQ(rmc_cq_sleep(a.qp, 0, 30), 0);
}

TEST(two_qps_are_distinguished)
{
	struct rmc_qp *q[2];
	struct end a, b;
	int slot, fd[2];

	pair(&a, &b);
	q[0] = a.qp;
	q[1] = rmc_qp_create(a.ctx, 16);
	REQUIRE(q[1]);
	fd[0] = rmc_cq_eventfd(q[0]);
	fd[1] = rmc_cq_eventfd(q[1]);
	CHECK_EQ(rmc_cq_arm(q[0]), 0);
	CHECK_EQ(rmc_cq_arm(q[1]), 0);
	slot = rmc_wait_for_slot(q[1], NULL);
	rmc_read_async(q[1], slot, 1, 0, a.buf, 64);
	CHECK_EQ(polled(fd[1], POLLIN, 2000), POLLIN);
	CHECK_EQ(polled(fd[0], POLLIN, 0), 0);
	CHECK_EQ(rmc_drain_cq(q[1], NULL), 0);
}

TEST(destroying_a_qp_wakes_its_sleeper)
{
	struct pollfd p = { .events = POLLIN };
	struct end a, b;
	pid_t pid;

	pair(&a, &b);
	REQUIRE_EQ(arm(&a, 0, -1), 0);
	p.fd = rmc_fd(a.ctx);
	pid = helper();
	if (!pid) {
		/* in the child: the same open file */
		usleep(200000);
		_exit(qp_destroy(p.fd, a.qp->id) != 0);
	}
	/* nothing is ready, but the sleeper must wake: no completion can come */
	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(p.revents, POLLHUP);
	CHECK(helper_ok(pid));
	CHECK_EQ(rmc_cq_sleep(a.qp, 0, 5000), -ESHUTDOWN);
	/* the library did not ask the kernel; poll() still reports the hangup */
	CHECK_EQ(polled(p.fd, POLLIN, 0), POLLHUP);
	CHECK_ERRNO(arm(&a, 0, -1), ENOENT);
	CHECK_EQ(polled(p.fd, POLLIN, 0), 0);
}

TEST(destroying_a_qp_signals_its_eventfd)
{
	struct rmc_qp *q;
	struct end a, b;
	uint64_t n;
	int efd, fd;
	pid_t pid;

	pair(&a, &b);
	fd = rmc_fd(a.ctx);
	efd = eventfd(0, EFD_NONBLOCK);
	REQUIRE_EQ(arm(&a, 0, efd), 0);
	pid = helper();
	if (!pid) {
		usleep(200000);
		_exit(qp_destroy(fd, a.qp->id) != 0);
	}
	CHECK_EQ(polled(efd, POLLIN, 10000), POLLIN);
	CHECK(helper_ok(pid));
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_EQ(n, 1);
	CHECK_EQ(rmc_load_relaxed(&a.qp->flags->dead), 1);
	CHECK_ERRNO(arm(&a, 0, efd), ENOENT);
	CHECK_ERRNO(read(efd, &n, 8), EAGAIN);

	/* a QP whose arming has been signalled signals no more, but poll() does not sleep either */
	q = rmc_qp_create(a.ctx, 16);
	REQUIRE(q);
	a.qp = q;
	REQUIRE_EQ(arm(&a, 0, efd), 0);
	CHECK_EQ(rmc_read(q, 1, 0, a.buf, 64), RMC_S_OK);
	CHECK_EQ(polled(fd, POLLIN, 1000), POLLIN);
	CHECK_EQ(read(efd, &n, 8), 8);
	REQUIRE_EQ(qp_destroy(fd, q->id), 0);
	CHECK_EQ(polled(fd, POLLIN, 0), POLLHUP);
	CHECK_ERRNO(read(efd, &n, 8), EAGAIN);
}

/* Destroying a QP that is not armed reports nothing; an armed one hangs up until rearmed. */
TEST(hangup_stays_until_the_next_arming)
{
	struct rmc_qp *q[2];
	uint32_t seen = 0;
	struct end a, b;
	int fd;

	pair(&a, &b);
	fd = rmc_fd(b.ctx);
	q[0] = rmc_qp_create(b.ctx, 16);
	q[1] = rmc_qp_create(b.ctx, 16);
	REQUIRE(q[0] && q[1]);
	REQUIRE_EQ(qp_destroy(fd, q[0]->id), 0);
	CHECK_EQ(polled(fd, POLLIN | POLLPRI, 0), 0);
	REQUIRE_EQ(rmc_cq_arm(q[1]), 0);
	REQUIRE_EQ(qp_destroy(fd, q[1]->id), 0);
	CHECK_EQ(polled(fd, POLLIN | POLLPRI, 0), POLLHUP);
	CHECK_EQ(polled(fd, 0, 0), POLLHUP);
	/* arming the segment clears the hangup; its notification is still reported */
	REQUIRE_EQ(rmc_seg_arm(b.ctx, &seen, -1), 0);
	CHECK_EQ(polled(fd, POLLIN | POLLPRI, 0), 0);
	CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	CHECK_EQ(polled(fd, POLLIN | POLLPRI, 1000), POLLPRI);
}

TEST(withdrawing_a_segment_wakes_its_sleeper)
{
	struct end a, b;
	uint32_t seen = 0;
	uint64_t n;
	int efd, fd;
	pid_t pid;

	pair(&a, &b);
	fd = rmc_fd(b.ctx);
	efd = eventfd(0, EFD_NONBLOCK);
	REQUIRE_EQ(rmc_seg_arm(b.ctx, &seen, efd), 0);
	pid = helper();
	if (!pid) {
		usleep(200000);
		_exit(seg_unreg(fd) != 0);
	}
	CHECK_EQ(polled(fd, POLLPRI, 10000), POLLHUP);
	CHECK(helper_ok(pid));
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_EQ(n, 1);
	CHECK_EQ(rmc_seg_arm(b.ctx, &seen, efd), -ENOENT);
	CHECK_EQ(polled(fd, POLLPRI, 0), 0);
}

TEST(notification_wakes_the_owner_of_the_segment)
{
	struct end a, b;
	uint32_t seen = 0;
	pid_t pid;

	pid = helper();
	if (!pid) {
		end_open(&b, CTX, 1, SEG, PAGE, 16);
		REQUIRE_EQ(rmc_seg_wait(b.ctx, &seen, 10000), 1);
		CHECK(seen >= 1);
		/* wait for the second notification; some of its data may arrive before it */
		while (seen < 2)
			REQUIRE_EQ(rmc_seg_wait(b.ctx, &seen, 10000), 1);
		/* the notification arrives after all of the data */
		CHECK_EQ(differs(b.seg + 8, SEG - 8, 5), -1);
		_exit(0);
	}
	end_open(&a, CTX, 0, 0, SEG, 16);
	while (rmc_notify(a.qp, 1) == RMC_S_BAD_CONTEXT)
		usleep(10000);
	fill(a.buf + 8, SEG - 8, 5);
	a.buf[0] = 0x77;
	CHECK_EQ(rmc_write_notify(a.qp, 1, 0, a.buf, SEG), RMC_S_OK);
	CHECK(helper_ok(pid));
}

TEST(notifications_do_not_storm)
{
	uint32_t seen = 0;
	struct end a, b;
	uint64_t n;
	int efd = eventfd(0, EFD_NONBLOCK), i;

	pair(&a, &b);
	REQUIRE_EQ(rmc_seg_arm(b.ctx, &seen, efd), 0);
	CHECK_EQ(seen, 0);
	for (i = 0; i < 100; i++)
		CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_OK);
	CHECK_EQ(read(efd, &n, 8), 8);
	CHECK_EQ(n, 1);
	CHECK_EQ(polled(rmc_fd(b.ctx), POLLPRI, 0), POLLPRI);
	REQUIRE_EQ(rmc_seg_arm(b.ctx, &seen, efd), 0);
	CHECK_EQ(seen, 100);
	/* arming with an old count signals at once; arming with the current count does not */
	CHECK_EQ(read(efd, &n, 8), 8);
	REQUIRE_EQ(rmc_seg_arm(b.ctx, &seen, efd), 0);
	CHECK_EQ(polled(rmc_fd(b.ctx), POLLPRI, 50), 0);
}

TEST(notifying_a_process_that_has_gone)
{
	struct end a, b;
	uint32_t seen = 0;
	int status;
	pid_t pid;

	end_open(&a, CTX, 0, 0, PAGE, 16);
	pid = helper();
	if (!pid) {
		end_open(&b, CTX, 1, SEG, PAGE, 16);
		rmc_seg_wait(b.ctx, &seen, 30000);
		rmc_seg_wait(b.ctx, &seen, 30000);
		_exit(0);
	}
	while (rmc_notify(a.qp, 1) == RMC_S_BAD_CONTEXT)
		usleep(10000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK_EQ(rmc_notify(a.qp, 1), RMC_S_BAD_CONTEXT);
	CHECK_EQ(rmc_write_notify(a.qp, 1, 0, a.buf, 64), RMC_S_BAD_CONTEXT);
}

TEST(bad_arming)
{
	struct rmc_cq_arm c = { .size = sizeof(c), .eventfd = -1 };
	struct rmc_seg_arm s = { .size = sizeof(s), .eventfd = -1 };
	struct end a, b;
	int fd;

	pair(&a, &b);
	fd = rmc_fd(a.ctx);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_SEG_ARM, &s), ENOENT);
	c.qp_id = 77;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_CQ_ARM, &c), ENOENT);
	CHECK_ERRNO(arm(&a, 0, 9999), EBADF);
	CHECK_ERRNO(arm(&a, 0, fd), EINVAL);
	c.flags = 1;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_CQ_ARM, &c), EOPNOTSUPP);
	c.flags = 0;
	c.reserved = 1;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_CQ_ARM, &c), EOPNOTSUPP);
	s.flags = 1;
	CHECK_ERRNO(ioctl(rmc_fd(b.ctx), RMC_IOC_SEG_ARM, &s), EOPNOTSUPP);
}

KTAP_MAIN(suite_missing)
