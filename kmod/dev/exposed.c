// SPDX-License-Identifier: GPL-2.0
/* Lines that segments expose: see exposed.h. */
#include <linux/interval_tree_generic.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "exposed.h"

#define PAGE_LINES	(PAGE_SIZE / RMC_LINE)
/* Searches of a tree under one hold of the lock */
#define SEARCHES_PER_HOLD	4096

/**
 * struct rmc_extent - consecutive lines of physical memory that a segment exposes
 * @rb: in a tree of struct rmc_exposed
 * @first: number of the first line
 * @last: number of the last line
 * @subtree_last: largest @last below this one
 */
struct rmc_extent {
	struct rb_node rb;
	unsigned long first;
	unsigned long last;
	unsigned long subtree_last;
};

#define START(e)	((e)->first)
#define LAST(e)		((e)->last)
INTERVAL_TREE_DEFINE(struct rmc_extent, rb, unsigned long, subtree_last, START, LAST,
		     static __maybe_unused, extents)

/**
 * struct rmc_exposed - extents by the worker that serves them
 * @lock: guards @tree
 * @hold: extents that are entered or removed under one hold of @lock
 * @servers: number of trees: one for each worker, and the first one for segments whose lines
 *	several workers serve
 * @tree: of each server: extents that peers may write, and those that they may only read
 */
struct rmc_exposed {
	struct mutex lock;	/* see above */
	u32 hold;
	u32 servers;
	struct {
		struct rb_root_cached writable;
		struct rb_root_cached readonly;
	} tree[];
};

/* Does one worker serve all segments of this kernel? */
static bool one_server(const struct rmc_device *rmc)
{
	const struct rmc_fabric *f = &rmc->port->fabric;
	const struct rmc_ni_worker *first = rmc->node[0]->head->srv_worker;
	u32 i, u;

	for (i = 0; i < rmc->port->locals; i++)
		for (u = 0; u < rmc_fabric_rrpps(f); u++)
			if (rmc->node[i]->unit[u]->srv_worker != first)
				return false;
	return true;
}

/**
 * rmc_exposed_create() - begin to keep account
 * @rmc: device whose workers are there; no segment is
 *
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int rmc_exposed_create(struct rmc_device *rmc)
{
	u32 i, servers = rmc->workers + 1;
	struct rmc_exposed *ex;

	if (one_server(rmc))
		return 0;
	ex = kvzalloc(struct_size(ex, tree, servers), GFP_KERNEL);
	if (!ex)
		return -ENOMEM;
	mutex_init(&ex->lock);
	ex->servers = servers;
	ex->hold = max(SEARCHES_PER_HOLD / (2 * servers), 16U);
	for (i = 0; i < servers; i++) {
		ex->tree[i].writable = RB_ROOT_CACHED;
		ex->tree[i].readonly = RB_ROOT_CACHED;
	}
	rmc->exposed = ex;
	return 0;
}

/**
 * rmc_exposed_destroy() - mirror of rmc_exposed_create()
 * @rmc: device without segments
 */
void rmc_exposed_destroy(struct rmc_device *rmc)
{
	kvfree(rmc->exposed);
	rmc->exposed = NULL;
}

/* The tree of the worker that serves all lines of a segment; 0: several workers serve them. */
static u32 server_of(const struct rmc_device *rmc, const struct rmc_node *node)
{
	if (rmc_fabric_rrpps(node->fabric) > 1)
		return 0;
	return rmc_worker_of(node->head->srv_worker) - rmc->worker + 1;
}

/* SABRes under RMC_SABRE_LOCKED write a count of readers. */
static bool is_readonly(const struct rmc_umem *u, const struct rmc_mem *primary)
{
	return u->mem.flags & RMC_MEM_READONLY && primary->sabre != RMC_SABRE_LOCKED;
}

/* Stores the extents in @e, unless it is NULL. Return: their number, the same for both. */
static u64 find_extents(const struct rmc_umem *u, struct rmc_extent *e)
{
	u64 skip = u->mem.head & ~PAGE_MASK, i, n = 0;
	unsigned long first, last, next = 0;

	for (i = 0; i < u->npages; i++, next = last + 1) {
		first = rmc_umem_pfn(u, i) * PAGE_LINES;
		last = first + PAGE_LINES - 1;
		if (i + 1 == u->npages)
			last = first + ((skip + u->length - 1) & ~PAGE_MASK) / RMC_LINE;
		if (!i)
			first += skip / RMC_LINE;
		if (!(i % 4096))
			cond_resched();
		if (i && first == next) {
			if (e)
				e[n - 1].last = last;
			continue;
		}
		if (e) {
			e[n].first = first;
			e[n].last = last;
		}
		n++;
	}
	return n;
}

