// SPDX-License-Identifier: GPL-2.0
/* Domains that several files share: whose slots are whose, and slots whose member is followed by another. */
#include "domains.h"
#include "kmod/core/part.h"

/* Node 0 with two cores, node 1 with one; they have joined if @joined */
static void pairs(struct doms *t, const struct testbed_opts *o, bool joined)
{
	memset(t, 0, sizeof(*t));
	t->nodes = 2;
	t->cores = 2;
	t->p.max_answer = 64;
	t->dp.depth = 4;
	doms_init(t, o);
	dom_detach(t, 1, 1, false);
	if (joined)
		doms_join(t);
}

/* Each slot has one member, and is found there, however many there are. */
static void test_shares(const struct testbed_opts *o)
{
	static const u32 numbers[][2] = { { 2, 2 }, { 3, 2 }, { 8, 3 }, { 64, 64 }, { 100, 7 },
					  { RMC_MAX_SLOTS, 63 }, { RMC_MAX_SLOTS, 64 } };
	const size_t len = RMC_MAX_SLOTS * sizeof(struct rmc_send_slot);
	struct rmc_mem *part[RMC_MAX_MEMBERS] = { NULL }, *mem;
	u8 *send = aligned_alloc(4096, len);
	struct rmc_dom_create c = { .cores = 256, .policy = RMC_DOM_GREEDY };
	struct rmc_domain d;
	u32 i, slot, member;

	mem = mem_make(send, len, 12, 0);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		memset(&d, 0, sizeof(d));
		c.slots = d.p.slots = numbers[i][0];
		c.members = d.members = numbers[i][1];
		CHECK(rmc_members_valid(&c));
		d.part = part;
		for (slot = 0; slot < d.p.slots; slot++) {
			u32 owners = 0, owner = 0;

			for (member = 0; member < d.members; member++) {
				if (!rmc_part_owns(&d, member, slot))
					continue;
				owners++;
				owner = member;
			}
			CHECK_EQ(owners, 1);
			part[owner] = mem;
			CHECK(rmc_part_find(&d, 0, slot) == (u64 *)(send + slot * 32));
			part[owner] = NULL;
			CHECK(!rmc_part_find(&d, 3, 3 * d.p.slots + slot));
		}
		for (member = 0; member < d.members; member++)
			CHECK(rmc_member_first(d.p.slots, d.members, member) <
			      rmc_member_first(d.p.slots, d.members, member + 1));
	}
	mem_free(mem);
	free(send);
	c.members = 65;
	CHECK(!rmc_members_valid(&c));
	c.members = ~0U;
	CHECK(!rmc_members_valid(&c));
	c.members = 64;
	c.cores = 63;
	CHECK(!rmc_members_valid(&c));
	c.cores = 64;
	c.slots = 63;
	CHECK(!rmc_members_valid(&c));
	c.slots = 64;
	CHECK(rmc_members_valid(&c));
	c.policy = RMC_DOM_SHARED;
	CHECK(!rmc_members_valid(&c));
	c.members = 1;
	CHECK(rmc_members_valid(&c));
}

/* Send slots of a second member of node 0, which its core 1 is of */
static struct rmc_send_slot *second_member(struct doms *t, struct rmc_mem **mem)
{
	size_t len = ALIGN(t->p.nodes * t->p.slots * sizeof(struct rmc_send_slot), 4096);
	struct rmc_send_slot *send = aligned_alloc(4096, len);

	memset(send, 0, len);
	CHECK_EQ(rmc_domain_share(&t->node[0].d, 2), 0);
	*mem = mem_make(send, len, 12, 0);
	rmc_part_set(&t->node[0].d, 1, *mem);
	dom_qp(&t->node[0].app[1])->member = 1;
	return send;
}

static int send_by(struct doms *t, u32 i, struct rmc_send_slot *send, u32 slot, u32 value)
{
	struct rmc_send_slot *s = &send[t->p.slots + slot];

	s->turn++;
	s->valid = 1;
	write_message(buf(t, 0, i), value, 60);
	return app_run(&t->node[0].app[i].a, RMC_OP_SEND, 1, rmc_slot_offset(slot, s->turn),
		       buf(t, 0, i), 60);
}

