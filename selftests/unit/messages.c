// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: SEND, OFFER, RECEIVE and JOIN through all stages, with a virtual clock. Each message
 * arrives once, whole, and is not changed while a core holds it: with every length, under loss
 * and duplication, from peers that keep no rule, and when domains, cores and nodes come and go.
 */
#include "client.h"
#include "domains.h"

void (*rmc_between_passes)(void);

static u32 random_state = 1;

static u32 random_below(u32 n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* Byte @i of a message that this value names */
static u8 byte_of(u32 value, u32 i)
{
	return value * 31 + i * 7 + (i >> 8);
}

static void write_message(u8 *p, u32 value, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = byte_of(value, i);
}

static bool is_message(const u8 *p, u32 value, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != byte_of(value, i))
			return false;
	return true;
}

static u8 *buf(struct doms *t, u32 nid, u32 i)
{
	return t->node[nid].app[i].buf;
}

/* Two nodes with a core each, joined */
static void two(struct doms *t, const struct testbed_opts *o)
{
	memset(t, 0, sizeof(*t));
	t->nodes = 2;
	t->cores = 1;
	doms_init(t, o);
	doms_join(t);
}

/* The arrival of a message from node 0 at a core of node 1; it is whole. */
static void check_arrival(struct doms *t, u32 core, u32 slot, u32 value, u32 len,
			  struct arrival *m)
{
	CHECK(dom_arrival(t, 1, core, m));
	CHECK_EQ(m->nid, 0);
	CHECK_EQ(m->slot, slot);
	CHECK_EQ(m->len, len);
	CHECK_EQ(m->kind, RMC_AQ_MESSAGE);
	CHECK(is_message(m->head, value, min(len, (u32)RMC_AQ_HEAD)));
	CHECK(is_message(dom_data(t, 1, m), value, len));
}

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

/*
 * Loss, duplication and reordering of both lanes: each message arrives once, and send slots
 * become free. A sender whose SEND timed out repeats the same message.
 */
static void test_faults(const struct testbed_opts *o)
{
	struct rmc_fault fault = { .loss = 30000, .dup = 100000, .reorder = 100000,
				   .shuffle = 100000, .gap_ns = 5000000 };
	struct doms t;
	struct arrival m;
	u32 next[8] = { 0 }, busy = 0, sent = 0, got = 0, step, slot, status, s, lane;
	u32 posted[64], values[8] = { 0 }, lens[8] = { 0 };
	bool in_wq[8] = { false };
	bool held = false;

	two(&t, o);
	rmc_filters = 1;
	for (s = 0; s < 2; s++) {
		testbed_fabric(&t.w, s)->timeout_ms = 100;
		testbed_fabric(&t.w, s)->retries = 3;
	}
	for (lane = 0; lane < RMC_LANES; lane++) {
		fault_set(&t.w, 0, 1, lane, &fault, 7 + lane);
		fault_set(&t.w, 1, 0, lane, &fault, 9 + lane);
	}
	for (step = 0; step < 400000 && got < 400; step++) {
		slot = random_below(8);
		if (sent < 400 && dom_claim(&t, 0, 1, slot)) {
			values[slot] = sent++;
			lens[slot] = 1 + random_below(3000);
			write_message(buf(&t, 0, 0) + slot * 4096, values[slot], lens[slot]);
			in_wq[slot] = true;
		}
		if (in_wq[slot] && busy < 16) {
			s = dom_post(&t, 0, 0, RMC_OP_SEND, 1, slot, buf(&t, 0, 0) + slot * 4096,
				     lens[slot]);
			posted[s] = slot;
			in_wq[slot] = false;
			busy++;
		}
		while (app_poll(&t.node[0].app[0].a, &s, &status)) {
			busy--;
			CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
			if (status == RMC_S_TIMEOUT)
				in_wq[posted[s]] = true;
		}
		if (!held && dom_arrival(&t, 1, 0, &m)) {
			CHECK_EQ(m.len, lens[m.slot]);
			CHECK(is_message(dom_data(&t, 1, &m), values[m.slot], m.len));
			CHECK_EQ(m.turn, (u8)++next[m.slot]);
			held = true;
			got++;
			dom_post_receive(&t, 1, 0, &m);
		}
		while (app_poll(&t.node[1].app[0].a, &s, &status)) {
			CHECK(status == RMC_S_OK || status == RMC_S_TIMEOUT);
			held = false;
		}
		testbed_visit(&t.w);
		if (!(step & 7))
			testbed_tick(&t.w, 8);
	}
	CHECK_EQ(got, 400);
	CHECK(dom_stat(&t, 1, repeated) > 0);
	for (lane = 0; lane < RMC_LANES; lane++) {
		fault_clear(&t.w, 0, 1, lane);
		fault_clear(&t.w, 1, 0, lane);
	}
	testbed_settle(&t.w);
	rmc_filters = 0;
	CHECK(!dom_arrival(&t, 1, 0, &m));
	doms_fini(&t);
}

