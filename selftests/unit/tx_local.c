// SPDX-License-Identifier: GPL-2.0
/*
 * Local accesses of transactions, lib/tx/local.h, beside the RMC's participant: tables, each
 * conflict, and each step that may be repeated. Random executions: tx_local_random.c; with real
 * threads: stress/tx_local_stress.c.
 */
#include "../tap.h"
#include "tx_own.h"

#define REMOTE		3
#define AT(line)	((u64)(line) * RMC_LINE)

static struct own_node node;
static struct tx_bits bits, others_bits;
static struct tx_local a, b;
static u64 word;

static void begin(void)
{
	own_begin(&node);
	memset(&bits, 0, sizeof(bits));
	memset(&others_bits, 0, sizeof(others_bits));
	CHECK_EQ(rmc_tx_local_init(&a, &node.range, 64), 0);
	CHECK_EQ(rmc_tx_local_init(&b, &node.range, 64), 0);
	rmc_tx_local_begin(&a, 5, &bits);
	rmc_tx_local_begin(&b, 6, &bits);
}

static void end(void)
{
	rmc_tx_local_end(&a);
	rmc_tx_local_end(&b);
	rmc_tx_local_free(&a);
	rmc_tx_local_free(&b);
	CHECK(own_end(&node));
}

/* An access of eight bytes */
static int get(struct tx_local *t, u64 line)
{
	return tx_local_read(t, AT(line), &word, 8);
}

static int put(struct tx_local *t, u64 line, u64 value)
{
	return rmc_tx_local_write(t, AT(line), &value, 8);
}

static u64 in_memory(u64 line)
{
	return *(u64 *)(node.memory + AT(line));
}

/* Another node's transaction writes a line: INTEND, or all of it */
static u8 remote_intend(struct own_commit *c, u64 line)
{
	c->range[0] = (struct rmc_tx_range) { AT(line), RMC_LINE };
	c->count = 1;
	return own_intend(&node, c, REMOTE, 0);
}

static void remote_close(struct own_commit *c, u64 line, u64 value)
{
	u64 data[8] = { value, value, value, value, value, value, value, value };

	CHECK_EQ(own_data(&node, c, AT(line), (u8 *)data, RMC_LINE), RMC_S_OK);
	CHECK_EQ(own_close(&node, c), RMC_S_OK);
}

static void remote_write(u64 line, u64 value)
{
	struct own_commit c;

	CHECK_EQ(remote_intend(&c, line), RMC_S_OK);
	remote_close(&c, line, value);
}

/* ---- tables ---- */

static void test_hash(void)
{
	u64 line = 1, i;
	struct tx_hash h;
	struct rmc_tx_hash k;

	for (i = 0; i < 1000; i++, line = (line * 6364136223846793005ULL + 1) >> 30) {
		CHECK_EQ(tx_crc(line), rmc_tx_crc(line));
		CHECK_EQ(rmc_tx_crc_table(line), rmc_tx_crc(line));
		h = tx_hash(line);
		k = rmc_tx_hash(rmc_tx_crc(line));
		CHECK_EQ(h.rd[0], k.a);
		CHECK_EQ(h.rd[1], k.b);
		k = rmc_tx_split_hash(line, rmc_tx_crc(line));
		CHECK_EQ(h.wr1, k.a);
		CHECK_EQ(h.wr2, k.b);
	}
}

