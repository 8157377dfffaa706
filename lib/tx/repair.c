/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Records without a transaction: their first contents, and locks whose owner is dead. The owner of
 * the record does this, with loads and stores; remote compare-and-swaps are atomic beside its own.
 *
 * A dead coordinator has locked a record and not written it: the record is as before, and is only
 * unlocked. Or its write has come in part: then lines are of two versions, and nobody has the rest.
 * If line 0 has come, such a record is not locked any more, as one that a living node's write is
 * just reaching. Only if nobody writes, it is the dead one's. The version of a lock is that of
 * line 0 always, also while a write is repeated, so a record is whole if the other lines have it.
 */
#include "sw.h"

uint32_t rmc_tx_next_attempt(struct rmc_tx_db *db)
{
	db->attempt = (db->attempt + 1) & RECORD_ATTEMPT;
	return db->attempt;
}

int rmc_tx_sw_load(struct rmc_tx_db *db, void *record, const void *data, size_t len)
{
	struct record *r = (struct record *)record;
	uint64_t word = rmc_load_acquire(&r->word), version = record_version(word);
	int torn = record_locked(word) && record_owner(word) == RECORD_TORN;
	uint32_t attempt = rmc_tx_next_attempt(db);

	/* unlocked, and some lines of a write have not come yet: they would overwrite what is loaded */
	if (!torn && (record_locked(word) || !record_whole(r, len)))
		return -EBUSY;
	if (!record_swap(r, &word, record_lock_word(version, db->nid, attempt)))
		return -EBUSY;
	/* lines of a torn record may have the next version */
	version = record_next(version);
	if (torn) {
		rmc_store_relaxed(&r->word, record_lock_word(version, db->nid, attempt));
		version = record_next(version);
	}
	record_store(r, data, len, version, rmc_load_relaxed(&r->incarnation) | 1);
	return 0;
}

int rmc_tx_load(struct rmc_tx_db *db, struct rmc_tx_addr record, const void *data, size_t len)
{
	uint8_t whole[RMC_TX_RECORD_MAX];
	const struct tx_table *t;
	uint64_t at;
	int member;

	if (rmc_tx_locate(db, record, &member, &at) || record.field)
		return -EINVAL;
	t = &db->shape.table[record.table];
	if (len > t->bytes)
		return -EINVAL;
	if (member != db->team->self)
		return -EREMOTE;
	memcpy(whole, data, len);
	memset(whole + len, 0, t->bytes - len);
	return db->system->load(db, db->base + at, whole, t->bytes);
}

int rmc_tx_sw_unlock_dead(struct rmc_tx_db *db, void *record, size_t len, int nid, int quiet)
{
	struct record *r = (struct record *)record;
	uint64_t word = rmc_load_acquire(&r->word);
	int locked = record_locked(word), torn;

	if (locked ? nid < 0 || record_owner(word) != nid : !quiet)
		return 0;
	torn = !record_whole(r, len);
	if (!locked && !torn)
		return 0;
	if (!record_swap(r, &word, torn ? record_lock_word(word, RECORD_TORN, 0) :
				   record_version(word)))
		return 0;
	db->stats.torn += (uint64_t)torn;
	db->stats.broken += (uint64_t)locked;
	return locked;
}

/* --- nodes --- */

int rmc_tx_other_epoch(const struct rmc_tx_db *db, int member)
{
	struct rmc_node_info info = { .size = sizeof(info) };

	if (!db->node_info)
		return 0;
	info.nid = (uint32_t)rmc_team_nid(db->team, member);
	return !db->node_info(db, &info) && info.epoch != db->epoch[member];
}

/* Does no packet of the node come any more? Its epoch says so, or the caller, if it is down. */
static int fenced(const struct rmc_tx_db *db, int member, int by_caller)
{
	struct rmc_node_info info = { .size = sizeof(info) };

	if (!db->node_info)
		return by_caller;
	info.nid = (uint32_t)rmc_team_nid(db->team, member);
	if (db->node_info(db, &info))
		return 0;
	return info.epoch != db->epoch[member] || (by_caller && info.state != RMC_NODE_UP);
}

/* Does this member write? */
static int writing(const struct rmc_tx_db *db)
{
	unsigned int i;

	for (i = 0; i < 2 * db->o.slots; i++)
		if (db->slot[i / 2].set[i % 2].pending)
			return 1;
	return 0;
}

int64_t rmc_tx_break(struct rmc_tx_db *db, int nid, unsigned int flags)
{
	int quiet = (flags & RMC_TX_WRITERS_QUIET) != 0, member;
	const struct tx_table *t;
	int64_t broken = 0;
	uint64_t i;

	for (member = 0; member < db->team->nodes; member++)
		if (rmc_team_nid(db->team, member) == nid)
			break;
	if (flags & ~(RMC_TX_FENCED | RMC_TX_WRITERS_QUIET) || nid == db->nid ||
	    (member == db->team->nodes && nid != RMC_TX_NOBODY))
		return -EINVAL;
	if (nid != RMC_TX_NOBODY && !fenced(db, member, (flags & RMC_TX_FENCED) != 0))
		return -EBUSY;
	if (!db->system->unlock_dead)
		return 0;
	if (quiet && writing(db))
		return -EBUSY;
	for (t = db->shape.table; t < db->shape.table + db->shape.tables; t++)
		for (i = 0; i < t->per_node; i++)
			broken += db->system->unlock_dead(db, db->base + t->at + i * t->stride,
							  t->bytes, nid, quiet);
	return broken;
}

int rmc_tx_stale(const struct rmc_tx_db *db, int nid, uint64_t offset, uint64_t word)
{
	unsigned int i;
	uint32_t k;

	/* it may be of a committed transaction whose write cannot be repeated: it shows that */
	if (db->lost_writes)
		return 0;
	for (i = 0; i < 2 * db->o.slots; i++) {
		const struct tx_set *s = &db->slot[i / 2].set[i % 2];

		for (k = 0; k < s->n; k++) {
			const struct tx_access *a = &s->access[k];

			if (a->held != TX_NOT_HELD && a->nid == nid && a->offset == offset &&
			    record_attempt(a->lock) == record_attempt(word))
				return 0;
		}
	}
	return 1;
}