/* Of two members each sends by its own slots, and has the words of these; one that is gone has none. */
static void test_members(const struct testbed_opts *o)
{
	struct rmc_send_slot *second;
	struct rmc_mem *mem;
	struct arrival m[2];
	struct doms t;
	u32 i, half;
	u64 state;

	pairs(&t, o, false);
	second = second_member(&t, &mem);
	doms_join(&t);
	half = t.p.slots / 2;
	CHECK_EQ(send_by(&t, 1, second, half - 1, 1), RMC_S_BAD_SLOT);
	CHECK_EQ(send_by(&t, 0, t.node[0].send, half, 1), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(&t.node[0].app[1].a, RMC_OP_JOIN, 1, rmc_skip_offset(0, 1), buf(&t, 0, 1), 8),
		 RMC_S_BAD_SLOT);
	/* but it may ask */
	CHECK_EQ(dom_join_slot(&t, 0, 1, 1, 0, &state), RMC_S_OK);
	/* RECEIVE and REPLY change the words of the one that has sent */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(send_by(&t, 1, second, half, 7 + i), RMC_S_OK);
		testbed_settle(&t.w);
		check_arrival(&t, 0, half, 7 + i, 60, &m[0]);
		CHECK_EQ(i ? dom_reply(&t, 1, 0, &m[0], buf(&t, 1, 0), 8) :
			     dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
		testbed_settle(&t.w);
		CHECK_EQ(second[t.p.slots + half].valid, i ? RMC_SEND_ANSWERED : RMC_SEND_FREE);
		CHECK_EQ(dom_send_slot(&t, 0, 1, half)->valid, 1);
	}
	CHECK_EQ(send_by(&t, 0, t.node[0].send, 1, 3), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 1, 3, 60, &m[0]);
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK_EQ(dom_send_slot(&t, 0, 1, 1)->valid, RMC_SEND_FREE);
	/* and those of one that is gone are nowhere */
	for (i = 0; i < 2; i++)
		CHECK_EQ(send_by(&t, 1, second, half + i, 9), RMC_S_OK);
	testbed_settle(&t.w);
	for (i = 0; i < 2; i++)
		check_arrival(&t, 0, half + i, 9, 60, &m[i]);
	rmc_part_set(&t.node[0].d, 1, NULL);
	mem_free(mem);
	free(second);
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	CHECK_EQ(dom_reply(&t, 1, 0, &m[1], buf(&t, 1, 0), 8), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK_EQ(dom_stat(&t, 0, freed), 3);
	CHECK_EQ(send_by(&t, 0, t.node[0].send, 0, 1), RMC_S_OK);
	dom_detach(&t, 0, 1, false);
	CHECK_EQ(dom_qp(&t.node[0].app[1])->member, 0);
	doms_fini(&t);
}

static u64 skip(struct doms *t, u32 i, u32 slot, u8 turn)
{
	u64 *state = (u64 *)buf(t, 0, i);

	CHECK_EQ(app_run(&t->node[0].app[i].a, RMC_OP_JOIN, 1, rmc_skip_offset(slot, turn), state, 8),
		 RMC_S_OK);
	return *state;
}

static u64 state_of(struct doms *t, u32 turn, u64 how)
{
	return t->node[1].d.life | (u64)turn << 32 | how;
}

/* A message is given up before, in and after its slot; what is complete stays. */
static void test_skip(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u64 state;

	pairs(&t, o, true);
	/* only the next one */
	CHECK_EQ(skip(&t, 0, 3, 2), state_of(&t, 0, RMC_JOIN_FREE));
	CHECK_EQ(skip(&t, 0, 3, 1), state_of(&t, 1, RMC_JOIN_FREE));
	CHECK_EQ(skip(&t, 0, 3, 1), state_of(&t, 1, RMC_JOIN_FREE));
	/* the message that was given up has no effect, the next one arrives */
	CHECK(dom_claim(&t, 0, 1, 3));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 3, buf(&t, 0, 0), 60);
	CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 0, &m));
	dom_send_slot(&t, 0, 1, 3)->valid = 0;
	write_message(buf(&t, 0, 0), 5, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 3, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 3, 5, 60, &m);
	/* complete: neither it nor the one after it */
	CHECK_EQ(skip(&t, 0, 3, 2), state_of(&t, 2, 0));
	CHECK_EQ(skip(&t, 0, 3, 3), state_of(&t, 2, 0));
	CHECK_EQ(dom_receive(&t, 1, 0, &m), RMC_S_OK);
	CHECK_EQ(skip(&t, 0, 3, 3), state_of(&t, 3, RMC_JOIN_FREE));
	/* not a turn without it, nor another byte */
	CHECK_EQ(app_run(&t.node[0].app[0].a, RMC_OP_JOIN, 1, rmc_slot_offset(3, 1), buf(&t, 0, 0), 8),
		 RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(&t.node[0].app[0].a, RMC_OP_JOIN, 1, rmc_slot_offset(3, 0) | 1,
			 buf(&t, 0, 0), 8), RMC_S_BAD_SLOT);
	CHECK_EQ(app_run(&t.node[0].app[0].a, RMC_OP_JOIN, 1, rmc_skip_offset(3, 4), buf(&t, 0, 0),
			 16), RMC_S_BAD_LENGTH);
	/* 26 bits of a turn */
	t.node[1].d.slot[4].turn = 0x2345678;
	CHECK_EQ(dom_join_slot(&t, 0, 0, 1, 4, &state), RMC_S_OK);
	CHECK_EQ(RMC_JOIN_TURN(state) | RMC_JOIN_HIGH(state) << 8, 0x2345678);
	CHECK_EQ(RMC_JOIN_LIFE(state), t.node[1].d.life);
	CHECK(state & RMC_JOIN_FREE);
	doms_fini(&t);
}

