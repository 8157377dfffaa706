// SPDX-License-Identifier: GPL-2.0
/*
 * What an open context holds, and how it reaches the pipelines: by calls on
 * the workers, after which neither side needs a lock.
 */
#include <linux/slab.h>
#include "context.h"
#include "file.h"
#include "watch.h"

/* Argument of the calls on workers. */
struct change {
	struct rmc_file *file;
	struct rmc_umem *mem;
};

static int set_segment(void *arg)
{
	struct change *c = arg;
	struct rmc_mem **seg = &c->file->node->ct.seg[c->file->ctx->id];

	if (*seg)
		return -EEXIST;
	*seg = &c->mem->mem;
	return 0;
}

static int clear_segment(void *arg)
{
	struct change *c = arg;

	c->file->node->ct.seg[c->file->ctx->id] = NULL;
	rmc_att_withdraw(c->file->node, &c->mem->mem);
	rmc_waiter_forget(&c->mem->waiter);
	return 0;
}

static int add_buffer(void *arg)
{
	struct change *c = arg;

	return rmc_bufs_add(&c->file->table, &c->mem->mem);
}

static int del_buffer(void *arg)
{
	struct change *c = arg;
	struct rmc_abort which = {
		.lbuf = &c->mem->mem,
		.nid = -1,
		.status = RMC_S_ABORTED,
	};

	rmc_bufs_del(&c->file->table, &c->mem->mem);
	rmc_itt_abort(c->file->node, &which);
	return 0;
}

/**
 * rmc_file_create() - state of a newly opened context
 * @rmc: device
 * @ctx: context, opened; the file gives it back
 *
 * Return: file or NULL. Context: may sleep.
 */
struct rmc_file *rmc_file_create(struct rmc_device *rmc, struct rmc_context *ctx)
{
	struct rmc_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->rmc = rmc;
	f->ctx = ctx;
	mutex_init(&f->lock);
	init_waitqueue_head(&f->wait);
	xa_init_flags(&f->buf, XA_FLAGS_ALLOC);
	xa_init_flags(&f->qp, XA_FLAGS_ALLOC);
	return f;
}

/**
 * rmc_file_destroy() - release all that a file holds
 * @f: file that nobody uses any more
 *
 * Context: may sleep; no signal shortens it.
 */
void rmc_file_destroy(struct rmc_file *f)
{
	struct rmc_umem *u;
	unsigned long id;
	void *entry;

	mutex_lock(&f->lock);
	xa_for_each(&f->qp, id, entry)
		rmc_queues_destroy(f, id);
	xa_for_each(&f->buf, id, u)
		rmc_umem_put(rmc_file_buf_del(f, id));
	u = rmc_file_seg_del(f);
	mutex_unlock(&f->lock);
	if (u)
		rmc_umem_put(u);
	xa_destroy(&f->qp);
	xa_destroy(&f->buf);
	rmc_watcher_detach(f);
	rmc_context_release(f->rmc, f->ctx);
	kfree(f);
}

/**
 * rmc_file_attach() - choose the node a file acts for
 * @f: file
 * @nid: node id, any value
 *
 * Return: 0, -ENXIO not local, -EBUSY attached to another. Context: may sleep.
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
 * rmc_file_node() - node a file acts for; the lowest local one if none was chosen
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
	/* EBUSY: somebody else was faster */
	rmc_file_attach(f, f->rmc->port->first);
	/* pairs as above */
	return smp_load_acquire(&f->node);
}

/**
 * rmc_file_seg_add() - expose memory as the segment of the file's context and node
 * @f: file, locked, attached
 * @u: memory; on success the reference is the file's
 *
 * Return: 0, -EEXIST there is a segment. Context: may sleep.
 */
int rmc_file_seg_add(struct rmc_file *f, struct rmc_umem *u)
{
	struct change c = { .file = f, .mem = u };
	int err;

	lockdep_assert_held(&f->lock);
	rmc_waiter_init(&u->waiter, &u->mem.notified, f, RMC_WAIT_SEG);
	err = rmc_worker_call(f->node->srv_worker, set_segment, &c);
	if (!err)
		f->seg = u;
	return err;
}

/**
 * rmc_file_seg_del() - withdraw the segment
 * @f: file, locked
 *
 * Return: memory, which no remote operation touches any more and whose
 * reference is the caller's; NULL: there was none. Context: may sleep.
 */
struct rmc_umem *rmc_file_seg_del(struct rmc_file *f)
{
	struct rmc_umem *u = f->seg;
	struct change c = { .file = f, .mem = u };

	lockdep_assert_held(&f->lock);
	if (u) {
		rmc_worker_call(f->node->srv_worker, clear_segment, &c);
		rmc_waiter_release(&u->waiter);
	}
	f->seg = NULL;
	return u;
}

/**
 * rmc_file_buf_know() - let operations use a buffer
 * @f: file, locked, attached
 * @u: buffer with its address set
 *
 * Return: 0, -EEXIST overlaps another, -ENOSPC. Context: may sleep.
 */
int rmc_file_buf_know(struct rmc_file *f, struct rmc_umem *u)
{
	struct change c = { .file = f, .mem = u };
	int err;

	lockdep_assert_held(&f->lock);
	err = rmc_worker_call(f->node->req_worker, add_buffer, &c);
	u->known = !err;
	return err;
}

/**
 * rmc_file_buf_forget() - mirror of rmc_file_buf_know()
 * @f: file, locked
 * @u: buffer; what is in flight to it ends with RMC_S_ABORTED
 *
 * Context: may sleep.
 */
void rmc_file_buf_forget(struct rmc_file *f, struct rmc_umem *u)
{
	struct change c = { .file = f, .mem = u };

	lockdep_assert_held(&f->lock);
	if (!u->known)
		return;
	rmc_worker_call(f->node->req_worker, del_buffer, &c);
	u->known = false;
}

/**
 * rmc_file_buf_add() - give a buffer an id and, if it has an address, make it known
 * @f: file, locked, attached
 * @u: buffer; on success the reference is the file's and @u->id is set
 *
 * Return: 0, -EEXIST overlaps another, -ENOSPC too many, -ENOMEM.
 * Context: may sleep.
 */
int rmc_file_buf_add(struct rmc_file *f, struct rmc_umem *u)
{
	int err;

	lockdep_assert_held(&f->lock);
	err = xa_alloc(&f->buf, &u->id, u, XA_LIMIT(0, RMC_MAX_BUFFERS - 1), GFP_KERNEL_ACCOUNT);
	if (err)
		return err == -EBUSY ? -ENOSPC : err;
	if (u->allocated)
		return 0;
	err = rmc_file_buf_know(f, u);
	if (err)
		xa_erase(&f->buf, u->id);
	return err;
}

/**
 * rmc_file_buf_del() - take a buffer away
 * @f: file, locked
 * @id: buffer id, any value
 *
 * Return: memory whose reference is the caller's; NULL: no such buffer.
 * Context: may sleep.
 */
struct rmc_umem *rmc_file_buf_del(struct rmc_file *f, u32 id)
{
	struct rmc_umem *u;

	lockdep_assert_held(&f->lock);
	u = xa_erase(&f->buf, id);
	if (u)
		rmc_file_buf_forget(f, u);
	return u;
}
