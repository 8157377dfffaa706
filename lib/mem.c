/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Segments and local buffers. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "internal.h"
#include "rmc/object.h"

/* Explains EINVAL: names the first rule of uapi/linux/rmc.h that the arguments break. */
static int seg_invalid(struct rmc_ctx *ctx, const struct rmc_seg_reg *arg)
{
	if (!arg->length || arg->length > ctx->query.max_segment)
		return rmc_fail(EINVAL, "bad segment: %llu bytes; 1 .. %llu are possible",
				(unsigned long long)arg->length,
				(unsigned long long)ctx->query.max_segment);
	if (arg->addr % RMC_CACHE_LINE)
		return rmc_fail(EINVAL, "bad segment: address %#llx is not a multiple of %d: "
				"aligned_alloc() gives one that is",
				(unsigned long long)arg->addr, RMC_CACHE_LINE);
	if (arg->flags & RMC_MEM_OBJECTS && arg->version_offset % 8)
		return rmc_fail(EINVAL, "bad segment: version_offset %u is not a multiple of 8",
				arg->version_offset);
	if (arg->flags & RMC_MEM_OBJECTS && arg->readers_offset % 4)
		return rmc_fail(EINVAL, "bad segment: readers_offset %u is not a multiple of 4",
				arg->readers_offset);
	if (arg->flags & RMC_MEM_OBJECTS &&
	    arg->readers_offset / 8 == arg->version_offset / 8)
		return rmc_fail(EINVAL, "bad segment: version and readers share 8 bytes (offsets %u, %u)",
				arg->version_offset, arg->readers_offset);
	if (arg->flags & RMC_MEM_NUMA)
		return rmc_fail(EINVAL, "bad segment: NUMA node %d has no memory on this machine",
				arg->numa_node);
	return rmc_fail(EINVAL, "bad segment: the driver refuses it, see rmc_seg_register(3)");
}

static int seg_failed(struct rmc_ctx *ctx, const struct rmc_seg_reg *arg)
{
	size_t len = arg->length;
	struct rlimit rl;
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case EEXIST:
		return rmc_fail(err, "node %d already has a segment under context %u (another process?)",
				rmc_nid(ctx), ctx->id);
	case EADDRINUSE:
		return rmc_fail(err, "some of these %zu bytes are exposed already, and another worker "
				"would serve them here: use other memory, or ni=fused", len);
	case EOPNOTSUPP:
		return rmc_fail(err, "%zu bytes hold a shared mapping of a file, which cannot be "
				"pinned: memory that is anonymous, of memfd or /dev/shm, can", len);
	case EINVAL:
		return seg_invalid(ctx, arg);
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

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case EEXIST:
		return rmc_fail(err, "buffer overlaps one that is registered already");
	case EOPNOTSUPP:
		return rmc_fail(err, "%zu bytes hold a shared mapping of a file, which cannot be "
				"pinned: memory that is anonymous, of memfd or /dev/shm, can", len);
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
	m->addr = rmc_map(ctx, m->len, PROT_READ | PROT_WRITE, offset);
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
		rmc_unmap(ctx, m->addr, m->len);
		free(m);
		return;
	}
}

static int seg_register(struct rmc_ctx *ctx, struct rmc_seg_reg *arg)
{
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	if (arg->flags & (RMC_MEM_ALLOC | RMC_MEM_NUMA))
		return rmc_fail(EINVAL, "rmc_seg_alloc() is for driver memory");
	if (rmc_call(ctx, RMC_IOC_SEG_REG, arg))
		return seg_failed(ctx, arg);
	rmc_log(INFO, "node %d: segment of %llu bytes at %#llx, flags %#x", rmc_nid(ctx),
		(unsigned long long)arg->length, (unsigned long long)arg->addr, arg->flags);
	return 0;
}