/* What an application may not ask for, and what it may not end */
static void test_refused(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	struct app *a;
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
	/* it could be an earlier one, sent again */
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 255), b, 8), RMC_S_OK);
	CHECK_EQ(dom_stat(&t, 1, repeated), 1);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 0, b, 16), RMC_S_BAD_LENGTH);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 2, 0, b, 8), RMC_S_BAD_NODE);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, rmc_slot_offset(8, 0), b, 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 1, b, 8), RMC_S_BAD_SLOT);
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

	/* a queue pair that belongs to no domain; a node without one */
	dom_detach(&t, 0, 1, false);
	a = &t.node[0].app[1].a;
	CHECK_EQ(app_run(a, RMC_OP_SEND, 1, rmc_slot_offset(0, 2), buf(&t, 0, 1), 8),
		 RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_RECEIVE, 1, rmc_slot_offset(0, 2), NULL, 0), RMC_S_NO_DOMAIN);
	CHECK_EQ(app_run(a, RMC_OP_JOIN, 1, 0, buf(&t, 0, 1), 8), RMC_S_NO_DOMAIN);
	dom_detach(&t, 1, 0, false);
	dom_detach(&t, 1, 1, false);
	dom_remove(&t, 1);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, b, 8), RMC_S_NO_DOMAIN);
	CHECK_EQ(dom_create(&t, 1), 0);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	doms_fini(&t);
}

/* A core gets as many messages as the depth says; the others wait in order, none is lost. */
static void test_depth(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m[8], more;
	u32 depth, i, held;

	for (depth = 1; depth <= 3; depth++) {
		memset(&t, 0, sizeof(t));
		t.nodes = 2;
		t.cores = 1;
		t.dp.depth = depth;
		t.dp.policy = RMC_DISPATCH_GREEDY;
		doms_init(&t, o);
		doms_join(&t);
		for (i = 0; i < 8; i++) {
			write_message(buf(&t, 0, 0), i, 100);
			CHECK_EQ(dom_send(&t, 0, 0, 1, i, buf(&t, 0, 0), 100), RMC_S_OK);
			testbed_settle(&t.w);
		}
		for (held = 0; dom_arrival(&t, 1, 0, &m[held]); held++)
			;
		CHECK_EQ(held, depth);
		for (i = 0; i < 8; i++) {
			CHECK_EQ(m[i].slot, i);
			CHECK(is_message(dom_data(&t, 1, &m[i]), i, 100));
			CHECK_EQ(dom_receive(&t, 1, 0, &m[i]), RMC_S_OK);
			testbed_settle(&t.w);
			if (held < 8) {
				CHECK(dom_arrival(&t, 1, 0, &m[held]));
				held++;
			}
			CHECK(!dom_arrival(&t, 1, 0, &more));
		}
		CHECK_EQ(rmc_dispatch_waiting(t.node[1].d.dispatch), 0);
		doms_fini(&t);
	}
}

