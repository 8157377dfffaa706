/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The owner's side of the store: its index, its objects, and requests of others.
 *
 * An insertion writes the object, then its entry with release; a removal clears the
 * entry, then writes a dead record into the object, so that readers who had the entry
 * find it dead. Freed objects wait in a queue before they are used again.
 */
#include <stdlib.h>
#include <string.h>
#include "state.h"

#define LOCAL_TRIES	1024

enum kv_match rmc_kv_match(const void *record, size_t bytes, const void *key, size_t key_len,
			   const void **value, size_t *value_len)
{
	const uint8_t *r = (const uint8_t *)record;
	struct record h;

	memcpy(&h, r, sizeof(h));
	if (h.key_len != key_len || sizeof(h) + pad8(key_len) > bytes ||
	    memcmp(r + sizeof(h), key, key_len))
		return KV_STRANGER;
	if (record_bytes(key_len, h.value_len) != bytes)
		return KV_RESIZED;
	*value = r + sizeof(h) + pad8(key_len);
	*value_len = h.value_len;
	return KV_FOUND;
}

/* The owner's writes never run concurrently: one attempt is enough, except for repair */
static int read_object(struct rmc_kv *kv, uint64_t e)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < LOCAL_TRIES; i++) {
		err = rmc_scheme_read(kv->o.scheme, object_of(kv, entry_object(e)), kv->value,
				      entry_bytes(e));
		if (!err)
			break;
		rmc_pause();
	}
	return err;
}

/* The key's entry, or NULL; *err if it could not be determined */
static uint64_t *find(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
		      size_t *value_len, int *err)
{
	uint64_t hash = rmc_kv_hash(key, key_len), n = home_bucket(kv, hash);
	struct bucket *b;
	int i;

	for (*err = 0; ; n = b->next - 1) {
		b = bucket_of(kv, n);
		for (i = 0; i < BUCKET_ENTRIES; i++) {
			if (!b->entry[i] || entry_tag(b->entry[i]) != hash_tag(hash))
				continue;
			*err = read_object(kv, b->entry[i]);
			if (*err)
				return NULL;
			if (rmc_kv_match(kv->value, entry_bytes(b->entry[i]), key, key_len,
					 value, value_len) == KV_FOUND)
				return &b->entry[i];
		}
		if (!b->next)
			return NULL;
	}
}

int rmc_kv_lookup(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
		  size_t *value_len)
{
	int err;

	if (find(kv, key, key_len, value, value_len, &err))
		return 0;
	return err ? err : -ENOENT;
}

/* The first free entry of the key's chain, which grows if need be */
static uint64_t *vacancy(struct rmc_kv *kv, uint64_t hash)
{
	struct bucket *b = bucket_of(kv, home_bucket(kv, hash)), *more;
	uint32_t n;
	int i;

	for (;; b = bucket_of(kv, b->next - 1)) {
		for (i = 0; i < BUCKET_ENTRIES; i++)
			if (!b->entry[i])
				return &b->entry[i];
		if (!b->next)
			break;
	}
	if (!kv->free_buckets)
		return NULL;
	n = kv->free_bucket[--kv->free_buckets];
	more = bucket_of(kv, n);
	memset(more, 0, sizeof(*more));
	/* an empty bucket before the link to it */
	rmc_store_release(&b->next, (uint64_t)n + 1);
	return &more->entry[0];
}

/* Empty buckets at the end of the key's chain leave it. */
static void shorten(struct rmc_kv *kv, uint64_t hash)
{
	struct bucket *b, *before;
	int i;

	for (;;) {
		before = NULL;
		b = bucket_of(kv, home_bucket(kv, hash));
		while (b->next) {
			before = b;
			b = bucket_of(kv, b->next - 1);
		}
		for (i = 0; i < BUCKET_ENTRIES && !b->entry[i]; i++)
			;
		if (!before || i < BUCKET_ENTRIES)
			return;
		kv->free_bucket[kv->free_buckets++] = (uint32_t)before->next - 1;
		rmc_store_release(&before->next, 0);
	}
}

/*
 * Write an object; break the lock of a remote reader whose node, or whose incarnation, is
 * gone.
 */
static int write_object(struct rmc_kv *kv, uint32_t n, size_t bytes)
{
	struct rmc_object *o = object_of(kv, n);
	int err, nid;

	err = rmc_scheme_write(kv->o.scheme, o, kv->record, bytes, &kv->o.params);
	if (err != RMC_SCHEME_LOCKED)
		return err;
	nid = rmc_scheme_holder(kv->o.scheme, o);
	if (nid < 0 || (rmc_node_state(kv->team->ctx, nid) == RMC_NODE_UP &&
			!rmc_rpc_lost(kv->rpc, nid)))
		return err;
	if (!rmc_scheme_break(kv->o.scheme, o, nid))
		kv->stats.broken++;
	return rmc_scheme_write(kv->o.scheme, o, kv->record, bytes, &kv->o.params);
}

