// SPDX-License-Identifier: GPL-2.0
/*
 * Arms events of the core, and signals their sleepers' eventfds.
 *
 * The other end of such an eventfd is a client, which can fill it and make writing to it
 * wait. So it is written only after poll() has said that there is room: a full one is readable
 * already. Between the two a client may still fill it; then the watchdog interrupts the write.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "closing.h"
#include "file.h"
#include "guard.h"
#include "received.h"
#include "watchdog.h"

/* As in kmod/dev/waiter.c: a wake-up longer than this was of very many sleepers */
#define SLOW_NS		(50 * 1000ULL)
#define SLOW_MAX_NS	(4 * 1000000000ULL)
#define SLOW_FACTOR	256

static void signal_eventfd(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	rmcd_block_begin();
	eventfd_write(fd, 1);
	rmcd_block_end();
}

/* Does not wait; a full one is readable. */
static void report(struct rmcd_file *f)
{
	rmcd_report_send(&f->report, "", 1);
}

static void wake_sleepers(struct rmcd_waiter *w)
{
	signal_eventfd(w->eventfd);
	report(w->file);
}

/* Hand it to the main thread. */
static void owe(struct rmcd_waiter *w)
{
	struct rmcd *d = w->file->d;

	/* pairs with the release in rmcd_waiters_owed(), which has read next_owed */
	if (__atomic_exchange_n(&w->owed, 1, __ATOMIC_ACQ_REL))
		return;
	w->next_owed = __atomic_load_n(&d->owed, __ATOMIC_RELAXED);
	/* pairs with the exchange in rmcd_waiters_owed() */
	while (!__atomic_compare_exchange_n(&d->owed, &w->next_owed, w, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	eventfd_write(d->event, 1);
}

/**
 * rmcd_waiters_owed() - signal what workers left to the main thread
 * @d: daemon
 *
 * Context: main thread.
 */
void rmcd_waiters_owed(struct rmcd *d)
{
	/* pairs with the release in owe() */
	struct rmcd_waiter *w = __atomic_exchange_n(&d->owed, NULL, __ATOMIC_ACQUIRE), *next;

	for (; w; w = next) {
		next = w->next_owed;
		/* from here on the worker may add it again */
		__atomic_store_n(&w->owed, 0, __ATOMIC_RELEASE);
		wake_sleepers(w);
	}
}

/**
 * rmc_os_event() - an armed event happened
 * @e: event
 *
 * Context: the event's worker.
 */
void rmc_os_event(struct rmc_event *e)
{
	struct rmcd_waiter *w = e->owner;
	struct rmcd_context *ctx;
	u64 begin, took;

	if (!w->armed)
		return;
	w->armed = false;
	WRITE_ONCE(w->reported, true);
	ctx = w->file->ctx;
	begin = rmc_os_now_ns();
	if (begin < READ_ONCE(ctx->wake_later_ns)) {
		owe(w);
		return;
	}
	wake_sleepers(w);
	took = min_t(u64, rmc_os_now_ns() - begin, SLOW_MAX_NS);
	if (unlikely(took > SLOW_NS))
		WRITE_ONCE(ctx->wake_later_ns, begin + took * SLOW_FACTOR);
}

/**
 * rmcd_waiter_init() - bind an event to a file
 * @w: waiter
 * @e: event, not yet used by a worker
 * @f: file
 * @worker: worker of the event
 */
void rmcd_waiter_init(struct rmcd_waiter *w, struct rmc_event *e, struct rmcd_file *f,
		      struct rmc_ni_worker *worker)
{
	w->event = e;
	w->file = f;
	w->worker = worker;
	w->eventfd = -1;
	w->guard = -1;
	/* of a segment, this may be the second one of its file */
	w->reported = false;
	e->owner = w;
}

/**
 * rmcd_waiter_detach() - an event cannot happen any more
 * @w: waiter; the caller is the event's worker
 *
 * rmcd_waiter_release() has to follow.
 */
void rmcd_waiter_detach(struct rmcd_waiter *w)
{
	w->reported |= w->armed;
	w->armed = false;
}

/* The eventfd is not signalled any more. */
static void drop_eventfd(struct rmcd_file *f, int fd)
{
	if (fd < 0)
		return;
	rmcd_close_elsewhere(f->peer.uid, RMCD_JOB_CLOSE, &fd, 1);
	rmcd_watchdog_disarm(f->d);
}

/**
 * rmcd_waiter_release() - wake the sleepers of an event that cannot happen any more
 * @w: waiter, after rmcd_waiter_detach()
 */
void rmcd_waiter_release(struct rmcd_waiter *w)
{
	rmcd_waiters_owed(w->file->d);
	if (w->reported)
		wake_sleepers(w);
	rmcd_guard_eventfd_gone(w->guard);
	drop_eventfd(w->file, w->eventfd);
	w->eventfd = -1;
}

struct arming {
	struct rmcd_waiter *waiter;
	int eventfd;	/* in: new one; out: previous one */
	u32 seen;
	u32 count;
	bool now;
};

static int arm(void *arg)
{
	struct arming *a = arg;
	struct rmcd_waiter *w = a->waiter;
	int fd = w->eventfd;

	w->eventfd = a->eventfd;
	a->eventfd = fd;
	a->count = w->event->count;
	a->now = !rmc_event_arm(w->event, a->seen);
	w->armed = !a->now;
	WRITE_ONCE(w->reported, a->now);
	return 0;
}

static bool qp_reported(const struct rmcd_qp *q)
{
	return READ_ONCE(q->waiter.reported) ||
	       (q->core >= 0 && READ_ONCE(q->arrivals.reported)) ||
	       (q->attached && READ_ONCE(q->senders.reported));
}

/*
 * The client has emptied its report socket before it armed: what else has been reported to it,
 * and it has not armed again, must be reported once more.
 */
static void report_again(struct rmcd_file *f)
{
	bool reported = f->seg && READ_ONCE(f->seg_waiter.reported);
	u32 i;

	for (i = 0; i < RMC_MAX_QPS && !reported; i++)
		reported = f->qp[i] && qp_reported(f->qp[i]);
	if (reported)
		report(f);
}

/**
 * rmcd_waiter_arm() - report the next occurrence of an event
 * @w: waiter
 * @seen: count of the event that the client has seen
 * @eventfd: eventfd to signal as well, or -1; on success it is the waiter's
 * @count: out, count of the event; may be NULL
 *
 * Sleepers of an event that happened already are woken at once.
 *
 * Return: 0, -EINVAL not an eventfd.
 */
int rmcd_waiter_arm(struct rmcd_waiter *w, u32 seen, int eventfd, u32 *count)
{
	struct arming a = { .waiter = w, .seen = seen, .eventfd = eventfd };
	struct rmcd *d = w->file->d;

	if (eventfd >= 0) {
		/* nothing else: writing to a pipe, for example, would carry data */
		if (!rmcd_is_eventfd(eventfd))
			return -EINVAL;
		rmcd_watchdog_arm(d);
	}
	/* those owed belong to the eventfd that is replaced */
	rmcd_waiters_owed(d);
	rmcd_call(w->worker, arm, &a);
	rmcd_waiters_owed(d);
	rmcd_guard_eventfd_gone(w->guard);
	w->guard = eventfd >= 0 ? rmcd_guard_eventfd(eventfd) : -1;
	drop_eventfd(w->file, a.eventfd);
	if (a.now)
		wake_sleepers(w);
	else
		report_again(w->file);
	if (count)
		*count = a.count;
	return 0;
}
