/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Histories of clients whose transactions work on keys of several structures at once. A list is a
 * set of keys: one has its length, the others its elements.
 *
 *	list l, of structure l modulo 4		key l * ROOM		length
 *						key l * ROOM + 1 ..	elements, in order
 *
 * A transaction appends to lists and reads whole lists, so its keys are in several structures.
 * An append inserts a key, and so splits, extends or rises; it writes the length anew, or deletes
 * the key and inserts it again. lib/check decides whether all of that is strictly serializable.
 */
#include <stdlib.h>
#include <string.h>
#include "structure_test.h"
#include "tx_cluster.h"
#include "tx_lists.h"

#define LISTS		8
#define ROOM		32
#define CLIENTS		3
#ifndef ROUNDS
#define ROUNDS		60		/* transactions of each client */
#endif
#define PARTS		3
#define BLOCKS		600
#define MOVED		5		/* one of so many appends writes the length elsewhere */

enum { TABLE, TREE, MAP, BTREE, KINDS };

struct part {
	int list, append, known, move;
	uint64_t value, n, seen[ROOM];
};

struct client {
	struct rmc_tx_db *db;
	struct rmc_blocks *blocks[KINDS];
	void *s[KINDS];
	struct check_history history;
	struct part part[PARTS];
	uint64_t seed, number;
	int id, parts, full, committed;
	pthread_t thread;
};

static const struct rmc_tx_table tables[KINDS] = {
	{ .records = BLOCKS, .bytes = RMC_TABLE_BYTES },
	{ .records = BLOCKS, .bytes = RMC_TREE_BYTES_MIN },
	{ .records = BLOCKS, .bytes = RMC_MAP_BYTES },
	{ .records = BLOCKS, .bytes = RMC_BTREE_BYTES_MIN },
};

static struct cluster c;
static struct client client[CLIENTS];
static uint64_t squashed;

/* --- keys --- */

static int run_action(struct client *l, int kind, struct action a, uint64_t *value)
{
	int (*const act[KINDS])(void *, const struct action *, uint64_t *) = {
		table_act, tree_act, map_act, btree_act,
	};

	return act[kind](l->s[kind], &a, value);
}

static int get_key(struct client *l, int list, uint64_t i, uint64_t *value)
{
	return run_action(l, list % KINDS, (struct action){ GET, (uint64_t)list * ROOM + i, 0 },
			  value);
}

static int change_key(struct client *l, enum what what, int list, uint64_t i, uint64_t value)
{
	uint64_t none;

	return run_action(l, list % KINDS,
			  (struct action){ what, (uint64_t)list * ROOM + i, value }, &none);
}

static int write_length(struct client *l, const struct part *p)
{
	int err;

	if (!p->move)
		return change_key(l, PUT, p->list, 0, p->n);
	err = change_key(l, DELETE, p->list, 0, 0);
	if (err && err != -ENOENT)
		return err;
	return change_key(l, INSERT, p->list, 0, p->n);
}

static int read_list(struct client *l, struct part *p)
{
	uint64_t i;
	int err = get_key(l, p->list, 0, &p->n);

	if (err == -ENOENT) {
		p->n = 0;
		err = 0;
	}
	if (!err && p->n >= ROOM)
		err = -EPROTO;
	/* an element that is missing: only if this transaction sees several times */
	for (i = 0; i < p->n && !err; i++)
		err = get_key(l, p->list, i + 1, &p->seen[i]);
	return err;
}

static int one_part(struct client *l, struct part *p)
{
	int err = read_list(l, p);

	if (err)
		return err;
	p->known = 1;
	if (!p->append)
		return 0;
	if (p->n == ROOM - 1)
		return -ENOSPC;
	p->n++;
	err = change_key(l, INSERT, p->list, p->n, p->value);
	return err ? err : write_length(l, p);
}

static int body(struct rmc_tx *t, void *arg)
{
	struct client *l = (struct client *)arg;
	int i, err = 0;

	for (i = 0; i < KINDS && !err; i++)
		err = rmc_tx_blocks_use(l->blocks[i], t);
	for (i = 0; i < l->parts; i++)
		l->part[i].known = 0;
	for (i = 0; i < l->parts && !err; i++)
		err = one_part(l, &l->part[i]);
	return err;
}

/* --- histories --- */

static void record(struct client *l, uint64_t invoke, int err)
{
	int i;

	record_transaction(&l->history, l->id, invoke, err);
	for (i = 0; i < l->parts; i++) {
		const struct part *p = &l->part[i];

		if (p->append)
			record_append(&l->history, p->list, p->value);
		else
			record_read(&l->history, p->list, p->seen, p->n, !err && p->known);
	}
}

