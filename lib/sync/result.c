/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the results of operations mean for the program of an entry. An operation without a
 * reply has an unknown outcome. It is decided by the word, which names the hold, or by an
 * operation that can take effect once only; what cannot be decided is the caller's status
 * (Documentation/sync.rst, A lost reply).
 */
#include "state.h"

#define RELEASE_TRIES	8	/* of all that is repeated behind STEP_USE */

enum outcome rmc_sync_outcome(const struct rmc_sync *s, int status)
{
	switch (status) {
	case RMC_S_OK:
		return TOOK_EFFECT;
	case RMC_S_ABORTED:
		/* behind a lost one, and not sent */
		return s->ordered ? DID_NOT : UNKNOWN;
	case RMC_S_TIMEOUT:
	case RMC_S_NODE_DOWN:
	case RMC_S_PROTOCOL:
		return UNKNOWN;
	default:
		return DID_NOT;
	}
}

/* True if a retry of the same operation may succeed. */
static int may_recover(int status)
{
	return status == RMC_S_SABRE_ABORTED || status == RMC_S_SABRE_LOCKED ||
	       status == RMC_S_SABRE_LOST || status == RMC_S_TIMEOUT || status == RMC_S_BUSY ||
	       status == RMC_S_ABORTED;
}

/* True: it is repeated. What has no reply since the node is down is not. */
static int repeat(struct rmc_sync *s, struct entry *e, int status)
{
	unsigned int tries = RELEASE_TRIES;

	/* other users of a switch's client: it had no effect, and they end */
	if (s->tuples && status == RMC_S_BUSY && s->o.attempts > tries)
		tries = s->o.attempts;
	if (!may_recover(status) || (!rmc_sync_innocent(s, status) && ++e->failures >= tries))
		return 0;
	s->stats.lost++;
	rmc_sync_ready(s, e);
	return 1;
}

/* --- failures --- */

/* A hold's end has failed: what validates is read again. */
static void end_failed(struct rmc_sync *s, struct entry *e, int status)
{
	if (repeat(s, e, status))
		return;
	if (status == RMC_SCHEME_TORN)
		s->stats.torn++;
	rmc_sync_leave(s, e);
	rmc_sync_finish(s, e, status);
}

/*
 * A read under the latch of a dead node, or of an upgrade, which cannot begin again: it alone is
 * repeated. True: it is, or the entry has ended.
 */
static int under_latch(struct rmc_sync *s, struct entry *e, int status)
{
	if ((!e->evicts && e->job != JOB_UPGRADE) || !e->latched || e->latch != e->taking)
		return 0;
	e->at += e->at->op == STEP_LATCH;
	if (repeat(s, e, status))
		return 1;
	rmc_sync_leave(s, e);
	rmc_sync_finish(s, e, status);
	return 1;
}

void rmc_sync_failed(struct rmc_sync *s, struct entry *e, int status)
{
	if (e->used && e->job != JOB_UPGRADE) {
		end_failed(s, e, status);
		return;
	}
	if (under_latch(s, e, status))
		return;
	if (e->latched)
		rmc_sync_unlatch(s, e);
	if (e->job != JOB_UPGRADE && (status >= RMC_SCHEME_TORN || may_recover(status)))
		rmc_sync_again(s, e, status);
	else
		rmc_sync_finish(s, e, status);
}

/* --- latches --- */

/* A reader that could not become a writer is a reader still, until it is released. */
void rmc_sync_latch_failed(struct rmc_sync *s, struct entry *e, int status)
{
	/* nothing took effect, or it is recognized */
	if (e->job == JOB_UPGRADE && repeat(s, e, status))
		return;
	if (e->latched && e->unsure) {
		/* it may become a writer yet: then its count must not be taken away */
		e->latched = 0;
		s->stats.unlocks_lost++;
	}
	rmc_sync_failed(s, e, status);
}

