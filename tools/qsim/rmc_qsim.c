/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_qsim: queueing systems of X queues with Y servers each, and dispatch policies, under Poisson
 * arrivals (T18 section 5.1: figure 5.3, table 5.1). Needs no RMC.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "load.h"
#include "opt.h"
#include "progress.h"

#define USAGE	"rmc_qsim [OPTION...] COMMAND\n" \
		"       commands: peak (highest load under the limit of the tail latency),\n" \
		"                 curve (latency against load),\n" \
		"                 service (the service times), policies (their names)"
#define LIST_MAX	32
#define LOADS		19
#define NS_MAX		1000000

static struct {
	const char *services, *systems, *policies;
	int cores, groups, depth, loop_ns, base_ns, extra_ns, limit, permille, seed, json, quiet;
	uint64_t messages;
} o = {
	.services = "fixed,uniform,exponential,gev", .base_ns = 300, .extra_ns = 300, .limit = 10,
	.permille = 990, .seed = 1, .messages = 300000, .loop_ns = -1,
};

static const struct opt options[] = {
	{ 's', "service", OPT_STRING, &o.services, 0, 0, "NAME,...",
	  "distributions of service times: fixed, uniform, exponential, gev (all)" },
	{ 'x', "system", OPT_STRING, &o.systems, 0, 0, "XxY,...",
	  "X queues with Y servers each (1x16,2x8,4x4,8x2,16x1)" },
	{ 'p', "policy", OPT_STRING, &o.policies, 0, 0, "NAME,...",
	  "dispatch policies instead of systems; see: rmc_qsim policies" },
	{ 'c', "cores", OPT_INT, &o.cores, 1, CORES_MAX, "N", "of a policy (16)" },
	{ 'g', "groups", OPT_INT, &o.groups, 1, CORES_MAX, "N",
	  "of cores, of groups and hier; classes, of class (4)" },
	{ 'd', "depth", OPT_INT, &o.depth, 1, DEPTH_MAX, "N",
	  "messages that a core may have, of a policy (1)" },
	{ 'l', "loop", OPT_INT, &o.loop_ns, 0, NS_MAX, "NS",
	  "from a core to the dispatcher and back, of a policy (0)" },
	{ 'b', "base", OPT_INT, &o.base_ns, 0, NS_MAX, "NS", "fixed part of a service time (300)" },
	{ 'e', "extra", OPT_INT, &o.extra_ns, 1, NS_MAX, "NS",
	  "mean of the part that is drawn (300)" },
	{ 't', "tail", OPT_INT, &o.permille, 1, 999, "PERMILLE", "percentile of latency (990)" },
	{ 0, "limit", OPT_INT, &o.limit, 1, 1000000, "N",
	  "of it, in multiples of the mean service time (10)" },
	{ 'n', "messages", OPT_SIZE, &o.messages, 1000, 100000000, "N",
	  "for each load; the first tenth does not count (300000)" },
	{ 0, "seed", OPT_INT, &o.seed, 0, INT32_MAX, "N", "of random numbers (1)" },
	{ 'q', "quiet", OPT_FLAG, &o.quiet, 0, 0, NULL, "no progress on standard error" },
	{ 'j', "json", OPT_FLAG, &o.json, 0, 0, NULL, "results as JSON" },
	{ 0, NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL },
};

struct named {
	char name[24];
	struct queueing x;
};

static struct named named[LIST_MAX];
static int systems;
static enum service_kind service[LIST_MAX];
static int services;
static struct json j;

/* ---- command line ---- */

/* Next word of a list with commas, or NULL; copies it to word */
static const char *next_word(const char **list, char *word, size_t len, const char *what)
{
	size_t n;

	if (!*list)
		return NULL;
	n = strcspn(*list, ",");
	if (!n || n >= len)
		die(EXIT_USAGE, "%s: a name is missing or too long in '%s'", what, *list);
	memcpy(word, *list, n);
	word[n] = 0;
	*list = (*list)[n] ? *list + n + 1 : NULL;
	return word;
}

