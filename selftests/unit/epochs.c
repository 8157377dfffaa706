// SPDX-License-Identifier: GPL-2.0
/*
 * Epochs: when a channel may be used, when a node acknowledges a peer's new epoch, and how
 * long a joining node waits for each peer.
 */
#include "kernels.h"

/* A channel opens when both are up and each works with the other's epoch. */
static void test_requester_links(const struct testbed_opts *o)
{
	u32 *words[2], i, was;
	struct setup s;

	setup(&s, o, 2);
	words[0] = sync_at(&s, 0, 0, 1);
	words[1] = sync_at(&s, 0, 1, 0);
	for (i = 0; i < 2; i++) {
		was = *words[i];
		CHECK_EQ(was, 1);
		*words[i] = was + 1;
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
		*words[i] = was;
	}
	entry_at(&s, 0, 1)->state = RMC_NODE_JOINING;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	entry_at(&s, 0, 1)->state = RMC_NODE_UP;
	s.w.node[0]->up = false;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	s.w.node[0]->up = true;
	s.w.node[0]->peer[1].silent = true;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	s.w.node[0]->peer[1].silent = false;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	/* its heartbeat is back, before the tick that would notice */
	s.w.node[0]->out[1]->down = true;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK(!s.w.node[0]->out[1]->down);
	setup_free(&s);
}

/* The same at the server; a source that may not be served is not polled either. */
static void test_server_links(const struct testbed_opts *o)
{
	u32 i, *word;
	struct setup s;

	for (i = 0; i < 3; i++) {
		setup(&s, o, 2);
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		app_take(&s.a);
		CHECK(doorbell_rung(&s, 1, 0));
		word = i == 0 ? sync_at(&s, 1, 1, 0) : i == 1 ? sync_at(&s, 1, 0, 1) :
		       &entry_at(&s, 1, 0)->state;
		*word += 1;
		CHECK(quiet(&s));
		CHECK(!doorbell_rung(&s, 1, 0));
		CHECK(!s.w.node[1]->in[0]);
		*word -= 1;
		ring_doorbell(&s, 1, 0);
		CHECK_EQ(app_wait(&s.a), RMC_S_OK);
		setup_free(&s);
	}
}

static struct rmc_fabric_ops other_ops;
static void (*real_closed)(struct rmc_fabric *f, u32 ep, u32 nid);
static u32 closes;

/* A link zeroes the rings when no end uses them, and before the peer may send into them. */
static void closed(struct rmc_fabric *f, u32 ep, u32 nid)
{
	u8 *mem = f->ops->channel(f, ep, nid);
	u32 i, bytes = rmc_channel_bytes(f);

	closes++;
	CHECK(!f->local[ep]->in[nid] && !f->local[ep]->out[nid]);
	CHECK(*rmc_sync_word(f, ep, nid) != f->node[nid].epoch);
	mem[bytes - 1] = 1;
	real_closed(f, ep, nid);
	for (i = 0; i < bytes && !mem[i]; i++)
		;
	CHECK_EQ(i, bytes);
}

/* A running node finds a peer's new epoch: closes both ends, and acknowledges only then. */
static void test_acknowledges(const struct testbed_opts *o)
{
	u32 now, i, slot, status;
	struct rmc_node *node;
	struct setup s;

	setup(&s, o, 2);
	seg_set(&s.w, 0, CTX, s.seg_mem);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	node = s.w.node[0];
	s.w.frozen[1] = true;
	closes = 0;
	other_ops = *s.w.fabric[0].ops;
	real_closed = other_ops.closed;
	if (real_closed)
		other_ops.closed = closed;
	s.w.fabric[0].ops = &other_ops;
	/* something is in flight */
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_take(&s.a);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	CHECK(rmc_in_open(node, 1));
	now = rmc_os_ns_to_ms(testbed_now_ns);
	entry_at(&s, 0, 1)->claim = rmc_claim(RMC_NODE_JOINING, 2);
	/* the RRPP's half alone closes its end, and does not acknowledge for the other half */
	for (i = 0; i < 3; i++)
		rmc_node_tick_srv(node, ++now);
	CHECK(!node->in[1]);
	CHECK_EQ(*sync_at(&s, 0, 0, 1), 1);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 1);
	rmc_node_tick_req(node, ++now);
	CHECK_EQ(testbed_in_flight(&s.w, 0), 0);
	CHECK(!node->out[1]);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_NODE_DOWN);
	CHECK_EQ(*sync_at(&s, 0, 0, 1), 1);
	rmc_node_tick_srv(node, ++now);
	CHECK_EQ(*sync_at(&s, 0, 0, 1), 2);
	CHECK_EQ(closes, o->links);
	/* up under yet another epoch: neither end is opened by mistake */
	entry_at(&s, 0, 1)->claim = rmc_claim(RMC_NODE_UP, 3);
	CHECK(!rmc_in_open(node, 1));
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_NODE_DOWN);
	setup_free(&s);
}

