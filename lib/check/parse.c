// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The text of a history. A line is an operation; words are separated by blanks:
 *
 *	rmc-history 1					the first line
 *	init KEY VALUE					before the operations; of a register
 *	CLIENT INVOKE COMPLETE OPERATION KEY ARGUMENT... [= RESULT...]
 *	CLIENT INVOKE COMPLETE scan FROM TO MAX [= KEY:VALUE...]
 *	CLIENT INVOKE COMPLETE txn OUTCOME [PART [; PART]...]
 *	end NUMBER					of operations; the last line
 *
 * COMPLETE is ? if the outcome is not known. Lines that are empty or begin with # do not count.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct word {
	const char *at;
	size_t length;
};

struct parser {
	struct check_history *h;
	struct check_error *e;
	const char *at, *end;	/* of the line's rest */
	uint64_t line;
	bool inits;
	struct word word;	/* the current one; length 0: the line has ended */
	uint64_t *list;		/* elements of a read */
	size_t list_room;
};

static int fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parser *p, const char *format, ...)
{
	va_list ap;
	char *c;

	p->e->line = p->line;
	va_start(ap, format);
	vsnprintf(p->e->text, sizeof(p->e->text), format, ap);
	va_end(ap);
	/* words of the text are quoted: a terminal gets no control characters from it */
	for (c = p->e->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -EINVAL;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void next(struct parser *p)
{
	while (p->at < p->end && blank(*p->at))
		p->at++;
	p->word.at = p->at;
	while (p->at < p->end && !blank(*p->at))
		p->at++;
	p->word.length = (size_t)(p->at - p->word.at);
}

static bool is(const struct parser *p, const char *s)
{
	return strlen(s) == p->word.length && !memcmp(s, p->word.at, p->word.length);
}

/* For messages: as much of the word as they show */
#define SHOWN(p)	(int)((p)->word.length < 40 ? (p)->word.length : 40), (p)->word.at

static bool number(const char *s, size_t length, uint64_t *value)
{
	unsigned int base = 10, digit;
	uint64_t v = 0;
	size_t i = 0;

	if (length > 2 && s[0] == '0' && s[1] == 'x') {
		base = 16;
		i = 2;
	}
	if (i == length)
		return false;
	for (; i < length; i++) {
		if (s[i] >= '0' && s[i] <= '9')
			digit = (unsigned int)(s[i] - '0');
		else if (base == 16 && isxdigit((unsigned char)s[i]))
			digit = (unsigned int)(tolower((unsigned char)s[i]) - 'a') + 10;
		else
			return false;
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*value = v;
	return true;
}

/* The current word as a number; the next one becomes current */
static int take_number(struct parser *p, const char *what, uint64_t max, uint64_t *value)
{
	if (!p->word.length)
		return fail(p, "%s is missing", what);
	if (!number(p->word.at, p->word.length, value) || *value > max)
		return fail(p, "%s: '%.*s' is not a number up to %llu", what, SHOWN(p),
			    (unsigned long long)max);
	next(p);
	return 0;
}

static int key_of(struct parser *p, const char *name, size_t length, uint32_t *key)
{
	int64_t k = check_key(p->h, name, length);

	if (k == -EINVAL)
		return fail(p, "'%.*s' is no key: up to %d bytes that are visible, not one of =;*?",
			    (int)(length < 40 ? length : 40), name, CHECK_KEY_MAX);
	if (k < 0)
		return (int)k;
	*key = (uint32_t)k;
	return 0;
}

static int take_key(struct parser *p, uint32_t *key)
{
	int err;

	if (!p->word.length)
		return fail(p, "a key is missing");
	err = key_of(p, p->word.at, p->word.length, key);
	if (!err)
		next(p);
	return err;
}

/* ---- operations ---- */

static const struct {
	const char *name;
	bool expected, arg;
	bool value, done;	/* results: a value or none, ok or fail */
} forms[CHECK_KINDS] = {
	[CHECK_READ]	= { "read", false, false, true, false },
	[CHECK_WRITE]	= { "write", false, true, false, false },
	[CHECK_CAS]	= { "cas", true, true, true, true },
	[CHECK_ADD]	= { "add", false, true, true, false },
	[CHECK_SWAP]	= { "swap", false, true, true, false },
	[CHECK_INSERT]	= { "insert", false, true, true, true },
	[CHECK_UPDATE]	= { "update", false, true, true, true },
	[CHECK_DELETE]	= { "delete", false, false, true, true },
	[CHECK_SCAN]	= { "scan", false, false, false, false },
};

const char *check_kind_name(enum check_kind k)
{
	return forms[k].name;
}

bool check_conditional(enum check_kind kind)
{
	return forms[kind].done;
}

static int parse_result(struct parser *p, struct check_op *op)
{
	const char *name = forms[op->kind].name;

	if (!is(p, "=")) {
		if (p->word.length)
			return fail(p, "'%.*s' after the arguments of %s: a result begins with =",
				    SHOWN(p), name);
		if (op->kind == CHECK_READ && op->complete != CHECK_PENDING)
			return fail(p, "the result of read is missing");
		return 0;
	}
	if (op->complete == CHECK_PENDING)
		return fail(p, "a result of %s, whose outcome is not known", name);
	if (!forms[op->kind].value && !forms[op->kind].done)
		return fail(p, "%s has no result", name);
	next(p);
	if (forms[op->kind].value && is(p, "-"))
		op->known = CHECK_ABSENT;
	else if (forms[op->kind].done && is(p, "ok"))
		op->known = CHECK_DONE;
	else if (forms[op->kind].done && is(p, "fail"))
		op->known = CHECK_REFUSED;
	else if (forms[op->kind].value && number(p->word.at, p->word.length, &op->got))
		op->known = CHECK_VALUE;
	else if (!p->word.length)
		return fail(p, "the result of %s is missing", name);
	else
		return fail(p, "'%.*s' is no result of %s", SHOWN(p), name);
	next(p);
	if (p->word.length)
		return fail(p, "'%.*s' after the result of %s", SHOWN(p), name);
	return 0;
}

static int parse_op(struct parser *p, enum check_kind kind, uint32_t client, uint64_t invoke,
		    uint64_t complete)
{
	uint32_t key = CHECK_NONE;
	struct check_op *op;
	int64_t i;
	int err;

	err = take_key(p, &key);
	if (err)
		return err;
	i = check_begin(p->h, client, kind, key, invoke);
	if (i < 0)
		return (int)i;
	op = &p->h->op[i];
	op->complete = complete;
	op->line = (uint32_t)p->line;
	if (forms[kind].expected)
		err = take_number(p, "expected value", UINT64_MAX, &op->expected);
	if (!err && forms[kind].arg)
		err = take_number(p, "value", UINT64_MAX, &op->arg);
	return err ? err : parse_result(p, op);
}

static int parse_found(struct parser *p, int64_t op)
{
	const char *colon;
	uint32_t key = 0;
	uint64_t value;
	size_t i;
	int err;

	for (next(p); p->word.length; next(p)) {
		for (i = p->word.length; i && p->word.at[i - 1] != ':'; i--)
			;
		if (!i || !number(p->word.at + i, p->word.length - i, &value))
			return fail(p, "'%.*s' is not KEY:VALUE", SHOWN(p));
		colon = p->word.at + i - 1;
		err = key_of(p, p->word.at, (size_t)(colon - p->word.at), &key);
		if (!err)
			err = check_scan_found(p->h, op, key, value);
		if (err)
			return err;
	}
	return 0;
}

static int parse_scan(struct parser *p, uint32_t client, uint64_t invoke, uint64_t complete)
{
	uint32_t from, to = CHECK_NONE;
	uint64_t max = CHECK_NONE;
	int64_t i;
	int err;

	err = take_key(p, &from);
	if (err)
		return err;
	if (is(p, "*"))
		next(p);
	else
		err = take_key(p, &to);
	if (err)
		return err;
	if (is(p, "*"))
		next(p);
	else
		err = take_number(p, "number of keys", CHECK_NONE - 1, &max);
	if (err)
		return err;
	i = check_begin_scan(p->h, client, from, to, (uint32_t)max, invoke);
	if (i < 0)
		return (int)i;
	p->h->op[i].complete = complete;
	p->h->op[i].line = (uint32_t)p->line;
	if (!is(p, "=")) {
		if (p->word.length)
			return fail(p, "'%.*s' after the arguments of scan", SHOWN(p));
		if (complete != CHECK_PENDING)
			return fail(p, "the result of scan is missing");
		return 0;
	}
	if (complete == CHECK_PENDING)
		return fail(p, "a result of scan, whose outcome is not known");
	return parse_found(p, i);
}

/* ---- transactions ---- */

static int parse_list(struct parser *p, uint32_t key, bool committed)
{
	size_t n = 0;
	uint64_t *list;

	if (!is(p, "=")) {
		if (committed)
			return fail(p, "the result of a committed read is missing");
		return check_list(p->h, key, NULL, CHECK_NONE);
	}
	for (next(p); p->word.length && !is(p, ";"); n++) {
		list = check_grow(p->list, n, 1, &p->list_room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		p->list = list;
		if (!number(p->word.at, p->word.length, &list[n]))
			return fail(p, "'%.*s' is no element: a number", SHOWN(p));
		next(p);
	}
	return check_list(p->h, key, p->list, (uint32_t)n);
}

static int parse_part(struct parser *p, bool committed)
{
	bool append = is(p, "append");
	uint64_t value;
	uint32_t key;
	int err;

	if (!append && !is(p, "read"))
		return fail(p, "'%.*s' is not append or read", SHOWN(p));
	next(p);
	err = take_key(p, &key);
	if (err)
		return err;
	if (!append)
		return parse_list(p, key, committed);
	err = take_number(p, "value", UINT64_MAX, &value);
	return err ? err : check_append(p->h, key, value);
}

static int parse_txn(struct parser *p, uint32_t client, uint64_t invoke, uint64_t complete)
{
	static const char *const names[] = { "commit", "abort", "unknown" };
	unsigned int outcome;
	int64_t t;
	int err;

	for (outcome = 0; outcome < 3 && !is(p, names[outcome]); outcome++)
		;
	if (outcome == 3)
		return fail(p, "'%.*s' is not commit, abort or unknown", SHOWN(p));
	if ((outcome == CHECK_UNKNOWN) != (complete == CHECK_PENDING))
		return fail(p, "the end is ? if, and only if, the outcome is unknown");
	next(p);
	t = check_txn(p->h, client, invoke, complete, (enum check_outcome)outcome);
	if (t < 0)
		return (int)t;
	p->h->txn[t].line = (uint32_t)p->line;
	while (p->word.length) {
		err = parse_part(p, outcome == CHECK_COMMITTED);
		if (err)
			return err;
		if (!p->word.length)
			break;
		if (!is(p, ";"))
			return fail(p, "'%.*s' where ; begins the next part", SHOWN(p));
		next(p);
		if (!p->word.length)
			return fail(p, "a part is missing after ;");
	}
	return 0;
}

/* ---- lines ---- */

static int parse_init(struct parser *p)
{
	uint64_t value;
	uint32_t key;
	int err;

	if (p->h->ops || p->h->txns)
		return fail(p, "init after the first operation");
	next(p);
	err = take_key(p, &key);
	if (!err)
		err = take_number(p, "value", UINT64_MAX, &value);
	if (err)
		return err;
	if (p->word.length)
		return fail(p, "'%.*s' after init", SHOWN(p));
	if (p->h->key[key].present)
		return fail(p, "a second init of %s", check_name(p->h, key));
	check_initial(p->h, key, value);
	p->inits = true;
	return 0;
}

/* A file that was cut, or has lost lines, has not as many as its last line says. */
static int parse_end(struct parser *p)
{
	size_t n = p->h->ops + p->h->txns;
	uint64_t number;
	int err;

	next(p);
	err = take_number(p, "number of operations", UINT64_MAX, &number);
	if (err)
		return err;
	if (p->word.length)
		return fail(p, "'%.*s' after end", SHOWN(p));
	if (number != n)
		return fail(p, "%zu operations before the end, of %llu", n,
			    (unsigned long long)number);
	p->h->ended = true;
	return 0;
}

static int parse_line(struct parser *p)
{
	uint64_t client, invoke, complete = CHECK_PENDING;
	enum check_kind kind;
	int err;

	if (p->h->ended)
		return fail(p, "a line after the end");
	if (is(p, "init"))
		return parse_init(p);
	if (is(p, "end"))
		return parse_end(p);
	err = take_number(p, "client", UINT32_MAX, &client);
	if (!err)
		err = take_number(p, "invocation time", CHECK_PENDING - 1, &invoke);
	if (err)
		return err;
	if (is(p, "?"))
		next(p);
	else
		err = take_number(p, "completion time", CHECK_PENDING - 1, &complete);
	if (err)
		return err;
	if (complete < invoke)
		return fail(p, "it ends before it begins");
	if (is(p, "txn")) {
		if (p->h->ops)
			return fail(p, "a transaction among operations");
		if (p->inits)
			return fail(p, "a transaction after init: lists are empty at first");
		next(p);
		return parse_txn(p, (uint32_t)client, invoke, complete);
	}
	for (kind = 0; kind < CHECK_KINDS && !is(p, forms[kind].name); kind++)
		;
	if (!p->word.length)
		return fail(p, "the operation is missing");
	if (kind == CHECK_KINDS)
		return fail(p, "there is no operation '%.*s'", SHOWN(p));
	if (p->h->txns)
		return fail(p, "an operation among transactions");
	next(p);
	if (kind == CHECK_SCAN)
		return parse_scan(p, (uint32_t)client, invoke, complete);
	return parse_op(p, kind, (uint32_t)client, invoke, complete);
}

static int parse_all(struct parser *p, const char *text, const char *end)
{
	bool begun = false;
	const char *line;
	int err;

	while (text < end) {
		if (++p->line >= UINT32_MAX)
			return fail(p, "too many lines");
		line = memchr(text, '\n', (size_t)(end - text));
		p->at = text;
		p->end = line ? line : end;
		text = line ? line + 1 : end;
		if (p->at < p->end && *p->at == '#')
			continue;
		next(p);
		if (!p->word.length)
			continue;
		if (begun) {
			err = parse_line(p);
			if (err)
				return err;
			continue;
		}
		if (!is(p, "rmc-history"))
			return fail(p, "not a history: it does not begin with 'rmc-history 1'");
		next(p);
		if (!is(p, "1"))
			return fail(p, "a history of version '%.*s', not 1", SHOWN(p));
		next(p);
		if (p->word.length)
			return fail(p, "'%.*s' after the version", SHOWN(p));
		begun = true;
	}
	p->line = 0;
	return begun ? 0 : fail(p, "it is empty: a history begins with 'rmc-history 1'");
}

int check_parse(struct check_history *h, const char *text, size_t bytes, struct check_error *e)
{
	struct parser p = { .h = h, .e = e };
	int err;

	memset(e, 0, sizeof(*e));
	if (bytes > CHECK_TEXT_MAX)
		return fail(&p, "more than %llu bytes", CHECK_TEXT_MAX);
	err = parse_all(&p, text, text + bytes);
	if (err == -ENOMEM)
		fail(&p, "out of memory, or more than %u operations or elements", CHECK_OPS_MAX);
	free(p.list);
	return err;
}
