/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration of a fabric to set up or to join, as a plain object; part of run/config.h. */
#ifndef RMC_FABRIC_CONFIG_H
#define RMC_FABRIC_CONFIG_H

#include "fabric.h"

struct rmc_transport;

/* Loopback fabrics of more endpoints than this get smaller rings by default */
#define RMC_SMALL_NODES		16
/* log2 of descriptors and of payload lines of those smaller rings */
#define RMC_SMALL_ORDER		6
/* Default number of nodes: loopback, shared region */
#define RMC_LOOPBACK_NODES	2
#define RMC_REGION_NODES	8

/**
 * struct rmc_fabric_config - which fabric, and this kernel's place in it
 * @transport: transport
 * @nodes: size of the fabric; 0: the region's, or a default
 * @node: node id to claim, -1: any
 * @region: uml: file of the host that all kernels map; NULL: none
 * @doorbells: uml: doorbell pipes of the host, a path without the node id; NULL: none
 * @units: units per node; 0 until settled
 * @rrpps: units per node that have an RRPP; 0 until settled
 * @interleave: consecutive bytes of a segment that one RRPP serves
 * @mtu: largest payload of a packet, bytes; 0: default
 * @ring_order: log2 of descriptors per ring; 0: default
 * @pay_order: log2 of payload lines per ring; 0: default
 * @timeout_ms: a request without reply fails after this
 * @dead_ms: a peer without heartbeat is down after this
 * @poll_us_max: longest sleep of a parked worker without a doorbell
 * @channel_mib: loopback: memory for channels, MiB; 0 until settled; writable at run time
 * @model: link model; RMC_TOPOLOGY_NONE: none
 */
struct rmc_fabric_config {
	const struct rmc_transport *transport;
	u32 nodes;
	s32 node;
	const char *region;
	const char *doorbells;
	u32 units;
	u32 rrpps;
	u32 interleave;
	u32 mtu;
	u32 ring_order;
	u32 pay_order;
	u32 timeout_ms;
	u32 dead_ms;
	u32 poll_us_max;
	u32 channel_mib;
	struct rmc_model model;
};

/* Copies the unit numbers to a fabric that this kernel formats. */
static inline void rmc_fabric_units_from(const struct rmc_fabric_config *cfg, struct rmc_fabric *f)
{
	f->unit_order = ilog2(cfg->units);
	f->rrpp_order = ilog2(cfg->rrpps);
	f->interleave = cfg->interleave;
}

#endif