static void add_named(const char *name, const struct queueing *x)
{
	if (systems == LIST_MAX)
		die(EXIT_USAGE, "at most %d systems or policies", LIST_MAX);
	snprintf(named[systems].name, sizeof(named[0].name), "%s", name);
	named[systems++].x = *x;
}

/* "4x4": a number of 1 .. SERVERS_MAX, x, another one; both without a sign. 0 or -1 */
static int parse_system(const char *word, struct queueing *x)
{
	char *end;

	if (strspn(word, "0123456789x") != strlen(word) || strlen(word) > 9 || *word == 'x')
		return -1;
	x->queues = (unsigned int)strtoul(word, &end, 10);
	if (*end != 'x' || end[1] == 'x')
		return -1;
	x->servers = (unsigned int)strtoul(end + 1, &end, 10);
	if (*end || !x->queues || !x->servers || x->queues > SERVERS_MAX ||
	    x->servers > SERVERS_MAX || x->queues * x->servers > SERVERS_MAX)
		return -1;
	return 0;
}

static void parse_systems(void)
{
	const char *list = o.systems ? o.systems : "1x16,2x8,4x4,8x2,16x1";
	char word[24];

	if (o.cores || o.groups || o.depth || o.loop_ns >= 0)
		die(EXIT_USAGE, "--cores, --groups, --depth and --loop are of a --policy");
	while (next_word(&list, word, sizeof(word), "--system")) {
		struct queueing x = { 0 };

		if (parse_system(word, &x))
			die(EXIT_USAGE, "--system %s: give queues x servers, such as 4x4, at most %d "
			    "servers in all", word, SERVERS_MAX);
		add_named(word, &x);
	}
}

static unsigned int groups_of(enum policy policy)
{
	if (policy != POLICY_groups && policy != POLICY_hier && policy != POLICY_class)
		return 1;
	if (o.groups > o.cores || o.cores % o.groups)
		die(EXIT_USAGE, "--groups %d does not divide %d cores", o.groups, o.cores);
	return (unsigned int)o.groups;
}

static void parse_policies(void)
{
	const char *list = o.policies;
	char word[24];

	if (o.systems)
		die(EXIT_USAGE, "give --system or --policy, not both");
	o.cores = o.cores ? o.cores : 16;
	o.groups = o.groups ? o.groups : 4;
	o.depth = o.depth ? o.depth : 1;
	o.loop_ns = o.loop_ns < 0 ? 0 : o.loop_ns;
	while (next_word(&list, word, sizeof(word), "--policy")) {
		int policy = policy_find(word);
		struct queueing x = { .host = {
			.cores = (unsigned int)o.cores, .depth = (unsigned int)o.depth,
			.loop = (uint64_t)o.loop_ns * PS_PER_NS,
			.seed = stream_seed((uint64_t)o.seed, 100),
		} };

		if (policy < 0)
			die(EXIT_USAGE, "--policy %s: there is none of this name; see: rmc_qsim policies",
			    word);
		x.host.policy = (enum policy)policy;
		x.host.groups = groups_of(x.host.policy);
		add_named(word, &x);
	}
}

static void parse_services(void)
{
	const char *list = o.services;
	char word[24];

	while (next_word(&list, word, sizeof(word), "--service")) {
		int kind = service_find(word);

		if (kind < 0)
			die(EXIT_USAGE, "--service %s: fixed, uniform, exponential or gev", word);
		if (services == LIST_MAX)
			die(EXIT_USAGE, "at most %d service times", LIST_MAX);
		service[services++] = (enum service_kind)kind;
	}
}

static struct service of_kind(enum service_kind kind)
{
	return (struct service){ kind, (uint64_t)o.base_ns * PS_PER_NS,
				 (uint64_t)o.extra_ns * PS_PER_NS, GEV_SHAPE };
}

static void out_of_memory(void)
{
	die(EXIT_FAILED, "out of memory: give fewer --messages");
}

static void progress(enum service_kind kind, int i)
{
	if (!o.quiet && progress_due(0))
		fprintf(stderr, "%s%s, %s%s", progress_begin(), service_name(kind), named[i].name,
			progress_end());
}

