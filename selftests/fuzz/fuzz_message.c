// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: any packet of peers for the slots of a domain, any reply to its own, and any WQ entry
 * of two cores that come and go. Nodes 1 and 2 are frozen; the input fills their rings, and each of
 * the two sends to another unit of node 0. Nothing is written beyond a slot, nor into one that is
 * READY or HELD; each slot is in one place; of two members, the second comes and goes; one reply per request, one CQ entry per WQ entry. Who
 * waits for a free send slot is in one list as long as it waits.
 */
#include "fuzz.h"
#include "kmod/core/part.h"
#include "selftests/harness/client.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define CORES	2
#define SLOTS	6	/* even */
#define DEPTH	3
#define AQ_ORDER 2
#define AQ	(1 << AQ_ORDER)
#define ARRIVALS (4 * AQ)
#define ROOMS	6
#define FILL	0x5a
#define SHORT	100	/* bytes: less than a packet of the larger MTU */

/* A node whose requests the input makes up */
struct peer {
	struct client c;
	u32 sent, got, life;
};

/* A message that a core has not ended */
struct arrival {
	u32 set, slot, turn, len, sum;
};

struct core {
	struct app *a;
	struct rmc_aq_entry *aq;
	int core;		/* -1: none */
	u32 seen, count;
	struct arrival arrival[ARRIVALS];
	bool busy[ENTRIES];
	u32 posted, done;
	u32 receives, ended;	/* RECEIVEs; messages that were here and are not any more */
};

struct message {
	struct fuzz b;
	struct input in;
	struct app second;
	struct core core[CORES];
	struct peer peer[2];
	struct rmc_ring req[UNITS][UNITS], rep[UNITS][UNITS];
	struct rmc_domain d;
	struct rmc_domain_params p;
	struct rmc_dispatch_params dp;
	u8 *recv, *send, *answers;
	u8 *second_send;		/* of the second member; NULL: none */
	struct rmc_mem *second_mem;
	struct rmc_room room[ROOMS];
	u32 life, rooms;
};

/* ---- the domain of node 0 ---- */

/* Bytes of a message of many packets, which leave a part of the last one */
static u32 most(const struct message *m)
{
	return min(20 * m->b.w.fabric[0].mtu, (u32)BUF / 2) - 40;
}

static u32 recv_bytes(const struct message *m)
{
	return m->p.nodes * m->p.slots * m->d.stride;
}

static u32 answer_bytes(const struct message *m)
{
	return m->p.nodes * m->p.slots * m->d.answer_stride;
}

static u32 send_bytes(const struct message *m)
{
	return m->p.nodes * m->p.slots * sizeof(struct rmc_send_slot);
}

static struct rmc_send_slot *send_slot(struct message *m, u32 set, u32 slot)
{
	static struct rmc_send_slot none;
	u8 *send = m->send;

	if (m->d.part && rmc_part_owns(&m->d, 1, slot))
		send = m->second_send;
	return send ? (struct rmc_send_slot *)send + set * m->p.slots + slot : &none;
}

/* The second member comes, or goes; RRPPs are between two visits. */
static void member(struct message *m, bool here)
{
	if (!here) {
		rmc_part_set(&m->d, 1, NULL);
		mem_free(m->second_mem);
		free(m->second_send);
		m->second_send = NULL;
		return;
	}
	m->second_send = aligned_alloc(64, send_bytes(m));
	memset(m->second_send, 0, send_bytes(m));
	m->second_mem = mem_make(m->second_send, send_bytes(m), 12, 0);
	rmc_part_set(&m->d, 1, m->second_mem);
}

