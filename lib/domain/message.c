/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Operations of a core and what becomes of them. A SEND that ended without an answer is in doubt:
 * a JOIN of its slot says whether the message is there; if not, it is sent again, with its turn.
 */
#include <errno.h>
#include "state.h"

#define POLLS_PER_CHECK	256

/* Statuses after which nobody knows, or that pass */
static int in_doubt(int status)
{
	return status == RMC_S_TIMEOUT || status == RMC_S_BUSY || status == RMC_S_SLOT_BUSY;
}

static struct slot *slot_of_message(const struct core *c, const struct message *m)
{
	return slot_of(c->c.domain, m->peer, m->slot);
}

static void free_message(struct core *c, struct message *m)
{
	m->since = 0;
	m->call = 0;
	m->resend = 0;
	m->next = c->free;
	c->free = m;
}

static void fail(struct core *c, int failure)
{
	if (!c->failure)
		c->failure = failure;
}

void rmc_core_give_up(struct core *c, uint32_t peer, int status)
{
	if (!c->link[peer].status) {
		c->link[peer].status = status;
		rmc_log(WARN, "core %u: gives node %d up: %s", c->c.number,
			nid_of(c->c.domain, peer), rmc_status_name(status));
	}
	fail(c, status);
}

static uint32_t next_entry(const struct core *c)
{
	return c->c.qp->head & c->c.qp->mask;
}

void rmc_message_send(struct core *c, struct message *m)
{
	uint32_t entry = next_entry(c);

	c->op[entry] = (struct op) { .kind = OP_SEND, .peer = m->peer, .m = m };
	rmc_issue(c->c.qp, m->op, (int)entry, nid_of(c->c.domain, m->peer),
		  rmc_slot_offset(m->slot, (uint8_t)slot_of_message(c, m)->turn), m->data, m->len);
}

void rmc_message_ask(struct core *c, uint32_t peer, uint32_t slot, struct message *m)
{
	uint32_t entry = next_entry(c);
	uint64_t *state = c->c.qp->operands[entry].word;

	c->op[entry] = (struct op) { .kind = OP_ASK, .peer = peer, .slot = slot, .m = m };
	state[0] = 0;
	rmc_issue(c->c.qp, RMC_OP_JOIN, (int)entry, nid_of(c->c.domain, peer),
		  rmc_slot_offset(slot, 0), state, sizeof(*state));
}

void rmc_message_probe(struct core *c, uint32_t peer, uint32_t slot)
{
	struct op *op = &c->op[next_entry(c)];

	c->probe = next_entry(c);
	rmc_message_ask(c, peer, slot == NO_SLOT ? 0 : slot, NULL);
	*op = (struct op) { .kind = OP_PROBE, .peer = peer, .slot = slot };
	c->probing = 1;
}

static void done(struct core *c, struct message *m)
{
	struct slot *s = slot_of_message(c, m);

	if (m->call)
		s->m = NULL;	/* the slot is kept for its answer */
	else
		rmc_slot_release(c->c.domain, s);
	free_message(c, m);
}

void rmc_message_abandon(struct core *c, struct message *m)
{
	/* valid: nobody claims it before it is received, or a JOIN says that it was */
	done(c, m);
}

static void doubt(struct core *c, struct message *m)
{
	if (!m->since)
		m->since = rmc_now_ms();
	list_add(&c->doubt, m);
}

static void sent(struct core *c, struct message *m, int status)
{
	const struct peer *p = &c->c.domain->peer[m->peer];

	m->resend = 0;
	if (rmc_likely(status == RMC_S_OK) &&
	    rmc_likely(m->gen == rmc_load_relaxed(&p->gen))) {
		done(c, m);
		return;
	}
	/* it is there, but in which life? */
	if (status == RMC_S_OK || in_doubt(status)) {
		doubt(c, m);
		return;
	}
	rmc_core_give_up(c, m->peer, status);
	list_add(&c->parked, m);
}

/* The receive slot became free when the RMC took the operation; a sender in doubt asks. */
static void received(struct core *c, int status)
{
	if (status != RMC_S_OK && !in_doubt(status) && status != RMC_S_NODE_DOWN &&
	    status != RMC_S_NO_DOMAIN && status != RMC_S_DOMAIN_MISMATCH)
		fail(c, status);
}

/* The status of a JOIN, whose answer has to be of the life that is known; out: its number */
static int check_life(struct rmc_domain *d, uint32_t peer, int status, uint64_t state, uint32_t *gen)
{
	uint32_t life;

	if (status != RMC_S_OK)
		return status;
	pthread_mutex_lock(&d->lock);
	*gen = d->peer[peer].gen;
	life = d->peer[peer].life;
	pthread_mutex_unlock(&d->lock);
	return RMC_JOIN_LIFE(state) == life ? RMC_S_OK : RMC_S_DOMAIN_MISMATCH;
}

