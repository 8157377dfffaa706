/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reading and changing the driver's state: in sysfs, or over the connection to a daemon. */
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

/* Of the file in sysfs, or of the daemon's attribute */
static void full_path(char *path, const char *fmt, va_list ap)
{
	int n = ctl_is_daemon() ? 0 : snprintf(path, PATH_LEN, "%s/", root());

	if (n >= 0 && n < PATH_LEN)
		vsnprintf(path + n, (size_t)(PATH_LEN - n), fmt, ap);
}

int sysfs_exists(const char *path)
{
	char full[PATH_LEN];

	if (ctl_is_daemon())
		return daemon_exists(path);
	snprintf(full, sizeof(full), "%s/%s", root(), path);
	return !access(full, F_OK);
}

static int read_value(const char *path, char *value)
{
	ssize_t n;
	int fd;

	if (ctl_is_daemon())
		return daemon_read(path, value, SYSFS_VALUE);
	fd = open(path, O_RDONLY | O_CLOEXEC);
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

	if (ctl_is_daemon())
		return daemon_write(path, value);
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

struct listing {
	const char *prefix;
	struct sysfs_names names;
};

static void add_name(char *name, void *arg)
{
	struct listing *l = (struct listing *)arg;
	void *p;

	if (name[0] == '.' || strncmp(name, l->prefix, strlen(l->prefix)) ||
	    strlen(name) >= SYSFS_NAME)
		return;
	p = realloc(l->names.name, (l->names.count + 1) * sizeof(*l->names.name));
	if (!p)
		die(EXIT_FAILED, "out of memory");
	l->names.name = (char (*)[SYSFS_NAME])p;
	strcpy(l->names.name[l->names.count++], name);
}

static void list_directory(const char *path, struct listing *l)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir)))
		add_name(e->d_name, l);
	closedir(dir);
}

struct sysfs_names sysfs_list(const char *prefix, const char *fmt, ...)
{
	struct listing l = { .prefix = prefix };
	char path[PATH_LEN];
	va_list ap;

	va_start(ap, fmt);
	full_path(path, fmt, ap);
	va_end(ap);
	if (ctl_is_daemon())
		daemon_lines(path, add_name, &l);
	else
		list_directory(path, &l);
	if (l.names.count)
		qsort(l.names.name, l.names.count, sizeof(*l.names.name), by_name);
	return l.names;
}

void sysfs_names_free(struct sysfs_names *names)
{
	free(names->name);
	names->name = NULL;
	names->count = 0;
}

void sysfs_lines(void (*line)(char *text, void *arg), void *arg, const char *fmt, ...)
{
	char path[PATH_LEN], text[SYSFS_VALUE];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	full_path(path, fmt, ap);
	va_end(ap);
	if (ctl_is_daemon()) {
		daemon_lines(path, line, arg);
		return;
	}
	f = fopen(path, "r");
	if (!f)
		return;
	while (fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		line(text, arg);
	}
	fclose(f);
}
