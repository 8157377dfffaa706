// SPDX-License-Identifier: GPL-2.0
/* Arms events of the core, and wakes their sleepers. */
#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/workqueue.h>
#include "../base/compat.h"
#include "waiter.h"
#include "context.h"
#include "file.h"
#include "uring_wait.h"
#include "../run/worker.h"

/*
 * Waits finished at once, at an event or in one call on the worker. Each takes some tenths
 * of a microsecond; an event rarely has more.
 */
#define WAITS_PER_CALL	4

/*
 * A wake-up by the worker of more than SLOW_NS was of very many sleepers, or the host took the
 * CPU away. Wake-ups of a context then cost the worker less than 1 / SLOW_FACTOR of its time. One
 * of SLOW_MAX_NS would visit tens of millions of sleepers, more than memory is allowed for.
 */
#define SLOW_NS		(50 * NSEC_PER_USEC)
#define SLOW_MAX_NS	(4 * NSEC_PER_SEC)
#define SLOW_FACTOR	256

/* The workers of the file's node change each count; poll() reads it. */
static void set_signalled(struct rmc_waiter *w, bool signalled)
{
	atomic_t *count = &w->file->signalled[w->kind];

	if (w->signalled == signalled)
		return;
	w->signalled = signalled;
	atomic_add(signalled ? 1 : -1, count);
}

/* Takes as long as there are sleepers, whose number nothing bounds but their descriptors. */
static void wake_sleepers(struct rmc_waiter *w)
{
	struct eventfd_ctx *owed = xchg(&w->owed, NULL);

	if (owed)
		rmc_eventfd_signal(owed);
	/*
	 * signalled, or gone, is set before this; pairs with poll_wait() before the read of
	 * them. Without a key: io_uring ignores a wakeup whose key is only EPOLLPRI.
	 */
	wake_up(&w->file->wait);
}

static void wake_later(struct work_struct *work)
{
	wake_sleepers(container_of(work, struct rmc_waiter, wake));
}

/*
 * On the worker: a process may poll one file through any number of descriptors and epoll
 * instances, and all others would wait meanwhile. So after a wake-up that took long, those of
 * the same context are left to work items for SLOW_FACTOR times as long. Of the context, since
 * only root makes new ones.
 */
static void wake_from_worker(struct rmc_waiter *w)
{
	struct rmc_context *ctx = w->file->ctx;
	u64 begin, took;

	begin = rmc_os_now_ns();
	if (begin < READ_ONCE(ctx->wake_later_ns)) {
		queue_work(rmc_unbound_wq, &w->wake);
		return;
	}
	/* what a woken process does on this CPU does not count, where spinlocks do not sleep */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	wake_sleepers(w);
	took = min_t(u64, rmc_os_now_ns() - begin, SLOW_MAX_NS);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	if (unlikely(took > SLOW_NS))
		WRITE_ONCE(ctx->wake_later_ns, begin + took * SLOW_FACTOR);
}

/* Reported: the sleepers are to be woken. */
static void report(struct rmc_waiter *w)
{
	w->polling = false;
	set_signalled(w, true);
	/* pairs with the xchg() in wake_sleepers() and arm(): one of them signals it */
	xchg(&w->owed, w->eventfd);
}

/* Finishes a few of the fired waits; a posted call finishes the others after a visit. */
static void finish_some(struct rmc_waiter *w)
{
	bool any = true;
	u32 i;

	for (i = 0; i < WAITS_PER_CALL && any; i++)
		any = rmc_waits_finish_one(w->file, &w->fired, 0);
	any = any && !list_empty(&w->fired);
	if (any)
		rmc_worker_post(w->ni, &w->more);
	/* after false rmc_waiter_release() does not wait for us: last access to the waiter */
	WRITE_ONCE(w->firing, any);
}

static int finish_more(void *arg)
{
	finish_some(arg);
	return 0;
}

/**
 * rmc_os_event() - an armed event happened
 * @e: event
 *
 * Context: the event's worker; does not sleep.
 */
void rmc_os_event(struct rmc_event *e)
{
	struct rmc_waiter *w = e->owner;

	if (w->polling) {
		report(w);
		wake_from_worker(w);
	}
	/* only the worker adds to the list */
	if (list_empty(&w->waits))
		return;
	rmc_waits_move(w->file, &w->waits, &w->fired);
	if (!w->firing)
		finish_some(w);
}

