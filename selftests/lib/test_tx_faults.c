/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions of <rmc/tx.h> when something fails: the order of a commit's operations, which of
 * them it waits for, replies that are lost, and coordinators that die at each step, enumerated.
 */
#include <unistd.h>
#include "tx_test.h"

#define A	1		/* records of table 1, at nodes 1, 2, 3 and 0 */
#define B	2
#define C	3
#define D	4
#define LINES	4		/* of each of them */

/* A transfer from A to B, which also reads C */
static int transfer(struct rmc_tx *t, void *arg)
{
	uint64_t a = 0, b = 0, unused;
	int err;

	(void)arg;
	err = get(t, 1, A, &a);
	if (!err)
		err = get(t, 1, B, &b);
	if (!err)
		err = get(t, 1, C, &unused);
	if (!err)
		err = put(t, 1, A, a - 10);
	return err ? err : put(t, 1, B, b + 10);
}

static void open_loaded(void)
{
	open_all(&options);
	load(1, A, 100);
	load(1, B, 100);
	load(1, C, 100);
	load(1, D, 100);
}

/* ---- the order of a commit's operations ---- */

static struct fake_op seen[CLUSTER_LOG];
static unsigned int count;
static int hold;

static int record_op(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid)
		return RMC_S_OK;
	while (op->op == RMC_OP_WRITE_ONCE && __atomic_load_n(&hold, __ATOMIC_ACQUIRE))
		usleep(100);
	if (count < CLUSTER_LOG)
		seen[count++] = *op;
	return RMC_S_OK;
}

static void order(void)
{
	static const struct { unsigned int op, nid, length; } expected[] = {
		{ RMC_OP_READ, A, 222 }, { RMC_OP_READ, B, 222 }, { RMC_OP_READ, C, 222 },
		{ RMC_OP_CAS, A, 8 }, { RMC_OP_CAS, B, 8 },
		{ RMC_OP_READ, C, 8 },
		{ RMC_OP_WRITE_ONCE, A, 222 }, { RMC_OP_WRITE_ONCE, B, 222 },
	};
	struct rmc_tx_stats s;
	unsigned int i;

	open_loaded();
	count = 0;
	c.before = record_op;
	/* it has committed before anything is written */
	__atomic_store_n(&hold, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
	s = stats(0);
	CHECK_EQ(s.committed, 1);
	CHECK_EQ(s.rounds, 2);
	CHECK_EQ(value_of(3, 1, A), -RMC_TX_SQUASHED);
	CHECK_EQ(value_of(2, 1, B), -RMC_TX_SQUASHED);
	CHECK_EQ(value_of(3, 1, C), 100);
	/* its own node does not see half of it either */
	__atomic_store_n(&hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 1, A), 90);
	CHECK_EQ(value_of(2, 1, B), 110);
	CHECK_EQ(count, sizeof(expected) / sizeof(expected[0]));
	for (i = 0; i < count && i < sizeof(expected) / sizeof(expected[0]); i++) {
		CHECK_EQ(seen[i].op, expected[i].op);
		CHECK_EQ(seen[i].nid, expected[i].nid);
		CHECK_EQ(seen[i].length, expected[i].length);
	}
	/* only reads: no locks; one record: no validation either */
	count = 0;
	CHECK_EQ(value_of(0, 1, A), 90);
	CHECK_EQ(count, 1);
	s = stats(0);
	CHECK_EQ(s.locks, 2);
	CHECK_EQ(s.read_only, 1);
	cluster_close(&c);
}

/* ---- replies that are lost ---- */

static unsigned int lose_op;
static int lose_after, lose_before, lose_lines;

static int lose_request(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->op == lose_op && lose_before && lose_before-- ? RMC_S_TIMEOUT :
	       RMC_S_OK;
}

static int lose_reply(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->op == lose_op && lose_after && lose_after-- ? RMC_S_TIMEOUT :
	       RMC_S_OK;
}

/*
 * The first lines of a write arrive, the others are lost with the reply. While it is repeated, the
 * record is locked: others could lock it when its last line has come, and more lines come later.
 */
