/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * R-MAT: each edge falls into a quadrant of the adjacency matrix, then into one
 * of that quadrant, and so on. The probabilities are those of Graph500.
 */
#include <stdio.h>
#include "graph.h"

#define SCALE_ONE	(1ULL << 32)
#define PROBABILITY(p)	((uint64_t)((p) * (double)SCALE_ONE))

void graph_from_rmat(struct graph *g, int scale, int edge_factor, uint64_t seed)
{
	const uint64_t a = PROBABILITY(0.57), ab = PROBABILITY(0.76), abc = PROBABILITY(0.95);
	uint64_t edges = (uint64_t)edge_factor << scale, i;
	char what[64];
	int bit;

	g->vertices = 1U << scale;
	for (i = 0; i < edges; i++) {
		uint32_t src = 0, dst = 0;

		for (bit = 0; bit < scale; bit++) {
			uint64_t r = graph_random(&seed) >> 32;

			src = src << 1 | (r >= ab);
			dst = dst << 1 | (r >= abc || (r >= a && r < ab));
		}
		graph_add(g, src, dst);
	}
	snprintf(what, sizeof(what), "R-MAT of scale %d", scale);
	graph_finish(g, what);
}
