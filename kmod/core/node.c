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

/* The peer's entry says it is up, under this epoch. */
static bool peer_up(const struct rmc_fabric *f, u32 nid, u32 *epoch)
{
	/* pairs with the release that made the peer UP, see rmc_node_join_poll() */
	u64 claim = smp_load_acquire(&f->node[nid].claim);

	*epoch = rmc_claim_epoch(claim);
	return rmc_claim_state(claim) == RMC_NODE_UP;
}

/**
 * rmc_node_linked() - may channels between us and a peer be used
 * @node: node
 * @nid: peer, less than fabric->nodes
 * @epoch: out, the peer's
 *
 * Return: true when both are up and each works with the other's epoch.
 * Context: worker, does not sleep.
 */
bool rmc_node_linked(struct rmc_node *node, u32 nid, u32 *epoch)
{
	struct rmc_fabric *f = node->fabric;

	if (!peer_up(f, nid, epoch))
		return false;
	/* pairs with the release in rmc_node_join_poll() */
	if (!smp_load_acquire(&node->up))
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
	rmc_att_init(&node->att);
	node->out = rmc_os_zalloc(f->nodes * sizeof(*node->out));
	node->in = rmc_os_zalloc(f->nodes * sizeof(*node->in));
	node->peer = rmc_os_zalloc(f->nodes * sizeof(*node->peer));
	node->peer_beat = rmc_os_zalloc(f->nodes * sizeof(u32));
	node->out_epoch = rmc_os_zalloc(f->nodes * sizeof(u32));
	node->filter[RMC_LANE_REQ] = rmc_os_zalloc(f->nodes * sizeof(struct rmc_filter *));
	node->filter[RMC_LANE_REP] = rmc_os_zalloc(f->nodes * sizeof(struct rmc_filter *));
	if (!node->filter[RMC_LANE_REQ] || !node->filter[RMC_LANE_REP] ||
	    !node->out || !node->in || !node->peer || !node->peer_beat || !node->out_epoch ||
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
		if (node->in && node->in[i]) {
			rmc_os_free_atomic(node->in[i]->xfers);
			rmc_os_free_atomic(node->in[i]);
		}
		if (node->filter[RMC_LANE_REQ])
			rmc_filter_destroy(node->filter[RMC_LANE_REQ][i]);
		if (node->filter[RMC_LANE_REP])
			rmc_filter_destroy(node->filter[RMC_LANE_REP][i]);
	}
	rmc_os_free(node->filter[RMC_LANE_REQ]);
	rmc_os_free(node->filter[RMC_LANE_REP]);
	rmc_itt_destroy(&node->itt);
	rmc_os_free(node->out_epoch);
	rmc_os_free(node->peer_beat);
	rmc_os_free(node->peer);
	rmc_os_free(node->in);
	rmc_os_free(node->out);
	rmc_os_free(node);
}

