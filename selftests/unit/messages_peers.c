// SPDX-License-Identifier: GPL-2.0
/*
 * Domains that join, end and begin anew; peers and applications that keep no rule; nodes that die.
 * No message is torn, doubled or lost, and nobody's slots are.
 */
#include "client.h"
#include "domains.h"

/* ---- domains that come and go ---- */

/* Parameters must agree; a new life begins with turn 1, and not while messages are held. */
static void test_join(const struct testbed_opts *o)
{
	struct doms t;
	struct arrival m;
	u64 state;

	two(&t, o);
	write_message(buf(&t, 0, 0), 1, 60);
	CHECK_EQ(dom_send(&t, 0, 0, 1, 2, buf(&t, 0, 0), 60), RMC_S_OK);
	check_arrival(&t, 0, 2, 1, 60, &m);
	/* the same life joins at any time, without effect on what has arrived, and hears of it */
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	CHECK_EQ(dom_join_slot(&t, 0, 0, 1, 2, &state), RMC_S_OK);
	CHECK_EQ(state, t.node[1].d.life | 1ULL << 32);
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
	/* slots are walked once per millisecond */
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_SLOT_BUSY);
	testbed_tick(&t.w, 8);
	CHECK_EQ(dom_join(&t, 0, 1), RMC_S_OK);
	CHECK_EQ(dom_join(&t, 1, 0), RMC_S_OK);
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
	CHECK_EQ(rmc_domain_init(&d, t.w.node[0], DOM_CTX, 0, &t.p, &t.dp), -EINVAL);
	t.dp.policy = RMC_DISPATCH_COUNT;
	CHECK_EQ(rmc_domain_init(&d, t.w.node[0], DOM_CTX, 1, &t.p, &t.dp), -EINVAL);
	t.dp.policy = RMC_DISPATCH_GREEDY;
	t.dp.wake_ns = RMC_DISPATCH_NS + 1;
	CHECK_EQ(rmc_domain_init(&d, t.w.node[0], DOM_CTX, 1, &t.p, &t.dp), -EINVAL);
	t.dp.wake_ns = 0;
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
	h->t.p.slots = 32;
	h->t.p.max_message = 20 * o->mtu - 32;
	h->t.p.max_answer = 12 * o->mtu - 32;
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

static int forge_join_at(struct hostile *h, const struct rmc_join *j, u64 offset)
{
	struct rmc_rep r;

	memcpy(rmc_ring_line(&h->c.req, h->c.req.pay_pos), j, sizeof(*j));
	h->c.req.pay_pos++;
	client_send(&h->c, rmc_req_word0(RMC_OP_JOIN, DOM_CTX, GEN, 1),
		    rmc_req_word1(offset, 8, true));
	testbed_settle(&h->t.w);
	return client_reply(&h->c, &r) ? (int)r.status : -1;
}

