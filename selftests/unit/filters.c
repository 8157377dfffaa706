// SPDX-License-Identifier: GPL-2.0
/* Filters and the link model, stepped one visit at a time with a virtual clock. */
#include "filtered.h"
#include "kmod/core/pipeline.h"

/* Lost requests are not served; lost replies belong to served requests; both time out once. */
static void test_loss(const struct testbed_opts *o)
{
	struct rmc_fault down = { .down = true }, loss = { .loss = 300000 };
	u32 i, ok = 0, late = 0;
	struct setup s;
	u64 *t, sum;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	t = (u64 *)seg;
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 1);
	*(u64 *)lbuf = 7;
	CHECK_EQ(run_ms(&s, RMC_OP_FAA, 0, lbuf, 8, 100), RMC_S_TIMEOUT);
	CHECK_EQ(*t, 0);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 20000, 100), RMC_S_TIMEOUT);
	CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 0, lbuf, 20000, 100), RMC_S_TIMEOUT);
	CHECK_EQ(*t, 0);
	check_quiet(&s);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);

	fault_set(&s.w, 1, 0, RMC_LANE_REP, &down, 1);
	*(u64 *)lbuf = 7;
	CHECK_EQ(run_ms(&s, RMC_OP_FAA, 0, lbuf, 8, 100), RMC_S_TIMEOUT);
	CHECK_EQ(*t, 7);
	CHECK_EQ(*(u64 *)lbuf, 7);
	memset(lbuf, 0x11, 64);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 20000, 100), RMC_S_TIMEOUT);
	CHECK_EQ(lbuf[5], 0x11);
	check_quiet(&s);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 20000, 1), RMC_S_OK);

	/* a lost packet is not held, nor does a slow server serve it */
	down.reorder = RMC_ALWAYS;
	down.gap_ns = 1000;
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 1);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 100), RMC_S_TIMEOUT);
	for (i = 0; i < s.w.opts.units; i++) {
		struct rmc_filter *flt = s.w.node[1]->unit[i]->links.filter[RMC_LANE_REQ]
						 [s.a.qp.node->ep];

		CHECK(!flt || !flt->stats.reordered);
	}
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);

	/* both lanes; successes were executed, failures at most once */
	*t = 0;
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &loss, 2);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &loss, 3);
	for (i = 0; i < 300; i++) {
		int status;

		*(u64 *)lbuf = 1;
		status = run_ms(&s, RMC_OP_FAA, 0, lbuf, 8, 100);
		ok += status == RMC_S_OK;
		late += status == RMC_S_TIMEOUT;
	}
	sum = *t;
	CHECK_EQ(ok + late, 300);
	CHECK(ok > 100 && late > 100);
	CHECK(sum >= ok && sum < 300);
	CHECK_EQ(testbed_stat(&s.w, 0, timeouts), late + 6);
	/* the server refused none of them */
	CHECK_EQ(testbed_stat(&s.w, 1, serve_errors), 0);
	check_quiet(&s);
	teardown(&s);
}

/* It is executed once at most: with a lost packet it ends, and was not begun again. */
static void write_once(struct setup *s)
{
	u64 restarts = testbed_stat(&s->w, 0, restarts);
	u32 i, ok = 0;
	int status;

	for (i = 0; i < 40; i++) {
		fill(lbuf, 500, i);
		status = run_ms(s, RMC_OP_WRITE_ONCE, 8192 + i, lbuf, 500, 100);
		CHECK(status == RMC_S_TIMEOUT || status == RMC_S_OK);
		CHECK(status || !memcmp(lbuf, seg + 8192 + i, 500));
		ok += status == RMC_S_OK;
	}
	CHECK(ok && ok < 40);
	CHECK_EQ(testbed_stat(&s->w, 0, restarts), restarts);
}