/* Both rings of a channel, where those of these lives begin. */
static void open_rings(const struct rmc_fabric *f, void *mem, struct rmc_ring *req,
		       struct rmc_ring *rep, u32 requester, u32 server)
{
	rmc_ring_init(req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(rep, (u8 *)mem + rmc_ring_bytes(f->ring_order, f->pay_order),
		      f->ring_order, f->pay_order);
	rmc_ring_begin(req, requester, server);
	rmc_ring_begin(rep, requester, server);
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
	if (node->peer[nid].silent || !rmc_node_linked(node, nid, &epoch))
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
	open_rings(f, mem, &out->req, &out->rep, node->epoch, epoch);
	out->credits = out->req.mask + 1;
	out->req_lines = out->req.pay_mask + 1;
	out->rep_lines = out->rep.pay_mask + 1;
	out->announcing = RMC_TID_NONE;
	out->epoch = epoch;
	out->self = f->local[nid] && f->local[nid]->srv_worker == node->req_worker;
	*status = RMC_S_OK;
	if (rmc_os_filters()) {
		if (!rmc_filter_open(node, nid, RMC_LANE_REP, &out->rep)) {
			rmc_os_free_atomic(out);
			return NULL;
		}
		out->filter = node->filter[RMC_LANE_REP][nid];
	}
	node->out[nid] = out;
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
	rmc_itt_forgive(&node->itt, nid);
	rmc_filter_close(node->out[nid]->filter);
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

	if (!rmc_node_linked(node, nid, &epoch)) {
		rmc_bell_settle(node, RMC_LANE_REQ, nid, NULL);
		return NULL;
	}
	mem = f->ops->channel(f, nid, node->nid);
	if (!mem || IS_ERR(mem))
		return NULL;
	in = rmc_os_zalloc_atomic(sizeof(*in));
	if (!in)
		return NULL;
	open_rings(f, mem, &in->req, &in->rep, epoch, node->epoch);
	in->nid = nid;
	in->epoch = epoch;
	in->self = f->local[nid] && f->local[nid]->req_worker == node->srv_worker;
	if (rmc_os_filters()) {
		if (!rmc_filter_open(node, nid, RMC_LANE_REQ, &in->req)) {
			rmc_os_free_atomic(in);
			return NULL;
		}
		in->filter = node->filter[RMC_LANE_REQ][nid];
	}
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
	if (!node->in[nid])
		return;
	rmc_att_close(node, node->in[nid]);
	rmc_filter_close(node->in[nid]->filter);
	rmc_os_free_atomic(node->in[nid]);
	node->in[nid] = NULL;
}

/**
 * rmc_node_join() - announce a node
 * @node: node; its workers do not run yet, or it left and the caller is its
 *	RRPP worker
 * @now_ms: node milliseconds
 *
 * Under a new epoch, which the transport may have claimed already.
 * rmc_node_join_poll() completes it.
 */
void rmc_node_join(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_region_node *self = &f->node[node->nid];
	u64 claim = READ_ONCE(self->claim);
	u32 epoch = rmc_claim_epoch(claim);
	u32 i;

	if (rmc_claim_state(claim) != RMC_NODE_JOINING || !epoch)
		epoch = epoch + 1 ?: 1;
	node->epoch = epoch;
	node->join_ms = now_ms;
	if (!node->left)
		node->last_ms = now_ms;
	for (i = 0; i < f->nodes; i++)
		node->peer_beat[i] = READ_ONCE(f->node[i].heartbeat);
	WRITE_ONCE(self->parked[RMC_LANE_REQ], 0);
	WRITE_ONCE(self->parked[RMC_LANE_REP], 0);
	/*
	 * Full barrier; pairs with the acquire in rmc_peers_look(). Whoever took
	 * the id over meanwhile fences us at the next tick.
	 */
	rmc_os_cas64(&self->claim, claim, rmc_claim(RMC_NODE_JOINING, epoch));
	/* pairs with the acquire in rmc_ni_tick() */
	smp_store_release(&node->left, false);
}

/**
 * rmc_node_rejoin() - announce a node that was fenced
 * @node: node, fenced, whose RGP and RCP let go of all channels; the caller is its
 *	RRPP worker
 * @now_ms: node milliseconds
 *
 * Its id is ours again: the transport claimed it. Contexts, segments and queue
 * pairs are those of before.
 */
void rmc_node_rejoin(struct rmc_node *node, u32 now_ms)
{
	WRITE_ONCE(node->left, true);
	rmc_node_join(node, now_ms);
	/* under the new epoch: nobody is fenced twice; pairs with the acquire
	 * in rmc_peers_look()
	 */
	smp_store_release(&node->fenced, false);
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

/* Nodes of this kernel went up or down: all are to look, see rmc_peers_look(). */
static void changed(struct rmc_fabric *f)
{
	/* release: also when the counter is never looked at */
	rmc_os_inc_release(&f->changes);
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
	if (node->fenced || node->left)
		return false;
	for (i = 0; f->sync && i < f->nodes; i++)
		if (awaited(node, i, now_ms))
			return false;
	f->ops->reset(f, node->nid);
	if (f->sync) {
		for (i = 0; i < f->nodes; i++) {
			WRITE_ONCE(*sync_word(f, node->nid, i), READ_ONCE(f->node[i].epoch));
			node->out_epoch[i] = READ_ONCE(f->node[i].epoch);
		}
		for (lane = 0; lane < RMC_LANES; lane++)
			for (i = 0; i < (f->nodes + 63) / 64; i++)
				WRITE_ONCE(f->bell[node->nid * RMC_LANES + lane].word[i], 0);
	}
	/* pairs with the acquire in the peers' peer_up() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_UP);
	/* pairs with the acquire in rmc_node_linked() */
	smp_store_release(&node->up, true);
	changed(f);
	return true;
}

/**
 * rmc_node_leave() - take a node out of the fabric
 * @node: node; its workers no longer run
 */
void rmc_node_leave(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;

	node->up = false;
	/* the entry may be another kernel's by now */
	if (node->fenced || node->left)
		return;
	/* pairs with the acquire in peer_up() and rmc_peers_look() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_DOWN);
}

/**
 * rmc_node_down_srv() - take a node out that may come back: the RRPP's half
 * @node: node; the caller is its RRPP worker
 *
 * rmc_node_down_req() and, for nodes of the same kernel, closing their ends
 * complete it. rmc_node_join() brings the node back.
 *
 * Context: worker, does not sleep.
 */
void rmc_node_down_srv(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	if (node->fenced || node->left)
		return;
	/* pairs with the acquire in rmc_node_linked() */
	smp_store_release(&node->up, false);
	WRITE_ONCE(node->left, true);
	for (i = 0; i < f->nodes; i++)
		rmc_in_close(node, i);
	/* pairs with the acquire in peer_up() and rmc_peers_look() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_DOWN);
	changed(f);
}

/**
 * rmc_node_down_req() - the half of RGP and RCP
 * @node: node, of which rmc_node_down_srv() was called; the caller is its RGP
 *	and RCP worker
 *
 * What is in flight ends with RMC_S_NODE_DOWN, and so does what is asked for
 * while the node is down.
 *
 * Context: worker, does not sleep.
 */
void rmc_node_down_req(struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < node->fabric->nodes; i++)
		rmc_out_close(node, i);
}

/*
 * Somebody else has our id: this kernel stood still for so long that it looked
 * dead. All channels belong to the successor; let go of them.
 */
static void fence(struct rmc_node *node)
{
	u32 i;

	WRITE_ONCE(node->fenced, true);
	/* pairs with the acquire in rmc_node_linked() and rmc_node_tick_req() */
	smp_store_release(&node->up, false);
	for (i = 0; i < node->fabric->nodes; i++)
		rmc_in_close(node, i);
	rmc_os_node_event(node, RMC_EVENT_FENCED, node->nid, node->epoch);
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

	/* whoever was paused must not blame the peers for the time it slept */
	node->req_ms += min_t(u32, now_ms - node->last_ms, RMC_TICK_GAP_MS);
	node->last_ms = now_ms;
	if (node->itt.used && node->req_ms - node->scan_ms >= f->timeout_ms / 16) {
		node->scan_ms = node->req_ms;
		rmc_itt_expire(node);
	}
	if (unlikely(node->itt.restarts))
		rmc_rgp_resume(node);
	/* pairs with the release in fence() */
	if (unlikely(!smp_load_acquire(&node->up)))
		rmc_node_down_req(node);
	rmc_peers_look(node);
}

/* Server ends of peers that are gone, or back under a new epoch. */
static void close_stale(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, epoch;

	for (i = 0; i < f->nodes; i++)
		if (node->in[i] && (!peer_up(f, i, &epoch) || node->in[i]->epoch != epoch))
			rmc_in_close(node, i);
}

/**
 * rmc_node_tick_srv() - peers and stalled transfers, for the RRPP
 * @node: node; the caller is its RRPP worker
 * @now_ms: node milliseconds
 *
 * Context: worker, does not sleep.
 */
void rmc_node_tick_srv(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	rmc_att_tick(node, now_ms);

	if (!f->sync) {
		/* pairs with the release in changed() */
		u32 changes = smp_load_acquire(&f->changes);

		if (unlikely(changes != node->srv_changes))
			close_stale(node);
		node->srv_changes = changes;
		return;
	}
	if (node->fenced)
		return;
	if (unlikely(READ_ONCE(f->node[node->nid].epoch) != node->epoch)) {
		fence(node);
		return;
	}
	if (unlikely(node->left))
		return;
	WRITE_ONCE(f->node[node->nid].heartbeat, ++node->beat);
	close_stale(node);
	for (i = 0; i < f->nodes; i++) {
		u32 epoch = READ_ONCE(f->node[i].epoch);

		if (i == node->nid)
			continue;
		/* pairs with the release in rmc_peers_look() */
		if (smp_load_acquire(&node->out_epoch[i]) == epoch &&
		    READ_ONCE(*sync_word(f, node->nid, i)) != epoch)
			/* pairs with the joiner's acquire in awaited() */
			smp_store_release(sync_word(f, node->nid, i), epoch);
	}
}
