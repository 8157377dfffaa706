/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * SW-Impl (HADES, section III): FaRM's optimistic protocol with four optimizations. Reads here, the
 * commit in sw_commit.c. A read takes the whole record to a place of its own, compares the versions
 * of its lines, and copies the data out.
 */
#include "sw.h"

#define LOST_TRIES	3	/* to read a record: each takes the RMC's time limit */

int rmc_tx_sw_fetch(struct rmc_tx *t, struct tx_access *a)
{
	int err;

	if (a->local || a->fetching || a->read)
		return 0;
	err = rmc_tx_post(t->db, TX_OP_READ, a);
	if (err)
		return rmc_tx_fail(t, err);
	a->fetching = 1;
	return 0;
}

/* Wait for the read, by itself: 0 or -errno */
static int arrived(struct rmc_tx *t, struct tx_access *a)
{
	int err = rmc_tx_sw_fetch(t, a);

	/* of all reads of this transaction: they have been under way as long */
	if (!err && !a->local)
		err = rmc_tx_await(t->db, &t->s->awaited);
	a->fetching = 0;
	return err;
}

/* One attempt: 0, enum rmc_status, enum rmc_scheme_status or -errno */
static int read_once(struct rmc_tx *t, struct tx_access *a, struct record *r)
{
	int err = arrived(t, a);

	if (err)
		return err;
	if (a->local)
		return record_copy(a->local, a->data, a->len, r);
	if (a->status)
		return a->status;
	return record_strip(a->image, a->data, a->len, r);
}

/*
 * A lock of this node that none of its transactions has: its compare-and-swap came after all,
 * when its transaction had given it up. Clear it, once: the next read shows whether it worked.
 */
static void clear_own_stale(struct rmc_tx *t, struct tx_access *a, uint64_t word)
{
	struct rmc_tx_db *db = t->db;

	if (record_owner(word) != db->nid || !rmc_tx_stale(db, a->nid, a->offset, word))
		return;
	if (a->local) {
		record_swap(a->local, &word, record_version(word));
		return;
	}
	a->lock = word;
	if (!rmc_tx_post(db, TX_OP_CLEAR, a))
		rmc_tx_await(db, &t->s->awaited);
}

/* After a failed attempt: 0: it may be tried again; or what the call returns */
static int failed_read(struct rmc_tx *t, struct tx_access *a, uint64_t word, int status)
{
	struct rmc_tx_db *db = t->db;

	if (status == RMC_SCHEME_TORN) {
		db->stats.torn_reads++;
		return 0;
	}
	if (status != RMC_SCHEME_LOCKED)
		return tx_passing(status) ? 0 : rmc_tx_fail(t, status);
	if (record_owner(word) == RECORD_TORN)
		return -EUCLEAN;
	db->stats.locked_reads++;
	clear_own_stale(t, a, word);
	return 0;
}

int rmc_tx_sw_read(struct rmc_tx *t, struct tx_access *a)
{
	unsigned int tries, lost = 0, spins = 0;
	struct record r = { 0, 0, 0 };
	int status = 0, err;

	for (tries = 0; tries < t->db->o.tries; tries++) {
		status = read_once(t, a, &r);
		if (rmc_likely(!status)) {
			a->word = r.word;
			a->incarnation = r.incarnation;
			a->read = 1;
			return 0;
		}
		if (t->state != TX_ACTIVE)
			return t->status;
		err = failed_read(t, a, r.word, status);
		if (err)
			return err;
		lost += tx_passing(status);
		if (lost == LOST_TRIES)
			break;
		err = rmc_tx_relax(t->db, &spins);
		if (err)
			return rmc_tx_fail(t, err);
	}
	return rmc_tx_squash(t, status == RMC_SCHEME_LOCKED ? RMC_TX_READ_LOCKED :
			     status == RMC_SCHEME_TORN ? RMC_TX_READ_TORN : RMC_TX_LOST);
}

static int usable(const struct rmc_query *q)
{
	if (!(q->op_mask >> RMC_OP_WRITE_ONCE & 1))
		return rmc_fail(EOPNOTSUPP, "this RMC may repeat any write: it has no "
				"RMC_OP_WRITE_ONCE");
	return 0;
}

const struct tx_system rmc_tx_sw = {
	.name = "sw",
	.bytes = record_bytes,
	.fetch = rmc_tx_sw_fetch,
	.read = rmc_tx_sw_read,
	.check = rmc_tx_sw_check,
	.commit = rmc_tx_sw_commit,
	.load = rmc_tx_sw_load,
	.unlock_dead = rmc_tx_sw_unlock_dead,
	.usable = usable,
	.issue = rmc_tx_sw_issue,
	.completed = rmc_tx_sw_completed,
	.repeat = rmc_tx_sw_repeat,
};
