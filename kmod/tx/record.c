// SPDX-License-Identifier: GPL-2.0
/* Records of a participant: groups of sources, their slots, lines of INTENDs. */
#include "record.h"

/* The group of a source; one is assigned if @create. NULL: it has none. */
static struct rmc_tx_group *group_of(struct rmc_tx_part *p, u32 source, bool create)
{
	u32 i;

	if (p->group_of[source])
		return &p->group[p->group_of[source] - 1];
	if (!create)
		return NULL;
	for (i = 0; i < p->limits.groups; i++) {
		if (p->group[i].source)
			continue;
		p->group[i].source = 1 + source;
		p->group_of[source] = 1 + i;
		p->groups = max(p->groups, 1 + i);
		return &p->group[i];
	}
	return NULL;
}

/**
 * rmc_tx_record_find() - the record that a transaction has, or would have
 * @p: participant
 * @id: transaction
 * @create: its source gets a group if it has none
 * @t: out
 *
 * Return: RMC_S_OK, RMC_S_TX_FULL (its source has no group), RMC_S_PROTOCOL (no such slot).
 */
u8 rmc_tx_record_find(struct rmc_tx_part *p, const struct rmc_txid *id, bool create,
		      struct rmc_tx_ref *t)
{
	if (id->source >= RMC_TX_SOURCES || id->slot >= RMC_TX_SLOTS)
		return RMC_S_PROTOCOL;
	t->slot = array_index_nospec(id->slot, RMC_TX_SLOTS);
	t->bit = 1ULL << t->slot;
	t->g = group_of(p, array_index_nospec(id->source, RMC_TX_SOURCES), create);
	if (!t->g)
		return RMC_S_TX_FULL;
	t->r = &t->g->record[t->slot];
	return RMC_S_OK;
}

/**
 * rmc_tx_record_clear() - empty the filters of a transaction
 * @t: transaction
 */
void rmc_tx_record_clear(struct rmc_tx_ref *t)
{
	rmc_tx_filter_clear(&t->g->rd, &t->r->rd, t->slot);
	rmc_tx_filter_clear(&t->g->wr, &t->r->wr, t->slot);
}

static void free_lines(struct rmc_tx_ref *t)
{
	struct rmc_tx_line *l;
	u32 i, next;

	for (i = t->r->first; i; i = next) {
		l = rmc_tx_line_at(t->g, i);
		next = l->next;
		memset(l, 0, sizeof(*l));
		t->g->used[(i - 1) / 64] &= ~(1ULL << (i - 1) % 64);
		t->g->lines--;
	}
	t->r->first = 0;
	t->r->last = 0;
	t->r->cursor = 0;
	t->r->missing = 0;
}

/**
 * rmc_tx_record_finish() - a transaction is over: what it holds is free
 * @p: participant
 * @t: its record
 * @gen: what the record remembers
 * @state: enum rmc_tx_record_state
 */
void rmc_tx_record_finish(struct rmc_tx_part *p, struct rmc_tx_ref *t, u32 gen, u8 state)
{
	rmc_tx_unlock(p, t);
	t->g->open &= ~t->bit;
	t->g->squashed &= ~t->bit;
	t->g->hints &= ~t->bit;
	rmc_tx_record_clear(t);
	free_lines(t);
	t->r->gen = gen;
	t->r->state = state;
	t->r->refused = RMC_S_OK;
}

/**
 * rmc_tx_record_open() - the record of a transaction that is not over
 * @p: participant
 * @id: transaction; with a newer gen one begins
 * @t: out
 *
 * An older one is dropped: a slot is used again when all nodes have answered its CLOSE, so it is
 * over, and what this participant has of it came late, from before a CLOSE that found no record.
 *
 * Return: RMC_S_OK, RMC_S_TX_STALE (it is over), RMC_S_TX_FULL, RMC_S_PROTOCOL (no such slot).
 */
u8 rmc_tx_record_open(struct rmc_tx_part *p, const struct rmc_txid *id, struct rmc_tx_ref *t)
{
	u8 status = rmc_tx_record_find(p, id, true, t);

	if (status)
		return status;
	if (t->r->state != RMC_TX_NONE) {
		if (t->r->gen == id->gen)
			return rmc_tx_is_closed(t->r) ? RMC_S_TX_STALE : RMC_S_OK;
		if (!rmc_tx_newer(id->gen, t->r->gen))
			return RMC_S_TX_STALE;
	}
	rmc_tx_record_finish(p, t, id->gen, RMC_TX_OPEN);
	t->g->open |= t->bit;
	return RMC_S_OK;
}
