// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions of applications, by entries of their queue pairs: what they read and commit, entries
 * that are not valid, slots of others, and queue pairs that are deleted at any time.
 */
#include "tx_apps.h"

u32 rmc_no_user_memory;

static void fill(u8 *p, size_t n, u32 seed)
{
	while (n--) {
		seed = seed * 1664525 + 1013904223;
		*p++ = seed >> 24;
	}
}

/* Each application reads and writes at all nodes, in one transaction. */
static void test_simple(const struct testbed_opts *o)
{
	struct tx_app p[3];
	struct tx_apps t;
	u32 i, j, slot;
	u64 value;

	apps_make(&t, o, 3, false, &slots_opts);
	for (i = 0; i < 3; i++)
		tx_app_init(&p[i], &t, i, 2);
	for (i = 0; i < 3; i++) {
		u32 at = TX_START + 64 * i + 8;

		slot = tx_app_slot(&p[i], i & 1);
		tx_app_begin(&p[i], 3);
		for (j = 0; j < 3; j++) {
			memcpy(t.b.n[j].seg + at + 8, &(u64){ 7 + j }, 8);
			CHECK_EQ(tx_app_read(&p[i], slot, j, at, 16), RMC_S_OK);
			CHECK_EQ(tx_app_word(&p[i], at), 0);
			CHECK_EQ(tx_app_word(&p[i], at + 8), 7 + j);
			value = 100 * i + j + 1;
			tx_app_item(&p[i], j, j, at, &value, 8);
			CHECK_EQ(word_at(&t.b, j, at), 0);
		}
		CHECK_EQ(tx_app_commit(&p[i], slot), RMC_S_OK);
		/* one's own part is there already */
		CHECK_EQ(word_at(&t.b, i, at), 100 * i + i + 1);
	}
	CHECK(apps_idle(&t, false));
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++) {
			CHECK_EQ(word_at(&t.b, j, TX_START + 64 * i + 8), 100 * i + j + 1);
			CHECK_EQ(word_at(&t.b, j, TX_START + 64 * i), 0);
			CHECK_EQ(word_at(&t.b, j, TX_START + 64 * i + 16), 7 + j);
		}
	for (i = 0; i < 3; i++) {
		CHECK_EQ(testbed_stat(&t.b.w, i, tx_commits), 1);
		CHECK_EQ(testbed_stat(&t.b.w, i, tx_aborts), 0);
		CHECK_EQ(p[i].posted, 0);
		tx_app_fini(&p[i]);
	}
	apps_free(&t);
}

/* Beside a model of the segment */
static void test_lengths(const struct testbed_opts *o)
{
	static const u32 lens[] = { 1, 7, 63, 64, 65, 200, 4081, 9000, 65536 };
	static u8 model[TX_SEG], data[TX_SEG];
	u32 i, slot, len, at;
	struct tx_app p;
	struct tx_apps t;

	apps_make(&t, o, 2, false, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	memset(model, 0, sizeof(model));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i];
		/* as many lines as there may be */
		at = len == RMC_TX_MAX_BYTES ? TX_START : TX_START + 37 * i;
		fill(data, len, i);
		tx_app_begin(&p, 1);
		tx_app_item(&p, 0, 1, at, data, len);
		memcpy(model + at, data, len);
		CHECK_EQ(tx_app_commit(&p, slot), RMC_S_OK);
		CHECK(apps_idle(&t, false));
		CHECK(!memcmp(model, t.b.n[1].seg, TX_SEG));
		memset(p.buf, 0x5a, APP_RECORD);
		CHECK_EQ(tx_app_wait(&p, tx_app_get(&p, i & 1 ? RMC_OP_TX_OWN : RMC_OP_TX_READ, slot, 1, at,
						    len)), RMC_S_OK);
		CHECK(!memcmp(model + at, p.buf + at, len));
		CHECK(p.buf[at - 1] == 0x5a && p.buf[at + len] == 0x5a);
		tx_app_begin(&p, 0);
		CHECK_EQ(tx_app_commit(&p, slot), RMC_S_OK);
		CHECK(apps_idle(&t, false));
	}
	/* as many ranges as there can be, of both nodes in turn */
	tx_app_begin(&p, RMC_TX_MAX_RANGES);
	for (i = 0; i < RMC_TX_MAX_RANGES; i++) {
		fill(data, 7, i);
		at = TX_START + 32 * (i * 37 % RMC_TX_MAX_RANGES) + 5;
		tx_app_item(&p, i, 1, at, data, 7);
		memcpy(model + at, data, 7);
	}
	CHECK_EQ(tx_app_commit(&p, slot), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK(!memcmp(model, t.b.n[1].seg, TX_SEG));
	tx_app_fini(&p);
	apps_free(&t);
}

