// SPDX-License-Identifier: GPL-2.0
/*
 * SW-Impl without some of its parts: see tx_pass.h. The copies of sw.c and sw_commit.c below call
 * the functions of this file where a part is:
 *
 *	part		omitted by
 *	sets		bare_access(), bare_put(): no table of what was accessed, no copy of what
 *			will be written: it goes into the image, or at commit into the own record
 *	version		pass_image(), pass_store(): no version of a line is stored, and so data are
 *			copied in one piece
 *	atomicity	pass_strip(), pass_copy(): no version of a line is compared, and what is
 *			only read is used where it lies
 *	read		pass_post(): no read of a record that will be written; what is compared and
 *			copied is a record that was there before
 *	conflicts	pass_commit(): no locks and no validation
 *
 * Nobody else uses the records, so a transaction commits without them, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/tx/sw.h"
#include "tx_pass.h"

#define SLOTS	4U		/* writes of the last seven transactions may be on their way */

static uint32_t omit;
static bool together;
static bool writing;		/* the request that is executed now */
static uint64_t omitted[TX_PARTS];
static const uint8_t payload[TX_BYTES];		/* what is written: zeros, as everything is */
static uint8_t cached[2 * TX_BYTES] __attribute__((__aligned__(LINE)));	/* any record */
static volatile uint64_t sink;

static bool without(enum tx_part part)
{
	if (!(omit & 1U << part))
		return false;
	omitted[part]++;
	return true;
}

static void failed(const char *what, int err)
{
	fprintf(stderr, "tx_bench: %s: %d\n", what, err);
	exit(3);
}

/* --- a record without a part --- */

/* Without versions of lines, data are in one piece. They are zeros, so lines have version 0. */
static void store_data(uint8_t *record, const void *data, size_t at, size_t len)
{
	copy_in(record + sizeof(struct record) + at, data, len);
}

/* Some of the data, where they lie in the record */
static void store_field(uint8_t *record, const uint8_t *data, size_t at, size_t len)
{
	if (omit & 1U << TX_PART_VERSION) {
		store_data(record, data, at, len);
		return;
	}
	while (len) {
		size_t i = at < FIRST_DATA ? 0 : 1 + (at - FIRST_DATA) / LINE_DATA;
		size_t off = i ? sizeof(uint16_t) + (at - FIRST_DATA) % LINE_DATA :
			     sizeof(struct record) + at;
		size_t n = LINE - off < len ? LINE - off : len;

		copy_in(record + i * LINE + off, data, n);
		data += n;
		at += n;
		len -= n;
	}
}

static void store_versions(uint8_t *record, size_t len, uint64_t version)
{
	size_t bytes = lines_bytes(len), at;

	for (at = LINE; at < bytes; at += LINE) {
		rmc_store_relaxed(line_version(record + at), (uint16_t)(version - 1));
		__atomic_thread_fence(__ATOMIC_RELEASE);
		rmc_store_release(line_version(record + at), (uint16_t)version);
	}
}

static int compare_versions(const uint8_t *record, size_t len, uint16_t version)
{
	unsigned int differ = 0;
	size_t bytes = lines_bytes(len), at;

	for (at = LINE; at < bytes; at += LINE)
		differ |= version ^ rmc_load_acquire((const uint16_t *)(record + at));
	return differ ? RMC_SCHEME_TORN : 0;
}

/* --- in place of functions of record.h and post.c --- */

/* Data and versions of an image, or of an own record whose word is not locked */
static int pass_lines(const uint8_t *from, void *data, size_t len, uint16_t version, bool own)
{
	bool loose = without(TX_PART_ATOMICITY);

	if (writing && omit & 1U << TX_PART_SETS)
		return loose ? 0 : compare_versions(from, len, version);
	if (!loose)
		return own ? lines_strip_object(from, (uint8_t *)data, len, version) :
		       lines_strip_image(from, (uint8_t *)data, len, version);
	if (writing)		/* to the write set */
		memcpy(data, from + sizeof(struct record), len);
	return 0;
}

/* What was not read is taken from elsewhere, with the word that the record has */
static bool unread(struct record *r)
{
	if (!writing || !(omit & 1U << TX_PART_READ))
		return false;
	r->word = 0;
	r->incarnation = 1;
	return true;
}