/* Greedy: a message waits for no core as long as one is free; the first free one gets it. */
static void test_cores(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m[DOM_CORES], last;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = DOM_CORES;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	doms_init(&t, o);
	doms_join(&t);
	for (i = 0; i < DOM_CORES + 1; i++) {
		write_message(buf(&t, 0, 0), i, 60);
		CHECK_EQ(dom_send(&t, 0, 0, 1, i, buf(&t, 0, 0), 60), RMC_S_OK);
		testbed_settle(&t.w);
	}
	for (i = 0; i < DOM_CORES; i++)
		check_arrival(&t, i, i, i, 60, &m[i]);
	/* the last message goes to whoever is done first */
	CHECK_EQ(dom_receive(&t, 1, 2, &m[2]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 2, DOM_CORES, DOM_CORES, 60, &last);
	CHECK(!last.again);
	doms_fini(&t);
}

/* A core goes: what it held is given to others, first, or is freed. A stale core ends nothing. */
static void test_core_goes(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m[3], again;
	u32 i, requeue;

	for (requeue = 0; requeue < 2; requeue++) {
		memset(&t, 0, sizeof(t));
		t.nodes = 2;
		t.cores = 2;
		t.dp.policy = RMC_DISPATCH_GREEDY;
		doms_init(&t, o);
		doms_join(&t);
		for (i = 0; i < 3; i++) {
			write_message(buf(&t, 0, 0), i, 60);
			CHECK_EQ(dom_send(&t, 0, 0, 1, i, buf(&t, 0, 0), 60), RMC_S_OK);
			testbed_settle(&t.w);
		}
		check_arrival(&t, 0, 0, 0, 60, &m[0]);
		check_arrival(&t, 1, 1, 1, 60, &m[1]);
		dom_detach(&t, 1, 0, requeue);
		/* the same index, another core */
		dom_attach(&t, 1, 0);
		testbed_settle(&t.w);
		CHECK(dom_arrival(&t, 1, 0, &again));
		CHECK_EQ(again.slot, requeue ? 0 : 2);
		CHECK_EQ(again.again, requeue);
		CHECK(is_message(dom_data(&t, 1, &again), again.slot, 60));
		CHECK_EQ(dom_receive(&t, 1, 0, &again), RMC_S_OK);
		CHECK_EQ(dom_receive(&t, 1, 1, &m[1]), RMC_S_OK);
		testbed_settle(&t.w);
		/* without requeue nothing tells the sender: its slot is in doubt until it joins */
		CHECK_EQ(dom_send_slot(&t, 0, 1, 0)->valid, !requeue);
		CHECK_EQ(dom_arrival(&t, 1, 0, &again), requeue);
		doms_fini(&t);
	}
}

/* All cores go, messages wait, and the first core that comes gets them in order. */
static void test_no_core(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u32 i;

	two(&t, o);
	dom_detach(&t, 1, 0, true);
	for (i = 0; i < 4; i++) {
		write_message(buf(&t, 0, 0), i, 60);
		CHECK_EQ(dom_send(&t, 0, 0, 1, i, buf(&t, 0, 0), 60), RMC_S_OK);
		testbed_settle(&t.w);
	}
	dom_attach(&t, 1, 0);
	for (i = 0; i < 4; i++) {
		testbed_settle(&t.w);
		check_arrival(&t, 0, i, i, 60, &m);
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	}
	doms_fini(&t);
}

/* ---- domains that come and go ---- */

/* Parameters must agree; a new life begins with turn 1, and not while messages are held. */
static void test_join(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;

	two(&t, o);
	write_message(buf(&t, 0, 0), 1, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 2, buf(&t, 0, 0), 60), RMC_S_OK);
	check_arrival(&t, 0, 2, 1, 60, &m);
	/* the same life joins at any time, without effect on what has arrived */
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	CHECK(is_message(dom_data(&t, 1, &m), 1, 60));

	/* another life of node 0 */
	dom_detach(&t, 0, 0, false);
	dom_remove(&t, 0);
	CHECK_EQ(dom_create(&t, 0), 0);
	dom_attach(&t, 0, 0);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_SLOT_BUSY);
	/* the RECEIVE of the old life frees nothing of the new one */
	dom_send_slot(&t, 0, 1, 2)->valid = 1;
	dom_send_slot(&t, 0, 1, 2)->turn = 1;
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	CHECK(dom_send_slot(&t, 0, 1, 2)->valid);
	dom_send_slot(&t, 0, 1, 2)->valid = 0;
	dom_send_slot(&t, 0, 1, 2)->turn = 0;
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	write_message(buf(&t, 0, 0), 2, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 2, buf(&t, 0, 0), 60), RMC_S_OK);
	check_arrival(&t, 0, 2, 2, 60, &m);
	CHECK_EQ(m.turn, 1);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	CHECK(!dom_send_slot(&t, 0, 1, 2)->valid);

	/* other parameters */
	dom_detach(&t, 0, 0, false);
	dom_remove(&t, 0);
	t.p.slots /= 2;
	CHECK_EQ(dom_create(&t, 0), 0);
	dom_attach(&t, 0, 0);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(dom_join(&t, 1, 0), RMC_S_DOMAIN_MISMATCH);
	doms_fini(&t);
}

