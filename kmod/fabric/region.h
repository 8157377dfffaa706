/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fabric in memory that several kernels map.
 *
 *   header     who formatted it, and the numbers that give all sizes
 *   nodes      struct rmc_region_node by node id
 *   bells      struct rmc_bell, RMC_LANES per endpoint
 *   sync       u32 [own endpoint * nodes + peer]
 *   channels   [requester * endpoints + server], each on page boundaries
 *
 * The first kernel formats the region. Everybody copies the header's numbers
 * once, judges the copy, and computes where things are from it; what is
 * written into the header later changes nothing for those who run.
 */
#ifndef RMC_REGION_H
#define RMC_REGION_H

#include "fabric.h"

struct rmc_config;

#define RMC_REGION_MAGIC	0x312d414d554e6f73ULL	/* "soNUMA-1" */
#define RMC_REGION_VERSION	3

/* state of the header; while formatting the upper bits are a nonce */
#define RMC_REGION_RAW		0
#define RMC_REGION_READY	1
#define RMC_REGION_FORMATTING	2
#define RMC_REGION_NONCE_SHIFT	2
/* A formatter that did not finish within this time died */
#define RMC_REGION_FORMAT_MS	2000

/* First bytes of the region. Little endian, as everything in there. */
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

/**
 * struct rmc_region - a mapped region; private
 * @base: where it is mapped
 * @bytes: how large the mapping is
 * @channels: offset of the channels
 * @stride: bytes from one channel to the next
 */
struct rmc_region {
	void *base;
	u64 bytes;
	u64 channels;
	u64 stride;
};

u64 rmc_region_layout(struct rmc_region *r, struct rmc_fabric *f);
int rmc_region_adopt(struct rmc_region *r, struct rmc_fabric *f);
int rmc_region_attach(struct rmc_region *r, struct rmc_fabric *f, const struct rmc_config *cfg);
int rmc_region_claim(struct rmc_fabric *f, s32 wanted, u32 *nid, u32 *epoch);
void rmc_region_reset(const struct rmc_region *r, const struct rmc_fabric *f, u32 nid);
void rmc_region_unclaim(struct rmc_fabric *f, u32 nid, u32 epoch);

/* Memory of a channel; the endpoints are less than f->endpoints. */
static inline void *rmc_region_channel(const struct rmc_region *r, const struct rmc_fabric *f,
				       u32 requester, u32 server)
{
	return r->base + r->channels +
	       r->stride * ((u64)requester * f->endpoints + server);
}

#endif
