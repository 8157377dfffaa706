// SPDX-License-Identifier: GPL-2.0
/* Segments, local buffers and queue pairs of an open context. */
#include <sys/mman.h>
#include "driver.h"

/* ---- mapped memory ---- */

static void *map_make(struct sim_file *f, size_t bytes, u32 owner, __u64 *offset)
{
	struct sim_map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->len = PAGE_ALIGN(bytes);
	m->addr = mmap(NULL, m->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->addr == MAP_FAILED) {
		free(m);
		return NULL;
	}
	f->map_offset += PAGE_SIZE;
	m->offset = f->map_offset;
	m->owner = owner;
	m->next = f->maps;
	f->maps = m;
	*offset = m->offset;
	return m->addr;
}

/* The thread unmaps its memory, unless its node crashed. */
static void map_drop(struct sim_file *f, u32 owner, bool unmap)
{
	struct sim_map **link = &f->maps, *m;

	while ((m = *link)) {
		if (owner && m->owner != owner) {
			link = &m->next;
			continue;
		}
		*link = m->next;
		if (unmap)
			munmap(m->addr, m->len);
		free(m);
	}
}

static struct rmc_mem *mem_make(u64 addr, u64 length, u32 flags)
{
	struct rmc_mem *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->chunk = calloc(1, sizeof(void *));
	if (!m->chunk) {
		free(m);
		return NULL;
	}
	m->base = addr;
	m->length = length;
	m->flags = flags & RMC_MEM_READONLY;
	/* one chunk */
	rmc_mem_chunks(m, 63);
	m->chunk[0] = (void *)(uintptr_t)addr;
	return m;
}

static void mem_free(struct rmc_mem *m)
{
	free(m->chunk);
	free(m);
}

/* ---- segments ---- */

/**
 * sim_file_seg_reg() - RMC_IOC_SEG_REG
 * @f: file
 * @arg: argument
 *
 * Return: 0 or -errno.
 */
long sim_file_seg_reg(struct sim_file *f, struct rmc_seg_reg *arg)
{
	struct rmc_ct *ct = &f->node->rmc->ct;
	struct rmc_mem *m;

	if (!arg->length || arg->length > RMC_MAX_SEGMENT || arg->addr % RMC_LINE ||
	    (arg->flags & RMC_MEM_OBJECTS && arg->version_offset % 8))
		return -EINVAL;
	if (ct->seg[f->ctx_id])
		return -EEXIST;
	if (arg->flags & RMC_MEM_ALLOC) {
		arg->addr = (uintptr_t)map_make(f, arg->length, SIM_MAP_SEG, &arg->mmap_offset);
		if (!arg->addr)
			return -ENOMEM;
	}
	m = mem_make(arg->addr, arg->length, arg->flags);
	if (!m)
		return -ENOMEM;
	if (arg->flags & RMC_MEM_OBJECTS) {
		m->sabre = arg->sabre_mode ?: RMC_SABRE_OVERLAPPED;
		m->version_off = arg->version_offset;
		m->readers_off = arg->readers_offset;
	}
	if (sim_lines_segment(f->node, m->chunk[0], arg->length)) {
		mem_free(m);
		return -ENOMEM;
	}
	m->notified.owner = &f->seg_alarm;
	m->notified.armed = true;
	f->seg = m;
	ct->seg[f->ctx_id] = m;
	rmc_expose(&m->exposure);
	return 0;
}

/**
 * sim_file_seg_unreg() - RMC_IOC_SEG_UNREG
 * @f: file
 *
 * Return: 0 or -ENOENT.
 */
long sim_file_seg_unreg(struct sim_file *f)
{
	if (!f->seg)
		return -ENOENT;
	sim_file_tx_withdraw(f);
	rmc_hide(&f->seg->exposure);
	f->node->rmc->ct.seg[f->ctx_id] = NULL;
	rmc_state_withdraw(f->node->rmc, f->seg);
	if (f->seg_alarm.eventfd >= 0)
		sim_eventfd_signal(f->seg_alarm.eventfd, sim_local_now());
	f->seg_alarm.eventfd = -1;
	sim_lines_withdraw(f->node, f->seg->chunk[0]);
	mem_free(f->seg);
	f->seg = NULL;
	map_drop(f, SIM_MAP_SEG, false);
	return 0;
}

