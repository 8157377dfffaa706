// SPDX-License-Identifier: GPL-2.0
/*
 * REPLY: an answer of each length, in all organisations; faults; what may not be answered; answers
 * that are late. Peers that keep no rule: messages_peers.c.
 */
#include "domains.h"

#define ANSWER	(20 * 1024)

static void init(struct doms *t, const struct testbed_opts *o, u32 cores)
{
	memset(t, 0, sizeof(*t));
	t->nodes = 2;
	t->cores = cores;
	t->dp.depth = 4;
	t->p.max_answer = ANSWER;
	doms_init(t, o);
	doms_join(t);
}

/* A message of a node in a slot; returns its arrival at the other. */
static struct arrival ask(struct doms *t, u32 nid, u32 slot, u32 value)
{
	struct arrival m = {};

	write_message(buf(t, nid, 0), value, 40);
	CHECK_EQ(dom_send(t, nid, 0, !nid, slot, buf(t, nid, 0), 40), RMC_S_OK);
	testbed_settle(&t->w);
	CHECK(dom_arrival(t, !nid, 0, &m));
	CHECK_EQ(m.slot, slot);
	CHECK(is_message(m.head, value, 40));
	return m;
}

/* There is an answer; free its slot. */
static void check_answer(struct doms *t, u32 nid, u32 slot, u32 value, u32 length)
{
	u32 len = 0;
	const u8 *p = dom_answer(t, nid, !nid, slot, &len);

	CHECK(p);
	CHECK_EQ(len, length);
	CHECK(p && is_message(p, value, length));
	dom_send_slot(t, nid, !nid, slot)->valid = 0;
}

static void test_lengths(const struct testbed_opts *o)
{
	const u32 lengths[] = { 1, 63, 64, 65, o->mtu - 1, o->mtu, o->mtu + 1, 3 * o->mtu,
				70 * o->mtu > ANSWER ? ANSWER - 1 : 70 * o->mtu, ANSWER };
	struct arrival m;
	struct doms t;
	u32 i, round;

	init(&t, o, 1);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			m = ask(&t, 0, i % 8, i);
			write_message(buf(&t, 1, 0), 100 + i, lengths[i]);
			CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), lengths[i]), RMC_S_OK);
			testbed_settle(&t.w);
			check_answer(&t, 0, i % 8, 100 + i, lengths[i]);
		}
	}
	CHECK_EQ(dom_stat(&t, 0, freed), 3 * ARRAY_SIZE(lengths));
	CHECK_EQ(dom_stat(&t, 0, repeated) + dom_stat(&t, 1, repeated), 0);
	CHECK_EQ(dom_stat(&t, 0, refused) + dom_stat(&t, 1, refused), 0);
	doms_fini(&t);
}

/* Two servers that ask each other in the same slot; one that asks itself; several cores */
static void test_both_ways(const struct testbed_opts *o)
{
	struct arrival a, b, m;
	struct doms t;
	u32 turn;

	init(&t, o, 2);
	dom_detach(&t, 0, 1, true);
	dom_detach(&t, 1, 1, true);
	/* more turns than a packet's field has */
	for (turn = 0; turn < 300; turn++) {
		a = ask(&t, 0, 2, turn);
		b = ask(&t, 1, 2, turn + 7);
		write_message(buf(&t, 0, 0), turn + 1, 100);
		write_message(buf(&t, 1, 0), turn + 2, 3000);
		dom_post_reply(&t, 1, 0, &a, buf(&t, 1, 0), 3000);
		CHECK_EQ(dom_reply(&t, 0, 0, &b, buf(&t, 0, 0), 100), RMC_S_OK);
		CHECK_EQ(app_wait(&t.node[1].app[0].a), RMC_S_OK);
		testbed_settle(&t.w);
		check_answer(&t, 0, 2, turn + 2, 3000);
		check_answer(&t, 1, 2, turn + 1, 100);
	}
	write_message(buf(&t, 0, 0), 3, 40);
	CHECK_EQ(dom_send(&t, 0, 0, 0, 1, buf(&t, 0, 0), 40), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 0, 0, &m));
	CHECK_EQ(dom_reply(&t, 0, 0, &m, buf(&t, 0, 0), 40), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK_EQ(dom_send_slot(&t, 0, 0, 1)->valid, RMC_SEND_ANSWERED);
	doms_fini(&t);
}