static int pass_strip(const void *image, void *data, size_t len, struct record *r)
{
	int err;

	memcpy(r, image, sizeof(*r));
	if (rmc_unlikely(record_locked(r->word)))
		return RMC_SCHEME_LOCKED;
	err = pass_lines((const uint8_t *)image, data, len, (uint16_t)r->word, false);
	unread(r);
	return err;
}

static int pass_copy(const struct record *from, void *data, size_t len, struct record *r)
{
	int err;

	if (writing && without(TX_PART_READ))
		from = (const struct record *)cached;
	r->word = rmc_load_acquire(&from->word);
	if (rmc_unlikely(record_locked(r->word)))
		return RMC_SCHEME_LOCKED;
	r->incarnation = rmc_load_relaxed(&from->incarnation);
	r->zero = 0;
	err = pass_lines((const uint8_t *)from, data, len, (uint16_t)r->word, true);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	err = err || rmc_load_relaxed(&from->word) != r->word ? RMC_SCHEME_TORN : 0;
	unread(r);
	return err;
}

static uint64_t stored_version(uint64_t version)
{
	return without(TX_PART_VERSION) ? (version - RECORD_STEP) & RECORD_VERSION : version;
}

static void pass_image(void *image, const void *data, size_t len, uint64_t version,
		       uint32_t incarnation)
{
	struct record r = { stored_version(version), incarnation, 0 };

	if (omit & 1U << TX_PART_SETS) {
		if (r.word == version)
			store_versions((uint8_t *)image, len, version);
	} else if (r.word == version) {
		lines_store((uint8_t *)image, data, len, (uint16_t)(version - 1));
	} else {
		store_data((uint8_t *)image, data, 0, len);
	}
	memcpy(image, &r, sizeof(r));
}

/* Without a write set, data only say which field of an own record is written: see bare_put() */
static void pass_store(struct record *r, const void *data, size_t len, uint64_t version,
		       uint32_t incarnation)
{
	uint64_t stored = stored_version(version);
	uint32_t field;

	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (omit & 1U << TX_PART_SETS) {
		memcpy(&field, data, sizeof(field));
		store_field((uint8_t *)r, payload, field, TX_FIELD);
		if (stored == version)
			store_versions((uint8_t *)r, len, version);
	} else if (stored == version) {
		lines_store((uint8_t *)r, data, len, (uint16_t)(version - 1));
	} else {
		store_data((uint8_t *)r, data, 0, len);
	}
	rmc_store_relaxed(&r->incarnation, incarnation);
	rmc_store_release(&r->word, stored);
}

static int pass_post(struct rmc_tx_db *db, enum tx_op_kind kind, struct tx_access *a)
{
	if (kind == TX_OP_READ && writing && without(TX_PART_READ)) {
		a->status = 0;
		return 0;
	}
	return rmc_tx_post(db, kind, a);
}

/* --- the copies --- */

int copy_of_check(struct rmc_tx *t);
int copy_of_commit(struct rmc_tx *t);

#define record_strip		pass_strip
#define record_copy		pass_copy
#define record_image		pass_image
#define record_store		pass_store
#define rmc_tx_post		pass_post
#define rmc_tx_sw		copy_of_sw
#define rmc_tx_sw_fetch		copy_of_fetch
#define rmc_tx_sw_read		copy_of_read
#define rmc_tx_sw_check		copy_of_check
#define rmc_tx_sw_commit	copy_of_commit
#include "lib/tx/sw.c"
#include "lib/tx/sw_commit.c"
#undef record_strip
#undef record_copy
#undef record_image
#undef record_store
#undef rmc_tx_post
#undef rmc_tx_sw
#undef rmc_tx_sw_fetch
#undef rmc_tx_sw_read
#undef rmc_tx_sw_check
#undef rmc_tx_sw_commit

static uint8_t *in_place(const struct tx_access *a)
{
	return (a->local ? (uint8_t *)a->local : a->image) + sizeof(struct record);
}

static int pass_read(struct rmc_tx *t, struct tx_access *a)
{
	int err = copy_of_read(t, a);

	/* without a set the access keeps its memory from transaction to transaction */
	if (!writing && (omit & (1U << TX_PART_ATOMICITY | 1U << TX_PART_SETS)) ==
			1U << TX_PART_ATOMICITY)
		a->data = in_place(a);
	return err;
}

