/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Readers: the state machine of each read.
 *
 *	            .--------------------- torn, locked: wait ------------------.
 *	            v                                                           |
 *	start --> READY --> CAS --> (lease) --> READ --> check --> DONE --> release
 *	            |  \        (lock)            ^        |
 *	            |   `-------------------------'        `-- lock: unlock, by itself
 *	            `--> MESSAGE ---------------------------------> DONE
 *
 * The caller does not wait for an unlock: the data has arrived, so the read has ended, and
 * the slot stores what has to be unlocked.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "../internal.h"
#include "rmc/reader.h"
#include "scheme.h"

enum state { FREE, READY, CAS, READ, MESSAGE, DONE };

/* Use of a WQ slot */
enum use { USE_NONE, USE_READ, USE_UNLOCK };

#define DEFAULT_ATTEMPTS	64
#define UNLOCK_TRIES		8
#define POLLS_PER_SERVE		16	/* polling all peers' messages has a cost */

struct entry {
	enum state state;
	struct rmc_object_read *read;
	uint8_t *image, *clean;
	uint64_t not_before;		/* ns: backing off until then */
	uint64_t expected, word;	/* compare-and-swap of lock or lease */
	uint32_t backoff;
	unsigned int failures;
	int ticket;
	int abandoned;			/* caller has returned: @read is @own, result dropped */
	struct rmc_object_read own;
};

struct slot {
	enum use use;
	unsigned int entry;
	int nid;
	uint64_t offset, word;
	unsigned int tries;
};

struct unlock {
	int nid;
	uint64_t offset, word;
	unsigned int tries;
};

struct rmc_reader {
	struct rmc_qp *qp;
	struct rmc_reader_options o;
	struct rmc_scheme_params p;
	struct rmc_reader_stats stats;
	struct entry *entry;
	struct slot *slot;
	struct unlock *unlock;		/* to be issued */
	unsigned int unlocks;
	unsigned int active;		/* entries neither FREE nor DONE */
	unsigned int abandoned;		/* entries without a caller */
	unsigned int ready;		/* of these READY or MESSAGE: to be polled */
	unsigned int *done, done_head, done_tail;	/* free running */
	unsigned int done_mask;
	unsigned int *free, frees;
	uint64_t token;			/* of locks: never reused */
	uint64_t seed;
	unsigned int polls;
	void *memory;			/* ours, registered */
	int buf_id;
};

struct request {
	uint32_t magic;
	uint32_t reserved;
	uint64_t offset;
	uint64_t len;
};

_Static_assert(sizeof(struct request) == RMC_READER_REQUEST, "as the header file says");

static size_t image_bytes(const struct rmc_reader_options *o)
{
	/* the data of clean layouts stays aligned; one more line for an unaligned end */
	return rmc_scheme_bytes(o->scheme, o->max) + RMC_CACHE_LINE;
}

static unsigned int window(const struct rmc_reader_options *o)
{
	return o->window ? o->window : 1;
}

static size_t reader_bytes(const struct rmc_reader_options *o)
{
	return (size_t)window(o) * image_bytes(o);
}

static uint64_t next_random(struct rmc_reader *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

static int no_memory(const struct rmc_reader *r)
{
	return rmc_fail(ENOMEM, "reader: no memory for %u objects", window(&r->o));
}

/* Sets the message; of a buffer that cannot be registered, rmc_buf_register() did. */
static int allocate(struct rmc_reader *r)
{
	unsigned int n = window(&r->o), i;
	size_t clean = (r->o.max + RMC_CACHE_LINE) & ~(size_t)(RMC_CACHE_LINE - 1);
	uint8_t *image = (uint8_t *)r->o.memory;
	int err;

	r->entry = (struct entry *)calloc(n, sizeof(*r->entry));
	r->slot = (struct slot *)calloc(r->qp->entries, sizeof(*r->slot));
	r->unlock = (struct unlock *)calloc(r->qp->entries + n, sizeof(*r->unlock));
	/* a power of two, so that positions can wrap */
	while (r->done_mask + 1 < n)
		r->done_mask = 2 * r->done_mask + 1;
	r->done = (unsigned int *)calloc(r->done_mask + 1, sizeof(*r->done));
	r->free = (unsigned int *)calloc(n, sizeof(*r->free));
	if (!r->entry || !r->slot || !r->unlock || !r->done || !r->free)
		return no_memory(r);
	if (!image) {
		size_t len = rmc_page_round(reader_bytes(&r->o));

		if (posix_memalign(&r->memory, (size_t)sysconf(_SC_PAGESIZE), len))
			return no_memory(r);
		memset(r->memory, 0, len);
		err = rmc_buf_register(r->qp->ctx, r->memory, len);
		if (err < 0)
			return err;
		r->buf_id = err;
		image = (uint8_t *)r->memory;
	}
	for (i = 0; i < n; i++, image += image_bytes(&r->o)) {
		r->entry[i].image = image;
		if (!(r->o.scheme->flags & RMC_SCHEME_CLEAN) &&
		    posix_memalign((void **)&r->entry[i].clean, RMC_CACHE_LINE, clean))
			return no_memory(r);
		r->free[r->frees++] = n - 1 - i;
	}
	return 0;
}

static void deallocate(struct rmc_reader *r)
{
	unsigned int i;

	for (i = 0; r->entry && i < window(&r->o); i++)
		free(r->entry[i].clean);
	if (r->buf_id >= 0)
		rmc_buf_unregister(r->qp->ctx, r->buf_id);
	free(r->memory);
	free(r->free);
	free(r->done);
	free(r->unlock);
	free(r->slot);
	free(r->entry);
	free(r);
}

static struct rmc_reader *reader_open(struct rmc_qp *qp,
				      const struct rmc_reader_options *options)
{
	struct rmc_reader *r;
	int err;

	if (!options->scheme || window(options) > qp->entries / 2 ||
	    (options->scheme->fetch == RMC_FETCH_MESSAGE && !options->rpc)) {
		rmc_fail(EINVAL, "reader: no scheme, a window beyond half the queue pair's %u "
			 "entries, or a scheme of messages without an RPC", qp->entries);
		return NULL;
	}
	r = (struct rmc_reader *)calloc(1, sizeof(*r));
	if (!r) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	r->qp = qp;
	r->o = *options;
	r->p = scheme_params(&options->params);
	r->buf_id = -1;
	if (!r->o.attempts)
		r->o.attempts = DEFAULT_ATTEMPTS;
	if (getrandom(&r->token, sizeof(r->token), 0) != sizeof(r->token))
		r->token = monotonic_ns() * 0x9e3779b97f4a7c15ULL;
	r->seed = r->token | 1;
	err = allocate(r);
	if (err) {
		deallocate(r);
		errno = -err;
		return NULL;
	}
	return r;
}

struct rmc_reader *rmc_reader_open_sized(struct rmc_qp *qp,
					 const struct rmc_reader_options *options, size_t size)
{
	struct rmc_reader_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_READER_OPTIONS_SIZE_VER0,
			     "reader options") ? NULL : reader_open(qp, &o);
}

size_t rmc_reader_bytes_sized(const struct rmc_reader_options *options, size_t size)
{
	struct rmc_reader_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_READER_OPTIONS_SIZE_VER0,
			     "reader options") ? 0 : reader_bytes(&o);
}

struct rmc_reader *reader_open_ver0(struct rmc_qp *qp, const struct rmc_reader_options *options)
	RMC_VER0(rmc_reader_open);
struct rmc_reader *reader_open_ver0(struct rmc_qp *qp, const struct rmc_reader_options *options)
{
	return rmc_reader_open_sized(qp, options, RMC_READER_OPTIONS_SIZE_VER0);
}

size_t reader_bytes_ver0(const struct rmc_reader_options *options) RMC_VER0(rmc_reader_bytes);
size_t reader_bytes_ver0(const struct rmc_reader_options *options)
{
	return rmc_reader_bytes_sized(options, RMC_READER_OPTIONS_SIZE_VER0);
}

/* --- operations --- */

/* The entry at the head of the WQ, if it is free; the ring is filled in order. */
static int free_slot(const struct rmc_reader *r)
{
	unsigned int slot = r->qp->head & r->qp->mask;

	return r->qp->slot[slot] == RMC_SLOT_BUSY ? -1 : (int)slot;
}

static void finish(struct rmc_reader *r, unsigned int i, int status)
{
	struct entry *e = &r->entry[i];

	e->state = DONE;
	e->read->status = status;
	e->read->tries = e->failures + 1;
	if (status)
		r->stats.failed++;
	else
		r->stats.reads++;
	r->active--;
	r->done[r->done_head++ & r->done_mask] = i;
}

static int post_message(struct rmc_reader *r, struct entry *e)
{
	struct request q = { RMC_READER_MAGIC, 0, e->read->offset, e->read->len };

	/* the response is the clean data, and goes to its place */
	return rmc_rpc_post(r->o.rpc, e->read->nid, &q, sizeof(q),
			    e->clean ? e->clean : e->image + r->o.scheme->data_at, e->read->len);
}

/* True if the owner serves this read, by the scheme or as fallback. */
static int by_message(const struct rmc_reader *r, const struct entry *e)
{
	return r->o.scheme->fetch == RMC_FETCH_MESSAGE || e->failures >= r->o.attempts;
}

static void read_image(struct rmc_reader *r, unsigned int i, int slot)
{
	struct entry *e = &r->entry[i];
	unsigned int op = r->o.scheme->fetch == RMC_FETCH_SABRE ? RMC_OP_SABRE : RMC_OP_READ;

	e->state = READ;
	r->slot[slot].use = USE_READ;
	r->slot[slot].entry = i;
	rmc_issue(r->qp, op, slot, e->read->nid, e->read->offset, e->image,
		  r->o.scheme->image(e->read->len));
}

static void cas(struct rmc_reader *r, unsigned int i, int slot)
{
	struct entry *e = &r->entry[i];

	if (r->o.scheme->fetch == RMC_FETCH_LOCK) {
		e->expected = 0;
		e->word = lock_word(r->o.nid, ++r->token);
	} else {
		e->word = realtime_ns() + r->p.lease_us * 1000ULL;
	}
	e->state = CAS;
	r->slot[slot].use = USE_READ;
	r->slot[slot].entry = i;
	rmc_cas_async(r->qp, slot, e->read->nid, e->read->offset + WORD_AT, e->expected, e->word);
}

/* Issue the first, or the next, operation of a READY entry. 0: no slot is free. */
static int go_on(struct rmc_reader *r, unsigned int i)
{
	struct entry *e = &r->entry[i];
	int slot;

	if (by_message(r, e)) {
		e->ticket = post_message(r, e);
		if (e->ticket == -EAGAIN)
			return 0;
		if (e->ticket < 0) {
			r->ready--;
			finish(r, i, e->ticket == -ENODEV ? RMC_S_NODE_DOWN : e->ticket);
			return 1;
		}
		e->state = MESSAGE;
		return 1;
	}
	slot = free_slot(r);
	if (slot < 0 || r->unlocks >= r->qp->entries)
		return 0;
	r->ready--;
	if (r->o.scheme->fetch == RMC_FETCH_LOCK || r->o.scheme->fetch == RMC_FETCH_LEASE)
		cas(r, i, slot);
	else
		read_image(r, i, slot);
	return 1;
}

static void unlock(struct rmc_reader *r, int nid, uint64_t offset, uint64_t word,
		   unsigned int tries)
{
	struct unlock *u = &r->unlock[r->unlocks++];

	u->nid = nid;
	u->offset = offset;
	u->word = word;
	u->tries = tries;
}

static void issue_unlocks(struct rmc_reader *r)
{
	struct unlock *u;
	struct slot *s;
	int slot;

	while (r->unlocks && (slot = free_slot(r)) >= 0) {
		u = &r->unlock[--r->unlocks];
		s = &r->slot[slot];
		s->use = USE_UNLOCK;
		s->nid = u->nid;
		s->offset = u->offset;
		s->word = u->word;
		s->tries = u->tries;
		rmc_cas_async(r->qp, slot, u->nid, u->offset + WORD_AT, u->word, 0);
	}
}

/* --- results --- */

static void again(struct rmc_reader *r, unsigned int i, int status)
{
	struct entry *e = &r->entry[i];

	if (status == RMC_SCHEME_TORN || status == RMC_S_SABRE_ABORTED)
		r->stats.torn++;
	else if (status == RMC_SCHEME_LOCKED || status == RMC_S_SABRE_LOCKED)
		r->stats.locked++;
	else if (status == RMC_SCHEME_LEASE_OVER)
		r->stats.lease_over++;
	else
		r->stats.lost++;
	if (++e->failures >= r->o.attempts &&
	    (!r->o.fall_back || !r->o.rpc || e->failures >= 2 * r->o.attempts)) {
		e->failures--;		/* tries counts one more */
		finish(r, i, status);
		return;
	}
	if (e->failures == r->o.attempts)
		r->stats.fell_back++;
	e->state = READY;
	e->not_before = 0;
	r->ready++;
	if (!e->backoff) {
		/* at once, unless a lock has to be released before */
		if (r->o.scheme->fetch != RMC_FETCH_LOCK && !by_message(r, e))
			go_on(r, i);
		return;
	}
	e->not_before = monotonic_ns() + next_random(r) % e->backoff;
	e->backoff = e->backoff > r->o.backoff_max_ns / 2 ? r->o.backoff_max_ns : 2 * e->backoff;
}

/* True if a retry of the same operation may succeed. */
static int may_recover(int status)
{
	return status == RMC_S_SABRE_ABORTED || status == RMC_S_SABRE_LOCKED ||
	       status == RMC_S_SABRE_LOST || status == RMC_S_TIMEOUT || status == RMC_S_BUSY;
}

static void cas_completed(struct rmc_reader *r, unsigned int i, int slot, int status)
{
	struct entry *e = &r->entry[i];
	uint64_t old = rmc_slot_value(r->qp, slot);
	int lock = r->o.scheme->fetch == RMC_FETCH_LOCK;
	int next;

	if (status) {
		/* the swap may have taken place although the reply was lost */
		if (lock && status == RMC_S_TIMEOUT)
			unlock(r, e->read->nid, e->read->offset, e->word, 0);
		if (may_recover(status))
			again(r, i, status);
		else
			finish(r, i, status);
		return;
	}
	if (old != e->expected) {
		uint64_t skew = r->p.skew_us * 1000ULL, now = realtime_ns();

		if (lock || old & LEASE_OWNER) {
			e->expected = 0;
			again(r, i, RMC_SCHEME_LOCKED);
			return;
		}
		if (old < now + skew || old > now + r->p.lease_us * 1000ULL + skew) {
			/* expired, about to expire, or invalid: take a new lease */
			e->expected = old;
			next = free_slot(r);
			if (next >= 0) {
				cas(r, i, next);
				return;
			}
			e->state = READY;
			r->ready++;
			return;
		}
		e->word = old;		/* share it */
	}
	next = free_slot(r);
	if (next >= 0) {
		read_image(r, i, next);
		return;
	}
	e->state = READ;		/* the lock is ours; the read waits for a slot */
	e->not_before = ~0ULL;
	r->ready++;
}

static void image_completed(struct rmc_reader *r, unsigned int i, int status)
{
	struct entry *e = &r->entry[i];
	struct rmc_object_read *rd = e->read;

	r->stats.tries++;
	if (r->o.scheme->fetch == RMC_FETCH_LOCK)
		unlock(r, rd->nid, rd->offset, e->word, 0);
	if (!status) {
		r->stats.bytes += r->o.scheme->image(rd->len);
		if (r->o.scheme->fetch == RMC_FETCH_LEASE &&
		    realtime_ns() + r->p.skew_us * 1000ULL > e->word)
			status = RMC_SCHEME_LEASE_OVER;
		else
			status = rmc_scheme_check(r->o.scheme, e->image, e->clean, rd->len,
						  &rd->data);
	}
	if (status >= RMC_SCHEME_TORN || may_recover(status)) {
		e->expected = 0;
		again(r, i, status);
	} else {
		finish(r, i, status);
	}
}

static void unlock_completed(struct rmc_reader *r, const struct slot *s, int status)
{
	if (!status)
		return;
	if (status == RMC_S_TIMEOUT && s->tries < UNLOCK_TRIES)
		unlock(r, s->nid, s->offset, s->word, s->tries + 1);
	else
		r->stats.unlocks_lost++;	/* its owner breaks the lock */
}

static void completed(struct rmc_reader *r, int slot, int status)
{
	struct slot *s = &r->slot[slot];
	enum use use = s->use;

	s->use = USE_NONE;
	if (use == USE_UNLOCK)
		unlock_completed(r, s, status);
	else if (r->entry[s->entry].state == CAS)
		cas_completed(r, s->entry, slot, status);
	else
		image_completed(r, s->entry, status);
}

static void message_completed(struct rmc_reader *r, unsigned int i, int result, int failed)
{
	struct entry *e = &r->entry[i];
	struct rmc_object_read *rd = e->read;

	r->stats.tries++;
	r->ready--;
	if (!failed && result == (int)rd->len) {
		r->stats.bytes += rd->len;
		rd->data = e->clean ? e->clean : e->image + r->o.scheme->data_at;
		finish(r, i, 0);
	} else if (failed) {
		finish(r, i, result);
	} else if (result == -EAGAIN) {
		again(r, i, RMC_SCHEME_LOCKED);		/* a writer died, or is slow */
	} else {
		finish(r, i, result < 0 ? result : -EPROTO);
	}
}

/* Polls entries that wait for a time, a slot or a response: all, since a window is small. */
static int look_at_ready(struct rmc_reader *r)
{
	unsigned int i, n = window(&r->o);
	int result, failed, err, slot;
	uint64_t now = 0;

	for (i = 0; i < n && r->ready; i++) {
		struct entry *e = &r->entry[i];

		if (e->state == MESSAGE) {
			err = rmc_rpc_poll(r->o.rpc, e->ticket, &result, &failed);
			if (err < 0)
				return err;
			if (err)
				message_completed(r, i, result, failed);
		} else if (e->state == READ && e->not_before == ~0ULL) {
			slot = free_slot(r);
			if (slot < 0)
				continue;
			e->not_before = 0;
			r->ready--;
			read_image(r, i, slot);
		} else if (e->state == READY) {
			if (e->not_before) {
				if (!now)
					now = monotonic_ns();
				if (now < e->not_before)
					continue;
			}
			go_on(r, i);
		}
	}
	return 0;
}

/* --- calls --- */

int rmc_reader_start(struct rmc_reader *r, struct rmc_object_read *rd)
{
	struct entry *e;
	unsigned int i;

	if (rmc_unlikely(!r->frees))
		return -EAGAIN;
	if (rmc_unlikely(rd->len > r->o.max))
		return -EMSGSIZE;
	i = r->free[--r->frees];
	e = &r->entry[i];
	e->read = rd;
	e->state = READY;
	e->not_before = 0;
	e->expected = 0;
	e->failures = 0;
	e->backoff = r->o.backoff_ns;
	rd->index = (int)i;
	rd->status = 0;
	rd->data = NULL;
	r->active++;
	r->ready++;
	go_on(r, i);
	return 0;
}

int rmc_reader_poll(struct rmc_reader *r, struct rmc_object_read **done)
{
	struct rmc_completion c;
	int err;

	while (rmc_qp_in_flight(r->qp) && rmc_cq_next(r->qp, &c))
		completed(r, c.slot, c.status);
	if (r->unlocks)
		issue_unlocks(r);
	if (r->ready) {
		err = look_at_ready(r);
		if (err)
			return err;
	}
	if (r->o.rpc && r->done_head == r->done_tail && !(++r->polls % POLLS_PER_SERVE)) {
		err = rmc_rpc_progress(r->o.rpc);
		if (err < 0)
			return err;
	}
	while (r->done_head != r->done_tail) {
		struct entry *e = &r->entry[r->done[r->done_tail++ & r->done_mask]];

		if (rmc_likely(!e->abandoned)) {
			*done = e->read;
			return 1;
		}
		e->abandoned = 0;
		r->abandoned--;
		rmc_reader_release(r, e->read);
	}
	if (rmc_unlikely(rmc_load_relaxed(&r->qp->flags->dead)))
		return -ESHUTDOWN;
	return 0;
}

void rmc_reader_release(struct rmc_reader *r, struct rmc_object_read *rd)
{
	r->entry[rd->index].state = FREE;
	r->free[r->frees++] = (unsigned int)rd->index;
}

/*
 * The caller returns before its read has ended: operations in flight may still use the
 * landing buffer, but not the caller's memory.
 */
static void abandon(struct rmc_reader *r, struct rmc_object_read *rd)
{
	struct entry *e = &r->entry[rd->index];

	e->own = *rd;
	e->read = &e->own;
	e->abandoned = 1;
	r->abandoned++;
}

int rmc_reader_read(struct rmc_reader *r, struct rmc_object_read *rd)
{
	unsigned int spins = 0;
	struct rmc_object_read *done;
	int err;

	/* abandoned reads end first */
	while (r->abandoned) {
		err = rmc_reader_poll(r, &done);
		if (!err)
			err = rmc_relax(r->qp, &spins);
		if (err)
			return err < 0 ? err : -EBUSY;
	}
	if (r->frees != window(&r->o))
		return -EBUSY;
	err = rmc_reader_start(r, rd);
	if (err)
		return err;
	while (!(err = rmc_reader_poll(r, &done))) {
		err = rmc_relax(r->qp, &spins);
		if (err)
			break;
	}
	if (err < 0) {
		abandon(r, rd);
		return err;
	}
	/* the data stays valid until the next read starts */
	rmc_reader_release(r, done);
	return rd->status;
}

const struct rmc_reader_stats *rmc_reader_stats(const struct rmc_reader *r)
{
	return &r->stats;
}

void rmc_reader_close(struct rmc_reader *r)
{
	struct rmc_completion c;

	if (!r)
		return;
	/* wait: operations use memory, and locks of remote objects are held */
	while (!rmc_qp_inherited(r->qp) && (rmc_qp_in_flight(r->qp) || r->unlocks)) {
		issue_unlocks(r);
		if (rmc_cq_wait(r->qp, &c))
			break;
		if (r->slot[c.slot].use == USE_UNLOCK)
			unlock_completed(r, &r->slot[c.slot], c.status);
		else if (r->o.scheme->fetch == RMC_FETCH_LOCK)
			unlock(r, r->entry[r->slot[c.slot].entry].read->nid,
			       r->entry[r->slot[c.slot].entry].read->offset,
			       r->entry[r->slot[c.slot].entry].word, 0);
	}
	deallocate(r);
}

#define SERVE_TRIES	64

int rmc_reader_serve(const struct rmc_scheme *s, const void *seg, size_t seg_len,
		     const void *request, size_t len, void *response, size_t size)
{
	struct request q;
	unsigned int i, spins = 0;

	if (len != sizeof(q))
		return -EBADMSG;
	memcpy(&q, request, sizeof(q));
	if (q.magic != RMC_READER_MAGIC || q.offset % RMC_CACHE_LINE || q.len > size ||
	    q.offset > seg_len || s->image(q.len) > seg_len - q.offset)
		return -EINVAL;
	/* writers are local and fast; rmc_object_repair() handles a dead one */
	for (i = 0; i < SERVE_TRIES; i++) {
		if (!rmc_scheme_read(s, (const struct rmc_object *)((const uint8_t *)seg + q.offset),
				     response, q.len))
			return (int)q.len;
		rmc_object_relax(&spins);
	}
	return -EAGAIN;
}
