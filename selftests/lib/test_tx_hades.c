/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions that the RMC commits: the operations of one, each status that ends it, and what
 * rmc_tx_check() asks. Test programs of all systems run over it, too: test_tx.c, test_tx_history.c
 * and others. The RMC here is fake_tx.h; the real one is below run_tx.c of the simulator.
 */
#include <linux/rmc_tx.h>
#include "fake_tx.h"
#include "tx_test.h"

#define A	1		/* records of table 1, at nodes 1, 2, 3 and 0 */
#define B	2
#define C	3
#define D	4
#define E	5		/* at node 1, too */

static void open_loaded(const struct rmc_tx_options *o)
{
	uint64_t rid;

	open_all(o);
	for (rid = A; rid <= E; rid++)
		load(1, rid, 100);
}

/* ---- operations ---- */

static struct fake_op seen[64];
static unsigned int count;
static struct rmc_tx_commit last;	/* record of the last commit */
static struct rmc_tx_item item[8];

static int record_op(struct cluster_node *n, const struct fake_op *op)
{
	const struct rmc_tx_commit *record = (const struct rmc_tx_commit *)(uintptr_t)op->lbuf;

	if (n->nid)
		return RMC_S_OK;
	if (count < sizeof(seen) / sizeof(seen[0]))
		seen[count++] = *op;
	if (op->op == RMC_OP_TX_COMMIT) {
		last = *record;
		memcpy(item, record + 1, last.count * sizeof(*item));
	}
	return RMC_S_OK;
}

static void expect_ops(const unsigned int (*expected)[3], unsigned int n)
{
	unsigned int i;

	CHECK_EQ(count, n);
	for (i = 0; i < n && i < count; i++) {
		CHECK_EQ(seen[i].op, expected[i][0]);
		CHECK_EQ(seen[i].nid, expected[i][1]);
		CHECK_EQ(seen[i].length & ((1U << RMC_TX_LENGTH_SHIFT) - 1), expected[i][2]);
	}
	count = 0;
}

/* Reads A, writes a field of B and of D, which is its own */
static int write_fields(struct rmc_tx *t, void *arg)
{
	uint64_t v, word = 7;
	int err = get(t, 1, A, &v);

	(void)arg;
	if (!err)
		err = rmc_tx_put(t, rmc_tx_at(rmc_tx_record(1, B), 64), &word, sizeof(word));
	if (!err)
		err = rmc_tx_put(t, rmc_tx_at(rmc_tx_record(1, B), 80), &word, 3);
	return err ? err : rmc_tx_put(t, rmc_tx_at(rmc_tx_record(1, D), 8), &word, sizeof(word));
}

static int read_a(struct rmc_tx *t, void *arg)
{
	uint64_t v;

	(void)arg;
	return get(t, 1, A, &v);
}

static int read_two(struct rmc_tx *t, void *arg)
{
	const void *p;
	int err = rmc_tx_get(t, rmc_tx_record(1, A), 8, &p);

	(void)arg;
	return err ? err : rmc_tx_get(t, rmc_tx_record(1, B), 8, &p);
}

static int give_up(struct rmc_tx *t, void *arg)
{
	int err = read_two(t, arg);

	return err ? err : RMC_TX_ABORT;
}

static int nothing(struct rmc_tx *t, void *arg)
{
	(void)t;
	(void)arg;
	return 0;
}

