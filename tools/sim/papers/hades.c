// SPDX-License-Identifier: GPL-2.0
/*
 * sim-hades: the evaluation of HADES in virtual time (Documentation/tx-figures.rst). Each part is a
 * figure of the paper, or what it leaves open; all is a model (hades.h).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "hades_run.h"

struct hd_constants hd = {
#define HD_FIELD(name, value, unit, source) .name = value,
#define PUBLISHED	HD_FIELD
#define MEASURED	HD_FIELD
#define ASSUMED		HD_FIELD
#include "hades.def"
#undef PUBLISHED
#undef MEASURED
#undef ASSUMED
#undef HD_FIELD
};

static const struct constant {
	const char *name, *provenance, *unit, *source;
	uint32_t *at, value;
} constants[] = {
#define PUBLISHED(name, value, unit, source) { #name, "published", unit, source, &hd.name, value },
#define MEASURED(name, value, unit, source) { #name, "measured", unit, source, &hd.name, value },
#define ASSUMED(name, value, unit, source) { #name, "assumed", unit, source, &hd.name, value },
#include "hades.def"
};

#define CONSTANTS	(sizeof(constants) / sizeof(constants[0]))

static struct json out;
static bool as_json, quick;
static const char *only;		/* --program */
static unsigned int patience;
static uint64_t seed = 1;

static void row(const char *part, const char *program, unsigned int n, const char *series,
		double value, const char *unit)
{
	static const char *const names[] = { "part", "nodes" };
	char text[64];

	snprintf(text, sizeof(text), "%s: %s", series, program);
	if (!as_json) {
		printf("%-10s %3u  %-40s %14.4f %s\n", part, n, text, value, unit);
		fflush(stdout);
		return;
	}
	json_figure_row(&out, names, part, 0, n, text, value, unit);
}

static struct hd_setup setup(enum hd_system system, const char *program)
{
	return (struct hd_setup) {
		.system = system, .nodes = hd.nodes, .cores = hd.cores, .coroutines = hd.coroutines,
		.programs = 1, .program = { program }, .large = !quick, .us = quick ? 1000 : 10000,
		.seed = seed, .patience = patience,
	};
}

static const enum hd_system order[] = { HD_SW, HD_HADES_H, HD_HADES };

#define SYSTEMS	3

/* One run per system; extra work of SW-Impl is only SW-Impl's */
static void measure(struct hd_setup s, struct hd_result r[HD_SYSTEMS])
{
	unsigned int i;

	for (i = 0; i < SYSTEMS; i++) {
		s.system = order[i];
		hd_measure(&s, &r[order[i]]);
	}
}

static void throughput(const char *part, const char *program, unsigned int n,
		       const struct hd_result r[HD_SYSTEMS])
{
	unsigned int i;

	for (i = 0; i < SYSTEMS; i++)
		row(part, program, n, hd_system_name[order[i]],
		    r[order[i]].per_second / 1e6, "M/s");
	for (i = 1; i < SYSTEMS; i++) {
		char series[32];

		snprintf(series, sizeof(series), "%s / SW-Impl", hd_system_name[order[i]]);
		row(part, program, n, series, r[order[i]].per_second / r[HD_SW].per_second, "x");
	}
}

struct mean {
	double sum[HD_SYSTEMS], each[HD_SYSTEMS];	/* each: of mixes, of their programs */
	unsigned int n;
};

static void add_mean(struct mean *m, const struct hd_result r[HD_SYSTEMS])
{
	m->sum[HD_HADES] += r[HD_HADES].per_second / r[HD_SW].per_second;
	m->sum[HD_HADES_H] += r[HD_HADES_H].per_second / r[HD_SW].per_second;
	m->n++;
}

