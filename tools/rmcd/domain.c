// SPDX-License-Identifier: GPL-2.0
/*
 * Creates domains of messages, and attaches queue pairs to them. As with segments, each unit of
 * the node has the domain, and peers see it on all of them or on none.
 */
#include <errno.h>
#include <sys/random.h>
#include <unistd.h>
#include "domain.h"
#include "kmod/core/part.h"
#include "sealed.h"

/* Argument of the calls on workers. */
struct change {
	struct rmcd_domain *dom;
	struct rmcd_qp *q;
	struct rmc_qpair *qp;		/* the one that the RGP polls */
	struct rmc_node *unit;
	struct rmc_aq_entry *aq;
	u32 order;
	u32 group;
	u32 classes;
	u32 tag;
	u32 seen;
	u32 member;
};

static int add_domain(void *arg)
{
	struct change *c = arg;

	rmc_domain_add(c->unit, &c->dom->d);
	return 0;
}

static int del_domain(void *arg)
{
	struct change *c = arg;

	rmc_domain_del(c->unit, &c->dom->d);
	return 0;
}

static int add_core(void *arg)
{
	struct change *c = arg;

	return rmc_core_add(&c->dom->d, c->aq, c->order, c->group, c->classes,
			    &c->tag);
}

static int sleeps(void *arg)
{
	struct change *c = arg;

	rmc_core_sleeps(&c->dom->d, (u32)c->q->core);
	return 0;
}

static int del_core(void *arg)
{
	struct change *c = arg;

	rmc_core_del(&c->dom->d, c->q->core, c->dom->requeue);
	rmcd_waiter_detach(&c->q->arrivals);
	return 0;
}

static int add_room(void *arg)
{
	struct change *c = arg;

	c->seen = rmc_room_add(&c->dom->d, &c->q->room);
	return 0;
}

static int del_room(void *arg)
{
	struct change *c = arg;

	rmc_room_del(&c->dom->d, &c->q->room);
	rmcd_waiter_detach(&c->q->senders);
	return 0;
}

static int enter(void *arg)
{
	struct change *c = arg;

	c->qp->core = c->tag;
	c->qp->member = c->member;
	c->qp->domain = &c->dom->d;
	return 0;
}

static int leave(void *arg)
{
	struct change *c = arg;

	rmc_domain_leave(c->qp);
	return 0;
}

static struct rmc_qpair *backend(struct rmcd_qp *q)
{
	return q->qp.front ? &q->qp.front->inner.qp : &q->qp;
}

static struct rmc_ni_worker *dispatcher(const struct rmcd_file *f)
{
	return f->node->srv_worker;
}

/* No life twice: from a random one on, since a daemon before this one may have had others. */
static u32 next_life(void)
{
	static u32 life;

	if (!life && getrandom(&life, sizeof(life), 0) < 0)
		life = (u32)rmc_os_now_ns();
	return ++life ?: ++life;
}

static u64 queue_bytes(const struct rmc_domain_params *p)
{
	return sizeof(struct rmc_aq_entry) << rmc_domain_queue_order(p);
}

/**
 * rmcd_slots_make() - memory of slots
 * @s: out; @s->fd is -1
 * @mem: out, as the pipelines see it
 * @name: of the file
 * @len: bytes
 * @read_only: clients do not write it
 *
 * Return: 0, -ENOMEM, -EMFILE.
 */
int rmcd_slots_make(struct rmcd_slots *s, struct rmc_mem **mem, const char *name, u64 len,
		    bool read_only)
{
	void *addr;

	s->len = PAGE_ALIGN(len);
	s->fd = rmcd_sealed(name, s->len, read_only, &addr);
	if (s->fd < 0)
		return s->fd;
	s->chunk[0] = addr;
	s->mem.chunk = s->chunk;
	s->mem.length = s->len;
	rmc_mem_chunks(&s->mem, 63);
	*mem = &s->mem;
	return 0;
}

/* With an error free_memory() frees what there is. */
static int make_memory(struct rmcd_domain *dom)
{
	u64 slots = (u64)dom->d.p.nodes * dom->d.p.slots;
	struct rmc_mem *all;
	int err;

	err = rmcd_slots_make(&dom->recv, &dom->d.recv, "rmc-recv", slots * dom->d.stride, true);
	if (!err)
		err = rmcd_slots_make(&dom->send, &dom->d.send, "rmc-send",
				 slots * sizeof(struct rmc_send_slot), false);
	if (!err && dom->d.answer_stride)
		err = rmcd_slots_make(&dom->answers, &dom->d.answers, "rmc-answers",
				 slots * dom->d.answer_stride, true);
	if (!err && dom->d.shared) {
		err = rmcd_slots_make(&dom->all, &all, "rmc-aq", queue_bytes(&dom->d.p), true);
		dom->d.all.mem = err ? NULL : all;
	}
	return err;
}

