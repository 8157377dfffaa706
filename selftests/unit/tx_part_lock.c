// SPDX-License-Identifier: GPL-2.0
/*
 * The participant of transactions: local transactions, locks in advance, and what the owner of the
 * segment sees of all locks. tx_part.c has the rest.
 */
#include "tx_bed.h"

#define LINE(n)		(BED_START + 64 * (u64)(n))

static struct bed b;

/* ---- local transactions: by loads and stores of the process that owns the segment ---- */

static struct rmc_tx_local local;

static void local_read(u64 line, u32 slot)
{
	struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(line));

	local.rd[h.a] |= 1ULL << slot;
	local.rd[h.b] |= 1ULL << slot;
}

static void local_write(u64 line, u32 slot)
{
	struct rmc_tx_hash h = rmc_tx_split_hash(line, rmc_tx_crc(line));

	local.wr1[h.a] |= 1ULL << slot;
	local.wr2[h.b] |= 1ULL << slot;
}

static void begin_local(void)
{
	struct rmc_tx_limits limits = bed_limits();

	memset(&local, 0, sizeof(local));
	bed_begin_with(&b, &limits, &local);
}

static void test_local(void)
{
	struct rmc_txid own = tx(BED_SELF, 5, 1);

	begin_local();
	local_read(9, 5);
	local_write(9, 6);
	local_read(10, 7);
	/* reading squashes nobody */
	CHECK_EQ(tx_read(&b, tx(1, 0, 1), 9 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(1, 0, 1), RMC_TX_HERE, 0, 0), RMC_S_OK);
	CHECK_EQ(local.squashed, 0);
	CHECK_EQ(tx_abort(&b, tx(1, 0, 1)), RMC_S_OK);
	/* the slots of others are not those of local transactions */
	CHECK_EQ(tx_intend(&b, tx(1, 5, 2), 0, 9 * 64, 64), RMC_S_OK);
	CHECK_EQ(local.squashed, 3 << 5);
	CHECK_EQ(tx_abort(&b, tx(1, 5, 2)), RMC_S_OK);
	/* the word is a hint, the mark is here */
	local.squashed = 0;
	CHECK_EQ(tx_intend(&b, own, 0, 9 * 64, 64), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_abort(&b, own), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 6);
	/* ... and none of a remote one in a slot of that number */
	CHECK_EQ(tx_intend(&b, tx(1, 6, 1), 0, 40 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(1, 6, 1)), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 6);
	/* its own filter does not hurt it, others' do */
	own.gen++;
	CHECK_EQ(tx_intend(&b, own, 0, 9 * 64, 64), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 6);
	/* what it has read and written by loads and stores is locked, too */
	local_read(20, 5);
	local_write(21, 5);
	CHECK_EQ(tx_intend(&b, tx(2, 0, 1), 0, 20 * 64, 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(2, 1, 1), 0, 21 * 64, 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(BED_SELF, 1, 1), 0, 20 * 64, 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(2, 2, 1), 0, 22 * 64, 64), RMC_S_OK);
	/* slot 6 is told again: its next transaction has cleared the word, maybe */
	CHECK_EQ(local.squashed, 1 << 6);
	CHECK_EQ(tx_data(&b, own, 9 * 64, 64, 3), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, own), RMC_S_OK);
	/* its owner clears its filters now; a filter that is left hurts a slot, not others */
	CHECK_EQ(tx_intend(&b, tx(2, 3, 1), 0, 20 * 64, 64), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 3 << 5);
	/* an owner that scribbles: all are squashed, and no remote transaction is hurt */
	memset(&local, 0xff, sizeof(local));
	CHECK_EQ(tx_read(&b, tx(2, 4, 1), 100 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 4, 1), RMC_TX_HERE, 101 * 64, 64), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, U64_MAX);
	bed_end(&b);
}

