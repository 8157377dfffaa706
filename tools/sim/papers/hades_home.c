// SPDX-License-Identifier: GPL-2.0
/*
 * A node's participant and coordinator for the model (hades.h): kmod/tx as it is in the module,
 * with its filters. Beside them are exact sets of lines, which say what a filter's hit was worth,
 * and the directory's tags of lines that own transactions have written (HADES section V-C).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kmod/tx/part.h"
#include "kmod/tx/coord.h"
#include "hades.h"

#define CHUNK_SHIFT	30		/* of a segment, which is in one piece */
#define TAG_ORDER	12

struct lines {
	uint64_t *line;
	uint32_t n, room;
};

/* What a transaction uses, exactly; of own ones also which bits of the local filters are theirs */
struct exact {
	uint32_t gen;
	struct lines rd, wr;
};

struct tag {
	uint64_t line;		/* 1 + line */
	uint32_t slot;
};

struct hd_home {
	struct rmc_mem mem;
	void **chunk;
	struct rmc_tx_part *part;
	struct rmc_tx_coord *coord;
	struct rmc_tx_local *local;
	unsigned int self, sources;
	struct exact *remote;		/* by source and slot */
	struct exact own[RMC_TX_SLOTS];
	struct tag tag[1 << TAG_ORDER];
	unsigned int tags;
};

static void out_of_memory(void)
{
	fputs("out of memory\n", stderr);
	exit(3);
}

static void add_line(struct lines *l, uint64_t line)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 32;
		l->line = realloc(l->line, l->room * sizeof(*l->line));
		if (!l->line)
			out_of_memory();
	}
	l->line[l->n++] = line;
}

static bool has_line(const struct lines *l, uint64_t line)
{
	uint32_t i;

	for (i = 0; i < l->n; i++)
		if (l->line[i] == line)
			return true;
	return false;
}

static void forget(struct exact *e)
{
	e->rd.n = 0;
	e->wr.n = 0;
}

static struct exact *exact_of(struct hd_home *h, uint32_t source, uint32_t slot, uint32_t gen)
{
	struct exact *e = &h->remote[source * RMC_TX_SLOTS + slot];

	if (e->gen != gen) {
		forget(e);
		e->gen = gen;
	}
	return e;
}

/**
 * hd_home_init() - participant and coordinator of a node
 * @n: node, with its memory
 * @nodes: nodes
 * @self: its number
 * @local: its own transactions are in local filters (HADES), or in its software (HADES-H)
 *
 * Return: 0, or -1: no memory.
 */
int hd_home_init(struct hd_node *n, unsigned int nodes, unsigned int self, bool local)
{
	struct rmc_tx_limits limits = { .self = self, .groups = nodes, .buffers = hd.buffers };
	struct hd_home *h = calloc(1, sizeof(*h));
	uint64_t chunks = (n->bytes >> CHUNK_SHIFT) + 1, i;

	n->home = h;
	if (!h)
		return -1;
	h->self = self;
	h->sources = nodes;
	h->remote = calloc((size_t)nodes * RMC_TX_SLOTS, sizeof(*h->remote));
	h->coord = calloc(1, sizeof(*h->coord));
	h->local = local ? aligned_alloc(HD_LINE, sizeof(*h->local)) : NULL;
	h->chunk = calloc(chunks, sizeof(*h->chunk));
	if (!h->remote || !h->coord || !h->chunk || (local && !h->local))
		return -1;
	if (local)
		memset(h->local, 0, sizeof(*h->local));
	for (i = 0; i < chunks; i++)
		h->chunk[i] = n->memory + (i << CHUNK_SHIFT);
	h->mem.length = n->bytes;
	h->mem.chunk = h->chunk;
	rmc_mem_chunks(&h->mem, CHUNK_SHIFT);
	limits.length = n->bytes;
	h->part = rmc_tx_part_new(&limits, &h->mem, h->local, NULL);
	if (IS_ERR(h->part))
		return -1;
	rmc_tx_coord_init(h->coord, self, 0);
	return 0;
}

/**
 * hd_home_free() - free what hd_home_init() has allocated
 * @n: node
 */
