// SPDX-License-Identifier: GPL-2.0
/*
 * What schemes of <rmc/sync.h> and the B+tree of <rmc/ds.h> cost beside the operations that they
 * consist of, when nobody is in the way (R25 4): two nodes of one kernel, one worker on a CPU of
 * its own, the application on another. Packets, as between two machines: first as fast as they
 * are, as for soNUMA; then with the link model's round trip of 2 us, as for RDMA.
 *
 * Each value is the median of single operations in a round; a ratio is the median over rounds,
 * in which all values are measured in turn. All objects fit into the caches.
 *
 *	build/host/sync_bench [--quick] [--json] [--check]
 *
 * --check: only with that round trip. Exit status 1 when a ratio is not what is asked for.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "harness.h"
#include "tools/common/json.h"

#include <rmc/ds.h>
#include <rmc/error.h>
#include <rmc/sync.h>

#define BYTES		256U		/* of an object */
#define OBJECTS		1024U
#define STRIDE		512U
#define TREE_AT		(4UL << 20)	/* offset of the tree in the segment */
#define KEYS		60000U		/* three levels of 4 KiB */
#define ROUNDS_MAX	61
#define OPERATIONS	400
#define WARM_UP		20		/* operations of a series before those measured */

enum series {
	READ_16, READ_64, READ_BYTES, READ_FARM, READ_CRC, READ_FOOTER, READ_NODE, READ_LEAF,
	CAS, CAS_READ, CHECK_FARM, CHECK_CRC,
	LATCH_SPEC, FARM, CRC, VERSIONING, UNSYNC, UNSYNC_ASYNC, EXCL, EXCL_ASYNC, TREE,
	SERIES
};

static const struct {
	const char *scheme;
	u32 flags;
	bool only_begins;	/* the time until the object is held */
	bool writes;
} programs[SERIES] = {
	[LATCH_SPEC] = { "excl", RMC_SYNC_SPEC | RMC_SYNC_ASYNC, true, true },
	[FARM] = { "farm", 0, false, false },
	[CRC] = { "crc64", 0, false, false },
	[VERSIONING] = { "versioning", 0, false, false },
	[UNSYNC] = { "unsync", 0, false, true },
	[UNSYNC_ASYNC] = { "unsync", RMC_SYNC_ASYNC, false, true },
	[EXCL] = { "excl", 0, false, true },
	[EXCL_ASYNC] = { "excl", RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_ASYNC, false, true },
};

static const char * const names[SERIES] = {
	[READ_16] = "read, 16 B", [READ_64] = "read, 64 B", [READ_BYTES] = "read, 256 B",
	[READ_FARM] = "read, an object of farm", [READ_CRC] = "read, an object of crc64",
	[READ_FOOTER] = "read, an object of excl", [READ_NODE] = "read, 4096 B, always the same",
	[READ_LEAF] = "read, 4096 B, any of the tree",
	[CAS] = "compare-and-swap", [CAS_READ] = "compare-and-swap and object, posted together",
	[CHECK_FARM] = "check of farm", [CHECK_CRC] = "check of crc64",
	[LATCH_SPEC] = "excl: latch and object, posted together", [FARM] = "farm, validated",
	[CRC] = "crc64, validated", [VERSIONING] = "versioning, validated",
	[UNSYNC] = "write, unsynchronized", [UNSYNC_ASYNC] = "write, unsynchronized, not waited for",
	[EXCL] = "write, latched", [EXCL_ASYNC] = "write, latched, not waited for",
	[TREE] = "lookup in the tree",
};

static struct bench bench;
static struct rmc_tree *tree;
static struct rmc_blocks *blocks;
static const struct rmc_scheme *layout[SERIES];
static u8 *landing, clean[4096];
static u32 tree_blocks;		/* that are in use, about */
static double levels, value[SERIES][ROUNDS_MAX];
static bool missed, as_json;
static struct json out;
static volatile u64 sink;

static void failed(const char *what)
{
	fprintf(stderr, "sync_bench: %s: %s\n", what, rmc_errmsg());
	exit(1);
}

static u64 place(void)
{
	return bench_random() % OBJECTS * STRIDE;
}

