/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Chooses the driver of a context; opens the control device. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "../internal.h"

int rmc_driver_open(struct rmc_ctx *ctx)
{
	ctx->driver = &rmc_driver_module;
	return ctx->driver->open(ctx);
}

struct rmc_ctx *rmc_driver_control(void)
{
	struct rmc_ctx *ctx = (struct rmc_ctx *)calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return NULL;
	ctx->control = 1;
	ctx->pid = (int)getpid();
	if (!rmc_driver_open(ctx))
		return ctx;
	err = errno;
	free(ctx);
	errno = err;
	return NULL;
}

void rmc_driver_control_close(struct rmc_ctx *ctx)
{
	if (!ctx)
		return;
	ctx->driver->close(ctx);
	free(ctx);
}
