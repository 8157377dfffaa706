// SPDX-License-Identifier: GPL-2.0
/*
 * Workers: how many queue pairs they have, what an inline poll does for a parked worker and what
 * it must leave, and what the worker of a fenced or stopped node must not access. Stepped one
 * visit at a time with a virtual clock.
 */
#include "setup.h"
#include "kmod/core/pipeline.h"

void (*rmc_at_barrier)(void);

#define ENTRIES	16

/* Visit until this worker may park; then park it. */
static void put_to_sleep(struct setup *s, struct rmc_ni_worker *w)
{
	u32 i;

	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s->w);
	CHECK(rmc_ni_may_park(w));
	CHECK(rmc_ni_park(w));
	rmc_ni_disown(w);
}

/* Its thread runs again. */
static void wake_up(struct rmc_ni_worker *w)
{
	CHECK(rmc_ni_try_own(w));
	rmc_ni_unpark(w);
}

static bool poll_inline(struct rmc_ni_worker *w)
{
	bool slept_on;

	CHECK(rmc_ni_try_own(w));
	slept_on = rmc_ni_poll_inline(w, testbed_now_ns, 1);
	rmc_ni_disown(w);
	return slept_on;
}

/* ---- how many ---- */

struct member {
	struct rmc_qpair qp;
	struct rmc_front front;
};

static int join(struct member *m, struct rmc_node *unit)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->qp.node = unit;
	if (unit->fronts) {
		m->qp.front = &m->front;
		m->front.worker = unit->front[0];
		m->front.inner.qp.node = unit;
		if (rmc_ni_add_qp(unit->req_worker, &m->front.inner.qp))
			return -ENOSPC;
	}
	err = rmc_ni_add_qp(rmc_qp_worker(&m->qp), &m->qp);
	if (err && m->qp.front)
		rmc_ni_del_qp(unit->req_worker, &m->front.inner.qp);
	return err;
}

static void leave(struct member *m)
{
	rmc_ni_del_qp(rmc_qp_worker(&m->qp), &m->qp);
	if (m->qp.front)
		rmc_ni_del_qp(m->qp.node->req_worker, &m->front.inner.qp);
}

/* Each unit has a share of the node's queue pairs, and a worker has a limit. */
static void test_room(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	u32 share, nid, n = 0, had, i;
	struct member *m;
	struct setup s;

	if (!k.units)
		k.units = 1;
	share = RMC_MAX_QPS / k.units;
	/* one more than the worker has room for */
	k.nodes = RMC_WORKER_QPS / share + 1;
	setup_make(&s, &k, ENTRIES);
	m = calloc(RMC_WORKER_QPS + 1, sizeof(*m));
	for (nid = 0; nid < k.nodes && n < RMC_WORKER_QPS; nid++) {
		struct rmc_node *unit = s.w.node[nid]->unit[0];

		for (had = n; n < RMC_WORKER_QPS && !join(&m[n], unit);)
			n++;
		/* the first one has an application already */
		CHECK_EQ(n - had, nid == k.nodes - 1 ? 0 : share - !nid);
		CHECK_EQ(unit->qps, nid == k.nodes - 1 ? 0 : share);
	}
	CHECK_EQ(n, RMC_WORKER_QPS - 1);
	CHECK_EQ(rmc_qp_worker(&s.a.qp)->alls, RMC_WORKER_QPS);
	/* one is deleted: there is room for another, also of another node */
	leave(&m[--n]);
	CHECK_EQ(join(&m[n++], s.w.node[k.nodes - 1]), 0);
	CHECK_EQ(join(&m[n], s.w.node[k.nodes - 1]), -ENOSPC);
	for (i = 0; i < n; i++)
		leave(&m[i]);
	for (nid = 0; nid < k.nodes; nid++)
		CHECK_EQ(s.w.node[nid]->qps, !nid);
	CHECK_EQ(rmc_qp_worker(&s.a.qp)->alls, 1);
	CHECK_EQ(s.a.qp.node->itt.tenants, 1);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	free(m);
	setup_free(&s);
}

