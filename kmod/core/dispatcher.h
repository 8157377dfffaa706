/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of a dispatcher, for dispatch.c and dispatch_cores.c only; dispatch.h is for all others.
 *
 *   fifo[]   messages that wait      takers[]   cores that may take from it
 *   filled   FIFOs with messages     eligible   all takers of these
 *   room     cores with room, by hint and number of outstanding messages
 *
 * The next core is the first one of room and eligible.
 */
#ifndef RMC_DISPATCHER_H
#define RMC_DISPATCHER_H

#include "dispatch.h"

#define NONE		U32_MAX
#define WORDS		(RMC_DISPATCH_CORES / 64)
#define BUCKETS_MAX	256

/* Whose FIFOs a policy has */
enum { ALL, CORE, GROUP, CLASS };

/* Flags of a policy */
#define HOLDS		1	/* messages wait for a core that polls, see wake_ns */
#define LEAST		2	/* the tree has the core with the least work */
#define LONGEST		4	/* the tree has the longest FIFO, and all cores take from all */
#define IDLE		8	/* the set of cores without work is kept */
#define BUCKETS		16	/* keys are bound to cores through a table */
#define PULLED		32	/* rmc_dispatch_next() gives nothing */

/* Where a message is */
enum { OUTSIDE, WAITS, HELD };

/**
 * struct rmc_dispatch_core - a core
 * @newest: of the messages that it has
 * @thread: its thread, for rmc_os_runs(); NULL: not known
 * @given: messages that it was given
 * @done: messages for which it has room again
 * @fifo: it takes from this one; class: unused
 * @classes: class: the classes that it takes
 * @buckets: keyed: entries of the table that name it
 * @attached: there is a thread
 * @hint: enum rmc_dispatch_hint
 * @load: hint, what it has to do beside its messages
 * @look: FIFO that it inspected last, see aged()
 */
struct rmc_dispatch_core {
	struct rmc_dispatch_msg *newest;
	const void *thread;
	u32 given;
	u32 done;
	u16 fifo;
	u16 classes;
	u16 buckets;
	bool attached;
	u8 hint;
	u8 load;
	u8 look;
} ____cacheline_aligned;

/**
 * struct rmc_dispatch_fifo - messages that wait
 * @head: next one
 * @tail: last one
 * @takers: attached cores that may take from it
 * @length: messages in it
 * @held: messages from it that cores have, without early ones
 * @open: messages may arrive
 */
struct rmc_dispatch_fifo {
	struct rmc_dispatch_msg *head;
	struct rmc_dispatch_msg *tail;
	u64 takers[WORDS];
	u32 length;
	u32 held;
	bool open;
} ____cacheline_aligned;

/**
 * struct rmc_dispatch - a dispatcher
 * @policy: enum rmc_dispatch_policy
 * @of: whose FIFOs there are
 * @flags: of the policy
 * @depth: messages that a core may have
 * @words: of a set of cores
 * @cores: most cores
 * @fifos: FIFOs; one more, behind them, is for messages that arrive while none is open
 * @opens: FIFOs that are open
 * @leaves: of the tree, a power of two
 * @waiting: messages in all FIFOs
 * @turn: rr: index in @open of the next arrival
 * @look: core whose thread is looked at next, of those that were not on a CPU
 * @levels: by hint: bit i: some core with room has i outstanding messages
 * @seed: random state, not 0
 * @now: time of the call
 * @due: see rmc_dispatch_due()
 * @wake_ns: see struct rmc_dispatch_params
 * @age_ns: likewise
 * @filled: FIFOs with messages
 * @eligible: cores that find a message; not whether they have room
 * @idle: jiq: attached cores without work
 * @room: by hint and number of outstanding messages: cores that have room
 * @members: number of cores of each set of @room
 * @core: cores
 * @fifo: FIFOs
 * @key: of each leaf; U32_MAX: no such core
 * @tree: leaf with the lowest key below each node, the first one of several; node 1 is the root
 * @open: FIFOs that are open, in ascending order
 * @bucket: keyed: core by hash of a key
 */
struct rmc_dispatch {
	u8 policy;
	u8 of;
	u8 flags;
	u8 depth;
	u16 words;
	u16 cores;
	u16 fifos;
	u16 opens;
	u16 leaves;
	u32 waiting;
	u32 turn;
	u32 look;
	u32 levels[RMC_CORE_HINTS];
	u64 seed;
	u64 now;
	u64 due;
	u64 wake_ns;
	u64 age_ns;
	u64 filled[WORDS];
	u64 eligible[WORDS];
	u64 idle[WORDS];
	u64 room[RMC_CORE_HINTS][RMC_DISPATCH_DEPTH][WORDS];
	u16 members[RMC_CORE_HINTS][RMC_DISPATCH_DEPTH];
	struct rmc_dispatch_core *core;
	struct rmc_dispatch_fifo *fifo;
	u32 *key;
	u16 *tree;
	u16 *open;
	u8 bucket[BUCKETS_MAX];
} ____cacheline_aligned;

/* ---- sets of cores, or of FIFOs ---- */

static inline void set_add(u64 *set, u32 i)
{
	set[i / 64] |= 1ULL << i % 64;
}

static inline void set_del(u64 *set, u32 i)
{
	set[i / 64] &= ~(1ULL << i % 64);
}

