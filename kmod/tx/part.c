// SPDX-License-Identifier: GPL-2.0
/* Participant: accesses, staging, ends of transactions and of sources (HADES table II). */
#include "ranges.h"
#include "record.h"

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
	bool locked = false, write;
	u64 line, end;
	struct rmc_tx_ref t;
	u8 status;

	if (!length || length > RMC_TX_LINES * RMC_LINE)
		return RMC_S_BAD_LENGTH;
	if (!rmc_tx_part_covers(p, offset, length))
		return RMC_S_OUT_OF_RANGE;
	status = rmc_tx_record_open(p, id, &t);
	if (status)
		return status;
	if (t.r->state == RMC_TX_PREPARED || t.g->reserved & t.bit)
		return RMC_S_PROTOCOL;
	if (t.g->squashed & t.bit)
		return RMC_S_TX_SQUASHED;
	/* who has locked in advance locks what it will write */
	write = kind == RMC_TX_OWN && t.r->state == RMC_TX_LOCKED;
	end = rmc_tx_line_of(offset + length - 1) + 1;
	/* all lines are in the filter before the first one is read */
	for (line = rmc_tx_line_of(offset); line < end; line++) {
		h = rmc_tx_hash_of(line);
		if (kind == RMC_TX_OWN)
			rmc_tx_filter_insert(&t.g->wr, &t.r->wr, h, t.slot);
		else
			rmc_tx_filter_insert(&t.g->rd, &t.r->rd, h, t.slot);
		locked |= rmc_tx_is_locked(p, &t, h, write);
	}
	if (t.r->buffer)
		rmc_tx_buffer_show(p, &t);
	return locked ? RMC_S_TX_LOCKED : RMC_S_OK;
}

/* The line of the transaction with a number: after the last one that was asked for, usually */
static struct rmc_tx_line *seek(struct rmc_tx_ref *t, u64 line)
{
	struct rmc_tx_line *l = rmc_tx_line_at(t->g, t->r->cursor);

