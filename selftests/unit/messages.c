// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: SEND, OFFER, RECEIVE and the dispatcher through all stages, with a virtual clock. Each
 * message arrives once, whole, and is not changed while a core holds it: with every length, under
 * loss and duplication. Which core has it: messages_cores.c.
 */
#include "domains.h"

/* Every length around lines and packets, from several offsets in the buffer */
static void test_lengths(const struct testbed_opts *o)
{
	static const u32 lengths[] = { 1, 7, 8, 47, 48, 49, 63, 64, 65, 127, 128, 129, 511, 512,
				       513, 4031, 4095, 4096, 4097, 8000, 8191, 8192 };
	struct doms t;
	struct arrival m;
	u32 i, skip, slot;

	two(&t, o);
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		for (skip = 0; skip < 64; skip += 21) {
			slot = i % t.p.slots;
			write_message(buf(&t, 0, 0) + skip, i, lengths[i]);
			CHECK_EQ(dom_send(&t, 0, 0, 1, slot, buf(&t, 0, 0) + skip, lengths[i]),
				 RMC_S_OK);
			check_arrival(&t, 0, slot, i, lengths[i], &m);
			/* nothing before it and behind its last line */
			CHECK_EQ(dom_data(&t, 1, &m)[-1], 0x5a);
			CHECK(dom_send_slot(&t, 0, 1, slot)->valid);
			CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
			CHECK(!dom_send_slot(&t, 0, 1, slot)->valid);
			CHECK(!dom_arrival(&t, 1, 0, &m));
		}
	CHECK_EQ(dom_stat(&t, 1, refused), 0);
	CHECK_EQ(dom_stat(&t, 1, repeated), 0);
	CHECK(testbed_credits_home(&t.w, 0, 1));
	CHECK(testbed_credits_home(&t.w, 1, 0));
	doms_fini(&t);
}

/* T18 figure 5.4: messages of several slots and sources whose packets alternate */
static void test_interleaved(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u32 nid, slot, len, got, value;
	bool seen[3 * 8] = { false };

	memset(&t, 0, sizeof(t));
	t.nodes = 3;
	t.cores = 1;
	t.dp.depth = 16;
	t.p.max_message = 4000;
	doms_init(&t, o);
	doms_join(&t);
	for (slot = 0; slot < t.p.slots; slot++)
		for (nid = 1; nid < 3; nid++) {
			value = nid * t.p.slots + slot;
			len = 4000 - slot * 500;
			write_message(buf(&t, nid, 0) + slot * 4096, value, len);
			CHECK(dom_claim(&t, nid, 0, slot));
			dom_post(&t, nid, 0, RMC_OP_SEND, 0, slot, buf(&t, nid, 0) + slot * 4096,
				 len);
		}
	testbed_settle(&t.w);
	for (got = 0; dom_arrival(&t, 0, 0, &m); got++) {
		value = m.nid * t.p.slots + m.slot;
		CHECK(!seen[value]);
		seen[value] = true;
		CHECK_EQ(m.len, 4000 - m.slot * 500);
		CHECK(is_message(dom_data(&t, 0, &m), value, m.len));
		CHECK_EQ(dom_receive(&t, 0, 0, &m), RMC_S_OK);
		testbed_settle(&t.w);
	}
	CHECK_EQ(got, 2 * t.p.slots);
	for (slot = 0; slot < t.p.slots; slot++)
		for (nid = 1; nid < 3; nid++)
			CHECK(!dom_send_slot(&t, nid, 0, slot)->valid);
	doms_fini(&t);
}

/* A node may send to itself. An OFFER says so. */
static void test_own_node(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;

	two(&t, o);
	write_message(buf(&t, 0, 0), 3, 16);
	CHECK(dom_claim(&t, 0, 0, 5));
	dom_post(&t, 0, 0, RMC_OP_OFFER, 0, 5, buf(&t, 0, 0), 16);
	CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_OK);
	CHECK(dom_arrival(&t, 0, 0, &m));
	CHECK_EQ(m.kind, RMC_AQ_OFFER);
	CHECK_EQ(m.len, 16);
	CHECK(is_message(m.head, 3, 16));
	CHECK_EQ(dom_receive(&t, 0, 0, &m), RMC_S_OK);
	CHECK(!dom_send_slot(&t, 0, 0, 5)->valid);
	doms_fini(&t);
}

