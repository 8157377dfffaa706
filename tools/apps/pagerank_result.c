/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* PageRank on node 0 after the last superstep: collect, verify, print. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "json.h"
#include "pagerank.h"

#define MAX_RELATIVE_ERROR	1e-9

/* Node 0: everybody's ranks, and how many remote reads they took */
static void collect(struct pagerank *p, double *rank, uint64_t *reads)
{
	char *buf = (char *)(p->lbuf + rmc_qp_entries(p->qp));
	uint32_t chunk = COLLECT_BYTES / sizeof(struct vertex), i, k, n;
	const struct vertex *v;
	int node, nid;

	if (chunk * sizeof(*v) > rmc_query(p->team->ctx)->max_length)
		chunk = rmc_query(p->team->ctx)->max_length / sizeof(*v);
	*reads = 0;
	for (node = 0; node < p->team->nodes; node++) {
		struct node_header *h = (struct node_header *)buf;

		nid = rmc_team_nid(p->team, node);
		check("collecting", rmc_read(p->qp, nid, p->team->offset, h, sizeof(*h)));
		*reads += h->remote_reads;
		for (i = 0; i < set_size(p, node); i += n) {
			n = set_size(p, node) - i < chunk ? set_size(p, node) - i : chunk;
			check("collecting", rmc_read(p->qp, nid, vertex_offset(p, i), buf,
						     n * sizeof(*v)));
			v = (const struct vertex *)buf;
			for (k = 0; k < n; k++)
				rank[v[k].id] = v[k].rank[p->superstep % 2];
		}
	}
}

/* The same on one node, without anything remote */
static void reference(const struct pagerank *p, double *rank)
{
	const struct graph *g = &p->graph;
	double *last = (double *)allocate(g->vertices, sizeof(*last));
	uint32_t v;
	uint64_t e;
	int i;

	for (v = 0; v < g->vertices; v++)
		rank[v] = 1.0 / g->vertices;
	for (i = 0; i < p->opt.supersteps; i++) {
		memcpy(last, rank, g->vertices * sizeof(*last));
		for (v = 0; v < g->vertices; v++) {
			rank[v] = (1 - DAMPING) / g->vertices;
			for (e = g->first[v]; e < g->first[v + 1]; e++)
				rank[v] += DAMPING * last[g->in[e]] / g->out_degree[g->in[e]];
		}
	}
	free(last);
}

struct verdict {
	int done, ok;
	double absolute, relative;
};

static void verify(const struct pagerank *p, const double *rank, struct verdict *result)
{
	double *expected = (double *)allocate(p->graph.vertices, sizeof(*expected));
	uint32_t v;

	reference(p, expected);
	result->done = 1;
	for (v = 0; v < p->graph.vertices; v++) {
		double absolute = fabs(rank[v] - expected[v]);

		/* written so that a NaN counts as wrong */
		if (!(absolute <= result->absolute))
			result->absolute = absolute;
		if (!(absolute / expected[v] <= result->relative))
			result->relative = absolute / expected[v];
	}
	result->ok = result->relative <= MAX_RELATIVE_ERROR;
	free(expected);
}

static const double *ranks;

static int by_rank(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (ranks[x] != ranks[y])
		return ranks[x] > ranks[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void print_text(const struct pagerank *p, const double *rank, const uint32_t *best,
		       int top, uint64_t reads, double total, const struct verdict *verdict)
{
	const struct rmc_query *q = rmc_query(p->team->ctx);
	double fastest = p->seconds[0], slowest = p->seconds[0];
	char number[32];
	int i;

	for (i = 0; i < p->opt.supersteps; i++) {
		fastest = fmin(fastest, p->seconds[i]);
		slowest = fmax(slowest, p->seconds[i]);
	}
	printf("graph       %s: %u vertices, %llu edges\n", p->what, p->graph.vertices,
	       (unsigned long long)p->graph.edges);
	printf("nodes       %d, random equal split of %u vertices each, %s\n", p->team->nodes,
	       p->per_node, q->fabric == RMC_FABRIC_IVSHMEM ? "ivshmem" : "loopback");
	printf("supersteps  %d, %.4f s each (%.4f .. %.4f)\n", p->opt.supersteps,
	       total / p->opt.supersteps, fastest, slowest);
	printf("remote      %llu reads of %zu B, %.3f M/s over all nodes\n",
	       (unsigned long long)reads, sizeof(struct vertex),
	       total > 0 ? (double)reads / total / 1e6 : 0);
	printf("\n%4s  %-12s %s\n", "", "rank", "vertex");
	for (i = 0; i < top; i++)
		printf("%4d  %-12.6g %s\n", i + 1, rank[best[i]],
		       graph_label(&p->graph, best[i], number, sizeof(number)));
	if (verdict->done)
		printf("\nverify      %s: largest error %.3g absolute, %.3g relative (limit %g)\n",
		       verdict->ok ? "ok" : "WRONG", verdict->absolute, verdict->relative,
		       MAX_RELATIVE_ERROR);
}

static void print_json(const struct pagerank *p, const double *rank, const uint32_t *best,
		       int top, uint64_t reads, double total, const struct verdict *verdict)
{
	struct json j;
	char number[32];
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "graph", p->what);
	json_uint(&j, "vertices", p->graph.vertices);
	json_uint(&j, "edges", p->graph.edges);
	json_int(&j, "nodes", p->team->nodes);
	json_int(&j, "supersteps", p->opt.supersteps);
	json_array(&j, "superstep_seconds");
	for (i = 0; i < p->opt.supersteps; i++)
		json_double(&j, NULL, p->seconds[i]);
	json_end_array(&j);
	json_uint(&j, "remote_reads", reads);
	json_double(&j, "remote_reads_per_sec", total > 0 ? (double)reads / total : 0);
	json_array(&j, "top");
	for (i = 0; i < top; i++) {
		json_object(&j, NULL);
		json_string(&j, "vertex", graph_label(&p->graph, best[i], number, sizeof(number)));
		json_double(&j, "rank", rank[best[i]]);
		json_end_object(&j);
	}
	json_end_array(&j);
	if (verdict->done) {
		json_object(&j, "verify");
		json_bool(&j, "ok", verdict->ok);
		json_double(&j, "max_absolute_error", verdict->absolute);
		json_double(&j, "max_relative_error", verdict->relative);
		json_end_object(&j);
	}
	json_end_object(&j);
}

int pagerank_result(struct pagerank *p)
{
	double *rank = (double *)allocate(p->graph.vertices, sizeof(*rank)), total = 0;
	uint32_t *best = (uint32_t *)allocate(p->graph.vertices, sizeof(*best)), v;
	int top = p->opt.top, i;
	struct verdict verdict = { 0 };
	uint64_t reads;

	collect(p, rank, &reads);
	if (p->opt.verify)
		verify(p, rank, &verdict);
	for (i = 0; i < p->opt.supersteps; i++)
		total += p->seconds[i];
	for (v = 0; v < p->graph.vertices; v++)
		best[v] = v;
	ranks = rank;
	qsort(best, p->graph.vertices, sizeof(*best), by_rank);
	if ((uint32_t)top > p->graph.vertices)
		top = (int)p->graph.vertices;
	if (p->opt.json)
		print_json(p, rank, best, top, reads, total, &verdict);
	else
		print_text(p, rank, best, top, reads, total, &verdict);
	fflush(stdout);
	free(rank);
	free(best);
	return verdict.done && !verdict.ok ? EXIT_FAILED : EXIT_OK;
}
