// SPDX-License-Identifier: GPL-2.0
/* Registering segments and local buffers: which memory, how much, and who is charged for it. */
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include "common.h"

#define HUGE	(2UL << 20)

static int fd;

static void prepare(void)
{
	fd = open_ctx(CTX);
	REQUIRE(fd >= 0);
}

TEST(unmapped_is_efault)
{
	uint8_t *p = memory(PAGE);

	prepare();
	REQUIRE(!munmap(p, PAGE));
	CHECK_ERRNO(seg_reg(fd, p, PAGE, 0), EFAULT);
	CHECK_ERRNO(buf_reg(fd, p, PAGE, 0), EFAULT);
	CHECK_ERRNO(seg_reg(fd, NULL, PAGE, 0), EFAULT);
	CHECK_ERRNO(buf_reg(fd, NULL, PAGE, 0), EFAULT);
	/* an address that a WQ entry cannot hold */
	CHECK_ERRNO(buf_reg(fd, (void *)0xffff888000000000UL, PAGE, 0), EINVAL);
}

/* Pages that were pinned before the hole are released. */
TEST(partly_mapped_is_efault)
{
	long long pinned = pages_pinned(), kib = pinned_kib();
	uint8_t *p = memory(64 * PAGE);

	prepare();
	memset(p, 1, 64 * PAGE);
	CHECK_ERRNO(seg_reg(fd, p, 65 * PAGE, 0), EFAULT);
	CHECK_ERRNO(buf_reg(fd, p + 1, 64 * PAGE, 0), EFAULT);
	REQUIRE(!munmap(p + 32 * PAGE, PAGE));
	CHECK_ERRNO(seg_reg(fd, p, 64 * PAGE, 0), EFAULT);
	CHECK_ERRNO(buf_reg(fd, p, 64 * PAGE, 0), EFAULT);
	CHECK(!pages_settle(pinned));
	CHECK_EQ(pinned_kib(), kib);
}

TEST(readonly_memory_is_efault)
{
	uint8_t *p = memory(PAGE);

	prepare();
	*p = 1;
	REQUIRE(!mprotect(p, PAGE, PROT_READ));
	CHECK_ERRNO(seg_reg(fd, p, PAGE, 0), EFAULT);
	CHECK_ERRNO(seg_reg(fd, p, PAGE, RMC_MEM_READONLY), EFAULT);
	CHECK_ERRNO(buf_reg(fd, p, PAGE, 0), EFAULT);
}

TEST(program_text_is_efault)
{
	void *text = (void *)((uintptr_t)(void *)&prepare & ~(PAGE - 1));

	prepare();
	CHECK_ERRNO(seg_reg(fd, text, PAGE, 0), EFAULT);
	CHECK_ERRNO(buf_reg(fd, text, 16, 0), EFAULT);
}

TEST(unaligned_segment_is_einval)
{
	uint8_t *p = memory(2 * PAGE);
	int i;

	prepare();
	for (i = 1; i < 64; i++)
		CHECK_ERRNO(seg_reg(fd, p + i, PAGE, 0), EINVAL);
	CHECK(!seg_reg(fd, p + 64, PAGE, 0));
}

TEST(segment_of_any_length)
{
	uint8_t *p = memory(4 * PAGE);
	static const size_t lengths[] = { 1, 5, 63, 64, 65, 4095, 4096, 4097, 12345 };
	unsigned int i;

	prepare();
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(!seg_reg(fd, p, lengths[i], 0));
		CHECK(!seg_unreg(fd));
	}
}

TEST(buffer_of_any_alignment)
{
	uint8_t *p = memory(3 * PAGE);
	int i, id;

	prepare();
	for (i = 0; i < 70; i++) {
		id = buf_reg(fd, p + PAGE - i, 1 + (unsigned int)i * 31, 0);
		CHECK(id >= 0);
		CHECK(!buf_unreg(fd, (unsigned int)id));
	}
}

