/* SPDX-License-Identifier: GPL-2.0 */
/* Control of the switches before the units of this kernel: see switch.c. */
#ifndef RMC_DEV_SWITCH_H
#define RMC_DEV_SWITCH_H

#include "../core/switched.h"

enum rmc_switch_action {
	RMC_SWITCH_SET,		/* add a range; the first one makes a switch */
	RMC_SWITCH_OFF,		/* all tuples become cold, then the switch goes */
	RMC_SWITCH_PROMOTE,
	RMC_SWITCH_DEMOTE,
	RMC_SWITCH_CRASH,
	RMC_SWITCH_RECOVER,
	RMC_SWITCH_UNLATCH,
};

/**
 * struct rmc_switch_command - what the control plane is to do
 * @action: enum rmc_switch_action
 * @range: of SET: all but its table; of PROMOTE and DEMOTE: context, @begin and @count
 * @hot: of SET: tuples that get a register
 * @registers: of SET, if there is no switch yet
 * @nid: of UNLATCH: node whose latches go
 * @force: of UNLATCH: also those of a node that is alive; else what it had before it came back
 */
struct rmc_switch_command {
	enum rmc_switch_action action;
	struct rmc_switch_range range;
	u32 hot;
	u32 registers;
	u32 nid;
	u32 force;
};

/**
 * struct rmc_switch_state - what a switch has
 * @epoch: of the switch
 * @crashed: it has lost its registers
 * @registers: of stage 2
 * @frees: of these, not in use
 * @latched: tuples
 * @clients: that have an id
 * @stats: counters
 * @range: ranges, whose tables are not to be used
 */
struct rmc_switch_state {
	u32 epoch;
	u32 crashed;
	u32 registers;
	u32 frees;
	u32 latched;
	u32 clients;
	struct rmc_switch_stats stats;
	struct rmc_switch_range range[RMC_SWITCH_RANGES];
};

int rmc_dev_switch(struct rmc_node *unit, const struct rmc_switch_command *c);
void rmc_dev_switch_undo(struct rmc_node *unit, const struct rmc_switch_command *c);
bool rmc_dev_switch_state(struct rmc_node *unit, struct rmc_switch_state *state);

#endif
