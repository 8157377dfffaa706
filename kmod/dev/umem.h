/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the memory of segments and local buffers comes from: application
 * memory that is pinned, or memory allocated here that applications map. The
 * pipelines only see the struct rmc_mem inside.
 *
 * Both kinds count as pinned memory of the process that asked for them and
 * are limited by RLIMIT_MEMLOCK.
 */
#ifndef RMC_UMEM_H
#define RMC_UMEM_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include "../base/mem.h"
#include "waiter.h"

struct rmc_run;

/**
 * struct rmc_umem - memory and its owner
 * @mem: as the pipelines see it
 * @ref: one of whoever registered it, one per mapping
 * @mm: whose pinned pages it counts among
 * @npages: number of pages
 * @allocated: by us; otherwise pinned
 * @id: buffer id
 * @length: bytes; @mem.length is 0 while a buffer is not mapped any more
 * @buffer: a local buffer, not a segment or a range
 * @known: the pipelines know it; guarded by the file's lock
 * @mappings: live mappings
 * @unmap_lock: guards @mappings and the change of @mem.length; taken under mmap_lock, and
 *	under the file's lock, where neither may be waited for
 * @waiter: of a segment: who sleeps for notifications
 * @run: of a segment or range: its lines, see exposed.h; NULL: nobody needs to know
 * @runs: how many
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
	struct rmc_run *run;
	u64 runs;
};

struct rmc_umem *rmc_umem_pin(u64 addr, u64 length);
struct rmc_umem *rmc_umem_alloc(u64 length, int nid, bool strict);
void rmc_umem_put(struct rmc_umem *u);
unsigned long rmc_umem_pfn(const struct rmc_umem *u, u64 i);
int rmc_umem_map(struct rmc_umem *u, struct vm_area_struct *vma);

#endif
