/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions of <rmc/tx.h> of which a part is in doubt, and others that use the same records
 * meanwhile: enumerated, as each case takes two faults, or two slots, in an order of their own.
 */
#include <unistd.h>
#include "tx_test.h"

#define A	1		/* records of table 1, at nodes 1, 2 and 0 */
#define B	2
#define D	4
#define LINES	4		/* of each of them */

static void open_loaded(const struct rmc_tx_options *o)
{
	open_all(o);
	load(1, A, 100);
	load(1, B, 100);
	load(1, D, 100);
}

/* Write one record; *s: the set of its transaction, if it is not NULL. The result of commit */
static int set_value(int node, uint64_t rid, uint64_t v, struct tx_set **s)
{
	struct rmc_tx *t;
	int err;

	CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
	if (s)
		*s = t->s;
	err = put(t, 1, rid, v);
	if (err) {
		rmc_tx_abort(t);
		return err;
	}
	return rmc_tx_commit(t);
}

static void until(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		usleep(50);
}

static void raise(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

/* ---- a write whose reply was lost, and another transaction that writes the record ---- */

enum party { SAME_NODE, OTHER_NODE, OWNER };
enum step { LOCKED, FIRST_LINE, LAST_LINE, WRITTEN, STEPS };

static enum step step;
static int other, writes, first_stored, reached, probe_allowed;
static uint64_t first_image;

/* The write of the second transaction */
static int second(const struct cluster_node *n, const struct fake_op *op)
{
	return op->op == RMC_OP_WRITE_ONCE && n->nid == other && writes == 2;
}

static int stop_here(void)
{
	raise(&reached);
	return FAKE_HOLD;
}

static int before_two(struct cluster_node *n, const struct fake_op *op)
{
	if (op->op == RMC_OP_WRITE_ONCE && op->nid == 1 && ++writes == 1)
		first_image = op->lbuf;
	/* probes of the first one, until it is their turn */
	if (!n->nid && op->op == RMC_OP_READ && op->lbuf == first_image &&
	    !__atomic_load_n(&probe_allowed, __ATOMIC_ACQUIRE))
		return RMC_S_TIMEOUT;
	return step == LOCKED && second(n, op) ? stop_here() : RMC_S_OK;
}

static int line_two(struct cluster_node *n, const struct fake_op *op)
{
	static int lines;

	if (!second(n, op) || step == WRITTEN || reached)
		return RMC_S_OK;
	return lines++ & 1 ? stop_here() : RMC_S_OK;
}

static int after_two(struct cluster_node *n, const struct fake_op *op)
{
	if (op->op != RMC_OP_WRITE_ONCE)
		return RMC_S_OK;
	if (second(n, op) && step == WRITTEN)
		return stop_here();
	if (n->nid || writes != 1)
		return RMC_S_OK;
	raise(&first_stored);
	return RMC_S_TIMEOUT;
}

/* As the record's owner does it, in steps */
static void owner_writes(struct record *r)
{
	uint64_t word = r->word, data[LONG / 8];
	uint8_t image[LINES * LINE];
	size_t i, from, to;

	for (i = 0; i < LONG / 8; i++)
		data[i] = 2;
	record_image(image, data, LONG, record_next(word), r->incarnation);
	CHECK(record_swap(r, &word, record_lock_word(word, 1, 77)));
	from = step == WRITTEN ? 1 : step == FIRST_LINE ? 1 : LINES - 1;
	to = step == LOCKED ? 0 : step == FIRST_LINE ? 1 : LINES - 1;
	for (i = from; i <= to; i++)
		memcpy((uint8_t *)r + i * LINE, image + i * LINE, LINE);
	if (step == WRITTEN) {
		memcpy((uint8_t *)r + 8, image + 8, LINE - 8);
		rmc_store_release(&r->word, *(uint64_t *)image);
	}
}

static void owner_ends(struct record *r)
{
	uint64_t data[LONG / 8];
	size_t i;

	for (i = 0; i < LONG / 8; i++)
		data[i] = 2;
	if (record_locked(r->word))
		record_store(r, data, LONG, record_next(record_version(r->word)), r->incarnation);
}

static void two_writers(enum party party)
{
	uint8_t snapshot[LINES * LINE];
	struct tx_set *first;
	struct record *r;

	open_loaded(&options);
	r = record_at(1, A);
	other = party == SAME_NODE ? 0 : party == OTHER_NODE ? 3 : 1;
	writes = first_stored = reached = probe_allowed = 0;
	first_image = 0;
	c.backwards = step == LAST_LINE;
	c.before = before_two;
	c.line = line_two;
	c.after = after_two;
	c.node[other].rmc.held_status = RMC_S_TIMEOUT;
	CHECK_EQ(set_value(0, A, 1, &first), 0);
	until(&first_stored);
	if (party == OWNER) {
		owner_writes(r);
	} else {
		CHECK_EQ(set_value(other, A, 2, NULL), 0);
		until(&reached);
	}
	/* whoever has locked the new version has read it: the first one has nothing to repeat */
	memcpy(snapshot, r, sizeof(snapshot));
	raise(&probe_allowed);
	CHECK_EQ(rmc_tx_await(db(0), &first->pending), 0);
	CHECK(!memcmp(snapshot, r, sizeof(snapshot)));
	if (party == OWNER)
		owner_ends(r);
	else
		raise(&c.node[other].rmc.release);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(rmc_tx_quiet(db(other)), 0);
	CHECK_EQ(value_of(2, 1, A), 2);
	CHECK_EQ(stats(0).lost + stats(other).lost, 0);
	CHECK(stats(0).repeated);
	cluster_close(&c);
}

static void same_node(void)
{
	for (step = LOCKED; step < STEPS; step++)
		two_writers(SAME_NODE);
}

static void other_node(void)
{
	for (step = LOCKED; step < STEPS; step++)
		two_writers(OTHER_NODE);
}

static void owner(void)
{
	for (step = LOCKED; step < STEPS; step++)
		two_writers(OWNER);
}

/* Another node locks the record between the probe's reads of two lines, so that it seems torn. */
static int probes, relocks;

static int lock_after_probe(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf;

	if (n->nid || !writes)
		return RMC_S_OK;
	if (op->op == RMC_OP_READ && !probes++)
		*line_version((uint8_t *)r + 2 * LINE) += 2;
	if (op->op == RMC_OP_CAS && operand[0] == r->word && !relocks++)
		r->word = record_lock_word(r->word, 3, 9);
	return RMC_S_OK;
}

static int lose_first(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->op == RMC_OP_WRITE_ONCE && !writes++ ? RMC_S_TIMEOUT : RMC_S_OK;
}

static void locked_while_probed(void)
{
	struct record *r;
	uint64_t version;

	open_loaded(&options);
	r = record_at(1, A);
	version = record_next(r->word);
	writes = probes = relocks = 0;
	c.before = lock_after_probe;
	c.after = lose_first;
	CHECK_EQ(set_value(0, A, 1, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(relocks, 1);
	CHECK_EQ(probes, 2);
	CHECK_EQ(writes, 1);
	CHECK_EQ(r->word, record_lock_word(version, 3, 9));
	cluster_close(&c);
}

/* What rmc_tx_break() has done to a living node's write: marked it torn; or unlocked it. */
static int mark;

static int break_lock(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);
	static uint64_t version;

	if (n->nid || op->op != RMC_OP_WRITE_ONCE)
		return RMC_S_OK;
	if (writes++) {
		/* until line 0 is written again */
		CHECK_EQ(record_version(r->word), version);
		return RMC_S_OK;
	}
	version = record_version(r->word);
	rmc_store_release(&r->word, mark == RECORD_TORN ? record_lock_word(r->word, mark, 0) :
			  record_version(r->word));
	return RMC_S_TIMEOUT;
}

static void broken_alive(void)
{
	open_loaded(&options);
	writes = 0;
	mark = RECORD_TORN;
	c.before = break_lock;
	CHECK_EQ(set_value(0, A, 1, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 1, A), 1);
	/* the transaction has committed, and this write of it will never come: that is reported */
	writes = mark = 0;
	CHECK_EQ(set_value(0, A, 2, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), -EIO);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(stats(0).lost, 1);
	CHECK_EQ(value_of(3, 1, A), 1);
	cluster_close(&c);
}

/* ---- locks of one node ---- */

static int armed, held, nested;

/* The lock is taken, and its reply is on its way. */
static int hold_lock(struct cluster_node *n, const struct fake_op *op)
{
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf, v = operand[0];

	if (n->nid || !armed || op->op != RMC_OP_CAS || held)
		return RMC_S_OK;
	__atomic_compare_exchange_n((uint64_t *)(c.node[op->nid].segment + op->offset), &v,
				    operand[1], 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	operand[0] = v;
	raise(&held);
	return FAKE_HOLD;
}

/* Meanwhile another slot of the node meets the lock, and another node writes. */
static void meet_lock(void *arg)
{
	(void)arg;
	if (!armed || nested || !__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		return;
	nested = 1;
	CHECK_EQ(value_of(0, 1, A), -RMC_TX_SQUASHED);
	CHECK_EQ(set_value(3, A, 101, NULL), RMC_TX_SQUASHED);
	raise(&c.node[0].rmc.release);
}

static void lock_in_flight(void)
{
	struct rmc_tx_options o = options;
	struct rmc_tx *t;
	uint64_t v = 0;

	o.wait = meet_lock;
	armed = held = nested = 0;
	open_loaded(&o);
	c.before = hold_lock;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, A, &v), 0);
	CHECK_EQ(put(t, 1, A, v + 10), 0);
	armed = 1;
	CHECK_EQ(rmc_tx_commit(t), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(nested, 1);
	CHECK_EQ(value_of(2, 1, A), 110);
	cluster_close(&c);
}

/*
 * Compare-and-swaps that unlock come late, when a later transaction of the node has locked the same
 * version again. late: one that was lost; it is executed after the next lock was taken.
 */
static uint64_t late_from, late_to;
static int unlocks, lose_reply_of_write;

static int keep_unlock(struct cluster_node *n, const struct fake_op *op)
{
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf;

	if (n->nid || op->op != RMC_OP_CAS || !record_locked(operand[0]) ||
	    record_locked(operand[1]) || unlocks++)
		return RMC_S_OK;
	late_from = operand[0];
	late_to = operand[1];
	return RMC_S_TIMEOUT;
}

static int unlock_late(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);
	uint64_t from = late_from;

	if (n->nid || op->op != RMC_OP_CAS || unlocks < 2 ||
	    record_locked(((uint64_t *)(uintptr_t)op->lbuf)[0]) || !record_locked(r->word))
		return RMC_S_OK;
	CHECK(!record_swap(r, &from, late_to));
	raise(&reached);
	return RMC_S_OK;
}

static void late_unlock(void)
{
	struct rmc_tx *t;
	uint64_t v;

	open_loaded(&options);
	unlocks = reached = 0;
	c.before = keep_unlock;
	c.after = unlock_late;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, B, &v), 0);
	CHECK_EQ(put(t, 1, A, 5), 0);
	change(3, 1, B, 7);
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(unlocks, 2);
	CHECK_EQ(set_value(0, A, 6, NULL), 0);
	CHECK_EQ(reached, 1);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 1, A), 6);
	cluster_close(&c);
}