static int forge_join(struct hostile *h, const struct rmc_join *j)
{
	return forge_join_at(h, j, 0);
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
	j.p.max_message++;
	CHECK_EQ(forge_join(&h, &j), RMC_S_DOMAIN_MISMATCH);
	j.p.max_message--;
	j.p.max_answer++;
	CHECK_EQ(forge_join(&h, &j), RMC_S_DOMAIN_MISMATCH);
	j.p.max_answer--;
	j.p.first_nid++;
	CHECK_EQ(forge_join(&h, &j), RMC_S_DOMAIN_MISMATCH);
	j.p.first_nid--;
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
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + 19 * mtu, mtu, 20, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at + 5 * mtu, mtu, 3, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 16383, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, 0, 1, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(32, 1), 64, 1, true, 1), RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(4088, 1), 64, 1, true, 1),
		 RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 2), 64, 1, true, 1), RMC_S_BAD_SLOT);
	for (i = 0; i < 3 * h.t.p.slots * h.t.node[1].d.stride; i++)
		if (h.t.node[1].recv[i] != 0x5a)
			break;
	CHECK_EQ(i, 3 * h.t.p.slots * h.t.node[1].d.stride);

	/*
	 * The number of packets, or the operation, changes in the middle; a packet comes twice;
	 * the same life joins once more.
	 */
	CHECK_EQ(forge(&h, RMC_OP_SEND, at, mtu, 3, false, 1), RMC_S_OK);
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
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
	at = rmc_slot_offset(0, 3) | rmc_slot_lives(h.t.node[1].d.life, j.life);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at + 1, 0, 0, true, 0), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(0, 2) | rmc_slot_byte(at), 0, 0,
		       true, 0), RMC_S_OK);
	/* of an earlier life of either domain */
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(0, 3) |
		       rmc_slot_lives(h.t.node[1].d.life - 1, j.life), 0, 0, true, 0), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(0, 3) |
		       rmc_slot_lives(h.t.node[1].d.life, j.life - 1), 0, 0, true, 0), RMC_S_OK);
	/* a turn 256 messages earlier */
	h.t.node[1].send[0].turn += 256;
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at, 0, 0, true, 0), RMC_S_OK);
	h.t.node[1].send[0].turn -= 256;
	CHECK_EQ(h.t.node[1].send[0].valid, 1);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(32, 3) | rmc_slot_byte(at), 0, 0,
		       true, 0), RMC_S_BAD_SLOT);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at, 0, 0, true, 0), RMC_S_OK);
	CHECK_EQ(h.t.node[1].send[0].valid, 0);
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, at, 0, 0, true, 0), RMC_S_OK);
	CHECK_EQ(dom_stat(&h.t, 1, freed), 1);
	/* all this time a neighbour is served */
	write_message(buf(&h.t, 2, 0), 5, 100);
	CHECK_EQ(dom_send(&h.t, 2, 0, 1, 0, buf(&h.t, 2, 0), 100), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &other));
	CHECK_EQ(other.nid, 2);
	CHECK(is_message(dom_data(&h.t, 1, &other), 5, 100));
	/* a message that waits for a core is as safe as one that a core holds */
	for (i = 4; i < 16; i += 4)
		CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(i, 1), 64, 1, true, i), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.waiting, 1);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(12, 2), 64, 1, true, 9), RMC_S_SLOT_BUSY);
	CHECK_EQ(h.t.node[1].recv[rmc_slot_data(&h.t.node[1].d, 12)], 12);
	doms_fini(&h.t);
}

/* A packet of an answer to the message in slot 0 of node 1, by a REPLY of these lives */
static int forge_answer(struct hostile *h, u32 turn, u32 own, u32 life, u32 byte, u32 length, bool last,
			u8 fill)
{
	u32 tag = rmc_answer_tag(own, life, turn);

	return forge(h, RMC_OP_REPLY, rmc_slot_offset(0, turn) | byte |
		     (u64)(tag >> RMC_ANSWER_TAG_LOW) << RMC_ANSWER_BITS, length,
		     tag & ((1U << RMC_ANSWER_TAG_LOW) - 1), last, fill);
}

static bool untouched(struct doms *t)
{
	const u8 *p = (const u8 *)dom_answer_slot(t, 1, 0, 0);
	size_t i;

	for (i = 0; i < t->node[1].d.answer_stride; i++)
		if (p[i] != 0x5a)
			return false;
	return true;
}

