/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that carries packets between nodes. Both ends map it, or links connect the
 * memories of the two ends.
 *
 *   node table   one line per node: state, epoch, heartbeat, parked
 *   doorbells    per unit and lane a bitmap of the units that sent something
 *   sync         per unit and node: the epoch of the node that the unit works with
 *   channels     per ordered pair of units (requester, server): a request ring
 *                and a reply ring, the two virtual lanes of A14 section 6
 *
 * A node has one or more units (Documentation/ni.rst). Each unit has an RGP and an RCP;
 * the lower ones also have an RRPP. On the fabric a unit is an endpoint:
 *
 *   endpoint = node id << unit_order | unit
 *
 * The offset of a request selects the RRPP that serves it, see rmc_home().
 *
 * A hostile peer can write all of this memory. Sizes and positions are private copies;
 * what is read is validated before use.
 *
 * A transport provides the memory of channels and the doorbell of a kernel; the rings are
 * the same for all transports. Where both ends map the memory, nothing else is needed.
 * Where they do not, each kernel has its own node table, sync, doorbells and rings, and the
 * transport copies changes to the peer's:
 *
 *	       ring --> put() --> link --> ring, doorbell --> notify()
 *   own entry, sync --> state() --> link --> the same in the peer's memory
 *
 * A link delivers each packet once and in order, or the peer's heartbeat stops. On the
 * producer's side the link consumes the ring; on the consumer's side it produces.
 */
#ifndef RMC_FABRIC_H
#define RMC_FABRIC_H

#include "../base/opcode.h"
#include "../base/param.h"
#include "../base/ring.h"
#include "model.h"

struct rmc_fabric;
struct rmc_node;

enum rmc_lane {
	RMC_LANE_REQ	= 0,	/* VL0, read by the RRPP */
	RMC_LANE_REP	= 1,	/* VL1, read by the RCP */
	RMC_LANES	= 2,
};

/* One line per node, written by that node. */
struct rmc_region_node {
	union {
		struct {
			u32 state;	/* enum rmc_node_state */
			u32 epoch;
		};
		u64 claim;		/* both, to read or change them atomically */
	};
	u32 heartbeat;
	u32 doorbell;		/* transport's address of the kernel that hosts the node */
	/* by lane and unit: the worker that consumes the lane sleeps */
	u8 parked[2][RMC_MAX_UNITS];
	u32 pad[8];
};

/* Bit n of a doorbell: endpoint n has sent a packet since the bit was cleared. */
struct rmc_doorbell {
	u64 word[RMC_MAX_NODES / 64];
};

/**
 * struct rmc_fabric_ops - link operations
 * @name: value of the fabric= parameter
 * @channel: memory of a channel between two endpoints; NULL: not yet, call again;
 *	ERR_PTR: out of memory; does not sleep
 * @notify: make the kernel that hosts endpoint @dst poll its doorbells; does not sleep
 * @reset: zero all channels from and to a node of this kernel, none of which is in use; stop
 *	when its entry has another epoch, since another kernel has claimed the id; does not
 *	sleep
 *
 * NULL where both ends map the same memory; workers call them; they do
 * not sleep:
 *
 * @put: our end of a ring from endpoint @from to @dst has packets: send them now or when the
 *	link has room; replaces @notify
 * @state: our entry for node @nid, or a row of sync of its units, may have changed: send it
 * @closed: the unit at @ep has no channel with node @nid open, and is about to acknowledge
 *	its epoch: zero our end of the channels; refuse packets of older epochs from now on
 */
struct rmc_fabric_ops {
	const char *name;
	void *(*channel)(struct rmc_fabric *f, u32 requester, u32 server);
	void (*notify)(struct rmc_fabric *f, u32 dst, enum rmc_lane lane);
	void (*reset)(struct rmc_fabric *f, u32 nid, u32 epoch);
	void (*put)(struct rmc_fabric *f, u32 from, u32 dst, enum rmc_lane lane);
	void (*state)(struct rmc_fabric *f, u32 nid);
	void (*closed)(struct rmc_fabric *f, u32 ep, u32 nid);
};

