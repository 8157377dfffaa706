// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes: set-up, joining and leaving a fabric, and the periodic check of peers and
 * time-outs.
 *
 * Joining a fabric whose nodes come and go (fabric->sync != NULL). Channels hold
 * positions, so both ends must agree to start from zero:
 *
 *   joiner b: epoch++, state JOINING; waits until every live peer a has written
 *             sync[a][b] = epoch(b); zeroes all its channels; UP.
 *   peer a:   sees a new epoch of b: RGP/RCP end operations in flight to b and
 *             close their end, then the RRPP closes its end and writes sync.
 *   either:   opens a channel only while itself and the peer are UP and each
 *             has acknowledged the other's epoch.
 *
 * Each unit acknowledges for its own ends: a row of sync belongs to one unit. The head does
 * the rest.
 */
#include "../core/order.h"
#include "../core/pipeline.h"
#include "../core/timeout.h"
#include "member.h"

static void destroy_unit(struct rmc_node *node)
{
	u32 i;

	rmc_state_destroy(node);
	for (i = 0; i < node->fabric->endpoints; i++) {
		if (node->out)
			rmc_os_free(node->out[i]);
		if (node->in && node->in[i]) {
			rmc_os_free_atomic(node->in[i]->steps);
			rmc_os_free_atomic(node->in[i]);
		}
	}
	rmc_links_destroy(&node->links);
	rmc_itt_destroy(&node->itt);
	rmc_os_free(node->out_epoch);
	rmc_os_free(node->in);
	rmc_os_free(node->out);
	rmc_os_free(node);
}

static struct rmc_node *create_unit(struct rmc_fabric *f, u32 ep, u32 itt_entries)
{
	struct rmc_node *node = rmc_os_zalloc(sizeof(*node));

	if (!node)
		return NULL;
	node->fabric = f;
	node->nid = rmc_endpoint_nid(f, ep);
	node->ep = ep;
	node->local = true;
	node->out = rmc_os_zalloc(f->endpoints * sizeof(*node->out));
	node->in = rmc_os_zalloc(f->endpoints * sizeof(*node->in));
	node->out_epoch = rmc_os_zalloc(f->nodes * sizeof(u32));
	if (!node->out || !node->in || !node->out_epoch ||
	    rmc_itt_init(&node->itt, itt_entries) ||
	    rmc_links_init(&node->links, f, node->ep) || rmc_state_init(node)) {
		destroy_unit(node);
		return NULL;
	}
	return node;
}

/**
 * rmc_node_create() - create a node with all its units
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

/*
 * Announces a node under the epoch that the transport claimed, or else the next one. If the
 * entry differs from that claim, or from @claim, another kernel has the id: the node keeps
 * its older epoch, and the next tick fences it.
 */
static void announce(struct rmc_node *node, u64 claim, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_region_node *self = &f->node[node->nid];
	u32 epoch = node->claimed ?: rmc_claim_epoch(claim) + 1 ?: 1;
	u32 i;

	if (node->claimed)
		claim = rmc_claim(RMC_NODE_JOINING, node->claimed);
	node->claimed = 0;
	/* full barrier; pairs with the acquire in rmc_peers_poll() */
	if (rmc_os_cas64(&self->claim, claim, rmc_claim(RMC_NODE_JOINING, epoch)) != claim)
		return;
	/* other units do not react yet: they do not run, have left with us, or are fenced */
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
	/* pairs with the acquires in rmc_node_tick_srv() */
	smp_store_release(&node->left, false);
}

/**
 * rmc_node_join() - announce a node
 * @node: head of the node; its workers do not run yet, or it has left and the caller is its
 *	RRPP worker. Where a transport claimed its id, @node->claimed is the epoch
 * @now_ms: node milliseconds
 *
 * rmc_node_join_poll() completes it. Does nothing for a node that has left and whose id
 * another kernel has claimed since: the next tick fences it.
 */
void rmc_node_join(struct rmc_node *node, u32 now_ms)
{
	u64 claim = READ_ONCE(node->fabric->node[node->nid].claim);

	if (node->left && rmc_claim_epoch(claim) != node->epoch)
		return;
	announce(node, claim, now_ms);
}

