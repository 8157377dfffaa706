/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Words of latches: latch.c shows their bits. */
#ifndef RMC_LIB_SYNC_LATCH_H
#define RMC_LIB_SYNC_LATCH_H

#include "../scheme/row.h"
#include "../scheme/scheme.h"

#define RW_READERS		((1ULL << 44) - 1)
#define RW_OWNER_SHIFT		44
#define RW_OWNER_MASK		0xffffULL
#define RW_X			(1ULL << 60)
#define RW_CLIENT_SHIFT		61
#define RW_CLIENTS		8U
/* so many readers fewer than fit that those which are refused never reach the owner's bits */
#define RW_READERS_LIMIT	(RW_READERS - (1 << 20))

#define EXCL_SEQUENCE_SHIFT	16
#define EXCL_NID_MASK		0xffffULL

/* Even versions only: the last one that a write may begin with is two less */
#define VERSION_LIMIT		(~0ULL - 3)

_Static_assert(RW_READERS == (1ULL << RW_OWNER_SHIFT) - 1, "readers end where the owner begins");
_Static_assert((RW_OWNER_MASK << RW_OWNER_SHIFT & RW_X) == 0, "the owner ends before X");

#endif /* RMC_LIB_SYNC_LATCH_H */