/* Who commits first squashes who has read or will write the same line. */
static void test_conflicts(const struct testbed_opts *o)
{
	u32 s0, s1, how, at = TX_START;
	struct tx_app p, q;
	struct tx_apps t;

	apps_make(&t, o, 3, false, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	tx_app_init(&q, &t, 1, 1);
	s0 = tx_app_slot(&p, 0);
	s1 = tx_app_slot(&q, 0);
	for (how = 0; how < 2; how++, at += 4096) {
		CHECK_EQ(tx_app_wait(&p, tx_app_get(&p, how ? RMC_OP_TX_OWN : RMC_OP_TX_READ, s0, 2, at, 8)),
			 RMC_S_OK);
		CHECK_EQ(tx_app_put(&q, s1, 2, at + 8, 2), RMC_S_OK);
		CHECK_EQ(tx_app_put(&p, s0, 0, at, 1), RMC_S_TX_SQUASHED);
		CHECK(apps_idle(&t, false));
		CHECK_EQ(word_at(&t.b, 0, at), 0);
		CHECK_EQ(word_at(&t.b, 2, at + 8), 2);
		CHECK_EQ(testbed_stat(&t.b.w, 0, tx_squashed), how + 1);
	}
	/* a squash that an access notices: over only when the application says so */
	CHECK_EQ(tx_app_read(&p, s0, 2, at, 8), RMC_S_OK);
	CHECK_EQ(tx_app_put(&q, s1, 2, at, 3), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(tx_app_read(&p, s0, 2, at, 8), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_app_read(&p, s0, 2, at + 4096, 8), RMC_S_TX_SQUASHED);
	CHECK_EQ(tx_app_put(&p, s0, 0, at, 1), RMC_S_TX_SQUASHED);
	/* both read, none writes: both commit */
	CHECK_EQ(tx_app_read(&p, s0, 2, at, 8), RMC_S_OK);
	CHECK_EQ(tx_app_read(&q, s1, 2, at, 8), RMC_S_OK);
	tx_app_begin(&p, 0);
	tx_app_begin(&q, 0);
	CHECK_EQ(tx_app_commit(&p, s0), RMC_S_OK);
	CHECK_EQ(tx_app_commit(&q, s1), RMC_S_OK);
	/* aborted: nobody is squashed by it, and nothing is left of it */
	CHECK_EQ(tx_app_read(&p, s0, 2, at, 8), RMC_S_OK);
	CHECK_EQ(tx_app_abort(&p, s0), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK(bed_clean(&t.b));
	CHECK_EQ(testbed_stat(&t.b.w, 0, tx_aborts), 1);
	/* nothing has begun: nothing ends */
	CHECK_EQ(tx_app_abort(&p, s0), RMC_S_OK);
	tx_app_begin(&p, 0);
	CHECK_EQ(tx_app_commit(&p, s0), RMC_S_OK);
	CHECK_EQ(testbed_stat(&t.b.w, 0, tx_aborts), 1);
	tx_app_fini(&p);
	tx_app_fini(&q);
	apps_free(&t);
}

/* An entry that names what it may not, before and while a transaction is open */
static void test_entries(const struct testbed_opts *o)
{
	struct tx_app p, other, none;
	struct tx_apps t;
	u32 mine, round;
	u64 free;

	apps_make(&t, o, 2, false, &slots_opts);
	t.b.w.apps = 0;
	tx_app_init(&p, &t, 0, 2);
	t.b.w.apps = 0;
	tx_app_init(&other, &t, 0, 2);
	t.b.w.apps = 0;
	tx_app_init(&none, &t, 0, 0);
	CHECK(!(p.mask & other.mask) && p.s == other.s);
	mine = tx_app_slot(&p, 1);
	free = p.s->free;
	tx_app_begin(&none, 0);
	CHECK_EQ(tx_app_read(&none, 0, 1, TX_START, 8), RMC_S_BAD_OP);
	CHECK_EQ(tx_app_commit(&none, 0), RMC_S_BAD_OP);
	CHECK_EQ(tx_app_abort(&none, 0), RMC_S_BAD_OP);
	tx_app_begin(&p, 0);
	for (round = 0; round < 2; round++) {
		u32 theirs = tx_app_slot(&other, round);

		CHECK_EQ(tx_app_read(&p, theirs, 1, TX_START, 8), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_read(&p, 63, 1, TX_START, 8), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_commit(&p, theirs), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_commit(&p, 64), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_commit(&p, 1023), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_abort(&p, theirs), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_abort(&p, 64), RMC_S_BAD_SLOT);
		CHECK_EQ(tx_app_read(&p, mine, 1, TX_START, 0), RMC_S_BAD_LENGTH);
		CHECK_EQ(tx_app_read(&p, mine, 1, TX_START, RMC_TX_MAX_ACCESS + 1), RMC_S_BAD_LENGTH);
		CHECK_EQ(tx_app_read(&p, mine, 2, TX_START, 8), RMC_S_BAD_NODE);
		CHECK_EQ(tx_app_read(&p, mine, 1023, TX_START, 8), RMC_S_BAD_NODE);
		if (!round) {
			CHECK_EQ(p.s->user[mine].open, false);
			CHECK_EQ(tx_app_read(&p, mine, 1, TX_START, 8), RMC_S_OK);
		}
	}
	CHECK_EQ(tx_app_wait(&p, tx_app_post(&p, RMC_OP_TX_LOCK, mine, 0, p.buf, 64)), RMC_S_BAD_OP);
	CHECK_EQ(tx_app_wait(&p, tx_app_post(&p, RMC_OP_TX_ABORT, mine, 0, p.buf, 64)),
		 RMC_S_BAD_LENGTH);
	CHECK_EQ(tx_app_wait(&p, tx_app_post(&p, RMC_OP_TX_READ, 1, TX_START, p.buf + APP_BUF - 4,
					     rmc_tx_length(mine, 8))), RMC_S_BAD_LBUF);
	CHECK_EQ(tx_app_wait(&p, tx_app_post(&p, RMC_OP_TX_READ, 1, RMC_OFFSET_MAX, p.buf,
					     rmc_tx_length(mine, 8))), RMC_S_OUT_OF_RANGE);
	/* beside the range, and beyond the segment: refused by the home */
	CHECK_EQ(tx_app_read(&p, mine, 1, TX_START - 4, 8), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(tx_app_wait(&p, tx_app_post(&p, RMC_OP_TX_READ, 1, TX_SEG - 4, p.buf,
					     rmc_tx_length(mine, 8))), RMC_S_OUT_OF_RANGE);
	/* none of this has harmed the transaction */
	CHECK_EQ(tx_app_put(&p, mine, 1, TX_START, 5), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 5);
	CHECK_EQ(p.s->free, free);
	tx_app_fini(&p);
	tx_app_fini(&other);
	tx_app_fini(&none);
	apps_free(&t);
}

/* Records that are not valid: @how-th. Returns the status that the entry has to have; -1: no more. */
static int spoil(struct tx_app *p, u32 how)
{
	struct rmc_tx_commit *c = tx_app_record(p);
	struct rmc_tx_item *item = (struct rmc_tx_item *)(c + 1);
	static u8 data[RMC_TX_MAX_BYTES];

	tx_app_begin(p, 2);
	tx_app_item(p, 0, 1, TX_START, "12345678", 8);
	tx_app_item(p, 1, 0, TX_START + 64, "12345678", 8);
	switch (how) {
	case 0:
		c->flags = 4;
		return RMC_S_BAD_OP;
	case 1:
		c->reserved[6] = 1;
		return RMC_S_BAD_OP;
	case 2:
		item[1].flags = RMC_TX_ITEM_READ;
		return RMC_S_BAD_OP;
	case 3:
		c->count = RMC_TX_MAX_RANGES + 1;
		return RMC_S_BAD_LENGTH;
	case 4:
		c->count = U32_MAX;
		return RMC_S_BAD_LENGTH;
	case 5:
		c->count = 3;
		return RMC_S_BAD_LENGTH;
	case 6:
		c->count = 1;
		return RMC_S_BAD_LENGTH;
	case 7:
		p->at -= 1;
		return RMC_S_BAD_LENGTH;
	case 8:
		p->at += 8;
		return RMC_S_BAD_LENGTH;
	case 9:
		p->at = sizeof(*c) - 8;
		return RMC_S_BAD_LENGTH;
	case 10:
		item[1].length = 0;
		return RMC_S_BAD_LENGTH;
	case 11:
		item[1].length = U32_MAX;
		return RMC_S_BAD_LENGTH;
	case 12:
		item[1].nid = 2;
		return RMC_S_BAD_NODE;
	case 13:
		item[1].nid = 0xffff;
		return RMC_S_BAD_NODE;
	case 14:
		item[1].offset = RMC_OFFSET_MAX - 6;
		return RMC_S_OUT_OF_RANGE;
	case 15:
		item[1].offset = U64_MAX - 3;
		return RMC_S_OUT_OF_RANGE;
	case 16:
		item[1] = (struct rmc_tx_item){ .nid = 1, .offset = TX_START + 7, .length = 8 };
		return RMC_S_BAD_LENGTH;
	case 17:
		item[1] = item[0];
		return RMC_S_BAD_LENGTH;
	case 18:
		/* one byte more than there may be */
		tx_app_begin(p, 2);
		tx_app_item(p, 0, 1, TX_START, data, RMC_TX_MAX_BYTES);
		tx_app_item(p, 1, 0, TX_START, data, 1);
		return RMC_S_BAD_LENGTH;
	case 19:
		p->at = APP_BUF;
		return RMC_S_BAD_LENGTH;
	default:
		return -1;
	}
}

/* Each aborts the transaction: nothing of it is written. */
static void test_records(const struct testbed_opts *o)
{
	u32 how, open, slot, entry;
	struct tx_app p;
	struct tx_apps t;
	int wanted;

	apps_make(&t, o, 2, false, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	for (open = 0; open < 2; open++)
		for (how = 0; (wanted = spoil(&p, how)) >= 0; how++) {
			if (open)
				CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
			CHECK_EQ(tx_app_commit(&p, slot), wanted);
			CHECK_EQ(p.s->user[slot].open, false);
			CHECK(apps_idle(&t, false));
		}
	/* beyond the buffer, and in none */
	for (open = 0; open < 2; open++) {
		CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
		entry = tx_app_post(&p, RMC_OP_TX_COMMIT, slot, 0,
				    open ? p.buf + APP_BUF - 64 : p.buf - 64, 128);
		CHECK_EQ(tx_app_wait(&p, entry), RMC_S_BAD_LBUF);
		CHECK(apps_idle(&t, false));
	}
	CHECK(bed_clean(&t.b));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 0);
	CHECK_EQ(word_at(&t.b, 0, TX_START + 64), 0);
	CHECK_EQ(testbed_stat(&t.b.w, 0, tx_commits), 0);
	CHECK_EQ(tx_app_put(&p, slot, 1, TX_START, 5), RMC_S_OK);
	tx_app_fini(&p);
	apps_free(&t);
}

/* The record changes after it was copied: what was copied is written. */
static void test_record_changes(const struct testbed_opts *o)
{
	struct tx_app p;
	struct tx_apps t;
	u32 slot, entry, n;

	apps_make(&t, o, 2, true, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	tx_app_begin(&p, 1);
	tx_app_item(&p, 0, 1, TX_START, &(u64){ 5 }, 8);
	/* channels are open */
	bed_settle(&t.b, 100);
	t.b.w.frozen[1] = true;
	entry = tx_app_commit_post(&p, slot);
	for (n = 0; n < 1000 && !p.s->user[slot].waits; n++)
		bed_step(&t.b);
	CHECK(p.s->user[slot].waits);
	memset(p.buf + APP_RECORD, 0xff, 4096);
	t.b.w.frozen[1] = false;
	CHECK_EQ(tx_app_wait(&p, entry), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 5);
	tx_app_fini(&p);
	apps_free(&t);
}

/* Further entries of a slot whose end is awaited */
static void test_twice(const struct testbed_opts *o)
{
	u32 slot, first, i, entry[4];
	struct tx_app p;
	struct tx_apps t;

	apps_make(&t, o, 2, true, &slots_opts);
	tx_app_init(&p, &t, 0, 2);
	slot = tx_app_slot(&p, 0);
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
	t.b.w.frozen[1] = true;
	tx_app_begin(&p, 1);
	tx_app_item(&p, 0, 1, TX_START, &(u64){ 5 }, 8);
	first = tx_app_commit_post(&p, slot);
	entry[0] = tx_app_commit_post(&p, slot);
	entry[1] = tx_app_abort_post(&p, slot);
	entry[2] = tx_app_get(&p, RMC_OP_TX_READ, slot, 1, TX_START, 8);
	entry[3] = tx_app_get(&p, RMC_OP_TX_OWN, slot, 0, TX_START, 8);
	for (i = 0; i < 4; i++)
		CHECK_EQ(tx_app_wait(&p, entry[i]), RMC_S_BUSY);
	/* another slot goes on meanwhile */
	CHECK_EQ(tx_app_put(&p, tx_app_slot(&p, 1), 0, TX_START, 6), RMC_S_OK);
	CHECK_EQ(p.status[first], -1);
	t.b.w.frozen[1] = false;
	CHECK_EQ(tx_app_wait(&p, first), RMC_S_OK);
	/* decided, and not over: the next one has to wait */
	CHECK(apps_idle(&t, false));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 5);
	/* it is over: a commit of nothing, and an abort, do nothing */
	tx_app_begin(&p, 0);
	CHECK_EQ(tx_app_commit(&p, slot), RMC_S_OK);
	CHECK_EQ(tx_app_abort(&p, slot), RMC_S_OK);
	CHECK_EQ(word_at(&t.b, 1, TX_START), 5);
	tx_app_fini(&p);
	apps_free(&t);
}

/* A slot that is still in use at other nodes */
static void test_busy(const struct testbed_opts *o)
{
	struct tx_app p;
	struct tx_apps t;
	u32 slot, n;

	apps_make(&t, o, 2, true, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
	t.b.w.frozen[1] = true;
	/* aborted at once, but node 1 does not say that it knows */
	CHECK_EQ(tx_app_abort(&p, slot), RMC_S_OK);
	CHECK_EQ(tx_app_wait(&p, tx_app_get(&p, RMC_OP_TX_READ, slot, 0, TX_START, 8)), RMC_S_BUSY);
	tx_app_begin(&p, 1);
	tx_app_item(&p, 0, 0, TX_START, &(u64){ 5 }, 8);
	CHECK_EQ(tx_app_wait(&p, tx_app_commit_post(&p, slot)), RMC_S_BUSY);
	CHECK_EQ(p.s->user[slot].open, false);
	for (n = 0; n < 50; n++)
		bed_step(&t.b);
	t.b.w.frozen[1] = false;
	CHECK(apps_idle(&t, false));
	CHECK_EQ(tx_app_commit(&p, slot), RMC_S_OK);
	CHECK_EQ(word_at(&t.b, 0, TX_START), 5);
	tx_app_fini(&p);
	apps_free(&t);
}

/* A queue pair is deleted at each step of a transaction: all nodes have all of it, or none. */
static void test_deleted(const struct testbed_opts *o)
{
	static u8 data[3000];
	u32 step, i, slot, seen[2] = { 0, 0 };
	struct tx_app p, q;
	struct tx_apps t;

	apps_make(&t, o, 3, false, &slots_opts);
	for (step = 0; step < 16; step++) {
		u32 at = TX_START + 4096 * step;
		bool done = false;

		t.b.w.apps = 0;
		tx_app_init(&p, &t, 0, 8);
		slot = tx_app_slot(&p, step % 8);
		for (i = 0; i < 3; i++) {
			u32 entry = tx_app_get(&p, RMC_OP_TX_READ, slot, i, at, 64);

			if (step)
				CHECK_EQ(tx_app_wait(&p, entry), RMC_S_OK);
		}
		fill(data, sizeof(data), step + 1);
		data[0] = 1;
		tx_app_begin(&p, 3);
		for (i = 0; i < 3; i++)
			tx_app_item(&p, i, i, at, data, sizeof(data));
		if (step) {
			tx_app_commit_post(&p, slot);
			for (i = 1; i < step; i++)
				testbed_visit(&t.b.w);
		}
		/* what is in flight for its slots must not touch its memory */
		tx_app_fini(&p);
		CHECK(apps_idle(&t, true));
		CHECK_EQ(t.s[0][0]->free, 0xff);
		for (i = 0; i < 3; i++) {
			done |= t.b.n[i].seg[at];
			CHECK(t.b.n[i].seg[at] == done);
			CHECK(!done || !memcmp(t.b.n[i].seg + at, data, sizeof(data)));
		}
		seen[done]++;
	}
	CHECK(seen[0] && seen[1]);
	CHECK(bed_clean(&t.b));
	/* the slots work for another one */
	t.b.w.apps = 0;
	tx_app_init(&q, &t, 0, 8);
	for (i = 0; i < 8; i++)
		CHECK_EQ(tx_app_put(&q, tx_app_slot(&q, i), i % 3, TX_START + 64 * i, 9), RMC_S_OK);
	tx_app_fini(&q);
	apps_free(&t);
}

/* A queue pair is deleted when its transaction is decided, and a node does not answer. */
static void test_deleted_decided(const struct testbed_opts *o)
{
	struct tx_app p, q;
	struct tx_apps t;
	u32 slot, n;
	u64 mask;

	apps_make(&t, o, 3, true, &slots_opts);
	tx_app_init(&p, &t, 0, 8);
	slot = tx_app_slot(&p, 0);
	tx_app_begin(&p, 2);
	tx_app_item(&p, 0, 1, TX_START, &(u64){ 5 }, 8);
	tx_app_item(&p, 1, 2, TX_START, &(u64){ 6 }, 8);
	tx_app_commit_post(&p, slot);
	for (n = 0; n < 10000 && p.s->engine->coord->slot[slot].phase != RMC_TX_COMMITTING; n++)
		bed_step(&t.b);
	CHECK(n < 10000);
	t.b.w.frozen[1] = true;
	tx_app_fini(&p);
	for (n = 0; n < 300; n++)
		bed_step(&t.b);
	/* all slots but one are free again */
	t.b.w.apps = 0;
	tx_app_init(&q, &t, 0, 0);
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&q.a.qp), q.s, 8, &mask), -ENOSPC);
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&q.a.qp), q.s, 7, &mask), 0);
	CHECK(!(mask & 1ULL << slot));
	q.mask = mask;
	CHECK_EQ(tx_app_put(&q, tx_app_slot(&q, 0), 2, TX_START + 64, 7), RMC_S_OK);
	CHECK(!rmc_tx_slots_idle(q.s));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 0);
	t.b.w.frozen[1] = false;
	tx_app_fini(&q);
	CHECK(apps_idle(&t, true));
	CHECK_EQ(word_at(&t.b, 1, TX_START), 5);
	CHECK_EQ(word_at(&t.b, 2, TX_START), 6);
	apps_free(&t);
}