static struct rmc_sync_options options(enum series k)
{
	return (struct rmc_sync_options){
		.scheme = rmc_sync_find(programs[k].scheme), .max = BYTES, .nid = 0,
		.flags = programs[k].flags | RMC_SYNC_TRUST_ORDER,
		.memory = landing + (1 << 20), .client = 1,
	};
}

/* --- one operation of a series: ticks --- */

static u64 plain(u64 at, size_t len)
{
	u64 t0 = bench_ticks(), sum = 0;
	size_t i;

	bench_check(rmc_read(&bench.app.qp, 1, at, landing, len));
	/* the lines come from the worker's cache */
	for (i = 0; i < len; i += RMC_CACHE_LINE)
		sum += *(volatile u64 *)(landing + i);
	sink = sum;
	return bench_ticks() - t0;
}

static u64 compare_and_swap(void)
{
	u64 t0 = bench_ticks(), old;

	bench_check(rmc_cas(&bench.app.qp, 1, place(), 0, 0, &old));
	return bench_ticks() - t0;
}

static u64 swap_and_read(void)
{
	u64 t0 = bench_ticks(), at = place();
	struct rmc_qp *qp = &bench.app.qp;

	rmc_cas_async(qp, rmc_wait_for_slot(qp, NULL), 1, at, 0, 0);
	rmc_read_async(qp, rmc_wait_for_slot(qp, NULL), 1, at, landing,
		       layout[LATCH_SPEC]->image(BYTES));
	bench_check(rmc_drain_cq(qp, NULL));
	return bench_ticks() - t0;
}

static u64 check(enum series k)
{
	const void *data;
	u64 t0;

	bench_check(rmc_execute(&bench.app.qp, RMC_OP_READ, 1, place(), landing,
				layout[k]->image(BYTES)));
	t0 = bench_ticks();
	bench_check(rmc_scheme_check(layout[k], landing, clean, BYTES, &data));
	return bench_ticks() - t0;
}

static u64 program(struct rmc_sync *s, enum series k)
{
	struct rmc_hold h = { .len = BYTES };
	u64 t0 = bench_ticks(), t, at = rmc_sync_addr(1, place());

	if (!programs[k].writes) {
		bench_check(rmc_sync_read(s, at, &h));
		sink = *(volatile u64 *)h.data;
		bench_check(rmc_sync_end(s, &h));
		return bench_ticks() - t0;
	}
	bench_check(rmc_sync_write(s, at, &h));
	if (programs[k].only_begins) {
		t = bench_ticks() - t0;
		bench_check(rmc_sync_cancel(s, &h));
		bench_check(rmc_sync_drain(s));
		return t;
	}
	++*(u64 *)h.data;
	bench_check(rmc_sync_commit(s, &h));
	return bench_ticks() - t0;
}

static u64 lookup(void)
{
	u64 t0 = bench_ticks(), v;

	bench_check(rmc_tree_get(tree, 1 + bench_random() % KEYS, &v));
	sink = v;
	return bench_ticks() - t0;
}

static u64 one(struct rmc_sync *s, enum series k)
{
	switch (k) {
	case READ_16:
		return plain(place(), 16);
	case READ_64:
		return plain(place(), 64);
	case READ_BYTES:
		return plain(place(), BYTES);
	case READ_FARM:
		return plain(place(), layout[FARM]->image(BYTES));
	case READ_CRC:
		return plain(place(), layout[CRC]->image(BYTES));
	case READ_FOOTER:
		return plain(place(), layout[LATCH_SPEC]->image(BYTES));
	case READ_NODE:
		return plain(TREE_AT, 4096);
	case READ_LEAF:
		return plain(TREE_AT + bench_random() % tree_blocks * 4096, 4096);
	case CAS:
		return compare_and_swap();
	case CAS_READ:
		return swap_and_read();
	case CHECK_FARM:
		return check(FARM);
	case CHECK_CRC:
		return check(CRC);
	case TREE:
		return lookup();
	default:
		return program(s, k);
	}
}

