/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fabric in memory that several kernels map.
 *
 *   header     state of formatting, and the numbers that all sizes follow from
 *   nodes      struct rmc_region_node by node id
 *   doorbells  struct rmc_doorbell, RMC_LANES per endpoint
 *   sync       u32 [own endpoint * nodes + peer]
 *   channels   [requester * endpoints + server], each on page boundaries
 *
 * The first kernel formats the region. Each kernel copies the header's numbers once,
 * validates the copy, and computes the layout from the copy. Later writes to the header
 * do not affect kernels that have attached.
 *
 * A formatter may be paused at any instruction, be taken for dead, and resume while its
 * successor's fabric runs. So it writes nothing that its successor relies on. Its numbers
 * go to a place of the header that no other formatter gets; the state word names that
 * place when a compare-and-swap makes it READY. The tables have to be zero already.
 */
#ifndef RMC_REGION_H
#define RMC_REGION_H

#include "config.h"
#include "fabric.h"

#define RMC_REGION_MAGIC	0x312d414d554e6f73ULL	/* "soNUMA-1" */
#define RMC_REGION_VERSION	5

/*
 * State word of the header. Bits 0 .. 1: one of these. Bits 2 .. 7: the place of the header,
 * 64 bytes each, that holds or will hold the numbers. The rest is a nonce while formatting.
 * A place is used once: the next formatter takes the next one.
 */
#define RMC_REGION_RAW		0
#define RMC_REGION_READY	1
#define RMC_REGION_FORMATTING	2
#define RMC_REGION_STATE_MASK	3
#define RMC_REGION_PLACE_SHIFT	2
#define RMC_REGION_PLACE_MASK	63
#define RMC_REGION_PLACE_BYTES	64
#define RMC_REGION_NONCE_SHIFT	8
/* A formatter that did not finish within this time is taken for dead */
#define RMC_REGION_FORMAT_MS	2000

/*
 * First bytes of the region, and of each further place; state is used in the first place
 * only. Little endian, like the whole region.
 */
struct rmc_region_head {
	u64 magic;
	u32 version;
	u32 state;
	u32 nodes;
	u32 mtu;
	u32 ring_order;
	u32 pay_order;
	u64 bytes;
	u32 unit_order;
	u32 rrpp_order;
	u32 interleave;
};

static_assert(sizeof(struct rmc_region_head) <= RMC_REGION_PLACE_BYTES, "place");

/**
 * struct rmc_region - a mapped region; private
 * @base: where it is mapped
 * @bytes: size of the mapping
 * @place: place of the header that holds the numbers
 * @channels: offset of the channels
 * @stride: bytes from one channel to the next
 */
struct rmc_region {
	void *base;
	u64 bytes;
	u32 place;
	u64 channels;
	u64 stride;
};

/* The numbers' place in the header. */
static inline struct rmc_region_head *rmc_region_head(const struct rmc_region *r)
{
	return r->base + r->place * RMC_REGION_PLACE_BYTES;
}

u64 rmc_region_layout(struct rmc_region *r, struct rmc_fabric *f);
int rmc_region_adopt(struct rmc_region *r, struct rmc_fabric *f);
int rmc_region_attach(struct rmc_region *r, struct rmc_fabric *f,
		      const struct rmc_fabric_config *cfg);
int rmc_region_claim(struct rmc_fabric *f, s32 wanted, u32 *nid, u32 *epoch);
void rmc_region_reset(const struct rmc_region *r, const struct rmc_fabric *f, u32 nid, u32 epoch);
void rmc_region_unclaim(struct rmc_fabric *f, u32 nid, u32 epoch);

/* Memory of a channel; both endpoints are below f->endpoints. */
static inline void *rmc_region_channel(const struct rmc_region *r, const struct rmc_fabric *f,
				       u32 requester, u32 server)
{
	return r->base + r->channels +
	       r->stride * ((u64)requester * f->endpoints + server);
}

#endif