static void answered(struct core *c, const struct op *op, int status, uint64_t state)
{
	struct rmc_domain *d = c->c.domain;
	struct message *m = op->m;
	uint32_t gen = 0;
	int there = 0;

	status = check_life(d, op->peer, status, state, &gen);
	if (status == RMC_S_OK) {
		there = rmc_slot_learn(d, op->peer, op->slot, gen, state);
		if (there < 0)
			status = RMC_S_PROTOCOL;
	}
	if (status != RMC_S_OK && !in_doubt(status))
		rmc_core_give_up(c, op->peer, status);
	if (!m) {
		rmc_slot_release(d, slot_of(d, op->peer, op->slot));
		return;
	}
	if (status != RMC_S_OK && !in_doubt(status)) {
		list_add(&c->parked, m);
	} else if (!there) {
		m->resend = status == RMC_S_OK;
		doubt(c, m);
	} else {
		/* for an earlier life of the peer: dropped */
		if (m->gen != gen)
			fail(c, RMC_S_DOMAIN_MISMATCH);
		done(c, m);
	}
}

/* A peer does not say whether it lives: it is given up after the time that messages have. */
static void silent(struct core *c, uint32_t peer, int status)
{
	struct link *l = &c->link[peer];

	if (in_doubt(status)) {
		if (!l->silent_ms)
			l->silent_ms = rmc_now_ms();
		if (rmc_now_ms() - l->silent_ms < c->c.domain->o.timeout_ms)
			return;
		status = RMC_S_TIMEOUT;
	}
	rmc_core_give_up(c, peer, status);
}

static void probed(struct core *c, const struct op *op, int status, uint64_t state)
{
	struct rmc_domain *d = c->c.domain;
	struct slot *s;
	uint32_t gen;

	c->probing = 0;
	status = check_life(d, op->peer, status, state, &gen);
	if (status != RMC_S_OK) {
		silent(c, op->peer, status);
		return;
	}
	c->link[op->peer].silent_ms = 0;
	if (op->slot == NO_SLOT || !(state & RMC_JOIN_FREE))
		return;
	s = slot_of(d, op->peer, op->slot);
	if (RMC_JOIN_TURN(state) == (uint8_t)s->turn && !s->processed)
		s->processed = rmc_now_ms();
}

void rmc_core_complete(struct core *c, uint32_t entry, int status)
{
	struct op op = c->op[entry];

	c->op[entry].kind = OP_NONE;
	switch (op.kind) {
	case OP_SEND:
		sent(c, op.m, status);
		break;
	case OP_RECEIVE:
		received(c, status);
		break;
	case OP_ASK:
		answered(c, &op, status, rmc_slot_value(c->c.qp, (int)entry));
		break;
	case OP_PROBE:
		probed(c, &op, status, rmc_slot_value(c->c.qp, (int)entry));
		break;
	case OP_REPLY:
		free_message(c, op.m);
		received(c, status);
		break;
	case OP_FETCH:
		c->fetching--;
		if (!c->fetched)
			c->fetched = status;
		break;
	case OP_JOIN:
		c->join_state = rmc_slot_value(c->c.qp, (int)entry);
		c->joined = status;
		break;
	case OP_NONE:
		break;
	}
}

/* Each message takes an entry, or is parked: so it ends. */
void rmc_core_advance(struct core *c)
{
	struct rmc_domain *d = c->c.domain;
	struct message *m;

	while (has_entry(c) && (m = list_pop(&c->doubt))) {
		if (!c->link[m->peer].status && rmc_now_ms() - m->since >= d->o.timeout_ms)
			rmc_core_give_up(c, m->peer, RMC_S_TIMEOUT);
		if (c->link[m->peer].status)
			list_add(&c->parked, m);
		else if (m->resend && m->gen == rmc_load_relaxed(&d->peer[m->peer].gen))
			rmc_message_send(c, m);
		else
			rmc_message_ask(c, m->peer, m->slot, m);
	}
}

int rmc_core_poll(struct rmc_core *core)
{
	struct core *c = to_core(core);
	struct rmc_completion done;

	while (rmc_qp_in_flight(core->qp) && rmc_cq_next(core->qp, &done))
		rmc_core_complete(c, (uint32_t)done.slot, done.status);
	if (rmc_unlikely(c->doubt.first))
		rmc_core_advance(c);
	if (rmc_likely(++c->polls % POLLS_PER_CHECK))
		return 0;
	return rmc_relax_slow(core->qp, c->polls);
}

int rmc_core_entry(struct core *c)
{
	unsigned int spins = 0;
	int err = may_skip_poll(c) ? 0 : rmc_core_poll(&c->c);

	while (!err && !has_entry(c)) {
		err = rmc_relax(c->c.qp, &spins);
		if (!err)
			err = rmc_core_poll(&c->c);
	}
	return err;
}

int rmc_core_settle(struct core *c, uint64_t deadline)
{
	unsigned int spins = 0;
	int err = rmc_core_poll(&c->c);

	while (!err && (rmc_qp_in_flight(c->c.qp) || c->doubt.first)) {
		if (rmc_deadline_over(deadline))
			return -ETIMEDOUT;
		err = rmc_relax(c->c.qp, &spins);
		if (!err)
			err = rmc_core_poll(&c->c);
	}
	return err;
}

int rmc_core_flush(struct rmc_core *core)
{
	struct core *c = to_core(core);
	int err = rmc_core_settle(c, 0);

	if (err)
		return err;
	err = c->failure;
	c->failure = 0;
	return err;
}
