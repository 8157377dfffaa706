// SPDX-License-Identifier: GPL-2.0
/*
 * Resources of an open context. Calls on the workers install them in the pipelines, so the
 * data path needs no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "closing.h"
#include "domain.h"
#include "kmod/core/state.h"
#include "kmod/core/timeout.h"
#include "tx.h"
#include "watch.h"

/* Reports that say nothing new are not kept: one makes the socket readable. */
#define UNREAD_REPORTS	4

/* Argument of the calls on workers. */
struct change {
	struct rmcd_file *file;
	struct rmc_mem *mem;
	struct rmc_node *unit;
	u32 number;			/* of the unit */
	const struct rmc_ranges *ranges;
	struct rmc_mem *gone;		/* removed range, not in @ranges */
};

static u32 units(const struct rmcd_file *f)
{
	return rmc_fabric_units(&f->d->port->fabric);
}

static int set_segment(void *arg)
{
	struct change *c = arg;
	struct rmc_mem **seg = &c->unit->ct.seg[c->file->ctx->id];

	if (*seg)
		return -EEXIST;
	*seg = c->mem;
	return 0;
}

static int clear_segment(void *arg)
{
	struct change *c = arg;

	c->unit->ct.seg[c->file->ctx->id] = NULL;
	rmc_state_withdraw(c->unit, c->mem);
	/* unit 0 handles the notifications */
	if (c->unit == c->file->node)
		rmcd_waiter_detach(&c->file->seg_waiter);
	return 0;
}

static int set_ranges(void *arg)
{
	struct change *c = arg;

	c->unit->ct.more[c->file->ctx->id] = c->ranges;
	if (c->gone)
		rmc_state_withdraw(c->unit, c->gone);
	return 0;
}

static int add_buffer(void *arg)
{
	struct change *c = arg;

	return rmc_bufs_add(&c->file->table[c->number], c->mem);
}

static int del_buffer(void *arg)
{
	struct change *c = arg;
	struct rmc_abort which = { .lbuf = c->mem, .nid = -1, .status = RMC_S_ABORTED };

	rmc_bufs_del(&c->file->table[c->number], c->mem);
	rmc_itt_abort(c->unit, &which);
	return 0;
}

static struct rmc_ni_worker *worker_of(const struct rmc_node *unit, enum rmc_lane lane)
{
	return lane == RMC_LANE_REQ ? unit->srv_worker : unit->req_worker;
}

/*
 * Each unit has all segments and buffers; its own worker changes them. Unit 0 is installed
 * first and removed last: what it accepts, the others accept.
 */
static int install(struct rmcd_file *f, struct rmc_mem *mem, enum rmc_lane lane,
		   int (*fn)(void *arg))
{
	struct change c = { .file = f, .mem = mem };
	int err;

	for (; c.number < units(f); c.number++) {
		c.unit = f->node->unit[c.number];
		err = rmcd_call(worker_of(c.unit, lane), fn, &c);
		if (err)
			return err;
	}
	return 0;
}

static void uninstall(struct rmcd_file *f, struct rmc_mem *mem, enum rmc_lane lane,
		      int (*fn)(void *arg))
{
	struct change c = { .file = f, .mem = mem, .number = units(f) };

	while (c.number--) {
		c.unit = f->node->unit[c.number];
		rmcd_call(worker_of(c.unit, lane), fn, &c);
	}
}

static u32 mapped_mib(u64 length)
{
	return (u32)(length >> 20) + 1;
}

/**
 * rmcd_file_may_map() - is there room for more memory in the quotas?
 * @f: file
 * @length: bytes
 *
 * Only asks; a registration is charged when its memory is the file's.
 *
 * Return: 0, -EDQUOT.
 */
int rmcd_file_may_map(struct rmcd_file *f, u64 length)
{
	int err = rmcd_charge(f, RMCD_RES_mapped_mib, mapped_mib(length));

	if (!err)
		rmcd_uncharge(f, RMCD_RES_mapped_mib, mapped_mib(length));
	return err;
}

/**
 * rmcd_charge_memory() - charge what a registration takes here: addresses, and mappings as buffers
 * @f: file
 * @m: its memory
 *
 * Return: 0, -EDQUOT exceeds a quota.
 */
int rmcd_charge_memory(struct rmcd_file *f, const struct rmcd_mem *m)
{
	int err = rmcd_charge(f, RMCD_RES_mapped_mib, mapped_mib(m->length));

	if (err)
		return err;
	err = rmcd_charge(f, RMCD_RES_buffers, max(m->maps, 1U));
	if (err)
		rmcd_uncharge(f, RMCD_RES_mapped_mib, mapped_mib(m->length));
	return err;
}

