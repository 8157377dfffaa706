// SPDX-License-Identifier: GPL-2.0
/* Participant: INTEND, and who is in its way or hurt by it (HADES table II, section V-B). */
#include "ranges.h"
#include "record.h"

/* Those whose locks are in a transaction's way; who locks in advance does not wait for who waits */
static u64 lockers_of(const struct rmc_tx_group *g, const struct rmc_tx_ref *t)
{
	u64 lockers = g->locked;

	if (t->r->state != RMC_TX_LOCKED)
		lockers |= g->reserved;
	return g == t->g ? lockers & ~t->bit : lockers;
}

/**
 * rmc_tx_is_locked() - check whether a line is locked by others
 * @p: participant
 * @t: transaction
 * @h: hash of the line
 * @write: it must not be locked by readers, either
 *
 * Return: true if it is, or seems to be.
 */
bool rmc_tx_is_locked(const struct rmc_tx_part *p, const struct rmc_tx_ref *t, struct rmc_tx_hash h,
		      bool write)
{
	const struct rmc_tx_group *g;
	u64 users;
	u32 i;

	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		users = rmc_tx_filter_test(&g->wr, h);
		if (write)
			users |= rmc_tx_filter_test(&g->rd, h);
		if (lockers_of(g, t) & users)
			return true;
	}
	return false;
}

/* Is it the list that was announced? */
static bool same_list(struct rmc_tx_ref *t, const struct rmc_tx_range *range, u32 count)
{
	struct rmc_tx_walk w = { .range = range, .count = count };
	struct rmc_tx_line *l;
	u32 i = t->r->first;

	for (; rmc_tx_walk_on(&w); i = l->next) {
		l = rmc_tx_line_at(t->g, i);
		if (!l || l->line != w.line || l->want != w.want)
			return false;
	}
	return !i;
}

/* Slots of local transactions that are committing */
static u64 local_lockers(const struct rmc_tx_part *p)
{
	u32 index = p->group_of[p->limits.self];

	return p->local && index ? p->group[index - 1].locked : 0;
}

/* Local transactions that use a line, by filters that their process may have scribbled in */
static u64 local_users(const struct rmc_tx_local *l, u64 line)
{
	u32 crc = rmc_tx_crc(line);

	return rmc_tx_local_reads(l, rmc_tx_hash(crc)) |
	       rmc_tx_local_writes(l, rmc_tx_split_hash(line, crc));
}

/**
 * rmc_tx_local_locked() - check whether a local transaction that commits uses a line by loads
 * @p: participant
 * @t: transaction that asks
 * @line: number of the line
 *
 * Return: true if there is one other than @t, or seems to be.
 */
bool rmc_tx_local_locked(const struct rmc_tx_part *p, const struct rmc_tx_ref *t, u64 line)
{
	u64 lockers = local_lockers(p);

	if (t->g->source == 1 + p->limits.self)
		lockers &= ~t->bit;
	return lockers && lockers & local_users(p->local, line);
}

/* May it lock its lines, in spite of those that hold locks? (HADES section V-B) */
static bool may_lock(const struct rmc_tx_part *p, const struct rmc_tx_ref *t,
		     const struct rmc_tx_range *range, u32 count)
{
	struct rmc_tx_walk w = { .range = range, .count = count };

	while (rmc_tx_walk_on(&w))
		if (rmc_tx_is_locked(p, t, rmc_tx_hash_of(w.line), true) ||
		    rmc_tx_local_locked(p, t, w.line))
			return false;
	return true;
}

static struct rmc_tx_line *new_line(struct rmc_tx_ref *t)
{
	struct rmc_tx_group *g = t->g;
	struct rmc_tx_line *last = rmc_tx_line_at(g, t->r->last);
	u32 i = 0;

	while (g->used[i] == U64_MAX)
		i++;
	i = i * 64 + __ffs64(~g->used[i]);
	g->used[i / 64] |= 1ULL << i % 64;
	g->lines++;
	if (last)
		last->next = 1 + i;
	else
		t->r->first = 1 + i;
	t->r->last = 1 + i;
	return &g->line[i];
}

/**
 * rmc_tx_squash_users() - squash the others that use a line, and neither have nor reserve locks
 * @p: participant
 * @t: transaction that has a lock, or reserves one
 * @line: number of the line
 */
void rmc_tx_squash_users(struct rmc_tx_part *p, const struct rmc_tx_ref *t, u64 line)
{
	struct rmc_tx_hash h = rmc_tx_hash_of(line);
	struct rmc_tx_group *g;
	u64 users;
	u32 i;

	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		users = rmc_tx_filter_test(&g->rd, h) | rmc_tx_filter_test(&g->wr, h);
		users &= g->open & ~g->squashed & ~(g == t->g ? t->bit : 0);
		users &= ~(g->locked | g->reserved);
		g->squashed |= users;
		g->hints |= users;
	}
	if (p->local) {
		users = local_users(p->local, line);
		if (t->g->source == 1 + p->limits.self)
			users &= ~t->bit;
		/* those that are committing were asked before: whoever is here now scribbles */
		users &= ~local_lockers(p);
		p->local_squashed |= users;
		if (users) {
			/* again, as the process may have cleared it for the slot's next one */
			rmc_os_or64(&p->local->squashed, users);
			/* before data; pairs with the acquire after loads of the process */
			smp_mb();
		}
	}
}

