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

/* One JOIN: a status, or -errno */
static int join(struct core *c, uint32_t peer, uint32_t slot)
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
	rmc_issue(qp, RMC_OP_JOIN, (int)entry, nid_of(c->c.domain, peer),
		  rmc_slot_offset(slot, 0), state, sizeof(*state));
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

static int join_until(struct core *c, uint32_t peer, uint32_t slot, uint64_t deadline)
{
	int status;

	for (;;) {
		status = join(c, peer, slot);
		if (status <= 0 || !passes(status) || rmc_deadline_over(deadline))
			return status;
		usleep(RETRY_US);
	}
}

/* All RRPPs of the peer, in one life of its domain */
static int join_homes(struct core *c, uint32_t peer, uint64_t deadline, uint32_t *life)
{
	uint32_t home = 0;
	int status;

	while (home < c->c.domain->homes) {
		status = join_until(c, peer, home, deadline);
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
		/* nothing was sent to it, so nothing is in its slots */
		for (i = 0; !p->gen && i < d->o.slots; i++)
			rmc_store_relaxed(&slot_of(d, peer, i)->gen, gen);
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

static int ask_unknown(struct core *c, uint32_t peer, uint32_t gen)
{
	struct rmc_domain *d = c->c.domain;
	struct slot *s;
	uint32_t i;
	int err;

	for (i = 0; i < d->o.slots; i++) {
		s = slot_of(d, peer, i);
		if (rmc_load_relaxed(&s->gen) == gen)
			continue;
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
	*l = (struct link) { .gen = gen };
	take_up(c, peer);
	err = ask_unknown(c, peer, gen);
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
