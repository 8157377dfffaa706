// SPDX-License-Identifier: GPL-2.0
/*
 * Messages and the cores that have them: the depth, cores that are ready for more, that come and go;
 * how long it takes.
 */
#include "domains.h"

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

/*
 * A core that is ready gets one more message, and only one for each that it has, whoever asks and
 * however often. Nothing is sent.
 */
static void test_ready(const struct testbed_opts *o)
{
	struct arrival m[4], more;
	struct doms t;
	u64 requests;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	doms_init(&t, o);
	doms_join(&t);
	dom_detach(&t, 1, 1, true);
	send_some(&t, 4);
	dom_attach(&t, 1, 1);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 0, 0, 60, &m[0]);
	check_arrival(&t, 1, 1, 1, 60, &m[1]);
	requests = testbed_stat(&t.w, 1, requests);
	CHECK_EQ(dom_ready(&t, 1, 1, &m[0]), RMC_S_BAD_SLOT);
	m[0].turn++;
	CHECK_EQ(dom_ready(&t, 1, 0, &m[0]), RMC_S_BAD_SLOT);
	m[0].turn--;
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 0, &more) && !dom_arrival(&t, 1, 1, &more));
	CHECK_EQ(dom_ready(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 2, 2, 60, &m[2]);
	CHECK_EQ(dom_ready(&t, 1, 0, &m[0]), RMC_S_BAD_SLOT);
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 0, &more));
	CHECK_EQ(testbed_stat(&t.w, 1, requests), requests);
	/* its room was used already */
	CHECK(is_message(dom_data(&t, 1, &m[0]), 0, 60));
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 0, &more));
	CHECK(!dom_send_slot(&t, 0, 1, 0)->valid);
	CHECK_EQ(dom_ready(&t, 1, 0, &m[0]), RMC_S_BAD_SLOT);
	/* the next message of the slot, with the last turn's room */
	write_message(buf(&t, 0, 0), 7, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 60), RMC_S_OK);
	CHECK_EQ(dom_receive(&t, 1, 0, &m[2]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 3, 3, 60, &m[3]);
	CHECK_EQ(dom_ready(&t, 1, 0, &m[3]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 0, 7, 60, &m[0]);
	CHECK_EQ(dom_ready(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	doms_fini(&t);
}

/* A core goes that was ready: others get all that it has, and may be ready for the same messages. */
static void test_ready_goes(const struct testbed_opts *o)
{
	struct arrival m[3], again;
	struct doms t;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	doms_init(&t, o);
	doms_join(&t);
	dom_detach(&t, 1, 1, true);
	send_some(&t, 3);
	for (i = 0; i < 3; i++) {
		check_arrival(&t, 0, i, i, 60, &m[i]);
		CHECK_EQ(dom_ready(&t, 1, 0, &m[i]), RMC_S_OK);
		testbed_settle(&t.w);
	}
	dom_detach(&t, 1, 0, true);
	dom_attach(&t, 1, 1);
	for (i = 0; i < 3; i++) {
		testbed_settle(&t.w);
		check_arrival(&t, 1, i, i, 60, &again);
		CHECK(again.again);
		CHECK_EQ(dom_ready(&t, 1, 1, &again), RMC_S_OK);
	}
	CHECK_EQ(dom_receive(&t, 1, 1, &m[1]), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_send_slot(&t, 0, 1, 1)->valid && dom_send_slot(&t, 0, 1, 0)->valid);
	/* in the sender's next life the same turns come again */
	CHECK_EQ(dom_receive(&t, 1, 1, &m[0]), RMC_S_OK);
	CHECK_EQ(dom_receive(&t, 1, 1, &m[2]), RMC_S_OK);
	dom_detach(&t, 0, 0, false);
	dom_remove(&t, 0);
	CHECK_EQ(dom_create(&t, 0), 0);
	dom_attach(&t, 0, 0);
	testbed_tick(&t.w, 2);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 1, &again));
	CHECK_EQ(dom_ready(&t, 1, 1, &again), RMC_S_OK);
	doms_fini(&t);
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
	send_some(&t, DOM_CORES + 1);
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
	u32 requeue;
	u64 state;

	for (requeue = 0; requeue < 2; requeue++) {
		memset(&t, 0, sizeof(t));
		t.nodes = 2;
		t.cores = 2;
		t.dp.policy = RMC_DISPATCH_GREEDY;
		doms_init(&t, o);
		doms_join(&t);
		send_some(&t, 3);
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
		/* without requeue the sender has to ask */
		CHECK_EQ(dom_send_slot(&t, 0, 1, 0)->valid, !requeue);
		CHECK_EQ(dom_join_slot(&t, 0, 0, 1, 0, &state), RMC_S_OK);
		CHECK_EQ(state, t.node[1].d.life | 1ULL << 32 | RMC_JOIN_FREE);
		CHECK_EQ(dom_arrival(&t, 1, 0, &again), requeue);
		doms_fini(&t);
	}
}

/* A core with the index of one that is gone ends none of its messages. */
static void test_same_index(const struct testbed_opts *o)
{
	struct arrival m[2], stale;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.policy = RMC_DISPATCH_RR;
	doms_init(&t, o);
	doms_join(&t);
	send_some(&t, 2);
	check_arrival(&t, 0, 0, 0, 60, &m[0]);
	check_arrival(&t, 1, 1, 1, 60, &m[1]);
	stale = m[0];
	/* its message waits for the other core, whose queue it is in now */
	dom_detach(&t, 1, 0, true);
	dom_attach(&t, 1, 0);
	CHECK_EQ(dom_receive(&t, 1, 0, &stale), RMC_S_BAD_SLOT);
	CHECK_EQ(dom_receive(&t, 1, 1, &m[1]), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 1, 0, 0, 60, &m[0]);
	CHECK(m[0].again);
	CHECK_EQ(dom_receive(&t, 1, 1, &m[0]), RMC_S_OK);
	doms_fini(&t);
}

/* A message of 60 bytes with a key at byte 10, or a shorter one that ends before it */
static void send_key(struct doms *t, u32 slot, u64 key, u32 len)
{
	memset(buf(t, 0, 0), slot, 60);
	memcpy(buf(t, 0, 0) + 10, &key, sizeof(key));
	CHECK_EQ(dom_send(t, 0, 0, 1, slot, buf(t, 0, 0), len), RMC_S_OK);
	testbed_settle(&t->w);
}

/*
 * The tag of a core wraps: it is never one of those that name no core, and another one in each life
 * of the core. What a life has left is not ended with the tag of an earlier one.
 */
static void test_tags_wrap(const struct testbed_opts *o)
{
	u32 last = RMC_DISPATCH_CORES - 1, tag, before, i;
	struct rmc_aq_entry *aq;
	struct rmc_domain *d;
	struct rmc_qpair *qp;
	struct arrival m;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.cores = RMC_DISPATCH_CORES;
	t.dp.policy = RMC_DISPATCH_CLASS;
	t.dp.classes = 2;
	t.keyed = true;
	t.key_offset = 10;
	t.takes[0] = 1 << 1;
	doms_init(&t, o);
	doms_join(&t);
	d = &t.node[1].d;
	qp = dom_qp(&t.node[1].app[0]);
	dom_detach(&t, 1, 0, true);
	/* all others take no message of class 1 */
	aq = rmc_os_zalloc(last * sizeof(*aq));
	for (i = 0; i < last; i++) {
		d->core[i].generation = RMC_CORE_GENERATIONS - 1;
		CHECK_EQ(rmc_core_add(d, &aq[i], 0, 0, 1 << 0, &tag), i);
		CHECK(tag != RMC_CORE_ANY && tag != RMC_CORE_NONE);
	}
	send_key(&t, 0, 1, 60);
	d->core[last].generation = RMC_CORE_GENERATIONS - 2;
	for (i = 0, before = RMC_CORE_NONE; i < 4; i++, before = tag) {
		dom_attach(&t, 1, 0);
		CHECK_EQ(t.node[1].app[0].core, last);
		tag = qp->core;
		CHECK(tag != RMC_CORE_ANY && tag != RMC_CORE_NONE && tag != before);
		CHECK_EQ(rmc_core_index(tag), last);
		testbed_settle(&t.w);
		CHECK(dom_arrival(&t, 1, 0, &m));
		CHECK_EQ(m.again, i > 0);
		/* the queue pair of the life before, if it were still there */
		qp->core = before;
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_BAD_SLOT);
		qp->core = tag;
		if (i < 3)
			dom_detach(&t, 1, 0, true);
	}
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_send_slot(&t, 0, 1, 0)->valid);
	for (i = 0; i < last; i++)
		rmc_core_del(d, i, true);
	free(aq);
	doms_fini(&t);
}

