// SPDX-License-Identifier: GPL-2.0
/* Further ranges of a file's segment: see range.h. */
#include <linux/slab.h>
#include "../core/state.h"
#include "context.h"
#include "exposed.h"
#include "file.h"
#include "range.h"
#include "tx.h"

/* One more range of a segment. */
struct rmc_file_range {
	struct rmc_umem *umem;
	struct rmc_mem view;	/* @umem at its place in the segment */
	u64 start;
};

/**
 * struct rmc_file_ranges - ranges of a segment beside its first one
 * @count: number of ranges
 * @range: ranges
 * @table: table that all units use; replaced, never changed
 */
struct rmc_file_ranges {
	u32 count;
	struct rmc_file_range *range[RMC_MAX_RANGES];
	struct rmc_ranges *table;
};

/* Argument of the calls on workers. */
struct change {
	struct rmc_file *file;
	struct rmc_node *unit;
	const struct rmc_ranges *ranges;
	struct rmc_mem *gone;	/* removed range, not in @ranges */
};

static int set_ranges(void *arg)
{
	struct change *c = arg;

	c->unit->ct.more[c->file->ctx->id] = c->ranges;
	if (c->gone)
		rmc_state_withdraw(c->unit, c->gone);
	return 0;
}

/*
 * Installs a table of @f's current ranges on all units, then frees the old one: a unit does
 * not use it after the call. When out of memory, the units keep the old table.
 */
static int replace_ranges(struct rmc_file *f, struct rmc_mem *gone)
{
	struct change c = { .file = f, .gone = gone };
	struct rmc_file_ranges *fr = f->ranges;
	struct rmc_ranges *table = NULL;
	u32 i;

	if (fr->count) {
		table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
		if (!table)
			return -ENOMEM;
		table->count = fr->count;
		for (i = 0; i < fr->count; i++) {
			table->range[i].start = fr->range[i]->start;
			table->range[i].mem = &fr->range[i]->view;
		}
	}
	c.ranges = table;
	for (i = 0; i < rmc_fabric_units(f->node->fabric); i++) {
		c.unit = f->node->unit[i];
		rmc_worker_call(c.unit->srv_worker, set_ranges, &c);
	}
	kfree(fr->table);
	fr->table = table;
	return 0;
}

static bool overlaps(const struct rmc_file *f, u64 start, u64 length)
{
	const struct rmc_file_ranges *fr = f->ranges;
	u32 i;

	if (start < f->seg->mem.length)
		return true;
	for (i = 0; fr && i < fr->count; i++)
		if (start < fr->range[i]->view.length && fr->range[i]->start < start + length)
			return true;
	return false;
}

/**
 * rmc_ranges_add() - expose memory as a further range of the file's segment
 * @f: file, locked
 * @u: memory; on success the file takes the reference
 * @start: offset in the segment, bytes; with the memory's length at most RMC_MAX_SEGMENT
 *
 * Return: 0, -ENOENT no segment, -EEXIST overlaps, -ENOSPC too many, -EADDRINUSE another worker
 * serves some of the memory already, -ENOMEM, -EINTR being killed.
 * Context: may sleep.
 */
int rmc_ranges_add(struct rmc_file *f, struct rmc_umem *u, u64 start)
{
	struct rmc_file_ranges *fr;
	struct rmc_file_range *r;
	int err;

	lockdep_assert_held(&f->lock);
	if (!f->seg)
		return -ENOENT;
	if (overlaps(f, start, u->mem.length))
		return -EEXIST;
	if (!f->ranges)
		f->ranges = kzalloc(sizeof(*f->ranges), GFP_KERNEL_ACCOUNT);
	fr = f->ranges;
	if (!fr)
		return -ENOMEM;
	if (fr->count == RMC_MAX_RANGES)
		return -ENOSPC;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return -ENOMEM;
	r->umem = u;
	r->start = start;
	rmc_range_init(&r->view, &u->mem, start, &f->seg->mem);
	err = rmc_exposed_add(f->rmc, u, f->node, &f->seg->mem);
	if (err)
		goto err_exposed;
	fr->range[fr->count++] = r;
	err = replace_ranges(f, NULL);
	if (err)
		goto err_replace;
	rmc_expose(&r->view.exposure);
	return 0;

err_replace:
	fr->count--;
	rmc_exposed_del(f->rmc, u);
err_exposed:
	kfree(r);
	return err;
}

/**
 * rmc_ranges_del() - withdraw a further range of the segment
 * @f: file, locked
 * @start: offset of the range in the segment, any value
 *
 * Return: memory, which no remote operation touches any more; the caller gets the
 * reference. ERR_PTR: -ENOENT no such range, -ENOMEM. Context: may sleep.
 */
struct rmc_umem *rmc_ranges_del(struct rmc_file *f, u64 start)
{
	struct rmc_file_ranges *fr = f->ranges;
	struct rmc_umem *u;
	struct rmc_file_range *r;
	u32 i;
	int err;

	lockdep_assert_held(&f->lock);
	for (i = 0; fr && i < fr->count && fr->range[i]->start != start;)
		i++;
	if (!fr || i == fr->count)
		return ERR_PTR(-ENOENT);
	r = fr->range[i];
	fr->range[i] = fr->range[--fr->count];
	rmc_hide(&r->view.exposure);
	err = replace_ranges(f, &r->view);
	if (err) {
		rmc_expose(&r->view.exposure);
		fr->range[fr->count++] = r;
		return ERR_PTR(err);
	}
	u = r->umem;
	rmc_tx_range_withdrawn(f, &r->view);
	rmc_exposed_del(f->rmc, u);
	kfree(r);
	return u;
}

/**
 * rmc_ranges_find() - find the further range that has all of some bytes
 * @f: file, locked
 * @start: first byte in the segment
 * @length: bytes
 *
 * Return: memory of the range, or NULL. Context: any.
 */
struct rmc_mem *rmc_ranges_find(const struct rmc_file *f, u64 start, u64 length)
{
	const struct rmc_file_ranges *fr = f->ranges;
	u32 i;

	lockdep_assert_held(&f->lock);
	for (i = 0; fr && i < fr->count; i++)
		if (start >= fr->range[i]->start &&
		    rmc_mem_covers(&fr->range[i]->view, start, length))
			return &fr->range[i]->view;
	return NULL;
}

/**
 * rmc_ranges_clear() - withdraw all further ranges, before their segment is removed
 * @f: file, locked
 *
 * Allocates no memory, so it cannot fail. Context: may sleep.
 */
void rmc_ranges_clear(struct rmc_file *f)
{
	struct rmc_file_ranges *fr = f->ranges;
	u32 i, count;

	lockdep_assert_held(&f->lock);
	if (!fr)
		return;
	for (i = 0; i < fr->count; i++)
		rmc_hide(&fr->range[i]->view.exposure);
	count = fr->count;
	fr->count = 0;
	for (i = 0; i < count; i++)
		replace_ranges(f, &fr->range[i]->view);
	for (i = 0; i < count; i++) {
		rmc_tx_range_withdrawn(f, &fr->range[i]->view);
		rmc_exposed_del(f->rmc, fr->range[i]->umem);
		rmc_umem_put(fr->range[i]->umem);
		kfree(fr->range[i]);
	}
	kfree(fr);
	f->ranges = NULL;
}