static bool create(struct message *m, u32 chunk)
{
	u32 bytes = send_bytes(m), u;

	memset(&m->d, 0, sizeof(m->d));
	if (rmc_domain_init(&m->d, m->b.w.node[0], CTX, ++m->life, &m->p, &m->dp))
		return false;
	/* exactly as long as they are, for AddressSanitizer */
	m->recv = aligned_alloc(64, recv_bytes(m));
	m->send = aligned_alloc(64, bytes);
	memset(m->recv, FILL, recv_bytes(m));
	memset(m->send, 0, bytes);
	m->answers = aligned_alloc(64, answer_bytes(m));
	memset(m->answers, FILL, answer_bytes(m));
	m->d.answers = mem_make(m->answers, answer_bytes(m), chunk, 0);
	m->d.recv = mem_make(m->recv, recv_bytes(m), chunk, 0);
	m->d.send = mem_make(m->send, bytes, chunk, 0);
	/* the key is beyond the shorter messages */
	m->d.keyed = m->life & 1;
	m->d.classes = m->life & 2;
	m->d.key_offset = 40;
	MUST(!rmc_domain_share(&m->d, m->life & 4 ? 2 : 1));
	m->second_send = NULL;
	if (m->d.part)
		member(m, true);
	for (u = 0; u < ROOMS; u++) {
		memset(&m->room[u], 0, sizeof(m->room[u]));
		rmc_room_init(&m->d, &m->room[u]);
	}
	for (u = 0; u < m->b.w.opts.units; u++)
		rmc_domain_add(m->b.w.node[0]->unit[u], &m->d);
	rmc_expose(&m->d.exposure);
	return true;
}

static void attach(struct message *m, struct core *c)
{
	u32 tag;

	c->aq = calloc(AQ, sizeof(*c->aq));
	c->seen = 0;
	c->count = 0;
	c->core = rmc_core_add(&m->d, c->aq, AQ_ORDER, c - m->core, 1, &tag);
	MUST(c->core >= 0);
	rmc_core_thread(&m->d, c->core, NULL);
	c->a->qp.core = tag;
	c->a->qp.member = m->d.part ? c - m->core : 0;
	c->a->qp.domain = &m->d;
}

static void detach(struct message *m, struct core *c, bool requeue)
{
	rmc_domain_leave(&c->a->qp);
	rmc_core_del(&m->d, c->core, requeue);
	MUST(!m->d.core[c->core].aq.entry);
	c->core = -1;
	free(c->aq);
}

static void destroy(struct message *m)
{
	u32 u, i, line, slots = m->p.nodes * m->p.slots;

	for (i = 0; i < CORES; i++)
		if (m->core[i].core >= 0)
			detach(m, &m->core[i], false);
		else
			rmc_domain_leave(&m->core[i].a->qp);
	for (i = 0; i < ROOMS; i++)
		rmc_room_del(&m->d, &m->room[i]);
	MUST(!m->d.room && !m->d.reporting);
	/* a line before each message that nobody writes */
	for (i = 0; i < slots; i++)
		for (line = 0; line < RMC_LINE; line++)
			MUST(m->recv[i * m->d.stride + line] == FILL);
	/* of a line before each answer its length and turn, and nothing behind the longest */
	for (i = 0; i < slots; i++) {
		const u8 *at = m->answers + i * m->d.answer_stride;

		for (line = 2 * sizeof(u32); line < RMC_LINE; line++)
			MUST(at[line] == FILL);
		for (line = RMC_LINE + m->p.max_answer; line < m->d.answer_stride; line++)
			MUST(at[line] == FILL);
	}
	rmc_hide(&m->d.exposure);
	for (u = 0; u < m->b.w.opts.units; u++)
		rmc_domain_del(m->b.w.node[0]->unit[u], &m->d);
	if (m->second_send)
		member(m, false);
	mem_free(m->d.recv);
	mem_free(m->d.send);
	mem_free(m->d.answers);
	free(m->answers);
	free(m->recv);
	free(m->send);
	rmc_domain_destroy(&m->d);
}

