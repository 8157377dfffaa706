// SPDX-License-Identifier: GPL-2.0
/*
 * Stage that keeps the order of ordered queue pairs, behind the stages that disorder packets.
 * Requests of such a queue pair name a group (wire.h). In a group
 *
 *   behind an atomic   nothing overtakes it
 *   behind a write     no write and no atomic overtakes it; a read may
 *   behind a read      anything may overtake it
 *
 * What would arrive too early is due with what it waits for. Packets that are due at the same time
 * leave in the order of the wire (filter.c).
 *
 * A packet that is lost must not be overtaken either: what is behind it is lost, too, until the
 * sender has noticed, waited for the end of all that it had in flight, and says so by another
 * value of the bit RMC_REQ_RENEWED (core/order.c). Until then the filter is not removed.
 */
#include "stages.h"

static u32 group_of(const struct rmc_filter *flt, const struct rmc_packet *p)
{
	return flt->lane == RMC_LANE_REQ ? rmc_order_group(p->word0, p->word1) : 0;
}

static void follow(struct rmc_order_due *o, struct rmc_packet *p)
{
	enum rmc_rank rank = rmc_rank(rmc_op_flags((u8)(p->word0 >> 48)));

	p->due_ns = max(p->due_ns, o->atomic_ns);
	if (rank >= RMC_RANK_WRITE)
		p->due_ns = max(p->due_ns, o->write_ns);
	if (rank == RMC_RANK_ATOMIC)
		o->atomic_ns = p->due_ns;
	else if (rank == RMC_RANK_WRITE)
		o->write_ns = p->due_ns;
}

/* True if a packet before this one of its group was lost, and its sender does not know. */
static bool is_broken(struct rmc_order *o, u32 group, u64 word1)
{
	if (!(o->broken & 1U << group))
		return false;
	if (!!(word1 & RMC_REQ_RENEWED) == !!(o->renewed & 1U << group))
		return true;
	WRITE_ONCE(o->broken, o->broken & ~(1U << group));
	return false;
}

/**
 * rmc_stage_order() - let no packet of an ordered queue pair overtake those that it follows
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 * @now: time, nanoseconds
 *
 * Return: see stages.h. Context: worker, does not sleep.
 */
bool rmc_stage_order(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p, u64 now)
{
	u32 group = group_of(flt, p);

	if (!group)
		return true;
	if (is_broken(&flt->order, group, p->word1))
		return false;
	follow(&flt->order.way[group], p);
	return true;
}

/**
 * rmc_arrival_order() - the same, behind what delays packets at their arrival
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 *
 * Context: worker, does not sleep.
 */
void rmc_arrival_order(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p)
{
	u32 group = group_of(flt, p);

	if (group)
		follow(&flt->order.arrival[group], p);
}

/**
 * rmc_order_lost() - a packet was lost: so are those behind it
 * @flt: filter that lost it
 * @p: packet
 *
 * Context: worker, does not sleep.
 */
void rmc_order_lost(struct rmc_filter *flt, const struct rmc_packet *p)
{
	u32 group = group_of(flt, p), bit = 1U << group;

	if (!group)
		return;
	WRITE_ONCE(flt->order.broken, flt->order.broken | bit);
	flt->order.renewed &= ~bit;
	if (p->word1 & RMC_REQ_RENEWED)
		flt->order.renewed |= bit;
}
