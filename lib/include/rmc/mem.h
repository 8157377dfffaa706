/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory that the RMC may access: the context segment, which other nodes address
 * by offset, and local buffers, which hold operands and results of this process's
 * own operations. Both are either memory of the application, which the driver pins,
 * or memory that the driver allocates.
 */
#ifndef RMC_MEM_H
#define RMC_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <rmc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Expose [addr, addr + len) to the other nodes under this context. flags: 0 or
 * RMC_MEM_READONLY. One segment per context and node. 0 or -errno.
 */
int rmc_seg_register(struct rmc_ctx *ctx, void *addr, size_t len, unsigned int flags);

/* The same with zeroed driver memory, on numa_node; -1: on any node. */
int rmc_seg_alloc(struct rmc_ctx *ctx, size_t len, unsigned int flags, int numa_node,
		  void **addr);

/* On return no remote operation touches the segment any more; unmaps driver memory. */
int rmc_seg_unregister(struct rmc_ctx *ctx);

/*
 * Expose [addr, addr + len) as a further range of the segment, at offset. addr and offset
 * are multiples of 64. An operation must lie in one range. flags: 0 or RMC_MEM_READONLY.
 * Withdrawn by rmc_seg_remove() or with the segment. 0 or -errno.
 */
int rmc_seg_add(struct rmc_ctx *ctx, void *addr, size_t len, uint64_t offset,
		unsigned int flags);
int rmc_seg_remove(struct rmc_ctx *ctx, uint64_t offset);

/* Local buffers. Return the buffer's id (not negative) or -errno. */
int rmc_buf_register(struct rmc_ctx *ctx, void *addr, size_t len);
int rmc_buf_alloc(struct rmc_ctx *ctx, size_t len, int numa_node, void **addr);
int rmc_buf_unregister(struct rmc_ctx *ctx, int buf_id);

#ifdef __cplusplus
}
#endif

#endif /* RMC_MEM_H */
