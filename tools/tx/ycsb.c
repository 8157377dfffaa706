/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * YCSB A and B over a structure (HADES, section VII): a transaction has several requests. Each one
 * looks up a key, drawn by Zipf's law, in the structure, and reads all fields of its record, or
 * changes one of them.
 *
 *	structure	key --> number of its record	lib/ds, in blocks of the transaction
 *	record		| version, filler | version, filler | ...		a field each
 *
 * The filler follows from key, field and version, so what is torn, mixed or of another key shows. A
 * version counts the updates of its field; clients count those that they have committed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "workload.h"

enum { BLOCKS, RECORDS };
enum { READS, UPDATES, KINDS };		/* a transaction that only reads, or not */
enum { VERSIONS, COUNTED, WEIGHTED, COUNTED_WEIGHTED, BAD_FIELDS, FOUND, STRANGE, ENTRIES };

#define FIELDS		10
#define FIELD_MIN	16		/* bytes */
#define ZIPF		0.99
#define LOAD_AT_ONCE	4		/* insertions of one transaction */
#define STRIDE		2654435761ULL	/* a prime above all --keys: their order when loaded */

struct index {
	const char *name;
	uint32_t structure;
	uint32_t bytes;			/* of a block */
	uint32_t accesses;		/* blocks of one operation, at most */
	void *(*open)(struct rmc_blocks *blocks);
	void (*close)(void *s);
	int (*get)(void *s, uint64_t key, uint64_t *value);
	int (*insert)(void *s, uint64_t key, uint64_t value);
};

struct request {
	uint64_t item;
	uint64_t blind;			/* version to write, without reading the record; 0: read it */
	unsigned int field;
	bool update;
};

/* Of a client */
struct ycsb {
	const struct index *index;
	struct zipf zipf;
	struct rmc_blocks *blocks;
	void *s;
	size_t bytes;			/* of a record */
	unsigned int requests;
	struct request request[YCSB_REQUESTS_MAX];
};

/* --- structures --- */

#define OPERATIONS(NAME)								\
static void NAME##_close(void *s)							\
{											\
	rmc_##NAME##_close((struct rmc_##NAME *)s);					\
}											\
											\
static int NAME##_get(void *s, uint64_t key, uint64_t *value)				\
{											\
	return rmc_##NAME##_get((struct rmc_##NAME *)s, key, value);			\
}											\
											\
static int NAME##_insert(void *s, uint64_t key, uint64_t value)			\
{											\
	return rmc_##NAME##_insert((struct rmc_##NAME *)s, key, value);			\
}

OPERATIONS(table)
OPERATIONS(map)
OPERATIONS(tree)
OPERATIONS(btree)

static void *table_open(struct rmc_blocks *blocks)
{
	return rmc_table_open(blocks, 0);
}

static void *map_open(struct rmc_blocks *blocks)
{
	return rmc_map_open(blocks);
}

static void *tree_open(struct rmc_blocks *blocks)
{
	return rmc_tree_open(blocks, RMC_TREE_LINK);
}

static void *btree_open(struct rmc_blocks *blocks)
{
	return rmc_btree_open(blocks);
}

