// SPDX-License-Identifier: GPL-2.0
/* Cores of a dispatcher that come and go, and its set-up. See dispatch.h. */
#include "dispatcher.h"

static const struct {
	const char *name;
	u8 of;
	u8 flags;
} rows[] = {
#define X(NAME, name, of, arrive, fetch, flags)	{ #name, of, flags },
	RMC_DISPATCH_POLICIES(X)
#undef X
};

/* ---- cores that come and go ---- */

/* Which FIFOs are open, who takes from which, and who finds a message */
static void rebuild(struct rmc_dispatch *d)
{
	u64 attached[WORDS] = { 0 };
	u32 i, k;

	for (i = 0; i < d->fifos; i++) {
		memset(d->fifo[i].takers, 0, sizeof(d->fifo[i].takers));
		d->fifo[i].open = d->of == ALL || d->of == CLASS;
	}
	for (i = 0; i < d->cores; i++) {
		if (!d->core[i].attached)
			continue;
		set_add(attached, i);
		if (d->of == CLASS) {
			for (k = 0; k < d->fifos; k++)
				if (d->core[i].classes & 1U << k)
					set_add(d->fifo[k].takers, i);
		} else {
			set_add(d->fifo[d->core[i].fifo].takers, i);
			d->fifo[d->core[i].fifo].open = true;
		}
	}
	for (i = 0, d->opens = 0; i < d->fifos; i++) {
		if (d->flags & LONGEST)
			memcpy(d->fifo[i].takers, attached, sizeof(attached));
		if (d->fifo[i].open)
			d->open[d->opens++] = i;
	}
	find_eligible(d);
}

/* The attached core with the fewest entries of the table of keys, or with the most */
static u32 by_buckets(const struct rmc_dispatch *d, bool most)
{
	u32 best = d->open[0], i;

	for (i = 1; i < d->opens; i++) {
		u32 core = d->open[i];

		if (most ? d->core[core].buckets > d->core[best].buckets :
			   d->core[core].buckets < d->core[best].buckets)
			best = core;
	}
	return best;
}

static void bind_bucket(struct rmc_dispatch *d, u32 bucket, u32 core)
{
	d->bucket[bucket] = core;
	d->core[core].buckets++;
}

/* A core that comes gets its share from those with the most. All others keep their keys. */
static void share_buckets(struct rmc_dispatch *d, u32 core)
{
	u32 bucket, from;

	if (d->opens == 1) {
		for (bucket = 0; bucket < BUCKETS_MAX; bucket++)
			bind_bucket(d, bucket, core);
		return;
	}
	while (d->core[core].buckets < BUCKETS_MAX / d->opens) {
		from = by_buckets(d, true);
		for (bucket = 0; d->bucket[bucket] != from; bucket++)
			;
		d->core[from].buckets--;
		bind_bucket(d, bucket, core);
	}
}

/* Those of a core that goes are given to the ones with the fewest. */
static void leave_buckets(struct rmc_dispatch *d, u32 core)
{
	u32 bucket;

	d->core[core].buckets = 0;
	for (bucket = 0; d->opens && bucket < BUCKETS_MAX; bucket++)
		if (d->bucket[bucket] == core)
			bind_bucket(d, bucket, by_buckets(d, false));
}

/* Let the messages of a FIFO that is closed arrive again, in their order. */
static void move_all(struct rmc_dispatch *d, u32 fifo)
{
	struct rmc_dispatch_fifo *f = &d->fifo[fifo];
	u32 n;

	/* without an open FIFO those behind all come back to where they are */
	for (n = f->length; n; n--)
		rmc_dispatch_place(d, take(d, fifo), false);
	changed(d, fifo);
}

/**
 * rmc_dispatch_attach() - add a core
 * @d: dispatcher
 * @group: groups and hier: its group
 * @classes: class: bit i: it takes messages of class i
 *
 * Return: its number, the lowest that is free; -EINVAL: there is no such group, or class;
 * -ENOSPC: there are as many cores as may be.
 */
int rmc_dispatch_attach(struct rmc_dispatch *d, u32 group, u32 classes)
{
	struct rmc_dispatch_core *c;
	u32 core;

	if (d->of == GROUP && group >= d->fifos)
		return -EINVAL;
	if (d->of == CLASS && (!classes || classes >> d->fifos))
		return -EINVAL;
	for (core = 0; core < d->cores && d->core[core].attached; core++)
		;
	if (core == d->cores)
		return -ENOSPC;
	c = &d->core[core];
	memset(c, 0, sizeof(*c));
	c->attached = true;
	c->fifo = d->of == GROUP ? group : d->of == CORE ? core : 0;
	c->classes = d->of == CLASS ? classes : 0;
	rebuild(d);
	room_add(d, core);
	changed(d, core);
	if (d->flags & BUCKETS)
		share_buckets(d, core);
	move_all(d, d->fifos);
	return core;
}

