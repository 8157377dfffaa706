/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * PageRank, fine-grain, as in A14 figure 4 (T18 figure 3.6): vertices are split at
 * random into equal sets, one per node; every edge whose source lives elsewhere
 * costs one asynchronous remote read per superstep, whose completion adds to the
 * destination's rank.
 *
 * Every node builds the same graph and the same split from the same seed, so an
 * edge's node and offset are known without asking. What a node exposes:
 *
 *	| struct node_header | struct vertex of its set ... |
 *
 * Ranks are doubles where the figure has floats: then the verification can tell a
 * lost edge from rounding.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "graph.h"
#include "json.h"
#include "opt.h"

#define DAMPING			0.85
#define DEFAULT_SUPERSTEPS	10
#define DEFAULT_EDGE_FACTOR	16
#define MAX_SCALE		28
#define MAX_RELATIVE_ERROR	1e-9
#define MEET_TIMEOUT_MS		120000	/* nodes load the graph at different speeds */
#define COLLECT_BYTES		65536

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

static void check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die(EXIT_FAILED, "no memory for %zu x %zu bytes", n, size);
	return p;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- the graph and its split --- */

static void load_graph(struct pagerank *p)
{
	const struct options *o = &p->opt;
	int scale, factor = DEFAULT_EDGE_FACTOR, used = 0, n;

	if (o->text) {
		graph_from_text(&p->graph, o->text);
		snprintf(p->what, sizeof(p->what), "%s", o->text);
	} else if (o->rmat) {
		n = sscanf(o->rmat, "%d%n,%d%n", &scale, &used, &factor, &used);
		if (n < 1 || o->rmat[used] || scale < 1 || scale > MAX_SCALE || factor < 0 ||
		    factor > 1024)
			die(EXIT_USAGE, "--rmat: '%s' is not SCALE[,EDGEFACTOR] with scale 1 .. %d",
			    o->rmat, MAX_SCALE);
		graph_from_rmat(&p->graph, scale, factor, (uint64_t)o->seed);
		snprintf(p->what, sizeof(p->what), "R-MAT, scale %d", scale);
	} else {
		graph_from_debian(&p->graph, o->lists);
		snprintf(p->what, sizeof(p->what), "Debian packages");
	}
}

static void split(struct pagerank *p, int nodes)
{
	uint64_t random = (uint64_t)p->opt.seed ^ 0x73706c6974ULL;
	uint32_t n = p->graph.vertices, i, k, v;

	p->order = (uint32_t *)allocate(n, sizeof(*p->order));
	p->position = (uint32_t *)allocate(n, sizeof(*p->position));
	for (i = 0; i < n; i++)
		p->order[i] = i;
	for (i = n - 1; i > 0; i--) {
		k = (uint32_t)(graph_random(&random) % (i + 1));
		v = p->order[i];
		p->order[i] = p->order[k];
		p->order[k] = v;
	}
	for (i = 0; i < n; i++)
		p->position[p->order[i]] = i;
	p->per_node = (n + (uint32_t)nodes - 1) / (uint32_t)nodes;
}

static uint32_t set_size(const struct pagerank *p, int node)
{
	uint64_t start = (uint64_t)node * p->per_node, n = p->graph.vertices;

	if (start >= n)
		return 0;
	return (uint32_t)(n - start < p->per_node ? n - start : p->per_node);
}

static uint64_t vertex_offset(const struct pagerank *p, uint32_t index)
{
	return p->team->offset + sizeof(struct node_header) +
	       (uint64_t)index * sizeof(struct vertex);
}

/* Our vertices, and where the source of each of their edges is */
static void make_set(struct pagerank *p)
{
	const struct graph *g = &p->graph;
	uint32_t start = (uint32_t)p->team->self * p->per_node, i;
	uint64_t n = 0, e;

	p->first = (uint64_t *)allocate((size_t)p->count + 1, sizeof(*p->first));
	for (i = 0; i < p->count; i++) {
		uint32_t v = p->order[start + i];

		p->vertices[i].id = v;
		p->vertices[i].out_degree = g->out_degree[v];
		p->vertices[i].rank[0] = 1.0 / g->vertices;
		n += g->first[v + 1] - g->first[v];
		p->first[i + 1] = n;
	}
	p->edges = (struct edge *)allocate(n, sizeof(*p->edges));
	for (n = 0, i = 0; i < p->count; i++) {
		uint32_t v = p->vertices[i].id;

		for (e = g->first[v]; e < g->first[v + 1]; e++, n++) {
			uint32_t at = p->position[g->in[e]];
			int owner = (int)(at / p->per_node);

			p->edges[n].index = at % p->per_node;
			p->edges[n].nid = (int16_t)(owner == p->team->self ? LOCAL :
						    rmc_team_nid(p->team, owner));
		}
	}
}

