/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node: one RMC, or several units of one (Documentation/ni.rst). Each part of its
 * state has one owning worker; in the fused organisation all have the same one. There
 * are no locks: to change state of a worker, post a call to it, which it executes
 * between two visits (ni/calls.h).
 *
 * Each unit is a struct rmc_node, and of its siblings has only their addresses. The
 * first one, the head, acts for the node: it joins, writes the heartbeat, watches the
 * peers and reports their changes.
 */
#ifndef RMC_NODE_H
#define RMC_NODE_H

#include "channel.h"
#include "cq.h"
#include "ct.h"
#include "itt.h"
#include "op.h"
#include "state.h"
#include "../base/wire.h"

struct rmc_ni_worker;
struct rmc_tx_slots;

/**
 * struct rmc_peer - a node's view of a peer; belongs to RGP and RCP, any thread may read it
 * @state: enum rmc_node_state; DOWN also if the heartbeat of an UP peer has stopped
 * @epoch: the peer's
 * @heartbeat: last value read
 * @beat_ms: when it last changed, or the peer came up
 * @silent: it has not changed for dead_ms
 * @linked: channels between us and the peer may be used
 */
struct rmc_peer {
	u32 state;
	u32 epoch;
	u32 heartbeat;
	u32 beat_ms;
	bool silent;
	bool linked;
};

/**
 * struct rmc_order_group - ordered queue pairs of a unit that keep their order together
 * @owner: user, or tenant, that the first one was of, until its last one has gone; NULL: nobody
 * @qps: how many
 * @owners: those of @owner among them
 */
struct rmc_order_group {
	const struct rmc_tenant *owner;
	u32 qps;
	u32 owners;
};

/* Counters; one worker writes each; any thread may read it. */
#define RMC_STATS(X)		\
	X(wq_entries)		\
	X(requests)		\
	X(request_bytes)	\
	X(itt_stalls)		\
	X(credit_stalls)	\
	X(order_stalls)		\
	X(served)		\
	X(served_bytes)		\
	X(serve_errors)		\
	X(att_registered)	\
	X(att_stalls)		\
	X(att_ended)		\
	X(att_reclaims)		\
	X(replies)		\
	X(reply_bytes)		\
	X(stale_replies)	\
	X(bad_replies)		\
	X(completions)		\
	X(errors)		\
	X(timeouts)		\
	X(lost_replies)		\
	X(doubled_replies)	\
	X(restarts)		\
	X(aborts)		\
	X(peer_downs)		\
	X(tx_commits)		\
	X(tx_squashed)		\
	X(tx_locked)		\
	X(tx_full)		\
	X(tx_stale)		\
	X(tx_lost)		\
	X(tx_aborts)

struct rmc_stats {
#define RMC_STAT_FIELD(name) u64 name;
	RMC_STATS(RMC_STAT_FIELD)
#undef RMC_STAT_FIELD
};

#define rmc_stat_add(node, name, n) \
	rmc_os_count((node)->stats.name, n)
#define rmc_stat_inc(node, name)	rmc_stat_add(node, name, 1)

#define RMC_STATE_MEMBER(name)	struct rmc_##name name;
#define RMC_STATE_MEMBERS	RMC_STATES(RMC_STATE_MEMBER)