/* The turn has 8 bits: more messages than that through one slot */
static void test_turns(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u32 i;

	two(&t, o);
	for (i = 0; i < 600; i++) {
		write_message(buf(&t, 0, 0), i, 24);
		CHECK_EQ(dom_send(&t, 0, 0, 1, 3, buf(&t, 0, 0), 24), RMC_S_OK);
		check_arrival(&t, 0, 3, i, 24, &m);
		CHECK_EQ(m.turn, (u8)(i + 1));
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	}
	doms_fini(&t);
}

/* ---- faults ---- */

#define STREAM	400	/* messages */
#define PROBE	8	/* a JOIN about slot i is operation PROBE + i */

/* Node 0 sends to node 1 through all its slots, and finds out what became of each message. */
struct stream {
	struct doms t;
	u32 sent, got, in_wq, timeouts, probes;
	u32 value[8], len[8], waits[8];
	bool posted[8], again[8], done[8], probing[8];
	u32 what[64];		/* by WQ slot: slot, or PROBE + slot */
	bool holding;
	struct arrival m;
	u32 next[8];
};

static void stream_send(struct stream *s, u32 slot)
{
	struct doms *t = &s->t;
	u8 *at = buf(t, 0, 0) + slot * 8192;

	if (s->in_wq == 16 || s->probing[slot])
		return;
	/* the SEND of its last message has completed as well */
	if (s->sent < STREAM && !s->posted[slot] && dom_claim(t, 0, 1, slot)) {
		s->value[slot] = s->sent++;
		s->len[slot] = 1 + random_below(6000);
		write_message(at, s->value[slot], s->len[slot]);
		s->again[slot] = true;
		s->done[slot] = false;
	}
	if (s->again[slot]) {
		s->what[dom_post(t, 0, 0, RMC_OP_SEND, 1, slot, at, s->len[slot])] = slot;
		s->again[slot] = false;
		s->posted[slot] = true;
		s->in_wq++;
		s->waits[slot] = 0;
	} else if (s->done[slot] && dom_send_slot(t, 0, 1, slot)->valid &&
		   ++s->waits[slot] > 200) {
		/* a RECEIVE that timed out is not repeated */
		s->what[app_post(&t->node[0].app[0].a, RMC_OP_JOIN, 1, rmc_slot_offset(slot, 0),
				 buf(t, 0, 0) + 80 * 1024 + slot * 8, 8)] = PROBE + slot;
		s->probing[slot] = true;
		s->in_wq++;
		s->waits[slot] = 0;
	}
}

static void stream_completed(struct stream *s, u32 wq_slot, u32 status)
{
	u32 slot = s->what[wq_slot] % PROBE;
	u64 state;

	s->in_wq--;
	CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
	s->timeouts += status == RMC_S_TIMEOUT;
	if (s->what[wq_slot] < PROBE) {
		s->posted[slot] = false;
		s->again[slot] = status != RMC_S_OK;
		s->done[slot] = status == RMC_S_OK;
		return;
	}
	s->probing[slot] = false;
	memcpy(&state, buf(&s->t, 0, 0) + 80 * 1024 + slot * 8, 8);
	if (status || !(state & RMC_JOIN_FREE))
		return;
	CHECK_EQ(RMC_JOIN_TURN(state), (u8)dom_send_slot(&s->t, 0, 1, slot)->turn);
	s->probes += dom_send_slot(&s->t, 0, 1, slot)->valid;
	dom_send_slot(&s->t, 0, 1, slot)->valid = 0;
}

static void stream_receive(struct stream *s)
{
	struct doms *t = &s->t;
	u32 slot, status;

	if (!s->holding && dom_arrival(t, 1, 0, &s->m)) {
		slot = s->m.slot;
		CHECK_EQ(s->m.len, s->len[slot]);
		CHECK(is_message(dom_data(t, 1, &s->m), s->value[slot], s->m.len));
		CHECK_EQ(s->m.turn, (u8)++s->next[slot]);
		s->holding = true;
		s->got++;
		dom_post_receive(t, 1, 0, &s->m);
	}
	while (app_poll(&t->node[1].app[0].a, &slot, &status)) {
		CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
		s->holding = false;
	}
}

static bool stream_ended(struct stream *s)
{
	u32 i;

	for (i = 0; i < 8; i++)
		if (dom_send_slot(&s->t, 0, 1, i)->valid)
			return false;
	return s->got == STREAM && !s->in_wq;
}

