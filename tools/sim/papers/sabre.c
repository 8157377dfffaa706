// SPDX-License-Identifier: GPL-2.0
/*
 * M16's evaluation in virtual time: librmc, its schemes and its store over the core, in packets,
 * with as many readers and writers as the paper has.
 *
 *	rows of the readers' chip                      rows of the objects' chip
 *	node 0:  threads 0, 4, 8, 12   -- packets -->  node 4: R2P2, ATT, a quarter of the objects
 *	node 1:  threads 1, 5, 9, 13   -- packets -->  node 5	  writers, 0 to 4
 *	node 2, 3: the same            -- packets -->  node 6, 7
 *
 * A row is a node: one RGP, RCP and R2P2. All SABRes of an RGP go to the R2P2 of the same row, as
 * in the paper; plain reads do so too, where the paper's spread by address. What threads compute
 * is charged by constants of costs.def, each marked as published, measured or assumed.
 *
 * Figures 1, 8 and 9 are lookups in the store. 8-bare is figure 8 without it, as in the paper:
 * readers know where objects are. What both runs of figure 8 charge besides stages and memory:
 *
 *	a writer's stores	"store", the version is odd meanwhile; not while a store is filled
 *	between two writes	"lookup"; in the store also "strip", as a put reads its object
 *	a lookup		"lookup", in the store only
 *	an object read		"cold" and "use"; FaRM's "strip"; of failed images a KiB of these
 *
 * Their readers, and the store's writers, start at random moments within SPREAD_NS.
 *
 *	build/sim-sabre [--json] [--quick] [7a 7a-depth 7b 8 8-bare 9]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/kv.h>
#include <rmc/object.h>
#include <rmc/reader.h>
#include <rmc/rmc.h>
#include <rmc/sabre.h>
#include "eval.h"

#define ROWS		4
#define READERS		16
#define WRITERS_MAX	16
#define STORES_MAX	(WRITERS_MAX / ROWS)	/* of figure 8: one per thread of an owner */
#define NODES_MAX	(ROWS + READERS)	/* each reader of a store is a node */
#define SEGMENT		(4U << 20)
#define OBJECTS		100		/* figure 8, of all rows */
#define WINDOW		16		/* operations in flight of a thread, figure 7b */
#define START_NS	1000000		/* all threads are ready */
#define SPREAD_NS	4000		/* before a start, some lookups long */
#define ATTEMPTS	1000		/* at an object; more are a fault, as a write is short */