/* --- the figure --- */

static inline void pagerank_async(int slot, void *arg)
{
	struct pagerank *p = (struct pagerank *)arg;
	const struct vertex *v = &p->lbuf[slot];

	*p->async_dest_addr[slot] += DAMPING * v->rank[p->superstep % 2] / v->out_degree;
}

static void pagerank_superstep(struct pagerank *p)
{
	int evenodd = (p->superstep + 1) % 2;
	struct rmc_qp *qp = p->qp;
	uint64_t e;
	uint32_t v;

	for (v = 0; v < p->count; v++) {
		p->vertices[v].rank[evenodd] = (1 - DAMPING) / p->graph.vertices;
		for (e = p->first[v]; e < p->first[v + 1]; e++) {
			const struct edge *edge = &p->edges[e];

			if (edge->nid == LOCAL) {
				/* shared memory model */
				const struct vertex *v2 = &p->vertices[edge->index];

				p->vertices[v].rank[evenodd] += DAMPING *
					v2->rank[p->superstep % 2] / v2->out_degree;
			} else {
				/* flow control */
				int slot = rmc_wait_for_slot(qp, pagerank_async);

				if (rmc_unlikely(slot < 0 || rmc_qp_error(qp)))
					check("remote read", slot < 0 ? slot : rmc_qp_error(qp));
				/* callback argument, then the split operation */
				p->async_dest_addr[slot] = &p->vertices[v].rank[evenodd];
				rmc_read_async(qp, slot, edge->nid, vertex_offset(p, edge->index),
					       &p->lbuf[slot], sizeof(struct vertex));
				p->remote_reads++;
			}
		}
	}
	check("remote read", rmc_drain_cq(qp, pagerank_async));
	p->superstep++;
}

/* --- the run --- */

static uint64_t run_checksum(const struct pagerank *p)
{
	return graph_checksum(&p->graph) ^ (uint64_t)p->opt.seed << 32 ^
	       (uint64_t)p->opt.supersteps << 16 ^ (uint64_t)p->opt.verify;
}

static void join(struct pagerank *p)
{
	struct rmc_team_options options = {
		.ctx_id = (unsigned int)p->opt.ctx_id,
		.entries = 2,
		.numa_node = -1,
		.timeout_ms = MEET_TIMEOUT_MS,
	};
	const char *s = getenv("RMC_NODES");
	int nodes = s && atoi(s) > 0 ? atoi(s) : 1;
	unsigned int entries;
	struct rlimit rl;
	size_t len;
	void *lbuf;

	if (!getrlimit(RLIMIT_MEMLOCK, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &rl);
	}
	while (options.entries < (unsigned int)p->opt.outstanding)
		options.entries *= 2;
	split(p, nodes);
	len = sizeof(struct node_header) + (size_t)p->per_node * sizeof(struct vertex);
	p->team = rmc_team_open_with(&options, len);
	if (!p->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	p->qp = p->team->qp;
	p->header = (struct node_header *)p->team->seg;
	p->vertices = (struct vertex *)(p->header + 1);
	p->count = set_size(p, p->team->self);

	entries = rmc_qp_entries(p->qp);
	len = COLLECT_BYTES + entries * sizeof(*p->lbuf);
	lbuf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lbuf == MAP_FAILED)
		die(EXIT_FAILED, "no memory for local buffers");
	if (rmc_buf_register(p->team->ctx, lbuf, len) < 0)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	p->lbuf = (struct vertex *)lbuf;
	p->async_dest_addr = (double **)allocate(entries, sizeof(*p->async_dest_addr));
	rmc_qp_set_arg(p->qp, p);

	make_set(p);
	p->header->checksum = run_checksum(p);
	check("meeting the other nodes", rmc_team_barrier(p->team));
	if (p->team->self) {
		struct node_header *h = (struct node_header *)lbuf;

		check("reading node 0's header",
		      rmc_read(p->qp, rmc_team_nid(p->team, 0), p->team->offset, h, sizeof(*h)));
		if (h->checksum != p->header->checksum)
			die(EXIT_FAILED, "node %d has another graph or other options than node %d",
			    rmc_nid(p->team->ctx), rmc_team_nid(p->team, 0));
	}
	check("barrier", rmc_team_barrier(p->team));
}

