/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync bench and torn: every node is a worker, the first ones store tuples as well. A
 * worker draws a node, then one of its tuples by Zipf's law, as R25's artifact does: so each
 * node has a most popular tuple. Data is a count, repeated; a read that mixes two states
 * shows. A reduction adds up the results of all workers.
 *
 * The tree is that of R25's artifact, for figure 11: an operation reads an inner node on each level,
 * one after another, then reads or writes its leaf. Which child is next is computed: there are no
 * keys, and nodes are not coupled. A tree that is one is in <rmc/ds.h>.
 */
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "opt.h"
#include "sync.h"
#include "zipf.h"

#define CHUNK		4096		/* of the reduction */
#define ENTRIES		128		/* of the queue pair */
#define POOL_SLOTS	256		/* copies of each worker */
#define CHECK_CLOCK	16		/* operations */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

/* --- data --- */

static void fill(void *data, size_t len, uint64_t value)
{
	uint8_t *p = (uint8_t *)data;

	for (; len >= sizeof(value); len -= sizeof(value), p += sizeof(value))
		memcpy(p, &value, sizeof(value));
}

static uint64_t value_of(const void *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return value;
}

static int mixed(const void *data, size_t len)
{
	len -= len % sizeof(uint64_t);
	return len > sizeof(uint64_t) &&
	       memcmp(data, (const uint8_t *)data + sizeof(uint64_t), len - sizeof(uint64_t));
}

/* Leaves are the first tuples, then come their parents; the root is the last one. */
void shape_structure(struct sync_run *r)
{
	uint64_t n = r->tuples, at = 0;

	r->leaves = n;
	while (n) {
		r->first[r->levels++] = at;
		at += n;
		if (n == 1 || !strcmp(r->structure, "hash"))
			break;
		n = (n + (uint64_t)r->fanout - 1) / (uint64_t)r->fanout;
	}
	r->tuples = at;
}

/* --- memory: tuples, detached latches, pools of copies, the reduction --- */

static uint64_t line_round(uint64_t n)
{
	return (n + RMC_CACHE_LINE - 1) & ~(uint64_t)(RMC_CACHE_LINE - 1);
}

static uint64_t latches_at(const struct sync_run *r)
{
	return r->tuples * r->stride;
}

static uint64_t pool_at(const struct sync_run *r, int member)
{
	return latches_at(r) + line_round(r->tuples * sizeof(uint64_t)) +
	       (uint64_t)member * POOL_SLOTS * rmc_sync_copy_bytes(r->bytes);
}

static uint64_t reduction_at(const struct sync_run *r, int nodes)
{
	return r->o.scheme->needs & RMC_NEEDS_POOL ? pool_at(r, nodes) : pool_at(r, 0);
}

/* An ordered queue pair if one is asked for, and the RMC has them */
struct rmc_qp *ordered_qp(struct rmc_ctx *ctx, unsigned int entries, int ordered)
{
	struct rmc_qp *qp = ordered ? rmc_qp_create_with(ctx, entries, RMC_QP_ORDERED) : NULL;

	return qp ? qp : rmc_qp_create(ctx, entries);
}

/* ... where the options need one */
static struct rmc_qp *create_qp(const struct sync_run *r)
{
	const uint32_t needs = RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_WRITE_UNLATCH;

	return ordered_qp(r->team->ctx, ENTRIES,
			  r->o.flags & needs && !(r->o.flags & RMC_SYNC_TRUST_ORDER));
}