/*
 * Loss, duplication and reordering of both lanes: each message arrives once, and all send slots
 * become free. A sender whose SEND timed out repeats the same message; one whose slot stays in use
 * asks.
 */
static void test_faults(const struct testbed_opts *o)
{
	/* a SEND completes if no packet of one try is lost */
	struct rmc_fault fault = { .loss = o->mtu < 512 ? 5000 : 60000, .dup = 100000, .reorder = 100000,
				   .shuffle = 100000, .gap_ns = 5000000 };
	static struct stream s;
	struct arrival m;
	u32 step, slot, status, lane, i;

	memset(&s, 0, sizeof(s));
	two(&s.t, o);
	rmc_filters = 1;
	for (i = 0; i < 2; i++) {
		testbed_fabric(&s.t.w, i)->timeout_ms = 100;
		testbed_fabric(&s.t.w, i)->retries = 1;
	}
	for (lane = 0; lane < RMC_LANES; lane++) {
		fault_set(&s.t.w, 0, 1, lane, &fault, 7 + lane);
		fault_set(&s.t.w, 1, 0, lane, &fault, 9 + lane);
	}
	for (step = 0; step < 1000000 && !stream_ended(&s); step++) {
		stream_send(&s, random_below(8));
		while (app_poll(&s.t.node[0].app[0].a, &slot, &status))
			stream_completed(&s, slot, status);
		stream_receive(&s);
		testbed_visit(&s.t.w);
		if (!(step & 7))
			testbed_tick(&s.t.w, 8);
	}
	CHECK(stream_ended(&s));
	CHECK(s.timeouts > 0);
	CHECK(dom_stat(&s.t, 1, repeated) > 0);
	for (lane = 0; lane < RMC_LANES; lane++) {
		fault_clear(&s.t.w, 0, 1, lane);
		fault_clear(&s.t.w, 1, 0, lane);
	}
	testbed_settle(&s.t.w);
	rmc_filters = 0;
	CHECK(!dom_arrival(&s.t, 1, 0, &m));
	doms_fini(&s.t);
}

/* What an application may not ask for, and what it may not end */
static void test_refused(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	struct app *a;
	u64 requests;
	u8 *b;

	memset(&t, 0, sizeof(t));
	t.nodes = 3;
	t.p.nodes = 2;
	t.cores = 2;
	doms_init(&t, o);
	a = &t.node[0].app[0].a;
	b = buf(&t, 0, 0);
	/* nobody has joined */
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, b, 8), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	CHECK_EQ(dom_join(&t, 1, 0), RMC_S_OK);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(t.p.slots, 1), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1) + 64, b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), b, 0), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), b, 8193), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 2, rmc_slot_offset(0, 1), b, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 3, rmc_slot_offset(0, 1), b, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 1), b - 1, 8), RMC_S_BAD_LBUF);
	/* not the next turn */
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 2), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 127), b, 8), RMC_S_BAD_SLOT);
	/* it would be an earlier one, if there were any */
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 255), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 0), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 0, b, 16), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 2, 0, b, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, rmc_slot_offset(8, 0), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 1, b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, rmc_slot_offset(0, 1), b, 8), RMC_S_BAD_SLOT);
	CHECK(!dom_arrival(&t, 1, 0, &m) && !dom_arrival(&t, 1, 1, &m));

	/* a message: another core, another turn, slot or node, twice, with data */
	dom_send_slot(&t, 0, 1, 0)->valid = 0;
	dom_send_slot(&t, 0, 1, 0)->turn = 0;
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, b, 8), RMC_S_OK);
	CHECK(dom_arrival(&t, 1, 0, &m));
	CHECK_EQ(dom_receive(&t, 1, 1, &m), RMC_S_BAD_SLOT);
	m.turn++;
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_BAD_SLOT);
	m.turn--;
	m.slot++;
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_BAD_SLOT);
	m.slot--;
	m.nid++;
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_BAD_SLOT);
	m.nid--;
	a = &t.node[1].app[0].a;
	CHECK_EQ(app_run(a, RMC_OP_RECEIVE, 0, rmc_slot_offset(0, 1) + 1, NULL, 0),
		 RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_RECEIVE, 0, rmc_slot_offset(0, 1), buf(&t, 1, 0), 8),
		 RMC_S_BAD_LENGTH);
	CHECK(dom_send_slot(&t, 0, 1, 0)->valid);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_BAD_SLOT);
	CHECK(!dom_send_slot(&t, 0, 1, 0)->valid);

	/* what this end can refuse sends no packet */
	requests = testbed_stat(&t.w, 0, requests);
	a = &t.node[0].app[0].a;
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(t.p.slots, 1), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, rmc_slot_offset(t.p.slots, 0), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(testbed_stat(&t.w, 0, requests), requests);

	/* a queue pair that belongs to no domain; a node without one */
	dom_detach(&t, 0, 1, false);
	a = &t.node[0].app[1].a;
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 2), buf(&t, 0, 1), 8),
		 RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_RECEIVE, 1, rmc_slot_offset(0, 2), NULL, 0), RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_READY, 1, rmc_slot_offset(0, 2), NULL, 0), RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_REPLY, 1, rmc_slot_offset(0, 2), buf(&t, 0, 1), 8),
		 RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 0, buf(&t, 0, 1), 8), RMC_S_NO_DOMAIN);
	dom_detach(&t, 1, 0, false);
	dom_detach(&t, 1, 1, false);
	/* hidden: on no unit, though all still have it */
	rmc_hide(&t.node[1].d.exposure);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_NO_DOMAIN);
	dom_remove(&t, 1);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, b, 8), RMC_S_NO_DOMAIN);
	CHECK_EQ(dom_create(&t, 1), 0);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	doms_fini(&t);
}