/* Idle visits are counted since the last one that found work. */
static void test_idle(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u64 worked;
	u32 i;

	setup_make(&s, o, ENTRIES);
	w = rmc_qp_worker(&s.a.qp);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	testbed_settle(&s.w);
	CHECK(w->idle >= 300);
	worked = w->worked;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (i = 0; i < 10 && w->worked == worked; i++)
		rmc_ni_visit(w);
	CHECK_EQ(w->worked, worked + 1);
	CHECK_EQ(w->idle, 0);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* Node 0 gets a request from each other node, or with RMC_LANE_REP a response. */
static void all_ask(struct app *a, u32 lane, u32 nodes)
{
	u32 i;

	for (i = 1; i < nodes; i++)
		app_post(lane == RMC_LANE_REQ ? &a[i] : &a[0], RMC_OP_NOTIFY,
			 lane == RMC_LANE_REQ ? 0 : i, 0, NULL, 0);
	for (i = 1; i < nodes; i++)
		CHECK_EQ(app_wait(lane == RMC_LANE_REQ ? &a[i] : &a[0]), RMC_S_BAD_CONTEXT);
}

/* Sources of node 0 that are still polled in a lane, some visits after each had a packet for it */
static u32 polled_sources(const struct testbed_opts *o, u32 lane, u32 nodes, u32 visits)
{
	struct testbed_opts k = *o;
	struct app *a = calloc(nodes, sizeof(*a));
	u32 i, w, polled = 0;
	struct testbed t;

	k.nodes = nodes;
	testbed_init(&t, &k);
	for (i = 0; i < nodes; i++)
		app_init(&a[i], &t, i, CTX, 128);
	all_ask(a, lane, nodes);
	for (i = 0; i < visits; i++)
		testbed_visit(&t);
	for (w = 0; w < t.fabric->endpoints; w += 64)
		polled += __builtin_popcountll(*rmc_doorbell_word(t.fabric, t.node[0]->ep, lane, w));
	/* and they are heard again */
	all_ask(a, lane, nodes);
	for (i = 0; i < nodes; i++)
		app_fini(&a[i]);
	testbed_fini(&t);
	free(a);
	return polled;
}

/* Few sources are polled for long, many of them only until they are silent. */
static void test_sources(const struct testbed_opts *o)
{
	u32 lane;

	CHECK_EQ(rmc_idle_polls(0), RMC_IDLE_POLLS);
	CHECK_EQ(rmc_idle_polls(7), RMC_IDLE_POLLS);
	CHECK_EQ(rmc_idle_polls(8), RMC_IDLE_POLLS / 4);
	CHECK_EQ(rmc_idle_polls(31), RMC_IDLE_POLLS / 16);
	CHECK_EQ(rmc_idle_polls(64), RMC_IDLE_POLLS_MIN);
	CHECK_EQ(rmc_idle_polls(8192), RMC_IDLE_POLLS_MIN);
	for (lane = 0; lane < 2; lane++) {
		CHECK_EQ(polled_sources(o, lane, 5, 100), 4);
		CHECK_EQ(polled_sources(o, lane, 5, RMC_IDLE_POLLS + 1), 0);
		/* those that are left are fewer */
		CHECK(polled_sources(o, lane, 80, 4 * RMC_IDLE_POLLS_MIN) < 64);
	}
}

/* ---- nodes that must not be served ---- */

/* A stopped node's time stops, too: its operations do not time out. */
static void test_stopped(const struct testbed_opts *o)
{
	u32 slot, status, i;
	struct setup s;

	setup_kernels(&s, o, ENTRIES);
	s.w.frozen[1] = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	testbed_settle(&s.w);
	rmc_filters++;
	s.w.node[0]->req_stopped = true;
	for (i = 0; i < 2 * RMC_TIMEOUT_MS / 500; i++)
		testbed_tick(&s.w, 500);
	CHECK(!app_poll(&s.a, &slot, &status));
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	s.w.node[0]->req_stopped = false;
	rmc_filters--;
	s.w.frozen[1] = false;
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* A fenced node's workers do not write the parked flags of its successor's entry. */
static void test_fenced_sleeps(const struct testbed_opts *o)
{
	struct rmc_region_node *entry;
	struct setup s;
	u32 i, k, lane;

	setup_kernels(&s, o, ENTRIES);
	entry = &testbed_fabric(&s.w, 0)->node[0];
	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&s.w);
	entry->claim = rmc_claim(RMC_NODE_JOINING, 2);
	rmc_node_tick_srv(s.w.node[0], rmc_os_ns_to_ms(testbed_now_ns));
	CHECK(s.w.node[0]->fenced);
	for (i = 0; i < 2; i++) {
		for (lane = 0; lane < RMC_LANES; lane++)
			entry->parked[lane][0] = i;
		for (k = 0; k < s.w.workers / s.w.opts.nodes; k++) {
			CHECK(rmc_ni_park(&s.w.worker[k].ni));
			for (lane = 0; lane < RMC_LANES; lane++)
				CHECK_EQ(entry->parked[lane][0], i);
			rmc_ni_unpark(&s.w.worker[k].ni);
			for (lane = 0; lane < RMC_LANES; lane++)
				CHECK_EQ(entry->parked[lane][0], i);
		}
	}
	setup_free(&s);
}

static struct setup *sim;
static u32 fences;

/* Another CPU runs the RRPP and finds the id taken; a peer replies to the successor. */
static void fence_at_barrier(void)
{
	if (fences++)
		return;
	testbed_fabric(&sim->w, 0)->node[0].claim = rmc_claim(RMC_NODE_JOINING, 2);
	rmc_node_tick_srv(sim->w.node[0], rmc_os_ns_to_ms(testbed_now_ns));
	*rmc_doorbell_word(sim->w.fabric, 0, RMC_LANE_REP, 1) |= 2;
}

/* An inline poll for a node that is fenced meanwhile does not change the successor's doorbells. */
static void test_fenced_inline(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_ni_worker *w;
	struct setup s;

	k.ni = "pair";
	setup_kernels(&s, &k, ENTRIES);
	w = rmc_qp_worker(&s.a.qp);
	put_to_sleep(&s, w);
	CHECK_EQ(*rmc_doorbell_word(s.w.fabric, 0, RMC_LANE_REP, 1), 0);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	sim = &s;
	fences = 0;
	rmc_at_barrier = fence_at_barrier;
	poll_inline(w);
	rmc_at_barrier = NULL;
	CHECK(s.w.node[0]->fenced);
	CHECK(s.w.node[0]->out[1]);
	CHECK_EQ(*rmc_doorbell_word(s.w.fabric, 0, RMC_LANE_REP, 1), 2);
	wake_up(w);
	testbed_tick(&s.w, 2);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(*rmc_doorbell_word(s.w.fabric, 0, RMC_LANE_REP, 1), 2);
	setup_free(&s);
}

/* An operation that waits for credits halfway continues, after any time. */
static void test_stalled(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct rmc_ni_worker *w;
	u32 i, n, slot, status;
	struct setup s;

	k.mtu = 64;
	setup_kernels(&s, &k, ENTRIES);
	w = rmc_qp_worker(&s.a.qp);
	for (i = 0; i < 2; i++) {
		if (i)
			put_to_sleep(&s, w);
		s.w.frozen[1] = true;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, SEG);
		if (i) {
			/* an inline poll does not take it for idle either */
			CHECK(!poll_inline(w));
			wake_up(w);
		}
		for (n = 0; n < 2 * RMC_IDLE_POLLS; n++)
			testbed_visit(&s.w);
		CHECK(s.a.qp.cur_tid != RMC_TID_NONE);
		CHECK(!app_poll(&s.a, &slot, &status));
		CHECK(!rmc_ni_may_park(w));
		s.w.frozen[1] = false;
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		CHECK(testbed_credits_home(&s.w, 0, 1));
	}
	setup_free(&s);
}

