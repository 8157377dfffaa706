// SPDX-License-Identifier: GPL-2.0
/*
 * Connections. The main thread takes one message of each readable connection in turn, and does
 * not wait for clients: an answer that does not fit into its socket ends the connection.
 *
 *	listener --> struct conn --> RMCD_OPEN --> struct rmcd_file, or control
 *	                 |              RMC_IOC_*, RMCD_ATTR_*
 *	                 +-- pidfd of the process: its end releases the file's resources
 *
 * Mapping memory takes its time. Meanwhile the request belongs to a thread of the user, and no
 * further message of its connection is taken:
 *
 *	execute() --> struct deferred --> thread of the user --> done, OWED --> execute() again
 */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "closing.h"
#include "received.h"
#include "request.h"
#include "server.h"
#include "tx.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS	59
#endif

/* Connections of one user beside open contexts, for control */
#define SPARE_CONNECTIONS	64

/* No connection is accepted for this long when there is nothing to accept it with */
#define REST_MS			50

/* Of receive() */
#define NO_ROOM			2

struct conn;

/* What an entry of the epoll set is about */
struct source {
	enum { LISTENER, SIGNALS, OWED, MESSAGE, OWNER } kind;
	struct conn *conn;
};

/**
 * struct conn - a connection
 * @next: in server.conn
 * @link: pointer to this one
 * @fd: socket
 * @pidfd: process at the other end; -1: not possible
 * @peer: who it is
 * @user: user, for quotas
 * @file: open context; NULL: control, or not opened yet
 * @opened: RMCD_OPEN was answered
 * @dead: to be freed after the current round
 * @deferred: request that goes on elsewhere: @fd is not in the epoll set; NULL: none
 * @message: source of @fd
 * @owner: source of @pidfd
 */
struct conn {
	struct conn *next;
	struct conn **link;
	int fd;
	int pidfd;
	struct rmcd_peer peer;
	struct rmcd_user *user;
	struct rmcd_file *file;
	bool opened;
	bool dead;
	struct deferred *deferred;
	struct source message;
	struct source owner;
};

/**
 * struct deferred - a request whose memory another thread maps
 * @job: for that thread
 * @next: in done
 * @conn: connection; NULL: it has ended
 * @user: its user, if it has ended: counts as a connection until the request is done. Else NULL
 * @uid: the user
 * @event: rmcd.event, to say that it is done
 * @head: of the request
 * @req: request
 */
struct deferred {
	struct rmcd_job job;
	struct deferred *next;
	struct conn *conn;
	struct rmcd_user *user;
	uid_t uid;
	int event;
	struct rmcd_head head;
	struct rmcd_req req;
};

/* Requests whose memory is mapped; guarded by @done_lock */
static struct deferred *done;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;

/**
 * struct server - all connections
 * @d: daemon
 * @epoll: what the main thread waits for
 * @listener: listening socket
 * @accepts: source of @listener
 * @spare: a descriptor to give up; -1: could not be opened again
 * @rest_until_ns: @listener is not in the epoll set until then; 0: it is
 * @conn: connections
 * @dead: those to be freed
 */
struct server {
	struct rmcd *d;
	int epoll;
	int listener;
	struct source accepts;
	int spare;
	u64 rest_until_ns;
	struct conn *conn;
	struct conn *dead;
};

static int add_source(struct server *s, int fd, struct source *source)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = source };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Its sources may be in the current round of events: the memory is freed after that. */
static void conn_close(struct server *s, struct conn *c)
{
	if (c->dead)
		return;
	c->dead = true;
	if (c->file)
		rmcd_file_close(c->file);
	c->file = NULL;
	if (c->pidfd >= 0)
		close(c->pidfd);
	/* another thread may close it, some time later */
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	rmcd_close_connection(c->peer.uid, c->fd);
	if (c->deferred) {
		c->deferred->user = c->user;
		__atomic_store_n(&c->deferred->conn, NULL, __ATOMIC_RELAXED);
	} else {
		rmcd_user_put(s->d, c->user);
	}
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->next = s->dead;
	s->dead = c;
}

