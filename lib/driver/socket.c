/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* One request and its answer, on a connection to rmcd. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../internal.h"
#include "socket.h"

#define MAX_ERRNO	4095

/*
 * A daemon that is busy lets connect() wait, which a signal may end. A connection of this family is
 * then not made, and not in progress either: unlike TCP's it begins anew.
 */
static int connect_to(int fd, const struct sockaddr_un *addr)
{
	while (connect(fd, (const struct sockaddr *)addr, sizeof(*addr))) {
		if (errno == EISCONN)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int rmc_socket_connect(const char *path, unsigned int *uid)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ucred peer = { .uid = 0 };
	socklen_t len = sizeof(peer);
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = connect_to(fd, &addr);
	if (err)
		goto err_close;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		err = -errno;
		goto err_close;
	}
	/* who answers sees our memory: another user who took the name first must not */
	*uid = peer.uid;
	if (peer.uid && peer.uid != geteuid()) {
		err = -EPERM;
		goto err_close;
	}
	return fd;

err_close:
	close(fd);
	return err;
}

void rmc_message_close_fds(struct rmc_message *m)
{
	while (m->fds)
		close(m->fd[--m->fds]);
}

static int send_request(int fd, const struct rmc_message *m)
{
	struct iovec part[2] = {
		{ .iov_base = (void *)(uintptr_t)&m->head, .iov_len = sizeof(m->head) },
		{ .iov_base = (void *)(uintptr_t)m->body, .iov_len = m->len },
	};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(m->fd))] = { 0 };
	struct msghdr msg = { .msg_iov = part, .msg_iovlen = 2 };
	struct cmsghdr *c;

	if (m->fds) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(m->fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(m->fds * sizeof(int));
		memcpy(CMSG_DATA(c), m->fd, m->fds * sizeof(int));
	}
	while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Keeps as many descriptors as a message may have, and closes the others. */
static void take_fds(struct rmc_message *m, struct msghdr *msg)
{
	struct cmsghdr *c;
	size_t i, n;
	int fd;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (m->fds < RMCD_MESSAGE_FDS)
				m->fd[m->fds++] = fd;
			else
				close(fd);
		}
	}
}

/* Bytes of the message; 0 if the daemon is gone; or -errno. *lost: descriptors are missing */
static ssize_t receive_answer(int fd, struct rmc_message *m, int *lost)
{
	struct iovec part[2] = {
		{ .iov_base = &m->head, .iov_len = sizeof(m->head) },
		{ .iov_base = m->body, .iov_len = sizeof(m->body) },
	};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(m->fd))];
	struct msghdr msg = { .msg_iov = part, .msg_iovlen = 2, .msg_control = control };
	ssize_t got;

	do {
		msg.msg_controllen = sizeof(control);
		got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	take_fds(m, &msg);
	*lost = !!(msg.msg_flags & MSG_CTRUNC);
	return msg.msg_flags & MSG_TRUNC ? -EPROTO : got;
}

static int right_number(unsigned int fds, unsigned int want)
{
	return fds == (want & ~RMC_OR_ONE_LESS) ||
	       (want & RMC_OR_ONE_LESS && fds + 1 == (want & ~RMC_OR_ONE_LESS));
}

static int valid_answer(const struct rmc_message *m, ssize_t got, uint32_t request,
			size_t want, unsigned int want_fds)
{
	size_t len = (size_t)got - sizeof(m->head);

	if (got < (ssize_t)sizeof(m->head) || m->head.request != request || m->head.reserved ||
	    m->head.fds != m->fds || m->head.ret < -MAX_ERRNO)
		return 0;
	if (m->head.ret < 0)
		return (!len || len == want) && !m->fds;
	return len == want && right_number(m->fds, want_fds);
}

/*
 * The kernel could not give this process all descriptors of the answer. If they are those that
 * the request has, the daemon has done nothing wrong: close the rest.
 */
static int only_fds_lost(struct rmc_message *m, unsigned int want_fds)
{
	if (m->head.ret < 0 || !right_number(m->head.fds, want_fds) || m->fds >= m->head.fds)
		return 0;
	rmc_message_close_fds(m);
	m->head.fds = 0;
	return 1;
}

/* After a violation the next answer may belong to another request. */
static int hang_up(struct rmc_socket *s, struct rmc_message *m, int err)
{
	rmc_message_close_fds(m);
	shutdown(s->fd, SHUT_RDWR);
	__atomic_store_n(&s->dead, 1, __ATOMIC_RELEASE);
	rmc_log(WARN, "rmcd %s", err == -EPROTO ? "broke the protocol" : "is gone");
	return err;
}

static int call(struct rmc_socket *s, struct rmc_message *m, size_t want, unsigned int want_fds)
{
	uint32_t request = m->head.request;
	int err, lost = 0;
	ssize_t got;

	if (__atomic_load_n(&s->dead, __ATOMIC_ACQUIRE)) {
		m->fds = 0;
		return -ESHUTDOWN;
	}
	m->head.ret = 0;
	m->head.fds = m->fds;
	m->head.reserved = 0;
	err = send_request(s->fd, m);
	m->fds = 0;		/* those were the caller's */
	if (err == -EPIPE || err == -ECONNRESET || err == -ENOTCONN)
		return hang_up(s, m, -ESHUTDOWN);
	if (err) {
		m->head.ret = err;
		return err;
	}
	got = receive_answer(s->fd, m, &lost);
	if (got <= 0)
		return hang_up(s, m, got ? (int)got : -ESHUTDOWN);
	if (lost && !only_fds_lost(m, want_fds))
		return hang_up(s, m, -EPROTO);
	if (!valid_answer(m, got, request, want, lost ? 0 : want_fds))
		return hang_up(s, m, -EPROTO);
	m->len = (size_t)got - sizeof(m->head);
	return lost ? -EMFILE : 0;
}

int rmc_socket_call(struct rmc_socket *s, struct rmc_message *m, size_t want,
		    unsigned int want_fds)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = call(s, m, want, want_fds);
	pthread_mutex_unlock(&s->lock);
	return err;
}

int rmc_socket_violated(struct rmc_socket *s)
{
	struct rmc_message none = { .fds = 0 };

	return hang_up(s, &none, -EPROTO);
}

int rmc_socket_alive(const struct rmc_socket *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLRDHUP };

	if (__atomic_load_n(&s->dead, __ATOMIC_ACQUIRE))
		return 0;
	return poll(&p, 1, 0) <= 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}
