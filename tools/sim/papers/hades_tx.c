// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses of HADES and HADES-H (hades.h; the paper's table II). A transaction has a private copy
 * of each record that it uses: what an adapter has fetched, what loads have seen, what it writes.
 * That copy is the model's; what is charged is what hardware or software of the paper would do.
 *
 *	remote read	a message: filter, locks, lines		waited for
 *	remote write	lines that are written in part likewise, not waited for; whole ones: nothing
 *	own, HADES	tag, filters and locks of each new line, in the directory
 *	own, HADES-H	by software: the whole record with its version, into a read or write set
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/tx.h>
#include "hades.h"
#include "hades_shape.h"

#define TRIES		64		/* of an access whose lines are locked */
#define INDEX		4096

/* Lines of a record on their way */
struct fetch {
	struct hd_client *c;		/* NULL: nobody waits any more */
	struct hd_access *a;
	struct hd_node *from, *to;
	uint32_t slot, gen, first, count;
	bool own, done;
	enum hd_answer answer;
	uint8_t line[HD_RECORD_LINES * HD_LINE];
};

bool hd_is_set(const uint64_t *bits, unsigned int i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bits, unsigned int i)
{
	bits[i / 64] |= 1ULL << i % 64;
}

/**
 * hd_tx_open() - memory of a coroutine's transactions
 * @c: coroutine
 * @records: that one accesses at most
 *
 * Return: 0, or -1: no memory.
 */
int hd_tx_open(struct hd_client *c, uint32_t records)
{
	c->access = calloc(records, sizeof(*c->access));
	c->index = calloc(INDEX, sizeof(*c->index));
	c->data = malloc((size_t)records * hd_shape.largest);
	return c->access && c->index && c->data ? 0 : -1;
}

void hd_tx_close(struct hd_client *c)
{
	hd_locks_forget(c);
	free(c->access);
	free(c->index);
	free(c->data);
}

/**
 * hd_tx_squash() - the transaction has to run again
 * @c: coroutine
 *
 * Return: what its calls return.
 */
int hd_tx_squash(struct hd_client *c)
{
	c->squashed = true;
	return RMC_TX_SQUASHED;
}

static bool is_squashed(struct hd_client *c)
{
	if (!c->squashed && (c->over || hd_home_squashed(c->node, c->slot)))
		c->squashed = true;
	return c->squashed;
}

/* The access of a record, new or known; NULL: no room */
static struct hd_access *find(struct hd_client *c, uint32_t table, uint64_t rid)
{
	uint32_t i = (uint32_t)((rid * 32 + table) * 0x9e3779b97f4a7c15ULL >> 52) & (INDEX - 1);
	struct hd_access *a;

	for (; c->index[i]; i = (i + 1) & (INDEX - 1)) {
		a = &c->access[c->index[i] - 1];
		if (a->rid == rid && a->table == table)
			return a;
	}
	a = &c->access[c->accesses++];
	memset(a, 0, sizeof(*a));
	a->rid = rid;
	a->table = table;
	a->nid = hd_locate(table, rid, &a->offset);
	a->local = a->nid == c->node->nid;
	a->len = hd_shape.table[table].bytes;
	a->lines = hd_shape.table[table].stride / HD_LINE;
	a->data = c->data + c->used;
	c->used += hd_shape.table[table].stride;
	c->index[i] = (uint16_t)c->accesses;
	hd_charge(hd.work);
	return a;
}

/* Take over bytes of a line that the transaction has not written */
static void take_line(struct hd_access *a, unsigned int i, const uint8_t *from)
{
	uint8_t *to = a->data + i * HD_LINE;
	unsigned int b;

	if (!a->written[i])
		memcpy(to, from, HD_LINE);
	else
		for (b = 0; b < HD_LINE; b++)
			if (!(a->written[i] >> b & 1))
				to[b] = from[b];
	set_bit(a->valid, i);
}

/* ---- remote lines ---- */

static void fetched(void *arg)
{
	struct fetch *f = arg;
	struct hd_client *c = f->c;
	unsigned int i;

	f->done = true;
	if (!c || c->slot != f->slot || c->gen != f->gen || c->over) {
		if (!c || f->own)
			free(f);
		return;
	}
	c->outstanding--;
	for (i = f->first; i < f->first + f->count; i++) {
		f->a->asked[i / 64] &= ~(1ULL << i % 64);
		if (!f->answer && !hd_is_set(f->a->valid, i))
			take_line(f->a, i, f->line + (i - f->first) * HD_LINE);
	}
	hd_wake(c);
	if (!f->own)
		return;
	if (f->answer == HD_SQUASHED || f->answer == HD_FULL)
		c->squashed = true;
	free(f);
}