/**
 * rmc_node_rejoin() - announce a node that was fenced
 * @node: unit, the head first, whose RGP and RCP have closed all channels; the caller is
 *	its RRPP worker
 * @now_ms: node milliseconds
 *
 * The transport has claimed the id again, under the epoch @node->claimed. Contexts,
 * segments and queue pairs are unchanged.
 */
void rmc_node_rejoin(struct rmc_node *node, u32 now_ms)
{
	u32 i;

	/* a unit may not have noticed that it was fenced */
	for (i = 0; i < node->fabric->endpoints; i++)
		rmc_in_close(node, i);
	if (node == node->head) {
		WRITE_ONCE(node->left, true);
		announce(node, READ_ONCE(node->fabric->node[node->nid].claim), now_ms);
	}
	/* under the new epoch: the node is not fenced again; pairs with the
	 * acquire in rmc_peers_poll()
	 */
	smp_store_release(&node->fenced, false);
}

/* True if all units of the peer have acknowledged our epoch. */
static bool acknowledged(struct rmc_node *node, u32 nid)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	for (i = 0; i < rmc_fabric_units(f); i++)
		/* pairs with the release in their rmc_node_tick_srv() */
		if (smp_load_acquire(rmc_sync_word(f, rmc_endpoint(f, nid) + i, node->nid)) !=
		    node->epoch)
			return false;
	return true;
}

/* Does the join have to wait for this peer's acknowledgment? */
static bool awaited(struct rmc_node *node, u32 nid, u32 now_ms)
{
	struct rmc_fabric *f = node->fabric;
	s32 waited = now_ms - node->join_ms;
	s32 dead_ms = f->dead_ms;
	/* pairs with the peer's change to JOINING or UP: rmc_node_join(), set_state() */
	u32 state = smp_load_acquire(&f->node[nid].state);

	if (nid == node->nid || (state != RMC_NODE_UP && state != RMC_NODE_JOINING))
		return false;
	if (acknowledged(node, nid))
		return false;
	/* the entry of a dead peer keeps its state; a live peer gets more time */
	if (waited > dead_ms && READ_ONCE(f->node[nid].heartbeat) == node->peer_beat[nid])
		return false;
	return waited < 4 * dead_ms;
}

/* A node of this kernel went up or down: all nodes have to poll, see rmc_peers_poll(). */
static void changed(struct rmc_fabric *f)
{
	/* pairs with the acquires in rmc_peers_poll() and rmc_node_tick_srv() */
	rmc_os_inc_release(&f->changes);
}

/*
 * Sets the state in our entry, unless another kernel has taken over the id: this kernel may
 * have been paused since the last check, and must not write a successor's entry.
 *
 * Full barrier; pairs with the acquire in rmc_peer_up() and rmc_peers_poll().
 */
static bool set_state(struct rmc_node *node, u32 state)
{
	u64 *entry = &node->fabric->node[node->nid].claim, claim = READ_ONCE(*entry);

	if (rmc_claim_epoch(claim) != node->epoch ||
	    rmc_os_cas64(entry, claim, rmc_claim(state, node->epoch)) != claim)
		return false;
	rmc_fabric_state(node->fabric, node->nid);
	return true;
}

/* Start of a unit: no channels, no doorbells, and all peers' epochs acknowledged. */
static void start_unit(struct rmc_node *unit)
{
	struct rmc_fabric *f = unit->fabric;
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < f->nodes; i++) {
		u32 epoch = READ_ONCE(f->node[i].epoch);

		WRITE_ONCE(*rmc_sync_word(f, unit->ep, i), epoch);
		WRITE_ONCE(unit->out_epoch[i], epoch);
	}
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; i < (f->endpoints + 63) / 64; i++)
			WRITE_ONCE(*rmc_doorbell_word(f, unit->ep, lane, i * 64), 0);
}

