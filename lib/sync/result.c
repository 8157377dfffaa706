/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the results of operations mean for the program of an entry. A lost reply leaves the
 * outcome of an atomic or a write unknown: it is decided by reading the word, and nothing is
 * repeated that could take effect twice (Documentation/sync.rst, A lost reply).
 */
#include "state.h"

#define RELEASE_TRIES	8	/* of validations and writes behind STEP_USE */

/* True if a retry of the same operation may succeed. */
static int may_recover(int status)
{
	return status == RMC_S_SABRE_ABORTED || status == RMC_S_SABRE_LOCKED ||
	       status == RMC_S_SABRE_LOST || status == RMC_S_TIMEOUT || status == RMC_S_BUSY;
}

/* --- failures --- */

/* A hold's end has failed: a validation is read again, a write stored again. */
static void end_failed(struct rmc_sync *s, struct entry *e, int status)
{
	if (status == RMC_S_TIMEOUT && e->failures < RELEASE_TRIES && e->at->op != STEP_SWAP) {
		e->failures++;
		s->stats.lost++;
		rmc_sync_ready(s, e);
		return;
	}
	if (status == RMC_SCHEME_TORN)
		s->stats.torn++;
	if (e->latched)
		rmc_sync_unlatch(s, e);
	if (sync_indexed(s) && e->copy)
		/* never published, unless nobody knows: then nobody may use it again */
		rmc_copy_give(s, e->copy, status == RMC_S_TIMEOUT ? -1 : 0);
	e->copy = 0;
	rmc_sync_finish(s, e, status);
}

void rmc_sync_failed(struct rmc_sync *s, struct entry *e, int status)
{
	if (e->used && e->job != JOB_UPGRADE) {
		end_failed(s, e, status);
		return;
	}
	if (e->latched)
		rmc_sync_unlatch(s, e);
	if (e->job != JOB_UPGRADE && (status >= RMC_SCHEME_TORN || may_recover(status)))
		rmc_sync_again(s, e, status);
	else
		rmc_sync_finish(s, e, status);
}

/* --- latches --- */

static void latch_failed(struct rmc_sync *s, struct entry *e, int status)
{
	/* a reader that could not become a writer is a reader still, until it is released */
	if (e->job == JOB_UPGRADE && e->latched) {
		e->latch = s->plan.reads;
		e->word = 1;
		/* unless it may become a writer yet: then one must not be taken away */
		if (e->unsure) {
			e->latched = 0;
			s->stats.unlocks_lost++;
		}
	}
	rmc_sync_failed(s, e, status);
}

/* Undo what a reader of rw has added: the count says nothing else of it. */
static void count_back(struct rmc_sync *s, struct entry *e)
{
	e->latched = 1;
	rmc_sync_unlatch(s, e);
}

static void latch_stale(struct rmc_sync *s, struct entry *e, uint64_t found)
{
	if (e->job == JOB_UPGRADE) {
		latch_failed(s, e, RMC_SCHEME_TORN);
		return;
	}
	e->expected = found;
	e->version = found;
	rmc_sync_ready(s, e);
}

/* True if the latch is held now; else the entry has been dealt with. */
static int latch_taken(struct rmc_sync *s, struct entry *e)
{
	enum latch_found found;

	if (!(e->latch->flags & LATCH_COUNTS) && (e->found == e->expected ||
						  (e->unsure && e->found == e->word))) {
		/* the version's limit shows only now */
		found = e->latch->flags & LATCH_VERSION ?
			e->latch->found(e->expected, &s->p) : LATCH_SHARED;
	} else {
		found = e->latch->found(e->found, &s->p);
		if (e->latch->flags & LATCH_COUNTS && found != LATCH_SHARED)
			count_back(s, e);
		else if (found == LATCH_SHARED && !(e->latch->flags & LATCH_COUNTS))
			e->word = e->found;		/* share it */
		else if (found == LATCH_STALE) {
			latch_stale(s, e, e->found);
			return 0;
		}
	}
	if (found == LATCH_HELD) {
		e->expected = 0;
		latch_failed(s, e, RMC_SCHEME_LOCKED);
		return 0;
	}
	if (found == LATCH_OVERFLOW) {
		e->latched = e->latched || e->found == e->expected;
		latch_failed(s, e, -EOVERFLOW);
		return 0;
	}
	if (e->latch->flags & LATCH_INDEX)
		e->version = e->expected;
	e->expected = 0;
	e->unsure = 0;
	e->latched = latch_released(e->latch);
	return 1;
}

/* The reply of the atomic that takes a latch was lost; the word is @now. */
static void latch_resolved(struct rmc_sync *s, struct entry *e, uint64_t now)
{
	/* versions and marks have no name: this one may be somebody else's */
	if (now == e->word && !(e->latch->flags & (LATCH_VERSION | LATCH_INDEX))) {
		e->unsure = 0;
		e->expected = 0;
		e->latched = latch_released(e->latch);
		/* what was read behind it may have been read before it */
		rmc_sync_advance(s, e, e->at + 1);
		return;
	}
	if (now == e->word) {
		s->stats.unlocks_lost++;
		rmc_sync_finish(s, e, RMC_S_TIMEOUT);
		return;
	}
	e->unsure = 1;
	latch_failed(s, e, RMC_S_TIMEOUT);
}

static void latch_lost(struct rmc_sync *s, struct entry *e)
{
	if (!(e->latch->flags & LATCH_COUNTS)) {
		rmc_sync_resolve(s, e);
		return;
	}
	/* was one added or not? nobody can tell, so it is not taken away, either */
	s->stats.unlocks_lost++;
	rmc_sync_finish(s, e, RMC_S_TIMEOUT);
}

