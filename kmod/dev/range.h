/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Further ranges of a segment: pieces of the application's memory at their own offsets.
 * All units share one table of them (core/ct.h). Each change creates a new table and calls
 * every unit to install it; after that the old table is unused.
 */
#ifndef RMC_RANGE_H
#define RMC_RANGE_H

#include <linux/types.h>

struct rmc_file;
struct rmc_mem;
struct rmc_umem;

int rmc_ranges_add(struct rmc_file *f, struct rmc_umem *u, u64 start);
struct rmc_umem *rmc_ranges_del(struct rmc_file *f, u64 start);
struct rmc_mem *rmc_ranges_find(const struct rmc_file *f, u64 start, u64 length);
void rmc_ranges_clear(struct rmc_file *f);

#endif
