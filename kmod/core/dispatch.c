// SPDX-License-Identifier: GPL-2.0
/* Dispatch of messages: policies, and giving messages to cores. See dispatch.h. */
#include "dispatcher.h"

/* Cores that were not on a CPU that a choice looks at */
#define LOOKS	4

/* ---- arrive(): the FIFO of a message; some FIFO is open ---- */

/* xorshift64; @n is at most 256, so that 53 bits fit beside it */
static u32 random_below(struct rmc_dispatch *d, u32 n)
{
	d->seed ^= d->seed << 13;
	d->seed ^= d->seed >> 7;
	d->seed ^= d->seed << 17;
	return (d->seed >> 11) * n >> 53;
}

static u32 arrive_first(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	return 0;
}

static u32 arrive_next(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	u32 turn = d->turn < d->opens ? d->turn : 0;

	d->turn = turn + 1;
	return d->open[turn];
}

static u32 arrive_bound(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	return d->open[m->key % d->opens];
}

static u32 arrive_random(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	return d->open[random_below(d, d->opens)];
}

static u32 arrive_lighter(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	u32 a = d->open[random_below(d, d->opens)], b = d->open[random_below(d, d->opens)];

	return work_of(d, b) < work_of(d, a) ? b : a;
}

static u32 arrive_least(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	return d->tree[1];
}

static u32 arrive_idle(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	u32 core = set_first(d->idle, d->idle, d->words);

	return core != NONE ? core : arrive_bound(d, m);
}

static u32 arrive_bucket(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	/* also keys that are not hashed are spread */
	return d->bucket[(m->key * 0x9e3779b1U) >> 24];
}

static u32 arrive_class(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	return min_t(u32, m->key, d->fifos - 1);
}

static u32 arrive(struct rmc_dispatch *d, const struct rmc_dispatch_msg *m)
{
	switch (d->policy) {
#define X(NAME, name, of, arrive, fetch, flags)					\
	case RMC_DISPATCH_##NAME:						\
		return arrive_##arrive(d, m);
	RMC_DISPATCH_POLICIES(X)
#undef X
	}
	return 0;
}

/**
 * rmc_dispatch_place() - put a message into the FIFO that the policy says
 * @d: dispatcher; while none of its FIFOs is open, the one behind all
 * @m: message
 * @front: to the front of it
 */
void rmc_dispatch_place(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, bool front)
{
	put(d, likely(d->opens) ? arrive(d, m) : d->fifos, m, front);
}

/* ---- fetch(): the FIFO that a core takes from; it may be empty ---- */

static bool waited(const struct rmc_dispatch *d, u32 fifo, u64 ns)
{
	/* a stamp may be of another CPU, and later than now */
	return (s64)(d->now - d->fifo[fifo].head->stamp) >= (s64)ns;
}

/* The next one behind @i, and at the end the first one; NONE: the set is empty */
static u32 set_next(const u64 *set, u32 i, u32 words)
{
	u32 w, n;
	u64 x;

	i = i + 1 < words * 64 ? i + 1 : 0;
	w = i / 64;
	x = set[w] & ~0ULL << i % 64;
	for (n = 0; n <= words; n++) {
		if (x)
			return w * 64 + __ffs64(x);
		w = w + 1 < words ? w + 1 : 0;
		x = set[w];
	}
	return NONE;
}

/*
 * So that no FIFO starves: each time, a core also inspects the next one of those that it may take
 * from. One whose head waits for too long is so found within as many calls as there are FIFOs.
 */
static u32 aged(struct rmc_dispatch *d, u32 core, const u64 *set)
{
	u32 fifo;

	if (!d->age_ns)
		return NONE;
	fifo = set_next(set, d->core[core].look, d->words);
	if (fifo == NONE)
		return NONE;
	d->core[core].look = fifo;
	return waited(d, fifo, d->age_ns) ? fifo : NONE;
}

static u32 fetch_home(struct rmc_dispatch *d, u32 core)
{
	return d->core[core].fifo;
}

static u32 fetch_longest(struct rmc_dispatch *d, u32 core)
{
	u32 fifo = aged(d, core, d->filled);

	if (fifo != NONE)
		return fifo;
	return d->fifo[core].length ? core : d->tree[1];
}

static u32 fetch_urgent(struct rmc_dispatch *d, u32 core)
{
	u64 set[WORDS] = { d->filled[0] & d->core[core].classes };
	u32 fifo = aged(d, core, set);

	if (fifo != NONE)
		return fifo;
	return set[0] ? __ffs64(set[0]) : __ffs64(d->core[core].classes);
}

