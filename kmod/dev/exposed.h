/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which lines of physical memory this kernel's segments expose, and which worker serves
 * them. One RRPP serves a line for all requesters, so that the line moves whole (I-2,
 * Documentation/ni.rst). Two segments over the same memory, of two contexts or nodes, give a
 * line two RRPPs, unless one worker serves both: then the second segment is refused.
 *
 *   rmc_exposed_add()   pages -> extents of lines -> an interval tree per server:
 *                       in the tree of another one? refuse
 *
 * One lock guards all trees. It is held for some 4096 searches at most, about a millisecond; so
 * a registration waits for as many milliseconds as others register at the same time, however much
 * memory they have, and can be killed meanwhile.
 *
 * Memory that peers may only read can be exposed by any number of servers. If one worker serves
 * all nodes of this kernel, nothing is recorded. An extent takes 48 bytes, charged to the
 * owner's memory cgroup: at worst one per page.
 */
#ifndef RMC_EXPOSED_H
#define RMC_EXPOSED_H

#include "../run/device.h"
#include "umem.h"

int rmc_exposed_create(struct rmc_device *rmc);
void rmc_exposed_destroy(struct rmc_device *rmc);
int rmc_exposed_add(struct rmc_device *rmc, struct rmc_umem *u, const struct rmc_node *node,
		    const struct rmc_mem *primary);
void rmc_exposed_del(struct rmc_device *rmc, struct rmc_umem *u);

#endif
