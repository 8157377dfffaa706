/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The release of latches. Readers of rmc/reader.h and holds in the background do not wait for
 * it; a slot stores what is being released, so that a release whose packets were lost can be
 * repeated. Each hold has a word of its own, so a compare-and-swap from that frees no other
 * hold. rw is released by subtraction, since readers come and go beside it: before it is
 * repeated, the word is read.
 */
#include "state.h"

#define UNLATCH_TRIES	8

/* Where the word of the latch is, other than at the same place of each object */
uint64_t rmc_latch_elsewhere(const struct rmc_sync *s, uint64_t offset, size_t len)
{
	if (s->scheme->layout->flags & LAYOUT_APART)
		return s->o.latches + (offset - s->o.base) / s->o.stride * sizeof(uint64_t);
	return offset + words_at(s->scheme, len);
}

/*
 * What the version becomes: a new one, so that no holder ever has the word of another one.
 * Versions in lines have to remain the same, though, if the lines have.
 */
static uint64_t free_version(const struct rmc_sync *s, const struct entry *e, uint64_t word)
{
	uint64_t odd = word & e->latch->versions;

	if (e->latch->flags & LATCH_TUPLE)
		return tuple_free(word);
	return s->scheme->layout->flags & LAYOUT_LINES && !e->stored ? odd - 1 : odd + 1;
}

void rmc_unlatch_of(struct rmc_sync *s, struct entry *e, struct unlatch *u)
{
	u->entry = NULL;
	u->nid = e->nid;
	u->offset = rmc_latch_offset(s, e->offset, e->len);
	u->latch = e->latch;
	u->word = e->word;
	u->to = 0;
	if (e->latch->flags & LATCH_VERSION)
		u->to = free_version(s, e, e->word);
	else if (e->latch->flags & LATCH_INDEX)
		u->to = e->version;
	u->waits = 0;
	u->tries = 0;
	u->how = RELEASE;
	u->flags = e->stored ? UNLATCH_STORED : 0;
}

/*
 * What is the word, after an operation that may have changed it? Where order holds, an atomic is
 * behind all that may still arrive, and a read is not.
 */
void rmc_sync_ask(struct rmc_sync *s, int slot, int nid, uint64_t offset)
{
	if (s->ordered) {
		s->atomics++;
		rmc_faa_async(s->qp, slot, nid, offset, 0);
		return;
	}
	rmc_read_async(s->qp, slot, nid, offset, &s->qp->operands[slot], sizeof(uint64_t));
}

/* Issue a release, or the question that decides whether it is still needed. */
void rmc_unlatch_issue(struct rmc_sync *s, const struct unlatch *u, int slot)
{
	if (u->how == RELEASE_READ) {
		rmc_sync_ask(s, slot, u->nid, u->offset);
		return;
	}
	s->atomics++;
	if (!(u->latch->flags & LATCH_ADDS))
		rmc_cas_async(s->qp, slot, u->nid, u->offset, u->word, u->to);
	else if (u->how == RELEASE_EXACT)
		rmc_cas_async(s->qp, slot, u->nid, u->offset, u->to, u->to - u->word);
	else
		rmc_faa_async(s->qp, slot, u->nid, u->offset,
			      u->how == RELEASE_UNDO ? u->word : -u->word);
}

void rmc_sync_unlatch(struct rmc_sync *s, struct entry *e)
{
	rmc_unlatch_of(s, e, &s->unlatch[s->unlatches++]);
	e->latched = 0;
}

/*
 * The hold ends. What a dead node may have left half written, or was not read yet, stays latched,
 * by this node: rmc_sync_take_over(), once more.
 */
void rmc_sync_leave(struct rmc_sync *s, struct entry *e)
{
	if (!e->latched)
		return;
	if (!sync_stays(s, e)) {
		rmc_sync_unlatch(s, e);
		return;
	}
	e->latched = 0;
	s->quarantined++;
}