/* A slot's mark is that of the transaction that has it now. */
static void test_marks(void)
{
	struct rmc_txid own = tx(BED_SELF, 5, 1), other = tx(1, 0, 1);

	begin_local();
	local_read(9, 5);
	CHECK_EQ(tx_intend(&b, other, 0, 9 * 64, 64), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 5);
	/* a transaction of the slot that uses nothing by loads ends: not what the mark is about */
	CHECK_EQ(rmc_tx_part_close(b.p, &own, 0, false), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 5);
	own.gen++;
	CHECK_EQ(tx_abort(&b, own), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 0);
	CHECK_EQ(tx_abort(&b, other), RMC_S_OK);
	/* the next one is squashed, and the end of the last one comes once more */
	other.gen++;
	CHECK_EQ(tx_intend(&b, other, 0, 9 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, own), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 5);
	own.gen--;
	CHECK_EQ(tx_abort(&b, own), RMC_S_TX_STALE);
	CHECK_EQ(b.p->local_squashed, 1 << 5);
	own.gen += 2;
	CHECK_EQ(tx_read(&b, own, 40 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, own, RMC_TX_HERE, 0, 0), RMC_S_TX_SQUASHED);
	/* of another source it says nothing */
	CHECK_EQ(tx_abort(&b, tx(1, 5, 9)), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 1 << 5);
	CHECK_EQ(tx_abort(&b, own), RMC_S_OK);
	CHECK_EQ(b.p->local_squashed, 0);
	/* in a new life nobody knows */
	rmc_tx_part_epoch(b.p, BED_SELF);
	own.gen++;
	CHECK_EQ(tx_intend(&b, own, 0, 41 * 64, 64), RMC_S_TX_SQUASHED);
	CHECK_EQ(local.squashed, U64_MAX);
	bed_end(&b);
}

static u8 lock(struct rmc_txid id, u64 write, u64 read)
{
	struct rmc_tx_range r[2] = { { LINE(write), 64 }, { LINE(read), 64 } };

	return rmc_tx_part_lock(b.p, &id, write ? r : r + 1, write ? 1 : 0, read ? 1 : 0);
}

/* Locks in advance: who waits, who is refused, who is squashed */
static void test_lock(void)
{
	struct rmc_txid a = tx(1, 0, 1), c = tx(2, 3, 1), d = tx(3, 0, 1), user = tx(3, 5, 1), hint;

	bed_begin(&b);
	/* who has used a line that will be written is squashed; who has it locked is waited for */
	CHECK_EQ(tx_read(&b, user, LINE(8), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, tx(3, 6, 1), LINE(9), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, d, 0, LINE(19), 64), RMC_S_OK);
	CHECK_EQ(lock(a, 8, 9), RMC_S_OK);
	CHECK(rmc_tx_part_hint(b.p, &hint));
	CHECK(hint.source == 3 && hint.slot == 5);
	/* not who reads what it only reads */
	CHECK(!rmc_tx_part_hint(b.p, &hint));
	CHECK_EQ(tx_intend(&b, tx(3, 6, 1), RMC_TX_HERE, 0, 0), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, a), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, d), RMC_S_OK);
	/* who has read and commits is waited for, too */
	CHECK_EQ(lock(c, 9, 0), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_abort(&b, tx(3, 6, 1)), RMC_S_OK);
	CHECK_EQ(lock(c, 9, 0), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, c), RMC_S_OK);
	a.gen++;
	c.gen++;
	d.gen++;
	CHECK_EQ(tx_intend(&b, d, 0, LINE(9), 64), RMC_S_OK);
	CHECK_EQ(lock(a, 8, 9), RMC_S_TX_LOCKED);
	CHECK_EQ(b.p->waiters, 1);
	CHECK_EQ(b.p->locks, 2);
	CHECK_EQ(lock(a, 8, 9), RMC_S_TX_LOCKED);
	CHECK_EQ(b.p->waiters, 1);
	CHECK_EQ(lock(a, 8, 10), RMC_S_PROTOCOL);
	CHECK_EQ(tx_read(&b, a, LINE(8), 64), RMC_S_PROTOCOL);
	CHECK_EQ(tx_intend(&b, a, RMC_TX_HERE, LINE(8), 64), RMC_S_PROTOCOL);
	/* who comes later is refused, or waits behind it */
	CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(8), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_read(&b, tx(2, 0, 1), LINE(9), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(2, 1, 1), 0, LINE(9), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(2, 2, 1), 0, LINE(8), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(lock(c, 0, 8), RMC_S_TX_LOCKED);
	CHECK_EQ(b.p->waiters, 2);
	/* one that is not in anybody's way does not wait */
	CHECK_EQ(lock(tx(1, 7, 1), 40, 41), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(1, 7, 1)), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, d), RMC_S_OK);
	CHECK_EQ(lock(c, 0, 8), RMC_S_TX_LOCKED);
	CHECK_EQ(lock(a, 8, 9), RMC_S_OK);
	CHECK_EQ(lock(a, 8, 9), RMC_S_OK);
	CHECK_EQ(lock(a, 9, 8), RMC_S_PROTOCOL);
	CHECK_EQ(b.p->waiters, 1);
	CHECK_EQ(lock(c, 0, 8), RMC_S_TX_LOCKED);
	/* it uses its lines, and others that nobody has */
	CHECK_EQ(tx_read(&b, a, LINE(9), 64), RMC_S_OK);
	CHECK_EQ(tx_own(&b, a, LINE(8), 8), RMC_S_OK);
	CHECK_EQ(tx_data(&b, a, LINE(8), 8, 1), RMC_S_PROTOCOL);
	CHECK_EQ(tx_commit(&b, a), RMC_S_PROTOCOL);
	CHECK_EQ(tx_read(&b, a, LINE(20), 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, tx(2, 4, 1), 0, LINE(20), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, tx(2, 5, 1), 0, LINE(21), 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, a, LINE(21), 64), RMC_S_TX_LOCKED);
	CHECK_EQ(tx_intend(&b, a, RMC_TX_HERE, LINE(8), 64), RMC_S_OK);
	CHECK_EQ(tx_data(&b, a, LINE(8), 64, 1), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, a), RMC_S_OK);
	CHECK_EQ(lock(c, 0, 8), RMC_S_OK);
	CHECK_EQ(b.p->waiters, 0);
	/* a source that is silent has not decided */
	rmc_tx_part_silent(b.p, 2);
	CHECK_EQ(lock(c, 0, 8), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_intend(&b, c, RMC_TX_HERE, 0, 0), RMC_S_TX_SQUASHED);
	CHECK_EQ(lock(tx(1, 1, 1), 8, 0), RMC_S_OK);
	bed_end(&b);
}