/* Ends that are open when the peer's epoch changes while it stays UP: both are closed. */
static void test_stale_ends(const struct testbed_opts *o)
{
	struct rmc_node *node;
	u32 slot, status, now;
	struct setup s;

	setup(&s, o, 2);
	node = s.w.node[0];
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	CHECK(rmc_in_open(node, 1));
	s.w.frozen[1] = true;
	now = rmc_os_ns_to_ms(testbed_now_ns);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_take(&s.a);
	rmc_node_tick_req(node, ++now);
	rmc_node_tick_srv(node, ++now);
	CHECK(node->in[1] && node->out[1]);
	entry_at(&s, 0, 1)->claim = rmc_claim(RMC_NODE_UP, 2);
	rmc_node_tick_req(node, ++now);
	rmc_node_tick_srv(node, ++now);
	CHECK(!node->in[1] && !node->out[1]);
	CHECK_EQ(node->stats.peer_downs, 1);
	CHECK(app_poll(&s.a, &slot, &status));
	CHECK_EQ(status, RMC_S_NODE_DOWN);
	setup_free(&s);
}

/* Node 1 boots again, and has heard that node 0 is up under its first epoch. */
static void restart(struct setup *s)
{
	testbed_restart(&s->w, 1);
	entry_at(s, 1, 0)->claim = rmc_claim(RMC_NODE_UP, 1);
}

/* How long a joining node waits for each peer */
static void test_waits(const struct testbed_opts *o)
{
	struct setup s;
	u32 i, dead;

	/* alive and acknowledges: no wait */
	setup(&s, o, 3);
	dead = s.w.fabric[1].dead_ms;
	testbed_restart(&s.w, 1);
	CHECK(!s.w.node[1]->up);
	CHECK_EQ(entry_at(&s, 1, 1)->state, RMC_NODE_JOINING);
	ticks(&s.w, 5, 2);
	CHECK(s.w.node[1]->up);
	CHECK_EQ(entry_at(&s, 1, 1)->state, RMC_NODE_UP);

	/* dead, but its entry is still UP: until it counts as dead */
	s.w.frozen[0] = true;
	restart(&s);
	ticks(&s.w, dead / 100 - 1, 100);
	CHECK(!s.w.node[1]->up);
	ticks(&s.w, 3, 100);
	CHECK(s.w.node[1]->up);

	/* alive, and never acknowledges: longer, but not forever */
	restart(&s);
	for (i = 0; i < 4 * dead / 100 - 1; i++) {
		entry_at(&s, 1, 0)->heartbeat++;
		ticks(&s.w, 1, 100);
	}
	CHECK(!s.w.node[1]->up);
	for (i = 0; i < 3; i++) {
		entry_at(&s, 1, 0)->heartbeat++;
		ticks(&s.w, 1, 100);
	}
	CHECK(s.w.node[1]->up);

	/* of several, one acknowledgement does not count for another peer */
	restart(&s);
	for (i = 0; i < 20; i++) {
		entry_at(&s, 1, 0)->heartbeat++;
		ticks(&s.w, 1, 2);
	}
	CHECK_EQ(*sync_at(&s, 1, 2, 1), s.w.node[1]->epoch);
	CHECK(!s.w.node[1]->up);
	/* a node that left or never joined: no wait */
	entry_at(&s, 1, 0)->state = RMC_NODE_DOWN;
	ticks(&s.w, 2, 2);
	CHECK(s.w.node[1]->up);
	setup_free(&s);
}

