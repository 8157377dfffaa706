// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions from engines over packets that hold locks while their application runs: prepared
 * ones, and those that lock in advance.
 */
#include "tx_nodes.h"

u32 rmc_no_user_memory;

static const struct rmc_tx_engine_opts opts_10 = {
	.slots = 4, .bytes = 4096, .order = 4, .resend_ms = 20, .hold_ms = 10,
};

static bool prepared(struct tx_bed *b, u32 i, u32 slot)
{
	u32 n, got;

	CHECK_EQ(rmc_tx_engine_prepare(b->n[i].e, slot), 0);
	for (n = 0; n < 200000; n++) {
		if (rmc_tx_engine_prepared(b->n[i].e, &got))
			return got == slot;
		bed_step(b);
	}
	return false;
}

/* Holds its locks until it is decided; nobody can squash it. */
static void test_prepare(const struct testbed_opts *o)
{
	u64 one = 1, two = 2, got;
	struct tx_bed b;
	u32 slot, other, i;

	bed_make(&b, o, 3);
	CHECK_EQ(rmc_tx_engine_prepare(b.n[0].e, 99), -EINVAL);
	for (i = 0; i < 2; i++) {
		slot = bed_begin(&b, 0);
		CHECK_EQ(bed_read(&b, 0, slot, 1, TX_START, 8, &got), RMC_S_OK);
		CHECK_EQ(bed_write(&b, 0, slot, 2, TX_START, &one, 8), 0);
		CHECK(prepared(&b, 0, slot));
		other = bed_begin(&b, 1);
		CHECK_EQ(bed_write(&b, 1, other, 1, TX_START, &two, 8), 0);
		CHECK_EQ(bed_commit(&b, 1, other), RMC_S_TX_LOCKED);
		if (i) {
			CHECK_EQ(bed_commit(&b, 0, slot), RMC_S_OK);
		} else {
			rmc_tx_engine_abort(b.n[0].e, slot);
			CHECK_EQ(bed_end(&b, 0, slot), RMC_S_ABORTED);
		}
		CHECK(bed_idle(&b));
		CHECK(bed_clean(&b));
		CHECK_EQ(word_at(&b, 2, TX_START), i);
	}
	bed_free(&b);
}

/* One that does not decide is aborted, and its locks are free. */
static void test_too_long(const struct testbed_opts *o)
{
	struct rmc_tx_item item = { .offset = TX_START, .length = 8, .nid = 1 };
	struct tx_bed b;
	u64 one = 1;
	u32 slot;

	bed_make_of(&b, o, 2, false, &opts_10);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, &one, 8), 0);
	CHECK(prepared(&b, 0, slot));
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_TIMEOUT);
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	slot = bed_begin(&b, 0);
	CHECK_EQ(rmc_tx_engine_lock(b.n[0].e, slot, &item, 1), 0);
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_TIMEOUT);
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	CHECK_EQ(word_at(&b, 1, TX_START), 0);
	bed_free(&b);
}

/* A counter at each of two nodes, which all nodes increment with locks in advance, at once. */
static void test_lock(const struct testbed_opts *o)
{
	struct rmc_tx_item item[2] = {
		{ .offset = TX_START, .length = 8, .nid = 2 },
		{ .offset = TX_START, .length = 8, .nid = 1 },
	};
	u32 rounds[3] = { 0 }, slot[3], step[3], i, n, got, left = 3;
	u64 value[3];
	struct tx_bed b;
	u8 status;

	bed_make(&b, o, 3);
	for (i = 0; i < 3; i++)
		step[i] = 0;
	for (n = 0; n < 400000 && left; n++) {
		bed_step(&b);
		for (i = 0; i < 3; i++) {
			struct rmc_tx_engine *e = b.n[i].e;

			switch (step[i]) {
			case 0:
				if (rmc_tx_engine_begin(e, &slot[i]))
					break;
				b.n[i].ended[slot[i]] = -1;
				CHECK_EQ(rmc_tx_engine_lock(e, slot[i], item, 2), 0);
				step[i] = 1;
				break;
			case 1:
				if (!rmc_tx_engine_locked(e, &got))
					break;
				CHECK_EQ(got, slot[i]);
				CHECK_EQ(rmc_tx_engine_access(e, got, RMC_TX_READ, 1, TX_START, 8,
							      &value[i]), 0);
				step[i] = 2;
				break;
			case 2:
				if (!rmc_tx_engine_accessed(e, slot[i], &status))
					break;
				CHECK_EQ(status, RMC_S_OK);
				value[i]++;
				CHECK_EQ(bed_write(&b, i, slot[i], 1, TX_START, &value[i], 8), 0);
				CHECK_EQ(bed_write(&b, i, slot[i], 2, TX_START, &value[i], 8), 0);
				CHECK_EQ(rmc_tx_engine_commit(e, slot[i]), 0);
				step[i] = 3;
				break;
			case 3:
				if (b.n[i].ended[slot[i]] < 0)
					break;
				/* nobody squashes it */
				CHECK_EQ(b.n[i].ended[slot[i]], RMC_S_OK);
				step[i] = ++rounds[i] < 5 ? 0 : 4;
				left -= step[i] == 4;
			}
		}
	}
	CHECK_EQ(left, 0);
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	CHECK_EQ(word_at(&b, 1, TX_START), 15);
	CHECK_EQ(word_at(&b, 2, TX_START), 15);
	bed_free(&b);
}

