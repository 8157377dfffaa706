// SPDX-License-Identifier: GPL-2.0
/*
 * T18 section 8.2, figures 8.3 to 8.5: who gets the next message, on a server with 16 cores and 199
 * peers. Computed: the module's dispatcher runs in virtual time (../harness/valet.h), cores and costs
 * are modelled.
 *
 *	8.3	99th percentile against rate: one queue, one for four cores, one for each core
 *	8.4	the same beside a queueing model without costs (tools/qsim)
 *	8.5	threads that take from one queue under a lock, instead of the dispatcher
 *
 * and the highest rate of each under the limit of the percentile.
 */
#include <getopt.h>
#include <math.h>
#include <string.h>
#include "tools/common/json.h"
#include "valet.h"

#define NODES		200
#define CALIBRATE	20000
#define NS		1000		/* ps */
#define LIMIT_NS	10000
#define LOADS		10
#define STEPS		8		/* of bisection */

enum { CHIP, SOFTWARE, MODELS };

/* Sources of constants, as in tools/sim/costs.def */
struct cost {
	const char *name, *kind, *source;
	u64 ps;
};

/* Cycles of 2 GHz */
#define CYCLES(n)	((n) * 500)

static struct cost chip[] = {
	{ "serve", "published", "T18 table 6.3, NI split: RRPP service, 208 cycles", CYCLES(208) },
	{ "give", "published", "T18 table 6.3: to the tile, frontend, CQ transfer: 23 + 8 + 5 cycles",
	  CYCLES(36) },
	{ "known", "published",
	  "T18 table 6.3: WQ entry, frontend, to the backend, RGP: 5 + 4 + 23 + 4 cycles", CYCLES(36) },
	{ "core", "published",
	  "T18 8.2: 10 us are ten times the unloaded service, of which 600 ns are drawn", 400 * NS },
	{ "packet", "assumed", "a dispatch in two cycles of a pipeline at 1 GHz", 2 * NS },
	{ "take", "assumed", "as packet", 2 * NS },
	{ "rest", "assumed", "no cost: other backends", 0 },
};

static struct cost software[] = {
	{ "serve", "assumed", "the packet is there when it has arrived", 0 },
	{ "give", "measured", "half a line's round trip, tools/sim/costs.def", 59 * NS },
	{ "known", "measured", "half a line's round trip, tools/sim/costs.def", 59 * NS },
	{ "core", "published", "as of the chip, so that the rates can be compared", 400 * NS },
	{ "packet", "measured", "median of this run, 16 peers: a visit of the NI worker with one message", 0 },
	{ "take", "measured", "median of this run, 16 peers: RGP, a reply of 512 B and a RECEIVE", 0 },
	{ "rest", "measured", "median of this run, 16 peers: a visit with two replies and a RECEIVE", 0 },
};

static struct cost *const table[MODELS] = { chip, software };
static const char *const model_name[MODELS] = { "chip", "software" };

#define COST_ROWS	ARRAY_SIZE(chip)

static struct valet_costs costs(const struct cost *c)
{
	return (struct valet_costs){ c[0].ps, c[1].ps, c[2].ps, c[3].ps, c[4].ps, c[5].ps, c[6].ps };
}

static struct valet v;
static struct trace t;
static u64 *latency;
static struct json out;
static u32 messages = 200000;

static int by_value(const void *a, const void *b)
{
	return (*(const u32 *)a > *(const u32 *)b) - (*(const u32 *)a < *(const u32 *)b);
}

/* ---- a run ---- */

static double mean_ps(const struct valet_costs *cost)
{
	return t.mean + cost->core;
}

/* Arrivals at a rate, in millions of messages per second */
static void arrive(double rate, u32 n)
{
	double at = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		at += t.gap[i] * 1e6 / rate;
		t.m[i].arrives = (u64)at;
	}
}

