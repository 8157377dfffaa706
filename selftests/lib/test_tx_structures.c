/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures of blocks (lib/ds) in transactions (lib/tx/blocks.c), beside sequential models:
 * several operations on several structures in one transaction, which commits or not; a squash, a restart or
 * a status at each call of the accessor and at each remote operation; another transaction there.
 */
#include "structure_test.h"
#include "tx_cluster.h"

#define NODES		2
#define STEPS		3		/* operations of a transaction, at most */
#define FEW		24		/* keys of tests that try each call */
#define BLOCKS		240
#define RECORDS		200		/* that a transaction accesses */

enum { TABLE, TREE, MAP, BTREE, KINDS };

static const struct structure structures[KINDS] = {
	[TABLE] = { .name = "table", .bytes = RMC_TABLE_BYTES, .fixed = 8,
		    .areas = RMC_BLOCKS_TABLE, .open = table_open, .close = table_close,
		    .act = table_act },
	[TREE] = { .name = "tree", .bytes = RMC_TREE_BYTES_MIN, .fixed = 1, .ordered = true,
		   .areas = RMC_BLOCKS_TREE, .open = tree_open, .close = tree_close,
		   .act = tree_act },
	[MAP] = { .name = "map", .bytes = RMC_MAP_BYTES, .fixed = 1, .areas = RMC_BLOCKS_MAP,
		  .open = map_open, .close = map_close, .act = map_act },
	[BTREE] = { .name = "btree", .bytes = RMC_BTREE_BYTES_MIN, .fixed = 1, .ordered = true,
		    .areas = RMC_BLOCKS_BTREE, .open = btree_open, .close = btree_close,
		    .act = btree_act },
};

static const struct rmc_tx_table tables[KINDS + 1] = {
	{ .records = BLOCKS, .bytes = RMC_TABLE_BYTES },
	{ .records = BLOCKS, .bytes = RMC_TREE_BYTES_MIN },
	{ .records = BLOCKS, .bytes = RMC_MAP_BYTES },
	{ .records = BLOCKS, .bytes = RMC_BTREE_BYTES_MIN },
	{ .records = 8, .bytes = 8 },
};

struct step {
	int kind, err;
	struct action a;
	uint64_t value;
};

struct plan {
	int n;
	struct step step[STEPS];
};

static struct cluster c;
static struct rmc_blocks *blocks[NODES][KINDS];
static void *of[NODES][KINDS];
static struct model models[KINDS], kept_models[KINDS];
static int coupling = RMC_TREE_LINK;

static struct rmc_tx_db *db(int node)
{
	return c.node[node].db;
}

static void open_blocks(void)
{
	int i, k;

	for (i = 0; i < NODES; i++)
		for (k = 0; k < KINDS; k++) {
			blocks[i][k] = rmc_tx_blocks_open(db(i), (uint32_t)k, structures[k].areas,
							  structures[k].fixed);
			if (!blocks[i][k])
				exit(printf("Bail out! %s\n", rmc_errmsg()));
			of[i][k] = structures[k].open(blocks[i][k], k == TREE ? coupling : 0);
			CHECK(of[i][k]);
		}
}

static void close_blocks(void)
{
	int i, k;

	for (i = 0; i < NODES; i++)
		for (k = 0; k < KINDS; k++) {
			structures[k].close(of[i][k]);
			rmc_blocks_close(blocks[i][k]);
		}
}

static void open_nodes(unsigned int flags, uint32_t records)
{
	struct rmc_tx_options o = {
		.table = tables, .tables = KINDS + 1, .records = records, .flags = flags,
		.tries = 3, .attempts = 200, .slots = 2,
	};

	memset(&c, 0, sizeof(c));
	memset(models, 0, sizeof(models));
	cluster_open(&c, NODES, &o);
	open_blocks();
}

static void close_nodes(void)
{
	close_blocks();
	cluster_close(&c);
}

static void quiet(void)
{
	int i;

	for (i = 0; i < NODES; i++)
		CHECK_EQ(rmc_tx_quiet(db(i)), 0);
}

/* --- transactions --- */

static void use(int node, struct rmc_tx *t)
{
	int k;

	for (k = 0; k < KINDS; k++)
		CHECK_EQ(rmc_tx_blocks_use(blocks[node][k], t), 0);
}

static int act(int node, struct step *s)
{
	s->err = structures[s->kind].act(of[node][s->kind], &s->a, &s->value);
	return s->err;
}

/* The results that end no transaction */
static bool is_answer(int err)
{
	return !err || err == -ENOENT || err == -EEXIST || err == -ENOSPC || err == -EXDEV;
}

