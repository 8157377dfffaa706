/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What librmc asks of an RMC: an open context that answers the requests of <linux/rmc.h> and
 * has memory to map. One file per kind of RMC implements it. Queues are not part of it: the
 * inlines of <rmc/qp.h> read and write mapped memory, whoever serves them.
 */
#ifndef RMC_LIB_DRIVER_H
#define RMC_LIB_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct rmc_ctx;

/**
 * struct rmc_driver - one kind of RMC
 * @name: for messages
 * @open: open context ctx->id, or the control device if ctx->control is set: 0, or -1 and
 *	errno. Sets ctx->fd
 * @call: what ioctl() returns, with errno; requests and their structs are those of ioctl()
 * @map: memory of the RMC at an offset that a call returned; MAP_FAILED with errno on failure.
 *	Ends with munmap(), by the caller
 * @alive: 0 once the RMC is gone, whose ctx->socket hangs up then; NULL: it lives as long as
 *	the process
 * @why: what rmc_errmsg() is to say of the last @call of this thread that failed; NULL, also as
 *	a result: errno says it all
 * @close: end what @open began; in a child of fork() only its own descriptors
 */
struct rmc_driver {
	const char *name;
	int (*open)(struct rmc_ctx *ctx);
	int (*call)(struct rmc_ctx *ctx, unsigned long request, void *arg);
	void *(*map)(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset);
	int (*alive)(const struct rmc_ctx *ctx);
	const char *(*why)(void);
	void (*close)(struct rmc_ctx *ctx);
};

/* The kernel module: a context is a file of RMC_CTX_DIR */
extern const struct rmc_driver rmc_driver_module;

/* rmcd, behind ctx->socket, which is connected before open() */
extern const struct rmc_driver rmc_driver_daemon;

/* Choose ctx->driver, and open: 0, or -errno with rmc_errmsg() */
int rmc_driver_open(struct rmc_ctx *ctx);

/*
 * The control device, which creates and removes contexts, for rmc_call() only; NULL with errno
 * and rmc_errmsg() on failure. rmc_driver_control_close() takes NULL.
 */
struct rmc_ctx *rmc_driver_control(void);
void rmc_driver_control_close(struct rmc_ctx *ctx);

#endif
