/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures of blocks (lib/ds) beside a sequential model, over memory of the test: random
 * operations; an accessor that restarts, or fails, at each of its calls; two operations, of which
 * one runs within each call of the other.
 */
#include "structure_test.h"
#include "../../lib/ds/tree.h"

#define TABLE(title, fixed_, flags)	{ .name = title, .bytes = RMC_TABLE_BYTES, \
	.areas = (flags) ? RMC_BLOCKS_TABLE_DIRECT : RMC_BLOCKS_TABLE, .fixed = fixed_, \
	.argument = flags, .open = table_open, .close = table_close, .act = table_act, \
	.shrinks = true, .takes = 1 }
#define TREE(title, bytes_, coupling)	{ .name = title, .bytes = bytes_, .fixed = 1, \
	.areas = RMC_BLOCKS_TREE, .ordered = true, .argument = coupling, .open = tree_open, \
	.close = tree_close, .act = tree_act, .takes = 2 }
#define BTREE(title, bytes_)	{ .name = title, .bytes = bytes_, .fixed = 1, \
	.areas = RMC_BLOCKS_BTREE, .ordered = true, .open = btree_open, .close = btree_close, \
	.act = btree_act, .takes = 3, .shrinks = true, .atomic = true }
#define MAP(title)		{ .name = title, .bytes = RMC_MAP_BYTES, .fixed = 1, \
	.areas = RMC_BLOCKS_MAP, .open = map_open, .close = map_close, .act = map_act, \
	.takes = 3 }

static const struct structure structures[] = {
	TABLE("table", 16, 0),
	TABLE("table of one chain", 1, 0),
	TABLE("table, direct", 8, RMC_TABLE_DIRECT),
	TREE("tree, linked", RMC_TREE_BYTES_MIN, RMC_TREE_LINK),
	TREE("tree, versions", RMC_TREE_BYTES_MIN, RMC_TREE_VERSION),
	TREE("tree, latches", RMC_TREE_BYTES_MIN, RMC_TREE_LATCH),
	TREE("tree of wide blocks", 32 + 16 * 9 + 8, RMC_TREE_LINK),
	BTREE("B-tree", RMC_BTREE_BYTES_MIN),
	BTREE("B-tree of wide blocks", 16 + 24 * 6),
	MAP("map"),
};

#define BLOCKS		240

static const struct structure *st;
static bool latches_hide;		/* in this pass: local.hides */
static struct local_memory memory;
static struct local one, two;
static void *first, *second;

static void begin(const struct structure *s, uint64_t blocks)
{
	st = s;
	tap_where = s->name;
	local_memory_init(&memory, s->bytes, s->fixed, blocks);
	local_init(&one, &memory, s->areas);
	local_init(&two, &memory, s->areas);
	one.hides = two.hides = latches_hide;
	if (s->atomic)
		one.base.ops = two.base.ops = &local_atomic_ops;
	first = s->open(&one.base, s->argument);
	second = s->open(&two.base, s->argument);
	CHECK(first && second);
}

static void end(void)
{
	st->close(first);
	st->close(second);
	local_free(&one);
	local_free(&two);
	local_memory_free(&memory);
	tap_where = NULL;
}

/* --- beside the model --- */

static void compare(const struct model *m, unsigned int keys)
{
	struct action a = { .what = GET };
	uint64_t v;
	int err;

	for (a.key = 0; a.key < keys; a.key++) {
		err = st->act(first, &a, &v);
		CHECK_EQ(err, m->value[a.key] ? 0 : -ENOENT);
		CHECK_EQ(v, m->value[a.key]);
	}
}

static struct action random_action(unsigned int keys, int growing)
{
	struct action a = { .key = rnd(keys), .value = 1 + rnd(1000000) };

	a.what = (enum what)(rnd(100) < 40 ? (growing ? PUT : DELETE) : rnd(WHATS));
	if (a.what == SCAN) {
		if (!st->ordered)
			a.what = GET;
		a.value = 1 + rnd(20);
	}
	return a;
}

/* Of the same action: the same result; -ENOSPC changes nothing */
static void both(struct model *m, const struct action *a)
{
	struct model was = *m;
	uint64_t v, want;
	int err = st->act(first, a, &v), expected = model_act(m, a, &want);

	if (err == -ENOSPC) {
		CHECK(a->what == PUT || a->what == INSERT);
		CHECK(memory.frees < st->takes);
		*m = was;
		return;
	}
	if (err == -EXDEV)
		return;
	CHECK_EQ(err, expected);
	if (a->what == GET || a->what == SCAN)
		CHECK_EQ(v, want);
}

