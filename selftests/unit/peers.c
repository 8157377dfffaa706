// SPDX-License-Identifier: GPL-2.0
/* Nodes that die, pause, restart, leave and join, and the events that follow. */
#include "setup.h"
#include "kmod/core/pipeline.h"

/* A kernel for each node, or one for both */
static void setup(struct setup *s, const struct testbed_opts *o, bool kernels)
{
	struct testbed_opts k = *o;

	k.kernels = kernels;
	setup_make(s, &k, 16);
}

/* A peer dies, is detected, boots again, and is usable without a restart of our node. */
static void test_node_death(const struct testbed_opts *o)
{
	struct setup s;
	int i;

	setup(&s, o, true);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 640), RMC_S_OK);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	for (i = 0; i < 40; i++)
		testbed_tick(&s.w, 100);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);

	/* paused, not dead: it continues and is usable */
	s.w.frozen[1] = false;
	for (i = 0; i < 4; i++)
		testbed_tick(&s.w, 2);
	testbed_settle(&s.w);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);

	/* killed with a request in its ring, boots under a new epoch */
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 6400);
	testbed_settle(&s.w);
	testbed_restart(&s.w, 1);
	s.w.frozen[1] = false;
	CHECK(!s.w.node[1]->up);
	for (i = 0; i < 6; i++)
		testbed_tick(&s.w, 2);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BAD_CONTEXT);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 64 * (i % 100), lbuf, 200), RMC_S_OK);

	/* it leaves properly */
	s.w.frozen[1] = true;
	rmc_node_leave(s.w.node[1]);
	testbed_tick(&s.w, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	setup_free(&s);
}

/* A node had exactly these events; clears the list. */
static void check_node_events(u32 by, const struct testbed_node_event *want, u32 n)
{
	u32 i, k = 0;

	for (i = 0; i < testbed_node_event_count && i < TESTBED_NODE_EVENTS; i++) {
		const struct testbed_node_event *t = &testbed_node_events[i];

		if (t->by != by)
			continue;
		if (k < n) {
			CHECK_EQ(t->type, want[k].type);
			CHECK_EQ(t->nid, want[k].nid);
			CHECK_EQ(t->epoch, want[k].epoch);
		}
		k++;
	}
	CHECK_EQ(k, n);
	testbed_node_event_count = 0;
}

/* How often a node had this event */
static u32 node_events(u32 by, u32 type, u32 nid)
{
	u32 i, n = 0;

	for (i = 0; i < testbed_node_event_count && i < TESTBED_NODE_EVENTS; i++)
		n += testbed_node_events[i].by == by && testbed_node_events[i].type == type &&
		     testbed_node_events[i].nid == nid;
	return n;
}

static void ticks(struct testbed *w, int n, u64 ms)
{
	while (n--) {
		testbed_tick(w, ms);
		testbed_settle(w);
	}
}

/* A survivor has the events of a peer's epochs in order and once. */
static void test_node_events(const struct testbed_opts *o)
{
	static const struct testbed_node_event down[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
	};
	static const struct testbed_node_event up[] = {
		{ 0, RMC_EVENT_NODE_UP, 1, 1 }, { 0, RMC_EVENT_LINK_UP, 1, 1 },
	};
	static const struct testbed_node_event next[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
		{ 0, RMC_EVENT_NODE_UP, 1, 2 }, { 0, RMC_EVENT_LINK_UP, 1, 2 },
	};
	struct setup s;

	setup(&s, o, true);
	ticks(&s.w, 4, 2);
	testbed_node_event_count = 0;
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	ticks(&s.w, 20, 500);
	check_node_events(0, NULL, 0);

	/* silent, even without traffic; then it continues */
	s.w.frozen[1] = true;
	ticks(&s.w, 40, 100);
	check_node_events(0, down, 2);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	s.w.frozen[1] = false;
	ticks(&s.w, 4, 2);
	check_node_events(0, up, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);

	/* a new epoch without any notice of the end of the old one */
	testbed_restart(&s.w, 1);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	ticks(&s.w, 6, 2);
	check_node_events(0, next, 4);
	CHECK_EQ(s.w.node[1]->epoch, 2);

	/* a node that finds its id taken has an event of that itself */
	testbed_claim(&s.w, 1, RMC_NODE_JOINING, 3);
	rmc_node_tick_srv(s.w.node[1], rmc_os_ns_to_ms(testbed_now_ns));
	ticks(&s.w, 2, 2);
	CHECK_EQ(node_events(1, RMC_EVENT_FENCED, 1), 1);
	CHECK_EQ(node_events(1, RMC_EVENT_LINK_DOWN, 0), 1);
	CHECK_EQ(node_events(1, RMC_EVENT_NODE_DOWN, 0), 0);
	/* and no events of its successor */
	testbed_claim(&s.w, 1, RMC_NODE_UP, 3);
	ticks(&s.w, 2, 2);
	CHECK_EQ(node_events(1, RMC_EVENT_NODE_DOWN, 1), 0);
	CHECK_EQ(node_events(1, RMC_EVENT_NODE_UP, 1), 0);
	CHECK_EQ(s.w.node[1]->peer[1].epoch, 2);
	setup_free(&s);
}

