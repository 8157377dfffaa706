// SPDX-License-Identifier: GPL-2.0
/* Waiting by io_uring: starts the command; uring_wait.c finishes it. */
#define RMC_COMPAT_URING
#include <linux/delay.h>
#include "../base/compat.h"
#include "domain.h"
#include "file.h"
#include "uring.h"
#include "uring_wait.h"
#include "watch.h"

/* Runs on the event's worker; destroying the event is a later call there. */
static int arm(void *arg)
{
	struct rmc_wait_link *l = arg;
	struct rmc_waiter *w = l->event->owner;
	struct rmc_wait *wait = l->wait;

	if (rmc_event_arm(l->event, l->seen))
		rmc_waits_add(&w->waits, l);
	else
		rmc_waits_finish(l);
	rmc_wait_put(wait);
	return 0;
}

/* The same for an arrival: who waits for it sleeps. */
static int arm_arrivals(void *arg)
{
	struct rmc_wait_link *l = arg;
	struct rmc_waiter *w = l->event->owner;

	rmc_dom_sleeps(l->wait->file, container_of(w, struct rmc_queues, arrivals));
	return arm(l);
}

/*
 * The same for a free send slot: who waits is in the dispatcher's list first. This may run long
 * after the command was submitted, and the application has looked for a slot meanwhile.
 */
static int arm_room(void *arg)
{
	struct rmc_wait_link *l = arg;
	struct rmc_queues *q = container_of(l->event, struct rmc_queues, room.event);
	struct rmc_wait *wait = l->wait;

	l->told = &q->room;
	if (rmc_dom_expect_room(wait->file, q, &l->seen))
		return arm(l);
	rmc_waits_finish(l);
	rmc_wait_put(wait);
	return 0;
}

static struct rmc_wait_link *make_link(struct rmc_wait *wait, int i, u32 source)
{
	struct rmc_wait_link *l = &wait->link[i];

	l->source = source;
	return l;
}

static void post_link(struct rmc_wait *wait, int i, u32 source, struct rmc_event *event, u32 seen,
		      int (*fn)(void *arg), struct rmc_ni_worker *ni)
{
	struct rmc_wait_link *l = make_link(wait, i, source);

	l->event = event;
	l->seen = seen;
	l->call.fn = fn;
	l->call.arg = l;
	refcount_inc(&wait->refs);
	rmc_worker_post(ni, &l->call);
}

/* An event may claim the wait from the first link on; rmc_wait_publish() lets it complete. */
static int post_links(struct rmc_wait *wait, const struct rmc_uring_wait *arg)
{
	struct rmc_file *f = wait->file;
	struct rmc_queues *q = NULL;

	lockdep_assert_held(&f->lock);
	if (arg->sources & RMC_URING_CQ) {
		q = xa_load(&f->qp, arg->qp_id);
		if (!q)
			return -ENOENT;
	}
	if (arg->sources & RMC_URING_SEG && !f->seg)
		return -ENOENT;
	if (q)
		post_link(wait, RMC_LINK_CQ, RMC_URING_CQ, &q->qp.done, arg->cq_seen, arm,
			  q->worker);
	if (arg->sources & RMC_URING_SEG)
		post_link(wait, RMC_LINK_SEG, RMC_URING_SEG, &f->seg->mem.notified, arg->seg_seen,
			  arm, f->node->srv_worker);
	if (arg->sources & RMC_URING_EVENT &&
	    !rmc_watcher_wait(f, make_link(wait, RMC_LINK_EVENT, RMC_URING_EVENT)))
		rmc_wait_finish(wait, -ENOENT);
	return 0;
}

