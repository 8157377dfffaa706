// SPDX-License-Identifier: GPL-2.0
/*
 * Creates domains of messages, and attaches queue pairs to them. As with segments, each unit of
 * the node has the domain, and peers see it on all of them or on none.
 */
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include "context.h"
#include "dev.h"
#include "file_domain.h"
#include "quota.h"

/* Argument of the calls on workers */
struct change {
	struct rmc_file_domain *dom;
	struct rmc_queues *q;
	struct rmc_qpair *qp;		/* the one that the RGP polls */
	struct rmc_node *unit;
	u32 order;
	u32 group;
	u32 classes;
	u32 tag;
	u32 seen;
	u32 member;
	struct task_struct *thread;
};

static int add_domain(void *arg)
{
	struct change *c = arg;

	if (c->unit->domains.dom[c->dom->d.ctx_id])
		return -EEXIST;
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

	struct rmc_aq_entry *entry = c->dom->all ? NULL : c->q->aq->mem.chunk[0];
	int core = rmc_core_add(&c->dom->d, entry, c->order, c->group,
				c->classes, &c->tag);

	if (core < 0)
		return core;
	rmc_core_thread(&c->dom->d, core, c->thread);
	WRITE_ONCE(c->dom->cores, c->dom->cores + 1);
	return core;
}

/* The thread that sleeps is the one that receives. */
static int sleeps(void *arg)
{
	struct change *c = arg;

	rmc_core_thread(&c->dom->d, c->q->core, c->thread);
	rmc_core_sleeps(&c->dom->d, c->q->core);
	return 0;
}