/*
 * The program ends, but the latch may have been taken, or be taken yet: it is released if the
 * word is this one's. (Not where it may be an earlier hold's: in_doubt() in result.c.) That of a
 * dead node stays.
 */
void rmc_sync_unlatch_late(struct rmc_sync *s, struct entry *e)
{
	struct unlatch *u;

	e->unsure = 0;
	if (sync_stays(s, e)) {
		s->stats.unlocks_lost++;
		return;
	}
	e->latch = e->taking;
	e->word = e->want;
	u = &s->unlatch[s->unlatches++];
	rmc_unlatch_of(s, e, u);
	if (u->latch->flags & LATCH_ADDS)
		u->how = RELEASE_READ;
}

static void issue_queued(struct rmc_sync *s, const struct unlatch *u)
{
	int slot = sync_head(s);

	s->slot[slot].use = USE_UNLATCH;
	s->slot[slot].unlatch = *u;
	s->releasing += !u->entry;
	s->messages++;
	rmc_unlatch_issue(s, u, slot);
}

void rmc_sync_issue_unlatches(struct rmc_sync *s)
{
	if (latch_by_message(s->plan.writes)) {
		rmc_latch_tell(s);
		return;
	}
	while (s->unlatches && !s->stop && sync_free_slots(s, 1))
		issue_queued(s, &s->unlatch[--s->unlatches]);
}

static int same_place(const struct rmc_sync *s, const struct unlatch *u, const struct entry *e,
		      uint64_t offset)
{
	return (u->tries || s->recurs) && u->nid == e->nid && u->offset == offset;
}

/* An entry that waits for its own release */
static int releases(const struct rmc_sync *s, const struct entry *e)
{
	unsigned int i;

	for (i = 0; i < sync_buffers(&s->o); i++) {
		const struct entry *other = &s->entry[i];

		if (other != e && other->used && other->latched && other->nid == e->nid &&
		    other->offset == e->offset && (other->state == ISSUED || other->state == READY))
			return 1;
	}
	return 0;
}

/*
 * A release that is repeated is over before the object is taken again: some words have too
 * few bits for all holds of the meantime. Where a hold may have the word of the one before,
 * each release is.
 */
int rmc_unlatch_pending(const struct rmc_sync *s, const struct entry *e)
{
	uint64_t offset = rmc_latch_offset(s, e->offset, e->len);
	unsigned int i;

	for (i = 0; i < s->unlatches; i++)
		if (same_place(s, &s->unlatch[i], e, offset))
			return 1;
	for (i = 0; i < s->qp->entries; i++)
		if (s->slot[i].use == USE_UNLATCH &&
		    same_place(s, &s->slot[i].unlatch, e, offset))
			return 1;
	return s->recurs && releases(s, e);
}

/* Does a commit in the background still change the index word? It is not read before. */
int rmc_sync_commits(const struct rmc_sync *s, const struct entry *e)
{
	unsigned int i;

	for (i = 0; i < sync_buffers(&s->o); i++) {
		const struct entry *other = &s->entry[i];

		if (other != e && other->background && other->nid == e->nid &&
		    other->offset == e->offset)
			return 1;
	}
	return 0;
}

static int queue_again(struct rmc_sync *s, struct unlatch *u, enum release how, int status)
{
	if (u->tries >= UNLATCH_TRIES) {
		s->stats.unlocks_lost++;	/* rmc_sync_take_over() */
		return 0;
	}
	s->repeats++;
	u->tries += !u->tries || !rmc_sync_innocent(s, status);
	u->how = (uint8_t)how;
	s->unlatch[s->unlatches++] = *u;
	return 1;
}

int rmc_unlatch_was_held(const struct unlatch *u, uint64_t found)
{
	if (u->latch->flags & LATCH_COUNTS)
		return !!(found & RW_READERS);
	return same_hold(u->latch, found, u->word);
}

/*
 * The holder was taken for dead, and was not: what it has written beside the one that has taken
 * over may be a mixture with that one's data. Only the release can show that.
 */
