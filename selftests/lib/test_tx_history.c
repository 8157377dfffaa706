/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Several clients run transactions over lists at once: they append numbers, and read whole lists.
 * lib/check decides whether the history is strictly serializable. Records have several lines, which
 * RMCs move one by one, from the first to the last or the other way. With several slots, a node runs
 * a transaction wherever another one waits; requests, replies and lines of writes may be lost.
 */
#include <stdlib.h>
#include <string.h>
#include "tx_cluster.h"
#include "tx_lists.h"

#define LISTS		6
#define ROOM		80		/* elements of a list: 648 bytes, eleven lines */
#define SLOTS		4		/* at most */
#define CLIENTS		(CLUSTER_NODES * SLOTS)
#ifndef ROUNDS
#define ROUNDS		150		/* that each node commits; fewer with slots */
#endif
#define PARTS		3		/* of each transaction */
#define TRIES		20		/* for each that is committed */
/*
 * A yield takes long if programs of others run: after so many seconds a history ends with fewer.
 * Nothing else depends on the time.
 */
#define SECONDS		6
#define FEWER		5

struct list {
	uint64_t n, element[ROOM];
};

struct part {
	int list, append, known;
	uint64_t value;
	struct list seen;
};

/* A client, what it has done, and what it does now */
struct client {
	struct cluster_node *node;
	struct check_history history;
	uint64_t seed, number;
	struct part part[PARTS];
	int id, parts, readers;
};

/* A node: its clients run one inside the other, each in a slot of its own */
struct member {
	struct client client[SLOTS];
	uint64_t seed;			/* of its RMC */
	int depth, rounds, tries, full;
	pthread_t thread;
};

static struct cluster c;
static struct member member[CLUSTER_NODES];
static uint64_t met, changed;	/* reads of what is written; squashes by it */
static unsigned int loss, slots;	/* in 1000 operations */
static uint64_t doubts;			/* steps of what was in doubt */
static uint64_t late;			/* rmc_now_ns() */
static int rounds;

/* ---- faults ---- */

static int lose(struct cluster_node *n, unsigned int of_1000)
{
	uint64_t *seed = &member[n->nid].seed;

	if (!of_1000 || choose(seed, 1000) >= of_1000)
		return RMC_S_OK;
	return choose(seed, 4) ? RMC_S_TIMEOUT : RMC_S_NODE_DOWN;
}

/* A request; a reply; the rest of a write. Reads are lost more rarely, as an RMC repeats them. */
static int lose_operation(struct cluster_node *n, const struct fake_op *op)
{
	return lose(n, op->op == RMC_OP_READ ? loss / 16 : loss / 2);
}

static int lose_line(struct cluster_node *n, const struct fake_op *op)
{
	(void)op;
	return lose(n, loss / 16);
}

/* ---- transactions ---- */

static int one_part(struct rmc_tx *t, struct part *p)
{
	struct rmc_tx_addr at = rmc_tx_record(0, (uint64_t)p->list);
	const struct list *list;
	int err = rmc_tx_get(t, at, sizeof(*list), (const void **)&list);

	if (err)
		return err;
	p->seen = *list;
	p->known = 1;
	if (!p->append)
		return 0;
	if (p->seen.n == ROOM)
		return -ENOSPC;
	p->seen.element[p->seen.n++] = p->value;
	return rmc_tx_put(t, at, &p->seen, sizeof(p->seen));
}

static int body(struct rmc_tx *t, void *arg)
{
	struct client *l = (struct client *)arg;
	int i, err = 0;

	for (i = 0; i < l->parts; i++)
		l->part[i].known = 0;
	for (i = 0; i < l->parts && !err; i++)
		err = one_part(t, &l->part[i]);
	return err;
}

static void record(struct client *l, uint64_t invoke, int err)
{
	int i;

	record_transaction(&l->history, l->id, invoke, err);
	for (i = 0; i < l->parts; i++) {
		const struct part *p = &l->part[i];

		if (p->append)
			record_append(&l->history, p->list, p->value);
		else
			record_read(&l->history, p->list, p->seen.element, p->seen.n,
				    !err && p->known);
	}
}

