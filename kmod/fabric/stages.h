/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages of a link. A filter (filter.h) takes a packet off the wire and passes it through
 * the stages of its way, in the order of the table; then it holds the packet until it is due.
 * A packet that is due passes the stages of its arrival, which may hold it again: what packets
 * share there they take in the order in which they arrive.
 *
 *   wire --> loss --> model --> delay --> order --> held by due time -->
 *            (fault.c) (model.c) (fault.c) (order.c)
 *
 *                               port --> adapter --> server --> order --> pipeline
 *                               (model.c) (rnic.c)   (fault.c)  (order.c)
 *
 * Between the hold and the arrival is the switch (switch.h), if there is one. It is no stage: it
 * may answer a packet.
 *
 * The contract of a stage:
 *
 *   - It sees each packet once, on the worker of the lane: those of the way in the order of the
 *     wire, those of the arrival in the order of due times. What the arrivals of several links
 *     share, a port or a server, they take in the order in which their worker pumps the links.
 *   - due_ns is when the packet leaves the previous stage, at first the current time. A stage
 *     may only delay it. A packet may overtake another one.
 *   - One of the way returns false for a packet that is lost here. Later stages do not see that
 *     one; its credit still returns (filter.h).
 *   - It changes nothing else of a packet, keeps no pointer to it and does not sleep.
 *
 * To add a stage: a row, and a function rmc_stage_<name>() in a file of its own. Its state goes
 * into struct rmc_filter, of one lane of one link, or struct rmc_links, of all links of a unit.
 */
#ifndef RMC_STAGES_H
#define RMC_STAGES_H

#include "filter.h"

/*	 name; called for both lanes, also if the stage acts on one only */
#define RMC_STAGES(X)	\
	X(loss)		\
	X(model)	\
	X(delay)	\
	X(order)

#define RMC_ARRIVALS(X)	\
	X(port)		\
	X(rnic)		\
	X(server)	\
	X(order)

#define RMC_STAGE_DECLARE(name)						\
	bool rmc_stage_##name(struct rmc_links *l, struct rmc_filter *flt, \
			      struct rmc_packet *p, u64 now);
RMC_STAGES(RMC_STAGE_DECLARE)
#undef RMC_STAGE_DECLARE

#define RMC_ARRIVAL_DECLARE(name)					\
	void rmc_arrival_##name(struct rmc_links *l, struct rmc_filter *flt, \
				struct rmc_packet *p);
RMC_ARRIVALS(RMC_ARRIVAL_DECLARE)
#undef RMC_ARRIVAL_DECLARE

/* Runs all stages of the way; false: the packet is lost. */
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

/* Runs all stages of the arrival, at p->due_ns. */
static inline void rmc_arrivals(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p)
{
#define RMC_ARRIVAL_ROW(name)	rmc_arrival_##name(l, flt, p);
	RMC_ARRIVALS(RMC_ARRIVAL_ROW)
#undef RMC_ARRIVAL_ROW
}

bool rmc_fault_chance(struct rmc_filter *flt, u32 millionths);
void rmc_order_lost(struct rmc_filter *flt, const struct rmc_packet *p);
enum rmc_switch_verdict rmc_switch_arrives(struct rmc_switch *sw, u32 source,
					   const struct rmc_packet *p, u8 *line,
					   struct rmc_switch_answer *a);
void rmc_fault_shuffle(struct rmc_filter *flt, struct rmc_packet *batch, u32 n);

#endif
