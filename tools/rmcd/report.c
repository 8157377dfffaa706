// SPDX-License-Identifier: GPL-2.0
/*
 * See report.h. Nothing here waits for a client:
 *
 * send()	with MSG_DONTWAIT takes the memory of the message from our own buffer, whose size a
 *		client cannot change, and then spinlocks of the client's end. The mutex that its
 *		readers hold while they copy is theirs alone. It may wait for a run of the
 *		kernel's garbage collection of Unix sockets in flight, which waits for no
 *		process: before Linux 6.9 any send, since then only an answer that passes one.
 * close()	as well. Nothing is in our queue, since the client's end cannot send: no
 *		descriptors that close with it. Unix sockets do not linger.
 */
#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "report.h"

/* Longest message */
#define MESSAGE_BYTES	64

/* What a message of this length takes in the kernel. */
static u32 measure(int ours, int theirs, size_t len)
{
	char message[MESSAGE_BYTES] = "";
	int bytes = 0;

	if (send(ours, message, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ||
	    ioctl(ours, TIOCOUTQ, &bytes) || recv(theirs, message, len, MSG_DONTWAIT) < 0)
		return 0;
	return bytes;
}

/* Buffer for so many messages; what the machine allows at most is the sysctl wmem_max. */
static void limit(struct rmcd_report *r, u32 places)
{
	/* the kernel doubles it, and sends while less is in use */
	int bytes = r->unit * places / 2;
	socklen_t len = sizeof(bytes);

	setsockopt(r->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (getsockopt(r->fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len))
		bytes = 0;
	r->places = max(min_t(u32, places, bytes / r->unit), 1U);
}

/**
 * rmcd_report_open() - create a socket for reports
 * @r: out, our end
 * @len: length of a message, at most MESSAGE_BYTES
 * @places: messages to hold
 * @nonblock: the client's read() does not wait, until the client changes that
 *
 * The client's end reads a stream, and its end once @r is closed.
 *
 * Return: the client's end, the caller's; or -errno.
 */
int rmcd_report_open(struct rmcd_report *r, size_t len, u32 places, bool nonblock)
{
	int fds[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0,
		       fds))
		return -errno;
	/* from now on the client's end cannot send, neither bytes nor descriptors */
	if (shutdown(fds[1], SHUT_RD)) {
		err = -errno;
		goto err_close;
	}
	r->fd = fds[1];
	r->unit = measure(fds[1], fds[0], len);
	if (!r->unit) {
		err = -ENOMEM;
		goto err_close;
	}
	limit(r, places);
	return fds[0];

err_close:
	close(fds[0]);
	close(fds[1]);
	return err;
}

/**
 * rmcd_report_send() - send a message, whole, without waiting
 * @r: our end
 * @data: message
 * @len: its length, as at rmcd_report_open()
 *
 * Return: false if it was not sent: there is no place, or no reader. Context: any thread.
 */
bool rmcd_report_send(const struct rmcd_report *r, const void *data, size_t len)
{
	return send(r->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

/**
 * rmcd_report_unread() - number of messages that the client has not read
 * @r: our end
 *
 * Return: number; while the client reads, perhaps one more.
 */
u32 rmcd_report_unread(const struct rmcd_report *r)
{
	int bytes;

	return ioctl(r->fd, TIOCOUTQ, &bytes) ? r->places : bytes / r->unit;
}

/**
 * rmcd_report_hung_up() - has the client closed its end?
 * @r: our end
 *
 * Return: true if nobody reads it any more.
 */
bool rmcd_report_hung_up(const struct rmcd_report *r)
{
	struct pollfd p = { .fd = r->fd };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}
