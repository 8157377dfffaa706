/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl rnic: the model of a server's network adapter. */
#include <stdio.h>
#include <string.h>
#include "fault.h"

static const char *const usage = "rmcctl rnic [show | off | set] [options]";

static int show(void)
{
	FILE *f = ctl_fault_read("rnic");
	struct json json, *j;

	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_object(j, NULL);
	ctl_fault_print(j, "rnic", f);
	if (j)
		json_end_object(j);
	return EXIT_OK;
}

int cmd_rnic(int argc, char **argv)
{
	const char *what = argc > 1 && argv[1][0] != '-' ? argv[1] : "show";
	const char *to = "any", *lines = "ordered", *gap = NULL;
	int seed = 0, skip = what == argv[1];
	char line[256];
	const struct opt opts[] = {
		{ 't', "to", OPT_STRING, &to, 0, 0, "NID", "local node (default: all of this kernel)" },
		{ 0, "lines", OPT_STRING, &lines, 0, 0, "ORDER",
			"any: lines of a read come in any order, few at a time" },
		{ 0, "gap", OPT_STRING, &gap, 0, 0, "TIME", "least time between these" },
		{ 0, "seed", OPT_INT, &seed, 0, 1 << 30, "N", "of the random numbers" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};

	if (opt_parse(argc - skip, argv + skip, opts, usage) != argc - skip)
		die(EXIT_USAGE, "usage: %s", usage);
	if (!strcmp(what, "show"))
		return show();
	if (!strcmp(what, "off"))
		snprintf(line, sizeof(line), "node=%.16s", to);
	else if (!strcmp(what, "set"))
		snprintf(line, sizeof(line), "node=%.16s lines=%.16s gap_ns=%llu seed=%d", to, lines,
			 ctl_duration("gap", gap), seed);
	else
		die(EXIT_USAGE, "usage: %s", usage);
	ctl_fault_write("rnic", line);
	ctl_report("rnic", what, "set");
	return EXIT_OK;
}
