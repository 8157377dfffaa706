// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The sockets in which rmcd reports: of sleepers, and events. Clients hold them, and a modest
 * neighbour goes on meanwhile. usage: reports PATH_OF_RMCD
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../tap.h"
#include "neighbour.h"

#define MODULE_RING	128	/* RING of kmod/dev/watch.c */
#define LIMIT_NS	(2 * 1000000000ULL)

static void check_modest_soon(void)
{
	uint64_t start = now_ns();

	check_modest();
	CHECK(now_ns() - start < LIMIT_NS);
}

static int arm(struct raw *c, const struct raw_qp *q, unsigned int seen)
{
	struct rmc_cq_arm a = { .size = sizeof(a), .qp_id = q->id, .seen = seen, .eventfd = -1 };

	return raw_call(c, RMC_IOC_CQ_ARM, &a, sizeof(a));
}

static int arm_seg(struct raw *c, unsigned int seen)
{
	struct rmc_seg_arm a = { .size = sizeof(a), .seen = seen, .eventfd = -1 };

	return raw_call(c, RMC_IOC_SEG_ARM, &a, sizeof(a));
}

static int polled(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) < 0 ? -1 : p.revents;
}

/* The descriptor of the last answer: the caller's */
static int take(struct raw *c)
{
	CHECK_EQ(c->gots, 1);
	c->gots = 0;
	return c->got[0];
}

static int open_reports(struct raw *c)
{
	CHECK_EQ(raw_open(c, 0), 0);
	return take(c);
}

static int watch(struct raw *c)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1, .flags = RMC_WATCH_NONBLOCK };

	CHECK_EQ(raw_call(c, RMC_IOC_WATCH, &w, sizeof(w)), 0);
	return take(c);
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

/* The daemon notices the end of a connection some time later. */
static void check_opens(int want)
{
	struct rmcd_attr a;
	int n = -1, i;

	for (i = 0; i < 5000 && n != want; i++) {
		memset(&a, 0, sizeof(a));
		strcpy(a.path, "class/rmc_context/rmcctx0/open_count");
		if (raw_call(&control, RMCD_ATTR_READ, &a, sizeof(a)) ||
		    sscanf(a.value, "%d", &n) != 1)
			break;
		if (n != want)
			usleep(1000);
	}
	CHECK_EQ(n, want);
}

/* ---- a client holds the lock of its end ---- */

/* A thread that takes a byte and does not come back before let_go() */
struct holder {
	pthread_t thread;
	int fd;			/* takes it from here */
	int pair[2];		/* puts it there, which is full; or -1 */
	int faults;		/* or into memory that is withheld: userfaultfd; or -1 */
	char *page;
	int tid, done;
};

