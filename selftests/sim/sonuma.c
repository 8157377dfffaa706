// SPDX-License-Identifier: GPL-2.0
/* A14 in virtual time, tools/sim/papers/sonuma.c: what its figures rest on */
#include "../tap.h"
#define main evaluation_main
#include "tools/sim/papers/sonuma.c"
#undef main

static void with(const char *profile)
{
	eval.profile = profile;
	eval.costs = *rmc_sim_costs_find(profile);
}

/* Figure 7: decoupled pipelines, so that both nodes together read twice as much, each as fast */
static void test_both(void)
{
	static const char * const profiles[] = { "rmc", "sonuma-a14", "sonuma-r2p2" };
	static const uint32_t sizes[] = { 64, 1024, 8192 };
	unsigned int p, i;

	for (p = 0; p < 3; p++) {
		with(profiles[p]);
		for (i = 0; i < 3; i++) {
			double one = per_op(sizes[i], 0, 200, latency, NULL);
			double both = per_op(sizes[i], 1, 200, latency, NULL);

			CHECK(both > 0.95 * one && both < 1.05 * one);
			one = per_op(sizes[i], 0, 4000, bandwidth, NULL);
			/* but for barriers the other node serves */
			CHECK(eval.served[1] >= 400 && eval.served[0] < 100);
			both = per_op(sizes[i], 1, 4000, bandwidth, NULL);
			CHECK(both > 0.98 * one && both < 1.05 * one);
		}
	}
	tap_result("figure 7: double-sided reads are as fast, and twice as many");
}

/* Published parts only: 52 + 47 + 50 + 14 + 80 + 50 + 40 + 42; memory's bandwidth for large ones */
static void test_chip(void)
{
	double gbps;

	with("sonuma-a14");
	CHECK_EQ(per_op(64, 0, 200, latency, NULL), 375);
	CHECK_EQ(per_op(8, 0, 200, latency, &run), 375);
	gbps = 8192 / per_op(8192, 0, 4000, bandwidth, NULL);
	CHECK(gbps > 11.8 && gbps < 12.2);
	tap_result("table 2: a read is the sum of its stages, large ones run at the speed of memory");
}

/* Figure 8: a message of a line is pushed faster; all arrive, by either way */
static void test_messages(void)
{
	with("rmc");
	CHECK(message_ns(32, SIZE_MAX, ping_pong) < message_ns(32, 0, ping_pong));
	CHECK(message_ns(32, SIZE_MAX, stream) < message_ns(32, SIZE_MAX, ping_pong) / 2);
	CHECK(message_ns(8192, 0, stream) < 8 * message_ns(1024, 0, stream));
	tap_result("figure 8: small messages are pushed faster than pulled");
}

/*
 * Figure 8: who pushes copies, who pulls does not. The notice of a pull is a push without copies,
 * and the read takes what table 2's takes.
 */
static void test_copies(void)
{
	const uint32_t copies = (32 * 64 + 500) / 1000 + (32 * (47 + 40) + 500) / 1000;
	double push, pull, both;

	with("sonuma-a14");
	push = message_ns(32, SIZE_MAX, ping_pong) / 2;
	/* credits at the end are shared by few messages */
	pull = message_ns(32, 0, ping_pong) / 2 - (push - copies + 375);
	CHECK(pull > -4 && pull < 4);
	push = message_ns(8192, SIZE_MAX, ping_pong) / 2;
	pull = message_ns(8192, 0, ping_pong) / 2;
	CHECK(pull < push);
	eval.costs.pack += 100;
	both = message_ns(8192, SIZE_MAX, ping_pong) / 2;
	CHECK(both > push + 8192 / 10 - 50 && both < push + 8192 / 10 + 50);
	eval.costs.cold += 50;
	eval.costs.unpack += 50;
	both = message_ns(8192, SIZE_MAX, ping_pong) / 2;
	CHECK(both > push + 8192 / 5 - 100 && both < push + 8192 / 5 + 100);
	CHECK_EQ(message_ns(8192, 0, ping_pong) / 2, pull);
	tap_result("figure 8: a push is charged for its copies, a pull for its read");
}

int main(void)
{
	eval.mtu = 64;
	eval.quick = true;
	test_both();
	test_chip();
	test_messages();
	test_copies();
	return tap_done();
}
