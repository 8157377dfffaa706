/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations, and the format of their packets: all that rings, links and filters need to
 * know of an operation. core/op.h has what it does.
 */
#ifndef RMC_OPCODE_H
#define RMC_OPCODE_H

#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>
#include "wire.h"

/* Properties of an operation and its packets */
#define RMC_OPF_REQ_LINES	0x01	/* request carries the data of its lines */
#define RMC_OPF_REP_LINES	0x02	/* successful reply carries them */
#define RMC_OPF_OPERANDS	0x04	/* request carries one line of operands */
#define RMC_OPF_MODIFIES	0x08	/* refused on a read-only segment */
#define RMC_OPF_EMPTY		0x10	/* length is zero, there is no local operand */
#define RMC_OPF_ANNOUNCED	0x20	/* its packets belong together, see att.h */
#define RMC_OPF_RUNS		0x40	/* it only moves lines, see rmc_op_runs() */
#define RMC_OPF_IDEMPOTENT	0x80	/* it can be repeated, see rmc_itt_expire() */
#define RMC_OPF_NOTIFIES	0x100	/* a write that notifies the server when it ends */
#define RMC_OPF_ONE_HOME	0x200	/* all packets go to the RRPP of the first byte */
#define RMC_OPF_PREPARE		0x400	/* it has a prepare(): common checks are not enough */
#define RMC_OPF_SLOT		0x800	/* it names a slot, not memory: slot.h */
#define RMC_OPF_ENDS		0x1000	/* of a core: its message was processed, the slot is free */
#define RMC_OPF_CONTROL		0x2000	/* of its queue pair, or engine: no packet */
#define RMC_OPF_TX		0x4000	/* of a transaction, tx_wire.h: to its context's RRPP */
#define RMC_OPF_BODY		0x8000	/* a message of one, which names no memory: tx_wire.h */

/* It names no memory of a segment */
#define RMC_OPF_NO_MEMORY	(RMC_OPF_SLOT | RMC_OPF_BODY)

/* Messages: on slots of a domain, core/domain.h */
#define RMC_MESSAGE_OPS(X)							\
	X(SEND,  send,  RMC_OPF_REQ_LINES | RMC_OPF_ONE_HOME | RMC_OPF_SLOT |	\
	  RMC_OPF_IDEMPOTENT | RMC_OPF_PREPARE)					\
	X(OFFER, offer, RMC_OPF_REQ_LINES | RMC_OPF_ONE_HOME | RMC_OPF_SLOT |	\
	  RMC_OPF_IDEMPOTENT | RMC_OPF_PREPARE)					\
	X(RECEIVE, receive, RMC_OPF_EMPTY | RMC_OPF_ONE_HOME | RMC_OPF_SLOT |	\
	  RMC_OPF_IDEMPOTENT | RMC_OPF_PREPARE | RMC_OPF_ENDS)			\
	X(JOIN,  join,  RMC_OPF_OPERANDS | RMC_OPF_ONE_HOME | RMC_OPF_SLOT |	\
	  RMC_OPF_IDEMPOTENT | RMC_OPF_PREPARE)					\
	X(REPLY, reply, RMC_OPF_REQ_LINES | RMC_OPF_ONE_HOME | RMC_OPF_SLOT |	\
	  RMC_OPF_IDEMPOTENT | RMC_OPF_PREPARE | RMC_OPF_ENDS)			\
	X(READY, ready, RMC_OPF_EMPTY | RMC_OPF_SLOT | RMC_OPF_PREPARE)

/*	 opcode, name, flags */
#define RMC_MEMORY_OPS(X)							\
	X(READ,  read,  RMC_OPF_REP_LINES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT)	\
	X(WRITE, write, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT) \
	X(CAS,   cas,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES | RMC_OPF_PREPARE)	\
	X(FAA,   faa,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES | RMC_OPF_PREPARE)	\
	X(NOTIFY, notify, RMC_OPF_EMPTY)					\
	X(WRITE_NOTIFY, write_notify, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_NOTIFIES) \
	X(SABRE, sabre, RMC_OPF_REP_LINES | RMC_OPF_ANNOUNCED | RMC_OPF_ONE_HOME | RMC_OPF_RUNS | \
	  RMC_OPF_PREPARE)							\
	X(RMW,   rmw,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES | RMC_OPF_PREPARE)	\
	X(WRITE_ONCE, write_once, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_RUNS)

/* Accesses of transactions, of a queue pair with slots: core/tx_slots.h */
#define RMC_OPF_TX_LINES							\
	(RMC_OPF_OPERANDS | RMC_OPF_REP_LINES | RMC_OPF_ONE_HOME | RMC_OPF_TX | RMC_OPF_IDEMPOTENT)

#define RMC_TX_ACCESS_OPS(X)							\
	X(TX_READ, tx_read, RMC_OPF_TX_LINES | RMC_OPF_PREPARE)			\
	X(TX_OWN,  tx_own,  RMC_OPF_TX_LINES | RMC_OPF_PREPARE)

/*
 * They act on their queue pair, or on its engine of transactions: no packet has such an opcode,
 * and there is prepare() alone.
 */
#define RMC_CONTROL_OPS(X)							\
	X(RESUME, resume, RMC_OPF_EMPTY | RMC_OPF_PREPARE | RMC_OPF_CONTROL)	\
	X(TX_COMMIT, tx_commit, RMC_OPF_PREPARE | RMC_OPF_CONTROL | RMC_OPF_TX)	\
	X(TX_ABORT, tx_abort, RMC_OPF_EMPTY | RMC_OPF_PREPARE | RMC_OPF_CONTROL | RMC_OPF_TX)