/* ---- local buffers ---- */

/**
 * sim_file_buf_reg() - RMC_IOC_BUF_REG
 * @f: file
 * @arg: argument
 *
 * Return: 0 or -errno.
 */
long sim_file_buf_reg(struct sim_file *f, struct rmc_buf_reg *arg)
{
	struct rmc_mem *m;
	u32 id;
	int err;

	if (!arg->length || arg->length > RMC_MAX_SEGMENT)
		return -EINVAL;
	for (id = 0; id < RMC_MAX_BUFFERS && f->buf[id]; id++)
		;
	if (id == RMC_MAX_BUFFERS)
		return -ENOSPC;
	if (arg->flags & RMC_MEM_ALLOC) {
		arg->addr = (uintptr_t)map_make(f, arg->length, SIM_MAP_BUF + id,
						&arg->mmap_offset);
		if (!arg->addr)
			return -ENOMEM;
	}
	m = mem_make(arg->addr, arg->length, 0);
	if (!m)
		return -ENOMEM;
	err = rmc_bufs_add(&f->bufs, m);
	if (err) {
		mem_free(m);
		return err;
	}
	f->buf[id] = m;
	arg->buf_id = id;
	return 0;
}

/**
 * sim_file_buf_unreg() - RMC_IOC_BUF_UNREG
 * @f: file
 * @id: of the buffer, any value
 *
 * Return: 0 or -ENOENT.
 */
long sim_file_buf_unreg(struct sim_file *f, u32 id)
{
	struct rmc_abort which = { .nid = -1, .status = RMC_S_ABORTED };

	if (id >= RMC_MAX_BUFFERS || !f->buf[id])
		return -ENOENT;
	which.lbuf = f->buf[id];
	rmc_bufs_del(&f->bufs, f->buf[id]);
	rmc_itt_abort(f->node->rmc, &which);
	mem_free(f->buf[id]);
	f->buf[id] = NULL;
	map_drop(f, SIM_MAP_BUF + id, false);
	return 0;
}

/* ---- queue pairs ---- */

/**
 * sim_file_qp() - queue pair by its id
 * @f: file
 * @id: any value
 *
 * Return: queue pair or NULL.
 */
struct sim_qp *sim_file_qp(struct sim_file *f, u32 id)
{
	return id < SIM_FILE_QPS ? f->qp[id] : NULL;
}

/**
 * sim_file_qp_create() - RMC_IOC_QP_CREATE
 * @f: file
 * @arg: argument
 *
 * Return: 0 or -errno.
 */