static const struct kind {
	const char *name;
	uint32_t op, mode;
} kinds[] = {
	{ "read", RMC_OP_READ, RMC_SABRE_OVERLAPPED },
	{ "SABRe", RMC_OP_SABRE, RMC_SABRE_OVERLAPPED },
	{ "SABRe, no speculation", RMC_OP_SABRE, RMC_SABRE_SERIALIZED },
	{ "SABRe, locked", RMC_OP_SABRE, RMC_SABRE_LOCKED },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* What the threads of one simulation share */
static struct {
	const struct kind *kind;
	const struct rmc_scheme *scheme;
	uint32_t size;			/* of an object, or of its data */
	uint64_t end_ns;		/* when threads stop */
	uint64_t ops;			/* per thread */
	bool stores_cost;		/* objects are written while others read them */
	/* results */
	uint64_t done, transfer_ns, software_ns, tries, writes;
	uint64_t gets, buckets;		/* of the store, for what is done: figure 8 */
	uint64_t last_ns;
	char *segment[2 * ROWS];
	uint32_t per_row;		/* objects */
} run;

static char *memory(size_t bytes)
{
	char *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

/* ---- owners ---- */

static void own(void *arg)
{
	struct rmc_object_layout layout = { .mode = run.kind->mode };
	struct rmc_ctx *ctx = rmc_open(0, -1);
	uint32_t row = rmc_sim_nid();

	(void)arg;
	run.segment[row] = memory(SEGMENT);
	eval_check(!ctx, "opening a context");
	eval_check(rmc_seg_register_objects(ctx, run.segment[row], SEGMENT, 0, &layout),
		   "registering a segment");
	/* the simulation frees the context */
}

static struct rmc_qp *queue(char **lbuf, size_t bytes)
{
	struct rmc_ctx *ctx = rmc_open(0, -1);
	struct rmc_qp *qp = ctx ? rmc_qp_create(ctx, 128) : NULL;

	eval_check(!qp, "creating a queue pair");
	if (bytes) {
		*lbuf = memory(bytes);
		eval_check(rmc_buf_register(ctx, *lbuf, bytes) < 0, "registering a buffer");
	}
	return qp;
}

static void begin(uint32_t rows, uint32_t readers, void (*reader)(void *))
{
	uint32_t i;

	for (i = 0; i < rows; i++)
		rmc_sim_spawn(rows + i, own, NULL);
	for (i = 0; i < readers; i++)
		rmc_sim_spawn(i % rows, reader, NULL);
}

static void end(void)
{
	int i;

	eval_run();
	for (i = 0; i < 2 * ROWS; i++) {
		free(run.segment[i]);
		run.segment[i] = NULL;
	}
}

static uint64_t random_below(uint64_t n)
{
	return rmc_sim_random() % n;
}

/* ---- 7a: one thread, one operation at a time ---- */

static void blocking(void *arg)
{
	uint64_t i, start;
	char *lbuf;
	struct rmc_qp *qp = queue(&lbuf, 8192);

	(void)arg;
	rmc_sim_sleep_until(START_NS);
	eval_check(rmc_read(qp, 1, 0, lbuf, 64), "a read");
	for (i = 0; i < run.ops; i++) {
		uint64_t at = random_below(SEGMENT / run.size) * run.size;

		start = rmc_sim_now();
		eval_check(rmc_execute(qp, run.kind->op, 1, at, lbuf, run.size), run.kind->name);
		run.transfer_ns += rmc_sim_now() - start;
		/* what the R2P2 has read is not in a cache any more */
		rmc_sim_compute(2000);
	}
	free(lbuf);
}

static double latency_ns(const struct kind *kind, uint32_t size, uint32_t depth)
{
	struct rmc_sim_options o = eval_options(2);

	memset(&run, 0, sizeof(run));
	run.kind = kind;
	run.size = size;
	run.ops = eval.quick ? 20 : 200;
	o.att_depth = depth;
	eval_check(rmc_sim_init(&o), "the simulation");
	begin(1, 1, blocking);
	end();
	return (double)run.transfer_ns / (double)run.ops;
}

static void figure7a(void)
{
	unsigned int i, k;

	for (i = 0; i < EVAL_SIZES; i++)
		for (k = 0; k < KINDS; k++)
			eval_row("7a", eval_sizes[i], 1, kinds[k].name,
				 latency_ns(&kinds[k], eval_sizes[i], 0), "ns");
}

/* Not in the paper, which derives the depth by Little's law */
static void figure7a_depth(void)
{
	static const uint32_t depths[] = { 1, 2, 4, 8, 16, 24, 32, 64, 128 };
	unsigned int i;

	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		eval_row("7a-depth", 8192, depths[i], "SABRe of 8 KiB",
			 latency_ns(&kinds[1], 8192, depths[i]), "ns");
		eval_row("7a-depth", 1024, depths[i], "SABRe of 1 KiB",
			 latency_ns(&kinds[1], 1024, depths[i]), "ns");
	}
}

/* ---- 7b: 16 threads, operations in flight ---- */

static void streaming(void *arg)
{
	uint32_t to = ROWS + rmc_sim_nid();
	struct rmc_completion c = { 0 };
	char *lbuf;
	struct rmc_qp *qp = queue(&lbuf, (size_t)WINDOW * 8192);
	int slot;

	(void)arg;
	rmc_sim_sleep_until(START_NS);
	while (rmc_sim_now() < run.end_ns) {
		if (rmc_qp_in_flight(qp) == WINDOW) {
			eval_check(rmc_cq_wait(qp, &c), "waiting");
			eval_check(c.status, run.kind->name);
			/* the first round opens channels */
			if (rmc_sim_now() > START_NS + (run.end_ns - START_NS) / 4)
				run.done++;
		}
		slot = rmc_wait_for_slot(qp, NULL);
		rmc_issue(qp, run.kind->op, slot, to, random_below(SEGMENT / run.size) * run.size,
			  lbuf + slot % WINDOW * 8192, run.size);
	}
	eval_check(rmc_drain_cq(qp, NULL), "draining");
	free(lbuf);
}

/* GB/s of an R2P2, the mean of all */
static double bandwidth(const struct kind *kind, uint32_t size, uint32_t readers)
{
	struct rmc_sim_options o = eval_options(2 * ROWS);
	uint64_t ns = eval.quick ? 50000 : 100000;

	memset(&run, 0, sizeof(run));
	run.kind = kind;
	run.size = size;
	run.end_ns = START_NS + ns;
	eval_check(rmc_sim_init(&o), "the simulation");
	begin(ROWS, readers, streaming);
	end();
	return (double)run.done * run.size / (0.75 * (double)ns) / ROWS;
}

static void figure7b(void)
{
	unsigned int i, k;

	for (i = 0; i < EVAL_SIZES; i++)
		for (k = 0; k + 1 < KINDS; k++)
			eval_row("7b", eval_sizes[i], READERS, kinds[k].name,
				 bandwidth(&kinds[k], eval_sizes[i], READERS), "GB/s per R2P2");
}

/* ---- 8-bare: readers and writers of the same objects, in the last-level cache ---- */

static size_t object_bytes(void)
{
	return rmc_scheme_bytes(run.scheme, run.size);
}

static struct rmc_object *object(uint32_t node, uint64_t i)
{
	return (struct rmc_object *)(void *)(run.segment[node] + i * object_bytes());
}

/*
 * What a reader computes: it touches what the RMC wrote, and FaRM's strips it. Of a failed image it
 * looks at a KiB, after which versions are compared.
 */
static uint64_t read_ns(uint64_t failed)
{
	uint64_t ps = (uint64_t)run.size * (eval.costs.cold + eval.costs.use);
	uint64_t part = run.size < 1024 ? run.size : 1024;

	if (!(run.scheme->flags & RMC_SCHEME_CLEAN) && run.scheme->check)
		ps += (run.size + failed * part) * eval.costs.strip + failed * part * eval.costs.cold;
	return ps / 1000;
}

/*
 * Threads begin before the same moment, but not at one: readers of an R2P2 would queue there in
 * step for ever, until a writer disturbs them.
 */
static uint64_t spread(uint64_t start_ns)
{
	return start_ns - random_below(SPREAD_NS);
}

static void read_objects(void *arg)
{
	struct rmc_reader_options o = {
		.scheme = run.scheme, .max = run.size, .window = 1, .attempts = ATTEMPTS,
	};
	struct rmc_object_read rd = { .nid = (int)(ROWS + rmc_sim_nid()), .len = run.size };
	struct rmc_qp *qp = queue(NULL, 0);
	struct rmc_reader *r = rmc_reader_open(qp, &o);

	(void)arg;
	eval_check(!r, "opening a reader");
	rmc_sim_sleep_until(spread(START_NS));
	while (rmc_sim_now() < run.end_ns) {
		rd.offset = random_below(run.per_row) * object_bytes();
		eval_check(rmc_reader_read(r, &rd), run.scheme->name);
		rmc_sim_compute(read_ns(rd.tries - 1));
		if (rmc_sim_now() > START_NS) {
			run.tries += rd.tries;
			run.done++;
		}
	}
}

/*
 * In place of the library's, also in the store (by the linker): the stores take their time, during
 * which the version is odd. For schemes without latches. What fills a store takes none, as nobody
 * reads it yet.
 */
int __wrap_rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
			    size_t len, const struct rmc_scheme_params *params);
