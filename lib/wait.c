/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sleeping for completions and notifications. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"
#include <rmc/wait.h>

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Milliseconds left until end_us, rounded up, for poll(); -1 stays -1. */
static int left_ms(int timeout_ms, uint64_t end_us)
{
	uint64_t now;

	if (timeout_ms < 0)
		return -1;
	now = now_us();
	return now >= end_us ? 0 : (int)((end_us - now + 999) / 1000);
}

static int arm_failed(const char *what)
{
	int err = errno;

	if (err == ENOTTY)
		return rmc_fail(err, "the module cannot wake sleepers: load a newer one");
	return rmc_fail(err, "cannot arm %s: %s", what, strerror(err));
}

int rmc_cq_eventfd(struct rmc_qp *qp)
{
	if (qp->eventfd < 0) {
		qp->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (qp->eventfd < 0)
			return rmc_fail(errno, "cannot make an eventfd: %s", strerror(errno));
	}
	return qp->eventfd;
}

int rmc_cq_arm(struct rmc_qp *qp)
{
	struct rmc_cq_arm arg = {
		.size = sizeof(arg),
		.qp_id = qp->id,
		.seen = qp->tail,
		.eventfd = rmc_cq_eventfd(qp),
	};

	if (arg.eventfd < 0)
		return arg.eventfd;
	return ioctl(qp->ctx->fd, RMC_IOC_CQ_ARM, &arg) ? arm_failed("a queue pair") : 0;
}

static void drain(int fd)
{
	uint64_t count;

	/* nonblocking: nothing to read is as good */
	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

void rmc_cq_disarm(struct rmc_qp *qp)
{
	if (qp->eventfd >= 0)
		drain(qp->eventfd);
}

static int cq_ready(const struct rmc_qp *qp)
{
	uint32_t word = rmc_load_acquire(&qp->cq[qp->tail & qp->mask].word);

	return (word & RMC_CQE_PHASE) == !(qp->tail & qp->entries);
}

int rmc_cq_sleep(struct rmc_qp *qp, unsigned int spin_us, int timeout_ms)
{
	uint64_t start = now_us(), end = start + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000;
	struct pollfd p = { .events = POLLIN };
	unsigned int spins = 0;
	int err;

	while (!cq_ready(qp) && now_us() - start < spin_us) {
		err = rmc_relax(qp, &spins);
		if (err)
			return cq_ready(qp) ? 1 : err;
	}
	for (;;) {
		if (cq_ready(qp))
			return 1;
		rmc_cq_disarm(qp);
		err = rmc_cq_arm(qp);
		if (err)
			return rmc_load_relaxed(&qp->flags->dead) ? -ESHUTDOWN : err;
		p.fd = qp->eventfd;
		err = poll(&p, 1, left_ms(timeout_ms, end));
		if (err < 0)
			return -errno;
		if (!err)
			return cq_ready(qp);
	}
}

int rmc_seg_arm(struct rmc_ctx *ctx, uint32_t *seen, int eventfd)
{
	struct rmc_seg_arm arg = { .size = sizeof(arg), .seen = *seen, .eventfd = eventfd };

	if (ioctl(ctx->fd, RMC_IOC_SEG_ARM, &arg))
		return arm_failed("the segment");
	*seen = arg.seen;
	return 0;
}

int rmc_seg_wait(struct rmc_ctx *ctx, uint32_t *seen, int timeout_ms)
{
	uint64_t end = now_us() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000;
	struct pollfd p = { .fd = ctx->fd, .events = POLLPRI };
	uint32_t count = *seen;
	int err;

	for (;;) {
		err = rmc_seg_arm(ctx, &count, -1);
		if (err)
			return err;
		if (count != *seen) {
			*seen = count;
			return 1;
		}
		err = poll(&p, 1, left_ms(timeout_ms, end));
		if (err < 0)
			return -errno;
		if (!err)
			return 0;
	}
}
