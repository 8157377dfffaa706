/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl status and rmcctl counters: the driver's own figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/internal.h"
#include "rmcctl.h"

static const char * const top_files[] = {
	"fabric", "ni", "units", "rrpps", "interleave", "nodes", "local_nodes", "nid", "mtu",
	"share", "peers_up", "memtype",
};

static const char * const worker_files[] = {
	"cpu", "stages", "visits", "worked", "parks", "wakeups", "inline_polls",
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

void json_value(struct json *j, const char *name, const char *value)
{
	if (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19)
		json_uint(j, name, strtoull(value, NULL, 10));
	else
		json_string(j, name, value);
}

static void show_top(struct json *j)
{
	char value[SYSFS_VALUE];
	unsigned int i;

	for (i = 0; i < COUNT(top_files); i++) {
		if (sysfs_string(value, SYSFS_RMC "/%s", top_files[i]))
			continue;
		if (j)
			json_value(j, top_files[i], value);
		else
			printf("%-12s %s\n", top_files[i], value);
	}
}

/* For a node of this kernel also the path of operations whose both ends have one worker */
static void show_node(struct json *j, unsigned int nid, const char *state, uint64_t epoch,
		      int local)
{
	uint64_t skips = 0;
	int known = local && !sysfs_u64(&skips, SYSFS_RMC "/node%u/local_path", nid);

	if (j) {
		json_object(j, NULL);
		json_uint(j, "nid", nid);
		json_string(j, "state", state);
		json_uint(j, "epoch", epoch);
		json_bool(j, "local", local);
		if (known)
			json_bool(j, "local_path", skips != 0);
		json_end_object(j);
	} else {
		printf("%-6u %-8s %-6u %-6s %s\n", nid, state, (unsigned int)epoch,
		       local ? "yes" : "no", !known ? "-" : skips ? "local" : "packets");
	}
}

/* All nodes where the control device can be opened, else the local ones. */
static void show_nodes(struct json *j)
{
	struct rmc_ctx *control = ctl_control();
	struct rmc_query q = { .size = sizeof(q) };
	struct sysfs_names names;
	unsigned int i;

	if (j)
		json_array(j, "node");
	else
		printf("\n%-6s %-8s %-6s %-6s %s\n", "node", "state", "epoch", "local", "path");
	if (control && !rmc_call(control, RMC_IOC_QUERY, &q)) {
		for (i = 0; i < q.nodes; i++) {
			struct rmc_node_info info = { .size = sizeof(info), .nid = i };

			if (!rmc_node_info(control, &info))
				show_node(j, i, rmc_node_state_name((int)info.state), info.epoch,
					  info.local != 0);
		}
	} else {
		names = sysfs_list("node", SYSFS_RMC);
		for (i = 0; i < names.count; i++) {
			char state[SYSFS_VALUE];
			uint64_t epoch;

			if (sysfs_string(state, SYSFS_RMC "/%s/state", names.name[i]))
				continue;	/* the file "nodes", for one */
			sysfs_u64(&epoch, SYSFS_RMC "/%s/epoch", names.name[i]);
			show_node(j, (unsigned int)atoi(names.name[i] + strlen("node")), state,
				  epoch, 1);
		}
		sysfs_names_free(&names);
	}
	if (j)
		json_end_array(j);
}

static void show_workers(struct json *j)
{
	struct sysfs_names names = sysfs_list("worker", SYSFS_RMC);
	char value[SYSFS_VALUE];
	unsigned int i, k;

	if (j)
		json_array(j, "worker");
	else if (names.count)
		printf("\n%-9s %-5s %-14s %12s %12s %10s %10s %12s\n", "worker", "cpu", "stages",
		       "visits", "worked", "parks", "wakeups", "inline_polls");
	for (i = 0; i < names.count; i++) {
		if (j) {
			json_object(j, NULL);
			json_string(j, "name", names.name[i]);
		} else {
			printf("%-9s", names.name[i]);
		}
		for (k = 0; k < COUNT(worker_files); k++) {
			static const int width[] = { -5, -14, 12, 12, 10, 10, 12 };
			int have = !sysfs_string(value, SYSFS_RMC "/%s/%s", names.name[i],
						 worker_files[k]);

			if (j && have)
				json_value(j, worker_files[k], value);
			else if (!j)
				printf(" %*s", width[k], have ? value : "-");
		}
		if (j)
			json_end_object(j);
		else
			putchar('\n');
	}
	if (j)
		json_end_array(j);
	sysfs_names_free(&names);
}

int cmd_status(int argc, char **argv)
{
	const char *usage = "rmcctl status [--json]";
	const struct opt opts[] = {
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};
	struct json json, *j;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	need_driver();
	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_object(j, NULL);
	show_top(j);
	show_nodes(j);
	show_workers(j);
	if (j)
		json_end_object(j);
	return EXIT_OK;
}

/* Returns the number of lines. */
static unsigned int show_counters(struct json *j, const char *node, int all)
{
	struct sysfs_names names = sysfs_list("", SYSFS_RMC "/%s/counters", node);
	unsigned int i, lines = 0;
	uint64_t value;

	if (j)
		json_object(j, node);
	for (i = 0; i < names.count; i++) {
		if (sysfs_u64(&value, SYSFS_RMC "/%s/counters/%s", node, names.name[i]))
			continue;
		if (j)
			json_uint(j, names.name[i], value);
		else if (value || all)
			lines += printf("%-8s %-28s %20llu\n", node, names.name[i],
					(unsigned long long)value) > 0;
	}
	if (j)
		json_end_object(j);
	sysfs_names_free(&names);
	return lines;
}

int cmd_counters(int argc, char **argv)
{
	int nid = -1, all = 0;
	const char *usage = "rmcctl counters [--node NID] [--all] [--json]";
	const struct opt opts[] = {
		{ 'n', "node", OPT_INT, &nid, 0, RMC_NID_MAX, "NID", "this local node only" },
		{ 'a', "all", OPT_FLAG, &all, 0, 0, NULL, "those that are zero, too" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};
	struct sysfs_names names;
	struct json json, *j;
	unsigned int i, shown = 0, lines = 0;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	need_driver();
	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	names = sysfs_list("node", SYSFS_RMC);
	if (j)
		json_object(j, NULL);
	for (i = 0; i < names.count; i++) {
		char path[2 * SYSFS_NAME];

		snprintf(path, sizeof(path), SYSFS_RMC "/%s/counters", names.name[i]);
		if (!sysfs_exists(path))
			continue;
		if (nid >= 0 && atoi(names.name[i] + strlen("node")) != nid)
			continue;
		lines += show_counters(j, names.name[i], all);
		shown++;
	}
	if (j)
		json_end_object(j);
	sysfs_names_free(&names);
	if (nid >= 0 && !shown)
		die(EXIT_FAILED, "node %d is not on this machine: rmcctl status shows which are",
		    nid);
	if (!j && !lines)
		printf("nothing counted yet; --all shows what would be\n");
	return EXIT_OK;
}
