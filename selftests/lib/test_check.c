// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The checker of histories: what its reader refuses, histories of each sort and anomaly with their
 * verdicts, and what it reports of a violation.
 */
#include <errno.h>
#include <string.h>
#include "../tap.h"
#include "check.h"

#define HEAD	"rmc-history 1\n"

/* ---- text ---- */

static int parse(struct check_history *h, const char *text, struct check_error *e)
{
	check_init(h);
	return check_parse(h, text, strlen(text), e);
}

static void test_refused(void)
{
	static const struct {
		const char *text;
		uint64_t line;
		const char *message;
	} bad[] = {
		{ "", 0, "empty" },
		{ "# nothing\n\n", 0, "empty" },
		{ "0 1 2 read x = 1\n", 1, "not a history" },
		{ "rmc-history 2\n", 1, "version '2'" },
		{ "rmc-history 1 x\n", 1, "'x' after the version" },
		{ HEAD "x 1 2 read x = 1", 2, "client: 'x' is not a number" },
		{ HEAD "4294967296 1 2 read x = 1", 2, "client: '4294967296' is not a number" },
		{ HEAD "0", 2, "invocation time is missing" },
		{ HEAD "0 1", 2, "completion time is missing" },
		{ HEAD "0 ? 1 read x = 1", 2, "invocation time: '?'" },
		{ HEAD "0 18446744073709551615 ? read x", 2, "not a number up to" },
		{ HEAD "0 18446744073709551616 ? read x", 2, "not a number up to" },
		{ HEAD "0 -1 2 read x = 1", 2, "'-1'" },
		{ HEAD "0 0x 2 read x = 1", 2, "'0x'" },
		{ HEAD "\n# comment\n0 2 1 read x = 1", 4, "ends before it begins" },
		{ HEAD "0 1 2", 2, "operation is missing" },
		{ HEAD "0 1 2 frob x", 2, "no operation 'frob'" },
		{ HEAD "0 1 2 read", 2, "key is missing" },
		{ HEAD "0 1 2 read = 1", 2, "'=' is no key" },
		{ HEAD "0 1 2 read x", 2, "result of read is missing" },
		{ HEAD "0 1 2 read x =", 2, "result of read is missing" },
		{ HEAD "0 1 2 read x = ok", 2, "'ok' is no result of read" },
		{ HEAD "0 1 2 read x = 1 2", 2, "'2' after the result" },
		{ HEAD "0 1 ? read x = 1", 2, "outcome is not known" },
		{ HEAD "0 1 2 write x", 2, "value is missing" },
		{ HEAD "0 1 2 write x -", 2, "value: '-'" },
		{ HEAD "0 1 2 write x 1 = 1", 2, "write has no result" },
		{ HEAD "0 1 2 write x 1 2", 2, "'2' after the arguments" },
		{ HEAD "0 1 2 cas x 1 = ok", 2, "value: '='" },
		{ HEAD "0 1 2 add x 1 = ok", 2, "no result of add" },
		{ HEAD "0 1 2 delete x = yes", 2, "'yes' is no result" },
		{ HEAD "0 1 2 scan x", 2, "key is missing" },
		{ HEAD "0 1 2 scan x y", 2, "number of keys is missing" },
		{ HEAD "0 1 2 scan x y 1", 2, "result of scan is missing" },
		{ HEAD "0 1 2 scan x * * = 5", 2, "not KEY:VALUE" },
		{ HEAD "0 1 2 scan x * * = :5", 2, "'' is no key" },
		{ HEAD "0 1 2 scan x * * = a:5 b:", 2, "not KEY:VALUE" },
		{ HEAD "0 1 ? scan x * * =", 2, "outcome is not known" },
		{ HEAD "init x", 2, "value is missing" },
		{ HEAD "init x 1 2", 2, "'2' after init" },
		{ HEAD "init x 1\ninit x 1", 3, "second init of x" },
		{ HEAD "0 1 2 write x 1\ninit y 1", 3, "after the first operation" },
		{ HEAD "0 1 2 txn", 2, "'' is not commit" },
		{ HEAD "0 1 2 txn done", 2, "'done' is not commit" },
		{ HEAD "0 1 ? txn commit", 2, "outcome is unknown" },
		{ HEAD "0 1 2 txn unknown", 2, "outcome is unknown" },
		{ HEAD "0 1 2 txn commit write x 1", 2, "'write' is not append or read" },
		{ HEAD "0 1 2 txn commit append x", 2, "value is missing" },
		{ HEAD "0 1 2 txn commit append x 1 append x 2", 2, "'append' where ;" },
		{ HEAD "0 1 2 txn commit append x 1 ;", 2, "part is missing" },
		{ HEAD "0 1 2 txn commit read x", 2, "committed read is missing" },
		{ HEAD "0 1 2 txn commit read x = 1 y", 2, "'y' is no element" },
		{ HEAD "0 1 2 txn commit\n0 1 2 read x = 1", 3, "operation among transactions" },
		{ HEAD "0 1 2 read x = 1\n0 1 2 txn commit", 3, "transaction among operations" },
		{ HEAD "0 1 2 read a\033b = 1", 2, "is no key" },
		{ HEAD "init x 1\n0 1 2 txn commit read x =", 3, "after init" },
		{ HEAD "0 1 2 write x 1\nend", 3, "number of operations is missing" },
		{ HEAD "0 1 2 write x 1\nend 1 2", 3, "'2' after end" },
		{ HEAD "0 1 2 write x 1\nend 2", 3, "1 operations before the end, of 2" },
		{ HEAD "0 1 2 txn commit\nend 0", 3, "1 operations before the end, of 0" },
		{ HEAD "end 0\n0 1 2 write x 1\n", 3, "after the end" },
	};
	char text[400] = HEAD "0 1 2 write ";
	struct check_history h;
	struct check_error e;
	size_t i, head = strlen(text);

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tap_where = bad[i].text;
		CHECK_EQ(parse(&h, bad[i].text, &e), -EINVAL);
		CHECK_EQ(e.line, bad[i].line);
		if (!strstr(e.text, bad[i].message))
			TAP_FAIL("'%s' does not say '%s'", e.text, bad[i].message);
		CHECK(!strchr(e.text, '\033'));
		check_free(&h);
	}
	tap_where = NULL;
	memset(text + head, 'k', CHECK_KEY_MAX + 1);
	strcpy(text + head + CHECK_KEY_MAX + 1, " 1\n");
	CHECK_EQ(parse(&h, text, &e), -EINVAL);
	check_free(&h);
	strcpy(text + head + CHECK_KEY_MAX, " 1\n");
	CHECK_EQ(parse(&h, text, &e), 0);
	check_free(&h);
	/* a byte of zero is no end */
	check_init(&h);
	CHECK_EQ(check_parse(&h, HEAD "0 1 2 write x 1\0", sizeof(HEAD) + 16, &e), -EINVAL);
	check_free(&h);
}

