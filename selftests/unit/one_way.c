// SPDX-License-Identifier: GPL-2.0
/*
 * The link model for each way separately: requests arrive late, replies later, and packets
 * occupy ports of both nodes. Stepped with a virtual clock.
 */
#include "filtered.h"

/* All nodes share one clock: each way takes time, and the server's ports have a bandwidth. */
static void one_way_setup(struct setup *s, const struct testbed_opts *o, struct rmc_model m)
{
	struct testbed_opts k = *o;
	struct rmc_fabric *f;

	setup(s, &k);
	f = s->w.fabric;
	f->shared = rmc_model_share(f->nodes, f->endpoints, f->ring_order);
	m.topology = m.topology ?: RMC_TOPOLOGY_CROSSBAR;
	m.one_way = true;
	model_set(&s->w, &m);
}

static void one_way_teardown(struct setup *s)
{
	struct rmc_model_shared *shared = s->w.fabric->shared;

	teardown(s);
	rmc_model_unshare(shared);
}

/* In steps of 16 bytes. */
static void one_way_pass(struct setup *s, u32 steps)
{
	for (; steps; steps--) {
		testbed_now_ns += 128000;
		testbed_settle(&s->w);
	}
}

/*
 * Two requesters of one server share its port, in either direction; or the link of its rack, if each is
 * a rack. 16 bytes take 128 us, 80 bytes 640, of the request or of the reply.
 */
static void test_one_way_shared_ports(const struct testbed_opts *o)
{
	static const struct rmc_model slow[] = {
		{ .mbps = 1 },
		{ .topology = RMC_TOPOLOGY_RACKS, .dim = { 1 }, .rack_mbps = 1 },
	};
	struct testbed_opts three = *o;
	u32 slot, status, i;
	struct setup s;
	struct app b;

	three.nodes = 3;
	for (i = 0; i < 2 * ARRAY_SIZE(slow); i++) {
		u32 op = i % 2 ? RMC_OP_WRITE : RMC_OP_READ;

		one_way_setup(&s, &three, slow[i / 2]);
		app_init(&b, &s.w, 2, CTX, 16);
		rmc_bufs_add(&b.bufs, s.buf_mem);
		app_post(&s.a, op, 1, 0, lbuf, 64);
		app_post(&b, op, 1, 0, lbuf, 64);
		testbed_settle(&s.w);
		one_way_pass(&s, 5);
		CHECK(!app_poll(&s.a, &slot, &status) && !app_poll(&b, &slot, &status));
		one_way_pass(&s, 1);
		CHECK(app_poll(&s.a, &slot, &status) + app_poll(&b, &slot, &status) == 1);
		one_way_pass(&s, 4);
		CHECK(!app_poll(&s.a, &slot, &status) && !app_poll(&b, &slot, &status));
		one_way_pass(&s, 1);
		CHECK(app_poll(&s.a, &slot, &status) + app_poll(&b, &slot, &status) == 1);
		CHECK_EQ(status, RMC_S_OK);
		app_fini(&b);
		one_way_teardown(&s);
	}
}

/* Completions of @a and @b since the last call */
static u32 arrived(struct app *a, struct app *b)
{
	u32 slot, status, n = 0;

	while (app_poll(a, &slot, &status) || app_poll(b, &slot, &status)) {
		CHECK_EQ(status, RMC_S_OK);
		n++;
	}
	return n;
}

/* Racks of two nodes: 16 bytes take 128 us on the link of a rack, and travel for two hops and the link */
#define RACK_STEP	128000
#define RACK_TRAVEL	1020000

static void racks_setup(struct setup *s, const struct testbed_opts *o, struct app *b, u32 nid)
{
	struct testbed_opts six = *o;
	u32 i;

	six.nodes = 6;
	one_way_setup(s, &six, (struct rmc_model){ .topology = RMC_TOPOLOGY_RACKS, .dim = { 2 },
						   .rack_mbps = 1, .rack_ns = 1000000,
						   .hop_ns = 10000 });
	for (i = 2; i < 6; i++)
		seg_set(&s->w, i, CTX, s->seg_mem);
	app_init(b, &s->w, nid, CTX, 16);
	rmc_bufs_add(&b->bufs, s->buf_mem);
}

static void racks_teardown(struct setup *s, struct app *b)
{
	u32 i;

	for (i = 2; i < 6; i++)
		seg_set(&s->w, i, CTX, NULL);
	app_fini(b);
	one_way_teardown(s);
}

/*
 * Node 0 reads from node 2, @reader from @server: of the racks' links only one is on both ways. A request
 * is a step long, a reply five.
 */