/* Who opens all its slots and ends none takes none from others. */
static void test_quota(const struct testbed_opts *o)
{
	struct tx_app greedy, modest;
	struct tx_apps t;
	u32 i, u;
	u64 mask;

	apps_make(&t, o, 2, false, &slots_opts);
	for (u = 0; u < t.b.w.opts.units; u++) {
		t.b.w.apps = u;
		tx_app_init(&greedy, &t, 0, 6);
		t.b.w.apps = u;
		tx_app_init(&modest, &t, 0, 2);
		CHECK_EQ(greedy.mask | modest.mask, 0xff);
		CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&greedy.a.qp), greedy.s, 1, &mask), -EEXIST);
		for (i = 0; i < 6; i++)
			CHECK_EQ(tx_app_read(&greedy, tx_app_slot(&greedy, i), 1, TX_START + 64 * i, 64),
				 RMC_S_OK);
		for (i = 0; i < 20; i++) {
			CHECK_EQ(tx_app_read(&greedy, tx_app_slot(&greedy, i % 6), 1, TX_START, 64), RMC_S_OK);
			CHECK_EQ(tx_app_put(&modest, tx_app_slot(&modest, i % 2), 1, TX_START + 4096, i),
				 RMC_S_OK);
		}
		tx_app_fini(&greedy);
		tx_app_fini(&modest);
		CHECK(apps_idle(&t, true));
	}
	apps_free(&t);
}

