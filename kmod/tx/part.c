// SPDX-License-Identifier: GPL-2.0
/* Participant: records, locks, marks, staging (HADES table II, "commit at y"; section V-B). */
#include "part.h"

/* A transaction, while a call works on it */
struct tx {
	struct rmc_tx_group *g;
	struct rmc_tx_record *r;
	u64 bit;		/* of its slot */
	u32 slot;
};

static bool is_closed(const struct rmc_tx_record *r)
{
	return r->state == RMC_TX_COMMITTED || r->state == RMC_TX_ABORTED;
}

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

/* The record that a transaction has, or would have; @create: as in group_of() */
static u8 find(struct rmc_tx_part *p, const struct rmc_txid *id, bool create, struct tx *t)
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

static void clear_filters(struct tx *t)
{
	rmc_tx_filter_clear(&t->g->rd, &t->r->rd, t->slot);
	rmc_tx_filter_clear(&t->g->wr, &t->r->wr, t->slot);
}

static struct rmc_tx_line *line_at(struct rmc_tx_group *g, u32 index)
{
	return index ? &g->line[index - 1] : NULL;
}

static void free_lines(struct tx *t)
{
	struct rmc_tx_line *l;
	u32 i, next;

	for (i = t->r->first; i; i = next) {
		l = line_at(t->g, i);
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

/* The transaction is over: what it holds is free */
static void finish(struct rmc_tx_part *p, struct tx *t, u32 gen, u8 state)
{
	if (t->g->locked & t->bit)
		p->locks--;
	t->g->open &= ~t->bit;
	t->g->locked &= ~t->bit;
	t->g->squashed &= ~t->bit;
	t->g->hints &= ~t->bit;
	clear_filters(t);
	free_lines(t);
	t->r->gen = gen;
	t->r->state = state;
	t->r->refused = RMC_S_OK;
}

/*
 * The record of a transaction that is not over; with a newer gen one begins. An older one is
 * dropped: a slot is used again when all nodes have answered its CLOSE, so it is over, and what
 * this participant has of it came late, from before a CLOSE that found no record.
 */
static u8 open_record(struct rmc_tx_part *p, const struct rmc_txid *id, struct tx *t)
{
	u8 status = find(p, id, true, t);

	if (status)
		return status;
	if (t->r->state != RMC_TX_NONE) {
		if (t->r->gen == id->gen)
			return is_closed(t->r) ? RMC_S_TX_STALE : RMC_S_OK;
		if (!rmc_tx_newer(id->gen, t->r->gen))
			return RMC_S_TX_STALE;
	}
	finish(p, t, id->gen, RMC_TX_OPEN);
	t->g->open |= t->bit;
	return RMC_S_OK;
}

/* Are these bytes inside the range? */
static bool covers(const struct rmc_tx_part *p, u64 offset, u64 length)
{
	/* one before the range is far behind it */
	return length <= p->limits.length &&
	       offset - p->limits.start <= p->limits.length - length;
}

static struct rmc_tx_hash hash_of(u64 line)
{
	return rmc_tx_hash(rmc_tx_crc(line));
}

/* Do other transactions commit, and write this line? */
static bool is_locked(const struct rmc_tx_part *p, struct rmc_tx_hash h)
{
	u32 i;

	for (i = 0; i < p->groups; i++)
		if (p->group[i].locked & rmc_tx_filter_test(&p->group[i].wr, h))
			return true;
	return false;
}

/**
 * rmc_tx_part_access() - a transaction accesses lines (HADES table II, remote read and write)
 * @p: participant
 * @id: transaction
 * @kind: what for
 * @offset: first byte
 * @length: bytes, RMC_TX_LINES lines at most
 *
 * After RMC_S_OK the caller reads the lines, before any other call. The lines are in the filters
 * also after RMC_S_TX_LOCKED, which says that another transaction is committing to them, or seems
 * to. The coordinator tries again: its INTEND without that would be answered as if it had read.
 *
 * Return: RMC_S_OK, RMC_S_TX_LOCKED, RMC_S_TX_SQUASHED, RMC_S_TX_FULL, RMC_S_TX_STALE (it is
 * over), RMC_S_BAD_LENGTH, RMC_S_OUT_OF_RANGE, RMC_S_PROTOCOL (it is prepared, or no such slot).
 */
u8 rmc_tx_part_access(struct rmc_tx_part *p, const struct rmc_txid *id, enum rmc_tx_access kind,
		      u64 offset, u64 length)
{
	struct rmc_tx_hash h;
	bool locked = false;
	u64 line, end;
	struct tx t;
	u8 status;

	if (!length || length > RMC_TX_LINES * RMC_LINE)
		return RMC_S_BAD_LENGTH;
	if (!covers(p, offset, length))
		return RMC_S_OUT_OF_RANGE;
	status = open_record(p, id, &t);
	if (status)
		return status;
	if (t.r->state == RMC_TX_PREPARED)
		return RMC_S_PROTOCOL;
	if (t.g->squashed & t.bit)
		return RMC_S_TX_SQUASHED;
	end = rmc_tx_line_of(offset + length - 1) + 1;
	/* all lines are in the filter before the first one is read */
	for (line = rmc_tx_line_of(offset); line < end; line++) {
		h = hash_of(line);
		if (kind == RMC_TX_OWN)
			rmc_tx_filter_insert(&t.g->wr, &t.r->wr, h, t.slot);
		else
			rmc_tx_filter_insert(&t.g->rd, &t.r->rd, h, t.slot);
		locked |= is_locked(p, h);
	}
	return locked ? RMC_S_TX_LOCKED : RMC_S_OK;
}

/* Bytes of @line that a range has, as a mask */
static u64 bytes_of(const struct rmc_tx_range *r, u64 line)
{
	u64 first = line * RMC_LINE, mask = U64_MAX;
	u64 end = r->offset + r->length;

	if (r->offset > first)
		mask &= U64_MAX << (r->offset - first);
	if (end < first + RMC_LINE)
		mask &= ~(U64_MAX << (end - first));
	return mask;
}

/* A place in a list of ranges: its lines in ascending order, each once */
struct walk {
	const struct rmc_tx_range *range;
	u32 count;
	u32 i;		/* range of the next line */
	u64 next;	/* 1 + the last line */
	u64 line;
	u64 want;
};

/* To the next line; false: there is none. Begin with { range, count }. */
static bool walk_on(struct walk *w)
{
	const struct rmc_tx_range *r = w->range;
	u64 first, last;

	w->want = 0;
	for (; w->i < w->count; w->i++) {
		first = max(rmc_tx_line_of(r[w->i].offset), w->next);
		last = rmc_tx_line_of(r[w->i].offset + r[w->i].length - 1);
		if (w->want && first > w->line)
			break;
		if (!w->want)
			w->line = first;
		w->want |= bytes_of(&r[w->i], w->line);
		if (last > w->line)
			break;
	}
	w->next = w->line + 1;
	return w->want != 0;
}

/* Ranges from the wire: inside, not empty, ascending, disjoint. @lines: how many they touch */
static u8 check_ranges(const struct rmc_tx_part *p, const struct rmc_tx_range *range, u32 count,
		       u32 *lines)
{
	u64 end = 0, next = 0, first, last, sum = 0;
	u32 i;

	if (count > RMC_TX_RANGES)
		return RMC_S_BAD_LENGTH;
	for (i = 0; i < count; i++) {
		if (!range[i].length)
			return RMC_S_BAD_LENGTH;
		if (!covers(p, range[i].offset, range[i].length))
			return RMC_S_OUT_OF_RANGE;
		if (range[i].offset < end)
			return RMC_S_PROTOCOL;
		end = range[i].offset + range[i].length;
		first = max(rmc_tx_line_of(range[i].offset), next);
		last = rmc_tx_line_of(end - 1);
		sum += last + 1 - first;
		next = last + 1;
		if (sum > RMC_TX_LINES)
			return RMC_S_BAD_LENGTH;
	}
	*lines = sum;
	return RMC_S_OK;
}

/* Is it the list that was announced? */
static bool same_list(struct tx *t, const struct rmc_tx_range *range, u32 count)
{
	struct walk w = { .range = range, .count = count };
	struct rmc_tx_line *l;
	u32 i = t->r->first;

	for (; walk_on(&w); i = l->next) {
		l = line_at(t->g, i);
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

/* May it lock its lines, in spite of those that hold locks? (HADES section V-B) */
static bool may_lock(const struct rmc_tx_part *p, const struct rmc_tx_range *range, u32 count)
{
	struct walk w = { .range = range, .count = count };
	u64 lockers = local_lockers(p);
	const struct rmc_tx_group *g;
	struct rmc_tx_hash h;
	u32 i;

	while (walk_on(&w)) {
		h = hash_of(w.line);
		for (i = 0; i < p->groups; i++) {
			g = &p->group[i];
			if (g->locked & (rmc_tx_filter_test(&g->rd, h) |
					 rmc_tx_filter_test(&g->wr, h)))
				return false;
		}
		if (lockers && lockers & local_users(p->local, w.line))
			return false;
	}
	return true;
}

static struct rmc_tx_line *new_line(struct tx *t)
{
	struct rmc_tx_group *g = t->g;
	struct rmc_tx_line *last = line_at(g, t->r->last);
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

/* Squash the others that use a line; nobody of them has a lock */
static void squash_users(struct rmc_tx_part *p, const struct tx *t, u64 line)
{
	struct rmc_tx_hash h = hash_of(line);
	struct rmc_tx_group *g;
	u64 users;
	u32 i;

	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		users = rmc_tx_filter_test(&g->rd, h) | rmc_tx_filter_test(&g->wr, h);
		users &= g->open & ~g->squashed & ~(g == t->g ? t->bit : 0);
		g->squashed |= users;
		g->hints |= users;
	}
	if (p->local) {
		users = local_users(p->local, line);
		if (t->g->source == 1 + p->limits.self)
			users &= ~t->bit;
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
static void lock(struct rmc_tx_part *p, struct tx *t, const struct rmc_tx_range *range, u32 count)
{
	struct walk w = { .range = range, .count = count };
	struct rmc_tx_line *l;
	u32 i;

	while (walk_on(&w)) {
		l = new_line(t);
		l->line = w.line;
		l->want = w.want;
		t->r->missing++;
		rmc_tx_filter_insert(&t->g->wr, &t->r->wr, hash_of(w.line), t->slot);
	}
	t->r->cursor = t->r->first;
	t->r->state = RMC_TX_PREPARED;
	WRITE_ONCE(t->g->locked, t->g->locked | t->bit);
	p->locks++;
	if (p->local) {
		/* a lock, then local filters; the owner's part: a bit there, then the locks */
		smp_mb();
	}
	for (i = t->r->first; i; i = line_at(t->g, i)->next)
		squash_users(p, t, line_at(t->g, i)->line);
}

/*
 * Is there a Locking Buffer for it? A source may have as many as are free then: half of all, if it
 * is alone. So one that takes all it can leaves some for others.
 */
static bool may_buffer(const struct rmc_tx_part *p, const struct tx *t)
{
	return hweight64(t->g->locked) < p->limits.buffers - p->locks;
}

/* Refused, and so will each repetition be. What it has in filters can hurt others only. */
static u8 refuse(struct tx *t, u8 status)
{
	t->r->refused = status;
	t->g->squashed |= t->bit;
	t->g->hints &= ~t->bit;
	clear_filters(t);
	return status;
}

/* An INTEND that says that there is a record, and there is none: its lines were forgotten */
static u8 forgotten(struct rmc_tx_part *p, const struct rmc_txid *id)
{
	struct tx t;

	if (find(p, id, true, &t))
		return RMC_S_TX_STALE;
	if (t.r->state != RMC_TX_NONE) {
		if (t.r->gen == id->gen)
			return RMC_S_OK;
		if (!rmc_tx_newer(id->gen, t.r->gen))
			return RMC_S_TX_STALE;
	}
	/* so that no access which is late makes a record */
	finish(p, &t, id->gen, RMC_TX_ABORTED);
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
	struct tx t;
	u32 lines;
	u8 status;

	status = check_ranges(p, range, count, &lines);
	if (!status && flags & RMC_TX_HERE)
		status = forgotten(p, id);
	if (!status)
		status = open_record(p, id, &t);
	if (status)
		return status;
	if (t.r->state == RMC_TX_PREPARED)
		return same_list(&t, range, count) ? RMC_S_OK : RMC_S_PROTOCOL;
	if (t.r->refused)
		return t.r->refused;
	if (t.g->squashed & t.bit)
		return refuse(&t, RMC_S_TX_SQUASHED);
	if (id->source == p->limits.self && p->local_squashed & t.bit)
		return refuse(&t, RMC_S_TX_SQUASHED);
	if (!may_buffer(p, &t) || lines > RMC_TX_LINES - t.g->lines)
		return refuse(&t, RMC_S_TX_FULL);
	if (!may_lock(p, range, count))
		return refuse(&t, RMC_S_TX_LOCKED);
	lock(p, &t, range, count);
	return RMC_S_OK;
}

/* The line of the transaction with a number: after the last one that was asked for, usually */
static struct rmc_tx_line *seek(struct tx *t, u64 line)
{
	struct rmc_tx_line *l = line_at(t->g, t->r->cursor);

	if (!l || l->line > line) {
		t->r->cursor = t->r->first;
		l = line_at(t->g, t->r->cursor);
	}
	while (l && l->line < line && l->next) {
		t->r->cursor = l->next;
		l = line_at(t->g, l->next);
	}
	return l && l->line == line ? l : NULL;
}

/**
 * rmc_tx_part_data() - new content of lines (HADES table II, "Validation plus updates")
 * @p: participant
 * @id: transaction
 * @offset: first byte
 * @data: content; a private copy, or memory that nobody needs any more: it is read once
 * @length: bytes, RMC_TX_LINES lines at most
 *
 * Staged, not stored, until CLOSE. May come in any order, and twice.
 *
 * Return: RMC_S_OK, RMC_S_TX_STALE (it is over), RMC_S_BAD_LENGTH, RMC_S_OUT_OF_RANGE,
 * RMC_S_PROTOCOL (not prepared, or not in the ranges of INTEND: bytes before may be staged).
 */
u8 rmc_tx_part_data(struct rmc_tx_part *p, const struct rmc_txid *id, u64 offset,
		    const u8 *data, u32 length)
{
	struct rmc_tx_range rest = { .offset = offset, .length = length };
	struct rmc_tx_line *l;
	struct tx t;
	u64 mask;
	u32 in, n;

	if (!length || length > RMC_TX_LINES * RMC_LINE)
		return RMC_S_BAD_LENGTH;
	if (!covers(p, offset, length))
		return RMC_S_OUT_OF_RANGE;
	if (id->source >= RMC_TX_SOURCES || id->slot >= RMC_TX_SLOTS)
		return RMC_S_PROTOCOL;
	if (find(p, id, false, &t) || t.r->state == RMC_TX_NONE || t.r->gen != id->gen)
		return RMC_S_TX_STALE;
	if (t.r->state != RMC_TX_PREPARED) {
		if (t.r->state == RMC_TX_OPEN)
			return RMC_S_PROTOCOL;
		return t.r->state == RMC_TX_COMMITTED ? RMC_S_OK : RMC_S_TX_STALE;
	}
	for (; rest.length; rest.offset += n, rest.length -= n, data += n) {
		in = rest.offset % RMC_LINE;
		n = min_t(u64, rest.length, RMC_LINE - in);
		l = seek(&t, rmc_tx_line_of(rest.offset));
		mask = bytes_of(&rest, rmc_tx_line_of(rest.offset));
		if (!l || mask & ~l->want)
			return RMC_S_PROTOCOL;
		memcpy(l->data + in, data, n);
		if (l->have != l->want && (l->have | mask) == l->want)
			t.r->missing--;
		l->have |= mask;
	}
	return RMC_S_OK;
}

/* Store what a transaction writes */
static void apply(const struct rmc_tx_part *p, struct tx *t)
{
	struct rmc_tx_line *l;
	u64 mask, run;
	u32 first, n;

	for (l = line_at(t->g, t->r->first); l; l = line_at(t->g, l->next)) {
		for (mask = l->want; mask; mask &= ~(run << first)) {
			first = __ffs64(mask);
			run = mask >> first;
			n = ~run ? __ffs64(~run) : RMC_LINE;
			run = n < RMC_LINE ? ~(U64_MAX << n) : U64_MAX;
			rmc_mem_store_lines(p->mem, l->line * RMC_LINE + first, l->data + first, n);
		}
	}
}

static u8 close_commit(struct rmc_tx_part *p, struct tx *t)
{
	switch (t->r->state) {
	case RMC_TX_COMMITTED:
		return RMC_S_OK;
	case RMC_TX_ABORTED:
		return RMC_S_TX_STALE;
	case RMC_TX_PREPARED:
		if (t->r->missing)
			return RMC_S_BUSY;
		apply(p, t);
		finish(p, t, t->r->gen, RMC_TX_COMMITTED);
		return RMC_S_OK;
	default:
		return RMC_S_PROTOCOL;
	}
}

static u8 close_abort(struct rmc_tx_part *p, struct tx *t)
{
	if (t->r->state == RMC_TX_COMMITTED)
		return RMC_S_PROTOCOL;
	if (t->r->state != RMC_TX_ABORTED)
		finish(p, t, t->r->gen, RMC_TX_ABORTED);
	return RMC_S_OK;
}

/* CLOSE of a transaction that has no record */
static u8 close_unknown(struct rmc_tx_part *p, const struct rmc_txid *id, bool commit)
{
	struct tx t;

	if (commit)
		return RMC_S_TX_STALE;
	/* so that no access which is late makes a record; without a group none can */
	if (find(p, id, true, &t))
		return RMC_S_OK;
	if (t.r->state != RMC_TX_NONE && !rmc_tx_newer(id->gen, t.r->gen))
		return RMC_S_TX_STALE;
	finish(p, &t, id->gen, RMC_TX_ABORTED);
	return RMC_S_OK;
}

/**
 * rmc_tx_part_close() - a transaction ends (HADES table II, "Validation")
 * @p: participant
 * @id: transaction
 * @commit: store what it writes; otherwise forget it
 *
 * Repeated, it is answered alike.
 *
 * Return: RMC_S_OK, RMC_S_BUSY (DATA is missing: send it, then this again), RMC_S_TX_STALE (no such
 * transaction, or an older one), RMC_S_PROTOCOL (commit, and it is not prepared; abort, and it has
 * committed; no such slot).
 */
u8 rmc_tx_part_close(struct rmc_tx_part *p, const struct rmc_txid *id, bool commit)
{
	struct tx t;
	u8 status;

	if (id->source >= RMC_TX_SOURCES || id->slot >= RMC_TX_SLOTS)
		return RMC_S_PROTOCOL;
	if (find(p, id, false, &t) || t.r->state == RMC_TX_NONE || t.r->gen != id->gen)
		status = close_unknown(p, id, commit);
	else if (commit)
		status = close_commit(p, &t);
	else
		status = close_abort(p, &t);
	/* the slot's next local transaction is another one */
	if (!status && id->source == p->limits.self)
		p->local_squashed &= ~(1ULL << id->slot);
	return status;
}

/**
 * rmc_tx_part_hint() - who is to be told that its transaction was squashed
 * @p: participant
 * @id: out, a transaction that no call has named before
 *
 * The mark is what counts: a hint that gets lost, or is never sent, only costs time.
 *
 * Return: false if there is none.
 */
bool rmc_tx_part_hint(struct rmc_tx_part *p, struct rmc_txid *id)
{
	struct rmc_tx_group *g;
	u32 i;

	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		if (!g->hints)
			continue;
		id->source = g->source - 1;
		id->slot = __ffs64(g->hints);
		id->gen = g->record[id->slot].gen;
		g->hints &= g->hints - 1;
		return true;
	}
	return false;
}

/**
 * rmc_tx_part_silent() - nothing was heard of a source for long
 * @p: participant
 * @source: endpoint
 *
 * Squashes its transactions that are not prepared. The others it may have decided already, so their
 * locks stay until its epoch changes.
 */
void rmc_tx_part_silent(struct rmc_tx_part *p, u32 source)
{
	struct tx t;
	u64 slots;

	if (source >= RMC_TX_SOURCES || !p->group_of[source])
		return;
	t.g = &p->group[p->group_of[source] - 1];
	for (slots = t.g->open & ~t.g->locked; slots; slots &= slots - 1) {
		t.slot = __ffs64(slots);
		t.bit = 1ULL << t.slot;
		t.r = &t.g->record[t.slot];
		t.g->squashed |= t.bit;
		t.g->hints &= ~t.bit;
		clear_filters(&t);
	}
}

/**
 * rmc_tx_part_epoch() - a source began anew, or was fenced: nothing that it sent before counts
 * @p: participant
 * @source: endpoint
 *
 * All its transactions are forgotten, prepared ones too, and its group is free.
 */
void rmc_tx_part_epoch(struct rmc_tx_part *p, u32 source)
{
	struct tx t;

	if (source == p->limits.self)
		p->local_squashed = 0;
	if (source >= RMC_TX_SOURCES || !p->group_of[source])
		return;
	t.g = &p->group[p->group_of[source] - 1];
	for (t.slot = 0; t.slot < RMC_TX_SLOTS; t.slot++) {
		t.bit = 1ULL << t.slot;
		t.r = &t.g->record[t.slot];
		if (t.r->state != RMC_TX_NONE)
			finish(p, &t, 0, RMC_TX_NONE);
	}
	t.g->source = 0;
	p->group_of[source] = 0;
	while (p->groups && !p->group[p->groups - 1].source)
		p->groups--;
}

/**
 * rmc_tx_part_bytes() - size of a participant
 * @limits: what it is for
 *
 * Return: bytes of its memory.
 */
size_t rmc_tx_part_bytes(const struct rmc_tx_limits *limits)
{
	return sizeof(struct rmc_tx_part) + limits->groups * sizeof(struct rmc_tx_group);
}

/**
 * rmc_tx_part_init() - a participant in the caller's memory
 * @p: rmc_tx_part_bytes() bytes, zero
 * @limits: what it is for
 * @mem: segment
 * @local: filters of the owner's loads and stores, or NULL
 *
 * Return: 0, or -EINVAL: the range is not inside, empty or not aligned; or the number of groups.
 */
int rmc_tx_part_init(struct rmc_tx_part *p, const struct rmc_tx_limits *limits,
		     const struct rmc_mem *mem, struct rmc_tx_local *local)
{
	if (!limits->length || (limits->start | limits->length) % RMC_LINE ||
	    !rmc_mem_covers(mem, limits->start, limits->length) ||
	    !limits->groups || limits->groups > RMC_TX_SOURCES || limits->self >= RMC_TX_SOURCES)
		return -EINVAL;
	p->mem = mem;
	p->local = local;
	p->limits = *limits;
	if (!p->limits.buffers)
		p->limits.buffers = RMC_TX_BUFFERS;
	return 0;
}

/**
 * rmc_tx_part_new() - allocate a participant
 * @limits: what it is for
 * @mem: segment, which stays until rmc_tx_part_free()
 * @local: filters of the owner's loads and stores, or NULL
 *
 * Context: may sleep. The memory is charged to the caller's cgroup.
 *
 * Return: the participant, or ERR_PTR: -EINVAL as rmc_tx_part_init(), -ENOMEM.
 */
struct rmc_tx_part *rmc_tx_part_new(const struct rmc_tx_limits *limits, const struct rmc_mem *mem,
				    struct rmc_tx_local *local)
{
	struct rmc_tx_part *p;
	int err;

	if (limits->groups > RMC_TX_SOURCES)
		return ERR_PTR(-EINVAL);
	p = rmc_os_zalloc_user(rmc_tx_part_bytes(limits));
	if (!p)
		return ERR_PTR(-ENOMEM);
	err = rmc_tx_part_init(p, limits, mem, local);
	if (err) {
		rmc_tx_part_free(p);
		return ERR_PTR(err);
	}
	return p;
}

/**
 * rmc_tx_part_free() - free what rmc_tx_part_new() returned
 * @p: participant
 *
 * Context: may sleep.
 */
void rmc_tx_part_free(struct rmc_tx_part *p)
{
	rmc_os_free(p);
}