TEST(length_zero_is_einval)
{
	uint8_t *p = memory(PAGE);

	prepare();
	CHECK_ERRNO(seg_reg(fd, p, 0, 0), EINVAL);
	CHECK_ERRNO(buf_reg(fd, p, 0, 0), EINVAL);
	CHECK_ERRNO(seg_reg(fd, NULL, 0, RMC_MEM_ALLOC), EINVAL);
	CHECK_ERRNO(buf_reg(fd, NULL, 0, RMC_MEM_ALLOC), EINVAL);
}

TEST(length_beyond_max_is_einval)
{
	struct rmc_query q = { .size = sizeof(q) };
	uint8_t *p = memory(PAGE);
	int fds;

	prepare();
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	for (fds = 0; fds < 2; fds++) {
		CHECK_ERRNO(seg_reg(fd, p, q.max_segment + 1, 0), EINVAL);
		CHECK_ERRNO(buf_reg(fd, p, q.max_segment + 1, 0), EINVAL);
		CHECK_ERRNO(seg_reg(fd, p, ~0ULL, 0), EINVAL);
		CHECK_ERRNO(buf_reg(fd, p, ~0ULL, 0), EINVAL);
		CHECK_ERRNO(seg_reg(fd, NULL, ~0ULL, RMC_MEM_ALLOC), EINVAL);
	}
}

/*
 * A length beyond the machine's memory is refused before the table of its pages is allocated.
 * Here that table would take a quarter of all memory. A table that takes all memory makes the
 * OOM killer kill other processes.
 */
TEST(more_than_there_is_is_enomem)
{
	uint64_t length = (uint64_t)file_number("/proc/meminfo", "MemTotal:") * 1024 / 4 / 8 * PAGE;
	uint8_t *p = memory(PAGE);
	struct rmc_query q = { .size = sizeof(q) };

	prepare();
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	if (length > q.max_segment)
		length = q.max_segment;
	CHECK_ERRNO(seg_reg(fd, p, length, 0), ENOMEM);
	CHECK_ERRNO(buf_reg(fd, p, length, 0), ENOMEM);
}

TEST(address_overflow_fails)
{
	static const uint64_t where[] = { ~0ULL - 63, ~0ULL - 4095, 1ULL << 63, 0x7ffffffff000ULL };
	unsigned int i;

	prepare();
	for (i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		int r = seg_reg(fd, (void *)(uintptr_t)where[i], 1 << 20, 0);

		CHECK(r == -1 && (errno == EFAULT || errno == EINVAL));
		r = buf_reg(fd, (void *)(uintptr_t)where[i], 1 << 20, 0);
		CHECK(r == -1 && (errno == EFAULT || errno == EINVAL));
	}
}

TEST(overlapping_buffers_are_eexist)
{
	uint8_t *p = memory(4 * PAGE), *a = p + 1000;
	int id;

	prepare();
	id = buf_reg(fd, a, 1000, 0);
	REQUIRE(id >= 0);
	CHECK_ERRNO(buf_reg(fd, a, 1000, 0), EEXIST);
	CHECK_ERRNO(buf_reg(fd, a + 1, 1, 0), EEXIST);
	CHECK_ERRNO(buf_reg(fd, a - 1, 2, 0), EEXIST);
	CHECK_ERRNO(buf_reg(fd, a + 999, 10, 0), EEXIST);
	CHECK_ERRNO(buf_reg(fd, p, 4 * PAGE, 0), EEXIST);
	/* adjacent buffers do not overlap, even on the same page */
	CHECK(buf_reg(fd, p, 1000, 0) >= 0);
	CHECK(buf_reg(fd, a + 1000, 100, 0) >= 0);
	CHECK(!buf_unreg(fd, (unsigned int)id));
	CHECK(buf_reg(fd, a, 1000, 0) >= 0);
}

