// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Files with holes, files whose lock a client holds, and large files that end: what they take is
 * neither the daemon's memory nor its main thread's time. A modest neighbour goes on meanwhile.
 * usage: holes PATH_OF_RMCD
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tap.h"
#include "neighbour.h"

#define HOSTILE_UID	65534
#define OPEN_CTX	1		/* everybody's */
#define MANY		16
#define EACH		(64UL << 20)	/* FILL_BYTES of tools/rmcd/holes.c */
#define LARGE		(1UL << 30)
#define BUSY_NS		20000000ULL	/* of the main thread; a file of LARGE takes more to free */
#define PAGES		16
#define SEG		(PAGES * PAGE)
#define AT		((void *)(uintptr_t)(1UL << 40))

static off_t allocated(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (off_t)st.st_blocks * 512;
}

static int sparse(size_t len)
{
	int fd = memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)len));
	return fd;
}

static void next_round(void)
{
	struct rmc_query q = { .size = sizeof(q) };

	CHECK_EQ(raw_call(&control, RMC_IOC_QUERY, &q, sizeof(q)), 0);
}

/* ---- the lock of an inode ---- */

/* Writes to the file from a page that is never given: holds the lock until it is killed. */
static void hold_lock(int fd, int ready)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)page;
	if (fault < 0 || ioctl(fault, UFFDIO_API, &api) || ioctl(fault, UFFDIO_REGISTER, &reg) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	/* not the function: a sanitizer would read the page */
	syscall(SYS_pwrite64, fd, page, PAGE, 0);
	_exit(0);
}

