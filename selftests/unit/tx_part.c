// SPDX-License-Identifier: GPL-2.0
/*
 * The participant of transactions: what it refuses, who conflicts with whom, locks, staging, late
 * packets, quotas, silence.
 */
#include "tx_bed.h"

#define LINE(n)		(BED_START + 64 * (u64)(n))

static struct bed b;

static void test_setup(void)
{
	static const struct {
		u64 start, length;
		u32 self, groups;
	} bad[] = {
		{ 64, 0, 0, 1 }, { 32, 64, 0, 1 }, { 64, 32, 0, 1 }, { BED_BYTES, 64, 0, 1 },
		{ 64, BED_BYTES, 0, 1 }, { -64ULL, 128, 0, 1 }, { 64, -64ULL, 0, 1 },
		{ 64, 64, 0, 0 }, { 64, 64, 0, RMC_TX_SOURCES + 1 }, { 64, 64, RMC_TX_SOURCES, 1 },
		{ 64, 64, 0, ~0U },
	};
	struct rmc_tx_limits limits;
	struct rmc_tx_part *p;
	u32 i;

	bed_begin(&b);
	CHECK_EQ(b.p->limits.buffers, RMC_TX_BUFFERS);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		limits = (struct rmc_tx_limits) { .start = bad[i].start, .length = bad[i].length,
						  .self = bad[i].self, .groups = bad[i].groups };
		p = rmc_tx_part_new(&limits, &b.mem, NULL, NULL);
		CHECK(IS_ERR(p) && (intptr_t)p == -EINVAL);
		if (!IS_ERR(p))
			rmc_tx_part_free(p);
	}
	limits = bed_limits();
	limits.length = BED_BYTES - 64;
	limits.groups = 1;
	limits.buffers = 3;
	p = rmc_tx_part_new(&limits, &b.mem, NULL, NULL);
	CHECK(!IS_ERR(p) && p->limits.buffers == 3);
	rmc_tx_part_free(p);
	limits.buffers = 65;
	CHECK_EQ((intptr_t)rmc_tx_part_new(&limits, &b.mem, NULL, NULL), -EINVAL);
#ifdef RMC_TEST_HOOKS
	rmc_no_user_memory = 1;
	p = rmc_tx_part_new(&limits, &b.mem, NULL, NULL);
	CHECK(IS_ERR(p) && (intptr_t)p == -ENOMEM);
	rmc_no_user_memory = 0;
#endif
	bed_end(&b);
}

/* What comes from a peer that keeps no rule */
static void test_hostile(void)
{
	u64 end = BED_BYTES - BED_START;
	struct rmc_tx_range r[RMC_TX_RANGES + 1];
	struct rmc_txid id = tx(1, 0, 5);
	u32 i;

	bed_begin(&b);
	CHECK_EQ(tx_read(&b, tx(RMC_TX_SOURCES, 0, 5), LINE(0), 64), RMC_S_PROTOCOL);
	CHECK_EQ(tx_read(&b, tx(1, RMC_TX_SLOTS, 5), LINE(0), 64), RMC_S_PROTOCOL);
	CHECK_EQ(tx_intend(&b, tx(~0U, 0, 5), 0, 0, 0), RMC_S_PROTOCOL);
	CHECK_EQ(tx_intend(&b, tx(~0U, 0, 5), RMC_TX_HERE, 0, 0), RMC_S_TX_STALE);
	CHECK_EQ(tx_intend(&b, tx(1, ~0U, 5), 0, 0, 0), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, tx(1, ~0U, 5), LINE(0), 1, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, tx(~0U, 0, 5), LINE(0), 1, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_commit(&b, tx(1, 64, 5)), RMC_S_PROTOCOL);
	CHECK_EQ(tx_abort(&b, tx(RMC_TX_SOURCES, 1, 5)), RMC_S_PROTOCOL);
	rmc_tx_part_epoch(b.p, ~0U);
	rmc_tx_part_silent(b.p, ~0U);
	rmc_tx_part_silent(b.p, 3);
	CHECK_EQ(b.p->groups, 0);

	CHECK_EQ(tx_read(&b, id, LINE(0), 0), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_read(&b, id, LINE(0), RMC_TX_LINES * 64 + 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_read(&b, id, LINE(0), ~0ULL), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_read(&b, id, BED_START - 1, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_read(&b, id, end - 1, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_read(&b, id, end, 1), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_read(&b, id, ~0ULL, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(b.p->groups, 0);
	CHECK_EQ(tx_read(&b, id, end - 1, 1), RMC_S_OK);
	CHECK_EQ(tx_read(&b, id, BED_START, 1), RMC_S_OK);
	CHECK_EQ(tx_read(&b, id, LINE(0), RMC_TX_LINES * 64), RMC_S_OK);

	for (i = 0; i <= RMC_TX_RANGES; i++)
		r[i] = (struct rmc_tx_range) { .offset = LINE(i), .length = 64 };
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, RMC_TX_RANGES + 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, ~0U), RMC_S_BAD_LENGTH);
	r[1].length = 0;
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 3), RMC_S_BAD_LENGTH);
	r[1].length = 65;
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 3), RMC_S_PROTOCOL);
	r[1] = r[0];
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 3), RMC_S_PROTOCOL);
	r[1].offset = BED_START - 1;
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 3), RMC_S_OUT_OF_RANGE);
	r[1].offset = end - 63;
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 2), RMC_S_OUT_OF_RANGE);
	r[1] = (struct rmc_tx_range) { .offset = LINE(1), .length = ~0ULL };
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 2), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_intend(&b, id, 0, LINE(0), RMC_TX_LINES * 64 + 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_intend(&b, id, 0, LINE(0) + 1, RMC_TX_LINES * 64), RMC_S_BAD_LENGTH);
	/* none of these has changed anything */
	CHECK_EQ(tx_state(&b, id), RMC_TX_OPEN);
	CHECK_EQ(b.p->group[0].squashed, 0);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0) + 1, RMC_TX_LINES * 64 - 1), RMC_S_OK);
	bed_end(&b);
}

