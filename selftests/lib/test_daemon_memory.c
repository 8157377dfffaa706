/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory that the library shares with rmcd: which part of it, by which file, and that it is
 * private again afterwards, with its content, at its address.
 */
#include <sys/wait.h>
#include "daemon_client.h"
#include "rmc/wait.h"

/* The pieces of the last registration, as "private 8, file0+4096 8192" */
static int sent(const char *expected)
{
	struct stubd s = stubd_seen();
	char text[512] = "";
	unsigned int i;
	size_t n = 0;

	for (i = 0; i < s.memory.count; i++) {
		if (s.memory.piece[i].fd == RMCD_PRIVATE)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%sprivate %llu", i ? ", " : "",
					      (unsigned long long)s.memory.piece[i].length);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%sfile%d+%llu %llu",
					      i ? ", " : "", s.memory.piece[i].fd,
					      (unsigned long long)s.memory.piece[i].offset,
					      (unsigned long long)s.memory.piece[i].length);
	}
	if (!strcmp(text, expected))
		return 1;
	printf("# sent: %s\n", text);
	return 0;
}

/* Mappings of files that the library made */
static int count_mappings(void)
{
	FILE *maps = rmc_maps_open();
	struct rmc_vma v;
	int n = 0;

	while (rmc_maps_next(maps, &v))
		n += !strncmp(v.path, "/memfd:rmc ", 11);
	fclose(maps);
	return n;
}

static void allocated(void)
{
	struct rmc_buf_reg arg = {
		.size = sizeof(arg), .flags = RMC_MEM_ALLOC, .length = 2 * PAGE,
	};
	struct stubd s;
	int open_fds, id, mappings;
	char *p, *q;

	open_ctx();
	open_fds = count_fds();
	CHECK_EQ(rmc_seg_alloc(ctx, 5000, RMC_MEM_READONLY, 0, (void **)&p), 0);
	s = stubd_seen();
	CHECK_EQ(s.seg_reg.flags, RMC_MEM_READONLY);
	CHECK_EQ(s.seg_reg.addr, (uintptr_t)p);
	CHECK_EQ(s.seg_reg.length, 5000);
	CHECK_EQ(s.fds, 1);
	CHECK(sent("file0+0 5000"));
	CHECK_EQ(stubd_seals(0) & (F_SEAL_SHRINK | F_SEAL_GROW), F_SEAL_SHRINK | F_SEAL_GROW);
	p[4999] = 5;
	CHECK_EQ(((char *)stubd_piece(0))[4999], 5);
	id = rmc_buf_alloc(ctx, PAGE, -1, (void **)&q);
	CHECK_EQ(id, 0);
	CHECK_EQ(stubd_seen().buf_reg.flags, 0);
	/* the segment as a local buffer: no other file, and it outlives the segment */
	CHECK_EQ(rmc_buf_register(ctx, p + 64, 100), 1);
	CHECK(sent("file0+64 100"));
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(kind(p), '-');
	CHECK_EQ(rmc_buf_unregister(ctx, 1), 0);
	CHECK_EQ(rmc_buf_unregister(ctx, id), 0);
	CHECK_EQ(kind(q), '-');
	CHECK_EQ(count_fds(), open_fds);
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, 1000, (void **)&p), -EINVAL);
	CHECK(says("NUMA node 1000"));
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, 1 << 20, (void **)&p), -EINVAL);
	CHECK_EQ(rmc_seg_alloc(ctx, (1ULL << 40) + 1, 0, -1, (void **)&p), -EINVAL);
	CHECK_EQ(rmc_seg_alloc(ctx, 0, 0, -1, (void **)&p), -EINVAL);
	mappings = count_mappings();	/* that of the server */
	stubd_refuse(RMC_IOC_SEG_REG, EEXIST);
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, -1, (void **)&p), -EEXIST);
	CHECK_EQ(count_mappings(), mappings);
	/* who maps it unmaps it, and nobody else can map it */
	CHECK_EQ(rmc_call(ctx, RMC_IOC_BUF_REG, &arg), 0);
	CHECK(rmc_map(ctx, PAGE, PROT_READ, arg.mmap_offset) == MAP_FAILED);
	p = (char *)rmc_map(ctx, 2 * PAGE, PROT_READ | PROT_WRITE, arg.mmap_offset);
	CHECK(p != MAP_FAILED && rmc_map(ctx, 2 * PAGE, PROT_READ, arg.mmap_offset) == MAP_FAILED);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	CHECK_EQ(count_mappings(), mappings + 1);
	munmap(p, 2 * PAGE);
	CHECK_EQ(count_fds(), open_fds);
	CHECK_EQ(rmc_buf_alloc(ctx, PAGE, -1, (void **)&q), 0);
	rmc_close(ctx);
	CHECK_EQ(kind(q), '-');
	stop();
}

