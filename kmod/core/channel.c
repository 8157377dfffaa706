// SPDX-License-Identifier: GPL-2.0
/*
 * Channels: when both ends may use one, opening and closing them. channel_filter.c has the filters
 * between a channel and the pipeline that reads it.
 */
#include "adapter.h"
#include "channel.h"
#include "pipeline.h"
#include "timeout.h"

/**
 * rmc_node_linked() - check whether channels between us and a peer may be used
 * @node: unit
 * @ep: peer, less than fabric->endpoints
 * @epoch: out, the peer's
 *
 * Return: true if both are up and each works with the other's epoch.
 * Context: worker, does not sleep.
 */
bool rmc_node_linked(struct rmc_node *node, u32 ep, u32 *epoch)
{
	struct rmc_fabric *f = node->fabric;
	u32 nid = rmc_endpoint_nid(f, ep);

	if (!rmc_peer_up(f, nid, epoch))
		return false;
	/* pairs with the release in rmc_node_join_poll() */
	if (!smp_load_acquire(&node->head->up))
		return false;
	if (!f->sync)
		return true;
	/* pairs with the release in the peer's rmc_node_tick_srv() */
	return smp_load_acquire(rmc_sync_word(f, ep, node->nid)) == node->head->epoch &&
	       READ_ONCE(*rmc_sync_word(f, node->ep, nid)) == *epoch;
}

/* Set up both rings of a channel, at the start positions of these epochs. */
static void open_rings(const struct rmc_fabric *f, void *mem, struct rmc_ring *req,
		       struct rmc_ring *rep, u32 requester, u32 server)
{
	rmc_ring_init(req, mem, f->ring_order, f->pay_order);
	rmc_ring_init(rep, (u8 *)mem + rmc_ring_bytes(f->ring_order, f->pay_order),
		      f->ring_order, f->pay_order);
	rmc_ring_begin(req, requester, server);
	rmc_ring_begin(rep, requester, server);
}

/* Open one end; NULL and *status: as rmc_out_open(). */
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
	if (IS_ERR(mem)) {
		*status = RMC_S_BUSY;
		return NULL;
	}
	*status = RMC_S_OK;
	if (!mem)
		return NULL;
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
		if (!rmc_filter_open(&node->links, ep, RMC_LANE_REP, &out->rep)) {
			rmc_os_free_atomic(out);
			return NULL;
		}
		out->filter = node->links.filter[RMC_LANE_REP][ep];
	}
	return out;
}

/**
 * rmc_out_open() - open the requester's ends of the channels to a peer, one per RRPP
 * @node: unit; the caller is its RGP worker
 * @nid: peer, less than fabric->nodes
 * @status: out, reason for NULL: RMC_S_NODE_DOWN, RMC_S_BUSY; RMC_S_OK: not yet, call again
 *
 * Return: the first end, or NULL. All are open, for the same epoch, or none is.
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
		/* the head sees its heartbeat again; the next tick would clear this too */
		out[0]->down = false;
		node->renewals = true;
		*status = RMC_S_OK;
		return out[0];
	}
	while (i--) {
		if (!out[i])
			out[i] = open_one(node, rmc_endpoint(f, nid) + i, status);
		if (!out[i]) {
			/* all or none: a peer decides which of them open */
			rmc_out_close(node, nid);
			return NULL;
		}
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
 * rmc_out_close() - end all operations to a peer and close the channels
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
		rmc_itt_release_peer(&node->itt, nid);
	}
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++) {
		if (!out[i])
			continue;
		rmc_filter_close(out[i]->filter);
		rmc_os_free_atomic(out[i]);
		out[i] = NULL;
	}
}

/* True if an operation to a peer has an ITT entry, even if nothing of it was sent yet. */
static bool in_flight(const struct rmc_node *node, u32 nid)
{
	u32 i;

	for (i = 0; i < node->itt.size && node->itt.used; i++)
		if (node->itt.entry[i].qp && node->itt.entry[i].nid == nid)
			return true;
	return false;
}

/**
 * rmc_out_retire() - close the requester's ends of channels that are not in use
 * @node: unit; the caller is its RGP and RCP worker
 * @nid: peer, less than fabric->nodes
 *
 * The first half of freeing the channels' memory; rmc_in_retire() is the second. All
 * credits are back, so both rings are empty. Later requests start in new memory.
 *
 * Return: true: all of them are closed.
 * Context: worker, does not sleep.
 */
bool rmc_out_retire(struct rmc_node *node, u32 nid)
{
	struct rmc_out **out = &node->out[rmc_endpoint(node->fabric, nid)];
	u32 i;

	/* filters may hold packets of any operation */
	if (rmc_os_filters() || in_flight(node, nid))
		return false;
	for (i = 0; i < rmc_fabric_rrpps(node->fabric); i++)
		if (out[i] && (out[i]->credits != out[i]->req.mask + 1 || out[i]->xfers))
			return false;
	rmc_out_close(node, nid);
	return true;
}

/**
 * rmc_in_open() - open the server's end of the channel from a peer
 * @node: unit; the caller is its RRPP worker
 * @ep: peer, less than fabric->endpoints
 *
 * Clears the peer's doorbell bit if channels may not be used yet: a peer that may send
 * rings again after it publishes.
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
		rmc_doorbell_clear(node, RMC_LANE_REQ, ep, NULL);
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
	in->busy_ms = node->srv_ms - RMC_AGAIN_MS;
	if (rmc_os_filters()) {
		if (!rmc_filter_open(&node->links, ep, RMC_LANE_REQ, &in->req)) {
			rmc_os_free_atomic(in);
			return NULL;
		}
		in->filter = node->links.filter[RMC_LANE_REQ][ep];
	}
	node->in[ep] = in;
	return in;
}

/**
 * rmc_in_close() - close the server's end of the channel from a peer
 * @node: unit; the caller is its RRPP worker
 * @ep: peer
 *
 * Context: worker, does not sleep.
 */
void rmc_in_close(struct rmc_node *node, u32 ep)
{
	if (!node->in[ep])
		return;
	rmc_state_close(node, node->in[ep]);
	if (unlikely(node->links.sw)) {
		rmc_adapter_close(node, node->in[ep]);
		rmc_switch_leave(node->links.sw, ep);
	}
	rmc_filter_close(node->in[ep]->filter);
	rmc_os_free_atomic(node->in[ep]->steps);
	rmc_os_free_atomic(node->in[ep]);
	node->in[ep] = NULL;
}

/**
 * rmc_in_retire() - close the server's end of a channel that rmc_out_retire() closed
 * @node: unit; the caller is its RRPP worker
 * @ep: peer, which cannot open its end meanwhile
 *
 * Context: worker, does not sleep.
 */
void rmc_in_retire(struct rmc_node *node, u32 ep)
{
	rmc_in_close(node, ep);
	/* or the RRPP would ask for the channel again */
	rmc_doorbell_clear(node, RMC_LANE_REQ, ep, NULL);
}
