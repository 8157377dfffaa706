// SPDX-License-Identifier: GPL-2.0
/*
 * Applications that block each other or themselves: no process hangs, and third parties
 * continue to work.
 */
#include <stdlib.h>
#include <string.h>
#include "common.h"

#define LEN	(64 * 1024)
#define BIG	(3UL << 20)

TEST(cq_that_nobody_drains)
{
	enum { ENTRIES = 16 };
	struct rmc_qp *other;
	struct end owner, user;
	int i;

	end_open(&owner, CTX, 0, LEN, 0, 0);
	end_open(&user, CTX, 1, 0, LEN, ENTRIES);
	other = rmc_qp_create(user.ctx, ENTRIES);
	REQUIRE(other);
	for (i = 0; i < ENTRIES; i++)
		rmc_read_async(user.qp, i, 0, 0, user.buf, 4096);
	for (i = 0; i < 2000; i++)
		REQUIRE_EQ(rmc_read(other, 0, 0, user.buf + 4096, 64), RMC_S_OK);
	/* the CQ is full, and all completions are correct */
	CHECK_EQ((int)rmc_qp_in_flight(user.qp), ENTRIES);
	CHECK_EQ(rmc_drain_cq(user.qp, NULL), RMC_S_OK);
	CHECK_EQ(rmc_read(user.qp, 0, 0, user.buf, 64), RMC_S_OK);
	/* once more, but the file is closed without polling the CQ */
	for (i = 0; i < ENTRIES; i++)
		rmc_read_async(user.qp, (int)(user.qp->head & user.qp->mask), 0, 0, user.buf, 4096);
	end_close(&user);
}

static struct {
	struct end *e;
	int left, seen;
} chain;

static void post_again(int slot, void *arg)
{
	struct rmc_qp *qp = arg;

	CHECK_EQ(rmc_slot_status(qp, slot), RMC_S_OK);
	chain.seen++;
	if (chain.left <= 0)
		return;
	chain.left--;
	slot = rmc_wait_for_slot(qp, post_again);
	REQUIRE(slot >= 0);
	rmc_read_async(qp, slot, 0, 0, chain.e->buf + (size_t)slot * 64, 64);
}

TEST(callback_that_posts_again)
{
	enum { ENTRIES = 32, COUNT = 5000 };
	struct end owner, user;
	int i;

	end_open(&owner, CTX, 0, LEN, 0, 0);
	end_open(&user, CTX, 1, 0, LEN, ENTRIES);
	rmc_qp_set_arg(user.qp, user.qp);
	chain.e = &user;
	chain.left = COUNT;
	for (i = 0; i < ENTRIES; i++)
		rmc_read_async(user.qp, i, 0, 0, user.buf + (size_t)i * 64, 64);
	CHECK_EQ(rmc_drain_cq(user.qp, post_again), RMC_S_OK);
	CHECK_EQ(chain.seen, ENTRIES + COUNT);
	CHECK_EQ(chain.left, 0);
}

/* Join a team of two loopback nodes. */
static struct rmc_team *join(const char *node, size_t len)
{
	struct rmc_team *team;

	setenv("RMC_NODE", node, 1);
	setenv("RMC_NODES", "2", 1);
	team = rmc_team_open(CTX, len);
	REQUIRE(team);
	return team;
}

/* Messages are large and pulled: a kill at any time usually hits the middle of one. */
TEST_WITHIN(sender_killed_while_pulled_from, 90)
{
	size_t at = rmc_msg_bytes(2, RMC_MSG_CELLS);
	int round, status;

	for (round = 0; round < 3; round++) {
		struct rmc_team *team;
		struct rmc_msg *m;
		uint8_t *in = memory(BIG);
		pid_t sender = helper();
		int err, got = 0;
		size_t len;

		if (!sender) {
			team = join("1", at + BIG);
			m = rmc_msg_open(team, 0);
			REQUIRE(m);
			while (!rmc_msg_send(m, rmc_team_nid(team, 0), (uint8_t *)team->seg + at, BIG, 0))
				;
			_exit(0);
		}
		team = join("0", at + BIG);
		m = rmc_msg_open(team, 0);
		REQUIRE(m);
		while (!(err = rmc_msg_recv(m, rmc_team_nid(team, 1), in, BIG, &len, NULL, 0)))
			if (++got == 2 + round)
				kill(sender, SIGKILL);
		CHECK(err == RMC_S_BAD_CONTEXT || err == RMC_S_NODE_DOWN);
		CHECK(got >= 2 + round);
		REQUIRE_EQ(waitpid(sender, &status, 0), sender);
		rmc_msg_close(m);
		rmc_team_close(team);
	}
}

TEST(receiver_that_never_reads)
{
	size_t at = rmc_msg_bytes(2, RMC_MSG_CELLS);
	struct rmc_team *team;
	uint8_t buf[100] = { 0 };
	int err, sent = 0, got = 0, i;
	struct rmc_msg *m;
	size_t len;
	pid_t pid = helper();

	if (!pid) {
		team = join("1", at);
		m = rmc_msg_open(team, 0);
		REQUIRE(m);
		/* it does not poll before this barrier */
		REQUIRE_EQ(rmc_team_barrier(team), 0);
		while (!(err = rmc_msg_recv(m, rmc_team_nid(team, 0), buf, sizeof(buf), &len, NULL,
					    RMC_MSG_DONTWAIT)))
			CHECK_EQ(buf[0], got++ & 0xff);
		CHECK_EQ(err, -EAGAIN);
		CHECK(got > 0);
		REQUIRE_EQ(rmc_team_barrier(team), 0);
		_exit(0);
	}
	team = join("0", at);
	m = rmc_msg_open(team, 0);
	REQUIRE(m);
	do {
		buf[0] = (uint8_t)sent;
		err = rmc_msg_send(m, rmc_team_nid(team, 1), buf, sizeof(buf), RMC_MSG_DONTWAIT);
	} while (!err && ++sent < 1000000);
	CHECK_EQ(err, -EAGAIN);
	CHECK(sent > 0 && sent <= RMC_MSG_CELLS);
	/* other operations still reach the receiver's memory */
	REQUIRE(rmc_buf_register(team->ctx, buf, sizeof(buf)) >= 0);
	for (i = 0; i < 100; i++)
		CHECK_EQ(rmc_read(team->qp, rmc_team_nid(team, 1), team->offset, buf, 64), RMC_S_OK);
	CHECK_EQ(rmc_msg_flush(m, rmc_team_nid(team, 1)), 0);
	REQUIRE_EQ(rmc_team_barrier(team), 0);
	REQUIRE_EQ(rmc_team_barrier(team), 0);
	CHECK(helper_ok(pid));
}

KTAP_MAIN(suite_missing)
