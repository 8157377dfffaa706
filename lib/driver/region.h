/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Files of memory that rmcd maps, one struct per file and process, with a count of the
 * registrations that use it. Two registrations of the same pages, in whatever order they come
 * and go, share one file: the second finds it by its device and inode in /proc/self/maps.
 */
#ifndef RMC_LIB_REGION_H
#define RMC_LIB_REGION_H

#include <stddef.h>
#include <stdint.h>

struct rmc_region;
struct rmc_vma;

/* All other functions need the lock. fork() holds it, too. */
void rmc_regions_lock(void);
void rmc_regions_unlock(void);

/* The file of a shared mapping, with a reference; 0, or -errno as of rmc_vma_file() */
int rmc_region_get(const struct rmc_vma *v, struct rmc_region **region);

/*
 * Move whole pages of private memory to a new file, in place. 0, or -errno, and nothing has
 * changed: -ENOMEM; -EFAULT: not readable; another: it cannot be moved.
 */
int rmc_region_move(uintptr_t addr, size_t len, int prot, struct rmc_region **region);

/* Allocate, see rmc_share_alloc(). */
void *rmc_region_alloc(size_t len, int numa_node, struct rmc_region **region);

/*
 * Drop a reference. The last one moves moved memory back; what cannot be moved, for want of
 * descriptors or memory, stays shared.
 */
void rmc_region_put(struct rmc_region *region);

/* Fill the holes of a file that is mapped there. 0, or -1: nothing is left to fill them with. */
int rmc_populate(int fd, uintptr_t addr, size_t len, uint64_t offset);

int rmc_region_fd(const struct rmc_region *region);

#endif