/* The next life begins with turn 1, also if nothing but that was done in this one. */
static void test_skip_and_life(const struct testbed_opts *o)
{
	struct arrival m;
	struct doms t;
	u32 i;

	pairs(&t, o, true);
	CHECK_EQ(skip(&t, 0, 0, 1), state_of(&t, 1, RMC_JOIN_FREE));
	for (i = 0; i < 2; i++)
		dom_detach(&t, 0, i, false);
	dom_remove(&t, 0);
	CHECK_EQ(dom_create(&t, 0), 0);
	for (i = 0; i < 2; i++)
		dom_attach(&t, 0, i);
	doms_join(&t);
	write_message(buf(&t, 0, 0), 3, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 0, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 0, 0, 3, 60, &m);
	doms_fini(&t);
}

/*
 * A queue pair goes in the middle of a message, of which packets lie in the slot and in rings. Another
 * one, maybe of another unit, gives it up: its own message comes whole.
 */
static void test_successor(const struct testbed_opts *o)
{
	struct testbed_opts packets = *o;
	struct arrival m, none;
	struct doms t;
	u32 early;

	/* on the local path there is no middle */
	packets.packets = true;
	for (early = 0; early < 2; early++) {
		pairs(&t, &packets, true);
		write_message(buf(&t, 0, 0), 1, 8192);
		CHECK(dom_claim(&t, 0, 1, 0));
		dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), 8192);
		app_take(&t.node[0].app[0].a);
		dom_detach(&t, 0, 0, false);
		CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_ABORTED);
		if (!early)
			testbed_settle(&t.w);
		if (RMC_JOIN_TURN(skip(&t, 1, 0, 1)) == 1 && t.node[1].d.slot[0].state == RMC_SLOT_FREE) {
			testbed_settle(&t.w);
			CHECK(!dom_arrival(&t, 1, 0, &none));
			dom_send_slot(&t, 0, 1, 0)->valid = 0;
			write_message(buf(&t, 0, 1), 2, 8000);
			CHECK_EQ(dom_send(&t, 0, 1, 1, 0, buf(&t, 0, 1), 8000), RMC_S_OK);
			testbed_settle(&t.w);
			check_arrival(&t, 0, 0, 2, 8000, &m);
			CHECK(!dom_arrival(&t, 1, 0, &none));
		} else {
			/* all of it was in rings */
			testbed_settle(&t.w);
			check_arrival(&t, 0, 0, 1, 8192, &m);
		}
		dom_attach(&t, 0, 0);
		doms_fini(&t);
	}
}

