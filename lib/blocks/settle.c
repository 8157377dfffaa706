/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The steps of a latch, and what is in doubt. A step whose operation is lost, or fails, while its
 * client lives, is executed again until its outcome is known: otherwise the latch would stay.
 *
 *	TAKE -------> STORE ------------------> RELEASE ---> ended
 *	  |	        written, or the last tag  |
 *	  |'---------------------------------->'  not before the grace of a lost WRITE is over
 *	  '--> ended: it was another word
 *
 * leave() and cancel() execute the steps once, repeating what is lost. If that does not suffice,
 * the hold goes to the doubts, with its buffer, and its address is no longer held. Doubts go on
 * when an operation of the structure begins or ends, when this client meets the block, and in
 * rmc_blocks_settle() and rmc_blocks_close(). As soon as the block is stored leave() returns 0:
 * nobody sees its old state any more.
 *
 * A doubt ends without effect if the area was formatted again. Its epoch is read before the first
 * operation after one that did not find the node.
 */
#include <string.h>
#include "state.h"

/* Not a status: not_before is later */
#define WAITS	RMC_BLOCK_RESTART

/*
 * Swap the block's word until the outcome is known: 0, RMC_BLOCK_RESTART: it was another one, or a
 * status: not known. A word that is as wanted already was swapped by an operation that was lost.
 */
int rmc_remote_swap(struct remote *r, struct doubt *d, uint64_t from, uint64_t to)
{
	unsigned int tries = 0;
	uint64_t old = 0;
	int err;

	do {
		r->stats.atomics++;
		err = rmc_cas(r->qp, at_nid(d->h.at), at_offset(d->h.at), from, to, &old);
		d->lost |= !!err;
	} while (rmc_remote_again(r, at_area(r, d->h.at), err, &tries));
	if (err)
		return err;
	if (old == from || (d->lost && old == to))
		return 0;
	return RMC_BLOCK_RESTART;
}

/*
 * The image of the next version, while the word keeps the others out. Line 0 has that version, too,
 * for who recovers the latch of a dead client.
 */
static void make_image(struct remote *r, struct rmc_block_hold *h, uint64_t to)
{
	uint8_t *image = image_of(r, h), *copy = image + r->shape.copy_at;
	struct rmc_object *o = (struct rmc_object *)(void *)image;
	struct block_copy *end;

	memset(image, 0, r->shape.stride);
	o->version = h->latch;
	r->o.scheme->store(o, h->data, r->base.bytes);
	memcpy(image + sizeof(to), &to, sizeof(to));
	if (!r->shape.copy)
		return;
	memcpy(copy, image, r->shape.image);
	memcpy(copy, &to, sizeof(to));
	end = (struct block_copy *)(void *)(copy + r->shape.copy_at);
	end->word = to;
	end->sum = rmc_crc64(0, copy, r->shape.image);
}

static int store_part(struct remote *r, struct doubt *d, size_t from, size_t len)
{
	unsigned int tries = 0;
	int err;

	do {
		r->stats.writes++;
		err = rmc_write(r->qp, at_nid(d->h.at), at_offset(d->h.at) + from,
				image_of(r, &d->h) + from, len);
		/* it may still be stored: not over what others write. Busy: it was answered */
		if (err && err != RMC_S_BUSY)
			d->not_before = rmc_now_ns() + r->o.grace_us * 1000ULL;
	} while (rmc_remote_again(r, at_area(r, d->h.at), err, &tries));
	return err;
}

/* The copy before the block: one of them is whole at any time */
static int store(struct remote *r, struct doubt *d)
{
	int err = 0;

	if (r->shape.copy)
		err = store_part(r, d, r->shape.copy_at, r->shape.copy_at +
				 sizeof(struct block_copy));
	return err ? err : store_part(r, d, 0, r->shape.image);
}

/*
 * A latch that is held is to be released: with a new version if the block was written, or if this
 * is the last tag, after which the first one would come again.
 */
static void prepare(struct remote *r, struct doubt *d)
{
	d->lost = false;
	if (d->h.dirty || (d->h.word & BLOCK_WORD_TAG) == BLOCK_WORD_TAG) {
		d->step = DOUBT_STORE;
		/* the first tag again: words of this version are new */
		d->to = (d->h.word + 2) & BLOCK_WORD_VERSION;
		make_image(r, &d->h, d->to);
	} else {
		d->step = DOUBT_RELEASE;
		d->to = d->h.word + (1ULL << BLOCK_WORD_TAG_SHIFT);
	}
}

/* 0: it has ended; -EPROTO: likewise, somebody else has released the latch; WAITS; or a status */
static int advance(struct remote *r, struct doubt *d)
{
	int err;

	if (d->step == DOUBT_TAKE) {
		err = rmc_remote_swap(r, d, d->h.word, d->h.latch);
		if (err)
			return err == RMC_BLOCK_RESTART ? 0 : err;
		prepare(r, d);
	}
	if (d->step == DOUBT_STORE) {
		err = store(r, d);
		if (err)
			return err;
		d->step = DOUBT_RELEASE;
	}
	if (d->not_before && rmc_now_ns() < d->not_before)
		return WAITS;
	err = rmc_remote_swap(r, d, d->h.latch, d->to);
	if (err != RMC_BLOCK_RESTART)
		return err;
	/* with a lost operation the word may be a later one already */
	return d->lost ? 0 : -EPROTO;
}

