// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of one operation in each stage, as JSON: cycles (of the time stamp counter), or the
 * cache lines that it touches. build/host/lines measures lines: it is this file with every
 * access to memory recorded. The request ring shows which path the operations took: "path".
 *
 *	     CPU of the application	       CPU of the worker
 *	post  WQ entry ------------------->  RGP   request ring, ITT
 *					     RRPP  segment, reply ring
 *	poll  CQ entry, data <-------------  RCP   local buffer, CQ
 *
 * One thread runs the stages one after another, so that each is measured alone. Its cycles are
 * therefore those of the instructions; the cost of lines that move between CPUs is not
 * included. lines counts how many would move: it simulates the caches of both CPUs, of
 * unlimited size (lines.c).
 *
 *	build/host/stages [--quick]		cycles
 *	build/host/lines [--quick]		lines
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "harness.h"
#include "lines.h"
#include "tools/common/json.h"

#define SEGMENT		(8UL << 20)
#define SPAN		(1UL << 20)	/* of the segment: the range of the operations */
#define SAMPLES		501
#define WARM_UP		300		/* rounds until all lines have been touched */
#define BATCH_MAX	32
#define TOGETHER	32		/* operations per sample: counters tick coarsely */

static const char * const names[LINES_STAGES] = { "post", "RGP", "RRPP", "RCP", "poll" };

static const struct {
	const char *name;
	u32 op, bytes, mtu;
	bool direct;		/* local path: the RGP executes it, see kmod/core/local.h */
} table[] = {
	{ "read without packets", RMC_OP_READ, 64, 4096, true },
	{ "write without packets", RMC_OP_WRITE, 64, 4096, true },
	{ "read without packets", RMC_OP_READ, 8192, 4096, true },
	{ "read", RMC_OP_READ, 64, 4096, false },
	{ "write", RMC_OP_WRITE, 64, 4096, false },
	{ "fetch-and-add", RMC_OP_FAA, 8, 4096, false },
	{ "compare-and-swap", RMC_OP_CAS, 8, 4096, false },
	{ "SABRe", RMC_OP_SABRE, 64, 4096, false },
	{ "SABRe", RMC_OP_SABRE, 1024, 4096, false },
	{ "read", RMC_OP_READ, 8192, 4096, false },
	{ "read", RMC_OP_READ, 8192, 64, false },
};

static struct bench bench;
static struct json out;
static double stage_cycles[LINES_STAGES][SAMPLES];
static long long overhead;		/* of reading the counter twice */

static void post(u32 op, u32 bytes)
{
	u64 off = bench_random() % (SPAN / bytes) * bytes;
	struct bench_app *app = &bench.app;
	u8 *buf;
	int slot;

	lines_stage(LINES_POST);
	slot = rmc_wait_for_slot(&app->qp, NULL);
	buf = app->lbuf + (u64)slot * ((bytes + 63) & ~63U);
	if (op == RMC_OP_WRITE)
		*(volatile u64 *)buf = off;
	if (op == RMC_OP_FAA)
		rmc_faa_async(&app->qp, slot, app->target, off, 2);
	else if (op == RMC_OP_CAS)
		rmc_cas_async(&app->qp, slot, app->target, off, 0, 0);
	else
		rmc_issue(&app->qp, op, slot, app->target, off, buf, bytes);
	lines_stage(LINES_NONE);
}

/* Reads the data that arrived. */
static void landed(int slot, void *arg)
{
	struct bench_app *app = arg;
	u32 i;

	if (!app->stride)		/* an atomic */
		*(volatile u64 *)&app->qp.operands[slot];
	for (i = 0; i < app->stride; i += 64)
		*(volatile u64 *)(app->lbuf + (u64)slot * app->stride + i);
}

static u32 run(enum lines_stage stage)
{
	switch (stage) {
	case LINES_RGP: return rmc_rgp_poll(&bench.app.a.qp);
	case LINES_RRPP: return rmc_rrpp_poll(bench.w.node[1]);
	default: return rmc_rcp_poll(bench.w.node[0]);
	}
}

/* Pretend that a packet is always in flight, so that no operation takes the local path. */
static void keep_packets(bool packets)
{
	struct rmc_out *out = bench.w.node[0]->out[1];

	if (out)
		out->credits = out->req.mask + !packets;
}

/* Requests that were ever put into the ring */
static u32 requests(void)
{
	const struct rmc_out *out = bench.w.node[0]->out[bench.app.target];

	return out ? out->req.pos : 0;
}

