/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Memory of rmc_sync and of readers, of which a part is registered, from open to close. */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "state.h"

#define DEFAULT_ATTEMPTS	64
#define DEFAULT_GRACE_US	10000
#define GROUP_MAX		3	/* operations that are posted together */

static size_t image_bytes(const struct rmc_sync_options *o, const struct scheme *scheme)
{
	/* the data of clean layouts stays aligned; one more line for an unaligned end */
	return rmc_scheme_bytes(&scheme->pub, o->max) + RMC_CACHE_LINE;
}

size_t rmc_sync_memory(const struct rmc_sync_options *o, const struct scheme *scheme)
{
	return sync_buffers(o) * image_bytes(o, scheme);
}

static int no_memory(const struct rmc_sync *s)
{
	return rmc_fail(ENOMEM, "sync: no memory for %u objects", sync_buffers(&s->o));
}

/* Latches by messages. Servers want larger tokens than in an earlier life of this client. */
static int allocate_messages(struct rmc_sync *s)
{
	uint64_t now = realtime_ns();
	unsigned int i;

	s->told = (struct told *)calloc(s->qp->entries, sizeof(*s->told));
	s->tokens = (uint64_t *)malloc((RMC_NID_MAX + 1) * sizeof(*s->tokens));
	if (!s->told || !s->tokens)
		return -ENOMEM;
	for (i = 0; i <= RMC_NID_MAX; i++)
		s->tokens[i] = now;
	return 0;
}

static int allocate_tables(struct rmc_sync *s)
{
	unsigned int n = sync_buffers(&s->o);

	s->entry = (struct entry *)calloc(n, sizeof(*s->entry));
	s->slot = (struct slot *)calloc(s->qp->entries, sizeof(*s->slot));
	/* queued ones, those of entries, one latch each, and those that are repeated */
	s->unlatch = (struct unlatch *)calloc(2 * s->qp->entries + n, sizeof(*s->unlatch));
	/* a power of two, so that positions can wrap */
	while (s->done_mask + 1 < n)
		s->done_mask = 2 * s->done_mask + 1;
	s->done = (struct entry **)calloc(s->done_mask + 1, sizeof(*s->done));
	s->free = (unsigned int *)calloc(n, sizeof(*s->free));
	if (!s->entry || !s->slot || !s->unlatch || !s->done || !s->free)
		return no_memory(s);
	if (latch_by_message(s->plan.writes) && allocate_messages(s))
		return no_memory(s);
	if (!sync_indexed(s) || !s->o.pool_slots)
		return 0;
	s->copy = (struct free_copy *)calloc(s->o.pool_slots, sizeof(*s->copy));
	if (!s->copy)
		return no_memory(s);
	s->unseen = s->o.pool_slots;
	return 0;
}

/* Sets the message; of a buffer that cannot be registered, rmc_buf_register() did. */
static int allocate(struct rmc_sync *s)
{
	size_t clean = (s->o.max + RMC_CACHE_LINE) & ~(size_t)(RMC_CACHE_LINE - 1);
	unsigned int n = sync_buffers(&s->o), i;
	uint8_t *image = (uint8_t *)s->o.memory;
	int err = allocate_tables(s);

	if (err)
		return err;
	if (!image) {
		size_t len = rmc_page_round(rmc_sync_memory(&s->o, s->scheme));

		if (posix_memalign(&s->memory, (size_t)sysconf(_SC_PAGESIZE), len))
			return no_memory(s);
		memset(s->memory, 0, len);
		err = rmc_buf_register(s->qp->ctx, s->memory, len);
		if (err < 0)
			return err;
		s->buf_id = err;
		image = (uint8_t *)s->memory;
	}
	for (i = 0; i < n; i++, image += image_bytes(&s->o, s->scheme)) {
		s->entry[i].image = image;
		s->entry[i].index = i;
		if (s->scheme->pub.flags & RMC_SCHEME_CLEAN)
			s->entry[i].data = image + s->scheme->pub.data_at;
		else if (posix_memalign((void **)&s->entry[i].data, RMC_CACHE_LINE, clean))
			return no_memory(s);
		s->free[s->frees++] = n - 1 - i;
	}
	return 0;
}

static void deallocate(struct rmc_sync *s)
{
	unsigned int i;

	for (i = 0; s->entry && i < sync_buffers(&s->o); i++)
		if (!(s->scheme->pub.flags & RMC_SCHEME_CLEAN))
			free(s->entry[i].data);
	if (s->buf_id >= 0)
		rmc_buf_unregister(s->qp->ctx, s->buf_id);
	free(s->memory);
	free(s->copy);
	free(s->tokens);
	free(s->told);
	free(s->free);
	free(s->done);
	free(s->unlatch);
	free(s->slot);
	free(s->entry);
	free(s);
}

