/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Declarations of the parts of PageRank:
 *
 *	pagerank.c		split, run
 *	pagerank_fine.c		variant "fine": one remote read per edge between nodes
 *	pagerank_bulk.c		variant "bulk": one per peer, then local computation
 *	pagerank_shm.c		variant "shm": one process, coherent memory, threads
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
#define COLLECT_BYTES		65536

struct vertex {
	double rank[2];			/* of even and odd supersteps */
	uint32_t out_degree;
	uint32_t id;
	uint64_t pad;			/* two per line, none across lines */
};

struct node_header {
	uint64_t checksum;		/* of graph and options: the same on all nodes */
	uint64_t remote_reads;
	uint64_t remote_bytes;
	uint64_t pad[5];
};

struct edge {
	int16_t nid;			/* of the source, or LOCAL */
	uint32_t index;			/* of the source in its set */
};

#define LOCAL	(-1)

enum variant { FINE, BULK, SHM, VARIANTS };

struct options {
	const char *text, *rmat, *lists, *variant;
	int threads, speedup;
	int debian, supersteps, verify, seed, top, outstanding, ctx_id, json, progress;
};

struct pagerank {
	struct options opt;
	int variant;
	struct graph graph;
	char what[64];
	int nodes;			/* or threads: sets */

	uint32_t *order;		/* position -> vertex: the random split */
	uint32_t *position;		/* vertex -> position */
	uint32_t per_node;		/* positions of node n begin at n * per_node */

	/* not with shm */
	struct rmc_team *team;
	struct rmc_qp *qp;
	struct node_header *header;
	struct vertex *vertices;	/* our set */
	uint32_t count;
	uint64_t *first;		/* count + 1: edges of our vertex i are first[i] .. */
	struct edge *edges;

	unsigned int superstep;
	uint64_t remote_reads, remote_bytes;
	char *collected;		/* COLLECT_BYTES, registered */

	struct vertex *lbuf;		/* fine: one per slot */
	double **async_dest_addr;	/* fine: one per slot */
	const struct vertex **set;	/* bulk: per member, ours or a copy */

	double *seconds;		/* per superstep */
};

double now(void);
const char *variant_name(int variant);

/* Registered memory; exits when there is none. */
void *local_buffer(struct pagerank *p, size_t len);

/* Once after joining; then each superstep, followed by a barrier */
void fine_prepare(struct pagerank *p);
void fine_superstep(struct pagerank *p);
void bulk_prepare(struct pagerank *p);
void bulk_superstep(struct pagerank *p);

/* All supersteps, with threads in this process; rank by vertex, seconds by superstep */
void shm_run(const struct pagerank *p, int threads, double *rank, double *seconds);

/* Node 0, while the others wait in the last barrier: ranks and counts of all nodes */
void pagerank_collect(struct pagerank *p, double *rank);

/* Verify and print: an exit code */
int pagerank_result(struct pagerank *p, const double *rank);

/* In virtual time (tools/sim) computation takes the time that it is charged for. */
#ifdef RMC_SIM_CHARGE
void charge_edges(uint64_t edges);
#else
static inline void charge_edges(uint64_t edges)
{
	(void)edges;
}
#endif

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