/* Others that cannot be, or lack memory; then perhaps another one in its place. */
static void other_domain(struct message *m, u32 how)
{
	struct rmc_dispatch_params dp = m->dp;
	struct rmc_domain_params p = m->p;
	struct rmc_domain none = { 0 };
	u32 i, v = take(&m->in, 1);
	struct rmc_dom_create c = {
		.nodes = v, .slots = v, .max_message = v, .cores = v, .depth = v & 7, .groups = how & 3,
		.policy = v % RMC_DOM_POLICIES, .flags = v >> 5 & 1 ? RMC_DOM_KEY : 0,
		.key_offset = v & 8, .classes = how & 1, .age_us = v & 4, .wake_us = v & 16,
		.members = v >> 2,
	};

	if (!rmc_domain_args(&c, &p, &dp))
		MUST(rmc_domain_bytes(&p, &m->b.w.fabric[0]) < RMC_DOMAIN_BYTES_MAX);
	p = m->p;
	dp = m->dp;
	switch (how >> 4 & 7) {
	case 0:
		p.first_nid = v;
		break;
	case 1:
		p.nodes = v ^ 3;
		break;
	case 2:
		p.slots = v << 5;
		break;
	case 3:
		p.max_message = v << 13;
		break;
	case 4:
		dp.policy = RMC_DISPATCH_CLASS;
		break;
	case 5:
		rmc_no_user_memory = v % 32 + 1;
		break;
	default:
		/* another policy, depth, or size */
		destroy(m);
		m->dp.policy = v % RMC_DISPATCH_CLASS;
		m->dp.depth = 1 + v % DEPTH;
		/* due at once, by the next poll at the latest */
		m->dp.wake_ns = rmc_dispatch_holds(m->dp.policy);
		m->p.slots = 2 + v % SLOTS / 2 * 2;	/* of 32 bytes: whole lines */
		m->p.nodes = v & 0x20 ? NODES - 1 : NODES;
		m->p.max_message = v & 0x10 ? SHORT : most(m);
		MUST(create(m, how & 0x80 ? 63 : 12));
		for (i = 0; i < CORES; i++)
			if (v >> 6 & 1 << i || !i)
				attach(m, &m->core[i]);
		return;
	}
	if (!rmc_domain_init(&none, m->b.w.node[0], CTX, 1, &p, &dp))
		rmc_domain_destroy(&none);
	rmc_no_user_memory = 0;
}

/* ---- arrivals ---- */

static u32 sum_of(const struct message *m, const struct arrival *a)
{
	const u8 *p = m->recv + rmc_slot_data(&m->d, a->set * m->p.slots + a->slot);
	u32 sum = a->len, i;

	for (i = 0; i < a->len; i++)
		sum = sum * 31 + p[i];
	return sum;
}

static bool held(const struct message *m, const struct core *c, const struct arrival *a)
{
	const struct rmc_slot *s = rmc_domain_slot(&m->d, a->set, a->slot);

	return s->state == RMC_SLOT_HELD && s->holder == c->a->qp.core && s->turn == a->turn;
}

/* A message that a core holds has not changed. Only the core itself ends it. */
static void check_held(struct message *m, struct core *c)
{
	u32 i;

	for (i = 0; i < c->count; i++)
		if (held(m, c, &c->arrival[i])) {
			MUST(c->arrival[i].sum == sum_of(m, &c->arrival[i]));
		} else {
			c->arrival[i--] = c->arrival[--c->count];
			c->ended++;
		}
	MUST(c->ended <= c->receives);
}

