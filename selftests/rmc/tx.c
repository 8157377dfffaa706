// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions that the RMC commits: the ioctls and their errors, conflicts between processes, what
 * a process leaves behind that ends at any time, memory that is withdrawn meanwhile.
 */
#include <signal.h>
#include "common.h"

#define SEG		(16 * PAGE)
#define LOCAL_BYTES	((sizeof(struct rmc_tx_local) + PAGE - 1) & ~(PAGE - 1))
#define LOCKS_BYTES	((sizeof(struct rmc_tx_locks) + PAGE - 1) & ~(PAGE - 1))

static struct end owner, user;

static struct rmc_tx_reg reg_of(uint64_t offset, uint64_t length)
{
	return (struct rmc_tx_reg){ .size = sizeof(struct rmc_tx_reg), .offset = offset,
				    .length = length };
}

static int tx_reg(struct end *e, struct rmc_tx_reg *r)
{
	return ioctl(rmc_fd(e->ctx), RMC_IOC_TX_REG, r);
}

static int tx_unreg(struct end *e)
{
	struct rmc_tx_reg r = reg_of(0, 0);

	return tx_reg(e, &r);
}

static void prepare(void)
{
	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 16);
}

/* Statuses of a plain write and an atomic of @user at an offset of @owner's segment */
static void expect_plain(uint64_t offset, int want)
{
	uint64_t old;

	CHECK_EQ(rmc_write(user.qp, 0, offset, user.buf, 64), want);
	CHECK_EQ(rmc_faa(user.qp, 0, offset, 1, &old), want);
	CHECK_EQ(rmc_read(user.qp, 0, offset, user.buf, 64), RMC_S_OK);
}

TEST(plain_writes_in_the_range_are_refused)
{
	struct rmc_tx_reg r = reg_of(PAGE, 2 * PAGE);

	prepare();
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(0, RMC_S_OK);
	expect_plain(PAGE - 64, RMC_S_OK);
	expect_plain(PAGE, RMC_S_READ_ONLY);
	expect_plain(3 * PAGE - 64, RMC_S_READ_ONLY);
	expect_plain(3 * PAGE, RMC_S_OK);
	CHECK_EQ(rmc_write(user.qp, 0, PAGE - 64, user.buf, 128), RMC_S_READ_ONLY);
	REQUIRE(!tx_unreg(&owner));
	expect_plain(PAGE, RMC_S_OK);
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
}

TEST(fields_of_a_range)
{
	static const struct { uint64_t offset, length; } outside[] = {
		{ 32, 64 }, { 64, 32 }, { 0, SEG + 64 }, { SEG, 64 }, { 1ULL << 40, 64 },
		{ ~63ULL, 128 }, { 64, ~63ULL }, { SEG - 64, 128 },
	};
	struct rmc_tx_reg r = reg_of(0, 64);
	uint8_t *local = memory(LOCAL_BYTES + PAGE);
	struct end none;
	unsigned int i;

	prepare();
	end_open(&none, CTX, 1, 0, 0, 0);
	CHECK_ERRNO(tx_reg(&none, &r), ENOENT);
	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		r = reg_of(outside[i].offset, outside[i].length);
		if (!CHECK_ERRNO(tx_reg(&owner, &r), EINVAL))
			ktap_say("offset %llx", (unsigned long long)r.offset);
	}
	r = reg_of(0, SEG);
	r.buffers = 65;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	r.buffers = 64;
	r.groups = 1025;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	r.groups = 1024;
	r.local = (uintptr_t)local + 32;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	/* the last page is not there */
	r.local = (uintptr_t)local + LOCAL_BYTES + PAGE + 64 - sizeof(struct rmc_tx_local);
	CHECK_ERRNO(tx_reg(&owner, &r), EFAULT);
	r.local = (uintptr_t)local + PAGE - 64;
	CHECK(!tx_reg(&owner, &r));
	CHECK_ERRNO(tx_reg(&owner, &r), EEXIST);
	/* one node's range is nothing to another's */
	REQUIRE(!seg_reg(rmc_fd(user.ctx), memory(PAGE), PAGE, 0));
	r = reg_of(0, PAGE);
	CHECK(!tx_reg(&user, &r));
	CHECK(!tx_unreg(&owner));
	CHECK_ERRNO(tx_reg(&user, &r), EEXIST);
}