/* Break the locks of a node's dead incarnation on our objects; only their owner can. */
void rmc_kv_break_locks(struct rmc_kv *kv, int nid)
{
	uint32_t i;

	for (i = 0; i < kv->o.objects; i++)
		if (rmc_scheme_holder(kv->o.scheme, object_of(kv, i)) == nid &&
		    !rmc_scheme_break(kv->o.scheme, object_of(kv, i), nid))
			kv->stats.broken++;
}

static size_t make_record(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
			  size_t value_len)
{
	struct record h = { (uint32_t)key_len, (uint32_t)value_len };
	size_t bytes = record_bytes(key_len, value_len);

	memset(kv->record, 0, sizeof(h) + pad8(key_len));
	memcpy(kv->record, &h, sizeof(h));
	memcpy(kv->record + sizeof(h), key, key_len);
	if (value_len) {
		memset(kv->record + bytes - 8, 0, 8);
		memcpy(kv->record + sizeof(h) + pad8(key_len), value, value_len);
	}
	return bytes;
}

int rmc_kv_store(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
		 size_t value_len)
{
	uint64_t hash = rmc_kv_hash(key, key_len), *e;
	const void *old;
	size_t bytes, n;
	uint32_t object;
	int err;

	/* first: value may point into kv->value, which the next lookup overwrites */
	bytes = make_record(kv, key, key_len, value, value_len);
	e = find(kv, kv->record + sizeof(struct record), key_len, &old, &n, &err);
	if (err)
		return err;
	if (e) {
		err = write_object(kv, entry_object(*e), bytes);
		if (!err)
			rmc_store_release(e, make_entry(hash_tag(hash), bytes, entry_object(*e)));
		return err;
	}
	if (!kv->free_count)
		return -ENOSPC;
	e = vacancy(kv, hash);
	if (!e)
		return -ENOSPC;
	object = kv->free[kv->free_head];
	err = write_object(kv, object, bytes);
	if (err) {
		shorten(kv, hash);
		return err;
	}
	kv->free_head = (kv->free_head + 1) % (uint32_t)kv->o.objects;
	kv->free_count--;
	kv->stats.objects++;
	/* the object before its entry; pairs with the RMC's reads, one after the other */
	rmc_store_release(e, make_entry(hash_tag(hash), bytes, object));
	return 0;
}

int rmc_kv_remove(struct rmc_kv *kv, const void *key, size_t key_len)
{
	uint64_t hash = rmc_kv_hash(key, key_len), was, *e;
	const void *old;
	size_t n;
	int err;

	e = find(kv, key, key_len, &old, &n, &err);
	if (!e)
		return err ? err : -ENOENT;
	was = *e;
	rmc_store_release(e, 0);
	memset(kv->record, 0, sizeof(struct record));
	err = write_object(kv, entry_object(was), sizeof(struct record));
	if (err) {
		rmc_store_release(e, was);
		return err;
	}
	kv->free[(kv->free_head + kv->free_count++) % (uint32_t)kv->o.objects] =
		entry_object(was);
	kv->stats.objects--;
	shorten(kv, hash);
	return 0;
}

/* Serve a request: the response is empty, its result is the result of the call */
int rmc_kv_serve(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	struct rmc_kv *kv = (struct rmc_kv *)arg;
	const uint8_t *body = (const uint8_t *)request + sizeof(struct kv_request);
	int member = nid - kv->team->first_nid, status = 0;
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
	if (q.op == KV_PUT)
		status = rmc_kv_store(kv, body, q.key_len, body + q.key_len, q.value_len);
	else if (q.op == KV_DELETE)
		status = rmc_kv_remove(kv, body, q.key_len);
	else
		return -EINVAL;
	if (status <= 0)
		return status;
	memcpy(response, &status, sizeof(status));
	return sizeof(status);
}

int rmc_kv_owner_open(struct rmc_kv *kv)
{
	uint32_t i;

	kv->free = (uint32_t *)calloc(kv->o.objects, sizeof(*kv->free));
	kv->free_bucket = (uint32_t *)calloc(kv->shape.further, sizeof(*kv->free_bucket));
	if (!kv->free || !kv->free_bucket)
		return rmc_fail(ENOMEM, "store: no memory for the index of %llu objects",
				(unsigned long long)kv->o.objects);
	for (i = 0; i < kv->o.objects; i++) {
		kv->free[i] = i;
		/* of the largest length: zeroed memory is valid except for checksums */
		rmc_scheme_init(kv->o.scheme, object_of(kv, i), kv->shape.record_max);
	}
	kv->free_count = (uint32_t)kv->o.objects;
	for (i = 0; i < kv->shape.further; i++)
		kv->free_bucket[i] = (uint32_t)(kv->shape.buckets + kv->shape.further - 1 - i);
	kv->free_buckets = (uint32_t)kv->shape.further;
	return 0;
}

void rmc_kv_owner_close(struct rmc_kv *kv)
{
	free(kv->free);
	free(kv->free_bucket);
}