/* Epochs whose beginning was not seen, with as many heartbeats as in the one before */
static void test_missed_lives(const struct testbed_opts *o)
{
	static const struct testbed_node_event silent[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
	};
	static const struct testbed_node_event second[] = {
		{ 0, RMC_EVENT_NODE_UP, 1, 2 }, { 0, RMC_EVENT_LINK_UP, 1, 2 },
	};
	static const struct testbed_node_event third[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 2 }, { 0, RMC_EVENT_NODE_DOWN, 1, 2 },
		{ 0, RMC_EVENT_NODE_UP, 1, 3 }, { 0, RMC_EVENT_LINK_UP, 1, 3 },
	};
	static const struct testbed_node_event gone[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 3 }, { 0, RMC_EVENT_NODE_DOWN, 1, 3 },
	};
	static const struct testbed_node_event fourth[] = {
		{ 0, RMC_EVENT_NODE_UP, 1, 4 }, { 0, RMC_EVENT_LINK_UP, 1, 4 },
	};
	struct setup s;

	setup(&s, o, true);
	ticks(&s.w, 4, 2);
	testbed_node_event_count = 0;
	s.w.frozen[1] = true;
	ticks(&s.w, 40, 100);
	check_node_events(0, silent, 2);
	testbed_claim(&s.w, 1, RMC_NODE_UP, 2);
	ticks(&s.w, 3, 2);
	check_node_events(0, second, 2);
	testbed_claim(&s.w, 1, RMC_NODE_UP, 3);
	ticks(&s.w, 3, 2);
	check_node_events(0, third, 4);
	/* a node that is not up yet needs no heartbeat: its time starts when it is up */
	testbed_claim(&s.w, 1, RMC_NODE_JOINING, 4);
	ticks(&s.w, 40, 100);
	check_node_events(0, gone, 2);
	testbed_claim(&s.w, 1, RMC_NODE_UP, 4);
	ticks(&s.w, 3, 2);
	check_node_events(0, fourth, 2);
	setup_free(&s);
}

/* One peer's silence does not affect others: operations to them continue. */
static void test_silence_of_one(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 slot, status;
	struct setup s;
	struct app c;
	int i;

	k.nodes = 3;
	setup(&s, &k, true);
	seg_set(&s.w, 2, CTX, s.seg_mem);
	app_init(&c, &s.w, 0, CTX, 16);
	rmc_bufs_add(&c.bufs, s.buf_mem);
	for (i = 1; i < 3; i++) {
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, i, 0, lbuf, 64), RMC_S_OK);
		CHECK_EQ(app_run(&c, RMC_OP_READ, i, 0, lbuf, 64), RMC_S_OK);
		s.w.frozen[i] = true;
	}
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_post(&s.a, RMC_OP_READ, 2, 0, lbuf, 64);
	app_post(&c, RMC_OP_READ, 2, 0, lbuf, 64);
	testbed_settle(&s.w);
	for (i = 0; i < 40; i++) {
		testbed_fabric(&s.w, 0)->node[2].heartbeat++;
		testbed_tick(&s.w, 100);
	}
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK(!app_poll(&s.a, &slot, &status));
	CHECK(!app_poll(&c, &slot, &status));
	CHECK_EQ(testbed_in_flight(&s.w, 0), 2);
	s.w.frozen[2] = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK_EQ(app_wait(&c), RMC_S_OK);
	app_fini(&c);
	setup_free(&s);
}