#define INDEX(name_, structure_, bytes_, accesses_)					\
	{ .name = #name_, .structure = structure_, .bytes = bytes_, .accesses = accesses_, \
	  .open = name_##_open, .close = name_##_close, .get = name_##_get,		\
	  .insert = name_##_insert }

static const struct index indexes[] = {
	INDEX(table, RMC_BLOCKS_TABLE, RMC_TABLE_BYTES, 16),
	/* as long as one of lib/blocks */
	INDEX(tree, RMC_BLOCKS_TREE, YCSB_TREE_BYTES, 40),
	INDEX(map, RMC_BLOCKS_MAP, RMC_MAP_BYTES, 64),
	/* as long as the other tree's */
	INDEX(btree, RMC_BLOCKS_BTREE, YCSB_TREE_BYTES, 40),
};

static const struct index *index_of(const struct tx_scale *s)
{
	unsigned int i;

	for (i = 0; s->structure && i < sizeof(indexes) / sizeof(indexes[0]); i++)
		if (!strcmp(indexes[i].name, s->structure))
			return &indexes[i];
	return NULL;
}

bool ycsb_has_structure(const char *name)
{
	struct tx_scale s = { .structure = name };

	return index_of(&s) != NULL;
}

/* A bucket has two keys: half of them are used. Leaves of trees are half full, or fuller. */
static uint64_t fixed_blocks(const struct tx_scale *s)
{
	return index_of(s)->structure == RMC_BLOCKS_TABLE ? s->keys : 1;
}

static uint64_t all_blocks(const struct tx_scale *s)
{
	const uint64_t few = 256;

	switch (index_of(s)->structure) {
	case RMC_BLOCKS_TABLE:
		return s->keys + s->keys / 2 + few;
	case RMC_BLOCKS_TREE:
	case RMC_BLOCKS_BTREE:
		return s->keys * 3 / (YCSB_TREE_BYTES / sizeof(struct rmc_pair)) + few;
	default:
		return s->keys + s->keys / 4 + few;
	}
}

static unsigned int tables(const struct tx_scale *s, struct rmc_tx_table *t)
{
	t[BLOCKS] = (struct rmc_tx_table){
		.records = all_blocks(s), .bytes = index_of(s)->bytes,
	};
	t[RECORDS] = (struct rmc_tx_table){
		.records = s->keys, .bytes = (uint32_t)s->record_bytes,
	};
	return 2;
}

static uint32_t accesses(const struct tx_scale *s)
{
	uint32_t n = (uint32_t)(s->requests > LOAD_AT_ONCE ? s->requests : LOAD_AT_ONCE);

	n *= index_of(s)->accesses + 1;
	return n < RMC_TX_ACCESS_MAX ? n : RMC_TX_ACCESS_MAX;
}

/* Odd numbers are no keys */
static uint64_t key_of(uint64_t item)
{
	return 2 * item;
}

/* --- records --- */

static unsigned int fields(const struct ycsb *y)
{
	return y->bytes / FIELD_MIN < FIELDS ? (unsigned int)(y->bytes / FIELD_MIN) : FIELDS;
}

static size_t field_bytes(const struct ycsb *y)
{
	return y->bytes / fields(y);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 32) * 0xd6e8feb86659fd93ULL;
	v = (v ^ v >> 32) * 0xd6e8feb86659fd93ULL;
	return v ^ v >> 32;
}

static uint64_t weight(uint64_t item, unsigned int field)
{
	return mix(item * FIELDS + field + 1);
}

static void make_field(const struct ycsb *y, uint64_t item, unsigned int field, uint64_t version,
		       uint8_t *to)
{
	uint64_t filler = mix(weight(item, field) ^ version);
	size_t len = field_bytes(y), at, n;

	memcpy(to, &version, sizeof(version));
	for (at = sizeof(version); at < len; at += n) {
		n = len - at < sizeof(filler) ? len - at : sizeof(filler);
		memcpy(to + at, &filler, n);
	}
}

/* Its version; *bad is one higher if that does not fit the rest */
static uint64_t check_field(const struct ycsb *y, uint64_t item, unsigned int field,
			    const uint8_t *from, int64_t *bad)
{
	uint8_t expected[RMC_TX_RECORD_MAX];
	uint64_t version;

	memcpy(&version, from, sizeof(version));
	make_field(y, item, field, version, expected);
	*bad += memcmp(expected, from, field_bytes(y)) != 0;
	return version;
}

static int load_records(struct tx_client *c, const struct ycsb *y)
{
	uint8_t record[RMC_TX_RECORD_MAX] = { 0 };
	unsigned int f;
	uint64_t i;
	int err = 0;

	for (i = 0; i < c->scale.keys && !err; i++) {
		if (!tx_mine(c, RECORDS, i))
			continue;
		for (f = 0; f < fields(y); f++)
			make_field(y, i, f, 0, record + f * field_bytes(y));
		err = rmc_tx_load(c->db, rmc_tx_record(RECORDS, i), record, y->bytes);
	}
	return err;
}

