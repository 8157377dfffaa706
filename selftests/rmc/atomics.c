// SPDX-License-Identifier: GPL-2.0
/*
 * Read-modify-write operations through the library's calls, and ordered queue pairs. The NI
 * organisation that the module is loaded with selects the local path or the ring path.
 */
#include <errno.h>
#include "common.h"

static struct end owner, user;	/* node 0 has the segment, node 1 uses it */

static void prepare(void)
{
	end_open(&owner, CTX, 0, 2 * PAGE, 0, 0);
	end_open(&user, CTX, 1, 0, 3 * PAGE, 16);
}

TEST(read_modify_write)
{
	uint64_t old = 0, *p, word;
	uint32_t *q;

	prepare();
	p = (uint64_t *)(owner.seg + 64);
	q = (uint32_t *)(owner.seg + 128);
	*p = 0xf0;
	CHECK_EQ(rmc_swap(user.qp, 0, 64, 0x1234567890abcdef, 8, &old), RMC_S_OK);
	CHECK_EQ(old, 0xf0);
	CHECK_EQ(*p, 0x1234567890abcdef);
	CHECK_EQ(rmc_atomic_set(user.qp, 0, 64, 0xff, 8), RMC_S_OK);
	CHECK_EQ(rmc_fetch_and_and(user.qp, 0, 64, 0x3c, 8, &old), RMC_S_OK);
	CHECK_EQ(old, 0xff);
	CHECK_EQ(rmc_fetch_and_or(user.qp, 0, 64, 0x100, 8, NULL), RMC_S_OK);
	CHECK_EQ(rmc_fetch_and_xor(user.qp, 0, 64, 0x104, 8, NULL), RMC_S_OK);
	CHECK_EQ(*p, 0x38);
	CHECK_EQ(rmc_fetch_and_max(user.qp, 0, 64, 0x40, 8, NULL), RMC_S_OK);
	CHECK_EQ(rmc_fetch_and_min(user.qp, 0, 64, 0x3f, 8, &old), RMC_S_OK);
	CHECK_EQ(old, 0x40);
	CHECK_EQ(*p, 0x3f);
	/* the upper half is compared, the lower half replaced */
	*p = 0x1111111122222222;
	CHECK_EQ(rmc_masked_cas(user.qp, 0, 64, 0x1111111100000000,
				0xffffffff00000000, 0x33333333, 0xffffffff, 8, &old),
		 RMC_S_OK);
	CHECK_EQ(*p, 0x1111111133333333);
	/* a 4-byte operation leaves its neighbours unchanged */
	q[-1] = 7;
	q[0] = 0xfffffffe;
	q[1] = 9;
	CHECK_EQ(rmc_rmw_value(user.qp, RMC_RMW_ADD, 0, 128, 3, 4, &old), RMC_S_OK);
	CHECK_EQ(old, 0xfffffffe);
	CHECK(q[-1] == 7 && q[0] == 1 && q[1] == 9);
	word = *p;
	CHECK_EQ(rmc_swap(user.qp, 0, 68, 0, 8, NULL), RMC_S_BAD_ALIGN);
	CHECK_EQ(rmc_swap(user.qp, 0, 64, 0, 2, NULL), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_rmw_value(user.qp, RMC_RMW_KINDS, 0, 64, 0, 8, NULL), RMC_S_BAD_OP);
	CHECK_EQ(*p, word);
}

/* Operands in the application's buffer, several operations in flight. */
TEST(asynchronous_read_modify_write)
{
	struct rmc_rmw *r;
	int slot, i;

	prepare();
	r = (struct rmc_rmw *)user.buf;
	for (i = 0; i < 100; i++) {
		slot = rmc_wait_for_slot(user.qp, NULL);
		REQUIRE(slot >= 0);
		r[slot] = (struct rmc_rmw){ .kind = RMC_RMW_ADD, .value = 3 };
		rmc_rmw_async(user.qp, slot, 0, 8, &r[slot], 8);
	}
	CHECK_EQ(rmc_drain_cq(user.qp, NULL), 0);
	CHECK_EQ(*(uint64_t *)(owner.seg + 8), 300);
	CHECK_EQ(*(uint64_t *)owner.seg, 0);
}

/* It stops when an operation fails, and goes on. That it keeps an order is in faults.c. */
TEST(ordered_queue_pair_stops)
{
	struct rmc_qp *qp;
	uint64_t *data;
	int slot;

	prepare();
	qp = rmc_qp_create_with(user.ctx, 64, RMC_QP_ORDERED);
	REQUIRE(qp);
	CHECK(rmc_qp_is_ordered(qp) && !rmc_qp_is_ordered(user.qp));
	data = (uint64_t *)(void *)user.buf;
	*data = 7;
	CHECK_EQ(rmc_write(qp, 0, 1ULL << 39, data, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_write(qp, 0, 0, data, 8), RMC_S_ABORTED);
	CHECK_EQ(rmc_faa(qp, 0, 0, 1, NULL), RMC_S_ABORTED);
	CHECK_EQ(*(uint64_t *)owner.seg, 0);
	CHECK_EQ(rmc_qp_resume(user.qp), RMC_S_BAD_OP);
	CHECK_EQ(rmc_qp_resume(qp), 0);
	CHECK_EQ(rmc_write(qp, 0, 0, data, 8), 0);
	CHECK_EQ(*(uint64_t *)owner.seg, 7);
	/* the failure of an operation that nobody waited for */
	slot = rmc_wait_for_slot(qp, NULL);
	rmc_write_async(qp, slot, 0, 1ULL << 39, data, 8);
	CHECK_EQ(rmc_quiet(qp, NULL), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_qp_resume(qp), 0);
	CHECK_EQ(rmc_quiet(qp, NULL), 0);
	CHECK(!rmc_qp_create_with(user.ctx, 64, RMC_QP_ORDERED << 1) && errno == EOPNOTSUPP);
}

KTAP_MAIN(suite_missing)
