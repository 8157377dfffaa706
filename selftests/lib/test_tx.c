/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions of <rmc/tx.h>, one at a time: what they see, each reason for a squash, replies that
 * are lost, and coordinators that die at each step. Several at a time: test_tx_history.c. The first
 * ones are of all systems (RMC_TEST_SYSTEM); of others than SW-Impl see test_tx_hades.c, too.
 */
#include "tx_test.h"

/* ---- opening ---- */

static void refused(void)
{
	struct rmc_tx_table table = { .records = 8, .bytes = 8 };
	struct rmc_tx_options o = { .table = &table, .tables = 1 };
	struct { struct rmc_tx_options o; uint64_t later; } longer = { o, 0 };

	CHECK(rmc_tx_bytes(1, &o) == 64 + 8 * 64);
	CHECK(rmc_tx_bytes(3, &o) == 64 + 3 * 64);
	CHECK(rmc_tx_bytes_sized(1, &longer.o, sizeof(longer)) == 64 + 8 * 64);
	longer.later = 1;
	CHECK(!rmc_tx_bytes_sized(1, &longer.o, sizeof(longer)));
	CHECK(!rmc_tx_bytes_sized(1, &o, 64));
	o.system = "pluto";
	CHECK(!rmc_tx_bytes(1, &o));
	CHECK(strstr(rmc_errmsg(), "'pluto'") && strstr(rmc_errmsg(), "but: sw hades rmc"));
	o.system = rmc_tx_system_name(1);
	CHECK(!strcmp(o.system, "hades") && !rmc_tx_system_name(3));
	CHECK(rmc_tx_bytes(1, &o) == 64 + 8 * 64);
	table.bytes = 56;		/* behind the word, in one line */
	CHECK(rmc_tx_bytes(1, &o) == 64 + 8 * 64);
	table.bytes = 57;
	CHECK(rmc_tx_bytes(1, &o) == 64 + 8 * 128);
	table.bytes = 8;
	o.system = rmc_tx_system_name(0);
	CHECK(!strcmp(o.system, "sw"));
	o.flags = 2;
	CHECK(!rmc_tx_bytes(1, &o));
	o.flags = 0;
	o.at = 8;
	CHECK(!rmc_tx_bytes(1, &o));
	o.at = 0;
	o.tables = RMC_TX_TABLES_MAX + 1;
	CHECK(!rmc_tx_bytes(1, &o));
	o.tables = 0;
	CHECK(!rmc_tx_bytes(1, &o));
	o.tables = 1;
	o.records = RMC_TX_ACCESS_MAX + 1;
	CHECK(!rmc_tx_bytes(1, &o));
	o.records = 0;
	o.slots = RMC_TX_SLOTS_MAX + 1;
	CHECK(!rmc_tx_bytes(1, &o));
	o.slots = 0;
	CHECK(!rmc_tx_bytes(0, &o));
	table.bytes = 0;
	CHECK(!rmc_tx_bytes(1, &o));
	table.bytes = RMC_TX_RECORD_MAX + 1;
	CHECK(!rmc_tx_bytes(1, &o));
	table.bytes = RMC_TX_RECORD_MAX;
	table.reserved = 1;
	CHECK(!rmc_tx_bytes(1, &o));
	table.reserved = 0;
	table.records = 0;
	CHECK(!rmc_tx_bytes(1, &o));
	table.records = RMC_OFFSET_MAX;
	CHECK(!rmc_tx_bytes(1, &o));
	table.records = 8;
	table.group = 9;
	CHECK(!rmc_tx_bytes(1, &o));
	CHECK(!strcmp(rmc_tx_cause_name(RMC_TX_LOST), "lost") && !rmc_tx_cause_name(RMC_TX_CAUSES));
	CHECK(!strcmp(rmc_status_name(RMC_TX_SQUASHED), "tx_squashed"));
}

