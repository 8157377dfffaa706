/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reads /proc/self/maps; finds the file of a shared mapping. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "maps.h"

/* /proc/self/maps shows these names for memory that has no path any more, or never had one. */
static const char * const memory_names[] = {
	"/dev/zero", "/SYSV", "/memfd:", "/dev/shm/", "/anon_hugepage",
};

FILE *rmc_maps_open(void)
{
	return fopen("/proc/self/maps", "re");
}

/* Skips what a path has beyond its buffer, for it ends with the line. */
static int read_line(FILE *maps, char *line, size_t size)
{
	size_t len;
	int c;

	if (!fgets(line, (int)size, maps))
		return 0;
	len = strlen(line);
	if (len && line[len - 1] == '\n') {
		line[len - 1] = '\0';
		return 1;
	}
	do {
		c = fgetc(maps);
	} while (c != '\n' && c != EOF);
	return 1;
}

int rmc_maps_next(FILE *maps, struct rmc_vma *v)
{
	char line[sizeof(v->path) + 128], mode[5];
	unsigned int major, minor;
	int at = 0;

	if (!read_line(maps, line, sizeof(line)))
		return 0;
	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &v->start, &v->end, mode, &v->offset, &major, &minor, &v->ino, &at) < 7)
		return 0;
	v->dev = makedev(major, minor);
	v->prot = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) |
		  (mode[2] == 'x' ? PROT_EXEC : 0);
	v->shared = mode[3] == 's';
	snprintf(v->path, sizeof(v->path), "%s", at ? line + at : "");
	return 1;
}

static int is_file_of(int fd, const struct rmc_vma *v)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) || st.st_dev != v->dev || st.st_ino != v->ino)
		return 0;
	flags = fcntl(fd, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) == O_RDWR;
}

/* A duplicate of one of our descriptors */
static int find_open(const struct rmc_vma *v)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int fd, found = -1;

	if (!dir)
		return -1;
	while (found < 0 && (e = readdir(dir))) {
		fd = e->d_name[0] == '.' ? -1 : atoi(e->d_name);
		/* another thread may close it meanwhile: check the duplicate */
		if (fd < 0 || fd == dirfd(dir) || !is_file_of(fd, v))
			continue;
		found = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (found >= 0 && !is_file_of(found, v)) {
			close(found);
			found = -1;
		}
	}
	closedir(dir);
	return found;
}

static int reopen(const struct rmc_vma *v, const char *path)
{
	struct stat st;
	int fd;

	/* opening a device may have effects */
	if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_dev != v->dev ||
	    st.st_ino != v->ino)
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && !is_file_of(fd, v)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Only memory has no writeback, which would fight with the RMC's writes. */
static int is_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

int rmc_vma_file(const struct rmc_vma *v)
{
	size_t i;
	int fd = find_open(v);

	if (fd < 0 && v->path[0] == '/')
		fd = reopen(v, v->path);
	if (fd >= 0) {
		if (is_memory(fd))
			return fd;
		close(fd);
		return -EOPNOTSUPP;
	}
	for (i = 0; i < sizeof(memory_names) / sizeof(memory_names[0]); i++)
		if (!strncmp(v->path, memory_names[i], strlen(memory_names[i])))
			return -ENOENT;
	return -EOPNOTSUPP;
}