void hd_home_free(struct hd_node *n)
{
	struct hd_home *h = n->home;
	unsigned int i;

	if (!h)
		return;
	for (i = 0; i < h->sources * RMC_TX_SLOTS; i++) {
		free(h->remote[i].rd.line);
		free(h->remote[i].wr.line);
	}
	for (i = 0; i < RMC_TX_SLOTS; i++) {
		free(h->own[i].rd.line);
		free(h->own[i].wr.line);
	}
	rmc_tx_part_free(h->part);
	free(h->remote);
	free(h->coord);
	free(h->local);
	free(h->chunk);
	free(h);
	n->home = NULL;
}

static enum hd_answer answer_of(u8 status)
{
	return !status ? HD_OK : status == RMC_S_TX_LOCKED ? HD_LOCKED :
	       status == RMC_S_TX_FULL ? HD_FULL : HD_SQUASHED;
}

/* ---- what filters say, and what is so ---- */

/*
 * A test of a line against the filters of a group's transactions: hits that are none. Returns those
 * that use the line.
 */
static uint64_t judge(struct hd_home *h, const struct rmc_tx_group *g, uint64_t users,
		      uint64_t tested, uint64_t line, bool reads_count)
{
	uint32_t source = g->source - 1, slot;
	uint64_t real = 0;

	hdr.tests += hweight64(tested);
	hdr.positives += hweight64(users & tested);
	for (users &= tested; users; users &= users - 1) {
		struct exact *e;

		slot = __ffs64(users);
		e = &h->remote[source * RMC_TX_SLOTS + slot];
		if (has_line(&e->wr, line) || (reads_count && has_line(&e->rd, line)))
			real |= 1ULL << slot;
		else
			hdr.false_positives++;
	}
	return real;
}

static uint64_t judge_local(struct hd_home *h, uint64_t users, uint64_t tested, uint64_t line,
			    bool reads_count)
{
	uint64_t real = 0;
	uint32_t slot;

	hdr.tests += hweight64(tested);
	hdr.positives += hweight64(users & tested);
	for (users &= tested; users; users &= users - 1) {
		slot = __ffs64(users);
		if (has_line(&h->own[slot].wr, line) ||
		    (reads_count && has_line(&h->own[slot].rd, line)))
			real |= 1ULL << slot;
		else
			hdr.false_positives++;
	}
	return real;
}

/* Own transactions that are in local filters now */
static uint64_t local_active(const struct hd_home *h)
{
	uint64_t mask = 0;
	unsigned int i;

	for (i = 0; i < RMC_TX_SLOTS; i++)
		if (h->own[i].rd.n || h->own[i].wr.n)
			mask |= 1ULL << i;
	return mask;
}

static uint64_t local_users(const struct hd_home *h, uint64_t line, uint32_t crc)
{
	return rmc_tx_local_reads(h->local, rmc_tx_hash(crc)) |
	       rmc_tx_local_writes(h->local, rmc_tx_split_hash(line, crc));
}

/* Of each group, and last of the local filters: who was hit, and who uses the line */
struct hits {
	uint64_t any[HD_NODES + 1], real[HD_NODES + 1];
};

/* All tests of an INTEND's lines that the participant is about to make */
static void judge_intend(struct hd_home *h, const struct hd_message *m, struct hits *hits)
{
	const struct rmc_tx_part *p = h->part;
	uint64_t line, end, active = h->local ? local_active(h) : 0, pairs = 0;
	uint64_t own_bit = m->from == h->self ? 1ULL << m->slot : 0;
	uint32_t i, k, crc;

	for (k = 0; k < p->groups; k++)
		pairs += hweight64(p->group[k].source == 1 + h->self ? 0 : p->group[k].open);
	hdr.pairs_sum += pairs;
	hdr.pairs_samples++;
	hdr.pairs_most = pairs > hdr.pairs_most ? pairs : hdr.pairs_most;
	for (i = 0; i < m->ranges; i++) {
		line = m->range[i].offset / HD_LINE;
		end = (m->range[i].offset + m->range[i].length - 1) / HD_LINE;
		for (; line <= end; line++) {
			struct rmc_tx_hash hash;

			crc = rmc_tx_crc(line);
			hash = rmc_tx_hash(crc);
			for (k = 0; k < p->groups; k++) {
				const struct rmc_tx_group *g = &p->group[k];
				uint64_t own = g->source == 1 + m->from ? 1ULL << m->slot : 0;
				uint64_t users = rmc_tx_filter_test(&g->rd, hash) |
						 rmc_tx_filter_test(&g->wr, hash);

				hits->any[k] |= users & g->open & ~own;
				hits->real[k] |= judge(h, g, users, g->open & ~own, line, true);
			}
			if (!h->local)
				continue;
			hits->any[HD_NODES] |= local_users(h, line, crc) & active & ~own_bit;
			hits->real[HD_NODES] |= judge_local(h, local_users(h, line, crc),
							    active & ~own_bit, line, true);
		}
	}
	for (k = 0; k < p->groups; k++)
		hits->any[k] &= ~(p->group[k].squashed | p->group[k].locked | p->group[k].reserved);
	hits->any[HD_NODES] &= ~p->local_squashed;
}