/* Only the answer to the message that is in a slot is stored, and once. */
static void test_forged_answers(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 77 };
	u32 mtu = o->mtu, own, len;
	struct rmc_send_slot *s;
	struct hostile h;
	const u8 *p;

	hostile_init(&h, o);
	j.p = h.t.p;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	own = h.t.node[1].d.life;
	s = dom_send_slot(&h.t, 1, 0, 0);
	/* nothing is in the slot */
	s->turn = 3;
	CHECK_EQ(forge_answer(&h, 3, own, 77, 0, 8, true, 1), RMC_S_OK);
	s->valid = RMC_SEND_USED;
	/* of another turn, also of one 256 or 2^25 turns away; of other lives */
	CHECK_EQ(forge_answer(&h, 2, own, 77, 0, 8, true, 1), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 4, own, 77, 0, 8, true, 1), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3 + 256, own, 77, 0, 8, true, 1), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3 + (1 << 25), own, 77, 0, 8, true, 1), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own, 76, 0, 8, true, 1), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own - 100, 77, 0, 8, true, 1), RMC_S_OK);
	/* that no sender cuts */
	CHECK_EQ(forge_answer(&h, 3, own, 77, 1, 8, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 77, 0, mtu - 1, false, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 77, 11 * mtu, mtu, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 77, 12 * mtu, 8, true, 1), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 77, 0, 0, true, 1), RMC_S_PROTOCOL);
	CHECK(untouched(&h.t));
	CHECK_EQ(s->valid, RMC_SEND_USED);
	CHECK_EQ(dom_stat(&h.t, 1, repeated), 7);
	/* a part; then a new life of the peer, whose answer is whole */
	CHECK_EQ(forge_answer(&h, 3, own, 77, 0, mtu, false, 2), RMC_S_OK);
	j.life = 78;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own, 77, mtu, 5, true, 2), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own, 78, mtu, 5, true, 3), RMC_S_OK);
	CHECK_EQ(s->valid, RMC_SEND_USED);
	/* another end, and what lies beyond it */
	CHECK_EQ(forge_answer(&h, 3, own, 78, 2 * mtu, 5, true, 4), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 78, 2 * mtu, mtu, false, 4), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 78, 0, 5, true, 4), RMC_S_PROTOCOL);
	CHECK_EQ(forge_answer(&h, 3, own, 78, mtu, 5, true, 4), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own, 78, 0, mtu, false, 5), RMC_S_OK);
	CHECK_EQ(s->valid, RMC_SEND_ANSWERED);
	CHECK_EQ(s->turn, 3);
	p = dom_answer(&h.t, 1, 0, 0, &len);
	CHECK_EQ(len, mtu + 5);
	CHECK(p && p[0] == 5 && p[mtu - 1] == 5 && p[mtu] == 3 && p[mtu + 4] == 3 && p[mtu + 5] == 0x5a);
	/* once */
	CHECK_EQ(forge_answer(&h, 3, own, 78, 0, mtu, false, 6), RMC_S_OK);
	CHECK_EQ(forge_answer(&h, 3, own, 78, mtu, 5, true, 6), RMC_S_OK);
	CHECK_EQ(p[0], 5);
	/* the next message: an answer that is late has no effect */
	s->valid = 0;
	s->turn = 4;
	s->valid = RMC_SEND_USED;
	CHECK_EQ(forge_answer(&h, 3, own, 78, 0, mtu, false, 7), RMC_S_OK);
	CHECK_EQ(p[0], 5);
	CHECK_EQ(forge_answer(&h, 4, own, 78, 0, 9, true, 8), RMC_S_OK);
	p = dom_answer(&h.t, 1, 0, 0, &len);
	CHECK_EQ(len, 9);
	CHECK(p && p[0] == 8);
	CHECK_EQ(forge(&h, RMC_OP_REPLY, rmc_slot_offset(32, 4), 8, 0, true, 1), RMC_S_BAD_SLOT);
	/* a RECEIVE does not free what was answered */
	CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(0, 4) | rmc_slot_lives(own, 78), 0, 0, true,
		       0), RMC_S_OK);
	CHECK_EQ(s->valid, RMC_SEND_ANSWERED);
	doms_fini(&h.t);
}

/* A node outside the domain reaches no slot; another RRPP than the slot's takes no packet. */
static void test_strangers(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 7 };
	struct client first;
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
		CHECK_EQ(forge(&h, RMC_OP_RECEIVE, rmc_slot_offset(1, 1), 0, 0, true, 1),
			 RMC_S_PROTOCOL);
	}
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(rrpps, 1), 64, 1, true, 1), RMC_S_OK);
	/* in the ring of another unit packets of an earlier life may wait: that joins, too */
	if (h.t.w.opts.units > 1) {
		first = h.c;
		client_init_at(&h.c, &h.t.w, h.c.ep + 1, h.c.to);
		CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), 64, 1, true, 1),
			 RMC_S_DOMAIN_MISMATCH);
		CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
		CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), 64, 1, true, 1), RMC_S_OK);
		h.c = first;
	}
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

