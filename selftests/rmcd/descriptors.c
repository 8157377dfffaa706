// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Descriptors that a client sends, or has been sent, so that whoever closes the last copy waits. A
 * modest neighbour goes on meanwhile. usage: descriptors PATH_OF_RMCD
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../tap.h"
#include "raw.h"

#define SOON_NS		(5 * 1000000000ULL)
#define PARKED		64	/* more than a user has threads */
#define USER_THREADS	32	/* most_threads[] of tools/rmcd/closing.c */
#define HOSTILE_UID	12345
#define OTHER_UID	12346
#define MOST_FDS	253	/* SCM_MAX_FD */
#define FLOOD		20
#define ROUNDS		5

static struct raw modest;

static uint64_t query_ns(void)
{
	struct rmc_query q = { .size = sizeof(q) };
	uint64_t start = now_ns();

	CHECK_EQ(raw_call(&modest, RMC_IOC_QUERY, &q, sizeof(q)), 0);
	return now_ns() - start;
}

static void check_modest(void)
{
	CHECK(query_ns() < SOON_NS);
}

/* What /proc says of the daemon: how many entries has this directory? */
static unsigned int daemon_has(const char *what)
{
	char path[64];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "ls /proc/%d/%s | wc -l", (int)daemon_pid, what);
	f = popen(path, "re");
	if (!f || fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		pclose(f);
	return n;
}

/* The main thread is not, or not any more, where it was: bounded, and true as soon as it is. */
static void check_fds(unsigned int want)
{
	int i;

	for (i = 0; i < 200 && daemon_has("fd") > want; i++)
		usleep(50000);
	CHECK(daemon_has("fd") <= want);
}

/* ---- TCP sockets that linger ---- */

/* Its peers, which read nothing, end the wait when they are closed. */
static int make_lingering(int listener, const struct sockaddr_in *addr, int *peer)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
	struct linger linger = { 1, 3600 };
	static char data[65536];

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		abort();
	*peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		abort();
	return fd;
}

static int make_listener(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)addr, &len))
		abort();
	return fd;
}

/* The first message, which is empty, breaks the rules; the second is empty, too. */
static void empty_messages(void)
{
	struct sockaddr_in addr;
	int listener = make_listener(&addr), peer, fd, n, i;
	struct raw c;

	for (n = 1; n < 4; n++) {
		fd = make_lingering(listener, &addr, &peer);
		/* stopped until we have closed ours: its copies are the last ones */
		kill(daemon_pid, SIGSTOP);
		CHECK_EQ(raw_connect(&c), 0);
		for (i = 0; i < n; i++)
			CHECK_EQ(raw_send(&c, "", 0, NULL, 0), 0);
		CHECK_EQ(raw_send(&c, "", 0, &fd, 1), 0);
		close(fd);
		kill(daemon_pid, SIGCONT);
		CHECK_EQ(raw_receive(&c, NULL, 0), -EPIPE);
		check_modest();
		raw_close(&c);
		close(peer);
	}
	close(listener);
}

/* A peer that leaves with an unread answer: the daemon's first call fails with ECONNRESET. */
static void unread_answer(void)
{
	struct {
		struct rmcd_head head;
		struct rmcd_open open;
	} m = { .head = { .request = RMCD_OPEN },
		.open = { .version = RMCD_VERSION, .ctx_id = -1 } };
	struct sockaddr_in addr;
	int listener = make_listener(&addr), peer, fd = make_lingering(listener, &addr, &peer);
	struct pollfd p = { .events = POLLIN };
	struct raw c;

	CHECK_EQ(raw_connect(&c), 0);
	CHECK_EQ(raw_send(&c, &m, sizeof(m), NULL, 0), 0);
	p.fd = c.fd;
	CHECK_EQ(poll(&p, 1, 10000), 1);
	kill(daemon_pid, SIGSTOP);
	CHECK_EQ(raw_send(&c, "", 0, NULL, 0), 0);
	CHECK_EQ(raw_send(&c, "", 0, &fd, 1), 0);
	close(fd);
	raw_close(&c);
	kill(daemon_pid, SIGCONT);
	check_modest();
	close(peer);
	close(listener);
}

/* ---- eventfds in an epoll set whose lock is held ---- */

struct held {
	int epoll;
	int fault;		/* userfaultfd(2) */
	int ready;		/* an eventfd that is always readable */
	void *page;		/* where epoll_wait() has to write */
	pthread_t thread;
};

static void *wait_main(void *data)
{
	struct held *h = data;

	/* not the function: a sanitizer would read the page */
	syscall(SYS_epoll_wait, h->epoll, h->page, 1, 10000);
	return NULL;
}

