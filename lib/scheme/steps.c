/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Readers: the program of each read, step by step. row.h lists the kinds of steps, table.c
 * the programs; what a step does is here, once for all schemes.
 */
#include "reader.h"

/* A part of an object: the image has it at the same place. */
struct range {
	size_t at, bytes;
};

static struct range range_of(const struct rmc_reader *r, enum part part, size_t len)
{
	struct range range = { 0, 0 };

	if (part == PART_LATCH) {
		range.at = r->latch_at;
		range.bytes = sizeof(uint64_t);
	} else {
		range.bytes = r->scheme->pub.image(len);
	}
	return range;
}

static uint64_t next_random(struct rmc_reader *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

static void finish(struct rmc_reader *r, struct entry *e, int status)
{
	e->state = DONE;
	e->read->status = status;
	e->read->tries = e->failures + 1;
	if (status)
		r->stats.failed++;
	else
		r->stats.reads++;
	r->active--;
	r->done[r->done_head++ & r->done_mask] = e;
}

/* --- steps that leave this node --- */

static void read_part(struct rmc_reader *r, struct entry *e, int slot, unsigned int op)
{
	struct range part = range_of(r, (enum part)e->at->part, e->read->len);

	rmc_issue(r->qp, op, slot, e->read->nid, e->read->offset + part.at, e->image + part.at,
		  part.bytes);
}

static void take_latch(struct rmc_reader *r, struct entry *e, int slot)
{
	e->word = r->scheme->latch->word(r->o.nid, ++r->token, &r->p);
	rmc_cas_async(r->qp, slot, e->read->nid, e->read->offset + r->latch_at, e->expected,
		      e->word);
}

static void ask_owner(struct rmc_reader *r, struct entry *e)
{
	struct request q = { RMC_READER_MAGIC, 0, e->read->offset, e->read->len };
	int ticket;

	/* the response is the clean data, and goes to its place */
	ticket = rmc_rpc_post(r->o.rpc, e->read->nid, &q, sizeof(q), e->data, e->read->len);
	if (ticket == -EAGAIN)
		return;
	if (ticket < 0) {
		r->ready--;
		finish(r, e, ticket == -ENODEV ? RMC_S_NODE_DOWN : ticket);
		return;
	}
	e->state = ASKED;
	e->ticket = ticket;
}

/* Issue the step of a READY entry, which remains READY if that has to wait. */
static void issue(struct rmc_reader *r, struct entry *e)
{
	int slot;

	if (e->at->op == STEP_MESSAGE) {
		ask_owner(r, e);
		return;
	}
	slot = rmc_reader_free_slot(r);
	if (slot < 0)
		return;
	/* each latch that is taken needs room to be released */
	if (e->at->op == STEP_LATCH && r->unlatches >= r->qp->entries)
		return;
	r->ready--;
	e->state = ISSUED;
	r->slot[slot].use = USE_STEP;
	r->slot[slot].entry = e;
	if (e->at->op == STEP_LATCH)
		take_latch(r, e, slot);
	else
		read_part(r, e, slot, e->at->op == STEP_SABRE ? RMC_OP_SABRE : RMC_OP_READ);
}

void rmc_reader_ready(struct rmc_reader *r, struct entry *e)
{
	e->state = READY;
	e->not_before = 0;
	r->ready++;
	issue(r, e);
}

/* --- failures --- */

/* True if a retry of the same operation may succeed. */
static int may_recover(int status)
{
	return status == RMC_S_SABRE_ABORTED || status == RMC_S_SABRE_LOCKED ||
	       status == RMC_S_SABRE_LOST || status == RMC_S_TIMEOUT || status == RMC_S_BUSY;
}

static void again(struct rmc_reader *r, struct entry *e, int status)
{
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
		finish(r, e, status);
		return;
	}
	if (e->failures == r->o.attempts)
		r->stats.fell_back++;
	e->at = e->failures >= r->o.attempts ? rmc_by_message : r->scheme->read;
	/* at once, unless a latch has to be released before */
	if (!e->backoff && !r->releases && e->at->op != STEP_MESSAGE) {
		rmc_reader_ready(r, e);
		return;
	}
	e->state = READY;
	e->not_before = 0;
	r->ready++;
	if (!e->backoff)
		return;
	e->not_before = monotonic_ns() + next_random(r) % e->backoff;
	e->backoff = e->backoff > r->o.backoff_max_ns / 2 ? r->o.backoff_max_ns : 2 * e->backoff;
}

