// SPDX-License-Identifier: GPL-2.0
/*
 * A node whose id another kernel has claimed: what it may still do, what it must not
 * change, and what it does before it notices.
 */
#include "kernels.h"

/* A fenced node: its RRPP's half notices first; nothing is served, not even on the local path. */
static void test_fenced(const struct testbed_opts *o)
{
	u32 now, slot, status, beat;
	struct rmc_node *node;
	struct setup s;

	setup(&s, o, 2);
	seg_set(&s.w, 0, CTX, s.seg_mem);
	node = s.w.node[0];
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	now = rmc_os_ns_to_ms(testbed_now_ns);
	testbed_node_event_count = 0;
	entry_at(&s, 0, 0)->claim = rmc_claim(RMC_NODE_JOINING, 2);
	beat = entry_at(&s, 0, 0)->heartbeat;
	rmc_node_tick_srv(node, ++now);
	CHECK(node->fenced && !node->up);
	CHECK_EQ(entry_at(&s, 0, 0)->heartbeat, beat);
	CHECK_EQ(testbed_node_event_count, 1);
	CHECK_EQ(testbed_node_events[0].type, RMC_EVENT_FENCED);
	rmc_node_tick_srv(node, ++now);
	CHECK_EQ(testbed_node_event_count, 1);
	memset(lbuf, 0x11, 64);
	app_post(&s.a, RMC_OP_READ, 0, 0, lbuf, 64);
	CHECK(quiet(&s));
	CHECK_EQ(lbuf[0], 0x11);
	rmc_node_tick_req(node, ++now);
	testbed_visit(&s.w);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_NODE_DOWN);
	CHECK(!node->out[0] && !node->out[1] && !node->in[0]);
	/* none of its actions changes its successor's entry */
	rmc_node_down_srv(node);
	rmc_node_leave(node);
	CHECK(!rmc_node_join_poll(node, ++now));
	rmc_node_tick_srv(node, ++now);
	CHECK_EQ(entry_at(&s, 0, 0)->claim, rmc_claim(RMC_NODE_JOINING, 2));
	CHECK_EQ(entry_at(&s, 0, 0)->heartbeat, beat);
	setup_free(&s);
}

/* A node that the administrator took down: no heartbeat, and it stays down until taken up. */
static void test_left(const struct testbed_opts *o)
{
	struct rmc_node *node;
	struct setup s;
	u32 beat, now;

	setup(&s, o, 2);
	node = s.w.node[0];
	CHECK(rmc_in_open(node, 1));
	now = rmc_os_ns_to_ms(testbed_now_ns);
	rmc_node_down_srv(node);
	CHECK(!node->in[1]);
	CHECK_EQ(entry_at(&s, 0, 0)->state, RMC_NODE_DOWN);
	beat = entry_at(&s, 0, 0)->heartbeat;
	CHECK(!rmc_node_join_poll(node, ++now));
	rmc_node_tick_srv(node, ++now);
	CHECK_EQ(entry_at(&s, 0, 0)->heartbeat, beat);
	CHECK_EQ(entry_at(&s, 0, 0)->state, RMC_NODE_DOWN);
	/* a second call has no effect */
	entry_at(&s, 0, 0)->state = RMC_NODE_JOINING;
	rmc_node_down_srv(node);
	rmc_node_leave(node);
	CHECK_EQ(entry_at(&s, 0, 0)->state, RMC_NODE_JOINING);
	entry_at(&s, 0, 0)->state = RMC_NODE_DOWN;
	rmc_node_down_req(node);
	rmc_node_join(node, now);
	CHECK_EQ(node->epoch, 2);
	ticks(&s.w, 6, 2);
	CHECK(node->up);
	CHECK(entry_at(&s, 0, 0)->heartbeat > beat);
	setup_free(&s);
}

/* Another kernel claims the id during the join, as after a pause. */
static void (*real_reset)(struct rmc_fabric *f, u32 nid, u32 epoch);
static struct rmc_fabric_ops taken_ops;

static u32 resets;

static void reset_and_lose(struct rmc_fabric *f, u32 nid, u32 epoch)
{
	resets++;
	real_reset(f, nid, epoch);
	f->node[nid].claim = rmc_claim(RMC_NODE_JOINING, 3);
}

