// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Memory that is short, or goes: holes of files, full file systems, truncated files, and a peer
 * that fills the doorbell. usage: shortage PATH_OF_RMCD
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tap.h"
#include "raw.h"

#define PAGES		16
#define SEG		(PAGES * PAGE)
#define LARGE		((1 << 30) + SEG)	/* of no other mapping */
#define FILL_BYTES	(64 << 20)	/* as in tools/rmcd/holes.c */

/* The owner of a segment on node 0, and who accesses it; both have the buffer. */
static struct raw owner, user;
static struct raw_qp user_qp;
static uint8_t *user_buf;

static char folder[64];

static void open_both(void)
{
	void *p;
	int fd = shared(PAGE, &p);

	user_buf = p;
	CHECK_EQ(raw_open(&owner, 0), 0);
	CHECK_EQ(raw_open(&user, 0), 0);
	CHECK_EQ(raw_call(&user, RMC_IOC_ATTACH,
			  &(struct rmc_attach){ .size = sizeof(struct rmc_attach), .nid = 1 },
			  sizeof(struct rmc_attach)), 0);
	CHECK_EQ(raw_buf(&user, user_buf, PAGE, fd, 0, NULL), 0);
	CHECK_EQ(raw_qp(&user, &user_qp, 64), 0);
	close(fd);
}

static void close_both(void)
{
	raw_qp_unmap(&user_qp);
	munmap(user_buf, PAGE);
	raw_close(&user);
	raw_close(&owner);
}

static int op(unsigned int what, uint64_t offset)
{
	raw_post(&user_qp, what, 0, offset, user_buf, 64);
	return raw_wait(&user_qp, 10000);
}

static int unregister(void)
{
	struct rmc_seg_unreg arg = { .size = sizeof(arg) };

	return raw_call(&owner, RMC_IOC_SEG_UNREG, &arg, sizeof(arg));
}

static off_t allocated(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (off_t)st.st_blocks * 512;
}

/* What is registered has no hole afterwards, unless it is so long that others would wait. */
static void holes(void)
{
	void *p;
	int fd = shared(SEG, &p), large = memfd_create("large", MFD_CLOEXEC);

	open_both();
	CHECK_EQ(allocated(fd), 0);
	CHECK_EQ(raw_seg(&owner, (uint8_t *)p + PAGE, 3 * PAGE, fd, PAGE), 0);
	CHECK_EQ(allocated(fd), 3 * PAGE);
	CHECK_EQ(raw_buf(&owner, (uint8_t *)p + 100, SEG - 100, fd, 100, NULL), 0);
	CHECK_EQ(allocated(fd), SEG);
	CHECK(!ftruncate(large, FILL_BYTES + PAGE));
	CHECK_EQ(raw_buf(&owner, (void *)(uintptr_t)(1UL << 40), FILL_BYTES + PAGE, large, 0, NULL),
		 0);
	CHECK_EQ(allocated(large), 0);
	munmap(p, SEG);
	close(large);
	close(fd);
	close_both();
}

/* A file of @len bytes in the small file system; as much of it as possible is filled. */
static int file_in(const char *name, size_t len, int filled)
{
	char path[96], page[PAGE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && !ftruncate(fd, (off_t)len));
	memset(page, 1, sizeof(page));
	while (filled && write(fd, page, sizeof(page)) == PAGE)
		;
	return fd;
}

