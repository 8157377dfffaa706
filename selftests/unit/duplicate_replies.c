// SPDX-License-Identifier: GPL-2.0
/*
 * Operations whose replies a filter duplicates: the first reply to each packet counts, in any
 * order of arrival. Also what installing and removing a filter leaves behind.
 */
#include "filtered.h"
#include "kmod/core/pipeline.h"

static void set_replies(struct setup *s, const struct rmc_fault *fault)
{
	fault_set(&s->w, 1, 0, RMC_LANE_REP, fault, 1);
}

/* Filter of replies from the RRPP of @offset */
static struct rmc_filter *replies(struct setup *s, u64 offset)
{
	return s->a.qp.node->links.filter[RMC_LANE_REP][rmc_home(s->w.fabric, 1, offset)];
}

/* Every ITT entry is free, and none is quarantined. */
static void check_free(struct setup *s)
{
	u32 quarantined;

	check_quiet(s);
	CHECK_EQ(itt_free(s, &quarantined), s->w.node[0]->itt.size);
	CHECK_EQ(quarantined, 0);
}

static void check_read(struct setup *s, u32 length)
{
	CHECK(!memcmp(lbuf, seg, length));
	memset(lbuf, 0, SEG);
}

/* The first replies of a long read are late: all later ones arrive once, and count. */
static void test_first_are_late(const struct testbed_opts *o)
{
	struct rmc_fault late = { .dup = RMC_ALWAYS, .reorder = RMC_ALWAYS, .gap_ns = 5000000 };
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	struct setup s;
	u32 i;

	setup(&s, o);
	set_timeout(&s, 100, 0);
	fill(seg, SEG, 1);
	set_replies(&s, &late);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	for (i = 0; i < 100 && !replies(&s, 0)->held; i++)
		testbed_visit(&s.w);
	set_replies(&s, &dup);
	CHECK_EQ(wait_ms(&s, 4), -1);
	CHECK_EQ(wait_ms(&s, 200), RMC_S_OK);
	check_read(&s, SEG);
	check_free(&s);
	teardown(&s);
}

/* All in any order, some duplicated */
static void test_any_order(const struct testbed_opts *o)
{
	struct rmc_fault any = { .dup = 500000, .jitter_ns = 8000000 };
	struct setup s;
	u32 i;

	setup(&s, o);
	set_timeout(&s, 1000, 0);
	fill(seg, SEG, 2);
	set_replies(&s, &any);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, SEG, 900), RMC_S_OK);
		check_read(&s, SEG);
	}
	check_free(&s);
	teardown(&s);
}

/* A copy may arrive before its original; here it does. */
static void test_copy_first(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS, .delay_ns = 1000000, .gap_ns = 50000000 };
	struct setup s;
	u32 i, k, n = 0;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	fill(seg, SEG, 3);
	set_replies(&s, &dup);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * s.w.fabric->cut);
	testbed_settle(&s.w);
	for (i = 0; i < s.w.opts.rrpps; i++) {
		struct rmc_filter *flt = replies(&s, i * s.w.fabric->interleave);

		for (k = 0; k < flt->held; k++, n++)
			flt->heap[k].word0 ^= RMC_REP_COPY | RMC_REP_DUPLICATED;
	}
	CHECK_EQ(n, 4);
	CHECK_EQ(wait_ms(&s, 5), RMC_S_OK);
	check_read(&s, 2 * s.w.fabric->cut);
	check_free(&s);
	teardown(&s);
}

/* One packet is lost, later ones are not: the next operation is not affected. */
static void test_lost_before_others(const struct testbed_opts *o)
{
	struct rmc_fault slow = { .delay_ns = 5000000 }, dup = { .dup = RMC_ALWAYS };
	u32 length, i;
	struct setup s;

	setup(&s, o);
	set_timeout(&s, 50, 0);
	fill(seg, SEG, 4);
	length = 3 * s.w.fabric->cut;
	set_replies(&s, &dup);
	for (i = 0; i < 3; i++) {
		fault_set(&s.w, 0, 1, RMC_LANE_REQ, &slow, 1);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, length);
		testbed_settle(&s.w);
		s.w.node[1]->links.filter[RMC_LANE_REQ][0]->heap[0].word0 |= RMC_REQ_LOST;
		CHECK_EQ(wait_ms(&s, 100), RMC_S_TIMEOUT);
		fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
		memset(lbuf, 0, SEG);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, length, 100), RMC_S_OK);
		check_read(&s, length);
	}
	check_free(&s);
	teardown(&s);
}

/* An object that does not begin at a line, of several packets whose replies are duplicated */
static void test_unaligned_object(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	u32 length = 3 * o->mtu;
	struct setup s;
	u64 at;

	setup(&s, o);
	set_timeout(&s, 50, 0);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	set_replies(&s, &dup);
	for (at = 8; at < 64; at += 24) {
		fill(seg, SEG, at);
		memset(seg + at, 0, 16);
		CHECK_EQ(run_ms(&s, RMC_OP_SABRE, at, lbuf, length, 100), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + at, length));
	}
	check_free(&s);
	teardown(&s);
}

/* More packets than the tracking window, and larger than the blocks of the RRPPs */
static void test_long_object(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	struct testbed_opts small = *o;
	struct setup s;

	small.mtu = 512;
	small.interleave = 64;
	setup(&s, &small);
	set_timeout(&s, 50, 0);
	mem_objects(s.seg_mem, RMC_SABRE_OVERLAPPED, 0);
	set_replies(&s, &dup);
	fill(seg, SEG, 8);
	memset(seg, 0, 16);
	CHECK_EQ(run_ms(&s, RMC_OP_SABRE, 0, lbuf, 40000, 100), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, 40000));
	check_free(&s);
	teardown(&s);
}

/* The filter is removed before most of an operation was sent. */
static void test_filter_goes(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS };
	struct setup s;

	setup(&s, o);
	fill(seg, SEG, 5);
	set_replies(&s, &dup);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 10), RMC_S_OK);
	testbed_settle(&s.w);
	stop_node(&s, 1, true);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
	testbed_settle(&s.w);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	stop_node(&s, 1, false);
	CHECK_EQ(wait_ms(&s, 50), RMC_S_OK);
	check_read(&s, SEG);
	check_free(&s);
	teardown(&s);
}

/* A retransmission to a peer that has stopped polling for it. */
static void test_retransmission_in_silence(const struct testbed_opts *o)
{
	struct rmc_fault down = { .down = true };
	struct setup s;
	u32 i;

	setup(&s, o);
	set_timeout(&s, 20, 3);
	fill(seg, SEG, 6);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 1);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG);
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	CHECK_EQ(wait_ms(&s, 100), RMC_S_OK);
	CHECK(testbed_stat(&s.w, 0, restarts));
	check_read(&s, LONG);
	check_free(&s);
	teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "the first replies are late", test_first_are_late },
		{ "replies in any order, some duplicated", test_any_order },
		{ "the copy comes first", test_copy_first },
		{ "one is lost, and the entry used again", test_lost_before_others },
		{ "an object that does not begin with a line", test_unaligned_object },
		{ "an object of many packets, in small blocks", test_long_object },
		{ "a filter goes in the middle", test_filter_goes },
		{ "retransmission to a peer that stopped polling", test_retransmission_in_silence },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
