// SPDX-License-Identifier: GPL-2.0
/*
 * Packets of transactions (HADES sections IV and V): what participants are told, see
 * base/tx_wire.h. All of a packet is copied before it is judged. No application sends these, but
 * the engine of its node (tx_engine.h).
 *
 *   RGP    load()      operand line, or a packet of a message, from the engine's buffer
 *   RRPP   serve()     participant: tx/part.h
 *   RCP    complete()  lines that were accessed; that a message has acted
 */
#include "../node.h"
#include "../tx_homes.h"

/*
 * The participant that a request is for, and the source of the request, whose epoch is the
 * channel's. Returns the status of the reply otherwise.
 */
static u8 find(struct rmc_serve *s, struct rmc_tx_home **home)
{
	*home = rmc_tx_homes_find(&s->node->tx_homes, s->req.ctx_id);
	if (unlikely(!*home))
		return RMC_S_BAD_CONTEXT;
	/* nothing takes the local path */
	if (unlikely(!s->in || (*home)->part->limits.self != s->node->ep))
		return RMC_S_PROTOCOL;
	return rmc_tx_home_hear(*home, s->from, s->in->epoch);
}

static struct rmc_txid id_of(const struct rmc_serve *s, const struct rmc_tx_head *head)
{
	return (struct rmc_txid){ .source = s->from, .slot = head->slot, .gen = head->gen };
}

/**
 * rmc_tx_access_load() - copy the operand line into the request
 * @e: operation; its local buffer begins with the line
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_access_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_mem_get(e->lbuf, e->lbuf_off, rmc_ring_line(tx, tx->pay_pos), RMC_LINE);
}

/**
 * rmc_tx_access_serve() - note that a transaction uses lines, and return them
 * @s: request and rings
 *
 * A line that another transaction is committing is refused at once: what will unlock it may wait
 * in the same ring.
 *
 * Return: enum rmc_status, see rmc_tx_part_access(); RMC_AGAIN: a line keeps changing.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_access_serve(struct rmc_serve *s)
{
	struct rmc_tx_home *home;
	struct rmc_tx_head head;
	struct rmc_txid id;
	u8 status;

	rmc_copy((u8 *)&head, rmc_ring_line(s->rx, s->rx_pay), sizeof(head));
	status = find(s, &home);
	if (unlikely(status))
		return status;
	if (unlikely(head.kind != RMC_TX_KIND_READ && head.kind != RMC_TX_KIND_OWN))
		return RMC_S_PROTOCOL;
	id = id_of(s, &head);
	status = rmc_tx_part_access(home->part, &id, head.kind == RMC_TX_KIND_READ ? RMC_TX_READ :
				    RMC_TX_OWN, s->req.offset, s->req.length);
	return status ?: rmc_read_serve(s);
}

/**
 * rmc_tx_access_complete() - copy the lines behind the operand line
 * @e: operation; the packet lies within it, the RCP checked
 * @rx: reply ring, at the payload
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_access_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	u64 offset = rmc_word1_offset(word1);
	u32 len = rmc_word1_length(word1), skip = offset & (RMC_LINE - 1);
	u64 to = e->lbuf_off + RMC_LINE + (offset - e->offset);
	u32 run = rmc_ring_run(rx, rx->pay_pos, skip, len);

	rmc_mem_put(e->lbuf, to, rmc_ring_line(rx, rx->pay_pos) + skip, run);
	if (unlikely(run < len))
		rmc_mem_put(e->lbuf, to + run, rx->pay, len - run);
}

/*
 * What serve() of messages has in common. @act: act on @length bytes behind the operand line @head,
 * all of them private.
 */
static u8 serve_message(struct rmc_serve *s,
			u8 (*act)(struct rmc_tx_part *part, const struct rmc_txid *id,
				  const struct rmc_tx_head *head, const u8 *body, u32 length))
{
	const struct rmc_tx_head *head;
	struct rmc_tx_home *home;
	const u8 *message;
	struct rmc_txid id;
	u32 length;
	u8 status;

	s->word1 &= ~RMC_TX_ACTED;
	status = find(s, &home);
	if (unlikely(status))
		return status;
	status = rmc_tx_assemble(s, &home->from[s->from].parts, home->single, &message, &length);
	if (unlikely(status || !message))
		return status;
	head = (const struct rmc_tx_head *)message;
	/* its packets say the same slot and gen */
	if (unlikely(length < sizeof(*head) ||
		     rmc_tx_offset(head->slot, head->gen) + rmc_tx_byte(s->req.offset) !=
		     s->req.offset))
		return RMC_S_PROTOCOL;
	id = id_of(s, head);
	status = act(home->part, &id, head, message + sizeof(*head), length - sizeof(*head));
	if (!status)
		s->word1 |= RMC_TX_ACTED;
	return status;
}

