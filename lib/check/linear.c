// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Linearizability of a history: it is linearizable if that of each key is (Herlihy and Wing 1990,
 * locality). Keys that a scan covers are checked together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

struct linear {
	const struct check_history *h;
	const struct check_options *o;
	struct check_result *r;
	uint32_t *order; /* keys, those of a group beside each other, sorted by name if scanned */
	uint32_t *place;	/* of a key in order */
	uint32_t *group_of;	/* of a key */
	uint32_t *first;	/* of a group: its first key in order; and the end */
	uint32_t *local;
	uint32_t groups;
	struct item *item;	/* sorted by group */
	size_t *start;		/* of a group: its first item; and the end */
	uint64_t done;		/* for progress */
};

static int by_name(const void *a, const void *b, void *history)
{
	return strcmp(check_name(history, *(const uint32_t *)a),
		      check_name(history, *(const uint32_t *)b));
}

/* Places in order of the keys that a scan covers: from .. before to */
static void range_of(const struct linear *l, const struct check_scan *s, uint32_t *from,
		     uint32_t *to)
{
	*from = l->place[s->from];
	*to = s->to == CHECK_NONE ? (uint32_t)l->h->keys : l->place[s->to] + 1;
}

/* Groups of keys: joined[i] if the keys at i and i + 1 of the order are in one group */
static int make_groups(struct linear *l)
{
	uint32_t n = (uint32_t)l->h->keys, i, from, to;
	int64_t *depth = calloc(n + 2, sizeof(*depth)), open = 0;
	size_t s;

	if (!depth)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		l->order[i] = i;
	if (l->h->scans)
		qsort_r(l->order, n, sizeof(*l->order), by_name, (void *)l->h);
	for (i = 0; i < n; i++)
		l->place[l->order[i]] = i;
	for (s = 0; s < l->h->scans; s++) {
		range_of(l, &l->h->scan[s], &from, &to);
		if (from + 1 < to) {
			depth[from]++;
			depth[to - 1]--;
		}
	}
	for (i = 0; i < n; i++) {
		if (!open)
			l->first[l->groups++] = i;
		open += depth[i];
		l->group_of[l->order[i]] = l->groups - 1;
		l->local[l->order[i]] = i - l->first[l->groups - 1];
	}
	l->first[l->groups] = n;
	free(depth);
	return 0;
}

/* The group of an operation. CHECK_NONE: a scan of a range without keys. */
static uint32_t group_of(const struct linear *l, const struct check_op *op)
{
	uint32_t from, to;

	if (op->kind != CHECK_SCAN)
		return l->group_of[op->key];
	range_of(l, &l->h->scan[op->scan], &from, &to);
	return from < to ? l->group_of[l->order[from]] : CHECK_NONE;
}

static void make_item(const struct linear *l, const struct check_op *op, struct item *it)
{
	uint32_t from, to, base;

	*it = (struct item){
		.op = op, .invoke = op->invoke, .complete = op->complete, .arg = op->arg,
		.expected = op->expected, .got = op->got, .kind = op->kind, .known = op->known,
		.key = CHECK_NONE,
	};
	if (op->complete == CHECK_PENDING)
		it->known = CHECK_ANY;
	if (op->kind != CHECK_SCAN) {
		it->key = l->local[op->key];
		return;
	}
	range_of(l, &l->h->scan[op->scan], &from, &to);
	base = l->first[l->group_of[l->order[from]]];
	it->arg = from - base;
	it->expected = to - base;
}

static void report(struct linear *l, const struct check_finding *f)
{
	if (f->reason == CHECK_GAVE_UP) {
		l->r->undecided++;
		if (l->r->verdict == CHECK_OK)
			l->r->verdict = CHECK_UNDECIDED;
	} else {
		l->r->findings++;
		l->r->verdict = CHECK_VIOLATED;
	}
	if (l->o->found)
		l->o->found(l->o->arg, f);
}

