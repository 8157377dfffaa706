/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What /proc/self says about mappings and the files behind them. */
#ifndef RMC_LIB_MAPS_H
#define RMC_LIB_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct rmc_vma - a line of /proc/self/maps
 * @start: first address
 * @end: first address behind it
 * @offset: of @start in the file
 * @dev: of the file
 * @ino: of the file; 0: none
 * @prot: PROT_*
 * @shared: MAP_SHARED
 * @path: of the file, or a name in brackets, or empty
 */
struct rmc_vma {
	uintptr_t start, end;
	uint64_t offset, dev, ino;
	int prot, shared;
	char path[256];
};

/* The mappings of this process, from the lowest address on; NULL with errno on failure */
FILE *rmc_maps_open(void);
int rmc_maps_next(FILE *maps, struct rmc_vma *v);	/* 0: there are no more */

/*
 * A descriptor, open for reading and writing, of the file of a shared mapping: a duplicate
 * of one that this process has, or a new one. -errno: -EOPNOTSUPP: a file with writeback;
 * -ENOENT: memory to which no way leads.
 */
int rmc_vma_file(const struct rmc_vma *v);

#endif
