// SPDX-License-Identifier: GPL-2.0
/* Event files: see watch.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include "../base/compat.h"
#include "../member/member.h"
#include "file.h"
#include "uring_wait.h"
#include "watch.h"

/*
 * Records a file holds before it overflows; all nodes of a usual fabric may join and leave
 * between two reads.
 */
#define RING	128

/**
 * struct rmc_watcher - an event file
 * @entry: in watchers
 * @node: node whose events are recorded
 * @types: bit n set: events of type n are recorded
 * @file: open context that it was created from; NULL: none, or closed
 * @uid: user who created it
 * @reading: held by the one reader that takes records
 * @report: work item that wakes readers and pollers and finishes commands
 * @wait: readers and pollers
 * @waits: io_uring commands; guarded by the context's waits_lock as well
 * @fired: commands that are being finished; guarded likewise
 * @head: number of records taken; free-running
 * @tail: number of records added; free-running
 * @ring: records
 *
 * All but @reading is guarded by watch_lock; @head moves with both held.
 */
struct rmc_watcher {
	struct list_head entry;
	struct rmc_node *node;
	u32 types;
	struct rmc_file *file;
	kuid_t uid;
	struct mutex reading;	/* see above */
	struct work_struct report;
	wait_queue_head_t wait;
	struct list_head waits;
	struct list_head fired;
	u32 head;
	u32 tail;
	struct rmc_node_event ring[RING];
};

/*
 * Workers record under it: the holder must not sleep or take long. At an event a worker
 * visits all event files, RMC_MAX_WATCHES at most, in constant time each: it adds a record
 * and queues the work item that wakes the readers. All other holders do one step, except
 * may_watch(), which counts the event files.
 */
static DEFINE_SPINLOCK(watch_lock);
static LIST_HEAD(watchers);

static struct rmc_node_event *slot(struct rmc_watcher *w, u32 pos)
{
	return &w->ring[pos % RING];
}

/*
 * The last slot is for the overflow record, which counts lost events until it is read.
 */
static void record(struct rmc_watcher *w, const struct rmc_node_event *ev)
{
	u32 used = w->tail - w->head;

	lockdep_assert_held(&watch_lock);
	if (used == RING) {
		slot(w, w->tail - 1)->lost++;
		return;
	}
	*slot(w, w->tail) = *ev;
	if (used == RING - 1) {
		slot(w, w->tail)->type = RMC_EVENT_OVERFLOW;
		slot(w, w->tail)->lost = 1;
	}
	w->tail++;
}

/**
 * rmc_os_node_event() - record an event of a node or link
 * @node: node that noticed it
 * @type: enum rmc_event_type
 * @nid: node of the event
 * @epoch: epoch of @nid
 *
 * Context: worker; does not sleep.
 */
void rmc_os_node_event(struct rmc_node *node, u32 type, u32 nid, u32 epoch)
{
	struct rmc_node_event ev = {
		.type = type,
		.nid = nid,
		.epoch = epoch,
		.time_ns = ktime_get_ns(),
	};
	struct rmc_watcher *w;

	if (type == RMC_EVENT_FENCED)
		pr_err("node %u was taken over by another kernel while this one stood still: let it join again when that one is gone (rmcctl node up %u), or load the module again under another id\n",
		       nid, nid);
	trace_rmc_node_event(node->nid, type, nid, epoch);
	spin_lock(&watch_lock);
	list_for_each_entry(w, &watchers, entry) {
		if (w->node != node || !(w->types & (1U << type)))
			continue;
		record(w, &ev);
		queue_work(rmc_unbound_wq, &w->report);
	}
	spin_unlock(&watch_lock);
}

/*
 * Finishes the first command of a list. A command in a list keeps the context open; its
 * memory stays while we hold the lock, which rmc_watcher_detach() takes.
 */
static bool finish_one(struct rmc_watcher *w, struct list_head *waits, int error)
{
	bool any;

	spin_lock(&watch_lock);
	any = !list_empty(waits) && rmc_waits_finish_one(w->file, waits, error);
	spin_unlock(&watch_lock);
	return any;
}

/* A work item, so that no worker waits for it, whatever the number of commands. */
static void report(struct work_struct *work)
{
	struct rmc_watcher *w = container_of(work, struct rmc_watcher, report);

	/* recorded before this; pairs with poll_wait() before readable() */
	wake_up(&w->wait);
	spin_lock(&watch_lock);
	if (!list_empty(&w->waits))
		rmc_waits_move(w->file, &w->waits, &w->fired);
	spin_unlock(&watch_lock);
	while (finish_one(w, &w->fired, 0))
		cond_resched();
}

static bool readable(struct rmc_watcher *w)
{
	return READ_ONCE(w->head) != READ_ONCE(w->tail);
}

static bool peek(struct rmc_watcher *w, struct rmc_node_event *ev)
{
	bool any;

	spin_lock(&watch_lock);
	any = readable(w);
	if (any)
		*ev = *slot(w, w->head);
	spin_unlock(&watch_lock);
	return any;
}

/* Removes a record that the reader has; more events may have been lost meanwhile. */
static void taken(struct rmc_watcher *w, const struct rmc_node_event *ev)
{
	struct rmc_node_event *first;

	spin_lock(&watch_lock);
	first = slot(w, w->head);
	if (first->lost != ev->lost)
		first->lost -= ev->lost;
	else
		WRITE_ONCE(w->head, w->head + 1);
	spin_unlock(&watch_lock);
}

