/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The step CHECK: is what was read one state of the object, and is it this program's? */
#include "state.h"

/* Somebody else holds the latch: for a read without one */
static int latched_by_others(const struct rmc_sync *s, const struct entry *e)
{
	const struct latch *latch = s->plan.writes;

	if (sync_indexed(s))
		return rmc_index_marked(e->words[WORD_LATCH]);
	return latch && !(latch->flags & LATCH_VERSION) && latch->held(e->words[WORD_LATCH]);
}

static int check_words(const struct rmc_sync *s, struct entry *e)
{
	if (latched_by_others(s, e))
		return RMC_SCHEME_LOCKED;
	if (sync_indexed(s)) {
		e->version = e->words[WORD_LATCH];
		return 0;
	}
	e->version = e->words[WORD_VERSION];
	if (e->version & 1)
		return RMC_SCHEME_LOCKED;
	return sync_tuples(s) && tuple_overflows(e->version) ? -EOVERFLOW : 0;
}

static int check_same(const struct rmc_sync *s, const struct entry *e)
{
	uint64_t now = e->words[sync_indexed(s) ? WORD_LATCH : WORD_VERSION];

	if (now != e->version || now & (sync_indexed(s) ? 0 : 1))
		return RMC_SCHEME_TORN;
	return !e->latched && latched_by_others(s, e) ? RMC_SCHEME_TORN : 0;
}

/* SABRes of RMC_SABRE_LOCKED hold the object: it must not change until they have ended. */
static int check_readers(const struct entry *e)
{
	return e->readers ? SYNC_READERS : 0;
}

/* The image of a write whose latch is the version shows it odd. */
static int check_odd_image(struct rmc_sync *s, struct entry *e)
{
	memcpy(&e->readers, e->image + offsetof(struct rmc_object, readers), sizeof(e->readers));
	if (e->readers)
		return check_readers(e);
	e->version = e->words[WORD_VERSION] = (e->word & ODD_VERSION_MASK) - 1;
	memcpy(e->image, &e->version, sizeof(e->version));
	return s->scheme->pub.check ? s->scheme->pub.check(e->image, e->data, e->len) : 0;
}

/*
 * Whoever has the latch of a tuple at a switch gets no verdict, but its refusal: a tuple that the
 * switch has not shows the latch's word.
 */
static int check_own_tuple(struct entry *e)
{
	uint64_t now = e->words[WORD_VERSION];

	e->hot = now == RMC_SWITCH_FAILED && tuple_switched(e->word);
	e->version = tuple_free(e->word) - 2;
	return e->hot || now == e->word ? 0 : RMC_SCHEME_TORN;
}

static int check_tuple(struct entry *e)
{
	uint64_t now = e->words[WORD_VERSION];

	if (e->latched)
		return check_own_tuple(e);
	if (now == RMC_SWITCH_FAILED)
		return RMC_SCHEME_TORN;
	e->hot = !!(now & RMC_SWITCH_VERIFIED);
	e->version = now & ~RMC_SWITCH_VERIFIED;
	return now & RMC_SWITCH_LATCHED ? RMC_SCHEME_LOCKED : 0;
}

/* The second image has the word of the first one. */
static int check_tuple_again(const struct entry *e)
{
	uint64_t now;

	memcpy(&now, e->image, sizeof(now));
	return now == e->version ? 0 : RMC_SCHEME_TORN;
}

static int check_image(struct rmc_sync *s, struct entry *e)
{
	if (sync_indexed(s))
		return rmc_copy_check(s, e);
	if (sync_tuples(s))
		return check_tuple(e);
	if (e->latched && sync_odd_version(e->latch))
		return check_odd_image(s, e);
	if (e->job == JOB_WRITE && e->version >= VERSION_LIMIT)
		return -EOVERFLOW;
	return s->scheme->pub.check ? s->scheme->pub.check(e->image, e->data, e->len) : 0;
}

int rmc_sync_check(struct rmc_sync *s, struct entry *e, unsigned int part)
{
	switch (part) {
	case PART_LATCH:
		return e->taking->check(e->want, &s->p);
	case PART_WORDS:
		return check_words(s, e);
	case PART_SAME:
		return check_same(s, e);
	case PART_READERS:
		return check_readers(e);
	case PART_BODY:
		return check_tuple_again(e);
	default:
		return check_image(s, e);
	}
}
