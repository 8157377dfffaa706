/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages of a link. A filter (filter.h) takes a packet off the wire and passes it through
 * the stages, in the order of the table; then it holds the packet until it is due.
 *
 *   wire --> loss --> model --> server --> delay --> held by due time --> pipeline
 *            (fault.c) (model.c) (fault.c) (fault.c)
 *
 * The contract of a stage:
 *
 *   - It sees each packet once, in the order of the wire, on the worker of the lane.
 *   - due_ns is when the packet leaves the previous stage, at first the current time. A stage
 *     may only delay it. A packet may overtake another one.
 *   - It returns false for a packet that is lost here. Later stages do not see that one; its
 *     credit still returns (filter.h).
 *   - It changes nothing else of a packet, keeps no pointer to it and does not sleep.
 *
 * To add a stage: a row, and a function rmc_stage_<name>() in a file of its own. Its state goes
 * into struct rmc_filter, of one lane of one link, or struct rmc_links, of all links of a unit.
 */
#ifndef RMC_STAGE_H
#define RMC_STAGE_H

#include "filter.h"

/*	 name; called for both lanes, also if the stage acts on one only */
#define RMC_STAGES(X)	\
	X(loss)		\
	X(model)	\
	X(server)	\
	X(delay)

#define RMC_STAGE_DECLARE(name)						\
	bool rmc_stage_##name(struct rmc_links *l, struct rmc_filter *flt, \
			      struct rmc_packet *p, u64 now);
RMC_STAGES(RMC_STAGE_DECLARE)
#undef RMC_STAGE_DECLARE

/* Runs all stages; false: the packet is lost. */
static inline bool rmc_stages(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p,
			      u64 now)
{
#define RMC_STAGE_ROW(name)						\
	if (!rmc_stage_##name(l, flt, p, now))				\
		return false;
	RMC_STAGES(RMC_STAGE_ROW)
#undef RMC_STAGE_ROW
	return true;
}

bool rmc_fault_chance(struct rmc_filter *flt, u32 millionths);
void rmc_fault_shuffle(struct rmc_filter *flt, struct rmc_packet *batch, u32 n);

#endif