/* ---- inline polls ---- */

/* A packet that a filter holds needs the worker again, although all rings are empty. */
static void test_held(const struct testbed_opts *o)
{
	static const struct rmc_fault late = { .delay_ns = 1500000 };
	struct rmc_ni_worker *w;
	struct setup s;
	u32 i, lane, nid;

	for (lane = 0; lane < RMC_LANES; lane++) {
		setup_kernels(&s, o, ENTRIES);
		/* the node whose worker takes packets of this lane */
		nid = lane == RMC_LANE_REQ;
		w = nid ? s.w.node[1]->srv_worker : s.w.node[0]->req_worker;
		rmc_filters++;
		fault_set(&s.w, !nid, nid, lane, &late, 1);
		put_to_sleep(&s, w);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		for (i = 0; i < 4; i++) {
			testbed_receive(&s.w, !nid);
			if (nid)
				rmc_ni_visit(s.w.node[0]->req_worker);
			else
				rmc_ni_visit(s.w.node[1]->srv_worker);
			testbed_receive(&s.w, nid);
			CHECK_EQ(poll_inline(w), nid && !i && !s.w.node[1]->in[0]);
		}
		CHECK(s.w.node[nid]->links.filter[lane][!nid]->held);
		wake_up(w);
		testbed_tick(&s.w, 1);
		testbed_tick(&s.w, 1);
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		/* in any case the filter must be drained */
		rmc_doorbell_notify(&s.w.fabric[0], nid, lane, !nid);
		fault_clear(&s.w, !nid, nid, lane);
		rmc_filters--;
		setup_free(&s);
	}
}

