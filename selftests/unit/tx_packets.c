// SPDX-License-Identifier: GPL-2.0
/*
 * What a home answers if the test makes up the packets of transactions: messages in any order, in
 * parts, beyond every bound; packets that come twice, too early, too late; a source that opens all
 * it can. And plain operations on a range of transactions.
 */
#include "client.h"
#include "tx_nodes.h"
#include "kmod/core/pipeline.h"

#define GEN	9	/* of the ITT */
#define SERVER	1

u32 rmc_no_memory, rmc_no_user_memory;

/* Node 0 is a neighbour that keeps the rules, node 1 serves; 2 and 3 are the test */
struct asked {
	struct tx_bed b;
	struct client c[2];
};

static u32 home_ep(const struct asked *a)
{
	return a->b.n[SERVER].home->part->limits.self;
}

static struct rmc_tx_part *part(struct asked *a)
{
	return a->b.n[SERVER].home->part;
}

static void setup(struct asked *a, const struct testbed_opts *o)
{
	u32 i;

	bed_make_of(&a->b, o, 4, true, &tx_opts);
	for (i = 0; i < 4; i++)
		a->b.w.fabric[i].dead_ms = 1000000;
	for (i = 0; i < 2; i++)
		client_init_at(&a->c[i], &a->b.w, rmc_endpoint(a->b.w.fabric, 2 + i), home_ep(a));
}

static void teardown(struct asked *a)
{
	struct rmc_rep r;
	u32 i;

	testbed_settle(&a->b.w);
	for (i = 0; i < 2; i++)
		CHECK(!client_reply(&a->c[i], &r));
	bed_free(&a->b);
}

/* Put a packet with this payload into the request ring; its doorbell rings. */
static void send(struct client *c, u32 op, u16 tid, u64 word1, const void *payload, u32 bytes)
{
	const u8 *from = payload;
	u32 n;

	for (; bytes; bytes -= n, from += n) {
		n = min_t(u32, bytes, RMC_LINE);
		memset(rmc_ring_line(&c->req, c->req.pay_pos), 0, RMC_LINE);
		memcpy(rmc_ring_line(&c->req, c->req.pay_pos++), from, n);
	}
	client_send(c, rmc_req_word0(op, CTX, GEN, tid), word1);
}

/* Status of the next reply; -1: there is none. With RMC_S_OK: ACTED if it has. */
#define ACTED	1000

static int said(struct asked *a, struct client *c, u16 tid)
{
	struct rmc_rep r;

	testbed_settle(&a->b.w);
	if (!client_reply(c, &r))
		return -1;
	CHECK_EQ(r.tid, tid);
	CHECK_EQ(r.gen, GEN);
	if (!r.status && rmc_op_flags(r.op) & RMC_OPF_REP_LINES)
		c->rep.pay_pos += rmc_op_echo_lines(rmc_op_flags(r.op), r.word1);
	return !r.status && r.word1 & RMC_TX_ACTED ? ACTED : r.status;
}

/* A message before it is cut */
struct message {
	struct rmc_tx_head head;
	u8 body[2 * RMC_TX_BODY_MAX];
	u32 length;
};

static void make_message(struct message *m, u32 slot, u32 gen, u32 kind)
{
	memset(m, 0, sizeof(*m));
	m->head.slot = slot;
	m->head.gen = gen;
	m->head.kind = kind;
	m->length = sizeof(m->head);
}

static void add_range(struct message *m, u64 offset, u64 length)
{
	struct rmc_tx_range r = { .offset = offset, .length = length };

	memcpy((u8 *)m + m->length, &r, sizeof(r));
	m->length += sizeof(r);
	m->head.count++;
}

static void add_piece(struct message *m, u64 offset, const void *data, u32 length)
{
	struct rmc_tx_piece p = { .offset = offset, .length = length };

	memcpy((u8 *)m + m->length, &p, sizeof(p));
	memcpy((u8 *)m + m->length + sizeof(p), data, length);
	m->length += sizeof(p) + ALIGN(length, 8);
	m->head.count++;
}

static u32 packets_of(const struct asked *a, const struct message *m)
{
	return rmc_packets(a->b.w.fabric->mtu, 0, m->length);
}

/* One packet of a message */
static void send_packet(struct asked *a, struct client *c, u32 op, u16 tid,
			const struct message *m, u32 packet)
{
	u32 mtu = a->b.w.fabric->mtu, at = packet * mtu, n = min(mtu, m->length - at);

	send(c, op, tid, rmc_req_word1(rmc_tx_offset(m->head.slot, m->head.gen) + at, n,
				       at + n == m->length), (u8 *)m + at, n);
}

/* All of them, in order. What the last one is answered */
static int send_message(struct asked *a, struct client *c, u32 op, const struct message *m)
{
	static u16 tid;
	u32 i, n = packets_of(a, m);
	int status = -1;

	tid++;
	for (i = 0; i < n; i++) {
		send_packet(a, c, op, tid, m, i);
		status = said(a, c, tid);
		/* the range is gone: so says each of them */
		if (i + 1 < n && status != RMC_S_BAD_CONTEXT)
			CHECK_EQ(status, RMC_S_OK);
	}
	return status;
}

