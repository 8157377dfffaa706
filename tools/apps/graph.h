/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Directed graphs for PageRank: for each vertex, the sources of its edges, and the number
 * of edges that leave it. Sources of graphs append edges, then graph_finish() sorts them
 * by destination.
 */
#ifndef RMC_GRAPH_H
#define RMC_GRAPH_H

#include <stdint.h>
#include "strtab.h"

struct graph_edge {
	uint32_t src;
	uint32_t dst;
};

struct graph {
	uint32_t vertices;
	uint64_t edges;

	/* after graph_finish() */
	uint64_t *first;		/* vertices + 1: in-edges of v are first[v] .. */
	uint32_t *in;			/* source of the edge */
	uint32_t *out_degree;

	struct strtab names;		/* labels; none for generated graphs */

	struct graph_edge *list;	/* until graph_finish() */
	uint64_t room;
};

/* Sources of graphs; on failure all exit with one line on stderr. */
void graph_from_text(struct graph *g, const char *path);
void graph_from_debian(struct graph *g, const char *lists);
void graph_from_rmat(struct graph *g, int scale, int edge_factor, uint64_t seed);

#define DEBIAN_LISTS	"/var/lib/apt/lists"

void graph_add(struct graph *g, uint32_t src, uint32_t dst);

/* what: names the source in messages; exits when there are no edges */
void graph_finish(struct graph *g, const char *what);
void graph_free(struct graph *g);

/* The same on every node that has the same graph */
uint64_t graph_checksum(const struct graph *g);

/* Name of a vertex; buf holds a number when it has none. */
const char *graph_label(const struct graph *g, uint32_t v, char *buf, size_t len);

/* Sequence of pseudo-random numbers (splitmix64), the same everywhere */
static inline uint64_t graph_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif /* RMC_GRAPH_H */
