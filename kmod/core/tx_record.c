// SPDX-License-Identifier: GPL-2.0
/*
 * WQ entries of transactions as the RGP takes them (<linux/rmc_tx.h>, tx_slots.h). What an
 * application commits is copied once, and judged and used from the copy.
 */
#include "cq.h"
#include "node.h"
#include "op.h"
#include "tx_slots.h"

static u8 status_of(int err)
{
	switch (err) {
	case 0:
		return RMC_S_OK;
	case -EBUSY:
		return RMC_S_BUSY;
	case -ENOSPC:
		return RMC_S_BAD_LENGTH;
	case -EHOSTDOWN:
		return RMC_S_NODE_DOWN;
	case -ECANCELED:
		return RMC_S_TX_SQUASHED;
	default:
		return RMC_S_PROTOCOL;
	}
}

/* A slot from a WQ entry: has the queue pair got it, and may it do anything? */
static u8 validate_slot(const struct rmc_qpair *qp, u32 *slot)
{
	if (unlikely(!qp->tx))
		return RMC_S_BAD_OP;
	if (unlikely(*slot >= RMC_TX_SLOTS))
		return RMC_S_BAD_SLOT;
	*slot = array_index_nospec(*slot, RMC_TX_SLOTS);
	if (unlikely(!(qp->tx_mask >> *slot & 1)))
		return RMC_S_BAD_SLOT;
	return unlikely(qp->tx->user[*slot].waits) ? RMC_S_BUSY : RMC_S_OK;
}

/* A transaction begins; epochs of nodes are as of now. */
static u8 begin(struct rmc_tx_slots *s, u32 slot)
{
	struct rmc_tx_engine *e = s->engine;
	int err = rmc_tx_engine_begin_at(e, slot);

	if (unlikely(err))
		return status_of(err);
	s->user[slot].open = true;
	s->user[slot].status = RMC_S_OK;
	if (unlikely(e->now_ms != s->unit->req_ms)) {
		rmc_tx_engine_time(e, s->unit->req_ms);
		s->busy |= e->coord->ends | e->coord->due;
	}
	return RMC_S_OK;
}

/**
 * rmc_tx_slots_access() - prepare() of a TX_READ or TX_OWN
 * @qp: queue pair
 * @w: snapshot; out: length, operand and tag
 *
 * The transaction begins if the slot has none, and has the node in its list. All of it may be
 * repeated while the entry waits.
 *
 * Return: enum rmc_status. RMC_S_BUSY: the transaction before is not over at all nodes, or this one
 * is committing; RMC_S_TX_FULL: it uses RMC_TX_NODES others; why it was squashed, if it was.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_tx_slots_access(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	u32 slot = w->length >> RMC_TX_LENGTH_SHIFT;
	u32 length = w->length & ((1U << RMC_TX_LENGTH_SHIFT) - 1);
	struct rmc_tx_slots *s = qp->tx;
	u8 status = validate_slot(qp, &slot);
	struct rmc_tx_user *u;
	int err;

	if (unlikely(status))
		return status;
	if (unlikely(!length || length > RMC_TX_MAX_ACCESS))
		return RMC_S_BAD_LENGTH;
	if (unlikely(w->nid >= s->unit->fabric->nodes))
		return RMC_S_BAD_NODE;
	u = &s->user[slot];
	if (!u->open) {
		status = begin(s, slot);
		if (unlikely(status))
			return status;
	}
	if (unlikely(u->status))
		return u->status;
	if (unlikely(rmc_tx_engine_is_down(s->engine, w->nid)))
		return RMC_S_NODE_DOWN;
	err = rmc_tx_coord_touch(s->engine->coord, slot, w->nid, true);
	if (unlikely(err))
		return err == -ENOSPC ? RMC_S_TX_FULL : status_of(err);
	w->length = length;
	w->operand = length;
	w->tag = rmc_tx_tag(slot, s->engine->coord->slot[slot].gen);
	return RMC_S_OK;
}

/**
 * rmc_tx_slots_gen() - gen of an access in flight
 * @qp: its queue pair
 * @tag: of the access
 *
 * The newest gen of the slot with the tag's bits. If the slot was used 1024 times since, while the
 * application left its access in flight, it is one of these: lines are noted for another
 * transaction of the same slot.
 *
 * Return: gen. Context: RGP worker, does not sleep.
 */