TEST(second_segment_is_eexist)
{
	uint8_t *p = memory(2 * PAGE);
	int other = open_ctx(CTX);

	prepare();
	REQUIRE(!seg_reg(fd, p, PAGE, 0));
	CHECK_ERRNO(seg_reg(fd, p + PAGE, PAGE, 0), EEXIST);
	CHECK_ERRNO(seg_reg(other, p + PAGE, PAGE, 0), EEXIST);
	CHECK_ERRNO(seg_reg(other, NULL, PAGE, RMC_MEM_ALLOC), EEXIST);
	/* a file cannot withdraw another file's segment */
	CHECK_ERRNO(seg_unreg(other), ENOENT);
	CHECK(!seg_unreg(fd));
	CHECK(!seg_reg(other, p, PAGE, 0));
}

/* How peers see further ranges, and which are refused; a owns the segment, b uses it. */
TEST(further_ranges_of_a_segment)
{
	struct rmc_query q = { .size = sizeof(q) };
	const uint64_t far = 1ULL << 33;
	uint8_t *p = memory(8 * PAGE);
	struct end a, b;
	unsigned int i;

	end_open(&a, CTX, 0, 0, 0, 0);
	end_open(&b, CTX, 1, 0, PAGE, 16);
	REQUIRE(!ioctl(rmc_fd(a.ctx), RMC_IOC_QUERY, &q));
	REQUIRE(q.max_ranges > 1);
	CHECK_EQ(rmc_seg_add(a.ctx, p + PAGE, PAGE, PAGE, 0), -ENOENT);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, PAGE, 0), 0);
	/* one range right behind the first, one far away and not at the beginning of a page */
	CHECK_EQ(rmc_seg_add(a.ctx, p + 4 * PAGE, PAGE, PAGE, 0), 0);
	CHECK_EQ(rmc_seg_add(a.ctx, p + 2 * PAGE - 64, 1000, far, RMC_MEM_READONLY), 0);
	CHECK_EQ(rmc_seg_add(a.ctx, p, PAGE, PAGE - 64, 0), -EEXIST);
	CHECK_EQ(rmc_seg_add(a.ctx, p, PAGE, far - PAGE + 64, 0), -EEXIST);
	CHECK_EQ(rmc_seg_add(a.ctx, p, PAGE, far + 960, 0), -EEXIST);
	CHECK_EQ(rmc_seg_add(a.ctx, p, PAGE, far + 1, 0), -EINVAL);
	CHECK_EQ(rmc_seg_add(a.ctx, p + 1, PAGE, 2 * far, 0), -EINVAL);
	CHECK_EQ(rmc_seg_add(a.ctx, p, PAGE, q.max_segment - PAGE + 64, 0), -EINVAL);
	CHECK_EQ(rmc_seg_add(a.ctx, p, 0, 2 * far, 0), -EINVAL);

	fill(p + 2 * PAGE - 64, 1000, 3);
	CHECK_EQ(rmc_read(b.qp, 0, far, b.buf, 1000), RMC_S_OK);
	CHECK_EQ(differs(b.buf, 1000, 3), -1);
	CHECK_EQ(rmc_read(b.qp, 0, far + 993, b.buf, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_read(b.qp, 0, far - 64, b.buf, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_write(b.qp, 0, far, b.buf, 8), RMC_S_READ_ONLY);
	fill(b.buf, PAGE, 4);
	CHECK_EQ(rmc_write(b.qp, 0, PAGE, b.buf, PAGE), RMC_S_OK);
	CHECK_EQ(differs(p + 4 * PAGE, PAGE, 4), -1);

	CHECK_EQ(rmc_seg_remove(a.ctx, far + 64), -ENOENT);
	CHECK_EQ(rmc_seg_remove(a.ctx, far), 0);
	CHECK_EQ(rmc_seg_remove(a.ctx, far), -ENOENT);
	CHECK_EQ(rmc_read(b.qp, 0, far, b.buf, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_read(b.qp, 0, PAGE, b.buf, PAGE), RMC_S_OK);
	for (i = 1; i < q.max_ranges; i++)
		CHECK_EQ(rmc_seg_add(a.ctx, p + 6 * PAGE + 64 * i, 64, far * i, 0), 0);
	CHECK_EQ(rmc_seg_add(a.ctx, p, 64, far * i, 0), -ENOSPC);
	/* all ranges are withdrawn with the segment; the next segment has none */
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
	CHECK_EQ(rmc_seg_add(a.ctx, p, 64, far, 0), -ENOENT);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, PAGE, 0), 0);
	CHECK_EQ(rmc_read(b.qp, 0, far, b.buf, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_seg_add(a.ctx, p + PAGE, 64, far, 0), 0);
	/* the file is closed while it has a further range */
	end_close(&a);
	CHECK_EQ(rmc_read(b.qp, 0, far, b.buf, 8), RMC_S_BAD_CONTEXT);
	end_close(&b);
}

TEST(segment_per_node_and_context)
{
	uint8_t *p = memory(2 * PAGE);
	struct end a, b;
	int other;

	prepare();
	REQUIRE(!ctx_create(9, 0600, 0, 0) || errno == EEXIST);
	other = open_ctx(9);
	REQUIRE(!seg_reg(fd, p, PAGE, 0));
	CHECK(!seg_reg(other, p + PAGE, PAGE, 0));
	end_open(&a, CTX, 1, PAGE, 0, 0);
	end_open(&b, 9, 1, PAGE, 0, 0);
	end_close(&b);
	close(other);
	CHECK(!ctx_remove(9));
}

TEST(too_many_buffers_are_enospc)
{
	struct rmc_query q = { .size = sizeof(q) };
	unsigned int i;
	uint8_t *p;
	int id = -1;

	prepare();
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	p = memory(((size_t)q.max_buffers + 1) * 64);
	for (i = 0; i < q.max_buffers; i++) {
		id = buf_reg(fd, p + i * 64, 64, 0);
		if (!CHECK(id >= 0))
			return;
	}
	CHECK_ERRNO(buf_reg(fd, p + i * 64, 64, 0), ENOSPC);
	CHECK(!buf_unreg(fd, (unsigned int)id));
	CHECK(buf_reg(fd, p + i * 64, 64, 0) >= 0);
}

TEST(memlock_limits_the_unprivileged)
{
	struct rlimit rl = { 1 << 20, 1 << 20 };
	uint8_t *p = memory(4 << 20);
	long long before;
	int id;

	memset(p, 1, 4 << 20);
	REQUIRE(!setrlimit(RLIMIT_MEMLOCK, &rl));
	drop_privileges(NOBODY);
	prepare();
	before = pinned_kib();
	CHECK_ERRNO(seg_reg(fd, p, 2 << 20, 0), ENOMEM);
	CHECK_ERRNO(buf_reg(fd, p, 2 << 20, 0), ENOMEM);
	CHECK_ERRNO(seg_reg(fd, NULL, 2 << 20, RMC_MEM_ALLOC), ENOMEM);
	CHECK_EQ(pinned_kib(), before);

	id = buf_reg(fd, p, 512 << 10, 0);
	REQUIRE(id >= 0);
	CHECK_EQ(pinned_kib(), before + 512);
	CHECK_ERRNO(seg_reg(fd, p + (1 << 20), 768 << 10, 0), ENOMEM);
	CHECK(!buf_unreg(fd, (unsigned int)id));
	CHECK_EQ(pinned_kib(), before);
	CHECK(!seg_reg(fd, p + (1 << 20), 768 << 10, 0));
	CHECK_EQ(pinned_kib(), before + 768);
	close(fd);
	CHECK_EQ(pinned_kib(), before);
}

TEST(memlock_counts_driver_memory)
{
	struct rlimit rl = { 1 << 20, 1 << 20 };
	long long before;

	REQUIRE(!setrlimit(RLIMIT_MEMLOCK, &rl));
	drop_privileges(NOBODY);
	prepare();
	before = pinned_kib();
	CHECK(!seg_reg(fd, NULL, 640 << 10, RMC_MEM_ALLOC));
	CHECK_EQ(pinned_kib(), before + 640);
	CHECK_ERRNO(buf_reg(fd, NULL, 512 << 10, RMC_MEM_ALLOC), ENOMEM);
	CHECK(!seg_unreg(fd));
	CHECK_EQ(pinned_kib(), before);
}

TEST(alloc_segment)
{
	struct end a, b;
	void *addr = NULL;
	uint8_t *p;

	end_open(&a, CTX, 0, 0, 0, 0);
	end_open(&b, CTX, 1, 0, 3 * PAGE, 16);
	REQUIRE_EQ(rmc_seg_alloc(a.ctx, 2 * PAGE + 100, 0, -1, &addr), 0);
	p = addr;
	CHECK(!p[0] && !memcmp(p, p + 1, 3 * PAGE - 1));	/* zeroed, all of it */
	fill(p, 2 * PAGE + 100, 3);
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, 2 * PAGE + 100), RMC_S_OK);
	CHECK_EQ(differs(b.buf, 2 * PAGE + 100, 3), -1);
	fill(b.buf, 200, 4);
	CHECK_EQ(rmc_write(b.qp, 0, 2 * PAGE - 100, b.buf, 200), RMC_S_OK);
	CHECK_EQ(differs(p + 2 * PAGE - 100, 200, 4), -1);
	/* the length is the limit, not the end of its last page */
	CHECK_EQ(rmc_read(b.qp, 0, 2 * PAGE + 99, b.buf, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, 8), RMC_S_BAD_CONTEXT);
}

