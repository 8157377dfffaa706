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
 *
 * Acknowledging is each unit's own business, for its own ends: a row of sync is one
 * unit's. All else is the head's.
 */
#include "node.h"
#include "pipeline.h"

/* Which epoch of node @nid the unit at @ep works with. */
static u32 *sync_word(struct rmc_fabric *f, u32 ep, u32 nid)
{
	return &f->sync[ep * f->nodes + nid];
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
 * @node: unit
 * @ep: peer, less than fabric->endpoints
 * @epoch: out, the peer's
 *
 * Return: true when both are up and each works with the other's epoch.
 * Context: worker, does not sleep.
 */
bool rmc_node_linked(struct rmc_node *node, u32 ep, u32 *epoch)
{
	struct rmc_fabric *f = node->fabric;
	u32 nid = rmc_endpoint_nid(f, ep);

	if (!peer_up(f, nid, epoch))
		return false;
	/* pairs with the release in rmc_node_join_poll() */
	if (!smp_load_acquire(&node->head->up))
		return false;
	if (!f->sync)
		return true;
	/* pairs with the release in the peer's rmc_node_tick_srv() */
	return smp_load_acquire(sync_word(f, ep, node->nid)) == node->head->epoch &&
	       READ_ONCE(*sync_word(f, node->ep, nid)) == *epoch;
}

static void destroy_unit(struct rmc_node *node)
{
	u32 i;

	for (i = 0; i < node->fabric->endpoints; i++) {
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

static struct rmc_node *create_unit(struct rmc_fabric *f, u32 ep, u32 itt_entries)
{
	struct rmc_node *node = rmc_os_zalloc(sizeof(*node));

	if (!node)
		return NULL;
	node->fabric = f;
	node->nid = rmc_endpoint_nid(f, ep);
	node->ep = ep;
	rmc_att_init(&node->att);
	node->out = rmc_os_zalloc(f->endpoints * sizeof(*node->out));
	node->in = rmc_os_zalloc(f->endpoints * sizeof(*node->in));
	node->out_epoch = rmc_os_zalloc(f->nodes * sizeof(u32));
	node->filter[RMC_LANE_REQ] = rmc_os_zalloc(f->endpoints * sizeof(struct rmc_filter *));
	node->filter[RMC_LANE_REP] = rmc_os_zalloc(f->endpoints * sizeof(struct rmc_filter *));
	if (!node->filter[RMC_LANE_REQ] || !node->filter[RMC_LANE_REP] ||
	    !node->out || !node->in || !node->out_epoch ||
	    rmc_itt_init(&node->itt, itt_entries)) {
		destroy_unit(node);
		return NULL;
	}
	return node;
}

/**
 * rmc_node_create() - make a node with all its units
 * @f: fabric
 * @nid: node id, less than @f->nodes
 * @itt_entries: operations in flight, per unit
 *
 * Return: head of the node, or NULL when out of memory.
 * Context: may sleep.
 */
struct rmc_node *rmc_node_create(struct rmc_fabric *f, u32 nid, u32 itt_entries)
{
	struct rmc_node *head = create_unit(f, rmc_endpoint(f, nid), itt_entries);
	u32 i;

	if (!head)
		return NULL;
	head->head = head;
	head->unit = rmc_os_zalloc(rmc_fabric_units(f) * sizeof(*head->unit));
	head->peer = rmc_os_zalloc(f->nodes * sizeof(*head->peer));
	head->peer_beat = rmc_os_zalloc(f->nodes * sizeof(u32));
	if (!head->unit || !head->peer || !head->peer_beat)
		goto err;
	head->unit[0] = head;
	for (i = 1; i < rmc_fabric_units(f); i++) {
		head->unit[i] = create_unit(f, head->ep + i, itt_entries);
		if (!head->unit[i])
			goto err;
		head->unit[i]->head = head;
		head->unit[i]->unit = head->unit;
		head->unit[i]->peer = head->peer;
	}
	return head;

err:
	rmc_node_destroy(head);
	return NULL;
}

/**
 * rmc_node_destroy() - free a node whose workers no longer run
 * @node: head of the node
 *
 * Context: may sleep.
 */
void rmc_node_destroy(struct rmc_node *node)
{
	u32 i;

	for (i = 1; node->unit && i < rmc_fabric_units(node->fabric); i++)
		if (node->unit[i])
			destroy_unit(node->unit[i]);
	rmc_os_free(node->unit);
	rmc_os_free(node->peer_beat);
	rmc_os_free(node->peer);
	destroy_unit(node);
}

/* One end; NULL and *status as rmc_out_open() tells. */
static struct rmc_out *open_one(struct rmc_node *node, u32 ep, u8 *status)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_out *out;
	void *mem;
	u32 epoch;

	*status = RMC_S_NODE_DOWN;
	if (!rmc_node_linked(node, ep, &epoch))
		return NULL;
	mem = f->ops->channel(f, node->ep, ep);
	if (!mem) {
		*status = RMC_S_OK;
		return NULL;
	}
	if (IS_ERR(mem))
		return NULL;
	*status = RMC_S_OK;
	out = rmc_os_zalloc_atomic(sizeof(*out));
	if (!out)
		return NULL;
	open_rings(f, mem, &out->req, &out->rep, node->head->epoch, epoch);
	out->credits = out->req.mask + 1;
	out->req_lines = out->req.pay_mask + 1;
	out->rep_lines = out->rep.pay_mask + 1;
	out->announcing = RMC_TID_NONE;
	out->nid = rmc_endpoint_nid(f, ep);
	out->epoch = epoch;
	out->self = f->local[ep] && f->local[ep]->srv_worker == node->req_worker;
	if (rmc_os_filters()) {
		if (!rmc_filter_open(node, ep, RMC_LANE_REP, &out->rep)) {
			rmc_os_free_atomic(out);
			return NULL;
		}
		out->filter = node->filter[RMC_LANE_REP][ep];
	}
	return out;
}

/**
 * rmc_out_open() - requester's ends of the channels to a peer, one per RRPP
 * @node: unit; the caller is its RGP worker
 * @nid: peer, less than fabric->nodes
 * @status: out, why not: RMC_S_NODE_DOWN; RMC_S_OK: not yet, ask again
 *
 * Return: first open end, or NULL. With it all are open, for the same epoch.
 * Context: worker, does not sleep.
 */
struct rmc_out *rmc_out_open(struct rmc_node *node, u32 nid, u8 *status)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_out **out = &node->out[rmc_endpoint(f, nid)];
	u32 i = rmc_fabric_rrpps(f);

	*status = RMC_S_NODE_DOWN;
	if (READ_ONCE(node->peer[nid].silent))
		return NULL;
	if (out[0]) {
		/* the head heard of it again; the next tick would tell us too */
		out[0]->down = false;
		return out[0];
	}
	while (i--) {
		if (!out[i])
			out[i] = open_one(node, rmc_endpoint(f, nid) + i, status);
		if (!out[i])
			return NULL;
		if (unlikely(out[i]->epoch != out[rmc_fabric_rrpps(f) - 1]->epoch)) {
			rmc_out_close(node, nid);
			*status = RMC_S_OK;
			return NULL;
		}
	}
	*status = RMC_S_OK;
	return out[0];
}

/**
 * rmc_out_close() - end everything in flight to a peer and forget the channels
 * @node: unit; the caller is its RGP and RCP worker
 * @nid: peer
 *
 * Context: worker, does not sleep.
 */
void rmc_out_close(struct rmc_node *node, u32 nid)
{
	struct rmc_abort down = { .nid = nid, .status = RMC_S_NODE_DOWN };
	struct rmc_out **out = &node->out[rmc_endpoint(node->fabric, nid)];
	u32 i;

	/* the first is opened last: without it nothing was sent */
	if (out[0]) {
		rmc_itt_abort(node, &down);
		rmc_itt_forgive(&node->itt, nid);
	}
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++) {
		if (!out[i])
			continue;
		rmc_filter_close(out[i]->filter);
		rmc_os_free_atomic(out[i]);
		out[i] = NULL;
	}
}

