/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The owner's side of the object store, without a team: which requests of others it refuses,
 * and how its index and its free objects change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/kv/state.h"
#include "page_reader.h"
#include "../tap.h"

#define KEY_MAX		24
#define VALUE_MAX	200
#define FIRST		4
#define NODES		3
#define AT		128	/* offset of the store in the member's part */
#define TEAM_AT		192	/* offset of that part in the segment */

static struct rmc_team team;
static struct rmc_kv kv;
static uint64_t rounds[NODES];
static uint8_t *segment;
static size_t segment_bytes;

static uint64_t bucket_count, further;
static uint32_t object_count;

static void begin(const char *scheme)
{
	size_t record_max = rmc_hash_record_bytes(KEY_MAX, VALUE_MAX);
	struct kv_shape *s = &kv.shape;
	struct rmc_hash *h = &s->hash;

	memset(&kv, 0, sizeof(kv));
	memset(rounds, 0, sizeof(rounds));
	kv.team = &team;
	kv.o.scheme = rmc_scheme_find(scheme);
	kv.o.at = AT;
	kv.o.objects = object_count;
	kv.o.key_max = KEY_MAX;
	kv.o.value_max = VALUE_MAX;
	kv.o.params.wait_us = 2000;
	kv.rounds = rounds;
	rmc_hash_layout(h, sizeof(struct store), object_count, record_max,
			rmc_scheme_bytes(kv.o.scheme, record_max));
	/* fewer buckets */
	h->buckets = bucket_count;
	h->further = further;
	h->objects_at = rmc_hash_bucket_at(h, bucket_count + further);
	h->end = h->objects_at + object_count * h->object_bytes;
	s->messages_at = h->end;
	s->message_max = sizeof(struct kv_request) + record_max;
	/* no memory follows the objects, so the sanitizer reports an access beyond them */
	segment_bytes = TEAM_AT + AT + s->messages_at;
	segment = (uint8_t *)aligned_alloc(64, (segment_bytes + 63) & ~(size_t)63);
	memset(segment, 0, segment_bytes);
	team.first_nid = FIRST;
	team.nodes = NODES;
	team.self = 1;
	team.offset = TEAM_AT;
	team.seg = segment + TEAM_AT;
	kv.base = segment + TEAM_AT + AT;
	kv.value = (uint8_t *)malloc(record_max);
	kv.record = (uint8_t *)malloc(record_max);
	CHECK_EQ(rmc_kv_owner_open(&kv), 0);
}

static void begin_with(uint64_t buckets, uint64_t more, uint32_t objects)
{
	bucket_count = buckets;
	further = more;
	object_count = objects;
	begin("farm");
}

static void end(void)
{
	rmc_kv_owner_close(&kv);
	free(kv.value);
	free(kv.record);
	free(segment);
}

/* A request in memory of exactly its length */
static int ask(uint32_t op, uint32_t key_len, uint64_t value_len, size_t body, void *response,
	       size_t size)
{
	struct kv_request q = { op, key_len, value_len };
	uint8_t *m = (uint8_t *)malloc(sizeof(q) + body);
	int err;

	memcpy(m, &q, sizeof(q));
	memset(m + sizeof(q), 'k', body);
	if (body > key_len)
		memset(m + sizeof(q) + key_len, 'v', body - key_len);
	err = rmc_kv_serve(&kv, FIRST + 2, m, sizeof(q) + body, response, size);
	free(m);
	return err;
}

static int store(const void *key, size_t len, const void *value, size_t n)
{
	struct rmc_hash_key k = rmc_hash_key(key, len);

	return rmc_kv_store(&kv, &k, value, n);
}

static int delete(const void *key, size_t len)
{
	struct rmc_hash_key k = rmc_hash_key(key, len);

	return rmc_kv_remove(&kv, &k);
}

static int lookup(const void *key, size_t len, const void **value, size_t *n)
{
	struct rmc_hash_key k = rmc_hash_key(key, len);

	return rmc_kv_lookup(&kv, &k, value, n);
}

static int found(const char *key, size_t len)
{
	const void *value;
	size_t n;

	return lookup(key, len, &value, &n) ? -1 : (int)n;
}