/* As rmc_tx_sw_commit() */
static int pass_commit(struct rmc_tx *t)
{
	struct tx_set *s = t->s;
	bool sets = !without(TX_PART_SETS), conflicts = !without(TX_PART_CONFLICTS);
	int err = 0;

	if (sets)
		rmc_tx_set_collect(s);
	if (conflicts && s->writes) {
		err = lock_all(t);
		if (!err)
			err = locks_failed(t);
	}
	if (conflicts && !err && (s->writes || s->n > 1))
		err = validate(t, 0);
	if (err)
		failed("a commit without some part", err);
	err = s->writes ? commit_writes(t) : rmc_tx_committed(t);
	if (!sets)
		s->n = 0;		/* nothing that rmc_tx_set_clear() has to do */
	return err;
}

/* --- a transaction --- */

static struct rmc_team team;
static struct rmc_tx_db *db;
static struct tx_system row;
static uint8_t *node_memory[2];

static const struct rmc_tx_table table = { .records = TX_RECORDS, .bytes = TX_BYTES };
static const struct rmc_tx_options options = { .table = &table, .tables = 1, .slots = SLOTS };

size_t tx_pass_segment(void)
{
	return rmc_tx_bytes(2, &options);
}

size_t tx_pass_memory(void)
{
	/* more than rmc_tx_memory(), which needs a database */
	return (size_t)2 * SLOTS * 64 * 2 * TX_BYTES;
}

static struct record *record_of(uint64_t rid)
{
	uint64_t at;
	int member;

	if (rmc_tx_locate(db, rmc_tx_record(0, rid), &member, &at))
		failed("there is no such record", (int)rid);
	return (struct record *)(node_memory[member] + at);
}

static void initial(void *record)
{
	record_image(record, payload, TX_BYTES, 0, 1);
}

void tx_pass_open(struct rmc_qp *qp, void *memory, void *own, void *other)
{
	uint64_t rid;

	team = (struct rmc_team){ .nodes = 2, .seg = own, .len = tx_pass_segment() };
	node_memory[0] = (uint8_t *)own;
	node_memory[1] = (uint8_t *)other;
	db = rmc_tx_open_on(&team, &options, qp, memory);
	if (!db || rmc_tx_memory(db) > tx_pass_memory())
		failed(rmc_errmsg(), 0);
	row = copy_of_sw;
	row.read = pass_read;
	row.fetch = copy_of_fetch;
	row.commit = pass_commit;
	initial(cached);
	for (rid = 0; rid < TX_RECORDS; rid++)
		initial(record_of(rid));
}

void tx_pass_close(void)
{
	rmc_tx_close(db);
}

/* Accesses without a set: what stays the same from transaction to transaction */
static void prepare_set(struct tx_set *s)
{
	uint32_t i;

	rmc_tx_set_clear(s);
	for (i = 0; i < TX_REQUESTS; i++) {
		struct tx_access *a = &s->access[i];

		memset(a, 0, sizeof(*a));
		a->len = TX_BYTES;
		a->image = s->image + (size_t)i * record_bytes(TX_BYTES);
		a->data = s->data + (size_t)i * record_bytes(TX_BYTES);
		a->seen = &s->seen[i];
		a->set = s;
		initial(a->image);
	}
}

void tx_pass_choose(uint32_t parts, bool at_once)
{
	unsigned int i;

	omit = parts & TX_ALL;
	together = at_once;
	memset(omitted, 0, sizeof(omitted));
	db->system = parts & TX_LIBRARY ? &rmc_tx_sw : parts ? &row : &copy_of_sw;
	if (rmc_tx_quiet(db))
		failed("writes do not end", 0);
	for (i = 0; i < 2 * SLOTS; i++)
		prepare_set(&db->slot[i / 2].set[i % 2]);
}

uint64_t tx_pass_omitted(enum tx_part part)
{
	return omitted[part];
}

/* As rmc_tx_set_find(), without a table */
static struct tx_access *bare_access(struct rmc_tx *t, const struct tx_request *r)
{
	struct tx_access *a = &t->s->access[t->s->n++];
	uint64_t at;

