/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-tx check: all clients run transactions that append to lists and read whole lists. A list is a
 * record. Member 0 collects what all have done, and lib/check decides whether it is strictly
 * serializable. The clock of all members is a word of member 0: a fetch-and-add before each
 * transaction, and one after it.
 *
 * At a time, transactions use --lists of the lists; as these fill, all clients go on to later ones,
 * so that there is room for what is appended until the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "json.h"
#include "opt.h"
#include "progress.h"
#include "tx.h"

#define PARTS		4
#define CLOCK_TRIES	100		/* at a clock whose replies are lost */
#define OPERATIONS	200		/* per client, unless it is told */
#define LISTS_MAX	(1 << 20)
#define FULL_PERCENT	10		/* of appends that find no room, at most */

struct part {
	int list, append, known;
	uint64_t value, n;
	uint64_t *seen;
};

struct lists {
	struct tx_run *run;
	struct check_history h;
	uint64_t seed, number, word;
	uint64_t all;			/* lists */
	uint64_t appends, full;		/* drawn; that found no room */
	struct part part[PARTS];
	int parts;
};

static uint64_t tick(struct lists *l)
{
	uint64_t now = 0;
	int tries = 0, err;

	/* if a reply was lost, the clock is one further: that does no harm */
	do {
		err = rmc_faa(l->run->team->qp, rmc_team_nid(l->run->team, 0), l->word, 1, &now);
	} while (err == RMC_S_TIMEOUT && ++tries < CLOCK_TRIES);
	check("the clock", err);
	return now + 1;
}

static size_t list_bytes(const struct tx_run *r)
{
	return ((size_t)r->elements + 1) * sizeof(uint64_t);
}

static int one_part(struct rmc_tx *t, struct lists *l, struct part *p)
{
	struct rmc_tx_addr at = rmc_tx_record(0, (uint64_t)p->list);
	const uint64_t *list;
	int err = rmc_tx_get(t, at, list_bytes(l->run), (const void **)&list);

	if (err)
		return err;
	p->n = list[0];
	if (p->n > (uint64_t)l->run->elements)
		return -EPROTO;
	memcpy(p->seen, list + 1, p->n * sizeof(*list));
	p->known = 1;
	if (!p->append)
		return 0;
	if (p->n == (uint64_t)l->run->elements)
		return -ENOSPC;
	p->n++;
	err = rmc_tx_put(t, rmc_tx_at(at, p->n * sizeof(*list)), &p->value, sizeof(p->value));
	return err ? err : rmc_tx_put(t, at, &p->n, sizeof(p->n));
}

static int body(struct rmc_tx *t, void *arg)
{
	struct lists *l = (struct lists *)arg;
	int i, err = 0;

	for (i = 0; i < l->parts; i++)
		l->part[i].known = 0;
	for (i = 0; i < l->parts && !err; i++)
		err = one_part(t, l, &l->part[i]);
	return err;
}

static void record(struct lists *l, uint64_t invoke, uint64_t complete, int err)
{
	int i, bad = 0;

	bad = check_txn(&l->h, (uint32_t)l->run->team->self, invoke, complete,
			err ? CHECK_ABORTED : CHECK_COMMITTED) < 0;
	for (i = 0; i < l->parts && !bad; i++) {
		const struct part *p = &l->part[i];

		bad = p->append ? check_append(&l->h, (uint32_t)p->list, p->value) :
		      check_list(&l->h, (uint32_t)p->list, p->seen,
				 err || !p->known ? CHECK_NONE : (uint32_t)p->n);
	}
	if (bad)
		die(EXIT_FAILED, "out of memory");
}

static uint64_t operations(const struct tx_run *r)
{
	return r->operations ? r->operations : OPERATIONS;
}

/* Lists with room for twice what is appended: three eighths of the parts, on average */
static uint64_t all_lists(const struct tx_run *r, int clients)
{
	uint64_t appends = operations(r) * (uint64_t)clients * (PARTS + 1) / 2 * 3 / 8;
	uint64_t n = (uint64_t)r->lists + 2 * appends / (uint64_t)r->elements;

	return n < LISTS_MAX ? n : LISTS_MAX;
}

