/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structures of blocks (lib/ds) beside a sequential model, over memory of the test: random
 * operations; an accessor that restarts, or fails, at each of its calls; two operations, of which
 * one runs within each call of the other.
 */
#include "structure_test.h"

#define TABLE(title, fixed_, flags)	{ .name = title, .bytes = RMC_TABLE_BYTES, \
	.fixed = fixed_, .argument = flags, .open = table_open, .close = table_close, \
	.act = table_act, .shrinks = true, .whole = true }
#define TREE(title, bytes_, coupling)	{ .name = title, .bytes = bytes_, .fixed = 1, \
	.ordered = true, .argument = coupling, .open = tree_open, .close = tree_close, \
	.act = tree_act, .whole = (coupling) == RMC_TREE_LINK }
#define MAP(title)		{ .name = title, .bytes = RMC_MAP_BYTES, .fixed = 1, \
	.open = map_open, .close = map_close, .act = map_act }

static const struct structure structures[] = {
	TABLE("table", 16, 0),
	TABLE("table of one chain", 1, 0),
	TABLE("table, direct", 8, RMC_TABLE_DIRECT),
	TREE("tree, linked", RMC_TREE_BYTES_MIN, RMC_TREE_LINK),
	TREE("tree, versions", RMC_TREE_BYTES_MIN, RMC_TREE_VERSION),
	TREE("tree, latches", RMC_TREE_BYTES_MIN, RMC_TREE_LATCH),
	TREE("tree of wide blocks", 32 + 16 * 9 + 8, RMC_TREE_LINK),
	MAP("map"),
};

#define BLOCKS		240

static const struct structure *st;
static struct local_memory memory;
static struct local one, two;
static void *first, *second;

static void begin(const struct structure *s, uint64_t blocks)
{
	st = s;
	tap_where = s->name;
	local_memory_init(&memory, s->bytes, s->fixed, blocks);
	local_init(&one, &memory);
	local_init(&two, &memory);
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
		CHECK_EQ(memory.frees < 2, 1);
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
	/* a table's chains are as short as possible */
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

/* A status is the result, unless the operation had been done; the other keys stay. */
static void one_failure(const struct action *a, unsigned int at, unsigned int keys)
{
	struct model m = kept_model, done = kept_model;
	struct action get = { .what = GET, .key = a->key };
	uint64_t v, want;
	int err, expected = model_act(&done, a, &want);

	restore();
	one.fail_at = at;
	err = st->act(first, a, &v);
	one.fail_at = 0;
	if (err != LOCAL_BROKEN) {
		CHECK_EQ(err, expected);
		m = done;
	} else if (a->what != GET && a->what != SCAN) {
		/* as before, or done */
		err = st->act(first, &get, &v);
		CHECK(err == 0 || err == -ENOENT);
		CHECK(v == kept_model.value[a->key] || v == done.value[a->key]);
		m.value[a->key] = v;
	}
	compare(&m, keys);
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
		if (each == one_failure && !structures[s].whole)
			continue;
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

static struct action inner;
static int inner_result, inner_ran;
static uint64_t inner_value;

static void run_inner(void)
{
	inner_ran = 1;
	inner_result = st->act(second, &inner, &inner_value);
}

static bool reads(const struct action *a)
{
	return a->what == GET || a->what == SCAN;
}

/*
 * Of both operations: the results are those of the model, ra and va of a, rb and vb of the inner
 * one
 */
static bool fits(const struct action *a, int err, uint64_t v, int ra, uint64_t va, int rb,
		 uint64_t vb)
{
	return err == ra && inner_result == rb && (!reads(a) || v == va) &&
	       (!inner_ran || !reads(&inner) || inner_value == vb);
}

/* The results are those of one after the other; -EAGAIN: the inner one met a latch */
static void within(const struct action *a, unsigned int at, unsigned int keys)
{
	struct model ab = kept_model, ba = kept_model;
	uint64_t v, va, vb = 0;
	int err, ra, rb, ab_fits, ba_fits;

	restore();
	inner_ran = 0;
	one.run = run_inner;
	one.run_at = at;
	err = st->act(first, a, &v);
	one.run = NULL;
	one.run_at = 0;
	CHECK(inner_ran);
	if (inner_result == -EAGAIN) {
		inner_ran = 0;
		inner_result = 0;
	}
	ra = model_act(&ab, a, &va);
	rb = inner_ran ? model_act(&ab, &inner, &vb) : 0;
	ab_fits = fits(a, err, v, ra, va, rb, vb);
	rb = inner_ran ? model_act(&ba, &inner, &vb) : 0;
	ra = model_act(&ba, a, &va);
	ba_fits = fits(a, err, v, ra, va, rb, vb);
	CHECK(ab_fits || ba_fits);
	if (!ab_fits || (ba_fits && memcmp(&ab, &ba, sizeof(ab)))) {
		/* both fit, but differ: of two writes the later one counts */
		if (ab_fits) {
			struct action get = { .what = GET, .key = a->key };

			st->act(first, &get, &v);
			if (v == ab.value[a->key])
				ba = ab;
		}
		ab = ba;
	}
	compare(&ab, keys);
}

static void one_within_another(void)
{
	unsigned int state, keys = 30, n, i, meets = 0;
	struct action a;
	uint64_t v;
	size_t s;

	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		for (state = 0; state < 24; state++) {
			begin(&structures[s], BLOCKS);
			two.attempts = 3;
			one.parts = state % 8 == 7;
			fill(keys, state * 4);
			for (i = 0; i < 60; i++) {
				a = random_action(keys, 1);
				inner = random_action(keys, i % 2);
				if (rnd(2))
					inner.key = (a.key + rnd(3)) % keys;
				restore();
				st->act(first, &a, &v);
				for (n = one.calls; n; n--) {
					within(&a, n, keys);
					meets += !inner_ran;
				}
			}
			local_memory_free(&kept);
			end();
		}
	}
	printf("# %u operations met a latch\n", meets);
}

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
		CHECK(memory.frees < 2);
		compare(&m, KEYS);
		end();
	}
}

#include "structure_bad.h"

int main(void)
{
	static const struct tap_test tests[] = {
		{ "random operations, as a model has them", beside_model },
		{ "no block is free: nothing is lost", no_room },
		{ "each call of the accessor restarts", restarts_everywhere },
		{ "each call of the accessor fails", failures_everywhere },
		{ "an operation within each call of another one", one_within_another },
		{ "a map is a red-black tree", red_and_black },
		{ "bad buckets", bad_buckets },
		{ "bad blocks of a tree", bad_tree_blocks },
		{ "bad blocks of a map", bad_map_blocks },
		{ "any damage", any_damage },
	};

	return tap_run(tests, (int)ARRAY_SIZE(tests));
}
