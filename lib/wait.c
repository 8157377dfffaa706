/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sleeps for completions and notifications. */
#include <errno.h>
#include <poll.h>
#include <string.h>
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

int rmc_arm_failed(const struct rmc_ctx *ctx, const char *what)
{
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	if (err == ENOTTY)
		return rmc_fail(err, "the module cannot wake sleepers: load a newer one");
	return rmc_fail(err, "cannot arm %s: %s", what, strerror(err));
}

int rmc_cq_eventfd(struct rmc_qp *qp)
{
	if (qp->eventfd < 0)
		qp->eventfd = rmc_sleepers_eventfd(rmc_qp_sleepers(qp));
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
	return rmc_call(qp->ctx, RMC_IOC_CQ_ARM, &arg) ? rmc_arm_failed(qp->ctx, "a queue pair") : 0;
}

static void drain(int fd)
{
	uint64_t count;

	/* nonblocking: an empty eventfd is no error */
	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

void rmc_cq_disarm(struct rmc_qp *qp)
{
	if (qp->eventfd >= 0)
		drain(qp->eventfd);
}

int rmc_sleep_on(const struct rmc_ctx *ctx, int fd, int timeout_ms)
{
	struct pollfd p[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = ctx->socket, .events = POLLRDHUP },
	};

	return poll(p, ctx->driver->alive ? 2 : 1, timeout_ms);
}

static int cq_ready(const struct rmc_qp *qp)
{
	uint32_t word = rmc_load_acquire(&qp->cq[qp->tail & qp->mask].word);

	return (word & RMC_CQE_PHASE) == !(qp->tail & qp->entries);
}

static int is_dead(const struct rmc_qp *qp)
{
	return (int)rmc_load_acquire(&qp->flags->dead);
}

static int cq_sleep(struct rmc_qp *qp, struct rmc_sleepers *s, uint32_t since,
		    unsigned int spin_us, int timeout_ms)
{
	uint64_t start = now_us(), end = start + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000;
	unsigned int spins = 0;
	int err;

	while (!cq_ready(qp) && !rmc_sleepers_ended(s, since) && now_us() - start < spin_us) {
		err = rmc_relax(qp, &spins);
		if (err)
			return cq_ready(qp) ? 1 : err;
	}
	for (;;) {
		if (cq_ready(qp))
			return 1;
		if (is_dead(qp))
			return -ESHUTDOWN;
		rmc_cq_disarm(qp);
		err = rmc_cq_arm(qp);
		/* last check before sleeping: a later end finds us inside and wakes us */
		if (rmc_sleepers_ended(s, since))
			return -ESHUTDOWN;
		if (err)
			return is_dead(qp) ? -ESHUTDOWN : err;
		rmc_qp_count_sleep(qp);
		err = rmc_sleep_on(qp->ctx, qp->eventfd, left_ms(timeout_ms, end));
		if (err < 0)
			return -errno;
		if (!err)
			return cq_ready(qp);
	}
}

int rmc_cq_sleep(struct rmc_qp *qp, unsigned int spin_us, int timeout_ms)
{
	struct rmc_sleepers *s = rmc_qp_sleepers(qp);
	uint32_t since = rmc_sleepers_enter(s);
	int err = cq_sleep(qp, s, since, spin_us, timeout_ms);

	rmc_sleepers_leave(s);
	return err;
}

int rmc_seg_arm(struct rmc_ctx *ctx, uint32_t *seen, int eventfd)
{
	struct rmc_seg_arm arg = { .size = sizeof(arg), .seen = *seen, .eventfd = eventfd };

	if (rmc_call(ctx, RMC_IOC_SEG_ARM, &arg))
		return rmc_arm_failed(ctx, "the segment");
	*seen = arg.seen;
	return 0;
}

static int seg_wait(struct rmc_ctx *ctx, struct rmc_sleepers *s, uint32_t since, uint32_t *seen,
		    int timeout_ms)
{
	uint64_t end = now_us() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000;
	int fd = rmc_sleepers_eventfd(s), err, armed = 0;
	uint32_t count = *seen;

	if (fd < 0)
		return fd;
	for (;;) {
		drain(fd);
		err = rmc_seg_arm(ctx, &count, fd);
		if (rmc_sleepers_ended(s, since))
			return -ESHUTDOWN;
		if (err)
			return armed && err == -ENOENT ? -ESHUTDOWN : err;
		armed = 1;
		if (count != *seen) {
			*seen = count;
			return 1;
		}
		err = rmc_sleep_on(ctx, fd, left_ms(timeout_ms, end));
		if (err < 0)
			return -errno;
		if (!err)
			return 0;
	}
}

int rmc_seg_wait(struct rmc_ctx *ctx, uint32_t *seen, int timeout_ms)
{
	struct rmc_sleepers *s = &ctx->seg_sleepers;
	uint32_t since = rmc_sleepers_enter(s);
	int err = seg_wait(ctx, s, since, seen, timeout_ms);

	rmc_sleepers_leave(s);
	return err;
}
