// SPDX-License-Identifier: GPL-2.0
/*
 * NI organisations under mirrored load: both nodes issue and serve. Each RRPP serves its share, each
 * unit issues what its applications post, and a blocking read has as many hand-offs as ni.rst says.
 * In virtual time (harness/ni_time.h), of which the first tests are.
 */
#include "../tap.h"
#include "ni_time.h"
#include "matrix.h"

#define CTX	3
#define APPS	8		/* of each node */
#define ENTRIES	128
#define BLOCKS	4096		/* of a segment, one read for each */
#define BLOCK	256		/* interleave */
#define SIZE	64		/* of a read */
#define HANDOFF	2000		/* much more than all visits of an operation */
#define WORK	10		/* a visit that does something; another one: 1 */
#define READS	20		/* blocking ones, one after the other */

/* ---- the clock alone ---- */

struct made_up {
	u32 left;		/* visits that do something */
	u32 *needs;		/* not before this is set, if any */
	u32 ran;
};

static u32 visit_made_up(void *of)
{
	struct made_up *m = of;

	if (!m->left || (m->needs && !*m->needs))
		return 0;
	m->left--;
	return ++m->ran;
}

static u64 fixed_cost(struct ni_time *t, struct ni_actor *a, u32 *done)
{
	(void)t;
	*done = a->step(a->of);
	return *done ? WORK : 1;
}

static void test_handoff(void)
{
	struct ni_time t = { .handoff = HANDOFF, .visit = fixed_cost };
	struct made_up first = { .left = 1 }, second = { .left = 3, .needs = &first.ran };
	struct ni_actor *app = ni_time_add(&t, visit_made_up, &first, 0, 1);
	struct ni_actor *worker = ni_time_add(&t, visit_made_up, &second, RMC_STAGE_REQ, 1);
	int i;

	ni_time_begin(&t);
	CHECK_EQ(app->feeders, 2);
	CHECK_EQ(worker->feeders, 1);
	for (i = 0; i < 10000 && !second.ran; i++)
		ni_time_step(&t);
	CHECK_EQ(app->ended, WORK);
	/* it was idle: begins a hand-off later; then it is busy: continues at once */
	CHECK_EQ(worker->began, WORK + HANDOFF);
	while (second.ran < 2)
		ni_time_step(&t);
	CHECK_EQ(worker->began, 2 * WORK + HANDOFF);
	CHECK_EQ(worker->busy, 2 * WORK);
	CHECK(ni_time_busiest(&t) == worker);
	ni_time_reset(&t);
	CHECK_EQ(worker->busy + app->busy, 0);
	tap_result("what was idle begins a hand-off after the end of what feeds it");
}

static bool feeds(u32 from, u32 from_nodes, u32 to, u32 to_nodes, bool fronts)
{
	struct ni_actor p = { .stages = from, .nodes = from_nodes };
	struct ni_actor c = { .stages = to, .nodes = to_nodes };

	return ni_time_feeds(&p, &c, fronts);
}

static void test_feeders(void)
{
	const u32 req = RMC_STAGE_REQ, srv = RMC_STAGE_SRV, front = RMC_STAGE_FRONT;

	/* applications and the RGP of their node, in both directions */
	CHECK(feeds(0, 1, req, 1, false) && feeds(req | srv, 1, 0, 1, false));
	CHECK(!feeds(0, 1, req, 2, false) && !feeds(0, 1, srv, 1, false) && !feeds(0, 1, 0, 1, false));
	/* with frontends in between */
	CHECK(feeds(0, 1, front, 1, true) && feeds(front, 1, 0, 1, true));
	CHECK(feeds(front, 1, req | srv, 1, true) && feeds(req | srv, 1, front, 1, true));
	CHECK(!feeds(0, 1, req | srv, 1, true) && !feeds(req | srv, 1, 0, 1, true));
	CHECK(!feeds(front, 1, req | srv, 2, true) && !feeds(front, 1, front, 1, true));
	/* channels between nodes, and within workers of both */
	CHECK(feeds(req, 1, srv, 2, false) && feeds(srv, 2, req, 1, false));
	CHECK(!feeds(req, 1, srv, 1, false) && !feeds(srv, 1, srv, 2, false));
	CHECK(feeds(req, 3, srv, 3, false));
	tap_result("who may publish what an actor polls");
}

/* ---- the organisations ---- */

static u8 *segment, *buffer;

struct side {
	struct app a[APPS];
	struct rmc_mem *seg, *buf;
	u32 posted[APPS];
};

