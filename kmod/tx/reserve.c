// SPDX-License-Identifier: GPL-2.0
/*
 * Participant: locks in advance, for a transaction that was squashed too often (HADES section VI).
 *
 *   LOCK --> reserved, waits ----nobody in its way---> LOCKED --> accesses, INTEND ...
 *
 * One that waits has a Locking Buffer already: nobody who comes later locks or reads its lines, so
 * only those that had locks before are in its way, and others that wait for longer. A coordinator
 * takes the locks of nodes in the order of their numbers, so no two wait for each other.
 */
#include "ranges.h"
#include "record.h"

/* What a LOCK asks for: @range has @writes ranges that are written, then @reads */
struct wanted {
	const struct rmc_tx_range *range;
	u32 writes;
	u32 reads;
};

static u8 check(const struct rmc_tx_part *p, const struct wanted *l)
{
	u32 written, read = 0;
	u8 status;

	if (l->writes > RMC_TX_RANGES || l->reads > RMC_TX_RANGES - l->writes)
		return RMC_S_BAD_LENGTH;
	status = rmc_tx_ranges_check(p, l->range, l->writes, &written);
	if (!status)
		status = rmc_tx_ranges_check(p, l->range + l->writes, l->reads, &read);
	if (!status && written + read > RMC_TX_LINES)
		status = RMC_S_BAD_LENGTH;
	return status;
}

/* To the next line; @write: is it written? Begin with @w all zero. */
static bool walk(const struct wanted *l, struct rmc_tx_walk *w, bool *write)
{
	if (!w->range) {
		*w = (struct rmc_tx_walk){ .range = l->range, .count = l->writes };
		*write = true;
	}
	if (rmc_tx_walk_on(w))
		return true;
	if (!*write)
		return false;
	*w = (struct rmc_tx_walk){ .range = l->range + l->writes, .count = l->reads };
	*write = false;
	return rmc_tx_walk_on(w);
}

/* Is this line in the filters of one that holds locks, or waits for longer? */
static bool is_taken(const struct rmc_tx_part *p, const struct rmc_tx_ref *t, u64 line, bool write)
{
	struct rmc_tx_hash h = rmc_tx_hash_of(line);
	const struct rmc_tx_group *g;
	u64 users, holders;
	u32 i, ahead = rmc_tx_place_of(p, t);

	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		users = rmc_tx_filter_test(&g->wr, h);
		if (write)
			users |= rmc_tx_filter_test(&g->rd, h);
		holders = g->locked;
		if (g == t->g)
			holders &= ~t->bit;
		if (users & holders)
			return true;
	}
	for (i = 0; i < ahead; i++) {
		g = &p->group[p->group_of[p->waiter[i].source] - 1];
		users = rmc_tx_filter_test(&g->wr, h);
		if (write)
			users |= rmc_tx_filter_test(&g->rd, h);
		if (users >> p->waiter[i].slot & 1)
			return true;
	}
	return write && rmc_tx_local_locked(p, t, line);
}

/* Are its lines those that it has reserved or locked? */
static bool is_same(const struct rmc_tx_ref *t, const struct wanted *l)
{
	struct rmc_tx_walk w = { 0 };
	bool write;

	while (walk(l, &w, &write))
		if (!(rmc_tx_filter_test(write ? &t->g->wr : &t->g->rd, rmc_tx_hash_of(w.line)) &
		      t->bit))
			return false;
	return true;
}

/* From now on nobody who comes later gets its lines; who has used them, unlocked, is squashed */
static void reserve(struct rmc_tx_part *p, struct rmc_tx_ref *t, const struct wanted *l)
{
	struct rmc_tx_walk w = { 0 };
	bool write;

	while (walk(l, &w, &write))
		rmc_tx_filter_insert(write ? &t->g->wr : &t->g->rd, write ? &t->r->wr : &t->r->rd,
				     rmc_tx_hash_of(w.line), t->slot);
	t->g->reserved |= t->bit;
	p->waiter[p->waiters].source = t->g->source - 1;
	p->waiter[p->waiters].slot = t->slot;
	p->waiters++;
	rmc_tx_buffer_take(p, t);
	if (p->local) {
		/* as in lock() */
		smp_mb();
	}
	memset(&w, 0, sizeof(w));
	while (walk(l, &w, &write))
		if (write)
			rmc_tx_squash_users(p, t, w.line);
}

/**
 * rmc_tx_part_lock() - a transaction locks lines before it uses any (HADES section VI)
 * @p: participant
 * @id: transaction that has not been here
 * @range: what it will write, then what it will only read; both ascending and disjoint; a private
 *	copy
 * @writes: ranges that it will write
 * @reads: ranges that it will only read; RMC_TX_RANGES of both at most
 *
 * All of them or none. RMC_S_TX_LOCKED says that it waits: it is asked again with the same call.
 *
 * Return: RMC_S_OK, RMC_S_TX_LOCKED, RMC_S_TX_FULL (no Locking Buffer is free, or RMC_TX_WAITERS
 * wait), RMC_S_TX_SQUASHED (its source was silent), RMC_S_TX_STALE (it is over),
 * RMC_S_BAD_LENGTH, RMC_S_OUT_OF_RANGE, RMC_S_PROTOCOL (ranges in disorder, other ones than before,
 * it has been here, no such slot).
 */
u8 rmc_tx_part_lock(struct rmc_tx_part *p, const struct rmc_txid *id,
		    const struct rmc_tx_range *range, u32 writes, u32 reads)
{
	struct wanted l = { .range = range, .writes = writes, .reads = reads };
	struct rmc_tx_walk w = { 0 };
	struct rmc_tx_ref t;
	bool write;
	u8 status;

	status = check(p, &l);
	if (!status)
		status = rmc_tx_record_open(p, id, &t);
	if (status)
		return status;
	if (t.g->squashed & t.bit)
		return RMC_S_TX_SQUASHED;
	if (t.r->state == RMC_TX_LOCKED)
		return is_same(&t, &l) ? RMC_S_OK : RMC_S_PROTOCOL;
	if (!(t.g->reserved & t.bit)) {
		if (t.r->state == RMC_TX_PREPARED || !rmc_tx_record_is_new(t.r))
			return RMC_S_PROTOCOL;
		if (p->waiters == RMC_TX_WAITERS || !rmc_tx_may_buffer(p, &t))
			return RMC_S_TX_FULL;
		reserve(p, &t, &l);
	} else if (!is_same(&t, &l)) {
		return RMC_S_PROTOCOL;
	}
	while (walk(&l, &w, &write))
		if (is_taken(p, &t, w.line, write))
			return RMC_S_TX_LOCKED;
	rmc_tx_leave_queue(p, &t);
	t.g->reserved &= ~t.bit;
	WRITE_ONCE(t.g->locked, t.g->locked | t.bit);
	t.r->state = RMC_TX_LOCKED;
	return RMC_S_OK;
}