int __wrap_rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
			    size_t len, const struct rmc_scheme_params *params)
{
	(void)params;
	eval_check(!!s->acquire, "a latch");
	rmc_object_write_begin(o);
	s->store(o, data, len);
	if (run.stores_cost)
		rmc_sim_compute((uint64_t)len * eval.costs.store / 1000);
	rmc_object_write_end(o);
	return 0;
}

struct writer {
	uint32_t first, last;
};

/* Its part of the objects, one after another (CREW) */
static void write_objects(void *arg)
{
	static char data[8192];
	const struct writer *w = arg;
	uint32_t i = w->first, node = rmc_sim_nid();

	rmc_sim_sleep_until(START_NS);
	while (rmc_sim_now() < run.end_ns) {
		eval_check(rmc_scheme_write(run.scheme, object(node, i), data, run.size, NULL),
			   "a write");
		run.writes++;
		/* to the next one; with stores of its own */
		rmc_sim_compute(eval.costs.lookup);
		i = i + 1 < w->last ? i + 1 : w->first;
	}
}

static void init_objects(void *arg)
{
	uint32_t i;

	own(arg);
	for (i = 0; i < run.per_row; i++)
		rmc_scheme_init(run.scheme, object(rmc_sim_nid(), i), run.size);
}

static void begin_conflicts(const char *scheme, uint32_t size, uint32_t nodes)
{
	struct rmc_sim_options o = eval_options(nodes);
	uint32_t memory_ns = eval.costs.memory;

	memset(&run, 0, sizeof(run));
	run.kind = &kinds[1];
	run.scheme = rmc_scheme_find(scheme);
	run.size = size;
	run.per_row = OBJECTS / ROWS;
	/* objects are in the cache */
	eval.costs.memory = eval.costs.cache ? eval.costs.cache : eval.costs.memory;
	eval_check(rmc_sim_init(&o), "the simulation");
	eval.costs.memory = memory_ns;
}

