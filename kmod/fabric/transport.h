/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel side of a fabric: how it comes to be, besides the operations of
 * fabric.h that the pipelines use. A transport is a file that fills in one
 * struct rmc_transport.
 */
#ifndef RMC_TRANSPORT_H
#define RMC_TRANSPORT_H

#include "fabric.h"
#include "../core/node.h"

struct rmc_config;
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
 * @close: mirror of @open; the nodes have left
 */
struct rmc_transport {
	const char *name;
	u32 kind;
	bool (*present)(void);
	struct rmc_port *(*open)(const struct rmc_config *cfg);
	void (*start)(struct rmc_port *port, void (*kick)(void *data), void *data);
	void (*stop)(struct rmc_port *port);
	void (*close)(struct rmc_port *port);
};

/**
 * struct rmc_port - this kernel's end of a fabric
 * @fabric: as the pipelines see it; fabric.local is filled in by the device
 * @transport: who made it
 * @first: lowest node id hosted here
 * @locals: number of node ids hosted here, from @first on
 * @poll_us_max: parked workers look by themselves after at most this; 0: never
 * @memtype: how the memory is cached
 * @peer_alive: does the node's heartbeat move; NULL: its state tells
 */
struct rmc_port {
	struct rmc_fabric fabric;
	const struct rmc_transport *transport;
	u32 first;
	u32 locals;
	u32 poll_us_max;
	const char *memtype;
	bool (*peer_alive)(struct rmc_port *port, u32 nid);
};

/* Shortest sleep of a parked worker that looks by itself, microseconds */
#define RMC_POLL_US_MIN		50

extern const struct rmc_transport rmc_loopback;
extern const struct rmc_transport rmc_ivshmem;

const struct rmc_transport *rmc_transport_find(const char *name);
const struct rmc_transport *rmc_transport_default(void);

/* State of a node as its entry tells; whatever is in there, one of the enum. */
static inline u32 rmc_node_entry_state(const struct rmc_fabric *f, u32 nid)
{
	u32 state = READ_ONCE(f->node[nid].state);

	return state <= RMC_NODE_DOWN ? state : RMC_NODE_DOWN;
}

static inline u32 rmc_port_state(struct rmc_port *port, u32 nid)
{
	u32 state = rmc_node_entry_state(&port->fabric, nid);
	struct rmc_node *local = port->fabric.local[nid];

	/* the entry is another kernel's by now */
	if (local && READ_ONCE(local->fenced))
		return RMC_NODE_DOWN;

	if (state == RMC_NODE_UP && port->peer_alive && !port->peer_alive(port, nid))
		return RMC_NODE_DOWN;
	return state;
}

#endif
