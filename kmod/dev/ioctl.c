// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls: one table per device file, one dispatcher that copies and validates
 * sizes. The functions see a complete kernel copy of their struct.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/uaccess.h>
#include "context.h"
#include "domain.h"
#include "engine.h"
#include "ioctl.h"
#include "query.h"
#include "range.h"
#include "tx.h"
#include "uring_wait.h"
#include "watch.h"

/* A file that an ioctl opened; installed after the answer has reached the caller. */
struct opened {
	struct file *file;
	int fd;
};

/* Target of an ioctl; @file: NULL on the control device; @writable: open for writing. */
struct request {
	struct rmc_device *rmc;
	struct rmc_file *file;
	struct opened *opened;
	bool writable;
};

union args {
	struct rmc_query query;
	struct rmc_node_info node_info;
	struct rmc_watch watch;
	struct rmc_attach attach;
	struct rmc_seg_reg seg_reg;
	struct rmc_seg_unreg seg_unreg;
	struct rmc_seg_add seg_add;
	struct rmc_seg_del seg_del;
	struct rmc_buf_reg buf_reg;
	struct rmc_buf_unreg buf_unreg;
	struct rmc_qp_create qp_create;
	struct rmc_qp_id qp_id;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_ctx_create ctx_create;
	struct rmc_ctx_remove ctx_remove;
	struct rmc_dom_query dom_query;
	struct rmc_dom_create dom_create;
	struct rmc_dom_open dom_open;
	struct rmc_dom_destroy dom_destroy;
	struct rmc_dom_attach dom_attach;
	struct rmc_dom_detach dom_detach;
	struct rmc_aq_arm aq_arm;
	struct rmc_room_arm room_arm;
	struct rmc_dom_stats dom_stats;
	struct rmc_tx_reg tx_reg;
	struct rmc_tx_open tx_open;
};

/**
 * struct entry - row of a table
 * @cmd: ioctl
 * @size: size of its struct
 * @min_size: size of the struct's first version
 * @answers: the struct is copied back
 * @writes: the file has to be open for writing
 * @fn: executes it
 * @undo: reverts it when the answer cannot be copied back
 */
struct entry {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	bool answers;
	bool writes;
	int (*fn)(const struct request *r, union args *a);
	void (*undo)(const struct request *r, union args *a);
};

static int do_query(const struct request *r, union args *a)
{
	if (a->query.flags)
		return -EOPNOTSUPP;
	rmc_dev_query(r->rmc, r->file, &a->query);
	return 0;
}

static int do_node_info(const struct request *r, union args *a)
{
	return a->node_info.flags ? -EOPNOTSUPP :
				    rmc_dev_node_info(r->rmc, r->file, &a->node_info);
}

/* Node of an event file: on a context it is the attached one. */
static struct rmc_node *watching(const struct request *r, s32 nid)
{
	struct rmc_node *node = r->file ? rmc_file_node(r->file) : NULL;

	if (node)
		return nid < 0 || nid == node->nid ? node : NULL;
	return rmc_device_node(r->rmc, nid < 0 ? r->rmc->port->first : nid);
}

static int do_watch(const struct request *r, union args *a)
{
	struct rmc_watch *w = &a->watch;
	struct opened *o = r->opened;
	struct rmc_node *node;
	struct file *file;
	int fd;

	if (w->flags & ~RMC_WATCH_NONBLOCK || w->reserved)
		return -EOPNOTSUPP;
	if (w->types >= 1U << RMC_EVENT_TYPES)
		return -EOPNOTSUPP;
	node = watching(r, w->nid);
	if (!node)
		return -ENXIO;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = rmc_watcher_open(r->file, node, w->types, w->flags & RMC_WATCH_NONBLOCK);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	*o = (struct opened){ .file = file, .fd = fd };
	w->fd = fd;
	return 0;
}