static void places(void)
{
	uint64_t at, seen[RECORDS];
	unsigned int t, i, k;
	int member;

	open_all(&options);
	for (t = 0; t < 3; t++)
		for (i = 0; i < RECORDS; i++) {
			CHECK_EQ(rmc_tx_locate(db(1), rmc_tx_record(t, i), &member, &at), 0);
			CHECK_EQ(member, (int)(t == 2 ? i / 4 % CLUSTER_NODES : i % CLUSTER_NODES));
			CHECK_EQ(rmc_tx_home(db(2), rmc_tx_record(t, i)), member);
			CHECK(at >= 64 && at % LINE == 0 && at + 64 <= c.node[0].team.len);
			seen[i] = at * CLUSTER_NODES + (uint64_t)member;
			for (k = 0; k < i; k++)
				CHECK(seen[k] != seen[i]);
		}
	CHECK_EQ(rmc_tx_home(db(0), rmc_tx_record(0, RECORDS)), -EINVAL);
	CHECK_EQ(rmc_tx_home(db(0), rmc_tx_record(3, 0)), -EINVAL);
	CHECK_EQ(rmc_tx_home(db(0), rmc_tx_record(1U << 24, 0)), -EINVAL);
	CHECK_EQ(rmc_tx_load(db(0), rmc_tx_record(0, 1), "", 1), -EREMOTE);
	CHECK_EQ(rmc_tx_load(db(0), rmc_tx_record(0, 0), "123456789", 9), -EINVAL);
	CHECK_EQ(rmc_tx_load(db(0), rmc_tx_at(rmc_tx_record(0, 0), 1), "", 1), -EINVAL);
	/* a field beyond a record is none of it, however far */
	CHECK_EQ(rmc_tx_at(rmc_tx_at(rmc_tx_record(0, 0), 3), 4).field, 7);
	CHECK_EQ(rmc_tx_at(rmc_tx_at(rmc_tx_record(0, 0), 1), UINT32_MAX).field, UINT32_MAX);
	CHECK_EQ(rmc_tx_at(rmc_tx_record(0, 0), (size_t)UINT32_MAX + 1).field, UINT32_MAX);
	cluster_close(&c);
}

/* ---- one transaction ---- */