/* How a transaction uses a line */
enum use { READ, OWN, WRITE };

static u8 use(struct rmc_txid id, enum use how, u64 line)
{
	switch (how) {
	case READ:
		return tx_read(&b, id, LINE(line), 64);
	case OWN:
		return tx_own(&b, id, LINE(line) + 5, 1);
	default:
		return RMC_S_OK;
	}
}

/* INTEND of a transaction that uses a line; a read-only one has no ranges */
static u8 intend(struct rmc_txid id, enum use how, u64 line)
{
	u32 flags = how == WRITE ? 0 : RMC_TX_HERE;

	return tx_intend(&b, id, flags, LINE(line), how == READ ? 0 : 64);
}

/* All pairs of uses of a line, by transactions of one source and of two */
static void test_conflicts(void)
{
	u32 source, one, two;

	for (source = 1; source < 3; source++)
		for (one = READ; one <= WRITE; one++)
			for (two = READ; two <= WRITE; two++) {
				struct rmc_txid a = tx(1, 3, 10), c = tx(source, 4, 20), hint;
				bool hurts = one != READ, uses = two != WRITE;
				u8 want;

				bed_begin(&b);
				/* the second has used the line before the first commits */
				CHECK_EQ(use(a, one, 8), RMC_S_OK);
				CHECK_EQ(use(c, two, 8), RMC_S_OK);
				CHECK_EQ(use(c, READ, 30), RMC_S_OK);
				CHECK_EQ(intend(a, one, 8), RMC_S_OK);
				CHECK_EQ(rmc_tx_part_hint(b.p, &hint), hurts && uses);
				if (hurts && uses) {
					CHECK_EQ(hint.source, source);
					CHECK_EQ(hint.slot, 4);
					CHECK_EQ(hint.gen, 20);
					CHECK(!rmc_tx_part_hint(b.p, &hint));
					CHECK_EQ(tx_read(&b, c, LINE(50), 1), RMC_S_TX_SQUASHED);
				}
				want = two == READ && one == READ ? RMC_S_OK :
				       hurts && uses ? RMC_S_TX_SQUASHED : RMC_S_TX_LOCKED;
				CHECK_EQ(intend(c, two, 8), want);
				CHECK_EQ(intend(c, two, 8), want);
				CHECK(!rmc_tx_part_hint(b.p, &hint));
				CHECK_EQ(tx_abort(&b, c), RMC_S_OK);

				/* ... or begins to use it after that */
				c.gen++;
				if (two != WRITE)
					CHECK_EQ(use(c, two, 8), hurts ? RMC_S_TX_LOCKED : RMC_S_OK);
				if (two != READ)
					CHECK_EQ(intend(c, two, 8), RMC_S_TX_LOCKED);
				CHECK_EQ(tx_abort(&b, c), RMC_S_OK);
				c.gen++;
				/* other lines are free */
				CHECK_EQ(use(c, READ, 9), RMC_S_OK);
				CHECK_EQ(use(c, OWN, 10), RMC_S_OK);
				CHECK_EQ(intend(c, OWN, 10), RMC_S_OK);
				CHECK_EQ(b.p->locks, 2);

				/* and this one, too, after the first has ended */
				CHECK_EQ(tx_abort(&b, a), RMC_S_OK);
				CHECK_EQ(use(tx(2, 9, 1), READ, 8), RMC_S_OK);
				CHECK_EQ(intend(tx(2, 10, 1), WRITE, 8), RMC_S_OK);
				bed_end(&b);
			}
}