static void test_tags(void)
{
	static struct tx_tags d;
	u64 sets[TX_TAG_WORDS] = { 0 }, line[TX_TAG_WAYS + 1], i;

	memset(&d, 0, sizeof(d));
	for (i = 0; i < TX_TAG_WAYS; i++)
		CHECK_EQ(rmc_tx_tags_claim(&d, i * TX_TAG_SETS + 70, i & 1), TX_CLAIMED);
	CHECK_EQ(rmc_tx_tags_claim(&d, i * TX_TAG_SETS + 70, 1), TX_NO_WAY);
	CHECK_EQ(rmc_tx_tags_claim(&d, 70, 0), TX_CLAIMED);
	CHECK_EQ(rmc_tx_tags_claim(&d, 70, 1), TX_CLAIMED_BY_OTHER);
	CHECK_EQ(rmc_tx_tags_foreign(&d, 70, 1), 1);
	CHECK_EQ(rmc_tx_tags_foreign(&d, 70, 0), 0);
	CHECK_EQ(rmc_tx_tags_foreign(&d, 71, 0), 0);
	CHECK_EQ(rmc_tx_tags_claim(&d, 0, 63), TX_CLAIMED);
	CHECK_EQ(rmc_tx_tags_foreign(&d, 0, 0), 1);
	sets[70 / 64] = 1ULL << 70 % 64;
	CHECK_EQ(rmc_tx_tags_find(&d, sets, 1, line, ARRAY_SIZE(line)), TX_TAG_WAYS / 2);
	CHECK_EQ(line[0], TX_TAG_SETS + 70);
	CHECK_EQ(line[7], 15 * TX_TAG_SETS + 70);
	CHECK_EQ(rmc_tx_tags_find(&d, sets, 63, line, ARRAY_SIZE(line)), 0);
	sets[0] = 1;
	CHECK_EQ(rmc_tx_tags_find(&d, sets, 63, line, 0), 1);
	/* others' tags stay */
	rmc_tx_tags_release(&d, 70, 1);
	CHECK_EQ(rmc_tx_tags_claim(&d, i * TX_TAG_SETS + 70, 1), TX_NO_WAY);
	rmc_tx_tags_release(&d, 70, 0);
	CHECK_EQ(rmc_tx_tags_claim(&d, i * TX_TAG_SETS + 70, 1), TX_CLAIMED);
}

static void test_redo(void)
{
	/* 13's end, 14, 15's begin; 3's end, 10; 20's end, 21's middle; nothing of 30 */
	static const u64 line[] = { 20, 14, 21, 3, 10, 13, 15, 30 };
	static const u64 dirty[] = { 0xff00000000000000, U64_MAX, 0x0ff0, 0xff00000000000000,
				     0xf, ~0xfULL, 0xf, 0 };
	struct tx_redo_run run = { 0 };
	struct tx_redo_line *l;
	u8 data[4 * RMC_LINE];
	struct tx_redo r;
	u64 i;

	CHECK_EQ(rmc_tx_redo_init(&r, 10), 0);
	for (i = 0; i < ARRAY_SIZE(line); i++) {
		l = rmc_tx_redo_add(&r, line[i]);
		memset(l->data, (int)line[i], RMC_LINE);
		l->dirty = dirty[i];
		CHECK(tx_redo_find(&r, line[i]) == l);
	}
	CHECK(!tx_redo_find(&r, 22));
	rmc_tx_redo_sort(&r);
	CHECK(rmc_tx_redo_next(&r, &run));
	CHECK_EQ(run.offset, AT(3) + 56);
	CHECK_EQ(run.length, 8);
	CHECK(rmc_tx_redo_next(&r, &run));
	CHECK_EQ(run.offset, AT(10));
	CHECK_EQ(run.length, 4);
	CHECK(rmc_tx_redo_next(&r, &run));
	CHECK_EQ(run.offset, AT(13) + 4);
	CHECK_EQ(run.length, 60 + 64 + 4);
	rmc_tx_redo_copy(&r, &run, data);
	CHECK(data[0] == 13 && data[59] == 13 && data[60] == 14 && data[123] == 14);
	CHECK(data[124] == 15 && data[127] == 15);
	CHECK(rmc_tx_redo_next(&r, &run));
	CHECK_EQ(run.offset, AT(20) + 56);
	CHECK_EQ(run.length, 8);
	CHECK(rmc_tx_redo_next(&r, &run));
	CHECK_EQ(run.offset, AT(21) + 4);
	CHECK_EQ(run.length, 8);
	CHECK(!rmc_tx_redo_next(&r, &run));
	CHECK(rmc_tx_redo_add(&r, 40) && rmc_tx_redo_add(&r, 41) && !rmc_tx_redo_add(&r, 42));
	rmc_tx_redo_clear(&r);
	for (i = 0; i <= r.mask; i++)
		CHECK_EQ(r.index[i], 0);
	rmc_tx_redo_free(&r);
}

static void test_slots(void)
{
	struct tx_range range = { .free_slots = 1ULL << 3 | 1ULL << 63 };

	CHECK_EQ(rmc_tx_slot_take(&range), 3);
	CHECK_EQ(rmc_tx_slot_take(&range), 63);
	CHECK_EQ(rmc_tx_slot_take(&range), -1);
	rmc_tx_slot_put(&range, 63);
	CHECK_EQ(rmc_tx_slot_take(&range), 63);
}

/* ---- what a transaction sees, and others of it ---- */