static void show_mean(const char *part, const char *name, unsigned int n, const struct mean *m)
{
	if (!m->n)
		return;
	row(part, name, n, "HADES-H / SW-Impl", m->sum[HD_HADES_H] / m->n, "x");
	row(part, name, n, "HADES / SW-Impl", m->sum[HD_HADES] / m->n, "x");
	if (!m->each[HD_HADES])
		return;
	row(part, name, n, "HADES-H / SW-Impl, each", m->each[HD_HADES_H] / m->n, "x");
	row(part, name, n, "HADES / SW-Impl, each", m->each[HD_HADES] / m->n, "x");
}

static void latencies(const char *program, const struct hd_result r[HD_SYSTEMS])
{
	static const char *const phase[HD_PHASES] = { "execution", "validation", "commit" };
	unsigned int i, k;
	char series[48];

	for (i = 0; i < SYSTEMS; i++) {
		const struct hd_result *x = &r[order[i]];

		for (k = 0; k < HD_PHASES; k++) {
			snprintf(series, sizeof(series), "%s, %s", hd_system_name[order[i]],
				 phase[k]);
			row("10", program, 0, series, x->phase_ns[k] / 1000, "us");
		}
		row("10", program, 0, hd_system_name[order[i]], x->mean_ns / 1000, "us");
		row("11", program, 0, hd_system_name[order[i]], x->p95_ns / 1000, "us");
	}
}

/* What transactions and filters were like, beside figure 9 */
static void details(const char *program, const struct hd_result r[HD_SYSTEMS])
{
	unsigned int i;

	for (i = 0; i < SYSTEMS; i++) {
		const struct hd_result *x = &r[order[i]];
		const char *name = hd_system_name[order[i]];

		row("details", program, 0, name, x->requests, "requests of an attempt");
		row("details", program, 0, name, (double)x->squashed / (double)(x->committed + 1),
		    "squashes of a committed one");
		row("details", program, 0, name, x->messages, "messages of a committed one");
		row("details", program, 0, name, (double)x->eager / (double)(x->committed + 1),
		    "eager squashes of a committed one");
		row("details", program, 0, name, (double)x->locked / (double)(x->committed + 1),
		    "accesses denied of a committed one");
		row("details", program, 0, name, (double)x->full, "refused for want of filters");
		row("details", program, 0, name, (double)x->most_read, "lines read at most");
		row("details", program, 0, name, (double)x->most_written, "lines written at most");
		if (order[i] == HD_SW)
			continue;
		row("details", program, 0, name, 100 * x->false_positives, "% false positives");
		row("details", program, 0, name, 100 * x->false_squashes,
		    "% of squashes by INTEND are for false positives");
		row("details", program, 0, name, x->pairs, "pairs of remote filters in use");
		row("details", program, 0, name, (double)x->pairs_most, "pairs at most");
		row("details", program, 0, name, (double)x->by_squashes[HD_SQUASHES],
		    "squashed 16 times or more");
		row("details", program, 0, name, (double)x->fallback, "committed with locks in advance");
		if (order[i] == HD_HADES)
			row("details", program, 0, name, x->tags,
			    "tags of a transaction that writes");
	}
}

static bool skipped(const char *program)
{
	return only && strcmp(only, program);
}

static void figure_9(void)
{
	struct mean mean = { .n = 0 }, other = { .n = 0 };
	struct hd_result r[HD_SYSTEMS];
	unsigned int i;

	for (i = 0; hd_all_programs[i]; i++) {
		if (skipped(hd_all_programs[i]))
			continue;
		measure(setup(HD_SW, hd_all_programs[i]), r);
		throughput("9", hd_all_programs[i], hd.nodes, r);
		latencies(hd_all_programs[i], r);
		details(hd_all_programs[i], r);
		/* all programs are the paper's but one, which is in the place of TPC-C then */
		if (strcmp(hd_all_programs[i], "TPC-C-NP"))
			add_mean(&mean, r);
		if (strcmp(hd_all_programs[i], "TPC-C"))
			add_mean(&other, r);
	}
	show_mean("9", "mean", hd.nodes, &mean);
	show_mean("9", "mean, TPC-C-NP for TPC-C", hd.nodes, &other);
}

