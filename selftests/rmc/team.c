// SPDX-License-Identifier: GPL-2.0
/* Barriers of a team, one process per node of this kernel, when one member dies. */
#include "common.h"

#define MEMBERS		3
#define LIMIT_MS	20000

static struct rmc_team *join(int member)
{
	struct rmc_team *t;
	char number[16];

	snprintf(number, sizeof(number), "%d", member);
	REQUIRE(!setenv("RMC_NODES", "3", 1) && !setenv("RMC_NODE", number, 1));
	t = rmc_team_open(CTX, PAGE);
	if (!t)
		ktap_say("member %d: %s", member, rmc_errmsg());
	REQUIRE(t);
	REQUIRE_EQ(rmc_team_barrier(t), 0);
	return t;
}

static int open_count(void)
{
	return (int)file_number("/sys/class/rmc_context/rmcctx0/open_count", "");
}

/* Waits for a member that has died: the first member spins, others sleep. */
static pid_t survivor(int member)
{
	pid_t pid = helper();
	struct rmc_team *t;

	if (pid)
		return pid;
	t = join(member);
	CHECK_EQ(rmc_team_barrier_for(t, member ? RMC_TEAM_SLEEP : 0, LIMIT_MS),
		 RMC_S_BAD_CONTEXT);
	/* the next barrier fails, too */
	CHECK_EQ(rmc_team_barrier_for(t, 0, LIMIT_MS), RMC_S_BAD_CONTEXT);
	rmc_team_close(t);
	_exit(0);
}

/* Leaves a child without exec() behind, which holds the file open; writes its pid to @report. */
static pid_t member_with_child(int member, int report)
{
	pid_t pid = helper(), child;

	if (pid)
		return pid;
	join(member);
	child = fork();
	if (child)
		REQUIRE(child > 0 && write(report, &child, sizeof(child)) == sizeof(child));
	for (;;)
		pause();
}

TEST(barrier_learns_that_a_member_with_a_child_died)
{
	pid_t first, second, dead, child;
	int report[2], status;

	REQUIRE(!pipe(report));
	first = survivor(0);
	second = survivor(1);
	dead = member_with_child(MEMBERS - 1, report[1]);
	REQUIRE(read(report[0], &child, sizeof(child)) == sizeof(child));
	/* the others wait by now */
	usleep(200000);
	CHECK_EQ(open_count(), MEMBERS);
	REQUIRE(!kill(dead, SIGKILL));
	REQUIRE(waitpid(dead, &status, 0) == dead);
	CHECK(WIFSIGNALED(status));
	CHECK(helper_ok(first));
	CHECK(helper_ok(second));
	/* the child has held the dead member's file open all the time */
	CHECK(!kill(child, 0));
	CHECK_EQ(open_count(), 1);
	kill(child, SIGKILL);
}

KTAP_MAIN(suite_missing)