/* There is nothing to do for so long that workers poll neither doorbells nor queue pairs. */
static void idle(struct doms *t)
{
	u32 i;

	for (i = 0; i < 3 * RMC_IDLE_POLLS; i++)
		testbed_visit(&t->w);
}

static void visit_others(struct doms *t, const struct rmc_ni_worker *w)
{
	u32 i;

	for (i = 0; i < t->w.workers; i++)
		if (&t->w.worker[i].ni != w)
			rmc_ni_visit(&t->w.worker[i].ni);
}

/*
 * A message waits for a core, whose RGP has another worker than the dispatcher. What the RGP says
 * is not lost, whether the dispatcher's worker sleeps or is about to stop polling the unit.
 */
static void test_wakes(const struct testbed_opts *o)
{
	struct rmc_ni_worker *w;
	struct doms t;
	struct arrival m[3];
	struct dom_app *app;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	doms_init(&t, o);
	doms_join(&t);
	w = t.w.node[1]->srv_worker;
	/* the last unit's core is the only one */
	app = &t.node[1].app[1];
	dom_detach(&t, 1, 0, true);
	send_some(&t, 3);
	check_arrival(&t, 1, 0, 0, 60, &m[0]);
	if (dom_qp(app)->node->req_worker != w && !w->remote) {
		idle(&t);
		CHECK(rmc_ni_may_park(w));
		CHECK(rmc_ni_park(w));
		dom_post_receive(&t, 1, 1, &m[0]);
		((struct testbed_worker *)w)->kick = 0;
		for (i = 0; i < 64; i++)
			visit_others(&t, w);
		CHECK_EQ(((struct testbed_worker *)w)->kick, 1);
		rmc_ni_unpark(w);
		/* its doorbells are quiet, but for what the RECEIVE has rung at node 0 */
		rmc_ni_clear_pend(w, RMC_LANE_REQ);
		rmc_ni_visit(w);
		check_arrival(&t, 1, 1, 1, 60, &m[1]);
		CHECK_EQ(app_wait(&app->a), RMC_S_OK);
	} else {
		CHECK_EQ(dom_receive(&t, 1, 1, &m[0]), RMC_S_OK);
		testbed_settle(&t.w);
		check_arrival(&t, 1, 1, 1, 60, &m[1]);
	}
	CHECK_EQ(dom_receive(&t, 1, 1, &m[1]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 1, 2, 2, 60, &m[2]);
	/* nothing waits: what is finished does not keep the worker awake */
	CHECK_EQ(dom_receive(&t, 1, 1, &m[2]), RMC_S_OK);
	idle(&t);
	if (!w->remote)
		CHECK(rmc_ni_may_park(w));
	/* a slot of another unit, whose worker is not the dispatcher's */
	CHECK_EQ(dom_send(&t, 0, 0, 1, 3, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 1, 3, 2, 60, &m[0]);
	doms_fini(&t);
}

static void pass_us(u64 us)
{
	testbed_now_ns += us * 1000;
}

static bool may_park(struct doms *t)
{
	idle(t);
	return rmc_ni_may_park(t->w.node[1]->srv_worker);
}

/* Nobody has got a message, and the dispatcher's worker comes back for it. */
static void check_held(struct doms *t)
{
	struct arrival m;
	u32 i;

	CHECK(!may_park(t));
	for (i = 0; i < t->cores; i++)
		CHECK(!dom_arrival(t, 1, i, &m));
}

/*
 * With wake_ns a message waits for a core that polls, and then goes to one that sleeps, although nothing
 * else happens: until then the dispatcher's worker polls the head, and does not park. Afterwards it may.
 */
static void test_held(const struct testbed_opts *o)
{
	struct arrival m[4];
	struct doms t;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.depth = 2;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	t.dp.wake_ns = 50000;
	doms_init(&t, o);
	doms_join(&t);
	testbed_tick(&t.w, 1);
	for (i = 0; i < 2; i++)
		rmc_core_sleeps(&t.node[1].d, i);
	CHECK(may_park(&t));
	/* these slots are another unit's, if there are several: the head's doorbells stay clear */
	write_message(buf(&t, 0, 0), 7, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 7, buf(&t, 0, 0), 60), RMC_S_OK);
	check_held(&t);
	pass_us(30);
	write_message(buf(&t, 0, 0), 5, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 5, buf(&t, 0, 0), 60), RMC_S_OK);
	check_held(&t);
	pass_us(19);
	check_held(&t);
	pass_us(1);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 7, 7, 60, &m[0]);
	CHECK(m[0].stamp + 50000 == testbed_now_ns);
	/* it is awake now: at once */
	check_arrival(&t, 0, 5, 5, 60, &m[1]);
	CHECK(may_park(&t));
	/* full: the next one waits for the other core */
	write_message(buf(&t, 0, 0), 3, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 3, buf(&t, 0, 0), 60), RMC_S_OK);
	check_held(&t);
	pass_us(10);
	/* or the first, if that is done before */
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 3, 3, 60, &m[2]);
	CHECK(may_park(&t));
	/* a core goes while a message is held, and so does the domain */
	write_message(buf(&t, 0, 0), 1, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, buf(&t, 0, 0), 60), RMC_S_OK);
	check_held(&t);
	dom_detach(&t, 1, 1, true);
	dom_detach(&t, 1, 0, true);
	CHECK_EQ(t.node[1].d.due, U64_MAX);
	CHECK(may_park(&t));
	doms_fini(&t);
}