/**
 * rmc_in_open() - server's end of the channel from a peer
 * @node: unit; the caller is its RRPP worker
 * @ep: peer, less than fabric->endpoints
 *
 * Clears the peer's bell bit when there is no channel: a peer that may send
 * rings again after it published.
 *
 * Return: open end, or NULL.
 * Context: worker, does not sleep.
 */
struct rmc_in *rmc_in_open(struct rmc_node *node, u32 ep)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_in *in;
	u32 epoch;
	void *mem;

	if (!rmc_node_linked(node, ep, &epoch)) {
		rmc_bell_settle(node, RMC_LANE_REQ, ep, NULL);
		return NULL;
	}
	mem = f->ops->channel(f, ep, node->ep);
	if (!mem || IS_ERR(mem))
		return NULL;
	in = rmc_os_zalloc_atomic(sizeof(*in));
	if (!in)
		return NULL;
	open_rings(f, mem, &in->req, &in->rep, epoch, node->head->epoch);
	in->ep = ep;
	in->epoch = epoch;
	in->self = f->local[ep] && f->local[ep]->req_worker == node->srv_worker;
	if (rmc_os_filters()) {
		if (!rmc_filter_open(node, ep, RMC_LANE_REQ, &in->req)) {
			rmc_os_free_atomic(in);
			return NULL;
		}
		in->filter = node->filter[RMC_LANE_REQ][ep];
	}
	node->in[ep] = in;
	return in;
}