/* State of an earlier epoch is gone when the next one is up. */
static void test_starts_clean(const struct testbed_opts *o)
{
	struct rmc_fabric *f;
	struct setup s;
	u32 i, bytes;
	u8 *ch[2];

	setup(&s, o, 2);
	f = &s.w.fabric[1];
	bytes = rmc_channel_bytes(f);
	ch[0] = f->ops->channel(f, 0, 1);
	ch[1] = f->ops->channel(f, 1, 0);
	memset(ch[0], 0x5a, bytes);
	memset(ch[1], 0x5a, bytes);
	for (i = 0; i < 2; i++) {
		*rmc_doorbell_word(f, 1, i, 0) = ~0ULL;
		entry_at(&s, 1, 1)->parked[i][0] = 1;
		entry_at(&s, 1, 1)->parked[i][RMC_MAX_UNITS - 1] = 1;
	}
	testbed_restart(&s.w, 1);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(entry_at(&s, 1, 1)->parked[i][0], 0);
		CHECK_EQ(entry_at(&s, 1, 1)->parked[i][RMC_MAX_UNITS - 1], 0);
	}
	*sync_at(&s, 1, 1, 0) = 77;
	for (i = 0; i < 10 && !s.w.node[1]->up; i++)
		testbed_tick(&s.w, 2);
	CHECK(s.w.node[1]->up);
	for (i = 0; i < 2; i++)
		CHECK_EQ(*rmc_doorbell_word(f, 1, i, 0), 0);
	for (i = 0; i < bytes && !ch[0][i] && !ch[1][i]; i++)
		;
	CHECK_EQ(i, bytes);
	CHECK_EQ(*sync_at(&s, 1, 1, 0), 1);
	CHECK_EQ(s.w.node[1]->out_epoch[0], 1);
	CHECK_EQ(s.w.node[1]->epoch, 2);
	setup_free(&s);
}

/* Epochs wrap and skip 0, which is invalid. */
static void test_epoch_wraps(const struct testbed_opts *o)
{
	struct setup s;

	setup(&s, o, 2);
	entry_at(&s, 1, 1)->claim = rmc_claim(RMC_NODE_DOWN, ~0U);
	testbed_restart(&s.w, 1);
	CHECK_EQ(s.w.node[1]->epoch, 1);
	entry_at(&s, 1, 1)->claim = rmc_claim(RMC_NODE_JOINING, 0);
	testbed_restart(&s.w, 1);
	CHECK_EQ(s.w.node[1]->epoch, 1);
	entry_at(&s, 1, 1)->claim = rmc_claim(RMC_NODE_UP, 5);
	testbed_restart(&s.w, 1);
	CHECK_EQ(s.w.node[1]->epoch, 6);
	seg_set(&s.w, 1, CTX, s.seg_mem);
	ticks(&s.w, 6, 2);
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	setup_free(&s);
}

/* A peer is silent if its heartbeat stopped for dead_ms of our time, not earlier. */
static void test_silence(const struct testbed_opts *o)
{
	struct rmc_node *node;
	struct rmc_peer *p;
	u32 now, dead, i;
	struct setup s;

	setup(&s, o, 2);
	node = s.w.node[0];
	p = &node->peer[1];
	dead = s.w.fabric[0].dead_ms;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	ticks(&s.w, 3, 2);
	s.w.frozen[1] = true;
	now = rmc_os_ns_to_ms(testbed_now_ns);
	entry_at(&s, 0, 1)->heartbeat++;
	rmc_node_tick_req(node, now);
	testbed_node_event_count = 0;
	for (i = 0; i < dead / 500; i++)
		rmc_node_tick_req(node, now += 500);
	CHECK(!p->silent);
	CHECK_EQ(testbed_node_event_count, 0);
	/* we were paused for an hour: that time does not count */
	entry_at(&s, 0, 1)->heartbeat++;
	rmc_node_tick_req(node, ++now);
	rmc_node_tick_req(node, now += 3600 * 1000);
	CHECK(!p->silent);
	for (i = 0; i < (dead - RMC_TICK_GAP_MS) / 500; i++)
		rmc_node_tick_req(node, now += 500);
	CHECK(!p->silent);
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	app_take(&s.a);
	rmc_node_tick_req(node, now += 2);
	CHECK(p->silent);
	CHECK(node->out[1]->down);
	CHECK_EQ(app_wait(&s.a), RMC_S_NODE_DOWN);
	CHECK_EQ(node->stats.peer_downs, 1);
	/* link down before node down */
	CHECK_EQ(testbed_node_event_count, 2);
	CHECK_EQ(testbed_node_events[0].type, RMC_EVENT_LINK_DOWN);
	CHECK_EQ(testbed_node_events[1].type, RMC_EVENT_NODE_DOWN);
	rmc_node_tick_req(node, now += 500);
	CHECK_EQ(testbed_node_event_count, 2);
	CHECK_EQ(node->stats.peer_downs, 1);
	/* one heartbeat is enough; node up before link up */
	entry_at(&s, 0, 1)->heartbeat++;
	rmc_node_tick_req(node, now += 2);
	CHECK(!p->silent && !node->out[1]->down);
	CHECK_EQ(testbed_node_event_count, 4);
	CHECK_EQ(testbed_node_events[2].type, RMC_EVENT_NODE_UP);
	CHECK_EQ(testbed_node_events[3].type, RMC_EVENT_LINK_UP);
	/* an invalid state counts as DOWN */
	entry_at(&s, 0, 1)->state = 77;
	rmc_node_tick_req(node, now += 2);
	CHECK_EQ(p->state, RMC_NODE_DOWN);
	CHECK_EQ(testbed_node_event_count, 6);
	setup_free(&s);
}

