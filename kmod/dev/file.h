/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open /dev/rmc_contexts/<ctx_id>. It holds a node, queue pairs, local buffers and a
 * segment. The last close releases all of them.
 *
 * After fork() the child shares the file, not the mappings, and the file's resources would
 * live as long as the child. So the file records its owner: the process, and address space,
 * that created the first resource. When that process exits or executes another program, all
 * resources are released, as by the last close. Where several processes created resources,
 * these live until the last close.
 *
 * Lock order: mmap_lock, then rmc_file.lock; for those of domains see file_domain.h. So memory is
 * pinned, and user memory touched, before the file's lock is taken or after it is released.
 */
#ifndef RMC_FILE_H
#define RMC_FILE_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "../run/device.h"
#include "waiter.h"
#include "qp.h"
#include "umem.h"

struct rmc_context;
struct rmc_file_domain;
struct rmc_file_ranges;
struct rmc_file_tx;
struct rmc_member;
struct rmc_watcher;

/**
 * struct rmc_file - an open context
 * @rmc: device
 * @ctx: context
 * @user: user that opened it, for quotas
 * @lock: guards the fields below; @table belongs to the units' RGP workers instead
 * @dom_lock: @domain begins and ends with it as well, outside @lock and never under mmap_lock: a
 *	reader of a directory of sysfs may fault on a page while it has the lock that adding and
 *	removing one need
 * @node: node it acts for; NULL before the first use, then never changes
 * @seg: segment
 * @ranges: further ranges of @seg, kmod/dev/range.c; NULL: none
 * @tx: range of @seg that has transactions, kmod/dev/tx.c; NULL: none
 * @domain: domain of messages, kmod/dev/domain.c; NULL: none
 * @member: if another file has created it, see file_domain.h; or NULL
 * @dom_cores: queue pairs of this file that receive its messages
 * @dom_ended: another file has ended the one that this file had
 * @buf: struct rmc_umem of local buffers by id
 * @qp: struct rmc_queues of queue pairs by id
 * @table: buffers of the pipelines, by unit
 * @wait: processes in poll()
 * @watcher: event file of the context; guarded by watch_lock
 * @owner: process that created the file's resources; NULL: none yet
 * @owner_mm: address space of @owner, grabbed
 * @several: another process has also created resources
 * @signalled: per kind, events that happened and were not armed again
 * @gone: a queue pair or segment with a sleeper was destroyed since the last arming
 * @unmapped: removes buffers that are not mapped any more from the units
 * @waits_lock: guards lists of io_uring commands that wait
 * @waits: io_uring commands that wait; at most RMC_MAX_WAITS
 */
struct rmc_file {
	struct rmc_device *rmc;
	struct rmc_context *ctx;
	struct rmc_user *user;
	struct mutex lock;	/* see above */
	struct mutex dom_lock;	/* see above */
	struct rmc_node *node;
	struct rmc_umem *seg;
	struct rmc_file_ranges *ranges;
	struct rmc_file_tx *tx;
	struct rmc_file_domain *domain;
	struct rmc_member *member;
	u32 dom_cores;
	bool dom_ended;
	struct xarray buf;
	struct xarray qp;
	struct rmc_bufs *table;
	wait_queue_head_t wait;
	struct rmc_watcher *watcher;
	struct pid *owner;
	struct mm_struct *owner_mm;
	bool several;
	atomic_t signalled[RMC_WAIT_KINDS];
	bool gone;
	struct work_struct unmapped;
	spinlock_t waits_lock;	/* see above */
	atomic_t waits;
};

/*
 * Offsets for mmap: kind in bits 40 .. 43, id in bits 24 .. 39. They are below 2^44, so
 * that 32-bit programs can pass them, too.
 */
enum rmc_map_kind {
	RMC_MAP_WQ	= 1,
	RMC_MAP_CQ	= 2,
	RMC_MAP_FLAGS	= 3,
	RMC_MAP_SEG	= 4,
	RMC_MAP_BUF	= 5,
	RMC_MAP_RECV	= 6,
	RMC_MAP_SEND	= 7,
	RMC_MAP_AQ	= 8,
	RMC_MAP_ANSWER	= 9,
	RMC_MAP_TX_LOCKS = 10,
};

#define RMC_MAP_KIND_SHIFT	40
#define RMC_MAP_ID_SHIFT	24
#define RMC_MAP_ID_MASK		0xffff

static inline u64 rmc_map_offset(enum rmc_map_kind kind, u32 id)
{
	return (u64)kind << RMC_MAP_KIND_SHIFT | (u64)id << RMC_MAP_ID_SHIFT;
}

struct rmc_file *rmc_file_create(struct rmc_device *rmc, struct rmc_context *ctx);
void rmc_file_destroy(struct rmc_file *f);
void rmc_file_own(struct rmc_file *f);
void rmc_file_disown(struct rmc_file *f);
void rmc_file_flush(struct rmc_file *f);
int rmc_file_attach(struct rmc_file *f, u32 nid);
struct rmc_node *rmc_file_node(struct rmc_file *f);
int rmc_file_seg_add(struct rmc_file *f, struct rmc_umem *u);
struct rmc_umem *rmc_file_seg_del(struct rmc_file *f);
int rmc_file_buf_add(struct rmc_file *f, struct rmc_umem *u);
struct rmc_umem *rmc_file_buf_del(struct rmc_file *f, u32 id);
int rmc_file_buf_install(struct rmc_file *f, struct rmc_umem *u);
void rmc_file_buf_uninstall(struct rmc_file *f, struct rmc_umem *u);
int rmc_file_mmap(struct file *file, struct vm_area_struct *vma);

#endif
