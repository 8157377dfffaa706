/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks that are objects of <rmc/sync.h>: its latches, its schemes, its options. A hold of a block
 * is a hold of an object:
 *
 *			latched reads (rw, excl)	optimistic ones (farm, crc64, versioning)
 *	enter(READ)	rmc_sync_read()			the same; of versioning, validated at once
 *	enter(LATCH)	rmc_sync_read()			rmc_sync_write()
 *	enter(WRITE)	rmc_sync_write()		rmc_sync_write()
 *	valid()		the latch is the answer		rmc_sync_valid()
 *	upgrade()	rmc_sync_upgrade()		rmc_sync_upgrade()
 *	leave()		rmc_sync_cancel(), _commit()	nothing, rmc_sync_commit()
 *	cancel()	rmc_sync_cancel()		nothing, rmc_sync_cancel()
 *
 * A torn or locked object is tried again: a few times by rmc_sync, then by rmc_remote_enter() until
 * the operation's deadline. A hold that rmc_sync has ended is none of the structure's, either.
 *
 * With RMC_SYNC_ASYNC a commit returns before the block is stored. Others wait for its latch then;
 * but a structure stores blocks in an order, and must know. So the next commit of an operation, and
 * its end, wait for the one before (pending). Nobody waits for releases.
 *
 * A commit that fails leaves its latch (rmc_sync_stats.quarantined). Its image is kept as a doubt,
 * and this client takes the latch back and stores the image, when the next operation begins or
 * ends: settle.c is the same of blocks whose version is the latch.
 *
 * A latch may stay as well when its release was lost too often, also one in the background that no
 * call waits for. rmc_sync counts these (unlocks_lost), and does not say which they are. So blocks
 * that were let go are remembered until nothing is in flight; when the count has risen, each of
 * them is taken back if its latch is this client's, and released. One that is not whole stays: it
 * is an earlier life's, or a dead client's that a recovery could not read.
 *
 * Latches of dead clients: rmc_sync_take_over(). Layouts with a version in each line, or a sum,
 * show whether the object is one state, and a line always is. Others have a sum behind the data
 * here, of each block that is stored, which nobody else reads.
 */
#include <string.h>
#include "state.h"
#include "../sync/state.h"

#define SUM_BYTES	sizeof(uint64_t)
#define SYNC_BUFFERS	RMC_BLOCK_HOLDS
#define SYNC_BEHIND	4		/* with RMC_SYNC_ASYNC: releases and a commit */

/* Is the version of the block, as this directory writes it, not its latch? */
bool rmc_remote_is_sync(const struct rmc_blocks_options *o)
{
	return o->sync || (o->latch && strcmp(o->latch, "version")) ||
	       rmc_scheme_find(o->scheme->name) != o->scheme;
}

/* RMC_LATCHES: there is none of this name */
static unsigned int latch_number(const char *name)
{
	unsigned int i = 0;

	if (!name)
		return RMC_LATCH_DEFAULT;
	while (i < RMC_LATCHES && strcmp(rmc_sync_latch_name(i), name))
		i++;
	return i;
}

/* Is an object of this layout seen to be one state, or always one? A line is stored as a whole. */
static bool shows_whole(const struct scheme *layout, size_t bytes)
{
	return layout->layout->sum_at || layout->layout->flags & LAYOUT_LINES ||
	       layout->pub.image(bytes) <= RMC_CACHE_LINE;
}

static int refuse(const struct rmc_blocks_options *o, const char *why)
{
	return rmc_fail(EINVAL, "blocks: scheme %s, latch %s: %s", o->scheme->name,
			o->latch ? o->latch : "default", why);
}

/* What structures need of a row: others write, and it is known in time whether data is one state */
static int check_plan(const struct rmc_blocks_options *o, const struct plan *plan)
{
	if (plan->row->pub.guarantee == RMC_GUARANTEE_BROKEN)
		return refuse(o, "its reads may be mixtures");
	if (!plan->row->write || !plan->writes ||
	    plan->row->pub.needs & (RMC_NEEDS_RPC | RMC_NEEDS_POOL | RMC_NEEDS_OWNER) ||
	    plan->scheme->layout->flags & (LAYOUT_INDEX | LAYOUT_TUPLE | LAYOUT_SERVED))
		return refuse(o, "only the owner writes, or it needs a pool, a server or a switch");
	if (plan->writes->flags & LATCH_VERSION)
		return refuse(o, "options of rmc/sync.h need another latch than the version");
	if (!plan->reads && plan->valid->op == STEP_END)
		return refuse(o, "its reads are not validated");
	if (o->flags & RMC_BLOCKS_REDO)
		return refuse(o, "there are no copies for RMC_BLOCKS_REDO");
	return 0;
}