static void sees(void)
{
	const uint64_t *p;
	struct rmc_tx *t, *other, *third;
	uint64_t v, word = 5;

	open_all(&options);
	load(0, 1, 10);
	load(1, 2, 20);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 0, 1, &v), 0);
	CHECK_EQ(v, 10);
	CHECK_EQ(get(t, 0, 0, &v), -ENOENT);
	CHECK_EQ(put(t, 0, 0, 1), -ENOENT);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 0)), -ENOENT);
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(0, 1), &word, 8), -EEXIST);
	CHECK_EQ(rmc_tx_get(t, rmc_tx_record(0, RECORDS), 8, (const void **)&p), -EINVAL);
	CHECK_EQ(rmc_tx_get(t, rmc_tx_at(rmc_tx_record(0, 1), 4), 5, (const void **)&p), -EINVAL);
	CHECK_EQ(rmc_tx_get(t, rmc_tx_at(rmc_tx_record(0, 1), 9), 0, (const void **)&p), -EINVAL);
	/* its own changes, and nobody else's view of them */
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(0, 0), &word, 4), 0);
	CHECK_EQ(put(t, 0, 1, 11), 0);
	CHECK_EQ(rmc_tx_put(t, rmc_tx_at(rmc_tx_record(1, 2), 192), &word, 8), 0);
	CHECK_EQ(rmc_tx_get(t, rmc_tx_at(rmc_tx_record(1, 2), 184), 16, (const void **)&p), 0);
	CHECK(p[0] == 20 && p[1] == 5);
	CHECK_EQ(get(t, 0, 0, &v), 0);
	CHECK_EQ(v, 5);
	CHECK_EQ(value_of(1, 0, 1), 10);
	CHECK_EQ(value_of(1, 0, 0), -ENOENT);
	/* a second slot, and no third */
	CHECK_EQ(rmc_tx_begin(db(0), &other), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &third), -EBUSY);
	rmc_tx_abort(other);
	CHECK_EQ(rmc_tx_check(t), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(1, 0, 1), 11);
	CHECK_EQ(value_of(2, 0, 0), 5);
	CHECK_EQ(rmc_tx_begin(db(3), &t), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 1)), 0);
	CHECK_EQ(get(t, 0, 1, &v), -ENOENT);
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(0, 1), &word, 8), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 0)), 0);
	rmc_tx_abort(t);
	CHECK_EQ(value_of(0, 0, 0), 5);
	CHECK_EQ(rmc_tx_begin(db(3), &t), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 0)), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_quiet(db(3)), 0);
	CHECK_EQ(value_of(0, 0, 0), -ENOENT);
	CHECK_EQ(stats(3).aborted, 1);
	/* nothing of what was there before is in a new record */
	load(0, 5, ~0ULL);
	CHECK_EQ(rmc_tx_begin(db(3), &t), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 5)), 0);
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(0, 5), &word, 2), 0);
	CHECK_EQ(get(t, 0, 5, &v), 0);
	CHECK_EQ(v, 5);
	/* a part of what it had is what it has */
	CHECK_EQ(rmc_tx_get(t, rmc_tx_record(0, 5), 8, (const void **)&p), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(0, 5)), 0);
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(0, 5), (const uint8_t *)p + 1, 7), 0);
	CHECK_EQ(get(t, 0, 5, &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(put(t, 0, 5, 5), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_quiet(db(3)), 0);
	CHECK_EQ(value_of(0, 0, 5), 5);
	cluster_close(&c);
}

static void many_records(void)
{
	struct rmc_tx *t;
	uint64_t v;
	int i, round;

	open_all(&options);
	for (i = 0; i <= FEW; i++)
		load(2, (uint64_t)i, (uint64_t)i);
	/* longer and shorter ones; the index of a set that is so small is always cleared as a whole */
	for (round = 0; round < 9; round++) {
		CHECK_EQ(rmc_tx_begin(db(1), &t), 0);
		for (i = 0; i < (round % 3 ? FEW : 1); i++)
			CHECK_EQ(rmc_tx_fetch(t, rmc_tx_record(2, (uint64_t)i)), 0);
		for (i = 0; i < (round % 3 ? FEW : 1); i++) {
			CHECK_EQ(get(t, 2, (uint64_t)i, &v), 0);
			CHECK_EQ(v, (uint64_t)i + (uint64_t)round);
			CHECK_EQ(put(t, 2, (uint64_t)i, v + 1), 0);
		}
		if (round % 3) {
			CHECK_EQ(get(t, 2, FEW, &v), -ENOSPC);
			CHECK_EQ(rmc_tx_fetch(t, rmc_tx_record(2, FEW)), -ENOSPC);
		}
		CHECK_EQ(rmc_tx_commit(t), 0);
		CHECK_EQ(rmc_tx_quiet(db(1)), 0);
		for (i = 1; i < FEW && !(round % 3); i++)
			load(2, (uint64_t)i, (uint64_t)(i + round + 1));
	}
	/* records of one number in several tables */
	for (i = 0; i < RECORDS; i++) {
		load(0, (uint64_t)i, 7);
		load(1, (uint64_t)i, 8);
		load(2, (uint64_t)i, 9);
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		for (round = 0; round < 3; round++) {
			CHECK_EQ(get(t, (uint32_t)round, (uint64_t)i, &v), 0);
			CHECK_EQ(v, 7 + (uint64_t)round);
		}
		CHECK_EQ(rmc_tx_commit(t), 0);
	}
	/* fetched and not read: neither in its read set, nor in the way of the next one */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	for (i = 0; i < FEW; i++)
		CHECK_EQ(rmc_tx_fetch(t, rmc_tx_record(2, (uint64_t)i)), 0);
	CHECK_EQ(get(t, 2, 0, &v), 0);
	load(2, 1, 99);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(value_of(0, 2, 1), 99);
	cluster_close(&c);
}

/* Of few records in a set of many: its index is cleared entry by entry, if there are any. */
static void few_of_many(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t;
	uint64_t v = 0;
	int round, i;

	o.records = 64;
	open_all(&o);
	for (i = 0; i < 3; i++)
		load((uint32_t)i, 1, (uint64_t)i);
	for (round = 0; round < 16; round++) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(t->s->n, 0);
		for (i = 0; i <= (int)t->s->mask; i++)
			CHECK_EQ(t->s->index[i], 0);
		for (i = 0; i < round % 4; i++) {
			CHECK_EQ(get(t, (uint32_t)i, 1, &v), 0);
			CHECK_EQ(v, (uint64_t)i);
		}
		CHECK_EQ(rmc_tx_commit(t), 0);
	}
	cluster_close(&c);
}

