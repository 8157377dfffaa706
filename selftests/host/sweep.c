// SPDX-License-Identifier: GPL-2.0
/*
 * Curves over request sizes at native speed, as JSON: what A14 figure 7 and table 2
 * plot, of the core alone. Kernel, driver and VMs have no part in it.
 *
 * All series and sizes once, then all again: what disturbs this machine for a
 * moment, or moves its CPUs, is a part of each and not all of one.
 *
 * Two nodes of one kernel, one worker (fused). Double-sided means that both nodes
 * read from each other: this thread then plays both applications, because two CPUs
 * have no room for another that spins.
 *
 *	build/host/sweep [--quick] [--sizes FROM,TO] [--mtu N] [SERIES ...]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>
#include "bed.h"
#include "tools/common/json.h"

#define ROUNDS		9		/* over all series and sizes */
#define ROUNDS_QUICK	3
#define LATENCIES	2000		/* per size and round, quick: half */
#define BYTES		(32UL << 20)	/* per size and round for bandwidth, at most */
#define OPERATIONS	20000		/* likewise */
#define WINDOW		256		/* operations whose rate is one sample, */
#define WINDOW_LARGE	64		/* of 2 KiB or more: some ten microseconds */
#define OUTSTANDING	32
#define SIZES_MAX	17		/* powers of two up to BED_SLOT */
#define LIMITS		9		/* samples of each limit */
#define SEGMENT		(64UL << 20)
#define MTU		4096

static u32 first = 64, last = 8192, mtu = MTU;
static int rounds = ROUNDS;
static struct json out;
static struct bed bed;
static struct bed_app apps[2];		/* both sides of double-sided runs */

/* Samples of one size: medians forget those in which a CPU was taken away. */
struct samples {
	double *v;
	size_t n, room;
	u64 operations;
	double ns;		/* that all took; bandwidth only */
};

static void sample(struct samples *s, double v)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 4096;
		s->v = realloc(s->v, s->room * sizeof(*s->v));
		if (!s->v) {
			fprintf(stderr, "out of memory\n");
			exit(1);
		}
	}
	s->v[s->n++] = v;
}

static double percentile(const struct samples *s, double share)
{
	return s->v[(size_t)(share * (s->n - 1))];
}

/* ---- time: a read of the clock costs as much as a tenth of a remote read ---- */

#ifdef __x86_64__
static u64 ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static u64 ticks(void)
{
	return bed_now();
}
#endif

static u64 ticks0, ns0;

/* Measured over the run so far, which the limits made long enough. */
static double ns_per_tick(void)
{
	return (double)(bed_now() - ns0) / (ticks() - ticks0);
}

/* ---- samples ---- */

static void latency(struct samples *s, u32 op, u32 size)
{
	int n = bed_quick ? LATENCIES / 2 : LATENCIES, i;
	double ns = ns_per_tick();
	u64 before, now;

	before = ticks();
	for (i = -50; i < n; i++) {
		bed_one(&apps[0], op, size, bed_bytes);
		now = ticks();
		if (i >= 0)
			sample(s, (now - before) * ns);
		before = ticks();
	}
}

/*
 * Both nodes read at the same time; from issuing to seeing the completion, of both
 * alike.
 */
static void latency_both(struct samples *s, u32 size)
{
	int n = (bed_quick ? LATENCIES / 2 : LATENCIES) / 2, i, k, busy;
	double ns = ns_per_tick();
	u64 t[2];

	for (i = -50; i < n; i++) {
		for (k = 0; k < 2; k++) {
			t[k] = ticks();
			bed_post(&apps[k], RMC_OP_READ, size, bed_bytes);
		}
		for (busy = 3; busy;) {
			for (k = 0; k < 2; k++) {
				if (!(busy & 1 << k))
					continue;
				rmc_poll_cq(&apps[k].qp, NULL);
				if (rmc_qp_in_flight(&apps[k].qp))
					continue;
				busy &= ~(1 << k);
				if (i >= 0)
					sample(s, (ticks() - t[k]) * ns);
				bed_check(rmc_qp_error(&apps[k].qp));
			}
		}
	}
}