/* Idempotent operations are retransmitted; an atomic never is. */
static void test_back_to_0(const struct testbed_opts *o)
{
	struct rmc_fault loss = { .loss = 100000 }, down = { .down = true };
	/* a lost reply is not duplicated: no copy is expected */
	struct rmc_fault loss_dup = { .loss = 100000, .dup = 500000 };
	u32 i, ok = 0, atomics = 0;
	struct setup s;
	int status;

	setup(&s, o);
	set_timeout(&s, 20, 200);
	fill(seg, SEG, 9);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &loss, 5);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &loss_dup, 6);
	for (i = 0; i < 30; i++) {
		memset(lbuf, 0, 500);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 4096 + i, lbuf, 500, 10000), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 4096 + i, 500));
		fill(lbuf, 500, i);
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 8192 + i, lbuf, 500, 10000), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 8192 + i, 500));
	}
	CHECK(testbed_stat(&s.w, 0, restarts) > 10);
	write_once(&s);
	memset(seg, 0, 8);
	for (i = 0; i < 200; i++, atomics++) {
		*(u64 *)lbuf = 1;
		status = run_ms(&s, RMC_OP_FAA, 0, lbuf, 8, 100);
		ok += status == RMC_S_OK;
		CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
	}
	CHECK(ok < atomics);
	CHECK(*(u64 *)seg >= ok && *(u64 *)seg <= atomics);
	check_quiet(&s);
	/* retries are bounded */
	set_timeout(&s, 20, 3);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &down, 5);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 59), -1);
	CHECK_EQ(wait_ms(&s, 40), RMC_S_TIMEOUT);
	check_quiet(&s);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	/* no duplicate notification: with several RRPPs it is sent after all replies arrived */
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &down, 6);
	CHECK_EQ(run_ms(&s, RMC_OP_WRITE_NOTIFY, 0, lbuf, 500, 100), RMC_S_TIMEOUT);
	CHECK_EQ(s.seg_mem->notified.count, s.w.opts.rrpps == 1);
	check_quiet(&s);
	teardown(&s);
}

/*
 * A write must not be retransmitted while its first packets may still arrive: the
 * destination is frozen, then serves all it finds.
 */
static void test_no_restart_while_on_its_way(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;

	k.kernels = true;
	setup(&s, &k);
	set_timeout(&s, 20, 10);
	s.w.fabric[0].dead_ms = 1000000;
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 1), RMC_S_OK);
	s.w.frozen[1] = true;
	CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 0, lbuf, 64, 100), RMC_S_TIMEOUT);
	CHECK_EQ(testbed_stat(&s.w, 0, restarts), 0);
	s.w.frozen[1] = false;
	check_quiet(&s);
	teardown(&s);
}

static void test_delay(const struct testbed_opts *o)
{
	struct rmc_fault delay = { .delay_ns = 5000000 };
	struct rmc_fault jitter = { .delay_ns = 1000000, .jitter_ns = 8000000 };
	u32 i, slot, status, order = 0, seen[64] = { 0 }, overtaken = 0, last = 0;
	struct setup s;

	setup(&s, o);
	fill(seg, SEG, 3);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &delay, 1);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &delay, 1);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 100, lbuf, 9000, 8), -1);
	CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg + 100, 9000));
	/* while a packet is held no worker may park */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	CHECK(!rmc_ni_may_park(s.a.qp.node->req_worker));
	CHECK_EQ(wait_ms(&s, 12), RMC_S_OK);

	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &jitter, 1);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	for (i = 0; i < 60; i++)
		app_post(&s.a, RMC_OP_READ, 1, 64 * i, lbuf + 64 * i, 64);
	for (i = 0; i < 2000 && order < 60; i++) {
		testbed_visit(&s.w);
		if (!(i % 100))
			testbed_tick(&s.w, 1);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			CHECK_EQ(seen[slot]++, 0);
			overtaken += order && slot < last;
			last = slot;
			order++;
		}
	}
	CHECK_EQ(order, 60);
	/* uniform from 0 to 8 ms: half of the pairs change places */
	CHECK(overtaken > 10);
	CHECK(!memcmp(lbuf, seg, 60 * 64));
	check_quiet(&s);
	teardown(&s);
}

/* A removed filter passes on what it holds: nothing times out. */
static void test_taken_away(const struct testbed_opts *o)
{
	struct rmc_fault delay = { .delay_ns = 5000000000ULL };
	enum rmc_lane lane;
	struct setup s;
	u32 i, n;

	setup(&s, o);
	fill(seg, SEG, 6);
	for (i = 0; i < 2 * RMC_LANES; i++) {
		/* requests arrive at node 1, replies at node 0 */
		lane = i % RMC_LANES;
		/* 40000 bytes are more packets than one visit takes off the private ring */
		n = i < RMC_LANES ? 40000 : 64;
		fault_set(&s.w, lane, !lane, lane, &delay, 1);
		memset(lbuf, 0, n);
		app_post(&s.a, RMC_OP_READ, 1, 5, lbuf, n);
		CHECK_EQ(wait_ms(&s, 10), -1);
		fault_clear(&s.w, lane, !lane, lane);
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 5, n));
		check_quiet(&s);
	}
	teardown(&s);
}