static u32 fetch(struct rmc_dispatch *d, u32 core)
{
	switch (d->policy) {
#define X(NAME, name, of, arrive, fetch, flags)					\
	case RMC_DISPATCH_##NAME:						\
		return fetch_##fetch(d, core);
	RMC_DISPATCH_POLICIES(X)
#undef X
	}
	return 0;
}

/* ---- giving messages to cores ---- */

/* Of the cores of a hint that have room, and are in a set, the one with the fewest messages */
static u32 pick(const struct rmc_dispatch *d, u32 hint, const u64 *set)
{
	u32 levels, core;

	for (levels = d->levels[hint]; levels; levels &= levels - 1) {
		core = set_first(d->room[hint][__ffs64(levels)], set, d->words);
		if (core != NONE)
			return core;
	}
	return NONE;
}

/* Cores that find a message which has waited long enough for one that polls */
static void find_overdue(struct rmc_dispatch *d, u64 *set)
{
	u32 w, fifo;
	u64 x;

	for (w = 0; w < d->words; w++)
		for (x = d->filled[w]; x; x &= x - 1) {
			fifo = w * 64 + __ffs64(x);
			if (waited(d, fifo, d->wake_ns))
				set_unite(set, d->fifo[fifo].takers, d->words);
			else
				d->due = min(d->due, d->fifo[fifo].head->stamp + d->wake_ns);
		}
}

/**
 * rmc_dispatch_hint() - say whether a core's thread runs
 * @d: dispatcher
 * @core: core
 * @hint: enum rmc_dispatch_hint; a core that is attached polls
 *
 * Return: false: there is no such core, or hint.
 */
bool rmc_dispatch_hint(struct rmc_dispatch *d, u32 core, enum rmc_dispatch_hint hint)
{
	if (core >= d->cores || !d->core[core].attached || (u32)hint >= RMC_CORE_HINTS)
		return false;
	room_del(d, core);
	d->core[core].hint = hint;
	room_add(d, core);
	return true;
}

static bool runs(const struct rmc_dispatch *d, u32 core)
{
	const void *thread = d->core[core].thread;

	return !thread || rmc_os_runs(thread);
}

/* Some of the cores whose thread was not on a CPU: it may be now. */
static void look_at_some(struct rmc_dispatch *d)
{
	u32 i;

	for (i = 0; i < LOOKS; i++) {
		d->look = d->look + 1 < d->cores ? d->look + 1 : 0;
		if (d->core[d->look].attached && d->core[d->look].hint == RMC_CORE_OFF &&
		    d->core[d->look].thread && rmc_os_runs(d->core[d->look].thread))
			rmc_dispatch_hint(d, d->look, RMC_CORE_POLLS);
	}
}

/* Of the cores of a set that poll, one whose thread is on a CPU */
static u32 pick_running(struct rmc_dispatch *d, const u64 *set)
{
	u32 core;

	if (unlikely(d->levels[RMC_CORE_OFF]))
		look_at_some(d);
	for (;;) {
		core = pick(d, RMC_CORE_POLLS, set);
		if (likely(core == NONE || runs(d, core)))
			return core;
		rmc_dispatch_hint(d, core, RMC_CORE_OFF);
	}
}

/* The core that gets the next message, or NONE */
static u32 choose(struct rmc_dispatch *d)
{
	u32 core = pick_running(d, d->eligible), other;
	u64 late[WORDS] = { 0 };
	const u64 *set = d->eligible;

	if (likely(!(d->levels[RMC_CORE_SLEEPS] | d->levels[RMC_CORE_OFF])))
		return core;
	if (d->flags & HOLDS && d->wake_ns) {
		if (core != NONE)
			return core;
		find_overdue(d, late);
		set = late;
	}
	/* waking one takes less time than waiting behind another message may */
	other = pick(d, RMC_CORE_SLEEPS, set);
	if (other != NONE &&
	    (core == NONE || outstanding(&d->core[other]) < outstanding(&d->core[core])))
		return other;
	return core != NONE ? core : pick(d, RMC_CORE_OFF, set);
}

/* A core gets a message that is in no FIFO, of this one. */
static void hold(struct rmc_dispatch *d, u32 core, u32 fifo, struct rmc_dispatch_msg *m)
{
	struct rmc_dispatch_core *c = &d->core[core];

	d->fifo[fifo].held++;
	changed(d, fifo);
	room_del(d, core);
	c->given++;
	room_add(d, core);
	m->state = HELD;
	m->core = core;
	m->next = NULL;
	m->prev = c->newest;
	if (c->newest)
		c->newest->next = m;
	c->newest = m;
}