static int intend(struct asked *a, struct client *c, u32 slot, u32 gen, u64 offset, u64 length)
{
	struct message m;

	make_message(&m, slot, gen, RMC_TX_KIND_INTEND);
	if (length)
		add_range(&m, offset, length);
	return send_message(a, c, RMC_OP_TX_INTEND, &m);
}

static int data(struct asked *a, struct client *c, u32 slot, u32 gen, u64 offset, const char *bytes)
{
	struct message m;

	make_message(&m, slot, gen, RMC_TX_KIND_DATA);
	add_piece(&m, offset, bytes, strlen(bytes));
	return send_message(a, c, RMC_OP_TX_DATA, &m);
}

static int close_tx(struct asked *a, struct client *c, u32 slot, u32 gen, bool commit)
{
	struct message m;

	make_message(&m, slot, gen, commit ? RMC_TX_KIND_COMMIT : RMC_TX_KIND_ABORT);
	return send_message(a, c, RMC_OP_TX_CLOSE, &m);
}

static int access_lines(struct asked *a, struct client *c, u32 slot, u32 gen, u32 kind, u64 offset,
			u32 length)
{
	struct rmc_tx_head head = { .slot = slot, .gen = gen, .kind = kind };

	send(c, RMC_OP_TX_ACCESS, 3, rmc_req_word1(offset, length, true), &head, sizeof(head));
	return said(a, c, 3);
}

/* A message acts with the packet that makes it whole, in whatever order, and once. */
static void test_orders(const struct testbed_opts *o)
{
	u64 seed = 1234567;
	struct asked a;
	struct client *c = &a.c[0];
	u32 round, i, n, order[RMC_TX_PACKETS];
	struct message m;

	setup(&a, o);
	for (round = 0; round < 8; round++) {
		make_message(&m, round, 5, RMC_TX_KIND_INTEND);
		for (i = 0; i < 200; i++)
			add_range(&m, TX_START + 64 * i + 4096 * 4 * (round & 1), 8);
		n = packets_of(&a, &m);
		for (i = 0; i < n; i++)
			order[i] = round == 0 ? i : n - 1 - i;
		for (i = n - 1; round > 1 && i; i--) {
			u32 j = rmc_random32(&seed) % (i + 1), was = order[i];

			order[i] = order[j];
			order[j] = was;
		}
		for (i = 0; i < n; i++) {
			send_packet(&a, c, RMC_OP_TX_INTEND, 11 + round, &m, order[i]);
			CHECK_EQ(part(&a)->locks, 0);
			CHECK_EQ(said(&a, c, 11 + round), i + 1 < n ? RMC_S_OK : ACTED);
			CHECK_EQ(part(&a)->locks, i + 1 == n);
			/* the first ones come twice */
			if (i + 1 < n && i < 3) {
				send_packet(&a, c, RMC_OP_TX_INTEND, 11 + round, &m, order[i]);
				CHECK_EQ(said(&a, c, 11 + round), RMC_S_OK);
			}
		}
		/* all replies were lost: it acts again */
		for (i = 0; i < n; i++) {
			send_packet(&a, c, RMC_OP_TX_INTEND, 11 + round, &m, order[i]);
			CHECK_EQ(said(&a, c, 11 + round), i + 1 < n ? RMC_S_OK : ACTED);
		}
		CHECK_EQ(part(&a)->locks, 1);
		CHECK_EQ(close_tx(&a, c, round, 5, false), ACTED);
		CHECK_EQ(part(&a)->locks, 0);
	}
	CHECK(bed_clean(&a.b));
	teardown(&a);
}

/* Packets of two operations are two messages, of two sources too, although all else is equal. */
static void test_mixed(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0];
	struct message m;
	u32 i, n;

	setup(&a, o);
	make_message(&m, 1, 5, RMC_TX_KIND_INTEND);
	for (i = 0; i < 250; i++)
		add_range(&m, TX_START + 64 * i, 64);
	n = packets_of(&a, &m);
	if (n == 1)
		goto out;
	for (i = 0; i + 1 < n; i++) {
		send_packet(&a, c, RMC_OP_TX_INTEND, 1, &m, i);
		CHECK_EQ(said(&a, c, 1), RMC_S_OK);
	}
	send_packet(&a, c, RMC_OP_TX_INTEND, 2, &m, n - 1);
	CHECK_EQ(said(&a, c, 2), RMC_S_OK);
	send_packet(&a, c, RMC_OP_TX_DATA, 1, &m, n - 1);
	CHECK_EQ(said(&a, c, 1), RMC_S_OK);
	send_packet(&a, &a.c[1], RMC_OP_TX_INTEND, 1, &m, n - 1);
	CHECK_EQ(said(&a, &a.c[1], 1), RMC_S_OK);
	m.head.gen++;
	send_packet(&a, c, RMC_OP_TX_INTEND, 1, &m, n - 1);
	CHECK_EQ(said(&a, c, 1), RMC_S_OK);
	m.head.gen--;
	CHECK_EQ(part(&a)->locks, 0);
	send_packet(&a, c, RMC_OP_TX_INTEND, 1, &m, n - 1);
	CHECK_EQ(said(&a, c, 1), ACTED);
	CHECK_EQ(close_tx(&a, c, 1, 5, false), ACTED);