struct insertions {
	struct ycsb *y;
	uint64_t item[LOAD_AT_ONCE];
	unsigned int n;
};

static int insert(struct rmc_tx *t, void *arg)
{
	const struct insertions *in = (const struct insertions *)arg;
	int err = rmc_tx_blocks_use(in->y->blocks, t);
	unsigned int i;

	for (i = 0; i < in->n && !err; i++)
		err = in->y->index->insert(in->y->s, key_of(in->item[i]), in->item[i]);
	return err;
}

/* One member inserts all keys; blocks are spread over all members nevertheless. */
static int load_index(struct tx_client *c, struct ycsb *y)
{
	struct insertions in = { .y = y };
	uint64_t i;
	int err = 0;

	for (i = 0; i < c->scale.keys && !err; i++) {
		in.item[in.n++] = i * STRIDE % c->scale.keys;
		if (in.n < LOAD_AT_ONCE && i + 1 < c->scale.keys)
			continue;
		err = rmc_tx_run(c->db, insert, &in);
		in.n = 0;
	}
	return err;
}

static int load(struct tx_client *c)
{
	struct ycsb *y = (struct ycsb *)calloc(1, sizeof(*y));
	int err;

	if (!y)
		return -ENOMEM;
	c->priv = y;
	y->index = index_of(&c->scale);
	y->bytes = c->scale.record_bytes;
	y->requests = (unsigned int)c->scale.requests;
	zipf_init(&y->zipf, c->scale.keys, ZIPF);
	err = load_records(c, y);
	if (err)
		return err;
	y->blocks = rmc_tx_blocks_open(c->db, BLOCKS, y->index->structure,
				       fixed_blocks(&c->scale));
	if (!y->blocks)
		return -errno;
	y->s = y->index->open(y->blocks);
	if (!y->s)
		return -errno;
	return c->self ? 0 : load_index(c, y);
}

static int join(struct tx_client *c, const struct tx_client *loaded)
{
	struct ycsb *y = (struct ycsb *)malloc(sizeof(*y));

	if (!y)
		return -ENOMEM;
	*y = *(const struct ycsb *)loaded->priv;
	c->priv = y;
	y->blocks = rmc_tx_blocks_open(c->db, BLOCKS, y->index->structure,
				       fixed_blocks(&c->scale));
	y->s = y->blocks ? y->index->open(y->blocks) : NULL;
	return y->s ? 0 : -errno;
}

static void ycsb_close(struct tx_client *c)
{
	struct ycsb *y = (struct ycsb *)c->priv;

	if (!y)
		return;
	if (y->s)
		y->index->close(y->s);
	if (y->blocks)
		rmc_blocks_close(y->blocks);
	free(y);
	c->priv = NULL;
}

/* --- transactions --- */

/* The record of an item, by its key */
static int find(const struct ycsb *y, uint64_t item, struct rmc_tx_addr *at)
{
	uint64_t rid = 0;
	int err = y->index->get(y->s, key_of(item), &rid);

	*at = rmc_tx_record(RECORDS, rid);
	return err;
}

static int execute(struct rmc_tx *t, struct ycsb *y, const struct request *q)
{
	uint8_t field[RMC_TX_RECORD_MAX];
	struct rmc_tx_addr at;
	const uint8_t *record;
	uint64_t version = 0, v;
	int64_t bad = 0;
	unsigned int f;
	int err = find(y, q->item, &at);

	if (!err && q->update && q->blind) {
		make_field(y, q->item, q->field, q->blind, field);
		return rmc_tx_put(t, rmc_tx_at(at, q->field * field_bytes(y)), field,
				  field_bytes(y));
	}
	if (!err)
		err = rmc_tx_get(t, at, y->bytes, (const void **)&record);
	/* all keys are there; a record of another one has fields that do not fit */
	if (err)
		return err == -ENOENT ? -EPROTO : err;
	for (f = 0; f < fields(y); f++) {
		v = check_field(y, q->item, f, record + f * field_bytes(y), &bad);
		version = f == q->field ? v : version;
	}
	if (bad)
		return -EPROTO;
	if (!q->update)
		return 0;
	make_field(y, q->item, q->field, version + 1, field);
	return rmc_tx_put(t, rmc_tx_at(at, q->field * field_bytes(y)), field, field_bytes(y));
}

