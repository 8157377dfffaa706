// SPDX-License-Identifier: GPL-2.0
/*
 * Workers of R25 in virtual time. Storage nodes come first; each worker is a node of its own behind
 * them, since all that is contended is at the storage nodes, and a node has only some groups of
 * ordered queue pairs (adapter.rst). Raw operations are of workers that share their nodes'
 * adapters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include "sync.h"
#include "tools/common/adapter.h"
#include "tools/common/json.h"
#include "tools/common/zipf.h"

#define ENTRIES		64		/* of a queue pair */
#define BUFFERS		4		/* with asynchronous releases */
#define SEGMENT		(16U << 20)	/* of a storage node, if tuples share places */
#define OPEN_NS		10000		/* the first operation opens a channel */
#define START_NS	1000000		/* all are open */
#define FANOUT		249		/* of the authors' tree of 4 KiB nodes */

/* What all threads of one simulation share; one at a time */
static struct {
	const struct sync_load *load;
	const struct sync_raw *raw;
	struct rmc_sync_options o;
	const struct rmc_scheme *layout;
	uint32_t len;			/* of the data of an object */
	uint64_t stride, slots;		/* objects that the segment has room for */
	size_t bytes;			/* of the segment */
	struct zipf zipf;
	struct rmc_sim_range switched;	/* what a switch has of each storage node */
	uint64_t from, to;		/* operations that end in between count */
	uint32_t started;
	uint64_t client_ps;		/* time of a client's adapter for a request */
	uint64_t busy_ps[EVAL_NODES];	/* by client: until then */
	/* results, of those that count */
	uint64_t done, objects;
	/* of all */
	uint64_t all, torn, unlike;
	struct rmc_sync_stats sum;
} run;

static struct {
	char *p;
	size_t bytes;
} segment[SYNC_STORAGE];
static struct rmc_adapter adapter;

