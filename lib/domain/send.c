/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sends messages, and says that they were processed. */
#include <errno.h>
#include <string.h>
#include "state.h"

/* Ask for slots that are in use for long: the RECEIVE may be lost, or the peer be gone. */
static void no_room(struct core *c, uint32_t peer)
{
	struct rmc_domain *d = c->c.domain;
	struct link *l = &c->link[peer];
	uint64_t now = rmc_now_ms();
	uint32_t i, n, left = ASK_SLOTS;

	if (!l->full_ms)
		l->full_ms = now;
	if (now - l->full_ms < ASK_MS)
		return;
	l->full_ms = now;
	for (i = 0; i < d->own_slots && left && has_entry(c); i++) {
		n = d->first_slot +
		    __atomic_fetch_add(&d->peer[peer].asked, 1, __ATOMIC_RELAXED) % d->own_slots;
		if (!rmc_slot_unknown(d, peer, n) || rmc_slot_take(slot_of(d, peer, n)))
			continue;
		rmc_message_ask(c, peer, n, NULL);
		left--;
	}
}

/* Messages to peers that were given up do not keep all others from being sent. */
static struct message *get_message(struct core *c)
{
	struct message *m;

	if (!c->free && !rmc_qp_in_flight(c->c.qp) && !c->doubt.first) {
		m = list_pop(&c->parked);
		if (m)
			rmc_message_abandon(c, m);
	}
	return c->free;
}

/* A message with a slot of the peer, and a WQ entry for it; NULL: one of them is missing */
static struct message *claim(struct core *c, uint32_t peer, size_t len)
{
	struct rmc_domain *d = c->c.domain;
	struct link *l = &c->link[peer];
	struct message *m;
	int slot;

	if (rmc_unlikely(!has_entry(c)))
		return NULL;
	m = get_message(c);
	if (rmc_unlikely(!m))
		return NULL;
	slot = rmc_slot_claim(d, peer, l, (uint32_t)len, (uint16_t)c->c.number);
	if (rmc_unlikely(slot < 0)) {
		no_room(c, peer);
		return NULL;
	}
	l->full_ms = 0;
	c->free = m->next;
	m->peer = peer;
	m->slot = (uint32_t)slot;
	m->gen = l->gen;
	return m;
}

/* 0, or why nothing can be sent to the peer */
static int status_of(struct core *c, uint32_t peer)
{
	struct link *l = &c->link[peer];

	/* another core has joined a later life */
	if (rmc_unlikely(!l->status &&
			 l->gen != rmc_load_acquire(&c->c.domain->peer[peer].gen)))
		l->status = RMC_S_DOMAIN_MISMATCH;
	return l->status;
}

static int send_message(struct rmc_core *core, int nid, const void *buf, size_t len,
			unsigned int flags, struct rmc_call *call)
{
	struct core *c = to_core(core);
	struct rmc_domain *d = core->domain;
	uint32_t peer = (uint32_t)nid - core->first_nid;
	int skip = may_skip_poll(c), err;
	struct wait w = { 0 };
	struct message *m;

	if (!has_peer(d, nid) || !buf || !len || flags & ~(RMC_SEND_DONTWAIT | RMC_SEND_OFFER))
		return -EINVAL;
	if (len > d->o.max_message)
		return -EMSGSIZE;
	for (;;) {
		err = skip ? 0 : rmc_core_poll(core);
		if (!err)
			err = status_of(c, peer);
		m = err ? NULL : claim(c, peer, len);
		if (!err && !m && skip) {
			skip = 0;
			continue;
		}
		if (!err && !m)
			err = flags & RMC_SEND_DONTWAIT ? -EAGAIN : rmc_core_wait_room(c, &w);
		if (err || m)
			break;
	}
	rmc_core_waited(c, &w);
	if (err)
		return err;
	memcpy(m->data, buf, len);
	m->len = (uint32_t)len;
	m->op = flags & RMC_SEND_OFFER ? RMC_OP_OFFER : RMC_OP_SEND;
	m->call = !!call;
	if (call) {
		struct slot *s = slot_of(d, peer, m->slot);

		*call = (struct rmc_call) { (uint32_t)nid, m->slot, s->turn };
		s->caller = s->turn;
		rmc_store_relaxed(&s->by, core);
		s->m = m;
		s->since = 0;
		s->processed = 0;
	}
	rmc_message_send(c, m);
	return 0;
}

int rmc_send(struct rmc_core *core, int nid, const void *buf, size_t len, unsigned int flags)
{
	return send_message(core, nid, buf, len, flags, NULL);
}

int rmc_call_send(struct rmc_core *core, int nid, const void *buf, size_t len, unsigned int flags,
		  struct rmc_call *call)
{
	if (!core->domain->o.max_answer)
		return -EOPNOTSUPP;
	return send_message(core, nid, buf, len, flags, call);
}

/* An operation on an arrival, without data */
static int end(struct rmc_core *core, const struct rmc_arrival *a, uint8_t op)
{
	struct core *c = to_core(core);
	uint32_t entry;
	int err;

	if (!has_peer(core->domain, (int)a->nid) || a->slot >= core->slots)
		return -EINVAL;
	err = rmc_core_entry(c);
	if (err)
		return err;
	entry = core->qp->head & core->qp->mask;
	c->op[entry] = (struct op) { .kind = OP_RECEIVE, .peer = a->nid - core->first_nid };
	rmc_issue(core->qp, op, (int)entry, (int)a->nid,
		  rmc_slot_offset(a->slot, (uint8_t)a->turn), NULL, 0);
	return 0;
}

int rmc_receive(struct rmc_core *core, const struct rmc_arrival *a)
{
	return end(core, a, RMC_OP_RECEIVE);
}

int rmc_ready(struct rmc_core *core, const struct rmc_arrival *a)
{
	return end(core, a, RMC_OP_READY);
}

/* A WQ entry and memory for an answer. Both become free without help of other messages. */
static struct message *get_answer(struct core *c, int *err)
{
	unsigned int spins = 0;
	struct message *m;

	for (;;) {
		*err = rmc_core_entry(c);
		if (*err)
			return NULL;
		m = get_message(c);
		if (m) {
			c->free = m->next;
			return m;
		}
		/* rmc_core_entry() may have skipped that */
		*err = rmc_core_poll(&c->c);
		if (!*err)
			*err = rmc_relax(c->c.qp, &spins);
		if (*err)
			return NULL;
	}
}

int rmc_respond(struct rmc_core *core, const struct rmc_arrival *a, const void *buf, size_t len)
{
	struct core *c = to_core(core);
	struct message *m;
	uint32_t entry;
	int err;

	if (!len)
		return rmc_receive(core, a);
	if (!has_peer(core->domain, (int)a->nid) || a->slot >= core->slots || !buf)
		return -EINVAL;
	if (len > core->domain->o.max_answer)
		return core->domain->o.max_answer ? -EMSGSIZE : -EOPNOTSUPP;
	m = get_answer(c, &err);
	if (!m)
		return err;
	memcpy(m->data, buf, len);
	entry = core->qp->head & core->qp->mask;
	c->op[entry] = (struct op) { .kind = OP_REPLY, .peer = a->nid - core->first_nid, .m = m };
	rmc_issue(core->qp, RMC_OP_REPLY, (int)entry, (int)a->nid,
		  rmc_slot_offset(a->slot, (uint8_t)a->turn), m->data, len);
	return 0;
}