static int del_core(void *arg)
{
	struct change *c = arg;

	rmc_core_del(&c->dom->d, c->q->core, c->dom->requeue);
	WRITE_ONCE(c->dom->cores, c->dom->cores - 1);
	rmc_waiter_detach(&c->q->arrivals);
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
	rmc_waiter_detach(&c->q->senders);
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

static struct rmc_qpair *backend(struct rmc_queues *q)
{
	return q->qp.front ? &q->qp.front->inner.qp : &q->qp;
}

static struct rmc_ni_worker *dispatcher(const struct rmc_file *f)
{
	return f->node->srv_worker;
}

/* No life twice: from a random one on, since a module before this one may have had others. */
static u32 next_life(void)
{
	static atomic_t count;
	static u32 first;
	u32 life;

	get_random_once(&first, sizeof(first));
	do {
		life = first + (u32)atomic_inc_return(&count);
	} while (!life);
	return life;
}

static void free_memory(struct rmc_file_domain *dom)
{
	if (dom->all)
		rmc_umem_put(dom->all);
	if (dom->answers)
		rmc_umem_put(dom->answers);
	if (dom->send)
		rmc_umem_put(dom->send);
	if (dom->recv)
		rmc_umem_put(dom->recv);
}

static u64 queue_bytes(const struct rmc_domain_params *p)
{
	return sizeof(struct rmc_aq_entry) << rmc_domain_queue_order(p);
}

static int alloc(struct rmc_umem **u, struct rmc_mem **mem, u64 bytes)
{
	struct rmc_umem *new = rmc_umem_alloc(bytes, NUMA_NO_NODE, false);

	if (IS_ERR(new))
		return PTR_ERR(new);
	*u = new;
	*mem = &new->mem;
	return 0;
}

/* With an error free_memory() frees what there is. */
static int make_memory(struct rmc_file_domain *dom)
{
	u64 slots = (u64)dom->d.p.nodes * dom->d.p.slots;
	struct rmc_mem *all;
	int err;

	err = alloc(&dom->recv, &dom->d.recv, slots * dom->d.stride);
	if (!err)
		err = alloc(&dom->send, &dom->d.send, slots * sizeof(struct rmc_send_slot));
	if (!err && dom->d.answer_stride)
		err = alloc(&dom->answers, &dom->d.answers, slots * dom->d.answer_stride);
	if (!err && dom->d.shared) {
		err = alloc(&dom->all, &all, queue_bytes(&dom->d.p));
		dom->d.all.mem = err ? NULL : all;
	}
	return err;
}

/* The head first, see rmc_domain_add(); it decides which of two comes first. */
static int install(struct rmc_file *f, struct rmc_file_domain *dom)
{
	struct change c = { .dom = dom };
	u32 i;
	int err;

	for (i = 0; i < rmc_fabric_units(f->node->fabric); i++) {
		c.unit = f->node->unit[i];
		err = rmc_worker_call(c.unit->srv_worker, add_domain, &c);
		if (err)
			return err;
	}
	rmc_expose(&dom->d.exposure);
	return 0;
}

/* Mirror of install() */
static void uninstall(struct rmc_file *f, struct rmc_file_domain *dom)
{
	struct change c = { .dom = dom };
	u32 i;

	rmc_hide(&dom->d.exposure);
	for (i = rmc_fabric_units(f->node->fabric); i--;) {
		c.unit = f->node->unit[i];
		rmc_worker_call(c.unit->srv_worker, del_domain, &c);
	}
}

static int create(struct rmc_file *f, struct rmc_file_domain *dom, const struct rmc_dom_create *c,
		  const struct rmc_domain_params *p, const struct rmc_dispatch_params *dp)
{
	int err;

	err = rmc_domain_init(&dom->d, f->node, f->ctx->id, next_life(), p, dp);
	if (err)
		return err;
	dom->d.keyed = c->flags & RMC_DOM_KEY;
	dom->d.key_offset = c->key_offset;
	err = make_memory(dom);
	if (!err)
		err = rmc_domain_share(&dom->d, dom->members);
	if (err)
		goto err_memory;
	err = install(f, dom);
	if (!err)
		return 0;
err_memory:
	free_memory(dom);
	rmc_domain_destroy(&dom->d);
	return err;
}

/**
 * rmc_dom_query() - RMC_IOC_DOM_QUERY
 * @q: out
 *
 * Context: any.
 */
void rmc_dom_query(struct rmc_dom_query *q)
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

static int create_locked(struct rmc_file *f, struct rmc_dom_create *c)
{
	struct rmc_dispatch_params dp;
	struct rmc_domain_params p;
	struct rmc_file_domain *dom;
	u64 bytes;
	int err;

	lockdep_assert_held(&f->lock);
	err = rmc_domain_args(c, &p, &dp);
	if (err)
		return err;
	bytes = rmc_domain_bytes(&p, f->node->fabric);
	if (!bytes)
		return -EINVAL;
	if (c->policy == RMC_DOM_SHARED)
		bytes += queue_bytes(&p);
	if (f->domain)
		return -EEXIST;
	if (bytes > RMC_DOMAIN_BYTES_MAX)
		return -ENOMEM;
	dom = kzalloc(sizeof(*dom), GFP_KERNEL_ACCOUNT);
	if (!dom)
		return -ENOMEM;
	dom->requeue = c->flags & RMC_DOM_REQUEUE;
	dom->depth = c->depth;
	dom->groups = c->groups;
	dom->classes = c->classes;
	dom->policy = c->policy;
	dom->age_us = c->age_us;
	dom->wake_us = c->wake_us;
	dom->members = max(c->members, 1U);
	INIT_LIST_HEAD(&dom->link);
	INIT_LIST_HEAD(&dom->others);
	dom->kib = bytes / SZ_1K + 1;
	err = rmc_charge(f, RMC_RES_queue_mib, dom->kib);
	if (err)
		goto err_charge;
	err = create(f, dom, c, &p, &dp);
	if (err)
		goto err_create;
	f->domain = dom;
	f->dom_ended = false;
	c->stride = dom->d.stride;
	c->life = dom->d.life;
	c->recv_offset = rmc_map_offset(RMC_MAP_RECV, 0);
	c->send_offset = rmc_map_offset(RMC_MAP_SEND, 0);
	c->answer_stride = dom->d.answer_stride;
	c->answer_offset = dom->answers ? rmc_map_offset(RMC_MAP_ANSWER, 0) : 0;
	rmc_file_own(f);
	return 0;

err_create:
	rmc_uncharge(f, RMC_RES_queue_mib, dom->kib);
err_charge:
	kfree(dom);
	return err;
}

/* No other one of this context and node has a directory now: the head knows one domain. */
static int list(struct rmc_file *f, const struct rmc_dom_create *c)
{
	struct rmc_domain_dir *dir;

	dir = rmc_sysfs_domain_add(f->ctx->rmc, &f->domain->d, c->policy, c->depth,
				   &f->domain->cores);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	f->domain->dir = dir;
	return 0;
}

/**
 * rmc_dom_make() - create the domain of a file, with its directory
 * @f: file, attached; its dom_lock is held, and not its lock
 * @c: parameters, any values; out: the rest
 *
 * Return: as rmc_dom_begin(). Context: may sleep.
 */
int rmc_dom_make(struct rmc_file *f, struct rmc_dom_create *c)
{
	int err;

	lockdep_assert_held(&f->dom_lock);
	mutex_lock(&f->lock);
	err = create_locked(f, c);
	mutex_unlock(&f->lock);
	if (err)
		return err;
	err = list(f, c);
	if (err) {
		mutex_lock(&f->lock);
		rmc_dom_destroy(f);
		mutex_unlock(&f->lock);
	}
	return err;
}

/**
 * rmc_dom_destroy() - RMC_IOC_DOM_DESTROY
 * @f: file, both locks are held; after rmc_dom_unlist()
 *
 * Return: 0: no packet of a peer touches its memory any more; -ENOENT. Context: may sleep; no
 * signal shortens it.
 */
int rmc_dom_destroy(struct rmc_file *f)
{
	struct rmc_file_domain *dom = f->domain;
	struct rmc_queues *q;
	unsigned long id;

	lockdep_assert_held(&f->lock);
	if (!dom || f->member)
		return -ENOENT;
	xa_for_each(&f->qp, id, q)
		rmc_dom_detach(f, q);
	uninstall(f, dom);
	f->domain = NULL;
	free_memory(dom);
	rmc_domain_destroy(&dom->d);
	rmc_uncharge(f, RMC_RES_queue_mib, dom->kib);
	kfree(dom);
	return 0;
}

/* A page: RMC_DISPATCH_DEPTH entries; or that of all cores, for which a core is charged as much */
static int make_aq(struct rmc_file *f, struct rmc_queues *q)
{
	int err;

	BUILD_BUG_ON(RMC_DISPATCH_DEPTH * sizeof(struct rmc_aq_entry) > PAGE_SIZE);
	err = rmc_charge(f, RMC_RES_queue_mib, PAGE_SIZE / SZ_1K);
	if (err)
		return err;
	if (f->domain->all) {
		q->aq = f->domain->all;
		kref_get(&q->aq->ref);
		return 0;
	}
	q->aq = rmc_umem_alloc(PAGE_SIZE, NUMA_NO_NODE, false);
	if (!IS_ERR(q->aq))
		return 0;
	err = PTR_ERR(q->aq);
	q->aq = NULL;
	rmc_uncharge(f, RMC_RES_queue_mib, PAGE_SIZE / SZ_1K);
	return err;
}

static void free_aq(struct rmc_file *f, struct rmc_queues *q)
{
	rmc_umem_put(q->aq);
	q->aq = NULL;
	rmc_uncharge(f, RMC_RES_queue_mib, PAGE_SIZE / SZ_1K);
}

/* Cores that the file may have; all of them are bounded by the domain's */
static u32 cores_of(const struct rmc_file *f)
{
	const struct rmc_file_domain *dom = f->domain;
	u32 n = rmc_member_number(f);

	return rmc_member_first(dom->d.cores_max, dom->members, n + 1) -
	       rmc_member_first(dom->d.cores_max, dom->members, n);
}

static int attach_core(struct rmc_file *f, struct rmc_queues *q, struct change *c)
{
	int core, err;

	if (f->dom_cores >= cores_of(f))
		return -ENOSPC;
	err = make_aq(f, q);
	if (err)
		return err;
	c->thread = current;
	core = rmc_worker_call(dispatcher(f), add_core, c);
	if (core < 0) {
		free_aq(f, q);
		return core;
	}
	q->core = core;
	q->thread = get_task_struct(current);
	rmc_waiter_init(&q->arrivals, &f->domain->d.core[core].aq.given, f, RMC_WAIT_CQ,
			dispatcher(f));
	f->dom_cores++;
	return 0;
}

/**
 * rmc_dom_attach() - RMC_IOC_DOM_ATTACH
 * @f: file, locked
 * @a: queue pair and group, any values; out: the rest
 *
 * Return: 0, -ENOENT no such queue pair, or no domain, -ESHUTDOWN it has ended, -EBUSY it is
 * attached, -EINVAL, -ENOSPC too many cores, -EDQUOT exceeds a quota, -ENOMEM.
 * Context: may sleep.
 */
int rmc_dom_attach(struct rmc_file *f, struct rmc_dom_attach *a)
{
	struct rmc_file_domain *dom = f->domain;
	struct change c = { .dom = dom, .group = a->group, .tag = RMC_CORE_NONE };
	bool receives = !(a->flags & RMC_DOM_SEND_ONLY);
	int err;

	lockdep_assert_held(&f->lock);
	c.q = xa_load(&f->qp, a->qp_id);
	if (!c.q || !dom)
		return c.q ? rmc_dom_missing(f) : -ENOENT;
	c.member = rmc_member_number(f);
	if (c.q->attached)
		return -EBUSY;
	if (a->group >= (receives ? dom->groups : 1) ||
	    (a->classes && (!receives || !dom->classes)))
		return -EINVAL;
	c.classes = a->classes ?: BIT(dom->classes) - 1;
	c.qp = backend(c.q);
	a->core = ~0U;
	a->aq_entries = 0;
	a->aq_offset = 0;
	if (receives) {
		c.order = dom->all ? dom->d.all.order : max_t(u32, order_base_2(dom->depth), 1);
		err = attach_core(f, c.q, &c);
		if (err)
			return err;
		a->core = c.q->core;
		a->aq_entries = 1U << c.order;
		a->aq_offset = rmc_map_offset(RMC_MAP_AQ, a->qp_id);
	}
	rmc_waiter_init(&c.q->senders, &c.q->room.event, f, RMC_WAIT_ROOM, dispatcher(f));
	rmc_room_init(&dom->d, &c.q->room);
	rmc_worker_call(rmc_qp_worker(c.qp), enter, &c);
	c.q->attached = true;
	return 0;
}

/**
 * rmc_dom_missing() - why a queue pair of the file has no domain
 * @f: file, locked
 *
 * Return: -ENOENT, -ESHUTDOWN the file that created it has ended it. Context: any.
 */
int rmc_dom_missing(const struct rmc_file *f)
{
	lockdep_assert_held(&f->lock);
	return f->dom_ended ? -ESHUTDOWN : -ENOENT;
}

/**
 * rmc_dom_detach() - RMC_IOC_DOM_DETACH
 * @f: file, locked
 * @q: queue pair of it
 *
 * Return: 0, -ENOENT it is not attached, -ESHUTDOWN nor can it be. Context: may sleep; no signal
 * shortens it.
 */
int rmc_dom_detach(struct rmc_file *f, struct rmc_queues *q)
{
	struct change c = { .dom = f->domain, .q = q, .qp = backend(q) };

	lockdep_assert_held(&f->lock);
	if (!q->attached)
		return rmc_dom_missing(f);
	rmc_worker_call(rmc_qp_worker(c.qp), leave, &c);
	rmc_worker_call(dispatcher(f), del_room, &c);
	rmc_waiter_release(&q->senders);
	if (q->aq) {
		rmc_worker_call(dispatcher(f), del_core, &c);
		rmc_waiter_release(&q->arrivals);
		put_task_struct(q->thread);
		q->thread = NULL;
		f->dom_cores--;
		free_aq(f, q);
	}
	q->attached = false;
	return 0;
}

/**
 * rmc_dom_arm() - RMC_IOC_AQ_ARM
 * @f: file, locked
 * @a: any values
 *
 * Return: 0, -ENOENT it is no core of this file, -ESHUTDOWN the domain has ended, -EOPNOTSUPP it
 * has no queue of its own, -EBADF, -EINVAL not an eventfd. Context: may sleep.
 */
int rmc_dom_arm(struct rmc_file *f, const struct rmc_aq_arm *a)
{
	struct rmc_queues *q = xa_load(&f->qp, a->qp_id);
	struct change c = { .dom = f->domain, .q = q };

	lockdep_assert_held(&f->lock);
	if (!q || !q->aq)
		return q ? rmc_dom_missing(f) : -ENOENT;
	if (f->domain->all)
		return -EOPNOTSUPP;
	c.thread = current;
	rmc_worker_call(dispatcher(f), sleeps, &c);
	if (q->thread != current) {
		put_task_struct(q->thread);
		q->thread = get_task_struct(current);
	}
	return rmc_waiter_arm(&f->domain->d.core[q->core].aq.given, dispatcher(f), a->seen,
			      a->eventfd, NULL);
}

/**
 * rmc_dom_arm_room() - RMC_IOC_ROOM_ARM
 * @f: file, locked
 * @a: any values
 *
 * Return: 0, -ENOENT no such queue pair of this file, or not attached, -ESHUTDOWN the domain has
 * ended, -EBADF, -EINVAL not an eventfd. Context: may sleep.
 */
int rmc_dom_arm_room(struct rmc_file *f, const struct rmc_room_arm *a)
{
	struct change c = { .dom = f->domain };

	lockdep_assert_held(&f->lock);
	c.q = xa_load(&f->qp, a->qp_id);
	if (!c.q || !c.q->attached)
		return c.q ? rmc_dom_missing(f) : -ENOENT;
	rmc_worker_call(dispatcher(f), add_room, &c);
	return rmc_waiter_arm(&c.q->room.event, dispatcher(f), c.seen, a->eventfd, NULL);
}

/**
 * rmc_dom_arrivals() - the event that counts a core's arrivals
 * @f: file, locked
 * @q: queue pair of it
 *
 * Return: the event, of the dispatcher's worker, or NULL: it is no core, or has no queue of its
 * own.
 * Context: any.
 */
struct rmc_event *rmc_dom_arrivals(struct rmc_file *f, struct rmc_queues *q)
{
	lockdep_assert_held(&f->lock);
	return q->aq && !f->domain->all ? &f->domain->d.core[q->core].aq.given : NULL;
}

/**
 * rmc_dom_sleeps() - a core's thread is about to sleep
 * @f: file
 * @q: queue pair of it, a core; detaching it is a later call on this worker
 *
 * Context: the dispatcher's worker; does not sleep.
 */
void rmc_dom_sleeps(struct rmc_file *f, struct rmc_queues *q)
{
	rmc_core_sleeps(&f->domain->d, q->core);
}

/**
 * rmc_dom_expect_room() - count the next send slot that becomes free as an event
 * @f: file
 * @q: queue pair of it, attached; detaching it is a later call on this worker
 * @seen: out, the event's count: to be armed with
 *
 * Return: false: one has become free since its thread was told last, and that may have looked
 * before: rmc_room_told() once it is told.
 * Context: the dispatcher's worker; does not sleep.
 */
bool rmc_dom_expect_room(struct rmc_file *f, struct rmc_queues *q, u32 *seen)
{
	*seen = rmc_room_add(&f->domain->d, &q->room);
	return !rmc_room_missed(&f->domain->d, &q->room);
}

/**
 * rmc_dom_report() - RMC_IOC_DOM_STATS
 * @f: file, locked
 * @s: out, zeroed but for its size; the counters go on
 *
 * Return: 0, -ENOENT no domain, -ESHUTDOWN it has ended. Context: any.
 */
int rmc_dom_report(struct rmc_file *f, struct rmc_dom_stats *s)
{
	lockdep_assert_held(&f->lock);
	if (!f->domain)
		return rmc_dom_missing(f);
	rmc_domain_report(&f->domain->d, s);
	s->cores = READ_ONCE(f->domain->cores);
	return 0;
}

/**
 * rmc_dom_memory() - memory that an application can map
 * @f: file, locked
 * @kind: RMC_MAP_RECV, RMC_MAP_SEND, RMC_MAP_AQ, RMC_MAP_ANSWER
 * @id: RMC_MAP_AQ: queue pair, any value; else 0
 *
 * Return: memory, or NULL: there is none. Context: any.
 */
struct rmc_umem *rmc_dom_memory(struct rmc_file *f, enum rmc_map_kind kind, u32 id)
{
	struct rmc_queues *q;

	lockdep_assert_held(&f->lock);
	if (kind == RMC_MAP_AQ) {
		q = xa_load(&f->qp, id);
		return q ? q->aq : NULL;
	}
	if (!f->domain || id)
		return NULL;
	if (kind == RMC_MAP_ANSWER)
		return f->domain->answers;
	if (kind == RMC_MAP_RECV)
		return f->domain->recv;
	return f->member ? f->member->send : f->domain->send;
}
