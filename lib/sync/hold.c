/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The calls of programs. */
#include "state.h"

/* rmc_sync_take_over(), which has one more argument than others */
#define SYNC_TAKE		((enum rmc_sync_call)(RMC_SYNC_VALID + 1))

#define POLLS_PER_SERVE		16	/* polling all peers' messages has a cost */

/* --- start --- */

static int check_address(struct rmc_sync *s, uint64_t addr, size_t len)
{
	uint64_t offset = addr & ((1ULL << 48) - 1), at = offset - s->o.base;

	if (len > s->o.max || !len)
		return -EMSGSIZE;
	if (addr >> 48 > RMC_NID_MAX || offset % RMC_CACHE_LINE ||
	    offset > RMC_OFFSET_MAX - sync_bytes(s, len))
		return -EINVAL;
	if (s->scheme->layout->flags & LAYOUT_APART &&
	    (offset < s->o.base || at % s->o.stride || at / s->o.stride >= s->o.objects))
		return -EINVAL;
	if (sync_indexed(s) && s->o.pool_slots && (int)(addr >> 48) != s->o.pool_nid)
		return rmc_fail(EINVAL, "sync: an object at node %d, but the pool is at node %d",
				(int)(addr >> 48), s->o.pool_nid);
	/* nobody can be asked */
	if (s->scheme->layout->flags & LAYOUT_SERVED && !s->o.rpc && (int)(addr >> 48) != s->o.nid)
		return rmc_fail(EINVAL, "sync: an object at node %d, whose server cannot be asked "
				"without an RPC", (int)(addr >> 48));
	return 0;
}

/* May an object of len bytes be written? */
static int check_write(const struct rmc_sync *s, size_t len)
{
	if (!s->plan.row->write)
		return rmc_fail(EOPNOTSUPP, "sync: only the owner writes objects of %s",
				s->plan.row->pub.name);
	if (sync_indexed(s) && !s->o.pool_slots)
		return rmc_fail(EOPNOTSUPP, "sync: no pool for copies: options.pool_slots is 0");
	/* the copy that is replaced becomes one of the pool's */
	if (sync_indexed(s) && rmc_sync_copy_bytes(len) != rmc_sync_copy_bytes(s->o.max))
		return -EMSGSIZE;
	return 0;
}

/* A guess of what will be found, and compared */
static void take_hint(const struct rmc_sync *s, struct entry *e, uint64_t hint)
{
	if (sync_indexed(s)) {
		/* the time of the copy counts from the read of the index word */
		if (!(s->plan.row->row & ROW_TIMED))
			e->version = rmc_index_marked(hint) ? 0 : hint;
	} else if (sync_tuples(s)) {
		if (e->job == JOB_WRITE && !(hint & RMC_SWITCH_LATCHED) && !tuple_overflows(hint))
			e->version = hint;
	} else if (e->job == JOB_WRITE && sync_odd_version(s->plan.writes)) {
		e->expected = hint < ODD_VERSION_LIMIT ? hint & ~1ULL : 0;
	}
}

static int begin(struct rmc_sync *s, enum rmc_sync_call call, uint64_t addr, struct rmc_hold *h)
{
	int err = check_address(s, addr, h->len);
	struct entry *e;

	if (!err && call != RMC_SYNC_READ)
		err = check_write(s, h->len);
	if (err)
		return err;
	/* the same object may be next: its release comes first */
	if (s->unlatches)
		rmc_sync_issue_unlatches(s);
	e = sync_entry(s, (int)(addr >> 48), addr & ((1ULL << 48) - 1), h->len, h);
	if (!e)
		return -EAGAIN;
	h->index = (int)e->index;
	h->data = NULL;
	if (call == RMC_SYNC_WRITE && rmc_unlikely(s->unseen))
		rmc_copy_want(s, 1);
	if (call != RMC_SYNC_READ)
		e->job = JOB_WRITE;
	if (call == SYNC_TAKE) {
		e->evicts = 1;
		e->expected = EVICT_NONE;
	} else {
		take_hint(s, e, h->hint);
	}
	rmc_sync_begin(s, e, call == SYNC_TAKE ? s->plan.take :
		       call == RMC_SYNC_WRITE ? s->plan.write : s->plan.read);
	return 0;
}