static int lose_rest(struct cluster_node *n, const struct fake_op *op)
{
	if (!n->nid && !lose_lines && op->nid == A)
		CHECK_EQ(record_owner(rmc_load_acquire(&record_at(1, A)->word)), 0);
	return !n->nid && lose_lines && !--lose_lines ? RMC_S_TIMEOUT : RMC_S_OK;
}

static void lost(void)
{
	static const unsigned int ops[] = { RMC_OP_READ, RMC_OP_CAS, RMC_OP_WRITE_ONCE };
	unsigned int k, after;
	uint64_t v;

	for (k = 0; k < 3; k++)
		for (after = 0; after < 2; after++) {
			open_loaded();
			c.before = lose_request;
			c.after = lose_reply;
			lose_op = ops[k];
			lose_before = after ? 0 : 2;
			lose_after = after ? 2 : 0;
			CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
			CHECK_EQ(rmc_tx_quiet(db(0)), 0);
			CHECK_EQ(lose_before + lose_after, 0);
			CHECK_EQ(value_of(3, 1, A), 90);
			CHECK_EQ(value_of(3, 1, B), 110);
			for (v = A; v <= C; v++)
				CHECK(!record_locked(record_at(1, v)->word));
			CHECK_EQ(stats(0).squashed[RMC_TX_LOST] != 0, lose_op == RMC_OP_CAS);
			CHECK_EQ(stats(0).repeated != 0, lose_op == RMC_OP_WRITE_ONCE);
			cluster_close(&c);
		}
}

/* A lock that may have been taken is given up. */
static void in_doubt(void)
{
	struct rmc_tx *t;
	uint64_t v = 0;

	open_loaded();
	c.before = lose_request;
	c.after = lose_reply;
	lose_op = RMC_OP_CAS;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, A, &v), 0);
	CHECK_EQ(put(t, 1, A, v), 0);
	lose_after = 1;
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK(!record_locked(record_at(1, A)->word));
	cluster_close(&c);
}

/* A lock that comes late, when its transaction has given it up: whoever left it clears it. */
static void late_lock(void)
{
	struct record *r;

	open_loaded();
	r = record_at(1, A);
	rmc_store_release(&r->word, record_lock_word(r->word, 0, 99));
	CHECK_EQ(value_of(3, 1, A), -RMC_TX_SQUASHED);
	CHECK_EQ(value_of(0, 1, A), 100);
	CHECK_EQ(value_of(3, 1, A), 100);
	/* also of a record of its own */
	r = record_at(1, D);
	rmc_store_release(&r->word, record_lock_word(r->word, 0, 99));
	CHECK_EQ(value_of(0, 1, D), 100);
	/* not that of another */
	rmc_store_release(&r->word, record_lock_word(r->word, 2, 1));
	CHECK_EQ(value_of(0, 1, D), -RMC_TX_SQUASHED);
	cluster_close(&c);
}

/* Memory of a transaction is used again when its writes have come, and not before. */
static int release_armed;

static void release(void *arg)
{
	(void)arg;
	if (!release_armed)
		return;
	release_armed = 0;
	__atomic_store_n(&hold, 0, __ATOMIC_RELEASE);
}

static void reuse(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t, *other;
	int i;

	o.wait = release;
	o.slots = 1;
	open_all(&o);
	load(1, A, 100);
	load(1, B, 100);
	load(1, C, 100);
	c.before = record_op;
	__atomic_store_n(&hold, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
	/* the other set, as often as it is needed */
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rmc_tx_begin(db(0), &other), 0);
		rmc_tx_abort(other);
	}
	/* until that is in use, too, by a read behind the writes */
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(rmc_tx_fetch(t, rmc_tx_record(1, 5)), 0);
	rmc_tx_abort(t);
	release_armed = 1;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(release_armed, 0);
	rmc_tx_abort(t);
	CHECK_EQ(value_of(3, 1, A), 90);
	CHECK_EQ(value_of(3, 1, B), 110);
	cluster_close(&c);
}

/* Another transaction may have written the record after the write whose reply was lost. */
static int late_change;

