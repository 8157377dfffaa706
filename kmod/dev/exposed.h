/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which lines of physical memory this kernel's segments expose, and which worker serves
 * them. One RRPP serves a line for all requesters, so that the line moves whole (I-2,
 * Documentation/ni.rst). Two segments over the same memory, of two contexts or nodes, give a
 * line two RRPPs, unless one worker serves both: then the second segment is refused.
 *
 *   rmc_exposed_add()   pages -> runs of lines -> interval tree: another server? refuse
 *
 * If one worker serves all nodes of this kernel, nothing is recorded.
 */
#ifndef RMC_EXPOSED_H
#define RMC_EXPOSED_H

#include "../run/device.h"
#include "umem.h"

int rmc_exposed_add(struct rmc_device *rmc, struct rmc_umem *u, const struct rmc_node *node);
void rmc_exposed_del(struct rmc_device *rmc, struct rmc_umem *u);

#endif