static int do_attach(const struct request *r, union args *a)
{
	if (a->attach.flags || a->attach.reserved)
		return -EOPNOTSUPP;
	return rmc_file_attach(r->file, a->attach.nid);
}

/* Pins or allocates memory; common to segments and buffers. */
static struct rmc_umem *get_memory(struct rmc_file *f, u32 flags, u64 addr, u64 length,
				   s32 numa_node)
{
	struct rmc_node *node = rmc_file_node(f);
	int nid = cpu_to_node(rmc_worker_of(node->srv_worker)->cpu);

	if (!length || length > RMC_MAX_SEGMENT)
		return ERR_PTR(-EINVAL);
	if (!(flags & RMC_MEM_ALLOC)) {
		if (flags & RMC_MEM_NUMA || numa_node)
			return ERR_PTR(-EINVAL);
		return rmc_umem_pin(addr, length);
	}
	if (addr)
		return ERR_PTR(-EINVAL);
	if (flags & RMC_MEM_NUMA) {
		if (numa_node < 0 || numa_node >= MAX_NUMNODES)
			return ERR_PTR(-EINVAL);
		nid = array_index_nospec(numa_node, MAX_NUMNODES);
		if (!node_state(nid, N_MEMORY))
			return ERR_PTR(-EINVAL);
	}
	return rmc_umem_alloc(length, nid, flags & RMC_MEM_NUMA);
}

/* Layout of objects' versions; all zero for memory without objects. */
static int get_layout(const struct request *r, const struct rmc_seg_reg *s, struct rmc_mem *mem)
{
	if (!(s->flags & RMC_MEM_OBJECTS)) {
		if (s->version_offset || s->readers_offset || s->sabre_mode)
			return -EINVAL;
		return 0;
	}
	if (s->sabre_mode > RMC_SABRE_TX || s->version_offset % sizeof(u64) ||
	    s->readers_offset % sizeof(u32))
		return -EINVAL;
	if (s->sabre_mode == RMC_SABRE_TX) {
		if (s->version_offset || s->readers_offset)
			return -EINVAL;
		/* the RRPP of an object would be another one than that of its transactions */
		if (rmc_fabric_rrpps(&r->rmc->port->fabric) > 1)
			return -EOPNOTSUPP;
		mem->sabre = RMC_SABRE_TX;
		return 0;
	}
	/* counting readers must not make a version odd */
	if (s->readers_offset / sizeof(u64) == s->version_offset / sizeof(u64) &&
	    (s->readers_offset || s->sabre_mode == RMC_SABRE_LOCKED))
		return -EINVAL;
	mem->sabre = s->sabre_mode ? s->sabre_mode : r->rmc->cfg.sabre;
	mem->version_off = s->version_offset;
	mem->readers_off = s->readers_offset;
	return 0;
}

static int do_seg_reg(const struct request *r, union args *a)
{
	struct rmc_seg_reg *s = &a->seg_reg;
	struct rmc_mem layout = {};
	struct rmc_umem *u;
	int err;

	if (s->flags & ~(RMC_MEM_READONLY | RMC_MEM_ALLOC | RMC_MEM_NUMA | RMC_MEM_OBJECTS) ||
	    s->reserved || s->reserved2)
		return -EOPNOTSUPP;
	if (s->addr % RMC_CACHE_LINE)
		return -EINVAL;
	err = get_layout(r, s, &layout);
	if (err)
		return err;
	u = get_memory(r->file, s->flags, s->addr, s->length, s->numa_node);
	if (IS_ERR(u))
		return PTR_ERR(u);
	u->mem.flags = s->flags & RMC_MEM_READONLY;
	u->mem.sabre = layout.sabre;
	u->mem.version_off = layout.version_off;
	u->mem.readers_off = layout.readers_off;
	s->mmap_offset = u->allocated ? rmc_map_offset(RMC_MAP_SEG, 0) : 0;

	mutex_lock(&r->file->lock);
	err = rmc_file_seg_add(r->file, u);
	mutex_unlock(&r->file->lock);
	if (err)
		rmc_umem_put(u);
	return err;
}