/* Transaction i: among the lists that are in use then */
static void draw(struct lists *l, uint64_t i)
{
	uint64_t used = (uint64_t)l->run->lists, first;
	int reads = !(random_next(&l->seed) >> 16 & 3), k;

	first = (uint64_t)((double)(l->all - used) * (double)i / (double)operations(l->run));
	l->parts = 1 + (int)((random_next(&l->seed) >> 16) % PARTS);
	for (k = 0; k < l->parts; k++) {
		l->part[k].list = (int)(first + (random_next(&l->seed) >> 16) % used);
		l->part[k].append = !reads && random_next(&l->seed) >> 16 & 1;
		l->part[k].value = ++l->number << 10 | (uint64_t)l->run->team->self;
		l->appends += (uint64_t)l->part[k].append;
	}
}

static void run(struct lists *l)
{
	uint64_t n = operations(l->run), i, invoke;
	int err;

	for (i = 0; i < n; i++) {
		draw(l, i);
		invoke = tick(l);
		err = rmc_tx_run(l->run->db, body, l);
		if (err && err != -ENOSPC && err != RMC_TX_SQUASHED)
			check("transaction", err);
		l->full += err == -ENOSPC;
		record(l, invoke, tick(l), err);
		if (!l->run->quiet && !l->run->team->self && !(i & 63) && progress_due(0))
			fprintf(stderr, "%s%llu of %llu transactions%s", progress_begin(),
				(unsigned long long)i, (unsigned long long)n, progress_end());
	}
}

/* The last line of a history says how many transactions it has: it is cut off. */
static uint64_t cut_end(const char *text, uint64_t *bytes)
{
	uint64_t at = *bytes - 1;

	while (at && text[at - 1] != '\n')
		at--;
	*bytes = at;
	return strtoull(text + at + strlen("end "), NULL, 10);
}

/* The text of each member's history goes to all; member 0 puts them together. */
static char *collect(struct lists *l, size_t *all_bytes)
{
	char *text = NULL, *all = NULL, *other, end[32];
	uint64_t bytes, skip, transactions = 0;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int m;

	if (!f)
		die(EXIT_FAILED, "out of memory");
	check_write(&l->h, f);
	if (fclose(f))
		die(EXIT_FAILED, "out of memory");
	*all_bytes = 0;
	for (m = 0; m < l->run->team->nodes; m++) {
		bytes = len;
		check("collecting", rmc_coll_bcast(l->run->coll, m, &bytes, sizeof(bytes)));
		other = m == l->run->team->self ? text : (char *)malloc(bytes);
		if (!other)
			die(EXIT_FAILED, "out of memory");
		check("collecting", rmc_coll_bcast(l->run->coll, m, other, bytes));
		transactions += cut_end(other, &bytes);
		skip = m ? strcspn(other, "\n") + 1 : 0;	/* one head line is enough */
		all = (char *)realloc(all, *all_bytes + bytes - skip + sizeof(end));
		if (!all)
			die(EXIT_FAILED, "out of memory");
		memcpy(all + *all_bytes, other + skip, bytes - skip);
		*all_bytes += bytes - skip;
		if (other != text)
			free(other);
	}
	free(text);
	snprintf(end, sizeof(end), "end %llu\n", (unsigned long long)transactions);
	memcpy(all + *all_bytes, end, strlen(end));
	*all_bytes += strlen(end);
	return all;
}

static void save(const char *path, const char *text, size_t bytes)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f))
		die(EXIT_FAILED, "%s: %s", path, strerror(errno));
}

static void found(void *arg, const struct check_finding *f)
{
	check_print((const struct check_history *)arg, f, "", stderr);
}

static const char *verdict_name(enum check_verdict v)
{
	return v == CHECK_OK ? "ok" : v == CHECK_VIOLATED ? "violated" : "undecided";
}

