/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The database's queue pair. Each entry has a purpose; a completion goes to the access and the set
 * that it names. A transaction waits for the number of its own operations to become zero; meanwhile
 * those of others are handled, too. What an operation is, and what its end means, is the system's.
 */
#include "state.h"

int rmc_tx_relax(struct rmc_tx_db *db, unsigned int *spins)
{
	if (db->o.wait)
		db->o.wait(db->o.wait_arg);
	return rmc_relax(db->qp, spins);
}

static void completed(struct rmc_tx_db *db, int slot, int status)
{
	struct tx_op op = db->op[slot];

	db->op[slot].kind = TX_OP_NONE;
	if (op.kind == TX_OP_NONE)
		return;
	op.access->status = status;
	if (tx_awaited(op.kind))
		op.access->set->awaited--;
	db->system->completed(db, &op, slot);
}

static int free_slot(struct rmc_tx_db *db)
{
	unsigned int spins = 0;
	int slot, err;

	for (;;) {
		slot = (int)(db->qp->head & db->qp->mask);
		if (rmc_likely(db->qp->slot[slot] != RMC_SLOT_BUSY))
			return slot;
		err = rmc_tx_poll(db);
		if (!err && db->qp->slot[slot] == RMC_SLOT_BUSY)
			err = rmc_tx_relax(db, &spins);
		if (rmc_unlikely(err))
			return err;
	}
}

int rmc_tx_post(struct rmc_tx_db *db, enum tx_op_kind kind, struct tx_access *a)
{
	int slot = free_slot(db);

	if (rmc_unlikely(slot < 0))
		return slot;
	if (tx_awaited(kind))
		a->set->awaited++;
	else
		a->set->pending++;
	db->op[slot] = (struct tx_op){ kind, a };
	db->system->issue(db, slot, kind, a);
	return 0;
}

int rmc_tx_poll(struct rmc_tx_db *db)
{
	struct rmc_completion c;

	while (rmc_qp_in_flight(db->qp) && rmc_cq_next(db->qp, &c))
		completed(db, c.slot, c.status);
	if (rmc_unlikely(db->again))
		db->system->repeat(db);
	return 0;
}

int rmc_tx_pause(struct rmc_tx_db *db, uint64_t ns)
{
	uint64_t until = rmc_now_ns() + ns;
	unsigned int spins = 0;
	int err = 0;

	while (!err && rmc_now_ns() < until) {
		err = rmc_tx_poll(db);
		if (!err)
			err = rmc_tx_relax(db, &spins);
	}
	return err;
}

int rmc_tx_await_until(struct rmc_tx_db *db, const uint32_t *counter, uint64_t until)
{
	unsigned int spins = 0;
	int err;

	for (;;) {
		err = rmc_tx_poll(db);
		if (!*counter || err)
			return err;
		if (until != UINT64_MAX && rmc_now_ns() >= until)
			return -ETIMEDOUT;
		err = rmc_tx_relax(db, &spins);
		if (err)
			return err;
	}
}

int rmc_tx_await(struct rmc_tx_db *db, const uint32_t *counter)
{
	return rmc_tx_await_until(db, counter, UINT64_MAX);
}

uint64_t rmc_tx_limit(const struct rmc_tx_db *db)
{
	return rmc_now_ns() + (uint64_t)db->o.limit_ms * 1000000;
}