/* Doorbells of nodes that do not exist */
static void test_stray_doorbells(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u32 lane;

	setup_kernels(&s, o, ENTRIES);
	w = rmc_qp_worker(&s.a.qp);
	put_to_sleep(&s, w);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	for (lane = 0; lane < RMC_LANES; lane++)
		*rmc_doorbell_word(s.w.fabric, 0, lane, 0) |= 5ULL << 61;
	CHECK(!poll_inline(w));
	wake_up(w);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* After a long sleep a new operation has its whole time-out. */
static void test_time(const struct testbed_opts *o)
{
	u32 slot, status, ms;
	struct rmc_ni_worker *w;
	struct setup s;

	setup_kernels(&s, o, ENTRIES);
	s.w.fabric[0].timeout_ms = 64;
	w = rmc_qp_worker(&s.a.qp);
	put_to_sleep(&s, w);
	s.w.frozen[1] = true;
	testbed_now_ns += 10000000000ULL;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK(!poll_inline(w));
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	wake_up(w);
	for (ms = 0; ms < 60; ms += 4) {
		testbed_tick(&s.w, 4);
		CHECK(!app_poll(&s.a, &slot, &status));
	}
	testbed_tick(&s.w, 10);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_TIMEOUT);
	setup_free(&s);
}

#define MANY	1024

/* An inline poll is not preempted: it stops halfway, and the thread continues. */
static void test_long_inline(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct setup s;
	u64 visits;
	u32 i;

	setup_make(&s, o, MANY);
	w = rmc_qp_worker(&s.a.qp);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	put_to_sleep(&s, w);
	for (i = 0; i < MANY; i++)
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, min(16384U, 4 * s.w.opts.mtu));
	for (i = 0; i < 3; i++) {
		visits = w->visits;
		CHECK(!poll_inline(w));
		CHECK(w->visits - visits <= RMC_INLINE_VISITS);
		/* polled once per visit, however often it had entries */
		CHECK(w->hots <= 1);
	}
	wake_up(w);
	for (i = 0; i < MANY; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	setup_free(&s);
}

/* A queue pair has a number of its own, however many came and went. */
static void test_numbers(const struct testbed_opts *o)
{
	struct setup s;
	struct app a;
	u32 i;

	setup_make(&s, o, ENTRIES);
	for (i = 0; i < RMC_MAX_QPS + 8; i++) {
		s.w.apps = 0;
		app_init(&a, &s.w, 0, CTX, 2);
		CHECK(app_unit_qp(&a)->number < RMC_MAX_QPS);
		CHECK(app_unit_qp(&a)->number != app_unit_qp(&s.a)->number);
		app_fini(&a);
	}
	/* they are given back */
	CHECK_EQ(hweight64(app_unit_qp(&s.a)->node->numbers[0]), 1);
	setup_free(&s);
}

/* With very many queue pairs an inline poll does not even check all of them. */
static void test_many(const struct testbed_opts *o)
{
	struct app *more = calloc(RMC_INLINE_POLLS, sizeof(*more));
	struct rmc_ni_worker *w;
	struct setup s;
	u64 visits;
	u32 i;

	setup_make(&s, o, ENTRIES);
	w = rmc_qp_worker(&s.a.qp);
	for (i = 0; i < RMC_INLINE_POLLS; i++) {
		s.w.apps = 0;
		app_init(&more[i], &s.w, 0, CTX, 2);
	}
	CHECK_EQ(w->alls, RMC_INLINE_POLLS + 1);
	put_to_sleep(&s, w);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	visits = w->visits;
	CHECK(!poll_inline(w));
	CHECK_EQ(w->visits, visits);
	CHECK_EQ(w->inline_polls, 0);
	wake_up(w);
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	for (i = 0; i < RMC_INLINE_POLLS; i++)
		app_fini(&more[i]);
	setup_free(&s);
	free(more);
}

/* ---- frontends ---- */

/* Entries that do not fit between frontend and backend wait in the application's queue. */
static void test_front_is_full(const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct setup s;
	u32 i;

	k.ni = "split";
	setup_make(&s, &k, ENTRIES);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	/* the frontend polls each entry, the backend does not yet */
	for (i = 0; i < ENTRIES + 4; i++) {
		app_post(&s.a, RMC_OP_READ, 1, 64 * i, lbuf + 64 * i, 64);
		rmc_front_poll(&s.a.qp);
		CHECK(rmc_front_in_flight(&s.a.qp) <= ENTRIES);
	}
	for (i = 0; i < ENTRIES + 4; i++)
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	CHECK_EQ(rmc_front_in_flight(&s.a.qp), 0);
	setup_free(&s);
}

/* ---- which worker ---- */

