// SPDX-License-Identifier: GPL-2.0
/* Code common to all transports. */
#include "fabric.h"

/**
 * rmc_fabric_check() - validate the sizes of a fabric
 * @f: fabric; nodes, unit_order, rrpp_order, interleave, mtu, ring_order and
 *	pay_order are set; the fields derived from them are filled in
 *
 * Return: 0 or -EINVAL.
 */
int rmc_fabric_check(struct rmc_fabric *f)
{
	if (!f->nodes || f->nodes > RMC_MAX_NODES)
		return -EINVAL;
	if (f->unit_order > ilog2(RMC_MAX_UNITS) || f->rrpp_order > f->unit_order ||
	    f->nodes << f->unit_order > RMC_MAX_NODES)
		return -EINVAL;
	if (f->interleave < RMC_INTERLEAVE_MIN || f->interleave > RMC_INTERLEAVE_MAX ||
	    f->interleave & (f->interleave - 1))
		return -EINVAL;
	if (f->mtu < RMC_MTU_MIN || f->mtu > RMC_MTU_MAX || f->mtu % RMC_LINE)
		return -EINVAL;
	if (f->ring_order < RMC_RING_ORDER_MIN || f->ring_order > RMC_RING_ORDER_MAX)
		return -EINVAL;
	/* a packet must fit the ring */
	if (f->pay_order > RMC_PAY_ORDER_MAX || ((u32)RMC_LINE << f->pay_order) < f->mtu)
		return -EINVAL;
	f->endpoints = f->nodes << f->unit_order;
	f->block_shift = ilog2(f->interleave);
	f->cut = f->rrpp_order ? min(f->interleave, 1U << ilog2(f->mtu)) : f->mtu;
	f->cut_mask = (f->rrpp_order ? f->cut : (u32)RMC_LINE) - 1;
	return 0;
}

/**
 * rmc_doorbell_notify() - slow path of rmc_doorbell_ring(): the bit was clear, or the
 *	endpoint is behind a link
 * @f: fabric
 * @dst: endpoint to notify
 * @lane: lane of the ring
 * @from: our endpoint
 *
 * Context: worker, does not sleep.
 */
void rmc_doorbell_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from)
{
	if (!f->local[dst] && f->ops->put) {
		f->ops->put(f, from, dst, lane);
		return;
	}
	rmc_os_or64(rmc_doorbell_word(f, dst, lane, from), 1ULL << (from % 64));
	if (f->local[dst])
		f->notify(f->local[dst], lane);
	else
		f->ops->notify(f, dst, lane);
}