static void free_dead(struct server *s)
{
	struct conn *c;

	while ((c = s->dead)) {
		s->dead = c->next;
		free(c);
	}
}

static int get_peer(int fd, struct rmcd_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	peer->pid = cred.pid;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	len = sizeof(peer->groups);
	/* of one with more groups, none counts: the mode of a context may only grant less */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &len))
		peer->group_count = len / sizeof(gid_t);
	return 0;
}

/* The listener stays readable: without this the main thread would do nothing but try. */
static void rest(struct server *s)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listener, NULL);
	s->rest_until_ns = rmc_os_now_ns() + REST_MS * 1000000ULL;
}

/* Accepts again, once there is a spare descriptor. Returns how long to wait for that, in ms. */
static int end_of_rest(struct server *s)
{
	if (!s->rest_until_ns)
		return -1;
	if (rmc_os_now_ns() < s->rest_until_ns)
		return REST_MS;
	if (s->spare < 0)
		s->spare = eventfd(0, EFD_CLOEXEC);
	if (s->spare < 0 || add_source(s, s->listener, &s->accepts)) {
		s->rest_until_ns += REST_MS * 1000000ULL;
		return REST_MS;
	}
	s->rest_until_ns = 0;
	return -1;
}

/*
 * Without descriptors: take the next one off the queue nevertheless. Another thread may close it
 * some time later, and others may take the place of the spare one.
 */
static void refuse(struct server *s, int err)
{
	struct rmcd_peer peer = { .uid = -1 };
	int fd;

	if (err == EAGAIN || err == EINTR || err == ECONNABORTED)
		return;
	if ((err == EMFILE || err == ENFILE) && s->spare >= 0) {
		close(s->spare);
		fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			get_peer(fd, &peer);
			rmcd_close_connection(peer.uid, fd);
		}
		s->spare = eventfd(0, EFD_CLOEXEC);
		if (s->spare >= 0)
			return;
	}
	rest(s);
}

/*
 * A process of another pid namespace has no pid here, and one that has ended no descriptor: its
 * connection has to end. Any other needs it, since a child may keep the connection; but seccomp
 * profiles older than pidfd_open(2) refuse it to all.
 */
static int watch_owner(struct server *s, struct conn *c)
{
	static bool refused;

	c->pidfd = c->peer.pid > 0 ? syscall(SYS_pidfd_open, c->peer.pid, 0) : -1;
	if (c->pidfd >= 0)
		return add_source(s, c->pidfd, &c->owner);
	if (c->peer.pid <= 0 || errno == ESRCH)
		return 0;
	if (errno != EPERM && errno != ENOSYS)
		return -errno;
	if (!refused)
		rmcd_log("pidfd_open(2) is refused (%s): what a process holds is released when its connection closes, later than its end if a child of it has that",
			 strerror(errno));
	refused = true;
	return 0;
}

static void conn_accept(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uid_t uid = -1;
	struct conn *c;

	if (fd < 0) {
		refuse(s, errno);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c || get_peer(fd, &c->peer))
		goto err_peer;
	if (rmcd_closing_refused(c->peer.uid))
		goto err_free;
	c->user = rmcd_user_get(s->d, c->peer.uid);
	if (!c->user)
		goto err_free;
	if (c->peer.uid && c->user->refs > s->d->cfg.user[RMCD_RES_files] + SPARE_CONNECTIONS)
		goto err_user;
	c->fd = fd;
	c->message = (struct source){ MESSAGE, c };
	c->owner = (struct source){ OWNER, c };
	if (watch_owner(s, c) || add_source(s, fd, &c->message))
		goto err_owner;
	c->next = s->conn;
	c->link = &s->conn;
	if (s->conn)
		s->conn->link = &c->next;
	s->conn = c;
	return;

err_owner:
	if (c->pidfd >= 0)
		close(c->pidfd);
err_user:
	rmcd_user_put(s->d, c->user);
err_free:
	uid = c->peer.uid;
err_peer:
	free(c);
	rmcd_close_connection(uid, fd);
}