static int change_then_lose(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || op->op != RMC_OP_WRITE_ONCE || op->nid != A || !late_change)
		return RMC_S_OK;
	late_change = 0;
	change(3, 1, A, 7);
	return RMC_S_TIMEOUT;
}

static void not_again(void)
{
	open_loaded();
	late_change = 1;
	c.after = change_then_lose;
	CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(late_change, 0);
	CHECK_EQ(value_of(2, 1, A), 7);
	cluster_close(&c);
}

/* Of a write, some lines have come, in either order. */
static void half_written(void)
{
	int backwards, k;

	for (backwards = 0; backwards < 2; backwards++)
		for (k = 1; k <= LINES; k++) {
			open_loaded();
			c.backwards = backwards;
			c.line = lose_rest;
			lose_lines = k;
			CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
			CHECK_EQ(rmc_tx_quiet(db(0)), 0);
			CHECK_EQ(value_of(3, 1, A), 90);
			CHECK_EQ(value_of(3, 1, B), 110);
			/* probe, write, unlock; its own lock is still there if line 0 has not come */
			CHECK_EQ(stats(0).repeated, backwards || k == 1 ? 3 : 4);
			cluster_close(&c);
		}
}

/* ---- records that are not what a write in doubt has left ---- */

static int mark_at, restart;

/* rmc_tx_break() takes this node for dead when it wrote a record again, and did not unlock it. */
static int mark_torn(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf;

	if (n->nid || op->op != RMC_OP_CAS || op->nid != A || !mark_at ||
	    !record_locked(operand[0]) || operand[0] != r->word)
		return RMC_S_OK;
	mark_at = 0;
	rmc_store_release(&r->word, record_lock_word(r->word, RECORD_TORN, 0));
	return RMC_S_OK;
}

static void marked_at_last(void)
{
	open_loaded();
	mark_at = 1;
	lose_lines = 3;
	c.before = mark_torn;
	c.line = lose_rest;
	CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(mark_at, 0);
	CHECK_EQ(value_of(3, 1, A), 90);
	CHECK_EQ(stats(0).lost, 0);
	cluster_close(&c);
}

/*
 * Node A ends when it has stored a write, whose reply is lost, and is back at once, with other
 * memory: no operation says that it was down.
 */
static int restart_at(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);

	if (n->nid || op->nid != A || op->op != RMC_OP_WRITE_ONCE || !restart)
		return RMC_S_OK;
	if (restart == 1)
		memset(r, 0, LINES * LINE);
	__atomic_store_n(&restart, 0, __ATOMIC_RELEASE);
	return RMC_S_TIMEOUT;
}

static int restarted_info(const struct rmc_tx_db *d, struct rmc_node_info *info)
{
	(void)d;
	info->state = RMC_NODE_UP;
	info->epoch = info->nid == A && !__atomic_load_n(&restart, __ATOMIC_ACQUIRE);
	return 0;
}

/* With memory of zeros; with the record in it, as if all of it had come */
static void restarted_at_once(void)
{
	for (restart = 1; restart <= 2; restart++) {
		int memory = restart;

		open_loaded();
		db(0)->node_info = restarted_info;
		c.after = restart_at;
		CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
		CHECK_EQ(rmc_tx_quiet(db(0)), -EIO);
		CHECK_EQ(stats(0).lost, 1);
		CHECK_EQ(value_of(3, 1, B), 110);
		cluster_close(&c);
		restart = memory;
	}
}

/* Its probe is answered by the new one only. */
static int probes_lost;

static int probe_later(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || op->nid != A || op->op != RMC_OP_READ || op->length == 8 || !probes_lost)
		return RMC_S_OK;
	if (!--probes_lost)
		__atomic_store_n(&restart, 0, __ATOMIC_RELEASE);
	return RMC_S_OK;
}