/* The entry of a hold that the caller has, or NULL */
static struct entry *held(const struct rmc_sync *s, const struct rmc_hold *h)
{
	struct entry *e;

	if (h->index < 0 || (unsigned int)h->index >= sync_buffers(&s->o))
		return NULL;
	e = &s->entry[h->index];
	return e->state == HELD && e->caller == h ? e : NULL;
}

/* The image of what is to be stored; 0 or -errno */
static int encode(struct rmc_sync *s, struct entry *e)
{
	uint64_t words[2] = { 0, (e->version | 1) + 1 };

	/* lines of dead nodes may have that version, and of several ones also later ones */
	if (e->evicts)
		words[WORD_VERSION] += rmc_words_ahead(s->scheme->layout, e->image, e->len);
	if (sync_indexed(s)) {
		if (rmc_copy_take(s, e))
			return -ENOSPC;
		rmc_copy_encode(e);
		return 0;
	}
	if (sync_tuples(s)) {
		memcpy(e->image, &e->word, sizeof(e->word));
		e->version = tuple_free(e->word);
		return 0;
	}
	if (e->latched && !(s->plan.flags & RMC_SYNC_WRITE_UNLATCH))
		words[WORD_LATCH] = e->word;
	rmc_encode(s->scheme, e->image, e->data, e->len, words);
	e->version = words[WORD_VERSION];
	return 0;
}

static int upgradable(const struct rmc_sync *s, const struct entry *e)
{
	if (e->job == JOB_WRITE)
		return -EINVAL;
	if (sync_tuples(s) && tuple_overflows(e->version))
		return -EOVERFLOW;
	/* what is odd is somebody else's, and found to be */
	if (!sync_indexed(s) && !sync_tuples(s) && !(e->version & 1) &&
	    e->version >= (sync_odd_version(s->plan.writes) ? ODD_VERSION_LIMIT : VERSION_LIMIT))
		return -EOVERFLOW;
	return check_write(s, e->len);
}

/* A write's latch, or a reader's, answers; otherwise there are words to be read again. */
static int validates(const struct rmc_sync *s, const struct entry *e)
{
	return e->latched || e->job == JOB_WRITE || s->plan.valid->op != STEP_END;
}

/* What the latch's word has to be: an odd version is somebody else's, and refused. */
static uint64_t upgrade_expects(const struct rmc_sync *s, const struct entry *e)
{
	if (e->latched)
		return 1;		/* the only reader of rw */
	if (sync_odd_version(s->plan.writes))
		return e->version & ~1ULL;
	return 0;
}

static const struct step unlatch_only[] = {
	{ STEP_UNLATCH,	PART_LATCH,	0, 1 },
	{ STEP_END,	PART_DATA,	0, 0 },
};

/* Where the program goes on */
static const struct step *next_step(struct rmc_sync *s, struct entry *e, enum rmc_sync_call call)
{
	int ends = call == RMC_SYNC_END && e->job == JOB_READ;

	if (call == RMC_SYNC_UPGRADE) {
		e->job = JOB_UPGRADE;
		e->expected = upgrade_expects(s, e);
		return s->plan.upgrade;
	}
	if (call == RMC_SYNC_COMMIT || ends)
		return e->at + 1;
	/* of a latch there is nothing to do but to go on */
	if (call == RMC_SYNC_VALID)
		return e->latched || e->job == JOB_WRITE ? e->at : s->plan.valid;
	return unlatch_only + !e->latched;
}