/* --- ends of writes --- */

static void swapped(struct rmc_sync *s, struct entry *e)
{
	if (e->found != e->expected) {
		e->latched = 0;		/* the mark is gone: a sweep has taken it away */
		end_failed(s, e, RMC_SCHEME_TORN);
		return;
	}
	rmc_copy_give(s, rmc_copy_offset(e, e->version), 1);
	e->version = rmc_index_next(e);
	e->copy = 0;
	e->latched = 0;
	rmc_sync_part_done(s, e);
}

static void write_done(struct rmc_sync *s, struct entry *e)
{
	const struct step *last = e->at + e->at->group - 1;

	if (last->op == STEP_SWAP) {
		swapped(s, e);
		return;
	}
	if (e->at->flags & STEP_UNLATCHES || last->op == STEP_UNLATCH)
		e->latched = 0;
	rmc_sync_part_done(s, e);
}

/* The object is closed: what was taken is released, nothing else happens. */
static void closed(struct rmc_sync *s, struct entry *e)
{
	if (e->at->op == STEP_LATCH && !e->latched) {
		int counts = e->latch->flags & LATCH_COUNTS;

		e->latched = e->found_valid && (counts || e->found == e->expected) &&
			     latch_released(e->latch);
		e->unsure = !e->found_valid && !counts;
	}
	if (e->latched)
		rmc_sync_unlatch(s, e);
	rmc_sync_finish(s, e, -ECANCELED);
}

/*
 * A write that also releases: if the words that were read show that the latch is not this
 * one's any more, the last line has arrived, and so has all before it.
 */
static void resolved(struct rmc_sync *s, struct entry *e, uint64_t now, int status)
{
	const struct step *last = e->at + e->at->group - 1;

	if (s->closing && !e->background) {
		closed(s, e);
		return;
	}
	if (status == RMC_S_TIMEOUT && ++e->failures < RELEASE_TRIES) {
		rmc_sync_resolve(s, e);
	} else if (status) {
		s->stats.unlocks_lost++;
		e->latched = 0;
		rmc_sync_finish(s, e, status);
	} else if (e->at->op == STEP_LATCH) {
		latch_resolved(s, e, now);
	} else if (last->op == STEP_SWAP) {
		e->found = now == rmc_index_next(e) ? e->expected : now;
		/* unchanged: not yet, or never; the copy stays unused in both cases */
		if (now == e->expected)
			end_failed(s, e, RMC_S_TIMEOUT);
		else
			swapped(s, e);
	} else if (now == e->word) {
		rmc_sync_ready(s, e);
	} else {
		write_done(s, e);
	}
}

static void group_failed(struct rmc_sync *s, struct entry *e)
{
	const struct step *last = e->at + e->at->group - 1;

	if (e->status == RMC_S_TIMEOUT && (e->at->flags & STEP_UNLATCHES || last->op == STEP_SWAP)) {
		rmc_sync_resolve(s, e);
		return;
	}
	if (last->op == STEP_UNLATCH && last != e->at) {
		/* the release was posted behind the write, and is not taken back */
		e->latched = 0;
		rmc_sync_finish(s, e, e->status);
		return;
	}
	rmc_sync_failed(s, e, e->status);
}

/* --- completions --- */

void rmc_sync_group_completed(struct rmc_sync *s, struct entry *e)
{
	if (s->closing && !e->background) {
		closed(s, e);
		return;
	}
	if (e->at->op == STEP_LATCH) {
		if (e->status == RMC_S_TIMEOUT && !e->found_valid) {
			latch_lost(s, e);
			return;
		}
		if (!e->found_valid) {
			latch_failed(s, e, e->status);
			return;
		}
		if (!latch_taken(s, e))
			return;
	}
	if (e->status) {
		if (e->at->op == STEP_READ || e->at->op == STEP_SABRE)
			s->stats.tries++;
		group_failed(s, e);
	} else if (e->at->op == STEP_WRITE || e->at->op == STEP_SWAP) {
		write_done(s, e);
	} else {
		if (e->at->op == STEP_UNLATCH)
			e->latched = 0;
		rmc_sync_part_done(s, e);
	}
}

static void step_completed(struct rmc_sync *s, int slot, int status)
{
	struct entry *e = s->slot[slot].entry;
	const struct step *step = s->slot[slot].step;

	if (step->op == STEP_LATCH || step->op == STEP_SWAP) {
		e->found = rmc_slot_value(s->qp, slot);
		e->found_valid = !status;
	} else if (step->part == PART_WORDS && !status) {
		memcpy(e->words, &s->qp->operands[slot], sizeof(e->words));
		if (!(s->scheme->layout->flags & LAYOUT_WORDS))
			e->words[WORD_VERSION] = e->words[0];
	}
	if (status && !e->status)
		e->status = status;
	if (!--e->pending)
		rmc_sync_group_completed(s, e);
}

void rmc_sync_completed_otherwise(struct rmc_sync *s, int slot, int status)
{
	enum use use = s->slot[slot].use;

	s->slot[slot].use = USE_NONE;
	switch (use) {
	case USE_UNLATCH:
		rmc_sync_unlatched(s, slot, status);
		break;
	case USE_RESOLVE:
		s->slot[slot].entry->resolving = 0;
		resolved(s, s->slot[slot].entry, rmc_slot_value(s->qp, slot), status);
		break;
	default:
		step_completed(s, slot, status);
		break;
	}
}