/* What a transaction returns that had no effect */
static int no_effect(int err)
{
	return err == -ENOSPC || (loss && err == RMC_S_NODE_DOWN) ||
	       (slots > 1 && err == RMC_TX_SQUASHED);
}

static void one(struct member *m, struct client *l)
{
	uint64_t invoke;
	int i, err;

	m->tries++;
	l->parts = 1 + (int)choose(&l->seed, PARTS);
	for (i = 0; i < l->parts; i++) {
		l->part[i].list = (int)choose(&l->seed, LISTS);
		l->part[i].append = !l->readers && !choose(&l->seed, 3);
		l->part[i].value = ++l->number * CLIENTS + (uint64_t)l->id;
	}
	l->readers = !choose(&l->seed, 4);
	invoke = tick();
	err = rmc_tx_run(l->node->db, body, l);
	if (err && !no_effect(err)) {
		printf("# %d\n", err);
		CHECK(!"an error of rmc_tx_run()");
	}
	m->rounds += !err;
	m->full += err == -ENOSPC;
	record(l, invoke, err);
}

/* A number of committed ones: how many are squashed depends on how busy the machine is. */
static int wants_more(const struct member *m)
{
	int enough = rmc_now_ns() < late ? rounds : rounds / FEWER;

	return m->rounds < enough && m->tries < TRIES * rounds;
}

/* Where a transaction waits, another one runs in the next slot, now and then. */
static void run_inside(void *arg)
{
	struct member *m = (struct member *)arg;

	if (!m->depth || m->depth == (int)slots || !wants_more(m) ||
	    choose(&m->client[m->depth].seed, 4))
		return;
	m->depth++;
	one(m, &m->client[m->depth - 1]);
	m->depth--;
}

static void *run(void *arg)
{
	struct member *m = (struct member *)arg;

	while (wants_more(m)) {
		m->depth = 1;
		one(m, &m->client[0]);
		m->depth = 0;
	}
	CHECK_EQ(rmc_tx_quiet(m->client[0].node->db), 0);
	return NULL;
}

static void open_nodes(unsigned int flags, int backwards, uint64_t seed)
{
	static const struct rmc_tx_table table = { .records = LISTS, .bytes = sizeof(struct list) };
	struct rmc_tx_options o = {
		.table = &table, .tables = 1, .flags = flags, .tries = 8, .slots = slots,
		/* a transaction may be in conflict with the one that it runs inside of */
		.limit_ms = 600000,		/* a busy machine takes its time */
		.attempts = slots > 1 ? 5 : 0, .wait = slots > 1 ? run_inside : NULL,
	};
	struct list empty = { 0, { 0 } };
	int i, k;

	memset(&c, 0, sizeof(c));
	memset(member, 0, sizeof(member));
	o.wait_arg = &member[0];
	c.reorder = loss != 0;
	cluster_open(&c, CLUSTER_NODES, &o);
	c.backwards = backwards;
	c.yields = 1;
	for (i = 0; i < LISTS; i++)
		rmc_tx_load(c.node[i % CLUSTER_NODES].db, rmc_tx_record(0, (uint64_t)i), &empty,
			    sizeof(empty));
	for (i = 0; i < CLUSTER_NODES; i++) {
		c.node[i].db->o.wait_arg = &member[i];
		member[i].seed = seed_of_client(seed + 100 + (uint64_t)i);
		for (k = 0; k < SLOTS; k++) {
			member[i].client[k] = (struct client){
				.node = &c.node[i], .id = i * SLOTS + k,
				.seed = seed_of_client(seed + (uint64_t)(i * SLOTS + k)),
			};
			init_lists(&member[i].client[k].history, LISTS);
		}
	}
	c.before = c.after = lose_operation;
	c.line = lose_line;
}