TEST(alloc_buffer_works_once_mapped)
{
	struct rmc_buf_reg arg = { .size = sizeof(arg), .flags = RMC_MEM_ALLOC, .length = PAGE };
	struct end a, b;
	uint8_t *p;

	end_open(&a, CTX, 0, PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 0, 16);
	fill(a.seg, PAGE, 5);
	REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_BUF_REG, &arg));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rmc_fd(b.ctx),
		 (off_t)arg.mmap_offset);
	REQUIRE(p != MAP_FAILED);
	CHECK_EQ(rmc_read(b.qp, 0, 0, p, PAGE), RMC_S_OK);
	CHECK_EQ(differs(p, PAGE, 5), -1);
	REQUIRE(!munmap(p, PAGE));
	CHECK_EQ(rmc_read(b.qp, 0, 0, p, 8), RMC_S_BAD_LBUF);
	CHECK(!buf_unreg(rmc_fd(b.ctx), arg.buf_id));
}

/*
 * A buffer that is unmapped is removed at once, without waiting for the worker. It may be mapped
 * again at once: at the same address, elsewhere, or with another buffer in its place.
 */
TEST(alloc_buffers_are_mapped_again_and_again)
{
	struct rmc_buf_reg arg[2] = {
		{ .size = sizeof(arg[0]), .flags = RMC_MEM_ALLOC, .length = PAGE },
		{ .size = sizeof(arg[0]), .flags = RMC_MEM_ALLOC, .length = PAGE },
	};
	struct end a, b;
	uint8_t *p, *where;
	int i;

	end_open(&a, CTX, 0, PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 0, 16);
	fill(a.seg, PAGE, 5);
	where = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(where != MAP_FAILED);
	for (i = 0; i < 2; i++)
		REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_BUF_REG, &arg[i]));
	for (i = 0; i < 200; i++) {
		p = mmap(where + (i / 4 % 2) * PAGE, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, rmc_fd(b.ctx),
			 (off_t)arg[i / 2 % 2].mmap_offset);
		REQUIRE(p != MAP_FAILED);
		memset(p, 0, PAGE);
		REQUIRE_EQ(rmc_read(b.qp, 0, 0, p, PAGE), RMC_S_OK);
		CHECK_EQ(differs(p, PAGE, 5), -1);
		/* a mapping of another kind over the first closes it, too */
		if (i % 3)
			REQUIRE(!munmap(p, PAGE));
		else
			REQUIRE(mmap(p, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				     -1, 0) == p);
		REQUIRE_EQ(rmc_read(b.qp, 0, 0, p, 8), RMC_S_BAD_LBUF);
	}
	for (i = 0; i < 2; i++)
		CHECK(!buf_unreg(rmc_fd(b.ctx), arg[i].buf_id));
}

