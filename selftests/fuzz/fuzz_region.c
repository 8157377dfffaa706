// SPDX-License-Identifier: GPL-2.0
/*
 * Any header of a region: it is rejected, or all that it describes is within the memory. A
 * share of the inputs, of the corpus as well, must be adopted: else nothing was tested.
 */
#include <stdio.h>
#include <unistd.h>
#include "kmod/fabric/region.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static volatile u8 sink;

static void touch(const struct rmc_region *r, const void *p, u64 bytes)
{
	const u8 *from = p;

	MUST(from >= (u8 *)r->base && bytes && from + bytes <= (u8 *)r->base + r->bytes);
	sink = from[0];
	sink = from[bytes - 1];
}

#define SMALL		(8 << 20)	/* regions that get the size in their header */
#define ENOUGH		20		/* inputs, before their share is checked */
#define ADOPTED		1		/* percent of them, at least */

static unsigned long tried, adopted;

/* A header that is not adopted skips the tests below. */
static void check_share(void)
{
	fprintf(stderr, "region: %lu of %lu inputs adopted\n", adopted, tried);
	if (tried >= ENOUGH && adopted * 100 < tried * ADOPTED) {
		fprintf(stderr, "region: less than %u %%\n", ADOPTED);
		_exit(1);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	atexit(check_share);
	return 0;
}

/* Change a header to one that is likely to be adopted, and its size to fit */
static void nudge(struct rmc_region_head *h, struct rmc_fabric *f)
{
	struct rmc_region r = { 0 };

	h->magic = RMC_REGION_MAGIC;
	h->version = RMC_REGION_VERSION;
	h->unit_order %= 3;
	h->rrpp_order %= 3;
	h->nodes %= 9;
	h->interleave = RMC_INTERLEAVE_MIN << h->interleave % 8;
	h->mtu = h->mtu % 70 * RMC_LINE;
	h->ring_order = h->ring_order % (RMC_RING_ORDER_MAX + 2);
	h->pay_order = h->pay_order % (RMC_PAY_ORDER_MAX + 2);
	f->nodes = h->nodes;
	f->mtu = h->mtu;
	f->ring_order = h->ring_order;
	f->pay_order = h->pay_order;
	f->unit_order = h->unit_order;
	f->rrpp_order = h->rrpp_order;
	f->interleave = h->interleave;
	if (!rmc_fabric_check(f) && !(h->bytes & 7))
		h->bytes = rmc_region_layout(&r, f);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct rmc_region_head h = { 0 };
	struct input in = { data, size };
	struct rmc_fabric f = { 0 };
	struct rmc_region r = { 0 };
	u32 how = take(&in, 1), i, j;

	memcpy(&h, in.at, in.left < sizeof(h) ? in.left : sizeof(h));
	if (how & 1)
		nudge(&h, &f);
	r.bytes = (u64)(how >> 2) * 65536 + 2 * PAGE_SIZE;
	/* exactly as long as required, or one page shorter */
	if (how & 2 && h.bytes >= 2 * PAGE_SIZE && h.bytes <= SMALL)
		r.bytes = h.bytes - (how & 4 ? 0 : PAGE_SIZE);
	r.base = aligned_alloc(PAGE_SIZE, PAGE_ALIGN(r.bytes));
	memset(r.base, 0, r.bytes);
	memcpy(r.base, &h, sizeof(h));
	memset(&f, 0, sizeof(f));
	tried++;
	if (!rmc_region_adopt(&r, &f)) {
		adopted++;
		MUST(f.interleave && !(f.interleave & (f.interleave - 1)));
		MUST(f.rrpp_order <= f.unit_order && f.endpoints == f.nodes << f.unit_order);
		touch(&r, f.node, f.nodes * sizeof(*f.node));
		touch(&r, f.doorbell, (u64)f.endpoints * RMC_LANES * sizeof(*f.doorbell));
		touch(&r, f.sync, (u64)f.endpoints * f.nodes * sizeof(*f.sync));
		for (i = 0; i < f.endpoints; i++)
			for (j = 0; j < f.endpoints; j++)
				touch(&r, rmc_region_channel(&r, &f, i, j), rmc_channel_bytes(&f));
	}
	free(r.base);
	return 0;
}
