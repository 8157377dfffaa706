// SPDX-License-Identifier: GPL-2.0
/*
 * What a server answers, and when, if the test makes up the requests: packets that another
 * RRPP or none may serve; SABRes whose requests arrive in any order or never, or that lose
 * their segment, their source or their snapshot. Each request has one reply, and ending one
 * transfer does not affect others.
 */
#include "client.h"
#include "probe.h"
#include "setup.h"
#include "kmod/core/pipeline.h"

#define CLIENTS	4	/* nodes 2, 3, ..; node 1 serves them, with all its units */
#define GEN	9
#define OTHER	(CTX + 1)	/* another segment, of the same memory */

void (*rmc_between_passes)(void);
u32 rmc_no_memory;

struct asked {
	struct setup s;
	struct rmc_mem *other;
	struct client c[CLIENTS];	/* of the first unit of node 1 */
};

static void setup(struct asked *a, const struct testbed_opts *o, u32 mode)
{
	struct testbed_opts k = *o;
	u32 i;

	k.nodes = 2 + CLIENTS;
	k.kernels = true;
	setup_make(&a->s, &k, 16);
	fill(seg, SEG, 5);
	memset(seg, 0, 64);
	a->other = mem_make(seg, SEG, 12, 0);
	mem_objects(a->s.seg_mem, mode, 0);
	mem_objects(a->other, mode, 0);
	seg_set(&a->s.w, 1, OTHER, a->other);
	for (i = 0; i < CLIENTS; i++)
		client_init(&a->c[i], &a->s.w, 2 + i, rmc_endpoint(a->s.w.fabric, 1));
}

/* No other reply arrives, and no state of the requests is left. */
static void teardown(struct asked *a)
{
	struct rmc_rep r;
	u32 i;

	testbed_settle(&a->s.w);
	for (i = 0; i < CLIENTS; i++)
		CHECK(!client_reply(&a->c[i], &r));
	CHECK_EQ(testbed_transfers(&a->s.w, 1), 0);
	CHECK_EQ(a->s.w.node[1]->att.used, 0);
	CHECK_EQ(*(u32 *)(seg + 8), 0);		/* readers that hold the object */
	seg_set(&a->s.w, 1, OTHER, NULL);
	setup_free(&a->s);
	mem_free(a->other);
}

static struct rmc_node *server(struct asked *a)
{
	return a->s.w.node[1];
}

static u32 mtu(struct asked *a)
{
	return a->s.w.fabric->mtu;
}

static void send(struct client *c, u32 op, u32 ctx, u16 tid, u64 word1)
{
	client_send(c, rmc_req_word0(op, ctx, GEN, tid), word1);
}

/* Announce a SABRe of this many packets of the object at 0. */
static void announce(struct asked *a, struct client *c, u32 ctx, u16 tid, u32 packets)
{
	send(c, RMC_OP_SABRE, ctx, tid, rmc_announce_word1(0, packets * mtu(a)));
}

/* Its data requests */
static void want(struct asked *a, struct client *c, u32 ctx, u16 tid, u32 first, u32 end)
{
	for (; first < end; first++)
		send(c, RMC_OP_SABRE, ctx, tid, rmc_req_word1(first * mtu(a), mtu(a), false));
}

/* Status of the next reply; -1: there is none */
static int said(struct client *c, u16 tid)
{
	struct rmc_rep r;

	if (!client_reply(c, &r))
		return -1;
	CHECK_EQ(r.tid, tid);
	CHECK_EQ(r.gen, GEN);
	return r.status;
}

/* This many replies with this status, and no others */
static void check_said(struct client *c, u16 tid, u32 replies, u8 status)
{
	while (replies--)
		CHECK_EQ(said(c, tid), status);
	CHECK_EQ(said(c, tid), -1);
}

/* Serve all that can be served. */
static void settle(struct asked *a)
{
	testbed_settle(&a->s.w);
}

/* Send a request; returns the status of its reply. */
static int ask(struct asked *a, struct client *c, u32 op, u64 offset, u32 length)
{
	send(c, op, CTX, 1, rmc_req_word1(offset, length, true));
	settle(a);
	return said(c, 1);
}