void rmc_sync_took_latch(struct entry *e)
{
	e->latch = e->taking;
	e->word = e->want;
	e->latched = (uint8_t)latch_released(e->latch);
	if (e->latch->flags & LATCH_INDEX)
		e->version = e->expected;
	e->expected = 0;
	e->unsure = 0;
}

/* Is what the atomic has found this one's hold? An earlier atomic was, if it was only late. */
static int took_latch(const struct entry *e)
{
	return (e->found == e->expected && !sync_looks(e)) ||
	       (e->unsure && same_hold(e->taking, e->found, e->want));
}

/*
 * Versions and marks name the client and not the hold: the word may be that of an earlier
 * hold which this client has left latched.
 */
static int may_be_earlier(const struct rmc_sync *s, const struct entry *e)
{
	/* a version that has replaced a dead node's is a new one */
	return e->taking->flags & (e->evicts ? LATCH_INDEX : LATCH_VERSION | LATCH_INDEX) &&
	       (s->quarantined || s->stats.unlocks_lost);
}

/* Nobody knows whether its word is, or will be, this hold's: it must not release an earlier one. */
static void in_doubt(struct rmc_sync *s, struct entry *e, int released)
{
	e->unsure = released && !may_be_earlier(s, e);
	if (released && !e->unsure)
		s->stats.unlocks_lost++;
}

static void latch_stale(struct rmc_sync *s, struct entry *e)
{
	if (e->job == JOB_UPGRADE) {
		rmc_sync_latch_failed(s, e, RMC_SCHEME_TORN);
		return;
	}
	/* versions and index words do not return, so nothing that was lost will come */
	e->unsure = 0;
	e->expected = e->version = e->found;
	rmc_sync_ready(s, e);
}

/* One has been added, in any case: undo it if the object is not this reader's. */
static int counted(struct rmc_sync *s, struct entry *e)
{
	enum latch_found found = e->taking->found(e->found, &s->p);

	rmc_sync_took_latch(e);
	if (found == LATCH_SHARED)
		return 1;
	rmc_sync_latch_failed(s, e, found == LATCH_OVERFLOW ? -EOVERFLOW : RMC_SCHEME_LOCKED);
	return 0;
}

/* Does the word that was found belong to what is to be removed? */
static int is_evicted(const struct rmc_sync *s, const struct entry *e)
{
	const struct latch *latch = e->taking;

	if (s->evicted < 0)
		return latch->flags & LATCH_RW && !latch->held(e->found) && e->found;
	/* other clients of this node live */
	return latch->holder && latch->holder(e->found) == s->evicted &&
	       (s->evicted != s->self.nid || latch->client(e->found) == s->self.client);
}

/* A tuple of a switch is whole, as a write is one packet: only its latch may be left. */
static int not_evicted(const struct entry *e)
{
	if (e->taking->flags & LATCH_TUPLE && tuple_switched(e->found) && e->found & 1)
		return rmc_fail(EOPNOTSUPP, "sync: a switch has this latch, and knows whose it is: "
				"rmcctl switch unlatch");
	return -ENOENT;
}

static int evicted(struct rmc_sync *s, struct entry *e)
{
	if (took_latch(e)) {
		/* an earlier atomic of this one, perhaps */
		e->expected = e->evicted;
		rmc_sync_took_latch(e);
		return 1;
	}
	if (!is_evicted(s, e)) {
		/* words of writers do not return, so nothing that was lost will come */
		e->unsure &= s->evicted < 0;
		rmc_sync_finish(s, e, not_evicted(e));
	} else if (e->taking->flags & LATCH_VERSION &&
		   (e->found & e->taking->versions) > e->taking->versions - 3) {
		rmc_sync_finish(s, e, -EOVERFLOW);
	} else if (!sync_looks(e) && ++e->failures >= s->o.attempts) {
		rmc_sync_finish(s, e, RMC_SCHEME_LOCKED);	/* readers come and go */
	} else {
		e->expected = e->found;
		rmc_sync_ready(s, e);
	}
	return 0;
}