long sim_file_qp_create(struct sim_file *f, struct rmc_qp_create *arg)
{
	u32 n = arg->entries, id;
	struct sim_qp *q;
	int err;

	if (arg->flags & ~RMC_QP_ORDERED)
		return -EOPNOTSUPP;
	if (n < RMC_MIN_ENTRIES || n > RMC_MAX_ENTRIES || n & (n - 1))
		return -EINVAL;
	for (id = 0; id < SIM_FILE_QPS && f->qp[id]; id++)
		;
	if (id == SIM_FILE_QPS)
		return -ENOSPC;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->qp.wq = map_make(f, n * sizeof(*q->qp.wq), SIM_MAP_QP + id, &arg->wq_offset);
	q->qp.cq = map_make(f, n * sizeof(*q->qp.cq), SIM_MAP_QP + id, &arg->cq_offset);
	q->qp.flags = map_make(f, sizeof(*q->qp.flags), SIM_MAP_QP + id, &arg->flags_offset);
	err = -ENOMEM;
	if (!q->qp.wq || !q->qp.cq || !q->qp.flags)
		goto err;
	q->qp.bufs = &f->bufs;
	q->qp.node = f->node->rmc;
	q->qp.mask = n - 1;
	q->qp.order = ilog2(n);
	q->qp.ctx_id = f->ctx_id;
	q->qp.flags->need_wakeup = 1;
	q->qp.flags->shared_cpu = 1;
	q->qp.flags->worker_cpu = ~0U;
	q->qp.done.owner = &q->alarm;
	q->qp.done.armed = true;
	q->alarm.qp = q;
	q->alarm.eventfd = -1;
	q->id = id;
	q->node = f->node;
	q->thread = sim.self;
	err = arg->flags & RMC_QP_ORDERED ? rmc_order_init(&q->qp, false) : 0;
	if (err)
		goto err;
	err = rmc_ni_add_qp(rmc_qp_worker(&q->qp), &q->qp);
	if (err)
		goto err;
	f->qp[id] = q;
	arg->qp_id = id;
	return 0;
err:
	rmc_order_destroy(&q->qp);
	map_drop(f, SIM_MAP_QP + id, true);
	free(q);
	return err;
}

static void qp_free(struct sim_file *f, u32 id)
{
	struct sim_qp *q = f->qp[id];

	q->qp.flags->dead = 1;
	rmc_ni_del_qp(rmc_qp_worker(&q->qp), &q->qp);
	if (q->alarm.eventfd >= 0)
		sim_eventfd_signal(q->alarm.eventfd, sim_local_now());
	f->qp[id] = NULL;
	rmc_order_destroy(&q->qp);
	free(q);
}

/**
 * sim_file_qp_destroy() - RMC_IOC_QP_DESTROY
 * @f: file
 * @id: of the queue pair, any value
 *
 * Return: 0 or -ENOENT.
 */
long sim_file_qp_destroy(struct sim_file *f, u32 id)
{
	if (!sim_file_qp(f, id))
		return -ENOENT;
	qp_free(f, id);
	map_drop(f, SIM_MAP_QP + id, false);
	return 0;
}

/* A crashed kernel sends no notifications: no reply, no wake-up. */
static void forget(struct sim_file *f)
{
	u32 id;

	for (id = 0; id < SIM_FILE_QPS; id++)
		free(f->qp[id]);
	for (id = 0; id < RMC_MAX_BUFFERS; id++)
		if (f->buf[id])
			mem_free(f->buf[id]);
	if (f->tx)
		rmc_tx_home_destroy(f->tx);
	if (f->seg) {
		sim_lines_withdraw(f->node, f->seg->chunk[0]);
		mem_free(f->seg);
	}
	map_drop(f, 0, true);
}

/**
 * sim_file_release() - release all resources of a file
 * @f: file
 * @crashed: its kernel crashed: unmap its memory, too
 */
void sim_file_release(struct sim_file *f, bool crashed)
{
	u32 id;

	if (crashed) {
		forget(f);
		return;
	}
	for (id = 0; id < SIM_FILE_QPS; id++)
		if (f->qp[id])
			qp_free(f, id);
	for (id = 0; id < RMC_MAX_BUFFERS; id++)
		if (f->buf[id])
			sim_file_buf_unreg(f, id);
	sim_file_seg_unreg(f);
	map_drop(f, 0, false);
}

/**
 * sim_event_happened() - a completion or notification of the core
 * @e: event
 */
void sim_event_happened(struct rmc_event *e)
{
	struct sim_alarm *a = e->owner;
	struct sim_qp *q = a->qp;

	/* always */
	e->armed = true;
	if (q) {
		sim.stats.completions++;
		sim_note("done", q->node->nid, q->id,
			 q->qp.cq[(e->count - 1) & q->qp.mask].word);
		if (q->thread)
			sim_notify_done(q->thread);
	}
	if (a->eventfd >= 0) {
		sim_notify_eventfd(a->eventfd);
		a->eventfd = -1;
	}
}
