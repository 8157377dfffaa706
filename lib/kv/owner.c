/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The owner's side of the store: its accessor of its own index, and requests of others.
 *
 * Freed objects wait in a queue before they are used again.
 */
#include <stdlib.h>
#include <string.h>
#include "state.h"

#define LOCAL_TRIES	1024

static struct rmc_kv *store_of(struct rmc_ds_access *a)
{
	return (struct rmc_kv *)((char *)a - offsetof(struct rmc_kv, own));
}

/* --- the accessor --- */

/* The owner's writes never run concurrently: one attempt is enough, except for repair */
static int own_read(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, size_t len,
		    const void **data)
{
	struct rmc_kv *kv = store_of(a);
	unsigned int i;
	int err = 0;

	if (kind == RMC_DS_NODE) {
		*data = kv->base + at;
		return 0;
	}
	*data = kv->value;
	for (i = 0; i < LOCAL_TRIES; i++) {
		err = rmc_scheme_read(kv->o.scheme, (struct rmc_object *)(kv->base + at), kv->value,
				      len);
		if (!err)
			break;
		rmc_pause();
	}
	return err;
}

/*
 * Write an object; break the lock of a remote reader whose node, or whose incarnation, is
 * gone.
 */
static int write_object(struct rmc_kv *kv, struct rmc_object *o, const void *record, size_t bytes)
{
	int err, nid;

	err = rmc_scheme_write(kv->o.scheme, o, record, bytes, &kv->o.params);
	if (err != RMC_SCHEME_LOCKED)
		return err;
	nid = rmc_scheme_holder(kv->o.scheme, o);
	if (nid < 0 || (rmc_node_state(kv->team->ctx, nid) == RMC_NODE_UP &&
			!rmc_rpc_lost(kv->rpc, nid)))
		return err;
	if (!rmc_scheme_break(kv->o.scheme, o, nid))
		kv->stats.broken++;
	return rmc_scheme_write(kv->o.scheme, o, record, bytes, &kv->o.params);
}

static int own_write(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, const void *data,
		     size_t len)
{
	struct rmc_kv *kv = store_of(a);

	if (kind == RMC_DS_OBJECT)
		return write_object(kv, (struct rmc_object *)(kv->base + at), data, len);
	memcpy(kv->base + at, data, len);
	return 0;
}

static int own_swap(struct rmc_ds_access *a, uint64_t at, uint64_t expected, uint64_t desired)
{
	(void)expected;		/* which it is: there is no other writer */
	/* earlier writes before it; pairs with the RMC's reads, one after the other */
	rmc_store_release((uint64_t *)(void *)(store_of(a)->base + at), desired);
	return 0;
}

static int own_alloc(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t *n)
{
	struct rmc_kv *kv = store_of(a);

	if (kind == RMC_DS_NODE) {
		if (!kv->free_buckets)
			return -ENOSPC;
		*n = kv->free_bucket[--kv->free_buckets];
		return 0;
	}
	if (!kv->free_count)
		return -ENOSPC;
	*n = kv->free[kv->free_head];
	kv->free_head = (kv->free_head + 1) % (uint32_t)kv->o.objects;
	kv->free_count--;
	kv->stats.objects++;
	return 0;
}

static void own_free(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint32_t n, int used)
{
	struct rmc_kv *kv = store_of(a);

	if (kind == RMC_DS_NODE) {
		kv->free_bucket[kv->free_buckets++] = n;
		return;
	}
	if (used)
		kv->free[(kv->free_head + kv->free_count) % (uint32_t)kv->o.objects] = n;
	else	/* it is still in its place */
		kv->free_head = (kv->free_head ? kv->free_head : (uint32_t)kv->o.objects) - 1;
	kv->free_count++;
	kv->stats.objects--;
}

static const struct rmc_ds_ops own_ops = {
	.read = own_read,
	.write = own_write,
	.swap = own_swap,
	.alloc = own_alloc,
	.free = own_free,
};

/* --- calls of the owner --- */

/* Break the locks of a node's dead incarnation on our objects; only their owner can. */
void rmc_kv_break_locks(struct rmc_kv *kv, int nid)
{
	uint32_t i;

	for (i = 0; i < kv->o.objects; i++)
		if (rmc_scheme_holder(kv->o.scheme, object_of(kv, i)) == nid &&
		    !rmc_scheme_break(kv->o.scheme, object_of(kv, i), nid))
			kv->stats.broken++;
}

