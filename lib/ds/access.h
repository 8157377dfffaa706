/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Data structures and their accessors.
 *
 * A structure (hash.h) knows what its memory looks like, and what to read and write in which
 * order. An accessor knows how that is done, and where. Neither knows the other:
 *
 *	lib/kv/owner.c	loads and stores of the owner	\
 *	lib/kv/remote.c	one-sided reads of the others	 > struct rmc_ds_ops < lib/ds/hash.c
 *	test_ds.c	memory of a test, with faults	/
 *
 * Files here include no header of librmc. Statuses pass through them unchanged.
 *
 * A new accessor embeds struct rmc_ds_access and implements the operations below. One that only
 * reads leaves the operations of a writer NULL, and its users call nothing that writes.
 *
 *	transactions	read and write are those of the transaction. swap reads the word,
 *			compares it, and writes it. A squash is a status, which ends the operation of the
 *			structure. The user begins again with the transaction. alloc and free take
 *			effect at commit.
 *	one-sided	write and swap are remote operations: swap is a compare-and-swap. The free
 *			schemes	nodes and objects are in shared memory, too.
 *
 * A new structure of words and objects is a file here. Its operations are functions that block: an
 * accessor that waits may run other work meanwhile. They hold no state between calls, and end at
 * the first status that is not 0, see again(). A structure whose writers run at once, and lock what
 * they change, is one of blocks: block.h.
 */
#ifndef RMC_LIB_DS_ACCESS_H
#define RMC_LIB_DS_ACCESS_H

#include <stddef.h>
#include <stdint.h>

enum rmc_ds_kind {
	RMC_DS_NODE,	/* at most a line: a read never sees half of a swap */
	RMC_DS_OBJECT,	/* any length: read as a whole, or not at all, see again() */
};

struct rmc_ds_access {
	const struct rmc_ds_ops *ops;
};

/*
 * An address (at) is the structure's: an offset in its memory, which the accessor can find.
 * Functions that return int: 0, or a status that ends the operation and is its result. It is not
 * -ENOENT, which is the structure's.
 */
struct rmc_ds_ops {
	/* *data stays as it is until the next read of the same kind */
	int (*read)(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, size_t len,
		    const void **data);
	/*
	 * True: the object changes now. A search goes on, and returns this status only if it finds
	 * nothing. NULL: no status is like that.
	 */
	int (*again)(int status);

	/* of writers: readers see all earlier writes of a writer who see its swap */
	int (*write)(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, const void *data,
		     size_t len);
	/* A word that has the expected value; a status if it does not, except for a sole writer */
	int (*swap)(struct rmc_ds_access *a, uint64_t at, uint64_t expected, uint64_t desired);
	/* The number of a free node or object; -ENOSPC */
	int (*alloc)(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t *n);
	/*
	 * used: readers may still have its address, so it is allocated again as late as possible.
	 * Otherwise it is the last one that was allocated.
	 */
	void (*free)(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t n, int used);
};

#endif /* RMC_LIB_DS_ACCESS_H */
