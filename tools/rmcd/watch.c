// SPDX-License-Identifier: GPL-2.0
/* Records events of nodes and links for those who watch them. */
#include <errno.h>
#include <unistd.h>
#include "file.h"
#include "watch.h"

/*
 * Unread records, as in kmod/dev/watch.c; the last place is for the record of an overflow. They
 * take about 100 KiB of the kernel: less than half of what any socket may have.
 */
#define RING	128

/**
 * struct rmcd_watcher - an event file
 * @next: in rmcd.watcher
 * @file: open context that it belongs to; NULL: none, or closed
 * @node: node whose events are recorded
 * @uid: user who opened it
 * @types: bit n: events of type n
 * @report: socket at whose other end the client reads
 * @lost: events that were not recorded since the last overflow record
 */
struct rmcd_watcher {
	struct rmcd_watcher *next;
	struct rmcd_file *file;
	struct rmc_node *node;
	uid_t uid;
	u32 types;
	struct rmcd_report report;
	u32 lost;
};

static bool put(const struct rmcd_watcher *w, const struct rmc_node_event *ev)
{
	return rmcd_report_send(&w->report, ev, sizeof(*ev));
}

/*
 * The last place gets an overflow record, so that the reader queries the states again. What is
 * lost while it has not read that is reported by the next overflow record.
 */
static void record(struct rmcd_watcher *w, const struct rmc_node_event *ev)
{
	struct rmc_node_event overflow = { .type = RMC_EVENT_OVERFLOW, .time_ns = ev->time_ns };
	u32 used = rmcd_report_unread(&w->report), ring = w->report.places;

	if (used >= ring || used + 1 + !!w->lost >= ring) {
		overflow.lost = w->lost + 1;
		w->lost = used < ring && put(w, &overflow) ? 0 : w->lost + 1;
		return;
	}
	if (w->lost) {
		overflow.lost = w->lost;
		if (!put(w, &overflow)) {
			w->lost++;
			return;
		}
		w->lost = 0;
	}
	if (!put(w, ev))
		w->lost++;
}

/**
 * rmc_os_node_event() - record an event of a node or link
 * @node: node that noticed it
 * @type: enum rmc_event_type
 * @nid: node of the event
 * @epoch: epoch of @nid
 *
 * Context: worker.
 */
void rmc_os_node_event(struct rmc_node *node, u32 type, u32 nid, u32 epoch)
{
	struct rmcd *d = rmcd_worker_of(node->head->req_worker)->d;
	struct rmc_node_event ev = {
		.type = type,
		.nid = nid,
		.epoch = epoch,
		.time_ns = rmc_os_now_ns(),
	};
	struct rmcd_watcher *w;

	if (type == RMC_EVENT_FENCED)
		rmcd_log("node %u was taken over by another process while this one stood still: rmcctl node up %u lets it join again when that one is gone",
			 nid, nid);
	pthread_mutex_lock(&d->watch_lock);
	for (w = d->watcher; w; w = w->next)
		if (w->node == node && w->types & (1U << type))
			record(w, &ev);
	pthread_mutex_unlock(&d->watch_lock);
}

/* Frees event files whose reader has gone. */
static void sweep(struct rmcd *d)
{
	struct rmcd_watcher **link = &d->watcher, *w;

	while ((w = *link)) {
		if (!rmcd_report_hung_up(&w->report)) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		if (w->file)
			w->file->watcher = NULL;
		d->watchers--;
		close(w->report.fd);
		free(w);
	}
}

static bool may_watch(const struct rmcd *d, uid_t uid)
{
	const struct rmcd_watcher *w;
	u32 own = 0;

	for (w = d->watcher; w; w = w->next)
		own += w->uid == uid;
	return d->watchers < RMCD_MAX_WATCHES && (!uid || own < RMCD_MAX_USER_WATCHES);
}

/**
 * rmcd_watcher_open() - create an event file
 * @d: daemon
 * @f: open context that it belongs to, or NULL
 * @node: local node whose events are recorded
 * @uid: user
 * @types: see struct rmc_watch
 * @nonblock: read() does not wait
 *
 * Return: the client's end of a socket, the caller's; -EBUSY @f has one, -ENOSPC too many,
 * -ENOMEM, -EMFILE.
 */
int rmcd_watcher_open(struct rmcd *d, struct rmcd_file *f, struct rmc_node *node, uid_t uid,
		      u32 types, bool nonblock)
{
	struct rmcd_watcher *w;
	int fd, err = 0;

	pthread_mutex_lock(&d->watch_lock);
	sweep(d);
	if (f && f->watcher)
		err = -EBUSY;
	else if (!may_watch(d, uid))
		err = -ENOSPC;
	pthread_mutex_unlock(&d->watch_lock);
	if (err)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	fd = rmcd_report_open(&w->report, sizeof(struct rmc_node_event), RING, nonblock);
	if (fd < 0) {
		free(w);
		return fd;
	}
	w->file = f;
	w->node = node;
	w->uid = uid;
	w->types = types ?: ~0U;
	pthread_mutex_lock(&d->watch_lock);
	w->next = d->watcher;
	d->watcher = w;
	d->watchers++;
	pthread_mutex_unlock(&d->watch_lock);
	if (f)
		f->watcher = w;
	return fd;
}

/**
 * rmcd_watcher_detach() - detach the event file from its context, which is being closed
 * @f: file; its event file keeps working
 */
void rmcd_watcher_detach(struct rmcd_file *f)
{
	pthread_mutex_lock(&f->d->watch_lock);
	if (f->watcher)
		f->watcher->file = NULL;
	pthread_mutex_unlock(&f->d->watch_lock);
	f->watcher = NULL;
}

/**
 * rmcd_watchers_free() - close all event files: their readers see the end
 * @d: daemon; its workers are stopped
 */
void rmcd_watchers_free(struct rmcd *d)
{
	struct rmcd_watcher *w;

	while ((w = d->watcher)) {
		d->watcher = w->next;
		if (w->file)
			w->file->watcher = NULL;
		close(w->report.fd);
		free(w);
	}
}
