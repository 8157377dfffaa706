/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A node: one RMC, or several units of one (Documentation/ni.rst). Its state is
 * split by the worker that may touch it; in the fused organisation that is the
 * same one. There are no locks: control reaches a worker as a call it executes
 * between two visits (ni/ni.h).
 *
 * Each unit is a struct rmc_node, which knows nothing of its siblings but where
 * they are. The first one, the head, speaks for the node: it joins, has the
 * heartbeat, watches the peers and tells of them.
 */
#ifndef RMC_NODE_H
#define RMC_NODE_H

#include "att.h"
#include "channel.h"
#include "cq.h"
#include "ct.h"
#include "itt.h"
#include "op.h"
#include "../base/wire.h"

struct rmc_ni_worker;

/**
 * struct rmc_peer - a peer as one node sees it; belongs to RGP and RCP, anybody may read
 * @state: enum rmc_node_state; a heartbeat that stands still makes UP DOWN
 * @epoch: the peer's
 * @heartbeat: last value seen
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

/* Counters; each is written by one worker and read by anybody. */
#define RMC_STATS(X)		\
	X(wq_entries)		\
	X(requests)		\
	X(request_bytes)	\
	X(itt_stalls)		\
	X(credit_stalls)	\
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
	X(peer_downs)

struct rmc_stats {
#define RMC_STAT_FIELD(name) u64 name;
	RMC_STATS(RMC_STAT_FIELD)
#undef RMC_STAT_FIELD
};

#define rmc_stat_add(node, name, n) \
	rmc_os_count((node)->stats.name, n)
#define rmc_stat_inc(node, name)	rmc_stat_add(node, name, 1)

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
 * @peer: what it knows of them, by node id (head's RGP, RCP)
 * @changes: of the fabric that @peer accounts for
 * @req_ms: milliseconds this node has run: time-outs do not count a pause
 * @last_ms: clock at the last tick
 * @scan_ms: when time-outs were last looked for
 * @qps: queue pairs
 * @touched: RRPPs of one node that the RGP may have sent to and has not told yet
 * @local: operations between ends of one worker need no packets, see local.h; may change at
 *	any time (RGP)
 * @direct: payload of an operation without packets (RGP), see local.h
 * @ct: segments (RRPP); all units know the same ones
 * @in: channels from peers, by endpoint, NULL until used (RRPP)
 * @srv_changes: of the fabric that @in accounts for
 * @att: announced operations of peers (RRPP)
 * @epoch: under which this node joined (head)
 * @up: joined: channels may be opened (head)
 * @fenced: another kernel took the id over: this node is out until it is
 *	claimed anew
 * @left: taken down by the administrator; may join again (head)
 * @claimed: epoch under which the transport claimed the id, which has not joined since; 0:
 *	joining takes the next one (head)
 * @join_ms: when joining began (head)
 * @beat: own heartbeat (head)
 * @peer_beat: by peer, heartbeat when joining began (head)
 * @out_epoch: by peer, epoch for which RGP and RCP let go of the older one;
 *	written by their worker, read by the RRPP's before it tells the peer
 * @links: receiving ends of its links: filters and the link model
 * @req_stopped: RGP and RCP stand still (RGP, RCP)
 * @srv_stopped: the RRPP stands still (RRPP)
 * @head: first unit of the node
 * @unit: all of them
 * @index: by lane, its place among those of its worker
 * @front: workers that poll queue pairs for it, in the split organisation
 * @fronts: how many
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
	u32 scan_ms;
	u32 qps;
	u32 touched;
	bool local;
	u8 direct[RMC_LOCAL_LINES * RMC_LINE] ____cacheline_aligned;

	struct rmc_ct ct ____cacheline_aligned;
	struct rmc_in **in;
	u32 srv_changes;
	struct rmc_att att;

	u32 epoch;
	bool up;
	bool fenced;
	bool left;
	u32 claimed;
	u32 join_ms;
	u32 beat;
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
	struct rmc_stats stats ____cacheline_aligned;
};

/*
 * Milliseconds since the last tick; moves *@last_ms on. The clocks of two CPUs may
 * differ: one that steps back counts nothing until it has caught up, so that no time
 * counts twice. A larger step starts anew.
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
