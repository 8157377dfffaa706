/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * RMC_DOM_SHARED: all cores of a process take arrivals from one queue, under an MCS lock: each waits
 * at a word of its own, in the order in which they came. It is what an RMC that dispatches spares
 * (T18 section 8.2).
 */
#include <sched.h>
#include "state.h"

#define SPINS	1024	/* until a thread that waits yields */

/* One that holds the lock, or waits for it */
struct waiter {
	_Alignas(LINE) struct waiter *next;
	uint32_t waits;
};

static void lock(struct rmc_domain *d, struct waiter *me)
{
	struct waiter *before;
	unsigned int spins = 0;

	me->next = NULL;
	me->waits = 1;
	/* acquire: what the last holder took, if it is gone; release: *me, for who comes next */
	before = (struct waiter *)__atomic_exchange_n(&d->pullers, me, __ATOMIC_ACQ_REL);
	if (!before)
		return;
	rmc_store_release(&before->next, me);
	/* pairs with the release in unlock(); the holder may not be on a CPU */
	while (rmc_load_acquire(&me->waits)) {
		rmc_pause();
		if (!(++spins % SPINS))
			sched_yield();
	}
}

static void unlock(struct rmc_domain *d, struct waiter *me)
{
	struct waiter *next = rmc_load_acquire(&me->next);
	void *mine = me;

	if (!next) {
		if (__atomic_compare_exchange_n(&d->pullers, &mine, NULL, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
		/* one is about to say where it waits */
		while (!(next = rmc_load_acquire(&me->next)))
			rmc_pause();
	}
	rmc_store_release(&next->waits, 0);
}

static int is_there(const struct core *c, uint32_t taken, uint64_t *word)
{
	const struct rmc_aq_entry *e = &c->all[taken & (c->all_entries - 1)];

	/* pairs with the release in the RMC: then the message is in its slot */
	*word = rmc_load_acquire(&e->word0);
	return (*word & 1) == !(taken & c->all_entries);
}

int rmc_arrival_pull(struct rmc_core *core, struct rmc_arrival *m)
{
	struct core *c = to_core(core);
	struct rmc_domain *d = core->domain;
	const struct rmc_aq_entry *e;
	struct waiter me;
	uint64_t word;
	int there;

	/* nobody queues for nothing */
	if (!is_there(c, rmc_load_relaxed(&d->pulled), &word))
		return rmc_core_poll(core);
	lock(d, &me);
	there = is_there(c, d->pulled, &word);
	if (there) {
		e = &c->all[d->pulled & (c->all_entries - 1)];
		rmc_arrival_set(m, word, e);
		rmc_store_relaxed(&d->pulled, d->pulled + 1);
	}
	unlock(d, &me);
	return there ? 1 : rmc_core_poll(core);
}
