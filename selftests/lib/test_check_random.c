// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The checker of histories against itself made simple: random executions, whose histories it has to
 * accept, and single changes of them, for which a checker decides that tries all orders of the
 * operations or transactions. And long histories.
 */
#include <string.h>
#include <time.h>
#include "../tap.h"
#include "check.h"

#define SMALL	7	/* operations of a history, at most */
#define KEYS	3

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

static const char *const names[KEYS] = { "a", "b", "c" };

/* ---- all orders of operations ---- */

struct slot {
	bool there;
	uint64_t v;
};

static bool scan_matches(const struct check_history *h, const struct check_op *op,
			 const struct slot *s)
{
	const struct check_scan *scan = &h->scan[op->scan];
	uint32_t i, n = 0, to = scan->to == CHECK_NONE ? KEYS - 1 : scan->to;

	for (i = scan->from; i <= to && n < scan->max; i++) {
		if (!s[i].there)
			continue;
		if (n >= scan->found || h->pair[scan->first + n].key != i ||
		    h->pair[scan->first + n].value != s[i].v)
			return false;
		n++;
	}
	return n == scan->found;
}

/* Execute an operation on the state; false: its result differs. Keys are their numbers. */
static bool execute(const struct check_history *h, const struct check_op *op, struct slot *s)
{
	struct slot *k = &s[op->kind == CHECK_SCAN ? 0 : op->key], was = *k;
	bool ok = true;

	if (op->kind == CHECK_SCAN)
		return op->complete == CHECK_PENDING || scan_matches(h, op, s);
	if (op->kind == CHECK_CAS)
		ok = was.there && was.v == op->expected;
	else if (op->kind == CHECK_INSERT)
		ok = !was.there;
	else if (op->kind == CHECK_UPDATE || op->kind == CHECK_DELETE)
		ok = was.there;
	if (op->kind == CHECK_ADD)
		k->v += was.there ? op->arg : 0;
	else if (op->kind == CHECK_DELETE)
		*k = (struct slot){ false, 0 };
	else if (op->kind != CHECK_READ && ok)
		*k = (struct slot){ true, op->arg };
	if (op->complete == CHECK_PENDING)
		return true;
	return op->known == CHECK_ANY ||
	       (op->known == CHECK_VALUE && was.there && was.v == op->got) ||
	       (op->known == CHECK_ABSENT && !was.there) || (op->known == CHECK_DONE && ok) ||
	       (op->known == CHECK_REFUSED && !ok);
}

/* Whether some order of the operations that are left explains all results */
static bool some_order(const struct check_history *h, uint32_t left, const struct slot *state)
{
	struct slot next[KEYS];
	uint32_t i, j;
	bool must = false;

	for (i = 0; i < h->ops; i++)
		must |= left >> i & 1 && h->op[i].complete != CHECK_PENDING;
	if (!must)
		return true;
	for (i = 0; i < h->ops; i++) {
		if (!(left >> i & 1))
			continue;
		for (j = 0; j < h->ops; j++)
			if (left >> j & 1 && h->op[j].complete < h->op[i].invoke)
				break;
		if (j < h->ops)
			continue;
		memcpy(next, state, sizeof(next));
		if (execute(h, &h->op[i], next) && some_order(h, left & ~(1U << i), next))
			return true;
	}
	return false;
}

static bool brute_linear(const struct check_history *h)
{
	struct slot state[KEYS] = { 0 };
	uint32_t i;

	for (i = 0; i < KEYS; i++)
		state[i] =
			(struct slot){h->key[i].present, h->key[i].present ? h->key[i].initial : 0};
	return some_order(h, (1U << h->ops) - 1, state);
}

/* ---- random executions of operations ---- */

enum sort { REGISTERS, WORDS, STORE, SCANS, SORTS };