/* What may not be answered; a message that was not is still held. */
static void test_refused(const struct testbed_opts *o)
{
	struct arrival m, other;
	struct doms t;

	init(&t, o, 2);
	dom_detach(&t, 1, 1, true);
	m = ask(&t, 0, 1, 1);
	other = m;
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), ANSWER + 1), RMC_S_BAD_LENGTH);
	other.turn++;
	CHECK_EQ(dom_reply(&t, 1, 0, &other, buf(&t, 1, 0), 8), RMC_S_BAD_SLOT);
	other.turn = m.turn;
	other.slot++;
	CHECK_EQ(dom_reply(&t, 1, 0, &other, buf(&t, 1, 0), 8), RMC_S_BAD_SLOT);
	other.slot = 8;
	CHECK_EQ(dom_reply(&t, 1, 0, &other, buf(&t, 1, 0), 8), RMC_S_BAD_SLOT);
	/* of another core; of one that only sends */
	dom_attach(&t, 1, 1);
	CHECK_EQ(dom_reply(&t, 1, 1, &m, buf(&t, 1, 1), 8), RMC_S_BAD_SLOT);
	dom_qp(&t.node[1].app[1])->core = RMC_CORE_NONE;
	CHECK_EQ(dom_reply(&t, 1, 1, &m, buf(&t, 1, 1), 8), RMC_S_BAD_SLOT);
	/* no buffer */
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0) + DOM_BUF - 4, 8), RMC_S_BAD_LBUF);
	CHECK(dom_send_slot(&t, 0, 1, 1)->valid);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_send_slot(&t, 0, 1, 1)->valid);
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), 8), RMC_S_BAD_SLOT);
	dom_detach(&t, 1, 1, true);
	doms_fini(&t);
	/* a domain without answers */
	two(&t, o);
	m = ask(&t, 0, 1, 1);
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), 1), RMC_S_BAD_LENGTH);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	doms_fini(&t);
}

/* ---- faults ---- */

#define CALLS	400

/* The RMC repeats packets; what is lost nevertheless, the answer included, never becomes another. */
static void test_faults(const struct testbed_opts *o)
{
	struct rmc_fault fault = { .loss = o->mtu < 512 ? 5000 : 60000, .dup = 100000, .reorder = 100000,
				   .shuffle = 100000, .gap_ns = 5000000 };
	u32 i, lane, slot, calls, answered = 0, lost = 0, len, s, posted, status;
	struct arrival m;
	struct doms t;
	const u8 *p;

	init(&t, o, 1);
	rmc_filters = 1;
	for (i = 0; i < 2; i++) {
		testbed_fabric(&t.w, i)->timeout_ms = 100;
		testbed_fabric(&t.w, i)->retries = 2;
		for (lane = 0; lane < RMC_LANES; lane++)
			fault_set(&t.w, i, !i, lane, &fault, 7 + 2 * i + lane);
	}
	for (calls = 0; calls < CALLS; calls++) {
		u32 length = 1 + random_below(3 * o->mtu);

		slot = random_below(8);
		CHECK(dom_claim(&t, 0, 1, slot));
		write_message(buf(&t, 0, 0), calls, 40);
		do {
			dom_post(&t, 0, 0, RMC_OP_SEND, 1, slot, buf(&t, 0, 0), 40);
			while (!app_poll(&t.node[0].app[0].a, &s, &status)) {
				testbed_visit(&t.w);
				testbed_tick(&t.w, 8);
			}
		} while (status == RMC_S_TIMEOUT);
		CHECK_EQ(status, RMC_S_OK);
		while (!dom_arrival(&t, 1, 0, &m))
			testbed_visit(&t.w);
		CHECK_EQ(m.slot, slot);
		CHECK(is_message(m.head, calls, 40));
		write_message(buf(&t, 1, 0), calls + 5, length);
		posted = dom_post_reply(&t, 1, 0, &m, buf(&t, 1, 0), length);
		s = posted + 1;
		/* who asked goes on as soon as it has the answer, the REPLY as long as it takes */
		while (!(p = dom_answer(&t, 0, 1, slot, &len)) && s != posted) {
			/* or one of those before is complete */
			app_poll(&t.node[1].app[0].a, &s, &status);
			testbed_visit(&t.w);
			testbed_tick(&t.w, 8);
		}
		p = dom_answer(&t, 0, 1, slot, &len);
		if (p) {
			CHECK_EQ(len, length);
			CHECK(is_message(p, calls + 5, length));
			answered++;
		} else {
			CHECK_EQ(status, RMC_S_TIMEOUT);
			lost++;
		}
		dom_send_slot(&t, 0, 1, slot)->valid = 0;
		while (app_poll(&t.node[1].app[0].a, &s, &status))
			;
	}
	CHECK(answered > CALLS / 2);
	CHECK_EQ(answered + lost, CALLS);
	CHECK(dom_stat(&t, 0, repeated) > 0);
	for (lane = 0; lane < RMC_LANES; lane++) {
		fault_clear(&t.w, 0, 1, lane);
		fault_clear(&t.w, 1, 0, lane);
	}
	testbed_settle(&t.w);
	rmc_filters = 0;
	doms_fini(&t);
}

