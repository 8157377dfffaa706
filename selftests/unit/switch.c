// SPDX-License-Identifier: GPL-2.0
/* The switch model by itself: a packet at a time through its stages, and its control plane. */
#include <string.h>
#include "kmod/fabric/fabric.h"
#include "kmod/fabric/switch.h"
#include "kmod/base/opcode.h"
#include "../tap.h"

#define CTX	3
#define BYTES	128
#define TUPLES	64
#define WORDS	16
#define LAST	((u64)BYTES * TUPLES)	/* where the words begin */

/* The storage node's memory, and the switch before it */
static u64 memory[BYTES * TUPLES / 8 + 5000];
static bool gone;
static struct rmc_fabric fabric;
static struct rmc_switch *sw;
static u32 done;	/* of the last demotion */
static u32 psn[4];

static u64 *word(void *arg, u16 ctx_id, u64 offset)
{
	(void)arg;
	if (gone || ctx_id < CTX || ctx_id >= CTX + RMC_SWITCH_RANGES || offset >= sizeof(memory) || offset & 7)
		return NULL;
	return &memory[offset / 8];
}

static const struct rmc_switch_memory mem = { .word = word };

static int add(u32 begin, u32 stride, u32 bytes, u32 count, bool words)
{
	struct rmc_switch_range r = {
		.ctx_id = CTX, .begin = begin, .stride = stride, .bytes = bytes, .count = count,
		.words = words, .mem = memory,
	};
	int err = rmc_switch_check(&fabric, &r);

	if (err)
		return err;
	r.slot = rmc_os_zalloc(count * sizeof(*r.slot));
	err = rmc_switch_add(sw, &r);
	rmc_os_free(r.slot);
	return err;
}

/* A switch before node 0 that has all tuples, for four nodes */
static void begin(void)
{
	u32 i;

	fabric = (struct rmc_fabric){
		.nodes = 4, .mtu = 1024, .interleave = RMC_INTERLEAVE,
		.ring_order = RMC_RING_ORDER, .pay_order = RMC_PAY_ORDER,
	};
	CHECK_EQ(rmc_fabric_check(&fabric), 0);
	memset(memory, 0, sizeof(memory));
	gone = false;
	sw = rmc_switch_create(&fabric, 0, TUPLES + WORDS, 1, 0);
	for (i = 0; i < 4; i++) {
		psn[i] = 1000 * i - 5;
		rmc_switch_join(sw, i, psn[i]);
	}
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, TUPLES, &mem), 0);
}

static void end(void)
{
	u32 i, waits = 0, latched = 0;

	/* the counters are what they count */
	for (i = 0; i < sw->registers; i++) {
		waits += sw->users[i].reads + sw->users[i].writes;
		latched += !!sw->tuple[i].holder;
	}
	CHECK_EQ(sw->waits, waits);
	CHECK_EQ(sw->latched, latched);
	for (i = 0; i < RMC_SWITCH_CLIENTS; i++)
		waits -= !!sw->client[i].owed;
	CHECK_EQ(waits, 0);
	/* what was passed on had the number that the receiver expects */
	CHECK_EQ(sw->stats.psn_errors, 0);
	rmc_switch_destroy(sw);
}

static struct rmc_switch_packet packet(u32 source, u8 op, u64 offset, u32 length)
{
	return (struct rmc_switch_packet){
		.source = source, .psn = psn[source], .ctx_id = CTX, .op = op, .offset = offset,
		.length = length,
	};
}

static struct rmc_switch_packet last;	/* what became of it */

/* A request, with the next number of its source; "verdict" */
static int send(u32 source, u8 op, u64 offset, u32 length, u64 a, u64 b)
{
	last = packet(source, op, offset, length);
	last.operand[0] = a;
	last.operand[1] = b;
	psn[source]++;
	rmc_switch_request(sw, &last);
	return last.verdict;
}

/* The reply of the storage node */
static void reply(u32 source, u8 op, u64 offset, u32 length, u8 status)
{
	last = packet(source, op, offset, length);
	last.status = status;
	rmc_switch_reply(sw, &last);
}

#define VERSION(v)	(RMC_SWITCH_SWITCHED | 1ULL << RMC_SWITCH_EPOCH_SHIFT | (v))

