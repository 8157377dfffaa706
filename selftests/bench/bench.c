// SPDX-License-Identifier: GPL-2.0
/*
 * Native-speed benchmark of the core: the same files as rmc.ko, one pinned pthread per worker,
 * librmc's inline path on the application side. The limits (line ping-pong, memcpy, random
 * memory access) are measured in the same run, and every target is a ratio to them. Rows of
 * "packets" are those of "fused" with local=0. The request ring shows which path the operations
 * took.
 *
 *	make bench-host			table
 *	build/host/bench --json		the same for programs
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "harness.h"

#define SAMPLES		9

static u64 segment = 64UL << 20;	/* bytes */
static bool json;
static int failed, rows;

/* ---- ratios ---- */

/* The path of the last measured operations, and the ring's position before them */
static const char *path;
static u32 before;

static u32 requests(struct bench *b)
{
	struct rmc_out *out = b->w.node[0]->out[b->app.target];

	return out ? out->req.pos : 0;
}

static void begin(struct bench *b)
{
	/* the first operation opens the channel, with packets */
	bench_one(&b->app, RMC_OP_READ, 64, 64);
	before = requests(b);
}

static void end(struct bench *b)
{
	path = requests(b) == before ? "local" : "packets";
}

/* The limit that a latency is compared with, measured just before it. */
enum base { PINGPONG, PINGPONG_ACCESS, TWO_PINGPONGS };

static double base_ns(struct bench *b, enum base base)
{
	double pp = bench_pingpong(b);

	if (base == PINGPONG_ACCESS)
		return 2.2 * pp + bench_access();
	return base == TWO_PINGPONGS ? 2 * pp : pp;
}

/* Medians of a latency and of its ratio to the base. */
static double latency_ratio(struct bench *b, u32 op, u32 size, size_t span, enum base base,
			    double *ratio)
{
	double l[SAMPLES], r[SAMPLES];
	int k;

	begin(b);
	for (k = 0; k < SAMPLES; k++) {
		r[k] = base_ns(b, base);
		l[k] = bench_latency(&b->app, op, size, span);
		r[k] = l[k] / r[k];
	}
	end(b);
	*ratio = bench_median(r, SAMPLES);
	return bench_median(l, SAMPLES);
}

static double rate_median(struct bench *b, u32 op, u32 size, size_t span, u32 outstanding)
{
	double s[SAMPLES];
	int k;

	begin(b);
	for (k = 0; k < SAMPLES; k++)
		s[k] = bench_rate(&b->app, op, size, span, outstanding);
	end(b);
	return bench_median(s, SAMPLES);
}

/* Medians of a bandwidth, GB/s, and of its ratio to memcpy. */
static double bandwidth(struct bench *b, u32 op, double *ratio)
{
	double s[SAMPLES], r[SAMPLES];
	int k;

	begin(b);
	for (k = 0; k < SAMPLES; k++) {
		r[k] = bench_memcpy();
		s[k] = bench_rate(&b->app, op, 8192, segment, 32) * 8192 / 1000;
		r[k] = s[k] / r[k];
	}
	end(b);
	*ratio = bench_median(r, SAMPLES);
	return bench_median(s, SAMPLES);
}

/* ---- report ---- */