static void *hold_main(void *data)
{
	struct holder *h = data;
	ssize_t n;

	__atomic_store_n(&h->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (h->faults >= 0)
		n = read(h->fd, h->page, 1);
	else
		n = splice(h->fd, NULL, h->pair[0], NULL, 1, 0);
	__atomic_store_n(&h->done, 1, __ATOMIC_RELEASE);
	return (void *)(intptr_t)n;
}

static int is_asleep(int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S' || state == 'D';
}

/* The lock is held, or cannot be held in this way. */
static void start_holder(struct holder *h)
{
	int i, tid;

	fcntl(h->fd, F_SETFL, 0);
	CHECK(!pthread_create(&h->thread, NULL, hold_main, h));
	if (h->faults >= 0) {
		CHECK_EQ(polled(h->faults, 10000), POLLIN);
		return;
	}
	for (i = 0; i < 10000 && !__atomic_load_n(&h->done, __ATOMIC_ACQUIRE); i++) {
		tid = __atomic_load_n(&h->tid, __ATOMIC_ACQUIRE);
		if (tid && is_asleep(tid))
			return;
		usleep(1000);
	}
}

/* By splice() into a socket that is full */
static void hold_by_splice(struct holder *h, int fd)
{
	static const char bytes[PAGE];

	*h = (struct holder){ .fd = fd, .faults = -1 };
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, h->pair));
	while (send(h->pair[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	while (send(h->pair[0], bytes, 1, MSG_DONTWAIT) > 0)
		;
	start_holder(h);
}

static int fault_handler(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* By read() into memory whose page does not come */
static void hold_by_read(struct holder *h, int fd)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	*h = (struct holder){ .fd = fd, .faults = fault_handler(), .pair = { -1, -1 } };
	h->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)h->page;
	range.range.len = PAGE;
	CHECK(!ioctl(h->faults, UFFDIO_REGISTER, &range));
	start_holder(h);
}

static void let_go(struct holder *h)
{
	struct uffdio_zeropage zero = { 0 };

	if (h->faults >= 0) {
		zero.range.start = (uintptr_t)h->page;
		zero.range.len = PAGE;
		ioctl(h->faults, UFFDIO_ZEROPAGE, &zero);
	} else {
		close(h->pair[1]);
	}
	pthread_join(h->thread, NULL);
	if (h->faults >= 0) {
		close(h->faults);
		munmap(h->page, PAGE);
	} else {
		close(h->pair[0]);
	}
}

typedef void (*hold_fn)(struct holder *h, int fd);

/* Worker and main thread report, and the main thread closes its end. */
static void held_reports(hold_fn hold)
{
	struct holder h;
	struct raw_qp q;
	struct raw c;
	int fd = open_reports(&c);

	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK_EQ(arm(&c, &q, 1), 0);
	CHECK_EQ(polled(fd, 10000), POLLIN);
	CHECK_EQ(arm(&c, &q, 0), 0);
	hold(&h, fd);
	raw_post(&q, 31, 0, 0, NULL, 0);
	CHECK_EQ(raw_wait(&q, 10000), RMC_S_BAD_OP);
	check_modest_soon();
	CHECK_EQ(arm(&c, &q, 5), 0);
	check_modest_soon();
	raw_qp_unmap(&q);
	raw_close(&c);
	check_opens(1);
	check_modest_soon();
	let_go(&h);
	close(fd);
}

static void held_events(hold_fn hold)
{
	struct holder h;
	struct raw c;
	int fd;

	CHECK_EQ(raw_open(&c, 0), 0);
	fd = watch(&c);
	flip(2);
	hold(&h, fd);
	flip(2);
	check_modest_soon();
	raw_close(&c);
	let_go(&h);
	close(fd);
	check_opens(1);
}

/* ---- what a client reads ---- */

/* It comes, and is readable after what was there before. */
static void check_end(int fd)
{
	struct pollfd p = { .fd = fd };
	char bytes[PAGE];
	ssize_t n;

	CHECK_EQ(poll(&p, 1, 10000), 1);
	CHECK_EQ(p.revents, POLLHUP);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		;
	CHECK_EQ(n, 0);
	CHECK(polled(fd, 0) & POLLHUP);
}

static void reports(void)
{
	struct raw_qp q;
	struct raw c;
	char bytes[PAGE];
	ssize_t n;
	int fd = open_reports(&c), i;

	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK_EQ(polled(fd, 0), 0);
	CHECK(read(fd, bytes, sizeof(bytes)) < 0 && errno == EAGAIN);
	/* reports that nobody reads are few */
	for (i = 0; i < 1000; i++)
		CHECK_EQ(arm(&c, &q, 1), 0);
	CHECK_EQ(polled(fd, 0), POLLIN);
	n = read(fd, bytes, sizeof(bytes));
	CHECK(n > 0 && n <= 64);
	CHECK_EQ(polled(fd, 0), 0);
	CHECK(read(fd, bytes, sizeof(bytes)) < 0 && errno == EAGAIN);
	/* and those that follow arrive: of a completion, and at once */
	CHECK_EQ(arm(&c, &q, 0), 0);
	CHECK_EQ(polled(fd, 0), 0);
	raw_post(&q, 31, 0, 0, NULL, 0);
	CHECK_EQ(polled(fd, 10000), POLLIN);
	CHECK_EQ(read(fd, bytes, sizeof(bytes)), 1);
	CHECK_EQ(arm(&c, &q, 0), 0);
	CHECK_EQ(polled(fd, 0), POLLIN);
	/* the end of the connection is the end of the stream */
	raw_qp_unmap(&q);
	raw_close(&c);
	check_end(fd);
	close(fd);
	check_opens(1);
}

/* What was reported of a segment does not count for the next one. */
static void next_segment(void)
{
	struct rmc_seg_unreg unreg = { .size = sizeof(unreg) };
	struct rmc_attach attach = { .size = sizeof(attach), .nid = 1 };
	struct raw_qp q;
	struct raw c;
	char bytes[64];
	void *p;
	int mem = shared(PAGE, &p), fd = open_reports(&c);

	CHECK_EQ(raw_call(&c, RMC_IOC_ATTACH, &attach, sizeof(attach)), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK_EQ(raw_seg(&c, p, PAGE, mem, 0), 0);
	CHECK_EQ(arm_seg(&c, 1), 0);
	CHECK_EQ(polled(fd, 0), POLLIN);
	CHECK_EQ(raw_call(&c, RMC_IOC_SEG_UNREG, &unreg, sizeof(unreg)), 0);
	CHECK_EQ(raw_seg(&c, p, PAGE, mem, 0), 0);
	CHECK(read(fd, bytes, sizeof(bytes)) > 0);
	CHECK_EQ(arm(&c, &q, 0), 0);
	CHECK_EQ(polled(fd, 0), 0);
	/* what is reported of that one does */
	CHECK_EQ(arm_seg(&c, 1), 0);
	CHECK(read(fd, bytes, sizeof(bytes)) > 0);
	CHECK_EQ(arm(&c, &q, 0), 0);
	CHECK_EQ(polled(fd, 0), POLLIN);
	raw_qp_unmap(&q);
	raw_close(&c);
	close(fd);
	close(mem);
	munmap(p, PAGE);
	check_opens(1);
}

static int daemon_fds(void)
{
	char path[64];
	int n = 0, fd;

	for (fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)daemon_pid, fd);
		n += !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
	}
	return n;
}