static const char *const few[] = { "TATP", "HT-wA" };

#define FEW	2

/* All workloads but the first, whose other form is the second; some of the quick figure */
static const char *nth(unsigned int i)
{
	return quick ? (i < FEW ? few[i] : NULL) : hd_all_programs[1 + i];
}

static void figure_12a(void)
{
	const uint32_t rtt = hd.rtt;
	struct hd_result r[HD_SYSTEMS];
	unsigned int us, i;

	for (us = 1; us <= 3; us++) {
		struct mean mean = { .n = 0 };

		hd.rtt = us * 1000000;
		for (i = 0; nth(i); i++) {
			measure(setup(HD_SW, nth(i)), r);
			throughput("12a", nth(i), us, r);
			add_mean(&mean, r);
		}
		show_mean("12a", "mean", us, &mean);
	}
	hd.rtt = rtt;
}

static void figure_12b(void)
{
	static const unsigned int percent[] = { 20, 50, 80 };
	struct hd_result r[HD_SYSTEMS];
	unsigned int k, i;

	for (k = 0; k < 3; k++) {
		struct mean mean = { .n = 0 };

		for (i = 0; nth(i); i++) {
			struct hd_setup s = setup(HD_SW, nth(i));

			s.local = 1 + percent[k];
			measure(s, r);
			throughput("12b", nth(i), percent[k], r);
			add_mean(&mean, r);
		}
		show_mean("12b", "mean", percent[k], &mean);
	}
}

static void figure_13(void)
{
	struct hd_result r[HD_SYSTEMS];
	struct mean mean = { .n = 0 };
	unsigned int i;

	for (i = 0; nth(i); i++) {
		struct hd_setup s = setup(HD_SW, nth(i));

		s.nodes = 10;
		measure(s, r);
		throughput("13", nth(i), 10, r);
		add_mean(&mean, r);
	}
	show_mean("13", "mean", 10, &mean);
}

/* Mean of what each program gains, which the total is not: one may have most of it */
static void each_program(const char *part, const char *name, unsigned int number,
			 unsigned int programs, const struct hd_result r[HD_SYSTEMS],
			 struct mean *mean)
{
	unsigned int i, k;

	for (i = 1; i < SYSTEMS; i++) {
		double sum = 0;
		char series[40];

		for (k = 0; k < programs; k++)
			sum += r[order[i]].program[k] / r[HD_SW].program[k];
		snprintf(series, sizeof(series), "%s / SW-Impl, each", hd_system_name[order[i]]);
		row(part, name, number, series, sum / programs, "x");
		mean->each[order[i]] += sum / programs;
	}
}

/* Several programs, each on its cores of every node */
static void mix(const char *part, unsigned int number, struct hd_setup s, struct mean *mean)
{
	struct hd_result r[HD_SYSTEMS];
	char name[16];

	measure(s, r);
	snprintf(name, sizeof(name), "mix %u", number);
	throughput(part, name, number, r);
	each_program(part, name, number, s.programs, r, mean);
	add_mean(mean, r);
}

static void figure_14(void)
{
	static const char *const pairs[][2] = {
		{ "HT-wA", "TATP" }, { "Map-wA", "Smallbank" }, { "B+Tree-wB", "HT-wB" },
		{ "TPC-C", "TATP" }, { "TPC-C", "HT-wA" }, { "Smallbank", "Map-wB" },
	};
	struct mean mean = { .n = 0 };
	unsigned int i;

	for (i = 0; i < (quick ? 2 : 6); i++) {
		struct hd_setup s = setup(HD_SW, pairs[i][0]);

		s.cores = 10;
		s.programs = 2;
		s.program[1] = pairs[i][1];
		mix("14", i + 1, s, &mean);
	}
	show_mean("14", "mean", 10, &mean);
}

