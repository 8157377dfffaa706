/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What carries packets between nodes: memory that both ends map.
 *
 *   node table   one line per node: state, epoch, heartbeat, parked
 *   bells        per node and lane a bitmap of the peers that sent something
 *   sync         per ordered pair: which epoch of the peer a node works with
 *   channels     per ordered pair (requester, server): a request ring and a
 *                reply ring, the two virtual lanes of A14 section 6
 *
 * Everything in there can be written by a hostile peer. Sizes and positions
 * are private copies; what is read is judged before use.
 *
 * A transport tells where channels are and how to poke a kernel; the rings are
 * the same for all.
 */
#ifndef RMC_FABRIC_H
#define RMC_FABRIC_H

#include "../core/param.h"
#include "../core/ring.h"
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
	u32 parked[2];		/* by lane: the worker that reads it sleeps */
	u32 pad[10];
};

/* Bit n of a bell: node n has sent something since the bit was cleared. */
struct rmc_bell {
	u64 word[RMC_MAX_NODES / 64];
};

/**
 * struct rmc_fabric_ops - a transport
 * @name: as the fabric= parameter spells it
 * @channel: memory of a channel; NULL: not yet, ask again; does not sleep
 * @notify: make the kernel that hosts @dst look at its bells; does not sleep
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
 * @mtu: largest payload of a packet, bytes
 * @ring_order: log2 of descriptors per ring
 * @pay_order: log2 of payload lines per ring
 * @timeout_ms: see RMC_TIMEOUT_MS
 * @dead_ms: see RMC_DEAD_MS
 * @retries: times that an idempotent operation begins again before it times out
 * @model: link model
 * @node: shared node table
 * @bell: shared bells, RMC_LANES per node
 * @sync: shared, [self * nodes + peer]; NULL when all nodes are in this kernel
 * @changes: without @sync: how often a node went up or down
 * @local: nodes hosted here by node id; NULL for the others
 */
struct rmc_fabric {
	const struct rmc_fabric_ops *ops;
	u32 nodes;
	u32 mtu;
	u32 ring_order;
	u32 pay_order;
	u32 timeout_ms;
	u32 dead_ms;
	u32 retries;
	struct rmc_model model;
	struct rmc_region_node *node;
	struct rmc_bell *bell;
	u32 *sync;
	u32 changes;
	struct rmc_node **local;
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

static inline u64 *rmc_bell_word(struct rmc_fabric *f, u32 node, enum rmc_lane lane, u32 from)
{
	return &f->bell[node * RMC_LANES + lane].word[from / 64];
}

int rmc_fabric_check(const struct rmc_fabric *f);
void rmc_bell_notify(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from);

/**
 * rmc_bell_ring() - tell a node that a ring of ours has something for it
 * @f: fabric
 * @dst: node told
 * @lane: lane of the ring
 * @from: our node id
 * @self: the consumer is the calling worker itself
 *
 * Once per batch, after publishing. While the consumer polls the ring anyway
 * the bit stays set and this is one barrier and one load of a shared line.
 */
static inline void rmc_bell_ring(struct rmc_fabric *f, u32 dst, enum rmc_lane lane, u32 from,
				 bool self)
{
	/* publish, then look at the bit; pairs with the barrier after the
	 * consumer clears it in rmc_bell_settle(). A worker need not wait for
	 * its own stores.
	 */
	if (!self)
		smp_mb(); /* see above */
	if (unlikely(!(READ_ONCE(*rmc_bell_word(f, dst, lane, from)) & (1ULL << (from % 64)))))
		rmc_bell_notify(f, dst, lane, from);
}

#endif
