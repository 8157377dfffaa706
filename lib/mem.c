/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Segments and local buffers. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "internal.h"
#include "rmc/object.h"

static int seg_failed(struct rmc_ctx *ctx, size_t len)
{
	struct rlimit rl;
	int err = errno;

	switch (err) {
	case EEXIST:
		return rmc_fail(err, "node %d already has a segment under context %u (another process?)",
				rmc_nid(ctx), ctx->id);
	case EINVAL:
		return rmc_fail(err, "bad segment: %zu bytes; 1 .. %llu are possible", len,
				(unsigned long long)ctx->query.max_segment);
	case ENOMEM:
		if (!getrlimit(RLIMIT_MEMLOCK, &rl) && rl.rlim_cur != RLIM_INFINITY &&
		    len > rl.rlim_cur)
			return rmc_fail(err, "cannot pin %zu bytes: "
					"RLIMIT_MEMLOCK is %llu (ulimit -l)", len,
					(unsigned long long)rl.rlim_cur);
		return rmc_fail(err, "no memory for a segment of %zu bytes (or RLIMIT_MEMLOCK reached)",
				len);
	default:
		return rmc_fail(err, "cannot register a segment of %zu bytes: %s", len,
				strerror(err));
	}
}

static int buf_failed(struct rmc_ctx *ctx, size_t len)
{
	int err = errno;

	switch (err) {
	case EEXIST:
		return rmc_fail(err, "buffer overlaps one that is registered already");
	case ENOSPC:
		return rmc_fail(err, "all %u local buffers of this context are in use",
				ctx->query.max_buffers);
	case ENOMEM:
		return rmc_fail(err, "cannot pin a buffer of %zu bytes: "
				"no memory, or RLIMIT_MEMLOCK reached (ulimit -l)", len);
	default:
		return rmc_fail(err, "cannot register a buffer of %zu bytes: %s", len,
				strerror(err));
	}
}

static int map_driver_memory(struct rmc_ctx *ctx, int id, size_t len, uint64_t offset,
			     void **addr)
{
	struct rmc_mapping *m = (struct rmc_mapping *)malloc(sizeof(*m));

	if (!m)
		return rmc_fail(ENOMEM, "out of memory");
	m->id = id;
	m->len = rmc_page_round(len);
	m->addr = rmc_map(ctx->fd, m->len, PROT_READ | PROT_WRITE, offset);
	if (m->addr == MAP_FAILED) {
		free(m);
		return rmc_fail(errno, "cannot map %zu bytes of driver memory: %s", len,
				strerror(errno));
	}
	m->next = ctx->mappings;
	ctx->mappings = m;
	*addr = m->addr;
	return 0;
}

static void unmap_driver_memory(struct rmc_ctx *ctx, int id)
{
	struct rmc_mapping **link, *m;

	for (link = &ctx->mappings; (m = *link); link = &m->next) {
		if (m->id != id)
			continue;
		*link = m->next;
		munmap(m->addr, m->len);
		free(m);
		return;
	}
}

static int seg_register(struct rmc_ctx *ctx, struct rmc_seg_reg *arg)
{
	if (arg->flags & (RMC_MEM_ALLOC | RMC_MEM_NUMA))
		return rmc_fail(EINVAL, "rmc_seg_alloc() is for driver memory");
	if (ioctl(ctx->fd, RMC_IOC_SEG_REG, arg))
		return seg_failed(ctx, arg->length);
	return 0;
}

static int seg_alloc(struct rmc_ctx *ctx, struct rmc_seg_reg *arg, int numa_node, void **addr)
{
	int err;

	arg->flags |= RMC_MEM_ALLOC;
	if (numa_node >= 0) {
		arg->flags |= RMC_MEM_NUMA;
		arg->numa_node = numa_node;
	}
	if (ioctl(ctx->fd, RMC_IOC_SEG_REG, arg))
		return seg_failed(ctx, arg->length);
	err = map_driver_memory(ctx, RMC_MAPPING_SEG, arg->length, arg->mmap_offset, addr);
	if (err)
		rmc_seg_unregister(ctx);
	return err;
}

