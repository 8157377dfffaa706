// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: loss, delay, jitter, reordering, and a slow server. filter.c holds packets and
 * duplicates them.
 */
#include "stages.h"

/**
 * rmc_fault_chance() - draw a random event
 * @flt: filter, whose random numbers are used
 * @millionths: probability
 *
 * Return: true with that probability.
 */
bool rmc_fault_chance(struct rmc_filter *flt, u32 millionths)
{
	return millionths && ((u64)rmc_random32(&flt->rng) * RMC_ALWAYS >> 32) < millionths;
}

/**
 * rmc_stage_loss() - lose packets by chance, and all while the link is down
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 * @now: time, nanoseconds
 *
 * Return: see stages.h. Context: worker, does not sleep.
 */
bool rmc_stage_loss(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p, u64 now)
{
	return !unlikely(flt->fault.down || rmc_fault_chance(flt, flt->fault.loss));
}

/**
 * rmc_stage_delay() - delay, jitter and reordering
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 * @now: time, nanoseconds
 *
 * Return: see stages.h. Context: worker, does not sleep.
 */
bool rmc_stage_delay(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p, u64 now)
{
	const struct rmc_fault *fault = &flt->fault;

	p->due_ns += fault->delay_ns + rmc_random_below(&flt->rng, fault->jitter_ns);
	if (rmc_fault_chance(flt, fault->reorder)) {
		rmc_filter_count(flt, reordered, 1);
		p->due_ns += fault->gap_ns;
	}
	return true;
}

/**
 * rmc_arrival_server() - a slow server serves requests one after the other
 * @l: links of the unit
 * @flt: filter
 * @p: packet
 *
 * Context: worker, does not sleep.
 */
void rmc_arrival_server(struct rmc_links *l, struct rmc_filter *flt, struct rmc_packet *p)
{
	if (flt->lane != RMC_LANE_REQ || !l->slow_ns)
		return;
	l->slow_until = max(l->slow_until, p->due_ns) + l->slow_ns;
	p->due_ns = l->slow_until;
}

/* A write's packets stay in the order of addresses; so may a read's, between atomics. */
static bool keeps_order(const struct rmc_filter *flt, const struct rmc_packet *p)
{
	return flt->lane == RMC_LANE_REQ && rmc_order_group(p->word0, p->word1);
}

/**
 * rmc_fault_shuffle() - change the order of consecutive packets of one operation
 * @flt: filter that took them off the wire
 * @batch: packets, which passed all stages
 * @n: how many
 *
 * Context: worker, does not sleep.
 */
void rmc_fault_shuffle(struct rmc_filter *flt, struct rmc_packet *batch, u32 n)
{
	u32 i, j, k, at;

	for (i = 0; i < n; i = j) {
		/* a fabric must not let data requests overtake their announcement */
		if (rmc_op_announces(rmc_op_flags((u8)(batch[i].word0 >> 48)), batch[i].word1) ||
		    keeps_order(flt, &batch[i])) {
			j = i + 1;
			continue;
		}
		for (j = i + 1; j < n && (u32)batch[j].word0 == (u32)batch[i].word0; j++)
			;
		if (j - i < 2 || !rmc_fault_chance(flt, flt->fault.shuffle))
			continue;
		rmc_filter_count(flt, shuffled, j - i);
		for (k = j - 1; k > i; k--) {
			at = i + (u32)rmc_random_below(&flt->rng, k - i + 1);
			swap(batch[k].due_ns, batch[at].due_ns);
			swap(batch[k].seq, batch[at].seq);
		}
	}
}