/* Both nodes, and their actors */
struct bed {
	struct testbed w;
	struct ni_time t;
	struct side side[NI_TIME_NODES];
	u32 window;		/* reads in flight of an application */
	u32 reads;		/* of all, at most */
	u32 posted, completed, failed;
};

struct of_app {
	struct bed *b;
	u32 nid, i;
};

static struct of_app of_app[NI_TIME_NODES][APPS];

/* Application @i of a node reads every APPS-th block of the other's segment. */
static u32 visit_app(void *of)
{
	struct of_app *o = of;
	struct bed *b = o->b;
	struct side *s = &b->side[o->nid];
	u32 n = 0, slot, status, block;

	while (app_poll(&s->a[o->i], &slot, &status)) {
		b->failed += status != RMC_S_OK;
		b->completed++;
		n++;
	}
	while (s->a[o->i].head - s->a[o->i].cq_head < b->window && b->posted < b->reads) {
		block = s->posted[o->i]++ * APPS + o->i;
		if (block >= BLOCKS)
			break;
		app_post(&s->a[o->i], RMC_OP_READ, !o->nid, (u64)block * BLOCK,
			 buffer + o->i * SIZE, SIZE);
		b->posted++;
		n++;
	}
	return n;
}

/* @apps of each node that issues, bits @issue */
static void bed_make(struct bed *b, const struct testbed_opts *o, u32 apps, u32 issue, u64 handoff)
{
	u32 nid, i;

	memset(b, 0, sizeof(*b));
	testbed_now_ns = TESTBED_START_NS;
	testbed_init(&b->w, o);
	b->t.handoff = handoff;
	b->t.visit = fixed_cost;
	ni_time_add_workers(&b->t, &b->w);
	for (nid = 0; nid < NI_TIME_NODES; nid++) {
		struct side *s = &b->side[nid];

		s->seg = mem_make(segment, BLOCKS * BLOCK, 12, 0);
		s->buf = mem_make(buffer, APPS * SIZE, 12, 0);
		seg_set(&b->w, nid, CTX, s->seg);
		for (i = 0; i < APPS; i++) {
			app_init(&s->a[i], &b->w, nid, CTX, ENTRIES);
			rmc_bufs_add(&s->a[i].bufs, s->buf);
			of_app[nid][i] = (struct of_app){ b, nid, i };
			if (i < apps && issue >> nid & 1)
				ni_time_add(&b->t, visit_app, &of_app[nid][i], 0, 1U << nid);
		}
	}
	ni_time_begin(&b->t);
}

/* Until all reads have completed. Returns when the last one did. */
static u64 bed_run(struct bed *b, u32 window, u32 reads)
{
	u32 most = 100000000;
	u64 ended = 0;

	b->window = window;
	b->reads = reads;
	while (b->completed < reads && most--)
		ended = ni_time_step(&b->t)->ended;
	CHECK_EQ(b->completed, reads);
	CHECK_EQ(b->failed, 0);
	return ended;
}

static void bed_free(struct bed *b)
{
	u32 nid, i;

	testbed_settle(&b->w);
	for (nid = 0; nid < NI_TIME_NODES; nid++) {
		for (i = 0; i < APPS; i++)
			app_fini(&b->side[nid].a[i]);
		seg_set(&b->w, nid, CTX, NULL);
	}
	testbed_fini(&b->w);
	for (nid = 0; nid < NI_TIME_NODES; nid++) {
		mem_free(b->side[nid].seg);
		mem_free(b->side[nid].buf);
	}
}

static struct bed bed;

static void test_shares(const struct testbed_opts *o)
{
	u32 units = o->units ?: 1, rrpps = o->rrpps ?: units, nid, i;
	struct rmc_node *unit;

	bed_make(&bed, o, APPS, 3, WORK);
	bed_run(&bed, ENTRIES, NI_TIME_NODES * BLOCKS);
	for (nid = 0; nid < NI_TIME_NODES; nid++)
		for (i = 0; i < units; i++) {
			unit = bed.w.node[nid]->unit[i];
			CHECK_EQ(unit->stats.served, i < rrpps ? BLOCKS / rrpps : 0);
			CHECK_EQ(unit->stats.served_bytes, unit->stats.served * SIZE);
			CHECK_EQ(unit->stats.wq_entries, BLOCKS / units);
			CHECK_EQ(unit->qps, APPS / units);
		}
	bed_free(&bed);
}