static void refused(void)
{
	static const char ks[] = "kkkkkkkkkkkkkkkkkkkkkkkkk";
	struct kv_request q = { KV_PUT, 1, 1 };
	uint64_t response = 0x5555;
	void *tiny = malloc(3);
	int ops;

	begin_with(2, 10, 20);
	memcpy(tiny, &q, 3);
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, tiny, 3, &response, 8), -EBADMSG);
	free(tiny);
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q) - 1, &response, 8), -EBADMSG);
	/* no room for a status */
	CHECK_EQ(ask(KV_PUT, 1, 1, 2, &response, 3), -EBADMSG);
	for (ops = 0; ops < 2; ops++) {
		uint32_t op = ops ? KV_DELETE : KV_PUT;

		CHECK_EQ(ask(op, 0, 0, 0, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, 0, 4, 4, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, KEY_MAX + 1, 0, KEY_MAX + 1, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, 4, VALUE_MAX + 1, 5 + VALUE_MAX, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, 4, 4, 7, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, 4, 4, 9, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, 4, 0, 0, &response, 8), -EINVAL);
		/* sums that wrap */
		CHECK_EQ(ask(op, 4, ~0ULL - 3, 0, &response, 8), -EINVAL);
		CHECK_EQ(ask(op, ~0U, 1 + (~0ULL - ~0U), 0, &response, 8), -EINVAL);
	}
	CHECK_EQ(ask(KV_BARRIER + 1, 4, 4, 8, &response, 8), -EINVAL);
	CHECK_EQ(ask(0, 4, 4, 8, &response, 8), -EINVAL);
	CHECK(response == 0x5555 && !kv.stats.objects && kv.free_count == 20);
	CHECK(!rounds[0] && !rounds[1] && !rounds[2]);
	/* the largest key and value that are allowed */
	CHECK_EQ(ask(KV_PUT, KEY_MAX, VALUE_MAX, KEY_MAX + VALUE_MAX, &response, 8), 0);
	CHECK_EQ(found(ks, KEY_MAX), VALUE_MAX);
	CHECK_EQ(found(ks, KEY_MAX - 1), -1);
	CHECK_EQ(ask(KV_PUT, 1, 0, 1, &response, 4), 0);
	CHECK_EQ(found(ks, 1), 0);
	CHECK_EQ(ask(KV_DELETE, KEY_MAX, 0, KEY_MAX, &response, 8), 0);
	CHECK_EQ(ask(KV_DELETE, KEY_MAX, 0, KEY_MAX, &response, 8), -ENOENT);
	CHECK_EQ(found(ks, KEY_MAX), -1);
	CHECK_EQ(found(ks, 1), 0);
	CHECK_EQ(response, 0x5555);
	end();
}

static void barriers(void)
{
	struct kv_request q = { KV_BARRIER, 0, 1ULL << 40 };
	uint32_t response;

	begin_with(2, 10, 20);
	CHECK_EQ(rmc_kv_serve(&kv, FIRST + 2, &q, sizeof(q), &response, 4), 0);
	CHECK(!rounds[0] && !rounds[1] && rounds[2] == 1ULL << 40);
	q.value_len++;
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), &response, 4), 0);
	CHECK(rounds[0] == (1ULL << 40) + 1 && rounds[2] == 1ULL << 40);
	CHECK(!kv.stats.served);
	end();
}

/* Reads by message: only within the objects; offsets count from the segment's start. */
static void reads(void)
{
	struct {
		uint32_t magic, reserved;
		uint64_t offset, len;
	} q = { RMC_READER_MAGIC, 0, 0, 0 };
	uint8_t response[512];
	uint64_t last;
	struct rmc_hash_record h;

	bucket_count = 2;
	further = 10;
	object_count = 20;
	begin("rpc");
	CHECK_EQ(store("key", 3, "value", 5), 0);
	q.offset = TEAM_AT + AT + rmc_hash_object_at(&kv.shape.hash, 0);
	q.len = rmc_hash_record_bytes(3, 5);
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), response, sizeof(response)), (int)q.len);
	memcpy(&h, response, sizeof(h));
	CHECK(h.key_len == 3 && h.value_len == 5 && !memcmp(response + 8, "key", 3));
	CHECK_EQ(kv.stats.served, 1);
	last = TEAM_AT + AT + kv.shape.messages_at - kv.shape.hash.object_bytes;
	q.offset = last;
	q.len = kv.shape.hash.record_max;
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), response, sizeof(response)), (int)q.len);
	q.offset = last + kv.shape.hash.object_bytes;
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), response, sizeof(response)), -EINVAL);
	q.offset = last;
	q.len = kv.shape.hash.object_bytes;
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), response, sizeof(response)), -EINVAL);
	q.len = kv.shape.hash.record_max;
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, sizeof(q), response, q.len - 1), -EINVAL);
	CHECK_EQ(rmc_kv_serve(&kv, FIRST, &q, 4, response, sizeof(response)), -EBADMSG);
	end();
}

