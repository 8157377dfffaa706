/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync: the schemes of <rmc/sync.h>, listed, measured, and searched for reads that mix
 * two states, one process per node; and latches of dead nodes, released.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "opt.h"
#include "sync.h"

#define USAGE	"rmc-run -n N rmc-sync [OPTION...] bench\n" \
		"       rmc-run -n N rmc-sync [OPTION...] torn\n" \
		"       rmc-sync [OPTION...] schemes\n" \
		"       rmc-sync [OPTION...] --dead NODE --torn keep|zero recover"

static struct sync_run r = {
	.seconds = 5, .theta_percent = 0, .tuples = 10000, .bytes = 256,
	.backoff_ns = 0, .grace_us = 10000, .scheme = "rw", .latch = "default", .options = "",
	.dead = -2, .client = -1, .torn_data = "",
};

static const struct opt options[] = {
	{ 's', "scheme", OPT_STRING, &r.scheme, 0, 0, "NAME", "see: rmc-sync schemes (rw)" },
	{ 'l', "latch", OPT_STRING, &r.latch, 0, 0, "NAME",
	  "rw, excl, version, detached or none (the scheme's own)" },
	{ 'o', "opt", OPT_STRING, &r.options, 0, 0, "LIST",
	  "spec, combine, async, write-unlatch, with commas between (none)" },
	{ 0, "trust-order", OPT_FLAG, &r.trust, 0, 0, NULL,
	  "one RRPP, no filter: take the queue pair for ordered" },
	{ 'w', "writes", OPT_INT, &r.writes, 0, 100, "PERCENT", "of the operations (0)" },
	{ 0, "theta", OPT_INT, &r.theta_percent, 0, 1000, "PERCENT",
	  "of Zipf's law among the tuples of each node (0: uniform)" },
	{ 'k', "tuples", OPT_SIZE, &r.tuples, 1, 1LL << 32, "N", "of each storing node (10000)" },
	{ 'b', "bytes", OPT_SIZE, &r.bytes, 8, RMC_LENGTH_MAX, "SIZE", "of a tuple's data (256)" },
	{ 0, "pad", OPT_INT, &r.pad, 0, 64, "LINES", "between tuples (0)" },
	{ 0, "storage", OPT_INT, &r.storage, 0, 1024, "N", "only the first N nodes store (all)" },
	{ 0, "buffers", OPT_INT, &r.buffers, 0, 32, "N", "holds at a time (1; 2 with async)" },
	{ 0, "attempts", OPT_INT, &r.attempts, 1, INT32_MAX, "N",
	  "at a held or torn tuple (1000000; recover: 64)" },
	{ 0, "backoff", OPT_INT, &r.backoff_ns, 0, 1000000000, "NS",
	  "wait between them, doubled up to 64 times (0: none)" },
	{ 0, "grace", OPT_INT, &r.grace_us, 1, 1000000000, "US",
	  "before a copy out of place is used again (10000)" },
	{ 0, "dead", OPT_INT, &r.dead, -1, RMC_NID_MAX, "NODE",
	  "recover: whose latches; -1: readers of rw, none of which is left" },
	{ 0, "client", OPT_INT, &r.client, 0, 255, "N",
	  "recover: of this node, where --dead is this one" },
	{ 0, "torn", OPT_STRING, &r.torn_data, 0, 0, "WHAT",
	  "recover: data that may be half written: keep it, or zero it" },
	{ 0, "owner", OPT_INT, &r.owner, 0, RMC_NID_MAX, "NODE", "recover: where the tuples are (0)" },
	{ 0, "at", OPT_SIZE, &r.at, 0, RMC_OFFSET_MAX, "OFFSET", "recover: of the first tuple (0)" },
	{ 0, "latches", OPT_SIZE, &r.latches_at, 0, RMC_OFFSET_MAX, "OFFSET",
	  "recover: of detached ones (behind the tuples)" },
	{ 't', "time", OPT_INT, &r.seconds, 1, 86400, "S", "seconds to run (5)" },
	{ 'n', "operations", OPT_SIZE, &r.operations, 1, INT64_MAX, "N",
	  "operations per node, instead of a time" },
	{ 0, "seed", OPT_INT, &r.seed, 0, INT32_MAX, "N", "of random numbers" },
	{ 'c', "context", OPT_INT, &r.ctx_id, 0, INT32_MAX, "ID", "context ($RMC_CTX or 0)" },
	{ 'j', "json", OPT_FLAG, &r.json, 0, 0, NULL, "results as JSON" },
	{ 0, NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL },
};