/* A packet is no longer than the MTU, and has no more lines than that. */
static void test_mtu(const struct testbed_opts *o)
{
	struct testbed_opts long_blocks = *o;
	struct asked a;
	struct client *c = &a.c[0];

	long_blocks.interleave = 2 * RMC_MTU_DEFAULT;
	setup(&a, &long_blocks, RMC_SABRE_OVERLAPPED);
	CHECK_EQ(ask(&a, c, RMC_OP_READ, 0, o->mtu), RMC_S_OK);
	CHECK_EQ(ask(&a, c, RMC_OP_READ, 32, o->mtu - 32), RMC_S_OK);
	CHECK_EQ(ask(&a, c, RMC_OP_READ, 0, o->mtu + 1), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, c, RMC_OP_READ, 32, o->mtu), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, c, RMC_OP_READ, 1, o->mtu), RMC_S_PROTOCOL);
	/* not even if it continues the packet before it */
	send(c, RMC_OP_READ, CTX, 1, rmc_req_word1(0, 64, false));
	send(c, RMC_OP_READ, CTX, 1, rmc_req_word1(64, o->mtu + 64, true));
	settle(&a);
	CHECK_EQ(said(c, 1), RMC_S_OK);
	check_said(c, 1, 1, RMC_S_PROTOCOL);
	teardown(&a);
}

/*
 * An RRPP serves its own blocks only: two of them on one line could tear it. Only the first
 * one counts notifications; no RRPP takes one with a write.
 */
static void test_home(const struct testbed_opts *o)
{
	struct client other, *c;
	struct asked a;
	u32 block, i;

	if (max(o->rrpps ?: o->units, 1U) == 1)
		return;
	setup(&a, o, RMC_SABRE_OVERLAPPED);
	fill(seg, SEG, 6);
	memcpy(lbuf, seg, SEG);
	block = a.s.w.fabric->interleave;
	client_init(&other, &a.s.w, 2, rmc_home(a.s.w.fabric, 1, block));
	CHECK(other.to != a.c[0].to);
	for (i = 0; i < 2; i++) {
		u64 mine = i * block, others = (1 - i) * block;

		c = i ? &other : &a.c[0];
		CHECK_EQ(ask(&a, c, RMC_OP_READ, mine, 64), RMC_S_OK);
		CHECK_EQ(ask(&a, c, RMC_OP_READ, mine + block - 1, 1), RMC_S_OK);
		CHECK_EQ(ask(&a, c, RMC_OP_READ, others, 64), RMC_S_PROTOCOL);
		CHECK_EQ(ask(&a, c, RMC_OP_WRITE, others, 64), RMC_S_PROTOCOL);
		CHECK_EQ(ask(&a, c, RMC_OP_FAA, others, 8), RMC_S_PROTOCOL);
		/* up to a byte after its end */
		CHECK_EQ(ask(&a, c, RMC_OP_READ, mine + block - 32, 32), RMC_S_OK);
		CHECK_EQ(ask(&a, c, RMC_OP_READ, mine + block - 32, 33), RMC_S_PROTOCOL);
		/* the same as a run of packets */
		send(c, RMC_OP_READ, CTX, 1, rmc_req_word1(mine + block - 64, 64, false));
		send(c, RMC_OP_READ, CTX, 1, rmc_req_word1(mine + block, 64, true));
		settle(&a);
		CHECK_EQ(said(c, 1), RMC_S_OK);
		check_said(c, 1, 1, RMC_S_PROTOCOL);
		/* not valid anywhere; and notifications, at any offset */
		CHECK_EQ(ask(&a, c, RMC_OP_WRITE_NOTIFY, mine + 128, 64), RMC_S_PROTOCOL);
		CHECK_EQ(ask(&a, c, RMC_OP_NOTIFY, mine, 0), i ? RMC_S_PROTOCOL : RMC_S_OK);
		CHECK_EQ(ask(&a, c, RMC_OP_NOTIFY, others, 0), i ? RMC_S_PROTOCOL : RMC_S_OK);
		CHECK_EQ(a.s.seg_mem->notified.count, 2);
	}
	CHECK_EQ(said(&other, 1), -1);
	CHECK(!memcmp(seg, lbuf, SEG));
	*(u32 *)(seg + 8) = 0;
	teardown(&a);
}

