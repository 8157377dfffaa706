/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operation table. To add an operation: an opcode in uapi/linux/rmc_queue.h,
 * one row here, and a file under ops/ with its four functions. The pipelines
 * do not learn its name.
 *
 *   stage   function    contract
 *   RGP     prepare()   judge a snapshot of the WQ entry: enum rmc_status
 *   RGP     load()      put a packet's payload into the request ring
 *   RRPP    serve()     act on segment memory that was bounds-checked; fill
 *                       the reply payload; enum rmc_status, RMC_AGAIN or RMC_HELD
 *   RCP     complete()  move a successful reply into the local buffer
 *
 * load() and complete() look at lbuf, lbuf_off, offset and op of the operation's entry.
 *
 * For the transfers of an announced operation, registered by its serve():
 *
 *   ATT     open()      it has become active
 *           data()      fill the payload of some of its replies: enum rmc_status
 *           close()     all data was sent: status of all of it
 *           drop()      it ended early, after open()
 *
 * None of them sleeps, blocks or keeps a pointer, but into the segment of a transfer,
 * which ends before that goes (rmc_att_withdraw()). The table is an X-macro and
 * the dispatchers are switches, so a row costs a direct call: no retpoline.
 */
#ifndef RMC_OP_H
#define RMC_OP_H

#include "att.h"
#include "itt.h"
#include "mem.h"
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

/*	 opcode, name, flags */
#define RMC_OPS(X)								\
	X(READ,  read,  RMC_OPF_REP_LINES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT)	\
	X(WRITE, write, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES | RMC_OPF_RUNS | RMC_OPF_IDEMPOTENT) \
	X(CAS,   cas,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES)			\
	X(FAA,   faa,   RMC_OPF_OPERANDS | RMC_OPF_MODIFIES)			\
	X(NOTIFY, notify, RMC_OPF_EMPTY)					\
	X(WRITE_NOTIFY, write_notify, RMC_OPF_REQ_LINES | RMC_OPF_MODIFIES)	\
	X(SABRE, sabre, RMC_OPF_REP_LINES | RMC_OPF_ANNOUNCED | RMC_OPF_RUNS)

/* Those of them that are announced */
#define RMC_XFER_OPS(X)								\
	X(SABRE, sabre)

/* serve() cannot finish now: leave the request where it is and ask again */
#define RMC_AGAIN		0xff
/* serve() took requests over and will have them answered (att.c) */
#define RMC_HELD		0xfe

/**
 * struct rmc_wqe - private copy of a WQ entry
 * @lbuf: application address of the local operand
 * @offset: in the destination's segment, bytes
 * @length: bytes
 * @operand: bytes of the local buffer it uses; preset to @length, prepare()
 *	may change it
 * @nid: destination
 * @op: opcode
 */
struct rmc_wqe {
	u64 lbuf;
	u64 offset;
	u32 length;
	u32 operand;
	u16 nid;
	u8 op;
};

/**
 * struct rmc_serve - what serve() works on
 * @req: validated private copy of the request
 * @seg: segment; [req.offset, req.offset + req.length) lies inside
 * @rx: request ring
 * @rx_pay: position of the request's first payload line
 * @tx: reply ring; its next payload lines are free
 * @word1: out, second word of the reply; preset to the echo
 * @count: packets, when @req is a run of them; RMC_HELD: how many were taken over
 * @node: node that serves
 * @in: channel the request came from
 */
struct rmc_serve {
	struct rmc_req req;
	struct rmc_mem *seg;
	struct rmc_ring *rx;
	u32 rx_pay;
	struct rmc_ring *tx;
	u64 word1;
	u32 count;
	struct rmc_node *node;
	struct rmc_in *in;
};

#define RMC_OP_DECLARE(opcode, name, flags)					\
	u8 rmc_##name##_prepare(struct rmc_wqe *w);			\
	void rmc_##name##_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, \
			       u64 offset, u32 length);				\
	u8 rmc_##name##_serve(struct rmc_serve *s);				\
	void rmc_##name##_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, \
				   u64 word1);
RMC_OPS(RMC_OP_DECLARE)
#undef RMC_OP_DECLARE

#define RMC_XFER_DECLARE(opcode, name)						\
	void rmc_##name##_open(struct rmc_xfer *x, u32 depth);			\
	u8 rmc_##name##_data(struct rmc_xfer *x, struct rmc_ring *tx, u64 offset, u32 length); \
	u8 rmc_##name##_close(struct rmc_xfer *x);				\
	void rmc_##name##_drop(struct rmc_xfer *x);
