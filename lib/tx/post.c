/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Operations of SW-Impl on records.
 *
 * Nobody waits for writes and unlocks, whose replies may be lost. An unlock is a compare-and-swap
 * of a lock word that this node never uses again soon (record.h), and is repeated until a reply
 * comes. A write must not be repeated as it is: others may have written the record since, or may
 * lock it as soon as its last line comes, while other packets of the second write are on their way.
 * So
 *
 *	WRITING --reply--> done
 *	   | in doubt
 *	   v
 *	PROBING		reads the record: see probed()
 *	RELOCKING	swaps the word for the lock, if that is lost
 *	REWRITING	writes the record, locked, with the new version
 *	FINISHING	swaps that lock for the new version
 *
 * If one of these is in doubt, or a lock has changed, it goes on with PROBING. A node that is down
 * may only be paused, and has its memory then; so this ends only if the node has another epoch,
 * whatever it replies, or refuses the operation.
 *
 * An RMC may repeat plain writes by itself if its fabric loses packets (the parameter retries);
 * RMC_OP_WRITE_ONCE it does not.
 */
#include <string.h>
#include "sw.h"

/* Between two steps of a write or unlock in doubt: doubles from the first to the second */
#define DELAY_NS	10000U
#define DELAY_MAX_NS	100000000U

/* --- completions --- */

static void lock_completed(struct rmc_tx_db *db, struct tx_access *a, int slot, int status)
{
	a->held = TX_NOT_HELD;
	if (tx_in_doubt(status)) {
		a->held = TX_MAYBE_HELD;
	} else if (!status) {
		*a->seen = rmc_slot_value(db->qp, slot);
		if (*a->seen == a->word)
			a->held = TX_HELD;
	}
}

/* A write or unlock has ended for good. */
static void ended(struct rmc_tx_db *db, struct tx_access *a, int lost)
{
	db->stats.lost += (uint64_t)lost;
	db->lost_writes += lost && a->held != TX_UNLOCKING;
	a->held = TX_NOT_HELD;
	a->set->pending--;
}

/*
 * The lock while line 0 has what is written. No ordinary lock is of the next version and of this
 * attempt.
 */
static uint64_t redo_lock(const struct tx_access *a)
{
	return record_lock_word(record_next(a->word), record_owner(a->lock),
				record_attempt(a->lock));
}

/* A lock's version is always that of line 0, so that rmc_tx_break() knows a mixture. */
static uint64_t relock_word(const struct tx_access *a)
{
	return record_version(*a->seen) == a->word ? a->lock : redo_lock(a);
}

/*
 * What the probe found: the next step. The record is this transaction's to write while it has its
 * lock. So it is if it has the new version, unlocked, in some lines and not in others: nobody locks
 * such a record; if it was locked between the reads of two lines, RELOCKING fails. Whoever has
 * locked the new version, or has written one after it, has read all of the write: it has come.
 */
static enum tx_held probed(const struct tx_access *a)
{
	const struct record *r = (const struct record *)a->image;
	uint64_t version = record_version(r->word), next = record_next(a->word);

	if (r->word == redo_lock(a) || r->word == a->lock)
		return TX_REWRITING;
	/* rmc_tx_break() took this node for dead: what it marked can be completed after all */
	if (record_owner(r->word) == RECORD_TORN && (version == a->word || version == next))
		return TX_RELOCKING;
	if (version == a->word)
		return TX_OVERRULED;
	if (r->word == next && !record_whole(r, a->len))
		return TX_RELOCKING;
	return TX_NOT_HELD;
}

/* The step after one that was successful; TX_NOT_HELD: none */
static enum tx_held next_step(const struct rmc_tx_db *db, struct tx_access *a, int slot)
{
	switch (a->held) {
	case TX_PROBING:
		*a->seen = ((const struct record *)a->image)->word;
		return probed(a);
	case TX_RELOCKING:
		return rmc_slot_value(db->qp, slot) == *a->seen ? TX_REWRITING : TX_PROBING;
	case TX_REWRITING:
		return TX_FINISHING;
	case TX_FINISHING:
		/* a late line 0 has unlocked it; or it was marked while its lines were written */
		return rmc_slot_value(db->qp, slot) == redo_lock(a) ? TX_NOT_HELD : TX_PROBING;
	default:
		return TX_NOT_HELD;
	}
}

static void append_again(struct rmc_tx_db *db, struct tx_access *a)
{
	a->next = NULL;
	*db->again_end = a;
	db->again_end = &a->next;
}