static void *memory(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

/* Workers that contend need a while for as many operations: some thousand round trips */
uint64_t sync_hot_ns(void)
{
	return 400000 + 4000ULL * eval.costs.wire;
}

/* ---- the fabric ---- */

struct rmc_sim_options sync_options(uint32_t nodes, uint32_t bytes)
{
	struct rmc_sim_options o = eval_options(nodes);

	o.one_way_ns = 0;
	o.topology = 1;
	o.one_way = 1;
	o.hop_ns = eval.costs.wire;
	/* the link model's ports, as in the adapter's a reply's own bytes take no time */
	o.mbps = adapter.mbps;
	/* replies of a few objects of the largest size */
	o.pay_order = bytes > 4096 ? 14 : 10;
	o.memory = eval.costs.memory != 0;
	o.adapter = (struct rmc_sim_adapter){
		.msg_ps = adapter.msg_ps, .cas_ns = adapter.cas_ns, .faa_ns = adapter.faa_ns,
		.buffer_ns = adapter.buffer_ns,
		.qp_cache = adapter.qp_cache, .qp_miss_ns = adapter.qp_miss_ns,
	};
	return o;
}

static void begin(const struct rmc_sim_options *o, uint32_t storage)
{
	uint32_t i;

	if (!run.bytes)
		run.bytes = SEGMENT;
	for (i = 0; i < storage; i++) {
		if (segment[i].bytes < run.bytes) {
			free(segment[i].p);
			segment[i].p = memory(run.bytes);
			segment[i].bytes = run.bytes;
		}
		memset(segment[i].p, 0, run.bytes);
	}
	eval_check(rmc_sim_init(o), "the simulation");
}

static void store(void *arg)
{
	struct rmc_object_layout layout = { .mode = RMC_SABRE_OVERLAPPED };
	struct rmc_ctx *ctx = rmc_open(0, -1);
	char *p = segment[rmc_sim_nid()].p;
	uint64_t i;

	eval_check(!ctx, "opening a context");
	for (i = 0; run.layout && i < run.slots; i++)
		rmc_scheme_init(run.layout, (struct rmc_object *)(void *)(p + i * run.stride),
				run.len);
	if (arg)
		eval_check(rmc_seg_register_objects(ctx, p, run.bytes, 0, &layout), "a segment");
	else
		eval_check(rmc_seg_register(ctx, p, run.bytes, 0), "a segment");
	if (run.switched.count)
		eval_check(rmc_sim_switch(rmc_sim_nid(), &run.switched), "a switch");
}

static struct rmc_qp *queue(uint32_t storage, unsigned int flags, void *lbuf, size_t bytes)
{
	struct rmc_ctx *ctx = rmc_open(0, -1);
	struct rmc_qp *qp = ctx ? rmc_qp_create_with(ctx, ENTRIES, flags) : NULL;
	uint32_t i;

	eval_check(!qp, "creating a queue pair");
	eval_check(rmc_buf_register(ctx, lbuf, bytes) < 0, "registering a buffer");
	rmc_sim_sleep_until(OPEN_NS);
	for (i = 0; i < storage; i++)
		eval_check(rmc_read(qp, (int)i, 0, lbuf, 8), "a read");
	return qp;
}

/* ---- operations of single words ---- */

/* A client's adapter sends the requests of its workers one after the other. */
static void send_one(void)
{
	uint64_t *busy_ps = &run.busy_ps[rmc_sim_nid()], now_ps = rmc_sim_now() * 1000;

	if (!run.client_ps)
		return;
	*busy_ps = (*busy_ps > now_ps ? *busy_ps : now_ps) + run.client_ps;
	rmc_sim_sleep_until(*busy_ps / 1000);
}

static void raw_work(void *arg)
{
	const struct sync_raw *raw = run.raw;
	uint64_t at = (uint64_t)run.started++ * raw->stride, old;
	char *lbuf = memory(4096);
	struct rmc_qp *qp = queue(1, 0, lbuf, 4096);

	(void)arg;
	rmc_sim_sleep_until(START_NS);
	while (rmc_sim_now() < run.to) {
		send_one();
		if (raw->kind == SYNC_CAS)
			eval_check(rmc_cas(qp, 0, at, 1, 1, &old), "a compare-and-swap");
		else
			eval_check(rmc_read(qp, 0, at, lbuf, 8), "a read");
		run.done += rmc_sim_now() >= run.from && rmc_sim_now() < run.to;
	}
	free(lbuf);
}

static void window(uint64_t warm_ns, uint64_t run_ns)
{
	run.from = START_NS + warm_ns;
	run.to = run.from + run_ns;
}

/* Millions of operations per second */
double sync_raw_mops(const struct sync_raw *raw)
{
	struct rmc_sim_options o = sync_options(1 + raw->clients, 8);
	uint64_t ns = eval.quick ? 40000 : 160000;
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.raw = raw;
	if (raw->newer) {
		o.adapter.qp_cache = 0;
		/* found for all clients together */
		run.client_ps = (uint64_t)rmc_adapter_find("tofino")->msg_ps * raw->clients;
	}
	/* the words, and what is between them */
	if (raw->switched)
		run.switched = (struct rmc_sim_range){
			.stride = 8, .bytes = 8, .count = 1 + raw->workers * raw->stride / 8, .words = 1,
		};
	window(20000, ns);
	begin(&o, 1);
	rmc_sim_spawn(0, store, NULL);
	for (i = 0; i < raw->workers; i++)
		rmc_sim_spawn(1 + i % raw->clients, raw_work, NULL);
	eval_run();
	return (double)run.done * 1e3 / (double)ns;
}

/* ---- objects ---- */

/* The longest data with which an object has so many bytes */
static uint32_t data_bytes(const struct rmc_scheme *layout, uint32_t bytes)
{
	uint32_t len = bytes;

	while (len > 8 && rmc_scheme_bytes(layout, len) > bytes)
		len -= 8;
	return len;
}

/* Time that a thread computes for an image: to check what it has read, to make what it writes */
static uint64_t compute_ns(int writes)
{
	const char *scheme = run.load->scheme;
	uint64_t ps = 0;

	if (!strncmp(scheme, "farm", 4))
		ps = eval.costs.strip;
	else if (!strcmp(scheme, "crc64-tables"))
		ps = eval.costs.crc;
	else if (!strncmp(scheme, "crc64", 5))
		ps = eval.costs.clmul;
	if (ps && !writes)
		ps += eval.costs.cold;
	return run.load->bytes * ps / 1000;
}

/* Result of a call: 0, or 1 if the operation begins again */
static int again(int err, const char *what)
{
	if (err == RMC_SCHEME_TORN || err == RMC_SCHEME_LOCKED)
		return 1;
	eval_check(err, what);
	return 0;
}

static void compute(int writes)
{
	uint64_t ns = compute_ns(writes);

	if (ns)
		rmc_sim_compute(ns);
}

static int read_or_write(struct rmc_sync *s, uint64_t addr, int writes)
{
	struct rmc_hold h = { .len = run.len };

	if (writes) {
		if (again(rmc_sync_write(s, addr, &h), "a write"))
			return 1;
		*(uint64_t *)h.data += 1;
		compute(1);
		return again(rmc_sync_commit(s, &h), "a commit");
	}
	if (again(rmc_sync_read(s, addr, &h), "a read"))
		return 1;
	compute(0);
	return again(rmc_sync_end(s, &h), "the end of a read");
}

static uint64_t place(uint32_t node, uint64_t number)
{
	return rmc_sync_addr((int)node, number % run.slots * run.stride);
}

/*
 * Root, a node below it, a leaf: as in the authors' code the key says which. Returns how many
 * objects that were.
 */
static uint32_t look_up(struct rmc_sync *s, uint64_t *seed)
{
	uint64_t key = random_next(seed) % (FANOUT * FANOUT), n = 0;
	uint32_t level;

	for (level = 0; level < SYNC_LEVELS; level++) {
		while (read_or_write(s, place(0, n), 0))
			;
		n = level ? 1 + FANOUT + key : 1 + key / FANOUT;
	}
	return SYNC_LEVELS;
}

static uint32_t operate(struct rmc_sync *s, uint64_t *seed, int first)
{
	const struct sync_load *l = run.load;
	uint32_t node = (uint32_t)(random_next(seed) % l->storage);
	int writes = random_next(seed) % 100 < l->writes;
	uint64_t addr = place(node, zipf_next(&run.zipf, seed));

	if (first && l->gathered)
		addr = place(0, 0);

	while (read_or_write(s, addr, writes))
		;
	return 1;
}

static void add_up(const struct rmc_sync *s)
{
	struct rmc_sync_stats t;

	rmc_sync_stats(s, &t);
	run.sum.messages += t.messages;
	run.sum.round_trips += t.round_trips;
	run.sum.atomics += t.atomics;
	run.sum.torn += t.torn + t.locked;
}

static void work(void *arg)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL * ++run.started;
	struct rmc_sync_options o = run.o;
	size_t bytes = rmc_sync_bytes(&o);
	char *lbuf = memory(bytes);
	struct rmc_qp *qp = queue(run.load->storage, RMC_QP_ORDERED, lbuf, bytes);
	struct rmc_sync *s;
	uint32_t objects, n;

	(void)arg;
	o.nid = (int)rmc_sim_nid();
	o.memory = lbuf;
	s = rmc_sync_open(qp, &o);
	if (!s) {
		fprintf(stderr, "%s: %s\n", run.load->scheme, rmc_errmsg());
		exit(1);
	}
	/* not all at the same moment */
	rmc_sim_sleep_until(START_NS + random_next(&seed) % 2000);
	for (n = 0; rmc_sim_now() < run.to; n++) {
		objects = run.load->tree ? look_up(s, &seed) : operate(s, &seed, !n);
		run.all++;
		if (rmc_sim_now() < run.from || rmc_sim_now() >= run.to)
			continue;
		run.done++;
		run.objects += objects;
	}
	eval_check(rmc_sync_drain(s), "draining");
	add_up(s);
	rmc_sync_close(s);
	free(lbuf);
}

