/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-tx bench: members load their records; the first --clients of them run transactions of the
 * workload's mix; when all have ended, each member adds up its records. A reduction adds up
 * their results, and member 0 judges the sums.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hist.h"
#include "json.h"
#include "opt.h"
#include "path.h"
#include "progress.h"
#include "tx.h"

#define CHECK_EVERY	256		/* transactions: a condition is checked */

enum { BEGUN, COMMITTED, READ_ONLY, ABORTED, ACCESSES, LOCAL, USED, WRITTEN, LOCKED_READS,
       TORN_READS, READS, LOCKS, CHECKS, WRITES, UNLOCKS, ROUNDS, REPEATED, LOST, CONDITIONS,
       VIOLATED, SQUASHED, COUNTS = SQUASHED + RMC_TX_CAUSES };

static const char *const count_name[SQUASHED] = {
	"begun", "committed", "read_only", "aborted", "accesses", "local_accesses", "records_used",
	"records_written", "locked_reads", "torn_reads", "remote_reads", "remote_locks",
	"remote_checks", "remote_writes", "remote_unlocks", "commit_rounds", "repeated", "lost",
	"conditions_checked", "conditions_violated",
};

struct measured {
	struct hist latency[TX_KINDS];
	uint64_t count[COUNTS], done[TX_KINDS], ended[TX_KINDS], full;
	int64_t sums[TX_SUMS];
	uint64_t ns;			/* of the workload's transactions: the longest client's */
};

/* Add what the database has counted, or take it off again */
static void count_database(const struct tx_run *r, struct measured *m, int sign)
{
	uint64_t by = sign < 0 ? ~0ULL : 1;
	struct rmc_tx_stats s;
	int i;

	rmc_tx_stats(r->db, &s);
	m->count[BEGUN] += by * s.begun;
	m->count[COMMITTED] += by * s.committed;
	m->count[READ_ONLY] += by * s.read_only;
	m->count[ABORTED] += by * s.aborted;
	m->count[ACCESSES] += by * s.accesses;
	m->count[LOCAL] += by * s.local;
	m->count[USED] += by * s.used;
	m->count[WRITTEN] += by * s.written;
	m->count[LOCKED_READS] += by * s.locked_reads;
	m->count[TORN_READS] += by * s.torn_reads;
	m->count[READS] += by * s.reads;
	m->count[LOCKS] += by * s.locks;
	m->count[CHECKS] += by * s.checks;
	m->count[WRITES] += by * s.writes;
	m->count[UNLOCKS] += by * s.unlocks;
	m->count[ROUNDS] += by * s.rounds;
	m->count[REPEATED] += by * s.repeated;
	m->count[LOST] += by * s.lost;
	for (i = 0; i < RMC_TX_CAUSES; i++)
		m->count[SQUASHED + i] += by * s.squashed[i];
}

/* A condition, by transactions that are not the workload's: what they cost is not counted. */
static void check_condition(struct tx_run *r, struct tx_client *c, struct measured *m)
{
	bool holds;

	count_database(r, m, 1);
	check("condition", c->workload->condition(c, &holds));
	count_database(r, m, -1);
	m->count[CONDITIONS]++;
	m->count[VIOLATED] += !holds;
}

static void run(struct tx_run *r, struct tx_client *c, struct measured *m)
{
	uint64_t start = now_ns(), now = start, t0, n;
	uint64_t end = r->operations ? ~0ULL : start + (uint64_t)r->seconds * 1000000000;
	unsigned int kind;

	for (n = 0; (r->operations ? n < r->operations : now < end) && !c->full; n++) {
		if (c->workload->condition && !(n % CHECK_EVERY))
			check_condition(r, c, m);
		t0 = now_ns();
		check(c->workload->name, c->workload->one(c, &kind));
		now = now_ns();
		hist_add(&m->latency[kind], now - t0);
		m->ns += now - t0;
		if (!r->quiet && !c->self && !(n & 1023) && progress_due(0))
			fprintf(stderr, "%s%.0f s: %.0f transactions per second%s",
				progress_begin(), (double)(now - start) / 1e9,
				(double)n * 1e9 / (double)(now - start), progress_end());
	}
}