static void test_calls(const struct testbed_opts *o)
{
	struct rmc_tx_item item[3] = {
		{ .offset = TX_START, .length = 64, .nid = 1, .flags = RMC_TX_ITEM_READ },
		{ .offset = TX_START + 64, .length = 64, .nid = 1 },
		{ .offset = TX_START + 128, .length = 64, .nid = 1, .flags = RMC_TX_ITEM_READ },
	};
	struct rmc_tx_range range[3];
	struct rmc_tx_engine *e;
	struct tx_bed b;
	u32 slot, writes;
	u64 value = 0;

	bed_make(&b, o, 2);
	e = b.n[0].e;
	CHECK_EQ(rmc_tx_engine_lock(e, 99, item, 1), -EINVAL);
	slot = bed_begin(&b, 0);
	CHECK_EQ(rmc_tx_engine_lock(e, slot, item, RMC_TX_RANGES + 1), -EINVAL);
	CHECK_EQ(rmc_tx_engine_lock(e, slot, item, 3), 0);
	CHECK_EQ(rmc_tx_hold_ranges(&e->txn[slot], 1, range, &writes), 3);
	CHECK_EQ(writes, 1);
	CHECK_EQ(range[0].offset, TX_START + 64);
	CHECK_EQ(range[2].offset, TX_START + 128);
	CHECK_EQ(rmc_tx_engine_lock(e, slot, item, 3), -ECANCELED);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, &value, 8), -ECANCELED);
	rmc_tx_engine_abort(e, slot);
	CHECK_EQ(bed_end(&b, 0, slot), RMC_S_ABORTED);
	CHECK(bed_idle(&b));
	/* ranges that overlap, in either order; nonsense */
	item[1].offset = TX_START + 63;
	item[2].offset = TX_START + 1;
	for (writes = 1; writes < 3; writes++) {
		struct rmc_tx_item two[2] = { item[0], item[writes] };

		slot = bed_begin(&b, 0);
		CHECK_EQ(rmc_tx_engine_lock(e, slot, two, 2), -EINVAL);
		rmc_tx_engine_abort(e, slot);
		two[0] = item[writes];
		two[1] = item[0];
		slot = bed_begin(&b, 0);
		CHECK_EQ(rmc_tx_engine_lock(e, slot, two, 2), -EINVAL);
		rmc_tx_engine_abort(e, slot);
	}
	item[0].flags = 2;
	slot = bed_begin(&b, 0);
	CHECK_EQ(rmc_tx_engine_lock(e, slot, item, 1), -EINVAL);
	rmc_tx_engine_abort(e, slot);
	slot = bed_begin(&b, 0);
	CHECK_EQ(bed_write(&b, 0, slot, 1, TX_START, &value, 8), 0);
	CHECK_EQ(rmc_tx_engine_lock(e, slot, item, 1), -EBUSY);
	rmc_tx_engine_abort(e, slot);
	CHECK(bed_idle(&b));
	CHECK(bed_clean(&b));
	bed_free(&b);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "prepared: locks until it is decided", test_prepare },
		{ "locks that are held for too long", test_too_long },
		{ "locks in advance, of three at once", test_lock },
		{ "locks in advance: calls", test_calls },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "split", .mtu = 64 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
