/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-tx: transactions of <rmc/tx.h>, one process per node. bench runs a workload and checks what
 * has to hold of its data; check records a history of appends to lists, and has it checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "opt.h"
#include "tx.h"

#define USAGE	"rmc-run -n N rmc-tx [OPTION...] bench|check\n" \
		"       rmc-tx systems"

static struct tx_run r = {
	.seconds = 5, .system = "sw", .workload_name = "smallbank", .lists = 8, .elements = 60,
	.scale = { .accounts = 100000, .subscribers = 10000, .warehouses = 1, .items = 1000,
		   .customers = 300, .orders = 300, .room = 300, .keys = 100000, .requests = 5,
		   .record_bytes = 1000, .structure = "table" },
};

static const struct opt options[] = {
	{ 'y', "system", OPT_STRING, &r.system, 0, 0, "NAME",
	  "of transactions (sw); see: rmc-tx systems" },
	{ 'w', "workload", OPT_STRING, &r.workload_name, 0, 0, "NAME",
	  "bench: smallbank (usual), tatp, tpcc, ycsb-a or ycsb-b" },
	{ 0, "accounts", OPT_SIZE, &r.scale.accounts, 2, 1ULL << 32, "N",
	  "smallbank (100K; the paper has 5M, in decimal)" },
	{ 0, "subscribers", OPT_SIZE, &r.scale.subscribers, 1, 1ULL << 32, "N",
	  "tatp (10000; the paper has a million)" },
	{ 0, "warehouses", OPT_SIZE, &r.scale.warehouses, 1, 10000, "N", "tpcc (1)" },
	{ 0, "items", OPT_SIZE, &r.scale.items, 1, 100000, "N", "tpcc (1000; to scale 100000)" },
	{ 0, "customers", OPT_SIZE, &r.scale.customers, 1, 3000, "N",
	  "tpcc: of a district (300; to scale 3000)" },
	{ 0, "orders", OPT_SIZE, &r.scale.orders, 1, 3000, "N",
	  "tpcc: first ones of a district (300; to scale 3000)" },
	{ 0, "room", OPT_SIZE, &r.scale.room, 1, 1ULL << 24, "N",
	  "tpcc: for new orders, and for payments, of a district; then the run ends (300)" },
	{ 0, "by-warehouse", OPT_FLAG, &r.by_warehouse, 0, 0, NULL,
	  "tpcc: a warehouse's rows are at one node (every row anywhere)" },
	{ 0, "structure", OPT_STRING, &r.scale.structure, 0, 0, "NAME",
	  "ycsb: table (usual), map, btree or tree (the B+tree)" },
	{ 0, "keys", OPT_SIZE, &r.scale.keys, 1, 1ULL << 31, "N",
	  "ycsb (100K; the paper has 4M, in decimal)" },
	{ 0, "requests", OPT_SIZE, &r.scale.requests, 1, YCSB_REQUESTS_MAX, "N",
	  "ycsb: of a transaction (5)" },
	{ 0, "record-bytes", OPT_SIZE, &r.scale.record_bytes, 16, RMC_TX_RECORD_MAX, "N",
	  "ycsb: of a record, in up to ten fields (1000)" },
	{ 'l', "lists", OPT_INT, &r.lists, 1, 10000, "N", "check: lists in use at a time (8)" },
	{ 'e', "elements", OPT_INT, &r.elements, 1, 500, "N",
	  "check: elements of a list at most (60)" },
	{ 0, "history", OPT_STRING, &r.history, 0, 0, "FILE",
	  "check: write the history there, too" },
	{ 't', "time", OPT_INT, &r.seconds, 1, 86400, "S", "seconds to run (5)" },
	{ 'n', "operations", OPT_SIZE, &r.operations, 1, INT64_MAX, "N",
	  "transactions per client, instead of a time (check: 200)" },
	{ 0, "clients", OPT_INT, &r.clients, 1, 1024, "N", "only the first N nodes (all)" },
	{ 0, "attempts", OPT_INT, &r.attempts, 1, INT32_MAX, "N", "at a transaction (10000)" },
	{ 0, "backoff", OPT_INT, &r.backoff_ns, 1, 1000000000, "NS",
	  "longest wait after the first squash; doubles up to 128 times (1000)" },
	{ 0, "all-remote", OPT_FLAG, &r.all_remote, 0, 0, NULL,
	  "reach the node's own records through the RMC, too" },
	{ 0, "seed", OPT_INT, &r.seed, 0, INT32_MAX, "N", "of random numbers" },
	{ 'c', "context", OPT_INT, &r.ctx_id, 0, INT32_MAX, "ID", "context ($RMC_CTX or 0)" },
	{ 'q', "quiet", OPT_FLAG, &r.quiet, 0, 0, NULL, "no progress on standard error" },
	{ 'j', "json", OPT_FLAG, &r.json, 0, 0, NULL, "results as JSON" },
	{ 0, NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL },
};

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