static void take_arrivals(struct message *m, struct core *c)
{
	const struct rmc_slot *s;
	struct rmc_aq_entry *e;
	struct arrival a;
	u64 word;

	if (c->core < 0)
		return;
	MUST(rmc_dispatch_outstanding(m->d.dispatch, c->core) <= m->dp.depth);
	check_held(m, c);
	for (; c->count < ARRIVALS; c->seen++) {
		e = &c->aq[c->seen % AQ];
		word = rmc_phase_load(&e->word0);
		if (!rmc_phase_is(word, c->seen, AQ_ORDER))
			return;
		a.set = (word >> RMC_AQ_NID_SHIFT & 0x3ff) - m->p.first_nid;
		a.slot = word >> RMC_AQ_SLOT_SHIFT & 0xfff;
		a.len = word >> RMC_AQ_LEN_SHIFT;
		MUST(a.set < m->p.nodes && a.slot < m->p.slots);
		MUST(a.len && a.len <= m->p.max_message);
		s = rmc_domain_slot(&m->d, a.set, a.slot);
		a.turn = s->turn;
		/* one that a core which ended it has not read yet may be in the slot no more */
		if (!held(m, c, &a) || (u8)a.turn != (u8)(word >> RMC_AQ_TURN_SHIFT))
			continue;
		MUST(!memcmp(e->head, m->recv + rmc_slot_data(&m->d, s - m->d.slot),
			     min(a.len, (u32)RMC_AQ_HEAD)));
		a.sum = sum_of(m, &a);
		c->arrival[c->count++] = a;
	}
}

static bool attached(const struct message *m, u32 tag)
{
	u32 i;

	for (i = 0; i < CORES; i++)
		if (m->core[i].core >= 0 && m->core[i].a->qp.core == tag)
			return true;
	return false;
}

/* Messages of cores' rooms that a relay gives back: one that was ready had given its room before. */
static u32 room_in(const struct message *m, const struct rmc_relay *r)
{
	bool ready[NODES * (2 + SLOTS)] = { false };
	u32 i, what, slot, room = 0;

	for (i = r->tail; i != r->head; i++) {
		what = r->item[i & r->mask];
		slot = what & ~RMC_RELAY_READY;
		if (what & RMC_RELAY_READY)
			ready[slot] = true;
		else if (ready[slot] || m->d.slot[slot].msg.early)
			continue;
		room++;
	}
	return room;
}

/*
 * Each slot is where its state says. Relays hold what other workers have ended or completed. A
 * message whose core has left waits again.
 */
static void check_places(const struct message *m)
{
	u32 ready = 0, holds = 0, waiting, outstanding = 0, i;

	for (i = 0; i < m->p.nodes * m->p.slots; i++) {
		const struct rmc_slot *s = &m->d.slot[i];

		if (s->state == RMC_SLOT_HELD && attached(m, s->holder))
			holds += !s->ready;
		else
			ready += s->state == RMC_SLOT_HELD || s->state == RMC_SLOT_READY;
		MUST(s->length <= m->p.max_message);
	}
	waiting = rmc_dispatch_waiting(m->d.dispatch);
	for (i = 0; i < CORES; i++)
		if (m->core[i].core >= 0)
			outstanding += rmc_dispatch_outstanding(m->d.dispatch, m->core[i].core);
	for (i = 0; i < m->d.units; i++) {
		waiting += m->d.unit[i].complete.head - m->d.unit[i].complete.tail;
		outstanding -= room_in(m, &m->d.unit[i].finished);
	}
	MUST(ready == waiting && holds == outstanding);
}

/* ---- applications ---- */

static void reap(struct core *c)
{
	u32 slot, status;

	while (app_poll(c->a, &slot, &status)) {
		MUST(slot < ENTRIES && c->busy[slot] && status < RMC_S_DOMAIN_MAX);
		c->busy[slot] = false;
		c->done++;
	}
}

static void post(struct core *c, u64 word0, u64 word1)
{
	u32 slot = c->a->head & (ENTRIES - 1);

	if (c->busy[slot])
		return;
	c->busy[slot] = true;
	c->posted++;
	c->receives += rmc_op_flags(word0 >> RMC_WQE_OP_SHIFT & RMC_WQE_OP_MASK) & RMC_OPF_ENDS ? 1 : 0;
	app_post_raw(c->a, word0, word1);
}

static void post_op(struct message *m, struct core *c, u32 op, u32 nid, u64 offset, u32 at, u32 len)
{
	post(c, rmc_wqe_word0(op, nid, (uintptr_t)m->b.buf + at, 0), rmc_wqe_word1(offset, len));
}

