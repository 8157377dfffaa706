/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What carries packets between nodes: memory that both ends map.
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
 * the same for all.
 */
#ifndef RMC_FABRIC_H
#define RMC_FABRIC_H

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
 */
struct rmc_fabric_ops {
	const char *name;
	void *(*channel)(struct rmc_fabric *f, u32 requester, u32 server);
	void (*notify)(struct rmc_fabric *f, u32 dst, enum rmc_lane lane);
	void (*reset)(struct rmc_fabric *f, u32 nid);
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
 * the bit stays set and this is one barrier and one load of a shared line.
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
