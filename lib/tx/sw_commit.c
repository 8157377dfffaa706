/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The commit of SW-Impl:
 *
 *	coordinator                                  nodes of written and read records
 *	  | compare-and-swap per written record, --> | lock, if it is of the version that was read
 *	  |   all at once                            |
 *	  | <--------------- all have come --------- |		1. round trip
 *	  | word of each record that was only ----> |
 *	  |   read, all at once                      |
 *	  | <--------------- all have come --------- |		2. round trip
 *	  | committed                                |
 *	  | header and data of each record --------> | written and unlocked; not waited for
 *
 * 1: lock and unlock requests go out in one batch, per node. 2: there is nothing between the write
 * of a record and its unlocking: both are one operation. 3: no commit waits for an unlock. 4: what
 * was only read is never locked.
 *
 * The lock is taken on the version that was read, so written records need no validation. A
 * transaction that only reads locks nothing; if it has read one record, it needs no validation.
 */
#include "sw.h"

/* Wait for operations of the commit: a round trip, if any was posted. */
static int round_trip(struct rmc_tx *t, uint32_t posted)
{
	t->db->stats.rounds += posted != 0;
	return rmc_tx_await(t->db, &t->s->awaited);
}

/* --- locks --- */

static void lock_local(struct tx_access *a)
{
	uint64_t word = a->word;

	a->status = 0;
	if (record_swap(a->local, &word, a->lock))
		a->held = TX_HELD;
	*a->seen = word;
}

/* While it is in flight, it counts as held: another slot must not take it for a stale one. */
static int lock_remote(struct rmc_tx_db *db, struct tx_access *a)
{
	int err;

	a->held = TX_LOCKING;
	err = rmc_tx_post(db, TX_OP_LOCK, a);
	if (err)
		a->held = TX_NOT_HELD;
	return err;
}

/* 0 or -errno: whether it was successful is in the accesses */
static int lock_all(struct rmc_tx *t)
{
	uint32_t i, posted = 0, attempt = rmc_tx_next_attempt(t->db);
	struct tx_set *s = t->s;
	int err = 0, waited;

	for (i = 0; i < s->writes; i++)
		s->write[i]->lock = record_lock_word(s->write[i]->word, t->db->nid, attempt);
	for (i = 0; i < s->writes && !err; i++)
		if (!s->write[i]->local) {
			err = lock_remote(t->db, s->write[i]);
			posted += !err;
		}
	/* own records while the others are on their way */
	for (i = 0; i < s->writes && !err; i++)
		if (s->write[i]->local)
			lock_local(s->write[i]);
	waited = round_trip(t, posted);
	return err ? err : waited;
}

/* Why is not every lock held? 0: each is */
static int locks_failed(struct rmc_tx *t)
{
	struct tx_access *a;
	uint32_t i;

	for (i = 0; i < t->s->writes; i++) {
		a = t->s->write[i];
		if (a->held == TX_HELD)
			continue;
		if (tx_passing(a->status))
			return rmc_tx_squash(t, RMC_TX_LOST);
		if (a->status)
			return rmc_tx_fail(t, a->status);
		return rmc_tx_squash(t, record_locked(*a->seen) ? RMC_TX_LOCK_HELD :
				     RMC_TX_LOCK_CHANGED);
	}
	return 0;
}

static void unlock_local(struct tx_access *a)
{
	uint64_t word = a->lock;

	record_swap(a->local, &word, a->word);
	a->held = TX_NOT_HELD;
}

/*
 * Unlock what a squashed transaction has locked, without waiting: own records first, which needs
 * no queue pair. If a remote one cannot be posted, the queue pair is dead; for others, so is this
 * node.
 */
static void unlock_all(struct rmc_tx *t)
{
	struct tx_access *a;
	uint32_t i;

	for (i = 0; i < t->s->writes; i++)
		if (t->s->write[i]->local && t->s->write[i]->held == TX_HELD)
			unlock_local(t->s->write[i]);
	for (i = 0; i < t->s->writes; i++) {
		a = t->s->write[i];
		if (a->held != TX_HELD && a->held != TX_MAYBE_HELD)
			continue;
		a->held = TX_UNLOCKING;
		rmc_tx_post(t->db, TX_OP_UNLOCK, a);
	}
}

/* --- validation --- */

/* At commit, written records are locked; a check before it validates them, too */
static int needs_validation(const struct tx_access *a, int written)
{
	return a->read && (written || !a->written);
}

