// SPDX-License-Identifier: GPL-2.0
/* Creates and destroys queue pairs. */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include "../core/order.h"
#include "context.h"
#include "domain.h"
#include "qp.h"
#include "quota.h"
#include "share.h"

/*
 * Charged to the memory cgroup of the caller. Out of memory is an error for the caller
 * instead of the end of a process of that cgroup.
 */
#define GFP_QUEUES	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * rmc_pages_alloc() - allocate zeroed pages, one after another in memory
 * @p: out
 * @bytes: at least so many
 * @nid: NUMA node that is preferred
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_pages_alloc(struct rmc_pages *p, size_t bytes, int nid)
{
	u32 order = get_order(bytes), i;

	p->first = alloc_pages_node(nid, GFP_QUEUES | __GFP_ZERO, order);
	if (!p->first)
		return -ENOMEM;
	if (order)
		split_page(p->first, order);
	p->count = DIV_ROUND_UP(bytes, PAGE_SIZE);
	for (i = p->count; i < 1U << order; i++)
		__free_page(p->first + i);
	return 0;
}

/**
 * rmc_pages_free() - mirror of rmc_pages_alloc()
 * @p: pages, or zero; those that are mapped live as long as that
 *
 * Context: any.
 */
void rmc_pages_free(struct rmc_pages *p)
{
	u32 i;

	for (i = 0; p->first && i < p->count; i++)
		__free_page(p->first + i);
	p->first = NULL;
}

/**
 * rmc_pages_map() - map pages
 * @p: pages
 * @vma: mapping; as long as @p
 *
 * Return: 0 or a negative errno. Context: may sleep, mmap_lock held for writing.
 */
int rmc_pages_map(const struct rmc_pages *p, struct vm_area_struct *vma)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->count && !err; i++)
		err = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, p->first + i);
	return err;
}

static int add_qp(void *arg)
{
	struct rmc_qpair *qp = arg;
	struct rmc_worker *w = rmc_worker_of(rmc_qp_worker(qp));

	/* on the worker, because it may move, see rmc_worker_move() */
	qp->flags->shared_cpu = w->share;
	qp->flags->worker_cpu = w->cpu;
	return rmc_ni_add_qp(&w->ni, qp);
}

static int del_qp(void *arg)
{
	struct rmc_queues *q = arg;

	rmc_ni_del_qp(q->worker, &q->qp);
	rmc_waiter_detach(&q->waiter);
	return 0;
}

static int del_inner(void *arg)
{
	struct rmc_qpair *qp = arg;

	rmc_ni_del_qp(qp->node->req_worker, qp);
	return 0;
}

/* The backend first, so that the frontend can relay to it. */
static int start_polling(struct rmc_queues *q)
{
	struct rmc_front *front = q->qp.front;
	int err;

	if (front) {
		err = rmc_worker_call(rmc_qp_worker(&front->inner.qp), add_qp, &front->inner.qp);
		if (err)
			return err;
	}
	err = rmc_worker_call(q->worker, add_qp, &q->qp);
	if (err && front)
		rmc_worker_call(rmc_qp_worker(&front->inner.qp), del_inner, &front->inner.qp);
	return err;
}

static void stop_polling(struct rmc_queues *q)
{
	struct rmc_front *front = q->qp.front;

	rmc_worker_call(q->worker, del_qp, q);
	if (front)
		rmc_worker_call(rmc_qp_worker(&front->inner.qp), del_inner, &front->inner.qp);
}

/* Assigns the tenants, before the queue pair is polled. */
static int get_shares(struct rmc_file *f, struct rmc_queues *q)
{
	struct rmc_front *front = q->qp.front;

	q->share = rmc_share_get(f, q->worker);
	if (!q->share)
		return -ENOMEM;
	q->qp.tenant = q->share->tenant;
	if (!front)
		return 0;
	q->inner_share = rmc_share_get(f, rmc_qp_worker(&front->inner.qp));
	if (!q->inner_share)
		return -ENOMEM;
	front->inner.qp.tenant = q->inner_share->tenant;
	return 0;
}

static void put_shares(struct rmc_file *f, struct rmc_queues *q)
{
	rmc_share_put(f->rmc, q->inner_share);
	rmc_share_put(f->rmc, q->share);
}

static void queues_free(struct rmc_queues *q)
{
	if (q->qp.front)
		rmc_front_destroy(q->qp.front);
	rmc_order_destroy(&q->qp);
	rmc_pages_free(&q->flags);
	rmc_pages_free(&q->cq);
	rmc_pages_free(&q->wq);
	kfree_rcu(q, rcu);
}

/* Kernel memory of a queue pair, KiB; with a frontend each ring exists twice. */
static u32 queues_kib(const struct rmc_node *unit, u32 entries, u32 flags)
{
	u32 order = flags & RMC_QP_ORDERED ? rmc_order_bytes(unit->fabric) : 0;
	u32 bytes = PAGE_ALIGN(entries * RMC_WQE_SIZE) + PAGE_ALIGN(entries * RMC_CQE_SIZE) +
		    PAGE_ALIGN(sizeof(struct rmc_qp_flags));

	return (unit->fronts ? 2 * bytes : bytes) / SZ_1K + DIV_ROUND_UP(order, SZ_1K);
}

