// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The search of Wing and Gong (Testing and verifying concurrent objects, 1993) with Lowe's
 * memoization (Testing for linearizability, 2017): the next operation may be any that began before
 * the first completion among the remaining ones. A set of operations that are done, with the state
 * after them, is not searched again.
 *
 * These prune it, and lose nothing:
 *
 * - An operation whose result says that it changed nothing is taken as soon as it fits: in any
 *   order that explains the rest it can be moved to here.
 * - A pending operation is taken only if it changes the state, and of equal ones the earliest
 *   first.
 * - A value that no result names is as good as any other such value. A pending operation that
 *   stores one is left out where only values are read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define NIL		UINT32_MAX
#define ARENA_MAX	(1ULL << 26)	/* words of remembered states, 512 MiB */
#define STRIDE		(1U << 16)	/* steps between two calls of progress */

/* Events in the order of time; of equal times invocations come first, so these overlap */
struct event {
	uint64_t time;
	uint32_t item;
	bool completion;
};

struct taken {
	uint32_t event;
	bool forced;		/* there is no alternative to it */
	struct value was;
};

struct search {
	const struct group *g;
	struct search_limits *l;
	struct item *item;	/* copies, with values that nothing names made equal */
	uint32_t items;
	struct event *event;
	uint32_t *next, *prev;	/* remaining events; number 0 is the head, event i is i + 1 */
	uint32_t events;
	uint32_t *completion;	/* of an item: its event + 1, or NIL */
	uint32_t *rank;		/* of an item: its bit */
	uint32_t *twin;		/* of a pending item: an equal one that goes first, or NIL */
	uint64_t *done, *pend;	/* bits: completed items in the order of invocation, pending ones */
	size_t done_words, pend_words, low;
	uint32_t left, taken_done;
	struct value *state;
	uint64_t print[2];	/* of the states of several keys */
	struct taken *stack;
	uint32_t depth;
	uint64_t *arena, used, room;
	uint64_t *table, table_size, states;
	uint64_t steps, next_progress;
	uint32_t deepest;	/* event of a completion that was in the way, the latest one */
};

/* ---- operations ---- */

static bool scan_fits(struct search *s, const struct item *it)
{
	const struct check_history *h = s->g->h;
	const struct check_scan *scan = &h->scan[it->op->scan];
	const struct check_pair *pair;
	uint32_t i, n = 0;

	if (it->known == CHECK_ANY && it->complete == CHECK_PENDING)
		return true;
	for (i = (uint32_t)it->arg; i < (uint32_t)it->expected && n < scan->max; i++) {
		s->steps++;
		if (!s->state[i].present)
			continue;
		if (n == scan->found)
			return false;
		pair = &h->pair[scan->first + n];
		if (s->g->key[i] != pair->key || s->state[i].v != pair->value)
			return false;
		n++;
	}
	return n == scan->found;
}

/* The state of a key after an operation. Returns false if its result does not fit. */
static bool apply(const struct item *it, struct value was, struct value *now)
{
	bool done = true;

	*now = was;
	switch (it->kind) {
	case CHECK_READ:
		done = was.present;
		break;
	case CHECK_WRITE:
	case CHECK_SWAP:
		*now = (struct value){ it->arg, true };
		break;
	case CHECK_CAS:
		done = was.present && was.v == it->expected;
		if (done)
			now->v = it->arg;
		break;
	case CHECK_ADD:
		if (was.present)
			now->v = was.v + it->arg;
		break;
	case CHECK_INSERT:
		done = !was.present;
		if (done)
			*now = (struct value){ it->arg, true };
		break;
	case CHECK_UPDATE:
		done = was.present;
		if (done)
			now->v = it->arg;
		break;
	case CHECK_DELETE:
		done = was.present;
		*now = (struct value){ 0, false };
		break;
	}
	switch (it->known) {
	case CHECK_VALUE:
		return was.present && was.v == it->got;
	case CHECK_ABSENT:
		return !was.present;
	case CHECK_DONE:
		return done;
	case CHECK_REFUSED:
		return !done;
	}
	return true;
}