/*
 * Lock, then look who is hurt. From now on nobody else may access the lines: also those that were
 * not accessed before, because they are written as a whole, are in the filter.
 */
static void lock(struct rmc_tx_part *p, struct rmc_tx_ref *t, const struct rmc_tx_range *range,
		 u32 count)
{
	struct rmc_tx_walk w = { .range = range, .count = count };
	struct rmc_tx_line *l;
	u32 i;

	while (rmc_tx_walk_on(&w)) {
		l = new_line(t);
		l->line = w.line;
		l->want = w.want;
		t->r->missing++;
		rmc_tx_filter_insert(&t->g->wr, &t->r->wr, rmc_tx_hash_of(w.line), t->slot);
	}
	t->r->cursor = t->r->first;
	t->r->state = RMC_TX_PREPARED;
	WRITE_ONCE(t->g->locked, t->g->locked | t->bit);
	if (t->r->buffer)
		rmc_tx_buffer_show(p, t);
	else
		rmc_tx_buffer_take(p, t);
	if (p->local) {
		/* a lock, then local filters; the owner's part: a bit there, then the locks */
		smp_mb();
	}
	for (i = t->r->first; i; i = rmc_tx_line_at(t->g, i)->next)
		rmc_tx_squash_users(p, t, rmc_tx_line_at(t->g, i)->line);
}

/**
 * rmc_tx_may_buffer() - check whether a transaction may have a Locking Buffer
 * @p: participant
 * @t: transaction without one
 *
 * A source may have as many as are free then: half of all, if it is alone. So one that takes all
 * it can leaves some for others.
 *
 * Return: true if it may.
 */
bool rmc_tx_may_buffer(const struct rmc_tx_part *p, const struct rmc_tx_ref *t)
{
	return hweight64(t->g->locked | t->g->reserved) < p->limits.buffers - p->locks;
}

/* Refused, and so will each repetition be. What it has in filters can hurt others only. */
static u8 refuse(struct rmc_tx_part *p, struct rmc_tx_ref *t, u8 status)
{
	rmc_tx_unlock(p, t);
	t->r->refused = status;
	t->g->squashed |= t->bit;
	t->g->hints &= ~t->bit;
	rmc_tx_record_clear(t);
	return status;
}

/* An INTEND that says that there is a record, and there is none: its lines were forgotten */
static u8 forgotten(struct rmc_tx_part *p, const struct rmc_txid *id)
{
	struct rmc_tx_ref t;

	if (rmc_tx_record_find(p, id, true, &t))
		return RMC_S_TX_STALE;
	if (t.r->state != RMC_TX_NONE) {
		if (t.r->gen == id->gen)
			return RMC_S_OK;
		if (!rmc_tx_newer(id->gen, t.r->gen))
			return RMC_S_TX_STALE;
	}
	/* so that no access which is late makes a record */
	rmc_tx_record_finish(p, &t, id->gen, RMC_TX_ABORTED);
	return RMC_S_TX_STALE;
}

/**
 * rmc_tx_part_intend() - a transaction intends to commit (HADES table II, "Intend-to-commit")
 * @p: participant
 * @id: transaction
 * @flags: RMC_TX_HERE, or 0
 * @range: what it writes here, ascending and disjoint; a private copy
 * @count: ranges, RMC_TX_RANGES at most; 0: it only reads here
 *
 * Locks the lines that it reads and writes, and squashes the other transactions that use those
 * which it writes; or refuses, which is final. Repeated, it is answered alike. Its cost grows with
 * the lines that @range touches, RMC_TX_LINES at most.
 *
 * Return: RMC_S_OK (ack), RMC_S_TX_SQUASHED, RMC_S_TX_LOCKED (another one commits on these lines),
 * RMC_S_TX_FULL, RMC_S_TX_STALE (it is over, or its record is lost), RMC_S_BAD_LENGTH,
 * RMC_S_OUT_OF_RANGE, RMC_S_PROTOCOL (ranges in disorder, other ones than before, no such slot).
 */
u8 rmc_tx_part_intend(struct rmc_tx_part *p, const struct rmc_txid *id, u32 flags,
		      const struct rmc_tx_range *range, u32 count)
{
	struct rmc_tx_ref t;
	u32 lines;
	u8 status;

	status = rmc_tx_ranges_check(p, range, count, &lines);
	if (!status && flags & RMC_TX_HERE)
		status = forgotten(p, id);
	if (!status)
		status = rmc_tx_record_open(p, id, &t);
	if (status)
		return status;
	if (t.r->state == RMC_TX_PREPARED)
		return same_list(&t, range, count) ? RMC_S_OK : RMC_S_PROTOCOL;
	if (t.g->reserved & t.bit)
		return RMC_S_PROTOCOL;
	if (t.r->refused)
		return t.r->refused;
	if (t.g->squashed & t.bit)
		return refuse(p, &t, RMC_S_TX_SQUASHED);
	if (id->source == p->limits.self && p->local_squashed & t.bit)
		return refuse(p, &t, RMC_S_TX_SQUASHED);
	if ((!t.r->buffer && !rmc_tx_may_buffer(p, &t)) || lines > RMC_TX_LINES - t.g->lines)
		return refuse(p, &t, RMC_S_TX_FULL);
	if (!may_lock(p, &t, range, count))
		return refuse(p, &t, RMC_S_TX_LOCKED);
	lock(p, &t, range, count);
	return RMC_S_OK;
}