static void test_own_writes(void)
{
	u8 data[3 * RMC_LINE];
	struct own_commit c;
	u64 seen = 0, found[4];

	begin();
	memset(node.memory + AT(10), 1, 4 * RMC_LINE);
	memset(data, 2, sizeof(data));
	/* the end of line 10, all of 11, the begin of 12 */
	CHECK_EQ(rmc_tx_local_write(&a, AT(10) + 60, data, 4 + 64 + 8), 0);
	CHECK_EQ(rmc_tx_local_read(&a, AT(10) + 56, data, 8 + 64 + 16), 0);
	CHECK(data[3] == 1 && data[4] == 2 && data[7] == 2);
	CHECK(data[8] == 2 && data[71] == 2 && data[79] == 2 && data[80] == 1);
	/* nobody else sees it, not even the RMC */
	CHECK_EQ(node.memory[AT(11)], 1);
	CHECK_EQ(own_access(&node, REMOTE, 0, RMC_TX_READ, AT(11), &seen, 8), RMC_S_OK);
	CHECK_EQ(seen, 0x0101010101010101);
	CHECK_EQ(rmc_tx_local_find(&a, found, 4), 3);
	CHECK_EQ(own_intend_local(&node, &c, &a), RMC_S_OK);
	CHECK_EQ(c.count, 1);
	CHECK_EQ(c.range[0].offset, AT(10) + 60);
	CHECK_EQ(c.range[0].length, 4 + 64 + 8);
	CHECK_EQ(node.memory[AT(11)], 1);
	own_close_local(&node, &c, &a);
	CHECK_EQ(a.sets[0], 0);
	CHECK(node.memory[AT(10) + 59] == 1 && node.memory[AT(10) + 60] == 2);
	CHECK(node.memory[AT(12) + 7] == 2 && node.memory[AT(12) + 8] == 1);
	/* the reader was there first, and has not committed: it is squashed */
	CHECK_EQ(own_access(&node, REMOTE, 0, RMC_TX_READ, AT(40), &seen, 8), RMC_S_TX_SQUASHED);
	own_abort(&node, REMOTE, 0);
	end();
}

/* A read of several lines asks for each of them */
static void test_several_lines(void)
{
	u8 data[4 * RMC_LINE];

	begin();
	CHECK_EQ(tx_local_read(&a, AT(9) + 8, data, 8), 0);
	CHECK_EQ(a.reads, 1);
	CHECK_EQ(tx_local_read(&a, AT(9) + 60, data, 8), 0);
	CHECK_EQ(a.reads, 2);
	CHECK_EQ(tx_local_read(&a, AT(8) + 60, data, 4 + 2 * 64 + 1), 0);
	CHECK_EQ(a.reads, 4);
	CHECK_EQ(put(&b, 11, 1), TX_LOCAL_USED);
	own_abort_local(&node, &b);
	end();
}

/* Two lines of one entry of the filter bits: forgotten, asked again, and not lost */
static void test_forgotten_bits(void)
{
	u64 k;

	begin();
	for (k = 0; k < 3; k++) {
		CHECK_EQ(put(&a, 9, 100 + k), 0);
		CHECK_EQ(get(&a, 9 + TX_BITS_LINES), 0);
		CHECK_EQ(word, 0);
		CHECK_EQ(get(&a, 9), 0);
		CHECK_EQ(word, 100 + k);
	}
	CHECK_EQ(a.writes, 1);
	CHECK_EQ(a.redo.n, 1);
	end();
}

static void test_aborted(void)
{
	begin();
	CHECK_EQ(put(&a, 9, 1), 0);
	CHECK_EQ(get(&a, 10), 0);
	own_abort_local(&node, &a);
	CHECK_EQ(in_memory(9), 0);
	CHECK_EQ(put(&b, 9, 2), 0);
	CHECK_EQ(put(&b, 10, 2), 0);
	CHECK(own_commit_local(&node, &b));
	CHECK_EQ(in_memory(9), 2);
	end();
}

/* ---- with others of this process ---- */

static void test_reads_written(void)
{
	begin();
	CHECK_EQ(put(&a, 9, 1), 0);
	CHECK_EQ(get(&b, 10), 0);
	CHECK_EQ(get(&b, 9), TX_LOCAL_WRITTEN);
	/* from now on it is over, whatever it does */
	CHECK_EQ(get(&b, 10), TX_LOCAL_WRITTEN);
	CHECK_EQ(put(&b, 11, 1), TX_LOCAL_WRITTEN);
	CHECK_EQ(rmc_tx_local_check(&b), TX_LOCAL_WRITTEN);
	CHECK(!own_commit_local(&node, &b));
	CHECK(own_commit_local(&node, &a));
	rmc_tx_local_begin(&b, 6, &bits);
	CHECK_EQ(get(&b, 9), 0);
	CHECK_EQ(word, 1);
	end();
}