/* True if the latch is held now; else the entry has been dealt with. */
static int latch_taken(struct rmc_sync *s, struct entry *e)
{
	if (e->taking->flags & LATCH_COUNTS)
		return counted(s, e);
	if (e->evicts)
		return evicted(s, e);
	if (!took_latch(e)) {
		switch (e->taking->found(e->found, &s->p)) {
		case LATCH_SHARED:
			e->want = e->found;
			break;
		case LATCH_STALE:
			latch_stale(s, e);
			return 0;
		case LATCH_OVERFLOW:
			rmc_sync_latch_failed(s, e, -EOVERFLOW);
			return 0;
		default:
			e->expected = 0;
			rmc_sync_latch_failed(s, e, RMC_SCHEME_LOCKED);
			return 0;
		}
	}
	rmc_sync_took_latch(e);
	return 1;
}

/*
 * Is it a switch that refuses? An ordered queue pair also aborts what is behind a failure; it is tried
 * once more then, behind nothing.
 */
static int is_refused(const struct rmc_sync *s, struct entry *e, int status)
{
	if (status != RMC_S_ABORTED || rmc_sync_innocent(s, status))
		return 0;
	e->alone = s->stops && !e->first;
	return !e->alone;
}

/* A switch has it by now, with a word that is not expected, nor possible behind it. */
static int missed_switch(const struct entry *e, int status)
{
	return status == RMC_S_BAD_OP && e->taking->flags & LATCH_TUPLE;
}

/* The reply of the atomic that takes a latch was lost; the word is @now. */
static void latch_resolved(struct rmc_sync *s, struct entry *e, uint64_t now)
{
	if (sync_gives_free(e)) {
		/* requests to a switch are in order, so it does not come any more */
		e->unsure = 0;
		rmc_sync_latch_failed(s, e, RMC_S_TIMEOUT);
		return;
	}
	if (same_hold(e->taking, now, e->want)) {
		if (may_be_earlier(s, e)) {
			in_doubt(s, e, 1);
			rmc_sync_finish(s, e, RMC_S_TIMEOUT);
			return;
		}
		rmc_sync_took_latch(e);
		/* what was read behind it may have been read before it */
		rmc_sync_advance(s, e, e->at + 1);
		return;
	}
	e->unsure = !s->ordered && latch_released(e->taking);
	rmc_sync_latch_failed(s, e, RMC_S_TIMEOUT);
}

static void latch_completed(struct rmc_sync *s, struct entry *e)
{
	/* the usual case: alone, and taken */
	if (rmc_likely(!e->latch_status && e->at->group == 1 && e->found == e->expected &&
		       !e->evicts && !(e->taking->flags & LATCH_COUNTS))) {
		rmc_sync_took_latch(e);
		rmc_sync_advance(s, e, e->at + 1);
		return;
	}
	switch (rmc_sync_outcome(s, e->latch_status)) {
	case TOOK_EFFECT:
		break;
	case UNKNOWN:
		if (sync_looks(e)) {
			rmc_sync_failed(s, e, e->latch_status);
			return;
		}
		if (!(e->taking->flags & LATCH_COUNTS)) {
			rmc_sync_resolve(s, e);
			return;
		}
		/* was one added or not? nobody can tell, so it is not taken away, either */
		s->stats.unlocks_lost++;
		rmc_sync_finish(s, e, e->latch_status);
		return;
	default:
		rmc_sync_latch_failed(s, e, missed_switch(e, e->latch_status) ? RMC_SCHEME_TORN :
			     e->latch_status);
		return;
	}
	if (!latch_taken(s, e))
		return;
	if (e->status)
		rmc_sync_failed(s, e, e->status);
	else
		rmc_sync_part_done(s, e);
}

/* --- ends of writes --- */