static void racks_share(const struct testbed_opts *o, u32 reader, u32 server)
{
	struct setup s;
	struct app b;
	u64 t0;

	racks_setup(&s, o, &b, reader);
	t0 = testbed_now_ns;
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf, 64);
	app_post(&b, RMC_OP_READ, server, 0, lbuf, 64);
	testbed_settle(&s.w);
	testbed_now_ns = t0 + RACK_STEP + RACK_TRAVEL - 1;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 2, served) + testbed_stat(&s.w, server, served), 0);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 2, served) + testbed_stat(&s.w, server, served), 1);
	testbed_now_ns += RACK_STEP;
	testbed_settle(&s.w);
	CHECK_EQ(testbed_stat(&s.w, 2, served) + testbed_stat(&s.w, server, served), 2);
	testbed_now_ns = t0 + 6 * RACK_STEP + 2 * RACK_TRAVEL - 1;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 0);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 1);
	testbed_now_ns += 5 * RACK_STEP - 1;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 0);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 1);
	racks_teardown(&s, &b);
}

static void test_one_way_racks(const struct testbed_opts *o)
{
	struct setup s;
	struct app b;
	u64 t0;

	/* who stays in the rack takes a hop each way, although its link is busy */
	racks_setup(&s, o, &b, 1);
	t0 = testbed_now_ns;
	app_post(&b, RMC_OP_READ, 2, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	testbed_now_ns = t0 + 10000;
	testbed_settle(&s.w);
	testbed_now_ns = t0 + 20000;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 1);
	testbed_now_ns = t0 + 10 * RACK_TRAVEL;
	testbed_settle(&s.w);
	testbed_now_ns += 10 * RACK_TRAVEL;
	testbed_settle(&s.w);
	CHECK_EQ(arrived(&s.a, &b), 1);
	racks_teardown(&s, &b);
	/* readers of one rack, servers of two: requests leave, replies come in one after the other */
	racks_share(o, 1, 4);
	/* servers of one rack, readers of two: requests come in, replies leave one after the other */
	racks_share(o, 4, 3);
}

static void test_one_way(const struct testbed_opts *o)
{
	u32 slot, status, i;
	struct setup s;
	u64 t0, *word;

	/* 2 ms to the server: nothing happens before; 2 ms back, plus the service time */
	one_way_setup(&s, o, (struct rmc_model){ .hop_ns = 2000000, .base_ns = 500000,
						 .local_ns = 100000 });
	word = (u64 *)seg;
	*word = 5;
	*(u64 *)lbuf = 1;
	t0 = testbed_now_ns;
	app_post(&s.a, RMC_OP_FAA, 1, 0, lbuf, 8);
	testbed_settle(&s.w);
	testbed_now_ns = t0 + 1999999;
	testbed_settle(&s.w);
	CHECK_EQ(*word, 5);
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK_EQ(*word, 6);
	testbed_now_ns = t0 + 4399999;
	testbed_settle(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_OK);
	CHECK_EQ(*(u64 *)lbuf, 5);
	one_way_teardown(&s);

	/*
	 * 1 Mb/s: a request of 16 bytes takes 128 us to leave, and arrives with its last bit.
	 * Replies of 80 bytes leave one after the other, each within 640 us.
	 */
	one_way_setup(&s, o, (struct rmc_model){ .mbps = 1 });
	for (i = 0; i < 10; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 20; i++)
		testbed_visit(&s.w);
	t0 = testbed_now_ns;
	for (i = 1; i <= 10; i++) {
		testbed_now_ns = t0 + i * 128000 - 1;
		testbed_settle(&s.w);
		CHECK_EQ(testbed_stat(&s.w, 1, served), i - 1);
		testbed_now_ns++;
		testbed_settle(&s.w);
		CHECK_EQ(testbed_stat(&s.w, 1, served), i);
		if (i < 6)
			continue;
		/* the first one had left at 128 us, and arrived at 768 */
		CHECK(app_poll(&s.a, &slot, &status) == (i == 6));
	}
	for (i = 2; i <= 10; i++) {
		testbed_now_ns = t0 + 128000 + i * 640000 - 1;
		testbed_settle(&s.w);
		CHECK(!app_poll(&s.a, &slot, &status));
		testbed_now_ns++;
		testbed_settle(&s.w);
		CHECK(app_poll(&s.a, &slot, &status));
	}
	one_way_teardown(&s);
}

/* No memory for one part of a channel: it opens later. */
static void test_one_way_no_memory(const struct testbed_opts *o)
{
	struct setup s;
	u32 n;

	for (n = 1; n < 40; n++) {
		one_way_setup(&s, o, (struct rmc_model){ .hop_ns = 1000000 });
		fill(seg, SEG, 2);
		rmc_no_memory = n;
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 50), RMC_S_OK);
		CHECK_EQ(rmc_no_memory, 0);
		CHECK(!memcmp(lbuf, seg, 64));
		one_way_teardown(&s);
	}
}

