/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of native messaging (T18 chapter 5). They name a slot where others name memory:
 *
 *            39        28 27      20 19                    0
 *   offset  | slot (12)  | turn (8) | byte (20)             |
 *
 *   SEND      data of a message for the destination's receive slot: its bytes from byte on
 *   OFFER     the same; the message describes data that the receiver reads itself
 *   RECEIVE   the message in the source's send slot was processed; byte: the lives of both
 *             domains, see rmc_slot_lives(); in place of the number of packets, more of the turn
 *   JOIN      compares parameters, exchanges lives; says what the slot holds
 *   REPLY     as RECEIVE, with data of an answer for the answer slot, its bytes from byte on, of
 *             which it has 16 bits. The other 4, and those of the number of packets, have a tag of
 *             the lives and the turn, see rmc_answer_tag(); the last packet tells their number
 *
 * The ring that a packet came in implies the other node, so a packet cannot name the slots of a
 * third one, nor an address. The turn counts the messages of a slot: a packet of a message that
 * was delivered has no effect, so that all of them can be repeated.
 *
 * Each packet of a message has the number of its packets, 14 bits: the upper ones where other
 * requests have the upper half of ctx_id, the lower ones where an announcement has the surplus
 * (wire.h). A message is complete when as many packets have arrived, in any order.
 */
#ifndef RMC_SLOT_H
#define RMC_SLOT_H

#include <linux/rmc_domain.h>
#include "opcode.h"

#define RMC_BYTE_MASK		((1ULL << RMC_TURN_SHIFT) - 1)
#define RMC_PACKETS_LOW		6

static_assert(RMC_MAX_CONTEXTS <= 256, "the upper half of ctx_id is free");
static_assert(RMC_MAX_MESSAGE / RMC_MTU_MIN < 1 << 14, "packets have 14 bits");
static_assert(RMC_MAX_MESSAGE + RMC_LINE - 1 <= RMC_BYTE_MASK, "a byte of a message has its field");
static_assert((RMC_OFFSET_MAX >> RMC_SLOT_SHIFT) + 1 == RMC_MAX_SLOTS, "and a slot");

static inline u32 rmc_slot_number(u64 offset)
{
	return (u32)(offset >> RMC_SLOT_SHIFT) & (RMC_MAX_SLOTS - 1);
}

static inline u8 rmc_slot_turn(u64 offset)
{
	return offset >> RMC_TURN_SHIFT;
}

static inline u32 rmc_slot_byte(u64 offset)
{
	return offset & RMC_BYTE_MASK;
}

/* Of both domains' lives as much as a RECEIVE has: another value if one of them begins anew. */
static inline u32 rmc_slot_lives(u32 sender, u32 receiver)
{
	return (sender * 0x9e3779b1u ^ receiver * 0x85ebca6bu) >> (32 - RMC_TURN_SHIFT);
}

/* RRPP of a node that has a slot: one, so that a message is in one place. */
static inline u32 rmc_slot_home(u64 offset, u32 rrpp_order)
{
	return rmc_slot_number(offset) & ((1U << rrpp_order) - 1);
}

/* What a packet has besides, for a message of this many packets: in its words. */
static inline u64 rmc_packets_word0(u32 packets)
{
	return (u64)(packets >> RMC_PACKETS_LOW) << 40;
}

static inline u64 rmc_packets_word1(u32 packets)
{
	return (u64)(packets & ((1U << RMC_PACKETS_LOW) - 1)) << RMC_REQ_SURPLUS_SHIFT;
}

/* ... and back, from the field ctx_id */
static inline u32 rmc_packets_of(u16 ctx_field, u64 word1)
{
	return (u32)(ctx_field >> 8) << RMC_PACKETS_LOW |
	       ((u32)(word1 >> RMC_REQ_SURPLUS_SHIFT) & ((1U << RMC_PACKETS_LOW) - 1));
}

/* Bits of a byte in a packet of a REPLY, and of its tag in place of the number of packets */
#define RMC_ANSWER_BITS		16
#define RMC_ANSWER_TAG_LOW	14

static_assert(RMC_MAX_ANSWER <= 1 << RMC_ANSWER_BITS, "a byte of an answer has its field");

/*
 * What tells a packet of a REPLY from one that is late: of the same lives, it differs for 2^26
 * turns; of others, by chance, as with a RECEIVE. 18 bits.
 */
static inline u32 rmc_answer_tag(u32 sender, u32 receiver, u32 turn)
{
	return (rmc_slot_lives(sender, receiver) >> 2 ^ turn >> 8) & 0x3ffff;
}

/* A packet's byte of an answer, and its tag */
static inline u32 rmc_answer_byte(u64 offset)
{
	return offset & ((1U << RMC_ANSWER_BITS) - 1);
}

static inline u32 rmc_answer_tag_of(u64 offset, u32 low)
{
	return (rmc_slot_byte(offset) >> RMC_ANSWER_BITS) << RMC_ANSWER_TAG_LOW | low;
}

/* Of a turn what a RECEIVE has beside the lowest 8 bits: 14 more */
static inline u32 rmc_turn_high(u32 turn)
{
	return turn >> 8 & 0x3fff;
}

#endif
