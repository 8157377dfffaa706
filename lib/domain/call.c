/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls: messages that are answered. The slot is the caller's until the answer was read; who calls
 * looks at it, and asks the peer now and then.
 */
#include <errno.h>
#include "state.h"

static int valid_call(const struct rmc_core *core, const struct rmc_call *call)
{
	const struct rmc_domain *d = core->domain;
	uint32_t peer = call->nid - core->first_nid;

	const struct slot *s;

	if (!has_peer(d, (int)call->nid) || call->slot >= core->slots)
		return 0;
	s = slot_of(d, peer, call->slot);
	return rmc_load_relaxed(&s->by) == core && s->caller == call->turn;
}

/* -EAGAIN: it goes on; else why no answer comes */
static int ask(struct core *c, uint32_t peer, uint32_t n)
{
	struct rmc_domain *d = c->c.domain;
	struct slot *s = slot_of(d, peer, n);
	uint64_t now;

	if (c->link[peer].status)
		return c->link[peer].status;
	/* it was for an earlier life of the peer */
	if (s->gen != rmc_load_acquire(&d->peer[peer].gen) || s->turn != s->caller)
		return RMC_S_DOMAIN_MISMATCH;
	/* a SEND that is in doubt asks by itself */
	if (s->m)
		return -EAGAIN;
	now = rmc_now_ms();
	if (!s->since)
		s->since = now;
	/* processed, and the answer was lost */
	if (s->processed && now - s->processed >= d->o.timeout_ms)
		return RMC_S_TIMEOUT;
	if (now - s->since >= ASK_MS && !c->probing && has_entry(c)) {
		s->since = now;
		rmc_message_probe(c, peer, n);
	}
	return -EAGAIN;
}

static int has_answer(const struct rmc_core *core, const struct rmc_call *call, const void **answer,
		      size_t *len)
{
	const struct rmc_domain *d = core->domain;
	uint32_t peer = call->nid - core->first_nid;
	const struct rmc_answer *a = (const struct rmc_answer *)(const void *)
		(d->answers + ((size_t)peer * d->o.slots + call->slot) * d->answer_stride);

	*answer = a + 1;
	/* pairs with the release of the RMC: it has stored the answer before */
	switch (rmc_load_acquire(&send_slot(d, peer, call->slot)->valid)) {
	case RMC_SEND_ANSWERED:
		*len = a->length;
		return 1;
	case RMC_SEND_FREE:
		*len = 0;
		return 1;
	}
	return 0;
}

int rmc_call_poll(struct rmc_core *core, const struct rmc_call *call, const void **answer,
		  size_t *len)
{
	int err;

	if (!valid_call(core, call))
		return -EINVAL;
	if (has_answer(core, call, answer, len))
		return 0;
	err = rmc_core_poll(core);
	if (!err)
		err = ask(to_core(core), call->nid - core->first_nid, call->slot);
	/* what came before the end of its peer counts */
	return err > 0 && has_answer(core, call, answer, len) ? 0 : err;
}

int rmc_call_wait(struct rmc_core *core, const struct rmc_call *call, const void **answer,
		  size_t *len, int timeout_ms)
{
	struct wait w = { .deadline = rmc_deadline(timeout_ms) };
	int err;

	do {
		err = rmc_call_poll(core, call, answer, len);
		if (err != -EAGAIN)
			break;
		err = rmc_deadline_over(w.deadline) ? -ETIMEDOUT :
						      rmc_core_wait_room(to_core(core), &w);
	} while (!err);
	rmc_core_waited(to_core(core), &w);
	return err;
}

void rmc_slot_end_call(struct core *c, struct slot *s)
{
	rmc_store_relaxed(&s->by, NULL);
	if (s->m)
		s->m->call = 0;		/* its completion releases the slot */
	else
		rmc_slot_release(c->c.domain, s);
}

void rmc_call_end(struct rmc_core *core, const struct rmc_call *call)
{
	uint32_t peer = call->nid - core->first_nid;
	struct rmc_send_slot *w;
	struct slot *s;

	if (!valid_call(core, call))
		return;
	w = send_slot(core->domain, peer, call->slot);
	s = slot_of(core->domain, peer, call->slot);
	/* the answer was read; pairs with the acquire in rmc_domain_answer() */
	if (rmc_load_relaxed(&w->valid) == RMC_SEND_ANSWERED)
		rmc_store_release(&w->valid, RMC_SEND_FREE);
	/* it is not for what comes next in the slot */
	if (to_core(core)->probing && to_core(core)->op[to_core(core)->probe].peer == peer &&
	    to_core(core)->op[to_core(core)->probe].slot == call->slot)
		to_core(core)->op[to_core(core)->probe].slot = NO_SLOT;
	rmc_slot_end_call(to_core(core), s);
}