static void run(struct pagerank *p)
{
	int tty = isatty(STDERR_FILENO), i;

	p->seconds = (double *)allocate((size_t)p->opt.supersteps, sizeof(*p->seconds));
	for (i = 0; i < p->opt.supersteps; i++) {
		double start = now();

		pagerank_superstep(p);
		check("barrier", rmc_team_barrier(p->team));
		p->seconds[i] = now() - start;
		if (!p->team->self && (tty || p->opt.progress))
			fprintf(stderr, "%ssuperstep %d of %d: %.3f s%s", tty ? "\r" : "", i + 1,
				p->opt.supersteps, p->seconds[i],
				tty && i + 1 < p->opt.supersteps ? "" : "\n");
	}
	p->header->remote_reads = p->remote_reads;
	check("barrier", rmc_team_barrier(p->team));
}

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

/* Node 0, while the others wait in the last barrier */
static int result(struct pagerank *p)
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

static void parse_options(struct options *o, int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'g', "graph", OPT_STRING, &o->text, 0, 0, "FILE",
			"edge list: '# comment' or 'source destination' per line" },
		{ 'D', "debian", OPT_FLAG, &o->debian, 0, 0, NULL,
			"dependencies of the Debian packages apt knows here" },
		{ 'r', "rmat", OPT_STRING, &o->rmat, 0, 0, "SCALE[,F]",
			"generated: 2^SCALE vertices, F edges each (16)" },
		{ 0, "lists", OPT_STRING, &o->lists, 0, 0, "DIR", "apt's lists, for --debian" },
		{ 'n', "supersteps", OPT_INT, &o->supersteps, 1, 100000, "N",
			"default 10 (the paper: 30)" },
		{ 'V', "verify", OPT_FLAG, &o->verify, 0, 0, NULL,
			"compare with a computation on node 0 alone" },
		{ 's', "seed", OPT_INT, &o->seed, 0, INT_MAX, "N", "of the split and of --rmat" },
		{ 't', "top", OPT_INT, &o->top, 0, INT_MAX, "N", "best vertices shown (10)" },
		{ 'o', "outstanding", OPT_INT, &o->outstanding, 2, 65536, "N",
			"queue pair entries (128)" },
		{ 'c', "ctx", OPT_INT, &o->ctx_id, 0, INT_MAX, "ID",
			"context (default $RMC_CTX, then 0)" },
		{ 0, "json", OPT_FLAG, &o->json, 0, 0, NULL, "machine-readable result" },
		{ 0, "progress", OPT_FLAG, &o->progress, 0, 0, NULL, "progress on stderr" },
		{ 0 },
	};

	o->lists = DEBIAN_LISTS;
	o->supersteps = DEFAULT_SUPERSTEPS;
	o->seed = 1;
	o->top = 10;
	o->outstanding = MAX_WQ_SIZE;
	o->ctx_id = opt_default_context();
	if (opt_parse(argc, argv, opts, "rmc-run -n N pagerank --graph FILE | --debian | --rmat SCALE [options]") != argc)
		die(EXIT_USAGE, "'%s' is too much; --help tells the options", argv[argc - 1]);
	if (!!o->text + !!o->debian + !!o->rmat != 1)
		die(EXIT_USAGE, "one of --graph FILE, --debian and --rmat SCALE is needed");
}

int main(int argc, char **argv)
{
	static struct pagerank p;
	int status = EXIT_OK;

	parse_options(&p.opt, argc, argv);
	load_graph(&p);
	join(&p);
	run(&p);
	if (!p.team->self)
		status = result(&p);
	check("last barrier", rmc_team_barrier_with(p.team, RMC_TEAM_SLEEP));
	rmc_team_close(p.team);
	return status;
}