/* Frees the slot that a message of node 0 is in; node 0's worker @skip does not run. */
static void free_slot(struct doms *t, u32 slot, const struct rmc_ni_worker *skip)
{
	struct arrival m;
	u32 i;

	check_arrival(t, 1, slot, slot, 60, &m);
	dom_post_receive(t, 1, 1, &m);
	for (i = 0; i < 64; i++)
		visit_others(t, skip);
}

static bool waits_for_room(struct doms *t, struct rmc_room *r)
{
	return rmc_event_arm(&r->event, rmc_room_add(&t->node[0].d, r));
}

/*
 * Who waits for a free send slot is told once, whichever unit the RECEIVE comes to, and whether the
 * dispatcher's worker sleeps or not.
 */
static void test_room(const struct testbed_opts *o)
{
	struct rmc_room first = {}, second = {}, third = {};
	struct rmc_ni_worker *w;
	struct rmc_domain *d;
	struct doms t;
	bool can_sleep;
	u32 slot;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.depth = 4;
	doms_init(&t, o);
	doms_join(&t);
	d = &t.node[0].d;
	w = t.w.node[0]->srv_worker;
	/* the last unit's core is the only one */
	dom_detach(&t, 1, 0, true);
	can_sleep = dom_qp(&t.node[1].app[1])->node->req_worker != w && !w->remote;
	send_some(&t, 4);
	testbed_settle(&t.w);
	for (slot = 0; slot < 4; slot++) {
		bool sleeps = slot >= 2 && can_sleep;

		CHECK(waits_for_room(&t, &first));
		CHECK(waits_for_room(&t, &second));
		CHECK(waits_for_room(&t, &first));
		CHECK(waits_for_room(&t, &third));
		rmc_room_del(d, &third);
		rmc_room_del(d, &third);
		testbed_settle(&t.w);
		CHECK(first.event.armed && second.event.armed);
		if (sleeps) {
			idle(&t);
			CHECK(rmc_ni_may_park(w));
			CHECK(rmc_ni_park(w));
			((struct testbed_worker *)w)->kick = 0;
			free_slot(&t, slot, w);
			/* of its own lane, or of another unit's worker */
			CHECK(((struct testbed_worker *)w)->kick);
			rmc_ni_unpark(w);
		} else {
			free_slot(&t, slot, NULL);
		}
		testbed_settle(&t.w);
		CHECK(!READ_ONCE(dom_send_slot(&t, 0, 1, slot)->valid));
		CHECK(!first.event.armed && !second.event.armed && third.event.armed);
		CHECK_EQ(first.event.count, slot + 1);
		CHECK(!first.listed && !second.listed && !d->room && !d->reporting);
		app_wait(&t.node[1].app[1].a);
		/* what became free before is no event */
		CHECK(waits_for_room(&t, &first));
		testbed_settle(&t.w);
		CHECK(first.event.armed);
		rmc_room_del(d, &first);
		first.event.armed = false;
		third.event.armed = false;
	}
	doms_fini(&t);
}