/* Several units, and one has the RRPP: the others serve nothing. */
static void test_no_home(const struct testbed_opts *o)
{
	struct client other;
	struct asked a;

	if (o->units < 2 || o->rrpps != 1)
		return;
	setup(&a, o, RMC_SABRE_LOCKED);
	fill(seg, SEG, 6);
	memcpy(lbuf, seg, SEG);
	client_init(&other, &a.s.w, 2, rmc_endpoint(a.s.w.fabric, 1) + 1);
	CHECK(other.to != a.c[0].to);
	CHECK_EQ(ask(&a, &a.c[0], RMC_OP_READ, 0, 64), RMC_S_OK);
	CHECK_EQ(ask(&a, &other, RMC_OP_READ, 0, 64), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, &other, RMC_OP_WRITE, 0, 64), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, &other, RMC_OP_FAA, 0, 8), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, &other, RMC_OP_NOTIFY, 0, 0), RMC_S_PROTOCOL);
	announce(&a, &other, CTX, 1, 1);
	settle(&a);
	CHECK_EQ(said(&other, 1), RMC_S_PROTOCOL);
	CHECK(!memcmp(seg, lbuf, SEG));
	*(u32 *)(seg + 8) = 0;
	teardown(&a);
}

/* A tid is reused while the destination still waits for the rest of its last SABRe. */
static void test_generations(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0];
	struct rmc_rep r;
	u16 gen;
	u32 i;

	setup(&a, o, RMC_SABRE_LOCKED);
	for (gen = GEN; gen < GEN + 3; gen++) {
		client_send(c, rmc_req_word0(RMC_OP_SABRE, CTX, gen, 1),
			    rmc_announce_word1(0, 3 * o->mtu));
		settle(&a);
		CHECK(!client_reply(c, &r));
	}
	CHECK_EQ(testbed_transfers(&a.s.w, 1), 3);
	/* the second, then the first, then the third */
	for (i = 0; i < 3; i++) {
		gen = GEN + (i + 1) % 3 * 2 % 3;
		client_send(c, rmc_req_word0(RMC_OP_SABRE, CTX, gen, 1),
			    rmc_req_word1(0, o->mtu, false));
		settle(&a);
		CHECK(client_reply(c, &r));
		CHECK_EQ(r.status, RMC_S_OK);
		CHECK_EQ(r.gen, gen);
		CHECK(!client_reply(c, &r));
	}
	for (gen = GEN; gen < GEN + 3; gen++) {
		for (i = 1; i < 3; i++)
			client_send(c, rmc_req_word0(RMC_OP_SABRE, CTX, gen, 1),
				    rmc_req_word1(i * o->mtu, o->mtu, i == 2));
		settle(&a);
		for (i = 1; i < 4; i++) {
			CHECK(client_reply(c, &r));
			CHECK_EQ(r.status, RMC_S_OK);
			CHECK_EQ(r.gen, gen);
		}
		CHECK(!client_reply(c, &r));
	}
	teardown(&a);
}

/*
 * The table is full. Of the waiting transfers, one's segment is withdrawn: the requester gets a
 * reply to each of its requests, and a doorbell. The others get none, and keep their order.
 */
static void test_withdrawn_waiting(const struct testbed_opts *o)
{
	struct client *has, *first, *gone, *late;
	struct testbed_opts one = *o;
	struct asked a;

	one.att_entries = 1;
	setup(&a, &one, RMC_SABRE_LOCKED);
	has = &a.c[0];
	first = &a.c[1];
	gone = &a.c[2];
	late = &a.c[3];
	announce(&a, has, CTX, 1, 3);
	settle(&a);
	announce(&a, first, CTX, 2, 3);
	want(&a, first, CTX, 2, 0, 2);
	settle(&a);
	announce(&a, gone, OTHER, 3, 3);
	want(&a, gone, OTHER, 3, 0, 2);
	settle(&a);
	CHECK_EQ(said(first, 2), -1);
	CHECK_EQ(said(gone, 3), -1);
	client_called(gone);
	client_called(first);
	client_called(has);

	seg_set(&a.s.w, 1, OTHER, NULL);
	CHECK(client_called(gone));
	check_said(gone, 3, 3, RMC_S_BAD_CONTEXT);
	settle(&a);
	CHECK(!client_called(first));
	CHECK(!client_called(has));
	CHECK_EQ(said(first, 2), -1);
	CHECK_EQ(testbed_transfers(&a.s.w, 1), 2);
	/* a new transfer waits behind the remaining one */
	announce(&a, late, CTX, 4, 3);
	want(&a, late, CTX, 4, 0, 3);
	settle(&a);
	CHECK_EQ(said(late, 4), -1);
	want(&a, has, CTX, 1, 0, 3);
	settle(&a);
	check_said(has, 1, 4, RMC_S_OK);
	check_said(first, 2, 2, RMC_S_OK);
	CHECK_EQ(said(late, 4), -1);
	want(&a, first, CTX, 2, 2, 3);
	settle(&a);
	check_said(first, 2, 2, RMC_S_OK);
	check_said(late, 4, 4, RMC_S_OK);
	/* late requests of its source match no transfer */
	want(&a, gone, OTHER, 3, 2, 3);
	settle(&a);
	check_said(gone, 3, 1, RMC_S_BAD_CONTEXT);
	seg_set(&a.s.w, 1, OTHER, a.other);
	want(&a, gone, OTHER, 3, 2, 3);
	settle(&a);
	check_said(gone, 3, 1, RMC_S_SABRE_LOST);
	teardown(&a);
}

