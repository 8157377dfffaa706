/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol (A14 section 6, T18 section 3.4). A packet is a descriptor of ring.h with
 * payload lines beside it. The ring of a packet implies its source and destination node.
 *
 *            63      56 55      48 47      40 39     32 31     16 15      0
 *   request  | lap     | op       |       ctx_id       | gen     | tid     |
 *            | length (16)        | flags    | segment offset (40)          |
 *   reply    | lap     | op       | status   | marks    | gen     | tid     |
 *            | echo of the request's second word; old value for an atomic  |
 *
 * An announced operation (op.h) sends an announcement ahead, which has the length of the
 * whole operation: lines in the length field, and the number of surplus bytes in the upper
 * six flags:
 *
 *            63      48 47      42 41      40 39                             0
 *            | lines    | surplus | FIRST=1, | segment offset (40)          |
 *            |          |         | LAST=0   |                              |
 *
 * FIRST and LAST together: an ordinary packet, the only one of its operation.
 *
 * Plain requests of an ordered queue pair name a group there; 0: none. All of a group keep their
 * order (fabric/order.c):
 *
 *            63      48  47     46  42 41      40 39                             0
 *            | length  | RENEWED | group | flags | segment offset (40)          |
 *
 * The destination echoes tid and gen without using them. gen changes each time the source
 * reuses a tid, so a late reply cannot match a newer operation; itt.h explains how an early
 * wrap of gen is avoided.
 *
 * Filters set the marks (fabric/filter.h). Marks never leave the node that set them, except
 * in the answer to a lost request, and of a switch. A peer that sends marks itself only makes
 * its own operations time out.
 *
 * Payload: write requests and successful read replies carry rmc_lines(offset,
 * length) lines, the data at the line offset it has in the segment. Atomic
 * requests carry one line with the operands. Nothing else carries payload.
 */
#ifndef RMC_WIRE_H
#define RMC_WIRE_H

#include "ring.h"

/**
 * struct rmc_req - a request after it was copied from the ring
 * @offset: in the segment, bytes
 * @length: bytes
 * @ctx_id: context
 * @gen: generation of the tid, echoed
 * @tid: index in the source's ITT, echoed
 * @op: opcode
 */
struct rmc_req {
	u64 offset;
	u32 length;
	u16 ctx_id;
	u16 gen;
	u16 tid;
	u8 op;
};

/**
 * struct rmc_rep - a reply after it was copied from the ring
 * @word1: echo or old value
 * @gen: generation of the tid
 * @tid: index in the ITT
 * @op: opcode, echoed
 * @status: enum rmc_status
 * @marks: RMC_MARK_LOST, RMC_MARK_COPY, RMC_MARK_DUPLICATED, RMC_MARK_HALF
 */
struct rmc_rep {
	u64 word1;
	u16 gen;
	u16 tid;
	u8 op;
	u8 status;
	u8 marks;
};

/* Mark of a request, in the opcode's byte: it was lost, only its credit returns. */
#define RMC_OP_LOST	0x80
#define RMC_REQ_LOST	((u64)RMC_OP_LOST << 48)
/* ... a switch has answered it: its payload is the answer, not the operation's */
#define RMC_OP_ANSWERED	0x40
#define RMC_REQ_ANSWERED	((u64)RMC_OP_ANSWERED << 48)
/* Marks of a reply: the packet was lost, this only returns its credit; */
#define RMC_MARK_LOST	0x01
#define RMC_REP_LOST	((u64)RMC_MARK_LOST << 32)
/* it is a copy, which returns no credit */
#define RMC_MARK_COPY	0x02
#define RMC_REP_COPY	((u64)RMC_MARK_COPY << 32)
/* it has a copy, which may also have come before */
#define RMC_MARK_DUPLICATED	0x04
#define RMC_REP_DUPLICATED	((u64)RMC_MARK_DUPLICATED << 32)
/* it comes from a switch, from half of the way: for the link model; else it says nothing */
#define RMC_MARK_HALF	0x08
#define RMC_REP_HALF	((u64)RMC_MARK_HALF << 32)

/*
 * Not an operation: a packet of a group and nothing else, from an RMC whose group is renewed and
 * has nothing to send. Its reply only returns the credit. See core/order.c.
 */
#define RMC_OP_RENEW	0x3f

static inline u64 rmc_req_word0(u8 op, u16 ctx_id, u16 gen, u16 tid)
{
	return (u64)op << 48 | (u64)ctx_id << 32 | (u64)gen << 16 | tid;
}

/* flags of a request: last packet of its operation */
#define RMC_REQ_LAST	(1ULL << 40)
/* ... first packet; set for announced operations only */
#define RMC_REQ_FIRST	(1ULL << 41)
#define RMC_REQ_SURPLUS_SHIFT	42
/* ... of an ordered queue pair: its group, and whether it was renewed an odd number of times */
#define RMC_REQ_GROUP_SHIFT	42
#define RMC_REQ_GROUPS		32
#define RMC_REQ_RENEWED		(1ULL << 47)

