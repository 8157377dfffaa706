/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the parts of PageRank share:
 *
 *	pagerank.c		split, superstep, run
 *	pagerank_result.c	collecting, verifying and printing the ranks
 */
#ifndef RMC_PAGERANK_H
#define RMC_PAGERANK_H

#include <stdint.h>
#include <stdlib.h>
#include <rmc/rmc.h>
#include "graph.h"
#include "opt.h"

#define DAMPING			0.85
#define COLLECT_BYTES		65536	/* of the local buffer, after the slots' */

struct vertex {
	double rank[2];			/* of even and odd supersteps */
	uint32_t out_degree;
	uint32_t id;
	uint64_t pad;			/* two per line, none across lines */
};

struct node_header {
	uint64_t checksum;		/* of graph and options: must agree */
	uint64_t remote_reads;
	uint64_t pad[6];
};

struct edge {
	int16_t nid;			/* of the source, or LOCAL */
	uint32_t index;			/* of the source in its set */
};

#define LOCAL	(-1)

struct options {
	const char *text, *rmat, *lists;
	int debian, supersteps, verify, seed, top, outstanding, ctx_id, json, progress;
};

struct pagerank {
	struct options opt;
	struct graph graph;
	char what[64];

	uint32_t *order;		/* position -> vertex: the random split */
	uint32_t *position;		/* vertex -> position */
	uint32_t per_node;		/* positions of node n begin at n * per_node */

	struct rmc_team *team;
	struct rmc_qp *qp;
	struct node_header *header;
	struct vertex *vertices;	/* our set */
	uint32_t count;
	uint64_t *first;		/* count + 1: edges of our vertex i are first[i] .. */
	struct edge *edges;

	unsigned int superstep;
	uint64_t remote_reads;
	struct vertex *lbuf;		/* one per slot */
	double **async_dest_addr;	/* one per slot */
	double *seconds;		/* per superstep */
};

/* Node 0, while the others wait in the last barrier: an exit code */
int pagerank_result(struct pagerank *p);

static inline void check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

static inline void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die(EXIT_FAILED, "no memory for %zu x %zu bytes", n, size);
	return p;
}

/* Vertices of a node */
static inline uint32_t set_size(const struct pagerank *p, int node)
{
	uint64_t start = (uint64_t)node * p->per_node, n = p->graph.vertices;

	if (start >= n)
		return 0;
	return (uint32_t)(n - start < p->per_node ? n - start : p->per_node);
}

static inline uint64_t vertex_offset(const struct pagerank *p, uint32_t index)
{
	return p->team->offset + sizeof(struct node_header) +
	       (uint64_t)index * sizeof(struct vertex);
}

#endif /* RMC_PAGERANK_H */