static int transaction(struct rmc_tx *t, void *arg)
{
	struct ycsb *y = (struct ycsb *)arg;
	int err = rmc_tx_blocks_use(y->blocks, t);
	unsigned int i;

	for (i = 0; i < y->requests && !err; i++)
		err = execute(t, y, &y->request[i]);
	return err;
}

static int run(struct tx_client *c, unsigned int *kind, unsigned int update_percent)
{
	struct ycsb *y = (struct ycsb *)c->priv;
	uint64_t done;
	unsigned int i;
	int err;

	*kind = READS;
	for (i = 0; i < y->requests; i++) {
		struct request *q = &y->request[i];

		q->item = tx_place(c, zipf_scrambled(&y->zipf, &c->seed), c->scale.keys);
		q->blind = c->scale.blind ? random_next(&c->seed) : 0;
		q->update = tx_random(c, 0, 99) < update_percent;
		q->field = (unsigned int)tx_random(c, 0, fields(y) - 1);
		*kind = q->update ? UPDATES : *kind;
	}
	done = c->done[*kind];
	err = tx_execute(c, *kind, transaction, y);
	for (i = 0; i < y->requests && c->done[*kind] != done; i++) {
		if (!y->request[i].update)
			continue;
		c->ledger[0]++;
		c->ledger[1] = (int64_t)((uint64_t)c->ledger[1] +
					 weight(y->request[i].item, y->request[i].field));
	}
	return err;
}

static int one_a(struct tx_client *c, unsigned int *kind)
{
	return run(c, kind, 50);
}

static int one_b(struct tx_client *c, unsigned int *kind)
{
	return run(c, kind, 5);
}

/* --- when nothing runs --- */

static int sum_records(struct tx_client *c, const struct ycsb *y, int64_t *sums)
{
	uint8_t record[RMC_TX_RECORD_MAX];
	uint64_t i, version;
	unsigned int f;
	int err;

	for (i = 0; i < c->scale.keys; i++) {
		if (!tx_mine(c, RECORDS, i))
			continue;
		err = tx_peek(c, RECORDS, i, record, y->bytes);
		if (err)
			return err;
		for (f = 0; f < fields(y); f++) {
			version = check_field(y, i, f, record + f * field_bytes(y),
					      &sums[BAD_FIELDS]);
			sums[VERSIONS] += (int64_t)version;
			sums[WEIGHTED] = (int64_t)((uint64_t)sums[WEIGHTED] +
						   version * weight(i, f));
		}
	}
	return 0;
}

struct lookup {
	struct ycsb *y;
	uint64_t key, value;
};

static int look_up(struct rmc_tx *t, void *arg)
{
	struct lookup *l = (struct lookup *)arg;
	int err = rmc_tx_blocks_use(l->y->blocks, t);

	return err ? err : l->y->index->get(l->y->s, l->key, &l->value);
}

/* What lookups return in a structure that is damaged */
static bool is_missing(int err)
{
	return err == -ENOENT || err == -EPROTO || err == -ELOOP || err == -EAGAIN;
}

/* A part of the keys, and the numbers between them */
static int sum_keys(struct tx_client *c, struct ycsb *y, int64_t *sums)
{
	struct lookup l = { .y = y };
	uint64_t i;
	int err;

	for (i = (uint64_t)c->self; i < c->scale.keys; i += (uint64_t)c->nodes) {
		l.key = key_of(i);
		err = rmc_tx_run(c->db, look_up, &l);
		if (err && !is_missing(err))
			return err;
		sums[FOUND] += !err && l.value == i;
		l.key++;
		err = rmc_tx_run(c->db, look_up, &l);
		if (err && !is_missing(err))
			return err;
		sums[STRANGE] += !err;
	}
	return 0;
}