/* ---- squashes: what happens at another node between two steps of a transaction ---- */

/* Node 3 has a record locked, or has it no more */
static void lock(uint64_t rid, int locked)
{
	struct record *r = record_at(1, rid);
	uint64_t version = record_version(r->word);

	rmc_store_release(&r->word, locked ? record_lock_word(version, 3, 1) : version);
}

static void squashes(void)
{
	uint64_t rid, v, before[RMC_TX_CAUSES];
	struct rmc_tx *t;
	int i, k;

	for (k = 0; k < 2; k++) {
		struct rmc_tx_options o = options;

		o.flags = k ? RMC_TX_ALL_REMOTE : 0;
		open_all(&o);
		/* of a record of its own, and of node 1 */
		for (rid = 0; rid < 2; rid++) {
			load(1, rid, 1);
			load(1, rid + 4, 1);
			for (i = 0; i < RMC_TX_CAUSES; i++)
				before[i] = stats(0).squashed[i];
			CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
			CHECK_EQ(get(t, 1, rid, &v), 0);
			CHECK_EQ(get(t, 1, rid + 4, &v), 0);
			CHECK_EQ(rmc_tx_check(t), 0);
			change(1, 1, rid, 2);
			CHECK_EQ(rmc_tx_check(t), RMC_TX_SQUASHED);
			CHECK_EQ(get(t, 1, rid, &v), RMC_TX_SQUASHED);
			CHECK_EQ(put(t, 1, rid, 1), RMC_TX_SQUASHED);
			CHECK_EQ(rmc_tx_fetch(t, rmc_tx_record(1, rid)), RMC_TX_SQUASHED);
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			CHECK_EQ(stats(0).squashed[RMC_TX_CHECK_CHANGED] -
				 before[RMC_TX_CHECK_CHANGED], 1);

			CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
			CHECK_EQ(get(t, 1, rid, &v), 0);
			CHECK_EQ(v, 2);
			CHECK_EQ(put(t, 1, rid + 4, 3), 0);
			lock(rid, 1);
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			CHECK_EQ(stats(0).squashed[RMC_TX_CHECK_HELD] -
				 before[RMC_TX_CHECK_HELD], 1);

			/* it has released its own lock, and had no effect */
			CHECK_EQ(rmc_tx_quiet(db(0)), 0);
			CHECK_EQ(value_of(2, 1, rid + 4), 1);
			CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
			CHECK_EQ(get(t, 1, rid, &v), RMC_TX_SQUASHED);
			rmc_tx_abort(t);
			CHECK_EQ(rmc_tx_load(db((int)rid), rmc_tx_record(1, rid), "", 1), -EBUSY);
			CHECK_EQ(stats(0).squashed[RMC_TX_READ_LOCKED] -
				 before[RMC_TX_READ_LOCKED], 1);
			lock(rid, 0);

			CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
			CHECK_EQ(put(t, 1, rid, 4), 0);
			CHECK_EQ(put(t, 1, rid + 4, 4), 0);
			lock(rid, 1);
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			CHECK_EQ(stats(0).squashed[RMC_TX_LOCK_HELD] - before[RMC_TX_LOCK_HELD], 1);
			lock(rid, 0);
			CHECK_EQ(rmc_tx_quiet(db(0)), 0);

			CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
			CHECK_EQ(put(t, 1, rid, 4), 0);
			CHECK_EQ(put(t, 1, rid + 4, 4), 0);
			change(1, 1, rid, 5);
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			CHECK_EQ(stats(0).squashed[RMC_TX_LOCK_CHANGED] -
				 before[RMC_TX_LOCK_CHANGED], 1);
			CHECK_EQ(rmc_tx_quiet(db(0)), 0);
			CHECK_EQ(value_of(2, 1, rid + 4), 1);

			/* one line of it is of another version */
			*line_version((uint8_t *)record_at(1, rid) + LINE) += 2;
			CHECK_EQ(value_of(0, 1, rid), -RMC_TX_SQUASHED);
			CHECK_EQ(stats(0).squashed[RMC_TX_READ_TORN] - before[RMC_TX_READ_TORN], 1);
			*line_version((uint8_t *)record_at(1, rid) + LINE) -= 2;
			CHECK_EQ(value_of(0, 1, rid), 5);
		}
		CHECK_EQ(!stats(0).local, k);
		cluster_close(&c);
	}
}