/* A server that dies, and a core that leaves: the message is processed or given to another. */
static void test_core_goes(const struct testbed_opts *o)
{
	struct arrival m, again;
	struct doms t;

	init(&t, o, 2);
	dom_detach(&t, 1, 1, true);
	m = ask(&t, 0, 1, 1);
	dom_attach(&t, 1, 1);
	dom_detach(&t, 1, 0, true);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 1, &again));
	CHECK(again.again);
	write_message(buf(&t, 1, 1), 9, 100);
	dom_attach(&t, 1, 0);
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), 100), RMC_S_BAD_SLOT);
	CHECK_EQ(dom_reply(&t, 1, 1, &again, buf(&t, 1, 1), 100), RMC_S_OK);
	testbed_settle(&t.w);
	check_answer(&t, 0, 1, 9, 100);
	doms_fini(&t);
}

/* A ring too small for an answer of 20 KB; a part of one to the message in slot 1 is on its way. */
static void begin_answer(struct doms *t, const struct testbed_opts *o)
{
	struct testbed_opts k = *o;
	struct arrival m;

	k.ring_order = RMC_RING_ORDER_MIN;
	init(t, &k, 1);
	m = ask(t, 0, 1, 1);
	write_message(buf(t, 1, 0), 2, ANSWER);
	dom_post_reply(t, 1, 0, &m, buf(t, 1, 0), ANSWER);
	app_take(&t->node[1].app[0].a);
	CHECK_EQ(testbed_in_flight(&t->w, 1), 1);
	/* the message was read */
	CHECK_EQ(t->node[1].d.slot[1].state, RMC_SLOT_FREE);
}

/* Nothing of an answer is where the one in slot 1 of node 0 would be. */
static bool no_answer(struct doms *t)
{
	const u8 *p = (const u8 *)dom_answer_slot(t, 0, 1, 1);
	u32 i;

	for (i = 0; i < t->node[0].d.answer_stride; i++)
		if (p[i] != 0x5a)
			return false;
	return true;
}

/*
 * Who asked closes its domain in the middle of the answer, and opens another one or none: the rest
 * is stored nowhere, also where that has a message in the slot. The server has its slot and its room.
 */
