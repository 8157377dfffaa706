/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of transactions (HADES sections IV and V). All of them go to one RRPP of the destination,
 * that of their context, because one worker owns all locks and filters of a range.
 *
 *   TX_ACCESS  names memory, as a read does. Each packet carries an operand line and returns the
 *              lines of its part: all packets of it are alike, and each is served by itself
 *   TX_INTEND  a message: an operand line, and the ranges that will be written
 *   TX_DATA    a message: an operand line, and pieces of what is written, each behind its range
 *   TX_CLOSE   a message: an operand line
 *
 * A message is cut into packets as a write is, and acts when its last packet has come, in whatever
 * order. Its offset names no memory:
 *
 *            39      34 33        20 19              0
 *   offset  | slot (6) | gen (14)   | byte (20)       |
 *
 * The operation of the source (tid and gen of its ITT) says which packets are of one message. The
 * reply to a packet that did not complete its message is RMC_S_OK without RMC_TX_ACTED, in the
 * echo's flags: such packets alone are no answer.
 */
#ifndef RMC_TX_WIRE_H
#define RMC_TX_WIRE_H

#include "opcode.h"

/* Slots of a source: its transactions that are open at one time */
#define RMC_TX_SLOT_BITS	6
#define RMC_TX_SLOT_SHIFT	34
#define RMC_TX_GEN_SHIFT	20
#define RMC_TX_GEN_BITS		14

/* Longest body of a message, bytes: 256 ranges */
#define RMC_TX_BODY_MAX		4096
#define RMC_TX_MESSAGE_MAX	(RMC_LINE + RMC_TX_BODY_MAX)

/* In the flags of the reply's second word: the packet has completed its message */
#define RMC_TX_ACTED		RMC_REQ_FIRST

/* rmc_tx_head.kind */
enum rmc_tx_head_kind {
	RMC_TX_KIND_READ	= 1,	/* TX_ACCESS: lines that are read */
	RMC_TX_KIND_OWN		= 2,	/* TX_ACCESS: lines that will be written in part */
	RMC_TX_KIND_INTEND	= 3,	/* TX_INTEND */
	RMC_TX_KIND_DATA	= 4,	/* TX_DATA */
	RMC_TX_KIND_COMMIT	= 5,	/* TX_CLOSE */
	RMC_TX_KIND_ABORT	= 6,	/* TX_CLOSE */
	RMC_TX_KIND_LOCK	= 7,	/* TX_INTEND: locks in advance */
};

/**
 * struct rmc_tx_head - operand line, in front
 * @gen: of the slot: changes with each transaction
 * @slot: of the source
 * @kind: enum rmc_tx_head_kind
 * @flags: of an INTEND: RMC_TX_HERE (tx/part.h)
 * @acted: of a message, in the source's buffer: not 0 when a reply had RMC_TX_ACTED; ignored in
 *	packets
 * @count: ranges of an INTEND or LOCK, pieces of a DATA
 * @writes: of a LOCK: those of the ranges that will be written; they come first
 * @reserved: 0
 *
 * Behind it an INTEND has @count times a struct rmc_tx_range (tx/tx.h).
 */
struct rmc_tx_head {
	u32 gen;
	u8 slot;
	u8 kind;
	u8 flags;
	u8 acted;
	u32 count;
	u32 writes;
	u32 reserved[12];
};

/**
 * struct rmc_tx_piece - bytes of a DATA, which follow it, up to a multiple of 8
 * @offset: in the segment, bytes
 * @length: bytes
 * @reserved: 0
 */
struct rmc_tx_piece {
	u64 offset;
	u32 length;
	u32 reserved;
};

static_assert(sizeof(struct rmc_tx_head) == RMC_LINE, "one line");
static_assert(sizeof(struct rmc_tx_piece) == 16, "no padding");
static_assert(RMC_TX_MESSAGE_MAX < 1 << RMC_TX_GEN_SHIFT, "a byte of a message has its field");
static_assert(RMC_TX_SLOT_SHIFT + RMC_TX_SLOT_BITS == 40, "as an offset has");

/* RRPP of a node that serves the transactions of a context */
static inline u32 rmc_tx_home(u16 ctx_id, u32 rrpp_order)
{
	return ctx_id & ((1U << rrpp_order) - 1);
}

/* Offset of a message */
static inline u64 rmc_tx_offset(u32 slot, u32 gen)
{
	return (u64)slot << RMC_TX_SLOT_SHIFT |
	       (u64)(gen & ((1U << RMC_TX_GEN_BITS) - 1)) << RMC_TX_GEN_SHIFT;
}

static inline u32 rmc_tx_byte(u64 offset)
{
	return offset & ((1U << RMC_TX_GEN_SHIFT) - 1);
}

#endif
