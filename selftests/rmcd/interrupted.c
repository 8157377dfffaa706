/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmc_socket_connect() to a daemon that is busy, in a program with a timer. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../lib/internal.h"
#include "../../lib/driver/socket.h"
#include "../tap.h"

static volatile sig_atomic_t ticks;

static void tick(int number)
{
	(void)number;
	ticks++;
}

/* Signals every 10 ms, and system calls that they interrupt are not restarted. */
static void start_timer(void)
{
	const struct sigaction sa = { .sa_handler = tick };
	const struct itimerval every = { { 0, 10000 }, { 0, 10000 } };

	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void stop_timer(void)
{
	const struct itimerval none = { { 0, 0 }, { 0, 0 } };

	setitimer(ITIMER_REAL, &none, NULL);
}

static int socket_of(struct sockaddr_un *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/tmp/rmc-interrupted-%d", (int)getpid());
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/* The queue of a listener with room for one is full until a child takes what waits there. */
static void test_interrupted(void)
{
	struct sockaddr_un addr;
	int listener = socket_of(&addr), first = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd;
	unsigned int uid = ~0U;
	char byte = 0;
	pid_t child;

	CHECK_EQ(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	CHECK_EQ(listen(listener, 0), 0);
	CHECK_EQ(connect(first, (struct sockaddr *)&addr, sizeof(addr)), 0);
	child = fork();
	if (!child) {
		usleep(300000);
		close(accept(listener, NULL, NULL));
		fd = accept(listener, NULL, NULL);
		_exit(fd >= 0 && write(fd, "", 1) == 1 ? 0 : 1);
	}
	start_timer();
	fd = rmc_socket_connect(addr.sun_path, &uid);
	stop_timer();
	CHECK(fd >= 0);
	CHECK(ticks > 2);
	CHECK_EQ(uid, geteuid());
	/* it is the connection that the child has accepted */
	CHECK_EQ(fd >= 0 ? read(fd, &byte, 1) : -1, 1);
	if (fd < 0)
		kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
	close(first);
	close(listener);
	unlink(addr.sun_path);
}

/* A socket at which nobody listens is no reason to try again. */
static void test_refused(void)
{
	struct sockaddr_un addr;
	int bound = socket_of(&addr);
	unsigned int uid;

	CHECK_EQ(bind(bound, (struct sockaddr *)&addr, sizeof(addr)), 0);
	CHECK_EQ(rmc_socket_connect(addr.sun_path, &uid), -ECONNREFUSED);
	close(bound);
	unlink(addr.sun_path);
	CHECK_EQ(rmc_socket_connect(addr.sun_path, &uid), -ENOENT);
}

static const struct tap_test tests[] = {
	{ "a connection that signals interrupt is made", test_interrupted },
	{ "one that is refused fails at once", test_refused },
};

int main(void)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
