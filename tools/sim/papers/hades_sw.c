// SPDX-License-Identifier: GPL-2.0
/*
 * SW-Impl in the model (hades.h): lib/tx as it is. Its files sw.c and sw_commit.c are compiled once
 * more, with the same functions, which are charged beside; the rest is the library's. Operations of
 * a queue pair are messages here: this file is in the place of lib/tx/post.c. Nothing gets lost, so
 * its steps after lost replies are not here. Each coroutine has a database of its own, and its
 * number is in the locks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/tx/sw.h"
#include "lib/tx/store.h"
#include "hades.h"

#define ENTRIES		1024
#define RELAX		200000		/* ps, of a step of lib/tx's back-off */

static size_t lines_of(size_t len)
{
	return record_bytes(len) / HD_LINE;
}

/* ---- functions of record.h, charged ---- */

static uint64_t line_of(const struct hd_node *n, const void *record)
{
	return (uint64_t)((const uint8_t *)record - n->memory) / HD_LINE;
}

static int charged_strip(const void *image, void *data, size_t len, struct record *r)
{
	size_t n = lines_of(len);

	hd_charge(hd.llc + (n - 1) * hd.llc / hd.overlap + n * hd.strip_line);
	return record_strip(image, data, len, r);
}

static int charged_copy(const struct record *from, void *data, size_t len, struct record *r)
{
	size_t n = lines_of(len);

	hd_charge(hd_touch(hdr.self, HD_SEGMENT, line_of(hdr.self->node, from), (unsigned int)n,
			   false) + n * hd.strip_line);
	hd_sync();
	return record_copy(from, data, len, r);
}

static void commits(void)
{
	if (!hdr.self->committing)
		hdr.self->committing = hd_time();
}

static void charged_image(void *image, const void *data, size_t len, uint64_t version,
			  uint32_t incarnation)
{
	commits();
	hd_charge(lines_of(len) * hd.version_line);
	record_image(image, data, len, version, incarnation);
}

static void charged_store(struct record *r, const void *data, size_t len, uint64_t version,
			  uint32_t incarnation)
{
	size_t n = lines_of(len);

	commits();
	hd_charge(hd_touch(hdr.self, HD_SEGMENT, line_of(hdr.self->node, r), (unsigned int)n,
			   false) + n * hd.version_line);
	hd_sync();
	record_store(r, data, len, version, incarnation);
}

static bool charged_swap(struct record *r, uint64_t *word, uint64_t desired)
{
	hd_charge(hd_touch(hdr.self, HD_SEGMENT, line_of(hdr.self->node, r), 1, false) + hd.swap);
	hd_sync();
	return record_swap(r, word, desired);
}

#define record_strip		charged_strip
#define record_copy		charged_copy
#define record_image		charged_image
#define record_store		charged_store
#define record_swap		charged_swap
#define rmc_tx_sw		model_sw
#define rmc_tx_sw_fetch		model_fetch
#define rmc_tx_sw_read		model_read
#define rmc_tx_sw_check		model_check
#define rmc_tx_sw_commit	model_commit
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
int model_fetch(struct rmc_tx *t, struct tx_access *a);
int model_read(struct rmc_tx *t, struct tx_access *a);
int model_check(struct rmc_tx *t);
int model_commit(struct rmc_tx *t);
#include "lib/tx/sw.c"
#include "lib/tx/sw_commit.c"
#pragma GCC diagnostic pop
#undef record_strip
#undef record_copy
#undef record_image
#undef record_store
#undef record_swap
#undef rmc_tx_sw
#undef rmc_tx_sw_fetch
#undef rmc_tx_sw_read
#undef rmc_tx_sw_check
#undef rmc_tx_sw_commit

/* ---- in the place of post.c ---- */

/* An operation on its way */
struct operation {
	struct hd_client *c;
	struct tx_access *a;
	struct hd_node *to;
	enum tx_op_kind kind;
	uint64_t seen;
};

static bool is_awaited(enum tx_op_kind kind)
{
	return kind == TX_OP_READ || kind == TX_OP_LOCK || kind == TX_OP_CHECK ||
	       kind == TX_OP_CLEAR;
}

