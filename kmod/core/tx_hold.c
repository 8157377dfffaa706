// SPDX-License-Identifier: GPL-2.0
/*
 * Engine of transactions: those that hold locks while their application runs. The time is bounded:
 *
 *   prepare --> all have acked --> commit or abort, or hold_ms later: RMC_S_TIMEOUT
 *   lock --> all have locked --> accesses, commit or abort, or hold_ms later: RMC_S_TIMEOUT
 */
#include "node.h"
#include "tx_engine.h"

static u64 bit_of(u32 i)
{
	return 1ULL << i;
}

/**
 * rmc_tx_engine_local() - a transaction uses lines of its own node by loads and stores
 * @e: engine
 * @slot: transaction
 *
 * At any time before commit or abort.
 *
 * Return: 0; -EINVAL; -ECANCELED: it does not execute any more; -ENOSPC: it uses RMC_TX_NODES
 * others. Context: the engine's thread; does not sleep.
 */
int rmc_tx_engine_local(struct rmc_tx_engine *e, u32 slot)
{
	return slot < e->opts.slots ? rmc_tx_coord_local(e->coord, slot) : -EINVAL;
}

/**
 * rmc_tx_engine_prepare() - prepare a transaction: its application decides
 * @e: engine
 * @slot: transaction without an access under way
 *
 * Once rmc_tx_engine_prepared() names it, nobody can squash it: rmc_tx_engine_commit() commits it,
 * rmc_tx_engine_abort() does not, nor does a time of hold_ms.
 *
 * Return: 0; -EINVAL; -EBUSY; -ECANCELED. Context: the engine's thread; does not sleep.
 */
int rmc_tx_engine_prepare(struct rmc_tx_engine *e, u32 slot)
{
	struct rmc_tx_txn *t;

	if (slot >= e->opts.slots)
		return -EINVAL;
	t = &e->txn[array_index_nospec(slot, e->opts.slots)];
	if (t->access.state == RMC_TX_ACCESS_DUE || t->access.state == RMC_TX_ACCESS_SENT)
		return -EBUSY;
	return rmc_tx_coord_prepare(e->coord, slot);
}

/**
 * rmc_tx_engine_prepared() - a transaction that is prepared
 * @e: engine
 * @slot: out, its slot
 *
 * Return: false: there is none. Context: the engine's thread; does not sleep.
 */
bool rmc_tx_engine_prepared(struct rmc_tx_engine *e, u32 *slot)
{
	return rmc_tx_coord_prepared(e->coord, slot);
}

/* Insert a range into the list, by node and offset */
static int add(struct rmc_tx_txn *t, const struct rmc_tx_item *item)
{
	struct rmc_tx_write *w = t->write;
	u32 i = t->writes, before;

	while (i && (w[i - 1].nid > item->nid ||
		     (w[i - 1].nid == item->nid && w[i - 1].offset > item->offset)))
		i--;
	before = i - 1;
	if (i && w[before].nid == item->nid && w[before].offset + w[before].length > item->offset)
		return -EINVAL;
	if (i < t->writes && w[i].nid == item->nid &&
	    item->offset + item->length > w[i].offset)
		return -EINVAL;
	memmove(&w[i + 1], &w[i], (t->writes - i) * sizeof(*w));
	w[i] = (struct rmc_tx_write){
		.offset = item->offset, .length = item->length, .nid = item->nid,
		.at = item->flags & RMC_TX_ITEM_READ ? 1 : 0,
	};
	t->writes++;
	return 0;
}

static int add_all(struct rmc_tx_engine *e, u32 slot, const struct rmc_tx_item *item, u32 count)
{
	struct rmc_tx_txn *t = &e->txn[slot];
	u32 i;
	int err;

	for (i = 0; i < count; i++) {
		if (item[i].nid >= e->unit->fabric->nodes || !item[i].length ||
		    item[i].flags & ~RMC_TX_ITEM_READ ||
		    item[i].offset > RMC_OFFSET_MAX - item[i].length)
			return -EINVAL;
		err = add(t, &item[i]);
		if (!err)
			err = rmc_tx_coord_lock_at(e->coord, slot, item[i].nid);
		if (err)
			return err;
	}
	return 0;
}

