// SPDX-License-Identifier: GPL-2.0
/* Creates and destroys queue pairs. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "kmod/core/order.h"
#include "domain.h"
#include "guard.h"
#include "sealed.h"
#include "tx.h"

static int add_qp(void *arg)
{
	struct rmc_qpair *qp = arg;
	struct rmcd_worker *w = rmcd_worker_of(rmc_qp_worker(qp));

	qp->flags->shared_cpu = w->share;
	qp->flags->worker_cpu = w->cpu;
	return rmc_ni_add_qp(&w->ni, qp);
}

static int del_qp(void *arg)
{
	struct rmcd_qp *q = arg;

	rmc_ni_del_qp(q->worker, &q->qp);
	rmcd_waiter_detach(&q->waiter);
	return 0;
}

static int del_inner(void *arg)
{
	struct rmc_qpair *qp = arg;

	rmc_ni_del_qp(qp->node->req_worker, qp);
	return 0;
}

/* The backend first, so that the frontend can relay to it. */
static int start_polling(struct rmcd_qp *q)
{
	struct rmc_front *front = q->qp.front;
	int err;

	if (front) {
		err = rmcd_call(rmc_qp_worker(&front->inner.qp), add_qp, &front->inner.qp);
		if (err)
			return err;
	}
	err = rmcd_call(q->worker, add_qp, &q->qp);
	if (err && front)
		rmcd_call(rmc_qp_worker(&front->inner.qp), del_inner, &front->inner.qp);
	return err;
}

static void stop_polling(struct rmcd_qp *q)
{
	struct rmc_front *front = q->qp.front;

	rmcd_call(q->worker, del_qp, q);
	if (front)
		rmcd_call(rmc_qp_worker(&front->inner.qp), del_inner, &front->inner.qp);
}

/* The queues of a client that breaks them: only it may see that. */
static int make_queues(struct rmcd_qp *q, u32 entries)
{
	size_t cq = PAGE_ALIGN(entries * sizeof(struct rmc_cq_entry));
	void *addr;

	q->wq_len = PAGE_ALIGN(entries * sizeof(struct rmc_wq_entry));
	q->cq_len = cq + PAGE_SIZE;
	q->wq_fd = rmcd_sealed("rmc-wq", q->wq_len, false, &addr);
	if (q->wq_fd < 0)
		return q->wq_fd;
	q->qp.wq = addr;
	q->cq_fd = rmcd_sealed("rmc-cq", q->cq_len, true, &addr);
	if (q->cq_fd < 0)
		return q->cq_fd;
	q->qp.cq = addr;
	q->qp.flags = (void *)((char *)addr + cq);
	return 0;
}

/* The client may still have it mapped. */
static void qp_free(struct rmcd_qp *q)
{
	rmcd_guard_qp_gone(q->guard);
	if (q->qp.front)
		rmc_front_destroy(q->qp.front);
	rmc_order_destroy(&q->qp);
	rmcd_sealed_free(q->cq_fd, q->qp.cq, q->cq_len);
	rmcd_sealed_free(q->wq_fd, q->qp.wq, q->wq_len);
	free(q);
}

static int get_shares(struct rmcd_file *f, struct rmcd_qp *q)
{
	struct rmc_front *front = q->qp.front;

	q->share = rmcd_share_get(f, q->worker);
	if (!q->share)
		return -ENOMEM;
	q->qp.tenant = q->share->tenant;
	if (!front)
		return 0;
	q->inner_share = rmcd_share_get(f, rmc_qp_worker(&front->inner.qp));
	if (!q->inner_share)
		return -ENOMEM;
	front->inner.qp.tenant = q->inner_share->tenant;
	return 0;
}

static void put_shares(struct rmcd_file *f, struct rmcd_qp *q)
{
	rmcd_share_put(f, q->inner_share);
	rmcd_share_put(f, q->share);
}

/* Unit that has the fewest queue pairs. */
static struct rmc_node *choose_unit(struct rmc_node *node)
{
	struct rmc_node *best = node;
	u32 i;

	for (i = 1; i < rmc_fabric_units(node->fabric); i++)
		if (READ_ONCE(node->unit[i]->qps) < READ_ONCE(best->qps))
			best = node->unit[i];
	return best;
}

static struct rmc_ni_worker *choose_worker(struct rmc_node *unit)
{
	return unit->fronts ? unit->front[READ_ONCE(unit->qps) % unit->fronts] :
			      unit->req_worker;
}