/**
 * rmc_in_close() - forget the channel from a peer
 * @node: unit; the caller is its RRPP worker
 * @ep: peer
 *
 * Context: worker, does not sleep.
 */
void rmc_in_close(struct rmc_node *node, u32 ep)
{
	if (!node->in[ep])
		return;
	rmc_att_close(node, node->in[ep]);
	rmc_filter_close(node->in[ep]->filter);
	rmc_os_free_atomic(node->in[ep]);
	node->in[ep] = NULL;
}

/**
 * rmc_node_join() - announce a node
 * @node: head of the node; its workers do not run yet, or it left and the caller is its
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
	WRITE_ONCE(node->epoch, epoch);
	node->join_ms = now_ms;
	if (!node->left)
		node->last_ms = now_ms;
	for (i = 0; i < f->nodes; i++)
		node->peer_beat[i] = READ_ONCE(f->node[i].heartbeat);
	for (i = 0; i < RMC_MAX_UNITS; i++) {
		WRITE_ONCE(self->parked[RMC_LANE_REQ][i], 0);
		WRITE_ONCE(self->parked[RMC_LANE_REP][i], 0);
	}
	/*
	 * Full barrier; pairs with the acquire in rmc_peers_look(). Whoever took
	 * the id over meanwhile fences us at the next tick.
	 */
	rmc_os_cas64(&self->claim, claim, rmc_claim(RMC_NODE_JOINING, epoch));
	/* pairs with the acquires in rmc_node_tick_srv() */
	smp_store_release(&node->left, false);
}

/**
 * rmc_node_rejoin() - announce a node that was fenced
 * @node: unit, the head first, whose RGP and RCP let go of all channels; the caller is
 *	its RRPP worker
 * @now_ms: node milliseconds
 *
 * Its id is ours again: the transport claimed it. Contexts, segments and queue
 * pairs are those of before.
 */
void rmc_node_rejoin(struct rmc_node *node, u32 now_ms)
{
	u32 i;

	/* a unit may not have noticed that it was fenced */
	for (i = 0; i < node->fabric->endpoints; i++)
		rmc_in_close(node, i);
	if (node == node->head) {
		WRITE_ONCE(node->left, true);
		rmc_node_join(node, now_ms);
	}
	/* under the new epoch: nobody is fenced twice; pairs with the acquire
	 * in rmc_peers_look()
	 */
	smp_store_release(&node->fenced, false);
}

/* Did all units of the peer let go of our channels? */
static bool acknowledged(struct rmc_node *node, u32 nid)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	for (i = 0; i < rmc_fabric_units(f); i++)
		/* pairs with the release in their rmc_node_tick_srv() */
		if (smp_load_acquire(sync_word(f, rmc_endpoint(f, nid) + i, node->nid)) !=
		    node->epoch)
			return false;
	return true;
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
	if (acknowledged(node, nid))
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

/* No channels, no bells, and no older epochs of peers to let go of. */
static void start_unit(struct rmc_node *unit)
{
	struct rmc_fabric *f = unit->fabric;
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < f->nodes; i++) {
		u32 epoch = READ_ONCE(f->node[i].epoch);

		WRITE_ONCE(*sync_word(f, unit->ep, i), epoch);
		WRITE_ONCE(unit->out_epoch[i], epoch);
	}
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < (f->endpoints + 63) / 64; i++)
			WRITE_ONCE(*rmc_bell_word(f, unit->ep, lane, i * 64), 0);
}

/**
 * rmc_node_join_poll() - go on with joining
 * @node: head of the node; the caller is its RRPP worker, its ticks run
 * @now_ms: node milliseconds
 *
 * Return: true when the node is up.
 * Context: worker, does not sleep; zeroes all channels of the node once.
 */