u32 rmc_tx_slots_gen(const struct rmc_qpair *qp, u32 tag)
{
	u32 gen = qp->tx->engine->coord->slot[tag >> RMC_TX_TAG_GEN_BITS].gen;

	return gen - ((gen - tag) & RMC_TX_TAG_GEN_MASK);
}

/**
 * rmc_tx_slots_control() - prepare() of a TX_COMMIT or TX_ABORT
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_NO_PACKET: rmc_tx_slots_take() is called for it; RMC_S_BAD_OP: no slots;
 * RMC_S_BAD_SLOT; RMC_S_BUSY: another one waits for the end of the transaction.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_tx_slots_control(const struct rmc_qpair *qp, const struct rmc_wqe *w)
{
	u32 slot = w->nid;

	return validate_slot(qp, &slot) ?: RMC_NO_PACKET;
}

/* The record of an entry, all of it: a private copy */
static u8 copy_record(struct rmc_qpair *qp, const struct rmc_wqe *w, u8 *copy)
{
	struct rmc_mem *mem;

	if (unlikely(w->length < sizeof(struct rmc_tx_commit) || w->length > RMC_TX_RECORD_MAX))
		return RMC_S_BAD_LENGTH;
	mem = rmc_bufs_find(qp->bufs, w->lbuf, w->length);
	if (unlikely(!mem))
		return RMC_S_BAD_LBUF;
	rmc_mem_get(mem, w->lbuf - mem->base, copy, w->length);
	return RMC_S_OK;
}

/* Has the unit the home of its node's own range? The owner's filters are of this unit's slots. */
static bool is_home(const struct rmc_tx_slots *s)
{
	const struct rmc_node *unit = s->unit;
	const struct rmc_fabric *f = unit->fabric;

	return unit->ep == (rmc_endpoint(f, unit->nid) | rmc_tx_home(s->ctx_id, f->rrpp_order));
}

/* Its first line, and that the ranges are in it. */
static u8 validate_record(const struct rmc_tx_slots *s, const struct rmc_tx_commit *c, u32 length)
{
	u32 i;

	if (unlikely(c->flags & ~RMC_TX_LOADED))
		return RMC_S_BAD_OP;
	/* nobody would have noticed what has changed since it was loaded */
	if (unlikely(c->flags & RMC_TX_LOADED && !is_home(s)))
		return RMC_S_BAD_SLOT;
	for (i = 0; i < ARRAY_SIZE(c->reserved); i++)
		if (unlikely(c->reserved[i]))
			return RMC_S_BAD_OP;
	if (unlikely(c->count > RMC_TX_MAX_RANGES ||
		     c->count * sizeof(struct rmc_tx_item) > length - sizeof(*c)))
		return RMC_S_BAD_LENGTH;
	return RMC_S_OK;
}

/* A range and what is written there, of which @left bytes of the record may be. */
static u8 add_item(struct rmc_tx_slots *s, u32 slot, const struct rmc_tx_item *item, const u8 *data,
		   u32 left)
{
	const struct rmc_tx_txn *t = &s->engine->txn[slot];
	u32 used = t->used;
	u8 status;

	if (unlikely(item->flags))
		return RMC_S_BAD_OP;
	if (unlikely(!item->length || item->length > left || ALIGN(item->length, 8) > left))
		return RMC_S_BAD_LENGTH;
	if (unlikely(item->nid >= s->unit->fabric->nodes))
		return RMC_S_BAD_NODE;
	if (unlikely(item->offset > RMC_OFFSET_MAX + 1 - item->length))
		return RMC_S_OUT_OF_RANGE;
	status = status_of(rmc_tx_engine_write(s->engine, slot, item->nid, item->offset, data,
					       item->length));
	/* an overlap replaces what is there, so it takes less */
	if (!status && t->used - used != item->length)
		status = RMC_S_BAD_LENGTH;
	return status;
}