/* The block is nobody's any more, or this client's again */
static void ended(struct remote *r, struct doubt *d, int err)
{
	uint64_t at = d->h.at;

	rmc_remote_end_hold(r, &d->h);
	if (d->unused && !err)
		rmc_remote_unused(r, at);
	else if (d->unused)
		r->stats.leaked++;
}

/* --- doubts --- */

struct doubt *rmc_remote_doubt_of(struct remote *r, uint64_t at)
{
	unsigned int i;

	for (i = 0; i < r->doubts; i++)
		if (r->doubt[i].h.at == at)
			return &r->doubt[i];
	return NULL;
}

static void remove_doubt(struct remote *r, struct doubt *d, int err)
{
	struct doubt last = r->doubt[--r->doubts], it = *d;

	*d = last;
	r->stats.stuck--;
	ended(r, &it, err);
}

/* One attempt: has it ended? */
static bool try_doubt(struct remote *r, struct doubt *d)
{
	uint64_t began = rmc_now_ns();
	int err;

	if (began < d->again_at)
		return false;
	err = rmc_remote_check_area(r, at_area(r, d->h.at));
	if (!err)
		err = advance(r, d);
	if (!err || err == -EPROTO || err == -ESTALE) {
		remove_doubt(r, d, err);
		return true;
	}
	d->status = err == WAITS ? 0 : err;
	/* what takes the time limit of the RMC takes half of the time */
	if (err == RMC_S_TIMEOUT) {
		d->again_at = rmc_now_ns();
		d->again_at += d->again_at - began;
	}
	return false;
}

bool rmc_remote_settle_block(struct remote *r, uint64_t at)
{
	struct doubt *d = rmc_remote_doubt_of(r, at);

	return d && try_doubt(r, d);
}

/* Is it worth waiting for? */
bool rmc_remote_ends_soon(const struct doubt *d)
{
	return !d->status || d->status == RMC_S_TIMEOUT || d->status == RMC_S_BUSY ||
	       d->status == RMC_SCHEME_LOCKED;
}

/*
 * An attempt of each; wait: more, while lost operations are the reason, until the operation's
 * deadline, and until the time of grace of what only waits for that. None is left: true
 */
bool rmc_remote_settle(struct remote *r, bool wait)
{
	unsigned int i, failures = 0;
	bool more;

	if (r->sync)
		return rmc_remote_sync_settle(r, wait);
	for (;;) {
		bool late = rmc_now_ns() >= r->deadline;

		more = false;
		for (i = 0; i < r->doubts; )
			if (!try_doubt(r, &r->doubt[i])) {
				more |= rmc_remote_ends_soon(&r->doubt[i]) &&
					(!late || !r->doubt[i].status);
				i++;
			}
		if (!wait || !more)
			break;
		rmc_remote_back_off(r, ++failures);
	}
	return !r->doubts;
}

/* When a caller asks for it: each is tried, and has all the time that an operation has */
bool rmc_remote_settle_now(struct remote *r)
{
	unsigned int i;

	r->deadline = rmc_now_ns() + wait_ns(r);
	for (i = 0; i < r->doubts; i++)
		r->doubt[i].again_at = 0;
	return rmc_remote_settle(r, true);
}

/* To the doubts: the hold's buffer, too */
void rmc_remote_doubt(struct remote *r, const struct doubt *d)
{
	r->held[d->h.buffer] = 0;
	/* seldom: one operation that lost much */
	if (r->doubts == BLOCK_DOUBTS && !rmc_remote_settle(r, true) && r->doubts == BLOCK_DOUBTS) {
		struct doubt it = *d;

		/* nobody remembers it: the latch stays */
		r->stats.stuck++;
		ended(r, &it, -EAGAIN);
		return;
	}
	r->doubt[r->doubts++] = *d;
	r->stats.stuck++;
}

/* --- of holds --- */

/* From READ to WRITE. If the outcome is not known, the hold goes to the doubts. */
int rmc_remote_take_latch(struct remote *r, struct rmc_block_hold *h)
{
	struct doubt d = { .step = DOUBT_TAKE };
	int err = rmc_remote_check_area(r, at_area(r, h->at));

	if (err)
		return err;
	h->latch = r->owner | (h->word & (BLOCK_WORD_TAG | BLOCK_WORD_VERSION)) |
		   BLOCK_WORD_LATCHED;
	d.h = *h;
	err = rmc_remote_swap(r, &d, h->word, h->latch);
	if (!err)
		h->mode = RMC_BLOCK_WRITE;
	if (!err || err == RMC_BLOCK_RESTART)
		return err;
	d.status = err;
	rmc_remote_doubt(r, &d);
	h->at = 0;
	h->data = NULL;
	return err;
}

/*
 * Stores what was written, and releases the latch. unused: the block is this client's then. 0: it
 * is stored, or nothing was written. The hold has ended.
 */
int rmc_remote_finish(struct remote *r, struct rmc_block_hold *h, bool unused)
{
	struct doubt d = { .h = *h, .unused = unused };
	bool stored;
	int err;

	prepare(r, &d);
	err = advance(r, &d);
	stored = d.step == DOUBT_RELEASE;
	if (!err || err == -EPROTO) {
		ended(r, &d, err);
	} else {
		d.status = err == WAITS ? 0 : err;
		rmc_remote_doubt(r, &d);
		err = stored ? 0 : err;
	}
	h->at = 0;
	h->data = NULL;
	return err;
}