static int seg_unreg(struct rmc_file *f)
{
	struct rmc_umem *u;

	mutex_lock(&f->lock);
	u = rmc_file_seg_del(f);
	mutex_unlock(&f->lock);
	if (!u)
		return -ENOENT;
	rmc_umem_put(u);
	return 0;
}

static void undo_seg_reg(const struct request *r, union args *a)
{
	seg_unreg(r->file);
}

static int do_seg_unreg(const struct request *r, union args *a)
{
	return a->seg_unreg.flags ? -EOPNOTSUPP : seg_unreg(r->file);
}

static int do_seg_add(const struct request *r, union args *a)
{
	struct rmc_seg_add *s = &a->seg_add;
	struct rmc_umem *u;
	int err;

	if (s->flags & ~RMC_MEM_READONLY)
		return -EOPNOTSUPP;
	if (s->addr % RMC_CACHE_LINE || s->offset % RMC_CACHE_LINE)
		return -EINVAL;
	if (s->offset >= RMC_MAX_SEGMENT || s->length > RMC_MAX_SEGMENT - s->offset)
		return -EINVAL;
	u = get_memory(r->file, 0, s->addr, s->length, 0);
	if (IS_ERR(u))
		return PTR_ERR(u);
	u->mem.flags = s->flags;

	mutex_lock(&r->file->lock);
	err = rmc_ranges_add(r->file, u, s->offset);
	mutex_unlock(&r->file->lock);
	if (err)
		rmc_umem_put(u);
	return err;
}

static int do_seg_del(const struct request *r, union args *a)
{
	struct rmc_umem *u;

	if (a->seg_del.flags)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	u = rmc_ranges_del(r->file, a->seg_del.offset);
	mutex_unlock(&r->file->lock);
	if (IS_ERR(u))
		return PTR_ERR(u);
	rmc_umem_put(u);
	return 0;
}

static int do_buf_reg(const struct request *r, union args *a)
{
	struct rmc_buf_reg *b = &a->buf_reg;
	struct rmc_umem *u;
	int err;

	if (b->flags & ~(RMC_MEM_ALLOC | RMC_MEM_NUMA))
		return -EOPNOTSUPP;
	/* a WQ entry must be able to name each byte of the buffer */
	if (b->addr > RMC_WQE_LBUF_MASK || b->length > RMC_WQE_LBUF_MASK + 1 - b->addr)
		return -EINVAL;
	u = get_memory(r->file, b->flags, b->addr, b->length, b->numa_node);
	if (IS_ERR(u))
		return PTR_ERR(u);

	mutex_lock(&r->file->lock);
	err = rmc_file_buf_add(r->file, u);
	if (!err) {
		b->buf_id = u->id;
		b->mmap_offset = u->allocated ? rmc_map_offset(RMC_MAP_BUF, u->id) : 0;
	}
	mutex_unlock(&r->file->lock);
	if (err)
		rmc_umem_put(u);
	return err;
}

static int buf_unreg(struct rmc_file *f, u32 id)
{
	struct rmc_umem *u;

	mutex_lock(&f->lock);
	u = rmc_file_buf_del(f, id);
	mutex_unlock(&f->lock);
	if (!u)
		return -ENOENT;
	rmc_umem_put(u);
	return 0;
}

static void undo_buf_reg(const struct request *r, union args *a)
{
	buf_unreg(r->file, a->buf_reg.buf_id);
}

static int do_buf_unreg(const struct request *r, union args *a)
{
	if (a->buf_unreg.flags || a->buf_unreg.reserved)
		return -EOPNOTSUPP;
	return buf_unreg(r->file, a->buf_unreg.buf_id);
}

