/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * PageRank, bulk-synchronous, in the three variants of A14: vertices are split at
 * random into equal sets, one per node or thread. The variants differ in how a rank
 * reaches the set that needs it; pagerank.h lists them.
 *
 * Every node builds the same graph and the same split from the same seed, so it can
 * compute an edge's node and offset. A node exposes:
 *
 *	| struct node_header | struct vertex of its set ... |
 *
 * Ranks are doubles, where the figure has floats, so that the verification can distinguish
 * a lost edge from rounding.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "memlock.h"
#include "pagerank.h"
#include "progress.h"

#define DEFAULT_SUPERSTEPS	10
#define DEFAULT_EDGE_FACTOR	16
#define MAX_SCALE		28
#define MEET_TIMEOUT_MS		120000	/* nodes load the graph at different speeds */
#define MAX_THREADS		1024

static const struct {
	const char *name;
	void (*prepare)(struct pagerank *p);
	void (*superstep)(struct pagerank *p);
} variants[] = {
	[FINE]	= { "fine", fine_prepare, fine_superstep },
	[BULK]	= { "bulk", bulk_prepare, bulk_superstep },
	[SHM]	= { "shm", NULL, NULL },
};

const char *variant_name(int variant)
{
	return variants[variant].name;
}

double now(void)
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

/* Builds our set: vertices, and the location of the source of each edge */
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

/* --- the run --- */

static uint64_t run_checksum(const struct pagerank *p)
{
	return graph_checksum(&p->graph) ^ (uint64_t)p->opt.seed << 32 ^
	       (uint64_t)p->opt.supersteps << 16 ^ (uint64_t)p->variant << 8 ^
	       (uint64_t)p->opt.verify;
}

void *local_buffer(struct pagerank *p, size_t len)
{
	void *buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		die(EXIT_FAILED, "no memory for local buffers of %zu bytes", len);
	madvise(buf, len, MADV_HUGEPAGE);
	if (rmc_buf_register(p->team->ctx, buf, len) < 0)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	return buf;
}

