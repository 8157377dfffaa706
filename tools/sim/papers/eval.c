// SPDX-License-Identifier: GPL-2.0
/* Command line and results of the programs that evaluate the papers in virtual time. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/error.h>
#include "eval.h"
#include "tools/common/json.h"

#define EVAL_SETS	8	/* --set */

const uint32_t eval_sizes[EVAL_SIZES] = { 64, 128, 256, 512, 1024, 2048, 4096, 8192 };

struct eval eval;
static struct json out;
static const char *set[EVAL_SETS];
static int sets;

void eval_row(const char *part, uint32_t bytes, uint32_t nodes, const char *series, double value,
	      const char *unit)
{
	static const char * const names[] = { "part", "nodes" };

	if (!eval.json) {
		printf("%-10s %6u B  %3u  %-36s %12.3f %s\n", part, bytes, nodes, series, value, unit);
		fflush(stdout);
		return;
	}
	json_figure_row(&out, names, part, bytes, nodes, series, value, unit);
}

void eval_check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, rmc_strerror(err));
	exit(1);
}

struct rmc_sim_options eval_options(uint32_t nodes)
{
	return (struct rmc_sim_options){
		.nodes = nodes, .seed = 1, .ni = "pair", .mtu = eval.mtu, .ring_order = 8,
		.pay_order = 10, .itt = 1024, .one_way_ns = eval.costs.wire, .costs = &eval.costs,
		.memory = 1,
	};
}

void eval_run(void)
{
	int left = rmc_sim_run();
	uint32_t i;

	if (left) {
		fprintf(stderr, "%d threads still wait at the end of the simulation\n", left);
		exit(1);
	}
	for (i = 0; i < EVAL_NODES; i++)
		eval.served[i] = rmc_sim_served(i);
	rmc_sim_fini();
}

/* Every constant, with its origin, and those that the command line replaces */
static void json_costs(void)
{
	const struct rmc_sim_cost_row *row;
	unsigned int i;

	json_array(&out, "costs");
	for (i = 0; (row = rmc_sim_cost_row(i)); i++) {
		if (strcmp(row->profile, eval.profile))
			continue;
		json_object(&out, NULL);
		json_string(&out, "name", row->name);
		json_uint(&out, "value", row->value);
		json_string(&out, "unit", row->unit);
		json_string(&out, "provenance", rmc_sim_provenance_name(row->provenance));
		json_string(&out, "source", row->source);
		json_end_object(&out);
	}
	if (eval.more)
		eval.more->print(&out);
	json_end_array(&out);
	json_array(&out, "set");
	for (i = 0; i < (unsigned int)sets; i++)
		json_string(&out, NULL, set[i]);
	json_end_array(&out);
}

static int usage(const char *program, const struct eval_part *parts, int status)
{
	FILE *f = status ? stderr : stdout;

	fprintf(f, "usage: %s [--json] [--quick] [--costs PROFILE] [--set COST=N]\n"
		"	[--mtu N] [PART ...]\nparts:",
		program);
	for (; parts->name; parts++)
		fprintf(f, " %s", parts->name);
	fputs("\nComputed in virtual time, with the constants of the profile: RMC_SIM_COSTS=list of any\n"
	      "simulated program prints them. The same output each time.\n", f);
	return status;
}

static bool wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = optind; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return optind == argc;
}

static bool known(const struct eval_part *parts, const char *name)
{
	for (; parts->name; parts++)
		if (!strcmp(parts->name, name))
			return true;
	return false;
}

/* NAME=VALUE */
static bool set_cost(const char *text)
{
	const char *value = strchr(text, '=');
	char name[16] = "", *end;
	unsigned long n;

	if (!value || (size_t)(value - text) >= sizeof(name))
		return false;
	memcpy(name, text, (size_t)(value - text));
	n = strtoul(value + 1, &end, 10);
	if (!value[1] || *end || n > UINT32_MAX)
		return false;
	fprintf(stderr, "# not the profile's: %s\n", text);
	return rmc_sim_costs_set(&eval.costs, name, (uint32_t)n) ||
	       (eval.more && eval.more->set(name, (uint32_t)n));
}

int eval_main(int argc, char **argv, const char *profile, uint32_t mtu,
	      const struct eval_part *parts)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "costs", required_argument, NULL, 'c' },
		{ "set", required_argument, NULL, 's' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const struct rmc_sim_costs *costs;
	int c, i;

	eval.profile = profile;
	eval.mtu = mtu;
	while ((c = getopt_long(argc, argv, "jqc:s:m:h", options, NULL)) != -1) {
		if (c == 'j')
			eval.json = true;
		else if (c == 'q')
			eval.quick = true;
		else if (c == 'c')
			eval.profile = optarg;
		else if (c == 's' && sets < EVAL_SETS)
			set[sets++] = optarg;
		else if (c == 'm')
			eval.mtu = (uint32_t)atoi(optarg);
		else
			return usage(argv[0], parts, c == 'h' ? 0 : 2);
	}
	for (i = optind; i < argc; i++)
		if (!known(parts, argv[i]))
			return usage(argv[0], parts, 2);
	costs = rmc_sim_costs_find(eval.profile);
	if (!costs) {
		fprintf(stderr, "%s: no profile '%s'\n", argv[0], eval.profile);
		return 2;
	}
	eval.costs = *costs;
	if (eval.more)
		eval.more->choose(eval.profile);
	for (i = 0; i < sets; i++)
		if (!set_cost(set[i]))
			return usage(argv[0], parts, 2);
	if (eval.json) {
		json_init(&out, stdout);
		json_object(&out, NULL);
		json_string(&out, "path", "packets");
		json_string(&out, "profile", eval.profile);
		json_uint(&out, "mtu", eval.mtu);
		json_uint(&out, "one_way_ns", eval.costs.wire);
		json_costs();
		json_array(&out, "rows");
	}
	for (; parts->name; parts++)
		if (wanted(argc, argv, parts->name))
			parts->run();
	if (eval.json) {
		json_end_array(&out);
		json_end_object(&out);
	}
	return 0;
}