static int queues_alloc(struct rmc_queues *q, u32 entries, int nid)
{
	return rmc_pages_alloc(&q->wq, entries * RMC_WQE_SIZE, nid) ?:
	       rmc_pages_alloc(&q->cq, entries * RMC_CQE_SIZE, nid) ?:
	       rmc_pages_alloc(&q->flags, sizeof(struct rmc_qp_flags), nid);
}

/*
 * Unit that has the fewest queue pairs (T18 section 6.3.2 maps cores to rows of the
 * chip; here it is queue pairs). Two processes may choose at the same time: then the
 * distribution is less even, and one may be refused although another unit has room.
 */
static struct rmc_node *choose_unit(struct rmc_node *node)
{
	struct rmc_node *best = node;
	u32 i;

	for (i = 1; i < rmc_fabric_units(node->fabric); i++)
		if (READ_ONCE(node->unit[i]->qps) < READ_ONCE(best->qps))
			best = node->unit[i];
	return best;
}

/* Worker for the next queue pair of a unit: the unit's own, or its frontends round-robin. */
static struct rmc_worker *choose_worker(struct rmc_node *unit)
{
	u32 i = READ_ONCE(unit->qps);

	return rmc_worker_of(unit->fronts ? unit->front[i % unit->fronts] : unit->req_worker);
}

/**
 * rmc_queues_create() - create a queue pair and start polling it
 * @f: file, locked, attached
 * @entries: size of the WQ and of the CQ, any value
 * @flags: RMC_QP_*
 *
 * Return: queue pair, or ERR_PTR: -EINVAL invalid size, -ENOSPC the node has too many,
 * -EDQUOT exceeds a quota of the user or the context, -ENOMEM.
 * Context: may sleep.
 */
struct rmc_queues *rmc_queues_create(struct rmc_file *f, u32 entries, u32 flags)
{
	struct rmc_node *unit = choose_unit(f->node);
	struct rmc_worker *w = choose_worker(unit);
	struct rmc_queues *q;
	int err;

	lockdep_assert_held(&f->lock);
	if (entries < RMC_MIN_ENTRIES || entries > RMC_MAX_ENTRIES || !is_power_of_2(entries))
		return ERR_PTR(-EINVAL);
	err = rmc_charge(f, RMC_RES_qps, 1);
	if (err)
		return ERR_PTR(err);
	err = rmc_charge(f, RMC_RES_queue_mib, queues_kib(unit, entries, flags));
	if (err)
		goto err_memory;
	q = kzalloc(sizeof(*q), GFP_QUEUES);
	if (!q) {
		err = -ENOMEM;
		goto err_alloc;
	}
	q->kib = queues_kib(unit, entries, flags);
	err = queues_alloc(q, entries, cpu_to_node(w->cpu));
	if (err)
		goto err_free;
	q->qp.wq = page_address(q->wq.first);
	q->qp.cq = page_address(q->cq.first);
	q->qp.flags = page_address(q->flags.first);
	q->qp.bufs = &f->table[unit->ep - f->node->ep];
	q->qp.node = unit;
	q->worker = &w->ni;
	q->qp.mask = entries - 1;
	q->qp.order = ilog2(entries);
	q->qp.ctx_id = f->ctx->id;
	rmc_waiter_init(&q->waiter, &q->qp.done, f, RMC_WAIT_CQ, q->worker);
	if (flags & RMC_QP_ORDERED)
		err = rmc_order_init(&q->qp, unit->fronts);
	if (err)
		goto err_free;
	if (unit->fronts) {
		q->qp.front = rmc_front_create(&q->qp, &w->ni);
		err = -ENOMEM;
		if (!q->qp.front)
			goto err_free;
	}

	err = get_shares(f, q);
	if (err)
		goto err_share;
	err = xa_alloc(&f->qp, &q->id, q, XA_LIMIT(0, RMC_MAX_QPS - 1), GFP_QUEUES);
	if (err) {
		err = err == -EBUSY ? -ENOSPC : err;
		goto err_share;
	}
	err = start_polling(q);
	if (err)
		goto err_erase;
	rmc_file_own(f);
	return q;

err_erase:
	xa_erase(&f->qp, q->id);
err_share:
	put_shares(f, q);
err_free:
	queues_free(q);
err_alloc:
	rmc_uncharge(f, RMC_RES_queue_mib, queues_kib(unit, entries, flags));
err_memory:
	rmc_uncharge(f, RMC_RES_qps, 1);
	return ERR_PTR(err);
}

/**
 * rmc_queues_destroy() - stop polling a queue pair and free it
 * @f: file, locked
 * @id: id in the file, any value
 *
 * Operations in flight do not complete; mappings stay, and the flags page says dead.
 *
 * Return: 0 or -ENOENT. Context: may sleep.
 */
int rmc_queues_destroy(struct rmc_file *f, u32 id)
{
	struct rmc_queues *q;

	lockdep_assert_held(&f->lock);
	q = xa_erase(&f->qp, id);
	if (!q)
		return -ENOENT;
	/* set before the sleepers are woken to see it */
	WRITE_ONCE(q->qp.flags->dead, 1);
	rmc_dom_detach(f, q);
	stop_polling(q);
	rmc_waiter_release(&q->waiter);
	put_shares(f, q);
	rmc_uncharge(f, RMC_RES_queue_mib, q->kib);
	rmc_uncharge(f, RMC_RES_qps, 1);
	queues_free(q);
	return 0;
}
