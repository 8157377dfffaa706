// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Registers whose written values all differ, in the time of a sort (Gibbons and Korach, Testing
 * shared memories, 1997, section 4.2).
 *
 * A write and the reads of its value are a cluster. Between a write and the last read of its value
 * no other write can be, so a linearization is an order of clusters. Cluster A is before B if an
 * operation of A ended before one of B began: if the earliest completion of A is less than the
 * latest invocation of B. If these orders have a cycle, they have one of two clusters:
 *
 *	first(A) < last(B) and first(B) < last(A)
 *
 * where first is a cluster's earliest completion, last its latest invocation. From first to last,
 * if first is the smaller, the register has the cluster's value: two such intervals may not
 * overlap. A cluster without such an interval may not have [last, first] within the interval of
 * another one.
 */
#include <errno.h>
#include <stdlib.h>
#include "internal.h"

struct cluster {
	uint64_t first, last;
	const struct item *write, *ends, *begins;	/* ends at first, begins at last */
};

struct registers {
	const struct group *g;
	struct cluster *c;
	uint32_t *table;	/* clusters by value, + 1 */
	size_t mask;
	uint32_t clusters;
	struct cluster initial;
};

static uint32_t *slot_of(struct registers *r, uint64_t value)
{
	size_t i = check_mix(value) & r->mask;

	while (r->table[i] && r->c[r->table[i] - 1].write->arg != value)
		i = (i + 1) & r->mask;
	return &r->table[i];
}

static void join(struct cluster *c, const struct item *it)
{
	if (!c->ends || it->complete < c->first) {
		c->first = it->complete;
		c->ends = it;
	}
	if (!c->begins || it->invoke > c->last) {
		c->last = it->invoke;
		c->begins = it;
	}
}

/* -EDOM: values are not unique, or there are other operations */
static int collect_writes(struct registers *r)
{
	const struct check_key *k = &r->g->h->key[r->g->key[0]];
	const struct item *it;
	struct cluster *c;
	uint32_t *slot;
	size_t i;

	for (i = 0; i < r->g->items; i++) {
		it = &r->g->item[i];
		if (it->kind == CHECK_READ)
			continue;
		if (it->kind != CHECK_WRITE || (k->present && k->initial == it->arg))
			return -EDOM;
		slot = slot_of(r, it->arg);
		if (*slot)
			return -EDOM;
		c = &r->c[r->clusters++];
		*c = (struct cluster){ .write = it };
		join(c, it);
		*slot = r->clusters;
	}
	return 0;
}

static int violation(struct evidence *e, enum check_reason reason, uint64_t value,
		     const struct cluster *a, const struct cluster *b)
{
	const struct item *involved[6] = { 0 };
	int n = 0, i, j;

	e->f.reason = reason;
	e->f.value = value;
	if (a->write)
		involved[n++] = a->write;
	involved[n++] = a->ends;
	involved[n++] = a->begins;
	if (b) {
		if (b->write)
			involved[n++] = b->write;
		involved[n++] = b->ends;
		involved[n++] = b->begins;
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j < i && involved[j] != involved[i]; j++)
			;
		if (involved[i] && j == i && check_evidence_add(e, involved[i]->op))
			return -ENOMEM;
	}
	return CHECK_VIOLATED;
}

static void before(struct evidence *e, const struct item *a, const struct item *b)
{
	e->f.before[2 * e->f.pairs] = a->op;
	e->f.before[2 * e->f.pairs + 1] = b->op;
	e->f.pairs++;
}

static int collect_reads(struct registers *r, struct evidence *e)
{
	const struct check_key *k = &r->g->h->key[r->g->key[0]];
	const struct item *it;
	struct cluster *c, one;
	uint32_t slot;
	size_t i;

	for (i = 0; i < r->g->items; i++) {
		it = &r->g->item[i];
		/* of a pending read nothing is known */
		if (it->kind != CHECK_READ || it->known == CHECK_ANY)
			continue;
		if (it->known == CHECK_ABSENT ? !k->present : k->present && it->got == k->initial) {
			join(&r->initial, it);
			continue;
		}
		slot = it->known == CHECK_ABSENT ? 0 : *slot_of(r, it->got);
		one = (struct cluster){ .ends = it };
		if (!slot)
			return violation(e, CHECK_NEVER_WRITTEN, it->got, &one, NULL);
		c = &r->c[slot - 1];
		if (it->complete < c->write->invoke) {
			one.write = c->write;
			before(e, it, c->write);
			return violation(e, CHECK_FROM_FUTURE, it->got, &one, NULL);
		}
		join(c, it);
	}
	return CHECK_OK;
}

static int by_first(const void *a, const void *b)
{
	const struct cluster *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int cycle(struct evidence *e, const struct cluster *a, const struct cluster *b)
{
	before(e, a->ends, b->begins);
	if (b->ends)
		before(e, b->ends, a->begins);
	return violation(e, CHECK_OUT_OF_ORDER, a->write->arg, a, b);
}

/* The first value is before all others: it may not be read after one of them has to be there. */
static int stale(struct evidence *e, const struct registers *r)
{
	struct cluster a = r->c[0], b = r->initial;

	/* of these only the late read matters, and of the other what ended before */
	a.begins = NULL;
	b.ends = NULL;
	return cycle(e, &a, &b);
}

static int find_cycle(struct registers *r, struct evidence *e)
{
	struct cluster *c = r->c, *a, *reach = NULL;
	uint32_t i, n = 0, low, high, mid;

	qsort(c, r->clusters, sizeof(*c), by_first);
	if (r->initial.begins && r->clusters && c[0].first < r->initial.last)
		return stale(e, r);
	/* intervals, in order: each may only begin where the one before has ended */
	for (i = 0; i < r->clusters; i++) {
		if (c[i].first >= c[i].last)
			continue;
		if (reach && c[i].first < reach->last)
			return cycle(e, reach, &c[i]);
		reach = &c[i];
		r->table[n++] = i;	/* no longer needed for values */
	}
	for (i = 0; i < r->clusters; i++) {
		a = &c[i];
		if (a->first < a->last)
			continue;
		/* the last interval that begins before a->last */
		low = 0;
		high = n;
		while (low < high) {
			mid = low + (high - low) / 2;
			if (c[r->table[mid]].first < a->last)
				low = mid + 1;
			else
				high = mid;
		}
		if (low && c[r->table[low - 1]].last > a->first)
			return cycle(e, a, &c[r->table[low - 1]]);
	}
	return CHECK_OK;
}

int check_register(const struct group *g, struct evidence *e)
{
	struct registers r = { .g = g, .mask = 15 };
	size_t i, writes = 0;
	int verdict;

	if (g->keys != 1)
		return -EDOM;
	for (i = 0; i < g->items; i++)
		writes += g->item[i].kind != CHECK_READ;
	while (r.mask < 2 * writes)
		r.mask = 2 * r.mask + 1;
	r.table = calloc(r.mask + 1, sizeof(*r.table));
	r.c = malloc((writes + 1) * sizeof(*r.c));
	verdict = r.table && r.c ? collect_writes(&r) : -ENOMEM;
	if (!verdict)
		verdict = collect_reads(&r, e);
	if (!verdict)
		verdict = find_cycle(&r, e);
	free(r.table);
	free(r.c);
	return verdict;
}