/* A message to a node: the next one of a slot, mostly */
static void post_send(struct message *m, struct core *c, u32 how)
{
	u32 where = take(&m->in, 1), len = take(&m->in, 2), nid = where & 3, slot = where >> 2 & 7;
	u32 turn = 1;

	if (nid < m->p.nodes && slot < m->p.slots) {
		struct rmc_send_slot *s = send_slot(m, nid, slot);

		if (nid == 0)
			s->turn = rmc_domain_slot(&m->d, 0, slot)->turn + 1;
		else
			s->turn++;
		s->valid = 1;
		turn = s->turn;
	}
	if (where >> 5 == 7)
		turn += len >> 12;
	post_op(m, c, how & 0x40 ? RMC_OP_OFFER : RMC_OP_SEND, nid, rmc_slot_offset(slot, turn),
		where & 63, where >> 5 == 6 ? len : len % m->p.max_message + 1);
}

/* End a message of this core, or of the other one, some with an answer; or ask for one more. */
static void post_receive(struct message *m, struct core *c, u32 how)
{
	const struct core *of = (how & 0x60) == 0x60 ? &m->core[c == m->core] : c;
	const struct arrival *a;
	bool answer, ready;

	if (!of->count)
		return;
	a = &of->arrival[(how >> 4) % of->count];
	answer = a->len & 1;
	ready = !answer && a->len & 2;
	post_op(m, c, answer ? RMC_OP_REPLY : ready ? RMC_OP_READY : RMC_OP_RECEIVE,
		m->p.first_nid + a->set, rmc_slot_offset(a->slot, a->turn + (how == 0xff)), 0,
		answer ? a->len % (m->p.max_answer + 2) : 0);
}

/* ---- peers ---- */

static void collect(struct message *m, struct peer *p)
{
	struct rmc_rep r;
	u32 i;

	for (i = 0; i <= p->c.rep.mask && client_reply(&p->c, &r); i++)
		p->got++;
	MUST(m->b.replies_optional || p->got <= p->sent);
}

static void send(struct peer *p, u64 word0, u64 word1)
{
	if (p->sent - p->got > p->c.req.mask)
		return;
	word0 &= ~(0xffULL << 56);
	p->c.req.pay_pos += rmc_packet_lines(RMC_LANE_REQ, word0, word1);
	client_send(&p->c, word0, word1);
	p->sent++;
}

/* Packets of a message for a slot, in rotated order; of the next turn, mostly */
static void send_packets(struct message *m, struct peer *p, u32 how, bool all)
{
	u32 where = take(&m->in, 1), len = take(&m->in, 2), other = all ? 0 : take(&m->in, 1);
	u32 mtu = m->b.w.fabric[0].mtu, slot = where & 7, first = where >> 3, turn = 1;
	u32 total, i, at, bytes;
	u32 set = p->c.ep / m->b.w.opts.units - m->p.first_nid;
	u64 offset;

	if (set < m->p.nodes && slot < m->p.slots)
		turn = rmc_domain_slot(&m->d, set, slot)->turn + 1;
	len = len % m->p.max_message + 1;
	total = (len + mtu - 1) / mtu;
	for (i = 0; i < (all ? total : 1); i++) {
		u32 packet = (first + i) % total;
		bool last = packet == total - 1;

		at = packet * mtu;
		bytes = last ? len - at : mtu;
		/* longer or shorter, also than the slot */
		if (other & 4)
			bytes = last ? bytes + 8 * (other >> 4) : mtu - other;
		offset = rmc_slot_offset(slot, turn + (other & 1 ? (other >> 4) - 8 : 0)) + at;
		if (other & 8)
			offset ^= other >> 4;
		memset(rmc_ring_line(&p->c.req, p->c.req.pay_pos), how + packet, RMC_LINE);
		send(p, rmc_req_word0(how & 0x40 ? RMC_OP_OFFER : RMC_OP_SEND, CTX, how, p->sent) |
		     rmc_packets_word0(total + (other & 2 ? other >> 6 : 0)),
		     rmc_req_word1(offset, bytes, last ^ (other == 0xf0)) |
		     rmc_packets_word1(total + (other & 2 ? other >> 6 : 0)));
	}
}