/* Whether the result says that the operation did not change the state */
static bool is_inert(const struct item *it)
{
	bool absent = it->known == CHECK_ABSENT || it->known == CHECK_REFUSED;

	switch (it->kind) {
	case CHECK_READ:
	case CHECK_SCAN:
		return true;
	case CHECK_CAS:
		return absent || (it->known == CHECK_VALUE && it->got != it->expected);
	case CHECK_INSERT:
		return it->known == CHECK_VALUE || it->known == CHECK_REFUSED;
	case CHECK_UPDATE:
	case CHECK_DELETE:
		return absent;
	case CHECK_ADD:
		return it->known == CHECK_ABSENT;
	}
	return false;
}

static bool same(struct value a, struct value b)
{
	return a.v == b.v && a.present == b.present;
}

/* Whether the operation fits now; *now is the state of its key afterwards */
static bool fits(struct search *s, const struct item *it, struct value *now)
{
	if (it->kind == CHECK_SCAN)
		return scan_fits(s, it);
	return apply(it, s->state[it->key], now);
}

static void set_state(struct search *s, uint32_t key, struct value v)
{
	int i;

	for (i = 0; i < 2 && s->g->keys > 1; i++) {
		uint64_t seed = check_mix2(key, (uint64_t)i + 1);

		s->print[i] -= check_mix2(seed + s->state[key].present, s->state[key].v);
		s->print[i] += check_mix2(seed + v.present, v.v);
	}
	s->state[key] = v;
}

/* ---- the list of remaining events ---- */

static void unlink_event(struct search *s, uint32_t i)
{
	s->next[s->prev[i]] = s->next[i];
	if (s->next[i] != NIL)
		s->prev[s->next[i]] = s->prev[i];
}

static void relink_event(struct search *s, uint32_t i)
{
	s->next[s->prev[i]] = i;
	if (s->next[i] != NIL)
		s->prev[s->next[i]] = i;
}

static void take(struct search *s, uint32_t event, bool forced, struct value now)
{
	uint32_t i = s->event[event - 1].item, bit = s->rank[i];
	const struct item *it = &s->item[i];
	struct taken *t = &s->stack[s->depth++];

	*t = (struct taken){ .event = event, .forced = forced };
	if (it->kind != CHECK_SCAN) {
		t->was = s->state[it->key];
		set_state(s, it->key, now);
	}
	/* the event last: the walk over the list continues from it */
	if (s->completion[i] == NIL) {
		s->pend[bit / 64] |= 1ULL << bit % 64;
		unlink_event(s, event);
		return;
	}
	unlink_event(s, s->completion[i]);
	unlink_event(s, event);
	s->left--;
	s->taken_done++;
	s->done[bit / 64] |= 1ULL << bit % 64;
	while (s->low < s->done_words && s->done[s->low] == UINT64_MAX)
		s->low++;
}

/* Returns the event whose taking is undone */
static struct taken *give_back(struct search *s)
{
	struct taken *t = &s->stack[--s->depth];
	uint32_t i = s->event[t->event - 1].item, bit = s->rank[i];
	const struct item *it = &s->item[i];

	if (it->kind != CHECK_SCAN)
		set_state(s, it->key, t->was);
	relink_event(s, t->event);
	if (s->completion[i] == NIL) {
		s->pend[bit / 64] &= ~(1ULL << bit % 64);
	} else {
		relink_event(s, s->completion[i]);
		s->left++;
		s->taken_done--;
		s->done[bit / 64] &= ~(1ULL << bit % 64);
		if (bit / 64 < s->low)
			s->low = bit / 64;
	}
	return t;
}

/* ---- states that were reached ---- */

/*
 * A record: hash, number of words and the first one, state, bits that are done from there on, bits
 * of pending operations. Words before the first one are full.
 */
enum { REC_HASH, REC_WORDS, REC_STATE, REC_STATE2, REC_BITS };