static void restarted_later(void)
{
	open_loaded();
	db(0)->node_info = restarted_info;
	restart = 2;
	lose_op = RMC_OP_WRITE_ONCE;
	lose_after = 1;
	probes_lost = 2;		/* the first one is the transaction's own read */
	c.before = probe_later;
	c.after = lose_reply;
	CHECK_EQ(rmc_tx_run(db(0), transfer, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), -EIO);
	CHECK_EQ(probes_lost, 0);
	CHECK_EQ(stats(0).lost, 1);
	cluster_close(&c);
}

/* ---- coordinators that die ---- */

static int steps, stored[C + 1];

/* One step of node 0; when it has done all that it will do, nothing more of it comes. */
static int step(struct cluster_node *n)
{
	if (n->nid || steps < 0)
		return RMC_S_OK;
	if (steps && steps--)
		return RMC_S_OK;
	__atomic_store_n(&n->rmc.flags->dead, 1, __ATOMIC_RELEASE);
	return FAKE_HOLD;
}

static int step_op(struct cluster_node *n, const struct fake_op *op)
{
	return op->op == RMC_OP_WRITE_ONCE ? RMC_S_OK : step(n);
}

static int step_line(struct cluster_node *n, const struct fake_op *op)
{
	int status = step(n);

	stored[op->nid] += !n->nid && !status;
	return status;
}

/* Nobody else writes, and node 0 does not come back. */
static int64_t break_dead(int node)
{
	return rmc_tx_break(db(node), 0, RMC_TX_FENCED | RMC_TX_WRITERS_QUIET);
}

/* What a record has to be: its lines have come all, none, or some. */
static void check_record(uint64_t rid, int64_t before, int64_t after)
{
	int64_t expected = stored[rid] == LINES ? after : stored[rid] ? -EUCLEAN : before;

	CHECK_EQ(value_of(3, 1, rid), expected);
	if (expected != -EUCLEAN)
		return;
	CHECK_EQ(stats((int)rid).torn, 1);
	CHECK_EQ(break_dead((int)rid), 0);
	load(1, rid, 55);
	CHECK_EQ(value_of(3, 1, rid), 55);
	CHECK_EQ(value_of((int)rid, 1, rid), 55);
}

/* Returns whether it did all of its steps. */
static int die_after(int n, int backwards, int *windows)
{
	struct record *r;
	int err, whole;

	open_loaded();
	r = record_at(1, C);
	memset(stored, 0, sizeof(stored));
	c.backwards = backwards;
	c.before = step_op;
	c.line = step_line;
	steps = n;
	err = rmc_tx_run(db(0), transfer, NULL);
	if (!err)
		err = rmc_tx_quiet(db(0));
	CHECK(!err || err == -ESHUTDOWN || err == RMC_TX_IN_DOUBT);
	steps = steps > 0 ? -1 : steps;
	whole = stored[A] == LINES && stored[B] == LINES;
	CHECK_EQ(!err, whole);
	*windows += !whole && stored[A];
	/* the others know that it is dead */
	CHECK(break_dead(A) >= 0);
	CHECK(break_dead(B) >= 0);
	/* locks of the living stay */
	r->word = record_lock_word(r->word, 2, 1);
	CHECK_EQ(break_dead(C), 0);
	CHECK(record_locked(r->word));
	r->word = record_version(r->word);
		/* nothing, unless something was written: then what was */
	check_record(A, 100, 90);
	check_record(B, 100, 110);
	check_record(C, 100, 100);
	/* and nobody is in the way of others */
	change(3, 1, A, 1);
	change(3, 1, B, 2);
	CHECK_EQ(value_of(2, 1, A), 1);
	CHECK_EQ(value_of(1, 1, B), 2);
	cluster_close(&c);
	return whole;
}

static void deaths(void)
{
	int backwards, n, windows;

	for (backwards = 0; backwards < 2; backwards++) {
		windows = 0;
		for (n = 0; !die_after(n, backwards, &windows); n++)
			;
		/* three reads, two locks, a validation, four lines twice */
		CHECK_EQ(n, 3 + 2 + 1 + 2 * LINES);
		/* from the first line on, and before the last: half of it has been done */
		CHECK_EQ(windows, 2 * LINES - 1);
	}
}

/* While a write is repeated of which some lines have come: never is a part of it taken for whole. */
static int repeating;

