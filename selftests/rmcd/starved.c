// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A daemon that runs out of descriptors, and clients that do not read their event files. A modest
 * neighbour goes on meanwhile. usage: starved PATH_OF_RMCD
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../tap.h"
#include "neighbour.h"

#define HOSTILE		64
#define DESCRIPTORS	24	/* that the daemon may have beside those it has */
#define MODULE_RING	128	/* RING of kmod/dev/watch.c */

static unsigned int daemon_fds(void)
{
	char path[64];
	unsigned int n = 0, fd;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)daemon_pid, fd);
		n += !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
	}
	return n;
}

/* When it closes nothing more: connections that have ended stay open for a moment. */
static unsigned int settled_fds(void)
{
	unsigned int fds = daemon_fds(), same = 0, i, now;

	for (i = 0; i < 5000 && same < 100; i++) {
		usleep(1000);
		now = daemon_fds();
		same = now == fds ? same + 1 : 0;
		fds = now;
	}
	return fds;
}

/* One connection after the other, each with a message that takes its time to close. */
static int fill(struct raw *c, int pipe_fd)
{
	struct {
		struct rmcd_head head;
		struct rmcd_open open;
	} m = { .head.request = RMCD_OPEN, .open = { .version = RMCD_VERSION, .ctx_id = -1 } };
	int i, n = 0;

	for (i = 0; i < HOSTILE; i++) {
		if (raw_connect(&c[i]))
			continue;
		n++;
		/* the second half: a descriptor that the daemon does not read */
		m.head.fds = i >= HOSTILE / 2;
		raw_send(&c[i], &m, sizeof(m), &pipe_fd, m.head.fds);
	}
	return n;
}

/*
 * The daemon may have few descriptors, and a client takes them all, and more. The main thread
 * must not try again and again.
 */
static void no_descriptors(void)
{
	static struct raw c[HOSTILE];
	struct rlimit few = { 0 };
	uint64_t before, used_ms;
	int pipes[2], i, round;
	struct raw late;

	CHECK(!pipe(pipes));
	few.rlim_cur = few.rlim_max = daemon_fds() + DESCRIPTORS;
	CHECK(!prlimit(daemon_pid, RLIMIT_NOFILE, &few, NULL));
	for (round = 0; round < 3; round++) {
		CHECK(fill(c, pipes[1]) > DESCRIPTORS);
		check_modest();
		before = main_thread_ns();
		for (i = 0; i < 10; i++) {
			usleep(100000);		/* the time that is measured */
			check_modest();
		}
		used_ms = (main_thread_ns() - before) / 1000000;
		if (!before)
			printf("# no schedstat: CPU time was not measured\n");
		CHECK(used_ms < 200);
		for (i = 0; i < HOSTILE; i++)
			raw_close(&c[i]);
		check_modest();
		/* who comes now is served, perhaps not the first time */
		for (i = 0; i < 1000 && raw_open(&late, 0); i++) {
			raw_close(&late);
			usleep(10000);
		}
		CHECK(i < 1000);
		raw_close(&late);
	}
	few.rlim_cur = few.rlim_max = 1024;
	prlimit(daemon_pid, RLIMIT_NOFILE, &few, NULL);
	close(pipes[0]);
	close(pipes[1]);
	check_modest();
}

/*
 * No descriptor is free when a client sends one: the request fails, and the client, which has not
 * broken any rule, loses nothing.
 */
