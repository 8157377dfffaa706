/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Transactions: opening a database, and the calls of programs on one transaction. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "state.h"
#include "store.h"

#define RECORDS_DEFAULT		64
#define ATTEMPTS_DEFAULT	10000
#define TRIES_DEFAULT		64
#define BACKOFF_DEFAULT_NS	1000
#define BACKOFF_DOUBLINGS	7
#define LIMIT_DEFAULT_MS	30000

static const struct tx_system *const systems[] = { &rmc_tx_sw, &rmc_tx_hades, &rmc_tx_rmc };

#define SYSTEMS	(sizeof(systems) / sizeof(systems[0]))

const char *rmc_tx_system_name(unsigned int i)
{
	return i < SYSTEMS ? systems[i]->name : NULL;
}

const char *rmc_tx_cause_name(unsigned int cause)
{
	static const char *const name[RMC_TX_CAUSES] = {
		[RMC_TX_READ_LOCKED] = "read_locked", [RMC_TX_READ_TORN] = "read_torn",
		[RMC_TX_LOCK_HELD] = "lock_held", [RMC_TX_LOCK_CHANGED] = "lock_changed",
		[RMC_TX_CHECK_HELD] = "check_held", [RMC_TX_CHECK_CHANGED] = "check_changed",
		[RMC_TX_LOST] = "lost", [RMC_TX_BY_PROGRAM] = "by_program",
		[RMC_TX_BY_OTHER] = "by_other", [RMC_TX_NO_ROOM] = "no_room",
		[RMC_TX_FORGOTTEN] = "forgotten",
		[RMC_TX_BY_NEIGHBOUR] = "by_neighbour", [RMC_TX_EVICTED] = "evicted",
	};

	return cause < RMC_TX_CAUSES ? name[cause] : NULL;
}

static const struct tx_system *find_system(const char *name)
{
	char have[64] = "";
	unsigned int i;

	for (i = 0; i < SYSTEMS; i++) {
		if (!name || !strcmp(name, systems[i]->name))
			return systems[i];
		strncat(have, " ", sizeof(have) - strlen(have) - 1);
		strncat(have, systems[i]->name, sizeof(have) - strlen(have) - 1);
	}
	rmc_fail(EINVAL, "there is no system '%s' of transactions, but:%s", name, have);
	return NULL;
}

static int options_in(struct rmc_tx_options *o, const struct rmc_tx_options *from, size_t size)
{
	int err = rmc_struct_in(o, sizeof(*o), from, size, RMC_TX_OPTIONS_SIZE_VER1, "tx options");

	if (err)
		return err;
	if (o->flags & ~RMC_TX_ALL_REMOTE || o->reserved)
		return rmc_fail(EINVAL, "unknown flags of a database, or reserved is not 0");
	o->records = o->records ? o->records : RECORDS_DEFAULT;
	o->slots = o->slots ? o->slots : 1;
	o->attempts = o->attempts ? o->attempts : ATTEMPTS_DEFAULT;
	o->tries = o->tries ? o->tries : TRIES_DEFAULT;
	o->limit_ms = o->limit_ms ? o->limit_ms : LIMIT_DEFAULT_MS;
	o->backoff_ns = o->backoff_ns ? o->backoff_ns : BACKOFF_DEFAULT_NS;
	if (!o->backoff_max_ns)
		o->backoff_max_ns = o->backoff_ns > UINT32_MAX >> BACKOFF_DOUBLINGS ? UINT32_MAX :
				    o->backoff_ns << BACKOFF_DOUBLINGS;
	if (o->records > RMC_TX_ACCESS_MAX || o->slots > RMC_TX_SLOTS_MAX)
		return rmc_fail(EINVAL, "a transaction accesses at most %d records, and there are "
				"at most %d at a time", RMC_TX_ACCESS_MAX, RMC_TX_SLOTS_MAX);
	return 0;
}

size_t rmc_tx_bytes_sized(int nodes, const struct rmc_tx_options *options, size_t size)
{
	const struct tx_system *system;
	struct rmc_tx_options o;
	struct tx_shape s;

	if (options_in(&o, options, size))
		return 0;
	system = find_system(o.system);
	return system && !rmc_tx_shape(&s, system, nodes, &o) ? s.bytes : 0;
}

