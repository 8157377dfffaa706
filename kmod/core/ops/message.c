// SPDX-License-Identifier: GPL-2.0
/*
 * Messages (T18 sections 5.4 to 5.6): SEND and OFFER put one into a receive slot of the
 * destination, RECEIVE says that it was processed, REPLY that and answers it. READY says that the
 * core takes one more before; it needs no packet. domain.c and answer.c have the slots.
 *
 *   sender                                        receiver
 *   WQ: SEND --> RGP: load() --> packets -------> RRPP: serve() --> slot, READY
 *                                                                     | dispatcher
 *                                                                     v
 *   slot is free <-- RRPP: serve() <-- packet <-- RGP <-- WQ: RECEIVE, application <-- AQ
 */
#include "../node.h"
#include "../part.h"

/* Validate what all of them name: a slot of a pair of nodes. */
static u8 validate(const struct rmc_qpair *qp, const struct rmc_wqe *w)
{
	const struct rmc_domain *d = qp->domain;

	if (unlikely(!d))
		return RMC_S_NO_DOMAIN;
	if (unlikely(rmc_domain_set(d, w->nid) >= d->p.nodes))
		return RMC_S_BAD_NODE;
	if (unlikely(rmc_slot_number(w->offset) >= d->p.slots || rmc_slot_byte(w->offset)))
		return RMC_S_BAD_SLOT;
	return RMC_S_OK;
}

/* What serve() of all of them does first: domain, source and slot of a request, any values. */
static __always_inline u8 serve(struct rmc_serve *s,
				u8 (*act)(struct rmc_serve *s, struct rmc_domain *d, u32 set))
{
	struct rmc_domain *d = rmc_domain_find(&s->node->domains, (u8)s->req.ctx_id);
	u32 set;
	u8 status;

	if (unlikely(!d))
		return RMC_S_NO_DOMAIN;
	set = rmc_domain_set(d, rmc_endpoint_nid(s->node->fabric, s->from));
	if (unlikely(set >= d->p.nodes))
		status = RMC_S_DOMAIN_MISMATCH;
	else if (unlikely(rmc_slot_number(s->req.offset) >= d->p.slots))
		status = RMC_S_BAD_SLOT;
	else
		status = act(s, d, array_index_nospec(set, d->p.nodes));
	if (unlikely(status))
		rmc_domain_count(rmc_domain_unit(d, s->node), refused);
	return status;
}

/**
 * rmc_send_prepare() - validate a SEND
 * @qp: queue pair
 * @w: snapshot of its WQ entry
 *
 * Return: RMC_S_OK, RMC_S_NO_DOMAIN, RMC_S_BAD_NODE, RMC_S_BAD_SLOT, RMC_S_BAD_LENGTH.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_send_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	u8 status = validate(qp, w);

	if (likely(!status) && unlikely(w->length > qp->domain->p.max_message))
		return RMC_S_BAD_LENGTH;
	if (likely(!status) &&
	    unlikely(!rmc_part_has(qp->domain, qp->member, rmc_slot_number(w->offset))))
		return RMC_S_BAD_SLOT;
	return status;
}

/**
 * rmc_send_load() - copy a packet's data from the local buffer
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: slot, turn and byte of the packet
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_send_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_write_load(e, tx, offset, length);
}

/**
 * rmc_send_serve() - store a packet of a message, and dispatch the message if it is complete
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_domain_store().
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_send_serve(struct rmc_serve *s)
{
	return serve(s, rmc_domain_store);
}

/**
 * rmc_send_complete() - a SEND's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_send_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/**
 * rmc_offer_prepare() - validate an OFFER: the same as a SEND
 * @qp: queue pair
 * @w: snapshot of its WQ entry
 *
 * Return: as rmc_send_prepare(). Context: RGP worker, does not sleep.
 */
u8 rmc_offer_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return rmc_send_prepare(qp, w);
}

/**
 * rmc_offer_load() - the same as of a SEND
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: slot, turn and byte of the packet
 * @length: of the packet, bytes
 */
void rmc_offer_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	rmc_send_load(e, tx, offset, length);
}

/**
 * rmc_offer_serve() - the same as of a SEND; the arrival says that it is an OFFER
 * @s: request and rings
 *
 * Return: as rmc_send_serve(). Context: RRPP worker, does not sleep.
 */
u8 rmc_offer_serve(struct rmc_serve *s)
{
	return rmc_send_serve(s);
}

/**
 * rmc_offer_complete() - an OFFER's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_offer_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/* Both of an entry that validate() has let pass */