/**
 * rmc_waiter_init() - bind an event to a file
 * @w: waiter
 * @e: event, not yet used by a worker
 * @f: file
 * @kind: which poll() flag reports it
 * @ni: worker of the event
 */
void rmc_waiter_init(struct rmc_waiter *w, struct rmc_event *e, struct rmc_file *f,
		     enum rmc_waiter_kind kind, struct rmc_ni_worker *ni)
{
	w->file = f;
	w->kind = kind;
	w->ni = ni;
	INIT_LIST_HEAD(&w->waits);
	INIT_LIST_HEAD(&w->fired);
	w->more.fn = finish_more;
	w->more.arg = w;
	INIT_WORK(&w->wake, wake_later);
	e->owner = w;
}

/**
 * rmc_waiter_detach() - an event cannot happen any more
 * @w: waiter; the caller is the event's worker
 *
 * rmc_waiter_release() has to follow, and wakes the sleepers.
 * Context: does not sleep.
 */
void rmc_waiter_detach(struct rmc_waiter *w)
{
	if (!w->polling && !w->signalled)
		return;
	WRITE_ONCE(w->file->gone, true);
	if (w->polling)
		xchg(&w->owed, w->eventfd);
	w->polling = false;
	set_signalled(w, false);
	w->gone = true;
}

static int nothing(void *arg)
{
	return 0;
}

/**
 * rmc_waiter_release() - wake the sleepers of an event that cannot happen any more, and
 *	release its eventfd
 * @w: waiter, after rmc_waiter_detach()
 *
 * Wakes processes in poll(), signals the eventfd if it was armed, and finishes the waits.
 * Context: may sleep; not on a worker.
 */
void rmc_waiter_release(struct rmc_waiter *w)
{
	while (rmc_waits_finish_one(w->file, &w->waits, -ESHUTDOWN) ||
	       rmc_waits_finish_one(w->file, &w->fired, -ESHUTDOWN))
		cond_resched();
	/* a posted call finds the lists empty, and posts no other */
	if (READ_ONCE(w->firing))
		rmc_worker_call(w->ni, nothing, NULL);
	flush_work(&w->wake);
	if (w->gone)
		wake_sleepers(w);
	if (w->eventfd)
		eventfd_ctx_put(w->eventfd);
	w->eventfd = NULL;
}

/*
 * @eventfd: in: to signal; out: the previous one; @owed: its last signal, which nobody has sent
 * yet; @now: the event happened already
 */
struct arming {
	struct rmc_event *event;
	struct eventfd_ctx *eventfd;
	struct eventfd_ctx *owed;
	u32 seen;
	u32 count;
	bool now;
};

static int arm(void *arg)
{
	struct arming *a = arg;
	struct rmc_waiter *w = a->event->owner;

	a->owed = xchg(&w->owed, NULL);
	swap(w->eventfd, a->eventfd);
	set_signalled(w, false);
	a->count = a->event->count;
	a->now = !rmc_event_arm(a->event, a->seen);
	if (a->now)
		report(w);
	else
		w->polling = true;
	return 0;
}

/**
 * rmc_waiter_arm() - report the next occurrence of an event
 * @e: event with a waiter; stays valid meanwhile
 * @ni: worker of the event
 * @seen: count of the event that the caller has seen
 * @eventfd: eventfd to signal as well, or -1; any value
 * @count: out, count of the event; may be NULL
 *
 * Sleepers of an event that happened already are woken by the caller, who pays for it.
 *
 * Return: 0, -EBADF or -EINVAL not an eventfd. Context: may sleep; calls for one waiter
 * exclude each other.
 */
int rmc_waiter_arm(struct rmc_event *e, struct rmc_ni_worker *ni, u32 seen, int eventfd,
		   u32 *count)
{
	struct arming a = { .event = e, .seen = seen };
	struct rmc_waiter *w = e->owner;

	if (eventfd != -1) {
		a.eventfd = eventfd_ctx_fdget(eventfd);
		if (IS_ERR(a.eventfd))
			return PTR_ERR(a.eventfd);
	}
	rmc_worker_call(ni, arm, &a);
	if (a.owed)
		rmc_eventfd_signal(a.owed);
	if (a.now)
		wake_sleepers(w);
	if (a.eventfd) {
		/* a work item may have the previous eventfd, unless the new reference is to it */
		if (a.eventfd != w->eventfd)
			flush_work(&w->wake);
		eventfd_ctx_put(a.eventfd);
	}
	if (count)
		*count = a.count;
	return 0;
}