static void operations(void)
{
	static const unsigned int writes[][3] = {
		{ RMC_OP_TX_READ, A, 8 + LONG }, { RMC_OP_TX_OWN, B, 8 + LONG },
		{ RMC_OP_TX_OWN, 0, 8 + LONG },
		{ RMC_OP_TX_COMMIT, 1, 64 + 2 * 16 + 24 + 8 },
	}, one[][3] = {
		{ RMC_OP_TX_READ, A, 8 + LONG }, { RMC_OP_TX_ABORT, 0, 0 },
	}, two[][3] = {
		{ RMC_OP_TX_READ, A, 8 + LONG }, { RMC_OP_TX_READ, B, 8 + LONG },
		{ RMC_OP_TX_COMMIT, 1, 64 },
	}, aborts[][3] = {
		{ RMC_OP_TX_READ, A, 8 + LONG }, { RMC_OP_TX_READ, B, 8 + LONG },
		{ RMC_OP_TX_READ, A, 8 }, { RMC_OP_TX_READ, B, 8 },
		{ RMC_OP_TX_ABORT, 0, 0 },
	};
	struct rmc_tx_options o = options;
	uint64_t at;
	int member;

	o.slots = 1;
	open_loaded(&o);
	c.before = record_op;
	count = 0;
	CHECK_EQ(rmc_tx_run(db(0), write_fields, NULL), 0);
	/* own ranges are before those of others, and only what was changed is in them */
	CHECK_EQ(seen[0].length >> RMC_TX_LENGTH_SHIFT, 1);
	expect_ops(writes, 4);
	CHECK(last.count == 2 && !last.flags);
	rmc_tx_locate(db(0), rmc_tx_record(1, D), &member, &at);
	CHECK(item[0].nid == 0 && item[0].offset == at + 8 + 8 && item[0].length == 8);
	rmc_tx_locate(db(0), rmc_tx_record(1, B), &member, &at);
	CHECK(item[1].nid == 2 && item[1].offset == at + 8 + 64 && item[1].length == 19);
	CHECK_EQ(stats(0).rounds, 1);
	/* the other slot of the RMC; one record that is only read needs no answer */
	CHECK_EQ(rmc_tx_run(db(0), read_a, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(seen[0].length >> RMC_TX_LENGTH_SHIFT, 0);
	expect_ops(one, 2);
	CHECK_EQ(stats(0).rounds, 1);
	CHECK_EQ(stats(0).read_only, 1);
	CHECK_EQ(rmc_tx_run(db(0), read_two, NULL), 0);
	expect_ops(two, 3);
	/* what it saw is checked first, at each node */
	CHECK_EQ(rmc_tx_run(db(0), give_up, NULL), RMC_TX_ABORT);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	expect_ops(aborts, 5);
	CHECK_EQ(stats(0).read_only, 2);
	CHECK_EQ(rmc_tx_run(db(0), nothing, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(count, 0);
	CHECK_EQ(stats(0).local, 0);
	CHECK_EQ(stats(0).locks, 0);
	cluster_close(&c);
}

/* Presence is written with the data that it needs, and in one range */
static void presence(void)
{
	static const uint32_t offset[] = { 0, 0, 8 }, length[] = { 8 + LONG, 8, 8 + LONG };
	struct rmc_tx *t;
	uint64_t word = 9;
	int i;

	open_loaded(&options);
	c.before = record_op;
	for (i = 0; i < 2; i++) {
		uint64_t at;
		int member;

		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(i ? rmc_tx_delete(t, rmc_tx_record(1, 6)) :
			 rmc_tx_insert(t, rmc_tx_record(1, 6), &word, 8), 0);
		CHECK_EQ(rmc_tx_commit(t), 0);
		rmc_tx_locate(db(0), rmc_tx_record(1, 6), &member, &at);
		CHECK(last.count == 1 && item[0].offset == at + offset[i] &&
		      item[0].length == length[i]);
	}
	/* deleted and inserted: no node sees it absent, but its number has changed */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_delete(t, rmc_tx_record(1, A)), 0);
	CHECK_EQ(rmc_tx_insert(t, rmc_tx_record(1, A), &word, 8), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(item[0].length, 8 + LONG);
	/* a put of no bytes is none */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_put(t, rmc_tx_record(1, B), &word, 0), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(last.count, 0);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(put(t, 1, A, 8), 0);
	CHECK_EQ(rmc_tx_put(t, rmc_tx_record(1, B), &word, 0), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(last.count, 1);
	CHECK_EQ(value_of(3, 1, A), 8);
	CHECK_EQ(value_of(2, 1, B), 100);
	CHECK_EQ(value_of(2, 1, 6), -ENOENT);
	cluster_close(&c);
}

/* ---- squashes ---- */

static void squashes(void)
{
	struct rmc_tx *t;
	uint64_t v;
	int k;

	open_loaded(&options);
	/* by a write of what it has read, or was to write: known at the next access there, ... */
	for (k = 0; k < 2; k++) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(k ? put(t, 1, A, 1) : get(t, 1, A, &v), 0);
		change(2, 1, A, 101);
		CHECK_EQ(get(t, 1, B, &v), 0);
		CHECK_EQ(get(t, 1, E, &v), RMC_TX_SQUASHED);
		CHECK_EQ(put(t, 1, B, 1), RMC_TX_SQUASHED);
		CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
		/* ... in the check, ... */
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(k ? put(t, 1, A, 1) : get(t, 1, A, &v), 0);
		CHECK_EQ(get(t, 1, B, &v), 0);
		CHECK_EQ(rmc_tx_check(t), 0);
		change(2, 1, A, 102);
		CHECK_EQ(rmc_tx_check(t), RMC_TX_SQUASHED);
		rmc_tx_abort(t);
		/* ... and at commit */
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(k ? put(t, 1, A, 1) : get(t, 1, A, &v), 0);
		CHECK_EQ(put(t, 1, B, 1), 0);
		change(2, 1, A, 103);
		CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
		CHECK_EQ(stats(0).squashed[RMC_TX_BY_OTHER], 3 * (k + 1));
	}
	CHECK_EQ(value_of(3, 1, B), 100);
	/* an own one's, too */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, D, &v), 0);
	CHECK_EQ(get(t, 1, A, &v), 0);
	change(2, 1, D, 5);
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	/* one record is of one time, and nobody is in its way */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, A, &v), 0);
	change(2, 1, A, 104);
	CHECK_EQ(rmc_tx_check(t), 0);
	CHECK_EQ(rmc_tx_commit(t), 0);
	cluster_close(&c);
}