static void held_lock(void)
{
	int fd = sparse(SEG), ready[2];
	struct raw c;
	char byte;
	pid_t pid;

	CHECK(!pipe(ready));
	pid = fork();
	if (!pid)
		hold_lock(fd, ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	usleep(50000);		/* it is in the write */
	CHECK_EQ(raw_open(&c, 0), 0);
	/* whatever it says, it does not wait, nor does anybody else */
	raw_buf(&c, AT, SEG, fd, 0, NULL);
	CHECK(c.head.request == RMC_IOC_BUF_REG);
	check_modest();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	raw_close(&c);
	close(ready[0]);
	close(ready[1]);
	close(fd);
}

/* ---- time of the main thread ---- */

static int send_buf(struct raw *c, size_t len, int fd)
{
	struct {
		struct rmcd_head head;
		struct rmc_buf_reg reg;
		struct rmcd_memory memory;
	} m = {
		.head = { .request = RMC_IOC_BUF_REG, .fds = 1 },
		.reg = { .size = sizeof(m.reg), .addr = (uintptr_t)AT, .length = len },
		.memory = { .count = 1, .piece[0].length = len },
	};

	return raw_send(c, &m, sizeof(m), &fd, 1);
}

/* Many connections at once, each with as many holes as are filled */
static void many_holes(void)
{
	struct raw c[MANY];
	uint64_t before;
	char body[256];
	int fd[MANY], i;

	for (i = 0; i < MANY; i++) {
		CHECK_EQ(raw_open(&c[i], 0), 0);
		fd[i] = sparse(EACH);
	}
	next_round();
	before = main_thread_ns();
	for (i = 0; i < MANY; i++)
		CHECK_EQ(send_buf(&c[i], EACH, fd[i]), 0);
	check_modest();
	for (i = 0; i < MANY; i++) {
		CHECK(raw_receive(&c[i], body, sizeof(body)) >= 0);
		CHECK_EQ(c[i].head.ret, 0);
		CHECK_EQ(allocated(fd[i]), EACH);
	}
	printf("# %.3f ms of the main thread\n", (double)(main_thread_ns() - before) / 1e6);
	CHECK(main_thread_ns() - before < BUSY_NS);
	for (i = 0; i < MANY; i++) {
		raw_close(&c[i]);
		close(fd[i]);
	}
	check_modest();
}

static int large_file(void)
{
	int fd = sparse(LARGE);

	CHECK(!posix_fallocate(fd, 0, LARGE));
	return fd;
}

/* The daemon's copy is the last one: of a message that no request wants, and of a mapping. */
static void last_copy(void)
{
	struct rmc_query q = { .size = sizeof(q) };
	struct {
		struct rmcd_head head;
		struct rmc_query query;
	} m = { .head = { .request = RMC_IOC_QUERY, .fds = 1 }, .query = { .size = sizeof(q) } };
	uint64_t before, used;
	struct raw c;
	int mapped, fd;

	for (mapped = 0; mapped < 2; mapped++) {
		fd = large_file();
		CHECK_EQ(raw_open(&c, mapped ? 0 : -1), 0);
		if (mapped)
			CHECK_EQ(raw_buf(&c, AT, LARGE, fd, 0, NULL), 0);
		next_round();
		kill(daemon_pid, SIGSTOP);
		before = main_thread_ns();
		if (!mapped)
			CHECK_EQ(raw_send(&c, &m, sizeof(m), &fd, 1), 0);
		close(fd);
		if (mapped)
			raw_close(&c);
		kill(daemon_pid, SIGCONT);
		check_modest();
		if (!mapped)
			CHECK(raw_receive(&c, &q, sizeof(q)) >= 0);
		next_round();
		used = main_thread_ns() - before;
		printf("# %.3f ms of the main thread\n", (double)used / 1e6);
		CHECK(used < BUSY_NS);
		if (!mapped)
			raw_close(&c);
	}
}

/* ---- memory of the daemon ---- */

static int op(struct raw_qp *q, unsigned int what, uint64_t offset, void *buf)
{
	raw_post(q, what, 0, offset, buf, 64);
	return raw_wait(q, 10000);
}

/* Another user registers holes, and makes some later. */
static void hostile_user(void)
{
	int fd = sparse(SEG), large = sparse(EACH), bfd;
	uint8_t *p = mmap(NULL, SEG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct raw_qp q;
	struct raw c;
	void *buf;

	tap_failures = 0;
	if (syscall(SYS_setresgid, HOSTILE_UID, HOSTILE_UID, HOSTILE_UID) ||
	    syscall(SYS_setresuid, HOSTILE_UID, HOSTILE_UID, HOSTILE_UID))
		_exit(2);
	CHECK_EQ(raw_open(&c, OPEN_CTX), 0);
	/* nothing is filled for him */
	CHECK_EQ(raw_buf(&c, AT, EACH, large, 0, NULL), -EFAULT);
	CHECK_EQ(allocated(large), 0);
	memset(p, 1, SEG - PAGE);
	CHECK_EQ(raw_seg(&c, p, SEG, fd, 0), -EFAULT);
	CHECK_EQ(allocated(fd), SEG - PAGE);
	/* what he has filled is accepted, also of a file with holes */
	CHECK_EQ(raw_buf(&c, p, SEG - PAGE, fd, 0, NULL), 0);
	p[SEG - PAGE] = 1;
	CHECK_EQ(raw_seg(&c, p, SEG, fd, 0), 0);
	bfd = shared(PAGE, &buf);
	memset(buf, 7, PAGE);
	CHECK_EQ(raw_buf(&c, buf, PAGE, bfd, 0, NULL), 0);
	CHECK_EQ(raw_qp(&c, &q, 16), 0);
	CHECK_EQ(op(&q, RMC_OP_WRITE, PAGE, buf), RMC_S_OK);
	CHECK_EQ(p[PAGE], 7);
	/* a hole that he makes is lost memory, and stays a hole */
	CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * PAGE, PAGE));
	CHECK_EQ(op(&q, RMC_OP_READ, 2 * PAGE, buf), RMC_S_OK);
	CHECK_EQ(*(uint8_t *)buf, 0);
	CHECK_EQ(allocated(fd), SEG - PAGE);
	CHECK_EQ(op(&q, RMC_OP_WRITE, 2 * PAGE, buf), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(op(&q, RMC_OP_WRITE, PAGE, buf), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(allocated(fd), SEG - PAGE);
	fflush(stdout);
	_exit(tap_failures ? 1 : 0);
}

static void other_user(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		hostile_user();
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	check_modest();
}

/* ---- memory of clients ---- */

/* The daemon opens it with the context: yama may permit it to another daemon afterwards. */
static void opened_at_once(void)
{
	char want[32], path[64], name[64];
	struct raw c;
	int fd, found = 0;
	ssize_t n;

	CHECK_EQ(raw_open(&c, 0), 0);
	snprintf(want, sizeof(want), "/proc/%d/mem", (int)getpid());
	for (fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)daemon_pid, fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		found += !strcmp(name, want);
	}
	/* one for each context */
	CHECK_EQ(found, 2);
	raw_close(&c);
}

static void run_unless(const char *reason, const char *name, void (*run)(void))
{
	if (reason) {
		tap_skip(name, reason);
		return;
	}
	run();
	tap_result(name);
}

int main(int argc, char **argv)
{
	static const char * const options[] = { "-n", "1", "--contexts", "0,1:0666", NULL };
	const char *no_clock, *no_fault = NULL, *no_user = NULL;
	int fault;

	if (argc != 2) {
		fprintf(stderr, "usage: holes PATH_OF_RMCD\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	start_daemon(argv[1], options);
	open_modest();
	fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fault < 0)
		no_fault = "no userfaultfd for page faults of the kernel";
	else
		close(fault);
	no_clock = main_thread_ns() ? NULL : "no schedstat: CPU time cannot be measured";
	if (geteuid())
		no_user = "needs root, for two users";
	else if (!may_userfault())
		no_user = "no userfaultfd, or before Linux 5.14";
	run_unless(no_fault, "a file whose lock is held", held_lock);
	run_unless(no_clock, "many connections with holes", many_holes);
	run_unless(no_clock, "the last copy of a large file", last_copy);
	run_unless(no_user, "holes of another user", other_user);
	run_unless(NULL, "memory of a client is opened with its context", opened_at_once);
	stop_daemon();
	return tap_done();
}