/* A message is given up of which a packet is there: the others have no effect, the next one comes whole. */
static void test_gives_up(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 77 };
	u32 mtu = o->mtu;
	struct arrival m;
	struct hostile h;

	hostile_init(&h, o);
	j.p = h.t.p;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), mtu, 3, false, 1), RMC_S_OK);
	CHECK_EQ(forge_join_at(&h, &j, rmc_skip_offset(0, 2)), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FILLING);
	CHECK_EQ(forge_join_at(&h, &j, rmc_skip_offset(0, 1)), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FREE);
	CHECK_EQ(h.t.node[1].d.slot[0].turn, 1);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1) + mtu, mtu, 3, false, 1), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1) + 2 * mtu, 5, 3, true, 1), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FREE);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 2) + mtu, 7, 2, true, 2), RMC_S_OK);
	CHECK(!dom_arrival(&h.t, 1, 0, &m));
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 2), mtu, 2, false, 2), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &m));
	CHECK_EQ(m.len, mtu + 7);
	CHECK_EQ(dom_data(&h.t, 1, &m)[0], 2);
	doms_fini(&h.t);
}

/*
 * A source dies in the middle of a message, and with one that a core holds. The RECEIVE of that
 * ends with NODE_DOWN, but frees slot and core.
 */
static void test_source_dies(const struct testbed_opts *o)
{
	struct rmc_join j = { .life = 77 };
	struct arrival m, other;
	struct hostile h;
	u32 mtu = o->mtu, i;

	hostile_init(&h, o);
	j.p = h.t.p;
	CHECK_EQ(forge_join(&h, &j), RMC_S_OK);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(0, 1), mtu, 2, false, 1), RMC_S_OK);
	CHECK_EQ(h.t.node[1].d.slot[0].state, RMC_SLOT_FILLING);
	CHECK_EQ(forge(&h, RMC_OP_SEND, rmc_slot_offset(4, 1), 8, 1, true, 1), RMC_S_OK);
	CHECK(dom_arrival(&h.t, 1, 0, &m));
	/* as many as the core may hold, and one that waits */
	for (i = 0; i < 4; i++)
		CHECK_EQ(dom_send(&h.t, 2, 0, 1, i, buf(&h.t, 2, 0), 8), RMC_S_OK);
	for (i = 0; i < 3; i++)
		CHECK(dom_arrival(&h.t, 1, 0, &other));
	CHECK(!dom_arrival(&h.t, 1, 0, &other));
	testbed_claim(&h.t.w, 0, RMC_NODE_DOWN, h.t.w.node[0]->epoch);
	testbed_pass(&h.t.w, 64);
	testbed_settle(&h.t.w);
	CHECK_EQ(h.t.node[1].d.slot[4].state, RMC_SLOT_HELD);
	CHECK_EQ(dom_data(&h.t, 1, &m)[0], 1);
	CHECK_EQ(dom_receive(&h.t, 1, 0, &m), RMC_S_NODE_DOWN);
	CHECK_EQ(h.t.node[1].d.slot[4].state, RMC_SLOT_FREE);
	testbed_settle(&h.t.w);
	CHECK(dom_arrival(&h.t, 1, 0, &other));
	CHECK_EQ(other.nid, 2);
	CHECK_EQ(dom_receive(&h.t, 1, 0, &m), RMC_S_BAD_SLOT);
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
	struct testbed_opts packets = *o;
	struct doms t;
	struct arrival m;

	/* on the local path there is no middle */
	packets.packets = true;
	memset(&t, 0, sizeof(t));
	t.nodes = 2;
	t.cores = 2;
	doms_init(&t, &packets);
	doms_join(&t);
	write_message(buf(&t, 0, 0), 1, 8192);
	CHECK(dom_claim(&t, 0, 1, 0));
	dom_post(&t, 0, 0, RMC_OP_SEND, 1, 0, buf(&t, 0, 0), 8192);
	app_take(&t.node[0].app[0].a);
	dom_detach(&t, 0, 0, false);
	CHECK_EQ(app_wait(&t.node[0].app[0].a), RMC_S_ABORTED);
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
		{ "joining, lives, parameters", test_join },
		{ "domains that cannot be", test_create },
		{ "packets that a peer makes up", test_hostile, .shared = true },
		{ "forged answers", test_forged_answers, .shared = true },
		{ "packets for others", test_strangers, .shared = true },
		{ "a message that is given up", test_gives_up, .shared = true },
		{ "a source dies", test_source_dies, .shared = true },
		{ "send slots that somebody scribbles into", test_scribble },
		{ "a sender goes in the middle of a message", test_sender_goes },
	};

	matrix_run(tests, ARRAY_SIZE(tests), dom_opts, ARRAY_SIZE(dom_opts));
	return matrix_done();
}