static void *run(void *arg)
{
	struct client *l = (struct client *)arg;
	uint64_t invoke;
	int i, k, err;

	for (i = 0; i < ROUNDS; i++) {
		l->parts = 1 + (int)choose(&l->seed, PARTS);
		for (k = 0; k < l->parts; k++) {
			l->part[k].list = (int)choose(&l->seed, LISTS);
			l->part[k].append = !choose(&l->seed, 3);
			l->part[k].move = !choose(&l->seed, MOVED);
			l->part[k].value = ++l->number * CLIENTS + (uint64_t)l->id;
		}
		invoke = tick();
		err = rmc_tx_run(l->db, body, l);
		if (err && err != -ENOSPC) {
			printf("# %d\n", err);
			CHECK(!"an error of a transaction");
		}
		l->full += err == -ENOSPC;
		l->committed += !err;
		record(l, invoke, err);
	}
	CHECK_EQ(rmc_tx_quiet(l->db), 0);
	return NULL;
}

static void open_client(int i, uint64_t seed)
{
	static const uint32_t structures[KINDS] = {
		RMC_BLOCKS_TABLE, RMC_BLOCKS_TREE, RMC_BLOCKS_MAP, RMC_BLOCKS_BTREE,
	};
	struct client *l = &client[i];
	int k;

	l->db = c.node[i].db;
	l->id = i;
	l->seed = seed_of_client(seed * CLIENTS + (uint64_t)i + 1);
	for (k = 0; k < KINDS; k++) {
		l->blocks[k] = rmc_tx_blocks_open(l->db, (uint32_t)k, structures[k],
						  k == TABLE ? 16 : 1);
		if (!l->blocks[k])
			exit(printf("Bail out! %s\n", rmc_errmsg()));
	}
	l->s[TABLE] = table_open(l->blocks[TABLE], 0);
	l->s[TREE] = tree_open(l->blocks[TREE], RMC_TREE_LINK);
	l->s[MAP] = map_open(l->blocks[MAP], 0);
	l->s[BTREE] = btree_open(l->blocks[BTREE], 0);
	CHECK(l->s[TABLE] && l->s[TREE] && l->s[MAP] && l->s[BTREE]);
	init_lists(&l->history, LISTS);
}

static void close_client(struct client *l)
{
	int k;

	table_close(l->s[TABLE]);
	tree_close(l->s[TREE]);
	map_close(l->s[MAP]);
	btree_close(l->s[BTREE]);
	for (k = 0; k < KINDS; k++)
		rmc_blocks_close(l->blocks[k]);
	check_free(&l->history);
}

static void history(unsigned int flags, int backwards, uint64_t seed)
{
	struct rmc_tx_options o = {
		.table = tables, .tables = KINDS, .records = 1024, .flags = flags, .tries = 8,
		.limit_ms = 600000, .attempts = 100000,
	};
	int i, k, full = 0, committed = 0;
	struct check_history all;
	struct rmc_tx_stats s;

	memset(&c, 0, sizeof(c));
	memset(client, 0, sizeof(client));
	cluster_open(&c, CLIENTS, &o);
	c.backwards = backwards;
	c.yields = 1;
	for (i = 0; i < CLIENTS; i++)
		open_client(i, seed);
	for (i = 0; i < CLIENTS; i++)
		pthread_create(&client[i].thread, NULL, run, &client[i]);
	for (i = 0; i < CLIENTS; i++)
		pthread_join(client[i].thread, NULL);
	init_lists(&all, LISTS);
	for (i = 0; i < CLIENTS; i++)
		add_history(&all, &client[i].history);
	check_lists(&all);
	for (i = 0; i < CLIENTS; i++) {
		rmc_tx_stats(client[i].db, &s);
		for (k = 0; k < RMC_TX_CAUSES; k++)
			squashed += s.squashed[k];
		full += client[i].full;
		committed += client[i].committed;
	}
	/* else it would have shown little */
	CHECK(committed > ROUNDS * CLIENTS / 2);
	printf("# %d committed, %d found no room, %llu squashed so far\n", committed, full,
	       (unsigned long long)squashed);
	for (i = 0; i < CLIENTS; i++)
		close_client(&client[i]);
	cluster_close(&c);
	check_free(&all);
}

/* [SEED]: other histories than usual */
int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;

	history(0, 0, 10 * seed + 1);
	tap_result("keys of four structures are strictly serializable, own blocks by loads");
	history(RMC_TX_ALL_REMOTE, 0, 10 * seed + 2);
	tap_result("and with own blocks through the RMC, too");
	history(0, 1, 10 * seed + 3);
	tap_result("and with the lines of a write from the last to the first");
	CHECK(squashed);
	tap_result("transactions were in each other's way");
	return tap_done();
}
