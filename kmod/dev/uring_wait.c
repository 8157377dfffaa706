// SPDX-License-Identifier: GPL-2.0
/* io_uring commands that wait, from their first list to their completion. */
#include <linux/slab.h>
#define RMC_COMPAT_URING
#include "../base/compat.h"
#include "file.h"
#include "quota.h"
#include "uring_wait.h"

/* Interval of the watchdog that checks commands for a closed ring */
#define WATCHDOG_MS	20

/* Commands that the watchdog checks under one hold of the lock */
#define WATCHDOG_BATCH	64

/* The one that sets the second of these completes the command. */
enum {
	PUBLISHED	= 1 << 0,	/* the function that starts the wait is done with it */
	FINISHED	= 1 << 1,	/* the wait is claimed, and the result is stored */
};

/* Contents of the bytes that io_uring reserves in each command. */
struct pdu {
	struct rmc_wait *wait;
};

static struct pdu *pdu_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct pdu) > sizeof(cmd->pdu));
	return (struct pdu *)cmd->pdu;
}

/**
 * rmc_wait_put() - drop a reference
 * @wait: wait
 *
 * The file is still open: a command keeps it open, and a posted call runs before the call
 * that destroys its event, on the same worker.
 *
 * Context: does not sleep.
 */
void rmc_wait_put(struct rmc_wait *wait)
{
	if (!refcount_dec_and_test(&wait->refs))
		return;
	rmc_uncharge_wait(wait->file);
	kfree(wait);
}

/* Only the first claim finishes the command; afterwards no list holds it. */
static bool claim(struct rmc_wait *wait, int result)
{
	int i;

	lockdep_assert_held(&wait->file->waits_lock);
	if (wait->claimed)
		return false;
	wait->claimed = true;
	wait->result = result;
	for (i = 0; i < RMC_LINKS; i++)
		list_del_init(&wait->link[i].entry);
	return true;
}

static DEFINE_SPINLOCK(pending_lock);
static LIST_HEAD(pending);
static u32 pendings;

static void forget_pending(struct rmc_wait *wait)
{
	if (!RMC_URING_WATCHDOG)
		return;
	spin_lock(&pending_lock);
	list_del(&wait->pending);
	pendings--;
	spin_unlock(&pending_lock);
}

static void done(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct rmc_wait *wait = pdu_of(cmd)->wait;
	int result = wait->result;

	forget_pending(wait);
	rmc_wait_put(wait);
	rmc_uring_done(cmd, result, issue_flags);
}

RMC_URING_TASK_WORK(done_in_task, done)

/*
 * Called after a successful claim. Completes the command, or leaves that to
 * rmc_wait_publish() if it is not published yet.
 */
static void give_back(struct rmc_wait *wait)
{
	/* full barrier: result first, then the state; pairs with rmc_wait_publish() */
	if (atomic_fetch_or(FINISHED, &wait->state) & PUBLISHED)
		io_uring_cmd_complete_in_task(wait->cmd, done_in_task);
}

/* In its result */
static int result(const struct rmc_wait_link *l)
{
	u32 count = l->event ? l->event->count & RMC_URING_COUNT_MASK : 0;

	return l->source | count << RMC_URING_COUNT_SHIFT;
}

/* By an event; the caller is its worker if the link has one. */
static bool claim_by(struct rmc_wait_link *l)
{
	if (!claim(l->wait, result(l)))
		return false;
	if (l->told)
		rmc_room_told(l->told);
	return true;
}

/**
 * rmc_wait_finish() - claim a command and finish it, unless it is claimed already
 * @wait: wait
 * @result: for the application
 *
 * Context: does not sleep.
 */
void rmc_wait_finish(struct rmc_wait *wait, int result)
{
	struct rmc_file *f = wait->file;
	bool ours;

	spin_lock(&f->waits_lock);
	ours = claim(wait, result);
	spin_unlock(&f->waits_lock);
	if (ours)
		give_back(wait);
}

/**
 * rmc_wait_publish() - allow the completion of a command
 * @wait: wait; drops the caller's reference
 *
 * io_uring knows the command, so it may be cancelled; from here on it may also complete.
 * Not before: io_uring_cmd_done() would remove a command that is being marked cancelable
 * from a list that it is not in yet.
 *
 * Context: does not sleep.
 */
void rmc_wait_publish(struct rmc_wait *wait)
{
	/* full barrier; pairs with give_back() */
	if (atomic_fetch_or(PUBLISHED, &wait->state) & FINISHED)
		io_uring_cmd_complete_in_task(wait->cmd, done_in_task);
	rmc_wait_put(wait);
}

/*
 * Before Linux 6.7 io_uring does not report that a ring is closed while one of its commands
 * waits, so this polls. It costs nothing while no command waits.
 */
static void watch_pending(struct work_struct *work);
static DECLARE_DELAYED_WORK(watchdog, watch_pending);

static void watch_pending(struct work_struct *work)
{
	struct rmc_wait *wait;
	u32 n, i;

	spin_lock(&pending_lock);
	n = pendings;
	for (i = 0; i < n && !list_empty(&pending); i++) {
		wait = list_first_entry(&pending, struct rmc_wait, pending);
		list_move_tail(&wait->pending, &pending);
		/* a command in the list is not completed, so it is valid */
		if (rmc_uring_orphaned(wait->cmd))
			rmc_wait_finish(wait, -ECANCELED);
		if (i % WATCHDOG_BATCH == WATCHDOG_BATCH - 1) {
			spin_unlock(&pending_lock);
			cond_resched();
			spin_lock(&pending_lock);
		}
	}
	n = pendings;
	spin_unlock(&pending_lock);
	if (n)
		schedule_delayed_work(&watchdog, msecs_to_jiffies(WATCHDOG_MS));
}

