/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Data structures of lib/ds over an accessor in plain memory, which can fail, report an object as
 * torn, or let a reader look before and after each step of a writer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/ds/hash.h"
#include "../tap.h"

#define AT		192	/* offset of the index: nothing may rely on 0 */
#define OBJECTS		40
#define FURTHER		6
#define KEYS		200
#define KEY_MAX		16
#define VALUE_MAX	64
#define TORN		0x1001
#define BROKEN		0x1002
#define NONE		(~0ULL)

static struct memory {
	struct rmc_ds_access access;
	uint8_t *bytes;
	uint8_t node[RMC_HASH_BUCKET_BYTES];	/* what reads return, changed by the next read */
	uint8_t object[KEY_MAX + VALUE_MAX + 16];
	uint32_t objects[OBJECTS], object_head, object_count;
	uint32_t nodes[FURTHER], node_count;
	unsigned int calls, fail_at;	/* the number of the call that fails, 0: none */
	uint64_t torn_at;		/* the object there is torn */
	unsigned int torn_every;	/* or each time after so many reads */
	unsigned int object_reads;
	void (*before_object)(void);	/* once, before an object is read */
	void (*around)(void);		/* before and after each change */
} m;

static struct rmc_hash h;

static uint64_t seed = 88172645463325252ULL;

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % n;
}

/* --- the accessor --- */

static int fails(void)
{
	return ++m.calls == m.fail_at;
}

static int valid(enum rmc_ds_kind kind, uint64_t at, size_t len)
{
	if (kind == RMC_DS_NODE)
		return at >= h.buckets_at && at + len <= h.objects_at &&
		       at / 64 == (at + len - 1) / 64;
	return at >= h.objects_at && at + len <= h.end &&
	       (at - h.objects_at) % h.object_bytes + len <= h.object_bytes;
}

static int mem_read(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, size_t len,
		    const void **data)
{
	void (*hook)(void) = m.before_object;
	uint8_t *to = kind == RMC_DS_NODE ? m.node : m.object;

	CHECK(a == &m.access && valid(kind, at, len));
	if (fails())
		return BROKEN;
	if (kind == RMC_DS_OBJECT) {
		m.before_object = NULL;
		if (hook)
			hook();
		m.object_reads++;
		if (at == m.torn_at || (m.torn_every && !(m.object_reads % m.torn_every))) {
			memset(m.object, 0x5a, sizeof(m.object));
			return TORN;
		}
		/* what is beyond the record must not be used */
		memset(m.object, 0xa5, sizeof(m.object));
	}
	memcpy(to, m.bytes + at, len);
	*data = to;
	return 0;
}

static int mem_again(int status)
{
	return status == TORN;
}

static void look(void)
{
	if (m.around)
		m.around();
}

static int mem_write(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, const void *data,
		     size_t len)
{
	CHECK(a == &m.access && valid(kind, at, len));
	if (fails())
		return BROKEN;
	look();
	memcpy(m.bytes + at, data, len);
	look();
	return 0;
}

static int mem_swap(struct rmc_ds_access *a, uint64_t at, uint64_t expected, uint64_t desired)
{
	uint64_t was;

	CHECK(a == &m.access && valid(RMC_DS_NODE, at, 8) && at % 8 == 0);
	if (fails())
		return BROKEN;
	look();
	memcpy(&was, m.bytes + at, 8);
	CHECK_EQ(was, expected);
	memcpy(m.bytes + at, &desired, 8);
	look();
	return 0;
}

static int mem_alloc(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t *n)
{
	(void)a;
	if (fails())
		return BROKEN;
	if (kind == RMC_DS_NODE) {
		if (!m.node_count)
			return -ENOSPC;
		*n = m.nodes[--m.node_count];
		/* not as the structure left it */
		memset(m.bytes + rmc_hash_bucket_at(&h, *n), 0xff, RMC_HASH_BUCKET_BYTES);
		return 0;
	}
	if (!m.object_count)
		return -ENOSPC;
	m.object_count--;
	*n = m.objects[m.object_head++ % OBJECTS];
	return 0;
}

