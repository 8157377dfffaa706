// SPDX-License-Identifier: GPL-2.0
/* Peers that come, go, fall silent and come back. */
#include "node.h"
#include "pipeline.h"

/*
 * Does the heartbeat move? Where all nodes are in this kernel there is none to
 * look at: their states are always true.
 */
static void check_beat(struct rmc_node *node, u32 nid, bool up, u32 epoch)
{
	struct rmc_peer *p = &node->peer[nid];
	u32 beat = READ_ONCE(node->fabric->node[nid].heartbeat);

	if (beat != p->heartbeat || epoch != p->epoch || !up) {
		p->heartbeat = beat;
		p->beat_ms = node->req_ms;
		p->silent = false;
	} else if (!p->silent && node->fabric->sync && nid != node->nid &&
		   node->req_ms - p->beat_ms > node->fabric->dead_ms) {
		p->silent = true;
	}
}

/* The channel to a peer that is not there as it was. */
static void check_channel(struct rmc_node *node, u32 nid, bool up, u32 epoch)
{
	struct rmc_abort down = { .nid = nid, .status = RMC_S_NODE_DOWN };
	struct rmc_out *out = node->out[nid];
	bool silent = node->peer[nid].silent;

	if (!out)
		return;
	if (!up || out->epoch != epoch) {
		rmc_stat_inc(node, peer_downs);
		rmc_out_close(node, nid);
		return;
	}
	if (silent && !out->down) {
		rmc_stat_inc(node, peer_downs);
		rmc_itt_abort(node, &down);
	}
	out->down = silent;
}

/* Take the new state over and tell what became of the old one. */
static void change(struct rmc_node *node, u32 nid, u32 state, u32 epoch)
{
	struct rmc_peer *p = &node->peer[nid];
	u32 was = p->state, old = p->epoch;

	WRITE_ONCE(p->epoch, epoch);
	WRITE_ONCE(p->state, state);
	if (was == RMC_NODE_UP && (state != RMC_NODE_UP || epoch != old))
		rmc_os_node_event(node, RMC_EVENT_NODE_DOWN, nid, old);
	if (state == RMC_NODE_UP && (was != RMC_NODE_UP || epoch != old))
		rmc_os_node_event(node, RMC_EVENT_NODE_UP, nid, epoch);
}

/* Somebody cut the link by command. */
static bool cut(const struct rmc_node *node, u32 nid)
{
	const struct rmc_filter *flt = node->filter[RMC_LANE_REP][nid];

	return rmc_os_filters() && flt && flt->fault.down;
}

/* A link goes down before its node does, and comes up after it. */
static void look(struct rmc_node *node, u32 nid)
{
	struct rmc_fabric *f = node->fabric;
	struct rmc_peer *p = &node->peer[nid];
	/* both words at once; pairs with the releases that join and leave */
	u64 claim = smp_load_acquire(&f->node[nid].claim);
	u32 state = rmc_claim_state(claim), epoch = rmc_claim_epoch(claim);
	bool up = state == RMC_NODE_UP, linked;

	check_beat(node, nid, up, epoch);
	check_channel(node, nid, up, epoch);
	linked = up && !p->silent && !cut(node, nid) && rmc_node_linked(node, nid, &epoch);
	if (p->linked && (!linked || epoch != p->epoch)) {
		p->linked = false;
		rmc_os_node_event(node, RMC_EVENT_LINK_DOWN, nid, p->epoch);
	}
	if (state > RMC_NODE_DOWN || (up && p->silent))
		state = RMC_NODE_DOWN;
	if (state != p->state || epoch != p->epoch)
		change(node, nid, state, epoch);
	if (linked && !p->linked) {
		p->linked = true;
		rmc_os_node_event(node, RMC_EVENT_LINK_UP, nid, epoch);
	}
}

/**
 * rmc_peers_look() - look at all peers: heartbeats, epochs, what to tell of them
 * @node: node; the caller is its RGP and RCP worker
 *
 * Where all nodes are in this kernel it looks only after a change, so that
 * many idle nodes cost nothing.
 *
 * Context: worker, does not sleep.
 */
void rmc_peers_look(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i;

	if (!f->sync) {
		/* pairs with the release behind each change */
		u32 changes = smp_load_acquire(&f->changes);

		if (likely(changes == node->changes))
			return;
		node->changes = changes;
	}
	for (i = 0; i < f->nodes; i++) {
		/* the entry of a fenced node is its successor's; pairs with the
		 * release in rmc_node_rejoin()
		 */
		if (i == node->nid && unlikely(smp_load_acquire(&node->fenced)))
			continue;
		look(node, i);
		if (!f->sync || i == node->nid)
			continue;
		/* our end is closed for older epochs; pairs with the acquire in
		 * rmc_node_tick_srv()
		 */
		smp_store_release(&node->out_epoch[i], node->peer[i].epoch);
	}
}