struct range {
	struct ycsb *y;
	uint64_t from;
	size_t found;
	struct rmc_pair pairs[256];
};

static int scan(struct rmc_tx *t, void *arg)
{
	struct range *r = (struct range *)arg;
	int err = rmc_tx_blocks_use(r->y->blocks, t);
	uint64_t next = RMC_TREE_KEY_NONE, first = r->from;

	if (!err && r->y->index->structure == RMC_BLOCKS_BTREE)
		err = rmc_btree_scan((struct rmc_btree *)r->y->s, first, RMC_TREE_KEY_NONE - 1,
				     r->pairs, 256, &r->found, &next);
	else if (!err)
		err = rmc_tree_scan((struct rmc_tree *)r->y->s, first, RMC_TREE_KEY_NONE - 1,
				    r->pairs, 256, &r->found, &next);
	if (!err)
		r->from = next;
	return err;
}

/* Entries that the structure has in all: trees' by scans, a map's by its blocks */
static int sum_entries(struct tx_client *c, struct ycsb *y, int64_t *sums)
{
	uint8_t block[RMC_MAP_BYTES];
	struct range r = { .y = y }, at;
	uint64_t i;
	int err;

	if ((y->index->structure == RMC_BLOCKS_TREE ||
	     y->index->structure == RMC_BLOCKS_BTREE) && !c->self)
		do {
			at = r;			/* from there in all attempts */
			err = rmc_tx_run(c->db, scan, &at);
			if (err)
				return is_missing(err) ? 0 : err;
			r.from = at.from;
			sums[ENTRIES] += (int64_t)at.found;
		} while (r.from != RMC_TREE_KEY_NONE);
	if (y->index->structure != RMC_BLOCKS_MAP)
		return 0;
	/* behind the record of the whole, and the tree's head */
	for (i = 2; i < all_blocks(&c->scale); i++) {
		if (!tx_mine(c, BLOCKS, i))
			continue;
		err = tx_peek(c, BLOCKS, i, block, sizeof(block));
		if (err && err != -ENOENT)
			return err;
		sums[ENTRIES] += !err;
	}
	return 0;
}

static int sum(struct tx_client *c, int64_t *sums)
{
	struct ycsb *y = (struct ycsb *)c->priv;
	int err = sum_records(c, y, sums);

	if (!err)
		err = sum_keys(c, y, sums);
	if (!err)
		err = sum_entries(c, y, sums);
	sums[COUNTED] += c->ledger[0];
	sums[COUNTED_WEIGHTED] = (int64_t)((uint64_t)sums[COUNTED_WEIGHTED] +
					   (uint64_t)c->ledger[1]);
	return err;
}

static const char *judge(const struct tx_scale *s, const int64_t *sums, int64_t *is,
			 int64_t *expected)
{
	const bool counts = index_of(s)->structure != RMC_BLOCKS_TABLE;
	const struct {
		const char *what;
		int64_t is, expected;
	} all[] = {
		{ "fields of records that do not fit their versions", sums[BAD_FIELDS], 0 },
		{ "keys of the structure", sums[FOUND], (int64_t)s->keys },
		{ "keys that nobody has inserted", sums[STRANGE], 0 },
		{ "entries of the structure", sums[ENTRIES], counts ? (int64_t)s->keys : 0 },
		{ "updates of all fields", sums[VERSIONS], sums[COUNTED] },
		{ "updates of each field, weighted", sums[WEIGHTED], sums[COUNTED_WEIGHTED] },
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*is = all[i].is;
		*expected = all[i].expected;
		if (*is != *expected)
			return all[i].what;
	}
	return NULL;
}

#define YCSB(name_, one_)						\
	{ .name = name_, .kind = { "reads", "updates" }, .indexed = true,	\
	  .tables = tables, .accesses = accesses, .load = load,		\
	  .join = join,							\
	  .close = ycsb_close, .one = one_, .sum = sum, .judge = judge }

const struct workload ycsb_a = YCSB("ycsb-a", one_a), ycsb_b = YCSB("ycsb-b", one_b);