static void step_failed(struct rmc_reader *r, struct entry *e, int status)
{
	if (e->latched)
		rmc_reader_unlatch(r, e);
	if (status >= RMC_SCHEME_TORN || may_recover(status))
		again(r, e, status);
	else
		finish(r, e, status);
}

/* --- steps at this node --- */

static int check(const struct rmc_reader *r, const struct entry *e, unsigned int part)
{
	if (part == PART_LATCH)
		return r->scheme->latch->check(e->word, &r->p);
	return r->scheme->pub.check(e->image, e->data, e->read->len);
}

/* The entry's step is done: execute the next ones up to one that leaves this node. */
static void advance(struct rmc_reader *r, struct entry *e)
{
	const struct step *step = e->at;
	int status;

	for (;;) {
		step++;
		switch (step->op) {
		case STEP_CHECK:
			status = check(r, e, step->part);
			if (status) {
				step_failed(r, e, status);
				return;
			}
			break;
		case STEP_UNLATCH:
			rmc_reader_unlatch(r, e);
			break;
		case STEP_USE:
			finish(r, e, 0);
			return;
		default:
			e->at = step;
			rmc_reader_ready(r, e);
			return;
		}
	}
}

/* --- results --- */

static void latch_completed(struct rmc_reader *r, struct entry *e, int slot, int status)
{
	uint64_t old = rmc_slot_value(r->qp, slot), expected = e->expected;

	if (status) {
		/* the swap may have taken place although the reply was lost */
		if (status == RMC_S_TIMEOUT)
			e->latched = r->releases;
		step_failed(r, e, status);
		return;
	}
	e->expected = 0;
	if (old != expected) {
		enum latch_found found = r->scheme->latch->found(old, &r->p);

		if (found == LATCH_HELD) {
			step_failed(r, e, RMC_SCHEME_LOCKED);
			return;
		}
		if (found == LATCH_STALE) {
			e->expected = old;
			rmc_reader_ready(r, e);
			return;
		}
		e->word = old;		/* share it */
	}
	e->latched = r->releases;
	advance(r, e);
}

static void part_completed(struct rmc_reader *r, struct entry *e, int status)
{
	r->stats.tries++;
	if (status) {
		step_failed(r, e, status);
		return;
	}
	r->stats.bytes += range_of(r, (enum part)e->at->part, e->read->len).bytes;
	e->read->data = e->data;
	advance(r, e);
}

void rmc_reader_completed(struct rmc_reader *r, int slot, int status)
{
	struct slot *s = &r->slot[slot];
	enum use use = s->use;

	s->use = USE_NONE;
	if (use == USE_UNLATCH)
		rmc_reader_unlatched(r, &s->unlatch, status);
	else if (s->entry->at->op == STEP_LATCH)
		latch_completed(r, s->entry, slot, status);
	else
		part_completed(r, s->entry, status);
}

static void message_completed(struct rmc_reader *r, struct entry *e, int result, int failed)
{
	r->stats.tries++;
	r->ready--;
	if (!failed && result == (int)e->read->len) {
		r->stats.bytes += e->read->len;
		e->read->data = e->data;
		advance(r, e);
	} else if (failed) {
		finish(r, e, result);
	} else if (result == -EAGAIN) {
		again(r, e, RMC_SCHEME_LOCKED);		/* a writer died, or is slow */
	} else {
		finish(r, e, result < 0 ? result : -EPROTO);
	}
}

/* Polls entries that wait for a time, a slot or a response: all, since a window is small. */
int rmc_reader_poll_ready(struct rmc_reader *r)
{
	unsigned int i, n = rmc_reader_window(&r->o);
	int result, failed, err;
	uint64_t now = 0;

	for (i = 0; i < n && r->ready; i++) {
		struct entry *e = &r->entry[i];

		if (e->state == ASKED) {
			err = rmc_rpc_poll(r->o.rpc, e->ticket, &result, &failed);
			if (err < 0)
				return err;
			if (err)
				message_completed(r, e, result, failed);
		} else if (e->state == READY) {
			if (e->not_before) {
				if (!now)
					now = monotonic_ns();
				if (now < e->not_before)
					continue;
			}
			issue(r, e);
		}
	}
	return 0;
}