	if (!l || l->line > line) {
		t->r->cursor = t->r->first;
		l = rmc_tx_line_at(t->g, t->r->cursor);
	}
	while (l && l->line < line && l->next) {
		t->r->cursor = l->next;
		l = rmc_tx_line_at(t->g, l->next);
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
	struct rmc_tx_ref t;
	u64 mask;
	u32 in, n;

	if (!length || length > RMC_TX_LINES * RMC_LINE)
		return RMC_S_BAD_LENGTH;
	if (!rmc_tx_part_covers(p, offset, length))
		return RMC_S_OUT_OF_RANGE;
	if (id->source >= RMC_TX_SOURCES || id->slot >= RMC_TX_SLOTS)
		return RMC_S_PROTOCOL;
	if (rmc_tx_record_find(p, id, false, &t) || t.r->state == RMC_TX_NONE ||
	    t.r->gen != id->gen)
		return RMC_S_TX_STALE;
	if (t.r->state != RMC_TX_PREPARED) {
		if (t.r->state == RMC_TX_OPEN || t.r->state == RMC_TX_LOCKED)
			return RMC_S_PROTOCOL;
		return t.r->state == RMC_TX_COMMITTED ? RMC_S_OK : RMC_S_TX_STALE;
	}
	for (; rest.length; rest.offset += n, rest.length -= n, data += n) {
		in = rest.offset % RMC_LINE;
		n = min_t(u64, rest.length, RMC_LINE - in);
		l = seek(&t, rmc_tx_line_of(rest.offset));
		mask = rmc_tx_range_bytes(&rest, rmc_tx_line_of(rest.offset));
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
static void apply(const struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	struct rmc_tx_line *l;
	u64 mask, run;
	u32 first, n;

	for (l = rmc_tx_line_at(t->g, t->r->first); l; l = rmc_tx_line_at(t->g, l->next)) {
		for (mask = l->want; mask; mask &= ~(run << first)) {
			first = __ffs64(mask);
			run = mask >> first;
			n = ~run ? __ffs64(~run) : RMC_LINE;
			run = n < RMC_LINE ? ~(U64_MAX << n) : U64_MAX;
			rmc_mem_store_lines(p->mem, l->line * RMC_LINE + first, l->data + first, n);
		}
	}
}

static u8 close_commit(struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	switch (t->r->state) {
	case RMC_TX_COMMITTED:
		return RMC_S_OK;
	case RMC_TX_ABORTED:
		return RMC_S_TX_STALE;
	case RMC_TX_PREPARED:
		if (t->r->missing || rmc_tx_is_being_read(p, t))
			return RMC_S_BUSY;
		apply(p, t);
		rmc_tx_record_finish(p, t, t->r->gen, RMC_TX_COMMITTED);
		return RMC_S_OK;
	default:
		return RMC_S_PROTOCOL;
	}
}

static u8 close_abort(struct rmc_tx_part *p, struct rmc_tx_ref *t)
{
	if (t->r->state == RMC_TX_COMMITTED)
		return RMC_S_PROTOCOL;
	if (t->r->state != RMC_TX_ABORTED)
		rmc_tx_record_finish(p, t, t->r->gen, RMC_TX_ABORTED);
	return RMC_S_OK;
}

/* CLOSE of a transaction that has no record */
static u8 close_unknown(struct rmc_tx_part *p, const struct rmc_txid *id, bool commit)
{
	struct rmc_tx_ref t;

	if (commit)
		return RMC_S_TX_STALE;
	/* so that no access which is late makes a record; without a group none can */
	if (rmc_tx_record_find(p, id, true, &t))
		return RMC_S_OK;
	if (t.r->state != RMC_TX_NONE && !rmc_tx_newer(id->gen, t.r->gen))
		return RMC_S_TX_STALE;
	rmc_tx_record_finish(p, &t, id->gen, RMC_TX_ABORTED);
	return RMC_S_OK;
}

/**
 * rmc_tx_part_close() - a transaction ends (HADES table II, "Validation")
 * @p: participant
 * @id: transaction
 * @flags: RMC_TX_LOCAL, or 0
 * @commit: store what it writes; otherwise forget it
 *
 * Repeated, it is answered alike.
 *
 * Return: RMC_S_OK, RMC_S_BUSY (DATA is missing: send it, then this again; or the lines are being
 * read: this again), RMC_S_TX_STALE (no such transaction, or an older one), RMC_S_PROTOCOL (commit,
 * and it is not prepared; abort, and it has committed; no such slot).
 */
u8 rmc_tx_part_close(struct rmc_tx_part *p, const struct rmc_txid *id, u32 flags,
		     bool commit)
{
	struct rmc_tx_ref t;
	bool again = false;
	u8 status;

	if (id->source >= RMC_TX_SOURCES || id->slot >= RMC_TX_SLOTS)
		return RMC_S_PROTOCOL;
	if (rmc_tx_record_find(p, id, false, &t) || t.r->state == RMC_TX_NONE ||
	    t.r->gen != id->gen) {
		status = close_unknown(p, id, commit);
	} else {
		again = rmc_tx_is_closed(t.r);
		status = commit ? close_commit(p, &t) : close_abort(p, &t);
	}
	/* the slot's next transaction is another one; one that comes twice may find that */
	if (!status && !again && flags & RMC_TX_LOCAL && id->source == p->limits.self)
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
	struct rmc_tx_ref t;
	u64 slots;

	if (source >= RMC_TX_SOURCES || !p->group_of[source])
		return;
	t.g = &p->group[p->group_of[source] - 1];
	for (slots = t.g->open; slots; slots &= slots - 1) {
		t.slot = __ffs64(slots);
		t.bit = 1ULL << t.slot;
		t.r = &t.g->record[t.slot];
		if (t.r->state == RMC_TX_PREPARED)
			continue;
		rmc_tx_unlock(p, &t);
		t.g->squashed |= t.bit;
		t.g->hints &= ~t.bit;
		rmc_tx_record_clear(&t);
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
	struct rmc_tx_ref t;

	/* nobody knows which of them were squashed */
	if (source == p->limits.self && p->local) {
		p->local_squashed = U64_MAX;
		rmc_os_or64(&p->local->squashed, U64_MAX);
	}
	if (source >= RMC_TX_SOURCES || !p->group_of[source])
		return;
	t.g = &p->group[p->group_of[source] - 1];
	for (t.slot = 0; t.slot < RMC_TX_SLOTS; t.slot++) {
		t.bit = 1ULL << t.slot;
		t.r = &t.g->record[t.slot];
		if (t.r->state != RMC_TX_NONE)
			rmc_tx_record_finish(p, &t, 0, RMC_TX_NONE);
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
 * @shared: Locking Buffers that the owner sees, zero, or NULL
 *
 * Return: 0, or -EINVAL: the range is not inside, empty or not aligned; or a number in @limits.
 */
int rmc_tx_part_init(struct rmc_tx_part *p, const struct rmc_tx_limits *limits,
		     const struct rmc_mem *mem, struct rmc_tx_local *local,
		     struct rmc_tx_locks *shared)
{
	if (!limits->length || (limits->start | limits->length) % RMC_LINE ||
	    !rmc_mem_covers(mem, limits->start, limits->length) ||
	    !limits->groups || limits->groups > RMC_TX_SOURCES || limits->self >= RMC_TX_SOURCES ||
	    limits->buffers > 64)
		return -EINVAL;
	p->mem = mem;
	p->local = local;
	p->shared = shared;
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
 * @shared: Locking Buffers that the owner sees, zero, or NULL
 *
 * Context: may sleep. The memory is charged to the caller's cgroup.
 *
 * Return: the participant, or ERR_PTR: -EINVAL as rmc_tx_part_init(), -ENOMEM.
 */
struct rmc_tx_part *rmc_tx_part_new(const struct rmc_tx_limits *limits, const struct rmc_mem *mem,
				    struct rmc_tx_local *local, struct rmc_tx_locks *shared)
{
	struct rmc_tx_part *p;
	int err;

	if (limits->groups > RMC_TX_SOURCES)
		return ERR_PTR(-EINVAL);
	p = rmc_os_zalloc_user(rmc_tx_part_bytes(limits));
	if (!p)
		return ERR_PTR(-ENOMEM);
	err = rmc_tx_part_init(p, limits, mem, local, shared);
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
