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
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "world.h"

/* both sides call their end of a queue pair struct rmc_qp */
#define rmc_qp user_qp
#include "lib/include/rmc/qp.h"
#undef rmc_qp

#define SEGMENT		(64UL << 20)
#define ENTRIES		128
#define SAMPLES		9

static bool json, quick;
static int failed, rows;
static u8 *segment;
static int cpus[8], app_cpu;

/* ---- library side ---- */

int rmc_relax_slow(struct user_qp *qp, unsigned int spins)
{
	if (__atomic_load_n(&qp->flags->need_wakeup, __ATOMIC_RELAXED) && qp->wake)
		qp->wake(qp);
	if (!(spins & 0xffff))
		sched_yield();
	return 0;
}

static void wake(struct user_qp *qp)
{
	struct app *a = qp->priv;

	rmc_os_wake(a->qp.node->req_worker);
}

static void user_init(struct user_qp *qp, struct app *a, struct rmc_operands *ops)
{
	static uint8_t slots[ENTRIES];

	rmc_qp_init_raw(qp, a->wq, a->cq, a->flags, slots, ops, a->entries);
	qp->wake = wake;
	qp->priv = a;
}

/* ---- measuring ---- */

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int cmp(const void *a, const void *b)
{
	double x = *(double *)a, y = *(double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), cmp);
	return v[n / 2];
}

static u64 rng = 88172645463325252ULL;

static u64 rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* ---- limits ---- */

static u8 *copy;		/* SEGMENT bytes, target of the raw memcpy */
static u8 *chain;		/* SEGMENT bytes, each line names the next */

static double raw_memcpy(void)
{
	int n = quick ? 1000 : 3000, k;
	u64 t0 = now();

	/* 8 KiB pieces at random places, as the reads below */
	for (k = 0; k < n; k++)
		memcpy(copy + rnd() % (SEGMENT / 8192) * 8192,
		       segment + rnd() % (SEGMENT / 8192) * 8192, 8192);
	return n * 8192.0 / (now() - t0);
}

static void cycle_make(void)
{
	u32 lines = SEGMENT / 64, i, j, t, *perm = malloc(lines * 4);

	for (i = 0; i < lines; i++)
		perm[i] = i;
	for (i = lines - 1; i > 0; i--) {
		j = rnd() % (i + 1);
		t = perm[i];
		perm[i] = perm[j];
		perm[j] = t;
	}
	for (i = 0; i < lines; i++)
		*(u64 *)(chain + (u64)perm[i] * 64) = perm[(i + 1) % lines];
	free(perm);
}

/* Dependent reads of random lines, ns each. */
static double raw_access(void)
{
	static u64 at;
	int n = quick ? 20000 : 60000, i;
	u64 t0 = now();

	for (i = 0; i < n; i++)
		at = *(volatile u64 *)(chain + at * 64);
	return (double)(now() - t0) / n;
}

/* ---- the core ---- */

struct bed {
	struct world w;
	struct app a;
	struct user_qp qp;
	struct rmc_mem *seg, *buf;
	u8 *lbuf;
};


/*
 * Huge pages where the machine has them: the kernel reaches pinned memory
 * through the direct map, which is mapped so. The raw figures use them too.
 */
static u8 *map(size_t n)
{
	size_t huge = 2UL << 20;
	u8 *p = mmap(NULL, n + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("bench: mmap");
		exit(1);
	}
	p = (u8 *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
	madvise(p, n, MADV_HUGEPAGE);
	memset(p, 1, n);
	return p;
}

static void bed_init(struct bed *b, u32 nodes, const char *ni, u32 mtu, bool park)
{
	struct world_opts o = { .nodes = nodes, .ni = ni, .mtu = mtu, .itt = 1024 };
	size_t len = ENTRIES * 65536UL + sizeof(struct rmc_operands) * ENTRIES;

	world_now_ns = 0;
	world_init(&b->w, &o);
	app_init(&b->a, &b->w, 0, 0, ENTRIES);
	b->lbuf = map(len);
	b->buf = mem_make(b->lbuf, len, 12, 0);
	b->seg = mem_make(segment, SEGMENT, 12, 0);
	rmc_bufs_add(&b->a.bufs, b->buf);
	seg_set(&b->w, nodes - 1, 0, b->seg);
	user_init(&b->qp, &b->a, (void *)(b->lbuf + ENTRIES * 65536UL));
	world_start(&b->w, cpus, park);
}

static void bed_fini(struct bed *b)
{
	world_stop(&b->w);
	app_fini(&b->a);
	world_fini(&b->w);
	mem_free(b->seg);
	mem_free(b->buf);
}

static void check(int err)
{
	if (err) {
		fprintf(stderr, "bench: operation failed with status %d\n", err);
		exit(1);
	}
}

/*
 * Round trip of a line between this thread and the worker's, ns. This machine
 * may be a VM whose CPUs move: only what is measured next to it compares.
 */
static double raw_pingpong(struct bed *b)
{
	static u32 line[128] __attribute__((aligned(256)));
	int n = quick ? 5000 : 20000, i;
	static u32 v;
	u64 t0 = 0;

	__atomic_store_n(&b->w.pong, line, __ATOMIC_RELEASE);
	for (i = -100; i < n; i++) {
		if (!i)
			t0 = now();
		__atomic_store_n(&line[0], ++v, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line[64], __ATOMIC_ACQUIRE) != v)
			;
	}
	t0 = now() - t0;
	__atomic_store_n(&b->w.pong, NULL, __ATOMIC_RELEASE);
	return (double)t0 / n;
}