/* An application's queue pair is its frontend's, and that one's entries are its unit's. */
static void test_fronts(const struct testbed_opts *o)
{
	u32 per = APPS / o->units, nid, i, u;
	struct rmc_node *unit;
	struct app *a;

	bed_make(&bed, o, APPS, 3, WORK);
	for (nid = 0; nid < NI_TIME_NODES; nid++)
		for (i = 0; i < APPS; i++) {
			a = &bed.side[nid].a[i];
			u = i % o->units;
			unit = bed.w.node[nid]->unit[u];
			CHECK(a->qp.front->inner.qp.node == unit);
			CHECK(a->qp.front->worker ==
			      unit->front[i / o->units % o->frontends]);
			CHECK_EQ(a->qp.front->worker->stages, RMC_STAGE_FRONT);
		}
	/* those of one unit alone are busy: no other backend has entries */
	for (i = 0; i < APPS; i++)
		of_app[1][i].b->side[1].posted[i] = of_app[0][i].b->side[0].posted[i] =
			i % o->units == 1 ? 0 : BLOCKS;
	bed_run(&bed, ENTRIES, NI_TIME_NODES * BLOCKS / o->units);
	for (nid = 0; nid < NI_TIME_NODES; nid++)
		for (u = 0; u < o->units; u++)
			CHECK_EQ(bed.w.node[nid]->unit[u]->stats.wq_entries,
				 u == 1 ? per * (BLOCKS / APPS) : 0);
	bed_free(&bed);
}

/* Blocking reads of one application: hand-offs are all that takes long. */
static u64 handoffs(const struct testbed_opts *o)
{
	u64 ended;

	bed_make(&bed, o, 1, 1, HANDOFF);
	ended = bed_run(&bed, 1, READS);
	bed_free(&bed);
	return ended / (READS * HANDOFF);
}

static void test_handoffs(void)
{
	static const struct {
		struct testbed_opts o;
		u32 handoffs;
	} rows[] = {
		{ { .ni = "fused" }, 2 },
		{ { .ni = "pair" }, 4 },
		{ { .ni = "fused", .kernels = true }, 4 },
		{ { .ni = "pair", .kernels = true }, 4 },
		{ { .ni = "edge", .units = 2, .kernels = true }, 4 },
		{ { .ni = "per_tile", .units = 4, .rrpps = 2, .kernels = true }, 4 },
		{ { .ni = "split", .units = 2, .frontends = 2, .kernels = true }, 6 },
	};
	static char where[64];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct testbed_opts o = rows[i].o;

		o.nodes = NI_TIME_NODES;
		o.interleave = BLOCK;
		o.packets = true;
		snprintf(where, sizeof(where), "%s%s", o.ni, o.kernels ? ", two kernels" : "");
		tap_where = where;
		CHECK_EQ(handoffs(&o), rows[i].handoffs);
	}
	tap_where = NULL;
	tap_result("hand-offs of a blocking read");
}

static const struct testbed_opts beds[] = {
	{ .ni = "edge", .units = 2 },
	{ .ni = "edge", .units = 4 },
	{ .ni = "edge", .units = 8 },
	{ .ni = "per_tile", .units = 2 },
	{ .ni = "per_tile", .units = 4 },
	{ .ni = "per_tile", .units = 8 },
	{ .ni = "per_tile", .units = 8, .rrpps = 2 },
	{ .ni = "split", .units = 2, .frontends = 4 },
	{ .ni = "split", .units = 4, .frontends = 2 },
	{ .ni = "split", .units = 8, .frontends = 1 },
};

static void on_all_beds(const char *what, void (*test)(const struct testbed_opts *o), bool fronts)
{
	char name[128];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(beds); i++) {
		struct testbed_opts o = beds[i];

		if (fronts && !o.frontends)
			continue;
		o.nodes = NI_TIME_NODES;
		o.kernels = true;
		o.interleave = BLOCK;
		o.itt = 1024;
		test(&o);
		snprintf(name, sizeof(name), "%s (%s%u%s)", what, o.ni, o.units,
			 o.rrpps ? ", fewer RRPPs" : "");
		tap_result(name);
	}
}

int main(void)
{
	segment = calloc(BLOCKS, BLOCK);
	buffer = calloc(APPS, SIZE);
	test_handoff();
	test_feeders();
	test_handoffs();
	on_all_beds("each RRPP serves its share, both nodes issue and serve", test_shares, false);
	on_all_beds("frontends have their unit's backend under load", test_fronts, true);
	free(segment);
	free(buffer);
	return tap_done();
}
