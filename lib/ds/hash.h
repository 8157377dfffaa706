/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A hash index of objects that have keys, over an accessor (access.h). Its memory:
 *
 *	| bucket 0 .. n - 1 | further buckets | object 0 .. m - 1 |
 *
 * A bucket is a line, so a remote read of it is atomic: seven entries and the number of the next
 * bucket of the chain.
 *
 *	entry	63      48 47      32 31           0
 *		+---------+----------+--------------+
 *		| tag     | length/8 | object + 1   |	0: none
 *		+---------+----------+--------------+
 *	record	| key length, 0 when dead | value length | key, padded | value, padded |
 *
 * An entry has the length of its record, so a reader knows how much to fetch; the record
 * has the key. If a writer changed the entry meanwhile, the record may be dead, of another
 * key, or longer: rmc_hash_match(). Entries never move within a chain, so a lookup never
 * misses a key that is there. Only empty buckets at the end leave their chain, so a reader
 * that still reads one misses nothing either.
 *
 *	find	bucket, { object of each entry with the tag, next bucket } ...
 *	insert	find; object; { empty bucket, link to it }; entry
 *	replace	find; object; entry
 *	delete	find; entry; object, dead; { unlink empty buckets }
 *
 * Each step is one call of the accessor, and between any two of them a reader may find all keys.
 * Writers run one after another and their swaps succeed, unless the accessor makes each operation
 * atomic: a replacement whose swap failed would leave an outdated entry.
 */
#ifndef RMC_LIB_DS_HASH_H
#define RMC_LIB_DS_HASH_H

#include "access.h"

#define RMC_HASH_ENTRIES	7
#define RMC_HASH_BUCKET_BYTES	64

struct rmc_hash_bucket {
	uint64_t entry[RMC_HASH_ENTRIES];
	uint64_t next;		/* number of a further bucket + 1, 0: the chain ends */
};

struct rmc_hash_record {
	uint32_t key_len;
	uint32_t value_len;
};

_Static_assert(sizeof(struct rmc_hash_bucket) == RMC_HASH_BUCKET_BYTES, "a bucket is a line");
_Static_assert(sizeof(struct rmc_hash_record) == 8, "keys and values stay aligned");

/* Where everything is: the same for all who use an index */
struct rmc_hash {
	uint64_t buckets;	/* power of two: the heads of all chains */
	uint64_t further;	/* numbers from buckets on: nodes to allocate */
	uint64_t objects;
	size_t record_max;
	size_t object_bytes;	/* of a record of this length, as the accessor stores it */
	uint64_t buckets_at, objects_at, end;
};

/* A key and its hash, which is computed once */
struct rmc_hash_key {
	const void *bytes;
	size_t len;
	uint64_t hash;		/* of bucket and tag */
	uint64_t spread;	/* independent of it: which of several indexes */
};

struct rmc_hash_found {
	const void *value;	/* in the record: the accessor's memory */
	size_t value_len;
	uint64_t at, entry;	/* its entry: address and content */
	unsigned int stale;	/* records that were not those of the key */
};

static inline size_t rmc_hash_pad(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static inline size_t rmc_hash_record_bytes(size_t key_len, size_t value_len)
{
	return sizeof(struct rmc_hash_record) + rmc_hash_pad(key_len) + rmc_hash_pad(value_len);
}

static inline uint64_t rmc_hash_bucket_at(const struct rmc_hash *h, uint64_t n)
{
	return h->buckets_at + n * RMC_HASH_BUCKET_BYTES;
}

static inline uint64_t rmc_hash_object_at(const struct rmc_hash *h, uint32_t n)
{
	return h->objects_at + n * h->object_bytes;
}

static inline uint64_t rmc_hash_home(const struct rmc_hash *h, uint64_t hash)
{
	return hash & (h->buckets - 1);
}

static inline uint16_t rmc_hash_tag(uint64_t hash)
{
	return (uint16_t)(hash >> 48);
}

void rmc_hash_layout(struct rmc_hash *h, uint64_t at, uint64_t objects, size_t record_max,
		     size_t object_bytes);
struct rmc_hash_key rmc_hash_key(const void *key, size_t len);
size_t rmc_hash_make_record(void *record, const struct rmc_hash_key *k, const void *value,
			    size_t value_len);

/*
 * Compares a record, fetched by the length of its entry, with the key of a reader.
 * RMC_HASH_STRANGER: another key's record, or a dead one; if the entry was the key's, the key has
 * been removed meanwhile, so not finding it is correct. RMC_HASH_RESIZED: the entry was the key's
 * and is outdated.
 */
enum rmc_hash_match { RMC_HASH_FOUND, RMC_HASH_STRANGER, RMC_HASH_RESIZED };

enum rmc_hash_match rmc_hash_match(const void *record, size_t bytes, const struct rmc_hash_key *k,
				   const void **value, size_t *value_len);

/*
 * 0; -ENOENT; -ENOSPC; -EAGAIN: the entry was outdated; -EPROTO, -ELOOP: the memory is that of a
 * faulty writer; or a status of the accessor.
 */
int rmc_hash_find(const struct rmc_hash *h, struct rmc_ds_access *a, const struct rmc_hash_key *k,
		  struct rmc_hash_found *f);
int rmc_hash_put(const struct rmc_hash *h, struct rmc_ds_access *a, const struct rmc_hash_key *k,
		 const void *record, size_t bytes);
int rmc_hash_delete(const struct rmc_hash *h, struct rmc_ds_access *a,
		    const struct rmc_hash_key *k);

#endif /* RMC_LIB_DS_HASH_H */