static enum rmc_hash_match match(const void *record, size_t bytes, const char *key, size_t key_len,
				 const void **value, size_t *len)
{
	struct rmc_hash_key k = { .bytes = key, .len = key_len };

	return rmc_hash_match(record, bytes, &k, value, len);
}

/* Records that a reader may find at an index entry */
static void records(void)
{
	uint8_t r[64] = { 0 };
	struct rmc_hash_record h = { 3, 5 };
	const void *value = NULL;
	size_t len = 0;

	memcpy(r, &h, sizeof(h));
	memcpy(r + 8, "key", 3);
	memcpy(r + 16, "value", 5);
	CHECK_EQ(match(r, 24, "key", 3, &value, &len), RMC_HASH_FOUND);
	CHECK(value == r + 16 && len == 5);
	CHECK_EQ(match(r, 24, "kez", 3, &value, &len), RMC_HASH_STRANGER);
	CHECK_EQ(match(r, 24, "ke", 2, &value, &len), RMC_HASH_STRANGER);
	CHECK_EQ(match(r, 24, "key\0", 4, &value, &len), RMC_HASH_STRANGER);
	CHECK_EQ(match(r, 32, "key", 3, &value, &len), RMC_HASH_RESIZED);
	CHECK_EQ(match(r, 16, "key", 3, &value, &len), RMC_HASH_RESIZED);
	CHECK_EQ(match(r, 8, "key", 3, &value, &len), RMC_HASH_STRANGER);
	h.value_len = 9;
	memcpy(r, &h, sizeof(h));
	CHECK_EQ(match(r, 24, "key", 3, &value, &len), RMC_HASH_RESIZED);
	h.key_len = 0;
	memcpy(r, &h, sizeof(h));
	CHECK_EQ(match(r, 24, "key", 3, &value, &len), RMC_HASH_STRANGER);
	CHECK(value == r + 16 && len == 5);
}

static struct rmc_hash_bucket *bucket_of(uint64_t n)
{
	return (struct rmc_hash_bucket *)(kv.base + rmc_hash_bucket_at(&kv.shape.hash, n));
}

static unsigned int entries_of(uint64_t first, unsigned int *buckets)
{
	struct rmc_hash_bucket *b = bucket_of(first);
	unsigned int n = 0, i;

	for (*buckets = 1; ; b = bucket_of(b->next - 1), ++*buckets) {
		for (i = 0; i < RMC_HASH_ENTRIES; i++)
			n += !!b->entry[i];
		if (!b->next)
			return n;
	}
}

/* A chain grows by buckets and shrinks again. Without a free bucket, a put fails. */
static void chains(void)
{
	unsigned int i, n, buckets, round;
	uint8_t key;

	begin_with(1, 2, 30);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 30; i++) {
			key = (uint8_t)i;
			CHECK_EQ(store(&key, 1, &key, 1), i < 21 ? 0 : -ENOSPC);
		}
		CHECK_EQ(entries_of(0, &buckets), 21);
		CHECK(buckets == 3 && kv.free_buckets == 0 && kv.free_count == 9);
		CHECK_EQ(kv.stats.objects, 21);
		for (i = 0; i < 21; i++) {
			key = (uint8_t)(i * 8 % 21);
			CHECK_EQ(found((char *)&key, 1), 1);
			CHECK_EQ(delete(&key, 1), 0);
			CHECK_EQ(delete(&key, 1), -ENOENT);
			n = entries_of(0, &buckets);
			CHECK_EQ(n, 20 - i);
			CHECK(buckets * RMC_HASH_ENTRIES >= n);
		}
		CHECK(buckets == 1 && kv.free_buckets == 2 && kv.free_count == 30);
		CHECK_EQ(kv.stats.objects, 0);
	}
	end();
	/* without a free object, too */
	begin_with(4, 10, 3);
	for (i = 0; i < 4; i++) {
		key = (uint8_t)i;
		CHECK_EQ(store(&key, 1, &key, 1), i < 3 ? 0 : -ENOSPC);
	}
	CHECK_EQ(found((char *)&key, 1), -1);
	key = 1;
	CHECK_EQ(store(&key, 1, "longer value", 12), 0);
	CHECK_EQ(found((char *)&key, 1), 12);
	CHECK_EQ(kv.stats.objects, 3);
	end();
}