/*
 * Words with gaps between them, of as many own records as there may be: what is packed for them has
 * its place, and another transaction's records, which are behind it, stay as they are.
 */
static void gaps(void)
{
	enum { WORDS = 128, OWN = 8 };
	const struct rmc_tx_table table = { .records = 64, .bytes = WORDS * 8 };
	struct rmc_tx_options o = { .table = &table, .tables = 1, .records = OWN, .slots = 2 };
	uint64_t word[WORDS] = { 0 }, i, k;
	struct rmc_tx *t, *beside;
	struct rmc_tx_addr at;
	const void *p;

	open_all(&o);
	for (i = 0; i < 64; i++)
		CHECK_EQ(rmc_tx_load(db((int)i % CLUSTER_NODES), rmc_tx_record(0, i), word,
				     sizeof(word)), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &beside), 0);
	rmc_tx_abort(beside);
	/* now the set behind the one of the first */
	CHECK_EQ(rmc_tx_begin(db(0), &beside), 0);
	CHECK(t->s->more <= beside->s->image && t->current == 1 && !beside->current);
	CHECK_EQ(rmc_tx_get(beside, rmc_tx_record(0, 1), sizeof(word), &p), 0);
	/* 56 bytes of each line, so that no range goes on in the next one */
	for (i = 0; i < OWN; i++)
		for (k = 0; k < WORDS; k++)
			if ((k + 1) % 8 != 7) {
				word[k] = 100 * i + k;
				at = rmc_tx_at(rmc_tx_record(0, 4 * i), 8 * (uint32_t)k);
				CHECK_EQ(rmc_tx_put(t, at, &word[k], 8), 0);
			}
	CHECK_EQ(rmc_tx_commit(t), 0);
	memset(word, 0, sizeof(word));
	CHECK(!memcmp(p, word, sizeof(word)));
	CHECK_EQ(rmc_tx_commit(beside), 0);
	CHECK_EQ(rmc_tx_begin(db(1), &t), 0);
	for (i = 0; i < OWN; i++) {
		for (k = 0; k < WORDS; k++)
			word[k] = (k + 1) % 8 != 7 ? 100 * i + k : 0;
		CHECK_EQ(rmc_tx_get(t, rmc_tx_record(0, 4 * i), sizeof(word), &p), 0);
		CHECK(!memcmp(p, word, sizeof(word)));
	}
	CHECK_EQ(rmc_tx_commit(t), 0);
	cluster_close(&c);
}

/* ---- rmc_tx_run() ---- */

struct runs {
	int calls, conflicts, result;
};

static int run_one(struct rmc_tx *t, void *arg)
{
	struct runs *r = (struct runs *)arg;
	uint64_t v = 0, w = 0;
	int err;

	r->calls++;
	err = get(t, 0, 1, &v);
	if (!err)
		err = get(t, 0, 2, &w);
	if (err)
		return err;
	if (r->conflicts && r->conflicts--)
		change(3, 0, 1, v + 1);
	if (r->result)
		return r->result;
	return put(t, 0, 2, v + w);
}

/* It wants to run again, twice. */
static int run_again(struct rmc_tx *t, void *arg)
{
	struct runs *r = (struct runs *)arg;
	uint64_t v;
	int err = get(t, 0, 1, &v);

	return err ? err : r->calls++ < 2 ? RMC_TX_SQUASHED : 0;
}

