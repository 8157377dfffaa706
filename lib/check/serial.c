// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Serializability of transactions that append to lists and read them (Kingsbury and Alvaro, Elle,
 * VLDB 2020). A list that was read determines the order of the appends, so the dependencies are exact:
 *
 *	ww	an append comes after that of another transaction in a list
 *	wr	a read's last element is another transaction's
 *	rw	a read does not have the next element, which is another transaction's
 *	rt	a transaction began after another one had ended (strict serializability)
 *
 * Appends of committed transactions that no read has come after all that was read: each reader of
 * the longest list is before them (rw), and so is the last element's transaction (ww). If the lists
 * are possible, a serial order exists if, and only if, there is no cycle.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define NIL	UINT32_MAX

/* What is known of a key's list */
struct list {
	uint32_t part;		/* the longest read of a committed transaction, or NIL */
	uint32_t reader;	/* its transaction */
	uint32_t length;
	uint32_t unseen;	/* in serial.unseen: transactions with appends that no read has; */
	uint32_t unseen_end;	/* and the end */
	uint32_t lost;		/* the latest of these that reads the list as well, or NIL */
	bool bad;		/* lists that cannot be: it has no dependencies */
};

struct serial {
	const struct check_history *h;
	const struct check_options *o;
	struct check_result *r;
	struct list *list;	/* of each key */
	uint32_t *txn_of;	/* of each part */
	uint32_t *table;	/* appends by key and value: part + 1 */
	size_t mask;
	uint32_t *place;	/* of an append in the longest list, or NIL */
	uint32_t *next_own; /* of an append: the next one of its transaction to the key, or NIL */
	bool *committed;	/* transactions: also unknown ones that were read from */
	bool *noted;		/* transactions of findings that are cycles as well */
	uint32_t *work;		/* transactions whose reads are still to be processed */
	uint32_t *unseen;
	uint32_t *latest;	/* of a key: the latest own append of the transaction, or NIL */
	struct graph g;
};

static uint32_t *find(struct serial *s, uint32_t key, uint64_t value)
{
	size_t i = check_mix2(key, value) & s->mask;
	const struct check_part *p;

	for (; s->table[i]; i = (i + 1) & s->mask) {
		p = &s->h->part[s->table[i] - 1];
		if (p->key == key && p->value == value)
			break;
	}
	return &s->table[i];
}

/* The append of an element of the longest list, or NIL */
static uint32_t append_at(struct serial *s, uint32_t key, uint32_t place)
{
	const struct check_part *p = &s->h->part[s->list[key].part];

	return *find(s, key, s->h->element[p->first + place]) - 1;
}

static bool is_read(const struct check_part *p)
{
	return !p->append && p->length != CHECK_NONE;
}

/* ---- findings ---- */

static void report(struct serial *s, struct check_finding *f)
{
	if (f->reason == CHECK_GAVE_UP) {
		s->r->undecided++;
		if (s->r->verdict == CHECK_OK)
			s->r->verdict = CHECK_UNDECIDED;
	} else {
		s->r->findings++;
		s->r->verdict = CHECK_VIOLATED;
	}
	if (s->o->found)
		s->o->found(s->o->arg, f);
}

static void report_list(struct serial *s, enum check_reason reason, uint32_t key, uint64_t value,
			uint32_t a, uint32_t b)
{
	const struct check_txn *txn[2] = { &s->h->txn[a], b == NIL ? NULL : &s->h->txn[b] };
	struct check_finding f = {
		.reason = reason, .key = key, .value = value, .txn = txn, .txns = b == NIL ? 1 : 2,
	};

	if (reason == CHECK_INTERNAL || reason == CHECK_G1B) {
		s->noted[a] = true;
		s->noted[b == NIL ? a : b] = true;
	}
	report(s, &f);
}

static bool appends_to(const struct serial *s, uint32_t t, uint32_t key)
{
	const struct check_txn *txn = &s->h->txn[t];
	uint32_t i;

	for (i = 0; i < txn->parts; i++)
		if (s->h->part[txn->first + i].append && s->h->part[txn->first + i].key == key)
			return true;
	return false;
}