/* A copy must never count as a packet that is missing. */
static void test_duplicate_replies(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = 500000 }, some = { .dup = 500000, .loss = 50000 };
	struct rmc_fault late = { .dup = RMC_ALWAYS, .gap_ns = 3000000 };
	u32 i, ok = 0, n = 64 * 40;
	struct setup s;
	int status;
	u64 copies;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	fill(seg, SEG, 8);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &dup, 1);
	for (i = 0; i < 50; i++) {
		memset(lbuf, 0, 20000);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, i, lbuf, 20000, 10), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + i, 20000));
		*(u64 *)lbuf = 1;
		CHECK_EQ(run_ms(&s, RMC_OP_FAA, 32768, lbuf, 8, 10), RMC_S_OK);
		/* with two RRPPs its notification is an extra packet after all others */
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE_NOTIFY, 40960, lbuf, 3000, 10), RMC_S_OK);
		CHECK_EQ(s.seg_mem->notified.count, i + 1);
	}
	check_quiet(&s);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &some, 2);
	for (i = 0; i < 100; i++) {
		memset(lbuf, 0, n);
		status = run_ms(&s, RMC_OP_READ, i, lbuf, n, 100);
		ok += status == RMC_S_OK;
		CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
		CHECK(status || !memcmp(lbuf, seg + i, n));
	}
	CHECK(ok > 0 && ok < 100);
	/* copies of operations that ended long ago */
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &late, 2);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, i, lbuf, 64), RMC_S_OK);
	check_quiet(&s);
	copies = testbed_stat(&s.w, 0, doubled_replies) + testbed_stat(&s.w, 0, stale_replies);
	/* half of the packets for 1.25 MB, and of the last reads at least one */
	CHECK(copies > 600000 / s.w.fabric->cut);
	teardown(&s);
}

/*
 * A packet is late by exactly as many uses of its tid as there are generations. It must not
 * be taken for a reply to the operation that has its generation again.
 */
static void generations(const struct testbed_opts *o, const struct rmc_fault *slow, int status,
			const struct rmc_fault *then)
{
	struct rmc_fault server = { .delay_ns = 8000000000ULL };
	struct setup s;
	u32 i, quarantined;

	setup(&s, o);
	set_timeout(&s, 20, 0);
	memset(seg, 1, SEG);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, slow, 1);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 100), status);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, then, 7);
	memset(seg, 2, SEG);
	for (i = 0; i < 65535; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &server, 1);
	set_timeout(&s, 60000, 0);
	memset(lbuf, 0, SEG);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 6000), -1);
	CHECK_EQ(wait_ms(&s, 3000), RMC_S_OK);
	CHECK_EQ(lbuf[0], 2);
	CHECK_EQ(itt_free(&s, &quarantined), s.w.node[0]->itt.size);
	CHECK_EQ(quarantined, 0);
	teardown(&s);
}

static void test_generation_of_late(const struct testbed_opts *o)
{
	struct rmc_fault late = { .reorder = RMC_ALWAYS, .gap_ns = 5000000000ULL }, none = { 0 };

	generations(o, &late, RMC_S_TIMEOUT, &none);
}

static void test_generation_of_duplicates(const struct testbed_opts *o)
{
	struct rmc_fault dup = { .dup = RMC_ALWAYS, .gap_ns = 5000000000ULL };
	/* stays tracked, almost never duplicated */
	struct rmc_fault rare = { .dup = 1 };

	generations(o, &dup, RMC_S_OK, &rare);
}

/* Twelve operations time out, on an ITT of eight entries. */
static void run_into_debt(struct setup *s)
{
	struct rmc_fault late = { .reorder = RMC_ALWAYS, .gap_ns = 5000000000ULL }, none = { 0 };
	u32 i, quarantined;

	set_timeout(s, 20, 0);
	fault_set(&s->w, 1, 0, RMC_LANE_REP, &late, 1);
	for (i = 0; i < 12; i++)
		app_post(&s->a, i % 3 ? RMC_OP_READ : RMC_OP_WRITE, 1, 64, lbuf, 200);
	for (i = 0; i < 12; i++)
		CHECK_EQ(wait_ms(s, 100), RMC_S_TIMEOUT);
	fault_set(&s->w, 1, 0, RMC_LANE_REP, &none, 1);
	/* quarantined entries may be used if no other is free */
	for (i = 0; i < 100; i++)
		CHECK_EQ(app_run(&s->a, RMC_OP_READ, 1, 0, lbuf, 200), RMC_S_OK);
	CHECK_EQ(itt_free(s, &quarantined), 0);
	CHECK_EQ(quarantined, 8);
}