/* An access of several lines is refused if one of them is locked, wherever it is. */
static void test_lines(void)
{
	u32 i;

	bed_begin(&b);
	CHECK_EQ(tx_intend(&b, tx(1, 0, 1), 0, LINE(8) + 60, 10), RMC_S_OK);
	for (i = 0; i < 16; i++)
		CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(i) + 63, 3),
			 i == 7 || i == 8 || i == 9 ? RMC_S_TX_LOCKED : RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(0), 16 * 64), RMC_S_TX_LOCKED);
	/* it is in the filter even so: who commits later squashes it */
	CHECK_EQ(tx_commit(&b, tx(1, 0, 1)), RMC_S_BUSY);
	CHECK_EQ(tx_data(&b, tx(1, 0, 1), LINE(8) + 60, 10, 1), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, tx(1, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(2, 1, 1), LINE(14) + 63, 2), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(1, 0, 2), 0, LINE(15), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(40), 1), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_read(&b, tx(2, 1, 1), LINE(40), 1), RMC_S_TX_SQUASHED);
	bed_end(&b);
}

/* Who was squashed is named once, and not after it has heard of it. */
static void test_hints(void)
{
	struct rmc_txid hint;
	u32 i;

	bed_begin(&b);
	for (i = 0; i < 3; i++)
		CHECK_EQ(tx_read(&b, tx(2, i, 10 + i), LINE(8), 128), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(1, 0, 1), 0, LINE(8), 64), RMC_S_OK);
	CHECK(rmc_tx_part_hint(b.p, &hint));
	CHECK(hint.source == 2 && hint.slot == 0 && hint.gen == 10);
	/* this one's INTEND is refused, that one's coordinator has ended it */
	CHECK_EQ(tx_intend(&b, tx(2, 1, 11), RMC_TX_HERE, 0, 0), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_abort(&b, tx(2, 2, 12)), RMC_S_OK);
	CHECK(!rmc_tx_part_hint(b.p, &hint));
	/* once more, by another one */
	CHECK_EQ(tx_intend(&b, tx(1, 1, 1), 0, LINE(9), 64), RMC_S_OK);
	CHECK(!rmc_tx_part_hint(b.p, &hint));
	bed_end(&b);
}

/* The same list is acknowledged again, another one is not. */
static void test_repeated(void)
{
	struct rmc_tx_range r[3] = { { LINE(1) + 8, 8 }, { LINE(1) + 16, 100 }, { LINE(5), 64 } };
	struct rmc_tx_range joined[2] = { { LINE(1) + 8, 108 }, { LINE(5), 64 } };
	struct rmc_txid id = tx(1, 0, 1);
	u32 flags;

	for (flags = 0; flags <= RMC_TX_HERE; flags++) {
		bed_begin(&b);
		if (flags)
			CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_OK);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_OK);
		CHECK_EQ(b.p->locks, 1);
		CHECK_EQ(b.p->group[0].lines, 3);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_OK);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, joined, 2), RMC_S_OK);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 2), RMC_S_PROTOCOL);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 0), RMC_S_PROTOCOL);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r + 1, 2), RMC_S_PROTOCOL);
		r[2].length = 63;
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_PROTOCOL);
		r[2].length = 65;
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_PROTOCOL);
		r[2].length = 64;
		r[2].offset += 64;
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_PROTOCOL);
		r[2].offset -= 64;
		CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_PROTOCOL);
		CHECK_EQ(b.p->locks, 1);
		CHECK_EQ(b.p->group[0].lines, 3);
		CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
		CHECK_EQ(b.p->locks, 0);
		CHECK_EQ(b.p->group[0].lines, 0);
		CHECK_EQ(rmc_tx_part_intend(b.p, &id, flags, r, 3), RMC_S_TX_STALE);
		CHECK_EQ(tx_state(&b, id), RMC_TX_ABORTED);
		bed_end(&b);
	}
}

