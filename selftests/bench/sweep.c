// SPDX-License-Identifier: GPL-2.0
/*
 * Curves at native speed, as JSON, of the core alone: over request sizes, as in A14 figure 7
 * and table 2, over operations in flight and over queue pairs. Kernel, driver and VMs are not
 * involved.
 *
 * All series are measured once, then all again: a momentary disturbance, or a move of the CPUs,
 * then affects a part of each series and not all of one.
 *
 * Two nodes of one kernel, one worker (fused). Double-sided means that both nodes read from
 * each other. This thread is then both applications, because two CPUs have no room for another
 * spinning thread.
 *
 *	build/host/sweep [--quick] [--sizes FROM,TO] [--mtu N] [SERIES ...]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>
#include "harness.h"
#include "tools/common/json.h"

#define ROUNDS		9		/* over all series and sizes */
#define ROUNDS_QUICK	3
#define LATENCIES	2000		/* per size and round, quick: half */
#define BYTES		(32UL << 20)	/* per size and round for bandwidth, at most */
#define OPERATIONS	20000		/* likewise */
#define WINDOW		256		/* operations whose rate is one sample, */
#define WINDOW_LARGE	64		/* of 2 KiB or more: some ten microseconds */
#define OUTSTANDING	32
#define SMALL		64		/* bytes, where the size is not varied */
#define HOT		(16U << 10)	/* stays in an L1 cache */
#define QPS_MAX		4
#define WAKES		100		/* per round, quick: a fifth */
#define WAKE_PAUSE	2000		/* us, ten times a worker's idle time before it parks */
#define POINTS_MAX	17		/* powers of two up to BENCH_SLOT */
#define LIMITS		33		/* short samples of each limit at a time */
#define SEGMENT		64		/* MiB; other sizes: */
#define SEGMENT_MIN	16
#define SEGMENT_MAX	65536
#define MTU		4096

static u32 first = 64, last = 8192, mtu = MTU, segment = SEGMENT;
static bool packets;
static int rounds = ROUNDS;
static struct json out;
static struct bench bench;
static struct bench_app apps[2];		/* both sides of double-sided runs */
static struct bench_app more[QPS_MAX];	/* of node 0 */

/* Samples of one size: medians ignore those that were preempted. */
struct samples {
	double *v;
	size_t n, room;
	u64 operations;
	double ns;		/* of all operations; bandwidth only */
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

/* ---- samples ---- */

static void latency(struct samples *s, u32 op, u32 size, u64 span)
{
	int n = bench_quick ? LATENCIES / 2 : LATENCIES, i;
	double ns = bench_ns_per_tick();
	u64 before, now;

	/* no operation is in flight now */
	bench.seg->sabre = op == RMC_OP_SABRE ? RMC_SABRE_OVERLAPPED : 0;
	before = bench_ticks();
	for (i = -BENCH_WARM_UP; i < n; i++) {
		bench_one(&apps[0], op, size, span);
		now = bench_ticks();
		if (i >= 0)
			sample(s, (now - before) * ns);
		before = bench_ticks();
	}
}

/* Both nodes read at the same time. The time from issue to completion, of both nodes alike. */
static void latency_both(struct samples *s, u32 size)
{
	int n = (bench_quick ? LATENCIES / 2 : LATENCIES) / 2, i, k, busy;
	double ns = bench_ns_per_tick();
	u64 t[2];

	for (i = -BENCH_WARM_UP; i < n; i++) {
		for (k = 0; k < 2; k++) {
			t[k] = bench_ticks();
			bench_post(&apps[k], RMC_OP_READ, size, bench_bytes);
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
					sample(s, (bench_ticks() - t[k]) * ns);
				bench_check(rmc_qp_error(&apps[k].qp));
			}
		}
	}
}

/*
 * ns per operation, of windows of operations, over queue pairs of which each has
 * its share in flight. The queues are full at both ends of all windows but the first, so
 * what was issued in one was completed in it.
 */
static void rate(struct samples *s, u32 op, u32 size, u64 span, u32 outstanding,
		 struct bench_app *app, u32 qps)
{
	u64 all = BYTES / size < OPERATIONS ? BYTES / size : OPERATIONS, n;
	u32 window = size < 2048 ? WINDOW : WINDOW_LARGE, k;
	double ns = bench_ns_per_tick(), begin;
	u64 before, now;