/*
 * A write has failed, and may have stored a part. The latch stays, so that nobody sees that:
 * rmc_sync_take_over(). A copy was not published; if a part of it may come yet, also of a write
 * that was aborted, its slot is lost.
 */
static void write_failed(struct rmc_sync *s, struct entry *e, int status)
{
	if (sync_indexed(s)) {
		rmc_copy_give(s, e->copy, status == RMC_S_ABORTED ||
			      rmc_sync_outcome(s, status) == UNKNOWN ? -1 : 0);
		rmc_sync_leave(s, e);
	} else if (e->latched) {
		e->latched = 0;
		s->quarantined++;
	}
	rmc_sync_finish(s, e, status);
}

/* The write and its release are posted together, and the latch is free. */
static void released_behind(struct rmc_sync *s, struct entry *e)
{
	e->latched = 0;
	/*
	 * an ordered queue pair releases only behind a write that has arrived; one that its user
	 * takes for ordered does not notice what is lost
	 */
	if (s->aborts && e->status == RMC_S_TIMEOUT) {
		rmc_sync_part_done(s, e);
		return;
	}
	s->damaged++;
	rmc_sync_finish(s, e, e->status);
}

static void write_again(struct rmc_sync *s, struct entry *e)
{
	if (!repeat(s, e, e->status))
		write_failed(s, e, e->status);
}

/* The latch was given free, or forgotten by a crash; perhaps somebody else has it. */
static void lost_at_switch(struct rmc_sync *s, struct entry *e)
{
	e->latched = 0;
	s->damaged += e->swap_lost;
	rmc_sync_finish(s, e, e->swap_lost ? RMC_S_TIMEOUT : RMC_SCHEME_TORN);
}

/*
 * A write that is to unlatch at a switch. One whose reply was lost is answered again, unless somebody
 * has written since: then nobody knows whether it was done. If it was, the tuple may have been demoted
 * since, and memory would take whatever is written: the word is read before.
 */
static void write_to_switch_failed(struct rmc_sync *s, struct entry *e)
{
	if (is_refused(s, e, e->status)) {
		lost_at_switch(s, e);
		return;
	}
	e->swap_lost |= rmc_sync_outcome(s, e->status) == UNKNOWN;
	if (e->swap_lost)
		rmc_sync_resolve(s, e);
	else
		write_again(s, e);
}

static void release_completed(struct rmc_sync *s, struct entry *e)
{
	struct unlatch u;

	rmc_unlatch_of(s, e, &u);
	u.entry = e;
	/* the write has failed, but the release behind it has succeeded, at this one's word */
	if (e->status && rmc_unlatch_was_held(&u, e->release_found))
		released_behind(s, e);
	else if (!rmc_unlatch_again(s, &u, e->release_status, e->release_found))
		rmc_sync_released(s, e, u.flags & UNLATCH_TAKEN);
}

void rmc_sync_released(struct rmc_sync *s, struct entry *e, int taken)
{
	e->latched = 0;
	if (taken)
		rmc_sync_finish(s, e, RMC_SCHEME_TORN);
	else
		rmc_sync_part_done(s, e);
}

static void write_completed(struct rmc_sync *s, struct entry *e)
{
	int combined = e->at[e->at->group - 1].op == STEP_UNLATCH;

	if (combined && (!e->status || !e->release_status)) {
		release_completed(s, e);
	} else if (!e->status) {
		if (e->at->flags & STEP_UNLATCHES || e->hot)
			e->latched = 0;
		rmc_sync_part_done(s, e);
	} else if (e->hot) {
		write_to_switch_failed(s, e);
	} else if (e->at->flags & STEP_UNLATCHES ||
		   (combined && rmc_sync_outcome(s, e->release_status) == UNKNOWN)) {
		rmc_sync_resolve(s, e);
	} else {
		write_again(s, e);
	}
}

