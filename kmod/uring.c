// SPDX-License-Identifier: GPL-2.0
/* Waiting by io_uring: see uring.h. */
#include <linux/refcount.h>
#include <linux/slab.h>
#define RMC_COMPAT_URING
#include "compat.h"
#include "file.h"
#include "uring.h"
#include "watch.h"

/* How often commands are looked after whose ring may go unannounced */
#define WATCHDOG_MS	20

enum { LINK_CQ, LINK_SEG, LINK_EVENT, LINKS };

/**
 * struct rmc_wait - a command that waits
 * @refs: of the command, and of each link
 * @claimed: somebody finishes it
 * @result: what the application gets
 * @cmd: command; not touched any more after it was finished
 * @pending: in the list of the watchdog, where there is one
 * @link: what it waits for
 */
struct rmc_wait {
	refcount_t refs;
	u32 claimed;
	int result;
	struct io_uring_cmd *cmd;
	struct list_head pending;
	struct rmc_wait_link link[LINKS];
};

/* What the command's own few bytes hold. */
struct pdu {
	struct rmc_wait *wait;
};

static struct pdu *pdu_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct pdu) > sizeof(cmd->pdu));
	return (struct pdu *)cmd->pdu;
}

static void put(struct rmc_wait *wait)
{
	if (refcount_dec_and_test(&wait->refs))
		kfree(wait);
}

/* Only the first may finish the command. */
static bool claim(struct rmc_wait *wait)
{
	return !xchg(&wait->claimed, 1);
}

static DEFINE_SPINLOCK(pending_lock);
static LIST_HEAD(pending);

static void forget_pending(struct rmc_wait *wait)
{
	if (!RMC_URING_WATCHDOG)
		return;
	spin_lock(&pending_lock);
	list_del(&wait->pending);
	spin_unlock(&pending_lock);
}

static void done(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct rmc_wait *wait = pdu_of(cmd)->wait;

	forget_pending(wait);
	rmc_uring_done(cmd, wait->result, issue_flags);
	put(wait);
}

RMC_URING_TASK_WORK(done_in_task, done)

static void finish(struct rmc_wait *wait, int result)
{
	if (!claim(wait))
		return;
	wait->result = result;
	io_uring_cmd_complete_in_task(wait->cmd, done_in_task);
}

/*
 * Before Linux 6.7 nobody tells that a ring is closed while one of its commands
 * waits: so look. Costs nothing while none waits.
 */
static void watch_pending(struct work_struct *work);
static DECLARE_DELAYED_WORK(watchdog, watch_pending);

static void watch_pending(struct work_struct *work)
{
	struct rmc_wait *wait;
	bool any;

	spin_lock(&pending_lock);
	list_for_each_entry(wait, &pending, pending)
		if (rmc_uring_orphaned(wait->cmd))
			finish(wait, -ECANCELED);
	any = !list_empty(&pending);
	spin_unlock(&pending_lock);
	if (any)
		schedule_delayed_work(&watchdog, msecs_to_jiffies(WATCHDOG_MS));
}

static void add_pending(struct rmc_wait *wait)
{
	if (!RMC_URING_WATCHDOG)
		return;
	spin_lock(&pending_lock);
	list_add(&wait->pending, &pending);
	spin_unlock(&pending_lock);
	schedule_delayed_work(&watchdog, msecs_to_jiffies(WATCHDOG_MS));
}

/**
 * rmc_uring_exit() - nothing of this file runs any more on return
 *
 * Context: may sleep; no context is open.
 */
void rmc_uring_exit(void)
{
	cancel_delayed_work_sync(&watchdog);
}

/**
 * rmc_waits_add() - a link joins the list of what it waits for
 * @waits: list; the caller owns it
 * @l: link; its reference is the list's
 *
 * Context: does not sleep.
 */
void rmc_waits_add(struct list_head *waits, struct rmc_wait_link *l)
{
	struct rmc_wait_link *dead, *next;

	/* finished by another source; so the list is as long as there are waits */
	list_for_each_entry_safe(dead, next, waits, entry) {
		if (!READ_ONCE(dead->wait->claimed))
			continue;
		list_del(&dead->entry);
		put(dead->wait);
	}
	list_add_tail(&l->entry, waits);
}

static int result(const struct rmc_wait_link *l)
{
	u32 count = l->event ? l->event->count & RMC_URING_COUNT_MASK : 0;

	return l->source | count << RMC_URING_COUNT_SHIFT;
}

/**
 * rmc_waits_finish() - it happened, or never will
 * @waits: list; the caller owns it
 * @error: 0: it happened; negative errno: it never will
 *
 * Context: does not sleep.
 */