/* One sample of blocking latency, ns; the data that came is read as well. */
static double latency(struct bed *b, u32 op, u32 size, size_t span)
{
	int n = quick ? 5000 : 20000, i;
	u32 nid = b->w.opts.nodes - 1;
	u64 sum = 0, t0 = 0;

	for (i = -50; i < n; i++) {
		u64 off = rnd() % (span / 64) * 64, old = 0;

		if (!i)
			t0 = now();
		if (off + size > span)
			off = 0;
		if (op == RMC_OP_READ)
			check(rmc_read(&b->qp, nid, off, b->lbuf, size));
		else if (op == RMC_OP_WRITE)
			check(rmc_write(&b->qp, nid, off, b->lbuf, size));
		else if (op == RMC_OP_FAA)
			check(rmc_fetch_and_add(&b->qp, nid, off, 1, &old));
		else
			check(rmc_compare_and_swap(&b->qp, nid, off, 0, 0, &old));
		sum += old + *(volatile u64 *)b->lbuf;
	}
	if (sum == 42)
		fprintf(stderr, " ");
	return (double)(now() - t0) / n;
}

/* What a latency is compared with, measured just before it. */
enum base { PINGPONG, PINGPONG_ACCESS, TWO_PINGPONGS };

static double base_ns(struct bed *b, enum base base)
{
	double pp = raw_pingpong(b);

	if (base == PINGPONG_ACCESS)
		return 2.2 * pp + raw_access();
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
		l[k] = latency(b, op, size, span);
		r[k] = l[k] / r[k];
	}
	*ratio = median(r, SAMPLES);
	return median(l, SAMPLES);
}

static void landed(int slot, void *arg)
{
	struct bed *b = arg;

	*(volatile u64 *)(b->lbuf + slot * 65536UL);
}

/* One sample of operations per microsecond with @outstanding in flight. */
static double rate(struct bed *b, u32 op, u32 size, size_t span, u32 outstanding)
{
	int n = (quick ? 100000 : 400000) / (1 + size / 512), i, slot;
	u32 nid = b->w.opts.nodes - 1;
	u64 t0 = now();

	rmc_qp_set_arg(&b->qp, b);
	for (i = 0; i < n; i++) {
		u64 off = rnd() % (span / 64) * 64;

		if (off + size > span)
			off = 0;
		while (rmc_qp_in_flight(&b->qp) >= outstanding)
			rmc_poll_cq(&b->qp, landed);
		slot = rmc_wait_for_slot(&b->qp, landed);
		if (op == RMC_OP_READ)
			rmc_read_async(&b->qp, slot, nid, off, b->lbuf + slot * 65536UL, size);
		else
			rmc_write_async(&b->qp, slot, nid, off, b->lbuf + slot * 65536UL, size);
	}
	check(rmc_drain_cq(&b->qp, landed));
	return (double)n * 1000 / (now() - t0);
}

static double rate_median(struct bed *b, u32 op, u32 size, size_t span, u32 outstanding)
{
	double s[SAMPLES];
	int k;

	for (k = 0; k < SAMPLES; k++)
		s[k] = rate(b, op, size, span, outstanding);
	return median(s, SAMPLES);
}

