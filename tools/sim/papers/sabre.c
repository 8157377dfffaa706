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
 *	build/sim-sabre [--json] [--quick] [7a 7a-depth 7b 8 9]
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
#define SEGMENT		(4U << 20)
#define OBJECTS		100		/* figure 8, of all rows */
#define WINDOW		16		/* operations in flight of a thread, figure 7b */
#define START_NS	1000000		/* all threads are ready */

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
	/* results */
	uint64_t done, transfer_ns, software_ns, tries;
	uint64_t last_ns;
	char *segment[2 * ROWS];
	uint32_t per_row;		/* objects */
	int ready;
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

/* ---- 8: readers and writers of the same objects, in the last-level cache ---- */

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

static void read_objects(void *arg)
{
	struct rmc_reader_options o = {
		.scheme = run.scheme, .max = run.size, .window = 1, .attempts = ~0U,
	};
	struct rmc_object_read rd = { .nid = (int)(ROWS + rmc_sim_nid()), .len = run.size };
	struct rmc_qp *qp = queue(NULL, 0);
	struct rmc_reader *r = rmc_reader_open(qp, &o);

	(void)arg;
	eval_check(!r, "opening a reader");
	rmc_sim_sleep_until(START_NS);
	while (rmc_sim_now() < run.end_ns) {
		rd.offset = random_below(run.per_row) * object_bytes();
		eval_check(rmc_reader_read(r, &rd), run.scheme->name);
		run.tries += rd.tries;
		rmc_sim_compute(read_ns(rd.tries - 1));
		run.done++;
	}
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
		struct rmc_object *o = object(node, i);

		rmc_object_write_begin(o);
		run.scheme->store(o, data, run.size);
		/* the stores take their time, during which the version is odd */
		rmc_sim_compute((uint64_t)run.size * eval.costs.store / 1000);
		rmc_object_write_end(o);
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

static double conflict_rate(const char *scheme, uint32_t size, uint32_t writers, double *again)
{
	struct rmc_sim_options o = eval_options(2 * ROWS);
	static struct writer w[WRITERS_MAX];
	uint64_t ns = eval.quick ? 50000 : 400000;
	uint32_t i, n, per, memory_ns = eval.costs.memory;

	memset(&run, 0, sizeof(run));
	run.kind = &kinds[1];
	run.scheme = rmc_scheme_find(scheme);
	run.size = size;
	run.per_row = OBJECTS / ROWS;
	run.end_ns = START_NS + ns;
	/* objects are in the cache */
	eval.costs.memory = eval.costs.cache ? eval.costs.cache : eval.costs.memory;
	eval_check(rmc_sim_init(&o), "the simulation");
	eval.costs.memory = memory_ns;
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
	end();
	*again = (double)run.tries / (double)run.done - 1;
	return (double)run.done / (double)ns * 1000;
}

static void figure8(void)
{
	static const uint32_t sizes[] = { 128, 1024, 8192 }, writers[] = { 0, 1, 2, 4, 8, 12, 16 };
	static const char * const schemes[] = { "farm", "sabre" };
	double rate[2], again;
	unsigned int i, k, s;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < sizeof(writers) / sizeof(writers[0]); k++) {
			if (eval.quick && writers[k] % 16)
				continue;
			for (s = 0; s < 2; s++) {
				char name[64];

				rate[s] = conflict_rate(schemes[s], sizes[i], writers[k], &again);
				eval_row("8", sizes[i], writers[k], schemes[s], rate[s],
					 "millions per second");
				snprintf(name, sizeof(name), "%s: failed tries", schemes[s]);
				eval_row("8", sizes[i], writers[k], name, again, "per object");
			}
			eval_row("8", sizes[i], writers[k], "sabre more by",
				 100 * (rate[1] / rate[0] - 1), "%");
		}
	}
}

/* ---- 1, 9a, 9b: lookups in the store ---- */

#define KEYS	64	/* of each row */

static struct {
	char key[ROWS][KEYS][16];
	int keys[ROWS], readers;
	int left;			/* readers that are not done */
	size_t value;
} store;

static struct rmc_kv *open_store(void)
{
	struct rmc_kv_options o = {
		.scheme = run.scheme, .objects = 2 * KEYS, .key_max = 16,
		.value_max = (uint32_t)store.value, .attempts = 1000000,
	};
	struct rmc_team_options to = {
		.ctx_id = 0, .numa_node = -1, .flags = RMC_TEAM_OBJECTS,
	};
	struct rmc_team *t = rmc_team_open_with(&to, rmc_kv_bytes(ROWS + store.readers, &o));
	struct rmc_kv *kv = t ? rmc_kv_open(t, &o) : NULL;

	eval_check(!kv, "opening the store");
	return kv;
}

/* The first members own the keys that readers ask for. */
static void own_keys(void *arg)
{
	struct rmc_kv *kv = open_store();
	char *value = memory(store.value);
	int self = (int)rmc_sim_nid(), i, n;

	(void)arg;
	for (i = 0; store.keys[self] < KEYS; i++) {
		char *key = store.key[self][store.keys[self]];

		snprintf(key, 16, "key %d", i);
		if (rmc_kv_owner(kv, key, strlen(key)) != self)
			continue;
		eval_check(rmc_kv_put(kv, key, strlen(key), value, store.value), "a put");
		store.keys[self]++;
	}
	eval_check(rmc_kv_barrier(kv), "a barrier");
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
	struct rmc_kv *kv = open_store();
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
	store.readers = readers;
	store.left = readers;
	store.value = size;
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

int main(int argc, char **argv)
{
	static const struct eval_part parts[] = {
		{ "7a", figure7a }, { "7a-depth", figure7a_depth }, { "7b", figure7b },
		{ "8", figure8 }, { "9", figure9 }, { }
	};

	return eval_main(argc, argv, "sonuma-r2p2", 64, parts);
}
