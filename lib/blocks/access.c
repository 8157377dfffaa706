/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Blocks that are entered and left: state.h shows the words and the order of operations. */
#include <string.h>
#include <rmc/sabre.h>
#include "state.h"

_Static_assert(BLOCK_BUFFERS <= 32, "bits of remote.used");

/* --- waiting --- */

static uint64_t next_random(struct remote *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

/* A random time, up to a limit that doubles with each failure */
void rmc_remote_back_off(struct remote *r, unsigned int failures)
{
	uint64_t ns = r->o.backoff_ns, end;
	unsigned int spins = 0;

	while (failures-- && ns < r->o.backoff_max_ns)
		ns *= 2;
	if (ns > r->o.backoff_max_ns)
		ns = r->o.backoff_max_ns;
	if (!ns)
		return;
	end = rmc_now_ns() + next_random(r) % ns;
	while (rmc_now_ns() < end && !rmc_relax(r->qp, &spins))
		;
}

/* Did the operation not find the node, or its segment as it was? */
static bool not_there(int status)
{
	return status == RMC_S_NODE_DOWN || status == RMC_S_BAD_CONTEXT ||
	       status == RMC_S_OUT_OF_RANGE || status == RMC_S_BAD_NODE;
}

void rmc_remote_note(struct remote *r, unsigned int area, int status)
{
	r->chunk[area].suspect |= not_there(status);
}

/*
 * Of each operation on an area: is it to be repeated at once, as it was lost, or not executed? What
 * was lost has taken a time limit of the fabric: few times, and not after the deadline.
 */
bool rmc_remote_again(struct remote *r, unsigned int area, int status, unsigned int *tries)
{
	if (!status)
		return false;
	rmc_remote_note(r, area, status);
	/* an ordered queue pair has stopped */
	if (r->sync && rmc_qp_is_ordered(r->qp))
		rmc_qp_resume(r->qp);
	if (status != RMC_S_TIMEOUT && status != RMC_S_BUSY)
		return false;
	r->stats.lost += status == RMC_S_TIMEOUT;
	++*tries;
	if (rmc_now_ns() >= r->deadline)
		return false;
	if (status == RMC_S_BUSY)
		rmc_remote_back_off(r, *tries);
	return status == RMC_S_BUSY || *tries < BLOCK_TRIES;
}

static int remote_begin(struct rmc_blocks *blocks, unsigned int restarts)
{
	struct remote *r = remote_of(blocks);

	if (!restarts) {
		r->deadline = rmc_now_ns() + wait_ns(r);
		r->refill = r->refilled = false;
		r->refill_status = 0;
		r->commit_status = 0;
		r->told = false;
	}
	if (r->sync)
		rmc_remote_sync_let(r, false);
	/* each hold of an operation may become a doubt */
	if (r->doubts && !rmc_remote_settle(r, restarts) &&
	    r->doubts > BLOCK_DOUBTS - RMC_BLOCK_HOLDS)
		return r->doubt[0].status ? r->doubt[0].status : -EAGAIN;
	if (!restarts)
		return 0;
	r->stats.restarts++;
	if (rmc_now_ns() >= r->deadline)
		return -EAGAIN;
	if (r->refill) {
		r->refill_status = rmc_remote_refill(r);
		r->refilled = true;
		r->refill = false;
	} else {
		rmc_remote_back_off(r, restarts);
	}
	return 0;
}

static int remote_end(struct rmc_blocks *blocks, int result)
{
	struct remote *r = remote_of(blocks);
	int err = r->sync ? rmc_remote_sync_known(r) : 0;

	if (r->sync)
		rmc_remote_sync_let(r, false);
	if (r->doubts)
		rmc_remote_settle(r, true);
	rmc_remote_trim(r);
	return err ? err : result;
}

/* --- addresses and buffers --- */

/* 0, or -EPROTO: it is no block of the areas */
int rmc_remote_locate(const struct remote *r, uint64_t at, unsigned int *area, uint64_t *number)
{
	uint64_t first = r->o.offset + r->shape.blocks_at, rest = at_offset(at) - first;

	*area = at_area(r, at);
	*number = rest / r->shape.stride;
	if (*area >= r->o.nodes || at_offset(at) < first || rest % r->shape.stride ||
	    *number >= r->o.capacity)
		return -EPROTO;
	return 0;
}

static uint64_t remote_fixed_at(const struct rmc_blocks *blocks, uint64_t number)
{
	const struct remote *r = remote_of(blocks);

	return block_at(r, (unsigned int)(number % r->o.nodes), number / r->o.nodes);
}

/* 0; -EPROTO: this client holds the block already; -ENOBUFS */
int rmc_remote_take_buffer(struct remote *r, uint64_t at, struct rmc_block_hold *h)
{
	int i = __builtin_ffs((int)~r->used) - 1, k;

	for (k = 0; k < BLOCK_BUFFERS; k++)
		if (r->held[k] == at)
			return -EPROTO;
	if (i < 0 || i >= BLOCK_BUFFERS)
		return -ENOBUFS;
	r->used |= 1U << i;
	r->held[i] = at;
	h->at = at;
	h->mode = RMC_BLOCK_READ;
	h->buffer = i;
	h->data = r->data + (size_t)i * r->base.bytes;
	h->dirty = h->fresh = false;
	return 0;
}

void rmc_remote_end_hold(struct remote *r, struct rmc_block_hold *h)
{
	r->used &= ~(1U << h->buffer);
	r->held[h->buffer] = 0;
	h->at = 0;
	h->data = NULL;
}

/* --- the accessor --- */

static int fetch_image(struct remote *r, const struct rmc_block_hold *h)
{
	uint8_t *image = image_of(r, h);

	r->stats.reads++;
	if (r->o.scheme->fetch == RMC_FETCH_SABRE)
		return rmc_sabre(r->qp, at_nid(h->at), at_offset(h->at), image, r->shape.image);
	return rmc_read(r->qp, at_nid(h->at), at_offset(h->at), image, r->shape.image);
}

/* Read the block, and check that it is one state: 0, a status of a scheme, or another status */
static int fetch(struct remote *r, struct rmc_block_hold *h)
{
	const uint8_t *image = image_of(r, h);
	const void *data = h->data;
	unsigned int tries = 0;
	int err;

	do
		err = fetch_image(r, h);
	while (rmc_remote_again(r, at_area(r, h->at), err, &tries));
	if (err == RMC_S_SABRE_LOCKED)
		return RMC_SCHEME_LOCKED;
	if (rmc_sabre_again(err))
		return RMC_SCHEME_TORN;
	if (err)
		return err;
	memcpy(&h->word, image, sizeof(h->word));
	if (h->word & BLOCK_WORD_LATCHED)
		return RMC_SCHEME_LOCKED;
	err = rmc_scheme_check(r->o.scheme, image, h->data, r->base.bytes, &data);
	if (!err && data != h->data)
		memcpy(h->data, data, r->base.bytes);
	return err;
}

/* Another attempt may meet another state */
static bool changing(int status)
{
	return status == RMC_BLOCK_RESTART || status == RMC_SCHEME_TORN ||
	       status == RMC_SCHEME_LOCKED;
}

static int enter_once(struct remote *r, struct rmc_block_hold *h, enum rmc_block_mode mode)
{
	int err = fetch(r, h);

	return err || mode == RMC_BLOCK_READ ? err : rmc_remote_take_latch(r, h);
}

static bool settle_block(struct remote *r, uint64_t at)
{
	if (r->sync)
		return rmc_remote_sync_reclaim(r, at);
	return r->doubts && rmc_remote_settle_block(r, at);
}

int rmc_remote_enter(struct remote *r, uint64_t at, enum rmc_block_mode mode,
		     unsigned int attempts, struct rmc_block_hold *h)
{
	unsigned int i, area;
	uint64_t number;
	int err;

	err = rmc_remote_locate(r, at, &area, &number);
	if (!err)
		err = rmc_remote_check_area(r, area);
	if (!err)
		err = rmc_remote_take_buffer(r, at, h);
	if (err)
		return err;
	for (i = 0; ; ) {
		err = r->sync ? rmc_remote_sync_enter(r, h, mode) : enter_once(r, h, mode);
		/* at is 0: whether the latch is ours is not known */
		if (!err || !h->at)
			return err;
		/* r->sync counts as well, and more */
		r->stats.torn += !r->sync && err == RMC_SCHEME_TORN;
		r->stats.locked += !r->sync && err == RMC_SCHEME_LOCKED;
		if (!changing(err))
			break;
		if (++i >= attempts || rmc_now_ns() >= r->deadline) {
			err = RMC_BLOCK_RESTART;
			break;
		}
		/* it may be this client's own latch */
		if (!settle_block(r, at))
			rmc_remote_back_off(r, i);
	}
	rmc_remote_end_hold(r, h);
	return err;
}

static int remote_enter(struct rmc_blocks *blocks, uint64_t at, enum rmc_block_mode mode,
			struct rmc_block_hold *h)
{
	return rmc_remote_enter(remote_of(blocks), at, mode, BLOCK_ENTERS, h);
}

static int remote_valid(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct remote *r = remote_of(blocks);
	unsigned int tries = 0;
	int err;

	if (r->sync)
		return rmc_remote_sync_valid(r, h);
	if (h->mode != RMC_BLOCK_READ)
		return 0;
	do {
		r->stats.validations++;
		err = rmc_read(r->qp, at_nid(h->at), at_offset(h->at), r->scratch,
			       sizeof(*r->scratch));
	} while (rmc_remote_again(r, at_area(r, h->at), err, &tries));
	return err ? err : *r->scratch == h->word ? 0 : RMC_BLOCK_RESTART;
}

static int remote_upgrade(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	struct remote *r = remote_of(blocks);

	if (r->sync)
		return rmc_remote_sync_upgrade(r, h);
	return h->mode == RMC_BLOCK_READ ? rmc_remote_take_latch(r, h) : 0;
}

int rmc_remote_leave(struct remote *r, struct rmc_block_hold *h, bool unused)
{
	bool fresh = h->fresh && !unused;
	int err;

	if (r->sync)
		return rmc_remote_sync_leave(r, h, unused);
	if (h->mode == RMC_BLOCK_READ) {
		rmc_remote_end_hold(r, h);
		return 0;
	}
	err = rmc_remote_finish(r, h, unused);
	/* stored or not, nobody will link it */
	r->stats.leaked += err && fresh;
	return err;
}

static int remote_leave(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	return rmc_remote_leave(remote_of(blocks), h, false);
}

void rmc_remote_cancel(struct remote *r, struct rmc_block_hold *h)
{
	const void *data = h->data;

	if (!h->at)
		return;
	/* it may be stored again, see settle.c: as it was */
	if (r->sync) {
		h->dirty = false;
	} else if (h->mode != RMC_BLOCK_READ && h->dirty) {
		h->dirty = false;
		if (!rmc_scheme_check(r->o.scheme, image_of(r, h), h->data, r->base.bytes, &data) &&
		    data != h->data)
			memcpy(h->data, data, r->base.bytes);
	}
	rmc_remote_leave(r, h, h->fresh);
}

static int remote_stored(struct rmc_blocks *blocks)
{
	struct remote *r = remote_of(blocks);

	return r->sync ? rmc_remote_sync_stored(r) : 0;
}

static void remote_cancel(struct rmc_blocks *blocks, struct rmc_block_hold *h)
{
	rmc_remote_cancel(remote_of(blocks), h);
}

static int remote_settle(struct rmc_blocks *blocks)
{
	return rmc_remote_settle_now(remote_of(blocks)) ? 0 : -EAGAIN;
}

static void remote_stats(const struct rmc_blocks *blocks, struct rmc_blocks_stats *stats)
{
	const struct remote *r = remote_of(blocks);

	*stats = r->stats;
	if (r->sync)
		rmc_remote_sync_stats(r, stats);
}

const struct rmc_block_ops rmc_remote_ops = {
	.begin	= remote_begin,
	.end	= remote_end,
	.fixed_at = remote_fixed_at,
	.enter	= remote_enter,
	.valid	= remote_valid,
	.upgrade = remote_upgrade,
	.leave	= remote_leave,
	.stored	= remote_stored,
	.cancel	= remote_cancel,
	.alloc	= rmc_remote_alloc,
	.retire	= rmc_remote_retire,
	.settle	= remote_settle,
	.recover = rmc_remote_recover,
	.stats	= remote_stats,
	.close	= rmc_remote_close,
};