/* A link is up when both work with the other's epoch; the node may be up without it. */
static void test_link(const struct testbed_opts *o)
{
	struct rmc_node *node;
	struct setup s;
	u32 now;

	setup(&s, o, 2);
	node = s.w.node[0];
	ticks(&s.w, 3, 2);
	CHECK(node->peer[1].linked);
	testbed_node_event_count = 0;
	now = rmc_os_ns_to_ms(testbed_now_ns);
	*sync_at(&s, 0, 1, 0) = 9;
	rmc_node_tick_req(node, ++now);
	CHECK(!node->peer[1].linked);
	CHECK_EQ(testbed_node_event_count, 1);
	CHECK_EQ(testbed_node_events[0].type, RMC_EVENT_LINK_DOWN);
	CHECK_EQ(testbed_node_events[0].epoch, 1);
	CHECK_EQ(node->peer[1].state, RMC_NODE_UP);
	*sync_at(&s, 0, 1, 0) = 1;
	rmc_node_tick_req(node, ++now);
	CHECK(node->peer[1].linked);
	CHECK_EQ(testbed_node_event_count, 2);
	setup_free(&s);
}

/* Memory of a channel that does not exist yet, or never will */
static void *(*real_channel)(struct rmc_fabric *f, u32 requester, u32 server);
static u32 not_yet;
static bool never;

static void *channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	if (never)
		return ERR_PTR(-ENOMEM);
	if (not_yet) {
		not_yet--;
		return NULL;
	}
	return real_channel(f, requester, server);
}

static void test_no_channel(const struct testbed_opts *o)
{
	struct setup s;
	u32 i;

	setup(&s, o, 2);
	other_ops = *s.w.fabric[0].ops;
	real_channel = other_ops.channel;
	other_ops.channel = channel;
	for (i = 0; i < 2; i++)
		s.w.fabric[i].ops = &other_ops;
	never = true;
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_BUSY);
	never = false;
	not_yet = 30;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK(quiet(&s));
	CHECK_EQ(app_wait(&s.a), RMC_S_OK);
	/* the server's end, too */
	rmc_in_close(s.w.node[1], 0);
	never = true;
	app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
	CHECK(quiet(&s));
	never = false;
	setup_free(&s);
}

