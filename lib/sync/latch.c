/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latches of remote readers and writers (R25 3.1), and the same words for the owner's CPU:
 *
 *	rw	63        39 38      31 30       20 19              0
 *		+-----------+----------+-----------+-----------------+
 *		| sequence  | client   | node + 1  | readers         |	node 0: no writer
 *		+-----------+----------+-----------+-----------------+
 *	excl	63             19 18      11 10       0
 *		+-----------------+----------+-----------+
 *		| sequence        | client   | node + 1  |	0: free
 *		+-----------------+----------+-----------+
 *	version	63       53 52      45 44                   0
 *		+----------+----------+----------------------+
 *		| node + 1 | client   | the object's version |	even: free, and no name
 *		+----------+----------+----------------------+
 *	tuple	63 62 61     51 50      43 42                0
 *		+----+---------+----------+------------------+
 *		| 0  | node + 1| client   | odd version      |	of a tuple that no switch has
 *		+----+---------+----------+------------------+
 *
 * The word of each hold is another one, so it says whose the object is: after a lost reply
 * the word decides, and a release that is repeated frees no other hold. client distinguishes
 * the users of a node. The sequence is one of each client; of excl it begins at a random
 * number, which is enough. A version is written once only.
 *
 * Readers of rw add one and look at what was there. One that finds a writer takes its one
 * away again, so the readers of a writer's word may change at any time: it is released by
 * subtraction. Counts have no names.
 *
 * A writer of the owner has the largest node; its thread is the sequence.
 *
 * A tuple's word is that of <linux/rmc_switch.h>. A switch latches it with the next word, which has
 * no name: the switch knows whose it is, and says so to who tries to give it free.
 */
#include <errno.h>
#include <rmc/object.h>
#include <rmc/sync.h>
#include "latch.h"

static uint64_t owner_rw(void)
{
	return (uint64_t)rmc_object_self() << RW_SEQUENCE_SHIFT | NAME_OWNER << RW_NID_SHIFT;
}

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
	return take(word, owner_rw(), p);
}

static void leave_rw(uint64_t *word)
{
	/* the data before the word; pairs with the atomic that takes it next */
	__atomic_fetch_sub(word, owner_rw(), __ATOMIC_RELEASE);
}

static uint64_t owner_excl(void)
{
	return (uint64_t)rmc_object_self() << EXCL_SEQUENCE_SHIFT | NAME_OWNER;
}

static int take_excl(uint64_t *word, const struct rmc_scheme_params *p)
{
	return take(word, owner_excl(), p);
}

static void leave_excl(uint64_t *word)
{
	rmc_store_release(word, 0);	/* as leave_rw() */
}

/* --- rw --- */

static uint64_t writer_word(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)expected;
	(void)p;
	return token << RW_SEQUENCE_SHIFT | name_of(owner, RW_NID_SHIFT, RW_CLIENT_SHIFT);
}

static enum latch_found found_word(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)word;
	(void)p;
	return LATCH_HELD;
}

static int held_rw(uint64_t word)
{
	return !!(word >> RW_NID_SHIFT & NAME_NID_MASK);
}

static int holder_rw(uint64_t word)
{
	return nid_of_name(word >> RW_NID_SHIFT & NAME_NID_MASK);
}

static unsigned int client_rw(uint64_t word)
{
	return client_of_name(word, RW_CLIENT_SHIFT);
}

static uint32_t thread_rw(uint64_t word)
{
	return (uint32_t)(word >> RW_SEQUENCE_SHIFT);
}

const struct latch rmc_latch_rw = {
	.name	= "rw",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_ADDS | LATCH_RW,
	.owner	= NAME_OWNER << RW_NID_SHIFT,
	.take	= take_rw,
	.leave	= leave_rw,
	.own	= owner_rw,
	.word	= writer_word,
	.found	= found_word,
	.held	= held_rw,
	.holder	= holder_rw,
	.client	= client_rw,
	.thread	= thread_rw,
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
	return held_rw(word) ? LATCH_HELD : LATCH_SHARED;
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
	return token << EXCL_SEQUENCE_SHIFT | name_of(owner, 0, EXCL_CLIENT_SHIFT);
}