/* ---- messages ---- */

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(RMCD_MOST_FDS * sizeof(int))];
};

/* Returns how many there are: @fds has as many places as a message can carry. */
static u32 get_fds(struct msghdr *msg, int *fds)
{
	struct cmsghdr *c;
	u32 n = 0, more;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		more = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds + n, CMSG_DATA(c), more * sizeof(int));
		n += more;
	}
	return n;
}

/* Returns false when the connection has to end: more than any request has, or too many before. */
static bool take_fds(const struct conn *c, struct msghdr *msg, struct rmcd_req *r)
{
	int fds[RMCD_MOST_FDS];
	u32 n = get_fds(msg, fds);

	if (n > RMCD_MESSAGE_FDS || (n && rmcd_closing_refused(c->peer.uid))) {
		rmcd_close_received(c->peer.uid, fds, n);
		return false;
	}
	memcpy(r->fds, fds, n * sizeof(int));
	r->nfds = n;
	return true;
}

/*
 * Returns 1: a message; 0: none; -1: the connection has ended, or breaks the rules; NO_ROOM: a
 * message that obeys them, but we have no room for all of its descriptors.
 */
static int receive(struct conn *c, struct rmcd_head *head, struct rmcd_req *r)
{
	struct iovec iov[2] = {
		{ .iov_base = head, .iov_len = sizeof(*head) },
		{ .iov_base = r->arg, .iov_len = sizeof(r->arg) },
	};
	union control control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (!take_fds(c, &msg, r) || msg.msg_flags & MSG_TRUNC || n < (ssize_t)sizeof(*head) ||
	    head->ret || head->reserved)
		return -1;
	r->len = n - sizeof(*head);
	if (!(msg.msg_flags & MSG_CTRUNC))
		return head->fds == r->nfds ? 1 : -1;
	/* the space is enough for all that a message can have */
	return head->fds > r->nfds && head->fds <= RMCD_MESSAGE_FDS ? NO_ROOM : -1;
}

static int answer(struct conn *c, const struct rmcd_head *head, struct rmcd_req *r)
{
	struct iovec iov[2] = {
		{ .iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head) },
		{ .iov_base = r->arg, .iov_len = r->len },
	};
	union control control;
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *m;

	if (r->outs) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(r->outs * sizeof(int));
		m = CMSG_FIRSTHDR(&msg);
		m->cmsg_level = SOL_SOCKET;
		m->cmsg_type = SCM_RIGHTS;
		m->cmsg_len = CMSG_LEN(r->outs * sizeof(int));
		memcpy(CMSG_DATA(m), r->out, r->outs * sizeof(int));
	}
	return sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/*
 * The client may have closed what it has got already: then this is the last close. Not elsewhere:
 * the client's end of an event file, by whose close the next one is allowed. Only this end can put
 * anything into it, so that close waits for nothing.
 */
static void close_fds(uid_t uid, struct rmcd_req *r)
{
	u32 n = 0, i;

	rmcd_close_received(uid, r->fds, r->nfds);
	for (i = 0; i < r->outs; i++)
		if (r->close_at_once & (1U << i))
			close(r->out[i]);
		else if (r->close & (1U << i))
			r->out[n++] = r->out[i];
	rmcd_close_elsewhere(uid, RMCD_JOB_CLOSE, r->out, n);
}