/* Continue a hold. 0, or -errno: the hold stays. */
static int go_on(struct rmc_sync *s, enum rmc_sync_call call, struct rmc_hold *h)
{
	struct entry *e = held(s, h);
	int err = 0;

	if (!e)
		return -EINVAL;
	if (call == RMC_SYNC_COMMIT)
		err = e->job == JOB_WRITE ? encode(s, e) : -EINVAL;
	else if (call == RMC_SYNC_UPGRADE)
		err = upgradable(s, e);
	else if (call == RMC_SYNC_VALID && !validates(s, e))
		err = -EOPNOTSUPP;
	if (err)
		return err;
	if (call == RMC_SYNC_UPGRADE && rmc_unlikely(s->unseen))
		rmc_copy_want(s, 1);
	e->failures = 0;
	e->waited = 0;
	/* neither committed nor upgraded: it is not released if it is torn */
	if (call != RMC_SYNC_COMMIT && call != RMC_SYNC_VALID && sync_stays(s, e))
		rmc_sync_leave(s, e);
	if (s->plan.flags & RMC_SYNC_ASYNC && (call == RMC_SYNC_COMMIT || e->latched) &&
	    call != RMC_SYNC_UPGRADE && call != RMC_SYNC_VALID) {
		e->background = 1;
		s->background++;
		h->status = 0;
		h->version = e->version;
		/* a copy must not be read before it was written */
		h->hint = sync_indexed(s) ? 0 : e->version;
		h->index = -1;
	}
	if (call == RMC_SYNC_COMMIT)
		s->writes++;
	rmc_sync_advance(s, e, next_step(s, e, call));
	if (s->unlatches)
		rmc_sync_issue_unlatches(s);
	return 0;
}

int rmc_sync_start(struct rmc_sync *s, enum rmc_sync_call call, uint64_t addr, struct rmc_hold *h)
{
	if (call == RMC_SYNC_READ || call == RMC_SYNC_WRITE)
		return begin(s, call, addr, h);
	return call <= RMC_SYNC_VALID ? go_on(s, call, h) : -EINVAL;
}

/* --- results --- */

/* Hand the result of an entry that is done to its hold: the status */
static int deliver(struct rmc_sync *s, struct entry *e)
{
	struct rmc_hold *h = (struct rmc_hold *)e->caller;

	h->status = e->status;
	h->tries = e->failures + 1;
	h->version = e->version;
	h->torn = e->torn;
	/* a failed attempt leaves no hint */
	h->hint = e->status ? 0 : e->version;
	if (!e->status && e->at->op == STEP_USE) {
		h->data = e->data;
		e->state = HELD;
		if (e->job == JOB_UPGRADE)
			e->job = JOB_WRITE;
		return 0;
	}
	h->data = NULL;
	h->index = -1;
	sync_free(s, e);
	return h->status;
}

static int progress(struct rmc_sync *s)
{
	int err = sync_progress(s);

	if (!err && s->o.rpc && !(++s->polls % POLLS_PER_SERVE)) {
		err = rmc_rpc_progress(s->o.rpc);
		err = err < 0 ? err : 0;
	}
	return err;
}

int rmc_sync_poll(struct rmc_sync *s, struct rmc_hold **done)
{
	int err = progress(s);
	struct entry *e;

	if (err)
		return err;
	e = sync_done(s);
	if (e) {
		*done = (struct rmc_hold *)e->caller;
		deliver(s, e);
		return 1;
	}
	return rmc_load_relaxed(&s->qp->flags->dead) ? -ESHUTDOWN : 0;
}

/* One step of waiting: 0 or -errno */
static int wait(struct rmc_sync *s, unsigned int *spins)
{
	int err = progress(s);

	return err ? err : rmc_relax(s->qp, spins);
}

/*
 * The same for this entry's end or, without one, for a free buffer. What has just come is not waited
 * for once more: a step may be a yield.
 */
static int wait_for(struct rmc_sync *s, const struct entry *e, unsigned int *spins)
{
	int err = progress(s);

	if (err || (e ? e->state == DONE : s->frees))
		return err;
	return rmc_relax(s->qp, spins);
}

/*
 * Start a call and wait for its end. If the wait fails, the queue pair is dead, and so are the
 * holds.
 */
static int call_and_wait(struct rmc_sync *s, enum rmc_sync_call call, uint64_t addr,
			 struct rmc_hold *h)
{
	unsigned int spins = 0;
	struct entry *e;
	int err;

