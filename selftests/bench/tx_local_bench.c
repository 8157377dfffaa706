// SPDX-License-Identifier: GPL-2.0
/*
 * What a local access of a transaction costs beside a copy without one (lib/tx/local.h), on one
 * CPU: of lines that the transaction has used before, which its filter bits know, and of lines that it
 * uses for the first time. Memory, filters and tags are in the CPU's caches, and nobody else has a
 * transaction.
 *
 * A round has all rows in turn. A time is the median over rounds, and so is a quotient.
 *
 *	build/host/tx_local_bench [--quick] [--check]
 *
 * --check: exit status 1 if a row is above its target.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tx_own.h"

#define LINES		256		/* that are read: with their filter bits, in L1 */
#define READS		40		/* lines that a transaction uses, of the paper's 76 at most */
#define RECORD		16		/* lines of a long record */
#define ACCESSES	20000		/* of a row in a round */
#define ROUNDS		61

static struct own_node node;
static struct tx_bits bits;
static struct tx_local t;
static u32 order[ACCESSES];
static u8 to[RECORD * RMC_LINE] __attribute__((aligned(64)));
/* as in a library, whose caller has tables of any length */
static u32 line_bytes = RMC_LINE, record_bytes = RECORD * RMC_LINE;

static u64 now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* The copy has to be made */
static inline void use(void)
{
	__asm__ volatile("" : : "r" (to), "r" (&line_bytes), "r" (&record_bytes) : "memory");
}

static void failed(int err)
{
	if (err) {
		fprintf(stderr, "tx_local_bench: an access returned %d\n", err);
		exit(1);
	}
}

/* Each returns how many accesses it has made */

static u32 plain_lines(void)
{
	u32 i;

	for (i = 0; i < ACCESSES; i++) {
		memcpy(to, node.memory + order[i] * RMC_LINE, line_bytes);
		use();
	}
	return ACCESSES;
}

static u32 filtered_lines(void)
{
	u32 i;

	for (i = 0; i < ACCESSES; i++) {
		failed(tx_local_read(&t, order[i] * RMC_LINE, to, line_bytes));
		use();
	}
	return ACCESSES;
}

static u32 plain_records(void)
{
	u32 i;

	for (i = 0; i < ACCESSES / RECORD; i++) {
		memcpy(to, node.memory + order[i] / RECORD * RECORD * RMC_LINE, record_bytes);
		use();
	}
	return ACCESSES / RECORD;
}

static u32 filtered_records(void)
{
	u32 i;

	for (i = 0; i < ACCESSES / RECORD; i++) {
		failed(tx_local_read(&t, order[i] / RECORD * RECORD * RMC_LINE, to,
				     record_bytes));
		use();
	}
	return ACCESSES / RECORD;
}

static u32 rewritten_lines(void)
{
	u32 i;

	for (i = 0; i < ACCESSES; i++)
		failed(rmc_tx_local_write(&t, order[i] * RMC_LINE, to, RMC_LINE));
	return ACCESSES;
}

/* All accesses of transactions that end at once */
static u32 transactions(bool read, bool write)
{
	u32 i, k;

	for (i = 0; i + READS <= ACCESSES; i += READS) {
		rmc_tx_local_begin(&t, 3, &bits);
		for (k = i; k < i + READS; k++) {
			u64 at = (i + k * 7) % LINES * RMC_LINE;

			if (read)
				failed(tx_local_read(&t, at, to, RMC_LINE));
			if (write)
				failed(rmc_tx_local_write(&t, at, to, RMC_LINE));
			use();
		}
		rmc_tx_local_end(&t);
	}
	return i;
}

static u32 first_reads(void)
{
	return transactions(true, false);
}

static u32 first_writes(void)
{
	return transactions(false, true);
}

static void begin(void)
{
	rmc_tx_local_begin(&t, 3, &bits);
}

static void begin_read(void)
{
	u32 i;

	begin();
	for (i = 0; i < LINES; i++)
		failed(tx_local_read(&t, i * RMC_LINE, to, RMC_LINE));
}