static void random_operations(const struct structure *s, uint64_t blocks, unsigned int keys,
			      bool parts)
{
	static struct model m;
	struct action a;
	unsigned int i;

	begin(s, blocks);
	one.parts = parts;
	memset(&m, 0, sizeof(m));
	for (i = 0; i < 6000; i++) {
		a = random_action(keys, i / 1000 % 2 == 0);
		both(&m, &a);
	}
	compare(&m, keys);
	CHECK_EQ(one.restarts, 0);
	a.what = DELETE;
	for (a.key = 0; a.key < keys; a.key++)
		both(&m, &a);
	compare(&m, keys);
	/* a table's chains are as short as possible, and a B-tree is */
	if (s->shrinks)
		CHECK_EQ(memory.frees, blocks - s->fixed);
	end();
}

static void beside_model(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(structures); i++) {
		random_operations(&structures[i], BLOCKS, structures[i].shrinks &&
				  structures[i].fixed == 1 ? 60 : KEYS, false);
		random_operations(&structures[i], BLOCKS, 50, true);
	}
}

/* --- states to begin from --- */

static struct local_memory kept;
static struct model kept_model;

/* Some keys of a few; the number of blocks free afterwards */
static void fill(unsigned int keys, unsigned int n)
{
	struct action a = { .what = PUT };
	uint64_t v;

	memset(&kept_model, 0, sizeof(kept_model));
	while (n--) {
		a.key = rnd(keys);
		a.value = 1 + rnd(1000000);
		CHECK_EQ(st->act(first, &a, &v), 0);
		kept_model.value[a.key] = a.value;
		if (!rnd(3)) {
			a.what = DELETE;
			CHECK_EQ(st->act(first, &a, &v), 0);
			kept_model.value[a.key] = ABSENT;
			a.what = PUT;
		}
	}
	local_memory_init(&kept, memory.bytes, memory.fixed, memory.blocks);
	local_copy_memory(&kept, &memory);
}

static void restore(void)
{
	local_copy_memory(&memory, &kept);
	one.calls = two.calls = 0;
	one.restart_at = one.fail_at = one.run_at = 0;
}

/* --- an accessor that restarts, or fails --- */

/* A value that this key has, or has after the action */
static bool known_value(const struct action *a, const struct model *done, uint64_t key, uint64_t v)
{
	return v == kept_model.value[key] || (key == a->key && v == done->value[key]);
}

/*
 * A status is the result, unless the operation had been done; the other keys stay.
 */
static void fail_at(const struct action *a, unsigned int at, unsigned int keys)
{
	struct model m = kept_model, done = kept_model;
	struct action get = { .what = GET, .key = a->key };
	uint64_t v, want;
	int err, expected = model_act(&done, a, &want);

	restore();
	one.fail_at = at;
	err = st->act(first, a, &v);
	one.fail_at = 0;
	CHECK_EQ(one.used, 0);
	for (v = 0; v < memory.blocks; v++)
		CHECK(!memory.state[v].latched);
	if (err != LOCAL_BROKEN) {
		CHECK_EQ(err, expected);
		m = done;
	} else if (a->what != GET && a->what != SCAN) {
		/* as before, or done */
		err = st->act(first, &get, &v);
		CHECK(err == 0 || err == -ENOENT);
		CHECK(known_value(a, &done, a->key, v));
		m.value[a->key] = v;
	}
	compare(&m, keys);
}

/* What fails has had no effect, or its effect */
static void one_failure(const struct action *a, unsigned int at, unsigned int keys)
{
	for (one.stores = false; ; one.stores = true) {
		fail_at(a, at, keys);
		if (one.stores)
			break;
	}
	one.stores = false;
}

static void one_restart(const struct action *a, unsigned int at, unsigned int keys)
{
	struct model m = kept_model;
	uint64_t v, want;
	int expected = model_act(&m, a, &want);

	restore();
	one.restart_at = at;
	CHECK_EQ(st->act(first, a, &v), expected);
	if (a->what == GET || a->what == SCAN)
		CHECK_EQ(v, want);
	one.restart_at = 0;
	compare(&m, keys);
}