/* --- opening and closing --- */

size_t rmc_tx_memory(const struct rmc_tx_db *db)
{
	return rmc_page_round(2 * db->o.slots * rmc_tx_set_bytes(db));
}

static int open_memory(struct rmc_tx_db *db, void *memory)
{
	size_t len = rmc_tx_memory(db);
	unsigned int i, k;
	int err;

	if (!memory) {
		if (posix_memalign(&db->memory, (size_t)sysconf(_SC_PAGESIZE), len))
			return rmc_fail(ENOMEM, "no memory for %u transactions", db->o.slots);
		memory = db->memory;
		memset(memory, 0, len);
		err = rmc_buf_register(db->team->ctx, memory, len);
		if (err < 0)
			return err;
		db->buf_id = err;
	}
	db->slot = (struct rmc_tx *)calloc(db->o.slots, sizeof(*db->slot));
	db->op = (struct tx_op *)calloc(db->qp->entries, sizeof(*db->op));
	if (!db->slot || !db->op)
		return rmc_fail(ENOMEM, "out of memory");
	for (i = 0; i < db->o.slots; i++) {
		db->slot[i].db = db;
		for (k = 0; k < 2; k++) {
			err = rmc_tx_set_init(&db->slot[i].set[k], db, (uint8_t *)memory);
			if (err)
				return err;
			memory = (uint8_t *)memory + rmc_tx_set_bytes(db);
		}
	}
	return 0;
}

static uint64_t hash_of(const struct tx_shape *s)
{
	uint64_t h = 0, i;

	for (i = 0; i < s->tables; i++) {
		h = (h ^ s->table[i].records) * 0x9e3779b97f4a7c15ULL;
		h = (h ^ s->table[i].group) * 0x9e3779b97f4a7c15ULL;
		h = (h ^ s->table[i].bytes) * 0x9e3779b97f4a7c15ULL;
	}
	return h;
}

/*
 * A member has one database in this memory: a second one would have the same node id in its locks,
 * and each would take those of the other for stale ones.
 */