/**
 * rmcd_slots_free() - mirror of rmcd_slots_make()
 * @s: slots, or none
 */
void rmcd_slots_free(struct rmcd_slots *s)
{
	rmcd_sealed_free(s->fd, s->chunk[0], s->len);
}

static void free_memory(struct rmcd_domain *dom)
{
	rmcd_slots_free(&dom->all);
	rmcd_slots_free(&dom->answers);
	rmcd_slots_free(&dom->send);
	rmcd_slots_free(&dom->recv);
}

/**
 * rmcd_domain_query() - RMC_IOC_DOM_QUERY
 * @q: out
 */
void rmcd_domain_query(struct rmc_dom_query *q)
{
	q->policies = RMC_DOMAIN_POLICIES;
	q->max_slots = RMC_MAX_SLOTS;
	q->max_message = RMC_MAX_MESSAGE;
	q->max_cores = RMC_DISPATCH_CORES;
	q->max_depth = RMC_DISPATCH_DEPTH;
	q->max_answer = RMC_MAX_ANSWER;
	q->max_members = RMC_MAX_MEMBERS;
	q->max_wake_us = RMC_DOMAIN_WAKE_US_MAX;
	q->reserved = 0;
}

static int create(struct rmcd_file *f, struct rmcd_domain *dom, const struct rmc_dom_create *c,
		  const struct rmc_domain_params *p, const struct rmc_dispatch_params *dp)
{
	int err = rmc_domain_init(&dom->d, f->node, f->ctx->id, next_life(), p, dp);

	if (err)
		return err;
	dom->d.keyed = c->flags & RMC_DOM_KEY;
	dom->d.key_offset = c->key_offset;
	err = make_memory(dom);
	if (!err)
		err = rmc_domain_share(&dom->d, dom->members);
	if (err) {
		free_memory(dom);
		rmc_domain_destroy(&dom->d);
	}
	return err;
}

/**
 * rmcd_domain_create() - RMC_IOC_DOM_CREATE
 * @f: file, attached
 * @c: parameters, any values; out: strides, life
 *
 * Return: 0, -EINVAL, -EEXIST the context has one on this node, -EDQUOT exceeds a quota, -ENOMEM, -EMFILE.
 */
int rmcd_domain_create(struct rmcd_file *f, struct rmc_dom_create *c)
{
	struct rmc_dispatch_params dp;
	struct rmc_domain_params p;
	struct change change = {};
	struct rmcd_domain *dom;
	u64 bytes;
	int err;
	u32 i;

	err = rmc_domain_args(c, &p, &dp);
	if (err)
		return err;
	bytes = rmc_domain_bytes(&p, f->node->fabric);
	if (!bytes)
		return -EINVAL;
	if (c->policy == RMC_DOM_SHARED)
		bytes += queue_bytes(&p);
	if (f->domain || f->node->domains.dom[f->ctx->id])
		return -EEXIST;
	if (bytes > RMC_DOMAIN_BYTES_MAX)
		return -ENOMEM;
	dom = calloc(1, sizeof(*dom));
	if (!dom)
		return -ENOMEM;
	dom->recv.fd = -1;
	dom->send.fd = -1;
	dom->answers.fd = -1;
	dom->all.fd = -1;
	dom->policy = c->policy;
	dom->depth = c->depth;
	dom->groups = c->groups;
	dom->classes = c->classes;
	dom->age_us = c->age_us;
	dom->wake_us = c->wake_us;
	dom->members = max(c->members, 1U);
	dom->requeue = c->flags & RMC_DOM_REQUEUE;
	dom->kib = (u32)(bytes / 1024) + 1;
	err = rmcd_charge(f, RMCD_RES_queue_mib, dom->kib);
	if (err)
		goto err_charge;
	err = create(f, dom, c, &p, &dp);
	if (err)
		goto err_create;
	change.dom = dom;
	/* the head first, see rmc_domain_add() */
	for (i = 0; i < rmc_fabric_units(f->node->fabric); i++) {
		change.unit = f->node->unit[i];
		rmcd_call(change.unit->srv_worker, add_domain, &change);
	}
	rmc_expose(&dom->d.exposure);
	f->domain = dom;
	f->dom_ended = false;
	c->stride = dom->d.stride;
	c->life = dom->d.life;
	c->recv_offset = 0;
	c->send_offset = 0;
	c->answer_stride = dom->d.answer_stride;
	c->answer_offset = 0;
	return 0;

err_create:
	rmcd_uncharge(f, RMCD_RES_queue_mib, dom->kib);
err_charge:
	free(dom);
	return err;
}

