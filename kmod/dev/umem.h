/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of segments and local buffers: pinned memory of an application, or memory
 * allocated here that applications map. The pipelines use only the struct rmc_mem inside.
 *
 * Both kinds count as pinned memory of the process that registered them; RLIMIT_MEMLOCK
 * applies.
 */
#ifndef RMC_UMEM_H
#define RMC_UMEM_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include "../base/mem.h"
#include "waiter.h"

struct rmc_extent;

/**
 * struct rmc_umem - memory and its owner
 * @mem: the part that the pipelines use
 * @ref: one of the registration, one per mapping
 * @mm: address space whose pinned_vm counts it
 * @npages: number of pages
 * @allocated: by us; otherwise pinned
 * @id: buffer id
 * @length: bytes; @mem.length is 0 once a buffer is not mapped any more
 * @buffer: a local buffer, not a segment or a range
 * @known: installed on the units; guarded by the file's lock
 * @mappings: live mappings
 * @unmap_lock: guards @mappings and the change of @mem.length; taken under mmap_lock and
 *	under the file's lock; neither is taken under it
 * @waiter: of a segment: sleepers for notifications
 * @extent: of a segment or range: its lines, see exposed.h; NULL: not recorded
 * @extents: number of entries in @extent
 * @tree: the tree that they are in
 */
struct rmc_umem {
	struct rmc_mem mem;
	struct kref ref;
	struct mm_struct *mm;
	u64 npages;
	bool allocated;
	u64 length;
	u32 id;
	bool buffer;
	bool known;
	u32 mappings;
	spinlock_t unmap_lock;	/* see above */
	struct rmc_waiter waiter;
	struct rmc_extent *extent;
	u64 extents;
	struct rb_root_cached *tree;
};

struct rmc_umem *rmc_umem_pin(u64 addr, u64 length);
struct rmc_umem *rmc_umem_alloc(u64 length, int nid, bool strict);
void rmc_umem_put(struct rmc_umem *u);
unsigned long rmc_umem_pfn(const struct rmc_umem *u, u64 i);
int rmc_umem_map(struct rmc_umem *u, struct vm_area_struct *vma);

#endif