static void test_writes_read(void)
{
	begin();
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(get(&b, 9), 0);
	CHECK_EQ(put(&b, 9, 1), TX_LOCAL_USED);
	own_abort_local(&node, &b);
	/* the first one may, as the other is gone */
	CHECK_EQ(put(&a, 9, 2), 0);
	CHECK(own_commit_local(&node, &a));
	CHECK_EQ(in_memory(9), 2);
	end();
}

static void test_writes_written(void)
{
	begin();
	CHECK_EQ(put(&a, 9, 1), 0);
	CHECK_EQ(put(&b, 9, 2), TX_LOCAL_WRITTEN);
	own_abort_local(&node, &b);
	CHECK(own_commit_local(&node, &a));
	CHECK_EQ(in_memory(9), 1);
	end();
}

/* A line that is in another's filters but was not written by it: no conflict, and no tag */
static void test_false_positive(void)
{
	struct tx_hash h = tx_hash(9);

	begin();
	node.local.wr1[h.wr1] |= b.bit;
	node.local.wr2[h.wr2] |= b.bit;
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(put(&a, 9, 1), 0);
	node.local.wr1[h.wr1] &= ~b.bit;
	node.local.wr2[h.wr2] &= ~b.bit;
	/* one of two bits is no reader */
	node.local.rd[tx_hash(20).rd[0]] |= b.bit;
	CHECK_EQ(put(&a, 20, 1), 0);
	node.local.rd[tx_hash(20).rd[0]] &= ~b.bit;
	end();
}

/* The other one claims the line between two steps: each may see the other only there */
static void test_claimed_at_once(void)
{
	struct tx_hash h = tx_hash(9);

	begin();
	/* both have found a way free: the second way is a's */
	CHECK_EQ(rmc_tx_tags_claim(node.tags, 9, a.slot), TX_CLAIMED);
	node.tags->tag[9][1] = 9 << 8 | (b.slot + 1);
	node.local.wr1[h.wr1] |= b.bit;
	node.local.wr2[h.wr2] |= b.bit;
	CHECK_EQ(put(&a, 9, 1), TX_LOCAL_WRITTEN);
	rmc_tx_local_end(&a);
	CHECK_EQ(node.tags->tag[9][0], 0);
	CHECK_EQ(node.tags->tag[9][1], 9 << 8 | (b.slot + 1));
	node.tags->tag[9][1] = 0;
	node.local.wr1[h.wr1] = 0;
	node.local.wr2[h.wr2] = 0;
	end();
}

static void test_eviction(void)
{
	u64 i, found[TX_TAG_WAYS];

	begin();
	for (i = 0; i < TX_TAG_WAYS - 1; i++)
		CHECK_EQ(put(&a, i * TX_TAG_SETS / 2 + 9, 1), 0);
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &bits);
	/* lines of one set are further apart than the segment is long */
	for (i = 1; i <= TX_TAG_WAYS; i++)
		CHECK_EQ(rmc_tx_tags_claim(node.tags, i * TX_TAG_SETS + 9, 40), TX_CLAIMED);
	CHECK_EQ(put(&a, 9, 1), TX_LOCAL_EVICTED);
	CHECK_EQ(a.by_rmc, 1);
	CHECK_EQ(a.evicted, 1);
	CHECK_EQ(rmc_tx_local_find(&a, found, TX_TAG_WAYS), 0);
	own_abort_local(&node, &a);
	for (i = 1; i <= TX_TAG_WAYS; i++)
		rmc_tx_tags_release(node.tags, i * TX_TAG_SETS + 9, 40);
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(a.by_rmc, 0);
	CHECK_EQ(put(&a, 9, 1), 0);
	end();
}

static void test_full(void)
{
	struct tx_local t;
	u64 i;

	begin();
	CHECK_EQ(rmc_tx_local_init(&t, &node.range, 3), 0);
	rmc_tx_local_begin(&t, 9, &bits);
	for (i = 0; i < 3; i++)
		CHECK_EQ(put(&t, 5 * i, 1), 0);
	CHECK_EQ(put(&t, 5, 2), 0);
	CHECK_EQ(put(&t, 20, 1), TX_LOCAL_FULL);
	own_abort_local(&node, &t);
	rmc_tx_local_free(&t);
	end();
}

/* ---- with transactions of other nodes ---- */