static const char everything[] =
	HEAD
	"init c 5\n"
	"0 1 2 write x 1\n"
	"1 2 ? write x 2\n"
	"2 3 4 read x = 1\n"
	"3 3 4 read y = -\n"
	"4 5 6 cas c 5 6 = ok\n"
	"4 7 8 cas c 5 7 = fail\n"
	"4 9 10 cas c 6 18446744073709551615 = 6\n"
	"4 11 12 add c 2 = 18446744073709551615\n"
	"4 13 14 swap c 9 = 1\n"
	"5 15 16 insert z 1 = ok\n"
	"5 17 18 update z 2\n"
	"5 19 20 scan w z 10 = x:1 z:2\n"
	"5 20 21 scan w * 1 = x:1\n"
	"5 21 22 scan a b * =\n"
	"5 22 ? scan a z *\n"
	"5 22 23 delete z = ok\n"
	"end 16\n";

static const char transactions[] =
	HEAD
	"0 1 2 txn commit append x 1 ; read x = 1 ; read y =\n"
	"0 3 4 txn abort append x 2 ; read x\n"
	"1 3 ? txn unknown read x = 1 ; append x 3\n"
	"1 5 6 txn commit\n"
	"end 4\n";

/* What is written is what was read, and so are results of recorded operations. */
static void test_round_trip(void)
{
	static const char *const texts[] = { everything, transactions };
	struct check_history h;
	struct check_error e;
	char *text;
	size_t i, n;
	FILE *f;

	for (i = 0; i < 2; i++) {
		CHECK_EQ(parse(&h, texts[i], &e), 0);
		f = open_memstream(&text, &n);
		check_write(&h, f);
		fclose(f);
		CHECK(!strcmp(text, texts[i]));
		CHECK(h.ended);
		free(text);
		check_free(&h);
	}
	CHECK_EQ(parse(&h, "\n# c\r\nrmc-history\t1 \r\n0  0x10 0xfF\twrite x 0xA\r\n", &e), 0);
	CHECK_EQ(h.op[0].invoke, 16);
	CHECK_EQ(h.op[0].complete, 255);
	CHECK_EQ(h.op[0].arg, 10);
	CHECK_EQ(h.op[0].line, 4);
	CHECK(!h.ended);
	/* that a change took effect is known of all; a text has it where it could be otherwise */
	h.op[0].known = CHECK_DONE;
	f = open_memstream(&text, &n);
	check_write(&h, f);
	fclose(f);
	CHECK(!strcmp(text, HEAD "0 16 255 write x 10\nend 1\n"));
	free(text);
	check_free(&h);
}