static void runs(void)
{
	struct runs r = { 0, 2, 0 };

	open_all(&options);
	load(0, 1, 1);
	load(0, 2, 0);
	CHECK_EQ(rmc_tx_run(db(0), run_one, &r), 0);
	CHECK_EQ(r.calls, 3);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(0, 0, 2), 3);
	/* what it returns counts only if it has seen what was there together */
	r = (struct runs){ 0, 1, -EDOM };
	CHECK_EQ(rmc_tx_run(db(0), run_one, &r), -EDOM);
	CHECK_EQ(r.calls, 2);
	r = (struct runs){ 0, 100, 0 };
	CHECK_EQ(rmc_tx_run(db(0), run_one, &r), RMC_TX_SQUASHED);
	CHECK_EQ(r.calls, (int)options.attempts);
	CHECK_EQ(value_of(0, 0, 2), 3);
	r.calls = 0;
	CHECK_EQ(rmc_tx_run(db(0), run_again, &r), 0);
	CHECK_EQ(r.calls, 3);
	CHECK_EQ(stats(0).squashed[RMC_TX_BY_PROGRAM], 2);
	cluster_close(&c);
}

/* A transaction of another slot runs wherever the first one would spin. */
static int nested, waits;

static void run_other(void *arg)
{
	struct runs r = { 0, 0, 0 };

	(void)arg;
	waits++;
	if (nested || !db(0))
		return;
	nested = 1;
	CHECK_EQ(rmc_tx_run(db(0), run_one, &r), 0);
	nested = 2;
}

static void waiting(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t;
	uint64_t v = 0;

	o.wait = run_other;
	nested = 1;
	open_all(&o);
	load(0, 1, 1);
	load(0, 2, 5);
	load(0, 3, 7);
	waits = nested = 0;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 0, 3, &v), 0);
	CHECK_EQ(put(t, 0, 3, v + 1), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK(waits && nested == 2);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(1, 0, 2), 6);
	CHECK_EQ(value_of(1, 0, 3), 8);
	cluster_close(&c);
}

/* ---- reads of own records beside another node's writes ---- */

#define MANY		33			/* lines */
#define MANY_BYTES	(48 + (MANY - 1) * 62)

static _Alignas(64) uint8_t lines[MANY][LINE];
static int stop;

/* As an RMC does it for another node: a lock, then data, the first word of each line after it */
static void *write_lines(void *unused)
{
	uint64_t version = 0, *word = (uint64_t *)lines[0], i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(word, record_lock_word(version, 1, 1), __ATOMIC_SEQ_CST);
		version = record_next(version);
		for (i = 8; i < LINE; i += 8)	/* of the last line */
			rmc_store_relaxed((uint64_t *)(lines[MANY - 1] + i), version);
		for (i = 1; i < MANY; i++)
			rmc_store_release(line_version(lines[i]), (uint16_t)version);
		__atomic_store_n(word, version, __ATOMIC_RELEASE);
		for (i = 0; i < 300; i++)
			rmc_pause();
	}
	return unused;
}