/* Two transfers are active, of one segment each; one segment is withdrawn. */
static void test_withdrawn_active(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0], *gone = &a.c[1];

	setup(&a, o, RMC_SABRE_LOCKED);
	announce(&a, c, CTX, 1, 3);
	announce(&a, c, OTHER, 2, 3);
	announce(&a, gone, OTHER, 3, 3);
	want(&a, gone, OTHER, 3, 0, 2);
	settle(&a);
	want(&a, c, CTX, 1, 0, 2);
	settle(&a);
	check_said(gone, 3, 2, RMC_S_OK);
	check_said(c, 1, 2, RMC_S_OK);
	client_called(c);
	client_called(gone);
	seg_set(&a.s.w, 1, OTHER, NULL);
	CHECK(client_called(c));
	CHECK(client_called(gone));
	check_said(gone, 3, 1, RMC_S_BAD_CONTEXT);
	check_said(c, 2, 1, RMC_S_BAD_CONTEXT);
	want(&a, c, CTX, 1, 2, 3);
	settle(&a);
	check_said(c, 1, 2, RMC_S_OK);
	teardown(&a);
}

/* Requests do not arrive for too long: the source gets a reply and a doorbell. */
static void test_silent(const struct testbed_opts *o)
{
	struct asked a;
	struct client *c = &a.c[0];

	setup(&a, o, RMC_SABRE_LOCKED);
	announce(&a, c, CTX, 1, 3);
	want(&a, c, CTX, 1, 0, 2);
	settle(&a);
	check_said(c, 1, 2, RMC_S_OK);
	client_called(c);
	testbed_pass(&a.s.w, RMC_ATT_STALL_MS);
	CHECK(!client_called(c));
	testbed_pass(&a.s.w, 8);
	CHECK(client_called(c));
	check_said(c, 1, 1, RMC_S_SABRE_LOST);
	want(&a, c, CTX, 1, 2, 3);
	settle(&a);
	check_said(c, 1, 1, RMC_S_SABRE_LOST);
	teardown(&a);
}

/* All requests have arrived, and reading takes long: the transfer does not stall out. */
static void test_slow_reading(const struct testbed_opts *o)
{
	u32 packets = min(64U, SEG / o->mtu), i;
	struct testbed_opts small = *o;
	struct asked a;
	struct client *c = &a.c[0];

	/* runs of a packet or two */
	small.pay_order = max(1U, (u32)ilog2(o->mtu / RMC_LINE));
	setup(&a, &small, RMC_SABRE_LOCKED);
	announce(&a, c, CTX, 1, packets);
	want(&a, c, CTX, 1, 0, packets);
	for (i = 0; i <= packets / RMC_POLL_BUDGET; i++)
		rmc_rrpp_poll(server(&a));
	CHECK_EQ(server(&a)->att.used, 1);
	testbed_pass(&a.s.w, 2 * RMC_ATT_STALL_MS);
	settle(&a);
	check_said(c, 1, packets + 1, RMC_S_OK);
	teardown(&a);
}

/*
 * All of a SABRe is requested at once, more bytes than a ring holds: it continues as its
 * replies are consumed, and nothing is written beyond the ring.
 */