static u64 version(u32 tuple)
{
	CHECK_EQ(send(3, RMC_OP_READ, tuple * BYTES, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_OK);
	return last.word;
}

/* Latch a tuple; returns true if the switch did. */
static bool latch(u32 source, u32 tuple, u64 expected)
{
	CHECK_EQ(send(source, RMC_OP_CAS, tuple * BYTES, 8, expected, expected + 1),
		 RMC_SWITCH_ANSWER);
	return !last.status && last.word == expected;
}

/* A whole write by who has the latch; the storage node does what it was passed. */
static void write_tuple(u32 source, u32 tuple, u64 grant)
{
	CHECK_EQ(send(source, RMC_OP_WRITE, tuple * BYTES, BYTES, grant, 0), RMC_SWITCH_FORWARD);
	CHECK(last.changed);
	memory[tuple * BYTES / 8] = last.word;
	reply(source, RMC_OP_WRITE, tuple * BYTES, BYTES, RMC_S_OK);
	CHECK(!last.changed);
}

/* The verdict that a read finds in its first 8 bytes */
static u64 read_tuple(u32 source, u32 tuple)
{
	CHECK_EQ(send(source, RMC_OP_READ, tuple * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	reply(source, RMC_OP_READ, tuple * BYTES, BYTES, RMC_S_OK);
	CHECK(last.changed);
	return last.word;
}

/* R25 table 2, row by row */
static void test_packet_types(void)
{
	begin();
	CHECK_EQ(memory[0], VERSION(0));
	CHECK_EQ(version(0), VERSION(0));
	CHECK_EQ(last.type, RMC_SWITCH_READ_VERSION);
	CHECK(latch(0, 0, VERSION(0)));
	CHECK_EQ(last.type, RMC_SWITCH_LATCH);
	CHECK_EQ(version(0), VERSION(1));
	/* memory is not told: that is what the write does */
	CHECK_EQ(memory[0], VERSION(0));
	CHECK(!latch(1, 0, VERSION(0)));
	CHECK_EQ(last.word, VERSION(1));

	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(last.type, RMC_SWITCH_WRITE_REQ);
	CHECK(last.changed && last.word == VERSION(2));
	CHECK_EQ(version(0), VERSION(1));
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.type, RMC_SWITCH_WRITE_REP);
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(sw->tuple[sw->range[0].slot[0] - 1].holder, 0);

	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(last.type, RMC_SWITCH_READ_REQ);
	CHECK(!last.changed);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.type, RMC_SWITCH_READ_REP);
	CHECK_EQ(last.word, VERSION(2) | RMC_SWITCH_VERIFIED);
	/* an error has no payload to put it into */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_BUSY);
	CHECK(!last.changed && last.status == RMC_S_BUSY);
	CHECK_EQ(read_tuple(1, 0), VERSION(2) | RMC_SWITCH_VERIFIED);

	/* neighbours and others are passed on as they are */
	CHECK_EQ(send(1, RMC_OP_READ, LAST, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK(!last.changed && last.type == RMC_SWITCH_OTHER);
	CHECK_EQ(send(1, RMC_OP_NOTIFY, 0, 0, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(1, RMC_OP_SEND, 0, 64, 0, 0), RMC_SWITCH_FORWARD);
	last = packet(1, RMC_OP_READ, 0, BYTES);
	last.ctx_id = CTX + 1;
	psn[1]++;
	rmc_switch_request(sw, &last);
	CHECK(last.verdict == RMC_SWITCH_FORWARD && last.type == RMC_SWITCH_OTHER);
	CHECK_EQ(sw->stats.latches, 1);
	CHECK_EQ(sw->stats.unlatches, 1);
	end();
}

/* Of reads and writes in all orders, a read that overlaps a write never is verified. */
static void test_reads_beside_writes(void)
{
	begin();
	/* the write is over before its reply comes back */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK(latch(0, 0, VERSION(0)));
	write_tuple(0, 0, VERSION(1));
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	/* latched before the request and behind the reply: the same word, and odd */
	CHECK(latch(0, 0, VERSION(2)));
	CHECK_EQ(read_tuple(1, 0), RMC_SWITCH_FAILED);
	/* latched before the request, free before the reply */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	write_tuple(0, 0, VERSION(3));
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	/* latched between them */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK(latch(0, 0, VERSION(4)));
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	write_tuple(0, 0, VERSION(5));
	CHECK_EQ(read_tuple(1, 0), VERSION(6) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(sw->stats.failed_reads, 4);
	/* two clients read two tuples: each has its own registers */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(2, RMC_OP_READ, BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK(latch(0, 1, VERSION(0)));
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, VERSION(6) | RMC_SWITCH_VERIFIED);
	reply(2, RMC_OP_READ, BYTES, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	end();
}

/* Who has no latch neither writes nor unlatches. */
static void test_latches(void)
{
	begin();
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(0), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK(latch(0, 0, VERSION(0)));
	/* another client, which has read the word of the latch */
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, VERSION(1), VERSION(2)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(version(0), VERSION(1));
	/* another queue pair of the same node is another client */
	last = packet(0, RMC_OP_WRITE, 0, BYTES);
	last.operand[0] = VERSION(1);
	last.group = 1;
	psn[0]++;
	rmc_switch_request(sw, &last);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	/* a write that failed in memory has changed nothing: try again, or give it up */
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_FORWARD);
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_BUSY);
	CHECK_EQ(version(0), VERSION(1));
	CHECK_EQ(send(0, RMC_OP_CAS, 0, 8, VERSION(1), VERSION(2)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, VERSION(1));
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(sw->stats.unlatches, 1);
	CHECK_EQ(sw->latched, 0);
	/* the reply to a write that the switch has not passed */
	CHECK(latch(0, 2, VERSION(0)));
	reply(0, RMC_OP_WRITE, 2 * BYTES, BYTES, RMC_S_OK);
	CHECK_EQ(version(2), VERSION(1));
	/* the client of a refused write is free: the packet passed stage 1 once more */
	CHECK_EQ(sw->stats.stale_writes, 3);
	CHECK_EQ(read_tuple(0, 0), VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK(!sw->waits);
	/* the version after the last one would be the next epoch */
	sw->tuple[sw->range[0].slot[1] - 1].word = VERSION(RMC_SWITCH_VERSION - 1);
	CHECK_EQ(send(0, RMC_OP_CAS, BYTES, 8, VERSION(RMC_SWITCH_VERSION - 1),
		      VERSION(RMC_SWITCH_VERSION)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_NO_VERSION);
	end();
}

/* The reply to a write is lost behind the switch: the write comes again, as it may (back-to-0). */
static void test_repeated(void)
{
	begin();
	CHECK(latch(0, 0, VERSION(0)));
	write_tuple(0, 0, VERSION(1));
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_OK);
	CHECK_EQ(version(0), VERSION(2));
	/* also if somebody has latched the tuple since; not one that others have not done */
	CHECK(latch(1, 0, VERSION(2)));
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_OK);
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(version(0), VERSION(3));
	/* its client is free each time */
	CHECK_EQ(read_tuple(0, 1), VERSION(0) | RMC_SWITCH_VERIFIED);
	write_tuple(1, 0, VERSION(3));
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	/* of an earlier connection */
	rmc_switch_leave(sw, 1);
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	/* given free without a write */
	CHECK(latch(0, 2, VERSION(0)));
	CHECK(latch(0, 2, VERSION(1)));
	CHECK_EQ(send(0, RMC_OP_WRITE, 2 * BYTES, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	end();
}

static int refusal(u32 source, u8 op, u64 offset, u32 length)
{
	CHECK_EQ(send(source, op, offset, length, VERSION(0), VERSION(1)), RMC_SWITCH_ANSWER);
	return last.status;
}

/* What would bypass the protocol */
static void test_refused(void)
{
	begin();
	CHECK_EQ(refusal(0, RMC_OP_READ, 0, 16), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_READ, 8, 8), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_READ, 64, BYTES), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_READ, 0, 2 * BYTES), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_READ, LAST - 64, 128), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_WRITE, 0, 8), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_WRITE, 8, BYTES - 8), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_CAS, 0, 4), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_CAS, 0, 16), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(0, RMC_OP_CAS, 8, 8), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_FAA, 0, 8), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_RMW, 0, 8), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_WRITE_NOTIFY, 0, BYTES), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_SABRE, 0, BYTES), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_SABRE, 0, 4 << 20), RMC_S_BAD_OP);
	CHECK_EQ(refusal(0, RMC_OP_READ, 0, ~0U), RMC_S_BAD_LENGTH);
	/* a latch is the step to the next word */
	CHECK_EQ(send(0, RMC_OP_CAS, 0, 8, VERSION(0), VERSION(3)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_BAD_OP);
	CHECK_EQ(version(0), VERSION(0));
	CHECK_EQ(sw->stats.refused, 17);
	end();
}