/**
 * struct rmc_node - one RMC, or one unit of it
 * @fabric: fabric it is part of
 * @nid: id of the node
 * @ep: its endpoint on the fabric
 * @req_worker: worker that runs its RGP and RCP
 * @srv_worker: worker that runs its RRPP
 * @itt: operations in flight (RGP, RCP)
 * @out: channels to peers, by endpoint, NULL until used (RGP, RCP); those to one
 *	node are opened together, the first one last
 * @peer: its view of them, by node id (head's RGP, RCP)
 * @changes: value of fabric->changes when @peer was updated
 * @req_ms: milliseconds this node has run: time-outs do not count a pause
 * @last_ms: clock at the last tick
 * @qps: queue pairs
 * @touched: bit per RRPP of one node: it may have new requests, and its doorbell was not rung
 *	yet
 * @req_sources: sources that its last visit polled (RCP)
 * @local: use the local path where possible, see local.h; may change at any time (RGP)
 * @local_pay: payload of an operation on the local path (RGP)
 * @ct: segments (RRPP); all units have the same ones
 * @in: channels from peers, by endpoint, NULL until used (RRPP)
 * @srv_changes: value of fabric->changes when @in was updated
 * @srv_sources: sources that its last visit polled (RRPP)
 * @srv_ms: milliseconds that the RRPP has run: a pause counts little, see rmc_state_tick() (RRPP)
 * @srv_last_ms: clock at its last tick (RRPP); behind it a member for each row of state.h
 * @epoch: under which this node joined (head)
 * @up: joined: channels may be opened (head)
 * @fenced: another kernel has claimed the id: this node serves and sends nothing until it
 *	is claimed anew
 * @left: taken down by the administrator; may join again (head)
 * @claimed: epoch under which the transport claimed the id, until the node joins with it; 0:
 *	joining takes the next one (head)
 * @join_ms: when joining began (head)
 * @beat: own heartbeat (head)
 * @scan_ms: when the ITT was last checked for time-outs
 * @peer_beat: by peer, heartbeat when joining began (head)
 * @out_epoch: by peer, epoch for which RGP and RCP closed the channels of older ones;
 *	written by their worker, read by the RRPP's before it acknowledges the epoch
 * @links: receiving ends of its links: filters and the link model
 * @req_stopped: RGP and RCP are stopped, see dev/link.c (RGP, RCP)
 * @srv_stopped: the RRPP is stopped (RRPP)
 * @head: first unit of the node
 * @unit: all units of the node
 * @index: by lane, its index in the worker's rmc_ni_worker.node
 * @front: its frontends, in the split organisation
 * @fronts: number of @front
 * @group: of ordered queue pairs, from 1 on (RGP)
 * @next_group: see rmc_order_join() (RGP)
 * @next_number: where to look for a number that no queue pair has (RGP)
 * @numbers: bit per number that one has (RGP)
 * @renewals: rmc_order_tick() has to look at groups, so there have to be ticks (RGP, RCP)
 * @renew_later: ... if there are ticks: the worker may park (RGP, RCP)
 * @tx: contexts whose queue pairs have slots for transactions (RGP)
 * @txs: number of @tx (RGP)
 * @tx_gen: none of an engine that this unit had is newer (RGP)
 * @stats: counters
 */
struct rmc_node {
	struct rmc_fabric *fabric;
	u32 nid;
	u32 ep;
	struct rmc_ni_worker *req_worker;
	struct rmc_ni_worker *srv_worker;

	struct rmc_itt itt;
	struct rmc_out **out;
	struct rmc_peer *peer;
	u32 changes;
	u32 req_ms;
	u32 last_ms;
	u32 qps;
	u32 touched;
	u32 req_sources;
	bool local;
	u8 local_pay[RMC_LOCAL_LINES * RMC_LINE] ____cacheline_aligned;

	struct rmc_ct ct ____cacheline_aligned;
	struct rmc_in **in;
	u32 srv_changes;
	u32 srv_sources;
	u32 srv_ms;
	u32 srv_last_ms;

	RMC_STATE_MEMBERS

	u32 epoch;
	bool up;
	bool fenced;
	bool left;
	u32 claimed;
	u32 join_ms;
	u32 beat;
	u32 scan_ms;
	u32 *peer_beat;
	u32 *out_epoch;

	struct rmc_links links;
	bool req_stopped;
	bool srv_stopped;

	struct rmc_node *head;
	struct rmc_node **unit;
	u32 index[RMC_LANES];
	struct rmc_ni_worker *front[RMC_MAX_FRONTENDS];
	u32 fronts;
	struct rmc_order_group group[RMC_REQ_GROUPS];
	u32 next_group;
	u32 next_number;
	u64 numbers[RMC_MAX_QPS / 64];
	bool renewals;
	bool renew_later;
	struct rmc_tx_slots *tx[RMC_TX_ENGINES];
	u32 txs;
	u32 tx_gen;
	struct rmc_stats stats ____cacheline_aligned;
};

/* Part of a domain that belongs to a unit */
static inline struct rmc_domain_unit *rmc_domain_unit(const struct rmc_domain *d,
						      const struct rmc_node *unit)
{
	return &d->unit[unit->ep - unit->head->ep];
}

/* True if rmc_state_poll() may have work. The caller is the RRPP's worker. */
static inline bool rmc_state_due(const struct rmc_node *node)
{
	u32 used = 0;

#define RMC_STATE_ROW(name) used |= node->name.used;
	RMC_POLLED_STATES(RMC_STATE_ROW)
#undef RMC_STATE_ROW
	return used;
}

/*
 * Milliseconds since the last tick; updates *@last_ms. The clocks of two CPUs may differ:
 * after a step back nothing counts until the clock has caught up, so no time counts twice.
 * A larger step back restarts the count.
 */
static inline u32 rmc_ms_passed(u32 *last_ms, u32 now_ms)
{
	s32 passed = now_ms - *last_ms;

	if (passed < 0 && passed > -RMC_TICK_GAP_MS)
		return 0;
	*last_ms = now_ms;
	return passed > 0 ? passed : 0;
}

#endif
