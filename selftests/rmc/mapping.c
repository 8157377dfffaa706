// SPDX-License-Identifier: GPL-2.0
/* mmap of queues and flags: only the exact offsets and lengths, and no further rights. */
#include "common.h"

#define ENTRIES		1024U
#define WQ_LEN		(ENTRIES * RMC_WQE_SIZE)	/* 4 pages */
#define CQ_LEN		(ENTRIES * RMC_CQE_SIZE)	/* 1 page */

static struct rmc_qp_create qp;
static int fd;

static void prepare(void)
{
	fd = open_ctx(CTX);
	REQUIRE(fd >= 0);
	REQUIRE(!qp_create(fd, ENTRIES, &qp));
}

static void *map(size_t len, int prot, uint64_t offset)
{
	return mmap(NULL, len, prot, MAP_SHARED, fd, (off_t)offset);
}

#define CHECK_REFUSED(len, prot, offset, err) do {				\
	void *p_ = (errno = 0, map(len, prot, offset));				\
	CHECK(p_ == MAP_FAILED);						\
	if (p_ == MAP_FAILED)							\
		CHECK_EQ(errno, err);						\
} while (0)

TEST(exact_mappings_work)
{
	struct rmc_wq_entry *wq;
	const struct rmc_qp_flags *flags;
	const uint32_t *cq;

	prepare();
	wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
	cq = map(CQ_LEN, PROT_READ, qp.cq_offset);
	flags = map(PAGE, PROT_READ, qp.flags_offset);
	REQUIRE(wq != MAP_FAILED && cq != MAP_FAILED && flags != MAP_FAILED);
	CHECK_EQ(wq[0].word0 | wq[ENTRIES - 1].word1, 0);
	CHECK_EQ(cq[0] | cq[ENTRIES - 1], 0);
	CHECK_EQ(flags->dead, 0);
	CHECK_EQ(flags->shared_cpu, file_number(SYSFS "/share", ""));
}

TEST(wrong_length_is_einval)
{
	prepare();
	CHECK_REFUSED(WQ_LEN - PAGE, PROT_READ | PROT_WRITE, qp.wq_offset, EINVAL);
	CHECK_REFUSED(WQ_LEN + PAGE, PROT_READ | PROT_WRITE, qp.wq_offset, EINVAL);
	CHECK_REFUSED(16 * WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset, EINVAL);
	CHECK_REFUSED(2 * PAGE, PROT_READ, qp.cq_offset, EINVAL);
	CHECK_REFUSED(2 * PAGE, PROT_READ, qp.flags_offset, EINVAL);
}

TEST(wrong_offset_is_einval)
{
	uint64_t offsets[] = {
		0, PAGE, qp.wq_offset, 1ULL << 30, 1ULL << 44, 1ULL << 52, (1ULL << 62) - PAGE,
	};
	unsigned int i;

	prepare();
	offsets[2] = qp.wq_offset + PAGE;
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		CHECK_REFUSED(WQ_LEN, PROT_READ | PROT_WRITE, offsets[i], EINVAL);
	CHECK_REFUSED(PAGE, PROT_READ, qp.cq_offset + PAGE, EINVAL);
	CHECK_REFUSED(PAGE, PROT_READ, qp.flags_offset + PAGE, EINVAL);
}

TEST(other_files_queues_are_einval)
{
	prepare();
	fd = open_ctx(CTX);
	CHECK_REFUSED(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset, EINVAL);
	CHECK_REFUSED(CQ_LEN, PROT_READ, qp.cq_offset, EINVAL);
	CHECK_REFUSED(PAGE, PROT_READ, qp.flags_offset, EINVAL);
}

TEST(destroyed_queues_are_einval)
{
	prepare();
	REQUIRE(!qp_destroy(fd, qp.qp_id));
	CHECK_REFUSED(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset, EINVAL);
	CHECK_REFUSED(CQ_LEN, PROT_READ, qp.cq_offset, EINVAL);
	CHECK_REFUSED(PAGE, PROT_READ, qp.flags_offset, EINVAL);
}