/* The next message of node 0 comes to core 0 of node 1. */
static void send_to_first(struct doms *t, u32 slot, struct arrival *m)
{
	write_message(buf(t, 0, 0), 20 + slot, 60);
	CHECK_EQ(dom_send(t, 0, 0, 1, slot, buf(t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t->w);
	check_arrival(t, 0, slot, 20 + slot, 60, m);
}

/* READY for a message brings core 0 of node 1 another one, or none if @more is NULL. */
static void ready_for(struct doms *t, const struct arrival *m, struct arrival *more)
{
	struct arrival none;

	CHECK_EQ(dom_ready(t, 1, 0, m), RMC_S_OK);
	testbed_settle(&t->w);
	CHECK_EQ(dom_arrival(t, 1, 0, more ?: &none), !!more);
}

/*
 * A member that keeps all that it gets, and is ready for more each time, keeps its part of the slots;
 * the other member gets what comes then.
 */
static void test_kept(const struct testbed_opts *o)
{
	struct arrival m[5], other;
	struct doms t;

	memset(&t, 0, sizeof(t));
	t.nodes = t.cores = 2;
	t.dp.policy = RMC_DISPATCH_GREEDY;
	t.dp.cores = 8;		/* of 16 slots: two for each */
	doms_init(&t, o);
	CHECK_EQ(rmc_domain_share(&t.node[1].d, 2), 0);
	dom_qp(&t.node[1].app[1])->member = 1;
	doms_join(&t);
	dom_detach(&t, 1, 1, true);
	send_some(&t, 4);
	check_arrival(&t, 0, 0, 0, 60, &m[0]);
	ready_for(&t, &m[0], &m[1]);
	ready_for(&t, &m[1], &m[2]);
	ready_for(&t, &m[2], NULL);
	dom_attach(&t, 1, 1);
	testbed_settle(&t.w);
	check_arrival(&t, 1, 3, 3, 60, &other);
	/* what it is done with makes room for one that it keeps, and one that it does not */
	CHECK_EQ(dom_receive(&t, 1, 0, &m[0]), RMC_S_OK);
	CHECK_EQ(dom_receive(&t, 1, 0, &m[2]), RMC_S_OK);
	send_to_first(&t, 4, &m[2]);
	CHECK_EQ(dom_ready(&t, 1, 0, &m[2]), RMC_S_OK);
	send_to_first(&t, 5, &m[3]);
	ready_for(&t, &m[3], NULL);
	write_message(buf(&t, 0, 0), 6, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 6, buf(&t, 0, 0), 60), RMC_S_OK);
	testbed_settle(&t.w);
	CHECK(!dom_arrival(&t, 1, 0, &m[4]));
	/* its successor has kept nothing yet */
	dom_detach(&t, 1, 0, true);
	dom_attach(&t, 1, 0);
	testbed_settle(&t.w);
	CHECK(dom_arrival(&t, 1, 0, &m[0]));
	ready_for(&t, &m[0], &m[1]);
	ready_for(&t, &m[1], &m[2]);
	ready_for(&t, &m[2], NULL);
	CHECK_EQ(dom_receive(&t, 1, 1, &other), RMC_S_OK);
	testbed_settle(&t.w);
	check_arrival(&t, 1, 6, 6, 60, &other);
	doms_fini(&t);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "each slot has one member", test_shares },
		{ "members send by their own slots", test_members },
		{ "a message is given up", test_skip },
		{ "and a new life", test_skip_and_life },
		{ "a member keeps no more than its part", test_kept },
		{ "one that goes on with the slots of another", test_successor },
	};

	matrix_run(tests, ARRAY_SIZE(tests), dom_opts, ARRAY_SIZE(dom_opts));
	return matrix_done();
}