/**
 * rmc_tx_engine_lock() - lock lines of a transaction in advance
 * @e: engine
 * @slot: transaction that has just begun
 * @item: ranges in any order, disjoint; a private copy
 * @count: ranges, RMC_TX_RANGES at most
 *
 * Once rmc_tx_engine_locked() names it, it accesses and writes as usual, and nobody can squash it
 * because of these lines. It has to commit within hold_ms. A line beside them is locked when it is
 * accessed; if another one has it, the transaction ends, and is to lock that line, too.
 *
 * Return: 0; -EINVAL: ranges overlap, or are nonsense; -EBUSY: it has accessed or written;
 * -ECANCELED; -ENOSPC: too many nodes. After an error it is to be aborted. Context: the engine's
 * thread; does not sleep.
 */
int rmc_tx_engine_lock(struct rmc_tx_engine *e, u32 slot, const struct rmc_tx_item *item,
		       u32 count)
{
	struct rmc_tx_slot *s;
	int err;

	if (slot >= e->opts.slots || count > RMC_TX_RANGES)
		return -EINVAL;
	slot = array_index_nospec(slot, e->opts.slots);
	s = &e->coord->slot[slot];
	if (s->phase != RMC_TX_EXECUTING)
		return -ECANCELED;
	if (s->peers || s->locks || e->txn[slot].writes)
		return -EBUSY;
	err = add_all(e, slot, item, count);
	if (!err)
		err = rmc_tx_coord_lock(e->coord, slot);
	if (err || !count)
		e->txn[slot].writes = 0;
	e->txn[slot].held_ms = e->now_ms;
	return err;
}

/**
 * rmc_tx_engine_locked() - a transaction that has locked in advance
 * @e: engine
 * @slot: out, its slot
 *
 * Return: false: there is none. Context: the engine's thread; does not sleep.
 */
bool rmc_tx_engine_locked(struct rmc_tx_engine *e, u32 *slot)
{
	return rmc_tx_coord_locked(e->coord, slot);
}

/**
 * rmc_tx_hold_ranges() - what a transaction locks at a node in advance
 * @t: transaction
 * @nid: node
 * @range: out, ranges that are written, then others; RMC_TX_RANGES of them
 * @writes: out, those that are written
 *
 * Return: number of ranges. Context: the engine's thread; does not sleep.
 */
u32 rmc_tx_hold_ranges(const struct rmc_tx_txn *t, u32 nid, struct rmc_tx_range *range,
		       u32 *writes)
{
	u32 n = 0, i, read;

	for (read = 0; read < 2; read++) {
		for (i = 0; i < t->writes; i++)
			if (t->write[i].nid == nid && t->write[i].at == read)
				range[n++] = (struct rmc_tx_range){ t->write[i].offset,
								    t->write[i].length };
		if (!read)
			*writes = n;
	}
	return n;
}

static bool holds(const struct rmc_tx_engine *e, u32 slot)
{
	const struct rmc_tx_slot *s = &e->coord->slot[slot];

	return s->phase == RMC_TX_HELD || (s->phase == RMC_TX_EXECUTING && s->locks);
}

/**
 * rmc_tx_engine_expire() - abort those that have held locks for too long
 * @e: engine; its @now_ms is set
 *
 * Context: the engine's thread; does not sleep.
 */
void rmc_tx_engine_expire(struct rmc_tx_engine *e)
{
	u32 limit = e->opts.hold_ms ?: RMC_TX_HOLD_MS, i;

	for (i = 0; i < e->opts.slots; i++) {
		if (e->coord->slot[i].phase == RMC_TX_LOCKING && e->now_ms != e->txn[i].held_ms) {
			e->txn[i].held_ms = e->now_ms;
			rmc_tx_coord_resend(e->coord, i);
		}
		if (!holds(e, i)) {
			e->held &= ~bit_of(i);
		} else if (!(e->held & bit_of(i))) {
			e->held |= bit_of(i);
			e->txn[i].held_ms = e->now_ms;
		} else if (e->now_ms - e->txn[i].held_ms >= limit) {
			rmc_tx_coord_expire(e->coord, i);
		}
	}
}