static void send_lines(void *arg)
{
	struct fetch *f = arg;
	size_t bytes = f->answer ? 0 : (size_t)f->count * HD_LINE;

	hd_send(f->to->nid, f->from->nid, hd.header + bytes, fetched, f);
}

/* At the home node: filters, locks, then the lines */
static void serve_fetch(void *arg)
{
	struct fetch *f = arg;
	struct hd_node *y = f->to;
	uint64_t at = f->a->offset + (uint64_t)f->first * HD_LINE, time;

	f->answer = hd_home_access(y, f->from->nid, f->slot, f->gen, f->own, at,
				   (uint64_t)f->count * HD_LINE);
	memcpy(f->line, y->memory + at, (size_t)f->count * HD_LINE);
	time = hd_cycles(hd.crc + f->count * hd.filter);
	hd_busy(y->nid, hd_cycles(f->count * hd.filter));
	if (!f->answer)
		time += hd_dma(y, at / HD_LINE, f->count);
	hd_at(hdr.now + time, send_lines, f);
}

static struct fetch *post(struct hd_client *c, struct hd_access *a, unsigned int first,
			  unsigned int count, bool own)
{
	struct fetch *f = calloc(1, sizeof(*f));
	unsigned int i;

	if (!f) {
		fputs("out of memory\n", stderr);
		exit(3);
	}
	f->c = c;
	f->a = a;
	f->from = c->node;
	f->to = &hdr.node[a->nid];
	f->slot = c->slot;
	f->gen = c->gen;
	f->first = first;
	f->count = count;
	f->own = own;
	hd_charge(hd.post);
	hd_sync();
	hd_coord_touch(c->node, c->slot, a->nid, true);
	for (i = first; i < first + count; i++)
		set_bit(a->asked, i);
	c->outstanding++;
	hd_send(f->from->nid, f->to->nid, hd.header, serve_fetch, f);
	return f;
}

/* Read lines, and wait for them: 0, or RMC_TX_SQUASHED */
static int read_remote(struct hd_client *c, struct hd_access *a, unsigned int first,
		       unsigned int count)
{
	enum hd_answer answer = HD_LOCKED;
	unsigned int tries;
	struct fetch *f;

	for (tries = 0; answer == HD_LOCKED && tries < TRIES; tries++) {
		if (tries) {
			c->stats->locked++;
			hd_sleep(hd.denied);
		}
		if (is_squashed(c))
			return RMC_TX_SQUASHED;
		f = post(c, a, first, count, false);
		while (!f->done && !is_squashed(c))
			hd_wait();
		if (!f->done) {
			f->c = NULL;
			return RMC_TX_SQUASHED;
		}
		answer = f->answer;
		free(f);
	}
	c->stats->full += answer == HD_FULL;
	if (answer)
		return hd_tx_squash(c);
	hd_charge(hd.poll + hd.llc + (uint64_t)(count - 1) * hd.llc / hd.overlap);
	return is_squashed(c) ? RMC_TX_SQUASHED : 0;
}

/* Lines first to last, both included, as the transaction sees them */
static int need_remote(struct hd_client *c, struct hd_access *a, unsigned int first,
		       unsigned int last)
{
	unsigned int i;

	for (i = first; i <= last; i++)
		while (hd_is_set(a->asked, i) && !is_squashed(c))
			hd_wait();
	while (first <= last && hd_is_set(a->valid, first))
		first++;
	while (last > first && hd_is_set(a->valid, last))
		last--;
	if (first > last)
		return is_squashed(c) ? RMC_TX_SQUASHED : 0;
	return read_remote(c, a, first, last - first + 1);
}

/* ---- own lines ---- */

/*
 * HADES without tags and local filters: by its own adapter. So are transactions that lock in
 * advance, and those of which a line was evicted: it would be again.
 */