/* 99th percentile, us; INFINITY: more messages waited than there are slots */
static double percentile_at(const struct valet_system *s, const struct valet_costs *cost, double rate)
{
	u32 warm = messages / 10;
	bool ran;

	arrive(rate, messages);
	if (!valet_open(&v, s)) {
		fprintf(stderr, "valet_curves: %s: %s\n", s->name, v.wrong ?: "no domain");
		exit(1);
	}
	ran = valet_run(&v, cost, t.m, messages, latency);
	valet_close(&v);
	if (v.wrong) {
		fprintf(stderr, "valet_curves: %s: %s\n", s->name, v.wrong);
		exit(1);
	}
	return ran ? percentile(latency + warm, messages - warm, 990) / 1e6 : INFINITY;
}

/* The same of X x Y queues without costs, whose service has the cores' work in it */
static double model_at(u32 queues, const struct valet_costs *cost, double rate)
{
	u32 warm = messages / 10, i;

	arrive(rate, messages);
	for (i = 0; i < messages; i++)
		t.m[i].service += cost->core;
	queues_run(queues, VALET_CORES / queues, t.m, messages, latency);
	for (i = 0; i < messages; i++)
		t.m[i].service -= cost->core;
	return percentile(latency + warm, messages - warm, 990) / 1e6;
}

/* One of both */
static double at(const struct valet_system *s, u32 queues, const struct valet_costs *cost, double rate)
{
	return s ? percentile_at(s, cost, rate) : model_at(queues, cost, rate);
}

/* The highest rate under the limit */
static double peak(const struct valet_system *s, u32 queues, const struct valet_costs *cost)
{
	double low = 0, high = VALET_CORES * 1e6 / mean_ps(cost);
	int i;

	for (i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;

		if (at(s, queues, cost, middle) * 1000 <= LIMIT_NS)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void row(const char *costs_of, const char *series, const char *service)
{
	json_object(&out, NULL);
	json_string(&out, "costs", costs_of);
	json_string(&out, "series", series);
	json_string(&out, "service", service);
}

static void curve(const struct valet_system *s, u32 queues, const struct valet_costs *cost,
		  const char *costs_of, const char *series, const char *service)
{
	double most = VALET_CORES * 1e6 / mean_ps(cost), tail_us;
	int i;

	for (i = 1; i <= LOADS; i++) {
		tail_us = at(s, queues, cost, most * i / LOADS * 0.98);
		/* beyond the limit, and the plot */
		if (tail_us * 1000 > 3 * LIMIT_NS)
			break;
		row(costs_of, series, service);
		json_double(&out, "rate", most * i / LOADS * 0.98);
		json_double(&out, "p99_us", tail_us);
		json_end_object(&out);
	}
	row(costs_of, series, service);
	json_double(&out, "peak", peak(s, queues, cost));
	json_end_object(&out);
}

/* ---- what is compared ---- */

static const struct {
	struct valet_system s;
	u32 queues;
	u32 models;		/* bit of each that has it */
} systems[] = {
	{ { "1x16", RMC_DISPATCH_GREEDY, 1, 1 }, 1, 1 << CHIP | 1 << SOFTWARE },
	{ { "1x16, depth 2", RMC_DISPATCH_GREEDY, 1, 2 }, 0, 1 << SOFTWARE },
	{ { "4x4", RMC_DISPATCH_GROUPS, 4, 1 }, 4, 1 << CHIP },
	{ { "16x1", RMC_DISPATCH_STATIC, 1, 1 }, 16, 1 << CHIP },
	{ { "threads, lock 100 ns", RMC_DISPATCH_GREEDY, 1, 1, true, 100 * NS }, 0, 1 << CHIP },
	{ { "threads, lock 150 ns", RMC_DISPATCH_GREEDY, 1, 1, true, 150 * NS }, 0, 1 << CHIP },
	{ { "threads, lock 200 ns", RMC_DISPATCH_GREEDY, 1, 1, true, 200 * NS },
	  0, 1 << CHIP },
};

static void all_of(u32 model, enum service_kind kind, const struct valet_costs *cost)
{
	const char *service = service_name(kind);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(systems); i++) {
		if (!(systems[i].models >> model & 1))
			continue;
		curve(&systems[i].s, 0, cost, model_name[model], systems[i].s.name, service);
		if (model == CHIP && systems[i].queues)
			curve(NULL, systems[i].queues, cost, "none", systems[i].s.name, service);
	}
}

/* The worker's measured time by number of peers, ns */
static struct work {
	u32 peers;
	double ns[3];
} work[] = { { 16 }, { 64 }, { NODES - 1 } };

/* Medians, with messages on half of the cores. */
static void measure(struct work *w)
{
	const struct service s = { SERVICE_fixed, 300 * NS, 300 * NS, GEV_SHAPE };
	struct valet_costs cost = costs(chip);
	u32 all = messages, i;

	messages = CALIBRATE;
	if (trace_init(&t, &s, messages, 1))
		exit(1);
	valet_init(&v, w->peers + 1);
	for (i = 0; i < 3; i++)
		v.sample[i] = calloc(messages, sizeof(u32));
	latency = calloc(messages, sizeof(*latency));
	v.room = messages;
	percentile_at(&systems[0].s, &cost, 8);
	for (i = 0; i < 3; i++) {
		qsort(v.sample[i], v.samples[i], sizeof(u32), by_value);
		/* with the clock's own time: some 25 ns */
		w->ns[i] = v.sample[i][v.samples[i] / 2];
		free(v.sample[i]);
	}
	free(latency);
	valet_fini(&v);
	trace_destroy(&t);
	messages = all;
}

static void calibrate(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(work); i++)
		measure(&work[i]);
	for (i = 0; i < 3; i++)
		software[4 + i].ps = work[0].ns[i] * NS;
}