/* It was acked, so whoever it has hit is squashed */
static void count_victims(const struct hits *hits)
{
	unsigned int k;

	for (k = 0; k <= HD_NODES; k++) {
		hdr.victims += hweight64(hits->any[k]);
		hdr.false_victims += hweight64(hits->any[k] & ~hits->real[k]);
	}
}

/* ---- the participant ---- */

/**
 * hd_home_access() - remote lines are accessed, or by HADES-H an own record at commit
 * @y: home node
 * @source: node of the transaction
 * @slot: slot of the transaction
 * @gen: use of the slot
 * @own: to write parts of them
 * @offset: first byte
 * @length: bytes
 *
 * Return: what the participant says.
 */
enum hd_answer hd_home_access(struct hd_node *y, uint32_t source, uint32_t slot, uint32_t gen,
			      bool own, uint64_t offset, uint64_t length)
{
	struct rmc_txid id = { source, slot, gen };
	struct hd_home *h = y->home;
	struct exact *e;
	uint64_t line;
	u8 status = rmc_tx_part_access(h->part, &id, own ? RMC_TX_OWN : RMC_TX_READ, offset,
				       length);

	if (status && status != RMC_S_TX_LOCKED)
		return answer_of(status);
	e = exact_of(h, source, slot, gen);
	for (line = offset / HD_LINE; line <= (offset + length - 1) / HD_LINE; line++)
		add_line(own ? &e->wr : &e->rd, line);
	return answer_of(status);
}

/* Others that hold locks, or wait for them before this one has its own, and use a line */
static bool locked(struct hd_home *h, uint64_t line, uint32_t slot, bool write, bool has_locks)
{
	const struct rmc_tx_part *p = h->part;
	struct rmc_tx_hash hash = rmc_tx_hash(rmc_tx_crc(line));
	bool found = false;
	uint32_t i;

	for (i = 0; i < p->groups; i++) {
		const struct rmc_tx_group *g = &p->group[i];
		uint64_t own = g->source == 1 + h->self ? 1ULL << slot : 0;
		uint64_t users = rmc_tx_filter_test(&g->wr, hash);

		if (write)
			users |= rmc_tx_filter_test(&g->rd, hash);
		uint64_t lockers = (g->locked | (has_locks ? 0 : g->reserved)) & ~own;

		judge(h, g, users, lockers, line, write);
		found |= (users & lockers) != 0;
	}
	return found;
}

static struct tag *tag_of(struct hd_home *h, uint64_t line)
{
	uint32_t i = (uint32_t)((line * 0x9e3779b97f4a7c15ULL) >> (64 - TAG_ORDER));

	while (h->tag[i].line && h->tag[i].line != line + 1)
		i = (i + 1) & ((1 << TAG_ORDER) - 1);
	return &h->tag[i];
}

static void remove_tag(struct hd_home *h, uint64_t line)
{
	const uint32_t mask = (1 << TAG_ORDER) - 1;
	struct tag *t = tag_of(h, line);
	uint32_t i, k;

	if (!t->line)
		return;
	h->tags--;
	i = (uint32_t)(t - h->tag);
	for (k = (i + 1) & mask; h->tag[k].line; k = (k + 1) & mask) {
		uint32_t want = (uint32_t)(((h->tag[k].line - 1) * 0x9e3779b97f4a7c15ULL) >>
					   (64 - TAG_ORDER));

		if (((k - want) & mask) < ((k - i) & mask))
			continue;
		h->tag[i] = h->tag[k];
		i = k;
	}
	h->tag[i].line = 0;
}