/* One tuple operation of a client at a time, and so many clients */
static void test_clients(void)
{
	u32 i, left = 0;

	begin();
	CHECK_EQ(send(0, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(refusal(0, RMC_OP_READ, BYTES, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(0, RMC_OP_READ, 0, BYTES), RMC_S_BUSY);
	/* what has no register of a client is no such operation */
	CHECK(latch(0, 1, VERSION(0)));
	CHECK_EQ(refusal(0, RMC_OP_WRITE, BYTES, BYTES), RMC_S_BUSY);
	/* the reply to another packet is not the one that stage 1 waits for */
	reply(0, RMC_OP_READ, 2 * BYTES, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_OK);
	CHECK_EQ(version(0), VERSION(0));
	reply(0, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, VERSION(0) | RMC_SWITCH_VERIFIED);
	/* once only */
	reply(0, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);

	for (; sw->free_clients; sw->free_clients--)
		left++;
	CHECK_EQ(left, RMC_SWITCH_CLIENTS - 1);
	CHECK_EQ(refusal(1, RMC_OP_READ, 0, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(1, RMC_OP_WRITE, 0, BYTES), RMC_S_BUSY);
	/* a latch needs no id, and who has one keeps it */
	CHECK(latch(1, 3, VERSION(0)));
	CHECK_EQ(read_tuple(0, 0), VERSION(0) | RMC_SWITCH_VERIFIED);
	/* the id of who leaves is free, and so is what it was used for */
	CHECK_EQ(send(0, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	rmc_switch_leave(sw, 0);
	CHECK_EQ(sw->free_clients, 1);
	CHECK_EQ(read_tuple(1, 0), VERSION(0) | RMC_SWITCH_VERIFIED);
	/* nobody's reply */
	reply(0, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	for (i = 0; i < RMC_SWITCH_CLIENTS; i++)
		CHECK(!sw->client[i].key || sw->client[i].key >> 16 == 1 + 1 * RMC_REQ_GROUPS);
	end();
}

/* A client's place in the table: many come and go, and each finds its own registers. */
static void test_client_table(void)
{
	const u32 n = 3 * RMC_REQ_GROUPS * RMC_SWITCH_RANGES;
	u32 round, i;

	begin();
	for (i = 1; i < RMC_SWITCH_RANGES; i++) {
		struct rmc_switch_range r = {
			.ctx_id = CTX + i, .stride = BYTES, .bytes = BYTES, .count = 1,
			.mem = memory, .slot = rmc_os_zalloc(sizeof(*r.slot)),
		};

		CHECK_EQ(rmc_switch_add(sw, &r), 0);
		CHECK_EQ(rmc_switch_promote(sw, CTX + i, 0, 1, &mem), 0);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < n; i++) {
			last = packet(i % 3, RMC_OP_READ, 0, BYTES);
			last.group = i / 3 % RMC_REQ_GROUPS;
			last.ctx_id = CTX + i / 3 / RMC_REQ_GROUPS;
			psn[last.source]++;
			rmc_switch_request(sw, &last);
			CHECK_EQ(last.verdict, RMC_SWITCH_FORWARD);
		}
		CHECK_EQ(RMC_SWITCH_CLIENTS - sw->free_clients, n);
		/* in another order than they came in */
		rmc_switch_leave(sw, round);
		CHECK_EQ(RMC_SWITCH_CLIENTS - sw->free_clients, n / 3 * 2);
		for (i = 0; i < n; i++) {
			last = packet(i % 3, RMC_OP_READ, 0, BYTES);
			last.group = i / 3 % RMC_REQ_GROUPS;
			last.ctx_id = CTX + i / 3 / RMC_REQ_GROUPS;
			last.status = RMC_S_OK;
			rmc_switch_reply(sw, &last);
			CHECK_EQ(last.word != RMC_SWITCH_FAILED, i % 3 != round);
		}
		rmc_switch_leave(sw, (round + 1) % 3);
		rmc_switch_leave(sw, (round + 2) % 3);
		CHECK_EQ(sw->free_clients, RMC_SWITCH_CLIENTS);
	}
	for (i = 0; i < RMC_SWITCH_CLIENTS; i++)
		CHECK_EQ(sw->bucket[i], 0);
	end();
}

/* Two contexts of one unit: operations of one do not keep those of the other waiting. */
static void test_contexts(void)
{
	struct rmc_switch_range r = {
		.ctx_id = CTX + 1, .stride = BYTES, .bytes = BYTES, .count = TUPLES,
		.mem = memory + 1,
	};
	struct rmc_switch_packet other;

	begin();
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, TUPLES, &done, &mem), 0);
	r.slot = rmc_os_zalloc(r.count * sizeof(*r.slot));
	CHECK_EQ(rmc_switch_add(sw, &r), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX + 1, BYTES, 1, &mem), 0);
	CHECK_EQ(send(0, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	other = packet(0, RMC_OP_READ, BYTES, BYTES);
	other.ctx_id = CTX + 1;
	psn[0]++;
	rmc_switch_request(sw, &other);
	CHECK_EQ(other.verdict, RMC_SWITCH_FORWARD);
	/* each gets the verdict on its own tuple */
	CHECK(latch(1, 0, version(0)));
	reply(0, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	other.status = RMC_S_OK;
	rmc_switch_reply(sw, &other);
	CHECK(other.word != RMC_SWITCH_FAILED && other.word & RMC_SWITCH_VERIFIED);
	end();
}

/* A duplicate changes nothing: the first one may be answered, and undone, long ago. */
static void test_duplicates(void)
{
	struct rmc_switch_packet again;

	begin();
	again = packet(0, RMC_OP_CAS, 0, 8);
	again.operand[0] = VERSION(0);
	again.operand[1] = VERSION(1);
	CHECK(latch(0, 0, VERSION(0)));
	last = again;
	rmc_switch_request(sw, &last);
	CHECK_EQ(last.verdict, RMC_SWITCH_DROP);
	/* words come again, unlike versions */
	CHECK_EQ(add(LAST, 8, 8, WORDS, true), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST, WORDS, &mem), 0);
	again = packet(0, RMC_OP_CAS, LAST, 8);
	again.operand[1] = 7;
	CHECK_EQ(send(0, RMC_OP_CAS, LAST, 8, 0, 7), RMC_SWITCH_ANSWER);
	CHECK_EQ(send(0, RMC_OP_CAS, LAST, 8, 7, 0), RMC_SWITCH_ANSWER);
	rmc_switch_request(sw, &again);
	CHECK_EQ(again.verdict, RMC_SWITCH_DROP);
	CHECK_EQ(send(1, RMC_OP_READ, LAST, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, 0);
	/* also of what is passed on: the receiver expects the next one */
	again = packet(0, RMC_OP_READ, LAST + 8 * WORDS, 64);
	CHECK_EQ(send(0, RMC_OP_READ, LAST + 8 * WORDS, 64, 0, 0), RMC_SWITCH_FORWARD);
	rmc_switch_request(sw, &again);
	CHECK_EQ(again.verdict, RMC_SWITCH_DROP);
	CHECK_EQ(sw->stats.duplicates, 3);
	/* one from before the connection */
	last = packet(2, RMC_OP_CAS, LAST, 8);
	last.psn -= 1;
	last.operand[1] = 9;
	rmc_switch_request(sw, &last);
	CHECK_EQ(last.verdict, RMC_SWITCH_DROP);
	end();
}

/* The receiver's number is the sender's less what was answered, whatever comes between. */
static void test_psn(void)
{
	u32 i, seed = 1, forwarded = 0, first;

	begin();
	first = psn[0];
	for (i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		switch (seed >> 29) {
		case 0:
			version(seed % TUPLES);
			break;
		case 1:
			psn[0]++;
			rmc_switch_lost(sw, 0);
			forwarded++;
			break;
		case 2:
			refusal(0, RMC_OP_FAA, 0, 8);
			break;
		case 3:
			send(0, RMC_OP_CAS, 0, 8, version(0), version(0) + 1);
			break;
		default:
			read_tuple(0, seed % TUPLES);
			CHECK_EQ(psn[0] - first - sw->offset[0].psn, ++forwarded);
		}
	}
	CHECK(sw->offset[0].psn > 1000);
	end();
}

/* Recovery: versions from memory; who had a latch before has none. */
static void test_crash(void)
{
	u64 v2 = RMC_SWITCH_SWITCHED | 2ULL << RMC_SWITCH_EPOCH_SHIFT | 2;
	struct rmc_switch_packet before[3];
	u32 i;

	begin();
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EINVAL);
	CHECK(latch(0, 0, VERSION(0)));
	write_tuple(0, 0, VERSION(1));
	CHECK(latch(0, 0, VERSION(2)));
	CHECK(latch(1, 1, VERSION(0)));
	/* on their way to the storage node, or back */
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(2, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(3, RMC_OP_READ, 5 * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	/* the last of each source was passed on, answered, refused or lost before the switch */
	before[0] = packet(0, RMC_OP_WRITE, LAST, BYTES);
	CHECK_EQ(send(0, RMC_OP_WRITE, LAST, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	before[1] = packet(1, RMC_OP_READ, 0, 8);
	CHECK_EQ(send(1, RMC_OP_READ, 0, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(refusal(2, RMC_OP_FAA, 0, 8), RMC_S_BAD_OP);
	before[2] = packet(2, RMC_OP_READ, LAST, BYTES);
	psn[2]++;
	rmc_switch_lost(sw, 2);
	rmc_switch_crash(sw);
	/* duplicates of what came before */
	for (i = 0; i < 3; i++) {
		rmc_switch_request(sw, &before[i]);
		CHECK_EQ(before[i].verdict, RMC_SWITCH_DROP);
	}
	CHECK_EQ(send(0, RMC_OP_READ, LAST, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(refusal(2, RMC_OP_READ, 5 * BYTES, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_READ, 0, 8), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_CAS, 0, 8), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_WRITE, 0, BYTES), RMC_S_BUSY);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EBUSY);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EBUSY);
	/* a write that lands behind the recovery would change what has a version already */
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	reply(3, RMC_OP_READ, 5 * BYTES, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	reply(2, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_BUSY);
	CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	/* stage 1 has no operation that nobody will answer */
	CHECK_EQ(send(3, RMC_OP_READ, 5 * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	reply(3, RMC_OP_READ, 5 * BYTES, BYTES, RMC_S_OK);
	CHECK(last.word & RMC_SWITCH_VERIFIED && last.word != RMC_SWITCH_FAILED);

	CHECK_EQ(version(0), v2);
	CHECK_EQ(version(1), v2 - 2);
	CHECK_EQ(sw->latched, 0);
	/* the latch was forgotten, and has another owner, whose word is the same but for the epoch */
	CHECK(latch(2, 1, v2 - 2));
	CHECK_EQ(send(1, RMC_OP_WRITE, BYTES, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	/* even without one: nobody but the old owner asks, and it is told */
	CHECK(latch(0, 0, v2));
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(send(0, RMC_OP_CAS, 0, 8, VERSION(3), VERSION(4)), RMC_SWITCH_ANSWER);
	CHECK_EQ(version(0), v2 + 1);
	write_tuple(0, 0, v2 + 1);
	/* a reader that validates with what it read before the crash */
	CHECK(version(5) != VERSION(0));
	for (i = 0; i < TUPLES; i++)
		CHECK_EQ(version(i) >> RMC_SWITCH_EPOCH_SHIFT & (RMC_SWITCH_EPOCHS - 1), 2);
	end();
}

/* Epochs are used once: then the switch has to be set up anew. */
static void test_epochs(void)
{
	u32 i;

	begin();
	rmc_switch_destroy(sw);
	sw = rmc_switch_create(&fabric, 0, TUPLES, RMC_SWITCH_EPOCHS - 1, 4);
	rmc_switch_join(sw, 3, psn[3]);
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), 0);
	CHECK_EQ(version(0) >> RMC_SWITCH_EPOCH_SHIFT & (RMC_SWITCH_EPOCHS - 1), RMC_SWITCH_EPOCHS - 1);
	/* memory is hidden: a word of it is not 0 */
	rmc_switch_crash(sw);
	gone = true;
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	gone = false;
	CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	CHECK_EQ(version(0) >> RMC_SWITCH_EPOCH_SHIFT & (RMC_SWITCH_EPOCHS - 1), 0);
	for (i = 6; i < RMC_SWITCH_EPOCHS; i++) {
		rmc_switch_crash(sw);
		CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	}
	/* the next one would be the one that others began with */
	CHECK_EQ(sw->epoch, RMC_SWITCH_EPOCHS - 6);
	rmc_switch_crash(sw);
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EOVERFLOW);
	rmc_switch_withdraw(sw, memory);
	sw->crashed = false;
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EOVERFLOW);
	end();
}

/* Cold tuples: passed on; no latch is in two places. */
static void test_cold(void)
{
	begin();
	CHECK(latch(0, 0, VERSION(0)));
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EBUSY);
	write_tuple(0, 0, VERSION(1));
	/* a reader's registers name it */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	CHECK_EQ(done, 0);
	/* nobody else may, or it would never be free */
	CHECK_EQ(refusal(2, RMC_OP_READ, 0, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_CAS, 0, 8), RMC_S_BUSY);
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(read_tuple(2, 1), VERSION(0) | RMC_SWITCH_VERIFIED);
	rmc_switch_keep(sw);
	CHECK_EQ(read_tuple(2, 0), VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	CHECK_EQ(rmc_switch_demote(sw, CTX, BYTES, 1, &done, &mem), 0);
	CHECK_EQ(read_tuple(2, 0), VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), 0);
	CHECK_EQ(done, 2);
	CHECK_EQ(memory[0], VERSION(2) & ~RMC_SWITCH_SWITCHED);
	/* again: it is cold already */
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), 0);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, 0, 1), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(1, RMC_OP_FAA, 0, 8, 0, 1), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	/* with a hot one beside it */
	CHECK_EQ(refusal(1, RMC_OP_READ, BYTES, 2 * BYTES), RMC_S_BAD_LENGTH);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK(!last.changed);

	/* latched by an atomic of the storage node: not now */
	memory[0] |= RMC_SWITCH_LATCHED;
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EBUSY);
	memory[0] = 4;
	/* asked for while it was cold: not a read that the switch has seen from its begin */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 2, &mem), 0);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(memory[0], VERSION(4));
	CHECK_EQ(version(0), VERSION(4));
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 2, &mem), 0);
	gone = true;
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EFAULT);
	gone = false;
	/* registers that are free again are used again */
	CHECK_EQ(sw->frees, WORDS);
	end();
}

