// SPDX-License-Identifier: GPL-2.0
/*
 * Barriers, broadcasts, reductions and all-to-all of a team, with any faults of links. Where a
 * member crashes, the others get right results or an error, and no call blocks forever.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runs.h"

#define ROUNDS	4
#define CHUNK	256
#define WORDS	100
#define LINGER_US	1000000	/* a member whose last reply was lost retries */

static int rounds[RUN_NODES];

static void plan(void)
{
	memset(rounds, 0, sizeof(rounds));
	if (!run_choose(3))
		run.crash_ns = 500000 + run_choose(4000000);
}

static uint64_t word_of(int member, int round, int i)
{
	return (uint64_t)member << 32 | (unsigned int)(round * 1000 + i);
}

/* Returns whether the round continues. A crash ends it with an error for all other members. */
static int good(int err, const char *what)
{
	RUN_CHECK(!err || run.crash_ns, "%s: %s", what, rmc_strerror(err));
	return !err && !run.failed;
}

static int one_round(struct rmc_team *t, struct rmc_coll *c, int round)
{
	uint64_t in[WORDS], out[WORDS], sum;
	uint64_t blocks[RUN_NODES], others[RUN_NODES];
	int i, m, root = round % t->nodes;

	for (i = 0; i < WORDS; i++)
		in[i] = word_of(t->self, round, i);
	if (!good(rmc_coll_allreduce(c, in, out, WORDS, RMC_U64, RMC_SUM), "sum"))
		return 0;
	for (i = 0; i < WORDS; i++) {
		for (sum = 0, m = 0; m < t->nodes; m++)
			sum += word_of(m, round, i);
		RUN_CHECK(out[i] == sum, "element %d of round %d", i, round);
	}
	memcpy(out, in, sizeof(out));
	if (!good(rmc_coll_bcast(c, root, out, sizeof(out)), "broadcast"))
		return 0;
	RUN_CHECK(out[7] == word_of(root, round, 7), "broadcast of round %d", round);
	for (m = 0; m < t->nodes; m++)
		blocks[m] = word_of(t->self, round, m);
	if (!good(rmc_coll_alltoall(c, blocks, others, sizeof(blocks[0])), "all-to-all"))
		return 0;
	for (m = 0; m < t->nodes; m++)
		RUN_CHECK(others[m] == word_of(m, round, t->self), "block %d of round %d", m,
			  round);
	rmc_sim_compute(rmc_sim_random() % 20000);
	if (!good(rmc_team_barrier_with(t, round % 2 ? RMC_TEAM_SLEEP : 0), "barrier"))
		return 0;
	rounds[t->self]++;
	/* once a member has passed the barrier, no other is a round behind */
	for (m = 0; m < t->nodes; m++)
		RUN_CHECK(rounds[m] >= round, "%d is in round %d, not %d", m, rounds[m], round);
	return 1;
}

static void member(void *arg)
{
	struct rmc_team *t = rmc_team_open(0, rmc_coll_bytes(RUN_NODES, CHUNK));
	struct rmc_coll *c = t ? rmc_coll_open(t, 0, CHUNK) : NULL;
	int i;

	(void)arg;
	RUN_CHECK(c || run.crash_ns, "%s", rmc_errmsg());
	if (!c)
		return;
	for (i = 0; i < ROUNDS && one_round(t, c, i); i++)
		;
	/* revoke the team, so that members that wait for this one get the error too */
	if (i < ROUNDS)
		rmc_team_revoke(t);
	usleep(LINGER_US);
	rmc_coll_close(c);
	rmc_team_close(t);
}

static void check(void)
{
	unsigned int i;

	for (i = 0; i < run.o.nodes; i++)
		RUN_CHECK(rounds[i] == ROUNDS || run.crash_ns, "member %u did %d rounds", i,
			  rounds[i]);
}

const struct run_kind run_collectives = {
	.name = "collectives", .plan = plan, .member = member, .check = check,
};
