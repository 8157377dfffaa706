// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes: set-up, opening and closing of channels, joining and leaving a fabric,
 * and the periodic look at peers and time-outs.
 *
 * How a node joins a fabric whose nodes come and go (fabric->sync != NULL).
 * Channels hold positions, so both ends must agree to start from zero:
 *
 *   joiner b: epoch++, state JOINING; waits until every peer a that is alive
 *             wrote sync[a][b] = epoch(b); zeroes all its channels; UP.
 *   peer a:   sees a new epoch of b: RGP/RCP end what is in flight to b and
 *             close their end, then the RRPP closes its end and writes sync.
 *   either:   opens a channel only while itself and the peer are UP and each
 *             has acknowledged the other's epoch.
 */
#include "node.h"
#include "pipeline.h"

static u32 *sync_word(struct rmc_fabric *f, u32 self, u32 peer)
{
	return &f->sync[self * f->nodes + peer];
}

/* May channels between us and the peer be used? *epoch is the peer's. */
static bool linked(struct rmc_node *node, u32 nid, u32 *epoch)
{
	struct rmc_fabric *f = node->fabric;

	/* pairs with the release in rmc_node_join_poll() */
	if (!smp_load_acquire(&node->up) || !rmc_peer_up(f, nid, epoch))
		return false;
	if (!f->sync)
		return true;
	/* pairs with the release in the peer's rmc_node_tick_srv() */
	return smp_load_acquire(sync_word(f, nid, node->nid)) == node->epoch &&
	       READ_ONCE(*sync_word(f, node->nid, nid)) == *epoch;
}

/**
 * rmc_node_create() - make a node
 * @f: fabric
 * @nid: node id, less than @f->nodes
 * @itt_entries: operations in flight
 *
 * Return: node or NULL when out of memory.
 * Context: may sleep.
 */
struct rmc_node *rmc_node_create(struct rmc_fabric *f, u32 nid, u32 itt_entries)
{
	struct rmc_node *node = rmc_os_zalloc(sizeof(*node));

	if (!node)
		return NULL;
	node->fabric = f;
	node->nid = nid;
	node->out = rmc_os_zalloc(f->nodes * sizeof(*node->out));
	node->in = rmc_os_zalloc(f->nodes * sizeof(*node->in));
	node->peer_beat = rmc_os_zalloc(f->nodes * sizeof(u32));
	node->out_epoch = rmc_os_zalloc(f->nodes * sizeof(u32));
	if (!node->out || !node->in || !node->peer_beat || !node->out_epoch ||
	    rmc_itt_init(&node->itt, itt_entries)) {
		rmc_node_destroy(node);
		return NULL;
	}
	return node;
}

/**
 * rmc_node_destroy() - free a node whose workers no longer run
 * @node: node
 *
 * Context: may sleep.
 */
void rmc_node_destroy(struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < node->fabric->nodes; i++) {
		if (node->out)
			rmc_os_free(node->out[i]);
		if (node->in)
			rmc_os_free(node->in[i]);
	}
	rmc_itt_destroy(&node->itt);
	rmc_os_free(node->out_epoch);
	rmc_os_free(node->peer_beat);
	rmc_os_free(node->in);
	rmc_os_free(node->out);
	rmc_os_free(node);
}

/**
 * rmc_out_open() - requester's end of the channel to a peer
 * @node: node; the caller is its RGP worker
 * @nid: peer, less than fabric->nodes
 * @status: out, why not: RMC_S_NODE_DOWN; RMC_S_OK: not yet, ask again
 *
 * Return: open end, or NULL.
 * Context: worker, does not sleep.
 */
struct rmc_out *rmc_out_open(struct rmc_node *node, u32 nid, u8 *status)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_out *out = node->out[nid];
	void *mem;
	u32 epoch;

	*status = RMC_S_NODE_DOWN;
	if (out)
		return out->down ? NULL : out;
	if (!linked(node, nid, &epoch))
		return NULL;
	mem = f->ops->channel(f, node->nid, nid);
	if (!mem) {
		*status = RMC_S_OK;
		return NULL;
	}
	if (IS_ERR(mem))
		return NULL;
	out = rmc_os_zalloc_atomic(sizeof(*out));
	if (!out) {
		*status = RMC_S_OK;
		return NULL;
	}
	rmc_ring_init(&out->req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&out->rep, (u8 *)mem + rmc_ring_bytes(f->ring_order, f->pay_order),
		      f->ring_order, f->pay_order);
	out->credits = out->req.mask + 1;
	out->req_lines = out->req.pay_mask + 1;
	out->rep_lines = out->rep.pay_mask + 1;
	out->epoch = epoch;
	out->self = f->local[nid] && f->local[nid]->srv_worker == node->req_worker;
	out->heartbeat = READ_ONCE(f->node[nid].heartbeat);
	out->beat_ms = node->req_ms;
	node->out[nid] = out;
	*status = RMC_S_OK;
	return out;
}