/* ---- statuses ---- */

static unsigned int answer_op;
static int answer, answers, after_first;

static int answer_with(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || op->op != answer_op || !answers)
		return RMC_S_OK;
	if (after_first) {
		after_first--;
		return RMC_S_OK;
	}
	answers--;
	return answer;
}

/* The result of a transaction of which an operation ends with this status, so many times */
static int with_status(unsigned int op, int status, int times, int skip)
{
	uint64_t v = 0;
	struct rmc_tx *t;
	int err;

	answer_op = op;
	answer = status;
	answers = times;
	after_first = skip;
	c.before = answer_with;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	err = get(t, 1, A, &v);
	if (!err)
		err = get(t, 1, B, &v);
	if (!err)
		err = put(t, 1, B, v + 1);
	if (err)
		CHECK_EQ(rmc_tx_commit(t), err);
	else
		err = rmc_tx_commit(t);
	answers = 0;
	CHECK_EQ(rmc_tx_quiet(db(0)), err == RMC_TX_IN_DOUBT ? -EIO : 0);
	/* it is over in the RMC, too */
	CHECK(!c.node[0].tx[0].open && !c.node[0].tx[1].open);
	return err;
}

static uint64_t squashed_by(unsigned int op, int status, int times)
{
	struct rmc_tx_stats before = stats(0), now;
	uint64_t cause = RMC_TX_CAUSES, i;

	CHECK_EQ(with_status(op, status, times, 0), RMC_TX_SQUASHED);
	now = stats(0);
	for (i = 0; i < RMC_TX_CAUSES; i++)
		if (now.squashed[i] != before.squashed[i])
			cause = i;
	CHECK_EQ(now.failed, before.failed);
	return cause;
}