/* A fault cuts the link: the node stays up. */
static void test_cut(const struct testbed_opts *o)
{
	static const struct testbed_node_event cut = { 0, RMC_EVENT_LINK_DOWN, 1, 1 };
	static const struct testbed_node_event whole = { 0, RMC_EVENT_LINK_UP, 1, 1 };
	static const struct rmc_fault down = { .down = true }, slow = { .delay_ns = 1 };
	struct setup s;

	setup(&s, o, true);
	ticks(&s.w, 4, 2);
	testbed_node_event_count = 0;
	rmc_filters++;
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &slow, 1);
	ticks(&s.w, 2, 2);
	check_node_events(0, NULL, 0);
	fault_set(&s.w, 1, 0, RMC_LANE_REP, &down, 1);
	ticks(&s.w, 2, 2);
	check_node_events(0, &cut, 1);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	fault_clear(&s.w, 1, 0, RMC_LANE_REP);
	ticks(&s.w, 2, 2);
	check_node_events(0, &whole, 1);
	rmc_filters--;
	setup_free(&s);
}

/* A node of several units: only its head has events of peers, for all units. */
static void test_units(const struct testbed_opts *o)
{
	static const struct testbed_node_event down = { 0, RMC_EVENT_LINK_DOWN, 1, 1 };
	static const struct testbed_node_event up = { 0, RMC_EVENT_LINK_UP, 1, 1 };
	static const struct testbed_node_event next[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
		{ 0, RMC_EVENT_NODE_UP, 1, 2 },
	};
	struct testbed_opts k = *o;
	u32 *word, now;
	struct rmc_node *node;
	struct setup s;
	struct app b;

	if (!k.units) {
		k.ni = "edge";
		k.units = 2;
	}
	setup(&s, &k, true);
	node = s.w.node[0];
	/* the second application: of the second unit */
	app_init(&b, &s.w, 0, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	ticks(&s.w, 4, 2);
	testbed_node_event_count = 0;
	now = rmc_os_ns_to_ms(testbed_now_ns);

	/* the last of the peer's units does not work with our epoch */
	word = rmc_sync_word(node->fabric, rmc_endpoint(node->fabric, 1) + k.units - 1, 0);
	CHECK_EQ(*word, 1);
	*word = 9;
	rmc_node_tick_req(node, ++now);
	check_node_events(0, &down, 1);
	*word = 1;
	rmc_node_tick_req(node, ++now);
	check_node_events(0, &up, 1);

	/* a unit that polls first closes its ends, and leaves the rest to the head */
	s.w.frozen[1] = true;
	testbed_claim(&s.w, 1, RMC_NODE_UP, 2);
	rmc_node_tick_req(node->unit[1], ++now);
	check_node_events(0, NULL, 0);
	CHECK_EQ(node->peer[1].epoch, 1);
	rmc_node_tick_req(node, ++now);
	check_node_events(0, next, 3);
	testbed_claim(&s.w, 1, RMC_NODE_UP, 1);
	ticks(&s.w, 3, 2);

	/* the head was fenced: a unit ends its operations, whenever its RRPP notices */
	app_post(&b, RMC_OP_READ, 1, 0, lbuf, 64);
	app_take(&b);
	now = rmc_os_ns_to_ms(testbed_now_ns);
	rmc_node_tick_req(node->unit[1], ++now);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	testbed_claim(&s.w, 0, RMC_NODE_JOINING, 2);
	rmc_node_tick_srv(node, ++now);
	CHECK(node->fenced && !node->unit[1]->fenced);
	rmc_node_tick_req(node->unit[1], ++now);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK_EQ(app_wait(&b), RMC_S_NODE_DOWN);
	app_fini(&b);
	setup_free(&s);
}

/* An id that the transport claimed keeps its epoch; any other gets a new one. */
static void test_join_epoch(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o, true);
	CHECK_EQ(s.w.node[0]->epoch, 1);
	testbed_claim(&s.w, 1, RMC_NODE_JOINING, 7);
	testbed_restart(&s.w, 1);
	ticks(&s.w, 6, 2);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(s.w.node[1]->epoch, 7);
	CHECK_EQ(testbed_fabric(&s.w, 0)->node[1].epoch, 7);
	setup_free(&s);
}

/*
 * Another kernel takes over the id of a paused kernel. The paused kernel continues, and before
 * it polls the node table, it still sends its application's requests. No peer may take them
 * for the successor's.
 */
