// SPDX-License-Identifier: GPL-2.0
/*
 * Read-modify-write: all atomics that one compare-and-swap loop can implement, on 4 or 8
 * aligned bytes. The operands (struct rmc_rmw of uapi/linux/rmc_queue.h) select one, so
 * they share an opcode. A14 section 5.2 has fetch-and-add and compare-and-swap, see
 * atomic.c; OpenSHMEM and RDMA verbs (masked compare-and-swap) have the others.
 *
 *   RGP    load()      struct rmc_rmw --> payload line of the request
 *   RRPP   serve()     private copy, validated; compare-and-swap on the segment
 *   RCP    complete()  old value --> rmc_rmw.old
 */
#include "../op.h"

/*
 * Attempts per visit. Each failure means that another CPU has changed the word, so a
 * contended word may take several. Then the worker serves other sources.
 */
#define RMC_RMW_TRIES	64

/**
 * rmc_rmw_prepare() - validate a read-modify-write's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_S_OK, RMC_S_BAD_LENGTH or RMC_S_BAD_ALIGN.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_rmw_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	w->operand = sizeof(struct rmc_rmw);
	if (w->length != 8 && w->length != 4)
		return RMC_S_BAD_LENGTH;
	if (w->offset & (w->length - 1))
		return RMC_S_BAD_ALIGN;
	return RMC_S_OK;
}

/**
 * rmc_rmw_load() - copy the operands into the request
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_rmw_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	BUILD_BUG_ON(sizeof(struct rmc_rmw) > RMC_LINE);
	rmc_mem_get(e->lbuf, e->lbuf_off, rmc_ring_line(tx, tx->pay_pos),
		    sizeof(struct rmc_rmw));
}

static s64 as_signed(u64 v, u32 length)
{
	return length == 4 ? (s64)(s32)v : (s64)v;
}

/* The word's next value. */
static u64 next_value(const struct rmc_rmw *r, u64 v, u32 length)
{
	switch (r->kind) {
	case RMC_RMW_SWAP:
		return r->value;
	case RMC_RMW_ADD:
		return v + r->value;
	case RMC_RMW_AND:
		return v & r->value;
	case RMC_RMW_OR:
		return v | r->value;
	case RMC_RMW_XOR:
		return v ^ r->value;
	case RMC_RMW_MIN:
		return min(v, r->value);
	case RMC_RMW_MAX:
		return max(v, r->value);
	case RMC_RMW_SMIN:
		return as_signed(r->value, length) < as_signed(v, length) ? r->value : v;
	case RMC_RMW_SMAX:
		return as_signed(r->value, length) > as_signed(v, length) ? r->value : v;
	case RMC_RMW_CAS:
		if ((v ^ r->expected) & r->compare_mask)
			return v;
		return (v & ~r->swap_mask) | (r->value & r->swap_mask);
	}
	return v;
}

/* Read the line once, as a peer may change it any time; 32-bit operands lose their upper half. */
static void copy_operands(const struct rmc_serve *s, struct rmc_rmw *r)
{
	const struct rmc_rmw *from = (const struct rmc_rmw *)rmc_ring_line(s->rx, s->rx_pay);
	u64 mask = s->req.length == 4 ? U32_MAX : U64_MAX;

	r->kind = READ_ONCE(from->kind);
	r->reserved = READ_ONCE(from->reserved);
	r->value = READ_ONCE(from->value) & mask;
	r->expected = READ_ONCE(from->expected) & mask;
	r->compare_mask = READ_ONCE(from->compare_mask) & mask;
	r->swap_mask = READ_ONCE(from->swap_mask) & mask;
}

/* Of a request: length and alignment come from a peer, so they are validated again. */
static u8 take_operands(const struct rmc_serve *s, struct rmc_rmw *r)
{
	u32 length = s->req.length;

	if (length != 4 && length != 8)
		return RMC_S_BAD_LENGTH;
	if (s->req.offset & (length - 1))
		return RMC_S_BAD_ALIGN;
	copy_operands(s, r);
	return r->kind >= RMC_RMW_KINDS || r->reserved ? RMC_S_BAD_OP : RMC_S_OK;
}

/**
 * rmc_rmw_next() - what a read-modify-write makes of a word that is not in memory
 * @s: request and rings
 * @value: the word, zero-extended; its next value
 *
 * Return: as rmc_rmw_serve(). Context: RRPP worker, does not sleep.
 */
u8 rmc_rmw_next(const struct rmc_serve *s, u64 *value)
{
	struct rmc_rmw r;
	u8 status = take_operands(s, &r);

	if (status)
		return status;
	*value = next_value(&r, *value, s->req.length);
	if (s->req.length == 4)
		*value = (u32)*value;
	return RMC_S_OK;
}

static bool replace(u8 *p, u32 length, u64 *old, u64 next)
{
	u64 was;

	if (length == 4)
		was = rmc_os_cas32((u32 *)p, (u32)*old, (u32)next);
	else
		was = rmc_os_cas64((u64 *)p, *old, next);
	if (was == *old)
		return true;
	*old = was;
	return false;
}

/**
 * rmc_rmw_serve() - read, modify, write
 * @s: request and rings
 *
 * An unchanged value is written back as well, so the operation is always atomic with
 * the writes of others, and a full barrier.
 *
 * Return: RMC_S_OK, RMC_S_BAD_OP (unknown kind), RMC_S_BAD_LENGTH,
 * RMC_S_BAD_ALIGN, RMC_AGAIN. Context: RRPP worker, does not sleep.
 */
u8 rmc_rmw_serve(struct rmc_serve *s)
{
	u32 length = s->req.length, i;
	struct rmc_rmw r;
	u64 run, old;
	u8 *p, status = take_operands(s, &r);

	if (status)
		return status;
	p = rmc_mem_at(s->seg, s->req.offset, &run);
	old = length == 4 ? READ_ONCE(*(u32 *)p) : READ_ONCE(*(u64 *)p);
	for (i = 0; i < RMC_RMW_TRIES; i++) {
		u64 next = next_value(&r, old, length);

		if (replace(p, length, &old, length == 4 ? (u32)next : next)) {
			s->word1 = old;
			return RMC_S_OK;
		}
	}
	return RMC_AGAIN;
}

/**
 * rmc_rmw_complete() - store the old value
 * @e: operation
 * @rx: unused
 * @word1: old value; the upper half of a 32-bit one is zero
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_rmw_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	BUILD_BUG_ON(offsetof(struct rmc_rmw, old));
	rmc_mem_put(e->lbuf, e->lbuf_off, (u8 *)&word1, sizeof(word1));
}