/* Two units: each opens, acknowledges and closes its own ends; one unit is not enough. */
static void test_units(const struct testbed_opts *o)
{
	struct testbed_opts two = { .ni = "edge", .units = 2, .mtu = o->mtu, .links = o->links };
	u32 now, first, k;
	struct rmc_fabric *f;
	struct rmc_node *node;
	struct setup s;
	u8 status;

	setup(&s, &two, 2);
	node = s.w.node[0];
	now = rmc_os_ns_to_ms(testbed_now_ns);
	first = rmc_endpoint(s.w.fabric, 1);
	/* ends of two epochs are closed again */
	other_ops = *s.w.fabric[0].ops;
	real_channel = other_ops.channel;
	other_ops.channel = channel;
	s.w.fabric[0].ops = &other_ops;
	not_yet = 1;
	CHECK(!rmc_out_open(node, 1, &status));
	CHECK_EQ(status, RMC_S_OK);
	CHECK(rmc_out_open(node, 1, &status));
	rmc_os_free_atomic(node->out[first]);
	node->out[first] = NULL;
	entry_at(&s, 0, 1)->claim = rmc_claim(RMC_NODE_UP, 2);
	*sync_at(&s, 0, 0, 0) = 1;
	*sync_at(&s, 0, 0, 1) = 2;
	CHECK(!rmc_out_open(node, 1, &status));
	CHECK_EQ(status, RMC_S_OK);
	CHECK(!node->out[first] && !node->out[first + 1]);
	CHECK(rmc_out_open(node, 1, &status));
	CHECK_EQ(node->out[first]->epoch, 2);
	CHECK_EQ(node->out[first + 1]->epoch, 2);
	entry_at(&s, 0, 1)->claim = rmc_claim(RMC_NODE_UP, 1);
	*sync_at(&s, 0, 0, 1) = 1;
	/* all or none: the peer acknowledges our epoch in one of its units only */
	rmc_out_close(node, 1);
	*sync_at(&s, 0, 1, 0) = 9;
	CHECK(!rmc_out_open(node, 1, &status));
	CHECK_EQ(status, RMC_S_NODE_DOWN);
	CHECK(!node->out[first] && !node->out[first + 1]);
	*sync_at(&s, 0, 1, 0) = 1;
	CHECK(rmc_out_open(node, 1, &status));
	/* a unit that has not noticed that its node is fenced */
	CHECK(rmc_in_open(node->unit[1], first));
	rmc_node_rejoin(node->unit[1], now);
	CHECK(!node->unit[1]->in[first]);
	/* both units have to acknowledge */
	restart(&s);
	f = testbed_fabric(&s.w, 1);
	for (k = 0; k < 2; k++) {
		CHECK(!rmc_node_join_poll(s.w.node[1], now));
		*rmc_sync_word(f, rmc_endpoint(f, 0) + k, 1) = s.w.node[1]->epoch;
	}
	CHECK(rmc_node_join_poll(s.w.node[1], now));
	setup_free(&s);
}

/* Two joining nodes wait for each other; a new epoch has no older channels to close. */
static void test_joins(const struct testbed_opts *o)
{
	struct setup s;
	u32 now;

	setup(&s, o, 2);
	now = rmc_os_ns_to_ms(testbed_now_ns);
	testbed_restart(&s.w, 1);
	entry_at(&s, 1, 0)->claim = rmc_claim(RMC_NODE_JOINING, 1);
	CHECK(!rmc_node_join_poll(s.w.node[1], now));
	/* a clock behind that of the join has not waited at all */
	CHECK(!rmc_node_join_poll(s.w.node[1], now - 3));
	entry_at(&s, 1, 0)->state = RMC_NODE_DOWN;
	s.w.node[1]->out_epoch[0] = 77;
	CHECK(rmc_node_join_poll(s.w.node[1], now));
	CHECK_EQ(s.w.node[1]->out_epoch[0], 1);
	setup_free(&s);
}

/* What a closed server's end leaves behind, and how a new one starts */
static void test_server_end(const struct testbed_opts *o)
{
	const struct rmc_fault nothing = { .delay_ns = 1 };
	struct rmc_filter *flt;
	struct rmc_node *node;
	struct setup s;

	setup(&s, o, 2);
	node = s.w.node[1];
	fault_set(&s.w, 0, 1, RMC_LANE_REQ, &nothing, 1);
	rmc_filters++;
	node->srv_ms = 0;
	CHECK(rmc_in_open(node, 0));
	CHECK(node->in[0]->busy_ms != node->srv_ms);
	flt = node->in[0]->filter;
	CHECK(flt && flt->rx);
	rmc_in_close(node, 0);
	CHECK(!flt->rx);
	rmc_filters--;
	fault_clear(&s.w, 0, 1, RMC_LANE_REQ);
	setup_free(&s);
}