static int perform(int node, struct rmc_tx *t, struct plan *p)
{
	int i;

	use(node, t);
	for (i = 0; i < p->n; i++)
		if (!is_answer(act(node, &p->step[i])))
			return p->step[i].err;
	return 0;
}

/* One attempt: 0, or why it had no effect */
static int attempt(int node, struct plan *p)
{
	struct rmc_tx *t;
	int err;

	CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
	err = perform(node, t, p);
	if (!err || t->state != TX_ACTIVE)
		return rmc_tx_commit(t);
	/* only what it has seen of several times is a reason */
	CHECK(err == -EPROTO || err == -ELOOP || err == -EAGAIN);
	err = rmc_tx_check(t);
	CHECK(err);
	rmc_tx_abort(t);
	return err ? err : -EPROTO;
}

/* Do the results fit the models, which change? */
static bool fits(struct model *m, const struct plan *p)
{
	uint64_t want;
	bool all = true;
	int i;

	for (i = 0; i < p->n; i++) {
		const struct step *s = &p->step[i];
		struct model was = m[s->kind];
		int expected = model_act(&m[s->kind], &s->a, &want);

		if (s->err == -ENOSPC && (s->a.what == PUT || s->a.what == INSERT)) {
			m[s->kind] = was;
			continue;
		}
		if (s->err == -EXDEV)
			continue;
		all &= s->err == expected &&
		       ((s->a.what != GET && s->a.what != SCAN) || s->value == want);
	}
	return all;
}

static struct step random_step(unsigned int keys, int growing)
{
	struct step s = { .kind = (int)rnd(KINDS) };

	s.a = (struct action){ .key = rnd(keys), .value = 1 + rnd(1000000) };
	s.a.what = (enum what)(rnd(100) < 40 ? (growing ? PUT : DELETE) : rnd(WHATS));
	if (s.a.what == SCAN && !structures[s.kind].ordered)
		s.a.what = GET;
	if (s.a.what == SCAN)
		s.a.value = 1 + rnd(20);
	return s;
}

static struct plan random_plan(unsigned int keys, int growing, unsigned int most)
{
	struct plan p = { .n = 1 + (int)rnd(most) };
	int i;

	for (i = 0; i < p.n; i++)
		p.step[i] = random_step(keys, growing);
	return p;
}

static bool same(int node, const struct model *m, unsigned int keys)
{
	struct step s = { .a = { .what = GET } };
	bool all = true;
	struct rmc_tx *t;

	for (s.kind = 0; s.kind < KINDS; s.kind++)
		for (s.a.key = 0; s.a.key < keys; ) {
			CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
			use(node, t);
			do {
				int want = m[s.kind].value[s.a.key] ? 0 : -ENOENT;

				all &= act(node, &s) == want &&
				       s.value == m[s.kind].value[s.a.key];
			} while (++s.a.key % 8 && s.a.key < keys);
			CHECK_EQ(rmc_tx_commit(t), 0);
		}
	return all;
}

/* --- beside the models --- */

static uint64_t present(uint32_t table, uint64_t from)
{
	uint64_t rid, n = 0;

	for (rid = from; rid < tables[table].records; rid++)
		n += (uint64_t)cluster_present(&c, rmc_tx_record(table, rid));
	return n;
}

static void random_transactions(unsigned int flags, unsigned int keys, int rounds)
{
	struct model scratch[KINDS];
	struct rmc_tx *t;
	struct plan p;
	int i, node;

	open_nodes(flags, RECORDS);
	for (i = 0; i < rounds; i++) {
		p = random_plan(keys, i / 200 % 2 == 0, STEPS);
		node = (int)rnd(NODES);
		memcpy(scratch, models, sizeof(models));
		CHECK_EQ(rmc_tx_begin(db(node), &t), 0);
		if (perform(node, t, &p)) {
			/* an allocation has looked at enough blocks: the next one looks further */
			CHECK_EQ(rmc_tx_commit(t), RMC_TX_SQUASHED);
			continue;
		}
		CHECK(fits(scratch, &p));
		if (!rnd(4)) {
			rmc_tx_abort(t);
			continue;
		}
		CHECK_EQ(rmc_tx_commit(t), 0);
		memcpy(models, scratch, sizeof(models));
		quiet();
	}
	CHECK(same(0, models, KEYS));
	CHECK(same(1, models, KEYS));
	/* no block is lost, whatever was aborted or squashed */
	for (i = 0; i < 2 * (int)keys; i++) {
		p = (struct plan){ 1, { { .kind = i % 2 ? TABLE : BTREE,
					  .a = { DELETE, (uint64_t)i / 2, 0 } } } };
		CHECK_EQ(attempt(0, &p), 0);
		quiet();
	}
	CHECK_EQ(present(TABLE, structures[TABLE].fixed + 1), 0);
	CHECK_EQ(present(BTREE, structures[BTREE].fixed + 1), 0);
	close_nodes();
}