/* The layout of blocks, and bytes of their objects */
int rmc_remote_sync_shape(const struct rmc_blocks_options *o, struct shape *s)
{
	struct rmc_sync_options so = {
		.scheme = o->scheme, .max = o->bytes, .latch = latch_number(o->latch),
		.flags = o->sync,
	};
	struct plan plan;
	int err = rmc_sync_compile(&plan, &so, NULL);

	if (!err)
		err = check_plan(o, &plan);
	if (err)
		return err;
	s->layout = &plan.scheme->pub;
	s->object = o->bytes + (shows_whole(plan.scheme, o->bytes) ? 0 : SUM_BYTES);
	s->apart = !!(plan.scheme->layout->flags & LAYOUT_APART);
	s->latch = o->sync & RMC_SYNC_WRITE_UNLATCH ? "write-unlatch" :
		   o->latch ? o->latch : s->layout->latch;
	return 0;
}

static struct rmc_sync_options sync_options(const struct rmc_blocks_options *o,
					    const struct shape *s)
{
	return (struct rmc_sync_options){
		.scheme = o->scheme, .max = s->object, .latch = latch_number(o->latch),
		.flags = o->sync,
		.buffers = SYNC_BUFFERS + (o->sync & RMC_SYNC_ASYNC ? SYNC_BEHIND : 0),
		.attempts = BLOCK_TRIES,
		.backoff_ns = o->backoff_ns, .backoff_max_ns = o->backoff_max_ns,
		.nid = o->nid, .client = o->client,
		.latches = o->offset + s->latches_at, .base = o->offset + s->blocks_at,
		.stride = s->stride, .objects = o->capacity,
	};
}

size_t rmc_remote_sync_memory(const struct rmc_blocks_options *o, const struct shape *s)
{
	struct rmc_sync_options so = sync_options(o, s);

	return rmc_sync_bytes(&so);
}

int rmc_remote_sync_open(struct remote *r)
{
	struct rmc_sync_options so = sync_options(&r->o, &r->shape);

	so.memory = r->memory;
	r->sync = rmc_sync_open(r->qp, &so);
	if (!r->sync)
		return -errno;
	r->latched_reads = !!r->sync->plan.reads;
	r->late = !!(r->sync->plan.row->row & ROW_LATE);
	return 0;
}

/* --- commits --- */

/* A sum of what is stored; zeros were never stored */
static uint64_t sum_of(const struct remote *r, const uint8_t *data)
{
	return rmc_crc64(0, data, r->base.bytes);
}

static bool has_sum(const struct remote *r)
{
	return r->shape.object > r->base.bytes;
}

static bool is_whole(const struct remote *r, const struct rmc_hold *s)
{
	const uint8_t *data = (const uint8_t *)s->data;
	uint64_t sum;
	size_t i;

	if (!has_sum(r))
		return !s->torn || r->shape.image <= RMC_CACHE_LINE;
	memcpy(&sum, data + r->base.bytes, sizeof(sum));
	if (sum == sum_of(r, data))
		return true;
	for (i = 0; i < r->shape.object && !data[i]; i++)
		;
	return i == r->shape.object;
}

static uint8_t *kept_image(struct remote *r, int buffer)
{
	return r->data + (size_t)buffer * r->base.bytes;
}

/* To the doubts, with the image that is to be stored, or NULL: as it is */
static void doubt(struct remote *r, uint64_t at, const uint8_t *image, int status)
{
	int i = __builtin_ffs((int)~r->used) - 1;

	r->stats.stuck++;
	/* seldom, and nobody remembers it then: the latch stays */
	if (i < 0 || i >= BLOCK_BUFFERS || r->doubts == BLOCK_DOUBTS) {
		r->left_torn |= !!image;
		return;
	}
	r->used |= 1U << i;
	r->held[i] = 0;
	if (image)
		memcpy(kept_image(r, i), image, r->base.bytes);
	r->doubt[r->doubts++] = (struct doubt){ .h = { .at = at, .buffer = i, .dirty = !!image },
						.status = status };
}