static void found_cycle(void *arg, const struct cycle *c)
{
	struct serial *s = arg;
	struct check_finding f = {
		.reason = c->reason, .key = CHECK_NONE, .realtime = c->realtime,
		.partial = c->partial, .step = c->step, .txns = c->n,
	};
	const struct check_txn **txn = malloc(c->n * sizeof(*txn));
	size_t i;

	if (c->n == 2 && !c->realtime && c->step[0].key == c->step[1].key &&
	    f.reason == CHECK_G_SINGLE &&
	    c->step[0].kind != CHECK_WR && c->step[1].kind != CHECK_WR &&
	    appends_to(s, c->txn[0], c->step[0].key) && appends_to(s, c->txn[1], c->step[0].key)) {
		f.lost_update = true;
		f.key = c->step[0].key;
	}
	/* without memory the cycle has no transactions */
	for (i = 0; txn && i < c->n; i++)
		txn[i] = &s->h->txn[c->txn[i]];
	f.txn = txn;
	f.txns = txn ? c->n : 0;
	report(s, &f);
	free(txn);
}

/* ---- lists ---- */

/* -EEXIST: two appends are the same, so a list does not determine which one it has */
static int index_appends(struct serial *s)
{
	const struct check_part *p;
	uint32_t t, i, n, *slot;

	for (t = 0; t < s->h->txns; t++) {
		for (i = 0; i < s->h->txn[t].parts; i++) {
			n = (uint32_t)s->h->txn[t].first + i;
			p = &s->h->part[n];
			s->txn_of[n] = t;
			if (!p->append)
				continue;
			slot = find(s, p->key, p->value);
			if (*slot) {
				s->r->same[0] = &s->h->txn[s->txn_of[*slot - 1]];
				s->r->same[1] = &s->h->txn[t];
				return -EEXIST;
			}
			*slot = n + 1;
		}
	}
	return 0;
}

/*
 * The longest list of each key. A transaction of unknown outcome has committed if one that has
 * committed reads from it; its own reads count then.
 */
static void find_longest(struct serial *s)
{
	uint32_t t, i, k, n = 0, append;
	const struct check_part *p;
	struct list *l;

	for (t = 0; t < s->h->txns; t++) {
		s->committed[t] = s->h->txn[t].outcome == CHECK_COMMITTED;
		if (s->committed[t])
			s->work[n++] = t;
	}
	while (n) {
		t = s->work[--n];
		for (i = 0; i < s->h->txn[t].parts; i++) {
			p = &s->h->part[s->h->txn[t].first + i];
			l = &s->list[p->key];
			if (!is_read(p) || (l->part != NIL && p->length <= l->length))
				continue;
			/* what the list has beyond the one before */
			for (k = l->part == NIL ? 0 : l->length; k < p->length; k++) {
				append = *find(s, p->key, s->h->element[p->first + k]);
				if (!append ||
				    s->h->txn[s->txn_of[append - 1]].outcome != CHECK_UNKNOWN ||
				    s->committed[s->txn_of[append - 1]])
					continue;
				s->committed[s->txn_of[append - 1]] = true;
				s->work[n++] = s->txn_of[append - 1];
			}
			l->part = (uint32_t)s->h->txn[t].first + i;
			l->reader = t;
			l->length = p->length;
		}
	}
}

/* Places of the appends in the longest lists, and elements that cannot be there */
static void place_appends(struct serial *s)
{
	uint32_t key, i, append;
	struct list *l;
	uint64_t value;

	for (key = 0; key < s->h->keys; key++) {
		l = &s->list[key];
		for (i = 0; l->part != NIL && i < l->length; i++) {
			value = s->h->element[s->h->part[l->part].first + i];
			append = append_at(s, key, i);
			if (append == NIL) {
				report_list(s, CHECK_GARBAGE, key, value, l->reader, NIL);
				l->bad = true;
			} else if (s->place[append] != NIL) {
				report_list(s, CHECK_DUPLICATE, key, value, l->reader, NIL);
				l->bad = true;
			} else {
				s->place[append] = i;
				if (s->h->txn[s->txn_of[append]].outcome == CHECK_ABORTED)
					report_list(s, CHECK_G1A, key, value, l->reader,
						    s->txn_of[append]);
			}
		}
	}
}