out:
	teardown(&a);
}

/* More than there is room for: the oldest of that source is lost, another source loses none. */
static void test_many_parts(const struct testbed_opts *o)
{
	struct asked a;
	struct message m[RMC_TX_ASSEMBLIES + 1];
	u32 i, k, n;

	setup(&a, o);
	for (k = 0; k <= RMC_TX_ASSEMBLIES; k++) {
		make_message(&m[k], k, 5, RMC_TX_KIND_INTEND);
		for (i = 0; i < 250; i++)
			add_range(&m[k], TX_START + 64 * i, 1);
	}
	n = packets_of(&a, &m[0]);
	if (n == 1)
		goto out;
	/* with an open channel */
	CHECK_EQ(close_tx(&a, &a.c[0], 0, 1, false), ACTED);
	rmc_no_memory = RMC_AGAIN_TRIES;
	send_packet(&a, &a.c[0], RMC_OP_TX_INTEND, 0, &m[0], 0);
	for (i = 0; i < 2 * RMC_AGAIN_TRIES; i++)
		testbed_visit(&a.b.w);
	CHECK_EQ(said(&a, &a.c[0], 0), RMC_S_BUSY);
	rmc_no_memory = 0;
	send_packet(&a, &a.c[1], RMC_OP_TX_INTEND, 0, &m[0], 0);
	CHECK_EQ(said(&a, &a.c[1], 0), RMC_S_OK);
	for (k = 0; k <= RMC_TX_ASSEMBLIES; k++) {
		send_packet(&a, &a.c[0], RMC_OP_TX_INTEND, k, &m[k], 0);
		CHECK_EQ(said(&a, &a.c[0], k), RMC_S_OK);
	}
	for (i = 1; i < n; i++) {
		send_packet(&a, &a.c[1], RMC_OP_TX_INTEND, 0, &m[0], i);
		CHECK_EQ(said(&a, &a.c[1], 0), i + 1 < n ? RMC_S_OK : ACTED);
	}
	CHECK_EQ(close_tx(&a, &a.c[1], 0, 5, false), ACTED);
	/* the second one is there, the first is not */
	for (k = 1; k + 1; k--)
		for (i = 1; i < n; i++) {
			send_packet(&a, &a.c[0], RMC_OP_TX_INTEND, k, &m[k], i);
			CHECK_EQ(said(&a, &a.c[0], k), i + 1 < n || !k ? RMC_S_OK : ACTED);
		}
	CHECK_EQ(close_tx(&a, &a.c[0], 1, 5, false), ACTED);
	/* what has acted needs no room: an older one stays */
	for (k = 0; k <= RMC_TX_ASSEMBLIES; k++)
		m[k].head.gen++;
	send_packet(&a, &a.c[0], RMC_OP_TX_INTEND, 0, &m[0], 0);
	CHECK_EQ(said(&a, &a.c[0], 0), RMC_S_OK);
	for (k = 1; k <= RMC_TX_ASSEMBLIES; k++) {
		CHECK_EQ(send_message(&a, &a.c[0], RMC_OP_TX_INTEND, &m[k]), ACTED);
		CHECK_EQ(close_tx(&a, &a.c[0], k, 6, false), ACTED);
	}
	for (i = 1; i < n; i++) {
		send_packet(&a, &a.c[0], RMC_OP_TX_INTEND, 0, &m[0], i);
		CHECK_EQ(said(&a, &a.c[0], 0), i + 1 < n ? RMC_S_OK : ACTED);
	}
	CHECK_EQ(close_tx(&a, &a.c[0], 0, 6, false), ACTED);
	/* they go with the channel */
	rmc_in_close(a.b.w.node[SERVER]->unit[home_ep(&a) - rmc_endpoint(a.b.w.fabric, SERVER)],
		     a.c[0].ep);
	for (k = 0; k < RMC_TX_ASSEMBLIES; k++) {
		CHECK(!a.b.n[SERVER].home->from[a.c[0].ep].parts.b[k]);
		CHECK(k || a.b.n[SERVER].home->from[a.c[1].ep].parts.b[k]);
	}
out:
	teardown(&a);
}

