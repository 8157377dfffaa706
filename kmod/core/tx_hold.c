// SPDX-License-Identifier: GPL-2.0
/*
 * Engine of transactions: those that hold locks while their application runs. The time is bounded:
 *
 *   prepare --> all have acked --> commit or abort, or hold_ms later: RMC_S_TIMEOUT
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

static bool holds(const struct rmc_tx_engine *e, u32 slot)
{
	return e->coord->slot[slot].phase == RMC_TX_HELD;
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
