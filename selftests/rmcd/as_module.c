// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's selftests over rmcd: link them with --wrap for each function below. Devices and
 * files of sysfs and debugfs are opened at the daemon of RMC_DEVICE; what is done with the
 * descriptors goes the way that librmc's calls go.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver/protocol.h"
#include "internal.h"

#define SYSFS		"/sys/"
#define DEBUGFS		"/sys/kernel/debug/"
#define FILES		4096

int __real_access(const char *path, int mode);
int __real_close(int fd);
FILE *__real_fopen(const char *path, const char *mode);
int __real_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_open(const char *path, int flags, ...);
int __real_rmc_driver_open(struct rmc_ctx *ctx);
ssize_t __real_write(int fd, const void *buf, size_t len);
int __wrap_access(const char *path, int mode);
int __wrap_close(int fd);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_rmc_driver_open(struct rmc_ctx *ctx);
ssize_t __wrap_write(int fd, const void *buf, size_t len);

/* What a descriptor is; ctx and attr NULL: nothing of the daemon's */
static struct file {
	struct rmc_ctx *ctx;
	int raw;		/* opened by a test, not by librmc */
	char *attr;		/* path of an attribute that is open for writing */
} files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct file look_up(int fd)
{
	struct file f = { 0 };

	if (fd < 0 || fd >= FILES)
		return f;
	pthread_mutex_lock(&lock);
	f = files[fd];
	pthread_mutex_unlock(&lock);
	return f;
}

static void set(int fd, struct file f)
{
	if (fd < 0 || fd >= FILES)
		abort();
	pthread_mutex_lock(&lock);
	files[fd] = f;
	pthread_mutex_unlock(&lock);
}

/* librmc opens a context, too */
int __wrap_rmc_driver_open(struct rmc_ctx *ctx)
{
	int err = __real_rmc_driver_open(ctx);

	if (!err)
		set(ctx->fd, (struct file){ .ctx = ctx });
	return err;
}

static int open_device(int control, unsigned int id)
{
	struct rmc_ctx *ctx = calloc(1, sizeof(*ctx));
	int err;

	ctx->control = control;
	ctx->id = id;
	ctx->pid = (int)getpid();
	err = __real_rmc_driver_open(ctx);
	if (err) {
		free(ctx);
		errno = -err;
		return -1;
	}
	set(ctx->fd, (struct file){ .ctx = ctx, .raw = 1 });
	ctx->query.size = sizeof(ctx->query);
	if (!control && rmc_call(ctx, RMC_IOC_QUERY, &ctx->query))
		abort();
	return ctx->fd;
}

/* True if the path is a device; opens it */
static int is_device(const char *path, int *fd)
{
	unsigned int id;
	char end;

	if (!strcmp(path, "/dev/rmc"))
		*fd = open_device(1, 0);
	else if (sscanf(path, "/dev/rmc_contexts/%u%c", &id, &end) == 1)
		*fd = open_device(0, id);
	else
		return 0;
	return 1;
}

/* The daemon's name of a path; NULL: not the daemon's */
static const char *attribute(const char *path)
{
	if (!strncmp(path, DEBUGFS "rmc/", sizeof(DEBUGFS "rmc/") - 1))
		return path + sizeof(DEBUGFS) - 1;
	if (!strncmp(path, SYSFS "class/misc/rmc/", sizeof(SYSFS "class/misc/rmc/") - 1) ||
	    !strncmp(path, SYSFS "class/rmc_context/", sizeof(SYSFS "class/rmc_context/") - 1))
		return path + sizeof(SYSFS) - 1;
	return NULL;
}

static int call(int request, const char *path, struct rmcd_attr *a)
{
	struct rmc_ctx *ctx = rmc_driver_control();
	int ret, saved;

	if (!ctx)
		return -1;
	snprintf(a->path, sizeof(a->path), "%s", path);
	ret = rmc_call(ctx, (unsigned long)request, a);
	saved = errno;
	set(ctx->fd, (struct file){ 0 });
	rmc_driver_control_close(ctx);
	errno = saved;
	return ret;
}

/* A file with the value of an attribute; for writing: empty */
static int open_attribute(const char *path, int flags)
{
	static struct rmcd_attr a;
	int fd;

	if (call(RMCD_ATTR_READ, path, &a) && (flags & O_ACCMODE) == O_RDONLY)
		return -1;
	fd = memfd_create("attribute", MFD_CLOEXEC);
	if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		set(fd, (struct file){ .attr = strdup(path) });
	else if (fd >= 0 && (__real_write(fd, a.value, strlen(a.value)) < 0 || lseek(fd, 0, SEEK_SET)))
		abort();
	return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;
	int fd;

	va_start(ap, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (is_device(path, &fd))
		return fd;
	if (attribute(path))
		return open_attribute(attribute(path), flags);
	return __real_open(path, flags, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	int fd;

	if (!attribute(path) || *mode != 'r')
		return __real_fopen(path, mode);
	fd = open_attribute(attribute(path), O_RDONLY);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

int __wrap_access(const char *path, int mode)
{
	struct rmcd_attr a;
	int fd;

	if (is_device(path, &fd))
		return fd < 0 ? -1 : __wrap_close(fd);
	if (attribute(path))
		return call(RMCD_ATTR_READ, attribute(path), &a) &&
		       call(RMCD_ATTR_LIST, attribute(path), &a) ? -1 : 0;
	return __real_access(path, mode);
}

int __wrap_close(int fd)
{
	struct file f = look_up(fd);

	if (f.ctx || f.attr)
		set(fd, (struct file){ 0 });
	free(f.attr);
	if (!f.raw)
		return __real_close(fd);
	f.ctx->driver->close(f.ctx);
	free(f.ctx);
	return 0;
}

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	struct file f = look_up(fd);
	struct rmcd_attr a;

	if (!f.attr)
		return __real_write(fd, buf, len);
	memset(&a, 0, sizeof(a));
	if (len >= sizeof(a.value)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(a.value, buf, len);
	return call(RMCD_ATTR_WRITE, f.attr, &a) ? -1 : (ssize_t)len;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct file f = look_up(fd);
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return f.ctx ? rmc_call(f.ctx, request, arg) : __real_ioctl(fd, request, arg);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct file f = look_up(fd);

	if (flags & MAP_ANONYMOUS && !(flags & MAP_FIXED) && !addr && getenv("RMC_TEST_SHARED")) {
		fd = memfd_create("test", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)len))
			abort();
		return __real_mmap(addr, len, prot, MAP_SHARED, fd, 0);
	}
	if (!f.ctx)
		return __real_mmap(addr, len, prot, flags, fd, offset);
	return f.ctx->driver->map(f.ctx, len, prot, (uint64_t)offset);
}