static void enumerate_calls(void (*each)(const struct action *, unsigned int, unsigned int))
{
	unsigned int state, keys = 40, n, i, what;
	struct action a;
	uint64_t v;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		for (state = 0; state < 10; state++) {
			begin(&structures[s], BLOCKS);
			one.parts = state % 4 == 3;
			fill(keys, state * 12);
			for (i = 0; i < 6 * WHATS; i++) {
				what = i % WHATS;
				if (what == SCAN && !st->ordered)
					continue;
				a = (struct action){ (enum what)what, rnd(keys), 1 + rnd(1000) };
				if (what == SCAN)
					a.value = 1 + rnd(15);
				restore();
				st->act(first, &a, &v);
				n = one.calls;
				for (; n; n--)
					each(&a, n, keys);
			}
			local_memory_free(&kept);
			end();
		}
	}
}

static void restarts_everywhere(void)
{
	enumerate_calls(one_restart);
}

static void failures_everywhere(void)
{
	enumerate_calls(one_failure);
}

/* --- one operation within another --- */

#define INNER		2

static struct action inner[INNER];
static int inner_result[INNER];
static uint64_t inner_value[INNER];
static unsigned int inners, inner_ran;

static void run_inner(void)
{
	unsigned int i;

	for (i = 0; i < inners; i++)
		inner_result[i] = st->act(second, &inner[i], &inner_value[i]);
	inner_ran = 1;
}

/* The action on the state as it was built; run() comes within its at-th call of the accessor. */
static int act_around(void (*run)(void), unsigned int at, const struct action *a, uint64_t *v)
{
	int err;

	restore();
	inner_ran = 0;
	one.run = run;
	one.run_at = at;
	err = st->act(first, a, v);
	one.run = NULL;
	one.run_at = 0;
	CHECK(inner_ran);
	return err;
}

static bool fits(struct model *m, const struct action *a, int err, uint64_t v)
{
	uint64_t want;
	int expected = model_act(m, a, &want);

	return err == expected && ((a->what != GET && a->what != SCAN) || v == want);
}

/* The results are those of the model if the operation comes after so many of the inner ones */
static bool order_fits(const struct action *a, int err, uint64_t v, unsigned int after,
		       struct model *m)
{
	bool all = true;
	unsigned int i;

	*m = kept_model;
	for (i = 0; i <= inners; i++) {
		if (i == after)
			all &= fits(m, a, err, v);
		/* it met a latch, and has done nothing */
		if (i < inners && inner_result[i] != -EAGAIN)
			all &= fits(m, &inner[i], inner_result[i], inner_value[i]);
	}
	return all;
}

/* The results, and what is there afterwards, are those of one operation after the other */
static void within(const struct action *a, unsigned int at, unsigned int keys)
{
	struct action get = { .what = GET };
	bool found = false;
	struct model m;
	unsigned int after;
	uint64_t v, there;
	int err;

	err = act_around(run_inner, at, a, &v);
	for (after = 0; after <= inners && !found; after++) {
		if (!order_fits(a, err, v, after, &m))
			continue;
		found = true;
		for (get.key = 0; get.key < keys && found; get.key++) {
			st->act(first, &get, &there);
			found = there == m.value[get.key];
		}
	}
	CHECK(found);
	if (found)
		compare(&m, keys);
}

static void run_within(const struct structure *s, unsigned int state, unsigned int keys,
		       unsigned int rounds, unsigned int *meets)
{
	unsigned int n, i, k;
	struct action a;
	uint64_t v;

	begin(s, BLOCKS);
	two.attempts = 3;
	one.parts = state % 8 == 7;
	fill(keys, state * 4);
	for (i = 0; i < rounds; i++) {
		a = random_action(keys, 1);
		for (k = 0; k < inners; k++) {
			inner[k] = random_action(keys, i % 2 || k);
			if (rnd(2))
				inner[k].key = (a.key + rnd(3)) % keys;
		}
		restore();
		st->act(first, &a, &v);
		for (n = one.calls; n; n--) {
			within(&a, n, keys);
			for (k = 0; k < inners; k++)
				meets[inner_result[k] == -EAGAIN]++;
		}
	}
	/* coupling sees no split: nothing was left half split */
	if (s->ordered && s->argument != RMC_TREE_LINK) {
		CHECK_EQ(((struct rmc_tree *)first)->moves, 0);
		CHECK_EQ(((struct rmc_tree *)second)->moves, 0);
	}
	local_memory_free(&kept);
	end();
}