/* Makes the set, with these in it. Returns false where the machine lacks something. */
static bool hold_all(struct held *h, const int *fd, int n)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int i;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct pollfd p;

	h->fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (h->fault < 0)
		return false;
	h->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)h->page;
	reg.range.len = PAGE;
	if (ioctl(h->fault, UFFDIO_API, &api) || ioctl(h->fault, UFFDIO_REGISTER, &reg))
		abort();
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->ready = eventfd(1, EFD_CLOEXEC);
	for (i = 0; i < n; i++)
		CHECK(!epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd[i], &ev));
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->ready, &ev) ||
	    pthread_create(&h->thread, NULL, wait_main, h))
		abort();
	p = (struct pollfd){ .fd = h->fault, .events = POLLIN };
	CHECK_EQ(poll(&p, 1, 10000), 1);
	return true;
}

static bool hold(struct held *h, int fd)
{
	return hold_all(h, &fd, 1);
}

static void let_go(struct held *h)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)h->page, PAGE } };

	CHECK(!ioctl(h->fault, UFFDIO_ZEROPAGE, &zero));
	pthread_join(h->thread, NULL);
	close(h->fault);
	close(h->epoll);
	close(h->ready);
	munmap(h->page, PAGE);
}

static int send_with(struct raw *c, unsigned int request, const void *arg, size_t len, int fd)
{
	char message[256];
	struct rmcd_head head = { .request = request, .fds = 1 };

	memcpy(message, &head, sizeof(head));
	memcpy(message + sizeof(head), arg, len);
	return raw_send(c, message, sizeof(head) + len, &fd, 1);
}

/* An eventfd that no request wanted: its only other copy is closed before the daemon's. */
static void unwanted(struct held *h)
{
	struct rmc_query q = { .size = sizeof(q) };
	int fd = eventfd(0, EFD_CLOEXEC);
	struct raw c;

	CHECK_EQ(raw_open(&c, -1), 0);
	CHECK(hold(h, fd));
	kill(daemon_pid, SIGSTOP);
	CHECK_EQ(send_with(&c, RMC_IOC_QUERY, &q, sizeof(q), fd), 0);
	close(fd);
	kill(daemon_pid, SIGCONT);
	check_modest();
	raw_close(&c);
}

/* One that is armed, until its queue pair ends */
static void armed(struct held *h)
{
	struct rmc_cq_arm arm = { .size = sizeof(arm) };
	int fd = eventfd(0, EFD_CLOEXEC);
	struct raw_qp q;
	struct raw c;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	arm.qp_id = q.id;
	CHECK_EQ(raw_call_fds(&c, RMC_IOC_CQ_ARM, &arm, sizeof(arm), NULL, 0, &fd, 1), 0);
	CHECK(hold(h, fd));
	close(fd);
	raw_close(&c);
	check_modest();
	raw_qp_unmap(&q);
}

/* The one that wakes a worker: the daemon made it. */
static void waking(struct held *h)
{
	struct raw_qp q;
	struct raw c;

	CHECK_EQ(raw_open(&c, 0), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK(hold(h, q.wake));
	raw_qp_unmap(&q);
	raw_close(&c);
	check_modest();
}

static void polled_eventfds(void)
{
	static void (* const kinds[])(struct held *h) = { unwanted, armed, waking };
	struct held h;
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		kinds[i](&h);
		/* also one that comes now: the main thread has not merely been late */
		usleep(20000);
		check_modest();
		let_go(&h);
	}
}

/* ---- one user who keeps those who close from going on, and another one ---- */

/* Of this thread: seteuid() waits for all threads, and one of them is in a page fault. */
static void become(uid_t uid)
{
	if (syscall(SYS_setresuid, -1, uid, -1))
		abort();
}

static int connect_as(struct raw *c, uid_t uid)
{
	int err;

	become(uid);
	err = raw_connect(c);
	become(0);
	return err;
}

/* Whose descriptor is closed? It is the write end of a pipe; the message breaks the rules. */
static bool is_closed(uid_t uid)
{
	struct pollfd p = { 0 };
	struct raw c;
	int fds[2];
	bool closed;

	if (pipe2(fds, O_CLOEXEC))
		abort();
	CHECK_EQ(connect_as(&c, uid), 0);
	raw_send(&c, "", 1, &fds[1], 1);
	close(fds[1]);
	p.fd = fds[0];
	closed = poll(&p, 1, 3000) == 1 && p.revents & POLLHUP;
	raw_close(&c);
	close(fds[0]);
	return closed;
}

static int open_as(uid_t uid)
{
	struct rmcd_open open = { .version = RMCD_VERSION, .ctx_id = -1 };
	struct raw c;
	int err;

	CHECK_EQ(connect_as(&c, uid), 0);
	err = raw_call(&c, RMCD_OPEN, &open, sizeof(open));
	raw_close(&c);
	return err;
}

