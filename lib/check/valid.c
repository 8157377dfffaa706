// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* What cannot be a history, however it was recorded. */
#include <errno.h>
#include <stdlib.h>
#include "internal.h"

struct span {
	uint64_t invoke, complete;
	uint32_t client, number;
};

static int by_client(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	if (x->invoke != y->invoke)
		return x->invoke < y->invoke ? -1 : 1;
	/* what has no end first */
	if (x->complete != y->complete)
		return x->complete + 1 < y->complete + 1 ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/*
 * A client begins an operation when that before has ended. One without an end it has given up: it
 * may go on at once, while that one may still take effect.
 */
static int check_spans(struct span *s, size_t n, size_t overlap[2])
{
	const struct span *last = NULL;
	size_t i;

	qsort(s, n, sizeof(*s), by_client);
	for (i = 0; i < n; i++) {
		if (last && last->client == s[i].client && s[i].invoke < last->complete) {
			overlap[0] = last->number;
			overlap[1] = s[i].number;
			return -EBUSY;
		}
		if (s[i].complete != CHECK_PENDING)
			last = &s[i];
	}
	return 0;
}

static bool valid_scan(const struct check_history *h, const struct check_op *op)
{
	const struct check_scan *s;
	uint32_t i;

	if (op->scan >= h->scans)
		return false;
	s = &h->scan[op->scan];
	for (i = 0; i < s->found; i++)
		if (h->pair[s->first + i].key >= h->keys)
			return false;
	return s->from < h->keys && (s->to < h->keys || s->to == CHECK_NONE);
}

static bool valid_op(const struct check_history *h, const struct check_op *op)
{
	if (op->complete < op->invoke || op->kind >= CHECK_KINDS)
		return false;
	if (op->kind == CHECK_SCAN)
		return valid_scan(h, op);
	if (op->key >= h->keys)
		return false;
	if (op->complete == CHECK_PENDING)
		return true;
	switch (op->known) {
	case CHECK_ANY:
		return true;
	case CHECK_VALUE:
	case CHECK_ABSENT:
		return op->kind != CHECK_WRITE;
	case CHECK_DONE:
		return op->kind != CHECK_READ;
	case CHECK_REFUSED:
		return check_conditional((enum check_kind)op->kind);
	}
	return false;
}

int check_valid_ops(const struct check_history *h, size_t overlap[2])
{
	struct span *s = malloc((h->ops + 1) * sizeof(*s));
	int err = s ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < h->ops && !err; i++) {
		if (!valid_op(h, &h->op[i]))
			err = -EINVAL;
		else
			s[i] = (struct span){ h->op[i].invoke, h->op[i].complete, h->op[i].client,
					      (uint32_t)i };
	}
	if (!err)
		err = check_spans(s, h->ops, overlap);
	free(s);
	return err;
}

static bool valid_txn(const struct check_history *h, const struct check_txn *t)
{
	uint32_t i;

	if (t->complete < t->invoke || t->outcome > CHECK_UNKNOWN ||
	    (t->outcome == CHECK_UNKNOWN) != (t->complete == CHECK_PENDING))
		return false;
	for (i = 0; i < t->parts; i++)
		if (h->part[t->first + i].key >= h->keys)
			return false;
	return true;
}

int check_valid_txns(const struct check_history *h, size_t overlap[2])
{
	struct span *s = malloc((h->txns + 1) * sizeof(*s));
	int err = s ? 0 : -ENOMEM;
	size_t i;

	/* lists are empty at first */
	for (i = 0; i < h->keys && !err; i++)
		if (h->key[i].present)
			err = -EINVAL;
	for (i = 0; i < h->txns && !err; i++) {
		if (!valid_txn(h, &h->txn[i]))
			err = -EINVAL;
		else
			s[i] = (struct span){ h->txn[i].invoke, h->txn[i].complete,
					      h->txn[i].client, (uint32_t)i };
	}
	if (!err)
		err = check_spans(s, h->txns, overlap);
	free(s);
	return err;
}