static int do_qp_create(const struct request *r, union args *a)
{
	struct rmc_qp_create *c = &a->qp_create;
	struct rmc_queues *q;

	if (c->flags & ~RMC_QP_ORDERED)
		return -EOPNOTSUPP;
	rmc_file_node(r->file);
	mutex_lock(&r->file->lock);
	q = rmc_queues_create(r->file, c->entries, c->flags);
	if (!IS_ERR(q))
		c->qp_id = q->id;
	mutex_unlock(&r->file->lock);
	if (IS_ERR(q))
		return PTR_ERR(q);
	c->wq_offset = rmc_map_offset(RMC_MAP_WQ, c->qp_id);
	c->cq_offset = rmc_map_offset(RMC_MAP_CQ, c->qp_id);
	c->flags_offset = rmc_map_offset(RMC_MAP_FLAGS, c->qp_id);
	return 0;
}

static int qp_destroy(struct rmc_file *f, u32 id)
{
	int err;

	mutex_lock(&f->lock);
	err = rmc_queues_destroy(f, id);
	mutex_unlock(&f->lock);
	return err;
}

static void undo_qp_create(const struct request *r, union args *a)
{
	qp_destroy(r->file, a->qp_create.qp_id);
}

static int do_qp_destroy(const struct request *r, union args *a)
{
	if (a->qp_id.flags || a->qp_id.reserved)
		return -EOPNOTSUPP;
	return qp_destroy(r->file, a->qp_id.qp_id);
}

/* Each operation for a parked worker takes this path: no lock. */
static int do_wake(const struct request *r, union args *a)
{
	struct rmc_ni_worker *w;
	struct rmc_queues *q;
	bool waits;

	if (a->qp_id.flags & ~RMC_WAKE_YIELD || a->qp_id.reserved)
		return -EOPNOTSUPP;
	rcu_read_lock();
	q = xa_load(&r->file->qp, a->qp_id.qp_id);
	/* the queue pair may go now; its worker stays as long as the file is open */
	w = q ? q->worker : NULL;
	rcu_read_unlock();
	if (!w)
		return -ENOENT;
	waits = a->qp_id.flags & RMC_WAKE_YIELD;
	return rmc_worker_poll_inline(rmc_worker_of(w), waits) && waits;
}

static int do_cq_arm(const struct request *r, union args *a)
{
	struct rmc_cq_arm *c = &a->cq_arm;
	struct rmc_queues *q;
	int err = -ENOENT;

	if (c->flags || c->reserved)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	WRITE_ONCE(r->file->gone, false);
	q = xa_load(&r->file->qp, c->qp_id);
	if (q)
		err = rmc_waiter_arm(&q->qp.done, q->worker, c->seen, c->eventfd, NULL);
	mutex_unlock(&r->file->lock);
	return err;
}

static int do_seg_arm(const struct request *r, union args *a)
{
	struct rmc_seg_arm *s = &a->seg_arm;
	int err = -ENOENT;

	if (s->flags)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	WRITE_ONCE(r->file->gone, false);
	if (r->file->seg)
		err = rmc_waiter_arm(&r->file->seg->mem.notified, r->file->node->srv_worker,
				     s->seen, s->eventfd, &s->seen);
	mutex_unlock(&r->file->lock);
	return err;
}

static int do_dom_query(const struct request *r, union args *a)
{
	if (a->dom_query.flags)
		return -EOPNOTSUPP;
	rmc_dom_query(&a->dom_query);
	return 0;
}

static int do_dom_create(const struct request *r, union args *a)
{
	if (a->dom_create.flags & ~(RMC_DOM_REQUEUE | RMC_DOM_KEY) || a->dom_create.reserved)
		return -EOPNOTSUPP;
	rmc_file_node(r->file);
	return rmc_dom_begin(r->file, &a->dom_create);
}