static void moved(void)
{
	char *p = pages(4);
	int open_fds, id;

	open_ctx();
	open_fds = count_fds();
	fill(p, 4 * PAGE);
	id = rmc_buf_register(ctx, p + 100, 3 * PAGE);
	CHECK_EQ(id, 0);
	CHECK_EQ(stubd_seen().buf_reg.addr, (uintptr_t)p + 100);
	CHECK(sent("private 3996, file0+0 8192, private 100"));
	CHECK(kind(p) == 'p' && kind(p + PAGE) == 's' && kind(p + 2 * PAGE) == 's' &&
	      kind(p + 3 * PAGE) == 'p');
	CHECK(filled(p, 4 * PAGE));
	CHECK(!memcmp(stubd_piece(1), p + PAGE, 2 * PAGE));
	/* both sides have the same memory */
	((char *)stubd_piece(1))[17] = 99;
	CHECK_EQ(p[PAGE + 17], 99);
	p[PAGE + 17] = (char)((PAGE + 17) * 7 + 1);
	CHECK_EQ(rmc_buf_unregister(ctx, id), 0);
	CHECK(kind(p + PAGE) == 'p' && kind(p + 2 * PAGE) == 'p');
	CHECK(filled(p, 4 * PAGE));
	((char *)stubd_piece(1))[17] = 98;
	CHECK(filled(p, 4 * PAGE));
	CHECK_EQ(count_fds(), open_fds);
	/* each buffer for itself */
	CHECK_EQ(rmc_buf_register(ctx, p, PAGE), 0);
	CHECK_EQ(rmc_buf_register(ctx, p + 2 * PAGE, PAGE), 1);
	CHECK_EQ(rmc_buf_unregister(ctx, 1), 0);
	CHECK(kind(p) == 's' && kind(p + 2 * PAGE) == 'p');
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	/* closing moves back, too */
	CHECK_EQ(rmc_seg_register(ctx, p, 4 * PAGE, 0), 0);
	CHECK_EQ(rmc_seg_add(ctx, pages(1), PAGE, 1 << 20, 0), 0);
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), 0);
	CHECK_EQ(kind(p), 's');
	rmc_close(ctx);
	CHECK_EQ(kind(p), 'p');
	CHECK(filled(p, 4 * PAGE));
	stop();
	munmap(p, 4 * PAGE);
}