/* DATA in any order, twice; nothing is stored before all of it is there, and nothing beside it. */
static void test_data(void)
{
	struct rmc_tx_range r[4] = {
		{ LINE(3) + 1, 2 }, { LINE(3) + 5, 3 }, { LINE(62) + 60, 200 }, { LINE(70), 64 },
	};
	struct rmc_txid id = tx(1, 0, 1);

	bed_begin(&b);
	CHECK_EQ(tx_data(&b, id, LINE(3), 1, 1), RMC_S_TX_STALE);
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(3), 1, 1), RMC_S_PROTOCOL);
	CHECK_EQ(rmc_tx_part_intend(b.p, &id, 0, r, 4), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 1, 0, 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 1, RMC_TX_LINES * 64 + 1, 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_data(&b, id, BED_START - 1, 1, 1), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_data(&b, id, LINE(3), 2, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 1, 3, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, id, LINE(2), 64, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, id, LINE(4), 64, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, id, LINE(71), 64, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, id, LINE(70), 65, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_data(&b, tx(1, 0, 2), LINE(70), 64, 1), RMC_S_TX_STALE);
	CHECK_EQ(tx_data(&b, tx(2, 0, 1), LINE(70), 64, 1), RMC_S_TX_STALE);
	CHECK_EQ(tx_commit(&b, id), RMC_S_BUSY);
	CHECK_EQ(tx_data(&b, id, LINE(62) + 60, 200, 4), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 6, 2, 3), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 6, 2, 3), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 1, 2, 2), RMC_S_OK);
	CHECK_EQ(tx_data(&b, id, LINE(70), 63, 5), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, id), RMC_S_BUSY);
	CHECK_EQ(tx_data(&b, id, LINE(70) + 32, 32, 5), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, id), RMC_S_BUSY);
	CHECK_EQ(bed_others(&b, 0, BED_BYTES, FILL), 0);
	CHECK_EQ(tx_data(&b, id, LINE(3) + 5, 1, 3), RMC_S_OK);
	CHECK_EQ(bed_others(&b, 0, BED_BYTES, FILL), 0);
	CHECK_EQ(tx_commit(&b, id), RMC_S_OK);
	CHECK_EQ(bed_others(&b, 0, BED_BYTES, FILL), 2 + 3 + 200 + 64);
	CHECK_EQ(bed_others(&b, LINE(3) + 1, 2, 2), 0);
	CHECK_EQ(bed_others(&b, LINE(3) + 5, 3, 3), 0);
	CHECK_EQ(bed_others(&b, LINE(62) + 60, 200, 4), 0);
	CHECK_EQ(bed_others(&b, LINE(70), 64, 5), 0);

	/* what comes twice is answered alike, and has no effect */
	memset(bed_at(&b, LINE(70)), FILL, 64);
	CHECK_EQ(tx_data(&b, id, LINE(70), 64, 9), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, id), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, id), RMC_S_PROTOCOL);
	CHECK_EQ(tx_commit(&b, id), RMC_S_OK);
	CHECK_EQ(tx_state(&b, id), RMC_TX_COMMITTED);
	CHECK_EQ(bed_others(&b, LINE(70), 64, FILL), 0);
	bed_end(&b);
}

/* Many lines in packets of one line, also backwards; other transactions' lines are between them. */
static void test_much_data(void)
{
	struct rmc_txid id = tx(1, 0, 1), other = tx(1, 1, 1);
	u32 i, n = RMC_TX_LINES / 2;
	u8 data[64];

	bed_begin(&b);
	CHECK_EQ(tx_intend(&b, other, 0, LINE(n), 3 * 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, id, 0, LINE(0), (u64)n * 64), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, other), RMC_S_OK);
	for (i = 0; i < n; i++) {
		u32 line = i % 3 ? n - 1 - i / 3 * 2 - i % 3 + 1 : i / 3;

		memset(data, line, 64);
		CHECK_EQ(rmc_tx_part_data(b.p, &id, LINE(line), data, 64), RMC_S_OK);
	}
	CHECK_EQ(tx_commit(&b, id), RMC_S_OK);
	for (i = 0; i < n; i++)
		CHECK_EQ(bed_others(&b, LINE(i), 64, i), 0);
	CHECK_EQ(bed_others(&b, LINE(n), 64, FILL), 0);
	bed_end(&b);
}

