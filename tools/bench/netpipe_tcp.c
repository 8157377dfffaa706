/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The same messages over the kernel's stack: TCP over the loopback interface. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "netpipe.h"
#include "opt.h"

static void tcp_send(struct netpipe_end *end, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = send(end->fd, end->out + done, len - done, MSG_NOSIGNAL);
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
		n = recv(end->fd, end->in + done, len - done, 0);
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
	end->fd = fd;
	end->out = (uint8_t *)calloc(1, size);
	end->in = (uint8_t *)calloc(1, size);
	if (!end->out || !end->in)
		die(EXIT_FAILED, "out of memory");
	end->send = tcp_send;
	end->recv = tcp_recv;
	end->flush = tcp_flush;
}

void netpipe_tcp(struct netpipe_end *first, struct netpipe_end *second, uint64_t size)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), server;
	socklen_t len = sizeof(addr);

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
	make_end(first, client, size);
	make_end(second, server, size);
}

void netpipe_tcp_close(struct netpipe_end *end)
{
	close(end->fd);
	free(end->out);
	free(end->in);
}