/**
 * rmc_out_close() - end everything in flight to a peer and forget the channel
 * @node: node; the caller is its RGP and RCP worker
 * @nid: peer
 *
 * Context: worker, does not sleep.
 */
void rmc_out_close(struct rmc_node *node, u32 nid)
{
	struct rmc_abort down = { .nid = nid, .status = RMC_S_NODE_DOWN };

	if (!node->out[nid])
		return;
	rmc_itt_abort(node, &down);
	rmc_os_free_atomic(node->out[nid]);
	node->out[nid] = NULL;
}

/**
 * rmc_in_open() - server's end of the channel from a peer
 * @node: node; the caller is its RRPP worker
 * @nid: peer, less than fabric->nodes
 *
 * Clears the peer's bell bit when there is no channel: a peer that may send
 * rings again after it published.
 *
 * Return: open end, or NULL.
 * Context: worker, does not sleep.
 */
struct rmc_in *rmc_in_open(struct rmc_node *node, u32 nid)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_in *in;
	u32 epoch;
	void *mem;

	if (!linked(node, nid, &epoch)) {
		rmc_bell_settle(node, RMC_LANE_REQ, nid, NULL);
		return NULL;
	}
	mem = f->ops->channel(f, nid, node->nid);
	if (!mem || IS_ERR(mem))
		return NULL;
	in = rmc_os_zalloc_atomic(sizeof(*in));
	if (!in)
		return NULL;
	rmc_ring_init(&in->req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(&in->rep, (u8 *)mem + rmc_ring_bytes(f->ring_order, f->pay_order),
		      f->ring_order, f->pay_order);
	in->epoch = epoch;
	in->self = f->local[nid] && f->local[nid]->req_worker == node->srv_worker;
	node->in[nid] = in;
	return in;
}

/**
 * rmc_in_close() - forget the channel from a peer
 * @node: node; the caller is its RRPP worker
 * @nid: peer
 *
 * Context: worker, does not sleep.
 */
void rmc_in_close(struct rmc_node *node, u32 nid)
{
	rmc_os_free_atomic(node->in[nid]);
	node->in[nid] = NULL;
}

/**
 * rmc_node_join() - announce a node
 * @node: node; its workers do not run yet
 * @now_ms: node milliseconds
 *
 * rmc_node_join_poll() completes it.
 */
void rmc_node_join(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_region_node *self = &f->node[node->nid];
	u32 i;

	node->epoch = READ_ONCE(self->epoch) + 1;
	if (!node->epoch)
		node->epoch = 1;
	node->join_ms = now_ms;
	node->last_ms = now_ms;
	for (i = 0; i < f->nodes; i++)
		node->peer_beat[i] = READ_ONCE(f->node[i].heartbeat);
	WRITE_ONCE(self->parked[RMC_LANE_REQ], 0);
	WRITE_ONCE(self->parked[RMC_LANE_REP], 0);
	WRITE_ONCE(self->epoch, node->epoch);
	/* pairs with the acquire in rmc_node_tick_req() */
	smp_store_release(&self->state, RMC_NODE_JOINING);
}

/* Does the peer still have to acknowledge our epoch? */
static bool awaited(struct rmc_node *node, u32 nid, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	u32 waited = now_ms - node->join_ms;
	/* pairs with the release that made the peer JOINING or UP */
	u32 state = smp_load_acquire(&f->node[nid].state);

	if (nid == node->nid || (state != RMC_NODE_UP && state != RMC_NODE_JOINING))
		return false;
	/* the peer let go of our channels; pairs with its rmc_node_tick_srv() */
	if (smp_load_acquire(sync_word(f, nid, node->nid)) == node->epoch)
		return false;
	/* dead ones leave their state behind; live ones get some more time */
	if (waited > f->dead_ms && READ_ONCE(f->node[nid].heartbeat) == node->peer_beat[nid])
		return false;
	return waited < 4 * f->dead_ms;
}

/**
 * rmc_node_join_poll() - go on with joining
 * @node: node; the caller is its RRPP worker, its ticks run
 * @now_ms: node milliseconds
 *
 * Return: true when the node is up.
 * Context: worker, does not sleep; zeroes all channels of the node once.
 */
