/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model of a server's network adapter, which differs from an RMC: Documentation/adapter.rst.
 * Off by default; it acts only while filters exist (filter.h).
 */
#ifndef RMC_RNIC_H
#define RMC_RNIC_H

#include "../base/param.h"

/* Longest time of any step of the model, nanoseconds */
#define RMC_RNIC_NS_MAX		1000000000
/* Longest packet whose lines can be moved in steps, bytes: a bit for each line */
#define RMC_RNIC_MTU_MAX	4096

/**
 * struct rmc_rnic - the adapter of one node; all zero: none is modelled
 * @any_lines: lines of a READ are loaded in any order, few at a time; those of a WRITE are
 *	stored in order, few at a time; see core/adapter.c
 * @gap_ns: least time between two of these steps
 */
struct rmc_rnic {
	u32 any_lines;
	u32 gap_ns;
};

/* True if anything is modelled. */
static inline bool rmc_rnic_on(const struct rmc_rnic *r)
{
	return r->any_lines;
}

int rmc_rnic_check(const struct rmc_rnic *r, u32 mtu);

#endif
