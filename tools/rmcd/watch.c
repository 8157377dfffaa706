// SPDX-License-Identifier: GPL-2.0
/* Records events of nodes and links for those who watch them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "file.h"
#include "watch.h"

/*
 * Records in a pipe, as in kmod/dev/watch.c; the last place is for the record of an overflow. A
 * page: also a user who has many pipes gets that much.
 */
#define RING	128

/**
 * struct rmcd_watcher - an event file
 * @next: in rmcd.watcher
 * @file: open context that it belongs to; NULL: none, or closed
 * @node: node whose events are recorded
 * @uid: user who opened it
 * @types: bit n: events of type n
 * @fd: write end of its pipe, nonblocking; the client cannot change that
 * @lost: events that were not recorded since the last overflow record
 */
struct rmcd_watcher {
	struct rmcd_watcher *next;
	struct rmcd_file *file;
	struct rmc_node *node;
	uid_t uid;
	u32 types;
	int fd;
	u32 lost;
};

static u32 records(const struct rmcd_watcher *w)
{
	int bytes;

	return ioctl(w->fd, FIONREAD, &bytes) ? RING : bytes / sizeof(struct rmc_node_event);
}

static bool put(const struct rmcd_watcher *w, const struct rmc_node_event *ev)
{
	return write(w->fd, ev, sizeof(*ev)) == sizeof(*ev);
}

/*
 * The last place gets an overflow record, so that the reader queries the states again. What is
 * lost while it has not read that is reported by the next overflow record.
 */
static void record(struct rmcd_watcher *w, const struct rmc_node_event *ev)
{
	struct rmc_node_event overflow = { .type = RMC_EVENT_OVERFLOW, .time_ns = ev->time_ns };
	u32 used = records(w);

	if (used >= RING || used + 1 + !!w->lost >= RING) {
		overflow.lost = w->lost + 1;
		w->lost = used < RING && put(w, &overflow) ? 0 : w->lost + 1;
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
		struct pollfd p = { .fd = w->fd };

		if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLERR)) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		if (w->file)
			w->file->watcher = NULL;
		d->watchers--;
		close(w->fd);
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
 * Return: read end of a pipe, the caller's; -EBUSY @f has one, -ENOSPC too many, -ENOMEM,
 * -EMFILE.
 */
int rmcd_watcher_open(struct rmcd *d, struct rmcd_file *f, struct rmc_node *node, uid_t uid,
		      u32 types, bool nonblock)
{
	struct rmcd_watcher *w;
	int fds[2], err = 0;

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
	if (pipe2(fds, O_CLOEXEC)) {
		err = -errno;
		free(w);
		return err;
	}
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	if (nonblock)
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
	w->file = f;
	w->node = node;
	w->uid = uid;
	w->types = types ?: ~0U;
	w->fd = fds[1];
	pthread_mutex_lock(&d->watch_lock);
	w->next = d->watcher;
	d->watcher = w;
	d->watchers++;
	pthread_mutex_unlock(&d->watch_lock);
	if (f)
		f->watcher = w;
	return fds[0];
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
		close(w->fd);
		free(w);
	}
}