static void overlapping(void)
{
	char *p = pages(8), *range = pages(1);
	int open_fds, id, order;

	open_ctx();
	open_fds = count_fds();
	fill(p, 8 * PAGE);
	for (order = 0; order < 2; order++) {
		CHECK_EQ(rmc_seg_register(ctx, p, 4 * PAGE, 0), 0);
		CHECK(sent("file0+0 16384"));
		/* pages of the segment, then further ones: they have another file */
		id = rmc_buf_register(ctx, p + 2 * PAGE, 4 * PAGE);
		CHECK(sent("file0+8192 8192, file1+0 8192"));
		CHECK(!memcmp(stubd_piece(0), p + 2 * PAGE, 2 * PAGE));
		CHECK_EQ(rmc_seg_add(ctx, range, PAGE, 1 << 20, 0), 0);
		CHECK_EQ(order ? rmc_buf_unregister(ctx, id) : rmc_seg_unregister(ctx), 0);
		CHECK_EQ(kind(range), order ? 's' : 'p');
		CHECK_EQ(kind(p), 's');
		CHECK_EQ(kind(p + 4 * PAGE), order ? 'p' : 's');
		CHECK_EQ(order ? rmc_seg_unregister(ctx) : rmc_buf_unregister(ctx, id), 0);
		CHECK(kind(p) == 'p' && kind(p + 4 * PAGE) == 'p' && kind(range) == 'p');
		CHECK(filled(p, 8 * PAGE));
		CHECK_EQ(count_fds(), open_fds);
	}
	CHECK_EQ(rmc_seg_register(ctx, p, 4 * PAGE, 0), 0);
	CHECK_EQ(rmc_seg_add(ctx, range, PAGE, 1 << 20, 0), 0);
	CHECK_EQ(rmc_seg_remove(ctx, 1 << 20), 0);
	CHECK(kind(range) == 'p' && kind(p) == 's');
	close_ctx();
	munmap(p, 8 * PAGE);
	munmap(range, PAGE);
}

static void refused(void)
{
	char *p = pages(4);
	int open_fds;

	open_ctx();
	open_fds = count_fds();
	fill(p, 4 * PAGE);
	stubd_refuse(RMC_IOC_BUF_REG, EDQUOT);
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), -EDQUOT);
	CHECK_EQ(kind(p), 'p');
	stubd_refuse(RMC_IOC_SEG_REG, EEXIST);
	CHECK_EQ(rmc_seg_register(ctx, p, 4 * PAGE, 0), -EEXIST);
	CHECK(says("has a segment"));
	CHECK_EQ(kind(p), 'p');
	stubd_refuse(RMC_IOC_SEG_ADD, ENOSPC);
	CHECK_EQ(rmc_seg_add(ctx, p, 4 * PAGE, 0, 0), -ENOSPC);
	CHECK_EQ(kind(p), 'p');
	CHECK(filled(p, 4 * PAGE));
	/* what is not unregistered stays shared */
	stubd_refuse(0, 0);
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), 0);
	stubd_refuse(RMC_IOC_BUF_UNREG, ENOENT);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), -ENOENT);
	CHECK_EQ(kind(p), 's');
	stubd_refuse(0, 0);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	CHECK_EQ(kind(p), 'p');
	CHECK_EQ(count_fds(), open_fds);
	close_ctx();
	munmap(p, 4 * PAGE);
}

static char data[3 * PAGE] = { 1 }, bss[3 * PAGE];

static void private_memory(void)
{
	char array[3 * PAGE], *page = (char *)(((uintptr_t)array + PAGE - 1) & ~(PAGE - 1));
	_Alignas(64) uint64_t word = 0x1234;
	char *p = pages(2);
	int id;

	open_ctx();
	id = rmc_buf_register(ctx, &word, sizeof(word));
	CHECK(id >= 0 && sent("private 8"));
	CHECK_EQ(stubd_seen().fds, 0);
	CHECK_EQ(word, 0x1234);
	/* whole pages of the stack stay as well */
	id = rmc_buf_register(ctx, page, 2 * PAGE);
	CHECK(id >= 0 && sent("private 8192"));
	CHECK_EQ(kind(page), 'p');
	CHECK_EQ(rmc_seg_register(ctx, &word, sizeof(word), 0), -EOPNOTSUPP);
	CHECK(says("rmc_seg_alloc()"));
	CHECK_EQ(rmc_seg_add(ctx, page, PAGE, 0, 0), -EOPNOTSUPP);
	CHECK(says("page-aligned memory of whole pages"));
	/* variables */
	fill(data, sizeof(data));
	CHECK(rmc_buf_register(ctx, data, sizeof(data)) >= 0);
	CHECK(stubd_seen().fds == 1 && filled(data, sizeof(data)));
	CHECK(rmc_buf_register(ctx, bss, sizeof(bss)) >= 0);
	CHECK(stubd_seen().fds == 1);
	/* a segment is whole pages, at both ends */
	CHECK_EQ(rmc_seg_register(ctx, p + 64, 2 * PAGE - 64, 0), -EOPNOTSUPP);
	CHECK_EQ(rmc_seg_register(ctx, p, PAGE + 64, 0), -EOPNOTSUPP);
	CHECK_EQ(kind(p), 'p');
	CHECK_EQ(rmc_seg_register(ctx, p, PAGE, 0), 0);
	close_ctx();
	munmap(p, 2 * PAGE);
	CHECK(filled(data, sizeof(data)));
	CHECK_EQ(kind(data + PAGE), 'p');
}