/* Over accessors whose latches show, or do not, if nothing was written */
static void run_all_within(unsigned int states, unsigned int rounds)
{
	unsigned int state, meets[2];
	size_t s;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		/* others do not run meanwhile: selftests/lib/test_tx_structures.c has those */
		if (structures[s].atomic)
			continue;
		meets[0] = meets[1] = 0;
		for (state = 0; state < states; state++) {
			latches_hide = state % 2;
			run_within(&structures[s], state * 24 / states, 30, rounds, meets);
		}
		latches_hide = false;
		/* a good part of the inner operations did something */
		CHECK(meets[1] && meets[1] < 2 * meets[0]);
	}
}

static void one_within_another(void)
{
	inners = 1;
	run_all_within(24, 60);
}

static void two_within_another(void)
{
	inners = 2;
	run_all_within(12, 40);
}

/*
 * Of a chain of three buckets the second one is full when the insertion reads it; then one of its
 * keys is deleted, and the same key is inserted there.
 */
static void insertions_of_one_key(void)
{
	struct action a = { .what = PUT, .value = 1 }, get = { .what = GET, .key = 9 };
	unsigned int n, fail;
	uint64_t v;
	int err;

	inners = 2;
	for (latches_hide = false; ; latches_hide = true) {
		begin(&structures[1], BLOCKS);
		two.attempts = 3;
		for (a.key = 0; a.key < 5; a.key++)
			CHECK_EQ(st->act(first, &a, &v), 0);
		memset(&kept_model, 0, sizeof(kept_model));
		local_memory_init(&kept, memory.bytes, memory.fixed, memory.blocks);
		local_copy_memory(&kept, &memory);
		inner[0] = (struct action){ DELETE, 2, 0 };
		inner[1] = (struct action){ INSERT, 9, 7 };
		a = (struct action){ INSERT, 9, 8 };
		restore();
		CHECK_EQ(st->act(first, &a, &v), 0);
		for (n = one.calls * 16; n; n--) {
			/* also if a call of one of the inner ones fails: at the 1st .. 15th */
			fail = n % 16;
			restore();
			two.fail_at = fail;
			one.run = run_inner;
			one.run_at = (n + 15) / 16;
			err = st->act(first, &a, &v);
			two.fail_at = 0;
			CHECK(fail || !!err + !!inner_result[1] == 1);
			CHECK(!err || err == -EEXIST);
			/* one deletion, and it is gone */
			CHECK_EQ(rmc_table_delete((struct rmc_table *)first, 9), 0);
			CHECK_EQ(st->act(first, &get, &v), -ENOENT);
		}
		local_memory_free(&kept);
		end();
		if (latches_hide)
			break;
		a.what = PUT;
	}
	latches_hide = false;
}

#include "structure_ends.h"

/* --- room --- */

static void no_room(void)
{
	struct action a = { .what = INSERT };
	struct model m;
	unsigned int there;
	uint64_t v;
	size_t s;
	int err;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		begin(&structures[s], structures[s].fixed + 5);
		memset(&m, 0, sizeof(m));
		for (a.key = there = 0; a.key < KEYS; a.key++) {
			a.value = a.key + 7;
			err = st->act(first, &a, &v);
			CHECK(!err || err == -ENOSPC);
			if (!err)
				m.value[a.key] = a.value;
			there += !err;
		}
		CHECK(there >= 4 && there < KEYS);
		CHECK(memory.frees < st->takes);
		compare(&m, KEYS);
		/* keys that are there need no room, whatever is full on their way */
		for (a.key = 0; a.key < KEYS; a.key++) {
			if (!m.value[a.key])
				continue;
			a.what = PUT;
			a.value = m.value[a.key] += 3;
			CHECK_EQ(st->act(first, &a, &v), 0);
			a.what = INSERT;
			CHECK_EQ(st->act(first, &a, &v), -EEXIST);
		}
		compare(&m, KEYS);
		end();
	}
}