/* Each read of a key has to be the beginning of the longest one. */
static void compare_lists(struct serial *s)
{
	const struct check_part *p, *longest;
	struct list *l;
	uint32_t n;

	for (n = 0; n < s->h->parts; n++) {
		p = &s->h->part[n];
		l = &s->list[p->key];
		if (!is_read(p) || !s->committed[s->txn_of[n]] || n == l->part || l->bad)
			continue;
		longest = &s->h->part[l->part];
		if (!p->length || !memcmp(s->h->element + p->first, s->h->element + longest->first,
					  p->length * sizeof(*s->h->element)))
			continue;
		report_list(s, CHECK_INCOMPATIBLE, p->key, 0, s->txn_of[n], l->reader);
		l->bad = true;
	}
}

/*
 * A transaction has to see the appends that it made before, and not those after; in the list they
 * are in its order.
 */
static bool sees_own(const struct serial *s, const struct check_part *p, uint32_t before,
		     uint32_t after)
{
	uint32_t length = is_read(p) ? p->length : 0;

	if (p->append)
		return before == NIL || s->place[p - s->h->part] == NIL ||
		       (s->place[before] != NIL && s->place[before] < s->place[p - s->h->part]);
	return !is_read(p) ||
	       ((before == NIL || (s->place[before] != NIL && s->place[before] < length)) &&
		(after == NIL || s->place[after] == NIL || s->place[after] >= length));
}

static void check_own(struct serial *s, uint32_t t)
{
	const struct check_txn *txn = &s->h->txn[t];
	const struct check_part *p;
	bool bad = false;
	uint32_t i, n;

	if (!txn->parts)
		return;
	p = &s->h->part[txn->first];
	/* latest[key]: first the next append, from the end on; then the one before */
	for (i = txn->parts; i--;) {
		n = (uint32_t)txn->first + i;
		s->next_own[n] = s->latest[p[i].key];
		if (p[i].append)
			s->latest[p[i].key] = n;
	}
	for (i = 0; i < txn->parts; i++)
		s->latest[p[i].key] = NIL;
	for (i = 0; i < txn->parts && s->committed[t]; i++) {
		n = (uint32_t)txn->first + i;
		if (!bad && !s->list[p[i].key].bad &&
		    !sees_own(s, &p[i], s->latest[p[i].key], s->next_own[n])) {
			report_list(s, CHECK_INTERNAL, p[i].key, 0, t, NIL);
			bad = true;
		}
		if (p[i].append)
			s->latest[p[i].key] = n;
	}
	for (i = 0; i < txn->parts; i++)
		s->latest[p[i].key] = NIL;
}

/* ---- dependencies ---- */

/* Transactions of a key's unseen appends, each once and beside each other */
static void collect_unseen(struct serial *s)
{
	uint32_t n, key, total = 0, at;
	const struct check_part *p;

	for (n = 0; n < s->h->parts; n++)
		if (s->h->part[n].append && s->committed[s->txn_of[n]] && s->place[n] == NIL)
			s->list[s->h->part[n].key].unseen_end++;
	for (key = 0; key < s->h->keys; key++) {
		s->list[key].unseen = total;
		total += s->list[key].unseen_end;
		s->list[key].unseen_end = s->list[key].unseen;
	}
	for (n = 0; n < s->h->parts; n++) {
		p = &s->h->part[n];
		if (!p->append || !s->committed[s->txn_of[n]] || s->place[n] != NIL)
			continue;
		at = s->list[p->key].unseen_end;
		/* parts are in the order of transactions */
		if (at == s->list[p->key].unseen || s->unseen[at - 1] != s->txn_of[n])
			s->unseen[s->list[p->key].unseen_end++] = s->txn_of[n];
	}
}

/* Node of a list's unseen transactions from number i on, or up to i */
static uint32_t node_from(const struct serial *s, uint32_t i)
{
	return s->g.txns + 2 * i;
}

static uint32_t node_to(const struct serial *s, uint32_t i)
{
	return s->g.txns + 2 * i + 1;
}

/*
 * A reader of the whole list is before each unseen transaction, but not before itself. So that
 * this does not take an edge for each pair of them, nodes stand for all unseen transactions from
 * one on, and for all up to one.
 */