/* Parameters that no domain can have, and no memory for one */
static void test_create(const struct testbed_opts *o)
{
	static const struct rmc_domain_params bad[] = {
		{ 0, 0, 8, 64 }, { 0, 3, 8, 64 }, { 1, 2, 8, 64 }, { 2, 1, 8, 64 },
		{ ~0U, 2, 8, 64 }, { 0, 2, 0, 64 }, { 0, 2, 4097, 64 }, { 0, 2, 8, 0 },
		{ 0, 2, 8, RMC_MAX_MESSAGE + 1 }, { 0, ~0U, 8, 64 },
	};
	struct rmc_domain d;
	struct doms t;
	u32 i;

	two(&t, o);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(&d, 0, sizeof(d));
		CHECK_EQ(rmc_domain_init(&d, t.w.node[0], DOM_CTX, 1, &bad[i], &t.dp), -EINVAL);
	}
	t.dp.depth = 0;
	CHECK_EQ(rmc_domain_init(&d, t.w.node[0], DOM_CTX, 1, &t.p, &t.dp), -EINVAL);
	t.dp.depth = 1;
	for (i = 1; i < 100; i++) {
		int err;

		rmc_no_user_memory = i;
		err = rmc_domain_init(&d, t.w.node[0], DOM_CTX, 1, &t.p, &t.dp);
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
	}
	CHECK(i > 8 && i < 100);
	rmc_no_user_memory = 0;
	rmc_domain_destroy(&d);
	doms_fini(&t);
}

/* ---- peers that keep no rule ---- */

#define GEN	9

struct hostile {
	struct doms t;
	struct client c;	/* as node 0 to node 1's first unit */
};

static void hostile_init(struct hostile *h, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;

	k.kernels = true;
	memset(h, 0, sizeof(*h));
	h->t.nodes = 3;
	h->t.cores = 1;
	h->t.dp.depth = 4;
	h->t.p.max_message = 20 * o->mtu;
	doms_init(&h->t, &k);
	CHECK_EQ(dom_join(&h->t, 2, 1), RMC_S_OK);
	client_init(&h->c, &h->t.w, 0, rmc_endpoint(testbed_fabric(&h->t.w, 0), 1));
}

/* Send a packet; returns the status of its reply. @fill: of its payload */
static int forge(struct hostile *h, u32 op, u64 offset, u32 length, u32 total, bool last, u8 fill)
{
	struct rmc_rep r;
	u16 flags = rmc_op_flags(op);
	u32 lines = rmc_op_req_lines(flags, offset, length), i;

	for (i = 0; i < lines; i++)
		memset(rmc_ring_line(&h->c.req, h->c.req.pay_pos + i), fill, RMC_LINE);
	h->c.req.pay_pos += lines;
	client_send(&h->c, rmc_req_word0(op, DOM_CTX, GEN, 1) | rmc_packets_word0(total),
		    rmc_req_word1(offset, length, last) | rmc_packets_word1(total));
	testbed_settle(&h->t.w);
	if (!client_reply(&h->c, &r))
		return -1;
	CHECK_EQ(r.tid, 1);
	return r.status;
}

static int forge_join(struct hostile *h, const struct rmc_join *j)
{
	struct rmc_rep r;

	memcpy(rmc_ring_line(&h->c.req, h->c.req.pay_pos), j, sizeof(*j));
	h->c.req.pay_pos++;
	client_send(&h->c, rmc_req_word0(RMC_OP_JOIN, DOM_CTX, GEN, 1), rmc_req_word1(0, 8, true));
	testbed_settle(&h->t.w);
	return client_reply(&h->c, &r) ? (int)r.status : -1;
}