	if (bench_quick)
		all /= 2;
	for (k = 0; k < qps; k++)
		app[k].stride = size;
	before = bench_ticks();
	begin = before * ns;
	for (n = 0; n < all; n++) {
		for (k = 0; k < qps; k++) {
			while (rmc_qp_in_flight(&app[k].qp) >= outstanding)
				rmc_poll_cq(&app[k].qp, NULL);
			bench_post(&app[k], op, size, span);
		}
		if ((n + 1) % window)
			continue;
		now = bench_ticks();
		if (n + 1 > window)
			sample(s, (now - before) * ns / window / qps);
		before = now;
	}
	for (k = 0; k < qps; k++)
		bench_check(rmc_drain_cq(&app[k].qp, NULL));
	s->operations += all * qps;
	s->ns += bench_ticks() * ns - begin;
}

/* ---- series ---- */

enum vary { SIZE, FLIGHT, QPS, NOTHING };

static const struct series {
	const char *name, *operation, *metric;
	u32 op;
	enum vary vary;
	bool both, hot;
} table[] = {
	{ "read-latency", "read", "latency", RMC_OP_READ, SIZE, false, false },
	{ "read-latency-double", "read", "latency", RMC_OP_READ, SIZE, true, false },
	{ "read-bandwidth", "read", "bandwidth", RMC_OP_READ, SIZE, false, false },
	{ "read-bandwidth-double", "read", "bandwidth", RMC_OP_READ, SIZE, true, false },
	{ "fetch-and-add", "fetch-and-add", "latency", RMC_OP_FAA, NOTHING, false, false },
	{ "compare-and-swap", "compare-and-swap", "latency", RMC_OP_CAS, NOTHING, false, false },
	{ "write-latency", "write", "latency", RMC_OP_WRITE, SIZE, false, false },
	{ "write-bandwidth", "write", "bandwidth", RMC_OP_WRITE, SIZE, false, false },
	{ "sabre-latency", "SABRe", "latency", RMC_OP_SABRE, SIZE, false, false },
	{ "read-latency-hot", "read", "latency", RMC_OP_READ, NOTHING, false, true },
	{ "read-rate-hot", "read", "bandwidth", RMC_OP_READ, NOTHING, false, true },
	{ "read-outstanding", "read", "bandwidth", RMC_OP_READ, FLIGHT, false, false },
	{ "read-qps", "read", "bandwidth", RMC_OP_READ, QPS, false, false },
	{ "parked", "read", "wake-up", RMC_OP_READ, NOTHING, false, false },
};

/* Bytes where the size is not varied */
static u32 fixed(const struct series *s)
{
	return s->op == RMC_OP_READ ? SMALL : 8;
}

/* The varied quantity doubles from one point to the next. */
static u32 from(const struct series *s)
{
	return s->vary == SIZE ? first : s->vary == NOTHING ? fixed(s) : 1;
}

static u32 to(const struct series *s)
{
	return s->vary == SIZE ? last : s->vary == FLIGHT ? BENCH_ENTRIES :
	       s->vary == QPS ? QPS_MAX : fixed(s);
}

static struct samples samples[ARRAY_SIZE(table)][POINTS_MAX];

static bool is(const struct series *s, const char *metric)
{
	return !strcmp(s->metric, metric);
}

static void measure(const struct series *s)
{
	struct samples *v = samples[s - table];
	u64 span = s->hot ? HOT : bench_bytes;
	u32 x;

	for (x = from(s); x <= to(s); v++, x *= 2) {
		if (s->vary == FLIGHT)
			rate(v, s->op, SMALL, span, x, apps, 1);
		else if (s->vary == QPS)
			rate(v, s->op, SMALL, span, OUTSTANDING, more, x);
		else if (is(s, "bandwidth"))
			rate(v, s->op, x, span, OUTSTANDING, apps, 1 + s->both);
		else if (s->both)
			latency_both(v, x);
		else
			latency(v, s->op, x, span);
	}
}

/* Time to wake the worker's thread, and, for comparison, any thread */
static struct samples worker_wake, thread_wake;