static void test_record(void)
{
	struct check_history h;
	struct check_result r;
	int64_t w, scan, other;
	uint64_t two[2] = { 1, 2 };

	check_init(&h);
	CHECK_EQ(check_key_of(&h, "x"), 0);
	CHECK_EQ(check_key(&h, "xy", 1), 0);
	CHECK_EQ(check_key_of(&h, "y"), 1);
	CHECK_EQ(check_key_of(&h, "a b"), -EINVAL);
	CHECK_EQ(check_key_of(&h, ""), -EINVAL);
	CHECK_EQ(check_key_of(&h, "*"), -EINVAL);
	w = check_begin(&h, 0, CHECK_WRITE, 0, 10);
	scan = check_begin_scan(&h, 1, 0, CHECK_NONE, CHECK_NONE, 11);
	other = check_begin_scan(&h, 2, 0, 1, 1, 12);
	h.op[w].arg = 7;
	h.op[w].complete = 20;
	CHECK_EQ(check_scan_found(&h, other, 0, 7), 0);
	h.op[other].complete = 30;
	CHECK_EQ(check_scan_found(&h, scan, 0, 7), 0);
	CHECK_EQ(check_scan_found(&h, other, 0, 7), -EINVAL);
	h.op[scan].complete = 30;
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_OK);
	CHECK_EQ(r.groups, 1);
	CHECK_EQ(check_serial(&h, NULL, &r), -EINVAL);
	check_free(&h);

	check_init(&h);
	check_key_of(&h, "x");
	check_txn(&h, 0, 0, 1, CHECK_COMMITTED);
	CHECK_EQ(check_append(&h, 0, 1), 0);
	CHECK_EQ(check_append(&h, 0, 2), 0);
	check_txn(&h, 0, 2, 3, CHECK_COMMITTED);
	CHECK_EQ(check_list(&h, 0, two, 2), 0);
	CHECK_EQ(check_linear(&h, NULL, &r), -EINVAL);
	CHECK_EQ(check_serial(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_OK);
	CHECK_EQ(check_append(&h, 0, 1), 0);
	CHECK_EQ(check_serial(&h, NULL, &r), -EEXIST);
	CHECK(r.same[0] == &h.txn[0] && r.same[1] == &h.txn[1]);
	check_free(&h);
}

/* Recordings that cannot be are refused, and nothing is concluded from no operations. */
static void test_invalid(void)
{
	static const struct {
		struct check_op op;
		int err;
	} ops[] = {
		{ { .complete = 1, .kind = CHECK_READ, .known = CHECK_ABSENT }, 0 },
		{ { .complete = 1, .kind = CHECK_READ, .known = CHECK_DONE }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_READ, .known = CHECK_REFUSED }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_WRITE, .known = CHECK_DONE }, 0 },
		{ { .complete = 1, .kind = CHECK_WRITE, .known = CHECK_VALUE }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_WRITE, .known = CHECK_ABSENT }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_SWAP, .known = CHECK_REFUSED }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_CAS, .known = CHECK_REFUSED }, 0 },
		{ { .complete = 1, .kind = CHECK_WRITE, .known = CHECK_REFUSED + 1 }, -EINVAL },
		{ { .complete = CHECK_PENDING, .kind = CHECK_WRITE, .known = CHECK_VALUE }, 0 },
		{ { .complete = 1, .kind = CHECK_KINDS }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_WRITE, .key = 1 }, -EINVAL },
		{ { .complete = 1, .kind = CHECK_SCAN }, -EINVAL },
		{ { .invoke = 2, .complete = 1, .kind = CHECK_WRITE }, -EINVAL },
	};
	struct check_history h;
	struct check_result r;
	size_t i;

	check_init(&h);
	CHECK_EQ(check_linear(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_UNDECIDED);
	CHECK_EQ(check_serial(&h, NULL, &r), 0);
	CHECK_EQ(r.verdict, CHECK_UNDECIDED);
	check_key_of(&h, "x");
	check_begin(&h, 0, CHECK_WRITE, 0, 0);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		h.op[0] = ops[i].op;
		if (check_linear(&h, NULL, &r) != ops[i].err)
			TAP_FAIL("operation %zu", i);
	}
	check_free(&h);

	check_init(&h);
	check_key_of(&h, "x");
	check_txn(&h, 0, 0, 1, CHECK_COMMITTED);
	check_append(&h, 0, 1);
	CHECK_EQ(check_serial(&h, NULL, &r), 0);
	h.txn[0].outcome = CHECK_UNKNOWN;
	CHECK_EQ(check_serial(&h, NULL, &r), -EINVAL);
	h.txn[0] = (struct check_txn){ .complete = CHECK_PENDING, .parts = 1 };
	CHECK_EQ(check_serial(&h, NULL, &r), -EINVAL);
	h.txn[0] = (struct check_txn){ .invoke = 2, .complete = 1, .parts = 1 };
	CHECK_EQ(check_serial(&h, NULL, &r), -EINVAL);
	h.txn[0] = (struct check_txn){ .complete = 1, .parts = 1 };
	check_initial(&h, 0, 7);
	CHECK_EQ(check_serial(&h, NULL, &r), -EINVAL);
	check_free(&h);
}

