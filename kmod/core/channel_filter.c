// SPDX-License-Identifier: GPL-2.0
/* Filters between a channel and the pipeline that reads it, and the models that they apply. */
#include "channel.h"
#include "pipeline.h"

/**
 * rmc_channel_add_filter() - install a filter on a lane from a peer
 * @node: unit; the caller is the lane's worker
 * @peer: other end
 * @flt: filter; the lane has none yet
 *
 * Return: 0, or -ENOMEM: an open channel is not filtered yet, rmc_channel_refresh() tries
 * again. Context: worker, does not sleep.
 */
int rmc_channel_add_filter(struct rmc_node *node, u32 peer, struct rmc_filter *flt)
{
	enum rmc_lane lane = flt->lane;

	node->links.filter[lane][peer] = flt;
	if (lane == RMC_LANE_REQ && node->in[peer]) {
		rmc_rrpp_finish(node, node->in[peer]);
		if (!rmc_filter_open(&node->links, peer, lane, &node->in[peer]->req))
			return -ENOMEM;
		node->in[peer]->filter = flt;
	} else if (lane == RMC_LANE_REP && node->out[peer]) {
		if (!rmc_filter_open(&node->links, peer, lane, &node->out[peer]->rep))
			return -ENOMEM;
		node->out[peer]->filter = flt;
	}
	return 0;
}

/**
 * rmc_channel_del_filter() - remove a filter
 * @node: unit; the caller is the lane's worker
 * @peer: other end
 * @lane: lane, which has a filter
 *
 * Return: 0: the filter is no longer in use; the caller frees it. Else see rmc_filter_drain(); call
 * again. Context: worker, does not sleep.
 */
int rmc_channel_del_filter(struct rmc_node *node, u32 peer, enum rmc_lane lane)
{
	int err = rmc_filter_drain(&node->links, node->links.filter[lane][peer]);

	if (err)
		return err;
	if (lane == RMC_LANE_REQ && node->in[peer])
		node->in[peer]->filter = NULL;
	else if (lane == RMC_LANE_REP && node->out[peer])
		node->out[peer]->filter = NULL;
	node->links.filter[lane][peer] = NULL;
	return 0;
}

/**
 * rmc_channel_refresh() - apply a new link model or service time to open channels
 * @node: unit; the caller is the lane's worker
 * @lane: lane
 *
 * Return: 0, or -ENOMEM: some open channels have no filter yet.
 * Context: worker, does not sleep.
 */
int rmc_channel_refresh(struct rmc_node *node, enum rmc_lane lane)
{
	struct rmc_fabric *f = node->fabric;
	/* the caller does not change the model meanwhile */
	bool changed = memcmp(&node->links.model[lane], &f->model, sizeof(f->model));
	u32 i;
	int err = 0;

	if (changed) {
		node->links.model[lane] = f->model;
		if (lane == RMC_LANE_REP)
			memset(node->links.port, 0, sizeof(node->links.port));
	}
	for (i = 0; i < f->endpoints; i++) {
		struct rmc_filter *flt = node->links.filter[lane][i];
		bool open = lane == RMC_LANE_REQ ? !!node->in[i] : !!node->out[i];

		if (!flt && open && rmc_filter_wanted(&node->links, lane)) {
			flt = rmc_filter_create(f, lane, false);
			err = flt ? err : -ENOMEM;
		}
		/* else what comes later overtakes what is due by the old model */
		if (flt && changed)
			rmc_filter_flush(&node->links, flt);
		if (flt && open && !flt->rx)
			err = rmc_channel_add_filter(node, i, flt) ?: err;
		else if (flt && !rmc_filter_route(&node->links, i, flt))
			err = -ENOMEM;
	}
	return err;
}

/**
 * rmc_channel_set_adapter() - model another adapter of a server, or none
 * @node: unit; the caller is its RRPP's worker
 * @r: adapter, checked
 * @seed: seed of its random numbers; 0: keep the current sequence
 *
 * Return: 0, or -ENOMEM: there is no adapter, or some open channels have no filter yet.
 * Context: worker, does not sleep.
 */
int rmc_channel_set_adapter(struct rmc_node *node, const struct rmc_rnic *r, u64 seed)
{
	struct rmc_filter **flt = node->links.filter[RMC_LANE_REQ];
	u32 i;

	for (i = 0; i < node->fabric->endpoints; i++) {
		if (node->in[i])
			rmc_rrpp_finish(node, node->in[i]);
		/* else what comes later overtakes what is due by the old adapter */
		if (flt[i])
			rmc_filter_flush(&node->links, flt[i]);
	}
	return rmc_rnic_set_server(&node->links, r, seed) ?:
	       rmc_channel_refresh(node, RMC_LANE_REQ);
}