static const struct {
	const char *name;
	unsigned int flag;
} flags[] = {
	{ "spec", RMC_SYNC_SPEC }, { "combine", RMC_SYNC_COMBINE }, { "async", RMC_SYNC_ASYNC },
	{ "write-unlatch", RMC_SYNC_WRITE_UNLATCH },
};
#define FLAGS	(sizeof(flags) / sizeof(flags[0]))

const char *guarantee_name(const struct rmc_scheme *s)
{
	static const char * const name[] = {
		[RMC_GUARANTEE_ATOMIC] = "atomic", [RMC_GUARANTEE_PROBABLE] = "probable",
		[RMC_GUARANTEE_BROKEN] = "broken",
	};

	return name[s->guarantee];
}

/* What it needs beyond memory that nodes share */
static const char *needs_name(const struct rmc_scheme *s)
{
	return s->needs & RMC_NEEDS_RPC ? "rpc" : s->needs & RMC_NEEDS_POOL ? "pool" :
	       s->needs & RMC_NEEDS_OWNER ? "owner" : "";
}

static unsigned int parse_flags(const char *list)
{
	unsigned int found = 0, i;
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		for (i = 0; i < FLAGS; i++)
			if (strlen(flags[i].name) == n && !strncmp(list, flags[i].name, n))
				break;
		if (i == FLAGS)
			die(EXIT_USAGE, "--opt: '%.*s' is not spec, combine, async or write-unlatch",
			    (int)n, list);
		found |= flags[i].flag;
	}
	return found;
}

static unsigned int parse_latch(const char *name)
{
	unsigned int i;

	for (i = 0; rmc_sync_latch_name(i); i++)
		if (!strcmp(rmc_sync_latch_name(i), name))
			return i;
	die(EXIT_USAGE, "--latch: '%s' is not rw, excl, version, detached or none", name);
}

/* messages/round trips/atomics of a read or write; "-": only the owner writes, or refused */
static const char *cost_name(const struct rmc_scheme *s, int writes, char *to, size_t len)
{
	struct rmc_sync_options o = {
		.scheme = s, .max = r.bytes, .latch = parse_latch(r.latch),
		.flags = parse_flags(r.options) | RMC_SYNC_TRUST_ORDER,
	};
	struct rmc_sync_cost c;

	if (rmc_sync_cost(&o, writes, &c))
		return "-";
	snprintf(to, len, "%u/%u/%u", c.messages, c.round_trips, c.atomics);
	return to;
}

static void scheme_json(struct json *j, const struct rmc_scheme *s)
{
	char cost[32];

	json_object(j, NULL);
	json_string(j, "name", s->name);
	json_string(j, "title", s->title);
	json_string(j, "guarantee", guarantee_name(s));
	json_string(j, "latch", s->latch ? s->latch : "none");
	json_string(j, "needs", needs_name(s));
	json_string(j, "papers", s->papers);
	json_string(j, "systems", s->systems ? s->systems : "");
	json_uint(j, "object_bytes", rmc_scheme_bytes(s, r.bytes));
	json_string(j, "read_cost", cost_name(s, 0, cost, sizeof(cost)));
	json_string(j, "write_cost", cost_name(s, 1, cost, sizeof(cost)));
	json_end_object(j);
}

