/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * DrTM's locks in the object, taken by remote compare-and-swap (M16 section 2.1):
 *
 *	| struct rmc_object | lock or lease | 0 | data |
 *
 * A plain lock is exclusive and names its holder. A holder that dies keeps it: the
 * owner's wait times out, and the owner may break the lock when it knows that the node is
 * dead. Readers share a lease, which expires; but it depends on the agreement of the
 * nodes' clocks.
 *
 * Remote atomics are atomic with regard to this CPU's, so the owner takes the same word
 * with a local compare-and-swap; DrTM sends even these through the adapter.
 */
#include <sched.h>
#include "row.h"
#include "scheme.h"

/* --- the owner --- */

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

/* Remote readers access the word through an RMC, which may need this CPU: yield. */
static void pause_or_yield(unsigned int *spins)
{
	if (++*spins % 64)
		rmc_pause();
	else
		sched_yield();
}

/* True if the wait, from the first call with *until 0, has reached its limit. */
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
 * True if a lease with this end has expired by every node's clock. An end later than any
 * correct reader sets comes from a wrong clock or a faulty reader, and is ignored.
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

/* --- readers --- */

static uint64_t reader_lock(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)expected;
	(void)p;
	return lock_word(owner->nid, token);
}

static enum latch_found found_lock(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)word;
	(void)p;
	return LATCH_HELD;
}

static int held_lock(uint64_t word)
{
	return !!word;
}

static int holder_lock(uint64_t word)
{
	return word == LOCK_OWNER ? -2 : (int)(word & LOCK_NID_MASK) - 1;
}

const struct latch rmc_lock = {
	.name	= "lock",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_LAZY,
	.owner	= LOCK_OWNER,
	.acquire = rmc_lock_acquire,
	.release = rmc_word_release,
	.word	= reader_lock,
	.found	= found_lock,
	.held	= held_lock,
	.holder	= holder_lock,
};

static uint64_t reader_lease(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			     const struct rmc_scheme_params *p)
{
	(void)owner;
	(void)token;
	(void)expected;
	return realtime_ns() + p->lease_us * 1000ULL;
}

static enum latch_found found_lease(uint64_t word, const struct rmc_scheme_params *p)
{
	uint64_t skew = p->skew_us * 1000ULL, now = realtime_ns();

	if (word & LEASE_OWNER)
		return LATCH_HELD;
	/* expired, about to expire, or invalid: take a new lease */
	if (word < now + skew || word > now + p->lease_us * 1000ULL + skew)
		return LATCH_STALE;
	return LATCH_SHARED;
}

static int check_lease(uint64_t word, const struct rmc_scheme_params *p)
{
	return realtime_ns() + p->skew_us * 1000ULL > word ? RMC_SCHEME_LEASE_OVER : 0;
}

static int held_lease(uint64_t word)
{
	return !!(word & LEASE_OWNER);
}

const struct latch rmc_lease = {
	.name	= "lease",
	.owner	= LEASE_OWNER,
	.acquire = rmc_lease_acquire,
	.release = rmc_word_release,
	.word	= reader_lease,
	.found	= found_lease,
	.check	= check_lease,
	.held	= held_lease,
};
