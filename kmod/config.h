/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What to emulate, as a plain object. How it was given (module parameters, in
 * main.c) and what runs because of it (device.h) are other matters.
 */
#ifndef RMC_CONFIG_H
#define RMC_CONFIG_H

#include <linux/cpumask.h>
#include "fabric/transport.h"
#include "ni/ni.h"

/* Sets of worker threads; how many are in one is the NI organisation's matter */
#define RMC_MAX_SETS		64
/* Loopback fabrics larger than this get smaller rings unless told otherwise */
#define RMC_SMALL_NODES		16
/* log2 of descriptors and of payload lines of those smaller rings */
#define RMC_SMALL_ORDER		6
/* Nodes of a fabric when nobody says how many */
#define RMC_LOOPBACK_NODES	2
#define RMC_REGION_NODES	8

/**
 * struct rmc_config - what to emulate
 * @transport: where the fabric's memory is
 * @ni: NI organisation; NULL until rmc_config_settle() chose one
 * @region: uml: file of the host that all kernels map; NULL: none
 * @bells: uml: pipes of the host that wake kernels, a path without the node id;
 *	NULL: none
 * @nodes: size of the fabric; 0: the region's, or a default
 * @node: id to claim, -1: any
 * @sets: sets of worker threads
 * @units: units per node; 0 until settled
 * @rrpps: of these have an RRPP; 0 until settled
 * @interleave: consecutive bytes of a segment that one RRPP serves
 * @frontends: per unit, in the split organisation
 * @mtu: largest payload of a packet, bytes; 0: default
 * @itt: operations in flight per node
 * @ring_order: log2 of descriptors per ring; 0: default
 * @pay_order: log2 of payload lines per ring; 0: default
 * @att_entries: SABRes active at once per node
 * @att_depth: lines of one SABRe fetched ahead
 * @att_stall_ms: an active SABRe whose requests stay away is ended after this
 * @sabre: enum rmc_sabre_mode of segments that leave it open
 * @timeout_ms: a request without reply fails after this
 * @dead_ms: a peer without heartbeat is down after this
 * @park_us: an idle worker spins this long before it parks
 * @poll_us_max: longest sleep of a parked worker that nobody can wake
 * @share: workers share CPUs with applications; -1 until rmc_config_workers()
 * @cpus: CPUs of the worker threads; empty: choose
 */
struct rmc_config {
	const struct rmc_transport *transport;
	const struct rmc_ni_org *ni;
	const char *region;
	const char *bells;
	u32 nodes;
	s32 node;
	u32 sets;
	u32 units;
	u32 rrpps;
	u32 interleave;
	u32 frontends;
	u32 mtu;
	u32 itt;
	u32 ring_order;
	u32 pay_order;
	u32 att_entries;
	u32 att_depth;
	u32 att_stall_ms;
	u32 sabre;
	u32 timeout_ms;
	u32 dead_ms;
	u32 park_us;
	u32 poll_us_max;
	s32 share;
	struct cpumask cpus;
};

u32 rmc_sabre_mode_find(const char *name);
int rmc_config_settle(struct rmc_config *cfg);
void rmc_config_workers(struct rmc_config *cfg, u32 workers);
unsigned int rmc_config_cpu(const struct rmc_config *cfg, u32 worker);

/* What a fabric that this kernel formats takes over. */
static inline void rmc_config_units(const struct rmc_config *cfg, struct rmc_fabric *f)
{
	f->unit_order = ilog2(cfg->units);
	f->rrpp_order = ilog2(cfg->rrpps);
	f->interleave = cfg->interleave;
}

#endif