static void test_lock_limits(void)
{
	struct rmc_tx_limits limits = bed_limits();
	struct rmc_tx_range r[RMC_TX_RANGES + 1] = { { LINE(1), 64 }, { LINE(0), 64 } };
	struct rmc_txid id = tx(1, 0, 1);
	u32 i;

	limits.buffers = 64;
	bed_begin_with(&b, &limits, NULL);
	CHECK_EQ(rmc_tx_part_lock(b.p, &id, r, 2, 0), RMC_S_PROTOCOL);
	CHECK_EQ(rmc_tx_part_lock(b.p, &id, r, 0, 2), RMC_S_PROTOCOL);
	CHECK_EQ(rmc_tx_part_lock(b.p, &id, r, RMC_TX_RANGES, 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_tx_part_lock(b.p, &id, r, ~0U, 1), RMC_S_BAD_LENGTH);
	r[0] = (struct rmc_tx_range){ LINE(0), RMC_TX_LINES * 32 };
	r[1] = (struct rmc_tx_range){ LINE(RMC_TX_LINES), RMC_TX_LINES * 32 + 1 };
	CHECK_EQ(rmc_tx_part_lock(b.p, &id, r, 1, 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(b.p->groups, 0);
	CHECK_EQ(tx_read(&b, id, LINE(3), 64), RMC_S_OK);
	CHECK_EQ(lock(id, 4, 0), RMC_S_PROTOCOL);
	CHECK_EQ(tx_intend(&b, tx(2, 0, 1), 0, LINE(8), 64), RMC_S_OK);
	for (i = 0; i < RMC_TX_WAITERS; i++)
		CHECK_EQ(lock(tx(1 + i % 3, 1 + i, 1), 8, 0), RMC_S_TX_LOCKED);
	CHECK_EQ(lock(tx(1, 20, 1), 8, 0), RMC_S_TX_FULL);
	/* one in the middle gives up; the others keep their turns */
	CHECK_EQ(tx_abort(&b, tx(2, 2, 1)), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(2, 0, 1)), RMC_S_OK);
	for (i = RMC_TX_WAITERS - 1; i; i--)
		if (i != 1)
			CHECK_EQ(lock(tx(1 + i % 3, 1 + i, 1), 8, 0), RMC_S_TX_LOCKED);
	for (i = 0; i < RMC_TX_WAITERS; i++) {
		if (i == 1)
			continue;
		CHECK_EQ(lock(tx(1 + i % 3, 1 + i, 1), 8, 0), RMC_S_OK);
		CHECK_EQ(tx_abort(&b, tx(1 + i % 3, 1 + i, 1)), RMC_S_OK);
	}
	bed_end(&b);

	limits.buffers = 2;
	bed_begin_with(&b, &limits, NULL);
	CHECK_EQ(lock(tx(1, 0, 1), 8, 0), RMC_S_OK);
	CHECK_EQ(lock(tx(1, 1, 1), 9, 0), RMC_S_TX_FULL);
	CHECK_EQ(lock(tx(2, 1, 1), 9, 0), RMC_S_OK);
	CHECK_EQ(tx_abort(&b, tx(1, 0, 1)), RMC_S_OK);
	CHECK_EQ(lock(tx(1, 1, 1), 9, 0), RMC_S_TX_LOCKED);
	bed_end(&b);
}

static bool shown(const __u64 *filter, u64 line, u64 bit)
{
	struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(line));

	return filter[h.a] & filter[h.b] & bit;
}

/* What the owner sees of the locks */
static void test_shared(void)
{
	struct rmc_txid one = tx(1, 0, 1), own = tx(BED_SELF, 3, 1), two = tx(2, 1, 1);
	const struct rmc_tx_locks *l = &bed_shared;

	begin_local();
	CHECK_EQ(tx_read(&b, one, 8 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_own(&b, one, 9 * 64, 8), RMC_S_OK);
	CHECK_EQ(l->mask, 0);
	CHECK_EQ(tx_intend(&b, one, RMC_TX_HERE, 10 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, own, 0, 20 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_read(&b, two, 8 * 64, 64), RMC_S_OK);
	CHECK_EQ(tx_intend(&b, two, 0, 30 * 64, 64), RMC_S_OK);
	CHECK_EQ(l->mask, 7);
	CHECK_EQ(l->own, 2);
	CHECK(shown(l->rd, 8, 1) && shown(l->wr, 9, 1) && shown(l->wr, 10, 1));
	CHECK(!shown(l->wr, 8, 7) && !shown(l->rd, 10, 7) && !shown(l->wr, 20, 5));
	CHECK(shown(l->wr, 20, 2) && shown(l->wr, 30, 4));
	/* a buffer is used again, others are as they were */
	CHECK_EQ(tx_abort(&b, own), RMC_S_OK);
	CHECK_EQ(l->mask, 5);
	CHECK_EQ(l->own, 0);
	CHECK(!shown(l->wr, 20, 2) && shown(l->wr, 30, 4) && shown(l->wr, 10, 1));
	one.slot = 1;
	CHECK_EQ(tx_intend(&b, one, 0, 40 * 64, 64), RMC_S_OK);
	CHECK_EQ(l->mask, 7);
	CHECK_EQ(l->own, 0);
	CHECK(shown(l->wr, 40, 2));
	rmc_tx_part_epoch(b.p, 1);
	CHECK_EQ(l->mask, 4);
	CHECK(shown(l->rd, 8, 4) && !shown(l->rd, 8, 1));
	bed_end(&b);
}

#ifdef RMC_TEST_HOOKS
static u64 locked_at_barrier, mask_at_barrier;
static bool shown_at_barrier;

/* The owner's CPU, at the participant's barrier */
static void at_barrier(void)
{
	locked_at_barrier = b.p->group[0].locked;
	mask_at_barrier = bed_shared.mask;
	shown_at_barrier = shown(bed_shared.wr, 9, 1);
	local_read(9, 5);
}
#endif

/* A lock is there before local filters are looked at: one of the two sees the other. */
static void test_barrier(void)
{
#ifdef RMC_TEST_HOOKS
	begin_local();
	rmc_at_barrier = at_barrier;
	locked_at_barrier = 0;
	CHECK_EQ(tx_intend(&b, tx(1, 3, 1), 0, 9 * 64, 64), RMC_S_OK);
	rmc_at_barrier = NULL;
	CHECK_EQ(locked_at_barrier, 1 << 3);
	CHECK_EQ(mask_at_barrier, 1);
	CHECK(shown_at_barrier);
	CHECK_EQ(local.squashed, 1 << 5);
	/* the other way round when it ends, with the lines stored before */
	CHECK_EQ(tx_data(&b, tx(1, 3, 1), 9 * 64, 64, 1), RMC_S_OK);
	rmc_at_barrier = at_barrier;
	CHECK_EQ(tx_commit(&b, tx(1, 3, 1)), RMC_S_OK);
	rmc_at_barrier = NULL;
	CHECK_EQ(mask_at_barrier, 0);
	CHECK(shown_at_barrier);
	CHECK(!shown(bed_shared.wr, 9, 1));
	bed_end(&b);
#endif
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx part: local filters", test_local },
		{ "tx part: marks of local transactions", test_marks },
		{ "tx part: locks in advance", test_lock },
		{ "tx part: locks in advance, limits", test_lock_limits },
		{ "tx part: Locking Buffers, as the owner sees them", test_shared },
		{ "tx part: a lock before a look at local filters", test_barrier },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
