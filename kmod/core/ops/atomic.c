// SPDX-License-Identifier: GPL-2.0
/*
 * Compare-and-swap and fetch-and-add on 8 aligned bytes (A14 sections 5.2, 7.4).
 *
 * They are CPU atomics on the owner's memory, so they are atomic with the
 * owner's own instructions too. The request's payload line has the operands;
 * the reply descriptor has the old value, which is stored in lbuf[0].
 */
#include "../op.h"

static u8 atomic_prepare(struct rmc_wqe *w, u32 operand)
{
	w->operand = operand;
	if (w->length != 8)
		return RMC_S_BAD_LENGTH;
	if (w->offset & 7)
		return RMC_S_BAD_ALIGN;
	return RMC_S_OK;
}

/* Length and alignment come from a peer: validate them again. */
static u64 *atomic_target(struct rmc_serve *s)
{
	u64 run;
	u8 *p;

	if (s->req.length != 8 || s->req.offset & 7)
		return NULL;
	p = rmc_mem_at(s->seg, s->req.offset, &run);
	return (u64 *)p;
}

static void atomic_complete(const struct rmc_itt_entry *e, u64 old)
{
	rmc_mem_put(e->lbuf, e->lbuf_off, (u8 *)&old, sizeof(old));
}

/**
 * rmc_cas_prepare() - validate a compare-and-swap's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_S_OK, RMC_S_BAD_LENGTH or RMC_S_BAD_ALIGN.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_cas_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return atomic_prepare(w, 16);
}

/**
 * rmc_cas_load() - copy {expected, desired} into the request
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_cas_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_mem_get(e->lbuf, e->lbuf_off, rmc_ring_line(tx, tx->pay_pos), 16);
}

/**
 * rmc_cas_serve() - compare and swap
 * @s: request and rings
 *
 * Return: RMC_S_OK, RMC_S_BAD_ALIGN.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_cas_serve(struct rmc_serve *s)
{
	const u64 *operand = (const u64 *)rmc_ring_line(s->rx, s->rx_pay);
	u64 *p = atomic_target(s);

	if (!p)
		return RMC_S_BAD_ALIGN;
	s->word1 = rmc_os_cas64(p, READ_ONCE(operand[0]), READ_ONCE(operand[1]));
	return RMC_S_OK;
}

/**
 * rmc_cas_complete() - store the old value
 * @e: operation
 * @rx: unused
 * @word1: old value
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_cas_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	atomic_complete(e, word1);
}

/**
 * rmc_faa_prepare() - validate a fetch-and-add's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_S_OK, RMC_S_BAD_LENGTH or RMC_S_BAD_ALIGN.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_faa_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return atomic_prepare(w, 8);
}

/**
 * rmc_faa_load() - copy the addend into the request
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_faa_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_mem_get(e->lbuf, e->lbuf_off, rmc_ring_line(tx, tx->pay_pos), 8);
}

/**
 * rmc_faa_serve() - fetch and add
 * @s: request and rings
 *
 * Return: RMC_S_OK, RMC_S_BAD_ALIGN.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_faa_serve(struct rmc_serve *s)
{
	const u64 *operand = (const u64 *)rmc_ring_line(s->rx, s->rx_pay);
	u64 *p = atomic_target(s);

	if (!p)
		return RMC_S_BAD_ALIGN;
	s->word1 = rmc_os_faa64(p, READ_ONCE(operand[0]));
	return RMC_S_OK;
}

/**
 * rmc_faa_complete() - store the old value
 * @e: operation
 * @rx: unused
 * @word1: old value
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_faa_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	atomic_complete(e, word1);
}