static void send_join(struct message *m, struct peer *p, u32 how)
{
	u32 what = take(&m->in, 1), set = p->c.ep / m->b.w.opts.units - m->p.first_nid;
	u64 offset = rmc_slot_offset(what >> 2 & 7, 0);
	struct rmc_join j = { .p = m->p, .life = p->life };

	if (what & 0x80)
		j.life = what & 3;
	if (what & 0x40)
		((u8 *)&j)[8 + (what & 31) % 24] ^= 1 << (how >> 5);
	p->life = j.life ?: p->life;
	/* gives up the next message of the slot, or another one */
	if ((what & 0xe0) == 0x20 && set < m->p.nodes && (what >> 2 & 7) < m->p.slots)
		offset = rmc_skip_offset(what >> 2 & 7, rmc_domain_slot(&m->d, set, what >> 2 & 7)->turn +
					 (what & 3));
	memcpy(rmc_ring_line(&p->c.req, p->c.req.pay_pos), &j, sizeof(j));
	send(p, rmc_req_word0(RMC_OP_JOIN, CTX, how, p->sent),
	     rmc_req_word1(offset, 8, true));
}

/* Packets of an answer to a message of node 0, the last one first; or nearly */
static void send_answer(struct message *m, struct peer *p, u32 slot, u32 turn, u32 what, u32 packets)
{
	u32 mtu = m->b.w.fabric[0].mtu, tag = rmc_answer_tag(m->d.life, p->life, turn), i;
	u64 offset = rmc_slot_offset(slot, turn) | (tag >> RMC_ANSWER_TAG_LOW) << RMC_ANSWER_BITS;

	tag &= (1U << RMC_ANSWER_TAG_LOW) - 1;
	if (what == 13)
		tag ^= 1;
	for (i = packets + 1; i-- > 0;) {
		bool last = i == packets;

		memset(rmc_ring_line(&p->c.req, p->c.req.pay_pos), what + i, RMC_LINE);
		send(p, rmc_req_word0(RMC_OP_REPLY, CTX, what, p->sent) | rmc_packets_word0(tag),
		     rmc_req_word1(offset + i * mtu + (what == 12), last ? 1 + 5 * what : mtu,
				   last ^ (what == 11)) | rmc_packets_word1(tag));
	}
}

/* The RECEIVE of a message of node 0 to the peer, or nearly */
static void send_receive(struct message *m, struct peer *p, u32 how)
{
	u32 what = take(&m->in, 1), set = p->c.ep / m->b.w.opts.units - m->p.first_nid;
	u32 slot = what & 7, turn = 1;
	u64 offset;

	if (set < m->p.nodes && slot < m->p.slots)
		turn = send_slot(m, set, slot)->turn;
	if (what >> 3 & 1 && what >> 3 < 30) {
		send_answer(m, p, slot, turn, what >> 4, how >> 5);
		return;
	}
	offset = rmc_slot_offset(slot, turn + (what >> 3 == 31)) |
		 rmc_slot_lives(m->d.life, p->life + (what >> 3 == 30));
	/* no RMC sends a READY */
	send(p, rmc_req_word0(what >> 3 == 28 ? RMC_OP_READY : RMC_OP_RECEIVE, CTX, how, p->sent) |
	     rmc_packets_word0(rmc_turn_high(turn)),
	     rmc_req_word1(offset, 0, true) | rmc_packets_word1(rmc_turn_high(turn)));
}