/* A client does one operation after another; one that has no end it has given up. */
static void test_clients(void)
{
	static const struct {
		const char *text;
		size_t overlap[2];	/* 0, 0: none */
	} x[] = {
		{ HEAD "0 0 9 write x 1\n0 9 12 write x 2\n1 3 4 write x 3", { 0, 0 } },
		{ HEAD "1 5 9 write x 1\n0 0 9 write x 2\n0 8 12 write y 3", { 1, 2 } },
		{ HEAD "0 8 12 write x 1\n0 0 9 write x 2", { 1, 0 } },
		{ HEAD "0 0 9 write x 1\n0 0 9 write x 2", { 0, 1 } },
		{ HEAD "0 4 4 write x 1\n0 4 4 write x 2", { 0, 0 } },
		{ HEAD "0 0 ? write x 1\n0 0 9 write x 2\n0 9 ? write x 3", { 0, 0 } },
		{ HEAD "0 0 9 write x 1\n0 5 ? write x 2", { 0, 1 } },
		{ HEAD "0 0 9 txn commit\n0 8 12 txn commit", { 0, 1 } },
		{ HEAD "0 0 ? txn unknown\n0 1 12 txn commit", { 0, 0 } },
	};
	struct check_history h;
	struct check_result r;
	struct check_error e;
	size_t i;
	int err;

	for (i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		tap_where = x[i].text;
		CHECK_EQ(parse(&h, x[i].text, &e), 0);
		err = h.txns ? check_serial(&h, NULL, &r) : check_linear(&h, NULL, &r);
		CHECK_EQ(err, x[i].overlap[0] + x[i].overlap[1] ? -EBUSY : 0);
		CHECK_EQ(r.overlap[0], x[i].overlap[0]);
		CHECK_EQ(r.overlap[1], x[i].overlap[1]);
		check_free(&h);
	}
	tap_where = NULL;
}

/* ---- verdicts ---- */

struct example {
	const char *text;
	int reason;		/* of the only finding; -1: none */
	const char *lines;	/* of its operations or transactions */
};

struct seen {
	unsigned int findings;
	char reason[40], lines[80], edges[40];
	bool realtime, lost_update;
};

static void note(void *arg, const struct check_finding *f)
{
	struct seen *s = arg;
	size_t i, n = 0;

	s->findings++;
	snprintf(s->reason, sizeof(s->reason), "%s", check_reason_name(f->reason));
	s->lines[0] = 0;
	for (i = 0; i < f->ops + f->txns && n < sizeof(s->lines); i++)
		n += (size_t)snprintf(s->lines + n, sizeof(s->lines) - n, "%s%u", i ? " " : "",
				      i < f->ops ? f->op[i]->line : f->txn[i - f->ops]->line);
	s->edges[0] = 0;
	for (i = n = 0; f->step && i < f->txns && n < sizeof(s->edges); i++)
		n += (size_t)snprintf(s->edges + n, sizeof(s->edges) - n, "%s ",
				      check_edge_name(f->step[i].kind));
	s->realtime = f->realtime;
	s->lost_update = f->lost_update;
}

/* What the checker finds in a history of this text */
static struct seen tried(const char *text, bool strict, bool search)
{
	struct seen s = { 0 };
	struct check_options o = { .found = note, .arg = &s, .strict = strict, .search = search };
	struct check_history h;
	struct check_result r;
	struct check_error e;

	CHECK_EQ(parse(&h, text, &e), 0);
	if (e.text[0])
		printf("# %s\n", e.text);
	CHECK_EQ(h.txns ? check_serial(&h, &o, &r) : check_linear(&h, &o, &r), 0);
	CHECK_EQ(r.verdict != CHECK_OK, s.findings > 0);
	CHECK_EQ(r.findings, s.findings);
	check_free(&h);
	return s;
}

static void run_example(const struct example *x, bool strict, bool search)
{
	struct seen s;

	tap_where = x->text;
	s = tried(x->text, strict, search);
	CHECK_EQ(s.findings, x->reason >= 0);
	if (s.findings && x->reason >= 0) {
		if (!search && strcmp(s.reason, check_reason_name((enum check_reason)x->reason)))
			TAP_FAIL("it is called %s", s.reason);
		if (!search && x->lines && strcmp(s.lines, x->lines))
			TAP_FAIL("lines %s", s.lines);
	}
	tap_where = NULL;
}

