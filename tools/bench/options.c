/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Command line of the benchmarks. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "opt.h"

#define LATENCY_ITERATIONS	1000	/* perftest's defaults */
#define BANDWIDTH_ITERATIONS	5000
#define DEFAULT_OUTSTANDING	64
#define ALL_ENTRIES		65536

void bench_options(struct bench *b, int argc, char **argv)
{
	int atomic = b->test->op == RMC_OP_FAA, latency = b->test->metric == LATENCY;
	int sequential = 0, hot = 0;
	const char *op = "faa";
	char usage[128];
	const struct opt opts[] = {
		{ 's', "size", OPT_SIZE, &b->size, 1, RMC_LENGTH_MAX, "SIZE",
			"bytes per operation (default 64; with --all the largest, 1M)" },
		{ 'a', "all", OPT_FLAG, &b->all_sizes, 0, 0, NULL,
			"sizes 8 B .. SIZE, powers of two" },
		{ 'n', "iters", OPT_INT, &b->iterations, 1, INT_MAX, "N",
			latency ? "measured operations per size (default 1000)"
				: "measured operations per size (default 5000)" },
		{ 'd', "peer", OPT_INT, &b->peer, 0, RMC_NID_MAX, "NID",
			"node to measure against (default: the next)" },
		{ 'b', "double-sided", OPT_FLAG, &b->double_sided, 0, 0, NULL,
			"the peer measures against node 0 at the same time" },
		{ 't', "outstanding", OPT_INT, &b->outstanding, 1, ALL_ENTRIES, "N",
			"operations in flight, bandwidth only (default 64)" },
		{ 0, "qps", OPT_INT, &b->qps, 1, BENCH_QPS_MAX, "N",
			"queue pairs with -t operations each, bandwidth only (default 1)" },
		{ 'p', "pause", OPT_INT, &b->pause_us, 0, 1000000, "USEC",
			"sleep before each operation so that workers park, latency only" },
		{ 'S', "segment", OPT_SIZE, &b->segment, 4096, INT64_MAX, "SIZE",
			"memory each node exposes (default 64M, less if short)" },
		{ 'q', "sequential", OPT_FLAG, &sequential, 0, 0, NULL,
			"one object after the other, not random ones" },
		{ 'H', "hot", OPT_FLAG, &hot, 0, 0, NULL, "random ones of the first 16 KiB" },
		{ 'C', "cpu", OPT_INT, &b->cpu, 0, 4095, "CPU", "run on this CPU" },
		{ 'N', "numa-node", OPT_INT, &b->numa_node, 0, 1023, "NODE",
			"memory of this NUMA node" },
		{ 'c', "ctx", OPT_INT, &b->ctx_id, 0, INT_MAX, "ID",
			"context (default $RMC_CTX, then 0)" },
		{ 0, "seed", OPT_INT, &b->seed, 0, INT_MAX, "N", "of random addresses" },
		{ 0, "json", OPT_FLAG, &b->json, 0, 0, NULL, "machine-readable results" },
		{ 0, "progress", OPT_FLAG, &b->progress, 0, 0, NULL,
			"progress every second also when stderr is no terminal (else every 10 s)" },
		{ 0 },
	};
	/* Atomics: one size, and a choice of operation */
	const struct opt atomic_opts[] = {
		opts[2], opts[3], opts[4], opts[7], opts[8], opts[9], opts[10], opts[11], opts[12],
		opts[13], opts[14], opts[15], opts[16],
		{ 'A', "atomic", OPT_STRING, &op, 0, 0, "OP", "faa (default) or cas" },
		{ 0 },
	};

	b->iterations = latency ? LATENCY_ITERATIONS : BANDWIDTH_ITERATIONS;
	b->peer = -1;
	b->outstanding = latency ? 1 : DEFAULT_OUTSTANDING;
	b->qps = 1;
	b->cpu = -1;
	b->numa_node = -1;
	b->ctx_id = opt_default_context();
	b->seed = 1;
	b->op = b->test->op;

	snprintf(usage, sizeof(usage), "rmc-run -n 2 %s [options]", b->test->name);
	if (opt_parse(argc, argv, atomic ? atomic_opts : opts, usage) != argc)
		die(EXIT_USAGE, "unexpected argument '%s'; see --help", argv[argc - 1]);
	if (atomic && !strcmp(op, "cas"))
		b->op = RMC_OP_CAS;
	else if (atomic && strcmp(op, "faa"))
		die(EXIT_USAGE, "--atomic: faa or cas, not '%s'", op);
	if (!b->size)
		b->size = atomic ? 8 : b->all_sizes ? BENCH_MAX_ALL_SIZE : 64;
	if (sequential && hot)
		die(EXIT_USAGE, "--sequential or --hot, not both");
	if (latency)
		b->outstanding = b->qps = 1;
	else
		b->pause_us = 0;
	b->pattern = sequential ? SEQUENTIAL : hot ? HOT : RANDOM;
}
