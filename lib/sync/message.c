/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latches that a processor at the objects' node keeps (server.c): they are taken and released by
 * calls of an RPC, or by calls of a server of this node.
 *
 *	STEP_LATCH	READY --> ASKED --> held, refused, or not known
 *	STEP_UNLATCH	READY --> ASKED --> next step
 *	releases that no entry waits for: unlatch[] --> told[]
 *
 * A call without a response within the RPC's time limit has an unknown outcome. Nothing is read
 * to decide it: the same token is asked for again, until it is held or refused as too old; or
 * released, after which it is never held. Of a call to a peer that the RPC has given up nothing
 * more is learned. rmc_sync_close() gives up a call for a latch, and releases its token.
 *
 * Messages and operations of the queue pair are in no order, so each step waits for the one
 * before. A write that was lost is repeated before the release is sent, and on an ordered queue
 * pair comes behind the lost one.
 */
#include "state.h"
#include "../rpc_link.h"

#define TELL_TRIES	8
#define CLOSE_NS	1000000000	/* for releases, where the RPC has no time limit */
#define OWN		(-1000)		/* a ticket: this node's server has answered */

static uint64_t next_token(const struct latch_owner *owner, uint64_t token, uint64_t expected,
			   const struct rmc_scheme_params *p)
{
	(void)owner;
	(void)expected;
	(void)p;
	return token;
}

/* Each server has tokens of its own, so what one says of them is of no effect at others. */
static uint64_t *last_token(const struct rmc_sync *s, int nid)
{
	return &s->tokens[nid];
}

/* The object has no word. */
static int held_elsewhere(uint64_t word)
{
	(void)word;
	return 0;
}

const struct latch rmc_latch_nic = {
	.name	= "nic-rpc",
	.flags	= LATCH_RELEASED | LATCH_MESSAGE,
	.word	= next_token,
	.held	= held_elsewhere,
};

const struct latch rmc_latch_nic_readers = {
	.name	= "nic-rpc",
	.flags	= LATCH_RELEASED | LATCH_MESSAGE,
	.word	= next_token,
	.held	= held_elsewhere,
};

/* --- calls --- */

/* A ticket, -EAGAIN: no room, or the status of a call that was not made */
static int post(struct rmc_sync *s, int nid, const struct latch_request *q,
		struct latch_response *a)
{
	int ticket;

	if (s->o.latch_server && nid == s->o.nid) {
		ticket = rmc_latch_serve(s->o.latch_server, nid, q, sizeof(*q), a, sizeof(*a));
		return ticket < 0 ? ticket : OWN;
	}
	return rmc_rpc_post(s->o.rpc, nid, q, sizeof(*q), a, sizeof(*a));
}

static int posted(int ticket)
{
	return ticket >= 0 || ticket == OWN;
}

/* True: it has ended, with *status 0: *a is there; or enum rmc_status, or -errno */
static int answered(struct rmc_sync *s, int ticket, const struct latch_response *a, int *status)
{
	int result = 0, failed = 0, err;

	*status = 0;
	if (ticket == OWN)
		return 1;
	err = rmc_rpc_poll(s->o.rpc, ticket, &result, &failed);
	if (!err)
		return 0;
	if (err < 0) {
		rmc_rpc_cancel(s->o.rpc, ticket);
		*status = err;
	} else if (failed || result < 0) {
		*status = result == -ETIMEDOUT ? RMC_S_TIMEOUT : result;
	} else if (result != sizeof(*a)) {
		*status = -EPROTO;
	}
	return 1;
}

/* There has been no room for a message since *since: for longer than a call may take? */
static int waits_too_long(const struct rmc_sync *s, uint64_t *since)
{
	int limit = rmc_rpc_timeout(s->o.rpc);
	uint64_t now;

	if (limit < 0)
		return 0;
	now = monotonic_ns();
	if (!*since)
		*since = now;
	return now - *since > (uint64_t)limit * 1000000;
}

static struct latch_request request(const struct rmc_sync *s, enum latch_call call, uint64_t offset,
				    uint64_t token)
{
	struct latch_request q = {
		.magic = RMC_LATCH_MAGIC, .call = (uint16_t)call, .client = (uint16_t)s->self.client,
		.offset = offset, .token = token, .nid = call == LATCH_TAKE ? s->evicted : 0,
	};

	return q;
}

/* --- latches --- */

/* The hold stays the same, and so does its token. */
static int upgrades(const struct entry *e)
{
	return e->job == JOB_UPGRADE && e->latched;
}

static enum latch_call call_of(const struct entry *e)
{
	if (e->at->op == STEP_UNLATCH)
		return LATCH_RELEASE;
	if (e->evicts)
		return LATCH_TAKE;
	if (upgrades(e))
		return LATCH_UPGRADE;
	return e->taking == &rmc_latch_nic_readers ? LATCH_SHARE : LATCH_EXCLUDE;
}

