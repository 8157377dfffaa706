// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of librmc on nodes of a testbed: see context.h. This is a driver of the library
 * (lib/driver/driver.h). It changes the state of a worker by a call on it, as the module does.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "harness.h"
#include "context.h"
#include "lib/internal.h"

#define QPS		128		/* of a context */
#define MAPS		(4 * QPS + 8)
#define OFFSET_SHIFT	12		/* of a mapping: its number */

struct context {
	struct rmc_ctx ctx;		/* first */
	struct testbed *w;
	struct rmc_bufs bufs;		/* of all its queue pairs */
	u32 buffers;
	struct app *app[QPS];
	u32 apps;
	struct rmc_domain *domain;
	u32 depth;
	void *map[MAPS];
	u32 maps;
};

/* Argument of a call on the worker, and what it returns */
struct change {
	struct context *c;
	struct app *app;
	struct rmc_mem *mem;
	struct rmc_aq_entry *aq;
	u32 entries, order, group, classes;
	int err;
};

static u32 lives;

static int on_worker(void (*fn)(void *arg), struct change *a)
{
	testbed_call(&a->c->w->worker->ni, fn, a);
	return a->err;
}

/* Memory to be mapped */
static u64 offer(struct context *c, void *p)
{
	if (c->maps == MAPS)
		abort();
	c->map[c->maps] = p;
	return (u64)c->maps++ << OFFSET_SHIFT;
}

static void *zeroes(size_t len)
{
	void *p = bench_map(PAGE_ALIGN(len));

	memset(p, 0, len);
	return p;
}

/* ---- buffers and queue pairs ---- */

static void add_buffer(void *arg)
{
	struct change *a = arg;

	a->err = rmc_bufs_add(&a->c->bufs, a->mem);
}

static int register_buffer(struct context *c, struct rmc_buf_reg *r)
{
	struct change a = { .c = c };
	void *p = r->flags & RMC_MEM_ALLOC ? zeroes(r->length) : (void *)(uintptr_t)r->addr;

	a.mem = mem_make(p, r->length, 12, 0);
	r->buf_id = c->buffers++;
	if (r->flags & RMC_MEM_ALLOC)
		r->mmap_offset = offer(c, p);
	return on_worker(add_buffer, &a);
}

static void add_qp(void *arg)
{
	struct change *a = arg;
	struct context *c = a->c;

	app_init(a->app, c->w, c->ctx.query.nid, c->ctx.id, a->entries);
	a->app->qp.bufs = &c->bufs;
	a->app->flags->worker_cpu = c->w->worker->cpu;
}

static int create_qp(struct context *c, struct rmc_qp_create *q)
{
	struct change a = { .c = c, .entries = q->entries };

	if (c->apps == QPS)
		return -ENOSPC;
	a.app = zeroes(sizeof(*a.app));
	on_worker(add_qp, &a);
	q->qp_id = c->apps;
	c->app[c->apps++] = a.app;
	q->wq_offset = offer(c, a.app->wq);
	q->cq_offset = offer(c, a.app->cq);
	q->flags_offset = offer(c, a.app->flags);
	return 0;
}

/* ---- domains ---- */

static void add_domain(void *arg)
{
	struct change *a = arg;
	struct context *c = a->c;

	rmc_domain_add(c->w->node[c->ctx.query.nid]->unit[0], c->domain);
	rmc_expose(&c->domain->exposure);
}