/* An access that is sent again after its transaction is over is not of the next one. */
static void test_late_access(const struct testbed_opts *o)
{
	struct rmc_fault lose = { .loss = 1000000 }, none = { };
	u32 slot, entry, at = TX_START;
	struct tx_app p, q;
	struct tx_apps t;

	rmc_filters = 1;
	apps_make(&t, o, 2, false, &slots_opts);
	apps_timeouts(&t, 16, 3);
	tx_app_init(&p, &t, 0, 1);
	tx_app_init(&q, &t, 1, 1);
	slot = tx_app_slot(&p, 0);
	CHECK_EQ(tx_app_read(&p, slot, 1, at + 8192, 8), RMC_S_OK);
	fault_set(&t.b.w, 0, 1, RMC_LANE_REQ, &lose, 7);
	entry = tx_app_get(&p, RMC_OP_TX_READ, slot, 1, at, 8);
	bed_settle(&t.b, 4);
	fault_set(&t.b.w, 0, 1, RMC_LANE_REQ, &none, 7);
	CHECK_EQ(tx_app_abort(&p, slot), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK_EQ(p.status[entry], -1);
	/* the next transaction of the slot, at the same node */
	CHECK_EQ(tx_app_read(&p, slot, 1, at + 4096, 8), RMC_S_OK);
	CHECK_EQ(tx_app_wait(&p, entry), RMC_S_TX_STALE);
	CHECK_EQ(tx_app_put(&q, tx_app_slot(&q, 0), 1, at, 4), RMC_S_OK);
	CHECK_EQ(tx_app_put(&p, slot, 1, at + 4096, 3), RMC_S_OK);
	tx_app_fini(&p);
	tx_app_fini(&q);
	apps_free(&t);
}

/* A node goes: the transaction has ended, but the application has not been told. */
static void test_node_leaves(const struct testbed_opts *o)
{
	u32 slot, n, u;
	struct tx_app p;
	struct tx_apps t;

	apps_make(&t, o, 3, true, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	/* the epoch of the node is known to its participant */
	bed_settle(&t.b, 200);
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
	for (u = 0; u < t.b.w.opts.units; u++)
		rmc_node_down_srv(t.b.w.node[1]->unit[u]);
	for (u = 0; u < t.b.w.opts.units; u++)
		rmc_node_down_req(t.b.w.node[1]->unit[u]);
	for (n = 0; n < 100000 && !p.s->user[slot].status; n++)
		bed_step(&t.b);
	CHECK_EQ(p.s->user[slot].status, RMC_S_NODE_DOWN);
	CHECK(apps_idle(&t, false));
	/* the slot is free, but these are of the same transaction */
	CHECK_EQ(tx_app_read(&p, slot, 2, TX_START, 8), RMC_S_NODE_DOWN);
	CHECK_EQ(tx_app_read(&p, slot, 0, TX_START, 8), RMC_S_NODE_DOWN);
	CHECK_EQ(tx_app_put(&p, slot, 2, TX_START, 8), RMC_S_NODE_DOWN);
	CHECK_EQ(word_at(&t.b, 2, TX_START), 0);
	/* now it is over: the next one does not use the node */
	CHECK_EQ(tx_app_put(&p, slot, 2, TX_START, 8), RMC_S_OK);
	CHECK_EQ(tx_app_put(&p, slot, 1, TX_START, 8), RMC_S_NODE_DOWN);
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_NODE_DOWN);
	CHECK_EQ(tx_app_abort(&p, slot), RMC_S_OK);
	CHECK_EQ(tx_app_put(&p, slot, 2, TX_START, 9), RMC_S_OK);
	tx_app_fini(&p);
	rmc_node_join(t.b.w.node[1], bed_ms());
	for (n = 0; n < 20000 && !t.b.w.node[1]->up; n++)
		bed_step(&t.b);
	bed_settle(&t.b, 500);
	apps_free(&t);
}

/* An engine after another one: homes remember the gens of that. */
static void test_gens(const struct testbed_opts *o)
{
	u32 round, u, i;
	struct tx_app p;
	struct tx_apps t;

	apps_make(&t, o, 2, false, &slots_opts);
	for (round = 0; round < 6; round++) {
		t.b.w.apps = 0;
		tx_app_init(&p, &t, 0, 8);
		for (i = 0; i < 8; i++)
			CHECK_EQ(tx_app_put(&p, tx_app_slot(&p, i), 1, TX_START + 1024 * i, round),
				 RMC_S_OK);
		tx_app_fini(&p);
		CHECK(apps_idle(&t, true));
		for (u = 0; u < t.b.w.opts.units; u++) {
			slots_free(t.s[0][u]);
			t.s[0][u] = slots_make(t.b.w.node[0]->unit[u], &slots_opts);
		}
		CHECK_EQ(word_at(&t.b, 1, TX_START), round);
	}
	apps_free(&t);
}

/* How many slots, engines, and for whom */
static void test_limits(const struct testbed_opts *o)
{
	struct rmc_tx_engine_opts bad = slots_opts;
	struct rmc_tx_slots *s[RMC_TX_ENGINES];
	struct rmc_ni_worker *w;
	struct rmc_node *unit;
	struct tx_app p;
	struct tx_apps t;
	struct app ordered;
	u64 mask = 5;
	u32 i, alls;

	apps_make(&t, o, 2, false, &slots_opts);
	t.b.w.apps = 0;
	tx_app_init(&p, &t, 0, 0);
	unit = p.a.qp.node;
	w = unit->req_worker;
	alls = w->alls;
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&p.a.qp), p.s, 0, &mask), -EINVAL);
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&p.a.qp), p.s, 9, &mask), -ENOSPC);
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&p.a.qp), t.s[1][0], 1, &mask), -EINVAL);
	t.b.w.apps = 0;
	app_init_ordered(&ordered, &t.b.w, 0, CTX, 16);
	CHECK_EQ(rmc_tx_attach(rmc_qp_inner(&ordered.qp), p.s, 1, &mask), -EOPNOTSUPP);
	app_fini(&ordered);
	CHECK_EQ(mask, 5);
	bad.slots = 65;
	CHECK(rmc_tx_slots_create(unit, CTX, &bad) == ERR_PTR(-EINVAL));
	s[0] = rmc_tx_slots_create(unit, CTX, &slots_opts);
	CHECK_EQ(rmc_ni_add_slots(w, s[0]), -EEXIST);
	rmc_tx_slots_destroy(s[0]);
	bad = slots_opts;
	bad.bytes = 64;
	for (i = 0; i < RMC_TX_ENGINES; i++) {
		s[i] = rmc_tx_slots_create(unit, CTX + 1 + i, &bad);
		CHECK_EQ(rmc_ni_add_slots(w, s[i]), i == RMC_TX_ENGINES - 1 ? -ENOSPC : 0);
	}
	CHECK_EQ(w->alls, alls + RMC_TX_ENGINES - 1);
	rmc_tx_slots_destroy(s[--i]);
	while (i--) {
		CHECK(rmc_tx_slots_find(unit, CTX + 1 + i) == s[i]);
		slots_free(s[i]);
		CHECK(!rmc_tx_slots_find(unit, CTX + 1 + i));
	}
	CHECK(rmc_tx_slots_find(unit, CTX) == p.s);
	CHECK_EQ(w->alls, alls);
	tx_app_fini(&p);
	apps_free(&t);
}

