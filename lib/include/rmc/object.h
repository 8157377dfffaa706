/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Objects that remote nodes read with SABRes: a header, then data, in the owner's
 * segment. Writers are threads and processes of the owner:
 *
 *	rmc_object_write_begin(o);
 *	... plain stores into the object's data ...
 *	rmc_object_write_end(o);
 *
 * The version is even while the object is consistent and odd while it is being written;
 * it only grows. Documentation/sabre.rst explains the order of the stores, and why a reader
 * only needs to read the version before and after the data. The version also excludes
 * concurrent writers. Without contention each of these calls takes a few instructions; the
 * first call of a thread makes a system call.
 *
 * The header may be anywhere in an object, but at the same offset in all objects of the
 * segment: rmc_seg_register_objects().
 */
#ifndef RMC_OBJECT_H
#define RMC_OBJECT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/rmc.h>
#include <rmc/abi.h>
#include <rmc/barrier.h>
#include <rmc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 16 bytes, aligned to 8; zeroed memory is a consistent object without a writer. */
struct rmc_object {
	uint64_t version;	/* odd: being written */
	uint32_t readers;	/* SABRes that hold it; RMC_SABRE_LOCKED only */
	uint32_t writer;	/* thread id of the writer, 0: none */
};

RMC_ABI_OFFSET(rmc_object, version, 0);
RMC_ABI_OFFSET(rmc_object, readers, 8);
RMC_ABI_OFFSET(rmc_object, writer, 12);
RMC_ABI_SIZE(rmc_object, 16);

/* Offset of the header in each object, bytes, and how SABRes validate their snapshot:
 * enum rmc_sabre_mode, 0: the kernel's default. RMC_SABRE_TX: objects have no header (it is 0 here);
 * only transactions write them (<rmc/tx.h>).
 */
struct rmc_object_layout {
	uint32_t header;
	uint32_t mode;
};

#define RMC_OBJECT_LAYOUT_SIZE_VER0	8
RMC_ABI_SIZE_VER0(rmc_object_layout, mode, RMC_OBJECT_LAYOUT_SIZE_VER0);

/* As rmc_seg_register() and rmc_seg_alloc(), for a segment of objects. */
int rmc_seg_register_objects_sized(struct rmc_ctx *ctx, void *addr, size_t len,
				   unsigned int flags, const struct rmc_object_layout *layout,
				   size_t size);
RMC_SIZED int rmc_seg_register_objects(struct rmc_ctx *ctx, void *addr, size_t len,
				       unsigned int flags,
				       const struct rmc_object_layout *layout)
{
	return rmc_seg_register_objects_sized(ctx, addr, len, flags, layout, sizeof(*layout));
}

int rmc_seg_alloc_objects_sized(struct rmc_ctx *ctx, size_t len, unsigned int flags,
				int numa_node, const struct rmc_object_layout *layout,
				size_t size, void **addr);
RMC_SIZED int rmc_seg_alloc_objects(struct rmc_ctx *ctx, size_t len, unsigned int flags,
				    int numa_node, const struct rmc_object_layout *layout,
				    void **addr)
{
	return rmc_seg_alloc_objects_sized(ctx, len, flags, numa_node, layout, sizeof(*layout),
					   addr);
}

/* Thread id of the caller; a system call the first time. */
uint32_t rmc_object_self(void);

/* One step of waiting: pauses first, then yields. For the loops below. */
void rmc_object_relax(unsigned int *spins);

/* One attempt: 0, or -EBUSY when another writer is active. */
RMC_INLINE int rmc_object_try_begin(struct rmc_object *o)
{
	uint32_t nobody = 0;
	unsigned int spins = 0;
	uint64_t v;

	/* exclude this node's writers first; the thread id identifies a dead one */
	if (!__atomic_compare_exchange_n(&o->writer, &nobody, rmc_object_self(), 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -EBUSY;
	v = rmc_load_relaxed(&o->version);
	/*
	 * A remote writer may be faster. seq_cst: make it odd, then load the readers;
	 * pairs with the RMC, which increments readers, then loads the version.
	 */
	if ((v & 1) || !__atomic_compare_exchange_n(&o->version, &v, v + 1, 0, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED)) {
		rmc_store_release(&o->writer, 0);
		return -EBUSY;
	}
	while (rmc_unlikely(__atomic_load_n(&o->readers, __ATOMIC_SEQ_CST)))
		rmc_object_relax(&spins);
	/* the odd version before the data; pairs with the RMC's read barrier */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return 0;
}

/*
 * Waits for other writers, forever if one has died: see rmc_object_repair(), and for those of
 * other nodes <rmc/sync.h>; rmc_scheme_write() waits for these for a time.
 */
RMC_INLINE void rmc_object_write_begin(struct rmc_object *o)
{
	unsigned int spins = 0;

	while (rmc_unlikely(rmc_object_try_begin(o)))
		rmc_object_relax(&spins);
}

RMC_INLINE void rmc_object_write_end(struct rmc_object *o)
{
	/* the data before the even version; pairs with the RMC's acquire */
	rmc_store_release(&o->version, rmc_load_relaxed(&o->version) + 1);
	/* pairs with the next writer's acquire */
	rmc_store_release(&o->writer, 0);
}

/*
 * The owner reads its object without a system call: begin returns the version, which is odd
 * while the object is being written. The data is a snapshot if the version was even and
 * rmc_object_read_retry() returns 0.
 */
RMC_INLINE uint64_t rmc_object_read_begin(const struct rmc_object *o)
{
	return rmc_load_acquire(&o->version);
}

RMC_INLINE int rmc_object_read_retry(const struct rmc_object *o, uint64_t version)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (version & 1) || rmc_load_relaxed(&o->version) != version;
}

/*
 * Repair an object whose writer died between begin and end: readers get RMC_S_SABRE_LOCKED,
 * and other writers wait. If the writer's thread is gone, this replaces the writer, lets
 * rewrite() store consistent contents (unless nothing was written yet, or all), and ends
 * the write. 0: repaired; -ENOENT: no writer; -EAGAIN: the writer is alive, another thread
 * repairs the object, or the writer is remote; or the result of rewrite() if not 0: the
 * repair may be tried again. All writers must be in one PID namespace.
 */
int rmc_object_repair(struct rmc_object *o, int (*rewrite)(struct rmc_object *o, void *arg),
		      void *arg);

#ifdef __cplusplus
}
#endif

#endif /* RMC_OBJECT_H */
