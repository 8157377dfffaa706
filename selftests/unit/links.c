// SPDX-License-Identifier: GPL-2.0
/*
 * Kernels that share no memory, see packets.h: a packet must be there to be read, and peers
 * know of each other only what was sent. All other programs run over such links with
 * RMC_TESTBED=fused,links=1.
 */
#include "setup.h"
#include "packets.h"

static void setup(struct setup *s, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;

	k.links = true;
	setup_make(s, &k, 64);
	CHECK_EQ(app_run(&s->a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
}

/* Each operation is packets on the wire, as many each way; tables are not shared. */
static void test_wire(const struct testbed_opts *o)
{
	struct rmc_fabric *f;
	u64 before, after, full;
	struct setup s;
	u32 packets;

	setup(&s, o);
	f = s.w.fabric;
	CHECK(f[0].node != f[1].node && f[0].doorbell != f[1].doorbell && f[0].sync != f[1].sync);
	CHECK(f[0].ops->channel(&f[0], 0, f[0].endpoints - 1) !=
	      f[1].ops->channel(&f[1], 0, f[1].endpoints - 1));
	before = packets_sent(s.w.packets, &full);
	fill(seg, LONG, 1);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK(!memcmp(seg, lbuf, LONG));
	after = packets_sent(s.w.packets, &full);
	packets = (LONG + f->cut - 1) / f->cut;
	CHECK_EQ(after - before, 2 * packets);
	fill(lbuf, LONG, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_WRITE, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK(!memcmp(seg, lbuf, LONG));
	CHECK_EQ(packets_sent(s.w.packets, &full) - after, 2 * packets);
	CHECK(setup_guards_intact());
	setup_free(&s);
}

/* A kernel that takes nothing lets the link fill up; no packet is lost or overtaken. */
static void test_backlog(const struct testbed_opts *o)
{
	u32 i, slot, status, done = 0;
	struct setup s;
	u64 full;

	setup(&s, o);
	s.w.frozen[1] = true;
	fill(lbuf, SEG, 3);
	for (i = 0; i < 64; i++)
		app_post(&s.a, RMC_OP_WRITE, 1, i % 4 * (SEG / 4), lbuf + i % 4 * (SEG / 4),
			 SEG / 4);
	for (i = 0; i < 1000; i++)
		testbed_visit(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	s.w.frozen[1] = false;
	for (i = 0; i < 100000 && done < 64; i++) {
		testbed_visit(&s.w);
		while (app_poll(&s.a, &slot, &status)) {
			CHECK_EQ(status, RMC_S_OK);
			done++;
		}
	}
	CHECK_EQ(done, 64);
	packets_sent(s.w.packets, &full);
	CHECK(full > 0);
	CHECK(!memcmp(seg, lbuf, SEG));
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* An entry that found no room arrives before the packets that were sent after it. */
static void test_order(const struct testbed_opts *o)
{
	struct rmc_fabric *f;
	struct setup s;
	u64 full = 0;
	u32 i;

	setup(&s, o);
	f = testbed_fabric(&s.w, 0);
	s.w.frozen[1] = true;
	for (i = 0; i < 64; i++)
		app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, SEG / 4);
	for (i = 0; i < 1000 && !full; i++) {
		testbed_visit(&s.w);
		packets_sent(s.w.packets, &full);
	}
	CHECK(full > 0);
	f->node[0].heartbeat += 1000;
	f->ops->state(f, 0);
	testbed_receive(&s.w, 1);
	CHECK(testbed_fabric(&s.w, 1)->node[0].heartbeat != f->node[0].heartbeat);
	testbed_receive(&s.w, 0);
	testbed_receive(&s.w, 1);
	CHECK_EQ(testbed_fabric(&s.w, 1)->node[0].heartbeat, f->node[0].heartbeat);
	s.w.frozen[1] = false;
	testbed_settle(&s.w);
	setup_free(&s);
}

/* A peer dies with requests in both rings, and boots again on zeroed memory, three times. */
static void test_comes_back(const struct testbed_opts *o)
{
	struct setup s;
	u32 life, i;

	setup(&s, o);
	for (life = 0; life < 3; life++) {
		u32 epoch = s.w.node[1]->epoch;

		s.w.frozen[1] = true;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG);
		for (i = 0; i < 20; i++)
			testbed_visit(&s.w);
		testbed_pass(&s.w, RMC_DEAD_MS + 100);
		CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
		s.w.frozen[1] = false;
		testbed_restart(&s.w, 1);
		seg_set(&s.w, 1, CTX, s.seg_mem);
		for (i = 0; i < 400 && !s.w.node[1]->up; i++) {
			testbed_tick(&s.w, 8);
			testbed_visit(&s.w);
		}
		CHECK(s.w.node[1]->up);
		CHECK_EQ(s.w.node[1]->epoch, epoch + 1);
		testbed_pass(&s.w, 40);
		testbed_settle(&s.w);
		fill(seg, LONG, life);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
		CHECK(!memcmp(seg, lbuf, LONG));
	}
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* A peer that was only paused is used again; operations that were in flight to it have ended. */
static void test_pause(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_pass(&s.w, RMC_DEAD_MS + 100);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	s.w.frozen[1] = false;
	/* some heartbeats */
	testbed_pass(&s.w, 200);
	testbed_settle(&s.w);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

/* A node that leaves sends its state, since nothing arrives from it afterwards; it joins again. */
static void test_leaves(const struct testbed_opts *o)
{
	u32 i, epoch, units = o->units ?: 1;
	struct setup s;

	setup(&s, o);
	epoch = s.w.node[1]->epoch;
	for (i = 0; i < units; i++) {
		rmc_node_down_srv(s.w.node[1]->unit[i]);
		rmc_node_down_req(s.w.node[1]->unit[i]);
	}
	testbed_tick(&s.w, 2);
	CHECK_EQ(s.w.fabric[0].node[1].state, RMC_NODE_DOWN);
	testbed_tick(&s.w, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	rmc_node_join(s.w.node[1], rmc_os_ns_to_ms(testbed_now_ns));
	testbed_pass(&s.w, 200);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(s.w.fabric[0].node[1].state, RMC_NODE_UP);
	CHECK_EQ(s.w.fabric[0].node[1].epoch, epoch + 1);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK(testbed_credits_home(&s.w, 0, 1));
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "operations are packets on the wire", test_wire },
		{ "a link that is full", test_backlog },
		{ "an entry and the packets behind it stay in order", test_order },
		{ "a peer dies and comes back", test_comes_back },
		{ "a peer stands still", test_pause },
		{ "a peer leaves, and joins again", test_leaves },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "split", .units = 2, .mtu = 4096 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