static void beside_models(void)
{
	random_transactions(0, KEYS, 1200);
	random_transactions(RMC_TX_ALL_REMOTE, 50, 600);
	coupling = RMC_TREE_VERSION;
	random_transactions(0, 50, 400);
	coupling = RMC_TREE_LATCH;
	random_transactions(0, 50, 400);
	coupling = RMC_TREE_LINK;
}

/* --- states to begin from --- */

static uint8_t *kept[NODES];

static void keep(unsigned int keys, unsigned int n)
{
	struct plan p;
	int i;

	while (n--) {
		p = random_plan(keys, 1, 1);
		CHECK_EQ(attempt(0, &p), 0);
		CHECK(fits(models, &p));
	}
	quiet();
	memcpy(kept_models, models, sizeof(models));
	for (i = 0; i < NODES; i++) {
		kept[i] = (uint8_t *)malloc(c.node[i].team.len);
		memcpy(kept[i], c.node[i].segment, c.node[i].team.len);
	}
}

static void restore(void)
{
	int i;

	quiet();
	/* what they know of free blocks is of another memory */
	close_blocks();
	for (i = 0; i < NODES; i++)
		memcpy(c.node[i].segment, kept[i], c.node[i].team.len);
	memcpy(models, kept_models, sizeof(models));
	open_blocks();
}

static void forget(void)
{
	int i;

	for (i = 0; i < NODES; i++)
		free(kept[i]);
}

/* --- at each call of the accessor --- */

static const struct rmc_block_ops *real;
static struct rmc_tx *now_of;
static unsigned int calls, event_at;
static bool restarts_it, squashes_it;

/* 0, or what the call returns instead of being executed */
static int call(void)
{
	if (++calls != event_at)
		return 0;
	if (squashes_it)
		rmc_tx_squash(now_of, RMC_TX_BY_PROGRAM);
	return restarts_it ? RMC_BLOCK_RESTART : 0;
}

static int w_enter(struct rmc_blocks *b, uint64_t at, enum rmc_block_mode mode,
		   struct rmc_block_hold *h)
{
	int err = call();

	return err ? err : real->enter(b, at, mode, h);
}

static int w_valid(struct rmc_blocks *b, struct rmc_block_hold *h)
{
	int err = call();

	return err ? err : real->valid(b, h);
}

static int w_upgrade(struct rmc_blocks *b, struct rmc_block_hold *h)
{
	int err = call();

	return err ? err : real->upgrade(b, h);
}

/* A leave() of a READ may restart. */
static int w_leave(struct rmc_blocks *b, struct rmc_block_hold *h)
{
	bool reads = h->mode == RMC_BLOCK_READ;
	int err = call(), left = real->leave(b, h);

	return err && reads ? err : left;
}

static int w_alloc(struct rmc_blocks *b, uint64_t beside, struct rmc_block_hold *h)
{
	int err = call();

	return err ? err : real->alloc(b, beside, h);
}

static int w_retire(struct rmc_blocks *b, struct rmc_block_hold *h)
{
	call();
	return real->retire(b, h);
}

/* One attempt with an event at this call of one of the structures */
static int attempt_at(struct plan *p, unsigned int at)
{
	struct rmc_block_ops ops;
	int err, k = p->step[0].kind;
	struct rmc_tx *t;

	CHECK_EQ(rmc_tx_begin(db(0), &t), 0);
	use(0, t);
	real = blocks[0][k]->ops;
	ops = *real;
	ops.enter = w_enter;
	ops.valid = w_valid;
	ops.upgrade = w_upgrade;
	ops.leave = w_leave;
	ops.alloc = w_alloc;
	ops.retire = w_retire;
	now_of = t;
	calls = 0;
	event_at = at;
	blocks[0][k]->ops = &ops;
	err = act(0, &p->step[0]);
	blocks[0][k]->ops = real;
	if (is_answer(err) || t->state != TX_ACTIVE)
		return rmc_tx_commit(t);
	rmc_tx_abort(t);
	return err;
}

static void events(const struct plan *plan)
{
	struct plan p = *plan;
	unsigned int n, at;
	int err;

	restarts_it = squashes_it = false;
	CHECK_EQ(attempt_at(&p, 0), 0);
	for (n = calls, at = 1; at <= n; at++) {
		restore();
		squashes_it = true;
		CHECK_EQ(attempt_at(&p, at), RMC_TX_SQUASHED);
		squashes_it = false;
		CHECK(same(1, models, FEW));
		/* all holds have ended */
		restarts_it = true;
		err = attempt_at(&p, at);
		restarts_it = false;
		CHECK_EQ(err, 0);
		CHECK(fits(models, &p));
		quiet();
		CHECK(same(1, models, FEW));
	}
}

