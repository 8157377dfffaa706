// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * rmc-agent on the host, with a socket as its port. When the agent polls whether a port is
 * still connected, it handles data that it finds there. The driver of a virtio-serial port does
 * not notify of data that a poll() found before the port's interrupt. Without this, about once
 * in a hundred sessions, a command began only when the next session said hello.
 */
#define main agent_main
#include "../../../vm-setup/rmc-agent.c"
#undef main
#include <sys/socket.h>
#include "../../tap.h"

static int host;	/* the host process's end of port 0 */

static void connect_port(void)
{
	int pair[2];

	for (int i = 0; i < NPORTS; i++)
		ports[i] = (struct port){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		exit(1);
	host = pair[0];
	ports[0].fd = pair[1];
}

static void disconnect(void)
{
	close(host);
	close(ports[0].fd);
	buf_free(&ports[0].in);
	buf_free(&ports[0].out);
}

static void greet(void)
{
	static const struct frame hello = { .type = F_HELLO };

	CHECK_EQ(write(host, &hello, sizeof(hello)), sizeof(hello));
}

static bool greeted(void)
{
	struct frame f;

	return read(host, &f, sizeof(f)) == sizeof(f) && f.type == F_HELLO;
}

static void data_found_by_the_check(void)
{
	connect_port();
	greet();
	ports[0].hangup = now_ms() - 1;		/* the previous session ended long enough ago */
	CHECK_EQ(ports_check_hangup(), -1);
	CHECK(greeted());
	CHECK_EQ(ports[0].hangup, 0);
	disconnect();
}

static void nothing_before_its_time(void)
{
	connect_port();
	greet();
	ports[0].hangup = now_ms() + HANGUP_MS;
	CHECK_EQ(ports_check_hangup(), HANGUP_MS);
	CHECK(!greeted());			/* epoll will report it */
	disconnect();
}

/* Only earlier data: a port that has not been opened is polled once, not forever */
static void session_over(void)
{
	connect_port();
	port_send(&ports[0], F_ACK, 1, "", 0);
	close(host);
	ports[0].hangup = now_ms() - 1;
	CHECK_EQ(ports_check_hangup(), -1);
	CHECK_EQ(ports[0].out.len, 0);
	CHECK_EQ(ports[0].hangup, 0);
	host = -1;
	disconnect();
}

static const struct tap_test tests[] = {
	{ "what the check of a port finds is read", data_found_by_the_check },
	{ "no check before its time", nothing_before_its_time },
	{ "a session that is over", session_over },
};

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