/**
 * rmcd_uncharge_memory() - mirror of rmcd_charge_memory()
 * @f: file
 * @m: its memory
 */
void rmcd_uncharge_memory(struct rmcd_file *f, const struct rmcd_mem *m)
{
	rmcd_uncharge(f, RMCD_RES_buffers, max(m->maps, 1U));
	rmcd_uncharge(f, RMCD_RES_mapped_mib, mapped_mib(m->length));
}

/* ---- ranges ---- */

/*
 * Installs a table of the current ranges on all units, then frees the old one: a unit does
 * not use it after the call. When out of memory, the units keep the old table.
 */
static int replace_ranges(struct rmcd_file *f, struct rmc_mem *gone)
{
	struct change c = { .file = f, .gone = gone };
	struct rmc_ranges *table = NULL;
	u32 i;

	if (f->ranges) {
		table = calloc(1, sizeof(*table));
		if (!table)
			return -ENOMEM;
		table->count = f->ranges;
		for (i = 0; i < f->ranges; i++) {
			table->range[i].start = f->range[i]->start;
			table->range[i].mem = &f->range[i]->view;
		}
	}
	c.ranges = table;
	for (i = 0; i < units(f); i++) {
		c.unit = f->node->unit[i];
		rmcd_call(c.unit->srv_worker, set_ranges, &c);
	}
	free(f->range_table);
	f->range_table = table;
	return 0;
}

static bool overlaps(const struct rmcd_file *f, u64 start, u64 length)
{
	u32 i;

	if (start < f->seg->length)
		return true;
	for (i = 0; i < f->ranges; i++)
		if (start < f->range[i]->view.length && f->range[i]->start < start + length)
			return true;
	return false;
}

/**
 * rmcd_range_add() - RMC_IOC_SEG_ADD
 * @f: file
 * @m: memory; on success the file's
 * @start: offset in the segment; with the memory's length at most RMC_MAX_SEGMENT
 *
 * Return: 0, -ENOENT no segment, -EEXIST overlaps, -ENOSPC too many, -EADDRINUSE another
 * worker serves some of the memory already, -ENOMEM.
 */
int rmcd_range_add(struct rmcd_file *f, struct rmcd_mem *m, u64 start)
{
	struct rmcd_range *r;
	int err;

	if (!f->seg)
		return -ENOENT;
	if (overlaps(f, start, m->length))
		return -EEXIST;
	if (f->ranges == RMC_MAX_RANGES)
		return -ENOSPC;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->memory = m;
	r->start = start;
	rmc_range_init(&r->view, &m->mem, start, &f->seg->mem);
	m->view = &r->view;
	err = rmcd_charge_memory(f, m);
	if (err)
		goto err_charge;
	err = rmcd_mem_expose(f->d, m, f->node);
	if (err)
		goto err_expose;
	f->range[f->ranges++] = r;
	err = replace_ranges(f, NULL);
	if (err)
		goto err_replace;
	rmc_expose(&r->view.exposure);
	return 0;

err_replace:
	f->ranges--;
	rmcd_mem_hide(f->d, m);
err_expose:
	rmcd_uncharge_memory(f, m);
err_charge:
	free(r);
	return err;
}

static void range_free(struct rmcd_file *f, struct rmcd_range *r)
{
	rmcd_tx_range_withdrawn(f, &r->view);
	rmcd_mem_hide(f->d, r->memory);
	rmcd_uncharge_memory(f, r->memory);
	rmcd_mem_destroy(r->memory);
	free(r);
}

/**
 * rmcd_range_del() - RMC_IOC_SEG_DEL
 * @f: file
 * @start: offset of the range in the segment, any value
 *
 * Return: 0, -ENOENT, -ENOMEM.
 */
int rmcd_range_del(struct rmcd_file *f, u64 start)
{
	struct rmcd_range *r;
	u32 i;
	int err;

	for (i = 0; i < f->ranges && f->range[i]->start != start;)
		i++;
	if (i == f->ranges)
		return -ENOENT;
	r = f->range[i];
	f->range[i] = f->range[--f->ranges];
	rmc_hide(&r->view.exposure);
	err = replace_ranges(f, &r->view);
	if (err) {
		rmc_expose(&r->view.exposure);
		f->range[f->ranges++] = r;
		return err;
	}
	range_free(f, r);
	return 0;
}