static void test_long_at_once(const struct testbed_opts *o)
{
	struct testbed_opts small = *o;
	u32 bytes, packets, at, i;
	u8 *end, *got;
	struct asked a;
	struct client *c = &a.c[0];
	struct rmc_rep r;

	small.ring_order = 5;
	small.pay_order = max(3U, (u32)ilog2(o->mtu / RMC_LINE));
	setup(&a, &small, RMC_SABRE_OVERLAPPED);
	bytes = RMC_LINE << small.pay_order;
	packets = 3 * bytes / o->mtu;
	got = malloc(3 * bytes);
	/* the channel's memory is whole pages */
	end = c->rep.pay + bytes;
	for (i = 0; (uintptr_t)(end + i) % PAGE; i++)
		end[i] = 0x77;
	/* another transfer is active: this one gets one run per poll */
	announce(&a, &a.c[1], CTX, 2, 2);
	settle(&a);
	announce(&a, c, CTX, 1, packets);
	want(&a, c, CTX, 1, 0, packets);
	for (i = 0, at = 0; i < 20 && at < packets; i++) {
		rmc_rrpp_poll(server(&a));
		while (client_reply(c, &r)) {
			CHECK_EQ(r.status, RMC_S_OK);
			if (rmc_word1_announces(r.word1))
				break;
			CHECK(at < packets);
			memcpy(got + at * o->mtu, rmc_ring_line(&c->rep, c->rep.pay_pos), o->mtu);
			c->rep.pay_pos += o->mtu / RMC_LINE;
			at++;
		}
	}
	CHECK_EQ(at, packets);
	CHECK(!memcmp(got, seg, 3 * bytes));
	for (i = 0; (uintptr_t)(end + i) % PAGE && end[i] == 0x77; i++)
		;
	CHECK(!((uintptr_t)(end + i) % PAGE));
	want(&a, &a.c[1], CTX, 2, 0, 2);
	settle(&a);
	check_said(&a.c[1], 2, 3, RMC_S_OK);
	free(got);
	teardown(&a);
}

/* The source that has the table's entry goes down: the next one gets it when that is noticed. */
static void test_source_gone(const struct testbed_opts *o)
{
	struct testbed_opts one = *o;
	struct client *has, *next;
	struct asked a;

	one.att_entries = 1;
	setup(&a, &one, RMC_SABRE_LOCKED);
	has = &a.c[0];
	next = &a.c[1];
	announce(&a, has, CTX, 1, 3);
	want(&a, has, CTX, 1, 0, 1);
	settle(&a);
	check_said(has, 1, 1, RMC_S_OK);
	announce(&a, next, CTX, 2, 3);
	settle(&a);
	want(&a, next, CTX, 2, 0, 3);
	settle(&a);
	CHECK_EQ(said(next, 2), -1);
	rmc_node_leave(a.s.w.node[2]);
	testbed_tick(&a.s.w, 1);
	settle(&a);
	check_said(next, 2, 4, RMC_S_OK);
	CHECK_EQ(said(has, 1), -1);
	teardown(&a);
}

/* A writer that ignores the lock changes the object before the destination checks the version. */
static void store_version(void)
{
	*(u64 *)seg = 4;
}

/* The last line has been read, but not the version again: no snapshot. */
static void test_late_write(const struct testbed_opts *o)
{
	u32 packets = o->mtu > 512 ? 1 : 2, mode, at_once, i;

	for (mode = RMC_SABRE_OVERLAPPED; mode <= RMC_SABRE_LOCKED; mode++)
		for (at_once = 0; at_once < 2; at_once++) {
			struct asked a;
			struct client *c = &a.c[0];

			setup(&a, o, mode);
			*(u64 *)seg = 2;
			announce(&a, c, CTX, 1, packets);
			if (!at_once)
				settle(&a);
			want(&a, c, CTX, 1, 0, packets);
			rmc_between_passes = store_version;
			settle(&a);
			rmc_between_passes = NULL;
			for (i = 0; i < packets; i++)
				CHECK_EQ(said(c, 1), at_once ? RMC_S_SABRE_ABORTED : RMC_S_OK);
			check_said(c, 1, 1, RMC_S_SABRE_ABORTED);
			CHECK_EQ(*(u32 *)(seg + 8), 0);
			/* in one packet, without an announcement */
			*(u64 *)seg = 2;
			rmc_between_passes = store_version;
			send(c, RMC_OP_SABRE, CTX, 2,
			     rmc_req_word1(0, o->mtu, true) | RMC_REQ_FIRST);
			settle(&a);
			rmc_between_passes = NULL;
			check_said(c, 2, 1, RMC_S_SABRE_ABORTED);
			*(u64 *)seg = 0;
			teardown(&a);
		}
}