struct sync_rate sync_run(const struct sync_load *load)
{
	struct rmc_sim_options o = sync_options(load->storage + load->workers, load->bytes);
	struct sync_rate r = { 0 };
	double all, ns;
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.load = load;
	run.o = (struct rmc_sync_options){
		.scheme = rmc_sync_find(load->scheme), .latch = load->latch, .flags = load->flags,
		.buffers = load->flags & RMC_SYNC_ASYNC ? BUFFERS : 1, .attempts = 1000000,
		.max = load->bytes,
	};
	run.layout = rmc_sync_layout(&run.o);
	if (!run.layout) {
		fprintf(stderr, "%s: %s\n", load->scheme, rmc_errmsg());
		exit(1);
	}
	run.o.max = run.len = data_bytes(run.layout, load->bytes);
	run.stride = rmc_scheme_bytes(run.layout, run.len) + load->pad * RMC_CACHE_LINE;
	run.bytes = load->whole ? (load->tuples * run.stride + 4095) / 4096 * 4096 : SEGMENT;
	run.slots = load->whole ? load->tuples : run.bytes / run.stride;
	if (load->switched)
		run.switched = (struct rmc_sim_range){
			.stride = (uint32_t)run.stride, .count = (uint32_t)run.slots,
			.bytes = (uint32_t)run.layout->image(run.len),
		};
	zipf_init(&run.zipf, load->tuples ? load->tuples : run.slots, load->theta);
	window(load->warm_ns, load->run_ns);
	begin(&o, load->storage);
	for (i = 0; i < load->storage; i++)
		rmc_sim_spawn(i, store, run.o.scheme->fetch == RMC_FETCH_SABRE ? &run : NULL);
	for (i = 0; i < load->workers; i++)
		rmc_sim_spawn(load->storage + i, work, NULL);
	eval_run();
	all = (double)run.all;
	ns = (double)load->run_ns;
	r.mops = (double)run.done * 1e3 / ns;
	r.gbps = (double)run.objects * load->bytes / ns;
	r.messages = (double)run.sum.messages / all;
	r.round_trips = (double)run.sum.round_trips / all;
	r.atomics = (double)run.sum.atomics / all;
	r.failed = (double)run.sum.torn / all;
	return r;
}

/* ---- torn reads: figure 1b ---- */

#define BLOCKS		16		/* slots that are written in turn */
#define GAP_NS		50		/* between steps of the adapter; assumed */