/* CLOSE of what is not prepared, or was never heard of; what comes late */
static void test_close(void)
{
	struct rmc_txid id = tx(1, 0, 100);

	bed_begin(&b);
	CHECK_EQ(tx_commit(&b, id), RMC_S_TX_STALE);
	CHECK_EQ(tx_state(&b, id), RMC_TX_NONE);
	/* an access that is overtaken by the abort */
	CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_intend(&b, id, 0, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_data(&b, id, LINE(0), 64, 1), RMC_S_TX_STALE);
	CHECK_EQ(tx_commit(&b, id), RMC_S_TX_STALE);
	CHECK_EQ(tx_state(&b, id), RMC_TX_ABORTED);
	/* older ones create nothing, also across the wrap */
	id.gen = 99;
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_intend(&b, id, 0, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_abort(&b, id), RMC_S_TX_STALE);
	CHECK_EQ(tx_commit(&b, id), RMC_S_TX_STALE);
	id.gen = 100 - 0x7fffffffU;
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_TX_STALE);
	id.gen = 100 + 0x7fffffffU;
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, id), RMC_S_PROTOCOL);
	CHECK_EQ(tx_state(&b, id), RMC_TX_OPEN);
	/* a newer one: the open one is over */
	id.gen++;
	CHECK_EQ(tx_read(&b, id, LINE(1), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 0, 1), 0, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(b.p->group[0].squashed, 0);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(1), 64), RMC_S_OK);
	/* ... a prepared one as well, with its lock: by any message but a commit */
	id.gen++;
	CHECK_EQ(tx_commit(&b, id), RMC_S_TX_STALE);
	id.gen--;
	CHECK_EQ(tx_state(&b, id), RMC_TX_PREPARED);
	id.gen++;
	CHECK_EQ(tx_read(&b, id, LINE(1), 64), RMC_S_OK);
	CHECK_EQ(tx_state(&b, id), RMC_TX_OPEN);
	CHECK_EQ(b.p->locks, 1);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(1), 64), RMC_S_OK);
	id.gen++;
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(1), 64), RMC_S_TX_STALE);
	CHECK_EQ(b.p->locks, 1);
	id.gen++;
	CHECK_EQ(tx_intend(&b, id, 0, LINE(1), 64), RMC_S_OK);
	CHECK_EQ(b.p->locks, 2);
	id.gen++;
	CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
	CHECK_EQ(b.p->locks, 1);
	CHECK_EQ(b.p->group[0].lines, 0);
	CHECK_EQ(bed_others(&b, 0, BED_BYTES, FILL), 0);
	/* a newer abort ends an open one, too */
	id.gen++;
	CHECK_EQ(tx_read(&b, id, LINE(1), 64), RMC_S_OK);
	id.gen++;
	CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
	CHECK_EQ(b.p->group[0].open, 0);
	bed_end(&b);
}

