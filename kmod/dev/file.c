// SPDX-License-Identifier: GPL-2.0
/*
 * Resources of an open context. Calls on the workers install them in the pipelines, so the
 * data path needs no lock.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "../core/state.h"
#include "../core/timeout.h"
#include "context.h"
#include "domain.h"
#include "exposed.h"
#include "quota.h"
#include "range.h"
#include "tx.h"
#include "watch.h"

/* Argument of the calls on workers. */
struct change {
	struct rmc_file *file;
	struct rmc_umem *mem;
	struct rmc_node *unit;
	u32 number;		/* of the unit */
};

static u32 units(const struct rmc_file *f)
{
	return rmc_fabric_units(&f->rmc->port->fabric);
}

static int set_segment(void *arg)
{
	struct change *c = arg;
	struct rmc_mem **seg = &c->unit->ct.seg[c->file->ctx->id];

	if (*seg)
		return -EEXIST;
	*seg = &c->mem->mem;
	return 0;
}

static int clear_segment(void *arg)
{
	struct change *c = arg;

	c->unit->ct.seg[c->file->ctx->id] = NULL;
	rmc_state_withdraw(c->unit, &c->mem->mem);
	/* unit 0 handles the notifications */
	if (c->unit == c->file->node)
		rmc_waiter_detach(&c->mem->waiter);
	return 0;
}

static int add_buffer(void *arg)
{
	struct change *c = arg;

	return rmc_bufs_add(&c->file->table[c->number], &c->mem->mem);
}

static int del_buffer(void *arg)
{
	struct change *c = arg;
	struct rmc_abort which = {
		.lbuf = &c->mem->mem,
		.nid = -1,
		.status = RMC_S_ABORTED,
	};

	rmc_bufs_del(&c->file->table[c->number], &c->mem->mem);
	rmc_itt_abort(c->unit, &which);
	return 0;
}

/*
 * Each unit has all segments and buffers; its own worker changes them. Unit 0 is installed
 * first and removed last: what it accepts, the others accept.
 */
static int install_on_units(struct rmc_file *f, struct rmc_umem *u, enum rmc_lane lane,
			    int (*fn)(void *arg))
{
	struct change c = { .file = f, .mem = u };
	int err;

	for (; c.number < units(f); c.number++) {
		c.unit = f->node->unit[c.number];
		err = rmc_worker_call(lane == RMC_LANE_REQ ? c.unit->srv_worker :
				      c.unit->req_worker, fn, &c);
		if (err)
			return err;
	}
	return 0;
}

static void remove_from_units(struct rmc_file *f, struct rmc_umem *u, enum rmc_lane lane,
			      int (*fn)(void *arg))
{
	struct change c = { .file = f, .mem = u, .number = units(f) };

	while (c.number--) {
		c.unit = f->node->unit[c.number];
		rmc_worker_call(lane == RMC_LANE_REQ ? c.unit->srv_worker : c.unit->req_worker,
				fn, &c);
	}
}

/* Deferred by umem_vm_close(): uninstalls buffers that are not mapped any more */
static void forget_unmapped(struct work_struct *work)
{
	struct rmc_file *f = container_of(work, struct rmc_file, unmapped);
	struct rmc_umem *u;
	unsigned long id;

	mutex_lock(&f->lock);
	xa_for_each(&f->buf, id, u)
		/* mapped again only with this lock held */
		if (u->allocated && !READ_ONCE(u->mappings))
			rmc_file_buf_uninstall(f, u);
	mutex_unlock(&f->lock);
}

/**
 * rmc_file_create() - create the state of a newly opened context
 * @rmc: device
 * @ctx: context, opened; the file releases it
 *
 * Return: file, or ERR_PTR: -EDQUOT the caller or the context has too many, -ENOMEM.
 * Context: may sleep.
 */
struct rmc_file *rmc_file_create(struct rmc_device *rmc, struct rmc_context *ctx)
{
	struct rmc_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!f)
		return ERR_PTR(-ENOMEM);
	f->rmc = rmc;
	f->ctx = ctx;
	f->user = rmc_user_get(rmc, current_uid());
	if (!f->user)
		goto err_user;
	err = rmc_charge(f, RMC_RES_files, 1);
	if (err)
		goto err_charge;
	err = -ENOMEM;
	f->table = kvcalloc(rmc_fabric_units(&rmc->port->fabric), sizeof(*f->table),
			    GFP_KERNEL_ACCOUNT);
	if (!f->table)
		goto err_table;
	mutex_init(&f->lock);
	mutex_init(&f->dom_lock);
	init_waitqueue_head(&f->wait);
	spin_lock_init(&f->waits_lock);
	INIT_WORK(&f->unmapped, forget_unmapped);
	xa_init_flags(&f->buf, XA_FLAGS_ALLOC);
	xa_init_flags(&f->qp, XA_FLAGS_ALLOC);
	return f;