static int real_time(int yes)
{
	struct sched_param p = { .sched_priority = yes };

	return sched_setscheduler(0, yes ? SCHED_FIFO : SCHED_OTHER, &p);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * Issue and complete without sleeping. Returns whether it completed in time. If not, gives up
 * real-time priority, which may have stopped the worker.
 */
static int completes_in_time(struct rmc_qp *qp, unsigned int opcode, void *p, int *status)
{
	int slot = rmc_wait_for_slot(qp, NULL), in_time = 1;
	double start = now();
	unsigned int spins = 0;

	rmc_issue(qp, opcode, slot, 0, 0, p, 64);
	while (!rmc_poll_cq(qp, NULL)) {
		if (in_time && now() - start > 0.1) {
			in_time = 0;
			REQUIRE(!real_time(0));
		}
		REQUIRE_EQ(rmc_relax(qp, &spins), 0);
	}
	*status = rmc_slot_status(qp, slot);
	return in_time;
}

/*
 * The work item that removes an unmapped buffer from the tables runs on the CPU that unmapped
 * it, and not while a real-time task occupies that CPU. So the buffer is still in the tables.
 * The operation is refused because the buffer's length became 0 before munmap() returned.
 */
TEST(unmapped_buffer_is_gone_before_the_work_item_ran)
{
	enum { ROUNDS = 100, TOO_LATE = 10 };
	struct rmc_buf_reg arg = { .size = sizeof(arg), .flags = RMC_MEM_ALLOC, .length = PAGE };
	int i, cpu, status, late = 0;
	struct end a, b;
	cpu_set_t all;
	void *p;

	end_open(&a, CTX, 0, PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 0, 16);
	REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_BUF_REG, &arg));
	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	cpu = other_cpu(&all, (int)rmc_load_relaxed(&b.qp->flags->worker_cpu));
	run_on(cpu < 0 ? sched_getcpu() : cpu);
	for (i = 0; i < ROUNDS && late < TOO_LATE; i++) {
		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rmc_fd(b.ctx),
			 (off_t)arg.mmap_offset);
		REQUIRE(p != MAP_FAILED);
		REQUIRE_EQ(rmc_read(b.qp, 0, 0, p, 64), RMC_S_OK);
		if (real_time(1))
			SKIP("no real-time priority: %s", strerror(errno));
		/* a mapping of another kind over it closes it, too */
		if (i & 1)
			REQUIRE(!munmap(p, PAGE));
		else
			REQUIRE(mmap(p, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				     -1, 0) == p);
		late += !completes_in_time(b.qp, i & 2 ? RMC_OP_READ : RMC_OP_WRITE, p, &status);
		REQUIRE(!real_time(0));
		REQUIRE_EQ(status, RMC_S_BAD_LBUF);
	}
	ktap_say("%d of %d operations while the work item waited", i - late, i);
	CHECK(!buf_unreg(rmc_fd(b.ctx), arg.buf_id));
	if (late == i)
		SKIP("no operation completes while a real-time task keeps its CPU");
}