struct rmc_sync *rmc_sync_create(struct rmc_qp *qp, const struct rmc_sync_options *o,
				 const struct plan *plan)
{
	struct rmc_sync *s = (struct rmc_sync *)calloc(1, sizeof(*s));
	int err;

	if (!s) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->qp = qp;
	s->o = *o;
	s->plan = *plan;
	s->scheme = plan->scheme;
	s->p = scheme_params(&o->params);
	s->self.nid = o->nid;
	s->self.client = o->client;
	s->aborts = !!rmc_qp_is_ordered(qp);
	s->ordered = s->stops = o->flags & RMC_SYNC_TRUST_ORDER || s->aborts;
	s->recurs = plan->writes && (plan->writes->flags & LATCH_INDEX ||
				     (plan->writes->flags & LATCH_VERSION &&
				      s->scheme->layout->flags & LAYOUT_LINES));
	s->tuples = !!sync_tuples(s);
	s->fetches_words = !s->tuples && !sync_indexed(s) && !(plan->row->row & ROW_TIMED);
	s->notes = 1;
	s->buf_id = -1;
	if (!s->o.attempts)
		s->o.attempts = DEFAULT_ATTEMPTS;
	if (!s->o.grace_us)
		s->o.grace_us = DEFAULT_GRACE_US;
	if (getrandom(&s->token, sizeof(s->token), 0) != sizeof(s->token))
		s->token = monotonic_ns() * 0x9e3779b97f4a7c15ULL;
	s->seed = s->token | 1;
	err = allocate(s);
	if (err) {
		deallocate(s);
		errno = -err;
		return NULL;
	}
	return s;
}

/* --- rmc_sync_open() --- */

static int check_places(const struct rmc_sync_options *o, const struct scheme *s)
{
	uint64_t copies = (uint64_t)o->pool_slots * rmc_sync_copy_bytes(o->max);

	if (o->stride && (o->stride % RMC_CACHE_LINE || o->stride < rmc_scheme_bytes(&s->pub, o->max)))
		return rmc_fail(EINVAL, "sync: a stride of %llu bytes for objects of %zu",
				(unsigned long long)o->stride, rmc_scheme_bytes(&s->pub, o->max));
	if (s->layout->flags & LAYOUT_APART &&
	    (!o->stride || o->latches % sizeof(uint64_t) || o->base % RMC_CACHE_LINE ||
	     !o->objects || o->latches > RMC_OFFSET_MAX ||
	     o->objects > (RMC_OFFSET_MAX - o->latches) / sizeof(uint64_t)))
		return rmc_fail(EINVAL, "sync: detached latches need stride, objects, and an array "
				"of aligned words within the segment");
	if (s->layout->flags & LAYOUT_INDEX && o->pool_slots &&
	    (!o->pool || o->pool % RMC_CACHE_LINE || o->pool > RMC_OFFSET_MAX ||
	     copies > RMC_OFFSET_MAX - o->pool))
		return rmc_fail(EINVAL, "sync: the pool begins at a line, not at offset 0, and is "
				"within the segment");
	return 0;
}

static int check_sizes(const struct rmc_qp *qp, const struct rmc_sync_options *o,
		       const struct plan *plan)
{
	const struct scheme *s = plan->scheme;
	size_t image = s->pub.image(o->max);
	int err;

	if (sync_buffers(o) > qp->entries / 4 ||
	    (o->flags & RMC_SYNC_ASYNC && sync_buffers(o) < 2))
		return rmc_fail(EINVAL, "sync: %u buffers; at most a quarter of the queue pair's %u "
				"entries, two or more with async", sync_buffers(o), qp->entries);
	if (qp->entries < GROUP_MAX || !qp->operands)
		return rmc_fail(EINVAL, "sync: a queue pair of %u entries, or without operands",
				qp->entries);
	if (s->pub.needs & RMC_NEEDS_RPC && !o->rpc)
		return rmc_fail(EINVAL, "sync: %s needs an RPC", plan->row->pub.name);
	if (s->layout->flags & LAYOUT_SERVED && !o->rpc && !o->latch_server)
		return rmc_fail(EINVAL, "sync: latch nic-rpc needs an RPC, or this node's server");
	if (o->nid < 0 || o->nid > RMC_NID_MAX || o->client >= NAME_CLIENTS)
		return rmc_fail(EINVAL, "sync: node %d, client %u of its node; at most %u clients",
				o->nid, o->client, NAME_CLIENTS);
	if (qp->ctx && o->nid != rmc_nid(qp->ctx))
		return rmc_fail(EINVAL, "sync: options.nid is %d, this node is %d", o->nid,
				rmc_nid(qp->ctx));
	if (o->max > RMC_LENGTH_MAX || image > (qp->ctx ? qp->ctx->query.max_length : RMC_LENGTH_MAX))
		return rmc_fail(EMSGSIZE, "sync: objects of %zu bytes are longer than an operation",
				o->max);
	err = check_places(o, s);
	/* a footer is stored last only if one RRPP serves all of the object */
	if (!err && plan->flags & RMC_SYNC_WRITE_UNLATCH && !plan->row->options && qp->ctx &&
	    qp->ctx->query.rrpps > 1 && rmc_scheme_bytes(&s->pub, o->max) > qp->ctx->query.interleave)
		err = rmc_fail(EINVAL, "sync: write-unlatch of objects that several RRPPs serve");
	return err;
}