/* A node that has not noticed yet does not change its successor's state. */
static void test_successor(const struct testbed_opts *o)
{
	u64 taken[] = { rmc_claim(RMC_NODE_JOINING, 2), rmc_claim(RMC_NODE_UP, 2) };
	struct rmc_node *node;
	struct setup s;
	u32 i, now;

	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		setup(&s, o, 2);
		entry_at(&s, 0, 0)->claim = taken[i];
		rmc_node_leave(s.w.node[0]);
		CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
		s.w.node[0]->up = true;
		rmc_node_down_srv(s.w.node[0]);
		CHECK(!s.w.node[0]->up);
		CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
		setup_free(&s);
	}

	/* nor does one that has noticed, whatever its epoch */
	setup(&s, o, 2);
	node = s.w.node[0];
	node->fenced = true;
	rmc_node_leave(node);
	CHECK_EQ(entry_at(&s, 0, 0)->claim, rmc_claim(RMC_NODE_UP, 1));
	node->fenced = false;
	setup_free(&s);

	/* a paused predecessor overwrites sync with an old value: corrected */
	setup(&s, o, 2);
	node = s.w.node[1];
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK(node->in[0]);
	*sync_at(&s, 1, 1, 0) = 0;
	rmc_node_tick_srv(node, rmc_os_ns_to_ms(testbed_now_ns) + 1);
	CHECK_EQ(*sync_at(&s, 1, 1, 0), 1);
	CHECK(node->in[0]);
	setup_free(&s);

	/* nor does one that left, and joins again */
	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		setup(&s, o, 2);
		node = s.w.node[0];
		now = rmc_os_ns_to_ms(testbed_now_ns);
		rmc_node_down_srv(node);
		rmc_node_down_req(node);
		entry_at(&s, 0, 0)->claim = taken[i];
		rmc_node_join(node, now);
		CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
		CHECK_EQ(node->epoch, 1);
		rmc_node_tick_srv(node, ++now);
		CHECK(node->fenced);
		rmc_node_join(node, now);
		CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
		setup_free(&s);
	}

	setup(&s, o, 2);
	node = s.w.node[0];
	now = rmc_os_ns_to_ms(testbed_now_ns);
	rmc_node_down_srv(node);
	rmc_node_down_req(node);
	rmc_node_join(node, now);
	CHECK_EQ(node->epoch, 2);
	*sync_at(&s, 0, 1, 0) = 2;
	taken_ops = *s.w.fabric[0].ops;
	real_reset = taken_ops.reset;
	taken_ops.reset = reset_and_lose;
	s.w.fabric[0].ops = &taken_ops;
	/* the doorbells are the successor's by then */
	*rmc_doorbell_word(&s.w.fabric[0], 0, RMC_LANE_REQ, 1) = 2;
	CHECK(!rmc_node_join_poll(node, ++now));
	CHECK(!node->up);
	CHECK_EQ(entry_at(&s, 0, 0)->claim, rmc_claim(RMC_NODE_JOINING, 3));
	CHECK_EQ(*rmc_doorbell_word(&s.w.fabric[0], 0, RMC_LANE_REQ, 1), 2);
	rmc_node_tick_srv(node, ++now);
	CHECK(node->fenced);
	/* nor are its channels changed */
	*sync_at(&s, 0, 1, 0) = 3;
	resets = 0;
	CHECK(!rmc_node_join_poll(node, ++now));
	CHECK_EQ(resets, 0);
	setup_free(&s);
}

/* A node of two units that left, and then loses its id: both units are fenced. */
static void test_units(const struct testbed_opts *o)
{
	struct testbed_opts two = { .ni = "edge", .units = 2, .mtu = o->mtu, .links = o->links };
	struct rmc_node *node;
	struct setup s;
	u32 now, k;

	setup(&s, &two, 2);
	node = s.w.node[0];
	now = rmc_os_ns_to_ms(testbed_now_ns);
	for (k = 0; k < 2; k++)
		rmc_node_down_srv(node->unit[k]);
	entry_at(&s, 0, 0)->claim = rmc_claim(RMC_NODE_UP, 2);
	rmc_node_tick_srv(node->unit[1], ++now);
	CHECK(!node->unit[1]->fenced);
	rmc_node_tick_srv(node, now);
	rmc_node_tick_srv(node->unit[1], now);
	CHECK(node->fenced && node->unit[1]->fenced);
	setup_free(&s);
}

/* The transport claimed the id, and another kernel took it before the node joined. */
static void test_claimed(const struct testbed_opts *o)
{
	u64 taken[] = { rmc_claim(RMC_NODE_JOINING, 8), rmc_claim(RMC_NODE_UP, 8) };
	struct rmc_node *node;
	struct setup s;
	u32 i, k, now;

	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		setup(&s, o, 2);
		node = s.w.node[0];
		now = rmc_os_ns_to_ms(testbed_now_ns);
		/* when its kernel loads the module, and when it returns after fencing */
		for (k = 0; k < 2; k++) {
			rmc_node_fence(node);
			entry_at(&s, 0, 0)->claim = taken[i];
			node->epoch = k;
			node->claimed = 7;
			if (!k) {
				node->fenced = false;
				rmc_node_join(node, ++now);
			} else {
				rmc_node_rejoin(node, ++now);
			}
			CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
			CHECK_EQ(node->epoch, k);
			CHECK(!node->fenced && !node->up);
			rmc_node_tick_srv(node, ++now);
			CHECK(node->fenced);
			CHECK(!rmc_node_join_poll(node, ++now));
			CHECK_EQ(entry_at(&s, 0, 0)->claim, taken[i]);
		}
		setup_free(&s);
	}

	/* used once: a node that left and joins again has a new epoch */
	setup(&s, o, 2);
	node = s.w.node[0];
	rmc_node_fence(node);
	entry_at(&s, 0, 0)->claim = rmc_claim(RMC_NODE_JOINING, 7);
	node->claimed = 7;
	rmc_node_rejoin(node, rmc_os_ns_to_ms(testbed_now_ns));
	CHECK_EQ(node->epoch, 7);
	ticks(&s.w, 6, 2);
	CHECK(node->up);
	rmc_node_down_srv(node);
	rmc_node_down_req(node);
	rmc_node_join(node, rmc_os_ns_to_ms(testbed_now_ns));
	CHECK_EQ(node->epoch, 8);
	CHECK_EQ(entry_at(&s, 0, 0)->claim, rmc_claim(RMC_NODE_JOINING, 8));
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a fenced node serves nobody and writes nothing", test_fenced },
		{ "a node that left stays away", test_left },
		{ "a successor's entry stays as it is", test_successor },
		{ "an id that is lost between claim and join", test_claimed },
		{ "all units of a node that lost its id", test_units },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
