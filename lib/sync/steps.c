/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The program of each hold or read, step by step. lib/scheme/row.h lists the kinds of steps,
 * lib/scheme/table.c the programs; what a step does is here and in result.c, once for all
 * schemes.
 */
#include "state.h"

/* A part of an object: the image has it at the same place. */
struct range {
	size_t at, bytes;
};

static struct range words_range(const struct rmc_sync *s, size_t len)
{
	struct range range = { words_at(s->scheme, len), WORDS_BYTES };

	if (sync_indexed(s) || sync_tuples(s))
		range.bytes = sizeof(uint64_t);
	return range;
}

/* What a write must not touch: words that others may change meanwhile, or wait for. */
static struct range write_range(const struct rmc_sync *s, const struct entry *e,
				const struct step *step)
{
	struct range range = { 0, s->scheme->pub.image(e->len) };

	if (step->flags & STEP_UNLATCHES || e->hot)
		return range;
	range.at = s->scheme->layout->flags & (LAYOUT_WORDS | LAYOUT_TUPLE) ? sizeof(uint64_t) :
		   sizeof(struct rmc_object);
	range.bytes -= range.at;
	return range;
}

static uint64_t next_random(struct rmc_sync *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

/* The entry's program, or the part of it that the caller wanted, has ended. */
void rmc_sync_finish(struct rmc_sync *s, struct entry *e, int status)
{
	e->status = status;
	if (status)
		s->stats.failed++;
	if (e->unsure)
		rmc_sync_unlatch_late(s, e);
	if (!e->background) {
		e->state = DONE;
		if (!e->waited)
			s->done[s->done_head++ & s->done_mask] = e;
		return;
	}
	s->background--;
	if (status) {
		s->background_failed++;
		if (!s->failure)
			s->failure = status;
	}
	sync_free(s, e);
}

/* --- steps that leave this node --- */

static void read_part(struct rmc_sync *s, struct entry *e, const struct step *step, int slot)
{
	unsigned int op = step->op == STEP_SABRE ? RMC_OP_SABRE : RMC_OP_READ;
	struct range part = { 0, s->scheme->pub.image(e->len) };
	uint64_t offset = e->offset;
	void *to = e->image;

	if (step->part == PART_WORDS) {
		part = words_range(s, e->len);
		to = &s->qp->operands[slot];
		if (s->plan.row->row & ROW_TIMED)
			e->since = monotonic_ns();
	} else if (sync_indexed(s)) {
		offset = rmc_copy_offset(e, e->version);
		part.bytes = WORDS_BYTES + e->len;
	}
	e->bytes = (uint32_t)part.bytes;
	rmc_issue(s->qp, op, slot, e->nid, offset + part.at, to, part.bytes);
}

static void write_part(struct rmc_sync *s, struct entry *e, const struct step *step, int slot)
{
	struct range part = { 0, WORDS_BYTES + e->len };
	uint64_t offset = e->copy;

	if (!sync_indexed(s)) {
		part = write_range(s, e, step);
		offset = e->offset;
	}
	/* one that unlatches at a switch is repeated here, not by the RMC: write_to_switch_failed() */
	rmc_issue(s->qp, e->hot ? RMC_OP_WRITE_ONCE : RMC_OP_WRITE, slot, e->nid, offset + part.at,
		  e->image + part.at, part.bytes);
}

/*
 * The word that replaces a dead node's. One that may still arrive is used again, so that it is
 * recognized; but a version or a mark that was replaced does not return, nor what was to follow it.
 */
static uint64_t evicting_word(struct rmc_sync *s, struct entry *e)
{
	uint64_t was = e->expected;

	if (e->unsure && (was == e->evicted || !(e->taking->flags & (LATCH_VERSION | LATCH_INDEX))))
		return e->want;
	e->unsure = 0;
	/* lines that the dead node has written have the version behind its own: not to be met again */
	if (e->taking->flags & LATCH_VERSION)
		was = (was & e->taking->versions) + 1;
	return e->taking->word(&s->self, ++s->token, was, &s->p);
}

/*
 * The first compare-and-swap shows the word: nothing is expected that a word may be. A switch refuses
 * that, but it shows its word to a read.
 */
static void evict(struct rmc_sync *s, struct entry *e, int slot, uint64_t offset)
{
	uint64_t readers = 0;

	if (sync_looks(e) && e->taking->flags & LATCH_TUPLE) {
		rmc_read_async(s->qp, slot, e->nid, offset, &s->qp->operands[slot], sizeof(uint64_t));
		return;
	}
	s->atomics++;
	if (sync_looks(e)) {
		rmc_cas_async(s->qp, slot, e->nid, offset, EVICT_NONE, EVICT_NONE);
		return;
	}
	if (e->taking->flags & LATCH_RW && s->evicted >= 0)
		readers = e->expected & RW_READERS;
	e->want = evicting_word(s, e);
	e->evicted = e->expected;
	rmc_cas_async(s->qp, slot, e->nid, offset, e->expected, e->want | readers);
}

static void take_latch(struct rmc_sync *s, struct entry *e, int slot)
{
	const struct latch *latch = e->taking;
	uint64_t offset = rmc_latch_offset(s, e->offset, e->len);

	if (e->evicts) {
		evict(s, e, slot, offset);
		return;
	}
	if (latch->flags & (LATCH_INDEX | LATCH_TUPLE)) {
		e->unsure &= e->expected == e->version;
		e->expected = e->version;
	}
	/* the same word again, if it may still arrive: then it is recognized */
	if (!e->unsure)
		e->want = latch->word(&s->self, ++s->token, e->expected, &s->p);
	s->atomics++;
	if (latch->flags & LATCH_COUNTS)
		rmc_faa_async(s->qp, slot, e->nid, offset, 1);
	else
		rmc_cas_async(s->qp, slot, e->nid, offset, e->expected, e->want);
}

static void swap_index(struct rmc_sync *s, struct entry *e, int slot)
{
	e->expected = e->latched ? e->word : e->version;
	s->atomics++;
	rmc_cas_async(s->qp, slot, e->nid, e->offset, e->expected, rmc_index_next(e));
}

static void release(struct rmc_sync *s, struct entry *e, int slot)
{
	struct unlatch u;

	rmc_unlatch_of(s, e, &u);
	rmc_unlatch_issue(s, &u, slot);
}

static void ask_owner(struct rmc_sync *s, struct entry *e)
{
	struct request q = { RMC_READER_MAGIC, 0, e->offset, e->len };
	int ticket;

	/* the response is the clean data, and goes to its place */
	ticket = rmc_rpc_post(s->o.rpc, e->nid, &q, sizeof(q), e->data, e->len);
	if (ticket == -EAGAIN)
		return;
	if (ticket < 0) {
		s->ready--;
		rmc_sync_finish(s, e, ticket == -ENODEV ? RMC_S_NODE_DOWN : ticket);
		return;
	}
	s->messages++;
	s->round_trips++;
	e->state = ASKED;
	e->ticket = ticket;
}

/* Does a switch note whose it is until the owner has answered? */
static int moves_data(const struct step *step)
{
	return step->op == STEP_WRITE || (step->op == STEP_READ && step->part != PART_WORDS);
}

static void issue_step(struct rmc_sync *s, struct entry *e, const struct step *step)
{
	int slot = sync_head(s);

	s->slot[slot].use = USE_STEP;
	s->slot[slot].entry = e;
	s->slot[slot].step = step;
	s->tuple_busy |= s->tuples && moves_data(step);
	switch (step->op) {
	case STEP_LATCH:
		take_latch(s, e, slot);
		break;
	case STEP_WRITE:
		write_part(s, e, step, slot);
		break;
	case STEP_UNLATCH:
		release(s, e, slot);
		break;
	case STEP_SWAP:
		swap_index(s, e, slot);
		break;
	default:
		read_part(s, e, step, slot);
		break;
	}
}

static void issue_group(struct rmc_sync *s, struct entry *e, unsigned int n)
{
	unsigned int i;

	e->status = 0;
	e->latch_status = e->release_status = 0;
	e->first = !rmc_qp_in_flight(s->qp);
	/* before the release behind it is described */
	e->stored |= e->at->op == STEP_WRITE && !sync_indexed(s);
	for (i = 0; i < n; i++)
		issue_step(s, e, &e->at[i]);
}

static void issue_resolve(struct rmc_sync *s, struct entry *e)
{
	int slot = sync_head(s);

	s->slot[slot].use = USE_RESOLVE;
	s->slot[slot].entry = e;
	if (sync_gives_free(e)) {
		e->first = !rmc_qp_in_flight(s->qp);
		s->atomics++;
		rmc_cas_async(s->qp, slot, e->nid, e->offset, e->want, tuple_free(e->want));
		return;
	}
	/* a switch executes no other atomic; a read of the word is behind what was sent to it before */
	if (e->hot && e->at->op == STEP_WRITE)
		rmc_read_async(s->qp, slot, e->nid, e->offset, &s->qp->operands[slot], sizeof(uint64_t));
	else
		rmc_sync_ask(s, slot, e->nid, rmc_latch_offset(s, e->offset, e->len));
}

static void note_issued(struct rmc_sync *s, struct entry *e, unsigned int n)
{
	s->ready--;
	e->state = ISSUED;
	e->pending = (uint8_t)n;
	s->messages += n;
	s->round_trips += !e->background;
}

/* The usual case: an image. True if it could be issued. */
int rmc_sync_fetch(struct rmc_sync *s, struct entry *e)
{
	unsigned int op = e->at->op == STEP_SABRE ? RMC_OP_SABRE : RMC_OP_READ;
	int slot = sync_head(s);

	if (rmc_unlikely(s->stop || s->tuple_busy || !sync_free_slots(s, 1)))
		return 0;
	s->tuple_busy = s->tuples;
	e->state = ISSUED;
	e->pending = 1;
	e->status = 0;
	s->messages++;
	s->round_trips++;
	s->slot[slot].use = USE_STEP;
	s->slot[slot].entry = e;
	s->slot[slot].step = e->at;
	e->bytes = (uint32_t)sync_image(s, e->len);
	rmc_issue(s->qp, op, slot, e->nid, e->offset, e->image, e->bytes);
	return 1;
}

/* Are words read, and is nothing else in flight? */
static int is_words(const struct step *step)
{
	return step->op == STEP_READ && step->part == PART_WORDS && step->group == 1 &&
	       !(step->flags & STEP_BEHIND);
}

/* As often: only the words are read, most often those of a validation. True if they could be. */
static int fetch_words(struct rmc_sync *s, struct entry *e, const struct step *step)
{
	int slot = sync_head(s);

	if (rmc_unlikely(!s->fetches_words || s->stop || !sync_free_slots(s, 1)))
		return 0;
	sync_image(s, e->len);
	e->at = step;
	e->state = ISSUED;
	e->pending = 1;
	e->status = 0;
	s->messages++;
	s->round_trips += !e->background;
	s->slot[slot].use = USE_STEP;
	s->slot[slot].entry = e;
	s->slot[slot].step = step;
	rmc_issue(s->qp, RMC_OP_READ, slot, e->nid, e->offset + s->last_words, &s->qp->operands[slot],
		  WORDS_BYTES);
	return 1;
}

/* Has this client to end an operation before a switch takes this group? */
static int waits_for_switch(const struct rmc_sync *s, const struct entry *e, unsigned int n)
{
	return (s->tuple_busy && !e->resolving && moves_data(&e->at[n - 1])) ||
	       (e->alone && rmc_qp_in_flight(s->qp));
}

static int asks_for_latch(const struct entry *e)
{
	return (e->at->op == STEP_LATCH && latch_by_message(e->taking)) ||
	       (e->at->op == STEP_UNLATCH && latch_by_message(e->latch));
}

/* Issue the group of a READY entry, which remains READY if that has to wait. */
static __attribute__((__noinline__)) void issue(struct rmc_sync *s, struct entry *e)
{
	unsigned int n = e->at->group;

	if (s->stop)
		return;
	if (e->resolving) {
		n = 1;
	} else if (e->at->flags & STEP_FETCHES) {
		s->ready -= (unsigned int)rmc_sync_fetch(s, e);
		return;
	}
	if (e->at->op == STEP_MESSAGE) {
		ask_owner(s, e);
		return;
	}
	if (asks_for_latch(e)) {
		if (e->at->op != STEP_LATCH || rmc_latch_may_ask(s, e->nid))
			rmc_latch_ask(s, e);
		return;
	}
	if (!sync_free_slots(s, n) || (rmc_unlikely(s->tuples) && waits_for_switch(s, e, n)))
		return;
	if (rmc_unlikely(s->background) && sync_indexed(s) && !e->background &&
	    rmc_sync_commits(s, e))
		return;
	/* each latch that is taken needs room to be released */
	if (e->at->op == STEP_LATCH && !e->resolving &&
	    (s->unlatches >= s->qp->entries ||
	     (rmc_unlikely(s->repeats || s->recurs) && rmc_unlatch_pending(s, e))))
		return;
	note_issued(s, e, n);
	if (e->resolving)
		issue_resolve(s, e);
	else
		issue_group(s, e, n);
}

void rmc_sync_ready(struct rmc_sync *s, struct entry *e)
{
	if (rmc_likely(e->at->flags & STEP_FETCHES && !e->resolving) &&
	    rmc_sync_fetch(s, e))
		return;
	e->state = READY;
	e->not_before = 0;
	s->ready++;
	issue(s, e);
}

void rmc_sync_resolve(struct rmc_sync *s, struct entry *e)
{
	e->resolving = 1;
	s->unknown++;
	rmc_sync_ready(s, e);
}

void rmc_sync_again(struct rmc_sync *s, struct entry *e, int status)
{
	if (status == RMC_SCHEME_TORN || status == RMC_S_SABRE_ABORTED)
		s->stats.torn++;
	else if (status == RMC_SCHEME_LOCKED || status == RMC_S_SABRE_LOCKED)
		s->stats.locked++;
	else if (status == RMC_SCHEME_LEASE_OVER)
		s->stats.lease_over++;
	else
		s->stats.lost++;
	if (!rmc_sync_innocent(s, status) && ++e->failures >= s->o.attempts &&
	    (!s->fall_back || !s->o.rpc || e->failures >= 2 * s->o.attempts)) {
		e->failures--;		/* tries counts one more */
		rmc_sync_finish(s, e, status);
		return;
	}
	if (e->failures == s->o.attempts)
		s->stats.fell_back++;
	e->at = e->failures >= s->o.attempts ? rmc_by_message : e->evicts ? s->plan.take :
		e->job == JOB_WRITE ? s->plan.write : s->plan.read;
	if (e->evicts)
		e->expected = EVICT_NONE;
	if (e->at->flags & STEP_UNKNOWN)
		e->version = 0;
	/* at once, unless a latch has to be released before */
	if (!e->backoff && !latch_released(e->taking) && e->at->op != STEP_MESSAGE) {
		rmc_sync_ready(s, e);
		return;
	}
	e->state = READY;
	e->not_before = 0;
	s->ready++;
	if (!e->backoff)
		return;
	e->not_before = monotonic_ns() + next_random(s) % e->backoff;
	e->backoff = e->backoff > s->o.backoff_max_ns / 2 ? s->o.backoff_max_ns : 2 * e->backoff;
}

/* --- steps at this node --- */

/* Latch and version of an image that has just been read */
static void note_words(struct rmc_sync *s, struct entry *e)
{
	const uint8_t *words = e->image + words_at(s->scheme, e->len);

	if (s->scheme->layout->flags & LAYOUT_WORDS)
		memcpy(e->words, words, WORDS_BYTES);
	else
		memcpy(&e->words[WORD_VERSION], e->image, sizeof(uint64_t));
	e->version = e->words[WORD_VERSION];
}

/* The data is the caller's. */
static void use(struct rmc_sync *s, struct entry *e)
{
	s->stats.reads += !e->used;
	e->used = 1;
	if (s->relaxed && e->latched)
		rmc_sync_unlatch(s, e);
	rmc_sync_finish(s, e, 0);
}

static void prepare(struct rmc_sync *s, struct entry *e, const struct step *step)
{
	if (is_words(step) && fetch_words(s, e, step))
		return;
	if (step->op == STEP_LATCH)
		e->taking = e->job == JOB_READ ? s->plan.reads : s->plan.writes;
	e->at = step;
	rmc_sync_ready(s, e);
}

/* What a dead node has left is delivered, whatever it is, also lines that differ. */
static int left_torn(const struct rmc_sync *s, struct entry *e, int status)
{
	if (status && status != RMC_SCHEME_TORN)
		return status;
	/* beside readers nobody wrote */
	if (s->evicted < 0 || e->clean)
		return status;
	/* a sum tells, and versions of all lines: but the first one's is not written if it is a latch */
	if (status && s->scheme->layout->flags & LAYOUT_LINES)
		rmc_words_gather(s->scheme->layout, e->image, e->data, e->len);
	e->torn = status || (!sync_indexed(s) && !s->scheme->layout->sum_at &&
			     (!(s->scheme->layout->flags & LAYOUT_LINES) ||
			      sync_odd_version(e->latch)));
	return 0;
}

/* A check has failed. SABRes end soon, and no new one begins: read once more until then. */
static void check_failed(struct rmc_sync *s, struct entry *e, const struct step *check, int status)
{
	if (status != SYNC_READERS) {
		rmc_sync_failed(s, e, status);
		return;
	}
	if (++e->failures >= s->o.attempts) {
		e->failures--;
		rmc_sync_failed(s, e, RMC_SCHEME_LOCKED);
		return;
	}
	s->stats.locked++;
	prepare(s, e, check - 1);
}

/* Execute the steps from this one up to one that leaves this node, or ends. */
void rmc_sync_advance(struct rmc_sync *s, struct entry *e, const struct step *step)
{
	int status;

	for (;; step++) {
		if ((step->flags & STEP_UNKNOWN && e->version) || (step->flags & STEP_COLD && e->hot))
			continue;
		switch (step->op) {
		case STEP_CHECK:
			status = rmc_sync_check(s, e, step->part);
			if (rmc_unlikely(e->evicts))
				status = left_torn(s, e, status);
			if (!status)
				break;
			check_failed(s, e, step, status);
			return;
		case STEP_UNLATCH:
			if (!e->background && !(e->latch->flags & LATCH_LAZY)) {
				prepare(s, e, step);
				return;
			}
			rmc_sync_unlatch(s, e);
			break;
		case STEP_USE:
			e->at = step;
			use(s, e);
			return;
		case STEP_END:
			e->at = step;
			rmc_sync_finish(s, e, 0);
			return;
		default:
			prepare(s, e, step);
			return;
		}
	}
}

static void fetched(struct rmc_sync *s, struct entry *e)
{
	s->stats.tries++;
	s->stats.bytes += e->bytes;
	if (s->notes)
		note_words(s, e);
}

/* A group has succeeded: its words, and on to the steps behind it. */
void rmc_sync_part_done(struct rmc_sync *s, struct entry *e)
{
	const struct step *end = e->at + e->at->group, *step;

	for (step = e->at; step < end; step++)
		if (step->part == PART_IMAGE && step->op != STEP_WRITE)
			fetched(s, e);
	rmc_sync_advance(s, e, end);
}

void rmc_sync_begin(struct rmc_sync *s, struct entry *e, const struct step *program)
{
	if (rmc_likely(program->flags & STEP_FETCHES)) {
		e->at = program;
		rmc_sync_ready(s, e);
		return;
	}
	rmc_sync_advance(s, e, program);
}

/* A reader's read that is all of its program */
static inline void read_completed(struct rmc_sync *s, struct entry *e)
{
	s->stats.reads++;
	e->state = DONE;
	s->done[s->done_head++ & s->done_mask] = e;
}

static __attribute__((__noinline__)) void read_checked(struct rmc_sync *s, struct entry *e)
{
	int status = s->scheme->pub.check(e->image, e->data, e->len);

	if (rmc_likely(!status))
		read_completed(s, e);
	else
		rmc_sync_failed(s, e, status);
}

static void words_fetched(struct rmc_sync *s, struct slot *done, int slot)
{
	struct entry *e = done->entry;

	done->use = USE_NONE;
	sync_note_words(s, e, slot);
	rmc_sync_advance(s, e, done->step + 1);
}

void rmc_sync_completed(struct rmc_sync *s, int slot, int status)
{
	struct slot *done = &s->slot[slot];
	struct entry *e = done->entry;

	if (rmc_unlikely(done->use != USE_STEP || status || s->closing)) {
		rmc_sync_completed_otherwise(s, slot, status);
		return;
	}
	if (!(done->step->flags & STEP_FETCHES)) {
		if (is_words(done->step) && s->fetches_words)
			words_fetched(s, done, slot);
		else
			rmc_sync_completed_otherwise(s, slot, status);
		return;
	}
	done->use = USE_NONE;
	s->tuple_busy = 0;
	if (rmc_likely(done->step->flags & STEP_LAST && s->relaxed && !s->notes)) {
		s->stats.tries++;
		s->stats.bytes += e->bytes;
		if (done->step[1].op == STEP_CHECK)
			read_checked(s, e);
		else
			read_completed(s, e);
		return;
	}
	fetched(s, e);
	rmc_sync_advance(s, e, done->step + 1);
}

/* --- progress --- */

static void message_completed(struct rmc_sync *s, struct entry *e, int result, int failed)
{
	s->stats.tries++;
	s->ready--;
	if (!failed && result == (int)e->len) {
		s->stats.bytes += e->len;
		rmc_sync_advance(s, e, e->at + 1);
	} else if (failed) {
		rmc_sync_finish(s, e, result);
	} else if (result == -EAGAIN) {
		rmc_sync_again(s, e, RMC_SCHEME_LOCKED);	/* a writer died, or is slow */
	} else {
		rmc_sync_finish(s, e, result < 0 ? result : -EPROTO);
	}
}

static int poll_message(struct rmc_sync *s, struct entry *e)
{
	int result, failed, err;

	err = rmc_rpc_poll(s->o.rpc, e->ticket, &result, &failed);
	if (err > 0)
		message_completed(s, e, result, failed);
	return err < 0 ? err : 0;
}

/* Polls entries that wait for a time, a slot or a response: all, since they are few. */
int rmc_sync_poll_ready(struct rmc_sync *s)
{
	unsigned int i, n = sync_buffers(&s->o);
	uint64_t now = 0;
	int err;

	if (s->telling)
		rmc_latch_poll_told(s);
	for (i = 0; i < n && s->ready > s->telling; i++) {
		struct entry *e = &s->entry[i];

		if (e->state == ASKED && e->at->op != STEP_MESSAGE) {
			rmc_latch_poll(s, e);
		} else if (e->state == ASKED) {
			err = poll_message(s, e);
			if (err)
				return err;
		} else if (e->state == READY) {
			if (e->not_before) {
				if (!now)
					now = monotonic_ns();
				if (now < e->not_before)
					continue;
			}
			issue(s, e);
		}
	}
	return 0;
}