static int make_items(struct linear *l)
{
	size_t *at, i, ops = l->h->ops;
	const struct check_op *op;
	uint32_t g;

	for (i = 0; i < ops; i++) {
		g = group_of(l, &l->h->op[i]);
		if (g != CHECK_NONE)
			l->start[g + 1]++;
	}
	for (g = 0; g < l->groups; g++)
		l->start[g + 1] += l->start[g];
	at = malloc((l->groups + 1) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	memcpy(at, l->start, (l->groups + 1) * sizeof(*at));
	for (i = 0; i < ops; i++) {
		op = &l->h->op[i];
		g = group_of(l, op);
		if (g != CHECK_NONE) {
			make_item(l, op, &l->item[at[g]++]);
		} else if (op->complete != CHECK_PENDING && l->h->scan[op->scan].found) {
			struct check_finding f = {
				.reason = CHECK_NO_ORDER, .key = CHECK_NONE, .op = &op, .ops = 1,
			};

			report(l, &f);
		}
	}
	free(at);
	return 0;
}

static int by_invocation(const void *a, const void *b)
{
	const struct check_op *x = *(const struct check_op *const *)a;
	const struct check_op *y = *(const struct check_op *const *)b;

	if (x->invoke != y->invoke)
		return x->invoke < y->invoke ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int check_group(struct linear *l, const struct group *g)
{
	struct search_limits limits = {
		.max_states = l->o->max_states ? l->o->max_states : CHECK_STATES_MAX,
		.progress = l->o->progress, .arg = l->o->arg, .before = l->done, .all = l->h->ops,
	};
	struct evidence e = { .f.key = g->keys == 1 ? g->key[0] : CHECK_NONE };
	int verdict = -EDOM;

	limits.max_steps = CHECK_STATE_STEPS * (limits.max_states + g->items);
	if (!l->o->search)
		verdict = check_register(g, &e);
	if (verdict == -EDOM) {
		verdict = check_search(g, &limits);
		l->r->searched++;
		l->r->states += limits.states;
		if (verdict == CHECK_UNDECIDED)
			e.f.reason = CHECK_GAVE_UP;
		if (verdict == CHECK_VIOLATED && check_core(g, &limits, &e))
			verdict = -ENOMEM;
	}
	if (verdict > 0) {
		if (e.f.ops)
			qsort(e.op, e.f.ops, sizeof(*e.op), by_invocation);
		report(l, &e.f);
	}
	free(e.op);
	return verdict < 0 ? verdict : 0;
}

static int check_groups(struct linear *l)
{
	struct group g = { .h = l->h, .local = l->local };
	uint32_t i;
	int err;

	for (i = 0; i < l->groups; i++) {
		g.key = l->order + l->first[i];
		g.keys = l->first[i + 1] - l->first[i];
		g.item = l->item + l->start[i];
		g.items = l->start[i + 1] - l->start[i];
		if (!g.items)
			continue;
		err = check_group(l, &g);
		if (err)
			return err;
		l->r->groups++;
		l->done += g.items;
		if (l->o->progress)
			l->o->progress(l->o->arg, l->done, l->h->ops);
	}
	return 0;
}

int check_linear(const struct check_history *h, const struct check_options *o,
		 struct check_result *r)
{
	static const struct check_options none;
	struct linear l = { .h = h, .o = o ? o : &none, .r = r };
	size_t n = h->keys + 2;
	int err;

	memset(r, 0, sizeof(*r));
	if (h->txns)
		return -EINVAL;
	err = check_valid_ops(h, r->overlap);
	if (err)
		return err;
	err = -ENOMEM;
	if (!h->ops)
		r->verdict = CHECK_UNDECIDED;
	l.order = calloc(n, sizeof(*l.order));
	l.place = calloc(n, sizeof(*l.place));
	l.group_of = calloc(n, sizeof(*l.group_of));
	l.first = calloc(n, sizeof(*l.first));
	l.local = calloc(n, sizeof(*l.local));
	l.start = calloc(n, sizeof(*l.start));
	l.item = malloc((h->ops + 1) * sizeof(*l.item));
	if (l.order && l.place && l.group_of && l.first && l.local && l.start && l.item)
		err = make_groups(&l);
	if (!err)
		err = make_items(&l);
	if (!err)
		err = check_groups(&l);
	free(l.order);
	free(l.place);
	free(l.group_of);
	free(l.first);
	free(l.local);
	free(l.start);
	free(l.item);
	return err;
}
