/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The object store: opening it, calls of this member, barriers. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "state.h"

#define OBJECTS_DEFAULT		1024
#define KEY_DEFAULT		64
#define VALUE_DEFAULT		1024
#define ATTEMPTS_DEFAULT	64
#define READER_ATTEMPTS		8	/* then read the index again: the object may be longer */
#define REJOIN_MS		30000

static int owner_of(const struct rmc_kv *kv, const struct rmc_hash_key *k)
{
	return (int)(k->spread % (unsigned int)kv->team->nodes);
}

int rmc_kv_owner(const struct rmc_kv *kv, const void *key, size_t key_len)
{
	struct rmc_hash_key k = rmc_hash_key(key, key_len);

	return owner_of(kv, &k);
}

static void defaults(struct rmc_kv_options *o)
{
	if (!o->scheme)
		o->scheme = rmc_scheme_find("sabre");
	if (!o->objects)
		o->objects = OBJECTS_DEFAULT;
	if (!o->key_max)
		o->key_max = KEY_DEFAULT;
	if (!o->value_max)
		o->value_max = VALUE_DEFAULT;
	if (!o->attempts)
		o->attempts = ATTEMPTS_DEFAULT;
}

static int shape_of(struct kv_shape *s, int nodes, const struct rmc_kv_options *o)
{
	size_t record_max;

	if (o->objects > RMC_KV_OBJECTS_MAX || o->key_max > RMC_KV_KEY_MAX ||
	    o->value_max > RMC_KV_VALUE_MAX || o->at % RMC_CACHE_LINE || nodes < 1)
		return -EINVAL;
	record_max = rmc_hash_record_bytes(o->key_max, o->value_max);
	rmc_hash_layout(&s->hash, sizeof(struct store), o->objects, record_max,
			rmc_scheme_bytes(o->scheme, record_max));
	s->messages_at = s->hash.end;
	s->message_max = sizeof(struct kv_request) + record_max;
	s->bytes = s->messages_at;
	if (o->native)
		return 0;
	s->cells = rmc_rpc_cells(s->message_max, 1);
	s->bytes += rmc_msg_bytes(nodes, s->cells);
	return s->cells ? 0 : -EINVAL;
}

size_t rmc_kv_bytes_sized(int nodes, const struct rmc_kv_options *options, size_t size)
{
	struct rmc_kv_options o;
	struct kv_shape s;

	if (rmc_struct_in(&o, sizeof(o), options, size, RMC_KV_OPTIONS_SIZE_VER0, "kv options"))
		return 0;
	defaults(&o);
	return shape_of(&s, nodes, &o) ? 0 : s.bytes;
}

static int open_messages(struct rmc_kv *kv)
{
	struct rmc_msg_options mo;
	struct rmc_rpc_options ro = {
		.max = kv->shape.message_max,
		.window = 1,
		.nodes = kv->team->nodes,
		.first_nid = kv->team->first_nid,
		.qp = kv->team->qp,
		.handler = rmc_kv_serve,
		.arg = kv,
	};

	if (kv->o.native) {
		kv->rpc = rmc_rpc_open_domain(kv->team->ctx, &ro);
		return kv->rpc ? 0 : -errno;
	}
	rmc_msg_defaults(&mo);
	mo.at = kv->o.at + kv->shape.messages_at;
	mo.cells = kv->shape.cells;
	kv->msg = rmc_msg_open_with(kv->team, &mo);
	if (!kv->msg)
		return -errno;
	kv->rpc = rmc_rpc_open(kv->msg, &ro);
	return kv->rpc ? 0 : -errno;
}

static int open_reader(struct rmc_kv *kv)
{
	struct rmc_reader_options o = {
		.scheme = kv->o.scheme,
		.max = kv->shape.hash.record_max,
		.window = 1,
		.attempts = kv->o.attempts < READER_ATTEMPTS ? kv->o.attempts : READER_ATTEMPTS,
		.backoff_ns = kv->o.backoff_ns,
		.backoff_max_ns = kv->o.backoff_max_ns,
		.fall_back = kv->o.fall_back,
		.params = kv->o.params,
		.nid = rmc_team_nid(kv->team, kv->team->self),
		.rpc = kv->rpc,
	};

	kv->qp = rmc_qp_create(kv->team->ctx, 0);
	if (!kv->qp)
		return -errno;
	kv->reader = rmc_reader_open(kv->qp, &o);
	return kv->reader ? 0 : -errno;
}