static int do_open(struct server *s, struct conn *c, struct rmcd_req *r)
{
	struct rmcd_open open;

	if (r->len != sizeof(open))
		return -EINVAL;
	memcpy(&open, r->arg, sizeof(open));
	r->len = 0;
	if (open.version != RMCD_VERSION)
		return -EPROTO;
	if (open.flags)
		return -EOPNOTSUPP;
	if (open.ctx_id != -1) {
		struct rmcd_file *f = rmcd_file_open(s->d, &c->peer, c->user, open.ctx_id);

		if (IS_ERR(f))
			return (int)(intptr_t)f;
		c->file = f;
		r->close |= 1U << r->outs;
		r->out[r->outs++] = f->reader;
		f->reader = -1;
	} else {
		/* nothing is ever reported, but all answers look alike */
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		if (fd < 0)
			return -errno;
		r->close |= 1U << r->outs;
		r->out[r->outs++] = fd;
	}
	c->opened = true;
	open.pid = getpid();
	r->len = sizeof(open);
	memcpy(r->arg, &open, sizeof(open));
	return 0;
}

static int execute(struct server *s, struct conn *c, u32 request, struct rmcd_req *r)
{
	if (!c->opened)
		return request == RMCD_OPEN ? do_open(s, c, r) : -EPROTO;
	r->file = c->file;
	switch (request) {
	case RMCD_OPEN:
		return -EPROTO;
	case RMCD_ATTR_READ:
	case RMCD_ATTR_LIST:
	case RMCD_ATTR_WRITE:
		return rmcd_attr(r, request);
	default:
		return rmcd_execute(r, request);
	}
}

/*
 * Mappings have their files: this is not the last close, and takes no time. Other descriptors of
 * the message can be anything.
 */
static void close_mapped(struct rmcd_req *r)
{
	const struct rmcd_memory *memory = &r->reg.memory;
	u32 i;

	for (i = 0; i < memory->count; i++) {
		s32 which = memory->piece[i].fd;

		if (which == RMCD_PRIVATE || r->fds[which] < 0)
			continue;
		close(r->fds[which]);
		r->fds[which] = -1;
	}
}

/* Not the main thread. From here on @w belongs to that. */
static void put_done(struct deferred *w)
{
	int event = w->event;

	pthread_mutex_lock(&done_lock);
	w->next = done;
	done = w;
	pthread_mutex_unlock(&done_lock);
	/* the main thread may have freed @w */
	eventfd_write(event, 1);
}

/* A thread of the user */
static void map_memory(struct rmcd_job *job)
{
	struct deferred *w = (struct deferred *)job;

	if (__atomic_load_n(&w->conn, __ATOMIC_RELAXED))
		w->req.memory = rmcd_mem_create(&w->req.reg, w->req.fds);
	if (w->req.memory && !IS_ERR(w->req.memory))
		close_mapped(&w->req);
	put_done(w);
}

/* There is no such thread. */
static void map_nothing(struct rmcd_job *job)
{
	struct deferred *w = (struct deferred *)job;

	w->req.memory = ERR_PTR(-EAGAIN);
	put_done(w);
}

/* Returns false when out of memory or threads: nothing has changed. */
static bool defer(struct server *s, struct conn *c, const struct rmcd_head *head,
		  const struct rmcd_req *r)
{
	struct deferred *w = malloc(sizeof(*w));

	if (!w)
		return false;
	w->job.run = map_memory;
	w->job.fail = map_nothing;
	w->job.weight = max(r->nfds, 1U);
	w->conn = c;
	w->user = NULL;
	w->uid = c->peer.uid;
	w->event = s->d->event;
	w->head = *head;
	w->req = *r;
	c->deferred = w;
	if (rmcd_do_elsewhere(w->uid, RMCD_JOB_MAP, &w->job)) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
		return true;
	}
	c->deferred = NULL;
	free(w);
	return false;
}

/* Returns false when the connection has to end. */
static bool finish(struct conn *c, struct rmcd_head *head, struct rmcd_req *r, int ret)
{
	head->ret = ret;
	if (ret < 0)
		r->len = 0;
	head->fds = r->outs;
	return !answer(c, head, r);
}