void rmc_unlatch_taken(struct rmc_sync *s, struct unlatch *u)
{
	if (u->flags & UNLATCH_TAKEN)
		return;
	u->flags |= UNLATCH_TAKEN;
	if (!(u->flags & UNLATCH_STORED))
		return;
	s->damaged++;
	if (u->entry)
		return;
	s->background_failed++;
	if (!s->failure)
		s->failure = RMC_SCHEME_TORN;
}

/* A release has found this word. True: it was another one's, and something was subtracted. */
static int release_found(struct rmc_sync *s, struct unlatch *u, uint64_t found)
{
	int adds = !!(u->latch->flags & LATCH_ADDS);

	if (rmc_unlatch_was_held(u, found))
		return 0;
	/* before one that is not subtracted an earlier one may have taken effect */
	if (adds || !u->tries)
		rmc_unlatch_taken(s, u);
	return adds;
}

static int release_read(struct rmc_sync *s, struct unlatch *u, uint64_t now)
{
	if (!same_hold(u->latch, now, u->word))
		return 0;
	u->to = now;
	/* a subtraction that is only late must find another word */
	return queue_again(s, u, s->ordered ? RELEASE : RELEASE_EXACT, RMC_S_OK);
}

/*
 * The word that was found may have been this one's, with another late holder's subtracted: its own
 * undo leaves it then. Once, so that two of them end.
 */
static int undone(struct rmc_sync *s, struct unlatch *u)
{
	if (u->latch->flags & LATCH_COUNTS || u->flags & UNLATCH_UNDONE)
		return 0;
	u->flags |= UNLATCH_UNDONE;
	return queue_again(s, u, RELEASE_READ, RMC_S_OK);
}

/* True: queued once more. False: it has been released, or never will be. */
int rmc_unlatch_again(struct rmc_sync *s, struct unlatch *u, int status, uint64_t found)
{
	enum outcome outcome = rmc_sync_outcome(s, status);

	/* a switch has got the tuple, so somebody gave this latch free */
	if (u->latch->flags & LATCH_TUPLE && status == RMC_S_BAD_OP) {
		rmc_unlatch_taken(s, u);
		return 0;
	}
	if (outcome == TOOK_EFFECT) {
		if (u->how == RELEASE_READ)
			return release_read(s, u, found);
		if (u->how == RELEASE_EXACT && found != u->to)
			return queue_again(s, u, RELEASE_READ, status);
		if (u->how == RELEASE && release_found(s, u, found)) {
			u->tries = 0;
			return queue_again(s, u, RELEASE_UNDO, status);
		}
		return u->how == RELEASE_UNDO && undone(s, u);
	}
	/* counts have no name: it is not repeated if it may have taken place */
	if ((outcome == UNKNOWN && (u->latch->flags & LATCH_COUNTS || u->how == RELEASE_UNDO)) ||
	    (outcome == DID_NOT && status != RMC_S_ABORTED && status != RMC_S_BUSY)) {
		s->stats.unlocks_lost++;
		return 0;
	}
	s->unknown += outcome == UNKNOWN;
	return queue_again(s, u, outcome == UNKNOWN && u->latch->flags & LATCH_ADDS ?
			   RELEASE_READ : (enum release)u->how, status);
}

void rmc_sync_unlatched(struct rmc_sync *s, int slot, int status)
{
	const struct unlatch *usual = &s->slot[slot].unlatch;
	struct unlatch u;

	if (rmc_likely(!status && !usual->entry && !usual->tries &&
		       usual->how == RELEASE && !(usual->latch->flags & LATCH_ADDS) &&
		       rmc_slot_value(s->qp, slot) == usual->word)) {
		s->releasing--;
		return;
	}
	u = *usual;
	s->releasing -= !u.entry;
	s->repeats -= !!u.tries;
	if (!rmc_unlatch_again(s, &u, status, rmc_slot_value(s->qp, slot)) && u.entry)
		rmc_sync_released(s, u.entry, u.flags & UNLATCH_TAKEN);
}
