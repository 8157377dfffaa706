/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Sleeps for arrivals, and for room. One eventfd reports them and, while operations are in flight,
 * completions: what they leave in doubt is continued meanwhile. Arming for arrivals and completions
 * reports earlier ones at once; who has armed for room looks for it once more. So none is missed
 * between the last check and sleeping.
 */
#include <errno.h>
#include <unistd.h>
#include "state.h"

int rmc_core_eventfd(struct rmc_core *core)
{
	return rmc_cq_eventfd(core->qp);
}

void rmc_room_unwait(struct core *c)
{
	if (!c->room_armed)
		return;
	rmc_store_relaxed(&c->room_armed, 0);
	__atomic_fetch_sub(&c->c.domain->room_waits, 1, __ATOMIC_RELAXED);
}

static void room_wait(struct core *c)
{
	if (c->room_armed)
		return;
	/* pairs with the acquire in rmc_room_notify(): the eventfd is there */
	rmc_store_release(&c->room_armed, 1);
	/* before the caller looks for a free slot */
	__atomic_fetch_add(&c->c.domain->room_waits, 1, __ATOMIC_SEQ_CST);
}

static void wake(const struct rmc_qp *qp)
{
	uint64_t one = 1;
	ssize_t n = write(qp->eventfd, &one, sizeof(one));

	(void)n;	/* full: it is readable */
}

void rmc_room_notify(struct rmc_domain *d)
{
	struct core *c;

	/* cores come or go; sleepers look again after a while */
	if (pthread_mutex_trylock(&d->lock))
		return;
	for (c = d->core; c; c = c->next)
		if (rmc_load_acquire(&c->room_armed))
			wake(c->c.qp);
	pthread_mutex_unlock(&d->lock);
}

void rmc_core_waited(struct core *c, const struct wait *w)
{
	if (!w->drained)
		return;
	/* room may have come before it slept */
	rmc_room_unwait(c);
	if (c->armed)
		wake(c->c.qp);
}

void rmc_core_disarm(struct rmc_core *core)
{
	to_core(core)->armed = 0;
	rmc_room_unwait(to_core(core));
	rmc_cq_disarm(core->qp);
}

static int arm_completions(struct rmc_core *core)
{
	return rmc_qp_in_flight(core->qp) ? rmc_cq_arm(core->qp) : 0;
}

static int arm_failed(struct rmc_domain *d, const char *what)
{
	if (errno == ESHUTDOWN && d->member && !rmc_why(d->ctx))
		return rmc_fail(ESHUTDOWN, "the process that opened the domain has closed it");
	return rmc_arm_failed(d->ctx, what);
}

static int arm_arrivals(struct rmc_core *core)
{
	struct rmc_aq_arm arg = {
		.size = sizeof(arg),
		.qp_id = core->qp->id,
		.seen = core->taken,
		.eventfd = rmc_core_eventfd(core),
	};

	if (arg.eventfd < 0)
		return arg.eventfd;
	if (core->number != ~0U && rmc_call(core->domain->ctx, RMC_IOC_AQ_ARM, &arg))
		return arm_failed(core->domain, "an arrival queue");
	return arm_completions(core);
}

int rmc_core_arm(struct rmc_core *core)
{
	int err = arm_arrivals(core);

	to_core(core)->armed |= !err;
	return err;
}

static int arm_room(struct rmc_core *core)
{
	struct rmc_room_arm arg = {
		.size = sizeof(arg),
		.qp_id = core->qp->id,
		.eventfd = rmc_core_eventfd(core),
	};

	if (arg.eventfd < 0)
		return arg.eventfd;
	if (rmc_call(core->domain->ctx, RMC_IOC_ROOM_ARM, &arg))
		return arm_failed(core->domain, "a free send slot");
	room_wait(to_core(core));
	return arm_completions(core);
}

int rmc_core_arm_room(struct rmc_core *core)
{
	int err = arm_room(core);

	to_core(core)->armed |= !err;
	return err;
}

static int spin(struct rmc_core *core, struct rmc_arrival *m, unsigned int spin_us)
{
	uint64_t end = rmc_now_ns() + spin_us * 1000ULL;
	unsigned int spins = 0;
	int err;

	for (;;) {
		err = rmc_arrival_next(core, m);
		if (err || !spin_us || rmc_now_ns() >= end)
			return err;
		err = rmc_relax(core->qp, &spins);
		if (err)
			return err;
	}
}

static int is_dead(const struct rmc_qp *qp)
{
	return (int)rmc_load_acquire(&qp->flags->dead);
}

int rmc_arrival_wait(struct rmc_core *core, struct rmc_arrival *m, unsigned int spin_us,
		     int timeout_ms)
{
	uint64_t deadline;
	int err;

	if (core->number == ~0U)
		return -EOPNOTSUPP;
	err = spin(core, m, spin_us);
	if (err || !timeout_ms)
		return err;
	deadline = rmc_deadline(timeout_ms);
	/* nobody wakes one of many */
	while (core->pulls && !err && !rmc_deadline_over(deadline))
		err = spin(core, m, SPIN_NS / 1000);
	if (core->pulls)
		return err;
	for (;;) {
		rmc_cq_disarm(core->qp);
		err = arm_arrivals(core);
		if (err)
			return is_dead(core->qp) ? -ESHUTDOWN : err;
		if (is_dead(core->qp))
			return -ESHUTDOWN;
		rmc_qp_count_sleep(core->qp);
		err = rmc_sleep_on(core->domain->ctx, core->qp->eventfd,
				   rmc_deadline_left(deadline));
		if (err < 0)
			return -errno;
		err = rmc_arrival_next(core, m);
		if (err || rmc_deadline_over(deadline))
			return err;
	}
}

/* A signal, a time-out and a completion are reasons to check, too. */
static int sleep_for_room(struct core *c, uint64_t deadline)
{
	int left = rmc_deadline_left(deadline), err;

	rmc_qp_count_sleep(c->c.qp);
	err = rmc_sleep_on(c->c.domain->ctx, c->c.qp->eventfd,
			   left < 0 || left > ASK_MS ? ASK_MS : left);
	rmc_room_unwait(c);
	return err < 0 && errno != EINTR ? -errno : 0;
}

int rmc_core_wait_room(struct core *c, struct wait *w)
{
	int err;

	if (w->armed) {
		w->armed = 0;
		return sleep_for_room(c, w->deadline);
	}
	if (!w->since)
		w->since = rmc_now_ns();
	if (c->no_room_arm || rmc_now_ns() - w->since < SPIN_NS)
		return rmc_relax(c->c.qp, &w->spins);
	rmc_cq_disarm(c->c.qp);
	w->drained = 1;
	err = arm_room(&c->c);
	if (is_dead(c->c.qp))
		return -ESHUTDOWN;
	c->no_room_arm = err == -ENOTTY;
	w->armed = !err;
	return c->no_room_arm ? 0 : err;
}