TEST(alloc_buffer_outlives_unregistration_as_memory)
{
	struct end b;
	void *p = NULL;
	struct rmc_buf_reg arg = { .size = sizeof(arg), .flags = RMC_MEM_ALLOC, .length = PAGE };

	end_open(&b, CTX, 1, 0, 0, 16);
	REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_BUF_REG, &arg));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rmc_fd(b.ctx),
		 (off_t)arg.mmap_offset);
	REQUIRE(p != MAP_FAILED);
	CHECK(!buf_unreg(rmc_fd(b.ctx), arg.buf_id));
	memset(p, 0x5a, PAGE);
	CHECK_EQ(rmc_read(b.qp, 1, 0, p, 8) != RMC_S_OK, 1);
	CHECK_EQ(*(uint8_t *)p, 0x5a);
}

TEST(alloc_with_address_is_einval)
{
	uint8_t *p = memory(PAGE);

	prepare();
	CHECK_ERRNO(seg_reg(fd, p, PAGE, RMC_MEM_ALLOC), EINVAL);
	CHECK_ERRNO(buf_reg(fd, p, PAGE, RMC_MEM_ALLOC), EINVAL);
}

TEST(numa_needs_alloc_and_a_real_node)
{
	struct rmc_seg_reg s = { .size = sizeof(s), .length = PAGE };
	uint8_t *p = memory(PAGE);

	prepare();
	CHECK_ERRNO(seg_reg(fd, p, PAGE, RMC_MEM_NUMA), EINVAL);
	s.flags = RMC_MEM_ALLOC | RMC_MEM_NUMA;
	s.numa_node = 1000;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_SEG_REG, &s), EINVAL);
	s.numa_node = -1;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_SEG_REG, &s), EINVAL);
	s.numa_node = 0;
	CHECK(!ioctl(fd, RMC_IOC_SEG_REG, &s));
}