/* Replies of node 1 to the next requests, valid but for what the input changes */
static void reply(struct message *m, u32 how)
{
	u32 from = how >> 4 & 1, to = how >> 5 & 1, units = m->b.w.opts.units, n;
	struct rmc_ring *req = &m->req[from % units][to % units];
	struct rmc_ring *rep = &m->rep[from % units][to % units];
	u32 what = take(&m->in, 1);
	struct rmc_desc d;
	struct rmc_req q;

	for (n = 0; n <= (what & 7) && rmc_ring_peek(req, 0, &d); n++) {
		u64 word0, word1 = d.word1;

		req->pos++;
		rmc_req_parse(&q, &d);
		word0 = rmc_rep_word0(&q, what & 8 ? take(&m->in, 1) : 0);
		if (what & 0x10)
			word0 |= (take(&m->in, 1) & 7) << 32;
		if (what & 0x20)
			word0 ^= take(&m->in, 7) & ~(0xffULL << 56);
		if (what & 0x40)
			word1 = take(&m->in, 8);
		rmc_ring_put(rep, word0, word1);
	}
	*rmc_doorbell_word(&m->b.w.fabric[0], from % units, RMC_LANE_REP, 0) |= ~0ULL;
}

/* ---- who waits ---- */

/* Each that waits is in one list; the first reported are told first. */
static void check_rooms(const struct message *m)
{
	const struct rmc_room *r;
	u32 i, listed = 0;

	for (i = 0; i < ROOMS; i++)
		listed += m->room[i].listed;
	for (r = m->d.room; r; r = r->next, listed--)
		MUST(r->listed);
	for (r = m->d.reporting; r; r = r->next, listed--)
		MUST(r->listed);
	MUST(!listed);
}

/* A thread sleeps for an arrival, waits for a free send slot, or waits no more. */
static void wait_or_not(struct message *m, struct core *c, u32 how)
{
	struct rmc_room *r = &m->room[m->rooms % ROOMS];
	struct rmc_dom_stats s = { 0 };
	u32 seen;

	switch (how >> 5 & 3) {
	case 0:
		testbed_visit(&m->b.w);
		break;
	case 1:
		if (c->core >= 0)
			rmc_core_sleeps(&m->d, c->core);
		break;
	case 2:
		seen = rmc_room_add(&m->d, r);
		if (rmc_room_missed(&m->d, r))
			rmc_room_told(r);
		else
			MUST(rmc_event_arm(&r->event, seen));
		m->rooms++;
		break;
	case 3:
		rmc_room_del(&m->d, &m->room[take(&m->in, 1) % ROOMS]);
		rmc_domain_report(&m->d, &s);
		MUST(s.waiting <= m->p.nodes * m->p.slots);
		rmc_domains_pending(m->b.w.node[0]);
		break;
	}
	check_rooms(m);
}

/* ---- inputs ---- */

static void start(struct message *m)
{
	struct fuzz *b = &m->b;
	u32 i, j;

	fuzz_init(b, &m->in, true);
	m->p = (struct rmc_domain_params){ 0, NODES, SLOTS, most(m), most(m) / 4 - 3 };
	m->dp = (struct rmc_dispatch_params){
		.policy = RMC_DISPATCH_GREEDY, .depth = DEPTH, .cores = CORES, .groups = CORES,
		.classes = 1, .seed = 1
	};
	app_init(&m->second, &b->w, 0, CTX, ENTRIES);
	rmc_bufs_add(&m->second.bufs, b->buf_mem);
	m->core[0].a = &b->a;
	m->core[1].a = &m->second;
	MUST(create(m, 12));
	for (i = 0; i < CORES; i++)
		attach(m, &m->core[i]);
	for (i = 0; i < 2; i++) {
		m->peer[i].life = 9;
		client_init_at(&m->peer[i].c, &b->w, fuzz_endpoint(b, 1 + i, i),
			       fuzz_endpoint(b, 0, i));
	}
	for (i = 0; i < b->w.opts.units; i++)
		for (j = 0; j < b->w.opts.units; j++)
			testbed_rings(&b->w, &b->w.fabric[0], fuzz_endpoint(b, 0, i),
				      fuzz_endpoint(b, 1, j), &m->req[i][j], &m->rep[i][j]);
}