static const struct example registers[] = {
	/* overlapping writes, and one that nobody answered, explain what was read */
	{ HEAD "init x 0\n0 0 10 write x 1\n1 5 6 read x = 1\n1 7 8 read x = 1\n0 20 ? write x 2\n"
	  "1 30 31 read x = 1\n1 32 33 read x = 2", -1, NULL },
	/* what ends when the other begins overlaps it */
	{ HEAD "0 0 10 write x 1\n1 10 11 read x = -\n1 12 13 read x = 1", -1, NULL },
	{ HEAD "0 0 10 write x 1\n1 10 20 write x 2\n2 20 21 read x = 1\n2 22 23 read x = 2",
	  -1, NULL },
	{ HEAD "0 0 10 write x 1\n1 2 ? read x\n0 11 12 write x 1", -1, NULL },
	{ HEAD "0 0 10 write x 1\n1 2 ? read x\n0 11 12 write x 2", -1, NULL },
	/* an old value after a new one */
	{ HEAD "0 0 10 write x 1\n1 5 6 read x = 1\n1 7 8 read x = -",
	  CHECK_OUT_OF_ORDER, "2 3 4" },
	{ HEAD "0 0 10 write x 1\n1 11 12 read x = -", CHECK_OUT_OF_ORDER, "2 3" },
	{ HEAD "0 0 1 write x 1\n0 2 3 write x 2\n1 4 5 read x = 1", CHECK_OUT_OF_ORDER, "2 3 4" },
	/* two readers see two writes in different orders */
	{ HEAD "0 0 90 write x 1\n1 0 90 write x 2\n2 10 20 read x = 1\n2 30 40 read x = 2\n"
	  "3 10 20 read x = 2\n3 30 40 read x = 1", CHECK_OUT_OF_ORDER, NULL },
	{ HEAD "0 0 90 write x 1\n1 0 90 write x 2\n2 10 20 read x = 1\n2 30 40 read x = 2\n"
	  "3 10 20 read x = 1\n3 30 40 read x = 1", -1, NULL },
	/* a write within the time in which the register has another value */
	{ HEAD "0 0 1 write x 1\n1 5 6 write x 2\n2 3 4 read x = 1\n2 8 9 read x = 1",
	  CHECK_OUT_OF_ORDER, NULL },
	/* from the future, and from nobody */
	{ HEAD "0 0 5 read x = 2\n1 20 ? write x 2", CHECK_FROM_FUTURE, "2 3" },
	{ HEAD "0 0 5 read x = 2\n1 5 ? write x 2", -1, NULL },
	{ HEAD "0 0 5 read x = 3\n1 0 9 write x 2", CHECK_NEVER_WRITTEN, "2" },
	{ HEAD "init x 5\n0 0 5 read x = -", CHECK_NEVER_WRITTEN, "3" },
	{ HEAD "init x 5\n0 0 5 read x = 5", -1, NULL },
};

static const struct example words[] = {
	{ HEAD "init c 0\n0 0 9 add c 1 = 1\n1 0 9 add c 1 = 0\n2 5 ? add c 1\n3 10 11 read c = 3",
	  -1, NULL },
	/* a value of a counter is given twice; an addition is lost, or counts twice */
	{ HEAD "init c 0\n0 0 9 add c 1 = 0\n1 0 9 add c 1 = 0", CHECK_NO_ORDER, "3 4" },
	{ HEAD "init c 0\n0 0 9 add c 1 = 0\n1 10 11 read c = 2", CHECK_NO_ORDER, NULL },
	{ HEAD "init c 0\n0 0 9 add c 1\n1 10 11 read c = 0", CHECK_NO_ORDER, "3 4" },
	{ HEAD "init c 5\n0 0 10 cas c 5 6 = 5\n0 20 30 read c = 6", -1, NULL },
	{ HEAD "init c 5\n0 0 10 cas c 5 6 = 5\n0 20 30 read c = 5", CHECK_NO_ORDER, "3 4" },
	/* two win one compare-and-swap */
	{ HEAD "init c 0\n0 0 9 cas c 0 1 = ok\n1 0 9 cas c 0 2 = ok", CHECK_NO_ORDER, "3 4" },
	{ HEAD "init c 0\n0 0 9 cas c 0 1 = ok\n1 0 9 cas c 0 2 = fail", -1, NULL },
	{ HEAD "init c 0\n0 0 9 cas c 0 1 = fail\n1 0 9 cas c 0 2 = fail", CHECK_NO_ORDER, NULL },
	{ HEAD "init c 0\n0 0 9 swap c 1 = 2\n1 0 9 swap c 2 = 0\n2 10 11 swap c 3 = 1", -1, NULL },
	{ HEAD "init c 0\n0 0 9 swap c 1 = 2\n1 0 9 swap c 2 = 1\n2 10 11 swap c 3 = 0",
	  CHECK_NO_ORDER, NULL },
	/* a write that changes nothing where it could be first, but does where it has to be */
	{ HEAD "init a 0\n0 5 45 write a 1\n1 15 79 write a 0\n2 51 88 read a = 0", -1, NULL },
	{ HEAD "init c 18446744073709551615\n0 0 1 add c 1 = 18446744073709551615\n"
	  "0 2 3 read c = 0",
	  -1, NULL },
	/* an absent key stays absent */
	{ HEAD "0 0 1 add c 1 = -\n0 2 3 read c = -", -1, NULL },
	{ HEAD "0 0 1 write c 1\n1 0 1 write c 1\n0 2 3 read c = 1", -1, NULL },
};