/* An allocation beyond all memory is refused, and no process is killed for it. */
TEST(alloc_beyond_ram_is_enomem)
{
	long long total = file_number("/proc/meminfo", "MemTotal:");

	prepare();
	CHECK_ERRNO(seg_reg(fd, NULL, ((uint64_t)total << 10) * 2, RMC_MEM_ALLOC), ENOMEM);
	CHECK(!seg_reg(fd, NULL, 1 << 20, RMC_MEM_ALLOC));
}

static void use_as_segment(uint8_t *p, size_t len)
{
	struct end a, b;

	end_open(&a, CTX, 0, 0, 0, 0);
	end_open(&b, CTX, 1, 0, 3 * PAGE, 16);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, len, 0), 0);
	fill(p + len / 2 - PAGE, 2 * PAGE, 6);
	CHECK_EQ(rmc_read(b.qp, 0, len / 2 - PAGE, b.buf, 2 * PAGE), RMC_S_OK);
	CHECK_EQ(differs(b.buf, 2 * PAGE, 6), -1);
	fill(b.buf, 3 * PAGE, 7);
	CHECK_EQ(rmc_write(b.qp, 0, len - 3 * PAGE, b.buf, 3 * PAGE), RMC_S_OK);
	CHECK_EQ(differs(p + len - 3 * PAGE, 3 * PAGE, 7), -1);
	CHECK_EQ(rmc_write(b.qp, 0, len - 3 * PAGE + 1, b.buf, 3 * PAGE), RMC_S_OUT_OF_RANGE);
	end_close(&b);
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);

	/* the same memory as a local buffer */
	REQUIRE(rmc_buf_register(a.ctx, p, len) >= 0);
	end_open(&b, CTX, 1, 3 * PAGE, 0, 0);
	fill(b.seg, 3 * PAGE, 8);
	a.qp = rmc_qp_create(a.ctx, 16);
	REQUIRE(a.qp);
	CHECK_EQ(rmc_read(a.qp, 1, 0, p + len / 2 - PAGE, 3 * PAGE), RMC_S_OK);
	CHECK_EQ(differs(p + len / 2 - PAGE, 3 * PAGE, 8), -1);
	CHECK_EQ(rmc_read(a.qp, 1, 0, p + len - 8, 9), RMC_S_BAD_LBUF);
	end_close(&b);
	end_close(&a);
}

TEST(transparent_huge_pages)
{
	uint8_t *p, *aligned;

	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		SKIP("kernel without transparent huge pages");
	p = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(p != MAP_FAILED);
	aligned = (uint8_t *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	if (madvise(aligned, 2 * HUGE, MADV_HUGEPAGE))
		SKIP("transparent huge pages are switched off");
	memset(aligned, 1, 2 * HUGE);
	use_as_segment(aligned, 2 * HUGE);
	/* starting and ending within a huge page */
	use_as_segment(aligned + HUGE / 2 + 64, HUGE);
}

TEST(hugetlb_pages)
{
	long long old = file_number("/proc/sys/vm/nr_hugepages", "");
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");
	uint8_t *p;

	if (!f || old < 0)
		SKIP("kernel without hugetlb");
	fprintf(f, "%lld\n", old + 2);
	fclose(f);
	p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p != MAP_FAILED) {
		memset(p, 1, 2 * HUGE);
		use_as_segment(p, 2 * HUGE);
		munmap(p, 2 * HUGE);
	}
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	if (f) {
		fprintf(f, "%lld\n", old);
		fclose(f);
	}
	if (p == MAP_FAILED)
		SKIP("no two free huge pages");
}