static void mem_free(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t n, int used)
{
	(void)a;
	if (kind == RMC_DS_NODE) {
		CHECK(m.node_count < FURTHER && n >= h.buckets && n < h.buckets + h.further);
		m.nodes[m.node_count++] = n;
		return;
	}
	CHECK(m.object_count < OBJECTS && n < h.objects);
	if (used)
		m.objects[(m.object_head + m.object_count) % OBJECTS] = n;
	else
		CHECK_EQ(m.objects[--m.object_head % OBJECTS], n);
	m.object_count++;
}

static const struct rmc_ds_ops ops = {
	mem_read, mem_again, mem_write, mem_swap, mem_alloc, mem_free,
};

static void begin(uint64_t buckets)
{
	size_t record_max = rmc_hash_record_bytes(KEY_MAX, VALUE_MAX);
	uint32_t i;

	memset(&m, 0, sizeof(m));
	m.access.ops = &ops;
	m.torn_at = NONE;
	rmc_hash_layout(&h, AT, OBJECTS, record_max, record_max + 24);
	h.buckets = buckets;
	h.further = FURTHER;
	h.objects_at = rmc_hash_bucket_at(&h, buckets + FURTHER);
	h.end = h.objects_at + OBJECTS * h.object_bytes;
	/* no memory follows */
	m.bytes = (uint8_t *)calloc(1, h.end);
	if (!m.bytes)
		exit(1);
	for (i = 0; i < OBJECTS; i++)
		m.objects[i] = i;
	m.object_count = OBJECTS;
	for (i = 0; i < FURTHER; i++)
		m.nodes[i] = (uint32_t)buckets + i;
	m.node_count = FURTHER;
}

static void end(void)
{
	free(m.bytes);
}

/* --- keys and values: a value repeats a byte, its length depends on the byte --- */

/* Keys that differ only as bytes have the same bucket and the same tag. */
static int same_hash;

static struct rmc_hash_key key_of(unsigned int n)
{
	static char names[KEYS][KEY_MAX];	/* a reader and a writer have keys at once */
	struct rmc_hash_key k;
	char *name = names[n];

	k = rmc_hash_key(name, (size_t)snprintf(name, KEY_MAX, "key %u", n));
	if (same_hash)
		k.hash = 1ULL << 48 | 1;
	return k;
}

static int put(unsigned int n, uint8_t v)
{
	static uint8_t record[16 + KEY_MAX + VALUE_MAX];
	struct rmc_hash_key k = key_of(n);
	uint8_t value[VALUE_MAX];

	memset(value, v, sizeof(value));
	return rmc_hash_put(&h, &m.access, &k, record,
			    rmc_hash_make_record(record, &k, value, v % VALUE_MAX));
}

static int delete(unsigned int n)
{
	struct rmc_hash_key k = key_of(n);

	return rmc_hash_delete(&h, &m.access, &k);
}

static struct rmc_hash_found f;

/* The value's byte + 256 if its length is not 0; or a status */
static int find(unsigned int n, int *v)
{
	struct rmc_hash_key k = key_of(n);
	int err = rmc_hash_find(&h, &m.access, &k, &f);
	size_t i;

	*v = -1;
	if (err)
		return err;
	CHECK(f.value_len <= VALUE_MAX);
	for (i = 0; i < f.value_len; i++)
		CHECK_EQ(((const uint8_t *)f.value)[i], ((const uint8_t *)f.value)[0]);
	*v = f.value_len ? ((const uint8_t *)f.value)[0] : 0;
	CHECK_EQ(f.value_len, *v % VALUE_MAX);
	return 0;
}

static int value_of(unsigned int n)
{
	int v, err = find(n, &v);

	return err ? err : v;
}

/* Nothing is lost: each object is free, or has an entry; the same for further buckets. */
static void accounted(unsigned int there)
{
	unsigned int entries = 0, links = 0, last, i;
	uint64_t n;

	for (n = 0; n < h.buckets; n++) {
		const struct rmc_hash_bucket *b;
		uint64_t at = n;

		do {
			b = (const void *)(m.bytes + rmc_hash_bucket_at(&h, at));
			for (i = last = 0; i < RMC_HASH_ENTRIES; i++)
				last += !!b->entry[i];
			entries += last;
			links += !!b->next;
			at = b->next - 1;
			CHECK(!b->next || at >= h.buckets);
		} while (b->next);
		/* no empty bucket at the end of a chain, except a chain's head */
		CHECK(last || b == (const void *)(m.bytes + rmc_hash_bucket_at(&h, n)));
	}
	CHECK_EQ(entries, there);
	CHECK_EQ(m.object_count + entries, OBJECTS);
	CHECK_EQ(m.node_count + links, FURTHER);
}