/* Take back what a core has, the newest one first: to the front, so that the order stays. */
static void requeue(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg **held)
{
	struct rmc_dispatch_core *c = &d->core[core];
	struct rmc_dispatch_msg *m;

	while ((m = c->newest)) {
		if (!m->early)
			d->fifo[m->fifo].held--;
		unlink(c, m);
		m->early = 0;
		if (held) {
			m->next = *held;
			*held = m;
			continue;
		}
		m->again = 1;
		if (d->fifo[m->fifo].open)
			put(d, m->fifo, m, true);
		else
			rmc_dispatch_place(d, m, true);
	}
}

/**
 * rmc_dispatch_detach() - remove a core
 * @d: dispatcher
 * @core: core
 * @held: set to the messages that it has, the oldest first, linked by next: these are no longer
 *	here. NULL: they go back to the front of their FIFO, marked by again
 *
 * Messages that wait for this core only go to other FIFOs, as if they arrived now; while no core
 * is attached, all wait for the first one. Those of a class wait for a core that takes it.
 *
 * Return: 0, or -EINVAL: there is no such core.
 */
int rmc_dispatch_detach(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg **held)
{
	struct rmc_dispatch_core *c;

	if (held)
		*held = NULL;
	if (core >= d->cores || !d->core[core].attached)
		return -EINVAL;
	c = &d->core[core];
	room_del(d, core);
	c->attached = false;
	rebuild(d);
	changed(d, core);
	if (d->flags & BUCKETS)
		leave_buckets(d, core);
	requeue(d, core, held);
	if (!d->fifo[c->fifo].open)
		move_all(d, c->fifo);
	return 0;
}

/**
 * rmc_dispatch_thread() - say which thread a core is
 * @d: dispatcher
 * @core: core that is attached
 * @thread: for rmc_os_runs(), until the core is detached or another one is named; NULL: none
 *
 * Before a core that polls gets a message, its thread is looked at: one that is not on a CPU is
 * RMC_CORE_OFF from then on, until it is seen on one.
 */
void rmc_dispatch_thread(struct rmc_dispatch *d, u32 core, const void *thread)
{
	d->core[core].thread = thread;
}

/**
 * rmc_dispatch_load() - say what a core has to do beside its messages
 * @d: dispatcher
 * @core: core
 * @load: jsq adds it to the number of messages
 *
 * Return: false: there is no such core.
 */
bool rmc_dispatch_load(struct rmc_dispatch *d, u32 core, u8 load)
{
	if (core >= d->cores || !d->core[core].attached)
		return false;
	d->core[core].load = load;
	changed(d, core);
	return true;
}

/* ---- set-up ---- */

/**
 * rmc_dispatch_name() - name of a policy
 * @policy: enum rmc_dispatch_policy
 *
 * Return: name, or NULL: there is no such policy.
 */
const char *rmc_dispatch_name(u32 policy)
{
	return policy < RMC_DISPATCH_COUNT ? rows[policy].name : NULL;
}

/**
 * rmc_dispatch_find() - policy by name
 * @name: name
 *
 * Return: enum rmc_dispatch_policy, or -ENOENT.
 */
int rmc_dispatch_find(const char *name)
{
	u32 i;

	for (i = 0; i < RMC_DISPATCH_COUNT; i++)
		if (!strcmp(rows[i].name, name))
			return i;
	return -ENOENT;
}

/**
 * rmc_dispatch_has_groups() - whether a policy has groups of cores
 * @policy: any value
 *
 * Return: true if so; all others have one group.
 */
bool rmc_dispatch_has_groups(u32 policy)
{
	return policy < RMC_DISPATCH_COUNT && rows[policy].of == GROUP;
}

/**
 * rmc_dispatch_holds() - whether a policy can let messages wait for a core that polls
 * @policy: any value
 *
 * Return: true if so.
 */
bool rmc_dispatch_holds(u32 policy)
{
	return policy < RMC_DISPATCH_COUNT && rows[policy].flags & HOLDS;
}

/**
 * rmc_dispatch_check() - validate parameters
 * @p: parameters
 *
 * Return: 0, or -EINVAL.
 */