/* As many eventfds of one set, whose lock is held, as keep all threads of a user from going on */
static void two_users(void)
{
	unsigned int threads = daemon_has("task"), fds = daemon_has("fd"), i, sent;
	int fd[PARKED], err = 0;
	struct held h;
	struct raw c;

	for (i = 0; i < PARKED; i++)
		fd[i] = eventfd(0, EFD_CLOEXEC);
	CHECK(hold_all(&h, fd, PARKED));
	for (sent = 0; sent < PARKED && !err; sent += !err) {
		CHECK_EQ(connect_as(&c, HOSTILE_UID), 0);
		/* stopped until we have closed ours: its copies are the last ones */
		kill(daemon_pid, SIGSTOP);
		/* he may be refused already, if this takes more than a second */
		err = raw_send(&c, "", 1, &fd[sent], 1);
		if (!err)
			close(fd[sent]);
		kill(daemon_pid, SIGCONT);
		CHECK_EQ(raw_receive(&c, NULL, 0), -EPIPE);
		raw_close(&c);
	}
	CHECK(sent >= USER_THREADS);
	err = 0;
	check_modest();
	CHECK(is_closed(OTHER_UID));
	CHECK(daemon_has("task") <= threads + 2 * USER_THREADS);
	/* a second after the last thread has begun */
	for (i = 0; i < 100 && err != -EPIPE; i++) {
		usleep(100000);
		err = open_as(HOSTILE_UID);
	}
	CHECK_EQ(err, -EPIPE);
	CHECK_EQ(open_as(OTHER_UID), 0);
	check_modest();
	/* nothing stays open for ever, and he is welcome again */
	let_go(&h);
	for (i = sent; i < PARKED; i++)
		close(fd[i]);
	check_fds(fds);
	CHECK_EQ(open_as(HOSTILE_UID), 0);
}

/* ---- messages with as many descriptors as the kernel allows ---- */

static int send_many(const struct raw *c, int fd)
{
	static char space[CMSG_SPACE(MOST_FDS * sizeof(int))] __attribute__((aligned(8)));
	struct rmcd_head head = { .request = RMCD_OPEN, .fds = MOST_FDS };
	struct iovec iov = { &head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *m = CMSG_FIRSTHDR(&msg);
	int i;

	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(MOST_FDS * sizeof(int));
	for (i = 0; i < MOST_FDS; i++)
		memcpy(CMSG_DATA(m) + (size_t)i * sizeof(int), &fd, sizeof(int));
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Time that a query takes behind FLOOD such messages: the least of some rounds; others add to it */
static uint64_t query_behind(int fd)
{
	uint64_t took, least = UINT64_MAX;
	struct raw c[FLOOD];
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < FLOOD; i++)
			CHECK_EQ(raw_connect(&c[i]), 0);
		query_ns();
		kill(daemon_pid, SIGSTOP);
		for (i = 0; i < FLOOD; i++)
			CHECK_EQ(send_many(&c[i], fd), 0);
		kill(daemon_pid, SIGCONT);
		took = query_ns();
		least = took < least ? took : least;
		CHECK(daemon_has("task") < 4 * USER_THREADS);
		for (i = 0; i < FLOOD; i++) {
			CHECK_EQ(raw_receive(&c[i], NULL, 0), -EPIPE);
			raw_close(&c[i]);
		}
	}
	printf("# %.3f ms\n", (double)least / 1e6);
	return least;
}

static void many_descriptors(void)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned int fds = daemon_has("fd");

	CHECK(query_behind(file) < 50000000);
	CHECK(query_behind(sock) < 50000000);
	check_fds(fds);
	close(file);
	close(sock);
}

int main(int argc, char **argv)
{
	static const char * const options[] = { "-n", "1", NULL };
	struct rlimit rl;
	bool many;
	int fault;

	if (argc != 2) {
		fprintf(stderr, "usage: descriptors PATH_OF_RMCD\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
	/* also as many on their way, if not root */
	many = rl.rlim_max >= 16384;
	start_daemon(argv[1], options);
	CHECK_EQ(raw_open(&modest, 0), 0);
	empty_messages();
	tap_result("empty messages before one with a descriptor");
	unread_answer();
	tap_result("an unread answer, and an unread descriptor");
	fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fault >= 0) {
		close(fault);
		polled_eventfds();
		tap_result("eventfds in an epoll set whose lock is held");
	} else {
		tap_skip("eventfds in an epoll set whose lock is held",
			 "no userfaultfd for page faults of the kernel");
	}
	if (many) {
		many_descriptors();
		tap_result("a query behind messages of 253 descriptors");
	} else {
		tap_skip("a query behind messages of 253 descriptors",
			 "fewer than 16384 descriptors (RLIMIT_NOFILE)");
	}
	if (!geteuid() && fault >= 0) {
		two_users();
		tap_result("one user keeps his closes waiting, another one goes on");
	} else {
		tap_skip("one user keeps his closes waiting, another one goes on",
			 geteuid() ? "needs root, for two users" : "no userfaultfd");
	}
	stop_daemon();
	return tap_done();
}