static void begin_written(void)
{
	u32 i;

	begin();
	for (i = 0; i < LINES; i++)
		failed(rmc_tx_local_write(&t, i * RMC_LINE, to, RMC_LINE));
}

enum { PLAIN, FILTERED, PLAIN_RECORD, FILTERED_RECORD, REWRITTEN, FIRST_READ, FIRST_WRITE, ROWS };

static const struct row {
	const char *name, *about;
	void (*prepare)(void);
	u32 (*run)(void);
	int base;		/* row that it is compared with; -1: none */
	double at_most;		/* quotient, or ns; 0: no target */
} rows[ROWS] = {
	[PLAIN] = { "plain", "64 B, no transaction", begin, plain_lines, -1, 0 },
	[FILTERED] = { "filtered", "64 B that were read before", begin_read, filtered_lines,
		       PLAIN, 1.3 },
	[PLAIN_RECORD] = { "plain_1k", "1 KiB, no transaction", begin, plain_records, -1, 0 },
	[FILTERED_RECORD] = { "filtered_1k", "1 KiB that were read before", begin_read,
			      filtered_records, PLAIN_RECORD, 0 },
	[REWRITTEN] = { "rewritten", "64 B written again", begin_written, rewritten_lines, -1, 0 },
	[FIRST_READ] = { "first_read", "first read of a line, and its part of the end", NULL,
			 first_reads, -1, 60 },
	[FIRST_WRITE] = { "first_write", "first write, and its part of the end", NULL,
			  first_writes, -1, 0 },
};

static double sample[ROWS][ROUNDS], quotient[ROWS][ROUNDS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, u32 n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void run_round(u32 round)
{
	u64 start;
	u32 i, n;

	for (i = 0; i < ROWS; i++) {
		if (rows[i].prepare)
			rows[i].prepare();
		rows[i].run();
		start = now_ns();
		n = rows[i].run();
		sample[i][round] = (double)(now_ns() - start) / n;
		if (rows[i].prepare)
			rmc_tx_local_end(&t);
		if (rows[i].base >= 0)
			quotient[i][round] = sample[i][round] / sample[rows[i].base][round];
	}
}

/* Rows that are above their target */
static int report(u32 rounds)
{
	int above = 0;
	u32 i;

	for (i = 0; i < ROWS; i++) {
		double ns = median(sample[i], rounds);
		double q = rows[i].base >= 0 ? median(quotient[i], rounds) : 0;
		double value = rows[i].base >= 0 ? q : ns;
		bool bad = rows[i].at_most && value > rows[i].at_most;

		above += bad;
		printf("%-12s %7.2f ns", rows[i].name, ns);
		if (rows[i].base >= 0)
			printf("  %5.2f x %s", q, rows[rows[i].base].name);
		if (rows[i].at_most)
			printf("  (target: at most %g%s)%s", rows[i].at_most,
			       rows[i].base >= 0 ? "" : " ns", bad ? "  ABOVE" : "");
		printf("  %s\n", rows[i].about);
	}
	return above;
}

int main(int argc, char **argv)
{
	u32 rounds = ROUNDS, i;
	bool check = false;
	cpu_set_t cpus;
	int above;

	for (i = 1; i < (u32)argc; i++) {
		if (!strcmp(argv[i], "--quick")) {
			rounds = ROUNDS / 4;
		} else if (!strcmp(argv[i], "--check")) {
			check = true;
		} else {
			fprintf(stderr, "usage: tx_local_bench [--quick] [--check]\n");
			return 2;
		}
	}
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	own_begin(&node);
	failed(rmc_tx_local_init(&t, &node.range, TX_REDO_MAX));
	for (i = 0; i < ACCESSES; i++)
		order[i] = (u32)((i * 2654435761ULL) >> 7) % LINES;
	for (i = 0; i < rounds; i++)
		run_round(i);
	above = report(rounds);
	rmc_tx_local_free(&t);
	own_end(&node);
	return check && above;
}