/* All cores go, messages wait, and the first core that comes gets them in order. */
static void test_no_core(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u32 i;

	two(&t, o);
	dom_detach(&t, 1, 0, true);
	send_some(&t, 4);
	dom_attach(&t, 1, 0);
	for (i = 0; i < 4; i++) {
		testbed_settle(&t.w);
		check_arrival(&t, 0, i, i, 60, &m);
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	}
	doms_fini(&t);
}

/* A core whose thread sleeps gets a message if no other one has as few; then it is awake. */
static void test_sleepers(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.depth = 2;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	doms_init(&t, o);
	doms_join(&t);
	rmc_core_sleeps(&t.node[1].d, 0);
	send_some(&t, 1);
	check_arrival(&t, 1, 0, 0, 60, &m);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 1, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 0, &m) && m.slot == 1);
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	testbed_settle(&t.w);
	/* awake, and it has less */
	CHECK_EQ(dom_send(&t, 0, 0, 1, 2, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 0, &m) && m.slot == 2);
	doms_fini(&t);
}

/* The core of node 1 that has got a message in this slot; it ends it. */
static u32 core_of(struct doms *t, u32 slot)
{
	struct arrival m;
	u32 i;

	for (i = 0; i < t->cores; i++)
		if (dom_arrival(t, 1, i, &m))
			break;
	CHECK(i < t->cores);
	CHECK_EQ(m.slot, slot);
	CHECK_EQ(dom_receive(t, 1, i, &m), RMC_S_OK);
	testbed_settle(&t->w);
	return i;
}