/* In a testbed whose worker parks; the share of a CPU that a parked worker takes */
static double measure_parked(struct samples *s)
{
	int n = rounds * (bench_quick ? WAKES / 5 : WAKES), i;
	double idle;

	bench_init(&bench, 2, "fused", mtu);
	bench_packets(&bench.w, packets);
	bench_start(&bench, true);
	idle = bench_idle(&bench);
	for (i = 0; i < n; i++) {
		bench_polls_inline = true;
		sample(s, bench_wake(&bench, WAKE_PAUSE));
		bench_polls_inline = false;
		sample(&worker_wake, bench_wake(&bench, WAKE_PAUSE));
		sample(&thread_wake, bench_thread_wake(WAKE_PAUSE));
	}
	testbed_stop(&bench.w);
	return idle;
}

/* ---- report ---- */

static void times(struct samples *v)
{
	bench_median(v->v, v->n);		/* sorts */
	json_double(&out, "t_typical_usec", percentile(v, 0.5) / 1e3);
	json_double(&out, "t_min_usec", percentile(v, 0) / 1e3);
	json_double(&out, "p99_usec", percentile(v, 0.99) / 1e3);
	json_double(&out, "p99_9_usec", percentile(v, 0.999) / 1e3);
}

static void point(const struct series *s, u32 x, struct samples *v)
{
	u32 size = s->vary == SIZE || s->vary == NOTHING ? x : SMALL;

	json_object(&out, NULL);
	json_uint(&out, "bytes", size);
	json_string(&out, "path", bench_path(&bench.w, size));
	json_uint(&out, "samples", v->n);
	if (!is(s, "bandwidth")) {
		times(v);
	} else {
		bench_median(v->v, v->n);		/* sorts */
		json_uint(&out, "outstanding", s->vary == FLIGHT ? x : OUTSTANDING);
		json_uint(&out, "qps", s->vary == QPS ? x : s->both ? 2U : 1U);
		json_double(&out, "bw_typical_bytes_per_sec", size * 1e9 / percentile(v, 0.5));
		json_double(&out, "bw_average_bytes_per_sec", size * 1e9 * v->operations / v->ns);
		json_double(&out, "msg_rate_per_sec", 1e9 / percentile(v, 0.5));
	}
	json_end_object(&out);
	free(v->v);
}

static void report(const struct series *s, double idle)
{
	struct samples *v = samples[s - table];
	u32 x;

	json_object(&out, NULL);
	json_string(&out, "name", s->name);
	json_string(&out, "operation", s->operation);
	json_string(&out, "metric", s->metric);
	json_bool(&out, "double_sided", s->both);
	if (is(s, "wake-up")) {
		json_double(&out, "parked_cpu_share", idle);
		json_object(&out, "woken");
		times(&worker_wake);
		json_end_object(&out);
		json_object(&out, "thread");
		times(&thread_wake);
		json_end_object(&out);
	}
	json_array(&out, "results");
	for (x = from(s); x <= to(s); v++, x *= 2)
		point(s, x, v);
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

	fprintf(f, "usage: sweep [--quick] [--sizes FROM,TO] [--mtu N] [--segment MIB] [--huge]\n"
		"	      [--path local|packets] [SERIES ...]\n"
		"Medians as JSON; sizes from 64 to 65536 bytes; random places are in a segment of so\n"
		"many MiB, of 64 by default; --huge: known by chunks of 2 MiB, as the module knows\n"
		"memory in huge pages, not of 4 KiB; --path packets: also between nodes of one worker,\n"
		"as local=0 of the module; series, all of them unless named (limits: none, only the\n"
		"limits):\n");
	for (s = table; s < table + ARRAY_SIZE(table); s++)
		fprintf(f, "  %s\n", s->name);
	return f == stdout ? 0 : 2;
}

static struct samples pp, access_ns, copy;

/* Before each round and after the last, so that the limits surround the samples compared. */
static void sample_limits(void)
{
	int k;

	for (k = 0; k < LIMITS; k++) {
		sample(&pp, bench_pingpong(&bench));
		sample(&access_ns, bench_access());
		sample(&copy, bench_memcpy());
	}
}