/* 0 or -errno: the words are in the accesses */
static int read_words(struct rmc_tx *t, int written)
{
	struct tx_set *s = t->s;
	uint32_t i, posted = 0;
	int err = 0, waited;

	for (i = 0; i < s->n && !err; i++)
		if (needs_validation(&s->access[i], written) && !s->access[i].local) {
			err = rmc_tx_post(t->db, TX_OP_CHECK, &s->access[i]);
			posted += !err;
		}
	/*
	 * Own locks are stored before own words are loaded: two transactions, each of which has
	 * read what the other one writes, must not both find the other's record unlocked. Pairs
	 * with this fence of the other one, or with the RMC's compare-and-swap and read for it.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < s->n && !err; i++)
		if (needs_validation(&s->access[i], written) && s->access[i].local) {
			s->access[i].status = 0;
			/* pairs with the release of the word by who has written the record */
			*s->access[i].seen = rmc_load_acquire(&s->access[i].local->word);
		}
	waited = round_trip(t, posted);
	return err ? err : waited;
}

/* 0, or what the call returns: the transaction is over then */
static int validate(struct rmc_tx *t, int written)
{
	struct tx_access *a;
	uint32_t i;
	int err;

	err = read_words(t, written);
	if (err)
		return rmc_tx_fail(t, err);
	for (i = 0; i < t->s->n; i++) {
		a = &t->s->access[i];
		if (!needs_validation(a, written))
			continue;
		if (tx_passing(a->status))
			return rmc_tx_squash(t, RMC_TX_LOST);
		if (a->status)
			return rmc_tx_fail(t, a->status);
		if (record_version(*a->seen) != a->word)
			return rmc_tx_squash(t, RMC_TX_CHECK_CHANGED);
		if (*a->seen != a->word)
			return rmc_tx_squash(t, RMC_TX_CHECK_HELD);
	}
	return 0;
}

int rmc_tx_sw_check(struct rmc_tx *t)
{
	/* one record is of one version */
	return t->s->n > 1 ? validate(t, 1) : 0;
}

/* --- the writes --- */

static int write_remote(struct rmc_tx_db *db, struct tx_access *a)
{
	int err;

	record_image(a->image, a->data, a->len, record_next(a->word), a->incarnation);
	a->held = TX_WRITING;
	err = rmc_tx_post(db, TX_OP_WRITE, a);
	if (err)
		a->held = TX_HELD;
	return err;
}

/*
 * 0 or -errno, with *written records on their way or stored. Remote ones are first: if a dead queue
 * pair takes none of them, nothing has happened. If it takes some, own ones are stored, too.
 */
static int write_all(struct rmc_tx *t, uint32_t *written)
{
	struct tx_set *s = t->s;
	struct tx_access *a;
	uint32_t i;
	int err = 0;

	*written = 0;
	for (i = 0; i < s->writes && !err; i++) {
		if (s->write[i]->local)
			continue;
		err = rmc_load_relaxed(&t->db->qp->flags->dead) ? -ESHUTDOWN :
		      write_remote(t->db, s->write[i]);
		*written += !err;
	}
	if (err && !*written)
		return err;
	for (i = 0; i < s->writes; i++) {
		a = s->write[i];
		if (!a->local)
			continue;
		record_store(a->local, a->data, a->len, record_next(a->word), a->incarnation);
		a->held = TX_NOT_HELD;
		++*written;
	}
	return err;
}

/* All is locked and valid: the transaction commits, unless the queue pair is dead. */
static int commit_writes(struct rmc_tx *t)
{
	uint32_t written;
	int err = write_all(t, &written);

	if (!err)
		return rmc_tx_committed(t);
	if (written)
		return rmc_tx_doubtful(t);
	rmc_tx_fail(t, err);
	unlock_all(t);
	return rmc_tx_end(t);
}

int rmc_tx_sw_commit(struct rmc_tx *t)
{
	struct tx_set *s = t->s;
	int err;

	rmc_tx_set_collect(s);
	if (!s->writes) {
		err = s->n > 1 ? validate(t, 0) : 0;
		if (err)
			return rmc_tx_end(t);
		t->db->stats.read_only++;
		return rmc_tx_committed(t);
	}
	err = lock_all(t);
	if (err)
		rmc_tx_fail(t, err);
	else
		err = locks_failed(t);
	if (!err)
		err = validate(t, 0);
	if (err) {
		unlock_all(t);
		return rmc_tx_end(t);
	}
	return commit_writes(t);
}