/* The commit of r->pending_image has failed: the hold's status */
static int not_stored(struct remote *r, uint64_t at, int err)
{
	/* who was taken for dead: somebody else has the latch */
	if (err == RMC_SCHEME_TORN)
		return -EPROTO;
	rmc_remote_note(r, at_area(r, at), err);
	doubt(r, at, r->pending_image, err);
	return err;
}

/* Waits for all that is in flight: before operations of the queue pair beside r->sync as well */
void rmc_remote_quiet(struct remote *r)
{
	int err = rmc_sync_drain(r->sync);

	if (err && r->pending) {
		r->commit_status = not_stored(r, r->pending, err);
		r->told = false;
	}
	r->pending = 0;
}

/* Is what this operation has stored last stored? 0 or its status */
int rmc_remote_sync_known(struct remote *r)
{
	if (r->pending)
		rmc_remote_quiet(r);
	return r->commit_status;
}

/* The same for a structure, which goes on to store when it knows */
int rmc_remote_sync_stored(struct remote *r)
{
	int err = rmc_remote_sync_known(r);

	r->told = !!err;
	return err;
}

static int commit(struct remote *r, struct rmc_hold *s, const uint8_t *data)
{
	uint64_t sum;

	if (data != s->data)
		memcpy(s->data, data, r->base.bytes);
	if (has_sum(r)) {
		sum = sum_of(r, data);
		memcpy((uint8_t *)s->data + r->base.bytes, &sum, sizeof(sum));
	}
	return rmc_sync_commit(r->sync, s);
}

/* --- latches that this client could not release, or has left --- */

/* Latches that rmc_sync has left, or may have left: it counts them only */
static uint64_t latches_left(const struct remote *r)
{
	return r->sync->quarantined + r->sync->stats.unlocks_lost;
}

/*
 * 0: image is stored, and the latch released; -ENOENT: it is not this client's; -EUCLEAN: the block
 * is not whole, and stays latched; or a status. *known: there is an image; else it is the block's.
 */
static int take_back(struct remote *r, uint64_t at, uint8_t *image, bool *known)
{
	struct rmc_hold s = { .len = r->shape.object };
	int err = rmc_sync_take_over(r->sync, at, r->o.nid, &s);

	if (err)
		return err;
	if (!*known && !is_whole(r, &s)) {
		r->left_torn = true;
		rmc_sync_cancel(r->sync, &s);
		return -EUCLEAN;
	}
	if (!*known)
		memcpy(image, s.data, r->base.bytes);
	*known = true;
	err = commit(r, &s, image);
	return err ? err : rmc_sync_drain(r->sync);
}

/* The same of a block that is no doubt, when nothing is pending: it is one if that fails */
static bool take_back_any(struct remote *r, uint64_t at)
{
	bool known = false;
	int err = take_back(r, at, r->pending_image, &known);

	if (err && err != -ENOENT && err != -EBUSY && err != -EUCLEAN && err != RMC_SCHEME_TORN)
		doubt(r, at, known ? r->pending_image : NULL, err);
	return !err;
}

static bool is_idle(const struct remote *r)
{
	return !r->sync->background && !r->sync->unlatches && !r->sync->releasing;
}

/* Has the release of a block been lost that was let go since nothing was in flight? */
void rmc_remote_sync_let(struct remote *r, bool wait)
{
	unsigned int n = r->lets, i;

	if (wait || r->sync->stats.unlocks_lost != r->unlocks_lost)
		rmc_remote_quiet(r);
	if (r->sync->stats.unlocks_lost == r->unlocks_lost) {
		r->lets = is_idle(r) ? 0 : r->lets;
		return;
	}
	r->lets = 0;
	for (i = 0; i < n; i++)
		if (!rmc_remote_doubt_of(r, r->let[i]))
			take_back_any(r, r->let[i]);
	r->unlocks_lost = r->sync->stats.unlocks_lost;
}

static void let(struct remote *r, uint64_t at)
{
	if (r->lets == BLOCK_LETS)
		rmc_remote_sync_let(r, true);
	/* the queue pair is dead: nothing ends any more */
	if (r->lets < BLOCK_LETS)
		r->let[r->lets++] = at;
}