static void completed(void *arg)
{
	struct operation *o = arg;
	struct tx_access *a = o->a;

	a->status = 0;
	if (is_awaited(o->kind))
		a->set->awaited--;
	else
		a->set->pending--;
	if (o->kind == TX_OP_LOCK) {
		*a->seen = o->seen;
		a->held = o->seen == a->word ? TX_HELD : TX_NOT_HELD;
	} else if (o->kind == TX_OP_CHECK) {
		*a->seen = o->seen;
	} else if (o->kind == TX_OP_WRITE || o->kind == TX_OP_UNLOCK) {
		a->held = TX_NOT_HELD;
	}
	hd_wake(o->c);
	free(o);
}

static size_t reply_bytes(const struct operation *o)
{
	switch (o->kind) {
	case TX_OP_READ:
		return lines_bytes(o->a->len);
	case TX_OP_WRITE:
		return 0;
	default:
		return sizeof(uint64_t);
	}
}

static void send_reply(void *arg)
{
	struct operation *o = arg;

	hd_send(o->to->nid, o->c->node->nid, hd.header + reply_bytes(o), completed, o);
}

/* In the adapter of the record's node */
static void served(void *arg)
{
	struct operation *o = arg;
	struct tx_access *a = o->a;
	uint8_t *memory = o->to->memory + a->offset;
	unsigned int lines = o->kind == TX_OP_READ || o->kind == TX_OP_WRITE ?
			     (unsigned int)lines_of(a->len) : 1;

	memcpy(&o->seen, memory, sizeof(o->seen));
	if (o->kind == TX_OP_READ) {
		memcpy(a->image, memory, lines_bytes(a->len));
	} else if (o->kind == TX_OP_WRITE) {
		memcpy(memory, a->image, lines_bytes(a->len));
	} else if (o->kind == TX_OP_LOCK) {
		if (o->seen == a->word)
			memcpy(memory, &a->lock, sizeof(a->lock));
	} else if (o->kind == TX_OP_UNLOCK || o->kind == TX_OP_CLEAR) {
		uint64_t word = o->kind == TX_OP_CLEAR ? record_version(a->lock) : a->word;

		if (o->seen == a->lock)
			memcpy(memory, &word, sizeof(word));
	}
	hd_at(hdr.now + hd_dma(o->to, a->offset / HD_LINE, lines), send_reply, o);
}

int rmc_tx_post(struct rmc_tx_db *db, enum tx_op_kind kind, struct tx_access *a)
{
	struct hd_client *c = hdr.self;
	struct operation *o = malloc(sizeof(*o));
	size_t bytes = kind == TX_OP_WRITE ? lines_bytes(a->len) :
		       kind == TX_OP_READ || kind == TX_OP_CHECK ? 0 : 2 * sizeof(uint64_t);

	if (!o)
		return -ENOMEM;
	*o = (struct operation) { .c = c, .a = a, .to = &hdr.node[a->member], .kind = kind };
	if (is_awaited(kind))
		a->set->awaited++;
	else
		a->set->pending++;
	db->stats.reads += kind == TX_OP_READ;
	db->stats.locks += kind == TX_OP_LOCK;
	db->stats.checks += kind == TX_OP_CHECK;
	db->stats.writes += kind == TX_OP_WRITE;
	db->stats.unlocks += kind == TX_OP_UNLOCK || kind == TX_OP_CLEAR;
	hd_charge(hd.post);
	hd_sync();
	hd_send(c->node->nid, o->to->nid, hd.header + bytes, served, o);
	return 0;
}

int rmc_tx_poll(struct rmc_tx_db *db)
{
	return 0;
}

int rmc_tx_relax(struct rmc_tx_db *db, unsigned int *spins)
{
	hd_sleep(RELAX);
	return 0;
}

int rmc_tx_await_until(struct rmc_tx_db *db, const uint32_t *counter, uint64_t until)
{
	while (*counter)
		hd_wait();
	hd_charge(hd.poll);
	return 0;
}

int rmc_tx_await(struct rmc_tx_db *db, const uint32_t *counter)
{
	return rmc_tx_await_until(db, counter, UINT64_MAX);
}

int rmc_tx_pause(struct rmc_tx_db *db, uint64_t ns)
{
	hd_sleep(ns * 1000);
	return 0;
}

/* The row of SW-Impl names them; operations and their replies are above */
void rmc_tx_sw_issue(struct rmc_tx_db *db, int slot, enum tx_op_kind kind, struct tx_access *a)
{
}

