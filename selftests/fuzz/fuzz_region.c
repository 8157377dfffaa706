// SPDX-License-Identifier: GPL-2.0
/* Whatever a region's header says: refused, or all of it is within the memory. */
#include "kmod/fabric/region.h"
#include "bed.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static volatile u8 sink;

static void touch(const struct rmc_region *r, const void *p, u64 bytes)
{
	const u8 *from = p;

	MUST(from >= (u8 *)r->base && bytes && from + bytes <= (u8 *)r->base + r->bytes);
	sink = from[0];
	sink = from[bytes - 1];
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct rmc_region_head h = { 0 };
	struct input in = { data, size };
	struct rmc_fabric f = { 0 };
	struct rmc_region r = { 0 };
	u32 how = take(&in, 1), i, j;

	r.bytes = (u64)(how >> 1) * 32768 + 2 * PAGE_SIZE;
	memcpy(&h, in.at, in.left < sizeof(h) ? in.left : sizeof(h));
	if (how & 1) {
		/* likely to get far: small numbers, and the size that they give */
		h.magic = RMC_REGION_MAGIC;
		h.version = RMC_REGION_VERSION;
		h.nodes %= 40;
		h.mtu = h.mtu % 70 * RMC_LINE;
		h.ring_order %= 16;
		h.pay_order %= 16;
		f.nodes = h.nodes;
		f.mtu = h.mtu;
		f.ring_order = h.ring_order;
		f.pay_order = h.pay_order;
		if (!rmc_fabric_check(&f) && !(h.bytes & 7))
			h.bytes = rmc_region_layout(&r, &f);
	}
	r.base = aligned_alloc(PAGE_SIZE, PAGE_ALIGN(r.bytes));
	memset(r.base, 0, r.bytes);
	memcpy(r.base, &h, sizeof(h));
	if (!rmc_region_adopt(&r, &f)) {
		touch(&r, f.node, f.nodes * sizeof(*f.node));
		touch(&r, f.bell, f.nodes * RMC_LANES * sizeof(*f.bell));
		touch(&r, f.sync, (u64)f.nodes * f.nodes * sizeof(*f.sync));
		for (i = 0; i < f.nodes; i++)
			for (j = 0; j < f.nodes; j++)
				touch(&r, rmc_region_channel(&r, &f, i, j), rmc_channel_bytes(&f));
	}
	free(r.base);
	return 0;
}
