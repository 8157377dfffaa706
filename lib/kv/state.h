/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The object store (see <rmc/kv.h>): private declarations of this directory.
 *
 * A member's memory:
 *
 *	| store | bucket 0 .. n - 1 | further buckets | object 0 .. m - 1 | messages |
 *
 * Only the owner writes its buckets and objects. A bucket is a line, so a remote read
 * of it is atomic: seven entries and the number of the next bucket of the chain.
 *
 *	entry	63      48 47      32 31           0
 *		+---------+----------+--------------+
 *		| tag     | length/8 | object + 1   |	0: none
 *		+---------+----------+--------------+
 *	record	| key length, 0 when dead | value length | key, padded | value, padded |
 *
 * An entry has the length of its record, so a reader knows how much to fetch; the record
 * has the key. If the owner changed the entry meanwhile, the record may be dead, of another
 * key, or longer: rmc_kv_match(). Entries never move within a chain, so a lookup never
 * misses a key that is there. Only empty buckets at the end leave their chain, so a reader
 * that still reads one misses nothing either.
 */
#ifndef RMC_LIB_KV_STATE_H
#define RMC_LIB_KV_STATE_H

#include "../internal.h"
#include "rmc/kv.h"

#define BUCKET_ENTRIES	7
#define BUCKET_BYTES	64

struct bucket {
	uint64_t entry[BUCKET_ENTRIES];
	uint64_t next;		/* number of a further bucket + 1, 0: the chain ends */
};

struct record {
	uint32_t key_len;
	uint32_t value_len;
};

/* Values that all members must have in common; first line of the store */
struct store {
	uint64_t magic;		/* written last */
	uint64_t objects;
	uint32_t key_max, value_max;
	char scheme[16];
	uint64_t pad[3];
};

_Static_assert(sizeof(struct bucket) == BUCKET_BYTES, "a bucket is a line");
_Static_assert(sizeof(struct store) == 64, "a line");
_Static_assert(sizeof(struct record) == 8, "keys and values stay aligned");

/* All members use the same hash: 2 means XXH3 */
#define STORE_MAGIC	0x322d766b2d636d72ULL	/* "rmc-kv-2" */

/* Requests to the owner */
enum kv_op { KV_PUT = 0x766b0001, KV_DELETE, KV_BARRIER };

struct kv_request {
	uint32_t op;
	uint32_t key_len;
	uint64_t value_len;	/* KV_BARRIER: round */
};

struct kv_shape {
	uint64_t buckets;	/* power of two: the heads of all chains */
	uint64_t further;
	size_t record_max;
	size_t object_bytes;
	uint64_t buckets_at, objects_at, messages_at;
	size_t bytes;
	unsigned int cells;
	size_t message_max;
};

struct rmc_kv {
	struct rmc_team *team;
	struct rmc_kv_options o;
	struct kv_shape shape;
	uint8_t *base;			/* of this member */
	struct rmc_msg *msg;
	struct rmc_rpc *rpc;
	struct rmc_qp *qp;		/* the reader's */
	struct rmc_reader *reader;
	struct rmc_kv_stats stats;
	uint64_t round, *rounds;	/* of barriers; upper half: the team's first round */
	int in_barrier;			/* the barrier of round was not finished */
	int timeout_ms;
	uint64_t *life;			/* of each member, as the team met it */

	struct bucket *landing;		/* registered */
	int landing_id;
	uint8_t *value;			/* of local gets */
	uint8_t *request, *record;

	/* the owner's */
	uint32_t *free, free_head, free_count;		/* objects: a queue, reused late */
	uint32_t *free_bucket, free_buckets;
};

static inline size_t pad8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static inline size_t record_bytes(size_t key_len, size_t value_len)
{
	return sizeof(struct record) + pad8(key_len) + pad8(value_len);
}

static inline uint64_t make_entry(uint16_t tag, size_t bytes, uint32_t object)
{
	return (uint64_t)tag << 48 | (uint64_t)(bytes / 8) << 32 | (object + 1);
}

static inline uint16_t entry_tag(uint64_t e)
{
	return (uint16_t)(e >> 48);
}

static inline size_t entry_bytes(uint64_t e)
{
	return (size_t)(e >> 32 & 0xffff) * 8;
}

static inline uint32_t entry_object(uint64_t e)
{
	return (uint32_t)e - 1;
}

static inline uint64_t bucket_at(const struct rmc_kv *kv, uint64_t n)
{
	return kv->shape.buckets_at + n * BUCKET_BYTES;
}

static inline uint64_t object_at(const struct rmc_kv *kv, uint32_t n)
{
	return kv->shape.objects_at + n * kv->shape.object_bytes;
}

static inline struct bucket *bucket_of(const struct rmc_kv *kv, uint64_t n)
{
	return (struct bucket *)(kv->base + bucket_at(kv, n));
}

static inline struct rmc_object *object_of(const struct rmc_kv *kv, uint32_t n)
{
	return (struct rmc_object *)(kv->base + object_at(kv, n));
}

static inline uint64_t home_bucket(const struct rmc_kv *kv, uint64_t hash)
{
	return hash & (kv->shape.buckets - 1);
}

static inline uint16_t hash_tag(uint64_t hash)
{
	return (uint16_t)(hash >> 48);
}

/* kv.c */
uint64_t rmc_kv_hash(const void *key, size_t len);

/* owner.c */
int rmc_kv_owner_open(struct rmc_kv *kv);
void rmc_kv_break_locks(struct rmc_kv *kv, int nid);
void rmc_kv_owner_close(struct rmc_kv *kv);
int rmc_kv_store(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
		 size_t value_len);
int rmc_kv_remove(struct rmc_kv *kv, const void *key, size_t key_len);
int rmc_kv_lookup(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
		  size_t *value_len);
int rmc_kv_serve(void *arg, int nid, const void *request, size_t len, void *response,
		 size_t size);

/*
 * Compares a record, fetched by the length of its entry, with the key of a reader.
 * KV_STRANGER: another key's record, or a dead one; if the entry was the key's, the key has
 * been removed meanwhile, so not finding it is correct. KV_RESIZED: the entry was the key's
 * and is outdated.
 */
enum kv_match { KV_FOUND, KV_STRANGER, KV_RESIZED };

enum kv_match rmc_kv_match(const void *record, size_t bytes, const void *key, size_t key_len,
			   const void **value, size_t *value_len);

#endif /* RMC_LIB_KV_STATE_H */