/* Table V */
static void figure_15(void)
{
	static const char *const mixes[8][4] = {
		{ "HT-wA", "BTree-wA", "Map-wA", "TATP" },
		{ "Map-wA", "TATP", "B+Tree-wB", "Map-wB" },
		{ "B+Tree-wA", "Map-wB", "Smallbank", "BTree-wB" },
		{ "Smallbank", "BTree-wB", "TPC-C", "TATP" },
		{ "TPC-C", "HT-wB", "Smallbank", "BTree-wA" },
		{ "B+Tree-wB", "Smallbank", "TPC-C", "TATP" },
		{ "TPC-C", "TATP", "BTree-wB", "Map-wA" },
		{ "BTree-wB", "Map-wA", "HT-wA", "BTree-wA" },
	};
	struct mean mean = { .n = 0 };
	unsigned int i;

	for (i = 0; i < (quick ? 1 : 8); i++) {
		struct hd_setup s = setup(HD_SW, mixes[i][0]);

		s.nodes = 8;
		s.cores = 25;
		s.programs = 4;
		s.us = quick ? 300 : 1500;
		memcpy(s.program, mixes[i], sizeof(s.program));
		mix("15", i + 1, s, &mean);
	}
	show_mean("15", "mean", 200, &mean);
}

/* All requests at the own node (section VIII-C): lines that leave the LLC */
static void evictions(void)
{
	struct hd_result r;
	unsigned int i;

	for (i = 0; nth(i); i++) {
		struct hd_setup s = setup(HD_HADES, nth(i));

		s.nodes = 1;
		hd_measure(&s, &r);
		row("evictions", nth(i), 1, "HADES", 100 * (double)r.evicted /
		    (double)(r.committed + r.squashed + 1), "% of transactions squashed");
		row("evictions", nth(i), 1, "HADES", 100 * r.false_positives, "% false positives");
	}
}

/* Sizes of the structures (table III, section VI), bits of kmod/tx and of <linux/rmc_tx.h> */
static void table_3(void)
{
	static const struct {
		unsigned int nodes, cores, m, remote;
	} cluster[] = { { 5, 5, 2, 4 }, { 90, 16, 2, 5 } };
	const double core = (1024 + 512 + 4096) / 8.0, nic = 2 * 1024 / 8.0, entry = 90;
	unsigned int i, bits;

	row("table3", "pair of core filters", 0, "bytes", core, "B");
	row("table3", "pair of NIC filters", 0, "bytes", nic, "B");
	for (i = 0; i < 2; i++) {
		unsigned int slots = cluster[i].cores * cluster[i].m;

		for (bits = 0; 1U << bits < slots; bits++)
			;
		row("table3", "core", cluster[i].nodes, "node", slots * core / 1000, "KB");
		row("table3", "tag", cluster[i].nodes, "line", bits, "bits");
		row("table3", "NIC", cluster[i].nodes, "node",
		    (slots * cluster[i].remote * nic + slots * entry) / 1000, "KB");
	}
}

/* What the paper leaves open */
static void sweep(void)
{
	static const uint32_t buffers[] = { 1, 2, 4, 8, 16, 32 }, bytes[] = { 64, 256, 1000 };
	const struct hd_constants before = hd;
	struct hd_result r[HD_SYSTEMS];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		hd.buffers = buffers[i];
		measure(setup(HD_SW, "HT-wA"), r);
		throughput("buffers", "HT-wA", buffers[i], r);
	}
	hd = before;
	for (i = 0; i < 3; i++) {
		hd.record_bytes = bytes[i];
		measure(setup(HD_SW, "HT-wA"), r);
		throughput("bytes", "HT-wA", bytes[i], r);
	}
	hd = before;
}

/* After how many squashes a transaction locks in advance: the paper does not say */
static void give_in(void)
{
	static const unsigned int squashes[] = { 4, 8, 16, 32, 64, HD_NEVER };
	static const char *const programs[] = { "HT-wA", "TPC-C-NP", "TPC-C" };
	struct hd_result r[HD_SYSTEMS];
	unsigned int i, k;

	for (k = 0; k < (quick ? 1 : 3); k++)
		for (i = 0; i < 6; i++) {
			struct hd_setup s = setup(HD_SW, programs[k]);

			s.patience = squashes[i];
			measure(s, r);
			throughput("patience", programs[k], squashes[i] == HD_NEVER ? 0 :
				   squashes[i], r);
			row("patience", programs[k], squashes[i] == HD_NEVER ? 0 : squashes[i],
			    "HADES, p95", r[HD_HADES].p95_ns / 1000, "us");
		}
}