/* The model is set while channels are open, and there is no memory at first. */
static void test_one_way_refresh(const struct testbed_opts *o)
{
	enum rmc_lane lane = RMC_LANE_REP;
	struct rmc_model m, off = { 0 };
	struct rmc_fault none = { 0 };
	struct rmc_node *unit;
	struct rmc_filter *flt;
	struct setup s;
	u32 had;

	for (had = 0; had < 2; had++) {
		one_way_setup(&s, o, (struct rmc_model){ .hop_ns = 1000000 });
		unit = s.a.qp.node;
		m = s.w.fabric->model;
		model_set(&s.w, &off);
		if (had)
			fault_set(&s.w, 1, 0, lane, &none, 1);
		fill(seg, SEG, 2);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 0), RMC_S_OK);
		s.w.fabric->model = m;
		if (had) {
			rmc_no_memory = 1;
			CHECK_EQ(rmc_channel_refresh(unit, lane), -ENOMEM);
		} else {
			unit->links.model[lane] = m;
			flt = rmc_filter_create(s.w.fabric, lane, true);
			rmc_no_memory = 1;
			CHECK_EQ(rmc_channel_add_filter(unit, s.w.node[1]->ep, flt), -ENOMEM);
			CHECK(!flt->rx);
		}
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 20), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg, 64));
		CHECK_EQ(rmc_channel_refresh(unit, lane), 0);
		CHECK(unit->links.filter[lane][s.w.node[1]->ep]->sent);
		CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 0), -1);
		CHECK_EQ(wait_ms(&s, 3), RMC_S_OK);
		one_way_teardown(&s);
	}
}

/* Ports that were busy far into the future are free with the next model. */
static void test_one_way_next_model(const struct testbed_opts *o)
{
	struct rmc_model fast = { .topology = RMC_TOPOLOGY_CROSSBAR, .mbps = 8000, .one_way = true };
	struct rmc_model off = { 0 };
	struct setup s;
	u32 i;

	one_way_setup(&s, o, (struct rmc_model){ .mbps = 1 });
	set_timeout(&s, 10, 0);
	for (i = 0; i < 15; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG / 2);
	for (i = 0; i < 400; i++)
		testbed_visit(&s.w);
	testbed_tick(&s.w, 5);
	model_set(&s.w, &off);
	rmc_model_reset(s.w.fabric->shared);
	model_set(&s.w, &fast);
	for (i = 0; i < 15; i++)
		wait_ms(&s, 10000);
	set_timeout(&s, 1000, 0);
	/* a tick for each way; otherwise the port is busy for a second */
	CHECK_EQ(run_ms(&s, RMC_OP_READ, 0, lbuf, 64, 3), RMC_S_OK);
	one_way_teardown(&s);
}

/* One that is farther away and asks first does not take the port before those that are near. */
static void test_one_way_distances(const struct testbed_opts *o)
{
	struct testbed_opts three = *o;
	u32 slot, status;
	struct setup s;
	struct app b;

	three.nodes = 5;
	one_way_setup(&s, &three, (struct rmc_model){ .hop_ns = 1000000, .mbps = 1000 });
	/* a ring of five: node 0 is one hop from node 1, node 3 two */
	s.w.fabric->model.topology = RMC_TOPOLOGY_TORUS2D;
	s.w.fabric->model.dim[0] = 5;
	s.w.fabric->model.dim[1] = 1;
	model_set(&s.w, &s.w.fabric->model);
	app_init(&b, &s.w, 3, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	app_post(&b, RMC_OP_WRITE, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	app_post(&s.a, RMC_OP_WRITE, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	/* 80 bytes take 640 ns, 16 take 128: there 1,000,640 ns, back 1,000,128 */
	testbed_now_ns += 1000640;
	testbed_settle(&s.w);
	testbed_now_ns += 1000128 - 1;
	testbed_settle(&s.w);
	CHECK(!app_poll(&s.a, &slot, &status));
	testbed_now_ns++;
	testbed_settle(&s.w);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK(!app_poll(&b, &slot, &status));
	testbed_now_ns += 3000000;
	testbed_settle(&s.w);
	testbed_now_ns += 3000000;
	testbed_settle(&s.w);
	CHECK(app_poll(&b, &slot, &status));
	app_fini(&b);
	one_way_teardown(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "each way takes its time, and so do the server's ports", test_one_way, .one_kernel = true },
		{ "each way, two clients of one port", test_one_way_shared_ports, .one_kernel = true },
		{ "each way, two nodes of a rack share its link", test_one_way_racks, .one_kernel = true },
		{ "each way, without memory at first", test_one_way_no_memory, .one_kernel = true },
		{ "each way, set while channels are open", test_one_way_refresh, .one_kernel = true },
		{ "each way, another model", test_one_way_next_model, .one_kernel = true },
		{ "each way, near and far", test_one_way_distances, .one_kernel = true },
	};

	matrix_run(tests, ARRAY_SIZE(tests), filtered_opts, ARRAY_SIZE(filtered_opts));
	return matrix_done();
}