static void test_locked(void)
{
	struct own_commit c;

	begin();
	CHECK_EQ(own_access(&node, REMOTE, 0, RMC_TX_READ, AT(30), &word, 8), RMC_S_OK);
	CHECK_EQ(remote_intend(&c, 9), RMC_S_OK);
	/* what it writes is neither read nor written, what it reads may be read */
	CHECK_EQ(get(&a, 9), TX_LOCAL_LOCKED);
	CHECK_EQ(get(&a, 30), 0);
	CHECK_EQ(get(&a, 9), TX_LOCAL_LOCKED);
	CHECK_EQ(rmc_tx_local_check(&a), 0);
	remote_close(&c, 9, 77);
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(word, 77);
	CHECK(own_commit_local(&node, &a));
	CHECK_EQ(own_access(&node, REMOTE, 0, RMC_TX_READ, AT(30), &word, 8), RMC_S_OK);
	CHECK_EQ(remote_intend(&c, 9), RMC_S_OK);
	CHECK_EQ(put(&b, 9, 3), TX_LOCAL_LOCKED);
	CHECK_EQ(put(&b, 30, 3), TX_LOCAL_LOCKED);
	CHECK_EQ(b.redo.line[0].ready, 0);
	remote_close(&c, 9, 78);
	/* it has claimed the lines, and goes on */
	CHECK_EQ(put(&b, 30, 4), 0);
	CHECK_EQ(put(&b, 9, 4), 0);
	CHECK_EQ(b.writes, 2);
	CHECK(own_commit_local(&node, &b));
	end();
}