static int link_unseen(struct serial *s, const struct list *l)
{
	uint32_t i;
	int err = 0;

	/* no read precedes these appends */
	if (l->part == NIL)
		return 0;
	for (i = l->unseen; i < l->unseen_end && !err; i++) {
		err = graph_add(&s->g, node_from(s, i), s->unseen[i], EDGE_VIA, CHECK_NONE);
		if (!err)
			err = graph_add(&s->g, node_to(s, i), s->unseen[i], EDGE_VIA, CHECK_NONE);
		if (!err && i + 1 < l->unseen_end)
			err = graph_add(&s->g, node_from(s, i), node_from(s, i + 1), EDGE_VIA,
					CHECK_NONE);
		if (!err && i > l->unseen)
			err = graph_add(&s->g, node_to(s, i), node_to(s, i - 1), EDGE_VIA,
					CHECK_NONE);
	}
	return err;
}

static int before_unseen(struct serial *s, struct list *l, uint32_t t, uint32_t key)
{
	uint32_t low = l->unseen, high = l->unseen_end, mid;
	int err = 0;

	if (low == high)
		return 0;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->unseen[mid] < t)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->unseen_end || s->unseen[low] != t)
		return graph_add(&s->g, t, node_from(s, l->unseen), EDGE_RW, key);
	/* of two readers that append, in whichever order, the later one does not see the other's */
	if (l->lost != NIL && l->lost != t)
		err = graph_add(&s->g, l->lost, t, EDGE_LOST, key);
	l->lost = t;
	if (!err && low > l->unseen)
		err = graph_add(&s->g, t, node_to(s, low - 1), EDGE_RW, key);
	if (!err && low + 1 < l->unseen_end)
		err = graph_add(&s->g, t, node_from(s, low + 1), EDGE_RW, key);
	return err;
}

static int link_list(struct serial *s, uint32_t key)
{
	struct list *l = &s->list[key];
	uint32_t i, t, last = NIL;
	int err;

	err = link_unseen(s, l);
	for (i = 0; i < l->length && !err; i++) {
		t = s->txn_of[append_at(s, key, i)];
		if (!s->committed[t])
			continue;
		if (last != NIL && last != t)
			err = graph_add(&s->g, last, t, EDGE_WW, key);
		last = t;
	}
	for (i = l->unseen; i < l->unseen_end && last != NIL && !err; i++)
		if (s->unseen[i] != last)
			err = graph_add(&s->g, last, s->unseen[i], EDGE_WW, key);
	return err;
}

static int link_read(struct serial *s, uint32_t n)
{
	const struct check_part *p = &s->h->part[n];
	struct list *l = &s->list[p->key];
	uint32_t t = s->txn_of[n], i, append, other;
	int err = 0;

	for (i = p->length; i--;) {
		append = append_at(s, p->key, i);
		other = s->txn_of[append];
		if (!s->committed[other])
			continue;
		if (other != t) {
			if (s->next_own[append] != NIL)
				report_list(s, CHECK_G1B, p->key, s->h->part[append].value, t,
					    other);
			err = graph_add(&s->g, other, t, EDGE_WR, p->key);
		}
		break;
	}
	for (i = p->length; i < l->length && !err; i++) {
		other = s->txn_of[append_at(s, p->key, i)];
		if (s->committed[other])
			return other == t ? 0 : graph_add(&s->g, t, other, EDGE_RW, p->key);
	}
	return err ? err : before_unseen(s, l, t, p->key);
}

/* ---- real time ---- */

struct end {
	uint64_t time;
	uint32_t txn;
};