static enum check_kind random_kind(enum sort sort)
{
	static const enum check_kind kinds[SORTS][6] = {
		{ CHECK_READ, CHECK_READ, CHECK_WRITE, CHECK_WRITE, CHECK_READ, CHECK_WRITE },
		{ CHECK_READ, CHECK_ADD, CHECK_CAS, CHECK_CAS, CHECK_SWAP, CHECK_WRITE },
		{ CHECK_READ, CHECK_INSERT, CHECK_UPDATE, CHECK_DELETE, CHECK_WRITE, CHECK_READ },
		{ CHECK_SCAN, CHECK_SCAN, CHECK_INSERT, CHECK_DELETE, CHECK_WRITE, CHECK_READ },
	};

	return kinds[sort][below(6)];
}

static void set_result(struct check_op *op, const struct slot *was, const struct slot *now)
{
	bool changed = was->there != now->there || was->v != now->v;
	bool condition = op->kind == CHECK_CAS || op->kind == CHECK_INSERT ||
			 op->kind == CHECK_UPDATE || op->kind == CHECK_DELETE;

	if (op->kind == CHECK_WRITE)
		return;
	op->known = was->there ? CHECK_VALUE : CHECK_ABSENT;
	op->got = was->there ? was->v : 0;
	if (op->kind == CHECK_CAS)
		changed = was->there && was->v == op->expected;
	else if (op->kind == CHECK_UPDATE)
		changed = was->there;
	if (condition && below(2))
		op->known = changed ? CHECK_DONE : CHECK_REFUSED;
	else if (condition && !below(8))
		op->known = CHECK_ANY;
}

static void begin_history(struct check_history *h)
{
	int i;

	check_init(h);
	for (i = 0; i < KEYS; i++)
		check_key_of(h, names[i]);
}

static void random_scan(struct check_history *h, struct check_op *op, const struct slot *s)
{
	struct check_scan *scan = &h->scan[op->scan];
	int64_t n = op - h->op;
	uint32_t i, to = scan->to == CHECK_NONE ? KEYS - 1 : scan->to;

	for (i = scan->from; i <= to; i++)
		if (s[i].there && h->scan[h->op[n].scan].found < scan->max)
			check_scan_found(h, n, i, s[i].v);
}

/* A sequential execution; each operation took effect at a time between its begin and end */
static void random_history(struct check_history *h, enum sort sort, uint32_t n, uint32_t keys,
			   uint32_t overlap)
{
	struct slot state[KEYS] = { 0 }, was;
	uint32_t i, key, from;
	struct check_op *op;
	uint64_t at;
	int64_t o;

	begin_history(h);
	for (i = 0; i < keys; i++) {
		if (sort == SCANS || sort == STORE || below(2))
			continue;
		check_initial(h, i, 0);
		state[i].there = true;
	}
	for (i = 0; i < n; i++) {
		enum check_kind kind = random_kind(sort);

		key = below(keys);
		at = 10ULL * i + overlap;
		from = below(keys);
		if (kind == CHECK_SCAN)
			o = check_begin_scan(h, i, from,
					     below(2) ? CHECK_NONE : from + below(keys - from),
					     below(2) ? CHECK_NONE : 1 + below(2),
					     at - below(overlap));
		else
			o = check_begin(h, i, kind, key, at - below(overlap));
		op = &h->op[o];
		op->arg = sort == REGISTERS ? i + 1 : below(4);
		op->expected = below(3);
		was = state[key];
		if (!below(8)) {	/* whose outcome is not known: it took effect or not */
			if (below(2))
				execute(h, op, state);
			continue;
		}
		if (kind == CHECK_SCAN) {
			random_scan(h, op, state);
		} else {
			execute(h, op, state);
			set_result(op, &was, &state[key]);
		}
		op->complete = at + below(overlap);
	}
}