static int claim(struct rmc_tx_db *db)
{
	struct tx_store *mine = (struct tx_store *)db->base;
	uint64_t none = 0;

	if (!__atomic_compare_exchange_n(&mine->magic, &none, TX_STORE_CLAIMED, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return rmc_fail(EBUSY, "this memory has a database already, or is not zero");
	db->claimed = 1;
	mine->tables = db->shape.tables;
	mine->shape = hash_of(&db->shape);
	strncpy(mine->system, db->system->name, sizeof(mine->system) - 1);
	rmc_store_release(&mine->magic, TX_STORE_MAGIC);
	return 0;
}

static int node_info(const struct rmc_tx_db *db, struct rmc_node_info *info)
{
	return rmc_node_info(db->team->ctx, info);
}

/* The epoch of each member: a node that is claimed again later has lost its memory. */
static int learn_epochs(struct rmc_tx_db *db)
{
	int member, err;

	db->epoch = (uint32_t *)calloc((size_t)db->team->nodes, sizeof(*db->epoch));
	if (!db->epoch)
		return rmc_fail(ENOMEM, "out of memory");
	for (member = 0; member < db->team->nodes && db->node_info; member++) {
		struct rmc_node_info info = { .size = sizeof(info) };

		info.nid = (uint32_t)rmc_team_nid(db->team, member);
		err = db->node_info(db, &info);
		if (err)
			return rmc_fail(-err, "node %u: %s", info.nid, rmc_strerror(err));
		db->epoch[member] = info.epoch;
	}
	return 0;
}

/* All members have opened the same database. */
static int meet(struct rmc_tx_db *db)
{
	struct tx_store *mine = (struct tx_store *)db->base;
	void *landing = db->slot[0].set[0].image;
	int member, err;

	err = rmc_team_barrier(db->team);
	if (err)
		return err < 0 ? err : rmc_fail(EIO, "barrier: %s", rmc_strerror(err));
	for (member = 0; member < db->team->nodes; member++) {
		int nid = rmc_team_nid(db->team, member);
		uint64_t until = rmc_tx_limit(db);

		do {
			err = rmc_read(db->qp, nid, db->team->offset + db->o.at, landing,
				       sizeof(*mine));
		} while (tx_passing(err) && rmc_now_ns() < until);
		if (err)
			return rmc_fail(err < 0 ? -err : EIO, "database of node %d: %s", nid,
					rmc_strerror(err));
		if (memcmp(landing, mine, sizeof(*mine)))
			return rmc_fail(EPROTO, "node %d has opened another database: same options "
					"everywhere?", nid);
	}
	return 0;
}

static int prepare(struct rmc_tx_db *db, struct rmc_qp *qp, void *memory)
{
	const struct rmc_query *q = db->team->ctx ? rmc_query(db->team->ctx) : NULL;
	int err;

	err = rmc_tx_shape(&db->shape, db->system, db->team->nodes, &db->o);
	if (err)
		return err;
	if (db->o.at > db->team->len || db->shape.bytes > db->team->len - db->o.at)
		return rmc_fail(ENOSPC, "the database takes %zu bytes of the team's segment, which "
				"has %zu", db->shape.bytes, db->team->len);
	if (q && db->shape.largest > q->max_length)
		return rmc_fail(EMSGSIZE, "records of %u bytes are more than one operation moves",
				db->shape.largest);
	if (q && db->system->usable(q))
		return -EOPNOTSUPP;
	db->base = (uint8_t *)db->team->seg + db->o.at;
	db->nid = rmc_team_nid(db->team, db->team->self);
	db->seed = ((uint64_t)db->nid + 1) * 0x9e3779b97f4a7c15ULL;
	db->qp = qp ? qp : rmc_qp_create(db->team->ctx, 0);
	if (!db->qp)
		return -errno;
	db->own_qp = !qp;
	err = open_memory(db, memory);
	if (!err)
		err = learn_epochs(db);
	if (!err && db->system->open)
		err = db->system->open(db);
	return err ? err : claim(db);
}

struct rmc_tx_db *rmc_tx_open_on(struct rmc_team *team, const struct rmc_tx_options *options,
				 struct rmc_qp *qp, void *memory)
{
	struct rmc_tx_db *db = (struct rmc_tx_db *)calloc(1, sizeof(*db));
	int err;

	if (!db) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	db->team = team;
	db->buf_id = -1;
	db->again_end = &db->again;
	db->sets = 2;
	db->node_info = team->ctx ? node_info : NULL;
	err = options_in(&db->o, options, sizeof(*options));
	if (!err) {
		db->system = find_system(db->o.system);
		err = db->system ? prepare(db, qp, memory) : -EINVAL;
	}
	if (!err && !qp)
		err = meet(db);
	if (!err)
		return db;
	if (db->claimed)
		rmc_store_release(&((struct tx_store *)db->base)->magic, (uint64_t)0);
	rmc_tx_close(db);
	errno = -err;
	return NULL;
}

struct rmc_tx_db *rmc_tx_open_sized(struct rmc_team *team, const struct rmc_tx_options *options,
				    size_t size)
{
	struct rmc_tx_options o;
	int err = options_in(&o, options, size);

	if (err) {
		errno = -err;
		return NULL;
	}
	return rmc_tx_open_on(team, &o, NULL, NULL);
}

void rmc_tx_close(struct rmc_tx_db *db)
{
	unsigned int i;

	if (!db)
		return;
	if (db->slot && db->op && !rmc_qp_inherited(db->qp))
		rmc_tx_quiet(db);
	if (db->system && db->system->close)
		db->system->close(db);
	/* ends what is still in flight, if the limit of time is over: the memory comes after it */
	if (db->own_qp)
		rmc_qp_destroy(db->qp);
	if (db->buf_id >= 0)
		rmc_buf_unregister(db->team->ctx, db->buf_id);
	for (i = 0; db->slot && i < 2 * db->o.slots; i++)
		rmc_tx_set_free(&db->slot[i / 2].set[i % 2]);
	free(db->memory);
	free(db->asked);
	free(db->epoch);
	free(db->slot);
	free(db->op);
	free(db);
}

int rmc_tx_quiet(struct rmc_tx_db *db)
{
	uint64_t until = rmc_tx_limit(db), lost;
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 * db->o.slots && !err; i++) {
		struct tx_set *s = &db->slot[i / 2].set[i % 2];

		err = rmc_tx_await_until(db, &s->awaited, until);
		if (!err)
			err = rmc_tx_await_until(db, &s->pending, until);
	}
	if (err)
		return err;
	lost = db->lost_writes - db->lost_reported;
	db->lost_reported = db->lost_writes;
	return lost ? -EIO : 0;
}

void rmc_tx_stats_sized(const struct rmc_tx_db *db, struct rmc_tx_stats *stats, size_t size)
{
	rmc_struct_out(stats, size, &db->stats, sizeof(db->stats));
}

/* --- a transaction --- */

int rmc_tx_squash(struct rmc_tx *t, enum rmc_tx_cause cause)
{
	t->db->stats.squashed[cause]++;
	t->cause = cause;
	t->state = TX_OVER;
	t->status = RMC_TX_SQUASHED;
	return t->status;
}

int rmc_tx_fail(struct rmc_tx *t, int status)
{
	t->db->stats.failed++;
	t->state = TX_OVER;
	t->status = status;
	return t->status;
}

/* Its slot is free; operations may be in flight, which the next but one waits for. */
int rmc_tx_end(struct rmc_tx *t)
{
	int status = t->status;

	if (t->db->system->end)
		t->db->system->end(t);
	t->state = TX_FREE;
	t->status = -EINVAL;
	return status;
}

int rmc_tx_committed(struct rmc_tx *t)
{
	t->db->stats.committed++;
	t->committed = t->number;
	t->db->stats.used += t->s->n;
	t->db->stats.written += t->s->writes;
	return rmc_tx_end(t);
}

int rmc_tx_doubtful(struct rmc_tx *t)
{
	t->db->stats.in_doubt++;
	t->status = RMC_TX_IN_DOUBT;
	return rmc_tx_end(t);
}

/*
 * A free slot with a set whose operations have ended, of any slot: writes of another set may be in
 * doubt for long. -EAGAIN: there is none yet; -EBUSY: no slot is free.
 */
static int choose_slot(struct rmc_tx_db *db, struct rmc_tx **tp)
{
	struct rmc_tx *t;
	int err = -EBUSY;
	unsigned int k;

	for (t = db->slot; t < db->slot + db->o.slots; t++) {
		if (t->state != TX_FREE)
			continue;
		err = -EAGAIN;
		for (k = 1; k < 3; k++) {
			unsigned int i = (t->current + k) % db->sets;

			if (t->set[i].awaited || t->set[i].pending)
				continue;
			t->current = i;
			*tp = t;
			return 0;
		}
	}
	return err;
}

static int await_slot(struct rmc_tx_db *db, struct rmc_tx **tp)
{
	unsigned int spins = 0;
	uint64_t until = 0;
	int err;

	for (;;) {
		err = rmc_tx_poll(db);
		if (!err)
			err = choose_slot(db, tp);
		if (err != -EAGAIN)
			return err;
		if (!until)
			until = rmc_tx_limit(db);
		else if (rmc_now_ns() >= until)
			return -ETIMEDOUT;
		/* others may begin in it, and end */
		err = rmc_tx_relax(db, &spins);
		if (err)
			return err;
	}
}

int rmc_tx_begin(struct rmc_tx_db *db, struct rmc_tx **tp)
{
	struct rmc_tx *t = NULL;
	int err = await_slot(db, &t);

	if (err)
		return err;
	t->state = TX_ACTIVE;
	t->status = 0;
	t->s = &t->set[t->current];
	rmc_tx_set_clear(t->s);
	t->number = ++db->stats.begun;
	*tp = t;
	return 0;
}

int rmc_tx_commit(struct rmc_tx *t)
{
	return t->state == TX_ACTIVE ? t->db->system->commit(t) : rmc_tx_end(t);
}

void rmc_tx_abort(struct rmc_tx *t)
{
	t->db->stats.aborted += t->state == TX_ACTIVE;
	rmc_tx_end(t);
}

int rmc_tx_check(struct rmc_tx *t)
{
	return t->state == TX_ACTIVE ? t->db->system->check(t) : t->status;
}

/* The access of a record, which has been read */
static int access_of(struct rmc_tx *t, struct rmc_tx_addr at, size_t len, struct tx_access **a,
		     int own)
{
	int err;

	if (t->state != TX_ACTIVE)
		return t->status;
	err = rmc_tx_set_find(t, at, a);
	if (err)
		return err;
	if (at.field > (*a)->len || len > (*a)->len - at.field)
		return -EINVAL;
	if ((*a)->read)
		return 0;
	(*a)->own |= own && !(*a)->fetching;
	return t->db->system->read(t, *a);
}

/* [from, from + len) of its data will be written */
static int changed(struct rmc_tx *t, struct tx_access *a, uint32_t from, size_t len)
{
	const struct tx_system *system = t->db->system;

	if (len && (a->from == a->to || from < a->from))
		a->from = from;
	if (len && from + len > a->to)
		a->to = from + (uint32_t)len;
	a->written = 1;
	return system->written ? system->written(t, a, from, from + (uint32_t)len) : 0;
}

int rmc_tx_fetch(struct rmc_tx *t, struct rmc_tx_addr record)
{
	struct tx_access *a;
	int err;

	if (t->state != TX_ACTIVE)
		return t->status;
	err = rmc_tx_set_find(t, record, &a);
	return err ? err : t->db->system->fetch(t, a);
}

int rmc_tx_get(struct rmc_tx *t, struct rmc_tx_addr from, size_t len, const void **data)
{
	struct tx_access *a;
	int err = access_of(t, from, len, &a, 0);

	if (err)
		return err;
	if (!record_present(a->incarnation))
		return -ENOENT;
	*data = a->data + from.field;
	return 0;
}

int rmc_tx_put(struct rmc_tx *t, struct rmc_tx_addr to, const void *data, size_t len)
{
	struct tx_access *a;
	int err = access_of(t, to, len, &a, 1);

	if (err)
		return err;
	if (!record_present(a->incarnation))
		return -ENOENT;
	memmove(a->data + to.field, data, len);
	return changed(t, a, to.field, len);
}

int rmc_tx_insert(struct rmc_tx *t, struct rmc_tx_addr record, const void *data, size_t len)
{
	struct tx_access *a;
	int err = access_of(t, record, len, &a, 1);

	if (err || record.field)
		return err ? err : -EINVAL;
	if (record_present(a->incarnation))
		return -EEXIST;
	memmove(a->data, data, len);		/* it may be of what the transaction has deleted */
	memset(a->data + len, 0, a->len - len);
	a->incarnation++;
	return changed(t, a, 0, a->len);
}

int rmc_tx_delete(struct rmc_tx *t, struct rmc_tx_addr record)
{
	struct tx_access *a;
	int err = access_of(t, record, 0, &a, 1);

	if (err)
		return err;
	if (!record_present(a->incarnation))
		return -ENOENT;
	a->incarnation++;
	return changed(t, a, 0, 0);
}

/* --- symbols without a size: structs of version 1.1, which was their first --- */

size_t tx_bytes_ver1(int nodes, const struct rmc_tx_options *options) RMC_VER0(rmc_tx_bytes);
size_t tx_bytes_ver1(int nodes, const struct rmc_tx_options *options)
{
	return rmc_tx_bytes_sized(nodes, options, RMC_TX_OPTIONS_SIZE_VER1);
}

struct rmc_tx_db *tx_open_ver1(struct rmc_team *team, const struct rmc_tx_options *options)
	RMC_VER0(rmc_tx_open);
struct rmc_tx_db *tx_open_ver1(struct rmc_team *team, const struct rmc_tx_options *options)
{
	return rmc_tx_open_sized(team, options, RMC_TX_OPTIONS_SIZE_VER1);
}

void tx_stats_ver1(const struct rmc_tx_db *db, struct rmc_tx_stats *stats) RMC_VER0(rmc_tx_stats);
void tx_stats_ver1(const struct rmc_tx_db *db, struct rmc_tx_stats *stats)
{
	rmc_tx_stats_sized(db, stats, RMC_TX_STATS_SIZE_VER1);
}