/* The first line of the write comes; so it is relocked, and the last step is the one that is late. */
static int lose_lines(struct cluster_node *n, const struct fake_op *op)
{
	(void)op;
	return !n->nid && lose_reply_of_write && !--lose_reply_of_write ? RMC_S_TIMEOUT : RMC_S_OK;
}

static void late_finish(void)
{
	open_loaded(&options);
	unlocks = reached = 0;
	lose_reply_of_write = 2;
	c.before = keep_unlock;
	c.after = unlock_late;
	c.line = lose_lines;
	CHECK_EQ(set_value(0, A, 5, NULL), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	/* the probe after the lost one finds the lock still there: it is written once more */
	CHECK_EQ(unlocks, 2);
	CHECK_EQ(set_value(0, A, 6, NULL), 0);
	CHECK_EQ(reached, 1);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 1, A), 6);
	cluster_close(&c);
}

/* While a stale lock is being cleared, a third slot locks the same version. */
static int lock_newly(struct cluster_node *n, const struct fake_op *op)
{
	struct record *r = record_at(1, A);

	if (!n->nid && op->op == RMC_OP_CAS && !unlocks++)
		rmc_store_release(&r->word, record_lock_word(r->word, 0, 8));
	return RMC_S_OK;
}

static void clears_only_stale(void)
{
	struct record *r;
	uint64_t word;

	open_loaded(&options);
	r = record_at(1, A);
	word = r->word;
	unlocks = 1;
	c.before = lock_newly;
	rmc_store_release(&r->word, record_lock_word(word, 0, 7));
	CHECK_EQ(value_of(0, 1, A), 100);
	rmc_store_release(&r->word, record_lock_word(word, 0, 7));
	unlocks = 0;
	value_of(0, 1, A);
	CHECK(unlocks >= 1);
	/* the second one is stale as well here, and went by an operation of its own */
	CHECK(unlocks >= 2 || r->word == record_lock_word(word, 0, 8));
	cluster_close(&c);
}

