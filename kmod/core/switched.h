/* SPDX-License-Identifier: GPL-2.0 */
/* A unit with a switch before it (fabric/switch.h). */
#ifndef RMC_SWITCHED_H
#define RMC_SWITCHED_H

#include "node.h"

struct rmc_switch_memory rmc_switched_memory(struct rmc_node *node);
int rmc_switched_install(struct rmc_node *node, struct rmc_switch *sw);
int rmc_switched_promote(struct rmc_node *node, u16 ctx_id, u64 offset, u32 count);
int rmc_switched_take_away(struct rmc_node *node, struct rmc_switch **sw);
int rmc_switched_unlatch(struct rmc_node *node, struct rmc_switch_unlatch *u, u32 first);
int rmc_switched_add(struct rmc_node *node, struct rmc_switch_range *r);

#endif