/* Ranges and numbers of the control plane */
static void test_ranges(void)
{
	u32 i;

	begin();
	CHECK_EQ(add(0, BYTES, BYTES, 1, false), -EEXIST);
	CHECK_EQ(add(LAST - 8, 8, 8, 2, true), -EEXIST);
	CHECK_EQ(add(LAST, 2048, 1025, 1, false), -EMSGSIZE);
	CHECK_EQ(add(LAST, 64, 128, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 128, 8, 1, false), -EINVAL);
	CHECK_EQ(add(LAST + 8, 128, 128, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 72, 64, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 0, 0, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 16, 8, 1, true), -EINVAL);
	CHECK_EQ(add(LAST + 4, 8, 8, 1, true), -EINVAL);
	CHECK_EQ(add(LAST, 64, 64, 0, false), -ERANGE);
	CHECK_EQ(add(LAST, 64, 64, RMC_SWITCH_TUPLES + 1, false), -ERANGE);
	for (i = 1; i < RMC_SWITCH_RANGES; i++)
		CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), 0);
	CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), -ENOBUFS);

	/* a place that is free again is used again */
	CHECK_EQ(rmc_switch_remove(sw, CTX, 0), -EBUSY);
	CHECK_EQ(rmc_switch_remove(sw, CTX, BYTES), -ENODEV);
	CHECK_EQ(rmc_switch_remove(sw, CTX + 1, 0), -ENODEV);
	CHECK_EQ(rmc_switch_remove(sw, CTX, LAST + 192), 0);
	CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), 0);

	CHECK_EQ(rmc_switch_promote(sw, CTX, 8, 1, &mem), -EINVAL);
	CHECK_EQ(rmc_switch_promote(sw, CTX + 1, 0, 1, &mem), -ENODEV);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, TUPLES + 1, &mem), -ERANGE);
	CHECK_EQ(rmc_switch_demote(sw, CTX, BYTES, TUPLES, &done, &mem), -ERANGE);
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 64, 1, &mem), 0);
	gone = true;
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 128, 1, &mem), -EFAULT);
	gone = false;
	sw->frees = 0;
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 128, 1, &mem), -ENOBUFS);

	/* a segment goes: nothing of it is served, and a place is free */
	CHECK_EQ(send(0, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	rmc_switch_withdraw(sw, memory + 1);
	CHECK_EQ(version(0), VERSION(0));
	rmc_switch_withdraw(sw, memory);
	CHECK(!sw->waits);
	CHECK_EQ(sw->frees, TUPLES + 1);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, VERSION(0), VERSION(1)), RMC_SWITCH_FORWARD);
	/* the next segment may be the same memory: its words are new all the same */
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), 0);
	CHECK(version(0) != VERSION(0));
	end();
}

