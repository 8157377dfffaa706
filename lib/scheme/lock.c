/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * DrTM's locks in the object, taken by remote compare-and-swap (M16 section 2.1):
 *
 *	| struct rmc_object | lock or lease | 0 | data |
 *
 * A plain lock is exclusive and names its holder. A holder that dies keeps it: the
 * owner finds out by its wait running over, and may break it when it knows that the
 * node is dead. A lease is shared by readers and ends by itself; in exchange it is
 * only as good as the nodes' clocks agree.
 *
 * Remote atomics are atomic with this CPU's as well, so that the owner takes the same
 * word with a compare-and-swap of its own; DrTM sends even these through the adapter.
 */
#include <sched.h>
#include "scheme.h"

static uint64_t *word_of(struct rmc_object *o)
{
	return &((struct object_word *)o)->word;
}

size_t rmc_word_image(size_t len)
{
	return sizeof(struct object_word) + len;
}

void rmc_word_store(struct rmc_object *o, const void *data, size_t len)
{
	copy_in((struct object_word *)o + 1, data, len);
}

/* Remote readers must get at the word: that takes an RMC, which may need this CPU. */
static void pause_or_yield(unsigned int *spins)
{
	if (++*spins % 64)
		rmc_pause();
	else
		sched_yield();
}

/* Has the wait, from the first call with *until 0, lasted as long as it may? */
static int over(uint64_t *until, const struct rmc_scheme_params *p, unsigned int spins)
{
	uint64_t now;

	if (spins % 64)
		return 0;
	now = monotonic_ns();
	if (!*until)
		*until = now + p->wait_us * 1000ULL;
	return now > *until;
}

int rmc_lock_acquire(struct rmc_object *o, const struct rmc_scheme_params *p)
{
	uint64_t until = 0, nobody = 0;
	unsigned int spins = 0;

	while (!__atomic_compare_exchange_n(word_of(o), &nobody, LOCK_OWNER, 0,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		nobody = 0;
		if (over(&until, p, spins))
			return RMC_SCHEME_LOCKED;
		pause_or_yield(&spins);
	}
	return 0;
}

/*
 * Has a lease with this end ended for sure, on whichever node's clock? One that ends
 * later than any reader may ask for comes from another clock altogether, or from a
 * reader gone mad: nobody relies on it.
 */
static int lease_over(uint64_t end, const struct rmc_scheme_params *p)
{
	uint64_t now = realtime_ns(), skew = p->skew_us * 1000ULL;

	return end + skew < now || end > now + p->lease_us * 1000ULL + 2 * skew;
}

int rmc_lease_acquire(struct rmc_object *o, const struct rmc_scheme_params *p)
{
	unsigned int spins = 0;
	uint64_t until = 0, w;

	for (;;) {
		w = __atomic_load_n(word_of(o), __ATOMIC_RELAXED);
		if (!(w & LEASE_OWNER) && lease_over(w, p) &&
		    __atomic_compare_exchange_n(word_of(o), &w, LEASE_OWNER, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return 0;
		if (over(&until, p, spins))
			return RMC_SCHEME_LOCKED;
		pause_or_yield(&spins);
	}
}

void rmc_word_release(struct rmc_object *o)
{
	/* the data before the lock; pairs with the compare-and-swap that takes it next */
	rmc_store_release(word_of(o), 0);
}