/* Appends of all clients: drawn, and transactions whose append found no room */
static int judge(struct tx_run *r, const char *text, size_t bytes, const uint64_t *appends)
{
	int too_full = appends[1] * 100 > appends[0] * FULL_PERCENT;
	struct check_options o = { .strict = true, .found = found };
	struct check_result result;
	struct check_history h;
	struct check_error e;
	struct json j;
	int err;

	check_init(&h);
	if (check_parse(&h, text, bytes, &e))
		die(EXIT_FAILED, "the history: line %llu: %s", (unsigned long long)e.line, e.text);
	o.arg = &h;
	err = check_serial(&h, &o, &result);
	if (err)
		die(EXIT_FAILED, "checking: %s", strerror(-err));
	if (r->json) {
		json_init(&j, stdout);
		json_object(&j, NULL);
		json_string(&j, "test", "rmc-tx check");
		json_string(&j, "system", r->system);
		json_int(&j, "nodes", r->team->nodes);
		json_uint(&j, "transactions", h.txns);
		json_uint(&j, "committed", result.groups);
		json_uint(&j, "appends", appends[0]);
		json_uint(&j, "without_room", appends[1]);
		json_string(&j, "verdict", verdict_name(result.verdict));
		json_end_object(&j);
	} else {
		printf("strictly serializable: %s; %zu transactions, %llu committed, %llu edges\n",
		       result.verdict == CHECK_OK ? "yes" : result.verdict == CHECK_VIOLATED ?
		       "NO" : "undecided", h.txns,
		       (unsigned long long)result.groups, (unsigned long long)result.searched);
		printf("appends: %llu, and %llu transactions that found no room for theirs\n",
		       (unsigned long long)appends[0], (unsigned long long)appends[1]);
	}
	fflush(stdout);
	check_free(&h);
	if (too_full)
		fprintf(stderr, "rmc-tx: lists are full, so there is little to find: --elements\n");
	return result.verdict == CHECK_OK && !too_full ? EXIT_OK : EXIT_FAILED;
}

int history(struct tx_run *r)
{
	struct rmc_tx_table table = { .bytes = (uint32_t)list_bytes(r) };
	struct rmc_tx_options o = { .table = &table, .tables = 1, .records = 2 * PARTS };
	struct lists l = { .run = r };
	uint64_t empty = 0, appends[2], sum[2] = { 0, 0 }, list;
	int i, status = EXIT_OK, nodes = opt_env_int("RMC_NODES", 1, 1);
	char name[16], *text;
	size_t bytes;

	table.records = l.all = all_lists(r, r->clients && r->clients < nodes ? r->clients : nodes);
	open_all(r, &o, &l.word);
	l.seed = ((uint64_t)r->seed + 1) * 1024 + (uint64_t)r->team->self;
	l.seed = l.seed * 0x9e3779b97f4a7c15ULL | 1;
	check_init(&l.h);
	for (i = 0; i < PARTS; i++) {
		l.part[i].seen = (uint64_t *)malloc(list_bytes(r));
		if (!l.part[i].seen)
			die(EXIT_FAILED, "out of memory");
	}
	for (list = 0; list < l.all; list++) {
		snprintf(name, sizeof(name), "l%u", (unsigned int)list);
		if (check_key_of(&l.h, name) < 0)
			die(EXIT_FAILED, "out of memory");
		if (rmc_tx_home(r->db, rmc_tx_record(0, list)) == r->team->self)
			check("load", rmc_tx_load(r->db, rmc_tx_record(0, list), &empty, 8));
	}
	check("barrier", rmc_team_barrier(r->team));
	if (r->team->self < r->clients)
		run(&l);
	check("the last writes", rmc_tx_quiet(r->db));
	check("barrier", rmc_team_barrier(r->team));
	text = collect(&l, &bytes);
	appends[0] = l.appends;
	appends[1] = l.full;
	check("adding up", rmc_coll_reduce(r->coll, 0, appends, sum, 2, RMC_U64, RMC_SUM));
	if (!r->team->self && r->history)
		save(r->history, text, bytes);
	if (!r->team->self)
		status = judge(r, text, bytes, sum);
	free(text);
	check_free(&l.h);
	for (i = 0; i < PARTS; i++)
		free(l.part[i].seen);
	close_all(r);
	return status;
}