static const struct example store[] = {
	{ HEAD "0 0 10 delete x = fail\n0 20 30 write x 7\n0 40 50 delete x = ok\n"
	  "0 60 70 read x = -",
	  -1, NULL },
	{ HEAD "0 0 10 delete x = fail\n0 20 30 write x 7\n0 40 50 delete x = ok\n"
	  "0 60 70 read x = 7",
	  CHECK_NO_ORDER, NULL },
	{ HEAD "0 0 9 insert x 1 = ok\n1 0 9 insert x 2 = ok", CHECK_NO_ORDER, "2 3" },
	{ HEAD "0 0 9 insert x 1 = ok\n1 0 9 insert x 2 = 1", -1, NULL },
	{ HEAD "0 0 9 insert x 1 = ok\n1 0 9 insert x 2 = 3", CHECK_NO_ORDER, NULL },
	{ HEAD "0 0 9 update x 1 = ok", CHECK_NO_ORDER, "2" },
	{ HEAD "0 0 9 update x 1 = ok\n1 9 ? insert x 3\n2 10 12 read x = 1", -1, NULL },
	{ HEAD "0 0 1 write x 1\n0 2 3 delete x = ok\n1 2 3 delete x = ok", CHECK_NO_ORDER, NULL },
	/* two keys do not concern each other */
	{ HEAD "0 0 1 write x 1\n1 0 1 write y 2\n0 2 3 read y = 2\n1 2 3 read x = 1", -1, NULL },
};

static const struct example scans[] = {
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b * = a:1 b:2", -1, NULL },
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b * = b:2 a:1",
	  CHECK_NO_ORDER, NULL },
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b * = a:1", CHECK_NO_ORDER, NULL },
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b 1 = a:1", -1, NULL },
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b 1 = b:2", CHECK_NO_ORDER, NULL },
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 4 5 scan a b 1 = a:1 b:2",
	  CHECK_NO_ORDER, NULL },
	/* a key beyond the range */
	{ HEAD "0 0 1 write b 1\n0 2 3 write c 2\n1 4 5 scan a b * = b:1 c:2",
	  CHECK_NO_ORDER, NULL },
	/* a scan that sees the second write, but not the first one: each key alone would do */
	{ HEAD "0 0 1 write a 1\n0 2 3 write b 2\n1 0 5 scan a b * = b:2", CHECK_NO_ORDER, "2 4" },
	{ HEAD "0 0 1 write a 1\n2 0 3 write b 2\n1 0 5 scan a b * = b:2", -1, NULL },
	/* two scans see two insertions in different orders */
	{ HEAD "0 0 9 insert a 1 = ok\n1 0 9 insert b 2 = ok\n2 0 9 scan a * * = a:1\n"
	  "3 0 9 scan a * * = b:2",
	  CHECK_NO_ORDER, "4 5" },
	{ HEAD "0 0 9 scan b a * =\n1 0 9 write b 1", -1, NULL },
	{ HEAD "0 0 9 scan b a * = b:1\n1 0 9 write b 1", CHECK_NO_ORDER, "2" },
};

#define T(client, begin, end)	#client " " #begin " " #end " txn commit "