static void each_call(void)
{
	unsigned int state, i;
	struct plan p;
	int k;

	for (state = 0; state < 3; state++) {
		open_nodes(0, RECORDS);
		keep(FEW, state * 40);
		for (k = 0; k < KINDS; k++)
			for (i = 0; i < 2 * WHATS; i++) {
				restore();
				p = random_plan(FEW, 1, 1);
				p.step[0].kind = k;
				p.step[0].a.what = (enum what)(i % WHATS);
				if (i % WHATS == SCAN && !structures[k].ordered)
					p.step[0].a.what = PUT;
				events(&p);
			}
		forget();
		close_nodes();
	}
}

/* --- at each remote operation --- */

static unsigned int operations, op_at;
static int op_status;
static struct plan inner;
static int inner_err;

static int at_operation(struct cluster_node *n, const struct fake_op *op)
{
	(void)op;
	if (n->nid || ++operations != op_at)
		return RMC_S_OK;
	if (op_status)
		return op_status;
	inner_err = attempt(1, &inner);
	CHECK_EQ(rmc_tx_quiet(db(1)), 0);
	return RMC_S_OK;
}

static int attempt_with(struct plan *p, unsigned int at, int status)
{
	int err;

	operations = 0;
	op_at = at;
	op_status = status;
	c.before = at_operation;
	err = attempt(0, p);
	CHECK_EQ(rmc_tx_quiet(db(0)), 0);
	c.before = NULL;
	quiet();
	return err;
}

static void statuses(struct plan *p, unsigned int at)
{
	static const int status[] = { RMC_S_TIMEOUT, RMC_S_NODE_DOWN };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(status); i++) {
		restore();
		err = attempt_with(p, at, status[i]);
		CHECK(!err || err == RMC_TX_SQUASHED || err == status[i]);
		if (!err)
			CHECK(fits(models, p));
		CHECK(same(1, models, FEW));
	}
}

/* Either of both orders explains all results, and what there is afterwards. */
static void within(struct plan *p, unsigned int at)
{
	struct model m[KINDS];
	bool found = false;
	int err, order;

	restore();
	inner_err = RMC_TX_SQUASHED;
	err = attempt_with(p, at, 0);
	CHECK(!err || err == RMC_TX_SQUASHED);
	CHECK(!inner_err || inner_err == RMC_TX_SQUASHED);
	/* they do not both fail: one was there first */
	CHECK(!err || !inner_err);
	for (order = 0; order < 2 && !found; order++) {
		memcpy(m, kept_models, sizeof(m));
		found = (order || inner_err || fits(m, &inner)) && (err || fits(m, p)) &&
			(!order || inner_err || fits(m, &inner)) && same(1, m, FEW);
	}
	CHECK(found);
}

static void each_operation(void)
{
	unsigned int state, i, n, at;
	struct plan p;

	for (state = 0; state < 4; state++) {
		open_nodes(RMC_TX_ALL_REMOTE, RECORDS);
		keep(FEW, state * 30);
		for (i = 0; i < 12; i++) {
			restore();
			p = random_plan(FEW, 1, 2);
			inner = random_plan(FEW, 1, 2);
			inner.step[0].kind = p.step[0].kind;
			if (i % 3)
				inner.step[0].a.key = (p.step[0].a.key + rnd(3)) % FEW;
			if (inner.step[0].a.what == SCAN &&
			    !structures[inner.step[0].kind].ordered)
				inner.step[0].a.what = DELETE;
			attempt_with(&p, 0, 0);
			for (n = operations, at = 1; at <= n; at++) {
				within(&p, at);
				statuses(&p, at);
			}
		}
		forget();
		close_nodes();
	}
}

#include "tx_structures_ends.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "holds of a block", holds },
		{ "blocks that are refused", refused },
		{ "which transaction blocks use", uses },
		{ "blocks that are used again", blocks_again },
		{ "searches for blocks that another client has retired", searches },
		{ "a search that begins among blocks in use", crowded_begin },
		{ "insertions into a map that are far apart", far_apart },
		{ "two transactions allocate one block", same_block },
		{ "a block that is held is not free", all_but_held },
		{ "an operation that always restarts", restarts_for_ever },
		{ "more records than a transaction may access", too_many_records },
		{ "transactions over several structures, as models have them", beside_models },
		{ "a squash and a restart at each call of the accessor", each_call },
		{ "another transaction, or a status, at each remote operation", each_operation },
		{ "no block is free", no_room },
		{ "links that are damaged", damaged_links },
	};

	return tap_run(tests, (int)ARRAY_SIZE(tests));
}
