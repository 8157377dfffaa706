/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The accessor of another member's index: a bucket is read by a remote read, which is atomic as it
 * is a line; an object through the store's scheme. It has no operations of a writer: the owner
 * writes, asked by message.
 */
#include "state.h"

static struct rmc_kv *store_of(struct rmc_ds_access *a)
{
	return (struct rmc_kv *)((char *)a - offsetof(struct rmc_kv, peer.access));
}

static int read_bucket(struct rmc_kv *kv, uint64_t offset, const void **data)
{
	struct kv_peer *p = &kv->peer;
	unsigned int tries = 0;
	int err;

	do {
		kv->stats.buckets++;
		err = rmc_read(kv->team->qp, p->nid, offset, p->landing, sizeof(*p->landing));
	} while (err == RMC_S_TIMEOUT && ++tries < kv->o.attempts);
	if (!err)
		p->bucket = *p->landing;
	*data = &p->bucket;
	return err;
}

static int peer_read(struct rmc_ds_access *a, enum rmc_ds_kind kind, uint64_t at, size_t len,
		     const void **data)
{
	struct rmc_kv *kv = store_of(a);
	struct rmc_object_read rd = {
		.nid = kv->peer.nid,
		.offset = kv->team->offset + kv->o.at + at,
		.len = len,
	};
	int err;

	if (kind == RMC_DS_NODE)
		return read_bucket(kv, rd.offset, data);
	err = rmc_reader_read(kv->reader, &rd);
	*data = rd.data;
	return err;
}

/* True if the object was being written all the time, or no longer matches its entry. */
int rmc_kv_must_retry(int err)
{
	return err == -EAGAIN || err >= RMC_SCHEME_TORN || rmc_sabre_again(err);
}

const struct rmc_ds_ops rmc_kv_peer_ops = {
	.read = peer_read,
	.again = rmc_kv_must_retry,
};

/* One walk along the key's chain: 0, -ENOENT, -EAGAIN: an entry was stale, or status */
int rmc_kv_remote_get(struct rmc_kv *kv, int nid, const struct rmc_hash_key *k, const void **value,
		      size_t *value_len)
{
	struct rmc_hash_found f;
	int err;

	kv->peer.nid = nid;
	err = rmc_hash_find(&kv->shape.hash, &kv->peer.access, k, &f);
	kv->stats.stale += f.stale;
	if (err)
		return err;
	*value = f.value;
	*value_len = f.value_len;
	return 0;
}
