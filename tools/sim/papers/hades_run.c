// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up nodes, memory, coroutines and workloads for a run of a system, lets them run, and adds up
 * (hades_run.h). Each member of a program loads its part of the data, all of it before time begins.
 */
#include "hades_names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include <rmc/tx.h>
#include "fiber.h"
#include "workload.h"
#include "hades_run.h"
#include "hades_shape.h"

#define WARM_US		200
#define ROOM		(1 << 18)	/* latencies of a coroutine's program that are kept */
#define TABLES		16

const char *const hd_system_name[HD_SYSTEMS] = { "SW-Impl", "HADES", "HADES-H" };

/* Names of the paper; TPC-C-NP: New-Order and Payment only, see Documentation/tx-figures.rst */
static const struct {
	const char *name, *workload, *structure;
} kinds[] = {
	{ "TPC-C", "tpcc", NULL }, { "TPC-C-NP", "tpcc", NULL }, { "TATP", "tatp", NULL }, { "Smallbank", "smallbank", NULL },
	{ "HT-wA", "ycsb-a", "table" }, { "Map-wA", "ycsb-a", "map" },
	{ "BTree-wA", "ycsb-a", "btree" }, { "B+Tree-wA", "ycsb-a", "tree" },
	{ "HT-wB", "ycsb-b", "table" }, { "Map-wB", "ycsb-b", "map" },
	{ "BTree-wB", "ycsb-b", "btree" }, { "B+Tree-wB", "ycsb-b", "tree" },
};

const char *const hd_all_programs[] = {
	"TPC-C", "TPC-C-NP", "TATP", "Smallbank", "HT-wA", "HT-wB", "Map-wA", "Map-wB", "BTree-wA",
	"BTree-wB", "B+Tree-wA", "B+Tree-wB", NULL,
};

struct program {
	const struct workload *workload;
	struct tx_scale scale;
	struct rmc_tx_table table[TABLES];
	unsigned int tables;
	uint32_t first, records;	/* table */
	uint64_t at;
	struct hd_stats stats;
	int64_t sums[TX_SUMS];
};

static struct program programs[HD_PROGRAMS];
static struct hd_client *clients;
static struct tx_client *workers;
static unsigned int count;

static void failed(const char *what)
{
	fprintf(stderr, "hades: %s\n", what);
	exit(3);
}

static struct tx_scale scale_of(const struct hd_setup *s, const char *structure)
{
	bool large = s->large;

	return (struct tx_scale) {
		.accounts = large ? 1000000 : 50000, .subscribers = large ? 200000 : 20000,
		.warehouses = large ? 100 : 15, .items = large ? 1000 : 200,
		.customers = large ? 60 : 30, .orders = large ? 60 : 30, .room = large ? 200 : 100,
		.by_warehouse = s->local, .keys = large ? 500000 : 30000,
		.requests = hd.requests, .record_bytes = hd.record_bytes, .structure = structure,
		.blind = !s->reads, .local = s->local,
	};
}

static void find_program(const struct hd_setup *s, struct program *p, const char *name)
{
	unsigned int i, k;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			break;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		failed(name);
	memset(p, 0, sizeof(*p));
	p->workload = workload_find(kinds[i].workload);
	p->scale = scale_of(s, kinds[i].structure);
	p->scale.frequent = !strcmp(name, "TPC-C-NP");
	p->tables = p->workload->tables(&p->scale, p->table);
	/* the index is not in transactions; TPC-C's longest one reads four hundred */
	p->records = p->workload->indexed ? 16 : p->workload->records;
	for (k = 0; s->local && !p->workload->indexed && k < p->tables &&
	     strcmp(p->workload->name, "tpcc"); k++)
		p->table[k].group = p->table[k].records / p->table[0].records;
	p->stats.room = ROOM;
	p->stats.latency = malloc(ROOM * sizeof(*p->stats.latency));
	if (!p->stats.latency)
		failed("out of memory");
}

/* Tables of all programs, one after the other in each node's memory */
static uint64_t lay_out(const struct hd_setup *s)
{
	uint64_t at = HD_LINE;
	unsigned int i;

	memset(&hd_shape, 0, sizeof(hd_shape));
	for (i = 0; i < s->programs; i++) {
		struct program *p = &programs[i];

		p->first = hd_shape.tables;
		p->at = at;
		hd_shape_set(s->nodes, p->table, p->tables, at);
		at = s->system == HD_SW ? at + hd_sw_bytes(s->nodes, p->table, p->tables) :
		     hd_shape.bytes;
	}
	return at;
}