static u32 set_of(const struct rmc_domain *d, const struct rmc_wqe *w)
{
	return array_index_nospec(rmc_domain_set(d, w->nid), d->p.nodes);
}

static struct rmc_slot *slot_of(const struct rmc_domain *d, const struct rmc_wqe *w)
{
	u32 slot = array_index_nospec(rmc_slot_number(w->offset), d->p.slots);

	return rmc_domain_slot(d, set_of(d, w), slot);
}

/* A message of all cores: of two that end it at once, one does. */
static bool claim(struct rmc_slot *slot, u32 core, u8 turn)
{
	if (rmc_os_cas32(&slot->holder, RMC_CORE_ANY, core) != RMC_CORE_ANY)
		return false;
	/* the next message may be in it by now; pairs with the release in post() */
	if (likely(smp_load_acquire(&slot->state) == RMC_SLOT_HELD &&
		   (u8)READ_ONCE(slot->turn) == turn))
		return true;
	WRITE_ONCE(slot->holder, RMC_CORE_ANY);
	return false;
}

/* Validate what ends a message: only the queue pair that holds it does. Out: its turn and life */
static u8 held(const struct rmc_qpair *qp, const struct rmc_wqe *w, u32 *turn, u32 *life)
{
	const struct rmc_domain *d = qp->domain;
	u8 status = validate(qp, w);
	struct rmc_slot *slot;

	if (unlikely(status))
		return status;
	slot = slot_of(d, w);
	if (unlikely(qp->core == RMC_CORE_NONE))
		return RMC_S_BAD_SLOT;
	/* pairs with the release in post(): the dispatcher wrote the rest before */
	if (unlikely(smp_load_acquire(&slot->state) != RMC_SLOT_HELD))
		return RMC_S_BAD_SLOT;
	*turn = READ_ONCE(slot->turn);
	if (unlikely((u8)*turn != rmc_slot_turn(w->offset)))
		return RMC_S_BAD_SLOT;
	if (unlikely(READ_ONCE(slot->holder) != qp->core &&
		     !(d->shared && claim(slot, qp->core, *turn))))
		return RMC_S_BAD_SLOT;
	/* no new life can begin while the message is held */
	*life = READ_ONCE(d->peer_life[rmc_life_index(d, set_of(d, w), w->offset)]);
	return RMC_S_OK;
}

/**
 * rmc_receive_prepare() - validate a RECEIVE
 * @qp: queue pair
 * @w: snapshot of its WQ entry; out: the packet names the lives of both domains, and more of the
 *	turn
 *
 * Return: RMC_S_OK, RMC_S_NO_DOMAIN, RMC_S_BAD_NODE, RMC_S_BAD_SLOT.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_receive_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	u32 turn, life;
	u8 status = held(qp, w, &turn, &life);

	if (unlikely(status))
		return status;
	w->offset |= rmc_slot_lives(life, qp->domain->life);
	w->tag = rmc_turn_high(turn);
	return RMC_S_OK;
}

/**
 * rmc_receive_load() - a RECEIVE has no payload
 * @e: operation
 * @tx: request ring
 * @offset: of the packet
 * @length: 0
 */
void rmc_receive_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_receive_serve() - free the send slot
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_domain_free().
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_receive_serve(struct rmc_serve *s)
{
	return serve(s, rmc_domain_free);
}

/**
 * rmc_receive_complete() - a RECEIVE's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_receive_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/**
 * rmc_ready_prepare() - validate a READY: once per message and core
 * @qp: queue pair
 * @w: snapshot of its WQ entry
 *
 * Return: RMC_NO_PACKET, RMC_S_NO_DOMAIN, RMC_S_BAD_NODE, RMC_S_BAD_SLOT.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_ready_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	u32 turn, life;
	u8 status;

	/* where each core takes from one queue none has room that it could give back */
	if (unlikely(qp->domain && qp->domain->shared))
		return RMC_S_BAD_SLOT;
	status = held(qp, w, &turn, &life);
	if (unlikely(status))
		return status;
	if (unlikely(slot_of(qp->domain, w)->ready))
		return RMC_S_BAD_SLOT;
	return RMC_NO_PACKET;
}

/**
 * rmc_ready_load() - never called: no packet is sent
 * @e: operation
 * @tx: request ring
 * @offset: of the packet
 * @length: 0
 */
void rmc_ready_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_ready_serve() - refuse a packet: no RMC sends one
 * @s: request and rings
 *
 * Return: RMC_S_BAD_OP. Context: RRPP worker, does not sleep.
 */
