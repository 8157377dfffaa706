/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The same messages over the kernel's stack: TCP over the loopback interface. One process has
 * both ends.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "netpipe.h"
#include "opt.h"

static int fd_of(const struct netpipe_end *end)
{
	return *(const int *)end->state;
}

static void tcp_send(struct netpipe_end *end, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = send(fd_of(end), end->out + done, len - done, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die(EXIT_FAILED, "TCP: %s", strerror(errno));
		done += (size_t)n;
	}
}

static void tcp_recv(struct netpipe_end *end, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = recv(fd_of(end), end->in + done, len - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die(EXIT_FAILED, "TCP: %s", n ? strerror(errno) : "connection closed");
		done += (size_t)n;
	}
}

static void tcp_flush(struct netpipe_end *end)
{
	(void)end;
}

static void make_end(struct netpipe_end *end, int fd, uint64_t size)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die(EXIT_FAILED, "TCP_NODELAY: %s", strerror(errno));
	end->engine = &netpipe_tcp;
	end->state = malloc(sizeof(fd));
	end->out = (uint8_t *)calloc(1, size);
	end->in = (uint8_t *)calloc(1, size);
	if (!end->state || !end->out || !end->in)
		die(EXIT_FAILED, "out of memory");
	*(int *)end->state = fd;
}

static void tcp_open(struct netpipe_ends *ends, const struct netpipe_options *o)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int listener, client, server;
	socklen_t len = sizeof(addr);

	if (opt_env_int("RMC_NODE", 0, 0))
		return;			/* one measures, within its own machine */
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || client < 0 || bind(listener, (struct sockaddr *)&addr, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&addr, &len))
		die(EXIT_FAILED, "no TCP socket: %s", strerror(errno));
	if (connect(client, (struct sockaddr *)&addr, len))
		die(EXIT_FAILED, "cannot connect to 127.0.0.1 (is the interface lo up?): %s",
		    strerror(errno));
	server = accept(listener, NULL, NULL);
	if (server < 0)
		die(EXIT_FAILED, "accept: %s", strerror(errno));
	close(listener);
	make_end(&ends->end[0], client, o->size);
	make_end(&ends->end[1], server, o->size);
}

static void tcp_close(struct netpipe_ends *ends)
{
	struct netpipe_end *end;

	for (end = ends->end; end < ends->end + 2; end++) {
		if (!end->engine)
			continue;
		close(fd_of(end));
		free(end->state);
		free(end->out);
		free(end->in);
	}
}

static const char *tcp_path(const struct netpipe_end *end, size_t len, int pull)
{
	(void)end;
	(void)len;
	(void)pull;
	return "none";
}

const struct netpipe_engine netpipe_tcp = {
	.name = "tcp", .transport = "tcp-loopback", .title = "TCP send/receive over loopback",
	.way = "tcp",
	.open = tcp_open, .send = tcp_send, .recv = tcp_recv, .flush = tcp_flush,
	.close = tcp_close, .path = tcp_path,
};
