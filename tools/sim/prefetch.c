// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetches for visits. 128 nodes have 16,000 channels, of which an operation uses a random
 * one: some 40 cache lines, which would miss one after the other. Here they are fetched
 * together, while earlier events run: first the structures that describe a channel, then the
 * lines of packets to which these point. Nothing here changes what is simulated.
 */
#include "node.h"

static void fetch(const void *p, size_t bytes)
{
	const char *at = p;
	size_t i;

	for (i = 0; i < bytes; i += RMC_LINE)
		prefetch(at + i);
}

static void fetch_desc(const struct rmc_ring *r)
{
	prefetch(&r->desc[r->pos & r->mask]);
}

static void fetch_line(const struct rmc_ring *r)
{
	prefetch(r->pay + (size_t)(r->pay_pos & r->pay_mask) * RMC_LINE);
}

/**
 * sim_prefetch_channel() - prefetch the receiving end of a channel
 * @node: node that receives
 * @lane: lane
 * @from: the peer
 */
void sim_prefetch_channel(const struct rmc_node *node, enum rmc_lane lane, u32 from)
{
	const struct rmc_filter *flt = node->links.filter[lane][from];

	if (lane == RMC_LANE_REQ)
		fetch(node->in[from], sizeof(struct rmc_in));
	else
		fetch(node->out[from], sizeof(struct rmc_out));
	if (flt)
		fetch(flt, sizeof(*flt));
}

/**
 * sim_prefetch_packets() - prefetch what a visit uses of a channel
 * @node: node that receives
 * @lane: lane
 * @from: the peer
 *
 * sim_prefetch_channel() came before.
 */
void sim_prefetch_packets(const struct rmc_node *node, enum rmc_lane lane, u32 from)
{
	const struct rmc_filter *flt = node->links.filter[lane][from];

	if (flt) {
		fetch_desc(&flt->wire);
		fetch_desc(&flt->tx);
		fetch_line(&flt->tx);
		fetch(flt->heap, sizeof(*flt->heap));
		if (flt->lane == RMC_LANE_REP) {
			fetch_line(&flt->wire);
			prefetch(&flt->next[flt->free]);
			prefetch(flt->pool + (size_t)flt->free * RMC_LINE);
		}
	}
	if (lane == RMC_LANE_REQ && node->in[from]) {
		fetch_desc(&node->in[from]->rep);
		fetch_line(&node->in[from]->rep);
	}
}

/* Channel of the next entry of a queue pair, NULL: none. Applications write entries. */
static const struct rmc_out *next_out(const struct rmc_qpair *qp)
{
	u64 word0 = qp->wq[qp->wq_head & qp->mask].word0;
	u32 nid = (word0 >> RMC_WQE_NID_SHIFT) & RMC_WQE_NID_MASK;

	return nid < qp->node->fabric->nodes ? qp->node->out[nid] : NULL;
}

/**
 * sim_prefetch_qp() - prefetch the sending end of the channel of a posted operation
 * @qp: queue pair
 */
void sim_prefetch_qp(const struct rmc_qpair *qp)
{
	const struct rmc_out *out = next_out(qp);

	if (out)
		fetch(out, sizeof(*out));
}

/**
 * sim_prefetch_visit() - prefetch packets for a visit
 * @w: worker
 */
void sim_prefetch_visit(const struct sim_worker *w)
{
	const struct rmc_node *node = w->node->rmc;
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < w->ni.hots; i++) {
		const struct rmc_out *out = next_out(w->ni.hot[i]);

		if (out)
			fetch_desc(&out->req);
	}
	for (lane = 0; lane < RMC_LANES; lane++)
		for (i = 0; w->ni.nodes[lane] && i < (node->fabric->endpoints + 63) / 64; i++) {
			u64 bits = *rmc_doorbell_word(node->fabric, node->ep, lane, i * 64);

			for (; bits; bits &= bits - 1)
				sim_prefetch_packets(node, lane, i * 64 + __ffs64(bits));
		}
}
