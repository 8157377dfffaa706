/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs: the pages of WQ, CQ and flags, and their installation on a worker. A page
 * lives as long as it is mapped, also after its queue pair is destroyed.
 */
#ifndef RMC_QP_H
#define RMC_QP_H

#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include "../core/cq.h"
#include "waiter.h"

struct rmc_file;
struct rmc_share;
struct rmc_umem;

/**
 * struct rmc_pages - physically contiguous pages, each with its own reference count
 * @first: first page; NULL: none
 * @count: number of pages
 */
struct rmc_pages {
	struct page *first;
	u32 count;
};

/**
 * struct rmc_queues - a queue pair of a file
 * @qp: the part that the pipelines use
 * @worker: polls it, posts its completions, and is woken for it
 * @wq: pages of the WQ
 * @cq: pages of the CQ
 * @flags: page of the flags
 * @kib: kernel memory that was charged for the pages
 * @id: id in the file
 * @waiter: sleepers for completions
 * @share: its tenant on @worker
 * @inner_share: with a frontend, the tenant of the inner queue pair on its backend
 * @attached: it sends and receives messages of the file's domain
 * @core: with @aq, its number among those that receive
 * @aq: memory of its arrival queue; NULL: it does not receive
 * @thread: with @aq, who attached it, or armed it last: it receives
 * @arrivals: sleepers for them
 * @room: while attached, the next send slot that becomes free
 * @senders: sleepers for that
 * @rcu: do_wake() finds the queue pair without a lock
 */
struct rmc_queues {
	struct rmc_qpair qp;
	struct rmc_ni_worker *worker;
	struct rmc_pages wq;
	struct rmc_pages cq;
	struct rmc_pages flags;
	u32 kib;
	u32 id;
	struct rmc_waiter waiter;
	struct rmc_share *share;
	struct rmc_share *inner_share;
	bool attached;
	u32 core;
	struct rmc_umem *aq;
	struct task_struct *thread;
	struct rmc_waiter arrivals;
	struct rmc_room room;
	struct rmc_waiter senders;
	struct rcu_head rcu;
};

struct rmc_queues *rmc_queues_create(struct rmc_file *f, u32 entries, u32 flags);
int rmc_queues_destroy(struct rmc_file *f, u32 id);
int rmc_pages_alloc(struct rmc_pages *p, size_t bytes, int nid);
void rmc_pages_free(struct rmc_pages *p);
int rmc_pages_map(const struct rmc_pages *p, struct vm_area_struct *vma);

#endif