/* One chain, to its limit, and back */
static void full_chain(void)
{
	unsigned int n = 2 * RMC_TABLE_CHAIN, k;
	struct action a = { .what = INSERT };
	uint64_t v;

	begin(&structures[1], 2 * RMC_TABLE_CHAIN);
	for (a.key = 0; a.key < n; a.key++) {
		a.value = a.key + 1;
		CHECK_EQ(st->act(first, &a, &v), 0);
	}
	CHECK_EQ(memory.frees, 2 * RMC_TABLE_CHAIN - RMC_TABLE_CHAIN);
	CHECK_EQ(st->act(first, &a, &v), -ENOSPC);
	CHECK_EQ(memory.frees, 2 * RMC_TABLE_CHAIN - RMC_TABLE_CHAIN);
	/* the others can be used, and each that is deleted makes room for another one */
	for (k = 0; k < n; k++) {
		CHECK_EQ(rmc_table_get((struct rmc_table *)first, k, &v), 0);
		CHECK_EQ(v, k + 1);
		CHECK_EQ(rmc_table_put((struct rmc_table *)first, k, 5), 0);
	}
	CHECK_EQ(rmc_table_get((struct rmc_table *)first, n, &v), -ENOENT);
	CHECK_EQ(rmc_table_delete((struct rmc_table *)first, 50), 0);
	CHECK_EQ(st->act(first, &a, &v), 0);
	CHECK_EQ(rmc_table_put((struct rmc_table *)first, 50, 5), -ENOSPC);
	for (k = 0; k <= n; k++)
		CHECK_EQ(rmc_table_delete((struct rmc_table *)first, k), k == 50 ? -ENOENT : 0);
	CHECK_EQ(memory.frees, 2 * RMC_TABLE_CHAIN - 1);
	CHECK_EQ(st->act(first, &a, &v), 0);
	end();
}

/* A split that a status has ended before its parent was stored: the next insertion completes it */
static void half_splits(void)
{
	struct action a = { .what = PUT, .value = 1 }, get = { .what = GET };
	unsigned int n, calls, reads, half;
	uint64_t v;
	size_t s;
	int err;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		if (!structures[s].ordered || structures[s].atomic)
			continue;
		half = 0;
		begin(&structures[s], BLOCKS);
		fill(1, 0);
		/* a root over leaves, of which the last one is full */
		for (a.key = 0; memory.frees > BLOCKS - 5; a.key++) {
			local_copy_memory(&kept, &memory);
			CHECK_EQ(st->act(first, &a, &v), 0);
		}
		a.key--;
		restore();
		CHECK_EQ(st->act(first, &a, &v), 0);
		calls = one.calls;
		reads = one.reads;
		CHECK_EQ(st->act(first, &get, &v), 0);
		reads = one.reads - reads;
		for (n = 1; n <= calls; n++) {
			restore();
			one.fail_at = n;
			err = st->act(first, &a, &v);
			CHECK_EQ(err, LOCAL_BROKEN);
			one.fail_at = 0;
			CHECK_EQ(st->act(first, &a, &v), 0);
			half += memory.frees < kept.frees;
			get.key = a.key;
			v = one.reads;
			CHECK_EQ(st->act(first, &get, &v), 0);
			v = one.reads;
			CHECK_EQ(st->act(first, &get, &(uint64_t){ 0 }), 0);
			CHECK_EQ(one.reads - v, reads);
		}
		CHECK(half);
		local_memory_free(&kept);
		end();
	}
}

/* A range in pieces, of which each one ends where the next one begins */
static void continued_scans(void)
{
	static const struct { size_t max; unsigned int calls; } pieces[] = {
		/* leaves of two keys; not more than eight of them in a call */
		{ 1, 60 }, { 2, 30 }, { 7, 9 }, { 16, 4 }, { 64, 4 },
	};
	struct action a = { .what = PUT, .value = 3 };
	struct rmc_pair pairs[65];
	struct rmc_tree *t;
	uint64_t next, v;
	unsigned int calls;
	size_t found, i, n, k;

	begin(&structures[3], BLOCKS);
	t = (struct rmc_tree *)first;
	for (a.key = 0; a.key < 60; a.key++)
		CHECK_EQ(st->act(first, &a, &v), 0);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		for (next = n = calls = 0; next != RMC_TREE_KEY_NONE && calls < 100; calls++) {
			memset(pairs, 0xff, sizeof(pairs));
			CHECK_EQ(rmc_tree_scan(t, next, 100, pairs, pieces[i].max, &found, &next),
				 0);
			CHECK(found <= pieces[i].max);
			CHECK_EQ(pairs[pieces[i].max].key, ~0ULL);
			for (k = 0; k < found; k++)
				CHECK_EQ(pairs[k].key, n++);
		}
		CHECK_EQ(n, 60);
		CHECK_EQ(calls, pieces[i].calls);
	}
	CHECK_EQ(rmc_tree_scan(t, 5, 4, pairs, 1, &found, &next), -EINVAL);
	CHECK_EQ(rmc_tree_scan(t, 5, 6, pairs, 0, &found, &next), -EINVAL);
	CHECK_EQ(rmc_tree_scan(t, 5, RMC_TREE_KEY_NONE, pairs, 1, &found, &next), -EINVAL);
	CHECK_EQ(rmc_tree_get(t, RMC_TREE_KEY_NONE, &v), -EINVAL);
	CHECK_EQ(rmc_tree_put(t, RMC_TREE_KEY_NONE, 1), -EINVAL);
	CHECK_EQ(rmc_tree_delete(t, RMC_TREE_KEY_NONE), -EINVAL);
	end();
}