/* No message has such packets, or such bytes. Nothing comes of them. */
static void test_bad_messages(const struct testbed_opts *o)
{
	u32 mtu = o->mtu, i;
	struct asked a;
	struct client *c = &a.c[0];
	u64 at = rmc_tx_offset(1, 5);
	struct message m;

	setup(&a, o);
	make_message(&m, 1, 5, RMC_TX_KIND_INTEND);
	add_range(&m, TX_START, 64);
	/* where no packet begins; longer than a message; shorter than its line */
	send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + 32, 32, true), &m, 32);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + 128 * 1024, 64, true), &m, 64);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at, 32, true), &m, 32);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	send(c, RMC_OP_TX_CLOSE, 1, rmc_req_word1(at, 8, false), &m, 8);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	send(c, RMC_OP_TX_CLOSE, 1, rmc_req_word1(at, 0, true), &m, 0);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	if (mtu > 64) {
		send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + 64, 64, true), &m, 64);
		CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	}
	if (mtu < RMC_TX_BODY_MAX) {
		/* a second last one, one behind it, one before that was behind it */
		send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + 2 * mtu, 16, true), &m, 16);
		CHECK_EQ(said(&a, c, 1), RMC_S_OK);
		send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + mtu, 16, true), &m, 16);
		CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
		send(c, RMC_OP_TX_INTEND, 1, rmc_req_word1(at + 3 * mtu, mtu, false), &a, mtu);
		CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
		send(c, RMC_OP_TX_INTEND, 2, rmc_req_word1(at + 2 * mtu, mtu, false), &a, mtu);
		CHECK_EQ(said(&a, c, 2), RMC_S_OK);
		send(c, RMC_OP_TX_INTEND, 2, rmc_req_word1(at + mtu, 16, true), &a, 16);
		CHECK_EQ(said(&a, c, 2), RMC_S_PROTOCOL);
	}
	/* one is missing, but their number is right */
	make_message(&m, 1, 5, RMC_TX_KIND_INTEND);
	while (packets_of(&a, &m) < 3 && m.head.count < 250)
		add_range(&m, TX_START + 64 * m.head.count, 64);
	if (packets_of(&a, &m) == 3) {
		send_packet(&a, c, RMC_OP_TX_INTEND, 3, &m, 0);
		CHECK_EQ(said(&a, c, 3), RMC_S_OK);
		send(c, RMC_OP_TX_INTEND, 3, rmc_req_word1(at + 3 * mtu, mtu, false), &m, mtu);
		CHECK_EQ(said(&a, c, 3), RMC_S_OK);
		send_packet(&a, c, RMC_OP_TX_INTEND, 3, &m, 2);
		CHECK_EQ(said(&a, c, 3), RMC_S_PROTOCOL);
	}
	/* the line says another slot or gen than the packets */
	for (i = 0; i < 2; i++) {
		make_message(&m, 1 + !i, 5 + i, RMC_TX_KIND_ABORT);
		send(c, RMC_OP_TX_CLOSE, 1, rmc_req_word1(at, 64, true), &m, 64);
		CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	}
	/* the kind of another operation, and none */
	for (i = 0; i < 9; i++) {
		make_message(&m, 1, 5, i);
		if (i != RMC_TX_KIND_COMMIT && i != RMC_TX_KIND_ABORT)
			CHECK_EQ(send_message(&a, c, RMC_OP_TX_CLOSE, &m), RMC_S_PROTOCOL);
		if (i != RMC_TX_KIND_INTEND && i != RMC_TX_KIND_LOCK)
			CHECK_EQ(send_message(&a, c, RMC_OP_TX_INTEND, &m), RMC_S_PROTOCOL);
		if (i != RMC_TX_KIND_DATA)
			CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
		if (i != RMC_TX_KIND_READ && i != RMC_TX_KIND_OWN)
			CHECK_EQ(access_lines(&a, c, 1, 5, i, TX_START, 8), RMC_S_PROTOCOL);
	}
	/* a LOCK that writes more ranges than it has, then as many */
	make_message(&m, 1, 5, RMC_TX_KIND_LOCK);
	add_range(&m, TX_START, 64);
	m.head.writes = 2;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_INTEND, &m), RMC_S_PROTOCOL);
	m.head.writes = 1;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_INTEND, &m), ACTED);
	CHECK_EQ(part(&a)->locks, 1);
	CHECK_EQ(close_tx(&a, c, 1, 5, false), ACTED);
	/* slots that packets cannot name */
	CHECK_EQ(access_lines(&a, c, 64, 5, RMC_TX_KIND_READ, TX_START, 8), RMC_S_PROTOCOL);
	CHECK_EQ(access_lines(&a, c, 255, 5, RMC_TX_KIND_READ, TX_START, 8), RMC_S_PROTOCOL);
	make_message(&m, 65, 5, RMC_TX_KIND_ABORT);
	send(c, RMC_OP_TX_CLOSE, 1, rmc_req_word1(at, 64, true), &m, 64);
	CHECK_EQ(said(&a, c, 1), RMC_S_PROTOCOL);
	CHECK_EQ(part(&a)->locks, 0);
	CHECK(bed_clean(&a.b));
	teardown(&a);
}