static uint64_t conflicts_ns(void)
{
	return eval.quick ? 50000 : 400000;
}

/* Millions of objects per second, and failed tries per object */
static double end_conflicts(double *again)
{
	end();
	*again = (double)run.tries / (double)run.done - 1;
	return (double)run.done / (double)conflicts_ns() * 1000;
}

static double bare_rate(const char *scheme, uint32_t size, uint32_t writers, double *again)
{
	static struct writer w[WRITERS_MAX];
	uint32_t i, n, per;

	begin_conflicts(scheme, size, 2 * ROWS);
	run.end_ns = START_NS + conflicts_ns();
	run.stores_cost = true;
	for (i = 0; i < ROWS; i++)
		rmc_sim_spawn(ROWS + i, init_objects, NULL);
	for (i = 0; i < READERS; i++)
		rmc_sim_spawn(i % ROWS, read_objects, NULL);
	for (i = 0; i < writers; i++) {
		/* of so many writers of its row it is this one */
		per = writers / ROWS + (i % ROWS < writers % ROWS);
		n = i / ROWS;
		w[i] = (struct writer){ n * run.per_row / per, (n + 1) * run.per_row / per };
		rmc_sim_spawn(ROWS + i % ROWS, write_objects, &w[i]);
	}
	return end_conflicts(again);
}

typedef double rate_fn(const char *scheme, uint32_t size, uint32_t writers, double *again);