static enum hd_answer own_by_adapter(struct hd_client *c, uint64_t line, bool write)
{
	hd_charge(hd.post + hd.poll + hd_cycles(hd.crc + hd.filter));
	hd_sync();
	hd_coord_touch(c->node, c->slot, c->node->nid, true);
	return hd_home_access(c->node, c->node->nid, c->slot, c->gen, write, line * HD_LINE,
			      HD_LINE);
}

/* HADES: one line's checks: 0, or RMC_TX_SQUASHED */
static int own_line(struct hd_client *c, struct hd_access *a, unsigned int i, bool write)
{
	uint64_t line = a->offset / HD_LINE + i;
	bool by_adapter = c->in_advance || c->evicted;
	enum hd_answer answer = HD_LOCKED;
	unsigned int tries, out;

	for (tries = 0; answer == HD_LOCKED; tries++) {
		if (tries == TRIES)
			return hd_tx_squash(c);
		if (tries) {
			c->stats->locked++;
			hd_sleep(hd.denied);
		}
		if (is_squashed(c))
			return RMC_TX_SQUASHED;
		answer = by_adapter ? own_by_adapter(c, line, write) :
			 hd_home_local(c->node, c->slot, line, write);
	}
	if (answer) {
		c->stats->eager++;
		return hd_tx_squash(c);
	}
	if (write) {
		set_bit(a->owned, i);
		out = by_adapter ? 0 : hd_speculative(c->node, line, c->slot);
		if (out)
			hd_home_squash(c->node, out - 1);
	} else {
		take_line(a, i, c->node->memory + a->offset + (uint64_t)i * HD_LINE);
	}
	return is_squashed(c) ? RMC_TX_SQUASHED : 0;
}

static int need_own(struct hd_client *c, struct hd_access *a, unsigned int first,
		    unsigned int last, bool write)
{
	uint64_t *have = write ? a->owned : a->valid;
	unsigned int i, count = 0, from = first;
	int err = 0;

	for (i = first; i <= last; i++)
		if (!hd_is_set(have, i)) {
			from = count ? from : i;
			count++;
		}
	if (!count) {
		hd_charge(hd.l1);
		return is_squashed(c) ? RMC_TX_SQUASHED : 0;
	}
	hd_coord_touch(c->node, c->slot, c->node->nid, false);
	hd_charge(hd_touch(c, HD_SEGMENT, a->offset / HD_LINE + from, count, true) +
		  hd_cycles(hd.crc));
	hd_sync();
	for (i = first; i <= last && !err; i++)
		if (!hd_is_set(have, i))
			err = own_line(c, a, i, write);
	return err;
}

/* HADES-H: the record by software */
static int copy_own(struct hd_client *c, struct hd_access *a)
{
	unsigned int tries, i;
	bool locked = true;

	if (a->copied) {
		hd_charge(hd.again + hd.l1);
		return is_squashed(c) ? RMC_TX_SQUASHED : 0;
	}
	hd_charge(hd.set + (uint64_t)a->lines * hd.strip_line +
		  hd_touch(c, HD_SEGMENT, a->offset / HD_LINE, a->lines, false));
	hd_sync();
	for (tries = 0; locked; tries++) {
		if (tries == TRIES)
			return hd_tx_squash(c);
		if (tries) {
			c->stats->locked++;
			hd_sleep(hd.denied);
		}
		if (is_squashed(c))
			return RMC_TX_SQUASHED;
		for (i = 0, locked = false; i < a->lines && !locked; i++)
			locked = hd_home_locked(c->node, a->offset / HD_LINE + i, c->slot,
						c->has_locks);
	}
	memcpy(a->data, c->node->memory + a->offset, (size_t)a->lines * HD_LINE);
	memcpy(&a->version, a->data, sizeof(a->version));
	a->copied = true;
	a->valid[0] = ~0ULL;
	a->valid[1] = ~0ULL;
	return 0;
}

/* ---- both ---- */

static int need(struct hd_client *c, struct hd_access *a, size_t from, size_t len)
{
	unsigned int first = (unsigned int)(from / HD_LINE), i;
	unsigned int last = (unsigned int)((from + (len ? len - 1 : 0)) / HD_LINE);

	if (is_squashed(c))
		return RMC_TX_SQUASHED;
	/* the head says whether it is present */
	if (!hd_is_set(a->valid, 0))
		first = 0;
	for (i = first; i <= last; i++)
		set_bit(a->wanted, i);
	if (!a->local)
		return need_remote(c, a, first, last);
	return hdr.system == HD_HADES ? need_own(c, a, first, last, false) : copy_own(c, a);
}

