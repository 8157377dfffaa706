// SPDX-License-Identifier: GPL-2.0
/*
 * How long a commit takes, in virtual time, without costs of software, whatever the number of
 * nodes: with SW-Impl two round trips of a remote read, and one if it only reads; with the RMC's
 * transactions one. What is stored, and unlocked, is not waited for.
 */
#include <stdlib.h>
#include <rmc/rmc.h>
#include "../tap.h"
#include "rmc_sim.h"

#define NODES	8
#define ONE_WAY	1000		/* ns */

static const char *name;		/* of the system */
static uint64_t blocking_read, writes[NODES], reads_only[NODES];

/* A transaction that has read records of so many other nodes, and writes them or not: its commit */
static uint64_t commit(struct rmc_tx_db *db, int nodes, int write)
{
	struct rmc_tx *t;
	uint64_t before, value = 1;
	const void *p;
	int i, err;

	CHECK_EQ(rmc_tx_begin(db, &t), 0);
	for (i = 1; i <= nodes; i++) {
		err = rmc_tx_get(t, rmc_tx_record(0, i), sizeof(value), &p);
		CHECK_EQ(err, 0);
		/* and one record of each node that it only reads */
		CHECK_EQ(rmc_tx_get(t, rmc_tx_record(0, NODES + i), sizeof(value), &p), 0);
		if (write)
			CHECK_EQ(rmc_tx_put(t, rmc_tx_record(0, i), &value, sizeof(value)), 0);
	}
	before = rmc_sim_now();
	CHECK_EQ(rmc_tx_commit(t), 0);
	return rmc_sim_now() - before;
}

static void member(void *arg)
{
	const struct rmc_tx_table table = { .records = 2 * NODES, .bytes = sizeof(uint64_t) };
	struct rmc_tx_options o = { .system = name, .table = &table, .tables = 1 };
	struct rmc_team *team = rmc_team_open(0, rmc_tx_bytes(NODES, &o));
	struct rmc_tx_db *db = team ? rmc_tx_open(team, &o) : NULL;
	uint64_t value = 0, start;
	int i, id;
	char *buf;

	(void)arg;
	if (!db) {
		printf("# %s\n", rmc_errmsg());
		CHECK(!"set-up");
		return;
	}
	for (i = 0; i < 2 * NODES; i++)
		if (rmc_tx_home(db, rmc_tx_record(0, i)) == team->self)
			CHECK_EQ(rmc_tx_load(db, rmc_tx_record(0, i), &value, sizeof(value)), 0);
	CHECK_EQ(rmc_team_barrier(team), 0);
	if (team->self)
		return;
	buf = aligned_alloc(4096, 4096);
	id = rmc_buf_register(team->ctx, buf, 4096);
	CHECK(id >= 0);
	start = rmc_sim_now();
	CHECK_EQ(rmc_read(team->qp, 1, team->offset, buf, 8), 0);
	blocking_read = rmc_sim_now() - start;
	for (i = 1; i < NODES; i++) {
		reads_only[i] = commit(db, i, 0);
		writes[i] = commit(db, i, 1);
		CHECK_EQ(rmc_tx_quiet(db), 0);
	}
	free(buf);
}

/* How many round trips commits of a system take: those that write, and those that only read */
static void measure(const char *system, uint64_t writing, uint64_t reading)
{
	struct rmc_sim_options o = { .nodes = NODES, .seed = 1, .one_way_ns = ONE_WAY };
	int i;

	name = system;
	CHECK_EQ(rmc_sim_init(&o), 0);
	for (i = 0; i < NODES; i++)
		rmc_sim_spawn(i, member, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
	printf("# %s: a blocking read takes %llu ns, a commit with 1 to %d other nodes:", system,
	       (unsigned long long)blocking_read, NODES - 1);
	for (i = 1; i < NODES; i++)
		printf(" %.3f", (double)writes[i] / blocking_read);
	printf(" times as long\n");
	CHECK_EQ(blocking_read, 2 * ONE_WAY);
	for (i = 1; i < NODES; i++) {
		CHECK_EQ(writes[i], writing * blocking_read);
		CHECK_EQ(reads_only[i], reading * blocking_read);
	}
}

int main(void)
{
	measure("sw", 2, 1);
	tap_result("a commit takes two round trips, one that only reads takes one");
	measure("rmc", 1, 1);
	tap_result("with the RMC's transactions each takes one");
	return tap_done();
}