/**
 * struct rmc_fabric - one fabric as this kernel sees it
 * @ops: link operations
 * @nodes: size of the fabric
 * @unit_order: log2 of units per node
 * @rrpp_order: log2 of units per node that have an RRPP
 * @endpoints: @nodes << @unit_order
 * @mtu: largest payload of a packet, bytes
 * @ring_order: log2 of descriptors per ring
 * @pay_order: log2 of payload lines per ring
 * @timeout_ms: see RMC_TIMEOUT_MS; changes while workers run
 * @interleave: consecutive bytes that one RRPP serves, a power of two
 * @block_shift: log2 of @interleave
 * @cut: largest payload of a packet that an operation is cut into, bytes; with several RRPPs
 *	a power of two, and packets end at its multiples
 * @cut_mask: the packet at an offset has at most @cut - (offset & @cut_mask) bytes
 * @dead_ms: see RMC_DEAD_MS
 * @retries: how often an idempotent operation is retried before it times out; changes likewise
 * @model: link model
 * @shared: of a link model with each way for itself; else NULL
 * @node: shared node table
 * @doorbell: shared doorbells, RMC_LANES per endpoint
 * @sync: shared, [own endpoint * nodes + peer]; NULL when all nodes are in this
 *	kernel
 * @changes: without @sync: counts the times that a node went up or down
 * @local: units hosted here by endpoint; NULL for the others
 * @notify: wakes the worker of a lane of a unit hosted here (rmc_ni_notify()); workers call
 *	it; does not sleep
 */
struct rmc_fabric {
	const struct rmc_fabric_ops *ops;
	u32 nodes;
	u32 unit_order;
	u32 rrpp_order;
	u32 endpoints;
	u32 mtu;
	u32 ring_order;
	u32 pay_order;
	u32 timeout_ms;
	u32 interleave;
	u32 block_shift;
	u32 cut;
	u32 cut_mask;
	u32 dead_ms;
	u32 retries;
	struct rmc_model model;
	struct rmc_model_shared *shared;
	struct rmc_region_node *node;
	struct rmc_doorbell *doorbell;
	u32 *sync;
	u32 changes;
	struct rmc_node **local;
	void (*notify)(struct rmc_node *unit, enum rmc_lane lane);
};

static inline u64 rmc_claim(u32 state, u32 epoch)
{
	return (u64)epoch << 32 | state;
}

static inline u32 rmc_claim_state(u64 claim)
{
	return (u32)claim;
}

static inline u32 rmc_claim_epoch(u64 claim)
{
	return (u32)(claim >> 32);
}

/* The epoch of node @nid that the unit at @ep works with. */
static inline u32 *rmc_sync_word(const struct rmc_fabric *f, u32 ep, u32 nid)
{
	return &f->sync[ep * f->nodes + nid];
}

/* The peer's entry says it is up, under this epoch. */
static inline bool rmc_peer_up(const struct rmc_fabric *f, u32 nid, u32 *epoch)
{
	/* pairs with the barrier that made the peer UP, see rmc_node_join_poll() */
	u64 claim = smp_load_acquire(&f->node[nid].claim);

	*epoch = rmc_claim_epoch(claim);
	return rmc_claim_state(claim) == RMC_NODE_UP;
}

/* False: another kernel has claimed the id since, as after a long pause of this one. */
static inline bool rmc_claim_holds(const struct rmc_fabric *f, u32 nid, u32 epoch)
{
	return rmc_claim_epoch(READ_ONCE(f->node[nid].claim)) == epoch;
}

/* Send the entry of a node hosted here to its peers, where a link needs that. */
static inline void rmc_fabric_state(struct rmc_fabric *f, u32 nid)
{
	if (f->ops->state)
		f->ops->state(f, nid);
}