/* Run a batch of operations to completion; adds the ticks of each stage */
static void one_round(u32 op, u32 bytes, u32 batch, long long *ticks)
{
	enum lines_stage stage;
	u64 t0;
	u32 i, done = 1;

	t0 = bench_ticks();
	for (i = 0; i < batch; i++)
		post(op, bytes);
	ticks[LINES_POST] += bench_ticks() - t0 - overhead;
	while (done) {		/* a packet may have to wait for others */
		done = 0;
		for (stage = LINES_RGP; stage <= LINES_RCP; stage++) {
			u32 n;

			t0 = bench_ticks();
			lines_stage(stage);
			n = run(stage);
			lines_stage(LINES_NONE);
			/* an empty poll belongs to the worker, not to the operation */
			if (n)
				ticks[stage] += bench_ticks() - t0 - overhead;
			done += n;
		}
	}
	t0 = bench_ticks();
	lines_stage(LINES_POLL);
	while (rmc_qp_in_flight(&bench.app.qp))
		rmc_poll_cq(&bench.app.qp, landed);
	lines_stage(LINES_NONE);
	ticks[LINES_POLL] += bench_ticks() - t0 - overhead;
	bench_check(rmc_qp_error(&bench.app.qp));
}

static void report(const char *name, const char *path, u32 bytes, u32 mtu, u32 batch, int n)
{
	double sum = 0, v;
	int stage;

	json_object(&out, NULL);
	json_string(&out, "operation", name);
	json_uint(&out, "bytes", bytes);
	json_string(&out, "path", path);
	json_uint(&out, "mtu", mtu);
	json_uint(&out, "batch", batch);
	json_int(&out, "samples", n);
	json_object(&out, lines_counted ? "lines" : "cycles");
	for (stage = 0; stage < LINES_STAGES; stage++) {
		v = lines_counted ? lines_touched(stage) / n / TOGETHER :
				    bench_median(stage_cycles[stage], n) / TOGETHER;
		json_double(&out, names[stage], v);
		sum += v;
	}
	json_double(&out, "all", lines_counted ? lines_touched(LINES_NONE) / n / TOGETHER : sum);
	json_end_object(&out);
	if (lines_counted)
		json_double(&out, "lines_moved", lines_moved() / n / TOGETHER);
	json_end_object(&out);
}

static void measure(u32 which, u32 batch)
{
	int n = bench_quick || lines_counted ? SAMPLES / 5 : SAMPLES, i, stage;
	u32 op = table[which].op, bytes = table[which].bytes;
	long long ticks[LINES_STAGES];
	u32 k, before;

	bench.app.stride = op == RMC_OP_READ || op == RMC_OP_SABRE ? bytes : 0;
	bench.seg->sabre = op == RMC_OP_SABRE ? RMC_SABRE_OVERLAPPED : 0;
	memset(ticks, 0, sizeof(ticks));
	for (i = 0; i < WARM_UP; i++) {
		keep_packets(!table[which].direct);
		one_round(op, bytes, batch, ticks);
	}
	lines_reset();
	before = requests();
	for (i = 0; i < n; i++) {
		memset(ticks, 0, sizeof(ticks));
		for (k = 0; k < TOGETHER; k += batch) {
			lines_operation();
			one_round(op, bytes, batch, ticks);
		}
		for (stage = 0; stage < LINES_STAGES; stage++)
			stage_cycles[stage][i] = ticks[stage];
	}
	report(table[which].name, requests() == before ? "local" : "packets", bytes, table[which].mtu,
	       batch, n);
}

static void with_mtu(u32 mtu)
{
	static const u32 batches[] = { 1, BATCH_MAX };
	u32 i, k;

	bench_init(&bench, 2, "fused", mtu);
	mem_objects(bench.seg, 0, 0);
	memset(bench.app.lbuf, 0, BENCH_ENTRIES * BENCH_SLOT);
	testbed_settle(&bench.w);			/* the nodes meet */
	for (i = 0; i < ARRAY_SIZE(table); i++)
		for (k = 0; k < ARRAY_SIZE(batches); k++)
			if (table[i].mtu == mtu)
				measure(i, batches[k]);
	bench_fini(&bench);
}

static u64 empty(void)
{
	double v[99];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		u64 t0 = bench_ticks();

		v[i] = bench_ticks() - t0;
	}
	return bench_median(v, ARRAY_SIZE(v));
}

static int usage(FILE *f)
{
	fprintf(f, "usage: stages [--quick]; lines [--quick]\n");
	return f == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "qh", longopts, NULL)) != -1) {
		if (c != 'q')
			return usage(c == 'h' ? stdout : stderr);
		bench_quick = true;
	}
	if (optind < argc)
		return usage(stderr);
	bench_setup(SEGMENT);
	memset(bench_segment, 0, bench_bytes);
	overhead = empty();
	json_init(&out, stdout);
	json_object(&out, NULL);
	json_string(&out, "test", lines_counted ? "host_lines" : "host_stages");
	json_double(&out, "ns_per_cycle", bench_ns_per_tick());
	json_array(&out, "results");
	with_mtu(4096);
	with_mtu(64);
	json_end_array(&out);
	json_end_object(&out);
	return 0;
}
