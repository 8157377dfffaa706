// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Few operations that no order explains, of many. An operation is left out of the explanation if
 * the search rejects the others without what is known of it but its begin: a read without its
 * result, a change that may have taken effect at any time from then on, or never. What remains
 * contradicts itself, whatever the others returned (delta debugging, Zeller and Hildebrandt 2002,
 * with ever smaller parts).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define TRY_STATES	100000		/* of each search */
#define TRY_STEPS	(1U << 22)
#define TRY_LEAST	(1U << 16)	/* steps that a search may take, and */
#define TRY_TIMES	8		/* how often those of the latest rejection */
#define PREPARE		16		/* steps that stand for preparing an operation */
#define WORK_MAX	100000000	/* steps of all searches */

struct core {
	struct group *g;
	const struct search_limits *found;
	struct item *item;	/* of a search */
	bool *free;		/* nothing is known of this operation but its begin */
	uint64_t work;
	uint64_t steps;		/* of the latest rejection */
	bool partial;
};

int check_evidence_add(struct evidence *e, const struct check_op *op)
{
	void *p = check_grow(e->op, e->f.ops, 1, &e->room, sizeof(*e->op));

	if (!p)
		return -ENOMEM;
	e->op = p;
	e->op[e->f.ops++] = op;
	e->f.op = e->op;
	return 0;
}

/*
 * Whether the search rejects the history without ends and results of the free operations, in so
 * many states and steps
 */
static int rejected(struct core *c, uint64_t states, uint64_t steps)
{
	struct search_limits l = { .max_states = states, .max_steps = steps };
	struct group g = *c->g;
	size_t i;
	int verdict;

	if (c->found->progress)
		c->found->progress(c->found->arg, c->found->before + g.items, c->found->all);
	g.item = c->item;
	g.items = 0;
	for (i = 0; i < c->g->items; i++) {
		struct item *it = &c->item[g.items];

		*it = c->g->item[i];
		if (c->free[i]) {
			if (!check_changes(it->kind))
				continue;
			it->complete = CHECK_PENDING;
			it->known = CHECK_ANY;
		}
		g.items++;
	}
	verdict = check_search(&g, &l);
	c->work += PREPARE * c->g->items + l.steps;
	if (verdict == CHECK_VIOLATED)
		c->steps = l.steps;
	c->partial |= verdict == CHECK_UNDECIDED;
	return verdict;
}

/*
 * Frees operations from..to, of those that change something or of the others, if that is possible
 */
static int try_free(struct core *c, size_t from, size_t to, bool changes, bool *freed)
{
	size_t i, n = 0;
	bool *saved = malloc(to - from);
	uint64_t steps;
	int verdict;

	if (!saved)
		return -ENOMEM;
	memcpy(saved, c->free + from, to - from);
	for (i = from; i < to; i++) {
		if (c->free[i] || check_changes(c->g->item[i].kind) != changes)
			continue;
		c->free[i] = true;
		n++;
	}
	/* what takes far more than before mostly leads nowhere */
	steps = TRY_LEAST + TRY_TIMES * c->steps;
	if (steps > TRY_STEPS)
		steps = TRY_STEPS;
	verdict = n ? rejected(c, TRY_STATES, steps) : CHECK_OK;
	if (verdict == CHECK_VIOLATED)
		*freed = true;
	else
		memcpy(c->free + from, saved, to - from);
	free(saved);
	return verdict < 0 ? verdict : 0;
}

static int shrink(struct core *c)
{
	size_t n = c->g->items, part, i;
	bool freed;
	int err, kind;

	/* reads first: changes whose values nobody reads any more are easy then */
	for (kind = 0; kind < 4; kind++) {
		for (part = (n + 1) / 2; part; part = part == 1 ? 0 : (part + 1) / 2) {
			do {
				freed = false;
				for (i = 0; i < n; i += part) {
					if (c->work > WORK_MAX) {
						c->partial = true;
						return 0;
					}
					err = try_free(c, i, i + part < n ? i + part : n, kind & 1,
						       &freed);
					if (err)
						return err;
				}
				/* with each that is free, others may be */
			} while (freed && part == 1);
		}
	}
	return 0;
}

static int by_invocation(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->invoke != y->invoke)
		return x->invoke < y->invoke ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/*
 * What began after the completion that no order reached comes after it in any order, and cannot be
 * the reason; what ended later may have had any result.
 */
static int cut(struct core *c, const struct search_limits *found)
{
	struct group *g = c->g;
	struct item *all = malloc((g->items + 1) * sizeof(*all));
	size_t items = g->items, i, n = 0;
	int verdict;

	if (!all)
		return -ENOMEM;
	memcpy(all, g->item, items * sizeof(*all));
	for (i = 0; i < items; i++) {
		if (all[i].invoke > found->reached)
			continue;
		g->item[n] = all[i];
		if (all[i].complete > found->reached) {
			if (!check_changes(all[i].kind))
				continue;
			g->item[n].complete = CHECK_PENDING;
			g->item[n].known = CHECK_ANY;
		}
		n++;
	}
	g->items = n;
	/* it rejects them as it rejected all, mostly sooner */
	verdict = rejected(c, found->states + TRY_STATES, found->steps + TRY_STEPS);
	if (verdict != CHECK_VIOLATED) {
		memcpy(g->item, all, items * sizeof(*all));
		g->items = items;
	}
	free(all);
	return verdict < 0 ? verdict : 0;
}

int check_core(const struct group *of, const struct search_limits *found, struct evidence *e)
{
	struct group g = *of;
	struct core c = { .g = &g, .found = found, .steps = found->steps };
	size_t i;
	int err = -ENOMEM;

	g.item = malloc((of->items + 1) * sizeof(*g.item));
	c.item = malloc((of->items + 1) * sizeof(*c.item));
	c.free = calloc(of->items + 1, 1);
	if (g.item && c.item && c.free) {
		memcpy(g.item, of->item, of->items * sizeof(*g.item));
		qsort(g.item, g.items, sizeof(*g.item), by_invocation);
		err = cut(&c, found);
	}
	if (!err)
		err = shrink(&c);
	for (i = 0; !err && i < g.items; i++)
		if (!c.free[i])
			err = check_evidence_add(e, g.item[i].op);
	e->f.reason = CHECK_NO_ORDER;
	e->f.partial = c.partial;
	free(g.item);
	free(c.item);
	free(c.free);
	return err;
}