static void test_late_packets(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_node *old, *successor;
	u32 per, i, served;
	struct app b, c;
	struct setup s;
	u8 *late;

	k.nodes = 3;
	setup(&s, &k, true);
	per = s.w.workers / 3;
	late = lbuf + SEG / 2;
	memset(lbuf, 0x11, 4096);
	memset(late, 0xee, 4096);
	seg_set(&s.w, 0, CTX, s.seg_mem);
	app_init(&b, &s.w, 1, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	for (i = 0; i < 10; i++)
		CHECK_EQ(app_run(&b, RMC_OP_WRITE, 0, 64 * i, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf + 4096, 64), RMC_S_OK);
	old = s.w.node[1];
	s.w.frozen[1] = true;
	ticks(&s.w, 40, 100);

	/* the kernel of node 2 hosts node 1 from now on */
	rmc_node_leave(s.w.node[2]);
	rmc_node_destroy(s.w.node[2]);
	memset(s.w.fabric[2].local, 0, s.w.fabric[2].endpoints * sizeof(successor));
	successor = rmc_node_create(&s.w.fabric[2], 1, 64);
	s.w.node[2] = successor;
	for (i = 0; i < per; i++) {
		rmc_ni_worker_destroy(&s.w.worker[2 * per + i].ni);
		memset(&s.w.worker[2 * per + i].ni, 0, sizeof(s.w.worker[0].ni));
		rmc_ni_worker_init(&s.w.worker[2 * per + i].ni, s.w.opts.units);
	}
	for (i = 0; i < 2 * s.w.opts.units; i++) {
		struct rmc_node *unit = successor->unit[i / 2];
		u32 place = rmc_ni_place(rmc_ni_find(k.ni), &s.w.fabric[2], i / 2, i % 2);

		s.w.fabric[2].local[unit->ep] = unit;
		rmc_ni_add_unit(&s.w.worker[2 * per + place].ni, unit, i % 2);
	}
	s.w.table[1].claim = rmc_claim(RMC_NODE_JOINING, 2);
	successor->claimed = 2;
	rmc_node_join(successor, rmc_os_ns_to_ms(testbed_now_ns));
	ticks(&s.w, 6, 2);
	CHECK(successor->up);
	for (i = 0; i < s.w.opts.units; i++)
		successor->unit[i]->ct.seg[CTX] = s.seg_mem;
	app_init(&c, &s.w, 2, CTX, 16);
	rmc_bufs_add(&c.bufs, s.buf_mem);
	for (i = 0; i < 3; i++)
		CHECK_EQ(app_run(&c, RMC_OP_WRITE, 0, 64 * i, lbuf, 64), RMC_S_OK);

	/* the old one continues where it was paused: no tick yet */
	served = testbed_stat(&s.w, 1, served);
	for (i = 0; i < 8; i++)
		app_post(&b, RMC_OP_WRITE, 0, 8192 + 64 * i, late, 64);
	for (i = 0; i < 50; i++) {
		u32 n;

		for (n = 0; n < per; n++)
			rmc_ni_visit(&s.w.worker[per + n].ni);
		CHECK_EQ(app_run(&c, RMC_OP_WRITE, 0, 64 * i, lbuf, 64), RMC_S_OK);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 64 * i, lbuf + 4096, 64), RMC_S_OK);
	}
	CHECK(testbed_stat(&s.w, 1, requests) >= 18);
	CHECK_EQ(testbed_stat(&s.w, 1, served), served);
	for (i = 0; i < 8; i++)
		CHECK(memcmp(seg + 8192 + 64 * i, late, 64));

	/* it polls, and notices */
	testbed_node_event_count = 0;
	s.w.frozen[1] = false;
	ticks(&s.w, 3, 2);
	CHECK(old->fenced);
	CHECK_EQ(node_events(1, RMC_EVENT_FENCED, 1), 1);
	for (i = 0; i < 8; i++)
		CHECK_EQ(app_wait(&b), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&c, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_OK);
	app_fini(&c);
	app_fini(&b);
	setup_free(&s);
}

static void take_down(struct testbed *w, u32 nid)
{
	u32 i;

	for (i = 0; i < w->opts.units; i++)
		rmc_node_down_srv(w->node[nid]->unit[i]);
	for (i = 0; i < w->opts.units; i++)
		rmc_node_down_req(w->node[nid]->unit[i]);
}