/* Messages with one key go to one core, those of many to all; one without a key goes by its source. */
static void test_keys(const struct testbed_opts *o)
{
	struct doms t;
	u32 i, first, seen = 0;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = DOM_CORES;
	t.dp.policy = RMC_DISPATCH_KEYED;
	t.keyed = true;
	t.key_offset = 10;
	doms_init(&t, o);
	doms_join(&t);
	send_key(&t, 0, 77, 60);
	first = core_of(&t, 0);
	for (i = 1; i < 8; i++) {
		send_key(&t, i, 77, 18 + i);
		CHECK_EQ(core_of(&t, i), first);
	}
	for (i = 0; i < 64; i++) {
		send_key(&t, i % 8, (u64)i << 40, 60);
		seen |= 1U << core_of(&t, i % 8);
	}
	CHECK_EQ(seen, (1U << DOM_CORES) - 1);
	for (seen = 0, i = 0; i < 64; i++) {
		send_key(&t, i % 8, (u64)i << 40, 17);
		seen |= 1U << core_of(&t, i % 8);
	}
	CHECK(!(seen & (seen - 1)));
	doms_fini(&t);
}

/* The urgent class first; a core that takes only some has no others. No key: the last class. */
static void test_classes(const struct testbed_opts *o)
{
	static const u32 order[] = { 3, 5, 1, 4, 2 };
	struct arrival m, more;
	struct doms t;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.policy = RMC_DISPATCH_CLASS;
	t.dp.classes = 3;
	t.keyed = true;
	t.key_offset = 10;
	t.takes[1] = 1 << 2;
	doms_init(&t, o);
	doms_join(&t);
	dom_detach(&t, 1, 1, true);
	send_key(&t, 0, 1, 60);
	CHECK(dom_arrival(&t, 1, 0, &m));
	send_key(&t, 1, 1, 60);
	send_key(&t, 2, 1ULL << 32, 60);
	send_key(&t, 3, 0, 60);
	send_key(&t, 4, 1, 60);
	send_key(&t, 5, 0, 60);
	send_key(&t, 6, 0, 17);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
		testbed_settle(&t.w);
		CHECK(dom_arrival(&t, 1, 0, &m));
		CHECK_EQ(m.slot, order[i]);
	}
	/* the one that is left is of the last class, and goes to whoever takes that */
	dom_attach(&t, 1, 1);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 1, &more));
	CHECK_EQ(more.slot, 6);
	send_key(&t, 7, 0, 60);
	CHECK_EQ(dom_receive(&t, 1, 1, &more), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 1, &more));
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 0, &m));
	CHECK_EQ(m.slot, 7);
	doms_fini(&t);
}