/* The client's eventfd for a worker. */
static int make_wake(struct rmcd_file *f, struct rmcd_worker *w)
{
	int fd, err;

	if (f->wake[w->number] >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = rmcd_worker_watch(w, fd);
	if (err) {
		close(fd);
		return err;
	}
	f->wake[w->number] = fd;
	return 0;
}

/* With a frontend each ring exists twice. */
static u32 queues_kib(const struct rmc_node *unit, u32 entries, u32 flags)
{
	u32 order = flags & RMC_QP_ORDERED ? rmc_order_bytes(unit->fabric) : 0;
	u32 bytes = PAGE_ALIGN(entries * RMC_WQE_SIZE) + PAGE_ALIGN(entries * RMC_CQE_SIZE) +
		    PAGE_SIZE;

	return (unit->fronts ? 2 * bytes : bytes) / 1024 + (order + 1023) / 1024;
}

static int qp_make(struct rmcd_file *f, struct rmcd_qp *q, struct rmc_node *unit, u32 entries,
		   u32 flags)
{
	int err = make_queues(q, entries);

	if (err)
		return err;
	q->worker = choose_worker(unit);
	q->qp.bufs = &f->table[unit->ep - f->node->ep];
	q->qp.node = unit;
	q->qp.mask = entries - 1;
	q->qp.order = ilog2(entries);
	q->qp.ctx_id = f->ctx->id;
	rmcd_waiter_init(&q->waiter, &q->qp.done, f, q->worker);
	if (flags & RMC_QP_ORDERED)
		err = rmc_order_init(&q->qp, unit->fronts);
	if (err)
		return err;
	if (unit->fronts) {
		q->qp.front = rmc_front_create(&q->qp, q->worker);
		if (!q->qp.front)
			return -ENOMEM;
	}
	return make_wake(f, rmcd_worker_of(q->worker));
}

/**
 * rmcd_qp_create() - RMC_IOC_QP_CREATE
 * @f: file, attached
 * @entries: size of the WQ and of the CQ, any value
 * @flags: RMC_QP_*
 * @id: out
 *
 * Return: 0, -EINVAL, -ENOSPC the node or the file has too many, -EDQUOT exceeds a quota,
 * -ENOMEM, -EMFILE.
 */
int rmcd_qp_create(struct rmcd_file *f, u32 entries, u32 flags, u32 *id)
{
	struct rmc_node *unit = choose_unit(f->node);
	u32 kib = queues_kib(unit, entries, flags);
	struct rmcd_qp *q;
	int err;
	u32 i;

	if (entries < RMC_MIN_ENTRIES || entries > RMC_MAX_ENTRIES || entries & (entries - 1))
		return -EINVAL;
	for (i = 0; i < RMC_MAX_QPS && f->qp[i]; i++)
		;
	if (i == RMC_MAX_QPS)
		return -ENOSPC;
	err = rmcd_charge(f, RMCD_RES_qps, 1);
	if (err)
		return err;
	err = rmcd_charge(f, RMCD_RES_queue_mib, kib);
	if (err)
		goto err_memory;
	q = calloc(1, sizeof(*q));
	err = -ENOMEM;
	if (!q)
		goto err_alloc;
	q->wq_fd = -1;
	q->cq_fd = -1;
	q->guard = -1;
	q->aq_fd = -1;
	q->core = -1;
	q->kib = kib;
	err = qp_make(f, q, unit, entries, flags);
	if (err)
		goto err_make;
	err = get_shares(f, q);
	if (err)
		goto err_shares;
	err = start_polling(q);
	if (err)
		goto err_shares;
	q->guard = rmcd_guard_qp(q->qp.flags);
	f->qp[i] = q;
	*id = i;
	return 0;

err_shares:
	put_shares(f, q);
err_make:
	qp_free(q);
err_alloc:
	rmcd_uncharge(f, RMCD_RES_queue_mib, kib);
err_memory:
	rmcd_uncharge(f, RMCD_RES_qps, 1);
	return err;
}

/**
 * rmcd_qp_destroy() - RMC_IOC_QP_DESTROY
 * @f: file
 * @id: any value
 *
 * Operations in flight do not complete; the client's mappings stay, and the flags say dead.
 *
 * Return: 0, -ENOENT.
 */
int rmcd_qp_destroy(struct rmcd_file *f, u32 id)
{
	struct rmcd_qp *q = rmcd_file_qp(f, id);

	if (!q)
		return -ENOENT;
	/* set before the sleepers are woken to see it */
	WRITE_ONCE(q->qp.flags->dead, 1);
	rmcd_domain_detach(f, q);
	stop_polling(q);
	rmcd_engine_close(f, q);
	rmcd_waiter_release(&q->waiter);
	put_shares(f, q);
	rmcd_uncharge(f, RMCD_RES_queue_mib, q->kib);
	rmcd_uncharge(f, RMCD_RES_qps, 1);
	f->qp[id] = NULL;
	qp_free(q);
	return 0;
}