/* "I was here", and nobody knows: it began anew, and what it had read is not in a filter. */
static void test_forgotten(void)
{
	struct rmc_txid id = tx(1, 0, 1);

	bed_begin(&b);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	/* its access comes late */
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_abort(&b, id), RMC_S_OK);
	id.gen = 2;
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_OK);
	rmc_tx_part_epoch(b.p, 1);
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	/* the record of an older one does not count */
	id.gen = 3;
	CHECK_EQ(tx_read(&b, id, LINE(0), 64), RMC_S_OK);
	id.gen = 4;
	CHECK_EQ(tx_intend(&b, id, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(b.p->group[0].open, 0);
	CHECK_EQ(tx_intend(&b, tx(1, 1, 1), 0, LINE(0), 64), RMC_S_OK);
	bed_end(&b);
}

/* A source that takes all Locking Buffers that it gets leaves some for others; so do a few. */
static void test_shares(void)
{
	static const u32 gets[] = { 16, 8, 4, 2, 1, 1, 0 };
	struct rmc_tx_limits limits = bed_limits();
	u32 s, i, n;

	limits.groups = ARRAY_SIZE(gets);
	bed_begin_with(&b, &limits, NULL);
	for (s = 0; s < ARRAY_SIZE(gets); s++) {
		for (i = n = 0; i < RMC_TX_SLOTS; i++) {
			u8 status = tx_intend(&b, tx(s, i, 1), 0, LINE(s * RMC_TX_SLOTS + i), 64);

			CHECK(status == (n < gets[s] ? RMC_S_OK : RMC_S_TX_FULL));
			n += !status;
		}
		CHECK_EQ(n, gets[s]);
	}
	CHECK_EQ(b.p->locks, RMC_TX_BUFFERS);
	/* what one gives back, another one gets */
	CHECK_EQ(tx_abort(&b, tx(0, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(0, 0, 2), 0, LINE(0), 64), RMC_S_TX_FULL);
	CHECK_EQ(tx_intend(&b, tx(s - 1, 0, 2), 0, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(b.p->locks, RMC_TX_BUFFERS);
	bed_end(&b);
}

/* Each quota, and that all comes back */
static void test_quotas(void)
{
	struct rmc_tx_limits limits = bed_limits();
	u32 i;

	limits.groups = 2;
	limits.buffers = 3;
	bed_begin_with(&b, &limits, NULL);
	CHECK_EQ(tx_read(&b, tx(1, 0, 1), LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(3, 0, 1), LINE(0), 64), RMC_S_TX_FULL);
	CHECK_EQ(tx_intend(&b, tx(3, 0, 1), 0, LINE(0), 64), RMC_S_TX_FULL);
	CHECK_EQ(tx_intend(&b, tx(3, 0, 1), RMC_TX_HERE, LINE(0), 64), RMC_S_TX_STALE);
	CHECK_EQ(tx_abort(&b, tx(3, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, tx(3, 0, 1)), RMC_S_TX_STALE);
	rmc_tx_part_epoch(b.p, 1);
	CHECK_EQ(b.p->groups, 2);
	CHECK_EQ(tx_read(&b, tx(3, 0, 1), LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(1, 0, 1), LINE(0), 64), RMC_S_TX_FULL);

	/* Locking Buffers */
	for (i = 1; i < 3; i++)
		CHECK_EQ(tx_intend(&b, tx(2 + i % 2, i, 1), 0, LINE(i), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 4, 1), 0, LINE(4), 64), RMC_S_TX_FULL);
	CHECK_EQ(tx_intend(&b, tx(2, 5, 1), 0, 0, 0), RMC_S_TX_FULL);
	CHECK_EQ(tx_abort(&b, tx(3, 1, 1)), RMC_S_OK);
	/* a refusal is final */
	CHECK_EQ(tx_intend(&b, tx(2, 4, 1), 0, LINE(4), 64), RMC_S_TX_FULL);
	CHECK_EQ(tx_read(&b, tx(2, 4, 1), LINE(4), 64), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_abort(&b, tx(2, 4, 1)), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 4, 2), 0, LINE(4), 64), RMC_S_OK);
	for (i = 1; i < 3; i++)
		tx_abort(&b, tx(2 + i % 2, i, 1));
	CHECK_EQ(tx_abort(&b, tx(2, 4, 2)), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(2, 5, 1)), RMC_S_OK);

	/* lines: those of one source. A filter with so many is a lock of nearly all lines. */
	CHECK_EQ(tx_intend(&b, tx(2, 1, 2), 0, LINE(0), (RMC_TX_LINES - 1) * 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 2, 2), 0, LINE(1500) + 63, 2), RMC_S_TX_FULL);
	CHECK(tx_intend(&b, tx(3, 2, 2), 0, LINE(1500) + 63, 2) != RMC_S_TX_FULL);
	CHECK_EQ(tx_abort(&b, tx(2, 1, 2)), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(3, 2, 2)), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 2, 3), 0, LINE(1500) + 63, 2), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(2, 2, 3)), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 1, 4), 0, LINE(0), RMC_TX_LINES * 64), RMC_S_OK);
	CHECK_EQ(b.p->locks, 1);
	bed_end(&b);
}