TEST(read_only_segment_is_erofs)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct end e;

	end_open(&e, CTX, 0, 0, 0, 0);
	REQUIRE(!seg_reg(rmc_fd(e.ctx), memory(PAGE), PAGE, RMC_MEM_READONLY));
	CHECK_ERRNO(tx_reg(&e, &r), EROFS);
}

TEST(eight_contexts_of_a_node_have_ranges)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct end e[9];
	unsigned int i;

	for (i = 0; i < 9; i++) {
		if (ctx_create(CTX + i, 0666, 0, 0))
			REQUIRE(errno == EEXIST);
		end_open(&e[i], CTX + i, 0, PAGE, 0, 0);
		if (i < 8)
			CHECK(!tx_reg(&e[i], &r));
	}
	CHECK_ERRNO(tx_reg(&e[8], &r), ENOSPC);
	CHECK(!tx_unreg(&e[3]));
	CHECK(!tx_reg(&e[8], &r));
	for (i = 0; i < 9; i++) {
		end_close(&e[i]);
		if (i)
			CHECK(!ctx_remove(CTX + i));
	}
}

static int seg_add(struct end *e, void *addr, uint64_t offset)
{
	struct rmc_seg_add a = { .size = sizeof(a), .addr = (uintptr_t)addr, .length = PAGE,
				 .offset = offset };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_SEG_ADD, &a);
}

static int seg_del(struct end *e, uint64_t offset)
{
	struct rmc_seg_del d = { .size = sizeof(d), .offset = offset };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_SEG_DEL, &d);
}

/* A range inside memory that was added to the segment goes with that, and with nothing else. */
TEST(range_goes_with_its_memory)
{
	const uint64_t far = 1 << 30;
	struct rmc_tx_reg r = reg_of(far, PAGE), half = reg_of(far - PAGE, 2 * PAGE);
	void *more = memory(PAGE);

	prepare();
	REQUIRE(!seg_add(&owner, more, far));
	REQUIRE(!seg_add(&owner, memory(PAGE), far - PAGE));
	CHECK_ERRNO(tx_reg(&owner, &half), EINVAL);
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(far, RMC_S_READ_ONLY);
	expect_plain(0, RMC_S_OK);
	REQUIRE(!seg_del(&owner, far - PAGE));
	expect_plain(far, RMC_S_READ_ONLY);
	REQUIRE(!seg_del(&owner, far));
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
	REQUIRE(!seg_add(&owner, more, far));
	expect_plain(far, RMC_S_OK);
	REQUIRE(!tx_reg(&owner, &r));
	/* with the segment, all of it */
	REQUIRE(!seg_unreg(rmc_fd(owner.ctx)));
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
	REQUIRE(!seg_reg(rmc_fd(owner.ctx), owner.seg, SEG, 0));
	r = reg_of(0, PAGE);
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(0, RMC_S_READ_ONLY);
	REQUIRE(!seg_unreg(rmc_fd(owner.ctx)));
	REQUIRE(!seg_reg(rmc_fd(owner.ctx), owner.seg, SEG, 0));
	expect_plain(0, RMC_S_OK);
}

static void *map_locks(struct end *e, const struct rmc_tx_reg *r, int prot)
{
	return mmap(NULL, LOCKS_BYTES, prot, MAP_SHARED, rmc_fd(e->ctx), (off_t)r->locks_offset);
}

/* What the owner maps of the Locking Buffers it can read, and in no way write. */
TEST(locks_are_read_only)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct rmc_tx_locks *locks;
	int mem;

	prepare();
	REQUIRE(!tx_reg(&owner, &r));
	CHECK(r.locks_offset);
	CHECK_ERRNO((long)map_locks(&owner, &r, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, rmc_fd(owner.ctx),
			       (off_t)r.locks_offset), EINVAL);
	locks = map_locks(&owner, &r, PROT_READ);
	REQUIRE(locks != MAP_FAILED);
	CHECK_EQ(locks->mask, 0);
	CHECK_EQ(locks->wr[1023], 0);
	CHECK_ERRNO(mprotect(locks, LOCKS_BYTES, PROT_READ | PROT_WRITE), EACCES);
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	REQUIRE(mem >= 0);
	CHECK(pwrite(mem, "x", 1, (off_t)(uintptr_t)locks) < 0);
	/* the mapping stays when the range is gone, a new one there is none */
	REQUIRE(!tx_unreg(&owner));
	CHECK_EQ(locks->mask, 0);
	CHECK_ERRNO((long)map_locks(&owner, &r, PROT_READ), EINVAL);
}

KTAP_MAIN(suite_missing)