/*
 * ns per operation, of windows of operations. The queue is full at both ends of all
 * windows but the first, so what was issued in one was completed in it.
 */
static void rate(struct samples *s, u32 op, u32 size, bool both)
{
	u64 all = BYTES / size < OPERATIONS ? BYTES / size : OPERATIONS, n;
	u32 window = size < 2048 ? WINDOW : WINDOW_LARGE;
	double ns = ns_per_tick(), begin;
	u64 before, now;
	int k;

	if (bed_quick)
		all /= 2;
	before = ticks();
	begin = before * ns;
	for (n = 0; n < all; n++) {
		for (k = 0; k <= both; k++) {
			while (rmc_qp_in_flight(&apps[k].qp) >= OUTSTANDING)
				rmc_poll_cq(&apps[k].qp, NULL);
			bed_post(&apps[k], op, size, bed_bytes);
		}
		if ((n + 1) % window)
			continue;
		now = ticks();
		if (n + 1 > window)
			sample(s, (now - before) * ns / window / (1 + both));
		before = now;
	}
	for (k = 0; k <= both; k++)
		bed_check(rmc_drain_cq(&apps[k].qp, NULL));
	s->operations += all * (1 + both);
	s->ns += ticks() * ns - begin;
}

static void point(const char *metric, u32 size, struct samples *s)
{
	bed_median(s->v, s->n);		/* sorts */
	json_object(&out, NULL);
	json_uint(&out, "bytes", size);
	json_uint(&out, "samples", s->n);
	if (!strcmp(metric, "latency")) {
		json_double(&out, "t_typical_usec", percentile(s, 0.5) / 1e3);
		json_double(&out, "t_min_usec", percentile(s, 0) / 1e3);
		json_double(&out, "p99_usec", percentile(s, 0.99) / 1e3);
	} else {
		json_double(&out, "bw_typical_bytes_per_sec", size * 1e9 / percentile(s, 0.5));
		json_double(&out, "bw_average_bytes_per_sec", size * 1e9 * s->operations / s->ns);
		json_double(&out, "msg_rate_per_sec", 1e9 / percentile(s, 0.5));
	}
	json_end_object(&out);
	free(s->v);
}

static const struct series {
	const char *name, *operation, *metric;
	u32 op;
	u32 size;		/* 0: all of them */
	bool both;
} table[] = {
	{ "read-latency", "read", "latency", RMC_OP_READ, 0, false },
	{ "read-latency-double", "read", "latency", RMC_OP_READ, 0, true },
	{ "read-bandwidth", "read", "bandwidth", RMC_OP_READ, 0, false },
	{ "read-bandwidth-double", "read", "bandwidth", RMC_OP_READ, 0, true },
	{ "fetch-and-add", "fetch-and-add", "latency", RMC_OP_FAA, 8, false },
	{ "compare-and-swap", "compare-and-swap", "latency", RMC_OP_CAS, 8, false },
};

static u32 from(const struct series *s)
{
	return s->size ? s->size : first;
}

static u32 to(const struct series *s)
{
	return s->size ? s->size : last;
}

static struct samples samples[ARRAY_SIZE(table)][SIZES_MAX];

static void measure(const struct series *s)
{
	struct samples *v = samples[s - table];
	u32 size;

	for (size = from(s); size <= to(s); v++, size *= 2) {
		if (strcmp(s->metric, "latency"))
			rate(v, s->op, size, s->both);
		else if (s->both)
			latency_both(v, size);
		else
			latency(v, s->op, size);
	}
}

static void report(const struct series *s)
{
	struct samples *v = samples[s - table];
	u32 size;

	json_object(&out, NULL);
	json_string(&out, "name", s->name);
	json_string(&out, "operation", s->operation);
	json_string(&out, "metric", s->metric);
	json_bool(&out, "double_sided", s->both);
	json_array(&out, "results");
	for (size = from(s); size <= to(s); v++, size *= 2)
		point(s->metric, size, v);
	json_end_array(&out);
	json_end_object(&out);
}