/* One that is not urgent comes first when it has waited for long. */
static void test_ages(const struct testbed_opts *o)
{
	static const u32 order[] = { 1, 3, 2 };
	struct arrival m;
	struct doms t;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 1;
	t.dp.policy = RMC_DISPATCH_CLASS;
	t.dp.classes = 2;
	t.dp.age_ns = 1000000;
	t.keyed = true;
	t.key_offset = 10;
	doms_init(&t, o);
	doms_join(&t);
	send_key(&t, 0, 0, 60);
	CHECK(dom_arrival(&t, 1, 0, &m));
	send_key(&t, 1, 1, 60);
	testbed_now_ns += 2000000;
	send_key(&t, 2, 1, 60);
	send_key(&t, 3, 0, 60);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
		testbed_settle(&t.w);
		CHECK(dom_arrival(&t, 1, 0, &m));
		CHECK_EQ(m.slot, order[i]);
	}
	doms_fini(&t);
}

/*
 * One queue for all cores: each message at once, whatever cores have, and each of them may end each
 * message. None is lost or given twice when it wraps, or when cores come and go.
 */
static void test_shared(const struct testbed_opts *o)
{
	struct rmc_dom_stats s = {};
	struct arrival m[8];
	struct doms t;
	u32 i, lap;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 3;
	t.p.slots = 5;
	t.dp.cores = 3;
	t.dp.policy = RMC_DISPATCH_SHARED;
	doms_init(&t, o);
	doms_join(&t);
	CHECK_EQ(t.node[1].d.all.order, 4);
	for (lap = 0; lap < 20; lap++) {
		for (i = 0; i < 5; i++) {
			write_message(buf(&t, 0, 0), lap * 5 + i, 100);
			CHECK_EQ(dom_send(&t, 0, 0, 1, i, buf(&t, 0, 0), 100), RMC_S_OK);
			testbed_settle(&t.w);
		}
		for (i = 0; i < 5; i++) {
			CHECK(dom_pull(&t, 1, &m[i]));
			CHECK_EQ(m[i].slot, i);
			CHECK(is_message(dom_data(&t, 1, &m[i]), lap * 5 + i, 100));
		}
		CHECK(!dom_pull(&t, 1, &m[5]));
		/* it has no place that its being ready would give back */
		CHECK_EQ(dom_ready(&t, 1, 1, &m[0]), RMC_S_BAD_SLOT);
		m[1].turn++;
		CHECK_EQ(dom_receive(&t, 1, 0, &m[1]), RMC_S_BAD_SLOT);
		m[1].turn--;
		for (i = 5; i--;) {
			CHECK_EQ(dom_receive(&t, 1, (i + lap) % 3, &m[i]), RMC_S_OK);
			CHECK_EQ(dom_receive(&t, 1, (i + lap) % 3, &m[i]), RMC_S_BAD_SLOT);
			CHECK(!dom_send_slot(&t, 0, 1, i)->valid);
		}
		dom_detach(&t, 1, lap % 3, lap & 1);
		dom_attach(&t, 1, lap % 3);
	}
	rmc_domain_report(&t.node[1].d, &s);
	CHECK_EQ(s.messages, 100);
	CHECK_EQ(s.dispatched, 100);
	CHECK_EQ(s.waiting, 0);
	/* no more cores than there may be; one that sends only ends nothing */
	CHECK_EQ(rmc_core_add(&t.node[1].d, NULL, 4, 0, 1, &i), -ENOSPC);
	write_message(buf(&t, 0, 0), 7, 100);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 100), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_pull(&t, 1, &m[0]));
	dom_detach(&t, 1, 2, true);
	CHECK_EQ(dom_receive(&t, 1, 2, &m[0]), RMC_S_NO_DOMAIN);
	CHECK_EQ(dom_receive(&t, 1, 1, &m[0]), RMC_S_OK);
	doms_fini(&t);
}