static inline u64 rmc_req_word1(u64 offset, u32 length, bool last)
{
	return (u64)length << 48 | (last ? RMC_REQ_LAST : 0) | (offset & RMC_OFFSET_MAX);
}

static inline u64 rmc_word1_offset(u64 word1)
{
	return word1 & RMC_OFFSET_MAX;
}

static inline u32 rmc_word1_length(u64 word1)
{
	return word1 >> 48;
}

/* Group of a plain request; 0: none */
static inline u32 rmc_word1_group(u64 word1)
{
	return word1 >> RMC_REQ_GROUP_SHIFT & (RMC_REQ_GROUPS - 1);
}

/* Index of the packet at @offset in an operation that begins at @start. */
static inline u32 rmc_packet_index(u32 mtu, u64 start, u64 offset)
{
	return rmc_os_div(offset - (start & ~(u64)(RMC_LINE - 1)), mtu);
}

/* Length of the packet at @offset: up to the MTU, cut on a line boundary. */
static inline u32 rmc_packet_length(u32 mtu, u64 offset, u32 left)
{
	u32 room = mtu - (u32)(offset & (RMC_LINE - 1));

	return min(room, left);
}

/* True if one packet carries [@offset, @offset + @length), as rmc_packet_length() cuts. */
static inline bool rmc_one_packet(u32 mtu, u64 offset, u32 length)
{
	return (u32)(offset & (RMC_LINE - 1)) + length <= mtu;
}

/* Number of packets of an operation. */
static inline u32 rmc_packets(u32 mtu, u64 offset, u32 length)
{
	return ((u32)(offset & (RMC_LINE - 1)) + length + mtu - 1) / mtu;
}

static inline u64 rmc_announce_word1(u64 offset, u32 length)
{
	u32 lines = rmc_lines(offset, length);
	u64 surplus = lines * RMC_LINE - (u32)(offset & (RMC_LINE - 1)) - length;

	return (u64)lines << 48 | surplus << RMC_REQ_SURPLUS_SHIFT | RMC_REQ_FIRST |
	       (offset & RMC_OFFSET_MAX);
}

/* True if a packet of an announced operation is the announcement. */
static inline bool rmc_word1_announces(u64 word1)
{
	return (word1 & (RMC_REQ_FIRST | RMC_REQ_LAST)) == RMC_REQ_FIRST;
}

/* Length that an announcement announces, bytes; 0 if it is invalid. */
static inline u32 rmc_announce_length(u64 word1)
{
	u32 all = (u32)(word1 >> 48) * RMC_LINE;
	u32 less = (u32)(word1 & (RMC_LINE - 1)) +
		   (u32)(word1 >> RMC_REQ_SURPLUS_SHIFT & (RMC_LINE - 1));

	return all > less ? all - less : 0;
}

/**
 * rmc_run_on() - check whether a packet continues a run
 * @word0: first word of the run's packets; the lap is ignored
 * @offset: start of the run, bytes
 * @length: length of the run, bytes
 * @most: longest possible run, bytes
 * @d: private copy of the next packet
 *
 * Only of operations with RMC_OPF_RUNS: no field of theirs but FIRST is left to compare.
 *
 * Return: length of the packet, which may exceed the MTU; 0: it does not continue the run.
 */
static inline u32 rmc_run_on(u64 word0, u64 offset, u32 length, u32 most, const struct rmc_desc *d)
{
	u32 more = rmc_word1_length(d->word1);

	if ((d->word0 ^ word0) << 8 || rmc_word1_offset(d->word1) != offset + length ||
	    (offset + length) & (RMC_LINE - 1) || more > most - length ||
	    d->word1 & RMC_REQ_FIRST)
		return 0;
	return more;
}

static inline void rmc_req_parse(struct rmc_req *q, const struct rmc_desc *d)
{
	q->tid = d->word0;
	q->gen = d->word0 >> 16;
	q->ctx_id = d->word0 >> 32;
	q->op = d->word0 >> 48;
	q->offset = rmc_word1_offset(d->word1);
	q->length = rmc_word1_length(d->word1);
}

static inline u64 rmc_rep_word0(const struct rmc_req *q, u8 status)
{
	return (u64)q->op << 48 | (u64)status << 40 | (u64)q->gen << 16 | q->tid;
}

/* The same from a request's first word: opcode, gen and tid have the same place. */
static inline u64 rmc_rep_echo(u64 word0, u8 status)
{
	return (word0 & (0x7full << 48 | 0xffffffff)) | (u64)status << 40;
}

static inline void rmc_rep_parse(struct rmc_rep *p, const struct rmc_desc *d)
{
	p->tid = d->word0;
	p->gen = d->word0 >> 16;
	p->marks = d->word0 >> 32;
	p->status = d->word0 >> 40;
	p->op = d->word0 >> 48;
	p->word1 = d->word1;
}

#endif