static void add_up(struct tx_run *r, struct measured *m)
{
	struct measured *sum = (struct measured *)calloc(1, sizeof(*sum));
	int i, err = 0;

	if (!sum)
		die(EXIT_FAILED, "out of memory");
	for (i = 0; i < TX_KINDS && !err; i++)
		err = rmc_coll_reduce(r->coll, 0, m->latency[i].count, sum->latency[i].count,
				      HIST_BUCKETS, RMC_U64, RMC_SUM);
	if (!err)
		err = rmc_coll_reduce(r->coll, 0, m->count, sum->count, COUNTS, RMC_U64, RMC_SUM);
	if (!err)
		err = rmc_coll_reduce(r->coll, 0, m->done, sum->done, TX_KINDS, RMC_U64, RMC_SUM);
	if (!err)
		err = rmc_coll_reduce(r->coll, 0, m->ended, sum->ended, TX_KINDS, RMC_U64, RMC_SUM);
	if (!err)
		err = rmc_coll_reduce(r->coll, 0, &m->full, &sum->full, 1, RMC_U64, RMC_SUM);
	if (!err)	/* modulo 2^64: signed numbers add up likewise */
		err = rmc_coll_reduce(r->coll, 0, m->sums, sum->sums, TX_SUMS, RMC_U64, RMC_SUM);
	if (!err)
		err = rmc_coll_reduce(r->coll, 0, &m->ns, &sum->ns, 1, RMC_U64, RMC_MAX);
	check("adding up", err);
	*m = *sum;
	free(sum);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* As papers count: who changes a record reads it, and writes it */
static double writes_of_requests(const struct measured *m)
{
	return ratio(m->count[WRITTEN], m->count[USED] + m->count[WRITTEN]);
}

/* All clients' transactions of these outcomes, over the time of the client that ran longest */
static double per_second(const struct measured *m, const uint64_t *outcome)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < TX_KINDS; i++)
		n += outcome[i];
	return (double)n * 1e9 / (double)(m->ns + 1);
}

struct verdict {
	const char *wrong;
	int64_t is, expected;
};

static void report_json(const struct tx_run *r, const struct tx_client *c,
			const struct measured *m, const struct verdict *v)
{
	struct json j;
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "test", "rmc-tx");
	json_string(&j, "system", r->system);
	json_string(&j, "workload", c->workload->name);
	if (c->workload->indexed)
		json_string(&j, "structure", c->scale.structure);
	json_string(&j, "path", path_of_team(r->team, RMC_CACHE_LINE));
	json_int(&j, "nodes", r->team->nodes);
	json_int(&j, "clients", r->clients);
	json_double(&j, "committed_per_s", per_second(m, m->done));
	json_double(&j, "ended_by_rule_per_s", per_second(m, m->ended));
	json_double(&j, "records_per_transaction", ratio(m->count[USED], m->count[COMMITTED]));
	json_double(&j, "writes_of_requests", writes_of_requests(m));
	for (i = 0; i < SQUASHED; i++)
		json_uint(&j, count_name[i], m->count[i]);
	json_object(&j, "squashed");
	for (i = 0; i < RMC_TX_CAUSES; i++)
		json_uint(&j, rmc_tx_cause_name((unsigned int)i), m->count[SQUASHED + i]);
	json_end_object(&j);
	json_array(&j, "transactions");
	for (i = 0; i < TX_KINDS && c->workload->kind[i]; i++) {
		json_object(&j, NULL);
		json_string(&j, "name", c->workload->kind[i]);
		json_uint(&j, "committed", m->done[i]);
		json_uint(&j, "ended_by_rule", m->ended[i]);
		hist_json(&j, "latency", &m->latency[i]);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_bool(&j, "table_full", m->full != 0);
	json_bool(&j, "consistent", !v->wrong);
	if (v->wrong)
		json_string(&j, "inconsistent", v->wrong);
	json_end_object(&j);
}

