// SPDX-License-Identifier: GPL-2.0
/* The in-flight table alone: its limits, and packets that arrive late for an entry. */
#include "setup.h"

/* The table's own limits */
static void test_itt(const struct testbed_opts *o)
{
	struct rmc_account one = { 0 };
	struct rmc_itt itt = { 0 };
	struct rmc_rep p = { 0 };
	u16 a, b, c;

	CHECK_EQ(rmc_itt_init(&itt, 0), -EINVAL);
	CHECK_EQ(rmc_itt_init(&itt, RMC_TID_NONE + 1), -EINVAL);
	CHECK_EQ(rmc_itt_init(&itt, 3), 0);
	a = rmc_itt_alloc(&itt, &one);
	b = rmc_itt_alloc(&itt, &one);
	c = rmc_itt_alloc(&itt, &one);
	CHECK_EQ(itt.used, 3);
	CHECK_EQ(rmc_itt_alloc(&itt, &one), RMC_TID_NONE);
	CHECK_EQ(itt.used, 3);
	/* the entry with the longest quarantine is recalled, from the head, the middle, the end */
	itt.entry[a].replies = itt.entry[b].replies = itt.entry[c].replies = 1;
	rmc_itt_free(&itt, &itt.entry[b]);
	rmc_itt_free(&itt, &itt.entry[a]);
	rmc_itt_free(&itt, &itt.entry[c]);
	CHECK_EQ(itt.used, 0);
	CHECK_EQ(itt.quarantined, b);
	CHECK_EQ(itt.quarantined_last, c);
	p.tid = a;
	rmc_itt_late(&itt, 0, &p);
	CHECK_EQ(itt.free, a);
	CHECK_EQ(itt.entry[b].next, c);
	CHECK_EQ(itt.track[c].prev, b);
	p.tid = c;
	rmc_itt_late(&itt, 0, &p);
	CHECK_EQ(itt.quarantined, b);
	CHECK_EQ(itt.quarantined_last, b);
	/* without outstanding packets a late one changes nothing */
	rmc_itt_late(&itt, 0, &p);
	CHECK_EQ(itt.free, c);
	CHECK_EQ(rmc_itt_alloc(&itt, &one), c);
	CHECK_EQ(rmc_itt_alloc(&itt, &one), a);
	CHECK_EQ(rmc_itt_alloc(&itt, &one), b);
	CHECK_EQ(itt.quarantined, RMC_TID_NONE);
	CHECK_EQ(itt.quarantined_last, RMC_TID_NONE);
	CHECK_EQ(itt.used, 3);
	rmc_itt_destroy(&itt);
}

/* A late packet counts for its own use of the entry only. */
static void test_late(const struct testbed_opts *o)
{
	struct rmc_account one = { 0 };
	struct rmc_qpair qp = { .account = &one };
	struct rmc_itt itt = { 0 };
	struct rmc_rep p = { 0 };
	struct rmc_itt_entry *e;
	struct rmc_track *t;

	CHECK_EQ(rmc_itt_init(&itt, 2), 0);
	CHECK_EQ(rmc_itt_alloc(&itt, &one), 0);
	e = &itt.entry[0];
	t = &itt.track[0];
	e->qp = &qp;
	e->nid = 1;
	e->gen = 5;
	e->tries = 1;
	/* from another node; of a use older than the first try */
	p.gen = 5;
	rmc_itt_late(&itt, 2, &p);
	p.gen = 3;
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(t->outstanding.replies, 0);
	CHECK(!e->copied);
	p.gen = 4;
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(t->outstanding.replies, -1);
	CHECK(e->copied);
	/* the operation ends: missing packets go to the quarantine, and count for no later use */
	e->tracked = true;
	e->restarted = true;
	itt.restarts = 1;
	t->outstanding.replies = 1;
	t->outstanding.copies = 1;
	rmc_itt_free(&itt, e);
	CHECK_EQ(itt.restarts, 0);
	CHECK(!e->restarted && !e->copied && e->quarantined);
	CHECK_EQ(t->outstanding.replies, 0);
	CHECK_EQ(t->outstanding.copies, 0);
	CHECK_EQ(t->earlier.replies, 1);
	CHECK_EQ(t->earlier.copies, 1);
	/* the reply does not count as its copy */
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(itt.quarantined, 0);
	p.marks = RMC_MARK_COPY;
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(itt.quarantined, RMC_TID_NONE);
	CHECK(!e->quarantined);
	CHECK_EQ(itt.free, 0);
	/* a packet for an entry without quarantine does not start one */
	p.marks = 0;
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(t->earlier.replies, 0);
	CHECK_EQ(itt.free, 0);
	/* no tid after the last one is valid */
	itt.entry[1].quarantined = true;
	itt.track[1].earlier_nid = 1;
	itt.track[1].earlier.replies = 2;
	itt.size = 1;
	p.tid = 1;
	rmc_itt_late(&itt, 1, &p);
	CHECK_EQ(itt.track[1].earlier.replies, 2);
	rmc_itt_destroy(&itt);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "limits of the ITT", test_itt },
		{ "late packets, by their use and node", test_late },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