/* All further ranges, before their segment is removed. Allocates no memory. */
static void clear_ranges(struct rmcd_file *f)
{
	u32 count = f->ranges, i;

	for (i = 0; i < count; i++)
		rmc_hide(&f->range[i]->view.exposure);
	f->ranges = 0;
	for (i = 0; i < count; i++)
		replace_ranges(f, &f->range[i]->view);
	for (i = 0; i < count; i++)
		range_free(f, f->range[i]);
}

/* ---- segments ---- */

/**
 * rmcd_seg_add() - RMC_IOC_SEG_REG
 * @f: file, attached
 * @m: memory; on success the file's
 *
 * Return: 0, -EEXIST the node has a segment under this context, -EADDRINUSE another worker
 * serves some of the memory already, -EDQUOT exceeds a quota.
 */
int rmcd_seg_add(struct rmcd_file *f, struct rmcd_mem *m)
{
	int err;

	if (f->seg)
		return -EEXIST;
	err = rmcd_charge_memory(f, m);
	if (err)
		return err;
	err = rmcd_mem_expose(f->d, m, f->node);
	if (err)
		goto err_expose;
	rmcd_waiter_init(&f->seg_waiter, &m->mem.notified, f, f->node->srv_worker);
	err = install(f, &m->mem, RMC_LANE_REQ, set_segment);
	if (err)
		goto err_install;
	rmc_expose(&m->mem.exposure);
	f->seg = m;
	return 0;

err_install:
	rmcd_mem_hide(f->d, m);
err_expose:
	rmcd_uncharge_memory(f, m);
	return err;
}

/**
 * rmcd_seg_del() - RMC_IOC_SEG_UNREG
 * @f: file
 *
 * Return: 0: no remote operation touches the memory any more; -ENOENT.
 */
int rmcd_seg_del(struct rmcd_file *f)
{
	struct rmcd_mem *m = f->seg;

	if (!m)
		return -ENOENT;
	clear_ranges(f);
	rmc_hide(&m->mem.exposure);
	uninstall(f, &m->mem, RMC_LANE_REQ, clear_segment);
	rmcd_tx_range_withdrawn(f, &m->mem);
	rmcd_mem_hide(f->d, m);
	rmcd_uncharge_memory(f, m);
	rmcd_waiter_release(&f->seg_waiter);
	f->seg = NULL;
	rmcd_mem_destroy(m);
	return 0;
}

/* ---- local buffers ---- */

/**
 * rmcd_buf_add() - RMC_IOC_BUF_REG
 * @f: file, attached
 * @m: memory; on success the file's
 * @id: out
 *
 * Return: 0, -EEXIST overlaps another, -ENOSPC too many, -EDQUOT exceeds a quota.
 */
int rmcd_buf_add(struct rmcd_file *f, struct rmcd_mem *m, u32 *id)
{
	u32 i;
	int err;

	for (i = 0; i < RMC_MAX_BUFFERS && f->buf[i]; i++)
		;
	if (i == RMC_MAX_BUFFERS)
		return -ENOSPC;
	err = rmcd_charge_memory(f, m);
	if (err)
		return err;
	err = install(f, &m->mem, RMC_LANE_REP, add_buffer);
	if (err) {
		rmcd_uncharge_memory(f, m);
		return err;
	}
	f->buf[i] = m;
	*id = i;
	return 0;
}

/**
 * rmcd_buf_del() - RMC_IOC_BUF_UNREG
 * @f: file
 * @id: any value
 *
 * Operations in flight to it complete with RMC_S_ABORTED.
 *
 * Return: 0, -ENOENT.
 */
int rmcd_buf_del(struct rmcd_file *f, u32 id)
{
	if (id >= RMC_MAX_BUFFERS || !f->buf[id])
		return -ENOENT;
	uninstall(f, &f->buf[id]->mem, RMC_LANE_REP, del_buffer);
	rmcd_uncharge_memory(f, f->buf[id]);
	rmcd_mem_destroy(f->buf[id]);
	f->buf[id] = NULL;
	return 0;
}

/* ---- file ---- */

/**
 * rmcd_file_attach() - RMC_IOC_ATTACH
 * @f: file
 * @nid: any value
 *
 * Return: 0, -ENXIO not local, -EBUSY attached to another node.
 */
int rmcd_file_attach(struct rmcd_file *f, u32 nid)
{
	struct rmc_node *node = rmcd_node(f->d, nid);

	if (!node)
		return -ENXIO;
	if (f->node && f->node != node)
		return -EBUSY;
	f->node = node;
	return 0;
}

/**
 * rmcd_file_node() - node of a file; attaches the lowest local one if none was chosen
 * @f: file
 *
 * Return: node.
 */
