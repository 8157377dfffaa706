// SPDX-License-Identifier: GPL-2.0
/*
 * Commits of HADES and HADES-H (hades.h; table II, "commit at x" and "commit at y"): the phases are
 * those of kmod/tx/coord.c. Here are their messages, and what they take:
 *
 *	INTEND to self	HADES: find tags, lock, test lines	HADES-H: own records, lock
 *	INTEND		lock, test lines
 *	  last ack	HADES-H: versions of own records again, else abort
 *	DATA, CLOSE	store, unlock
 *
 * An access to lines that are written in part may be on its way when INTEND is sent; as messages of
 * two nodes stay in order, it comes first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/tx.h>
#include "hades.h"
#include "hades_shape.h"

struct hd_shape hd_shape;

/**
 * hd_shape_set() - lay out tables
 * @nodes: nodes
 * @t: tables
 * @tables: their number
 * @at: first byte of a node's memory that they may use
 */
void hd_shape_set(unsigned int nodes, const struct rmc_tx_table *t, unsigned int tables,
		  uint64_t at)
{
	struct hd_table *to = &hd_shape.table[hd_shape.tables];
	unsigned int i;

	hd_shape.nodes = nodes;
	for (i = 0; i < tables; i++, to++) {
		to->records = t[i].records;
		to->group = t[i].group ? t[i].group : 1;
		to->bytes = t[i].bytes;
		to->stride = (HD_HEAD + t[i].bytes + HD_LINE - 1) / HD_LINE * HD_LINE;
		to->at = at;
		at += ((to->records + to->group - 1) / to->group + nodes - 1) / nodes * to->group *
		      to->stride;
		if (to->stride > hd_shape.largest)
			hd_shape.largest = to->stride;
	}
	hd_shape.tables += tables;
	hd_shape.bytes = at;
}

/**
 * hd_locate() - where a record is
 * @table: table
 * @rid: number
 * @offset: out, in the node's memory
 *
 * Return: node.
 */
unsigned int hd_locate(uint32_t table, uint64_t rid, uint64_t *offset)
{
	const struct hd_table *t = &hd_shape.table[table];
	uint64_t group = rid / t->group;

	*offset = t->at + (group / hd_shape.nodes * t->group + rid % t->group) * t->stride;
	return (unsigned int)(group % hd_shape.nodes);
}

static void *grown(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	return p;
}

/* ---- what a message says ---- */

