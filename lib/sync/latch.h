/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Words of latches: latch.c shows their bits. */
#ifndef RMC_LIB_SYNC_LATCH_H
#define RMC_LIB_SYNC_LATCH_H

#include <linux/rmc_queue.h>
#include <linux/rmc_switch.h>
#include "../scheme/row.h"
#include "../scheme/scheme.h"

/* Names of holders: node + 1, and its client */
#define NAME_NID_MASK		0x7ffULL
#define NAME_OWNER		NAME_NID_MASK	/* a CPU of the owner */
#define NAME_CLIENT_MASK	0xffULL
#define NAME_CLIENTS		256U

#define RW_READERS		((1ULL << 20) - 1)
#define RW_NID_SHIFT		20
#define RW_CLIENT_SHIFT		31
#define RW_SEQUENCE_SHIFT	39
/* half of them: those which are refused have added one as well, and never reach the name */
#define RW_READERS_LIMIT	(1ULL << 19)

#define EXCL_CLIENT_SHIFT	11
#define EXCL_SEQUENCE_SHIFT	19

/* Versions of words: even ones only, the last one that a write may begin with is two less */
#define VERSION_LIMIT		(~0ULL - 3)

/* A version that is a latch as well has its holder's name in front of it while it is odd. */
#define ODD_CLIENT_SHIFT	45
#define ODD_NID_SHIFT		53
#define ODD_VERSION_MASK	((1ULL << ODD_CLIENT_SHIFT) - 1)
#define ODD_VERSION_LIMIT	(ODD_VERSION_MASK - 3)

/* The same of a tuple, whose marks stay free. One that a switch has ends there, so early as well */
#define TUPLE_CLIENT_SHIFT	43
#define TUPLE_NID_SHIFT		51
#define TUPLE_VERSION_MASK	((1ULL << TUPLE_CLIENT_SHIFT) - 1)
#define TUPLE_VERSION_LIMIT	(TUPLE_VERSION_MASK - 3)

_Static_assert(RMC_NID_MAX + 1 < NAME_OWNER, "each node has a name");
_Static_assert(RW_CLIENT_SHIFT == RW_NID_SHIFT + 11 && RW_SEQUENCE_SHIFT == RW_CLIENT_SHIFT + 8,
	       "fields of rw");
_Static_assert(ODD_NID_SHIFT == ODD_CLIENT_SHIFT + 8 && ODD_NID_SHIFT + 11 == 64,
	       "fields of an odd version");
_Static_assert(TUPLE_NID_SHIFT == TUPLE_CLIENT_SHIFT + 8 &&
	       1ULL << (TUPLE_NID_SHIFT + 11) == RMC_SWITCH_SWITCHED, "fields of a tuple's word");

static inline uint64_t name_of(const struct latch_owner *owner, unsigned int nid_at,
			       unsigned int client_at)
{
	return (uint64_t)(owner->nid + 1) << nid_at | (uint64_t)owner->client << client_at;
}

/* Node of a name: -1: none, -2: a CPU of the owner */
static inline int nid_of_name(uint64_t name)
{
	return name == NAME_OWNER ? -2 : (int)name - 1;
}

static inline unsigned int client_of_name(uint64_t word, unsigned int client_at)
{
	return (unsigned int)(word >> client_at & NAME_CLIENT_MASK);
}

/* Is this the hold that has this word? Readers of rw come and go beside it. */
static inline int same_hold(const struct latch *latch, uint64_t now, uint64_t word)
{
	return (latch->flags & LATCH_RW ? now & ~RW_READERS : now) == word;
}

/* Has a switch this word, or had it? */
static inline int tuple_switched(uint64_t word)
{
	return !!(word & RMC_SWITCH_SWITCHED);
}

/* The word behind the one of a latch. A name is removed, and with it the epoch before it. */
static inline uint64_t tuple_free(uint64_t word)
{
	return (tuple_switched(word) ? word : word & TUPLE_VERSION_MASK) + 1;
}

/* Is there no version for another write? */
static inline int tuple_overflows(uint64_t word)
{
	return (word & RMC_SWITCH_VERSION) >= TUPLE_VERSION_LIMIT;
}

#endif /* RMC_LIB_SYNC_LATCH_H */