/* No response will say what has become of it. */
static void peer_lost(struct rmc_sync *s, struct entry *e, int status)
{
	if (e->latched || e->unsure)
		s->stats.unlocks_lost++;
	e->latched = e->unsure = 0;
	rmc_sync_finish(s, e, status);
}

static void unknown(struct rmc_sync *s, struct entry *e)
{
	s->unknown++;
	e->unsure = !upgrades(e);
}

static void granted(struct rmc_sync *s, struct entry *e)
{
	e->clean = e->answer.result == LATCH_DONE_CLEAN;
	rmc_sync_took_latch(e);		/* an upgrade has the token that it had */
	rmc_sync_advance(s, e, e->at + 1);
}

/* Of an earlier life of this client, or other requests have overtaken it: it never takes effect. */
static void too_late(struct rmc_sync *s, struct entry *e)
{
	uint64_t newest = e->answer.newest, *last = last_token(s, e->nid);

	if (newest > ~0ULL - 2 * LATCH_WINDOW) {
		rmc_sync_latch_failed(s, e, -EOVERFLOW);
		return;
	}
	if (*last < newest + LATCH_WINDOW)
		*last = newest + LATCH_WINDOW;
	rmc_sync_latch_failed(s, e, RMC_S_TIMEOUT);
}

static void refused(struct rmc_sync *s, struct entry *e)
{
	/* the server has ended the token, that of an upgrade apart */
	e->unsure = 0;
	switch (e->answer.result) {
	case LATCH_REFUSED:
		rmc_sync_latch_failed(s, e, RMC_SCHEME_LOCKED);
		break;
	case LATCH_LEFT:
		/* nobody releases it: rmc_sync_take_over() */
		s->stats.locked++;
		rmc_sync_finish(s, e, RMC_SCHEME_LOCKED);
		break;
	case LATCH_LATE:
		too_late(s, e);
		break;
	case LATCH_FULL:
		rmc_sync_latch_failed(s, e, -EDQUOT);
		break;
	case LATCH_ABSENT:
		/* of an upgrade: the server took this node for dead */
		rmc_sync_latch_failed(s, e, e->evicts ? -ENOENT : RMC_SCHEME_TORN);
		break;
	case LATCH_DEAD:
		rmc_sync_latch_failed(s, e, rmc_fail(EHOSTDOWN, "sync: node %d takes this node for dead",
						     e->nid));
		break;
	default:
		rmc_sync_latch_failed(s, e, -EPROTO);
		break;
	}
}

static void latch_ended(struct rmc_sync *s, struct entry *e, int status)
{
	if (status == RMC_S_TIMEOUT) {
		unknown(s, e);
		rmc_sync_latch_failed(s, e, RMC_S_TIMEOUT);
	} else if (status) {
		peer_lost(s, e, status);
	} else if (e->answer.result <= LATCH_DONE_CLEAN) {
		granted(s, e);
	} else {
		refused(s, e);
	}
}

/*
 * A release has an answer: the holder is told if somebody else has ended its hold. Of an old token
 * the server does not know it, and an earlier try may have taken effect.
 */
static void release_answered(struct rmc_sync *s, struct unlatch *u, const struct latch_response *a,
			     int status)
{
	if (status)
		s->stats.unlocks_lost++;
	else if (a->result == LATCH_ABSENT || (a->result == LATCH_LATE && !u->tries))
		rmc_unlatch_taken(s, u);
}

/* A release that its hold waits for. One whose outcome nobody knows has no effect twice. */
static void release_ended(struct rmc_sync *s, struct entry *e, int status)
{
	struct unlatch u;

	if (status == RMC_S_TIMEOUT && ++e->release_tries < TELL_TRIES) {
		s->unknown++;
		rmc_sync_ready(s, e);
		return;
	}
	rmc_unlatch_of(s, e, &u);
	u.entry = e;
	u.tries = e->release_tries;
	release_answered(s, &u, &e->answer, status);
	rmc_sync_released(s, e, u.flags & UNLATCH_TAKEN);
}

static void ended(struct rmc_sync *s, struct entry *e, int status)
{
	s->ready--;
	if (e->at->op == STEP_UNLATCH)
		release_ended(s, e, status);
	else
		latch_ended(s, e, status);
}

void rmc_latch_ask(struct rmc_sync *s, struct entry *e)
{
	enum latch_call call = call_of(e);
	int known = call == LATCH_RELEASE || call == LATCH_UPGRADE, ticket;
	uint64_t *last = last_token(s, e->nid);
	uint64_t token = known ? e->word : e->unsure ? e->want :
			 e->taking->word(&s->self, *last + 1, 0, &s->p);
	struct latch_request q = request(s, call, e->offset, token);

	ticket = post(s, e->nid, &q, &e->answer);
	if (ticket == -EAGAIN) {
		if (waits_too_long(s, &e->waits)) {
			e->waits = 0;
			s->ready--;
			/* it was not sent: an earlier one may be on its way, though */
			if (call == LATCH_RELEASE)
				release_ended(s, e, RMC_S_TIMEOUT);
			else
				rmc_sync_latch_failed(s, e, RMC_S_TIMEOUT);
		}
		return;
	}
	e->waits = 0;
	if (!known) {
		e->want = token;
		*last = token > *last ? token : *last;
	}
	if (!posted(ticket)) {
		ended(s, e, ticket == -ENODEV ? RMC_S_NODE_DOWN : ticket);
		return;
	}
	s->messages++;
	s->round_trips += !e->background;
	e->state = ASKED;
	e->ticket = ticket;
}