static void test_caller_goes(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u32 again;

	for (again = 0; again < 2; again++) {
		begin_answer(&t, o);
		dom_detach(&t, 0, 0, false);
		dom_remove(&t, 0);
		if (again) {
			CHECK_EQ(dom_create(&t, 0), 0);
			dom_attach(&t, 0, 0);
			CHECK(dom_claim(&t, 0, 1, 1));
		}
		CHECK_EQ(app_wait(&t.node[1].app[0].a), again ? RMC_S_OK : RMC_S_NO_DOMAIN);
		testbed_settle(&t.w);
		if (again) {
			CHECK_EQ(dom_send_slot(&t, 0, 1, 1)->valid, RMC_SEND_USED);
			CHECK(no_answer(&t));
			dom_send_slot(&t, 0, 1, 1)->valid = 0;
			dom_send_slot(&t, 0, 1, 1)->turn = 0;
		} else {
			CHECK_EQ(dom_create(&t, 0), 0);
			dom_attach(&t, 0, 0);
		}
		testbed_tick(&t.w, 2);
		CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
		CHECK_EQ(dom_join(&t, 1, 0), RMC_S_OK);
		m = ask(&t, 0, 1, 3);
		write_message(buf(&t, 1, 0), 2, 100);
		CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), 100), RMC_S_OK);
		testbed_settle(&t.w);
		check_answer(&t, 0, 1, 2, 100);
		doms_fini(&t);
	}
}

/*
 * The server closes its file in the middle of its answer: what is in its buffer then is not sent, the
 * REPLY ends. Who asked has no answer, and learns that there is no more to come.
 */
static void test_server_goes(const struct testbed_opts *o)
{
	struct doms t;
	u64 state;
	u32 i;

	begin_answer(&t, o);
	dom_detach(&t, 1, 0, true);
	CHECK_EQ(app_wait(&t.node[1].app[0].a), RMC_S_ABORTED);
	dom_remove(&t, 1);
	memset(buf(&t, 1, 0), 0xee, DOM_BUF);
	testbed_settle(&t.w);
	CHECK_EQ(testbed_in_flight(&t.w, 1), 0);
	CHECK_EQ(dom_send_slot(&t, 0, 1, 1)->valid, RMC_SEND_USED);
	for (i = 0; i < ANSWER; i++)
		if (((u8 *)(dom_answer_slot(&t, 0, 1, 1) + 1))[i] != byte_of(2, i))
			break;
	CHECK(i < ANSWER);
	for (; i < ANSWER; i++)
		if (((u8 *)(dom_answer_slot(&t, 0, 1, 1) + 1))[i] != 0x5a)
			break;
	CHECK_EQ(i, ANSWER);
	CHECK_EQ(dom_join_slot(&t, 0, 0, 1, 1, &state), RMC_S_NO_DOMAIN);
	CHECK_EQ(dom_create(&t, 1), 0);
	dom_attach(&t, 1, 0);
	doms_fini(&t);
}

/* Who sleeps for its answer is told. */
static void test_event(const struct testbed_opts *o)
{
	struct rmc_room r = {};
	struct arrival m;
	struct doms t;

	init(&t, o, 1);
	m = ask(&t, 0, 3, 1);
	rmc_room_add(&t.node[0].d, &r);
	CHECK(rmc_event_arm(&r.event, 0));
	testbed_settle(&t.w);
	CHECK(r.event.armed);
	CHECK_EQ(dom_reply(&t, 1, 0, &m, buf(&t, 1, 0), 8), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!r.event.armed);
	CHECK_EQ(dom_send_slot(&t, 0, 1, 3)->valid, RMC_SEND_ANSWERED);
	doms_fini(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "an answer of each length", test_lengths },
		{ "servers that ask each other", test_both_ways },
		{ "what is refused", test_refused },
		{ "loss, duplication, reordering", test_faults },
		{ "a core goes", test_core_goes },
		{ "who asked goes in the middle of an answer", test_caller_goes },
		{ "a server goes in the middle of its answer", test_server_goes },
		{ "who sleeps is told", test_event },
	};

	matrix_run(tests, ARRAY_SIZE(tests), dom_opts, ARRAY_SIZE(dom_opts));
	return matrix_done();
}
