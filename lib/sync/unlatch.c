/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The release of latches. Readers of rmc/reader.h and holds in the background do not wait for
 * it; a slot stores what is being released, so that a release whose packets were lost can be
 * repeated.
 */
#include "state.h"

#define UNLATCH_TRIES	8

/* The word of the latch of an object */
uint64_t rmc_latch_offset(const struct rmc_sync *s, uint64_t offset, size_t len)
{
	const struct layout *l = s->scheme->layout;

	if (l->flags & LAYOUT_APART)
		return s->o.latches + (offset - s->o.base) / s->o.stride * sizeof(uint64_t);
	return offset + (l->flags & LAYOUT_WORDS ? words_at(s->scheme, len) : l->latch_at);
}

void rmc_unlatch_of(struct rmc_sync *s, struct entry *e, struct unlatch *u)
{
	u->entry = NULL;
	u->nid = e->nid;
	u->offset = rmc_latch_offset(s, e->offset, e->len);
	u->latch = e->latch;
	u->word = e->word;
	u->to = 0;
	/* the version is a new one if the data may be */
	if (e->latch->flags & LATCH_VERSION)
		u->to = e->stored ? e->word + 1 : e->word - 1;
	else if (e->latch->flags & LATCH_INDEX)
		u->to = e->version;
	u->tries = 0;
	u->reread = 0;
}

/* Issue a release, or the read that decides whether it is still needed. */
void rmc_unlatch_issue(struct rmc_sync *s, const struct unlatch *u)
{
	int slot = sync_head(s);

	s->slot[slot].use = USE_UNLATCH;
	s->slot[slot].unlatch = *u;
	s->releasing += !u->entry;
	if (u->reread) {
		rmc_read_async(s->qp, slot, u->nid, u->offset, &s->qp->operands[slot],
			       sizeof(uint64_t));
		return;
	}
	s->atomics++;
	if (u->latch->flags & LATCH_ADDS)
		rmc_faa_async(s->qp, slot, u->nid, u->offset, -u->word);
	else
		rmc_cas_async(s->qp, slot, u->nid, u->offset, u->word, u->to);
}

void rmc_sync_unlatch(struct rmc_sync *s, struct entry *e)
{
	rmc_unlatch_of(s, e, &s->unlatch[s->unlatches++]);
	e->latched = 0;
}

/*
 * The program ends, but the latch may have been taken, or be taken yet: words with a name are
 * released if they are this one's.
 */
void rmc_sync_unlatch_late(struct rmc_sync *s, struct entry *e)
{
	struct unlatch *u;

	e->unsure = 0;
	if (!(e->latch->flags & LATCH_RELEASED) || !(e->latch->flags & LATCH_NAMED))
		return;
	u = &s->unlatch[s->unlatches++];
	rmc_unlatch_of(s, e, u);
	u->reread = !!(u->latch->flags & LATCH_ADDS);
}

void rmc_sync_issue_unlatches(struct rmc_sync *s)
{
	while (s->unlatches && sync_free_slots(s, 1)) {
		s->messages++;
		rmc_unlatch_issue(s, &s->unlatch[--s->unlatches]);
	}
}

static void queue_again(struct rmc_sync *s, const struct unlatch *u)
{
	s->unlatch[s->unlatches] = *u;
	s->unlatch[s->unlatches++].tries++;
}

/* It has been released, or never will be. */
static void ended(struct rmc_sync *s, const struct unlatch *u)
{
	struct entry *e = u->entry;

	if (!e)
		return;
	e->latched = 0;
	if (!--e->pending)
		rmc_sync_group_completed(s, e);
}

/*
 * A compare-and-swap names the word, so it is repeated as it is. An addition is repeated
 * only if the word shows that it has not taken place: for X, which has an owner; a reader's
 * count shows nothing.
 */
static void lost_reply(struct rmc_sync *s, struct unlatch *u)
{
	int adds = u->latch->flags & LATCH_ADDS;

	if (u->tries >= UNLATCH_TRIES || (adds && u->latch->flags & LATCH_COUNTS)) {
		s->stats.unlocks_lost++;
		ended(s, u);
		return;
	}
	s->unknown++;
	u->reread = !!adds;
	queue_again(s, u);
}

void rmc_sync_unlatched(struct rmc_sync *s, int slot, int status)
{
	struct unlatch u = s->slot[slot].unlatch;
	uint64_t now = rmc_slot_value(s->qp, slot);

	s->releasing -= !u.entry;
	if (status == RMC_S_TIMEOUT) {
		lost_reply(s, &u);
		return;
	}
	if (status)
		s->stats.unlocks_lost++;	/* its owner breaks the lock */
	if (!status && u.reread && (now & ~RW_READERS) == u.word) {
		u.reread = 0;
		queue_again(s, &u);
		return;
	}
	ended(s, &u);
}