static const struct example lists[] = {
	{ HEAD T(0, 0, 9) "append x 1 ; read x = 1 ; append x 2\n"
	  T(1, 0, 9) "read x = 1 2 ; append y 1",
	  -1, NULL },
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "append x 2\n" T(2, 0, 9) "read x = 1 2\n"
	  T(3, 0, 9) "read x = 2", CHECK_INCOMPATIBLE, "5 4" },
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "read x = 1 1", CHECK_DUPLICATE, "3" },
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "read x = 1 7", CHECK_GARBAGE, "3" },
	{ HEAD T(0, 0, 9) "append x 1 ; read x =", CHECK_INTERNAL, "2" },
	{ HEAD T(0, 0, 9) "read x = 1 ; append x 1", CHECK_INTERNAL, "2" },
	{ HEAD T(0, 0, 9) "append x 1 ; append x 2\n" T(1, 0, 9) "read x = 2",
	  CHECK_INTERNAL, "2" },
	{ HEAD "0 0 9 txn abort append x 1\n" T(1, 0, 9) "read x = 1", CHECK_G1A, "3 2" },
	{ HEAD "0 0 9 txn abort append x 1\n" T(1, 0, 9) "read x =", -1, NULL },
	/* of unknown outcome: committed if it was read, and then all of it */
	{ HEAD "0 0 ? txn unknown append x 1 ; append y 1\n" T(1, 0, 9) "read x = 1", -1, NULL },
	{ HEAD "0 0 ? txn unknown append x 1 ; append y 1\n" T(1, 0, 9) "read x = ; read y =",
	  -1, NULL },
	{ HEAD "0 0 ? txn unknown append x 1 ; append y 1\n" T(1, 0, 9) "read x = 1 ; read y =",
	  CHECK_G_SINGLE, NULL },
	{ HEAD "0 0 ? txn unknown append x 1 ; read z = 7\n" T(1, 0, 9) "read y = 1\n"
	  "2 0 ? txn unknown read x = 1 ; append y 1", CHECK_GARBAGE, "2" },
	{ HEAD "0 0 ? txn unknown append x 1 ; read z = 7\n" T(1, 0, 9) "read y =\n"
	  "2 0 ? txn unknown read x = 1 ; append y 1", -1, NULL },
};

static const struct example cycles[] = {
	{ HEAD T(0, 0, 9) "append x 1 ; append y 1\n" T(1, 0, 9) "append x 2 ; append y 2\n"
	  T(2, 0, 9) "read x = 1 2\n" T(3, 0, 9) "read y = 2 1", CHECK_G0, "2 3" },
	{ HEAD T(0, 0, 9) "append x 1 ; read y = 2\n" T(1, 0, 9) "append y 2 ; read x = 1",
	  CHECK_G1C, "2 3" },
	/* one is between the other's appends */
	{ HEAD T(0, 0, 9) "append x 1 ; append x 3\n" T(1, 0, 9) "append x 2\n"
	  T(2, 0, 9) "read x = 1 2 3",
	  CHECK_G0, "2 3" },
	/* read skew */
	{ HEAD T(0, 0, 9) "append x 1 ; append y 1\n" T(1, 0, 9) "read x = 1 ; read y =",
	  CHECK_G_SINGLE, NULL },
	/* a list changes between two reads */
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "read x = ; read x = 1", CHECK_G_SINGLE, NULL },
	/* write skew */
	{ HEAD T(0, 0, 9) "read x = ; append y 1\n" T(1, 0, 9) "read y = ; append x 1\n"
	  T(2, 0, 9) "read x = 1 ; read y = 1", CHECK_G2, "2 3" },
	/* the same, where nobody has read what was appended */
	{ HEAD T(0, 0, 9) "read x = ; append y 1\n" T(1, 0, 9) "read y = ; append x 1",
	  CHECK_G2, "2 3" },
	{ HEAD T(0, 0, 9) "read x = ; append x 1", -1, NULL },
	{ HEAD T(0, 0, 9) "read x = ; append x 1\n" T(1, 0, 9) "read x = ; append y 1\n" T(2, 0, 9)
	  "append x 4", -1, NULL },
	/* a cycle with an edge to what is in none */
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "read x = ; read y = ; append z 1\n"
	  T(2, 0, 9) "read z = ; append y 1", CHECK_G2, "3 4" },
	/* the first append that nobody has read is after the last one that somebody has */
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "read x = 1 ; append x 2\n"
	  T(2, 0, 9) "append x 3\n" T(3, 0, 9) "read x = 1 3", CHECK_G_SINGLE, "3 4" },
	/* long fork: two readers see two appends in different orders */
	{ HEAD T(0, 0, 9) "append x 1\n" T(1, 0, 9) "append y 1\n"
	  T(2, 0, 9) "read x = 1 ; read y =\n"
	  T(3, 0, 9) "read x = ; read y = 1", CHECK_G2, NULL },
};

static void run_examples(const struct example *x, size_t n, bool strict)
{
	size_t i;

	for (i = 0; i < n; i++) {
		run_example(&x[i], strict, false);
		run_example(&x[i], strict, true);
	}
}

#define EXAMPLES(x, strict)	run_examples(x, sizeof(x) / sizeof((x)[0]), strict)

static void test_registers(void)
{
	EXAMPLES(registers, false);
}

static void test_words(void)
{
	EXAMPLES(words, false);
}

static void test_store(void)
{
	EXAMPLES(store, false);
}

static void test_scans(void)
{
	EXAMPLES(scans, false);
}

static void test_lists(void)
{
	EXAMPLES(lists, false);
	EXAMPLES(lists, true);
}

