// SPDX-License-Identifier: GPL-2.0
/* Data plane of the switch model: packets through its stages. */
#include "one_switch.h"

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
	/* not one with another word */
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
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
	CHECK_EQ(sw->waits, 1);
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_OK);
	CHECK_EQ(sw->waits, 1);
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
		{ "switch: words", test_words },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