bool rmc_node_join_poll(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	enum rmc_lane lane;
	u32 i;

	if (node->up)
		return true;
	if (node->fenced)
		return false;
	if (f->sync) {
		for (i = 0; i < f->nodes; i++)
			if (awaited(node, i, now_ms))
				return false;
		for (i = 0; i < f->nodes; i++) {
			memset(f->ops->channel(f, node->nid, i), 0, rmc_channel_bytes(f));
			memset(f->ops->channel(f, i, node->nid), 0, rmc_channel_bytes(f));
			WRITE_ONCE(*sync_word(f, node->nid, i), READ_ONCE(f->node[i].epoch));
			node->out_epoch[i] = READ_ONCE(f->node[i].epoch);
		}
		for (lane = 0; lane < RMC_LANES; lane++)
			for (i = 0; i < (f->nodes + 63) / 64; i++)
				WRITE_ONCE(f->bell[node->nid * RMC_LANES + lane].word[i], 0);
	}
	/* pairs with the acquire in the peers' rmc_peer_up() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_UP);
	/* pairs with the acquire in linked() */
	smp_store_release(&node->up, true);
	return true;
}

/**
 * rmc_node_leave() - take a node out of the fabric
 * @node: node; its workers no longer run
 */
void rmc_node_leave(struct rmc_node *node)
{
	node->up = false;
	if (node->fenced)
		return;
	/* pairs with the acquire in rmc_peer_up() and rmc_node_tick_req() */
	smp_store_release(&node->fabric->node[node->nid].state, RMC_NODE_DOWN);
}

/*
 * Somebody else has our id: this kernel stood still for so long that it looked
 * dead. All channels belong to the successor; let go of them.
 */
static void fence(struct rmc_node *node)
{
	u32 i;

	node->fenced = true;
	/* pairs with the acquire in linked() and rmc_node_tick_req() */
	smp_store_release(&node->up, false);
	for (i = 0; i < node->fabric->nodes; i++)
		rmc_in_close(node, i);
}

/* The peer's heartbeat moves, or does not. */
static void check_beat(struct rmc_node *node, u32 nid, struct rmc_out *out)
{
	u32 beat = READ_ONCE(node->fabric->node[nid].heartbeat);

	if (beat != out->heartbeat) {
		out->heartbeat = beat;
		out->beat_ms = node->req_ms;
		out->down = false;
	} else if (!out->down && node->req_ms - out->beat_ms > node->fabric->dead_ms) {
		struct rmc_abort down = { .nid = nid, .status = RMC_S_NODE_DOWN };

		out->down = true;
		rmc_stat_inc(node, peer_downs);
		rmc_itt_abort(node, &down);
	}
}

/**
 * rmc_node_tick_req() - time-outs and peers, for RGP and RCP
 * @node: node; the caller is its RGP and RCP worker
 * @now_ms: node milliseconds
 *
 * Context: worker, does not sleep.
 */
void rmc_node_tick_req(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	/* whoever was paused must not blame the peers for the time it slept */
	node->req_ms += min_t(u32, now_ms - node->last_ms, RMC_TICK_GAP_MS);
	node->last_ms = now_ms;
	if (node->itt.used && node->req_ms - node->scan_ms >= f->timeout_ms / 16) {
		node->scan_ms = node->req_ms;
		rmc_itt_expire(node);
	}
	if (!f->sync)
		return;
	for (i = 0; i < f->nodes; i++) {
		/* pairs with the releases that join and leave */
		u32 state = smp_load_acquire(&f->node[i].state);
		u32 epoch = READ_ONCE(f->node[i].epoch);
		struct rmc_out *out = node->out[i];

		/* pairs with the release in fence() */
		if (unlikely(out && !smp_load_acquire(&node->up))) {
			rmc_out_close(node, i);
			continue;
		}
		if (i == node->nid)
			continue;
		if (out && (state != RMC_NODE_UP || out->epoch != epoch)) {
			rmc_stat_inc(node, peer_downs);
			rmc_out_close(node, i);
		} else if (out) {
			check_beat(node, i, out);
		}
		/* our end is closed for older epochs; pairs with the acquire below */
		smp_store_release(&node->out_epoch[i], epoch);
	}
}

/**
 * rmc_node_tick_srv() - peers, for the RRPP
 * @node: node; the caller is its RRPP worker
 *
 * Context: worker, does not sleep.
 */
void rmc_node_tick_srv(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	if (!f->sync || node->fenced)
		return;
	if (unlikely(READ_ONCE(f->node[node->nid].epoch) != node->epoch)) {
		fence(node);
		return;
	}
	WRITE_ONCE(f->node[node->nid].heartbeat, ++node->beat);
	for (i = 0; i < f->nodes; i++) {
		u32 epoch = READ_ONCE(f->node[i].epoch);
		struct rmc_in *in = node->in[i];

		if (i == node->nid)
			continue;
		if (in && in->epoch != epoch)
			rmc_in_close(node, i);
		/* pairs with the release in rmc_node_tick_req() */
		if (smp_load_acquire(&node->out_epoch[i]) == epoch &&
		    READ_ONCE(*sync_word(f, node->nid, i)) != epoch)
			/* pairs with the joiner's acquire in awaited() */
			smp_store_release(sync_word(f, node->nid, i), epoch);
	}
}