static void open_nodes(const struct hd_setup *s, uint64_t bytes)
{
	unsigned int i, k;
	int err = 0;

	for (i = 0; i < s->nodes; i++) {
		struct hd_node *n = &hdr.node[i];

		memset(n, 0, sizeof(*n));
		n->nid = i;
		n->bytes = (bytes + 4095) / 4096 * 4096;
		n->memory = aligned_alloc(4096, n->bytes);
		n->core = calloc(s->cores, sizeof(*n->core));
		if (!n->memory || !n->core)
			failed("out of memory");
		memset(n->memory, 0, n->bytes);
		err |= hd_cache_init(&n->llc, (uint64_t)hd.llc_kib * s->cores, 16, true);
		for (k = 0; k < s->cores; k++) {
			err |= hd_cache_init(&n->core[k].l1, hd.l1_kib, 8, false);
			err |= hd_cache_init(&n->core[k].l2, hd.l2_kib, 8, false);
		}
		if (s->system != HD_SW)
			err |= hd_home_init(n, s->nodes, i, s->system == HD_HADES);
	}
	if (err)
		failed("out of memory");
}

static void close_nodes(const struct hd_setup *s)
{
	unsigned int i, k;

	for (i = 0; i < s->nodes; i++) {
		struct hd_node *n = &hdr.node[i];

		hd_home_free(n);
		for (k = 0; k < s->cores; k++) {
			hd_cache_free(&n->core[k].l1);
			hd_cache_free(&n->core[k].l2);
		}
		hd_cache_free(&n->llc);
		free(n->core);
		free(n->memory);
	}
}

static struct program *program_of(const struct hd_setup *s, unsigned int core)
{
	return &programs[core * s->programs / s->cores];
}

/* A coroutine of a core; the first one of its program on a node loads */
static void open_client(const struct hd_setup *s, struct hd_client *c, struct tx_client *tc,
			unsigned int core)
{
	struct program *p = program_of(s, core);
	int err;

	c->core = &c->node->core[core];
	c->number = (unsigned int)(c - clients);
	c->random = sim_random_seed(s->seed, c->number);
	c->stats = &p->stats;
	c->table = p->first;
	c->at = p->at;
	c->tc = tc;
	*tc = (struct tx_client) {
		.workload = p->workload, .db = (struct rmc_tx_db *)c, .scale = p->scale,
		.self = (int)c->node->nid, .nodes = (int)s->nodes,
		.load_seed = s->seed + 1, .seed = sim_random_seed(s->seed + 77, c->number),
	};
	err = s->system == HD_SW ? hd_sw_open(c, p->table, p->tables, p->records) :
	      hd_tx_open(c, p->records);
	if (err)
		failed("a database cannot be opened");
}

static void load(const struct hd_setup *s)
{
	struct tx_client *loaded[HD_NODES][HD_PROGRAMS] = { { NULL } };
	unsigned int i, core;
	int err;

	for (i = 0; i < count; i++) {
		struct tx_client *tc = &workers[i], **first;
		unsigned int nid = clients[i].node->nid;

		core = (unsigned int)(clients[i].core - clients[i].node->core);
		first = &loaded[nid][program_of(s, core) - programs];
		err = !*first ? tc->workload->load(tc) :
		      tc->workload->join ? tc->workload->join(tc, *first) : 0;
		if (err) {
			fprintf(stderr, "hades: %s: %s\n", tc->workload->name, rmc_strerror(err));
			exit(3);
		}
		if (!*first)
			*first = tc;
	}
}

static void client_main(void *arg)
{
	struct hd_client *c = arg;
	unsigned int kind;
	int err;

	while (hd_time() < hdr.until && !c->tc->full) {
		err = c->tc->workload->one(c->tc, &kind);
		if (err) {
			fprintf(stderr, "hades: %s: %s\n", c->tc->workload->name,
				rmc_strerror(err));
			exit(3);
		}
		hd_sync();
	}
	if (c->tc->full && hd_time() < hdr.until)
		failed("a table is full before the end of the run");
}

static void open_all(const struct hd_setup *s)
{
	unsigned int i, k, m;

	memset(&hdr, 0, sizeof(hdr));
	hd_clock_reset();
	hdr.system = s->system;
	hdr.nodes = s->nodes;
	hdr.cores = s->cores;
	hdr.as_printed = s->as_printed;
	hdr.patience = s->patience ? s->patience : HD_PATIENCE;
	for (i = 0; i < s->programs; i++)
		find_program(s, &programs[i], s->program[i]);
	open_nodes(s, lay_out(s));
	count = s->nodes * s->cores * s->coroutines;
	clients = calloc(count, sizeof(*clients));
	workers = calloc(count, sizeof(*workers));
	if (!clients || !workers)
		failed("out of memory");
	for (i = 0; i < s->nodes; i++)
		for (k = 0; k < s->cores; k++)
			for (m = 0; m < s->coroutines; m++) {
				unsigned int at = (i * s->cores + k) * s->coroutines + m;

				clients[at].node = &hdr.node[i];
				open_client(s, &clients[at], &workers[at], k);
			}
	load(s);
}

