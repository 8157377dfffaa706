// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Findings as text. */
#include <inttypes.h>
#include "internal.h"

static const struct {
	const char *name, *text;
} reasons[CHECK_REASONS] = {
	[CHECK_NEVER_WRITTEN]	= { "never-written", "a value was read that nobody wrote" },
	[CHECK_FROM_FUTURE]	= { "from-future", "a value was read before its write began" },
	[CHECK_OUT_OF_ORDER]	= { "out-of-order",
				    "of two values neither can have been there first" },
	[CHECK_NO_ORDER]	= { "no-order",
				    "no order explains these, whatever the others returned" },
	[CHECK_GAVE_UP]		= { "undecided", "the search reached its limit" },
	[CHECK_INCOMPATIBLE]	= { "incompatible-order",
				    "of two lists that were read neither begins with the other" },
	[CHECK_DUPLICATE]	= { "duplicate-element", "an element is in a list twice" },
	[CHECK_GARBAGE]		= { "garbage-read", "an element was read that nobody appended" },
	[CHECK_INTERNAL]	= { "internal",
				    "a transaction does not see its own appends as it made them" },
	[CHECK_G1A]		= { "G1a", "aborted read: an element of an aborted transaction" },
	[CHECK_G1B]		= { "G1b",
				    "intermediate read: its transaction appended more" },
	[CHECK_G0]		= { "G0", "write cycle" },
	[CHECK_G1C]		= { "G1c", "circular information flow" },
	[CHECK_G_SINGLE]	= { "G-single", "a cycle with one anti-dependency" },
	[CHECK_G2]		= { "G2", "a cycle with several anti-dependencies" },
};

const char *check_reason_name(enum check_reason r)
{
	return reasons[r].name;
}

const char *check_reason_text(enum check_reason r)
{
	return reasons[r].text;
}

const char *check_edge_name(enum check_edge e)
{
	static const char *const names[] = { "ww", "wr", "rw", "rt" };

	return names[e];
}

static void print_place(uint32_t line, size_t number, FILE *out)
{
	if (line)
		fprintf(out, "line %" PRIu32, line);
	else
		fprintf(out, "number %zu", number);
}

static void print_op(const struct check_history *h, const struct check_op *op, const char *prefix,
		     FILE *out)
{
	fprintf(out, "%s  ", prefix);
	print_place(op->line, (size_t)(op - h->op) + 1, out);
	fputs(": ", out);
	check_write_op(h, op, out);
	fputc('\n', out);
}

static void print_pair(const struct check_history *h, const struct check_op *const *pair,
		       const char *prefix, FILE *out)
{
	fprintf(out, "%s  ", prefix);
	print_place(pair[0]->line, (size_t)(pair[0] - h->op) + 1, out);
	fputs(" ended before ", out);
	print_place(pair[1]->line, (size_t)(pair[1] - h->op) + 1, out);
	fputs(" began\n", out);
}

static void print_cycle(const struct check_history *h, const struct check_finding *f,
			const char *prefix, FILE *out)
{
	size_t i;

	fprintf(out, "%s  ", prefix);
	for (i = 0; i <= f->txns; i++) {
		const struct check_txn *t = f->txn[i % f->txns];

		print_place(t->line, (size_t)(t - h->txn) + 1, out);
		if (i == f->txns)
			break;
		fprintf(out, " --%s%s%s--> ", check_edge_name(f->step[i].kind),
			f->step[i].key == CHECK_NONE ? "" : " ",
			f->step[i].key == CHECK_NONE ? "" : check_name(h, f->step[i].key));
	}
	fputc('\n', out);
}

void check_print(const struct check_history *h, const struct check_finding *f, const char *prefix,
		 FILE *out)
{
	bool valued = f->reason == CHECK_DUPLICATE || f->reason == CHECK_GARBAGE ||
		      f->reason == CHECK_G1A || f->reason == CHECK_G1B;
	size_t i;

	fprintf(out, "%s%s%s%s%s: %s", prefix, reasons[f->reason].name,
		f->realtime ? "-realtime" : "", f->key == CHECK_NONE ? "" : " of ",
		f->key == CHECK_NONE ? "" : check_name(h, f->key), reasons[f->reason].text);
	if (valued)
		fprintf(out, " (%" PRIu64 ")", f->value);
	if (f->lost_update)
		fputs(" (lost update)", out);
	if (f->partial)
		fputs(f->txns ? " (at most: a search was cut short)" :
		      " (perhaps fewer would do: a search was cut short)", out);
	fputc('\n', out);
	for (i = 0; i < f->ops; i++)
		print_op(h, f->op[i], prefix, out);
	for (i = 0; i < f->pairs; i++)
		print_pair(h, &f->before[2 * i], prefix, out);
	for (i = 0; i < f->txns; i++) {
		fprintf(out, "%s  ", prefix);
		print_place(f->txn[i]->line, (size_t)(f->txn[i] - h->txn) + 1, out);
		fputs(": ", out);
		check_write_txn(h, f->txn[i], out);
		fputc('\n', out);
	}
	if (f->step && f->txns)
		print_cycle(h, f, prefix, out);
}