static void change_history(struct check_history *h)
{
	struct check_op *op = &h->op[below((uint32_t)h->ops)],
			*other = &h->op[below((uint32_t)h->ops)];
	uint64_t length = op->complete - op->invoke;

	if (op->kind == CHECK_SCAN && h->scan[op->scan].found && below(2)) {
		h->pair[h->scan[op->scan].first].value = below(4);
		return;
	}
	switch (below(5)) {
	case 0:
		op->got = below(4);
		if (op->known == CHECK_DONE || op->known == CHECK_REFUSED)
			op->known = op->known == CHECK_DONE ? CHECK_REFUSED : CHECK_DONE;
		break;
	case 1:		/* another time */
		if (op->complete == CHECK_PENDING)
			break;
		op->invoke = other->invoke;
		op->complete = op->invoke + length;
		break;
	case 2:
		if (op->complete != CHECK_PENDING)
			op->complete = op->invoke + below(5);
		break;
	case 3:
		if (op->kind != CHECK_SCAN && op->known == CHECK_VALUE &&
		    op->complete != CHECK_PENDING)
			op->known = CHECK_ABSENT;
		break;
	default:
		if (op->kind == CHECK_SCAN && h->scan[op->scan].found)
			h->scan[op->scan].found--;
		else
			op->got++;
	}
}

/* ---- findings ---- */

struct seen {
	const struct check_history *h;
	unsigned int findings;
	bool wrong;		/* a finding says nothing, or too much */
};

/* The operations of a finding have to contradict each other, whatever the others returned. */
static void contradicts(void *arg, const struct check_finding *f)
{
	struct seen *s = arg;
	struct check_history h;
	uint32_t i, j;

	s->findings++;
	s->wrong |= !f->ops;
	for (i = 0; i < f->pairs; i++)
		s->wrong |= f->before[2 * i]->complete >= f->before[2 * i + 1]->invoke;
	begin_history(&h);
	for (i = 0; i < KEYS; i++)
		h.key[i] = s->h->key[i];
	for (i = 0; i < s->h->ops; i++) {
		const struct check_op *op = &s->h->op[i];

		for (j = 0; j < f->ops && f->op[j] != op; j++)
			;
		if (j == f->ops && (op->kind == CHECK_READ || op->kind == CHECK_SCAN))
			continue;
		h.op = realloc(h.op, (h.ops + 1) * sizeof(*h.op));
		h.op[h.ops] = *op;
		if (j == f->ops)
			h.op[h.ops].complete = CHECK_PENDING;
		h.ops++;
	}
	h.scan = s->h->scan;
	h.pair = s->h->pair;
	/* names point into the other history's, which are the same */
	s->wrong |= brute_linear(&h);
	h.scan = NULL;
	h.pair = NULL;
	check_free(&h);
}

static int verdict_of(const struct check_history *h, bool search, bool *wrong)
{
	struct seen s = { .h = h };
	struct check_options o = { .found = contradicts, .arg = &s, .search = search };
	struct check_result r;

	if (check_linear(h, &o, &r))
		return -1;
	*wrong |= s.wrong || (r.verdict != CHECK_OK) != (s.findings > 0);
	return r.verdict;
}

static void print_history(const struct check_history *h)
{
	fflush(stdout);
	check_write(h, stdout);
}

static void linear_runs(enum sort sort, unsigned int runs)
{
	unsigned int i, bad = 0, good = 0, differ = 0;
	bool wrong = false;

	for (i = 0; i < runs && !differ && !wrong; i++) {
		struct check_history h;
		int brute, fast, slow;

		random_history(&h, sort, 2 + below(SMALL - 1), 1 + below(KEYS), 1 + below(40));
		if (verdict_of(&h, false, &wrong) || verdict_of(&h, true, &wrong)) {
			printf("# an execution is rejected:\n");
			differ++;
			print_history(&h);
		}
		change_history(&h);
		brute = !brute_linear(&h);
		fast = verdict_of(&h, false, &wrong);
		slow = verdict_of(&h, true, &wrong);
		bad += brute;
		good += !brute;
		if (fast != brute || slow != brute || wrong) {
			printf("# %d, by search %d, by all orders %d, finding %s:\n", fast, slow,
			       brute, wrong ? "wrong" : "right");
			differ++;
			print_history(&h);
		}
		check_free(&h);
	}
	CHECK_EQ(differ, 0);
	/* the comparison is one only if both verdicts are frequent */
	printf("# %u histories with an order, %u without one\n", good, bad);
	CHECK(bad > runs / 20);
	CHECK(good > runs / 20);
}

