/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The hash index: see hash.h.
 *
 * An insertion writes the object, then its entry; a removal clears the entry, then writes a dead
 * record into the object, so that readers who had the entry find it dead.
 */
#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "hash.h"

#define CHAIN_MAX	(1U << 20)	/* buckets; more: a loop, or a faulty writer */

/* --- layout --- */

/* @object_bytes: what the accessor needs for an object of @record_max bytes */
void rmc_hash_layout(struct rmc_hash *h, uint64_t at, uint64_t objects, size_t record_max,
		     size_t object_bytes)
{
	/* with all objects in use, four of seven entries are used */
	for (h->buckets = 1; h->buckets * 4 < objects; )
		h->buckets *= 2;
	h->further = objects / 4 + 8;
	h->objects = objects;
	h->record_max = record_max;
	h->object_bytes = object_bytes;
	h->buckets_at = at;
	h->objects_at = rmc_hash_bucket_at(h, h->buckets + h->further);
	h->end = h->objects_at + objects * object_bytes;
}

/* One half of the 128-bit hash selects the index, the other the bucket and the tag. */
struct rmc_hash_key rmc_hash_key(const void *key, size_t len)
{
	XXH128_hash_t x = XXH3_128bits(key, len);

	return (struct rmc_hash_key){ key, len, x.low64, x.high64 };
}

static uint64_t make_entry(uint64_t hash, size_t bytes, uint32_t object)
{
	return (uint64_t)rmc_hash_tag(hash) << 48 | (uint64_t)(bytes / 8) << 32 | (object + 1);
}

static uint16_t entry_tag(uint64_t e)
{
	return (uint16_t)(e >> 48);
}

static size_t entry_bytes(uint64_t e)
{
	return (size_t)(e >> 32 & 0xffff) * 8;
}

static uint32_t entry_object(uint64_t e)
{
	return (uint32_t)e - 1;
}

static uint64_t entry_at(const struct rmc_hash *h, uint64_t n, int i)
{
	return rmc_hash_bucket_at(h, n) + (uint64_t)i * sizeof(uint64_t);
}

static uint64_t next_at(const struct rmc_hash *h, uint64_t n)
{
	return rmc_hash_bucket_at(h, n) + offsetof(struct rmc_hash_bucket, next);
}

/* --- records --- */

size_t rmc_hash_make_record(void *record, const struct rmc_hash_key *k, const void *value,
			    size_t value_len)
{
	struct rmc_hash_record h = { (uint32_t)k->len, (uint32_t)value_len };
	size_t bytes = rmc_hash_record_bytes(k->len, value_len);
	uint8_t *r = (uint8_t *)record;

	memset(r, 0, sizeof(h) + rmc_hash_pad(k->len));
	memcpy(r, &h, sizeof(h));
	memcpy(r + sizeof(h), k->bytes, k->len);
	if (value_len) {
		memset(r + bytes - 8, 0, 8);
		memcpy(r + sizeof(h) + rmc_hash_pad(k->len), value, value_len);
	}
	return bytes;
}

enum rmc_hash_match rmc_hash_match(const void *record, size_t bytes, const struct rmc_hash_key *k,
				   const void **value, size_t *value_len)
{
	const uint8_t *r = (const uint8_t *)record;
	struct rmc_hash_record h;

	memcpy(&h, r, sizeof(h));
	if (h.key_len != k->len || sizeof(h) + rmc_hash_pad(k->len) > bytes ||
	    memcmp(r + sizeof(h), k->bytes, k->len))
		return RMC_HASH_STRANGER;
	if (rmc_hash_record_bytes(k->len, h.value_len) != bytes)
		return RMC_HASH_RESIZED;
	*value = r + sizeof(h) + rmc_hash_pad(k->len);
	*value_len = h.value_len;
	return RMC_HASH_FOUND;
}

/* --- the buckets of a chain --- */

struct walk {
	uint64_t n;			/* number of the bucket */
	unsigned int links;		/* from the head of the chain to it */
	const struct rmc_hash_bucket *b;
};

static int load(const struct rmc_hash *h, struct rmc_ds_access *a, struct walk *w)
{
	const void *data = NULL;
	int err = a->ops->read(a, RMC_DS_NODE, rmc_hash_bucket_at(h, w->n), sizeof(*w->b), &data);

	w->b = (const struct rmc_hash_bucket *)data;
	return err;
}

static int first(const struct rmc_hash *h, struct rmc_ds_access *a, uint64_t hash, struct walk *w)
{
	w->n = rmc_hash_home(h, hash);
	w->links = 0;
	return load(h, a, w);
}

/* -ENOENT: the chain ends, and the walk stays at its last bucket */
static int next(const struct rmc_hash *h, struct rmc_ds_access *a, struct walk *w)
{
	uint64_t link = w->b->next;

	if (!link)
		return -ENOENT;
	if (link > h->buckets + h->further)
		return -EPROTO;
	if (++w->links == CHAIN_MAX)
		return -ELOOP;
	w->n = link - 1;
	return load(h, a, w);
}

/* --- find --- */

static int read_object(const struct rmc_hash *h, struct rmc_ds_access *a, uint64_t e,
		       const void **record)
{
	if (entry_bytes(e) < sizeof(struct rmc_hash_record) || entry_bytes(e) > h->record_max ||
	    entry_object(e) >= h->objects)
		return -EPROTO;
	return a->ops->read(a, RMC_DS_OBJECT, rmc_hash_object_at(h, entry_object(e)),
			    entry_bytes(e), record);
}