static void statuses(void)
{
	struct rmc_tx_options o = options;

	o.slots = 1;
	open_loaded(&o);
	/* of an access: try again a few times, or not */
	CHECK_EQ(with_status(RMC_OP_TX_READ, RMC_S_TX_LOCKED, 2, 0), 0);
	CHECK_EQ(stats(0).locked_reads, 2);
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_TX_LOCKED, 3), RMC_TX_READ_LOCKED);
	CHECK_EQ(with_status(RMC_OP_TX_READ, RMC_S_TIMEOUT, 2, 0), 0);
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_TIMEOUT, 3), RMC_TX_LOST);
	CHECK_EQ(with_status(RMC_OP_TX_READ, RMC_S_BUSY, 50, 0), 0);
	db(0)->o.limit_ms = 10;
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_BUSY, -1), RMC_TX_LOST);
	db(0)->o.limit_ms = 30000;
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_TX_SQUASHED, 1), RMC_TX_BY_OTHER);
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_TX_FULL, 1), RMC_TX_NO_ROOM);
	CHECK_EQ(squashed_by(RMC_OP_TX_READ, RMC_S_TX_STALE, 1), RMC_TX_FORGOTTEN);
	CHECK_EQ(with_status(RMC_OP_TX_READ, RMC_S_NODE_DOWN, 1, 1), RMC_S_NODE_DOWN);
	CHECK_EQ(with_status(RMC_OP_TX_READ, RMC_S_BAD_CONTEXT, 1, 0), RMC_S_BAD_CONTEXT);
	/* of a commit: it had no effect */
	CHECK_EQ(squashed_by(RMC_OP_TX_COMMIT, RMC_S_TX_LOCKED, 1), RMC_TX_LOCK_HELD);
	CHECK_EQ(squashed_by(RMC_OP_TX_COMMIT, RMC_S_TX_FULL, 1), RMC_TX_NO_ROOM);
	CHECK_EQ(squashed_by(RMC_OP_TX_COMMIT, RMC_S_TX_STALE, 1), RMC_TX_FORGOTTEN);
	CHECK_EQ(squashed_by(RMC_OP_TX_COMMIT, RMC_S_TIMEOUT, 1), RMC_TX_LOST);
	CHECK_EQ(with_status(RMC_OP_TX_COMMIT, RMC_S_NODE_DOWN, 1, 0), RMC_S_NODE_DOWN);
	CHECK_EQ(stats(0).failed, 3);
	CHECK_EQ(value_of(1, 1, B), 103);
	/* ... but this is one */
	CHECK_EQ(with_status(RMC_OP_TX_COMMIT, RMC_S_TX_PART_LOST, 1, 0), RMC_TX_IN_DOUBT);
	CHECK_EQ(stats(0).in_doubt, 1);
	CHECK_EQ(stats(0).lost, 1);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	cluster_close(&c);
}

/* Of what a check asks: a node that says that the line is locked has not marked the transaction. */
static void checks(void)
{
	struct rmc_tx *t;
	uint64_t v;
	int k;

	open_loaded(&options);
	for (k = 0; k < 4; k++) {
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(get(t, 1, A, &v), 0);
		CHECK_EQ(get(t, 1, E, &v), 0);
		CHECK_EQ(put(t, 1, E, 1), 0);
		CHECK_EQ(get(t, 1, B, &v), 0);
		answer_op = RMC_OP_TX_READ;
		answer = k < 2 ? RMC_S_TX_LOCKED : RMC_S_TIMEOUT;
		answers = k < 2 ? 2 : k == 2 ? 3 : -1;
		c.before = answer_with;
		CHECK_EQ(rmc_tx_check(t), k < 3 ? 0 : RMC_TX_SQUASHED);
		answers = 0;
		/* what it has written is still there for it */
		if (k < 3) {
			CHECK_EQ(get(t, 1, E, &v), 0);
			CHECK_EQ(v, 1);
		}
		rmc_tx_abort(t);
		/* one node of two records, and another: two questions each time */
		CHECK_EQ(stats(0).checks, k < 2 ? 2 * (k + 1) : k == 2 ? 10 : 16);
	}
	cluster_close(&c);
}

/* ---- slots ---- */

static void slots(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t[RMC_TX_SLOTS_MAX];
	uint64_t used = 0, v;
	int i, k;

	/* a slot that is not free yet is asked for again */
	memset(&c, 0, sizeof(c));
	c.busy = 3;
	cluster_open(&c, CLUSTER_NODES, &o);
	load(1, A, 1);
	for (i = 0; i < 6; i++)
		CHECK_EQ(value_of(0, 1, A), 1);
	CHECK_EQ(stats(0).reads, 2 + 4 * 4);
	cluster_close(&c);
	/* each transaction has a slot of its own; with many, all are used */
	o.slots = RMC_TX_SLOTS_MAX;
	o.records = 1;
	open_all(&o);
	load(1, A, 1);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < RMC_TX_SLOTS_MAX; i++) {
			CHECK_EQ(rmc_tx_begin(db(0), &t[i]), 0);
			CHECK_EQ(get(t[i], 1, A, &v), 0);
			used |= 1ULL << t[i]->s->rmc_slot;
		}
		for (i = 0; i < RMC_TX_SLOTS_MAX; i++)
			CHECK_EQ(rmc_tx_commit(t[i]), 0);
	}
	CHECK_EQ(used, ~0ULL);
	cluster_close(&c);
}