/*
 * Each organisation's workers with 4 units, 2 RRPPs and 3 frontends per unit: their number, and
 * whose number in the set polls the requests and the replies of each unit.
 */
static const struct places {
	const char *ni;
	u32 workers;
	u32 requests[4], replies[4];
} places[] = {
	{ "fused", 1, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
	{ "pair", 2, { 1, 1, 1, 1 }, { 0, 0, 0, 0 } },
	{ "edge", 4, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } },
	{ "per_tile", 6, { 4, 5, 4, 5 }, { 0, 1, 2, 3 } },
	{ "split", 16, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } },
};

static void test_places(void)
{
	const struct rmc_fabric f = { .unit_order = 2, .rrpp_order = 1 };
	const struct rmc_ni_org *org;
	u32 i, u, n;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		org = rmc_ni_find(places[i].ni);
		CHECK(org);
		CHECK_EQ(rmc_ni_workers(org, &f, 3), places[i].workers);
		for (u = 0; u < 4; u++) {
			CHECK_EQ(rmc_ni_place(org, &f, u, RMC_LANE_REQ), places[i].requests[u]);
			CHECK_EQ(rmc_ni_place(org, &f, u, RMC_LANE_REP), places[i].replies[u]);
		}
	}
	/* frontends follow the backends, those of a unit one after another */
	for (u = 0; u < 4; u++)
		for (n = 0; n < 3; n++)
			CHECK_EQ(rmc_ni_place_front(&f, 3, u, n), 4 + 3 * u + n);
	CHECK(!rmc_ni_find("edg"));
	tap_result("each organisation's workers, and which unit's lanes they poll");
}

/* Frontends poll only queue pairs of their own unit, and its backend unrolls what they relay. */
static void test_backends(void)
{
	const struct testbed_opts o = { .nodes = 2, .ni = "split", .units = 4, .frontends = 2,
					.mtu = 4096 };
	struct app more[7], *a;
	struct rmc_ni_worker *front;
	struct rmc_node *unit;
	struct setup s;
	u32 i, u;

	setup_make(&s, &o, ENTRIES);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		app_init(&more[i], &s.w, 0, CTX, ENTRIES);
		rmc_bufs_add(&more[i].bufs, s.buf_mem);
	}
	for (i = 0; i < ARRAY_SIZE(more) + 1; i++) {
		a = i ? &more[i - 1] : &s.a;
		unit = s.w.node[0]->unit[i % 4];
		front = a->qp.front->worker;
		CHECK(front == &s.w.worker[rmc_ni_place_front(s.w.fabric, 2, i % 4, i / 4)].ni);
		CHECK_EQ(front->stages, RMC_STAGE_FRONT);
		CHECK_EQ(front->alls, 1);
		CHECK(a->qp.front->inner.qp.node == unit);
		CHECK(unit->req_worker == &s.w.worker[i % 4].ni);
		CHECK_EQ(app_run(a, RMC_OP_READ, 1, 64 * i, lbuf + 64 * i, 64), RMC_S_OK);
		for (u = 0; u < 4; u++)
			CHECK_EQ(s.w.node[0]->unit[u]->stats.wq_entries, i / 4 + (u <= i % 4));
	}
	testbed_settle(&s.w);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		app_fini(&more[i]);
	setup_free(&s);
	tap_result("frontends have their unit's backend");
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "room for queue pairs: a unit's share, a worker's end", test_room, .one_kernel = true },
		{ "idle polls are counted since the last work", test_idle, .one_kernel = true },
		{ "many sources are polled for less long", test_sources, .one_kernel = true },
		{ "numbers of queue pairs", test_numbers, .one_kernel = true },
		{ "an inline poll has an end", test_long_inline, .one_kernel = true },
		{ "an inline poll does not poll very many", test_many, .one_kernel = true },
	};
	static const struct matrix_test kernels[] = {
		{ "an operation that stalls for long goes on", test_stalled },
		{ "a stopped node's time stands still", test_stopped },
		{ "a fenced node's worker sleeps: its own business", test_fenced_sleeps },
		{ "an inline poll for a fenced node's worker", test_fenced_inline },
		{ "an inline poll where a filter holds packets", test_held },
		{ "an inline poll with stray doorbells", test_stray_doorbells },
		{ "an inline poll for one that slept for long", test_time },
		{ "frontend: no more than there is room for", test_front_is_full },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
		{ .nodes = 2, .ni = "split", .mtu = 4096 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 512 },
	};

	test_places();
	test_backends();
	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	matrix_run(kernels, ARRAY_SIZE(kernels), opts, 2);
	return matrix_done();
}