void open_objects(struct sync_run *r)
{
	struct rmc_team_options t = {
		.ctx_id = (unsigned int)r->ctx_id, .numa_node = -1,
		.flags = r->o.scheme->fetch == RMC_FETCH_SABRE ? RMC_TEAM_OBJECTS : 0,
	};
	int nodes = opt_env_int("RMC_NODES", 1, 1);
	uint64_t i, messages_at;

	r->stride = rmc_scheme_bytes(r->layout, r->bytes) + (uint64_t)r->pad * RMC_CACHE_LINE;
	/* copies are at one node */
	if (r->torn || r->o.scheme->needs & RMC_NEEDS_POOL)
		r->storage = 1;
	if (!r->storage || r->storage > nodes)
		r->storage = nodes;
	messages_at = line_round(reduction_at(r, nodes) + rmc_coll_bytes(nodes, CHUNK));
	r->team = rmc_team_open_with(&t, messages_at + latches_bytes(r, nodes));
	if (!r->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	if (r->torn && r->team->nodes < 2)
		die(EXIT_USAGE, "torn: two nodes at least, a writer and a reader");
	if (r->serve && r->storage == r->team->nodes)
		die(EXIT_USAGE, "serve: all nodes store, and none works; --storage N");
	if (r->team->self < r->storage)
		for (i = 0; i < r->tuples; i++)
			rmc_scheme_init(r->layout, (struct rmc_object *)(void *)
					((uint8_t *)r->team->seg + i * r->stride), r->bytes);
	r->o.nid = rmc_team_nid(r->team, r->team->self);
	r->o.latches = r->team->offset + latches_at(r);
	r->o.base = r->team->offset;
	r->o.stride = r->stride;
	r->o.objects = r->tuples;
	r->o.pool = r->team->offset + pool_at(r, r->team->self);
	r->o.pool_slots = POOL_SLOTS;
	r->o.pool_nid = rmc_team_nid(r->team, 0);
	r->coll = rmc_coll_open(r->team, reduction_at(r, nodes), CHUNK);
	open_latches(r, messages_at);
	r->qp = r->coll ? create_qp(r) : NULL;
	r->sync = r->qp ? rmc_sync_open(r->qp, &r->o) : NULL;
	if (!r->sync)
		die(EXIT_FAILED, "%s", rmc_errmsg());
}

void close_objects(struct sync_run *r)
{
	rmc_sync_close(r->sync);
	rmc_qp_destroy(r->qp);
	close_latches(r);
	rmc_coll_close(r->coll);
	rmc_team_close(r->team);
}

/* --- operations --- */

/* The results of a call that are no errors of the run */
static int note(struct measured *m, const char *what, int err)
{
	if (err == RMC_SCHEME_TORN)
		m->count[CHANGED]++;
	else if (err == RMC_SCHEME_LOCKED || err == RMC_SCHEME_LEASE_OVER ||
		 rmc_sabre_again(err) || err == -ENOSPC)
		m->count[FAILED]++;
	else
		check(what, err);
	return err;
}

static int read_node(struct sync_run *r, uint64_t addr, struct rmc_hold *h, struct measured *m)
{
	int err, was_mixed;

	h->hint = 0;
	err = note(m, "read", rmc_sync_read(r->sync, addr, h));
	if (err)
		return err;
	was_mixed = mixed(h->data, h->len);
	err = note(m, "end", rmc_sync_end(r->sync, h));
	m->count[MIXED] += (uint64_t)(!err && was_mixed);
	return err;
}

/* From the root to the parent of a leaf; of a table there is none. base: of the first tuple */
static int descend(struct sync_run *r, uint64_t base, uint64_t leaf, struct rmc_hold *h,
		   struct measured *m)
{
	int err = 0, level, i;
	uint64_t n;

	for (level = r->levels - 1; level > 0 && !err; level--) {
		for (n = leaf, i = 0; i < level; i++)
			n /= (uint64_t)r->fanout;
		err = read_node(r, base + (r->first[level] + n) * r->stride, h, m);
	}
	return err;
}

static void read_one(struct sync_run *r, uint64_t base, uint64_t leaf, struct rmc_hold *h,
		     struct measured *m)
{
	uint64_t t0 = now_ns();

	if (descend(r, base, leaf, h, m) || read_node(r, base + leaf * r->stride, h, m))
		return;
	hist_add(m->read, now_ns() - t0);
	m->count[READS]++;
}

static void write_one(struct sync_run *r, uint64_t base, uint64_t leaf, struct rmc_hold *h,
		      struct measured *m)
{
	uint64_t t0 = now_ns(), addr = base + leaf * r->stride;
	int err;

	if (descend(r, base, leaf, h, m))
		return;
	h->hint = 0;
	if (note(m, "write", rmc_sync_write(r->sync, addr, h)))
		return;
	fill(h->data, h->len, value_of(h->data) + 1);
	err = note(m, "commit", rmc_sync_commit(r->sync, h));
	if (err == -ENOSPC)
		rmc_sync_cancel(r->sync, h);
	if (err)
		return;
	hist_add(m->write, now_ns() - t0);
	m->count[WRITES]++;
}

static void run(struct sync_run *r, struct measured *m)
{
	uint64_t seed = ((uint64_t)r->seed + 1) * 0x9e3779b97f4a7c15ULL + (uint64_t)r->team->self;
	uint64_t start = now_ns(), now = start, n, node, base, leaf;
	uint64_t end = start + (uint64_t)r->seconds * 1000000000;
	int writes = r->torn ? r->team->self == 1 ? 100 : 0 : r->writes;
	struct rmc_hold h = { .len = r->bytes };
	struct zipf z;

	zipf_init(&z, r->leaves, r->theta_percent / 100.0);
	for (n = 0; r->operations ? n < r->operations : now < end; n++) {
		node = random_next(&seed) % (uint64_t)r->storage;
		base = rmc_sync_addr(rmc_team_nid(r->team, (int)node), r->team->offset);
		leaf = zipf_next(&z, &seed);
		if (writes == 100 || (int)(random_next(&seed) % 100) < writes)
			write_one(r, base, leaf, &h, m);
		else
			read_one(r, base, leaf, &h, m);
		if (!(n % CHECK_CLOCK))
			now = now_ns();
	}
	note(m, "drain", rmc_sync_drain(r->sync));
	/* without those that failed */
	m->ops_per_s = (double)(m->count[READS] + m->count[WRITES]) * 1e9 /
		       (double)(now_ns() - start);
}

/* A node that stores only serves, with --serve. */
static int works(const struct sync_run *r)
{
	return !r->serve || r->team->self >= r->storage;
}

/* --- results --- */

static void add_up(struct sync_run *r, struct measured *m, struct measured *sum)
{
	double least = works(r) ? m->ops_per_s : DBL_MAX;

	check("adding up", rmc_coll_reduce(r->coll, 0, m->read->count, sum->read->count,
					   HIST_BUCKETS, RMC_U64, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, m->write->count, sum->write->count,
					   HIST_BUCKETS, RMC_U64, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, m->count, sum->count, COUNTS, RMC_U64,
					   RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, &m->ops_per_s, &sum->ops_per_s, 1,
					   RMC_DOUBLE, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, &least, &sum->least, 1, RMC_DOUBLE,
					   RMC_MIN));
	check("adding up", rmc_coll_reduce(r->coll, 0, &m->ops_per_s, &sum->most, 1, RMC_DOUBLE,
					   RMC_MAX));
}

static void count_sync(struct sync_run *r, struct measured *m)
{
	struct rmc_sync_stats s;

	rmc_sync_stats(r->sync, &s);
	m->count[TORN] = s.torn;
	m->count[LOCKED] = s.locked;
	m->count[LOST] = s.lost;
	m->count[MESSAGES] = s.messages;
	m->count[ROUND_TRIPS] = s.round_trips;
	m->count[ATOMICS] = s.atomics;
}

int workload(struct sync_run *r)
{
	struct hist *hist = (struct hist *)calloc(4, sizeof(*hist));
	struct measured m = { .read = hist, .write = hist + 1 };
	struct measured sum = { .read = hist + 2, .write = hist + 3 };
	int status;

	if (!hist)
		die(EXIT_FAILED, "out of memory");
	check("barrier", rmc_team_barrier(r->team));
	if (works(r))
		run(r, &m);
	count_sync(r, &m);
	check("serving others", serve_others(r));
	check("barrier", rmc_team_barrier(r->team));
	add_up(r, &m, &sum);
	status = r->team->self ? EXIT_OK : report(r, &sum);
	check("barrier", rmc_team_barrier(r->team));
	free(hist);
	return status;
}
