/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latches of remote readers and writers (R25 3.1), and the same words for the owner's CPU:
 *
 *	rw	63   61 60 59       44 43              0
 *		+------+--+-----------+-----------------+
 *		|client|X | owner     | readers         |	0: free
 *		+------+--+-----------+-----------------+
 *	excl	63                     16 15           0
 *		+------------------------+-------------+
 *		| sequence               | nid + 1     |	0: free
 *		+------------------------+-------------+
 *	version	the object's version: odd while it is written
 *
 * rw: readers add one and look at what was there. One that finds X takes its one away again, so
 * a writer's word may be another one for a moment: it is released by subtraction. client
 * distinguishes the writers of a node, so that the word tells whose it is.
 * excl: the sequence of a client never repeats.
 *
 * A writer of the owner has the node 0xffff; in excl its thread is the sequence.
 */
#include <errno.h>
#include <rmc/object.h>
#include <rmc/sync.h>
#include "latch.h"

#define OWNER_NID	0xffffULL

/* --- the owner's CPU --- */

static int take(uint64_t *word, uint64_t own, const struct rmc_scheme_params *p)
{
	uint64_t until = 0, nobody = 0;
	unsigned int spins = 0;

	while (!__atomic_compare_exchange_n(word, &nobody, own, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED)) {
		nobody = 0;
		if (!(spins % 64)) {
			if (!until)
				until = monotonic_ns() + p->wait_us * 1000ULL;
			else if (monotonic_ns() > until)
				return RMC_SCHEME_LOCKED;
		}
		rmc_object_relax(&spins);
	}
	return 0;
}

static int take_rw(uint64_t *word, const struct rmc_scheme_params *p)
{
	return take(word, RW_X | OWNER_NID << RW_OWNER_SHIFT, p);
}

static void leave_rw(uint64_t *word)
{
	/* the data before the word; pairs with the atomic that takes it next */
	__atomic_fetch_sub(word, RW_X | OWNER_NID << RW_OWNER_SHIFT, __ATOMIC_RELEASE);
}

static int take_excl(uint64_t *word, const struct rmc_scheme_params *p)
{
	return take(word, (uint64_t)rmc_object_self() << EXCL_SEQUENCE_SHIFT | OWNER_NID, p);
}

static void leave_excl(uint64_t *word)
{
	rmc_store_release(word, 0);	/* as leave_rw() */
}

/* --- rw --- */

static uint64_t writer_word(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)token;
	(void)expected;
	(void)p;
	return (uint64_t)owner->client << RW_CLIENT_SHIFT | RW_X |
	       (uint64_t)owner->nid << RW_OWNER_SHIFT;
}

static enum latch_found found_word(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)word;
	(void)p;
	return LATCH_HELD;
}

static int held_rw(uint64_t word)
{
	return !!(word & RW_X);
}

static int holder_rw(uint64_t word)
{
	uint64_t nid = word >> RW_OWNER_SHIFT & RW_OWNER_MASK;

	if (!(word & RW_X))
		return -1;
	return nid == OWNER_NID ? -2 : (int)nid;
}

const struct latch rmc_latch_rw = {
	.name	= "rw",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_ADDS | LATCH_RW,
	.owner	= RW_X | OWNER_NID << RW_OWNER_SHIFT,
	.take	= take_rw,
	.leave	= leave_rw,
	.word	= writer_word,
	.found	= found_word,
	.held	= held_rw,
	.holder	= holder_rw,
};

static uint64_t reader_word(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)owner;
	(void)token;
	(void)expected;
	(void)p;
	return 1;
}

/* What the word was before one was added to it */
static enum latch_found found_by_reader(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	if ((word & RW_READERS) >= RW_READERS_LIMIT)
		return LATCH_OVERFLOW;
	return word & RW_X ? LATCH_HELD : LATCH_SHARED;
}

const struct latch rmc_latch_readers = {
	.name	= "rw",
	.flags	= LATCH_RELEASED | LATCH_COUNTS | LATCH_ADDS | LATCH_RW,
	.word	= reader_word,
	.found	= found_by_reader,
	.held	= held_rw,
};

/* --- excl --- */

static uint64_t excl_word(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			  const struct rmc_scheme_params *p)
{
	(void)expected;
	(void)p;
	return token << EXCL_SEQUENCE_SHIFT | ((uint64_t)(owner->nid + 1) & EXCL_NID_MASK);
}

static int held_excl(uint64_t word)
{
	return !!word;
}

static int holder_excl(uint64_t word)
{
	uint64_t nid = word & EXCL_NID_MASK;

	return nid == OWNER_NID ? -2 : (int)nid - 1;
}

const struct latch rmc_latch_excl = {
	.name	= "excl",
	.flags	= LATCH_NAMED | LATCH_RELEASED,
	.owner	= OWNER_NID,
	.take	= take_excl,
	.leave	= leave_excl,
	.word	= excl_word,
	.found	= found_word,
	.held	= held_excl,
	.holder	= holder_excl,
};

/* --- version --- */

static uint64_t odd_version(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)owner;
	(void)token;
	(void)p;
	return expected + 1;
}

static enum latch_found found_version(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	if (word >= VERSION_LIMIT)
		return LATCH_OVERFLOW;
	return word & 1 ? LATCH_HELD : LATCH_STALE;
}

static int held_version(uint64_t word)
{
	return word & 1;
}

const struct latch rmc_latch_version = {
	.name	= "version",
	.flags	= LATCH_RELEASED | LATCH_VERSION,
	.word	= odd_version,
	.found	= found_version,
	.held	= held_version,
};

/* --- names --- */

static const char * const names[RMC_LATCHES] = {
	[RMC_LATCH_DEFAULT]	= "default",
	[RMC_LATCH_RW]		= "rw",
	[RMC_LATCH_EXCL]	= "excl",
	[RMC_LATCH_VERSION]	= "version",
	[RMC_LATCH_DETACHED]	= "detached",
	[RMC_LATCH_NONE]	= "none",
};

const char *rmc_sync_latch_name(unsigned int latch)
{
	return latch < RMC_LATCHES ? names[latch] : NULL;
}