static void swapped(struct rmc_sync *s, struct entry *e)
{
	/* a copy that does not fit its index word may be another object's */
	if (!e->torn)
		rmc_copy_give(s, rmc_copy_offset(e, e->version), 1);
	e->version = rmc_index_next(e);
	e->copy = 0;
	e->latched = 0;
	rmc_sync_part_done(s, e);
}

/*
 * The swap has found another word. If each earlier one is known not to have taken place, the
 * copy is this entry's still. Else the word may tell; if it does not, neither the copy nor
 * the one before is anybody's that this client knows of.
 */
static void not_swapped(struct rmc_sync *s, struct entry *e)
{
	enum outcome outcome = e->swap_lost ? rmc_index_outcome(e, e->found) : DID_NOT;

	if (outcome == TOOK_EFFECT) {
		swapped(s, e);
		return;
	}
	e->latched = 0;
	if (outcome == DID_NOT) {
		s->stats.torn++;
		rmc_copy_give(s, e->copy, 0);
		rmc_sync_finish(s, e, RMC_SCHEME_TORN);
		return;
	}
	s->quarantined++;
	rmc_sync_finish(s, e, RMC_S_TIMEOUT);
}

/* A swap is repeated as it is: its word is this copy's, so it takes effect once only. */
static void swap_completed(struct rmc_sync *s, struct entry *e)
{
	enum outcome outcome = rmc_sync_outcome(s, e->status);

	if (outcome == TOOK_EFFECT) {
		if (e->found == e->expected || e->found == rmc_index_next(e))
			swapped(s, e);
		else
			not_swapped(s, e);
		return;
	}
	if (outcome == UNKNOWN) {
		s->unknown++;
		e->swap_lost = 1;
	}
	if (repeat(s, e, e->status))
		return;
	rmc_sync_leave(s, e);
	if (e->swap_lost)
		s->quarantined++;
	else
		rmc_copy_give(s, e->copy, 0);
	rmc_sync_finish(s, e, e->status);
}

/* --- a word that was read because an operation has no known outcome --- */

/* It could not be read, either. */
static void unresolved(struct rmc_sync *s, struct entry *e, int status)
{
	if (rmc_sync_innocent(s, status) || (may_recover(status) && ++e->resolving <= RELEASE_TRIES)) {
		s->stats.lost++;
		rmc_sync_ready(s, e);
		return;
	}
	e->resolving = 0;
	if (e->at->op == STEP_LATCH) {
		/* released if it turns out to be this one's, and the node answers */
		if (e->latched)
			s->stats.unlocks_lost++;
		e->latched = 0;
		in_doubt(s, e, latch_released(e->taking));
		rmc_sync_finish(s, e, status);
		return;
	}
	write_failed(s, e, status);
}

/* A switch says by a refusal that the latch is another client's, or none. */
static int refused_by_switch(const struct rmc_sync *s, struct entry *e, int status)
{
	if (e->at->op != STEP_LATCH)
		return 0;
	return missed_switch(e, status) || (sync_gives_free(e) && is_refused(s, e, status));
}

static void resolved(struct rmc_sync *s, struct entry *e, uint64_t now, int status)
{
	if (refused_by_switch(s, e, status)) {
		status = RMC_S_OK;
		now = 0;
	}
	if (status) {
		unresolved(s, e, status);
		return;
	}
	e->resolving = 0;
	if (e->at->op == STEP_LATCH && s->closing) {
		if (sync_gives_free(e))
			e->unsure = 0;
		else if (!same_hold(e->taking, now, e->want))
			e->unsure = !s->ordered && latch_released(e->taking);
		else if (may_be_earlier(s, e))
			in_doubt(s, e, 1);
		else
			rmc_sync_took_latch(e);
		e->latch_status = RMC_S_BUSY;		/* decided */
		rmc_sync_closed(s, e);
	} else if (e->at->op == STEP_LATCH) {
		latch_resolved(s, e, now);
	} else if (e->hot && !tuple_switched(now)) {
		lost_at_switch(s, e);
	} else if (e->hot || same_hold(e->latch, now, e->word)) {
		write_again(s, e);
	} else {
		released_behind(s, e);
	}
}