/* More than the RMC takes in one transaction */
static void too_much(void)
{
	const struct rmc_tx_table table = { .records = 300, .bytes = 1024 };
	struct rmc_tx_options o = { .table = &table, .tables = 1, .records = 300 };
	uint8_t data[1024] = { 1 };
	struct rmc_tx *t;
	uint64_t i;
	int k;

	open_all(&o);
	for (k = 0; k < 4; k++) {
		/* 256 ranges of a byte; 63 KiB; and a little more */
		uint64_t n = k < 2 ? RMC_TX_MAX_RANGES + (unsigned int)k : 59 + 2 * (unsigned int)k;

		for (i = 0; i < n; i++)
			CHECK_EQ(rmc_tx_load(db((int)i % CLUSTER_NODES), rmc_tx_record(0, i), data,
					     sizeof(data)), 0);
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		for (i = 0; i < n; i++)
			CHECK_EQ(rmc_tx_put(t, rmc_tx_record(0, i), data,
					    k < 2 ? 1 : sizeof(data)), 0);
		CHECK_EQ(rmc_tx_commit(t), k == 1 || k == 3 ? -E2BIG : 0);
	}
	cluster_close(&c);
}

/* ---- a queue pair that dies ---- */

static int kill_before(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || op->op != answer_op)
		return RMC_S_OK;
	fake_rmc_kill(&n->rmc);
	return FAKE_HOLD;
}

static void dead(void)
{
	struct rmc_tx *t;
	int k;

	for (k = 0; k < 3; k++) {
		open_loaded(&options);
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		answer_op = k ? RMC_OP_TX_COMMIT : RMC_OP_TX_READ;
		c.before = k < 2 ? kill_before : NULL;
		CHECK_EQ(k ? write_fields(t, NULL) : read_a(t, NULL), k ? 0 : -ESHUTDOWN);
		if (k == 2)
			fake_rmc_kill(&c.node[0].rmc);
		/* nobody knows, or it was never sent */
		CHECK_EQ(rmc_tx_commit(t), k == 1 ? RMC_TX_IN_DOUBT : -ESHUTDOWN);
		cluster_close(&c);
	}
}

/* There are no locks of the dead */
static void breaks(void)
{
	open_loaded(&options);
	CHECK_EQ(rmc_tx_break(db(0), 1, RMC_TX_FENCED), 0);
	CHECK_EQ(rmc_tx_break(db(0), RMC_TX_NOBODY, RMC_TX_WRITERS_QUIET), 0);
	CHECK_EQ(rmc_tx_break(db(0), 0, 0), -EINVAL);
	cluster_close(&c);
}

/* An RMC without transactions is refused, before anything is asked of it. */
static void old_rmc(void)
{
	struct rmc_ctx old = {
		.query = { .op_mask = 1 << RMC_OP_WRITE_ONCE, .max_length = 1 << 20 },
	};
	struct rmc_tx_options o = options;
	struct rmc_team team;

	o.system = cluster_system(o.system);
	open_all(&options);
	team = c.node[0].team;
	team.ctx = &old;
	errno = 0;
	CHECK(!rmc_tx_open_on(&team, &o, &c.node[0].qp, c.node[0].memory));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(strstr(rmc_errmsg(), "no transactions"));
	cluster_close(&c);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "the operations of a transaction, and what they write", operations },
		{ "presence is a part of what is written", presence },
		{ "another one's commit squashes, wherever it is noticed", squashes },
		{ "each status of an access and of a commit", statuses },
		{ "a check asks each node once", checks },
		{ "slots of the RMC", slots },
		{ "more than the RMC writes at once", too_much },
		{ "a queue pair dies", dead },
		{ "no locks are left to break", breaks },
		{ "an RMC without transactions", old_rmc },
	};

	setenv("RMC_TEST_SYSTEM", cluster_system("rmc"), 1);
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