static const struct series *find(const char *name)
{
	const struct series *s;

	for (s = table; s < table + ARRAY_SIZE(table); s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

/* names: up to a NULL; none means all */
static bool wanted(const struct series *s, char **names)
{
	bool all = !*names;

	for (; *names; names++)
		if (find(*names) == s)
			return true;
	return all;
}

static int usage(FILE *f)
{
	const struct series *s;

	fprintf(f, "usage: sweep [--quick] [--sizes FROM,TO] [--mtu N] [SERIES ...]\n"
		"Medians as JSON; sizes from 64 to 65536 bytes; series, all of them unless named:\n");
	for (s = table; s < table + ARRAY_SIZE(table); s++)
		fprintf(f, "  %s\n", s->name);
	return f == stdout ? 0 : 2;
}

static void report_limits(void)
{
	double pp[LIMITS], access[LIMITS], copy[LIMITS];
	int k;

	for (k = 0; k < LIMITS; k++) {
		pp[k] = bed_pingpong(&bed);
		access[k] = bed_access();
		copy[k] = bed_memcpy();
	}
	json_object(&out, "limits");
	json_double(&out, "line_ping_pong_usec", bed_median(pp, LIMITS) / 1e3);
	json_double(&out, "dependent_read_usec", bed_median(access, LIMITS) / 1e3);
	json_double(&out, "memcpy_bytes_per_sec", bed_median(copy, LIMITS) * 1e9);
	json_end_object(&out);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "sizes", required_argument, NULL, 's' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct rmc_mem *seg;
	const struct series *s;
	int c, i, k, ncpu;
	char end;

	while ((c = getopt_long(argc, argv, "qs:m:h", longopts, NULL)) != -1) {
		if (c == 'q') {
			bed_quick = true;
			rounds = ROUNDS_QUICK;
		} else if (c == 's') {
			if (sscanf(optarg, "%u,%u%c", &first, &last, &end) != 2 || first < 64 ||
			    first > last || last > BED_SLOT)
				return usage(stderr);
		} else if (c == 'm') {
			if (sscanf(optarg, "%u%c", &mtu, &end) != 1 || mtu < 64 || mtu % 64)
				return usage(stderr);
		} else {
			return usage(c == 'h' ? stdout : stderr);
		}
	}
	for (i = optind; i < argc; i++)
		if (!find(argv[i]))
			return usage(stderr);
	ncpu = bed_setup(SEGMENT);
	if (ncpu < 2)
		return 4;

	ns0 = bed_now();
	ticks0 = ticks();
	bed_init(&bed, 2, "fused", mtu);
	bed_app_init(&bed, &apps[0], 0, 1);
	bed_app_init(&bed, &apps[1], 1, 0);
	/* reads of both directions end in the same memory */
	seg = mem_make(bed_segment, bed_bytes, 12, 0);
	seg_set(&bed.w, 0, 0, seg);
	bed_start(&bed, false);

	json_init(&out, stdout);
	json_object(&out, NULL);
	json_string(&out, "test", "host_sweep");
	json_int(&out, "cpus", ncpu);
	json_string(&out, "ni", "fused");
	json_uint(&out, "mtu", mtu);
	json_uint(&out, "segment", bed_bytes);
	json_int(&out, "llc_bytes", sysconf(_SC_LEVEL3_CACHE_SIZE));
	json_int(&out, "outstanding", OUTSTANDING);
	json_int(&out, "samples", LIMITS);
	report_limits();
	for (k = 0; k < rounds; k++) {
		for (s = table; s < table + ARRAY_SIZE(table); s++)
			if (wanted(s, argv + optind))
				measure(s);
		fprintf(stderr, "round %d of %d\n", k + 1, rounds);
	}
	json_array(&out, "series");
	for (s = table; s < table + ARRAY_SIZE(table); s++)
		if (wanted(s, argv + optind))
			report(s);
	json_end_array(&out);
	json_end_object(&out);
	world_stop(&bed.w);
	return 0;
}
