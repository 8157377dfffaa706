/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* PageRank on node 0 after the last superstep: collect, verify, print. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "json.h"
#include "pagerank.h"
#include "path.h"

#define MAX_RELATIVE_ERROR	1e-9

void pagerank_collect(struct pagerank *p, double *rank)
{
	char *buf = p->collected;
	uint32_t chunk = COLLECT_BYTES / sizeof(struct vertex), i, k, n;
	const struct vertex *v;
	int node, nid;

	if (chunk * sizeof(*v) > rmc_query(p->team->ctx)->max_length)
		chunk = rmc_query(p->team->ctx)->max_length / sizeof(*v);
	p->remote_reads = 0;
	p->remote_bytes = 0;
	for (node = 0; node < p->team->nodes; node++) {
		struct node_header *h = (struct node_header *)buf;

		nid = rmc_team_nid(p->team, node);
		check("collecting", rmc_read(p->qp, nid, p->team->offset, h, sizeof(*h)));
		p->remote_reads += h->remote_reads;
		p->remote_bytes += h->remote_bytes;
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

/* The same on one node, without remote reads */
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

struct summary {
	uint32_t *best;
	int top;
	double total;			/* seconds of all supersteps */
	double median;			/* of them */
	double baseline;		/* the median of one thread; 0: not measured */
	struct verdict verdict;
};

static const char *machine(const struct pagerank *p)
{
	if (p->variant == SHM)
		return "threads";
	return rmc_fabric_name(rmc_query(p->team->ctx)->fabric);
}

/* Of remote reads: one vertex each, or all that a peer has, in the longest operations */
static const char *path(const struct pagerank *p)
{
	uint64_t bytes = sizeof(struct vertex);

	if (p->variant == SHM)
		return "none";
	if (p->variant == BULK)
		bytes *= p->per_node;
	if (bytes > rmc_query(p->team->ctx)->max_length)
		bytes = rmc_query(p->team->ctx)->max_length;
	return path_of_team(p->team, bytes);
}

static void print_text(const struct pagerank *p, const double *rank, const struct summary *s)
{
	double fastest = p->seconds[0], slowest = p->seconds[0];
	char number[32];
	int i;

	for (i = 0; i < p->opt.supersteps; i++) {
		fastest = fmin(fastest, p->seconds[i]);
		slowest = fmax(slowest, p->seconds[i]);
	}
	printf("graph       %s: %u vertices, %llu edges\n", p->what, p->graph.vertices,
	       (unsigned long long)p->graph.edges);
	printf("variant     %s\n", variant_name(p->variant));
	printf("%s  %d, random equal split of %u vertices each, %s\n",
	       p->variant == SHM ? "threads   " : "nodes     ", p->nodes, p->per_node,
	       machine(p));
	printf("supersteps  %d, %.4f s each (%.4f .. %.4f, median %.4f)\n", p->opt.supersteps,
	       s->total / p->opt.supersteps, fastest, slowest, s->median);
	printf("path        %s\n", path(p));
	if (p->variant != SHM)
		printf("remote      %llu reads, %llu B, %.3f M/s over all nodes\n",
		       (unsigned long long)p->remote_reads, (unsigned long long)p->remote_bytes,
		       s->total > 0 ? (double)p->remote_reads / s->total / 1e6 : 0);
	if (p->opt.speedup)
		printf("speedup     %.3f over one thread, which needs %.4f s each\n",
		       s->baseline / s->median, s->baseline);
	printf("\n%4s  %-12s %s\n", "", "rank", "vertex");
	for (i = 0; i < s->top; i++)
		printf("%4d  %-12.6g %s\n", i + 1, rank[s->best[i]],
		       graph_label(&p->graph, s->best[i], number, sizeof(number)));
	if (s->verdict.done)
		printf("\nverify      %s: largest error %.3g absolute, %.3g relative (limit %g)\n",
		       s->verdict.ok ? "ok" : "WRONG", s->verdict.absolute, s->verdict.relative,
		       MAX_RELATIVE_ERROR);
}

static void print_json(const struct pagerank *p, const double *rank, const struct summary *s)
{
	struct json j;
	char number[32];
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "graph", p->what);
	json_uint(&j, "vertices", p->graph.vertices);
	json_uint(&j, "edges", p->graph.edges);
	json_string(&j, "variant", variant_name(p->variant));
	json_string(&j, "machine", machine(p));
	json_string(&j, "path", path(p));
	json_int(&j, "nodes", p->variant == SHM ? 1 : p->nodes);
	json_int(&j, "threads", p->variant == SHM ? p->nodes : 1);
	json_int(&j, "supersteps", p->opt.supersteps);
	json_array(&j, "superstep_seconds");
	for (i = 0; i < p->opt.supersteps; i++)
		json_double(&j, NULL, p->seconds[i]);
	json_end_array(&j);
	json_uint(&j, "remote_reads", p->remote_reads);
	json_uint(&j, "remote_bytes", p->remote_bytes);
	json_double(&j, "remote_reads_per_sec",
		    s->total > 0 ? (double)p->remote_reads / s->total : 0);
	if (p->opt.speedup) {
		json_double(&j, "superstep_median_seconds", s->median);
		json_double(&j, "one_thread_median_seconds", s->baseline);
		json_double(&j, "speedup", s->baseline / s->median);
	}
	json_array(&j, "top");
	for (i = 0; i < s->top; i++) {
		json_object(&j, NULL);
		json_string(&j, "vertex",
			    graph_label(&p->graph, s->best[i], number, sizeof(number)));
		json_double(&j, "rank", rank[s->best[i]]);
		json_end_object(&j);
	}
	json_end_array(&j);
	if (s->verdict.done) {
		json_object(&j, "verify");
		json_bool(&j, "ok", s->verdict.ok);
		json_double(&j, "max_absolute_error", s->verdict.absolute);
		json_double(&j, "max_relative_error", s->verdict.relative);
		json_end_object(&j);
	}
	json_end_object(&j);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median, because the first superstep has cold caches. */
static double median(const double *values, int n)
{
	double *sorted = (double *)allocate((size_t)n, sizeof(*sorted)), result;

	memcpy(sorted, values, (size_t)n * sizeof(*sorted));
	qsort(sorted, (size_t)n, sizeof(*sorted), by_size);
	result = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
	return result;
}

/* The papers' baseline of speed-up: one thread, the whole graph in its memory */
static double time_one_thread(const struct pagerank *p)
{
	double *seconds = (double *)allocate((size_t)p->opt.supersteps, sizeof(*seconds));
	double *rank = (double *)allocate(p->graph.vertices, sizeof(*rank)), result;

	shm_run(p, 1, rank, seconds);
	result = median(seconds, p->opt.supersteps);
	free(rank);
	free(seconds);
	return result;
}

int pagerank_result(struct pagerank *p, const double *rank)
{
	struct summary s = { .top = p->opt.top };
	uint32_t v;
	int i;

	if (p->opt.verify)
		verify(p, rank, &s.verdict);
	for (i = 0; i < p->opt.supersteps; i++)
		s.total += p->seconds[i];
	s.median = median(p->seconds, p->opt.supersteps);
	if (p->opt.speedup)
		s.baseline = time_one_thread(p);
	s.best = (uint32_t *)allocate(p->graph.vertices, sizeof(*s.best));
	for (v = 0; v < p->graph.vertices; v++)
		s.best[v] = v;
	ranks = rank;
	qsort(s.best, p->graph.vertices, sizeof(*s.best), by_rank);
	if ((uint32_t)s.top > p->graph.vertices)
		s.top = (int)p->graph.vertices;
	if (p->opt.json)
		print_json(p, rank, &s);
	else
		print_text(p, rank, &s);
	fflush(stdout);
	free(s.best);
	return s.verdict.done && !s.verdict.ok ? EXIT_FAILED : EXIT_OK;
}