struct rmc_node *rmcd_file_node(struct rmcd_file *f)
{
	if (!f->node)
		f->node = f->d->node[0];
	return f->node;
}

/**
 * rmcd_file_foreign() - descriptor of the client's memory
 * @f: file
 *
 * Its private memory is read and written by a worker. A client can make that wait as long as
 * it likes, with userfaultfd(2) for example. So only clients of the user who runs the daemon
 * may have such memory: it is their daemon. The descriptor is bound to the address space,
 * not to the process id, which may be used again. It is opened with the context: yama lets a
 * process permit that to one other at a time, and the next daemon will be the one.
 *
 * Return: descriptor, which stays the file's; -1: not possible.
 */
int rmcd_file_foreign(struct rmcd_file *f)
{
	char path[64];

	if (f->foreign < 0 && f->peer.uid == geteuid()) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)f->peer.pid);
		f->foreign = open(path, O_RDWR | O_CLOEXEC);
	}
	return f->foreign;
}

/**
 * rmcd_file_open() - open a context
 * @d: daemon
 * @peer: who opens it
 * @user: its user; the caller keeps the reference while the file exists
 * @ctx_id: context, any value
 *
 * Return: file, or ERR_PTR: -ENOENT, -EACCES, -EDQUOT, -ENOMEM, -EMFILE.
 */
struct rmcd_file *rmcd_file_open(struct rmcd *d, const struct rmcd_peer *peer,
				 struct rmcd_user *user, u32 ctx_id)
{
	struct rmcd_context *ctx = ctx_id < RMC_MAX_CONTEXTS ? d->ctx[ctx_id] : NULL;
	struct rmcd_file *f;
	int err = -ENOMEM;
	u32 i;

	if (!ctx)
		return ERR_PTR(-ENOENT);
	if (!rmcd_context_allows(ctx, peer, 4))
		return ERR_PTR(-EACCES);
	f = calloc(1, sizeof(*f));
	if (!f)
		return ERR_PTR(-ENOMEM);
	f->d = d;
	f->ctx = ctx;
	f->user = user;
	f->peer = *peer;
	f->writable = rmcd_context_allows(ctx, peer, 6);
	f->foreign = -1;
	err = rmcd_charge(f, RMCD_RES_files, 1);
	if (err)
		goto err_charge;
	err = -ENOMEM;
	f->table = calloc(units(f), sizeof(*f->table));
	f->wake = malloc(d->workers * sizeof(*f->wake));
	if (!f->table || !f->wake)
		goto err_alloc;
	for (i = 0; i < d->workers; i++)
		f->wake[i] = -1;
	f->reader = rmcd_report_open(&f->report, 1, UNREAD_REPORTS, true);
	if (f->reader < 0) {
		err = f->reader;
		goto err_alloc;
	}
	ctx->opens++;
	/* an older library permits it later */
	rmcd_file_foreign(f);
	return f;

err_alloc:
	free(f->wake);
	free(f->table);
	rmcd_uncharge(f, RMCD_RES_files, 1);
err_charge:
	free(f);
	return ERR_PTR(err);
}

/**
 * rmcd_file_release_all() - release queue pairs, domain, buffers and segment
 * @f: file
 */
void rmcd_file_release_all(struct rmcd_file *f)
{
	u32 i;

	for (i = 0; i < RMC_MAX_QPS; i++)
		rmcd_qp_destroy(f, i);
	rmcd_domain_destroy(f);
	for (i = 0; i < RMC_MAX_BUFFERS; i++)
		rmcd_buf_del(f, i);
	rmcd_seg_del(f);
}

/**
 * rmcd_file_close() - mirror of rmcd_file_open(); releases all resources
 * @f: file
 */
void rmcd_file_close(struct rmcd_file *f)
{
	u32 wakes = 0, i;

	rmcd_file_release_all(f);
	rmcd_watcher_detach(f);
	for (i = 0; i < f->d->workers; i++) {
		if (f->wake[i] < 0)
			continue;
		rmcd_worker_unwatch(&f->d->worker[i], f->wake[i]);
		f->wake[wakes++] = f->wake[i];
	}
	/* the client has had them */
	rmcd_close_elsewhere(f->peer.uid, RMCD_JOB_CLOSE, f->wake, wakes);
	if (f->foreign >= 0)
		close(f->foreign);
	close(f->report.fd);
	free(f->wake);
	free(f->table);
	f->ctx->opens--;
	rmcd_uncharge(f, RMCD_RES_files, 1);
	free(f);
}