static int grow_arena(struct search *s, size_t words)
{
	uint64_t *p, room = s->room ? s->room * 2 : 1 << 12;

	if (s->used + words <= s->room)
		return 0;
	while (room < s->used + words)
		room *= 2;
	if (room > ARENA_MAX)
		return CHECK_UNDECIDED;
	p = realloc(s->arena, room * sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->arena = p;
	s->room = room;
	return 0;
}

static int rehash(struct search *s)
{
	uint64_t size = s->table_size ? s->table_size * 2 : 1 << 10, i, at;
	uint64_t *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (i = 0; i < s->table_size; i++) {
		if (!s->table[i])
			continue;
		at = s->arena[s->table[i] - 1 + REC_HASH] & (size - 1);
		while (table[at])
			at = (at + 1) & (size - 1);
		table[at] = s->table[i];
	}
	free(s->table);
	s->table = table;
	s->table_size = size;
	return 0;
}

/* 1: seen before; 0: new, and remembered; -ENOMEM; CHECK_UNDECIDED + 1: no room */
enum { SEEN = 1, NO_ROOM = CHECK_UNDECIDED };

static int remember(struct search *s)
{
	uint32_t bits = s->taken_done - (uint32_t)s->low * 64;
	uint64_t *r, hash = 0, at;
	size_t n = 0, i;
	int err;

	if (2 * (s->states + 1) > s->table_size && rehash(s))
		return -ENOMEM;
	/* at most all words */
	err = grow_arena(s, REC_BITS + s->done_words - s->low + s->pend_words);
	if (err)
		return err;
	r = s->arena + s->used;
	for (i = s->low; bits; i++) {
		r[REC_BITS + n++] = s->done[i];
		bits -= (uint32_t)__builtin_popcountll(s->done[i]);
	}
	r[REC_WORDS] = (uint64_t)s->low << 32 | n;
	memcpy(r + REC_BITS + n, s->pend, s->pend_words * sizeof(*r));
	n += REC_BITS + s->pend_words;
	r[REC_STATE] = s->g->keys > 1 ? s->print[0] : s->state[0].v;
	r[REC_STATE2] = s->g->keys > 1 ? s->print[1] : s->state[0].present;
	for (i = REC_WORDS; i < n; i++)
		hash = check_mix2(hash, r[i]);
	r[REC_HASH] = hash;
	s->steps += n;
	for (at = hash & (s->table_size - 1); s->table[at]; at = (at + 1) & (s->table_size - 1))
		if (!memcmp(s->arena + s->table[at] - 1, r, n * sizeof(*r)))
			return SEEN;
	if (s->states == s->l->max_states)
		return NO_ROOM;
	s->states++;
	s->table[at] = s->used + 1;
	s->used += n;
	return 0;
}

/* ---- the search ---- */

/* Takes all inert operations that fit. Returns the completion that is first then. */
static uint32_t take_forced(struct search *s)
{
	struct value now = { 0 };
	uint32_t i;

	for (i = s->next[0]; i != NIL && !s->event[i - 1].completion; i = s->next[i]) {
		const struct item *it = &s->item[s->event[i - 1].item];

		s->steps++;
		if (is_inert(it) && fits(s, it, &now))
			take(s, i, true, now);
	}
	return i;
}

/* The next operation after an event that may be taken, and is taken. False: there is none. */
static bool take_next(struct search *s, uint32_t i)
{
	struct value now = { 0 };

	for (i = s->next[i]; i != NIL && !s->event[i - 1].completion; i = s->next[i]) {
		uint32_t n = s->event[i - 1].item, twin = s->twin[n];

		s->steps++;
		if (twin != NIL && !(s->pend[s->rank[twin] / 64] >> s->rank[twin] % 64 & 1))
			continue;
		/* an inert operation that fits has been taken */
		if (is_inert(&s->item[n]) || !fits(s, &s->item[n], &now))
			continue;
		if (s->item[n].complete == CHECK_PENDING && same(now, s->state[s->item[n].key]))
			continue;
		take(s, i, false, now);
		return true;
	}
	return false;
}

static void progress(struct search *s)
{
	if (!s->l->progress || s->steps < s->next_progress)
		return;
	s->next_progress = s->steps + STRIDE;
	s->l->progress(s->l->arg, s->l->before + s->taken_done, s->l->all);
}

/* States cost different work: that with many pending operations or keys takes many steps. */
static bool too_long(const struct search *s)
{
	return s->steps > s->l->max_steps;
}

static int search(struct search *s)
{
	uint32_t from, blocked;
	struct taken *t;
	int err;

	for (;;) {
		blocked = take_forced(s);
		progress(s);
		if (!s->left)
			return CHECK_OK;
		if (too_long(s))
			return CHECK_UNDECIDED;
		if (blocked != NIL && blocked > s->deepest)
			s->deepest = blocked;
		err = remember(s);
		if (err && err != SEEN)
			return err;
		if (!err && take_next(s, 0))
			continue;
		do {
			do {
				if (!s->depth)
					return CHECK_VIOLATED;
				if (too_long(s))
					return CHECK_UNDECIDED;
				t = give_back(s);
			} while (t->forced);
			from = t->event;
		} while (!take_next(s, from));
	}
}

/* ---- preparation ---- */

/* Values that results name, as pairs of a key and a value */
struct names {
	struct check_pair *pair;
	bool *used;
	size_t mask, n;
};

static bool named(struct names *n, uint32_t key, uint64_t value, bool add)
{
	size_t i = check_mix2(key, value) & n->mask;

	for (; n->used[i]; i = (i + 1) & n->mask)
		if (n->pair[i].key == key && n->pair[i].value == value)
			return true;
	if (add) {
		n->used[i] = true;
		n->pair[i] = (struct check_pair){ key, value };
	}
	return add;
}

/* Of a key: values are computed; results tell presence alone; its spare value has been found */
enum { ADDS = 1, PRESENCE = 2, SPARE = 4 };

/* A value that a scan found, if its key is one of the group */
static void name_found(struct search *s, struct names *n, const struct check_pair *p)
{
	uint32_t k = s->g->local[p->key];

	if (k < s->g->keys && s->g->key[k] == p->key)
		named(n, k, p->value, true);
}

static int collect_names(struct search *s, struct names *n, uint8_t *traits)
{
	const struct check_history *h = s->g->h;
	const struct check_scan *scan;
	const struct item *it;
	size_t max = 0, i, j;

	for (i = 0; i < s->items; i++)
		max += s->item[i].kind == CHECK_SCAN ? h->scan[s->item[i].op->scan].found : 2;
	for (n->mask = 15; n->mask < 2 * max;)
		n->mask = 2 * n->mask + 1;
	n->pair = malloc((n->mask + 1) * sizeof(*n->pair));
	n->used = calloc(n->mask + 1, sizeof(*n->used));
	if (!n->pair || !n->used)
		return -ENOMEM;
	for (i = 0; i < s->items; i++) {
		it = &s->item[i];
		if (it->kind == CHECK_SCAN) {
			scan = &h->scan[it->op->scan];
			for (j = 0; j < scan->found; j++)
				name_found(s, n, &h->pair[scan->first + j]);
			continue;
		}
		if (it->known == CHECK_VALUE)
			named(n, it->key, it->got, true);
		if (it->kind == CHECK_CAS)
			named(n, it->key, it->expected, true);
		if (it->kind == CHECK_ADD)
			traits[it->key] |= ADDS;
		if (it->known == CHECK_DONE || it->known == CHECK_REFUSED ||
		    it->kind == CHECK_INSERT || it->kind == CHECK_UPDATE ||
		    it->kind == CHECK_DELETE)
			traits[it->key] |= PRESENCE;
	}
	return 0;
}

static bool stores(uint8_t kind)
{
	return kind == CHECK_WRITE || kind == CHECK_SWAP || kind == CHECK_CAS ||
	       kind == CHECK_INSERT || kind == CHECK_UPDATE;
}

/* Makes values that nothing names equal, and leaves out pending operations that explain nothing. */
static int simplify(struct search *s)
{
	uint8_t *traits = calloc(s->g->keys + 1, 1);
	uint64_t *spare = calloc(s->g->keys + 1, sizeof(*spare));
	struct names n = { 0 };
	struct item *it;
	uint32_t i, kept = 0;
	int err;

	err = traits && spare ? collect_names(s, &n, traits) : -ENOMEM;
	for (i = 0; i < s->items && !err; i++) {
		it = &s->item[i];
		if (it->complete == CHECK_PENDING && !check_changes(it->kind))
			continue;
		if (stores(it->kind) && !(traits[it->key] & ADDS) &&
		    !named(&n, it->key, it->arg, false)) {
			if (it->complete == CHECK_PENDING && !(traits[it->key] & PRESENCE))
				continue;
			while (!(traits[it->key] & SPARE)) {
				if (named(&n, it->key, spare[it->key], false))
					spare[it->key]++;
				else
					traits[it->key] |= SPARE;
			}
			it->arg = spare[it->key];
		}
		s->item[kept++] = *it;
	}
	s->items = kept;
	free(traits);
	free(spare);
	free(n.pair);
	free(n.used);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->completion != y->completion)
		return x->completion ? 1 : -1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* Of pending items with the same effect, each waits for the one that began before it. */
static int find_twins(struct search *s)
{
	uint32_t *last, i, e, size = 16, at;

	while (size < 2 * s->items)
		size *= 2;
	last = malloc(size * sizeof(*last));
	if (!last)
		return -ENOMEM;
	memset(last, 0xff, size * sizeof(*last));
	for (e = 0; e < s->events; e++) {
		const struct item *it = &s->item[s->event[e].item], *o;

		i = s->event[e].item;
		s->twin[i] = NIL;
		if (it->complete != CHECK_PENDING)
			continue;
		at = (uint32_t)check_mix2(check_mix2(it->key, it->kind),
					  check_mix2(it->arg, it->expected)) & (size - 1);
		for (; last[at] != NIL; at = (at + 1) & (size - 1)) {
			o = &s->item[last[at]];
			if (o->key == it->key && o->kind == it->kind && o->arg == it->arg &&
			    o->expected == it->expected)
				break;
		}
		s->twin[i] = last[at];
		last[at] = i;
	}
	free(last);
	return 0;
}

static int make_events(struct search *s)
{
	uint32_t i, done = 0, pend = 0;

	for (i = 0; i < s->items; i++) {
		s->event[s->events++] = (struct event){ s->item[i].invoke, i, false };
		if (s->item[i].complete != CHECK_PENDING)
			s->event[s->events++] = (struct event){ s->item[i].complete, i, true };
	}
	qsort(s->event, s->events, sizeof(*s->event), by_time);
	for (i = 0; i < s->events; i++) {
		uint32_t n = s->event[i].item;

		s->next[i] = i + 1;
		s->prev[i + 1] = i;
		if (s->event[i].completion) {
			s->completion[n] = i + 1;
			continue;
		}
		s->completion[n] = NIL;
		s->rank[n] = s->item[n].complete == CHECK_PENDING ? pend++ : done++;
	}
	s->next[s->events] = NIL;
	s->left = done;
	s->done_words = (done + 63) / 64;
	s->pend_words = (pend + 63) / 64;
	return find_twins(s);
}

static int prepare(struct search *s)
{
	size_t n = s->g->items + 1, i;
	uint32_t k;
	int err;

	s->item = malloc(n * sizeof(*s->item));
	s->state = calloc(s->g->keys + 1, sizeof(*s->state));
	s->event = malloc(2 * n * sizeof(*s->event));
	s->next = malloc(2 * n * sizeof(*s->next));
	s->prev = malloc(2 * n * sizeof(*s->prev));
	s->completion = malloc(n * sizeof(*s->completion));
	s->rank = malloc(n * sizeof(*s->rank));
	s->twin = malloc(n * sizeof(*s->twin));
	s->stack = malloc(n * sizeof(*s->stack));
	s->done = calloc(n / 64 + 2, sizeof(*s->done));
	s->pend = calloc(n / 64 + 2, sizeof(*s->pend));
	if (!s->item || !s->state || !s->event || !s->next || !s->prev || !s->completion ||
	    !s->rank || !s->twin || !s->stack || !s->done || !s->pend)
		return -ENOMEM;
	for (i = 0; i < s->g->items; i++)
		s->item[i] = s->g->item[i];
	s->items = (uint32_t)i;
	err = simplify(s);
	if (err)
		return err;
	for (k = 0; k < s->g->keys; k++) {
		const struct check_key *key = &s->g->h->key[s->g->key[k]];

		set_state(s, k, (struct value){ key->initial, key->present });
	}
	return make_events(s);
}

int check_search(const struct group *g, struct search_limits *l)
{
	struct search s = { .g = g, .l = l };
	int verdict = prepare(&s);

	l->blocked = NULL;
	if (!verdict)
		verdict = search(&s);
	l->states = s.states;
	l->steps = s.steps;
	if (verdict == CHECK_VIOLATED && s.deepest) {
		l->blocked = s.item[s.event[s.deepest - 1].item].op;
		l->reached = s.event[s.deepest - 1].time;
	}
	free(s.item);
	free(s.state);
	free(s.event);
	free(s.next);
	free(s.prev);
	free(s.completion);
	free(s.rank);
	free(s.twin);
	free(s.stack);
	free(s.done);
	free(s.pend);
	free(s.arena);
	free(s.table);
	return verdict;
}