	if (rmc_tx_locate(db, rmc_tx_record(0, r->rid), &a->member, &at))
		failed("there is no such record", (int)r->rid);
	a->nid = rmc_team_nid(&team, a->member);
	a->offset = team.offset + at;
	a->local = a->member == team.self ? (struct record *)(db->base + at) : NULL;
	a->fetching = 0;
	a->read = 0;
	a->written = r->write;
	a->status = 0;
	a->held = TX_NOT_HELD;
	return a;
}

static void bare_put(struct rmc_tx *t, struct tx_access *a, const struct tx_request *r)
{
	if (a->local)
		memcpy(a->data, &r->field, sizeof(r->field));	/* for pass_store() */
	else
		store_field(a->image, payload, r->field, TX_FIELD);
	t->s->write[t->s->writes++] = a;
}

/* What an application does with a record: it reads all fields, as fast as possible */
static uint64_t __attribute__((__noinline__, optimize("O3"))) use(const void *data)
{
	const uint64_t *w = (const uint64_t *)data;
	uint64_t a = 0, b = 0, c = 0, d = 0;
	unsigned int i;

	for (i = 0; i + 4 <= TX_BYTES / sizeof(*w); i += 4) {
		a += w[i];
		b += w[i + 1];
		c += w[i + 2];
		d += w[i + 3];
	}
	for (; i < TX_BYTES / sizeof(*w); i++)
		a += w[i];
	return a + b + c + d;
}

static void bare_request(struct rmc_tx *t, const struct tx_request *r, struct tx_access *a)
{
	bool copied = !(omit & 1U << TX_PART_ATOMICITY);
	int err = pass_read(t, a);

	if (err || !record_present(a->incarnation))
		failed("a request without a set", err);
	if (r->write)
		bare_put(t, a, r);
	else
		sink += use(copied ? a->data : in_place(a));
}

static void request(struct rmc_tx *t, const struct tx_request *r)
{
	struct rmc_tx_addr record = rmc_tx_record(0, r->rid);
	const void *data;
	int err;

	if (r->write) {
		err = rmc_tx_put(t, rmc_tx_at(record, r->field), payload, TX_FIELD);
	} else {
		err = rmc_tx_get(t, record, TX_BYTES, &data);
		if (!err)
			sink += use(data);
	}
	if (err)
		failed("a request", err);
}

static void fetch(struct rmc_tx *t, const struct tx_request *r, bool bare)
{
	int err = bare ? copy_of_fetch(t, bare_access(t, r)) :
		  rmc_tx_fetch(t, rmc_tx_record(0, r->rid));

	if (err)
		failed("a read that is not waited for", err);
}

void tx_pass_run(const struct tx_request *r)
{
	bool bare = omit & 1U << TX_PART_SETS;
	struct rmc_tx *t;
	unsigned int i;
	int err;

	err = rmc_tx_begin(db, &t);
	if (err)
		failed("begin", err);
	for (i = 0; i < TX_REQUESTS && together; i++) {
		writing = r[i].write;
		fetch(t, &r[i], bare);
	}
	for (i = 0; i < TX_REQUESTS; i++) {
		writing = r[i].write;
		if (bare)
			bare_request(t, &r[i], together ? &t->s->access[i] : bare_access(t, &r[i]));
		else
			request(t, &r[i]);
	}
	err = rmc_tx_commit(t);
	if (err)
		failed("commit", err);
}

void tx_pass_restore(const struct tx_request *r, unsigned int n)
{
	bool versions = !(omit & 1U << TX_PART_VERSION);
	unsigned int i;

	if (rmc_tx_quiet(db))
		failed("writes do not end", 0);
	for (i = 0; i < n; i++) {
		struct record *record = record_of(r[i].rid);
		uint64_t word = rmc_load_acquire(&record->word);

		if (word != (r[i].write && versions ? RECORD_STEP : 0) || record->incarnation != 1)
			failed("a record has a wrong version", (int)word);
		if (!record_whole(record, TX_BYTES))
			failed("a record has lines of other versions", (int)word);
		if (r[i].write)
			initial(record);
	}
}

void tx_pass_counts(struct tx_counts *c)
{
	struct rmc_tx_stats s;

	rmc_tx_stats_sized(db, &s, sizeof(s));
	*c = (struct tx_counts){ s.reads, s.locks, s.checks, s.writes, s.unlocks, s.committed };
}