/* Intend-to-commit of all transactions, also where nothing is left to be asked */
static void as_printed(void)
{
	struct hd_result r[HD_SYSTEMS];
	unsigned int i;

	for (i = 0; nth(i); i++) {
		struct hd_setup s = setup(HD_SW, nth(i));

		s.as_printed = true;
		measure(s, r);
		throughput("printed", nth(i), hd.nodes, r);
	}
}

/* How much more software of each record would make SW-Impl as slow as the paper has it */
static void needed(void)
{
	static const double printed[HD_SYSTEMS] = { [HD_HADES] = 2.7, [HD_HADES_H] = 2.3 };
	const uint32_t before = hd.extra;
	struct hd_result fixed, sw;
	unsigned int i, k, step;

	for (i = 0; nth(i); i++)
		for (k = 1; k < SYSTEMS; k++) {
			struct hd_setup s = setup(order[k], nth(i));
			uint32_t low = 0, high = 8000000;

			hd_measure(&s, &fixed);
			s.system = HD_SW;
			for (step = 0; step < (quick ? 4 : 6); step++) {
				hd.extra = low + (high - low) / 2;
				hd_measure(&s, &sw);
				if (fixed.per_second / sw.per_second < printed[order[k]])
					low = hd.extra;
				else
					high = hd.extra;
			}
			row("needed", nth(i), 0, hd_system_name[order[k]],
			    (low + (high - low) / 2) / 1000.0, "ns of a record");
		}
	hd.extra = before;
}

/* Data of each workload are consistent after a run of each system */
static void sums(void)
{
	struct hd_result r;
	unsigned int i, k;
	int wrong = 0;

	for (i = 0; hd_all_programs[i]; i++)
		for (k = 0; k < SYSTEMS && !skipped(hd_all_programs[i]); k++) {
			struct hd_setup s = setup(order[k], hd_all_programs[i]);

			s.sums = true;
			s.us = 300;
			s.reads = true;
			hd_measure(&s, &r);
			row("sums", hd_all_programs[i], 0, hd_system_name[order[k]],
			    (double)r.committed, r.wrong ? "INCONSISTENT" : "consistent");
			if (patience)
				row("sums", hd_all_programs[i], 0, hd_system_name[order[k]],
				    (double)r.fallback, "of these with locks in advance");
			wrong |= r.wrong != NULL;
		}
	if (wrong)
		exit(1);
}

/* Validation of transactions that nobody is in the way of, in round trips */
static void rounds(void)
{
	static const unsigned int nodes[] = { 2, 5, 10 };
	struct hd_result r;
	unsigned int i, k;
	double trips;
	bool wrong = false;

	for (i = 0; i < 3; i++)
		for (k = 0; k < SYSTEMS; k++) {
			struct hd_setup s = setup(order[k], "HT-wA");

			s.nodes = nodes[i];
			s.cores = 1;
			s.coroutines = 1;
			hd_measure(&s, &r);
			trips = r.phase_ns[HD_VALIDATION] * 1000 / hd.rtt;
			row("rounds", "HT-wA", nodes[i], hd_system_name[order[k]], trips,
			    "round trips of validation");
			wrong |= order[k] != HD_SW && trips > 1.15;
		}
	if (wrong)
		exit(1);
}