static bool may_park(struct rmc_ni_worker *w)
{
	u32 i;

	/* hot queue pairs cool, doorbells are cleared */
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		rmc_ni_visit(w);
	rmc_ni_clear_pend(w, RMC_LANE_REQ);
	rmc_ni_clear_pend(w, RMC_LANE_REP);
	return rmc_ni_may_park(w);
}

/* The worker stays awake for what has to be sent, and not for who thinks. */
static void test_parking(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct tx_app p;
	struct tx_apps t;
	u32 slot, entry;

	apps_make(&t, o, 2, true, &slots_opts);
	tx_app_init(&p, &t, 0, 1);
	slot = tx_app_slot(&p, 0);
	w = p.a.qp.node->req_worker;
	CHECK_EQ(tx_app_read(&p, slot, 1, TX_START, 8), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK(may_park(w));
	apps_timeouts(&t, 2, 0);
	t.b.w.frozen[1] = true;
	tx_app_begin(&p, 1);
	tx_app_item(&p, 0, 1, TX_START, &(u64){ 5 }, 8);
	entry = tx_app_commit_post(&p, slot);
	bed_settle(&t.b, 70);
	/* nothing is in flight between two times that it is sent */
	CHECK(!may_park(w) || !rmc_tx_slots_busy(p.s));
	CHECK(rmc_tx_slots_busy(p.s));
	t.b.w.frozen[1] = false;
	CHECK_EQ(tx_app_wait(&p, entry), RMC_S_OK);
	CHECK(apps_idle(&t, false));
	CHECK(may_park(w));
	tx_app_fini(&p);
	apps_free(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "reads and writes at all nodes, one's own too", test_simple },
		{ "every length, and as many ranges as there can be", test_lengths },
		{ "conflicts: who commits first", test_conflicts },
		{ "entries that are not valid", test_entries },
		{ "records that are not valid", test_records },
		{ "a record that changes", test_record_changes },
		{ "entries of a slot that commits", test_twice },
		{ "a slot that is not over", test_busy },
		{ "a queue pair that is deleted at each step", test_deleted },
		{ "... when its transaction is decided", test_deleted_decided },
		{ "a greedy queue pair and a modest one", test_quota },
		{ "an access that is sent again too late", test_late_access },
		{ "a node that leaves", test_node_leaves },
		{ "an engine after another one", test_gens },
		{ "how many, and for whom", test_limits },
		{ "when the worker may sleep", test_parking },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "pair", .mtu = 64 },
		{ .ni = "split", .mtu = 512 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
		{ .ni = "per_tile", .units = 4, .mtu = 64, .interleave = 256 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
