/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Joins a peer: the RRPP of each of its slots learns this domain's life, by the ring of this core's
 * queue pair. If the peer began anew, its slots are asked for: what was sent to it before may have
 * come after that.
 */
#include <errno.h>
#include <unistd.h>
#include "state.h"

#define RETRY_US	500

/* One JOIN: a status, or -errno. offset: of a slot, or rmc_skip_offset() */
static int join(struct core *c, uint32_t peer, uint64_t offset)
{
	struct rmc_qp *qp = c->c.qp;
	unsigned int spins = 0;
	uint64_t *state;
	uint32_t entry;
	int err = rmc_core_entry(c);

	if (err)
		return err;
	entry = qp->head & qp->mask;
	state = qp->operands[entry].word;
	c->op[entry] = (struct op) { .kind = OP_JOIN, .peer = peer };
	c->joined = -1;
	state[0] = 0;
	rmc_issue(qp, RMC_OP_JOIN, (int)entry, nid_of(c->c.domain, peer), offset, state,
		  sizeof(*state));
	for (;;) {
		err = rmc_core_poll(&c->c);
		if (c->joined >= 0 || err)
			return c->joined >= 0 ? c->joined : err;
		err = rmc_relax(qp, &spins);
		if (err)
			return err;
	}
}

/* Statuses of a peer that is not there yet, or still processes messages of our earlier life */
static int passes(int status)
{
	return status == RMC_S_NO_DOMAIN || status == RMC_S_NODE_DOWN || status == RMC_S_TIMEOUT ||
	       status == RMC_S_SLOT_BUSY || status == RMC_S_BUSY;
}

static int join_until(struct core *c, uint32_t peer, uint64_t offset, uint64_t deadline)
{
	int status;

	for (;;) {
		status = join(c, peer, offset);
		if (status <= 0 || !passes(status) || rmc_deadline_over(deadline))
			return status;
		/* or is it this node's own? */
		if (status == RMC_S_NO_DOMAIN && rmc_domain_ended(c->c.domain))
			return -ESHUTDOWN;
		usleep(RETRY_US);
	}
}

/* All RRPPs of the peer, in one life of its domain */
static int join_homes(struct core *c, uint32_t peer, uint64_t deadline, uint32_t *life)
{
	uint32_t home = 0;
	int status;

	while (home < c->c.domain->homes) {
		status = join_until(c, peer, rmc_slot_offset(home, 0), deadline);
		if (status)
			return status;
		if (home && RMC_JOIN_LIFE(c->join_state) != *life) {
			if (rmc_deadline_over(deadline))
				return RMC_S_DOMAIN_MISMATCH;
			home = 0;
			continue;
		}
		*life = RMC_JOIN_LIFE(c->join_state);
		home++;
	}
	return 0;
}

/* Number of this life of the peer */
static uint32_t count_life(struct rmc_domain *d, uint32_t peer, uint32_t life)
{
	struct peer *p = &d->peer[peer];
	uint32_t gen, i;

	pthread_mutex_lock(&d->lock);
	gen = p->gen;
	if (!gen || p->life != life) {
		gen = gen + 1 ? gen + 1 : 1;
		p->life = life;
		/* nothing was sent to it, so nothing is in its slots; but by an earlier process: take_over() */
		for (i = 0; !p->gen && !d->earlier && i < d->own_slots; i++)
			rmc_store_relaxed(&slot_of(d, peer, d->first_slot + i)->gen, gen);
		/* pairs with the acquire in rmc_send() */
		rmc_store_release(&p->gen, gen);
	}
	pthread_mutex_unlock(&d->lock);
	return gen;
}

/* Messages in doubt are asked for again. */
static void take_up(struct core *c, uint32_t peer)
{
	struct list parked = c->parked;
	struct message *m;

	if (!parked.first)
		return;
	list_init(&c->parked);
	while ((m = list_pop(&parked))) {
		m->since = m->peer == peer ? rmc_now_ms() : 0;
		m->resend = 0;
		list_add(m->peer == peer ? &c->doubt : &c->parked, m);
	}
}

static uint32_t life_of(struct rmc_domain *d, uint32_t peer)
{
	uint32_t life;

	pthread_mutex_lock(&d->lock);
	life = d->peer[peer].life;
	pthread_mutex_unlock(&d->lock);
	return life;
}

/*
 * A slot of a process that was this member before, which the caller has taken. Packets of its last
 * message may be under way: the peer is told that they have no effect. If it is complete, or still
 * being processed, the slot is in use. 0, a status or -errno
 */
static int take_over(struct core *c, uint32_t peer, uint32_t n, uint32_t gen, uint64_t deadline)
{
	struct rmc_send_slot *w = send_slot(c->c.domain, peer, n);
	struct slot *s = slot_of(c->c.domain, peer, n);
	int err = join_until(c, peer, rmc_slot_offset(n, 0), deadline);
	uint32_t life, turn;

	if (err)
		return err;
	life = RMC_JOIN_LIFE(c->join_state);
	turn = RMC_JOIN_TURN(c->join_state) | RMC_JOIN_HIGH(c->join_state) << 8;
	err = join_until(c, peer, rmc_skip_offset(n, (uint8_t)(turn + 1)), deadline);
	if (err)
		return err;
	if (RMC_JOIN_LIFE(c->join_state) != life || life != life_of(c->c.domain, peer))
		return RMC_S_DOMAIN_MISMATCH;
	if (RMC_JOIN_TURN(c->join_state) == (uint8_t)(turn + 1))
		turn++;
	s->turn = turn;
	rmc_store_relaxed(&w->turn, turn);
	if (!(c->join_state & RMC_JOIN_FREE))
		rmc_store_release(&w->valid, RMC_SEND_USED);	/* pairs as in rmc_slot_claim() */
	rmc_store_relaxed(&s->gen, gen);
	return 0;
}

static int ask_unknown(struct core *c, uint32_t peer, uint32_t gen, uint64_t deadline)
{
	struct rmc_domain *d = c->c.domain;
	struct slot *s;
	uint32_t i;
	int err;

	for (i = d->first_slot; i < d->first_slot + d->own_slots; i++) {
		s = slot_of(d, peer, i);
		if (rmc_load_relaxed(&s->gen) == gen)
			continue;
		if (!rmc_load_relaxed(&s->gen)) {
			/* or another core is at it */
			if (rmc_slot_take(s))
				continue;
			err = s->gen ? 0 : take_over(c, peer, i, gen, deadline);
			rmc_slot_release(d, s);
			if (err)
				return err;
			continue;
		}
		err = rmc_core_entry(c);
		if (err)
			return err;
		if (!rmc_slot_take(s))
			rmc_message_ask(c, peer, i, NULL);
	}
	return 0;
}

int rmc_core_join_by(struct core *c, uint32_t peer, uint64_t deadline)
{
	struct link *l = &c->link[peer];
	uint32_t life = 0, gen;
	int err;

	err = join_homes(c, peer, deadline, &life);
	if (err)
		return err;
	gen = count_life(c->c.domain, peer, life);
	*l = (struct link) { .gen = gen, .head = l->head };
	take_up(c, peer);
	err = ask_unknown(c, peer, gen, deadline);
	if (!err)
		err = rmc_core_settle(c, 0);
	return err ? err : l->status;
}

int rmc_core_join(struct rmc_core *core, int nid)
{
	if (!has_peer(core->domain, nid))
		return -EINVAL;
	return rmc_core_join_by(to_core(core), (uint32_t)nid - core->first_nid,
				rmc_deadline((int)core->domain->o.timeout_ms));
}