	/* buffers in the background are free soon, but those of the caller never are */
	while ((err = call == SYNC_TAKE ? begin(s, call, addr, h) :
		      rmc_sync_start(s, call, addr, h)) == -EAGAIN && s->background) {
		err = wait_for(s, NULL, &spins);
		if (err)
			return err;
	}
	if (err || h->index < 0)
		return err;
	e = &s->entry[h->index];
	/* what ended at once is queued: it is the newest */
	if (e->state == DONE)
		s->done_head--;
	e->waited = 1;
	while (e->state != DONE) {
		err = wait_for(s, e, &spins);
		if (err && e->state != DONE) {
			e->waited = 0;
			return err;
		}
	}
	return deliver(s, e);
}

int rmc_sync_read(struct rmc_sync *s, uint64_t addr, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_READ, addr, h);
}

int rmc_sync_write(struct rmc_sync *s, uint64_t addr, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_WRITE, addr, h);
}

/* Wait for all that no call waits for. */
static int settle(struct rmc_sync *s)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && (s->background || s->unlatches || s->releasing))
		err = wait(s, &spins);
	return err;
}

/* Does this client use the object? Then it has not given it up. */
static int uses(const struct rmc_sync *s, uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < sync_buffers(&s->o); i++) {
		const struct entry *e = &s->entry[i];

		if (e->state != FREE && rmc_sync_addr(e->nid, e->offset) == addr)
			return 1;
	}
	return 0;
}

int rmc_sync_take_over(struct rmc_sync *s, uint64_t addr, int nid, struct rmc_hold *h)
{
	int err;

	if (nid < -1 || nid > RMC_NID_MAX)
		return -EINVAL;
	/* a server's readers have names, and end with their node */
	if (!s->plan.writes || (nid < 0 && latch_by_message(s->plan.writes)))
		return -EOPNOTSUPP;
	if (nid == s->self.nid) {
		err = settle(s);
		if (err)
			return err;
		if (uses(s, addr))
			return -EBUSY;
	}
	s->evicted = nid;
	return call_and_wait(s, SYNC_TAKE, addr, h);
}

int rmc_sync_end(struct rmc_sync *s, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_END, 0, h);
}

int rmc_sync_cancel(struct rmc_sync *s, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_CANCEL, 0, h);
}

int rmc_sync_upgrade(struct rmc_sync *s, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_UPGRADE, 0, h);
}

int rmc_sync_valid(struct rmc_sync *s, struct rmc_hold *h)
{
	return call_and_wait(s, RMC_SYNC_VALID, 0, h);
}

/* A pool without a slot that is old enough, or was looked at: wait for that. */
int rmc_sync_commit(struct rmc_sync *s, struct rmc_hold *h)
{
	unsigned int spins = 0;
	int err;

	for (;;) {
		err = call_and_wait(s, RMC_SYNC_COMMIT, 0, h);
		if (err != -ENOSPC)
			return err;
		while (!rmc_copy_ready(s)) {
			if (!rmc_copy_comes(s))
				return -ENOSPC;
			err = wait(s, &spins);
			if (err)
				return err;
		}
	}
}

int rmc_sync_drain(struct rmc_sync *s)
{
	int err = settle(s);

	if (err)
		return err;
	err = s->failure;
	s->failure = 0;
	return err;
}

void rmc_sync_stats_sized(const struct rmc_sync *s, struct rmc_sync_stats *stats, size_t size)
{
	const struct rmc_sync_stats now = {
		.reads = s->stats.reads, .writes = s->writes, .failed = s->stats.failed,
		.messages = s->messages, .round_trips = s->round_trips, .atomics = s->atomics,
		.torn = s->stats.torn, .locked = s->stats.locked, .lost = s->stats.lost,
		.unknown = s->unknown, .unlocks_lost = s->stats.unlocks_lost,
		.background_failed = s->background_failed, .quarantined = s->quarantined,
		.damaged = s->damaged,
	};

	rmc_struct_out(stats, size, &now, sizeof(now));
}