static void row(const char *name, double value, const char *unit, const char *base,
		double ratio, double asked, bool at_most)
{
	bool ok = !asked || (at_most ? ratio <= asked : ratio >= asked);

	failed += !ok;
	if (json) {
		printf("%s{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"", rows++ ? ",\n" : "[\n",
		       name, value, unit);
		if (path)
			printf(",\"path\":\"%s\"", path);
		if (base)
			printf(",\"per\":\"%s\",\"ratio\":%.3f", base, ratio);
		if (asked)
			printf(",\"asked\":%.3f,\"ok\":%s", asked, ok ? "true" : "false");
		printf("}");
		path = NULL;
		return;
	}
	printf("%-52s %9.2f %-6s %-8s", name, value, unit, path ? path : "");
	path = NULL;
	if (base)
		printf(" %6.2f x %-18s", ratio, base);
	else
		printf(" %-27s", "");
	if (asked)
		printf(" asked %s %.2f%s", at_most ? "<=" : ">=", asked, ok ? "" : "  MISSED");
	printf("\n");
	fflush(stdout);
}

/* ---- rows ---- */

/* Names of rows begin with the path, and the options that are not the default. */
static const char *named(const char *what, const char *format)
{
	static char name[96];
	int n = snprintf(name, sizeof(name), "%s", what);

	snprintf(name + n, sizeof(name) - n, format, (unsigned long long)segment >> 20);
	return name;
}

static void limits(struct bench *b)
{
	double s[SAMPLES];
	int i;

	for (i = 0; i < SAMPLES; i++)
		s[i] = bench_pingpong(b);
	row("raw line ping-pong, round trip", bench_median(s, SAMPLES), "ns", NULL, 0, 0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = bench_access();
	row(named("raw ", "dependent read of %llu MiB"), bench_median(s, SAMPLES), "ns", NULL, 0,
	    0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = bench_memcpy();
	row(named("raw ", "memcpy, 8 KiB pieces of %llu MiB"), bench_median(s, SAMPLES), "GB/s",
	    NULL, 0, 0, 0);
}

/* MTU 4096. Returns the ratio of the first row. */
static double operations(struct bench *b, bool packets)
{
	const char *what = packets ? "packets: " : "fused: ";
	double v, r, first;

	bench_packets(&b->w, packets);
	v = latency_ratio(b, RMC_OP_READ, 64, 4096, PINGPONG, &first);
	row(named(what, "64 B read, cache-resident"), v, "ns", "ping-pong", first,
	    packets ? 1.6 : 2.2, true);
	v = latency_ratio(b, RMC_OP_READ, 64, segment, PINGPONG_ACCESS, &r);
	row(named(what, "64 B read, random in %llu MiB"), v, "ns", "(2.2 pp + access)", r, 1, true);
	v = latency_ratio(b, RMC_OP_WRITE, 64, 4096, PINGPONG, &r);
	row(named(what, "64 B write, cache-resident"), v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(b, RMC_OP_FAA, 8, 4096, PINGPONG, &r);
	row(named(what, "fetch-and-add, cache-resident"), v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(b, RMC_OP_READ, 8192, segment, PINGPONG, &r);
	row(named(what, "8 KiB read, random"), v, "ns", NULL, 0, 0, 0);
	v = rate_median(b, RMC_OP_READ, 64, 4096, 32);
	row(named(what, "64 B reads, 32 outstanding, cache-resident"), v, "M/s", "1 M/s", v,
	    packets ? 10 : 8, false);
	v = rate_median(b, RMC_OP_READ, 64, segment, 32);
	row(named(what, "64 B reads, 32 outstanding, random"), v, "M/s", "1 M/s", v, packets ? 0 : 8,
	    false);
	v = rate_median(b, RMC_OP_READ, 64, segment, BENCH_ENTRIES);
	row(named(what, "64 B reads, 128 outstanding, random"), v, "M/s", "1 M/s", v, 0, false);
	v = rate_median(b, RMC_OP_WRITE, 64, segment, 32);
	row(named(what, "64 B writes, 32 outstanding, random"), v, "M/s", "1 M/s", v, 0, false);
	v = bandwidth(b, RMC_OP_READ, &r);
	row(named(what, "8 KiB reads, MTU 4096"), v, "GB/s", "memcpy", r, 0.5, false);
	v = bandwidth(b, RMC_OP_WRITE, &r);
	row(named(what, "8 KiB writes, MTU 4096"), v, "GB/s", "memcpy", r, 0, false);
	return first;
}

static void least_mtu(struct bench *b, bool packets)
{
	const char *what = packets ? "packets, MTU 64: " : "fused, MTU 64: ";
	double v, r;

	bench_packets(&b->w, packets);
	v = latency_ratio(b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row(named(what, "64 B read, cache-resident"), v, "ns", "ping-pong", r, 0, true);
	v = bandwidth(b, RMC_OP_READ, &r);
	row(named(what, "8 KiB reads"), v, "GB/s", "memcpy", r, 0, false);
}

static void many_nodes(struct bench *b, bool packets, double two)
{
	double v, r;

	bench_packets(&b->w, packets);
	v = latency_ratio(b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row(named(packets ? "packets, 128 nodes, " : "fused, 128 nodes, ", "one pair active: 64 B read"),
	    v, "ns", "2 nodes", r / two, 1.2, true);
}

/* Two workers: no local path */
static void pair(struct bench *b)
{
	double v, r;

	v = latency_ratio(b, RMC_OP_READ, 64, 4096, TWO_PINGPONGS, &r);
	row("pair: 64 B read, cache-resident", v, "ns", "two ping-pongs", r, 0, true);
	v = rate_median(b, RMC_OP_READ, 64, segment, 32);
	row("pair: 64 B reads, 32 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
	v = bandwidth(b, RMC_OP_READ, &r);
	row("pair: 8 KiB reads, MTU 4096", v, "GB/s", "memcpy", r, 0, false);
}

static void parked(struct bench *b)
{
	double v, s[SAMPLES];
	int i, k;

	v = bench_idle(b) * 100;
	row("parked worker, CPU time", v, "%", "1 %", v, 3, true);
	for (k = 0; k < 2; k++) {
		bench_polls_inline = !k;
		for (i = 0; i < SAMPLES; i++)
			s[i] = bench_wake(b, 100000) / 1e3;
		v = bench_median(s, SAMPLES);
		row(k ? "64 B read that wakes a parked worker" :
			"64 B read, inline poll of a parked worker", v, "us", NULL, 0, 0, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "segment", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	double two[2], s[SAMPLES];
	int c, i, ncpu;
	struct bench b;

	while ((c = getopt_long(argc, argv, "jqs:h", longopts, NULL)) != -1) {
		if (c == 'j') {
			json = true;
		} else if (c == 'q') {
			bench_quick = true;
		} else if (c == 's' && atoi(optarg) > 0) {
			segment = (u64)atoi(optarg) << 20;
		} else {
			printf("usage: bench [--json] [--quick] [--segment MIB]\n"
			       "Random places are in a segment of so many MiB, of 64 by default.\n"
			       "Medians of %d runs; exit status 1 when an asked-for ratio is missed.\n", SAMPLES);
			return c == 'h' ? 0 : 2;
		}
	}
	ncpu = bench_setup(segment);
	if (ncpu < 2)
		return 4;

	for (i = 0; i < SAMPLES; i++)
		s[i] = bench_arithmetic();
	row("raw arithmetic", bench_median(s, SAMPLES), "/ns", NULL, 0, 0, 0);
	bench_init(&b, 2, "fused", 4096);
	bench_start(&b, false);
	limits(&b);
	for (i = 0; i < 2; i++)
		two[i] = operations(&b, i);
	bench_fini(&b);

	bench_init(&b, 2, "fused", 64);
	bench_start(&b, false);
	for (i = 0; i < 2; i++)
		least_mtu(&b, i);
	bench_fini(&b);

	bench_init(&b, 128, "fused", 4096);
	bench_start(&b, false);
	for (i = 0; i < 2; i++)
		many_nodes(&b, i, two[i]);
	bench_fini(&b);

	if (ncpu >= 3) {
		bench_init(&b, 2, "pair", 4096);
		bench_start(&b, false);
		pair(&b);
		bench_fini(&b);
	} else if (!json) {
		printf("# pair: skipped, three spinning threads need three CPUs, here are %d\n", ncpu);
	}

	bench_init(&b, 2, "fused", 4096);
	bench_start(&b, true);
	parked(&b);
	bench_fini(&b);
	if (json)
		printf("\n]\n");
	return failed ? 1 : 0;
}
