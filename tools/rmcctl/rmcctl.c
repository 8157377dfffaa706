/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl: administer and inspect the RMC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rmcctl.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "context",  cmd_context,  "create ID | remove ID | list" },
	{ "status",   cmd_status,   "fabric, NI, nodes and workers" },
	{ "counters", cmd_counters, "what the nodes of this kernel counted" },
	{ "node",     cmd_node,     "up NID | down NID: take a local node out, let it join again" },
	{ "domain",   cmd_domain,   "messages that wait, and how long they took" },
	{ "watch",    cmd_watch,    "print nodes and links that go down and come up" },
	{ "fault",    cmd_fault,    "set | clear | list | node | timeout: an unkind fabric" },
	{ "model",    cmd_model,    "latency and bandwidth of a crossbar or torus" },
	{ "rnic",     cmd_rnic,     "set | off | show: a model of a server's network adapter" },
	{ "switch",   cmd_switch,   "a model of a programmable switch before a storage node" },
	{ "doctor",   cmd_doctor,   "is everything set up right? what to do if not" },
};

int ctl_json;

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	unsigned int i;

	fprintf(out, "usage: rmcctl COMMAND [options]\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\nEvery command takes --json, anywhere on the line, and --help.\n"
		     "rmcctl --version prints the version.\n"
		     "Exit status: 0 done, 1 failed, 2 wrong command line.\n");
}

/* Remove --json from the line, at any position before "--". Returns the new argc. */
static int take_json(int argc, char **argv)
{
	int i, n = 1;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], "--json"))
			ctl_json = 1;
		else
			argv[n++] = argv[i];
	}
	while (i < argc)
		argv[n++] = argv[i++];
	argv[n] = NULL;
	return n;
}

void ctl_report(const char *object, const char *name, const char *result)
{
	struct json j;
	char *end;
	unsigned long long number = strtoull(name, &end, 10);

	if (!ctl_json)
		return;
	json_init(&j, stdout);
	json_object(&j, NULL);
	if (*name && !*end)
		json_uint(&j, object, number);
	else
		json_string(&j, object, name);
	json_string(&j, "result", result);
	json_end_object(&j);
}

int main(int argc, char **argv)
{
	unsigned int i;

	argc = take_json(argc, argv);
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version"))
		opt_version();
	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	die(EXIT_USAGE, "no command '%s'; rmcctl --help lists them", argv[1]);
}