static int unread(int fd)
{
	static struct rmc_node_event ev[8 * MODULE_RING];
	ssize_t n = read(fd, ev, sizeof(ev));

	CHECK(n < 0 || !(n % sizeof(ev[0])));
	return n < 0 ? 0 : (int)(n / sizeof(ev[0]));
}

/* A client has no power over its end: not over the places, and nothing goes the other way. */
static void powerless(void)
{
	struct linger linger = { 1, 1000 };
	int fd, fds, i, big = 1 << 24, small = 1;
	struct raw sends = { .fd = -1 }, c;

	CHECK_EQ(raw_open(&c, 0), 0);
	fd = watch(&c);
	sends.fd = fd;
	CHECK(write(fd, "x", 1) < 0);
	CHECK(raw_send(&sends, "x", 1, &fd, 1) < 0);
	CHECK(polled(fd, 0) == 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	flip(2 * MODULE_RING);
	CHECK_EQ(unread(fd), MODULE_RING);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	shutdown(fd, SHUT_WR);
	flip(2 * MODULE_RING);
	CHECK_EQ(unread(fd), MODULE_RING);
	/* who reads no more is as good as gone */
	raw_close(&c);
	check_opens(1);
	fds = daemon_fds();
	shutdown(fd, SHUT_RD);
	flip(2);
	check_modest_soon();
	CHECK_EQ(raw_open(&c, 0), 0);
	close(watch(&c));
	raw_close(&c);
	check_opens(1);
	/* a thread of the user's closes them */
	for (i = 0; i < 2000 && daemon_fds() != fds; i++)
		usleep(1000);
	CHECK_EQ(daemon_fds(), fds);
	close(fd);
}

/* Event files and reports end with the daemon. */
static void end_of_daemon(void)
{
	struct raw c;
	int reported = open_reports(&c), events = watch(&c);

	CHECK_EQ(polled(reported, 0) | polled(events, 0), 0);
	CHECK(daemon_ended_well());
	check_end(reported);
	check_end(events);
	raw_close(&c);
	close(reported);
	close(events);
}

int main(int argc, char **argv)
{
	static const char * const options[] = { "-n", "2", "--contexts", "0", NULL };
	int faults;

	if (argc != 2) {
		fprintf(stderr, "usage: reports PATH_OF_RMCD\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	start_daemon(argv[1], options);
	open_modest();
	held_reports(hold_by_splice);
	tap_result("reports to a client that splices them to where they cannot go");
	if (tap_failed) {
		/* each of the others would wait for a daemon that stands still */
		kill(daemon_pid, SIGKILL);
		daemon_ended_well();
		return tap_done();
	}
	held_events(hold_by_splice);
	tap_result("events likewise");
	faults = fault_handler();
	if (faults >= 0) {
		close(faults);
		held_reports(hold_by_read);
		tap_result("reports to a client that reads them to where no memory is");
		held_events(hold_by_read);
		tap_result("events to such a client");
	} else {
		tap_skip("readers whose memory is withheld", "no userfaultfd");
	}
	reports();
	tap_result("reports are few, and end with the connection");
	next_segment();
	tap_result("reports of a segment end with it");
	powerless();
	tap_result("a client cannot send, nor enlarge its event file");
	end_of_daemon();
	tap_result("reports and events end with the daemon");
	return tap_done();
}
