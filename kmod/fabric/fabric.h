/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What carries packets between nodes: memory that both ends map, or links between such
 * memories.
 *
 *   node table   one line per node: state, epoch, heartbeat, parked
 *   doorbells        per unit and lane a bitmap of the units that sent something
 *   sync         per unit and node: which epoch of the node the unit works with
 *   channels     per ordered pair of units (requester, server): a request ring
 *                and a reply ring, the two virtual lanes of A14 section 6
 *
 * A node has one or more units (Documentation/ni.rst), each with an RGP and RCP of
 * its own and, the lower ones, an RRPP. On the fabric a unit is an endpoint:
 *
 *   endpoint = node id << unit_order | unit
 *
 * Which RRPP serves a request is a matter of its offset, see rmc_home().
 *
 * Everything in there can be written by a hostile peer. Sizes and positions
 * are private copies; what is read is validated before use.
 *
 * A transport tells where channels are and how to poke a kernel; the rings are
 * the same for all. Where both ends map them that is all. Where they do not, each kernel has
 * node table, sync, doorbells and rings of its own, and the transport makes them agree:
 *
 *	       ring --> put() --> link --> ring, doorbell --> notify()
 *   own entry, sync --> state() --> link --> the same in the peer's memory
 *
 * A link delivers what it was given once and in order, or the peer falls silent. It is on
 * the producer's side a consumer of the ring, and on the other side a producer.
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
		u64 claim;		/* both, for who must see or change them at once */
	};
	u32 heartbeat;
	u32 doorbell;		/* transport's name of the kernel that hosts it */
	/* by lane and unit: the worker that reads it sleeps */
	u8 parked[2][RMC_MAX_UNITS];
	u32 pad[8];
};

/* Bit n of a doorbell: endpoint n has sent something since the bit was cleared. */
struct rmc_doorbell {
	u64 word[RMC_MAX_NODES / 64];
};

/**
 * struct rmc_fabric_ops - a transport
 * @name: as the fabric= parameter spells it
 * @channel: memory of a channel between two endpoints; NULL: not yet, ask again;
 *	ERR_PTR: there is no memory for it; does not sleep
 * @notify: make the kernel that hosts endpoint @dst look at its doorbells; does not sleep
 * @reset: zero all channels from and to a node, which nobody uses; does not sleep
 *
 * Those of links, NULL where both ends map the same memory; called by workers, do not sleep:
 *
 * @put: there are packets in our end of a ring from endpoint @from to @dst: send them, now
 *	or when the link has room; instead of @notify
 * @state: our entry for node @nid may have changed, or a row of sync of its units: send it
 * @closed: the unit at @ep has no channel with node @nid open, and is about to acknowledge
 *	its epoch: zero our end of them. What comes from older epochs is refused from now on
 */
struct rmc_fabric_ops {
	const char *name;
	void *(*channel)(struct rmc_fabric *f, u32 requester, u32 server);
	void (*notify)(struct rmc_fabric *f, u32 dst, enum rmc_lane lane);
	void (*reset)(struct rmc_fabric *f, u32 nid);
	void (*put)(struct rmc_fabric *f, u32 from, u32 dst, enum rmc_lane lane);
	void (*state)(struct rmc_fabric *f, u32 nid);
	void (*closed)(struct rmc_fabric *f, u32 ep, u32 nid);
};