/* What a WQ entry may name */
#define RMC_OPS(X)								\
	RMC_MEMORY_OPS(X)							\
	RMC_TX_ACCESS_OPS(X)							\
	RMC_CONTROL_OPS(X)							\
	RMC_MESSAGE_OPS(X)

/*
 * The same for opcodes that only packets have, from RMC_OP_WIRE on: an RMC sends such a request
 * by itself (core/client.h). They have no prepare(), and no application learns of them. Those of
 * transactions: tx_wire.h. Host tests add two.
 */
#define RMC_OP_WIRE		32
enum {
	RMC_OP_TX_ACCESS = RMC_OP_WIRE,
	RMC_OP_TX_INTEND,
	RMC_OP_TX_DATA,
	RMC_OP_TX_CLOSE,
	RMC_OP_TX_MAX,
};

#define RMC_OPF_TX_BODY								\
	(RMC_OPF_REQ_LINES | RMC_OPF_ONE_HOME | RMC_OPF_TX | RMC_OPF_BODY | RMC_OPF_IDEMPOTENT)

#define RMC_TX_OPS(X)								\
	X(TX_ACCESS, tx_access, RMC_OPF_TX_LINES)				\
	X(TX_INTEND, tx_intend, RMC_OPF_TX_BODY)				\
	X(TX_DATA,   tx_data,   RMC_OPF_TX_BODY)				\
	X(TX_CLOSE,  tx_close,  RMC_OPF_TX_BODY)

#ifdef RMC_TEST_HOOKS
enum { RMC_OP_PROBE = RMC_OP_WIRE + 24, RMC_OP_PROBE_HOME };
#define RMC_WIRE_OPS(X)								\
	RMC_TX_OPS(X)								\
	X(PROBE, probe, RMC_OPF_EMPTY)						\
	X(PROBE_HOME, probe_home, RMC_OPF_REQ_LINES | RMC_OPF_ONE_HOME)
#else
#define RMC_WIRE_OPS(X)		RMC_TX_OPS(X)
#endif

/* What a packet may have */
#define RMC_PACKET_OPS(X)							\
	RMC_MEMORY_OPS(X)							\
	RMC_TX_ACCESS_OPS(X)							\
	RMC_MESSAGE_OPS(X)							\
	RMC_WIRE_OPS(X)

#define RMC_ALL_OPS(X)								\
	RMC_PACKET_OPS(X)							\
	RMC_CONTROL_OPS(X)

static_assert(RMC_WQE_OP_MASK + 1 == RMC_OP_WIRE, "a WQ entry can name neither more nor less");
static_assert(RMC_OP_WIRE < RMC_OP_ANSWERED && RMC_OP_ANSWERED < RMC_OP_LOST,
	      "the marks in the opcode's byte are none of them");
static_assert(RMC_OP_WIRE < RMC_OP_RENEW, "nor is this");
static_assert(!(RMC_OP_RENEW & (RMC_OP_ANSWERED | RMC_OP_LOST)), "filters take the marks off");

/* Those of them that are announced */
#define RMC_XFER_OPS(X)								\
	X(SABRE, sabre)

/* Flags of an opcode; 0 when there is no such operation. */
static inline u16 rmc_op_flags(u8 op)
{
	switch (op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return flags;
	RMC_ALL_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return 0;
}

/* Mask of the opcodes of WQ entries, for RMC_IOC_QUERY. */
static inline u64 rmc_op_mask(void)
{
	u64 mask = 0;

#define RMC_OP_ROW(opcode, name, flags) mask |= 1ULL << RMC_OP_##opcode;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	return mask;
}

/* True for the announcement of an announced operation. */
static inline bool rmc_op_announces(u16 flags, u64 word1)
{
	return unlikely(flags & RMC_OPF_ANNOUNCED) && rmc_word1_announces(word1);
}

/* Payload lines of a request and of a successful reply. */
static inline u32 rmc_op_req_lines(u16 flags, u64 offset, u32 length)
{
	if (flags & RMC_OPF_REQ_LINES)
		return rmc_lines(offset, length);
	return flags & RMC_OPF_OPERANDS ? 1 : 0;
}

/*
 * True if the second word of a successful reply is a value, not an echo. Such an operation is one
 * packet.
 */
static inline bool rmc_op_returns_word(u16 flags)
{
	return (flags & (RMC_OPF_OPERANDS | RMC_OPF_REP_LINES)) == RMC_OPF_OPERANDS;
}

static inline u32 rmc_op_rep_lines(u16 flags, u64 offset, u32 length)
{
	return flags & RMC_OPF_REP_LINES ? rmc_lines(offset, length) : 0;
}

/*
 * True if a packet may be part of a run. Consecutive packets of an operation that only
 * moves lines move as one run; not the first packet of an announced one.
 */
static inline bool rmc_op_runs(u16 flags, u64 word1)
{
	return flags & RMC_OPF_RUNS && !(flags & RMC_OPF_ANNOUNCED && word1 & RMC_REQ_FIRST);
}

/* Payload lines of a reply, from its second word; a reply to an announcement has none. */
static inline u32 rmc_op_echo_lines(u16 flags, u64 word1)
{
	if (rmc_op_announces(flags, word1))
		return 0;
	return rmc_op_rep_lines(flags, rmc_word1_offset(word1), rmc_word1_length(word1));
}

/*
 * Lines of the reply ring that a request reserves and its reply returns. A data reply
 * of an announced operation may answer any of its data requests, so each request
 * reserves as many as the largest reply needs.
 */
static inline u32 rmc_op_reserved_lines(u16 flags, u64 word1, u32 mtu)
{
	if (unlikely(flags & RMC_OPF_ANNOUNCED) && !(word1 & RMC_REQ_FIRST))
		return mtu / RMC_LINE;
	return rmc_op_echo_lines(flags, word1);
}

#endif
