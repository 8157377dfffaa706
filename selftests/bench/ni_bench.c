// SPDX-License-Identifier: GPL-2.0
/*
 * NI organisations compared (T18 section 6.5): latency of single reads, bandwidth of many. Two nodes
 * read from each other, each with its own workers, in packets; every node issues and serves. All
 * applications keep a queue of 128 entries full (6.5.2), or wait for one read after the other (6.5.1).
 *
 *	computed	a CPU for each worker and each application, in virtual time: each visit is run
 *			and timed here, see ni_load.h. Left out is what CPUs take from each other:
 *			bandwidth of memory, and room in shared caches
 *	threads		a pinned thread for each, where this machine has as many CPUs, else the reason;
 *			beside it the same computed. Where two sets of workers are too many, one set
 *			has both nodes
 *	between		one node reads from the other, and writes to it; each has a worker: what
 *			rmc-bench shows beside rmcd's one worker
 *
 *	build/host/ni_bench [--quick] [--json] [--one-cpu] [--apps N] [--rrpps N] [--frontends N]
 *		[--sizes FROM,TO] [--only NI[,UNITS]] [computed] [threads] [between]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include "ni_load.h"
#include "tools/common/json.h"

#define SEGMENT		(64UL << 20)	/* of each node */
#define RUNS		5		/* of the line's round trip */
#define SMALL		64
#define LARGE		8192
#define SIZES_MAX	9
#define SHARE		0.25		/* no RRPP's differs by more from an equal share, */
#define SIGMAS		6		/* or by more than random places make it */

static const struct organisation {
	const char *ni;
	u32 units;
} organisations[] = {
	{ "fused", 1 }, { "pair", 1 },
	{ "edge", 2 }, { "edge", 4 }, { "edge", 8 },
	{ "per_tile", 2 }, { "per_tile", 4 }, { "per_tile", 8 },
	{ "split", 2 }, { "split", 4 }, { "split", 8 },
};

/* Options */
static u32 apps = LOAD_APPS, rrpps, frontends, first = SMALL, last = LOAD_SIZE, only_units;
static const char *only;
static bool as_json;

static struct json out;
static double half_ns, miss_ns, handoff;
static double latency[ARRAY_SIZE(organisations)][SIZES_MAX];
static struct load_result bandwidth[ARRAY_SIZE(organisations)][SIZES_MAX];
static int unequal;

/* ---- loads ---- */

static bool chosen(const struct organisation *o)
{
	return !only || (!strcmp(o->ni, only) && (!only_units || o->units == only_units));
}

/* As many RRPPs as edge has, unless --rrpps says less; a frontend for each application */
static struct load load_of(const struct organisation *o)
{
	struct load l = { .ni = o->ni, .units = o->units, .rrpps = o->units, .frontends = 1,
			  .kernels = true, .op = RMC_OP_READ };

	if (rrpps && !strcmp(o->ni, "per_tile"))
		l.rrpps = min(rrpps, o->units);
	if (!strcmp(o->ni, "split"))
		l.frontends = frontends ?: max(1U, apps / o->units);
	return l;
}

static struct load blocking(struct load l, u32 size)
{
	l.apps = 1;
	l.outstanding = 1;
	l.size = size;
	return l;
}

static struct load busy(struct load l, u32 size)
{
	l.apps = apps;
	l.outstanding = BENCH_ENTRIES;
	l.size = size;
	return l;
}

/* GB/s that each node reads */
static double gbps(const struct load_result *r, u32 size)
{
	return r->rate * size / 1000 / NI_TIME_NODES;
}

static void check_shares(const struct load *l, const struct load_result *r)
{
	double most = fmax(SHARE, SIGMAS / sqrt(r->served / l->rrpps));

	if (r->share_low > 1 - most && r->share_high < 1 + most)
		return;
	fprintf(stderr, "ni_bench: %s, %u units, %u B: an RRPP served %.2f of its share, another one %.2f\n",
		l->ni, l->units, l->size, r->share_low, r->share_high);
	unequal++;
}

/* ---- output ---- */

static void json_row(const char *part, const struct load *l, const char *what)
{
	u32 workers, cpus = load_needs(l, &workers);

	json_object(&out, NULL);
	json_string(&out, "part", part);
	json_string(&out, "ni", l->ni);
	json_uint(&out, "units", l->units);
	json_uint(&out, "rrpps", l->rrpps);
	if (!strcmp(l->ni, "split"))
		json_uint(&out, "frontends", l->frontends);
	json_uint(&out, "kernels", l->kernels ? NI_TIME_NODES : 1);
	json_uint(&out, "workers", workers);
	json_uint(&out, "cpus", cpus);
	json_string(&out, "what", what);
}

static void json_load(const struct load *l)
{
	json_uint(&out, "bytes", l->size);
	json_uint(&out, "outstanding", l->outstanding);
	json_uint(&out, "applications", l->apps);
}