/* kvcalloc() has a limit of INT_MAX bytes, 170 GiB of scattered pages */
static struct rmc_extent *alloc_extents(u64 n)
{
	size_t bytes = array_size(n, sizeof(struct rmc_extent));

	if (bytes <= INT_MAX)
		return kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
	return bytes == SIZE_MAX ? NULL : __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

/*
 * Does another worker serve one of these lines, or this segment at another place? One search per
 * tree: how often the same worker exposes them does not count.
 */
static bool other_server(struct rmc_exposed *ex, u32 server, const struct rmc_extent *e,
			 bool readonly)
{
	u32 i;

	for (i = 0; i < ex->servers; i++) {
		if (i == server && i)
			continue;
		if (extents_iter_first(&ex->tree[i].writable, e->first, e->last))
			return true;
		if (!readonly && extents_iter_first(&ex->tree[i].readonly, e->first, e->last))
			return true;
	}
	return false;
}

static void remove_extents(struct rmc_exposed *ex, struct rmc_umem *u, u64 n)
{
	u64 i = 0, end;

	while (i < n) {
		end = min_t(u64, i + ex->hold, n);
		mutex_lock(&ex->lock);
		for (; i < end; i++)
			extents_remove(&u->extent[i], u->tree);
		mutex_unlock(&ex->lock);
		cond_resched();
	}
	kvfree(u->extent);
	u->extent = NULL;
	u->extents = 0;
}

/* Enters the extents before @end from *@i on, which becomes the first that is not in. */
static int insert_extents(struct rmc_exposed *ex, u32 server, struct rmc_umem *u, bool readonly,
			  u64 *i, u64 end)
{
	lockdep_assert_held(&ex->lock);
	for (; *i < end; ++*i) {
		if (other_server(ex, server, &u->extent[*i], readonly))
			return -EADDRINUSE;
		extents_insert(&u->extent[*i], u->tree);
	}
	return 0;
}

/**
 * rmc_exposed_add() - record that a segment, or a range of one, exposes memory
 * @rmc: device
 * @u: memory that is not exposed yet
 * @node: node of the segment
 * @primary: first range of the segment; that of @u itself if it is the first one
 *
 * Of two calls at the same time over the same memory both may fail.
 *
 * Return: 0; -EADDRINUSE: some of it is exposed already, and another worker would serve it;
 * -ENOMEM; -EINTR being killed. Context: may sleep.
 */
int rmc_exposed_add(struct rmc_device *rmc, struct rmc_umem *u, const struct rmc_node *node,
		    const struct rmc_mem *primary)
{
	struct rmc_exposed *ex = rmc->exposed;
	bool readonly = is_readonly(u, primary);
	u64 n, i = 0;
	u32 server;
	int err = 0;

	if (!ex)
		return 0;
	server = server_of(rmc, node);
	n = find_extents(u, NULL);
	u->extent = alloc_extents(n);
	if (!u->extent)
		return -ENOMEM;
	u->extents = find_extents(u, u->extent);
	u->tree = readonly ? &ex->tree[server].readonly : &ex->tree[server].writable;
	while (!err && i < n) {
		err = mutex_lock_killable(&ex->lock);
		if (err)
			break;
		err = insert_extents(ex, server, u, readonly, &i, min_t(u64, i + ex->hold, n));
		mutex_unlock(&ex->lock);
		cond_resched();
	}
	if (err)
		remove_extents(ex, u, i);
	return err;
}

/**
 * rmc_exposed_del() - mirror of rmc_exposed_add()
 * @rmc: device
 * @u: memory that no remote operation touches any more
 *
 * Context: may sleep.
 */
void rmc_exposed_del(struct rmc_device *rmc, struct rmc_umem *u)
{
	if (u->extent)
		remove_extents(rmc->exposed, u, u->extents);
}