/* Counts that do not match, ranges and pieces that are none */
static void test_bad_bodies(const struct testbed_opts *o)
{
	static const char text[] = "12345678";
	struct asked a;
	struct client *c = &a.c[0];
	struct rmc_tx_piece *p;
	struct message m;
	u32 i;

	setup(&a, o);
	make_message(&m, 1, 5, RMC_TX_KIND_INTEND);
	add_range(&m, TX_START, 64);
	for (i = 0; i < 4; i++) {
		static const u32 counts[] = { 0, 2, 257, 1U << 28 | 1 };

		m.head.count = counts[i];
		CHECK_EQ(send_message(&a, c, RMC_OP_TX_INTEND, &m), RMC_S_PROTOCOL);
	}
	CHECK_EQ(intend(&a, c, 1, 5, TX_START - 1, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(intend(&a, c, 1, 5, TX_START + TX_BYTES - 63, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(intend(&a, c, 1, 5, -8ULL, 64), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(intend(&a, c, 1, 5, TX_START, -1ULL), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(part(&a)->locks, 0);
	CHECK_EQ(intend(&a, c, 1, 5, TX_START, 64), ACTED);
	/* pieces: too many, too few, too long, empty */
	for (i = 0; i < 6; i++) {
		make_message(&m, 1, 5, RMC_TX_KIND_DATA);
		add_piece(&m, TX_START, text, 8);
		p = (struct rmc_tx_piece *)m.body;
		switch (i) {
		case 0:
			m.head.count = 2;
			break;
		case 1:
			m.head.count = 0;
			break;
		case 2:
			p->length = 9;
			break;
		case 3:
			p->length = -1U;
			break;
		case 4:
			p->length = 0;
			break;
		case 5:
			m.length -= 16;
			break;
		}
		CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	}
	CHECK_EQ(word_at(&a.b, SERVER, TX_START), 0);
	CHECK_EQ(close_tx(&a, c, 1, 5, false), ACTED);
	/* what an earlier message has left behind a shorter one is not part of it */
	CHECK_EQ(intend(&a, c, 1, 6, TX_START, 40000), ACTED);
	make_message(&m, 1, 6, RMC_TX_KIND_DATA);
	add_piece(&m, TX_START, text, 8);
	add_piece(&m, TX_START + 8, text, 8);
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), ACTED);
	m.length -= 16;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	make_message(&m, 1, 6, RMC_TX_KIND_DATA);
	add_piece(&m, TX_START, text, 8);
	((struct rmc_tx_piece *)m.body)->length = 30000;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	m.length = 32;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	CHECK_EQ(close_tx(&a, c, 1, 6, false), ACTED);
	/* nor is the body that is missing if not even the line is whole */
	CHECK_EQ(intend(&a, c, 1, 7, TX_START, 8), ACTED);
	make_message(&m, 1, 7, RMC_TX_KIND_DATA);
	add_piece(&m, TX_START, text, 8);
	m.head.count = 0;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	m.head.count = 1;
	m.length = 32;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_DATA, &m), RMC_S_PROTOCOL);
	CHECK_EQ(close_tx(&a, c, 1, 7, true), RMC_S_BUSY);
	CHECK_EQ(close_tx(&a, c, 1, 7, false), ACTED);
	CHECK(bed_clean(&a.b));
	teardown(&a);
}

/* Too early, twice, too late, of the wrong gen: the home's memory changes once. */
static void test_phases(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0], *d = &a.c[1];
	u32 gen = 0x7fffffff;
	struct message m;

	setup(&a, o);
	CHECK_EQ(data(&a, c, 1, gen, TX_START, "early"), RMC_S_TX_STALE);
	CHECK_EQ(close_tx(&a, c, 1, gen, true), RMC_S_TX_STALE);
	CHECK_EQ(access_lines(&a, c, 1, gen, RMC_TX_KIND_READ, TX_START, 8), RMC_S_OK);
	CHECK_EQ(data(&a, c, 1, gen, TX_START, "early"), RMC_S_PROTOCOL);
	CHECK_EQ(close_tx(&a, c, 1, gen, true), RMC_S_PROTOCOL);
	CHECK_EQ(intend(&a, c, 1, gen, TX_START, 5), ACTED);
	CHECK_EQ(intend(&a, c, 1, gen, TX_START, 5), ACTED);
	CHECK_EQ(intend(&a, c, 1, gen, TX_START, 6), RMC_S_PROTOCOL);
	CHECK_EQ(access_lines(&a, c, 1, gen, RMC_TX_KIND_READ, TX_START, 8), RMC_S_PROTOCOL);
	/* of another source: the slot is its own */
	CHECK_EQ(data(&a, d, 1, gen, TX_START, "other"), RMC_S_TX_STALE);
	CHECK_EQ(close_tx(&a, d, 1, gen, true), RMC_S_TX_STALE);
	CHECK_EQ(access_lines(&a, d, 1, gen, RMC_TX_KIND_READ, TX_START, 8), RMC_S_TX_LOCKED);
	/* outside of what was announced */
	CHECK_EQ(data(&a, c, 1, gen, TX_START + 5, "x"), RMC_S_PROTOCOL);
	CHECK_EQ(data(&a, c, 1, gen, TX_START - 1, "x"), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(close_tx(&a, c, 1, gen, true), RMC_S_BUSY);
	CHECK_EQ(data(&a, c, 1, gen, TX_START, "hel"), ACTED);
	CHECK_EQ(close_tx(&a, c, 1, gen, true), RMC_S_BUSY);
	CHECK_EQ(data(&a, c, 1, gen, TX_START + 3, "lo"), ACTED);
	CHECK_EQ(data(&a, c, 1, gen, TX_START + 3, "lo"), ACTED);
	CHECK_EQ(word_at(&a.b, SERVER, TX_START), 0);
	/* gens of the future and the past */
	CHECK_EQ(close_tx(&a, c, 1, gen + 1, true), RMC_S_TX_STALE);
	CHECK_EQ(close_tx(&a, c, 1, gen - 1, true), RMC_S_TX_STALE);
	CHECK_EQ(intend(&a, c, 1, gen - 1, TX_START, 5), RMC_S_TX_STALE);
	CHECK_EQ(close_tx(&a, c, 1, gen, true), ACTED);
	CHECK(!memcmp(a.b.n[SERVER].seg + TX_START, "hello\0\0", 8));
	CHECK_EQ(close_tx(&a, c, 1, gen, true), ACTED);
	CHECK_EQ(close_tx(&a, c, 1, gen, false), RMC_S_PROTOCOL);
	CHECK_EQ(data(&a, c, 1, gen, TX_START, "later"), ACTED);
	CHECK_EQ(intend(&a, c, 1, gen, TX_START, 5), RMC_S_TX_STALE);
	CHECK_EQ(access_lines(&a, c, 1, gen, RMC_TX_KIND_READ, TX_START, 8), RMC_S_TX_STALE);
	CHECK_EQ(access_lines(&a, c, 1, gen + 1, RMC_TX_KIND_READ, TX_START, 8), RMC_S_OK);
	CHECK_EQ(close_tx(&a, c, 1, gen + 1, false), ACTED);
	CHECK(!memcmp(a.b.n[SERVER].seg + TX_START, "hello\0\0", 8));
	CHECK_EQ(close_tx(&a, d, 1, gen, false), ACTED);
	/* lines that it owns are locked with those that it writes, lines that it reads are not */
	CHECK_EQ(access_lines(&a, c, 2, 1, RMC_TX_KIND_READ, TX_START, 64), RMC_S_OK);
	CHECK_EQ(access_lines(&a, c, 2, 1, RMC_TX_KIND_OWN, TX_START + 64, 64), RMC_S_OK);
	CHECK_EQ(intend(&a, c, 2, 1, TX_START + 128, 64), ACTED);
	CHECK_EQ(access_lines(&a, d, 2, 1, RMC_TX_KIND_READ, TX_START, 64), RMC_S_OK);
	CHECK_EQ(access_lines(&a, d, 2, 1, RMC_TX_KIND_READ, TX_START + 64, 64), RMC_S_TX_LOCKED);
	CHECK_EQ(close_tx(&a, c, 2, 1, false), ACTED);
	CHECK_EQ(close_tx(&a, d, 2, 1, false), ACTED);
	/* it says that it was here, and nobody knows it */
	make_message(&m, 2, 2, RMC_TX_KIND_INTEND);
	m.head.flags = RMC_TX_HERE;
	CHECK_EQ(send_message(&a, c, RMC_OP_TX_INTEND, &m), RMC_S_TX_STALE);
	CHECK(bed_clean(&a.b));
	teardown(&a);
}

/* A source that opens all slots and closes none; a neighbour commits on the same lines. */
static void test_greedy(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0];
	u64 value = 42, got;
	u32 i, slot;

	setup(&a, o);
	for (i = 0; i < RMC_TX_SLOTS; i++) {
		CHECK_EQ(access_lines(&a, c, i, 1, RMC_TX_KIND_READ, TX_START, 64), RMC_S_OK);
		if (i < 20)
			CHECK_EQ(access_lines(&a, c, i, 1, RMC_TX_KIND_OWN, TX_START, 64),
				 RMC_S_OK);
	}
	/* some are prepared, too: these have read the line, and keep it from being written */
	for (i = 20; i < 36; i++)
		CHECK_EQ(intend(&a, c, i, 1, TX_START + 4096 + 64 * i, 64), ACTED);
	slot = bed_begin(&a.b, 0);
	CHECK_EQ(bed_read(&a.b, 0, slot, SERVER, TX_START, 8, &got), RMC_S_OK);
	CHECK_EQ(bed_write(&a.b, 0, slot, SERVER, TX_START + 128, &value, 8), 0);
	CHECK_EQ(bed_commit(&a.b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&a.b));
	CHECK_EQ(word_at(&a.b, SERVER, TX_START + 128), 42);
	/* the rest of it is gone with its next life, and with nothing else */
	rmc_tx_part_epoch(part(&a), c->ep);
	slot = bed_begin(&a.b, 0);
	CHECK_EQ(bed_write(&a.b, 0, slot, SERVER, TX_START, &value, 8), 0);
	CHECK_EQ(bed_commit(&a.b, 0, slot), RMC_S_OK);
	CHECK(bed_idle(&a.b));
	CHECK(bed_clean(&a.b));
	teardown(&a);
}

/* Several RRPPs: only the one of the context has its transactions. */
static void test_homes(const struct testbed_opts *o)
{
	struct client other;
	struct asked a;
	u32 u;

	setup(&a, o);
	for (u = 0; u < max(o->units, 1U); u++) {
		u32 ep = rmc_endpoint(a.b.w.fabric, SERVER) + u;

		if (ep == home_ep(&a))
			continue;
		client_init_at(&other, &a.b.w, a.c[0].ep, ep);
		CHECK_EQ(access_lines(&a, &other, 1, 1, RMC_TX_KIND_READ, TX_START, 8),
			 RMC_S_PROTOCOL);
		CHECK_EQ(close_tx(&a, &other, 1, 1, false), RMC_S_PROTOCOL);
	}
	CHECK(bed_clean(&a.b));
	CHECK_EQ(part(&a)->groups, 0);
	teardown(&a);
}

/* Status of a plain operation of node 0's application */
static int plain(struct app *app, u32 op, u64 offset, const void *buf, u32 length)
{
	return app_run(app, op, SERVER, offset, buf, length);
}

/* Plain writes and atomics are refused in the range, byte by byte, and nowhere else. */
static void test_plain(const struct testbed_opts *o)
{
	static u8 buf[32768] __attribute__((aligned(4096)));
	static const u32 ops[] = { RMC_OP_WRITE, RMC_OP_WRITE_ONCE, RMC_OP_WRITE_NOTIFY };
	u64 end = TX_START + TX_BYTES;
	struct rmc_rmw *rmw = (struct rmc_rmw *)buf;
	struct rmc_mem *mem;
	struct tx_bed b;
	struct app app;
	u32 i;

	bed_make(&b, o, 2);
	app_init(&app, &b.w, 0, CTX, 16);
	mem = mem_make(buf, sizeof(buf), 12, 0);
	rmc_bufs_add(&app.bufs, mem);
	memset(buf, 1, sizeof(buf));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		CHECK_EQ(plain(&app, ops[i], TX_START, buf, 1), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], end - 1, buf, 1), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], TX_START - 1, buf, 2), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], end - 1, buf, 2), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], TX_START - 4096, buf, 20000), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], end - 4096, buf, 20000), RMC_S_READ_ONLY);
		CHECK_EQ(plain(&app, ops[i], TX_START - 4096, buf, 4096), RMC_S_OK);
		CHECK_EQ(plain(&app, ops[i], end, buf, 20000), RMC_S_OK);
	}
	CHECK_EQ(plain(&app, RMC_OP_FAA, TX_START, buf, 8), RMC_S_READ_ONLY);
	CHECK_EQ(plain(&app, RMC_OP_CAS, end - 8, buf, 8), RMC_S_READ_ONLY);
	memset(rmw, 0, sizeof(*rmw));
	CHECK_EQ(plain(&app, RMC_OP_RMW, TX_START + 8, buf, 8), RMC_S_READ_ONLY);
	CHECK_EQ(plain(&app, RMC_OP_FAA, TX_START - 8, buf, 8), RMC_S_OK);
	for (i = 0; i < TX_BYTES; i++)
		if (b.n[SERVER].seg[TX_START + i])
			break;
	CHECK_EQ(i, TX_BYTES);
	CHECK_EQ(plain(&app, RMC_OP_READ, TX_START - 64, buf, 20000), RMC_S_OK);
	bed_unhome(&b, SERVER);
	CHECK_EQ(plain(&app, RMC_OP_WRITE, TX_START - 64, buf, 20000), RMC_S_OK);
	app_fini(&app);
	mem_free(mem);
	bed_free(&b);
}