/* Quarantined entries are used if no other is free, and become free later. */
static void test_owing(const struct testbed_opts *o)
{
	struct rmc_fault server = { .delay_ns = 8000000000ULL };
	struct testbed_opts small = *o;
	struct setup s;
	u32 i, quarantined;

	small.itt = 8;
	setup(&s, &small);
	run_into_debt(&s);
	/* when the last packet has arrived */
	CHECK_EQ(wait_ms(&s, 6000), -1);
	check_quiet(&s);
	CHECK_EQ(itt_free(&s, &quarantined), 8);
	CHECK_EQ(quarantined, 0);
	/* also entries that are in use at that time */
	run_into_debt(&s);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &server, 1);
	set_timeout(&s, 60000, 0);
	for (i = 0; i < 5; i++)
		app_post(&s.a, RMC_OP_READ, 1, 64, lbuf, 200);
	CHECK_EQ(wait_ms(&s, 6000), -1);
	CHECK_EQ(itt_free(&s, &quarantined), 3);
	CHECK_EQ(quarantined, 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ(wait_ms(&s, 3000), RMC_S_OK);
	CHECK_EQ(itt_free(&s, &quarantined), 8);
	CHECK_EQ(quarantined, 0);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	/* and when the channel closes */
	run_into_debt(&s);
	rmc_out_close(s.w.node[0], 1);
	CHECK_EQ(itt_free(&s, &quarantined), 8);
	CHECK_EQ(quarantined, 0);
	teardown(&s);
}

/* A filter begins to duplicate replies while an operation is in flight. */
static void test_duplicated_later(const struct testbed_opts *o)
{
	struct rmc_fault slow = { .delay_ns = 5000000 }, dup = { .dup = RMC_ALWAYS, .gap_ns = 70000000 };
	u32 quarantined, held = 0, i;
	struct setup s;

	setup(&s, o);
	set_timeout(&s, 50, 0);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &slow, 1);
	/* two packets, which two RRPPs may share */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 2 * s.w.fabric->cut);
	testbed_settle(&s.w);
	for (i = 0; i < s.w.opts.units; i++)
		held += s.w.node[1]->unit[i]->links.filter[RMC_LANE_REQ][0]->held;
	CHECK_EQ(held, 2);
	/* one packet is lost, the other one's reply is duplicated */
	s.w.node[1]->links.filter[RMC_LANE_REQ][0]->heap[0].word0 |= RMC_REQ_LOST;
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &dup, 1);
	CHECK_EQ(wait_ms(&s, 200), RMC_S_TIMEOUT);
	CHECK_EQ(itt_free(&s, &quarantined) + quarantined, s.w.node[0]->itt.size);
	CHECK_EQ(quarantined, 1);
	check_quiet(&s);
	CHECK_EQ(itt_free(&s, &quarantined), s.w.node[0]->itt.size);
	teardown(&s);
}

/* Lines of one read are read from the server's memory in another order. */
static void test_shuffle_and_reorder(const struct testbed_opts *o)
{
	struct rmc_fault shuffle = { .shuffle = RMC_ALWAYS };
	struct rmc_fault reorder = { .reorder = 200000, .gap_ns = 1000000 };
	struct rmc_filter *flt;
	u32 i, reordered = 0;
	struct setup s;

	setup(&s, o);
	fill(seg, SEG, 4);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &shuffle, 4);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &reorder, 4);
	for (i = 0; i < 50; i++) {
		memset(lbuf, 0, 30000);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 3 * i, lbuf, 30000, 30), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 3 * i, 30000));
		fill(lbuf, 3000, i);
		CHECK_EQ(run_ms(&s, RMC_OP_WRITE, 7 * i, lbuf, 3000, 30), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 7 * i, 3000));
	}
	flt = s.w.node[1]->links.filter[RMC_LANE_REQ][s.a.qp.node->ep];
	CHECK(flt->stats.shuffled > 50);
	for (i = 0; i < s.w.opts.rrpps; i++) {
		flt = s.a.qp.node->links.filter[RMC_LANE_REP][s.w.node[1]->ep + i];
		reordered += flt->stats.reordered;
	}
	/* a fifth of the packets for 1.5 MB */
	CHECK(reordered > 280000 / s.w.fabric->cut);
	check_quiet(&s);
	teardown(&s);
}