static void beside_writes(void)
{
	static uint8_t data[MANY_BYTES];
	unsigned int tries, good = 0, mixed = 0;
	uint64_t first, last;
	pthread_t writer;
	struct record r;

	pthread_create(&writer, NULL, write_lines, NULL);
	for (tries = 0; tries < 100000 || (good < 1000 && tries < 10000000); tries++) {
		if (record_copy((const struct record *)lines, data, sizeof(data), &r))
			continue;
		good++;
		/* the last line's data begin at its byte 2 */
		memcpy(&first, data + MANY_BYTES - 56, sizeof(first));
		memcpy(&last, data + MANY_BYTES - 8, sizeof(last));
		mixed += first != r.word || last != r.word;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	CHECK(good);
	CHECK_EQ(mixed, 0);
}

/* Writes of four transactions are on their way at once: two slots have two sets each. */
static int lossy;

static int lose_writes(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->op == RMC_OP_WRITE_ONCE && __atomic_load_n(&lossy, __ATOMIC_ACQUIRE) ?
	       RMC_S_TIMEOUT : RMC_S_OK;
}

static void all_sets(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t;
	uint64_t rid;

	o.limit_ms = 2000;
	open_all(&o);
	for (rid = 1; rid <= 13; rid += 4)
		load(0, rid, 1);
	c.before = lose_writes;
	__atomic_store_n(&lossy, 1, __ATOMIC_RELEASE);
	for (rid = 1; rid <= 13; rid += 4) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(put(t, 0, rid, rid), 0);
		CHECK_EQ(rmc_tx_commit(t), 0);
	}
	db(0)->o.limit_ms = 10;
	CHECK_EQ(rmc_tx_begin(db(0), &t), -ETIMEDOUT);
	db(0)->o.limit_ms = 60000;
	__atomic_store_n(&lossy, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	for (rid = 1; rid <= 13; rid += 4)
		CHECK_EQ(value_of(2, 0, rid), (int64_t)rid);
	cluster_close(&c);
}

/*
 * One set of a slot has a write in doubt, and the other one a write whose reply is on its way: the
 * next transaction begins with the latter.
 */
static int armed;

static int lose_to_one(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->nid == 1 && __atomic_load_n(&lossy, __ATOMIC_ACQUIRE) &&
	       op->op != RMC_OP_CAS ? RMC_S_TIMEOUT : RMC_S_OK;
}

static int hold_of_two(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->nid == 2 && op->op == RMC_OP_WRITE_ONCE ? FAKE_HOLD : RMC_S_OK;
}

static void let_go(void *arg)
{
	(void)arg;
	if (armed)
		__atomic_store_n(&c.node[0].rmc.release, 1, __ATOMIC_RELEASE);
}

static void first_set(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t;
	uint64_t v = 0;

	o.slots = 1;
	o.limit_ms = 5000;
	o.wait = let_go;
	armed = 0;
	open_all(&o);
	load(0, 1, 1);
	load(0, 2, 2);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(put(t, 0, 1, 5), 0);
	c.before = lose_to_one;
	c.after = hold_of_two;
	__atomic_store_n(&lossy, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(put(t, 0, 2, 6), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	armed = 1;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 0, 2, &v), 0);
	CHECK_EQ(v, 6);
	rmc_tx_abort(t);
	__atomic_store_n(&lossy, 0, __ATOMIC_RELEASE);
	db(0)->o.limit_ms = 60000;
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 0, 1), 5);
	cluster_close(&c);
}

/* An RMC that may repeat any write is refused: others may have written in between. */
static void old_rmc(void)
{
	struct rmc_ctx old = { .query = { .op_mask = 1 << RMC_OP_WRITE, .max_length = 1 << 20 } };
	struct rmc_team team;

	open_all(&options);
	team = c.node[0].team;
	team.ctx = &old;
	errno = 0;
	CHECK(!rmc_tx_open_on(&team, &options, &c.node[0].qp, c.node[0].memory));
	CHECK_EQ(errno, EOPNOTSUPP);
	cluster_close(&c);
}

#define COMMON		8	/* tests of all systems */

int main(void)
{
	static const struct tap_test tests[] = {
		{ "options and tables that are refused, and names", refused },
		{ "each record has a place of its own", places },
		{ "a transaction sees its changes, others see them at commit", sees },
		{ "as many records as it may access", many_records },
		{ "few records of a set of many", few_of_many },
		{ "words with gaps between them", gaps },
		{ "a function runs until it commits", runs },
		{ "another transaction runs where one waits", waiting },
		/* of SW-Impl */
		{ "each cause of a squash, of own and of remote records", squashes },
		{ "reads of own records beside another node's writes", beside_writes },
		{ "a write on its way takes a set, and there are two of a slot", all_sets },
		{ "the next one takes the set whose operations end first", first_set },
		{ "an RMC that cannot write once", old_rmc },
	};

	return tap_run(tests, cluster_is_sw() ? sizeof(tests) / sizeof(tests[0]) : COMMON);
}