static void close_all(const struct hd_setup *s)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (workers[i].workload->close)
			workers[i].workload->close(&workers[i]);
		fiber_destroy(clients[i].fiber);
		if (s->system == HD_SW)
			hd_sw_close(&clients[i]);
		else
			hd_tx_close(&clients[i]);
	}
	close_nodes(s);
	free(clients);
	free(workers);
	for (i = 0; i < s->programs; i++)
		free(programs[i].stats.latency);
	sim_heap_free(&hdr.heap);
}

static int by_value(const void *p, const void *q)
{
	uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;

	return a < b ? -1 : a > b;
}

/* Of a single program: the first client of each node adds up, with the ledgers of all */
static void check_sums(const struct hd_setup *s, struct hd_result *r)
{
	const unsigned int each = s->cores * s->coroutines;
	struct program *p = &programs[0];
	int64_t is, expected;
	unsigned int i, k;

	for (i = 0; i < count; i++)
		for (k = 0; k < TX_LEDGER && i % each; k++)
			workers[i - i % each].ledger[k] =
				(int64_t)((uint64_t)workers[i - i % each].ledger[k] +
					  (uint64_t)workers[i].ledger[k]);
	for (i = 0; i < count; i += each)
		if (p->workload->sum(&workers[i], p->sums))
			failed("records cannot be added up");
	r->wrong = p->workload->judge(&p->scale, p->sums, &is, &expected);
	if (r->wrong)
		fprintf(stderr, "hades: %s: %lld, not %lld\n", r->wrong, (long long)is,
			(long long)expected);
}

static void add_up(const struct hd_setup *s, struct hd_result *r)
{
	uint32_t *all = malloc((size_t)ROOM * HD_PROGRAMS * sizeof(*all));
	uint64_t n = 0, i, requests = 0, k;

	if (!all)
		failed("out of memory");
	for (i = 0; i < s->programs; i++) {
		struct hd_stats *p = &programs[i].stats;

		memcpy(all + n, p->latency, p->latencies * sizeof(*all));
		n += p->latencies;
		r->committed += p->committed;
		r->ended += p->ended;
		r->squashed += p->squashed;
		r->evicted += p->evicted;
		r->eager += p->eager;
		r->locked += p->locked;
		r->full += p->full;
		r->fallback += p->fallback;
		requests += p->requests;
		r->program[i] = (double)p->committed * 1e6 / (double)s->us;
		r->per_second += r->program[i];
		for (k = 0; k < HD_PHASES; k++)
			r->phase_ns[k] += (double)p->phase[k] / 1000;
		for (k = 0; k <= HD_SQUASHES; k++)
			r->by_squashes[k] += p->by_squashes[k];
		r->most_read = p->most_read > r->most_read ? p->most_read : r->most_read;
		r->most_written = p->most_written > r->most_written ? p->most_written :
				  r->most_written;
	}
	for (k = 0; k < HD_PHASES && r->committed; k++) {
		r->phase_ns[k] /= (double)r->committed;
		r->mean_ns += r->phase_ns[k];
	}
	qsort(all, n, sizeof(*all), by_value);
	r->p95_ns = n ? all[n * 95 / 100] : 0;
	free(all);
	r->requests = (double)requests / (double)(r->committed + r->ended + r->squashed + 1);
}

/**
 * hd_measure() - one run
 * @s: what
 * @r: out, what came out
 *
 * Ends the program on errors.
 */
void hd_measure(const struct hd_setup *s, struct hd_result *r)
{
	uint64_t done = 0;
	unsigned int i, k;

	memset(r, 0, sizeof(*r));
	open_all(s);
	hdr.from = WARM_US * 1000000ULL;
	hdr.until = hdr.from + s->us * 1000000ULL;
	for (i = 0; i < count; i++)
		hd_start(&clients[i], client_main, sim_random(&clients[i].random) % 5000000);
	hd_go();
	for (i = 0; i < count; i++) {
		if (!fiber_finished(clients[i].fiber))
			failed("a transaction never ends");
		for (k = 0; k < TX_KINDS; k++)
			done += workers[i].done[k];
	}
	add_up(s, r);
	r->messages = done ? (double)hdr.messages / (double)done : 0;
	r->tests = hdr.tests;
	r->false_positives = hdr.tests ? (double)hdr.false_positives / (double)hdr.tests : 0;
	r->false_squashes = hdr.victims ? (double)hdr.false_victims / (double)hdr.victims : 0;
	r->pairs = hdr.pairs_samples ? (double)hdr.pairs_sum / (double)hdr.pairs_samples : 0;
	r->pairs_most = hdr.pairs_most;
	r->tags = hdr.tag_samples ? (double)hdr.tag_sum / (double)hdr.tag_samples : 0;
	if (s->sums)
		check_sums(s, r);
	close_all(s);
}
