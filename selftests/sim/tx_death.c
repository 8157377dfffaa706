// SPDX-License-Identifier: GPL-2.0
/*
 * A transaction that the RMC commits, and a death at any time of it, in virtual time: node 0 moves
 * money from a record of node 1 to one of node 2.
 *
 *	process of node 0	it has happened wholly, or not at all; nobody is in others' way
 *	node 1, a home		what node 2 has fits what node 0 was told
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../tap.h"
#include "rmc_sim.h"

#define NODES		3
#define MONEY		100
#define SUM		10
#define ONE_WAY_NS	1000U
#define STEP_NS		170U
#define MOST_NS		50000U
#define LATER_NS	2000000000ULL	/* all time limits are over */

enum death { PROCESS, HOME };

static const char *const systems[] = { "hades", "rmc" };
static const char *name;
static enum death death;
static uint64_t begin_ns, after_ns, end_ns;	/* it dies so long after begin_ns */
static int armed, died, result;
static jmp_buf dead;
static struct rmc_team *own;
static int64_t seen[NODES];

static void crash_home(void *arg)
{
	(void)arg;
	rmc_sim_crash(1);
}

/* Where it waits, the process may die */
static void at_wait(void *arg)
{
	(void)arg;
	if (!armed || death != PROCESS || rmc_sim_wait_until(begin_ns + after_ns))
		return;
	died = 1;
	/* the kernel closes the file of a process that was killed */
	close(rmc_fd(own->ctx));
	longjmp(dead, 1);
}

static int add(struct rmc_tx *t, uint64_t rid, int64_t sum)
{
	const int64_t *p;
	int64_t v;
	int err = rmc_tx_get(t, rmc_tx_record(0, rid), sizeof(*p), (const void **)&p);

	if (err)
		return err;
	seen[rid] = *p;
	v = *p + sum;
	return sum ? rmc_tx_put(t, rmc_tx_record(0, rid), &v, sizeof(v)) : 0;
}

static int move(struct rmc_tx *t, void *arg)
{
	int err = add(t, 1, -SUM);

	(void)arg;
	return err ? err : add(t, 2, SUM);
}

static int look(struct rmc_tx *t, void *arg)
{
	int err = death == HOME ? 0 : add(t, 1, 0);

	(void)arg;
	return err ? err : add(t, 2, 0);
}

/* Node 2, later: what there is; and all of it can be written */
static void judge(struct rmc_tx_db *db)
{
	rmc_sim_sleep_until(LATER_NS);
	CHECK_EQ(rmc_tx_run(db, look, NULL), 0);
	if (death == HOME) {
		/* without the first node nothing is known to have happened */
		CHECK_EQ(seen[2], !result || result == RMC_TX_IN_DOUBT ? MONEY + SUM : MONEY);
		return;
	}
	CHECK_EQ(seen[1] + seen[2], 2 * MONEY);
	CHECK(seen[1] == MONEY || seen[1] == MONEY - SUM);
	CHECK(died || seen[1] == MONEY - SUM);
	CHECK_EQ(rmc_tx_run(db, move, NULL), 0);
}

static void member(void *arg)
{
	const struct rmc_tx_table table = { .records = NODES, .bytes = sizeof(int64_t) };
	struct rmc_tx_options o = {
		.system = name, .table = &table, .tables = 1, .attempts = 100,
	};
	struct rmc_team *team;
	struct rmc_tx_db *db;
	int64_t money = MONEY;

	(void)arg;
	if (!rmc_sim_nid())
		o.wait = at_wait;
	team = rmc_team_open(0, rmc_tx_bytes(NODES, &o));
	db = team ? rmc_tx_open(team, &o) : NULL;
	CHECK(db);
	if (!db)
		return;
	CHECK_EQ(rmc_tx_load(db, rmc_tx_record(0, (uint64_t)team->self), &money, sizeof(money)), 0);
	CHECK_EQ(rmc_team_barrier(team), 0);
	if (team->self == 2)
		judge(db);
	if (team->self)
		return;
	own = team;
	begin_ns = rmc_sim_now();
	if (death == HOME)
		rmc_sim_at(begin_ns + after_ns, crash_home, NULL);
	armed = 1;
	if (setjmp(dead))
		return;
	result = rmc_tx_run(db, move, NULL);
	armed = 0;
	end_ns = rmc_sim_now();
}

static void one(void)
{
	struct rmc_sim_options o = {
		.nodes = NODES, .seed = 1 + after_ns, .one_way_ns = ONE_WAY_NS, .timeout_ms = 20,
		.dead_ms = 100,
	};

	end_ns = 0;
	armed = died = result = 0;
	CHECK_EQ(rmc_sim_init(&o), 0);
	for (unsigned int i = 0; i < NODES; i++)
		rmc_sim_spawn(i, member, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
}

static void each_step(enum death how, const char *title)
{
	unsigned int i;

	death = how;
	for (i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		name = systems[i];
		for (after_ns = 0; after_ns < MOST_NS && !tap_failures; after_ns += STEP_NS) {
			one();
			if (end_ns && end_ns < begin_ns + after_ns)
				break;
		}
		/* two reads, and a commit */
		CHECK(after_ns > 6 * ONE_WAY_NS && after_ns < MOST_NS);
		printf("# %s: %llu ns\n", name, (unsigned long long)after_ns);
	}
	tap_result(title);
}

int main(void)
{
	each_step(PROCESS, "the process dies at any time: all or nothing, and others go on");
	each_step(HOME, "a home dies at any time: the others have what the coordinator was told");
	return tap_done();
}
