/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel side of a fabric: set-up and tear-down. The operations that the pipelines use
 * are in fabric.h. A transport is a file that fills in one struct rmc_transport.
 */
#ifndef RMC_TRANSPORT_H
#define RMC_TRANSPORT_H

#include "config.h"
#include "fabric.h"

struct rmc_port;

/**
 * struct rmc_transport - a kind of fabric
 * @name: value of the fabric= parameter
 * @kind: enum rmc_fabric_kind
 * @present: true if this machine has what the transport needs; NULL for loopback, which
 *	needs nothing
 * @open: set up a port and claim its nodes; logs the reason of a failure
 * @start: nodes and workers exist: from now on call @kick, from any context, when a peer in
 *	another kernel rings the doorbell; may be NULL
 * @stop: mirror of @start: on return no call of @kick runs, and none follows
 * @reclaim: claim the id of the fenced local node again and store the epoch; returns 0, or a
 *	negative errno after logging the reason; NULL where no node can be fenced
 * @close: mirror of @open; the nodes have left
 */
struct rmc_transport {
	const char *name;
	u32 kind;
	bool (*present)(const struct rmc_fabric_config *cfg);
	struct rmc_port *(*open)(const struct rmc_fabric_config *cfg);
	void (*start)(struct rmc_port *port, void (*kick)(void *data), void *data);
	void (*stop)(struct rmc_port *port);
	int (*reclaim)(struct rmc_port *port);
	void (*close)(struct rmc_port *port);
};

/* Most channels that one call on a worker closes; the worker does nothing else meanwhile */
#define RMC_RETIRE_BATCH	32

/**
 * struct rmc_retire - channels of one requester that are being closed to free their memory
 * @from: endpoint of the requester
 * @n: number of closed channels
 * @to: out, endpoints of their servers
 * @may: set by the transport: true if the channels to the units of a node may be closed;
 *	called on the requester's worker; @unused: the requester has no queue pair
 * @closed: set by the transport: the requester has closed its end of them. Adds at most one
 *	entry per RRPP of the node to @to, for which there is room.
 */
struct rmc_retire {
	u32 from;
	u32 n;
	u32 to[RMC_RETIRE_BATCH];
	bool (*may)(struct rmc_port *port, const struct rmc_retire *r, u32 nid, bool unused);
	void (*closed)(struct rmc_port *port, struct rmc_retire *r, u32 nid);
};

/**
 * struct rmc_port - this kernel's end of a fabric
 * @fabric: the part that the pipelines use; the device fills in fabric.local
 * @transport: transport that opened the port
 * @first: lowest node id hosted here
 * @locals: number of node ids hosted here, from @first on
 * @epoch: epoch of the last claim of node @first; 0: no claim is needed, since no other
 *	kernel can have the ids
 * @poll_us_max: a parked worker polls again after at most this time; 0: never
 * @memtype: cache mode of the memory
 * @channel_bytes: memory of channels, where channels are allocated on demand
 * @unused: set by the device: true if a unit hosted here has no queue pair
 * @retire: set by the device: close both ends of the channels that the transport wants to
 *	free; may sleep; only between start and stop of the transport
 */
struct rmc_port {
	struct rmc_fabric fabric;
	const struct rmc_transport *transport;
	u32 first;
	u32 locals;
	u32 epoch;
	u32 poll_us_max;
	const char *memtype;
	u64 channel_bytes;
	bool (*unused)(struct rmc_port *port, u32 ep);
	void (*retire)(struct rmc_port *port, struct rmc_retire *r);
};

/* Shortest sleep of a parked worker without a doorbell, microseconds */
#define RMC_POLL_US_MIN		50
/* With a doorbell no request waits for this poll; it only advances the heartbeat. */
#define RMC_DOORBELL_POLL_FACTOR	25

/* Peers can wake our workers: poll less often, but well within the time after which
 * peers take us for dead.
 */
static inline void rmc_port_has_doorbell(struct rmc_port *port)
{
	port->poll_us_max = min(port->poll_us_max * RMC_DOORBELL_POLL_FACTOR,
				port->fabric.dead_ms * (u32)USEC_PER_MSEC / 8);
}

extern const struct rmc_transport rmc_loopback;
extern const struct rmc_transport rmc_ivshmem;
extern const struct rmc_transport rmc_uml;

const struct rmc_transport *rmc_transport_find(const char *name);
const struct rmc_transport *rmc_transport_default(const struct rmc_fabric_config *cfg);

#endif