/* Medians of a bandwidth, GB/s, and of its ratio to memcpy. */
static double bandwidth(struct bed *b, u32 op, double *ratio)
{
	double s[SAMPLES], r[SAMPLES];
	int k;

	for (k = 0; k < SAMPLES; k++) {
		r[k] = raw_memcpy();
		s[k] = rate(b, op, 8192, SEGMENT, 32) * 8192 / 1000;
		r[k] = s[k] / r[k];
	}
	*ratio = median(r, SAMPLES);
	return median(s, SAMPLES);
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

static double cpu_seconds(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_utime.tv_sec + ru.ru_utime.tv_usec / 1e6 +
	       ru.ru_stime.tv_sec + ru.ru_stime.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	double v, r, two, s[SAMPLES];
	int c, i, ncpu = sysconf(_SC_NPROCESSORS_ONLN);
	struct bed b;

	while ((c = getopt_long(argc, argv, "jqh", longopts, NULL)) != -1) {
		if (c == 'j') {
			json = true;
		} else if (c == 'q') {
			quick = true;
		} else {
			printf("usage: bench [--json] [--quick]\n"
			       "Medians of %d runs; exit status 1 when an asked-for ratio is missed.\n", SAMPLES);
			return c == 'h' ? 0 : 2;
		}
	}
	if (ncpu < 2) {
		fprintf(stderr, "bench: needs two CPUs, this machine has one\n");
		return 4;
	}
	app_cpu = 0;
	for (i = 0; i < 8; i++)
		cpus[i] = 1 + i % (ncpu - 1);
	pin(app_cpu);
	segment = map(SEGMENT);

	copy = map(SEGMENT);
	chain = map(SEGMENT);
	cycle_make();

	bed_init(&b, 2, "fused", 4096, false);
	for (i = 0; i < SAMPLES; i++)
		s[i] = raw_pingpong(&b);
	row("raw line ping-pong, round trip", median(s, SAMPLES), "ns", NULL, 0, 0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = raw_access();
	row("raw dependent read of 64 MiB", median(s, SAMPLES), "ns", NULL, 0, 0, 0);
	for (i = 0; i < SAMPLES; i++)
		s[i] = raw_memcpy();
	row("raw memcpy, 8 KiB pieces of 64 MiB", median(s, SAMPLES), "GB/s", NULL, 0, 0, 0);

	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &two);
	row("fused: 64 B read, cache-resident", v, "ns", "ping-pong", two, 2.2, true);
	v = latency_ratio(&b, RMC_OP_READ, 64, SEGMENT, PINGPONG_ACCESS, &r);
	row("fused: 64 B read, random in 64 MiB", v, "ns", "(2.2 pp + access)", r, 1, true);
	v = latency_ratio(&b, RMC_OP_WRITE, 64, 4096, PINGPONG, &r);
	row("fused: 64 B write, cache-resident", v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(&b, RMC_OP_FAA, 8, 4096, PINGPONG, &r);
	row("fused: fetch-and-add, cache-resident", v, "ns", "ping-pong", r, 0, 0);
	v = latency_ratio(&b, RMC_OP_READ, 8192, SEGMENT, PINGPONG, &r);
	row("fused: 8 KiB read, random", v, "ns", NULL, 0, 0, 0);
	v = rate_median(&b, RMC_OP_READ, 64, 4096, 32);
	row("fused: 64 B reads, 32 outstanding, cache-resident", v, "M/s", "1 M/s", v, 8, false);
	v = rate_median(&b, RMC_OP_READ, 64, SEGMENT, 32);
	row("fused: 64 B reads, 32 outstanding, random", v, "M/s", "1 M/s", v, 8, false);
	v = rate_median(&b, RMC_OP_READ, 64, SEGMENT, ENTRIES);
	row("fused: 64 B reads, 128 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
	v = rate_median(&b, RMC_OP_WRITE, 64, SEGMENT, 32);
	row("fused: 64 B writes, 32 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
	v = bandwidth(&b, RMC_OP_READ, &r);
	row("fused: 8 KiB reads, MTU 4096", v, "GB/s", "memcpy", r, 0.5, false);
	v = bandwidth(&b, RMC_OP_WRITE, &r);
	row("fused: 8 KiB writes, MTU 4096", v, "GB/s", "memcpy", r, 0, false);
	bed_fini(&b);

	bed_init(&b, 2, "fused", 64, false);
	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row("fused, MTU 64: 64 B read, cache-resident", v, "ns", "ping-pong", r, 0, true);
	v = bandwidth(&b, RMC_OP_READ, &r);
	row("fused, MTU 64: 8 KiB reads", v, "GB/s", "memcpy", r, 0, false);
	bed_fini(&b);

	bed_init(&b, 128, "fused", 4096, false);
	v = latency_ratio(&b, RMC_OP_READ, 64, 4096, PINGPONG, &r);
	row("fused, 128 nodes, one pair active: 64 B read", v, "ns", "2 nodes", r / two, 1.2, true);
	bed_fini(&b);

	if (ncpu >= 3) {
		bed_init(&b, 2, "pair", 4096, false);
		v = latency_ratio(&b, RMC_OP_READ, 64, 4096, TWO_PINGPONGS, &r);
		row("pair: 64 B read, cache-resident", v, "ns", "two ping-pongs", r, 0, true);
		v = rate_median(&b, RMC_OP_READ, 64, SEGMENT, 32);
		row("pair: 64 B reads, 32 outstanding, random", v, "M/s", "1 M/s", v, 0, false);
		v = bandwidth(&b, RMC_OP_READ, &r);
		row("pair: 8 KiB reads, MTU 4096", v, "GB/s", "memcpy", r, 0, false);
		bed_fini(&b);
	} else if (!json) {
		printf("# pair: skipped, three spinning threads need three CPUs, here are %d\n", ncpu);
	}

	bed_init(&b, 2, "fused", 4096, true);
	check(rmc_read(&b.qp, 1, 0, b.lbuf, 64));
	usleep(300000);
	v = cpu_seconds();
	usleep(1000000);
	v = (cpu_seconds() - v) * 100;
	row("parked worker, CPU time", v, "%", "1 %", v, 3, true);
	for (i = 0; i < SAMPLES; i++) {
		u64 t0;

		usleep(100000);
		t0 = now();
		check(rmc_read(&b.qp, 1, 0, b.lbuf, 64));
		s[i] = (now() - t0) / 1e3;
	}
	v = median(s, SAMPLES);
	row("64 B read that wakes a parked worker", v, "us", NULL, 0, 0, 0);
	bed_fini(&b);
	if (json)
		printf("\n]\n");
	return failed ? 1 : 0;
}