/* Own transactions in conflict with an access; the second one loses (HADES table II) */
static bool loses(struct hd_home *h, uint32_t slot, uint64_t line, bool write, uint32_t crc)
{
	uint64_t bit = 1ULL << slot, users;
	struct tag *t = tag_of(h, line);

	if (t->line && t->slot != slot)
		return true;
	if (!write)
		return false;
	users = rmc_tx_local_reads(h->local, rmc_tx_hash(crc)) & ~bit;
	judge_local(h, users, local_active(h) & ~bit, line, true);
	if (users)
		return true;
	if (!t->line && h->tags < (3 << TAG_ORDER) / 4) {
		h->tags++;
		*t = (struct tag) { line + 1, slot };
	}
	return false;
}

/**
 * hd_home_local() - an own transaction accesses a line of its node for the first time
 * @x: node
 * @slot: slot of the transaction
 * @line: line
 * @write: it writes
 *
 * Return: HD_OK; HD_SQUASHED: it has lost; HD_LOCKED: again, later.
 */
enum hd_answer hd_home_local(struct hd_node *x, uint32_t slot, uint64_t line, bool write)
{
	struct hd_home *h = x->home;
	uint32_t crc = rmc_tx_crc(line);
	struct rmc_tx_hash hash = rmc_tx_hash(crc), split = rmc_tx_split_hash(line, crc);
	uint64_t bit = 1ULL << slot;
	struct exact *e = &h->own[slot];

	if (loses(h, slot, line, write, crc))
		return HD_SQUASHED;
	if (write) {
		h->local->wr1[split.a] |= bit;
		h->local->wr2[split.b] |= bit;
		if (!has_line(&e->wr, line))
			add_line(&e->wr, line);
	} else {
		h->local->rd[hash.a] |= bit;
		h->local->rd[hash.b] |= bit;
		if (!has_line(&e->rd, line))
			add_line(&e->rd, line);
	}
	if (locked(h, line, slot, write, false))
		return HD_LOCKED;
	return h->part->local_squashed & bit ? HD_SQUASHED : HD_OK;
}

/**
 * hd_home_locked() - does another transaction that commits write a line? For HADES-H
 * @x: node
 * @line: line
 * @slot: slot of the own transaction
 * @has_locks: it has locked in advance, so who waits for locks waits for it
 */
bool hd_home_locked(struct hd_node *x, uint64_t line, uint32_t slot, bool has_locks)
{
	return locked(x->home, line, slot, false, has_locks);
}

/**
 * hd_home_squashed() - has the participant squashed an own transaction?
 * @x: node
 * @slot: slot of the transaction
 */
bool hd_home_squashed(struct hd_node *x, uint32_t slot)
{
	return x->home->part->local_squashed >> slot & 1;
}

static bool prepared(const struct hd_home *h, uint32_t slot)
{
	const struct rmc_tx_record *r = rmc_tx_part_record(h->part, h->self, slot);

	return r && r->state == RMC_TX_PREPARED;
}

/**
 * hd_home_squash() - a line that an own transaction has written leaves the LLC
 * @x: node
 * @slot: slot of the transaction
 */
void hd_home_squash(struct hd_node *x, uint32_t slot)
{
	if (!x->home || prepared(x->home, slot) || !x->slot[slot])
		return;
	if (!(x->home->part->local_squashed >> slot & 1))
		x->slot[slot]->stats->evicted++;
	x->slot[slot]->evicted = true;
	x->home->part->local_squashed |= 1ULL << slot;
}

/* An own transaction is over: filters and tags */
static void clear_local(struct hd_node *x, uint32_t slot)
{
	struct hd_home *h = x->home;
	struct exact *e = &h->own[slot];
	uint64_t bit = 1ULL << slot;
	uint32_t i, crc;

	for (i = 0; h->local && i < e->rd.n; i++) {
		struct rmc_tx_hash hash = rmc_tx_hash(rmc_tx_crc(e->rd.line[i]));

		h->local->rd[hash.a] &= ~bit;
		h->local->rd[hash.b] &= ~bit;
	}
	for (i = 0; h->local && i < e->wr.n; i++) {
		struct rmc_tx_hash split;

		crc = rmc_tx_crc(e->wr.line[i]);
		split = rmc_tx_split_hash(e->wr.line[i], crc);
		h->local->wr1[split.a] &= ~bit;
		h->local->wr2[split.b] &= ~bit;
		if (tag_of(h, e->wr.line[i])->slot == slot)
			remove_tag(h, e->wr.line[i]);
		hd_settled(x, e->wr.line[i], slot);
	}
	hdr.tag_sum += e->wr.n;
	hdr.tag_samples += e->wr.n != 0;
	forget(e);
}