static void history(unsigned int flags, int backwards, uint64_t seed)
{
	struct rmc_tx_stats s, sum = { 0 };
	struct check_history all;
	int i, full = 0;

	rounds = slots > 1 ? ROUNDS / 5 * 2 : ROUNDS;
	open_nodes(flags, backwards, seed);
	late = rmc_now_ns() + SECONDS * 1000000000ULL;
	for (i = 0; i < CLUSTER_NODES; i++)
		pthread_create(&member[i].thread, NULL, run, &member[i]);
	for (i = 0; i < CLUSTER_NODES; i++)
		pthread_join(member[i].thread, NULL);
	init_lists(&all, LISTS);
	for (i = 0; i < CLIENTS; i++)
		add_history(&all, &member[i / SLOTS].client[i % SLOTS].history);
	check_lists(&all);
	for (i = 0; i < CLUSTER_NODES; i++) {
		rmc_tx_stats(c.node[i].db, &s);
		full += member[i].full;
		/* else it would have shown little */
		CHECK(member[i].rounds >= rounds / FEWER);
		sum.committed += s.committed;
		sum.repeated += s.repeated;
		sum.lost += s.lost;
		sum.torn_reads += s.torn_reads;
		sum.locked_reads += s.locked_reads;
		sum.squashed[RMC_TX_CHECK_CHANGED] += s.squashed[RMC_TX_CHECK_CHANGED];
		sum.squashed[RMC_TX_LOCK_CHANGED] += s.squashed[RMC_TX_LOCK_CHANGED];
		sum.squashed[RMC_TX_BY_OTHER] += s.squashed[RMC_TX_BY_OTHER];
	}
	printf("# %llu committed, reads: %llu locked, %llu torn; %llu + %llu squashed by changes\n",
	       (unsigned long long)sum.committed, (unsigned long long)sum.locked_reads,
	       (unsigned long long)sum.torn_reads,
	       (unsigned long long)sum.squashed[RMC_TX_CHECK_CHANGED],
	       (unsigned long long)sum.squashed[RMC_TX_LOCK_CHANGED]);
	met += sum.locked_reads + sum.torn_reads;
	changed += sum.squashed[RMC_TX_CHECK_CHANGED] + sum.squashed[RMC_TX_LOCK_CHANGED] +
		   sum.squashed[RMC_TX_BY_OTHER];
	CHECK_EQ(sum.lost, 0);
	if (loss)
		printf("# %llu steps of writes and unlocks in doubt\n",
		       (unsigned long long)sum.repeated);
	doubts += sum.repeated;
	CHECK(loss || !sum.repeated);
	/* lists that are full would leave nothing to find */
	CHECK(full < 10);
	cluster_close(&c);
	for (i = 0; i < CLIENTS; i++)
		check_free(&member[i / SLOTS].client[i % SLOTS].history);
	check_free(&all);
}

static const struct {
	const char *name;
	unsigned int slots, loss, flags;
	int backwards;
} histories[] = {
	{ "strictly serializable, own records by loads and stores", 1, 0, 0, 0 },
	{ "and with the lines of a write from the last to the first", 1, 0, 0, 1 },
	{ "strictly serializable, own records through the RMC, too", 1, 0, RMC_TX_ALL_REMOTE, 0 },
	{ "strictly serializable with several slots", SLOTS, 0, 0, 0 },
	{ "and if operations in any order are lost", SLOTS, 50, RMC_TX_ALL_REMOTE, 0 },
	{ "and if many are", SLOTS, 200, 0, 1 },
};

/* [SEED [NUMBER]]: other histories than usual; only one of them, from 1 on */
int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0, i;
	uint64_t only = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	for (i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
		if (only && only != i + 1)
			continue;
		slots = histories[i].slots;
		loss = histories[i].loss;
		history(histories[i].flags, histories[i].backwards, 1000 * seed + i + 1);
		tap_result(histories[i].name);
	}
	CHECK(changed);
	/* those with losses are the last ones */
	CHECK(!cluster_is_sw() || (met && (doubts || !loss)));
	tap_result("transactions were in each other's way");
	return tap_done();
}
