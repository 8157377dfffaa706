/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Small calls over rmcd: cookies, statistics of a queue pair, the
 * accessors of a team, the version. One node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include "../tap.h"

#define OPERATIONS	300
#define COOKIE(i)	(0x0123456789abcdefULL ^ (uint64_t)(i) << 32)

static struct rmc_team *team;
static uint64_t *lbuf;
static unsigned int seen[OPERATIONS];

static void collect(int slot, void *arg)
{
	uint64_t i = (rmc_qp_cookie((const struct rmc_qp *)arg, slot) ^ COOKIE(0)) >> 32;

	if (i < OPERATIONS && rmc_qp_cookie((const struct rmc_qp *)arg, slot) == COOKIE(i))
		seen[i]++;
}

static void test_cookies(void)
{
	struct rmc_qp *qp = rmc_qp_create(team->ctx, 16);
	int i, slot;

	CHECK(qp);
	CHECK_EQ(rmc_qp_cookie(qp, 3), 0);
	rmc_qp_set_arg(qp, qp);
	for (i = 0; i < OPERATIONS; i++) {
		slot = rmc_wait_for_slot(qp, collect);
		CHECK_EQ(rmc_qp_set_cookie(qp, slot, COOKIE(i)), 0);
		rmc_read_async(qp, slot, rmc_team_nid(team, 0), team->offset, lbuf, 8);
	}
	CHECK_EQ(rmc_drain_cq(qp, collect), 0);
	for (i = 0; i < OPERATIONS; i++)
		CHECK_EQ(seen[i], 1);
	rmc_qp_destroy(qp);
}

/* Sooner or later both entries are in flight when a third operation is issued. */
static void test_waits(void)
{
	struct rmc_qp *qp = rmc_qp_create(team->ctx, 2);
	struct rmc_qp_stats s = { 0 };
	int i;

	CHECK(qp);
	for (i = 0; i < 1000000 && !s.waits; i++) {
		rmc_read_async(qp, rmc_wait_for_slot(qp, NULL), rmc_team_nid(team, 0), team->offset,
			       lbuf, 4096);
		/* rarely: a slow caller never finds the queue full */
		if (i % 1000 == 999)
			CHECK_EQ(rmc_qp_stats(qp, &s), 0);
	}
	CHECK(s.waits > 0);
	CHECK_EQ(rmc_drain_cq(qp, NULL), 0);
	rmc_qp_destroy(qp);
}

static void test_statistics(void)
{
	struct rmc_qp *qp = rmc_qp_create(team->ctx, 8);
	struct rmc_qp_stats s, *longer = (struct rmc_qp_stats *)calloc(1, sizeof(s) + 8);
	int nid = rmc_team_nid(team, 0), i, slot;

	CHECK(qp && longer);
	for (i = 0; i < OPERATIONS; i++) {
		slot = rmc_wait_for_slot(qp, NULL);
		/* of every 100 reads one is beyond the segment, and one has length 0 */
		rmc_read_async(qp, slot, nid, i % 100 == 7 ? RMC_OFFSET_MAX - 8 : team->offset, lbuf,
			       i % 100 == 9 ? 0 : 8);
	}
	/* that of the first to complete, in any order */
	i = rmc_drain_cq(qp, NULL);
	CHECK(i == RMC_S_OUT_OF_RANGE || i == RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_qp_stats(qp, &s), 0);
	CHECK_EQ(s.issued, OPERATIONS);
	CHECK_EQ(s.completed, OPERATIONS);
	CHECK_EQ(s.failed, 6);
	CHECK_EQ(s.status[RMC_S_OUT_OF_RANGE], 3);
	CHECK_EQ(s.status[RMC_S_BAD_LENGTH], 3);

	/* a program of a later version gets zero in fields that this library does not know */
	memset(longer, 0xff, sizeof(s) + 8);
	CHECK_EQ(rmc_qp_stats_sized(qp, longer, sizeof(s) + 8), 0);
	CHECK_EQ(longer->issued, OPERATIONS);
	CHECK_EQ(((uint64_t *)(void *)longer)[sizeof(s) / 8], 0);
	memset(longer, 0xff, sizeof(s) + 8);
	CHECK_EQ(rmc_qp_stats_sized(qp, longer, 16), 0);
	CHECK(longer->completed == OPERATIONS && longer->failed == ~0ULL);

	/* the queue's indexes have 32 bits and wrap, the statistics do not */
	for (i = 0; i < 3; i++) {
		qp->head += 0x60000000;
		qp->tail += 0x60000000;
		CHECK_EQ(rmc_qp_stats(qp, &s), 0);
		CHECK_EQ(s.issued, OPERATIONS + (uint64_t)(i + 1) * 0x60000000);
		CHECK_EQ(s.completed, s.issued);
	}
	free(longer);
	rmc_qp_destroy(qp);
}

static void test_accessors(void)
{
	CHECK(rmc_team_ctx(team) == team->ctx && rmc_team_qp(team) == team->qp);
	CHECK(rmc_team_seg(team) == team->seg);
	CHECK_EQ(rmc_team_len(team), 4096);
	CHECK_EQ(rmc_team_offset(team), team->offset);
	CHECK_EQ(rmc_team_self(team), 0);
	CHECK_EQ(rmc_team_size(team), 1);
	CHECK_EQ(rmc_team_rejoined(team), 0);
	CHECK_EQ(rmc_team_nid(team, 0), rmc_nid(team->ctx));
}

static void test_version(void)
{
	char s[32];

	snprintf(s, sizeof(s), "%d.%d.%d", RMC_VERSION_MAJOR, RMC_VERSION_MINOR,
		 RMC_VERSION_PATCH);
	CHECK(!strcmp(rmc_version(), s));
	CHECK_EQ(rmc_version_number(), RMC_VERSION);
	CHECK(RMC_VERSION_NUMBER(1, 10, 0) > RMC_VERSION_NUMBER(1, 9, 999));
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "each completion has its operation's cookie", test_cookies },
		{ "statistics of a queue pair", test_statistics },
		{ "waiting for a slot is counted", test_waits },
		{ "accessors of a team", test_accessors },
		{ "version", test_version },
	};
	int err;

	team = rmc_team_open(0, 4096);
	if (!team) {
		printf("1..0 # SKIP %s\n", rmc_errmsg());
		return 1;
	}
	lbuf = (uint64_t *)aligned_alloc(4096, 4096);
	if (rmc_buf_register(team->ctx, lbuf, 4096) < 0)
		return 1;
	err = tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	rmc_team_close(team);
	free(lbuf);
	return err;
}