static int dom_destroy(struct rmc_file *f)
{
	bool left;
	int err;

	mutex_lock(&f->dom_lock);
	left = rmc_dom_unlist(f);
	mutex_lock(&f->lock);
	err = rmc_dom_destroy(f);
	mutex_unlock(&f->lock);
	mutex_unlock(&f->dom_lock);
	return left ? 0 : err;
}

static void undo_dom_create(const struct request *r, union args *a)
{
	dom_destroy(r->file);
}

static int do_dom_open(const struct request *r, union args *a)
{
	if (a->dom_open.flags)
		return -EOPNOTSUPP;
	rmc_file_node(r->file);
	return rmc_dom_open(r->file, &a->dom_open);
}

static int do_dom_destroy(const struct request *r, union args *a)
{
	return a->dom_destroy.flags ? -EOPNOTSUPP : dom_destroy(r->file);
}

static int do_dom_attach(const struct request *r, union args *a)
{
	int err;

	if (a->dom_attach.flags & ~RMC_DOM_SEND_ONLY || a->dom_attach.reserved)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	err = rmc_dom_attach(r->file, &a->dom_attach);
	mutex_unlock(&r->file->lock);
	return err;
}

static int dom_detach(struct rmc_file *f, u32 id)
{
	struct rmc_queues *q;
	int err = -ENOENT;

	mutex_lock(&f->lock);
	q = xa_load(&f->qp, id);
	if (q)
		err = rmc_dom_detach(f, q);
	mutex_unlock(&f->lock);
	return err;
}

static void undo_dom_attach(const struct request *r, union args *a)
{
	dom_detach(r->file, a->dom_attach.qp_id);
}

static int do_dom_detach(const struct request *r, union args *a)
{
	if (a->dom_detach.flags || a->dom_detach.reserved)
		return -EOPNOTSUPP;
	return dom_detach(r->file, a->dom_detach.qp_id);
}

static int do_aq_arm(const struct request *r, union args *a)
{
	int err;

	if (a->aq_arm.flags || a->aq_arm.reserved)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	WRITE_ONCE(r->file->gone, false);
	err = rmc_dom_arm(r->file, &a->aq_arm);
	mutex_unlock(&r->file->lock);
	return err;
}

static int do_room_arm(const struct request *r, union args *a)
{
	int err;

	if (a->room_arm.flags)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	WRITE_ONCE(r->file->gone, false);
	err = rmc_dom_arm_room(r->file, &a->room_arm);
	mutex_unlock(&r->file->lock);
	return err;
}

static int do_dom_stats(const struct request *r, union args *a)
{
	struct rmc_dom_stats *s = &a->dom_stats;
	int err;

	if (s->flags)
		return -EOPNOTSUPP;
	*s = (struct rmc_dom_stats){};
	mutex_lock(&r->file->lock);
	err = rmc_dom_report(r->file, s);
	mutex_unlock(&r->file->lock);
	return err;
}

static int do_tx_reg(const struct request *r, union args *a)
{
	struct rmc_tx_reg *t = &a->tx_reg;
	struct rmc_umem *local = NULL;
	int err;

	if (t->flags)
		return -EOPNOTSUPP;
	if (t->length)
		local = rmc_tx_local_pin(t->local);
	if (IS_ERR(local))
		return PTR_ERR(local);
	mutex_lock(&r->file->lock);
	if (t->length)
		err = rmc_tx_range_add(r->file, t, rmc_ranges_find(r->file, t->offset, t->length),
				       local);
	else
		err = rmc_tx_range_del(r->file);
	mutex_unlock(&r->file->lock);
	if (err && local)
		rmc_umem_put(local);
	return err;
}

/* What was withdrawn stays so. */
static void undo_tx_reg(const struct request *r, union args *a)
{
	if (!a->tx_reg.length)
		return;
	mutex_lock(&r->file->lock);
	rmc_tx_range_del(r->file);
	mutex_unlock(&r->file->lock);
}