void rmc_latch_poll(struct rmc_sync *s, struct entry *e)
{
	int status;

	if (answered(s, e->ticket, &e->answer, &status))
		ended(s, e, status);
}

/* --- releases that no entry waits for --- */

static struct told *free_told(struct rmc_sync *s)
{
	unsigned int i;

	for (i = 0; i < s->qp->entries; i++)
		if (!s->told[i].used)
			return &s->told[i];
	return NULL;
}

/*
 * A server that gives latches, and does not answer releases, must not use up what those of other
 * servers need: then it gets no further request for a latch.
 */
int rmc_latch_may_ask(const struct rmc_sync *s, int nid)
{
	unsigned int i, n = 0;

	for (i = 0; i < s->unlatches; i++)
		n += s->unlatch[i].nid == nid;
	for (i = 0; s->telling && i < s->qp->entries; i++)
		n += s->told[i].used && s->told[i].unlatch.nid == nid;
	/* each latch that is taken needs room to be released */
	return n < sync_buffers(&s->o) && s->unlatches < s->qp->entries;
}

/* It has no outcome: once more, unless it was tried often. */
static void tell_again(struct rmc_sync *s, struct unlatch *u)
{
	s->unknown++;
	if (++u->tries >= TELL_TRIES)
		s->stats.unlocks_lost++;
	else
		s->unlatch[s->unlatches++] = *u;
}

static void tell(struct rmc_sync *s, struct told *t, const struct unlatch *u, int ticket)
{
	t->unlatch = *u;
	t->ticket = ticket;
	t->used = 1;
	s->telling++;
	s->ready++;
	s->releasing++;
	s->messages++;
}

/* One for whose server there is no room keeps no other one waiting. */
void rmc_latch_tell(struct rmc_sync *s)
{
	unsigned int i = s->unlatches;
	struct latch_request q;
	struct unlatch u;
	struct told *t;
	int ticket;

	while (i-- && (t = free_told(s))) {
		u = s->unlatch[i];
		q = request(s, LATCH_RELEASE, u.offset, u.word);
		ticket = post(s, u.nid, &q, &t->answer);
		if (ticket == -EAGAIN && !waits_too_long(s, &s->unlatch[i].waits))
			continue;
		/* the last one has been tried already */
		s->unlatch[i] = s->unlatch[--s->unlatches];
		u.waits = 0;
		if (ticket == -EAGAIN)
			tell_again(s, &u);
		else if (posted(ticket))
			tell(s, t, &u, ticket);
		else
			s->stats.unlocks_lost++;
	}
}

void rmc_latch_poll_told(struct rmc_sync *s)
{
	unsigned int i;
	int status;

	for (i = 0; i < s->qp->entries && s->telling; i++) {
		struct told *t = &s->told[i];

		if (!t->used || !answered(s, t->ticket, &t->answer, &status))
			continue;
		t->used = 0;
		s->telling--;
		s->ready--;
		s->releasing--;
		if (status == RMC_S_TIMEOUT)
			tell_again(s, &t->unlatch);
		else
			release_answered(s, &t->unlatch, &t->answer, status);
	}
}

/* --- close --- */

static void cancel(const struct rmc_sync *s, int ticket)
{
	if (ticket != OWN)
		rmc_rpc_cancel(s->o.rpc, ticket);
}

/* The response has no place any more, and is not waited for: the token is released. */
void rmc_latch_drop(struct rmc_sync *s, struct entry *e)
{
	cancel(s, e->ticket);
	unknown(s, e);
}

int rmc_latch_unanswered(const struct rmc_sync *s, uint64_t since)
{
	return latch_by_message(s->plan.writes) && s->o.rpc && rmc_rpc_timeout(s->o.rpc) < 0 &&
	       !rmc_qp_in_flight(s->qp) && monotonic_ns() - since > CLOSE_NS;
}

/* Nothing is waited for any more. */
void rmc_latch_abandon(struct rmc_sync *s)
{
	unsigned int i;

	if (!s->told)
		return;
	for (i = 0; i < sync_buffers(&s->o); i++)
		if (s->entry[i].state == ASKED)
			cancel(s, s->entry[i].ticket);
	for (i = 0; i < s->qp->entries; i++)
		if (s->told[i].used)
			cancel(s, s->told[i].ticket);
}