static void sweep(const char *part, rate_fn *rate)
{
	static const uint32_t sizes[] = { 128, 1024, 8192 }, writers[] = { 0, 1, 2, 4, 8, 12, 16 };
	static const char * const schemes[] = { "farm", "sabre" };
	double per_us[2], again;
	unsigned int i, k, s;
	char name[64];

	for (i = 0; i < 3; i++) {
		for (k = 0; k < sizeof(writers) / sizeof(writers[0]); k++) {
			if (eval.quick && writers[k] % 16)
				continue;
			for (s = 0; s < 2; s++) {
				per_us[s] = rate(schemes[s], sizes[i], writers[k], &again);
				eval_row(part, sizes[i], writers[k], schemes[s], per_us[s],
					 "millions per second");
				snprintf(name, sizeof(name), "%s: failed tries", schemes[s]);
				eval_row(part, sizes[i], writers[k], name, again, "per object");
				snprintf(name, sizeof(name), "%s: writes", schemes[s]);
				eval_row(part, sizes[i], writers[k], name,
					 (double)run.writes / (double)conflicts_ns() * 1000,
					 "millions per second");
				snprintf(name, sizeof(name), "%s: gets of the store", schemes[s]);
				eval_row(part, sizes[i], writers[k], name,
					 (double)run.gets / (double)run.done, "per object");
			}
			eval_row(part, sizes[i], writers[k], "sabre more by",
				 100 * (per_us[1] / per_us[0] - 1), "%");
		}
	}
}

static void figure8_bare(void)
{
	sweep("8-bare", bare_rate);
}

/* ---- 1, 8, 9a, 9b: lookups in the store ---- */

#define KEYS	64	/* of each row, at most */

static struct {
	char key[ROWS][KEYS][16];
	int keys;			/* of each row */
	int stores, readers;
	int left;			/* readers that are not done */
	int ready;			/* readers that may begin */
	uint64_t start_ns;
} store;

/* Stores are contexts: the n-th key of a row is in the store n % store.stores */
static struct rmc_kv *open_store(int number)
{
	struct rmc_kv_options o = {
		.scheme = run.scheme, .objects = 2 * KEYS, .key_max = 16,
		.value_max = run.size, .attempts = ATTEMPTS,
	};
	struct rmc_team_options to = {
		.ctx_id = (unsigned int)number, .numa_node = -1, .flags = RMC_TEAM_OBJECTS,
	};
	struct rmc_team *t = rmc_team_open_with(&to, rmc_kv_bytes(ROWS + store.readers, &o));
	struct rmc_kv *kv = t ? rmc_kv_open(t, &o) : NULL;

	eval_check(!kv, "opening the store");
	return kv;
}

static void put(struct rmc_kv *kv, const char *key, const char *value)
{
	eval_check(rmc_kv_put(kv, key, strlen(key), value, run.size), "a put");
}

static void fill(struct rmc_kv *kv, int number, const char *value)
{
	int self = (int)rmc_sim_nid(), i, n = 0;

	for (i = 0; n < store.keys; i++) {
		char *key = store.key[self][n];

		snprintf(key, 16, "key %d", i);
		if (rmc_kv_owner(kv, key, strlen(key)) != self)
			continue;
		if (n++ % store.stores == number)
			put(kv, key, value);
	}
	eval_check(rmc_kv_barrier(kv), "a barrier");
}

/* The first members own the keys that readers ask for. */
static void own_keys(void *arg)
{
	struct rmc_kv *kv = open_store(0);
	char *value = memory(run.size);
	int n;

	(void)arg;
	fill(kv, 0, value);
	while (store.left) {
		n = rmc_kv_progress(kv);
		/* strip: the owner's CPU reads from memory, copies and compares; messages are real */
		if (n > 0)
			rmc_sim_compute((uint64_t)n *
					(run.size * (uint64_t)(eval.costs.strip + eval.costs.line / 64) /
					 1000 + eval.costs.memory + eval.costs.lookup));
		else
			rmc_sim_wait_until(rmc_sim_now() + 1000);
	}
	eval_check(rmc_kv_barrier(kv), "a barrier");
	free(value);
}

