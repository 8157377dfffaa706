// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Files of histories, and histories as text. The format is described in parse.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

static int read_all(FILE *f, char **text, size_t *bytes)
{
	size_t room = 1 << 16, n = 0;
	char *p = malloc(room), *q;

	while (p) {
		n += fread(p + n, 1, room - n, f);
		if (n < room)
			break;
		q = n > CHECK_TEXT_MAX ? NULL : realloc(p, room *= 2);
		if (!q)
			free(p);
		p = q;
	}
	*text = p;
	*bytes = n;
	if (!p)
		return -ENOMEM;
	return ferror(f) ? -(errno ? errno : EIO) : 0;
}

int check_read(struct check_history *h, const char *path, struct check_error *e)
{
	bool in = !strcmp(path, "-");
	FILE *f = in ? stdin : fopen(path, "re");
	char *text = NULL;
	size_t bytes = 0;
	int err;

	memset(e, 0, sizeof(*e));
	if (!f) {
		err = -errno;
	} else {
		errno = 0;
		err = read_all(f, &text, &bytes);
		if (!in)
			fclose(f);
	}
	if (err)
		snprintf(e->text, sizeof(e->text), "%s", strerror(-err));
	else
		err = check_parse(h, text, bytes, e);
	free(text);
	return err;
}

static void write_times(uint32_t client, uint64_t invoke, uint64_t complete, FILE *out)
{
	fprintf(out, "%" PRIu32 " %" PRIu64 " ", client, invoke);
	if (complete == CHECK_PENDING)
		fputs("?", out);
	else
		fprintf(out, "%" PRIu64, complete);
}

static void write_scan(const struct check_history *h, const struct check_op *op, FILE *out)
{
	const struct check_scan *s = &h->scan[op->scan];
	uint32_t i;

	fprintf(out, " %s %s ", check_name(h, s->from),
		s->to == CHECK_NONE ? "*" : check_name(h, s->to));
	if (s->max == CHECK_NONE)
		fputs("*", out);
	else
		fprintf(out, "%" PRIu32, s->max);
	if (op->complete == CHECK_PENDING)
		return;
	fputs(" =", out);
	for (i = 0; i < s->found; i++)
		fprintf(out, " %s:%" PRIu64, check_name(h, h->pair[s->first + i].key),
			h->pair[s->first + i].value);
}

void check_write_op(const struct check_history *h, const struct check_op *op, FILE *out)
{
	uint8_t known;

	write_times(op->client, op->invoke, op->complete, out);
	fprintf(out, " %s", check_kind_name((enum check_kind)op->kind));
	if (op->kind == CHECK_SCAN) {
		write_scan(h, op, out);
		return;
	}
	fprintf(out, " %s", check_name(h, op->key));
	if (op->kind == CHECK_CAS)
		fprintf(out, " %" PRIu64, op->expected);
	if (op->kind != CHECK_READ && op->kind != CHECK_DELETE)
		fprintf(out, " %" PRIu64, op->arg);
	/* a pending operation has no result, whatever its entry has */
	known = op->complete == CHECK_PENDING ? CHECK_ANY : op->known;
	switch (known) {
	case CHECK_VALUE:
		fprintf(out, " = %" PRIu64, op->got);
		break;
	case CHECK_ABSENT:
		fputs(" = -", out);
		break;
	case CHECK_DONE:
		if (check_conditional((enum check_kind)op->kind))
			fputs(" = ok", out);
		break;
	case CHECK_REFUSED:
		fputs(" = fail", out);
		break;
	}
}

void check_write_txn(const struct check_history *h, const struct check_txn *t, FILE *out)
{
	static const char *const outcome[] = { "commit", "abort", "unknown" };
	const struct check_part *p;
	uint32_t i, j;

	write_times(t->client, t->invoke, t->complete, out);
	fprintf(out, " txn %s", outcome[t->outcome]);
	for (i = 0; i < t->parts; i++) {
		p = &h->part[t->first + i];
		fprintf(out, "%s %s %s", i ? " ;" : "", p->append ? "append" : "read",
			check_name(h, p->key));
		if (p->append)
			fprintf(out, " %" PRIu64, p->value);
		else if (p->length != CHECK_NONE)
			fputs(" =", out);
		for (j = 0; !p->append && p->length != CHECK_NONE && j < p->length; j++)
			fprintf(out, " %" PRIu64, h->element[p->first + j]);
	}
}

void check_write(const struct check_history *h, FILE *out)
{
	size_t i;

	fputs("rmc-history 1\n", out);
	for (i = 0; i < h->keys; i++)
		if (h->key[i].present)
			fprintf(out, "init %s %" PRIu64 "\n", check_name(h, (uint32_t)i),
				h->key[i].initial);
	for (i = 0; i < h->ops; i++) {
		check_write_op(h, &h->op[i], out);
		fputc('\n', out);
	}
	for (i = 0; i < h->txns; i++) {
		check_write_txn(h, &h->txn[i], out);
		fputc('\n', out);
	}
	fprintf(out, "end %zu\n", h->ops + h->txns);
}
