/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* One-sided operations on a block: state.h shows the words and the order of operations. */
#include <string.h>
#include <rmc/sabre.h>
#include "state.h"

_Static_assert(BUFFERS <= 32, "bits of remote.used");

/* --- waiting --- */

static uint64_t next_random(struct remote *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

void rmc_remote_until(struct remote *r, uint64_t ns)
{
	unsigned int spins = 0;

	while (rmc_now_ns() < ns && !rmc_relax(r->qp, &spins))
		;
}

static void back_off(struct remote *r, unsigned int failures)
{
	uint64_t ns = r->o.backoff_ns;

	while (failures-- && ns < r->o.backoff_max_ns)
		ns *= 2;
	if (ns > r->o.backoff_max_ns)
		ns = r->o.backoff_max_ns;
	if (ns)
		rmc_remote_until(r, rmc_now_ns() + next_random(r) % ns);
}

/* Is an operation with this status to be repeated, as it was lost? */
bool rmc_remote_again(struct remote *r, int status, unsigned int *tries)
{
	if (status != RMC_S_TIMEOUT)
		return false;
	r->stats.lost++;
	return ++*tries < TRIES;
}

static int remote_begin(struct rmc_blocks *a, unsigned int restarts)
{
	struct remote *r = remote_of(a);

	if (!restarts)
		return 0;
	r->stats.restarts++;
	if (restarts >= r->o.attempts)
		return -EAGAIN;
	back_off(r, restarts);
	return 0;
}

/* --- addresses and buffers --- */

/* 0, or -EPROTO: it is no block of the areas */
int rmc_remote_locate(const struct remote *r, uint64_t at, unsigned int *area, uint64_t *number)
{
	uint64_t first = r->o.offset + r->shape.blocks_at, rest = at_offset(at) - first;

	*area = (unsigned int)(at_nid(at) - r->o.first_nid);
	*number = rest / r->shape.stride;
	if (*area >= r->o.nodes || at_offset(at) < first || rest % r->shape.stride ||
	    *number >= r->o.capacity)
		return -EPROTO;
	return 0;
}

static uint64_t remote_fixed_at(const struct rmc_blocks *a, uint64_t n)
{
	const struct remote *r = remote_of((struct rmc_blocks *)(uintptr_t)a);

	return block_at(r, (unsigned int)(n % r->o.nodes), n / r->o.nodes);
}

static uint8_t *image_of(const struct remote *r, const struct rmc_block_hold *h)
{
	return r->memory + (size_t)h->buffer * r->shape.stride;
}

static int take_buffer(struct remote *r, struct rmc_block_hold *h)
{
	int i = __builtin_ffs((int)~r->used) - 1;

	if (i < 0 || i >= BUFFERS)
		return -ENOBUFS;
	r->used |= 1U << i;
	h->buffer = i;
	h->data = r->data + (size_t)i * r->base.bytes;
	h->dirty = h->fresh = false;
	return 0;
}

static void end_hold(struct remote *r, struct rmc_block_hold *h)
{
	r->used &= ~(1U << h->buffer);
	h->at = 0;
	h->data = NULL;
}

/* --- operations --- */

/* Read the block, and check that it is one state: 0, a status of a scheme, or another status */
static int fetch(struct remote *r, struct rmc_block_hold *h)
{
	const struct rmc_scheme *s = r->o.scheme;
	uint8_t *image = image_of(r, h);
	const void *data = h->data;
	int err;

	r->stats.reads++;
	if (s->fetch == RMC_FETCH_SABRE)
		err = rmc_sabre(r->qp, at_nid(h->at), at_offset(h->at), image, r->shape.image);
	else
		err = rmc_read(r->qp, at_nid(h->at), at_offset(h->at), image, r->shape.image);
	if (err == RMC_S_SABRE_LOCKED)
		return RMC_SCHEME_LOCKED;
	if (rmc_sabre_again(err))
		return RMC_SCHEME_TORN;
	if (err)
		return err;
	memcpy(&h->word, image, sizeof(h->word));
	if (h->word & BLOCK_WORD_LATCHED)
		return RMC_SCHEME_LOCKED;
	err = rmc_scheme_check(s, image, h->data, r->base.bytes, &data);
	if (!err && data != h->data)
		memcpy(h->data, data, r->base.bytes);
	return err;
}

/*
 * Swap the block's word until the outcome is known: 0, RMC_BLOCK_RESTART: it was another one, or a
 * status: not known. A word that is ours already was swapped by an operation that was lost.
 */
static int swap(struct remote *r, const struct rmc_block_hold *h, uint64_t from, uint64_t to)
{
	unsigned int tries = 0;
	uint64_t old = 0;
	int err;

	do {
		r->stats.atomics++;
		err = rmc_cas(r->qp, at_nid(h->at), at_offset(h->at), from, to, &old);
	} while (rmc_remote_again(r, err, &tries));
	if (err)
		return err;
	if (old == from || (tries && old == to))
		return 0;
	return RMC_BLOCK_RESTART;
}

static int take_latch(struct remote *r, struct rmc_block_hold *h)
{
	int err;

	h->latch = r->owner | (h->word & (BLOCK_WORD_TAG | BLOCK_WORD_VERSION)) | BLOCK_WORD_LATCHED;
	err = swap(r, h, h->word, h->latch);
	if (!err)
		h->mode = RMC_BLOCK_WRITE;
	return err;
}

/* With a lost operation the word may be a later one already: so is a word that is not the latch. */
static int release_latch(struct remote *r, const struct rmc_block_hold *h, uint64_t to)
{
	uint64_t lost = r->stats.lost;
	int err = swap(r, h, h->latch, to);

	if (err == RMC_BLOCK_RESTART)
		err = r->stats.lost == lost ? -EPROTO : 0;
	return err;
}

/* All lines of the next version, while the word keeps the others out */
static int store(struct remote *r, struct rmc_block_hold *h)
{
	struct rmc_object *o = (struct rmc_object *)(void *)image_of(r, h);
	uint64_t sent = 0;
	unsigned int tries = 0;
	int err;

	memset(o, 0, r->shape.image);
	o->version = h->latch;
	r->o.scheme->store(o, h->data, r->base.bytes);
	do {
		sent = tries ? rmc_now_ns() : 0;
		r->stats.writes++;
		err = rmc_write(r->qp, at_nid(h->at), at_offset(h->at), o, r->shape.image);
	} while (rmc_remote_again(r, err, &tries));
	/* one that was lost may still be stored: not over what others write */
	if (tries)
		rmc_remote_until(r, sent + r->o.grace_us * 1000ULL);
	return err;
}

/* --- the accessor --- */

/* What a reader that waits does not wait for */
static bool changing(int status)
{
	return status == RMC_BLOCK_RESTART || status >= RMC_SCHEME_TORN;
}

int rmc_remote_enter(struct remote *r, uint64_t at, enum rmc_block_mode mode, struct rmc_block_hold *h)
{
	unsigned int i, area;
	bool latching;
	uint64_t number;
	int err;

	err = rmc_remote_locate(r, at, &area, &number);
	if (!err)
		err = take_buffer(r, h);
	if (err)
		return err;
	h->at = at;
	h->mode = RMC_BLOCK_READ;
	for (i = 0; ; ) {
		err = fetch(r, h);
		latching = !err && mode != RMC_BLOCK_READ;
		if (latching)
			err = take_latch(r, h);
		if (!err)
			return 0;
		r->stats.torn += err == RMC_SCHEME_TORN;
		r->stats.locked += err == RMC_SCHEME_LOCKED;
		r->stats.lost += err == RMC_S_TIMEOUT && !latching;
		/* whether the latch is ours is not known: reading again would wait for ourselves */
		if (!changing(err) && (err != RMC_S_TIMEOUT || latching))
			break;
		if (++i >= r->o.attempts) {
			err = changing(err) ? RMC_BLOCK_RESTART : err;
			break;
		}
		back_off(r, i);
	}
	end_hold(r, h);
	return err;
}

static int remote_enter(struct rmc_blocks *a, uint64_t at, enum rmc_block_mode mode,
			struct rmc_block_hold *h)
{
	return rmc_remote_enter(remote_of(a), at, mode, h);
}

static int remote_valid(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	struct remote *r = remote_of(a);
	unsigned int tries = 0;
	int err;

	if (h->mode != RMC_BLOCK_READ)
		return 0;
	do {
		r->stats.validations++;
		err = rmc_read(r->qp, at_nid(h->at), at_offset(h->at), r->scratch,
			       sizeof(*r->scratch));
	} while (rmc_remote_again(r, err, &tries));
	return err ? err : *r->scratch == h->word ? 0 : RMC_BLOCK_RESTART;
}

static int remote_upgrade(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	return h->mode == RMC_BLOCK_READ ? take_latch(remote_of(a), h) : 0;
}

static int leave_written(struct remote *r, struct rmc_block_hold *h)
{
	int err = store(r, h);

	if (err)
		return err;
	/* the first tag again: words of this version are new */
	return release_latch(r, h, (h->word + 2) & BLOCK_WORD_VERSION);
}

int rmc_remote_leave(struct remote *r, struct rmc_block_hold *h)
{
	int err = 0;

	if (h->mode != RMC_BLOCK_READ) {
		/* the last tag: the next one would be the first one again */
		if (h->dirty || (h->word & BLOCK_WORD_TAG) == BLOCK_WORD_TAG)
			err = leave_written(r, h);
		else
			err = release_latch(r, h, h->word + (1ULL << BLOCK_WORD_TAG_SHIFT));
	}
	end_hold(r, h);
	return err;
}

static int remote_leave(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	return rmc_remote_leave(remote_of(a), h);
}

void rmc_remote_cancel(struct remote *r, struct rmc_block_hold *h)
{
	const struct rmc_scheme *s = r->o.scheme;
	const void *data = h->data;
	uint64_t at = h->at;
	bool fresh = h->fresh;

	if (!at)
		return;
	/* the image may be stored again, see rmc_remote_leave(): as it was */
	if (h->mode != RMC_BLOCK_READ && h->dirty) {
		h->dirty = false;
		if (!rmc_scheme_check(s, image_of(r, h), h->data, r->base.bytes, &data) &&
		    data != h->data)
			memcpy(h->data, data, r->base.bytes);
	}
	rmc_remote_leave(r, h);
	if (fresh)
		rmc_remote_unused(r, at, 0);
}

static void remote_cancel(struct rmc_blocks *a, struct rmc_block_hold *h)
{
	rmc_remote_cancel(remote_of(a), h);
}

const struct rmc_block_ops rmc_remote_ops = {
	.begin	= remote_begin,
	.fixed_at = remote_fixed_at,
	.enter	= remote_enter,
	.valid	= remote_valid,
	.upgrade = remote_upgrade,
	.leave	= remote_leave,
	.cancel	= remote_cancel,
	.alloc	= rmc_remote_alloc,
	.retire	= rmc_remote_retire,
};