static void report_text(const struct tx_run *r, const struct tx_client *c,
			const struct measured *m, const struct verdict *v)
{
	int i;

	printf("system       %s\n", r->system);
	printf("workload     %s, %d clients of %d nodes\n", c->workload->name, r->clients,
	       r->team->nodes);
	if (c->workload->indexed)
		printf("structure    %s\n", c->scale.structure);
	printf("path         %s\n", path_of_team(r->team, RMC_CACHE_LINE));
	printf("throughput   %.0f committed transactions per second, %.0f ended by rule\n",
	       per_second(m, m->done), per_second(m, m->ended));
	printf("requests     %.1f records per transaction; %.0f%% of requests are writes\n\n",
	       ratio(m->count[USED], m->count[COMMITTED]), 100 * writes_of_requests(m));
	hist_text_head();
	for (i = 0; i < TX_KINDS && c->workload->kind[i]; i++)
		hist_text(c->workload->kind[i], &m->latency[i]);
	printf("\n");
	for (i = 0; i < SQUASHED; i++)
		printf("%-22s %llu\n", count_name[i], (unsigned long long)m->count[i]);
	for (i = 0; i < RMC_TX_CAUSES; i++)
		printf("squashed: %-12s %llu\n", rmc_tx_cause_name((unsigned int)i),
		       (unsigned long long)m->count[SQUASHED + i]);
	for (i = 0; i < TX_KINDS && c->workload->kind[i]; i++)
		printf("%s: %llu committed, %llu ended by rule\n", c->workload->kind[i],
		       (unsigned long long)m->done[i], (unsigned long long)m->ended[i]);
	if (m->full)
		printf("\nended early: a table is full\n");
	printf("\nconsistent   %s\n", v->wrong ? "NO" : "yes");
}

int bench(struct tx_run *r)
{
	struct measured *m = (struct measured *)calloc(1, sizeof(*m));
	struct rmc_tx_table table[RMC_TX_TABLES_MAX];
	struct rmc_tx_options o = { .table = table };
	struct tx_client c = { .scale = r->scale };
	struct verdict v = { NULL, 0, 0 };
	uint64_t word;

	c.workload = workload_find(r->workload_name);
	if (!c.workload)
		die(EXIT_USAGE, "no workload '%s'; see rmc-tx --help", r->workload_name);
	if (c.workload->indexed && !ycsb_has_structure(c.scale.structure))
		die(EXIT_USAGE, "no structure '%s'; see rmc-tx --help", c.scale.structure);
	if (!m)
		die(EXIT_FAILED, "out of memory");
	o.tables = c.workload->tables(&c.scale, table);
	o.records = workload_records(c.workload, &c.scale);
	open_all(r, &o, &word);
	c.db = r->db;
	c.self = r->team->self;
	c.nodes = r->team->nodes;
	c.load_seed = (uint64_t)r->seed + 1;
	c.seed = (c.load_seed * 1024 + (uint64_t)c.self) * 0x9e3779b97f4a7c15ULL | 1;
	check("load", c.workload->load(&c));
	check("barrier", rmc_team_barrier(r->team));
	count_database(r, m, -1);
	if (c.self < r->clients)
		run(r, &c, m);
	check("the last writes", rmc_tx_quiet(r->db));
	count_database(r, m, 1);
	check("barrier", rmc_team_barrier(r->team));
	check("adding up the records", c.workload->sum(&c, m->sums));
	memcpy(m->done, c.done, sizeof(m->done));
	memcpy(m->ended, c.ended, sizeof(m->ended));
	m->full = c.full;
	add_up(r, m);
	if (!c.self) {
		v.wrong = workload_judge(c.workload, &c.scale, m->sums, m->count[VIOLATED], &v.is,
					 &v.expected);
		r->json ? report_json(r, &c, m, &v) : report_text(r, &c, m, &v);
		fflush(stdout);
		if (v.wrong)
			fprintf(stderr, "rmc-tx: %s: %lld, not %lld\n", v.wrong, (long long)v.is,
				(long long)v.expected);
	}
	if (c.workload->close)
		c.workload->close(&c);
	close_all(r);
	free(m);
	return v.wrong ? EXIT_FAILED : EXIT_OK;
}