static ssize_t take_all(struct rmc_watcher *w, struct iov_iter *to)
{
	struct rmc_node_event ev;
	ssize_t done = 0;

	lockdep_assert_held(&w->reading);
	while (iov_iter_count(to) >= sizeof(ev) && peek(w, &ev)) {
		if (copy_to_iter(&ev, sizeof(ev), to) != sizeof(ev))
			return done ?: -EFAULT;
		taken(w, &ev);
		done += sizeof(ev);
	}
	return done;
}

static ssize_t watch_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct rmc_watcher *w = iocb->ki_filp->private_data;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT || iocb->ki_filp->f_flags & O_NONBLOCK;
	ssize_t done;
	int err;

	if (iov_iter_count(to) < sizeof(struct rmc_node_event))
		return -EINVAL;
	for (;;) {
		if (!nowait) {
			err = wait_event_interruptible(w->wait, readable(w));
			if (err)
				return err;
			err = mutex_lock_interruptible(&w->reading);
			if (err)
				return err;
		} else if (!mutex_trylock(&w->reading)) {
			return -EAGAIN;
		}
		done = take_all(w, to);
		mutex_unlock(&w->reading);
		if (done)
			return done;
		if (nowait)
			return -EAGAIN;
	}
}

static __poll_t watch_poll(struct file *file, poll_table *table)
{
	struct rmc_watcher *w = file->private_data;

	poll_wait(file, &w->wait, table);
	return readable(w) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int watch_release(struct inode *inode, struct file *file)
{
	struct rmc_watcher *w = file->private_data;

	spin_lock(&watch_lock);
	list_del(&w->entry);
	if (w->file)
		w->file->watcher = NULL;
	spin_unlock(&watch_lock);
	cancel_work_sync(&w->report);
	while (finish_one(w, &w->waits, -ESHUTDOWN) || finish_one(w, &w->fired, -ESHUTDOWN))
		cond_resched();
	kfree(w);
	return 0;
}

static const struct file_operations watch_fops = {
	.owner = THIS_MODULE,
	.read_iter = watch_read,
	.poll = watch_poll,
	.release = watch_release,
	.llseek = noop_llseek,
};

/* True if there is room for one more. Users other than administrators have a limit. */
static bool may_watch(const struct rmc_watcher *new, bool admin)
{
	struct rmc_watcher *w;
	u32 all = 0, own = 0;

	lockdep_assert_held(&watch_lock);
	list_for_each_entry(w, &watchers, entry) {
		all++;
		own += uid_eq(w->uid, new->uid);
	}
	return all < RMC_MAX_WATCHES && (admin || own < RMC_MAX_USER_WATCHES);
}

/**
 * rmc_watcher_open() - create an event file
 * @f: open context that it belongs to, or NULL
 * @node: local node whose events are recorded
 * @types: see struct rmc_watch
 * @nonblock: read() does not wait
 *
 * Return: file, or ERR_PTR: -EBUSY @f has one, -ENOSPC too many, -ENOMEM, -ENFILE.
 * Context: may sleep.
 */
struct file *rmc_watcher_open(struct rmc_file *f, struct rmc_node *node, u32 types,
			      bool nonblock)
{
	struct rmc_watcher *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	bool admin = capable(CAP_SYS_ADMIN);
	struct file *file;
	int err = 0;

	if (!w)
		return ERR_PTR(-ENOMEM);
	w->node = node;
	w->uid = current_uid();
	w->types = types ?: ~0U;
	mutex_init(&w->reading);
	init_waitqueue_head(&w->wait);
	INIT_LIST_HEAD(&w->entry);
	INIT_LIST_HEAD(&w->waits);
	INIT_LIST_HEAD(&w->fired);
	INIT_WORK(&w->report, report);
	file = anon_inode_getfile("[rmc-events]", &watch_fops, w,
				  O_RDONLY | (nonblock ? O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		kfree(w);
		return file;
	}
	file->f_mode |= FMODE_NOWAIT;
	spin_lock(&watch_lock);
	if (f && f->watcher) {
		err = -EBUSY;
	} else if (!may_watch(w, admin)) {
		err = -ENOSPC;
	} else {
		list_add(&w->entry, &watchers);
		w->file = f;
		if (f)
			f->watcher = w;
	}
	spin_unlock(&watch_lock);
	if (err) {
		fput(file);
		return ERR_PTR(err);
	}
	return file;
}

/**
 * rmc_watcher_detach() - detach the event file from its context, which is being closed
 * @f: file that is not used any more; its event file keeps working
 *
 * Context: does not sleep.
 */
void rmc_watcher_detach(struct rmc_file *f)
{
	spin_lock(&watch_lock);
	if (f->watcher)
		f->watcher->file = NULL;
	spin_unlock(&watch_lock);
}

/**
 * rmc_watcher_wait() - make an io_uring command wait for a record
 * @f: open context
 * @l: link of the command
 *
 * Return: true: the command waits, or is finished already; false: @f has no event file.
 * Context: does not sleep.
 */
bool rmc_watcher_wait(struct rmc_file *f, struct rmc_wait_link *l)
{
	struct rmc_watcher *w;

	spin_lock(&watch_lock);
	w = f->watcher;
	if (w && readable(w))
		rmc_waits_finish(l);
	else if (w)
		rmc_waits_add(&w->waits, l);
	spin_unlock(&watch_lock);
	return w;
}