/* R25 5.4: atomics on registers alone */
static void test_words(void)
{
	begin();
	memory[LAST / 8] = 40;
	CHECK_EQ(add(LAST, 8, 8, WORDS, true), 0);
	/* cold: the storage node's */
	CHECK_EQ(send(0, RMC_OP_FAA, LAST, 8, 1, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST, WORDS, &mem), 0);
	CHECK_EQ(memory[LAST / 8], 40);
	CHECK_EQ(send(0, RMC_OP_FAA, LAST, 8, 2, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, 40);
	CHECK_EQ(send(1, RMC_OP_CAS, LAST, 8, 41, 1), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, 42);
	CHECK_EQ(send(1, RMC_OP_CAS, LAST, 8, 42, 1ULL << 63), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, 42);
	CHECK_EQ(send(1, RMC_OP_READ, LAST, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.word, 1ULL << 63);
	CHECK_EQ(refusal(1, RMC_OP_READ, LAST, 16), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(1, RMC_OP_READ, LAST + 8, 4), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(1, RMC_OP_FAA, LAST + 3, 4), RMC_S_BAD_LENGTH);
	CHECK_EQ(refusal(1, RMC_OP_FAA, LAST + 3, 8), RMC_S_BAD_ALIGN);
	CHECK_EQ(refusal(1, RMC_OP_WRITE, LAST, 8), RMC_S_BAD_OP);
	CHECK_EQ(refusal(1, RMC_OP_RMW, LAST, 8), RMC_S_BAD_OP);
	/* no client, so no id */
	CHECK_EQ(sw->free_clients, RMC_SWITCH_CLIENTS);
	CHECK_EQ(rmc_switch_demote(sw, CTX, LAST, WORDS, &done, &mem), 0);
	CHECK_EQ(memory[LAST / 8], 1ULL << 63);
	/* more than the switch looks at one by one, and a hot one behind that */
	rmc_switch_withdraw(sw, memory);
	CHECK_EQ(add(LAST, 8, 8, 5000, true), 0);
	CHECK_EQ(send(1, RMC_OP_SABRE, LAST, 40000, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 8 * 4500, 1, &mem), 0);
	CHECK_EQ(refusal(1, RMC_OP_SABRE, LAST, 40000), RMC_S_BAD_OP);
	end();
}

/* A holder dies: the control plane gives its tuples free, once they are repaired. */
static void test_dead_holder(void)
{
	struct rmc_switch_unlatch u = { .nid = 1, .connected = true };

	begin();
	CHECK(latch(1, 0, VERSION(0)));
	CHECK(latch(1, 7, VERSION(0)));
	CHECK(latch(2, 8, VERSION(0)));
	/* its write is in the storage node's queue */
	CHECK_EQ(send(1, RMC_OP_WRITE, 7 * BYTES, BYTES, VERSION(1), 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 1, &mem), -EAGAIN);
	CHECK_EQ(u.freed, 0);
	rmc_switch_leave(sw, 1);
	CHECK_EQ(version(0), VERSION(1));
	CHECK_EQ(sw->latched, 3);
	/* who reads it all the time does not keep its latch; nor is what it reads verified */
	CHECK_EQ(send(3, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, RMC_SWITCH_BATCH, &mem), 0);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 2);
	CHECK_EQ(u.kept, 0);
	reply(3, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(version(0), VERSION(2));
	/* what recovery would read */
	CHECK_EQ(memory[0], VERSION(2));
	CHECK_EQ(version(8), VERSION(1));
	CHECK_EQ(sw->latched, 1);
	/* the dead one's write comes late */
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	end();
}

/* A holder comes back: what it had latched is not its own, and can be taken while it is alive. */
static void test_returned_holder(void)
{
	struct rmc_switch_unlatch u = { .nid = 1 };

	begin();
	CHECK(latch(1, 0, VERSION(0)));
	CHECK(latch(1, 1, VERSION(0)));
	rmc_switch_leave(sw, 1);
	rmc_switch_join(sw, 1, psn[1]);
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, VERSION(1), VERSION(2)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK(latch(1, 2, VERSION(0)));
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 2);
	CHECK_EQ(u.kept, 1);
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(version(2), VERSION(1));
	/* a process of a node that is alive */
	u.connected = true;
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 3);
	CHECK_EQ(version(2), VERSION(2));
	/* who does not know whether it has latched: free it; that fails if it was another one */
	CHECK(latch(1, 3, VERSION(0)));
	CHECK(latch(1, 3, VERSION(1)));
	CHECK_EQ(version(3), VERSION(2));
	CHECK(latch(2, 3, VERSION(2)));
	CHECK(!latch(1, 3, VERSION(3)));
	CHECK_EQ(last.status, RMC_S_ABORTED);
	end();
}