/* Objects as the series needs them */
static void prepare(enum series k)
{
	static u8 data[BYTES];
	u32 i;

	if (k == CHECK_FARM)
		k = FARM;
	if (k == CHECK_CRC)
		k = CRC;
	memset(bench_segment, 0, OBJECTS * STRIDE);
	for (i = 0; layout[k] && i < OBJECTS; i++) {
		struct rmc_object *o = (struct rmc_object *)(bench_segment + i * STRIDE);

		rmc_scheme_init(layout[k], o, BYTES);
		rmc_scheme_write(layout[k], o, data, BYTES, NULL);
	}
}

/* ns: the median of a round's operations */
static double measure(enum series k)
{
	static double ticks[OPERATIONS];
	struct rmc_sync *s = NULL;
	int n = bench_quick ? OPERATIONS / 4 : OPERATIONS, i;

	prepare(k);
	if (programs[k].scheme) {
		struct rmc_sync_options o = options(k);

		s = rmc_sync_open(&bench.app.qp, &o);
		if (!s)
			failed(names[k]);
	}
	for (i = -WARM_UP; i < n; i++) {
		double t = (double)one(s, k);

		if (i >= 0)
			ticks[i] = t;
	}
	if (s) {
		bench_check(rmc_sync_drain(s));
		rmc_sync_close(s);
	}
	return bench_median(ticks, n) * bench_ns_per_tick();
}

/* --- the tree --- */

static void tree_up(void)
{
	struct rmc_blocks_options o = {
		.scheme = rmc_scheme_find("farm"), .offset = TREE_AT, .capacity = 2048,
		.bytes = rmc_blocks_fit(NULL, RMC_TREE_IMAGE), .structure = RMC_BLOCKS_TREE,
		.first_nid = 1, .nid = 0, .client = 1, .memory = landing + (4 << 20),
	};
	struct rmc_blocks_stats before, after;
	u64 v;
	u32 i;

	if (TREE_AT + rmc_blocks_bytes(&o) > bench_bytes || rmc_blocks_memory(&o) > 2 << 20)
		failed("no room for the tree");
	if (rmc_blocks_format(&o, bench_segment + TREE_AT))
		failed("format");
	blocks = rmc_blocks_open(&bench.app.qp, &o);
	tree = blocks ? rmc_tree_open(blocks, RMC_TREE_VERSION) : NULL;
	if (!tree)
		failed("open");
	for (i = 0; i < KEYS; i++)
		bench_check(rmc_tree_put(tree, 1 + i * 7919ULL % KEYS, i));
	rmc_blocks_stats(blocks, &before);
	for (i = 0; i < 100; i++)
		bench_check(rmc_tree_get(tree, 1 + bench_random() % KEYS, &v));
	rmc_blocks_stats(blocks, &after);
	tree_blocks = KEYS / (RMC_TREE_IMAGE / 16 / 2);
	levels = (double)(after.reads - before.reads) / 100;
}

/* --- what is asked for --- */

static void ratio(const char *name, double *r, int n, double most)
{
	double is = bench_median(r, n);

	missed |= is > most;
	if (as_json) {
		json_object(&out, NULL);
		json_string(&out, "name", name);
		json_double(&out, "ratio", is);
		json_double(&out, "asked", most);
		json_end_object(&out);
	} else {
		printf("%-70s %5.2f x, asked %.2f%s\n", name, is, most, is > most ? " MISSED" : "");
	}
}

static void ratios(int n)
{
	double r[ROUNDS_MAX];
	int i;

#define RATIO(name, most, expression) do { \
		for (i = 0; i < n; i++) \
			r[i] = expression; \
		ratio(name, r, n, most); \
	} while (0)