static int do_tx_open(const struct request *r, union args *a)
{
	int err;

	if (a->tx_open.flags)
		return -EOPNOTSUPP;
	mutex_lock(&r->file->lock);
	err = rmc_engine_open(r->file, &a->tx_open);
	mutex_unlock(&r->file->lock);
	return err;
}

static void undo_tx_open(const struct request *r, union args *a)
{
	mutex_lock(&r->file->lock);
	rmc_engine_undo(r->file, a->tx_open.qp_id);
	mutex_unlock(&r->file->lock);
}

static int do_ctx_create(const struct request *r, union args *a)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (a->ctx_create.flags)
		return -EOPNOTSUPP;
	return rmc_context_create(r->rmc, &a->ctx_create);
}

static int do_ctx_remove(const struct request *r, union args *a)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (a->ctx_remove.flags || a->ctx_remove.reserved)
		return -EOPNOTSUPP;
	return rmc_context_remove(r->rmc, a->ctx_remove.ctx_id);
}

/* The last field of a struct's first version is the end of that version. */
#define ENTRY(_cmd, _member, _last, _answers, _writes, _fn, _undo)		\
	{									\
		.cmd = _cmd,							\
		.size = sizeof(((union args *)0)->_member),			\
		.min_size = offsetofend(typeof(((union args *)0)->_member), _last), \
		.answers = _answers,						\
		.writes = _writes,						\
		.fn = _fn,							\
		.undo = _undo,							\
	}

static const struct entry context_entries[] = {
	ENTRY(RMC_IOC_QUERY, query, features, true, false, do_query, NULL),
	ENTRY(RMC_IOC_NODE_INFO, node_info, local, true, false, do_node_info, NULL),
	ENTRY(RMC_IOC_WATCH, watch, reserved, true, false, do_watch, NULL),
	ENTRY(RMC_IOC_ATTACH, attach, reserved, false, true, do_attach, NULL),
	ENTRY(RMC_IOC_SEG_REG, seg_reg, mmap_offset, true, true, do_seg_reg, undo_seg_reg),
	ENTRY(RMC_IOC_SEG_UNREG, seg_unreg, flags, false, true, do_seg_unreg, NULL),
	ENTRY(RMC_IOC_BUF_REG, buf_reg, mmap_offset, true, true, do_buf_reg, undo_buf_reg),
	ENTRY(RMC_IOC_BUF_UNREG, buf_unreg, reserved, false, true, do_buf_unreg, NULL),
	ENTRY(RMC_IOC_QP_CREATE, qp_create, flags_offset, true, true, do_qp_create,
	      undo_qp_create),
	ENTRY(RMC_IOC_QP_DESTROY, qp_id, reserved, false, true, do_qp_destroy, NULL),
	ENTRY(RMC_IOC_WAKE, qp_id, reserved, false, true, do_wake, NULL),
	ENTRY(RMC_IOC_CQ_ARM, cq_arm, reserved, false, true, do_cq_arm, NULL),
	ENTRY(RMC_IOC_SEG_ARM, seg_arm, eventfd, true, true, do_seg_arm, NULL),
	ENTRY(RMC_IOC_SEG_ADD, seg_add, offset, false, true, do_seg_add, NULL),
	ENTRY(RMC_IOC_SEG_DEL, seg_del, offset, false, true, do_seg_del, NULL),
	ENTRY(RMC_IOC_DOM_QUERY, dom_query, max_members, true, false, do_dom_query, NULL),
	ENTRY(RMC_IOC_DOM_CREATE, dom_create, members, true, true, do_dom_create,
	      undo_dom_create),
	ENTRY(RMC_IOC_DOM_OPEN, dom_open, wake_us, true, true, do_dom_open, undo_dom_create),
	ENTRY(RMC_IOC_DOM_DESTROY, dom_destroy, flags, false, true, do_dom_destroy, NULL),
	ENTRY(RMC_IOC_DOM_ATTACH, dom_attach, reserved, true, true, do_dom_attach,
	      undo_dom_attach),
	ENTRY(RMC_IOC_DOM_DETACH, dom_detach, reserved, false, true, do_dom_detach, NULL),
	ENTRY(RMC_IOC_AQ_ARM, aq_arm, reserved, false, true, do_aq_arm, NULL),
	ENTRY(RMC_IOC_ROOM_ARM, room_arm, eventfd, false, true, do_room_arm, NULL),
	ENTRY(RMC_IOC_DOM_STATS, dom_stats, served_ns, true, false, do_dom_stats, NULL),
	ENTRY(RMC_IOC_TX_REG, tx_reg, locks_offset, true, true, do_tx_reg, undo_tx_reg),
	ENTRY(RMC_IOC_TX_OPEN, tx_open, slot_mask, true, true, do_tx_open, undo_tx_open),
};