int rmc_hash_find(const struct rmc_hash *h, struct rmc_ds_access *a, const struct rmc_hash_key *k,
		  struct rmc_hash_found *f)
{
	const void *record;
	int i, err, again = 0;
	struct walk w;
	uint64_t e;

	f->stale = 0;
	for (err = first(h, a, k->hash, &w); !err; err = next(h, a, &w)) {
		for (i = 0; i < RMC_HASH_ENTRIES; i++) {
			e = w.b->entry[i];
			if (!e || entry_tag(e) != rmc_hash_tag(k->hash))
				continue;
			err = read_object(h, a, e, &record);
			/* an outdated length looks torn as well */
			if (err && a->ops->again && a->ops->again(err)) {
				again = err;
				continue;
			}
			if (err)
				return err;
			switch (rmc_hash_match(record, entry_bytes(e), k, &f->value,
					       &f->value_len)) {
			case RMC_HASH_FOUND:
				f->at = entry_at(h, w.n, i);
				f->entry = e;
				return 0;
			case RMC_HASH_RESIZED:
				again = -EAGAIN;
				/* fall through */
			case RMC_HASH_STRANGER:
				f->stale++;
			}
		}
	}
	return err == -ENOENT && again ? again : err;
}

/* --- put --- */

/* The first free entry of the key's chain, which grows if need be */
static int vacancy(const struct rmc_hash *h, struct rmc_ds_access *a, uint64_t hash, uint64_t *at)
{
	static const struct rmc_hash_bucket empty;
	struct walk w;
	uint32_t n;
	int i, err;

	for (err = first(h, a, hash, &w); !err; err = next(h, a, &w)) {
		for (i = 0; i < RMC_HASH_ENTRIES; i++) {
			if (!w.b->entry[i]) {
				*at = entry_at(h, w.n, i);
				return 0;
			}
		}
	}
	if (err != -ENOENT)
		return err;
	err = a->ops->alloc(a, RMC_DS_NODE, &n);
	if (err)
		return err;
	/* an empty bucket before the link to it */
	err = a->ops->write(a, RMC_DS_NODE, rmc_hash_bucket_at(h, n), &empty, sizeof(empty));
	if (!err)
		err = a->ops->swap(a, next_at(h, w.n), 0, (uint64_t)n + 1);
	if (err)
		a->ops->free(a, RMC_DS_NODE, n, 0);
	*at = entry_at(h, n, 0);
	return err;
}

/* Empty buckets at the end of the key's chain leave it. One that stays does no harm. */
static void shorten(const struct rmc_hash *h, struct rmc_ds_access *a, uint64_t hash)
{
	uint64_t before;
	struct walk w;
	int i, err;

	for (;;) {
		before = 0;
		err = first(h, a, hash, &w);
		while (!err && w.b->next) {
			before = w.n;
			err = next(h, a, &w);
		}
		if (err || !w.links)
			return;
		for (i = 0; i < RMC_HASH_ENTRIES && !w.b->entry[i]; i++)
			;
		if (i < RMC_HASH_ENTRIES || a->ops->swap(a, next_at(h, before), w.n + 1, 0))
			return;
		a->ops->free(a, RMC_DS_NODE, (uint32_t)w.n, 1);
	}
}

static int insert(const struct rmc_hash *h, struct rmc_ds_access *a, const struct rmc_hash_key *k,
		  const void *record, size_t bytes)
{
	uint64_t at;
	uint32_t n;
	int err = a->ops->alloc(a, RMC_DS_OBJECT, &n);

	if (err)
		return err;
	err = vacancy(h, a, k->hash, &at);
	if (!err) {
		/* the object before its entry: readers read one after the other */
		err = a->ops->write(a, RMC_DS_OBJECT, rmc_hash_object_at(h, n), record, bytes);
		if (!err)
			err = a->ops->swap(a, at, 0, make_entry(k->hash, bytes, n));
		if (err)
			shorten(h, a, k->hash);
	}
	if (err)
		a->ops->free(a, RMC_DS_OBJECT, n, 0);
	return err;
}

/* Insert or replace: @record has the key and is @bytes long, see rmc_hash_make_record(). */
int rmc_hash_put(const struct rmc_hash *h, struct rmc_ds_access *a, const struct rmc_hash_key *k,
		 const void *record, size_t bytes)
{
	struct rmc_hash_found f;
	uint32_t n;
	int err;

	err = rmc_hash_find(h, a, k, &f);
	if (err == -ENOENT)
		return insert(h, a, k, record, bytes);
	if (err)
		return err;
	n = entry_object(f.entry);
	err = a->ops->write(a, RMC_DS_OBJECT, rmc_hash_object_at(h, n), record, bytes);
	if (err)
		return err;
	return a->ops->swap(a, f.at, f.entry, make_entry(k->hash, bytes, n));
}

/* --- delete --- */

int rmc_hash_delete(const struct rmc_hash *h, struct rmc_ds_access *a,
		    const struct rmc_hash_key *k)
{
	static const struct rmc_hash_record dead;
	struct rmc_hash_found f;
	uint32_t n;
	int err;

	err = rmc_hash_find(h, a, k, &f);
	if (err)
		return err;
	n = entry_object(f.entry);
	err = a->ops->swap(a, f.at, f.entry, 0);
	if (err)
		return err;
	err = a->ops->write(a, RMC_DS_OBJECT, rmc_hash_object_at(h, n), &dead, sizeof(dead));
	if (err) {
		a->ops->swap(a, f.at, 0, f.entry);
		return err;
	}
	a->ops->free(a, RMC_DS_OBJECT, n, 1);
	shorten(h, a, k->hash);
	return 0;
}