/* --- tests --- */

static void layout(void)
{
	struct rmc_hash l;
	uint64_t n;

	for (n = 1; n < 5000; n = n * 3 / 2 + 1) {
		rmc_hash_layout(&l, AT, n, 104, 128);
		CHECK(!(l.buckets & (l.buckets - 1)) && l.buckets * 4 >= n);
		CHECK(l.buckets == 1 || l.buckets * 2 < n);
		CHECK_EQ(l.further, n / 4 + 8);
		CHECK(l.objects == n && l.record_max == 104 && l.object_bytes == 128);
		CHECK_EQ(l.buckets_at, AT);
		CHECK_EQ(l.objects_at, AT + (l.buckets + l.further) * 64);
		CHECK_EQ(l.end, l.objects_at + n * 128);
		CHECK(rmc_hash_home(&l, ~0ULL) == l.buckets - 1);
	}
	/* both halves of a 128-bit hash, and nothing else of the key than its bytes */
	CHECK(rmc_hash_key("a\0b", 3).hash != rmc_hash_key("a\0c", 3).hash);
	CHECK(rmc_hash_key("a\0b", 3).hash == rmc_hash_key("a\0bc", 3).hash);
	CHECK(rmc_hash_key("key", 3).hash != rmc_hash_key("key", 3).spread);
	CHECK_EQ(rmc_hash_tag(0x1234ULL << 48 | 0xffffffffffffULL), 0x1234);
}

static int reference[KEYS];	/* -1: not there */

static void forget_all(void)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		reference[i] = -1;
}

/* A status that changed nothing, or none */
static void random_steps(unsigned int keys, unsigned int steps)
{
	unsigned int there = 0, i, k, v;
	int err;

	forget_all();
	for (i = 0; i < steps; i++) {
		k = rnd(keys);
		v = rnd(256);
		/* fills up, then gets empty, again and again */
		if (rnd(100) < (i / 500 % 2 ? 25 : 70)) {
			err = put(k, (uint8_t)v);
			if (err == TORN)
				continue;
			if (err == -ENOSPC) {
				CHECK(reference[k] < 0 && (!m.object_count || !m.node_count));
				continue;
			}
			CHECK_EQ(err, 0);
			there += reference[k] < 0;
			reference[k] = (int)(v % VALUE_MAX ? v : 0);
		} else {
			err = delete(k);
			if (err == TORN)
				continue;
			CHECK_EQ(err, reference[k] < 0 ? -ENOENT : 0);
			there -= reference[k] >= 0;
			reference[k] = -1;
		}
		k = rnd(keys);
		err = value_of(k);
		if (!m.torn_every || err != TORN)
			CHECK_EQ(err, reference[k] < 0 ? -ENOENT : reference[k]);
		accounted(there);
	}
	m.torn_every = 0;
	for (k = 0; k < keys; k++)
		CHECK_EQ(value_of(k), reference[k] < 0 ? -ENOENT : reference[k]);
	for (k = 0; k < keys; k++)
		CHECK_EQ(delete(k), reference[k] < 0 ? -ENOENT : 0);
	accounted(0);
}

