/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations, and what their packets look like: all that the wire and whoever stands
 * beside it, such as a filter, have to know of an operation. What it does is in core/op.h.
 */
#ifndef RMC_OPCODE_H
#define RMC_OPCODE_H

#include "wire.h"

/* What an operation's packets look like */
#define RMC_OPF_REQ_LINES	0x01	/* request carries the data of its lines */
#define RMC_OPF_REP_LINES	0x02	/* successful reply carries them */
#define RMC_OPF_OPERANDS	0x04	/* request carries one line of operands */
#define RMC_OPF_MODIFIES	0x08	/* refused on a read-only segment */
#define RMC_OPF_EMPTY		0x10	/* length is zero, there is no local operand */
#define RMC_OPF_ANNOUNCED	0x20	/* its packets belong together, see att.h */
#define RMC_OPF_RUNS		0x40	/* it only moves lines, see rmc_op_runs() */
#define RMC_OPF_IDEMPOTENT	0x80	/* twice is as good as once, see rmc_itt_expire() */
#define RMC_OPF_NOTIFIES	0x100	/* a write whose end the server is told of */
#define RMC_OPF_ONE_HOME	0x200	/* all packets go to the RRPP of the first byte */

/*	 opcode, name, flags */
#define RMC_OPS(X)								\
	X(READ,  read,  RMC_OPF_REP_LINES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT)	\
	X(WRITE, write, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT) \
	X(CAS,   cas,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES)			\
	X(FAA,   faa,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES)			\
	X(NOTIFY, notify, RMC_OPF_EMPTY)					\
	X(WRITE_NOTIFY, write_notify, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_NOTIFIES) \
	X(SABRE, sabre, RMC_OPF_REP_LINES | RMC_OPF_ANNOUNCED | RMC_OPF_ONE_HOME | RMC_OPF_RUNS) \
	X(RMW,   rmw,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES)

/* Those of them that are announced */
#define RMC_XFER_OPS(X)								\
	X(SABRE, sabre)

/* Flags of an opcode; 0 when there is no such operation. */
static inline u16 rmc_op_flags(u8 op)
{
	switch (op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return flags;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return 0;
}

/* Mask of the opcodes above, for RMC_IOC_QUERY. */
static inline u64 rmc_op_mask(void)
{
	u64 mask = 0;

#define RMC_OP_ROW(opcode, name, flags) mask |= 1ULL << RMC_OP_##opcode;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	return mask;
}

/* Is it the announcement of an announced operation? */
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

static inline u32 rmc_op_rep_lines(u16 flags, u64 offset, u32 length)
{
	return flags & RMC_OPF_REP_LINES ? rmc_lines(offset, length) : 0;
}

/*
 * Packets of an operation that only moves lines are as good as one packet: those
 * next to each other move as one run. The first of an announced one says more.
 */
static inline bool rmc_op_runs(u16 flags, u64 word1)
{
	return flags & RMC_OPF_RUNS && !(flags & RMC_OPF_ANNOUNCED && word1 & RMC_REQ_FIRST);
}

/* The latter from a reply's second word; an announcement's has none. */
static inline u32 rmc_op_echo_lines(u16 flags, u64 word1)
{
	if (rmc_op_announces(flags, word1))
		return 0;
	return rmc_op_rep_lines(flags, rmc_word1_offset(word1), rmc_word1_length(word1));
}

/*
 * Lines of the reply ring that a request reserves and its reply returns. Which
 * data reply answers which data request of an announced operation is not decided
 * by what the request asks for, so all of them count as much as the largest.
 */
static inline u32 rmc_op_reserved_lines(u16 flags, u64 word1, u32 mtu)
{
	if (unlikely(flags & RMC_OPF_ANNOUNCED) && !(word1 & RMC_REQ_FIRST))
		return mtu / RMC_LINE;
	return rmc_op_echo_lines(flags, word1);
}

#endif
