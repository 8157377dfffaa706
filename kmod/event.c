// SPDX-License-Identifier: GPL-2.0
/* Arming events of the core and telling whoever sleeps for them. */
#include <linux/eventfd.h>
#include <linux/poll.h>
#include "compat.h"
#include "event.h"
#include "file.h"
#include "uring.h"
#include "worker.h"

/* Each count is changed by the workers of the file's node, and read by poll(). */
static void set_told(struct rmc_waiter *w, bool told)
{
	atomic_t *count = &w->file->told[w->kind];

	if (w->told == told)
		return;
	w->told = told;
	atomic_add(told ? 1 : -1, count);
}

static void tell_pollers(struct rmc_waiter *w)
{
	w->polling = false;
	set_told(w, true);
	if (w->eventfd)
		rmc_eventfd_signal(w->eventfd);
	/*
	 * Told before this; pairs with poll_wait() before the look at told.
	 * Without a key: io_uring takes no notice of one that is only EPOLLPRI.
	 */
	wake_up(&w->file->wait);
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

	if (w->polling)
		tell_pollers(w);
	rmc_waits_finish(&w->waits, 0);
}

/**
 * rmc_waiter_init() - tie an event to a file
 * @w: waiter
 * @e: event, not yet known to a worker
 * @f: file
 * @kind: how poll() tells
 */
void rmc_waiter_init(struct rmc_waiter *w, struct rmc_event *e, struct rmc_file *f,
		     enum rmc_waiter_kind kind)
{
	w->file = f;
	w->kind = kind;
	INIT_LIST_HEAD(&w->waits);
	e->owner = w;
}

/**
 * rmc_waiter_forget() - the event will not happen any more
 * @w: waiter; the caller is the event's worker
 *
 * Whoever sleeps is woken to find out. Context: does not sleep.
 */
void rmc_waiter_forget(struct rmc_waiter *w)
{
	w->polling = false;
	set_told(w, false);
	wake_up(&w->file->wait);
	rmc_waits_finish(&w->waits, -ESHUTDOWN);
}

/**
 * rmc_waiter_release() - give back what a forgotten waiter holds
 * @w: waiter that no worker knows
 *
 * Context: may sleep.
 */
void rmc_waiter_release(struct rmc_waiter *w)
{
	if (w->eventfd)
		eventfd_ctx_put(w->eventfd);
	w->eventfd = NULL;
}

struct arming {
	struct rmc_event *event;
	struct eventfd_ctx *eventfd;
	u32 seen;
	u32 count;
};

static int arm(void *arg)
{
	struct arming *a = arg;
	struct rmc_waiter *w = a->event->owner;

	swap(w->eventfd, a->eventfd);
	set_told(w, false);
	a->count = a->event->count;
	if (rmc_event_arm(a->event, a->seen))
		w->polling = true;
	else
		tell_pollers(w);
	return 0;
}

/**
 * rmc_waiter_arm() - tell the next time an event happens
 * @e: event with a waiter; cannot go away meanwhile
 * @ni: its worker
 * @seen: how often it happened for all the caller knows
 * @eventfd: to be told as well, or -1; any value
 * @count: out, how often it had happened; may be NULL
 *
 * Return: 0, -EBADF or -EINVAL not an eventfd. Context: may sleep.
 */
int rmc_waiter_arm(struct rmc_event *e, struct rmc_ni_worker *ni, u32 seen, int eventfd,
		   u32 *count)
{
	struct arming a = { .event = e, .seen = seen };

	if (eventfd != -1) {
		a.eventfd = eventfd_ctx_fdget(eventfd);
		if (IS_ERR(a.eventfd))
			return PTR_ERR(a.eventfd);
	}
	rmc_worker_call(ni, arm, &a);
	/* the one before */
	if (a.eventfd)
		eventfd_ctx_put(a.eventfd);
	if (count)
		*count = a.count;
	return 0;
}