static void handle_message(struct server *s, struct conn *c)
{
	struct rmcd_req r = { .d = s->d, .peer = &c->peer };
	struct rmcd_head head;
	int got = receive(c, &head, &r), ret;

	if (got > 0) {
		ret = got == NO_ROOM ? -EMFILE : execute(s, c, head.request, &r);
		if (ret == -EINPROGRESS) {
			if (defer(s, c, &head, &r))
				return;
			ret = -EAGAIN;
		}
		if (!finish(c, &head, &r, ret))
			got = -1;
	}
	close_fds(c->peer.uid, &r);
	if (got < 0)
		conn_close(s, c);
}

static void go_on(struct server *s, struct deferred *w)
{
	struct conn *c = w->conn;

	c->deferred = NULL;
	if (!finish(c, &w->head, &w->req, execute(s, c, w->head.request, &w->req)) ||
	    add_source(s, c->fd, &c->message))
		conn_close(s, c);
}

/* Requests whose memory is mapped, or whose connection has ended meanwhile */
static void handle_done(struct server *s)
{
	struct deferred *w, *next;

	pthread_mutex_lock(&done_lock);
	w = done;
	done = NULL;
	pthread_mutex_unlock(&done_lock);
	for (; w; w = next) {
		next = w->next;
		if (w->conn)
			go_on(s, w);
		else
			rmcd_user_put(s->d, w->user);
		/* that nobody has taken */
		if (w->req.memory && !IS_ERR(w->req.memory))
			rmcd_mem_destroy(w->req.memory);
		close_fds(w->uid, &w->req);
		free(w);
	}
}

static void owner_ended(struct server *s, struct conn *c)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->pidfd, NULL);
	/* children may keep the connection, but not what the process had, or has asked for */
	if (c->deferred)
		conn_close(s, c);
	else if (c->file)
		rmcd_file_release_all(c->file);
}

/* Returns false when the daemon shall end. */
static bool handle(struct server *s, const struct source *source)
{
	eventfd_t count;

	switch (source->kind) {
	case SIGNALS:
		return false;
	case LISTENER:
		conn_accept(s);
		return true;
	case OWED:
		if (!eventfd_read(s->d->event, &count)) {
			rmcd_waiters_owed(s->d);
			handle_done(s);
		}
		return true;
	case OWNER:
		if (!source->conn->dead)
			owner_ended(s, source->conn);
		return true;
	case MESSAGE:
		if (!source->conn->dead)
			handle_message(s, source->conn);
		return true;
	}
	return true;
}

/* Of two times in ms; -1: never */
static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : min(a, b);
}

/**
 * rmcd_serve() - serve clients until a signal arrives
 * @d: daemon, started
 * @listener: listening socket
 * @signals: signalfd of the signals that end the daemon
 * @stop_fd: descriptor whose end, or input, ends it, too; -1: none
 *
 * Return: 0 or -errno. On return there is no client any more.
 */
int rmcd_serve(struct rmcd *d, int listener, int signals, int stop_fd)
{
	struct source signal = { SIGNALS, NULL }, owed = { OWED, NULL };
	struct server s = { .d = d, .listener = listener, .accepts = { LISTENER, NULL } };
	const u32 *quota = d->cfg.user;
	struct epoll_event ev[32];
	bool on = true;
	int n, i, err;

	rmcd_closing_limit(quota[RMCD_RES_buffers] + quota[RMCD_RES_files]);
	s.spare = eventfd(0, EFD_CLOEXEC);
	s.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s.epoll < 0)
		return -errno;
	err = add_source(&s, listener, &s.accepts) ?: add_source(&s, signals, &signal) ?:
	      add_source(&s, d->event, &owed);
	if (!err && stop_fd >= 0)
		err = add_source(&s, stop_fd, &signal);
	while (!err && on) {
		n = epoll_wait(s.epoll, ev, ARRAY_SIZE(ev), sooner(end_of_rest(&s), rmcd_engines_poll(d)));
		for (i = 0; i < n; i++)
			on &= handle(&s, ev[i].data.ptr);
		free_dead(&s);
	}
	while (s.conn)
		conn_close(&s, s.conn);
	free_dead(&s);
	close(s.epoll);
	if (s.spare >= 0)
		close(s.spare);
	return err;
}