static int create_domain(struct context *c, struct rmc_dom_create *q)
{
	struct rmc_dispatch_params dp;
	struct rmc_domain_params p;
	struct change a = { .c = c };
	struct rmc_domain *d;
	size_t slots, len;
	int err = rmc_domain_args(q, &p, &dp);

	if (err || q->policy == RMC_DOM_SHARED)
		return err ? err : -EOPNOTSUPP;
	d = zeroes(sizeof(*d));
	err = rmc_domain_init(d, c->w->node[c->ctx.query.nid], c->ctx.id, ++lives, &p, &dp);
	if (err)
		return err;
	slots = (size_t)p.nodes * p.slots;
	len = slots * d->stride;
	d->recv = mem_make(zeroes(len), len, 12, 0);
	q->recv_offset = offer(c, (void *)(uintptr_t)d->recv->base);
	len = slots * sizeof(struct rmc_send_slot);
	d->send = mem_make(zeroes(len), len, 12, 0);
	q->send_offset = offer(c, (void *)(uintptr_t)d->send->base);
	if (p.max_answer) {
		len = slots * d->answer_stride;
		d->answers = mem_make(zeroes(len), len, 12, 0);
		q->answer_offset = offer(c, (void *)(uintptr_t)d->answers->base);
	}
	q->stride = d->stride;
	q->answer_stride = d->answer_stride;
	q->life = d->life;
	c->domain = d;
	c->depth = q->depth;
	return on_worker(add_domain, &a);
}

static void add_core(void *arg)
{
	struct change *a = arg;
	struct rmc_domain *d = a->c->domain;

	a->err = rmc_core_add(d, a->aq, a->order, a->group, a->classes, &a->app->qp.core);
	if (a->err >= 0)
		a->app->qp.domain = d;
}

static int attach(struct context *c, struct rmc_dom_attach *q)
{
	struct change a = { .c = c, .app = c->app[q->qp_id], .group = q->group, .order = 1 };

	if (q->flags)
		return -EOPNOTSUPP;
	a.classes = q->classes ? q->classes : 1;
	while (1U << a.order < c->depth)
		a.order++;
	a.aq = zeroes(sizeof(*a.aq) << a.order);
	if (on_worker(add_core, &a) < 0)
		return a.err;
	q->core = a.err;
	q->aq_entries = 1U << a.order;
	q->aq_offset = offer(c, a.aq);
	return 0;
}

/* ---- the driver ---- */

static int query(struct rmc_dom_query *q)
{
	q->policies = RMC_DOMAIN_POLICIES;
	q->max_slots = RMC_MAX_SLOTS;
	q->max_message = RMC_MAX_MESSAGE;
	q->max_cores = RMC_DISPATCH_CORES;
	q->max_depth = RMC_DISPATCH_DEPTH;
	q->max_answer = RMC_MAX_ANSWER;
	return 0;
}

static int call(struct rmc_ctx *ctx, unsigned long request, void *arg)
{
	struct context *c = (struct context *)ctx;
	int err = -ENOTTY;

	if (request == RMC_IOC_BUF_REG)
		err = register_buffer(c, arg);
	else if (request == RMC_IOC_QP_CREATE)
		err = create_qp(c, arg);
	else if (request == RMC_IOC_DOM_QUERY)
		err = query(arg);
	else if (request == RMC_IOC_DOM_CREATE)
		err = create_domain(c, arg);
	else if (request == RMC_IOC_DOM_ATTACH)
		err = attach(c, arg);
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

static void *map(struct rmc_ctx *ctx, size_t len, int prot, u64 offset)
{
	struct context *c = (struct context *)ctx;

	return offset >> OFFSET_SHIFT < c->maps ? c->map[offset >> OFFSET_SHIFT] : MAP_FAILED;
}

static const struct rmc_driver driver = { .name = "testbed", .call = call, .map = map };

struct rmc_ctx *bench_context(struct testbed *w, u32 nid, u32 ctx_id)
{
	struct context *c = zeroes(sizeof(*c));

	/* the worker of all nodes, and of both lanes */
	if (w->workers != 1 || w->opts.units != 1)
		abort();
	c->w = w;
	c->ctx.id = ctx_id;
	c->ctx.driver = &driver;
	c->ctx.pid = getpid();
	c->ctx.query.nid = nid;
	c->ctx.query.nodes = w->opts.nodes;
	c->ctx.query.rrpps = 1;
	c->ctx.query.max_entries = RMC_MAX_ENTRIES;
	return &c->ctx;
}