static void lookup(void *arg)
{
	struct rmc_kv *kv = open_store(0);
	uint32_t row = rmc_sim_nid() % ROWS;
	const void *value;
	uint64_t i, start, from;
	size_t len;

	(void)arg;
	eval_check(rmc_kv_barrier(kv), "a barrier");
	from = rmc_sim_now();
	for (i = 0; i < run.ops; i++) {
		const char *key = store.key[row][random_below(KEYS)];

		start = rmc_sim_now();
		eval_check(rmc_kv_get(kv, key, strlen(key), &value, &len), "a get");
		run.transfer_ns += rmc_sim_now() - start;
		start = rmc_sim_now();
		rmc_sim_compute(eval.costs.lookup + read_ns(0));
		run.software_ns += rmc_sim_now() - start;
		run.done++;
	}
	if (rmc_sim_now() - from > run.last_ns)
		run.last_ns = rmc_sim_now() - from;
	store.left--;
	eval_check(rmc_kv_barrier(kv), "a barrier");
}

static void lookups(const char *scheme, uint32_t size, int readers)
{
	struct rmc_sim_options o = eval_options(ROWS + (uint32_t)readers);
	int i;

	memset(&run, 0, sizeof(run));
	memset(&store, 0, sizeof(store));
	run.scheme = rmc_scheme_find(scheme);
	run.size = size;
	run.ops = eval.quick ? 20 : 200;
	store.stores = 1;
	store.keys = KEYS;
	store.readers = readers;
	store.left = readers;
	eval_check(rmc_sim_init(&o), "the simulation");
	for (i = 0; i < ROWS; i++)
		rmc_sim_spawn(i, own_keys, NULL);
	for (i = 0; i < readers; i++)
		rmc_sim_spawn(ROWS + i, lookup, NULL);
	eval_run();
}

static void figure9(void)
{
	static const char * const schemes[] = { "farm", "sabre", "strip" };
	double ns[3], rate[3];
	unsigned int i, s;

	for (i = 1; i < EVAL_SIZES; i++) {
		for (s = 0; s < 3; s++) {
			uint32_t size = eval_sizes[i];
			double strip = strcmp(schemes[s], "farm") ? 0 : size * eval.costs.strip / 1e3;
			char name[64];

			lookups(schemes[s], size, 1);
			ns[s] = (double)(run.transfer_ns + run.software_ns) / (double)run.done;
			snprintf(name, sizeof(name), "%s: transfer", schemes[s]);
			eval_row("1", size, 0, name, (double)run.transfer_ns / (double)run.done, "ns");
			snprintf(name, sizeof(name), "%s: strip and compare", schemes[s]);
			eval_row("1", size, 0, name, strip, "ns");
			snprintf(name, sizeof(name), "%s: framework and application", schemes[s]);
			eval_row("1", size, 0, name,
				 (double)run.software_ns / (double)run.done - strip, "ns");
			eval_row("9a", size, 1, schemes[s], ns[s], "ns");
			lookups(schemes[s], size, 15);
			rate[s] = (double)run.done / (double)run.last_ns * 1000;
			eval_row("9b", size, 15, schemes[s], rate[s], "millions per second");
		}
		eval_row("9a", eval_sizes[i], 1, "sabre shorter by", 100 * (1 - ns[1] / ns[0]), "%");
		eval_row("9b", eval_sizes[i], 15, "sabre more by", 100 * (rate[1] / rate[0] - 1), "%");
	}
}

/*
 * ---- 8: lookups while owners write ----
 *
 * One thread uses a store, and its own puts are local stores. So the threads of an owner's node
 * have a store each, of the same node's memory and R2P2, and readers are members of all:
 *
 *	node 0 .. 3 (a row)	thread 0: store 0	a row's keys, by turns
 *				thread 1: store 1	  a writer puts those of its store
 *				...
 *	node 4 .. 19		a reader: stores 0, 1, ...
 */

struct owner {
	int number;			/* of its store */
	bool writes;
};