static void json_result(const char *part, const struct load *l, const struct load_result *r)
{
	bool waits = l->outstanding == 1;

	if (!as_json)
		return;
	json_row(part, l, waits ? "latency" : "bandwidth");
	json_load(l);
	json_string(&out, "path", "packets");
	if (waits)
		json_double(&out, "ns", r->ns);
	json_double(&out, "mops", r->rate);
	json_double(&out, "gbps", r->rate * l->size / 1000 / (l->one_way ? 1 : NI_TIME_NODES));
	json_double(&out, "share_low", r->share_low);
	json_double(&out, "share_high", r->share_high);
	if (r->busiest) {
		json_string(&out, "busiest", r->busiest);
		json_double(&out, "used", r->used);
		json_uint(&out, "preempted", r->preempted);
	}
	json_end_object(&out);
}

static void head(const char *title)
{
	u32 size;

	if (as_json)
		return;
	printf("\n%s\n%-9s%6s%7s%10s%9s", title, "ni", "units", "RRPPs", "frontends", "workers");
	for (size = first; size <= last; size *= 2)
		printf("%8u", size);
}

static void row_begin(const struct load *l)
{
	u32 workers;

	load_needs(l, &workers);
	printf("%-9s%6u%7u%10u%9u", l->ni, l->units, l->rrpps,
	       strcmp(l->ni, "split") ? 0 : l->frontends, workers);
}

/* ---- computed ---- */

static void compute(u32 i)
{
	struct load_result r;
	u32 size, k;

	for (size = first, k = 0; size <= last; size *= 2, k++) {
		struct load l = blocking(load_of(&organisations[i]), size);

		load_computed(&l, handoff, &r);
		latency[i][k] = r.ns;
		json_result("computed", &l, &r);
		l = busy(l, size);
		load_computed(&l, handoff, &bandwidth[i][k]);
		check_shares(&l, &bandwidth[i][k]);
		json_result("computed", &l, &bandwidth[i][k]);
	}
}

static double nanoseconds(u32 i, u32 k, u32 size)
{
	(void)size;
	return latency[i][k];
}

static double gigabytes(u32 i, u32 k, u32 size)
{
	return gbps(&bandwidth[i][k], size);
}

/* The line of organisation @i: @value of each size, with so many decimals */
static void row(u32 i, double (*value)(u32 i, u32 k, u32 size), int decimals)
{
	struct load l = busy(load_of(&organisations[i]), SMALL);
	u32 size, k;

	row_begin(&l);
	for (size = first, k = 0; size <= last; size *= 2, k++)
		printf("%8.*f", decimals, value(i, k, size));
}

static void computed(void)
{
	struct load_result *r, *end;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(organisations); i++)
		if (chosen(&organisations[i]))
			compute(i);
	if (as_json)
		return;
	head("Computed: latency of a read, ns, one application of each node");
	putchar('\n');
	for (i = 0; i < ARRAY_SIZE(organisations); i++) {
		if (!chosen(&organisations[i]))
			continue;
		row(i, nanoseconds, 0);
		putchar('\n');
	}
	head("Computed: GB/s that each node reads, and is read");
	puts("  shares of RRPPs   busiest, smallest and largest reads");
	for (i = 0; i < ARRAY_SIZE(organisations); i++) {
		if (!chosen(&organisations[i]))
			continue;
		row(i, gigabytes, 2);
		r = bandwidth[i];
		end = r + __builtin_ctz(last / first);
		printf("  %3.0f to %3.0f %%      %s %.0f %%, %s %.0f %%\n", r->share_low * 100,
		       r->share_high * 100, r->busiest, r->used * 100, end->busiest, end->used * 100);
	}
}

/* ---- threads ---- */

/* Threads of applications, and sets of workers, that this machine has CPUs for. Returns 0: none. */
static bool fits(struct load *l)
{
	u32 workers, kernels;

	for (kernels = NI_TIME_NODES; kernels; kernels--) {
		l->kernels = kernels == NI_TIME_NODES;
		load_needs(l, &workers);
		/* with a set for each node an application of each has a thread */
		if ((int)(workers + kernels) <= load_cpus) {
			l->threads = min((u32)load_cpus - workers, apps * NI_TIME_NODES);
			return true;
		}
	}
	return false;
}

static void measured_and_computed(const struct load *l, double *m, double *c)
{
	struct load_result r;

	load_native(l, &r);
	check_shares(l, &r);
	json_result("threads", l, &r);
	*m = l->outstanding == 1 ? r.ns : gbps(&r, l->size);
	load_computed(l, handoff, &r);
	json_result("beside threads", l, &r);
	*c = l->outstanding == 1 ? r.ns : gbps(&r, l->size);
}