err_table:
	rmc_uncharge(f, RMC_RES_files, 1);
err_charge:
	rmc_user_put(rmc, f->user);
err_user:
	kfree(f);
	return ERR_PTR(err);
}

/* Queue pairs, domain, buffers and segment; both locks are held, rmc_dom_unlist() was called */
static void release_all(struct rmc_file *f)
{
	struct rmc_umem *u;
	unsigned long id;
	void *entry;

	xa_for_each(&f->qp, id, entry)
		rmc_queues_destroy(f, id);
	rmc_dom_destroy(f);
	xa_for_each(&f->buf, id, u)
		rmc_umem_put(rmc_file_buf_del(f, id));
	u = rmc_file_seg_del(f);
	if (u)
		rmc_umem_put(u);
}

/* The owner's address space is gone, or about to go. */
static bool ends(const struct rmc_file *f)
{
	return f->owner == task_tgid(current) && !f->several &&
	       (f->owner_mm != current->mm || current->in_execve);
}

/**
 * rmc_file_flush() - a process closes a descriptor of the file
 * @f: file
 *
 * If the process is the owner and its address space is gone, because it exits, or is about
 * to go, because it executes another program, all resources of the file are released now.
 * Processes that share the file, usually children of a fork(), do not keep them alive, but
 * may use the file anew. A process that closes one of several descriptors still has its
 * address space.
 *
 * Context: may sleep; no signal shortens it.
 */
void rmc_file_flush(struct rmc_file *f)
{
	if (READ_ONCE(f->owner) != task_tgid(current))
		return;
	mutex_lock(&f->dom_lock);
	mutex_lock(&f->lock);
	if (ends(f)) {
		mutex_unlock(&f->lock);
		rmc_dom_unlist(f);
		mutex_lock(&f->lock);
	}
	if (ends(f)) {
		release_all(f);
		rmc_file_disown(f);
	}
	mutex_unlock(&f->lock);
	mutex_unlock(&f->dom_lock);
}

/**
 * rmc_file_destroy() - release a file and all its resources
 * @f: file that is not used any more
 *
 * Context: may sleep; no signal shortens it.
 */
void rmc_file_destroy(struct rmc_file *f)
{
	cancel_work_sync(&f->unmapped);
	mutex_lock(&f->dom_lock);
	rmc_dom_unlist(f);
	mutex_lock(&f->lock);
	release_all(f);
	rmc_file_disown(f);
	mutex_unlock(&f->lock);
	mutex_unlock(&f->dom_lock);
	xa_destroy(&f->qp);
	xa_destroy(&f->buf);
	rmc_watcher_detach(f);
	kvfree(f->table);
	rmc_uncharge(f, RMC_RES_files, 1);
	rmc_user_put(f->rmc, f->user);
	rmc_context_release(f->rmc, f->ctx);
	kfree(f);
}

/**
 * rmc_file_attach() - choose the node of a file
 * @f: file
 * @nid: node id, any value
 *
 * Return: 0, -ENXIO not local, -EBUSY attached to another node. Context: may sleep.
 */
int rmc_file_attach(struct rmc_file *f, u32 nid)
{
	struct rmc_node *node = rmc_device_node(f->rmc, nid);
	int err = 0;

	if (!node)
		return -ENXIO;
	mutex_lock(&f->lock);
	if (f->node && f->node != node)
		err = -EBUSY;
	else
		/* pairs with the acquire in rmc_file_node() */
		smp_store_release(&f->node, node);
	mutex_unlock(&f->lock);
	return err;
}

/**
 * rmc_file_node() - node of a file; attaches the lowest local one if none was chosen
 * @f: file; its lock is not held
 *
 * Return: node. Context: may sleep.
 */
struct rmc_node *rmc_file_node(struct rmc_file *f)
{
	/* pairs with the release in rmc_file_attach() */
	struct rmc_node *node = smp_load_acquire(&f->node);

	if (node)
		return node;
	/* EBUSY: another thread was faster */
	rmc_file_attach(f, f->rmc->port->first);
	/* pairs as above */
	return smp_load_acquire(&f->node);
}

/**
 * rmc_file_seg_add() - expose memory as the segment of the file's context and node
 * @f: file, locked, attached
 * @u: memory; on success the file takes the reference
 *
 * Return: 0, -EEXIST there is a segment, -EADDRINUSE another worker serves some of the memory
 * already, -ENOMEM, -EINTR being killed. Context: may sleep.
 */
