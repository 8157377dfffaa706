/* SPDX-License-Identifier: GPL-2.0 */
/*
 * More memory in a segment than its first range: pieces of the application's memory at
 * offsets of their own. Units find them by a table that all of them share
 * (core/ct.h). Each change makes a new table and calls every unit to use it; after that
 * nobody uses the old one.
 */
#ifndef RMC_RANGE_H
#define RMC_RANGE_H

#include <linux/types.h>

struct rmc_file;
struct rmc_umem;

int rmc_ranges_add(struct rmc_file *f, struct rmc_umem *u, u64 start);
struct rmc_umem *rmc_ranges_del(struct rmc_file *f, u64 start);
void rmc_ranges_clear(struct rmc_file *f);

#endif
