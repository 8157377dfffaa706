// SPDX-License-Identifier: GPL-2.0
/*
 * NI organisations compared (T18 section 6.5: latency of single transfers, bandwidth of
 * many). One thread runs the application and all workers alternately, and a clock measures
 * the time of each. One CPU is enough for that; the results are those of one CPU per thread.
 *
 *	hand-offs	number of times that a blocking read passes from one thread to
 *			another: counted, not measured; the mean over all lines
 *	latency		of a blocking read: the work of all threads, plus half a round
 *			trip of a line between two CPUs for each hand-off
 *	busiest		rate that the worker with the most work allows, if the others run in
 *			parallel and share no memory bandwidth with it
 *	threads		a thread per worker and one for the applications, on this machine's
 *			CPUs: with fewer CPUs than threads the result depends on the
 *			scheduler, and the table says so
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

#define APPS		4
#define OUTSTANDING	32
#define RUNS		5

struct row {
	const char *ni;
	u32 units, rrpps;
	double handoffs;
};

/*
 * To the RGP and back are two. An RRPP on another worker adds two, in edge and split for every
 * other line. A frontend adds two.
 */
static const struct row rows[] = {
	{ "fused",    1, 1, 2 },
	{ "pair",     1, 1, 4 },
	{ "edge",     2, 2, 2 + 2 * 0.5 },
	{ "per_tile", 2, 1, 4 },
	{ "split",    2, 2, 4 + 2 * 0.5 },
};

static struct bench bench;
static struct bench_app more[APPS - 1];

static struct bench_app *app(u32 i)
{
	return i ? &more[i - 1] : &bench.app;
}

static void setup(const struct row *r)
{
	struct testbed_opts o = { .nodes = 2, .ni = r->ni, .units = r->units, .rrpps = r->rrpps,
				.mtu = RMC_MTU_DEFAULT, .itt = 1024 };
	u32 i;

	bench_init_opts(&bench, &o);
	/* fused would take the local path, which the other organisations do not have */
	bench_packets(&bench.w, true);
	for (i = 0; i < APPS - 1; i++)
		bench_app_init(&bench, &more[i], 0, 1);
}

static void teardown(bool threads)
{
	u32 i;

	if (threads)
		testbed_stop(&bench.w);
	for (i = 0; i < APPS - 1; i++) {
		bench_app_fini(&more[i]);
		mem_free(more[i].buf);
	}
	bench_app_fini(&bench.app);
	testbed_fini(&bench.w);
	mem_free(bench.seg);
	mem_free(bench.app.buf);
}

static void nothing(int slot, void *arg)
{
	(void)slot;
	(void)arg;
}

/* By worker: ticks of the visits that found work */
static u64 spent[32];

static u32 visit_timed(void)
{
	u32 i, n, done = 0;
	u64 t0 = bench_ticks(), t1;

	for (i = 0; i < bench.w.workers; i++) {
		n = rmc_ni_visit(&bench.w.worker[i].ni);
		t1 = bench_ticks();
		if (n)
			spent[i] += t1 - t0;
		t0 = t1;
		done += n;
	}
	return done;
}

/* ns of a blocking read: the work of all threads */
static double blocking(u32 size)
{
	u32 n = (bench_quick ? 4000 : 20000) / (1 + size / 512), i;
	u64 t0, sum = 0;

	for (i = 0; i < n; i++) {
		t0 = bench_ticks();
		bench_post(&bench.app, RMC_OP_READ, size, bench_bytes);
		sum += bench_ticks() - t0;
		memset(spent, 0, sizeof(spent));
		while (rmc_qp_in_flight(&bench.app.qp)) {
			visit_timed();
			t0 = bench_ticks();
			if (rmc_poll_cq(&bench.app.qp, nothing))
				sum += bench_ticks() - t0;
		}
		for (t0 = 0; t0 < bench.w.workers; t0++)
			sum += spent[t0];
	}
	return (double)sum / n * bench_ns_per_tick();
}