RMC_XFER_OPS(RMC_XFER_DECLARE)
#undef RMC_XFER_DECLARE

/* Flags of an opcode; 0 when there is no such operation. */
static inline u8 rmc_op_flags(u8 op)
{
	switch (op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return flags;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return 0;
}

static inline u8 rmc_op_prepare(struct rmc_wqe *w)
{
	switch (w->op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return rmc_##name##_prepare(w);
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return RMC_S_BAD_OP;
}

static inline void rmc_op_load(const struct rmc_itt_entry *e, struct rmc_ring *tx,
			       u64 offset, u32 length)
{
	switch (e->op) {
#define RMC_OP_ROW(opcode, name, flags) \
	case RMC_OP_##opcode: rmc_##name##_load(e, tx, offset, length); break;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
}

static inline u8 rmc_op_serve(struct rmc_serve *s)
{
	switch (s->req.op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return rmc_##name##_serve(s);
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return RMC_S_BAD_OP;
}

static inline void rmc_op_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	switch (e->op) {
#define RMC_OP_ROW(opcode, name, flags) \
	case RMC_OP_##opcode: rmc_##name##_complete(e, rx, word1); break;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
}

/* @depth: lines to fetch ahead, see struct rmc_att */
static inline void rmc_xfer_open(struct rmc_xfer *x, u32 depth)
{
	switch (x->op) {
#define RMC_XFER_ROW(opcode, name) case RMC_OP_##opcode: rmc_##name##_open(x, depth); break;
	RMC_XFER_OPS(RMC_XFER_ROW)
#undef RMC_XFER_ROW
	}
}

/* [@offset, @offset + @length): lines next after those that were sent */
static inline u8 rmc_xfer_data(struct rmc_xfer *x, struct rmc_ring *tx, u64 offset, u32 length)
{
	switch (x->op) {
#define RMC_XFER_ROW(opcode, name) \
	case RMC_OP_##opcode: return rmc_##name##_data(x, tx, offset, length);
	RMC_XFER_OPS(RMC_XFER_ROW)
#undef RMC_XFER_ROW
	}
	return RMC_S_BAD_OP;
}

static inline u8 rmc_xfer_close(struct rmc_xfer *x)
{
	switch (x->op) {
#define RMC_XFER_ROW(opcode, name) case RMC_OP_##opcode: return rmc_##name##_close(x);
	RMC_XFER_OPS(RMC_XFER_ROW)
#undef RMC_XFER_ROW
	}
	return RMC_S_BAD_OP;
}

static inline void rmc_xfer_drop(struct rmc_xfer *x)
{
	switch (x->op) {
#define RMC_XFER_ROW(opcode, name) case RMC_OP_##opcode: rmc_##name##_drop(x); break;
	RMC_XFER_OPS(RMC_XFER_ROW)
#undef RMC_XFER_ROW
	}
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
static inline bool rmc_op_announces(u8 flags, u64 word1)
{
	return unlikely(flags & RMC_OPF_ANNOUNCED) && rmc_word1_announces(word1);
}

/* Payload lines of a request and of a successful reply. */
static inline u32 rmc_op_req_lines(u8 flags, u64 offset, u32 length)
{
	if (flags & RMC_OPF_REQ_LINES)
		return rmc_lines(offset, length);
	return flags & RMC_OPF_OPERANDS ? 1 : 0;
}

static inline u32 rmc_op_rep_lines(u8 flags, u64 offset, u32 length)
{
	return flags & RMC_OPF_REP_LINES ? rmc_lines(offset, length) : 0;
}

/*
 * Packets of an operation that only moves lines are as good as one packet: those
 * next to each other move as one run. The first of an announced one says more.
 */
static inline bool rmc_op_runs(u8 flags, u64 word1)
{
	return flags & RMC_OPF_RUNS && !(flags & RMC_OPF_ANNOUNCED && word1 & RMC_REQ_FIRST);
}

/* A write that is not as good twice as once has a notification behind it. */
static inline bool rmc_op_notifies(u8 flags)
{
	return (flags & (RMC_OPF_REQ_LINES | RMC_OPF_IDEMPOTENT)) == RMC_OPF_REQ_LINES;
}

/* The latter from a reply's second word; an announcement's has none. */
static inline u32 rmc_op_echo_lines(u8 flags, u64 word1)
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
static inline u32 rmc_op_reserved_lines(u8 flags, u64 word1, u32 mtu)
{
	if (unlikely(flags & RMC_OPF_ANNOUNCED) && !(word1 & RMC_REQ_FIRST))
		return mtu / RMC_LINE;
	return rmc_op_echo_lines(flags, word1);
}

#endif
