/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Words of latches: latch.c shows their bits. */
#ifndef RMC_LIB_SYNC_LATCH_H
#define RMC_LIB_SYNC_LATCH_H

#include <linux/rmc_queue.h>
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

_Static_assert(RMC_NID_MAX + 1 < NAME_OWNER, "each node has a name");
_Static_assert(RW_CLIENT_SHIFT == RW_NID_SHIFT + 11 && RW_SEQUENCE_SHIFT == RW_CLIENT_SHIFT + 8,
	       "fields of rw");
_Static_assert(ODD_NID_SHIFT == ODD_CLIENT_SHIFT + 8 && ODD_NID_SHIFT + 11 == 64,
	       "fields of an odd version");

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

#endif /* RMC_LIB_SYNC_LATCH_H */
