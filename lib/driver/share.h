/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory of this process that rmcd maps. Shared memory is passed as its file. Private memory
 * becomes shared: its whole pages are moved to a file in memory (memfd) that is then mapped
 * at the same addresses, until the last registration ends. The copying is not atomic: what
 * other threads write to these pages meanwhile may be lost.
 *
 * A fork()ed child has the moved memory at the same addresses, as a private mapping: what it
 * has not written itself it sees as the parent's memory is now.
 */
#ifndef RMC_LIB_SHARE_H
#define RMC_LIB_SHARE_H

#include <stddef.h>
#include "protocol.h"

struct rmc_region;

/**
 * struct rmc_share - the memory of one registration
 * @memory: as rmcd gets it
 * @region: files of @memory.piece[].fd, with a reference each
 * @regions: number of them
 */
struct rmc_share {
	struct rmcd_memory memory;
	struct rmc_region *region[RMCD_MESSAGE_FDS];
	unsigned int regions;
};

/*
 * Make len bytes at addr shared, except what is no whole page, or cannot be shared: this
 * becomes RMCD_PRIVATE. 0, or -errno: -EFAULT: not readable and writable; -EOPNOTSUPP: a
 * shared mapping of a file with writeback, or, if shared_only, private memory is left, and
 * *why names the cure. Holes of files are filled; lazy: up to 64 MiB.
 */
int rmc_share_begin(struct rmc_share *s, void *addr, size_t len, int shared_only, int lazy,
		    const char **why);

/*
 * Allocate memory that is shared from the start: its address, mapped with a length that is
 * page-rounded; the caller unmaps it. numa_node: -1: any. NULL with errno on failure:
 * EINVAL: no such NUMA node; ENOMEM.
 */
void *rmc_share_alloc(struct rmc_share *s, size_t len, int numa_node);

/* Drop the references; what was moved moves back when nobody else has it. */
void rmc_share_end(struct rmc_share *s);

/* Descriptors of the regions, in the order of piece[].fd */
void rmc_share_fds(const struct rmc_share *s, int *fd);

#endif