/* Somebody fills the file system of a registered file: all that is written reaches its owner. */
static void full_file_system(void)
{
	int fd = file_in("mine", SEG, 0), fill, second, i;
	uint8_t *p = mmap(NULL, SEG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	open_both();
	CHECK_EQ(raw_seg(&owner, p, SEG, fd, 0), 0);
	/* else our own access below is the signal */
	CHECK_EQ(allocated(fd), SEG);
	if (tap_failures)
		return;
	fill = file_in("fill", 0, 1);
	for (i = 0; i < PAGES; i++) {
		user_buf[0] = (uint8_t)(i + 1);
		CHECK_EQ(op(RMC_OP_WRITE, (uint64_t)i * PAGE), RMC_S_OK);
		CHECK_EQ(p[i * PAGE], i + 1);
	}
	/* and what does not fit any more is refused */
	second = file_in("second", SEG, 0);
	CHECK_EQ(unregister(), 0);
	CHECK_EQ(raw_seg(&owner, p, SEG, second, 0), -ENOMEM);
	CHECK(!ftruncate(fill, 0));
	CHECK_EQ(raw_seg(&owner, p, SEG, second, 0), 0);
	close(second);
	close(fill);
	munmap(p, SEG);
	close(fd);
	close_both();
}

/* The operation that finds it reads zeros, all further ones fail, also elsewhere. */
static void check_lost(uint64_t offset)
{
	CHECK_EQ(op(RMC_OP_READ, offset), RMC_S_OK);
	user_buf[0] = 7;
	CHECK_EQ(op(RMC_OP_WRITE, offset), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(op(RMC_OP_READ, offset + 2 * PAGE), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(op(RMC_OP_READ, offset - PAGE), RMC_S_OUT_OF_RANGE);
}

/* A file that its owner truncates: nothing is written to where nobody sees it. */
static void lost_segment(void)
{
	void *p;
	int fd = shared(SEG, &p), i;

	open_both();
	for (i = 0; i < 3; i++) {
		CHECK_EQ(raw_seg(&owner, p, SEG, fd, 0), 0);
		CHECK(!ftruncate(fd, PAGE));
		CHECK_EQ(op(RMC_OP_WRITE, 0), RMC_S_OK);
		check_lost(PAGE);
		CHECK_EQ(unregister(), 0);
		CHECK_EQ(op(RMC_OP_READ, 0), RMC_S_BAD_CONTEXT);
		CHECK(!ftruncate(fd, SEG));
	}
	munmap(p, SEG);
	close(fd);
	close_both();
}

/* A further range that is lost: the rest of the segment stays. */
static void lost_range(void)
{
	struct {
		struct rmc_seg_add add;
		struct rmcd_memory memory;
	} m = {
		.add = { .size = sizeof(m.add), .offset = 1 << 20, .length = SEG },
		.memory = { .count = 1, .piece[0].length = SEG },
	};
	void *p, *p2;
	int fd = shared(SEG, &p), fd2 = shared(SEG, &p2);

	open_both();
	CHECK_EQ(raw_seg(&owner, p, SEG, fd, 0), 0);
	m.add.addr = (uintptr_t)p2;
	CHECK_EQ(raw_call_fds(&owner, RMC_IOC_SEG_ADD, &m.add, sizeof(m.add), &m.memory,
			      sizeof(m.memory), &fd2, 1), 0);
	CHECK_EQ(op(RMC_OP_WRITE, (1 << 20) + PAGE), RMC_S_OK);
	CHECK(!ftruncate(fd2, PAGE));
	check_lost((1 << 20) + PAGE);
	CHECK_EQ(op(RMC_OP_WRITE, 0), RMC_S_OK);
	munmap(p, SEG);
	munmap(p2, SEG);
	close(fd);
	close(fd2);
	close_both();
}

static void lost_buffer(void)
{
	uint8_t *own;
	void *p, *p2;
	int fd = shared(SEG, &p), fd2 = shared(SEG, &p2);

	open_both();
	CHECK_EQ(raw_seg(&owner, p, SEG, fd, 0), 0);
	CHECK_EQ(raw_buf(&user, p2, SEG, fd2, 0, NULL), 0);
	CHECK(!ftruncate(fd2, 0));
	own = user_buf;
	user_buf = p2;
	CHECK_EQ(op(RMC_OP_WRITE, 0), RMC_S_OK);
	CHECK_EQ(op(RMC_OP_WRITE, 0), RMC_S_BAD_LBUF);
	user_buf = own;
	CHECK_EQ(op(RMC_OP_WRITE, 0), RMC_S_OK);
	munmap(p, SEG);
	munmap(p2, SEG);
	close(fd);
	close(fd2);
	close_both();
}

static const char *install(struct sock_filter *code, unsigned short len)
{
	struct sock_fprog program = { .len = len, .filter = code };

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return "the filter is for little-endian machines";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return "no seccomp filters";
	return NULL;
}

/*
 * The daemon, which inherits this, gets ENOMEM for a new mapping of LARGE bytes in the place of
 * another: as with vm.overcommit_memory=2.
 */
static const char *refuse_large(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LARGE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(code[0]));
}

/* Nor may it map shared memory over what is there: where that fails, there may be a gap. */
static const char *refuse_over(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_FIXED),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED | MAP_FIXED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(code[0]));
}