static void step(struct message *m, u32 how)
{
	struct core *c = &m->core[how >> 7];
	struct peer *p = &m->peer[how >> 7];
	u64 word;
	u32 n;

	switch (how & 15) {
	case 0:
		fuzz_chaos(&m->b, &m->in);
		break;
	case 1:
		word = take(&m->in, 7);
		send(p, word, take(&m->in, 8));
		break;
	case 2:
		send_packets(m, p, how, false);
		break;
	case 3:
		send_packets(m, p, how, true);
		break;
	case 4:
		send_join(m, p, how);
		break;
	case 5:
		send_receive(m, p, how);
		break;
	case 6:
		post_send(m, c, how);
		break;
	case 7:
		take_arrivals(m, c);
		post_receive(m, c, how);
		break;
	case 8:
		n = take(&m->in, 1);
		post_op(m, c, RMC_OP_JOIN, n & 3, rmc_slot_offset(n >> 2 & 7, n >> 5 == 7) |
			(n >> 5 > 5 ? RMC_JOIN_SKIP : 0), 8 * (n & 15), n == 0xff ? 16 : 8);
		break;
	case 9:
		n = how >> 4 & 3;
		word = n ? rmc_wqe_word0(RMC_OP_SEND + n, take(&m->in, 1) & 3,
					 (uintptr_t)m->b.buf + take(&m->in, 2), 0) : take(&m->in, 8);
		post(c, word, take(&m->in, 8));
		break;
	case 10:
		reply(m, how);
		break;
	case 11:
		if (c->core >= 0)
			detach(m, c, how & 0x10);
		else if (how & 0x20)
			attach(m, c);
		else if (m->d.part && c == &m->core[1])
			member(m, !m->second_send);
		break;
	case 12:
		other_domain(m, how);
		break;
	case 13:
		n = take(&m->in, 1) % send_bytes(m);
		(how & 0x20 && m->second_send ? m->second_send : m->send)[n] = take(&m->in, 1);
		break;
	case 14:
		/* any place, any lap, any payload: such requests need no reply */
		word = take(&m->in, 8);
		WRITE_ONCE(p->c.req.desc[how >> 4 & p->c.req.mask].word1, take(&m->in, 8));
		WRITE_ONCE(p->c.req.desc[how >> 4 & p->c.req.mask].word0, word);
		m->b.replies_optional = true;
		break;
	case 15:
		wait_or_not(m, c, how);
		break;
	}
	*rmc_doorbell_word(&m->b.w.fabric[0], p->c.to, RMC_LANE_REQ, 0) |= 1 << p->c.ep;
	if (how & 0x10)
		testbed_visit(&m->b.w);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct message all;
	struct message *m = &all;
	u32 i;

	memset(m, 0, sizeof(*m));
	m->in = (struct input){ data, size };
	start(m);
	while (m->in.left) {
		step(m, take(&m->in, 1));
		for (i = 0; i < CORES; i++) {
			reap(&m->core[i]);
			take_arrivals(m, &m->core[i]);
			collect(m, &m->peer[i]);
		}
		check_places(m);
	}
	for (i = 0; i < 2; i++)
		*rmc_doorbell_word(&m->b.w.fabric[0], m->peer[i].c.to, RMC_LANE_REQ, 0) |=
			1 << m->peer[i].c.ep;
	fuzz_calm(&m->b);
	for (i = 0; i < CORES; i++) {
		reap(&m->core[i]);
		take_arrivals(m, &m->core[i]);
		collect(m, &m->peer[i]);
		MUST(m->core[i].done <= m->core[i].posted);
		MUST(m->b.replies_optional || m->peer[i].got == m->peer[i].sent);
	}
	check_places(m);
	destroy(m);
	app_fini(&m->second);
	fuzz_fini(&m->b);
	return 0;
}