static void against_reference(void)
{
	static const struct {
		uint64_t buckets;
		unsigned int keys;
		int same;
		unsigned int torn_every;
	} runs[] = {
		{ 8, 30, 0, 0 }, { 8, KEYS, 0, 0 }, { 1, 60, 0, 0 }, { 2, 60, 1, 0 },
		{ 4, 60, 0, 7 }, { 2, 60, 1, 17 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		begin(runs[i].buckets);
		same_hash = runs[i].same;
		m.torn_every = runs[i].torn_every;
		random_steps(runs[i].keys, 4000);
		end();
	}
	same_hash = 0;
}

/* The table's objects, or a chain's buckets, are all in use: nothing changes. */
static void full(void)
{
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		begin(32);
		for (i = 0; i < OBJECTS; i++)
			CHECK_EQ(put(i, 9), 0);
		CHECK_EQ(put(OBJECTS, 9), -ENOSPC);
		accounted(OBJECTS);
		CHECK_EQ(value_of(OBJECTS), -ENOENT);
		CHECK_EQ(put(3, 10), 0);
		CHECK_EQ(value_of(3), 10);
		CHECK_EQ(delete(5), 0);
		CHECK_EQ(put(OBJECTS, 11), 0);
		CHECK_EQ(value_of(OBJECTS), 11);
		end();
	}
	begin(1);
	m.node_count = 2;
	for (i = 0; i < 3 * RMC_HASH_ENTRIES; i++)
		CHECK_EQ(put(i, 9), 0);
	CHECK_EQ(put(i, 9), -ENOSPC);
	CHECK_EQ(m.object_count, OBJECTS - i);
	CHECK_EQ(value_of(i), -ENOENT);
	CHECK_EQ(delete(0), 0);
	CHECK_EQ(put(i, 9), 0);
	CHECK_EQ(value_of(i), 9);
	end();
}

/* Entries stay where they are, the first hole is filled, and empty buckets leave from the end. */
static void chains(void)
{
	uint64_t at[4 * RMC_HASH_ENTRIES];
	unsigned int i, n = 4 * RMC_HASH_ENTRIES;

	begin(2);
	same_hash = 1;
	for (i = 0; i < n; i++) {
		CHECK_EQ(put(i, (uint8_t)i), 0);
		CHECK_EQ(value_of(i), (int)i);
		at[i] = f.at;
	}
	CHECK_EQ(at[1] - at[0], 8);
	CHECK_EQ(m.node_count, FURTHER - 3);
	/* the second bucket is empty, and others follow it */
	for (i = RMC_HASH_ENTRIES; i < 2 * RMC_HASH_ENTRIES; i++)
		CHECK_EQ(delete(i), 0);
	CHECK_EQ(m.node_count, FURTHER - 3);
	for (i = 0; i < n; i++) {
		if (i / RMC_HASH_ENTRIES == 1) {
			CHECK_EQ(value_of(i), -ENOENT);
			continue;
		}
		CHECK_EQ(value_of(i), (int)i);
		CHECK_EQ(f.at, at[i]);
	}
	CHECK_EQ(delete(2), 0);
	CHECK_EQ(put(100, 1), 0);
	CHECK_EQ(value_of(100), 1);
	CHECK_EQ(f.at, at[2]);
	/* the last two go, and the second with them */
	for (i = n - 1; i >= 2 * RMC_HASH_ENTRIES; i--)
		CHECK_EQ(delete(i), 0);
	CHECK_EQ(m.node_count, FURTHER);
	accounted(RMC_HASH_ENTRIES);
	same_hash = 0;
	end();
}

/* A torn object hides its key and no other of the same tag. */
static void torn(void)
{
	struct rmc_ds_ops strict = ops;
	unsigned int i;
	int v;

	begin(2);
	same_hash = 1;
	for (i = 0; i < 10; i++)
		CHECK_EQ(put(i, (uint8_t)(20 + i)), 0);
	for (i = 0; i < 10; i++) {
		m.torn_at = rmc_hash_object_at(&h, i);
		CHECK_EQ(value_of(i), TORN);
		CHECK_EQ(value_of((i + 1) % 10), 20 + (int)(i + 1) % 10);
		/* the key may be the torn object's */
		CHECK_EQ(value_of(50), TORN);
		CHECK_EQ(put(i, 1), TORN);
		CHECK_EQ(put(50, 1), TORN);
		CHECK_EQ(delete(i), TORN);
		m.torn_at = NONE;
		CHECK_EQ(value_of(i), 20 + (int)i);
		CHECK_EQ(value_of(50), -ENOENT);
		accounted(10);
	}
	/* objects of another tag are not read */
	same_hash = 0;
	m.object_reads = 0;
	CHECK_EQ(value_of(1), -ENOENT);
	CHECK_EQ(m.object_reads, 0);
	same_hash = 1;
	/* for an accessor that expects none, a status ends the search */
	strict.again = NULL;
	m.access.ops = &strict;
	m.torn_at = rmc_hash_object_at(&h, 0);
	m.object_reads = 0;
	CHECK_EQ(find(5, &v), TORN);
	CHECK_EQ(m.object_reads, 1);
	same_hash = 0;
	end();
}