/* An opcode that only packets have: a peer's request is served, an application cannot name it. */
static void test_wire_only(const struct testbed_opts *o)
{
	u32 served = probes_served;
	struct asked a;

	setup(&a, o, RMC_SABRE_LOCKED);
	CHECK_EQ(ask(&a, &a.c[0], RMC_OP_PROBE, 0, 0), RMC_S_OK);
	CHECK_EQ(probes_served, served + 1);
	CHECK_EQ(probe_from, a.c[0].ep);
	CHECK_EQ(ask(&a, &a.c[1], RMC_OP_PROBE, 0, 0), RMC_S_OK);
	CHECK_EQ(probe_from, a.c[1].ep);
	served++;
	CHECK_EQ(ask(&a, &a.c[0], RMC_OP_PROBE, 0, 8), RMC_S_PROTOCOL);
	CHECK_EQ(ask(&a, &a.c[0], RMC_OP_PROBE_HOME + 1, 0, 0), RMC_S_BAD_OP);
	/* no RMC sends one */
	CHECK_EQ(ask(&a, &a.c[0], RMC_OP_RESUME, 0, 0), RMC_S_BAD_OP);
	CHECK_EQ(probes_served, served + 1);
	CHECK(!(rmc_op_mask() >> RMC_OP_WIRE));
	CHECK_EQ(rmc_op_flags(RMC_OP_PROBE & RMC_WQE_OP_MASK), 0);
	teardown(&a);
}

/*
 * An operation of one home that is not announced: all its packets are the first byte's RRPP's,
 * whichever blocks they lie in and cross. Only its first packet can be at the wrong one.
 */
static void test_one_home(const struct testbed_opts *o)
{
	u32 served = homes_served, i;
	struct asked a;

	setup(&a, o, RMC_SABRE_LOCKED);
	for (i = 0; i < 4; i++)
		CHECK_EQ(ask(&a, &a.c[0], RMC_OP_PROBE_HOME, i * o->mtu, o->mtu), RMC_S_OK);
	CHECK_EQ(homes_served, served + 4);
	if (o->units > 1 && o->rrpps != 1) {
		send(&a.c[0], RMC_OP_PROBE_HOME, CTX, 1,
		     rmc_req_word1(a.s.w.fabric->interleave, 64, true) | RMC_REQ_FIRST);
		settle(&a);
		check_said(&a.c[0], 1, 1, RMC_S_PROTOCOL);
	}
	teardown(&a);
}

int main(void)
{
	static const struct matrix_test tests[] = {
		{ "a packet is not longer than the MTU", test_mtu },
		{ "an RRPP serves its blocks, the first one notifies", test_home },
		{ "several units with one RRPP: the others serve nothing", test_no_home },
		{ "a tid comes again, and the SABRE before is not over", test_generations },
		{ "one of those that wait is withdrawn", test_withdrawn_waiting },
		{ "one of those that are read is withdrawn", test_withdrawn_active },
		{ "a silent source hears that its SABRE ended", test_silent },
		{ "nobody is blamed for slow reading", test_slow_reading },
		{ "asked for at once, and longer than the ring", test_long_at_once },
		{ "the source that has the entry goes down", test_source_gone },
		{ "a write between the last line and the check of the version", test_late_write },
		{ "an opcode of packets alone", test_wire_only },
		{ "an operation of one home that is not announced", test_one_home },
	};
	static const struct testbed_opts opts[] = {
		{ .ni = "fused", .mtu = 64 },
		{ .ni = "pair", .mtu = 512 },
		{ .ni = "fused", .mtu = 4096 },
		{ .ni = "edge", .units = 2, .interleave = 256, .mtu = 512 },
		{ .ni = "edge", .units = 2, .rrpps = 1, .mtu = 512 },
		{ .ni = "per_tile", .units = 4, .rrpps = 2, .interleave = 256, .mtu = 64 },
	};

	matrix_run(tests, ARRAY_SIZE(tests), opts, ARRAY_SIZE(opts));
	return matrix_done();
}