static void show_work(void)
{
	u32 i;

	json_array(&out, "work");
	for (i = 0; i < ARRAY_SIZE(work); i++) {
		json_object(&out, NULL);
		json_uint(&out, "peers", work[i].peers);
		json_double(&out, "packet_ns", work[i].ns[0]);
		json_double(&out, "take_ns", work[i].ns[1]);
		json_double(&out, "rest_ns", work[i].ns[2]);
		json_end_object(&out);
	}
	json_end_array(&out);
}

static void show_costs(void)
{
	u32 m, i;

	json_array(&out, "costs");
	for (m = 0; m < MODELS; m++)
		for (i = 0; i < COST_ROWS; i++) {
			json_object(&out, NULL);
			json_string(&out, "costs", model_name[m]);
			json_string(&out, "name", table[m][i].name);
			json_double(&out, "ns", table[m][i].ps / 1e3);
			json_string(&out, "kind", table[m][i].kind);
			json_string(&out, "source", table[m][i].source);
			json_end_object(&out);
		}
	json_end_array(&out);
}

static void usage(FILE *to)
{
	fputs("usage: valet_curves [--quick] [--messages N]\n"
	      "Figures 8.3 to 8.5 of T18, computed: as JSON, rates in millions of messages per second.\n",
	      to);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "messages", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	static const enum service_kind kinds[] = {
		SERVICE_fixed, SERVICE_uniform, SERVICE_exponential, SERVICE_gev
	};
	u32 k, m;
	int c;

	while ((c = getopt_long(argc, argv, "qm:h", options, NULL)) >= 0) {
		switch (c) {
		case 'q':
			messages = 20000;
			break;
		case 'm':
			messages = strtoul(optarg, NULL, 0);
			if (messages >= 1000 && messages <= 10000000)
				break;
			fputs("valet_curves: from 1000 to 10000000 messages\n", stderr);
			return 2;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	calibrate();
	valet_init(&v, NODES);
	latency = calloc(messages, sizeof(*latency));
	json_init(&out, stdout);
	json_object(&out, NULL);
	json_uint(&out, "messages", messages);
	json_uint(&out, "cores", VALET_CORES);
	json_uint(&out, "peers", NODES - 1);
	json_double(&out, "limit_us", LIMIT_NS / 1e3);
	show_costs();
	show_work();
	json_array(&out, "rows");
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		const struct service s = { kinds[k], 300 * NS, 300 * NS, GEV_SHAPE };

		if (trace_init(&t, &s, messages, 1))
			return 1;
		for (m = 0; m < MODELS; m++) {
			struct valet_costs cost = costs(table[m]);

			all_of(m, kinds[k], &cost);
		}
		trace_destroy(&t);
	}
	json_end_array(&out);
	json_end_object(&out);
	putchar('\n');
	free(latency);
	valet_fini(&v);
	return 0;
}