/* The write list of a transaction */
static u8 add_items(struct rmc_tx_slots *s, u32 slot, const struct rmc_tx_commit *c, u32 length)
{
	const struct rmc_tx_item *item = (const struct rmc_tx_item *)(c + 1);
	u32 at = sizeof(*c) + c->count * sizeof(*item), i;
	const u8 *record = (const u8 *)c;
	u8 status;

	for (i = 0; i < c->count; i++) {
		status = add_item(s, slot, &item[i], record + at, length - at);
		if (unlikely(status))
			return status;
		at += ALIGN(item[i].length, 8);
	}
	return likely(at == length) ? RMC_S_OK : RMC_S_BAD_LENGTH;
}

/*
 * Begin to commit. RMC_NO_PACKET: it will end. Otherwise it is over, with this status, or an open
 * one has to be aborted with it.
 */
static u8 commit(struct rmc_qpair *qp, const struct rmc_wqe *w, u32 slot)
{
	struct rmc_tx_slots *s = qp->tx;
	struct rmc_tx_coord *coord = s->engine->coord;
	const struct rmc_tx_commit *c = (const struct rmc_tx_commit *)s->copy;
	struct rmc_tx_user *u = &s->user[slot];
	u8 status;

	status = copy_record(qp, w, s->copy);
	if (likely(!status))
		status = validate_record(s, c, w->length);
	if (unlikely(status))
		return status;
	if (!u->open) {
		/* it has read nothing and writes nothing */
		if (!c->count && !(c->flags & RMC_TX_LOADED))
			return w->length == sizeof(*c) ? RMC_S_OK : RMC_S_BAD_LENGTH;
		status = begin(s, slot);
		if (unlikely(status))
			return status;
	}
	status = add_items(s, slot, c, w->length);
	/* its own node knows what it has loaded, and has marked it if that has changed */
	if (likely(!status) && c->flags & RMC_TX_LOADED)
		status = status_of(rmc_tx_coord_local(coord, slot));
	if (likely(!status))
		status = status_of(rmc_tx_engine_commit(s->engine, slot));
	return status ?: RMC_NO_PACKET;
}

/**
 * rmc_tx_slots_take() - execute a TX_COMMIT or TX_ABORT
 * @qp: queue pair
 * @w: snapshot for which rmc_tx_slots_control() has returned RMC_NO_PACKET
 * @entry: WQ index
 *
 * It completes when the transaction has ended. A TX_COMMIT whose record is not valid aborts it.
 *
 * Return: bytes copied. Context: RGP worker, does not sleep.
 */
u32 rmc_tx_slots_take(struct rmc_qpair *qp, const struct rmc_wqe *w, u16 entry)
{
	u32 slot = array_index_nospec(w->nid, RMC_TX_SLOTS);
	struct rmc_tx_slots *s = qp->tx;
	struct rmc_tx_user *u = &s->user[slot];
	bool aborts = w->op == RMC_OP_TX_ABORT;
	u8 status = aborts ? RMC_S_ABORTED : RMC_NO_PACKET;

	/* it has ended by itself: now the application knows */
	if (unlikely(u->open && u->status)) {
		status = aborts ? RMC_S_OK : u->status;
		u->open = false;
	} else if (!aborts) {
		status = commit(qp, w, slot);
	} else if (!u->open) {
		status = RMC_S_OK;
	}
	if (!u->open) {
		if (unlikely(status))
			rmc_stat_inc(s->unit, errors);
		rmc_stat_inc(s->unit, completions);
		rmc_cq_post(qp, entry, status);
	} else {
		u->waits = true;
		u->aborts = aborts;
		u->entry = entry;
		s->busy |= 1ULL << slot;
		if (status != RMC_NO_PACKET)
			rmc_tx_coord_abort(s->engine->coord, slot, status);
	}
	if (aborts)
		return 0;
	rmc_tenant_charge(qp->tenant, w->length);
	return min_t(u32, w->length, RMC_TX_RECORD_MAX);
}