static const struct entry control_entries[] = {
	ENTRY(RMC_IOC_QUERY, query, features, true, false, do_query, NULL),
	ENTRY(RMC_IOC_NODE_INFO, node_info, local, true, false, do_node_info, NULL),
	ENTRY(RMC_IOC_WATCH, watch, reserved, true, false, do_watch, NULL),
	ENTRY(RMC_IOC_CTX_CREATE, ctx_create, gid, false, false, do_ctx_create, NULL),
	ENTRY(RMC_IOC_CTX_REMOVE, ctx_remove, reserved, false, false, do_ctx_remove, NULL),
};

static void refuse_file(const struct opened *o)
{
	if (!o->file)
		return;
	put_unused_fd(o->fd);
	fput(o->file);
}

static long dispatch(const struct entry *table, size_t rows, struct request *r,
		     unsigned int cmd, void __user *arg)
{
	struct opened opened = {};
	const struct entry *e;
	union args a = {};
	u32 size;
	int err;

	for (e = table; e < table + rows; e++)
		if (e->cmd == cmd)
			break;
	if (e == table + rows)
		return -ENOTTY;

	if (e->writes && !r->writable)
		return -EBADF;
	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < e->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&a, e->size, arg, size);
	if (err)
		return err;
	r->opened = &opened;
	err = e->fn(r, &a);
	if (err || !e->answers)
		return err;
	/* the first field: the caller's value, not what another thread wrote since */
	memcpy(&a, &size, sizeof(size));
	if (copy_to_user(arg, &a, min(size, e->size))) {
		if (e->undo)
			e->undo(r, &a);
		refuse_file(&opened);
		return -EFAULT;
	}
	if (opened.file)
		fd_install(opened.fd, opened.file);
	return 0;
}

/**
 * rmc_context_ioctl() - ioctls of /dev/rmc_contexts/<ctx_id>
 * @file: open context
 * @cmd: RMC_IOC_*
 * @arg: user address of the struct
 *
 * Return: 0, or 1 of RMC_IOC_WAKE, or a negative errno, see uapi/linux/rmc.h.
 * Context: may sleep.
 */
long rmc_context_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rmc_file *f = file->private_data;
	struct request r = {
		.rmc = f->rmc,
		.file = f,
		.writable = file->f_mode & FMODE_WRITE,
	};

	return dispatch(context_entries, ARRAY_SIZE(context_entries), &r, cmd,
			(void __user *)arg);
}

/**
 * rmc_control_ioctl() - ioctls of /dev/rmc
 * @file: open control device
 * @cmd: RMC_IOC_*
 * @arg: user address of the struct
 *
 * Return: 0 or a negative errno, see uapi/linux/rmc.h.
 * Context: may sleep.
 */
long rmc_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	/* misc_open() stores the struct miscdevice here */
	struct request r = {
		.rmc = container_of(file->private_data, struct rmc_device, misc),
		.writable = file->f_mode & FMODE_WRITE,
	};

	return dispatch(control_entries, ARRAY_SIZE(control_entries), &r, cmd,
			(void __user *)arg);
}