static void threads_of(const struct organisation *o)
{
	struct load l = load_of(o), with[3];
	double m, c;
	u32 workers, i;

	if (!fits(&l)) {
		load_needs(&l, &workers);
		if (as_json) {
			json_row("threads", &l, "skipped");
			json_uint(&out, "needs", workers + 1);
			json_uint(&out, "has", load_cpus);
			json_end_object(&out);
			return;
		}
		printf("%-9s%6u   skipped: %u workers and an application need %u CPUs, this machine has %d\n",
		       o->ni, o->units, workers, workers + 1, load_cpus);
		return;
	}
	with[0] = blocking(l, SMALL);
	with[1] = busy(l, SMALL);
	with[2] = busy(l, LARGE);
	if (!as_json) {
		load_needs(&l, &workers);
		printf("%-9s%6u%9s%9u%14u", o->ni, o->units, l.kernels ? "each" : "both", workers,
		       l.threads);
	}
	for (i = 0; i < ARRAY_SIZE(with); i++) {
		measured_and_computed(&with[i], &m, &c);
		if (!as_json)
			printf(i ? "%9.2f%10.2f%8.2f" : "%9.0f%10.0f%8.2f", m, c, c / m);
	}
	if (!as_json)
		putchar('\n');
	fflush(stdout);
}

static void threads(void)
{
	u32 i;

	if (!as_json) {
		printf("\nThreads, each pinned to a CPU of its own, and the same computed\n");
		printf("%33s%14s%27s%27s%27s\n", "", "", "64 B, ns", "64 B, GB/s", "8 KiB, GB/s");
		printf("%-9s%6s%9s%9s%14s", "ni", "units", "set has", "workers", "applications'");
		for (i = 0; i < 3; i++)
			printf("%9s%10s%8s", "measured", "computed", "ratio");
		putchar('\n');
	}
	for (i = 0; i < ARRAY_SIZE(organisations); i++)
		if (chosen(&organisations[i]))
			threads_of(&organisations[i]);
}

/* ---- between two nodes ---- */

static void between_one(u32 op, u32 size, u32 outstanding)
{
	struct load l = { .ni = "fused", .units = 1, .rrpps = 1, .frontends = 1, .kernels = true,
			  .one_way = true, .apps = 1, .op = op, .size = size,
			  .outstanding = outstanding };
	const char *name = op == RMC_OP_READ ? "read" : "write";
	struct load_result r;

	load_computed(&l, handoff, &r);
	if (!as_json) {
		printf("%-6s%7u%10u%10.0f%10.2f%10.2f   %s %.0f %%\n", name, size, outstanding,
		       r.ns, r.rate, r.rate * size / 1000, r.busiest, r.used * 100);
		return;
	}
	json_row("between", &l, name);
	json_load(&l);
	json_string(&out, "path", "packets");
	json_double(&out, "t_typical_usec", r.ns / 1000);
	json_double(&out, "mops", r.rate);
	json_double(&out, "bw_typical_bytes_per_sec", r.rate * size * 1e6);
	json_string(&out, "busiest", r.busiest);
	json_double(&out, "used", r.used);
	json_uint(&out, "preempted", r.preempted);
	json_end_object(&out);
}

/* The sizes and numbers of rmc-bench */
static void between(void)
{
	static const u32 sizes[] = { 64, 256, 1024, 4096, 8192 }, flights[] = { 4, 16, 32, 64, 128 };
	u32 op, i;

	if (!as_json) {
		printf("\nOne node accesses the other, a worker each, computed: a CPU for each worker and the application\n");
		printf("%-6s%7s%10s%10s%10s%10s   busiest\n", "", "bytes", "in flight", "ns each",
		       "M/s", "GB/s");
	}
	for (op = RMC_OP_READ; op <= RMC_OP_WRITE; op++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			between_one(op, sizes[i], 1);
			between_one(op, sizes[i], 32);
		}
	for (i = 0; i < ARRAY_SIZE(flights); i++)
		if (flights[i] != 32)
			between_one(RMC_OP_READ, SMALL, flights[i]);
}

/* ---- main ---- */

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "computed", computed }, { "threads", threads }, { "between", between },
};

/* Half a line's round trip between two CPUs, ns. Needs a worker as the other end. */
static double half_pingpong(void)
{
	double v[RUNS];
	int i;

	bench_finer = 20;
	bench_init(&load.b, 2, "fused", RMC_MTU_DEFAULT);
	testbed_start(&load.b.w, load_cpu + 1, false);
	for (i = 0; i < RUNS; i++)
		v[i] = bench_pingpong(&load.b);
	bench_fini(&load.b);
	bench_finer = 1;
	return bench_median(v, RUNS) / 2;
}