static void no_room(void)
{
	struct rmc_cq_arm arm = { .size = sizeof(arm), .qp_id = modest_qp.id };
	struct rlimit rl, none;
	int fd = eventfd(0, EFD_CLOEXEC), i;

	CHECK(!prlimit(daemon_pid, RLIMIT_NOFILE, NULL, &rl));
	none = rl;
	/* 0, 1 and 2 are in use */
	none.rlim_cur = 3;
	CHECK(!prlimit(daemon_pid, RLIMIT_NOFILE, &none, NULL));
	for (i = 0; i < 3; i++) {
		CHECK_EQ(raw_call_fds(&modest, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1),
			 -EMFILE);
		CHECK_EQ(modest_qp.flags->dead, 0);
		check_modest();
	}
	CHECK(!prlimit(daemon_pid, RLIMIT_NOFILE, &rl, NULL));
	arm.seen = modest_qp.tail;
	CHECK_EQ(raw_call_fds(&modest, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	check_modest();
	close(fd);
}

/* Each leaves one record or more in all event files. */
static void flip(int times)
{
	struct rmcd_attr a = { .path = "class/misc/rmc/node1/state" };
	int i;

	for (i = 0; i < times; i++) {
		strcpy(a.value, i % 2 ? "up" : "down");
		CHECK_EQ(raw_call(&control, RMCD_ATTR_WRITE, &a, sizeof(a)), 0);
	}
}

static int watch(struct raw *c)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1, .flags = RMC_WATCH_NONBLOCK };
	int fd = -1;

	if (!raw_open(c, 0) && !raw_call(c, RMC_IOC_WATCH, &w, sizeof(w)) && c->gots == 1) {
		fd = c->got[0];
		c->gots = 0;
	}
	return fd;
}

/* Nobody reads: as many records as in the module, of which the last counts what is lost. */
static void unread_events(void)
{
	struct rmc_node_event ev[4 * MODULE_RING];
	unsigned int lost = 0;
	struct raw c, other;
	int fd = watch(&c), fd2, i, n;

	CHECK(fd >= 0);
	flip(2 * MODULE_RING + 20);
	check_modest();
	n = (int)(read(fd, ev, sizeof(ev)) / (ssize_t)sizeof(ev[0]));
	CHECK_EQ(n, MODULE_RING);
	for (i = 0; i < MODULE_RING - 1; i++)
		CHECK(ev[i].type == RMC_EVENT_NODE_DOWN || ev[i].type == RMC_EVENT_NODE_UP ||
		      ev[i].type == RMC_EVENT_LINK_DOWN || ev[i].type == RMC_EVENT_LINK_UP);
	CHECK_EQ(ev[MODULE_RING - 1].type, RMC_EVENT_OVERFLOW);
	CHECK(ev[MODULE_RING - 1].lost >= 1);
	/* and it goes on: first what else was lost */
	flip(2);
	n = (int)(read(fd, ev, sizeof(ev)) / (ssize_t)sizeof(ev[0]));
	CHECK(n >= 3);
	CHECK_EQ(ev[0].type, RMC_EVENT_OVERFLOW);
	lost = ev[0].lost;
	CHECK(lost >= MODULE_RING);
	/* one more client that does not read: the other one is full */
	fd2 = watch(&other);
	CHECK(fd2 >= 0);
	flip(2 * MODULE_RING);
	check_modest();
	n = (int)(read(fd2, ev, sizeof(ev)) / (ssize_t)sizeof(ev[0]));
	CHECK_EQ(n, MODULE_RING);
	raw_close(&other);
	close(fd2);
	raw_close(&c);
	close(fd);
}

/* Who closes its end gives back all that the daemon has for it, when another one is opened. */
static void closed_events(void)
{
	unsigned int fds, i;
	struct raw c;
	int fd = watch(&c);

	raw_close(&c);
	flip(2);
	fds = settled_fds();
	for (i = 0; i < 300 && fd >= 0; i++) {
		close(fd);
		flip(1 + i % 2);
		fd = watch(&c);
		CHECK(fd >= 0);
		raw_close(&c);
	}
	flip(2);
	check_modest();
	CHECK_EQ(settled_fds(), fds);
	close(fd);
}

static const struct tap_test tests[] = {
	{ "no room for a descriptor that comes", no_room },
	{ "no descriptors are left", no_descriptors },
	{ "event files that nobody reads", unread_events },
	{ "event files whose reader has gone", closed_events },
};

int main(int argc, char **argv)
{
	static const char * const options[] = { "-n", "2", "--contexts", "0", NULL };
	int failed;

	if (argc != 2) {
		fprintf(stderr, "usage: starved PATH_OF_RMCD\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	start_daemon(argv[1], options);
	open_modest();
	failed = tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	stop_daemon();
	return failed;
}