/* Ranges of a node: what there can be, and a segment that is withdrawn */
static void test_ranges(const struct testbed_opts *o)
{
	struct rmc_tx_limits limits = { .start = TX_START, .length = 4096, .groups = 2 }, bad;
	struct rmc_tx_home *h[RMC_TX_HOMES], *again;
	struct rmc_node *unit;
	struct asked a;
	u32 i, epoch;

	setup(&a, o);
	unit = a.b.w.node[SERVER]->unit[0];
	again = rmc_tx_home_create(unit, CTX, a.b.n[SERVER].mem, &limits, NULL, NULL);
	CHECK_EQ(rmc_tx_homes_add(unit, again), -EBUSY);
	rmc_tx_home_destroy(again);
	for (i = 0; i < RMC_TX_HOMES; i++) {
		h[i] = rmc_tx_home_create(unit, 10 + i, a.b.n[SERVER].mem, &limits, NULL, NULL);
		CHECK_EQ(rmc_tx_homes_add(unit, h[i]), -EFAULT);
		unit->ct.seg[10 + i] = a.b.n[SERVER].mem;
		CHECK_EQ(rmc_tx_homes_add(unit, h[i]), i + 1 < RMC_TX_HOMES ? 0 : -ENOSPC);
	}
	for (i = 0; i < RMC_TX_HOMES; i++) {
		rmc_tx_homes_del(unit, h[i]);
		rmc_tx_homes_del(unit, h[i]);
		unit->ct.seg[10 + i] = NULL;
		rmc_tx_home_destroy(h[i]);
	}
	CHECK_EQ(unit->tx_homes.count, 1);
	CHECK(a.b.n[SERVER].mem->flags & RMC_MEM_TX);
	for (i = 0; i < 6; i++) {
		bad = limits;
		bad.start += i == 0;
		bad.length += i == 1;
		bad.length = i == 2 ? 0 : bad.length;
		bad.groups = i == 3 ? 0 : i == 4 ? RMC_TX_SOURCES + 1 : bad.groups;
		bad.length = i == 5 ? TX_SEG : bad.length;
		CHECK_EQ((long)rmc_tx_home_create(unit, 10, a.b.n[SERVER].mem, &bad, NULL, NULL),
			 i == 5 ? -EFAULT : -EINVAL);
	}
	for (i = 1; i <= 3; i++) {
		rmc_no_user_memory = i;
		CHECK(IS_ERR(rmc_tx_home_create(unit, 10, a.b.n[SERVER].mem, &limits, NULL, NULL)));
		rmc_no_user_memory = 0;
	}
	a.b.n[SERVER].mem->flags |= RMC_MEM_READONLY;
	CHECK_EQ((long)rmc_tx_home_create(unit, 10, a.b.n[SERVER].mem, &limits, NULL, NULL), -EROFS);
	a.b.n[SERVER].mem->flags &= ~RMC_MEM_READONLY;
	/* the source in its next life, and a packet of the life before */
	CHECK_EQ(intend(&a, &a.c[0], 1, 1, TX_START, 64), ACTED);
	epoch = a.b.n[SERVER].home->from[a.c[0].ep].epoch;
	CHECK_EQ(rmc_tx_home_hear(a.b.n[SERVER].home, a.c[0].ep, epoch + 1), RMC_S_OK);
	CHECK_EQ(part(&a)->locks, 0);
	CHECK_EQ(rmc_tx_home_hear(a.b.n[SERVER].home, a.c[0].ep, epoch), RMC_S_TX_STALE);
	CHECK_EQ(rmc_tx_home_hear(a.b.n[SERVER].home, a.b.n[SERVER].home->sources, 1),
		 RMC_S_PROTOCOL);
	a.b.n[SERVER].home->from[a.c[0].ep].epoch = epoch;
	/* withdrawn while a transaction is prepared */
	CHECK_EQ(intend(&a, &a.c[0], 1, 1, TX_START, 64), ACTED);
	seg_set(&a.b.w, SERVER, CTX, NULL);
	CHECK_EQ(data(&a, &a.c[0], 1, 1, TX_START, "gone"), RMC_S_BAD_CONTEXT);
	CHECK_EQ(close_tx(&a, &a.c[0], 1, 1, true), RMC_S_BAD_CONTEXT);
	CHECK_EQ(access_lines(&a, &a.c[0], 1, 2, RMC_TX_KIND_READ, TX_START, 8), RMC_S_BAD_CONTEXT);
	CHECK_EQ(unit->tx_homes.count, 0);
	seg_set(&a.b.w, SERVER, CTX, a.b.n[SERVER].mem);
	/* there is a segment, but no range */
	CHECK_EQ(access_lines(&a, &a.c[0], 1, 2, RMC_TX_KIND_READ, TX_START, 8), RMC_S_BAD_CONTEXT);
	a.b.n[SERVER].mem->flags = 0;
	rmc_tx_home_destroy(a.b.n[SERVER].home);
	a.b.n[SERVER].home = NULL;
	teardown(&a);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a message's packets in each order", test_orders },
		{ "packets of several messages", test_mixed },
		{ "more messages in parts than there is room for", test_many_parts },
		{ "packets that no message has", test_bad_messages },
		{ "bodies that no message has", test_bad_bodies },
		{ "too early, twice, too late", test_phases },
		{ "all slots opened and none closed", test_greedy },
		{ "packets for another RRPP", test_homes },
		{ "plain operations on a range", test_plain },
		{ "ranges that come and go", test_ranges },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "pair", .mtu = 64 },
		{ .ni = "split", .mtu = 512 },
		{ .ni = "edge", .units = 2, .mtu = 512 },
		{ .ni = "per_tile", .units = 4, .mtu = 64, .interleave = 256 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
