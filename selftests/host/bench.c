// SPDX-License-Identifier: GPL-2.0
/*
 * Native-speed benchmark of the core: the same files as rmc.ko, one pinned
 * pthread per worker, librmc's inline path on the application side. The limits
 * (line ping-pong, memcpy, random memory access) are measured in the same run,
 * and every asked-for number is a ratio to them.
 *
 *	make bench-host			table
 *	build/host/bench --json		the same for programs
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include "bed.h"

#define SAMPLES		9

static u64 segment = 64UL << 20;	/* bytes */
static bool json;
static int failed, rows;

/* ---- ratios ---- */

/* What a latency is compared with, measured just before it. */
enum base { PINGPONG, PINGPONG_ACCESS, TWO_PINGPONGS };

static double base_ns(struct bed *b, enum base base)
{
	double pp = bed_pingpong(b);

	if (base == PINGPONG_ACCESS)
		return 2.2 * pp + bed_access();
	return base == TWO_PINGPONGS ? 2 * pp : pp;
}

/* Medians of a latency and of its ratio to the base. */
static double latency_ratio(struct bed *b, u32 op, u32 size, size_t span, enum base base,
			    double *ratio)
{
	double l[SAMPLES], r[SAMPLES];
	int k;

	for (k = 0; k < SAMPLES; k++) {
		r[k] = base_ns(b, base);
		l[k] = bed_latency(&b->app, op, size, span);
		r[k] = l[k] / r[k];
	}
	*ratio = bed_median(r, SAMPLES);
	return bed_median(l, SAMPLES);
}

static double rate_median(struct bed *b, u32 op, u32 size, size_t span, u32 outstanding)
{
	double s[SAMPLES];
	int k;

	for (k = 0; k < SAMPLES; k++)
		s[k] = bed_rate(&b->app, op, size, span, outstanding);
	return bed_median(s, SAMPLES);
}

/* Medians of a bandwidth, GB/s, and of its ratio to memcpy. */
static double bandwidth(struct bed *b, u32 op, double *ratio)
{
	double s[SAMPLES], r[SAMPLES];
	int k;

	for (k = 0; k < SAMPLES; k++) {
		r[k] = bed_memcpy();
		s[k] = bed_rate(&b->app, op, 8192, segment, 32) * 8192 / 1000;
		r[k] = s[k] / r[k];
	}
	*ratio = bed_median(r, SAMPLES);
	return bed_median(s, SAMPLES);
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
		if (base)
			printf(",\"per\":\"%s\",\"ratio\":%.3f", base, ratio);
		if (asked)
			printf(",\"asked\":%.3f,\"ok\":%s", asked, ok ? "true" : "false");
		printf("}");
		return;
	}
	printf("%-52s %9.2f %-6s", name, value, unit);
	if (base)
		printf(" %6.2f x %-18s", ratio, base);
	else
		printf(" %-27s", "");
	if (asked)
		printf(" asked %s %.2f%s", at_most ? "<=" : ">=", asked, ok ? "" : "  MISSED");
	printf("\n");
	fflush(stdout);
}