/* In doubt: from the probe on, after a while, unless the memory that it was for is gone */
static void try_again(struct rmc_tx_db *db, struct tx_access *a)
{
	if (tx_refused(a->status) || rmc_tx_other_epoch(db, a->member)) {
		ended(db, a, 1);
		return;
	}
	a->held = a->held == TX_UNLOCKING ? TX_UNLOCKING : TX_PROBING;
	a->delay_ns = !a->delay_ns ? DELAY_NS :
		      a->delay_ns > DELAY_MAX_NS / 2 ? DELAY_MAX_NS : 2 * a->delay_ns;
	a->due = rmc_now_ns() + a->delay_ns;
	append_again(db, a);
}

static void step_completed(struct rmc_tx_db *db, struct tx_access *a, int slot)
{
	enum tx_held next;

	if (a->status) {
		try_again(db, a);
		return;
	}
	/* a node that was restarted may reply, too: what it has now says nothing of the write */
	if (a->held == TX_PROBING && rmc_tx_other_epoch(db, a->member)) {
		ended(db, a, 1);
		return;
	}
	next = next_step(db, a, slot);
	if (next == TX_NOT_HELD || next == TX_OVERRULED) {
		ended(db, a, next == TX_OVERRULED);
		return;
	}
	a->held = (uint8_t)next;
	a->delay_ns = 0;
	a->due = 0;
	append_again(db, a);
}

void rmc_tx_sw_completed(struct rmc_tx_db *db, const struct tx_op *op, int slot)
{
	if (op->kind == TX_OP_LOCK)
		lock_completed(db, op->access, slot, op->access->status);
	else if (!tx_awaited(op->kind))
		step_completed(db, op->access, slot);
}

/* --- issuing --- */

void rmc_tx_sw_issue(struct rmc_tx_db *db, int slot, enum tx_op_kind kind, struct tx_access *a)
{
	switch (kind) {
	case TX_OP_READ:
		db->stats.reads++;
		rmc_read_async(db->qp, slot, a->nid, a->offset, a->image, lines_bytes(a->len));
		break;
	case TX_OP_LOCK:
		db->stats.locks++;
		rmc_cas_async(db->qp, slot, a->nid, a->offset, a->word, a->lock);
		break;
	case TX_OP_WRITE:
		db->stats.writes++;
		rmc_issue(db->qp, RMC_OP_WRITE_ONCE, slot, a->nid, a->offset, a->image,
			  lines_bytes(a->len));
		break;
	case TX_OP_CLEAR:
	case TX_OP_UNLOCK:
		db->stats.unlocks++;
		rmc_cas_async(db->qp, slot, a->nid, a->offset, a->lock, record_version(a->lock));
		break;
	case TX_OP_PROBE:
		/* what was to be written is still in a->data */
		rmc_read_async(db->qp, slot, a->nid, a->offset, a->image, lines_bytes(a->len));
		break;
	case TX_OP_RELOCK:
		rmc_cas_async(db->qp, slot, a->nid, a->offset, *a->seen, relock_word(a));
		break;
	case TX_OP_FINISH:
		rmc_cas_async(db->qp, slot, a->nid, a->offset, redo_lock(a),
			      record_next(a->word));
		break;
	default:
		db->stats.checks++;
		rmc_read_async(db->qp, slot, a->nid, a->offset, a->seen, sizeof(*a->seen));
	}
}

static void repeat_one(struct rmc_tx_db *db, int slot, struct tx_access *a)
{
	static const enum tx_op_kind kind[] = {
		[TX_UNLOCKING] = TX_OP_UNLOCK, [TX_PROBING] = TX_OP_PROBE,
		[TX_RELOCKING] = TX_OP_RELOCK, [TX_REWRITING] = TX_OP_WRITE,
		[TX_FINISHING] = TX_OP_FINISH,
	};
	uint64_t lock = redo_lock(a);

	db->stats.repeated++;
	if (a->held == TX_REWRITING) {
		record_image(a->image, a->data, a->len, record_next(a->word), a->incarnation);
		memcpy(a->image, &lock, sizeof(lock));
	}
	db->op[slot] = (struct tx_op){ kind[a->held], a };
	rmc_tx_sw_issue(db, slot, kind[a->held], a);
}

/* The next steps of writes and unlocks in doubt that are due, in turn, if there are free entries */
void rmc_tx_sw_repeat(struct rmc_tx_db *db)
{
	struct tx_access **link = &db->again, *a;
	uint64_t now = rmc_now_ns();

	while ((a = *link)) {
		int slot = (int)(db->qp->head & db->qp->mask);

		if (db->qp->slot[slot] == RMC_SLOT_BUSY)
			return;
		if (a->due > now) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		if (!a->next)
			db->again_end = link;
		repeat_one(db, slot, a);
	}
}