/* A removed object is invalid at once, and is reused after all other free ones. */
static void reuse(void)
{
	uint8_t record[64];
	struct rmc_hash_record h;
	uint32_t i;

	begin_with(2, 10, 5);
	for (i = 0; i < 12; i++) {
		CHECK_EQ(store("key", 3, "value", 5), 0);
		CHECK_EQ(rmc_scheme_read(kv.o.scheme, object_of(&kv, i % 5), record, 24), 0);
		memcpy(&h, record, sizeof(h));
		CHECK(h.key_len == 3 && h.value_len == 5);
		CHECK_EQ(delete("key", 3), 0);
		CHECK_EQ(rmc_scheme_read(kv.o.scheme, object_of(&kv, i % 5), record, 8), 0);
		memcpy(&h, record, sizeof(h));
		CHECK(!h.key_len);
	}
	end();
}

/* A live reader holds the lock: the request fails and changes nothing. */
static void locked(void)
{
	uint64_t *word, held = ~0ULL;
	int status = 0;
	uint32_t i;

	bucket_count = 2;
	further = 10;
	object_count = 4;
	begin("lock");
	CHECK_EQ(ask(KV_PUT, 3, 5, 8, &status, 4), 0);
	word = (uint64_t *)(void *)object_of(&kv, 0) + 2;
	*word = held;
	CHECK_EQ(ask(KV_PUT, 3, 6, 9, &status, sizeof(status)), (int)sizeof(status));
	CHECK_EQ(status, RMC_SCHEME_LOCKED);
	CHECK_EQ(found("kkk", 3), 5);
	status = 0;
	CHECK_EQ(ask(KV_DELETE, 3, 0, 3, &status, sizeof(status)), (int)sizeof(status));
	CHECK_EQ(status, RMC_SCHEME_LOCKED);
	CHECK_EQ(found("kkk", 3), 5);
	CHECK_EQ(kv.stats.objects, 1);
	/* a new object, too */
	*((uint64_t *)(void *)object_of(&kv, 1) + 2) = held;
	CHECK_EQ(store("new", 3, "x", 1), RMC_SCHEME_LOCKED);
	CHECK_EQ(found("new", 3), -1);
	CHECK(kv.free_count == 3 && kv.stats.objects == 1);
	/* the locks of a dead program are broken, and no others */
	for (i = 0; i < 4; i++)
		*((uint64_t *)(void *)object_of(&kv, i) + 2) = 77 << 16 | (uint64_t)(FIRST + i % 2 + 1);
	rmc_kv_break_locks(&kv, FIRST + 1);
	for (i = 0; i < 4; i++)
		CHECK_EQ(rmc_scheme_holder(kv.o.scheme, object_of(&kv, i)), i % 2 ? -1 : FIRST);
	CHECK_EQ(kv.stats.broken, 2);
	end();
}

static struct rmc_object *object;

static void write_between(void)
{
	uint8_t record[16 + VALUE_MAX];
	struct rmc_hash_record h = { 3, VALUE_MAX };

	memset(record, 'b', sizeof(record));
	memcpy(record, &h, sizeof(h));
	memcpy(record + 8, "key\0\0\0\0", 8);
	rmc_scheme_write(kv.o.scheme, object, record, sizeof(record), NULL);
}

/* An object that is written during a lookup is read again. */
static void repeated(void)
{
	uint8_t a[VALUE_MAX], *pages = page_reader_init();
	const void *value = NULL;
	size_t len = 0, i;

	begin_with(2, 10, 2);
	memset(a, 'a', sizeof(a));
	/* the first object crosses the end of the page */
	kv.base = pages + PAGE - 128 - kv.shape.hash.objects_at;
	if (kv.base < pages)
		exit(1);
	object = object_of(&kv, 0);
	CHECK_EQ(store("key", 3, a, sizeof(a)), 0);
	page_reader_arm(write_between);
	CHECK_EQ(lookup("key", 3, &value, &len), 0);
	CHECK_EQ(page_reader.happened, 1);
	CHECK_EQ(len, VALUE_MAX);
	for (i = 0; value && i < len; i++)
		CHECK_EQ(((const uint8_t *)value)[i], 'b');
	page_reader_disarm();
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "requests that are refused, and those that just are not", refused },
		{ "barriers are counted by member", barriers },
		{ "reads by message stay within the store", reads },
		{ "records under an entry", records },
		{ "chains grow and get short, objects run out", chains },
		{ "removed objects are dead, and used again late", reuse },
		{ "locked objects stay as they are, locks of the dead are broken", locked },
		{ "an object that is written meanwhile is read again", repeated },
	};

	return tap_run(tests, (int)(sizeof(tests) / sizeof(tests[0])));
}