static struct rmc_dispatch_msg *give(struct rmc_dispatch *d, u32 core, u32 fifo)
{
	struct rmc_dispatch_msg *m = take(d, fifo);

	hold(d, core, fifo, m);
	return m;
}

static void free_room(struct rmc_dispatch *d, struct rmc_dispatch_msg *m)
{
	room_del(d, m->core);
	d->core[m->core].done++;
	room_add(d, m->core);
	d->fifo[m->fifo].held--;
	changed(d, m->fifo);
}

static void begin(struct rmc_dispatch_msg *m, u64 now)
{
	m->stamp = now;
	m->again = 0;
	m->early = 0;
}

/**
 * rmc_dispatch_arrive() - take a message
 * @d: dispatcher
 * @m: message; its key is set
 * @now: time, nanoseconds
 *
 * Return: false: it is here already, nothing happens.
 */
bool rmc_dispatch_arrive(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, u64 now)
{
	if (unlikely(m->state != OUTSIDE))
		return false;
	begin(m, now);
	rmc_dispatch_place(d, m, false);
	return true;
}

/* True if the next message would get its core without regard to others, or to time. */
static bool passes(const struct rmc_dispatch *d)
{
	return !d->waiting && d->opens && !(d->flags & (LONGEST | PULLED)) &&
	       !(d->levels[RMC_CORE_SLEEPS] | d->levels[RMC_CORE_OFF]);
}

/**
 * rmc_dispatch_pass() - take a message, and give it to a core at once if none waits
 * @d: dispatcher
 * @m: message that is not here; its key is set
 * @now: time, nanoseconds
 *
 * The same as rmc_dispatch_arrive() and one rmc_dispatch_next(), without a FIFO in between; a core
 * that takes classes does not move on to inspect the next one, as none waits.
 *
 * Return: the core, or -EAGAIN: call rmc_dispatch_next().
 */
int rmc_dispatch_pass(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, u64 now)
{
	u32 fifo, core;

	if (unlikely(m->state != OUTSIDE))
		return -EAGAIN;
	begin(m, now);
	if (unlikely(!passes(d))) {
		rmc_dispatch_place(d, m, false);
		return -EAGAIN;
	}
	fifo = arrive(d, m);
	core = pick_running(d, d->fifo[fifo].takers);
	if (unlikely(core == NONE)) {
		put(d, fifo, m, false);
		return -EAGAIN;
	}
	m->fifo = fifo;
	hold(d, core, fifo, m);
	return core;
}

/**
 * rmc_dispatch_next() - give a message to a core; repeat until there is none
 * @d: dispatcher
 * @now: time, nanoseconds
 * @m: set to the message
 *
 * Return: the core, or -EAGAIN: no core with room finds a message. See also rmc_dispatch_due().
 */
int rmc_dispatch_next(struct rmc_dispatch *d, u64 now, struct rmc_dispatch_msg **m)
{
	u32 core;

	d->due = U64_MAX;
	if (!d->waiting || unlikely(d->flags & PULLED))
		return -EAGAIN;
	d->now = now;
	core = choose(d);
	if (core == NONE)
		return -EAGAIN;
	*m = give(d, core, fetch(d, core));
	return core;
}

/**
 * rmc_dispatch_pull() - take a message for a core that asks for one
 * @d: dispatcher
 * @core: core
 * @now: time, nanoseconds
 *
 * Return: the message, or NULL: the core is not attached, has no room or finds no message.
 */
struct rmc_dispatch_msg *rmc_dispatch_pull(struct rmc_dispatch *d, u32 core, u64 now)
{
	u32 fifo;

	if (core >= d->cores || !d->core[core].attached ||
	    outstanding(&d->core[core]) >= d->depth)
		return NULL;
	d->now = now;
	fifo = fetch(d, core);
	return d->fifo[fifo].head ? give(d, core, fifo) : NULL;
}

/**
 * rmc_dispatch_ready() - a core has room again although it is not done with a message
 * @d: dispatcher
 * @core: core
 * @m: message
 *
 * Return: false: the core does not have this message, or has said so before; nothing happens.
 */
bool rmc_dispatch_ready(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg *m)
{
	if (m->state != HELD || m->core != core || m->early)
		return false;
	m->early = 1;
	free_room(d, m);
	return true;
}

/**
 * rmc_dispatch_done() - a core is done with a message
 * @d: dispatcher
 * @core: core
 * @m: message, which may arrive again
 *
 * Return: false: the core does not have this message, nothing happens.
 */
bool rmc_dispatch_done(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg *m)
{
	if (unlikely(m->state != HELD || m->core != core))
		return false;
	if (likely(!m->early))
		free_room(d, m);
	unlink(&d->core[core], m);
	return true;
}
