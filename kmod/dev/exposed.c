// SPDX-License-Identifier: GPL-2.0
/* Lines that segments expose: see exposed.h. */
#include <linux/interval_tree_generic.h>
#include <linux/slab.h>
#include "exposed.h"

#define PAGE_LINES	(PAGE_SIZE / RMC_LINE)

/**
 * struct rmc_extent - consecutive lines of physical memory that a segment exposes
 * @rb: in rmc_device.exposed
 * @first: number of the first line
 * @last: number of the last line
 * @subtree_last: largest @last below this one
 * @server: see server_of()
 */
struct rmc_extent {
	struct rb_node rb;
	unsigned long first;
	unsigned long last;
	unsigned long subtree_last;
	const void *server;
};

#define START(run)	((run)->first)
#define LAST(run)	((run)->last)
INTERVAL_TREE_DEFINE(struct rmc_extent, rb, unsigned long, subtree_last, START, LAST, static, runs)

static bool one_server(const struct rmc_device *rmc)
{
	u32 i, n = 0;

	for (i = 0; i < rmc->workers; i++)
		n += !!(rmc->worker[i].ni.stages & RMC_STAGE_SRV);
	return n == 1;
}

/* The worker that serves all lines of a segment; NULL: several workers serve them. */
static const void *server_of(const struct rmc_node *node)
{
	return rmc_fabric_rrpps(node->fabric) == 1 ? node->head->srv_worker : NULL;
}

/* Stores the runs in @run, unless it is NULL. Return: number of runs. */
static u64 find_runs(const struct rmc_umem *u, const void *server, struct rmc_extent *run)
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
			if (run)
				run[n - 1].last = last;
			continue;
		}
		if (run) {
			run[n].first = first;
			run[n].last = last;
			run[n].server = server;
		}
		n++;
	}
	return n;
}

/* True if another worker serves, or may serve, one of these lines through another run. */
static bool other_server(struct rb_root_cached *root, const struct rmc_extent *run)
{
	struct rmc_extent *r;

	for (r = runs_iter_first(root, run->first, run->last); r;
	     r = runs_iter_next(r, run->first, run->last))
		if (!run->server || r->server != run->server)
			return true;
	return false;
}

static void remove_runs(struct rmc_device *rmc, struct rmc_umem *u, u64 n)
{
	while (n--)
		runs_remove(&u->run[n], &rmc->exposed);
	kvfree(u->run);
	u->run = NULL;
	u->runs = 0;
}

/**
 * rmc_exposed_add() - record the memory that a segment, or a range of one, exposes
 * @rmc: device
 * @u: memory that is not exposed yet
 * @node: node whose segment it is
 *
 * Return: 0; -EADDRINUSE: some of it is exposed already, and another worker would serve it;
 * -ENOMEM. Context: may sleep.
 */
int rmc_exposed_add(struct rmc_device *rmc, struct rmc_umem *u, const struct rmc_node *node)
{
	const void *server = server_of(node);
	u64 n, i;

	if (one_server(rmc))
		return 0;
	n = find_runs(u, server, NULL);
	u->run = kvcalloc(n, sizeof(*u->run), GFP_KERNEL_ACCOUNT);
	if (!u->run)
		return -ENOMEM;
	u->runs = find_runs(u, server, u->run);
	mutex_lock(&rmc->exposed_lock);
	for (i = 0; i < n; i++) {
		if (other_server(&rmc->exposed, &u->run[i])) {
			remove_runs(rmc, u, i);
			mutex_unlock(&rmc->exposed_lock);
			return -EADDRINUSE;
		}
		runs_insert(&u->run[i], &rmc->exposed);
	}
	mutex_unlock(&rmc->exposed_lock);
	return 0;
}

/**
 * rmc_exposed_del() - mirror of rmc_exposed_add()
 * @rmc: device
 * @u: memory that no remote operation accesses any more
 *
 * Context: may sleep.
 */
void rmc_exposed_del(struct rmc_device *rmc, struct rmc_umem *u)
{
	if (!u->run)
		return;
	mutex_lock(&rmc->exposed_lock);
	remove_runs(rmc, u, u->runs);
	mutex_unlock(&rmc->exposed_lock);
}
