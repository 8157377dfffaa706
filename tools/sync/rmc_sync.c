/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync: the schemes of <rmc/sync.h>, listed, measured, and searched for reads that mix
 * two states, one process per node; and latches of dead nodes, released.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "opt.h"
#include "sync.h"

#define USAGE	"rmc-run -n N rmc-sync [OPTION...] bench\n" \
		"       rmc-run -n N rmc-sync [OPTION...] torn\n" \
		"       rmc-sync [OPTION...] schemes|systems\n" \
		"       rmc-sync [OPTION...] --dead NODE --torn keep|zero recover"

static struct sync_run r = {
	.seconds = 5, .theta_percent = 0, .tuples = 10000, .bytes = 256,
	.backoff_ns = 0, .grace_us = 10000, .pad = -1, .dead = -2, .client = -1, .torn_data = "",
	.structure = "hash", .fanout = 249,
};

static const struct opt options[] = {
	{ 's', "scheme", OPT_STRING, &r.scheme, 0, 0, "NAME", "see: rmc-sync schemes (rw)" },
	{ 'l', "latch", OPT_STRING, &r.latch, 0, 0, "NAME",
	  "rw, excl, version, detached, none or nic-rpc (the scheme's own)" },
	{ 'o', "opt", OPT_STRING, &r.options, 0, 0, "LIST",
	  "spec, combine, async, write-unlatch, with commas between (none)" },
	{ 0, "system", OPT_STRING, &r.system, 0, 0, "NAME",
	  "scheme, latch, options and padding of a system; see: rmc-sync systems" },
	{ 0, "trust-order", OPT_FLAG, &r.trust, 0, 0, NULL,
	  "one RRPP, no filter: take the queue pair for ordered" },
	{ 'w', "writes", OPT_INT, &r.writes, 0, 100, "PERCENT", "of the operations (0)" },
	{ 0, "theta", OPT_INT, &r.theta_percent, 0, 1000, "PERCENT",
	  "of Zipf's law among the tuples of each node (0: uniform)" },
	{ 0, "structure", OPT_STRING, &r.structure, 0, 0, "NAME",
	  "hash, or btree: tuples are leaves, below nodes of as many bytes (hash)" },
	{ 0, "fanout", OPT_INT, &r.fanout, 2, 65536, "N", "children of a node of the btree (249)" },
	{ 'k', "tuples", OPT_SIZE, &r.tuples, 1, 1LL << 32, "N", "of each storing node (10000)" },
	{ 'b', "bytes", OPT_SIZE, &r.bytes, 8, RMC_LENGTH_MAX, "SIZE", "of a tuple's data (256)" },
	{ 0, "pad", OPT_INT, &r.pad, 0, 64, "LINES", "between tuples (0, or the system's)" },
	{ 0, "storage", OPT_INT, &r.storage, 0, 1024, "N", "only the first N nodes store (all)" },
	{ 0, "serve", OPT_FLAG, &r.serve, 0, 0, NULL, "and these do not work, but serve latches" },
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

const char *flags_name(unsigned int found, char *to)
{
	unsigned int i;

	*to = 0;
	for (i = 0; i < FLAGS; i++) {
		if (!(found & flags[i].flag))
			continue;
		if (*to)
			strcat(to, ",");
		strcat(to, flags[i].name);
	}
	return to;
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
	die(EXIT_USAGE, "--latch: '%s' is not rw, excl, version, detached, none or nic-rpc", name);
}

/* A system's scheme, latch and options are its own; what is wrong is a wrong command line. */
static void use_system(void)
{
	static char list[FLAGS_LENGTH];
	const struct rmc_sync_system *s = rmc_sync_system_find(r.system);

	if (!s)
		die(EXIT_USAGE, "no system '%s'; see: rmc-sync systems", r.system);
	if (r.scheme || r.latch || r.options)
		die(EXIT_USAGE, "--system %s has a scheme, a latch and options of its own", s->name);
	r.scheme = s->scheme;
	r.latch = rmc_sync_latch_name(s->latch);
	r.options = flags_name(s->flags, list);
	if (r.pad < 0)
		r.pad = (int)s->pad;
}

static void parse_options(void)
{
	if (r.system)
		use_system();
	r.scheme = r.scheme ? r.scheme : "rw";
	r.latch = r.latch ? r.latch : "default";
	r.options = r.options ? r.options : "";
	r.pad = r.pad < 0 ? 0 : r.pad;
	r.o.latch = parse_latch(r.latch);
	r.o.flags = parse_flags(r.options) | (r.trust ? RMC_SYNC_TRUST_ORDER : 0);
	r.o.max = r.bytes;
}

/* Combinations that cannot be are wrong command lines, too. */
static void check_options(void)
{
	r.o.scheme = rmc_sync_find(r.scheme);
	if (!r.o.scheme)
		die(EXIT_USAGE, "no scheme '%s'; see: rmc-sync schemes", r.scheme);
	if (r.o.scheme->needs & RMC_NEEDS_RPC)
		die(EXIT_USAGE, "%s: its reads are messages; see rmc-kv bench", r.scheme);
	if (r.o.scheme->needs & RMC_NEEDS_OWNER && (r.writes || r.torn))
		die(EXIT_USAGE, "%s: only the owner's CPU writes its objects", r.scheme);
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
	if (strcmp(w[0], "schemes") && strcmp(w[0], "systems") && strcmp(w[0], "bench") &&
	    strcmp(w[0], "torn") && strcmp(w[0], "recover"))
		die(EXIT_USAGE, "no command '%s': schemes, systems, bench, torn or recover", w[0]);
	if (n > 1) {			/* options may follow */
		char *command = w[0];

		w[0] = argv[0];
		i = opt_parse(n, w, options, USAGE);
		if (i < n)
			die(EXIT_USAGE, "%s: '%s' is not an option", command, w[i]);
		w[0] = command;
	}
	parse_options();
	if (!strcmp(w[0], "systems") || (!strcmp(w[0], "schemes") && r.system))
		return list_systems(&r);
	if (!strcmp(w[0], "schemes"))
		return list_schemes(&r);
	r.torn = !strcmp(w[0], "torn");
	check_options();
	if (!strcmp(w[0], "recover")) {
		if (r.dead < -1)
			die(EXIT_USAGE, "recover: --dead NODE, whose latches are released");
		if (latches_by_message(&r))
			die(EXIT_USAGE, "recover: latches of nic-rpc are in no memory; see rmc_latch_server_dead(3)");
		if (strcmp(r.torn_data, "keep") && strcmp(r.torn_data, "zero"))
			die(EXIT_USAGE, "recover: --torn keep or zero: what becomes of half-written data");
		return recover(&r);
	}
	if (strcmp(r.structure, "hash") && strcmp(r.structure, "btree"))
		die(EXIT_USAGE, "--structure: '%s' is not hash or btree", r.structure);
	if (r.torn && r.serve && r.storage != 1)
		die(EXIT_USAGE, "torn: member 1 writes, so --serve goes with --storage 1 only");
	shape_structure(&r);
	open_objects(&r);
	status = workload(&r);
	close_objects(&r);
	return status;
}