static int held_excl(uint64_t word)
{
	return !!word;
}

static int holder_excl(uint64_t word)
{
	return nid_of_name(word & NAME_NID_MASK);
}

static unsigned int client_excl(uint64_t word)
{
	return client_of_name(word, EXCL_CLIENT_SHIFT);
}

static uint32_t thread_excl(uint64_t word)
{
	return (uint32_t)(word >> EXCL_SEQUENCE_SHIFT);
}

const struct latch rmc_latch_excl = {
	.name	= "excl",
	.flags	= LATCH_NAMED | LATCH_RELEASED,
	.owner	= NAME_OWNER,
	.take	= take_excl,
	.leave	= leave_excl,
	.own	= owner_excl,
	.word	= excl_word,
	.found	= found_word,
	.held	= held_excl,
	.holder	= holder_excl,
	.client	= client_excl,
	.thread	= thread_excl,
};

/* --- version --- */

static uint64_t odd_version(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			    const struct rmc_scheme_params *p)
{
	(void)token;
	(void)p;
	return name_of(owner, ODD_NID_SHIFT, ODD_CLIENT_SHIFT) | (expected + 1);
}

static enum latch_found found_version(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	if (word & 1)
		return LATCH_HELD;
	return word >= ODD_VERSION_LIMIT ? LATCH_OVERFLOW : LATCH_STALE;
}

static int held_version(uint64_t word)
{
	return word & 1;
}

static int holder_version(uint64_t word)
{
	uint64_t nid = word >> ODD_NID_SHIFT;

	/* the owner's writers have no name here: <rmc/object.h> */
	return word & 1 ? nid_of_name(nid ? nid : NAME_OWNER) : -1;
}

static unsigned int client_version(uint64_t word)
{
	return client_of_name(word, ODD_CLIENT_SHIFT);
}

const struct latch rmc_latch_version = {
	.name	= "version",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_VERSION,
	.versions = ODD_VERSION_MASK,
	.word	= odd_version,
	.found	= found_version,
	.held	= held_version,
	.holder	= holder_version,
	.client	= client_version,
};

/* --- tuple --- */

static uint64_t odd_tuple(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			  const struct rmc_scheme_params *p)
{
	(void)token;
	(void)p;
	if (tuple_switched(expected))
		return expected + 1;
	return name_of(owner, TUPLE_NID_SHIFT, TUPLE_CLIENT_SHIFT) |
	       ((expected & TUPLE_VERSION_MASK) + 1);
}

static enum latch_found found_tuple(uint64_t word, const struct rmc_scheme_params *p)
{
	(void)p;
	if (word & RMC_SWITCH_LATCHED)
		return LATCH_HELD;
	return tuple_overflows(word) ? LATCH_OVERFLOW : LATCH_STALE;
}

static int holder_tuple(uint64_t word)
{
	if (!(word & RMC_SWITCH_LATCHED) || tuple_switched(word))
		return -1;
	return nid_of_name(word >> TUPLE_NID_SHIFT & NAME_NID_MASK);
}

static unsigned int client_tuple(uint64_t word)
{
	return client_of_name(word, TUPLE_CLIENT_SHIFT);
}

const struct latch rmc_latch_tuple = {
	.name	= "switch",
	.flags	= LATCH_NAMED | LATCH_RELEASED | LATCH_VERSION | LATCH_TUPLE,
	.versions = TUPLE_VERSION_MASK,
	.word	= odd_tuple,
	.found	= found_tuple,
	.held	= held_version,
	.holder	= holder_tuple,
	.client	= client_tuple,
};

/* --- names --- */

static const char * const names[RMC_LATCHES] = {
	[RMC_LATCH_DEFAULT]	= "default",
	[RMC_LATCH_RW]		= "rw",
	[RMC_LATCH_EXCL]	= "excl",
	[RMC_LATCH_VERSION]	= "version",
	[RMC_LATCH_DETACHED]	= "detached",
	[RMC_LATCH_NONE]	= "none",
	[RMC_LATCH_NIC_RPC]	= "nic-rpc",
};

const char *rmc_sync_latch_name(unsigned int latch)
{
	return latch < RMC_LATCHES ? names[latch] : NULL;
}