/* The same of a queue pair that is attached to a domain; arg->seg_seen: arrivals */
static int post_msg_links(struct rmc_wait *wait, const struct rmc_uring_wait *arg)
{
	struct rmc_file *f = wait->file;
	struct rmc_queues *q = xa_load(&f->qp, arg->qp_id);
	struct rmc_event *arrivals;

	lockdep_assert_held(&f->lock);
	if (!q || !q->attached)
		return q ? rmc_dom_missing(f) : -ENOENT;
	arrivals = rmc_dom_arrivals(f, q);
	if (arg->sources & RMC_URING_MSG_AQ && !arrivals)
		return -ENOENT;
	if (arg->sources & RMC_URING_MSG_CQ)
		post_link(wait, RMC_LINK_CQ, RMC_URING_MSG_CQ, &q->qp.done, arg->cq_seen, arm,
			  q->worker);
	if (arg->sources & RMC_URING_MSG_AQ)
		post_link(wait, RMC_LINK_AQ, RMC_URING_MSG_AQ, arrivals, arg->seg_seen,
			  arm_arrivals, f->node->srv_worker);
	if (arg->sources & RMC_URING_MSG_ROOM)
		post_link(wait, RMC_LINK_ROOM, RMC_URING_MSG_ROOM, &q->room.event, 0, arm_room,
			  f->node->srv_worker);
	return 0;
}

/* On a debug kernel other CPUs have time to act here, so that selftests need no luck. */
static void widen_window(void)
{
	if (IS_ENABLED(CONFIG_KASAN))
		mdelay(1);
}

static int start(struct rmc_file *f, struct io_uring_cmd *cmd, const struct rmc_uring_wait *arg,
		 int (*post)(struct rmc_wait *wait, const struct rmc_uring_wait *arg),
		 unsigned int issue_flags)
{
	struct rmc_wait *wait = rmc_wait_alloc(f, cmd);
	int err = 0;

	if (IS_ERR(wait))
		return PTR_ERR(wait);
	if (!(issue_flags & IO_URING_F_NONBLOCK))
		mutex_lock(&f->lock);
	else if (!mutex_trylock(&f->lock))
		err = -EAGAIN;
	if (!err) {
		err = post(wait, arg);
		mutex_unlock(&f->lock);
	}
	if (err) {
		rmc_wait_put(wait);
		rmc_wait_put(wait);
		return err;
	}
	rmc_wait_guard(wait);
	/*
	 * Not under our lock: io_uring may take its own here. The lock order is io_uring's
	 * lock, mmap_lock, our lock. Another CPU may cancel the command as soon as this
	 * begins; rmc_wait_publish() has a reference to the wait.
	 */
	rmc_uring_mark_cancelable(cmd, issue_flags);
	widen_window();
	rmc_wait_publish(wait);
	return -EIOCBQUEUED;
}

/**
 * rmc_uring_cmd() - file_operations.uring_cmd of a context
 * @cmd: command
 * @issue_flags: io_uring's
 *
 * Return: -EIOCBQUEUED, -EAGAIN (try again where sleeping is allowed), or another
 * negative errno, see uapi/linux/rmc.h. Context: may sleep unless @issue_flags
 * forbid it.
 */
int rmc_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct rmc_uring_wait *user = rmc_uring_cmd_data(cmd);
	struct rmc_file *f = cmd->file->private_data;
	bool msg = cmd->cmd_op == RMC_URING_WAIT_MSG;
	struct rmc_uring_wait arg;

	if (issue_flags & RMC_URING_F_CANCEL)
		return rmc_wait_cancel(cmd, issue_flags);
	if (cmd->cmd_op != RMC_URING_WAIT && !msg)
		return -ENOTTY;
	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	/* the ring is shared with the application */
	arg.sources = READ_ONCE(user->sources);
	arg.qp_id = READ_ONCE(user->qp_id);
	arg.cq_seen = READ_ONCE(user->cq_seen);
	arg.seg_seen = READ_ONCE(user->seg_seen);
	if (arg.sources & ~(msg ? RMC_URING_MSG_SOURCES : RMC_URING_SOURCES))
		return -EOPNOTSUPP;
	if (!arg.sources)
		return -EINVAL;

	return start(f, cmd, &arg, msg ? post_msg_links : post_links, issue_flags);
}

static_assert(sizeof(struct rmc_uring_wait_msg) == sizeof(struct rmc_uring_wait) &&
	      offsetof(struct rmc_uring_wait_msg, cq_seen) ==
	      offsetof(struct rmc_uring_wait, cq_seen), "both are read as one");
