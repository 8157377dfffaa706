// SPDX-License-Identifier: GPL-2.0
/* Nodes that die, pause, restart, leave and join, and what is told of it. */
#include "setup.h"
#include "kmod/core/pipeline.h"

/* A kernel for each node, or one for both */
static void setup(struct setup *s, const struct world_opts *o, bool kernels)
{
	struct world_opts k = *o;

	k.kernels = kernels;
	setup_make(s, &k, 16);
}

/* A peer dies, is noticed, boots again, and is usable without us restarting. */
static void test_node_death(const struct world_opts *o)
{
	struct setup s;
	int i;

	setup(&s, o, true);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 640), RMC_S_OK);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	world_settle(&s.w);
	for (i = 0; i < 40; i++)
		world_tick(&s.w, 100);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);

	/* paused, not dead: it wakes up and all is well */
	s.w.frozen[1] = false;
	for (i = 0; i < 4; i++)
		world_tick(&s.w, 2);
	world_settle(&s.w);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);

	/* killed with a request in its ring, boots under a new epoch */
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 6400);
	world_settle(&s.w);
	world_restart(&s.w, 1);
	s.w.frozen[1] = false;
	CHECK(!s.w.node[1]->up);
	for (i = 0; i < 6; i++)
		world_tick(&s.w, 2);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BAD_CONTEXT);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 64 * (i % 100), lbuf, 200), RMC_S_OK);

	/* it leaves in good order */
	s.w.frozen[1] = true;
	rmc_node_leave(s.w.node[1]);
	world_tick(&s.w, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	setup_free(&s);
}

/* Exactly these were told by a node; forgets them. */
static void check_told(u32 by, const struct world_told *want, u32 n)
{
	u32 i, k = 0;

	for (i = 0; i < world_tolds && i < WORLD_TOLD; i++) {
		const struct world_told *t = &world_told[i];

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
	world_tolds = 0;
}

/* How often a node told this */
static u32 told(u32 by, u32 type, u32 nid)
{
	u32 i, n = 0;

	for (i = 0; i < world_tolds && i < WORLD_TOLD; i++)
		n += world_told[i].by == by && world_told[i].type == type &&
		     world_told[i].nid == nid;
	return n;
}

static void ticks(struct world *w, int n, u64 ms)
{
	while (n--) {
		world_tick(w, ms);
		world_settle(w);
	}
}

/* What a survivor is told of a peer's lives, in order and once. */
static void test_node_events(const struct world_opts *o)
{
	static const struct world_told down[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
	};
	static const struct world_told up[] = {
		{ 0, RMC_EVENT_NODE_UP, 1, 1 }, { 0, RMC_EVENT_LINK_UP, 1, 1 },
	};
	static const struct world_told next[] = {
		{ 0, RMC_EVENT_LINK_DOWN, 1, 1 }, { 0, RMC_EVENT_NODE_DOWN, 1, 1 },
		{ 0, RMC_EVENT_NODE_UP, 1, 2 }, { 0, RMC_EVENT_LINK_UP, 1, 2 },
	};
	struct setup s;

	setup(&s, o, true);
	ticks(&s.w, 4, 2);
	world_tolds = 0;
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_UP);
	ticks(&s.w, 20, 500);
	check_told(0, NULL, 0);

	/* silent, also when nothing is asked of it; then it goes on */
	s.w.frozen[1] = true;
	ticks(&s.w, 40, 100);
	check_told(0, down, 2);
	CHECK_EQ(s.w.node[0]->peer[1].state, RMC_NODE_DOWN);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	s.w.frozen[1] = false;
	ticks(&s.w, 4, 2);
	check_told(0, up, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);

	/* a new life without a word about the end of the old one */
	world_restart(&s.w, 1);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	ticks(&s.w, 6, 2);
	check_told(0, next, 4);
	CHECK_EQ(s.w.node[1]->epoch, 2);

	/* whoever finds its id taken tells so itself */
	s.w.table[1].claim = rmc_claim(RMC_NODE_JOINING, 3);
	ticks(&s.w, 2, 2);
	CHECK_EQ(told(1, RMC_EVENT_FENCED, 1), 1);
	CHECK_EQ(told(1, RMC_EVENT_LINK_DOWN, 0), 1);
	CHECK_EQ(told(1, RMC_EVENT_NODE_DOWN, 0), 0);
	setup_free(&s);
}

