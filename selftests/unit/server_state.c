// SPDX-License-Identifier: GPL-2.0
/*
 * State that an RRPP keeps of its peers (core/state.h), with a row of tests alone: each of its
 * functions is called, by the core's own callers, and its members have the effect that the
 * table's comment promises.
 */
#include "probe.h"
#include "setup.h"

void (*rmc_at_barrier)(void);

static struct rmc_tally *tally(struct setup *s, u32 unit)
{
	return &s->w.node[1]->unit[unit]->tally;
}

/* Each unit has its own, from its creation to its end. */
static void test_life(const struct testbed_opts *o)
{
	u32 units = o->units ?: 1;
	struct setup s;

	CHECK_EQ(tallies, 0);
	setup_make(&s, o, 16);
	CHECK_EQ(tallies, o->nodes * units);
	setup_free(&s);
	CHECK_EQ(tallies, 0);
}

/* One that cannot be set up: there is no node, and nothing is left of it. */
static void test_no_memory(const struct testbed_opts *o)
{
	struct setup s;

	setup_make(&s, o, 16);
	tally_no_memory = true;
	CHECK(!rmc_node_create(s.w.node[1]->fabric, 1, 64));
	tally_no_memory = false;
	CHECK_EQ(tallies, o->nodes * (o->units ?: 1));
	setup_free(&s);
}

/* Polled at each visit while it is in use, and not otherwise, even if other state is. */
static void test_poll(const struct testbed_opts *o)
{
	struct setup s;

	setup_make(&s, o, 16);
	memset(seg, 0, SEG);
	mem_objects(s.seg_mem, RMC_SABRE_SERIALIZED, 0);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, LONG), RMC_S_OK);
	CHECK_EQ(tally(&s, 0)->polls, 0);
	tally(&s, 0)->used = 1;
	testbed_visit(&s.w);
	CHECK(tally(&s, 0)->polls > 0);
	CHECK_EQ(app_run(&s.a, RMC_OP_SABRE, 1, 0, lbuf, LONG), RMC_S_OK);
	tally(&s, 0)->used = 0;
	tally(&s, 0)->polls = 0;
	testbed_visit(&s.w);
	CHECK_EQ(tally(&s, 0)->polls, 0);
	setup_free(&s);
}

/* Its ticks come with the worker's, and its limit makes the RRPP's clock cautious. */
static void test_tick(const struct testbed_opts *o)
{
	struct rmc_node *unit;
	struct setup s;
	u32 before;

	setup_make(&s, o, 16);
	unit = s.w.node[1]->unit[0];
	testbed_tick(&s.w, 1);
	before = unit->srv_ms;
	testbed_tick(&s.w, 1);
	CHECK(unit->tally.ticks > 0);
	CHECK_EQ(unit->srv_ms, before + 1);
	/* a pause counts an eighth of the shortest limit: SABRes', and then this one's */
	testbed_tick(&s.w, 1000);
	CHECK_EQ(unit->srv_ms, before + 2 + RMC_ATT_STALL_MS / 8);
	before = unit->srv_ms;
	unit->tally.stall_ms = 16;
	testbed_tick(&s.w, 1000);
	CHECK_EQ(unit->srv_ms, before + 3);
	unit->tally.stall_ms = TALLY_STALL_MS;
	setup_free(&s);
}

/* While it has to tick, the worker of its RRPP does not park. */
static void test_busy(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u32 i;

	setup_make(&s, o, 16);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	w = s.w.node[1]->srv_worker;
	CHECK(rmc_ni_may_park(w));
	tally(&s, 0)->live = 1;
	CHECK(!rmc_ni_may_park(w));
	tally(&s, 0)->live = 0;
	CHECK(rmc_ni_may_park(w));
	setup_free(&s);
}

/* It learns of a segment that is withdrawn, and of a source whose channel closes. */
static void test_drops(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_node *unit;
	struct rmc_in *in;
	struct setup s;
	u32 i;

	k.kernels = true;
	setup_make(&s, &k, 16);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	seg_set(&s.w, 1, CTX, NULL);
	for (i = 0; i < s.w.opts.units; i++)
		CHECK(tally(&s, i)->withdrawn == s.seg_mem);
	unit = s.w.node[1]->unit[0];
	in = unit->in[s.a.qp.node->ep];
	CHECK(in && !unit->tally.closed);
	rmc_node_down_srv(unit);
	CHECK(unit->tally.closed == in);
	setup_free(&s);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a unit has its own, as long as it lives", test_life },
		{ "no memory for it: no node", test_no_memory },
		{ "polled while in use", test_poll },
		{ "ticks, and the clock of the RRPP", test_tick },
		{ "keeps the worker awake", test_busy },
		{ "segments and sources that go", test_drops },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
