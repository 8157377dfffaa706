/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The driver that is the kernel module. Plain open(), ioctl(), mmap() and close(): tests and
 * the simulator link with --wrap for them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../internal.h"

static int module_open(struct rmc_ctx *ctx)
{
	if (ctx->control)
		snprintf(ctx->path, sizeof(ctx->path), "/dev/rmc");
	else
		snprintf(ctx->path, sizeof(ctx->path), RMC_CTX_DIR "/%u", ctx->id);
	ctx->fd = open(ctx->path, O_RDWR | O_CLOEXEC);
	return ctx->fd < 0 ? -1 : 0;
}

static int module_call(struct rmc_ctx *ctx, unsigned long request, void *arg)
{
	return ioctl(ctx->fd, request, arg);
}

static void *module_map(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset)
{
	return mmap(NULL, len, prot, MAP_SHARED, ctx->fd, (off_t)offset);
}

static void module_close(struct rmc_ctx *ctx)
{
	close(ctx->fd);
}

const struct rmc_driver rmc_driver_module = {
	.name = "module",
	.open = module_open,
	.call = module_call,
	.map = module_map,
	.close = module_close,
};
