/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an operation does at each stage. To add an operation: an opcode in
 * uapi/linux/rmc_queue.h, one row in base/opcode.h, and a file under ops/ with its functions.
 * prepare() is for operations with RMC_OPF_PREPARE only. The pipelines need no change.
 *
 *   stage   function    contract
 *   RGP     prepare()   validate a snapshot of a queue pair's WQ entry: enum rmc_status or
 *                       RMC_NO_PACKET
 *   RGP     load()      put a packet's payload into the request ring
 *   RRPP    serve()     act on segment memory that was bounds-checked; fill
 *                       the reply payload; enum rmc_status, RMC_AGAIN or RMC_HELD
 *   RCP     complete()  move a successful reply into the local buffer
 *
 * load() and complete() read only lbuf, lbuf_off, offset and op of the operation's entry, but for
 * operations that need packets (local.h), which may also read its queue pair.
 *
 * For the transfers of an announced operation, registered by its serve():
 *
 *   ATT     open()      it becomes active
 *           data()      fill the payload of some of its replies: enum rmc_status
 *           close()     all data was sent: status of the transfer
 *           drop()      it ends early, after open()
 *
 * None of them sleeps, blocks or keeps a pointer, except into the segment of a transfer,
 * which ends before the segment is withdrawn (state.h). The table is an X-macro and
 * the dispatchers are switches, so a row costs a direct call: no retpoline.
 */
#ifndef RMC_OP_H
#define RMC_OP_H

#include "att.h"
#include "itt.h"
#include "../base/mem.h"
#include "../base/opcode.h"
#include "../base/wire.h"

/* serve() cannot finish now: retry, RMC_AGAIN_TRIES times at most, then RMC_S_BUSY */
#define RMC_AGAIN		0xff
/* the modelled adapter has not finished a request, which stays at the head of its ring */
#define RMC_LATER		0xfc
/* serve() took requests over; the ATT answers them later (att.c) */
#define RMC_HELD		0xfe
/* prepare(): the RGP executes the entry, without a packet (rgp.c); it completes with RMC_S_OK */
#define RMC_NO_PACKET		0xfd

/**
 * struct rmc_wqe - private copy of a WQ entry
 * @lbuf: application address of the local operand
 * @offset: in the destination's segment, bytes
 * @length: bytes
 * @operand: bytes of the local buffer it uses; preset to @length, prepare()
 *	may change it
 * @tag: of an operation with RMC_OPF_ENDS, from prepare(): its packets have these 14 bits in place
 *	of the number of packets. Of one with RMC_OPF_TX, from prepare(): its slot and gen,
 *	tx_slots.h
 * @nid: destination
 * @op: opcode
 */
struct rmc_wqe {
	u64 lbuf;
	u64 offset;
	u32 length;
	u32 operand;
	u32 tag;
	u16 nid;
	u8 op;
};

/**
 * struct rmc_serve - what serve() works on
 * @req: validated private copy of the request
 * @seg: segment; [req.offset, req.offset + req.length) lies inside
 * @rx: request ring
 * @rx_pay: position of the request's first payload line
 * @from: endpoint that the request came from: the unit whose RGP sent it
 * @tx: reply ring; its next payload lines are free
 * @word1: out, second word of the reply; preset to the echo
 * @count: packets, if @req is a run of them; out with RMC_HELD: how many were taken over
 * @node: node that serves
 * @in: channel the request came from; NULL on the local path
 * @now: time, nanoseconds; 0: nobody has read the clock yet: once for a batch
 */
struct rmc_serve {
	struct rmc_req req;
	struct rmc_mem *seg;
	struct rmc_ring *rx;
	u32 rx_pay;
	u32 from;
	struct rmc_ring *tx;
	u64 word1;
	u32 count;
	struct rmc_node *node;
	struct rmc_in *in;
	u64 now;
};

/* Copy the payload of a request that begins with a line to where nobody reads: not line by line. */
static inline void rmc_serve_copy(const struct rmc_serve *s, const struct rmc_mem *mem, u64 to,
				  u32 length)
{
	u32 run = rmc_ring_run(s->rx, s->rx_pay, 0, length);

	rmc_mem_put(mem, to, rmc_ring_line(s->rx, s->rx_pay), run);
	if (unlikely(run < length))
		rmc_mem_put(mem, to + run, s->rx->pay, length - run);
}

struct rmc_qpair;

#define RMC_OP_DECLARE(opcode, name, flags)					\
	u8 rmc_##name##_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w);
RMC_OPS(RMC_OP_DECLARE)
#undef RMC_OP_DECLARE

#define RMC_OP_DECLARE(opcode, name, flags)					\
	void rmc_##name##_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, \
			       u64 offset, u32 length);				\
	u8 rmc_##name##_serve(struct rmc_serve *s);				\
	void rmc_##name##_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, \
				   u64 word1);
RMC_PACKET_OPS(RMC_OP_DECLARE)
#undef RMC_OP_DECLARE

#define RMC_XFER_DECLARE(opcode, name)						\
	void rmc_##name##_open(struct rmc_node *node, struct rmc_xfer *x);	\
	u8 rmc_##name##_data(struct rmc_xfer *x, struct rmc_ring *tx, u64 offset, u32 length); \
	u8 rmc_##name##_close(struct rmc_xfer *x);				\
	void rmc_##name##_drop(struct rmc_xfer *x);
RMC_XFER_OPS(RMC_XFER_DECLARE)
#undef RMC_XFER_DECLARE

/* Of an operation with RMC_OPF_PREPARE */
static inline u8 rmc_op_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	switch (w->op) {
#define RMC_OP_ROW(opcode, name, flags)						\
	case RMC_OP_##opcode:							\
		return (flags) & RMC_OPF_PREPARE ? rmc_##name##_prepare(qp, w) : RMC_S_OK;
	RMC_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return RMC_S_BAD_OP;
}

static inline void rmc_op_load(const struct rmc_itt_entry *e, struct rmc_ring *tx,
			       u64 offset, u32 length)
{
	switch (e->op) {
#define RMC_OP_ROW(code, n, f) case RMC_OP_##code: rmc_##n##_load(e, tx, offset, length); break;
	RMC_PACKET_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
}

static inline u8 rmc_op_serve(struct rmc_serve *s)
{
	switch (s->req.op) {
#define RMC_OP_ROW(opcode, name, flags) case RMC_OP_##opcode: return rmc_##name##_serve(s);
	RMC_PACKET_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
	return RMC_S_BAD_OP;
}

static inline void rmc_op_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	switch (e->op) {
#define RMC_OP_ROW(code, n, f) case RMC_OP_##code: rmc_##n##_complete(e, rx, word1); break;
	RMC_PACKET_OPS(RMC_OP_ROW)
#undef RMC_OP_ROW
	}
}

u8 rmc_rmw_next(const struct rmc_serve *s, u64 *value);

static inline void rmc_xfer_open(struct rmc_node *node, struct rmc_xfer *x)
{
	switch (x->op) {
#define RMC_XFER_ROW(opcode, name) case RMC_OP_##opcode: rmc_##name##_open(node, x); break;
	RMC_XFER_OPS(RMC_XFER_ROW)
#undef RMC_XFER_ROW
	}
}

/* [@offset, @offset + @length): the lines after those that were sent */
static inline u8 rmc_xfer_data(struct rmc_xfer *x, struct rmc_ring *tx, u64 offset, u32 length)
{
	switch (x->op) {
#define RMC_XFER_ROW(code, n) case RMC_OP_##code: return rmc_##n##_data(x, tx, offset, length);
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

#endif