/* A source that is silent loses what it has not prepared; one with a new epoch, everything. */
static void test_silence(void)
{
	struct rmc_txid open = tx(1, 0, 1), prepared = tx(1, 1, 1), other = tx(2, 0, 1), hint;

	bed_begin(&b);
	CHECK_EQ(tx_read(&b, open, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_own(&b, open, LINE(1), 8), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, prepared, 0, LINE(2), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, other, LINE(3), 64), RMC_S_OK);
	rmc_tx_part_silent(b.p, 1);
	CHECK_EQ(tx_read(&b, open, LINE(9), 64), RMC_S_TX_SQUASHED);
	CHECK_EQ(b.p->group[0].squashed, 1);
	CHECK_EQ(b.p->group[1].squashed, 0);
	CHECK(!rmc_tx_part_hint(b.p, &hint));
	CHECK_EQ(b.p->group[0].rd.bit[rmc_tx_hash(rmc_tx_crc(1)).a], 0);
	CHECK_EQ(tx_intend(&b, open, RMC_TX_HERE, LINE(0), 64), RMC_S_TX_SQUASHED);
	/* it comes back, and had decided */
	CHECK_EQ(tx_read(&b, other, LINE(2), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_data(&b, prepared, LINE(2), 64, 1), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, prepared), RMC_S_OK);
	CHECK_EQ(bed_others(&b, LINE(2), 64, 1), 0);
	CHECK_EQ(tx_read(&b, other, LINE(2), 64), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, open), RMC_S_OK);

	prepared.gen++;
	CHECK_EQ(tx_intend(&b, prepared, 0, LINE(5), 64), RMC_S_OK);
	rmc_tx_part_epoch(b.p, 1);
	CHECK_EQ(b.p->locks, 0);
	CHECK_EQ(tx_read(&b, other, LINE(5), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, other, RMC_TX_HERE, LINE(5), 64), RMC_S_OK);
	/* in its new life gens begin anywhere */
	prepared.gen = 0;
	CHECK_EQ(tx_read(&b, prepared, LINE(6), 64), RMC_S_OK);
	CHECK_EQ(bed_others(&b, LINE(5), 64, FILL), 0);
	bed_end(&b);
}

/* A copy of the block is a participant in that state. */
static void test_copy(void)
{
	struct bed c;
	size_t n;

	bed_begin(&b);
	n = rmc_tx_part_bytes(&b.limits);
	CHECK_EQ(tx_read(&b, tx(1, 0, 1), LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 0, 1), 0, LINE(1) + 3, 100), RMC_S_OK);
	CHECK_EQ(tx_data(&b, tx(2, 0, 1), LINE(1) + 3, 50, 7), RMC_S_OK);
	c = b;
	c.p = malloc(n);
	memcpy(c.p, b.p, n);
	CHECK_EQ(tx_abort(&b, tx(2, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(1, 0, 1), RMC_TX_HERE, LINE(0), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&c, tx(1, 0, 1), LINE(1), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_data(&c, tx(2, 0, 1), LINE(1) + 53, 50, 7), RMC_S_OK);
	CHECK_EQ(tx_commit(&c, tx(2, 0, 1)), RMC_S_OK);
	CHECK_EQ(bed_others(&b, LINE(1) + 3, 100, 7), 0);
	/* other ways to the same state */
	memcpy(c.p, b.p, n);
	CHECK_EQ(tx_abort(&b, tx(1, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_abort(&c, tx(1, 0, 1)), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(1, 0, 2)), RMC_S_OK);
	CHECK_EQ(tx_own(&c, tx(1, 0, 2), LINE(9), 200), RMC_S_OK);
	CHECK_EQ(tx_intend(&c, tx(1, 0, 2), 0, LINE(5), 300), RMC_S_OK);
	CHECK_EQ(tx_data(&c, tx(1, 0, 2), LINE(5), 300, 1), RMC_S_OK);
	CHECK_EQ(tx_abort(&c, tx(1, 0, 2)), RMC_S_OK);
	CHECK(!memcmp(b.p, c.p, n));
	free(c.p);
	bed_end(&b);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx part: set-up", test_setup },
		{ "tx part: peers that keep no rule", test_hostile },
		{ "tx part: who conflicts with whom", test_conflicts },
		{ "tx part: accesses of several lines", test_lines },
		{ "tx part: hints", test_hints },
		{ "tx part: INTEND that is repeated", test_repeated },
		{ "tx part: DATA in any order", test_data },
		{ "tx part: much DATA", test_much_data },
		{ "tx part: CLOSE, and what comes late", test_close },
		{ "tx part: records that are lost", test_forgotten },
		{ "tx part: a source that locks all it can", test_shares },
		{ "tx part: quotas", test_quotas },
		{ "tx part: silence and epochs", test_silence },
		{ "tx part: copies", test_copy },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