/**
 * struct rmc_fabric - one fabric as this kernel sees it
 * @ops: transport
 * @nodes: size of the fabric
 * @unit_order: log2 of units per node
 * @rrpp_order: log2 of those of them that serve requests
 * @endpoints: @nodes << @unit_order
 * @mtu: largest payload of a packet, bytes
 * @ring_order: log2 of descriptors per ring
 * @pay_order: log2 of payload lines per ring
 * @timeout_ms: see RMC_TIMEOUT_MS
 * @interleave: consecutive bytes that one RRPP serves, a power of two
 * @block_shift: log2 of @interleave
 * @cut: packets have at most as many bytes; with several RRPPs a power of two, and
 *	packets end at its multiples
 * @cut_mask: of the offset, what of @cut is not there any more in a packet
 * @dead_ms: see RMC_DEAD_MS
 * @retries: times that an idempotent operation begins again before it times out
 * @model: link model
 * @shared: of the link model, where all kernels of the fabric share a clock; else NULL
 * @node: shared node table
 * @bell: shared doorbells, RMC_LANES per endpoint
 * @sync: shared, [own endpoint * nodes + peer]; NULL when all nodes are in this
 *	kernel
 * @changes: without @sync: how often a node went up or down
 * @local: units hosted here by endpoint; NULL for the others
 * @notify: their doorbell: a lane of a unit hosted here has something to read. Given by
 *	whoever polls the units; from a worker, does not sleep
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
	struct rmc_doorbell *bell;
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

/* Which epoch of node @nid the unit at @ep works with. */
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

/* What peers may read of a node hosted here has changed. */
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
 * Most bytes of packets that move as one run: not more than a ring has, nor a packet less.
 * @self: the other side is the same worker
 */
static inline u32 rmc_fabric_run(const struct rmc_fabric *f, bool self)
{
	u32 most = self ? RMC_RUN_SELF : RMC_RUN;

	return max(f->mtu, min(most, (u32)RMC_LINE << f->pay_order));
}

static inline u64 *rmc_doorbell_word(struct rmc_fabric *f, u32 ep, enum rmc_lane lane, u32 from)
{
	return &f->bell[ep * RMC_LANES + lane].word[from / 64];
}

/*
 * Payload lines behind a packet, which moves what is read of its ring's payload by so many:
 * as many as the pipelines take, also of a packet that makes no sense to them.
 */
static inline u32 rmc_packet_lines(enum rmc_lane lane, u64 word0, u64 word1)
{
	u16 flags = rmc_op_flags(word0 >> 48);

	if (lane == RMC_LANE_REQ)
		return rmc_op_req_lines(flags, rmc_word1_offset(word1), rmc_word1_length(word1));
	/* errors come alone */
	return word0 >> 40 & 0xff ? 0 : rmc_op_echo_lines(flags, word1);
}

/* Has a node several units? */
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

/* Does the worker that looks at a doorbell of @ep sleep, for all it says? */
static inline bool rmc_endpoint_parked(const struct rmc_fabric *f, u32 ep, enum rmc_lane lane)
{
	return READ_ONCE(f->node[rmc_endpoint_nid(f, ep)].parked[lane][ep % rmc_fabric_units(f)]);
}

static inline u32 rmc_fabric_rrpps(const struct rmc_fabric *f)
{
	return 1U << f->rrpp_order;
}

/*
 * Endpoint that serves what is at @offset of a segment of node @nid (T18 section
 * 6.3.2): the same for every requester, hence one RRPP per line.
 */
static inline u32 rmc_home(const struct rmc_fabric *f, u32 nid, u64 offset)
{
	return rmc_endpoint(f, nid) |
	       ((u32)(offset >> f->block_shift) & (rmc_fabric_rrpps(f) - 1));
}

int rmc_fabric_check(struct rmc_fabric *f);
void rmc_doorbell_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from);

/**
 * rmc_doorbell_ring() - tell a node that a ring of ours has something for it
 * @f: fabric
 * @dst: endpoint told
 * @lane: lane of the ring
 * @from: our endpoint
 * @self: the consumer is the calling worker itself
 *
 * Once per batch, after publishing. While the consumer polls the ring anyway
 * the bit stays set and this is one barrier and one load of a shared line. Over a link the
 * bit is never set.
 */
static inline void rmc_doorbell_ring(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from,
				     bool self)
{
	/* publish, then look at the bit; pairs with the barrier after the
	 * consumer clears it in rmc_doorbell_clear(). A worker need not wait for
	 * its own stores.
	 */
	if (!self)
		smp_mb(); /* see above */
	if (unlikely(!(READ_ONCE(*rmc_doorbell_word(f, dst, lane, from)) & (1ULL << (from % 64)))))
		rmc_doorbell_notify(f, dst, lane, from);
}

#endif