static void resize_it(void)
{
	CHECK_EQ(put(1, 3), 0);
}

static void delete_it(void)
{
	CHECK_EQ(delete(1), 0);
}

static void replace_it(void)
{
	unsigned int i;

	/* its object is another key's, after all others were used */
	CHECK_EQ(delete(1), 0);
	for (i = 0; i < OBJECTS; i++) {
		CHECK_EQ(put(2, 5), 0);
		CHECK(i == OBJECTS - 1 || !delete(2));
	}
}

/* A writer changes the object between a reader's read of the entry and of the object. */
static void outdated(void)
{
	static const struct {
		void (*change)(void);
		int status, then;
	} changes[] = {
		{ resize_it, -EAGAIN, 3 },
		{ delete_it, -ENOENT, -ENOENT },
		{ replace_it, -ENOENT, -ENOENT },
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		begin(2);
		CHECK_EQ(put(1, 60), 0);
		CHECK_EQ(value_of(1), 60);
		CHECK_EQ(f.stale, 0);
		m.before_object = changes[i].change;
		CHECK_EQ(value_of(1), changes[i].status);
		CHECK_EQ(f.stale, 1);
		CHECK_EQ(value_of(1), changes[i].then);
		CHECK_EQ(f.stale, 0);
		end();
	}
}

/* Memory of a faulty writer */
static void faulty(void)
{
	struct rmc_hash_bucket *b;
	uint64_t e;

	begin(2);
	same_hash = 1;
	CHECK_EQ(put(1, 60), 0);
	b = (struct rmc_hash_bucket *)(void *)(m.bytes + rmc_hash_bucket_at(&h, 1));
	e = b->entry[0];
	CHECK_EQ(e >> 48, 1);
	CHECK_EQ(e >> 32 & 0xffff, (8 + 8 + 64) / 8);
	CHECK_EQ((uint32_t)e, 1);
	b->entry[0] = (e & ~0xffffffffULL) | (OBJECTS + 1);
	CHECK_EQ(value_of(1), -EPROTO);
	b->entry[0] = e & ~0xffffffffULL;		/* object -1 */
	CHECK_EQ(value_of(1), -EPROTO);
	b->entry[0] = (e & ~(0xffffULL << 32)) | (uint64_t)(h.record_max / 8 + 1) << 32;
	CHECK_EQ(value_of(1), -EPROTO);
	b->entry[0] = e & ~(0xffffULL << 32);		/* no length */
	CHECK_EQ(value_of(1), -EPROTO);
	CHECK_EQ(put(1, 2), -EPROTO);
	CHECK_EQ(delete(1), -EPROTO);
	b->entry[0] = e;
	CHECK_EQ(value_of(1), 60);
	b->next = 2 + FURTHER + 1;
	CHECK_EQ(value_of(2), -EPROTO);
	b->next = NONE;
	CHECK_EQ(value_of(2), -EPROTO);
	/* the last one that there is; and a loop */
	b->next = 2 + FURTHER;
	CHECK_EQ(value_of(2), -ENOENT);
	b->entry[0] = 0;
	b->next = 2;
	CHECK_EQ(value_of(2), -ELOOP);
	same_hash = 0;
	end();
}