/* Times are picoseconds in 64 bits, also at the lowest load, with room for long service times. */
static void check_times(void)
{
	int loop_ns = o.loop_ns < 0 ? 0 : o.loop_ns;
	double last = (double)o.messages * (o.base_ns + o.extra_ns + loop_ns) * PS_PER_NS / LOAD_STEP;

	if (last > 0x1p62)
		die(EXIT_USAGE, "such times do not fit: give fewer --messages, or shorter times");
}

static unsigned int servers_of(const struct queueing *x)
{
	return x->queues ? x->queues * x->servers : x->host.cores;
}

/* ---- results ---- */

static void begin(const char *command)
{
	if (!o.json)
		return;
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc_qsim");
	json_string(&j, "command", command);
	json_int(&j, "base_ns", o.base_ns);
	json_int(&j, "extra_mean_ns", o.extra_ns);
	json_double(&j, "percentile", o.permille / 10.0);
	json_int(&j, "limit_mean_service_times", o.limit);
	json_uint(&j, "messages", o.messages);
	json_int(&j, "seed", o.seed);
	if (o.policies) {
		json_int(&j, "cores", o.cores);
		json_int(&j, "depth", o.depth);
		json_int(&j, "loop_ns", o.loop_ns);
		json_int(&j, "groups", o.groups);
	}
	json_array(&j, "rows");
}

static void end(void)
{
	if (!o.json)
		return;
	json_end_array(&j);
	json_end_object(&j);
}

/* Messages per second */
static double rate_of(int i, double load, double mean)
{
	return load * servers_of(&named[i].x) / (mean / PS_PER_NS) * 1e9;
}

/* @first: messages per second of the first system; 0 if it has no load within the limit */
static void peak_row(enum service_kind kind, int i, double load, double first, double mean)
{
	double rate = rate_of(i, load, mean), lost = first > 0 ? 1 - rate / first : NAN;

	if (!o.json) {
		printf("%-12s %-10s %6.3f%c %12.0f ", service_name(kind), named[i].name, load,
		       load >= HIGHEST ? '+' : ' ', rate);
		if (first > 0)
			printf("%7.1f%%\n", 100 * lost);
		else
			printf("%8s\n", "-");
		return;
	}
	json_object(&j, NULL);
	json_string(&j, "service", service_name(kind));
	json_string(&j, "system", named[i].name);
	json_double(&j, "load", load);
	json_bool(&j, "limit_reached", load < HIGHEST);
	json_double(&j, "messages_per_s", rate);
	json_double(&j, "lost", lost);
	json_end_object(&j);
}

static void peak_of(enum service_kind kind, struct trace *t)
{
	double load, first = 0;
	int i;

	for (i = 0; i < systems; i++) {
		progress(kind, i);
		if (highest_load(t, &named[i].x, (unsigned int)o.permille,
				 (uint64_t)(o.limit * t->mean), &load))
			out_of_memory();
		if (!i)
			first = rate_of(i, load, t->mean);
		peak_row(kind, i, load, first, t->mean);
	}
}

static void curve_row(enum service_kind kind, int i, double load, struct trace *t)
{
	double rate = rate_of(i, load, t->mean), sum = 0;
	size_t k, warm = t->n / 10;
	uint64_t p;

	for (k = warm; k < t->n; k++)
		sum += (double)t->latency[k];
	p = tail(t, (unsigned int)o.permille);
	if (!o.json) {
		printf("%-12s %-10s %5.2f %12.0f %10.1f %10.1f %8.2f\n", service_name(kind),
		       named[i].name, load, rate, sum / (double)(t->n - warm) / PS_PER_NS,
		       (double)p / PS_PER_NS, (double)p / t->mean);
		return;
	}
	json_object(&j, NULL);
	json_string(&j, "service", service_name(kind));
	json_string(&j, "system", named[i].name);
	json_double(&j, "load", load);
	json_double(&j, "messages_per_s", rate);
	json_double(&j, "mean_ns", sum / (double)(t->n - warm) / PS_PER_NS);
	json_double(&j, "tail_ns", (double)p / PS_PER_NS);
	json_double(&j, "tail_mean_service_times", (double)p / t->mean);
	json_end_object(&j);
}