static bool present(const struct hd_access *a)
{
	return a->data[8] & 1;
}

int hd_tx_get(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, size_t len,
	      const void **data)
{
	struct hd_access *a = find(c, table, rid);
	int err = need(c, a, HD_HEAD + field, len);

	if (err)
		return err;
	if (!present(a))
		return -ENOENT;
	*data = a->data + HD_HEAD + field;
	return 0;
}

static uint64_t mask_of(size_t from, size_t end, unsigned int i)
{
	size_t first = (size_t)i * HD_LINE;
	uint64_t mask = ~0ULL;

	if (from > first)
		mask &= ~0ULL << (from - first);
	if (end < first + HD_LINE)
		mask &= ~(~0ULL << (end - first));
	return mask;
}

/* A line that is written in part is inserted at its home, and fetched; nobody waits */
static void own_remote(struct hd_client *c, struct hd_access *a, unsigned int i, uint64_t mask)
{
	if (mask == ~0ULL || hd_is_set(a->owned, i))
		return;
	set_bit(a->owned, i);
	post(c, a, i, 1, true);
}

/* Bytes of the record, head included, change */
static int change(struct hd_client *c, struct hd_access *a, size_t from, const void *data,
		  size_t len)
{
	unsigned int first = (unsigned int)(from / HD_LINE), i;
	unsigned int last = (unsigned int)((from + len - 1) / HD_LINE);
	uint64_t mask;
	int err = 0;

	if (is_squashed(c))
		return RMC_TX_SQUASHED;
	if (a->local && hdr.system == HD_HADES)
		err = need_own(c, a, first, last, true);
	else if (a->local) {
		err = copy_own(c, a);
		hd_charge(a->written[first] ? hd.again :
			  (uint64_t)(last - first + 1) * hd.write_line);
	}
	if (err)
		return err;
	for (i = first; i <= last; i++) {
		mask = mask_of(from, from + len, i);
		if (!a->local) {
			if (i == first || i == last)
				own_remote(c, a, i, mask);
			hd_coord_touch(c->node, c->slot, a->nid, false);
		}
		a->written[i] |= mask;
		if (a->written[i] == ~0ULL)
			set_bit(a->valid, i);
	}
	memmove(a->data + from, data, len);
	return 0;
}

int hd_tx_put(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, const void *data,
	      size_t len)
{
	return change(c, find(c, table, rid), HD_HEAD + field, data, len);
}

static int set_present(struct hd_client *c, struct hd_access *a)
{
	uint32_t incarnation;

	memcpy(&incarnation, a->data + 8, sizeof(incarnation));
	incarnation++;
	return change(c, a, 8, &incarnation, sizeof(incarnation));
}

int hd_tx_insert(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len)
{
	struct hd_access *a = find(c, table, rid);
	uint8_t whole[RMC_TX_RECORD_MAX];
	int err = need(c, a, 0, HD_HEAD);

	if (err)
		return err;
	if (present(a))
		return -EEXIST;
	memmove(whole, data, len);
	memset(whole + len, 0, a->len - len);
	err = set_present(c, a);
	return err ? err : change(c, a, HD_HEAD, whole, a->len);
}

int hd_tx_delete(struct hd_client *c, uint32_t table, uint64_t rid)
{
	struct hd_access *a = find(c, table, rid);
	int err = need(c, a, 0, HD_HEAD);

	if (err)
		return err;
	return present(a) ? set_present(c, a) : -ENOENT;
}

int hd_tx_load(uint32_t table, uint64_t rid, const void *data, size_t len)
{
	uint64_t offset;
	unsigned int nid = hd_locate(table, rid, &offset);
	uint8_t *to = hdr.node[nid].memory + offset;

	memcpy(to + HD_HEAD, data, len);
	memset(to + HD_HEAD + len, 0, hd_shape.table[table].bytes - len);
	to[8] |= 1;
	return 0;
}

int hd_tx_peek(uint32_t table, uint64_t rid, void *data)
{
	uint64_t offset;
	unsigned int nid = hd_locate(table, rid, &offset);
	const uint8_t *from = hdr.node[nid].memory + offset;

	memcpy(data, from + HD_HEAD, hd_shape.table[table].bytes);
	return from[8] & 1 ? 0 : -ENOENT;
}
