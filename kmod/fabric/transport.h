/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel side of a fabric: how it comes to be, besides the operations of
 * fabric.h that the pipelines use. A transport is a file that fills in one
 * struct rmc_transport.
 */
#ifndef RMC_TRANSPORT_H
#define RMC_TRANSPORT_H

#include "config.h"
#include "fabric.h"

struct rmc_port;

/**
 * struct rmc_transport - a kind of fabric
 * @name: as the fabric= parameter spells it
 * @kind: enum rmc_fabric_kind
 * @present: is there what it needs; loopback, which needs nothing, has none
 * @open: set up a port and claim its nodes; tells the reason when it fails
 * @start: nodes and workers exist: call @kick when a peer in another kernel
 *	rang, from any context; may be NULL
 * @stop: mirror of @start: no call of @kick runs or comes after it
 * @reclaim: claim the id of the local node again, which was fenced, and store the epoch:
 *	0, or a negative errno after telling the reason; NULL: none ever is
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

/* Channels closed by one call on a worker, which does nothing else meanwhile */
#define RMC_RETIRE_BATCH	32

/**
 * struct rmc_retire - channels of one requester whose ends are being closed, so that
 *	their memory can be freed
 * @from: endpoint of the requester
 * @n: how many are closed
 * @to: out, endpoints of their servers
 * @may: the transport's: may those to the units of a node go; called on the requester's
 *	worker, @unused: it has no queue pair
 * @closed: likewise: the requester closed its end of them. Adds at most one entry per RRPP
 *	of the node to @to, for which there is room.
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
 * @fabric: as the pipelines see it; fabric.local is filled in by the device
 * @transport: who made it
 * @first: lowest node id hosted here
 * @locals: number of node ids hosted here, from @first on
 * @epoch: under which the node @first was claimed last; 0: nothing is claimed, since no other
 *	kernel can have the ids
 * @poll_us_max: parked workers look by themselves after at most this; 0: never
 * @memtype: how the memory is cached
 * @channel_bytes: memory of channels, where it is allocated when they are used
 * @unused: has a unit hosted here no queue pair; given by the device, as is
 * @retire: close both ends of what the transport wants to free; may sleep. Between start
 *	and stop of the transport
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

/* Shortest sleep of a parked worker that looks by itself, microseconds */
#define RMC_POLL_US_MIN		50
/* With doorbells nobody waits for the poll; it only moves the heartbeat. */
#define RMC_DOORBELL_POLL_FACTOR	25

/* Peers can wake our workers: look less often, but well within the time after
 * which they think that we are dead.
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