static void test_cycles(void)
{
	EXAMPLES(cycles, false);
	EXAMPLES(cycles, true);
}

/* An intermediate read is not reported as the cycle that it is, too. */
static void test_intermediate(void)
{
	struct seen s = tried(HEAD T(0, 0, 9) "append x 1 ; append x 2\n" T(1, 0, 9) "read x = 1\n"
			      T(2, 0, 9) "read x = 1 2", false, false);

	CHECK_EQ(s.findings, 1);
	CHECK(!strcmp(s.reason, "G1b"));
	s = tried(HEAD T(0, 0, 9) "append x 1 ; append x 2\n" T(1, 0, 9) "read x = 1", false,
		  false);
	CHECK_EQ(s.findings, 1);
}

static void test_lost_update(void)
{
	struct seen s = tried(HEAD T(0, 0, 9) "read x = ; append x 1\n"
			      T(1, 0, 9) "read x = ; append x 2", false, false);

	CHECK_EQ(s.findings, 1);
	CHECK(s.lost_update);
	/* nobody has read their order: one ww and one rw whichever it is */
	CHECK(!strcmp(s.reason, "G-single"));
	CHECK(!strcmp(s.edges, "ww rw "));
	/* also beside a cycle of several rw, and where other appends are unread */
	s = tried(HEAD T(0, 0, 9) "read x = ; append y 1\n" T(1, 0, 9) "read y = ; append x 1\n"
		  T(2, 0, 9) "read x = ; append x 2\n" T(3, 0, 9) "append x 3\n"
		  T(4, 0, 9) "read x = ; read y = ; append x 4 ; append y 4", false, false);
	CHECK_EQ(s.findings, 1);
	CHECK(s.lost_update);
	CHECK(!strcmp(s.reason, "G-single"));
	CHECK(!strcmp(s.lines, "4 6"));
	s = tried(HEAD T(0, 0, 9) "read x = ; append x 1\n" T(1, 0, 9) "read x = ; append x 2\n"
		  T(2, 0, 9) "read x = 1 2", false, false);
	CHECK_EQ(s.findings, 1);
	CHECK(s.lost_update);
	s = tried(cycles[5].text, false, false);
	CHECK(!s.lost_update);
}

/* Serializable, but not in real time */
static void test_real_time(void)
{
	static const struct {
		const char *text, *reason;
	} x[] = {
		{ HEAD T(0, 0, 1) "append x 1\n" T(1, 2, 3) "append x 2\n"
		  T(2, 4, 5) "read x = 2 1", "G0" },
		{ HEAD T(0, 0, 1) "read x = 1\n" T(1, 2, 3) "append x 1", "G1c" },
		{ HEAD T(0, 0, 1) "append x 1\n" T(1, 2, 3) "read x =", "G-single" },
		{ HEAD T(0, 0, 9) "read x = ; append y 1\n" T(1, 0, 1) "append x 1\n"
		  T(2, 2, 3) "read y =",
		  "G2" },
	};
	struct seen s;
	size_t i;

	for (i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		tap_where = x[i].text;
		s = tried(x[i].text, false, false);
		CHECK_EQ(s.findings, 0);
		s = tried(x[i].text, true, false);
		CHECK_EQ(s.findings, 1);
		CHECK(s.realtime);
		CHECK(!strcmp(s.reason, x[i].reason));
	}
	tap_where = NULL;
	/* one that ends when the other begins overlaps it; one of unknown outcome has no end */
	s = tried(HEAD T(0, 0, 2) "append x 1\n" T(1, 2, 3) "read x =", true, false);
	CHECK_EQ(s.findings, 0);
	s = tried(HEAD "0 0 ? txn unknown append x 1\n" T(1, 2, 3) "read x =\n"
		  T(2, 4, 5) "read x = 1", true, false);
	CHECK_EQ(s.findings, 0);
	s = tried(HEAD "0 4 ? txn unknown append x 1\n" T(1, 2, 3) "read x = 1", true, false);
	CHECK_EQ(s.findings, 1);
}

static const struct tap_test tests[] = {
	{ "what is no history is refused, with its line", test_refused },
	{ "what is written is what was read", test_round_trip },
	{ "histories that are recorded", test_record },
	{ "recordings that cannot be", test_invalid },
	{ "operations of one client do not overlap", test_clients },
	{ "registers", test_registers },
	{ "words: additions, compare-and-swap, swaps", test_words },
	{ "a store: insertions, updates, deletions", test_store },
	{ "scans see all keys at one time", test_scans },
	{ "lists that cannot be", test_lists },
	{ "cycles of transactions, by name", test_cycles },
	{ "an intermediate read", test_intermediate },
	{ "a lost update", test_lost_update },
	{ "transactions in real time", test_real_time },
};

int main(void)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
