/* SPDX-License-Identifier: GPL-2.0 */
/* The switch model by itself, for its tests: a packet at a time, and memory that is an array. */
#ifndef ONE_SWITCH_H
#define ONE_SWITCH_H

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
static u32 done __attribute__((unused));	/* of the last demotion */
static u32 psn[4];

static inline u64 *word(void *arg, u16 ctx_id, u64 offset)
{
	(void)arg;
	if (gone || ctx_id < CTX || ctx_id >= CTX + RMC_SWITCH_RANGES ||
	    offset >= sizeof(memory) || offset & 7)
		return NULL;
	return &memory[offset / 8];
}

static const struct rmc_switch_memory mem = { .word = word };

static inline int add(u32 begin, u32 stride, u32 bytes, u32 count, bool words)
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
static inline void begin(void)
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

static inline void end(void)
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

static inline struct rmc_switch_packet packet(u32 source, u8 op, u64 offset, u32 length)
{
	return (struct rmc_switch_packet){
		.source = source, .psn = psn[source], .ctx_id = CTX, .op = op, .offset = offset,
		.length = length,
	};
}

static struct rmc_switch_packet last;	/* what became of it */

/* A request, with the next number of its source; "verdict" */
static inline int send(u32 source, u8 op, u64 offset, u32 length, u64 a, u64 b)
{
	last = packet(source, op, offset, length);
	last.operand[0] = a;
	last.operand[1] = b;
	psn[source]++;
	rmc_switch_request(sw, &last);
	return last.verdict;
}

/* The reply of the storage node */
static inline void reply(u32 source, u8 op, u64 offset, u32 length, u8 status)
{
	last = packet(source, op, offset, length);
	last.status = status;
	rmc_switch_reply(sw, &last);
}

#define VERSION(v)	(RMC_SWITCH_SWITCHED | 1ULL << RMC_SWITCH_EPOCH_SHIFT | (v))

static inline u64 version(u32 tuple)
{
	CHECK_EQ(send(3, RMC_OP_READ, tuple * BYTES, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_OK);
	return last.word;
}

/* Latch a tuple; returns true if the switch did. */
static inline bool latch(u32 source, u32 tuple, u64 expected)
{
	CHECK_EQ(send(source, RMC_OP_CAS, tuple * BYTES, 8, expected, expected + 1),
		 RMC_SWITCH_ANSWER);
	return !last.status && last.word == expected;
}

/* A whole write by who has the latch; the storage node does what it was passed. */
static inline void write_tuple(u32 source, u32 tuple, u64 grant)
{
	CHECK_EQ(send(source, RMC_OP_WRITE, tuple * BYTES, BYTES, grant, 0), RMC_SWITCH_FORWARD);
	CHECK(last.changed);
	memory[tuple * BYTES / 8] = last.word;
	reply(source, RMC_OP_WRITE, tuple * BYTES, BYTES, RMC_S_OK);
	CHECK(!last.changed);
}

/* The verdict that a read finds in its first 8 bytes */
static inline u64 read_tuple(u32 source, u32 tuple)
{
	CHECK_EQ(send(source, RMC_OP_READ, tuple * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	reply(source, RMC_OP_READ, tuple * BYTES, BYTES, RMC_S_OK);
	CHECK(last.changed);
	return last.word;
}

static inline int refusal(u32 source, u8 op, u64 offset, u32 length)
{
	CHECK_EQ(send(source, op, offset, length, VERSION(0), VERSION(1)), RMC_SWITCH_ANSWER);
	return last.status;
}

#endif
