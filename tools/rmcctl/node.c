/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl node and rmcctl watch: take nodes down and up, and print events. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/watch.h>
#include "../../lib/internal.h"
#include "rmcctl.h"

#define BATCH	16

static void set_state(const char *node, const char *state)
{
	char path[64];

	snprintf(path, sizeof(path), SYSFS_RMC "/node%s/state", node);
	if (!sysfs_exists(path))
		die(EXIT_FAILED, "node %s is not on this machine: rmcctl status shows which are",
		    node);
	if (!sysfs_write(path, state))
		return;
	switch (errno) {
	case EACCES:
	case EPERM:
		die(EXIT_FAILED, "no permission to change node %s: run rmcctl %s", node,
		    ctl_admin());
	case ESTALE:
		die(EXIT_FAILED, "node %s was taken over by another kernel: rmcctl node up brings it back once that one is gone",
		    node);
	case EBUSY:
		die(EXIT_FAILED, "node %s is another kernel's by now, which is alive: take it down there first",
		    node);
	default:
		die(EXIT_FAILED, "node %s does not go %s: %s", node, state, strerror(errno));
	}
}

int cmd_node(int argc, char **argv)
{
	const char *usage = "rmcctl node up|down NID";
	const struct opt opts[] = {
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0 },
	};
	int first = opt_parse(argc, argv, opts, usage);
	char *end;

	if (argc - first != 2 || (strcmp(argv[first], "up") && strcmp(argv[first], "down")))
		die(EXIT_USAGE, "usage: %s", usage);
	if (strtoul(argv[first + 1], &end, 10) > RMC_NID_MAX || *end || !*argv[first + 1])
		die(EXIT_USAGE, "'%s' is not a node id", argv[first + 1]);
	need_driver();
	set_state(argv[first + 1], argv[first]);
	ctl_report("node", argv[first + 1], argv[first]);
	return EXIT_OK;
}

static void show(const struct rmc_node_event *e, int json)
{
	unsigned long long s = e->time_ns / 1000000000, us = e->time_ns % 1000000000 / 1000;

	/* one object per line, so that a pipe's reader need not wait for the end */
	if (json)
		printf("{\"time\": %llu.%06llu, \"event\": \"%s\", \"nid\": %u, \"epoch\": %u, \"lost\": %u}\n",
		       s, us, rmc_event_name(e->type), e->nid, e->epoch, e->lost);
	else if (e->type == RMC_EVENT_OVERFLOW)
		printf("%llu.%06llu %u events were lost: rmcctl status shows how things are now\n",
		       s, us, e->lost);
	else
		printf("%llu.%06llu %-9s node %u epoch %u\n", s, us, rmc_event_name(e->type),
		       e->nid, e->epoch);
}

int cmd_watch(int argc, char **argv)
{
	int count = 0, timeout = -1, done = 0, i, n;
	struct rmc_watch arg = { .size = sizeof(arg), .nid = -1 };
	const char *usage = "rmcctl watch [--node NID] [--count N] [--timeout S] [--json]";
	const struct opt opts[] = {
		{ 'n', "node", OPT_INT, &arg.nid, 0, RMC_NID_MAX, "NID", "what this local node sees" },
		{ 'c', "count", OPT_INT, &count, 1, 1 << 30, "N", "end after N events" },
		{ 't', "timeout", OPT_INT, &timeout, 1, 1 << 20, "S", "end when S seconds bring none" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "one object per line" },
		{ 0 },
	};
	struct rmc_node_event e[BATCH];
	struct rmc_ctx *control;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	control = open_control();
	if (rmc_call(control, RMC_IOC_WATCH, &arg)) {
		if (errno == ENXIO)
			die(EXIT_FAILED, "node %d is not on this machine: rmcctl status shows which are",
			    arg.nid);
		die(EXIT_FAILED, "cannot watch nodes: %s", strerror(errno));
	}
	if (timeout > 0)
		timeout *= 1000;
	while (!count || done < count) {
		n = rmc_watch_read(arg.fd, e, count && count - done < BATCH ? count - done : BATCH,
				   timeout);
		if (n == -ESHUTDOWN || (!n && !rmc_alive(control)))
			die(EXIT_FAILED, "rmcd is gone");
		if (n < 0)
			die(EXIT_FAILED, "cannot read events: %s", strerror(-n));
		if (!n)
			break;
		for (i = 0; i < n; i++)
			show(&e[i], ctl_json);
		if (fflush(stdout))
			return EXIT_FAILED;
		done += n;
	}
	/* so that a script knows whether all events have come */
	return done >= count ? EXIT_OK : EXIT_FAILED;
}