TEST(private_mapping_is_einval)
{
	prepare();
	CHECK(mmap(NULL, WQ_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)qp.wq_offset) ==
	      MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, CQ_LEN, PROT_READ, MAP_PRIVATE, fd, (off_t)qp.cq_offset) == MAP_FAILED &&
	      errno == EINVAL);
}

static void check_not_writable(size_t len, uint64_t offset)
{
	void *p = map(len, PROT_READ | PROT_WRITE, offset);

	CHECK(p == MAP_FAILED && (errno == EACCES || errno == EPERM));
	p = map(len, PROT_WRITE, offset);
	CHECK(p == MAP_FAILED && (errno == EACCES || errno == EPERM));
	p = map(len, PROT_READ, offset);
	REQUIRE(p != MAP_FAILED);
	CHECK_ERRNO(mprotect(p, len, PROT_READ | PROT_WRITE), EACCES);
}

TEST(cq_is_readonly)
{
	prepare();
	check_not_writable(CQ_LEN, qp.cq_offset);
}

TEST(flags_are_readonly)
{
	prepare();
	check_not_writable(PAGE, qp.flags_offset);
}

/* Writing through /proc/self/mem must fail, too. */
TEST(cq_is_readonly_for_debuggers)
{
	int mem = open("/proc/self/mem", O_RDWR);
	uint32_t word = 0xdeadbeef;
	volatile uint32_t *cq;

	prepare();
	REQUIRE(mem >= 0);
	cq = map(CQ_LEN, PROT_READ, qp.cq_offset);
	REQUIRE(cq != MAP_FAILED);
	CHECK(pwrite(mem, &word, sizeof(word), (off_t)(uintptr_t)cq) < 0);
	CHECK_EQ(*cq, 0);
}

TEST(mapping_cannot_move_grow_or_split)
{
	uint8_t *wq, *spot;

	prepare();
	wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
	REQUIRE(wq != MAP_FAILED);
	spot = memory(4 * WQ_LEN);
	CHECK(mremap(wq, WQ_LEN, 2 * WQ_LEN, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(mremap(wq, WQ_LEN, WQ_LEN, MREMAP_MAYMOVE | MREMAP_FIXED, spot) == MAP_FAILED);
	CHECK(mremap(wq, WQ_LEN, PAGE, 0) == MAP_FAILED);
	CHECK(munmap(wq + PAGE, PAGE) == -1);
	/* the mapping is unchanged */
	wq[0] = 2;
	wq[WQ_LEN - 1] = 2;
	CHECK(!munmap(wq, WQ_LEN));
}

TEST(mapping_survives_destroy)
{
	const struct rmc_qp_flags *flags;
	struct rmc_wq_entry *wq;
	const uint32_t *cq;

	prepare();
	wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
	cq = map(CQ_LEN, PROT_READ, qp.cq_offset);
	flags = map(PAGE, PROT_READ, qp.flags_offset);
	REQUIRE(wq != MAP_FAILED && cq != MAP_FAILED && flags != MAP_FAILED);
	REQUIRE(!qp_destroy(fd, qp.qp_id));
	CHECK(flags->dead);
	memset(wq, 0xff, WQ_LEN);
	usleep(20000);
	CHECK_EQ(cq[0] | cq[ENTRIES - 1], 0);
	CHECK(wq[0].word0 == ~0ULL);
}

TEST(mapping_survives_close)
{
	const struct rmc_qp_flags *flags;
	struct rmc_wq_entry *wq;

	prepare();
	wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
	flags = map(PAGE, PROT_READ, qp.flags_offset);
	REQUIRE(wq != MAP_FAILED && flags != MAP_FAILED);
	close(fd);
	wq[0].word1 = rmc_wqe_word1(0, 8);
	/* a mapping keeps the file and its queue pair alive */
	CHECK_EQ(flags->dead, 0);
	CHECK(!munmap(wq, WQ_LEN));
	CHECK(!munmap((void *)flags, PAGE));
}

/* MADV_DOFORK cannot make a child inherit the queues; before Linux 7.2 it could. */
TEST(queues_cannot_be_made_to_be_inherited)
{
	int fd = open_ctx(CTX), i;
	struct rmc_qp_create qp;

	REQUIRE(fd >= 0 && !qp_create(fd, 64, &qp));
	for (i = 0; i < 3; i++) {
		uint64_t offset = i == 0 ? qp.wq_offset : i == 1 ? qp.cq_offset : qp.flags_offset;
		void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)offset);

		REQUIRE(p != MAP_FAILED);
		CHECK_ERRNO(madvise(p, PAGE, MADV_DOFORK), EINVAL);
		munmap(p, PAGE);
	}
	close(fd);
}