static int store(struct remote *r, struct rmc_block_hold *h)
{
	struct rmc_hold *s = &r->hold[h->buffer];
	int err;

	let(r, h->at);
	err = rmc_remote_sync_known(r);
	/* what this block leads to is not stored: nor is this one, unless the structure wants it */
	if (err && !r->told) {
		rmc_sync_cancel(r->sync, s);
		return err;
	}
	memcpy(r->pending_image, h->data, r->base.bytes);
	err = commit(r, s, h->data);
	if (err < 0 && s->index >= 0) {
		/* refused: a version at its limit */
		rmc_sync_cancel(r->sync, s);
		return err;
	}
	if (err)
		return not_stored(r, h->at, err);
	if (r->o.sync & RMC_SYNC_ASYNC)
		r->pending = h->at;
	return 0;
}

/* --- holds --- */

/* Of a call whose hold has ended: others change the block, or a status */
static int failed(struct remote *r, struct rmc_block_hold *h, int err)
{
	struct rmc_hold *s = &r->hold[h->buffer];
	unsigned int area = at_area(r, h->at);

	let(r, h->at);
	/* refused: the hold of rmc_sync goes on */
	if (s->index >= 0)
		rmc_sync_cancel(r->sync, s);
	rmc_remote_end_hold(r, h);
	if (err == RMC_SCHEME_TORN || err == RMC_SCHEME_LOCKED)
		return RMC_BLOCK_RESTART;
	rmc_remote_note(r, area, err);
	return err;
}

/*
 * Did the image have another one's latch? farm and crc64 deliver it even so, as it is one state.
 * But structures wait at a block that is written behind another one: who reads the first one when
 * it is written sees both.
 */
static bool is_latched(const struct remote *r, const struct rmc_hold *s)
{
	return r->sync->plan.writes->held(r->sync->entry[s->index].words[WORD_LATCH]);
}

/* Nobody has its latch any more, so what it would store is older than what is there */
static void drop_doubt(struct remote *r, struct doubt *d)
{
	r->used &= ~(1U << d->h.buffer);
	r->stats.stuck--;
	*d = r->doubt[--r->doubts];
}

/* One attempt of rmc_remote_enter() */
int rmc_remote_sync_enter(struct remote *r, struct rmc_block_hold *h, enum rmc_block_mode mode)
{
	bool reads = mode == RMC_BLOCK_READ || (mode == RMC_BLOCK_LATCH && r->latched_reads);
	struct rmc_hold *s = &r->hold[h->buffer];
	struct doubt *d;
	int err;

	*s = (struct rmc_hold){ .len = r->shape.object };
	/* not what it was before this client's own write */
	if (r->pending == h->at)
		rmc_remote_quiet(r);
	err = reads ? rmc_sync_read(r->sync, h->at, s) : rmc_sync_write(r->sync, h->at, s);
	/* no structure may follow a mixture */
	if (!err && reads && r->late)
		err = rmc_sync_valid(r->sync, s);
	if (!err && !r->latched_reads && reads && is_latched(r, s)) {
		rmc_sync_cancel(r->sync, s);
		err = RMC_SCHEME_LOCKED;
	}
	if (err) {
		/* whoever finds it locked has nothing to release but a count */
		if (err != RMC_SCHEME_LOCKED)
			let(r, h->at);
		rmc_remote_note(r, at_area(r, h->at), err);
		return err;
	}
	/* somebody else has ended it */
	d = rmc_remote_doubt_of(r, h->at);
	if (d)
		drop_doubt(r, d);
	h->mode = mode;
	h->data = (uint8_t *)s->data;
	return 0;
}

int rmc_remote_sync_valid(struct remote *r, struct rmc_block_hold *h)
{
	int err = 0;

	if (h->mode == RMC_BLOCK_READ)
		err = rmc_sync_valid(r->sync, &r->hold[h->buffer]);
	return err ? failed(r, h, err) : 0;
}

int rmc_remote_sync_upgrade(struct remote *r, struct rmc_block_hold *h)
{
	struct rmc_hold *s = &r->hold[h->buffer];
	int err = 0;

	if (h->mode == RMC_BLOCK_READ)
		err = rmc_sync_upgrade(r->sync, s);
	if (err)
		return failed(r, h, err);
	h->mode = RMC_BLOCK_WRITE;
	h->data = (uint8_t *)s->data;
	return 0;
}

/* The hold ends without a store: 0, RMC_BLOCK_RESTART: its latch was taken over, or -errno */
static int let_go(struct remote *r, struct rmc_block_hold *h)
{
	struct rmc_hold *s = &r->hold[h->buffer];
	int err;

	if (h->mode != RMC_BLOCK_READ || r->latched_reads)
		let(r, h->at);
	err = rmc_sync_cancel(r->sync, s);
	/* whether the release has arrived does not matter to who has read */
	return err == RMC_SCHEME_TORN ? RMC_BLOCK_RESTART : err < 0 ? err : 0;
}