/* All faults at once, with tiny queues; set, changed, removed. */
static void test_all_at_once(const struct testbed_opts *o)
{
	struct rmc_fault all = { .loss = 10000, .dup = 100000, .reorder = 100000,
				 .shuffle = 300000, .delay_ns = 1000, .jitter_ns = 300000,
				 .gap_ns = 500000 };
	struct testbed_opts small = *o;
	u32 i, posted = 0, done = 0, slot, status, lost = 0, busy[64] = { 0 };
	struct setup s;
	u64 was;

	small.itt = 7;
	small.ring_order = RMC_RING_ORDER_MIN;
	small.pay_order = small.mtu > 64 ? 6 : 2;
	setup(&s, &small);
	set_timeout(&s, 20, 0);
	fill(seg, SEG, 5);
	for (i = 0; done < 3000 && i < 3000000; i++) {
		u32 head = s.a.head & 63;

		if (!busy[head] && posted < 3000) {
			busy[head] = 1;
			posted++;
			memset(lbuf + head * 1024, 0, 700);
			app_post(&s.a, posted & 1 ? RMC_OP_READ : RMC_OP_NOTIFY, 1,
				 posted & 1 ? head * 512 : 0, lbuf + head * 1024,
				 posted & 1 ? 700 : 0);
		}
		testbed_visit(&s.w);
		if (!(i % 20))
			testbed_now_ns += 100000;
		if (!(i % 200))
			testbed_tick(&s.w, 0);
		if (!(i % 4096)) {
			if (i & 4096) {
				fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
				fault_clear(&s.w, 1, 0, RMC_LANE_REP);
			} else {
				fault_set(&s.w, 0, 1, RMC_LANE_REQ, &all, i + 1);
				fault_set(&s.w, 1, 0, RMC_LANE_REP, &all, i + 2);
			}
		}
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(busy[slot], 1);
			busy[slot] = 0;
			done++;
			lost += status == RMC_S_TIMEOUT;
			CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
		}
	}
	CHECK_EQ(done, 3000);
	CHECK(lost > 0 && lost < 1500);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	was = testbed_stat(&s.w, 0, completions);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 700), RMC_S_OK);
	CHECK(!memcmp(lbuf, seg, 700));
	CHECK_EQ(testbed_stat(&s.w, 0, completions), was + 1);
	check_quiet(&s);
	teardown(&s);
}

/* The same seed gives the same faults. */
static void test_repeatable(const struct testbed_opts *o)
{
	struct rmc_fault loss = { .loss = 200000 };
	u8 fate[2][200];
	struct setup s;
	u32 i, k;

	for (k = 0; k < 2; k++) {
		setup(&s, o);
		set_timeout(&s, 20, 0);
		fault_set(&s.w, 0, 1, RMC_LANE_REQ, &loss, 4711);
		for (i = 0; i < 200; i++)
			fate[k][i] = run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 100);
		teardown(&s);
	}
	CHECK(!memcmp(fate[0], fate[1], sizeof(fate[0])));
	CHECK(memchr(fate[0], RMC_S_TIMEOUT, 200) && memchr(fate[0], RMC_S_OK, 200));
}

/* A slow node needs extra time per request; a stopped one does nothing. */
static void test_slow_and_stopped(const struct testbed_opts *o)
{
	struct setup s;
	u64 sent;
	u32 i;

	setup(&s, o);
	set_timeout(&s, 100, 0);
	s.w.node[1]->links.slow_ns = 3000000;
	/* also for a channel that is opened only now */
	for (i = 0; i < 4; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK_EQ(wait_ms(&s, 2), -1);
	CHECK_EQ(wait_ms(&s, 1), RMC_S_OK);
	CHECK_EQ(wait_ms(&s, 1), -1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
	s.w.node[1]->links.slow_ns = 0;
	stop_node(&s, 1, true);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 200), RMC_S_TIMEOUT);
	stop_node(&s, 1, false);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 4), RMC_S_OK);
	sent = testbed_stat(&s.w, 0, requests);
	stop_node(&s, 0, true);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 200), -1);
	CHECK_EQ(testbed_stat(&s.w, 0, requests), sent);
	stop_node(&s, 0, false);
	CHECK_EQ(wait_ms(&s, 4), RMC_S_OK);
	check_quiet(&s);
	teardown(&s);
}