/* ---- nodes that are down, for a while or for ever ---- */

static int down, asked;
static uint32_t epoch_now;

static int is_down(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid || op->nid != 1 || down < 0 || (!down && op->op != RMC_OP_WRITE_ONCE))
		return RMC_S_OK;
	if (!down)
		down = 5;		/* from its write on, some operations */
	down = down == 1 ? -1 : down - 1;
	return RMC_S_NODE_DOWN;
}

static int info_of(const struct rmc_tx_db *d, struct rmc_node_info *info)
{
	(void)d;
	asked++;
	info->epoch = info->nid == 1 ? epoch_now : 0;
	info->state = info->nid == 1 ? RMC_NODE_DOWN : RMC_NODE_UP;
	return 0;
}

static int transfer(void)
{
	struct rmc_tx *t;
	uint64_t a = 0, b = 0;

	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(get(t, 1, A, &a), 0);
	CHECK_EQ(get(t, 1, B, &b), 0);
	CHECK_EQ(put(t, 1, A, a - 10), 0);
	CHECK_EQ(put(t, 1, B, b + 10), 0);
	return rmc_tx_commit(t);
}

static void paused(void)
{
	open_loaded(&options);
	db(0)->node_info = info_of;
	down = asked = 0;
	epoch_now = 0;
	c.before = is_down;
	CHECK_EQ(transfer(), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(down, -1);
	CHECK(asked);
	CHECK_EQ(value_of(3, 1, A), 90);
	CHECK_EQ(value_of(3, 1, B), 110);
	CHECK_EQ(stats(0).lost, 0);
	cluster_close(&c);
}

/* It has another epoch: its memory is gone. Nothing of this node's locks is stale from then on. */
static void restarted(void)
{
	struct record *r;

	open_loaded(&options);
	db(0)->node_info = info_of;
	down = 0;
	epoch_now = 3;
	c.before = is_down;
	CHECK_EQ(transfer(), 0);
	CHECK_EQ(rmc_tx_quiet(db(0)), -EIO);
	CHECK_EQ(stats(0).lost, 1);
	CHECK_EQ(value_of(3, 1, B), 110);
	down = -1;
	r = record_at(1, A);
	CHECK_EQ(record_owner(r->word), 0);
	CHECK_EQ(value_of(0, 1, A), -RMC_TX_SQUASHED);
	cluster_close(&c);
}

/* A lock is in doubt, too, if the node is down. */
static int down_at_lock(struct cluster_node *n, const struct fake_op *op)
{
	return !n->nid && op->op == RMC_OP_CAS && !asked++ ? RMC_S_NODE_DOWN : RMC_S_OK;
}

static void paused_at_lock(void)
{
	open_loaded(&options);
	asked = 0;
	c.after = down_at_lock;
	CHECK_EQ(transfer(), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK(!record_locked(record_at(1, A)->word));
	CHECK_EQ(value_of(3, 1, A), 100);
	CHECK_EQ(stats(0).failed, 1);
	cluster_close(&c);
}

/* ---- waiting has an end ---- */

static int cut, first_of[CLUSTER_NODES];

/* First writes are in doubt; from then on, node 1 does not reply. 2: nor do locks of node 2 */
static int cut_link(struct cluster_node *n, const struct fake_op *op)
{
	int now = __atomic_load_n(&cut, __ATOMIC_ACQUIRE);

	if (n->nid || !now)
		return RMC_S_OK;
	if (op->op == RMC_OP_WRITE_ONCE && !first_of[op->nid]++)
		return RMC_S_TIMEOUT;
	return (op->nid == 1 && first_of[1]) ||
	       (now == 2 && op->nid == 2 && op->op == RMC_OP_CAS) ? RMC_S_TIMEOUT : RMC_S_OK;
}

static void one_unreachable(void)
{
	struct rmc_tx_options o = options;
	uint64_t start, took, steps;
	struct tx_set *far, *near;
	struct rmc_tx *t;
	int order;

	o.limit_ms = 200;
	for (order = 0; order < 2; order++) {
		open_loaded(&o);
		memset(first_of, 0, sizeof(first_of));
		c.before = cut_link;
		raise(&cut);
		/* two sets, whichever is in doubt first: the other record is repaired */
		CHECK_EQ(set_value(0, order ? A : B, 5, order ? &far : &near), 0);
		CHECK_EQ(set_value(0, order ? B : A, 5, order ? &near : &far), 0);
		CHECK_EQ(rmc_tx_await(db(0), &near->pending), 0);
		CHECK(far->pending);
		CHECK_EQ(value_of(3, 1, B), 5);
		/* another transaction begins, reads what it can, and gives up what it cannot */
		CHECK_EQ(value_of(0, 1, B), 5);
		steps = stats(0).repeated;
		start = rmc_now_ns();
		CHECK_EQ(rmc_tx_quiet(db(0)), -ETIMEDOUT);
		took = rmc_now_ns() - start;
		CHECK(took >= 200000000);
		/* with a growing delay between them */
		CHECK(stats(0).repeated - steps < 40);
		CHECK_EQ(value_of(0, 1, A), -RMC_TX_SQUASHED);
		CHECK_EQ(stats(0).squashed[RMC_TX_LOST], 1);
		__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
		db(0)->o.limit_ms = 60000;	/* a busy machine takes its time */
		CHECK_EQ(rmc_tx_quiet(db(0)), 0);
		CHECK_EQ(value_of(3, 1, A), 5);
		cluster_close(&c);
	}
	/* one slot, and both of its sets are in doubt: no transaction can begin */
	o.slots = 1;
	open_loaded(&o);
	memset(first_of, 0, sizeof(first_of));
	c.before = cut_link;
	raise(&cut);
	CHECK_EQ(set_value(0, A, 5, NULL), 0);
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	CHECK_EQ(put(t, 1, B, 6), 0);
	__atomic_store_n(&cut, 2, __ATOMIC_RELEASE);
	/* its lock is lost: the unlock is in doubt */
	CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
	CHECK_EQ(rmc_tx_begin(db(0), &t), -ETIMEDOUT);
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
	db(0)->o.limit_ms = 60000;
	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	rmc_tx_abort(t);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(value_of(3, 1, A), 5);
	CHECK_EQ(value_of(3, 1, B), 100);
	cluster_close(&c);
}

static int read_a(struct rmc_tx *t, void *arg)
{
	uint64_t v;

	++*(int *)arg;
	return get(t, 1, A, &v);
}

/* A member that never replies: rmc_tx_run() returns that, not after ten thousand attempts. */
static void never_replies(void)
{
	struct rmc_tx_options o = options;
	int calls = 0, i;

	o.limit_ms = 20;
	o.attempts = 0;
	open_loaded(&o);
	c.before = cut_link;
	for (i = 0; i < CLUSTER_NODES; i++)
		first_of[i] = 1;
	raise(&cut);
	CHECK_EQ(rmc_tx_run(db(0), read_a, &calls), RMC_S_TIMEOUT);
	CHECK(calls > 1);
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
	cluster_close(&c);
}

/* ---- a queue pair that dies under a commit ---- */

static int die_at, cas;

/* When the locks have been taken: nothing is posted. Or when the first writes have been. */
static int die(struct cluster_node *n, const struct fake_op *op)
{
	if (n->nid)
		return RMC_S_OK;
	if (__atomic_load_n(&n->rmc.flags->dead, __ATOMIC_ACQUIRE) && die_at)
		return FAKE_HOLD;
	cas += op->op == RMC_OP_CAS;
	if (die_at ? op->op != RMC_OP_WRITE_ONCE : cas != 2)
		return RMC_S_OK;
	__atomic_store_n(&n->rmc.flags->dead, 1, __ATOMIC_RELEASE);
	return die_at ? FAKE_HOLD : RMC_S_OK;
}

static void dead_pair(void)
{
	struct rmc_tx *t;
	uint64_t i;
	int k;

	for (k = 0; k < 2; k++) {
		memset(&c, 0, sizeof(c));
		c.entries = k ? 4 : 64;
		cluster_open(&c, CLUSTER_NODES, &options);
		for (i = 0; i < 12; i++)
			load(1, i, 100);
		die_at = k;
		cas = 0;
		if (!k)
			c.before = die;
		CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
		CHECK_EQ(put(t, 1, D, 90), 0);			/* its own */
		for (i = 1; i < (k ? 7 : 3); i++)		/* of others */
			CHECK_EQ(put(t, 1, i + i / 4, 110), 0);
		c.before = die;
		/* without effect, and its own record is not locked; or with some, and it says so */
		CHECK_EQ(rmc_tx_commit(t), k ? RMC_TX_IN_DOUBT : -ESHUTDOWN);
		CHECK_EQ(value_of(3, 1, D), k ? 90 : 100);
		CHECK_EQ(stats(0).failed, !k);
		CHECK_EQ(stats(0).in_doubt, (uint64_t)k);
		CHECK_EQ(stats(0).begun, 1);
		if (k)
			CHECK_EQ(rmc_tx_quiet(db(0)), -ESHUTDOWN);
		cluster_close(&c);
	}
	CHECK(!strcmp(rmc_status_name(RMC_TX_IN_DOUBT), "tx_in_doubt"));
}

/* ---- who may break locks, and how many databases there are ---- */

static void breaks(void)
{
	struct record *r;
	uint64_t version;

	open_loaded(&options);
	r = record_at(1, A);
	version = r->word;
	r->word = record_lock_word(version, 3, 9);
	db(1)->node_info = info_of;
	CHECK_EQ(rmc_tx_break(db(1), 3, 0), -EBUSY);			/* up */
	CHECK_EQ(rmc_tx_break(db(1), 3, RMC_TX_FENCED), -EBUSY);
	CHECK_EQ(rmc_tx_break(db(1), 3, 4), -EINVAL);
	CHECK_EQ(rmc_tx_break(db(1), 1, RMC_TX_FENCED), -EINVAL);
	CHECK_EQ(rmc_tx_break(db(1), 99, RMC_TX_FENCED), -EINVAL);
	CHECK_EQ(r->word, record_lock_word(version, 3, 9));
	db(1)->epoch[3] = 5;						/* claimed again */
	CHECK_EQ(rmc_tx_break(db(1), 3, 0), 1);
	CHECK_EQ(r->word, version);
	/* down, and perhaps only paused */
	r->word = record_lock_word(version, 1, 9);
	epoch_now = 0;
	db(2)->node_info = info_of;
	CHECK_EQ(rmc_tx_break(db(2), 1, 0), -EBUSY);
	CHECK_EQ(rmc_tx_break(db(2), 1, RMC_TX_FENCED), 0);
	r->word = version;
	/* a record that somebody may be writing */
	*line_version((uint8_t *)r + LINE) += 2;
	CHECK_EQ(rmc_tx_break(db(1), RMC_TX_NOBODY, 0), 0);
	CHECK_EQ(value_of(0, 1, A), -RMC_TX_SQUASHED);
	CHECK_EQ(rmc_tx_load(db(1), rmc_tx_record(1, A), &version, sizeof(version)), -EBUSY);
	CHECK_EQ(rmc_tx_break(db(1), RMC_TX_NOBODY, RMC_TX_WRITERS_QUIET), 0);
	CHECK_EQ(value_of(0, 1, A), -EUCLEAN);
	CHECK_EQ(stats(1).torn, 1);
	load(1, A, 3);
	CHECK_EQ(value_of(0, 1, A), 3);
	cluster_close(&c);
}

/* Who writes itself is not quiet. */
static void breaks_while_writing(void)
{
	struct tx_set *s;

	open_loaded(&options);
	memset(first_of, 0, sizeof(first_of));
	c.before = cut_link;
	raise(&cut);
	CHECK_EQ(set_value(0, A, 5, &s), 0);
	CHECK_EQ(rmc_tx_break(db(0), RMC_TX_NOBODY, RMC_TX_WRITERS_QUIET), -EBUSY);
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	CHECK_EQ(rmc_tx_break(db(0), RMC_TX_NOBODY, RMC_TX_WRITERS_QUIET), 0);
	cluster_close(&c);
}

static void opened_twice(void)
{
	open_loaded(&options);
	errno = 0;
	CHECK(!rmc_tx_open_on(&c.node[0].team, &options, &c.node[0].qp, c.node[0].memory));
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(value_of(0, 1, D), 100);
	cluster_close(&c);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a write in doubt, and a later one of the same node", same_node },
		{ "a write in doubt, and a later one of another node", other_node },
		{ "a write in doubt, and a later one of the record's owner", owner },
		{ "a record is locked while it is probed", locked_while_probed },
		{ "a living node's lock is broken", broken_alive },
		{ "a lock whose reply is on its way is held", lock_in_flight },
		{ "an unlock comes late, to a lock of the same version", late_unlock },
		{ "so does the last step of a write in doubt", late_finish },
		{ "a stale lock is cleared, and no other", clears_only_stale },
		{ "a node is paused while it is written to", paused },
		{ "a node is restarted while it is written to", restarted },
		{ "a node is paused while it is locked", paused_at_lock },
		{ "a node without replies is not in the way of others", one_unreachable },
		{ "a transaction on a node without replies has an end", never_replies },
		{ "the queue pair dies before a write, and between two", dead_pair },
		{ "locks are broken of nodes that are fenced only", breaks },
		{ "torn records are marked when nobody writes", breaks_while_writing },
		{ "a member opens one database in a memory", opened_twice },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