static void curve_of(enum service_kind kind, struct trace *t)
{
	int i, k;

	for (i = 0; i < systems; i++) {
		for (k = 1; k <= LOADS + 4; k++) {
			/* 0.05 .. 0.95, 0.96 .. 0.99 */
			double load = k <= LOADS ? k * 0.05 : 0.95 + (k - LOADS) * 0.01;

			progress(kind, i);
			if (run_at(t, &named[i].x, load))
				out_of_memory();
			curve_row(kind, i, load, t);
		}
	}
}

/* The distribution that was drawn: percentiles, and the density in bins of a tenth of the mean */
static void service_of(enum service_kind kind, struct trace *t)
{
	static const unsigned int p[] = { 100, 500, 900, 990, 999 };
	static const char *const names[] = { "p10", "p50", "p90", "p99", "p99.9" };
	struct service s = of_kind(kind);
	double bin = t->mean / 10, sum = 0;
	size_t i, count[50] = { 0 };
	uint64_t at[5];

	for (i = 0; i < t->n; i++) {
		size_t k = (size_t)((double)t->m[i].service / bin);

		sum += (double)t->m[i].service;
		if (k < 50)
			count[k]++;
		t->latency[i] = t->m[i].service;
	}
	for (i = 0; i < 5; i++)
		at[i] = percentile(t->latency, t->n, p[i]);
	if (!o.json) {
		printf("%-12s %10.1f %10.1f", service_name(kind), sum / (double)t->n / PS_PER_NS,
		       sqrt(service_variance(&s)) / PS_PER_NS);
		for (i = 0; i < 5; i++)
			printf(" %9.1f", (double)at[i] / PS_PER_NS);
		printf("  %s\n", service_text(kind));
		return;
	}
	json_object(&j, NULL);
	json_string(&j, "service", service_name(kind));
	json_double(&j, "mean_ns", sum / (double)t->n / PS_PER_NS);
	json_double(&j, "deviation_of_distribution_ns", sqrt(service_variance(&s)) / PS_PER_NS);
	for (i = 0; i < 5; i++)
		json_double(&j, names[i], (double)at[i] / PS_PER_NS);
	json_double(&j, "bin_ns", bin / PS_PER_NS);
	json_array(&j, "density_per_ns");
	for (i = 0; i < 50; i++)
		json_double(&j, NULL, (double)count[i] / (double)t->n / (bin / PS_PER_NS));
	json_end_array(&j);
	json_end_object(&j);
}

static const struct {
	const char *name, *head;
	void (*run)(enum service_kind kind, struct trace *t);
} commands[] = {
	{ "peak", "service      system      load    messages/s     lost", peak_of },
	{ "curve", "service      system      load   messages/s    mean ns    tail ns    tail/S",
	  curve_of },
	{ "service", "service         mean ns   deviation       10%       50%       90%       99%"
	  "     99.9%", service_of },
};

static int list_policies(void)
{
	int i;

	for (i = 0; i < POLICY_COUNT; i++)
		printf("%-8s %s\n", policy_name((enum policy)i), policy_text((enum policy)i));
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	int i = opt_parse(argc, argv, options, USAGE), c;

	if (argc - i != 1)
		die(EXIT_USAGE, "give one command: peak, curve, service or policies");
	if (!strcmp(argv[i], "policies"))
		return list_policies();
	for (c = 0; c < 3 && strcmp(commands[c].name, argv[i]); c++)
		;
	if (c == 3)
		die(EXIT_USAGE, "there is no command '%s': peak, curve, service or policies", argv[i]);
	parse_services();
	if (o.policies)
		parse_policies();
	else
		parse_systems();
	check_times();
	begin(argv[i]);
	if (!o.json)
		puts(commands[c].head);
	for (i = 0; i < services; i++) {
		struct service s = of_kind(service[i]);
		struct trace t;

		if (trace_init(&t, &s, o.messages, (uint64_t)o.seed))
			out_of_memory();
		commands[c].run(service[i], &t);
		trace_destroy(&t);
	}
	end();
	if (fflush(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
	return EXIT_OK;
}