int rmc_dispatch_check(const struct rmc_dispatch_params *p)
{
	if (p->policy >= RMC_DISPATCH_COUNT || !p->depth || p->depth > RMC_DISPATCH_DEPTH ||
	    !p->cores || p->cores > RMC_DISPATCH_CORES || p->wake_ns > RMC_DISPATCH_NS ||
	    p->age_ns > RMC_DISPATCH_NS)
		return -EINVAL;
	if (rows[p->policy].of == GROUP && (!p->groups || p->groups > p->cores))
		return -EINVAL;
	if (rows[p->policy].of == CLASS && (!p->classes || p->classes > RMC_DISPATCH_CLASSES))
		return -EINVAL;
	return 0;
}

static u32 fifos_of(const struct rmc_dispatch_params *p)
{
	switch (rows[p->policy].of) {
	case CORE:
		return p->cores;
	case GROUP:
		return p->groups;
	case CLASS:
		return p->classes;
	}
	return 1;
}

static u32 leaves_of(const struct rmc_dispatch_params *p)
{
	u32 n = 1;

	while (n < p->cores)
		n *= 2;
	return n;
}

/**
 * rmc_dispatch_bytes() - memory of a dispatcher
 * @p: valid parameters, see rmc_dispatch_check()
 *
 * Return: bytes.
 */
size_t rmc_dispatch_bytes(const struct rmc_dispatch_params *p)
{
	return __alignof__(struct rmc_dispatch) + sizeof(struct rmc_dispatch) +
	       p->cores * sizeof(struct rmc_dispatch_core) +
	       (fifos_of(p) + 1) * sizeof(struct rmc_dispatch_fifo) +
	       leaves_of(p) * (sizeof(u32) + 2 * sizeof(u16)) + fifos_of(p) * sizeof(u16);
}

/**
 * rmc_dispatch_init() - set up a dispatcher without cores
 * @mem: rmc_dispatch_bytes(), of any alignment; the caller frees it when it needs the dispatcher
 *	no more, whose messages are then forgotten
 * @p: valid parameters, see rmc_dispatch_check()
 *
 * Return: dispatcher, within @mem.
 */
struct rmc_dispatch *rmc_dispatch_init(void *mem, const struct rmc_dispatch_params *p)
{
	struct rmc_dispatch *d = (void *)ALIGN((unsigned long)mem, __alignof__(*d));
	u32 i, n;

	/* half of a slot's record */
	BUILD_BUG_ON(sizeof(struct rmc_dispatch_msg) > 32);
	memset(mem, 0, rmc_dispatch_bytes(p));
	d->policy = p->policy;
	d->of = rows[p->policy].of;
	d->flags = rows[p->policy].flags;
	d->depth = p->depth;
	d->cores = p->cores;
	d->words = (p->cores + 63) / 64;
	d->fifos = fifos_of(p);
	d->leaves = leaves_of(p);
	d->seed = p->seed ? p->seed : 1;
	d->due = U64_MAX;
	d->wake_ns = p->wake_ns;
	d->age_ns = p->age_ns;
	d->core = (void *)(d + 1);
	d->fifo = (void *)(d->core + d->cores);
	d->key = (void *)(d->fifo + d->fifos + 1);
	d->tree = (void *)(d->key + d->leaves);
	d->open = d->tree + 2 * d->leaves;
	for (i = 0; i < d->leaves; i++) {
		d->key[i] = U32_MAX;
		d->tree[d->leaves + i] = i;
	}
	for (n = d->leaves - 1; n; n--)
		d->tree[n] = d->tree[2 * n];
	rebuild(d);
	return d;
}

/**
 * rmc_dispatch_due() - when to try again
 * @d: dispatcher
 *
 * Return: the time at which the first message that waits for a core that polls may be given to
 * one that does not; U64_MAX: none waits for that. Of the last rmc_dispatch_next().
 */
u64 rmc_dispatch_due(const struct rmc_dispatch *d)
{
	return d->due;
}

/**
 * rmc_dispatch_waiting() - how many messages wait
 * @d: dispatcher
 *
 * Return: messages in all FIFOs.
 */
u32 rmc_dispatch_waiting(const struct rmc_dispatch *d)
{
	return d->waiting;
}

/**
 * rmc_dispatch_outstanding() - how many messages a core has
 * @d: dispatcher
 * @core: core
 *
 * Return: messages given and not done or ready; 0: there is no such core.
 */
u32 rmc_dispatch_outstanding(const struct rmc_dispatch *d, u32 core)
{
	return core < d->cores && d->core[core].attached ? outstanding(&d->core[core]) : 0;
}