bool rmc_node_join_poll(struct rmc_node *node, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, u;

	if (node->up)
		return true;
	if (node->fenced || node->left)
		return false;
	for (i = 0; f->sync && i < f->nodes; i++)
		if (awaited(node, i, now_ms))
			return false;
	f->ops->reset(f, node->nid);
	for (u = 0; f->sync && u < rmc_fabric_units(f); u++)
		start_unit(node->unit[u]);
	/* pairs with the acquire in the peers' peer_up() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_UP);
	/* pairs with the acquire in rmc_node_linked() */
	smp_store_release(&node->up, true);
	changed(f);
	return true;
}

/**
 * rmc_node_leave() - take a node out of the fabric
 * @node: head of the node; its workers no longer run
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
 * @node: unit, the head first; the caller is its RRPP worker
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

	if (node->fenced || (node == node->head && node->left))
		return;
	/* pairs with the acquire in rmc_node_linked() */
	smp_store_release(&node->head->up, false);
	WRITE_ONCE(node->head->left, true);
	for (i = 0; i < f->endpoints; i++)
		rmc_in_close(node, i);
	if (node != node->head)
		return;
	/* pairs with the acquire in peer_up() and rmc_peers_look() */
	smp_store_release(&f->node[node->nid].state, RMC_NODE_DOWN);
	changed(f);
}

/**
 * rmc_node_down_req() - the half of RGP and RCP
 * @node: unit, of which rmc_node_down_srv() was called; the caller is its RGP
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

/**
 * rmc_node_fence() - let go of channels that are a successor's
 * @node: unit; the caller is its RRPP worker
 *
 * Somebody else has our id: this kernel stood still for so long that it looked dead.
 *
 * Context: worker, does not sleep.
 */
void rmc_node_fence(struct rmc_node *node)
{
	u32 i;

	/* pairs with the acquire in rmc_node_tick_req() */
	smp_store_release(&node->fenced, true);
	if (node == node->head)
		/* pairs with the acquire in rmc_node_linked() and rmc_node_tick_req() */
		smp_store_release(&node->up, false);
	for (i = 0; i < node->fabric->endpoints; i++)
		rmc_in_close(node, i);
	if (node == node->head)
		rmc_os_node_event(node, RMC_EVENT_FENCED, node->nid, node->epoch);
}

/**
 * rmc_node_tick_req() - time-outs and peers, for RGP and RCP
 * @node: unit; the caller is its RGP and RCP worker
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
	/* pairs with the releases in rmc_node_fence() */
	if (unlikely(!smp_load_acquire(&node->head->up) || smp_load_acquire(&node->fenced)))
		rmc_node_down_req(node);
	rmc_peers_look(node);
}

/* Server ends of peers that are gone, or back under a new epoch. */
static void close_stale(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, epoch;

	for (i = 0; i < f->endpoints; i++)
		if (node->in[i] && (!peer_up(f, rmc_endpoint_nid(f, i), &epoch) ||
				    node->in[i]->epoch != epoch))
			rmc_in_close(node, i);
}

/**
 * rmc_node_tick_srv() - peers and stalled transfers, for the RRPP
 * @node: unit; the caller is its RRPP worker
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
	/* not before the head joined again under the epoch it has; pairs with the
	 * release in rmc_node_join()
	 */
	if (node->fenced || (node != node->head && smp_load_acquire(&node->head->left)))
		return;
	if (unlikely(READ_ONCE(f->node[node->nid].epoch) != READ_ONCE(node->head->epoch))) {
		rmc_node_fence(node);
		return;
	}
	if (unlikely(READ_ONCE(node->head->left)))
		return;
	if (node == node->head)
		WRITE_ONCE(f->node[node->nid].heartbeat, ++node->beat);
	close_stale(node);
	for (i = 0; i < f->nodes; i++) {
		u32 epoch = READ_ONCE(f->node[i].epoch);

		if (i == node->nid)
			continue;
		/* pairs with the release in rmc_peers_look() */
		if (smp_load_acquire(&node->out_epoch[i]) == epoch &&
		    READ_ONCE(*sync_word(f, node->ep, i)) != epoch)
			/* pairs with the joiner's acquire in acknowledged() */
			smp_store_release(sync_word(f, node->ep, i), epoch);
	}
}