/* Peers in other kernels take a stopped node for dead, until it continues. */
static void test_stopped_is_noticed(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	u32 i;

	k.kernels = true;
	setup(&s, &k);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 4), RMC_S_OK);
	stop_node(&s, 1, true);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 40; i++) {
		testbed_visit(&s.w);
		testbed_tick(&s.w, 100);
	}
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	stop_node(&s, 1, false);
	for (i = 0; i < 4; i++)
		testbed_tick(&s.w, 2);
	testbed_settle(&s.w);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	teardown(&s);
}

/* A filter survives the peer's death; the packets it held do not. */
static void test_peer_reboots(const struct testbed_opts *o)
{
	struct rmc_fault delay = { .delay_ns = 50000000 };
	struct testbed_opts k = *o;
	struct setup s;
	u32 i;

	k.kernels = true;
	setup(&s, &k);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &delay, 1);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 8000);
	for (i = 0; i < 100; i++)
		testbed_visit(&s.w);
	CHECK(s.a.qp.node->links.filter[RMC_LANE_REP][s.w.node[1]->ep]->held > 0);
	testbed_restart(&s.w, 1);
	for (i = 0; i < 6; i++)
		testbed_tick(&s.w, 2);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	seg_set(&s.w, 1, 3, s.seg_mem);
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 8000, 45), -1);
	CHECK_EQ(wait_ms(&s, 10), RMC_S_OK);
	check_quiet(&s);
	teardown(&s);
}

/* I-5 holds for filters as well, whatever is on the wire. */
static void test_hostile_wire(const struct testbed_opts *o)
{
	struct rmc_fault all = { .loss = 50000, .dup = 300000, .reorder = 300000,
				 .shuffle = 500000, .jitter_ns = 500000, .gap_ns = 500000 };
	struct testbed_opts k = *o;
	u32 round, i, seed = 1;
	struct setup s;
	u8 *ch[2];
	size_t lane;

	k.kernels = true;
	setup(&s, &k);
	set_timeout(&s, 20, 3);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &all, 1);
	fault_set(&s.w, 1, 0, RMC_LANE_REQ, &all, 2);
	CHECK(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 100) >= 0);
	s.w.frozen[1] = true;
	s.w.fabric[0].dead_ms = 1000000;
	lane = rmc_ring_bytes(s.w.fabric[0].ring_order, s.w.fabric[0].pay_order);
	ch[0] = (u8 *)s.w.fabric[0].ops->channel(&s.w.fabric[0], 0, 1) + lane;
	ch[1] = s.w.fabric[0].ops->channel(&s.w.fabric[0], 1, 0);
	for (round = 0; round < 5000; round++) {
		for (i = 0; i < 40; i++) {
			u64 word[2];
			u32 at;

			seed = seed * 1664525 + 1013904223;
			at = (seed >> 8) % (16U << s.w.fabric[0].ring_order) & ~15U;
			fill((u8 *)word, 16, seed);
			if (seed & 0x100)
				word[0] = (word[0] & 0x80f8ff03ffff000fULL) | (1ULL << 56) |
					  ((u64)((seed >> 12) % 5) << 48);
			if (seed & 0x200)
				word[1] &= 0x01ff00000000ffffULL;
			memcpy(ch[i & 1] + at, word, 16);
			*rmc_doorbell_word(&s.w.fabric[0], 0, i & 1, 0) |= 2;
		}
		if (!(round % 16))
			app_post(&s.a, 1 + seed % 4, 1, seed % SEG, lbuf + seed % 1024, 1 + seed % 9000);
		testbed_visit(&s.w);
		testbed_now_ns += 20000;
		if (!(round % 100))
			testbed_tick(&s.w, 1);
	}
	teardown(&s);
}