/* All begin when the last reader is ready. */
static void wait_for_start(void)
{
	while (!store.start_ns)
		rmc_sim_wait_until(rmc_sim_now() + 1000);
	rmc_sim_sleep_until(spread(store.start_ns));
}

/* A put looks the key up, which reads the object: FaRM's strips it */
static uint64_t put_ns(void)
{
	bool clean = run.scheme->flags & RMC_SCHEME_CLEAN;

	return eval.costs.lookup + (clean ? 0 : (uint64_t)run.size * eval.costs.strip / 1000);
}

/* A writer puts its own keys, one after another (CREW) */
static void own_and_write(void *arg)
{
	const struct owner *w = arg;
	struct rmc_kv *kv = open_store(w->number);
	char *value = memory(run.size);
	int n = w->number, row = (int)rmc_sim_nid();

	fill(kv, w->number, value);
	wait_for_start();
	while (w->writes && rmc_sim_now() < run.end_ns) {
		rmc_sim_compute(put_ns());
		put(kv, store.key[row][n], value);
		run.writes += rmc_sim_now() > store.start_ns;
		n = n + store.stores < store.keys ? n + store.stores : w->number;
	}
	free(value);
}

static void look_up(void *arg)
{
	struct rmc_kv *kv[STORES_MAX];
	struct rmc_kv_stats before, after;
	uint32_t row = rmc_sim_nid() % ROWS;
	const void *value;
	uint64_t took;
	size_t len;
	int i;

	(void)arg;
	for (i = 0; i < store.stores; i++)
		kv[i] = open_store(i);
	for (i = 0; i < store.stores; i++)
		eval_check(rmc_kv_barrier(kv[i]), "a barrier");
	if (++store.ready == store.readers) {
		run.end_ns = rmc_sim_now() + START_NS + conflicts_ns();
		store.start_ns = run.end_ns - conflicts_ns();
		run.stores_cost = true;
	}
	wait_for_start();
	while (rmc_sim_now() < run.end_ns) {
		uint64_t n = random_below((uint64_t)store.keys);
		struct rmc_kv *its = kv[n % (uint64_t)store.stores];
		const char *key = store.key[row][n];

		rmc_kv_stats(its, &before);
		eval_check(rmc_kv_get(its, key, strlen(key), &value, &len), "a get");
		rmc_kv_stats(its, &after);
		took = after.reads.tries - before.reads.tries;
		rmc_sim_compute(eval.costs.lookup + read_ns(took - 1));
		if (rmc_sim_now() > store.start_ns) {
			run.tries += took;
			run.gets += after.remote_gets - before.remote_gets;
			run.buckets += after.buckets - before.buckets;
			run.done++;
		}
	}
}

static double conflict_rate(const char *scheme, uint32_t size, uint32_t writers, double *again)
{
	static struct owner w[ROWS * STORES_MAX];
	int i;

	begin_conflicts(scheme, size, NODES_MAX);
	memset(&store, 0, sizeof(store));
	store.keys = OBJECTS / ROWS;
	store.readers = READERS;
	store.stores = STORES_MAX;
	for (i = 0; i < ROWS * store.stores; i++) {
		w[i] = (struct owner){ i / ROWS, i < (int)writers };
		rmc_sim_spawn(i % ROWS, own_and_write, &w[i]);
	}
	for (i = 0; i < READERS; i++)
		rmc_sim_spawn(ROWS + i, look_up, NULL);
	return end_conflicts(again);
}

static void figure8(void)
{
	sweep("8", conflict_rate);
}

int main(int argc, char **argv)
{
	static const struct eval_part parts[] = {
		{ "7a", figure7a }, { "7a-depth", figure7a_depth }, { "7b", figure7b },
		{ "8", figure8 }, { "8-bare", figure8_bare }, { "9", figure9 }, { }
	};

	return eval_main(argc, argv, "sonuma-r2p2", 64, parts);
}