#define V(k)	value[k][i]
	RATIO("latch: compare-and-swap, of a 64 B read", 1.10, V(CAS) / V(READ_64));
	RATIO("latch and 256 B posted together, of the object's read", 1.15,
	      V(LATCH_SPEC) / V(READ_FOOTER));
	RATIO("farm validated without its check, of the reads of object and 16 B", 1.10,
	      (V(FARM) - V(CHECK_FARM)) / (V(READ_FARM) + V(READ_16)));
	RATIO("crc64 validated without its check, of the reads of object and 16 B", 1.10,
	      (V(CRC) - V(CHECK_CRC)) / (V(READ_CRC) + V(READ_16)));
	RATIO("versioning validated, of reads of 16, 256 and 16 B", 1.10,
	      V(VERSIONING) / (V(READ_BYTES) + 2 * V(READ_16)));
	/* asked: 0.9 of its rate */
	RATIO("latched write not waited for, of an unsynchronized write", 1 / 0.9,
	      V(EXCL_ASYNC) / V(UNSYNC));
	/* the blocks above the leaves stay in the worker's cache */
	RATIO("tree: lookup less 150 ns a level, of 4 KiB and 16 B reads for each level", 1.10,
	      (V(TREE) - 150 * levels) /
	      (V(READ_LEAF) + (levels - 1) * V(READ_NODE) + levels * V(READ_16)));
#undef V
#undef RATIO
}

static const u32 hops_ns[] = { 0, 1000 };

/* All series with a round trip of two hops, or without a model */
static void with_model(u32 hop_ns, int rounds)
{
	struct rmc_model m = {
		.topology = hop_ns ? RMC_TOPOLOGY_CROSSBAR : RMC_TOPOLOGY_NONE, .hop_ns = hop_ns,
	};
	u32 k;
	int i;

	bench_check(rmc_model_check(&m, 2));
	testbed_stop(&bench.w);
	rmc_filters = !!hop_ns;
	bench.w.fabric[0].model = m;
	bench_check(rmc_channel_refresh(bench.w.node[0], RMC_LANE_REP));
	bench_start(&bench, false);
	for (i = 0; i < rounds; i++)
		for (k = 0; k < SERIES; k++)
			value[k][i] = measure(k);
	if (as_json) {
		json_object(&out, NULL);
		json_uint(&out, "hop_ns", hop_ns);
		json_array(&out, "ratios");
	} else {
		printf("# %s, %.2f blocks of the tree for each lookup\n", hop_ns ?
		       "round trips of 2 us" : "no link model", levels);
	}
	ratios(rounds);
	if (as_json) {
		json_end_array(&out);
		json_object(&out, "ns");
	}
	for (k = 0; k < SERIES; k++) {
		double ns = bench_median(value[k], rounds);

		if (as_json)
			json_double(&out, names[k], ns);
		else
			printf("# %-52s %7.0f ns\n", names[k], ns);
	}
	if (as_json) {
		json_end_object(&out);
		json_end_object(&out);
	}
	fflush(stdout);
}

static int usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: sync_bench [--quick] [--json] [--check]\n"
		"What schemes for objects that all nodes write cost beside their operations; ns are\n"
		"medians. Exit status 1 when a ratio is not what is asked for.\n"
		"--check: only with the round trip of RDMA.\n");
	return status;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool checking = false;
	int rounds = ROUNDS_MAX, c, i;
	u32 k;

	while ((c = getopt_long(argc, argv, "jqch", longopts, NULL)) != -1) {
		if (c == 'j')
			as_json = true;
		else if (c == 'q')
			bench_quick = true;
		else if (c == 'c')
			checking = true;
		else
			return usage(c == 'h' ? 0 : 2);
	}
	if (bench_quick)
		rounds /= 4;
	if (bench_setup(64UL << 20) < 2) {
		fprintf(stderr, "sync_bench: needs two CPUs, this machine has one\n");
		return 4;
	}
	bench_init(&bench, 2, "fused", 4096);
	bench_packets(&bench.w, true);
	landing = bench.app.lbuf;
	bench_start(&bench, false);
	for (k = 0; k < SERIES; k++) {
		struct rmc_sync_options o;

		if (!programs[k].scheme)
			continue;
		o = options(k);
		layout[k] = rmc_sync_layout(&o);
		if (!layout[k])
			failed(names[k]);
	}
	tree_up();
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_string(&out, "path", "packets");
		json_int(&out, "rounds", rounds);
		json_double(&out, "levels", levels);
		json_array(&out, "models");
	}
	for (i = checking; i < (int)ARRAY_SIZE(hops_ns); i++)
		with_model(hops_ns[i], rounds);
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
	}
	rmc_tree_close(tree);
	rmc_blocks_close(blocks);
	bench_fini(&bench);
	return missed;
}
