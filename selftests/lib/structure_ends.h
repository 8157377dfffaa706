/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Operations that end before they are complete: their client dies, or a write that has failed comes
 * later. Another operation is on its way meanwhile. Part of test_structures.c
 */
#ifndef STRUCTURE_ENDS_H
#define STRUCTURE_ENDS_H

static jmp_buf grave;
static unsigned int ends_at;
static bool dies, settles_at_once;

static void run_unfinished(void)
{
	uint64_t v;

	two.calls = two.left = 0;
	two.dies_at = dies ? ends_at : 0;
	two.later_at = dies ? 0 : ends_at;
	two.dead = dies ? &grave : NULL;
	if (setjmp(grave)) {
		inner_result[0] = LOCAL_BROKEN;
	} else {
		inner_result[0] = st->act(second, &inner[0], &v);
		two.dead = NULL;
	}
	two.dies_at = two.later_at = 0;
	inner_ran = 1;
	if (settles_at_once)
		local_settle(&two);
}

/* The model after both; when: the other one came first (0), last (1), or had no effect (2) */
static bool ends_fit(const struct action *a, int err, uint64_t v, int when, struct model *m)
{
	int result = inner_result[0];
	bool all = true;
	uint64_t want;

	*m = kept_model;
	/* it met a latch, and has done nothing */
	if (result == -EAGAIN)
		when = 2;
	else if (result != LOCAL_BROKEN && when == 2)
		return false;
	if (when == 0)
		all &= model_act(m, &inner[0], &want) == result || result == LOCAL_BROKEN;
	if (err != -EAGAIN)
		all &= fits(m, a, err, v);
	if (when == 1)
		all &= model_act(m, &inner[0], &want) == result || result == LOCAL_BROKEN;
	return all;
}

static void ends_within(const struct action *a, unsigned int at, unsigned int keys)
{
	struct action get = { .what = GET };
	bool found = false;
	uint64_t v, there;
	struct model m;
	int err, when;

	err = act_around(run_unfinished, at, a, &v);
	local_settle(&two);
	for (when = 0; when <= 2 && !found; when++) {
		found = ends_fit(a, err, v, when, &m);
		for (get.key = 0; get.key < keys && found; get.key++) {
			st->act(first, &get, &there);
			found = there == m.value[get.key];
		}
	}
	CHECK(found);
	if (found)
		compare(&m, keys);
	/* whoever comes next completes what is half done */
	kept_model = m;
	for (get.what = PUT, get.key = 0; get.key < keys && found; get.key += 5) {
		get.value = get.key + 1;
		CHECK_EQ(st->act(first, &get, &there), 0);
		m.value[get.key] = get.value;
	}
	compare(&m, keys);
}

static void end_everywhere(const struct structure *s, unsigned int state, unsigned int rounds)
{
	unsigned int n, i, k, ends, keys = 24;
	struct model before;
	struct action a;
	uint64_t v;

	begin(s, BLOCKS);
	one.attempts = two.attempts = 3;
	fill(keys, state * 7);
	before = kept_model;
	for (i = 0; i < rounds; i++) {
		a = random_action(keys, 1);
		inner[0] = random_action(keys, i % 2);
		if (rnd(2))
			inner[0].key = (a.key + rnd(3)) % keys;
		restore();
		st->act(first, &a, &v);
		n = one.calls;
		restore();
		two.left = 0;
		st->act(second, &inner[0], &v);
		ends = dies ? two.calls : two.left;
		for (; n; n--) {
			for (k = 1; k <= ends; k++) {
				ends_at = k;
				settles_at_once = rnd(2);
				ends_within(&a, n, keys);
				kept_model = before;
			}
		}
	}
	local_memory_free(&kept);
	end();
}

static void run_all_ends(bool die)
{
	unsigned int state;
	size_t s;

	dies = die;
	for (s = 0; s < ARRAY_SIZE(structures); s++) {
		for (state = 0; state < 6 && !structures[s].atomic; state++) {
			latches_hide = state % 2;
			end_everywhere(&structures[s], state, die ? 5 : 12);
		}
	}
	latches_hide = false;
}

/* A client dies at each of its calls, within each call of another one */
static void dead_within_another(void)
{
	run_all_ends(true);
}

static void late_within_another(void)
{
	run_all_ends(false);
}

/* --- a map: entries that move to other blocks while somebody is on the way to them --- */

static void rising_map(unsigned int n)
{
	struct action a = { .what = PUT, .value = 5 };
	uint64_t v;

	begin(&structures[ARRAY_SIZE(structures) - 1], BLOCKS);
	one.attempts = two.attempts = 3;
	fill(1, 0);
	for (a.key = 0; a.key < 2 * n; a.key += 2) {
		CHECK_EQ(st->act(first, &a, &v), 0);
		kept_model.value[a.key] = a.value;
	}
	local_copy_memory(&kept, &memory);
}

/* Changes of values, and an insertion whose link comes after its status: none is lost. */
static void values_within(unsigned int n)
{
	struct model before = kept_model;
	struct action a = { .what = UPDATE, .value = 8 };
	unsigned int calls, at;
	uint64_t v;

	inner[0] = (struct action){ INSERT, 2 * n, 6 };
	for (a.key = n; a.key < 2 * n; a.key += 2) {
		restore();
		st->act(first, &a, &v);
		calls = one.calls;
		for (at = 1; at <= calls; at++) {
			for (ends_at = 1; ends_at <= 8; ends_at++) {
				settles_at_once = ends_at % 2;
				ends_within(&a, at, 2 * n + 2);
				settles_at_once = !settles_at_once;
				kept_model = before;
				ends_within(&a, at, 2 * n + 2);
				kept_model = before;
			}
		}
	}
}

static struct action gone;		/* an insertion that is complete, then that of inner[0] */

static void run_both(void)
{
	uint64_t v;

	two.dead = NULL;
	st->act(second, &gone, &v);
	run_unfinished();
}

/* A block leaves the tree, and is used for a key that is never linked: nobody finds it. */
static void keys_within(unsigned int n)
{
	struct action get = { .what = GET };
	unsigned int calls, at;
	uint64_t v;
	int err;

	gone = (struct action){ INSERT, 2 * n, 6 };
	for (get.key = 1; get.key < 2 * n; get.key += 2) {
		inner[0] = (struct action){ INSERT, get.key, 7 };
		restore();
		st->act(first, &get, &v);
		calls = one.calls;
		for (at = 1; at <= calls; at++) {
			for (ends_at = 1; ends_at <= 40; ends_at++) {
				settles_at_once = true;
				restore();
				one.run = run_both;
				one.run_at = at;
				err = st->act(first, &get, &v);
				one.run = NULL;
				one.run_at = 0;
				local_settle(&two);
				CHECK(err == -ENOENT || !st->act(first, &get, &v));
			}
		}
	}
}

static void entries_that_move(void)
{
	unsigned int n;

	for (n = 3; n < 10; n++) {
		rising_map(n);
		one.hides = two.hides = true;
		dies = false;
		values_within(n);
		dies = true;
		keys_within(n);
		local_memory_free(&kept);
		end();
	}
}

#endif /* STRUCTURE_ENDS_H */
