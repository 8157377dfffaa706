// SPDX-License-Identifier: GPL-2.0
/* See holes.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "holes.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY	1
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* Holes of the daemon's own user are filled up to so many bytes of a registration */
#define FILL_BYTES	(64ULL << 20)
/* So much at once: who maps meanwhile waits for it */
#define STEP_BYTES	(2UL << 20)

static int userfault = -1;

/**
 * rmcd_holes_init() - get ready to refuse holes of other users
 */
void rmcd_holes_init(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM |
			    UFFD_FEATURE_MISSING_HUGETLBFS,
	};

	/* faults of user mode alone need no privilege, from Linux 5.11 on */
	userfault = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (userfault < 0 || !ioctl(userfault, UFFDIO_API, &api))
		return;
	close(userfault);
	userfault = -1;
}

/* From now on to touch a hole is SIGBUS, or EFAULT. Returns false where that is not possible. */
static bool forbid(const struct rmcd_map *map)
{
	struct uffdio_register r = {
		.range = { (uintptr_t)map->addr, map->len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return userfault >= 0 && !ioctl(userfault, UFFDIO_REGISTER, &r);
}

/*
 * Maps the registered pages: 0, or -errno of the first that cannot be had; -EINVAL: not before
 * Linux 5.14
 */
static int populate(const struct rmcd_map *map, u64 len)
{
	char *addr = map->start - map->offset % PAGE_SIZE;
	size_t step = max(STEP_BYTES, map->page), n;
	u64 done;

	for (done = 0; done < len; done += n) {
		n = min_t(u64, step, len - done);
		while (madvise(addr + done, n, MADV_POPULATE_WRITE))
			if (errno != EINTR && errno != EAGAIN)
				return -errno;
	}
	return 0;
}

/* The NUMA policy of what is filled is the file's. */
static int fill(struct rmcd_mem *m, const struct rmcd_map *map, int fd, u64 offset, u64 len)
{
	int err;

	m->filled += len;
	if (m->filled > FILL_BYTES)
		return 0;
	err = populate(map, len);
	if (err == -EINVAL)
		err = fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, len) && errno == ENOSPC;
	return err ? -ENOMEM : 0;
}

/**
 * rmcd_holes() - fill the holes of a file that was just mapped, or refuse them
 * @m: memory that it is a part of
 * @map: mapping; it may be longer than what is registered, where the file has large pages. Those
 *	pages of it are not touched.
 * @fd: the file
 * @st: its state, before it was mapped
 *
 * Return: 0, -ENOMEM, -EFAULT: it has holes, and belongs to another user.
 */
int rmcd_holes(struct rmcd_mem *m, const struct rmcd_map *map, int fd, const struct stat *st)
{
	u64 offset = map->offset - map->offset % PAGE_SIZE;
	u64 end = PAGE_ALIGN(map->offset + map->length);
	bool forbidden = !m->own && forbid(map);
	int err;

	/* a hint, which a client can change: then the worker gets the signal */
	if ((u64)st->st_blocks * 512 >= (u64)st->st_size)
		return 0;
	if (m->own)
		return fill(m, map, fd, offset, end - offset);
	if (!forbidden)
		return 0;
	err = populate(map, end - offset);
	return err == -EINVAL ? 0 : err;
}
