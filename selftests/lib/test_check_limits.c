// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Limits of the checker of histories: of its search, of what explains a violation, of the search for
 * a cycle.
 */
#include <string.h>
#include <time.h>
#include "../tap.h"
#include "check.h"

struct seen {
	unsigned int findings;
	char lines[80];
	bool partial;
};

/* A read by client 0 that begins at @invoke, takes a tick, and gets @got */
static int64_t read_of(struct check_history *h, uint64_t invoke, uint64_t got)
{
	int64_t op = check_begin(h, 0, CHECK_READ, 0, invoke);

	h->op[op].known = CHECK_VALUE;
	h->op[op].got = got;
	h->op[op].complete = invoke + 1;
	return op;
}

static void note(void *arg, const struct check_finding *f)
{
	struct seen *s = arg;
	size_t i, n = 0;

	s->findings++;
	s->partial = f->partial;
	for (i = 0; i < f->ops && n < sizeof(s->lines); i++)
		n += (size_t)snprintf(s->lines + n, sizeof(s->lines) - n, "%s%u", i ? " " : "",
				      f->op[i]->line);
}

static void count_partial(void *arg, const struct check_finding *f)
{
	unsigned int *n = arg;

	n[f->partial]++;
}

/*
 * A cycle is found however long it is, also if the search for a worse sort of it is cut short
 * (WALK_MAX); that is said of it, and not of another one.
 */
static void test_long_cycle(void)
{
	unsigned int found[2] = { 0 };
	struct check_options o = { .strict = true, .found = count_partial, .arg = found };
	struct check_history h;
	struct check_result r;
	uint64_t i, at = 3000;

	check_init(&h);
	check_key_of(&h, "x");
	check_key_of(&h, "y");
	check_key_of(&h, "z");
	check_txn(&h, 0, 0, 1, CHECK_COMMITTED);
	check_append(&h, 0, 1);
	for (i = 1; i < 1000; i++)
		check_txn(&h, 0, 2 * i, 2 * i + 1, CHECK_COMMITTED);
	check_txn(&h, 0, 2 * i, 2 * i + 1, CHECK_COMMITTED);
	check_list(&h, 0, NULL, 0);
	i = 1;
	check_txn(&h, 1, 2000, 2001, CHECK_COMMITTED);
	check_list(&h, 0, &i, 1);
	CHECK_EQ(check_serial(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK_EQ(r.findings, 1);
#if defined(WALK_MAX) && WALK_MAX <= 2000
	CHECK_EQ(found[1], 1);
#endif
	found[1] = 0;
	/* two rw and one rt, later */
	check_txn(&h, 0, at, at + 9, CHECK_COMMITTED);
	check_list(&h, 1, NULL, 0);
	check_append(&h, 2, 1);
	check_txn(&h, 1, at, at + 1, CHECK_COMMITTED);
	check_append(&h, 1, 1);
	check_txn(&h, 1, at + 2, at + 3, CHECK_COMMITTED);
	check_list(&h, 2, NULL, 0);
	CHECK_EQ(check_serial(&h, &o, &r), 0);
	CHECK_EQ(r.findings, 2);
	CHECK_EQ(r.undecided, 0);
#if defined(WALK_MAX) && WALK_MAX <= 2000
	CHECK_EQ(found[1], 1);
#endif
	check_free(&h);
}

/* ---- the search ---- */

static void undecided(void *arg, const struct check_finding *f)
{
	*(int *)arg += f->reason == CHECK_GAVE_UP;
}

/* Writes of the same values at once, and a read of a value that none of the last ones is */
static void test_limit(void)
{
	int i, gave_up = 0;
	struct check_options o = { .max_states = 100, .found = undecided, .arg = &gave_up };
	struct check_history h;
	struct check_result r;
	int64_t op;

	check_init(&h);
	check_key_of(&h, "x");
	for (i = 0; i < 16; i++) {
		op = check_begin(&h, (uint32_t)i, CHECK_ADD, 0, 0);
		h.op[op].arg = 1ULL << i;
		h.op[op].complete = 10;
	}
	check_initial(&h, 0, 0);
	op = read_of(&h, 20, 1 << 16);
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_UNDECIDED);
	CHECK_EQ(r.undecided, 1);
	CHECK_EQ(r.findings, 0);
	CHECK_EQ(gave_up, 1);
	CHECK(r.states <= 100);
	/* each set of the additions is one state, however it is reached */
	o.max_states = 0;
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK(r.states <= 1 << 16);
	h.op[op].got--;
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_OK);
	check_free(&h);
}

/* Operations that nobody answered multiply the states only where results can tell them apart. */
static void test_pending(void)
{
	struct check_history h;
	struct check_result r;
	int64_t op;
	int i;

	check_init(&h);
	check_key_of(&h, "x");
	check_initial(&h, 0, 0);
	for (i = 0; i < 40; i++) {
		op = check_begin(&h, (uint32_t)i, CHECK_ADD, 0, (uint64_t)i);
		h.op[op].arg = 1;
	}
	read_of(&h, 50, 41);
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK(r.states <= 50);
	for (i = 0; i < 40; i++) {
		h.op[i].kind = CHECK_WRITE;
		h.op[i].arg = 100 + (uint64_t)i;
	}
	h.op[op].got = 99;
	op = check_begin(&h, 41, CHECK_CAS, 0, 50);
	h.op[op].complete = 51;
	h.op[op].known = CHECK_VALUE;
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK(r.states <= 4);
	check_free(&h);
}