/* A transaction that waits for a lock, and is squashed meanwhile by what it has read before */
static void test_squashed_while_locked(void)
{
	struct own_commit c;

	begin();
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(remote_intend(&c, 9), RMC_S_OK);
	/* it has forgotten that it has read the line */
	bits.entry[9] = 0;
	CHECK_EQ(get(&a, 9), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(put(&b, 9, 1), TX_LOCAL_LOCKED);
	remote_close(&c, 9, 1);
	CHECK_EQ(put(&b, 9, 1), 0);
	CHECK_EQ(remote_intend(&c, 9), RMC_S_OK);
	CHECK_EQ(get(&b, 10), TX_LOCAL_SQUASHED);
	remote_close(&c, 9, 1);
	own_abort_local(&node, &b);
	rmc_tx_local_begin(&b, 6, &bits);
	/* the same for one that writes */
	CHECK_EQ(get(&b, 9), 0);
	CHECK_EQ(remote_intend(&c, 9), RMC_S_OK);
	CHECK_EQ(put(&b, 9, 1), TX_LOCAL_SQUASHED);
	remote_close(&c, 9, 1);
	end();
}

/* A filtered read, of a line that the RMC has stored to since */
static void test_no_late_value(void)
{
	u8 data[2 * RMC_LINE];

	begin();
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(get(&a, 10), 0);
	remote_write(9, 1);
	CHECK_EQ(get(&a, 10), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	/* with several lines, one of which is new */
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(word, 1);
	CHECK_EQ(rmc_tx_local_read(&a, AT(10), data, sizeof(data)), 0);
	remote_write(9, 2);
	CHECK_EQ(rmc_tx_local_read(&a, AT(10), data, sizeof(data)), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(get(&a, 9), 0);
	remote_write(9, 2);
	CHECK_EQ(rmc_tx_local_read(&a, AT(9), data, sizeof(data)), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	/* one that has only written it */
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(put(&a, 9, 5), 0);
	remote_write(9, 3);
	CHECK_EQ(put(&a, 9, 6), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	CHECK_EQ(in_memory(9), 3);
	end();
}

/* The RMC's own mark counts, not the word in the process's memory */
static void test_mark_counts(void)
{
	begin();
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(put(&a, 10, 1), 0);
	remote_write(9, 1);
	node.local.squashed = 0;
	CHECK(!own_commit_local(&node, &a));
	CHECK_EQ(in_memory(10), 0);
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(put(&a, 10, 2), 0);
	CHECK(own_commit_local(&node, &a));
	end();
}

/* One that begins after another of its slot was squashed is told when it is, too */
static void test_marked_again(void)
{
	begin();
	CHECK_EQ(get(&a, 9), 0);
	remote_write(9, 1);
	CHECK_EQ(get(&a, 9), TX_LOCAL_SQUASHED);
	/* the RMC has never heard of it, and is not told */
	rmc_tx_local_end(&a);
	rmc_tx_local_begin(&a, 5, &bits);
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(get(&a, 10), 0);
	remote_write(10, 1);
	CHECK_EQ(get(&a, 9), TX_LOCAL_SQUASHED);
	own_abort_local(&node, &a);
	end();
}

/* While a local transaction commits, what it has read and written stays */
static void test_committing(void)
{
	struct own_commit c, r;

	begin();
	CHECK_EQ(get(&a, 9), 0);
	CHECK_EQ(put(&a, 10, 1), 0);
	CHECK_EQ(own_intend_local(&node, &c, &a), RMC_S_OK);
	CHECK_EQ(remote_intend(&r, 9), RMC_S_TX_LOCKED);
	own_abort(&node, REMOTE, 0);
	CHECK_EQ(remote_intend(&r, 10), RMC_S_TX_LOCKED);
	own_abort(&node, REMOTE, 0);
	CHECK(get(&b, 10) != 0);
	own_close_local(&node, &c, &a);
	CHECK_EQ(in_memory(10), 1);
	end();
}

/* ---- filter bits ---- */

/* A reader that was not asked for again would not be squashed by a write to the line */
static void check_asked(struct tx_local *t)
{
	u64 before = t->reads;

	CHECK_EQ(get(t, 9), 0);
	CHECK_EQ(t->reads, before + 1);
	CHECK_EQ(get(t, 9), 0);
	CHECK_EQ(t->reads, before + 1);
}

static void test_bits_of_transactions(void)
{
	begin();
	check_asked(&a);
	/* of another one on this thread; of the next one in the slot */
	check_asked(&b);
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &bits);
	check_asked(&a);
	end();
}

static void test_bits_and_switches(void)
{
	begin();
	check_asked(&a);
	/* it ends on another thread, and the next one there comes here */
	rmc_tx_local_resume(&a, &others_bits);
	check_asked(&a);
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &others_bits);
	CHECK_EQ(get(&a, 8), 0);
	rmc_tx_local_resume(&a, &bits);
	check_asked(&a);
	/* tags and filters stay */
	CHECK_EQ(put(&a, 11, 1), 0);
	rmc_tx_local_resume(&a, &others_bits);
	CHECK_EQ(get(&b, 11), TX_LOCAL_WRITTEN);
	CHECK_EQ(get(&a, 11), 0);
	CHECK_EQ(word, 1);
	/* one that is squashed stays so */
	rmc_tx_local_resume(&b, &others_bits);
	CHECK_EQ(get(&b, 12), TX_LOCAL_WRITTEN);
	end();
}

static void test_bits_wrap(void)
{
	begin();
	bits.use[5] = (1U << TX_BITS_USES) - 2;
	own_abort_local(&node, &a);
	rmc_tx_local_begin(&a, 5, &bits);
	check_asked(&a);
	own_abort_local(&node, &a);
	/* numbers begin again, with none of the old entries */
	bits.entry[9] = 9ULL << 30 | 5 << 24 | 1 << 2 | TX_BITS_RD;
	rmc_tx_local_begin(&a, 5, &bits);
	check_asked(&a);
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx local: hashes are those of the RMC", test_hash },
		{ "tx local: tags, and lines of a transaction by its tags", test_tags },
		{ "tx local: the redo buffer", test_redo },
		{ "tx local: slots", test_slots },
		{ "tx local: own writes, which nobody else sees", test_own_writes },
		{ "tx local: reads of several lines", test_several_lines },
		{ "tx local: filter bits that are forgotten", test_forgotten_bits },
		{ "tx local: nothing is left of an abort", test_aborted },
		{ "tx local: reads what another one has written", test_reads_written },
		{ "tx local: writes what another one has read", test_writes_read },
		{ "tx local: writes what another one has written", test_writes_written },
		{ "tx local: false positives have no tag", test_false_positive },
		{ "tx local: two claim a line at once", test_claimed_at_once },
		{ "tx local: a set of tags that is full", test_eviction },
		{ "tx local: a redo buffer that is full", test_full },
		{ "tx local: lines that others commit", test_locked },
		{ "tx local: squashed before it has to wait", test_squashed_while_locked },
		{ "tx local: values that are too new", test_no_late_value },
		{ "tx local: the RMC's mark counts", test_mark_counts },
		{ "tx local: marked again", test_marked_again },
		{ "tx local: while it commits", test_committing },
		{ "tx local: filter bits are a transaction's", test_bits_of_transactions },
		{ "tx local: filter bits go at a switch", test_bits_and_switches },
		{ "tx local: numbers of filter bits wrap", test_bits_wrap },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