static int by_end(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * A node for each end, in the order of time, which leads to the next one. A transaction is after
 * the last end before its begin, and so after all before.
 */
static int link_times(struct serial *s, uint32_t base)
{
	struct end *end = malloc((s->h->txns + 1) * sizeof(*end));
	uint32_t t, n = 0, low, high, mid;
	int err = end ? 0 : -ENOMEM;

	for (t = 0; t < s->h->txns && !err; t++)
		if (s->committed[t] && s->h->txn[t].complete != CHECK_PENDING)
			end[n++] = (struct end){ s->h->txn[t].complete, t };
	if (!err)
		qsort(end, n, sizeof(*end), by_end);
	for (t = 0; t < n && !err; t++) {
		err = graph_add(&s->g, end[t].txn, base + t, EDGE_RT, CHECK_NONE);
		if (!err && t + 1 < n)
			err = graph_add(&s->g, base + t, base + t + 1, EDGE_VIA, CHECK_NONE);
	}
	for (t = 0; t < s->h->txns && !err; t++) {
		if (!s->committed[t])
			continue;
		low = 0;
		high = n;
		while (low < high) {
			mid = low + (high - low) / 2;
			if (end[mid].time < s->h->txn[t].invoke)
				low = mid + 1;
			else
				high = mid;
		}
		if (low)
			err = graph_add(&s->g, base + low - 1, t, EDGE_VIA, CHECK_NONE);
	}
	free(end);
	return err;
}

static int build(struct serial *s)
{
	uint32_t n, key, unseen = s->h->keys ? s->list[s->h->keys - 1].unseen_end : 0;
	int err = 0;

	s->g.txns = (uint32_t)s->h->txns;
	s->g.nodes = s->g.txns + 2 * unseen + (s->o->strict ? s->g.txns : 0);
	for (key = 0; key < s->h->keys && !err; key++)
		if (!s->list[key].bad)
			err = link_list(s, key);
	for (n = 0; n < s->h->parts && !err; n++) {
		if (s->o->progress && !(n & 0xffff))
			s->o->progress(s->o->arg, s->txn_of[n], s->h->txns);
		if (is_read(&s->h->part[n]) && s->committed[s->txn_of[n]] &&
		    !s->list[s->h->part[n].key].bad)
			err = link_read(s, n);
	}
	if (!err && s->o->strict)
		err = link_times(s, s->g.txns + 2 * unseen);
	if (!err)
		err = graph_sort(&s->g);
	if (!err)
		memcpy(s->g.covered, s->noted, s->h->txns * sizeof(*s->noted));
	return err;
}

static int allocate(struct serial *s)
{
	size_t parts = s->h->parts + 1, txns = s->h->txns + 1, keys = s->h->keys + 1;

	for (s->mask = 15; s->mask < 2 * parts;)
		s->mask = 2 * s->mask + 1;
	s->list = calloc(keys, sizeof(*s->list));
	s->txn_of = malloc(parts * sizeof(*s->txn_of));
	s->table = calloc(s->mask + 1, sizeof(*s->table));
	s->place = malloc(parts * sizeof(*s->place));
	s->next_own = malloc(parts * sizeof(*s->next_own));
	s->unseen = malloc(parts * sizeof(*s->unseen));
	s->committed = malloc(txns * sizeof(*s->committed));
	s->noted = calloc(txns, sizeof(*s->noted));
	s->work = malloc(txns * sizeof(*s->work));
	s->latest = malloc(keys * sizeof(*s->latest));
	if (!s->list || !s->txn_of || !s->table || !s->place || !s->next_own || !s->unseen ||
	    !s->committed || !s->noted || !s->work || !s->latest)
		return -ENOMEM;
	memset(s->place, 0xff, parts * sizeof(*s->place));
	memset(s->latest, 0xff, keys * sizeof(*s->latest));
	for (keys = 0; keys < s->h->keys; keys++)
		s->list[keys].part = s->list[keys].lost = NIL;
	return 0;
}

static int check_all(struct serial *s)
{
	uint32_t t;
	int err;

	find_longest(s);
	place_appends(s);
	compare_lists(s);
	for (t = 0; t < s->h->txns; t++) {
		check_own(s, t);
		s->r->groups += s->committed[t];
	}
	collect_unseen(s);
	err = build(s);
	s->r->searched = s->g.edges;
	if (!err)
		err = graph_cycles(&s->g, s->o->strict, found_cycle, s);
	/* a fault of the search: better undecided than wrong */
	if (!err && s->g.undecided)
		report(s, &(struct check_finding){ .reason = CHECK_GAVE_UP, .key = CHECK_NONE });
	return err;
}

int check_serial(const struct check_history *h, const struct check_options *o,
		 struct check_result *r)
{
	static const struct check_options none;
	struct serial s = { .h = h, .o = o ? o : &none, .r = r };
	int err;

	memset(r, 0, sizeof(*r));
	if (h->ops)
		return -EINVAL;
	err = check_valid_txns(h, r->overlap);
	if (err)
		return err;
	if (!h->txns)
		r->verdict = CHECK_UNDECIDED;
	err = allocate(&s);
	if (!err)
		err = index_appends(&s);
	if (!err)
		err = check_all(&s);
	graph_free(&s.g);
	free(s.list);
	free(s.txn_of);
	free(s.table);
	free(s.place);
	free(s.next_own);
	free(s.unseen);
	free(s.committed);
	free(s.noted);
	free(s.work);
	free(s.latest);
	return err;
}