static const struct part {
	const char *name;
	void (*run)(void);
	bool asked;			/* only if it is named */
} parts[] = {
	{ "9", figure_9, false }, { "12a", figure_12a, false }, { "12b", figure_12b, false },
	{ "13", figure_13, false }, { "14", figure_14, false }, { "15", figure_15, false },
	{ "evictions", evictions, false }, { "table3", table_3, false }, { "sweep", sweep, false },
	{ "needed", needed, false }, { "patience", give_in, false },
	{ "printed", as_printed, false }, { "sums", sums, true },
	{ "rounds", rounds, true }, { NULL },
};

/* FNV-1a over names and values of hades.def */
static uint64_t digest(void)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	const char *p;
	unsigned int i;
	char text[64];

	for (i = 0; i < CONSTANTS; i++) {
		snprintf(text, sizeof(text), "%s=%u;", constants[i].name, constants[i].value);
		for (p = text; *p; p++)
			h = (h ^ (uint8_t)*p) * 0x100000001b3ULL;
	}
	return h;
}

static void print_constants(void)
{
	char text[32];
	unsigned int i;

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)digest());
	json_string(&out, "constants", text);
	json_array(&out, "costs");
	for (i = 0; i < CONSTANTS; i++) {
		json_object(&out, NULL);
		json_string(&out, "name", constants[i].name);
		json_uint(&out, "value", *constants[i].at);
		json_string(&out, "unit", constants[i].unit);
		json_string(&out, "provenance", constants[i].provenance);
		json_string(&out, "source", constants[i].source);
		json_end_object(&out);
	}
	json_end_array(&out);
}

static bool set_constant(const char *text)
{
	const char *value = strchr(text, '=');
	unsigned int i;

	for (i = 0; value && i < CONSTANTS; i++)
		if (!strncmp(constants[i].name, text, (size_t)(value - text)) &&
		    !constants[i].name[value - text]) {
			*constants[i].at = (uint32_t)strtoul(value + 1, NULL, 10);
			fprintf(stderr, "# not the committed one: %s\n", text);
			return true;
		}
	return false;
}

static int usage(int status)
{
	const struct part *p;

	fprintf(status ? stderr : stdout,
		"usage: sim-hades [--json] [--quick] [--seed N] [--set CONSTANT=N]\n"
		"	[--program NAME] [--patience SQUASHES] [--digest] [PART ...]\n"
		"parts:");
	for (p = parts; p->name; p++)
		fprintf(status ? stderr : stdout, " %s", p->name);
	fputs("\nA model, in virtual time: the same output each time.\n", status ? stderr : stdout);
	return status;
}

static bool wanted(int argc, char **argv, const struct part *p)
{
	int i;

	for (i = optind; i < argc; i++)
		if (!strcmp(argv[i], p->name))
			return true;
	return optind == argc && !p->asked;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "quick", no_argument, NULL, 'q' },
		{ "seed", required_argument, NULL, 'n' }, { "program", required_argument, NULL, 'p' },
		{ "patience", required_argument, NULL, 'k' }, { "set", required_argument, NULL, 's' },
		{ "digest", no_argument, NULL, 'd' }, { "help", no_argument, NULL, 'h' }, { },
	};
	const struct part *p;
	int c;

	while ((c = getopt_long(argc, argv, "jqn:p:k:s:dh", options, NULL)) != -1)
		if (c == 'j') {
			as_json = true;
		} else if (c == 'q') {
			quick = true;
		} else if (c == 'p') {
			only = optarg;
		} else if (c == 'k') {
			patience = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (c == 'n') {
			seed = strtoull(optarg, NULL, 10);
		} else if (c == 'd') {
			printf("%016llx\n", (unsigned long long)digest());
			return 0;
		} else if (c != 's' || !set_constant(optarg)) {
			return usage(c == 'h' ? 0 : 2);
		}
	if (as_json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_string(&out, "path", "model");
		json_string(&out, "profile", "hades");
		json_uint(&out, "seed", seed);
		print_constants();
		json_array(&out, "rows");
	}
	for (p = parts; p->name; p++)
		if (wanted(argc, argv, p))
			p->run();
	if (as_json) {
		json_end_array(&out);
		json_end_object(&out);
	}
	return 0;
}
