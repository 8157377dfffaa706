/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_tx_run(): a function as a transaction, again and again until it commits. Between two attempts
 * it waits for a random time, whose limit doubles. There is no fallback to locks taken in advance:
 * with options.attempts the caller learns of a livelock, and with options.limit_ms of a member that
 * does not reply.
 */
#include "state.h"

static uint64_t next_random(struct rmc_tx_db *db)
{
	db->seed ^= db->seed << 13;
	db->seed ^= db->seed >> 7;
	db->seed ^= db->seed << 17;
	return db->seed;
}

static int back_off(struct rmc_tx_db *db, uint32_t *limit)
{
	int err = rmc_tx_pause(db, next_random(db) % *limit);

	*limit = *limit > db->o.backoff_max_ns / 2 ? db->o.backoff_max_ns : 2 * *limit;
	return err;
}

/*
 * One attempt. *result: what the function returned, if the transaction is not over. It may have
 * seen values that never were there together, so its verdict counts only if they were.
 */
static int attempt(struct rmc_tx *t, int (*fn)(struct rmc_tx *t, void *arg), void *arg, int *result)
{
	int err;

	*result = fn(t, arg);
	if (*result == RMC_TX_SQUASHED && t->state == TX_ACTIVE)
		rmc_tx_squash(t, RMC_TX_BY_PROGRAM);
	if (!*result || t->state != TX_ACTIVE)
		return rmc_tx_commit(t);
	err = rmc_tx_check(t);
	rmc_tx_abort(t);
	return err;
}

int rmc_tx_run(struct rmc_tx_db *db, int (*fn)(struct rmc_tx *t, void *arg), void *arg)
{
	uint32_t limit = db->o.backoff_ns, tries;
	uint64_t until = 0;
	struct rmc_tx *t;
	int result, err;

	for (tries = 0; tries < db->o.attempts; tries++) {
		err = rmc_tx_begin(db, &t);
		if (err)
			return err;
		err = attempt(t, fn, arg, &result);
		if (err != RMC_TX_SQUASHED)
			return err ? err : result;
		/* packets of all attempts since then were lost */
		if (t->cause != RMC_TX_LOST)
			until = 0;
		else if (!until)
			until = rmc_tx_limit(db);
		else if (rmc_now_ns() >= until)
			return RMC_S_TIMEOUT;
		err = back_off(db, &limit);
		if (err)
			return err;
	}
	return RMC_TX_SQUASHED;
}
