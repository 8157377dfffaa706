// SPDX-License-Identifier: GPL-2.0
/*
 * Links: filters of the core at the ends of each channel, which delay, drop and duplicate
 * packets.
 */
#include "node.h"

/* By pair of nodes: the link is cut */
static bool *cut;

/**
 * sim_links_init() - initialize, without cut links
 *
 * Return: 0 or -ENOMEM.
 */
int sim_links_init(void)
{
	cut = rmc_os_zalloc((size_t)sim.o.nodes * sim.o.nodes);
	return cut ? 0 : -ENOMEM;
}

/**
 * sim_links_free() - mirror of sim_links_init()
 */
void sim_links_free(void)
{
	rmc_os_free(cut);
	cut = NULL;
}

/* Faults of packets between two nodes, for filters */
static struct rmc_fault link_fault(u32 from, u32 to)
{
	struct rmc_fault f = { 0 };

	if (from == to)
		return f;
	f.loss = sim.o.loss;
	f.dup = sim.o.dup;
	f.reorder = sim.o.reorder;
	f.delay_ns = sim.o.one_way_ns;
	f.jitter_ns = sim.o.jitter_ns;
	f.gap_ns = sim.o.gap_ns;
	f.down = cut[from * sim.o.nodes + to];
	return f;
}

/**
 * sim_link_filter() - install a filter at an end of a channel that is being opened
 * @n: node
 * @lane: lane that the node receives
 * @peer: sender
 */
void sim_link_filter(struct sim_node *n, enum rmc_lane lane, u32 peer)
{
	struct rmc_filter *flt = n->rmc->links.filter[lane][peer];
	struct rmc_fault fault = link_fault(peer, n->nid);

	if (flt)
		return;
	flt = rmc_filter_create(&n->fabric, lane, false);
	if (!flt)
		abort();
	rmc_filter_set(flt, &fault, sim_random_seed(sim.o.seed, ((u64)lane << 32) + 2 +
						    (u64)n->nid * sim.o.nodes + peer));
	n->rmc->links.filter[lane][peer] = flt;
}

static void set_cut(u32 from, u32 to, bool down)
{
	struct sim_node *n = sim.node[to];
	enum rmc_lane lane;

	cut[from * sim.o.nodes + to] = down;
	for (lane = 0; lane < RMC_LANES && n->rmc; lane++) {
		struct rmc_fault fault = link_fault(from, to);

		if (n->rmc->links.filter[lane][from])
			rmc_filter_set(n->rmc->links.filter[lane][from], &fault, 0);
	}
}

/**
 * rmc_sim_cut() - cut a link, or mend it
 * @from: node
 * @to: node
 * @down: drop all packets, in both directions
 *
 * Return: 0 or -EINVAL.
 */
int rmc_sim_cut(uint32_t from, uint32_t to, int down)
{
	if (from >= sim.o.nodes || to >= sim.o.nodes)
		return -EINVAL;
	sim_note(down ? "cut" : "mend", from, to, 0);
	set_cut(from, to, down);
	set_cut(to, from, down);
	return 0;
}

/**
 * sim_cluster_count() - sum up the counters of the filters
 * @s: out, counters of packets
 */
void sim_cluster_count(struct rmc_sim_stats *s)
{
	enum rmc_lane lane;
	u32 i, j;

	s->lost = 0;
	s->doubled = 0;
	s->reordered = 0;
	s->restarts = 0;
	for (i = 0; i < sim.o.nodes; i++) {
		const struct rmc_node *node = sim.node[i] ? sim.node[i]->rmc : NULL;

		if (!node)
			continue;
		s->restarts += node->stats.restarts;
		for (lane = 0; lane < RMC_LANES; lane++)
			for (j = 0; j < sim.o.nodes; j++) {
				const struct rmc_filter *flt = node->links.filter[lane][j];

				s->lost += flt ? flt->stats.lost : 0;
				s->doubled += flt ? flt->stats.doubled : 0;
				s->reordered += flt ? flt->stats.reordered : 0;
			}
	}
}