static void unfit_memory(void)
{
	char *p = pages(4), *hole = pages(3);
	unsigned int messages;

	open_ctx();
	messages = stubd_seen().messages;
	mprotect(p + PAGE, PAGE, PROT_READ);
	mprotect(p + 2 * PAGE, PAGE, PROT_NONE);
	munmap(hole + PAGE, PAGE);
	CHECK_EQ(rmc_buf_register(ctx, p, 2 * PAGE), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, p + 2 * PAGE, PAGE), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, hole, 3 * PAGE), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, hole + PAGE, 8), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, (void *)PAGE, 8), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, (void *)-8, 64), -EFAULT);
	CHECK_EQ(rmc_buf_register(ctx, p, 0), -EINVAL);
	CHECK_EQ(rmc_seg_register(ctx, p + 8, 8, 0), -EINVAL);
	CHECK(says("not a multiple of 64"));
	CHECK(kind(p) == 'p' && kind(hole) == 'p');
	CHECK_EQ(stubd_seen().messages, messages);
	close_ctx();
	munmap(p, 4 * PAGE);
	munmap(hole, 3 * PAGE);
}

/* More pieces than a message has: a buffer is copied, a segment cannot be. */
static void many_mappings(void)
{
	char *p = pages(20);
	int i, fd, open_fds;

	open_ctx();
	for (i = 0; i < 20; i += 2) {
		fd = memfd_create("test", MFD_CLOEXEC);
		CHECK_EQ(ftruncate(fd, PAGE), 0);
		CHECK(mmap(p + (size_t)i * PAGE, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
		close(fd);
	}
	open_fds = count_fds();
	CHECK(rmc_buf_register(ctx, p, 20 * PAGE) >= 0);
	CHECK(sent("private 81920"));
	CHECK_EQ(kind(p + PAGE), 'p');
	CHECK_EQ(rmc_seg_register(ctx, p, 20 * PAGE, 0), -EOPNOTSUPP);
	CHECK(says("too many mappings"));
	CHECK_EQ(count_fds(), open_fds);
	close_ctx();
	munmap(p, 20 * PAGE);
}

static char *map_fd(int fd, size_t n, off_t offset)
{
	return (char *)mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static off_t allocated_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : (off_t)st.st_blocks * 512;
}

static void shared_memory(void)
{
	int fd, other, open_fds;
	char path[128], *p, *q;

	open_ctx();
	fd = memfd_create("test", MFD_CLOEXEC);
	CHECK_EQ(ftruncate(fd, 4 * PAGE), 0);
	p = map_fd(fd, 3, PAGE);
	open_fds = count_fds();
	CHECK_EQ(rmc_seg_register(ctx, p + 64, 2 * PAGE, 0), 0);
	CHECK(sent("file0+4160 8192"));
	/* holes are filled here, by who is charged: the three pages that it is in, no others */
	CHECK_EQ(allocated_bytes(fd), 3 * PAGE);
	p[PAGE] = 77;
	CHECK_EQ(((char *)stubd_piece(0))[PAGE], 77);	/* its mapping begins with the page */
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(kind(p), 's');
	CHECK_EQ(count_fds(), open_fds);
	/* no way leads to it any more: copies will do for a buffer */
	close(fd);
	CHECK(rmc_buf_register(ctx, p, 3 * PAGE) >= 0);
	CHECK(sent("private 12288"));
	CHECK_EQ(rmc_seg_register(ctx, p, 3 * PAGE, 0), -EOPNOTSUPP);
	CHECK(says("rmc_seg_alloc()"));
	munmap(p, 3 * PAGE);
	/* the path leads to it */
	snprintf(path, sizeof(path), "/dev/shm/rmc-test-%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		CHECK_EQ(ftruncate(fd, PAGE), 0);
		p = map_fd(fd, 1, 0);
		close(fd);
		CHECK_EQ(rmc_seg_register(ctx, p, PAGE, 0), 0);
		CHECK(sent("file0+0 4096"));
		CHECK_EQ(rmc_seg_unregister(ctx), 0);
		/* another file of this name is not the memory */
		unlink(path);
		other = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		CHECK_EQ(rmc_seg_register(ctx, p, PAGE, 0), -EOPNOTSUPP);
		close(other);
		unlink(path);
		munmap(p, PAGE);
	}
	/* a file with writeback */
	fd = open(".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, PAGE)) {
		q = map_fd(fd, 1, 0);
		CHECK_EQ(rmc_buf_register(ctx, q, PAGE), -EOPNOTSUPP);
		CHECK(says("shared mapping of a file"));
		munmap(q, PAGE);
	}
	if (fd >= 0)
		close(fd);
	close_ctx();
}

/* The last page of a file of odd length; and the daemon is of our user: large holes stay. */
static void holes(void)
{
	const size_t large = (64UL << 20) / PAGE + 1;
	char *p;
	int fd;

	open_ctx();
	fd = memfd_create("test", MFD_CLOEXEC);
	CHECK_EQ(ftruncate(fd, PAGE + 1), 0);
	p = map_fd(fd, 2, 0);
	CHECK_EQ(rmc_seg_register(ctx, p, 2 * PAGE, 0), 0);
	CHECK_EQ(allocated_bytes(fd), 2 * PAGE);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	munmap(p, 2 * PAGE);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(ftruncate(fd, (off_t)(large * PAGE)), 0);
	p = map_fd(fd, large, 0);
	CHECK_EQ(rmc_seg_register(ctx, p, large * PAGE, 0), 0);
	CHECK_EQ(allocated_bytes(fd), 0);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(rmc_seg_register(ctx, p, (large - 1) * PAGE, 0), 0);
	CHECK_EQ(allocated_bytes(fd), (off_t)((large - 1) * PAGE));
	munmap(p, large * PAGE);
	close(fd);
	close_ctx();
}

/* The application unmaps registered memory, and has something else there. */
static void replaced(void)
{
	char *p = pages(4);

	open_ctx();
	fill(p, 4 * PAGE);
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), 0);
	mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	p[PAGE] = 42;
	munmap(p + 2 * PAGE, PAGE);
	mprotect(p + 3 * PAGE, PAGE, PROT_READ);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	CHECK_EQ(p[PAGE], 42);
	CHECK_EQ(kind(p), 'p');
	CHECK(filled(p, PAGE));
	CHECK_EQ(kind(p + 2 * PAGE), '-');
	CHECK_EQ(kind(p + 3 * PAGE), 'p');
	CHECK_EQ(p[3 * PAGE + 1], (char)((3 * PAGE + 1) * 7 + 3));
	close_ctx();
	munmap(p, 4 * PAGE);
}