static int seg_alloc(struct rmc_ctx *ctx, struct rmc_seg_reg *arg, int numa_node, void **addr)
{
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	arg->flags |= RMC_MEM_ALLOC;
	if (numa_node >= 0) {
		arg->flags |= RMC_MEM_NUMA;
		arg->numa_node = numa_node;
	}
	if (rmc_call(ctx, RMC_IOC_SEG_REG, arg))
		return seg_failed(ctx, arg);
	err = map_driver_memory(ctx, RMC_MAPPING_SEG, arg->length, arg->mmap_offset, addr);
	if (err)
		rmc_seg_unregister(ctx);
	else
		rmc_log(INFO, "node %d: segment of %llu bytes of driver memory, flags %#x",
			rmc_nid(ctx), (unsigned long long)arg->length, arg->flags);
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

/* Converts the layout of objects for the driver. */
static int set_layout(struct rmc_seg_reg *arg, const struct rmc_object_layout *from, size_t size)
{
	struct rmc_object_layout copy, *layout = &copy;
	int err = rmc_struct_in(&copy, sizeof(copy), from, size, RMC_OBJECT_LAYOUT_SIZE_VER0,
				"object layout");

	if (err)
		return err;
	if (layout->header % sizeof(uint64_t) || layout->mode > RMC_SABRE_TX)
		return rmc_fail(EINVAL, "bad object layout: header at a multiple of 8, mode 0 .. %d",
				RMC_SABRE_TX);
	if (layout->mode == RMC_SABRE_TX && layout->header)
		return rmc_fail(EINVAL, "bad object layout: objects of transactions have no header: 0");
	arg->flags |= RMC_MEM_OBJECTS;
	arg->sabre_mode = layout->mode;
	if (layout->mode == RMC_SABRE_TX)
		return 0;
	arg->version_offset = layout->header + offsetof(struct rmc_object, version);
	arg->readers_offset = layout->header + offsetof(struct rmc_object, readers);
	return 0;
}

int rmc_seg_register_objects_sized(struct rmc_ctx *ctx, void *addr, size_t len,
				   unsigned int flags, const struct rmc_object_layout *layout,
				   size_t size)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = len,
	};
	int err = set_layout(&arg, layout, size);

	return err ? err : seg_register(ctx, &arg);
}

int rmc_seg_alloc_objects_sized(struct rmc_ctx *ctx, size_t len, unsigned int flags,
				int numa_node, const struct rmc_object_layout *layout,
				size_t size, void **addr)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.length = len,
	};
	int err = set_layout(&arg, layout, size);

	return err ? err : seg_alloc(ctx, &arg, numa_node, addr);
}

int rmc_seg_add(struct rmc_ctx *ctx, void *addr, size_t len, uint64_t offset,
		unsigned int flags)
{
	struct rmc_seg_add arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = len,
		.offset = offset,
	};
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	if (!rmc_call(ctx, RMC_IOC_SEG_ADD, &arg))
		return 0;
	err = errno;
	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case ENOTTY:
		return rmc_fail(err, "this driver knows one range per segment only: a newer rmc.ko has rmc_seg_add()");
	case ENOENT:
		return rmc_fail(err, "there is no segment to add to: rmc_seg_register() comes first");
	case EEXIST:
		return rmc_fail(err, "offset %#llx, %zu bytes: the segment has memory there already",
				(unsigned long long)offset, len);
	case EADDRINUSE:
		return rmc_fail(err, "some of these %zu bytes are exposed already, and another worker "
				"would serve them here: use other memory", len);
	case ENOSPC:
		return rmc_fail(err, "the segment has all its %u further ranges",
				ctx->query.max_ranges);
	case EINVAL:
		return rmc_fail(err, "bad range: address and offset must be multiples of %d, offset and length at most %llu together",
				RMC_CACHE_LINE, (unsigned long long)ctx->query.max_segment);
	case ENOMEM:
		return rmc_fail(err, "cannot pin %zu bytes: no memory, or RLIMIT_MEMLOCK reached (ulimit -l)",
				len);
	default:
		return rmc_fail(err, "cannot add %zu bytes to the segment: %s", len, strerror(err));
	}
}

