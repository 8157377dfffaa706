// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions that were squashed too often, in the model (hades.h; the paper's section VI): the
 * lines that the last attempts have used are locked before the next one begins, at one node after
 * the other in the order of their numbers. Participants (kmod/tx/reserve.c) and coordinators are
 * the module's. Lines that are missing are locked when they are accessed; if others have them, the
 * attempt ends, and the next one locks these, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/tx.h>
#include "hades.h"

#define LOCK_LINES	1024		/* of a node: kmod/tx/tx.h */

/* A line; of the two of a line that is read and written, the one that is written comes first */
struct hd_need {
	uint64_t line;
	uint32_t nid;
	bool read_only;
};

static int by_place(const void *p, const void *q)
{
	const struct hd_need *a = p, *b = q;

	if (a->nid != b->nid)
		return a->nid < b->nid ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->read_only - b->read_only;
}

static void add_record(struct hd_client *c, const struct hd_access *a)
{
	unsigned int i;

	for (i = 0; i < a->lines; i++)
		if (a->written[i] || hd_is_set(a->wanted, i) || a->copied)
			c->need[c->needs++] = (struct hd_need) {
				.line = a->offset / HD_LINE + i, .nid = a->nid,
				.read_only = !a->written[i],
			};
}

static void sort(struct hd_client *c)
{
	unsigned int i, n = 0;

	qsort(c->need, c->needs, sizeof(*c->need), by_place);
	for (i = 0; i < c->needs; i++)
		if (!n || c->need[n - 1].nid != c->need[i].nid ||
		    c->need[n - 1].line != c->need[i].line)
			c->need[n++] = c->need[i];
	c->needs = n;
}

/* Does the next line of a kind continue the range before? */
static bool continues(const struct hd_range *r, uint64_t line)
{
	return r->offset + r->length == line * HD_LINE;
}

/* A participant takes so many ranges and lines */
static bool fits(const struct hd_client *c)
{
	unsigned int ranges[HD_NODES] = { 0 }, lines[HD_NODES] = { 0 }, i, k;
	struct hd_range last[HD_NODES][2];

	memset(last, 0, sizeof(last));
	for (i = 0; i < c->needs; i++) {
		const struct hd_need *n = &c->need[i];

		k = n->nid;
		if (!continues(&last[k][n->read_only], n->line))
			ranges[k]++;
		last[k][n->read_only] = (struct hd_range) { n->line * HD_LINE, HD_LINE };
		if (ranges[k] > HD_RANGES || ++lines[k] > LOCK_LINES)
			return false;
	}
	return true;
}

static void add_all(struct hd_client *c)
{
	unsigned int i, lines = 0;

	for (i = 0; i < c->accesses; i++)
		lines += c->access[i].lines;
	c->need = realloc(c->need, (c->needs + lines + 1) * sizeof(*c->need));
	if (!c->need) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	for (i = 0; i < c->accesses; i++)
		add_record(c, &c->access[i]);
	sort(c);
}

/**
 * hd_locks_add() - an attempt has failed: the next one locks its lines, with those of others before
 * @c: coroutine
 *
 * If these are too many, its own only; if they are too many, none.
 */
void hd_locks_add(struct hd_client *c)
{
	add_all(c);
	if (fits(c))
		return;
	c->needs = 0;
	add_all(c);
	if (!fits(c))
		c->needs = 0;
}

void hd_locks_forget(struct hd_client *c)
{
	free(c->need);
	c->need = NULL;
	c->needs = 0;
}

/* Ranges of one kind at the message's node */
static void fill_kind(const struct hd_client *c, struct hd_message *m, bool read_only)
{
	uint32_t first = m->ranges;
	unsigned int i;

	for (i = 0; i < c->needs; i++) {
		const struct hd_need *n = &c->need[i];

		if (n->nid != m->to || n->read_only != read_only)
			continue;
		m->lines++;
		if (m->ranges > first && continues(&m->range[m->ranges - 1], n->line))
			m->range[m->ranges - 1].length += HD_LINE;
		else
			m->range[m->ranges++] = (struct hd_range) { n->line * HD_LINE, HD_LINE };
	}
}

/**
 * hd_locks_fill() - the ranges of a LOCK: what it will write, then what it will only read
 * @c: coroutine
 * @m: message
 */
void hd_locks_fill(const struct hd_client *c, struct hd_message *m)
{
	m->range = calloc(HD_RANGES, sizeof(*m->range));
	if (!m->range) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	fill_kind(c, m, false);
	m->writes = m->ranges;
	fill_kind(c, m, true);
}

/**
 * hd_locks_take() - lock in advance, and wait for it
 * @c: coroutine, whose transaction has used nothing yet
 *
 * Return: 0, or RMC_TX_SQUASHED: a node has no room for who waits.
 */
int hd_locks_take(struct hd_client *c)
{
	bool nodes[HD_NODES] = { false };
	unsigned int i;

	if (!c->needs)
		return 0;
	for (i = 0; i < c->needs; i++)
		nodes[c->need[i].nid] = true;
	hd_charge(hd.post);
	hd_sync();
	hd_coord_lock(c->node, c->slot, nodes);
	hd_pump(c->node);
	while (!c->has_locks && !c->over)
		hd_wait();
	hd_charge(hd.poll);
	return c->over ? hd_tx_squash(c) : 0;
}