/* Two cores end one message of the queue of all cores at once: one of them does. */
static void test_shared_once(const struct testbed_opts *o)
{
	struct rmc_wqe w = {};
	struct arrival m;
	struct doms t;
	u32 i;

	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	t.dp.policy = RMC_DISPATCH_SHARED;
	doms_init(&t, o);
	doms_join(&t);
	for (i = 0; i < 4; i++) {
		send_some(&t, 1);
		CHECK(dom_pull(&t, 1, &m));
		w.nid = m.nid;
		/* neither of them has taken it yet */
		w.offset = rmc_slot_offset(m.slot, m.turn);
		CHECK_EQ(rmc_receive_prepare(dom_qp(&t.node[1].app[i & 1]), &w), RMC_S_OK);
		w.offset = rmc_slot_offset(m.slot, m.turn);
		CHECK_EQ(rmc_receive_prepare(dom_qp(&t.node[1].app[~i & 1]), &w), RMC_S_BAD_SLOT);
		CHECK_EQ(dom_receive(&t, 1, ~i & 1, &m), RMC_S_BAD_SLOT);
		CHECK(dom_send_slot(&t, 0, 1, 0)->valid);
		CHECK_EQ(dom_receive(&t, 1, i & 1, &m), RMC_S_OK);
		testbed_settle(&t.w);
		CHECK(!dom_send_slot(&t, 0, 1, 0)->valid);
	}
	doms_fini(&t);
}

/* What may be asked of a domain, see struct rmc_dom_create */
static void test_args(const struct testbed_opts *o)
{
	const struct rmc_dom_create usual = {
		.nodes = 2, .slots = 8, .max_message = 100, .policy = RMC_DOM_GREEDY, .depth = 2,
		.cores = 4, .groups = 1,
	};
	struct rmc_domain_params p;
	struct rmc_dispatch_params dp;

#define ARGS(err, ...) do {							\
	struct rmc_dom_create c = usual;					\
										\
	__VA_ARGS__;								\
	CHECK_EQ(rmc_domain_args(&c, &p, &dp), err);				\
} while (0)
	ARGS(0, c.flags = 0);
	CHECK(p.nodes == 2 && p.slots == 8 && p.max_message == 100 && dp.depth == 2 && dp.cores == 4);
	CHECK(dp.classes == 1 && dp.groups == 1 && dp.policy == RMC_DISPATCH_GREEDY);
	ARGS(0, c.policy = RMC_DOM_SHARED);
	ARGS(-EINVAL, c.groups = 2);
	ARGS(0, c.groups = 2; c.policy = RMC_DOM_GROUPS);
	ARGS(-EINVAL, c.key_offset = 1);
	ARGS(0, c.flags = RMC_DOM_KEY; c.key_offset = 92);
	ARGS(-EINVAL, c.flags = RMC_DOM_KEY; c.key_offset = 93);
	ARGS(-EINVAL, c.flags = RMC_DOM_KEY; c.key_offset = ~0U);
	ARGS(-EINVAL, c.classes = 1);
	ARGS(-EINVAL, c.policy = RMC_DOM_CLASS; c.flags = RMC_DOM_KEY);
	ARGS(-EINVAL, c.policy = RMC_DOM_CLASS; c.classes = 2);
	ARGS(-EINVAL, c.age_us = 1);
	ARGS(0, c.policy = RMC_DOM_STEAL; c.age_us = 7);
	CHECK_EQ(dp.age_ns, 7000);
	ARGS(0, c.wake_us = RMC_DOMAIN_WAKE_US_MAX);
	CHECK_EQ(dp.wake_ns, RMC_DOMAIN_WAKE_US_MAX * 1000);
	ARGS(-EINVAL, c.wake_us = RMC_DOMAIN_WAKE_US_MAX + 1);
	ARGS(-EINVAL, c.policy = RMC_DOM_STEAL; c.wake_us = 1);
	ARGS(-EINVAL, c.policy = RMC_DOM_POLICIES; c.wake_us = 1);
	ARGS(0, c.policy = RMC_DOM_HIER; c.groups = 2; c.wake_us = 1);
	ARGS(0, c.policy = RMC_DOM_CLASS; c.classes = 2; c.flags = RMC_DOM_KEY);
	CHECK_EQ(dp.classes, 2);
#undef ARGS
}

/* Of a time, and of what is reported: to a fifth, and not less */
static bool is_about(u64 reported, u64 ns)
{
	return reported > ns && reported <= ns + ns / 4 + 4;
}

