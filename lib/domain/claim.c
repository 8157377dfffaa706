/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Send slots: which is free, and what a JOIN says of one. */
#include <errno.h>
#include "state.h"

int rmc_slot_take(struct slot *s)
{
	uint8_t none = 0;

	/* acquire: pairs with rmc_slot_release() */
	return rmc_load_relaxed(&s->busy) ||
	       !__atomic_compare_exchange_n(&s->busy, &none, 1, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED) ? -1 : 0;
}

void rmc_slot_release(struct rmc_domain *d, struct slot *s)
{
	/* pairs with the acquire in rmc_slot_take() */
	rmc_store_release(&s->busy, 0);
	/*
	 * Without a fence, which all messages would pay for: who begins to sleep at this moment may
	 * not be seen, and looks again after a while.
	 */
	if (rmc_unlikely(rmc_load_relaxed(&d->room_waits)))
		rmc_room_notify(d);
}

/* Also if it was answered, and nobody reads the answer */
static int is_free(const struct rmc_send_slot *w)
{
	/* pairs with the release of the RMC: whatever the message described may be changed */
	return rmc_load_acquire(&w->valid) != RMC_SEND_USED;
}

int rmc_slot_claim(struct rmc_domain *d, uint32_t peer, struct link *l, uint32_t len,
		   uint16_t owner)
{
	uint32_t first = d->first_slot, slots = d->own_slots, n = l->head, next, i;
	struct rmc_send_slot *w;
	struct slot *s;

	for (i = 0; i < slots; i++, n = next) {
		next = n + 1 < slots ? n + 1 : 0;
		s = slot_of(d, peer, first + n);
		w = send_slot(d, peer, first + n);
		if (rmc_load_relaxed(&w->valid) == RMC_SEND_USED || rmc_slot_take(s))
			continue;
		/* another core may have had it since */
		if (!is_free(w) || s->gen != l->gen) {
			rmc_slot_release(d, s);
			continue;
		}
		s->turn++;
		w->owner = owner;
		w->size = len;
		rmc_store_relaxed(&w->turn, s->turn);
		/* pairs with the acquires in rmc_domain_free() and _answer(): a slot in use has its turn */
		rmc_store_release(&w->valid, RMC_SEND_USED);
		l->head = next;
		/* the RMC has changed the word of the next one since */
		__builtin_prefetch(send_slot(d, peer, first + next), 1);
		return (int)(first + n);
	}
	return -1;
}

int rmc_slot_unknown(struct rmc_domain *d, uint32_t peer, uint32_t slot)
{
	const struct slot *s = slot_of(d, peer, slot);

	return !rmc_load_relaxed(&s->busy) &&
	       (rmc_load_relaxed(&send_slot(d, peer, slot)->valid) == RMC_SEND_USED ||
		rmc_load_relaxed(&s->gen) != rmc_load_relaxed(&d->peer[peer].gen));
}

int rmc_slot_learn(struct rmc_domain *d, uint32_t peer, uint32_t slot, uint32_t gen,
		   uint64_t state)
{
	struct rmc_send_slot *w = send_slot(d, peer, slot);
	struct slot *s = slot_of(d, peer, slot);

	/* as a new slot, unless what was sent in the last life came in this one */
	if (s->gen != gen) {
		s->turn = RMC_JOIN_TURN(state);
		rmc_store_relaxed(&s->gen, gen);
	}
	if (RMC_JOIN_TURN(state) == (uint8_t)(s->turn - 1))
		return 0;
	if (RMC_JOIN_TURN(state) != (uint8_t)s->turn)
		return -1;
	if (!(state & RMC_JOIN_FREE))
		return 1;
	if (!rmc_load_relaxed(&s->by))
		rmc_store_relaxed(&w->valid, RMC_SEND_FREE);
	else if (!s->processed)
		s->processed = rmc_now_ms();	/* the answer may be on its way */
	return 1;
}

int rmc_domain_room(const struct rmc_domain *d, int nid)
{
	uint32_t peer = (uint32_t)nid - d->o.first_nid, gen, i;
	int room = 0;

	if (!has_peer(d, nid))
		return -EINVAL;
	gen = rmc_load_acquire(&d->peer[peer].gen);
	for (i = d->first_slot; gen && i < d->first_slot + d->own_slots; i++) {
		const struct slot *s = slot_of(d, peer, i);

		room += !rmc_load_relaxed(&s->busy) &&
			rmc_load_relaxed(&s->gen) == gen &&
			rmc_load_relaxed(&send_slot(d, peer, i)->valid) != RMC_SEND_USED;
	}
	return room;
}