static int repeat_op(struct cluster_node *n, const struct fake_op *op)
{
	return n->nid || !repeating || op->op == RMC_OP_WRITE_ONCE ? RMC_S_OK : step(n);
}

static int repeat_line(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || repeating)
		return step(n);
	if (op->nid != A || --lose_lines)
		return RMC_S_OK;
	repeating = 1;
	return RMC_S_TIMEOUT;
}

/* Returns whether it did all of its steps. */
static int die_repeating(int n, int lines, int backwards)
{
	int64_t v;
	int err;

	open_loaded();
	repeating = 0;
	c.backwards = backwards;
	c.before = repeat_op;
	c.line = repeat_line;
	lose_lines = lines;
	steps = n;
	err = rmc_tx_run(db(0), transfer, NULL);
	if (!err)
		err = rmc_tx_quiet(db(0));
	CHECK(!err || err == -ESHUTDOWN || err == RMC_TX_IN_DOUBT);
	steps = steps > 0 ? -1 : steps;
	CHECK(break_dead(A) >= 0);
	CHECK(break_dead(B) >= 0);
	v = value_of(3, 1, A);		/* all of its words, or it is torn */
	CHECK(v == 90 || (err && (v == 100 || v == -EUCLEAN)));
	if (v == -EUCLEAN)
		load(1, A, 55);
	change(3, 1, A, 1);
	CHECK_EQ(value_of(2, 1, A), 1);
	cluster_close(&c);
	return !err;
}

static void deaths_repeating(void)
{
	int backwards, lines, n;

	for (backwards = 0; backwards < 2; backwards++)
		for (lines = 1; lines <= LINES; lines++) {
			for (n = 0; !die_repeating(n, lines, backwards); n++)
				;
			/* the other record's lines; probe, perhaps a lock, lines, unlock */
			CHECK_EQ(n, LINES + 1 + (!backwards && lines > 1) + LINES + 1);
		}
}

/* ---- numbers that wrap ---- */

static void set_version(struct record *r, uint64_t version)
{
	int i;

	r->word = version;
	for (i = 1; i < LINES; i++)
		*line_version((uint8_t *)r + i * LINE) = (uint16_t)version;
}

/* The version of lines, that of the record, and the number of attempts */
static void wraps(void)
{
	static const uint64_t last[] = { 0xfffe, RECORD_VERSION };
	struct record *r;
	unsigned int i;
	int writer;

	for (i = 0; i < 2; i++)
		for (writer = 0; writer < 2; writer++) {
			open_loaded();
			r = record_at(1, A);
			set_version(r, last[i]);
			db(writer)->attempt = RECORD_ATTEMPT;
			/* 0: remotely, and a part of it is repeated; 1: by its owner */
			c.line = lose_rest;
			lose_lines = writer ? 0 : 3;
			change(writer, 1, A, 7);
			CHECK_EQ(r->word, record_next(last[i]));
			CHECK(r->word == 0 || r->word == 0x10000);
			CHECK_EQ(value_of(3, 1, A), 7);
			CHECK_EQ(value_of(1, 1, A), 7);
			change(2, 1, A, 8);
			CHECK_EQ(value_of(0, 1, A), 8);
			CHECK_EQ(db(writer)->attempt, 0);
			cluster_close(&c);
		}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a commit's operations, and those that it waits for", order },
		{ "requests and replies are lost", lost },
		{ "a lock whose reply was lost", in_doubt },
		{ "a lock that comes late", late_lock },
		{ "memory is used again when its writes have come", reuse },
		{ "a write is not repeated over another's", not_again },
		{ "a write of which some lines have come is repeated", half_written },
		{ "a record is marked before the last step of a repeated write", marked_at_last },
		{ "a node is restarted, and replies, after a write in doubt", restarted_at_once },
		{ "a node is restarted before it replies to a probe", restarted_later },
		{ "a coordinator dies at each step, and its locks are broken", deaths },
		{ "a coordinator dies while it repeats a write", deaths_repeating },
		{ "versions and attempts wrap", wraps },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