/* The administrator takes a node down and up again, in one kernel or in several. */
static void down_up(const struct testbed_opts *o, bool kernels)
{
	struct setup s;
	struct app b;
	int i;

	setup(&s, o, kernels);
	app_init(&b, &s.w, 1, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 640), RMC_S_OK);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf, 640), RMC_S_OK);
	ticks(&s.w, 4, 2);
	for (i = 0; i < 5; i++) {
		testbed_node_event_count = 0;
		/* taken by the RGP, not served */
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG);
		app_take(&s.a);
		take_down(&s.w, 1);
		ticks(&s.w, 2, 2);
		CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
		CHECK_EQ(app_run(&b, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_NODE_DOWN);
		CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_DOWN);
		CHECK_EQ(s.w.node[1]->peer[1].state, RMC_NODE_DOWN);
		/* a node that is down may stay so without spinning */
		ticks(&s.w, 2, 5000);
		CHECK(!s.w.node[1]->up);

		rmc_node_join(s.w.node[1], rmc_os_ns_to_ms(testbed_now_ns));
		ticks(&s.w, 6, 2);
		CHECK(s.w.node[1]->up);
		CHECK_EQ(s.w.node[1]->epoch, i + 2);
		CHECK_EQ(s.w.node[0]->peer[1].epoch, i + 2);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 6400), RMC_S_OK);
		CHECK_EQ(app_run(&b, RMC_OP_READ, 1, 0, lbuf, 640), RMC_S_OK);
	}
	app_fini(&b);
	setup_free(&s);
}

static void test_down_up(const struct testbed_opts *o)
{
	down_up(o, false);
}

static void test_down_up_kernels(const struct testbed_opts *o)
{
	down_up(o, true);
}

/* Down and up between two polls by the others, with all nodes in one kernel */
static void test_between_polls(const struct testbed_opts *o)
{
	static const struct testbed_node_event next[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
		{ 0, RMC_EVENT_NODE_UP, 1, 2 }, { 0, RMC_EVENT_LINK_UP, 1, 2 },
	};
	struct testbed_opts k = *o;
	u32 now, i;
	struct setup s;
	struct app b;

	setup(&s, &k, false);
	seg_set(&s.w, 0, CTX, s.seg_mem);
	app_init(&b, &s.w, 1, CTX, 16);
	rmc_bufs_add(&b.bufs, s.buf_mem);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 0, 0, lbuf, LONG), RMC_S_OK);
	ticks(&s.w, 4, 2);
	testbed_node_event_count = 0;
	take_down(&s.w, 1);
	now = rmc_os_ns_to_ms(testbed_now_ns);
	rmc_node_join(s.w.node[1], now);
	CHECK(rmc_node_join_poll(s.w.node[1], now));
	ticks(&s.w, 2, 2);
	check_node_events(0, next, 4);
	/* both ends, of either direction, are of the new epoch */
	for (i = 0; i < s.w.fabric->endpoints; i++)
		CHECK(!s.w.node[0]->in[i] || s.w.node[0]->in[i]->epoch ==
		      s.w.table[rmc_endpoint_nid(s.w.fabric, i)].epoch);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 0, 0, lbuf, LONG), RMC_S_OK);
	app_fini(&b);
	setup_free(&s);
}

/* One kernel has no heartbeats: a node that did nothing for long is still up. */
static void test_no_hearts(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;

	k.nodes = 3;
	setup(&s, &k, false);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	ticks(&s.w, 2 * RMC_DEAD_MS / 500, 500);
	testbed_node_event_count = 0;
	take_down(&s.w, 2);
	ticks(&s.w, 2, 2);
	CHECK_EQ(node_events(0, RMC_EVENT_NODE_DOWN, 2), 1);
	CHECK_EQ(node_events(0, RMC_EVENT_NODE_DOWN, 1), 0);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	setup_free(&s);
}

/*
 * Clocks of two CPUs may differ, so the clock of ticks may step back. Steps of a
 * millisecond must not time out an operation, end a peer, or end a join.
 */
