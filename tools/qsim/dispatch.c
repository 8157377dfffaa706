/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Dispatch policies: see dispatch.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "zipf.h"
#include "dispatch.h"

#define NONE	UINT32_MAX

/* First in, first out, of messages; linked by dispatch.next */
struct fifo {
	uint32_t head, tail, length;
};

/* @given: messages that the dispatcher takes to be with this core. @has: those that it has */
struct core {
	unsigned int given, has;
	uint32_t mine[DEPTH_MAX];
};

/* GIVEN: a message reaches a core. DONE: a core ends its first one. FREED: known to dispatcher */
enum { GIVEN, DONE, FREED };

struct event {
	uint64_t at, order;	/* of equal times the lower order is first */
	uint32_t core, message;
	int kind;
};

struct dispatch {
	const struct host *s;
	const struct message *m;
	uint64_t *latency;
	uint64_t now, seed, order;
	uint32_t turn, waiting;
	uint32_t *next;
	struct fifo fifo[CORES_MAX];
	struct core core[CORES_MAX];
	struct event heap[2 * CORES_MAX * DEPTH_MAX];
	unsigned int events;
};

static int earlier(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void schedule(struct dispatch *d, uint64_t at, int kind, uint32_t core, uint32_t message)
{
	struct event e = { at, d->order++, core, message, kind };
	unsigned int i = d->events++;

	while (i && earlier(&e, &d->heap[(i - 1) / 2])) {
		d->heap[i] = d->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	d->heap[i] = e;
}

static struct event next_event(struct dispatch *d)
{
	struct event first = d->heap[0], e = d->heap[--d->events];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < d->events) {
		if (child + 1 < d->events && earlier(&d->heap[child + 1], &d->heap[child]))
			child++;
		if (!earlier(&d->heap[child], &e))
			break;
		d->heap[i] = d->heap[child];
		i = child;
	}
	d->heap[i] = e;
	return first;
}

/* ---- where a message waits ---- */

static uint32_t random_below(struct dispatch *d, uint32_t n)
{
	return (uint32_t)(random_unit(&d->seed) * n);
}

/* What a core has to do, its own queue included */
static uint32_t work_of(const struct dispatch *d, uint32_t core)
{
	return d->fifo[core].length + d->core[core].given;
}

static uint32_t group_of(const struct dispatch *d, uint32_t core)
{
	return core / (d->s->cores / d->s->groups);
}

static uint32_t work_of_group(const struct dispatch *d, uint32_t group)
{
	uint32_t each = d->s->cores / d->s->groups, i, work = d->fifo[group].length;

	for (i = group * each; i < (group + 1) * each; i++)
		work += d->core[i].given;
	return work;
}

static uint32_t arrive_next(struct dispatch *d, const struct message *m)
{
	(void)m;
	return d->turn++ % d->s->cores;
}

static uint32_t arrive_bound(struct dispatch *d, const struct message *m)
{
	return m->key % d->s->cores;
}

static uint32_t arrive_random(struct dispatch *d, const struct message *m)
{
	(void)m;
	return random_below(d, d->s->cores);
}

static uint32_t arrive_all(struct dispatch *d, const struct message *m)
{
	(void)d;
	(void)m;
	return 0;
}

static uint32_t arrive_group(struct dispatch *d, const struct message *m)
{
	return m->key % d->s->groups;
}

static uint32_t arrive_shortest(struct dispatch *d, const struct message *m)
{
	uint32_t i, best = 0;

	(void)m;
	for (i = 1; i < d->s->cores; i++)
		if (work_of(d, i) < work_of(d, best))
			best = i;
	return best;
}

static uint32_t arrive_shorter(struct dispatch *d, const struct message *m)
{
	uint32_t a = random_below(d, d->s->cores), b = random_below(d, d->s->cores);

	(void)m;
	return work_of(d, b) < work_of(d, a) ? b : a;
}

static uint32_t arrive_idle(struct dispatch *d, const struct message *m)
{
	uint32_t i;

	for (i = 0; i < d->s->cores; i++)
		if (!work_of(d, i))
			return i;
	return arrive_bound(d, m);
}

static uint32_t arrive_lighter(struct dispatch *d, const struct message *m)
{
	uint32_t a = random_below(d, d->s->groups), b = random_below(d, d->s->groups);

	(void)m;
	return work_of_group(d, b) < work_of_group(d, a) ? b : a;
}

/* ---- what a free core takes; the queue may be empty ---- */

static uint32_t fetch_own(const struct dispatch *d, uint32_t core)
{
	(void)d;
	return core;
}

static uint32_t fetch_all(const struct dispatch *d, uint32_t core)
{
	(void)d;
	(void)core;
	return 0;
}

static uint32_t fetch_group(const struct dispatch *d, uint32_t core)
{
	return group_of(d, core);
}

static uint32_t fetch_longest(const struct dispatch *d, uint32_t core)
{
	uint32_t i, best = core;

	if (d->fifo[core].length)
		return core;
	for (i = 0; i < d->s->cores; i++)
		if (d->fifo[i].length > d->fifo[best].length)
			best = i;
	return best;
}

static uint32_t fetch_urgent(const struct dispatch *d, uint32_t core)
{
	uint32_t i;

	(void)core;
	for (i = 0; i + 1 < d->s->groups && !d->fifo[i].length; i++)
		;
	return i;
}

static const struct {
	const char *name, *text;
	uint32_t (*arrive)(struct dispatch *d, const struct message *m);
	uint32_t (*fetch)(const struct dispatch *d, uint32_t core);
} policies[] = {
#define X(name, arrive, fetch, text)	{ #name, text, arrive_##arrive, fetch_##fetch },
	POLICIES(X)
#undef X
};

const char *policy_name(enum policy policy)
{
	return policies[policy].name;
}

const char *policy_text(enum policy policy)
{
	return policies[policy].text;
}

int policy_find(const char *name)
{
	int i;

	for (i = 0; i < POLICY_COUNT; i++)
		if (!strcmp(policies[i].name, name))
			return i;
	return -1;
}

/* ---- giving messages to cores ---- */

static void put(struct dispatch *d, struct fifo *f, uint32_t message)
{
	d->next[message] = NONE;
	if (f->length++)
		d->next[f->tail] = message;
	else
		f->head = message;
	f->tail = message;
	d->waiting++;
}

static uint32_t take(struct dispatch *d, struct fifo *f)
{
	uint32_t message = f->head;

	f->head = d->next[message];
	f->length--;
	d->waiting--;
	return message;
}

/*
 * Of the cores that may have one more message, and for which one waits, that with the fewest; NONE
 * if there is no such core
 */
static uint32_t next_core(const struct dispatch *d)
{
	uint32_t i, best = NONE;

	for (i = 0; i < d->s->cores; i++)
		if (d->core[i].given < d->s->depth &&
		    (best == NONE || d->core[i].given < d->core[best].given) &&
		    d->fifo[policies[d->s->policy].fetch(d, i)].length)
			best = i;
	return best;
}

static void start(struct dispatch *d, uint32_t core)
{
	uint32_t message = d->core[core].mine[0];

	schedule(d, d->now + d->m[message].service, DONE, core, message);
}

static void dispatch(struct dispatch *d)
{
	uint32_t core;

	while (d->waiting && (core = next_core(d)) != NONE) {
		d->core[core].given++;
		schedule(d, d->now + d->s->loop / 2, GIVEN, core,
			 take(d, &d->fifo[policies[d->s->policy].fetch(d, core)]));
	}
}

static void handle(struct dispatch *d, const struct event *e)
{
	struct core *c = &d->core[e->core];

	switch (e->kind) {
	case GIVEN:
		c->mine[c->has++] = e->message;
		if (c->has == 1)
			start(d, e->core);
		break;
	case DONE:
		d->latency[e->message] = d->now - d->m[e->message].arrives;
		memmove(c->mine, c->mine + 1, --c->has * sizeof(c->mine[0]));
		if (c->has)
			start(d, e->core);
		schedule(d, d->now + d->s->loop - d->s->loop / 2, FREED, e->core, 0);
		break;
	default:
		c->given--;
		dispatch(d);
	}
}

int dispatch_run(const struct host *s, const struct message *m, size_t n, uint64_t *latency)
{
	struct dispatch *d = (struct dispatch *)calloc(1, sizeof(*d));
	size_t arrived = 0;
	int err = 0;

	if (d)
		d->next = (uint32_t *)calloc(n ? n : 1, sizeof(*d->next));
	if (!d || !d->next) {
		err = -ENOMEM;
		goto out;
	}
	d->s = s;
	d->m = m;
	d->latency = latency;
	d->seed = s->seed;
	while (arrived < n || d->events) {
		if (d->events && (arrived == n || d->heap[0].at <= m[arrived].arrives)) {
			struct event e = next_event(d);

			d->now = e.at;
			handle(d, &e);
			continue;
		}
		d->now = m[arrived].arrives;
		put(d, &d->fifo[policies[s->policy].arrive(d, &m[arrived])], (uint32_t)arrived);
		arrived++;
		dispatch(d);
	}
out:
	if (d)
		free(d->next);
	free(d);
	return err;
}