static void begin(void)
{
	half_ns = half_pingpong();
	load_ns_per_tick = bench_ns_per_tick();
	load_begin_second();
	handoff = load_handoff(half_ns, &miss_ns);
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_int(&out, "cpus", load_cpus);
		json_string(&out, "visits", load_one_cpu ? "one CPU" : "two CPUs");
		json_double(&out, "line_ping_pong_usec", 2 * half_ns / 1000);
		json_double(&out, "miss_usec", miss_ns / 1000);
		json_double(&out, "handoff_usec", handoff * load_ns_per_tick / 1000);
		json_uint(&out, "segment_bytes", bench_bytes / NI_TIME_NODES);
		json_uint(&out, "mtu", RMC_MTU_DEFAULT);
		json_array(&out, "rows");
		return;
	}
	printf("Two nodes read random places of each other's %lu MiB, in packets, MTU %d, with their own workers.\n",
	       SEGMENT >> 20, RMC_MTU_DEFAULT);
	printf("Bandwidth: %u applications of each, %d reads in flight of each application. Workers: of both.\n",
	       apps, BENCH_ENTRIES);
	printf("Visits were timed on %s. Half a line's round trip: %.0f ns, of which %.0f are in visits.\n",
	       load_one_cpu ? "one CPU" : "two CPUs", half_ns, miss_ns);
}

static int usage(FILE *to)
{
	fputs("usage: ni_bench [OPTION ...] [computed] [threads] [between]\n"
	      "NI organisations beside each other (Documentation/ni.rst); default: computed threads\n"
	      "  --quick            fewer windows\n"
	      "  --json             as JSON\n"
	      "  --one-cpu          time all visits on one CPU, where lines do not move\n"
	      "  --apps N           applications of each node, 1 to 8 (8)\n"
	      "  --rrpps N          per_tile: RRPPs, a power of two (as many as units)\n"
	      "  --frontends N      split: of each unit (one for each application)\n"
	      "  --sizes FROM,TO    powers of two, 64 to 16384 (64,16384)\n"
	      "  --only NI[,UNITS]  this organisation\n", to);
	return to == stderr ? 2 : 0;
}

static bool number(u32 *to, const char *word, u32 least, u32 most)
{
	char *end;

	*to = strtoul(word, &end, 10);
	return end != word && !*end && *to >= least && *to <= most;
}

static bool power(u32 n)
{
	return n && !(n & (n - 1));
}

static bool set_sizes(char *words)
{
	char *to = strchr(words, ',');

	if (to)
		*to++ = 0;
	return number(&first, words, SMALL, LOAD_SIZE) &&
	       number(&last, to ?: words, first, LOAD_SIZE) && power(first) && power(last);
}

static bool set_only(char *words)
{
	char *units = strchr(words, ',');

	if (units)
		*units++ = 0;
	only = words;
	return rmc_ni_find(only) && (!units || number(&only_units, units, 1, RMC_MAX_UNITS));
}

/* Returns -1: go on */
static int options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "quick", no_argument, NULL, 'q' }, { "json", no_argument, NULL, 'j' },
		{ "one-cpu", no_argument, NULL, '1' }, { "apps", required_argument, NULL, 'a' },
		{ "rrpps", required_argument, NULL, 'r' }, { "help", no_argument, NULL, 'h' },
		{ "frontends", required_argument, NULL, 'f' },
		{ "sizes", required_argument, NULL, 's' }, { "only", required_argument, NULL, 'o' },
		{ 0 }
	};
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		switch (c) {
		case 'q': bench_quick = true; break;
		case 'j': as_json = true; break;
		case '1': load_one_cpu = true; break;
		case 'a': ok = number(&apps, optarg, 1, LOAD_APPS); break;
		case 'r': ok = number(&rrpps, optarg, 1, RMC_MAX_UNITS) && power(rrpps); break;
		case 'f': ok = number(&frontends, optarg, 1, LOAD_APPS); break;
		case 's': ok = set_sizes(optarg); break;
		case 'o': ok = set_only(optarg); break;
		case 'h': return usage(stdout);
		default: ok = false;
		}
	}
	return ok ? -1 : usage(stderr);
}

static const struct part *part_of(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(parts[i].name, name))
			return &parts[i];
	return NULL;
}

int main(int argc, char **argv)
{
	int status = options(argc, argv), i;

	if (status >= 0)
		return status;
	for (i = optind; i < argc; i++)
		if (!part_of(argv[i]))
			return usage(stderr);
	sched_getaffinity(0, sizeof(load_allowed), &load_allowed);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &load_allowed))
			load_cpu[load_cpus++] = i;
	if (bench_setup(NI_TIME_NODES * SEGMENT) < 2 || load_cpus < 2)
		return 4;
	begin();
	for (i = optind; i < argc; i++)
		part_of(argv[i])->run();
	if (optind == argc) {
		computed();
		threads();
	}
	load_end_second();
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
		putchar('\n');
	}
	return unequal ? 1 : 0;
}