/**
 * rmcd_domain_detach_all() - detach all queue pairs of a file
 * @f: file
 */
void rmcd_domain_detach_all(struct rmcd_file *f)
{
	u32 i;

	for (i = 0; i < RMC_MAX_QPS; i++)
		if (f->qp[i])
			rmcd_domain_detach(f, f->qp[i]);
}

/**
 * rmcd_domain_destroy() - RMC_IOC_DOM_DESTROY: its own domain ends, or it leaves that of another one
 * @f: file
 *
 * Return: 0: no packet of a peer touches its memory any more; -ENOENT.
 */
int rmcd_domain_destroy(struct rmcd_file *f)
{
	struct rmcd_domain *dom = f->domain;
	struct change c = { .dom = dom };
	u32 i;

	if (rmcd_member_leave(f))
		return 0;
	if (!dom)
		return -ENOENT;
	rmcd_members_end(dom);
	rmcd_domain_detach_all(f);
	rmc_hide(&dom->d.exposure);
	for (i = rmc_fabric_units(f->node->fabric); i--;) {
		c.unit = f->node->unit[i];
		rmcd_call(c.unit->srv_worker, del_domain, &c);
	}
	f->domain = NULL;
	free_memory(dom);
	rmc_domain_destroy(&dom->d);
	rmcd_uncharge(f, RMCD_RES_queue_mib, dom->kib);
	free(dom);
	return 0;
}

static u32 aq_kib(const struct rmcd_qp *q)
{
	return q->aq_len / 1024;
}

static void free_aq(struct rmcd_file *f, struct rmcd_qp *q)
{
	rmcd_sealed_free(q->aq_fd, q->aq, q->aq_len);
	rmcd_uncharge(f, RMCD_RES_queue_mib, aq_kib(q));
	q->aq = NULL;
	q->aq_fd = -1;
	q->aq_len = 0;
}

/* With RMC_DOM_SHARED: none of its own */
static int make_aq(struct rmcd_file *f, struct rmcd_qp *q, u32 entries)
{
	int err;

	if (f->domain->d.shared)
		return 0;

	q->aq_len = PAGE_ALIGN(entries * sizeof(struct rmc_aq_entry));
	err = rmcd_charge(f, RMCD_RES_queue_mib, aq_kib(q));
	if (err) {
		q->aq_len = 0;
		return err;
	}
	q->aq_fd = rmcd_sealed("rmc-aq", q->aq_len, true, &q->aq);
	if (q->aq_fd >= 0)
		return 0;
	err = q->aq_fd;
	free_aq(f, q);
	return err;
}

/* As many messages as a core may have, at least two lines */
static u32 aq_order(const struct rmcd_domain *dom)
{
	u32 order = 1;

	if (dom->d.shared)
		return dom->d.all.order;
	while (1U << order < dom->depth)
		order++;
	return order;
}

/* Cores that the file may have; all of them are bounded by the domain's */
static u32 cores_of(const struct rmcd_file *f)
{
	const struct rmcd_domain *dom = f->domain;

	return rmc_member_first(dom->d.cores_max, dom->members, f->member + 1) -
	       rmc_member_first(dom->d.cores_max, dom->members, f->member);
}

static int attach_core(struct rmcd_file *f, struct rmcd_qp *q, struct change *c)
{
	int err;

	if (f->dom_cores >= cores_of(f))
		return -ENOSPC;
	err = make_aq(f, q, 1U << c->order);
	if (err)
		return err;
	c->aq = q->aq;
	q->core = rmcd_call(dispatcher(f), add_core, c);
	if (q->core < 0) {
		err = q->core;
		q->core = -1;
		free_aq(f, q);
		return err;
	}
	rmcd_waiter_init(&q->arrivals, &f->domain->d.core[q->core].aq.given, f, dispatcher(f));
	f->domain->cores++;
	f->dom_cores++;
	return 0;
}