static int list_schemes(void)
{
	const struct rmc_scheme *s;
	char read[32], write[32];
	unsigned int i;
	struct json j;

	if (r.json) {
		json_init(&j, stdout);
		json_array(&j, NULL);
		for (i = 0; (s = rmc_sync_number(i)); i++)
			scheme_json(&j, s);
		json_end_array(&j);
		return EXIT_OK;
	}
	printf("%-23s  %-9s  %-7s  %-5s  %8s  %-7s  %-7s  %s\n", "scheme", "guarantee", "latch", "needs",
	       "bytes", "read", "write", "title; where it is from; systems");
	for (i = 0; (s = rmc_sync_number(i)); i++)
		printf("%-23s  %-9s  %-7s  %-5s  %8zu  %-7s  %-7s  %s; %s%s%s\n", s->name,
		       guarantee_name(s), s->latch ? s->latch : "none", needs_name(s),
		       rmc_scheme_bytes(s, r.bytes), cost_name(s, 0, read, sizeof(read)),
		       cost_name(s, 1, write, sizeof(write)), s->title, s->papers,
		       s->systems ? "; " : "", s->systems ? s->systems : "");
	printf("read, write: messages/round trips/atomics of one that nobody is in the way of\n");
	return EXIT_OK;
}

/* Combinations that cannot be are wrong command lines. */
static void check_options(void)
{
	r.o.scheme = rmc_sync_find(r.scheme);
	if (!r.o.scheme)
		die(EXIT_USAGE, "no scheme '%s'; see: rmc-sync schemes", r.scheme);
	if (r.o.scheme->needs & RMC_NEEDS_RPC)
		die(EXIT_USAGE, "%s: its reads are messages; see rmc-kv bench", r.scheme);
	if (r.o.scheme->needs & RMC_NEEDS_OWNER && (r.writes || r.torn))
		die(EXIT_USAGE, "%s: only the owner's CPU writes its objects", r.scheme);
	r.o.latch = parse_latch(r.latch);
	r.o.flags = parse_flags(r.options) | (r.trust ? RMC_SYNC_TRUST_ORDER : 0);
	r.o.max = r.bytes;
	r.o.buffers = (unsigned int)r.buffers;
	r.o.attempts = r.attempts ? (unsigned int)r.attempts : 1000000;
	r.o.backoff_ns = (uint32_t)r.backoff_ns;
	r.o.backoff_max_ns = r.backoff_ns > INT32_MAX / 64 ? INT32_MAX : 64 * (uint32_t)r.backoff_ns;
	r.o.grace_us = (uint32_t)r.grace_us;
	r.layout = rmc_sync_layout(&r.o);
	if (!r.layout)
		die(EXIT_USAGE, "%s", rmc_errmsg());
}

int main(int argc, char **argv)
{
	char **w;
	int i, n, status;

	r.ctx_id = opt_default_context();
	i = opt_parse(argc, argv, options, USAGE);
	w = argv + i;
	n = argc - i;
	if (!n)
		die(EXIT_USAGE, "no command; see rmc-sync --help");
	if (strcmp(w[0], "schemes") && strcmp(w[0], "bench") && strcmp(w[0], "torn") &&
	    strcmp(w[0], "recover"))
		die(EXIT_USAGE, "no command '%s': schemes, bench, torn or recover", w[0]);
	if (n > 1) {			/* options may follow */
		char *command = w[0];

		w[0] = argv[0];
		i = opt_parse(n, w, options, USAGE);
		if (i < n)
			die(EXIT_USAGE, "%s: '%s' is not an option", command, w[i]);
		w[0] = command;
	}
	if (!strcmp(w[0], "schemes"))
		return list_schemes();
	r.torn = !strcmp(w[0], "torn");
	check_options();
	if (!strcmp(w[0], "recover")) {
		if (r.dead < -1)
			die(EXIT_USAGE, "recover: --dead NODE, whose latches are released");
		if (strcmp(r.torn_data, "keep") && strcmp(r.torn_data, "zero"))
			die(EXIT_USAGE, "recover: --torn keep or zero: what becomes of half-written data");
		return recover(&r);
	}
	open_objects(&r);
	status = workload(&r);
	close_objects(&r);
	return status;
}