/* In the child: 0, or the line of the first check that failed */
static int child(char *p, char *q)
{
#define OR_FAIL(x) do { if (!(x)) return __LINE__; } while (0)
	int fds = count_own_fds();

	OR_FAIL(kind(p) == 'p' && filled(p, 2 * PAGE));
	OR_FAIL(kind(q) == '-');
	memset(p, 0, 2 * PAGE);
	OR_FAIL(rmc_node_state(ctx, 1) == -EPERM);
	OR_FAIL(rmc_buf_register(ctx, p, PAGE) == -EPERM);
	rmc_close(ctx);
	OR_FAIL(kind(p) == 'p' && !p[0]);
	/* the socket, rmc_fd(), what wakes the worker; files of memory it has had none */
	OR_FAIL(count_own_fds() == fds - 3);
	return 0;
}

static void forking(void)
{
	char *p = pages(2), *q = NULL;
	int status = -1, own, line[2];
	struct rmc_qp *qp;
	pid_t pid;

	open_ctx();
	qp = rmc_qp_create(ctx, 8);
	fill(p, 2 * PAGE);
	CHECK_EQ(rmc_buf_register(ctx, p, 2 * PAGE), 1);
	CHECK_EQ(rmc_buf_alloc(ctx, PAGE, -1, (void **)&q), 2);
	CHECK_EQ(pipe2(line, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		own = child(p, q);
		if (write(line[1], &own, sizeof(own)) != sizeof(own))
			_exit(2);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	own = -1;
	CHECK_EQ(read(line[0], &own, sizeof(own)), sizeof(own));
	CHECK_EQ(own, 0);
	close(line[0]);
	close(line[1]);
	/* the parent has all as before */
	CHECK(kind(p) == 's' && filled(p, 2 * PAGE));
	CHECK_EQ(rmc_cq_arm(qp), 0);
	CHECK_EQ(rmc_buf_unregister(ctx, 1), 0);
	CHECK(kind(p) == 'p' && filled(p, 2 * PAGE));
	close_ctx();
	munmap(p, 2 * PAGE);
}

/* 0 if a child sees n filled pages at p, but for one that is the application's own */
static int child_sees(const char *p, size_t n, size_t own)
{
	int status = -1;
	pid_t pid;
	size_t i;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		for (i = 0; i < n; i++) {
			const char *at = p + i * PAGE;

			if (kind(at) != 'p')
				_exit(1);
			if (i == own ? *at != 42 : at[1] != (char)((i * PAGE + 1) * 7 + i))
				_exit(2);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* Memory cannot move back while there are no descriptors: it is shared, and no hole in a child. */
static void stuck(void)
{
	char *p = pages(4);
	rlim_t before;
	int open_fds;

	open_ctx();
	open_fds = count_fds();
	fill(p, 4 * PAGE);
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), 0);
	before = limit_fds(0);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	limit_fds(before);
	CHECK_EQ(kind(p), 's');
	CHECK(filled(p, 4 * PAGE));
	CHECK_EQ(child_sees(p, 4, 4), 0);
	/* the next registration has the same file, and moves it back */
	CHECK_EQ(rmc_buf_register(ctx, p, 4 * PAGE), 0);
	CHECK(sent("file0+0 16384"));
	CHECK_EQ(count_fds(), open_fds + 1);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	CHECK_EQ(kind(p), 'p');
	CHECK(filled(p, 4 * PAGE));
	CHECK_EQ(count_fds(), open_fds);
	close_ctx();
	munmap(p, 4 * PAGE);
}

/* The application has replaced a page of registered memory: a child has the others. */
static void replaced_before_fork(void)
{
	const size_t at[] = { 0, 1, 4, 8 };
	char *p;
	int i;

	open_ctx();
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		p = pages(9);
		fill(p, 9 * PAGE);
		CHECK(rmc_buf_register(ctx, p, 9 * PAGE) >= 0);
		mmap(p + at[i] * PAGE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		p[at[i] * PAGE] = 42;
		CHECK_EQ(child_sees(p, 9, at[i]), 0);
		CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
		munmap(p, 9 * PAGE);
	}
	close_ctx();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "allocated memory", allocated },
		{ "private memory is moved, and moved back", moved },
		{ "registrations that overlap share their pages", overlapping },
		{ "a refused registration changes nothing", refused },
		{ "words, stack and variables", private_memory },
		{ "memory that is not there, or not writable", unfit_memory },
		{ "more mappings than a message has pieces", many_mappings },
		{ "memory that is shared already", shared_memory },
		{ "holes of files", holes },
		{ "memory that the application replaced stays", replaced },
		{ "fork", forking },
		{ "memory that could not move back is no hole in a child", stuck },
		{ "a child has what the application did not replace", replaced_before_fork },
	};

	return run_with_daemon(tests, ARRAY_SIZE(tests));
}