/* No packet of a peer stores anywhere but into a free slot of its own. */
static void test_hostile(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 77 };
	u32 mtu = o->mtu, most, i;
	struct arrival m, other;
	struct hostile h;
	u64 at;

	hostile_init(&h, o);
	at = rmc_slot_offset(0, 1);
	most = h.t.p.max_message;
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, 64, 1, true, 1), RMC_S_DOMAIN_MISMATCH);
	j.p = h.t.p;
	j.life = 0;
	CHECK_EQ(forge_join(&h, &j), RMC_S_PROTOCOL);
	j.life = 77;
	j.reserved = 1;
	CHECK_EQ(forge_join(&h, &j), RMC_S_PROTOCOL);
	j.reserved = 0;
	j.p.max_message++;
	CHECK_EQ(forge_join(&h, &j), RMC_S_DOMAIN_MISMATCH);
	j.p.max_message--;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	/* packets that no sender cuts */
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, 64, 0, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, 64, 1, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 2, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + mtu, mtu, 2, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + mtu, 64, 1, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu - 1, 2, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + 1, 8, 1, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + most, mtu, 21, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 16383, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, 0, 1, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(8, 1), 64, 1, true, 1), RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(4088, 1), 64, 1, true, 1),
		 RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 2), 64, 1, true, 1), RMC_S_BAD_SLOT);
	for (i = 0; i < 3 * h.t.p.slots * h.t.node[1].d.stride; i++)
		if (h.t.node[1].recv[i] != 0x5a)
			break;
	CHECK_EQ(i, 3 * h.t.p.slots * h.t.node[1].d.stride);

	/* the number of packets, or the operation, changes in the middle; a packet comes twice */
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 3, false, 1), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + mtu, mtu, 2, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_OFFER, at + mtu, mtu, 3, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 3, false, 2), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 3, false, 2), RMC_S_OK);
	CHECK(!dom_arrival(&h.t, 1, 0, &m));
	/* the last one first */
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + 2 * mtu, 5, 3, true, 3), RMC_S_OK);
	CHECK(!dom_arrival(&h.t, 1, 0, &m));
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + mtu, mtu, 3, false, 4), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &m));
	CHECK_EQ(m.len, 2 * mtu + 5);
	CHECK_EQ(dom_data(&h.t, 1, &m)[0], 1);
	CHECK_EQ(dom_data(&h.t, 1, &m)[mtu], 4);
	CHECK_EQ(dom_data(&h.t, 1, &m)[2 * mtu + 4], 3);
	CHECK_EQ(dom_data(&h.t, 1, &m)[2 * mtu + 5], 0x5a);

	/* while it is held: the same packets have no effect, the next message is refused */
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 3, false, 9), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 2), 64, 1, true, 9), RMC_S_SLOT_BUSY);
	CHECK_EQ(dom_data(&h.t, 1, &m)[0], 1);
	j.life++;
	CHECK_EQ(forge_join(&h, &j), RMC_S_SLOT_BUSY);
	j.life--;
	/* RECEIVEs for slots in which nothing is */
	h.t.node[1].send[0].valid = 1;
	h.t.node[1].send[0].turn = 3;
	at = rmc_slot_offset(0, 3) | rmc_slot_life(h.t.node[1].d.life);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at + 1, 0, 1, true, 0), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(0, 2) | rmc_slot_byte(at), 0, 1, true,
		       0), RMC_S_OK);
	CHECK_EQ(h.t.node[1].send[0].valid, 1);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(8, 3) | rmc_slot_byte(at), 0, 1, true,
		       0), RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at, 0, 1, true, 0), RMC_S_OK);
	CHECK_EQ(h.t.node[1].send[0].valid, 0);
	/* all this time a neighbour is served */
	write_message(buf(&h.t, 2, 0), 5, 100);
	CHECK_EQ(dom_send(&h.t, 2, 0, 1, 0, buf(&h.t, 2, 0), 100), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &other));
	CHECK_EQ(other.nid, 2);
	CHECK(is_message(dom_data(&h.t, 1, &other), 5, 100));
	doms_fini(&h.t);
}

/* A node outside the domain reaches no slot; another RRPP than the slot's takes no packet. */
static void test_strangers(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 7 };
	struct hostile h;
	u32 rrpps;

	memset(&h, 0, sizeof(h));
	hostile_init(&h, o);
	rrpps = rmc_fabric_rrpps(testbed_fabric(&h.t.w, 1));
	j.p = h.t.p;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	if (rrpps > 1) {
		CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(1, 1), 64, 1, true, 1),
			 RMC_S_PROTOCOL);
		CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(1, 1), 0, 1, true, 1),
			 RMC_S_PROTOCOL);
	}
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(rrpps, 1), 64, 1, true, 1), RMC_S_OK);
	/* the domain of node 1 begins at node 1 */
	dom_detach(&h.t, 1, 0, false);
	dom_remove(&h.t, 1);
	h.t.p.first_nid = 1;
	h.t.p.nodes = 2;
	CHECK_EQ(dom_create(&h.t, 1), 0);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), 64, 1, true, 1),
		 RMC_S_DOMAIN_MISMATCH);
	CHECK_EQ(forge_join(&h, &j), RMC_S_DOMAIN_MISMATCH);
	dom_attach(&h.t, 1, 0);
	doms_fini(&h.t);
}

/*
 * A source dies in the middle of a message: its slot is free for its next life. What was complete
 * stays, and ends with NODE_DOWN.
 */