static int by_offset(const void *p, const void *q)
{
	const struct hd_access *a = *(const struct hd_access *const *)p;
	const struct hd_access *b = *(const struct hd_access *const *)q;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_written(const struct hd_access *a)
{
	unsigned int i;

	for (i = 0; i < a->lines; i++)
		if (a->written[i])
			return true;
	return false;
}

static void add_byte_run(struct hd_message *m, const struct hd_access *a, unsigned int from,
			 unsigned int len)
{
	struct hd_range *last;

	if (!(m->ranges & (m->ranges - 1)))
		m->range = grown(m->range, (m->ranges ? 2 * m->ranges : 1) * sizeof(*m->range));
	last = &m->range[m->ranges++];
	*last = (struct hd_range) { a->offset + from, len };
	m->lines += (from + len - 1) / HD_LINE - from / HD_LINE + 1;
	m->data = grown(m->data, m->bytes + len);
	memcpy(m->data + m->bytes, a->data + from, len);
	m->bytes += len;
}

static void add_record(struct hd_message *m, const struct hd_access *a)
{
	unsigned int from = 0, b, end = a->lines * HD_LINE;
	bool in = false;

	for (b = 0; b <= end; b++) {
		bool on = b < end && a->written[b / HD_LINE] >> b % HD_LINE & 1;

		if (on && !in)
			from = b;
		if (!on && in)
			add_byte_run(m, a, from, b - from);
		in = on;
	}
}

/* Ranges written at the message's node, ascending, with their data */
static void fill(struct hd_client *c, struct hd_message *m)
{
	struct hd_access *sorted[1024];
	unsigned int n = 0, i;

	if (m->kind == HD_ABORT)
		return;
	if (m->kind == HD_LOCK) {
		hd_locks_fill(c, m);
		return;
	}
	for (i = 0; i < c->accesses && n < 1024; i++)
		if (c->access[i].nid == m->to && is_written(&c->access[i]))
			sorted[n++] = &c->access[i];
	qsort(sorted, n, sizeof(*sorted), by_offset);
	m->base = hdr.system == HD_HADES_H && n ? grown(NULL, n * sizeof(*m->base)) : NULL;
	for (i = 0; i < n; i++) {
		add_record(m, sorted[i]);
		if (m->base)
			m->base[m->bases++] = sorted[i]->offset;
	}
}

static void message_free(struct hd_message *m)
{
	free(m->range);
	free(m->base);
	free(m->data);
	free(m);
}

/* ---- phases ---- */

static void wake_waiters(struct hd_node *x)
{
	unsigned int i;

	for (i = 0; i < x->waiters; i++)
		hd_wake(x->waiting[i]);
}

static void drain(struct hd_node *x)
{
	struct hd_client *c;
	bool committed;
	uint32_t slot;

	while (hd_coord_locked(x, &slot)) {
		x->slot[slot]->has_locks = true;
		hd_wake(x->slot[slot]);
	}
	while (hd_coord_ended(x, &slot, &committed)) {
		c = x->slot[slot];
		if (!committed)
			hd_coord_abort(x, slot);
		x->slot[slot] = NULL;
		if (!c)
			continue;
		c->over = true;
		c->squashed = c->squashed || !committed;
		hd_wake(c);
	}
	wake_waiters(x);
}

struct later {
	struct hd_node *x;
	uint32_t slot, gen;
};

static void again(void *arg)
{
	struct later *l = arg;

	hd_coord_again(l->x, l->slot, l->gen);
	hd_pump(l->x);
	free(l);
}

/* A LOCK that waits is repeated as an access to a locked line is */
static void lock_again(const struct hd_message *m)
{
	struct later *l = grown(NULL, sizeof(*l));

	*l = (struct later) { &hdr.node[m->from], m->slot, m->gen };
	hd_at(hdr.now + hd.denied, again, l);
}

static void answer(struct hd_message *m)
{
	struct hd_node *x = &hdr.node[m->from];

	hd_coord_answer(x, m);
	if (m->kind == HD_LOCK && m->status)
		lock_again(m);
	message_free(m);
	hd_pump(x);
}

/* HADES-H: versions of own records that were read or written, when all have acked */
static void validated(void *arg)
{
	struct hd_message *m = arg;
	struct hd_node *x = &hdr.node[m->from];
	struct hd_client *c = x->slot[m->slot];
	unsigned int i;
	uint64_t version;

	for (i = 0; c && i < c->accesses; i++) {
		const struct hd_access *a = &c->access[i];

		if (!a->copied)
			continue;
		memcpy(&version, x->memory + a->offset, sizeof(version));
		if (version != a->version) {
			hd_coord_abort(x, m->slot);
			break;
		}
	}
	answer(m);
}

static void answered(void *arg)
{
	struct hd_message *m = arg;
	struct hd_node *x = &hdr.node[m->from];
	struct hd_client *c = x->slot[m->slot];
	uint64_t time = 0;
	unsigned int i;

	if (hdr.system != HD_HADES_H || !c || !hd_coord_is_last(x, m)) {
		answer(m);
		return;
	}
	for (i = 0; i < c->accesses; i++)
		if (c->access[i].copied)
			time += hd.check + hd.l1;
	hd_at(hdr.now + time, validated, m);
}

struct hint {
	uint32_t from, to, slot, gen;
};

static void hinted(void *arg)
{
	struct hint *h = arg;
	struct hd_node *x = &hdr.node[h->to];

	hd_coord_hint(x, h->slot, h->gen, h->from);
	free(h);
	hd_pump(x);
}

static void send_hints(struct hd_node *y)
{
	struct hint h = { .from = y->nid }, *sent;

	while (hd_home_hint(y, &h.to, &h.slot, &h.gen)) {
		sent = grown(NULL, sizeof(*sent));
		*sent = h;
		if (h.to == y->nid)
			hd_at(hdr.now, hinted, sent);
		else
			hd_send(y->nid, h.to, hd.header, hinted, sent);
	}
}

static void reply(void *arg)
{
	struct hd_message *m = arg;

	if (m->from == m->to)
		answered(m);
	else
		hd_send(m->to, m->from, hd.header, answered, m);
}

/* Time that a message takes at its home, ps */
static uint64_t service(struct hd_message *m)
{
	uint64_t lines = hd_cycles(hd.crc + m->lines * hd.filter), time = hd_cycles(hd.lock);
	bool own = m->from == m->to;

	if (m->kind == HD_INTEND || m->kind == HD_LOCK)
		time += lines;
	if (m->kind == HD_CLOSE && own && hdr.system == HD_HADES_H)
		time += (uint64_t)m->lines * (hd.version_line + hd.l1);
	if (own && hdr.system == HD_HADES && m->kind != HD_LOCK)
		time += hd_cycles(hd.tags);
	return time;
}

static unsigned int lines_of(const struct hd_range *r)
{
	return (unsigned int)((r->offset + r->length - 1) / HD_LINE - r->offset / HD_LINE + 1);
}

static void arrive(void *arg)
{
	struct hd_message *m = arg;
	struct hd_node *y = &hdr.node[m->to];
	uint64_t time = service(m);
	uint32_t i;

	hd_home_serve(y, m);
	if (m->kind == HD_INTEND || m->kind == HD_LOCK)
		send_hints(y);
	if (m->from != m->to) {
		hd_busy(m->to, time);
		for (i = 0; m->kind == HD_CLOSE && i < m->ranges; i++)
			hd_dma(y, m->range[i].offset / HD_LINE, lines_of(&m->range[i]));
	}
	hd_at(hdr.now + time, reply, m);
}

static void send_all(struct hd_node *x)
{
	struct hd_message next, *m;
	size_t bytes;

	while (hd_coord_next(x, &next)) {
		m = grown(NULL, sizeof(*m));
		*m = next;
		if (x->slot[m->slot])
			fill(x->slot[m->slot], m);
		if (m->to == x->nid) {
			hd_at(hdr.now, arrive, m);
			continue;
		}
		bytes = hd.header + (size_t)m->ranges * hd.range;
		hd_send(x->nid, m->to, bytes + (m->kind == HD_CLOSE ? m->bytes : 0), arrive, m);
	}
}

void hd_pump(struct hd_node *x)
{
	send_all(x);
	drain(x);
}

/* ---- a transaction ---- */

static bool take_slot(struct hd_client *c)
{
	uint32_t i;

	for (i = 0; i < HD_COROUTINES; i++)
		if (!c->node->slot[i] && hd_coord_free(c->node, i) &&
		    hd_coord_begin(c->node, i, &c->gen)) {
			c->node->slot[i] = c;
			c->slot = i;
			return true;
		}
	return false;
}

static void stop_waiting(struct hd_client *c)
{
	struct hd_node *x = c->node;
	unsigned int i;

	for (i = 0; x->waiting[i] != c; i++)
		;
	x->waiting[i] = x->waiting[--x->waiters];
}

void hd_tx_begin(struct hd_client *c)
{
	unsigned int i;

	hd_charge(hd.begin);
	hd_sync();
	if (!take_slot(c)) {
		c->node->waiting[c->node->waiters++] = c;
		while (!take_slot(c))
			hd_wait();
		stop_waiting(c);
	}
	c->over = false;
	c->squashed = false;
	c->has_locks = false;
	c->outstanding = 0;
	for (i = 0; i < c->accesses; i++)
		memset(c->index, 0, i ? 0 : 4096 * sizeof(*c->index));
	c->accesses = 0;
	c->used = 0;
}

void hd_tx_abort(struct hd_client *c)
{
	if (c->over)
		return;
	hd_coord_abort(c->node, c->slot);
	hd_pump(c->node);
}

/* HADES-H: the adapter learns of own records. false: others lock them */
static bool hand_over(struct hd_client *c)
{
	enum hd_answer answer;
	unsigned int i;

	for (i = 0; i < c->accesses; i++) {
		const struct hd_access *a = &c->access[i];

		if (!a->copied)
			continue;
		hd_coord_touch(c->node, c->slot, c->node->nid, true);
		answer = hd_home_access(c->node, c->node->nid, c->slot, c->gen, false, a->offset,
					(uint64_t)a->lines * HD_LINE);
		if (answer)
			return false;
	}
	return true;
}

static uint64_t hand_over_time(const struct hd_client *c)
{
	uint64_t time = 0;
	unsigned int i;

	for (i = 0; i < c->accesses; i++)
		if (c->access[i].copied)
			time += hd.post + hd_cycles(c->access[i].lines * hd.filter);
	return time;
}

/*
 * Nothing is written, and no home has to be asked, as in lib/tx/hades.c: one record, whose home has
 * answered the last access, so all of it was there then; or own records of HADES, whose filters the
 * directory has tested all the time.
 */
static bool needs_no_commit(const struct hd_client *c)
{
	bool own = hdr.system == HD_HADES && !c->in_advance && !c->evicted;
	unsigned int i;

	if (hdr.as_printed)
		return false;
	for (i = 0; i < c->accesses; i++) {
		if (is_written(&c->access[i]))
			return false;
		own &= c->access[i].local;
	}
	return own || c->accesses <= 1;
}

int hd_tx_commit(struct hd_client *c)
{
	hd_charge(hd.post + hand_over_time(c));
	hd_sync();
	if (c->squashed || c->over || !hand_over(c)) {
		hd_tx_abort(c);
		return RMC_TX_SQUASHED;
	}
	c->validating = hdr.now;
	if (needs_no_commit(c)) {
		hd_tx_abort(c);
		return 0;
	}
	hd_coord_commit(c->node, c->slot);
	hd_pump(c->node);
	while (!c->over)
		hd_wait();
	hd_charge(hd.poll);
	return c->squashed ? RMC_TX_SQUASHED : 0;
}

static uint64_t backoff(struct hd_client *c, uint64_t *limit)
{
	uint64_t ps = sim_random(&c->random) % *limit;

	if (*limit < (uint64_t)hd.backoff << 7)
		*limit *= 2;
	return ps;
}

/* What a function that ends otherwise has seen counts only if it was there: it commits, and writes
 * nothing
 */
static void drop_writes(struct hd_client *c)
{
	unsigned int i;

	for (i = 0; i < c->accesses; i++)
		memset(c->access[i].written, 0, sizeof(c->access[i].written));
}

static void count_lines(struct hd_client *c)
{
	uint64_t rd = 0, wr = 0;
	unsigned int i, k;

	for (i = 0; i < c->accesses; i++)
		for (k = 0; k < c->access[i].lines; k++) {
			rd += hd_is_set(c->access[i].valid, k);
			wr += c->access[i].written[k] != 0;
		}
	c->stats->most_read = rd > c->stats->most_read ? rd : c->stats->most_read;
	c->stats->most_written = wr > c->stats->most_written ? wr : c->stats->most_written;
}

/* One attempt: is it over? *result: of the function */
static bool attempt(struct hd_client *c, int (*fn)(void *t, void *arg), void *arg, int *result)
{
	hd_tx_begin(c);
	c->validating = 0;
	c->committing = 0;
	*result = c->in_advance ? hd_locks_take(c) : 0;
	if (!*result)
		*result = fn(c, arg);
	if (c->squashed || c->over || *result == RMC_TX_SQUASHED) {
		hd_sync();
		hd_tx_abort(c);
		return false;
	}
	if (*result)
		drop_writes(c);
	else
		count_lines(c);
	return !hd_tx_commit(c);
}

int hd_tx_run(struct hd_client *c, int (*fn)(void *t, void *arg), void *arg)
{
	uint64_t limit = hd.backoff;
	int result;

	c->evicted = false;
	c->in_advance = false;
	while (!attempt(c, fn, arg, &result)) {
		c->squashes++;
		c->in_advance = c->squashes >= hdr.patience;
		if (c->in_advance)
			hd_locks_add(c);
		hd_sleep(backoff(c, &limit));
	}
	hd_locks_forget(c);
	return result;
}
