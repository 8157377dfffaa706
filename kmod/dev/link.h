/* SPDX-License-Identifier: GPL-2.0 */
/* Faults, and the link model, on the links that end in this kernel: see link.c. */
#ifndef RMC_LINK_H
#define RMC_LINK_H

#include "../run/device.h"

u32 rmc_link_count(const struct rmc_device *rmc);
struct rmc_node *rmc_link_unit(const struct rmc_device *rmc, u32 i);
int rmc_link_set(struct rmc_node *node, u32 peer, enum rmc_lane lane,
		 const struct rmc_fault *fault, u64 seed);
int rmc_link_slow(struct rmc_node *node, u32 slow_ns);
int rmc_link_rnic(struct rmc_node *node, const struct rmc_rnic *rnic, u64 seed);
void rmc_link_stop(struct rmc_node *node, enum rmc_lane lane, bool stop);
int rmc_link_model(struct rmc_device *rmc, const struct rmc_model *m);
void rmc_link_sweep(struct rmc_device *rmc);

#endif