static struct rmc_sync *sync_open(struct rmc_qp *qp, const struct rmc_sync_options *o)
{
	struct plan plan;
	int err;

	err = rmc_sync_compile(&plan, o, qp);
	if (!err)
		err = check_sizes(qp, o, &plan);
	if (!err)
		return rmc_sync_create(qp, o, &plan);
	errno = -err;
	return NULL;
}

struct rmc_sync *rmc_sync_open_sized(struct rmc_qp *qp, const struct rmc_sync_options *options,
				     size_t size)
{
	struct rmc_sync_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_SYNC_OPTIONS_SIZE_VER1,
			     "sync options") ? NULL : sync_open(qp, &o);
}

size_t rmc_sync_bytes_sized(const struct rmc_sync_options *options, size_t size)
{
	struct rmc_sync_options o;
	struct plan plan;

	if (rmc_struct_in(&o, sizeof(o), options, size, RMC_SYNC_OPTIONS_SIZE_VER1,
			  "sync options") || rmc_sync_compile(&plan, &o, NULL))
		return 0;
	return rmc_sync_memory(&o, plan.scheme);
}

/* --- close --- */

/* What no completion will come for: holds, and programs that wait for their turn or a slot. */
static void drop_entry(struct rmc_sync *s, struct entry *e)
{
	if (e->state == FREE || e->background)
		return;
	if (e->state == ASKED && e->at->op == STEP_MESSAGE) {
		/* the response has no place any more */
		rmc_rpc_cancel(s->o.rpc, e->ticket);
		s->ready--;
		e->state = HELD;
		return;
	}
	if (e->state == DONE || e->state == HELD) {
		rmc_sync_leave(s, e);
		e->state = HELD;		/* of nobody any more */
		return;
	}
	if (e->state == ASKED && e->at->op == STEP_LATCH)
		rmc_latch_drop(s, e);
	e->background = 1;
	s->background++;
	/* an unknown outcome is decided first, and an end that has begun is brought to its end */
	if (e->state == ISSUED || e->resolving || (e->used && e->job != JOB_UPGRADE))
		return;
	s->ready--;
	rmc_sync_closed(s, e);
}

/* Wait: operations use memory, and latches of remote objects are held. */
void rmc_sync_close(struct rmc_sync *s)
{
	unsigned int i, spins = 0;
	uint64_t since;

	if (!s)
		return;
	since = monotonic_ns();
	s->closing = 1;
	if (!rmc_qp_inherited(s->qp)) {
		for (i = 0; i < sync_buffers(&s->o); i++)
			drop_entry(s, &s->entry[i]);
		while (rmc_qp_in_flight(s->qp) || s->unlatches || s->background || s->telling) {
			sync_progress(s);
			if (rmc_relax(s->qp, &spins) || rmc_latch_unanswered(s, since))
				break;
		}
		rmc_latch_abandon(s);
	}
	deallocate(s);
}

/* --- symbols without a size: structs of version 1.1, which was their first --- */

struct rmc_sync *sync_open_ver1(struct rmc_qp *qp, const struct rmc_sync_options *options)
	RMC_VER0(rmc_sync_open);
struct rmc_sync *sync_open_ver1(struct rmc_qp *qp, const struct rmc_sync_options *options)
{
	return rmc_sync_open_sized(qp, options, RMC_SYNC_OPTIONS_SIZE_VER1);
}

size_t sync_bytes_ver1(const struct rmc_sync_options *options) RMC_VER0(rmc_sync_bytes);
size_t sync_bytes_ver1(const struct rmc_sync_options *options)
{
	return rmc_sync_bytes_sized(options, RMC_SYNC_OPTIONS_SIZE_VER1);
}

int sync_cost_ver1(const struct rmc_sync_options *options, int writes, struct rmc_sync_cost *cost)
	RMC_VER0(rmc_sync_cost);
int sync_cost_ver1(const struct rmc_sync_options *options, int writes, struct rmc_sync_cost *cost)
{
	return rmc_sync_cost_sized(options, RMC_SYNC_OPTIONS_SIZE_VER1, writes, cost);
}

const struct rmc_scheme *sync_layout_ver1(const struct rmc_sync_options *options)
	RMC_VER0(rmc_sync_layout);
const struct rmc_scheme *sync_layout_ver1(const struct rmc_sync_options *options)
{
	return rmc_sync_layout_sized(options, RMC_SYNC_OPTIONS_SIZE_VER1);
}

void sync_stats_ver1(const struct rmc_sync *s, struct rmc_sync_stats *stats)
	RMC_VER0(rmc_sync_stats);
void sync_stats_ver1(const struct rmc_sync *s, struct rmc_sync_stats *stats)
{
	rmc_sync_stats_sized(s, stats, RMC_SYNC_STATS_SIZE_VER1);
}