static int open_buffers(struct rmc_kv *kv)
{
	size_t page = rmc_page_round(1);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return rmc_fail(ENOMEM, "out of memory");
	madvise(p, page, MADV_DONTFORK);
	kv->peer.landing = (struct rmc_hash_bucket *)p;
	kv->value = (uint8_t *)malloc(kv->shape.hash.record_max + RMC_CACHE_LINE);
	kv->record = (uint8_t *)malloc(kv->shape.hash.record_max);
	kv->request = (uint8_t *)malloc(kv->shape.message_max);
	kv->rounds = (uint64_t *)calloc((size_t)kv->team->nodes, sizeof(*kv->rounds));
	kv->life = (uint64_t *)calloc((size_t)kv->team->nodes, sizeof(*kv->life));
	if (!kv->value || !kv->record || !kv->request || !kv->rounds || !kv->life)
		return rmc_fail(ENOMEM, "out of memory");
	kv->peer.landing_id = rmc_buf_register(kv->team->ctx, p, page);
	return kv->peer.landing_id < 0 ? kv->peer.landing_id : 0;
}

/* After the barrier: check that all members have opened the same store. */
static int compare_stores(struct rmc_kv *kv)
{
	const struct store *mine = (const struct store *)kv->base;
	int member, err;

	for (member = 0; member < kv->team->nodes; member++) {
		if (member == kv->team->self)
			continue;
		err = rmc_read(kv->team->qp, rmc_team_nid(kv->team, member),
			       kv->team->offset + kv->o.at, kv->peer.landing, sizeof(*mine));
		if (err)
			return rmc_fail(err < 0 ? -err : EIO, "store of node %d: %s",
					rmc_team_nid(kv->team, member), rmc_strerror(err));
		if (memcmp(kv->peer.landing, mine, sizeof(*mine)))
			return rmc_fail(EPROTO, "node %d has opened another store: same options "
					"everywhere?", rmc_team_nid(kv->team, member));
	}
	return 0;
}

/*
 * After a barrier of the team all members have the same round: barriers of the store count
 * from it. Messages of earlier barriers have smaller numbers.
 */
static void begin_rounds(struct rmc_kv *kv)
{
	kv->round = kv->team->round << 32;
	kv->in_barrier = 0;
	memcpy(kv->life, kv->team->met, (size_t)kv->team->nodes * sizeof(*kv->life));
}

static int meet(struct rmc_kv *kv)
{
	struct store *store = (struct store *)kv->base;
	int err;

	store->objects = kv->o.objects;
	store->key_max = kv->o.key_max;
	store->value_max = kv->o.value_max;
	store->native = !!kv->o.native;
	strncpy(store->scheme, kv->o.scheme->name, sizeof(store->scheme) - 1);
	rmc_store_release(&store->magic, STORE_MAGIC);
	err = rmc_team_barrier(kv->team);
	if (err)
		return err < 0 ? err : rmc_fail(EIO, "barrier: %s", rmc_strerror(err));
	begin_rounds(kv);
	return compare_stores(kv);
}

static int check_limits(struct rmc_kv *kv)
{
	const struct rmc_query *q = rmc_query(kv->team->ctx);
	size_t image = kv->o.scheme->image(kv->shape.hash.record_max);

	if (kv->o.at > kv->team->len || kv->shape.bytes > kv->team->len - kv->o.at)
		return rmc_fail(ENOSPC, "the store takes %zu bytes of the team's segment, which "
				"has %zu", kv->shape.bytes, kv->team->len);
	if (image > q->max_length ||
	    (kv->o.scheme->fetch == RMC_FETCH_SABRE && image > q->max_sabre))
		return rmc_fail(EMSGSIZE, "objects of %zu bytes are more than one operation "
				"moves: smaller values", image);
	return 0;
}

static struct rmc_kv *kv_open(struct rmc_team *team, const struct rmc_kv_options *options)
{
	struct rmc_kv *kv = (struct rmc_kv *)calloc(1, sizeof(*kv));
	int err;

	if (!kv) {
		rmc_set_errmsg("out of memory");
		return NULL;
	}
	kv->team = team;
	kv->o = *options;
	kv->peer.access.ops = &rmc_kv_peer_ops;
	kv->peer.landing_id = -1;
	kv->timeout_ms = -1;
	defaults(&kv->o);
	err = shape_of(&kv->shape, team->nodes, &kv->o);
	if (err) {
		err = rmc_fail(EINVAL, "store beyond the limits: keys of %u, values of %u bytes, "
			       "%u objects", RMC_KV_KEY_MAX, RMC_KV_VALUE_MAX, RMC_KV_OBJECTS_MAX);
		goto err;
	}
	err = check_limits(kv);
	if (err)
		goto err;
	kv->base = (uint8_t *)team->seg + kv->o.at;
	err = rmc_kv_owner_open(kv);
	if (!err)
		err = open_buffers(kv);
	if (!err)
		err = open_messages(kv);
	if (!err)
		err = open_reader(kv);
	if (!err)
		err = meet(kv);
	if (!err)
		return kv;
err:
	rmc_kv_close(kv);
	errno = -err;
	return NULL;
}

