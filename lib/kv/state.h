/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The object store (see <rmc/kv.h>): private declarations of this directory.
 *
 * A member's memory, of which only the owner writes the index:
 *
 *	| store | hash index: ../ds/hash.h | messages |
 *
 * The index is reached through two accessors (../ds/access.h):
 *
 *	kv->own		owner.c: loads and stores of the member's own index
 *	kv->peer	remote.c: one-sided reads of another member's
 */
#ifndef RMC_LIB_KV_STATE_H
#define RMC_LIB_KV_STATE_H

#include "../internal.h"
#include "../ds/hash.h"
#include "rmc/kv.h"

/* Values that all members must have in common; first line of the store */
struct store {
	uint64_t magic;		/* written last */
	uint64_t objects;
	uint32_t key_max, value_max;
	char scheme[16];
	uint64_t native;	/* puts are native messages */
	uint64_t pad[2];
};

_Static_assert(sizeof(struct store) == 64, "a line");

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
	struct rmc_hash hash;
	uint64_t messages_at;
	size_t bytes;
	unsigned int cells;
	size_t message_max;
};

/* Another member's index */
struct kv_peer {
	struct rmc_ds_access access;
	struct rmc_hash_bucket *landing;	/* registered */
	int landing_id;
	struct rmc_hash_bucket bucket;		/* copy of it */
	int nid;				/* whose index is read now */
};

struct rmc_kv {
	struct rmc_team *team;
	struct rmc_kv_options o;
	struct kv_shape shape;
	uint8_t *base;			/* of this member */
	struct rmc_msg *msg;		/* NULL: native messages */
	struct rmc_rpc *rpc;
	struct rmc_qp *qp;		/* the reader's */
	struct rmc_reader *reader;
	struct rmc_kv_stats stats;
	uint64_t round, *rounds;	/* of barriers; upper half: the team's first round */
	int in_barrier;			/* the barrier of round was not finished */
	int timeout_ms;
	uint64_t *life;			/* of each member, as the team met it */

	struct kv_peer peer;
	struct rmc_ds_access own;
	uint8_t *value;			/* of local gets */
	uint8_t *request, *record;

	/* the owner's */
	uint32_t *free, free_head, free_count;		/* objects: a queue, reused late */
	uint32_t *free_bucket, free_buckets;
};

static inline struct rmc_object *object_of(const struct rmc_kv *kv, uint32_t n)
{
	return (struct rmc_object *)(kv->base + rmc_hash_object_at(&kv->shape.hash, n));
}

/* owner.c */
int rmc_kv_owner_open(struct rmc_kv *kv);
void rmc_kv_break_locks(struct rmc_kv *kv, int nid);
void rmc_kv_owner_close(struct rmc_kv *kv);
int rmc_kv_store(struct rmc_kv *kv, const struct rmc_hash_key *k, const void *value,
		 size_t value_len);
int rmc_kv_remove(struct rmc_kv *kv, const struct rmc_hash_key *k);
int rmc_kv_lookup(struct rmc_kv *kv, const struct rmc_hash_key *k, const void **value,
		  size_t *value_len);
int rmc_kv_serve(void *arg, int nid, const void *request, size_t len, void *response,
		 size_t size);

/* remote.c */
extern const struct rmc_ds_ops rmc_kv_peer_ops;
int rmc_kv_must_retry(int err);
int rmc_kv_remote_get(struct rmc_kv *kv, int nid, const struct rmc_hash_key *k, const void **value,
		      size_t *value_len);

#endif /* RMC_LIB_KV_STATE_H */