static const char *in_segment(const char *format)
{
	static char name[64];

	snprintf(name, sizeof(name), format, (unsigned long long)segment >> 20);
	return name;
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
	double v, r, two, s[SAMPLES];
	int c, i, k, ncpu;
	struct bed b;

	while ((c = getopt_long(argc, argv, "jqs:h", longopts, NULL)) != -1) {
		if (c == 'j') {
			json = true;
		} else if (c == 'q') {
			bed_quick = true;
		} else if (c == 's' && atoi(optarg) > 0) {
			segment = (u64)atoi(optarg) << 20;
		} else {
			printf("usage: bench [--json] [--quick] [--segment MIB]\n"
			       "Random places are in a segment of so many MiB, of 64 by default.\n"
			       "Medians of %d runs; exit status 1 when an asked-for ratio is missed.\n", SAMPLES);
			return c == 'h' ? 0 : 2;
		}
	}
	ncpu = bed_setup(segment);
	if (ncpu < 2)
		return 4;

	for (i = 0; i < SAMPLES; i++)
		s[i] = bed_arithmetic();
	row("raw arithmetic", bed_median(s, SAMPLES), "/ns", NULL, 0, 0, 0);
	bed_init(&b, 2, "fused", 4096);
	bed_start(&b, false);
	for (i = 0; i < SAMPLES; i++)
		s[i] = bed_pingpong(&b);
	row("raw line ping-pong, round trip", bed_median(s, SAMPLES), "ns", NULL, 0, 0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = bed_access();
	row(in_segment("raw dependent read of %llu MiB"), bed_median(s, SAMPLES), "ns", NULL, 0, 0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = bed_memcpy();
	row(in_segment("raw memcpy, 8 KiB pieces of %llu MiB"), bed_median(s, SAMPLES), "GB/s", NULL, 0, 0, 0);

	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &two);
	row("fused: 64 B read, cache-resident", v, "ns", "ping-pong", two, 2.2, true);
	v = latency_ratio(&b, RMC_OP_READ, 64, segment, PINGPONG_ACCESS, &r);
	row(in_segment("fused: 64 B read, random in %llu MiB"), v, "ns", "(2.2 pp + access)", r, 1, true);
	v = latency_ratio(&b, RMC_OP_WRITE, 64, 4096, PINGPONG, &r);
	row("fused: 64 B write, cache-resident", v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(&b, RMC_OP_FAA, 8, 4096, PINGPONG, &r);
	row("fused: fetch-and-add, cache-resident", v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(&b, RMC_OP_READ, 8192, segment, PINGPONG, &r);
	row("fused: 8 KiB read, random", v, "ns", NULL, 0, 0, 0);
	v = rate_median(&b, RMC_OP_READ, 64, 4096, 32);
	row("fused: 64 B reads, 32 outstanding, cache-resident", v, "M/s", "1 M/s", v, 8, false);
	v = rate_median(&b, RMC_OP_READ, 64, segment, 32);
	row("fused: 64 B reads, 32 outstanding, random", v, "M/s", "1 M/s", v, 8, false);
	v = rate_median(&b, RMC_OP_READ, 64, segment, BED_ENTRIES);
	row("fused: 64 B reads, 128 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
	v = rate_median(&b, RMC_OP_WRITE, 64, segment, 32);
	row("fused: 64 B writes, 32 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
	v = bandwidth(&b, RMC_OP_READ, &r);
	row("fused: 8 KiB reads, MTU 4096", v, "GB/s", "memcpy", r, 0.5, false);
	v = bandwidth(&b, RMC_OP_WRITE, &r);
	row("fused: 8 KiB writes, MTU 4096", v, "GB/s", "memcpy", r, 0, false);
	bed_fini(&b);

	bed_init(&b, 2, "fused", 64);
	bed_start(&b, false);
	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row("fused, MTU 64: 64 B read, cache-resident", v, "ns", "ping-pong", r, 0, true);
	v = bandwidth(&b, RMC_OP_READ, &r);
	row("fused, MTU 64: 8 KiB reads", v, "GB/s", "memcpy", r, 0, false);
	bed_fini(&b);

	bed_init(&b, 128, "fused", 4096);
	bed_start(&b, false);
	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row("fused, 128 nodes, one pair active: 64 B read", v, "ns", "2 nodes", r / two, 1.2, true);
	bed_fini(&b);

	if (ncpu >= 3) {
		bed_init(&b, 2, "pair", 4096);
		bed_start(&b, false);
		v = latency_ratio(&b, RMC_OP_READ, 64, 4096, TWO_PINGPONGS, &r);
		row("pair: 64 B read, cache-resident", v, "ns", "two ping-pongs", r, 0, true);
		v = rate_median(&b, RMC_OP_READ, 64, segment, 32);
		row("pair: 64 B reads, 32 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
		v = bandwidth(&b, RMC_OP_READ, &r);
		row("pair: 8 KiB reads, MTU 4096", v, "GB/s", "memcpy", r, 0, false);
		bed_fini(&b);
	} else if (!json) {
		printf("# pair: skipped, three spinning threads need three CPUs, here are %d\n", ncpu);
	}

	bed_init(&b, 2, "fused", 4096);
	bed_start(&b, true);
	v = bed_idle(&b) * 100;
	row("parked worker, CPU time", v, "%", "1 %", v, 3, true);
	for (k = 0; k < 2; k++) {
		bed_helps = !k;
		for (i = 0; i < SAMPLES; i++)
			s[i] = bed_wake(&b, 100000) / 1e3;
		v = bed_median(s, SAMPLES);
		row(k ? "64 B read that wakes a parked worker" :
			"64 B read, the caller helps a parked worker", v, "us", NULL, 0, 0, 0);
	}
	bed_fini(&b);
	if (json)
		printf("\n]\n");
	return failed ? 1 : 0;
}