/* --- close --- */

/*
 * The object is closed, and the entry has not begun to store: what was taken is released,
 * nothing else happens.
 */
void rmc_sync_closed(struct rmc_sync *s, struct entry *e)
{
	int counts = e->taking && e->taking->flags & LATCH_COUNTS;

	if (e->state == ISSUED && e->at->op == STEP_LATCH && !e->resolving) {
		enum outcome outcome = rmc_sync_outcome(s, e->latch_status);

		if (outcome == UNKNOWN && !counts && latch_released(e->taking)) {
			rmc_sync_resolve(s, e);
			return;
		}
		if (outcome == UNKNOWN && counts)
			s->stats.unlocks_lost++;
		else if (outcome == TOOK_EFFECT && (counts || took_latch(e)))
			rmc_sync_took_latch(e);
	}
	if (e->latched && e->unsure) {
		e->latched = 0;		/* as rmc_sync_latch_failed() */
		s->stats.unlocks_lost++;
	}
	rmc_sync_leave(s, e);
	rmc_sync_finish(s, e, -ECANCELED);
}

/* What has begun to end is ended: else an object would be half written. */
static int ends(const struct entry *e)
{
	return e->used && e->job != JOB_UPGRADE;
}

/* --- completions --- */

void rmc_sync_group_completed(struct rmc_sync *s, struct entry *e)
{
	if (s->closing && !ends(e)) {
		rmc_sync_closed(s, e);
		return;
	}
	switch (e->at->op) {
	case STEP_LATCH:
		latch_completed(s, e);
		break;
	case STEP_WRITE:
		write_completed(s, e);
		break;
	case STEP_SWAP:
		swap_completed(s, e);
		break;
	case STEP_UNLATCH:
		release_completed(s, e);
		break;
	default:
		if (!e->status) {
			rmc_sync_part_done(s, e);
			break;
		}
		s->stats.tries++;
		rmc_sync_failed(s, e, e->status);
		break;
	}
}

static void note_result(struct rmc_sync *s, struct entry *e, const struct step *step, int slot,
			int status)
{
	switch (step->op) {
	case STEP_LATCH:
		e->found = rmc_slot_value(s->qp, slot);
		e->latch_status = (uint8_t)status;
		return;
	case STEP_UNLATCH:
		e->release_found = rmc_slot_value(s->qp, slot);
		e->release_status = (uint8_t)status;
		return;
	case STEP_SWAP:
		e->found = rmc_slot_value(s->qp, slot);
		break;
	default:
		if (step->part != PART_WORDS) {
			s->tuple_busy = 0;
			break;
		}
		if (status)
			break;
		sync_note_words(s, e, slot);
		break;
	}
	/* of several the one that has failed, and not what was aborted since */
	if (status && (!e->status || e->status == RMC_S_ABORTED))
		e->status = status;
}

void rmc_sync_completed_otherwise(struct rmc_sync *s, int slot, int status)
{
	enum use use = s->slot[slot].use;
	struct entry *e = s->slot[slot].entry;

	s->slot[slot].use = USE_NONE;
	if (status && (use != USE_STEP || s->slot[slot].step->op != STEP_SABRE))
		rmc_sync_stop(s, status);
	switch (use) {
	case USE_RESUME:
		rmc_sync_resumed(s, status);
		break;
	case USE_LOOK:
		rmc_copy_looked(s, slot, status);
		break;
	case USE_UNLATCH:
		rmc_sync_unlatched(s, slot, status);
		break;
	case USE_RESOLVE:
		resolved(s, e, rmc_slot_value(s->qp, slot), status);
		break;
	default:
		note_result(s, e, s->slot[slot].step, slot, status);
		if (!--e->pending)
			rmc_sync_group_completed(s, e);
		break;
	}
}