/* Ends that may be closed to free their memory: those not in use */
static void test_retire(const struct testbed_opts *o)
{
	struct rmc_itt_entry *e;
	struct rmc_node *node;
	struct rmc_out *out;
	struct setup s;

	setup(&s, o, 3);
	node = s.w.node[0];
	CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
	testbed_settle(&s.w);
	out = node->out[1];
	rmc_filters++;
	CHECK(!rmc_out_retire(node, 1));
	rmc_filters--;
	out->xfers++;
	CHECK(!rmc_out_retire(node, 1));
	out->xfers--;
	out->credits--;
	CHECK(!rmc_out_retire(node, 1));
	out->credits++;
	/* an operation of which nothing was sent yet */
	e = &node->itt.entry[node->itt.size - 1];
	node->itt.used++;
	e->qp = &s.a.qp;
	e->nid = 1;
	CHECK(!rmc_out_retire(node, 1));
	CHECK(node->out[1] == out);
	/* one to another node does not count, nor does one that has ended */
	e->nid = 2;
	node->itt.entry[node->itt.size - 2].nid = 1;
	CHECK(rmc_out_retire(node, 1));
	CHECK(!node->out[1]);
	e->qp = NULL;
	node->itt.used--;
	setup_free(&s);
}

/* Clocks of two CPUs: no time counts twice, and none is lost forever. */
static void test_clock(const struct testbed_opts *o)
{
	u32 last = -2U;

	CHECK_EQ(rmc_ms_passed(&last, 3), 5);
	CHECK_EQ(rmc_ms_passed(&last, 1), 0);
	CHECK_EQ(last, 3);
	CHECK_EQ(rmc_ms_passed(&last, 3), 0);
	CHECK_EQ(rmc_ms_passed(&last, 4), 1);
	last = 5000;
	CHECK_EQ(rmc_ms_passed(&last, 5001 - RMC_TICK_GAP_MS), 0);
	CHECK_EQ(last, 5000);
	CHECK_EQ(rmc_ms_passed(&last, 5000 - RMC_TICK_GAP_MS), 0);
	CHECK_EQ(last, 5000 - RMC_TICK_GAP_MS);
}

/* Time-outs across the wrap of the node's own milliseconds, from both sides */
static void test_wrap(const struct testbed_opts *o)
{
	u32 slot, status, k, ms;
	struct setup s;

	for (k = 0; k < 3; k++) {
		setup(&s, o, 2);
		s.w.fabric[0].timeout_ms = 64;
		s.w.fabric[0].dead_ms = 1000000;
		CHECK_EQ(app_run(&s.a, RMC_OP_READ, 1, 0, lbuf, 64), RMC_S_OK);
		/* ends after it, begins and ends after it, ends before it */
		s.w.node[0]->req_ms = s.w.node[0]->scan_ms = k == 1 ? 5 : -(k ? 100 : 32);
		s.w.node[0]->peer[1].beat_ms = s.w.node[0]->req_ms;
		s.w.frozen[1] = true;
		app_post(&s.a, RMC_OP_READ, 1, 0, lbuf, 64);
		app_take(&s.a);
		for (ms = 0; ms < 60; ms += 4) {
			testbed_tick(&s.w, 4);
			CHECK(!app_poll(&s.a, &slot, &status));
		}
		testbed_tick(&s.w, 10);
		CHECK(app_poll(&s.a, &slot, &status));
		CHECK_EQ(status, RMC_S_TIMEOUT);
		setup_free(&s);
	}
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "requester's end: both up, both know each other's epoch", test_requester_links },
		{ "server's end: the same", test_server_links },
		{ "a new life is acknowledged when both ends are closed", test_acknowledges },
		{ "ends of an older life are closed", test_stale_ends },
		{ "a joiner waits for those alive, the dead, the mute", test_waits },
		{ "a new life starts clean", test_starts_clean, .shared = true },
		{ "epochs come round", test_epoch_wraps },
		{ "silence, and its events", test_silence },
		{ "links", test_link },
		{ "no channel yet, or never", test_no_channel },
		{ "time-outs across the wrap of the clock", test_wrap },
		{ "a node of two units", test_units },
		{ "two who join at once", test_joins },
		{ "server's end: opened and closed", test_server_end },
		{ "channels that may be freed", test_retire },
		{ "a clock that steps back", test_clock },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "pair", .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
