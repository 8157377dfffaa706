// SPDX-License-Identifier: GPL-2.0
/*
 * PageRank in virtual time: tools/apps/pagerank*.c, whose computation is charged by the edge, and
 * threads in coherent memory, which need no simulation: a superstep lasts as long as the largest
 * set computes, and a barrier is a line that goes from each thread to the next.
 *
 *	RMC_SIM_NODES=16 RMC_SIM_NI=pair build/sim-pagerank --rmat 14 -v bulk --json
 */
#include "tools/apps/pagerank.h"
#include "sim.h"

void charge_edges(uint64_t edges)
{
	rmc_sim_compute(edges * sim.cost.edge / 1000);
}

static void superstep(const struct pagerank *p, double *rank, const double *before)
{
	const struct graph *g = &p->graph;
	uint32_t v;
	uint64_t e;

	for (v = 0; v < g->vertices; v++) {
		rank[v] = (1 - DAMPING) / g->vertices;
		for (e = g->first[v]; e < g->first[v + 1]; e++)
			rank[v] += DAMPING * before[g->in[e]] / g->out_degree[g->in[e]];
	}
}

/* Edges of the largest set */
static uint64_t most_edges(const struct pagerank *p, int threads)
{
	uint32_t share = (p->graph.vertices + (uint32_t)threads - 1) / (uint32_t)threads, i;
	uint64_t most = 0, edges = 0;

	for (i = 0; i < p->graph.vertices; i++) {
		uint32_t v = p->order[i];

		if (i % share == 0)
			edges = 0;
		edges += p->graph.first[v + 1] - p->graph.first[v];
		if (edges > most)
			most = edges;
	}
	return most;
}

void shm_run(const struct pagerank *p, int threads, double *rank, double *seconds)
{
	double *before = allocate(p->graph.vertices, sizeof(*before));
	uint64_t edges = most_edges(p, threads);
	uint32_t v;
	int i;

	for (v = 0; v < p->graph.vertices; v++)
		rank[v] = 1.0 / p->graph.vertices;
	for (i = 0; i < p->opt.supersteps; i++) {
		double start = now();

		for (v = 0; v < p->graph.vertices; v++)
			before[v] = rank[v];
		superstep(p, rank, before);
		charge_edges(edges);
		if (threads > 1)
			rmc_sim_compute((uint64_t)threads * 2 * sim.cost.handoff);
		seconds[i] = now() - start;
	}
	free(before);
}
