// SPDX-License-Identifier: GPL-2.0
/* A node's view of its peers: they come up, go down, fall silent and come back. */
#include "../core/pipeline.h"
#include "../core/timeout.h"
#include "member.h"

/*
 * Checks the heartbeat. Where all nodes are in this kernel there is none: their states
 * are always correct.
 */
static void check_beat(struct rmc_node *node, u32 nid, bool up, u32 epoch)
{
	struct rmc_peer *p = &node->peer[nid];
	u32 beat = READ_ONCE(node->fabric->node[nid].heartbeat);

	if (beat != p->heartbeat || epoch != p->epoch || !up) {
		p->heartbeat = beat;
		p->beat_ms = node->req_ms;
		WRITE_ONCE(p->silent, false);
	} else if (!p->silent && node->fabric->sync && nid != node->nid &&
		   node->req_ms - p->beat_ms > node->fabric->dead_ms) {
		WRITE_ONCE(p->silent, true);
	}
}

/* Closes or marks the channels to a peer that is down, silent or in a new epoch. */
static void check_channels(struct rmc_node *node, u32 nid, bool up, u32 epoch)
{
	struct rmc_abort down = { .nid = nid, .status = RMC_S_NODE_DOWN };
	struct rmc_out **out = &node->out[rmc_endpoint(node->fabric, nid)];
	bool silent = READ_ONCE(node->peer[nid].silent);
	u32 i;

	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++) {
		if (!out[i] || (up && out[i]->epoch == epoch))
			continue;
		rmc_stat_inc(node, peer_downs);
		rmc_out_close(node, nid);
		return;
	}
	if (!out[0])
		return;
	if (silent && !out[0]->down) {
		rmc_stat_inc(node, peer_downs);
		rmc_itt_abort(node, &down);
	}
	/* groups that were broken by then */
	if (out[0]->down && !silent)
		node->renewals = true;
	/* the flag of the first channel counts for all */
	out[0]->down = silent;
}

/* Stores the new state, and reports the change. */
static void change_state(struct rmc_node *node, u32 nid, u32 state, u32 epoch)
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

/* True if a fault (down=1) cuts the link. */
static bool link_is_cut(const struct rmc_node *node, u32 nid)
{
	const struct rmc_filter *flt =
		node->links.filter[RMC_LANE_REP][rmc_endpoint(node->fabric, nid)];

	return rmc_os_filters() && flt && flt->fault.down;
}

/* True if all our units and all units of the peer have acknowledged each other's epoch. */
static bool all_linked(struct rmc_node *node, u32 nid, u32 epoch)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, now;

	for (i = 0; i < rmc_fabric_units(f); i++)
		if (!rmc_node_linked(node->unit[i], rmc_endpoint(f, nid) + i, &now) ||
		    now != epoch)
			return false;
	return true;
}

/* A link goes down before its node does, and comes up after it. */
static void report(struct rmc_node *node, u32 nid, u32 state, u32 epoch)
{
	struct rmc_peer *p = &node->peer[nid];
	bool up = state == RMC_NODE_UP, linked;

	linked = up && !p->silent && !link_is_cut(node, nid) && all_linked(node, nid, epoch);
	if (p->linked && (!linked || epoch != p->epoch)) {
		p->linked = false;
		rmc_os_node_event(node, RMC_EVENT_LINK_DOWN, nid, p->epoch);
	}
	if (state > RMC_NODE_DOWN || (up && p->silent))
		state = RMC_NODE_DOWN;
	if (state != p->state || epoch != p->epoch)
		change_state(node, nid, state, epoch);
	if (linked && !p->linked) {
		p->linked = true;
		rmc_os_node_event(node, RMC_EVENT_LINK_UP, nid, epoch);
	}
}

/* Returns the peer's epoch. */
static u32 poll_peer(struct rmc_node *node, u32 nid)
{
	struct rmc_fabric *f = node->fabric;
	/* both words at once; pairs with announce() and set_state() */
	u64 claim = smp_load_acquire(&f->node[nid].claim);
	u32 state = rmc_claim_state(claim), epoch = rmc_claim_epoch(claim);
	bool up = state == RMC_NODE_UP;

	if (node == node->head)
		check_beat(node, nid, up, epoch);
	check_channels(node, nid, up, epoch);
	if (node == node->head)
		report(node, nid, state, epoch);
	return epoch;
}

/**
 * rmc_peers_poll() - poll all peers: heartbeats, epochs, events to report
 * @node: unit; the caller is its RGP and RCP worker
 *
 * Where all nodes are in this kernel it polls only after a change, so idle nodes cost
 * nothing.
 *
 * Context: worker, does not sleep.
 */
void rmc_peers_poll(struct rmc_node *node)
{
	struct rmc_fabric *f = node->fabric;
	u32 i, epoch;

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
		epoch = poll_peer(node, i);
		if (!f->sync || i == node->nid)
			continue;
		/* our end is closed for older epochs; pairs with the acquire in
		 * rmc_node_tick_srv()
		 */
		smp_store_release(&node->out_epoch[i], epoch);
	}
}