int rmc_seg_register(struct rmc_ctx *ctx, void *addr, size_t len, unsigned int flags)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = len,
	};

	return seg_register(ctx, &arg);
}

int rmc_seg_alloc(struct rmc_ctx *ctx, size_t len, unsigned int flags, int numa_node,
		  void **addr)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.length = len,
	};

	return seg_alloc(ctx, &arg, numa_node, addr);
}

/* The header's place, as the driver wants to know it. */
static int set_layout(struct rmc_seg_reg *arg, const struct rmc_object_layout *layout)
{
	if (layout->header % sizeof(uint64_t) || layout->mode > RMC_SABRE_LOCKED)
		return rmc_fail(EINVAL, "bad object layout: header at a multiple of 8, mode 0 .. %d",
				RMC_SABRE_LOCKED);
	arg->flags |= RMC_MEM_OBJECTS;
	arg->version_offset = layout->header + offsetof(struct rmc_object, version);
	arg->readers_offset = layout->header + offsetof(struct rmc_object, readers);
	arg->sabre_mode = layout->mode;
	return 0;
}

int rmc_seg_register_objects(struct rmc_ctx *ctx, void *addr, size_t len, unsigned int flags,
			     const struct rmc_object_layout *layout)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = len,
	};
	int err = set_layout(&arg, layout);

	return err ? err : seg_register(ctx, &arg);
}

int rmc_seg_alloc_objects(struct rmc_ctx *ctx, size_t len, unsigned int flags, int numa_node,
			  const struct rmc_object_layout *layout, void **addr)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.length = len,
	};
	int err = set_layout(&arg, layout);

	return err ? err : seg_alloc(ctx, &arg, numa_node, addr);
}

int rmc_seg_unregister(struct rmc_ctx *ctx)
{
	struct rmc_seg_unreg arg = { .size = sizeof(arg) };

	if (ioctl(ctx->fd, RMC_IOC_SEG_UNREG, &arg))
		return -errno;
	unmap_driver_memory(ctx, RMC_MAPPING_SEG);
	return 0;
}

int rmc_buf_register(struct rmc_ctx *ctx, void *addr, size_t len)
{
	struct rmc_buf_reg arg = {
		.size = sizeof(arg),
		.addr = (uintptr_t)addr,
		.length = len,
	};

	if (ioctl(ctx->fd, RMC_IOC_BUF_REG, &arg))
		return buf_failed(ctx, len);
	return (int)arg.buf_id;
}

int rmc_buf_alloc(struct rmc_ctx *ctx, size_t len, int numa_node, void **addr)
{
	struct rmc_buf_reg arg = {
		.size = sizeof(arg),
		.flags = RMC_MEM_ALLOC,
		.length = len,
	};
	int err;

	if (numa_node >= 0) {
		arg.flags |= RMC_MEM_NUMA;
		arg.numa_node = numa_node;
	}
	if (ioctl(ctx->fd, RMC_IOC_BUF_REG, &arg))
		return buf_failed(ctx, len);
	err = map_driver_memory(ctx, (int)arg.buf_id, len, arg.mmap_offset, addr);
	if (err) {
		rmc_buf_unregister(ctx, (int)arg.buf_id);
		return err;
	}
	return (int)arg.buf_id;
}

int rmc_buf_unregister(struct rmc_ctx *ctx, int buf_id)
{
	struct rmc_buf_unreg arg = { .size = sizeof(arg), .buf_id = (unsigned int)buf_id };

	if (ioctl(ctx->fd, RMC_IOC_BUF_UNREG, &arg))
		return -errno;
	unmap_driver_memory(ctx, buf_id);
	return 0;
}