/* How long messages waited for a core, and how long it had them */
static void test_times(const struct testbed_opts *o)
{
	struct rmc_dom_stats s = {};
	struct arrival m[2], more;
	struct doms t;
	u32 i;

	two(&t, o);
	rmc_domain_report(&t.node[1].d, &s);
	CHECK(!s.waited_ns[0] && !s.served_ns[2] && !s.messages);
	send_some(&t, 2);
	CHECK(dom_arrival(&t, 1, 0, &m[0]) && !dom_arrival(&t, 1, 0, &more));
	testbed_now_ns += 5000000;
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 0, &m[1]));
	testbed_now_ns += 70000;
	CHECK_EQ(dom_receive(&t, 1, 0, &m[1]), RMC_S_OK);
	testbed_settle(&t.w);
	rmc_domain_report(&t.node[1].d, &s);
	CHECK_EQ(s.messages, 2);
	CHECK_EQ(s.dispatched, 2);
	CHECK(is_about(s.waited_ns[0], 0));
	CHECK(is_about(s.waited_ns[1], 5000000) && is_about(s.waited_ns[2], 5000000));
	/* the first of 16, at least: from then on 5 ms */
	CHECK(is_about(s.served_ns[2], 5000000));
	CHECK(is_about(s.served_ns[0], 5000000) || is_about(s.served_ns[0], 70000));
	/* more than half of them in no time */
	for (i = 2; i < 40; i++) {
		CHECK_EQ(dom_send(&t, 0, 0, 1, i % 8, buf(&t, 0, 0), 60), RMC_S_OK);
		testbed_settle(&t.w);
		CHECK(dom_arrival(&t, 1, 0, &more));
		CHECK_EQ(dom_receive(&t, 1, 0, &more), RMC_S_OK);
		testbed_settle(&t.w);
	}
	s = (struct rmc_dom_stats) {};
	rmc_domain_report(&t.node[1].d, &s);
	CHECK(is_about(s.waited_ns[0], 0) && is_about(s.waited_ns[2], 5000000));
	CHECK(is_about(s.served_ns[0], 0) && is_about(s.served_ns[2], 5000000));
	doms_fini(&t);
}

/* Each bucket begins where the one before ends; percentiles of known distributions */
static void test_buckets(const struct testbed_opts *o)
{
	static struct rmc_times t;
	u32 i;

	memset(&t, 0, sizeof(t));
	CHECK_EQ(rmc_times_from(0), 0);
	for (i = 1; i < RMC_TIMES_BUCKETS; i++) {
		CHECK_EQ(rmc_times_bucket(rmc_times_from(i)), i);
		CHECK_EQ(rmc_times_bucket(rmc_times_from(i) - 1), i - 1);
	}
	CHECK_EQ(rmc_times_bucket(~0ULL), RMC_TIMES_BUCKETS - 1);
	CHECK_EQ(rmc_times_below(&t, 500), 0);
	for (i = 1; i <= 1000; i++)
		rmc_times_add(&t, i * 1000);
	CHECK(is_about(rmc_times_below(&t, 500), 500000));
	CHECK(is_about(rmc_times_below(&t, 990), 990000));
	CHECK(is_about(rmc_times_below(&t, 1000), 1000000));
	rmc_times_add(&t, ~0ULL);
	CHECK_EQ(rmc_times_below(&t, 1000), rmc_times_from(RMC_TIMES_BUCKETS - 1));
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "depth", test_depth },
		{ "a core that is ready gets one more", test_ready },
		{ "and goes", test_ready_goes },
		{ "a message goes to a core that is free", test_cores },
		{ "a core goes", test_core_goes },
		{ "a core with the index of another", test_same_index },
		{ "tags of cores that wrap", test_tags_wrap },
		{ "messages wait for the first core", test_no_core },
		{ "cores that sleep", test_sleepers },
		{ "keys", test_keys },
		{ "classes", test_classes },
		{ "classes, and messages that have waited", test_ages },
		{ "one queue for all cores", test_shared },
		{ "two cores end its message at once", test_shared_once },
		{ "what may be asked of a domain", test_args },
		{ "how long messages wait, and how long cores have them", test_times },
		{ "a distribution of times", test_buckets },
	};

	matrix_run(tests, ARRAY_SIZE(tests), dom_opts, ARRAY_SIZE(dom_opts));
	return matrix_done();
}