static void join(struct pagerank *p)
{
	struct rmc_team_options options = {
		.ctx_id = (unsigned int)p->opt.ctx_id,
		.entries = 2,
		.numa_node = -1,
		.timeout_ms = MEET_TIMEOUT_MS,
	};
	size_t len;

	memlock_raise();
	while (options.entries < (unsigned int)p->opt.outstanding)
		options.entries *= 2;
	p->nodes = opt_env_int("RMC_NODES", 1, 1);
	split(p, p->nodes);
	len = sizeof(struct node_header) + (size_t)p->per_node * sizeof(struct vertex);
	p->team = rmc_team_open_with(&options, len);
	if (!p->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	p->qp = p->team->qp;
	p->header = (struct node_header *)p->team->seg;
	p->vertices = (struct vertex *)(p->header + 1);
	p->count = set_size(p, p->team->self);

	p->collected = (char *)local_buffer(p, COLLECT_BYTES);
	make_set(p);
	variants[p->variant].prepare(p);
	p->header->checksum = run_checksum(p);
	check("meeting the other nodes", rmc_team_barrier(p->team));
	if (p->team->self) {
		struct node_header *h = (struct node_header *)p->collected;

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
	int i;

	p->seconds = (double *)allocate((size_t)p->opt.supersteps, sizeof(*p->seconds));
	for (i = 0; i < p->opt.supersteps; i++) {
		double start = now();

		variants[p->variant].superstep(p);
		check("barrier", rmc_team_barrier(p->team));
		p->seconds[i] = now() - start;
		if (!p->team->self && progress_due(p->opt.progress))
			fprintf(stderr, "%ssuperstep %d of %d: %.3f s%s", progress_begin(), i + 1,
				p->opt.supersteps, p->seconds[i],
				i + 1 < p->opt.supersteps ? progress_end() : "\n");
	}
	p->header->remote_reads = p->remote_reads;
	p->header->remote_bytes = p->remote_bytes;
	check("barrier", rmc_team_barrier(p->team));
}

/* One process with threads: the other nodes of the run have nothing to do. */
static int run_shm(struct pagerank *p)
{
	double *rank;

	if (opt_env_int("RMC_NODE", 0, 0))
		return EXIT_OK;
	load_graph(p);
	p->nodes = p->opt.threads;
	split(p, p->nodes);
	p->seconds = (double *)allocate((size_t)p->opt.supersteps, sizeof(*p->seconds));
	rank = (double *)allocate(p->graph.vertices, sizeof(*rank));
	shm_run(p, p->opt.threads, rank, p->seconds);
	return pagerank_result(p, rank);
}

static int run_nodes(struct pagerank *p)
{
	int status = EXIT_OK;
	double *rank;

	load_graph(p);
	join(p);
	run(p);
	if (!p->team->self) {
		rank = (double *)allocate(p->graph.vertices, sizeof(*rank));
		pagerank_collect(p, rank);
		status = pagerank_result(p, rank);
	}
	check("last barrier", rmc_team_barrier_with(p->team, RMC_TEAM_SLEEP));
	rmc_team_close(p->team);
	return status;
}

static void parse_options(struct options *o, int argc, char **argv)
{
	static const char usage[] =
		"rmc-run -n N pagerank --graph FILE | --debian | --rmat SCALE [options]";
	const struct opt opts[] = {
		{ 'g', "graph", OPT_STRING, &o->text, 0, 0, "FILE",
			"edge list: '# comment' or 'source destination' per line" },
		{ 'D', "debian", OPT_FLAG, &o->debian, 0, 0, NULL,
			"dependencies of the Debian packages apt knows here" },
		{ 'r', "rmat", OPT_STRING, &o->rmat, 0, 0, "SCALE[,F]",
			"generated: 2^SCALE vertices, F edges each (16)" },
		{ 0, "lists", OPT_STRING, &o->lists, 0, 0, "DIR", "apt's lists, for --debian" },
		{ 'v', "variant", OPT_STRING, &o->variant, 0, 0, "NAME",
			"fine: a remote read per edge (default); bulk: whole sets; shm: threads" },
		{ 'T', "threads", OPT_INT, &o->threads, 1, MAX_THREADS, "N",
			"of the shm variant (1)" },
		{ 'S', "speedup", OPT_FLAG, &o->speedup, 0, 0, NULL,
			"afterwards time one thread with the whole graph, and compare" },
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
		{ 0, "progress", OPT_FLAG, &o->progress, 0, 0, NULL, "every superstep on stderr also when that is no terminal" },
		{ 0 },
	};

	o->lists = DEBIAN_LISTS;
	o->variant = "fine";
	o->threads = 1;
	o->supersteps = DEFAULT_SUPERSTEPS;
	o->seed = 1;
	o->top = 10;
	o->outstanding = RMC_QP_ENTRIES_DEFAULT;
	o->ctx_id = opt_default_context();
	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	if (!!o->text + !!o->debian + !!o->rmat != 1)
		die(EXIT_USAGE, "one of --graph FILE, --debian and --rmat SCALE is needed");
}

static int find_variant(const char *name)
{
	int i;

	for (i = 0; i < VARIANTS; i++)
		if (!strcmp(name, variants[i].name))
			return i;
	die(EXIT_USAGE, "--variant: '%s' is not fine, bulk or shm", name);
}

/* Nobody reads it: leak checkers find what a program that ends has not freed. */
static struct pagerank *volatile reachable;

int main(int argc, char **argv)
{
	/* not static: nodes of the simulator share one process */
	struct pagerank *p = (struct pagerank *)allocate(1, sizeof(*p));

	reachable = p;
	parse_options(&p->opt, argc, argv);
	p->variant = find_variant(p->opt.variant);
	if (p->variant != SHM && p->opt.threads > 1)
		die(EXIT_USAGE, "--threads is for --variant shm; more nodes: rmc-run -n");
	return p->variant == SHM ? run_shm(p) : run_nodes(p);
}
