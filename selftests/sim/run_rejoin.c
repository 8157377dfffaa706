// SPDX-License-Identifier: GPL-2.0
/*
 * A member crashes during collectives, and a new one takes its place. Members that detect the
 * crash revoke the team, all members rejoin, and the collectives start again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runs.h"

#define ROUNDS		5
#define ROUND_NS	2000000	/* so that the crash comes before the end */
#define CHUNK		64
#define ATTEMPTS	6
#define LINGER_US	1000000	/* a member whose last reply was lost retries */

static int finished[RUN_NODES];
static unsigned int opened;	/* teams */

static void plan(void)
{
	memset(finished, 0, sizeof(finished));
	opened = 0;
}

/* Sums and barriers. Returns 0, or the error that ended them. */
static int work(struct rmc_team *t)
{
	struct rmc_coll *c = rmc_coll_open(t, 0, CHUNK);
	uint64_t in, out, want = 0;
	int i, m, err = 0;

	RUN_CHECK(c, "%s", rmc_errmsg());
	for (i = 0; c && !err && i < ROUNDS && !run.failed; i++) {
		in = (uint64_t)(t->self + 1) << (8 * i);
		for (want = 0, m = 0; m < t->nodes; m++)
			want += (uint64_t)(m + 1) << (8 * i);
		err = rmc_coll_allreduce(c, &in, &out, 1, RMC_U64, RMC_SUM);
		RUN_CHECK(err || out == want, "sum of round %d is %llx", i,
			  (unsigned long long)out);
		rmc_sim_compute(ROUND_NS);
		if (!err)
			err = rmc_team_barrier(t);
	}
	rmc_coll_close(c);
	return err;
}

static void member(void *arg)
{
	struct rmc_team *t = rmc_team_open(0, rmc_coll_bytes(RUN_NODES, CHUNK));
	int attempt, err = -1;

	(void)arg;
	RUN_CHECK(t, "%s", rmc_errmsg());
	/* only when all have joined: a node outside the team is no survivor of it */
	if (++opened == run.o.nodes) {
		uint64_t at = rmc_sim_now() + run_choose(ROUND_NS * (ROUNDS - 1));

		run_crash(at, at + 1000000 + run_choose(300) * 1000000);
	}
	for (attempt = 0; t && attempt < ATTEMPTS && !run.failed; attempt++) {
		err = work(t);
		if (!err)
			break;
		rmc_team_revoke(t);
		err = rmc_team_rejoin(t, 0);
		RUN_CHECK(!err, "rejoining: %s", rmc_strerror(err));
	}
	if (!t || run.failed)
		return;
	RUN_CHECK(!err, "all attempts failed: %s", rmc_strerror(err));
	finished[t->self]++;
	usleep(LINGER_US);
	rmc_team_close(t);
}

static void check(void)
{
	unsigned int i;

	for (i = 0; i < run.o.nodes; i++)
		RUN_CHECK(finished[i] == 1, "member %u finished %d times", i, finished[i]);
}

const struct run_kind run_rejoin = {
	.name = "rejoin", .plan = plan, .member = member, .again = member, .check = check,
};