int rmc_file_seg_add(struct rmc_file *f, struct rmc_umem *u)
{
	int err;

	lockdep_assert_held(&f->lock);
	rmc_waiter_init(&u->waiter, &u->mem.notified, f, RMC_WAIT_SEG, f->node->srv_worker);
	if (f->seg)
		return -EEXIST;
	err = rmc_exposed_add(f->rmc, u, f->node, &u->mem);
	if (err)
		return err;
	err = install_on_units(f, u, RMC_LANE_REQ, set_segment);
	if (err) {
		rmc_exposed_del(f->rmc, u);
		return err;
	}
	rmc_expose(&u->mem.exposure);
	f->seg = u;
	rmc_file_own(f);
	return 0;
}

/**
 * rmc_file_seg_del() - withdraw the segment
 * @f: file, locked
 *
 * Return: memory, which no remote operation touches any more; the caller gets the
 * reference. NULL: there was no segment. Context: may sleep.
 */
struct rmc_umem *rmc_file_seg_del(struct rmc_file *f)
{
	struct rmc_umem *u = f->seg;

	lockdep_assert_held(&f->lock);
	if (u) {
		rmc_ranges_clear(f);
		rmc_hide(&u->mem.exposure);
		remove_from_units(f, u, RMC_LANE_REQ, clear_segment);
		rmc_tx_range_withdrawn(f, &u->mem);
		rmc_exposed_del(f->rmc, u);
		rmc_waiter_release(&u->waiter);
	}
	f->seg = NULL;
	return u;
}

/**
 * rmc_file_buf_install() - install a buffer on all units
 * @f: file, locked, attached
 * @u: buffer with its address set
 *
 * Return: 0, -EEXIST overlaps another, -ENOSPC. Context: may sleep.
 */
int rmc_file_buf_install(struct rmc_file *f, struct rmc_umem *u)
{
	int err;

	lockdep_assert_held(&f->lock);
	err = install_on_units(f, u, RMC_LANE_REP, add_buffer);
	u->known = !err;
	return err;
}

/**
 * rmc_file_buf_uninstall() - mirror of rmc_file_buf_install()
 * @f: file, locked
 * @u: buffer; operations in flight to it complete with RMC_S_ABORTED
 *
 * Context: may sleep.
 */
void rmc_file_buf_uninstall(struct rmc_file *f, struct rmc_umem *u)
{
	lockdep_assert_held(&f->lock);
	if (!u->known)
		return;
	remove_from_units(f, u, RMC_LANE_REP, del_buffer);
	u->known = false;
}

/**
 * rmc_file_buf_add() - assign an id to a buffer and, if it has an address, install it
 * @f: file, locked, attached
 * @u: buffer; on success the file takes the reference and @u->id is set
 *
 * Return: 0, -EEXIST overlaps another, -ENOSPC too many, -EDQUOT exceeds a quota of the
 * user or the context, -ENOMEM. Context: may sleep.
 */
int rmc_file_buf_add(struct rmc_file *f, struct rmc_umem *u)
{
	int err;

	lockdep_assert_held(&f->lock);
	err = rmc_charge(f, RMC_RES_buffers, 1);
	if (err)
		return err;
	err = xa_alloc(&f->buf, &u->id, u, XA_LIMIT(0, RMC_MAX_BUFFERS - 1), GFP_KERNEL_ACCOUNT);
	if (err) {
		err = err == -EBUSY ? -ENOSPC : err;
		goto err_alloc;
	}
	u->buffer = true;
	if (!u->allocated)
		err = rmc_file_buf_install(f, u);
	if (err)
		goto err_know;
	rmc_file_own(f);
	return 0;

err_know:
	xa_erase(&f->buf, u->id);
err_alloc:
	rmc_uncharge(f, RMC_RES_buffers, 1);
	return err;
}

/**
 * rmc_file_buf_del() - mirror of rmc_file_buf_add()
 * @f: file, locked
 * @id: buffer id, any value
 *
 * Return: memory; the caller gets the reference. NULL: no such buffer.
 * Context: may sleep.
 */
struct rmc_umem *rmc_file_buf_del(struct rmc_file *f, u32 id)
{
	struct rmc_umem *u;

	lockdep_assert_held(&f->lock);
	u = xa_erase(&f->buf, id);
	if (u) {
		rmc_file_buf_uninstall(f, u);
		rmc_uncharge(f, RMC_RES_buffers, 1);
	}
	return u;
}