static void test_clock_steps_back(const struct testbed_opts *o)
{
	struct setup s;
	int i;

	setup(&s, o, true);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	for (i = 0; i < 40; i++) {
		testbed_tick(&s.w, -1ULL);
		testbed_tick(&s.w, 1);
	}
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	s.w.frozen[1] = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);

	/* time continues from the later of both clocks, and counts once */
	s.w.frozen[1] = true;
	for (i = 0; i < RMC_DEAD_MS / 2; i++) {
		testbed_tick(&s.w, -1ULL);
		testbed_tick(&s.w, 2);
	}
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	ticks(&s.w, RMC_DEAD_MS + 10, 1);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_DOWN);
	s.w.frozen[1] = false;
	ticks(&s.w, 4, 2);

	/* node 0 is alive but frozen: a joining node waits for it */
	s.w.frozen[0] = true;
	testbed_restart(&s.w, 1);
	testbed_fabric(&s.w, 1)->node[0].claim = rmc_claim(RMC_NODE_UP, 1);
	for (i = 0; i < 40; i++) {
		testbed_tick(&s.w, -1ULL);
		CHECK(!s.w.node[1]->up);
	}
	setup_free(&s);
}

/*
 * A machine with all its guests is suspended: the guest that resumes first gives the others
 * time to resume, even with a short dead_ms.
 */
static void test_all_are_paused(const struct testbed_opts *o)
{
	struct setup s;
	int i;

	setup(&s, o, true);
	for (i = 0; i < 2; i++)
		s.w.fabric[i].dead_ms = 100;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	s.w.frozen[1] = true;
	ticks(&s.w, 1, 2);	/* its last heartbeat was read already */
	ticks(&s.w, 1, 3600 * 1000);
	ticks(&s.w, 10, 2);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	s.w.frozen[1] = false;
	ticks(&s.w, 4, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	/* a peer that does not resume is dead */
	s.w.frozen[1] = true;
	ticks(&s.w, 60, 2);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_DOWN);
	setup_free(&s);
}

/* All channels from the requester's unit to node 1 close, as loopback frees them. */
static bool retire(struct setup *s, struct rmc_node *unit)
{
	struct rmc_fabric *f = unit->fabric;
	u32 i, ep;

	if (!rmc_out_retire(unit, 1))
		return false;
	for (i = 0; i < rmc_fabric_units(f); i++) {
		ep = rmc_endpoint(f, 1) + i;
		CHECK(!unit->out[ep]);
		rmc_in_retire(f->local[ep], unit->ep);
		CHECK(!f->local[ep]->in[unit->ep]);
		/* nothing makes the RRPP request the channel again */
		CHECK(!(*rmc_doorbell_word(f, ep, RMC_LANE_REQ, unit->ep) & 1ULL << unit->ep));
		free(s->w.channel[unit->ep * f->endpoints + ep]);
		s->w.channel[unit->ep * f->endpoints + ep] = NULL;
	}
	return true;
}

/* Channels are freed between operations, never during one, and open again. */
static void test_retire(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_node *unit;
	struct setup s;
	u32 i;

	setup(&s, &k, false);
	unit = s.a.qp.node;
	/* nothing was opened */
	CHECK(rmc_out_retire(unit, 1));
	for (i = 0; i < 20; i++) {
		fill(seg, SEG, i);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, i, lbuf, LONG), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + i, LONG));
		app_post(&s.a, RMC_OP_READ, 1, 64 * i, lbuf, LONG);
		app_take(&s.a);
		CHECK(!retire(&s, unit));
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		CHECK(!memcmp(lbuf, seg + 64 * i, LONG));
		testbed_settle(&s.w);
		CHECK(retire(&s, unit));
		CHECK(testbed_credits_home(&s.w, 0, 1));
	}
	CHECK_EQ(testbed_stat(&s.w, 0, stale_replies), 0);
	CHECK_EQ(testbed_stat(&s.w, 0, bad_replies), 0);
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "peer dies, pauses, restarts, leaves", test_node_death },
		{ "events of a peer's lives", test_node_events },
		{ "lives whose beginning nobody saw", test_missed_lives },
		{ "one peer's silence is no other's", test_silence_of_one },
		{ "a link that is cut", test_cut },
		{ "a node's head has the events of all its units", test_units },
		{ "a claimed id keeps its epoch", test_join_epoch },
		{ "what a fenced node still sends is dropped", test_late_packets, .shared = true },
		{ "node down and up in one kernel", test_down_up, .one_kernel = true },
		{ "node down and up, a kernel per node", test_down_up_kernels },
		{ "down and up between two polls", test_between_polls, .one_kernel = true },
		{ "in one kernel nobody is silent", test_no_hearts, .one_kernel = true },
		{ "the clock of ticks steps back", test_clock_steps_back },
		{ "all machines are suspended and resume", test_all_are_paused },
		{ "channels are freed between operations", test_retire, .one_kernel = true },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