void rmc_waits_finish(struct list_head *waits, int error)
{
	struct rmc_wait_link *l, *next;

	list_for_each_entry_safe(l, next, waits, entry) {
		list_del(&l->entry);
		finish(l->wait, error ?: result(l));
		put(l->wait);
	}
}

/* On the event's worker; destroying the event is a later call there. */
static int arm(void *arg)
{
	struct rmc_wait_link *l = arg;
	struct rmc_waiter *w = l->event->owner;

	if (rmc_event_arm(l->event, l->seen)) {
		rmc_waits_add(&w->waits, l);
	} else {
		finish(l->wait, result(l));
		put(l->wait);
	}
	return 0;
}

static struct rmc_wait_link *make_link(struct rmc_wait *wait, int i, u32 source)
{
	struct rmc_wait_link *l = &wait->link[i];

	l->wait = wait;
	l->source = source;
	refcount_inc(&wait->refs);
	return l;
}

static void post_link(struct rmc_wait *wait, int i, u32 source, struct rmc_event *event, u32 seen,
		      struct rmc_ni_worker *ni)
{
	struct rmc_wait_link *l = make_link(wait, i, source);

	l->event = event;
	l->seen = seen;
	l->call.fn = arm;
	l->call.arg = l;
	rmc_worker_post(ni, &l->call);
}

static void wait_for_event(struct rmc_wait *wait, struct rmc_file *f)
{
	struct rmc_wait_link *l = make_link(wait, LINK_EVENT, RMC_URING_EVENT);

	if (rmc_watcher_wait(f, l))
		return;
	finish(wait, -ENOENT);
	put(wait);
}

static int start(struct rmc_file *f, struct io_uring_cmd *cmd, const struct rmc_uring_wait *arg,
		 unsigned int issue_flags)
{
	struct rmc_queues *q = NULL;
	struct rmc_wait *wait;

	lockdep_assert_held(&f->lock);
	if (arg->sources & RMC_URING_CQ) {
		q = xa_load(&f->qp, arg->qp_id);
		if (!q)
			return -ENOENT;
	}
	if (arg->sources & RMC_URING_SEG && !f->seg)
		return -ENOENT;
	wait = kzalloc(sizeof(*wait), GFP_KERNEL_ACCOUNT);
	if (!wait)
		return -ENOMEM;
	refcount_set(&wait->refs, 1);
	wait->cmd = cmd;
	pdu_of(cmd)->wait = wait;
	rmc_uring_mark_cancelable(cmd, issue_flags);

	/* it may be finished, and the command gone, as soon as the first is posted */
	refcount_inc(&wait->refs);
	add_pending(wait);
	if (q)
		post_link(wait, LINK_CQ, RMC_URING_CQ, &q->qp.done, arg->cq_seen,
			  q->worker);
	if (arg->sources & RMC_URING_SEG)
		post_link(wait, LINK_SEG, RMC_URING_SEG, &f->seg->mem.notified, arg->seg_seen,
			  f->node->srv_worker);
	if (arg->sources & RMC_URING_EVENT)
		wait_for_event(wait, f);
	put(wait);
	return -EIOCBQUEUED;
}

/* io_uring wants it back; called until it has it. */
static int cancel(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct rmc_wait *wait = pdu_of(cmd)->wait;

	if (claim(wait)) {
		wait->result = -ECANCELED;
		done(cmd, issue_flags);
	}
	return 0;
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
	struct rmc_uring_wait arg;
	int ret;

	if (issue_flags & RMC_URING_F_CANCEL)
		return cancel(cmd, issue_flags);
	if (cmd->cmd_op != RMC_URING_WAIT)
		return -ENOTTY;
	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	/* the ring is shared with the application */
	arg.sources = READ_ONCE(user->sources);
	arg.qp_id = READ_ONCE(user->qp_id);
	arg.cq_seen = READ_ONCE(user->cq_seen);
	arg.seg_seen = READ_ONCE(user->seg_seen);
	if (arg.sources & ~(RMC_URING_CQ | RMC_URING_SEG | RMC_URING_EVENT))
		return -EOPNOTSUPP;
	if (!arg.sources)
		return -EINVAL;

	if (!(issue_flags & IO_URING_F_NONBLOCK))
		mutex_lock(&f->lock);
	else if (!mutex_trylock(&f->lock))
		return -EAGAIN;
	ret = start(f, cmd, &arg, issue_flags);
	mutex_unlock(&f->lock);
	return ret;
}
