/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl rnic: the model of a network adapter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "adapter.h"
#include "fault.h"

static const char *const usage = "rmcctl rnic [show | off | set | profiles] [options]";

/* Each constant, and where it is from */
static int profiles(void)
{
	const struct rmc_adapter_row *r;
	struct json json;
	unsigned int i;

	json_init(&json, stdout);
	if (ctl_json)
		json_array(&json, NULL);
	for (i = 0; (r = rmc_adapter_row(i)); i++) {
		const char *from = rmc_adapter_provenance_name(r->provenance);

		if (!ctl_json) {
			printf("%-8s %-10s %8u  %-9s  %s\n", r->profile, r->name, r->value, from,
			       r->source);
			continue;
		}
		json_object(&json, NULL);
		json_string(&json, "profile", r->profile);
		json_string(&json, "constant", r->name);
		json_uint(&json, "value", r->value);
		json_string(&json, "provenance", from);
		json_string(&json, "source", r->source);
		json_end_object(&json);
	}
	if (ctl_json)
		json_end_array(&json);
	return EXIT_OK;
}

/* The options besides --to, which replace what the profile says; -1 and NULL: not given */
struct values {
	const char *profile, *lines, *gap, *msg, *cas, *faa, *buffer, *qp_miss;
	int mbps, qp_cache, seed;
};

static struct rmc_adapter start_from(const char *profile)
{
	const struct rmc_adapter *a = profile ? rmc_adapter_find(profile) : NULL;
	struct rmc_adapter none = { .name = "" };
	unsigned int i;

	if (a || !profile)
		return a ? *a : none;
	fprintf(stderr, "rmcctl: no profile '%s'; there are", profile);
	for (i = 0; (a = rmc_adapter_at(i)); i++)
		fprintf(stderr, " %s", a->name);
	fprintf(stderr, "\n");
	exit(EXIT_USAGE);
}

/* The driver's limit, which also fits 32 bits */
static uint32_t limited(const char *option, unsigned long long value)
{
	if (value > 1000000000)
		die(EXIT_USAGE, "--%s is too long: at most 1s, --msg at most 1ms", option);
	return (uint32_t)value;
}

static void replace(uint32_t *value, const char *option, const char *text)
{
	if (text)
		*value = limited(option, ctl_duration(option, text));
}

static void set(const char *to, const struct values *v)
{
	struct rmc_adapter a = start_from(v->profile);
	char line[256];

	if (v->msg)
		a.msg_ps = limited("msg", ctl_picoseconds("msg", v->msg));
	replace(&a.cas_ns, "cas", v->cas);
	replace(&a.faa_ns, "faa", v->faa ? v->faa : v->cas);
	replace(&a.buffer_ns, "buffer", v->buffer);
	replace(&a.qp_miss_ns, "qp-miss", v->qp_miss);
	if (v->mbps >= 0)
		a.mbps = (uint32_t)v->mbps;
	if (v->qp_cache >= 0)
		a.qp_cache = (uint32_t)v->qp_cache;
	snprintf(line, sizeof(line),
		 "node=%.16s lines=%.16s gap_ns=%u msg_ps=%u mbps=%u cas_ns=%u faa_ns=%u buffer_ns=%u qp_cache=%u qp_miss_ns=%u seed=%d",
		 to, v->lines, limited("gap", ctl_duration("gap", v->gap)), a.msg_ps, a.mbps, a.cas_ns, a.faa_ns,
		 a.buffer_ns, a.qp_cache, a.qp_miss_ns, v->seed);
	ctl_fault_write("rnic", line);
}

int cmd_rnic(int argc, char **argv)
{
	const char *what = argc > 1 && argv[1][0] != '-' ? argv[1] : "show", *to = "any";
	struct values v = { .lines = "ordered", .mbps = -1, .qp_cache = -1 };
	int skip = what == argv[1];
	char line[64];
	const struct opt opts[] = {
		{ 't', "to", OPT_STRING, &to, 0, 0, "NID", "local node (default: all of this kernel)" },
		{ 'p', "profile", OPT_STRING, &v.profile, 0, 0, "NAME",
			"constants of an adapter, see rmcctl rnic profiles" },
		{ 0, "lines", OPT_STRING, &v.lines, 0, 0, "ORDER",
			"any: lines of a read come in any order, few at a time" },
		{ 0, "gap", OPT_STRING, &v.gap, 0, 0, "TIME", "least time between these" },
		{ 0, "msg", OPT_STRING, &v.msg, 0, 0, "TIME", "each request takes this in the server's" },
		{ 0, "mbps", OPT_INT, &v.mbps, 0, INT32_MAX, "N", "the server's port, each direction" },
		{ 0, "cas", OPT_STRING, &v.cas, 0, 0, "TIME",
			"an atomic holds a slot of the lock table; slots are by 12 bits of the offset, so begin segments on pages" },
		{ 0, "faa", OPT_STRING, &v.faa, 0, 0, "TIME", "the same of fetch-and-add (default: as --cas)" },
		{ 0, "buffer", OPT_STRING, &v.buffer, 0, 0, "TIME",
			"atomics do not see what is written to their word" },
		{ 0, "qp-cache", OPT_INT, &v.qp_cache, 0, 1024, "N", "queue pairs that a requester's holds" },
		{ 0, "qp-miss", OPT_STRING, &v.qp_miss, 0, 0, "TIME", "to load another; needs a model" },
		{ 0, "seed", OPT_INT, &v.seed, 0, 1 << 30, "N", "of the random numbers" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};

	if (opt_parse(argc - skip, argv + skip, opts, usage) != argc - skip)
		die(EXIT_USAGE, "usage: %s", usage);
	if (!strcmp(what, "show"))
		return ctl_fault_show("rnic");
	if (!strcmp(what, "profiles"))
		return profiles();
	if (!strcmp(what, "off")) {
		snprintf(line, sizeof(line), "node=%.16s", to);
		ctl_fault_write("rnic", line);
	} else if (!strcmp(what, "set")) {
		set(to, &v);
	} else {
		die(EXIT_USAGE, "usage: %s", usage);
	}
	ctl_report("rnic", what, strcmp(what, "off") ? "set" : ctl_fault_settle("set"));
	return EXIT_OK;
}