static void test_registers(void)
{
	linear_runs(REGISTERS, 8000);
}

static void test_words(void)
{
	linear_runs(WORDS, 8000);
}

static void test_store(void)
{
	linear_runs(STORE, 8000);
}

static void test_scans(void)
{
	linear_runs(SCANS, 8000);
}

/* ---- all orders of transactions ---- */

#define TXNS	5
#define LONG	64	/* elements of a list */

struct lists {
	uint32_t n[KEYS];
	uint64_t v[KEYS][LONG];
};

static bool run_txn(const struct check_history *h, const struct check_txn *t, struct lists *l)
{
	const struct check_part *p;
	uint32_t i;

	for (i = 0; i < t->parts; i++) {
		p = &h->part[t->first + i];
		if (p->append)
			l->v[p->key][l->n[p->key]++] = p->value;
		else if (p->length != CHECK_NONE &&
			 (p->length != l->n[p->key] ||
			  (p->length &&
			   memcmp(l->v[p->key], h->element + p->first, 8 * p->length))))
			return false;
	}
	return true;
}

static bool some_serial(const struct check_history *h, uint32_t left, const struct lists *l,
			bool strict)
{
	bool must = false;
	struct lists next;
	uint32_t i, j;

	for (i = 0; i < h->txns; i++)
		must |= left >> i & 1 && h->txn[i].outcome == CHECK_COMMITTED;
	if (!must)
		return true;
	for (i = 0; i < h->txns; i++) {
		if (!(left >> i & 1) || h->txn[i].outcome == CHECK_ABORTED)
			continue;
		for (j = 0; j < h->txns; j++)
			if (strict && left >> j & 1 && h->txn[j].outcome == CHECK_COMMITTED &&
			    h->txn[j].complete < h->txn[i].invoke)
				break;
		if (j < h->txns)
			continue;
		next = *l;
		if (run_txn(h, &h->txn[i], &next) &&
		    some_serial(h, left & ~(1U << i), &next, strict))
			return true;
	}
	return false;
}

/* ---- random executions of transactions ---- */

static void random_txns(struct check_history *h, uint32_t n, uint32_t keys, uint32_t overlap)
{
	struct lists l = { 0 }, before;
	uint64_t at, value = 0;
	uint32_t i, j, key, parts;

	begin_history(h);
	for (i = 0; i < n; i++) {
		enum check_outcome o = below(6) ? CHECK_COMMITTED : below(2) ? CHECK_ABORTED :
				       CHECK_UNKNOWN;

		at = 10ULL * i + overlap;
		check_txn(h, i, at - below(overlap),
			  o == CHECK_UNKNOWN ? CHECK_PENDING : at + below(overlap), o);
		before = l;
		parts = 1 + below(4);
		for (j = 0; j < parts; j++) {
			key = below(keys);
			if (below(2)) {
				check_append(h, key, ++value);
				l.v[key][l.n[key]++] = value;
			} else {
				check_list(h, key, l.v[key],
					   o == CHECK_UNKNOWN && below(2) ? CHECK_NONE : l.n[key]);
			}
		}
		if (o == CHECK_ABORTED || (o == CHECK_UNKNOWN && below(2)))
			l = before;
	}
}

static void change_txns(struct check_history *h)
{
	struct check_txn *t = &h->txn[below((uint32_t)h->txns)],
			 *other = &h->txn[below((uint32_t)h->txns)];
	struct check_part *p = &h->part[t->first + below(t->parts)];
	bool read = !p->append && p->length != CHECK_NONE && p->length;
	uint64_t *e = h->element + p->first, tmp;
	uint32_t i;

	switch (below(6)) {
	case 0:
		if (read)
			p->length--;
		break;
	case 1:
		if (read) {
			i = below(p->length);
			tmp = e[i];
			e[i] = e[0];
			e[0] = tmp;
		}
		break;
	case 2:
		if (t->outcome != CHECK_UNKNOWN)
			t->outcome = !t->outcome;
		break;
	case 3:
		if (t->complete != CHECK_PENDING && other->complete != CHECK_PENDING) {
			t->invoke = other->invoke;
			t->complete = other->complete;
		}
		break;
	case 4:		/* another part reads what this one does */
		if (read && t->parts > 1 && p > h->part + t->first && !p[-1].append)
			p[-1] = *p;
		break;
	default:
		if (read)
			e[below(p->length)] = 1 + below(8);
	}
}