static void report_limits(void)
{
	json_object(&out, "limits");
	json_double(&out, "line_ping_pong_usec", bench_median(pp.v, pp.n) / 1e3);
	json_double(&out, "dependent_read_usec", bench_median(access_ns.v, access_ns.n) / 1e3);
	json_double(&out, "memcpy_bytes_per_sec", bench_median(copy.v, copy.n) * 1e9);
	json_int(&out, "samples", (int)pp.n);
	json_end_object(&out);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "sizes", required_argument, NULL, 's' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "segment", required_argument, NULL, 'g' },
		{ "huge", no_argument, NULL, 'H' },
		{ "path", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct rmc_mem *seg;
	const struct series *s;
	double idle = 0;
	int c, i, k, ncpu;
	char end;

	while ((c = getopt_long(argc, argv, "qs:m:g:Hp:h", longopts, NULL)) != -1) {
		if (c == 'q') {
			bench_quick = true;
			rounds = ROUNDS_QUICK;
		} else if (c == 's') {
			if (sscanf(optarg, "%u,%u%c", &first, &last, &end) != 2 || first < 64 ||
			    first > last || last > BENCH_SLOT)
				return usage(stderr);
		} else if (c == 'm') {
			if (sscanf(optarg, "%u%c", &mtu, &end) != 1 || mtu < 64 || mtu % 64)
				return usage(stderr);
		} else if (c == 'g') {
			if (sscanf(optarg, "%u%c", &segment, &end) != 1 || segment < SEGMENT_MIN ||
			    segment > SEGMENT_MAX || segment & (segment - 1))
				return usage(stderr);
		} else if (c == 'H') {
			bench_chunk_shift = 21;
		} else if (c == 'p' && bench_is_path(optarg, &packets)) {
			;
		} else {
			return usage(c == 'h' ? stdout : stderr);
		}
	}
	for (i = optind; i < argc; i++)
		if (!find(argv[i]) && strcmp(argv[i], "limits"))
			return usage(stderr);
	ncpu = bench_setup((u64)segment << 20);
	if (ncpu < 2)
		return 4;
	memset(bench_segment, 0, bench_bytes);	/* objects: their versions are even */

	bench_init(&bench, 2, "fused", mtu);
	bench_app_init(&bench, &apps[0], 0, 1);
	bench_app_init(&bench, &apps[1], 1, 0);
	memset(apps[0].lbuf, 0, BENCH_ENTRIES * BENCH_SLOT);	/* what is written */
	mem_objects(bench.seg, 0, 0);
	if (wanted(find("read-qps"), argv + optind))
		for (k = 0; k < QPS_MAX; k++)
			bench_app_init(&bench, &more[k], 0, 1);
	/* reads of both directions end in the same memory */
	seg = mem_make(bench_segment, bench_bytes, bench_chunk_shift, 0);
	seg_set(&bench.w, 0, 0, seg);
	bench_packets(&bench.w, packets);
	bench_start(&bench, false);

	json_init(&out, stdout);
	json_object(&out, NULL);
	json_string(&out, "test", "host_sweep");
	json_int(&out, "cpus", ncpu);
	json_string(&out, "ni", "fused");
	json_string(&out, "path", packets ? "packets" : "local");
	json_uint(&out, "mtu", mtu);
	json_uint(&out, "segment", bench_bytes);
	json_int(&out, "llc_bytes", sysconf(_SC_LEVEL3_CACHE_SIZE));
	json_int(&out, "outstanding", OUTSTANDING);
	bench_finer = 10;
	bench_memcpy();			/* maps */
	bench_access();
	sample_limits();
	for (k = 0; k < rounds; k++) {
		for (s = table; s < table + ARRAY_SIZE(table); s++)
			if (wanted(s, argv + optind) && !is(s, "wake-up"))
				measure(s);
		sample_limits();
		fprintf(stderr, "round %d of %d\n", k + 1, rounds);
	}
	testbed_stop(&bench.w);
	s = find("parked");
	if (wanted(s, argv + optind))
		idle = measure_parked(samples[s - table]);
	report_limits();
	json_array(&out, "series");
	for (s = table; s < table + ARRAY_SIZE(table); s++)
		if (wanted(s, argv + optind))
			report(s, idle);
	json_end_array(&out);
	json_end_object(&out);
	return 0;
}