/* Operations per microsecond, of all applications together. */
static double rate(u32 size, bool threads)
{
	u32 n = (bench_quick ? 40000 : 160000) / (1 + size / 512), posted = 0, in_flight = 1, i;
	u64 t0 = bench_now(), busiest = 0;

	memset(spent, 0, sizeof(spent));
	while (posted < n || in_flight) {
		in_flight = 0;
		for (i = 0; i < APPS; i++) {
			rmc_poll_cq(&app(i)->qp, nothing);
			while (posted < n && rmc_qp_in_flight(&app(i)->qp) < OUTSTANDING) {
				bench_post(app(i), RMC_OP_READ, size, bench_bytes);
				posted++;
			}
			in_flight += rmc_qp_in_flight(&app(i)->qp);
		}
		if (!threads)
			visit_timed();
		else
			rmc_relax_slow(&bench.app.qp, 0);
	}
	if (threads)
		return (double)n * 1000 / (bench_now() - t0);
	for (i = 0; i < bench.w.workers; i++)
		busiest = max(busiest, spent[i]);
	return (double)n * 1000 / (busiest * bench_ns_per_tick());
}

static double typical_rate(u32 size, bool threads)
{
	double v[RUNS];
	int i;

	rate(size, threads);
	for (i = 0; i < RUNS; i++)
		v[i] = rate(size, threads);
	/* the best run: preemption is not part of the cost */
	bench_median(v, RUNS);
	return v[threads ? RUNS / 2 : RUNS - 1];
}

static double best_blocking(u32 size)
{
	double v[RUNS];
	int i;

	blocking(size);
	for (i = 0; i < RUNS; i++)
		v[i] = blocking(size);
	bench_median(v, RUNS);
	return v[0];
}

/* Leave the placement of threads to the scheduler; they inherit this thread's affinity. */
static void unpin(int cpus)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < cpus; i++)
		CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Half a line's round trip between two CPUs, ns. Needs a worker as the other end. */
static double handoff(void)
{
	double v[RUNS];
	int i;

	bench_finer = 20;
	bench_init(&bench, 2, "fused", RMC_MTU_DEFAULT);
	bench_start(&bench, false);
	for (i = 0; i < RUNS; i++)
		v[i] = bench_pingpong(&bench);
	bench_fini(&bench);
	bench_finer = 1;
	bench_median(v, RUNS);
	return v[0] / 2;
}

static void row(const struct row *r, double hop, int cpus)
{
	double small, large;
	u32 threads;

	setup(r);
	threads = bench.w.workers + 1;
	printf("%-9s %5u %6u %7u %9.1f %9.0f %7.0f", r->ni, r->units, r->rrpps, threads - 1,
	       r->handoffs, best_blocking(64) + r->handoffs * hop,
	       best_blocking(8192) + r->handoffs * hop);
	printf(" %9.2f %7.2f", typical_rate(64, false), typical_rate(8192, false) * 8192 / 1000);
	fflush(stdout);
	testbed_start(&bench.w, NULL, false);
	small = typical_rate(64, true);
	large = typical_rate(8192, true) * 8192 / 1000;
	printf(" %9.2f %7.2f  %-7s%s\n", small, large, bench_path(&bench.w, 64),
	       threads > (u32)cpus ? "  (scheduler's)" : "");
	fflush(stdout);
	teardown(true);
}

int main(int argc, char **argv)
{
	double hop;
	int cpus, i;

	bench_quick = argc > 1 && !strcmp(argv[1], "--quick");
	cpus = bench_setup(64UL << 20);
	if (cpus < 2)
		return 4;
	hop = handoff();
	unpin(cpus);
	printf("Reads of random lines of 64 MiB, in packets, MTU %d; %d runs. Bandwidth: %d applications,\n",
	       RMC_MTU_DEFAULT, RUNS, APPS);
	printf("%d reads outstanding each. A hand-off: %.0f ns. With several RRPPs half of the lines\n",
	       OUTSTANDING, hop);
	printf("are another unit's.\n\n");
	printf("                                  hand-   latency, ns      busiest worker    threads, %d CPUs\n",
	       cpus);
	printf("ni        units  RRPPs workers     offs      64 B   8 KiB      64 B   8 KiB      64 B   8 KiB  path\n");
	printf("                                            as if a CPU each    M/s    GB/s       M/s    GB/s\n");
	for (i = 0; i < (int)ARRAY_SIZE(rows); i++)
		row(&rows[i], hop, cpus);
	return 0;
}