/**
 * rmc_wait_guard() - watch for the end of a command's ring, before Linux 6.7
 * @wait: wait, not published
 *
 * Context: does not sleep.
 */
void rmc_wait_guard(struct rmc_wait *wait)
{
	if (!RMC_URING_WATCHDOG)
		return;
	spin_lock(&pending_lock);
	list_add(&wait->pending, &pending);
	pendings++;
	spin_unlock(&pending_lock);
	schedule_delayed_work(&watchdog, msecs_to_jiffies(WATCHDOG_MS));
}

/**
 * rmc_waits_exit() - stop the watchdog
 *
 * Context: may sleep; no context is open.
 */
void rmc_waits_exit(void)
{
	cancel_delayed_work_sync(&watchdog);
}

static_assert((RMC_URING_SOURCES | RMC_URING_MSG_SOURCES) <= RMC_URING_SOURCE_MASK,
	      "the result names any of them");
static_assert(RMC_URING_SOURCE_MASK >> RMC_URING_COUNT_SHIFT == 0, "and then its count");

/**
 * rmc_waits_add() - add a link to a list, unless its command was claimed meanwhile
 * @waits: list of the link's file
 * @l: link, in no list
 *
 * Context: does not sleep.
 */
void rmc_waits_add(struct list_head *waits, struct rmc_wait_link *l)
{
	struct rmc_file *f = l->wait->file;

	spin_lock(&f->waits_lock);
	if (!l->wait->claimed)
		list_add_tail(&l->entry, waits);
	spin_unlock(&f->waits_lock);
}

/**
 * rmc_waits_move() - move all links of a list to the end of another
 * @f: open context that both lists belong to
 * @from: list
 * @to: list
 *
 * Context: does not sleep.
 */
void rmc_waits_move(struct rmc_file *f, struct list_head *from, struct list_head *to)
{
	spin_lock(&f->waits_lock);
	list_splice_tail_init(from, to);
	spin_unlock(&f->waits_lock);
}

/**
 * rmc_waits_finish_one() - finish the command of the first link of a list
 * @f: open context that the list belongs to
 * @waits: list
 * @error: 0: the event happened, and the caller is its worker if the link has an event;
 *	negative errno: the event cannot happen any more
 *
 * @f may be closed on return, unless the caller keeps it open.
 *
 * Return: true if the list had a link. Context: does not sleep.
 */
bool rmc_waits_finish_one(struct rmc_file *f, struct list_head *waits, int error)
{
	struct rmc_wait_link *l;

	spin_lock(&f->waits_lock);
	l = list_first_entry_or_null(waits, struct rmc_wait_link, entry);
	if (l && error)
		claim(l->wait, error);
	else if (l)
		claim_by(l);
	spin_unlock(&f->waits_lock);
	if (!l)
		return false;
	give_back(l->wait);
	return true;
}

/**
 * rmc_waits_finish() - finish a command whose event has happened already
 * @l: link
 *
 * Context: the event's worker if the link has an event; does not sleep.
 */
void rmc_waits_finish(struct rmc_wait_link *l)
{
	struct rmc_file *f = l->wait->file;
	bool ours;

	spin_lock(&f->waits_lock);
	ours = claim_by(l);
	spin_unlock(&f->waits_lock);
	if (ours)
		give_back(l->wait);
}

/**
 * rmc_wait_alloc() - allocate a wait that is in no list
 * @f: open context
 * @cmd: command; the command and the caller get a reference each
 *
 * Return: wait, or ERR_PTR: -ENOSPC, -EDQUOT, -ENOMEM. Context: may sleep.
 */
struct rmc_wait *rmc_wait_alloc(struct rmc_file *f, struct io_uring_cmd *cmd)
{
	struct rmc_wait *wait;
	int err, i;

	err = rmc_charge_wait(f);
	if (err)
		return ERR_PTR(err);
	wait = kzalloc(sizeof(*wait), GFP_KERNEL_ACCOUNT);
	if (!wait) {
		rmc_uncharge_wait(f);
		return ERR_PTR(-ENOMEM);
	}
	/* one of the command, one of the caller */
	refcount_set(&wait->refs, 2);
	wait->file = f;
	wait->cmd = cmd;
	pdu_of(cmd)->wait = wait;
	for (i = 0; i < RMC_LINKS; i++) {
		INIT_LIST_HEAD(&wait->link[i].entry);
		wait->link[i].wait = wait;
	}
	return wait;
}

/**
 * rmc_wait_cancel() - cancel a command for io_uring
 * @cmd: command; io_uring's lock keeps it valid; io_uring repeats the call until completion
 * @issue_flags: io_uring's
 *
 * Return: 0. Context: does not sleep.
 */
int rmc_wait_cancel(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct rmc_wait *wait = pdu_of(cmd)->wait;
	struct rmc_file *f = wait->file;
	bool ours;

	spin_lock(&f->waits_lock);
	ours = claim(wait, -ECANCELED);
	spin_unlock(&f->waits_lock);
	if (ours)
		done(cmd, issue_flags);
	return 0;
}
