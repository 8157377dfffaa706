/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Common part of the benchmarks rmc_<operation>_<metric>.
 *
 *	options.c	command line -> struct bench
 *	bench.c		team, segment, loops
 *	clock.c		cycles, and their length
 *	stats.c		samples -> figures
 *	report.c	figures -> perftest's columns, or JSON
 */
#ifndef RMC_BENCH_H
#define RMC_BENCH_H

#include <stdint.h>
#include <rmc/rmc.h>
#include "json.h"

enum bench_metric { LATENCY, BANDWIDTH };

/* The measurement of a program; atomics: RMC_OP_FAA, and RMC_OP_CAS on request */
struct bench_test {
	const char *name;
	const char *title;
	enum rmc_opcode op;
	enum bench_metric metric;
};

enum bench_pattern { RANDOM, SEQUENTIAL, HOT };

#define BENCH_QPS_MAX	64

struct bench {
	const struct bench_test *test;

	/* the command line */
	uint64_t size;
	int all_sizes;
	int iterations;
	int peer;			/* -1: the next node */
	int double_sided;
	int outstanding;
	int qps;			/* each with outstanding operations in flight */
	int pause_us;			/* before each operation */
	uint64_t segment;		/* bytes to expose; 0: by memory */
	enum bench_pattern pattern;
	int cpu;			/* -1: any */
	int numa_node;			/* -1: any */
	int ctx_id;
	int json;
	int progress;
	int seed;
	enum rmc_opcode op;

	/* the run */
	struct rmc_team *team;
	struct rmc_qp *qp[BENCH_QPS_MAX];	/* the first is the team's */
	int target;			/* node id */
	uint64_t data_len;		/* bytes at the target */
	char *lbuf;
	uint64_t lbuf_len;
	uint64_t rng;
	uint64_t stride, count;		/* objects of the present size */
	uint64_t next;			/* SEQUENTIAL */
	const char *row_path, *path;	/* before the present size; of all results */
	struct json out;
};

#define BENCH_MIN_SIZE		8
#define BENCH_MAX_ALL_SIZE	(1ULL << 20)	/* largest with --all */
#define BENCH_HOT_BYTES		(16ULL << 10)	/* stays in an L1 cache */
#define BENCH_DEFAULT_SEGMENT	(64ULL << 20)	/* beyond usual last-level cache shares */
#define BENCH_LBUF_MAX		(16ULL << 20)

struct latency_stats {
	uint64_t n;
	double min, max, typical, avg, stdev, p99, p999;	/* usec */
};

struct bandwidth_stats {
	uint64_t n;
	double peak, typical, avg;	/* bytes/s */
	double rate;			/* operations/s */
};

void bench_options(struct bench *b, int argc, char **argv);
int bench_main(const struct bench_test *test, int argc, char **argv);

/* Sorts the samples, which are in cycles. */
void latency_stats(struct latency_stats *s, uint64_t *samples, uint64_t n, double cycles_per_us);

/* Sorts. */
double median(double *v, uint64_t n);

void report_begin(struct bench *b);
void report_size(struct bench *b, uint64_t size);	/* before it is measured */
void report_latency(struct bench *b, uint64_t size, const struct latency_stats *s);
void report_bandwidth(struct bench *b, uint64_t size, const struct bandwidth_stats *s);
void report_end(struct bench *b);

double bench_calibrate(void);	/* cycles per microsecond */

#if defined(__x86_64__)
static inline uint64_t bench_cycles(void)
{
	return __builtin_ia32_rdtsc();
}
#else
#include <time.h>
static inline uint64_t bench_cycles(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
#endif

#endif /* RMC_BENCH_H */