/* Two files side by side: as in memory of one file, what is written reaches its owner. */
static void two_files(void)
{
	struct {
		struct rmc_seg_reg reg;
		struct rmcd_memory memory;
	} m = {
		.reg = { .size = sizeof(m.reg), .addr = 1UL << 40, .length = 2 * SEG },
		.memory = { .count = 2, .piece = { { .length = SEG },
							{ .length = SEG, .fd = 1 } } },
	};
	uint8_t *p[2];
	int fd[2], i;

	open_both();
	for (i = 0; i < 2; i++) {
		void *at;

		fd[i] = shared(SEG, &at);
		p[i] = at;
	}
	CHECK_EQ(raw_call_fds(&owner, RMC_IOC_SEG_REG, &m.reg, sizeof(m.reg), &m.memory,
			      sizeof(m.memory), fd, 2), 0);
	for (i = 0; i < 2; i++) {
		user_buf[0] = (uint8_t)(i + 1);
		CHECK_EQ(op(RMC_OP_WRITE, (uint64_t)i * SEG), RMC_S_OK);
		CHECK_EQ(p[i][0], i + 1);
	}
	/* the second one fails: nothing is left, and the daemon goes on */
	CHECK_EQ(unregister(), 0);
	CHECK(!ftruncate(fd[1], PAGE));
	CHECK_EQ(raw_call_fds(&owner, RMC_IOC_SEG_REG, &m.reg, sizeof(m.reg), &m.memory,
			      sizeof(m.memory), fd, 2), -EFAULT);
	for (i = 0; i < 2; i++) {
		munmap(p[i], SEG);
		close(fd[i]);
	}
	close_both();
}

/* Zeros in the place of a large file are more memory than the daemon may have. */
static void little_memory(void)
{
	int fd = memfd_create("large", MFD_CLOEXEC);
	void *p = (void *)(uintptr_t)(1UL << 40);

	open_both();
	CHECK(!ftruncate(fd, LARGE));
	CHECK_EQ(raw_seg(&owner, p, LARGE, fd, 0), 0);
	CHECK_EQ(op(RMC_OP_WRITE, LARGE / 2), RMC_S_OK);
	CHECK(!ftruncate(fd, PAGE));
	check_lost(LARGE / 2);
	CHECK_EQ(unregister(), 0);
	close(fd);
	close_both();
}

/* ---- a daemon with a region ---- */

static void region_path(char *path, size_t len, const char *after)
{
	snprintf(path, len, "%s/region%s", folder, after);
}

static void ring(void)
{
	static char rings[PAGE];
	char path[96];
	int fd;

	region_path(path, sizeof(path), ".0");
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(fd, rings, PAGE) > 0 || errno == EAGAIN)
		;
	_exit(1);
}