static u8 serve_intend(struct hd_node *y, struct hd_message *m, const struct rmc_txid *id)
{
	struct hits hits = { { 0 }, { 0 } };
	struct hd_home *h = y->home;
	struct exact *e;
	uint64_t line;
	uint32_t i;
	u8 status;

	judge_intend(h, m, &hits);
	status = rmc_tx_part_intend(h->part, id, m->flags, (const struct rmc_tx_range *)m->range,
				    m->ranges);
	e = exact_of(h, m->from, m->slot, m->gen);
	if (status)
		forget(e);
	else
		count_victims(&hits);
	for (i = 0; !status && i < m->ranges; i++)
		for (line = m->range[i].offset / HD_LINE;
		     line <= (m->range[i].offset + m->range[i].length - 1) / HD_LINE; line++)
			add_line(&e->wr, line);
	return status;
}

static void add_once(struct lines *l, const struct hd_range *r)
{
	uint64_t line = r->offset / HD_LINE;

	for (; line <= (r->offset + r->length - 1) / HD_LINE; line++)
		if (!has_line(l, line))
			add_line(l, line);
}

static u8 serve_lock(struct hd_node *y, struct hd_message *m, const struct rmc_txid *id)
{
	struct hd_home *h = y->home;
	struct exact *e;
	uint32_t i;
	u8 status = rmc_tx_part_lock(h->part, id, (const struct rmc_tx_range *)m->range, m->writes,
				     m->ranges - m->writes);

	/* its lines are in its filters also while it waits */
	if (status && status != RMC_S_TX_LOCKED)
		return status;
	e = exact_of(h, m->from, m->slot, m->gen);
	for (i = 0; i < m->ranges; i++)
		add_once(i < m->writes ? &e->wr : &e->rd, &m->range[i]);
	return status;
}

/* HADES-H: the RRPP makes the versions of records newer whose data it stores */
static void bump(struct hd_node *y, const struct hd_message *m)
{
	uint64_t version;
	uint32_t i;

	for (i = 0; i < m->bases; i++) {
		memcpy(&version, y->memory + m->base[i], sizeof(version));
		version++;
		memcpy(y->memory + m->base[i], &version, sizeof(version));
	}
}

static u8 serve_close(struct hd_node *y, struct hd_message *m, const struct rmc_txid *id)
{
	const uint8_t *data = m->data;
	u8 status = RMC_S_OK;
	uint32_t i;

	for (i = 0; i < m->ranges && !status; i++) {
		status = rmc_tx_part_data(y->home->part, id, m->range[i].offset, data,
					  (u32)m->range[i].length);
		data += m->range[i].length;
	}
	if (!status)
		status = rmc_tx_part_close(y->home->part, id, RMC_TX_LOCAL, true);
	if (!status)
		bump(y, m);
	return status;
}

/**
 * hd_home_serve() - a message does what it is for
 * @y: node that it has come to
 * @m: message; its status is set
 */
void hd_home_serve(struct hd_node *y, struct hd_message *m)
{
	struct rmc_txid id = { m->from, m->slot, m->gen };

	if (m->kind == HD_INTEND) {
		m->status = serve_intend(y, m, &id);
		return;
	}
	if (m->kind == HD_LOCK) {
		m->status = serve_lock(y, m, &id);
		return;
	}
	m->status = m->kind == HD_CLOSE ? serve_close(y, m, &id) :
		    rmc_tx_part_close(y->home->part, &id, RMC_TX_LOCAL, false);
	forget(exact_of(y->home, m->from, m->slot, m->gen));
	if (m->from == y->nid)
		clear_local(y, m->slot);
}

/**
 * hd_home_hint() - a transaction that was squashed, for a message to its node
 * @y: node
 * @source: out, node of the transaction
 * @slot: out, its slot
 * @gen: out, use of the slot
 *
 * Return: false if there is none.
 */
