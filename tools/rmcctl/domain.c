/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl domain: domains of messages, and how long their messages took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/internal.h"
#include "rmcctl.h"

#define CONTEXT_MAX	255	/* the RMC may have fewer */
#define BAR	40		/* columns of the longest bar of a histogram */

static const char * const files[] = {
	"policy", "depth", "slots", "cores", "wake_us", "waiting", "packets", "messages", "repeated",
	"refused", "freed", "dispatched", "waited_p50_ns", "waited_p99_ns", "waited_p999_ns", "served_p50_ns",
	"served_p99_ns", "served_p999_ns",
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* A domain's directory */
struct place {
	const char *node, *context;
};

static int value_of(char *value, const struct place *at, const char *file)
{
	return sysfs_string(value, SYSFS_RMC "/%s/domains/%s/%s", at->node, at->context, file);
}

/* "1.2us": three digits at most */
static const char *duration_of(char *text, size_t len, const struct place *at, const char *file)
{
	static const char * const units[] = { "ns", "us", "ms", "s" };
	char value[SYSFS_VALUE];
	unsigned int u = 0;
	double t;

	if (value_of(value, at, file) || !strcmp(value, "0"))
		return "-";
	for (t = strtod(value, NULL); t >= 1000 && u < COUNT(units) - 1; u++)
		t /= 1000;
	snprintf(text, len, t < 10 && u ? "%.1f%s" : "%.0f%s", t, units[u]);
	return text;
}

static void show_row(const struct place *at)
{
	static const char * const left[] = { "policy", "cores", "depth", "waiting", "messages" };
	static const char * const right[] = {
		"waited_p50_ns", "waited_p99_ns", "waited_p999_ns",
		"served_p50_ns", "served_p99_ns", "served_p999_ns",
	};
	static const int width[] = { -8, 5, 5, 8, 12 };
	char value[SYSFS_VALUE];
	unsigned int i;

	printf("%-6s %-8s", at->node + strlen("node"), at->context);
	for (i = 0; i < COUNT(left); i++)
		printf(" %*s", width[i], value_of(value, at, left[i]) ? "-" : value);
	for (i = 0; i < COUNT(right); i++)
		printf(" %8s", duration_of(value, sizeof(value), at, right[i]));
	putchar('\n');
}

/* Lines "nanoseconds count" of a histogram */
struct histogram {
	unsigned int lines;
	unsigned long long (*line)[2];
	unsigned long long most;
};

static void take_line(char *text, void *arg)
{
	struct histogram *h = (struct histogram *)arg;
	unsigned long long from, count;
	void *p;

	if (sscanf(text, "%llu %llu", &from, &count) != 2)
		return;
	p = realloc(h->line, (h->lines + 1) * sizeof(*h->line));
	if (!p)
		die(EXIT_FAILED, "out of memory");
	h->line = (unsigned long long (*)[2])p;
	h->line[h->lines][0] = from;
	h->line[h->lines++][1] = count;
	h->most = count > h->most ? count : h->most;
}

static void show_histogram(struct json *j, const struct place *at, const char *file)
{
	struct histogram h = { 0 };
	unsigned int i;

	sysfs_lines(take_line, &h, SYSFS_RMC "/%s/domains/%s/%s", at->node, at->context, file);
	if (j)
		json_array(j, file);
	else
		printf("\nnode %s, context %s, %s\n%12s %12s\n", at->node + strlen("node"), at->context,
		       file, "from ns", "messages");
	for (i = 0; i < h.lines; i++) {
		if (j) {
			json_object(j, NULL);
			json_uint(j, "from_ns", h.line[i][0]);
			json_uint(j, "messages", h.line[i][1]);
			json_end_object(j);
		} else {
			printf("%12llu %12llu %.*s\n", h.line[i][0], h.line[i][1],
			       (int)(h.line[i][1] * BAR / h.most),
			       "########################################");
		}
	}
	if (j)
		json_end_array(j);
	free(h.line);
}

static void show_json(struct json *j, const struct place *at, int histograms)
{
	char value[SYSFS_VALUE];
	unsigned int i;

	json_object(j, NULL);
	json_uint(j, "node", strtoull(at->node + strlen("node"), NULL, 10));
	json_uint(j, "context", strtoull(at->context, NULL, 10));
	for (i = 0; i < COUNT(files); i++)
		if (!value_of(value, at, files[i]))
			json_value(j, files[i], value);
	if (histograms) {
		show_histogram(j, at, "waited_histogram");
		show_histogram(j, at, "served_histogram");
	}
	json_end_object(j);
}

/* Returns the number of domains. */
static unsigned int show_node(struct json *j, const char *node, int context, int histograms)
{
	struct sysfs_names names = sysfs_list("", SYSFS_RMC "/%s/domains", node);
	unsigned int i, shown = 0;

	for (i = 0; i < names.count; i++) {
		struct place at = { node, names.name[i] };

		if (context >= 0 && atoi(names.name[i]) != context)
			continue;
		shown++;
		if (j) {
			show_json(j, &at, histograms);
			continue;
		}
		show_row(&at);
		if (histograms) {
			show_histogram(NULL, &at, "waited_histogram");
			show_histogram(NULL, &at, "served_histogram");
		}
	}
	sysfs_names_free(&names);
	return shown;
}

int cmd_domain(int argc, char **argv)
{
	const char *usage = "rmcctl domain [--node NID] [--context ID] [--histogram] [--json]";
	int nid = -1, context = -1, histograms = 0;
	const struct opt opts[] = {
		{ 'n', "node", OPT_INT, &nid, 0, RMC_NID_MAX, "NID", "this local node only" },
		{ 'c', "context", OPT_INT, &context, 0, CONTEXT_MAX, "ID",
		  "this context only" },
		{ 'H', "histogram", OPT_FLAG, &histograms, 0, 0, NULL,
		  "how many messages took how long" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};
	struct sysfs_names names;
	struct json json, *j;
	unsigned int i, shown = 0;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	need_driver();
	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_array(j, NULL);
	else
		printf("%-6s %-8s %-8s %5s %5s %8s %12s %8s %8s %8s %8s %8s %8s\n", "node", "context",
		       "policy", "cores", "depth", "waiting", "messages", "wait p50", "p99", "p99.9",
		       "core p50", "p99", "p99.9");
	names = sysfs_list("node", SYSFS_RMC);
	for (i = 0; i < names.count; i++) {
		const char *number = names.name[i] + strlen("node");

		/* the file "nodes" is none */
		if (strspn(number, "0123456789") != strlen(number) ||
		    (nid >= 0 && atoi(number) != nid))
			continue;
		shown += show_node(j, names.name[i], context, histograms);
	}
	sysfs_names_free(&names);
	if (j)
		json_end_array(j);
	else if (!shown)
		printf("no domains: rmc_domain_open(3) makes one\n");
	return EXIT_OK;
}