/* Two RRPPs, each with a switch: a tuple has one owner, by its address. */
static void test_owners(void)
{
	struct rmc_switch *other, *first;
	u32 i;

	begin();
	rmc_switch_destroy(sw);
	fabric.unit_order = 1;
	fabric.rrpp_order = 1;
	fabric.interleave = 256;
	fabric.mtu = 256;
	CHECK_EQ(rmc_fabric_check(&fabric), 0);
	memset(memory, 0, sizeof(memory));
	first = rmc_switch_create(&fabric, 0, TUPLES, 1, 0);
	other = rmc_switch_create(&fabric, 1, TUPLES, 1, 0);
	sw = first;
	/* a tuple in blocks of both would have two owners */
	CHECK_EQ(add(0, 192, 192, 8, false), -EINVAL);
	CHECK_EQ(add(64, BYTES, BYTES, 8, false), -EINVAL);
	for (i = 0; i < 2; i++) {
		sw = i ? other : first;
		rmc_switch_join(sw, 3, psn[3]);
		CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
		CHECK_EQ(rmc_switch_promote(sw, CTX, 0, TUPLES, &mem), 0);
		CHECK_EQ(sw->range[0].hot, TUPLES / 2);
	}
	for (i = 0; i < TUPLES; i++)
		CHECK(!first->range[0].slot[i] != !other->range[0].slot[i]);
	sw = other;
	CHECK_EQ(send(3, RMC_OP_READ, 0, 8, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(3, RMC_OP_READ, 256, 8, 0, 0), RMC_SWITCH_ANSWER);
	rmc_switch_destroy(first);
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "switch: the six types of packets", test_packet_types },
		{ "switch: no read beside a write is verified", test_reads_beside_writes },
		{ "switch: latches, and who has none", test_latches },
		{ "switch: a write that is repeated", test_repeated },
		{ "switch: what would bypass the protocol is refused", test_refused },
		{ "switch: clients and their operations", test_clients },
		{ "switch: the table of clients", test_client_table },
		{ "switch: contexts", test_contexts },
		{ "switch: duplicates are dropped", test_duplicates },
		{ "switch: sequence numbers of what is passed on", test_psn },
		{ "switch: crash and recovery", test_crash },
		{ "switch: epochs", test_epochs },
		{ "switch: cold tuples", test_cold },
		{ "switch: ranges", test_ranges },
		{ "switch: words", test_words },
		{ "switch: a dead holder", test_dead_holder },
		{ "switch: a holder that comes back", test_returned_holder },
		{ "switch: several switches", test_owners },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
