/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Chooses the driver of a context: the module where it is loaded, else rmcd. RMC_DEVICE forces
 * one: "module", "daemon", or the path of rmcd's socket. Also opens the control device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../internal.h"
#include "socket.h"

#define CONTROL_DEVICE	"/dev/rmc"

static const char nothing_there[] =
	"no /dev/rmc: the rmc module is not loaded (modprobe rmc, or start programs with rmc-run); and no rmcd runs (start rmcd, or programs with rmc-run --daemon)";

static int open_failed(const struct rmc_ctx *ctx)
{
	int err = errno;

	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		if (ctx->driver == &rmc_driver_module &&
		    (ctx->control || access(CONTROL_DEVICE, F_OK)))
			return rmc_fail(err, "%s", nothing_there);
		return rmc_fail(err, "context %u does not exist on this node: rmcctl context create %u",
				ctx->id, ctx->id);
	case EACCES:
	case EPERM:
		if (ctx->control)
			return rmc_fail(err, "no permission to open %s: run rmcctl as root",
					ctx->path);
		return rmc_fail(err, "no permission to open %s: "
				"rmcctl context create takes --mode, --uid and --gid", ctx->path);
	case EPROTO:
		return rmc_fail(err, "%s: this is no rmcd, or one of another version", ctx->path);
	case ESHUTDOWN:
		return rmc_fail(err, "%s: rmcd hung up", ctx->path);
	default:
		return rmc_fail(err, "cannot open %s: %s", ctx->path, strerror(err));
	}
}

static int open_with(struct rmc_ctx *ctx, const struct rmc_driver *driver)
{
	ctx->driver = driver;
	return driver->open(ctx) ? open_failed(ctx) : 0;
}

static int is_absent(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR || err == -ENAMETOOLONG;
}

/* A socket, or -errno; with a message if something is there */
static int connect_to(struct rmc_ctx *ctx, const char *path)
{
	unsigned int uid = 0;
	int fd = rmc_socket_connect(path, &uid);

	snprintf(ctx->path, sizeof(ctx->path), "%s", path);
	if (fd >= 0 || is_absent(fd))
		return fd;
	if (fd == -EPERM && uid)
		return rmc_fail(EPERM, "%s belongs to user %u, neither root nor user %u: it must not see memory of this process",
				path, uid, (unsigned int)geteuid());
	return rmc_fail(-fd, "cannot connect to %s: %s", path, strerror(-fd));
}

/*
 * Anybody can make something with that name in /tmp: only what is ours counts. NULL: it does, or
 * there is nothing; else what is wrong with it.
 */
static const char *foreign_directory(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st))
		return NULL;
	if (!S_ISDIR(st.st_mode))
		return "is no directory";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	return st.st_mode & 022 ? "can be written by others" : NULL;
}

/* The first daemon that answers */
static int find_daemon(struct rmc_ctx *ctx)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");
	char path[3][RMC_PATH_BYTES + 32] = { "" }, own[64];
	const char *why;
	int fd = -ENOENT, i;

	if (dir && *dir == '/')
		snprintf(path[0], sizeof(path[0]), "%s/rmc/socket", dir);
	snprintf(own, sizeof(own), "/tmp/rmc-%u", (unsigned int)geteuid());
	why = foreign_directory(own);
	if (!why)
		snprintf(path[1], sizeof(path[1]), "%s/socket", own);
	snprintf(path[2], sizeof(path[2]), "/run/rmc/socket");
	for (i = 0; i < 3 && is_absent(fd); i++)
		if (path[i][0])
			fd = connect_to(ctx, path[i]);
	if (why && is_absent(fd))
		return rmc_fail(EPERM, "%s %s, so what answers there may not be yours: remove it, or set RMC_DEVICE to the socket of a daemon",
				own, why);
	return fd;
}

static int open_daemon(struct rmc_ctx *ctx, int fd)
{
	if (fd < 0)
		return fd;
	ctx->socket = fd;
	return open_with(ctx, &rmc_driver_daemon);
}

static int open_forced(struct rmc_ctx *ctx, const char *device)
{
	int fd, search = !strcmp(device, "daemon");

	if (!strcmp(device, "module"))
		return open_with(ctx, &rmc_driver_module);
	if (!search && !strchr(device, '/'))
		return rmc_fail(EINVAL, "RMC_DEVICE is '%s', not module, daemon or the path of rmcd's socket",
				device);
	fd = search ? find_daemon(ctx) : connect_to(ctx, device);
	if (is_absent(fd))
		return rmc_fail(-fd, "no rmcd answers at %s: start rmcd, or programs with rmc-run --daemon",
				search ? "the usual places" : device);
	return open_daemon(ctx, fd);
}

int rmc_driver_open(struct rmc_ctx *ctx)
{
	const char *device = secure_getenv("RMC_DEVICE");
	int fd;

	if (device && *device)
		return open_forced(ctx, device);
	if (access(CONTROL_DEVICE, F_OK) && access(RMC_CTX_DIR, F_OK)) {
		fd = find_daemon(ctx);
		if (!is_absent(fd))
			return open_daemon(ctx, fd);
	}
	return open_with(ctx, &rmc_driver_module);
}

struct rmc_ctx *rmc_driver_control(void)
{
	struct rmc_ctx *ctx = (struct rmc_ctx *)calloc(1, sizeof(*ctx));
	int err;

	if (!ctx) {
		rmc_set_errmsg("out of memory");
		return NULL;
	}
	ctx->control = 1;
	ctx->pid = (int)getpid();
	err = rmc_driver_open(ctx);
	if (!err)
		return ctx;
	free(ctx);
	errno = -err;
	return NULL;
}

void rmc_driver_control_close(struct rmc_ctx *ctx)
{
	if (!ctx)
		return;
	ctx->driver->close(ctx);
	free(ctx);
}