static inline void set_unite(u64 *set, const u64 *other, u32 words)
{
	u32 w;

	for (w = 0; w < words; w++)
		set[w] |= other[w];
}

static inline void set_subtract(u64 *set, const u64 *other, u32 words)
{
	u32 w;

	for (w = 0; w < words; w++)
		set[w] &= ~other[w];
}

/* The first one that both sets have, or NONE */
static inline u32 set_first(const u64 *set, const u64 *other, u32 words)
{
	u32 w;

	for (w = 0; w < words; w++)
		if (set[w] & other[w])
			return w * 64 + __ffs64(set[w] & other[w]);
	return NONE;
}

/* ---- the tree ---- */

static inline void tree_set(struct rmc_dispatch *d, u32 i, u32 key)
{
	u32 n;

	if (d->key[i] == key)
		return;
	d->key[i] = key;
	for (n = (d->leaves + i) / 2; n; n /= 2) {
		u16 a = d->tree[2 * n], b = d->tree[2 * n + 1];
		u16 best = d->key[b] < d->key[a] ? b : a;

		/* neither this node nor its key has changed */
		if (d->tree[n] == best && best != i)
			break;
		d->tree[n] = best;
	}
}

/* ---- what is kept of cores and FIFOs ---- */

static inline u32 outstanding(const struct rmc_dispatch_core *c)
{
	return c->given - c->done;
}

/* A core has room, with so many outstanding messages. */
static inline void room_add(struct rmc_dispatch *d, u32 core)
{
	const struct rmc_dispatch_core *c = &d->core[core];
	u32 n = outstanding(c);

	if (n >= d->depth)
		return;
	set_add(d->room[c->hint][n], core);
	d->members[c->hint][n]++;
	d->levels[c->hint] |= 1U << n;
}

static inline void room_del(struct rmc_dispatch *d, u32 core)
{
	const struct rmc_dispatch_core *c = &d->core[core];
	u32 n = outstanding(c);

	if (n >= d->depth)
		return;
	set_del(d->room[c->hint][n], core);
	if (!--d->members[c->hint][n])
		d->levels[c->hint] &= ~(1U << n);
}

/* What there is to do for those who take from a FIFO */
static inline u32 work_of(const struct rmc_dispatch *d, u32 fifo)
{
	return d->fifo[fifo].length + d->fifo[fifo].held;
}

/* The length of a core's FIFO has changed, or what is outstanding of it, or the load. */
static inline void changed(struct rmc_dispatch *d, u32 fifo)
{
	const struct rmc_dispatch_core *c;

	if (!(d->flags & (LEAST | LONGEST | IDLE)) || fifo == d->fifos)
		return;
	c = &d->core[fifo];
	if (d->flags & IDLE) {
		if (c->attached && !work_of(d, fifo))
			set_add(d->idle, fifo);
		else
			set_del(d->idle, fifo);
	} else if (!c->attached) {
		tree_set(d, fifo, U32_MAX);
	} else if (d->flags & LEAST) {
		tree_set(d, fifo, work_of(d, fifo) + c->load);
	} else {
		tree_set(d, fifo, U32_MAX - 1 - d->fifo[fifo].length);
	}
}

/* Which cores find a message */
static inline void find_eligible(struct rmc_dispatch *d)
{
	u32 w;

	memset(d->eligible, 0, sizeof(d->eligible));
	for (w = 0; w < d->words; w++) {
		u64 x;

		for (x = d->filled[w]; x; x &= x - 1)
			set_unite(d->eligible, d->fifo[w * 64 + __ffs64(x)].takers, d->words);
	}
}

/* The last message of a FIFO was taken. */
static inline void drained(struct rmc_dispatch *d, u32 fifo)
{
	set_del(d->filled, fifo);
	if (d->of == CLASS)
		find_eligible(d);	/* at most RMC_DISPATCH_CLASSES */
	else if (!(d->flags & LONGEST))	/* of steal, all find a message while any waits */
		set_subtract(d->eligible, d->fifo[fifo].takers, d->words);
}

static inline void put(struct rmc_dispatch *d, u32 fifo, struct rmc_dispatch_msg *m, bool front)
{
	struct rmc_dispatch_fifo *f = &d->fifo[fifo];

	m->fifo = fifo;
	m->state = WAITS;
	m->next = NULL;
	if (!f->head) {
		f->head = m;
		f->tail = m;
		if (fifo != d->fifos) {
			set_add(d->filled, fifo);
			set_unite(d->eligible, f->takers, d->words);
		}
	} else if (front) {
		m->next = f->head;
		f->head = m;
	} else {
		f->tail->next = m;
		f->tail = m;
	}
	f->length++;
	d->waiting++;
	changed(d, fifo);
}

static inline struct rmc_dispatch_msg *take(struct rmc_dispatch *d, u32 fifo)
{
	struct rmc_dispatch_fifo *f = &d->fifo[fifo];
	struct rmc_dispatch_msg *m = f->head;

	f->head = m->next;
	f->length--;
	d->waiting--;
	if (!f->head && fifo != d->fifos)
		drained(d, fifo);
	return m;
}

static inline void unlink(struct rmc_dispatch_core *c, struct rmc_dispatch_msg *m)
{
	if (m->prev)
		m->prev->next = m->next;
	if (m->next)
		m->next->prev = m->prev;
	else
		c->newest = m->prev;
	m->state = OUTSIDE;
}

void rmc_dispatch_place(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, bool front);

#endif
