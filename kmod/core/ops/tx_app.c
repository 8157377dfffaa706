// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of transactions that applications post (<linux/rmc_tx.h>). TX_READ and TX_OWN are
 * TX_ACCESS with a queue pair of an application in place of an engine's; the operand line, and the
 * gen in it, are the kernel's. TX_COMMIT and TX_ABORT have no packets: ../tx_record.c.
 */
#include "../node.h"
#include "../tx_slots.h"

static void put_operands(const struct rmc_itt_entry *e, struct rmc_ring *tx, u8 kind)
{
	u32 tag = e->lbuf_off >> RMC_TAG_SHIFT;
	struct rmc_tx_head h = {
		.gen = rmc_tx_slots_gen(e->qp, tag),
		.slot = tag >> RMC_TX_TAG_GEN_BITS,
		.kind = kind,
	};

	rmc_copy_line(rmc_ring_line(tx, tx->pay_pos), (const u8 *)&h);
}

static void put_lines(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	u64 offset = rmc_word1_offset(word1);
	u32 len = rmc_word1_length(word1), skip = offset & (RMC_LINE - 1);
	u64 to = rmc_itt_lbuf_off(e) + (offset - e->offset);
	u32 run;

	if (likely(len == RMC_LINE && !skip)) {
		rmc_mem_put(e->lbuf, to, rmc_ring_line(rx, rx->pay_pos), RMC_LINE);
		return;
	}
	run = rmc_ring_run(rx, rx->pay_pos, skip, len);
	rmc_mem_put(e->lbuf, to, rmc_ring_line(rx, rx->pay_pos) + skip, run);
	if (unlikely(run < len))
		rmc_mem_put(e->lbuf, to + run, rx->pay, len - run);
}

/**
 * rmc_tx_read_prepare() - validate a WQ entry, and note in the transaction what it uses
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: enum rmc_status. Context: RGP worker, does not sleep.
 */
u8 rmc_tx_read_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return rmc_tx_slots_access(qp, w);
}

/**
 * rmc_tx_read_load() - make the operand line
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_read_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	put_operands(e, tx, RMC_TX_KIND_READ);
}

/**
 * rmc_tx_read_serve() - note that a transaction reads lines, and return them
 * @s: request and rings
 *
 * Return: see rmc_tx_access_serve(). Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_read_serve(struct rmc_serve *s)
{
	return rmc_tx_access_serve(s);
}

/**
 * rmc_tx_read_complete() - copy lines into the local buffer
 * @e: operation; the packet lies within it, the RCP checked
 * @rx: reply ring, at the payload
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_read_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	put_lines(e, rx, word1);
}

/**
 * rmc_tx_own_prepare() - as rmc_tx_read_prepare()
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: enum rmc_status. Context: RGP worker, does not sleep.
 */
u8 rmc_tx_own_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return rmc_tx_slots_access(qp, w);
}

/**
 * rmc_tx_own_load() - make the operand line
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_own_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	put_operands(e, tx, RMC_TX_KIND_OWN);
}

/**
 * rmc_tx_own_serve() - note that a transaction will write parts of lines, and return them
 * @s: request and rings
 *
 * Return: see rmc_tx_access_serve(). Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_own_serve(struct rmc_serve *s)
{
	return rmc_tx_access_serve(s);
}

/**
 * rmc_tx_own_complete() - as rmc_tx_read_complete()
 * @e: operation; the packet lies within it, the RCP checked
 * @rx: reply ring, at the payload
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_own_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	put_lines(e, rx, word1);
}

/**
 * rmc_tx_commit_prepare() - validate a TX_COMMIT's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_NO_PACKET; otherwise enum rmc_status. Context: RGP worker, does not sleep.
 */
u8 rmc_tx_commit_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return rmc_tx_slots_control(qp, w);
}

/**
 * rmc_tx_abort_prepare() - validate a TX_ABORT's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_NO_PACKET; otherwise enum rmc_status. Context: RGP worker, does not sleep.
 */
u8 rmc_tx_abort_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return rmc_tx_slots_control(qp, w);
}