void open_all(struct tx_run *run, struct rmc_tx_options *o, uint64_t *word)
{
	int nodes = opt_env_int("RMC_NODES", 1, 1);
	size_t bytes, all;

	o->system = run->system;
	o->attempts = (uint32_t)run->attempts;
	o->backoff_ns = (uint32_t)run->backoff_ns;
	o->flags = run->all_remote ? RMC_TX_ALL_REMOTE : 0;
	bytes = rmc_tx_bytes(nodes, o);
	if (!bytes)
		die(EXIT_USAGE, "%s", rmc_errmsg());
	all = bytes + RMC_CACHE_LINE + rmc_coll_bytes(nodes, CHUNK);
	run->team = rmc_team_open((unsigned int)run->ctx_id, all);
	if (!run->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (!run->clients || run->clients > run->team->nodes)
		run->clients = run->team->nodes;
	*word = run->team->offset + bytes;
	run->coll = rmc_coll_open(run->team, bytes + RMC_CACHE_LINE, CHUNK);
	if (!run->coll)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	run->db = rmc_tx_open(run->team, o);
	if (!run->db)
		die(EXIT_FAILED, "%s", rmc_errmsg());
}

void close_all(struct tx_run *run)
{
	check("barrier", rmc_team_barrier(run->team));
	rmc_tx_close(run->db);
	rmc_coll_close(run->coll);
	rmc_team_close(run->team);
}

static int list_systems(void)
{
	const char *name;
	unsigned int i;

	for (i = 0; (name = rmc_tx_system_name(i)); i++)
		printf("%s\n", name);
	return EXIT_OK;
}

/* By name, so that a misspelt one is refused before a team opens */
static void check_system(void)
{
	const char *name;
	unsigned int i;

	for (i = 0; (name = rmc_tx_system_name(i)); i++)
		if (!strcmp(name, r.system))
			return;
	die(EXIT_USAGE, "no system '%s'; see: rmc-tx systems", r.system);
}

int main(int argc, char **argv)
{
	const char *command;
	int i;

	r.ctx_id = opt_default_context();
	i = opt_parse(argc, argv, options, USAGE);
	if (i >= argc)
		die(EXIT_USAGE, "no command: bench, check or systems; see rmc-tx --help");
	command = argv[i];
	argv[i] = argv[0];
	if (opt_parse(argc - i, argv + i, options, USAGE) < argc - i)	/* options may follow */
		die(EXIT_USAGE, "one command, and then options only");
	if (!strcmp(command, "systems"))
		return list_systems();
	check_system();
	r.scale.by_warehouse = r.by_warehouse;
	if (!strcmp(command, "bench"))
		return bench(&r);
	if (!strcmp(command, "check"))
		return history(&r);
	die(EXIT_USAGE, "no command '%s': bench, check or systems", command);
}