bool hd_home_hint(struct hd_node *y, uint32_t *source, uint32_t *slot, uint32_t *gen)
{
	struct rmc_txid id;

	if (!rmc_tx_part_hint(y->home->part, &id))
		return false;
	*source = id.source;
	*slot = id.slot;
	*gen = id.gen;
	return true;
}

/* ---- the coordinator ---- */

bool hd_coord_begin(struct hd_node *x, uint32_t slot, uint32_t *gen)
{
	return !rmc_tx_coord_begin(x->home->coord, slot, gen);
}

void hd_coord_touch(struct hd_node *x, uint32_t slot, unsigned int nid, bool access)
{
	rmc_tx_coord_touch(x->home->coord, slot, nid, access);
}

void hd_coord_commit(struct hd_node *x, uint32_t slot)
{
	rmc_tx_coord_commit(x->home->coord, slot);
}

/* An own record without a message is closed at once: its filters are of nobody then */
void hd_coord_abort(struct hd_node *x, uint32_t slot)
{
	const struct rmc_tx_slot *s = &x->home->coord->slot[slot];
	struct rmc_txid id = { x->nid, slot, s->gen };

	rmc_tx_coord_abort(x->home->coord, slot, RMC_S_TX_SQUASHED);
	rmc_tx_part_close(x->home->part, &id, RMC_TX_LOCAL, false);
	forget(exact_of(x->home, x->nid, slot, id.gen));
	clear_local(x, slot);
}

void hd_coord_hint(struct hd_node *x, uint32_t slot, uint32_t gen, unsigned int nid)
{
	rmc_tx_coord_squash(x->home->coord, slot, gen, nid);
}

bool hd_coord_next(struct hd_node *x, struct hd_message *m)
{
	struct rmc_tx_msg msg;

	if (!rmc_tx_coord_next(x->home->coord, &msg))
		return false;
	*m = (struct hd_message) {
		.from = x->nid, .to = msg.nid, .slot = msg.slot, .gen = msg.gen,
		.flags = msg.flags, .real = msg.kind,
		.kind = msg.kind == RMC_TX_INTEND ? HD_INTEND :
			msg.kind == RMC_TX_COMMIT ? HD_CLOSE :
			msg.kind == RMC_TX_LOCK ? HD_LOCK : HD_ABORT,
	};
	return true;
}

/* Would this answer, an ack, decide the transaction? */
bool hd_coord_is_last(struct hd_node *x, const struct hd_message *m)
{
	const struct rmc_tx_slot *s = &x->home->coord->slot[m->slot];

	if (m->kind != HD_INTEND || m->status || s->gen != m->gen || s->waits != 1)
		return false;
	return s->phase == RMC_TX_OTHERS || (s->phase == RMC_TX_SELF && s->peers == 1);
}

void hd_coord_answer(struct hd_node *x, const struct hd_message *m)
{
	struct rmc_tx_msg msg = {
		.kind = m->real, .nid = (u16)m->to, .slot = m->slot, .gen = m->gen,
		.flags = m->flags,
	};

	rmc_tx_coord_answer(x->home->coord, &msg, m->status);
}

bool hd_coord_ended(struct hd_node *x, uint32_t *slot, bool *committed)
{
	u8 status;

	if (!rmc_tx_coord_ended(x->home->coord, slot, &status))
		return false;
	*committed = !status;
	return true;
}

/* Lines at these nodes are to be locked before it begins */
void hd_coord_lock(struct hd_node *x, uint32_t slot, const bool nodes[HD_NODES])
{
	unsigned int nid;

	for (nid = 0; nid < HD_NODES; nid++)
		if (nodes[nid])
			rmc_tx_coord_lock_at(x->home->coord, slot, nid);
	rmc_tx_coord_lock(x->home->coord, slot);
}

bool hd_coord_locked(struct hd_node *x, uint32_t *slot)
{
	return rmc_tx_coord_locked(x->home->coord, slot);
}

/* A LOCK waits: it is sent again */
void hd_coord_again(struct hd_node *x, uint32_t slot, uint32_t gen)
{
	const struct rmc_tx_slot *s = &x->home->coord->slot[slot];

	if (s->gen == gen && s->phase == RMC_TX_LOCKING)
		rmc_tx_coord_resend(x->home->coord, slot);
}

bool hd_coord_free(struct hd_node *x, uint32_t slot)
{
	return rmc_tx_coord_is_free(x->home->coord, slot);
}
