/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One member of a team whose members read and write one structure, which is in the segments of all:
 * prog_structures SCHEME|SYSTEM table|tree|map [LATCH] [OPTION...] [link|version|latch]: options
 * and latches as of rmc-sync. Prints "member N: ok ...", or the failed check and fails.
 */
#include <string.h>
#include <rmc/rmc.h>
#include "member.h"

#define OWN_KEY(m, i)	(1000 + (uint64_t)(i) * 8 + (uint64_t)(m))

static struct rmc_table *table;
static struct rmc_tree *tree;
static struct rmc_map *map;

/* Keys that all members insert at once, and keys of each member; few round trips through a map */
static unsigned int shared = 40, own = 30;

#define EITHER(f, ...) (table ? rmc_table_##f(table, __VA_ARGS__) :		\
		       tree ? rmc_tree_##f(tree, __VA_ARGS__) : rmc_map_##f(map, __VA_ARGS__))

/* Keys that all insert: one member does, and all see whose it is */
static unsigned int shared_keys(void)
{
	unsigned int i, k, mine = 0;
	uint64_t v;
	int err;

	for (i = 0; i < shared; i++) {
		k = (i + (unsigned int)team->self * shared / 3) % shared;
		err = EITHER(insert, k, (uint64_t)team->self + 1);
		CHECK(err == 0 || err == -EEXIST);
		mine += !err;
		OK(EITHER(get, k, &v));
		CHECK(v >= 1 && v <= (uint64_t)team->nodes);
		CHECK(err || v == (uint64_t)team->self + 1);
	}
	OK(rmc_team_barrier(team));
	for (k = i = 0; k < shared; k++) {
		OK(EITHER(get, k, &v));
		i += v == (uint64_t)team->self + 1;
	}
	CHECK(i == mine);
	return mine;
}

/* Written by one member, beside those of the others: in the same blocks */
static void own_keys(void)
{
	unsigned int i, round;
	uint64_t v;
	int m;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < own; i++)
			OK(EITHER(put, OWN_KEY(team->self, i), i + round));
		for (i = 0; i < own; i += 2) {
			OK(EITHER(delete, OWN_KEY(team->self, i)));
			CHECK(EITHER(get, OWN_KEY(team->self, i), &v) == -ENOENT);
			CHECK(EITHER(update, OWN_KEY(team->self, i), 1) == -ENOENT);
		}
		for (i = 1; i < own; i += 2) {
			OK(EITHER(get, OWN_KEY(team->self, i), &v));
			CHECK(v == i + round);
		}
	}
	OK(rmc_team_barrier(team));
	for (m = 0; m < team->nodes; m++) {
		for (i = 0; i < own; i++) {
			CHECK(EITHER(get, OWN_KEY(m, i), &v) == (i % 2 ? 0 : -ENOENT));
			CHECK(!(i % 2) || v == i + 1);
		}
	}
}

static void scans(void)
{
	uint64_t next = 1000, last = 0;
	struct rmc_pair pairs[64];
	size_t found, n = 0, i;

	while (next != RMC_TREE_KEY_NONE) {
		OK(rmc_tree_scan(tree, next, 1000 + 8 * own, pairs, 64, &found, &next));
		for (i = 0; i < found; i++) {
			CHECK(pairs[i].key > last);
			last = pairs[i].key;
		}
		n += found;
	}
	CHECK(n == (size_t)team->nodes * own / 2);
}

static enum rmc_tree_coupling coupling = RMC_TREE_LINK;

static void parse(int argc, char **argv, struct rmc_blocks_options *o)
{
	const struct rmc_sync_system *system = argc > 1 ? rmc_sync_system_find(argv[1]) : NULL;
	int i;

	o->scheme = rmc_sync_find(argc > 1 ? argv[1] : "");
	if (system)
		rmc_blocks_use(o, system);
	if (!o->scheme)
		exit(2);
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "spec"))
			o->sync |= RMC_SYNC_SPEC;
		else if (!strcmp(argv[i], "combine"))
			o->sync |= RMC_SYNC_COMBINE;
		else if (!strcmp(argv[i], "async"))
			o->sync |= RMC_SYNC_ASYNC;
		else if (!strcmp(argv[i], "write-unlatch"))
			o->sync |= RMC_SYNC_WRITE_UNLATCH;
		else if (!strcmp(argv[i], "link"))
			coupling = RMC_TREE_LINK;
		else if (!strcmp(argv[i], "version"))
			coupling = RMC_TREE_VERSION;
		else if (!strcmp(argv[i], "latch"))
			coupling = RMC_TREE_LATCH;
		else
			o->latch = argv[i];
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "", *n = getenv("RMC_NODES");
	struct rmc_team_options t = { .numa_node = -1, .flags = RMC_TEAM_OBJECTS };
	struct rmc_blocks_options o = {
		.capacity = 2000,
		.nodes = n ? (unsigned int)atoi(n) : 1, .client = 1,
	};
	struct rmc_blocks_stats s;
	struct rmc_blocks *blocks;
	struct rmc_qp *qp;
	unsigned int mine;

	parse(argc, argv, &o);
	o.bytes = !strcmp(what, "tree") ? rmc_blocks_fit(o.scheme, 512) : RMC_TABLE_BYTES;
	o.fixed = !strcmp(what, "table") ? 64 : 1;
	o.structure = !strcmp(what, "table") ? RMC_BLOCKS_TABLE :
		      !strcmp(what, "tree") ? RMC_BLOCKS_TREE : RMC_BLOCKS_MAP;
	team = rmc_team_open_with(&t, rmc_blocks_bytes(&o));
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	o.offset = team->offset;
	o.first_nid = team->first_nid;
	o.nid = rmc_team_nid(team, team->self);
	OK(rmc_blocks_format(&o, team->seg));
	OK(rmc_team_barrier(team));
	qp = rmc_qp_create_with(team->ctx, RMC_BLOCKS_ENTRIES, o.sync ? RMC_QP_ORDERED : 0);
	CHECK(qp);
	blocks = rmc_blocks_open(qp, &o);
	if (!blocks) {
		printf("member %d: %s\n", team->self, rmc_errmsg());
		return 1;
	}
	table = !strcmp(what, "table") ? rmc_table_open(blocks, 0) : NULL;
	tree = !strcmp(what, "tree") ? rmc_tree_open(blocks, coupling) : NULL;
	map = !strcmp(what, "map") ? rmc_map_open(blocks) : NULL;
	CHECK(table || tree || map);
	if (map) {
		shared = 12;
		own = 6;
	}
	mine = shared_keys();
	own_keys();
	if (tree)
		scans();
	rmc_blocks_stats(blocks, &s);
	CHECK(!s.lost && !s.leaked && !s.stuck);
	rmc_table_close(table);
	rmc_tree_close(tree);
	rmc_map_close(map);
	rmc_blocks_close(blocks);
	rmc_qp_destroy(qp);
	OK(rmc_team_barrier(team));
	printf("member %d: ok, %u of %u keys, %llu reads, %llu torn, %llu locked\n", team->self,
	       mine, shared, (unsigned long long)s.reads, (unsigned long long)s.torn,
	       (unsigned long long)s.locked);
	rmc_team_close(team);
	return 0;
}