/* Each visit tells a few of many; who was told is not told again, who leaves is not told. */
static void test_many_wait(const struct testbed_opts *o)
{
	struct rmc_room room[11] = {};
	struct rmc_domain *d;
	struct rmc_node *unit;
	struct doms t;
	u32 i, used;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.depth = 4;
	doms_init(&t, o);
	doms_join(&t);
	d = &t.node[0].d;
	dom_detach(&t, 1, 0, true);
	send_some(&t, 3);
	used = t.w.node[0]->domains.used;
	unit = t.w.node[0]->unit[t.w.opts.units - 1];
	if (unit->srv_worker != t.w.node[0]->srv_worker)
		unit = t.w.node[0];
	for (i = 0; i < ARRAY_SIZE(room); i++) {
		rmc_room_init(d, &room[i]);
		CHECK(waits_for_room(&t, &room[i]));
		CHECK(!rmc_room_missed(d, &room[i]));
	}
	/* nobody visits the dispatcher's worker between, and it need not poll the head */
	idle(&t);
	rmc_domain_count(rmc_domain_unit(d, unit), freed);
	rmc_domain_freed(unit, d);
	for (i = 0; i < ARRAY_SIZE(room); i++)
		CHECK_EQ(room[ARRAY_SIZE(room) - 1 - i].event.armed, i >= 4);
	rmc_room_del(d, &room[0]);
	CHECK(!rmc_ni_may_park(t.w.node[0]->srv_worker));
	for (i = 0; i < 8; i++)
		rmc_ni_visit(t.w.node[0]->srv_worker);
	for (i = 0; i < ARRAY_SIZE(room); i++) {
		CHECK_EQ(room[i].event.armed, !i);
		CHECK(!room[i].listed);
		CHECK_EQ(room[i].event.count, !!i);
	}
	CHECK(!d->reporting && !d->room);
	CHECK_EQ(t.w.node[0]->domains.used, used);
	/* one that became free before it was asked for: once */
	free_slot(&t, 0, NULL);
	testbed_settle(&t.w);
	CHECK(waits_for_room(&t, &room[1]));
	CHECK(rmc_room_missed(d, &room[1]));
	rmc_room_told(&room[1]);
	CHECK(!rmc_room_missed(d, &room[1]));
	/* an event of which nobody is told is missed, one that is told is not */
	free_slot(&t, 1, NULL);
	testbed_settle(&t.w);
	CHECK(!room[1].event.armed);
	CHECK(waits_for_room(&t, &room[1]));
	CHECK(rmc_room_missed(d, &room[1]));
	free_slot(&t, 2, NULL);
	testbed_settle(&t.w);
	rmc_room_told(&room[1]);
	CHECK(!rmc_room_missed(d, &room[1]));
	doms_fini(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "every length", test_lengths },
		{ "packets of several messages alternate", test_interleaved },
		{ "to the own node; an offer", test_own_node },
		{ "turns wrap", test_turns },
		{ "loss, duplication, reordering: once each", test_faults },
		{ "what an application may not do", test_refused },
		{ "the dispatcher's worker sleeps, or polls other units", test_wakes },
		{ "a message that waits for a core that polls", test_held },
		{ "who waits for a free send slot is told", test_room },
		{ "many wait for one", test_many_wait },
	};

	matrix_run(tests, ARRAY_SIZE(tests), dom_opts, ARRAY_SIZE(dom_opts));
	return matrix_done();
}