int rmc_remote_sync_leave(struct remote *r, struct rmc_block_hold *h, bool unused)
{
	bool writes = h->mode == RMC_BLOCK_WRITE, fresh = h->fresh && !unused;
	bool stores = writes && h->dirty;
	uint64_t at = h->at;
	int err = stores ? store(r, h) : let_go(r, h);

	rmc_remote_end_hold(r, h);
	if (writes && err == RMC_BLOCK_RESTART)
		err = 0;
	if (unused && !err)
		rmc_remote_unused(r, at);
	r->stats.leaked += err && (unused || fresh);
	return err;
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
		err = take_back(r, d->h.at, kept_image(r, d->h.buffer), &d->h.dirty);
	if (err && err != -ENOENT && err != -ESTALE && err != -EUCLEAN && err != RMC_SCHEME_TORN) {
		d->status = err;
		d->again_at = rmc_now_ns();
		d->again_at += d->again_at - began;
		return false;
	}
	drop_doubt(r, d);
	return true;
}

/* As rmc_remote_settle() */
bool rmc_remote_sync_settle(struct remote *r, bool wait)
{
	unsigned int i, failures = 0;
	bool more;

	rmc_remote_sync_let(r, true);
	for (;;) {
		more = false;
		for (i = 0; i < r->doubts; )
			if (!try_doubt(r, &r->doubt[i]))
				more |= rmc_remote_ends_soon(&r->doubt[i++]);
		if (!more || !wait || rmc_now_ns() >= r->deadline)
			return !r->doubts;
		rmc_remote_back_off(r, ++failures);
	}
}

/* The block is locked: perhaps by this client, whose release was lost */
bool rmc_remote_sync_reclaim(struct remote *r, uint64_t at)
{
	struct doubt *d;

	if (!r->doubts && !latches_left(r))
		return false;
	rmc_remote_quiet(r);
	d = rmc_remote_doubt_of(r, at);
	if (d)
		return try_doubt(r, d);
	return latches_left(r) && take_back_any(r, at);
}

/* --- latches of others --- */

/* From a dead node; or from this client, if it has left what an earlier recovery has taken over */
static int take_over(struct remote *r, int nid, uint64_t at, struct rmc_hold *s)
{
	uint64_t left = latches_left(r);
	int err = rmc_sync_take_over(r->sync, at, nid, s);

	if (err == -ENOENT && r->left_torn && nid >= 0 && nid != r->o.nid)
		err = rmc_sync_take_over(r->sync, at, r->o.nid, s);
	/* perhaps this client has it by now, and has not read the block */
	r->left_torn |= err && latches_left(r) != left;
	return err;
}

/* -EUCLEAN: what it has left may be half written, and stays latched */
int rmc_remote_sync_recover(struct remote *r, int nid, uint64_t at)
{
	struct rmc_hold s = { .len = r->shape.object };
	int err;

	rmc_remote_quiet(r);
	if (rmc_remote_doubt_of(r, at))
		return 0;
	err = take_over(r, nid, at, &s);
	if (err == -ENOENT || err == -EBUSY)
		return 0;
	if (err)
		return err;
	/* readers of rw leave what they have read */
	if (nid >= 0 && !is_whole(r, &s)) {
		r->stats.damaged++;
		r->left_torn = true;
		rmc_sync_cancel(r->sync, &s);
		return -EUCLEAN;
	}
	r->stats.recovered++;
	if (nid < 0) {
		err = rmc_sync_cancel(r->sync, &s);
		return err ? err : rmc_sync_drain(r->sync);
	}
	memcpy(r->pending_image, s.data, r->base.bytes);
	err = commit(r, &s, r->pending_image);
	if (!err)
		err = rmc_sync_drain(r->sync);
	if (err && err != RMC_SCHEME_TORN)
		doubt(r, at, r->pending_image, err);
	return err;
}

/* As those of blocks whose version is the latch; validations are among the reads */
void rmc_remote_sync_stats(const struct remote *r, struct rmc_blocks_stats *stats)
{
	struct rmc_sync_stats s;

	rmc_sync_stats(r->sync, &s);
	stats->writes += s.writes;
	stats->atomics += s.atomics;
	stats->reads += s.messages - s.atomics - s.writes;
	stats->torn += s.torn;
	stats->locked += s.locked;
	stats->lost += s.lost;
}