static void test_source_dies(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 77 };
	struct arrival m;
	struct hostile h;
	u32 mtu = o->mtu;

	hostile_init(&h, o);
	j.p = h.t.p;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), mtu, 2, false, 1), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FILLING);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(4, 1), 8, 1, true, 1), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &m));
	testbed_claim(&h.t.w, 0, RMC_NODE_DOWN, h.t.w.node[0]->epoch);
	testbed_pass(&h.t.w, 64);
	testbed_settle(&h.t.w);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FREE);
	CHECK_EQ(h.t.node[1].d.slot[4].state, RMC_SLOT_HELD);
	CHECK_EQ(dom_data(&h.t, 1, &m)[0], 1);
	CHECK_EQ(dom_receive(&h.t, 1, 0, &m), RMC_S_NODE_DOWN);
	doms_fini(&h.t);
}

/* An application that scribbles its send slots spoils only them. */
static void test_scribble(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u32 i;

	two(&t, o);
	for (i = 0; i < 200; i++) {
		u32 slot = i % 8, turn = t.node[1].d.slot[slot].turn + 1, k;

		write_message(buf(&t, 0, 0), i, 64);
		app_post(&t.node[0].app[0].a, RMC_OP_SEND, 1, rmc_slot_offset(slot, turn),
			 buf(&t, 0, 0), 64);
		for (k = 0; k < 2 * 8 * sizeof(*t.node[0].send); k++)
			((u8 *)t.node[0].send)[k] = random_below(256);
		CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_OK);
		check_arrival(&t, 0, slot, i, 64, &m);
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	}
	doms_fini(&t);
}

/* A queue pair ends in the middle of a message: the rest never comes, the slot is not lost. */
static void test_sender_goes(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	doms_init(&t, o);
	doms_join(&t);
	write_message(buf(&t, 0, 0), 1, 8192);
	CHECK(dom_claim(&t, 0, 1, 0));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), 8192);
	app_take(&t.node[0].app[0].a);
	dom_detach(&t, 0, 0, false);
	rmc_ni_del_qp(rmc_qp_worker(&t.node[0].app[0].a.qp), &t.node[0].app[0].a.qp);
	if (t.node[0].app[0].a.qp.front)
		rmc_ni_del_qp(t.node[0].app[0].a.qp.node->req_worker,
			      &t.node[0].app[0].a.qp.front->inner.qp);
	testbed_settle(&t.w);
	/* another one sends the same message */
	write_message(buf(&t, 0, 1), 1, 8192);
	dom_post(&t, 0, 1, RMC_OP_SEND, 1, 0, buf(&t, 0, 1), 8192);
	CHECK_EQ(app_wait(&t.node[0].app[1].a), RMC_S_OK);
	check_arrival(&t, 0, 0, 1, 8192, &m);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	app_lost(&t.node[0].app[0].a);
	dom_app_free(&t.node[0].app[0]);
	dom_detach(&t, 0, 1, false);
	app_fini(&t.node[0].app[1].a);
	dom_app_free(&t.node[0].app[1]);
	dom_detach(&t, 1, 0, false);
	dom_detach(&t, 1, 1, false);
	app_fini(&t.node[1].app[0].a);
	app_fini(&t.node[1].app[1].a);
	dom_app_free(&t.node[1].app[0]);
	dom_app_free(&t.node[1].app[1]);
	dom_remove(&t, 0);
	dom_remove(&t, 1);
	testbed_fini(&t.w);
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
		{ "depth", test_depth },
		{ "a message goes to a core that is free", test_cores },
		{ "a core goes", test_core_goes },
		{ "messages wait for the first core", test_no_core },
		{ "joining, lives, parameters", test_join },
		{ "domains that cannot be", test_create },
		{ "packets that a peer makes up", test_hostile, .shared = true },
		{ "packets for others", test_strangers, .shared = true },
		{ "a source dies", test_source_dies, .shared = true },
		{ "send slots that somebody scribbles into", test_scribble },
		{ "a sender goes in the middle of a message", test_sender_goes },
	};
	static const struct testbed_opts opts[] = {
		{ .nodes = 2, .ni = "fused", .mtu = 4096 },
		{ .nodes = 2, .ni = "fused", .mtu = 64 },
		{ .nodes = 2, .ni = "pair", .mtu = 512 },
		{ .nodes = 2, .ni = "edge", .units = 2, .mtu = 4096 },
		{ .nodes = 2, .ni = "split", .units = 2, .frontends = 2, .mtu = 512 },
		{ .nodes = 2, .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256,
		  .mtu = 64 },
		{ .nodes = 2, .ni = "fused", .units = 4, .mtu = 128, .kernels = true },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