/**
 * rmc_node_join_poll() - continue joining
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

	if (READ_ONCE(node->up))
		return true;
	if (node->fenced || READ_ONCE(node->left))
		return false;
	for (i = 0; f->sync && i < f->nodes; i++)
		if (awaited(node, i, now_ms))
			return false;
	f->ops->reset(f, node->nid, node->epoch);
	for (u = 0; f->sync && u < rmc_fabric_units(f); u++) {
		if (!rmc_claim_holds(f, node->nid, node->epoch))
			return false;
		start_unit(node->unit[u]);
	}
	if (!set_state(node, RMC_NODE_UP))
		return false;
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
	node->up = false;
	if (!node->fenced && !node->left)
		set_state(node, RMC_NODE_DOWN);
}

/**
 * rmc_node_down_srv() - take a node down that may come back: the RRPP's half
 * @node: unit, the head first; the caller is its RRPP worker
 *
 * rmc_node_down_req() completes it; other nodes of this kernel close their ends.
 * rmc_node_join() brings the node back.
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
	set_state(node, RMC_NODE_DOWN);
	changed(f);
}

/**
 * rmc_node_down_req() - take a node down: the half of RGP and RCP
 * @node: unit, after rmc_node_down_srv(); the caller is its RGP and RCP worker
 *
 * Operations in flight complete with RMC_S_NODE_DOWN, and so do operations posted while
 * the node is down.
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
 * rmc_node_fence() - close the server ends of a unit whose node id has a successor
 * @node: unit; the caller is its RRPP worker
 *
 * Another kernel has claimed our id: this kernel was paused for so long that it seemed dead.
 *
 * Context: worker, does not sleep.
 */
void rmc_node_fence(struct rmc_node *node)
{
	u32 i;

	/* pairs with the acquires in rmc_node_tick_req() and rmc_node_tick_srv() */
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
	u32 passed = rmc_ms_passed(&node->last_ms, now_ms);
	struct rmc_fabric *f = node->fabric;
	u32 gap_ms = min_t(u32, f->dead_ms / 2, RMC_TICK_GAP_MS);

	/*
	 * A node that was paused must not count that time against its peers. They may
	 * have been paused as well, and resume a moment later.
	 */
	node->req_ms += min_t(u32, passed, gap_ms);
	if (node->itt.used && node->req_ms - node->scan_ms >= READ_ONCE(f->timeout_ms) / 16) {
		node->scan_ms = node->req_ms;
		rmc_itt_expire(node);
	}
	/*
	 * Before anything is sent: after a pause the rings and doorbells may be a successor's.
	 * Pairs with the releases in rmc_node_fence()
	 */
	if (unlikely(!smp_load_acquire(&node->head->up) || smp_load_acquire(&node->fenced)))
		rmc_node_down_req(node);
	if (unlikely(node->itt.restarts))
		rmc_rgp_resume(node);
	if (unlikely(node->renewals | node->renew_later))
		rmc_order_tick(node);
	rmc_peers_poll(node);
}

/* Server ends of peers that are down, or up under a new epoch, are closed. */
static void close_stale(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, epoch;

	for (i = 0; i < f->endpoints; i++)
		if (node->in[i] && (!rmc_peer_up(f, rmc_endpoint_nid(f, i), &epoch) ||
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
	u32 i, ep;

	rmc_state_tick(node, now_ms);

	if (!f->sync) {
		/* pairs with the release in changed() */
		u32 changes = smp_load_acquire(&f->changes);

		if (unlikely(changes != node->srv_changes))
			close_stale(node);
		node->srv_changes = changes;
		return;
	}
	/* also if it has left before: its channels and doorbells are a successor's; pairs
	 * with the release in rmc_node_fence()
	 */
	if (unlikely(!node->fenced && smp_load_acquire(&node->head->fenced)))
		rmc_node_fence(node);
	/* not before the head has joined again under its epoch; pairs with the
	 * release in announce()
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
		/* pairs with the release in rmc_peers_poll() */
		if (smp_load_acquire(&node->out_epoch[i]) != epoch ||
		    READ_ONCE(*rmc_sync_word(f, node->ep, i)) == epoch)
			continue;
		/*
		 * The peer may have come back since close_stale(). If a paused predecessor
		 * of ours wrote the word, ends of this epoch are open.
		 */
		for (ep = rmc_endpoint(f, i); ep < rmc_endpoint(f, i + 1); ep++)
			if (node->in[ep] && node->in[ep]->epoch != epoch)
				rmc_in_close(node, ep);
		if (f->ops->closed)
			f->ops->closed(f, node->ep, i);
		/* pairs with the joiner's acquire in acknowledged() */
		smp_store_release(rmc_sync_word(f, node->ep, i), epoch);
	}
	rmc_fabric_state(f, node->nid);
}