/* A peer rings all the time: the main thread still gets its calls through to the worker. */
static void ringing_peer(void)
{
	pid_t pid = fork();
	uint64_t start;
	struct raw_qp q;
	struct raw c;
	int i;

	if (!pid)
		ring();
	start = now_ns();
	for (i = 0; i < 20; i++) {
		CHECK_EQ(raw_open(&c, 0), 0);
		CHECK_EQ(raw_qp(&c, &q, 2), 0);
		raw_qp_unmap(&q);
		raw_close(&c);
		usleep(10000);	/* the worker parks, and wakes for the doorbell */
	}
	CHECK(now_ns() - start < 10000000000);
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* System calls that read, of all threads of the daemon; 0: unknown here */
static unsigned long daemon_reads(void)
{
	char path[64], line[64];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)daemon_pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "syscr: %lu", &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

/* A full doorbell is emptied in few reads: a peer could go on ringing between many. */
static void full_doorbell(void)
{
	static char rings[PAGE];
	unsigned long before = daemon_reads();
	char path[96];
	int fd, i, left;

	region_path(path, sizeof(path), ".0");
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(fd >= 0 && !kill(daemon_pid, SIGSTOP));
	while (write(fd, rings, sizeof(rings)) > 0)
		;
	CHECK(!kill(daemon_pid, SIGCONT));
	for (i = 0; i < 5000 && !ioctl(fd, FIONREAD, &left) && left; i++)
		usleep(1000);
	CHECK_EQ(left, 0);
	if (before)
		CHECK(daemon_reads() - before < 64);
	else
		printf("# no I/O accounting: reads were not counted\n");
	close(fd);
}

static void modes(void)
{
	char path[96];
	struct stat st;

	region_path(path, sizeof(path), "");
	CHECK(!stat(path, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 077));
	region_path(path, sizeof(path), ".0");
	CHECK(!stat(path, &st) && S_ISFIFO(st.st_mode) && !(st.st_mode & 077));
}

/* The file is truncated: the node is alone, and the daemon answers. */
static void truncated_region(void)
{
	struct rmc_query q = { .size = sizeof(q) };
	char path[96];
	struct raw c;
	int i;

	region_path(path, sizeof(path), "");
	CHECK(!truncate(path, 0));
	for (i = 0; i < 100; i++) {
		CHECK_EQ(raw_open(&c, 0), 0);
		CHECK_EQ(raw_call(&c, RMC_IOC_QUERY, &q, sizeof(q)), 0);
		raw_close(&c);
		usleep(10000);	/* heartbeats and polls of peers go on meanwhile */
	}
}

/* A file system of our own, which the daemon sees, too */
static const char *small_file_system(void)
{
	char template[] = "/tmp/rmcd-shortage-XXXXXX";

	if (!mkdtemp(template))
		return "no folder in /tmp";
	strcpy(folder, template);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return "no mount namespace: root only";
	if (mount("small", folder, "tmpfs", 0, "size=160k"))
		return "no tmpfs can be mounted";
	return NULL;
}

static void with_region(const char *program)
{
	char path[96];
	const char * const options[] = { "--region", path, "--region-size", "16M", NULL };

	region_path(path, sizeof(path), "");
	start_daemon(program, options);
	modes();
	tap_result("only the user can write a region and its doorbell");
	full_doorbell();
	tap_result("a full doorbell");
	ringing_peer();
	tap_result("a peer rings all the time");
	truncated_region();
	tap_result("a region is truncated");
	stop_daemon();
	unlink(path);
	region_path(path, sizeof(path), ".0");
	unlink(path);
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
	static const char * const options[] = { "-n", "2", "--contexts", "0", NULL };
	static const struct tap_test tests[] = {
		{ "holes of files are filled when they are registered", holes },
		{ "a segment is lost", lost_segment },
		{ "a range is lost", lost_range },
		{ "a local buffer is lost", lost_buffer },
	};
	const char *why, *no_filter, *no_over;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: shortage PATH_OF_RMCD\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	why = small_file_system();
	no_filter = refuse_large();
	no_over = refuse_over();
	start_daemon(argv[1], options);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		run_unless(NULL, tests[i].name, tests[i].run);
	run_unless(no_filter, "a large segment is lost, and memory is short", little_memory);
	run_unless(no_over, "two files side by side, without gaps meanwhile", two_files);
	run_unless(why, "a full file system", full_file_system);
	stop_daemon();
	umount(folder);
	with_region(argv[1]);
	rmdir(folder);
	return tap_done();
}
