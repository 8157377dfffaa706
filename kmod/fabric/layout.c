// SPDX-License-Identifier: GPL-2.0
/* Layout of a shared region, and validation of its header. */
#include "region.h"

/**
 * rmc_region_layout() - compute the layout from the fabric's numbers
 * @r: region; base is set, the rest is filled in
 * @f: fabric whose numbers rmc_fabric_check() has accepted; tables are filled in
 *
 * Return: bytes needed.
 */
u64 rmc_region_layout(struct rmc_region *r, struct rmc_fabric *f)
{
	u64 pairs = (u64)f->endpoints * f->endpoints;
	u64 at = PAGE_SIZE;

	f->node = r->base + at;
	at += f->nodes * sizeof(*f->node);
	at = ALIGN(at, sizeof(*f->doorbell));
	f->doorbell = r->base + at;
	at += (u64)f->endpoints * RMC_LANES * sizeof(*f->doorbell);
	f->sync = r->base + at;
	at += (u64)f->endpoints * f->nodes * sizeof(*f->sync);
	r->channels = PAGE_ALIGN(at);
	r->stride = PAGE_ALIGN(rmc_channel_bytes(f));
	return r->channels + pairs * r->stride;
}

/**
 * rmc_region_adopt() - copy a header's numbers, and validate the copy
 * @r: region; base, bytes and place are set, the rest is filled in
 * @f: fabric; its numbers and tables are filled in
 *
 * Peers may change the header while it is read, so each number is read once.
 *
 * Return: 0; -ENOENT: not a region of this version; -EPROTO: the numbers are invalid, or
 * need more memory than there is.
 */
int rmc_region_adopt(struct rmc_region *r, struct rmc_fabric *f)
{
	const struct rmc_region_head *h = rmc_region_head(r);
	u64 bytes = READ_ONCE(h->bytes);

	if (READ_ONCE(h->magic) != RMC_REGION_MAGIC ||
	    READ_ONCE(h->version) != RMC_REGION_VERSION)
		return -ENOENT;
	f->nodes = READ_ONCE(h->nodes);
	f->mtu = READ_ONCE(h->mtu);
	f->ring_order = READ_ONCE(h->ring_order);
	f->pay_order = READ_ONCE(h->pay_order);
	f->unit_order = READ_ONCE(h->unit_order);
	f->rrpp_order = READ_ONCE(h->rrpp_order);
	f->interleave = READ_ONCE(h->interleave);
	if (rmc_fabric_check(f) || rmc_region_layout(r, f) != bytes || bytes > r->bytes)
		return -EPROTO;
	return 0;
}