u8 rmc_ready_serve(struct rmc_serve *s)
{
	return RMC_S_BAD_OP;
}

/**
 * rmc_ready_complete() - never called
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_ready_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}

/**
 * rmc_join_prepare() - validate a JOIN, which gets the life of the peer's domain
 * @qp: queue pair
 * @w: snapshot of its WQ entry: 8 bytes; a slot, also for others of its RRPP; with RMC_JOIN_SKIP a
 *	slot of its own, and a turn
 *
 * Return: RMC_S_OK, RMC_S_NO_DOMAIN, RMC_S_BAD_NODE, RMC_S_BAD_SLOT, RMC_S_BAD_LENGTH.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_join_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	bool skips = rmc_slot_byte(w->offset) == RMC_JOIN_SKIP;
	struct rmc_wqe plain = *w;
	u8 status;

	if (skips)
		plain.offset -= RMC_JOIN_SKIP;
	status = validate(qp, &plain);
	if (unlikely(status))
		return status;
	if (w->length != sizeof(u64))
		return RMC_S_BAD_LENGTH;
	if (skips)
		return rmc_part_has(qp->domain, qp->member, rmc_slot_number(w->offset)) ?
		       RMC_S_OK : RMC_S_BAD_SLOT;
	return rmc_slot_turn(w->offset) ? RMC_S_BAD_SLOT : RMC_S_OK;
}

/**
 * rmc_join_load() - put the domain's own parameters into the request: no application names them
 * @e: operation
 * @tx: request ring, at a free payload line
 * @offset: unused
 * @length: unused
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_join_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	const struct rmc_domain *d = e->qp->domain;
	struct rmc_join j = { 0 };

	BUILD_BUG_ON(sizeof(j) > RMC_LINE);
	/* sent again after the queue pair has left the domain: refused */
	if (d) {
		j.p = d->p;
		j.life = d->life;
	}
	memcpy(rmc_ring_line(tx, tx->pay_pos), &j, sizeof(j));
}

/**
 * rmc_join_serve() - begin a new life of the source
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_domain_join().
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_join_serve(struct rmc_serve *s)
{
	return serve(s, rmc_domain_join);
}

/**
 * rmc_join_complete() - store what the peer said, see struct rmc_join
 * @e: operation
 * @rx: unused
 * @word1: it
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_join_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	rmc_mem_put(e->lbuf, e->lbuf_off, (u8 *)&word1, sizeof(word1));
}

/**
 * rmc_reply_prepare() - validate a REPLY
 * @qp: queue pair
 * @w: snapshot of its WQ entry; out: the packets name the lives of both domains, and more of the
 *	turn
 *
 * Return: RMC_S_OK, RMC_S_NO_DOMAIN, RMC_S_BAD_NODE, RMC_S_BAD_SLOT, RMC_S_BAD_LENGTH.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_reply_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	u32 turn, life, tag;
	u8 status = held(qp, w, &turn, &life);

	if (unlikely(status))
		return status;
	if (unlikely(w->length > qp->domain->p.max_answer))
		return RMC_S_BAD_LENGTH;
	tag = rmc_answer_tag(life, qp->domain->life, turn);
	w->offset |= (u64)(tag >> RMC_ANSWER_TAG_LOW) << RMC_ANSWER_BITS;
	w->tag = tag & ((1U << RMC_ANSWER_TAG_LOW) - 1);
	return RMC_S_OK;
}

/**
 * rmc_reply_load() - copy a packet's data from the local buffer
 * @e: operation
 * @tx: request ring, at free payload lines
 * @offset: slot, turn, tag and byte of the packet
 * @length: of the packet, bytes
 *
 * Context: RGP worker, does not sleep.
 */
void rmc_reply_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
	u64 from = rmc_itt_lbuf_off(e) + (offset - e->offset);
	u32 run = rmc_ring_run(tx, tx->pay_pos, 0, length);

	rmc_mem_get(e->lbuf, from, rmc_ring_line(tx, tx->pay_pos), run);
	if (unlikely(run < length))
		rmc_mem_get(e->lbuf, from + run, tx->pay, length - run);
}

/**
 * rmc_reply_serve() - store a packet of an answer; with all of it the message is answered
 * @s: request and rings
 *
 * Return: enum rmc_status, see rmc_domain_answer().
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_reply_serve(struct rmc_serve *s)
{
	return serve(s, rmc_domain_answer);
}

/**
 * rmc_reply_complete() - a REPLY's reply has no payload
 * @e: operation
 * @rx: reply ring
 * @word1: echo of the request
 */
void rmc_reply_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
}