int rmc_seg_remove(struct rmc_ctx *ctx, uint64_t offset)
{
	struct rmc_seg_del arg = { .size = sizeof(arg), .offset = offset };

	if (rmc_ctx_inherited(ctx))
		return 0;
	if (rmc_call(ctx, RMC_IOC_SEG_DEL, &arg))
		return rmc_fail(errno, "no range begins at offset %#llx of the segment",
				(unsigned long long)offset);
	return 0;
}

int seg_register_objects_ver0(struct rmc_ctx *ctx, void *addr, size_t len, unsigned int flags,
			      const struct rmc_object_layout *layout)
	RMC_VER0(rmc_seg_register_objects);
int seg_register_objects_ver0(struct rmc_ctx *ctx, void *addr, size_t len, unsigned int flags,
			      const struct rmc_object_layout *layout)
{
	return rmc_seg_register_objects_sized(ctx, addr, len, flags, layout,
					      RMC_OBJECT_LAYOUT_SIZE_VER0);
}

int seg_alloc_objects_ver0(struct rmc_ctx *ctx, size_t len, unsigned int flags, int numa_node,
			   const struct rmc_object_layout *layout, void **addr)
	RMC_VER0(rmc_seg_alloc_objects);
int seg_alloc_objects_ver0(struct rmc_ctx *ctx, size_t len, unsigned int flags, int numa_node,
			   const struct rmc_object_layout *layout, void **addr)
{
	return rmc_seg_alloc_objects_sized(ctx, len, flags, numa_node, layout,
					   RMC_OBJECT_LAYOUT_SIZE_VER0, addr);
}

int rmc_seg_unregister(struct rmc_ctx *ctx)
{
	struct rmc_seg_unreg arg = { .size = sizeof(arg) };

	if (!rmc_ctx_inherited(ctx)) {
		if (rmc_call(ctx, RMC_IOC_SEG_UNREG, &arg))
			return -errno;
		rmc_sleepers_end(&ctx->seg_sleepers);
		rmc_sleepers_wait(&ctx->seg_sleepers);
	}
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
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	if (rmc_call(ctx, RMC_IOC_BUF_REG, &arg))
		return buf_failed(ctx, len);
	rmc_log(DEBUG, "buffer %u: %zu bytes at %p", arg.buf_id, len, addr);
	return (int)arg.buf_id;
}

int rmc_buf_alloc(struct rmc_ctx *ctx, size_t len, int numa_node, void **addr)
{
	struct rmc_buf_reg arg = {
		.size = sizeof(arg),
		.flags = RMC_MEM_ALLOC,
		.length = len,
	};
	int err = rmc_ctx_usable(ctx);

	if (err)
		return err;
	if (numa_node >= 0) {
		arg.flags |= RMC_MEM_NUMA;
		arg.numa_node = numa_node;
	}
	if (rmc_call(ctx, RMC_IOC_BUF_REG, &arg))
		return buf_failed(ctx, len);
	err = map_driver_memory(ctx, (int)arg.buf_id, len, arg.mmap_offset, addr);
	if (err) {
		rmc_buf_unregister(ctx, (int)arg.buf_id);
		return err;
	}
	rmc_log(DEBUG, "buffer %u: %zu bytes of driver memory at %p", arg.buf_id, len, *addr);
	return (int)arg.buf_id;
}

int rmc_buf_unregister(struct rmc_ctx *ctx, int buf_id)
{
	struct rmc_buf_unreg arg = { .size = sizeof(arg), .buf_id = (unsigned int)buf_id };

	if (!rmc_ctx_inherited(ctx) && rmc_call(ctx, RMC_IOC_BUF_UNREG, &arg))
		return -errno;
	unmap_driver_memory(ctx, buf_id);
	return 0;
}