/* Any call of the accessor fails: the status is returned, and no object or bucket is lost. */
static void failing(void)
{
	unsigned int nth, what, done, was, i;
	uint32_t free_one;
	int err, v;

	same_hash = 1;
	for (what = 0; what < 4; what++) {
		for (nth = 1, done = 0; !done && nth < 100; nth++) {
			begin(2);
			was = what == 2 ? RMC_HASH_ENTRIES + 1 : RMC_HASH_ENTRIES;
			for (i = 0; i < was; i++)
				CHECK_EQ(put(i, 8), 0);
			free_one = m.objects[m.object_head % OBJECTS];
			m.calls = 0;
			m.fail_at = nth;
			/* insert, in a new bucket; replace; delete, a bucket goes; find */
			err = what == 0 ? put(50, 9) : what == 1 ? put(6, 8 + VALUE_MAX) :
			      what == 2 ? delete(RMC_HASH_ENTRIES) : find(6, &v);
			done = m.calls < nth;
			CHECK(!done || !err);
			m.fail_at = 0;
			/* as before, or as after it */
			for (i = 0; i < RMC_HASH_ENTRIES - 1; i++)
				CHECK_EQ(value_of(i), 8);
			if (what == 0) {
				CHECK_EQ(value_of(50), err ? -ENOENT : 9);
				/* no reader knows it */
				CHECK(!err || m.objects[m.object_head % OBJECTS] == free_one);
				was += !err;
			} else if (what == 1) {
				v = value_of(6);
				CHECK(err ? v == 8 || v == 8 + VALUE_MAX : v == 8 + VALUE_MAX);
			} else if (what == 2) {
				/* an empty bucket may stay, until the next deletion there */
				CHECK_EQ(value_of(RMC_HASH_ENTRIES), err ? 8 : -ENOENT);
				was -= !err;
				CHECK_EQ(delete(0), 0);
				was--;
			}
			accounted(was);
			end();
		}
		CHECK(done && nth > (what == 3 ? 2 : 4));
	}
	same_hash = 0;
}

/* While one key is changed, a reader finds all others, and this one as it was or will be. */
static unsigned int changed;
static int before, after, looks;

static void other_reader(void)
{
	void (*around)(void) = m.around;
	struct memory *kept = (struct memory *)malloc(sizeof(m));
	unsigned int i;
	int v;

	if (!kept)
		exit(1);
	/* the reader is another one, with buffers of its own */
	memcpy(kept, &m, sizeof(m));
	m.around = NULL;
	for (i = 0; i < 20; i++) {
		v = value_of(i);
		if (i != changed)
			CHECK_EQ(v, reference[i] < 0 ? -ENOENT : reference[i]);
		else	/* -EAGAIN: between the object and its entry */
			CHECK(v == before || v == after || (v == -EAGAIN && before >= 0));
	}
	looks++;
	memcpy(&m, kept, sizeof(m));
	m.around = around;
	free(kept);
}

static void between_steps(void)
{
	unsigned int i, v;
	int err;

	begin(1);
	forget_all();
	for (i = 0; i < 1500; i++) {
		changed = rnd(20);
		before = reference[changed] < 0 ? -ENOENT : reference[changed];
		m.around = other_reader;
		if (rnd(100) < (i / 100 % 2 ? 25 : 70)) {
			v = 1 + rnd(VALUE_MAX - 1);
			after = (int)v;
			err = put(changed, (uint8_t)v);
		} else {
			after = -ENOENT;
			err = delete(changed);
			CHECK_EQ(err, before < 0 ? -ENOENT : 0);
			err = 0;
		}
		m.around = NULL;
		CHECK_EQ(err, 0);
		CHECK_EQ(value_of(changed), after);
		reference[changed] = after < 0 ? -1 : after;
	}
	CHECK(looks > 4000);
	end();
}

/* A reader that has the entry of a removed key finds its object dead, of that length. */
static void dead(void)
{
	struct rmc_hash_record r;

	begin(2);
	CHECK_EQ(put(1, 60), 0);
	CHECK_EQ(value_of(1), 60);
	CHECK_EQ(delete(1), 0);
	memcpy(&r, m.bytes + rmc_hash_object_at(&h, (uint32_t)f.entry - 1), sizeof(r));
	CHECK(!r.key_len && !r.value_len);
	CHECK_EQ(m.objects[(m.object_head + OBJECTS - 1) % OBJECTS], (uint32_t)f.entry - 1);
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "layout, hash and tag", layout },
		{ "random operations against a reference", against_reference },
		{ "a full table stays as it is", full },
		{ "chains of one hash: places, holes, ends", chains },
		{ "torn objects", torn },
		{ "entries that are outdated", outdated },
		{ "memory of a faulty writer", faulty },
		{ "each call of the accessor fails once", failing },
		{ "a reader between the steps of a writer", between_steps },
		{ "a removed object is dead", dead },
	};

	return tap_run(tests, (int)(sizeof(tests) / sizeof(tests[0])));
}