static struct {
	uint32_t bytes, window;
	uint64_t reads;
} torn;

static void write_blocks(void *arg)
{
	size_t bytes = (size_t)ENTRIES * torn.bytes;
	char *lbuf = memory(bytes);
	struct rmc_qp *qp = queue(1, 0, lbuf, bytes);
	struct rmc_completion c = { 0 };
	uint64_t n, i;

	(void)arg;
	rmc_sim_sleep_until(START_NS);
	for (n = 1; run.all < torn.reads; n++) {
		uint64_t *block;
		int slot;

		while (rmc_qp_in_flight(qp) >= torn.window)
			eval_check(rmc_cq_wait(qp, &c) ?: c.status, "a write");
		slot = rmc_wait_for_slot(qp, NULL);
		block = (uint64_t *)(void *)(lbuf + (size_t)slot * torn.bytes);
		for (i = 0; i < torn.bytes / 8; i++)
			block[i] = n;
		rmc_issue(qp, RMC_OP_WRITE, slot, 0, n % BLOCKS * torn.bytes, block, torn.bytes);
	}
	eval_check(rmc_drain_cq(qp, NULL), "draining");
	free(lbuf);
}

static void read_blocks(void *arg)
{
	uint64_t *block = memory(torn.bytes), seed = 5, i;
	struct rmc_qp *qp = queue(1, 0, block, torn.bytes);
	uint32_t last = torn.bytes / 8 - 1;

	(void)arg;
	rmc_sim_sleep_until(START_NS);
	for (; run.all < torn.reads; run.all++) {
		uint64_t at = random_next(&seed) % BLOCKS * torn.bytes;

		eval_check(rmc_read(qp, 0, at, block, torn.bytes), "a read");
		for (i = 1; i < last && block[i] == block[0]; i++)
			;
		if (block[last] != block[0])
			run.torn++;
		else if (i < last)
			run.unlike++;
	}
	free(block);
}

/* Percent of reads whose ends are alike and whose middle is not; *seen: of other mixtures */
double sync_torn_percent(uint32_t bytes, uint32_t writes_in_flight, double *seen)
{
	struct rmc_sim_options o = sync_options(3, bytes);

	memset(&run, 0, sizeof(run));
	torn.bytes = bytes;
	torn.window = writes_in_flight;
	torn.reads = eval.quick ? 1000 : 10000;
	o.adapter.any_lines = 1;
	o.adapter.gap_ns = GAP_NS;
	begin(&o, 1);
	rmc_sim_spawn(0, store, NULL);
	rmc_sim_spawn(1, write_blocks, NULL);
	rmc_sim_spawn(2, read_blocks, NULL);
	eval_run();
	*seen = 100.0 * (double)run.torn / (double)run.all;
	return 100.0 * (double)run.unlike / (double)run.all;
}

/* ---- the adapter's constants, beside the costs ---- */

static void choose(const char *profile)
{
	const struct rmc_adapter *a = rmc_adapter_find(profile);

	/* an RMC on the chip moves lines */
	if (!eval.mtu)
		eval.mtu = a ? 4096 : 64;
	adapter = *(a ? a : rmc_adapter_find("sonuma"));
}

bool sync_set(const char *name, uint32_t value)
{
#define SET(field, what)	if (!strcmp(name, #field)) { adapter.field = value; return true; }
	RMC_ADAPTER_CONSTANTS(SET)
#undef SET
	return false;
}

static void print(struct json *out)
{
	const struct rmc_adapter_row *row;
	char name[32];
	const char *unit;
	unsigned int i;
	bool own;

	for (i = 0; (row = rmc_adapter_row(i)); i++) {
		own = !strcmp(row->profile, adapter.name);
		/* and of the clients of figure 22 */
		if (!own && (strcmp(row->profile, "tofino") || strcmp(row->name, "msg_ps")))
			continue;
		snprintf(name, sizeof(name), "%s%s", own ? "" : "tofino ", row->name);
		json_object(out, NULL);
		json_string(out, "name", name);
		json_uint(out, "value", row->value);
		/* "msg_ps" */
		unit = strrchr(row->name, '_');
		json_string(out, "unit", unit ? unit + 1 : "");
		json_string(out, "provenance", rmc_adapter_provenance_name(row->provenance));
		json_string(out, "source", row->source);
		json_end_object(out);
	}
}

/* For a program without a command line */
void sync_profile(const char *profile)
{
	eval.profile = profile;
	eval.costs = *rmc_sim_costs_find(profile);
	eval.mtu = 0;
	choose(profile);
}

int sync_main(int argc, char **argv, const struct eval_part *parts)
{
	static const struct eval_constants constants = { choose, sync_set, print };

	eval.more = &constants;
	return eval_main(argc, argv, "cx5", 0, parts);
}