void rmc_kv_close(struct rmc_kv *kv)
{
	if (!kv)
		return;
	rmc_reader_close(kv->reader);
	if (kv->qp)
		rmc_qp_destroy(kv->qp);
	rmc_rpc_close(kv->rpc);
	if (kv->msg)
		rmc_msg_close(kv->msg);
	if (kv->peer.landing_id >= 0)
		rmc_buf_unregister(kv->team->ctx, kv->peer.landing_id);
	if (kv->peer.landing)
		rmc_unmap(kv->team->ctx, kv->peer.landing, rmc_page_round(1));
	rmc_kv_owner_close(kv);
	free(kv->rounds);
	free(kv->life);
	free(kv->request);
	free(kv->record);
	free(kv->value);
	free(kv);
}

/* --- reads --- */

int rmc_kv_get(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
	       size_t *value_len)
{
	struct rmc_hash_key k = rmc_hash_key(key, key_len);
	int member = owner_of(kv, &k), nid = rmc_team_nid(kv->team, member), err;
	uint64_t deadline = rmc_deadline(kv->timeout_ms);
	unsigned int tries = 0, spins = 0;

	if (!key_len)
		return -EINVAL;
	if (key_len > kv->o.key_max)
		return -EMSGSIZE;
	if (member == kv->team->self) {
		kv->stats.local_gets++;
		err = rmc_kv_lookup(kv, &k, value, value_len);
	} else {
		kv->stats.remote_gets++;
		while (rmc_kv_must_retry(err = rmc_kv_remote_get(kv, nid, &k, value, value_len)) &&
		       ++tries < kv->o.attempts) {
			if (rmc_deadline_over(deadline))
				return -ETIMEDOUT;
			err = rmc_relax(kv->qp, &spins);
			if (err)
				return err;
		}
	}
	kv->stats.misses += err == -ENOENT;
	return err;
}

/* --- writes --- */

static int ask_owner(struct rmc_kv *kv, int member, uint32_t op, const void *key, size_t key_len,
		     const void *value, size_t value_len)
{
	struct kv_request q = { op, (uint32_t)key_len, value_len };
	size_t got = 0;
	int status = 0, err;

	memcpy(kv->request, &q, sizeof(q));
	memcpy(kv->request + sizeof(q), key, key_len);
	if (value_len)
		memcpy(kv->request + sizeof(q) + key_len, value, value_len);
	err = rmc_rpc_call(kv->rpc, rmc_team_nid(kv->team, member), kv->request,
			   sizeof(q) + key_len + value_len, &status, sizeof(status), &got);
	if (err)
		return err;
	return got == sizeof(status) ? status : 0;
}

int rmc_kv_put(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
	       size_t value_len)
{
	struct rmc_hash_key k = rmc_hash_key(key, key_len);
	int member = owner_of(kv, &k);

	if (!key_len)
		return -EINVAL;
	if (key_len > kv->o.key_max || value_len > kv->o.value_max)
		return -EMSGSIZE;
	kv->stats.puts++;
	if (member == kv->team->self)
		return rmc_kv_store(kv, &k, value, value_len);
	return ask_owner(kv, member, KV_PUT, key, key_len, value, value_len);
}

int rmc_kv_delete(struct rmc_kv *kv, const void *key, size_t key_len)
{
	struct rmc_hash_key k = rmc_hash_key(key, key_len);
	int member = owner_of(kv, &k);

	if (!key_len)
		return -EINVAL;
	if (key_len > kv->o.key_max)
		return -EMSGSIZE;
	kv->stats.deletes++;
	if (member == kv->team->self)
		return rmc_kv_remove(kv, &k);
	return ask_owner(kv, member, KV_DELETE, key, key_len, NULL, 0);
}

/* --- serving others --- */

int rmc_kv_progress(struct rmc_kv *kv)
{
	return rmc_rpc_progress(kv->rpc);
}

void rmc_kv_set_timeout(struct rmc_kv *kv, int timeout_ms)
{
	kv->timeout_ms = timeout_ms;
	rmc_rpc_set_timeout(kv->rpc, timeout_ms);
}