/*
 * Before Linux 7.2 a child could be made to inherit a buffer. It is a mapping like any other: the
 * buffer can be named until the last one is gone, and its pages are freed with it.
 */
TEST(buffer_that_a_child_inherits_goes_with_its_last_mapping)
{
	int fds[2], status;
	struct end e;
	void *buf;
	pid_t pid;
	char c;

	end_open(&e, CTX, 1, 0, 0, 8);
	REQUIRE(rmc_buf_alloc(e.ctx, PAGE, -1, &buf) >= 0);
	if (madvise(buf, PAGE, MADV_DOFORK)) {
		REQUIRE_EQ(errno, EINVAL);
		SKIP("this kernel has no children that inherit driver memory");
	}
	REQUIRE(!pipe(fds));
	pid = helper();
	if (!pid) {
		*(volatile char *)buf = 1;
		if (read(fds[0], &c, 1) != 1)
			_exit(1);
		_exit(*(volatile char *)buf != 1);
	}
	/* no segment there, but the buffer is found */
	REQUIRE_EQ(rmc_read(e.qp, 1, 0, buf, 64), RMC_S_BAD_CONTEXT);
	REQUIRE(!munmap(buf, PAGE));
	CHECK_EQ(rmc_read(e.qp, 1, 0, buf, 64), RMC_S_BAD_CONTEXT);
	REQUIRE_EQ(write(fds[1], "", 1), 1);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_EQ(rmc_read(e.qp, 1, 0, buf, 64), RMC_S_BAD_LBUF);
	close(fds[0]);
	close(fds[1]);
	end_close(&e);
}

TEST(fork_does_not_inherit)
{
	volatile uint64_t *wq;
	int status;
	pid_t pid;

	prepare();
	wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
	REQUIRE(wq != MAP_FAILED);
	wq[1] = 7;
	pid = helper();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		wq[1] = 8;
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK_EQ(wq[1], 7);
}

TEST(control_device_has_nothing_to_map)
{
	prepare();
	fd = open_ctl();
	REQUIRE(fd >= 0);
	CHECK(map(PAGE, PROT_READ, 0) == MAP_FAILED);
	CHECK(map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset) == MAP_FAILED);
}

/* New queues contain no data of another user. */
TEST(queues_are_zeroed)
{
	unsigned int round, i;
	uint64_t *wq, sum = 0;

	for (round = 0; round < 20; round++) {
		prepare();
		wq = map(WQ_LEN, PROT_READ | PROT_WRITE, qp.wq_offset);
		REQUIRE(wq != MAP_FAILED);
		for (i = 0; i < WQ_LEN / 8; i++)
			sum |= wq[i];
		/* phase 0 in all entries: none is published */
		memset(wq, 0xfe, WQ_LEN);
		munmap(wq, WQ_LEN);
		close(fd);
	}
	CHECK_EQ(sum, 0);
}

KTAP_MAIN(suite_missing)
