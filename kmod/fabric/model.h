/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link model: the time that packets travel in the emulated machine.
 *
 * Clocks of different kernels do not agree, so no timestamp crosses the fabric. The
 * requester records when the last bit of a request left, and holds the reply until the
 * round trip of the model is over:
 *
 *   due = sent + base + 2 x hops x hop - local
 *
 * Bandwidth: a node has ports, one in a crossbar and one per direction and
 * dimension in a torus. A request waits until its outgoing port is free, then occupies the
 * port for the time that its bytes take. A reply does the same with its incoming port.
 * Routes are in dimension order, the lowest first. Contention on the links between other
 * nodes is not modelled.
 *
 * If both ends share a clock and memory (loopback, simulation), each way can be modelled
 * separately (@one_way). A request then takes its time before the server acts, and every
 * packet occupies a port of both nodes:
 *
 *   request   port out --- hops ---> port in      due = sent + hops x hop
 *   reply     port in <--- hops --- port out      due = left + hops x hop + base - local
 *
 * Several racks (A14 section 8): a crossbar in each, and between them links of their own latency
 * and bandwidth, as of a conventional network. What goes to another rack passes two crossbars, and
 * occupies the rack's link after the node's port. The link is shared by the rack's nodes with
 * @one_way; else each node has the link to itself.
 */
#ifndef RMC_MODEL_H
#define RMC_MODEL_H

#include "../base/param.h"

#define RMC_DIMENSIONS		3
#define RMC_PORTS		(2 * RMC_DIMENSIONS)
/* with racks: the rack's link, of its first node; port 0 is the node's own */
#define RMC_RACK_PORT		1
/* bytes of a packet besides its payload; the papers' have 11 (T18 table 3.1) */
#define RMC_PACKET_HEADER	16
/* longest time that the model may add, nanoseconds */
#define RMC_MODEL_NS_MAX	1000000000

enum rmc_topology {
	RMC_TOPOLOGY_NONE	= 0,	/* as fast as the emulator can */
	RMC_TOPOLOGY_CROSSBAR	= 1,
	RMC_TOPOLOGY_TORUS2D	= 2,
	RMC_TOPOLOGY_TORUS3D	= 3,
	RMC_TOPOLOGY_RACKS	= 4,
};

/**
 * struct rmc_model - the machine that is emulated
 * @topology: enum rmc_topology
 * @dim: nodes per dimension; their product is at least the number of nodes. Racks: the first is
 *	the number of nodes in each
 * @hop_ns: one hop, one way
 * @base_ns: service time at the destination, added once per round trip
 * @local_ns: time that posting and completion take in the emulator; subtracted
 * @mbps: bandwidth of a link in one direction, megabits per second; 0: unlimited
 * @rack_ns: racks: time between two of them, one way, besides two hops
 * @rack_mbps: racks: bandwidth of a rack's link in one direction; 0: unlimited
 * @one_way: 1: model each way separately, which needs struct rmc_model_shared
 */
struct rmc_model {
	u32 topology;
	u32 dim[RMC_DIMENSIONS];
	u32 hop_ns;
	u32 base_ns;
	u32 local_ns;
	u32 mbps;
	u32 rack_ns;
	u32 rack_mbps;
	u32 one_way;
};

/**
 * struct rmc_path - the model as one requester sees one destination
 * @rtt_ns: added between sending and delivering the reply
 * @request_ns: with one_way: between sending a request and serving it
 * @reply_ns: likewise, between sending a reply and delivering it
 * @byte_fs: femtoseconds per byte of a link; 0: unlimited
 * @rack_fs: femtoseconds per byte of the link between racks; 0: unlimited, or the same rack
 * @rack: first node of the requester's rack
 * @far_rack: first node of the other one
 * @out: port that packets to the other node leave by
 * @in: port that its packets come in by
 * @back: port of the other node that its packets leave by
 */
struct rmc_path {
	u64 rtt_ns;
	u64 request_ns;
	u64 reply_ns;
	u64 byte_fs;
	u64 rack_fs;
	u32 rack;
	u32 far_rack;
	u8 out;
	u8 in;
	u8 back;
};

/**
 * struct rmc_port_time - a port of a node
 * @out_ns: when it is free for the next outgoing packet
 * @in_ns: when it is free for the next incoming packet
 */
struct rmc_port_time {
	u64 out_ns;
	u64 in_ns;
};

/**
 * struct rmc_model_shared - state that both ends of all links share, of kernels with one clock
 * @nodes: of the fabric
 * @endpoints: of the fabric
 * @ring_order: log2 of the slots of its request rings
 * @port: of each node; written by all workers
 * @sent: by requester's and server's endpoint, by slot of the request ring: when the last
 *	bit of a request left; NULL until the channel has a filter
 */
struct rmc_model_shared {
	u32 nodes;
	u32 endpoints;
	u32 ring_order;
	struct rmc_port_time (*port)[RMC_PORTS];
	u64 **sent;
};

struct rmc_model_shared *rmc_model_share(u32 nodes, u32 endpoints, u32 ring_order);
void rmc_model_unshare(struct rmc_model_shared *s);
void rmc_model_reset(struct rmc_model_shared *s);
u64 *rmc_model_sent_times(struct rmc_model_shared *s, u32 requester, u32 server);

int rmc_model_check(const struct rmc_model *m, u32 nodes);
u32 rmc_model_hops(const struct rmc_model *m, u32 from, u32 to);
void rmc_model_path(const struct rmc_model *m, u32 from, u32 to, struct rmc_path *path);

/* Nanoseconds that @bytes take: 2^16 x 2^33 at most, no overflow. */
static inline u64 rmc_path_ns(const struct rmc_path *path, u32 bytes)
{
	return rmc_os_div(bytes * path->byte_fs, 1000000);
}

/* The same on the link between racks */
static inline u64 rmc_path_rack_ns(const struct rmc_path *path, u32 bytes)
{
	return rmc_os_div(bytes * path->rack_fs, 1000000);
}

#endif