/* The first and the last number are keys of a table and a map; the last is above all of a tree. */
static void first_and_last_keys(void)
{
	struct action a = { .value = 7 };
	uint64_t v = 0;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		begin(&structures[s], BLOCKS);
		for (a.key = 0; ; a.key = ~0ULL) {
			int want = a.key && structures[s].ordered ? -EINVAL : 0;

			for (a.what = PUT; ; a.what = GET) {
				CHECK_EQ(st->act(first, &a, &v), want);
				if (a.what == GET)
					break;
			}
			CHECK(want || v == a.value);
			if (a.key)
				break;
		}
		end();
	}
}

/* Areas say what they are for */
static void other_structures(void)
{
	static const uint32_t areas[] = {
		RMC_BLOCKS_NONE, RMC_BLOCKS_TABLE, RMC_BLOCKS_TABLE_DIRECT, RMC_BLOCKS_TREE,
		RMC_BLOCKS_MAP, RMC_BLOCKS_BTREE,
	};
	struct structure wide = structures[3];
	size_t s, i;
	void *t;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		for (i = 0; i < ARRAY_SIZE(areas); i++) {
			begin(&wide, 10);
			one.base.structure = areas[i];
			one.base.ops = structures[s].atomic ? &local_atomic_ops : &local_ops;
			t = structures[s].open(&one.base, structures[s].argument);
			CHECK_EQ(!!t, areas[i] == structures[s].areas);
			CHECK(t || errno == EPROTO);
			if (t)
				structures[s].close(t);
			end();
		}
	}
	/* a B-tree over blocks whose operations are not atomic; too short blocks */
	begin(&wide, 10);
	one.base.structure = RMC_BLOCKS_BTREE;
	CHECK(!rmc_btree_open(&one.base));
	CHECK_EQ(errno, EOPNOTSUPP);
	one.base.ops = &local_atomic_ops;
	one.base.bytes = RMC_BTREE_BYTES_MIN - 1;
	CHECK(!rmc_btree_open(&one.base));
	CHECK_EQ(errno, EINVAL);
	one.base.bytes = wide.bytes;
	end();
}

#include "structure_bad.h"
#include "structure_btree.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "random operations, as a model has them", beside_model },
		{ "no block is free: nothing is lost", no_room },
		{ "each call of the accessor restarts", restarts_everywhere },
		{ "each call of the accessor fails", failures_everywhere },
		{ "an operation within each call of another one", one_within_another },
		{ "two operations within each call of another one", two_within_another },
		{ "an operation whose client dies at each call", dead_within_another },
		{ "an operation whose write comes after its status", late_within_another },
		{ "entries of a map that move", entries_that_move },
		{ "two insertions of one key into a chain", insertions_of_one_key },
		{ "a chain at its limit", full_chain },
		{ "splits that a status has ended are completed", half_splits },
		{ "scans that are continued", continued_scans },
		{ "the first and the last key", first_and_last_keys },
		{ "areas of another structure", other_structures },
		{ "a map is a red-black tree", red_and_black },
		{ "a B-tree is balanced, and at least half full", balanced },
		{ "scans of a B-tree that are continued", continued_btree_scans },
		{ "bad blocks of a B-tree", bad_btree_blocks },
		{ "bad buckets", bad_buckets },
		{ "bad blocks of a tree", bad_tree_blocks },
		{ "bad blocks of a map", bad_map_blocks },
		{ "any damage", any_damage },
	};

	return tap_run(tests, (int)ARRAY_SIZE(tests));
}