TEST(shared_file_memory)
{
	int mem = memfd_create("rmc", MFD_CLOEXEC);
	uint8_t *p, *second;

	REQUIRE(mem >= 0 && !ftruncate(mem, 8 * (off_t)PAGE));
	p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem, 0);
	second = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, mem, 0);
	REQUIRE(p != MAP_FAILED && second != MAP_FAILED);
	use_as_segment(p, 8 * PAGE);
	CHECK_EQ(differs(second + 3 * PAGE, 3 * PAGE, 8), -1);
}

/*
 * A file system does not expect pages that stay dirty for an unlimited time. The guest's root
 * is the host's and read-only, so the test writes to a block device.
 */
TEST(file_mappings_are_refused)
{
	static const char * const names[] = { "/dev/ram0", "/dev/loop0", "/dev/vda", "/dev/ubda" };
	uint8_t *p = MAP_FAILED, *copy;
	int fd = -1, ctx, device = 1;
	unsigned int i;
	char byte;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && p == MAP_FAILED; i++) {
		fd = open(names[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && read(fd, &byte, 1) == 1)
			p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	if (p == MAP_FAILED) {
		device = 0;
		/* no block device: use a file, if /tmp is not on tmpfs */
		fd = open("/tmp/rmc-file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		REQUIRE(fd >= 0 && !ftruncate(fd, 2 * (off_t)PAGE));
		p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		REQUIRE(p != MAP_FAILED);
		unlink("/tmp/rmc-file");
	}
	ctx = open_ctx(CTX);
	REQUIRE(ctx >= 0);
	if (!seg_reg(ctx, p, 2 * PAGE, 0)) {
		struct statfs fs;

		REQUIRE(!fstatfs(fd, &fs));
		/* a device's node is on tmpfs, too */
		if (!device && fs.f_type == TMPFS_MAGIC)
			SKIP("no block device, and all files are shared memory");
		CHECK(!"a file's pages were pinned");
	} else {
		CHECK_EQ(errno, EOPNOTSUPP);
		CHECK_ERRNO(buf_reg(ctx, p, PAGE, 0), EOPNOTSUPP);
	}
	/* a private mapping is copied before it is pinned */
	copy = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	REQUIRE(copy != MAP_FAILED);
	CHECK(!seg_reg(ctx, copy, 2 * PAGE, 0));
	close(ctx);
}

/* Pages stay pinned: operations still succeed although the owner has unmapped them. */
TEST(unmapped_while_registered)
{
	struct end a, b;

	end_open(&a, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 2 * PAGE, 16);
	fill(a.seg, 2 * PAGE, 9);
	REQUIRE(!munmap(a.seg, 2 * PAGE));
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, 2 * PAGE), RMC_S_OK);
	CHECK_EQ(differs(b.buf, 2 * PAGE, 9), -1);
	CHECK_EQ(rmc_write(b.qp, 0, 0, b.buf, 2 * PAGE), RMC_S_OK);
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
}

TEST(pinned_pages_all_come_back)
{
	long long before = pages_pinned(), kib = pinned_kib();
	struct end a;
	int i;

	if (before == NOT_COUNTED)
		SKIP("kernel does not count pinned pages");
	for (i = 0; i < 20; i++) {
		end_open(&a, CTX, 0, 33 * PAGE + 5, 17 * PAGE + 3, 16);
		CHECK(pages_pinned() >= before + 51);
		end_close(&a);
	}
	CHECK(!pages_settle(before));
	CHECK_EQ(pinned_kib(), kib);
}

KTAP_MAIN(suite_missing)