static void test_model(const struct testbed_opts *o)
{
	static const struct rmc_model slow[] = {
		{ .topology = RMC_TOPOLOGY_CROSSBAR, .mbps = 1 },
		{ .topology = RMC_TOPOLOGY_RACKS, .dim = { 1 }, .rack_mbps = 1 },
	};
	struct setup s;
	u64 t0;
	u32 i, k;

	/* 2 ms each way, and 16 + 64 bytes at 8 kb/ms each way */
	setup(&s, o);
	fill(seg, SEG, 2);
	model_set(&s.w, &(struct rmc_model){ .topology = RMC_TOPOLOGY_CROSSBAR,
					     .hop_ns = 2000000 });
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 3), -1);
	t0 = testbed_now_ns;
	CHECK_EQ(wait_ms(&s, 2), RMC_S_OK);
	CHECK_EQ(testbed_now_ns, t0);
	CHECK(!memcmp(lbuf, seg, 64));
	/* slow service at the requester does not delay its replies */
	for (i = 0; i < s.w.opts.units; i++)
		s.w.node[0]->unit[i]->links.slow_ns = 50000000;
	/* several at once take no longer */
	for (i = 0; i < 20; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK_EQ(wait_ms(&s, 3), -1);
	for (i = 0; i < 20; i++)
		CHECK_EQ(wait_ms(&s, 0), RMC_S_OK);
	/* nor do packets of one operation */
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 4 * o->mtu, 3), -1);
	CHECK_EQ(wait_ms(&s, 1), RMC_S_OK);
	teardown(&s);

	/*
	 * 1 Mb/s: a line is 80 bytes, 640 us; the request 16 bytes, 128 us; by the node's port, or by
	 * the link between racks of one node each
	 */
	for (k = 0; k < ARRAY_SIZE(slow); k++) {
		setup(&s, o);
		model_set(&s.w, &slow[k]);
		for (i = 0; i < 10; i++)
			app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		for (i = 0; i < 20; i++)
			testbed_visit(&s.w);
		for (i = 1, t0 = testbed_now_ns; i <= 10; i++) {
			u32 slot, status;

			testbed_now_ns = t0 + 128000 + i * 640000 - 1;
			testbed_settle(&s.w);
			CHECK(!app_poll(&s.a, &slot, &status));
			testbed_now_ns++;
			testbed_settle(&s.w);
			CHECK(app_poll(&s.a, &slot, &status));
		}
		teardown(&s);
	}
}

/* What a filter holds leaves it in the order in which it was due, also after some has left. */
static void test_drain_keeps_order(const struct testbed_opts *o)
{
	struct rmc_fault delay = { .delay_ns = 1000000 }, none = { 0 };
	u32 i, k, slot, status;
	struct setup s;

	setup(&s, o);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &delay, 1);
	for (i = 0; i < 15; i++) {
		*(u64 *)(lbuf + 8 * i) = i;
		app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf + 8 * i, 8);
		for (k = 0; k < 20; k++)
			testbed_visit(&s.w);
		testbed_now_ns += 50000;
	}
	/* five of them have been served */
	testbed_now_ns += 500000;
	for (k = 0; k < 20; k++)
		testbed_visit(&s.w);
	CHECK(testbed_stat(&s.w, 1, served) > 2 && testbed_stat(&s.w, 1, served) < 12);
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &none, 0);
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	testbed_settle(&s.w);
	for (i = 0; i < 15; i++)
		CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(*(u64 *)seg, 14);
	check_quiet(&s);
	teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "lost requests and replies time out, once", test_loss },
		{ "back-to-0: idempotent operations are retransmitted, atomics never", test_back_to_0 },
		{ "nothing is retransmitted that may still arrive", test_no_restart_while_on_its_way },
		{ "delay and jitter", test_delay },
		{ "a filter that is taken away loses nothing", test_taken_away },
		{ "duplicate replies count for no other operation", test_duplicate_replies },
		{ "late by all generations of a tid", test_generation_of_late },
		{ "duplicated, and late by all generations", test_generation_of_duplicates },
		{ "entries that owe packets", test_owing },
		{ "duplicated from a moment on", test_duplicated_later },
		{ "shuffled and reordered packets", test_shuffle_and_reorder },
		{ "everything at once, tiny rings, set and taken away", test_all_at_once },
		{ "the same seed, the same fate", test_repeatable },
		{ "slow and stopped nodes", test_slow_and_stopped },
		{ "a stopped node is noticed, and comes back", test_stopped_is_noticed },
		{ "a filter outlives its peer", test_peer_reboots },
		{ "hostile peer behind a filter", test_hostile_wire },
		{ "a filter that goes keeps the order of what it held", test_drain_keeps_order },
		{ "link model: latency, bandwidth", test_model },
	};

	matrix_run(tests, ARRAY_SIZE(tests), filtered_opts, ARRAY_SIZE(filtered_opts));
	return matrix_done();
}