/**
 * rmcd_domain_attach() - RMC_IOC_DOM_ATTACH
 * @f: file
 * @a: queue pair and group, any values; out: core, entries of its arrival queue
 *
 * Return: 0, -ENOENT no such queue pair, or no domain, -ESHUTDOWN it has ended, -EBUSY it is
 * attached, -EINVAL, -ENOSPC too many cores, -EDQUOT exceeds a quota, -ENOMEM, -EMFILE.
 */
int rmcd_domain_attach(struct rmcd_file *f, struct rmc_dom_attach *a)
{
	struct rmcd_qp *q = rmcd_file_qp(f, a->qp_id);
	struct change c = { .dom = f->domain, .q = q, .group = a->group, .tag = RMC_CORE_NONE,
			    .member = f->member };
	int err;

	if (!q || !f->domain)
		return q ? rmcd_domain_missing(f) : -ENOENT;
	if (q->attached)
		return -EBUSY;
	if (a->group >= (a->flags & RMC_DOM_SEND_ONLY ? 1 : f->domain->groups) ||
	    (a->classes && (a->flags & RMC_DOM_SEND_ONLY || !f->domain->classes)))
		return -EINVAL;
	c.classes = a->classes ?: (1U << f->domain->classes) - 1;
	c.qp = backend(q);
	a->core = ~0U;
	a->aq_entries = 0;
	a->aq_offset = 0;
	if (!(a->flags & RMC_DOM_SEND_ONLY)) {
		c.order = aq_order(f->domain);
		err = attach_core(f, q, &c);
		if (err)
			return err;
		a->core = q->core;
		a->aq_entries = 1U << c.order;
	}
	rmcd_waiter_init(&q->senders, &q->room.event, f, dispatcher(f));
	rmcd_call(rmc_qp_worker(c.qp), enter, &c);
	q->attached = true;
	return 0;
}

/**
 * rmcd_domain_missing() - why a queue pair of the file has no domain
 * @f: file
 *
 * Return: -ENOENT, -ESHUTDOWN the connection that created it has ended it.
 */
int rmcd_domain_missing(const struct rmcd_file *f)
{
	return f->dom_ended ? -ESHUTDOWN : -ENOENT;
}

/**
 * rmcd_domain_detach() - RMC_IOC_DOM_DETACH
 * @f: file
 * @q: queue pair of it
 *
 * Return: 0, -ENOENT it is not attached, -ESHUTDOWN nor can it be.
 */
int rmcd_domain_detach(struct rmcd_file *f, struct rmcd_qp *q)
{
	struct change c = { .dom = f->domain, .q = q, .qp = backend(q) };

	if (!q->attached)
		return rmcd_domain_missing(f);
	rmcd_call(rmc_qp_worker(c.qp), leave, &c);
	rmcd_call(dispatcher(f), del_room, &c);
	rmcd_waiter_release(&q->senders);
	if (q->core >= 0) {
		rmcd_call(dispatcher(f), del_core, &c);
		rmcd_waiter_release(&q->arrivals);
		f->domain->cores--;
		f->dom_cores--;
		q->core = -1;
		free_aq(f, q);
	}
	q->attached = false;
	return 0;
}

/**
 * rmcd_domain_sleeps() - a core's thread is about to sleep, for RMC_IOC_AQ_ARM
 * @f: file
 * @q: queue pair of it, a core
 */
void rmcd_domain_sleeps(struct rmcd_file *f, struct rmcd_qp *q)
{
	struct change c = { .dom = f->domain, .q = q };

	rmcd_call(dispatcher(f), sleeps, &c);
}

/**
 * rmcd_domain_expect_room() - count the next send slot that becomes free, for RMC_IOC_ROOM_ARM
 * @f: file
 * @q: queue pair of it, attached
 *
 * Return: the count that @q->senders is to be armed with.
 */
u32 rmcd_domain_expect_room(struct rmcd_file *f, struct rmcd_qp *q)
{
	struct change c = { .dom = f->domain, .q = q };

	rmcd_call(dispatcher(f), add_room, &c);
	return c.seen;
}

/**
 * rmcd_domain_stats() - RMC_IOC_DOM_STATS
 * @f: file with a domain
 * @s: out; the counters go on
 */
void rmcd_domain_stats(struct rmcd_file *f, struct rmc_dom_stats *s)
{
	rmc_domain_report(&f->domain->d, s);
	s->cores = f->domain->cores;
}