/* Of a long history, few operations are named: those that contradict each other. */
static void test_explanation(void)
{
	struct seen s = { 0 };
	struct check_options o = { .found = note, .arg = &s, .search = true };
	struct check_history h;
	struct check_result r;
	uint64_t i, value = 0;
	int64_t op;

	check_init(&h);
	check_key_of(&h, "x");
	check_initial(&h, 0, 0);
	for (i = 0; i < 3000; i++) {
		op = check_begin(&h, i & 1, i & 2 ? CHECK_READ : CHECK_WRITE, 0, 10 * i);
		h.op[op].complete = 10 * i + 15;
		h.op[op].line = (uint32_t)i + 1;
		if (i & 2) {
			h.op[op].known = CHECK_VALUE;
			h.op[op].got = value;
		} else {
			h.op[op].arg = value = i + 1;
		}
		/* a stale value in the middle */
		if (i == 1502)
			h.op[op].got = 1002;
	}
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK_EQ(s.findings, 1);
	/* its write, a later one, and the read */
	if (strncmp(s.lines, "1002 ", 5) || !strstr(s.lines, " 1503") || strlen(s.lines) > 14)
		TAP_FAIL("lines %s", s.lines);
	check_free(&h);
}

/* That an earlier search was cut short is said of the cycle that a later one finds at once. */
static void test_cut_short(void)
{
	enum { CHAIN = 3000 };
	uint64_t chain[CHAIN + 1];
	unsigned int found[2] = { 0 };
	struct check_options o = { .found = count_partial, .arg = found };
	struct check_history h;
	struct check_result r;
	uint32_t i;

	check_init(&h);
	for (i = 0; i < 4; i++)
		check_key(&h, &"abcd"[i], 1);
	/* write skew of two, of which the second leads to the first by a long way as well */
	check_txn(&h, 0, 0, 9, CHECK_COMMITTED);
	check_list(&h, 0, NULL, 0);
	check_append(&h, 1, 1);
	check_append(&h, 3, 1);
	check_txn(&h, 1, 0, 9, CHECK_COMMITTED);
	check_append(&h, 0, 1);
	check_list(&h, 1, NULL, 0);
	for (i = 0; i <= CHAIN; i++) {
		if (i)
			check_txn(&h, i + 1, 0, 9, CHECK_COMMITTED);
		chain[i] = i;
		check_append(&h, 2, i);
	}
	check_txn(&h, i + 1, 0, 9, CHECK_COMMITTED);
	check_list(&h, 2, chain, CHAIN + 1);
	check_list(&h, 3, NULL, 0);
	CHECK_EQ(check_serial(&h, &o, &r), 0);
	CHECK_EQ(r.findings, 1);
#if defined(WALK_MAX) && WALK_MAX <= 2000
	CHECK_EQ(found[1], 1);
#else
	CHECK_EQ(found[0], 1);
#endif
	check_free(&h);
}

static void count_calls(void *arg, uint64_t done, uint64_t all)
{
	(void)done;
	(void)all;
	++*(unsigned int *)arg;
}

/*
 * Steps are limited as well as states: here each state has a thousand pending operations of which
 * none fits.
 */
static void test_steps(void)
{
	struct check_options o = { .max_states = 1 << 14 };
	struct check_history h;
	struct check_result r;
	int64_t op;
	int i;

	check_init(&h);
	check_key_of(&h, "x");
	check_initial(&h, 0, 0);
	for (i = 0; i < 2000; i++) {
		op = check_begin(&h, (uint32_t)i, i < 16 ? CHECK_ADD : CHECK_CAS, 0, 0);
		h.op[op].arg = i < 16 ? 1ULL << i : (uint64_t)i;
		h.op[op].expected = 1ULL << 40;
	}
	read_of(&h, 20, 1ULL << 32);
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_UNDECIDED);
	CHECK(r.states < 1 << 13);
	check_free(&h);
}

/* Where few operations are hard to find, the search for them gives up, and says so. */
static void test_hard_explanation(void)
{
	unsigned int calls = 0;
	struct seen s = { 0 };
	struct check_options o = { .found = note, .arg = &s };
	clock_t start = clock();
	struct check_history h;
	struct check_result r;
	uint64_t i;
	int64_t op;

	check_init(&h);
	check_key_of(&h, "x");
	check_initial(&h, 0, 0);
	for (i = 1; i <= 1801; i++) {
		op = check_begin(&h, i % 8, CHECK_SWAP, 0, i * 10);
		h.op[op].arg = i;
		h.op[op].known = CHECK_VALUE;
		h.op[op].got = i <= 1800 ? i - 1 : 5;
		h.op[op].complete = i * 10 + 5;
		if (i % 10)
			continue;
		op = check_begin(&h, 1000 + (uint32_t)i, CHECK_CAS, 0, i * 10 + 1);
		h.op[op].expected = i - 5;
		h.op[op].arg = i - 7;
	}
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict, CHECK_VIOLATED);
	CHECK(s.partial);
	printf("# %.1f s of CPU time\n", (double)(clock() - start) / CLOCKS_PER_SEC);
	CHECK((clock() - start) / CLOCKS_PER_SEC < 20);
	/* each search that is tried reports progress */
	o = (struct check_options){ .progress = count_calls, .arg = &calls };
	CHECK_EQ(check_linear(&h, &o, &r), 0);
	CHECK(calls > 10);
	check_free(&h);
}

static const struct tap_test tests[] = {
	{ "a search that reaches its limit is undecided", test_limit },
	{ "operations whose outcome is not known", test_pending },
	{ "steps of the search are limited", test_steps },
	{ "few operations explain a violation", test_explanation },
	{ "few operations that are hard to find", test_hard_explanation },
	{ "a cycle is found however long it is", test_long_cycle },
	{ "a search for a cycle that is cut short", test_cut_short },
};

int main(void)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