/* An id that the transport claimed keeps its epoch; any other gets a new one. */
static void test_join_epoch(const struct world_opts *o)
{
	struct setup s;

	setup(&s, o, true);
	CHECK_EQ(s.w.node[0]->epoch, 1);
	s.w.table[1].claim = rmc_claim(RMC_NODE_JOINING, 7);
	world_restart(&s.w, 1);
	ticks(&s.w, 6, 2);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(s.w.node[1]->epoch, 7);
	CHECK_EQ(s.w.table[1].epoch, 7);
	setup_free(&s);
}

/*
 * Another kernel takes over the id of one that stands still. When that goes on, and
 * before it looks at the node table, it still sends what its application had asked
 * for: nobody takes that for the successor's.
 */
static void test_late_packets(const struct world_opts *o)
{
	struct world_opts k = *o;
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
	rmc_node_join(successor, rmc_os_ns_to_ms(world_now_ns));
	ticks(&s.w, 6, 2);
	CHECK(successor->up);
	for (i = 0; i < s.w.opts.units; i++)
		successor->unit[i]->ct.seg[CTX] = s.seg_mem;
	app_init(&c, &s.w, 2, CTX, 16);
	rmc_bufs_add(&c.bufs, s.buf_mem);
	for (i = 0; i < 3; i++)
		CHECK_EQ(app_run(&c, RMC_OP_WRITE, 0, 64 * i, lbuf, 64), RMC_S_OK);

	/* the old one goes on where it stood: no tick yet */
	served = world_stat(&s.w, 1, served);
	for (i = 0; i < 8; i++)
		app_post(&b, RMC_OP_WRITE, 0, 8192 + 64 * i, late, 64);
	for (i = 0; i < 50; i++) {
		u32 n;

		for (n = 0; n < per; n++)
			rmc_ni_visit(&s.w.worker[per + n].ni);
		CHECK_EQ(app_run(&c, RMC_OP_WRITE, 0, 64 * i, lbuf, 64), RMC_S_OK);
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 64 * i, lbuf + 4096, 64), RMC_S_OK);
	}
	CHECK(world_stat(&s.w, 1, requests) >= 18);
	CHECK_EQ(world_stat(&s.w, 1, served), served);
	for (i = 0; i < 8; i++)
		CHECK(memcmp(seg + 8192 + 64 * i, late, 64));

	/* it looks, and learns */
	world_tolds = 0;
	s.w.frozen[1] = false;
	ticks(&s.w, 3, 2);
	CHECK(old->fenced);
	CHECK_EQ(told(1, RMC_EVENT_FENCED, 1), 1);
	for (i = 0; i < 8; i++)
		CHECK_EQ(app_wait(&b), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&b, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_NODE_DOWN);
	CHECK_EQ(app_run(&c, RMC_OP_READ, 0, 0, lbuf, 64), RMC_S_OK);
	app_fini(&c);
	app_fini(&b);
	setup_free(&s);
}

static void take_down(struct world *w, u32 nid)
{
	u32 i;

	for (i = 0; i < w->opts.units; i++)
		rmc_node_down_srv(w->node[nid]->unit[i]);
	for (i = 0; i < w->opts.units; i++)
		rmc_node_down_req(w->node[nid]->unit[i]);
}

/* The administrator takes a node down and up again, in one kernel or in several. */
static void down_up(const struct world_opts *o, bool kernels)
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
		world_tolds = 0;
		/* taken, not served */
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

		rmc_node_join(s.w.node[1], rmc_os_ns_to_ms(world_now_ns));
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

static void test_down_up(const struct world_opts *o)
{
	down_up(o, false);
}

static void test_down_up_kernels(const struct world_opts *o)
{
	down_up(o, true);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "peer dies, pauses, restarts, leaves", test_node_death },
		{ "what is told of a peer's lives", test_node_events },
		{ "a claimed id keeps its epoch", test_join_epoch },
		{ "what a fenced node still sends is dropped", test_late_packets },
		{ "node down and up in one kernel", test_down_up },
		{ "node down and up, a kernel per node", test_down_up_kernels },
	};
	static const struct world_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return tap_done();
}