static void count(void *arg, const struct check_finding *f)
{
	unsigned int *reasons = arg;

	reasons[f->reason]++;
}

static unsigned int reasons[CHECK_REASONS];

static int serial_verdict(const struct check_history *h, bool strict)
{
	struct check_options o = { .found = count, .arg = reasons, .strict = strict };
	struct check_result r;

	return check_serial(h, &o, &r) ? -1 : (int)r.verdict;
}

static void serial_runs(bool strict)
{
	static const struct lists empty;
	unsigned int i, j, bad = 0, good = 0, differ = 0;

	for (i = 0; i < 20000 && !differ; i++) {
		struct check_history h;
		int brute, fast;

		random_txns(&h, 2 + below(TXNS - 1), 1 + below(KEYS), 1 + below(40));
		if (serial_verdict(&h, strict)) {
			printf("# an execution is rejected:\n");
			differ++;
			print_history(&h);
		}
		for (j = below(2); j < 2; j++)
			change_txns(&h);
		brute = !some_serial(&h, (1U << h.txns) - 1, &empty, strict);
		fast = serial_verdict(&h, strict);
		bad += brute;
		good += !brute;
		if (fast != brute) {
			printf("# %d, by all orders %d:\n", fast, brute);
			differ++;
			print_history(&h);
		}
		check_free(&h);
	}
	CHECK_EQ(differ, 0);
	printf("# %u histories with an order, %u without one\n", good, bad);
	CHECK(bad > 2000);
	CHECK(good > 2000);
}

static void test_serial(void)
{
	serial_runs(false);
}

static void test_strict(void)
{
	unsigned int i;

	serial_runs(true);
	/* all sorts of anomalies occurred */
	for (i = CHECK_INCOMPATIBLE; i < CHECK_REASONS; i++)
		if (!reasons[i])
			TAP_FAIL("no %s", check_reason_name((enum check_reason)i));
}

/* ---- long histories ---- */

#ifndef LONG_OPS
#define LONG_OPS	1000000
#endif

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_long(void)
{
	struct check_history h;
	struct check_result r;
	double start;

	random_history(&h, REGISTERS, LONG_OPS, 1, 100);
	start = cpu_seconds();
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	printf("# %d operations of a register: %.2f s of CPU time\n", LONG_OPS,
	       cpu_seconds() - start);
	CHECK_EQ(r.verdict, CHECK_OK);
	CHECK_EQ(r.searched, 0);
	check_free(&h);

	random_history(&h, STORE, LONG_OPS / 10, KEYS, 50);
	start = cpu_seconds();
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	printf("# %d operations of a store: %.2f s, %llu states\n", LONG_OPS / 10,
	       cpu_seconds() - start, (unsigned long long)r.states);
	CHECK_EQ(r.verdict, CHECK_OK);
	check_free(&h);
}

static const struct tap_test tests[] = {
	{ "registers: the fast algorithm, the search and all orders agree", test_registers },
	{ "words: compare-and-swap, additions, swaps", test_words },
	{ "a store: insertions, updates, deletions", test_store },
	{ "scans over several keys", test_scans },
	{ "transactions: cycles and all orders agree", test_serial },
	{ "transactions in real time", test_strict },
	{ "long histories", test_long },
};

#define TESTS	(int)(sizeof(tests) / sizeof(tests[0]))

/* With an argument only the last one */
int main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? tap_run(tests + TESTS - 1, 1) : tap_run(tests, TESTS);
}
