/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reading the driver's state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rmcctl.h"

#define PATH_LEN	512

static const char *root(void)
{
	const char *s = getenv("RMC_SYSFS");

	return s ? s : "/sys";
}

static void full_path(char *path, const char *fmt, va_list ap)
{
	int n = snprintf(path, PATH_LEN, "%s/", root());

	if (n > 0 && n < PATH_LEN)
		vsnprintf(path + n, (size_t)(PATH_LEN - n), fmt, ap);
}

int sysfs_exists(const char *path)
{
	char full[PATH_LEN];

	snprintf(full, sizeof(full), "%s/%s", root(), path);
	return !access(full, F_OK);
}

static int read_value(const char *path, char *value)
{
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*value = '\0';
	if (fd < 0)
		return -1;
	n = read(fd, value, SYSFS_VALUE - 1);
	close(fd);
	if (n < 0)
		return -1;
	while (n > 0 && (value[n - 1] == '\n' || value[n - 1] == ' '))
		n--;
	value[n] = '\0';
	return 0;
}

int sysfs_string(char *value, const char *fmt, ...)
{
	char path[PATH_LEN];
	va_list ap;

	va_start(ap, fmt);
	full_path(path, fmt, ap);
	va_end(ap);
	return read_value(path, value);
}

int sysfs_u64(uint64_t *value, const char *fmt, ...)
{
	char path[PATH_LEN], text[SYSFS_VALUE], *end;
	va_list ap;

	va_start(ap, fmt);
	full_path(path, fmt, ap);
	va_end(ap);
	*value = 0;
	if (read_value(path, text))
		return -1;
	*value = strtoull(text, &end, 0);
	return end == text ? -1 : 0;
}

int sysfs_write(const char *path, const char *value)
{
	char full[PATH_LEN];
	int fd, err, saved;

	snprintf(full, sizeof(full), "%s/%s", root(), path);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = write(fd, value, strlen(value)) < 0 ? -1 : 0;
	saved = errno;
	close(fd);
	errno = saved;
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp((const char *)a, (const char *)b);
}

struct sysfs_names sysfs_list(const char *prefix, const char *fmt, ...)
{
	struct sysfs_names names = { 0, NULL };
	char path[PATH_LEN];
	struct dirent *e;
	va_list ap;
	DIR *dir;

	va_start(ap, fmt);
	full_path(path, fmt, ap);
	va_end(ap);
	dir = opendir(path);
	if (!dir)
		return names;
	while ((e = readdir(dir))) {
		void *p;

		if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) ||
		    strlen(e->d_name) >= SYSFS_NAME)
			continue;
		p = realloc(names.name, (names.count + 1) * sizeof(*names.name));
		if (!p)
			die(EXIT_FAILED, "out of memory");
		names.name = (char (*)[SYSFS_NAME])p;
		strcpy(names.name[names.count++], e->d_name);
	}
	closedir(dir);
	if (names.count)
		qsort(names.name, names.count, sizeof(*names.name), by_name);
	return names;
}

void sysfs_names_free(struct sysfs_names *names)
{
	free(names->name);
	names->name = NULL;
	names->count = 0;
}

void need_driver(void)
{
	if (!sysfs_exists(SYSFS_RMC))
		die(EXIT_FAILED, "the rmc module is not loaded: modprobe rmc (or insmod rmc.ko), then try again");
}

int open_control(void)
{
	int fd = open(RMC_CONTROL_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	switch (errno) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		die(EXIT_FAILED, "no %s: the rmc module is not loaded: modprobe rmc (or insmod rmc.ko)",
		    RMC_CONTROL_DEVICE);
	case EACCES:
	case EPERM:
		die(EXIT_FAILED, "no permission to open %s: run rmcctl as root",
		    RMC_CONTROL_DEVICE);
	default:
		die(EXIT_FAILED, "cannot open %s: %s", RMC_CONTROL_DEVICE, strerror(errno));
	}
}