int rmc_kv_lookup(struct rmc_kv *kv, const struct rmc_hash_key *k, const void **value,
		  size_t *value_len)
{
	struct rmc_hash_found f;
	int err = rmc_hash_find(&kv->shape.hash, &kv->own, k, &f);

	if (err)
		return err;
	*value = f.value;
	*value_len = f.value_len;
	return 0;
}

int rmc_kv_store(struct rmc_kv *kv, const struct rmc_hash_key *k, const void *value,
		 size_t value_len)
{
	struct rmc_hash_key copy = *k;
	size_t bytes;

	/* key and value may point into kv->value, which the search overwrites */
	bytes = rmc_hash_make_record(kv->record, k, value, value_len);
	copy.bytes = kv->record + sizeof(struct rmc_hash_record);
	return rmc_hash_put(&kv->shape.hash, &kv->own, &copy, kv->record, bytes);
}

int rmc_kv_remove(struct rmc_kv *kv, const struct rmc_hash_key *k)
{
	return rmc_hash_delete(&kv->shape.hash, &kv->own, k);
}

/* --- requests of others --- */

/* Serve a request: the response is empty, its result is the result of the call */
int rmc_kv_serve(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	struct rmc_kv *kv = (struct rmc_kv *)arg;
	const uint8_t *body = (const uint8_t *)request + sizeof(struct kv_request);
	int member = nid - kv->team->first_nid, status = 0;
	struct rmc_hash_key k;
	struct kv_request q;

	if (len < sizeof(uint32_t))
		return -EBADMSG;
	memcpy(&q.op, request, sizeof(q.op));
	if (q.op == RMC_READER_MAGIC) {
		kv->stats.served++;
		return rmc_reader_serve(kv->o.scheme, kv->base - kv->team->offset - kv->o.at,
					kv->team->offset + kv->o.at + kv->shape.messages_at,
					request, len, response, size);
	}
	if (len < sizeof(q) || size < sizeof(status))
		return -EBADMSG;
	memcpy(&q, request, sizeof(q));
	len -= sizeof(q);
	if (q.op == KV_BARRIER) {
		kv->rounds[member] = q.value_len;
		return 0;
	}
	if (!q.key_len || q.key_len > kv->o.key_max || q.value_len > kv->o.value_max ||
	    len != q.key_len + q.value_len)
		return -EINVAL;
	kv->stats.served++;
	k = rmc_hash_key(body, q.key_len);
	if (q.op == KV_PUT)
		status = rmc_kv_store(kv, &k, body + q.key_len, q.value_len);
	else if (q.op == KV_DELETE)
		status = rmc_kv_remove(kv, &k);
	else
		return -EINVAL;
	if (status <= 0)
		return status;
	memcpy(response, &status, sizeof(status));
	return sizeof(status);
}

int rmc_kv_owner_open(struct rmc_kv *kv)
{
	const struct rmc_hash *h = &kv->shape.hash;
	uint32_t i;

	kv->own.ops = &own_ops;
	kv->free = (uint32_t *)calloc(kv->o.objects, sizeof(*kv->free));
	kv->free_bucket = (uint32_t *)calloc(h->further, sizeof(*kv->free_bucket));
	if (!kv->free || !kv->free_bucket)
		return rmc_fail(ENOMEM, "store: no memory for the index of %llu objects",
				(unsigned long long)kv->o.objects);
	for (i = 0; i < kv->o.objects; i++) {
		kv->free[i] = i;
		/* of the largest length: zeroed memory is valid except for checksums */
		rmc_scheme_init(kv->o.scheme, object_of(kv, i), h->record_max);
	}
	kv->free_count = (uint32_t)kv->o.objects;
	for (i = 0; i < h->further; i++)
		kv->free_bucket[i] = (uint32_t)(h->buckets + h->further - 1 - i);
	kv->free_buckets = (uint32_t)h->further;
	return 0;
}

void rmc_kv_owner_close(struct rmc_kv *kv)
{
	free(kv->free);
	free(kv->free_bucket);
}