/* Copy a packet of a message, which begins with a line */
static void load_message(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset,
			 u32 length)
{
	rmc_write_load(e, tx, offset, length);
}

static void complete_message(const struct rmc_itt_entry *e, u64 word1)
{
	u8 acted = 1;

	if (word1 & RMC_TX_ACTED)
		rmc_mem_put(e->lbuf, e->lbuf_off + offsetof(struct rmc_tx_head, acted), &acted, 1);
}

static u8 intend(struct rmc_tx_part *part, const struct rmc_txid *id,
		 const struct rmc_tx_head *head, const u8 *body, u32 length)
{
	if (unlikely((head->kind != RMC_TX_KIND_INTEND && head->kind != RMC_TX_KIND_LOCK) ||
		     head->count > RMC_TX_RANGES || head->writes > head->count ||
		     head->count * sizeof(struct rmc_tx_range) != length))
		return RMC_S_PROTOCOL;
	if (head->kind == RMC_TX_KIND_LOCK)
		return rmc_tx_part_lock(part, id, (const struct rmc_tx_range *)body, head->writes,
					head->count - head->writes);
	return rmc_tx_part_intend(part, id, head->flags, (const struct rmc_tx_range *)body,
				  head->count);
}

/**
 * rmc_tx_intend_load() - copy a packet of the message
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: of the packet: slot, gen and byte
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_intend_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	load_message(e, tx, offset, length);
}

/**
 * rmc_tx_intend_serve() - lock what a transaction will write, if nothing is against it
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_tx_part_intend(); RMC_AGAIN. Context: RRPP worker, does not
 * sleep.
 */
u8 rmc_tx_intend_serve(struct rmc_serve *s)
{
	return serve_message(s, intend);
}

/**
 * rmc_tx_intend_complete() - note that the message has acted
 * @e: operation
 * @rx: unused
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_intend_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	complete_message(e, word1);
}

/* All pieces up to the first that is refused; those before stay. */
static u8 data(struct rmc_tx_part *part, const struct rmc_txid *id,
	       const struct rmc_tx_head *head, const u8 *body, u32 length)
{
	u32 at = 0, i, next;
	u8 status;

	if (unlikely(head->kind != RMC_TX_KIND_DATA))
		return RMC_S_PROTOCOL;
	for (i = 0; i < head->count; i++) {
		const struct rmc_tx_piece *p = (const struct rmc_tx_piece *)(body + at);

		if (unlikely(length - at < sizeof(*p)))
			return RMC_S_PROTOCOL;
		at += sizeof(*p);
		if (unlikely(!p->length || p->length > length - at))
			return RMC_S_PROTOCOL;
		status = rmc_tx_part_data(part, id, p->offset, body + at, p->length);
		if (unlikely(status))
			return status;
		next = at + ALIGN(p->length, 8);
		at = min(next, length);
	}
	return unlikely(at != length) ? RMC_S_PROTOCOL : RMC_S_OK;
}

/**
 * rmc_tx_data_load() - copy a packet of the message
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: of the packet: slot, gen and byte
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_data_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	load_message(e, tx, offset, length);
}

/**
 * rmc_tx_data_serve() - keep what a transaction that has prepared writes
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_tx_part_data(); RMC_AGAIN. Context: RRPP worker, does not sleep.
 */
u8 rmc_tx_data_serve(struct rmc_serve *s)
{
	return serve_message(s, data);
}

/**
 * rmc_tx_data_complete() - note that the message has acted
 * @e: operation
 * @rx: unused
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_data_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	complete_message(e, word1);
}

static u8 close_tx(struct rmc_tx_part *part, const struct rmc_txid *id,
		   const struct rmc_tx_head *head, const u8 *body, u32 length)
{
	if (unlikely(length || (head->kind != RMC_TX_KIND_COMMIT &&
				head->kind != RMC_TX_KIND_ABORT)))
		return RMC_S_PROTOCOL;
	return rmc_tx_part_close(part, id, head->flags, head->kind == RMC_TX_KIND_COMMIT);
}

/**
 * rmc_tx_close_load() - copy a packet of the message
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: of the packet: slot, gen and byte
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_tx_close_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	load_message(e, tx, offset, length);
}

/**
 * rmc_tx_close_serve() - apply a transaction, or not, and unlock
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_tx_part_close(); RMC_AGAIN. Context: RRPP worker, does not
 * sleep.
 */
u8 rmc_tx_close_serve(struct rmc_serve *s)
{
	return serve_message(s, close_tx);
}

/**
 * rmc_tx_close_complete() - note that the message has acted
 * @e: operation
 * @rx: unused
 * @word1: echo of the request
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_tx_close_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	complete_message(e, word1);
}