int rmc_kv_rejoin(struct rmc_kv *kv, unsigned int timeout_ms)
{
	struct rmc_team *t = kv->team;
	int member, nid, err;

	for (member = 0; member < t->nodes; member++) {
		if (member == t->self || t->met[member] == kv->life[member])
			continue;
		nid = rmc_team_nid(t, member);
		rmc_kv_break_locks(kv, nid);
		err = rmc_rpc_rejoin(kv->rpc, nid, timeout_ms);
		if (err)
			return err;
		kv->life[member] = t->met[member];
	}
	err = rmc_team_barrier_for(t, t->flags, timeout_ms ? (int)timeout_ms : REJOIN_MS);
	if (!err)
		begin_rounds(kv);
	return err;
}

/* The part of a barrier in which members notify each other, and wait */
static int kv_barrier(struct rmc_kv *kv)
{
	uint64_t deadline = rmc_deadline(kv->timeout_ms);
	struct kv_request q = { KV_BARRIER, 0, kv->round };
	unsigned int spins = 0;
	int member, err;

	for (member = 0; member < kv->team->nodes; member++) {
		if (member == kv->team->self)
			continue;
		err = rmc_rpc_call_by(kv->rpc, rmc_team_nid(kv->team, member), &q, sizeof(q), NULL,
				      0, NULL, deadline);
		if (err)
			return err;
	}
	for (member = 0; member < kv->team->nodes; ) {
		if (member == kv->team->self || kv->rounds[member] >= kv->round) {
			member++;
			continue;
		}
		err = rmc_rpc_lost(kv->rpc, rmc_team_nid(kv->team, member));
		if (err)
			return err;
		err = rmc_rpc_progress(kv->rpc);
		if (err >= 0)
			err = rmc_relax(kv->team->qp, &spins);
		if (err < 0)
			return err;
		if (kv->rounds[member] >= kv->round)
			continue;
		if (rmc_team_revoked(kv->team))
			return rmc_fail(ECONNABORTED, "a member has revoked the team");
		if (rmc_deadline_over(deadline))
			return rmc_fail(ETIMEDOUT, "node %d did not come to the barrier in time",
					rmc_team_nid(kv->team, member));
	}
	return 0;
}

int rmc_kv_barrier(struct rmc_kv *kv)
{
	int member, err;

	if (!kv->in_barrier)
		kv->round++;
	err = kv_barrier(kv);
	kv->in_barrier = err == -ETIMEDOUT;
	if (err)
		return err;
	/* the caller may make no calls now: no write may be left to be repeated */
	for (member = 0; member < kv->team->nodes; member++) {
		err = member == kv->team->self ? 0 :
		      rmc_rpc_flush(kv->rpc, rmc_team_nid(kv->team, member));
		if (err)
			return err;
	}
	return 0;
}

void rmc_kv_stats_sized(const struct rmc_kv *kv, struct rmc_kv_stats *stats, size_t size)
{
	struct rmc_kv_stats s = kv->stats;

	s.reads = *rmc_reader_stats(kv->reader);
	rmc_struct_out(stats, size, &s, sizeof(s));
}

/* --- callers of any version, see <rmc/abi.h> --- */

struct rmc_kv *rmc_kv_open_sized(struct rmc_team *team, const struct rmc_kv_options *options,
				 size_t size)
{
	struct rmc_kv_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_KV_OPTIONS_SIZE_VER0,
			     "kv options") ? NULL : kv_open(team, &o);
}

size_t kv_bytes_ver0(int nodes, const struct rmc_kv_options *options) RMC_VER0(rmc_kv_bytes);
size_t kv_bytes_ver0(int nodes, const struct rmc_kv_options *options)
{
	return rmc_kv_bytes_sized(nodes, options, RMC_KV_OPTIONS_SIZE_VER0);
}

struct rmc_kv *kv_open_ver0(struct rmc_team *team, const struct rmc_kv_options *options)
	RMC_VER0(rmc_kv_open);
struct rmc_kv *kv_open_ver0(struct rmc_team *team, const struct rmc_kv_options *options)
{
	return rmc_kv_open_sized(team, options, RMC_KV_OPTIONS_SIZE_VER0);
}

void kv_stats_ver0(const struct rmc_kv *kv, struct rmc_kv_stats *stats) RMC_VER0(rmc_kv_stats);
void kv_stats_ver0(const struct rmc_kv *kv, struct rmc_kv_stats *stats)
{
	rmc_kv_stats_sized(kv, stats, RMC_KV_STATS_SIZE_VER0);
}