void rmc_tx_sw_completed(struct rmc_tx_db *db, const struct tx_op *op, int slot)
{
}

void rmc_tx_sw_repeat(struct rmc_tx_db *db)
{
}

uint64_t rmc_tx_limit(const struct rmc_tx_db *db)
{
	return UINT64_MAX;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns = hd_time() / 1000;

	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

/* ---- for hades_api.c ---- */

static struct rmc_qp_flags alive;

/* What a coroutine has of lib/tx */
struct sw {
	struct rmc_team team;
	struct rmc_qp qp;
	struct tx_system row;
	struct rmc_tx_db *db;
	struct rmc_tx *t;
	uint8_t *memory;
	uint8_t *slot;
};

static struct rmc_tx_options options_of(const struct rmc_tx_table *t, unsigned int tables)
{
	return (struct rmc_tx_options) {
		.table = t, .tables = tables, .records = 64, .slots = 1, .attempts = UINT32_MAX,
		.backoff_ns = hd.backoff / 1000,
	};
}

/**
 * hd_sw_bytes() - memory of a node
 * @nodes: nodes
 * @t: tables
 * @tables: their number
 *
 * Return: bytes, whole lines.
 */
size_t hd_sw_bytes(unsigned int nodes, const struct rmc_tx_table *t, unsigned int tables)
{
	struct rmc_tx_options o = options_of(t, tables);

	return (rmc_tx_bytes((int)nodes, &o) + HD_LINE - 1) / HD_LINE * HD_LINE;
}

/**
 * hd_sw_open() - a database for a coroutine
 * @c: coroutine, with its node
 * @t: tables
 * @tables: their number
 * @records: that a transaction accesses at most
 *
 * Return: 0, or -1.
 */
int hd_sw_open(struct hd_client *c, const struct rmc_tx_table *t, unsigned int tables,
	       uint32_t records)
{
	struct rmc_tx_options o = options_of(t, tables);
	struct sw *s = calloc(1, sizeof(*s));
	uint32_t i, largest = 0;
	size_t bytes;

	if (!s)
		return -1;
	o.records = records;
	o.at = c->at;
	for (i = 0; i < tables; i++)
		largest = t[i].bytes > largest ? t[i].bytes : largest;
	bytes = 2 * (size_t)records * (record_bytes(largest) + sizeof(uint64_t)) +
		2 * HD_LINE + 8192;
	bytes = (bytes + 4095) / 4096 * 4096;
	s->memory = aligned_alloc(4096, bytes);
	if (s->memory)
		memset(s->memory, 0, bytes);
	s->slot = calloc(ENTRIES, 1);
	s->qp = (struct rmc_qp) { .flags = &alive, .slot = s->slot, .entries = ENTRIES };
	s->team = (struct rmc_team) {
		.nodes = (int)hdr.nodes, .self = (int)c->node->nid, .seg = c->node->memory,
		.len = c->node->bytes,
	};
	/* each coroutine of a node opens it: the store's mark is of the one before */
	memset(c->node->memory + c->at, 0, sizeof(struct tx_store));
	s->db = s->memory && s->slot ? rmc_tx_open_on(&s->team, &o, &s->qp, s->memory) : NULL;
	if (!s->db) {
		fprintf(stderr, "%s\n", rmc_errmsg());
		return -1;
	}
	s->row = model_sw;
	s->db->system = &s->row;
	s->db->nid = (int)c->number;
	s->db->seed = c->random | 1;
	c->sw = s;
	c->db = s->db;
	return 0;
}

void hd_sw_close(struct hd_client *c)
{
	struct sw *s = c->sw;

	if (!s)
		return;
	rmc_tx_close(s->db);
	free(s->memory);
	free(s->slot);
	free(s);
	c->sw = NULL;
}

static int body(struct rmc_tx *t, void *arg)
{
	struct hd_client *c = arg;
	struct sw *s = c->sw;

	s->t = t;
	c->squashes++;
	c->validating = 0;
	c->committing = 0;
	hd_charge(hd.begin);
	return c->fn(c, c->arg);
}

static int commit(struct rmc_tx *t)
{
	struct hd_client *c = hdr.self;
	uint64_t reads = 0, writes = 0;
	uint32_t i;

	c->validating = hd_time();
	for (i = 0; i < t->s->n; i++) {
		reads += lines_of(t->s->access[i].len);
		writes += t->s->access[i].written ? lines_of(t->s->access[i].len) : 0;
		hd_charge(hd.check);
	}
	c->stats->most_read = reads > c->stats->most_read ? reads : c->stats->most_read;
	c->stats->most_written = writes > c->stats->most_written ? writes : c->stats->most_written;
	return model_commit(t);
}

/**
 * hd_sw_run() - rmc_tx_run()
 * @c: coroutine
 * @fn: function, which gets @c
 * @arg: of @fn
 *
 * Return: as rmc_tx_run().
 */
int hd_sw_run(struct hd_client *c, int (*fn)(void *t, void *arg), void *arg)
{
	struct sw *s = c->sw;
	int err;

	s->row.commit = commit;
	c->fn = fn;
	c->arg = arg;
	c->squashes = 0;
	err = rmc_tx_run(s->db, body, c);
	c->squashes -= c->squashes != 0;
	hd_sync();
	return err;
}

/* Before and after a call: what the set's management takes */
static uint32_t set_size(const struct sw *s)
{
	return s->t->state == TX_ACTIVE ? s->t->s->n : 0;
}

static void charge_set(const struct sw *s, uint32_t before)
{
	if (s->t->state != TX_ACTIVE)
		return;
	if (s->t->s->n > before)
		hd_charge(hd.set + hd.work + hd.extra);
	else
		hd_charge(hd.again);
}

int hd_sw_get(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, size_t len,
	      const void **data)
{
	struct rmc_tx_addr at = { rid, table, field };
	struct sw *s = c->sw;
	uint32_t n = set_size(s);
	int err = rmc_tx_get(s->t, at, len, data);

	charge_set(s, n);
	return err;
}

/* A record that is written for the first time is copied into the write set */
static void charge_write(struct sw *s, uint32_t table, uint64_t rid, bool first)
{
	if (s->t->state == TX_ACTIVE && first)
		hd_charge(lines_of(s->db->shape.table[table].bytes) * hd.write_line);
}

static bool is_first(struct sw *s, uint32_t table, uint64_t rid)
{
	uint32_t i;

	if (s->t->state != TX_ACTIVE)
		return false;
	for (i = 0; i < s->t->s->n; i++)
		if (s->t->s->access[i].rid == rid && s->t->s->access[i].table == table)
			return !s->t->s->access[i].written;
	return true;
}

int hd_sw_put(struct hd_client *c, uint32_t table, uint64_t rid, uint32_t field, const void *data,
	      size_t len)
{
	struct rmc_tx_addr at = { rid, table, field };
	struct sw *s = c->sw;
	uint32_t n = set_size(s);
	bool first = is_first(s, table, rid);
	int err = rmc_tx_put(s->t, at, data, len);

	charge_set(s, n);
	charge_write(s, table, rid, first);
	return err;
}

int hd_sw_insert(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len)
{
	struct rmc_tx_addr at = { rid, table, 0 };
	struct sw *s = c->sw;
	uint32_t n = set_size(s);
	bool first = is_first(s, table, rid);
	int err = rmc_tx_insert(s->t, at, data, len);

	charge_set(s, n);
	charge_write(s, table, rid, first);
	return err;
}

int hd_sw_delete(struct hd_client *c, uint32_t table, uint64_t rid)
{
	struct rmc_tx_addr at = { rid, table, 0 };
	struct sw *s = c->sw;
	uint32_t n = set_size(s);
	int err = rmc_tx_delete(s->t, at);

	charge_set(s, n);
	return err;
}

int hd_sw_load(struct hd_client *c, uint32_t table, uint64_t rid, const void *data, size_t len)
{
	struct rmc_tx_addr at = { rid, table, 0 };
	struct sw *s = c->sw;

	return rmc_tx_load(s->db, at, data, len);
}

/* Nothing runs */
int hd_sw_peek(struct hd_client *c, uint32_t table, uint64_t rid, void *data)
{
	struct rmc_tx_addr at = { rid, table, 0 };
	struct sw *s = c->sw;
	struct record r;
	uint64_t offset;
	int member, err;

	if (rmc_tx_locate(s->db, at, &member, &offset))
		return -EINVAL;
	err = record_strip(hdr.node[member].memory + c->at + offset, data,
			   s->db->shape.table[table].bytes, &r);
	return err ? -EPROTO : record_present(r.incarnation) ? 0 : -ENOENT;
}