/* Bytes of one channel: request ring, then reply ring. */
static inline size_t rmc_channel_bytes(const struct rmc_fabric *f)
{
	return 2 * rmc_ring_bytes(f->ring_order, f->pay_order);
}

/*
 * Most payload bytes of a run: at least one packet, at most what a ring holds.
 * @self: the same worker produces and consumes
 */
static inline u32 rmc_fabric_run(const struct rmc_fabric *f, bool self)
{
	u32 most = self ? RMC_RUN_SELF : RMC_RUN;

	return max(f->mtu, min(most, (u32)RMC_LINE << f->pay_order));
}

static inline u64 *rmc_doorbell_word(struct rmc_fabric *f, u32 ep, enum rmc_lane lane, u32 from)
{
	return &f->doorbell[ep * RMC_LANES + lane].word[from / 64];
}

/*
 * Payload lines of a packet, by which the ring's payload position advances. The pipelines
 * advance by the same number, also for a packet that they reject.
 */
static inline u32 rmc_packet_lines(enum rmc_lane lane, u64 word0, u64 word1)
{
	u16 flags = rmc_op_flags(word0 >> 48);

	if (lane == RMC_LANE_REQ)
		return rmc_op_req_lines(flags, rmc_word1_offset(word1), rmc_word1_length(word1));
	/* an error reply has no payload */
	return word0 >> 40 & 0xff ? 0 : rmc_op_echo_lines(flags, word1);
}

/* True if each node has several units. */
static inline bool rmc_fabric_multi_unit(const struct rmc_fabric *f)
{
	return f->unit_order;
}

static inline u32 rmc_fabric_units(const struct rmc_fabric *f)
{
	return 1U << f->unit_order;
}

/* First endpoint of a node. */
static inline u32 rmc_endpoint(const struct rmc_fabric *f, u32 nid)
{
	return nid << f->unit_order;
}

/* Node of an endpoint. */
static inline u32 rmc_endpoint_nid(const struct rmc_fabric *f, u32 ep)
{
	return ep >> f->unit_order;
}

/* True if the worker that polls a doorbell of @ep has published that it sleeps. */
static inline bool rmc_endpoint_parked(const struct rmc_fabric *f, u32 ep, enum rmc_lane lane)
{
	return READ_ONCE(f->node[rmc_endpoint_nid(f, ep)].parked[lane][ep % rmc_fabric_units(f)]);
}

static inline u32 rmc_fabric_rrpps(const struct rmc_fabric *f)
{
	return 1U << f->rrpp_order;
}

/*
 * Endpoint that serves @offset of a segment of node @nid (T18 section 6.3.2). It is the
 * same for every requester, so one RRPP serves a given line.
 */
static inline u32 rmc_home(const struct rmc_fabric *f, u32 nid, u64 offset)
{
	return rmc_endpoint(f, nid) |
	       ((u32)(offset >> f->block_shift) & (rmc_fabric_rrpps(f) - 1));
}

int rmc_fabric_check(struct rmc_fabric *f);
void rmc_doorbell_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from);

/**
 * rmc_doorbell_ring() - notify an endpoint of packets in one of our rings
 * @f: fabric
 * @dst: endpoint to notify
 * @lane: lane of the ring
 * @from: our endpoint
 * @self: the consumer is the calling worker itself
 *
 * Called once per batch, after publishing. While the consumer polls the ring, the bit stays
 * set and the cost is one barrier and one load of a shared line. Over a link the bit is
 * never set.
 */
static inline void rmc_doorbell_ring(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from,
				     bool self)
{
	/* publish, then check the bit; pairs with the barrier after the
	 * consumer clears it in rmc_doorbell_clear(). A worker sees its own
	 * stores in order.
	 */
	if (!self)
		smp_mb(); /* see above */
	if (unlikely(!(READ_ONCE(*rmc_doorbell_word(f, dst, lane, from)) & (1ULL << (from % 64)))))
		rmc_doorbell_notify(f, dst, lane, from);
}

#endif
